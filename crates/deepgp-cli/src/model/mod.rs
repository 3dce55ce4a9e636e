//! What several commands ask of a model: its rows, its scores, its predictions, what it is, and where it is computed.

pub mod class_score;
pub mod comparison;
pub mod count_score;
pub mod description;
pub mod device;
pub mod disagreement;
pub mod fold_scores;
pub mod importance;
pub mod json_summary;
pub mod labels;
pub mod non_finite;
pub mod notes;
pub mod prediction_table;
pub mod relevance;
pub mod row_facts;
pub mod rows;
pub mod score;
pub mod scores;
pub mod scoring_costs;
pub mod seeds;
pub mod units;

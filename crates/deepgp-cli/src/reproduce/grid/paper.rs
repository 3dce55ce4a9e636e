//! The paper's own numbers (its Tables 3 to 6): mean and deviation over five splits, and median seconds on a Tesla K80.

use super::run::Model;

/// The numbers that the paper prints for one dataset, model and depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// Mean test log likelihood and its standard deviation.
    pub log_likelihood: (f64, f64),
    /// Mean test RMSE and its standard deviation.
    pub rmse: (f64, f64),
    /// Median seconds of training.
    pub seconds: f64,
}

/// The paper's table of one dataset: for each depth, 0 to 4, the full model and the decoupled one.
type Rows = [[[f64; 5]; 2]; 5];

const KIN8NM: Rows = [
    [[0.88, 0.02, 0.10, 0.00, 116.0], [1.01, 0.01, 0.09, 0.00, 310.0]],
    [[1.32, 0.03, 0.07, 0.00, 481.0], [1.34, 0.02, 0.07, 0.00, 433.0]],
    [[1.38, 0.02, 0.06, 0.00, 853.0], [1.37, 0.01, 0.07, 0.00, 611.0]],
    [[1.36, 0.03, 0.07, 0.00, 1242.0], [1.37, 0.01, 0.07, 0.00, 811.0]],
    [[1.36, 0.01, 0.07, 0.00, 1601.0], [1.38, 0.03, 0.06, 0.00, 1017.0]],
];

const PROTEIN: Rows = [
    [[-2.93, 0.01, 4.56, 0.06, 587.0], [-2.90, 0.01, 4.39, 0.05, 1210.0]],
    [[-2.81, 0.01, 4.13, 0.06, 2567.0], [-2.77, 0.01, 4.04, 0.06, 2015.0]],
    [[-2.76, 0.02, 4.03, 0.07, 4577.0], [-2.71, 0.03, 3.90, 0.10, 3038.0]],
    [[-2.75, 0.01, 4.00, 0.06, 6598.0], [-2.69, 0.03, 3.87, 0.12, 4111.0]],
    [[-2.73, 0.02, 3.95, 0.07, 8251.0], [-2.68, 0.03, 3.86, 0.11, 5209.0]],
];

const MOLECULES: Rows = [
    [[-1.79, 0.02, 1.47, 0.04, 1699.0], [-1.74, 0.02, 1.41, 0.04, 2443.0]],
    [[-1.51, 0.03, 1.22, 0.04, 4159.0], [-1.39, 0.01, 1.19, 0.03, 3683.0]],
    [[-1.48, 0.04, 1.31, 0.04, 6775.0], [-1.36, 0.02, 1.25, 0.05, 5121.0]],
    [[-1.46, 0.07, 1.29, 0.08, 9426.0], [-1.36, 0.05, 1.27, 0.05, 6596.0]],
    [[-1.49, 0.07, 1.32, 0.06, 12122.0], [-1.37, 0.05, 1.26, 0.05, 8078.0]],
];

/// The paper's numbers for a dataset, model and depth, if it has any.
pub fn printed(dataset: &str, model: Model, hidden: usize) -> Option<Printed> {
    let rows = match dataset {
        "kin8nm" => &KIN8NM,
        "protein" => &PROTEIN,
        "molecules" => &MOLECULES,
        _ => return None,
    };
    let of_model = match model {
        Model::Full => 0,
        Model::Decoupled => 1,
        Model::DecoupledWhitened | Model::Nested | Model::NestedDiagonal => return None,
    };
    let [mean, deviation, rmse, rmse_deviation, seconds] = rows.get(hidden)?[of_model];
    Some(Printed { log_likelihood: (mean, deviation), rmse: (rmse, rmse_deviation), seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_where_the_paper_has_them() {
        let deepest = printed("kin8nm", Model::Decoupled, 4).unwrap();
        assert_eq!((deepest.log_likelihood, deepest.seconds), ((1.38, 0.03), 1017.0));
        assert_eq!(printed("molecules", Model::Full, 4).unwrap().seconds, 12122.0);
        assert!(
            printed("kin8nm", Model::DecoupledWhitened, 1).is_none() && printed("kin8nm", Model::Full, 5).is_none()
        );
    }

    #[test]
    fn decoupling_is_slower_without_and_faster_with_hidden_layers_in_the_paper() {
        for dataset in ["kin8nm", "protein", "molecules"] {
            for hidden in 0..5 {
                let seconds = |model| printed(dataset, model, hidden).unwrap().seconds;
                assert_eq!(seconds(Model::Decoupled) < seconds(Model::Full), hidden > 0, "{dataset} {hidden}");
            }
        }
    }
}

//! Which rows a fit holds out: what its options say, and what the table adds.

use anyhow::Result;
use deepgp_io::table::{Kind, Schema};
use deepgp_io::{Note, SplitRule};

use super::FitOptions;
use crate::arguments::usage::Usage;

impl FitOptions {
    /// The share of rows to test on, if there are to be any.
    pub fn test_share(&self) -> Option<f64> {
        self.test.as_ref().map(|test| test.share).filter(|share| *share > 0.0)
    }

    /// Which rows are held out, and a note if they are the last ones, but for how many do not say when they were. Where no column is named it is
    /// the only one of dates, or else the order of the table.
    pub fn split_rule(&self, schema: &Schema) -> (SplitRule, Option<Note>) {
        let Some(SplitRule::Last { column }) = self.test.as_ref().map(|test| &test.rule) else {
            return (SplitRule::Random, None);
        };
        let dates = schema.inputs.iter().filter(|input| matches!(input.kind, Kind::Date { .. }));
        let dates: Vec<String> = dates.map(|input| input.name.clone()).collect();
        let column = column.clone().or(if dates.len() == 1 { Some(dates[0].clone()) } else { None });
        let note = Note::SplitByTime { column: column.clone(), dates, undated: 0 };
        (SplitRule::Last { column }, Some(note))
    }

    /// Fails if options on which rows are held out contradict each other, or make no sense.
    pub(super) fn check_split(&self) -> Result<()> {
        let wrong = |text: String| Err(Usage(text).into());
        for (name, share, written) in [
            ("test", self.test.as_ref().map(|test| test.share), self.test.as_ref().map(ToString::to_string)),
            ("validation", self.validation, self.validation.map(|share| share.to_string())),
        ] {
            if let (Some(share), Some(written)) = (share, written)
                && !(0.0..1.0).contains(&share)
            {
                return wrong(format!("--{name} {written}: give a share of the rows, from 0 to below 1"));
            }
        }
        if let (Some(folds), Some(test)) = (self.folds, &self.test) {
            return wrong(format!(
                "--folds {folds} and --test {test} contradict each other: every row is tested on in one of the folds, and of several folds \
                 one alone could be the last; leave out one of the two"
            ));
        }
        if let Some(folds) = self.folds.filter(|folds| *folds < 2) {
            return wrong(format!("--folds {folds}: give at least 2"));
        }
        if let (Some(group), Some(test)) = (&self.group, self.test.as_ref().filter(|test| !test.rule.is_random())) {
            return wrong(format!(
                "--group {group} and --test {test} contradict each other: a group may have rows on both sides of the moment from which on \
                 rows are held out; leave out one of the two"
            ));
        }
        Ok(())
    }
}

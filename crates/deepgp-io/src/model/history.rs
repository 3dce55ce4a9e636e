//! How a run went: a few numbers a step, thinned out so that they stay few however long it takes.

use std::collections::BTreeMap;

use super::description::{Array, Arrays, vector};
use deepgp::likelihood::Quantity;

/// How many steps are kept at most.
const KEPT: usize = 1000;
/// The most numbers of a likelihood that are kept of a step: those of the first targets, where there are many.
const MOST_QUANTITIES: usize = 20;
/// The longest name of such a number.
const LONGEST_NAME: usize = 100;
/// How the names of arrays begin that hold what a likelihood has learnt.
const LIKELIHOOD: &str = "history.likelihood.";
/// What is wrong with a history whose columns do not tell of the same steps.
const DIFFERENT_LENGTHS: &str = "the columns of its history differ in length";

/// What is kept of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPoint {
    /// The step's number, from 1.
    pub step: u64,
    /// Seconds of training until then.
    pub seconds: f64,
    /// The bound before the step.
    pub elbo: f64,
    /// The bound's data term.
    pub data_term: f64,
    /// The bound's KL, over all layers.
    pub kl: f64,
    /// What the likelihood had learnt, in the order of names and targets. What is not a number is not kept.
    pub likelihood: Vec<Quantity>,
}

/// Steps and looks at the validation rows, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Every so many steps one is kept.
    every: u64,
    points: Vec<HistoryPoint>,
    /// Step and score of the validation rows, of standardised targets; more is better.
    validation: Vec<(u64, f64)>,
}

impl Default for History {
    fn default() -> Self {
        Self { every: 1, points: Vec::new(), validation: Vec::new() }
    }
}

impl History {
    /// Takes note of a step, if it is one to keep. What is kept depends on the steps alone, not on where a run was interrupted.
    pub fn push(&mut self, mut point: HistoryPoint) {
        if !point.step.is_multiple_of(self.every) {
            return;
        }
        point.likelihood.retain(|own| !own.value.is_nan());
        point.likelihood.sort_by(|a, b| (&a.name, a.output).cmp(&(&b.name, b.output)));
        point.likelihood.truncate(MOST_QUANTITIES);
        self.points.push(point);
        if self.points.len() > KEPT {
            self.every *= 2;
            let every = self.every;
            self.points.retain(|point| point.step.is_multiple_of(every));
        }
    }

    /// Takes note of the look at the validation rows before the first step, of which no step tells.
    pub fn begin_validation(&mut self, score: f64) {
        if self.validation.first().is_none_or(|look| look.0 > 0) {
            self.validation.insert(0, (0, score));
        }
    }

    /// Takes note of a look at the validation rows.
    pub fn push_validation(&mut self, step: u64, score: f64) {
        self.validation.push((step, score));
    }

    /// The steps that were kept.
    pub fn points(&self) -> &[HistoryPoint] {
        &self.points
    }

    /// The looks at the validation rows.
    pub fn validation(&self) -> &[(u64, f64)] {
        &self.validation
    }

    /// The best of these looks, and the first of equals: the model has the parameters of its step. `None` if there was no look, or
    /// none that gave a number.
    pub fn kept(&self) -> Option<(u64, f64)> {
        let better = |best: (u64, f64), look: (u64, f64)| if look.1 > best.1 { look } else { best };
        self.validation.iter().copied().filter(|look| look.1.is_finite()).reduce(better)
    }

    pub(super) fn store(&self, arrays: &mut Arrays) {
        let mut column = |name: &str, of: &dyn Fn(&HistoryPoint) -> f64| {
            let values: Vec<f64> = self.points.iter().map(of).collect();
            arrays.insert(format!("history.{name}"), Array::vector(&values));
        };
        column("step", &|p| p.step as f64);
        column("seconds", &|p| p.seconds);
        column("elbo", &|p| p.elbo);
        column("data_term", &|p| p.data_term);
        column("kl", &|p| p.kl);
        self.store_likelihood(arrays);
        let (steps, scores): (Vec<f64>, Vec<f64>) = self.validation.iter().map(|&(s, v)| (s as f64, v)).unzip();
        arrays.insert("history.validation.step".into(), Array::vector(&steps));
        arrays.insert("history.validation.score".into(), Array::vector(&scores));
        arrays.insert("history.every".into(), Array::vector(&[self.every as f64]));
    }

    /// One array for each quantity; not a number at steps that did not have it.
    fn store_likelihood(&self, arrays: &mut Arrays) {
        let mut columns: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (row, point) in self.points.iter().enumerate() {
            for Quantity { name, output, value } in &point.likelihood {
                let name = match output {
                    Some(output) => format!("{LIKELIHOOD}{name}.{output}"),
                    None => format!("{LIKELIHOOD}{name}"),
                };
                columns.entry(name).or_insert_with(|| vec![f64::NAN; self.points.len()])[row] = *value;
            }
        }
        arrays.extend(columns.into_iter().map(|(name, values)| (name, Array::vector(&values))));
    }

    /// The quantities of each of so many steps. Files of format version 1 have the first target's noise alone, under a name of its own.
    fn load_likelihood(arrays: &Arrays, steps: usize) -> Result<Vec<Vec<Quantity>>, String> {
        let named = arrays.iter().filter_map(|(name, array)| Some((name.strip_prefix(LIKELIHOOD)?, array)));
        let old = arrays.get("history.noise").map(|array| ("noise.0", array));
        let mut columns = Vec::new();
        for (name, array) in named.chain(old) {
            if array.values.len() != steps {
                return Err(DIFFERENT_LENGTHS.into());
            }
            let of_target = name.rsplit_once('.').and_then(|(name, output)| Some((name, output.parse().ok()?)));
            let (name, output) = of_target.map_or((name, None), |(name, output)| (name, Some(output)));
            columns.push((name, output, &array.values));
        }
        if columns.len() > MOST_QUANTITIES || columns.iter().any(|(name, ..)| name.len() > LONGEST_NAME) {
            return Err(format!(
                "its history has more than {MOST_QUANTITIES} quantities of the likelihood, or one with a name of more than \
                 {LONGEST_NAME} bytes"
            ));
        }
        columns.sort_by_key(|(name, output, _)| (*name, *output));
        let point = |row: usize| {
            let all = columns.iter().map(|(name, output, values)| Quantity {
                name: (*name).into(),
                output: *output,
                value: values[row],
            });
            all.filter(|own| !own.value.is_nan()).collect()
        };
        Ok((0..steps).map(point).collect())
    }

    pub(super) fn load(arrays: &Arrays) -> Result<Self, String> {
        let column = |name: &str| vector(arrays, &format!("history.{name}"));
        let [step, seconds, elbo, data_term, kl] = ["step", "seconds", "elbo", "data_term", "kl"].map(column);
        let (step, seconds, elbo, data_term, kl) = (step?, seconds?, elbo?, data_term?, kl?);
        let (looks, scores) = (column("validation.step")?, column("validation.score")?);
        let lengths = [&seconds, &elbo, &data_term, &kl].map(Vec::len);
        if lengths.iter().any(|len| *len != step.len()) || looks.len() != scores.len() {
            return Err(DIFFERENT_LENGTHS.into());
        }
        let likelihood = Self::load_likelihood(arrays, step.len())?;
        let points = likelihood.into_iter().enumerate().map(|(i, likelihood)| HistoryPoint {
            step: step[i] as u64,
            seconds: seconds[i],
            elbo: elbo[i],
            data_term: data_term[i],
            kl: kl[i],
            likelihood,
        });
        let every = column("every")?.first().map_or(1, |every| (*every as u64).max(1));
        let validation = looks.into_iter().map(|step| step as u64).zip(scores);
        Ok(Self { every, points: points.collect(), validation: validation.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(output: usize, value: f64) -> Quantity {
        Quantity { name: "noise".into(), output: Some(output), value }
    }

    fn point(step: u64) -> HistoryPoint {
        let likelihood = vec![noise(0, 0.1)];
        HistoryPoint { step, seconds: step as f64, elbo: -1.0, data_term: -0.5, kl: 0.5, likelihood }
    }

    #[test]
    fn the_first_of_the_best_looks_is_kept() {
        let mut history = History::default();
        assert_eq!(history.kept(), None);
        for (step, score) in
            [(50, f64::NEG_INFINITY), (100, f64::NAN), (150, -1.0), (200, -0.5), (250, -0.5), (300, -0.7)]
        {
            history.push_validation(step, score);
        }
        assert_eq!(history.kept(), Some((200, -0.5)));
    }

    #[test]
    fn what_the_likelihood_has_learnt_comes_back_though_not_every_step_had_it() {
        let shape = Quantity { name: "degrees.of.freedom".into(), output: None, value: 4.0 };
        let mut history = History::default();
        // A run that was begun by 0.1 and resumed: at first there is but one target.
        history.push(point(1));
        let all: Vec<Quantity> = (0..12).rev().map(|output| noise(output, output as f64)).chain([shape]).collect();
        history.push(HistoryPoint { likelihood: [&all[..], &[noise(12, f64::NAN)]].concat(), ..point(2) });
        let mut arrays = Arrays::new();
        history.store(&mut arrays);
        assert!(arrays.contains_key("history.likelihood.noise.11"));
        let again = History::load(&arrays).unwrap();
        assert_eq!(again, history);
        assert_eq!(again.points[0].likelihood, [noise(0, 0.1)]);
        assert_eq!(again.points[1].likelihood.len(), 13);
        assert_eq!(Quantity::find(&again.points[1].likelihood, "noise", Some(11)), Some(11.0));
        assert_eq!(Quantity::find(&again.points[1].likelihood, "degrees.of.freedom", None), Some(4.0));
    }

    #[test]
    fn the_noise_of_version_1_is_that_of_the_first_target() {
        let mut history = History::default();
        history.push(point(1));
        let mut arrays = Arrays::new();
        history.store(&mut arrays);
        let column = arrays.remove("history.likelihood.noise.0").unwrap();
        arrays.insert("history.noise".into(), column);
        assert_eq!(History::load(&arrays).unwrap(), history);
        arrays.insert("history.noise".into(), Array::vector(&[0.1, 0.2]));
        assert!(History::load(&arrays).unwrap_err().contains("differ in length"));
    }

    #[test]
    fn a_long_run_is_thinned_evenly_wherever_it_was_cut() {
        let mut whole = History::default();
        let mut cut = History::default();
        for step in 1..=5000 {
            whole.push(point(step));
            cut.push(point(step));
            if step == 1777 {
                let mut arrays = Arrays::new();
                cut.store(&mut arrays);
                cut = History::load(&arrays).unwrap();
            }
        }
        assert_eq!(whole, cut);
        assert!((KEPT / 2..=KEPT).contains(&whole.points.len()), "{}", whole.points.len());
        let gaps: Vec<u64> = whole.points.windows(2).map(|pair| pair[1].step - pair[0].step).collect();
        assert!(gaps.iter().all(|gap| *gap == whole.every));
    }
}

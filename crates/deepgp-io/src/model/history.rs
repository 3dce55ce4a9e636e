//! How a run went: a few numbers a step, thinned out so that they stay few however long it takes.

use super::description::{Array, Arrays, vector};

/// How many steps are kept at most.
const KEPT: usize = 1000;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryPoint {
    /// Its number, from 1.
    pub step: u64,
    /// Seconds of training until then.
    pub seconds: f64,
    /// The bound.
    pub elbo: f64,
    /// Its data term.
    pub data_term: f64,
    /// Its KL, over all layers.
    pub kl: f64,
    /// Standard deviation of the first target's noise, in the target's units.
    pub noise: f64,
}

/// Steps and looks at the validation rows, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Every so many steps one is kept.
    every: u64,
    points: Vec<HistoryPoint>,
    /// Step and mean log density of the validation rows, of standardised targets.
    validation: Vec<(u64, f64)>,
}

impl Default for History {
    fn default() -> Self {
        Self { every: 1, points: Vec::new(), validation: Vec::new() }
    }
}

impl History {
    /// Takes note of a step, if it is one to keep. What is kept depends on the steps alone, not on where a run was interrupted.
    pub fn push(&mut self, point: HistoryPoint) {
        if !point.step.is_multiple_of(self.every) {
            return;
        }
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
        column("noise", &|p| p.noise);
        let (steps, scores): (Vec<f64>, Vec<f64>) = self.validation.iter().map(|&(s, v)| (s as f64, v)).unzip();
        arrays.insert("history.validation.step".into(), Array::vector(&steps));
        arrays.insert("history.validation.score".into(), Array::vector(&scores));
        arrays.insert("history.every".into(), Array::vector(&[self.every as f64]));
    }

    pub(super) fn load(arrays: &Arrays) -> Result<Self, String> {
        let column = |name: &str| vector(arrays, &format!("history.{name}"));
        let all = ["step", "seconds", "elbo", "data_term", "kl", "noise"].map(column);
        let [step, seconds, elbo, data_term, kl, noise] = all;
        let (step, seconds, elbo, data_term, kl, noise) = (step?, seconds?, elbo?, data_term?, kl?, noise?);
        let (looks, scores) = (column("validation.step")?, column("validation.score")?);
        let lengths = [&seconds, &elbo, &data_term, &kl, &noise].map(Vec::len);
        if lengths.iter().any(|len| *len != step.len()) || looks.len() != scores.len() {
            return Err("the columns of its history differ in length".into());
        }
        let points = (0..step.len()).map(|i| HistoryPoint {
            step: step[i] as u64,
            seconds: seconds[i],
            elbo: elbo[i],
            data_term: data_term[i],
            kl: kl[i],
            noise: noise[i],
        });
        let every = column("every")?.first().map_or(1, |every| (*every as u64).max(1));
        let validation = looks.into_iter().map(|step| step as u64).zip(scores);
        Ok(Self { every, points: points.collect(), validation: validation.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(step: u64) -> HistoryPoint {
        HistoryPoint { step, seconds: step as f64, elbo: -1.0, data_term: -0.5, kl: 0.5, noise: 0.1 }
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

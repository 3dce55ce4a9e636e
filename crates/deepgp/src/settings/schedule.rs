//! Schedules: how the learning rate changes over the steps of a run.

/// The schedule of the learning rate: the factor `s(t)` on it at step `t = 0, 1, …` of a run of `T` steps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Schedule {
    /// The same rate at every step: `s(t) = 1`.
    Constant,
    /// Half a cosine from 1 down to `last`: `s(t) = last + (1 − last) (1 + cos πt/T) / 2`.
    Cosine {
        /// The factor at the end of the run.
        last: f64,
    },
    /// A power of `factor`, one higher after every `every` steps: `s(t) = factor^⌊t / every⌋`.
    Step {
        /// The number of steps between two changes.
        every: u64,
        /// The factor of each change.
        factor: f64,
    },
}

impl Schedule {
    /// Half a cosine down to a hundredth of the rate: what `cosine` means where no more is said.
    pub const COSINE: Self = Self::Cosine { last: 0.01 };

    /// The factor `s(t)` on the learning rate at `step` of `steps`:
    ///
    /// ```text
    /// constant:  s(t) = 1
    /// cosine:    s(t) = last + (1 − last) (1 + cos π min(1, t/T)) / 2
    /// step:      s(t) = factor^⌊t / every⌋
    /// ```
    pub fn factor(self, step: u64, steps: u64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Cosine { last } => {
                let progress = (step as f64 / steps.max(1) as f64).min(1.0);
                last + (1.0 - last) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
            }
            Self::Step { every, factor } => factor.powf((step / every.max(1)) as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_start_at_one_and_end_where_they_should() {
        assert_eq!(Schedule::Constant.factor(7, 10), 1.0);
        let cosine = Schedule::Cosine { last: 0.1 };
        assert_eq!(cosine.factor(0, 100), 1.0);
        assert!((cosine.factor(50, 100) - 0.55).abs() < 1e-12 && (cosine.factor(100, 100) - 0.1).abs() < 1e-12);
        let step = Schedule::Step { every: 10, factor: 0.5 };
        assert_eq!((step.factor(9, 100), step.factor(10, 100), step.factor(25, 100)), (1.0, 0.5, 0.25));
    }
}

//! The choice of likelihood and objective by one word each, as users make it, and the forms that it leads to.

use crate::likelihood::{LikelihoodForm, Link};
use crate::objective::ObjectiveForm;

/// A likelihood by its name; where it starts is another option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum LikelihoodChoice {
    /// One Gaussian noise for all rows.
    Gaussian,
    /// Gaussian noise that follows the inputs.
    Heteroscedastic,
    /// Student's t.
    StudentT,
    /// Two classes under the probit.
    Probit,
    /// Two classes under the logit.
    Logit,
    /// Several classes.
    Softmax,
    /// Classes that have an order.
    Ordered,
    /// Counts at a rate.
    Poisson,
    /// Counts that vary more than at a rate.
    NegativeBinomial,
}

impl LikelihoodChoice {
    /// The choice that leads to this form.
    pub fn of(form: LikelihoodForm) -> Self {
        match form {
            LikelihoodForm::Gaussian { .. } => Self::Gaussian,
            LikelihoodForm::Heteroscedastic { .. } => Self::Heteroscedastic,
            LikelihoodForm::StudentT { .. } => Self::StudentT,
            LikelihoodForm::Bernoulli { link: Link::Probit } => Self::Probit,
            LikelihoodForm::Bernoulli { link: Link::Logit } => Self::Logit,
            LikelihoodForm::Softmax { .. } => Self::Softmax,
            LikelihoodForm::Ordered { .. } => Self::Ordered,
            LikelihoodForm::Poisson => Self::Poisson,
            LikelihoodForm::NegativeBinomial { .. } => Self::NegativeBinomial,
        }
    }

    /// The library's form, at its usual start.
    pub fn form(self) -> LikelihoodForm {
        match self {
            Self::Gaussian => LikelihoodForm::GAUSSIAN,
            Self::Heteroscedastic => LikelihoodForm::HETEROSCEDASTIC,
            Self::StudentT => LikelihoodForm::STUDENT_T,
            Self::Probit => LikelihoodForm::PROBIT,
            Self::Logit => LikelihoodForm::LOGIT,
            Self::Softmax => LikelihoodForm::SOFTMAX,
            Self::Ordered => LikelihoodForm::ORDERED,
            Self::Poisson => LikelihoodForm::Poisson,
            Self::NegativeBinomial => LikelihoodForm::NEGATIVE_BINOMIAL,
        }
    }
}

/// An objective by its name. Learned sites are the model's, but who asks for them wants the objective that trains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ObjectiveChoice {
    /// What suits the likelihood, [`ObjectiveForm::suiting`].
    Auto,
    /// The evidence lower bound.
    Elbo,
    /// A tighter bound, for one Gaussian noise.
    Tighter,
    /// The log density of rows, or a power of it.
    Predictive,
    /// The log density of rows for all but the mean, which is fitted as if noise were constant for a while.
    Faithful,
    /// The log density of rows with learned sites in place of samples.
    Sites,
}

impl ObjectiveChoice {
    /// The choice that leads to this objective, or to what suits the likelihood, with or without sites.
    pub fn of(form: Option<ObjectiveForm>, sites: Option<usize>) -> Self {
        match form {
            None => Self::Auto,
            Some(ObjectiveForm::Elbo) => Self::Elbo,
            Some(ObjectiveForm::Tighter) => Self::Tighter,
            Some(ObjectiveForm::Predictive { .. }) if sites.is_some() => Self::Sites,
            Some(ObjectiveForm::Predictive { .. }) => Self::Predictive,
            Some(ObjectiveForm::Faithful { .. }) => Self::Faithful,
        }
    }

    /// The library's objective; `power` is for those that have one, `None` for their usual one.
    pub fn form(self, power: Option<f64>) -> Option<ObjectiveForm> {
        let mut form = match self {
            Self::Auto => return None,
            Self::Elbo => ObjectiveForm::Elbo,
            Self::Tighter => ObjectiveForm::Tighter,
            Self::Predictive | Self::Sites => ObjectiveForm::PREDICTIVE,
            Self::Faithful => ObjectiveForm::FAITHFUL,
        };
        if let (Some(given), ObjectiveForm::Predictive { power } | ObjectiveForm::Faithful { power, .. }) =
            (power, &mut form)
        {
            *power = given;
        }
        Some(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_leads_back_to_itself() {
        for choice in [
            LikelihoodChoice::Gaussian,
            LikelihoodChoice::Heteroscedastic,
            LikelihoodChoice::StudentT,
            LikelihoodChoice::Probit,
            LikelihoodChoice::Logit,
            LikelihoodChoice::Softmax,
            LikelihoodChoice::Ordered,
            LikelihoodChoice::Poisson,
            LikelihoodChoice::NegativeBinomial,
        ] {
            assert_eq!(LikelihoodChoice::of(choice.form()), choice);
        }
        for choice in [
            ObjectiveChoice::Auto,
            ObjectiveChoice::Elbo,
            ObjectiveChoice::Tighter,
            ObjectiveChoice::Predictive,
            ObjectiveChoice::Faithful,
            ObjectiveChoice::Sites,
        ] {
            let sites = (choice == ObjectiveChoice::Sites).then_some(8);
            assert_eq!(ObjectiveChoice::of(choice.form(Some(0.5)), sites), choice);
            assert!(choice.form(Some(0.3)).and_then(ObjectiveForm::power).is_none_or(|power| power == 0.3));
        }
    }
}

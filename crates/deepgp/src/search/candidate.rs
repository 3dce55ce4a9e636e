//! Candidates: the settings of a fit with some of them changed.

use super::setting::{Setting, SettingValue, go_together};
use super::space::{Choices, SearchSpace};
use crate::random::noise::{Key, Purpose};
use crate::settings::{FitSettings, KernelChoice, ObjectiveChoice};

/// A candidate of a search.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Candidate {
    /// The candidate's number; 0 is that of the settings that the search began with.
    pub number: usize,
    /// What it changes of these, in the order of [`Setting::ALL`]; nothing else differs.
    pub changes: Vec<SettingValue>,
}

/// What is tried before anything is drawn: what helped most often where searches were measured (`docs/tune.md`). Where there is time for few candidates,
/// these are they.
const FIRST: [&[SettingValue]; 4] = [
    &[SettingValue::Objective(ObjectiveChoice::Predictive)],
    &[SettingValue::HiddenLayers(3)],
    &[SettingValue::HiddenLayers(3), SettingValue::Objective(ObjectiveChoice::Predictive)],
    &[SettingValue::Kernel(KernelChoice::Matern52)],
];
/// The share of settings that are drawn anew.
const REDRAWN: f64 = 1.0 / 3.0;
/// How often it is tried to draw a candidate that is new and makes sense.
const ATTEMPTS: u32 = 300;

impl Candidate {
    /// The candidate that changes nothing.
    pub fn unchanged() -> Self {
        Self { number: 0, changes: Vec::new() }
    }

    /// The settings of the candidate's fits.
    pub fn settings(&self, base: &FitSettings) -> FitSettings {
        let mut settings = base.clone();
        self.changes.iter().for_each(|value| value.apply(&mut settings));
        if settings.model.hidden_layers == 0 {
            // Of what there is not, all widths are the same.
            settings.model.width = base.model.width;
        }
        settings
    }

    /// The value of a setting, if the candidate changes it.
    pub fn change_of(&self, setting: Setting) -> Option<SettingValue> {
        self.changes.iter().copied().find(|own| own.setting() == setting)
    }

    /// A new candidate: one of those that are tried first, if the space has it, or else one around `centre`. What makes no sense, is not possible, or
    /// one of `known` is already, is none; `None` if there is nothing new to be found.
    pub(super) fn next(
        centre: &Self,
        number: usize,
        space: &SearchSpace,
        (base, known): (&FitSettings, &[Self]),
        is_possible: &dyn Fn(&FitSettings) -> bool,
        seed: u64,
    ) -> Option<Self> {
        let new = |changes: Vec<SettingValue>| {
            let own = Self { number, changes };
            let settings = own.settings(base);
            let is_new = known.iter().all(|other| other.settings(base) != settings);
            (is_new && go_together(&settings) && is_possible(&settings)).then(|| own.without_effects(base))
        };
        let first = FIRST.iter().filter(|changes| space.has(changes)).find_map(|changes| new(changes.to_vec()));
        first.or_else(|| Self::around(centre, number, space, &new, seed))
    }

    /// A new candidate around another: each setting of the space is drawn anew with a probability of a third, the others are those of `centre`.
    /// A draw of which `new` makes nothing is drawn again; `None` if there is nothing new to be found.
    fn around(
        centre: &Self,
        number: usize,
        space: &SearchSpace,
        new: &dyn Fn(Vec<SettingValue>) -> Option<Self>,
        seed: u64,
    ) -> Option<Self> {
        let key = Key::new(seed, Purpose::Search);
        (0..ATTEMPTS).find_map(|attempt| {
            let draw = |setting: Setting, kind: u32| key.uniform([number as u32, attempt, setting as u32, kind]);
            let changes = space.choices().filter_map(|(setting, choices)| {
                let now = centre.change_of(setting);
                let must = now.is_none() && !choices.or_unchanged;
                if must || draw(setting, 0) < REDRAWN { chosen(choices, draw(setting, 1)) } else { now }
            });
            new(changes.collect())
        })
    }

    /// The candidate without changes that change nothing.
    fn without_effects(mut self, base: &FitSettings) -> Self {
        let shallow = self.settings(base).model.hidden_layers == 0;
        self.changes.retain(|value| !(shallow && value.setting() == Setting::Width));
        self
    }
}

/// One of the choices by a uniform number; `None` is that the setting stays unchanged.
fn chosen(choices: &Choices, uniform: f64) -> Option<SettingValue> {
    let count = choices.values.len() + usize::from(choices.or_unchanged);
    let at = ((uniform * count as f64) as usize).min(count - 1);
    choices.values.get(at).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::simulate;

    fn drawn(space: &SearchSpace, count: usize, seed: u64) -> Vec<Candidate> {
        let (base, mut known) = (FitSettings::default(), vec![Candidate::unchanged()]);
        for number in 1..count {
            let next = Candidate::next(&known[0], number, space, (&base, &known), &|_| true, seed);
            known.extend(next);
        }
        known
    }

    #[test]
    fn candidates_are_new_make_sense_and_follow_the_seed() {
        let base = FitSettings::default();
        let space = SearchSpace::usual(&simulate::eight_link_arm(500, 1), &base);
        let all = drawn(&space, 60, 1);
        assert_eq!(all.len(), 60);
        for (i, own) in all.iter().enumerate() {
            let settings = own.settings(&base);
            assert!(go_together(&settings), "{own:?}");
            assert!(all[..i].iter().all(|other| other.settings(&base) != settings), "{own:?}");
        }
        assert_eq!(all, drawn(&space, 60, 1));
        assert_ne!(all, drawn(&space, 60, 2));
        let changes = all.iter().map(|own| own.changes.len()).sum::<usize>() as f64 / 59.0;
        assert!((1.2..3.0).contains(&changes), "about three of nine are drawn anew, some as they were: {changes}");
    }

    #[test]
    fn what_helped_most_often_comes_first_where_the_space_has_it() {
        let base = FitSettings::default();
        let usual = SearchSpace::usual(&simulate::eight_link_arm(500, 1), &base);
        let changes = |space: &SearchSpace| -> Vec<Vec<SettingValue>> {
            drawn(space, 5, 1).into_iter().skip(1).map(|own| own.changes).collect()
        };
        assert_eq!(changes(&usual), FIRST.map(<[SettingValue]>::to_vec));
        // A flag that was given stays as it is, and what is named must be taken.
        assert_eq!(changes(&usual.clone().without(&[Setting::HiddenLayers]))[..2], [FIRST[0], FIRST[3]]);
        let named = usual.with(vec![SettingValue::Width(3)]).unwrap();
        assert!(FIRST.iter().all(|first| !changes(&named).iter().any(|own| own == first)), "{:?}", changes(&named));
    }

    #[test]
    fn a_small_space_is_exhausted_and_values_that_were_asked_for_are_taken() {
        let values = |all: &[usize]| all.iter().copied().map(SettingValue::HiddenLayers).collect();
        let space = SearchSpace::default().with(values(&[0, 1, 3])).unwrap();
        let all = drawn(&space, 10, 1);
        assert_eq!(all.len(), 4, "{all:?}");
        assert!(all[1..].iter().all(|own| own.changes.len() == 1));
        // What is said twice is one candidate.
        assert_eq!(drawn(&SearchSpace::default().with(values(&[2])).unwrap(), 10, 1).len(), 1);
    }

    #[test]
    fn without_hidden_layers_there_is_no_width() {
        let base = FitSettings::default();
        let of = |changes: Vec<SettingValue>| Candidate { number: 1, changes }.settings(&base);
        let shallow = SettingValue::HiddenLayers(0);
        assert_eq!(of(vec![shallow, SettingValue::Width(3)]), of(vec![shallow]));
    }
}

//! Targets on their way through a transform: `y → z = T(y) → (z − shift) / scale` for the model, and back.

use crate::backend::Alone;
use crate::data::column_moments::{ColumnMoments, RowBlocks};
use crate::data::dataset::check_finite;
use crate::data::scaling::{ConstantColumns, Scaling, Standardiser, wrong_width};
use crate::data::transform::TargetTransform;
use crate::data::{Dataset, StoredRows};
use crate::error::{Error, Result};
use crate::numeric::mat::{Mat, View};
use crate::predict::metrics::weighted_mean;

/// The transforms of targets, one for each, and the units that the targets had before.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TargetTransforms {
    /// The transform of each target.
    pub each: Vec<TargetTransform>,
    /// Mean and standard deviation of each target as it is, for scores in such units.
    pub original: Scaling,
}

impl TargetTransforms {
    /// Whether these transforms can be those of so many targets: one for each, and units to shift and scale by.
    pub fn fits(&self, targets: usize) -> bool {
        let Scaling { shift, scale } = &self.original;
        let lengths = [self.each.len(), shift.len(), scale.len()];
        let units = shift.iter().all(|v| v.is_finite()) && scale.iter().all(|v| v.is_finite() && *v > 0.0);
        lengths.iter().all(|len| *len == targets) && units
    }
}

/// The targets of stored rows after their transforms.
struct TransformedTargets<'a> {
    rows: &'a StoredRows,
    each: &'a [TargetTransform],
}

impl RowBlocks for TransformedTargets<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn ncols(&self) -> usize {
        self.each.len()
    }

    fn weights(&self) -> Option<&[f64]> {
        None
    }

    fn each(&self, visit: &mut dyn FnMut(usize, View<'_>)) -> Result<()> {
        let first = self.rows.inputs();
        self.rows.each(&mut |number, rows| {
            let transformed =
                Mat::from_fn(rows.nrows(), self.each.len(), |i, p| self.each[p].forward(rows.row(i)[first + p]));
            visit(number, transformed.view());
        })
    }
}

impl Standardiser {
    /// The standardiser with these transforms of the targets before their scaling, which is learnt anew from `data`. Where all are the
    /// identity, nothing changes.
    pub fn with_transforms(self, data: &Dataset, each: Vec<TargetTransform>) -> Result<Self> {
        let targets = data.y();
        if each.len() != targets.ncols() {
            let expected = format!("{}, one for each target", targets.ncols());
            return Err(Error::Shape { what: "transforms", expected, found: each.len().to_string() });
        }
        if each.iter().all(|own| *own == TargetTransform::Identity) {
            return Ok(self);
        }
        let mut fitted = self.with_unscaled_transforms(each);
        let transformed = fitted.targets(targets.view())?;
        fitted.y = Scaling::fit("y", transformed.view(), data.weights(), ConstantColumns::Reject)?;
        Ok(fitted)
    }

    /// [`Standardiser::with_transforms`] for rows that are not in memory, one transform for each target, all of whose targets are in their domains.
    pub(crate) fn with_transforms_of_stored(self, rows: &StoredRows, each: Vec<TargetTransform>) -> Result<Self> {
        if each.iter().all(|own| *own == TargetTransform::Identity) {
            return Ok(self);
        }
        let moments = ColumnMoments::of(&Alone, &TransformedTargets { rows, each: &each })?;
        let fitted = self.with_unscaled_transforms(each);
        Ok(Self { y: Scaling::of("y", moments, ConstantColumns::Reject)?, ..fitted })
    }

    /// The standardiser with these transforms, and without a scaling after them.
    fn with_unscaled_transforms(self, each: Vec<TargetTransform>) -> Self {
        let width = each.len();
        Self { x: self.x, y: Scaling::identity(width), transform: Some(TargetTransforms { each, original: self.y }) }
    }

    /// The transform of target `p`.
    pub fn transform_of(&self, p: usize) -> &TargetTransform {
        self.transform.as_ref().map_or(&TargetTransform::Identity, |own| &own.each[p])
    }

    /// Mean and standard deviation of the targets as they are, before any transform.
    pub fn original(&self) -> &Scaling {
        self.transform.as_ref().map_or(&self.y, |own| &own.original)
    }

    /// Fails if targets are outside of the domain of their transform, and names the rows.
    pub fn check_targets(&self, y: View<'_>) -> Result<()> {
        let all = self.transform.iter().flat_map(|own| own.each.iter().enumerate());
        all.take(y.ncols()).try_for_each(|(p, own)| own.choice().check_column(p, y))
    }

    /// Targets in the model's units, `(T(y) − shift) / scale`. Fails if some are outside of the domain of their transform.
    pub fn targets(&self, y: View<'_>) -> Result<Mat> {
        if self.transform.is_none() {
            return self.y.apply("y", y);
        }
        if y.ncols() != self.y.shift.len() {
            return Err(wrong_width("y", self.y.shift.len(), y.ncols()));
        }
        check_finite("y", y)?;
        self.check_targets(y)?;
        let transformed = Mat::from_fn(y.nrows(), y.ncols(), |i, p| self.transform_of(p).forward(y[(i, p)]));
        self.y.apply("y", transformed.view())
    }

    /// The value in the user's units of target `p` that is `v` in the model's: `T⁻¹(v · scale + shift)`.
    pub fn target(&self, p: usize, v: f64) -> f64 {
        self.transform_of(p).inverse(v * self.y.scale[p] + self.y.shift[p])
    }

    /// Brings targets back to the user's units, `T⁻¹(v · scale + shift)`.
    pub fn undo_targets(&self, m: &mut Mat) {
        for i in 0..m.nrows() {
            for (p, v) in m.row_mut(i).iter_mut().enumerate() {
                *v = self.target(p, *v);
            }
        }
    }

    /// The logarithm of the slope of target `p` in the model's units, at `y` in the user's: `ln T'(y) − ln scale`.
    pub fn log_slope(&self, p: usize, y: f64) -> f64 {
        self.transform_of(p).log_slope(y) - self.y.scale[p].ln()
    }

    /// What the mean log density of `rows`, which are in the model's units, loses on its way to the user's: `Σ_p ln scale_p` less the rows'
    /// mean of `Σ_p ln T_p'(y_p)`. Rows count by their weights.
    pub fn log_volume_of(&self, rows: &Dataset) -> f64 {
        let Some(transform) = &self.transform else { return self.y.log_volume() };
        let slopes: Vec<f64> = (0..rows.len())
            .map(|i| {
                let each = transform.each.iter().zip(rows.y().row(i)).enumerate();
                each.map(|(p, (own, v))| own.log_slope(self.target(p, *v))).sum()
            })
            .collect();
        self.y.log_volume() - weighted_mean(&slopes, rows.weights())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TransformChoice;
    use crate::testing::uniform;

    /// Two targets, the first of them positive and skewed.
    fn data() -> Dataset {
        let (x, e) = (uniform(300, 2, 1), uniform(300, 2, 2));
        Dataset::new(x, Mat::from_fn(300, 2, |i, p| if p == 0 { (2.0 * e[(i, 0)]).exp() } else { e[(i, 1)] })).unwrap()
    }

    fn fitted() -> Standardiser {
        let each = vec![TargetTransform::Log, TargetTransform::Identity];
        Standardiser::fit(&data(), ConstantColumns::Reject).unwrap().with_transforms(&data(), each).unwrap()
    }

    #[test]
    fn transformed_targets_are_standardised_and_come_back() {
        let (data, units) = (data(), fitted());
        let mut there = units.apply(&data).unwrap().y().clone();
        for p in 0..2 {
            let mean = (0..300).map(|i| there[(i, p)]).sum::<f64>() / 300.0;
            let variance = (0..300).map(|i| there[(i, p)].powi(2)).sum::<f64>() / 300.0;
            assert!(mean.abs() < 1e-12 && (variance - 1.0).abs() < 1e-12, "{p}: {mean} {variance}");
        }
        units.undo_targets(&mut there);
        assert!(there.as_slice().iter().zip(data.y().as_slice()).all(|(a, b)| (a - b).abs() < 1e-13));
        let plain = Standardiser::fit(&data, ConstantColumns::Reject).unwrap();
        assert_eq!(units.original(), &plain.y);
        assert_eq!((units.y.scale[1], plain.original()), (plain.y.scale[1], &plain.y));
    }

    #[test]
    fn the_volume_of_rows_is_the_mean_of_their_slopes() {
        let (data, units) = (data(), fitted());
        let expected: f64 =
            (0..300).map(|i| -units.log_slope(0, data.y()[(i, 0)]) - units.log_slope(1, data.y()[(i, 1)])).sum();
        let found = units.log_volume_of(&units.apply(&data).unwrap());
        assert!((found - expected / 300.0).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn identities_change_nothing_and_what_does_not_fit_is_an_error() {
        let plain = || Standardiser::fit(&data(), ConstantColumns::Reject).unwrap();
        assert_eq!(plain().with_transforms(&data(), vec![TargetTransform::Identity; 2]).unwrap(), plain());
        assert!(plain().with_transforms(&data(), vec![TargetTransform::Log]).is_err());
        let negative = plain().with_transforms(&data(), vec![TargetTransform::Identity, TargetTransform::Log]);
        assert!(matches!(negative, Err(Error::TargetDomain { column: 1, .. })), "{negative:?}");
        assert!(matches!(fitted().targets(uniform(3, 3, 1).view()), Err(Error::Shape { .. })));
        let mut other = data().y().clone();
        other[(7, 0)] = -1.0;
        let told = fitted().targets(other.view()).unwrap_err().to_string();
        assert!(told.contains("but 1 row has another: row 7 has -1"), "{told}");
        assert_eq!(fitted().transform_of(0).choice(), TransformChoice::Log);
    }
}

//! The order in which a step's work is given out.
//!
//! A step is a graph. Once `[1 | Z]` is there, every layer's two factorisations run on lanes of their own, beside one another and
//! beside the rows, which go forward on the main lane and wait for a layer's factors only when they come to it. On the way back
//! the main lane hands each layer's sums over to the layer's lanes and goes on to the layer below. So what a step takes is the
//! longest way through, not the sum.

use cudarc::driver::CudaEvent;
use deepgp::CovarianceForm;

use super::DeviceTask;
use crate::arrays::rows::BackArrays;
use crate::arrays::{Arrays, LayerArrays, data_term_length, record_length};
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::optimiser::{Advance, Ascend, CheckFinite, Decide};
use crate::kernels::rows::Gather;
use crate::model::blueprint::Grams;
use crate::step::backward::Targets;
use crate::step::epilogue::Reached;
use crate::step::forward::{NoiseSource, Setting};
use crate::step::{Scope, backward, epilogue, forward, prologue, row_sums};

/// Marks after what the rows of a layer wait for.
#[derive(Debug)]
pub struct Ready {
    mean: CudaEvent,
    covariance: CudaEvent,
}

impl<T: Real> DeviceTask<T> {
    fn scope(&self, layer: usize) -> Scope<'_> {
        let Arrays { values, steps, control, .. } = self.arrays;
        Scope { general: &self.programs.general, covariance: &self.programs.covariances[layer], values, steps, control }
    }

    fn setting(&self, noise: NoiseSource) -> Setting {
        Setting { floor: self.blueprint.floor, samples: self.extent.work.samples, noise, ids: self.arrays.ids }
    }

    fn mean_lane(&self, layer: usize) -> &Lane {
        match self.blueprint.layers[layer].grams {
            Grams::Tied(_) => self.covariance_lane(layer),
            Grams::Decoupled { .. } => &self.held.lanes[1 + 2 * layer],
        }
    }

    fn covariance_lane(&self, layer: usize) -> &Lane {
        &self.held.lanes[2 + 2 * layer]
    }

    /// The lane that rows' means are computed on: one that the prologue leaves alone, where there is one.
    fn means_lane(&self, layer: usize) -> &Lane {
        if self.extent.work.gradients { self.inducing_lane(layer) } else { self.main() }
    }

    fn inducing_lane(&self, layer: usize) -> &Lane {
        &self.held.lanes[1 + 2 * self.arrays.layers.len() + layer]
    }

    fn explained_lane(&self, layer: usize) -> &Lane {
        &self.held.lanes[1 + 3 * self.arrays.layers.len() + layer]
    }

    /// Gives out all work that does not depend on rows; returns marks after what rows wait for.
    pub fn prologue(&self) -> Outcome<Vec<Ready>> {
        let main = self.main();
        for (l, layer) in self.arrays.layers.iter().enumerate() {
            prologue::begin(self.scope(l), layer, main)?;
        }
        let mut ready = Vec::new();
        for (l, layer) in self.arrays.layers.iter().enumerate() {
            let (scope, of_mean, of_covariance) = (self.scope(l), self.mean_lane(l), self.covariance_lane(l));
            of_covariance.after(main)?;
            prologue::covariance(scope, layer, of_covariance)?;
            let covariance = of_covariance.mark()?;
            match layer.blueprint.grams {
                Grams::Tied(_) => {}
                Grams::Decoupled { .. } => of_mean.after(main)?,
            }
            prologue::mean(scope, layer, of_mean)?;
            ready.push(Ready { mean: of_mean.mark()?, covariance });
            prologue::covariance_divergence(scope, layer, of_covariance)?;
            prologue::mean_divergence(scope, layer, of_mean)?;
        }
        Ok(ready)
    }

    /// Gives out the way forward from the first layer's rows to the last layer's moments; a layer's rows wait for its marks, if there
    /// are any.
    pub fn forward(&self, noise: NoiseSource, ready: &[Ready]) -> Outcome<()> {
        let (main, setting) = (self.main(), self.setting(noise));
        for (l, layer) in self.arrays.layers.iter().enumerate() {
            let (scope, ready) = (self.scope(l), ready.get(l));
            // Means are computed beside what the variances need.
            let beside = self.means_lane(l);
            forward::cross(scope, layer, main, beside)?;
            beside.after(main)?;
            ready.map_or(Ok(()), |ready| beside.wait(&ready.mean))?;
            forward::means(layer, beside)?;
            ready.map_or(Ok(()), |ready| main.wait(&ready.covariance))?;
            forward::project(layer, main)?;
            main.after(beside)?;
            forward::moments(scope, layer, setting, self.extent.layer_samples(l), main)?;
            if let Some(above) = self.arrays.layers.get(l + 1) {
                forward::sample(scope, layer, above, l, setting, main)?;
            }
        }
        Ok(())
    }

    /// Gives out the data term and the way back, to the whole gradient.
    pub fn backward(&self, noise: NoiseSource) -> Outcome<()> {
        let (main, setting, gradient) = (self.main(), self.setting(noise), self.arrays.gradient);
        let last = self.arrays.layers.len() - 1;
        let mut x_bar = Span::NONE;
        for (l, layer) in self.arrays.layers.iter().enumerate().rev() {
            let (scope, back) = (self.scope(l), self.back(layer));
            let samples = self.extent.layer_samples(l);
            if l == last {
                let program = self.programs.data_term.as_ref().expect("the task was made for gradients");
                let Arrays { y, weights, data_term: partial, .. } = self.arrays;
                let targets = Targets { likelihood: &self.blueprint.likelihood, y, weights, partial };
                backward::data_term((program, scope), layer, back, targets, setting, samples, main)?;
            } else {
                let fan = self.extent.layer_samples(l + 1) / samples;
                backward::sample_pullback(scope, layer, back, x_bar, fan, main)?;
            }
            backward::through_variance(scope, layer, back, setting, main)?;
            self.back_to_parameters(l, layer, back)?;

            backward::weigh(scope, layer, back, main)?;
            let of_inducing = self.inducing_lane(l);
            of_inducing.after(main)?;
            row_sums::inducing(scope, layer, back, of_inducing)?;
            backward::inputs(scope, layer, back, l == 0, main)?;
            // Squares are taken beside the sums: for the first layer by the main lane, which has nothing else to do.
            let beside = if l == 0 { main } else { self.explained_lane(l) };
            if l > 0 {
                beside.after(main)?;
            }
            row_sums::squares(scope, layer, back, beside)?;
            of_inducing.after(beside)?;
            of_inducing.after(self.covariance_lane(l))?;
            of_inducing.after(self.mean_lane(l))?;
            epilogue::finish(scope, layer, back, gradient, of_inducing)?;
            x_bar = back.x_bar;
        }
        for l in 0..=last {
            main.after(self.inducing_lane(l))?;
            main.after(self.explained_lane(l))?;
        }
        Ok(())
    }

    /// Gives out sums over the rows of a layer and their way back to its parameters, beside the main lane.
    fn back_to_parameters(&self, l: usize, layer: &LayerArrays<T>, back: &BackArrays<T>) -> Outcome<()> {
        let (main, scope, gradient) = (self.main(), self.scope(l), self.arrays.gradient);
        let (of_mean, of_covariance, of_explained) =
            (self.mean_lane(l), self.covariance_lane(l), self.explained_lane(l));
        let mut reached = Reached::default();
        of_explained.after(main)?;
        of_covariance.after(main)?;
        row_sums::projection(scope, layer, back, of_covariance)?;
        row_sums::explained(scope, layer, back, of_explained)?;
        match layer.blueprint.covariance_form {
            // What goes from Ḡ to the factor meets nothing of R̄ or K̄.
            CovarianceForm::Whitened | CovarianceForm::Diagonal => {
                epilogue::covariance(scope, layer, back, gradient, &mut reached, of_explained)?;
            }
            CovarianceForm::Standard | CovarianceForm::Dual => {
                of_covariance.after(of_explained)?;
                epilogue::covariance(scope, layer, back, gradient, &mut reached, of_covariance)?;
            }
        }
        epilogue::projection(layer, back, &mut reached, of_covariance)?;
        match &layer.prepared.grams {
            Grams::Tied(_) => {}
            Grams::Decoupled { covariance, .. } => {
                epilogue::kernel_matrix(scope, layer, back, covariance, reached, of_covariance)?;
                reached = Reached::default();
                of_mean.after(main)?;
            }
        }
        row_sums::weights(scope, layer, back, of_mean)?;
        epilogue::mean(scope, layer, back, gradient, &mut reached, of_mean)?;
        epilogue::kernel_matrix(scope, layer, back, layer.prepared.grams.mean(), reached, of_mean)
    }

    fn back<'a>(&self, layer: &'a LayerArrays<T>) -> &'a BackArrays<T> {
        layer.back.as_ref().expect("the task was laid out for gradients")
    }

    /// Gives out a whole step: rows by their numbers, ELBO and gradient, the record, and Adam if all is well.
    pub fn step(&self, noise: NoiseSource) -> Outcome<()> {
        let (main, arrays, general) = (self.main(), &self.arrays, self.general());
        let Arrays { ids, control, .. } = *arrays;
        let first = &arrays.layers[0];
        let ready = self.prologue()?;
        let (rows, width) = (self.extent.rows, first.blueprint.width);
        main.run(general, Gather { data: arrays.x, ids, rows, width, control, x1: first.rows.x })?;
        self.forward(noise, &ready)?;
        self.backward(noise)?;
        self.finish_step()
    }

    /// Gives out what ends a step: whether it is good, its record, and Adam's update.
    fn finish_step(&self) -> Outcome<()> {
        let (main, arrays, general, blueprint) = (self.main(), &self.arrays, self.general(), &self.blueprint);
        let Arrays { data_term, steps, control, infos, kls, gradient, .. } = *arrays;
        let theta = &blueprint.likelihood.parameters;
        main.run(general, CheckFinite { gradient, n: theta.start, control })?;
        let decide = Decide {
            partial: data_term,
            blocks: data_term.len() / data_term_length(blueprint),
            parameters: theta.len(),
            kl: kls,
            kls: kls.len(),
            infos,
            factors: infos.len(),
            length: record_length(blueprint),
            control,
            records: arrays.records,
            theta_bar: gradient.part(theta),
        };
        main.run(general, decide)?;
        let ascend = Ascend {
            raw: arrays.raw,
            first: arrays.first,
            second: arrays.second,
            values: arrays.values,
            before: arrays.before,
            gradient,
            floors: arrays.floors,
            frozen: arrays.frozen,
            n: blueprint.parameters,
            steps,
            control,
        };
        main.run(general, ascend)?;
        main.run(general, Advance { control })
    }
}

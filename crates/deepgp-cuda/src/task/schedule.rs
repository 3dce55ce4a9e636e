//! The order in which a step's work is given out.
//!
//! A step is a graph. Every layer's kernel matrices and factors are made on lanes of their own, beside one another and beside the rows,
//! which go forward on the main lane and wait for a layer's factors only when they come to it. On the way back the main lane hands each
//! layer's sums over to the layer's lanes and goes on to the layer below. So what a step takes is the longest way through, not the sum:
//! the first layer's factor, all layers forward and back, and from the first layer's sums back to its inducing inputs. What lies beside
//! that way, such as inverse factors, divergences and the record, is given out beside it.
//!
//! Where other processes have rows of the same batch, a step is two graphs: the way there and back through all layers, with their sums, and
//! from the sums over all processes to the parameters. What lies between them is the host's (`exchange.rs`).

use cudarc::driver::CudaEvent;
use deepgp::CovarianceForm;

use super::DeviceTask;
use crate::arrays::rows::BackArrays;
use crate::arrays::{Arrays, LayerArrays, data_term_length, record_length};
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::exchange::{CountClamped, SumBlocks};
use crate::kernels::optimiser::{Ascend, Decide};
use crate::kernels::rows::Gather;
use crate::model::blueprint::Grams;
use crate::source::data_term::power;
use crate::step::backward::Targets;
use crate::step::epilogue::Reached;
use crate::step::forward::{NoiseSource, Setting};
use crate::step::{Scope, backward, epilogue, forward, prologue, row_sums};

/// Marks after what the rows of a layer wait for.
#[derive(Debug)]
pub struct Ready {
    /// `[1 | Z]`.
    inducing: CudaEvent,
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
        &self.held.lanes[1 + 2 * layer]
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
        self.arrays.layers.iter().enumerate().map(|(l, layer)| self.layer_prologue(l, layer)).collect()
    }

    fn layer_prologue(&self, l: usize, layer: &LayerArrays<T>) -> Outcome<Ready> {
        let (scope, of_mean, of_covariance) = (self.scope(l), self.mean_lane(l), self.covariance_lane(l));
        of_mean.after(self.main())?;
        prologue::begin(scope, layer, of_mean)?;
        let inducing = of_mean.mark()?;
        of_covariance.after(of_mean)?;
        prologue::prior(scope, layer, of_covariance)?;
        prologue::mean_matrix(scope, layer, of_mean)?;
        let solved = of_mean.mark()?;
        // Where the weights came with the factor, the whole inverse is for the way back.
        let inverts = self.extent.work.gradients || !layer.prepared.solved;
        match &layer.prepared.grams {
            Grams::Shared(one) => {
                of_covariance.after(of_mean)?;
                if layer.blueprint.has_head() {
                    prologue::head_inverse(scope, layer, of_covariance)?;
                    if inverts {
                        prologue::inverse(scope, one, of_mean)?;
                    }
                } else {
                    prologue::inverse(scope, one, of_covariance)?;
                    of_mean.after(of_covariance)?;
                }
            }
            Grams::Decoupled { mean, covariance } => {
                prologue::covariance_matrix(scope, layer, covariance, of_covariance)?;
                prologue::inverse(scope, covariance, of_covariance)?;
                if inverts {
                    prologue::inverse(scope, mean, of_mean)?;
                }
            }
        }
        prologue::covariance(scope, layer, of_covariance)?;
        let covariance = of_covariance.mark()?;
        prologue::weights(scope, layer, of_mean)?;
        let mean = if layer.prepared.solved { solved } else { of_mean.mark()? };
        prologue::covariance_divergence(scope, layer, of_covariance)?;
        prologue::mean_divergence(scope, layer, of_mean)?;
        Ok(Ready { inducing, mean, covariance })
    }

    /// Gives out the way forward from the first layer's rows to the last layer's moments; a layer's rows wait for its marks, if there
    /// are any.
    pub fn forward(&self, noise: NoiseSource, ready: &[Ready]) -> Outcome<()> {
        let (main, setting) = (self.main(), self.setting(noise));
        for (l, layer) in self.arrays.layers.iter().enumerate() {
            let (scope, ready) = (self.scope(l), ready.get(l));
            // Means are computed beside what the variances need.
            let beside = self.means_lane(l);
            ready.map_or(Ok(()), |ready| main.wait(&ready.inducing))?;
            forward::cross(scope, layer, main, beside)?;
            beside.after(main)?;
            ready.map_or(Ok(()), |ready| beside.wait(&ready.mean))?;
            forward::means(layer, beside)?;
            ready.map_or(Ok(()), |ready| main.wait(&ready.covariance))?;
            forward::project(layer, main)?;
            main.after(beside)?;
            let (above, fan) = (self.arrays.layers.get(l + 1), self.extent.layer_samples(l));
            forward::moments(scope, layer, above, (l, fan), setting, main)?;
            forward::conditional(scope, layer, setting, main)?;
        }
        Ok(())
    }

    /// Gives out the data term and the way back: to the whole gradient, or to the sums over rows that are to be exchanged.
    pub fn backward(&self, noise: NoiseSource) -> Outcome<()> {
        let (main, setting, alone) = (self.main(), self.setting(noise), !self.is_together());
        let last = self.arrays.layers.len() - 1;
        let (mut x_bar, mut fan) = (Span::NONE, 1);
        for (l, layer) in self.arrays.layers.iter().enumerate().rev() {
            let (scope, back) = (self.scope(l), self.back(layer));
            let samples = self.extent.layer_samples(l);
            if l == last {
                let program = self.programs.data_term.as_ref().expect("the task was made for gradients");
                let Arrays { y, weights, offsets, data_term: partial, .. } = self.arrays;
                let power = power(self.extent.work.objective);
                let (likelihood, logits) = (&self.blueprint.likelihood, self.logits(self.arrays.values));
                let targets = Targets { likelihood, y, weights, offsets, logits, power, partial };
                backward::data_term((program, scope), layer, back, targets, setting, samples, main)?;
                if alone { self.decide()? } else { self.sum_data_term()? }
            } else {
                fan = self.extent.layer_samples(l + 1) / samples;
            }
            backward::through_variance(scope, layer, back, (x_bar, fan), setting, main)?;
            backward::through_conditional(scope, layer, back, setting, main)?;
            self.sum_moments(l, layer, back)?;
            if alone {
                self.back_to_parameters(l, layer, back)?;
            }
            backward::points(
                scope,
                layer,
                self.points_bar(layer, back),
                (x_bar, fan),
                setting,
                self.explained_lane(l),
            )?;
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
            if alone {
                self.finish_layer(l, layer, back)?;
            } else {
                row_sums::blocks(scope, layer, back, of_inducing)?;
            }
            x_bar = back.x_bar;
        }
        if alone { self.join_layers() } else { Ok(()) }
    }

    /// Whether other processes have rows of the same batch.
    fn is_together(&self) -> bool {
        self.extent.work.together
    }

    /// Makes the main lane wait for all that ends in a layer's gradient.
    fn join_layers(&self) -> Outcome<()> {
        let main = self.main();
        for l in 0..self.arrays.layers.len() {
            main.after(self.inducing_lane(l))?;
            main.after(self.mean_lane(l))?;
            main.after(self.explained_lane(l))?;
        }
        Ok(())
    }

    /// Where the gradient at the points of learned sites goes, if there are any, that a hidden layer's outputs take.
    fn points_bar(&self, layer: &LayerArrays<T>, back: &BackArrays<T>) -> Span<f64> {
        match (back.sums.blocks, &layer.blueprint.points) {
            (Some(blocks), _) => blocks.points,
            (None, Some(range)) => self.arrays.gradient.part(range),
            (None, None) => Span::NONE,
        }
    }

    /// Gives out the sums over the rows of a layer that its moments' gradients make, beside the main lane.
    fn sum_moments(&self, l: usize, layer: &LayerArrays<T>, back: &BackArrays<T>) -> Outcome<()> {
        let (main, scope) = (self.main(), self.scope(l));
        let (of_mean, of_covariance, of_explained) =
            (self.mean_lane(l), self.covariance_lane(l), self.explained_lane(l));
        of_mean.after(main)?;
        of_covariance.after(main)?;
        of_explained.after(main)?;
        row_sums::weights(scope, layer, back, of_mean)?;
        row_sums::projection(scope, layer, back, of_covariance)?;
        row_sums::explained(scope, layer, back, of_explained)
    }

    /// Gives out the way of a layer's sums back to its parameters, beside the main lane.
    fn back_to_parameters(&self, l: usize, layer: &LayerArrays<T>, back: &BackArrays<T>) -> Outcome<()> {
        let (scope, gradient) = (self.scope(l), self.arrays.gradient);
        let (of_mean, of_covariance, of_explained) =
            (self.mean_lane(l), self.covariance_lane(l), self.explained_lane(l));
        let (mut of_free, mut of_factor) = (Reached::default(), Reached::default());
        epilogue::mean(scope, layer, back, gradient, &mut of_free, of_mean)?;
        match layer.blueprint.covariance_form {
            // What goes from Ḡ to the factor meets nothing of R̄ or K̄.
            CovarianceForm::Whitened | CovarianceForm::Diagonal => {
                epilogue::covariance(scope, layer, back, gradient, &mut of_factor, of_explained)?;
            }
            CovarianceForm::Standard | CovarianceForm::Dual => {
                of_covariance.after(of_explained)?;
                epilogue::covariance(scope, layer, back, gradient, &mut of_factor, of_covariance)?;
                of_explained.after(of_covariance)?;
            }
        }
        of_explained.after(of_mean)?;
        epilogue::check(scope, layer, gradient, of_explained)?;
        epilogue::projection(layer, back, &mut of_factor, of_covariance)?;
        match &layer.prepared.grams {
            Grams::Shared(one) => {
                of_mean.after(of_covariance)?;
                epilogue::kernel_matrix(scope, layer, back, one, of_free.and(of_factor), of_mean)
            }
            Grams::Decoupled { mean, covariance } => {
                epilogue::kernel_matrix(scope, layer, back, covariance, of_factor, of_covariance)?;
                epilogue::kernel_matrix(scope, layer, back, mean, of_free, of_mean)
            }
        }
    }

    /// Gives out the gradients at a layer's inducing inputs and at its kernel's parameters, when all of its sums are there.
    fn finish_layer(&self, l: usize, layer: &LayerArrays<T>, back: &BackArrays<T>) -> Outcome<()> {
        let of_inducing = self.inducing_lane(l);
        of_inducing.after(self.covariance_lane(l))?;
        of_inducing.after(self.mean_lane(l))?;
        epilogue::finish(self.scope(l), layer, back, self.arrays.gradient, (of_inducing, self.mean_lane(l)))
    }

    /// The part of all parameters' `values`, or of their gradient, that belongs to the logits of learned sites' weights, if there are any.
    fn logits(&self, values: Span<f64>) -> Span<f64> {
        self.blueprint.logits.as_ref().map_or(Span::NONE, |range| values.part(range))
    }

    fn back<'a>(&self, layer: &'a LayerArrays<T>) -> &'a BackArrays<T> {
        layer.back.as_ref().expect("the task was laid out for gradients")
    }

    /// Gives out a whole step, and where there are other processes waits for them in the middle of it.
    pub fn step_with_others(&mut self, noise: NoiseSource) -> Outcome<()> {
        self.step(noise)?;
        if self.is_together() {
            self.sum_over_processes()?;
            self.step_after_sums()?;
        }
        Ok(())
    }

    /// Gives out a step: rows by their numbers, ELBO and gradient, the record, and Adam if all is well. Where there are other processes it ends
    /// with the sums over rows on their way to the host.
    pub fn step(&self, noise: NoiseSource) -> Outcome<()> {
        let (main, arrays, general) = (self.main(), &self.arrays, self.general());
        let Arrays { ids, control, .. } = *arrays;
        let first = &arrays.layers[0];
        let ready = self.prologue()?;
        let (rows, width) = (self.extent.rows, first.blueprint.width);
        main.run(general, Gather { data: arrays.x, ids, rows, width, control, x1: first.rows.x })?;
        self.forward(noise, &ready)?;
        self.backward(noise)?;
        if !self.is_together() {
            return self.finish_step();
        }
        self.join()?;
        self.exchange().hand_out(main)
    }

    /// Gives out the rest of a step whose sums over rows are those of all processes.
    pub fn step_after_sums(&self) -> Outcome<()> {
        self.exchange().take_in(self.main())?;
        self.fork()?;
        self.decide()?;
        for (l, layer) in self.arrays.layers.iter().enumerate().rev() {
            let (scope, back) = (self.scope(l), self.back(layer));
            self.back_to_parameters(l, layer, back)?;
            epilogue::points(scope, layer, back, self.arrays.gradient, self.explained_lane(l))?;
            epilogue::whole_blocks(back, self.mean_lane(l))?;
            self.finish_layer(l, layer, back)?;
        }
        self.join_layers()?;
        self.finish_step()
    }

    /// Gives out what other processes are to know of a step's data term, beside the main lane.
    fn sum_data_term(&self) -> Outcome<()> {
        let (lane, sums) = (self.explained_lane(0), self.arrays.sums.as_ref().expect("there are other processes"));
        let n = data_term_length(&self.blueprint);
        let (from, blocks) = (self.arrays.data_term, self.arrays.data_term.len() / n);
        lane.after(self.main())?;
        lane.run(self.general(), SumBlocks { from, blocks, n, to: sums.data_term })?;
        lane.run(self.general(), CountClamped { control: self.arrays.control, to: sums.clamped })
    }

    /// Gives out what a step's data term, factors and divergences say of it, beside the main lane, after the data term.
    fn decide(&self) -> Outcome<()> {
        let (arrays, blueprint, lane) = (&self.arrays, &self.blueprint, self.explained_lane(0));
        let Arrays { data_term, control, infos, kls, gradient, records, ref sums, .. } = *arrays;
        let (partial, all_clamped) =
            sums.as_ref().map_or((data_term, Span::NONE), |sums| (sums.data_term, sums.clamped));
        let theta = &blueprint.likelihood.parameters;
        lane.after(self.main())?;
        for l in 0..arrays.layers.len() {
            lane.after(self.mean_lane(l))?;
            lane.after(self.covariance_lane(l))?;
        }
        let decide = Decide {
            partial,
            blocks: partial.len() / data_term_length(blueprint),
            parameters: theta.len(),
            logits: self.logits(arrays.values),
            sites: blueprint.sites(),
            kl: kls,
            kls: kls.len(),
            infos,
            factors: infos.len(),
            length: record_length(blueprint),
            all_clamped,
            control,
            records,
            theta_bar: gradient.part(theta),
            logits_bar: self.logits(gradient),
        };
        lane.run(self.general(), decide)
    }

    /// Gives out what ends a step: Adam's update, if all is well.
    fn finish_step(&self) -> Outcome<()> {
        let (main, arrays, blueprint) = (self.main(), &self.arrays, &self.blueprint);
        let ascend = Ascend {
            raw: arrays.raw,
            first: arrays.first,
            second: arrays.second,
            values: arrays.values,
            before: arrays.before,
            gradient: arrays.gradient,
            floors: arrays.floors,
            frozen: arrays.frozen,
            n: blueprint.parameters,
            steps: arrays.steps,
            control: arrays.control,
            records: arrays.records,
            length: record_length(blueprint),
        };
        main.run(self.general(), ascend)
    }
}

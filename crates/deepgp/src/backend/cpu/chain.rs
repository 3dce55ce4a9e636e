//! A block of rows through all layers, forward and backward.
//!
//! Given what was prepared once a step, a row passes through the layers independently of every other row. A hidden layer
//! hands on the sample `f = μ + σ ε`; the last layer's moments go to the objective. With `S` samples the first layer is
//! computed once a row, and its output is sampled `S` times; from there on there are `S` rows for each. Backward, a sample's gradient
//! reaches the moments as `μ̄ += f̄` and `σ̄² += f̄ ε / 2σ`, summed over samples. Learned sites are noise that is the same for all rows and
//! has a gradient, `ξ̄_s += f̄ σ`, summed over rows.

use std::ops::Range;
use std::sync::Mutex;

use crate::data::InputLayout;
use crate::layer::{Floor, Layer, LayerRows, LayerSums, Prepared, RowArrays, RowLayer, Want};
use crate::model::mixture_size;
use crate::numeric::mat::Mat;
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;
use crate::random::noise::{Noise, RowNumbers};

/// All prepared layers of a model, in the precision of the rows that go through them.
#[derive(Debug)]
pub(crate) struct Chain<'a, T> {
    /// The layers, first to last.
    pub layers: Vec<RowLayer<'a, T>>,
    /// The number of samples of the hidden layers for each row, `S`.
    samples: usize,
}

/// A block of rows in all layers; working memory that is reused.
#[derive(Debug)]
pub(crate) struct ChainRows<T> {
    /// The block in each layer.
    pub layers: Vec<LayerRows<T>>,
    /// The noise `ε` of each hidden layer.
    noise: Vec<Mat<T>>,
    /// One row for the objective, in `f64`: the moments of all its samples, and the gradients at them.
    pub row: Vec<f64>,
}

/// The gradients that [`Chain::backward`] adds to.
#[derive(Debug)]
pub(crate) struct ChainSums<'a, T> {
    /// The gradients of each layer.
    pub layers: &'a mut [LayerSums<T>],
    /// The gradients at the points of learned sites, `[Q, width]` for each hidden layer; empty where noise is drawn.
    pub points: &'a mut [Mat],
}

impl<'a, T: Real> Chain<'a, T> {
    /// The layers in new memory, for dense rows.
    pub fn new(layers: &'a [Layer], prepared: &[Prepared], floor: Floor, samples: usize, want: Want) -> Self {
        Self::reusing(&mut Vec::new(), layers, prepared, floor, samples, want, InputLayout::Dense)
    }

    /// The layers in the memory that [`Chain::recycle`] gave back, for rows of this layout.
    pub fn reusing(
        arrays: &mut Vec<RowArrays<T>>,
        layers: &'a [Layer],
        prepared: &[Prepared],
        floor: Floor,
        samples: usize,
        want: Want,
        layout: InputLayout<'_>,
    ) -> Self {
        arrays.resize_with(layers.len(), RowArrays::default);
        let parts = layers.iter().zip(prepared).zip(arrays.drain(..)).enumerate();
        let layers = parts
            .map(|(l, ((layer, prepared), arrays))| {
                RowLayer::new(layer, prepared, floor, want, arrays, layout.of_layer(l))
            })
            .collect();
        Self { layers, samples }
    }

    /// Gives the memory back.
    pub fn recycle(self, arrays: &mut Vec<RowArrays<T>>) {
        arrays.extend(self.layers.into_iter().map(RowLayer::into_arrays));
    }

    /// The number of samples that are drawn of layer `l` for each row of its input: all at the first layer, then one each.
    fn samples_of(&self, l: usize) -> usize {
        if l == 0 { self.samples } else { 1 }
    }

    /// The number of rows that the last layer sees for each row of the block: the parts of the mixture.
    pub fn mixture_size(&self) -> usize {
        mixture_size(self.layers.len(), self.samples)
    }

    /// Takes the rows in `rows.layers[0].x` to the moments of the last layer; returns the number of variances raised to the floor.
    pub fn forward(&self, rows: &mut ChainRows<T>, noise: &Noise<'_>, block: RowNumbers<'_>) -> usize {
        self.forward_first(rows) + self.forward_rest(rows, 0..block.ids.len(), noise, block)
    }

    /// The first layer of [`Chain::forward`].
    pub fn forward_first(&self, rows: &mut ChainRows<T>) -> usize {
        self.layers[0].forward(&mut rows.layers[0]);
        rows.layers[0].clamped
    }

    /// The layers after the first of [`Chain::forward`], for `part` of the rows that went through the first one: those of `block`.
    pub fn forward_rest(
        &self,
        rows: &mut ChainRows<T>,
        part: Range<usize>,
        noise: &Noise<'_>,
        block: RowNumbers<'_>,
    ) -> usize {
        let mut clamped = 0;
        for l in 1..self.layers.len() {
            let (done, ahead) = rows.layers.split_at_mut(l);
            let (before, here) = (&mut done[l - 1], &mut ahead[0]);
            let part = if l == 1 { part.clone() } else { 0..before.len() };
            let (n, p, samples) = (part.len(), before.mean.ncols(), self.samples_of(l - 1));
            let epsilon = &mut rows.noise[l - 1];
            epsilon.reshape_for_overwrite(n * samples, p);
            noise.fill(l - 1, block, self.samples, epsilon);
            let f = here.x.dense_mut();
            f.reshape_for_overwrite(n * samples, p);
            let LayerRows { mean, variance, deviation, .. } = before;
            deviation.reshape_for_overwrite(n, p);
            vectorised(
                #[inline(always)]
                || {
                    let variance = &variance.as_slice()[part.start * p..part.end * p];
                    for (to, from) in deviation.as_mut_slice().iter_mut().zip(variance) {
                        *to = from.root();
                    }
                    for i in 0..n {
                        let (mean, deviation) = (mean.row(part.start + i), deviation.row(i));
                        for s in i * samples..(i + 1) * samples {
                            let (f, e) = (f.row_mut(s), epsilon.row(s));
                            for (((f, &e), &m), &d) in f.iter_mut().zip(e).zip(mean).zip(deviation) {
                                *f = m + d * e;
                            }
                        }
                    }
                },
            );
            self.layers[l].forward(here);
            clamped += here.clamped;
        }
        clamped
    }

    /// Makes the last layer compute the conditional variance of its rows, for objectives that read it.
    pub fn with_conditional(mut self) -> Self {
        self.layers.last_mut().expect("a model has a layer").conditional = true;
        self
    }

    /// The pullback of [`Chain::forward`] from the gradients at the last layer's moments: adds to `sums`, or, without any, writes the
    /// gradient at the inputs to `rows.layers[0].x_bar`.
    pub fn backward(&self, rows: &mut ChainRows<T>, mut sums: Option<ChainSums<'_, T>>) {
        let want_x = sums.is_none();
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let own = sums.as_mut().map(|sums| &mut sums.layers[l]);
            layer.backward(&mut rows.layers[l], own, want_x || l > 0);
            if l == 0 {
                break;
            }
            // ∂f/∂μ = 1 and ∂f/∂σ² = ε / 2σ.
            let (before, after) = rows.layers.split_at_mut(l);
            let (sampled, f_bar) = (&mut before[l - 1], &after[0].x_bar);
            let (n, p, samples) = (sampled.len(), f_bar.ncols(), self.samples_of(l - 1));
            let half = T::of(0.5);
            let LayerRows { mean_bar, variance_bar, deviation, .. } = sampled;
            mean_bar.reshape_for_overwrite(n, p);
            variance_bar.reshape_for_overwrite(n, p);
            let epsilon = &rows.noise[l - 1];
            if let Some(bar) = sums.as_mut().and_then(|sums| sums.points.get_mut(l - 1)) {
                // ∂f/∂ξ = σ, for every row of a site.
                for r in 0..n * samples {
                    let at = f_bar.row(r).iter().zip(deviation.row(r / samples));
                    for (to, (&f, &d)) in bar.row_mut(r % self.samples).iter_mut().zip(at) {
                        *to += (f * d).to_f64();
                    }
                }
            }
            vectorised(
                #[inline(always)]
                || {
                    mean_bar.fill(T::ZERO);
                    variance_bar.fill(T::ZERO);
                    for i in 0..n {
                        let (mean_bar, variance_bar) = (mean_bar.row_mut(i), variance_bar.row_mut(i));
                        for s in i * samples..(i + 1) * samples {
                            let at = f_bar.row(s).iter().zip(epsilon.row(s)).zip(deviation.row(i));
                            let to = mean_bar.iter_mut().zip(variance_bar.iter_mut());
                            for (((&bar, &e), &d), (mean, variance)) in at.zip(to) {
                                *mean += bar;
                                *variance += half * bar * e / d;
                            }
                        }
                    }
                },
            );
        }
    }
}

/// A pool of working memory for blocks of rows, one for each thread at work. It carries nothing from one block to the next.
#[derive(Debug)]
pub(crate) struct Workspaces<T> {
    /// The workspaces that nobody uses at the moment.
    free: Mutex<Vec<ChainRows<T>>>,
    /// The number of the model's layers.
    layers: usize,
}

/// A workspace on loan from the pool; it goes back when dropped.
#[derive(Debug)]
pub(crate) struct Loan<'a, T> {
    /// The pool.
    from: &'a Workspaces<T>,
    /// The workspace, until it is dropped.
    rows: Option<ChainRows<T>>,
}

impl<T: Real> Workspaces<T> {
    /// An empty pool, for models of so many layers.
    pub fn new(layers: usize) -> Self {
        Self { free: Mutex::new(Vec::new()), layers }
    }

    /// A workspace from the pool, or a new one.
    pub fn take(&self) -> Loan<'_, T> {
        let free = self.free.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
        let rows = free.unwrap_or_else(|| ChainRows {
            layers: (0..self.layers).map(|_| LayerRows::default()).collect(),
            noise: vec![Default::default(); self.layers - 1],
            row: Vec::new(),
        });
        Loan { from: self, rows: Some(rows) }
    }
}

impl<T> std::ops::Deref for Loan<'_, T> {
    type Target = ChainRows<T>;
    fn deref(&self) -> &ChainRows<T> {
        self.rows.as_ref().expect("a loan holds its workspace until it is dropped")
    }
}

impl<T> std::ops::DerefMut for Loan<'_, T> {
    fn deref_mut(&mut self) -> &mut ChainRows<T> {
        self.rows.as_mut().expect("a loan holds its workspace until it is dropped")
    }
}

impl<T> Drop for Loan<'_, T> {
    fn drop(&mut self) {
        if let Some(rows) = self.rows.take() {
            self.from.free.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(rows);
        }
    }
}

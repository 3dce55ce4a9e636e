//! A block of rows through all layers, forward and backward.
//!
//! Given what was prepared once a step, a row passes through the layers independently of every other row. A hidden layer
//! hands on the sample `f = μ + σ ε`; the last layer's moments go to the likelihood. With `S` samples the first layer is
//! computed once a row, and its output is sampled `S` times; from there on there are `S` rows for each.

use std::ops::Range;
use std::sync::Mutex;

use crate::data::InputLayout;
use crate::layer::{Floor, Layer, LayerRows, LayerSums, Prepared, RowArrays, RowLayer, Want};
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;
use crate::random::noise::{Noise, RowNumbers};

/// All layers, as a block of rows sees them.
#[derive(Debug)]
pub(crate) struct Chain<'a, T> {
    pub layers: Vec<RowLayer<'a, T>>,
    samples: usize,
}

/// One block's numbers in all layers.
#[derive(Debug)]
pub(crate) struct ChainRows<T> {
    pub layers: Vec<LayerRows<T>>,
    /// `ε` of each hidden layer.
    noise: Vec<crate::numeric::mat::Mat<T>>,
    /// What the objective sees of one row: moments of all its samples, and the gradients at them.
    pub row: Vec<f64>,
}

impl<'a, T: Real> Chain<'a, T> {
    pub fn new(layers: &'a [Layer], prepared: &[Prepared], floor: Floor, samples: usize, want: Want) -> Self {
        Self::reusing(&mut Vec::new(), layers, prepared, floor, samples, want, InputLayout::Dense)
    }

    /// Like [`Chain::new`], in the memory that [`Chain::recycle`] gave back, for rows of this layout.
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
        let layout = |l| if l == 0 { layout } else { InputLayout::Dense };
        let layers = parts
            .map(|(l, ((layer, made), arrays))| RowLayer::new(layer, made, floor, want, arrays, layout(l)))
            .collect();
        Self { layers, samples }
    }

    /// Gives the memory back.
    pub fn recycle(self, arrays: &mut Vec<RowArrays<T>>) {
        arrays.extend(self.layers.into_iter().map(RowLayer::into_arrays));
    }

    /// How many samples of each row layer `l` makes of one of its inputs.
    fn fan(&self, l: usize) -> usize {
        if l == 0 { self.samples } else { 1 }
    }

    /// How many rows the last layer sees for each row of the block.
    pub fn mixture_size(&self) -> usize {
        if self.layers.len() == 1 { 1 } else { self.samples }
    }

    /// From `rows.layers[0].x` to the moments of the last layer; returns how many variances met the floor.
    pub fn forward(&self, rows: &mut ChainRows<T>, noise: &Noise<'_>, block: RowNumbers<'_>) -> usize {
        self.first(rows) + self.after_first(rows, 0..block.ids.len(), noise, block)
    }

    /// The first layer of [`Chain::forward`].
    pub fn first(&self, rows: &mut ChainRows<T>) -> usize {
        self.layers[0].forward(&mut rows.layers[0]);
        rows.layers[0].clamped
    }

    /// The other layers, for `part` of the rows that went through the first one: those of `block`.
    pub fn after_first(
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
            let (n, p, fan) = (part.len(), before.mean.ncols(), self.fan(l - 1));
            let epsilon = &mut rows.noise[l - 1];
            epsilon.reshape_for_overwrite(n * fan, p);
            noise.fill(l - 1, block, self.samples, epsilon);
            let f = here.x.dense_mut();
            f.reshape_for_overwrite(n * fan, p);
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
                        for s in i * fan..(i + 1) * fan {
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

    /// From the gradients at the last layer's moments to `sums`, if there are any, and to `rows.layers[0].x_bar`, if there are none.
    pub fn backward(&self, rows: &mut ChainRows<T>, mut sums: Option<&mut [LayerSums<T>]>) {
        let want_x = sums.is_none();
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let own = sums.as_mut().map(|sums| &mut sums[l]);
            layer.backward(&mut rows.layers[l], own, want_x || l > 0);
            if l == 0 {
                break;
            }
            // ∂f/∂μ = 1 and ∂f/∂σ² = ε / 2σ.
            let (before, after) = rows.layers.split_at_mut(l);
            let (sampled, f_bar) = (&mut before[l - 1], &after[0].x_bar);
            let (n, p, fan) = (sampled.len(), f_bar.ncols(), self.fan(l - 1));
            let half = T::of(0.5);
            let LayerRows { mean_bar, variance_bar, deviation, .. } = sampled;
            mean_bar.reshape_for_overwrite(n, p);
            variance_bar.reshape_for_overwrite(n, p);
            let epsilon = &rows.noise[l - 1];
            vectorised(
                #[inline(always)]
                || {
                    mean_bar.fill(T::ZERO);
                    variance_bar.fill(T::ZERO);
                    for i in 0..n {
                        let (mean_bar, variance_bar) = (mean_bar.row_mut(i), variance_bar.row_mut(i));
                        for s in i * fan..(i + 1) * fan {
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

/// Working memory, lent to whoever computes a block. It carries nothing from one block to the next.
#[derive(Debug)]
pub(crate) struct Workspaces<T> {
    free: Mutex<Vec<ChainRows<T>>>,
    layers: usize,
}

/// A workspace on loan; it goes back when dropped.
#[derive(Debug)]
pub(crate) struct Loan<'a, T> {
    from: &'a Workspaces<T>,
    rows: Option<ChainRows<T>>,
}

impl<T: Real> Workspaces<T> {
    pub fn new(layers: usize) -> Self {
        Self { free: Mutex::new(Vec::new()), layers }
    }

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

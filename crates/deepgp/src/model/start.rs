//! The start of a model, for whoever waits for it: how far it is, and whether to cut it short.
//!
//! With many rows, columns or inducing inputs, choosing the latter is what takes time before the first step. Somebody who watches is told
//! how far it is, and may break: the choice then ends with what it has, random rows take the place of what is missing, and the model is one
//! that can be trained as any other, only from a worse start.

use std::fmt;
use std::ops::ControlFlow;

/// How far the choice of one set of inducing inputs is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartProgress {
    /// The layer, from 0.
    pub layer: usize,
    /// The number of inducing inputs that are being chosen.
    pub inducing: usize,
    /// The share of the work on them that is done, from 0 to 1.
    pub share: f64,
}

/// Somebody who watches the start of a model, or nobody.
pub(crate) struct StartWatch<'a> {
    /// The callback that is told, and may break.
    tell: &'a mut (dyn FnMut(StartProgress) -> ControlFlow<()> + Send),
    /// The layer whose inducing inputs are being chosen.
    layer: usize,
}

impl<'a> StartWatch<'a> {
    /// A watch that tells `tell`.
    pub fn new(tell: &'a mut (dyn FnMut(StartProgress) -> ControlFlow<()> + Send)) -> Self {
        Self { tell, layer: 0 }
    }

    /// The watch of another layer.
    pub fn of_layer(&mut self, layer: usize) -> &mut Self {
        self.layer = layer;
        self
    }

    /// Tells that a share of the work on so many inducing inputs is done; breaks if the rest is to be left undone.
    pub fn tell(&mut self, inducing: usize, share: f64) -> ControlFlow<()> {
        (self.tell)(StartProgress { layer: self.layer, inducing, share })
    }
}

impl fmt::Debug for StartWatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartWatch").field("layer", &self.layer).finish_non_exhaustive()
    }
}

/// The callback of nobody.
pub(crate) fn unwatched(_: StartProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

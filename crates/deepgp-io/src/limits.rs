//! Sizes that people may ask for, wherever they ask. More is a slip of the keyboard, and more memory than there is: to run out of it
//! would end the process.

/// Layers before the last one.
pub const MOST_HIDDEN_LAYERS: usize = 1000;
/// Outputs of a layer.
pub const MOST_OUTPUTS: usize = 100_000;
/// Samples of the hidden layers, in training and in predictions.
pub const MOST_SAMPLES: usize = 1_000_000;

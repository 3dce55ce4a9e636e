//! Limits of what a request may ask for.

use std::time::Duration;

/// The most numbers of an answer: rows times what is told of each.
pub const ANSWERED_NUMBERS: usize = 2_000_000;
/// How long the head of a request may take, and how long a connection may be idle.
pub const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long whoever sends too much is listened to, so that they hear why they are refused.
pub const DRAIN_TIME: Duration = Duration::from_secs(3);
/// How long connections whose request is not all there yet are waited for at the end.
pub const LAST_HEADS_TIME: Duration = Duration::from_secs(1);

/// How much a request may ask for, and how many connections there may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most bytes of a body.
    pub body: usize,
    /// The most rows.
    pub rows: usize,
    /// The longest that a request may take from its head to its answer.
    pub time: Duration,
    /// The most connections at once.
    pub connections: usize,
}

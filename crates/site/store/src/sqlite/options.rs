//! Options of a file: its slices, their ages, its size, and its queries.

use std::time::Duration;

use talea_model::{Bytes, Nanos};

use super::{DAY, HOUR};

/// How a file is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Length of the finest slices; shorter batches are summed up in them. 0 keeps each batch's own
    /// interval. Decided when the file is made; at most an hour.
    pub slice: Nanos,
    /// How old fine slices become before they are merged into hours, without addresses and cores.
    pub fine_for: Nanos,
    /// How old hours become before they are merged into days, which are kept for ever.
    pub hours_for: Nanos,
    /// Most bytes of the file, without its log; absent for as much as there is room.
    pub most: Option<Bytes>,
    /// How long to wait for another process that writes.
    pub patience: Duration,
    /// How long a question may take; for ever if absent.
    pub longest: Option<Duration>,
    /// Whether a batch is refused whose time has a batch of its node already, or that fills a slice
    /// with more than the node's cores can do: for who does not believe nodes.
    pub strict: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            slice: Nanos(HOUR.0 / 6),
            fine_for: Nanos(7 * DAY.0),
            hours_for: Nanos(90 * DAY.0),
            most: None,
            patience: Duration::from_secs(10),
            longest: None,
            strict: false,
        }
    }
}

//! Parts that a process has in messages and collective operations.
//!
//! Owns their data alone; [`super::ends`] finds them.

use foldhash::HashMap;
use talea_model::{Bytes, Nanos, NodeId, Rank};

use super::Channel;
use super::roles::Meets;

/// A call of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Place of the thread in its process.
    pub thread: usize,
    /// Node of the thread's graph.
    pub node: NodeId,
    /// Number of the event in the thread.
    pub number: u64,
    /// Its begin.
    pub begin: Nanos,
    /// Its end.
    pub end: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Send {
    pub(super) thread: usize,
    pub(super) call: (Nanos, Nanos),
    pub(super) bytes: Bytes,
    /// The call that found it complete.
    pub(super) done: Option<Call>,
}

/// A part in a blocking collective operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meeting {
    pub(super) call: Call,
    pub(super) meets: Meets,
    pub(super) root: Option<Rank>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Receive {
    /// The thread that posted it.
    pub(super) thread: usize,
    pub(super) posted: Nanos,
    /// The call that found it complete; absent while it is open: it still has its place among the
    /// others.
    pub(super) done: Option<Call>,
    pub(super) from: Channel,
    pub(super) cancelled: bool,
}

/// Numbers of sends and receives by channel that came before those that are kept.
#[derive(Debug, Default)]
pub(super) struct Before {
    sent: HashMap<Channel, u64>,
    received: HashMap<Channel, u64>,
}

impl Before {
    /// Number of sends on a channel.
    pub(super) fn sent(&self, channel: &Channel) -> u64 {
        self.sent.get(channel).copied().unwrap_or(0)
    }

    /// Number of receives.
    pub(super) fn received(&self, channel: &Channel) -> u64 {
        self.received.get(channel).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, sent: HashMap<Channel, u64>, received: HashMap<Channel, u64>) {
        for (all, own) in [(&mut self.sent, sent), (&mut self.received, received)] {
            for (channel, count) in own {
                *all.entry(channel).or_default() += count;
            }
        }
    }
}

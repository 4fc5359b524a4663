//! Receives of a thread in the order in which they were posted; those that are over are counted.
//!
//! Owns places that stay the same when receives at the front leave. A receive may leave when it is
//! complete and those before it have left: its channel is known then, and with it the number that
//! later ones have on the channel.

use std::collections::VecDeque;

use foldhash::HashMap;
use talea_model::Nanos;
use talea_run::Recording;

use super::Channel;
use super::parts::Receive;

/// Receives of a thread.
#[derive(Debug, Default)]
pub(super) struct Posted {
    kept: VecDeque<Receive>,
    /// Number of those that left.
    left: usize,
    /// By channel, without cancelled ones.
    pub(super) before: HashMap<Channel, u64>,
    /// Those of them without a known channel.
    pub(super) unknown: u64,
}

impl Posted {
    /// Adds a receive; returns its place.
    pub(super) fn push(&mut self, receive: Receive) -> usize {
        self.kept.push_back(receive);
        self.left + self.kept.len() - 1
    }

    /// The receive at a place, unless it has left.
    pub(super) fn get(&self, at: usize) -> Option<&Receive> {
        self.kept.get(at.checked_sub(self.left)?)
    }

    /// The same to change it.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Receive> {
        self.kept.get_mut(at.checked_sub(self.left)?)
    }

    /// Lets receives leave that were complete before a time, or cancelled.
    pub(super) fn leave(&mut self, recording: &Recording, before: Nanos) {
        let is_over =
            |one: &Receive| one.cancelled || one.done.is_some_and(|done| done.end < before);
        while let Some(receive) = self.kept.pop_front_if(|one| is_over(one)) {
            self.left += 1;
            if receive.cancelled {
                continue;
            }
            match receive.from.shared(recording) {
                Some(channel) => *self.before.entry(channel).or_default() += 1,
                None => self.unknown += 1,
            }
        }
    }

    /// Number of receives that are kept.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Those that have not left, in order.
    pub(super) fn into_kept(self) -> impl Iterator<Item = Receive> {
        self.kept.into_iter()
    }
}

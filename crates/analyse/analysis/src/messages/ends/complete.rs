//! Requests of a thread: their start, their completion, and the matches of wild cards.

use std::collections::HashMap;

use talea_model::Bytes;
use talea_model::args::special;

use super::{Done, Foreign, GONE, Pending, Walker, value};
use crate::messages::Channel;
use crate::messages::parts::{Call, Send};
use crate::messages::roles::NodePlan;
use crate::requests::Request;

impl Walker<'_> {
    /// Starts a persistent request.
    pub(super) fn start(&mut self, age: i64, call: Call) {
        let Request::Own(number) = self.requests.named(age) else { return };
        match self.pending.get(&number).copied() {
            Some(Pending::Send { to, bytes, persistent, .. }) => {
                let open = Some(self.send(to, call, bytes, None));
                self.pending.insert(number, Pending::Send { to, bytes, open, persistent });
            }
            Some(Pending::Receive { from, persistent, .. }) => {
                let open = Some(self.post(call.begin, from));
                self.pending.insert(number, Pending::Receive { from, open, persistent });
            }
            None => {}
        }
    }

    /// Adds a send; returns its place, [`GONE`] for one that is only counted.
    pub(super) fn send(
        &mut self,
        to: Channel,
        call: Call,
        bytes: Bytes,
        done: Option<Call>,
    ) -> usize {
        if call.begin < self.from {
            match to.shared(self.recording) {
                Some(channel) => *self.sent_before.entry(channel).or_default() += 1,
                None => self.unknown += 1,
            }
            return GONE;
        }
        let times = (call.begin, call.end);
        self.sends.push((to, Send { thread: self.thread, call: times, bytes, done }));
        self.sends.len() - 1
    }

    /// Completes a request after a call.
    pub(super) fn complete(&mut self, age: i64, call: Call, met: Option<(i64, i64)>) {
        match self.requests.named(age) {
            Request::Own(number) => self.finish(number, call, met),
            Request::Foreign { thread, number } => {
                self.foreign.push(Foreign { thread, number, call, met });
            }
            Request::Null | Request::Unknown => {}
        }
    }

    /// Completes an own request.
    pub(super) fn finish(&mut self, number: u64, call: Call, met: Option<(i64, i64)>) {
        match self.completed(number) {
            Some(Done::Receive(at)) => self.done(at, call, met),
            Some(Done::Send(at)) => {
                if let Some((_, send)) = self.sends.get_mut(at) {
                    send.done = Some(call);
                }
            }
            None => {}
        }
    }

    /// The send or receive of a completed request.
    pub(super) fn completed(&mut self, number: u64) -> Option<Done> {
        let (done, persistent) = match self.pending.get_mut(&number)? {
            Pending::Send { open, persistent, .. } => (open.take().map(Done::Send), *persistent),
            Pending::Receive { open, persistent, .. } => {
                (open.take().map(Done::Receive), *persistent)
            }
        };
        if !persistent {
            self.pending.remove(&number);
        }
        done
    }

    pub(super) fn done(&mut self, at: usize, call: Call, met: Option<(i64, i64)>) {
        self.meet(at, met);
        if let Some(receive) = self.receives.get_mut(at) {
            receive.done = Some(call);
        }
    }

    /// Notes source and tag of a wild card's match.
    pub(super) fn meet(&mut self, at: usize, met: Option<(i64, i64)>) {
        let (Some(receive), Some((source, tag))) = (self.receives.get_mut(at), met) else { return };
        let from = &mut receive.from;
        if from.other.is_none() {
            from.other = self.recording.world_rank(self.process, Some(from.comm), source);
        }
        if from.tag == special::ANY_TAG {
            from.tag = tag;
        }
    }
}

/// Matches of wild cards among several requests: position, source and tag of each, by position.
pub(super) struct Met<'a>(HashMap<i64, &'a [i64]>);

impl<'a> Met<'a> {
    pub(super) fn by_position(triples: &'a [i64]) -> Self {
        // Of two claims of the same position the first counts.
        Self(triples.chunks_exact(3).rev().map(|triple| (triple[0], triple)).collect())
    }

    pub(super) fn at(&self, position: usize) -> Option<(i64, i64)> {
        let triple = self.0.get(&i64::try_from(position).ok()?)?;
        Some((triple[1], triple[2]))
    }
}

/// Values of the call's one status, if that belongs to the request at a position.
pub(super) fn only_status(plan: &NodePlan, position: usize, args: &[i64]) -> Option<(i64, i64)> {
    let is_this = |number: i64| usize::try_from(number) == Ok(position);
    let alone = plan.index.is_none() || value(args, plan.index).is_some_and(is_this);
    alone.then(|| own_status(plan, args)).flatten()
}

/// Source and tag of the call's one status, where it was filled.
pub(super) fn own_status(plan: &NodePlan, args: &[i64]) -> Option<(i64, i64)> {
    let (source, tag) = plan.status?;
    let met = (*args.get(source)?, *args.get(tag)?);
    (met.0 != special::ABSENT).then_some(met)
}

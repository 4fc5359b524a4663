//! Waiting: time in a call before the partner has entered its own.
//!
//! Owns the rule for each kind of call. A receive waits until its message is sent; a send whose
//! call lasts until its receive is posted waits until then; a collective operation waits for the
//! last member, for its root, or at its root. The rest of a call is transfer. A call that completes
//! several messages waits for the last of them. Calls without a known partner - polls, one-sided
//! ones, collective operations that do not block, and those that create communicators - are not
//! judged.

use std::collections::BTreeMap;

use foldhash::HashMap;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use talea_model::{Gap, GapKind, Nanos, Rank, Signature};
use talea_run::Recording;
use talea_run::recording::Process;

use super::ends::Ends;
use super::parts::{Call, Meeting};
use super::roles::Meets;
use super::{Channel, Places, all_ends, pairs, reversed};
use crate::estimates::UNKNOWN;

/// Waiting times of ranks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Waits {
    /// Waiting time by place of the process.
    pub of_ranks: Vec<Nanos>,
    /// Waiting time by call site.
    pub of_calls: BTreeMap<Signature, Judged>,
    /// Calls that began later are not judged.
    pub until: Nanos,
}

/// Times of calls with known partners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// Time before the partners came.
    pub waiting: Nanos,
    /// Time inside the calls.
    pub time: Nanos,
}

impl Waits {
    /// Total over all ranks.
    pub fn total(&self) -> Nanos {
        self.of_ranks.iter().copied().sum()
    }
}

/// Computes the waiting times of ranks until a time, or until there were too many calls to keep.
pub fn waits(recording: &Recording, until: Nanos) -> Waits {
    let ends = all_ends(recording, Nanos(0)..=until);
    let until = ends.iter().filter_map(|own| own.stopped).chain([until]).min().unwrap_or(until);
    let holes = holes(recording);
    let places = Places::new(recording);
    let met = meet(recording, &ends, &holes);
    let of_process = |(at, mut calls): (usize, Calls)| {
        if !holes[at] {
            calls.add_messages(recording, (&ends, &holes, &places), at);
        }
        calls.sum(&recording.processes[at], until)
    };
    let all: Vec<_> = met.into_par_iter().enumerate().map(of_process).collect();
    let mut waits = Waits { of_ranks: Vec::with_capacity(all.len()), until, ..Waits::default() };
    for (waiting, of_calls) in all {
        waits.of_ranks.push(waiting);
        for (signature, more) in of_calls {
            let judged = waits.of_calls.entry(signature).or_default();
            judged.waiting += more.waiting;
            judged.time += more.time;
        }
    }
    waits
}

/// Processes with missing calls in between: the n-th of their calls may be another one's.
fn holes(recording: &Recording) -> Vec<bool> {
    let missing = |gap: &&Gap| {
        matches!(
            gap.kind,
            GapKind::Paused | GapKind::MemoryBound | GapKind::DiskFull | GapKind::Damaged
        )
    };
    let ranks: Vec<Option<Rank>> =
        recording.gaps.iter().filter(missing).map(|gap| gap.rank).collect();
    let processes = recording.processes.iter();
    processes.map(|process| ranks.contains(&Some(process.location.rank))).collect()
}

/// Calls of a process by thread and number, with the time at which the last partner came.
#[derive(Default)]
struct Calls(HashMap<(usize, u64), (Call, Nanos)>);

impl Calls {
    fn add(&mut self, call: Call, came: Nanos) {
        let (_, last) = self.0.entry((call.thread, call.number)).or_insert((call, call.begin));
        *last = if came == UNKNOWN { came } else { came.clamp(*last, call.end.max(*last)) };
    }

    /// Adds the calls that found messages of a process sent or received.
    fn add_messages(
        &mut self,
        recording: &Recording,
        (ends, holes, places): (&[Ends], &[bool], &Places),
        at: usize,
    ) {
        let partner =
            |channel: &Channel| places.other(recording, at, channel).filter(|&other| !holes[other]);
        for channel in ends[at].sends.keys() {
            let Some(receiver) = partner(channel) else { continue };
            for (send, receive) in pairs(recording, ends, (at, receiver), channel) {
                if let (Some(call), Some(_)) = (send.done, receive.done) {
                    // A call that ended before did not need the receiver.
                    let posted = receive.posted;
                    let is_before = posted <= call.end || posted == UNKNOWN;
                    self.add(call, if is_before { posted } else { call.begin });
                }
            }
        }
        for back in ends[at].receives.keys() {
            let Some(sender) = partner(back) else { continue };
            let channel = reversed(recording, at, back);
            if places.other(recording, sender, &channel) != Some(at) {
                continue;
            }
            for (send, receive) in pairs(recording, ends, (sender, at), &channel) {
                if let Some(call) = receive.done {
                    self.add(call, send.call.0);
                }
            }
        }
    }

    /// Waiting of the process, and waiting and time by call site.
    fn sum(self, process: &Process, until: Nanos) -> (Nanos, BTreeMap<Signature, Judged>) {
        let (mut all, mut of_calls) = (Nanos(0), BTreeMap::<_, Judged>::new());
        let is_known = |(call, last): &(Call, Nanos)| call.begin <= until && *last != UNKNOWN;
        for (call, last) in self.0.into_values().filter(is_known) {
            let node = process.threads[call.thread].log.nodes.get(call.node.0 as usize);
            let Some(node) = node else { continue };
            let judged = of_calls.entry(node.signature).or_default();
            judged.waiting += last - call.begin;
            judged.time += call.end - call.begin;
            all += last - call.begin;
        }
        (all, of_calls)
    }
}

/// The calls in collective operations of each process: the n-th operation of one member of a
/// communicator is the n-th of all.
fn meet(recording: &Recording, ends: &[Ends], holes: &[bool]) -> Vec<Calls> {
    let mut calls: Vec<Calls> = ends.iter().map(|_| Calls::default()).collect();
    let mut members: BTreeMap<(u32, i64), Vec<usize>> = BTreeMap::new();
    for (at, own) in ends.iter().enumerate() {
        let world = recording.processes[at].location.world;
        own.meetings.keys().for_each(|&comm| members.entry((world, comm)).or_default().push(at));
    }
    for ((_, comm), members) in members {
        let known = usize::try_from(comm).ok().and_then(|comm| recording.comms.get(comm));
        // Communicators with one member do not wait; the groups of an inter-communicator have
        // numbers of their own.
        let has_holes = members.iter().any(|&at| holes[at]);
        let is_apart = known.is_none_or(|comm| comm.inter || comm.name == "self");
        if members.len() < 2 || is_apart || has_holes {
            continue;
        }
        let all: Vec<(usize, Rank, &[Meeting])> = members
            .iter()
            .map(|&at| (at, recording.processes[at].location.rank, &ends[at].meetings[&comm][..]))
            .collect();
        // A member that was killed has fewer: the operations that it did not reach are not judged.
        let least = all.iter().map(|(_, _, own)| own.len()).min().unwrap_or(0);
        for number in 0..least {
            let kind = |own: &[Meeting]| (own[number].meets, own[number].root);
            // After the first difference they are not the same operations.
            if all.iter().any(|one| kind(one.2) != kind(all[0].2)) {
                break;
            }
            one_meeting(&all, number, &mut calls);
        }
    }
    calls
}

fn one_meeting(all: &[(usize, Rank, &[Meeting])], number: usize, calls: &mut [Calls]) {
    let begin = |one: &(usize, Rank, &[Meeting])| one.2[number].call.begin;
    let last = all.iter().map(begin).max().unwrap_or_default();
    let root = all[0].2[number].root;
    let of_root = all.iter().find(|one| Some(one.1) == root).map(begin);
    for &(at, rank, own) in all {
        let Meeting { call, meets, .. } = own[number];
        let came = match meets {
            Meets::All => last,
            Meets::AtRoot if root == Some(rank) => last,
            Meets::AtRoot => call.begin,
            Meets::FromRoot => of_root.unwrap_or(call.begin),
        };
        calls[at].add(call, came);
    }
}

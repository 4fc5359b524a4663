//! Messages from one process to another, each with the call that sent it and the one that completed
//! its receive.
//!
//! Owns the matching, which a recording does not store: by the standard's rule that messages do not
//! overtake each other, the n-th send from one rank to another with a tag on a communicator belongs
//! to the n-th receive that was posted for it there (MPI 5.0, section 3.5), and likewise the n-th
//! start of a partitioned one (section 4.2). Where a process has several threads that send on one
//! channel, begin times decide, and messages that matched probes claim are taken to be received in
//! that order: these two are estimates. Unmatched messages are counted. [`ends`] follows the calls.

mod ends;
mod parts;
mod posted;
mod roles;
mod waits;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rayon::prelude::*;
use talea_model::args::special;
use talea_model::{Bytes, Gap, GapKind, Gaps, Nanos, Rank};
use talea_run::Recording;

use crate::estimates::UNKNOWN;
use ends::{Ends, ends};
use parts::{Receive, Send};
pub use waits::{Waits, waits};

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Place of the sender in [`Recording::processes`], and of its thread there.
    pub from: (usize, usize),
    /// The call that sent it.
    pub sent: (Nanos, Nanos),
    /// Place of the receiver and of the thread that posted the receive.
    pub to: (usize, usize),
    /// Time at which the receive was posted, and the end of the call that completed it.
    pub received: (Nanos, Nanos),
    /// Size of the sent data.
    pub bytes: Bytes,
    /// Its tag.
    pub tag: i64,
}

/// All messages of a run that have times.
#[derive(Debug, Default)]
pub struct Messages {
    /// By sender, channel and time.
    pub all: Vec<Message>,
    /// Sends and receives whose other end was not found, or not complete.
    pub unmatched: u64,
    /// Begin of the first call that was left out because there were too many before it.
    pub stopped: Option<Nanos>,
}

impl Messages {
    /// The messages that are missing.
    pub fn note(&self, gaps: &mut Gaps) {
        let mut note = |count, detail| {
            gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
        };
        if self.unmatched > 0 {
            let count = self.unmatched;
            let detail =
                format!("{count} sends or receives whose other end was not found have no line");
            note(count, detail);
        }
        if let Some(stopped) = self.stopped {
            let detail =
                format!("messages after {stopped} may be missing: they are too many to match");
            note(0, detail);
        }
    }
}

/// Messages that match in the order of their calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Channel {
    /// Index of the communicator, the same for all its members.
    comm: i64,
    /// The other end; absent for processes of other worlds, and for wild cards until their match is
    /// known.
    other: Option<Rank>,
    tag: i64,
    partitioned: bool,
}

/// Stands for all inter-communicators.
const BETWEEN_GROUPS: i64 = i64::MIN;

impl Channel {
    /// The channel as both ends name it. The groups of an inter-communicator have different numbers
    /// for it, so that those between the same two processes are taken for one. `None` without
    /// another end.
    fn shared(self, recording: &Recording) -> Option<Self> {
        if self.other.is_none() || self.tag == special::ANY_TAG {
            return None;
        }
        let comm = usize::try_from(self.comm).ok().and_then(|comm| recording.comms.get(comm));
        let comm = if comm.is_some_and(|comm| comm.inter) { BETWEEN_GROUPS } else { self.comm };
        Some(Self { comm, ..self })
    }
}

/// Finds the messages among processes of the same world that were sent until `until`.
pub fn messages(recording: &Recording, until: Nanos) -> Messages {
    matched(recording, all_ends(recording, Nanos(0)..=until))
}

/// Finds those that were sent in a time. Earlier calls are only counted, which takes less time and
/// no memory.
pub fn messages_inside(recording: &Recording, time: RangeInclusive<Nanos>) -> Vec<Message> {
    matched(recording, all_ends(recording, time)).all
}

fn all_ends(recording: &Recording, time: RangeInclusive<Nanos>) -> Vec<Ends> {
    recording.processes.par_iter().map(|process| ends(recording, process, &time)).collect()
}

fn usize_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Places of processes in a recording.
struct Places(BTreeMap<(u32, Rank), usize>);

impl Places {
    fn new(recording: &Recording) -> Self {
        let places = recording.processes.iter().enumerate();
        Self(places.map(|(at, one)| ((one.location.world, one.location.rank), at)).collect())
    }

    /// The process at the other end of a channel of a process.
    fn other(&self, recording: &Recording, own: usize, channel: &Channel) -> Option<usize> {
        let world = recording.processes[own].location.world;
        channel.other.and_then(|other| self.0.get(&(world, other)).copied())
    }
}

/// The same channel as the other end names it.
fn reversed(recording: &Recording, own: usize, channel: &Channel) -> Channel {
    Channel { other: Some(recording.processes[own].location.rank), ..*channel }
}

/// Sends of a process on a channel, each with the receive of `receiver` that it belongs to.
fn pairs<'a>(
    recording: &Recording,
    ends: &'a [Ends],
    (sender, receiver): (usize, usize),
    channel: &Channel,
) -> impl Iterator<Item = (&'a Send, &'a Receive)> {
    let back = reversed(recording, sender, channel);
    let sends = ends[sender].sends.get(channel).map_or(&[][..], Vec::as_slice);
    let receives = ends[receiver].receives.get(&back).map_or(&[][..], Vec::as_slice);
    // Numbers on the channel of the first ones that are there.
    let first = [ends[sender].before.sent(channel), ends[receiver].before.received(&back)];
    in_turn(sends, receives, first)
}

/// The n-th send of a channel with the n-th receive; `first` are the numbers of the first ones.
fn in_turn<'a>(
    sends: &'a [Send],
    receives: &'a [Receive],
    [first_sent, first_received]: [u64; 2],
) -> impl Iterator<Item = (&'a Send, &'a Receive)> {
    let sends = sends.iter().skip(usize_of(first_received.saturating_sub(first_sent)));
    sends.zip(receives.iter().skip(usize_of(first_sent.saturating_sub(first_received))))
}

/// The messages of these ends, whose memory is given back channel by channel.
fn matched(recording: &Recording, mut ends: Vec<Ends>) -> Messages {
    let sends = ends.iter().flat_map(|own| own.sends.values()).map(Vec::len).sum::<usize>();
    let receives = ends.iter().flat_map(|own| own.receives.values()).map(Vec::len).sum::<usize>();
    let unknown = ends.iter().map(|own| own.unknown).sum::<u64>();
    let stopped = ends.iter().filter_map(|own| own.stopped).min();
    let places = Places::new(recording);
    let (mut all, mut without_times) = (Vec::new(), 0);
    for at in 0..ends.len() {
        for (channel, sends) in std::mem::take(&mut ends[at].sends) {
            let Some(receiver) = places.other(recording, at, &channel) else { continue };
            let back = reversed(recording, at, &channel);
            let first = [ends[at].before.sent(&channel), ends[receiver].before.received(&back)];
            // No other sender's messages come on this channel.
            let receives = ends[receiver].receives.remove(&back).unwrap_or_default();
            for (send, receive) in in_turn(&sends, &receives, first) {
                let Some(done) = receive.done else { continue };
                if [send.call.0, receive.posted, done.end].contains(&UNKNOWN) {
                    without_times += 1;
                    continue;
                }
                all.push(Message {
                    from: (at, send.thread),
                    sent: send.call,
                    to: (receiver, receive.thread),
                    received: (receive.posted, done.end),
                    bytes: send.bytes,
                    tag: channel.tag,
                });
            }
        }
    }
    let unmatched =
        (sends + receives).saturating_sub(2 * (all.len() + without_times)) as u64 + unknown;
    Messages { all, unmatched, stopped }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn messages_of_a_time_are_those_of_the_whole_run_in_it() {
        for version in 1..=3 {
            let samples = "../../record/run/tests/samples";
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join(format!("{samples}/version-{version}/finished"));
            let recording = talea_run::load::load(&path).unwrap().recording;
            let all = messages(&recording, Nanos(u64::MAX)).all;
            assert!(all.len() > 10, "{}", all.len());
            let begins = all.iter().flat_map(|one| [one.sent.0, one.sent.0 + Nanos(1)]);
            for from in begins.chain([Nanos(0), Nanos(u64::MAX)]) {
                let inside = messages_inside(&recording, from..=Nanos(u64::MAX));
                let is_inside = |one: &&Message| one.sent.0 >= from && one.received.1 >= from;
                let expected: Vec<Message> = all.iter().filter(is_inside).copied().collect();
                assert_eq!(inside, expected, "from {from}");
            }
        }
    }
}

//! Which times of a thread are kept.
//!
//! Owns the division of its events into segments: the iterations of the main loop as it is known
//! at each moment, and what lies between them. Segments that are alike (the same calls, about as
//! long) are a kind, and [`talea_flow::collection`] chooses some of each. Of all others only the
//! begins are kept, of every second, fourth ... one where there are many. Memory does not grow
//! with the events.

use std::collections::{BTreeMap, HashMap};

use talea_flow::collection::{Behaviour, Plan, Turn, half_octave};
use talea_flow::iterations::TimedEvent;
use talea_flow::online::{Follower, Step};
use talea_model::{Nanos, NodeId};
use talea_run::live::follow::Followed;
use talea_run::live::kept::KeptThread;
use talea_run::live::pieces::{Mark, Piece};

/// Number of segments of a kind that are kept.
const KEPT: usize = 10;
/// Maximum number of kinds; further ones are counted together.
const KINDS: usize = 32;
/// Bytes of times after which a segment ends.
const LONGEST: usize = 1 << 20;
/// Maximum number of begins that are kept.
const MARKS: usize = 4096;
/// Groups of durations for each node, to find the main loop.
const GROUPS: usize = 4;

/// What is kept of one thread.
#[derive(Debug)]
pub(super) struct Collector {
    loops: Follower,
    /// The call that begins the iterations of the main loop.
    counted_by: Option<NodeId>,
    visits: Vec<u64>,
    /// Number of events.
    events: u64,
    /// End of the last one with times.
    end: Nanos,
    open: Option<Segment>,
    /// Number of segments so far.
    segments: u64,
    kinds: Vec<Kind>,
    by_calls: HashMap<Key, usize>,
    marks: Marks,
}

/// The call that begins it, its calls, and its duration.
type Key = (Option<u32>, Vec<u32>, u32);

/// Successive events.
#[derive(Debug)]
struct Segment {
    piece: Piece,
    begin: Nanos,
    /// For an iteration the call that begins it and the number of its visit.
    iteration: Option<(NodeId, u64)>,
    /// For each node whether it occurs, 64 to a number.
    calls: Vec<u64>,
}

#[derive(Debug)]
struct Kind {
    behaviour: Behaviour,
    kept: BTreeMap<u64, Piece>,
}

/// Begins of segments.
#[derive(Debug)]
struct Marks {
    /// Each of these is kept.
    stride: u64,
    /// With the numbers of their segments.
    kept: Vec<(u64, Mark)>,
}

impl Collector {
    pub(super) fn new() -> Self {
        Self {
            loops: Follower::new(GROUPS),
            counted_by: None,
            visits: Vec::new(),
            events: 0,
            end: Nanos(0),
            open: None,
            segments: 0,
            kinds: Vec::new(),
            by_calls: HashMap::new(),
            marks: Marks { stride: 1, kept: Vec::new() },
        }
    }

    /// Takes the next event.
    pub(super) fn event(&mut self, event: &Followed) {
        let number = self.events;
        self.events += 1;
        let (node, at) = (NodeId(event.node), event.node as usize);
        if at >= self.visits.len() {
            self.visits.resize(at + 1, 0);
        }
        self.visits[at] += 1;
        let Some((begin, end)) = event.times else {
            // Times are lost: what is open is not whole.
            self.close(self.end);
            self.loops.lose();
            return;
        };
        let is_begin = self.counted_by == Some(node);
        let is_long = |open: &Segment| open.piece.bytes.len() >= LONGEST;
        if is_begin || self.open.as_ref().is_none_or(is_long) {
            self.close(begin);
            self.marks.push(self.segments, Mark { event: number, begin: begin.0 });
            self.open = Some(Segment {
                piece: Piece { first: number, end: self.end.0, bytes: Vec::new() },
                begin,
                iteration: is_begin.then(|| (node, self.visits[at])),
                calls: Vec::new(),
            });
        }
        if let Some(open) = &mut self.open {
            open.piece.bytes.extend_from_slice(event.entry.bytes());
            if at / 64 >= open.calls.len() {
                open.calls.resize(at / 64 + 1, 0);
            }
            open.calls[at / 64] |= 1 << (at % 64);
        }
        self.end = end;
        let timed = TimedEvent { node, begin, end };
        self.loops.event(Step { event: timed, choice: event.choice });
    }

    /// Ends the open segment; `now` is the begin of the next one.
    fn close(&mut self, now: Nanos) {
        let Some(Segment { piece, begin, iteration, calls }) = self.open.take() else { return };
        let number = self.segments;
        self.segments += 1;
        // A part of an iteration that is too long is none.
        let iteration = iteration.filter(|_| piece.bytes.len() < LONGEST);
        let duration = now - begin;
        let numbers = (0_u32..).zip(&calls).flat_map(|(word, &bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| 64 * word + bit)
        });
        let key = (iteration.map(|(node, _)| node.0), numbers.collect(), half_octave(duration));
        let kind = match self.by_calls.get(&key) {
            Some(&kind) => kind,
            None if self.kinds.len() < KINDS => {
                self.by_calls.insert(key, self.kinds.len());
                let behaviour = Behaviour::new(Plan::new(KEPT, 0));
                self.kinds.push(Kind { behaviour, kept: BTreeMap::new() });
                self.kinds.len() - 1
            }
            None => KINDS - 1,
        };
        let Kind { behaviour, kept } = &mut self.kinds[kind];
        // Ranks number iterations alike.
        let number = iteration.map_or(number, |(_, visit)| visit);
        behaviour.add(Turn { number, duration });
        if behaviour.keeps(number) {
            kept.insert(number, piece);
            kept.retain(|&number, _| behaviour.keeps(number));
        }
    }

    /// Finds the main loop again; `successors` are those of each node, as they are known now.
    pub(super) fn look(&mut self, successors: &[Vec<u32>]) {
        self.loops.look(successors);
        let main = self.loops.main_loop().map(|main| main.counted_by);
        self.counted_by = main.or(self.counted_by);
    }

    /// What is kept so far, the open segment included; `offset` is the place of the thread's
    /// record.
    pub(super) fn kept(&self, offset: u64) -> KeptThread {
        let chosen = self.kinds.iter().flat_map(|kind| {
            let is_kept = |number: &u64| kind.behaviour.keeps(*number);
            kind.kept.iter().filter(move |(number, _)| is_kept(number)).map(|(_, piece)| piece)
        });
        let open = self.open.iter().map(|open| &open.piece);
        let mut pieces: Vec<Piece> = chosen.chain(open).cloned().collect();
        pieces.sort_by_key(|piece| piece.first);
        let marks = self.marks.kept.iter().map(|(_, mark)| *mark).collect();
        KeptThread { offset, events: self.events, pieces, marks }
    }
}

impl Marks {
    fn push(&mut self, segment: u64, mark: Mark) {
        if segment % self.stride != 0 {
            return;
        }
        if self.kept.len() >= MARKS {
            self.stride *= 2;
            let stride = self.stride;
            self.kept.retain(|(segment, _)| segment % stride == 0);
            return self.push(segment, mark);
        }
        self.kept.push((segment, mark));
    }
}

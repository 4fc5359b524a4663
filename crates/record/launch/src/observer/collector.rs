//! Which times of a thread are kept.
//!
//! Owns the division of its events into segments: the iterations of the main loop as it is known
//! at each moment, and what lies between them. Segments that are alike (the same calls, about as
//! long) are a kind, and [`talea_flow::collection`] chooses some of each. Of the others only the
//! begins are kept, thinned out where they are many, and the durations of groups of iterations with
//! their extremes. Memory does not grow with the events.

use talea_flow::collection::{Plan, Turn, half_octave};
use talea_flow::history::History;
use talea_flow::iterations::TimedEvent;
use talea_flow::kinds::Kinds;
use talea_flow::online::{Follower, Step};
use talea_model::{Nanos, NodeId};
use talea_run::live::follow::Followed;
use talea_run::live::pieces::{KeptThread, Mark, Piece};

/// Number of segments of a kind that are kept.
const KEPT: usize = 10;
/// Bytes of times after which a segment ends.
const MAX_SEGMENT_BYTES: usize = 1 << 20;
/// Maximum number of bytes of times of closed segments that are kept.
const MAX_KEPT_BYTES: usize = 16 << 20;
/// Maximum number of begins that are kept: of all segments, and of some.
const MARKS: usize = 4096;
const SOME_MARKS: usize = 1024;
/// Maximum number of groups of durations of iterations.
const GROUPS_OF_ITERATIONS: usize = 1024;
/// Maximum number of loops whose durations are kept; only those of the main loop are written.
const LOOPS: usize = 4;
/// Calls that count the same iterations differ by at most one in so many visits.
const MAX_DIFFERENCE: u64 = 64;
/// Groups of durations for each node, to find the main loop.
const GROUPS: usize = 4;

/// Selection of the times of one thread.
#[derive(Debug)]
pub(super) struct Collector {
    loops: Follower,
    /// The call that begins the iterations of the main loop.
    counted_by: Option<NodeId>,
    /// For each node the number of its visits so far, and at the last look.
    visits: Vec<(u64, u64)>,
    /// Number of events.
    events: u64,
    /// End of the last one with times.
    end: Nanos,
    open: Option<Segment>,
    /// Number of segments so far.
    segments: u64,
    kinds: Kinds<Key, Piece>,
    marks: Marks,
    /// Durations of the iterations of the loops that were the main loop at some time, by the calls
    /// that begin them; the present one last.
    histories: Vec<(NodeId, History)>,
    /// Bytes of the pieces of all kinds.
    bytes: usize,
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
            kinds: Kinds::new(Plan::new(KEPT, 0)),
            marks: Marks { stride: 1, kept: Vec::new() },
            histories: Vec::new(),
            bytes: 0,
        }
    }

    /// Takes the next event.
    pub(super) fn event(&mut self, event: &Followed) {
        let number = self.events;
        self.events += 1;
        let (node, at) = (NodeId(event.node), event.node as usize);
        if at >= self.visits.len() {
            self.visits.resize(at + 1, (0, 0));
        }
        self.visits[at].0 += 1;
        let Some((begin, end)) = event.times else {
            // Times are lost: what is open is no whole segment.
            self.open = None;
            self.loops.forget_previous();
            return;
        };
        let is_begin = self.counted_by == Some(node);
        let is_long = |open: &Segment| open.piece.bytes.len() >= MAX_SEGMENT_BYTES;
        if is_begin || self.open.as_ref().is_none_or(is_long) {
            self.close(begin);
            self.segments += 1;
            self.marks.push(self.segments, Mark { event: number, begin: begin.0 });
            self.open = Some(Segment {
                piece: Piece { first: number, end: event.since.0, bytes: Vec::new() },
                begin,
                iteration: is_begin.then(|| (node, self.visits[at].0)),
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
        // A part of an iteration that is too long is none.
        let iteration = iteration.filter(|_| piece.bytes.len() < MAX_SEGMENT_BYTES);
        let duration = now - begin;
        let mut histories = self.histories.iter_mut();
        if let Some((loop_node, _)) = iteration
            && let Some((_, history)) = histories.find(|(node, _)| *node == loop_node)
        {
            history.push(begin, duration);
        }
        let numbers = (0_u32..).zip(&calls).flat_map(|(word, &bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| 64 * word + bit)
        });
        let kind = self.kinds.place((
            iteration.map(|(node, _)| node.0),
            numbers.collect(),
            half_octave(duration),
        ));
        // Ranks number iterations alike; the last kind may have those of several loops.
        let iteration = iteration.filter(|_| !Kinds::<Key, Piece>::may_be_mixed(kind));
        let number = iteration.map_or(number, |(_, visit)| visit);
        if self.kinds.count(kind, Turn { number, duration }) && self.bytes < MAX_KEPT_BYTES {
            self.bytes += piece.bytes.len();
            self.kinds.keep(kind, number, piece, |dropped| self.bytes -= dropped.bytes.len());
        }
    }

    /// Finds the main loop again; `successors` are those of each node, as they are known now.
    pub(super) fn look(&mut self, successors: &[Vec<u32>]) {
        self.loops.look(successors);
        let main = self.loops.main_loop().map(|main| main.counted_by);
        let main = main.filter(|&main| !self.counted_by.is_some_and(|now| self.counts(now, main)));
        for (visits, at_look) in &mut self.visits {
            *at_look = *visits;
        }
        let Some(main) = main else { return };
        self.counted_by = Some(main);
        // A loop of the set-up may be the main loop for a while, and one of two may be it again.
        let known = self.histories.iter().position(|(node, _)| *node == main);
        let history = match known {
            Some(at) => self.histories.remove(at),
            None => (main, History::new(GROUPS_OF_ITERATIONS)),
        };
        if self.histories.len() == LOOPS {
            self.histories.remove(0);
        }
        self.histories.push(history);
    }

    /// True if the visits of `now` count the same iterations as those of `main`: several calls of a
    /// loop may be about equally regular, and the most regular one changes from look to look.
    fn counts(&self, now: NodeId, main: NodeId) -> bool {
        let new = |node: NodeId| {
            let visits = self.visits.get(node.0 as usize);
            visits.map_or(0, |(visits, at_look)| visits - at_look)
        };
        let (own, other) = (new(now), new(main));
        now == main
            || self.loops.are_in_one_loop(now, main)
                && own.abs_diff(other) <= 1 + own.max(other) / MAX_DIFFERENCE
    }

    /// The selection so far, with the open segment; `offset` is the place of the thread's
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
        let main = self.histories.last();
        let history = main.map_or_else(Vec::new, |(_, history)| history.groups().to_vec());
        KeptThread { offset, events: self.events, pieces, marks, history }
    }
}

impl Marks {
    fn push(&mut self, segment: u64, mark: Mark) {
        if !segment.is_multiple_of(self.stride) {
            return;
        }
        let most = if self.stride == 1 { MARKS } else { SOME_MARKS };
        if self.kept.len() >= most {
            self.stride *= 2;
            let stride = self.stride;
            self.kept.retain(|(segment, _)| segment.is_multiple_of(stride));
            return self.push(segment, mark);
        }
        self.kept.push((segment, mark));
    }
}

#[cfg(test)]
mod tests {
    use talea_run::live::follow::Entry;

    use super::*;

    /// A collector after these events (node, gap, duration in nanoseconds; no times without a
    /// duration), with a look after each `every`.
    fn collected(sequence: &[(u32, u64, Option<u64>)], every: usize) -> Collector {
        let mut collector = Collector::new();
        let (mut now, mut before) = (0, None::<u32>);
        let mut successors: Vec<Vec<u32>> = Vec::new();
        for (number, &(node, gap, duration)) in (1..).zip(sequence) {
            successors.resize(successors.len().max(node as usize + 1), Vec::new());
            let choice = before.map(|before| {
                let own = &mut successors[before as usize];
                own.iter().position(|&one| one == node).unwrap_or_else(|| {
                    own.push(node);
                    own.len() - 1
                }) as u32
            });
            let begin = now + gap;
            now = begin + duration.unwrap_or(0);
            let times = duration.map(|_| (Nanos(begin), Nanos(now)));
            let since = Nanos(begin - gap);
            let entry = Entry::new(&[7, 7]);
            collector.event(&Followed { node, choice, times, since, entry });
            before = Some(node);
            if number % every == 0 {
                collector.look(&successors);
            }
        }
        collector
    }

    /// Iterations of two calls after a call; `slow` ones take ten times as long, and `other` ones
    /// make another call.
    fn program(iterations: u64, slow: &[u64], other: &[u64]) -> Vec<(u32, u64, Option<u64>)> {
        let mut all = vec![(0, 5, Some(5))];
        for number in 0..iterations {
            let factor = if slow.contains(&number) { 10 } else { 1 };
            all.extend([(1, 1000 * factor, Some(100)), (2, 500, Some(100 * factor))]);
            if other.contains(&number) {
                all.push((3, 100, Some(100)));
            }
        }
        all
    }

    fn has(kept: &KeptThread, event: u64) -> bool {
        let inside = |piece: &Piece| {
            (piece.first..piece.first + piece.bytes.len() as u64 / 2).contains(&event)
        };
        kept.pieces.iter().any(inside)
    }

    #[test]
    fn rare_iterations_are_kept() {
        let kept = collected(&program(30_000, &[17_017], &[23_456]), 1000).kept(64);
        assert_eq!((kept.offset, kept.events), (64, 60_002));
        assert!(has(&kept, 0) && has(&kept, 60_001), "the first and the last event");
        assert!(has(&kept, 1 + 2 * 17_017) && has(&kept, 1 + 2 * 23_456 + 2));
        // The start, until the second look knows the loop, and at most ten of each of four kinds.
        let events: usize = kept.pieces.iter().map(|piece| piece.bytes.len() / 2).sum();
        assert!(kept.pieces.len() <= 50 && events < 2200, "{events} in {}", kept.pieces.len());
        assert!(
            kept.pieces
                .windows(2)
                .all(|two| { two[0].first + two[0].bytes.len() as u64 / 2 <= two[1].first })
        );
    }

    #[test]
    fn begins_are_bounded_in_number() {
        for iterations in [1000, 4000, 100_000] {
            let kept = collected(&program(iterations, &[], &[]), 100).kept(0);
            assert!(kept.marks.len() <= MARKS, "{}", kept.marks.len());
            let marks = kept.marks.len() as u64;
            match iterations {
                ..=4000 => assert!(marks > iterations - 205, "{marks}"),
                _ => assert!((500..=SOME_MARKS as u64).contains(&marks), "{marks}"),
            }
            assert!(kept.marks.windows(2).all(|two| two[0].event < two[1].event));
            let history = &kept.history;
            assert!(history.len() <= GROUPS_OF_ITERATIONS, "{}", history.len());
            let counted: u64 = history.iter().map(|group| group.count).sum();
            // The first ones come before the loop is known, the last one is open.
            assert!((iterations - 201..iterations).contains(&counted), "{counted}");
            assert!(history.iter().all(|one| one.min == one.max && one.sum.0 == 1700 * one.count));
            // Each is where an iteration begins.
            let mark = kept.marks[kept.marks.len() / 2];
            let iteration = (mark.event - 1) / 2;
            assert_eq!((mark.event % 2, mark.begin), (1, 10 + 1700 * iteration + 1000));
        }
    }

    #[test]
    fn durations_are_those_of_the_main_loop_alone() {
        let set_up: Vec<_> = (0..60).map(|_| (4, 100, Some(100))).collect();
        let main = program(1000, &[], &[]);
        // The set-up's loop is known first; of two loops the one that took more time counts.
        let other: Vec<_> = (0..400).map(|_| (5, 100_000, Some(100))).collect();
        let counted = |kept: &KeptThread| kept.history.iter().map(|one| one.count).sum::<u64>();
        let both = collected(&[set_up.clone(), main.clone()].concat(), 20).kept(0);
        assert!((950..1000).contains(&counted(&both)), "{}", counted(&both));
        assert!(both.history[0].begin.0 > 12_000, "{:?}", both.history[0]);
        let later = program(30_000, &[], &[]).split_off(1);
        let all = collected(&[set_up, main, other, later].concat(), 20).kept(0);
        // Its iterations before the other loop, too.
        assert!(all.history[0].begin.0 < 60_000, "{:?}", all.history[0]);
        // The last one before it lasts until the other loop is the main one.
        let long = all.history.iter().filter(|one| one.max.0 >= 100_000).count();
        assert!(long <= 1 && counted(&all) > 30_500, "{long} of {}", counted(&all));
    }

    #[test]
    fn another_call_that_is_more_regular_changes_nothing() {
        let mut sequence = vec![(0, 5, Some(5))];
        // First the begin of one call of the loop is regular, then that of the other.
        for number in 0..40_000_u64 {
            let (late, is_even) = (if number < 10_000 { 10 } else { 100 }, number % 2 == 0);
            let late = if is_even { 0 } else { late };
            let (first, second) = if number < 10_000 { (0, late) } else { (late, 0) };
            let before = if number > 10_000 && is_even { 100 } else { 0 };
            let rest = if number < 10_000 { 10 - second } else { 100 - first };
            sequence.push((1, 1000 + first - before.min(first), Some(100)));
            sequence.push((2, 500 + second + if number < 10_000 { 0 } else { rest }, Some(90)));
        }
        let collector = collected(&sequence, 1000);
        let main = collector.loops.main_loop().map(|main| main.counted_by);
        let kept = collector.kept(0);
        let counted: u64 = kept.history.iter().map(|one| one.count).sum();
        assert!((38_500..40_000).contains(&counted), "{counted} by {main:?}");
        assert!(main != collector.counted_by, "both counted by {main:?}");
    }

    #[test]
    fn segments_with_lost_times_are_not_kept() {
        let mut sequence = program(2000, &[], &[]);
        for event in &mut sequence[1001..1003] {
            event.2 = None;
        }
        let kept = collected(&sequence, 100).kept(0);
        assert!(!has(&kept, 1001) && !has(&kept, 1002));
        assert_eq!(kept.events, 4001);
    }

    #[test]
    fn segments_are_bounded_in_length() {
        // Without a look there is no main loop to divide it.
        let sequence: Vec<_> = (0..2_000_000_u64).map(|_| (0, 1, Some(1))).collect();
        let kept = collected(&sequence, usize::MAX).kept(0);
        assert!(kept.pieces.iter().all(|piece| piece.bytes.len() <= MAX_SEGMENT_BYTES));
        assert!(kept.pieces.len() <= 1 + 2 * KEPT, "{}", kept.pieces.len());
    }
}

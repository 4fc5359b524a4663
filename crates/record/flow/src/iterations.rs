//! Executions and iterations of a program's loops in time.
//!
//! Owns the cutting of a timed sequence at the loops of a [`Forest`], and the figures of each loop.
//! Iterations are defined by the node of the loop whose visits are most regular in time: the loop's
//! header misleads where it recurs rarely (two "iterations" of a program that makes hundreds).
//! Share of time follows slide 13: of the run without `MPI_Init` and `MPI_Finalize`.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use talea_model::{Nanos, NodeId};

use crate::graph::Graph;
use crate::loops::Forest;
use crate::places::Places;

/// An event with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedEvent {
    /// Its node.
    pub node: NodeId,
    /// Its begin.
    pub begin: Nanos,
    /// Its end.
    pub end: Nanos,
}

/// One pass through a loop's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iteration {
    /// Its events, as places in the sequence.
    pub events: Range<usize>,
    /// Begin of its first event.
    pub begin: Nanos,
    /// Time until the begin of the next iteration, or the end of the execution.
    pub duration: Nanos,
}

/// One execution of a loop: from its first to its last event without leaving it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Its events, as places in the sequence.
    pub events: Range<usize>,
    /// Its iterations, as places in [`LoopTimes::iterations`].
    pub iterations: Range<usize>,
    /// Begin of its first event.
    pub begin: Nanos,
    /// Time until the end of its last event.
    pub duration: Nanos,
}

/// Durations of the iterations of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations {
    /// The minimum.
    pub min: Nanos,
    /// The median.
    pub median: Nanos,
    /// The maximum.
    pub max: Nanos,
    /// Places (in [`LoopTimes::iterations`]) of those that took longer than the upper quartile by
    /// more than three times the distance of the quartiles and by more than a tenth of the median,
    /// longest first.
    pub outliers: Vec<usize>,
}

/// A loop of the forest in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopTimes {
    /// Its place in [`Forest::loops`].
    pub index: u32,
    /// Its depth; 1 for an outermost loop.
    pub depth: u32,
    /// The node whose visits separate iterations.
    pub counted_by: NodeId,
    /// Variation (standard deviation divided by mean) of the time between visits of that node; 0 is
    /// most regular.
    pub variation: f64,
    /// Executions in order.
    pub executions: Vec<Execution>,
    /// Iterations of all executions in order.
    pub iterations: Vec<Iteration>,
    /// Time in all executions.
    pub total: Nanos,
    /// `total` divided by the time of the run between the end of the first and the begin of the
    /// last bracketing event.
    pub share: f64,
    /// Durations of the iterations.
    pub durations: Durations,
}

/// All loops of a sequence in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Time of the run without the bracketing events.
    pub run: Nanos,
    /// Loops in the order of the forest.
    pub loops: Vec<LoopTimes>,
    /// The outermost loop with the largest share, as a place in `loops`.
    pub dominant: Option<usize>,
    /// The loop whose iterations are the program's steps, as a place in `loops`: the dominant one,
    /// or, where its iterations are few or irregular, a much more regular loop inside it with most
    /// of its time.
    pub main: Option<usize>,
}

/// Minimum part of its time for a loop inside another to represent it; the time between its
/// executions does not count.
const MOST: f64 = 0.5;
/// A loop whose iterations vary by less counts the program's steps itself.
const IRREGULAR: f64 = 0.5;

/// Cuts `events` at the loops of `forest`, which must be the loops of `graph`; events of other
/// nodes are in no loop.
///
/// `brackets` are the nodes outside the run, `MPI_Init` and `MPI_Finalize`, where they come first
/// and last.
pub fn timeline(
    graph: &Graph,
    forest: &Forest,
    events: &[TimedEvent],
    brackets: &[NodeId],
) -> Timeline {
    let (Some(first), Some(last)) = (events.first(), events.last()) else {
        return Timeline::default();
    };
    let bracket = |event: &TimedEvent| brackets.contains(&event.node);
    let begin = if bracket(first) { first.end } else { first.begin };
    let end = if bracket(last) { last.begin } else { last.end };
    let run = end - begin;
    let places: Places = graph.nodes().iter().map(|node| node.id).collect();
    let innermost: Vec<Option<u32>> = events
        .iter()
        .map(|event| {
            let place = places.get(event.node)?;
            forest.innermost.get(place as usize).copied().flatten()
        })
        .collect();
    let mut loops: Vec<LoopTimes> = Vec::new();
    for (index, ranges) in (0..).zip(executions(forest, &innermost)) {
        let found = &forest.loops[index as usize];
        let own = found.nodes.iter().filter_map(|&place| graph.nodes().get(place as usize));
        let own: Vec<NodeId> = own.map(|node| node.id).collect();
        let Some(&header) = own.first() else { continue };
        let regular = most_regular(regularities(events, &ranges, &own));
        let (counted_by, variation) =
            regular.map_or((header, 0.0), |(node, visits)| (node, visits.variation()));
        let mut times = LoopTimes {
            index,
            depth: found.depth,
            counted_by,
            variation,
            executions: Vec::with_capacity(ranges.len()),
            iterations: Vec::new(),
            total: Nanos(0),
            share: 0.0,
            durations: Durations::default(),
        };
        for range in ranges {
            times.add_execution(events, range);
        }
        times.share = if run.0 == 0 { 0.0 } else { times.total.0 as f64 / run.0 as f64 };
        times.durations = durations(&times.iterations);
        loops.push(times);
    }
    let outermost = loops.iter().enumerate().rev().filter(|(_, found)| found.depth == 1);
    let dominant = outermost.max_by_key(|(_, found)| found.total).map(|(place, _)| place);
    let main = dominant.map(|place| main(forest, &loops, place));
    Timeline { run, loops, dominant, main }
}

/// For each loop the ranges of events that are inside it without a break.
fn executions(forest: &Forest, innermost: &[Option<u32>]) -> Vec<Vec<Range<usize>>> {
    let mut ranges: Vec<Vec<Range<usize>>> = vec![Vec::new(); forest.loops.len()];
    let mut open: Vec<(u32, usize)> = Vec::new();
    let mut close = |(index, begin): (u32, usize), end| ranges[index as usize].push(begin..end);
    let mut before = None;
    let mut path: Vec<u32> = Vec::new();
    for (at, &current) in innermost.iter().enumerate() {
        if current == before {
            continue;
        }
        before = current;
        path.clear();
        // A parent has a smaller index than its loops, so that this terminates for any forest.
        path.extend(std::iter::successors(current, |&at| {
            forest.loops.get(at as usize).and_then(|found| found.parent).filter(|&up| up < at)
        }));
        path.reverse();
        let same = open.iter().zip(&path).take_while(|((a, _), b)| a == *b).count();
        open.drain(same..).for_each(|found| close(found, at));
        open.extend(path[same..].iter().map(|&index| (index, at)));
    }
    for found in open {
        close(found, innermost.len());
    }
    ranges
}

/// Times between visits of one node in the same execution of its loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Regularity {
    distances: f64,
    sum: f64,
    squares: f64,
}

impl Regularity {
    /// Adds a time between two visits.
    pub(crate) fn add(&mut self, distance: Nanos) {
        let distance = distance.0 as f64;
        self.distances += 1.0;
        self.sum += distance;
        self.squares += distance * distance;
    }

    /// Standard deviation divided by mean; only with a sum above zero.
    pub(crate) fn variation(&self) -> f64 {
        let mean = self.sum / self.distances;
        let variance = (self.squares / self.distances - mean * mean).max(0.0);
        variance.sqrt() / mean
    }

    /// The variation with the uncertainty of few visits.
    pub(crate) fn irregularity(&self) -> f64 {
        self.variation() + 1.0 / self.distances.sqrt()
    }
}

/// The node whose visits are most regular in time. Few visits look regular by chance: the
/// uncertainty of the variation counts against them. Of equals the first is taken, which is the
/// header. Absent where no node is visited twice in an execution.
pub(crate) fn most_regular<N>(
    nodes: impl IntoIterator<Item = (N, Regularity)>,
) -> Option<(N, Regularity)> {
    let mut best: Option<(N, Regularity, f64)> = None;
    for (node, visits) in nodes.into_iter().filter(|(_, visits)| visits.sum > 0.0) {
        let score = visits.irregularity();
        // A tenth of a percent is no difference, and the header should win then.
        if best.as_ref().is_none_or(|(.., least)| score < least - 1e-3) {
            best = Some((node, visits, score));
        }
    }
    best.map(|(node, visits, _)| (node, visits))
}

/// Regularity of the visits of each node of `own` inside `ranges`.
fn regularities(
    events: &[TimedEvent],
    ranges: &[Range<usize>],
    own: &[NodeId],
) -> Vec<(NodeId, Regularity)> {
    let places: Places = own.iter().copied().collect();
    // With the execution of the last visit: times between executions do not count.
    let mut visits: Vec<(Regularity, Option<(usize, Nanos)>)> =
        vec![(Regularity::default(), None); own.len()];
    for (execution, range) in ranges.iter().enumerate() {
        for event in &events[range.clone()] {
            let Some(place) = places.get(event.node) else { continue };
            let (regularity, last) = &mut visits[place as usize];
            let last = last.replace((execution, event.begin));
            if let Some((_, last)) = last.filter(|&(before, _)| before == execution) {
                regularity.add(event.begin - last);
            }
        }
    }
    own.iter().zip(visits).map(|(&node, (regularity, _))| (node, regularity)).collect()
}

impl LoopTimes {
    /// The variation with the uncertainty of few visits.
    fn irregularity(&self) -> f64 {
        let distances = self.iterations.len().saturating_sub(self.executions.len());
        self.variation + 1.0 / (distances.max(1) as f64).sqrt()
    }

    fn add_execution(&mut self, events: &[TimedEvent], range: Range<usize>) {
        let first_iteration = self.iterations.len();
        let (begin, end) = (events[range.start].begin, events[range.end - 1].end);
        // Events before the first visit belong to the first iteration.
        let visits = range.clone().filter(|&at| events[at].node == self.counted_by).skip(1);
        let mut from = range.start;
        for to in visits.chain([range.end]) {
            let begin = events[from].begin;
            let end = if to == range.end { end } else { events[to].begin };
            self.iterations.push(Iteration { events: from..to, begin, duration: end - begin });
            from = to;
        }
        let iterations = first_iteration..self.iterations.len();
        let duration = end - begin;
        self.total += duration;
        self.executions.push(Execution { events: range, iterations, begin, duration });
    }
}

pub(crate) fn durations(iterations: &[Iteration]) -> Durations {
    let mut sorted: Vec<u64> = iterations.iter().map(|iteration| iteration.duration.0).collect();
    sorted.sort_unstable();
    let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
        return Durations::default();
    };
    let quantile = |numerator: usize| sorted[(sorted.len() - 1) * numerator / 4];
    let (lower, median, upper) = (quantile(1), quantile(2), quantile(3));
    let fence = upper.saturating_add((3 * (upper - lower)).max(median / 10));
    let mut outliers: Vec<usize> =
        (0..iterations.len()).filter(|&at| iterations[at].duration.0 > fence).collect();
    outliers.sort_by_key(|&at| (std::cmp::Reverse(iterations[at].duration), at));
    Durations { min: Nanos(min), median: Nanos(median), max: Nanos(max), outliers }
}

/// Goes from the loop at `place` inwards as long as the outer one is too irregular to count steps
/// by, and a loop inside takes most of its time and is much more regular.
fn main(forest: &Forest, loops: &[LoopTimes], place: usize) -> usize {
    let mut main = place;
    // Loops come after those around them, so that one pass follows the nesting inwards.
    for (at, found) in loops.iter().enumerate() {
        let outer = &loops[main];
        let inside = forest.loops[found.index as usize].parent == Some(outer.index);
        let most = found.total.0 as f64 >= MOST * outer.total.0 as f64;
        let (irregular, inner) = (outer.irregularity(), found.irregularity());
        if inside && most && irregular > IRREGULAR && inner < irregular / 2.0 {
            main = at;
        }
    }
    main
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// Events of one unit each, with the gaps before them.
    fn timed(sequence: &[(u32, u64)]) -> (Graph, Forest, Vec<TimedEvent>) {
        let mut now = 0;
        let event = |&(node, gap): &(u32, u64)| {
            let begin = now + gap;
            now = begin + 1;
            TimedEvent { node: NodeId(node), begin: Nanos(begin), end: Nanos(now) }
        };
        let events: Vec<TimedEvent> = sequence.iter().map(event).collect();
        let graph = Graph::from_timed(events.iter().map(|e| (e.node, e.begin, e.end)));
        let forest = Forest::new(&graph);
        (graph, forest, events)
    }

    #[test]
    fn minighost_spends_its_time_in_one_loop() {
        let sequence: Vec<(u32, u64)> =
            testing::minighost().iter().map(|node| (node.0, 9)).collect();
        let (graph, forest, events) = timed(&sequence);
        let times = timeline(&graph, &forest, &events, &[NodeId(0), NodeId(86)]);
        let (step, inner) = (&times.loops[0], &times.loops[1]);
        assert_eq!((step.executions.len(), step.iterations.len()), (1, 60));
        assert_eq!((inner.executions.len(), inner.iterations.len()), (60, 360));
        assert_eq!((times.dominant, times.main), (Some(0), Some(0)));
        assert_eq!(times.run, Nanos(31_599 - 10));
        assert_eq!(step.total, Nanos(3120 * 10 - 9));
        assert!((step.share - 0.987).abs() < 1e-3);
        assert_eq!(step.durations.median, Nanos(520));
        assert_eq!(step.iterations[1].events, 62..114);
    }

    #[test]
    fn a_header_that_recurs_rarely_does_not_count_the_iterations() {
        // Neighbour lists at the begin and in the middle, a step 200 times; the header is visited
        // twice.
        let mut sequence = vec![(0, 0)];
        for step in 0..200 {
            if step % 100 == 0 {
                sequence.push((1, 50));
            }
            sequence.extend([(2, 100 + step % 7), (3, 30)]);
        }
        let (graph, forest, events) = timed(&sequence);
        let times = timeline(&graph, &forest, &events, &[NodeId(0)]);
        let (dominant, main) = (times.dominant.unwrap(), times.main.unwrap());
        assert_eq!(times.loops[dominant].iterations.len(), 2);
        assert_eq!(times.loops[main].iterations.len(), 200);
        assert_eq!(times.loops[main].executions.len(), 2);
    }

    #[test]
    fn an_optional_first_node_does_not_count_the_iterations() {
        let sequence: Vec<(u32, u64)> = (0..100)
            .flat_map(|step| {
                let optional = step % 9 == 0 || step % 7 == 0;
                if optional { vec![(0, 20), (1, 19)] } else { vec![(1, 40)] }
            })
            .collect();
        let (graph, forest, events) = timed(&sequence);
        let times = timeline(&graph, &forest, &events, &[]);
        assert_eq!(times.loops[times.dominant.unwrap()].iterations.len(), 25);
        assert_eq!(times.loops[times.main.unwrap()].iterations.len(), 100);
    }

    #[test]
    fn steps_count_rather_than_the_iterations_of_their_solver() {
        let step = |step| {
            let solver = (0..20 + step % 5).flat_map(|_| [(1, 10), (2, 10)]);
            std::iter::once((0, 30)).chain(solver).collect::<Vec<_>>()
        };
        let (graph, forest, events) = timed(&(0..60).flat_map(step).collect::<Vec<_>>());
        let times = timeline(&graph, &forest, &events, &[]);
        assert_eq!(times.loops[times.main.unwrap()].iterations.len(), 60);
    }

    #[test]
    fn slow_iterations_are_outliers() {
        let gap = |step| if step == 42 { 500 } else { 10 };
        let sequence: Vec<(u32, u64)> =
            (0..100).flat_map(|step| [(0, 10), (1, gap(step))]).collect();
        let (graph, forest, events) = timed(&sequence);
        let times = timeline(&graph, &forest, &events, &[]);
        assert_eq!(times.loops[0].durations.outliers, [42]);
        assert_eq!(times.loops[0].durations.median, Nanos(22));
    }

    #[test]
    fn odd_input_gives_no_loops() {
        let (graph, forest, events) = timed(&[]);
        assert_eq!(timeline(&graph, &forest, &events, &[]), Timeline::default());
        let (_, _, others) = timed(&[(5, 1), (6, 1)]);
        assert!(timeline(&graph, &forest, &others, &[]).loops.is_empty());
    }
}

//! Loops and iterations of a thread while it runs.
//!
//! Owns the state of one thread, updated at each look: each event costs the same, and memory grows
//! with the graph, not with the events. Loops are those of the graph as it was at the
//! last look. Of a loop's own nodes the one whose visits are most regular in time counts its
//! iterations, as in [`crate::iterations`]. The main loop is the outermost one with the most time;
//! if it has few iterations, an inner one with nearly all of its time replaces it, as in
//! [`crate::structure`].

use talea_model::{Nanos, NodeId};

use crate::growth::Look;
use crate::history::History;
use crate::iterations::{Regularity, TimedEvent, most_regular};
use crate::loops::Forest;

/// Minimum number of iterations of a main loop that has a dominant loop inside.
const FEW: u64 = 4;
/// Minimum part of the outer loop's time for such an inner loop.
const NEARLY_ALL: f64 = 0.75;

/// An event, and the way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The event.
    pub event: TimedEvent,
    /// Place of its node among the successors of the node before; absent for the first event.
    pub choice: Option<u32>,
}

/// Visits of one node.
#[derive(Clone, Debug)]
struct Visits {
    count: u64,
    /// Begin of the last one.
    last: Option<Nanos>,
    /// Of the times between visits in one execution of the loop.
    regularity: Regularity,
    /// Those times.
    history: History,
    /// Visits since the loops changed, and how many of them followed another one in the same
    /// execution of the loop.
    recent: (u64, u64),
    /// Time inside its calls and before each of them.
    time: Nanos,
    /// Number of its successors so far, and at the last look.
    successors: u32,
    known: u32,
}

impl Visits {
    /// True unless most visits are alone in their execution of the loop.
    fn is_repeated(&self) -> bool {
        let (visits, repeated) = self.recent;
        visits < FEW || 2 * repeated >= visits
    }
}

/// The main loop of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct MainLoop<'a> {
    /// Its nodes, those of loops inside it included.
    pub nodes: Vec<NodeId>,
    /// The node whose visits are its iterations.
    pub counted_by: NodeId,
    /// Number of iterations, the current one included.
    pub iterations: u64,
    /// Variation (standard deviation divided by mean) of their durations.
    pub variation: f64,
    /// Time in the loop.
    pub time: Nanos,
    /// Durations of whole iterations; between two executions of the loop there is none.
    pub history: &'a History,
}

/// Follows the events of a thread.
#[derive(Debug)]
pub struct Follower {
    most: usize,
    visits: Vec<Visits>,
    /// Successors of each node at the last look.
    successors: Vec<Vec<u32>>,
    forest: Forest,
    /// For each loop the time at which it was left last.
    left: Vec<Nanos>,
    before: Option<TimedEvent>,
    time: Nanos,
    look: Look,
}

impl Follower {
    /// Before the first event; keeps at most `most` groups of durations for each node.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            visits: Vec::new(),
            successors: Vec::new(),
            forest: Forest::default(),
            left: Vec::new(),
            before: None,
            time: Nanos(0),
            look: Look::default(),
        }
    }

    /// Takes the next event.
    pub fn event(&mut self, step: Step) {
        let event = step.event;
        let (node, from) = (event.node.0 as usize, self.before.map(|one| one.node.0 as usize));
        self.grow(node.max(from.unwrap_or(0)) + 1);
        let since = self.before.map_or(event.begin, |before| before.end);
        let time = event.end - since;
        let is_known = from.zip(step.choice).is_some_and(|(from, at)| {
            let from = &mut self.visits[from];
            from.successors = from.successors.max(at.saturating_add(1));
            at < from.known
        });
        self.look.events += 1;
        self.look.time += time;
        self.look.new += if is_known { Nanos(0) } else { time };
        self.time += time;
        self.leave_loops(from, node, event.begin);
        let innermost = self.innermost(node);
        let left = innermost.map_or(Nanos(0), |at| self.left[at as usize]);
        let visits = &mut self.visits[node];
        visits.count += 1;
        visits.recent.0 += 1;
        visits.time += time;
        if let Some(last) = visits.last.replace(event.begin).filter(|&last| last >= left) {
            let distance = event.begin - last;
            visits.recent.1 += 1;
            visits.regularity.add(distance);
            visits.history.push(last, distance);
        }
        self.before = Some(event);
    }

    /// Forgets the previous event, because times after it are lost.
    pub fn forget_previous(&mut self) {
        if self.before.take().is_some() {
            self.visits.iter_mut().for_each(|visits| visits.last = None);
        }
    }

    fn grow(&mut self, nodes: usize) {
        if nodes > self.visits.len() {
            let none = Visits {
                count: 0,
                last: None,
                regularity: Regularity::default(),
                history: History::new(self.most),
                recent: (0, 0),
                time: Nanos(0),
                successors: 0,
                known: 0,
            };
            self.visits.resize(nodes, none);
        }
    }

    fn innermost(&self, node: usize) -> Option<u32> {
        self.forest.innermost.get(node).copied().flatten()
    }

    /// Notes the loops that the step between two nodes leaves.
    fn leave_loops(&mut self, from: Option<usize>, to: usize, now: Nanos) {
        let Some(from) = from else { return };
        let (before, after) = (self.innermost(from), self.innermost(to));
        if before == after {
            return;
        }
        // Numbers of loops fall from the inside outwards. The loops around a loop that is not left
        // are not left either.
        let mut around = self.forest.around(to as u32).peekable();
        for one in self.forest.around(from as u32) {
            while around.next_if(|&other| other > one).is_some() {}
            if around.peek() == Some(&one) {
                break;
            }
            self.left[one as usize] = now;
        }
    }

    /// Forgets times between visits of nodes that are in another loop now: they contain the time
    /// between two executions of the new one.
    fn forget_other_loops(&mut self, before: &Forest) {
        fn nodes(forest: &Forest, node: usize) -> Option<&[u32]> {
            let innermost = forest.innermost.get(node).copied().flatten()?;
            forest.loops.get(innermost as usize).map(|one| &*one.nodes)
        }
        let (forest, most) = (&self.forest, self.most);
        for (node, visits) in self.visits.iter_mut().enumerate() {
            (visits.last, visits.recent) = (None, (0, 0));
            if nodes(before, node) != nodes(forest, node) {
                visits.regularity = Regularity::default();
                visits.history = History::new(most);
            }
        }
    }

    /// Ends a look: returns what came since the last one. `successors` are those of each node, in
    /// the order of first use, as they are known now.
    pub fn look(&mut self, successors: &[Vec<u32>]) -> Look {
        if self.successors != successors {
            let forest = Forest::from_successors(successors, [0]);
            let before = std::mem::replace(&mut self.forest, forest);
            self.left = vec![Nanos(0); self.forest.loops.len()];
            self.grow(successors.len());
            self.successors = successors.to_vec();
            self.forget_other_loops(&before);
        }
        self.visits.iter_mut().for_each(|visits| visits.known = visits.successors);
        std::mem::take(&mut self.look)
    }

    /// Number of edges at the last look.
    pub fn edges(&self) -> usize {
        self.successors.iter().map(Vec::len).sum()
    }

    /// Time of all events, from the begin of the first.
    pub fn time(&self) -> Nanos {
        self.time
    }

    /// True if two nodes have the same innermost loop, in the graph at the last look.
    pub fn are_in_one_loop(&self, one: NodeId, other: NodeId) -> bool {
        let [one, other] = [one, other].map(|node| self.innermost(node.0 as usize));
        one.is_some() && one == other
    }

    /// The main loop, of the graph at the last look.
    pub fn main_loop(&self) -> Option<MainLoop<'_>> {
        let loops = &self.forest.loops;
        let mut time: Vec<Nanos> = loops
            .iter()
            .map(|one| one.nodes.iter().map(|&node| self.visits[node as usize].time).sum())
            .collect();
        // A loop comes after those around it.
        for (at, one) in loops.iter().enumerate().rev() {
            if let Some(parent) = one.parent.map(|up| up as usize).filter(|&up| up < at) {
                time[parent] = time[parent] + time[at];
            }
        }
        let regular = |at: usize| {
            let visits = loops[at].nodes.iter().map(|&node| (node, &self.visits[node as usize]));
            let repeated = visits.filter(|(_, visits)| visits.is_repeated());
            most_regular(repeated.map(|(node, visits)| (node, visits.regularity)))
        };
        let turns = |at: usize| regular(at).map_or(0, |(node, _)| self.visits[node as usize].count);
        let heaviest = |parent: Option<u32>| {
            let inside = (0..loops.len()).rev().filter(|&at| loops[at].parent == parent);
            inside.max_by_key(|&at| time[at])
        };
        let mut main = heaviest(None)?;
        while turns(main) < FEW
            && let Some(inner) = heaviest(Some(main as u32))
            && time[inner].0 as f64 >= NEARLY_ALL * time[main].0 as f64
            && turns(inner) > turns(main)
        {
            main = inner;
        }
        let (node, regularity) = regular(main)?;
        let visits = &self.visits[node as usize];
        let inside = |&node: &u32| self.forest.around(node).any(|one| one as usize == main);
        let nodes = (0..self.visits.len() as u32).filter(inside).map(NodeId).collect();
        Some(MainLoop {
            nodes,
            counted_by: NodeId(node),
            iterations: visits.count,
            variation: regularity.variation(),
            time: time[main],
            history: &visits.history,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::iterations::timeline;

    /// Follows a sequence of nodes with gaps before them, each of a nanosecond, with a look after
    /// each `every` events; returns the changes, and the main loop's node and iterations beside
    /// those of the whole timeline.
    fn follow(sequence: &[(u32, u64)], every: usize) -> (Vec<Look>, [(NodeId, u64); 2], Follower) {
        let mut follower = Follower::new(64);
        let mut successors: Vec<Vec<u32>> = Vec::new();
        let (mut now, mut before) = (0, None);
        let (mut events, mut looks) = (Vec::new(), Vec::new());
        for (number, &(node, gap)) in (1..).zip(sequence) {
            let begin = now + gap;
            now = begin + 1;
            let event = TimedEvent { node: NodeId(node), begin: Nanos(begin), end: Nanos(now) };
            successors.resize(successors.len().max(node as usize + 1), Vec::new());
            let choice = before.map(|before: u32| {
                let own = &mut successors[before as usize];
                let known = own.iter().position(|&one| one == node);
                known.unwrap_or_else(|| {
                    own.push(node);
                    own.len() - 1
                }) as u32
            });
            follower.event(Step { event, choice });
            events.push(event);
            before = Some(node);
            if number % every == 0 {
                looks.push(follower.look(&successors));
            }
        }
        looks.push(follower.look(&successors));
        let graph = Graph::from_timed(events.iter().map(|one| (one.node, one.begin, one.end)));
        let whole = timeline(&graph, &Forest::new(&graph), &events, &[]);
        let whole = &whole.loops[whole.main.unwrap()];
        let live = follower.main_loop().unwrap();
        let live = (live.counted_by, live.iterations);
        (looks, [live, (whole.counted_by, whole.iterations.len() as u64)], follower)
    }

    #[test]
    fn a_loop_is_the_one_of_the_whole_timeline() {
        let sequence: Vec<(u32, u64)> =
            [(0, 0)].into_iter().chain((0..400).map(|at| (1 + at % 4, 9))).collect();
        for every in [1, 7, 100] {
            let (looks, [live, whole], follower) = follow(&sequence, every);
            assert_eq!((live, live.1), (whole, 100), "look after {every} events");
            let time: u64 = looks.iter().map(|look| look.time.0).sum();
            assert_eq!((Nanos(time), time), (follower.time(), 4001));
            // New are the first visits, and the way back.
            let new: u64 = looks.iter().map(|look| look.new.0).sum();
            assert!(every > 1 || new == 1 + 50, "{new}");
            let history = follower.main_loop().unwrap().history;
            // Times before the loop was known are forgotten.
            let known = 99 - every.div_ceil(4) as u64;
            assert!(history.count() >= known.saturating_sub(2), "{every}: {}", history.count());
            assert!(history.groups().iter().all(|group| group.mean() == Nanos(40)));
        }
    }

    #[test]
    fn steps_count_rather_than_the_iterations_of_their_solver() {
        let step = |step| {
            let solver = (0..20 + step % 5).flat_map(|_| [(1, 10), (2, 10)]);
            std::iter::once((0, 30)).chain(solver).collect::<Vec<_>>()
        };
        let (_, [live, whole], _) = follow(&(0..60).flat_map(step).collect::<Vec<_>>(), 200);
        assert_eq!(live, whole);
        assert_eq!(live, (NodeId(0), 60));
    }

    #[test]
    fn a_header_that_recurs_rarely_does_not_count_the_iterations() {
        let mut sequence = vec![(0, 0)];
        for step in 0..200 {
            if step % 100 == 0 {
                sequence.push((1, 50));
            }
            sequence.extend([(2, 100 + step % 7), (3, 30)]);
        }
        let (_, [live, whole], _) = follow(&sequence, 50);
        assert_eq!((live, live.1), (whole, 200));
    }

    #[test]
    fn nothing_is_no_loop() {
        assert_eq!(Follower::new(4).main_loop(), None);
        let mut follower = Follower::new(4);
        let event = TimedEvent { node: NodeId(3), begin: Nanos(5), end: Nanos(1) };
        follower.event(Step { event, choice: Some(9) });
        assert_eq!(follower.look(&[]).events, 1);
        assert_eq!(follower.main_loop(), None);
    }
}

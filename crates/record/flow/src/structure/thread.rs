//! The structure of one thread's recording.
//!
//! Owns the tree's input: the thread's sequence without polls that found nothing, whose number is a
//! matter of timing; their time belongs to the call that comes next. It identifies events by their
//! places in the whole sequence, so that callers need not know the omitted ones.

use std::ops::Range;

use talea_model::Nanos;

use super::evidence::Code;
use super::periods::{self, Sequence, Traits};
use super::{Options, Tree, build, flat, nested, turns};
use crate::log::ThreadLog;

/// A thread's structure tree, and the places of its events in the thread's sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTree {
    /// The tree.
    pub tree: Tree,
    /// For each event of the tree the place in the thread's sequence; absent where all events are
    /// in the tree.
    places: Option<Vec<u32>>,
    events: u64,
}

impl ThreadTree {
    /// Builds the tree of a thread; `traits` has the traits of each node's calls, or is empty.
    pub fn new(log: &ThreadLog, traits: &[Traits]) -> Self {
        let options = Options::default();
        let bound = options.events as usize;
        if traits.is_empty() || log.events > u64::from(options.events) {
            return Self { tree: build(log.walk(), &options), places: None, events: log.events };
        }
        let found: Vec<Option<Vec<bool>>> = (0..log.nodes.len())
            .map(|at| {
                let column = log.nodes[at].columns.get(traits.get(at)?.poll?)?;
                let nothing = column.totals().any(|(value, _)| value == 0);
                nothing.then(|| column.values().take(bound).map(|value| value != 0).collect())
            })
            .collect();
        let mut next = vec![0_u32; log.nodes.len()];
        // Places, from the first event on that is left out.
        let (mut sequence, mut places) = (Sequence::default(), None::<Vec<u32>>);
        for (place, node) in (0..).zip(log.walk()) {
            let at = node.0 as usize;
            let visit = next[at];
            next[at] += 1;
            let known = found[at].as_ref();
            if known.is_none_or(|found| found.get(visit as usize).is_none_or(|&found| found)) {
                let same_as = traits.get(at).and_then(|traits| traits.same_as);
                sequence.push(same_as.unwrap_or(node), (node, visit));
                if let Some(places) = &mut places {
                    places.push(place);
                }
            } else if places.is_none() {
                places = Some((0..place).collect());
            }
        }
        // A thread that only ever polls in vain has no other structure.
        if sequence.nodes.is_empty() {
            return Self { tree: build(log.walk(), &options), places: None, events: log.events };
        }
        let mut tree = with_turns(log, traits, &sequence).unwrap_or_else(|| {
            let mut tree = build(sequence.nodes.iter().copied(), &options);
            nested::nest(&mut tree, &Code::new(traits));
            tree
        });
        // Arguments may show a loop in a part that code shows to be a loop of its own; joining
        // counts all of these.
        periods::split(&mut tree, log, traits, &sequence);
        flat::flatten(&mut tree, traits, &Code::new(traits));
        Self { tree, places, events: log.events }
    }

    /// Adds `times`, one for each event of the thread, to the leaves of the events and to
    /// everything above them.
    pub fn add_times(&mut self, times: impl IntoIterator<Item = Nanos>) {
        let Some(places) = &self.places else { return self.tree.add_times(times) };
        let mut times = times.into_iter();
        let mut at = 0;
        let last = places.len() - 1;
        let folded: Vec<Nanos> = places
            .iter()
            .enumerate()
            .map(|(number, &place)| {
                let count = (place + 1 - at) as usize;
                at = place + 1;
                let sum = times.by_ref().take(count).sum::<Nanos>();
                // Time after the last event belongs to it.
                if number == last { sum + times.by_ref().sum::<Nanos>() } else { sum }
            })
            .collect();
        self.tree.add_times(folded);
    }

    /// The events of each iteration of one loop, as in [`Tree::iterations`], as places in the
    /// thread's sequence.
    pub fn iterations(&self, number: usize) -> Vec<Range<u64>> {
        let ranges = self.tree.iterations(number);
        let Some(places) = &self.places else { return ranges };
        // Polls belong to the event that comes after them.
        let begin = |event: u64| {
            let before = (event as usize).checked_sub(1).and_then(|before| places.get(before));
            before.map_or(0, |&place| u64::from(place) + 1)
        };
        let end = |event: u64| {
            if event as usize == places.len() { self.events } else { begin(event) }
        };
        ranges.into_iter().map(|range| begin(range.start)..end(range.end)).collect()
    }
}

/// The tree of a sequence in which loops of machine code need marks at the begins of their turns.
fn with_turns(log: &ThreadLog, traits: &[Traits], sequence: &Sequence) -> Option<Tree> {
    let marked = turns::marked(log, traits, sequence)?;
    let mut tree = build(marked.nodes, &Options::default());
    nested::nest(&mut tree, &Code::new(&marked.traits));
    turns::unmark(&mut tree, traits.len() as u32).then_some(tree)
}

#[cfg(test)]
pub(super) mod tests {
    use talea_model::{NodeId, PathId, ProcedureId, Signature};

    use super::super::{PrintOptions, print};
    use super::*;
    use crate::log::NodeLog;

    /// The log of a sequence of (node, value of its one column).
    pub(crate) fn log(sequence: &[(u32, i64)]) -> ThreadLog {
        let count = sequence.iter().map(|(node, _)| node + 1).max().unwrap_or(0);
        let nodes = (0..count)
            .map(|number| {
                let own = || sequence.iter().filter(move |(node, _)| *node == number);
                let mut successors: Vec<NodeId> = Vec::new();
                let mut choices = Vec::new();
                for pair in sequence.windows(2).filter(|pair| pair[0].0 == number) {
                    let next = NodeId(pair[1].0);
                    let known = successors.iter().position(|&node| node == next);
                    choices.push(known.unwrap_or(successors.len()) as u32);
                    if known.is_none() {
                        successors.push(next);
                    }
                }
                NodeLog {
                    signature: Signature { procedure: ProcedureId(0), path: PathId(number) },
                    visits: own().count() as u64,
                    successors,
                    choices: choices.into_iter().collect(),
                    columns: vec![own().map(|(_, value)| *value).collect()],
                    polls: std::iter::repeat_n(1, own().count()).collect(),
                }
            })
            .collect();
        ThreadLog { nodes, events: sequence.len() as u64 }
    }

    pub(crate) fn text(sequence: &[(u32, i64)], traits: &[Traits]) -> String {
        let found = ThreadTree::new(&log(sequence), traits);
        let name = |node: NodeId| char::from(b'A' + node.0 as u8).to_string();
        print(&found.tree, &PrintOptions::default(), name)
    }

    fn chosen() -> Traits {
        Traits { chosen: vec![0], ..Traits::default() }
    }

    #[test]
    fn a_period_of_arguments_is_a_loop() {
        // 5 steps of 4 sub-steps, distinguished by the value alone.
        let mut sequence = vec![(0, 0)];
        for _ in 0..5 {
            for sub in 0..4 {
                sequence.extend([(1, sub), (2, 9)]);
            }
        }
        sequence.push((3, 0));
        let traits = vec![Traits::default(), chosen(), Traits::default(), Traits::default()];
        assert_eq!(
            text(&sequence, &traits),
            "+ROOT\n  +SEQUENCE\n    - A\n  +LOOP (5x)\n    +LOOP (4x)\n      +SEQUENCE\n        - B\n        - C\n  +SEQUENCE\n    - D\n"
        );
        // A collective call that is always the same makes each iteration a step.
        let mut with_collective = traits;
        with_collective[2].collective = true;
        assert!(text(&sequence, &with_collective).contains("+LOOP (20x)"));
    }

    #[test]
    fn answers_to_whoever_was_first_are_no_loop() {
        let matched = || Traits { matched: vec![0], ..Traits::default() };
        let check = |turns: &[(u32, i64)], expected: &str| {
            let mut sequence = vec![(0, 0)];
            sequence.extend(turns);
            let text = text(&sequence, &[Traits::default(), matched(), chosen()]);
            assert!(text.contains(expected), "{text}");
        };
        let turns = |answer: &dyn Fn(i64) -> i64| -> Vec<(u32, i64)> {
            (0..12).flat_map(|turn| [(1, turn % 3), (2, answer(turn))]).collect()
        };
        check(&turns(&|turn| turn % 3), "+LOOP (12x)");
        check(&turns(&|turn| turn % 3 + 1), "+LOOP (12x)");
        // The first answer is to a call before the loop.
        check(&turns(&|turn| turn % 3)[1..23], "+LOOP (11x)");
        // The answers are in an order of the program's own.
        check(&turns(&|turn| turn / 2 % 2), "+LOOP (3x)");
    }

    #[test]
    fn a_period_inside_guards_is_a_loop() {
        // 32 steps of two colours, with a sum every eighth step.
        let mut sequence = vec![(0, 0)];
        for step in 0..32 {
            sequence.extend([(1, 0), (1, 1)]);
            if step % 8 == 7 {
                sequence.push((2, 0));
            }
        }
        let all = Traits { collective: true, ..Traits::default() };
        let text = text(&sequence, &[Traits::default(), chosen(), all]);
        assert!(
            text.contains(
                "+LOOP (32x)\n    +LOOP (2x)\n      +SEQUENCE\n        - B\n    +SEQUENCE [7,31,8,1]\n      - C"
            ),
            "{text}"
        );
    }

    #[test]
    fn every_tenth_step_does_something_more() {
        let check = |inner: usize, expected: &str| {
            let mut sequence = vec![(0, 0)];
            for _ in 0..5 {
                sequence.extend(std::iter::repeat_n((1, 0), inner));
                sequence.push((2, 0));
            }
            let all = Traits { collective: true, ..Traits::default() };
            let text = text(&sequence, &[Traits::default(), chosen(), all]);
            assert!(text.contains(expected), "{text}");
        };
        check(10, "+LOOP (50x)\n    +SEQUENCE\n      - B\n    +SEQUENCE [9,49,10,1]\n      - C");
        check(
            4,
            "+LOOP (5x)\n    +LOOP (4x)\n      +SEQUENCE\n        - B\n    +SEQUENCE\n      - C",
        );
    }

    #[test]
    fn copies_of_a_call_are_one() {
        // The first turn of three was compiled apart.
        let sequence = [(0, 0), (1, 0), (2, 0), (3, 0), (2, 0), (3, 0), (2, 0), (4, 0)];
        let mut traits = vec![Traits::default(); 5];
        traits[3].same_as = Some(NodeId(1));
        assert!(text(&sequence, &traits).contains("+LOOP (3x)"), "{}", text(&sequence, &traits));
    }

    #[test]
    fn tags_that_count_up_show_no_loop() {
        let mut sequence = vec![(0, 0)];
        sequence.extend((0..20).map(|step| (1, step)));
        let traits = vec![Traits::default(), chosen()];
        assert!(text(&sequence, &traits).contains("+LOOP (20x)"));
    }

    #[test]
    fn a_period_ends_with_the_recording() {
        let mut sequence = vec![(0, 0)];
        sequence.extend((0..11).map(|step| (1, step / 2 % 2)));
        let traits = vec![Traits::default(), chosen()];
        let text = text(&sequence, &traits);
        assert!(text.contains("+LOOP (3x)\n    +LOOP (2x)\n      +LOOP (1-2x)"), "{text}");
    }

    #[test]
    fn polls_in_vain_are_no_part_of_the_tree() {
        // 3 steps; node 2 polls a varying number of times.
        let mut sequence = vec![(0, 0)];
        for polls in [3, 0, 2] {
            sequence.push((1, 0));
            sequence.extend(std::iter::repeat_n((2, 0), polls));
            sequence.push((2, 1));
        }
        sequence.push((3, 0));
        let poll = Traits { poll: Some(0), ..Traits::default() };
        let traits = vec![Traits::default(), Traits::default(), poll, Traits::default()];
        let log = log(&sequence);
        let mut found = ThreadTree::new(&log, &traits);
        assert_eq!(found.tree.events, 8);
        found.add_times(sequence.iter().map(|_| Nanos(10)));
        assert_eq!(found.tree.time, Nanos(130));
        assert_eq!(found.tree.children[1].time, Nanos(110));
        let number = 1 + found.tree.children[0].children.len() + 1;
        assert_eq!(found.iterations(number), [1..6, 6..8, 8..12]);
    }
}

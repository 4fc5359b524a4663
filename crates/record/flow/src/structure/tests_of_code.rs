//! Trees of sequences that several programs make, with the machine code of one of them.

use proptest::prelude::*;
use talea_model::{Frame, NodeId};

use super::thread::tests::{log, text};
use super::{CodeFrame, CodeLoop, ThreadTree, Traits};

/// A call of `main` inside these loops.
fn call(offset: u64, loops: &[u64]) -> CodeFrame {
    frame(100 + offset, 100, loops)
}

fn frame(offset: u64, function: u64, loops: &[u64]) -> CodeFrame {
    let loops = loops.iter().map(|&header| CodeLoop { header, ambiguous: false });
    CodeFrame {
        call: Frame { module: 0, offset },
        function: Some(function),
        loops: loops.collect(),
        order: offset as u32,
    }
}

/// A node with one call in `main`.
fn node(offset: u64, loops: &[u64]) -> Traits {
    Traits { code: vec![call(offset, loops)], ..Traits::default() }
}

/// Node 0, then the values of `body`.
fn with(body: impl IntoIterator<Item = u32>) -> Vec<(u32, i64)> {
    [0].into_iter().chain(body).map(|node| (node, 0)).collect()
}

/// `turns` times B, then C, all of it `times` times.
fn steps(times: usize, turns: usize) -> Vec<(u32, i64)> {
    with((0..times).flat_map(|_| std::iter::repeat_n(1, turns).chain([2])))
}

#[track_caller]
fn check(sequence: &[(u32, i64)], traits: &[Traits], expected: &str) {
    let found = text(sequence, traits);
    let loops = found.split_once("- A\n").map_or("", |(_, rest)| rest);
    assert_eq!(loops, expected);
    let tree = ThreadTree::new(&log(sequence), traits).tree;
    let nodes: Vec<NodeId> = sequence.iter().map(|&(node, _)| NodeId(node)).collect();
    assert_eq!(tree.expand().as_deref(), Some(&nodes[..]));
}

const NESTED: &str =
    "  +LOOP (5x)\n    +LOOP (10x)\n      +SEQUENCE\n        - B\n    +SEQUENCE\n      - C\n";
const GUARDED: &str =
    "  +LOOP (50x)\n    +SEQUENCE\n      - B\n    +SEQUENCE [9,49,10,1]\n      - C\n";

#[test]
fn code_decides_between_nested_and_guarded_loops() {
    for collective in [false, true] {
        let all = |loops: &[u64]| Traits { collective, ..node(2, loops) };
        let nested = [node(0, &[]), node(1, &[10, 20]), all(&[10])];
        check(&steps(5, 10), &nested, NESTED);
        let shared = [node(0, &[]), node(1, &[10]), all(&[10])];
        check(&steps(5, 10), &shared, GUARDED);
    }
}

#[test]
fn few_turns_and_what_comes_first() {
    let shared = [node(0, &[]), node(1, &[10]), node(2, &[10]), node(3, &[10])];
    let guarded =
        "  +LOOP (15x)\n    +SEQUENCE\n      - B\n    +SEQUENCE [2,14,3,1]\n      - C\n      - D\n";
    check(&with([1, 1, 1, 2, 3].repeat(5)), &shared, guarded);
    let shared = [node(0, &[]), node(2, &[10]), node(1, &[10])];
    let before = "  +LOOP (15x)\n    +SEQUENCE [0,12,3,1]\n      - C\n    +SEQUENCE\n      - B\n";
    check(&with([2, 1, 1, 1].repeat(5)), &shared, before);
}

#[test]
fn turns_that_vary_are_guarded_too() {
    let shared = [node(0, &[]), node(1, &[10]), node(2, &[10])];
    let sequence = with([1, 1, 2, 1, 1, 1, 2, 1, 1, 2, 1, 2]);
    let found = text(&sequence, &shared);
    assert!(found.contains("+LOOP (8x)"), "{found}");
    let tree = ThreadTree::new(&log(&sequence), &shared).tree;
    assert_eq!(tree.expand().unwrap().len(), sequence.len());
}

#[test]
fn a_function_that_is_called_has_loops_of_its_own() {
    // B stands in a loop of a function that `main` calls in the same loop as C.
    let mut inside = node(1, &[10]);
    inside.code.push(frame(900, 800, &[810]));
    check(&steps(5, 10), &[node(0, &[]), inside, node(2, &[10])], NESTED);
}

#[test]
fn the_same_loop_of_two_executions_is_two_loops() {
    // Both calls stand in the one loop of a function that `main` calls at two places.
    let through = |offset| Traits {
        code: vec![call(offset, &[10]), frame(900, 800, &[810])],
        ..Traits::default()
    };
    check(&steps(5, 10), &[node(0, &[]), through(1), through(2)], NESTED);
}

#[test]
fn what_is_not_certain_is_as_if_nothing_were_known() {
    let plain = vec![Traits::default(); 3];
    for turns in [4, 10] {
        let sequence = steps(5, turns);
        let expected = text(&sequence, &plain);
        let mut doubtful = [node(0, &[]), node(1, &[10]), node(2, &[10])];
        for traits in &mut doubtful[1..] {
            traits.code[0].loops[0].ambiguous = true;
        }
        assert_eq!(text(&sequence, &doubtful), expected);
        // Not in one function.
        let mut other = [node(0, &[]), node(1, &[10]), node(2, &[10])];
        other[2].code[0].function = Some(7);
        assert_eq!(text(&sequence, &other), expected);
        // In no loop, such as the levels of a recursion.
        assert_eq!(text(&sequence, &[node(0, &[]), node(1, &[]), node(2, &[])]), expected);
        // A function below `main` may have a loop around B.
        let mut unknown = [node(0, &[]), node(1, &[10]), node(2, &[10])];
        unknown[1].code.push(CodeFrame { function: None, order: 0, ..frame(900, 800, &[]) });
        assert_eq!(text(&sequence, &unknown), expected);
    }
}

#[test]
fn unrolled_loops_are_no_evidence() {
    // The three turns of a loop, one after the other in the same outer loop.
    let copy = |offset| Traits { same_as: Some(NodeId(1)), ..node(offset, &[10]) };
    let traits = [node(0, &[]), node(1, &[10]), node(2, &[10]), copy(3), copy(4)];
    let found = text(&with([1, 3, 4, 2].repeat(5)), &traits);
    assert!(found.contains("+LOOP (3x)"), "{found}");
}

#[test]
fn guarded_parts_of_a_loop_become_what_is_around_its_own() {
    // The builder takes this for one loop: every second to sixth turn is rather the end of a loop
    // over neighbours.
    let sequence = with([3, 1, 1, 1, 1, 1, 1, 1, 2].repeat(6).into_iter().chain([4]));
    let own = [node(0, &[]), node(1, &[10, 20]), node(2, &[10]), node(3, &[10]), node(4, &[])];
    check(
        &sequence,
        &own,
        "  +LOOP (6x)\n    +SEQUENCE\n      - D\n    +LOOP (7x)\n      +SEQUENCE\n        - B\n    +SEQUENCE\n      - C\n  +SEQUENCE\n    - E\n",
    );
}

#[test]
fn arguments_inside_of_an_own_loop_leave_one_loop_around() {
    // 10 steps of two colours, distinguished by a tag; every fifth is followed by C.
    let mut sequence = vec![(0, 0)];
    for step in 0..10 {
        sequence.extend([(1, 0), (1, 1)]);
        if step % 5 == 4 {
            sequence.push((2, 0));
        }
    }
    let colours = Traits { chosen: vec![0], ..node(1, &[10, 20]) };
    check(
        &sequence,
        &[node(0, &[]), colours, Traits { collective: true, ..node(2, &[10]) }],
        "  +LOOP (10x)\n    +LOOP (2x)\n      +SEQUENCE\n        - B\n    +SEQUENCE [4,9,5,1]\n      - C\n",
    );
}

proptest! {
    #[test]
    fn trees_stay_exact_whatever_the_code(
        period in proptest::collection::vec(1_u32..5, 1..12),
        times in 1_usize..8,
        noise in proptest::collection::vec(1_u32..5, 0..12),
        around in 1_usize..4,
        loops in proptest::collection::vec(proptest::collection::vec(0_u64..3, 0..3), 5),
    ) {
        let stretch = [period.repeat(times), noise].concat();
        let sequence = with(stretch.repeat(around));
        let traits: Vec<Traits> = loops.iter().zip(0..).map(
            |(loops, at)| node(at, loops)
        ).collect();
        let tree = ThreadTree::new(&log(&sequence), &traits).tree;
        let nodes: Vec<NodeId> = sequence.iter().map(|&(node, _)| NodeId(node)).collect();
        prop_assert_eq!(tree.expand(), Some(nodes));
        prop_assert_eq!(tree.events, sequence.len() as u64);
    }
}

/// A wavefront from four corners, 3 planes each, on a rank that has two of its four neighbours:
/// (from, to) by direction.
fn wavefront(steps: usize) -> Vec<(u32, i64)> {
    let mut sequence = vec![(0, 0)];
    for _ in 0..steps {
        for (corner, calls) in [[1, 2], [2, 3], [1, 4], [3, 4]].into_iter().enumerate() {
            for _ in 0..3 {
                sequence.extend(calls.map(|node| (node, corner as i64)));
            }
        }
        sequence.push((5, 0));
    }
    sequence
}

#[test]
fn a_loop_without_a_call_on_each_turn_has_turns() {
    let chosen = |node: Traits| Traits { chosen: vec![0], ..node };
    let inside = |offset| {
        let mut traits = chosen(node(1, &[10, 20]));
        traits.code.push(frame(offset, 800, &[810]));
        traits
    };
    let all = Traits { collective: true, ..node(9, &[10]) };
    let traits = [node(0, &[]), inside(901), inside(902), inside(903), inside(904), all];
    check(
        &wavefront(5),
        &traits,
        "  +LOOP (5x)
    +LOOP (4x)
      +LOOP (3x)
        +SEQUENCE [0,56,6,3 of 60 in all]
          - B
        +SEQUENCE [0,53,12,6 of 60 in all]
          - C
        +SEQUENCE [3,59,6,3 of 60 in all]
          - D
        +SEQUENCE [6,59,12,6 of 60 in all]
          - E
    +SEQUENCE
      - F
",
    );
}

#[test]
fn a_turn_like_the_one_before_is_whole() {
    // From two sides in turn: receives from the left stand before sends to it.
    let chosen = |node: Traits| Traits { chosen: vec![0], ..node };
    let traits = [
        node(0, &[]),
        chosen(node(1, &[10, 15, 20])),
        chosen(node(2, &[10, 15, 20])),
        Traits { collective: true, ..node(9, &[10]) },
    ];
    let sides = (0..6).flat_map(|side| std::iter::repeat_n((1 + side % 2, i64::from(side)), 4));
    let sequence: Vec<(u32, i64)> =
        [(0, 0)].into_iter().chain((0..3).flat_map(|_| sides.clone().chain([(3, 0)]))).collect();
    let found = text(&sequence, &traits);
    assert!(found.contains("+LOOP (3x)\n    +LOOP (6x)\n      +LOOP (4x)"), "{found}");
    // Where every turn makes the first call, the second one belongs to it.
    let shared = [node(0, &[]), node(1, &[10]), node(2, &[10])];
    let found = text(&with([1, 1, 1, 2, 1, 1, 2].repeat(6)), &shared);
    assert!(found.contains("+LOOP (30x)"), "{found}");
}

#[test]
fn marks_leave_no_trace() {
    // Any order of calls of one loop: the expansion is the sequence, and marks are not in it.
    let inside = |offset| Traits { chosen: vec![0], ..node(offset, &[10]) };
    let traits = [node(0, &[]), inside(1), inside(2), inside(3), node(4, &[])];
    let mut state = 1_u64;
    for length in 0..300 {
        let mut sequence = vec![(0, 0)];
        for _ in 0..length {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let node = 1 + (state >> 40) % 3 + u64::from((state >> 50).is_multiple_of(20));
            sequence.push((node as u32, ((state >> 55) % 2) as i64));
        }
        let found = ThreadTree::new(&log(&sequence), &traits).tree;
        if let Some(expanded) = found.expand() {
            let nodes: Vec<NodeId> = sequence.iter().map(|&(node, _)| NodeId(node)).collect();
            assert_eq!(expanded, nodes);
        }
        assert_eq!(found.events, sequence.len() as u64);
    }
}

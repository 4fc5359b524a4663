use proptest::prelude::*;
use talea_model::{Nanos, NodeId};

use super::*;
use crate::testing;

fn tree(sequence: &[NodeId]) -> Tree {
    let tree = build(sequence.iter().copied(), &Options::default());
    if let Some(again) = tree.expand() {
        assert_eq!(again, sequence);
    }
    tree
}

fn letter(node: NodeId) -> String {
    char::from(b'A' + node.0 as u8).to_string()
}

/// The tree of a sequence of letters as text, exact.
fn text(sequence: &str) -> String {
    let tree = tree(&testing::letters(sequence));
    assert!(tree.is_exact());
    print(&tree, &PrintOptions::default(), letter)
}

fn name(node: NodeId) -> String {
    match node.0 {
        0 => "MPI_Init".to_owned(),
        86 => "MPI_Finalize".to_owned(),
        1..10 => "Seq 1".to_owned(),
        17..=55 => "Seq 3".to_owned(),
        57..86 => "Seq 2".to_owned(),
        other => {
            let letter = match other {
                10..=12 => b"ABC"[other as usize - 10],
                13..=16 => b"EDGF"[other as usize - 13],
                _ => b'H',
            };
            format!("Node {}", char::from(letter))
        }
    }
}

#[test]
fn minighost_has_the_tree_of_the_seed() {
    let tree = tree(&testing::minighost());
    insta::assert_snapshot!(print(&tree, &PrintOptions::default(), name), @"");
    assert_eq!(tree.events, 3160);
}


/// Joins what `part` gives for 0, 1, ...
fn each(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

/// `text` where `on` is true.
fn when(on: bool, text: &str) -> &str {
    if on { text } else { "" }
}

#[test]
fn examples() {
    let check = |what: &str, sequence: String| println!("=== {what}\n{}", text(&sequence));
    let inner = format!("A{}", "C".repeat(6)).repeat(10);
    check("shared entry", format!("{}B{}E", "CCCA".repeat(6), "CCCD".repeat(4)));
    check("stencil reduce", format!("A{}Z", each(20, |i| format!("RRSSW{}", when(i % 10 == 9, "O")))));
    check("in a loop", each(8, |_| format!("A{}B", "RRSSWU".repeat(4))));
    check("first differs", format!("A{}Z", each(9, |i| format!("X{}Y{}", when(i == 0, "I"), when(i > 0, "J")))));
    check("do while", format!("A{}XZ", "XY".repeat(9)));
    check("optional after shared", format!("A{}Z", each(60, |i| format!("{}{}A{}H{}", when(i % 2 == 0, "P"), when(i % 3 == 0, "Q"), "CD".repeat(5), when(i % 5 == 4, "O")))));
    check("many optional", format!("A{}Z", each(60, |i| format!("{}{}B{}H{}", when(i % 2 == 0, "P"), when(i % 3 == 0, "Q"), "CD".repeat(5), when(i % 5 == 4, "O")))));
    check("cg", each(10, |i| format!("GRRSSWAD{}T", "RRSSWUAA".repeat(7 + (i * 7) % 5))));
    check("cg 2", format!("I{}F", each(10, |i| format!("RRSSWAD{}", "RRSSWUAA".repeat(7 + (i * 7) % 5)))));
    check("multigrid", each(5, |_| format!("{}N{}R", each(3, |l| format!("AABBC{}", when(l == 1, "Q"))), each(3, |_| "DDEEF".into()))));
    check("tail", format!("{}{}", inner, "C".repeat(6)));
    check("mode switch", each(100, |i| format!("XYZ{}", if i < 30 { "A" } else { "B" })));
    check("master", each(40, |i| format!("P{}R{}", when((i * i) % 7 < 3, "Q"), ["S", "TU", "S"][(i * 5 + i / 3) % 3])));
}

/// A random program: leaves in the order of the text, loops with fixed trip counts, parts that run on iterations
/// `first`, `first + stride`, ... of the loop around.
#[derive(Clone, Debug)]
enum Program {
    Leaf(u32),
    Sequence(Vec<Program>),
    Loop(u64, Box<Program>),
    If { first: u64, stride: u64, body: Box<Program> },
}

fn program() -> impl Strategy<Value = Program> {
    let leaf = (0_u32..12).prop_map(Program::Leaf);
    leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..5).prop_map(Program::Sequence),
            3 => (1_u64..7, inner.clone()).prop_map(|(n, body)| Program::Loop(n, Box::new(body))),
            1 => (0_u64..4, 1_u64..4, inner)
                .prop_map(|(first, stride, body)| Program::If { first, stride, body: Box::new(body) }),
        ]
    })
}

fn execute(program: &Program, iteration: u64, sequence: &mut Vec<NodeId>) {
    match program {
        // Longer sequences test nothing new.
        _ if sequence.len() > 3000 => {}
        Program::Leaf(node) => sequence.push(NodeId(*node)),
        Program::Sequence(parts) => parts.iter().for_each(|part| execute(part, iteration, sequence)),
        Program::Loop(trips, body) => (0..*trips).for_each(|at| execute(body, at, sequence)),
        Program::If { first, stride, body } => {
            if iteration >= *first && (iteration - first).is_multiple_of(*stride) {
                execute(body, iteration, sequence);
            }
        }
    }
}

/// Gives every leaf a name of its own, as call paths do.
fn rename(program: &mut Program, next: &mut u32) {
    match program {
        Program::Leaf(node) => {
            *node = *next;
            *next += 1;
        }
        Program::Sequence(parts) => parts.iter_mut().for_each(|part| rename(part, next)),
        Program::Loop(_, body) | Program::If { body, .. } => rename(body, next),
    }
}

fn check_tree(tree: &Tree) {
    if !tree.children.is_empty() {
        assert_eq!(tree.events, tree.children.iter().map(|child| child.events).sum::<u64>());
    }
    tree.children.iter().for_each(check_tree);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn expand_undoes_build_for_programs_with_distinct_calls(mut program in program()) {
        rename(&mut program, &mut 0);
        let mut sequence = Vec::new();
        execute(&program, 0, &mut sequence);
        let tree = build(sequence.iter().copied(), &Options::default());
        prop_assert_eq!(tree.expand().unwrap(), sequence);
        check_tree(&tree);
    }

    #[test]
    fn expand_undoes_build_for_programs_that_share_calls(program in program()) {
        let mut sequence = Vec::new();
        execute(&program, 0, &mut sequence);
        let tree = build(sequence.iter().copied(), &Options::default());
        prop_assert_eq!(tree.events, sequence.len() as u64);
        check_tree(&tree);
        if let Some(again) = tree.expand() {
            prop_assert_eq!(again, sequence);
        }
    }

    #[test]
    fn any_sequence_gives_a_tree(sequence in prop::collection::vec(0_u32..9, 0..120), depth in 0_usize..5, parts in 0_usize..50, events in 1_u32..200) {
        let sequence = testing::ids(&sequence);
        let mut tree = build(sequence.iter().copied(), &Options { depth, parts, events });
        prop_assert_eq!(tree.events, sequence.len() as u64);
        check_tree(&tree);
        tree.add_times(sequence.iter().map(|node| Nanos(1 << node.0)));
        let expected: u64 = sequence.iter().map(|node| 1 << node.0).sum();
        prop_assert_eq!(tree.time, Nanos(expected));
        if let Some(again) = tree.expand() {
            prop_assert_eq!(again, sequence);
            // Each leaf has the time of its own events.
            tree.visit(&mut |tree| if let Kind::Leaf { node } = tree.kind {
                assert_eq!(tree.time.0, tree.events << node.0);
            });
        }
    }
}

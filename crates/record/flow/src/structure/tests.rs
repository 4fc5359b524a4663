//! Tests of structure trees: known programs, nested loops, guards, shared calls, bounds, the form
//! in JSON. Random sequences must expand to themselves.

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

/// A tree of letters in one line: `3x(AB) [2,2,0,1](C)`.
fn line(tree: &Tree) -> String {
    let texts: Vec<String> = tree.children.iter().map(line).collect();
    let leaves = tree.children.first().is_some_and(Tree::is_leaf);
    let body = texts.join(if leaves { "" } else { " " });
    let text = print(tree, &PrintOptions::default(), letter);
    let first = text.lines().next().unwrap();
    let guard = first.find('[').map_or("", |at| &first[at..]);
    match &tree.kind {
        Kind::Leaf { node } => letter(*node),
        Kind::Loop { .. } => {
            let trips = first.trim_start_matches("+LOOP (").split(')').next().unwrap();
            format!("{guard}{trips}({body})")
        }
        _ if guard.is_empty() => body,
        _ => format!("{guard}({body})"),
    }
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
fn minighost_has_the_tree_of_the_slides() {
    let tree = tree(&testing::minighost());
    insta::assert_snapshot!(print(&tree, &PrintOptions::default(), name), @r"
    +ROOT
      +SEQUENCE
        - MPI_Init
        - Seq 1 (9 in a row)
      +LOOP (60x)
        +SEQUENCE
          - Node A
          - Node B
        +LOOP (6x)
          +SEQUENCE [0,2,2,1|4,5,0,2]
            - Node C
          +SEQUENCE [1,1,0,1]
            - Node C
            - Node E
            - Node D
          +SEQUENCE [3,3,0,1]
            - Node C
            - Node G
            - Node F
        +SEQUENCE
          - Seq 3 (39 in a row)
          - Node H
      +SEQUENCE
        - Seq 2 (29 in a row)
        - MPI_Finalize
    ");
    assert_eq!((tree.events, tree.nodes().len()), (3160, 89));
}

/// Joins the texts of `part` for 0, 1, ...
fn each(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

/// `text` where `on` is true.
fn when(on: bool, text: &str) -> &str {
    if on { text } else { "" }
}

/// The tree of a sequence of letters, which must be exact, in one line.
fn check(sequence: &str, expected: &str) {
    let tree = tree(&testing::letters(sequence));
    assert!(tree.is_exact());
    assert_eq!(line(&tree), expected, "{sequence}");
}

#[test]
fn nested_loops() {
    check("", "");
    check("ABC", "ABC");
    check("AAAA", "4x(A)");
    check(&format!("{}C", "AB".repeat(3)).repeat(4), "4x(3x(AB) C)");
    check(&format!("A{}Z", "RRSSW".repeat(10)), "A 10x(2x(R) 2x(S) W) Z");
    check(&format!("A{}Z", format!("{}W", "RS".repeat(4)).repeat(10)), "A 10x(4x(RS) W) Z");
    check(&each(12, |i| format!("A{}B", "CD".repeat(3 + i % 5))), "12x(A 3-7x(CD) B)");
    check(&format!("{}B{}E", "A".repeat(6), "D".repeat(4)).repeat(5), "5x(6x(A) B 4x(D) E)");
    // The last iteration of an execution ends early.
    let early = each(6, |i| format!("A{}X", "XY".repeat(3 + i % 3)));
    check(&early, "6x(A 4-6x(X [all but the last](Y)))");
    check(&format!("A{}XZ", "XY".repeat(9)), "A 10x(X [0,8,0,9](Y)) Z");
}

#[test]
fn guards() {
    let every = |i: usize, period: usize, text: &'static str| when(i % period == period - 1, text);
    check(&each(60, |i| format!("XY{}", every(i, 10, "O"))), "60x(XY [9,59,10,1](O))");
    let both = each(60, |i| format!("XY{}{}", every(i, 10, "O"), every(i, 20, "P")));
    check(&both, "60x(XY [9,59,10,1](O) [19,59,20,1](P))");
    let inside = each(24, |i| match i % 4 {
        0 => "XPRSQY".to_owned(),
        2 => "XPQY".to_owned(),
        _ => "XY".to_owned(),
    });
    check(&inside, "24x(X [0,22,2,1](P [0,20,4,1](RS) Q) Y)");
    let optional = each(12, |i| format!("{}{}XY", when(i % 2 == 0, "P"), when(i % 3 == 0, "R")));
    check(&optional, "12x([0,10,2,1](P) [0,9,3,1](R) XY)");
    let switch = each(100, |i| format!("XYZ{}", if i < 30 { "A" } else { "B" }));
    check(&switch, "100x(XYZ [0,29,0,30](A) [30,99,0,70](B))");
    let reduce = each(20, |i| format!("RRSSW{}", every(i, 10, "O")));
    check(&format!("A{reduce}Z"), "A 20x(2x(R) 2x(S) W [9,19,10,1](O)) Z");
    let outer = each(6, |i| each(4, |k| format!("X{}", when(k == 1 && i % 2 == 0, "Y"))) + "Z");
    check(&outer, "6x(4x(X [1,17,8,1 of 24 in all](Y)) Z)");
}

#[test]
fn calls_that_several_parts_share() {
    let inner = format!("A{}", "C".repeat(6)).repeat(10);
    check(&format!("{inner}B{}D", "C".repeat(6)), "10x(A 6x(C)) B 6x(C) D");
    let other = format!("D{}", "C".repeat(6)).repeat(4);
    check(&format!("{inner}B{other}E"), "10x(A 6x(C)) B 4x(D 6x(C)) E");
    let last = format!("{}B{}E", "CCCA".repeat(6), "CCCD".repeat(4));
    check(&last, "6x(3x(C) A) B 4x(3x(C) D) E");
    let whole = format!("{}B{}E", "ACCC".repeat(6), "DCCC".repeat(4)).repeat(5);
    check(&whole, "5x(6x(A 3x(C)) B 4x(D 3x(C)) E)");
    check(&format!("BI{}E", "XYB".repeat(20)), "BI 20x(XYB) E");
    check(&format!("BI{}BE", "XY".repeat(20)), "BI 20x(XY) BE");
}

#[test]
fn a_solver_in_time_steps() {
    let exchange = |more| format!("RRRRSSSSVW{more}");
    let sequence = each(100, |i| {
        let solver = each(20 + i * i % 7, |k| exchange(when((i + 3 * k) % 7 % 3 == 1, "U")));
        format!("A{solver}B{}", when(i % 10 == 9, "CDCDE"))
    });
    let expected = "100x(A 20-24x(4x(R) 4x(S) VW \
        [5,13,7,2|19,21,0,3|27,35,7,2|43,58,7,2|... 641 of 2197 in all](U)) \
        B [9,99,10,1](2x(CD) E))";
    check(&sequence, expected);
    // A recording that ends anywhere has the same loops.
    let cut = tree(&testing::letters(&sequence[..sequence.len() - 47]));
    assert!(line(&cut).starts_with("100x(A 17-24x(4x(R) 4x(S) V"), "{}", line(&cut));
}

#[test]
fn irregular_sequences_stay_small() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u32 % 50
    };
    let sequence: Vec<u32> = (0..20_000).map(|_| random()).collect();
    let tree = tree(&testing::ids(&sequence));
    assert!(!tree.is_exact());
    let mut count = 0;
    tree.visit(&mut |_| count += 1);
    assert!(count < 100, "{count}");
    assert_eq!(tree.events, 20_000);
}

#[test]
fn bounds_are_kept() {
    let sequence = testing::letters(&"ABCBCD".repeat(10));
    let limited = |depth, parts, events| {
        let tree = build(sequence.iter().copied(), &Options { depth, parts, events });
        print(&tree, &PrintOptions::default(), letter)
    };
    insta::assert_snapshot!(limited(1, 100, 1000), @r"
    +ROOT
      +LOOP (10x)
        +SEQUENCE
          - A
        +MIXED (40 calls at 2 places, in no simple order)
        +SEQUENCE
          - D
    ");
    insta::assert_snapshot!(limited(9, 100, 12), @r"
    +ROOT
      +LOOP (2x)
        +SEQUENCE
          - A
        +LOOP (2x)
          +SEQUENCE
            - B
            - C
        +SEQUENCE
          - D
      +MIXED (48 calls at 4 places, in no simple order)
    ");
}

#[test]
fn the_form_in_json_is_stable() {
    let tree = tree(&testing::letters("ABBC"));
    insta::assert_json_snapshot!(tree.children[1], @r#"
    {
      "kind": {
        "is": "loop",
        "trips": [
          [
            2,
            1
          ]
        ]
      },
      "executions": 1,
      "events": 2,
      "time": 0,
      "children": [
        {
          "kind": {
            "is": "sequence"
          },
          "executions": 2,
          "events": 2,
          "time": 0,
          "children": [
            {
              "kind": {
                "is": "leaf",
                "node": 1
              },
              "executions": 2,
              "events": 2,
              "time": 0
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn damaged_trees_expand_to_at_most_their_events() {
    let mut tree = tree(&testing::letters("XABABABY"));
    let Kind::Loop { trips } = &mut tree.children[1].kind else { panic!("no loop") };
    *trips = Runs::from_iter([u64::MAX]);
    assert_eq!(tree.expand().unwrap().len(), 8);
    tree.children[1].children.clear();
    assert!(tree.expand().unwrap().len() <= 8);
}

#[test]
fn two_loops_in_a_loop() {
    // Every fifth iteration, or a rarer one, is rather one with output.
    const TRIPS: [usize; 5] = [1, 2, 3, 4, 6];
    let part = |trips: usize, call: &str| match trips {
        1 => call.to_owned(),
        _ => format!("{trips}x({call})"),
    };
    for outer in 2..7 {
        for (first, last) in TRIPS.iter().flat_map(|&n| TRIPS.map(|m| (n, m))) {
            let calls = ["A".repeat(first), "B".repeat(last)].concat().repeat(outer);
            let space = when((first, last) != (1, 1), " ");
            let expected = format!("{outer}x({}{space}{})", part(first, "A"), part(last, "B"));
            assert_eq!(line(&tree(&testing::letters(&calls))), expected);
        }
    }
}

/// A random program: leaves in the order of the text, loops with fixed trip counts, parts that run
/// on iterations `first`, `first + stride`, ... of the enclosing loop.
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
                .prop_map(
                    |(first, stride, body)| Program::If { first, stride, body: Box::new(body) }
                ),
        ]
    })
}

fn execute(program: &Program, iteration: u64, sequence: &mut Vec<NodeId>) {
    match program {
        // Longer sequences test nothing new.
        _ if sequence.len() > 3000 => {}
        Program::Leaf(node) => sequence.push(NodeId(*node)),
        Program::Sequence(parts) => {
            for part in parts {
                execute(part, iteration, sequence);
            }
        }
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

/// The line that the tree of a program without conditions should give.
fn source(program: &Program) -> String {
    match program {
        Program::Leaf(node) => letter(NodeId(*node)),
        Program::Sequence(parts) => {
            let mut text = String::new();
            for part in parts {
                let next = source(part);
                let space =
                    next.starts_with(|first: char| first.is_ascii_digit()) || text.ends_with(')');
                text += when(space && !text.is_empty(), " ");
                text += &next;
            }
            text
        }
        Program::Loop(trips, body) => match &**body {
            // A loop that consists of a loop is one.
            Program::Loop(inner, body) => source(&Program::Loop(trips * inner, body.clone())),
            body => format!("{trips}x({})", source(body)),
        },
        Program::If { body, .. } => source(body),
    }
}

fn loops_only() -> impl Strategy<Value = Program> {
    let leaf = Just(Program::Leaf(0));
    leaf.prop_recursive(4, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Program::Sequence),
            (2_u64..5, inner).prop_map(|(n, body)| Program::Loop(n, Box::new(body))),
        ]
    })
}

fn check_tree(tree: &Tree) {
    if !tree.children.is_empty() {
        assert_eq!(tree.events, tree.children.iter().map(|child| child.events).sum::<u64>());
    }
    tree.children.iter().for_each(check_tree);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

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
    fn loops_stand_as_in_the_source(mut program in loops_only()) {
        rename(&mut program, &mut 0);
        let mut sequence = Vec::new();
        execute(&program, 0, &mut sequence);
        if sequence.len() < 3000 {
            let tree = build(sequence.iter().copied(), &Options::default());
            prop_assert_eq!(line(&tree), source(&program));
        }
    }

    #[test]
    fn any_sequence_gives_a_tree(
        sequence in prop::collection::vec(0_u32..9, 0..120),
        depth in 0_usize..5,
        parts in 0_usize..50,
        events in 1_u32..200
    ) {
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

#[test]
fn iterations_made_of_loops_alone() {
    // Neighbours are computed again in every fourth step; every eighth step ends with output.
    let step = |i: usize| {
        let find = i > 0 && i.is_multiple_of(4);
        let first = if find { "DEDEFGHFGHFGH" } else { "ABCABCABC" };
        format!("{first}IJKIJKIJK{}", when(i % 8 == 7, "TU"))
    };
    // No call is made once a step. Leaving the loop that every step runs begins a new one, also for
    // the last output.
    check(
        &format!("S{}Z", each(40, step)),
        "S 41x([0,3,0,4|5,39,4,3]3x(ABC) [8,40,8,1](TU) [4,36,4,1](2x(DE) 3x(FGH)) [0,39,0,40]3x(IJK)) Z",
    );
}

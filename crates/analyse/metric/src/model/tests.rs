//! References, cycles, trees, and hostile files.

use proptest::prelude::*;

use super::*;

fn definition(name: &str, expression: &str) -> Definition {
    Definition::new(name, Expression::parse(expression).unwrap())
}

fn child(name: &str, expression: &str, parent: &str) -> Definition {
    Definition { parent: Some(parent.to_owned()), ..definition(name, expression) }
}

fn number(name: &str) -> Option<f64> {
    match name {
        "a" => Some(6.0),
        "b" => Some(2.0),
        "zero" => Some(0.0),
        _ => None,
    }
}

#[test]
fn metrics_inside_metrics_wherever_they_stand() {
    let metrics = vec![
        definition("whole", "part * 2 + a"),
        definition("part", "a / b"),
        definition("lacks", "part + c * d"),
        definition("lacks_too", "lacks / lacks"),
        definition("by_zero", "a / (part * zero)"),
        definition("by_zero_too", "by_zero + 1"),
        definition("a", "a * 10"),
    ];
    let model = Model::new("m", metrics, Vec::new());
    let values = model.evaluate(&number);
    let texts: Vec<String> = values
        .iter()
        .map(|value| value.as_ref().map_or_else(ToString::to_string, ToString::to_string))
        .collect();
    // `a` is a metric of the counter `a`: others mean the metric.
    assert_eq!(
        texts,
        [
            "120",
            "30",
            "no c, d",
            "no c, d",
            "division by zero: part * zero is 0",
            "division by zero: part * zero is 0",
            "60"
        ]
    );
    assert!(model.problems.is_empty());
}

#[test]
fn what_is_defined_by_itself_has_no_value() {
    let metrics = vec![
        definition("x", "y + 1"),
        definition("y", "z * 2"),
        definition("z", "x - a"),
        definition("outside", "x + a"),
        definition("fine", "a + b"),
        definition("fine", "a - b"),
    ];
    let model = Model::new("m", metrics, Vec::new());
    let values = model.evaluate(&number);
    assert_eq!(values[0], Err(Absent::Cycle("x > y > z > x".into())));
    assert_eq!(values[3].as_ref().unwrap_err().to_string(), "defined by itself: x > y > z > x");
    assert_eq!(values[4], Ok(8.0));
    let problems: Vec<String> = model.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "`fine` is defined twice, the first counts",
            "`x` is defined by itself: x > y > z > x",
            "`y` is defined by itself: x > y > z > x",
            "`z` is defined by itself: x > y > z > x"
        ]
    );
}

#[test]
fn parts_stand_behind_their_whole() {
    let metrics = vec![
        child("b1", "b", "b"),
        definition("all", "a + b"),
        child("b", "b", "all"),
        child("a", "a", "all"),
        child("b2", "c", "b"),
        child("lost", "a", "nowhere"),
        child("u", "a", "v"),
        child("v", "a", "u"),
    ];
    let model = Model::new("m", metrics, Vec::new());
    let tree: Vec<(&str, usize)> = model
        .tree()
        .into_iter()
        .map(|node| (model.metrics[node.metric].name.as_str(), node.depth))
        .collect();
    assert_eq!(
        tree,
        [("all", 0), ("b", 1), ("b1", 2), ("b2", 2), ("a", 1), ("lost", 0), ("v", 0), ("u", 1)]
    );
    let values = model.evaluate(&number);
    let splits = model.splits(&values);
    let all = splits.iter().find(|split| split.metric == 1).unwrap();
    assert_eq!((all.whole, all.parts, all.rest()), (8.0, 8.0, Some(0.0)));
    assert!(
        splits.iter().all(|split| split.metric != 2),
        "b2 has no value, so that nothing adds up"
    );
}

#[test]
fn thresholds_are_those_of_the_author() {
    let high = Definition {
        threshold: Some(Expression::parse("high > 0.2 & part > 0.1").unwrap()),
        ..definition("high", "0.5 + 0 * a")
    };
    let unknown = Definition {
        threshold: Some(Expression::parse("c > 1").unwrap()),
        ..definition("part", "0.05 + 0 * a")
    };
    let model = Model::new("m", vec![high, unknown], Vec::new());
    let values = model.evaluate(&number);
    assert_eq!(model.exceeded(&values, &number), [Some(false), None]);
}

#[test]
fn long_chains_and_many_metrics_take_neither_stack_nor_time() {
    let many: Vec<Definition> = (0..100_000)
        .map(|i| Definition {
            parent: Some(format!("m{}", i + 1)),
            ..definition(&format!("m{i}"), &format!("m{} + a", i + 1))
        })
        .chain([definition("m100000", "b")])
        .collect();
    let model = Model::new("m", many, Vec::new());
    let values = model.evaluate(&number);
    assert_eq!(values[0], Ok(600_002.0));
    assert_eq!(model.tree().last().unwrap().depth, 100_000);
    let round: Vec<Definition> = (0..100_000)
        .map(|i| definition(&format!("m{i}"), &format!("m{}", (i + 1) % 100_000)))
        .collect();
    let model = Model::new("m", round, Vec::new());
    assert_eq!(model.problems.len(), 100_000);
    assert_eq!(
        model.problems[0].what,
        "`m0` is defined by itself: m0 > m1 > m2 > m3 > 99996 more > m0"
    );
    assert!(model.evaluate(&number).iter().all(Result::is_err));
    let back: Vec<Definition> = (0..100_000)
        .map(|i| definition(&format!("m{i}"), &format!("m{} + m0", (i + 1).min(99_999))))
        .collect();
    let model = Model::new("m", back, Vec::new());
    assert_eq!(model.problems.len(), 100_000);
}

proptest! {
    #[test]
    fn any_references_have_an_order(
        edges in prop::collection::vec(prop::collection::vec(0_usize..20, 0..4), 1..20)
    ) {
        let metrics: Vec<Definition> = edges.iter().zip(0..).map(|(to, from)| {
            let text = to.iter().fold("1".to_owned(), |text, other| format!("{text} + m{other}"));
            let parent = to.first().map(|other| format!("m{other}"));
            Definition { parent, ..definition(&format!("m{from}"), &text) }
        }).collect();
        let model = Model::new("m", metrics, Vec::new());
        let values = model.evaluate(&|_| None);
        // A metric has a value exactly if all metrics that it leads to are defined and it meets no
        // cycle.
        for (from, value) in values.iter().enumerate() {
            let sound = (0..edges.len()).try_fold(vec![from], |level: Vec<usize>, _| {
                let next: Vec<usize> = level.iter().flat_map(
                    |&at| edges[at].iter().copied().filter(move |&to| to != at)
                ).collect();
                let own = level.iter().any(|&at| edges[at].contains(&at));
                let mut next: Vec<usize> = next;
                next.sort_unstable();
                next.dedup();
                (!own && next.iter().all(|&to| to < edges.len())).then_some(next)
            });
            prop_assert_eq!(
                value.is_ok(),
                sound.is_some_and(|last| last.is_empty()),
                "{}: {:?}",
                from,
                value
            );
        }
        prop_assert_eq!(model.tree().len(), edges.len());
    }
}

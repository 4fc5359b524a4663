//! Gaps of many nodes and of many words: none is lost, and their order of arrival changes nothing.

use talea_model::shares::{Batch, UNEXPLAINED};
use talea_model::{Gap, GapKind, Gaps, Nanos};

use super::made::{START, batch};
use super::{options, store, whole};
use crate::sqlite::DAY;
use crate::{Dimension, Proportion, Question, Store as _, Visible, public};

fn lacks(node: &str, number: u64, words: impl IntoIterator<Item = (String, u64)>) -> Batch {
    let mut batch = batch(node, 0, number);
    for (detail, count) in words {
        batch.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
    }
    batch
}

/// What is told, in any order of arrival.
fn told(batches: &[Batch], visible: Visible) -> Gaps {
    let of = |batches: &[Batch]| {
        let (_folder, mut store) = store(&options(0));
        store.put_all(batches).unwrap();
        store.usage(&whole(visible)).unwrap().gaps
    };
    let mut backwards = batches.to_vec();
    backwards.reverse();
    let gaps = of(batches);
    assert_eq!(of(&backwards), gaps);
    gaps
}

fn lines(gaps: &Gaps) -> Vec<String> {
    gaps.iter().map(|gap| format!("{} ({})", gap.detail, gap.count)).collect()
}

#[test]
fn those_of_many_nodes_are_told_together() {
    let words = || ["a", "b"].map(|word| (word.to_owned(), 2));
    let of = |nodes: u64| -> Vec<Batch> {
        let mut all: Vec<Batch> = (0..nodes).map(|n| lacks(&format!("n{n}"), 0, words())).collect();
        all.push(lacks("other", 0, [("c".to_owned(), 7)]));
        all
    };
    let few = told(&of(2), Visible::All);
    assert_eq!(
        lines(&few),
        [
            "node n0: a (2)",
            "node n0: b (2)",
            "node n1: a (2)",
            "node n1: b (2)",
            "node other: c (7)"
        ]
    );
    let many = told(&of(150), Visible::All);
    assert_eq!(lines(&many), ["150 nodes: a (300)", "150 nodes: b (300)", "node other: c (7)"]);
    let own = told(&of(250), Visible::User(1000));
    assert_eq!(lines(&own), ["251 nodes: agents reported losses; operators see which (0)"]);
}

#[test]
fn of_too_many_words_those_that_count_most_are_told() {
    // Of 300 different gaps, 100 do not fit; they count 1 to 100.
    let batches: Vec<Batch> = (0..10)
        .map(|n| {
            let words = (0..30).map(|m| (format!("w{n:02}{m:02}"), n * 30 + m + 1));
            lacks(&format!("n{n}"), n, words)
        })
        .collect();
    let gaps = told(&batches, Visible::All);
    let lines = lines(&gaps);
    assert_eq!(lines.len(), 201);
    assert!(lines.contains(&"node n9: w0929 (300)".to_owned()));
    let further = lines.iter().find(|line| line.starts_with("100 further gaps")).unwrap();
    assert!(further.ends_with("(5050)"), "{further}");
}

#[test]
fn further_gaps_are_as_many_when_times_become_coarser() {
    let (_folder, mut store) = store(&options(0));
    for number in 0..3 {
        let words = (0..40).map(|m| (format!("w{number}{m:02}"), 1));
        store.put(&lacks("n", number, words)).unwrap();
    }
    let further = |store: &dyn crate::Store| -> u64 {
        let gaps = store.usage(&whole(Visible::All)).unwrap().gaps;
        let of = gaps.iter().filter(|gap| gap.detail.contains("counted only"));
        of.map(|gap| gap.count).sum()
    };
    assert_eq!(further(&store), 3 * 8);
    store.retain(Nanos(START + 3 * DAY.0), usize::MAX).unwrap();
    let kept = store.usage(&whole(Visible::All)).unwrap().gaps.iter().count() as u64;
    assert_eq!(further(&store) + kept - 1, 3 * 40);
}

/// Missing samples of unknown activity may be of any row: intervals of shares cover both ends, in
/// every store and in JSON.
#[test]
fn unexplained_missing_samples_widen_the_intervals_of_shares() {
    let question = Question { by: vec![Dimension::Activity], ..whole(Visible::All) };
    let (plain, low, high) = (
        Proportion::new(10, 20).unwrap(),
        Proportion::new(10, 30).unwrap().low,
        Proportion::new(20, 30).unwrap().high,
    );
    let wide = Proportion { low, high, ..plain };
    for (detail, expected) in [("samples are missing", plain), (UNEXPLAINED, wide)] {
        let (_folder, mut store) = store(&options(0));
        let mut recent = crate::Recent::new(Nanos(DAY.0));
        // The counts of both batches add up.
        for (number, count) in [(0, 4), (1, 6)] {
            let mut batch = lacks("n1", number, [(detail.to_owned(), count)]);
            batch.shares.iter_mut().for_each(|share| share.samples = 5);
            store.put(&batch).unwrap();
            recent.push(batch).unwrap();
        }
        for answer in [store.usage(&question).unwrap(), recent.usage(&question).unwrap()] {
            for row in &answer.rows {
                assert_eq!((row.of_all, row.of_matched), (Some(expected), Some(expected)));
            }
            let rows = public::named(&answer, &mut |_, _| String::new());
            let usage = public::usage("", &answer, &rows);
            let interval = (usage.rows[0].low, usage.rows[0].high);
            assert_eq!(interval, (Some(expected.low), Some(expected.high)));
        }
    }
}

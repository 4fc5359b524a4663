//! Batches that cannot all be true, and what operators remove.

use proptest::prelude::*;
use talea_model::shares::Batch;
use talea_model::{Gaps, Nanos};

use super::made::{SECOND, START, batch};
use super::{store, whole};
use crate::sqlite::{DAY, Forget, HOUR, Options, Sqlite};
use crate::{Dimension, Put, Question, Store, StoreError, Text, Visible};

const MINUTE: u64 = 60 * SECOND;

fn strict() -> Options {
    Options { slice: Nanos(MINUTE), strict: true, ..super::options(0) }
}

/// Ten seconds from so many after the begin.
fn at(node: &str, started: u64, number: u64, seconds: u64) -> Batch {
    let mut batch = batch(node, started, number);
    batch.begin = Nanos(START + seconds * SECOND);
    batch.end = batch.begin + Nanos(10 * SECOND);
    batch
}

fn samples(store: &dyn Store) -> u64 {
    store.usage(&whole(Visible::All)).unwrap().totals.samples
}

fn refused(store: &mut Sqlite, batch: &Batch) -> String {
    let error = store.put(batch).unwrap_err();
    assert!(matches!(error, StoreError::Batch { .. }), "{error}");
    error.to_string()
}

#[test]
fn a_time_of_a_node_counts_once_whatever_starts_claim_it() {
    let (_folder, mut store) = store(&strict());
    store.put(&at("n1", 1, 0, 0)).unwrap();
    for started in 2..5 {
        let why = refused(&mut store, &at("n1", started, 0, 0));
        assert!(why.contains("10.0 s of its 10.0 s have a batch of this node already"), "{why}");
    }
    // Nor do many numbers of one start.
    refused(&mut store, &at("n1", 1, 1, 5));
    assert_eq!(samples(&store), 20);
    // What overlaps by no more than a tenth is chance; other nodes and times are other ones; one
    // that comes again is not refused.
    store.put(&at("n1", 1, 2, 10)).unwrap();
    store.put(&at("n1", 1, 3, 19)).unwrap();
    store.put(&at("n2", 1, 0, 0)).unwrap();
    assert_eq!(store.put(&at("n1", 1, 0, 0)).unwrap(), Put::Already);
    assert_eq!(samples(&store), 80);
    // What was refused left nothing behind: its number is free.
    store.put(&at("n1", 2, 0, 40)).unwrap();
}

#[test]
fn a_slice_has_no_more_than_its_cores_can_do() {
    let (_folder, mut store) = store(&strict());
    // Each by itself may have as much, as the first of an agent takes what was sampled before it.
    let short = |number: u64| {
        let mut batch = at("n1", 1, number, 0);
        batch.begin = Nanos(START + number * SECOND / 100);
        batch.end = batch.begin + Nanos(SECOND / 100);
        batch.rates.clear();
        batch.spreads.clear();
        batch.shares.iter_mut().for_each(|share| share.samples = 6);
        crate::plausible(&batch).unwrap();
        batch
    };
    let taken = (0..1000).take_while(|&number| store.put(&short(number)).is_ok()).count() as u64;
    // 2 * 2 cores of twice a minute, half as much again, and some seconds.
    let most = 4 * (180 + 2 + 4);
    assert!(taken * 12 <= most && (taken + 1) * 12 > most, "{taken}");
    let why = refused(&mut store, &short(taken));
    assert!(why.contains("with the batches before it"), "{why}");
}

#[test]
fn who_believes_nodes_takes_all() {
    let (_folder, mut store) = store(&super::options(0));
    for started in 0..3 {
        store.put(&at("n1", started, 0, 0)).unwrap();
    }
    assert_eq!(samples(&store), 60);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The same times are taken in any order, and no time twice.
    #[test]
    fn order_does_not_matter_to_what_follows_each_other(
        order in Just((0_u64..20).collect::<Vec<_>>()).prop_shuffle(),
        twice in 0_u64..19,
    ) {
        let (_folder, mut store) = store(&strict());
        for &number in &order {
            store.put(&at("n1", 1, number, number * 10)).unwrap();
        }
        prop_assert!(store.put(&at("n1", 2, 0, twice * 10 + 5)).is_err());
        prop_assert_eq!(samples(&store), 400);
    }
}

fn forget(node: &str, from: u64, until: u64) -> Forget {
    let (from, until) = (Nanos(from), Nanos(until));
    Forget { node: node.to_owned(), from, until, now: Nanos(START), user: 7, dry: false }
}

fn everything(store: &Sqlite) -> Vec<String> {
    let all = whole(Visible::All);
    let asked = [
        vec![Dimension::Node, Dimension::Job],
        vec![Dimension::Node, Dimension::Core],
        vec![Dimension::Function],
    ];
    let mut said: Vec<String> = asked
        .map(|by| {
            let mut answer = store.usage(&Question { by, ..all.clone() }).unwrap();
            answer.gaps = Gaps::default();
            format!("{answer:?}")
        })
        .to_vec();
    let hours = store
        .series(&Question { from: Nanos(START), to: Nanos(START + DAY.0), ..all.clone() }, HOUR)
        .unwrap();
    said.push(format!("{:?}", hours.points));
    said.push(format!("{:?}", store.jobs(&all).unwrap()));
    said.push(format!("{:?}", store.nodes(Visible::All).unwrap()));
    let of_job = Question { job: Some(Text::Is("4711".to_owned())), ..all.clone() };
    said.push(format!("{:?}", store.rates(&of_job).unwrap().rows));
    said.push(format!("{:?}", store.spreads(&of_job).unwrap()));
    said
}

/// Two nodes in the first three hours, ten seconds of each ten minutes.
fn filled(store: &mut Sqlite, is_left: impl Fn(&str, u64) -> bool) {
    for node in ["n1", "n2"] {
        for number in (0..18).filter(|&number| is_left(node, number)) {
            store.put(&at(node, 1, number, number * 600)).unwrap();
        }
    }
}

#[test]
fn what_is_forgotten_is_as_if_it_had_never_come() {
    // Before anything is summed, when hours are, when fine slices are gone, when hours are.
    for hours in [0, 4, 40, 24 * 4] {
        let ages = |store: &mut Sqlite| {
            store.retain(Nanos(START + hours * HOUR.0), usize::MAX).unwrap();
        };
        let (_folder, mut with) = store(&strict());
        filled(&mut with, |_, _| true);
        ages(&mut with);
        let found = with.forget(&forget("n1", START + HOUR.0 + 1200 * SECOND, START + 2 * HOUR.0));
        let found = found.unwrap();
        // Slices are gone, so that only whole ones can go: 4 of ten minutes, an hour, or a day.
        let expected = match hours {
            0 | 4 => (4, 80),
            40 => (1, 120),
            _ => (1, 360),
        };
        assert_eq!((found.slices, found.samples), expected, "{hours}");
        let (_other, mut without) = store(&strict());
        let is_left = |node: &str, number: u64| {
            let gone = match hours {
                0 | 4 => 8..12,
                40 => 6..12,
                _ => 0..18,
            };
            node != "n1" || !gone.contains(&number)
        };
        filled(&mut without, is_left);
        ages(&mut with);
        ages(&mut without);
        assert_eq!(everything(&with), everything(&without), "{hours}");
        // And what is left ages as ever.
        for store in [&mut with, &mut without] {
            store.retain(Nanos(START + 10 * DAY.0), usize::MAX).unwrap();
        }
        assert_eq!(everything(&with), everything(&without), "{hours}");
    }
}

#[test]
fn what_was_forgotten_is_written_down_and_told() {
    let (folder, mut store) = store(&strict());
    filled(&mut store, |_, _| true);
    let dry = Forget { dry: true, ..forget("n1", 0, u64::MAX) };
    let would = store.forget(&dry).unwrap();
    assert_eq!((would.slices, would.samples), (18, 360));
    assert!(store.forgotten().unwrap().is_empty());
    assert_eq!(samples(&store), 720);
    assert_eq!(store.forget(&forget("n1", 0, u64::MAX)).unwrap(), would);
    assert_eq!(store.forgotten().unwrap(), [would]);
    let answer = store.usage(&whole(Visible::All)).unwrap();
    assert_eq!(answer.totals.samples, 360);
    let told: Vec<_> = answer.gaps.iter().map(|gap| (&*gap.detail, gap.count)).collect();
    assert_eq!(told, [("node n1: samples of this time were removed by `talea store forget`", 360)]);
    // Users learn nothing of it, nor does who asks for other nodes or times.
    let quiet = [
        whole(Visible::User(1000)),
        Question { node: Some(Text::Is("n2".to_owned())), ..whole(Visible::All) },
        Question { from: Nanos(START + DAY.0), ..whole(Visible::All) },
    ];
    for asked in quiet {
        assert!(store.usage(&asked).unwrap().gaps.is_empty(), "{asked:?}");
    }
    // A node that is gone as a whole begins anew.
    assert_eq!(store.nodes(Visible::All).unwrap().len(), 1);
    assert_eq!(store.put(&at("n1", 1, 0, 0)).unwrap(), Put::New);
    for wrong in [forget("n3", 0, 1), forget("n1", 1, 1)] {
        assert!(matches!(store.forget(&wrong), Err(StoreError::Question { .. })));
    }
    // Readers of the file know it too.
    let reader = Sqlite::open_to_read(&folder.path().join("t.db"), &strict()).unwrap();
    assert_eq!(reader.forgotten().unwrap().len(), 1);
}

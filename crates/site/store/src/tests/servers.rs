//! Real servers against the oracle: the same batches and questions as the file of `SQLite`, moved
//! to times that servers take.

use std::collections::BTreeSet;
use std::fmt::Debug;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use talea_model::shares::{Batch, BatchId};
use talea_model::{GapKind, Gaps, Nanos};

use crate::oracle::Oracle;
use crate::prometheus::{Options, Prometheus};
use crate::sqlite::{DAY, HOUR};
use crate::tests::made::{START, batch, batches, question};
use crate::tests::server::{Engine, Server, eventually, servers, start, this_hour};
use crate::{Dimension, Put, Question, Store, StoreError, Visible};

const MILLI: u64 = 1_000_000;

fn store(server: &Server) -> Prometheus {
    let options = Options { addresses: 1000, ..Options::default() };
    Prometheus::at(&server.address(), &options).unwrap()
}

/// A week ago, where the times of made batches begin.
fn moved(at: Nanos) -> Nanos {
    Nanos(at.0 - START + this_hour() - 7 * DAY.0)
}

/// As agents make them: whole milliseconds (which is what such servers keep), an id and a begin
/// once.
fn placed(batches: Vec<Batch>) -> Vec<Batch> {
    let (mut ids, mut begins) = (BTreeSet::<BatchId>::new(), BTreeSet::new());
    let mut placed = Vec::new();
    for mut batch in batches {
        let begin = moved(batch.begin).0 / MILLI;
        let end = (moved(batch.end).0 / MILLI).max(begin + 1);
        (batch.begin, batch.end) = (Nanos(begin * MILLI), Nanos(end * MILLI));
        if ids.insert(batch.id.clone()) && begins.insert((batch.id.node.clone(), begin)) {
            placed.push(batch);
        }
    }
    placed
}

fn oracle(batches: &[Batch]) -> Oracle {
    let options = crate::sqlite::Options { slice: Nanos(0), ..crate::sqlite::Options::default() };
    let mut oracle = Oracle::new(options);
    oracle.put_all(batches).unwrap();
    oracle
}

fn same<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: found {found:#?}, expected {expected:#?}"))
}

/// The gaps are those expected; where losses are kept more coarsely, at least those.
fn gaps_agree(found: &Gaps, expected: &Gaps, is_exact: bool) -> Result<(), String> {
    if is_exact {
        return same("gaps", found, expected);
    }
    let more = expected.iter().find(|gap| {
        !found.iter().any(|found| {
            found.kind == gap.kind && found.detail == gap.detail && found.count >= gap.count
        })
    });
    more.map_or(Ok(()), |gap| Err(format!("gap is not told: {gap:?}")))
}

fn agree(
    store: &dyn Store,
    batches: &[Batch],
    asked: &Question,
    step: Nanos,
) -> Result<(), String> {
    let core = asked.core.is_some() || asked.by.contains(&Dimension::Core);
    let is_apart = core && asked.by.contains(&Dimension::Function);
    let mut kept = batches.to_vec();
    if is_apart {
        kept.iter_mut().flat_map(|b| &mut b.shares).for_each(|share| share.address = None);
    }
    let oracle = oracle(&kept);
    let is_exact = !is_apart
        && (asked.visible != Visible::All
            || (asked.job.is_none()
                && asked.user.is_none()
                && asked.executable.is_none()
                && asked.library.is_none()));
    let (mut found, mut expected) = (store.usage(asked).unwrap(), oracle.usage(asked).unwrap());
    gaps_agree(&found.gaps, &expected.gaps, is_exact)?;
    (found.gaps, expected.gaps) = (Gaps::default(), Gaps::default());
    same("usage", &found, &expected)?;
    let mut found = store.series(asked, step).unwrap();
    let mut expected = oracle.series(asked, step).unwrap();
    gaps_agree(&found.gaps, &expected.gaps, is_exact)?;
    (found.gaps, expected.gaps) = (Gaps::default(), Gaps::default());
    // Of a user the longest batch of a node that had work of this user, whenever.
    if asked.visible != Visible::All && found.widest > expected.widest {
        found.widest = expected.widest;
    }
    same("series", &found, &expected)?;
    let mut expected = oracle.nodes(asked.visible).unwrap();
    for node in &mut expected {
        node.interval = None;
    }
    same("nodes", &store.nodes(asked.visible).unwrap(), &expected)?;
    let (mut found, expected) = (store.jobs(asked).unwrap(), oracle.jobs(asked).unwrap());
    if crate::prometheus::filters_rows(asked) {
        // Times are the whole job's then.
        for (found, expected) in found.iter_mut().zip(&expected) {
            if found.first > expected.first || found.last < expected.last {
                return Err(format!("times of a job: {found:?}, {expected:?}"));
            }
            (found.first, found.last) = (expected.first, expected.last);
        }
    }
    same("jobs", &found, &expected)
}

#[test]
fn as_the_oracle() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    let mut runner = TestRunner::deterministic();
    let made = (
        proptest::collection::vec(batches(), 4),
        proptest::collection::vec(question(), 24),
        proptest::sample::select(vec![HOUR.0, HOUR.0 / 4, DAY.0, 4_217_001 * MILLI]),
    );
    for case in 0..cases {
        let (made, asked, step) = made.new_tree(&mut runner).unwrap().current();
        let mut batches = placed(made.concat());
        for server in servers() {
            let mut store = store(&server);
            store.put_all(&batches).unwrap();
            // Again and in another order, by a sender that remembers nothing.
            batches.reverse();
            let mut other = self::store(&server);
            other.put_all(&batches).unwrap();
            for asked in &asked {
                let mut asked = asked.clone();
                (asked.from, asked.to) = (moved(asked.from), moved(asked.to));
                eventually(|| {
                    agree(&other, &batches, &asked, Nanos(step)).map_err(|why| {
                        format!("case {case}, {:?}: {asked:#?}: {why}", server.engine())
                    })
                });
            }
            let put = other.put_all(&batches).unwrap();
            assert!(put.iter().all(|&put| put == Put::Already));
        }
    }
}

/// The n-th batch of ten seconds, two hours ago.
fn recent(node: &str, number: u64) -> Batch {
    let mut batch = batch(node, 7, number);
    let moved = |at: Nanos| Nanos(at.0 - START + this_hour() - 2 * HOUR.0);
    (batch.begin, batch.end) = (moved(batch.begin), moved(batch.end));
    batch
}

fn samples(store: &dyn Store) -> u64 {
    let everything = Question::everything(Visible::All, Nanos(0), Nanos(i64::MAX as u64));
    store.usage(&everything).unwrap().totals.samples
}

#[test]
fn a_server_that_is_killed_loses_and_doubles_nothing() {
    for engine in [Engine::Prometheus, Engine::Victoria] {
        let Some(mut server) = start(engine) else { continue };
        let mut store = store(&server);
        for number in 0..40 {
            let batch = recent("n", number);
            if number == 10 || number == 25 {
                server.kill();
                assert!(matches!(store.put(&batch), Err(StoreError::Server { .. })));
                assert!(
                    store.usage(&Question::everything(Visible::All, Nanos(0), Nanos(1))).is_err()
                );
                server.again("-dedup.minScrapeInterval=1ms");
            }
            store.put(&batch).unwrap();
        }
        eventually(|| same(&format!("{engine:?}: samples"), &samples(&store), &800));
    }
}

#[test]
fn a_server_that_would_count_twice_is_refused() {
    let Some(mut server) = start(Engine::Victoria) else { return };
    server.kill();
    server.again("-dedup.minScrapeInterval=0s");
    let error = store(&server).put(&recent("n", 0)).unwrap_err();
    let said = error.to_string().replace(&server.address(), "ADDRESS");
    insta::assert_snapshot!(said);
}

#[test]
fn what_is_too_late_is_an_error_once() {
    let Some(server) = start(Engine::Prometheus) else { return };
    let mut store = store(&server);
    assert_eq!(store.put(&recent("n", 1)).unwrap(), Put::New);
    // Beyond what the server takes.
    let mut late = recent("n", 0);
    late.begin = Nanos(late.begin.0 - 100 * DAY.0);
    late.end = Nanos(late.end.0 - 100 * DAY.0);
    let error = store.put_all(&[late.clone(), recent("n", 2)]).unwrap_err();
    assert!(matches!(error, StoreError::Batch { number: 0, .. }), "{error}");
    // Nothing comes round for ever.
    assert_eq!(store.put_all(&[late, recent("n", 2)]).unwrap(), [Put::Already; 2]);
    assert_eq!(samples(&store), 40);
    let everything = Question::everything(Visible::All, Nanos(0), Nanos(i64::MAX as u64));
    // Its agent tells with the next batch: the store's word would be a second one.
    let gaps = store.usage(&everything).unwrap().gaps;
    assert!(gaps.iter().all(|gap| gap.kind != GapKind::Missing), "{gaps:?}");
}

#[test]
fn few_series_of_cores_and_addresses() {
    let Some(server) = start(Engine::Prometheus) else { return };
    let options = Options { cores: 1, addresses: 1, ..Options::default() };
    let mut store = Prometheus::at(&server.address(), &options).unwrap();
    let mut batch = recent("n", 0);
    batch.shares[0].samples = 30;
    batch.shares[1].address = Some(7);
    store.put(&batch).unwrap();
    let everything = Question::everything(Visible::All, Nanos(0), Nanos(i64::MAX as u64));
    for by in [Dimension::Core, Dimension::Function] {
        let answer = store.usage(&Question { by: vec![by], ..everything.clone() }).unwrap();
        let samples: Vec<u64> = answer.rows.iter().map(|row| row.samples).collect();
        assert_eq!(samples, [30, 10]);
        let told: Vec<u64> = answer.gaps.iter().map(|gap| gap.count).collect();
        assert_eq!(told, [10, 10], "{:?}", answer.gaps);
    }
}

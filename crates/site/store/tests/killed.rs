//! Processes that write are killed at random moments: what they said to have kept is there, once.
//!
//! The child is this test's own binary, told by its environment what to do. Moments are chosen by
//! how much it has said, plus a while of work of our own, never by the clock alone; each test ends
//! when its rounds are done.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use talea_model::shares::{Activity, Batch, BatchId, Sampler, Share};
use talea_model::{Bytes, Nanos};
use talea_store::spool::Spool;
use talea_store::sqlite::{Options, Sqlite};
use talea_store::{Put, Question, Store, Visible};

const ROUNDS: u64 = 12;
const WHAT: &str = "TALEA_STORE_TEST_CHILD";
const PLACE: &str = "TALEA_STORE_TEST_PLACE";
const FIRST: &str = "TALEA_STORE_TEST_FIRST";
const BOUND: Bytes = Bytes(4 << 20);

fn batch(number: u64) -> Batch {
    let share = |core| Share {
        core,
        activity: Activity::User,
        job: None,
        user: Some(1),
        executable: None,
        library: None,
        address: Some(number % 13),
        phase: None,
        samples: 1,
    };
    Batch {
        begin: Nanos(number * 1_000_000_000),
        end: Nanos((number + 1) * 1_000_000_000),
        period: Nanos(1_000_000_000),
        cores: 20,
        sampler: Sampler::Rings,
        shares: (0..20).map(share).collect(),
        ..Batch::empty(BatchId { node: "n".to_owned(), started: 1, number })
    }
}

/// What a child does until it is killed: keep batches, say which.
fn child(what: &str) {
    let place = std::env::var_os(PLACE).unwrap();
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let mut out = std::io::stdout();
    let mut said =
        |text: String| out.write_all(text.as_bytes()).and_then(|()| out.flush()).unwrap();
    // The test runner has begun a line.
    said("\n".to_owned());
    if what == "store" {
        let mut store = Sqlite::open(Path::new(&place), &Options::default()).unwrap();
        for from in (first..).step_by(3) {
            // The one before goes again, as after an answer that was lost.
            let batches: Vec<Batch> = (from.saturating_sub(1)..from + 3).map(batch).collect();
            store.put_all(&batches).unwrap();
            said(format!("kept {}\n", from + 2));
            if from % 30 == 0 {
                store.retain(Nanos(from * 1_000_000_000 + 8 * 86_400_000_000_000), 2).unwrap();
            }
        }
    }
    let mut spool = Spool::open(Path::new(&place), BOUND).unwrap();
    for number in first.. {
        spool.append(&batch(number)).unwrap();
        said(format!("kept {number}\n"));
        if number % 3 == 0 {
            let oldest = spool.oldest().unwrap().unwrap().id;
            // Before it is acknowledged: afterwards it may be gone without having been said.
            said(format!("done {}\n", oldest.number));
            spool.acknowledge(&oldest).unwrap();
        }
    }
}

/// Runs a child, kills it, and gives back the numbers that it said to have kept and to be done
/// with.
fn killed(
    test: &str,
    what: &str,
    place: &Path,
    first: u64,
    lines: u64,
) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(WHAT, what)
        .env(PLACE, place)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (mut kept, mut done) = (BTreeSet::new(), BTreeSet::new());
    let mut line = String::new();
    let mut read = 0;
    // To the end: what it managed to say after the kill was decided counts too.
    while out.read_line(&mut line).unwrap() > 0 {
        let number = |of: &str| line.trim().strip_prefix(of).and_then(|n| n.parse::<u64>().ok());
        kept.extend(number("kept "));
        done.extend(number("done "));
        read += 1;
        if read == lines {
            // Somewhere inside what it does next.
            std::thread::sleep(Duration::from_micros(lines * 7919 % 3000));
            child.kill().unwrap();
        }
        line.clear();
    }
    child.wait().unwrap();
    assert!(read >= lines, "the child ended by itself after {read} lines");
    (kept, done)
}

#[test]
fn a_store_loses_nothing_and_doubles_nothing() {
    if let Ok(what) = std::env::var(WHAT) {
        return child(&what);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let mut first = 0;
    for round in 0..ROUNDS {
        let test = "a_store_loses_nothing_and_doubles_nothing";
        let (kept, _) = killed(test, "store", &path, first, 6 + round * 5);
        let said = kept.last().copied().unwrap();
        let mut store = Sqlite::open(&path, &Options::default()).unwrap();
        let everything = Question::everything(Visible::All, Nanos(0), Nanos(u64::MAX));
        let samples = |store: &Sqlite| store.usage(&everything).unwrap().totals.samples;
        let before = samples(&store);
        // Whole batches of whole transactions, and every one that was said.
        assert_eq!(before % 20, 0);
        assert!(before >= (said + 1) * 20, "{before} samples, but {said} was acknowledged");
        let there = before / 20;
        for number in 0..there {
            assert_eq!(store.put(&batch(number)).unwrap(), Put::Already);
        }
        assert_eq!(store.put(&batch(there)).unwrap(), Put::New);
        assert_eq!(samples(&store), before + 20);
        first = there + 1;
    }
}

#[test]
fn a_spool_loses_nothing_and_keeps_the_order() {
    if let Ok(what) = std::env::var(WHAT) {
        return child(&what);
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut kept, mut done, mut first) = (BTreeSet::new(), BTreeSet::new(), 0);
    for round in 0..ROUNDS {
        let test = "a_spool_loses_nothing_and_keeps_the_order";
        let said = killed(test, "spool", folder.path(), first, 5 + round * 7);
        kept.extend(said.0);
        done.extend(said.1);
        // One more may be there than was said.
        first = kept.last().unwrap() + 2;
    }
    let mut spool = Spool::open(folder.path(), BOUND).unwrap();
    let mut left = Vec::new();
    while let Some(batch) = spool.oldest().unwrap() {
        spool.acknowledge(&batch.id).unwrap();
        left.push(batch.id.number);
    }
    assert!(left.is_sorted_by(|a, b| a < b), "{left:?}");
    let left: BTreeSet<u64> = left.into_iter().collect();
    let lost: Vec<_> = kept.iter().filter(|n| !left.contains(n) && !done.contains(n)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

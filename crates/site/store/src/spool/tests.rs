//! The queue against a list in memory, with processes that die and bytes that rot.

use std::fs;

use proptest::prelude::*;
use talea_model::shares::{Batch, BatchId};
use talea_model::{Bytes, Gaps};
use talea_run::container::Tag;
use talea_run::journal::Writer;
use tempfile::TempDir;

use super::*;
use crate::tests::made::batch;

fn spool() -> (TempDir, Spool) {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::open(folder.path(), LEAST).unwrap();
    (folder, spool)
}

/// A batch that does not pack well, of so many hundred bytes.
fn long(number: u64, hundreds: u64) -> Batch {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        format!("{state:016x}")
    };
    // Each shorter than names may be: what is cut is a gap, and those are counted here.
    let phases = (0..hundreds).map(|_| (0..12).map(|_| word()).collect()).collect();
    Batch { phases, ..batch("n", 1, number) }
}

fn ids(spool: &mut Spool) -> Vec<u64> {
    let mut ids = Vec::new();
    while let Some(batch) = spool.oldest().unwrap() {
        ids.push(batch.id.number);
        assert!(spool.acknowledge(&batch.id).unwrap());
    }
    ids
}

fn told(gaps: &Gaps, kind: GapKind) -> u64 {
    gaps.iter().filter(|gap| gap.kind == kind).map(|gap| gap.count).sum()
}

#[derive(Clone, Debug)]
enum Step {
    Append(u64),
    /// What waits longest, as senders do, or any.
    Acknowledge(Option<prop::sample::Index>),
    /// Closes and opens again: nothing is written when it is closed, so that this is what `kill -9`
    /// leaves.
    Die,
    /// The same with a block cut off in the newest file.
    DieWriting(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0_u64..120).prop_map(Step::Append),
        2 => any::<Option<prop::sample::Index>>().prop_map(Step::Acknowledge),
        1 => Just(Step::Die),
        1 => (1_u64..60).prop_map(Step::DieWriting),
    ]
}

fn newest(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "spool")).max()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn order_is_kept_and_every_loss_is_told(steps in prop::collection::vec(step(), 1..60)) {
        let (folder, mut spool) = spool();
        let mut number = 0;
        let mut waiting: Vec<u64> = Vec::new();
        for step in steps {
            match step {
                Step::Append(hundreds) => {
                    spool.append(&long(number, hundreds)).unwrap();
                    waiting.push(number);
                    number += 1;
                    // Only the oldest may go.
                    waiting.drain(..waiting.len() - spool.waiting());
                    prop_assert!(spool.bytes().0 <= LEAST.0);
                }
                Step::Acknowledge(place) if !waiting.is_empty() => {
                    let id = waiting.remove(place.map_or(0, |place| place.index(waiting.len())));
                    let id = BatchId { node: "n".to_owned(), started: 1, number: id };
                    prop_assert!(spool.acknowledge(&id).unwrap());
                    prop_assert!(!spool.acknowledge(&id).unwrap());
                }
                Step::Acknowledge(_) => {}
                Step::Die => {
                    drop(spool);
                    spool = Spool::open(folder.path(), LEAST).unwrap();
                }
                Step::DieWriting(bytes) => {
                    drop(spool);
                    if let Some(path) = newest(folder.path()) {
                        let mut whole = fs::read(&path).unwrap();
                        whole.extend(
                            b"\x1aBK\nBTCHxxxxxxxxxxxxxxxx".iter().cycle().take(bytes as usize)
                        );
                        fs::write(&path, whole).unwrap();
                    }
                    spool = Spool::open(folder.path(), LEAST).unwrap();
                }
            }
            prop_assert_eq!(spool.waiting(), waiting.len());
        }
        prop_assert_eq!(ids(&mut spool), waiting);
        prop_assert_eq!(spool.bytes().0, 0);
        prop_assert_eq!(newest(folder.path()), None);
    }

    #[test]
    fn dropped_and_told_are_the_same(
        sizes in prop::collection::vec(0_u64..150, 20..60),
        die in 0_usize..60
    ) {
        let (folder, mut spool) = spool();
        for (number, &hundreds) in sizes.iter().enumerate() {
            spool.append(&long(number as u64, hundreds)).unwrap();
            if number == die {
                drop(spool);
                spool = Spool::open(folder.path(), LEAST).unwrap();
            }
        }
        let mut there = 0;
        let mut dropped = 0;
        while let Some(batch) = spool.oldest().unwrap() {
            there += 1;
            dropped += told(&batch.gaps, GapKind::MemoryBound);
            spool.acknowledge(&batch.id).unwrap();
        }
        prop_assert_eq!(there + dropped, sizes.len() as u64);
    }

    #[test]
    fn damage_costs_what_it_hit(at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let (folder, mut spool) = spool();
        (0..6).for_each(|number| spool.append(&long(number, 3)).unwrap());
        drop(spool);
        let path = newest(folder.path()).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        fs::write(&path, bytes).unwrap();
        let mut spool = Spool::open(folder.path(), LEAST).unwrap();
        let left = spool.waiting() as u64;
        prop_assert!(left == 5 || at < 24, "{left}");
        spool.append(&long(6, 0)).unwrap();
        // Told once, also if it is found again.
        drop(spool);
        let mut spool = Spool::open(folder.path(), LEAST).unwrap();
        spool.append(&long(7, 0)).unwrap();
        let mut damaged = 0;
        while let Some(batch) = spool.oldest().unwrap() {
            damaged += told(&batch.gaps, GapKind::Damaged);
            spool.acknowledge(&batch.id).unwrap();
        }
        prop_assert!((1..=2).contains(&damaged), "{damaged}");
    }
}

#[test]
fn what_rots_while_it_waits_is_passed_over() {
    let (folder, mut spool) = spool();
    (0..3).for_each(|number| spool.append(&long(number, 1)).unwrap());
    let path = newest(folder.path()).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(spool.oldest().unwrap().unwrap().id.number, 1);
    spool.append(&long(3, 0)).unwrap();
    assert_eq!(spool.waiting(), 3);
    fs::remove_file(&path).unwrap();
    assert_eq!(spool.oldest().unwrap(), None);
}

/// What the agents of these tests say of the interval in progress.
fn keep(spool: &mut Spool, at: u64, batch: Option<&Batch>) -> bool {
    let until = Until { node: "n".to_owned(), at: talea_model::Nanos(at), ..Until::default() };
    spool.keep_progress(&until, batch).unwrap()
}

#[test]
fn an_interval_in_progress_survives_its_process_once() {
    let (folder, mut spool) = spool();
    assert_eq!(spool.recover(|_| panic!("nobody was before")), None);
    spool.append(&batch("n", 1, 0)).unwrap();
    assert!(keep(&mut spool, 5, Some(&batch("n", 1, 1))));
    for expected in [vec![0, 1], vec![0, 1]] {
        drop(spool);
        spool = Spool::open(folder.path(), LEAST).unwrap();
        let until = spool.recover(|batch| batch.cores = 77).unwrap();
        assert_eq!(until.at.0, 5);
        let numbers: Vec<u64> = spool.waiting.iter().map(|entry| entry.id.number).collect();
        assert_eq!(numbers, expected);
    }
    let first = spool.oldest().unwrap().unwrap();
    spool.acknowledge(&first.id).unwrap();
    assert_eq!(spool.oldest().unwrap().unwrap().cores, 77);
}

#[test]
fn an_interval_that_was_kept_as_a_whole_is_not_kept_again() {
    let (folder, mut spool) = spool();
    assert!(keep(&mut spool, 5, Some(&batch("n", 1, 1))));
    spool.append(&batch("n", 1, 1)).unwrap();
    drop(spool);
    let mut spool = Spool::open(folder.path(), LEAST).unwrap();
    spool.recover(|_| {});
    assert_eq!(ids(&mut spool), [1]);
    // It is over, and delivered.
    assert!(keep(&mut spool, 6, None));
    drop(spool);
    let mut spool = Spool::open(folder.path(), LEAST).unwrap();
    assert_eq!(spool.recover(|_| {}).map(|until| until.at.0), Some(6));
    assert_eq!(ids(&mut spool), [0_u64; 0]);
}

#[test]
fn an_interval_in_progress_takes_no_room_of_batches() {
    let (folder, mut spool) = spool();
    assert!(keep(&mut spool, 5, Some(&long(9, 1))));
    (0..8).for_each(|number| spool.append(&long(number, 60)).unwrap());
    let waiting = spool.waiting();
    assert!(!keep(&mut spool, 6, Some(&long(9, 90))));
    // What was kept of it before is better than nothing.
    drop(spool);
    let mut spool = Spool::open(folder.path(), Bytes(1 << 20)).unwrap();
    assert_eq!(spool.recover(|_| {}).map(|until| until.at.0), Some(5));
    assert_eq!(spool.waiting(), waiting + 1);
}

#[test]
fn one_process_at_a_time() {
    let (folder, _spool) = spool();
    assert!(matches!(Spool::open(folder.path(), LEAST), Err(SpoolError::Locked { .. })));
}

#[test]
fn a_batch_that_is_too_long_is_told_by_the_next() {
    let (_folder, mut spool) = spool();
    let error = spool.append(&long(0, 400)).unwrap_err();
    assert!(matches!(error, SpoolError::TooLong { .. }), "{error}");
    spool.append(&long(1, 0)).unwrap();
    let batch = spool.oldest().unwrap().unwrap();
    assert_eq!((batch.id.number, told(&batch.gaps, GapKind::MemoryBound)), (1, 1));
}

#[test]
fn files_of_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["notes.txt", "1.spool", "00000000000x.spool"] {
        fs::write(folder.path().join(name), "mine").unwrap();
    }
    // Not a journal, but where ours would be.
    fs::write(folder.path().join("000000000003.spool"), "no journal, as long as a header at least")
        .unwrap();
    let mut spool = Spool::open(folder.path(), Bytes(0)).unwrap();
    spool.append(&long(0, 0)).unwrap();
    let batch = spool.oldest().unwrap().unwrap();
    assert_eq!(told(&batch.gaps, GapKind::Damaged), 1);
    spool.acknowledge(&batch.id).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn files_may_claim_anything() {
    let folder = tempfile::tempdir().unwrap();
    // Blocks that tell of more losses than can be counted, under the name of another batch.
    let head = Head { first: 0, tells: u64::MAX, scanned: 0 };
    let wire = wire::encode(&batch("n", 1, 5)).unwrap();
    let payload = entry::payload(head, &batch("n", 1, 6).id, &wire);
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Tag(*b"SPOL")).unwrap();
    for _ in 0..2 {
        writer.append(entry::BATCH, &payload).unwrap();
    }
    fs::write(folder.path().join("000000000000.spool"), bytes).unwrap();
    let mut spool = Spool::open(folder.path(), LEAST).unwrap();
    assert_eq!(spool.waiting(), 2);
    assert!(spool.oldest().unwrap().is_none());
    spool.append(&batch("n", 1, 7)).unwrap();
    let next = spool.oldest().unwrap().unwrap();
    assert_eq!((next.id.number, told(&next.gaps, GapKind::MemoryBound)), (7, u64::MAX));
    assert_eq!(told(&next.gaps, GapKind::Damaged), 2);
}

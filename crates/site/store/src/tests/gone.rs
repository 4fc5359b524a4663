//! Files that are removed, replaced or moved while they are open.

use std::fs;
use std::path::Path;
use std::time::Duration;

use talea_model::Nanos;

use super::made::batch;
use super::{options, whole};
use crate::sqlite::Sqlite;
use crate::{Put, Store, StoreError, Visible};

fn samples(path: &Path) -> u64 {
    let store = Sqlite::open_to_read(path, &options(0)).unwrap();
    store.usage(&whole(Visible::All)).unwrap().totals.samples
}

/// Puts until it is taken, as an agent does; the last refusal.
fn taken(store: &mut Sqlite, number: u64) -> Option<StoreError> {
    let mut last = None;
    for _ in 0..600 {
        match store.put(&batch("n1", 1, number)) {
            Ok(put) => {
                assert_eq!(put, Put::New);
                return last;
            }
            Err(error) => last = Some(error),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("still refused: {last:?}");
}

#[test]
fn nothing_goes_into_a_file_that_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let mut store = Sqlite::open(&path, &options(0)).unwrap();
    let reader = Sqlite::open_to_read(&path, &options(0)).unwrap();
    store.put(&batch("n1", 1, 0)).unwrap();
    assert!(reader.is_current() && store.is_current());
    fs::remove_file(&path).unwrap();
    for number in 1..3 {
        let refused = store.put(&batch("n1", 1, number)).unwrap_err();
        assert!(matches!(refused, StoreError::Removed { .. }), "{refused}");
        assert!(refused.to_string().contains("put it back"), "{refused}");
    }
    assert!(matches!(store.retain(Nanos(0), 1), Err(StoreError::Removed { .. })));
    assert!(!reader.is_current());
    assert!(matches!(reader.usage(&whole(Visible::All)), Err(StoreError::Removed { .. })));
    assert!(!path.exists(), "it is not made again by itself");
}

#[test]
fn a_file_that_comes_back_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let (path, away) = (folder.path().join("t.db"), folder.path().join("away.db"));
    let mut store = Sqlite::open(&path, &options(0)).unwrap();
    store.put(&batch("n1", 1, 0)).unwrap();
    fs::rename(&path, &away).unwrap();
    assert!(store.put(&batch("n1", 1, 1)).is_err());
    fs::rename(&away, &path).unwrap();
    store.put(&batch("n1", 1, 1)).unwrap();
    drop(store);
    assert_eq!(samples(&path), 40);
}

#[test]
fn what_was_acknowledged_is_in_the_file_that_was_moved_away() {
    let folder = tempfile::tempdir().unwrap();
    let (path, away) = (folder.path().join("t.db"), folder.path().join("away.db"));
    let mut store = Sqlite::open(&path, &options(0)).unwrap();
    store.put(&batch("n1", 1, 0)).unwrap();
    fs::rename(&path, &away).unwrap();
    assert!(store.put(&batch("n1", 1, 1)).is_err());
    assert_eq!(samples(&away), 20);
}

#[test]
fn another_file_is_written_to_once_it_stays_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("t.db"), folder.path().join("copy.db"));
    let mut before = Sqlite::open(&copy, &options(0)).unwrap();
    before.put(&batch("n1", 1, 0)).unwrap();
    drop(before);
    let mut store = Sqlite::open(&path, &options(0)).unwrap();
    let reader = Sqlite::open_to_read(&path, &options(0)).unwrap();
    (0..50).for_each(|number| assert!(store.put(&batch("n2", 1, number)).is_ok()));
    fs::remove_file(&path).unwrap();
    fs::copy(&copy, &path).unwrap();
    let refused = store.put(&batch("n1", 1, 1)).unwrap_err();
    assert!(matches!(refused, StoreError::Replaced { .. }), "{refused}");
    assert!(!reader.is_current());
    taken(&mut store, 1);
    // Nothing of the log of the file before went into it.
    let nodes = store.nodes(Visible::All).unwrap();
    assert_eq!(nodes.iter().map(|node| &*node.name).collect::<Vec<_>>(), ["n1"]);
    drop((store, reader));
    assert_eq!(samples(&path), 40);
}

#[test]
fn what_is_no_store_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let mut store = Sqlite::open(&path, &options(0)).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "something else").unwrap();
    let mut last = None;
    for _ in 0..60 {
        last = store.put(&batch("n1", 1, 0)).err();
        if matches!(last, Some(StoreError::NotAStore { .. })) {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(matches!(last, Some(StoreError::NotAStore { .. })), "{last:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "something else");
    // An empty file becomes a store, as it does at the begin.
    fs::write(&path, "").unwrap();
    taken(&mut store, 0);
}

#[test]
fn a_log_that_is_removed_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let mut store = Sqlite::open(&path, &options(0)).unwrap();
    store.put(&batch("n1", 1, 0)).unwrap();
    fs::remove_file(folder.path().join("t.db-wal")).unwrap();
    let refused = store.put(&batch("n1", 1, 1)).unwrap_err();
    assert!(matches!(refused, StoreError::Beside { .. }), "{refused}");
    drop(store);
    // What it had is in the file.
    assert_eq!(samples(&path), 20);
    taken(&mut Sqlite::open(&path, &options(0)).unwrap(), 1);
}

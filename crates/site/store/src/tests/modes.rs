//! Who may read what is kept, under the most careless umask.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::{Uid, geteuid, umask};
use rustix::thread::set_thread_res_uid;
use talea_model::Bytes;

use super::made::batch;
use crate::Store as _;
use crate::error::StoreError;
use crate::export::Output;
use crate::spool::Spool;
use crate::sqlite::{Options, Sqlite};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn only_the_owner_reads_stores_their_logs_spools_and_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    umask(Mode::empty());

    let mut store = Sqlite::open(&path("t.db"), &Options::default()).unwrap();
    store.put(&batch("n", 1, 0)).unwrap();
    for name in ["t.db", "t.db-wal", "t.db-shm"] {
        assert_eq!(mode(&path(name)), 0o600, "{name}");
    }
    let mut spool = Spool::open(&path("a/spool"), Bytes(1 << 20)).unwrap();
    spool.append(&batch("n", 1, 0)).unwrap();
    for name in ["a", "a/spool"] {
        assert_eq!(mode(&path(name)), 0o700, "{name}");
    }
    let files = fs::read_dir(path("a/spool")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in &files {
        assert_eq!(mode(file), 0o600, "{file:?}");
    }
    Output::at(&format!("influx:{}", path("lines").display())).unwrap();
    assert_eq!(mode(&path("lines")), 0o600);
}

/// As an earlier version left them; what an administrator gave to a group stays.
#[test]
fn files_that_others_could_read_are_closed_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut store = Sqlite::open(&path("t.db"), &Options::default()).unwrap();
    store.put(&batch("n", 1, 0)).unwrap();
    // A process that was killed leaves its log.
    for name in ["t.db", "t.db-wal"] {
        fs::copy(path(name), path(&name.replace('t', "u"))).unwrap();
        set_mode(&path(&name.replace('t', "u")), 0o644);
    }
    let again = Sqlite::open(&path("u.db"), &Options::default()).unwrap();
    for name in ["u.db", "u.db-wal", "u.db-shm"] {
        assert_eq!(mode(&path(name)) & 0o007, 0, "{name}");
    }
    drop(again);
    set_mode(&path("u.db"), 0o660);
    drop(Sqlite::open(&path("u.db"), &Options::default()).unwrap());
    assert_eq!(mode(&path("u.db")), 0o660);

    // A name that leads to a file which is still missing.
    umask(Mode::empty());
    symlink("later.db", path("link.db")).unwrap();
    drop(Sqlite::open(&path("link.db"), &Options::default()).unwrap());
    assert_eq!(mode(&path("later.db")) & 0o007, 0);

    let mut spool = Spool::open(&path("spool"), Bytes(1 << 20)).unwrap();
    spool.append(&batch("n", 1, 0)).unwrap();
    drop(spool);
    let files = fs::read_dir(path("spool")).unwrap().map(|entry| entry.unwrap().path());
    let journal = files.filter(|file| !file.ends_with("lock")).last().unwrap();
    set_mode(&journal, 0o644);
    drop(Spool::open(&path("spool"), Bytes(1 << 20)).unwrap());
    assert_eq!(mode(&journal), 0o640);
}

/// Closing a second descriptor of the file would take the locks of all others of this process, and
/// with them what keeps another process from removing the log that is in use.
#[test]
fn a_file_that_is_there_keeps_the_locks_that_this_process_has_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let mut first = Sqlite::open(&path, &Options::default()).unwrap();
    first.put(&batch("n", 1, 0)).unwrap();
    let file = fs::canonicalize(&path).unwrap();
    // Of this process's descriptors of the file: a list of all locks of the system is no snapshot.
    let locks = || {
        let descriptors = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let own = descriptors.filter(|one| fs::read_link(one.path()).is_ok_and(|to| to == file));
        let about = own.map(|one| Path::new("/proc/self/fdinfo").join(one.file_name()));
        let texts = about.map(|about| fs::read_to_string(about).unwrap());
        let count = |text: String| text.lines().filter(|line| line.starts_with("lock:")).count();
        texts.map(count).sum::<usize>()
    };
    let before = locks();
    assert!(before > 0, "no lock is held on the file");
    drop(Sqlite::open(&path, &Options::default()).unwrap());
    assert_eq!(locks(), before);
}

/// Reads a store as another user, in a thread of its own: the kernel keeps users by thread.
#[test]
fn another_user_may_not_read_a_store_and_the_error_says_so() {
    let nobody = Uid::from_raw(65_534);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    drop(Sqlite::open(&path, &Options::default()).unwrap());
    set_mode(folder.path(), 0o755);
    if geteuid().is_root() {
        set_mode(&path, 0o600);
    } else {
        set_mode(&path, 0o000);
    }
    let other = path.clone();
    let error = std::thread::spawn(move || {
        if geteuid().is_root() {
            set_thread_res_uid(nobody, nobody, nobody).unwrap();
        }
        Sqlite::open_to_read(&other, &Options::default()).unwrap_err()
    });
    let error = error.join().unwrap();
    assert!(matches!(error, StoreError::Unreadable { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!(
            "the store may not be read by this user, expected its owner or permission to read: `{}`",
            path.display()
        )
    );
}

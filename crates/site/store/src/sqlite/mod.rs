//! A store in one file of `SQLite`, for one machine and small clusters.
//!
//! Owns opening the file and that every error names it. Slices of time and node are what everything
//! hangs on (docs/store.md). The journal is a write-ahead log with `synchronous = NORMAL`: what was
//! acknowledged survives the death of the process at any moment; when the machine dies, what came
//! since the last checkpoint may be missing, but the file stays whole
//! (<https://www.sqlite.org/pragma.html#pragma_synchronous>).

mod ask;
mod files;
mod forget;
mod levels;
mod lists;
mod loss;
mod names;
mod options;
#[cfg(test)]
mod plans;
mod put;
mod put_rates;
mod rates;
mod removals;
mod retain;
mod rows;
mod scan;
mod series;
mod spans;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use talea_model::shares::Batch;
use talea_model::{Bytes, Nanos};

use crate::answer::{Answer, JobSeen, NodeSeen, Series};
use crate::bounds::Bounds;
use crate::error::StoreError;
use crate::private;
use crate::question::{Question, Visible};
use crate::rates::{Rates, SpreadSeen};
use crate::sqlite::files::{Files, Found};
use crate::sqlite::levels::{BESIDE, FINE};
use crate::{Put, Retained, Store};

/// Application id in the header of our files ("TALE").
const APPLICATION: i64 = 0x5441_4c45;
/// Each entry brings a file from the version before to its own; the first makes one.
const MIGRATIONS: [&str; 5] = [
    include_str!("schema.sql"),
    include_str!("schema-2.sql"),
    include_str!("schema-3.sql"),
    include_str!("schema-4.sql"),
    include_str!("schema-5.sql"),
];
/// The version that brought rates and spreads.
const WITH_RATES: i64 = 2;
const PAGE: u64 = 4096;
/// Steps of `SQLite` between two looks at the clock: some hundred microseconds.
const STEPS: i32 = 10_000;
/// How long another file at the store's path must stay the same before it is opened: somebody may
/// still be copying.
const SETTLES: Duration = Duration::from_secs(2);

pub use forget::Forget;
pub use options::Options;
pub use talea_results::site::Forgotten;

pub(crate) const HOUR: Nanos = Nanos(3_600_000_000_000);
pub(crate) const DAY: Nanos = Nanos(24 * HOUR.0);

/// An open file.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    path: PathBuf,
    options: Options,
    /// Bounds of the current query.
    under_way: Arc<Mutex<Option<Arc<Bounds>>>>,
    /// Memory limit of all queries together, if one is set.
    bounds: Option<Arc<Bounds>>,
    files: Files,
    /// Another file at the path, and since when it has not changed.
    other: Option<(files::Stamp, Instant)>,
}

/// Removes permissions that an earlier version or a link to a missing file left: of the file, its
/// log and the log's index.
fn close_to_others(path: &Path) {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for end in ["", "-wal", "-shm"] {
        let mut name = path.clone().into_os_string();
        name.push(end);
        private::close_to_others(Path::new(&name));
    }
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sqlite {
    /// Opens a file to write and read, and makes it if it is missing.
    ///
    /// # Errors
    /// A file that is not ours, is of a later version, or cannot be written.
    pub fn open(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        // SQLite would make it as the umask says. It says itself what hinders, and gives its log
        // the mode of the file. A file that is there is not opened here: closing it would take this
        // process's locks on it.
        let _ = private::make(path);
        Self::connect(path, flags, options).and_then(|mut store| {
            let path = store.path.clone();
            close_to_others(&path);
            store.prepare().map_err(|error| StoreError::from_sqlite(error, &path))?;
            Ok(store)
        })
    }

    /// Opens a file that exists, to read only; another process may write to it meanwhile.
    ///
    /// # Errors
    /// As [`Sqlite::open`], and a file that is missing.
    pub fn open_to_read(path: &Path, options: &Options) -> Result<Self, StoreError> {
        if !path.try_exists().unwrap_or(true) {
            return Err(StoreError::None { path: path.to_owned() });
        }
        Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, options)
    }

    fn connect(path: &Path, flags: OpenFlags, options: &Options) -> Result<Self, StoreError> {
        // Without the flag for URIs: a path is a path, whatever is in it.
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |error| StoreError::from_sqlite(error, path);
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(options.patience).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(64);
        let under_way: Arc<Mutex<Option<Arc<Bounds>>>> = Arc::default();
        if options.longest.is_some() {
            let under_way = Arc::clone(&under_way);
            let is_over = move || locked(&under_way).as_ref().is_some_and(|asked| asked.is_over());
            connection.progress_handler(STEPS, Some(is_over)).map_err(failed)?;
        }
        let files = Files::stat(path);
        let path = path.to_owned();
        let mut store = Self {
            connection,
            path,
            options: *options,
            under_way,
            bounds: None,
            files,
            other: None,
        };
        let failed = |error| StoreError::from_sqlite(error, &store.path);
        let version = store.pragma("user_version").map_err(failed)?;
        let tables: i64 = store
            .connection
            .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
            .map_err(failed)?;
        let ours = store.pragma("application_id").map_err(failed)? == APPLICATION;
        let empty =
            tables == 0 && version == 0 && !flags.contains(OpenFlags::SQLITE_OPEN_READ_ONLY);
        if !ours && !empty {
            return Err(StoreError::NotAStore { path: store.path });
        }
        let newest = MIGRATIONS.len() as i64;
        if version > newest {
            return Err(StoreError::Newer { found: version, newest, path: store.path });
        }
        // The first read has made the log and its index.
        store.files = Files::stat(&store.path);
        Ok(store)
    }

    /// An error where the files at the path are not those that are open.
    fn same(&self) -> Result<(), StoreError> {
        let path = || self.path.clone();
        match self.files.look(&self.path) {
            Found::Same => Ok(()),
            Found::Gone => Err(StoreError::Removed { path: path() }),
            Found::Beside => Err(StoreError::Beside { path: path() }),
            Found::Other(_) => Err(StoreError::Replaced { path: path() }),
        }
    }

    /// The same before something is written. Another file that no longer changes is opened in place
    /// of the one before.
    fn current(&mut self) -> Result<(), StoreError> {
        let found = self.files.look(&self.path);
        if found == Found::Same {
            self.other = None;
            return Ok(());
        }
        // Acknowledged batches reach the file that is open, wherever it was moved.
        let _ = self.connection.pragma_update(None, "wal_checkpoint", "PASSIVE");
        let Found::Other(stamp) = found else {
            // Without its log the same database cannot be opened a second time: other handles of
            // this process still have the index of the old one.
            self.other = None;
            return self.same();
        };
        match self.other {
            Some((same, since)) if same == stamp && since.elapsed() >= SETTLES => {}
            Some((same, _)) if same == stamp => return self.same(),
            _ => {
                self.other = Some((stamp, Instant::now()));
                return self.same();
            }
        }
        // Another database would take the log for its own.
        for path in self.files.left_behind() {
            let _ = std::fs::remove_file(path);
        }
        *self = Self::open(&self.path.clone(), &self.options)?;
        Ok(())
    }

    fn pragma(&self, name: &str) -> rusqlite::Result<i64> {
        self.connection.pragma_query_value(None, name, |row| row.get(0))
    }

    /// Sets the file up for writing, and brings it to this build's version.
    fn prepare(&mut self) -> rusqlite::Result<()> {
        let connection = &mut self.connection;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // 64 MiB, in KiB: the pages that the last slices of a thousand nodes lie in.
        connection.pragma_update(None, "cache_size", -65_536)?;
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        if let Some(most) = self.options.most {
            connection.pragma_update(None, "max_page_count", (most.0 / PAGE).max(64) as i64)?;
        }
        let change =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Again, now that nobody else can change it.
        let version: i64 = change.pragma_query_value(None, "user_version", |row| row.get(0))?;
        for migration in MIGRATIONS.iter().skip(version.max(0) as usize) {
            change.execute_batch(migration)?;
        }
        if version < MIGRATIONS.len() as i64 {
            change.pragma_update(None, "application_id", APPLICATION)?;
            change.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
        }
        let slice = self.options.slice.0.min(HOUR.0) as i64;
        change.execute("INSERT OR IGNORE INTO setting VALUES('slice', ?1)", [slice])?;
        // No batch is longer from now on; those of before become hours.
        let longest = crate::LONGEST_INTERVAL.0.max(HOUR.0) as i64;
        change.execute(
            &format!(
                "INSERT OR REPLACE INTO setting SELECT 'longest', max(?1, coalesce((SELECT max(width) FROM slice WHERE level IN ({FINE}, {BESIDE})), 0))
                 WHERE NOT EXISTS (SELECT 1 FROM setting WHERE name = 'longest' AND value <= ?1)"
            ),
            [longest],
        )?;
        let kept: i64 =
            change.query_row("SELECT value FROM setting WHERE name = 'slice'", [], |row| {
                row.get(0)
            })?;
        change.commit()?;
        self.options.slice = Nanos(kept.max(0) as u64);
        self.files = Files::stat(&self.path);
        Ok(())
    }

    /// Removes what a node sent of a time, in steps that others write between. Slices that the time
    /// only touches go whole, which the answer says. Who did it and when is kept
    /// ([`Sqlite::forgotten`]), and operators' answers of this time say it as a gap.
    ///
    /// # Errors
    /// A node that there is not, a time that ends before it begins, and what the system refuses;
    /// steps done before stay done.
    pub fn forget(&mut self, asked: &Forget) -> Result<Forgotten, StoreError> {
        if asked.until <= asked.from {
            let why = "`to` is not after `from`".to_owned();
            return Err(StoreError::Question { why });
        }
        self.current()?;
        let forgotten = forget::forget(&mut self.connection, asked);
        self.named(forgotten)?.ok_or_else(|| StoreError::Question {
            why: format!(
                "there is no node `{}`, expected one that `talea usage --by node` lists",
                asked.node
            ),
        })
    }

    /// Removals by [`Sqlite::forget`], oldest first.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn forgotten(&self) -> Result<Vec<Forgotten>, StoreError> {
        self.asked(removals::list)
    }

    fn named<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| StoreError::from_sqlite(error, &self.path))
    }

    /// An answer, unless it takes longer than it may.
    fn asked<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.same()?;
        // A query past its deadline begins nothing more.
        self.bounds.as_ref().map_or(Ok(()), |bounds| bounds.check())?;
        let own = || Some(Arc::new(Bounds::new(self.options.longest?, Bytes(u64::MAX))));
        let bounds = self.bounds.clone().or_else(own);
        locked(&self.under_way).clone_from(&bounds);
        let answer = ask(&self.connection);
        *locked(&self.under_way) = None;
        answer.map_err(|error| match (error.sqlite_error_code(), bounds) {
            (Some(ErrorCode::OperationInterrupted), Some(bounds)) => {
                bounds.check().err().unwrap_or_else(|| StoreError::from_sqlite(error, &self.path))
            }
            _ => StoreError::from_sqlite(error, &self.path),
        })
    }
}

impl Store for Sqlite {
    fn put_all(&mut self, batches: &[Batch]) -> Result<Vec<Put>, StoreError> {
        batches.iter().try_for_each(crate::check)?;
        self.current()?;
        let put = put::all(&mut self.connection, &self.options, batches);
        let put = self.named(put)??;
        // Batches in a file that was removed meanwhile are lost: they are not acknowledged.
        self.same()?;
        Ok(put)
    }

    fn usage(&self, question: &Question) -> Result<Answer, StoreError> {
        question.check()?;
        self.asked(|connection| ask::usage(connection, question))
    }

    fn series(&self, question: &Question, step: Nanos) -> Result<Series, StoreError> {
        question.check_series(step)?;
        self.asked(|connection| series::series(connection, question, step))
    }

    fn nodes(&self, visible: Visible) -> Result<Vec<NodeSeen>, StoreError> {
        self.asked(|connection| lists::nodes(connection, visible))
    }

    fn jobs(&self, question: &Question) -> Result<Vec<JobSeen>, StoreError> {
        question.check()?;
        self.asked(|connection| lists::jobs(connection, question))
    }

    fn rates(&self, question: &Question) -> Result<Rates, StoreError> {
        question.check_rates()?;
        // A reader of an earlier version's file cannot bring it to this version.
        if self.named(self.pragma("user_version"))? < WITH_RATES {
            return self.asked(|connection| rates::none(connection, question));
        }
        self.asked(|connection| rates::rates(connection, question))
    }

    fn spreads(&self, question: &Question) -> Result<Vec<SpreadSeen>, StoreError> {
        question.check_spreads()?;
        if self.named(self.pragma("user_version"))? < WITH_RATES {
            return Ok(Vec::new());
        }
        self.asked(|connection| rates::spreads(connection, question))
    }

    fn retain(&mut self, now: Nanos, steps: usize) -> Result<Retained, StoreError> {
        self.current()?;
        let retained = retain::retain(&mut self.connection, &self.options, now, steps);
        self.named(retained)
    }

    fn bound(&mut self, bounds: Option<Arc<Bounds>>) {
        self.bounds = bounds;
    }

    fn is_current(&self) -> bool {
        self.same().is_ok()
    }
}

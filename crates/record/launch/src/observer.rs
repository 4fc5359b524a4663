//! Reads the rings of a running program and keeps what is chosen of them.
//!
//! Owns the thread that does this beside the program, as long as it runs: it follows the mapped
//! files of all processes, writes the kept times of each beside its file about once a second, and
//! then releases the chunks that it has read. Killing the program or `talea run` loses no kept
//! times. The processes never wait for it: one whose chunks are not released takes new ones. The
//! choice is [`collector`]'s. Where a rank of a world runs on another host, no rank of it is read,
//! and all keep their times within their bound of memory.

mod collector;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use talea_model::Nanos;
use talea_run::live::follow::ProcessFollower;
use talea_run::live::kept::{Kept, kept_path};
use talea_run::mapped::{LiveRecord, OpenRecord, RecordId, live_records};

use collector::Collector;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Number of looks between two lists of the files.
const LIST_EVERY_LOOKS: u32 = 10;
/// Time between two writings of kept times.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of a process's record from which on kept times are written at each look: the ring grows
/// until they are.
const EAGER_WRITE_BYTES: u64 = 8 << 20;
/// Maximum number of events of a thread that are read before the next thread's.
const MAX_EVENTS: u64 = 1 << 16;

/// The thread that observes.
#[derive(Debug)]
pub(crate) struct Observer {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<HashSet<String>>,
}

impl Observer {
    /// Observes the processes whose files are in this folder.
    pub(crate) fn start(live: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || observe(&live, &seen));
        Self { stop, thread }
    }

    /// Reads the rest when the program has ended; returns warnings.
    pub(crate) fn finish(self) -> Vec<String> {
        self.stop.store(true, Ordering::Release);
        // A bug in it must not hide how the program ended.
        let failed = || {
            HashSet::from(["the observer stopped by a bug, please report it; later times are kept while --memory lasts".into()])
        };
        let mut warnings: Vec<String> =
            self.thread.join().unwrap_or_else(|_| failed()).into_iter().collect();
        warnings.sort();
        warnings
    }
}

/// A process that is observed.
struct Observed {
    follower: ProcessFollower<OpenRecord>,
    threads: Vec<Collector>,
    kept: PathBuf,
    /// Number of events so far.
    events: u64,
    /// Their number at the last writing, and its time.
    written: (u64, Instant),
    /// The chunk of each thread up to which chunks were released.
    released: Vec<u64>,
}

fn observe(live: &Path, stop: &AtomicBool) -> HashSet<String> {
    let mut found: HashMap<RecordId, Option<Observed>> = HashMap::new();
    let mut warnings = HashSet::new();
    for round in 0_u32.. {
        // Before the last look, so that nothing comes after it.
        let is_last = stop.load(Ordering::Acquire);
        if round % LIST_EVERY_LOOKS == 0 || is_last || found.is_empty() {
            find(live, &mut found);
        }
        let mut is_new = true;
        while is_new {
            is_new = false;
            for one in found.values_mut().flatten() {
                is_new |= one.look();
                if let Err(error) = one.write(is_last && !is_new) {
                    warnings
                        .insert(format!("cannot write kept times, new ones are kept while --memory lasts: {error}: `{}`", one.kept.display()));
                }
            }
            is_new &= is_last;
        }
        if is_last {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    warnings
}

/// Adds processes of worlds that are complete here.
fn find(live: &Path, found: &mut HashMap<RecordId, Option<Observed>>) {
    let entries = std::fs::read_dir(live).into_iter().flatten().flatten().map(|one| one.path());
    let files = entries.filter(|path| path.extension().is_some_and(|ending| ending == "live"));
    let records = files.flat_map(|path| live_records(&path).unwrap_or_default());
    let mut worlds: HashMap<u64, Vec<(RecordId, LiveRecord, ProcessFollower<OpenRecord>)>> =
        HashMap::new();
    for record in records.filter(|record| record.has_head) {
        let Some(id) = record.id().filter(|id| !found.contains_key(id)) else { continue };
        let Ok(follower) = record.open_to_release().map(ProcessFollower::new) else { continue };
        let Ok(follower) = follower else { continue };
        let header = follower.header();
        if header.ring == 0 {
            found.insert(id, None);
        } else if header.world != 0 {
            worlds.entry(header.world).or_default().push((id, record, follower));
        }
    }
    for processes in worlds.into_values() {
        let size = processes.first().map_or(0, |(.., one)| one.header().size as usize);
        if processes.len() < size {
            continue;
        }
        for (id, record, follower) in processes {
            let header = follower.header();
            let start = Nanos(header.start_realtime);
            let kept = kept_path(&record.path, &header.host_name(), header.pid, start);
            let written = (0, Instant::now());
            let threads = Vec::new();
            let released = Vec::new();
            let one = Observed { follower, threads, kept, events: 0, written, released };
            found.insert(id, Some(one));
        }
    }
}

impl Observed {
    /// Reads what is new; true if there may be more.
    fn look(&mut self) -> bool {
        let threads = &mut self.threads;
        let looked = self.follower.look(MAX_EVENTS, &mut |at, event| {
            while threads.len() <= at {
                threads.push(Collector::new());
            }
            threads[at].event(&event);
        });
        self.events += looked.events;
        if looked.events > 0 {
            for (thread, followed) in self.threads.iter_mut().zip(self.follower.threads()) {
                thread.look(&followed.successors());
            }
        }
        looked.events > 0 && looked.left > 0
    }

    /// Writes what is kept, if that is due or this is the last time, and then releases what was
    /// read.
    fn write(&mut self, is_last: bool) -> std::io::Result<()> {
        let (events, at) = self.written;
        let is_due =
            at.elapsed() >= WRITE_INTERVAL || self.follower.header().used > EAGER_WRITE_BYTES;
        if events == self.events || !(is_due || is_last) {
            return Ok(());
        }
        let followed = self.follower.threads();
        let kept = self.threads.iter().zip(followed);
        let kept = Kept { threads: kept.map(|(one, f)| one.kept(f.offset())).collect() };
        kept.write(&self.kept)?;
        self.written = (self.events, Instant::now());
        self.release()
    }

    /// Lets the recorder use the chunks again that were read.
    fn release(&mut self) -> std::io::Result<()> {
        let followed = self.follower.threads();
        self.released.resize(followed.len(), 0);
        for (thread, before) in followed.iter().zip(&mut self.released) {
            let Some((word, chunk)) = thread.ring_position().filter(|new| new.1 != *before) else {
                continue;
            };
            self.follower.source().store(word, chunk)?;
            *before = chunk;
        }
        Ok(())
    }
}

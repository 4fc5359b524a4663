//! Reads the rings of a running program and keeps what is chosen of them.
//!
//! Owns the thread that does this beside the program, as long as it runs: it follows the mapped
//! files of all processes, writes the kept times of each beside its file about once a second, and
//! then gives the chunks back that it has read. So nothing is lost where either of both is killed.
//! The processes never wait for it: one that gets no chunk back takes a new one. The choice is
//! [`collector`]'s. Processes on other hosts are not reached; then nothing is read, and ranks keep
//! all times within their bound of memory.

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
/// Looks between two lists of the files.
const LISTED: u32 = 10;
/// Time between two writings of kept times.
const WRITTEN: Duration = Duration::from_secs(1);
/// Bytes of a process's record from which on kept times are written at each look: the ring grows
/// until they are.
const PRESSING: u64 = 8 << 20;
/// Maximum number of events of a thread that are read before the next thread's.
const EVENTS: u64 = 1 << 16;

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
        let failed = || HashSet::from(["kept times may be incomplete: their reader failed".into()]);
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
    /// Events so far, when kept times were written last.
    events: u64,
    written: (u64, Instant),
    /// The chunk of each thread that was given back last.
    released: Vec<u64>,
}

fn observe(live: &Path, stop: &AtomicBool) -> HashSet<String> {
    let mut found: HashMap<RecordId, Option<Observed>> = HashMap::new();
    let mut warnings = HashSet::new();
    for round in 0_u32.. {
        // Before the last look, so that nothing comes after it.
        let is_last = stop.load(Ordering::Acquire);
        if round % LISTED == 0 || is_last || found.is_empty() {
            find(live, &mut found);
        }
        let mut is_new = true;
        while is_new {
            is_new = false;
            for one in found.values_mut().flatten() {
                is_new |= one.look();
                if let Err(error) = one.write(is_last && !is_new) {
                    warnings
                        .insert(format!("cannot keep times: {error}: `{}`", one.kept.display()));
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
        let looked = self.follower.look(EVENTS, &mut |at, event| {
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

    /// Writes what is kept, where it is time for that or the last time, and gives chunks back.
    fn write(&mut self, is_last: bool) -> std::io::Result<()> {
        let (events, at) = self.written;
        let is_due = at.elapsed() >= WRITTEN || self.follower.header().used > PRESSING;
        if events == self.events || !(is_due || is_last) {
            return Ok(());
        }
        let followed = self.follower.threads();
        let kept = self.threads.iter().zip(followed);
        let kept = Kept { threads: kept.map(|(one, f)| one.kept(f.offset())).collect() };
        kept.write(&self.kept)?;
        self.written = (self.events, Instant::now());
        self.released.resize(followed.len(), 0);
        for (thread, before) in followed.iter().zip(&mut self.released) {
            let Some((word, chunk)) = thread.released().filter(|new| new.1 != *before) else {
                continue;
            };
            self.follower.source().store(word, chunk)?;
            *before = chunk;
        }
        Ok(())
    }
}

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
use talea_run::live::selection::{Kept, kept_path};
use talea_run::mapped::{LiveRecord, OpenRecord, RecordId, live_records};

use collector::Collector;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Number of looks between two lists of the files.
const LIST_EVERY_LOOKS: u64 = 10;
/// Time between two writings of kept times.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// Growth of a process's record after which kept times are written at once: the ring grows until
/// they are.
const EAGER_WRITE_BYTES: u64 = 4 << 20;
/// Maximum time for reading the rest after the program's end.
const LAST: Duration = Duration::from_mins(1);
/// Maximum number of events of a thread that are read before the next thread's.
const MAX_EVENTS: u64 = 1 << 16;
/// The same for the first looks.
const FIRST_EVENTS: u64 = 1 << 12;

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
    written: Written,
    /// The chunk of each thread up to which chunks were released.
    released: Vec<u64>,
}

/// State at the last writing of kept times.
struct Written {
    events: u64,
    /// Bytes of the process's record.
    used: u64,
    at: Instant,
}

fn observe(live: &Path, stop: &AtomicBool) -> HashSet<String> {
    let mut found: HashMap<RecordId, Option<Observed>> = HashMap::new();
    let mut warnings = HashSet::new();
    let mut looks = 0_u64;
    let mut ended: Option<Instant> = None;
    loop {
        // Before the last look, so that nothing comes after it.
        let is_last = stop.load(Ordering::Acquire);
        if looks.is_multiple_of(LIST_EVERY_LOOKS) || is_last && ended.is_none() {
            find(live, &mut found, &mut warnings);
        }
        looks += 1;
        let mut is_more = false;
        for one in found.values_mut().flatten() {
            let is_left = one.look();
            is_more |= is_left;
            if let Err(error) = one.write(is_last && !is_left) {
                let path = one.kept.display();
                warnings.insert(format!(
                    "cannot write kept times, new ones are kept while --memory lasts: {error}: `{path}`"
                ));
            }
        }
        if is_last {
            let is_late = ended.get_or_insert_with(Instant::now).elapsed() > LAST;
            if is_late && is_more {
                warnings.insert("reading the times of the last calls takes too long".to_owned());
            }
            if is_late || !is_more {
                return warnings;
            }
        }
        if !is_more {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Adds processes of worlds that are complete on this host.
fn find(
    live: &Path,
    found: &mut HashMap<RecordId, Option<Observed>>,
    warnings: &mut HashSet<String>,
) {
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let entries = std::fs::read_dir(live).into_iter().flatten().flatten().map(|one| one.path());
    let files = entries.filter(|path| path.extension().is_some_and(|ending| ending == "live"));
    let mut worlds: HashMap<u64, Vec<(RecordId, PathBuf, ProcessFollower<OpenRecord>)>> =
        HashMap::new();
    for path in files {
        let records = live_records(&path).unwrap_or_default();
        let is_new = |record: &&LiveRecord| {
            record.has_head && record.id().is_some_and(|id| !found.contains_key(&id))
        };
        // The records of a host share its file.
        let mut file: Option<OpenRecord> = None;
        for record in records.iter().filter(is_new) {
            let opened = match &file {
                Some(file) => Ok(record.open_beside(file)),
                None => record.open_to_release(),
            };
            let (Some(id), Ok(source)) = (record.id(), opened) else {
                warnings.insert(format!("the times of a process cannot be selected: {record}"));
                continue;
            };
            if file.is_none() {
                file = Some(record.open_beside(&source));
            }
            let Ok(follower) = ProcessFollower::new(source) else { continue };
            let header = follower.header();
            if header.ring != 0 && header.world != 0 {
                worlds.entry(header.world).or_default().push((id, path.clone(), follower));
            }
        }
    }
    for processes in worlds.into_values() {
        let size = processes.first().map_or(0, |(.., one)| one.header().size as usize);
        let is_here = |one: &ProcessFollower<_>| one.header().host_name() == here;
        if !processes.iter().all(|(.., one)| is_here(one)) {
            found.extend(processes.into_iter().map(|(id, ..)| (id, None)));
        } else if processes.len() >= size {
            let observed = processes.into_iter();
            found.extend(observed.map(|(id, path, one)| (id, Some(Observed::new(&path, one)))));
        }
    }
}

impl Observed {
    /// Begins with the first event of a process whose mapped file is `live`.
    fn new(live: &Path, follower: ProcessFollower<OpenRecord>) -> Self {
        let header = follower.header();
        let start = Nanos(header.start_realtime);
        let kept = kept_path(live, &header.host_name(), header.pid, start);
        let written = Written { events: 0, used: 0, at: Instant::now() };
        Self { follower, threads: Vec::new(), kept, events: 0, written, released: Vec::new() }
    }

    /// Reads what is new; true if there may be more.
    fn look(&mut self) -> bool {
        let threads = &mut self.threads;
        // Loops are known after a few calls, and what comes before them is not divided.
        let most = if self.events < FIRST_EVENTS { FIRST_EVENTS } else { MAX_EVENTS };
        let looked = self.follower.look(most, &mut |at, event| {
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
        let (Written { events, used, at }, now) = (&self.written, self.follower.header().used);
        let has_grown = now > used.saturating_add(EAGER_WRITE_BYTES);
        let is_due = at.elapsed() >= WRITE_INTERVAL || has_grown;
        if *events == self.events || !(is_due || is_last) {
            return Ok(());
        }
        let followed = self.follower.threads();
        let kept = self.threads.iter().zip(followed);
        let kept = Kept { threads: kept.map(|(one, f)| one.kept(f.offset())).collect() };
        kept.write(&self.kept)?;
        self.written = Written { events: self.events, used: now, at: Instant::now() };
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

//! The processes of this host that are observed.
//!
//! Owns finding them, the state of each between two looks, and what is written of each: a look
//! reads what is new, kept times are written about once a second, and chunks are released when what
//! was kept of them is written. Of a process without rings only the end is awaited. One of a world
//! that has no observer on another of its hosts is left alone.

use std::collections::{HashMap, HashSet};
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use talea_model::Nanos;
use talea_run::live::LiveProcess;
use talea_run::live::follow::ProcessFollower;
use talea_run::live::layout::{Header, MAX_SYNCS, observed, state};
use talea_run::live::selection::{Kept, kept_path};
use talea_run::mapped::{OpenRecord, RecordId, is_file_of, live_records};
use talea_run::observers::is_running;
use talea_run::{RunDirectory, counters};

use super::clock::{Compared, Comparison};
use super::collector::Collector;
use crate::records;

/// Time between two writings of kept times.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// Growth of a process's record after which kept times are written at once: the ring grows until
/// they are.
const EAGER_WRITE_BYTES: u64 = 4 << 20;
/// Maximum number of events of a thread that are read before the next thread's.
const MAX_EVENTS: u64 = 1 << 16;
/// The same for the first looks.
const FIRST_EVENTS: u64 = 1 << 12;

/// Processes of this host.
pub(super) struct Host {
    live: PathBuf,
    name: String,
    found: HashMap<RecordId, Process>,
    /// The clocks of processes as these have measured them.
    measured: HashMap<RecordId, Comparison>,
    warnings: HashSet<String>,
}

/// A process whose record was found.
enum Process {
    /// It is not observed: it runs on another host, or its world has a host without an observer.
    Left,
    /// MPI is not initialised yet, so that its world is not known.
    Beginning(ProcessFollower<OpenRecord>),
    Observed(Box<Observed>),
    /// Nothing of it is read: it has no rings, or these have only times after those that an earlier
    /// observer kept, which was killed.
    Awaited(ProcessFollower<OpenRecord>),
}

impl Process {
    /// Its record, if it is observed or may be.
    fn follower(&mut self) -> Option<&mut ProcessFollower<OpenRecord>> {
        match self {
            Self::Left => None,
            Self::Beginning(follower) | Self::Awaited(follower) => Some(follower),
            Self::Observed(one) => Some(&mut one.follower),
        }
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

impl Host {
    /// The processes whose mapped files are in the folder `live`.
    pub(super) fn new(live: &Path) -> Self {
        let name = super::this_host();
        let live = live.to_owned();
        let (found, measured) = (HashMap::new(), HashMap::new());
        Self { live, name, found, measured, warnings: HashSet::new() }
    }

    /// Sentences about what went wrong.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.warnings.iter().cloned().collect();
        warnings.sort();
        warnings
    }

    /// A further warning.
    pub(super) fn warn(&mut self, warning: String) {
        self.warnings.insert(warning);
    }

    /// True if no process was found.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// True if there is a process, and none records any more.
    pub(super) fn has_ended(&mut self) -> bool {
        let is_any = |process: &mut Process| process.follower().is_some_and(is_recording);
        let is_over = !self.found.is_empty() && !self.found.values_mut().any(is_any);
        is_over && self.counters_are_complete()
    }

    /// True without readings of the network on the node's own disk, and when no more follow.
    fn counters_are_complete(&mut self) -> bool {
        let file = counters::file(&self.live, &self.name);
        let Some(pid) = counters::process_at_work(&file).filter(|&pid| is_running(pid)) else {
            return true;
        };
        // It may be unable to write the last one.
        let exits = |header: &Header| header.pid == pid && header.observed & observed::EXITING != 0;
        self.found.values_mut().filter_map(Process::follower).any(|follower| {
            follower.read_header();
            exits(follower.header())
        })
    }

    /// True if there is nothing to read of the processes that are known.
    pub(super) fn is_settled(&self) -> bool {
        let is_settled = |one: &Process| matches!(one, Process::Left | Process::Awaited(_));
        !self.found.is_empty() && self.found.values().all(is_settled)
    }

    /// Writes into each record the offsets of its clock at its start and at its last reading. Ranks
    /// have measured the offset when they initialised MPI. Those of a world with only this host
    /// need nothing else. Where no process has a world, each gets the offset to the clock of `talea
    /// run`, when it has ended.
    pub(super) fn note_clock(&mut self, compared: &Compared) {
        let mut sizes: HashMap<u64, u32> = HashMap::new();
        for follower in self.found.values_mut().filter_map(Process::follower) {
            follower.read_header();
            *sizes.entry(follower.header().world).or_default() += 1;
        }
        // Ranks that have not initialised MPI yet count for every world.
        let beginning = sizes.get(&0).copied().unwrap_or_default();
        let is_without_world = sizes.keys().all(|&world| world == 0);
        for (id, process) in &mut self.found {
            let Some(follower) = process.follower() else { continue };
            let header = follower.header();
            let measured = if header.world == 0 {
                compared.newest.filter(|_| is_without_world && !may_write(header))
            } else {
                let known = sizes.get(&header.world).copied().unwrap_or_default();
                let is_alone = known.saturating_add(beginning) >= header.size;
                // An observer that was killed may have known more.
                let is_noted = !compared.drift.is_known() && header.drift() != 0;
                let is_needed = header.observed & observed::BY_ALL != 0 && !is_alone && !is_noted;
                self.measured.get(id).copied().filter(|_| is_needed)
            };
            let Some(measured) = measured else { continue };
            let readings = &header.syncs[..(header.sync_count as usize).min(MAX_SYNCS)];
            let last = readings.last().map_or(header.start_nanos, |reading| reading.nanos);
            let ends = [header.start_nanos, last].map(|at| {
                let (change, error) = compared.drift.over(at.wrapping_sub(measured.at) as i64);
                (measured.offset.saturating_add(change), measured.error.saturating_add(error))
            });
            let [(start, first), (end, last)] = ends;
            let words = [
                (offset_of!(Header, offset_start), start as u64),
                (offset_of!(Header, offset_end), end as u64),
                (offset_of!(Header, offset_error), first.max(last).max(1)),
            ];
            for (place, word) in words {
                if let Err(error) = follower.source().store(place as u64, word) {
                    self.warnings.insert(format!("cannot write the offset of a clock: {error}"));
                }
            }
        }
    }

    /// Adds new processes, and begins with those whose MPI was initialised meanwhile.
    pub(super) fn find(&mut self) {
        let entries = std::fs::read_dir(&self.live).into_iter().flatten().flatten();
        let is_own = |path: &PathBuf| {
            path.extension().is_some_and(|ending| ending == "live") && is_file_of(path, &self.name)
        };
        let files: Vec<PathBuf> = entries.map(|one| one.path()).filter(is_own).collect();
        for path in files {
            self.find_in(&path);
        }
    }

    fn find_in(&mut self, path: &Path) {
        // The records of a host share its file.
        let mut file: Option<OpenRecord> = None;
        for record in live_records(path).unwrap_or_default() {
            let Some(id) = record.id().filter(|_| record.has_head) else { continue };
            let before = self.found.remove(&id);
            let was_beginning = matches!(before, Some(Process::Beginning(_)));
            let follower = match before {
                Some(Process::Beginning(mut follower)) => {
                    follower.read_header();
                    follower
                }
                Some(known) => {
                    self.found.insert(id, known);
                    continue;
                }
                None => {
                    let opened = match &file {
                        Some(file) => Ok(record.open_beside(file)),
                        None => record.open_to_release(),
                    };
                    let Ok(source) = opened else {
                        let what = format!("the record of a process cannot be observed: {record}");
                        self.warn(what);
                        continue;
                    };
                    file.get_or_insert_with(|| record.open_beside(&source));
                    let Ok(follower) = ProcessFollower::new(source) else { continue };
                    follower
                }
            };
            let header = follower.header();
            let is_observed = header.observed & observed::BY_ALL != 0;
            if is_observed && header.world != 0 {
                self.measured.insert(id, Comparison::of_ranks(header, was_beginning));
            }
            let process = if header.host_name() != self.name {
                Process::Left
            } else if header.world == 0 {
                Process::Beginning(follower)
            } else if !is_observed {
                Process::Left
            } else if header.ring == 0 || kept_file(path, header).exists() {
                Process::Awaited(follower)
            } else {
                Process::Observed(Box::new(Observed::new(path, follower)))
            };
            self.found.insert(id, process);
        }
    }

    /// Copies the complete records of this host from its own disk into the run directory, kept
    /// times first. When no record is left, readings of the network follow.
    pub(super) fn bring_back(&mut self, directory: &RunDirectory) {
        let own = || {
            let entries = std::fs::read_dir(&self.live).into_iter().flatten().flatten();
            entries.map(|one| one.path()).filter(|path| is_file_of(path, &self.name))
        };
        let (records, kept): (Vec<_>, Vec<_>) = own().partition(|path| records::is_record(path));
        let mut failed = Vec::new();
        // A record is complete with its kept times only.
        for path in &kept {
            failed.extend(records::copy(path, directory).err().map(|error| (error, path.clone())));
        }
        let is_complete = |one: &LiveProcess| {
            let header = &one.header;
            // Ranks that nobody observes merge their records before they end.
            let is_awaited = header.observed & (observed::BY_ALL | observed::EXITING) != 0;
            let is_over = is_awaited || !is_running(header.pid);
            header.host_name() == self.name && !may_write(header) && is_over
        };
        for path in records {
            let brought = records::bring_file(&path, directory, &is_complete);
            failed.extend(brought.err().map(|error| (error, path)));
        }
        if failed.is_empty() && !own().any(|path| records::is_record(&path)) {
            let counters = counters::file(&self.live, &self.name);
            if counters.exists()
                && let Err(error) = records::copy(&counters, directory)
            {
                failed.push((error, counters.clone()));
            }
            for path in kept.iter().chain([&counters]) {
                let _ = std::fs::remove_file(path);
            }
            // Empty where the disk is the node's own.
            let _ = std::fs::remove_dir(&self.live);
        }
        for (error, path) in failed {
            let path = path.display();
            self.warn(format!("cannot copy the record from --live-dir: {error}: `{path}`"));
        }
    }

    /// Reads what is new in each process and writes what is kept, in the last look of everything;
    /// true if there may be more.
    pub(super) fn look(&mut self, is_last: bool) -> bool {
        let mut is_more = false;
        for process in self.found.values_mut() {
            let Process::Observed(one) = process else { continue };
            let is_left = one.look();
            is_more |= is_left;
            if let Err(error) = one.write(is_last && !is_left) {
                let path = one.kept.display();
                self.warnings.insert(format!(
                    "cannot write kept times, new ones are kept while --memory lasts: {error}: `{path}`"
                ));
            }
        }
        is_more
    }
}

/// The file of kept times of a process.
fn kept_file(live: &Path, header: &Header) -> PathBuf {
    kept_path(live, &header.host_name(), header.pid, Nanos(header.start_realtime))
}

/// True while a process may write its record. One that uses sessions may open another after the
/// last was closed.
fn is_recording(process: &mut ProcessFollower<OpenRecord>) -> bool {
    process.read_header();
    may_write(process.header())
}

/// The same by its head.
fn may_write(header: &Header) -> bool {
    let is_open = header.state == state::RECORDING || header.world == 0;
    is_open && header.observed & observed::EXITING == 0 && is_running(header.pid)
}

impl Observed {
    /// Begins with the first event of a process whose mapped file is `live`.
    fn new(live: &Path, follower: ProcessFollower<OpenRecord>) -> Self {
        let kept = kept_file(live, follower.header());
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

#[cfg(test)]
mod tests {
    use talea_run::live::layout::{MAGIC, Sync, VERSION};
    use talea_run::mapped::live_name;
    use zerocopy::{FromBytes as _, FromZeros as _, IntoBytes as _};

    use super::super::clock::{MAX_START, now};
    use super::super::this_host;
    use super::*;

    /// A record of this host, of a world with two ranks, last read five seconds after its start.
    fn record(live: &Path, number: u32, start: u64, change: impl FnOnce(&mut Header)) -> PathBuf {
        let mut header = Header::new_zeroed();
        (header.magic, header.version) = (MAGIC, VERSION);
        header.header_bytes = size_of::<Header>() as u32;
        header.pid = std::process::id();
        (header.world, header.size, header.observed) = (7, 2, observed::BY_ALL);
        let host = this_host();
        header.host[..host.len()].copy_from_slice(host.as_bytes());
        header.state = state::RECORDING;
        header.start_nanos = start;
        header.syncs[0] = Sync { ticks: 0, nanos: start };
        header.syncs[1] = Sync { ticks: 5, nanos: start + 5_000_000_000 };
        header.sync_count = 2;
        (header.offset_start, header.offset_end, header.offset_error) = (-400, -400, 30);
        change(&mut header);
        let path = live.join(live_name(&host, number, Nanos(6)));
        std::fs::write(&path, header.as_bytes()).unwrap();
        path
    }

    fn compared(first: Comparison, newest: Comparison) -> Compared {
        let mut compared = Compared::NOTHING;
        compared.add(first);
        compared.add(newest);
        compared
    }

    /// Offsets at start and end, and their uncertainty.
    fn clock(path: &Path) -> [i64; 3] {
        let header = Header::read_from_bytes(&std::fs::read(path).unwrap()).unwrap();
        [header.offset_start, header.offset_end, header.offset_error as i64]
    }

    #[test]
    fn records_get_the_drift_of_their_clock() {
        let start = now().saturating_sub(2 * MAX_START);
        let at = |second: u64, offset, error| Comparison {
            at: start + second * 1_000_000_000,
            offset,
            error,
        };
        let first = at(1, 5_000, 10);
        let folder = tempfile::tempdir().unwrap();
        let one = record(folder.path(), 1, start, |_| ());
        let alone = record(folder.path(), 2, start, |header| (header.world, header.size) = (8, 1));
        let left = record(folder.path(), 3, start, |header| {
            (header.world, header.observed) = (9, observed::EXITING);
        });
        let mut host = Host::new(folder.path());
        host.find();
        // Nothing is known but that it is an oscillator.
        host.note_clock(&Compared::NOTHING);
        assert_eq!(clock(&one), [-400, -400, 30 + 500_000]);
        // 500 ns a second, and then 400; the error is that of the start and of the change.
        host.note_clock(&compared(first, at(3, 6_000, 10)));
        assert_eq!(clock(&one), [-400, 2_100, 30 + 50]);
        host.note_clock(&compared(first, at(11, 9_000, 20)));
        assert_eq!(clock(&one), [-400, 1_600, 30 + 15]);
        // The next observer knows less.
        let mut next = Host::new(folder.path());
        next.find();
        next.note_clock(&Compared::NOTHING);
        assert_eq!(clock(&one), [-400, 1_600, 30 + 15]);
        for other in [&alone, &left] {
            assert_eq!(clock(other), [-400, -400, 30]);
        }
        assert!(host.warnings().is_empty());
    }

    #[test]
    fn clocks_are_measured_after_the_start() {
        let start = now().saturating_sub(MAX_START / 2);
        let folder = tempfile::tempdir().unwrap();
        let one = record(folder.path(), 1, start, |_| ());
        let mut host = Host::new(folder.path());
        host.find();
        let at = |second: u64, offset| Comparison { at: second * 1_000_000_000, offset, error: 0 };
        host.note_clock(&compared(at(0, 0), at(10, 10_000)));
        let [begin, end, error] = clock(&one);
        // A thousand a second, for the half minute before it was found.
        assert!((-40_400..=-30_400).contains(&begin), "{begin}");
        assert_eq!((end - begin, error), (5_000, 30));
    }

    #[test]
    fn processes_without_a_world_have_the_clock_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = record(folder.path(), 1, 20_000_000_000, |header| {
            (header.world, header.state, header.observed) = (0, state::FINALIZED, 0);
            (header.offset_start, header.offset_end, header.offset_error) = (0, 0, 0);
        });
        let mut host = Host::new(folder.path());
        host.find();
        let at = |second: u64, offset| Comparison { at: second * 1_000_000_000, offset, error: 7 };
        let compared = compared(at(20, 500_000), at(30, 510_000));
        host.note_clock(&compared);
        assert_eq!(clock(&path), [0; 3], "it may still initialise MPI");
        let mut header = Header::read_from_bytes(&std::fs::read(&path).unwrap()).unwrap();
        header.observed = observed::EXITING;
        std::fs::write(&path, header.as_bytes()).unwrap();
        host.note_clock(&compared);
        assert_eq!(clock(&path), [500_000, 505_000, 7 + 14]);
        host.note_clock(&Compared::NOTHING);
        assert_eq!(clock(&path), [500_000, 505_000, 7 + 14]);
    }

    #[test]
    fn processes_that_exit_are_not_awaited() {
        let folder = tempfile::tempdir().unwrap();
        let awaits = |change: fn(&mut Header)| {
            let path = record(folder.path(), 1, 0, change);
            let mut host = Host::new(folder.path());
            host.find();
            let has_ended = host.has_ended();
            std::fs::remove_file(path).unwrap();
            !has_ended
        };
        assert!(awaits(|_| ()));
        assert!(!awaits(|header| header.state = state::FINALIZED));
        // It may open another session.
        assert!(awaits(|header| (header.world, header.state) = (0, state::FINALIZED)));
        assert!(!awaits(|header| {
            (header.world, header.state, header.observed) =
                (0, state::FINALIZED, observed::EXITING);
        }));
        // The last reading of the network follows.
        let counters = counters::file(folder.path(), &this_host());
        let own = std::process::id();
        std::fs::write(&counters, format!("#! process {own}\nat 1\n")).unwrap();
        assert!(awaits(|header| header.state = state::FINALIZED));
        std::fs::write(&counters, format!("#! process {own}\nat 1\n#! ended MPI_Finalize\n"))
            .unwrap();
        assert!(!awaits(|header| header.state = state::FINALIZED));
    }
}

//! Observers: what is done beside a running program, on each of its hosts.
//!
//! Owns when this is done. An observer reads rings and keeps chosen times ([`collector`]), compares
//! its host's clock ([`clock`]), and copies records from a node's own disk ([`host`]). On its own
//! host `talea run` has a thread for rings. On each other host a process of the program starts
//! `talea observe` ([`talea_run::observers`]), which ends soon after the processes of its host. A
//! kill of the program or of an observer loses no kept times. Processes never wait for observers:
//! where chunks are not released they take new ones.

mod clock;
mod collector;
mod host;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use talea_run::RunDirectory;
use talea_run::observers::{self, Claim, ObserverFile, Patience};

pub use clock::server_addresses;
use clock::{Clock, Compared, Server};
use host::Host;
use worker::Worker;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Number of looks between two lists of the files, and where nothing of the known ones is read.
const LIST_EVERY_LOOKS: u64 = 10;
const LIST_SELDOM: u64 = 100;
/// Time after which the drift of the clock is written again.
const NOTE_CLOCK: Duration = Duration::from_secs(1);
/// Maximum time for reading the rest after the program's end.
const LAST: Duration = Duration::from_mins(1);
/// Time in which the first process of a host has to be there.
const FIRST: Duration = Duration::from_secs(10);

/// The threads of `talea run` that work beside the program.
#[derive(Debug)]
pub(crate) struct Beside {
    /// Reads the rings of this host, and returns warnings; absent where there are none.
    observer: Option<Worker<Vec<String>>>,
    /// Answers the observers of other hosts.
    server: Server,
}

impl Beside {
    /// `rings` is the folder with the files of this host's processes, if these have rings.
    pub(crate) fn start(rings: Option<PathBuf>, directory: &RunDirectory) -> Self {
        let work = |live: PathBuf| {
            Worker::start("talea-observer", move |stop| {
                let mut host = Host::new(&live);
                observe(&mut host, &mut |_| stop.load(Ordering::Acquire));
                host.warnings()
            })
        };
        Self { observer: rings.map(work), server: Server::start(directory.live()) }
    }

    /// Reads the rest when the program has ended, and waits for the observers of other hosts, whose
    /// files are in the run directory; returns warnings.
    pub(crate) fn finish(self, directory: &RunDirectory) -> Vec<String> {
        // A bug in it must not hide how the program ended.
        let failed = |error| {
            vec![format!(
                "the observer does not work, later times are kept while --memory lasts: {error}"
            )]
        };
        let mut warnings =
            self.observer.map_or_else(Vec::new, |one| one.finish().unwrap_or_else(failed));
        let live = directory.live();
        let mut patience = Patience::new();
        while !observers::unfinished(&live).is_empty() && patience.lasts(&live) {
            std::thread::sleep(PAUSE);
        }
        if let Err(error) = self.server.finish() {
            warnings.push(format!("clocks of hosts cannot be compared: {error}"));
        }
        for path in observers::unfinished(&live) {
            warnings.push(format!(
                "the observer of a host has not finished, records and times of its processes may be missing: `{}`",
                path.display()
            ));
        }
        warnings.extend(observers::take_warnings(&live));
        warnings
    }
}

/// Observes the processes of this host whose files are in `live`, for a program that `talea run`
/// recorded on another host, until they have ended. `file` is the one in the run directory that
/// their starter has claimed for this. `report` is called when they have ended and `talea run`
/// still waits.
///
/// # Errors
/// Those of the system; no run directory, or another observer has begun.
pub fn observe_host(file: &Path, live: &Path, report: &dyn Fn()) -> std::io::Result<()> {
    let mut file = ObserverFile::at(file);
    let run = file.path().parent().and_then(Path::parent).map(Path::to_owned);
    let run = run.ok_or(std::io::ErrorKind::InvalidInput)?;
    let directory = RunDirectory::open(&run).map_err(std::io::Error::other)?;
    file.begin(live)?;
    let mut host = Host::new(live);
    let begin = Instant::now();
    let mut compared = Compared::NOTHING;
    loop {
        let clock = Clock::start(directory.live(), compared);
        let mut noted = Instant::now();
        observe(&mut host, &mut |host| {
            if noted.elapsed() > NOTE_CLOCK {
                host.note_clock(&clock.compared());
                noted = Instant::now();
            }
            host.has_ended() || host.is_empty() && begin.elapsed() > FIRST || !live.is_dir()
        });
        compared = clock.finish();
        host.note_clock(&compared);
        if live != directory.live() {
            host.bring_back(&directory);
        }
        file.warn(&host.warnings());
        report();
        file.end();
        // A process that began before the file was removed relies on this observer.
        host.find();
        if host.is_empty() || host.has_ended() || !live.is_dir() {
            return Ok(());
        }
        match ObserverFile::claim(&run, &this_host())? {
            Claim::New(again) => file = again,
            // One that began afterwards has started another one.
            Claim::Present(_) => return Ok(()),
        }
        file.begin(live)?;
    }
}

/// Name of this host, as in records: at most 63 bytes.
pub fn this_host() -> String {
    let name = rustix::system::uname().nodename().to_bytes().to_owned();
    String::from_utf8_lossy(&name[..name.len().min(63)]).into_owned()
}

/// Looks at the processes until `has_ended`, and then reads the rest.
fn observe(host: &mut Host, has_ended: &mut dyn FnMut(&mut Host) -> bool) {
    let mut looks = 0_u64;
    let mut ended: Option<Instant> = None;
    loop {
        // Before the last look, so that nothing comes after it.
        let mut is_last = ended.is_some() || has_ended(host);
        let every = if host.is_settled() { LIST_SELDOM } else { LIST_EVERY_LOOKS };
        if looks.is_multiple_of(every) || is_last && ended.is_none() {
            host.find();
            is_last = is_last && has_ended(host);
            if !is_last {
                ended = None;
            }
        }
        looks += 1;
        let is_more = host.look(is_last);
        if is_last {
            let is_late = ended.get_or_insert_with(Instant::now).elapsed() > LAST;
            if is_late && is_more {
                host.warn("reading the times of the last calls takes too long".to_owned());
            }
            if is_late || !is_more {
                return;
            }
        }
        if !is_more {
            std::thread::sleep(PAUSE);
        }
    }
}

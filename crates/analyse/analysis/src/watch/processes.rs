//! The processes of a run that are followed on this host.
//!
//! Owns the order of reading: the cost of a look grows with the new events and the size of the
//! graphs. It reads the mapped files of processes; these never wait for it.

mod state;

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use talea_flow::growth::Look;
use talea_model::{Gap, GapKind, Gaps};
use talea_results::watch::RankState;
use talea_run::RunDirectory;
use talea_run::mapped::{RecordId, is_file_of, live_records};

use super::bursts::ThreadBursts;
use super::names::Names;
use super::process::Watched;

/// Maximum number of events of a thread that are read before the next thread's.
const EVENTS: u64 = 1 << 18;
/// Maximum number of processes that are followed; the others are a gap.
const MOST: usize = 4096;

/// Processes that are followed.
#[derive(Debug)]
pub struct Processes {
    directory: RunDirectory,
    /// Records that are followed, or that cannot be.
    known: HashSet<RecordId>,
    all: Vec<Watched>,
    /// Host whose processes are followed; absent: all.
    host: Option<String>,
    /// Names of hosts' files whose processes are not followed.
    without: HashSet<String>,
    /// Number of processes that are too many.
    beyond: usize,
    names: Names,
    /// Number of the process that is read first: each has its turn where time is short.
    first: usize,
    new_events: u64,
    look: Look,
    gaps: Gaps,
}

impl Processes {
    /// The processes of the run in this directory, from their first event on; only those of `host`
    /// if it is given.
    pub fn new(directory: RunDirectory, host: Option<String>) -> Self {
        let names = Names::new(directory.clone(), host.clone());
        Self {
            directory,
            known: HashSet::new(),
            all: Vec::new(),
            host,
            without: HashSet::new(),
            beyond: 0,
            names,
            first: 0,
            new_events: 0,
            look: Look::default(),
            gaps: Gaps::default(),
        }
    }

    /// From now on follows no process of these hosts, as others report their state.
    pub fn leave_out(&mut self, hosts: HashSet<String>) {
        self.all.retain(|one| !hosts.contains(&one.host_name()));
        if hosts.is_subset(&self.without) && hosts != self.without {
            // Files that were left out may be wanted now.
            self.known.clear();
            self.known.extend(self.all.iter().map(Watched::id));
        }
        self.without = hosts;
    }

    /// Hosts whose processes are followed.
    pub(super) fn hosts(&self) -> HashSet<String> {
        self.all.iter().map(Watched::host_name).collect()
    }

    /// True without a process to follow.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// True if events that had ended are not read yet.
    pub fn has_left(&self) -> bool {
        self.all.iter().any(|one| one.left() > 0) && self.new_events > 0
    }

    /// True if one of them is running.
    pub fn is_running(&self) -> bool {
        self.all.iter().any(|one| one.state() == RankState::Running)
    }

    /// Number of bursts so far.
    pub(super) fn burst_count(&self) -> u64 {
        let counts = self.all.iter().flat_map(Watched::bursts).map(ThreadBursts::count);
        counts.fold(0, u64::saturating_add)
    }

    /// Reads what is new, for about as long as `within` at most. A look is this and a snapshot.
    pub fn read(&mut self, within: Duration) {
        let begin = Instant::now();
        self.find();
        self.all.iter_mut().for_each(Watched::begin_look);
        self.new_events = self.read_events(begin, within);
        self.look = Look::default();
        for one in &mut self.all {
            self.look.add(one.end_look());
        }
        let known = |names: &Names, one: &Watched| names.knows(one.key(), &one.nodes());
        if !self.all.iter().all(|one| known(&self.names, one)) {
            let hosts: HashSet<&str> = self.all.iter().map(Watched::host).collect();
            // At the end of the run every call has its name.
            if self.is_running() {
                self.names.load(&hosts, &mut self.gaps);
            } else {
                self.names.load_now(&hosts, &mut self.gaps);
            }
        }
    }

    /// Reads new events of all processes until none is left or the time is over; returns their
    /// number.
    fn read_events(&mut self, begin: Instant, within: Duration) -> u64 {
        let mut events = 0;
        loop {
            let (mut new, count) = (0, self.all.len());
            for turn in 0..count {
                let at = (self.first + turn) % count;
                new += self.all[at].read(EVENTS);
                if begin.elapsed() >= within {
                    self.first = at + 1;
                    return events + new;
                }
            }
            if new == 0 {
                return events;
            }
            events += new;
        }
    }

    /// Follows processes that are new.
    fn find(&mut self) {
        let files = self.directory.live_files().unwrap_or_default();
        self.beyond = 0;
        let is_live = |path: &Path| path.extension().is_some_and(|ending| ending == "live");
        let host = self.host.clone();
        let is_ours = |path: &Path| host.as_deref().is_none_or(|host| is_file_of(path, host));
        let without = self.without.clone();
        let is_wanted = |path: &Path| {
            !path.file_stem().is_some_and(|name| without.contains(&*name.to_string_lossy()))
        };
        for path in files.into_iter().filter(|path| is_live(path) && is_ours(path)) {
            if !is_wanted(&path) {
                continue;
            }
            // A file that is packed and removed meanwhile is no gap.
            let Ok(records) = live_records(&path) else { continue };
            for record in records.into_iter().filter(|record| record.has_head) {
                let Some(id) = record.id().filter(|id| !self.known.contains(id)) else { continue };
                let beside = self.all.iter().find(|one| one.id().is_beside(&id));
                let failed = match Watched::open(&record, id, beside) {
                    Ok(process)
                        if self.host.as_deref().is_some_and(|one| one != process.host()) =>
                    {
                        None
                    }
                    // Records are copied where they were in another folder.
                    Ok(process) if self.all.iter().any(|one| one.is_copy_of(&process)) => None,
                    Ok(_) if self.all.len() == MOST => {
                        self.beyond += 1;
                        continue;
                    }
                    Ok(process) => {
                        self.all.push(process);
                        None
                    }
                    Err(error) => Some(format!("a process cannot be watched: {error}")),
                };
                if let Some(detail) = failed {
                    let gap = Gap { kind: GapKind::Missing, rank: None, detail, count: 0 };
                    self.gaps.note(gap);
                }
                self.known.insert(id);
            }
        }
        self.all.sort_by_key(|one| (one.world(), one.rank()));
    }
}

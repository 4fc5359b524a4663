//! A running program: its loops, call sites and ranks at successive looks.
//!
//! Owns the look at the processes of this host, to which the snapshots of other hosts are added. It
//! reads the mapped files of processes; these never wait for it. Sums of time are the recorder's
//! exact ones; the main loop and its iterations are those of [`talea_flow::online`].

mod bounded;
mod bursts;
mod clusters;
mod guide;
mod names;
mod process;
mod processes;
mod snapshot;
mod spread;
#[cfg(test)]
mod tests;
mod view;
mod wire;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use talea_results::watch::WatchData;
use talea_run::RunDirectory;

pub use guide::Guide;
pub use processes::Processes;
pub use snapshot::Snapshot;
pub use view::View;
pub use wire::{DecodeError, MAX_BYTES};

/// Time without a running process after which a run counts as ended, though its outcome is not
/// known: a script may start another program.
const PAUSE: Duration = Duration::from_secs(5);

/// A run that is watched.
#[derive(Debug)]
pub struct Watch {
    directory: RunDirectory,
    processes: Processes,
    view: View,
    /// True if another host has reported.
    has_others: bool,
    /// When a process was running last.
    ran: Instant,
}

impl Watch {
    /// Watches the run in this directory, from its first event on.
    pub fn new(directory: RunDirectory) -> Self {
        let processes = Processes::new(directory.clone(), None);
        Self { directory, processes, view: View::default(), has_others: false, ran: Instant::now() }
    }

    /// True if there is a process to follow.
    pub fn has_processes(&self) -> bool {
        !self.processes.is_empty() || self.has_others
    }

    /// Reads what is new, for about as long as `within` at most.
    pub fn look(&mut self, within: Duration) -> WatchData {
        self.look_with(within, |_, _| Snapshot::default())
    }

    /// Reads new events, and adds the state of other hosts. `others` gets the hosts whose processes
    /// are followed from here, and whether the outcome of the run is known: last states were sent
    /// before.
    pub fn look_with(
        &mut self,
        within: Duration,
        others: impl FnOnce(&HashSet<String>, bool) -> Snapshot,
    ) -> WatchData {
        let begin = Instant::now();
        self.processes.read(within);
        let has_ended = self.directory.metadata().is_ok_and(|about| about.outcome.is_some());
        let others = others(&self.processes.hosts(), has_ended);
        self.has_others |= others.hosts().next().is_some();
        let is_running = self.is_running(has_ended, &others);
        let read = Instant::now();
        let bursts = self.processes.burst_count().saturating_add(others.burst_count);
        let wants = self.view.wants_bursts(bursts, is_running);
        let mut all = self.processes.snapshot(&self.view.guide(), wants);
        all.merge(if wants { others } else { others.without_bursts() });
        self.view.look(all, is_running, (begin, read))
    }

    /// From the next look on leaves the processes of these hosts to `others`.
    pub fn leave_out(&mut self, hosts: HashSet<String>) {
        self.processes.leave_out(hosts);
    }

    /// Common knowledge for the other hosts.
    pub fn guide(&self) -> Guide {
        self.view.guide()
    }

    fn is_running(&mut self, has_ended: bool, others: &Snapshot) -> bool {
        if self.processes.is_running() || !has_ended && !others.has_ended() {
            self.ran = Instant::now();
            return true;
        }
        !has_ended && self.ran.elapsed() < PAUSE
    }
}

//! A watched job: the processes of this host, and the states of the others.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use talea_analysis::watch::{Snapshot, Watch};
use talea_launch::{server_addresses, this_host};
use talea_results::watch::WatchData;
use talea_run::RunDirectory;
use talea_run::observers::{self, ServerAddress};

use super::children::Children;
use super::server::Server;
use crate::PageError;
use crate::token::Token;

/// Time in which all hosts should have reported.
const FIRST: Duration = Duration::from_secs(5);
/// Pause between two looks for a host's first state.
const PAUSE: Duration = Duration::from_millis(50);

/// The root of a tree of hosts.
#[derive(Debug)]
struct Root {
    directory: RunDirectory,
    children: Arc<Mutex<Children>>,
    begin: Instant,
    _server: Server,
}

impl Root {
    fn open(directory: &RunDirectory) -> Result<Self, PageError> {
        let token = Token::new()?;
        let children = Arc::new(Mutex::new(Children::of_root()));
        let server = Server::start(token.clone(), Arc::clone(&children), false)?;
        let addresses = server_addresses(server.port());
        let (live, host) = (directory.live(), this_host());
        observers::remove_dead_watchers(&live, &host);
        ServerAddress { token: token.bytes(), addresses }
            .publish(&live, &observers::watcher_name(&host))?;
        let directory = directory.clone();
        Ok(Self { directory, children, begin: Instant::now(), _server: server })
    }

    fn children(&self) -> MutexGuard<'_, Children> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hosts whose processes are not followed from here: those that have reported, and for a time
    /// all that have an observer.
    fn left_out(&self, observed: &HashSet<String>) -> HashSet<String> {
        let mut hosts = self.children().reported().clone();
        if self.begin.elapsed() < FIRST {
            hosts.extend(observed.iter().cloned());
        }
        hosts
    }

    /// The state of the hosts that have reported, without those that are `followed` from here.
    fn state(
        &self,
        observed: &HashSet<String>,
        followed: &HashSet<String>,
        has_ended: bool,
    ) -> Snapshot {
        let mut children = self.children();
        let at = Instant::now();
        let mut state = children.state(followed, has_ended);
        children.mark_seen(at);
        let missing = observed.difference(children.reported()).count();
        if missing > 0 && self.begin.elapsed() > FIRST {
            let hosts = match missing {
                1 => "1 host has".to_owned(),
                many => format!("{many} hosts have"),
            };
            state.note(format!(
                "{hosts} not reported: their observers have ended, are older, or cannot reach this host"
            ));
        }
        state
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        ServerAddress::withdraw(&self.directory.live(), &observers::watcher_name(&this_host()));
    }
}

/// A job that is watched.
#[derive(Debug)]
pub struct Job {
    directory: RunDirectory,
    watch: Watch,
    root: Option<Root>,
    failed: Option<String>,
}

impl Job {
    /// Watches the run in this directory, from its first event on.
    pub fn new(directory: RunDirectory) -> Self {
        let watch = Watch::new(directory.clone());
        Self { directory, watch, root: None, failed: None }
    }

    /// True if there is a process to follow.
    pub fn has_processes(&self) -> bool {
        self.watch.has_processes()
    }

    /// Waits until the other hosts have reported, or `within` is over; false where there are none.
    pub fn wait_for_hosts(&mut self, within: Duration) -> bool {
        let begin = Instant::now();
        loop {
            let observed = self.observed();
            let Some(root) = &self.root else { return false };
            let is_complete = observed.is_subset(root.children().reported());
            if is_complete || begin.elapsed() >= within {
                return true;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Reads what is new, for about as long as `within` at most.
    pub fn look(&mut self, within: Duration) -> WatchData {
        let observed = self.observed();
        let (root, failed) = (&self.root, &self.failed);
        self.watch
            .leave_out(root.as_ref().map(|root| root.left_out(&observed)).unwrap_or_default());
        let others = |followed: &HashSet<String>, has_ended| {
            let state = |root: &Root| root.state(&observed, followed, has_ended);
            let mut all = root.as_ref().map(state).unwrap_or_default();
            if let Some(error) = failed {
                all.note(format!("other hosts cannot report: {error}"));
            }
            all
        };
        let data = self.watch.look_with(within, others);
        if let Some(root) = root {
            root.children().set_guide(self.watch.guide());
        }
        data
    }

    /// Other hosts with an observer; opens the server for them.
    fn observed(&mut self) -> HashSet<String> {
        let observed = observers::observed_hosts(&self.directory.live());
        if !observed.is_empty() && self.root.is_none() && self.failed.is_none() {
            match Root::open(&self.directory) {
                Ok(root) => self.root = Some(root),
                Err(error) => self.failed = Some(error.to_string()),
            }
        }
        observed
    }
}

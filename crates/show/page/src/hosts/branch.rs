//! The observer of a host: it sends the state of its processes while somebody watches.
//!
//! Owns the times of looks, and the way of a state: to the parent that the root has named, and to
//! the root where that one does not answer. Each command that watches has a tree of its own.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use talea_analysis::watch::{Guide, MAX_BYTES, Processes, Snapshot};
use talea_launch::server_addresses;
use talea_run::RunDirectory;
use talea_run::observers::{self, ServerAddress};
use ureq::Agent;

use super::children::Children;
use super::server::{Asking, Server};
use super::{ASK, MAX_ANSWER, Position};
use crate::token::Token;

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// Maximum time of a request.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause between two collections of bursts, in the time that one takes.
const PAUSE: u32 = 100;
/// Number of failures after which pauses grow no longer: about a minute.
const MAX_FAILURES: u32 = 6;
/// Maximum times at the end, when others wait: for reading the rest, of a request, and in all.
const REST: Duration = Duration::from_millis(300);
const LAST_REQUEST: Duration = Duration::from_millis(200);
const LAST: Duration = Duration::from_millis(800);

/// The thread of an observer that sends states.
#[derive(Debug)]
pub struct Branch {
    /// Asks for the last state; the answer is that it was sent. Without it the thread ends.
    asks: Option<Sender<Sender<()>>>,
    thread: Option<JoinHandle<()>>,
}

impl Branch {
    /// Sends the state of the processes of `host`, as records name it, while a command watches the
    /// run in `directory`.
    pub fn start(directory: RunDirectory, host: String) -> Self {
        let (asks, asked) = channel();
        let work = move || run(&directory, &host, &asked);
        let thread = Builder::new().name("talea-branch".to_owned()).spawn(work);
        Self { asks: Some(asks), thread: thread.ok() }
    }

    /// Sends the last state of processes that have ended; to be called before `talea run` stops
    /// waiting for this host.
    pub fn send_last(&self) {
        let (sent, is_sent) = channel();
        if let Some(asks) = &self.asks
            && asks.send(sent).is_ok()
        {
            // An error is the end of the thread.
            let _ = is_sent.recv_timeout(LAST);
        }
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        self.asks = None;
        // A bug in it must not hide how the observation ended.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn run(directory: &RunDirectory, host: &str, asked: &Receiver<Sender<()>>) {
    let mut links: Vec<(String, Link)> = Vec::new();
    let mut looks: Option<Looks> = None;
    loop {
        let last = match asked.recv_timeout(EVERY) {
            Ok(sent) => Some(sent),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let is_last = last.is_some();
        let watchers = observers::watchers(&directory.live());
        links.retain(|(name, link)| {
            watchers.iter().any(|(other, server)| other == name && *server == link.root)
        });
        for (name, root) in watchers {
            if !links.iter().any(|(other, _)| *other == name) {
                let own = observers::host_name(host).unwrap_or_else(|_| host.to_owned());
                links.push((name, Link::new(&own, root, false)));
            }
        }
        let mut due: Vec<&mut Link> =
            links.iter_mut().map(|(_, link)| link).filter(|link| link.is_due(is_last)).collect();
        if let Some(first) = due.iter().find(|link| link.failures == 0).or(due.first()) {
            let guide = first.guide();
            let is_new = due.iter().any(|link| link.failures == 0 && !link.has_bursts);
            let state = looks
                .get_or_insert_with(|| Looks::new(directory.clone(), host))
                .look(&guide, is_new, is_last);
            for link in &mut due {
                if is_last {
                    link.send_last(state.clone());
                } else {
                    link.send(state.clone());
                }
            }
        }
        if let Some(sent) = last {
            let _ = sent.send(());
        }
    }
}

/// Looks at the processes of the host.
#[derive(Debug)]
struct Looks {
    processes: Processes,
    /// End and length of the last collection of bursts.
    collected: Option<(Instant, Duration)>,
}

impl Looks {
    fn new(directory: RunDirectory, host: &str) -> Self {
        let processes = Processes::new(directory, Some(host.to_owned()));
        Self { processes, collected: None }
    }

    fn look(&mut self, guide: &Guide, needs_bursts: bool, is_last: bool) -> Snapshot {
        let begin = Instant::now();
        self.processes.read(if is_last { REST } else { EVERY / 2 });
        while is_last && self.processes.has_left() && begin.elapsed() < REST {
            self.processes.read(REST);
        }
        let is_soon = |(end, length): (Instant, Duration)| end.elapsed() < length * PAUSE;
        let is_due = needs_bursts || is_last || !self.collected.is_some_and(is_soon);
        let begin = Instant::now();
        let state = self.processes.snapshot(guide, is_due);
        if is_due {
            self.collected = Some((Instant::now(), begin.elapsed()));
        }
        state
    }
}

/// The way to one command that watches.
pub(super) struct Link {
    host: String,
    /// Its server is on loopback only.
    on_loopback: bool,
    root: ServerAddress,
    agent: Agent,
    /// Addresses that have answered, of the root and of the parent.
    reached: [Option<SocketAddr>; 2],
    position: Position,
    pub(super) asked: Option<Instant>,
    children: Arc<Mutex<Children>>,
    server: Option<Server>,
    /// True if the bursts of all calls so far were sent.
    has_bursts: bool,
    /// Number of states in a row that had no answer, and the time of the next one then.
    failures: u32,
    next: Option<Instant>,
}

impl Link {
    pub(super) fn new(host: &str, root: ServerAddress, on_loopback: bool) -> Self {
        let agent = Agent::new_with_defaults();
        Self {
            host: host.to_owned(),
            on_loopback,
            root,
            agent,
            reached: [None; 2],
            position: Position::default(),
            asked: None,
            children: Arc::new(Mutex::new(Children::of_host())),
            server: None,
            has_bursts: false,
            failures: 0,
            next: None,
        }
    }

    /// Common knowledge of all hosts.
    pub(super) fn guide(&self) -> Guide {
        self.below().guide().clone()
    }

    fn below(&self) -> MutexGuard<'_, Children> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False for a while after failures: a command that was killed has left its address.
    fn is_due(&self, is_last: bool) -> bool {
        let is_over = self.next.is_none_or(|next| Instant::now() >= next);
        is_over || is_last && self.failures <= 1
    }

    /// Sends the state of this host and of those below it. Without an answer the next look tries
    /// again.
    pub(super) fn send(&mut self, mut state: Snapshot) {
        if self.asked.is_none_or(|asked| asked.elapsed() >= ASK) {
            self.ask();
        }
        let guide = self.guide();
        let has_bursts = state.has_bursts();
        let at = Instant::now();
        let below = self.below().state(&HashSet::new(), false);
        state.merge(below);
        // Those of the hosts below are sent together with its own.
        let state = if has_bursts { state } else { state.without_bursts() };
        let bytes = state.to_bytes(MAX_BYTES, &guide);
        let asking = Asking { host: self.host.clone(), ..Asking::default() };
        let parent = self.position.parent.clone();
        let mut answer = self.post(1, &parent, "state", &asking, &bytes, PATIENCE);
        if answer.is_none() {
            // It may have nothing of this host.
            self.has_bursts &= parent.is_empty();
            let root = self.root.addresses.clone();
            answer = self.post(0, &root, "state", &asking, &bytes, PATIENCE);
        }
        let guide = answer.and_then(|bytes| Guide::from_bytes(&bytes).ok());
        self.below().set_cut_off(guide.is_none());
        let Some(guide) = guide else {
            self.failures += 1;
            let pause = EVERY * 2_u32.saturating_pow(self.failures.min(MAX_FAILURES));
            self.next = Some(Instant::now() + pause);
            return;
        };
        (self.failures, self.next) = (0, None);
        let mut below = self.below();
        below.set_guide(guide);
        below.mark_seen(at);
        drop(below);
        self.has_bursts |= has_bursts;
    }

    /// Sends the last state of this host to the root, which is there longest. Hosts below it have
    /// to go there as well.
    pub(super) fn send_last(&mut self, state: Snapshot) {
        self.server = None;
        let bytes = state.to_bytes(MAX_BYTES, &self.guide());
        let asking = Asking { host: self.host.clone(), last: true, ..Asking::default() };
        let near = |addresses: &[SocketAddr], reached: Option<SocketAddr>| {
            let first = reached.or(addresses.first().copied());
            first.into_iter().collect::<Vec<_>>()
        };
        let root = near(&self.root.addresses, self.reached[0]);
        self.post(0, &root, "state", &asking, &bytes, LAST_REQUEST);
        if let Some(parent) = self.reached[1] {
            self.post(1, &[parent], "leave", &asking, &[], LAST_REQUEST);
        }
    }

    /// Asks the root for the place of this host.
    fn ask(&mut self) {
        self.asked = Some(Instant::now());
        let port = self.server.as_ref().map(Server::port);
        let addresses = match port {
            Some(port) if self.on_loopback => vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))],
            Some(port) => server_addresses(port),
            None => Vec::new(),
        };
        let server: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        let asking =
            Asking { host: self.host.clone(), server: server.join(","), ..Asking::default() };
        let root = self.root.addresses.clone();
        let answer = self.post(0, &root, "position", &asking, &[], PATIENCE);
        let answer = answer.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(position): Option<Position> = answer else { return };
        if position.parent != self.position.parent {
            // Another host has nothing of this one.
            (self.has_bursts, self.reached[1]) = (false, None);
        }
        self.position = position;
        if self.position.serves && self.server.is_none() {
            let token = Token::from_bytes(self.root.token);
            self.server = Server::start(token, Arc::clone(&self.children), self.on_loopback).ok();
            // The hosts below need its address.
            if self.server.is_some() {
                self.ask();
            }
        }
    }

    /// Posts to the first address that answers; the one that has answered before is tried first.
    fn post(
        &mut self,
        which: usize,
        addresses: &[SocketAddr],
        route: &str,
        asking: &Asking,
        body: &[u8],
        patience: Duration,
    ) -> Option<Vec<u8>> {
        let before = self.reached[which].filter(|one| addresses.contains(one));
        let others = addresses.iter().copied().filter(|&one| Some(one) != before);
        for address in before.into_iter().chain(others) {
            let url = format!("http://{address}/{}/{route}", Token::from_bytes(self.root.token));
            let request = self
                .agent
                .post(&url)
                .config()
                .timeout_global(Some(patience))
                .build()
                .query("host", &asking.host)
                .query("server", &asking.server)
                .query("last", asking.last.to_string());
            let Ok(mut answer) = request.send(body) else { continue };
            let read = answer.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
            if let Ok(bytes) = read {
                self.reached[which] = Some(address);
                return Some(bytes);
            }
        }
        self.reached[which] = None;
        None
    }
}

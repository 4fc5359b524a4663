//! Hosts below one: their newest states, and their places in the tree.
//!
//! Owns the rule that no host counts twice. Where two states contain the same host, the one of more
//! hosts is taken while it is new: the other is that of a host that could not reach its parent for
//! once. Hosts tell their parents when they end, and the root their last state.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use talea_analysis::watch::{Guide, Snapshot};

use super::{ASK, FANOUT, Position};

/// Time without a state after which a host is late.
pub(super) const LATE: Duration = Duration::from_secs(10);
/// Time by which a state is older than the newest one, after which states of fewer hosts go before.
pub(super) const QUIET: Duration = Duration::from_secs(3);
/// Maximum numbers of hosts that send to the root and to another host.
const HOSTS: usize = 1 << 13;
const HOSTS_BELOW: usize = 4 * FANOUT;
/// Maximum number of bytes of a host's name.
const NAME: usize = 256;
/// Number of hosts whose names a gap has.
const NAMED: usize = 4;

/// Number of the host that a host sends to, by its own number; `None`: the root. As in a heap, the
/// first hosts send to the root, the next ones to the first of these.
pub fn parent_of(number: usize) -> Option<usize> {
    number.checked_sub(FANOUT).map(|below| below / FANOUT)
}

/// The newest state of a host and of those below it.
#[derive(Debug)]
struct Child {
    state: Snapshot,
    at: Instant,
    was_seen: bool,
    /// It sends no further state.
    is_last: bool,
}

/// A host that has asked for its place.
#[derive(Debug)]
struct Known {
    number: usize,
    server: Vec<SocketAddr>,
    asked: Instant,
}

/// Hosts below this one.
#[derive(Debug)]
pub(super) struct Children {
    is_root: bool,
    /// True while this host itself has no answer from above.
    is_cut_off: bool,
    states: HashMap<String, Child>,
    known: HashMap<String, Known>,
    /// Hosts by number.
    order: Vec<String>,
    /// Hosts that have reported at some time.
    reported: HashSet<String>,
    guide: Guide,
}

impl Children {
    pub(super) fn of_root() -> Self {
        Self { is_root: true, ..Self::of_host() }
    }

    pub(super) fn of_host() -> Self {
        Self {
            is_root: false,
            is_cut_off: false,
            states: HashMap::new(),
            known: HashMap::new(),
            order: Vec::new(),
            reported: HashSet::new(),
            guide: Guide::default(),
        }
    }

    fn max(&self) -> usize {
        if self.is_root { HOSTS } else { HOSTS_BELOW }
    }

    /// Takes the state of a host; returns the common knowledge. `None`: the host has to send to the
    /// root, or there are too many hosts.
    pub(super) fn report(&mut self, host: &str, state: Snapshot, is_last: bool) -> Option<&Guide> {
        let at = Instant::now();
        if self.is_cut_off || host.len() > NAME {
            return None;
        }
        if self.is_root && self.reported.len() < HOSTS {
            self.reported.extend(state.hosts().cloned());
        }
        if let Some(child) = self.states.get_mut(host) {
            child.state.replace(state, child.was_seen);
            (child.at, child.was_seen, child.is_last) = (at, false, is_last);
        } else if self.states.len() < self.max() {
            let child = Child { state, at, was_seen: false, is_last };
            self.states.insert(host.to_owned(), child);
        } else {
            return None;
        }
        Some(&self.guide)
    }

    /// Forgets a host that sends its last state to the root.
    pub(super) fn leave(&mut self, host: &str) {
        self.states.remove(host);
    }

    /// The place of a host in the tree below this root; `server` are its addresses.
    pub(super) fn position(&mut self, host: &str, server: Vec<SocketAddr>) -> Position {
        if host.len() > NAME || self.order.len() == HOSTS && !self.known.contains_key(host) {
            return Position::default();
        }
        let (next, asked) = (self.order.len(), Instant::now());
        let known = self.known.entry(host.to_owned()).or_insert_with(|| {
            self.order.push(host.to_owned());
            Known { number: next, server: Vec::new(), asked }
        });
        (known.server, known.asked) = (server, asked);
        let number = known.number;
        let above = parent_of(number).and_then(|above| self.order.get(above));
        let has_ended = |name| self.states.get(name).is_some_and(|child: &Child| child.is_last);
        let above = above.filter(|name| !has_ended(*name)).and_then(|name| self.known.get(name));
        let parent = above.filter(|one| one.asked.elapsed() < 3 * ASK);
        Position {
            parent: parent.map_or_else(Vec::new, |one| one.server.clone()),
            serves: self.order.len() > FANOUT * (number + 1),
        }
    }

    /// Common knowledge of all hosts.
    pub(super) fn guide(&self) -> &Guide {
        &self.guide
    }

    pub(super) fn set_guide(&mut self, guide: Guide) {
        self.guide = guide;
    }

    /// Notes whether this host has an answer from above.
    pub(super) fn set_cut_off(&mut self, is_cut_off: bool) {
        self.is_cut_off = is_cut_off;
    }

    /// Hosts that have reported at some time.
    pub(super) fn reported(&self) -> &HashSet<String> {
        &self.reported
    }

    /// Number of hosts that have sent a state to this one since then.
    #[cfg(test)]
    pub(super) fn direct(&self, since: Instant) -> usize {
        self.states.values().filter(|child| child.at >= since).count()
    }

    /// The state of the hosts below, without hosts in `without`; `has_ended`: no state is to come.
    pub(super) fn state(&mut self, without: &HashSet<String>, has_ended: bool) -> Snapshot {
        self.state_at(Instant::now(), without, has_ended)
    }

    pub(super) fn state_at(
        &mut self,
        now: Instant,
        without: &HashSet<String>,
        has_ended: bool,
    ) -> Snapshot {
        let is_late = |child: &Child| {
            !child.is_last && (has_ended || now.saturating_duration_since(child.at) > LATE)
        };
        if !self.is_root {
            // These send to the root.
            self.states.retain(|_, child| !is_late(child));
        }
        let newest = self.states.values().map(|child| child.at).max().unwrap_or(now);
        let mut all: Vec<(&String, &mut Child)> = self.states.iter_mut().collect();
        all.sort_by_cached_key(|(name, child)| {
            let is_quiet = !child.is_last && newest.duration_since(child.at) > QUIET;
            let hosts = Reverse(child.state.hosts().count());
            (is_late(child), is_quiet, hosts, (*name).clone())
        });
        let (mut sum, mut hosts) = (Snapshot::default(), without.clone());
        let (mut late, mut covered) = (BTreeSet::new(), Vec::new());
        for (name, child) in all {
            if child.state.hosts().any(|host| hosts.contains(host)) {
                let is_covered = child.state.hosts().all(|host| hosts.contains(host));
                if is_covered && now.saturating_duration_since(child.at) > LATE {
                    covered.push(name.clone());
                }
                continue;
            }
            hosts.extend(child.state.hosts().cloned());
            if is_late(child) {
                late.extend(child.state.hosts().cloned());
            }
            if child.was_seen {
                sum.merge(child.state.without_news());
            } else {
                sum.merge(child.state.clone());
            }
        }
        for name in &covered {
            self.states.remove(name);
        }
        let lost: BTreeSet<String> = self.reported.difference(&hosts).cloned().collect();
        if !late.is_empty() {
            let names = names(&late);
            sum.note(format!("hosts do not report, and their last state is shown: {names}"));
        }
        if !lost.is_empty() {
            let names = names(&lost);
            sum.note(format!("hosts do not report, and their state is unknown: {names}"));
        }
        sum
    }

    /// States that came until `at` were shown, or have arrived above.
    pub(super) fn mark_seen(&mut self, at: Instant) {
        self.states.values_mut().filter(|child| child.at <= at).for_each(|one| one.was_seen = true);
    }
}

/// Some of these hosts, and the number of the others.
fn names(hosts: &BTreeSet<String>) -> String {
    let some: Vec<String> = hosts.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    match hosts.len() - some.len() {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

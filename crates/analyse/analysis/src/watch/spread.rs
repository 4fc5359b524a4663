//! Bursts of many threads, with the names of the calls at both ends.
//!
//! Owns the numbers of pairs of names, and the threads whose last bursts are kept in order: those
//! with the lowest hashes, so that it does not matter in which order hosts are merged. Ranges of
//! durations ([`Kind`]) tell other hosts the clusters; each host counts its own threads.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use talea_cluster::bins::{Bin, Bins, DOUBLINGS, Key, Recent};
use talea_model::Rank;

/// Maximum number of bins.
pub(super) const MAX_BINS: usize = 1 << 16;
/// Maximum numbers of threads whose last bursts are compared, and of these bursts.
const THREADS: usize = 64;
const RECENT: usize = 8192;

/// The calls before and after a burst.
pub(super) type Ends = [String; 2];

/// The last bursts of a thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sequence {
    /// A number that no other thread is likely to have.
    pub(super) thread: u64,
    /// Edges and nanoseconds, in order.
    pub(super) bursts: Vec<(u32, u64)>,
}

/// Bursts of some threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Flat", try_from = "Flat")]
pub(super) struct Bursts {
    edges: Vec<Ends>,
    numbers: HashMap<Ends, u32>,
    pub(super) bins: Bins,
    sequences: Vec<Sequence>,
    /// Bins of each thread of this host.
    threads: Vec<Vec<Key>>,
    /// Number of threads of other hosts that have bursts of a cluster, for clusters that these
    /// hosts knew.
    counted: HashMap<u32, u64>,
    /// Number of threads of other hosts in each bin: a minimum for clusters that are new.
    elsewhere: HashMap<Key, u64>,
}

impl Default for Bursts {
    fn default() -> Self {
        Self {
            edges: Vec::new(),
            numbers: HashMap::new(),
            bins: Bins::new(MAX_BINS),
            sequences: Vec::new(),
            threads: Vec::new(),
            counted: HashMap::new(),
            elsewhere: HashMap::new(),
        }
    }
}

/// A range of durations that belongs to a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Kind {
    /// Number of the cluster.
    pub(super) id: u32,
    /// The calls at both ends; absent: any.
    pub(super) ends: Option<Ends>,
    /// The lowest and the highest class of durations.
    pub(super) low: u16,
    pub(super) high: u16,
}

impl Bursts {
    /// The number of a pair of calls.
    pub(super) fn edge(&mut self, ends: Ends) -> u32 {
        let next = self.edges.len() as u32;
        *self.numbers.entry(ends).or_insert_with_key(|ends| {
            self.edges.push(ends.clone());
            next
        })
    }

    /// The calls at both ends of an edge.
    pub(super) fn ends(&self, edge: u32) -> Option<&Ends> {
        self.edges.get(edge as usize)
    }

    /// Adds a thread: its bins, and its last bursts, newest first. Edges have the numbers of
    /// [`Self::edge`].
    pub(super) fn add_thread(
        &mut self,
        thread: u64,
        bins: impl Iterator<Item = (Key, Bin)>,
        newest: impl Iterator<Item = (u32, u64)>,
    ) {
        let mut own = Vec::new();
        for (key, bin) in bins {
            self.bins.add(key, bin);
            own.push(key);
        }
        self.threads.push(own);
        let mut bursts: Vec<_> = newest.take(RECENT).collect();
        bursts.reverse();
        self.add_sequence(Sequence { thread, bursts });
    }

    /// Adds bursts of other threads.
    pub(super) fn merge(&mut self, other: &Self) {
        self.merge_renamed(other, Clone::clone);
    }

    /// The same bursts between calls of other names, which may be equal.
    pub(super) fn renamed(&self, name: impl Fn(&Ends) -> Ends) -> Self {
        let mut all = Self::default();
        all.merge_renamed(self, name);
        all
    }

    fn merge_renamed(&mut self, other: &Self, name: impl Fn(&Ends) -> Ends) {
        let edges: Vec<u32> = other.edges.iter().map(|ends| self.edge(name(ends))).collect();
        let edge = |own: u32| edges.get(own as usize).copied();
        self.bins.merge(&other.bins, edge);
        let key = |own: &Key| Some(own.at(edge(own.edge)?));
        let threads = other.threads.iter().map(|one| one.iter().filter_map(key).collect());
        self.threads.extend(threads);
        for (&id, &count) in &other.counted {
            add(&mut self.counted, id, count);
        }
        for (own, &count) in &other.elsewhere {
            if let Some(key) = key(own) {
                add(&mut self.elsewhere, key, count);
            }
        }
        for one in &other.sequences {
            let bursts = one.bursts.iter().filter_map(|&(own, nanos)| Some((edge(own)?, nanos)));
            self.add_sequence(Sequence { thread: one.thread, bursts: bursts.collect() });
        }
    }

    fn add_sequence(&mut self, sequence: Sequence) {
        let at = self.sequences.partition_point(|one| one.thread < sequence.thread);
        if at < THREADS && !sequence.bursts.is_empty() {
            self.sequences.insert(at, sequence);
            self.shorten_sequences(THREADS, RECENT);
        }
    }

    /// Keeps at most so many sequences and bursts in them: each has the same maximum.
    pub(super) fn shorten_sequences(&mut self, threads: usize, bursts: usize) {
        self.sequences.truncate(threads);
        let each = (bursts / self.sequences.len().max(1)).max(1);
        for one in &mut self.sequences {
            one.bursts.drain(..one.bursts.len().saturating_sub(each));
        }
    }

    /// Numbers edges as `before`.
    pub(super) fn continue_from(&mut self, before: &Self) {
        let mut all = Self {
            edges: before.edges.clone(),
            numbers: before.numbers.clone(),
            ..Self::default()
        };
        all.merge(self);
        *self = all;
    }

    /// Makes bins wider, and then counts those with least time as lost, until there are at most so
    /// many.
    pub(super) fn shorten_bins(&mut self, most: usize) {
        while self.bins.len() > most && self.bins.doublings() < DOUBLINGS {
            self.bins.widen(self.bins.doublings() + 1);
        }
        if self.bins.len() > most {
            let mut all: Vec<(u64, Key)> =
                self.bins.iter().map(|(key, bin)| (bin.nanos, key)).collect();
            all.sort_unstable_by_key(|&(nanos, key)| (std::cmp::Reverse(nanos), key));
            all[most..].iter().for_each(|&(_, key)| self.bins.lose(key));
        }
    }

    /// The last bursts of some threads.
    pub(super) fn recent(&self) -> Vec<Recent> {
        let of_thread = |(row, one): (u32, &Sequence)| {
            let recent = |&(edge, nanos): &(u32, u64)| Recent { rank: Rank(row), edge, nanos };
            one.bursts.iter().map(recent).collect::<Vec<_>>()
        };
        (0..).zip(&self.sequences).flat_map(of_thread).collect()
    }

    /// Number of threads that have bursts of each cluster; `id_of` has the clusters of bins.
    pub(super) fn threads_of(&self, id_of: impl Fn(Key) -> Option<u32>) -> HashMap<u32, u64> {
        let mut all = self.counted.clone();
        for (&key, &count) in &self.elsewhere {
            if let Some(id) = id_of(key) {
                let threads = all.entry(id).or_default();
                *threads = (*threads).max(count);
            }
        }
        for (id, count) in self.threads_here(id_of) {
            add(&mut all, id, count);
        }
        all
    }

    /// Number of threads of this host that have bursts of each cluster.
    fn threads_here(&self, id_of: impl Fn(Key) -> Option<u32>) -> HashMap<u32, u64> {
        let mut all = HashMap::new();
        for own in &self.threads {
            let mut ids: Vec<u32> = own.iter().filter_map(|&key| id_of(key)).collect();
            ids.sort_unstable();
            ids.dedup();
            for id in ids {
                add(&mut all, id, 1);
            }
        }
        all
    }

    /// Counts the threads of this host for each cluster, as others do not get their bins.
    pub(super) fn count_threads(&mut self, kinds: &[Kind]) {
        let number = |ends: &Ends| self.numbers.get(ends).copied();
        let known: Vec<(Option<u32>, &Kind)> = kinds
            .iter()
            .filter_map(|kind| match &kind.ends {
                Some(ends) => number(ends).map(|edge| (Some(edge), kind)),
                None => Some((None, kind)),
            })
            .collect();
        let id_of = |key: Key| {
            let is_it = |(edge, kind): &&(Option<u32>, &Kind)| {
                edge.is_none_or(|edge| edge == key.edge)
                    && (kind.low..=kind.high).contains(&key.class())
            };
            known.iter().find(is_it).map(|(_, kind)| kind.id)
        };
        for (id, count) in self.threads_here(id_of) {
            add(&mut self.counted, id, count);
        }
        for own in std::mem::take(&mut self.threads) {
            let mut keys: Vec<Key> = own.iter().map(|&key| self.bins.bin_of(key)).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                add(&mut self.elsewhere, key, 1);
            }
        }
    }
}

fn add<K: Eq + std::hash::Hash>(all: &mut HashMap<K, u64>, key: K, more: u64) {
    let sum = all.entry(key).or_default();
    *sum = sum.saturating_add(more);
}

/// A bin: edge, class, number of bursts, the sum of their nanoseconds, and the number of threads.
type FlatBin = (u32, u16, u64, u64, u64);

/// The form that travels.
#[derive(Serialize, Deserialize)]
struct Flat {
    names: Vec<String>,
    edges: Vec<[u32; 2]>,
    doublings: u8,
    bins: Vec<FlatBin>,
    lost: [u64; 2],
    sequences: Vec<(u64, Vec<(u32, u64)>)>,
    counted: Vec<(u32, u64)>,
}

impl From<Bursts> for Flat {
    fn from(all: Bursts) -> Self {
        // Edges that are in no bin and sequence are left out.
        let mut number = vec![None; all.edges.len()];
        let mut edges: Vec<u32> = Vec::new();
        let mut new = |edge: u32| {
            *number[edge as usize].get_or_insert_with(|| {
                edges.push(edge);
                edges.len() as u32 - 1
            })
        };
        let mut bins: Vec<(Key, Bin)> = all.bins.iter().collect();
        bins.sort_unstable_by_key(|(key, _)| *key);
        let mut threads: HashMap<Key, u64> = HashMap::new();
        for (&key, &count) in &all.elsewhere {
            // Of a wider bin the minimum is known.
            let most = threads.entry(all.bins.bin_of(key)).or_default();
            *most = count.max(*most);
        }
        let flat = |(key, bin): (Key, Bin)| {
            let threads = threads.get(&key).copied().unwrap_or_default();
            (new(key.edge), key.class(), bin.bursts, bin.nanos, threads)
        };
        let bins = bins.into_iter().map(flat).collect();
        let sequences = all.sequences.into_iter().map(|one| {
            let bursts = one.bursts.into_iter().map(|(edge, nanos)| (new(edge), nanos));
            (one.thread, bursts.collect())
        });
        let sequences = sequences.collect();
        let (mut names, mut numbers) = (Vec::new(), HashMap::new());
        let edges = edges.iter().map(|&edge| {
            all.edges[edge as usize].each_ref().map(|name| {
                *numbers.entry(name.clone()).or_insert_with(|| {
                    names.push(name.clone());
                    names.len() as u32 - 1
                })
            })
        });
        let edges = edges.collect();
        let mut counted: Vec<(u32, u64)> = all.counted.into_iter().collect();
        counted.sort_unstable();
        let (doublings, lost) = (all.bins.doublings(), all.bins.lost());
        let lost = [lost.bursts, lost.nanos];
        Self { names, edges, doublings, bins, lost, sequences, counted }
    }
}

impl TryFrom<Flat> for Bursts {
    type Error = String;

    fn try_from(flat: Flat) -> Result<Self, String> {
        let mut all = Self::default();
        let name = |at: u32| flat.names.get(at as usize).cloned();
        for &[from, to] in &flat.edges {
            let ends = name(from).zip(name(to)).ok_or("an edge has no name")?;
            let edge = all.edge([ends.0, ends.1]);
            if edge as usize + 1 != all.edges.len() {
                return Err("an edge stands there twice".to_owned());
            }
        }
        let count = all.edges.len() as u32;
        let known = |edge: u32| if edge < count { Ok(edge) } else { Err("no such edge") };
        all.bins.widen(flat.doublings);
        for (edge, class, bursts, nanos, threads) in flat.bins {
            let key = Key::of_class(known(edge)?, class);
            all.bins.add(key, Bin { bursts, nanos });
            if all.bins.get(key).bursts > 0 {
                add(&mut all.elsewhere, key, threads);
            }
        }
        let [bursts, nanos] = flat.lost;
        all.bins.add_lost(Bin { bursts, nanos });
        for (thread, bursts) in flat.sequences {
            bursts.iter().try_for_each(|&(edge, _)| known(edge).map(drop))?;
            all.add_sequence(Sequence { thread, bursts });
        }
        all.counted = flat.counted.into_iter().collect();
        Ok(all)
    }
}

//! Snapshots as bytes, of at most a given number, whatever the number of ranks.
//!
//! Owns the form that travels between hosts, and the order in which rows are left out where it
//! would be too long: ranks that do not stand out, call sites with little time, narrow bins. Totals
//! stay exact, and rows that are left out are counted. Bytes from outside are believed within
//! bounds.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::Read as _;

use talea_model::{Gap, GapKind};
use talea_results::watch::RankState;

use super::guide::{CALLS, Guide};
use super::snapshot::{RankPart, SiteSums, Snapshot};
use super::wire::DecodeError;

/// Version of the form, its first byte.
const VERSION: u8 = 1;
/// Maximum number of bytes when it is unpacked.
const MAX_UNPACKED: u64 = 2 << 20;
/// Maximum window of a compressor, as a power of two.
const WINDOW: u32 = 21;
/// Level of compression: snapshots are made beside a program.
const LEVEL: i32 = 1;
/// Number of times that all lists are halved; then no list has an entry.
const HALVES: u32 = 16;
/// Maximum number of bytes of a name.
const NAME: usize = 400;
/// The gap that stands for those left out.
const MORE_GAPS: &str = "there are further gaps, which are not listed";
/// Name of all call sites that are not listed.
const OTHER_SITES: &str = "(other call sites)";

/// Maximum lengths of lists.
#[derive(Clone, Copy, Debug)]
struct Limits {
    ranks: usize,
    sites: usize,
    bins: usize,
    recent: usize,
    groups: usize,
    gaps: usize,
    hosts: usize,
    worlds: usize,
}

impl Limits {
    fn halved(times: u32) -> Self {
        let part = |all: usize| all.checked_shr(times).unwrap_or(0);
        Self {
            ranks: part(1024),
            sites: part(1024),
            bins: part(4096),
            recent: part(8192),
            groups: part(256),
            gaps: part(128),
            hosts: part(4096),
            worlds: part(128),
        }
    }
}

impl Snapshot {
    /// The bytes that travel, at most `max`, and what is left out then is counted. Threads are
    /// counted for the clusters of the guide.
    pub fn to_bytes(mut self, max: usize, guide: &Guide) -> Vec<u8> {
        if let Some(bursts) = &mut self.bursts {
            bursts.count_threads(&guide.kinds);
        }
        self.shorten_names();
        let mut last = Vec::new();
        for halves in 0..=HALVES {
            self.shorten(Limits::halved(halves));
            let Some(packed) = pack(&self) else { continue };
            last = packed;
            if last.len() <= max {
                break;
            }
        }
        last
    }

    /// The snapshot in `bytes`.
    ///
    /// # Errors
    /// Other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let damaged = |error: &dyn std::fmt::Display| DecodeError::Damaged(error.to_string());
        let packed = bytes.strip_prefix(&[VERSION]).ok_or(DecodeError::Version)?;
        let mut unpacked = Vec::new();
        let mut decoder = zstd::Decoder::new(packed).map_err(|error| damaged(&error))?;
        decoder.window_log_max(WINDOW).map_err(|error| damaged(&error))?;
        decoder.take(MAX_UNPACKED).read_to_end(&mut unpacked).map_err(|error| damaged(&error))?;
        let mut found: Self = rmp_serde::from_slice(&unpacked).map_err(|error| damaged(&error))?;
        // Sums and pictures need finite numbers.
        if found.main.as_ref().is_some_and(|main| !main.variation.is_finite()) {
            found.main = None;
        }
        found.shorten_names();
        found.shorten(Limits::halved(0));
        found.worlds.sort_unstable();
        found.sort_ranks();
        Ok(found)
    }

    /// Shortens lists to `limits`.
    fn shorten(&mut self, limits: Limits) {
        if self.ranks.len() > limits.ranks {
            self.shorten_ranks(limits.ranks);
        }
        if self.sites.len() > limits.sites {
            self.shorten_sites(limits.sites);
        }
        if let Some(bursts) = &mut self.bursts {
            bursts.shorten_sequences(limits.recent.div_ceil(128), limits.recent);
            bursts.shorten_bins(limits.bins);
        }
        if let Some(main) = &mut self.main {
            while main.history.len() > limits.groups.max(1) {
                let pairs = main.history.chunks(2).map(|pair| {
                    let mut sum = pair[0];
                    pair[1..].iter().for_each(|later| sum.add(later));
                    sum
                });
                main.history = pairs.collect();
            }
        }
        if self.gaps.iter().count() > limits.gaps {
            let all = std::mem::take(&mut self.gaps);
            all.iter().take(limits.gaps).for_each(|gap| self.gaps.note(gap.clone()));
            let detail = MORE_GAPS.to_owned();
            self.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
        }
        // As many calls as there are programs count iterations.
        while self.other_ranks.counted.len() > limits.ranks.max(1) {
            self.other_ranks.counted.pop_last();
        }
        while self.hosts.len() > limits.hosts.max(1) {
            self.hosts.pop_last();
        }
        self.worlds.truncate(limits.worlds.max(1));
    }

    /// Keeps ranks that stand out: those that were killed or aborted, those with the maximum and
    /// the minimum time in MPI, those with the fewest iterations, and the first.
    pub(super) fn shorten_ranks(&mut self, most: usize) {
        let state = |one: &RankPart| !matches!(one.state, RankState::Killed | RankState::Aborted);
        let share = |one: &RankPart| (one.recent_mpi.of_one() * 1e9) as u64;
        let visits = |one: &RankPart| one.counted.first().map_or(u64::MAX, |(_, visits)| *visits);
        let orders: [&dyn Fn(&RankPart) -> u64; 5] =
            [&|one| u64::from(state(one)), &|one| u64::MAX - share(one), &share, &visits, &|_| 0];
        let mut kept: HashSet<usize> = HashSet::new();
        for order in orders {
            let mut all: Vec<usize> = (0..self.ranks.len()).collect();
            all.sort_by_key(|&at| (order(&self.ranks[at]), at));
            kept.extend(all.into_iter().take(most / orders.len()));
        }
        for (at, rank) in std::mem::take(&mut self.ranks).into_iter().enumerate() {
            if kept.contains(&at) {
                self.ranks.push(rank);
            } else {
                self.other_ranks.add_rank(&rank);
            }
        }
    }

    /// Keeps call sites with most time, and the sum of the others.
    fn shorten_sites(&mut self, most: usize) {
        let mut rest = self.sites.remove(OTHER_SITES).unwrap_or_default();
        let mut all: Vec<(String, SiteSums)> =
            std::mem::take(&mut self.sites).into_iter().collect();
        let key = |sums: &SiteSums| Reverse(sums.time.max(sums.recent));
        all.sort_by(|a, b| (key(&a.1), &a.0).cmp(&(key(&b.1), &b.0)));
        let others = all.split_off(all.len().min(most.saturating_sub(1)));
        for (_, sums) in others {
            rest.add(sums);
        }
        self.sites = all.into_iter().collect();
        self.sites.insert(OTHER_SITES.to_owned(), rest);
    }

    /// Cuts names that are too long for a list of them.
    fn shorten_names(&mut self) {
        if self.sites.keys().any(|name| name.len() > NAME) {
            for (mut name, sums) in std::mem::take(&mut self.sites) {
                cut(&mut name);
                self.sites.entry(name).or_default().add(sums);
            }
        }
        if self.hosts.iter().any(|name| name.len() > NAME) {
            self.hosts = self.hosts.iter().map(|name| shortened(name)).collect();
        }
        let counted = std::mem::take(&mut self.other_ranks.counted);
        self.other_ranks.counted =
            counted.into_iter().map(|(call, range)| (shortened(&call), range)).collect();
        for rank in &mut self.ranks {
            cut(&mut rank.host);
            rank.counted.truncate(CALLS);
            rank.counted.iter_mut().for_each(|(call, _)| cut(call));
            if let Some(inside) = &mut rank.inside {
                cut(&mut inside.site);
            }
        }
        if let Some(main) = &mut self.main {
            cut(&mut main.place);
            cut(&mut main.counted_by);
        }
        if let Some(bursts) = &mut self.bursts {
            *bursts = bursts.renamed(|ends| {
                let mut ends = ends.clone();
                ends.iter_mut().for_each(cut);
                ends
            });
        }
        for mut gap in std::mem::take(&mut self.gaps).iter().cloned() {
            cut(&mut gap.detail);
            self.gaps.note(gap);
        }
    }
}

/// A name as others know it.
pub(super) fn shortened(name: &str) -> String {
    let mut name = name.to_owned();
    cut(&mut name);
    name
}

/// Cuts a name in its middle, as both ends identify it.
fn cut(name: &mut String) {
    if name.len() > NAME {
        let begin = name.floor_char_boundary(NAME / 2);
        let end = name.ceil_char_boundary(name.len() - NAME / 2 + 8);
        *name = format!("{}...{}", &name[..begin], &name[end..]);
    }
}

/// `None` where it is too long before it is compressed.
fn pack(snapshot: &Snapshot) -> Option<Vec<u8>> {
    // All keys are texts or numbers, and the writer is memory.
    let plain = rmp_serde::to_vec_named(snapshot).unwrap_or_default();
    if plain.len() as u64 > MAX_UNPACKED {
        return None;
    }
    let mut bytes = vec![VERSION];
    bytes.extend(zstd::bulk::compress(&plain, LEVEL).unwrap_or_default());
    Some(bytes)
}

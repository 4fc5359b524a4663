//! Placement files of launchers, read as the host of each rank.
//!
//! Owns the three forms of [`super::text`] as other programs write them too: Slurm's host file
//! (names between commas or on lines of their own, `name*4` for four ranks), Open MPI's rankfile
//! (ranks in any order, slots of any form, which are ignored) and Cray's rank order (numbers and
//! ranges between commas or on lines). `#` begins a comment. Every rank from 0 on must occur once.
//! It refuses host files of `mpirun`, which list slots and not ranks.

use std::collections::{BTreeMap, HashMap};

use super::{PlaceError, Placement};
use crate::machine::{Fabric, HostId};

/// Maximum number of ranks in a file.
pub const MOST_RANKS: usize = 1 << 22;

/// Errors of placement files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A malformed line.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Line {
        /// Line number, from 1.
        line: u64,
        /// The expected form.
        expected: &'static str,
        /// The text found, shortened.
        found: String,
    },
    /// A duplicate rank.
    #[error("line {line}: rank {rank} was placed before, expected each rank once")]
    Twice {
        /// Line number, from 1.
        line: u64,
        /// The rank.
        rank: u32,
    },
    /// A missing rank.
    #[error("rank {rank} is not placed, expected all ranks from 0 to {last}")]
    Absent {
        /// The first missing rank.
        rank: u32,
        /// The last rank that occurs.
        last: u32,
    },
    /// No rank.
    #[error("expected a rank, found none")]
    Nothing,
    /// More ranks than the maximum.
    #[error("line {line}: more than {most} ranks, expected fewer", most = MOST_RANKS)]
    TooMany {
        /// Line number, from 1.
        line: u64,
    },
}

fn wrong(line: u64, expected: &'static str, found: &str) -> ReadError {
    ReadError::Line { line, expected, found: found.chars().take(60).collect() }
}

/// Lines with content, and their numbers.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let said = |line: &'_ str| line.split('#').next().unwrap_or("").trim().len();
    let lines = (1..).zip(text.lines()).filter(move |(_, line)| said(line) > 0);
    lines.map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()))
}

/// The host of each rank, from Slurm's host file.
///
/// # Errors
/// A name of two words, an invalid number of ranks, or too many of them.
pub fn hostfile(text: &str) -> Result<Vec<&str>, ReadError> {
    const EXPECTED: &str = "a host, or a host and how many ranks such as `n1*4`";
    let mut hosts = Vec::new();
    for (line, names) in lines(text) {
        for part in names.split(',') {
            let part = part.trim();
            let (name, times) = match part.split_once('*') {
                Some((name, times)) => (name, times.parse::<usize>().ok()),
                None => (part, Some(1)),
            };
            let one = !name.is_empty() && !name.contains(char::is_whitespace);
            let times = times.filter(|_| one).ok_or_else(|| wrong(line, EXPECTED, part))?;
            if times > MOST_RANKS - hosts.len() {
                return Err(ReadError::TooMany { line });
            }
            hosts.extend(std::iter::repeat_n(name, times));
        }
    }
    if hosts.is_empty() { Err(ReadError::Nothing) } else { Ok(hosts) }
}

/// The host of each rank, from Open MPI's rankfile.
///
/// # Errors
/// A line that is no `rank N=HOST slot=...`, a rank twice, or one that is missing.
pub fn rankfile(text: &str) -> Result<Vec<&str>, ReadError> {
    let mut hosts: BTreeMap<u32, &str> = BTreeMap::new();
    for (line, words) in lines(text) {
        let read = || {
            let rest = words.strip_prefix("rank")?.trim_start();
            let (rank, rest) = rest.split_once('=')?;
            let mut rest = rest.split_whitespace();
            let name = rest.next()?;
            rest.next()?.starts_with("slot").then_some((rank.trim().parse().ok()?, name))
        };
        let (rank, name) = read().ok_or_else(|| wrong(line, "`rank 0=host slot=0`", words))?;
        if hosts.insert(rank, name).is_some() {
            return Err(ReadError::Twice { line, rank });
        }
        if hosts.len() > MOST_RANKS {
            return Err(ReadError::TooMany { line });
        }
    }
    complete(hosts.keys().copied())?;
    Ok(hosts.into_values().collect())
}

/// Ranks in the order in which nodes are filled, from Cray's `MPICH_RANK_ORDER`.
///
/// # Errors
/// Text that is no number and no range such as `0-3`, a rank twice, or one that is missing.
pub fn rank_order(text: &str) -> Result<Vec<u32>, ReadError> {
    const EXPECTED: &str = "ranks or ranges of them such as `0,4-7`";
    let mut order: Vec<u32> = Vec::new();
    let mut seen: Vec<bool> = Vec::new();
    for (line, list) in lines(text) {
        // A list continues on the next line after a comma.
        for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let ends: Option<(u32, u32)> = first.trim().parse().ok().zip(last.trim().parse().ok());
            let ends = ends.filter(|(first, last)| first <= last);
            let (first, last) = ends.ok_or_else(|| wrong(line, EXPECTED, part))?;
            if last as usize >= MOST_RANKS {
                return Err(ReadError::TooMany { line });
            }
            seen.resize(seen.len().max(last as usize + 1), false);
            for rank in first..=last {
                if std::mem::replace(&mut seen[rank as usize], true) {
                    return Err(ReadError::Twice { line, rank });
                }
                order.push(rank);
            }
        }
    }
    let placed = (0..).zip(&seen).filter(|(_, seen)| **seen);
    complete(placed.map(|(rank, _)| rank))?;
    Ok(order)
}

/// Checks that ascending ranks begin at 0 and leave none out.
fn complete(ranks: impl Iterator<Item = u32> + Clone) -> Result<(), ReadError> {
    let last = ranks.clone().last().ok_or(ReadError::Nothing)?;
    match (0..).zip(ranks).find(|(expected, rank)| expected != rank) {
        Some((rank, _)) => Err(ReadError::Absent { rank, last }),
        None => Ok(()),
    }
}

/// Hosts of a network by name.
#[derive(Debug)]
pub struct Names<'a> {
    full: HashMap<&'a str, HostId>,
    /// Hosts by the name before the first point; `None` where several share it.
    short: HashMap<&'a str, Option<HostId>>,
}

impl<'a> Names<'a> {
    /// Names of all hosts.
    pub fn new(fabric: &'a Fabric) -> Self {
        let (mut full, mut by_short) = (HashMap::new(), HashMap::new());
        for (id, host) in (0..).map(HostId).zip(fabric.hosts()) {
            full.insert(host.name.as_str(), id);
            if let Some(short) = short(&host.name) {
                let one = by_short.entry(short).or_insert(Some(id));
                *one = one.filter(|first| *first == id);
            }
        }
        Self { full, short: by_short }
    }

    /// The host with this name. A name without its domain is found too, if one host alone has it,
    /// and so is one with a domain where the network's names have none.
    pub fn find(&self, name: &str) -> Option<HostId> {
        let found = self.full.get(name).copied();
        match short(name) {
            Some(short) if short == name => {
                found.or_else(|| self.short.get(short).copied().flatten())
            }
            Some(short) => found.or_else(|| self.full.get(short).copied()),
            None => found,
        }
    }
}

/// A name without its domain; `None` for an address.
fn short(name: &str) -> Option<&str> {
    let first = name.split('.').next().unwrap_or(name);
    (!first.bytes().all(|byte| byte.is_ascii_digit())).then_some(first)
}

/// Ranks on hosts of these names, found by [`Names::find`].
///
/// # Errors
/// A name that is not in the network.
pub fn placement(names: &[impl AsRef<str>], fabric: &Fabric) -> Result<Placement, PlaceError> {
    let known = Names::new(fabric);
    let hosts = (0..).zip(names).map(|(rank, name)| {
        let name = name.as_ref();
        known.find(name).ok_or_else(|| {
            let name = name.chars().take(80).collect();
            PlaceError::NoHost { rank, name, hosts: fabric.hosts().len() }
        })
    });
    Ok(Placement::from_hosts(hosts.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::place::{hosts_of_a_router as fabric, text};

    #[test]
    fn forms_that_others_write() {
        assert_eq!(hostfile("a, b*2 # two\n\n c\n").unwrap(), ["a", "b", "b", "c"]);
        let ranks = "# mine\nrank 1=b slot=0:1,3\nrank  0 = a slot=p0\n";
        assert_eq!(rankfile(ranks).unwrap(), ["a", "b"]);
        assert_eq!(rank_order("# 3\n4-5,0,\n1-3\n").unwrap(), [4, 5, 0, 1, 2, 3]);
        let fabric = fabric(&["a.x", "b", "c.x", "c.y"]);
        let found = placement(&["a", "b.z", "c.y", "a.x"], &fabric).unwrap();
        assert_eq!(found.hosts().iter().map(|host| host.0).collect::<Vec<_>>(), [0, 1, 3, 0]);
        let error = placement(&["b", "c"], &fabric).unwrap_err().to_string();
        assert!(placement(&["a.y"], &fabric).is_err() && placement(&["10.0"], &fabric).is_err());
        assert_eq!(error, "rank 1 is on host `c`, expected one of the network's 4");
    }

    #[test]
    fn what_is_wrong_with_files() {
        let said = [
            hostfile("a b").unwrap_err(),
            hostfile("a\nb*x").unwrap_err(),
            hostfile("a*99999999999").unwrap_err(),
            hostfile("# none").unwrap_err(),
            rankfile("rank 0=a").unwrap_err(),
            rankfile("rank 0=a slot=0\nrank 0=b slot=1").unwrap_err(),
            rankfile("rank 0=a slot=0\nrank 2=b slot=1").unwrap_err(),
            rank_order("0-x").unwrap_err(),
            rank_order("3-1").unwrap_err(),
            rank_order("0-4294967295").unwrap_err(),
            rank_order("0,1\n1").unwrap_err(),
            rank_order("1,2").unwrap_err(),
        ]
        .map(|error| error.to_string());
        insta::assert_snapshot!(said.join("\n"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(hosts in prop::collection::vec(0_u32..4, 1..20)) {
            let fabric = fabric(&["n0", "n1", "n2", "n3"]);
            let given = Placement::from_hosts(hosts.iter().copied().map(HostId).collect());
            let file = text::hostfile(&given, &fabric).unwrap();
            let names = hostfile(&file).unwrap();
            prop_assert_eq!(&placement(&names, &fabric).unwrap(), &given);
            let file = text::rankfile(&given, &fabric).unwrap();
            let names = rankfile(&file).unwrap();
            prop_assert_eq!(&placement(&names, &fabric).unwrap(), &given);
            let nodes = [0, 1, 2, 3].map(HostId);
            if let Ok(order) = text::rank_order(&given, &nodes) {
                let order = rank_order(&order).unwrap();
                let places = order.iter().map(|&rank| (given.hosts()[rank as usize].0, rank));
                prop_assert!(places.is_sorted());
            }
        }

        #[test]
        fn no_text_does_harm(text in "(rank [0-9]{1,2}=[a-c]|slot=0|[0-9]{1,3}|-|,|\\*|#|\n| |.{0,3}){0,20}") {
            let _ = hostfile(&text);
            let _ = rankfile(&text);
            let _ = rank_order(&text);
        }
    }
}

//! Placement of a run's processes: hosts, their objects, and the PUs on which threads may run.
//!
//! Owns the join of the processes' notes on their threads with the topologies beside the recording,
//! and the oddities: ranks on one PU, ranks that are not bound, more busy threads than PUs. Numbers
//! of PUs are the operating system's.

use std::collections::HashMap;

use talea_model::units::percent;
use talea_model::{Gaps, Nanos, Rank};
use talea_run::RunDirectory;
use talea_run::recording::Process;
use talea_topo::Machine;
use talea_topology::{CpuSet, ObjectId, ObjectKind, Topology};

use super::delays::{CROWDED, Delay};
use super::ranges::ranges;
use super::rank::RankStudy;
use talea_run::load::Run;

/// Minimum part of its process's time on PUs for a working thread; others wait for something.
const WORKS: f64 = 0.1;
/// Maximum number of ranks that a sentence names.
const NAMED: usize = 8;

/// A host and its processes.
#[derive(Debug)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its objects; `None` where they are unknown.
    pub topology: Option<Topology>,
    /// Reasons for missing objects or properties.
    pub gaps: Vec<String>,
    /// Its processes, by rank.
    pub processes: Vec<Placed>,
}

/// A process of a host.
#[derive(Debug)]
pub struct Placed {
    /// The displayed rank.
    pub rank: Rank,
    /// The operating system's number.
    pub pid: u32,
    /// PUs on which its working threads may run; empty where the kernel had no answer.
    pub allowed: CpuSet,
    /// PUs on which its working threads ran last.
    pub last: CpuSet,
    /// Threads.
    pub threads: usize,
    /// Threads that work.
    pub working: usize,
    /// Time for which its threads were ready without a PU, where the kernel has readings.
    pub delay: Option<Delay>,
}

/// The hosts of a run in the order of their first ranks; `ranks` has one entry for each process.
pub fn hosts(run: &Run, ranks: &[RankStudy]) -> Vec<Host> {
    let mut all: Vec<Host> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (process, study) in run.recording.processes.iter().zip(ranks) {
        let place = *places.entry(&process.host).or_insert_with(|| {
            all.push(Host::read(&run.directory, process.host.clone()));
            all.len() - 1
        });
        all[place].processes.push(placed(process, study.rank, study.end - study.begin));
    }
    all
}

fn placed(process: &Process, rank: Rank, wall: Nanos) -> Placed {
    let works = |busy: Nanos| busy.0 as f64 > WORKS * wall.0 as f64;
    // Where none works longer than the kernel's clock tick, the first thread represents all.
    let any = process.places.iter().any(|place| works(place.busy));
    let working = || {
        process.places.iter().filter(
            move |place| {
                if any { works(place.busy) } else { place.tid == process.pid }
            },
        )
    };
    let allowed = working().filter_map(|place| CpuSet::from_list(&place.allowed).ok());
    Placed {
        rank,
        pid: process.pid,
        allowed: allowed.fold(CpuSet::default(), |all, set| all.or(&set)),
        last: working()
            .map(|place| place.last as usize)
            .fold(CpuSet::default(), |all, pu| all.or(&CpuSet::single(pu))),
        threads: process.places.len(),
        working: working().count(),
        delay: Delay::from_process(process),
    }
}

impl Host {
    fn read(directory: &RunDirectory, name: String) -> Self {
        let path = directory.host(&name);
        let (topology, gaps) = match Machine::of_file(&path) {
            Ok(Machine { topology, gaps, .. }) => (Some(topology), words(&gaps)),
            Err(_) if !path.exists() => {
                (None, vec!["nobody noted the objects of this host".to_owned()])
            }
            Err(error) => (None, vec![error.to_string()]),
        };
        Self { name, topology, gaps, processes: Vec::new() }
    }

    /// `2 packages, 64 cores, 128 PUs, 251 GiB`, and the processor's model where the kernel has it.
    pub fn describe(&self) -> String {
        let Some(topology) = &self.topology else { return "objects unknown".to_owned() };
        let mut parts = Vec::new();
        for (kind, one, many) in [
            (ObjectKind::Package, "package", "packages"),
            (ObjectKind::NumaNode, "NUMA node", "NUMA nodes"),
            (ObjectKind::Core, "core", "cores"),
            (ObjectKind::Pu, "PU", "PUs"),
        ] {
            let count = topology.of_kind(kind).count();
            if count > 0 {
                parts.push(format!("{count} {}", if count == 1 { one } else { many }));
            }
        }
        let model = topology
            .iter()
            .find_map(|(_, object)| object.info("CPUModel"))
            .map(|model| model.split_whitespace().collect::<Vec<_>>().join(" "));
        parts.extend(model);
        parts.join(", ")
    }

    /// All PUs of the host; empty where they are unknown.
    pub fn pus(&self) -> CpuSet {
        let root = self.topology.as_ref().and_then(|topology| Some((topology, topology.root()?)));
        root.map(|(topology, root)| topology.get(root).cpuset.clone()).unwrap_or_default()
    }

    /// The smallest object that has all these PUs, in words.
    pub fn inside(&self, set: &CpuSet) -> String {
        let object =
            self.topology.as_ref().and_then(|topology| Some((topology, smallest(topology, set)?)));
        object.map(|(topology, id)| topology.label(id)).unwrap_or_default()
    }

    /// Time for which its threads were ready without a PU; absent where it was not measured for all
    /// its processes.
    pub fn delay(&self) -> Option<Delay> {
        self.processes.iter().map(|placed| placed.delay).sum()
    }

    /// True if threads wait for PUs, so that times do not show the rank that causes waiting: as
    /// measured, else by the numbers of threads and PUs.
    pub fn is_crowded(&self) -> bool {
        self.delay().map_or_else(|| !self.shared().is_empty(), |delay| delay.share() >= CROWDED)
    }

    /// Oddities of the placement of its processes.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.measured_delay().into_iter().collect();
        notes.extend(self.shared());
        let pus = self.pus();
        let free = |placed: &&Placed| !placed.allowed.is_empty() && !is_bound(placed, &pus);
        let free: Vec<&Placed> = self.processes.iter().filter(free).collect();
        if free.len() > 1 && pus.len() > 1 {
            let who = if free.len() == self.processes.len() {
                format!("all {} ranks", free.len())
            } else {
                named(&free)
            };
            notes.push(format!("{who} may run on every PU: they are not bound"));
        }
        notes
    }

    /// Reasons why times do not show the rank that causes waiting; none where every thread has a
    /// PU.
    pub fn crowding(&self) -> Vec<String> {
        if !self.is_crowded() {
            return Vec::new();
        }
        self.measured_delay().into_iter().chain(self.shared()).collect()
    }

    fn measured_delay(&self) -> Option<String> {
        self.delay().filter(|delay| delay.share() >= CROWDED).map(|delay| {
            format!(
                "for {} of the time threads were ready to run and other threads had the PUs{}",
                percent(delay.share()),
                self.most_delayed()
            )
        })
    }

    /// The most delayed process, if it was delayed much more than the mean.
    fn most_delayed(&self) -> String {
        let mean = self.delay().map_or(0.0, Delay::share);
        let of = |placed: &Placed| placed.delay.map_or(0.0, Delay::share);
        let most = self.processes.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
        match most {
            Some(most) if of(most) > 1.2 * mean => {
                format!(" (rank {}: {})", most.rank, percent(of(most)))
            }
            _ => String::new(),
        }
    }

    /// Working threads that share PUs.
    fn shared(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let pus = self.pus();
        let mut met: Vec<&CpuSet> = Vec::new();
        for placed in self.processes.iter().filter(|placed| is_bound(placed, &pus)) {
            if placed.working > placed.allowed.len() {
                notes.push(format!(
                    "rank {} has {} threads that work, and may run on {} only",
                    placed.rank,
                    placed.working,
                    in_words(&placed.allowed)
                ));
            }
            if met.contains(&&placed.allowed) {
                continue;
            }
            met.push(&placed.allowed);
            let same: Vec<&Placed> =
                self.processes.iter().filter(|other| other.allowed == placed.allowed).collect();
            let threads: usize = same.iter().map(|placed| placed.working).sum();
            if same.len() > 1 && threads > placed.allowed.len() {
                notes.push(format!(
                    "{} share {} for {threads} threads that work",
                    named(&same),
                    in_words(&placed.allowed)
                ));
            }
        }
        let working: usize = self.processes.iter().map(|placed| placed.working).sum();
        if !pus.is_empty() && working > pus.len() {
            notes.push(format!("{working} threads that work share {} PUs", pus.len()));
        }
        notes
    }
}

/// True if a process may run on some of the PUs only.
fn is_bound(placed: &Placed, pus: &CpuSet) -> bool {
    !placed.allowed.is_empty()
        && (pus.is_empty() || !pus.is_subset(&placed.allowed) || pus.len() == 1)
}

/// `PU 3`, `PUs 0-3`.
pub fn in_words(set: &CpuSet) -> String {
    format!("{} {set}", if set.len() == 1 { "PU" } else { "PUs" })
}

fn named(placed: &[&Placed]) -> String {
    match placed {
        [one] => format!("rank {}", one.rank),
        few if few.len() <= NAMED => {
            format!("ranks {}", ranges(few.iter().map(|placed| placed.rank.0)))
        }
        many => format!("{} ranks", many.len()),
    }
}

fn words(gaps: &Gaps) -> Vec<String> {
    gaps.iter().map(|gap| gap.detail.clone()).collect()
}

/// The smallest object whose PUs hold `set`; of objects with the same PUs the outermost.
fn smallest(topology: &Topology, set: &CpuSet) -> Option<ObjectId> {
    if set.is_empty() {
        return None;
    }
    let holds = topology
        .iter()
        .filter(|(_, object)| object.kind.is_normal() && set.is_subset(&object.cpuset));
    holds.min_by_key(|(id, object)| (object.cpuset.len(), *id)).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(description: &str, sets: &[(&str, usize)]) -> Host {
        let processes = (0..)
            .zip(sets)
            .map(|(rank, (set, working))| Placed {
                rank: Rank(rank),
                pid: 100 + rank,
                allowed: CpuSet::from_list(set).unwrap(),
                last: CpuSet::default(),
                threads: *working,
                working: *working,
                delay: None,
            })
            .collect();
        let topology = Some(Machine::synthetic(description).unwrap().topology);
        Host { name: "demo".into(), topology, gaps: Vec::new(), processes }
    }

    #[test]
    fn good_places_have_no_notes() {
        assert_eq!(host("core:4 pu:1", &[("0", 1), ("1", 1), ("2-3", 2)]).notes(), [""; 0]);
        assert_eq!(host("core:1 pu:1", &[("0", 1)]).notes(), [""; 0]);
    }

    #[test]
    fn odd_places_are_told() {
        let notes = host("core:4 pu:1", &[("0-3", 1), ("0-3", 4)]).notes();
        assert_eq!(
            notes,
            [
                "5 threads that work share 4 PUs",
                "all 2 ranks may run on every PU: they are not bound"
            ]
        );
        let notes = host("core:4 pu:1", &[("1", 1), ("1", 1), ("2", 3)]).notes();
        assert_eq!(
            notes,
            [
                "ranks 0-1 share PU 1 for 2 threads that work",
                "rank 2 has 3 threads that work, and may run on PU 2 only",
                "5 threads that work share 4 PUs",
            ]
        );
    }

    #[test]
    fn measured_delays_count_more_than_places() {
        let mut host = host("core:2 pu:1", &[("0", 1), ("0", 1)]);
        assert!(host.is_crowded());
        let shared = "ranks 0-1 share PU 0 for 2 threads that work";
        assert_eq!(host.crowding(), [shared]);
        let mut delayed = |parts: [u64; 2]| {
            for (placed, part) in host.processes.iter_mut().zip(parts) {
                let [watched, delayed] = [1000, part].map(|ms| Nanos(ms * 1_000_000));
                placed.delay = Some(Delay { watched, ran: watched - delayed, delayed });
            }
            (host.is_crowded(), host.notes())
        };
        assert_eq!(delayed([40, 50]), (false, vec![shared.to_owned()]));
        let measured = "for 45 % of the time threads were ready to run and other threads had the PUs (rank 1: 80 %)";
        assert_eq!(delayed([100, 800]), (true, vec![measured.to_owned(), shared.to_owned()]));
        assert_eq!(delayed([40, 50]).1, [shared]);
        assert!(host.crowding().is_empty());
    }

    #[test]
    fn sets_are_in_objects() {
        let host = host("pack:2 core:2 pu:2", &[]);
        let inside = |list| host.inside(&CpuSet::from_list(list).unwrap());
        assert_eq!(inside("5"), "PU P#5");
        assert_eq!(inside("4-5"), "Core P#2");
        assert_eq!(inside("4-6"), "Package P#1");
        assert_eq!(inside("0-7"), "Machine");
        assert_eq!(inside("99"), "");
        assert_eq!(host.describe(), "2 packages, 1 NUMA node, 4 cores, 8 PUs");
    }
}

//! The counters of a job's node ports, which `talea run --fabric` keeps, beside the job's own
//! messages.
//!
//! Owns the comparison with the bytes between nodes in the run's own matrix; the rest is other
//! traffic. It refuses recordings of tiles, which are [`crate::links`]'s. [`node`] reads a node's
//! file, [`port`] sums.

pub mod node;
pub mod port;

use talea_model::{Bytes, Gap, GapKind, Gaps, Nanos, Rank};
use talea_results::ports::{ByteShares, JobPorts, NodePorts, PortStep};
use talea_run::counters;

use crate::NetworkError;
use node::{Node, Step};
use talea_analysis::classes::ranges;
use talea_analysis::{Analysis, Progress};
use talea_run::load::{self, Run};

/// A node of a job.
#[derive(Debug, Default)]
pub struct Part {
    /// Name in its processes' records.
    pub name: String,
    /// Its ranks, in their order.
    pub ranks: Vec<Rank>,
    /// End of the last of its ranks, as a time of the run.
    pub end: Option<Nanos>,
    /// Conversion of times of the node's `CLOCK_MONOTONIC` to times of the run: one time on both
    /// clocks.
    pub clocks: Option<(Nanos, Nanos)>,
    /// The node's counters; `None` where nothing was read.
    pub node: Option<Node>,
    /// Bytes that its ranks sent to ranks on other nodes, and that they received from such.
    pub own: [u64; 2],
}

/// Bytes of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Through the ports.
    pub ports: Option<u64>,
    /// By the matrix.
    pub own: u64,
    /// The rest; `None` where the ports carried less than the ranks sent or received.
    pub other: Option<u64>,
}

impl Part {
    /// Bytes that it sent, and that it received.
    pub fn shares(&self) -> [Shares; 2] {
        let ports = self.node.as_ref().map_or([None, None], Node::bytes);
        [0, 1].map(|at| {
            let (ports, own) = (ports[at], self.own[at]);
            Shares { ports, own, other: ports.and_then(|ports| ports.checked_sub(own)) }
        })
    }

    /// A time of the node's file as a time of the run.
    pub fn time(&self, at: Nanos) -> Option<Nanos> {
        let monotonic = self.node.as_ref()?.notes.clocks?.monotonic_of(at)?;
        let (host, run) = self.clocks?;
        let time = i128::from(monotonic.0) - i128::from(host.0) + i128::from(run.0);
        // The first reading is before MPI_Init, which is before the run's time 0.
        u64::try_from(time.max(0)).ok().map(Nanos)
    }
}

/// Counters of a job.
#[derive(Debug)]
pub struct Job {
    /// Nodes by their first ranks, then those without ranks.
    pub parts: Vec<Part>,
    /// Bytes that ranks contributed to collective operations, which are not in the matrix.
    pub collective: u64,
    /// Damaged files, contradictions between counters and matrix, and gaps of the run.
    pub gaps: Gaps,
}

impl Job {
    /// Reads the counters of all nodes of a run, and compares them with its messages.
    ///
    /// Fails for a run without counters; a damaged file of one node is a gap.
    pub fn read(run: &Run, progress: Progress<'_>) -> Result<Self, NetworkError> {
        let folder = run.directory.path();
        let failed = |source| NetworkError::Read { source, path: counters::folder(folder) };
        let files = counters::files(&run.directory).map_err(failed)?;
        if files.is_empty() {
            return Err(NetworkError::NoCounters { path: folder.to_owned() });
        }
        let mut gaps = run.recording.gaps.clone();
        let mut nodes = Vec::new();
        for path in files {
            match Node::read(&path) {
                Ok(node) => nodes.push(node),
                Err(error) => gaps.note(gap(GapKind::Damaged, error.to_string())),
            }
        }
        let analysis = Analysis::new(run, progress);
        let mut job = Self { parts: parts(&analysis), collective: 0, gaps };
        job.collective = analysis
            .collectives
            .values()
            .fold(0, |sum, collective| u64::saturating_add(sum, collective.bytes.0));
        for node in nodes {
            job.add(node);
        }
        job.compare();
        Ok(job)
    }

    /// Adds a node's counters to its ranks.
    fn add(&mut self, node: Node) {
        self.gaps.merge(node.gaps.clone());
        let of_ranks = |part: &&mut Part| part.node.is_none() && part.name == node.name;
        if let Some(part) = self.parts.iter_mut().find(of_ranks) {
            part.node = Some(node);
            return;
        }
        if self.parts.iter().any(|part| part.name == node.name) {
            let name: String = node.name.chars().take(80).collect();
            let detail = format!(
                "more than one file of counters is of node `{name}`, whose ranks stand beside the first"
            );
            self.gaps.note(gap(GapKind::Damaged, detail));
        }
        self.parts.push(Part { name: node.name.clone(), node: Some(node), ..Part::default() });
    }

    /// Notes contradictions between counters and matrix.
    pub fn compare(&mut self) {
        let without = self.parts.iter().filter(|part| part.node.is_none());
        let mut names: Vec<&str> = without.map(|part| part.name.as_str()).collect();
        names.sort_unstable();
        if let Some(gap) = load::without_counters(names.into_iter()) {
            self.gaps.note(gap);
        }
        for part in &self.parts {
            let Some(node) = &part.node else { continue };
            for (shares, what) in part.shares().iter().zip(["sent", "received"]) {
                if let Some(ports) = shares.ports.filter(|&ports| ports < shares.own) {
                    let detail = format!(
                        "ranks on node `{}` {what} {} by the run's matrix, its ports {}: messages went another way, or readings ended before",
                        part.name,
                        Bytes(shares.own),
                        Bytes(ports)
                    );
                    self.gaps.note(gap(GapKind::Missing, detail));
                }
            }
            let last = node.times.and_then(|(_, last)| part.time(last));
            let interval = node.notes.interval.unwrap_or_default();
            if let Some((last, end)) = last.zip(part.end)
                && end.0.saturating_sub(last.0) > interval.0.saturating_mul(2)
            {
                let name = &part.name;
                let detail = format!(
                    "the network of node `{name}` was read until {last}, its ranks ran until {end}"
                );
                self.gaps.note(gap(GapKind::Missing, detail));
            }
        }
    }

    /// With the public keys.
    pub fn result(&self, run: &Run) -> JobPorts {
        JobPorts {
            command: run.metadata.command.clone(),
            nodes: self.parts.iter().map(Part::row).collect(),
            collective_bytes: self.collective,
            gaps: self.gaps.clone(),
        }
    }
}

impl Part {
    fn row(&self) -> NodePorts {
        let [sent, received] =
            self.shares().map(|Shares { ports, own, other }| ByteShares { ports, own, other });
        let none = NodePorts {
            node: self.name.clone(),
            ranks: self.ranks.clone(),
            source: None,
            interval_ns: None,
            readings: 0,
            seconds: None,
            ended: None,
            sent,
            received,
            ports: Vec::new(),
            steps: Vec::new(),
        };
        let Some(node) = &self.node else { return none };
        let time = |at| self.time(at);
        let step = |Step { at, bytes }: &Step| PortStep {
            time_ns: time(*at),
            realtime_ns: *at,
            bytes: bytes.clone(),
        };
        NodePorts {
            source: Some(node.source.clone()),
            interval_ns: node.notes.interval,
            readings: node.readings,
            seconds: node.seconds(),
            ended: node.notes.ended.clone(),
            ports: node.ports.iter().map(|port| port.row(time)).collect(),
            steps: node.steps.iter().map(step).collect(),
            ..none
        }
    }

    /// Its ranks, such as `0-3`.
    pub fn ranks(&self) -> String {
        if self.ranks.is_empty() {
            return "-".to_owned();
        }
        ranges(self.ranks.iter().map(|rank| rank.0))
    }
}

/// The nodes of all ranks, with the bytes between them.
fn parts(analysis: &Analysis<'_>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut places = std::collections::HashMap::new();
    let mut of_rank = std::collections::HashMap::new();
    for (process, study) in analysis.run.recording.processes.iter().zip(&analysis.ranks) {
        let place = *places.entry(process.host.as_str()).or_insert_with(|| {
            parts.push(Part { name: process.host.clone(), ..Part::default() });
            parts.len() - 1
        });
        let part = &mut parts[place];
        part.ranks.push(study.rank);
        part.end = part.end.max(Some(study.end));
        let started = process.started;
        if part.clocks.is_none() && started.monotonic > Nanos(0) {
            part.clocks = Some((started.monotonic, started.at));
        }
        of_rank.insert(study.rank, place);
    }
    for (from, to, cell) in analysis.matrix.cells() {
        // Ranks without a record count as ranks on other nodes.
        let [from, to] = [from, to].map(|rank| of_rank.get(&rank).copied());
        if from == to {
            continue;
        }
        for (place, at) in [(from, 0), (to, 1)] {
            if let Some(place) = place {
                let own = &mut parts[place].own[at];
                *own = own.saturating_add(cell.bytes.0);
            }
        }
    }
    parts
}

fn gap(kind: GapKind, detail: String) -> Gap {
    Gap { kind, rank: None, detail, count: 0 }
}

#[cfg(test)]
mod tests;

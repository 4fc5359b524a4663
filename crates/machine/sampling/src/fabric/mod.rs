//! Counters of a network's ports: what went through them, and how long they had to wait.
//!
//! Owns the trait that all sources implement, and what they say of a counter beside its unit and
//! width ([`talea_fabric::counters`]): whether it is of what was sent or received, of stalls or
//! faults. Totals are read as they are, with their time, and never reset, since other readers would
//! lose them; a file that is not there is a gap. It refuses to know which port leads where.
//!
//! | source | ports | read from |
//! |---|---|---|
//! | [`infiniband`] | of InfiniBand, RoCE and Omni-Path adapters | `/sys/class/infiniband` |
//! | [`slingshot`] | of Cassini adapters | `/sys/class/cxi` |
//! | [`ethernet`] | of Ethernet interfaces | `/sys/class/net` |
//! | [`recorded`] | of whatever was recorded | a text |

pub mod ethernet;
mod files;
pub mod infiniband;
pub mod recorded;
pub mod slingshot;

use std::sync::Arc;

use talea_fabric::counters::delta;
use talea_model::{GapKind, Gaps, Nanos};

pub use files::Files;
pub use talea_fabric::counters::{Reading, Unit, Width};

use crate::root::Root;
use crate::source::gap;

/// Kind of a port's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortKind {
    /// Ethernet, as the kernel's own network stack uses it.
    Ethernet,
    /// InfiniBand.
    InfiniBand,
    /// An adapter of InfiniBand's verbs on Ethernet.
    Roce,
    /// Omni-Path.
    OmniPath,
    /// Slingshot.
    Slingshot,
    /// A tile of a Cray Gemini.
    Gemini,
}

impl PortKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Ethernet,
        Self::InfiniBand,
        Self::Roce,
        Self::OmniPath,
        Self::Slingshot,
        Self::Gemini,
    ];

    /// One word, stable for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::InfiniBand => "infiniband",
            Self::Roce => "roce",
            Self::OmniPath => "omni-path",
            Self::Slingshot => "slingshot",
            Self::Gemini => "gemini",
        }
    }
}

/// Quantity of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Traffic that the port sent.
    Sent,
    /// Traffic that it received.
    Received,
    /// That it had something to send and could not: the next one took nothing.
    SentStalled,
    /// That it let the other side wait.
    ReceivedStalled,
    /// Errors.
    Fault,
}

/// A counter of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// As its source calls it.
    pub name: String,
    /// Its quantity.
    pub role: Role,
    /// Its unit.
    pub unit: Unit,
    /// Ticks a second, of [`Unit::Ticks`]; absent where nobody says.
    pub hertz: Option<u32>,
    /// How it ends.
    pub width: Width,
}

impl Counter {
    /// Seconds of so many steps; absent where they are no times, or of an unknown clock.
    pub fn seconds(&self, steps: u64) -> Option<f64> {
        match self.unit {
            Unit::Ticks => Some(steps as f64 / f64::from(self.hertz.filter(|&hertz| hertz > 0)?)),
            unit => unit.nanoseconds(steps).map(|nanos| nanos / 1e9),
        }
    }

    /// Whether it counts time, known or not.
    pub fn is_time(&self) -> bool {
        matches!(self.unit, Unit::Ticks | Unit::GeminiTicks)
    }

    /// The steps between two totals; none, with a gap that names the port, where they cannot be
    /// known.
    pub fn grown(
        &self,
        port: &str,
        before: Reading,
        after: Reading,
        gaps: &mut Gaps,
    ) -> Option<u64> {
        if after.at < before.at {
            let detail = format!(
                "times of counter `{}` of port `{port}` ran backwards: its difference is absent",
                self.name
            );
            gaps.note(gap(GapKind::Damaged, detail));
            return None;
        }
        let steps = delta(before.value, after.value, self.width);
        steps.map_err(|lost| gaps.note(lost.gap(&format!("`{}` of port `{port}`", self.name)))).ok()
    }
}

/// A port with its counters.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// As the machine calls it: `eth0`, `mlx5_0/1`, `cxi0`; one word.
    pub name: String,
    /// Its network.
    pub kind: PortKind,
    /// Bytes a second of data that fit through it, one way; absent if nobody says.
    pub speed: Option<f64>,
    /// As the machine says it: `up`, `ACTIVE`; absent if it does not. One word.
    pub state: Option<String>,
    /// Its counters; ports of a kind share them.
    pub counters: Arc<[Counter]>,
}

/// One reading of each counter of each port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Where the counters of each port begin, and the end of the last one's.
    first: Vec<usize>,
    values: Vec<Option<Reading>>,
}

impl Readings {
    /// Absent ones for all of these.
    pub fn absent(ports: &[Port]) -> Self {
        let mut first = Vec::with_capacity(ports.len() + 1);
        first.push(0);
        let mut all = 0;
        for port in ports {
            all += port.counters.len();
            first.push(all);
        }
        Self { first, values: vec![None; all] }
    }

    /// Those of a port, in the order of its counters; none beyond the last one.
    pub fn port(&self, port: usize) -> &[Option<Reading>] {
        let range = self.first.get(port).zip(self.first.get(port + 1));
        range.and_then(|(&begin, &end)| self.values.get(begin..end)).unwrap_or(&[])
    }

    /// Those of all ports, one after the other.
    pub fn all(&self) -> &[Option<Reading>] {
        &self.values
    }

    /// The same of a port, to be changed.
    pub fn port_mut(&mut self, port: usize) -> &mut [Option<Reading>] {
        let range = self.first.get(port).zip(self.first.get(port + 1));
        range.and_then(|(&begin, &end)| self.values.get_mut(begin..end)).unwrap_or_default()
    }
}

/// Ports whose counters can be read.
///
/// This is beside [`crate::CounterSource`], whose places are objects of a node and whose numbers
/// are growths: callers of this one need totals with their width.
pub trait CounterSource: Send {
    /// How it is called in every output: `sysfs`, `recorded ...`, `simulated ...`.
    fn name(&self) -> &str;

    /// Ports in the order of readings. They stay the same.
    fn ports(&self) -> &[Port];

    /// The totals now, or the next ones of a recording; none when it is over. `at` is the time that
    /// totals get which have none of their own.
    fn read(&mut self, at: Nanos, gaps: &mut Gaps) -> Option<Readings>;
}

/// All ports below a root folder: InfiniBand and Omni-Path, then Slingshot, then Ethernet; each by
/// name.
pub fn of_machine(root: &Root, gaps: &mut Gaps) -> Files {
    let mut found = infiniband::ports(root, gaps);
    found.extend(slingshot::ports(root, gaps));
    found.extend(ethernet::ports(root));
    Files::new(root.clone(), found)
}

#[cfg(test)]
mod tests;

//! Counters of a network's ports: what went through them, and how long they had to wait.
//!
//! Owns the trait that all sources implement, and what they say of a counter: unit, width, and what it does when it is full. Totals are read as they are, with their time;
//! what grew between two of them is [`grown`]. Counters are never reset, since whoever else reads them would lose them, and a file that is not there is a gap.
//! It refuses routers and links: which port leads where is the business of `talea-fabric`.
//!
//! | source | ports | read from |
//! |---|---|---|
//! | [`infiniband`] | of InfiniBand, RoCE and Omni-Path adapters | `/sys/class/infiniband` |
//! | [`slingshot`] | of Cassini adapters | `/sys/class/cxi` |
//! | [`ethernet`] | of Ethernet interfaces | `/sys/class/net` |
//! | [`recorded`] | of whatever was recorded | a text |
//! | [`simulated`] | tiles of routers | a model; named `simulated` |

pub mod ethernet;
mod files;
mod growth;
pub mod infiniband;
pub mod recorded;
pub mod simulated;
pub mod slingshot;

use std::sync::Arc;

use talea_model::{Gaps, Nanos};

pub use files::Files;
pub use growth::grown;

use crate::root::Root;

/// What kind of network a port belongs to.
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

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What the port sent.
    Sent,
    /// What it received.
    Received,
    /// That it had something to send and could not: the next one took nothing.
    SentStalled,
    /// That it let the other side wait.
    ReceivedStalled,
    /// What went wrong.
    Fault,
}

/// What one step of a counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// So many bytes: 1, 4 (data of InfiniBand), 3 (phits of Gemini).
    Bytes(u8),
    /// A packet.
    Packets,
    /// A tick of a clock of so many hertz; 0 where nobody says how many.
    Ticks(u32),
    /// Something else that happened.
    Events,
}

/// What a counter does that has reached its largest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// It begins again at zero.
    Wraps,
    /// It stays there, until somebody resets it.
    Saturates,
}

/// A counter of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// As its source calls it.
    pub name: String,
    /// What it counts.
    pub role: Role,
    /// In what.
    pub unit: Unit,
    /// Its width, 1 to 64.
    pub bits: u8,
    /// What it does at its end.
    pub full: Full,
}

impl Counter {
    /// Its largest number.
    pub fn most(&self) -> u64 {
        u64::MAX >> (64 - self.bits.clamp(1, 64))
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

/// A total at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// When; of the clock that the source has, so that only times of the same counter can be compared.
    pub at: Nanos,
    /// The total, of which bits above the counter's width are zero.
    pub value: u64,
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
    pub fn of(ports: &[Port]) -> Self {
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

    /// The same, to be changed.
    pub fn port_mut(&mut self, port: usize) -> &mut [Option<Reading>] {
        let range = self.first.get(port).zip(self.first.get(port + 1));
        range.and_then(|(&begin, &end)| self.values.get_mut(begin..end)).unwrap_or_default()
    }
}

/// Ports whose counters can be read.
///
/// This is beside [`crate::CounterSource`], whose places are objects of a node and whose numbers are growths: here whoever asks needs totals with their width.
pub trait CounterSource: Send {
    /// How it is called in every output: `sysfs`, `recorded ...`, `simulated ...`.
    fn name(&self) -> &str;

    /// Ports in the order of readings. They stay the same.
    fn ports(&self) -> &[Port];

    /// The totals now, or the next ones of a recording; none when it is over. `at` is the time that totals get which have none of their own.
    fn read(&mut self, at: Nanos, gaps: &mut Gaps) -> Option<Readings>;
}

/// All ports below a root folder: InfiniBand and Omni-Path, then Slingshot, then Ethernet; each by name.
pub fn of_machine(root: &Root, gaps: &mut Gaps) -> Files {
    let mut found = infiniband::ports(root, gaps);
    found.extend(slingshot::ports(root, gaps));
    found.extend(ethernet::ports(root));
    Files::new(root.clone(), found)
}

#[cfg(test)]
mod tests;

//! Slurm's descriptions of its network: `topology.conf`, `topology.yaml`, and the output of
//! `scontrol show topology`.
//!
//! Owns the network in them: switches, one cable between two of them however often it is listed,
//! and nodes, which have a port at each leaf switch that lists them. Blocks ([`lines`], [`yaml`]:
//! groups of nodes that are near to each other) are switches below one that joins them, as their
//! connection is unknown. Speeds have no unit in Slurm and are not read, so that capacities are
//! absent. It refuses undefined switches. Follows the manual pages topology.conf(5),
//! topology.yaml(5) and scontrol(1).

mod lines;
mod yaml;

use std::collections::{BTreeSet, HashMap};

use talea_fabric::{Draft, Fabric, FabricError, RouterId};
use talea_model::{Gap, GapKind, Gaps};

use super::hostlist::{LONGEST, expand};
use super::{Error, at_line, missing, wrong};

/// Maximum number of names of all files, those of switches included.
const MOST: usize = 1 << 20;

/// Name of the switch that joins blocks.
const ABOVE: &str = "(all blocks)";

/// A network of Slurm's.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Switches, cables between them, and nodes.
    pub fabric: Fabric,
    /// Gaps.
    pub gaps: Gaps,
}

/// Reader of an included file, by its name there; returns the reason where it cannot be read.
pub type Include<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// A switch or a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Switch {
    line: u64,
    name: String,
    is_block: bool,
    /// True if its nodes are those of the switches below it, listed again.
    repeats: bool,
    switches: Vec<String>,
    nodes: Vec<String>,
}

/// Reads a file in any of the forms. Included files may include others.
pub fn read(bytes: &[u8], include: Include<'_>) -> Result<Described, Error> {
    let text = String::from_utf8_lossy(bytes);
    let mut content = text.lines().map(str::trim);
    let first = content.find(|line| !line.is_empty() && !line.starts_with('#'));
    let mut gaps = Gaps::default();
    let switches = if first.is_some_and(|line| line.starts_with(['-', '%'])) {
        yaml::read(&text, &mut gaps)?
    } else {
        lines::read(&text, include)?
    };
    if switches.is_empty() {
        return Err(Error::Nothing {
            expected: "lines such as SwitchName=s0 Nodes=n[0-3] or BlockName=b0 Nodes=n[0-3]",
        });
    }
    let fabric = assemble(switches, &mut gaps)?;
    Ok(Described { fabric, gaps })
}

/// Remaining number of names, up to [`MOST`].
#[derive(Debug)]
struct Room(usize);

impl Room {
    /// Names of a list.
    fn list(&mut self, value: &str, line: u64) -> Result<Vec<String>, Error> {
        let names = expand(value, self.0).map_err(|expected| wrong(line, expected, value))?;
        self.0 -= names.len();
        Ok(names)
    }

    /// The name of a switch or block.
    fn name(&mut self, value: &str, line: u64) -> Result<String, Error> {
        if value.len() > LONGEST {
            return Err(wrong(line, format!("a name of at most {LONGEST} bytes"), value));
        }
        self.0 = self
            .0
            .checked_sub(1)
            .ok_or_else(|| wrong(line, format!("at most {MOST} names"), value))?;
        Ok(value.to_owned())
    }
}

fn assemble(switches: Vec<Switch>, gaps: &mut Gaps) -> Result<Fabric, Error> {
    let mut draft = Draft::default();
    for switch in &switches {
        draft.router(switch.name.clone(), None).map_err(at_line(switch.line))?;
    }
    let kind = draft.kind("cable", None)?;
    if switches.iter().any(|switch| switch.is_block) {
        if let Some(other) = switches.iter().find(|switch| !switch.is_block) {
            return Err(wrong(other.line, "switches or blocks, not both", &other.name));
        }
        if switches.len() > 1 {
            let above = draft.router(ABOVE.to_owned(), None)?;
            for at in 0..switches.len() as u32 {
                draft.cable((RouterId(at), above), kind, 1)?;
            }
            let detail =
                "the switches between blocks are unknown: one above all of them is assumed";
            let (kind, detail) = (GapKind::Estimated, detail.to_owned());
            gaps.note(Gap { kind, rank: None, detail, count: switches.len() as u64 });
        }
    }
    let mut told = BTreeSet::new();
    for (own, switch) in (0..).map(RouterId).zip(&switches) {
        for name in &switch.switches {
            let Some(other) = draft.named(name).filter(|&other| other != own) else {
                let expected = "another switch that a line defines";
                return Err(wrong(switch.line, expected, name));
            };
            if told.insert((own.min(other), own.max(other))) {
                draft.cable((own, other), kind, 1).map_err(at_line(switch.line))?;
            }
        }
    }
    nodes(&mut draft, switches, gaps)?;
    Ok(draft.finish()?)
}

/// Switches of a node's ports, whose speeds are unknown.
type Ports = Vec<(RouterId, Option<f64>)>;

/// Adds nodes with a port at each of their switches.
fn nodes(draft: &mut Draft, switches: Vec<Switch>, gaps: &mut Gaps) -> Result<(), Error> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut ports: Vec<(u64, Ports)> = Vec::new();
    let mut repeated = Vec::new();
    for (own, switch) in (0..).map(RouterId).zip(switches) {
        if switch.repeats {
            repeated.extend(switch.nodes);
            continue;
        }
        for node in switch.nodes {
            let next = ports.len();
            if places.get(&node).is_some_and(|&at| ports[at].1.contains(&(own, None))) {
                let twice = FabricError::Twice { what: "host", name: node };
                return Err(at_line(switch.line)(twice));
            }
            let at = *places.entry(node).or_insert(next);
            if at == next {
                ports.push((switch.line, Vec::new()));
            }
            ports[at].1.push((own, None));
        }
    }
    let lost = repeated.iter().filter(|node| !places.contains_key(*node)).count() as u64;
    if lost > 0 {
        let detail = "nodes that no leaf switch has, only one above: they are left out";
        gaps.note(missing(detail.to_owned(), lost));
    }
    let several = ports.iter().filter(|(_, ports)| ports.len() > 1).count() as u64;
    if several > 0 {
        let detail = "nodes that several switches have: each node has a port at each of them";
        let (kind, detail) = (GapKind::Estimated, detail.to_owned());
        gaps.note(Gap { kind, rank: None, detail, count: several });
    }
    let mut names: Vec<(usize, String)> =
        places.into_iter().map(|(name, place)| (place, name)).collect();
    names.sort_unstable();
    for ((_, name), (line, ports)) in names.into_iter().zip(&ports) {
        draft.host_with_ports(name, ports).map_err(at_line(*line))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

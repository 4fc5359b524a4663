//! Output of `ibnetdiscover` for an InfiniBand network.
//!
//! Owns the two forms, blocks of switches and adapters with lines of their ports, and one line a
//! port (`-p`), and names of switches: descriptions where they are unique, else the identifiers.
//! Adapters are grouped by host ([`hosts`]), and become its ports, each with its speed. Every port
//! may be listed once, and in blocks every connected device must be described. Cables that only one
//! end lists (a network that was cut out of a larger one) are accepted, with a gap. Routers of
//! InfiniBand count as switches. It refuses adapters without a switch, and those inside switches
//! (SHARP): they are gaps.

mod blocks;
mod hosts;
mod lines;

use std::collections::{BTreeMap, HashMap, HashSet};

use talea_fabric::degraded::usual;
use talea_fabric::{Draft, Fabric, HostId, RouterId};
use talea_model::Gaps;

use super::ports::Speed;
use super::{Error, at_line, missing, wrong};
use hosts::Group;

/// Owner or peer of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// A switch.
    Router(RouterId),
    /// A host's adapter.
    Host(HostId),
}

/// A connected port.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its owner.
    pub of: End,
    /// Globally unique identifier of the switch or adapter.
    pub guid: u64,
    /// Local identifier, by which `perfquery` calls it; absent if unknown.
    pub lid: Option<u32>,
    /// Number.
    pub number: u32,
    /// Its peer.
    pub to: End,
    /// Local identifier and number of the port at the other end.
    pub peer: (Option<u32>, u32),
    /// Width and speed, such as `4xEDR`.
    pub kind: String,
    /// Bytes a second of data, one way.
    pub rate: Option<f64>,
}

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub struct InfiniBand {
    /// Switches, cables between them, and hosts.
    pub fabric: Fabric,
    /// Ports by owner and number.
    pub ports: Vec<Port>,
    /// Gaps.
    pub gaps: Gaps,
}

impl InfiniBand {
    /// Ports of hosts that are slower than most, each with its host, its kind and the usual one;
    /// empty where no kind is usual.
    pub fn slow_hosts(&self) -> Vec<(HostId, &str, &str)> {
        let of_hosts = || {
            self.ports.iter().filter_map(|port| match port.of {
                End::Host(host) => Some((host, port)),
                End::Router(_) => None,
            })
        };
        let rates = of_hosts().filter_map(|(_, port)| Some(port.rate?.to_bits()));
        let Some(most) = usual(rates).map(f64::from_bits) else { return Vec::new() };
        let kind = of_hosts().find(|(_, port)| port.rate == Some(most));
        let kind = kind.map_or("", |(_, port)| port.kind.as_str());
        let slow = of_hosts().filter(|(_, port)| port.rate.is_some_and(|rate| rate < most));
        slow.map(|(host, port)| (host, port.kind.as_str(), kind)).collect()
    }
}

/// A switch or adapter.
#[derive(Clone, Debug)]
struct Device {
    switch: bool,
    /// Identifier in the file.
    id: String,
    guid: u64,
    lid: Option<u32>,
    description: String,
    line: u64,
}

/// One side of a cable: devices by their places.
#[derive(Clone, Debug)]
struct Side {
    line: u64,
    from: (usize, u32),
    to: (usize, u32),
    lid: Option<u32>,
    speed: Speed,
}

/// Contents of either form.
#[derive(Debug, Default)]
struct Found {
    devices: Vec<Device>,
    sides: Vec<Side>,
}

/// Reads the output, in either form.
pub fn read(bytes: &[u8]) -> Result<InfiniBand, Error> {
    let text = String::from_utf8_lossy(bytes);
    let mut content = text.lines().map(str::trim_start);
    let first = content.find(|line| !line.is_empty() && !line.starts_with('#'));
    let first = first.ok_or(Error::Nothing { expected: "switches and adapters" })?;
    let is_line = ["CA", "SW", "RT"].contains(&first.split_whitespace().next().unwrap_or(""));
    let found = if is_line { lines::read(&text)? } else { blocks::read(&text)? };
    assemble(found)
}

fn assemble(found: Found) -> Result<InfiniBand, Error> {
    let Found { devices, mut sides } = found;
    let mut gaps = Gaps::default();
    let mut listed = HashSet::new();
    for side in &sides {
        if !listed.insert(side.from) {
            let found = format!("port {} of {}", side.from.1, devices[side.from.0].id);
            return Err(wrong(side.line, "a port that was not listed before", &found));
        }
    }
    complete(&mut sides, &mut gaps)?;
    let names = names_of_switches(&devices);
    let mut draft = Draft::default();
    let mut ends: Vec<Option<End>> = vec![None; devices.len()];
    for (at, name) in names {
        let id = draft.router(name, None).map_err(at_line(devices[at].line))?;
        ends[at] = Some(End::Router(id));
    }
    if ends.iter().all(Option::is_none) {
        return Err(Error::Nothing { expected: "switches, which join the adapters" });
    }
    let routers = ends.clone();
    let alike = hosts(&mut draft, &devices, &sides, &mut ends)?;
    let without = |what: &dyn Fn(&Device) -> bool| {
        let without =
            ends.iter().zip(&devices).filter(|(end, device)| end.is_none() && what(device));
        without.count() as u64
    };
    let told = [
        ("adapters without a cable to a switch", without(&Device::is_host_adapter)),
        ("aggregation nodes inside switches: they are no hosts", without(&Device::aggregates)),
        ("adapters whose host's name others have too: each is taken for a host of its own", alike),
    ];
    for (detail, count) in told.into_iter().filter(|(_, count)| *count > 0) {
        gaps.note(missing(detail.to_owned(), count));
    }
    for side in &sides {
        if let (Some(End::Router(from)), Some(End::Router(to))) =
            (routers[side.from.0], routers[side.to.0])
        {
            let kind = draft.kind(&side.speed.name, side.speed.rate)?;
            draft.lane(from, to, kind).map_err(at_line(side.line))?;
        }
    }
    let lids: HashMap<(usize, u32), u32> =
        sides.iter().filter_map(|side| Some((side.from, side.lid?))).collect();
    let lid = |end: (usize, u32)| lids.get(&end).copied().or(devices[end.0].lid);
    let port = |side: Side| {
        let device = &devices[side.from.0];
        Some(Port {
            of: ends[side.from.0]?,
            guid: device.guid,
            lid: lid(side.from),
            number: side.from.1,
            to: ends[side.to.0]?,
            peer: (lid(side.to), side.to.1),
            kind: side.speed.name,
            rate: side.speed.rate,
        })
    };
    let mut ports: Vec<Port> = sides.into_iter().filter_map(port).collect();
    ports.sort_by_key(|port| (port.of, port.number));
    Ok(InfiniBand { fabric: draft.finish()?, ports, gaps })
}

/// Checks that the two sides of cables agree, and adds those that only one side lists.
fn complete(sides: &mut Vec<Side>, gaps: &mut Gaps) -> Result<(), Error> {
    let by_port: HashMap<(usize, u32), usize> =
        sides.iter().enumerate().map(|(at, side)| (side.from, at)).collect();
    let mut others = Vec::new();
    let mut reached = HashSet::new();
    for side in sides.iter() {
        let other = by_port.get(&side.to).map(|&at| &sides[at]);
        match other {
            Some(other) if other.to == side.from && other.speed.name == side.speed.name => {}
            Some(other) => {
                let expected =
                    format!("the same cable as line {} tells from its other end", other.line);
                let found = format!("port {} of {}", side.from.1, side.speed.name);
                return Err(wrong(side.line, expected, &found));
            }
            None if reached.insert(side.to) => {
                let Side { line, from, to, .. } = *side;
                let speed = side.speed.clone();
                others.push(Side { line, from: to, to: from, lid: None, speed });
            }
            None => {
                let found = format!("port {}", side.to.1);
                return Err(wrong(side.line, "a port that no other cable reaches", &found));
            }
        }
    }
    if !others.is_empty() {
        let detail = "cables that one end tells alone: the other way is taken to be alike";
        gaps.note(missing(detail.to_owned(), others.len() as u64));
    }
    sides.append(&mut others);
    Ok(())
}

/// Adds hosts with their ports at switches, and sets their adapters in `ends`. Returns the number
/// of adapters whose name groups nothing.
fn hosts(
    draft: &mut Draft,
    devices: &[Device],
    sides: &[Side],
    ends: &mut [Option<End>],
) -> Result<u64, Error> {
    let mut of_device: Vec<Vec<&Side>> = vec![Vec::new(); devices.len()];
    for side in sides {
        of_device[side.from.0].push(side);
    }
    for sides in &mut of_device {
        sides.sort_by_key(|side| side.from.1);
    }
    let (groups, alike) = hosts::groups(devices, sides);
    for Group { name, adapters } in groups {
        let mut ports = Vec::new();
        let mut joined = Vec::new();
        for &adapter in &adapters {
            let before = ports.len();
            for side in &of_device[adapter] {
                if let Some(End::Router(router)) = ends[side.to.0] {
                    ports.push((router, side.speed.rate));
                }
            }
            if ports.len() > before {
                joined.push(adapter);
            }
        }
        let Some(&first) = joined.first() else { continue };
        let line = at_line(devices[first].line);
        let host = draft.host_with_ports(name, &ports).map_err(line)?;
        for adapter in joined {
            ends[adapter] = Some(End::Host(host));
        }
    }
    Ok(alike)
}

/// Places of switches with their names, each unique.
fn names_of_switches(devices: &[Device]) -> Vec<(usize, String)> {
    let switches = || devices.iter().enumerate().filter(|(_, device)| device.switch);
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, device) in switches() {
        *counts.entry(&device.description).or_default() += 1;
    }
    let name = |(at, device): (usize, &Device)| {
        let description = &device.description;
        let alone = !description.is_empty() && counts.get(description.as_str()) == Some(&1);
        (at, if alone { description } else { &device.id }.clone())
    };
    switches().map(name).collect()
}

impl Device {
    /// True for an adapter of a host.
    fn is_host_adapter(&self) -> bool {
        !self.switch && !self.aggregates()
    }

    /// True for a switch's own adapter, which sums for collective operations (SHARP).
    fn aggregates(&self) -> bool {
        !self.switch && self.description.ends_with(" Aggregation Node")
    }
}

#[cfg(test)]
mod tests;

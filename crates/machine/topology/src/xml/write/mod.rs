//! Objects as XML of version 2, which hwloc 2 and 3 read, or of version 3.
//!
//! Owns the guarantees that hwloc accepts the file without a warning, and that `read(write(t))` of
//! version 3 is `t` when every object of `t` has its unique number (one without gets the next free
//! one). Version 2 has no place for uses of a device beside the first, its programming interface,
//! tiers of memory, and facts of the whole that its root does not know: they are left out, or are
//! the root's.

mod beside;

use std::fmt::{self, Write as _};

use crate::cpuset::CpuSet;
use crate::objects::{Attributes, Object, ObjectId, ObjectKind, Pci, Topology};

use crate::xml::attributes::{INCLUSIVE, USES_BY_BIT, USES_BY_NUMBER};
use crate::xml::scan::is_control;

/// Number of uses that version 2 has numbers for.
const NUMBERED_USES: usize = 6;

/// Versions of the format that are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// hwloc 2 and 3 read it.
    #[default]
    Two,
    /// hwloc 3 reads it; nothing of a topology is lost.
    Three,
}

/// Writes a topology as XML.
pub fn write(topology: &Topology, version: Version) -> String {
    let mut out = String::with_capacity(256 * topology.objects.len() + 1024);
    // Writing into a String cannot fail.
    let _ = write_all(topology, version, &mut out);
    out
}

/// Text in an attribute.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(|c: char| {
            matches!(c, '&' | '<' | '>' | '"' | '\n' | '\r' | '\t') || is_control(c)
        }) {
            let (plain, special) = rest.split_at(at);
            out.write_str(plain)?;
            let Some(c) = special.chars().next() else { break };
            match c {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\n' | '\r' | '\t' => write!(out, "&#{};", u32::from(c))?,
                _ => out.write_char('\u{fffd}')?,
            }
            rest = &special[c.len_utf8()..];
        }
        out.write_str(rest)
    }
}

fn write_all(topology: &Topology, version: Version, out: &mut String) -> fmt::Result {
    let number = if version == Version::Two { 2 } else { 3 };
    out.push_str(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n",
    );
    writeln!(out, "<topology version=\"{number}.0\">")?;
    let numbers = unique_numbers(topology);
    write_objects(topology, version, &numbers, out)?;
    for distances in &topology.distances {
        beside::write_distances(topology, distances, &numbers, out)?;
    }
    for (name, value) in &topology.support {
        write!(out, "  <support name=\"{}\"", Quoted(name))?;
        if *value != 1 {
            write!(out, " value=\"{value}\"")?;
        }
        out.push_str("/>\n");
    }
    beside::write_memory_attributes(topology, &numbers, out)?;
    for kind in &topology.cpu_kinds {
        write!(out, "  <cpukind cpuset=\"{}\"", kind.cpuset.to_mask())?;
        if kind.efficiency != -1 {
            write!(out, " forced_efficiency=\"{}\"", kind.efficiency)?;
        }
        out.push_str(">\n");
        write_infos(&kind.infos, 2, out)?;
        out.push_str("  </cpukind>\n");
    }
    if version == Version::Three {
        write_infos(&topology.infos, 1, out)?;
        for tier in &topology.memory_tiers {
            let (kinds, nodes) = (tier.kinds, tier.nodeset.to_mask());
            writeln!(out, "  <memtier kinds=\"{kinds}\" nodeset=\"{nodes}\"/>")?;
        }
    }
    out.push_str("</topology>\n");
    Ok(())
}

fn indent(depth: usize, out: &mut String) {
    (0..depth).for_each(|_| out.push_str("  "));
}

fn write_infos(infos: &[(String, String)], depth: usize, out: &mut String) -> fmt::Result {
    for (name, value) in infos {
        indent(depth, out);
        writeln!(out, "<info name=\"{}\" value=\"{}\"/>", Quoted(name), Quoted(value))?;
    }
    Ok(())
}

/// Each object's unique number, or the next free one where it has none.
fn unique_numbers(topology: &Topology) -> Vec<u64> {
    let known = topology.objects.iter().filter_map(|object| object.gp_index);
    let mut taken: std::collections::BTreeSet<u64> = known.collect();
    let mut next = taken.last().map_or(1, |&last| last.checked_add(1).unwrap_or(1));
    let number = |object: &Object| {
        object.gp_index.unwrap_or_else(|| {
            while !taken.insert(next) {
                next = next.checked_add(1).unwrap_or(1);
            }
            next
        })
    };
    topology.objects.iter().map(number).collect()
}

fn write_objects(
    topology: &Topology,
    version: Version,
    numbers: &[u64],
    out: &mut String,
) -> fmt::Result {
    enum Step {
        Open { id: ObjectId, depth: usize, bridges: usize },
        Close { depth: usize },
    }
    let root = topology.root().map(|id| Step::Open { id, depth: 1, bridges: 0 });
    let mut steps: Vec<Step> = root.into_iter().collect();
    while let Some(step) = steps.pop() {
        let (id, depth, bridges) = match step {
            Step::Close { depth } => {
                indent(depth, out);
                out.push_str("</object>\n");
                continue;
            }
            Step::Open { id, depth, bridges } => (id, depth, bridges),
        };
        let object = topology.get(id);
        indent(depth, out);
        let place = Place { version, bridges, number: numbers[id.0 as usize] };
        write_attributes(topology, id, &place, out)?;
        let pages: &[(u64, u64)] = match &object.attributes {
            Attributes::Numa { pages, .. } => pages,
            _ => &[],
        };
        // Before version 3, facts of the whole are the root's.
        let is_of_all = id.0 == 0 && version == Version::Two;
        let of_root: &[(String, String)] = if is_of_all { &topology.infos } else { &[] };
        let infos = &object.infos[usize::from(inclusive(object, version).is_some())..];
        let is_empty = infos.is_empty() && of_root.is_empty() && pages.is_empty();
        if is_empty && object.all_children().next().is_none() {
            out.push_str("/>\n");
            continue;
        }
        out.push_str(">\n");
        for (size, count) in pages {
            indent(depth + 1, out);
            writeln!(out, "<page_type size=\"{size}\" count=\"{count}\"/>")?;
        }
        write_infos(infos, depth + 1, out)?;
        write_infos(of_root, depth + 1, out)?;
        steps.push(Step::Close { depth });
        let first = steps.len();
        let bridges = bridges + usize::from(object.kind == ObjectKind::Bridge);
        steps.extend(object.all_children().map(|id| Step::Open { id, depth: depth + 1, bridges }));
        steps[first..].reverse();
    }
    Ok(())
}

/// Further data of an object's line.
struct Place {
    version: Version,
    /// Number of bridges above it.
    bridges: usize,
    /// Its unique number.
    number: u64,
}

/// `<object` and all its attributes.
fn write_attributes(
    topology: &Topology,
    id: ObjectId,
    place: &Place,
    out: &mut String,
) -> fmt::Result {
    let object = topology.get(id);
    let Place { version, bridges, number } = *place;
    write!(out, "<object type=\"{}\"", object.kind.name())?;
    if let Some(os) = object.os_index {
        write!(out, " os_index=\"{os}\"")?;
    }
    if !object.kind.is_io() && object.kind != ObjectKind::Misc {
        let set = |name: &str, set: &CpuSet, out: &mut String| {
            write!(out, " {name}=\"{}\"", set.to_mask())
        };
        set("cpuset", &object.cpuset, out)?;
        set("complete_cpuset", &object.complete_cpuset, out)?;
        set("nodeset", &object.nodeset, out)?;
        set("complete_nodeset", &object.complete_nodeset, out)?;
        if id.0 == 0 {
            let allowed = [&topology.allowed_cpuset, &topology.allowed_nodeset];
            for (name, allowed) in ["allowed_cpuset", "allowed_nodeset"].iter().zip(allowed) {
                allowed.iter().try_for_each(|allowed| set(name, allowed, out))?;
            }
        }
    }
    write!(out, " gp_index=\"{number}\"")?;
    for (key, text) in [("name", &object.name), ("subtype", &object.subtype)] {
        if let Some(text) = text {
            write!(out, " {key}=\"{}\"", Quoted(text))?;
        }
    }
    match &object.attributes {
        Attributes::Cache { size, depth, line, associativity, data, instructions } => {
            let holds = match (data, instructions) {
                (false, true) => 2,
                (true, false) => 1,
                _ => 0,
            };
            write!(out, " cache_size=\"{size}\" depth=\"{depth}\" cache_linesize=\"{line}\"")?;
            write!(out, " cache_associativity=\"{associativity}\" cache_type=\"{holds}\"")?;
            if let Some(inclusive) = inclusive(object, version) {
                write!(out, " cache_inclusive=\"{}\"", Quoted(inclusive))?;
            }
        }
        Attributes::None | Attributes::Numa { memory: 0, .. } => {}
        Attributes::Numa { memory, .. } => write!(out, " local_memory=\"{memory}\"")?,
        Attributes::Group { kind, subkind } => {
            write!(out, " kind=\"{kind}\" subkind=\"{subkind}\"")?;
        }
        Attributes::Bridge { host, buses, pci } => {
            write!(out, " bridge_type=\"{}-1\" depth=\"{bridges}\"", u8::from(!host))?;
            if let Some((domain, first, last)) = buses {
                write!(out, " bridge_pci=\"{domain:04x}:[{first:02x}-{last:02x}]\"")?;
            }
            if let Some(pci) = pci {
                write_pci(pci, version, out)?;
            }
        }
        Attributes::Pci(pci) => write_pci(pci, version, out)?,
        Attributes::Os { uses } if !uses.is_empty() => {
            write!(out, " osdev_type=\"{}\"", uses_number(uses, version))?;
        }
        Attributes::Os { .. } => {}
    }
    Ok(())
}

/// The value of version 3's attribute `inclusive` of a cache: the first of its facts, where that is
/// it.
fn inclusive(object: &Object, version: Version) -> Option<&str> {
    let is_cache = matches!(object.attributes, Attributes::Cache { .. });
    let (name, value) = object.infos.first()?;
    (version == Version::Three && is_cache && name == INCLUSIVE).then_some(value)
}

/// Version 2 numbers the first use that it knows, version 3 has a bit for each.
fn uses_number(uses: &[String], version: Version) -> u64 {
    let place = |all: &[&str], word: &String| all.iter().position(|known| known == word);
    match version {
        // Memory was a block device.
        Version::Two => {
            let known = &USES_BY_NUMBER[..NUMBERED_USES];
            uses.iter().find_map(|word| place(known, word)).unwrap_or(0) as u64
        }
        Version::Three => {
            let bits = uses.iter().filter_map(|word| place(&USES_BY_BIT, word));
            bits.fold(0, |all, bit| all | 1 << bit)
        }
    }
}

fn write_pci(pci: &Pci, version: Version, out: &mut String) -> fmt::Result {
    let (domain, bus, device, function) = pci.place;
    write!(out, " pci_busid=\"{domain:04x}:{bus:02x}:{device:02x}.{function:01x}\"")?;
    let (vendor, model) = pci.ids;
    let (by, part) = pci.subsystem;
    write!(out, " pci_type=\"{:04x} [{vendor:04x}:{model:04x}] [{by:04x}:{part:04x}]", pci.class)?;
    write!(out, " {:02x}", pci.revision)?;
    if version == Version::Three {
        write!(out, " {:02x}", pci.interface)?;
    }
    out.push('"');
    // hwloc writes six digits; a speed that needs more keeps all.
    let speed = if pci.link_speed.is_finite() { pci.link_speed } else { 0.0 };
    let short = format!("{speed:.6}");
    if short.parse::<f64>() == Ok(speed) {
        write!(out, " pci_link_speed=\"{short}\"")
    } else {
        write!(out, " pci_link_speed=\"{speed}\"")
    }
}

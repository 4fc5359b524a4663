//! Objects as XML of version 2, which hwloc 2 and 3 both read.
//!
//! Owns that `read(write(t))` is `t` when every object of `t` has its unique number (one without gets the next free one), and
//! that hwloc takes the file. What version 2 has no place for (uses of a device beside the first, tiers of memory, facts of the
//! whole that it does not know) stands where hwloc passes over it.

mod beside;

use std::fmt::{self, Write as _};

use crate::cpuset::CpuSet;
use crate::objects::{Attributes, Object, ObjectId, ObjectKind, Pci, Topology};

use crate::xml::attributes::{USES, USES_BY_NUMBER, is_name};
use crate::xml::extras::is_of_all;
use crate::xml::scan::is_control;

/// Uses that version 2 has numbers for.
const NUMBERED_USES: usize = 6;

/// Writes a topology as XML of version 2.
pub fn write(topology: &Topology) -> String {
    let mut out = String::with_capacity(256 * topology.objects.len() + 1024);
    // Writing into a String cannot fail.
    let _ = write_all(topology, &mut out);
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

fn write_all(topology: &Topology, out: &mut String) -> fmt::Result {
    out.push_str(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n",
    );
    out.push_str("<topology version=\"2.0\">\n");
    let numbers = unique_numbers(topology);
    // Facts that version 2 keeps at the root; from the first other one on all stand at the end, so that their order lasts.
    let at_root = topology.infos.iter().take_while(|(name, _)| is_of_all(name)).count();
    let (of_root, of_all) = topology.infos.split_at(at_root);
    write_objects(topology, &numbers, of_root, out)?;
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
    // hwloc 2 reads up to the first element that it does not know.
    for tier in &topology.memory_tiers {
        writeln!(
            out,
            "  <memtier kinds=\"{}\" nodeset=\"{}\"/>",
            tier.kinds,
            tier.nodeset.to_mask()
        )?;
    }
    write_infos(of_all, 1, out)?;
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

/// Each object's unique number, where it has none the next free one.
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
    numbers: &[u64],
    of_root: &[(String, String)],
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
        write_attributes(object, numbers[id.0 as usize], bridges, out)?;
        let pages: &[(u64, u64)] = match &object.attributes {
            Attributes::Numa { pages, .. } => pages,
            _ => &[],
        };
        let of_root = if id.0 == 0 { of_root } else { &[] };
        let is_empty = object.infos.is_empty() && of_root.is_empty() && pages.is_empty();
        if is_empty && object.all_children().next().is_none() {
            out.push_str("/>\n");
            continue;
        }
        out.push_str(">\n");
        for (size, count) in pages {
            indent(depth + 1, out);
            writeln!(out, "<page_type size=\"{size}\" count=\"{count}\"/>")?;
        }
        write_infos(&object.infos, depth + 1, out)?;
        write_infos(of_root, depth + 1, out)?;
        steps.push(Step::Close { depth });
        let first = steps.len();
        let bridges = bridges + usize::from(object.kind == ObjectKind::Bridge);
        steps.extend(object.all_children().map(|id| Step::Open { id, depth: depth + 1, bridges }));
        steps[first..].reverse();
    }
    Ok(())
}

/// `<object` and all its attributes.
fn write_attributes(object: &Object, number: u64, bridges: usize, out: &mut String) -> fmt::Result {
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
                write_pci(pci, out)?;
            }
        }
        Attributes::Pci(pci) => write_pci(pci, out)?,
        Attributes::Os { uses } => {
            let known = &USES_BY_NUMBER[..NUMBERED_USES];
            let numbers: Vec<usize> = uses
                .iter()
                .filter_map(|word| known.iter().position(|known| known == word))
                .collect();
            // Memory was a block device.
            if !uses.is_empty() {
                write!(out, " osdev_type=\"{}\"", numbers.first().unwrap_or(&0))?;
            }
            if numbers.len() != uses.len() || uses.len() > 1 {
                write!(out, " {USES}=\"{}\"", Quoted(&uses.join(",")))?;
            }
        }
    }
    for (key, value) in object.unknown.iter().filter(|(key, _)| is_name(key)) {
        write!(out, " {key}=\"{}\"", Quoted(value))?;
    }
    Ok(())
}

fn write_pci(pci: &Pci, out: &mut String) -> fmt::Result {
    let (domain, bus, device, function) = pci.place;
    write!(out, " pci_busid=\"{domain:04x}:{bus:02x}:{device:02x}.{function:01x}\"")?;
    let (vendor, model) = pci.ids;
    let (by, part) = pci.subsystem;
    write!(out, " pci_type=\"{:04x} [{vendor:04x}:{model:04x}] [{by:04x}:{part:04x}]", pci.class)?;
    write!(out, " {:02x}\"", pci.revision)?;
    // hwloc writes six digits; a speed that needs more keeps all.
    let speed = if pci.link_speed.is_finite() { pci.link_speed } else { 0.0 };
    let short = format!("{speed:.6}");
    if short.parse::<f64>() == Ok(speed) {
        write!(out, " pci_link_speed=\"{short}\"")
    } else {
        write!(out, " pci_link_speed=\"{speed}\"")
    }
}

//! Objects and values as text, for terminals and pipes without a screen.

use std::io::{BufWriter, Write};

use talea_model::Nanos;
use talea_model::units::si;
use talea_topo::Recording;
use talea_topo::summary::{findings, picture_data, sentence};
use talea_topology::accumulate::{imbalance, is_of_other_use};
use talea_topology::svg::amount;
use talea_topology::{Attributes, ObjectId, ObjectKind, Topology};

use super::{Options, TopoError, say_gaps};
use crate::terminal::{bar, cell, fitted, prose, width, wrapped};

/// Maximum number of rows of a monitor before the rest is summed up.
const MOST_ROWS: usize = 32;
/// Columns of a row before its bar: label, number and the spaces between.
const BEFORE: usize = 45;

/// The tree, a line for each object; equal subtrees next to each other are one.
pub(super) fn objects(topology: &Topology) -> Result<(), TopoError> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut open: Vec<(ObjectId, usize)> =
        topology.root().map(|root| (root, 0)).into_iter().collect();
    while let Some((id, depth)) = open.pop() {
        let object = topology.get(id);
        let size = match &object.attributes {
            Attributes::Cache { size, .. } => Some(*size),
            Attributes::Numa { memory, .. } => Some(*memory),
            _ => object.device_memory().or_else(|| object.capacity()),
        };
        // The kind of a core is that of its PUs.
        let kind = topology.cpu_kind(id).filter(|_| object.kind == ObjectKind::Core);
        let denied = (is_end(object.kind) && !topology.is_allowed(id)).then_some("not allowed");
        let mut more: Vec<String> =
            kind.map(|kind| topology.cpu_kind_name(kind)).into_iter().collect();
        more.extend(size.filter(|&size| size > 0).map(binary));
        if let Attributes::Pci(pci) = &object.attributes {
            let maker = [object.vendor(), object.model()].into_iter().flatten();
            more.extend(maker.map(str::to_owned));
            more.extend((pci.link_speed > 0.0).then(|| si(pci.link_speed * 1e9, "B/s")));
        }
        more.extend(denied.map(str::to_owned));
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
        let line = format!("{}{}{more}", "  ".repeat(depth), topology.label(id));
        writeln!(out, "{}", fitted(&line))?;
        let children: Vec<ObjectId> = object.all_children().collect();
        open.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
    }
    let counts: Vec<String> =
        topology.counts().iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    for line in wrapped(&counts.join(", "), prose()) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(())
}

/// Objects that an administrator can disallow: PUs and memory.
fn is_end(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::Pu | ObjectKind::NumaNode)
}

/// Sizes of memory are powers of two.
fn binary(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value < 9.95 && unit > 0 {
        format!("{value:.1} {}", UNITS[unit])
    } else {
        format!("{value:.0} {}", UNITS[unit])
    }
}

/// Findings, then each monitor with a bar for each object.
pub(super) fn recording(
    recording: &Recording,
    other: Option<&Recording>,
    options: &Options,
) -> Result<(), TopoError> {
    let shown = picture_data(recording, other, options.at)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{}", fitted(&shown.title))?;
    for line in wrapped(&shown.subtitle.join(" · "), prose()) {
        writeln!(out, "{line}")?;
    }
    if other.is_none() {
        for hint in findings(recording) {
            let (from, to): (Nanos, Nanos) = (hint.from, hint.to);
            let text =
                format!("{} ({:.1} s to {:.1} s)", sentence(&hint), from.seconds(), to.seconds());
            for (number, line) in wrapped(&text, prose() - 2).iter().enumerate() {
                writeln!(out, "{} {line}", if number == 0 { "*" } else { " " })?;
            }
        }
    }
    for monitor in &shown.monitors {
        let numbers: Vec<f64> = monitor.values.iter().flatten().copied().collect();
        let unequal = imbalance(&numbers).filter(|_| !monitor.difference && numbers.len() > 1);
        let unequal = unequal.map(|ratio| format!(", max/mean {ratio:.2}")).unwrap_or_default();
        let info = &monitor.info;
        let head = format!("{} at {}: {}{unequal}", info.name, info.level, info.counter);
        writeln!(out, "\n{}", fitted(&head))?;
        let most = numbers.iter().filter(|v| v.is_finite()).fold(0.0, |m: f64, v| m.max(v.abs()));
        let expression =
            recording.monitors.iter().find(|one| one.name == info.name).map(|one| &one.expression);
        // A disk has no packets: nothing is absent there.
        let is_other = |id: ObjectId| {
            expression.is_some_and(|expression| {
                let counters = expression.counters();
                !counters.is_empty()
                    && counters.iter().all(|one| is_of_other_use(&recording.topology, id, one))
            })
        };
        let rows: Vec<_> =
            info.objects.iter().zip(&monitor.values).filter(|(id, _)| !is_other(**id)).collect();
        for (&id, value) in rows.iter().copied().take(MOST_ROWS) {
            let label = cell(&recording.topology.label(id), 24);
            let (text, part) = match value {
                Some(value) if !value.is_nan() => (amount(*value, &info.unit), value.abs() / most),
                _ => ("absent".to_owned(), 0.0),
            };
            let part = if part.is_finite() { part } else { 0.0 };
            let columns = width().saturating_sub(BEFORE).min(40);
            writeln!(out, "  {label:<24} {text:>16}  {}", bar(part, columns))?;
        }
        if let more @ 1.. = rows.len().saturating_sub(MOST_ROWS) {
            let rest = format!("  ... and {more} more; --json has all, --svg draws them");
            writeln!(out, "{}", fitted(&rest))?;
        }
    }
    out.flush()?;
    drop(out);
    say_gaps(&recording.gaps);
    Ok(())
}

//! Parts around the objects: title, gaps, legend, findings.
//!
//! Owns their text. A scale always has unit, ends, linear or logarithmic, the source of its ends
//! and the number of cut values.

use std::fmt::Write;

use super::LEGEND;
use super::colours::{CHANGES, STEPS};
use super::content::{Shown, ShownMonitor};
use super::objects::KINDS;
use super::text::{amount, capacity, lines, lines_between, xml};
use crate::layout::Area;
use crate::objects::{Attributes, ObjectKind, Topology};
use crate::scale::Scale;

/// Characters in a line of the legend's sans and of its monospace.
const WORDS: usize = 42;
const CODE: usize = 42;
/// Maximum number of gaps that are named one by one.
const GAPS: usize = 4;
/// Maximum number of findings below the objects.
const FINDINGS: usize = 8;
/// Maximum number of kinds of CPUs in the legend.
const KINDS_TOLD: usize = 8;
/// Maximum number of names of threads in the legend.
const THREADS: usize = 10;

/// Lines from the top, each at its height.
struct Lines {
    out: String,
    y: f64,
}

impl Lines {
    fn new() -> Self {
        Self { out: String::new(), y: 0.0 }
    }

    fn line(&mut self, class: &str, height: f64, text: &str) {
        self.y += height;
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" x=\"0\" y=\"{:.1}\">{}</text>",
            self.y,
            xml(text, 400)
        );
    }

    fn space(&mut self, height: f64) {
        self.y += height;
    }
}

/// Title, subtitle, gaps; and their height.
pub(super) fn head(shown: &Shown, width: f64) -> (String, f64) {
    let mut all = Lines::new();
    let characters = (width / 6.2) as usize;
    if !shown.title.is_empty() {
        all.line("big", 14.0, &lines(&shown.title, (width / 9.0) as usize, 1).concat());
    }
    if !shown.subtitle.is_empty() {
        all.line("dim", 17.0, &lines(&shown.subtitle.join(" · "), characters, 1).concat());
    }
    for gap in shown.gaps.iter().take(GAPS) {
        all.y += 17.0;
        let _ = writeln!(
            all.out,
            "<rect class=\"b\" fill=\"url(#hatch)\" x=\"0\" y=\"{:.1}\" width=\"10\" height=\"10\"/>\
             <text class=\"say\" x=\"16\" y=\"{:.1}\">{}</text>",
            all.y - 9.0,
            all.y,
            xml(&lines(gap, characters.saturating_sub(4), 1).concat(), 400)
        );
    }
    if shown.gaps.len() > GAPS {
        all.line("dim", 16.0, &format!("and {} more gaps", shown.gaps.len() - GAPS));
    }
    if all.y > 0.0 {
        all.space(14.0);
    }
    (all.out, all.y)
}

/// The column at the right, and its height.
pub(super) fn side(topology: &Topology, areas: &[Area], shown: &Shown) -> (String, f64) {
    let mut all = Lines::new();
    for monitor in &shown.monitors {
        one(&mut all, topology, monitor);
        all.space(12.0);
        let _ = writeln!(all.out, "<path class=\"rule\" d=\"M0 {:.1}h{LEGEND}\"/>", all.y);
        all.space(6.0);
    }
    if !shown.placement.is_empty() {
        placement(&mut all, topology, shown);
        all.space(14.0);
    }
    machine(&mut all, topology, areas);
    (all.out, all.y)
}

fn one(all: &mut Lines, topology: &Topology, monitor: &ShownMonitor) {
    let info = &monitor.info;
    let change = if monitor.difference { " (change)" } else { "" };
    all.line("name", 12.0, &format!("{}{change}", lines(&info.name, 36, 1).concat()));
    for (at, line) in lines(&info.counter, CODE, 3).iter().enumerate() {
        all.line("dim", if at == 0 { 15.0 } else { 12.0 }, line);
    }
    let unit = if info.unit.is_empty() { "no unit" } else { &info.unit };
    let how =
        if info.aggregate.is_empty() { String::new() } else { format!(" · {}", info.aggregate) };
    let place = format!("{unit} · measured at {} ({}){how}", info.level, info.objects.len());
    for line in lines(&place, WORDS, 2) {
        all.line("dim", 14.0, &line);
    }
    let numbers: Vec<_> = monitor.numbers().collect();
    let absent = info.objects.len() - numbers.len();
    if !numbers.is_empty() {
        ramp(all, monitor);
        let cut = match monitor.scale.cut(numbers.iter().map(|&(_, value)| value)) {
            (0, 0) => "nothing cut".to_owned(),
            (below, above) => format!("cut: {below} below, {above} above"),
        };
        let kind = if monitor.scale.log { "logarithmic" } else { "linear" };
        all.line("dim", 14.0, &format!("{kind}, {} ends, {cut}", monitor.range.word()));
        figures(all, topology, monitor, &numbers);
    }
    if absent > 0 {
        all.y += 15.0;
        let _ = writeln!(
            all.out,
            "<rect fill=\"url(#hatch)\" x=\"0\" y=\"{:.1}\" width=\"18\" height=\"10\"/><text x=\"24\" y=\"{:.1}\">{}</text>",
            all.y - 9.0,
            all.y,
            absence(monitor)
        );
    }
}

/// The reason for hatched objects.
fn absence(monitor: &ShownMonitor) -> String {
    let never = monitor.values.iter().filter(|value| value.is_none()).count();
    let now = monitor.values.iter().filter(|value| value.is_some_and(f64::is_nan)).count();
    match (never, now) {
        (0, now) => format!("{now} absent at this time"),
        (never, 0) => format!("{never} cannot be measured"),
        (never, now) => format!("{now} absent, {never} not measurable"),
    }
}

/// Classes of colours with ticks at round parts of the scale.
fn ramp(all: &mut Lines, monitor: &ShownMonitor) {
    let (steps, letter) = if monitor.difference { (CHANGES, 'd') } else { (STEPS, 'q') };
    let wide = LEGEND / steps as f64;
    all.space(9.0);
    for step in 0..steps {
        let _ = writeln!(
            all.out,
            "<rect class=\"b {letter}{step}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"12\"/>",
            step as f64 * wide,
            all.y
        );
    }
    all.space(12.0);
    let Scale { low, high, log } = monitor.scale;
    let middle = if log { low.sqrt() * high.sqrt() } else { f64::midpoint(low, high) };
    for (part, value, anchor) in [(0.0, low, "start"), (0.5, middle, "middle"), (1.0, high, "end")]
    {
        let x = part * LEGEND;
        let text = match value {
            value if monitor.difference && value > 0.0 => {
                format!("+{}", amount(value, &monitor.info.unit))
            }
            value => amount(value, &monitor.info.unit),
        };
        let _ = writeln!(
            all.out,
            "<path class=\"tick\" d=\"M{:.1} {:.1}v4\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            x.clamp(0.5, LEGEND - 0.5),
            all.y,
            all.y + 14.0,
            xml(&text, 40)
        );
    }
    all.space(16.0);
}

/// Mean, maximum and imbalance.
fn figures(
    all: &mut Lines,
    topology: &Topology,
    monitor: &ShownMonitor,
    numbers: &[(crate::objects::ObjectId, f64)],
) {
    let mean = numbers.iter().map(|(_, value)| value).sum::<f64>() / numbers.len() as f64;
    let Some(&(most, max)) =
        numbers.iter().reduce(|best, one| if one.1 > best.1 { one } else { best })
    else {
        return;
    };
    let unit = &monitor.info.unit;
    all.line("", 15.0, &format!("max  {}  {}", amount(max, unit), topology.label(most)));
    all.line("", 13.0, &format!("mean {}", amount(mean, unit)));
    if !monitor.difference && mean > 0.0 && numbers.len() > 1 {
        all.line("", 13.0, &format!("imbalance (max/mean) {:.2}", max / mean));
    }
}

fn placement(all: &mut Lines, topology: &Topology, shown: &Shown) {
    let count = shown.placement.len();
    all.line("name", 14.0, &format!("{count} thread{} placed", if count == 1 { "" } else { "s" }));
    for one in shown.placement.iter().take(THREADS) {
        all.y += 14.0;
        let _ = writeln!(
            all.out,
            "<circle class=\"thread\" cx=\"4\" cy=\"{:.1}\" r=\"3.2\"/><text x=\"14\" y=\"{:.1}\">{}</text>",
            all.y - 3.5,
            all.y,
            xml(&format!("{} on {}", one.label, topology.label(one.pu)), CODE - 3)
        );
    }
    if count > THREADS {
        all.line("dim", 14.0, &format!("and {} more", count - THREADS));
    }
}

/// Number of objects of each kind, and those without room.
fn machine(all: &mut Lines, topology: &Topology, areas: &[Area]) {
    let name = topology.objects.first().and_then(|root| {
        root.info("DMIProductName").or(root.info("HostName")).filter(|name| !name.is_empty())
    });
    all.line("name", 14.0, name.unwrap_or("machine"));
    let memory: u64 = topology
        .of_kind(ObjectKind::NumaNode)
        .map(
            |(_, node)| {
                if let Attributes::Numa { memory, .. } = node.attributes { memory } else { 0 }
            },
        )
        .fold(0, u64::saturating_add);
    let mut counts: Vec<String> = Vec::new();
    for (kind, count) in topology.counts() {
        if matches!(kind, ObjectKind::Machine | ObjectKind::Bridge) {
            continue;
        }
        // Blanks inside a count do not break.
        let size = if kind == ObjectKind::NumaNode && memory > 0 {
            format!("\u{a0}({})", capacity(memory).replace(' ', "\u{a0}"))
        } else {
            String::new()
        };
        counts.push(format!("{count}\u{a0}{kind}{size}"));
    }
    for line in lines_between(&counts, " · ", CODE) {
        all.line("dim", 14.0, &line);
    }
    natures(all, topology);
    let folded: usize = areas.iter().map(|area| area.devices(topology).saturating_sub(1)).sum();
    if folded > 0 {
        all.line("dim", 13.0, &format!("{folded} devices share a mark with others"));
    }
}

/// Meaning of stripes and lines across objects: kinds of CPUs, disallowed PUs and nodes.
fn natures(all: &mut Lines, topology: &Topology) {
    if topology.cpu_kinds.len() > 1 {
        for (number, kind) in topology.cpu_kinds.iter().enumerate().take(KINDS_TOLD) {
            all.y += 14.0;
            let text = format!("{}: PUs {}", topology.cpu_kind_name(number), kind.cpuset);
            let _ = writeln!(
                all.out,
                "<rect class=\"k{}\" x=\"0\" y=\"{:.1}\" width=\"4\" height=\"10\"/><text x=\"14\" y=\"{:.1}\">{}</text>",
                number.min(KINDS - 1),
                all.y - 9.0,
                all.y,
                xml(&text, CODE - 3)
            );
        }
    }
    let denied = topology.denied_pus();
    if !denied.is_empty() {
        all.y += 14.0;
        let _ = writeln!(
            all.out,
            "<path class=\"deny\" d=\"M0 {:.1}l10 10\"/><text x=\"14\" y=\"{:.1}\">{}</text>",
            all.y - 9.0,
            all.y,
            xml(&format!("may not be used: PUs {denied}"), CODE - 3)
        );
    }
}

/// Numbered sentences below the objects.
pub(super) fn findings(shown: &Shown, width: f64) -> (String, f64) {
    let mut all = Lines::new();
    for (number, hint) in shown.hints.iter().take(FINDINGS).enumerate() {
        let time = match hint.from_to {
            Some((from, to)) => format!(" ({from} to {to})"),
            None => String::new(),
        };
        let text = format!("{}{time}", hint.sentence);
        for (at, line) in lines(&text, ((width - 24.0) / 6.3) as usize, 2).iter().enumerate() {
            all.y += if at == 0 { 20.0 } else { 16.0 };
            if at == 0 {
                let _ = writeln!(
                    all.out,
                    "<g class=\"mark\"><circle cx=\"8\" cy=\"{:.1}\" r=\"7\"/><text x=\"8\" y=\"{:.1}\">{}</text></g>",
                    all.y - 4.0,
                    all.y - 0.4,
                    number + 1
                );
            }
            let _ = writeln!(
                all.out,
                "<text class=\"say\" x=\"24\" y=\"{:.1}\">{}</text>",
                all.y,
                xml(line, 400)
            );
        }
    }
    if shown.hints.len() > FINDINGS {
        all.line("dim", 18.0, &format!("and {} more findings", shown.hints.len() - FINDINGS));
    }
    (all.out, all.y)
}

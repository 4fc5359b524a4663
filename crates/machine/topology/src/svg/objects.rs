//! The objects of a picture: frames, bars, names, values, tooltips, marks.
//!
//! Owns the contents of an area. Nothing is drawn outside it, and text that does not fit is left
//! out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use super::content::{Shown, ShownMonitor};
use super::names::{caption, tip};
use super::text::{fitting, xml};
use crate::layout::{Area, CHARACTER, Detail, Rect};
use crate::objects::{ObjectId, ObjectKind, Topology};

/// Maximum number of dots of threads on one PU before they become a number.
const DOTS: usize = 3;
/// Maximum number of marks of one finding; the sentence has the number of objects.
const MARKS: usize = 24;

/// A stable id for each object: `o-PU-3` is the kind and the logical index. Groups of different
/// depths have the same indexes; the later ones get their place in the topology appended.
pub fn ids(topology: &Topology) -> Vec<String> {
    let mut taken = HashSet::new();
    let id = |(id, object): (ObjectId, &crate::objects::Object)| {
        let name = format!("o-{}-{}", object.kind.name(), object.logical_index);
        if taken.insert((object.kind, object.logical_index)) {
            name
        } else {
            format!("{name}-{}", id.0)
        }
    };
    topology.iter().map(id).collect()
}

/// Display data of each object, by its place in the topology.
struct At<'a> {
    values: HashMap<ObjectId, Vec<(&'a ShownMonitor, Option<f64>)>>,
    threads: BTreeMap<ObjectId, Vec<&'a str>>,
    hints: BTreeMap<ObjectId, Vec<usize>>,
    /// Characters of the longest name of a PU: names of PUs are short for all or for none.
    longest: usize,
}

impl<'a> At<'a> {
    fn new(topology: &Topology, shown: &'a Shown) -> Self {
        let most = topology.of_kind(ObjectKind::Pu).filter_map(|(_, object)| object.os_index).max();
        let longest = format!("PU P#{}", most.unwrap_or(0)).len();
        let (values, threads, hints) = (HashMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut at = Self { values, threads, hints, longest };
        for monitor in &shown.monitors {
            for (&id, &value) in monitor.info.objects.iter().zip(&monitor.values) {
                at.values.entry(id).or_default().push((monitor, value));
            }
        }
        for one in &shown.placement {
            at.threads.entry(one.pu).or_default().push(&one.label);
        }
        for (number, hint) in shown.hints.iter().enumerate() {
            for &id in hint.objects.iter().take(MARKS) {
                at.hints.entry(id).or_default().push(number + 1);
            }
        }
        at
    }
}

/// Draws all areas. `live` leaves values to a page's program.
pub(super) fn write(
    out: &mut String,
    topology: &Topology,
    areas: &[Area],
    shown: &Shown,
    live: bool,
) {
    let ids = ids(topology);
    let at = At::new(topology, shown);
    let rects: HashMap<ObjectId, Rect> =
        areas.iter().map(|area| (area.object, area.rect)).collect();
    for area in areas {
        let object = topology.get(area.object);
        let around = object.parent.and_then(|parent| rects.get(&parent));
        // A bar as wide as the box around it needs no frame of its own.
        let chained = around.is_some_and(|around| (around.width - area.rect.width).abs() < 0.5);
        let framed =
            area.rect.height > area.bar.height + 0.5 && object.kind.is_normal() && !chained;
        let _ = write!(
            out,
            "<g id=\"{}\" class=\"o {}",
            ids[area.object.0 as usize],
            class(object.kind)
        );
        // A mark of several devices must not look as if the first one's value were that of all.
        let values = at.values.get(&area.object).filter(|_| area.folded.is_empty());
        let values = values.map_or(&[][..], Vec::as_slice);
        if let Some((monitor, value)) = values.first() {
            let _ = write!(out, " {}", monitor.class(*value));
        }
        out.push('"');
        if live {
            let _ = write!(out, " data-o=\"{}\"", area.object.0);
            let folded: Vec<String> = area.innermost(topology).map(|id| id.0.to_string()).collect();
            if !folded.is_empty() {
                let _ = write!(out, " data-folded=\"{}\"", folded.join(" "));
            }
        }
        out.push('>');
        if framed {
            let _ = write!(out, "<rect class=\"f\" {}/>", rect(area.rect));
        }
        let _ = write!(out, "<rect class=\"b\" {}/>", rect(area.bar));
        nature(out, topology, area);
        let threads = at.threads.get(&area.object).map_or(&[][..], Vec::as_slice);
        words(out, topology, area, values, live, threads, at.longest);
        let _ = write!(out, "<title>{}</title>", tip(topology, area, values, threads));
        out.push_str("</g>\n");
    }
    for area in areas {
        if let Some(threads) = at.threads.get(&area.object) {
            dots(out, area, threads);
        }
    }
    for area in areas {
        if let Some(numbers) = at.hints.get(&area.object) {
            mark(out, area.bar, numbers);
        }
    }
}

/// Width of the stripe for the kind of a core.
const STRIPE: f64 = 3.0;
/// Colours of kinds of CPUs; further ones have the last.
pub(super) const KINDS: usize = 4;

/// A stripe for the kind of CPU, in machines that have several; a line across disallowed objects.
fn nature(out: &mut String, topology: &Topology, area: &Area) {
    let Rect { x, y, width, height } = area.bar;
    let kind = topology.get(area.object).kind;
    if let (ObjectKind::Core | ObjectKind::Pu, Some(number)) =
        (kind, topology.cpu_kind(area.object))
    {
        let stripe = Rect { width: STRIPE.min(width), ..area.bar };
        let _ = write!(out, "<rect class=\"k{}\" {}/>", number.min(KINDS - 1), rect(stripe));
    }
    if matches!(kind, ObjectKind::Pu | ObjectKind::NumaNode) && !topology.is_allowed(area.object) {
        let _ = write!(out, "<path class=\"deny\" d=\"M{x:.1} {y:.1}l{width:.1} {height:.1}\"/>");
    }
}

fn class(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Pu => "pu",
        ObjectKind::Core => "core",
        _ if kind.is_cache() => "cache",
        _ if kind.is_memory() => "mem",
        _ if kind.is_normal() => "head",
        _ => "io",
    }
}

fn rect(rect: Rect) -> String {
    let Rect { x, y, width, height } = rect;
    format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"")
}

/// Name and value.
fn words(
    out: &mut String,
    topology: &Topology,
    area: &Area,
    values: &[(&ShownMonitor, Option<f64>)],
    live: bool,
    threads: &[&str],
    longest: usize,
) {
    let Rect { x, y, width, height } = area.bar;
    if area.detail == Detail::Bare {
        return;
    }
    let pu = topology.get(area.object).kind == ObjectKind::Pu;
    let fits = ((width - 7.0) / CHARACTER) as usize;
    let number =
        || topology.get(area.object).os_index.map_or_else(String::new, |os| os.to_string());
    let mut value =
        values.first().and_then(|(monitor, value)| value.map(|value| (*monitor, value)));
    value = value.filter(|(_, value)| !value.is_nan());
    let device = matches!(class(topology.get(area.object).kind), "io");
    let full = if device { caption(topology, area, 0) } else { topology.label(area.object) };
    let short = pu && (area.detail == Detail::Number || longest > fits);
    let two = area.detail == Detail::Two;
    // A third line is for a thread.
    let who = if two && height >= 35.0 { threads.first() } else { None };
    let (name_y, value_y) = match (two, who) {
        (false, _) => (y + height / 2.0 + 3.6, y + height / 2.0 + 3.6),
        (true, None) => (y + height / 2.0 - 2.4, y + height / 2.0 + 9.4),
        (true, Some(_)) => (y + height / 2.0 - 7.5, y + height / 2.0 + 3.5),
    };
    let left = if two || area.detail >= Detail::Name { fits } else { 0 };
    let mut name = if short { number() } else { caption(topology, area, left) };
    let mut taken = if two { 0 } else { name.chars().count() + 1 };
    let wanted = if live || value.is_some() { 9 } else { 0 };
    if taken + wanted > fits && !two && !short {
        name =
            if full.chars().count() + 6 <= fits { caption(topology, area, fits - 6) } else { full };
        taken = name.chars().count() + 1;
    }
    if name.chars().count() > fits {
        name = name.chars().take(fits.saturating_sub(1)).chain(['…']).collect();
    }
    if area.detail == Detail::Number || (two && value.is_none() && !live) && pu && who.is_none() {
        let y = y + height / 2.0 + 3.6;
        let _ = write!(
            out,
            "<text class=\"n s\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            x + width / 2.0,
            xml(&name, 60)
        );
        return;
    }
    let _ = write!(
        out,
        "<text class=\"n\" x=\"{:.1}\" y=\"{name_y:.1}\">{}</text>",
        x + 4.0,
        xml(&name, 60)
    );
    let right = x + width - 4.0;
    let room = fits.saturating_sub(taken);
    if live && room >= 4 {
        let _ = write!(
            out,
            "<text class=\"v\" x=\"{right:.1}\" y=\"{value_y:.1}\" data-room=\"{room}\"/>"
        );
    } else if let Some(text) =
        value.and_then(|(monitor, value)| fitting(value, &monitor.info.unit, room))
    {
        let _ = write!(
            out,
            "<text class=\"v\" x=\"{right:.1}\" y=\"{value_y:.1}\">{}</text>",
            xml(&text, 40)
        );
    }
    if let Some(who) = who {
        let y = y + height / 2.0 + 15.0;
        let _ = write!(
            out,
            "<text class=\"n\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            x + 4.0,
            xml(who, fits.saturating_sub(1))
        );
    }
}

/// A dot for each thread at the upper right corner of its PU.
fn dots(out: &mut String, area: &Area, threads: &[&str]) {
    let Rect { x, y, width, height } = area.bar;
    let radius = (height / 4.0).min(width / 6.0).min(3.2);
    let shown = if threads.len() > DOTS { 1 } else { threads.len() };
    let _ = write!(out, "<g>");
    for at in 0..shown {
        let cx = x + width - (radius + 1.5) - at as f64 * (2.0 * radius + 1.0);
        let _ = write!(
            out,
            "<circle class=\"thread\" cx=\"{cx:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\"/>",
            y + radius + 1.5
        );
    }
    if threads.len() > DOTS && width >= 34.0 && height >= 10.0 {
        let _ = write!(
            out,
            "<text class=\"v\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + width - 2.0 * radius - 4.0,
            y + 9.0,
            threads.len()
        );
    }
    let _ = writeln!(
        out,
        "<title>{}</title></g>",
        threads.iter().take(16).map(|who| xml(who, 80)).collect::<Vec<_>>().join("\n")
    );
}

/// The numbers of findings where names and values leave room: in the middle of a bar, or of its
/// upper edge if it is short.
fn mark(out: &mut String, bar: Rect, numbers: &[usize]) {
    let Rect { x, y, width, height } = bar;
    for (at, number) in numbers.iter().take(3).enumerate() {
        let cx = x + width / 2.0 + 15.0 * at as f64;
        let cy = if width < 260.0 { y } else { y + height / 2.0 };
        let _ = writeln!(
            out,
            "<g class=\"mark\"><circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"7\"/><text x=\"{cx:.1}\" y=\"{:.1}\">{number}</text></g>",
            cy + 3.6
        );
    }
}

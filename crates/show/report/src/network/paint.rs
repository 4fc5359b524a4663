//! A picture without values, and the values of a view: SVG.
//!
//! Owns the appearance of a link: colour by its value in twelve classes, width by capacity, a notch
//! where it was stalled, a cross where it is degraded, hatched where the value is absent. Equal
//! marks are one path, so that a machine of thousands of links stays a small file. Of bundles
//! between groups about 400, those with the most, are coloured, the others are hairlines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use talea_fabric::{LinkId, RouterId};

use super::cut;
use super::quantity::{Quantity, Range, rounded};
use super::scene::{Mark, Scene};
use super::{Network, View};
use crate::text::xml;

/// Shares of stalled time from which on a link has one notch, and two.
pub(super) const NOTCHES: [f64; 2] = [0.1, 0.4];

/// Maximum number of crossing marks that are coloured; of more, those with less are hairlines.
const MOST: usize = 400;

/// Distance from the side of a link to the middle of the route beside it.
const WAY: f64 = 1.9;

/// Values drawn on a scene.
pub(super) struct Paint<'a> {
    pub(super) network: &'a Network<'a>,
    pub(super) view: &'a View,
    pub(super) quantity: Quantity,
    pub(super) range: Option<Range>,
    /// The largest capacity of a line.
    pub(super) widest: Option<f64>,
    /// True if a line is as wide as all its links together, not as the one with most.
    pub(super) bundled: bool,
    /// The links of the route, and of the route back.
    pub(super) ways: &'a [Option<Vec<LinkId>>; 2],
    pub(super) ends: Option<(RouterId, RouterId)>,
    /// True if this view is the recommended one.
    pub(super) recommended: bool,
}

/// Values of a mark.
struct Said {
    value: Option<f64>,
    width: f64,
    stalled: f64,
}

impl Paint<'_> {
    /// The maximum value of the links, the width of the line, and the maximum stall.
    fn says(&self, links: &[u32], room: f64) -> Said {
        let carried = |link: u32| self.view.links.get(link as usize);
        let mut said = Said { value: None, width: 0.0, stalled: 0.0 };
        let mut capacity: Option<f64> = None;
        for &link in links {
            let of = self.network.fabric.links()[link as usize].capacity;
            capacity = match (of, capacity) {
                (Some(of), Some(sum)) if self.bundled => Some(of + sum),
                (Some(of), Some(most)) => Some(of.max(most)),
                _ => of.or(capacity),
            };
            let Some(carried) = carried(link) else { continue };
            if let Some(value) = self.quantity.value(carried) {
                said.value = Some(said.value.map_or(value, |most| most.max(value)));
            }
            said.stalled = said.stalled.max(carried.stalled.unwrap_or(0.0));
        }
        // Without capacities all are of a middling width.
        let part = match (capacity, self.widest) {
            (Some(of), Some(most)) if most > 0.0 => of / most,
            _ => 0.6,
        };
        said.width = ((0.25 + 0.75 * part) * room * 10.0).round() / 10.0;
        said
    }

    /// The class of a value.
    fn class(&self, value: Option<f64>) -> String {
        match (value, self.range) {
            (Some(value), Some(range)) => format!("q{}", range.step(value)),
            _ => "na".to_owned(),
        }
    }

    /// Everything except the surrounding texts; returns the note below it, which may be empty.
    pub(super) fn scene(&self, scene: &Scene, out: &mut String) -> String {
        let said: Vec<Said> =
            scene.marks.iter().map(|mark| self.says(&mark.links, mark.room)).collect();
        let crossing = scene.grids.is_empty();
        // Pages have values of this many digits: values that are equal there are equal here.
        let sizes: Vec<Option<f64>> =
            said.iter().map(|said| Some(rounded(said.value?, self.quantity.digits()))).collect();
        let coloured = cut::coloured(&sizes, if crossing { MOST } else { usize::MAX });
        // By class and width in tenths: one path each; the largest comes last and is on top.
        let mut paths: BTreeMap<(u8, String, u32), String> = BTreeMap::new();
        for ((mark, said), &coloured) in scene.marks.iter().zip(&said).zip(&coloured) {
            let thin = !coloured;
            let class = if thin { "thin".to_owned() } else { self.class(said.value) };
            let order = class.strip_prefix('q').and_then(|step| step.parse().ok());
            let order = order.map_or(u8::from(!thin), |step: u8| step + 2);
            let width = if thin { 5 } else { (said.width * 10.0) as u32 };
            paths.entry((order, class, width)).or_default().push_str(&mark.path(true));
        }
        for ((_, class, width), path) in paths {
            let width = f64::from(width) / 10.0;
            let _ =
                writeln!(out, "<path class=\"l {class}\" stroke-width=\"{width}\" d=\"{path}\"/>");
        }
        for label in &scene.labels {
            let _ = writeln!(
                out,
                "<text class=\"{}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{}\">{}</text>",
                if label.strong { "strong over" } else { "tick over" },
                label.at[0],
                label.at[1],
                label.anchor,
                xml(&label.text, 60)
            );
        }
        self.nodes(scene, out);
        notches(scene, &said, out);
        self.degraded(scene, out);
        self.route(scene, out);
        let notes = [Some(scene.note.clone()), cut::note(&sizes, &coloured)];
        let notes: Vec<String> =
            notes.into_iter().flatten().filter(|note| !note.is_empty()).collect();
        notes.join("; ")
    }

    fn nodes(&self, scene: &Scene, out: &mut String) {
        let mut dots = String::new();
        for node in &scene.nodes {
            let [x, y] = node.at;
            let r = node.radius;
            if node.inside.is_empty() {
                let _ = write!(
                    dots,
                    "M{:.1} {:.1}h{:.1}v{:.1}h-{:.1}z",
                    x - r,
                    y - r,
                    2.0 * r,
                    2.0 * r,
                    2.0 * r
                );
                continue;
            }
            let said = self.says(&node.inside, 1.0);
            let _ = writeln!(
                out,
                "<circle class=\"d {}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\"><title>{}</title></circle>",
                self.class(said.value),
                xml(&node.label, 80)
            );
        }
        if !dots.is_empty() {
            let _ = writeln!(out, "<path class=\"r\" d=\"{dots}\"/>");
        }
    }

    fn degraded(&self, scene: &Scene, out: &mut String) {
        let degraded: BTreeSet<u32> =
            self.network.degraded.iter().map(|(link, _)| link.0).collect();
        let mut path = String::new();
        for mark in &scene.marks {
            if mark.links.iter().any(|link| degraded.contains(link)) {
                let ([x, y], _) = mark.middle();
                let _ = write!(
                    path,
                    "M{:.1} {:.1}l8 8M{:.1} {:.1}l8 -8",
                    x - 4.0,
                    y - 4.0,
                    x - 4.0,
                    y + 4.0
                );
            }
        }
        if !path.is_empty() {
            let _ = writeln!(
                out,
                "<path class=\"halo\" d=\"{path}\"/><path class=\"worse\" d=\"{path}\"/>"
            );
        }
    }

    /// There solid, back dashed, ends named; beside the links on the route, whose colours stay
    /// visible.
    fn route(&self, scene: &Scene, out: &mut String) {
        for (way, class) in self.ways.iter().zip(["there", "back"]) {
            let Some(way) = way else { continue };
            let links: BTreeSet<u32> = way.iter().map(|link| link.0).collect();
            let on = |mark: &&Mark| mark.links.iter().any(|link| links.contains(link));
            let beside = |mark: &Mark| mark.shifted(mark.room / 2.0 + WAY).path(false);
            let path: String = scene.marks.iter().filter(on).map(beside).collect();
            if !path.is_empty() {
                let _ = writeln!(
                    out,
                    "<path class=\"halo {class}\" d=\"{path}\"/><path class=\"way {class}\" d=\"{path}\"/>"
                );
            }
        }
        let Some((from, to)) = self.ends else { return };
        let mut ends = |router: RouterId, name: &str| {
            for [x, y] in scene.places(self.network, router) {
                let _ = writeln!(
                    out,
                    "<circle class=\"end\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"/><text class=\"endname\" x=\"{x:.1}\" \
                     y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
                    y + 3.6
                );
            }
        };
        ends(from, "A");
        ends(to, "B");
    }
}

/// Cuts across a link: one, or two where it was stalled for long.
fn notches(scene: &Scene, said: &[Said], out: &mut String) {
    let mut path = String::new();
    // Thin where marks are short, as a notch must not hide the colour.
    let fine = scene.grids.first().map_or(1.6, |grid| (grid.cell * 0.06).clamp(0.7, 1.6));
    for (mark, said) in scene.marks.iter().zip(said) {
        let count = NOTCHES.iter().filter(|&&least| said.stalled >= least).count();
        let (middle, along) = mark.middle();
        let half = mark.room / 2.0 + 0.2;
        for at in 0..count {
            let by = (at as f64 - (count as f64 - 1.0) / 2.0) * fine * 1.9;
            let centre = [middle[0] + along[0] * by, middle[1] + along[1] * by];
            let _ = write!(
                path,
                "M{:.1} {:.1}L{:.1} {:.1}",
                centre[0] - along[1] * half,
                centre[1] + along[0] * half,
                centre[0] + along[1] * half,
                centre[1] - along[0] * half
            );
        }
    }
    if !path.is_empty() {
        let _ = writeln!(out, "<path class=\"notch\" stroke-width=\"{fine:.2}\" d=\"{path}\"/>");
    }
}

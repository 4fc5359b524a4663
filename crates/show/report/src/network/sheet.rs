//! Texts of a picture: title and findings, a view's name and figures, the links with most, routes,
//! degraded links, gaps.
//!
//! Owns the line breaks and the number of written items. External text goes through the crate's
//! `text`.

use std::fmt::Write;

use talea_fabric::{LinkId, RouterId};
use talea_model::notation::grouped;

use super::classes::Classes;
use super::paint::Paint;
use super::quantity::{Quantity, amount};
use super::scene::Scene;
use super::{Network, View};
use crate::text::{plain, xml};

/// Width in pixels of a character of class `mono`; monospaced fonts of 11 px have 6.6 and some
/// more.
const MONO: f64 = 6.65;

/// Left of everything.
pub(super) const LEFT: f64 = 20.0;

/// Pixels from the left to the right edge of the sheet.
const WIDE: f64 = 1200.0;

/// Maximum number of sentences, degraded links and gaps that are written out.
const MOST: usize = 12;

/// A picture in construction.
pub(super) struct Sheet {
    pub(super) body: String,
    /// Place of the next item.
    pub(super) y: f64,
}

impl Sheet {
    pub(super) fn text(&mut self, class: &str, [x, y]: [f64; 2], text: &str) {
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            xml(text, 260)
        );
    }

    /// Lines of figures in this width, the first of them a line below.
    fn mono(&mut self, x: f64, width: f64, text: &str) {
        for line in lines(text, (width / MONO) as usize) {
            self.y += 16.0;
            self.text("mono", [x, self.y], &line);
        }
    }

    /// Title, facts, findings.
    pub(super) fn head(&mut self, network: &Network<'_>) {
        self.text("title", [LEFT, self.y], &network.title);
        if !network.facts.is_empty() {
            self.y += 19.0;
            self.text("dim", [LEFT, self.y], &network.facts.join(" \u{b7} "));
        }
        self.y += 8.0;
        for finding in network.findings.iter().take(MOST) {
            for line in lines(finding, 185) {
                self.y += 18.0;
                self.text("say", [LEFT, self.y], &line);
            }
        }
        self.more(network.findings.len());
        self.y += 16.0;
    }

    pub(super) fn view(
        &mut self,
        x: f64,
        width: f64,
        view: &View,
        paint: &Paint<'_>,
        scene: &Scene,
    ) {
        self.y += 14.0;
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{:.1}\"><tspan class=\"view\">{}</tspan><tspan class=\"dim\" dx=\"8\">{}</tspan>{}</text>",
            self.y,
            xml(&view.name, ((width - 150.0) / 8.0) as usize),
            view.source.word(),
            if paint.recommended {
                "<tspan class=\"strong\" dx=\"8\">recommended</tspan>"
            } else {
                ""
            }
        );
        let figures: Vec<String> =
            view.figures.iter().take(MOST).map(|(name, value)| format!("{name} {value}")).collect();
        self.mono(x, width, &figures.join(" \u{b7} "));
        self.y += 10.0;
        let left = x + ((width - scene.width) / 2.0).max(0.0) * f64::from(scene.grids.is_empty());
        let _ = writeln!(self.body, "<g transform=\"translate({left:.1} {:.1})\">", self.y);
        let note = paint.scene(scene, &mut self.body);
        self.body.push_str("</g>\n");
        self.y += scene.height - 6.0;
        self.mono(x, width, &note);
        self.y += 12.0;
    }

    /// Dimensions and the links with most, in this width beside the histogram or below it; the
    /// sheet continues at its end.
    pub(super) fn beside(
        &mut self,
        network: &Network<'_>,
        classes: &Classes,
        view: &View,
        (quantity, [x, y], width): (Quantity, [f64; 2], f64),
    ) {
        let value = |at: usize| view.links.get(at).and_then(|link| quantity.value(link));
        self.y = y - 16.0;
        for (at, name) in classes.dimensions.iter().enumerate().take(6) {
            let values: Vec<f64> = (0..network.fabric.links().len())
                .filter(|&link| classes.dimension(link) == at)
                .filter_map(value)
                .collect();
            let Some(most) = values.iter().copied().reduce(f64::max) else { continue };
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let [most, mean] = [most, mean].map(|value| quantity.text(value, view.unit));
            self.mono(x, width, &format!("{name}: at most {most}, mean {mean}"));
        }
        let mut order: Vec<(usize, f64)> = (0..network.fabric.links().len())
            .filter_map(|at| Some((at, value(at)?)))
            .filter(|(_, value)| *value > 0.0)
            .collect();
        order.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        if order.is_empty() {
            return;
        }
        let alike = order.iter().filter(|(_, value)| *value >= order[0].1).count();
        self.y += 22.0;
        let of = if alike > 3 {
            format!(", {} links have as much as the first", grouped(alike as u64))
        } else {
            String::new()
        };
        self.text("name", [x, self.y], &format!("most{of}"));
        for &(at, value) in order.iter().take(3) {
            let [value, link] =
                [quantity.text(value, view.unit), between(network, LinkId(at as u32))];
            self.mono(x, width, &format!("{value}  {link}"));
        }
    }

    /// Texts of the route and of the route back.
    pub(super) fn ways(
        &mut self,
        network: &Network<'_>,
        ends: Option<(RouterId, RouterId)>,
        ways: &[Option<Vec<LinkId>>; 2],
    ) {
        let Some(ends) = ends else { return };
        for (way, (from, to)) in ways.iter().zip([(ends.0, ends.1), (ends.1, ends.0)]) {
            let [from, to] = [from, to].map(|end| router(network, end));
            let text = match way {
                None => format!("no way is known from {from} to {to}"),
                Some(way) => {
                    let passed: Vec<String> = way
                        .iter()
                        .map(|link| router(network, network.fabric.links()[link.at()].to))
                        .collect();
                    let links = if way.len() == 1 { "link" } else { "links" };
                    format!("{} {links} from {from} to {to}: {}", way.len(), passed.join(", "))
                }
            };
            for line in lines(&text, (WIDE / MONO) as usize).iter().take(3) {
                self.y += 16.0;
                self.text("mono", [LEFT, self.y], line);
            }
        }
    }

    pub(super) fn lists(&mut self, network: &Network<'_>) {
        if !network.degraded.is_empty() {
            self.y += 22.0;
            let count = network.degraded.len();
            let text = if count == 1 {
                "1 link is worse than it should be".to_owned()
            } else {
                format!("{} links are worse than they should be", grouped(count as u64))
            };
            self.text("strong", [LEFT, self.y], &text);
            for (link, why) in network.degraded.iter().take(MOST) {
                self.mono(LEFT, WIDE, &format!("\u{d7} {}: {why}", between(network, *link)));
            }
            self.more(count);
        }
        if !network.gaps.is_empty() {
            self.y += 22.0;
            self.text("strong", [LEFT, self.y], "missing or estimated");
            for gap in network.gaps.iter().take(MOST) {
                for line in lines(gap, 185) {
                    self.y += 16.0;
                    self.text("dim", [LEFT, self.y], &line);
                }
            }
            self.more(network.gaps.len());
        }
        self.y += 10.0;
    }

    fn more(&mut self, all: usize) {
        if let Some(more) = all.checked_sub(MOST + 1) {
            self.y += 16.0;
            self.text("dim", [LEFT, self.y], &format!("and {} more", more + 1));
        }
    }
}

fn router(network: &Network<'_>, id: RouterId) -> String {
    let Some(router) = network.fabric.routers().get(id.at()) else {
        return format!("router {}", id.0);
    };
    match router.at {
        Some(at) if !router.name.contains(&at.to_string()) => format!("{} {at}", router.name),
        _ => router.name.clone(),
    }
}

/// The ends of a link, and its capacity.
fn between(network: &Network<'_>, link: LinkId) -> String {
    let Some(of) = network.fabric.links().get(link.at()) else { return format!("link {}", link.0) };
    let capacity =
        of.capacity.map_or_else(String::new, |capacity| format!(", {}", amount(capacity, "B/s")));
    format!("{} \u{2192} {}{capacity}", router(network, of.from), router(network, of.to))
}

/// Lines of at most this many characters, broken at blanks; a longer word is cut.
fn lines(text: &str, longest: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace().map(|word| plain(word, longest.saturating_sub(1))) {
        match out.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= longest => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => out.push(word),
        }
    }
    out
}

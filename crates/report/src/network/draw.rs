//! A whole picture: what there is to see in words, the legend, each view with its figures and histogram, ways, degraded links, gaps.
//!
//! Owns the order of these and where they stand: 1,240 px wide, two views beside each other on one scale. Text from outside goes through the crate's `text`.

use std::fmt::Write;

use talea_fabric::{LinkId, RouterId};

use super::classes::Classes;
use super::histogram::{Frame, Histogram};
use super::legend::Legend;
use super::paint::Paint;
use super::quantity::{Quantity, Range, amount};
use super::scene::Scene;
use super::{Form, Network, Picture, View, groups, histogram, levels, ramp, slabs, ways};
use crate::plot::{Area, document};
use crate::text::xml;

const WIDTH: f64 = 1240.0;
const LEFT: f64 = 20.0;
/// Between two views.
const APART: f64 = 36.0;
/// Most sentences, degraded links and gaps that are written out.
const MOST: usize = 12;

/// The picture as SVG.
pub(super) fn svg(network: &Network<'_>, picture: &Picture) -> String {
    let known = |at: &usize| *at < network.views.len();
    let mut views: Vec<usize> = picture.views.iter().copied().filter(known).take(2).collect();
    if views.is_empty() && !network.views.is_empty() {
        views.push(0);
    }
    let quantity = Quantity::of(network, &views, picture.shows);
    let ranges = ranges(network, &views, quantity);
    let ways = picture.route.map_or([None, None], |ends| ways::both(network, ends));
    let columns = views.len().max(1) as f64;
    let width = (WIDTH - 2.0 * LEFT - (columns - 1.0) * APART) / columns;
    let scene = scene(network, width);
    let widest = scene.widest(network);
    let mut page = Page { body: ramp::style(), y: 34.0 };
    page.head(network);
    let shown: Vec<&View> = views.iter().map(|&at| &network.views[at]).collect();
    let carried = || shown.iter().flat_map(|view| &view.links);
    let links = network.fabric.links().len();
    let legend = Legend {
        network,
        quantity,
        ranges: shown
            .iter()
            .zip(&ranges)
            .filter_map(|(view, range)| Some(((*range)?, view.unit)))
            .collect(),
        widest,
        absent: shown.iter().any(|view| {
            (0..links).any(|at| view.links.get(at).and_then(|l| quantity.value(l)).is_none())
        }),
        stalled: carried().any(|link| link.stalled.is_some()),
        way: ways.iter().any(Option::is_some),
    };
    let (rows, height) = legend.draw([LEFT, page.y], WIDTH - LEFT);
    page.body.push_str(&rows);
    page.y += height + 4.0;
    let classes = Classes::new(network);
    let histograms: Vec<Option<Histogram>> = shown
        .iter()
        .zip(&ranges)
        .map(|(view, range)| Some(Histogram::new(view, links, quantity, (*range)?)))
        .collect();
    let known = histograms.iter().flatten();
    let most = known.clone().map(Histogram::most).max().unwrap_or(0);
    let log = known.clone().any(Histogram::uneven);
    let top = page.y;
    let mut bottom = top;
    for (column, ((view, histogram), &range)) in
        shown.iter().zip(&histograms).zip(&ranges).enumerate()
    {
        let paint = Paint {
            network,
            view,
            quantity,
            range,
            widest,
            bundled: scene.grids.is_empty(),
            ways: &ways,
            ends: picture.route,
        };
        let x = LEFT + (width + APART) * column as f64;
        page.y = top;
        page.view(x, width, view, &paint, &scene);
        let alone = shown.len() < 2;
        let wide = if alone { 520.0 } else { width - 60.0 };
        let area = Area { x: x + 52.0, y: page.y + 22.0, width: wide, height: 104.0 };
        if let (Some(histogram), Some(range)) = (histogram, range) {
            let frame = Frame { area, most, log };
            page.body.push_str(&histogram::draw(histogram, &frame, (quantity, range, view.unit)));
        } else {
            page.text("dim", [x, area.y + 20.0], "no link of this view has a value");
        }
        let below = area.y + area.height + 44.0;
        let at = if alone { [area.x + wide + 30.0, area.y] } else { [x, below + 6.0] };
        let end = page.beside(network, &classes, view, (quantity, at));
        bottom = bottom.max(below).max(end + 14.0);
    }
    page.y = bottom;
    page.ways(network, picture.route, &ways);
    page.lists(network);
    let names: Vec<&str> = shown.iter().map(|view| view.name.as_str()).collect();
    let label = format!(
        "{}: {} of {} links, {}",
        network.title,
        quantity.name(),
        network.fabric.links().len(),
        names.join(" and ")
    );
    document((WIDTH, page.y + 8.0), &label, &page.body)
}

/// The range of each view: the same for all, or its own where loads have different units.
fn ranges(network: &Network<'_>, views: &[usize], quantity: Quantity) -> Vec<Option<Range>> {
    let mut units = views.iter().map(|&at| network.views[at].unit);
    let first = units.next();
    let alike = quantity != Quantity::Load || units.all(|unit| Some(unit) == first);
    let of = |view: usize| {
        if alike {
            Range::of(network, views, quantity)
        } else {
            Range::of(network, &[view], quantity)
        }
    };
    views.iter().map(|&view| of(view)).collect()
}

/// What is drawn of the form in a room of this width.
pub(super) fn scene(network: &Network<'_>, width: f64) -> Scene {
    match network.form {
        Form::Torus(_) => slabs::scene(network, [width, if width > 700.0 { 520.0 } else { 860.0 }]),
        Form::Groups(_) => groups::scene(network, width.min(680.0)),
        Form::Levels(_) => levels::scene(network, [width, 430.0]),
    }
}

struct Page {
    body: String,
    y: f64,
}

impl Page {
    fn text(&mut self, class: &str, [x, y]: [f64; 2], text: &str) {
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            xml(text, 260)
        );
    }

    /// Title, facts, findings.
    fn head(&mut self, network: &Network<'_>) {
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
        self.y += 16.0;
    }

    fn view(&mut self, x: f64, width: f64, view: &View, paint: &Paint<'_>, scene: &Scene) {
        self.y += 14.0;
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{:.1}\"><tspan class=\"view\">{}</tspan><tspan class=\"dim\" dx=\"8\">{}</tspan></text>",
            self.y,
            xml(&view.name, 70),
            view.source.word()
        );
        let figures: Vec<String> =
            view.figures.iter().take(MOST).map(|(name, value)| format!("{name} {value}")).collect();
        for line in lines(&figures.join(" \u{b7} "), (width / 6.2) as usize) {
            self.y += 16.0;
            self.text("mono", [x, self.y], &line);
        }
        self.y += 10.0;
        let left = x + ((width - scene.width) / 2.0).max(0.0) * f64::from(scene.grids.is_empty());
        let _ = writeln!(self.body, "<g transform=\"translate({left:.1} {:.1})\">", self.y);
        self.body.push_str(&paint.scene(scene));
        self.body.push_str("</g>\n");
        self.y += scene.height + 10.0;
    }

    /// Dimensions and the links with most, beside the histogram or below it; returns where that ends.
    fn beside(
        &mut self,
        network: &Network<'_>,
        classes: &Classes,
        view: &View,
        (quantity, [x, y]): (Quantity, [f64; 2]),
    ) -> f64 {
        let value = |at: usize| view.links.get(at).and_then(|link| quantity.value(link));
        let mut y = y;
        for (at, name) in classes.dimensions.iter().enumerate().take(6) {
            let values: Vec<f64> = (0..network.fabric.links().len())
                .filter(|&link| classes.dimension(link) == at)
                .filter_map(value)
                .collect();
            let Some(most) = values.iter().copied().reduce(f64::max) else { continue };
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let [most, mean] = [most, mean].map(|value| quantity.text(value, view.unit));
            self.text("mono", [x, y], &format!("{name}: at most {most}, mean {mean}"));
            y += 16.0;
        }
        let mut order: Vec<(usize, f64)> = (0..network.fabric.links().len())
            .filter_map(|at| Some((at, value(at)?)))
            .filter(|(_, value)| *value > 0.0)
            .collect();
        order.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        if order.is_empty() {
            return y;
        }
        let alike = order.iter().filter(|(_, value)| *value >= order[0].1).count();
        y += 6.0;
        let of = if alike > 3 {
            format!(", {alike} links have as much as the first")
        } else {
            String::new()
        };
        self.text("name", [x, y], &format!("most{of}"));
        for &(at, value) in order.iter().take(3) {
            y += 15.0;
            let text = format!(
                "{}  {}",
                quantity.text(value, view.unit),
                between(network, LinkId(at as u32))
            );
            self.text("mono", [x, y], &text);
        }
        y
    }

    /// Where both ways lead.
    fn ways(
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
            for line in lines(&text, 185).iter().take(3) {
                self.y += 16.0;
                self.text("mono", [LEFT, self.y], line);
            }
        }
    }

    fn lists(&mut self, network: &Network<'_>) {
        if !network.degraded.is_empty() {
            self.y += 22.0;
            let count = network.degraded.len();
            let text = if count == 1 {
                "1 link is worse than it should be".to_owned()
            } else {
                format!("{count} links are worse than they should be")
            };
            self.text("strong", [LEFT, self.y], &text);
            for (link, why) in network.degraded.iter().take(MOST) {
                self.y += 16.0;
                self.text(
                    "mono",
                    [LEFT, self.y],
                    &format!("\u{d7} {}: {why}", between(network, *link)),
                );
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

/// Lines of at most so many characters, broken at blanks.
fn lines(text: &str, longest: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match out.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= longest => {
                line.push(' ');
                line.push_str(word);
            }
            _ => out.push(word.to_owned()),
        }
    }
    out
}

//! A whole picture: findings in words, the legend, each view with its figures and histogram,
//! routes, degraded links, gaps.
//!
//! Owns their order and places: 1,240 px wide, two views beside each other on one scale.

use super::classes::Classes;
use super::histogram::{Frame, Histogram};
use super::legend::Legend;
use super::paint::Paint;
use super::quantity::{Quantity, Range};
use super::scene::Scene;
use super::sheet::{LEFT, Sheet};
use super::{Form, Network, Picture, View, groups, histogram, levels, ramp, slabs, ways};
use crate::plot::{Area, document};

const WIDTH: f64 = 1240.0;
/// Between two views.
const APART: f64 = 36.0;

/// The picture as SVG.
pub(super) fn svg(network: &Network<'_>, picture: &Picture) -> String {
    let views = drawn_views(network, picture);
    let quantity = Quantity::for_views(network, &views, picture.shows);
    let ranges = ranges(network, &views, quantity);
    let ways = picture.route.map_or([None, None], |ends| ways::both(network, ends));
    let columns = views.len().max(1) as f64;
    let width = (WIDTH - 2.0 * LEFT - (columns - 1.0) * APART) / columns;
    let scene = scene(network, width);
    let widest = scene.widest(network);
    let mut sheet = Sheet { body: ramp::style(), y: 34.0 };
    sheet.head(network);
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
    let (rows, height) = legend.draw([LEFT, sheet.y], WIDTH - LEFT);
    sheet.body.push_str(&rows);
    sheet.y += height + 4.0;
    let classes = Classes::new(network);
    let histograms: Vec<Option<Histogram>> = shown
        .iter()
        .zip(&ranges)
        .map(|(view, range)| Some(Histogram::new(view, links, quantity, (*range)?)))
        .collect();
    let known = histograms.iter().flatten();
    let most = known.clone().map(Histogram::most).max().unwrap_or(0);
    let log = known.clone().any(Histogram::uneven);
    let top = sheet.y;
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
            recommended: picture.recommended == Some(views[column]),
        };
        let x = LEFT + (width + APART) * column as f64;
        sheet.y = top;
        sheet.view(x, width, view, &paint, &scene);
        let alone = shown.len() < 2;
        let wide = if alone { 520.0 } else { width - 60.0 };
        let area = Area { x: x + 52.0, y: sheet.y + 22.0, width: wide, height: 104.0 };
        if let (Some(histogram), Some(range)) = (histogram, range) {
            let frame = Frame { area, most, log };
            sheet.body.push_str(&histogram::draw(histogram, &frame, (quantity, range, view.unit)));
        } else {
            sheet.text("dim", [x, area.y + 20.0], "no link of this view has a value");
        }
        let below = area.y + area.height + 44.0;
        let (at, room) = if alone {
            ([area.x + wide + 30.0, area.y], x + width - area.x - wide - 30.0)
        } else {
            ([x, below + 6.0], width)
        };
        sheet.beside(network, &classes, view, (quantity, at, room));
        bottom = bottom.max(below).max(sheet.y + 14.0);
    }
    sheet.y = bottom;
    sheet.ways(network, picture.route, &ways);
    sheet.lists(network);
    let names: Vec<&str> = shown.iter().map(|view| view.name.as_str()).collect();
    let label = format!(
        "{}: {} of {} links, {}",
        network.title,
        quantity.name(),
        network.fabric.links().len(),
        names.join(" and ")
    );
    document((WIDTH, sheet.y + 8.0), &label, &sheet.body)
}

/// The views that are drawn: at most two of those that the network has, or the first one.
pub(super) fn drawn_views(network: &Network<'_>, picture: &Picture) -> Vec<usize> {
    let known = |at: &usize| *at < network.views.len();
    let mut views: Vec<usize> = picture.views.iter().copied().filter(known).take(2).collect();
    if views.is_empty() && !network.views.is_empty() {
        views.push(0);
    }
    views
}

/// The range of each view: the same for all, or its own where loads have different units.
fn ranges(network: &Network<'_>, views: &[usize], quantity: Quantity) -> Vec<Option<Range>> {
    let mut units = views.iter().map(|&at| network.views[at].unit);
    let first = units.next();
    let alike = quantity != Quantity::Load || units.all(|unit| Some(unit) == first);
    let of = |view: usize| {
        if alike {
            Range::from_views(network, views, quantity)
        } else {
            Range::from_views(network, &[view], quantity)
        }
    };
    views.iter().map(|&view| of(view)).collect()
}

/// The scene of the form in a room of this width.
pub(super) fn scene(network: &Network<'_>, width: f64) -> Scene {
    match network.form {
        Form::Torus(_) => slabs::scene(network, [width, if width > 700.0 { 520.0 } else { 860.0 }]),
        Form::Groups(_) => groups::scene(network, width.min(680.0)),
        Form::Levels(_) => levels::scene(network, [width, 430.0]),
    }
}

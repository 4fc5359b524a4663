//! A network as the page and the report keep it: the JSON of its routers, links, views and routes.
//!
//! Owns the keys. Numbers of links stand in lists by link, so that thousands of them compress well; loads keep six digits, shares four, and
//! an absent value is null. It computes only the places of routers.

use serde::Serialize;
use talea_fabric::RouterId;

use super::classes::Classes;
use super::quantity::Quantity;
use super::ways::WaysData;
use super::{Carried, Form, Network, Picture, Source, View};

/// A network with the loads of its links.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NetworkData {
    /// Its title.
    pub title: String,
    /// Machine, source, date.
    pub facts: Vec<String>,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
    /// Gaps: missing or estimated data, a sentence each.
    pub gaps: Vec<String>,
    /// `torus`, `groups` or `levels`.
    pub form: &'static str,
    /// Lengths of the axes of a torus; empty elsewhere.
    pub lengths: Vec<u16>,
    /// Group or level of each router; empty for a torus.
    pub parts: Vec<u32>,
    /// Routers.
    pub routers: RoutersData,
    /// Hosts.
    pub hosts: HostsData,
    /// Links, by the router that they leave.
    pub links: LinksData,
    /// Loads of links.
    pub views: Vec<ViewData>,
    /// Degraded links, and the reasons.
    pub degraded: Vec<(u32, String)>,
    /// Places of routers and lines, for forms that are not a torus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<SceneData>,
    /// Routes between routers.
    pub ways: WaysData,
    /// Initial display of a page; absent in the report, where it is the first view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens: Option<OpensData>,
}

/// Initial display of a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpensData {
    /// Places of one view, or of two beside each other.
    pub views: Vec<usize>,
    /// The routers at the ends of a route; null for none.
    pub route: Option<(u32, u32)>,
    /// The place of the recommended view; null for none.
    pub recommended: Option<usize>,
}

/// Routers, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RoutersData {
    /// Names on the machine.
    pub names: Vec<String>,
    /// Coordinates; an empty list where a router has none.
    pub at: Vec<Vec<u16>>,
}

/// Hosts, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostsData {
    /// Names of nodes.
    pub names: Vec<String>,
    /// The router of each.
    pub routers: Vec<u32>,
}

/// Links, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinksData {
    /// Number of links that leave each router; links are in the order of routers.
    pub counts: Vec<u32>,
    /// The router that each reaches, minus the one that it leaves.
    pub to: Vec<i64>,
    /// Place in `classes`.
    pub class: Vec<u16>,
    /// Place in `made`.
    pub made: Vec<u32>,
    /// Names of classes (`X+`, `global`), and the dimension of each.
    pub classes: Vec<(String, usize)>,
    /// Names of dimensions.
    pub dimensions: Vec<String>,
    /// Kinds of links in words, and their capacity in bytes a second, one way.
    pub kinds: Vec<(String, Option<f64>)>,
}

/// Loads of links; lists are by link, or empty where no link has a number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ViewData {
    /// Name, such as `2x2x4, serpentine`.
    pub name: String,
    /// `measured`, `recorded`, `simulated` or `a model`.
    pub source: &'static str,
    /// Unit of loads.
    pub unit: &'static str,
    /// Load in the unit.
    pub load: Vec<Option<f64>>,
    /// Share of the capacity.
    pub used: Vec<Option<f64>>,
    /// Share of the time.
    pub stalled: Vec<Option<f64>>,
    /// Excess over a model's value, as a share of it.
    pub deviation: Vec<Option<f64>>,
    /// Name and value of the figures beside it.
    pub figures: Vec<(String, String)>,
}

/// Ends (x, y, x, y), free lengths at either end, width of the largest capacity, and the point towards which it bends.
pub type MarkData = (f64, f64, f64, f64, f64, f64, f64, Option<[f64; 2]>);

/// Places of routers and lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SceneData {
    /// Width and height.
    pub size: [f64; 2],
    /// x, y, half the width, number of routers, name.
    pub nodes: Vec<(f64, f64, f64, usize, String)>,
    /// The node of each router.
    pub node_of: Vec<u32>,
    /// Lines.
    pub marks: Vec<MarkData>,
    /// The mark of each link; -1 inside a node.
    pub mark_of: Vec<i64>,
    /// x, y, anchor, true if it stands out, text.
    pub labels: Vec<(f64, f64, &'static str, bool, String)>,
    /// Note on folding, in a sentence; may be empty.
    pub note: String,
}

/// A network as the report keeps it.
pub fn data(network: &Network<'_>) -> NetworkData {
    let fabric = network.fabric;
    let (form, lengths, parts) = match &network.form {
        Form::Torus(lengths) => ("torus", lengths.clone(), Vec::new()),
        Form::Groups(groups) => ("groups", Vec::new(), groups.clone()),
        Form::Levels(levels) => ("levels", Vec::new(), levels.clone()),
    };
    NetworkData {
        title: network.title.clone(),
        facts: network.facts.clone(),
        findings: network.findings.clone(),
        gaps: network.gaps.clone(),
        form,
        lengths,
        parts,
        routers: RoutersData {
            names: fabric.routers().iter().map(|router| router.name.clone()).collect(),
            at: fabric
                .routers()
                .iter()
                .map(|router| router.at.map_or(Vec::new(), |at| at.values().to_vec()))
                .collect(),
        },
        hosts: HostsData {
            names: fabric.hosts().iter().map(|host| host.name.clone()).collect(),
            routers: fabric.hosts().iter().map(|host| host.router.0).collect(),
        },
        links: links(network),
        views: network.views.iter().map(|one| view(one, fabric.links().len())).collect(),
        degraded: network
            .degraded
            .iter()
            .filter(|(link, _)| link.at() < fabric.links().len())
            .map(|(link, why)| (link.0, why.clone()))
            .collect(),
        scene: scene(network),
        ways: WaysData::new(network),
        opens: None,
    }
}

/// Initial display of a page of this network.
pub(super) fn opens(network: &Network<'_>, picture: &Picture, views: &[usize]) -> OpensData {
    let known = |end: &RouterId| end.at() < network.fabric.routers().len();
    OpensData {
        views: views.to_vec(),
        route: picture.route.filter(|(a, b)| known(a) && known(b)).map(|(a, b)| (a.0, b.0)),
        recommended: picture.recommended.filter(|&at| at < network.views.len()),
    }
}

fn links(network: &Network<'_>) -> LinksData {
    let fabric = network.fabric;
    let classes = Classes::new(network);
    let mut kinds: Vec<(String, Option<f64>)> = Vec::new();
    let mut made = Vec::with_capacity(fabric.links().len());
    for link in fabric.links() {
        let words: Vec<String> = link
            .lanes
            .iter()
            .map(|lanes| {
                let kind = fabric.kinds().get(usize::from(lanes.kind));
                format!("{} x {}", lanes.count, kind.map_or("?", |kind| kind.name.as_str()))
            })
            .collect();
        let kind = (words.join(" + "), link.capacity);
        let place = kinds.iter().position(|one| *one == kind).unwrap_or(kinds.len());
        if place == kinds.len() {
            kinds.push(kind);
        }
        made.push(place as u32);
    }
    let routers = (0..fabric.routers().len() as u32).map(RouterId);
    LinksData {
        counts: routers.map(|router| fabric.from(router).1.len() as u32).collect(),
        to: fabric.links().iter().map(|l| i64::from(l.to.0) - i64::from(l.from.0)).collect(),
        class: classes.links,
        made,
        classes: classes.names.into_iter().zip(classes.of).collect(),
        dimensions: classes.dimensions,
        kinds,
    }
}

/// A value rounded to this many significant digits.
pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let power = 10_f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    let out = (value * power).round() / power;
    if out.is_finite() { out } else { value }
}

fn view(view: &View, links: usize) -> ViewData {
    let list = |of: &dyn Fn(&Carried) -> Option<f64>, digits: i32| {
        let values: Vec<Option<f64>> = (0..links)
            .map(|at| {
                let value = view.links.get(at).and_then(of).filter(|value| value.is_finite());
                value.map(|value| rounded(value, digits))
            })
            .collect();
        if values.iter().any(Option::is_some) { values } else { Vec::new() }
    };
    ViewData {
        name: view.name.clone(),
        source: Source::word(view.source),
        unit: view.unit,
        load: list(&|link| link.load, Quantity::Load.digits()),
        used: list(&|link| link.used, Quantity::Used.digits()),
        stalled: list(&|link| link.stalled, Quantity::Stalled.digits()),
        deviation: list(&|link| link.deviation, 4),
        figures: view.figures.clone(),
    }
}

/// Pixels to a tenth.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn scene(network: &Network<'_>) -> Option<SceneData> {
    if matches!(network.form, Form::Torus(_)) {
        return None;
    }
    let scene = super::draw::scene(network, 1180.0);
    let mut mark_of = vec![-1; network.fabric.links().len()];
    for (at, mark) in (0..).zip(&scene.marks) {
        for &link in &mark.links {
            mark_of[link as usize] = at;
        }
    }
    let marks = scene.marks.iter().map(|mark| {
        let [from, to] = [mark.from, mark.to].map(|end| end.map(tenth));
        let [before, after] = mark.free.map(tenth);
        let bend = mark.bend.map(|bend| bend.map(tenth));
        (from[0], from[1], to[0], to[1], before, after, tenth(mark.room), bend)
    });
    let nodes = scene.nodes.iter().map(|node| {
        let [x, y] = node.at.map(tenth);
        (x, y, tenth(node.radius), node.routers, node.label.clone())
    });
    let labels = scene.labels.iter().map(|label| {
        let [x, y] = label.at.map(tenth);
        (x, y, label.anchor, label.strong, label.text.clone())
    });
    Some(SceneData {
        size: [scene.width, scene.height].map(tenth),
        nodes: nodes.collect(),
        marks: marks.collect(),
        labels: labels.collect(),
        node_of: scene.node_of,
        mark_of,
        note: scene.note,
    })
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "figures that are exact")]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(rounded(1_234_567.0, 6), 1_234_570.0);
        assert_eq!(rounded(-0.123_456, 4), -0.1235);
        assert_eq!(rounded(0.0, 4), 0.0);
        assert_eq!(rounded(f64::MAX, 6), 1.79769e308);
        assert_eq!(rounded(5e-324, 4), 5e-324);
    }
}

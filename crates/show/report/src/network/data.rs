//! A network as the page and the report keep it: the JSON of its routers, links, views and routes.
//!
//! Owns the keys. Numbers of links stand in lists by link, so that thousands of them compress well;
//! loads keep six digits, shares four, and an absent value is null. It computes only the places of
//! routers.

use talea_fabric::RouterId;

use super::classes::Classes;
use super::quantity::{Quantity, rounded};
use super::{
    Carried, Form, HostsData, LinksData, Network, NetworkData, OpensData, Picture, RoutersData,
    SceneData, Source, View, ViewData, ways,
};

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
        ways: ways::data(network),
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

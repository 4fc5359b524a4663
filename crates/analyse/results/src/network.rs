//! A network as the page and the report keep it: the JSON of its routers, links, views and routes.
//!
//! Owns the keys. Numbers of links stand in lists by link, so that thousands of them compress well;
//! loads keep six digits, shares four, and an absent value is null.

use schemars::JsonSchema;
use serde::Serialize;

/// A network with the loads of its links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct OpensData {
    /// Places of one view, or of two beside each other.
    pub views: Vec<usize>,
    /// The routers at the ends of a route; null for none.
    pub route: Option<(u32, u32)>,
    /// The place of the recommended view; null for none.
    pub recommended: Option<usize>,
}

/// Routers, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RoutersData {
    /// Names on the machine.
    pub names: Vec<String>,
    /// Coordinates; an empty list where a router has none.
    pub at: Vec<Vec<u16>>,
}

/// Hosts, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct HostsData {
    /// Names of nodes.
    pub names: Vec<String>,
    /// The router of each.
    pub routers: Vec<u32>,
}

/// Links, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
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

/// Ends (x, y, x, y), free lengths at either end, width of the largest capacity, and the point
/// towards which it bends.
pub type MarkData = (f64, f64, f64, f64, f64, f64, f64, Option<[f64; 2]>);

/// Places of routers and lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
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

/// Routes of a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WaysData {
    /// Usual name of the rule; empty if routes are unknown.
    pub name: String,
    /// `dimensions`, `kept`, `many` or `none`.
    pub kind: &'static str,
    /// Routers between which routes are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<u32>,
    /// For each pair of them (from, then to) the route: for each router on it the place of the link
    /// among its own; null if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Option<Vec<u16>>>,
}

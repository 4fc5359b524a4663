//! A network and the loads of its links: one file of HTML, and pictures in SVG.
//!
//! The caller fills a [`Network`] with one or more [`View`]s: placements beside each other, regions
//! of a code or intervals one after the other. It states the source of the numbers (measured,
//! recorded, simulated, a model), which every picture repeats. Refuses to compute loads or routes:
//! it uses the given [`Routing`]. Follows Landge et al., "Visualizing Network Traffic to Understand
//! the Performance of Massively Parallel Simulations", 2012 (slabs of a torus), and the usual
//! drawings of dragonflies (groups on a circle) and fat trees (levels).

mod classes;
mod cut;
mod data;
mod draw;
mod groups;
mod histogram;
mod legend;
mod levels;
mod page;
mod paint;
mod quantity;
mod ramp;
mod scene;
mod sheet;
mod slabs;
mod ways;

use talea_fabric::route::Routing;
use talea_fabric::{Fabric, LinkId};

pub use data::data;
pub use talea_results::network::{
    HostsData, LinksData, MarkData, NetworkData, OpensData, RoutersData, SceneData, ViewData,
    WaysData,
};

/// A network for drawing.
#[derive(Clone)]
pub struct Network<'a> {
    /// Its title.
    pub title: String,
    /// Machine, source, date: shown below the title.
    pub facts: Vec<String>,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
    /// Routers, links, hosts.
    pub fabric: &'a Fabric,
    /// Form that determines the places of routers.
    pub form: Form,
    /// The routes of messages, for the route between two chosen routers; `None` if unknown.
    pub routing: Option<&'a dyn Routing>,
    /// Loads of links; at least one view.
    pub views: Vec<View>,
    /// Degraded links, and the reasons, such as `16 of 24 lanes`.
    pub degraded: Vec<(LinkId, String)>,
    /// Gaps: missing or estimated data, a sentence each.
    pub gaps: Vec<String>,
}

/// Form of the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A torus of these lengths, whose routers have coordinates.
    Torus(Vec<u16>),
    /// The group of each router, by [`talea_fabric::RouterId`]: a dragonfly.
    Groups(Vec<u32>),
    /// The level of each router, from 0 for those with hosts: a tree of switches.
    Levels(Vec<u32>),
}

/// Loads of all links.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Name, such as `2x2x4, serpentine`, or `region 7`.
    pub name: String,
    /// Source of the numbers.
    pub source: Source,
    /// Unit of loads: `B`, `packets`, `B/s`.
    pub unit: &'static str,
    /// By [`LinkId`].
    pub links: Vec<Carried>,
    /// Name and value of the figures beside the picture, such as `off node` and `40.4 %`.
    pub figures: Vec<(String, String)>,
}

/// Source of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Counters of this machine.
    Measured,
    /// Recorded counters.
    Recorded,
    /// Simulated counters.
    Simulated,
    /// Values of a model.
    Model,
}

/// Load of a link; unknown values are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Carried {
    /// Load in the unit of the view.
    pub load: Option<f64>,
    /// Share of its capacity that was used, from 0 to about 1.
    pub used: Option<f64>,
    /// Share of the time that it was stalled, from 0 to about 1.
    pub stalled: Option<f64>,
    /// Excess over the model's load (or shortfall), as a share of it: .1 is 10 % more.
    pub deviation: Option<f64>,
}

impl Source {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Recorded => "recorded",
            Self::Simulated => "simulated",
            Self::Model => "a model",
        }
    }
}

/// Displayed quantity of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shows {
    /// Loads, or shares of capacity where these are known.
    #[default]
    Load,
    /// Shares of time stalled.
    Stalled,
}

/// A picture of one view, or of two side by side on the same scale; for a page its initial display.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Places in [`Network::views`]: one, or two to compare.
    pub views: Vec<usize>,
    /// Quantity of the colours.
    pub shows: Shows,
    /// Draw the route from a router to another one, and the route back.
    pub route: Option<(talea_fabric::RouterId, talea_fabric::RouterId)>,
    /// The place of the recommended one of all views, which is marked beside its name.
    pub recommended: Option<usize>,
}

/// The picture as SVG: findings, legend, each view with its histogram, degraded links.
///
/// Unknown views are left out; without any the first one is drawn.
pub fn svg(network: &Network<'_>, picture: &Picture) -> String {
    draw::svg(network, picture)
}

/// The page: every view, the routes between chosen routers, histograms and tables. It opens with
/// the picture's views and route, which without JavaScript are all of it.
pub fn page(network: &Network<'_>, opens: &Picture) -> String {
    page::page(network, opens)
}

//! A network and what its links carry: one file of HTML, and pictures in SVG.
//!
//! The caller fills a [`Network`] with one or more [`View`]s: placements beside each other, regions of a code or intervals one after the other. It says what the numbers are (measured, recorded,
//! simulated, a model), which every picture repeats. Refuses to compute loads or ways: it asks the [`Routing`] that it is given. Follows Landge et al., "Visualizing Network Traffic to Understand the
//! Performance of Massively Parallel Simulations", 2012 (slabs of a torus), and the usual drawings of dragonflies (groups on a circle) and fat trees (levels).

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

pub use data::{
    HostsData, LinksData, MarkData, NetworkData, OpensData, RoutersData, SceneData, ViewData, data,
};
pub use ways::WaysData;

/// A network as it is drawn.
#[derive(Clone)]
pub struct Network<'a> {
    /// What it is of.
    pub title: String,
    /// Machine, source, date: shown below the title.
    pub facts: Vec<String>,
    /// What there is to see, a sentence each.
    pub findings: Vec<String>,
    /// Routers, links, hosts.
    pub fabric: &'a Fabric,
    /// Where routers are drawn.
    pub form: Form,
    /// The ways of messages, for the way between two chosen routers; none if nobody knows them.
    pub routing: Option<&'a dyn Routing>,
    /// What links carry; at least one.
    pub views: Vec<View>,
    /// Links that are worse than they should be, and why, such as `16 of 24 lanes`.
    pub degraded: Vec<(LinkId, String)>,
    /// What is missing or estimated, a sentence each.
    pub gaps: Vec<String>,
}

/// How a network is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A torus of these lengths, whose routers have coordinates.
    Torus(Vec<u16>),
    /// The group of each router, by [`talea_fabric::RouterId`]: a dragonfly.
    Groups(Vec<u32>),
    /// The level of each router, from 0 for those with hosts: a tree of switches.
    Levels(Vec<u32>),
}

/// What all links carried.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Such as `2x2x4, serpentine`, or `region 7`.
    pub name: String,
    /// Where the numbers are from.
    pub source: Source,
    /// What loads are: `B`, `packets`, `B/s`.
    pub unit: &'static str,
    /// By [`LinkId`].
    pub links: Vec<Carried>,
    /// Name and value of what is said beside the picture, such as `off node` and `40.4 %`.
    pub figures: Vec<(String, String)>,
}

/// Where numbers are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Counters of this machine.
    Measured,
    /// Counters that were kept.
    Recorded,
    /// Counters that were computed.
    Simulated,
    /// What a model says.
    Model,
}

/// What a link carried; what is not known is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Carried {
    /// In the unit of the view.
    pub load: Option<f64>,
    /// Share of its capacity that was used, from 0 to about 1.
    pub used: Option<f64>,
    /// Share of the time that it was stalled, from 0 to about 1.
    pub stalled: Option<f64>,
    /// By how much of the model's load it carries more (or less) than the model says: .1 is 10 % more.
    pub deviation: Option<f64>,
}

impl Source {
    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Recorded => "recorded",
            Self::Simulated => "simulated",
            Self::Model => "a model",
        }
    }
}

/// What is drawn of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shows {
    /// Loads, or shares of capacity where these are known.
    #[default]
    Load,
    /// Shares of time stalled.
    Stalled,
}

/// A picture of one view, or of two side by side on the same scale; of a page what it opens with.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Places in [`Network::views`]: one, or two to compare.
    pub views: Vec<usize>,
    /// What colours say.
    pub shows: Shows,
    /// Draw the way from a router to another one, and the way back.
    pub route: Option<(talea_fabric::RouterId, talea_fabric::RouterId)>,
    /// The place of the view that is recommended among all, which is said beside its name.
    pub recommended: Option<usize>,
}

/// The picture as SVG: findings, legend, each view with its histogram, links that are degraded.
///
/// Views that the network has not are left out; without any the first one is drawn.
pub fn svg(network: &Network<'_>, picture: &Picture) -> String {
    draw::svg(network, picture)
}

/// The page: every view, the ways between chosen routers, histograms and tables. It opens with the picture's views and way, which without JavaScript are all of it.
pub fn page(network: &Network<'_>, opens: &Picture) -> String {
    page::page(network, opens)
}

//! Pictures of compared placements.
//!
//! Owns the figures beside each placement. Utilisation refers to one time for all placements, so
//! that colours compare.

use talea_fabric::route::Routing;
use talea_fabric::traffic::Loads;
use talea_report::network::{Network as Drawn, Picture, Source, View};
use talea_topology::svg::amount;

use super::Comparison;
use super::compared::Compared;
use crate::pictures::{self, Caption};

impl Comparison {
    /// Pictures of the first and of the best one, and a page with all; `routing` is the network's.
    /// Placements without kept loads are drawn without loads.
    pub fn picture<'a>(&'a self, routing: &'a dyn Routing) -> (Drawn<'a>, Picture) {
        // One time for all, so that equal utilisation has equal colours.
        let mut seconds = self.compared.iter().map(|one| one.found.model_seconds);
        let seconds = seconds.try_fold(0.0, |most: f64, one| Some(most.max(one?)));
        let view = |one: &Compared| {
            let (found, none) = (&one.found, Loads::default());
            let mut figures = vec![
                ("out of a router".to_owned(), amount(found.network_bytes_per_router, "B")),
                ("max of a link".to_owned(), amount(found.max_link_load as f64, "B")),
                ("mean".to_owned(), amount(found.mean_link_load, "B")),
            ];
            let share = found.off_node_share.map(|share| format!("{:.1} %", share * 100.0));
            figures.splice(0..0, share.map(|share| ("off node".to_owned(), share)));
            figures.extend(found.mean_hops.map(|hops| ("hops".to_owned(), format!("{hops:.2}"))));
            let model = found.model_seconds.map(|seconds| amount(seconds, "s"));
            figures.extend(model.map(|model| ("model".to_owned(), model)));
            let loads = one.loads.as_ref().unwrap_or(&none);
            View {
                name: one.named(", "),
                source: Source::Model,
                unit: "B",
                links: pictures::modelled(&self.network, loads, seconds),
                figures,
            }
        };
        let views: Vec<View> = self.compared.iter().map(view).collect();
        let shown = if self.best == 0 { vec![0] } else { vec![0, self.best] };
        let mut facts = vec![pictures::facts(&self.network), format!("ways: {}", routing.name())];
        facts.extend(seconds.filter(|&seconds| seconds > 0.0).map(|seconds| {
            format!("use is of {}, the model's time of the slowest placement", amount(seconds, "s"))
        }));
        let caption = Caption {
            title: "placements of ranks".to_owned(),
            facts,
            findings: self.findings.clone(),
            gaps: &self.gaps,
        };
        let drawn = pictures::drawn(&self.network, Some(routing), caption, views);
        let recommended = (self.compared.len() > 1).then_some(self.best);
        (drawn, Picture { views: shown, recommended, ..Picture::default() })
    }
}

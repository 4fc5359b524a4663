//! Pictures of the regions of a code.
//!
//! Owns the figures beside each region, and the choice of the first picture: the own region that
//! sends most.

use talea_fabric::route::Routing;
use talea_formats::fabric::blue_gene::Region;
use talea_model::notation::grouped;
use talea_report::network::{Carried, Network as Drawn, Picture, Source, View};

use super::Regions;
use super::summary::Summary;
use crate::pictures::{self, Caption};

impl Regions {
    /// A picture of the region that sends most, and a page with all; `routing` is the network's.
    pub fn picture<'a>(&'a self, routing: &'a dyn Routing) -> (Drawn<'a>, Picture) {
        let view = |(region, one): (&Region, &Summary)| {
            let load = |packets: &Option<u64>| packets.map(|packets| packets as f64);
            let links = region.packets.iter();
            let links = links.map(|packets| Carried { load: load(packets), ..Carried::default() });
            let mut figures = vec![("packets".to_owned(), grouped(one.packets))];
            figures.extend(one.max().map(|most| ("max of a link".to_owned(), grouped(most))));
            figures
                .extend(one.uneven().map(|times| ("max/mean".to_owned(), format!("{times:.2}"))));
            let name = format!("region {}", one.number);
            View {
                name,
                source: Source::Recorded,
                unit: "packets",
                links: links.collect(),
                figures,
            }
        };
        let views: Vec<View> = self.recorded.iter().zip(&self.summaries).map(view).collect();
        let most = self.summaries.iter().enumerate();
        let most =
            most.max_by_key(|(_, one)| (one.number >= 0, one.packets)).map_or(0, |(at, _)| at);
        let caption = Caption {
            title: "packets by region of the code".to_owned(),
            facts: vec![self.name.clone(), pictures::facts(&self.network)],
            findings: self.findings.clone(),
            gaps: &self.gaps,
        };
        let drawn = pictures::drawn(&self.network, Some(routing), caption, views);
        (drawn, Picture { views: vec![most], ..Picture::default() })
    }
}

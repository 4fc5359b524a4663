//! Pictures of the traffic of links.
//!
//! Owns the views: the whole, then each interval. A page has a maximum number of intervals.

use talea_fabric::route::Routing;
use talea_model::{Gap, GapKind};
use talea_report::network::{Network as Drawn, Source, View};

use super::Links;
use super::own::Own;
use super::recording::Frame;
use crate::pictures::{self, Caption};

/// Maximum number of intervals on a page.
const MOST_VIEWS: usize = 64;

/// Form of the drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// A picture of the whole alone.
    Picture,
    /// A page, which shows intervals too; those beyond the maximum are a gap.
    Page,
}

impl Links {
    /// The whole, and each kept interval; `routing` is the network's.
    pub fn picture<'a>(&'a self, routing: &'a dyn Routing, drawing: Drawing) -> Drawn<'a> {
        let simulated = self.recording.source.contains("simulated");
        let source = if simulated { Source::Simulated } else { Source::Recorded };
        let network = &self.network;
        let view = |name: String, frame: &Frame, own: Option<&Own>| {
            let deviation = |row: &talea_fabric::gemini::Row| own?.beside(network, row).deviation;
            let links = pictures::counted(network, &frame.table, deviation);
            let most = links.iter().filter_map(|link| link.used).max_by(f64::total_cmp);
            let most = most.map(|used| ("most used".to_owned(), format!("{:.1} %", used * 100.0)));
            View { name, source, unit: "B", links, figures: most.into_iter().collect() }
        };
        let mut views = vec![view("whole".to_owned(), &self.recording.total, self.own.as_ref())];
        let mut gaps = self.recording.gaps.clone();
        if self.recording.frames.len() > 1 {
            let since = |at| self.recording.since(at);
            let name =
                |frame: &Frame| format!("{:.3} s to {:.3} s", since(frame.begin), since(frame.end));
            let frames = self.recording.frames.iter().take(MOST_VIEWS);
            views.extend(frames.map(|frame| view(name(frame), frame, None)));
        }
        let left = self.recording.frames.len().saturating_sub(MOST_VIEWS) as u64;
        if left > 0 && drawing == Drawing::Page {
            let detail = format!(
                "intervals that are in the sums alone: a page shows the first {MOST_VIEWS}"
            );
            gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: left });
        }
        let seconds = self.recording.total.table.interval.seconds();
        let facts = vec![
            self.recording.source.clone(),
            format!("{seconds:.3} s"),
            pictures::facts(network),
        ];
        let caption = Caption {
            title: "links of a network".to_owned(),
            facts,
            findings: self.findings.clone(),
            gaps: &gaps,
        };
        pictures::drawn(network, Some(routing), caption, views)
    }
}

//! Names of functions and ranks of clustered bursts.
//!
//! Owns the form of each; a table without a trace has numbers only.

use talea_cluster::bursts::Bursts;
use talea_model::Trace;
use talea_model::trace::Labels;

use crate::labels::{place as place_of_label, whole};

/// Names of functions and ranks.
pub struct Names<'a> {
    labels: Option<&'a Labels>,
    trace: Option<&'a Trace>,
}

impl<'a> Names<'a> {
    /// Names of a trace; a table has none.
    pub fn from_trace(trace: Option<&'a Trace>) -> Self {
        Self { labels: trace.map(|trace| &trace.labels), trace }
    }

    /// A function's name, without the decoration of the trace.
    pub(super) fn function(&self, bursts: &Bursts, value: i64) -> Option<String> {
        let label = self.labels?.value(bursts.site_types[0], value)?;
        Some(whole(label).trim().to_owned())
    }

    /// `file.F90:71` for a label such as `71 (file.F90, program)`.
    pub(super) fn line(&self, bursts: &Bursts, value: i64) -> Option<String> {
        place_of_label(self.labels?.value(bursts.site_types[1], value)?)
    }

    /// Usual name of a rank, or of a thread of one.
    pub fn rank(&self, location: u32) -> String {
        let Some(locations) = self.trace.map(|trace| &trace.locations) else {
            return location.to_string();
        };
        let Some(place) = locations.get(location) else { return location.to_string() };
        let threads = locations.tasks(place.application).any(|(threads, _)| threads > 1);
        let rank = place.task - 1;
        let application = if locations.applications() > 1 && place.application > 1 {
            format!("{}:", place.application)
        } else {
            String::new()
        };
        if threads {
            format!("{application}{rank}.{}", place.thread - 1)
        } else {
            format!("{application}{rank}")
        }
    }
}

//! Efficiency of runs, and metrics from their counters.
//!
//! Owns the steps from inputs to tables: each input is read and measured ([`study`]); factors of
//! scaling compare it with the first. The definitions of metrics are `talea_metric`'s.

mod clusters;
mod data;
mod models;
mod study;

use std::io;
use std::path::PathBuf;

use talea_metric::Expression;
use talea_metric::efficiency::Scaling;
use talea_metric::measure::{Activities, MeasureError, Part, Span};
use talea_model::Gaps;

use crate::Progress;
use crate::input::{self, Extent, InputError, Time};

pub use clusters::Cluster;
pub use data::data;
pub use study::{ModelLine, Outcome, Rank, Study};

/// Inputs and options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs and traces; the first is the reference.
    pub inputs: Vec<PathBuf>,
    /// Files and folders of metrics.
    pub models: Vec<PathBuf>,
    /// Metrics of the user.
    pub expressions: Vec<Own>,
    /// Part of each input.
    pub part: Part,
    /// Scaling between inputs.
    pub scaling: Scaling,
    /// True for values of each cluster of bursts.
    pub clusters: bool,
    /// Calls of a run up to which all of its bursts are held in memory; [`Extent::MOST`] where
    /// absent.
    pub most: Option<u64>,
}

/// A metric that the user defines.
#[derive(Clone, Debug)]
pub struct Own {
    /// Its name.
    pub name: String,
    /// Expression of counters and of other metrics.
    pub expression: Expression,
}

impl Own {
    /// Reads `name = EXPRESSION`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, expression) = text.split_once('=').ok_or(
            "expected a name, `=` and an expression, such as 'ipc = instructions / cycles'",
        )?;
        let name = name.trim();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err("expected a name before `=`".to_owned());
        }
        let read = Expression::parse(expression).map_err(|error| {
            let before: String = expression.get(..error.span.start).unwrap_or("").trim().to_owned();
            if before.is_empty() { error.to_string() } else { format!("{error}, after `{before}`") }
        })?;
        Ok(Self { name: name.to_owned(), expression: read })
    }
}

/// Errors of measuring.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The input.
    #[error("{0}")]
    Input(#[from] InputError),
    /// The input has nothing to measure.
    #[error("{source}: `{}`", path.display())]
    Measure {
        /// The error of measurement.
        source: MeasureError,
        /// The input.
        path: PathBuf,
    },
    /// A file of metrics cannot be read.
    #[error("cannot read the model: {source}: `{}`", path.display())]
    Read {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// A file without metrics.
    #[error("{what}: `{}`", path.display())]
    Model {
        /// The expected content.
        what: String,
        /// The file.
        path: PathBuf,
    },
}

/// Reads and measures all inputs.
pub fn measure(options: &Options, progress: Progress<'_>) -> Result<Vec<Study>, MetricsError> {
    let models = models::load(options)?;
    let mut studies = Vec::with_capacity(options.inputs.len());
    for path in &options.inputs {
        let extent = Extent { part: options.part, most: options.most.unwrap_or(Extent::MOST) };
        let input = input::load(path, Some(Time::OutsideMpi), extent, &mut *progress)?;
        progress("measuring");
        let failed = |source| MetricsError::Measure { source, path: path.clone() };
        let mut study = match &input.computation {
            Some(computation) if computation.is_thinned() => {
                let span = Span::select(&input.trace, options.part, &mut Gaps::default());
                let read = (extent, span.map_err(failed)?);
                let sums = input::activities(path, &input.trace, read, &mut *progress)?;
                let activities = Some(Activities::Sums(&sums));
                Study::new(path, &input, activities, options.part, &models)
            }
            Some(computation) => {
                let of = |location| computation.stretches(location);
                let activities = Some(Activities::Stretches(&of));
                Study::new(path, &input, activities, options.part, &models)
            }
            None => Study::new(path, &input, None, options.part, &models),
        }
        .map_err(failed)?;
        study.note_crowding(&input.crowding);
        if options.clusters {
            let gaps = &mut study.gaps;
            study.clusters =
                clusters::default_clusters(path, input, extent, &models, gaps, &mut *progress)?;
        }
        studies.push(study);
    }
    study::compare(&mut studies, options.scaling);
    Ok(studies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_metrics() {
        let read = Own::parse(" share = a / b == 1 ").unwrap();
        assert_eq!(
            (read.name.as_str(), read.expression.to_string().as_str()),
            ("share", "a / b == 1")
        );
        assert_eq!(
            Own::parse("x = a +").unwrap_err(),
            "expected a number, a counter or `(`, found the end, after `a +`"
        );
        assert!(["x", "= 1", "x ="].iter().all(|text| Own::parse(text).is_err()));
    }
}

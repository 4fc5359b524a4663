//! The regions of traces and runs that can be folded.
//!
//! Owns reading them: the records of a run are made as they are counted.

use std::path::PathBuf;

use talea_fold::regions::{Names, Possible, possible_within};
use talea_metric::measure::{Chosen, Part, Span};
use talea_model::trace::{InMemory, Records};
use talea_model::{Gaps, Nanos, Trace};
use talea_results::regions::RegionRow;

use super::AnalyseError;
use crate::input::{self, InputError, Opened, run};
use crate::{Analysis, Progress};

/// Regions of one input.
#[derive(Debug)]
pub struct Listed {
    /// Path of the input.
    pub input: String,
    /// The analysed part.
    pub chosen: Chosen,
    /// Regions by falling time.
    pub regions: Vec<RegionRow>,
}

/// Errors of listing regions.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A part that is empty.
    #[error(transparent)]
    Analyse(#[from] AnalyseError),
}

/// The regions of traces and runs within a part of each.
pub fn list(
    paths: &[PathBuf],
    part: Part,
    progress: Progress<'_>,
) -> Result<Vec<Listed>, ListError> {
    let mut all = Vec::with_capacity(paths.len());
    for path in paths {
        let input = path.display().to_string();
        all.push(match input::open(path, &mut *progress)? {
            Opened::Trace(trace) => list_records(input, &trace, &InMemory::new(&trace), part)?,
            Opened::Run(run) => {
                let analysis = Analysis::new(&run, &mut *progress);
                progress("listing regions");
                if let Some(stream) = run::stream(&analysis) {
                    list_records(input, &stream.ends(), &stream, part)?
                } else {
                    let trace = run::trace(&analysis);
                    list_records(input, &trace, &InMemory::new(&trace), part)?
                }
            }
        });
    }
    Ok(all)
}

/// The regions of records within a part of their trace. The part is chosen from `ends`, a trace
/// with the begin and end of MPI.
fn list_records(
    input: String,
    ends: &Trace,
    records: &dyn Records,
    part: Part,
) -> Result<Listed, AnalyseError> {
    // Damage is reported by the fold itself.
    let span = Span::select(ends, part, &mut Gaps::default())
        .map_err(|source| AnalyseError::Part { source, input: input.clone() })?;
    Ok(Listed { input, chosen: span.chosen, regions: regions(records, span) })
}

/// Regions of records within a part of their trace, by falling time.
fn regions(records: &dyn Records, span: Span) -> Vec<RegionRow> {
    let inside = |begin, end| span.chosen == Chosen::Whole || span.holds(begin, end);
    let names = Names::new(records.head());
    let row = |one: Possible| RegionRow {
        region: names.argument(one.region),
        mean_ns: Nanos(one.time.0 / one.instances.max(1)),
        name: one.name,
        of: one.of,
        instances: one.instances,
        time_ns: one.time,
        locations: one.locations,
    };
    possible_within(records, &inside).into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use talea_run::load::load;

    use super::*;
    use crate::input::run::tests::samples;

    #[test]
    fn regions_of_a_run_are_those_of_its_trace() {
        let mut found = 0;
        for folder in samples() {
            let Ok(run) = load(folder.path()) else { continue };
            let whole = run::trace(&Analysis::new(&run, &mut |_| ()));
            for part in [Part::default(), Part::Whole, Part::Between(None, Some(Nanos(1 << 27)))] {
                let expected = list_records(String::new(), &whole, &InMemory::new(&whole), part);
                let own = list(&[folder.path().to_owned()], part, &mut |_| ());
                let (Ok(expected), Ok(own)) = (expected, own) else { continue };
                assert_eq!(own[0].chosen, expected.chosen);
                assert_eq!(format!("{:?}", own[0].regions), format!("{:?}", expected.regions));
                found += usize::from(!expected.regions.is_empty());
            }
        }
        assert!(found > 2);
    }
}

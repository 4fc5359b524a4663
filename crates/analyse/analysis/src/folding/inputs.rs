//! From paths to a folded region.
//!
//! Owns reading several inputs, their names, and the error for a run without samples; the analysis
//! of traces is [`super::analyse`]'s.

use std::path::{Path, PathBuf};

use talea_fold::regions;
use talea_model::Trace;
use talea_model::trace::types;

use super::{AnalyseError, FoldOptions, Folded, SaveFoldedError, analyse, inject};
use crate::Progress;
use crate::convert::paraver;
use crate::input::{self, Extent, InputError};

/// Calls of a sampled run up to which they are read for every fold: half a gigabyte.
const MOST_CALLS: u64 = 1_000_000;

/// Traces to fold together.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Each trace with the path by which the user named it.
    pub traces: Vec<(String, Trace)>,
    /// Short names, in the same order.
    names: Vec<String>,
    /// Command and path of the first run that was recorded without samples.
    unsampled: Option<(String, String)>,
    /// True if the first trace is that of a run without its calls.
    lacks_calls: bool,
}

/// Errors of folding inputs.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    /// The analysis.
    #[error(transparent)]
    Analyse(#[from] AnalyseError),
    /// A run that was recorded without samples.
    #[error(
        "the run has no samples, so nothing is known of what happens inside `{region}`: record with `talea run --sample 100Hz -- {command}`: `{run}`"
    )]
    NoSamples {
        /// The region.
        region: String,
        /// The command of the run.
        command: String,
        /// The run.
        run: String,
    },
}

impl Inputs {
    /// Reads traces and runs for one fold. The calls of sampled runs with more than a million are
    /// left out, unless the region is made of calls or MPI is cut out of it.
    pub fn load(
        paths: &[PathBuf],
        what: &FoldOptions,
        progress: Progress<'_>,
    ) -> Result<Self, InputError> {
        Self::load_above(MOST_CALLS, paths, what, progress)
    }

    /// The same with the maximum number of calls that are read of a sampled run.
    fn load_above(
        most: u64,
        paths: &[PathBuf],
        what: &FoldOptions,
        progress: Progress<'_>,
    ) -> Result<Self, InputError> {
        let mut inputs = Self::default();
        let region =
            regions::Wanted { region: what.region.as_deref(), value: what.value.as_deref() };
        for path in paths {
            // The region that is chosen in the first input applies to all inputs.
            let suffices = |trace: &Trace| {
                needs_no_calls(inputs.traces.first().map_or(trace, |(_, first)| first), &region)
            };
            let (input, lacks_calls) = if what.extent == super::Extent::WithoutMpi {
                let whole = Extent::default();
                (input::load(path, None, whole, &mut *progress)?, false)
            } else {
                input::load_inside(path, most, suffices, &mut *progress)?
            };
            let name = path.display().to_string();
            let unsampled = input.unsampled.map(|command| (command, name.clone()));
            inputs.unsampled = inputs.unsampled.or(unsampled);
            inputs.names.push(input::known_as(path));
            inputs.lacks_calls |= lacks_calls && inputs.traces.is_empty();
            inputs.traces.push((name, input.trace));
        }
        Ok(inputs)
    }

    /// The folded region of all inputs together.
    ///
    /// # Errors
    /// Options that do not fit the traces, and a region without data.
    pub fn fold(&self, options: &FoldOptions) -> Result<Folded, FoldError> {
        let named: Vec<(String, &Trace)> =
            self.names.iter().cloned().zip(self.traces.iter().map(|(_, trace)| trace)).collect();
        let mut folded =
            analyse(&named, options).map_err(|error| match (error, &self.unsampled) {
                (AnalyseError::NoData { region, .. }, Some((command, run))) => {
                    FoldError::NoSamples { region, command: command.clone(), run: run.clone() }
                }
                (error, _) => error.into(),
            })?;
        folded.data.inputs = self.traces.iter().map(|(path, _)| path.clone()).collect();
        Ok(folded)
    }

    /// Writes the first input, at `path`, with the folded counters on one instance to `out`.
    ///
    /// # Errors
    /// Options that exclude folded counters, and files that cannot be read or written.
    pub fn save_folded(
        &self,
        folded: &Folded,
        options: &FoldOptions,
        (path, out): (&Path, &Path),
        progress: Progress<'_>,
    ) -> Result<(), SaveFoldedError> {
        let Some((_, trace)) = self.traces.first() else { return Ok(()) };
        if self.lacks_calls {
            inject::save_run(path, folded, options, out, progress)
        } else {
            progress("writing");
            Ok(paraver::save(&inject::inject(trace, folded, options)?, out)?)
        }
    }
}

/// True if the chosen region of a trace is made of iterations or marked phases, not of calls.
fn needs_no_calls(trace: &Trace, region: &regions::Wanted<'_>) -> bool {
    let chosen = regions::choose(trace, region).ok();
    chosen.and_then(|choice| choice.region.event_type()).is_some_and(|kind| {
        [types::ITERATION, types::MARKED].contains(&kind) || types::LOOP.contains(&kind)
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::input::run::tests::samples;

    /// The files of the first input with its folded counters, and the result.
    fn folded(inputs: &Inputs, path: &Path, what: &FoldOptions) -> (Vec<String>, String) {
        let folded = inputs.fold(what).unwrap();
        let out = TempDir::new().unwrap();
        let prv = out.path().join("folded.prv");
        inputs.save_folded(&folded, what, (path, &prv), &mut |_| ()).unwrap();
        let files = ["prv", "pcf", "row"].map(|end| prv.with_extension(end));
        let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
        (texts.collect(), serde_json::to_string_pretty(&folded.data).unwrap())
    }

    #[test]
    fn sampled_runs_are_folded_and_written_the_same_without_their_calls() {
        let mut found = 0;
        for folder in samples() {
            let what = FoldOptions::default();
            for count in [1, 2] {
                let paths = vec![folder.path().to_owned(); count];
                let load = |most| Inputs::load_above(most, &paths, &what, &mut |_| ());
                let Ok(bare) = load(0) else { continue };
                if !bare.lacks_calls {
                    continue;
                }
                let whole = load(u64::MAX).unwrap();
                assert!(!whole.lacks_calls);
                for (bare, whole) in bare.traces.iter().zip(&whole.traces) {
                    assert!(bare.1.events.len() < whole.1.events.len());
                }
                let [(bare_files, bare), (files, whole)] =
                    [bare, whole].map(|inputs| folded(&inputs, folder.path(), &what));
                assert!(bare_files == files && files.iter().all(|text| !text.is_empty()));
                assert_eq!(bare, whole);
                found += 1;
            }
        }
        assert_eq!(found, 2);
    }
}

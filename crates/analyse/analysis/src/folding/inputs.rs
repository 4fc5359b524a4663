//! From paths to a folded region, or to the list of regions.
//!
//! Owns reading several inputs, their names, and the error for a run without samples; the analysis
//! of traces is [`super::analyse`]'s.

use std::path::{Path, PathBuf};

use talea_fold::regions;
use talea_metric::measure::{Chosen, Part, Span};
use talea_model::trace::types;
use talea_model::{Gaps, Trace};
use talea_results::regions::RegionRow;

use super::{AnalyseError, FoldOptions, Folded, analyse};
use crate::Progress;
use crate::input::{self, Extent, Input, InputError, Wanted};

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

impl Inputs {
    /// Reads traces and runs with all of their records.
    pub fn load(paths: &[PathBuf], progress: Progress<'_>) -> Result<Self, InputError> {
        let whole = Extent::default();
        Self::read(paths, |path| input::load(path, Wanted::All, whole, &mut *progress))
    }

    /// Reads traces and runs for one fold: of one sampled run with more than a million calls not
    /// the calls, unless the region is made of them.
    pub fn load_for(
        paths: &[PathBuf],
        what: &FoldOptions,
        progress: Progress<'_>,
    ) -> Result<Self, InputError> {
        let region =
            regions::Wanted { region: what.region.as_deref(), value: what.value.as_deref() };
        let is_inside = |trace: &Trace| {
            let chosen = regions::choose(trace, &region).ok();
            chosen.and_then(|choice| choice.region.event_type()).is_some_and(|kind| {
                [types::ITERATION, types::MARKED].contains(&kind) || types::LOOP.contains(&kind)
            })
        };
        // The choice in the first of several inputs applies to all.
        if paths.len() != 1 || what.extent == super::Extent::WithoutMpi {
            return Self::load(paths, progress);
        }
        Self::read(paths, |path| input::load_inside(path, MOST_CALLS, is_inside, &mut *progress))
    }

    fn read(
        paths: &[PathBuf],
        mut load: impl FnMut(&Path) -> Result<Input, InputError>,
    ) -> Result<Self, InputError> {
        let mut inputs = Self::default();
        for path in paths {
            let input = load(path)?;
            let name = path.display().to_string();
            let unsampled = input.unsampled.map(|command| (command, name.clone()));
            inputs.unsampled = inputs.unsampled.or(unsampled);
            inputs.names.push(input::known_as(path));
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

    /// The regions of each input.
    ///
    /// # Errors
    /// A part that is empty.
    pub fn regions(&self, part: Part) -> Result<Vec<Listed>, AnalyseError> {
        let list = |(input, trace): &(String, Trace)| {
            // Damage is reported by the fold itself.
            let span = Span::select(trace, part, &mut Gaps::default())
                .map_err(|source| AnalyseError::Part { source, input: input.clone() })?;
            let (input, regions) = (input.clone(), super::regions(trace, span));
            Ok(Listed { input, chosen: span.chosen, regions })
        };
        self.traces.iter().map(list).collect()
    }
}

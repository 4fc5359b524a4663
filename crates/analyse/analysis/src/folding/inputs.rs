//! From paths to a folded region, or to the list of regions.
//!
//! Owns reading several inputs, their names, and the error for a run without samples; the analysis
//! of traces is [`super::analyse`]'s.

use std::path::PathBuf;

use talea_metric::measure::{Chosen, Part, Span};
use talea_model::{Gaps, Trace};
use talea_results::regions::RegionRow;

use super::{AnalyseError, FoldOptions, Folded, analyse, regions};
use crate::Progress;
use crate::input::{self, InputError, Wanted};

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
    /// Reads traces and runs.
    pub fn load(paths: &[PathBuf], progress: Progress<'_>) -> Result<Self, InputError> {
        let mut inputs = Self::default();
        for path in paths {
            let input = input::load(path, Wanted::All, input::Extent::default(), &mut *progress)?;
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
            let (input, regions) = (input.clone(), regions(trace, span));
            Ok(Listed { input, chosen: span.chosen, regions })
        };
        self.traces.iter().map(list).collect()
    }
}

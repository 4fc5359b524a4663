//! Models to evaluate: the user's expressions, the user's files, and the built-in ones.
//!
//! Owns reading the files. A folder of Linux' pmu-events is one model, as its files refer to each
//! other; other files are one each.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use talea_formats::{models, pmu_events};
use talea_metric::expression::Absent;
use talea_metric::measure::{Measured, Numbers};
use talea_metric::model::{Problem, builtin};
use talea_metric::synonyms::Known;
use talea_metric::{Definition, Model};

use super::{MetricsError, Options};

/// Maximum size of a file of metrics; real ones are a few MB at most.
const LARGEST: u64 = 1 << 28;

/// The models of a call.
pub(super) struct Models {
    /// The user's expressions: other models see their values by name.
    pub(super) own: Model,
    /// Models that are always shown.
    pub(super) named: Vec<Model>,
    /// Models that are shown where the input has their counters.
    pub(super) builtin: &'static [Model],
}

impl Models {
    /// The values of the user's expressions, which are added to their inputs: literals and counters
    /// that are given so are available to models, and the table's own constant.
    pub(super) fn own_values(
        &self,
        numbers: &mut BTreeMap<String, f64>,
        measured: Option<(&Numbers, &[Measured])>,
    ) -> Vec<Result<f64, Absent>> {
        let known = Known::new(numbers);
        let mut own = self.own.evaluate(&|name| known.number(name));
        if let Some((measured, of)) = measured {
            refuse_apart(&self.own, &mut own, &known, measured, of);
        }
        for (definition, value) in self.own.metrics.iter().zip(&own) {
            if let Ok(value) = value {
                numbers.entry(definition.name.clone()).or_insert(*value);
            }
        }
        own
    }
}

/// Removes the value of metrics whose counters counted at different times on these locations.
pub(super) fn refuse_apart(
    model: &Model,
    values: &mut [Result<f64, Absent>],
    known: &Known<'_>,
    measured: &Numbers,
    of: &[Measured],
) {
    let columns = |name: &str| {
        // By the name in the model, or by a synonym.
        let names = known.names(name);
        names.into_iter().filter_map(|own| measured.column(own)).collect()
    };
    model.refuse_apart(values, &columns, &mut |needed| measured.apart(needed, of));
}

pub(super) fn load(options: &Options) -> Result<Models, MetricsError> {
    let own =
        options.expressions.iter().map(|own| Definition::new(&own.name, own.expression.clone()));
    let own = Model::new("--expr", own.collect(), Vec::new());
    let mut named = Vec::new();
    for path in &options.models {
        let found = std::fs::metadata(path);
        let folder =
            found.map_err(|source| MetricsError::Read { source, path: path.clone() })?.is_dir();
        if folder {
            named.extend(read_folder(path)?);
        } else {
            named.push(read(path)?);
        }
    }
    Ok(Models { own, named, builtin: builtin::all() })
}

fn bytes(path: &Path) -> Result<Vec<u8>, MetricsError> {
    let read = |source| MetricsError::Read { source, path: path.to_owned() };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .map_err(read)?
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(read)?;
    if bytes.len() as u64 > LARGEST {
        let what = format!("expected a file of at most {LARGEST} bytes");
        return Err(MetricsError::Model { what, path: path.to_owned() });
    }
    Ok(bytes)
}

fn read(path: &Path) -> Result<Model, MetricsError> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    models::read(&bytes(path)?, &name)
        .map_err(|error| MetricsError::Model { what: error.to_string(), path: path.to_owned() })
}

/// All files of metrics in a folder, by name; those of other kinds are skipped.
fn read_folder(path: &Path) -> Result<Vec<Model>, MetricsError> {
    let read = |source| MetricsError::Read { source, path: path.to_owned() };
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    for entry in std::fs::read_dir(path).map_err(read)? {
        let file = entry.map_err(read)?.path();
        if file.extension().is_some_and(|end| end == "json" || end == "txt") && file.is_file() {
            files.insert(file);
        }
    }
    let (mut found, mut metrics, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        let bytes = bytes(&file)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let outcome = if models::is_pmu_events(&bytes) {
            pmu_events::definitions(&bytes).map(|(own, wrong)| {
                metrics.extend(own);
                problems.extend(wrong.into_iter().map(|one| Problem {
                    what: format!("{}: {}", file.display(), one.what),
                    ..one
                }));
            })
        } else {
            models::read(&bytes, &name).map(|model| found.push(model))
        };
        match outcome {
            Ok(()) | Err(models::ModelError::Unknown(_)) => {}
            Err(error) => {
                return Err(MetricsError::Model { what: error.to_string(), path: file });
            }
        }
    }
    if !metrics.is_empty() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        found.push(pmu_events::model(&name, metrics, problems));
    }
    if found.is_empty() {
        let what = "expected files of metrics (`.json`, `.txt`) in the folder, found none";
        return Err(MetricsError::Model { what: what.to_owned(), path: path.to_owned() });
    }
    Ok(found)
}

//! `run.json`: the command, place, time and outcome of a run.
//!
//! Owns the schema and its version. A reader accepts unknown keys and the absence of those that an
//! older or interrupted writer did not have; a newer format is refused by its number before
//! anything else is read. Times are RFC 3339 in UTC.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use talea_model::Nanos;

use crate::counters::Kept;

/// The newest format of the JSON files of a run directory that this build reads, and the format
/// that it writes.
pub const FORMAT: u32 = 1;

/// Maximum size of a JSON file of a run directory, far above any that this build writes.
const LARGEST: u64 = 1 << 30;

/// Description of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Version of this schema.
    pub format: u32,
    /// Version of the recording Talea.
    pub talea: String,
    /// The command as one line for people.
    pub command: String,
    /// The command's words.
    pub argv: Vec<String>,
    /// Start of the program.
    #[serde(with = "timestamp")]
    pub start: Option<Timestamp>,
    /// Name of the machine from which it was started.
    pub host: String,
    /// User who started it, if known.
    pub user: Option<String>,
    /// Environment variables that affect the result, such as those of the batch system and of MPI.
    pub environment: BTreeMap<String, String>,
    /// Outcome; absent while it runs, and when the recording program was itself killed.
    pub outcome: Option<Outcome>,
    /// Number of the first signal that `talea run` got and forwarded, such as 2 for Ctrl-C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<i32>,
    /// Time from start to that signal.
    #[serde(
        rename = "interrupted_seconds",
        with = "seconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub interrupted_at: Option<Nanos>,
    /// Time from start to end.
    #[serde(rename = "wall_seconds", with = "seconds")]
    pub wall: Option<Nanos>,
    /// True if the report and packing would have taken too long when the program ended: the first
    /// command that reads the run packs it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// The recording's options by name.
    pub options: BTreeMap<String, serde_json::Value>,
    /// Counters of the nodes' networks, where requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric: Option<Kept>,
}

/// Outcome of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It returned this code.
    ExitCode(i32),
    /// This signal ended it.
    Signal(i32),
}

/// Errors of reading a JSON file of a run directory.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// An error of the system.
    #[error("cannot read: {source}: `{}`", path.display())]
    Io {
        /// Error of the system.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer Talea.
    #[error(
        "made by a newer talea: version {found}, this one reads up to {FORMAT}: `{}`",
        path.display()
    )]
    Newer {
        /// Its format.
        found: u64,
        /// The file.
        path: PathBuf,
    },
    /// Not the expected JSON; the message names line and column.
    #[error("unexpected content: {source}: `{}`", path.display())]
    Content {
        /// Error of the parser.
        source: serde_json::Error,
        /// The file.
        path: PathBuf,
    },
}

impl Default for Metadata {
    fn default() -> Self {
        Self {
            format: FORMAT,
            talea: env!("CARGO_PKG_VERSION").to_owned(),
            command: String::new(),
            argv: Vec::new(),
            start: None,
            host: String::new(),
            user: None,
            environment: BTreeMap::new(),
            outcome: None,
            interrupted: None,
            interrupted_at: None,
            wall: None,
            deferred: false,
            options: BTreeMap::new(),
            fabric: None,
        }
    }
}

impl Metadata {
    /// The file's bytes.
    pub fn to_json(&self) -> Vec<u8> {
        json_bytes(self)
    }

    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, JsonError> {
        read_json(path)
    }
}

/// True if an environment variable affects the result and may be stored: those of batch systems,
/// MPI, OpenMP and accelerators, without any that may hold a secret (`SLURM_JWT`).
pub fn is_of_interest(variable: &str) -> bool {
    const PREFIXES: [&str; 22] = [
        "BLIS_",
        "CUDA_VISIBLE_",
        "FI_",
        "FLUX_",
        "GOMP_",
        "HIP_VISIBLE_",
        "HSA_",
        "I_MPI_",
        "KMP_",
        "LSB_",
        "MKL_",
        "MPICH_",
        "OMPI_",
        "OMP_",
        "OPENBLAS_",
        "PBS_",
        "PMIX_",
        "PMI_",
        "ROCR_",
        "SLURM_",
        "TALEA_",
        "UCX_",
    ];
    const SECRETS: [&str; 8] =
        ["AUTH", "CREDENTIAL", "JWT", "KEY", "PASS", "SECRET", "TOKEN", "COOKIE"];
    PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
        && !SECRETS.iter().any(|word| variable.to_ascii_uppercase().contains(word))
}

/// Indented JSON with a line feed at the end.
///
/// # Panics
/// If `value` has a map with keys other than text, which no type of this crate has.
pub(crate) fn json_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("text keys and finite numbers only");
    bytes.push(b'\n');
    bytes
}

/// Reads a JSON file of a run directory, its `format` first.
pub(crate) fn read_json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, JsonError> {
    let failed = |source| JsonError::Io { source, path: path.to_owned() };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(failed(std::io::Error::other("expected a regular file below 1 GiB")));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    parse_json(&bytes, path)
}

fn parse_json<T: for<'a> Deserialize<'a>>(bytes: &[u8], path: &Path) -> Result<T, JsonError> {
    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    let failed = |source| JsonError::Content { source, path: path.to_owned() };
    let version: Version = serde_json::from_slice(bytes).map_err(failed)?;
    if version.format > u64::from(FORMAT) {
        return Err(JsonError::Newer { found: version.format, path: path.to_owned() });
    }
    serde_json::from_slice(bytes).map_err(failed)
}

mod timestamp {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    // The signature is the one that serde calls.
    #[allow(clippy::ref_option)]
    pub(super) fn serialize<S: Serializer>(
        t: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        t.map(|t| t.to_string()).serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let text: Option<String> = Option::deserialize(from)?;
        text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
    }
}

mod seconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use talea_model::Nanos;

    #[allow(clippy::ref_option)]
    pub(super) fn serialize<S: Serializer>(t: &Option<Nanos>, to: S) -> Result<S::Ok, S::Error> {
        t.map(Nanos::seconds).serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<Nanos>, D::Error> {
        let seconds: Option<f64> = Option::deserialize(from)?;
        // A negative number becomes zero, which `as` does.
        Ok(seconds.map(|s| Nanos((s * 1e9).round() as u64)))
    }
}

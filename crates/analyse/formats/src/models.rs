//! Files that define metrics: recognition of their kind.
//!
//! Owns the distinction of Intel's perfmon, Linux' pmu-events and LIKWID's groups. Nothing of such
//! files is shipped: they are read where the system has them. It refuses their contents, which the
//! reader of each kind owns.

use talea_metric::Model;

pub use crate::definitions::ModelError;
use crate::definitions::{text, walk};
use crate::{likwid, perfmon, pmu_events};

/// True for metrics of Linux' pmu-events, whose items have `MetricExpr`.
pub fn is_pmu_events(bytes: &[u8]) -> bool {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'[')) && memchr::memmem::find(bytes, b"\"MetricExpr\"").is_some()
}

/// Reads a file of any of the three kinds; `name` is the default name of the model.
pub fn read(bytes: &[u8], name: &str) -> Result<Model, ModelError> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Err(ModelError::Unknown("nothing")),
        _ if is_pmu_events(bytes) => pmu_events::read(bytes, name),
        Some(b'{' | b'[') if memchr::memmem::find(bytes, b"\"Formula\"").is_some() => {
            perfmon::read(bytes, name)
        }
        Some(b'{' | b'[') => {
            // The syntax error is more informative than the absence of metrics.
            let text = text(bytes);
            let mut items = Vec::new();
            walk(&text, &mut items)?;
            Err(ModelError::Unknown("JSON without metrics"))
        }
        Some(_) if memchr::memmem::find(bytes, b"METRICS").is_some() => {
            Ok(likwid::read(bytes, name))
        }
        Some(_) => Err(ModelError::Unknown("another text")),
    }
}

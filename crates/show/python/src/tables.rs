//! Tables of the rows inside results.
//!
//! Owns the types of these rows by name. Results are Python's dictionaries with the keys of the
//! JSON; their accessors send rows back here, which gives them types, units and descriptions.

use arrow_schema::{DataType, Field};
use pyo3::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use talea_model::{Bytes, Rank};
use talea_results::clusters::{ClusterRow, FrameData};
use talea_results::folded::FoldedRun;
use talea_results::metrics::MetricRow;
use talea_results::regions::RegionRow;
use talea_results::site::UsageRow;
use talea_results::views::{CollectiveData, FunctionSamples, LineSamples};
use talea_results::{GraphEdge, GraphNode};

use crate::columns::{Building, columns_of};
use crate::errors::{compute, wrong};
use crate::table::Table;

/// Messages from one rank to another.
#[derive(Debug, Serialize, JsonSchema)]
struct MatrixEntry {
    /// The sender.
    from: Rank,
    /// The receiver.
    to: Rank,
    /// Bytes of all messages.
    bytes: Bytes,
    /// Number of messages.
    messages: u64,
}

/// One place of a folded curve.
#[derive(Debug, Serialize, JsonSchema)]
struct CurvePoint {
    /// The folded instances: `all ranks`, `rank 3`, `group 2`, a file.
    part: String,
    /// The counter.
    counter: String,
    /// Unit of the rates.
    counter_unit: String,
    /// Place in the region, 0 to 1.
    at: f64,
    /// Rate: counts a second.
    rate: Option<f64>,
    /// Lower end of the rate's 95 % band.
    rate_low: Option<f64>,
    /// Upper end of the rate's 95 % band.
    rate_high: Option<f64>,
    /// Part of the total counted so far, 0 to 1.
    accumulated: Option<f64>,
}

/// A table of rows of a result: `rows` is the JSON text of a list of objects, `names` are columns
/// before those of the kind.
#[pyfunction]
#[pyo3(signature = (kind, rows, names=Vec::new()))]
pub(crate) fn table(py: Python<'_>, kind: &str, rows: &str, names: Vec<String>) -> PyResult<Table> {
    let mut columns: Vec<Field> = names.iter().map(|name| named(name)).collect();
    columns.extend(match kind {
        "clusters" => columns_of::<ClusterRow>(),
        "collectives" => columns_of::<CollectiveData>(),
        "curves" => columns_of::<CurvePoint>(),
        "edges" => columns_of::<GraphEdge>(),
        "frames" => columns_of::<FrameData>(),
        "functions" => columns_of::<FunctionSamples>(),
        "lines" => columns_of::<LineSamples>(),
        "matrix" => columns_of::<MatrixEntry>(),
        "metrics" => columns_of::<MetricRow>(),
        "nodes" => columns_of::<GraphNode>(),
        "regions" => columns_of::<RegionRow>(),
        "stack" => columns_of::<FoldedRun>(),
        "usage" => columns_of::<UsageRow>(),
        _ => return Err(wrong(format!("expected a kind of rows, found `{kind}`"))),
    });
    let build = || {
        let rows: Vec<Value> = serde_json::from_str(rows).map_err(|error| error.to_string())?;
        let mut building = Building::new(columns);
        rows.into_iter().try_for_each(|row| building.push(row))?;
        building.finish()
    };
    compute::<_, String, &str>(py, &[], build)
}

/// The column of a dimension: users and cores are numbers.
fn named(name: &str) -> Field {
    let kind = if ["user", "core"].contains(&name) { DataType::UInt64 } else { DataType::Utf8 };
    Field::new(name, kind, true)
}

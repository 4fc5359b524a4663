//! Tables of the rows inside results.
//!
//! Owns the types of these rows by name. Results are Python's dictionaries with the keys of the
//! JSON; their accessors send rows back here, which gives them types, units and descriptions.

use arrow_schema::{DataType, Field};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString};
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

/// A table of rows of a result; `names` are columns before those of the kind.
#[pyfunction]
#[pyo3(signature = (kind, rows, names=Vec::new()))]
pub(crate) fn table(
    py: Python<'_>,
    kind: &str,
    rows: Vec<Bound<'_, PyDict>>,
    names: Vec<String>,
) -> PyResult<Table> {
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
    let rows: Vec<Value> = rows.iter().map(|row| value(row)).collect::<PyResult<_>>()?;
    compute::<_, String, &str>(py, &[], || {
        let mut building = Building::new(columns);
        rows.into_iter().try_for_each(|row| building.push(row))?;
        building.finish()
    })
}

/// A value of a result. Text would not do: parsers round floating-point numbers.
fn value(from: &Bound<'_, PyAny>) -> PyResult<Value> {
    if from.is_none() {
        Ok(Value::Null)
    } else if let Ok(truth) = from.cast::<PyBool>() {
        Ok(truth.is_true().into())
    } else if from.is_instance_of::<PyInt>() {
        from.extract::<u64>().map(Value::from).or_else(|_| from.extract::<i64>().map(Value::from))
    } else if from.is_instance_of::<PyString>() {
        from.extract::<String>().map(Value::from)
    } else if let Ok(list) = from.cast::<PyList>() {
        Ok(Value::Array(list.iter().map(|one| value(&one)).collect::<PyResult<_>>()?))
    } else if let Ok(dict) = from.cast::<PyDict>() {
        let pair = |(key, one): (Bound<'_, PyAny>, _)| Ok((key.extract()?, value(&one)?));
        Ok(Value::Object(dict.iter().map(pair).collect::<PyResult<_>>()?))
    } else {
        from.extract::<f64>().map(Value::from)
    }
}

/// The column of a dimension: users and cores are numbers.
fn named(name: &str) -> Field {
    let kind = if ["user", "core"].contains(&name) { DataType::UInt64 } else { DataType::Utf8 };
    Field::new(name, kind, true)
}

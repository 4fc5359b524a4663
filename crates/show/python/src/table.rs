//! Tables: rows with named columns, units and descriptions, in the memory layout of Apache Arrow.
//!
//! Owns their exchange with other Python libraries by the Arrow `PyCapsule` interface, which copies
//! nothing. It imports such a library only where a method is called that names it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::errors::{Error, wrong};

/// Key of a column's metadata with its unit.
pub(crate) const UNIT: &str = "unit";
/// Key of a column's metadata with its meaning.
pub(crate) const DESCRIPTION: &str = "description";

/// Rows with named columns; `units` and `descriptions` explain them.
///
/// Other libraries take a table without a copy: `polars.DataFrame(table)`, `pyarrow.table(table)`,
/// `duckdb.sql("from table")`.
#[pyclass(frozen, module = "talea")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// A table of these parts, all of one schema.
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// One entry of the columns' metadata, by column.
    fn metadata<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for field in self.schema.fields() {
            if let Some(text) = field.metadata().get(key) {
                found.set_item(field.name(), text)?;
            }
        }
        Ok(found)
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// Units by column: `ns`, `bytes`, `s`; `1` for shares from 0 to 1. Plain counts and texts have
    /// none.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.metadata(py, UNIT)
    }

    /// Meanings of the columns, a sentence each.
    #[getter]
    fn descriptions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.metadata(py, DESCRIPTION)
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    fn __repr__(&self) -> String {
        let columns = self.columns().join(", ");
        format!("<talea.Table of {} rows: {columns}>", self.rows())
    }

    /// The rows as an Arrow stream; another schema is not made.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows to answer with the own schema.
        let _ = requested_schema;
        let parts: Vec<Result<RecordBatch, ArrowError>> =
            self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(parts, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The columns as an Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(wrong)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows as dictionaries, without any other library.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                let one = PyDict::new(py);
                for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
                    one.set_item(field.name(), value(py, column, row)?)?;
                }
                rows.append(one)?;
            }
        }
        Ok(rows)
    }

    /// The rows as a `pyarrow.Table`; needs pyarrow.
    fn to_pyarrow(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        import(slf.py(), "pyarrow", "pyarrow")?.call_method1("table", (slf,))
    }

    /// The rows as a `pandas.DataFrame`; needs pandas and pyarrow.
    fn to_pandas(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        import(slf.py(), "pandas", "pandas pyarrow")?;
        let pyarrow = import(slf.py(), "pyarrow", "pandas pyarrow")?;
        pyarrow.call_method1("table", (slf,))?.call_method0("to_pandas")
    }

    /// The rows as a `polars.DataFrame`; needs polars.
    fn to_polars(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        import(slf.py(), "polars", "polars")?.call_method1("DataFrame", (slf,))
    }
}

/// An optional library, with an error that says how to install it.
fn import<'py>(py: Python<'py>, name: &str, packages: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        if !error.is_instance_of::<PyImportError>(py) {
            return error;
        }
        let text = format!("{name} cannot be imported: python -m pip install {packages}");
        let new = PyImportError::new_err(text);
        new.set_cause(py, Some(error));
        new
    })
}

/// One value of a column.
fn value<'py>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::UInt64 => {
            column.as_primitive::<UInt64Type>().value(row).into_pyobject(py)?.into_any()
        }
        DataType::UInt32 => {
            column.as_primitive::<UInt32Type>().value(row).into_pyobject(py)?.into_any()
        }
        DataType::Int64 => {
            column.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any()
        }
        DataType::Int32 => {
            column.as_primitive::<Int32Type>().value(row).into_pyobject(py)?.into_any()
        }
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any()
        }
        DataType::Boolean => {
            column.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any()
        }
        DataType::Utf8 => column.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(row);
            let list = PyList::empty(py);
            for item in 0..items.len() {
                list.append(value(py, &items, item)?)?;
            }
            list.into_any()
        }
        DataType::Struct(fields) => {
            let dict = PyDict::new(py);
            for (field, child) in fields.iter().zip(column.as_struct().columns()) {
                dict.set_item(field.name(), value(py, child, row)?)?;
            }
            dict.into_any()
        }
        other => return Err(Error::new_err(format!("bug in talea: a column of type {other}"))),
    })
}

//! `_talea`: the compiled half of the Python package `talea`.
//!
//! Owns the way from Python's values to the library's options, and from results to JSON text and
//! Arrow tables. Python's half (`python/talea`) has the classes and their documentation. It refuses
//! to compute: each function calls the one that the command `talea` calls.

#![expect(clippy::needless_pass_by_value, reason = "Python's values are converted to owned ones")]

mod analyses;
mod columns;
mod errors;
mod run;
mod store;
mod table;
mod tables;
mod times;

use pyo3::prelude::*;

/// The compiled half of the package `talea`.
#[pymodule]
mod _talea {
    #[pymodule_export]
    use super::analyses::{cluster, fold, metrics, regions, track};
    #[pymodule_export]
    use super::run::Run;
    #[pymodule_export]
    use super::store::{check_store, usage};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::tables::table;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

//! Errors as Python's exceptions, and work outside the interpreter's lock.
//!
//! Owns the exception of each error: the text is the command's. A panic is a bug and becomes an
//! exception too.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use pyo3::prelude::*;

pyo3::import_exception!(talea._errors, Error);
pyo3::import_exception!(talea._errors, MissingError);

/// Computes without the interpreter's lock. An error is [`MissingError`] where one of `paths` does
/// not exist.
pub(crate) fn compute<T: Send, E: Display, P: AsRef<Path>>(
    py: Python<'_>,
    paths: &[P],
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    let safely = || catch_unwind(AssertUnwindSafe(|| work().map_err(|error| error.to_string())));
    match py.detach(safely) {
        Ok(done) => done.map_err(|text| {
            let is_missing = |path: &P| matches!(path.as_ref().try_exists(), Ok(false));
            if paths.iter().any(is_missing) {
                MissingError::new_err(text)
            } else {
                Error::new_err(text)
            }
        }),
        Err(_) => Err(Error::new_err("bug in talea: the analysis panicked, see standard error")),
    }
}

/// An option that cannot be read.
pub(crate) fn wrong(text: impl Display) -> PyErr {
    Error::new_err(text.to_string())
}

/// A result as JSON text, as the command prints it.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

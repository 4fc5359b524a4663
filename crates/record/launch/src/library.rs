//! Where the recording library is.
//!
//! Owns the search and what to do when it fails. The library is loaded into the program by the
//! dynamic loader; talea itself never opens it.

use std::path::{Path, PathBuf};

/// File name of the library.
pub const NAME: &str = "libtalea_mpi.so";
/// File name of the library of phase markers, which lies beside it where it is installed.
pub const MARK_NAME: &str = "libtalea_mark.so";
/// Command that builds it.
pub const MARK_REMEDY: &str = "cargo build --release -p talea-mark";
/// Names its path where it is in none of the usual places.
pub const VARIABLE: &str = "TALEA_MPI_LIBRARY";

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The variable names no file.
    #[error("{VARIABLE} names a file that does not exist: `{}`", .0.display())]
    Named(PathBuf),
    /// In none of the usual places.
    #[error("{NAME} was not found beside talea, in ../lib or ../lib64/talea; build it with `cargo build --release -p talea-mpi` or name it in {VARIABLE}: `{}`", .0.display())]
    Missing(PathBuf),
}

/// The library of phase markers beside the recording library, if it is there.
pub fn marks(recorder: &Path) -> Option<PathBuf> {
    Some(recorder.with_file_name(MARK_NAME)).filter(|path| path.is_file())
}

/// The library's absolute path.
pub fn find() -> Result<PathBuf, LibraryError> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(named);
        return match std::fs::canonicalize(&path) {
            Ok(path) if path.is_file() => Ok(path),
            _ => Err(LibraryError::Named(path)),
        };
    }
    let own = std::env::current_exe().and_then(std::fs::canonicalize).unwrap_or_default();
    let folder = own.parent().map(PathBuf::from).unwrap_or_default();
    let places = ["", "../lib", "../lib64/talea"].map(|place| folder.join(place).join(NAME));
    let found = places.iter().find(|path| path.is_file());
    found
        .and_then(|path| std::fs::canonicalize(path).ok())
        .ok_or_else(|| LibraryError::Missing(folder.join(NAME)))
}

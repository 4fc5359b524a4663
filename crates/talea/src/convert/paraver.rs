//! The three files of a Paraver trace on disk.
//!
//! Owns writing them so that a reader sees whole files: records go to a new file, which takes the name at the end. Syntax is
//! `formats::paraver`'s.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use talea_formats::paraver;
use talea_model::Trace;
use talea_run::directory::{WriteError, replace};

use crate::input::paraver::sibling;

/// Why a trace was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SaveError {
    /// The system refused.
    #[error("cannot write the trace: {source}: `{}`", path.display())]
    File {
        /// What it said.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// The records have no form in Paraver's format.
    #[error("{source}: `{}`", path.display())]
    Form {
        /// What is wrong.
        source: paraver::WriteError,
        /// The file.
        path: PathBuf,
    },
    /// Labels or names of rows.
    #[error(transparent)]
    Side(#[from] WriteError),
}

/// Writes a trace to `path`, compressed if that ends in `.gz`, with labels and names of rows beside it.
pub(crate) fn save(trace: &Trace, path: &Path) -> Result<(), SaveError> {
    let file = |source| SaveError::File { source, path: path.to_owned() };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut to = tempfile::Builder::new()
        .prefix(".talea-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(file)?;
    let out = BufWriter::with_capacity(1 << 20, to.as_file_mut());
    if path.extension().is_some_and(|end| end == "gz") {
        let mut packed = GzEncoder::new(out, Compression::new(6));
        write(trace, &mut packed, path)?;
        packed.finish().and_then(|mut out| out.flush()).map_err(file)?;
    } else {
        let mut out = out;
        write(trace, &mut out, path)?;
        out.flush().map_err(file)?;
    }
    to.persist(path).map_err(|error| file(error.error))?;
    replace(&sibling(path, "pcf"), paraver::write_labels(&trace.labels).as_bytes())?;
    replace(&sibling(path, "row"), paraver::write_rows(&trace.locations.levels).as_bytes())?;
    Ok(())
}

fn write(trace: &Trace, out: impl Write, path: &Path) -> Result<(), SaveError> {
    paraver::write(trace, out).map_err(|source| SaveError::Form { source, path: path.to_owned() })
}

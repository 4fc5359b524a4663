//! The three files of a Paraver trace on disk.
//!
//! Owns the set of files: labels and names of rows accompany the records, except for a pipe or a
//! device, which gets the records alone. Syntax is `formats::paraver`'s.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use talea_formats::paraver;
use talea_model::Trace;

use super::file::{self, Draft};
use crate::input::paraver::sibling;
use crate::input::run::{Additions, Counts, Stream};

/// Errors of saving a trace.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The system refused.
    #[error("cannot write the trace: {source}: `{}`", path.display())]
    File {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// The records have no form in Paraver's format.
    #[error("{source}: `{}`", path.display())]
    Form {
        /// The error of the form.
        source: paraver::WriteError,
        /// The file.
        path: PathBuf,
    },
}

/// Writes a trace to `path`, compressed if that ends in `.gz`, with labels and names of rows beside
/// it.
pub fn save(trace: &Trace, path: &Path) -> Result<(), SaveError> {
    save_with(trace, path, |out| paraver::write(trace, out))
}

/// Writes a run with `added` events as [`save`] writes a trace. Records are made as they are
/// written.
pub(crate) fn save_stream(
    stream: &Stream<'_>,
    added: &Additions<'_>,
    path: &Path,
) -> Result<Counts, SaveError> {
    let mut counts = Counts::default();
    save_with(&stream.head, path, |out| {
        counts = stream.write_with(added, out)?;
        Ok(())
    })?;
    Ok(counts)
}

fn save_with(
    head: &Trace,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), paraver::WriteError>,
) -> Result<(), SaveError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| SaveError::File { source, path: path.clone() }
    };
    let mut out = Draft::create(path).map_err(failed(path))?;
    let form = |source| match source {
        paraver::WriteError::Write(source) => failed(path)(source),
        source @ paraver::WriteError::Shape(_) => SaveError::Form { source, path: path.to_owned() },
    };
    if path.extension().is_some_and(|end| end == "gz") {
        let mut packed = GzEncoder::new(out, Compression::new(6));
        write(&mut packed).map_err(form)?;
        out = packed.finish().map_err(failed(path))?;
    } else {
        write(&mut out).map_err(form)?;
    }
    if let Some(path) = out.finish().map_err(failed(path))? {
        let labels = paraver::write_labels(&head.labels);
        let rows = paraver::write_rows(&head.locations.levels);
        for (ending, text) in [("pcf", labels), ("row", rows)] {
            let side = sibling(&path, ending);
            file::write(&side, text.as_bytes()).map_err(failed(&side))?;
        }
    }
    Ok(())
}

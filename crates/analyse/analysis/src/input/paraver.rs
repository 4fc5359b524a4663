//! Traces of Paraver on disk: three files; the first may be compressed.
//!
//! Owns finding them and unpacking. Their syntax is `formats::paraver`'s.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use talea_formats::paraver::{self, Damage, Options};
use talea_model::{Gap, GapKind, Trace};

use super::InputError;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const MAGIC: &[u8] = b"#Paraver";
/// Labels and names of rows are never near this; whatever is larger is none.
const SIDE_FILE: u64 = 1 << 28;

/// Whether the file's first bytes, unpacked, are those of a trace. An empty one is: its reader has
/// the error.
pub(super) fn is_trace(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    let (mut unpacked, _) = open(path)?;
    match unpacked.by_ref().take(MAGIC.len() as u64).read_to_end(&mut head) {
        Ok(_) => Ok(MAGIC.starts_with(&head)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
        Err(error) => Err(error),
    }
}

/// The file's bytes, unpacked, and whether they were packed.
fn open(path: &Path) -> io::Result<(Box<dyn Read>, bool)> {
    let mut file = File::open(path)?;
    let mut first = Vec::new();
    file.by_ref().take(2).read_to_end(&mut first)?;
    let packed = first == GZIP;
    let whole = io::Cursor::new(first).chain(file);
    Ok((if packed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) }, packed))
}

/// Reads the trace and what lies beside it.
pub(super) fn load(path: &Path) -> Result<Trace, InputError> {
    let read = |source| InputError::Read { source, path: path.to_owned() };
    let (bytes, packed) = open(path).map_err(read)?;
    let size = std::fs::metadata(path).ok().filter(|_| !packed).map(|found| found.len());
    let options = Options { size, damage: Damage::Skip };
    let mut trace = paraver::read(bytes, &options)
        .map_err(|source| InputError::Paraver { source, path: path.to_owned() })?;
    if let Some(bytes) = beside(path, "pcf", "labels", &mut trace) {
        trace.labels = paraver::read_labels(&bytes, &mut trace.gaps);
    }
    if let Some(bytes) = beside(path, "row", "names of rows", &mut trace) {
        trace.locations.levels = paraver::read_rows(&bytes, &trace.locations, &mut trace.gaps);
    }
    Ok(trace)
}

/// The bytes of the file of the same name with another ending; its absence is a gap.
fn beside(path: &Path, ending: &str, what: &str, trace: &mut Trace) -> Option<Vec<u8>> {
    let side = sibling(path, ending);
    let bytes = File::open(&side).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(SIDE_FILE + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let why = match bytes {
        Ok(bytes) if bytes.len() as u64 <= SIDE_FILE => return Some(bytes),
        Ok(_) => format!("expected at most {SIDE_FILE} bytes"),
        Err(error) => error.to_string(),
    };
    let detail = format!("no {what}: {why}: `{}`", side.display());
    trace.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
    None
}

/// `trace.prv` or `trace.prv.gz` with another ending.
pub fn sibling(path: &Path, ending: &str) -> PathBuf {
    let bare = if path.extension().is_some_and(|end| end == "gz") {
        path.with_extension("")
    } else {
        path.to_owned()
    };
    bare.with_extension(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beside_a_trace() {
        assert_eq!(sibling(Path::new("a/b.prv.gz"), "pcf"), Path::new("a/b.pcf"));
        assert_eq!(sibling(Path::new("a/b.c.prv"), "row"), Path::new("a/b.c.row"));
        assert_eq!(sibling(Path::new("b"), "row"), Path::new("b.row"));
    }
}

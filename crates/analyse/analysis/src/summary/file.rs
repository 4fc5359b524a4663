//! The file of a summary beside its recording.
//!
//! Owns its form and the tests of whether it belongs to the recording: a container of kind `SUM `
//! with a section `HEAD` (what it was made of, and by which version) and a section `BODY` (the
//! sums), both in `MessagePack`, the second compressed by zstd. The file is a copy of what the
//! recording says: where it cannot be used, the recording is read again.

use std::fs::Permissions;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};
use talea_run::RunDirectory;
use talea_run::container::{Container, ReadError, SectionId, Tag, Writer, checksum};
use talea_run::load::Run;

use super::check::fits;
use super::{Kept, Summary};

const KIND: Tag = Tag(*b"SUM ");
const HEAD: SectionId = SectionId::new(*b"HEAD", 0);
const BODY: SectionId = SectionId::new(*b"BODY", 0);

/// Version of the sums: it grows with every change of what they contain or how they are computed.
const FORMAT: u32 = 2;

/// Maximum size of an unpacked summary: bounds the memory for a file that claims more.
const LARGEST: u64 = 4 << 30;

/// Compression that takes less time than the sums themselves.
const LEVEL: i32 = 3;

/// Reasons for which a file of sums is not used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The system.
    #[error("the sums of the run cannot be read, they are computed again: {0}")]
    Io(#[from] io::Error),
    /// No container, or a damaged one.
    #[error("the sums of the run are damaged, they are computed again: {0}")]
    Container(#[from] ReadError),
    /// Not the form of this version.
    #[error("the sums of the run are damaged, they are computed again: {0}")]
    Form(String),
    /// They contradict the recording.
    #[error("the sums of the run contradict its recording, they are computed again")]
    Contradiction,
}

/// Source and version of a summary.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    format: u32,
    talea: String,
    /// Of the recording.
    identity: u64,
    /// Of the resolved call sites, on whose machine code trees depend.
    sites: u32,
}

/// The head of a summary of a recording; absent while processes may add to the recording, or where
/// a part of it is damaged.
fn head(run: &Run, identity: Option<u64>) -> Option<Head> {
    let sites = match std::fs::read(run.directory.sites()) {
        Ok(bytes) => bytes,
        // After `talea run --no-report`: each command finds them.
        Err(error) if error.kind() == io::ErrorKind::NotFound => run.sites.bytes(),
        Err(_) => return None,
    };
    Some(Head {
        format: FORMAT,
        talea: env!("CARGO_PKG_VERSION").to_owned(),
        identity: identity?,
        sites: checksum(&sites),
    })
}

/// The stored sums of a run; `None` where there are none, or those of another version or of other
/// call sites.
pub(crate) fn read(run: &Run) -> Result<Option<Summary>, Unusable> {
    let Some(expected) = head(run, run.recording.identity) else { return Ok(None) };
    let path = run.directory.summary();
    let Some(bytes) = read_file(&path)? else { return Ok(None) };
    let container = Container::read(&bytes, KIND, &path)?;
    let missing = |what| Unusable::Form(format!("no {what}: `{}`", path.display()));
    let damaged =
        |error: &dyn std::fmt::Display| Unusable::Form(format!("{error}: `{}`", path.display()));
    let found = container.get(HEAD).ok_or_else(|| missing("head"))?;
    let found: Head = rmp_serde::from_slice(found.bytes).map_err(|error| damaged(&error))?;
    if found != expected {
        return Ok(None);
    }
    let body = container.get(BODY).ok_or_else(|| missing("body"))?;
    let body = zstd::stream::Decoder::with_buffer(body.bytes)?.take(LARGEST);
    let mut summary: Summary =
        rmp_serde::from_read(io::BufReader::new(body)).map_err(|error| damaged(&error))?;
    if fits(&mut summary, &run.recording) {
        Ok(Some(summary))
    } else {
        Err(Unusable::Contradiction)
    }
}

/// The bytes of a file, if there is one.
fn read_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // Before it is opened: opening a pipe would wait for its writer.
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => std::fs::read(path).map(Some),
        Ok(_) => Err(io::Error::other("expected a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Keeps the sums of a run beside its recording, if that is complete. A folder that may not be
/// written, or a full disk, loses nothing: the sums are computed again.
pub(crate) fn write(run: &Run, summary: Kept<'_>) {
    write_for(run, run.recording.identity, summary);
}

/// Keeps the sums of a run for a recording with this identity: the same one, packed.
pub(crate) fn write_for(run: &Run, identity: Option<u64>, summary: Kept<'_>) {
    let Some(head) = head(run, identity) else { return };
    if let Some(bytes) = bytes(&head, &summary) {
        let _ = put(&run.directory, &bytes);
    }
}

/// Puts the file into its place, by renaming. A reader of another user's run, such as root, leaves
/// nothing there, and a link in the file's place is replaced, never followed: reading must
/// not write where the owner of the run chose.
fn put(directory: &RunDirectory, bytes: &[u8]) -> io::Result<()> {
    // As readable as other files of the run: the system takes away what the user's mask forbids.
    let readable = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().permissions(readable).tempfile_in(directory.path())?;
    if file.as_file().metadata()?.uid() != std::fs::metadata(directory.path())?.uid() {
        return Ok(());
    }
    file.write_all(bytes)?;
    file.persist(directory.summary())?;
    Ok(())
}

fn bytes(head: &Head, summary: &Kept<'_>) -> Option<Vec<u8>> {
    let head = rmp_serde::to_vec_named(head).ok()?;
    let mut body = zstd::stream::Encoder::new(Vec::new(), LEVEL).ok()?;
    rmp_serde::encode::write_named(&mut body, summary).ok()?;
    let body = body.finish().ok()?;
    let mut writer = Writer::new(Vec::new(), KIND).ok()?;
    writer.append(HEAD, &head).ok()?;
    writer.append(BODY, &body).ok()?;
    writer.finish().ok()
}

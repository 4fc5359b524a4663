//! Bytes and texts of input files.
//!
//! Owns the maximum size of a file, and the encodings that are read: UTF-8, with or without a byte
//! order mark. It refuses formats.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use talea_model::Bytes;

use crate::NetworkError;

/// Maximum bytes of a file: the list of tiles of a machine of 2^19 Geminis is no larger.
const MOST_BYTES: u64 = 4 << 30;

/// Byte order marks that some editors write before a text in UTF-8, and before one in another
/// encoding.
const MARK: &[u8] = b"\xef\xbb\xbf";
const WIDE: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// All bytes of a file except for a byte order mark.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, NetworkError> {
    let failed = |source| NetworkError::Read { source, path: path.to_owned() };
    let file = File::open(path).map_err(failed)?;
    // Endless devices have no length.
    let most =
        if file.metadata().map_err(failed)?.is_file() { MOST_BYTES } else { MOST_BYTES >> 4 };
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(NetworkError::TooLong { most: Bytes(most), path: path.to_owned() });
    }
    if WIDE.iter().any(|wide| bytes.starts_with(wide)) {
        return Err(NetworkError::Wide { path: path.to_owned() });
    }
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    Ok(bytes)
}

/// The text of a file, which is UTF-8.
pub(crate) fn text(path: &Path) -> Result<String, NetworkError> {
    String::from_utf8(bytes(path)?).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|&byte| byte == b'\n').count() as u64;
        NetworkError::NotText { line, path: path.to_owned() }
    })
}

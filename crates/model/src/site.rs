//! Call sites: first an offset in a module, later a function, a file and a line.
//!
//! Owns the two forms. Reading debug information is for the crate that may open files.

use serde::{Deserialize, Serialize};

/// An executable or shared library that calls came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Module {
    /// Path of the file when it was mapped.
    pub path: String,
    /// GNU build id in hexadecimal; empty where the file has none.
    pub build_id: String,
}

/// One return address, as an offset in the file that was mapped there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Index into the recording's modules; `u32::MAX` for code outside every module.
    pub module: u32,
    /// Virtual address inside the module, as its ELF program headers count (return address, so the call is
    /// just before it).
    pub offset: u64,
}

/// The place where a frame's call stands in the source, as far as debug information tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ResolvedFrame {
    /// Demangled function name, if the module has symbols.
    pub function: Option<String>,
    /// Source file, if the module has line tables.
    pub file: Option<String>,
    /// Line in `file`, from 1.
    pub line: Option<u32>,
    /// What is always known: `module+0xoffset`.
    pub address: String,
}

/// A call path: the direct caller first, then as many of its callers as the recording keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Site {
    /// One entry a frame, innermost first; never empty in a recording.
    pub frames: Vec<ResolvedFrame>,
}

impl ResolvedFrame {
    /// `file:line` with the file's last part, else the function, else `module+0xoffset`.
    pub fn short(&self) -> String {
        match (&self.file, self.line, &self.function) {
            (Some(file), Some(line), _) => {
                format!("{}:{line}", file.rsplit('/').next().unwrap_or(file))
            }
            (_, _, Some(function)) => function.clone(),
            _ => self.address.clone(),
        }
    }
}

impl Site {
    /// The innermost frame's short form.
    pub fn short(&self) -> String {
        self.frames.first().map_or_else(|| "?".to_owned(), ResolvedFrame::short)
    }
}

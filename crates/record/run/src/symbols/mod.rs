//! From a module and an offset to functions, files and lines.
//!
//! Owns the search through the information of a file, best first: line tables and inlined calls
//! (DWARF, in the module or in a separate debug file), then its symbols, then `module+0xoffset`
//! alone. A file that is not the one that ran (its build id differs) is not used at all: a wrong
//! line is worse than none. Missing information is data: [`Resolver::gaps`]. It refuses to fetch
//! anything from a network.

mod debug_file;
mod demangle;
mod functions;
#[cfg(test)]
mod hostile;
mod module_file;
mod names;
mod pieces;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_names;
mod vetting;

use std::collections::BTreeMap;
use std::path::PathBuf;

use talea_model::{Gap, GapKind, Gaps, Module, ResolvedFrame};

pub use demangle::demangled;
use module_file::{ModuleFile, OpenError};
pub use names::{Bounds, FunctionNames, NoNames};

/// Resolves recorded addresses; keeps every requested module open.
///
/// For the files of one recording and programs that end: files are mapped and parsed as a whole,
/// and all are kept. Long-lived programs, or those with queries about files of others, use
/// [`FunctionNames`].
#[derive(Debug)]
pub struct Resolver {
    modules: BTreeMap<Module, Known>,
    /// Folders with the layout of `/usr/lib/debug`.
    debug_roots: Vec<PathBuf>,
}

/// A requested module, and statistics of its results.
#[derive(Debug)]
struct Known {
    file: Result<ModuleFile, OpenError>,
    /// Number of requested addresses.
    asked: u64,
    /// Number of these without a function.
    unnamed: u64,
    /// Number of these with a function and without a line.
    without_line: u64,
}

impl Resolver {
    /// A resolver that looks for separate debug files in `/usr/lib/debug`.
    pub fn new() -> Self {
        Self::with_debug_roots(vec![PathBuf::from("/usr/lib/debug")])
    }

    /// A resolver that looks for separate debug files in these folders, in this order.
    pub fn with_debug_roots(debug_roots: Vec<PathBuf>) -> Self {
        Self { modules: BTreeMap::new(), debug_roots }
    }

    /// The source places of a recorded return address: the innermost inlined function first, and
    /// last the function that has the call in its own code. Never empty; where nothing is known the
    /// one frame has its address only.
    ///
    /// `offset` is a virtual address in the numbering of the module's program headers (address at
    /// run time minus load bias).
    pub fn resolve(&mut self, module: &Module, offset: u64) -> Vec<ResolvedFrame> {
        self.look_up(module, offset, true)
    }

    /// As [`Resolver::resolve`]; missing information is no gap.
    pub(crate) fn resolve_if_possible(
        &mut self,
        module: &Module,
        offset: u64,
    ) -> Vec<ResolvedFrame> {
        self.look_up(module, offset, false)
    }

    fn look_up(&mut self, module: &Module, offset: u64, counts: bool) -> Vec<ResolvedFrame> {
        if !self.modules.contains_key(module) {
            let file = ModuleFile::open(module, &self.debug_roots);
            let known = Known { file, asked: 0, unnamed: 0, without_line: 0 };
            self.modules.insert(module.clone(), known);
        }
        let known = self.modules.get_mut(module).expect("inserted above");
        known.asked += u64::from(counts);
        // The call is the instruction before the return address, and may be the last one of its
        // line or function.
        let call = offset.saturating_sub(1);
        let mut frames = known.file.as_ref().map_or_else(|_| Vec::new(), |file| file.frames(call));
        if frames.is_empty() {
            frames.push(ResolvedFrame::default());
        }
        let own = &frames[frames.len() - 1];
        if counts && known.file.is_ok() {
            known.unnamed += u64::from(own.function.is_none());
            known.without_line += u64::from(own.function.is_some() && own.line.is_none());
        }
        let address = bare_address(module, offset);
        for frame in &mut frames {
            frame.address.clone_from(&address);
        }
        frames
    }

    /// Information missing from the results so far, with reasons; counts are requested addresses.
    pub fn gaps(&self) -> Gaps {
        let mut gaps = Gaps::default();
        let mut note = |detail, count| {
            gaps.note(Gap { kind: GapKind::Unresolved, rank: None, detail, count });
        };
        let addresses = |count: u64| match count {
            1 => "1 address".to_owned(),
            _ => format!("{count} addresses"),
        };
        for (module, known) in self.modules.iter().filter(|(_, known)| known.asked > 0) {
            let path = &module.path;
            match &known.file {
                Err(error) => note(
                    format!(
                        "{} without function and line: {error}: `{path}`",
                        addresses(known.asked)
                    ),
                    known.asked,
                ),
                Ok(file) => {
                    if let Some(damage) = file.damage() {
                        note(format!("debug information is damaged ({damage}): `{path}`"), 0);
                    }
                    if known.unnamed > 0 {
                        let count = known.unnamed;
                        note(
                            format!(
                                "{} in no function that has a symbol: `{path}`",
                                addresses(count)
                            ),
                            count,
                        );
                    }
                    if known.without_line > 0 {
                        let count = known.without_line;
                        note(
                            format!(
                                "{} with a function but no line (compile with `-g`): `{path}`",
                                addresses(count)
                            ),
                            count,
                        );
                    }
                }
            }
        }
        gaps
    }
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new()
    }
}

/// The bytes of a module's file, if it is the one that ran.
pub(crate) fn map_module(module: &Module) -> Option<memmap2::Mmap> {
    module_file::map(module).ok()
}

/// `module+0xoffset`, with the last part of the module's path.
pub(crate) fn bare_address(module: &Module, offset: u64) -> String {
    let name = module.path.rsplit('/').next().unwrap_or(&module.path);
    format!("{name}+{offset:#x}")
}

/// Lower-case hexadecimal digits of `bytes`.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

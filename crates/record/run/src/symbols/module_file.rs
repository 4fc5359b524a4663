//! One module's file: information about an address in it and in its separate debug file.
//!
//! Owns the check that the file is the one that ran, and the merging of line tables with symbols.
//! DWARF is read by addr2line, ELF by object; both take hostile bytes, and an error of theirs
//! becomes [`ModuleFile::damage`].

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use memmap2::Mmap;
use object::{Object, ObjectSection};
use talea_model::{Module, ResolvedFrame};

use super::debug_file::{self, Elf};
use super::demangle::demangled_as;
use super::functions::Functions;
use super::vetting::{Refusal, vet};
use super::{demangled, hexadecimal};

/// Maximum nesting of inlined calls, which nest a few deep; a longer chain is damage.
const MOST_INLINED: usize = 128;
/// Maximum memory of symbols; those of a file made to exceed it are left out.
const MOST_SYMBOLS: usize = 1 << 30;

/// A module for queries.
pub(super) struct ModuleFile {
    /// Absent without line tables.
    lines: Option<Loader>,
    functions: Functions,
    /// The first error of reading.
    damage: RefCell<Option<String>>,
}

/// Reasons why a module cannot be queried. The texts go into a sentence that ends with the path.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("the file cannot be read here ({0})")]
    Io(std::io::Error),
    #[error("not an ELF file ({0})")]
    NotElf(object::Error),
    #[error("the file has build id {found}, the one that ran had {expected}")]
    OtherBuild { found: String, expected: String },
}

impl ModuleFile {
    pub(super) fn open(module: &Module, debug_roots: &[PathBuf]) -> Result<Self, OpenError> {
        let path = Path::new(&module.path);
        let bytes = crate::mapped::map_file(path).map_err(OpenError::Io)?;
        let elf = Elf::parse(&*bytes).map_err(OpenError::NotElf)?;
        check_build(&elf, module)?;
        let mut functions = Functions::default();
        functions.add(&elf, MOST_SYMBOLS);
        let mut source = has_lines(&elf).then(|| path.to_owned());
        if source.is_none()
            && let Some((debug_path, bytes)) = debug_file::find(path, &elf, debug_roots)
            && let Ok(debug) = Elf::parse(&*bytes)
        {
            functions.add(&debug, MOST_SYMBOLS);
            source = has_lines(&debug).then_some(debug_path);
        }
        functions.finish();
        let mut damage = None;
        let lines = source.and_then(|source| {
            let supplement = debug_file::find_supplement(&source, debug_roots);
            let all = [Some(source.clone()), supplement.clone(), Some(package_of(&source))];
            all.into_iter()
                .flatten()
                .try_for_each(|file| vetted(&file))
                .map_err(|refusal| refusal.to_string())
                .and_then(|()| {
                    Loader::new_with_sup(&source, supplement).map_err(|error| error.to_string())
                })
                .map_err(|error| damage = Some(error))
                .ok()
        });
        Ok(Self { lines, functions, damage: RefCell::new(damage) })
    }

    /// The frames at the address of a call, innermost first, without their addresses; empty if
    /// nothing is known. Call sites are return addresses, one byte after it.
    pub(super) fn frames(&self, call: u64) -> Vec<ResolvedFrame> {
        let mut frames = self.frames_from_lines(call).unwrap_or_else(|error| {
            self.damage.borrow_mut().get_or_insert(error);
            Vec::new()
        });
        let symbol = self.functions.containing(call);
        let behind = symbol.map(|(_, begin)| call + 1 - begin);
        match (frames.last_mut(), symbol) {
            (Some(own), Some((symbol, _))) => {
                let symbol = demangled(symbol);
                own.offset = behind.filter(|_| own.line.is_none());
                // Reduced debug information (`-gmlt`, `line-tables-only`) has `f` where the symbol
                // has `ns::S::f(int)`.
                let fuller = own.function.as_ref().is_none_or(|name| {
                    !name.contains("::") && symbol.contains("::") && symbol.contains(name.as_str())
                });
                if fuller {
                    own.function = Some(symbol);
                }
            }
            (None, Some((symbol, _))) => {
                let function = Some(demangled(symbol));
                let offset = behind;
                frames.push(ResolvedFrame { function, offset, ..ResolvedFrame::default() });
            }
            (_, None) => {}
        }
        frames
    }

    fn frames_from_lines(&self, call: u64) -> Result<Vec<ResolvedFrame>, String> {
        let Some(lines) = &self.lines else {
            return Ok(Vec::new());
        };
        let mut found = lines.find_frames(call).map_err(|error| error.to_string())?;
        let mut frames = Vec::new();
        while frames.len() < MOST_INLINED {
            let Some(frame) = found.next().map_err(|error| error.to_string())? else {
                break;
            };
            let function = frame
                .function
                .and_then(|name| Some(demangled_as(&name.raw_name().ok()?, name.language)));
            let (file, line) = frame.location.map_or((None, None), |l| (l.file, l.line));
            frames.push(ResolvedFrame {
                function,
                file: file.map(str::to_owned),
                // Line 0 means "no line" in DWARF.
                line: line.filter(|&line| line > 0),
                offset: None,
                address: String::new(),
            });
        }
        Ok(frames)
    }

    pub(super) fn damage(&self) -> Option<String> {
        self.damage.borrow().clone()
    }
}

impl std::fmt::Debug for ModuleFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModuleFile")
            .field("lines", &self.lines.is_some())
            .field("functions", &self.functions)
            .field("damage", &self.damage)
            .finish()
    }
}

/// The bytes of the file that ran.
pub(super) fn map(module: &Module) -> Result<Mmap, OpenError> {
    let bytes = crate::mapped::map_file(Path::new(&module.path)).map_err(OpenError::Io)?;
    check_build(&Elf::parse(&*bytes).map_err(OpenError::NotElf)?, module)?;
    Ok(bytes)
}

fn check_build(elf: &Elf<'_>, module: &Module) -> Result<(), OpenError> {
    let build_id = elf.build_id().ok().flatten().unwrap_or_default();
    // A module without a recorded id cannot be checked; one that has lost its id is another.
    if !module.build_id.is_empty() && hexadecimal(build_id) != module.build_id {
        return Err(OpenError::OtherBuild {
            found: if build_id.is_empty() { "none".into() } else { hexadecimal(build_id) },
            expected: module.build_id.clone(),
        });
    }
    Ok(())
}

/// Path at which the loader searches split debug information (`dwp`) of a file.
fn package_of(path: &Path) -> PathBuf {
    let extension = path.extension().map_or_else(
        || "dwp".into(),
        |extension| {
            let mut extension = extension.to_owned();
            extension.push(".dwp");
            extension
        },
    );
    path.with_extension(extension)
}

/// The loader reports unreadable files.
fn vetted(path: &Path) -> Result<(), Refusal> {
    let Ok(bytes) = crate::mapped::map_file(path) else { return Ok(()) };
    Elf::parse(&*bytes).map_or(Ok(()), |elf| vet(&elf))
}

fn has_lines(elf: &Elf<'_>) -> bool {
    // In a stripped file the section may remain as a header without bytes.
    elf.section_by_name(".debug_info")
        .is_some_and(|section| section.file_range().is_some_and(|(_, size)| size > 0))
}

//! Names of functions for processes that live long and are asked about anybody's files.
//!
//! Owns the bounds: of a file only its symbol tables are read, up to a bound and into memory; of files the most recently asked for are kept, up to a bound of bytes.
//! One file is read at a time, while questions about known ones go on. Lines and inlined calls are [`super::Resolver`]'s: what their parsers take is not bounded by
//! a file's length. As there, a file of another build is not used.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use object::{Object as _, ObjectSection as _, SectionKind};
use talea_model::Module;
use typed_arena::Arena;

use super::debug_file::places;
use super::demangle::demangled_of;
use super::functions::Functions;
use super::hexadecimal;
use super::pieces::{self, Pieces};

/// How long a file that could not be used is not tried again.
const AGAIN: Duration = Duration::from_mins(1);

/// What is read and kept at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of the symbol tables of one file, and bytes that its names may take.
    pub of_file: u64,
    /// Bytes of all that is kept.
    pub kept: usize,
    /// Files that are kept, those counted that could not be used.
    pub files: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { of_file: 128 << 20, kept: 256 << 20, files: 1024 }
    }
}

/// Why a file has no names. The texts go into a sentence that ends with the path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNames {
    /// Missing, not a regular file, or shortened while it was read.
    #[error("the file cannot be read here ({0})")]
    Unreadable(String),
    /// Something else.
    #[error("not an ELF file ({0})")]
    NotElf(String),
    /// More than is read.
    #[error("its symbol tables have more than {0} bytes")]
    TooLarge(u64),
    /// Not the file that ran.
    #[error("the file is of another build")]
    OtherBuild,
}

/// Functions by module and address. Can be asked by many threads at a time.
pub struct FunctionNames {
    debug_roots: Vec<PathBuf>,
    bounds: Bounds,
    kept: Mutex<Kept>,
    /// Held by who reads a file: what reading takes is taken once.
    pub(super) reading: Mutex<()>,
}

type File = Result<Functions, NoNames>;

#[derive(Default)]
struct Kept {
    files: HashMap<Module, Entry>,
    bytes: usize,
    /// Counts questions.
    now: u64,
}

struct Entry {
    file: Arc<File>,
    bytes: usize,
    /// The last question about it.
    asked: u64,
    read: Instant,
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FunctionNames {
    /// Names of files and of their separate debug files in `/usr/lib/debug`.
    pub fn new(bounds: Bounds) -> Self {
        Self::with_debug_roots(vec![PathBuf::from("/usr/lib/debug")], bounds)
    }

    /// As [`FunctionNames::new`], with other folders for separate debug files.
    pub fn with_debug_roots(debug_roots: Vec<PathBuf>, bounds: Bounds) -> Self {
        Self { debug_roots, bounds, kept: Mutex::default(), reading: Mutex::default() }
    }

    /// The function that has the instruction at a virtual address, as the module's program headers count; none where no symbol has it.
    ///
    /// # Errors
    /// Why the file says nothing. It is tried again after a minute.
    pub fn name(&self, module: &Module, address: u64) -> Result<Option<String>, NoNames> {
        let file = self.file(module);
        match &*file {
            Ok(functions) => {
                let name = functions.containing(address);
                Ok(name.map(|(name, _)| demangled_of(name, functions.is_fortran())))
            }
            Err(error) => Err(error.clone()),
        }
    }

    fn file(&self, module: &Module) -> Arc<File> {
        if let Some(file) = locked(&self.kept).file(module) {
            return file;
        }
        let _turn = locked(&self.reading);
        // Who had the turn before may have wanted the same.
        if let Some(file) = locked(&self.kept).file(module) {
            return file;
        }
        let file = Arc::new(read(module, &self.debug_roots, self.bounds.of_file));
        locked(&self.kept).keep(module, Arc::clone(&file), self.bounds);
        file
    }
}

impl Kept {
    fn file(&mut self, module: &Module) -> Option<Arc<File>> {
        self.now += 1;
        let entry = self.files.get_mut(module)?;
        if entry.file.is_err() && entry.read.elapsed() >= AGAIN {
            return None;
        }
        entry.asked = self.now;
        Some(Arc::clone(&entry.file))
    }

    fn keep(&mut self, module: &Module, file: Arc<File>, bounds: Bounds) {
        let names = module.path.len() + module.build_id.len();
        let bytes = size_of::<Entry>() + names + file.as_ref().as_ref().map_or(0, Functions::bytes);
        self.drop(module);
        // What has no room alone leaves it to others, and is read again when it is asked for.
        if bytes > bounds.kept {
            return;
        }
        while self.files.len() >= bounds.files || self.bytes.saturating_add(bytes) > bounds.kept {
            // What could not be used first.
            let oldest = self.files.iter().min_by_key(|(_, one)| (one.file.is_ok(), one.asked));
            let Some(oldest) = oldest.map(|(module, _)| module.clone()) else { break };
            self.drop(&oldest);
        }
        self.bytes += bytes;
        let entry = Entry { file, bytes, asked: self.now, read: Instant::now() };
        self.files.insert(module.clone(), entry);
    }

    fn drop(&mut self, module: &Module) {
        self.bytes -= self.files.remove(module).map_or(0, |entry| entry.bytes);
    }
}

impl fmt::Debug for FunctionNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionNames").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

fn read(module: &Module, debug_roots: &[PathBuf], most: u64) -> File {
    let path = Path::new(&module.path);
    let mut functions = Functions::default();
    let debug = add(path, &module.build_id, debug_roots, most, &mut functions)?;
    for place in debug {
        // Best first; one of another program counts for nothing, and needs a build id to be known.
        let mut more = Functions::default();
        if !module.build_id.is_empty()
            && add(&place, &module.build_id, &[], most, &mut more).is_ok()
        {
            functions = more;
            break;
        }
    }
    functions.finish();
    Ok(functions)
}

/// Adds what the tables of one file list; where to look for more if it was stripped.
fn add(
    path: &Path,
    build_id: &str,
    debug_roots: &[PathBuf],
    most: u64,
    functions: &mut Functions,
) -> Result<Vec<PathBuf>, NoNames> {
    let unreadable = |error: std::io::Error| NoNames::Unreadable(error.to_string());
    let file = pieces::open(path).map_err(unreadable)?;
    let arena = Arena::new();
    let pieces = Pieces::of(&file, &arena, most).map_err(unreadable)?;
    let too_large = || NoNames::TooLarge(most);
    let elf = object::File::parse(&pieces).map_err(|error| {
        if pieces.is_refused() { too_large() } else { NoNames::NotElf(error.to_string()) }
    })?;
    let found = elf.build_id().ok().flatten().unwrap_or_default();
    if !build_id.is_empty() && hexadecimal(found) != build_id {
        return Err(if pieces.is_refused() { too_large() } else { NoNames::OtherBuild });
    }
    // Tables of names as a whole, else each name would be read on its own.
    for section in elf.sections().filter(|section| section.kind() == SectionKind::Metadata) {
        if matches!(section.name(), Ok(".strtab" | ".dynstr")) {
            let _ = section.data();
        }
    }
    let fits = functions.add(&elf, most as usize);
    if pieces.is_refused() || !fits {
        return Err(too_large());
    }
    let is_stripped = elf.symbol_table().is_none();
    let link = elf.gnu_debuglink().ok().flatten().map(|(name, _)| name);
    Ok(if is_stripped { places(path, found, link, debug_roots) } else { Vec::new() })
}

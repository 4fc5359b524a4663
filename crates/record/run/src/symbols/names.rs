//! Names of functions for long-lived processes with queries about any user's files.
//!
//! Owns the bounds: of a file only its symbol tables are read, up to a bound and into memory; of
//! files the most recently requested are kept, up to a bound of bytes. One file is read at a time,
//! while queries about known ones continue; a query with a deadline waits for its turn and for a
//! file system until then only. Lines and inlined calls are [`super::Resolver`]'s: the memory of
//! their parsers is not bounded by a file's length. As there, a file of another build is not used;
//! one without build id only if it is the very file that ran. No file is read through a symbolic
//! link, or without permission of the [`Readers`] ([`crate::foreign`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, fs, io};

use object::{Object as _, ObjectSection as _, SectionKind};
use talea_model::{FileIdentity, Module};
use typed_arena::Arena;

use super::debug_file::{places_by_id, places_by_link};
use super::demangle::demangled_of;
use super::functions::Functions;
use super::hexadecimal;
use super::pieces::{self, Pieces};
use crate::foreign::{self, Readers};
use crate::helpers::{Helpers, mount_of};

/// Time for which a file that could not be used is not tried again.
const AGAIN: Duration = Duration::from_mins(1);
/// The same of a file whose file system did not answer; the next attempt costs nothing while the
/// previous one has not ended.
const AGAIN_HUNG: Duration = Duration::from_secs(5);

/// Maximum time for reading a file: symbols of 128 MiB from a slow disk.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of file systems without answer at a time; beyond it, no file is read until one
/// answers.
const MOST_HUNG: usize = 8;

/// Bounds of reading and keeping.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum bytes of the symbol tables of one file, and of the memory of its names.
    pub of_file: u64,
    /// Maximum bytes of everything that is kept.
    pub kept: usize,
    /// Maximum number of files that are kept, including those that could not be used.
    pub files: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { of_file: 128 << 20, kept: 256 << 20, files: 1024 }
    }
}

/// Reasons why a file has no names. The texts go into a sentence that ends with the path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNames {
    /// Missing, not a regular file, or shortened while it was read.
    #[error("the file cannot be read here ({0})")]
    Unreadable(String),
    /// Another kind of file.
    #[error("not an ELF file ({0})")]
    NotElf(String),
    /// More than the bound.
    #[error("its symbol tables have more than {0} bytes")]
    TooLarge(u64),
    /// Not the file that ran.
    #[error("the file is of another build")]
    OtherBuild,
    /// Reading it has not ended: its file system is away.
    #[error("its file system does not answer")]
    Hangs,
    /// It has no build id, and nothing else says which file ran.
    #[error("nothing says which file ran: it has no build id")]
    Unidentified,
}

/// Functions by module and address. Many threads may query it at a time.
pub struct FunctionNames {
    debug_roots: Vec<PathBuf>,
    bounds: Bounds,
    readers: Readers,
    kept: Mutex<Kept>,
    /// Taken while a file is read: the memory of reading is used once.
    pub(super) reading: Turns,
    /// Threads that read in place of the caller, by mount point.
    helpers: Helpers<PathBuf>,
}

type File = Result<Functions, NoNames>;

#[derive(Default)]
struct Kept {
    files: HashMap<Module, Entry>,
    bytes: usize,
    /// Counter of queries.
    now: u64,
}

struct Entry {
    file: Arc<File>,
    bytes: usize,
    /// The last query about it.
    asked: u64,
    read: Instant,
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FunctionNames {
    /// Names of files that `readers` may read, and of their separate debug files in
    /// `/usr/lib/debug`.
    pub fn new(bounds: Bounds, readers: Readers) -> Self {
        Self::with_debug_roots(vec![PathBuf::from("/usr/lib/debug")], bounds, readers)
    }

    /// As [`FunctionNames::new`], with other folders for separate debug files.
    pub fn with_debug_roots(debug_roots: Vec<PathBuf>, bounds: Bounds, readers: Readers) -> Self {
        Self {
            debug_roots,
            bounds,
            readers,
            kept: Mutex::default(),
            reading: Turns::default(),
            helpers: Helpers::new(PATIENCE, MOST_HUNG),
        }
    }

    /// The function that contains the instruction at a virtual address, in the numbering of the
    /// module's program headers; `None` where no symbol has it.
    ///
    /// # Errors
    /// Reason why the file has no names. It is tried again after a minute.
    pub fn name(&self, module: &Module, address: u64) -> Result<Option<String>, NoNames> {
        self.name_by(module, address, None)
    }

    /// As [`FunctionNames::name`], with a deadline: a file that is not known by then has no names.
    ///
    /// # Errors
    /// As [`FunctionNames::name`]; at the deadline [`NoNames::Hangs`], which is not kept.
    pub fn name_by(
        &self,
        module: &Module,
        address: u64,
        deadline: Option<Instant>,
    ) -> Result<Option<String>, NoNames> {
        let file = self.file(module, deadline);
        match &*file {
            Ok(functions) => {
                let name = functions.containing(address);
                Ok(name.map(|(name, _)| demangled_of(name, functions.is_fortran())))
            }
            Err(error) => Err(error.clone()),
        }
    }

    fn file(&self, module: &Module, deadline: Option<Instant>) -> Arc<File> {
        if let Some(file) = locked(&self.kept).file(module) {
            return file;
        }
        let Some(_turn) = self.reading.take(deadline) else {
            return Arc::new(Err(NoNames::Hangs));
        };
        // The previous holder may have read the same file.
        if let Some(file) = locked(&self.kept).file(module) {
            return file;
        }
        let left = left(deadline);
        if left.is_zero() {
            return Arc::new(Err(NoNames::Hangs));
        }
        let file = Arc::new(self.read(module, left));
        // A file that only this caller had no time for is not kept as one that hangs.
        if left >= PATIENCE || !matches!(*file, Err(NoNames::Hangs)) {
            locked(&self.kept).keep(module, Arc::clone(&file), self.bounds);
        }
        file
    }

    /// Reads a file in a separate thread, which is left behind where the file system does not
    /// answer.
    fn read(&self, module: &Module, longest: Duration) -> File {
        let place = mount_of(Path::new(&module.path));
        let (module, roots) = (module.clone(), self.debug_roots.clone());
        let (most, readers) = (self.bounds.of_file, self.readers);
        let look = move || read(&module, &roots, most, readers);
        self.helpers.ask_within(longest, place, look).unwrap_or(Err(NoNames::Hangs))
    }
}

/// The time until a deadline.
fn left(deadline: Option<Instant>) -> Duration {
    deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()))
}

/// One turn at a time, for which a caller waits until its deadline only.
#[derive(Default)]
pub(super) struct Turns {
    is_taken: Mutex<bool>,
    free: Condvar,
}

pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    pub(super) fn take(&self, deadline: Option<Instant>) -> Option<Turn<'_>> {
        let is_taken = locked(&self.is_taken);
        let waited = self.free.wait_timeout_while(is_taken, left(deadline), |is_taken| *is_taken);
        let (mut is_taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        // A turn that is made is given back when it is dropped: none is made for a caller whose
        // time is over.
        (!std::mem::replace(&mut *is_taken, true)).then(|| Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *locked(&self.0.is_taken) = false;
        self.0.free.notify_one();
    }
}

impl Kept {
    fn file(&mut self, module: &Module) -> Option<Arc<File>> {
        self.now += 1;
        let entry = self.files.get_mut(module)?;
        let holds = match &*entry.file {
            Ok(_) => Duration::MAX,
            Err(NoNames::Hangs) => AGAIN_HUNG,
            Err(_) => AGAIN,
        };
        if entry.read.elapsed() >= holds {
            return None;
        }
        entry.asked = self.now;
        Some(Arc::clone(&entry.file))
    }

    fn keep(&mut self, module: &Module, file: Arc<File>, bounds: Bounds) {
        let names = module.path.len() + module.build_id.len();
        let bytes = size_of::<Entry>() + names + file.as_ref().as_ref().map_or(0, Functions::bytes);
        self.drop(module);
        // A file that exceeds the bound alone leaves the room to others, and is read again for each
        // query.
        if bytes > bounds.kept {
            return;
        }
        while self.files.len() >= bounds.files || self.bytes.saturating_add(bytes) > bounds.kept {
            // Files that could not be used first.
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

fn read(module: &Module, debug_roots: &[PathBuf], most: u64, readers: Readers) -> File {
    if module.build_id.is_empty() {
        return Err(NoNames::Unidentified);
    }
    let path = Path::new(&module.path);
    let foreign = |path: &Path| foreign::open(path, readers);
    let mut functions = Functions::default();
    let debug = add(path, foreign, &module.build_id, most, &mut functions)?;
    let Some(Debug { build_id, link }) = debug else { return Ok(finished(functions)) };
    // Best first. Places by build id are the system's, with links of root; a name beside the file
    // is the file's choice.
    let ours = places_by_id(&build_id, debug_roots).into_iter().map(|place| (place, true));
    let beside = places_by_link(path, link.as_deref(), debug_roots);
    for (place, is_ours) in ours.chain(beside.into_iter().map(|place| (place, false))) {
        let open = |path: &Path| if is_ours { pieces::open(path) } else { foreign(path) };
        let mut more = Functions::default();
        // A file of another program does not count, and only a build id identifies it.
        if !build_id.is_empty() && add(&place, open, &module.build_id, most, &mut more).is_ok() {
            return Ok(finished(more));
        }
    }
    Ok(finished(functions))
}

fn finished(mut functions: Functions) -> Functions {
    functions.finish();
    functions
}

/// Identification of the separate debug file of a stripped file.
struct Debug {
    build_id: Vec<u8>,
    link: Option<Vec<u8>>,
}

/// Adds the tables of one file; returns the identification of its debug file if it was stripped.
fn add(
    path: &Path,
    open: impl Fn(&Path) -> io::Result<fs::File>,
    build_id: &str,
    most: u64,
    functions: &mut Functions,
) -> Result<Option<Debug>, NoNames> {
    let unreadable = |error: io::Error| NoNames::Unreadable(error.to_string());
    let file = open(path).map_err(unreadable)?;
    let expected = FileIdentity::parse(build_id);
    if let Some(expected) = expected
        && foreign::identity(&file.metadata().map_err(unreadable)?) != expected
    {
        return Err(NoNames::OtherBuild);
    }
    let arena = Arena::new();
    let pieces = Pieces::new(&file, &arena, most).map_err(unreadable)?;
    let too_large = || NoNames::TooLarge(most);
    let elf = object::File::parse(&pieces).map_err(|error| {
        if pieces.is_refused() { too_large() } else { NoNames::NotElf(error.to_string()) }
    })?;
    let found = elf.build_id().ok().flatten().unwrap_or_default();
    if expected.is_none() && hexadecimal(found) != build_id {
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
    let debug = || Debug { build_id: found.to_vec(), link: link.map(<[u8]>::to_vec) };
    Ok(is_stripped.then(debug))
}

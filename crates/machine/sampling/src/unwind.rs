//! From registers and a copy of the stack to return addresses, by the modules' unwind tables.
//!
//! Owns the tables: `.eh_frame` and its index, from files that are mapped here or from an image
//! that the caller has copied, never from the program's own mappings, which may go away. framehop
//! does the walking, and remembers the rule of every address that it has met. It refuses to know
//! symbols.

use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use framehop::x86_64::{CacheX86_64, Reg, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder as _};
use memmap2::Mmap;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};

use crate::sys::buffer::map_file;
use crate::threads::Registers;

/// Why a module's frames are walked by frame pointers instead.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is no ELF file of 64 bits.
    #[error("expected an ELF file: {0}")]
    NotElf(#[from] object::Error),
    /// It has none.
    #[error("no unwind tables (`.eh_frame`)")]
    NoTables,
}

/// A piece of a mapped file, or of a copy.
#[derive(Clone, Debug)]
struct Piece {
    whole: Image,
    range: Range<usize>,
}

#[derive(Clone, Debug)]
enum Image {
    File(Arc<Mmap>),
    Copy(Arc<[u8]>),
}

impl Default for Piece {
    fn default() -> Self {
        Self { whole: Image::Copy(Arc::new([])), range: 0..0 }
    }
}

impl Deref for Image {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::File(map) => map,
            Self::Copy(bytes) => bytes,
        }
    }
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.whole.get(self.range.clone()).unwrap_or_default()
    }
}

/// Walks stacks.
pub struct Unwinder {
    unwinder: UnwinderX86_64<Piece>,
    cache: CacheX86_64,
}

impl std::fmt::Debug for Unwinder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unwinder").finish_non_exhaustive()
    }
}

impl Default for Unwinder {
    fn default() -> Self {
        Self { unwinder: UnwinderX86_64::new(), cache: CacheX86_64::new() }
    }
}

/// Where a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// At the thread's first function.
    Whole,
    /// Before that: the copy was too short, tables are missing, or there are too many frames.
    Cut,
}

impl Unwinder {
    /// Adds a module that lies at `range`, `bias` above the addresses in its file.
    pub fn add_file(
        &mut self,
        path: &Path,
        bias: u64,
        range: Range<u64>,
    ) -> Result<(), TablesError> {
        self.add(&Image::File(Arc::new(map_file(path)?)), bias, range)
    }

    /// The same from the bytes of its file.
    pub fn add_image(
        &mut self,
        bytes: &[u8],
        bias: u64,
        range: Range<u64>,
    ) -> Result<(), TablesError> {
        self.add(&Image::Copy(bytes.into()), bias, range)
    }

    fn add(&mut self, image: &Image, bias: u64, range: Range<u64>) -> Result<(), TablesError> {
        let file = ElfFile64::<Endianness>::parse(&**image)?;
        let section = |name: &str| {
            let section = file.section_by_name(name)?;
            let (from, length) = section.file_range()?;
            let from = usize::try_from(from).ok()?;
            let place = from..from.checked_add(usize::try_from(length).ok()?)?;
            let addresses = section.address()..section.address().checked_add(section.size())?;
            Some((Piece { whole: image.clone(), range: place }, addresses))
        };
        let (frames, frames_at) = section(".eh_frame").ok_or(TablesError::NoTables)?;
        let (index, index_at) = section(".eh_frame_hdr").unzip();
        let tables = ExplicitModuleSectionInfo {
            text_svma: section(".text").map(|(_, at)| at),
            got_svma: section(".got").map(|(_, at)| at),
            eh_frame: Some(frames),
            eh_frame_svma: Some(frames_at),
            eh_frame_hdr: index,
            eh_frame_hdr_svma: index_at,
            ..ExplicitModuleSectionInfo::default()
        };
        self.unwinder.add_module(Module::new(String::new(), range, bias, tables));
        Ok(())
    }

    /// Takes away the module whose range begins there.
    pub fn remove(&mut self, begin: u64) {
        self.unwinder.remove_module(begin);
    }

    /// Puts the addresses of a stack into `out`: first the instruction, then return addresses,
    /// `most` at most. `stack` is what lies from the stack pointer up.
    pub fn walk(
        &mut self,
        registers: &Registers,
        stack: &[u8],
        most: usize,
        out: &mut Vec<u64>,
    ) -> Walked {
        out.clear();
        let [_, _, _, _, _, _, bp, sp, ..] = registers.general;
        let mut start = UnwindRegsX86_64::new(registers.ip, sp, bp);
        for (register, &value) in ORDER.iter().zip(&registers.general) {
            start.set(*register, value);
        }
        let mut read = |address: u64| {
            let from = address.checked_sub(sp).and_then(|from| usize::try_from(from).ok());
            let word = from.and_then(|from| stack.get(from..)?.first_chunk::<8>());
            word.map(|word| u64::from_le_bytes(*word)).ok_or(())
        };
        let mut frames = self.unwinder.iter_frames(registers.ip, start, &mut self.cache, &mut read);
        while out.len() < most {
            match frames.next() {
                Ok(Some(frame)) => out.push(frame.address()),
                Ok(None) => return Walked::Whole,
                Err(_) => return Walked::Cut,
            }
        }
        Walked::Cut
    }
}

/// DWARF's numbers of the registers, in its order.
const ORDER: [Reg; 16] = [
    Reg::RAX,
    Reg::RDX,
    Reg::RCX,
    Reg::RBX,
    Reg::RSI,
    Reg::RDI,
    Reg::RBP,
    Reg::RSP,
    Reg::R8,
    Reg::R9,
    Reg::R10,
    Reg::R11,
    Reg::R12,
    Reg::R13,
    Reg::R14,
    Reg::R15,
];

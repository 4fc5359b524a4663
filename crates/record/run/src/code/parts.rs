//! The parts of a file's functions.
//!
//! Owns their bounds: those of unwind tables (`.eh_frame`), which stripped files keep and which
//! include the parts that compilers put elsewhere (`.cold`); and functions that have a symbol with
//! a size and no such entry.

use addr2line::gimli::{self, UnwindSection as _};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

/// Maximum number of parts; files that claim more are damaged; large programs have some hundred
/// thousand.
const MOST: usize = 1 << 23;

/// Addresses of a function's code, or of a piece of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    pub(super) begin: u64,
    /// Address after its last byte.
    pub(super) end: u64,
}

impl Part {
    pub(super) fn contains(self, address: u64) -> bool {
        (self.begin..self.end).contains(&address)
    }
}

/// All parts of a file by begin, each begin once.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    pub(super) fn new(elf: &object::File<'_>) -> Self {
        let mut parts = Self(from_unwind_tables(elf).unwrap_or_default());
        parts.sort();
        let symbols = elf.symbols().chain(elf.dynamic_symbols()).take(MOST);
        let functions = symbols
            .filter(|symbol| symbol.kind() == SymbolKind::Text && !symbol.is_undefined())
            .filter_map(|symbol| part(symbol.address(), symbol.size()))
            .filter(|found| parts.containing(found.begin).is_none())
            .collect::<Vec<Part>>();
        parts.0.extend(functions);
        parts.sort();
        parts
    }

    fn sort(&mut self) {
        self.0.sort_unstable();
        self.0.dedup_by_key(|part| part.begin);
    }

    /// The part that contains this address.
    pub(super) fn containing(&self, address: u64) -> Option<Part> {
        let behind = self.0.partition_point(|part| part.begin <= address);
        self.0[..behind].last().copied().filter(|part| part.contains(address))
    }
}

fn part(begin: u64, size: u64) -> Option<Part> {
    let end = begin.checked_add(size)?;
    (begin < end).then_some(Part { begin, end })
}

/// The table's entries before the first one that cannot be read.
fn from_unwind_tables(elf: &object::File<'_>) -> Option<Vec<Part>> {
    let section = elf.section_by_name(".eh_frame")?;
    let table = gimli::EhFrame::new(section.data().ok()?, gimli::LittleEndian);
    let text = elf.section_by_name(".text").map_or(0, |text| text.address());
    let bases = gimli::BaseAddresses::default().set_eh_frame(section.address()).set_text(text);
    let mut entries = table.entries(&bases);
    let mut found = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        if found.len() == MOST {
            break;
        }
        let gimli::CieOrFde::Fde(entry) = entry else { continue };
        let Ok(entry) = entry.parse(gimli::EhFrame::cie_from_offset) else { continue };
        found.extend(part(entry.initial_address(), entry.len()));
    }
    Some(found)
}

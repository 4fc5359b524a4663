//! The functions of a module by address, from its symbol tables.
//!
//! Owns the choice among names of one address and the check of sizes: an address after the end of
//! the nearest function belongs to none. For modules without line tables, and for those stripped to
//! dynamic symbols.

use std::cmp::Reverse;

use object::{Object, ObjectSection, ObjectSymbol, ReadRef, SymbolKind};

/// Maximum number of functions to examine before an address: those in between lie inside a larger
/// one.
const NESTED: usize = 8;
/// Cost of a name without an end.
const ENDLESS: usize = 16 << 10;
/// Prefixes of names in the libraries of gfortran and flang.
const FORTRAN: [&[u8]; 2] = [b"_gfortran_", b"_FortranA"];

#[derive(Debug, Default)]
pub(super) struct Functions {
    /// Functions by begin once finished, each begin once.
    all: Vec<Function>,
    /// All names, one after the other: a large program has a hundred thousand.
    names: String,
    is_fortran: bool,
}

#[derive(Clone, Copy, Debug)]
struct Function {
    begin: u64,
    /// Address after its last byte; for a symbol without a size, the end of its section at first.
    end: u64,
    sized: bool,
    global: bool,
    name: (usize, usize),
}

impl Functions {
    /// Adds the symbols of the file's tables; false where that would take more than `most` bytes,
    /// and the rest is left out then.
    pub(super) fn add<'data, R: ReadRef<'data>>(
        &mut self,
        elf: &object::File<'data, R>,
        most: usize,
    ) -> bool {
        let mut left = most;
        for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
            let is_function = symbol.kind() == SymbolKind::Text && !symbol.is_undefined();
            if !is_function && (self.is_fortran || !symbol.is_undefined()) {
                continue;
            }
            let name = symbol.name_bytes();
            // Many symbols can share the one long name of a small file.
            let cost = size_of::<Function>() + name.map_or(ENDLESS, <[u8]>::len);
            let Some(after) = left.checked_sub(cost) else { return false };
            left = after;
            let Ok(name) = name else { continue };
            self.is_fortran |= FORTRAN.iter().any(|start| name.starts_with(start));
            if name.is_empty() || !is_function {
                continue;
            }
            let begin = symbol.address();
            let sized = symbol.size() > 0;
            let end =
                if sized { begin.saturating_add(symbol.size()) } else { end_of(elf, &symbol) };
            let from = self.names.len();
            self.names.push_str(&String::from_utf8_lossy(name));
            let name = (from, self.names.len());
            self.all.push(Function { begin, end, sized, global: symbol.is_global(), name });
        }
        true
    }

    /// True if a Fortran library is used or contained.
    pub(super) fn is_fortran(&self) -> bool {
        self.is_fortran
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<Function>() + self.names.capacity()
    }

    /// Sorts, chooses one name for each address, and ends functions without a size at the next one.
    pub(super) fn finish(&mut self) {
        let Self { all, names, .. } = self;
        let text = |f: &Function| &names[f.name.0..f.name.1];
        // A sized symbol before a bare label, a global before a local one, then by name so that the
        // choice is fixed.
        all.sort_by(|a, b| {
            let rank = |f: &Function| (f.begin, Reverse(f.sized), Reverse(f.global));
            rank(a).cmp(&rank(b)).then_with(|| text(a).cmp(text(b)))
        });
        all.dedup_by_key(|function| function.begin);
        for index in 1..all.len() {
            let next = all[index].begin;
            let function = &mut all[index - 1];
            if !function.sized {
                function.end = function.end.min(next);
            }
        }
        all.shrink_to_fit();
        names.shrink_to_fit();
    }

    /// The mangled name of the function that contains `address`, and its begin.
    pub(super) fn containing(&self, address: u64) -> Option<(&str, u64)> {
        let behind = self.all.partition_point(|function| function.begin <= address);
        let nearest = self.all[..behind].iter().rev().take(NESTED);
        nearest
            .filter(|function| address < function.end)
            .map(|function| (&self.names[function.name.0..function.name.1], function.begin))
            .next()
    }
}

fn end_of<'data, R: ReadRef<'data>>(
    elf: &object::File<'data, R>,
    symbol: &impl ObjectSymbol<'data>,
) -> u64 {
    let section = symbol.section_index().and_then(|index| elf.section_by_index(index).ok());
    section.map_or(0, |section| section.address().saturating_add(section.size()))
}

//! The functions of a module by address, from its symbol tables.
//!
//! Owns the choice among names of one address and the check of sizes: an address behind the end of
//! the nearest function belongs to none. For modules without line tables, and for those stripped to
//! dynamic symbols.

use std::cmp::Reverse;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use super::debug_file::Elf;

/// How many functions to look at before an address: those in between lie inside a larger one.
const NESTED: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Functions {
    /// By begin once finished, each begin once.
    all: Vec<Function>,
    /// All names, one after the other: a large program has a hundred thousand.
    names: String,
}

#[derive(Clone, Copy, Debug)]
struct Function {
    begin: u64,
    /// Behind its last byte; for a symbol without a size, the end of its section at first.
    end: u64,
    sized: bool,
    global: bool,
    name: (usize, usize),
}

impl Functions {
    /// Adds what the file's symbol tables list.
    pub(super) fn add(&mut self, elf: &Elf<'_>) {
        for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
            if symbol.kind() != SymbolKind::Text || symbol.is_undefined() {
                continue;
            }
            let Ok(name) = symbol.name_bytes() else {
                continue;
            };
            if name.is_empty() {
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
    }

    /// Sorts, chooses one name for each address, and ends functions without a size at the next one.
    pub(super) fn finish(&mut self) {
        let Self { all, names } = self;
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
    }

    /// The mangled name of the function that contains `address`.
    pub(super) fn containing(&self, address: u64) -> Option<&str> {
        let behind = self.all.partition_point(|function| function.begin <= address);
        let nearest = self.all[..behind].iter().rev().take(NESTED);
        nearest
            .filter(|function| address < function.end)
            .map(|function| &self.names[function.name.0..function.name.1])
            .next()
    }
}

fn end_of<'data>(elf: &Elf<'data>, symbol: &impl ObjectSymbol<'data>) -> u64 {
    let section = symbol.section_index().and_then(|index| elf.section_by_index(index).ok());
    section.map_or(0, |section| section.address().saturating_add(section.size()))
}

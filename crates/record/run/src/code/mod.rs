//! The loops of machine code (x86-64) around call sites.
//!
//! Owns the derivation, from an ELF file and return addresses, of the loops of the function around
//! each call. It distinguishes cases that a sequence of calls does not: `for 20 { for 10 X; O }`
//! and `for 200 { X; if every 10th O }` make the same calls, but only the first has a loop that
//! contains X and not O. Bounds of functions come from unwind tables and symbols ([`parts`]), jumps
//! from decoding ([`decode`]), loops from [`talea_flow::loops`] ([`graph`]). It reads untrusted
//! bytes: damaged or too large files have no result, and nothing panics.

mod decode;
mod ends;
mod graph;
mod parts;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::rc::Rc;

use object::Object as _;
use serde::{Deserialize, Serialize};
use talea_model::Module;

use ends::Ends;
use graph::FunctionLoops;
use parts::Parts;

/// Place of a call in machine code. Addresses are virtual ones of its module's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    /// Begin of the function that has the call in its own code, inlined functions included.
    pub function: u64,
    /// The loops of that function around the call, outermost first.
    #[serde(default)]
    pub loops: Vec<CodeLoop>,
    /// Number of the block with the call, from 1: a successor of a block has a larger number,
    /// except by backward jumps. 0 in runs of versions that did not number them.
    #[serde(default)]
    pub order: u32,
}

/// A loop of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLoop {
    /// Begin of its entry block: with the function it identifies the loop.
    pub header: u64,
    /// True if it may be two nested loops with one header: several jumps lead from inside to the
    /// header, and not each of them is where the loop may also be left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ambiguous: bool,
}

/// The loops around calls that return to `addresses`, one result for each address; absent where it
/// lies in no readable function.
pub fn loops_around(file: &[u8], addresses: &[u64]) -> Vec<Option<CodePlace>> {
    let Some(code) = Code::parse(file) else { return vec![None; addresses.len()] };
    let mut functions: BTreeMap<u64, Option<Rc<FunctionLoops>>> = BTreeMap::new();
    let place = |&address: &u64| {
        // The call is the instruction before the return address, and may be the last one of its
        // function.
        let call = address.checked_sub(1)?;
        let part = code.parts.containing(call)?;
        let known = functions.get(&part.begin).cloned();
        let function = known.unwrap_or_else(|| {
            let found = graph::function(&code, part).map(Rc::new);
            for part in found.iter().flat_map(|found| found.parts()) {
                functions.insert(part.begin, found.clone());
            }
            functions.insert(part.begin, found.clone());
            found
        });
        function?.place(call)
    };
    addresses.iter().map(place).collect()
}

/// As [`loops_around`], for the file of a module; no results where it is not the file that ran.
pub(crate) fn loops_in(module: &Module, addresses: &[u64]) -> Vec<Option<CodePlace>> {
    match crate::symbols::map_module(module) {
        Some(bytes) => loops_around(&bytes, addresses),
        None => vec![None; addresses.len()],
    }
}

/// A file for queries of code.
struct Code<'data> {
    elf: object::File<'data>,
    parts: Parts,
    ends: Ends,
}

impl<'data> Code<'data> {
    /// `None` where the file is no ELF file for x86-64.
    fn parse(file: &'data [u8]) -> Option<Self> {
        let elf = object::File::parse(file).ok()?;
        if elf.architecture() != object::Architecture::X86_64 || !elf.is_little_endian() {
            return None;
        }
        let (parts, ends) = (Parts::new(&elf), Ends::new(&elf));
        Some(Self { elf, parts, ends })
    }

    /// The bytes of a part of a function.
    fn bytes(&self, part: parts::Part) -> Option<&'data [u8]> {
        use object::ObjectSegment as _;
        let size = part.end.checked_sub(part.begin)?;
        let mut segments = self.elf.segments();
        segments.find_map(|segment| segment.data_range(part.begin, size).ok().flatten())
    }
}

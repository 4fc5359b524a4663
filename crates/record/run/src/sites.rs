//! `sites.json`: every address that a recording mentions, resolved once.
//!
//! Owns the table from (module, offset) to source places, and its file. Addresses rather than call
//! paths are its keys, so that all ranks and worlds of a run share one table. It is written while
//! the executables are available, so that the run can be read elsewhere. See [`crate::symbols`] for
//! the resolution of addresses.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use talea_model::{Frame, Gaps, Module, ResolvedFrame, Site};

use crate::code::{self, CodePlace};
use crate::directory::{FORMAT, JsonError, WriteError, json_bytes, read_json, replace};
use crate::symbols::{Resolver, bare_address};

/// Resolved addresses of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteTable {
    /// Version of this schema.
    pub format: u32,
    /// The modules of `addresses`.
    pub modules: Vec<Module>,
    /// Ascending by module and offset, each once.
    pub addresses: Vec<ResolvedAddress>,
    /// Addresses that could not be resolved, and the reasons.
    #[serde(default)]
    pub gaps: Gaps,
}

/// One address and its source places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedAddress {
    /// The recorded return address.
    #[serde(flatten)]
    pub address: Frame,
    /// The innermost inlined function first; never empty.
    pub frames: Vec<ResolvedFrame>,
    /// The loops of machine code around the call, where requested and known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodePlace>,
}

impl SiteTable {
    /// Resolves the addresses of call paths, innermost first, in any order and repeated or not.
    ///
    /// Where a path ends in the C library, it ends in the start of the process or the thread. Users
    /// do not compile that part, so that unknown parts of it are no gap.
    pub fn resolve<'a>(
        modules: &[Module],
        paths: impl IntoIterator<Item = &'a [Frame]>,
        resolver: &mut Resolver,
    ) -> Self {
        // For each address true if it occurs anywhere but at such an end.
        let mut wanted: BTreeMap<Frame, bool> = BTreeMap::new();
        for path in paths {
            let starts =
                |frame: &Frame| modules.get(frame.module as usize).is_some_and(is_c_library);
            let own = path.iter().rposition(|frame| !starts(frame)).map_or(0, |last| last + 1);
            for (at, &frame) in path.iter().enumerate() {
                *wanted.entry(frame).or_default() |= at < own;
            }
        }
        let resolve = |(address, counts): (Frame, bool)| {
            let frames = match modules.get(address.module as usize) {
                Some(module) if counts => resolver.resolve(module, address.offset),
                Some(module) => resolver.resolve_if_possible(module, address.offset),
                None => vec![unresolved(modules, address)],
            };
            ResolvedAddress { address, frames, code: None }
        };
        let addresses = wanted.into_iter().map(resolve).collect();
        Self { format: FORMAT, modules: modules.to_vec(), addresses, gaps: resolver.gaps() }
    }

    /// Looks up the loops of machine code around each address, in the files that are on this
    /// machine now.
    pub fn find_loops(&mut self) {
        // Sorted by module, so that each file is read once.
        for same in self.addresses.chunk_by_mut(|a, b| a.address.module == b.address.module) {
            let Some(module) = same.first().map(|entry| entry.address.module) else { continue };
            let Some(module) = self.modules.get(module as usize) else { continue };
            // The start of processes and threads is no part of a program's loops.
            if is_c_library(module) {
                continue;
            }
            let offsets: Vec<u64> = same.iter().map(|entry| entry.address.offset).collect();
            for (entry, found) in same.iter_mut().zip(code::loops_in(module, &offsets)) {
                entry.code = found;
            }
        }
    }

    /// The loops of machine code around the call that returns to an address, where they are known.
    pub fn code(&self, frame: Frame) -> Option<&CodePlace> {
        let at = self.addresses.binary_search_by_key(&frame, |entry| entry.address).ok()?;
        self.addresses[at].code.as_ref()
    }

    /// The call path through these addresses, innermost first, with inlined calls as frames of
    /// their own.
    ///
    /// An address that the table lacks becomes a frame with its address only.
    pub fn site(&self, path: &[Frame]) -> Site {
        let frames = path.iter().flat_map(|&frame| {
            match self.addresses.binary_search_by_key(&frame, |entry| entry.address) {
                Ok(place) => self.addresses[place].frames.clone(),
                Err(_) => vec![unresolved(&self.modules, frame)],
            }
        });
        Site { frames: frames.collect() }
    }

    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, JsonError> {
        let mut table: Self = read_json(path)?;
        // Lookups rely on the order, which an edited file need not have.
        table.addresses.sort_by_key(|entry| entry.address);
        table.addresses.retain(|entry| !entry.frames.is_empty());
        Ok(table)
    }

    /// Replaces the file.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        replace(path, &self.bytes())
    }

    /// Contents of the file.
    pub fn bytes(&self) -> Vec<u8> {
        json_bytes(self)
    }
}

/// The library that starts processes and threads: `libc.so.6`, `libc-2.28.so`, `libpthread.so.0`.
fn is_c_library(module: &Module) -> bool {
    let name = module.path.rsplit('/').next().unwrap_or_default();
    ["libc.so", "libc-2.", "libpthread"].iter().any(|start| name.starts_with(start))
}

fn unresolved(modules: &[Module], frame: Frame) -> ResolvedFrame {
    let address = modules
        .get(frame.module as usize)
        .map_or_else(|| format!("{:#x}", frame.offset), |m| bare_address(m, frame.offset));
    ResolvedFrame { address, ..ResolvedFrame::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_functions_are_resolved_stored_and_found_again() {
        let loaded = crate::modules::loaded();
        let modules: Vec<Module> = loaded.iter().map(|m| m.module.clone()).collect();
        // As if the test's second byte were a return address: the call before it is its first.
        let function = crate::modules::loaded as *const () as u64 + 1;
        let here = crate::modules::find(&loaded, function).unwrap();
        let outside = Frame { module: u32::MAX, offset: 0x1234 };
        let table =
            SiteTable::resolve(&modules, [&[outside, here][..], &[here]], &mut Resolver::new());
        assert_eq!(table.addresses.len(), 2);

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sites.json");
        table.write(&path).unwrap();
        let table = SiteTable::read(&path).unwrap();
        let site = table.site(&[here, outside, Frame { module: 0, offset: 0xffff }]);
        let own = site
            .frames
            .iter()
            .find(|f| f.function.as_deref().is_some_and(|name| name.contains("modules::loaded")));
        let own = own.expect("the function's name");
        assert!(
            own.file.as_deref().is_some_and(|file| file.ends_with("src/modules.rs")),
            "{own:?}"
        );
        let addresses: Vec<_> = site.frames.iter().map(|f| f.address.as_str()).collect();
        assert_eq!(addresses[addresses.len() - 2], "0x1234");
        assert!(addresses[addresses.len() - 1].ends_with("+0xffff"));
    }

    #[test]
    fn what_starts_a_program_is_no_gap() {
        // No such files: nothing is known of them.
        let module = |path: &str| Module { path: path.to_owned(), build_id: String::new() };
        let modules = [module("/no/program"), module("/no/libc.so.6")];
        let frame = |module, offset| Frame { module, offset };
        let gaps = |paths: &[&[Frame]]| -> Vec<u64> {
            let mut resolver = Resolver::with_debug_roots(Vec::new());
            let table = SiteTable::resolve(&modules, paths.iter().copied(), &mut resolver);
            assert_eq!(table.addresses.len(), 3);
            table.gaps.iter().map(|gap| gap.count).collect()
        };
        let (main, start) = (frame(0, 16), [frame(1, 16), frame(1, 32)]);
        assert_eq!(gaps(&[&[main, start[0], start[1]], &[main, start[0]]]), [1]);
        // Called from the library, such as the comparison function of `qsort`.
        assert_eq!(gaps(&[&[main, start[0], main], &[main, start[1]]]), [1, 1]);
    }
}

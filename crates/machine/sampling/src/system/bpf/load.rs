//! From the committed object to a program in the kernel and its maps.
//!
//! Owns the order of things: types of the object, accesses moved to where this kernel has its
//! fields, maps, calls, verifier. aya's own loader does the same, but first reads all types of the
//! kernel, which takes 20 MB for what ten of them are needed for. The object is ours: maps have the
//! kinds that `bpf/system.bpf.c` gives them. Follows bpf(2) and the kernel's `Documentation/bpf`.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use aya::maps::{MapData, MapError};
use aya_obj::btf::{Btf, BtfFeatures};
use aya_obj::{EbpfSectionKind, Map, Object};

use crate::sys::bpf;

/// The program's name in the object.
const PROGRAM: &str = "sample";
/// Arrays of maps, and maps that are like those in them.
const OUTER: [(&str, &str); 2] = [("current", "counts_0"), ("current_rates", "rates_0")];

/// Why the program is not in the kernel.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    /// The object is not as it is expected to be here.
    #[error("{0}")]
    Object(String),
    /// The kernel refused to make a map.
    #[error("map `{name}`: {error}")]
    Map {
        /// The map.
        name: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// The kernel refused the object's own types.
    #[error("types of the program: {0}")]
    Types(io::Error),
    /// The verifier refused the program.
    #[error("{error}; {reason}")]
    Program {
        /// The kernel's error.
        error: io::Error,
        /// The last line of its log.
        reason: String,
    },
}

impl LoadError {
    /// The kernel's error, unless it is the verifier's, which is EACCES for programs that it finds
    /// unsafe.
    pub(super) fn refusal(&self) -> Option<(&io::Error, bool)> {
        match self {
            Self::Object(_) => None,
            Self::Map { error, .. } | Self::Types(error) => Some((error, false)),
            Self::Program { error, .. } => Some((error, true)),
        }
    }
}

/// Properties of an object.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    /// Fields of the kernel that the program looks into.
    pub(super) kernel: &'a Btf,
    /// Entries of maps that have others than the object says.
    pub(super) entries: &'a [(&'a str, u32)],
    /// Values of the program's constants.
    pub(super) constants: &'a [(&'a str, &'a [u8])],
}

/// Objects in the kernel.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) program: OwnedFd,
    pub(super) maps: HashMap<String, MapData>,
}

/// Loads an object.
///
/// # Errors
/// What the object lacks, or what the kernel says.
pub(super) fn load(object: &[u8], wanted: &Wanted<'_>) -> Result<Loaded, LoadError> {
    let other = |error: &dyn std::fmt::Display| LoadError::Object(error.to_string());
    let mut object = Object::parse(object).map_err(|error| other(&error))?;
    let constants = wanted.constants.iter().map(|(name, value)| (*name, (*value, true)));
    object.patch_map_data(constants.collect()).map_err(|error| other(&error))?;
    // All of them but what the program has not: 64-bit enumerations, and sections of no size.
    let features = BtfFeatures::new(true, true, true, false, true, true, true, false);
    let types = object.fixup_and_sanitize_btf(&features).map_err(|error| other(&error))?;
    let types = types.ok_or_else(|| other(&"the program has no types"))?;
    let types = bpf::load_types(&types.to_bytes()).map_err(LoadError::Types)?;
    object.relocate_btf(wanted.kernel).map_err(|error| other(&error))?;

    let declared: Vec<(String, Map)> = object.maps.drain().collect();
    let maps = maps(&declared, wanted)?;
    let places = declared.iter().filter_map(|(name, map)| {
        let made = maps.get(name)?;
        Some((name.as_str(), made.fd().as_fd().as_raw_fd(), map))
    });
    let sections: HashSet<usize> = object.functions.keys().map(|(section, _)| *section).collect();
    object.relocate_maps(places, &sections).map_err(|error| other(&error))?;
    object.relocate_calls(&sections).map_err(|error| other(&error))?;

    let found = object.programs.get(PROGRAM);
    let found = found.ok_or_else(|| other(&format!("the object has no program `{PROGRAM}`")))?;
    let function = object.functions.get(&found.function_key());
    let function = function.ok_or_else(|| other(&"the program has no instructions"))?;
    let program = bpf::load_program(&bpf::Program {
        name: PROGRAM,
        instructions: &function.instructions,
        license: &found.license,
        types: types.as_fd(),
        functions: (&function.func_info.func_info_bytes(), function.func_info_rec_size),
    });
    let program =
        program.map_err(|(error, log)| LoadError::Program { error, reason: last_words(&log) })?;
    Ok(Loaded { program, maps })
}

/// Makes the maps that an object declares.
fn maps(
    declared: &[(String, Map)],
    wanted: &Wanted<'_>,
) -> Result<HashMap<String, MapData>, LoadError> {
    let mut maps = HashMap::new();
    let is_outer = |name: &str| OUTER.iter().any(|(outer, _)| *outer == name);
    for (name, map) in declared.iter().filter(|(name, _)| !is_outer(name)) {
        let entries = wanted.entries.iter().find(|(of, _)| of == name);
        let entries = entries.map_or_else(|| map.max_entries(), |(_, entries)| *entries);
        // Without types of keys and values, which only say how tools show them.
        let plain = Map::new_from_params(
            map.map_type(),
            map.key_size(),
            map.value_size(),
            entries,
            map.map_flags(),
        );
        let made =
            MapData::create(plain, short(name), None).map_err(|error| of_map(name, error))?;
        if map.section_kind() == EbpfSectionKind::Rodata {
            // Only what cannot change any more is a constant to the verifier.
            let filled = bpf::fill_and_freeze(made.fd().as_fd(), map.data());
            filled.map_err(|error| LoadError::Map { name: name.clone(), error })?;
        }
        maps.insert(name.clone(), made);
    }
    for (name, inner) in OUTER {
        let error = |error| LoadError::Map { name: name.to_owned(), error };
        let inner = maps.get(inner).ok_or_else(|| error(io::ErrorKind::NotFound.into()))?;
        let made = bpf::array_of_maps(name, inner.fd().as_fd()).map_err(error)?;
        let made = MapData::from_fd(made).map_err(|error| of_map(name, error))?;
        maps.insert(name.to_owned(), made);
    }
    Ok(maps)
}

/// The kernel takes letters, digits, `_` and `.`.
fn short(name: &str) -> &str {
    name.trim_start_matches('.')
}

/// The kernel's error in a map's.
fn of_map(name: &str, error: MapError) -> LoadError {
    let error = match error {
        MapError::CreateError { io_error, .. } => io_error,
        other => super::plain(other),
    };
    LoadError::Map { name: name.to_owned(), error }
}

/// End of the verifier's log, behind the reason.
const FIGURES: [&str; 4] = ["processed ", "stack depth ", "verification time ", "insns "];

/// The verifier's reason: the last line of its log but for figures.
fn last_words(log: &str) -> String {
    let figures = |line: &&str| FIGURES.iter().any(|begin| line.starts_with(begin));
    let last = log.lines().rev().find(|line| !figures(line) && !line.trim().is_empty());
    last.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_ends_with_the_reason() {
        let log = "0: R1=ctx()\n1: (85) call 999\ninvalid func unknown#999\nprocessed 2 insns (limit 1000000)\n\n";
        assert_eq!(last_words(log), "invalid func unknown#999");
        assert_eq!(last_words("\n"), "");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let kernel = Btf::new();
        let wanted = Wanted { kernel: &kernel, entries: &[], constants: &[] };
        assert!(matches!(load(b"no object", &wanted), Err(LoadError::Object(_))));
    }
}

//! Separate debug files: the places where distributions and `objcopy --only-keep-debug` put
//! stripped information.
//!
//! Owns the places to look, in gdb's order: by build id below each debug root, then by the name in
//! `.gnu_debuglink` beside the module, in its `.debug` folder and below each root. A candidate
//! counts only if its build id, or without one its CRC-32, is right. Also finds the common file of
//! dwz (`.gnu_debugaltlink`). See "Debugging Information in Separate Files" in the gdb manual.

use std::path::{Path, PathBuf};

use memmap2::Mmap;
use object::Object;

use super::hexadecimal;
use crate::mapped::map_file;

/// A parsed file of either word size.
pub(super) type Elf<'a> = object::File<'a>;

/// The debug file of the module at `path`, with its path.
pub(super) fn find(path: &Path, elf: &Elf<'_>, roots: &[PathBuf]) -> Option<(PathBuf, Mmap)> {
    let build_id = elf.build_id().ok().flatten().unwrap_or_default();
    by_build_id(build_id, roots).or_else(|| by_link(path, elf, build_id, roots))
}

/// Possible places of the debug file of a build below each root, for callers that read files
/// themselves.
pub(super) fn places_by_id(build_id: &[u8], roots: &[PathBuf]) -> Vec<PathBuf> {
    let name = name_of(build_id);
    name.iter().flat_map(|name| roots.iter().map(move |root| root.join(name))).collect()
}

/// Possible places by the name in the module at `path`, which [`find`] tries after these.
pub(super) fn places_by_link(path: &Path, link: Option<&[u8]>, roots: &[PathBuf]) -> Vec<PathBuf> {
    link.map_or_else(Vec::new, |name| beside(path, name, roots))
}

/// The file with the common parts of several debug files, if `path` needs one.
pub(super) fn find_supplement(path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    let bytes = map_file(path).ok()?;
    let elf = Elf::parse(&*bytes).ok()?;
    let (name, build_id) = elf.gnu_debugaltlink().ok().flatten()?;
    let beside = path.parent()?.join(os_path(name));
    matching(&beside, build_id).or_else(|| by_build_id(build_id, roots)).map(|(found, _)| found)
}

fn by_build_id(build_id: &[u8], roots: &[PathBuf]) -> Option<(PathBuf, Mmap)> {
    let name = name_of(build_id)?;
    roots.iter().find_map(|root| matching(&root.join(&name), build_id))
}

fn name_of(build_id: &[u8]) -> Option<String> {
    let digits = hexadecimal(build_id);
    let (folder, rest) = digits.split_at_checked(2)?;
    Some(format!(".build-id/{folder}/{rest}.debug"))
}

fn by_link(
    path: &Path,
    elf: &Elf<'_>,
    build_id: &[u8],
    roots: &[PathBuf],
) -> Option<(PathBuf, Mmap)> {
    let (name, crc) = elf.gnu_debuglink().ok().flatten()?;
    beside(path, name, roots).into_iter().find_map(|candidate| {
        if !build_id.is_empty() {
            return matching(&candidate, build_id);
        }
        let bytes = map_file(&candidate).ok()?;
        (crc32fast::hash(&bytes) == crc).then_some((candidate, bytes))
    })
}

/// Possible places of a debug file of this name.
fn beside(path: &Path, name: &[u8], roots: &[PathBuf]) -> Vec<PathBuf> {
    let name = os_path(name);
    // The module may be reached through a symbolic link; its debug file lies beside the real one.
    let Ok(real) = std::fs::canonicalize(path) else { return Vec::new() };
    let Some(folder) = real.parent() else { return Vec::new() };
    let below = folder.strip_prefix("/").unwrap_or(folder);
    [folder.join(name), folder.join(".debug").join(name)]
        .into_iter()
        .chain(roots.iter().map(|root| root.join(below).join(name)))
        // Without an extension of its own the link may name the module itself.
        .filter(|candidate| *candidate != real)
        .collect()
}

/// The file at `path` if it has this build id.
fn matching(path: &Path, build_id: &[u8]) -> Option<(PathBuf, Mmap)> {
    let bytes = map_file(path).ok()?;
    let found = Elf::parse(&*bytes).ok()?.build_id().ok().flatten()? == build_id;
    found.then(|| (path.to_owned(), bytes))
}

fn os_path(name: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(name))
}

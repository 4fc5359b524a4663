//! Debug information made to break its reader.

use std::fs;
use std::path::Path;

use super::tests::{address, compiled, module, run, text};
use super::*;

/// Debug information of one function at `begin`, in which inlined calls nest `depth` deep.
fn nested(begin: u64, depth: usize) -> (Vec<u8>, Vec<u8>) {
    // Tag, whether there are entries inside, then attributes and their forms: begin as an address,
    // length in 8 bytes.
    let range = [0x11, 0x01, 0x12, 0x07, 0, 0];
    let mut abbreviations = Vec::new();
    for (number, tag) in [(1, 0x11), (2, 0x2e)] {
        abbreviations.extend([number, tag, 1]);
        abbreviations.extend(range);
    }
    abbreviations.extend([3, 0x1d, 1, 0, 0, 0]);
    let mut entries = Vec::new();
    for number in [1, 2] {
        entries.push(number);
        entries.extend(begin.to_le_bytes());
        entries.extend(64_u64.to_le_bytes());
    }
    entries.resize(entries.len() + depth, 3);
    entries.resize(entries.len() + depth + 2, 0);
    // Version 4, abbreviations at 0, addresses of 8 bytes.
    let mut unit = (entries.len() as u32 + 7).to_le_bytes().to_vec();
    unit.extend([4, 0, 0, 0, 0, 0, 8]);
    unit.extend(entries);
    (unit, abbreviations)
}

/// The program with other debug information, and the address of its function `leaf`.
fn rebuilt(path: &Path, depth: usize) -> u64 {
    let folder = path.parent().unwrap();
    let begin = address(path, "leaf");
    let (entries, abbreviations) = nested(begin, depth);
    fs::write(folder.join("entries"), entries).unwrap();
    fs::write(folder.join("abbreviations"), abbreviations).unwrap();
    let updates = [
        "--update-section",
        ".debug_info=entries",
        "--update-section",
        ".debug_abbrev=abbreviations",
    ];
    run("objcopy", &[&updates[..], &["--remove-section=.debug_aranges", "p"]].concat(), folder);
    begin
}

/// The only gap of a resolver after a query for `leaf`, which its symbol names in any case.
fn gap(path: &Path, at: u64) -> Option<String> {
    let mut resolver = Resolver::with_debug_roots(Vec::new());
    let frames = resolver.resolve(&module(path), at + 1);
    assert_eq!(text(&frames)[0].split(' ').next(), Some("leaf"));
    resolver.gaps().iter().map(|gap| gap.detail.clone()).find(|gap| gap.contains("damaged"))
}

#[test]
fn inlined_calls_without_end_leave_the_stack_alone() {
    let (_dir, path) = compiled(&[]);
    let at = rebuilt(&path, 900);
    assert_eq!(gap(&path, at), None);
    let at = rebuilt(&path, 10_000_000);
    let gap = gap(&path, at).unwrap();
    assert!(gap.contains("entries nest more than 1000 deep at offset 0x"), "{gap}");
    assert!(gap.contains("of `.debug_info`"), "{gap}");
}

#[test]
fn compressed_sections_are_read_unless_they_unfold_too_far() {
    let (dir, path) = compiled(&[]);
    run("objcopy", &["--compress-debug-sections=zlib-gabi", "p"], dir.path());
    let at = address(&path, "leaf");
    let mut resolver = Resolver::with_debug_roots(Vec::new());
    assert_eq!(text(&resolver.resolve(&module(&path), at + 1)), ["leaf p.c:6"]);
    fs::write(dir.path().join("zeros"), vec![0; 32 << 20]).unwrap();
    run("objcopy", &["--add-section", ".debug_loc=zeros", "p"], dir.path());
    run("objcopy", &["--compress-debug-sections=zlib-gabi", "p"], dir.path());
    let gap = gap(&path, at).unwrap();
    assert!(gap.contains("section `.debug_loc` of"), "{gap}");
    assert!(gap.contains("unfolds to more than 256 times as many"), "{gap}");
}

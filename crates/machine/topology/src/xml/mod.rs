//! hwloc's XML files: versions 1, 2 and 3 in, 2 and 3 out.
//!
//! Owns bytes to [`Topology`] and back. All three versions are converted to hwloc 2's model: NUMA
//! nodes and memory-side caches beside normal children; version 1's NUMA nodes, which stood between
//! them, move there as hwloc 2 moves them. It refuses contradictions that prevent a tree (two
//! roots, a PU without a number); smaller faults are [`Gaps`] beside the topology. The format is
//! described by hwloc's `hwloc2.dtd` and the chapter "Importing and exporting topologies from/to
//! XML files" of its manual.

mod attributes;
mod devices;
mod draft;
mod extras;
mod fields;
mod kinds;
mod raw;
mod relations;
mod scan;
mod sets;
mod version1;
mod walk;
mod write;

use talea_model::{Gap, GapKind, Gaps};

use crate::objects::Topology;
use draft::Draft;
use scan::{Lines, Scanner, Token};

pub(crate) use kinds::level_of;
pub use scan::{MOST_ATTRIBUTES, MOST_DEPTH};
pub use write::{Version, write};

/// Maximum number of objects of a file. A machine of 100,000 PUs has about a million.
pub const MOST_OBJECTS: usize = 1 << 21;
/// Maximum memory of all sets of a file, in bytes.
pub const MOST_SET_BYTES: usize = 1 << 28;
/// Maximum number of gaps of a file that are reported one by one; the rest is only counted.
pub const MOST_GAPS: usize = 100;

/// Errors of reading XML. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// Something else in the place of an expected element.
    #[error("line {line}: expected {expected}, found {found}")]
    Unexpected {
        /// The line.
        line: usize,
        /// The expected text.
        expected: String,
        /// The text that was found, at most 80 characters of it.
        found: String,
    },
    /// Elements nest too deep.
    #[error(
        "line {line}: expected elements nested at most {limit} deep (Talea's limit), found more"
    )]
    TooDeep {
        /// The line.
        line: usize,
        /// The bound.
        limit: usize,
    },
    /// More than any machine has.
    #[error("line {line}: expected at most {limit} {what} (Talea's limit), found more")]
    TooMany {
        /// The line.
        line: usize,
        /// The bound.
        limit: usize,
        /// The kind of item.
        what: &'static str,
    },
    /// An unknown later version.
    #[error("line {line}: expected version 1, 2 or 3 of hwloc's XML, found `{found}`")]
    Version {
        /// The line.
        line: usize,
        /// The file's version.
        found: String,
    },
    /// Two PUs have one number.
    #[error(
        "line {line}: expected a PU with a number of its own, found P#{os_index} again (first in line {first})"
    )]
    DoubledPu {
        /// The second.
        line: usize,
        /// The first.
        first: usize,
        /// Their number.
        os_index: u32,
    },
}

impl XmlError {
    fn unexpected(line: usize, expected: &str, found: &str) -> Self {
        Self::Unexpected { line, expected: expected.to_owned(), found: cut(found) }
    }
}

/// At most 80 characters of an external text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// A file of objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The objects.
    pub topology: Topology,
    /// Omissions and corrections, each with its line.
    pub gaps: Gaps,
    /// The file's version of the format: 1, 2 or 3.
    pub version: u32,
}

/// Gaps while reading.
#[derive(Default)]
struct Faults {
    gaps: Gaps,
    untold: u64,
}

impl Faults {
    fn note(&mut self, kind: GapKind, detail: String) {
        if self.gaps.iter().len() < MOST_GAPS {
            self.gaps.note(Gap { kind, rank: None, detail, count: 1 });
        } else {
            self.untold += 1;
        }
    }

    fn damaged(&mut self, line: usize, detail: &str) {
        self.note(GapKind::Damaged, format!("line {line}: {detail}"));
    }

    fn done(mut self) -> Gaps {
        if self.untold > 0 {
            let detail = format!("{} more faults of the file", self.untold);
            self.gaps.note(Gap { kind: GapKind::Damaged, rank: None, detail, count: self.untold });
        }
        self.gaps
    }
}

/// Reads a file of version 1, 2 or 3.
pub fn read(bytes: &[u8]) -> Result<Loaded, XmlError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count();
        XmlError::unexpected(line, "UTF-8", "other bytes")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut scan = Scanner::new(text);
    let version = open_topology(&mut scan)?;
    let mut draft = Draft::new(version);
    loop {
        match scan.next()? {
            Token::Open(element) if element.name() == "object" => {
                walk::read_object(&mut scan, &element, &mut draft)?;
            }
            Token::Open(element) => extras::read_element(&mut scan, &element, &mut draft)?,
            Token::Text(text) if text.trim().is_empty() => {}
            Token::Text(text) => {
                let (line, found) = first_line(&scan, &text);
                return Err(XmlError::unexpected(line, "an element", &found));
            }
            Token::Close | Token::End => break,
        }
    }
    loop {
        match scan.next()? {
            Token::Text(text) if text.trim().is_empty() => {}
            Token::End => break,
            _ => {
                let line = scan.line_here();
                return Err(XmlError::unexpected(line, "nothing after `</topology>`", "something"));
            }
        }
    }
    finish(draft, text)
}

/// Reads up to `<topology>` and returns its version.
fn open_topology(scan: &mut Scanner<'_>) -> Result<u32, XmlError> {
    loop {
        match scan.next()? {
            Token::Open(element) if element.name() == "topology" => {
                let line = scan.line(element.at);
                let Some(version) = element.attribute(scan.text, "version")? else { return Ok(1) };
                let major = version.split('.').next().and_then(|major| major.parse().ok());
                return major
                    .filter(|major| (1..=3).contains(major))
                    .ok_or_else(|| XmlError::Version { line, found: cut(&version) });
            }
            Token::Open(element) => {
                let found = format!("`<{}>`", element.name());
                return Err(XmlError::unexpected(scan.line(element.at), "`<topology>`", &found));
            }
            Token::Text(text) if text.trim().is_empty() => {}
            Token::Text(text) => {
                let (line, found) = first_line(scan, &text);
                return Err(XmlError::unexpected(line, "`<topology>`", &found));
            }
            Token::Close | Token::End => {
                let line = scan.line_here();
                return Err(XmlError::unexpected(line, "`<topology>`", "the end of the file"));
            }
        }
    }
}

/// The first words of a text that was read just now, and their line.
fn first_line(scan: &Scanner<'_>, text: &str) -> (usize, String) {
    let words = text.trim_start();
    let after = words.bytes().filter(|&byte| byte == b'\n').count();
    let first = words.lines().next().unwrap_or_default().trim_end();
    (scan.line_here().saturating_sub(after), format!("`{}`", cut(first)))
}

/// Draft to topology: version 1's nodes move, links, sets, order, numbers; then data about several
/// objects.
fn finish(mut draft: Draft, text: &str) -> Result<Loaded, XmlError> {
    let line = |at: usize| Lines(text.get(..at).unwrap_or(text)).count();
    if draft.objects.is_empty() {
        return Err(XmlError::unexpected(line(text.len()), "`<object>` in `<topology>`", "none"));
    }
    if draft.version == 1 {
        version1::convert(&mut draft);
    }
    draft.number_all();
    let depth_distances = std::mem::take(&mut draft.depth_distances);
    let (mut objects, has, at, mut places) = draft.link();
    sets::derive(&mut objects, &has, &at, &line, &mut draft.faults)?;
    let (mut objects, sorted) = crate::levels::sort(objects);
    for place in &mut places {
        *place = place.and_then(|id| sorted[id.0 as usize]);
    }
    crate::levels::number(&mut objects);
    let [allowed_cpuset, allowed_nodeset] = std::mem::take(&mut draft.allowed);
    let mut topology = Topology {
        objects,
        allowed_cpuset,
        allowed_nodeset,
        cpu_kinds: std::mem::take(&mut draft.cpu_kinds),
        memory_tiers: std::mem::take(&mut draft.memory_tiers),
        support: std::mem::take(&mut draft.support),
        infos: std::mem::take(&mut draft.infos),
        ..Topology::default()
    };
    relations::resolve(
        &mut topology,
        draft.raw_distances,
        draft.raw_attributes,
        &line,
        &mut draft.faults,
    );
    version1::add_distances(&mut topology, depth_distances, &places, &line, &mut draft.faults);
    Ok(Loaded { topology, gaps: draft.faults.done(), version: draft.version })
}

/// Derives the sets of objects that were not read from a file. Objects are in depth-first order;
/// `has` and `at` are as in a draft.
pub(crate) fn derive_sets(
    objects: &mut [crate::Object],
    has: &[u8],
    at: &[usize],
) -> Result<(), XmlError> {
    sets::derive(objects, has, at, &|_| 1, &mut Faults::default())
}

//! Reading a container from untrusted bytes.
//!
//! Owns the checks, in the order that gives the most useful error: magic, completeness, header,
//! version, kind, directory. A damaged section does not hide the others: it is left out and listed
//! as [`Damage`]. Payloads are borrowed, never copied; memory is bounded by the directory, which is
//! a part of the bytes.

use std::path::{Path, PathBuf};

use talea_model::{Gap, GapKind};

use super::{END_MAGIC, ENTRY, Entry, FOOTER, HEADER, MAGIC, SectionId, Tag, VERSION, checksum};

/// A container's intact sections, and its damage.
#[derive(Clone, Debug)]
pub struct Container<'a> {
    /// Sections in the order of the file.
    sections: Vec<Section<'a>>,
    damage: Vec<Damage>,
    /// Checksum of the directory, which has those of all sections.
    directory: u32,
}

/// An intact section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// Its id.
    pub id: SectionId,
    /// Offset in the file, for errors inside it.
    pub offset: u64,
    /// Its payload.
    pub bytes: &'a [u8],
}

/// A section whose bytes are not those that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its id.
    pub id: SectionId,
    /// Offset in the file.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// Errors of reading a container.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Another kind of file.
    #[error(
        "not a Talea file: expected `TALEA` and three control bytes at offset 0: `{}`",
        path.display()
    )]
    Magic {
        /// The file.
        path: PathBuf,
    },
    /// The writer was stopped, or the copy of the file is incomplete.
    #[error("file is incomplete: expected a footer at the end, offset {offset}; its writer was stopped or it was not copied as a whole: `{}`", path.display())]
    Truncated {
        /// Offset at which the footer should begin.
        offset: u64,
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer Talea.
    #[error(
        "made by a newer talea: version {found}, this one reads up to {VERSION}: `{}`",
        path.display()
    )]
    Newer {
        /// Its format.
        found: u32,
        /// The file.
        path: PathBuf,
    },
    /// A Talea file for another purpose.
    #[error("file is of kind `{found}`, expected `{expected}`: `{}`", path.display())]
    Kind {
        /// Its kind.
        found: Tag,
        /// The kind that the caller reads.
        expected: Tag,
        /// The file.
        path: PathBuf,
    },
    /// An essential part contradicts its checksum or the rest.
    #[error("file is damaged at offset {offset}, expected {expected}: `{}`", path.display())]
    Damaged {
        /// The offset.
        offset: u64,
        /// The expected content.
        expected: &'static str,
        /// The file.
        path: PathBuf,
    },
}

impl<'a> Container<'a> {
    /// Reads a container of a kind; `path` is for errors only.
    pub fn read(bytes: &'a [u8], kind: Tag, path: &Path) -> Result<Self, ReadError> {
        check_header(bytes, kind, path)?;
        let (entries, end) = directory(bytes, path)?;
        let mut container = Self {
            sections: Vec::with_capacity(entries.len()),
            damage: Vec::new(),
            directory: checksum(&bytes[end as usize..bytes.len() - FOOTER]),
        };
        let mut at = HEADER as u64;
        for (index, &Entry { id, offset, length, checksum: expected }) in entries.iter().enumerate()
        {
            // Sections lie one after the other: nothing overlaps, and no byte is outside all
            // checksums.
            let next = offset.checked_add(length).filter(|&next| offset == at && next <= end);
            let next = next.ok_or_else(|| ReadError::Damaged {
                offset: end + (index * ENTRY) as u64,
                expected: "a section that begins where the one before it ends",
                path: path.to_owned(),
            })?;
            let payload = &bytes[offset as usize..next as usize];
            if checksum(payload) == expected {
                container.sections.push(Section { id, offset, bytes: payload });
            } else {
                container.damage.push(Damage { id, offset, length });
            }
            at = next;
        }
        if at != end {
            return Err(ReadError::Damaged {
                offset: at,
                expected: "the directory behind the last section",
                path: path.to_owned(),
            });
        }
        Ok(container)
    }

    /// A number that two files share only if all their sections are equal, or by chance.
    pub fn identity(&self) -> u32 {
        self.directory
    }

    /// The intact sections in the order of the file.
    pub fn sections(&self) -> &[Section<'a>] {
        &self.sections
    }

    /// The intact section with this id.
    pub fn get(&self, id: SectionId) -> Option<Section<'a>> {
        self.sections.iter().find(|section| section.id == id).copied()
    }

    /// All intact sections of a kind in the order of the file.
    pub fn all(&self, tag: Tag) -> impl Iterator<Item = Section<'a>> + '_ {
        self.sections.iter().filter(move |section| section.id.tag == tag).copied()
    }

    /// The sections that were left out.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}

impl Damage {
    /// The same as a gap that travels with the result; the caller adds the section's rank.
    pub fn gap(&self) -> Gap {
        let Self { id, offset, length } = self;
        Gap {
            kind: GapKind::Damaged,
            rank: None,
            detail: format!(
                "section `{id}` at offset {offset} does not match its checksum, {length} bytes are left out"
            ),
            count: 0,
        }
    }
}

pub(crate) fn check_header(bytes: &[u8], kind: Tag, path: &Path) -> Result<(), ReadError> {
    let path = || path.to_owned();
    if !bytes.starts_with(&MAGIC) {
        return Err(ReadError::Magic { path: path() });
    }
    let Some(header) = bytes.get(..HEADER) else {
        return Err(ReadError::Truncated { offset: bytes.len() as u64, path: path() });
    };
    if checksum(&header[..20]) != word(header, 20) {
        return Err(ReadError::Damaged {
            offset: 0,
            expected: "a header that matches its checksum",
            path: path(),
        });
    }
    let found = word(header, 8);
    if found > VERSION {
        return Err(ReadError::Newer { found, path: path() });
    }
    let found = tag(header, 12);
    if found != kind {
        return Err(ReadError::Kind { found, expected: kind, path: path() });
    }
    Ok(())
}

/// The directory's entries, each id once, and the offset at which the directory begins.
fn directory(bytes: &[u8], path: &Path) -> Result<(Vec<Entry>, u64), ReadError> {
    let damaged = |offset: usize, expected| ReadError::Damaged {
        offset: offset as u64,
        expected,
        path: path.to_owned(),
    };
    let at = bytes.len().saturating_sub(FOOTER);
    if at < HEADER || !bytes.ends_with(&END_MAGIC) {
        return Err(ReadError::Truncated { offset: at as u64, path: path.to_owned() });
    }
    let footer = &bytes[at..];
    if checksum(&footer[..20]) != word(footer, 20) {
        return Err(damaged(at, "a footer that matches its checksum"));
    }
    let (begin, count) = (long(footer, 0), u64::from(word(footer, 8)));
    if begin < HEADER as u64 || begin.checked_add(count * ENTRY as u64) != Some(at as u64) {
        return Err(damaged(at, "a footer that points at the directory before it"));
    }
    let directory = &bytes[begin as usize..at];
    if checksum(directory) != word(footer, 12) {
        return Err(damaged(begin as usize, "a directory that matches its checksum"));
    }
    let entries: Vec<Entry> = directory
        .chunks_exact(ENTRY)
        .map(|entry| Entry {
            id: SectionId { tag: tag(entry, 0), number: word(entry, 4) },
            offset: long(entry, 8),
            length: long(entry, 16),
            checksum: word(entry, 24),
        })
        .collect();
    let mut ids: Vec<SectionId> = entries.iter().map(|entry| entry.id).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(damaged(begin as usize, "a directory that lists each section once"));
    }
    Ok((entries, begin))
}

// The callers have checked that the bytes are there.

pub(crate) fn tag(bytes: &[u8], at: usize) -> Tag {
    Tag(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

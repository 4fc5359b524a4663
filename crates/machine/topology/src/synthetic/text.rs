//! The text of a description to its levels.
//!
//! Owns the grammar. Places in the text stay with each level, so that later errors can point at
//! them.

use std::ops::Range;

use crate::objects::ObjectKind;

use super::{MOST_LEVELS, SyntheticError};

/// A level of objects, or, where its kind is `NUMANode`, nodes beside the next level that has room
/// for them.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) kind: ObjectKind,
    /// All objects of the level.
    pub(super) width: u64,
    pub(super) at: Range<usize>,
    pub(super) attributes: Attributes,
    /// A group's number as the text has it.
    pub(super) group: Option<u32>,
    /// Nodes beside each object of the level.
    pub(super) attached: Vec<(Range<usize>, Attributes)>,
}

/// Attributes in parentheses.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    /// A cache's or node's bytes; 0 where the text has none.
    pub(super) size: u64,
    /// Bytes of a cache before the node; 0 for none.
    pub(super) side_cache: u64,
    /// Text and place of the operating system's numbers.
    pub(super) indexes: Option<(Range<usize>, String)>,
}

/// Reader of a text.
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, word: &str) -> bool {
        let is_there = self.rest().starts_with(word);
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    /// Takes characters while `is_wanted` is true.
    fn take(&mut self, is_wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !is_wanted(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn wrong<T>(&self, expected: &str) -> Result<T, SyntheticError> {
        let word = self.rest().find(char::is_whitespace).unwrap_or(self.rest().len());
        let blank = self.rest().chars().next().map_or(0, char::len_utf8);
        self.wrong_at(self.at..self.at + word.max(blank), expected)
    }

    pub(super) fn wrong_at<T>(
        &self,
        at: Range<usize>,
        expected: &str,
    ) -> Result<T, SyntheticError> {
        let found = self.text.get(at.clone()).filter(|found| !found.is_empty());
        let found = found.map_or_else(
            || "the end".to_owned(),
            |found| {
                if found.trim().is_empty() {
                    "a blank".to_owned()
                } else {
                    format!("`{}`", found.chars().take(40).collect::<String>())
                }
            },
        );
        Err(SyntheticError { at, expected: expected.to_owned(), found })
    }
}

/// A text as it was read: levels from the machine down to the PUs, some without their own kind.
pub(super) struct Parsed<'t> {
    /// Reader of the text, for later errors.
    pub(super) cursor: Cursor<'t>,
    pub(super) levels: Vec<Level>,
    /// True for each level whose kind the text names.
    pub(super) is_named: Vec<bool>,
}

/// Reads the levels of a text.
pub(super) fn parse(text: &str) -> Result<Parsed<'_>, SyntheticError> {
    let mut cursor = Cursor { text, at: 0 };
    let mut levels = vec![Level {
        kind: ObjectKind::Machine,
        width: 1,
        at: 0..0,
        attributes: Attributes::default(),
        group: None,
        attached: Vec::new(),
    }];
    let mut is_named = vec![true];
    cursor.blanks();
    if cursor.eat("(") {
        levels[0].attributes = attributes(&mut cursor, ObjectKind::Machine)?;
    }
    loop {
        cursor.blanks();
        if cursor.rest().is_empty() {
            break;
        }
        let count = levels.iter().map(|level| 1 + level.attached.len()).sum::<usize>();
        if count > MOST_LEVELS {
            return cursor.wrong(&format!("at most {MOST_LEVELS} levels"));
        }
        let start = cursor.at;
        if cursor.eat("[") {
            let attached = attached(&mut cursor)?;
            if let Some(level) = levels.last_mut() {
                level.attached.push((start..cursor.at, attached));
            }
            continue;
        }
        let (kind, group) = named_kind(&mut cursor)?;
        let above = levels.last().map_or(1, |level| level.width);
        let width = above.saturating_mul(number(&mut cursor)?);
        let end = cursor.at;
        let known = kind.unwrap_or(ObjectKind::Pu);
        let attributes =
            if cursor.eat("(") { attributes(&mut cursor, known)? } else { Attributes::default() };
        levels.push(Level {
            kind: known,
            width,
            at: start..end,
            attributes,
            group,
            attached: Vec::new(),
        });
        is_named.push(kind.is_some());
    }
    Ok(Parsed { cursor, levels, is_named })
}

/// `pack:`; `None` before a number.
fn named_kind(
    cursor: &mut Cursor<'_>,
) -> Result<(Option<ObjectKind>, Option<u32>), SyntheticError> {
    if cursor.rest().starts_with(|c: char| c.is_ascii_digit()) {
        return Ok((None, None));
    }
    let start = cursor.at;
    let word = cursor.take(|c| c.is_ascii_alphanumeric());
    let lower = word.to_ascii_lowercase();
    let group = lower.strip_prefix("group").and_then(|digits| digits.parse().ok());
    let kind = match lower.as_str() {
        "tile" | "module" => Some(ObjectKind::Group),
        _ if group.is_some() => Some(ObjectKind::Group),
        _ => ObjectKind::from_name(word),
    };
    let may_be = |kind: &ObjectKind| {
        kind.is_normal() && *kind != ObjectKind::Machine || *kind == ObjectKind::NumaNode
    };
    let Some(kind) = kind.filter(may_be) else {
        let end =
            cursor.at.max(start + cursor.text[start..].chars().next().map_or(0, char::len_utf8));
        return cursor.wrong_at(
            start..end,
            "a kind of object such as `pack`, `numa`, `l3`, `core` or `pu`, or a number",
        );
    };
    if !cursor.eat(":") {
        return cursor.wrong("`:` and a number after the kind");
    }
    Ok((Some(kind), group))
}

/// Number of objects in each object of the level before.
fn number(cursor: &mut Cursor<'_>) -> Result<u64, SyntheticError> {
    let start = cursor.at;
    let word = cursor.take(|c| c.is_ascii_alphanumeric());
    let read = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    match read {
        Ok(number) if (1..=u64::from(u32::MAX)).contains(&number) => Ok(number),
        _ if word.is_empty() => cursor.wrong("how many objects there are"),
        _ => cursor.wrong_at(start..cursor.at, "a number of objects from 1 to 4294967295"),
    }
}

/// The rest of `[numa(memory=1GB)]`.
fn attached(cursor: &mut Cursor<'_>) -> Result<Attributes, SyntheticError> {
    let start = cursor.at;
    let word = cursor.take(|c| c.is_ascii_alphanumeric());
    if ObjectKind::from_name(word) != Some(ObjectKind::NumaNode) {
        let end = cursor.at;
        return cursor.wrong_at(start..end, "`numa`: nothing else can stand beside a level");
    }
    let attributes = if cursor.eat("(") {
        attributes(cursor, ObjectKind::NumaNode)?
    } else {
        Attributes::default()
    };
    if cursor.eat("]") { Ok(attributes) } else { cursor.wrong("`]`") }
}

/// The rest of `(memory=16GB indexes=0,1)`.
fn attributes(cursor: &mut Cursor<'_>, kind: ObjectKind) -> Result<Attributes, SyntheticError> {
    let mut all = Attributes::default();
    loop {
        cursor.blanks();
        if cursor.eat(")") {
            return Ok(all);
        }
        if kind.is_cache() && cursor.eat("size=") || !kind.is_cache() && cursor.eat("memory=") {
            all.size = bytes(cursor)?;
        } else if cursor.eat("memorysidecachesize=") {
            all.side_cache = bytes(cursor)?;
        } else if cursor.eat("indexes=") {
            let start = cursor.at;
            let word = cursor.take(|c| !c.is_whitespace() && c != ')');
            all.indexes = Some((start..cursor.at, word.to_owned()));
        } else {
            let size = if kind.is_cache() { "size" } else { "memory" };
            return cursor.wrong(&format!("`{size}=`, `memorysidecachesize=`, `indexes=` or `)`"));
        }
        if !cursor.rest().starts_with(|c: char| c.is_whitespace() || c == ')') {
            return cursor.wrong("a blank or `)`");
        }
    }
}

/// `16GB`, `16GiB`, `1024`.
fn bytes(cursor: &mut Cursor<'_>) -> Result<u64, SyntheticError> {
    let start = cursor.at;
    let digits = cursor.take(|c| c.is_ascii_digit());
    let unit = cursor.take(|c| c.is_ascii_alphabetic()).to_ascii_lowercase();
    let scale = match unit.as_str() {
        "" => Some(1),
        "kb" => Some(1_000),
        "mb" => Some(1_000_000),
        "gb" => Some(1_000_000_000),
        "tb" => Some(1_000_000_000_000_u64),
        "kib" => Some(1 << 10),
        "mib" => Some(1 << 20),
        "gib" => Some(1 << 30),
        "tib" => Some(1_u64 << 40),
        _ => None,
    };
    let size =
        digits.parse::<u64>().ok().zip(scale).and_then(|(size, scale)| size.checked_mul(scale));
    match size {
        Some(size) => Ok(size),
        None => cursor.wrong_at(start..cursor.at.max(start), "bytes such as `16GiB` or `16GB`"),
    }
}

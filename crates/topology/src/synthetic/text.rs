//! The text of a description to its levels.
//!
//! Owns the grammar, the defaults of levels without a name, and which levels may stand together. Places in the text stay with
//! each level, so that what is found wrong later can be pointed at.

use std::ops::Range;

use crate::objects::ObjectKind;

use super::{MOST_LEVELS, SyntheticError};

/// Bytes of a node of a level that does not say.
const DEFAULT_MEMORY: u64 = 1 << 30;

/// A level of objects, or, where its kind is NUMANode, nodes beside the next level that has room for them.
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

/// What stands in parentheses.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    /// A cache's or node's bytes; 0 where the text does not say.
    pub(super) size: u64,
    /// Bytes of a cache before the node; 0 for none.
    pub(super) side_cache: u64,
    /// Text and place of the operating system's numbers.
    pub(super) indexes: Option<(Range<usize>, String)>,
}

/// Reads a text.
struct Cursor<'t> {
    text: &'t str,
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

    /// Takes characters while they are of a sort.
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

    fn wrong_at<T>(&self, at: Range<usize>, expected: &str) -> Result<T, SyntheticError> {
        let found = self.text.get(at.clone()).filter(|found| !found.is_empty());
        let found = found.map_or_else(
            || "the end".to_owned(),
            |found| match found.trim().is_empty() {
                true => "a blank".to_owned(),
                false => format!("`{}`", found.chars().take(40).collect::<String>()),
            },
        );
        Err(SyntheticError { at, expected: expected.to_owned(), found })
    }
}

/// Levels from the machine down to the PUs, all with kinds.
pub(super) fn parse(text: &str) -> Result<Vec<Level>, SyntheticError> {
    let mut cursor = Cursor { text, at: 0 };
    let mut levels = vec![Level {
        kind: ObjectKind::Machine,
        width: 1,
        at: 0..0,
        attributes: Attributes::default(),
        group: None,
        attached: Vec::new(),
    }];
    // Whether the text names each level's kind.
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
        let attributes = match cursor.eat("(") {
            true => attributes(&mut cursor, known)?,
            false => Attributes::default(),
        };
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
    settle(&cursor, &mut levels, &is_named)?;
    Ok(levels)
}

/// `pack:`; nothing before a number.
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

/// How many in each object of the level before.
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
    let attributes = match cursor.eat("(") {
        true => attributes(cursor, ObjectKind::NumaNode)?,
        false => Attributes::default(),
    };
    match cursor.eat("]") {
        true => Ok(attributes),
        false => cursor.wrong("`]`"),
    }
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

/// Checks which levels there are, and names those without a name.
fn settle(
    cursor: &Cursor<'_>,
    levels: &mut [Level],
    is_named: &[bool],
) -> Result<(), SyntheticError> {
    let last = levels.len() - 1;
    let end = cursor.text.len()..cursor.text.len();
    if last == 0 {
        return cursor.wrong_at(end, "levels of objects such as `pack:2 core:4 pu:2`");
    }
    if levels[last].kind != ObjectKind::Pu {
        return cursor.wrong_at(levels[last].at.clone(), "PUs as the last level");
    }
    let has_attached = levels.iter().any(|level| !level.attached.is_empty());
    // All levels between machine and PUs are named, or none is.
    let between = 1..last;
    if let Some(first) = between.clone().find(|&at| is_named[at] != is_named[1]) {
        let expected = match is_named[1] {
            true => "a level with a kind, as those before it",
            false => "a level without a kind, as those before it",
        };
        return cursor.wrong_at(levels[first].at.clone(), expected);
    }
    if last > 1 && !is_named[1] {
        for (level, kind) in levels[between].iter_mut().zip(default_kinds(last - 1, has_attached)) {
            level.kind = kind;
        }
    }
    use ObjectKind as K;
    for kind in [K::Pu, K::Package, K::Die, K::Core, K::NumaNode] {
        if let Some(second) = levels.iter().filter(|level| level.kind == kind).nth(1) {
            return cursor.wrong_at(second.at.clone(), &format!("one level of {kind}"));
        }
    }
    let node_level = levels.iter().find(|level| level.kind == K::NumaNode);
    let attached = levels.iter().find_map(|level| level.attached.first());
    let has_nodes = node_level.is_some() || has_attached;
    if let (Some(_), Some((at, _))) = (node_level, attached) {
        return cursor.wrong_at(at.clone(), "NUMA nodes either as a level or beside levels");
    }
    for level in levels.iter_mut() {
        let is_node = level.kind == K::NumaNode;
        if is_node && level.attributes.size == 0 {
            level.attributes.size = DEFAULT_MEMORY;
        }
    }
    if !has_nodes {
        let node = Attributes { size: DEFAULT_MEMORY, ..Attributes::default() };
        levels[0].attached.push((0..0, node));
    }
    Ok(())
}

/// Kinds of levels without names: groups, package, nodes, caches (L2, then L1, L3 and L1i where there are more), core.
fn default_kinds(count: usize, has_attached: bool) -> Vec<ObjectKind> {
    use ObjectKind as K;
    let mut left = count;
    let mut need = |most: usize| {
        let taken = left.min(most);
        left -= taken;
        taken
    };
    let nodes = need(usize::from(!has_attached));
    let (packages, cores, caches) = (need(1), need(1), need(4));
    let mut kinds = vec![K::Group; need(usize::MAX)];
    kinds.extend(std::iter::repeat_n(K::Package, packages));
    kinds.extend(std::iter::repeat_n(K::NumaNode, nodes));
    kinds.extend(match caches {
        0 => &[][..],
        1 => &[K::L2Cache],
        2 => &[K::L2Cache, K::L1Cache],
        3 => &[K::L3Cache, K::L2Cache, K::L1Cache],
        _ => &[K::L3Cache, K::L2Cache, K::L1Cache, K::L1ICache],
    });
    kinds.extend(std::iter::repeat_n(K::Core, cores));
    kinds
}

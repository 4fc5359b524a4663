//! Objects by words, in the syntax of `hwloc-calc`.
//!
//! Owns the language: `L3:2`, `pu:0-3`, `core:all`, `pu:even`, `PU P#5`, `pu:os=5`,
//! `package:1.core:0-2`, `group1:0`, `os=eth0`, `pci=0000:01:00.0`, `depth 4`, `4:0-1`, `all`.
//! Several words name the union of their objects. Numbers are logical by default. It refuses words
//! without an object, and suggests the kind that was probably meant.

mod nearest;
mod numbers;

use std::collections::BTreeSet;

use crate::levels;
use crate::objects::{Attributes, Object, ObjectId, ObjectKind, Topology};

use nearest::unknown_kind;
use numbers::{Among, index_of};

/// Errors of words without an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// An unknown kind.
    #[error(
        "expected a kind of object such as `L3`, `core` or `pu`, found `{found}`{}",
        near(.nearest.as_ref())
    )]
    Kind {
        /// The word.
        found: String,
        /// The kind that was probably meant.
        nearest: Option<ObjectKind>,
    },
    /// The text after the kind is no number.
    #[error(
        "expected numbers such as `2`, `0-3`, `all`, `even` or `P#5` after `{kind}`, found `{found}`"
    )]
    Numbers {
        /// The kind as it was written.
        kind: String,
        /// The text after it.
        found: String,
    },
    /// No such object here.
    #[error("expected {expected}, found `{found}`")]
    Absent {
        /// The available ones.
        expected: String,
        /// The requested object.
        found: String,
    },
}

fn near(kind: Option<&ObjectKind>) -> String {
    kind.map(|kind| format!("; did you mean `{}`?", kind.short())).unwrap_or_default()
}

/// The objects that a text names, in the order of the tree, each once.
pub fn find(topology: &Topology, text: &str) -> Result<Vec<ObjectId>, NameError> {
    let finder = Finder { topology, levels: levels::levels(topology) };
    let mut found = BTreeSet::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let mut word = word.to_owned();
        // `PU P#5`, `OS eth0` and `depth 4` are one name.
        if let Some(next) = words.peek() {
            let lower = word.to_ascii_lowercase();
            let is_number = index_of(next).is_some();
            let kind = ObjectKind::from_name(&word);
            let is_device = kind.is_some_and(|kind| !kind.is_normal() && !kind.is_memory())
                && finder.device(kind, next).is_some();
            if lower == "depth" {
                (*next).clone_into(&mut word);
                words.next();
            } else if (is_number && !word.contains([':', '='])) || is_device {
                word = format!("{word}:{next}");
                words.next();
            }
        }
        found.extend(finder.word(&word)?);
    }
    if found.is_empty() {
        let expected = "words such as `L3:2` or `pu:0-3`".to_owned();
        return Err(NameError::Absent { expected, found: text.trim().chars().take(80).collect() });
    }
    Ok(found.into_iter().collect())
}

struct Finder<'t> {
    topology: &'t Topology,
    levels: Vec<Vec<ObjectId>>,
}

impl Finder<'_> {
    fn word(&self, word: &str) -> Result<Vec<ObjectId>, NameError> {
        if word.eq_ignore_ascii_case("all") || word.eq_ignore_ascii_case("root") {
            return Ok(self.topology.root().into_iter().collect());
        }
        if let Some((kind, name)) = word.split_once('=').filter(|(kind, _)| !kind.contains(':')) {
            let kind = match kind.to_ascii_lowercase().as_str() {
                "os" | "osdev" => ObjectKind::OsDevice,
                "pci" | "pcidev" => ObjectKind::PciDevice,
                "misc" => ObjectKind::Misc,
                _ => return Err(unknown_kind(kind)),
            };
            return match self.device(Some(kind), name) {
                Some(id) => Ok(vec![id]),
                None => Err(self.absent_device(kind, name)),
            };
        }
        let mut within: Option<Vec<ObjectId>> = None;
        for part in steps(word) {
            let (said, numbers) = part.split_once(':').unwrap_or((part, "all"));
            let among = Among { said, objects: self.among(said)? };
            within = Some(match within {
                None => self.select(&among, numbers)?,
                Some(outer) => {
                    let mut inner = Vec::new();
                    for outer in outer {
                        let objects =
                            among.objects.iter().copied().filter(|&id| self.is_in(id, outer));
                        inner.extend(
                            self.select(&Among { said, objects: objects.collect() }, numbers)?,
                        );
                    }
                    inner
                }
            });
        }
        Ok(within.unwrap_or_default())
    }

    /// All objects of a kind, a group's level or a depth.
    fn among(&self, said: &str) -> Result<Vec<ObjectId>, NameError> {
        if let Ok(depth) = said.parse::<usize>() {
            return self.levels.get(depth).cloned().ok_or_else(|| NameError::Absent {
                expected: format!("a depth from 0 to {}", self.levels.len().saturating_sub(1)),
                found: said.to_owned(),
            });
        }
        let group = said.get(..5).filter(|start| start.eq_ignore_ascii_case("group"));
        if let Some(Ok(depth)) = group.map(|start| said[start.len()..].parse::<usize>()) {
            let is_group = |level: &&Vec<ObjectId>| {
                level.first().is_some_and(|&id| self.topology.get(id).kind == ObjectKind::Group)
            };
            return self.levels.iter().filter(is_group).nth(depth).cloned().ok_or_else(|| {
                let count = self.levels.iter().filter(is_group).count();
                NameError::Absent {
                    expected: format!("one of {count} levels of groups"),
                    found: said.to_owned(),
                }
            });
        }
        let kind = ObjectKind::from_name(said).ok_or_else(|| unknown_kind(said))?;
        let mut objects: Vec<ObjectId> = self.topology.of_kind(kind).map(|(id, _)| id).collect();
        if !kind.is_normal() {
            // hwloc's order of memory and devices is not that of the tree.
            objects.sort_by_key(|&id| self.topology.get(id).logical_index);
        }
        if objects.is_empty() {
            Err(NameError::Absent {
                expected: format!("a kind that is here ({})", self.kinds()),
                found: said.to_owned(),
            })
        } else {
            Ok(objects)
        }
    }

    fn kinds(&self) -> String {
        let names: Vec<&str> =
            self.topology.counts().iter().map(|(kind, _)| kind.short()).collect();
        names.join(", ")
    }

    /// The objects with a device's name or with numbers.
    fn select(&self, among: &Among<'_>, said: &str) -> Result<Vec<ObjectId>, NameError> {
        let kind = among.objects.first().map(|&id| self.topology.get(id).kind);
        match self.device(kind, said).filter(|id| among.objects.contains(id)) {
            Some(id) => Ok(vec![id]),
            None => numbers::select(self.topology, among, said),
        }
    }

    /// True if an object is in another: below it, or with PUs of it only.
    fn is_in(&self, id: ObjectId, outer: ObjectId) -> bool {
        let (object, whole) = (self.topology.get(id), self.topology.get(outer));
        if id == outer {
            return false;
        }
        if object.cpuset.is_empty() {
            self.topology.ancestors(id).contains(&outer)
        } else {
            object.cpuset.is_subset(&whole.cpuset)
        }
    }

    /// A device or misc object by its name or place on the bus.
    fn device(&self, kind: Option<ObjectKind>, name: &str) -> Option<ObjectId> {
        let kind = kind.filter(|kind| !kind.is_normal() && !kind.is_memory())?;
        let is_it = |object: &Object| {
            object.name.as_deref() == Some(name)
                || bus_id(object).is_some_and(|id| is_bus_id(&id, name))
        };
        self.topology.of_kind(kind).find(|(_, object)| is_it(object)).map(|(id, _)| id)
    }

    fn absent_device(&self, kind: ObjectKind, name: &str) -> NameError {
        let names: Vec<String> = self
            .topology
            .of_kind(kind)
            .filter_map(|(_, object)| object.name.clone().or_else(|| bus_id(object)))
            .take(8)
            .collect();
        let expected = if names.is_empty() {
            format!("a topology with {kind} objects")
        } else {
            format!("the name of a {kind} such as {}", names.join(", "))
        };
        NameError::Absent { expected, found: name.to_owned() }
    }
}

/// Steps of `package:1.core:2`; the dots of `pci:0000:01:00.0` stand before digits, as no kind's
/// name does.
fn steps(word: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let mut start = 0;
    for (at, _) in word.match_indices('.') {
        if word[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            steps.push(&word[start..at]);
            start = at + 1;
        }
    }
    steps.push(&word[start..]);
    steps
}

fn bus_id(object: &Object) -> Option<String> {
    let (Attributes::Pci(pci) | Attributes::Bridge { pci: Some(pci), .. }) = &object.attributes
    else {
        return None;
    };
    let (domain, bus, device, function) = pci.place;
    Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}

/// The domain 0000 may be left out.
fn is_bus_id(id: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    id == name || id.strip_prefix("0000:") == Some(name.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::synthetic;

    fn machine() -> Topology {
        synthetic::parse("pack:2 [numa] l3:2 core:2 pu:2(indexes=core)").unwrap()
    }

    fn labels(words: &str) -> String {
        let topology = machine();
        match find(&topology, words) {
            Ok(found) => found.iter().map(|&id| topology.label(id)).collect::<Vec<_>>().join(", "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn words_name_objects() {
        let words = [
            "L3:2",
            "pu:0-3",
            "pu:14-",
            "pu:15:2",
            "PU P#5",
            "pu:5",
            "pu:os=5",
            "pu:P#5,P#6",
            "core:odd",
            "numa",
            "package:1.core:0-1",
            "package:all.l3:1",
            "depth 1",
            "2",
            "3:0",
            "all",
            "Socket:0 L3:3",
            "L3 L#1",
            "packge:1",
            "L3:4",
            "L3:x",
            "pu:7-3",
            "L2:0",
            "depth 9",
            "os=eth0",
            "node:5",
            "group0",
            "",
            "L7",
            "qqqqqqq",
        ];
        let shown: Vec<String> =
            words.iter().map(|words| format!("{words}: {}", labels(words))).collect();
        insta::assert_snapshot!(shown.join("\n"));
    }

    proptest! {
        #[test]
        fn any_words_are_objects_or_refused(words in "[a-zA-Z0-9 :.,#=é-]{0,24}") {
            let topology = machine();
            if let Ok(found) = find(&topology, &words) {
                prop_assert!(found.iter().all(|id| (id.0 as usize) < topology.objects.len()));
            }
        }
    }
}

//! Distances between objects and attributes of memory.
//!
//! Owns these elements of versions 2 and 3. They name objects by number, so they are read raw and
//! resolved when the tree is complete; one with an unknown object, or with a wrong count of values,
//! is left out with a gap.

use std::collections::BTreeMap;

use crate::objects::{Distances, MemoryAttribute, ObjectId, ObjectKind, Topology};

use super::draft::Draft;
use super::fields::{number, set, skip_unknown};
use super::raw::{Initiator, Name, RawAttribute, RawDistances, RawValue};
use super::scan::{Element, Scanner, Token};
use super::{Faults, XmlError, cut};

pub(super) fn read_distances(
    scan: &mut Scanner<'_>,
    element: &Element<'_>,
    draft: &mut Draft,
) -> Result<(), XmlError> {
    let is_mixed = element.name() == "distances2hetero";
    let text = |name| element.attribute(scan.text, name);
    let kind_of_objects = text("type")?.and_then(|name| ObjectKind::from_name(&name));
    let by_os = text("indexing")?.as_deref() == Some("os");
    let count = number(scan, element, "nbobjs")?;
    let mut raw = RawDistances {
        at: element.at,
        name: text("name")?.unwrap_or_default(),
        kind: number(scan, element, "kind")?.unwrap_or(0),
        names: Vec::new(),
        values: Vec::new(),
    };
    let mut is_whole = is_mixed || kind_of_objects.is_some();
    loop {
        match scan.next()? {
            Token::Open(part) => {
                let is_names = part.name() == "indexes";
                if !is_names && part.name() != "u64values" {
                    skip_unknown(scan, &part, &mut draft.faults)?;
                    continue;
                }
                let text = read_text(scan)?;
                for word in text.split_ascii_whitespace() {
                    let (kind, digits) = match word.split_once(':') {
                        Some((kind, digits)) if is_names => (ObjectKind::from_name(kind), digits),
                        _ => (kind_of_objects, word),
                    };
                    let Ok(number) = digits.parse::<u64>() else {
                        is_whole = false;
                        continue;
                    };
                    match (is_names, kind) {
                        (false, _) => raw.values.push(number),
                        (true, Some(kind)) if by_os && !is_mixed => {
                            raw.names.push(Name::Os(kind, number));
                        }
                        (true, _) => raw.names.push(Name::Unique(number)),
                    }
                }
            }
            Token::Text(_) => {}
            Token::Close | Token::End => break,
        }
    }
    let names = raw.names.len();
    let is_square = names.checked_mul(names) == Some(raw.values.len());
    if is_whole && is_square && names > 0 && raw.kind > 0 && count == Some(names as u64) {
        draft.raw_distances.push(raw);
    } else {
        let detail = format!(
            "distances of kind {} between {} objects have {names} indexes and {} values",
            raw.kind,
            count.map_or_else(|| "an unknown number of".to_owned(), |count| count.to_string()),
            raw.values.len()
        );
        draft.faults.damaged(scan.line(element.at), &detail);
    }
    Ok(())
}

/// The text in the element that was opened last; elements in it are skipped.
fn read_text(scan: &mut Scanner<'_>) -> Result<String, XmlError> {
    let mut all = String::new();
    loop {
        match scan.next()? {
            Token::Text(text) => all.push_str(&text),
            Token::Open(_) => scan.skip()?,
            Token::Close | Token::End => return Ok(all),
        }
    }
}

pub(super) fn read_attribute(
    scan: &mut Scanner<'_>,
    element: &Element<'_>,
    draft: &mut Draft,
) -> Result<(), XmlError> {
    let mut raw = RawAttribute {
        name: element.attribute(scan.text, "name")?.unwrap_or_default(),
        flags: number(scan, element, "flags")?.unwrap_or(0),
        values: Vec::new(),
    };
    loop {
        match scan.next()? {
            Token::Open(value) if value.name() == "memattr_value" => {
                let initiator = match set(scan, &value, "initiator_cpuset")? {
                    Some(set) => Initiator::Set(set),
                    None => named(scan, &value, "initiator_obj")?
                        .map_or(Initiator::None, Initiator::Object),
                };
                raw.values.push(RawValue {
                    at: value.at,
                    target: named(scan, &value, "target_obj")?,
                    initiator,
                    value: number(scan, &value, "value")?,
                });
                scan.skip()?;
            }
            Token::Open(other) => skip_unknown(scan, &other, &mut draft.faults)?,
            Token::Text(_) => {}
            Token::Close | Token::End => break,
        }
    }
    draft.raw_attributes.push(raw);
    Ok(())
}

/// An object that attributes name: `target_obj_gp_index`, or `target_obj_os_index` with
/// `target_obj_type`.
fn named(scan: &Scanner<'_>, element: &Element<'_>, what: &str) -> Result<Option<Name>, XmlError> {
    if let Some(unique) = number(scan, element, &format!("{what}_gp_index"))? {
        return Ok(Some(Name::Unique(unique)));
    }
    let kind = element.attribute(scan.text, &format!("{what}_type"))?;
    let os = number(scan, element, &format!("{what}_os_index"))?;
    Ok(kind
        .and_then(|kind| ObjectKind::from_name(&kind))
        .zip(os)
        .map(|(kind, os)| Name::Os(kind, os)))
}

/// Resolves the objects of distances and of attributes of memory.
pub(super) fn resolve(
    topology: &mut Topology,
    distances: Vec<RawDistances>,
    attributes: Vec<RawAttribute>,
    line: &impl Fn(usize) -> usize,
    faults: &mut Faults,
) {
    if distances.is_empty() && attributes.is_empty() {
        return;
    }
    let (mut unique, mut by_os) = (BTreeMap::new(), BTreeMap::new());
    for (id, object) in topology.iter() {
        if let Some(number) = object.gp_index {
            unique.entry(number).or_insert(id);
        }
        if let Some(number) = object.os_index {
            by_os.entry((object.kind, u64::from(number))).or_insert(id);
        }
    }
    let find = |name: Name| -> Option<ObjectId> {
        match name {
            Name::Unique(number) => unique.get(&number).copied(),
            Name::Os(kind, number) => by_os.get(&(kind, number)).copied(),
        }
    };
    for raw in distances {
        let objects: Option<Vec<_>> = raw.names.iter().copied().map(find).collect();
        let Some(objects) = objects else {
            let missing = raw.names.iter().filter(|&&name| find(name).is_none()).count();
            let detail = format!("distances name {missing} objects that are not there");
            faults.damaged(line(raw.at), &detail);
            continue;
        };
        let (name, kind, values) = (raw.name, raw.kind, raw.values);
        topology.distances.push(Distances { name, kind, objects, values });
    }
    for raw in attributes {
        let mut values = Vec::new();
        for read in raw.values {
            let initiator = match read.initiator {
                Initiator::None => Some(None),
                Initiator::Set(set) => Some(Some(set)),
                Initiator::Object(name) => {
                    find(name).map(|id| Some(topology.get(id).cpuset.clone()))
                }
            };
            if let (Some(target), Some(initiator), Some(value)) =
                (read.target.and_then(find), initiator, read.value)
            {
                values.push((target, initiator, value));
            } else {
                let detail = format!(
                    "a value of memory's {} lacks its node, initiator or number",
                    cut(&raw.name)
                );
                faults.damaged(line(read.at), &detail);
            }
        }
        topology.memory_attributes.push(MemoryAttribute {
            name: raw.name,
            flags: raw.flags,
            values,
        });
    }
}

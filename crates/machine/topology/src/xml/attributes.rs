//! Attributes of `<object>`: names and texts to an [`Object`].
//!
//! Owns the names of all versions. Invalid sets are errors, because the tree rests on them; an
//! invalid number is a gap, and so is an unknown attribute.

use std::str::FromStr;

use talea_model::GapKind;

use crate::cpuset::CpuSet;
use crate::objects::{Attributes, Object, ObjectKind, Pci};

use super::devices::{bus_id, buses, pci_type};
use super::kinds::{DIE, cache_kind, kind_of, level_of};
use super::scan::{Element, Scanner};
use super::{Faults, XmlError, cut};

/// Bits of the sets that an object has of its own; the others are derived.
pub(super) const HAS_CPUSET: u8 = 1;
pub(super) const HAS_COMPLETE_CPUSET: u8 = 2;
pub(super) const HAS_NODESET: u8 = 4;
pub(super) const HAS_COMPLETE_NODESET: u8 = 8;

/// The fact that a cache contains the data of those inside it; an attribute since version 3.
pub(super) const INCLUSIVE: &str = "Inclusive";

/// Devices' uses by version 2's number.
pub(super) const USES_BY_NUMBER: [&str; 7] =
    ["Block", "GPU", "Network", "OpenFabrics", "DMA", "CoProc", "Memory"];
/// Devices' uses by version 3's bit.
pub(super) const USES_BY_BIT: [&str; 7] =
    ["Block", "Memory", "GPU", "CoProc", "Network", "OpenFabrics", "DMA"];

/// An object and further data of its attributes.
pub(super) struct Read {
    pub(super) object: Object,
    /// The sets that it has of its own.
    pub(super) has: u8,
    /// Memory of the machine where there are no NUMA nodes, in bytes.
    pub(super) machine_memory: Option<u64>,
    /// PUs and NUMA nodes that may be used, from the root.
    pub(super) allowed: [Option<CpuSet>; 2],
}

/// Reads the attributes of an object.
pub(super) fn read(
    scan: &Scanner<'_>,
    element: &Element<'_>,
    version: u32,
    is_root: bool,
    faults: &mut Faults,
) -> Result<Read, XmlError> {
    let line = || scan.line(element.at);
    let Some(name) = element.attribute(scan.text, "type")? else {
        return Err(XmlError::unexpected(line(), "`type` of an object", "none"));
    };
    let (kind, group_kind) = kind_of(&name, is_root).ok_or_else(|| {
        XmlError::unexpected(line(), "a type of object such as `Package`", &format!("`{name}`"))
    })?;
    let mut parts = Parts { kind, group_kind, ..Parts::default() };
    let mut object = Object::new(kind.unwrap_or(ObjectKind::L2Cache));
    let mut has = 0;
    let mut allowed = [None, None];
    for attribute in element.attributes(scan.text) {
        let (key, value) = attribute?;
        let read = || {
            finite_set(&value).map_err(|_| {
                let expected = format!("a set such as `0x0000000f` in `{key}`");
                XmlError::unexpected(line(), &expected, &format!("`{value}`"))
            })
        };
        let mut set = |flag: u8| -> Result<CpuSet, XmlError> {
            let Some(set) = read()? else { return Ok(CpuSet::default()) };
            has |= flag;
            Ok(set)
        };
        match key {
            "type" => {}
            "cpuset" => object.cpuset = set(HAS_CPUSET)?,
            "complete_cpuset" => object.complete_cpuset = set(HAS_COMPLETE_CPUSET)?,
            "nodeset" => object.nodeset = set(HAS_NODESET)?,
            "complete_nodeset" => object.complete_nodeset = set(HAS_COMPLETE_NODESET)?,
            // Only the root's are relevant: the others repeat them.
            "allowed_cpuset" | "allowed_nodeset" if !is_root => {}
            "allowed_cpuset" => allowed[0] = read()?,
            "allowed_nodeset" => allowed[1] = read()?,
            // hwloc 2 no longer distinguishes PUs that are offline from missing ones.
            "online_cpuset" if version == 1 => {}
            // Before version 3 it was a fact like others.
            "cache_inclusive" if parts.is_cache() => {
                object.infos.push((INCLUSIVE.to_owned(), value.into_owned()));
            }
            "name" => object.name = Some(value.into_owned()).filter(|name| !name.is_empty()),
            "subtype" => object.subtype = Some(value.into_owned()).filter(|word| !word.is_empty()),
            _ => {
                if !parts.take(&mut object, key, &value, version, is_root) {
                    note_untaken(key, &value, parts.is_known(key), line, faults);
                }
            }
        }
    }
    let machine_memory = parts.machine_memory;
    parts.finish(&mut object, version, line, faults)?;
    Ok(Read { object, has, machine_memory, allowed })
}

/// `None` where the set is infinite, which means all members that exist.
fn finite_set(text: &str) -> Result<Option<CpuSet>, crate::cpuset::NotASet> {
    if text.trim_start().starts_with("0xf...f") {
        return Ok(None);
    }
    CpuSet::from_mask(text).map(Some)
}

/// Attributes that form an [`Attributes`] when all are read.
#[derive(Default)]
struct Parts {
    kind: Option<ObjectKind>,
    group_kind: u32,
    subkind: u32,
    size: u64,
    depth: u32,
    line: u32,
    associativity: i32,
    cache_type: u32,
    memory: u64,
    machine_memory: Option<u64>,
    upstream: u32,
    buses: Option<(u32, u8, u8)>,
    pci: Pci,
    uses: Vec<String>,
}

impl Parts {
    fn is_cache(&self) -> bool {
        self.kind.is_none_or(|kind| kind.is_cache() || kind == ObjectKind::MemCache)
    }

    fn has_pci(&self) -> bool {
        matches!(self.kind, Some(ObjectKind::Bridge | ObjectKind::PciDevice))
    }

    /// True if this is an attribute of such an object, so that an invalid text is a fault.
    fn is_known(&self, key: &str) -> bool {
        let kind = self.kind;
        match key {
            "os_index" | "gp_index" | "id" => true,
            "cache_size" | "cache_linesize" | "cache_associativity" | "cache_type" | "depth" => {
                self.is_cache()
            }
            "local_memory" => kind == Some(ObjectKind::NumaNode),
            "kind" | "subkind" => kind == Some(ObjectKind::Group),
            "bridge_type" | "bridge_pci" => kind == Some(ObjectKind::Bridge),
            "pci_busid" | "pci_type" | "pci_link_speed" => self.has_pci(),
            "osdev_type" => kind == Some(ObjectKind::OsDevice),
            _ => false,
        }
    }

    /// Takes an attribute; true if it is valid.
    fn take(
        &mut self,
        object: &mut Object,
        key: &str,
        value: &str,
        version: u32,
        is_root: bool,
    ) -> bool {
        let kind = self.kind;
        let is = |wanted: ObjectKind| kind == Some(wanted);
        match key {
            "os_index" => match value.trim().parse::<u64>() {
                // hwloc writes the highest number for an absent one.
                Ok(number) if number == u64::from(u32::MAX) => true,
                Ok(number) => match u32::try_from(number) {
                    Ok(number) => {
                        object.os_index = Some(number);
                        true
                    }
                    Err(_) => false,
                },
                Err(_) => false,
            },
            "gp_index" => Self::gp_index(object, value),
            "id" => value.strip_prefix("obj").is_some_and(|number| Self::gp_index(object, number)),
            "cache_size" if self.is_cache() => put(&mut self.size, value),
            "cache_linesize" if self.is_cache() => put(&mut self.line, value),
            "cache_associativity" if self.is_cache() => put(&mut self.associativity, value),
            "cache_type" if self.is_cache() => put(&mut self.cache_type, value),
            "depth" if self.is_cache() => put(&mut self.depth, value),
            // It follows from the tree.
            "depth" if is(ObjectKind::Group) || is(ObjectKind::Bridge) => true,
            "local_memory" if is(ObjectKind::NumaNode) => put(&mut self.memory, value),
            "local_memory" if is_root => {
                let mut memory = 0;
                let taken = put(&mut memory, value);
                self.machine_memory = taken.then_some(memory);
                taken
            }
            "kind" if is(ObjectKind::Group) => put(&mut self.group_kind, value),
            "subkind" if is(ObjectKind::Group) => put(&mut self.subkind, value),
            // Groups are never merged here.
            "dont_merge" if is(ObjectKind::Group) => true,
            "bridge_type" if is(ObjectKind::Bridge) => {
                value.split_once('-').is_some_and(|(up, _)| put(&mut self.upstream, up))
            }
            "bridge_pci" if is(ObjectKind::Bridge) => {
                self.buses = buses(value);
                self.buses.is_some()
            }
            "pci_busid" if self.has_pci() => {
                bus_id(value).map(|place| self.pci.place = place).is_some()
            }
            "pci_type" if self.has_pci() => pci_type(&mut self.pci, value),
            "pci_link_speed" if self.has_pci() => {
                put(&mut self.pci.link_speed, value) && {
                    let is_speed = self.pci.link_speed.is_finite() && self.pci.link_speed >= 0.0;
                    self.pci.link_speed = if is_speed { self.pci.link_speed } else { 0.0 };
                    is_speed
                }
            }
            "osdev_type" if is(ObjectKind::OsDevice) => self.take_uses(value, version),
            _ => false,
        }
    }

    fn gp_index(object: &mut Object, text: &str) -> bool {
        // hwloc writes zero for an absent one.
        match text.parse() {
            Ok(number) => {
                object.gp_index = Some(number).filter(|&number| number > 0);
                true
            }
            Err(_) => false,
        }
    }

    fn take_uses(&mut self, value: &str, version: u32) -> bool {
        let mut number = 0_u64;
        if !put(&mut number, value) {
            return false;
        }
        if version >= 3 {
            let known = USES_BY_BIT.iter().enumerate().filter(|&(bit, _)| number >> bit & 1 == 1);
            self.uses = known.map(|(_, word)| (*word).to_owned()).collect();
            return number < 1 << USES_BY_BIT.len();
        }
        let word = usize::try_from(number).ok().and_then(|number| USES_BY_NUMBER.get(number));
        self.uses = word.into_iter().map(|word| (*word).to_owned()).collect();
        word.is_some()
    }

    /// Settles the kind and puts the parts into the object.
    fn finish(
        self,
        object: &mut Object,
        version: u32,
        line: impl Fn() -> usize,
        faults: &mut Faults,
    ) -> Result<(), XmlError> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => cache_kind(self.depth, self.cache_type).ok_or_else(|| {
                let found = format!("depth {} and cache_type {}", self.depth, self.cache_type);
                XmlError::unexpected(line(), "a cache of depth 1 to 5", &found)
            })?,
        };
        object.kind = kind;
        let is_die =
            version == 2 && self.group_kind == DIE || object.subtype.as_deref() == Some("Die");
        object.attributes = match kind {
            ObjectKind::Group if is_die => {
                object.kind = ObjectKind::Die;
                Attributes::None
            }
            ObjectKind::Group => Attributes::Group { kind: self.group_kind, subkind: self.subkind },
            ObjectKind::NumaNode => Attributes::Numa { memory: self.memory, pages: Vec::new() },
            ObjectKind::Bridge => {
                let pci = (self.upstream != 0).then_some(self.pci);
                Attributes::Bridge { host: self.upstream == 0, buses: self.buses, pci }
            }
            ObjectKind::PciDevice => Attributes::Pci(self.pci),
            ObjectKind::OsDevice => Attributes::Os { uses: self.uses },
            _ if kind.is_cache() || kind == ObjectKind::MemCache => {
                let depth = level_of(kind).unwrap_or(self.depth);
                if self.depth != depth && self.depth != 0 {
                    faults.damaged(line(), &format!("an {kind} of depth {}", self.depth));
                }
                let holds_instructions_only = matches!(
                    kind,
                    ObjectKind::L1ICache | ObjectKind::L2ICache | ObjectKind::L3ICache
                );
                Attributes::Cache {
                    size: self.size,
                    depth,
                    line: self.line,
                    associativity: self.associativity,
                    data: !holds_instructions_only,
                    instructions: holds_instructions_only || self.cache_type == 0,
                }
            }
            _ => Attributes::None,
        };
        Ok(())
    }
}

/// Notes that an attribute is lost: its text is invalid, or no version has it.
fn note_untaken(
    key: &str,
    value: &str,
    is_known: bool,
    line: impl Fn() -> usize,
    faults: &mut Faults,
) {
    if is_known {
        faults.damaged(line(), &format!("`{key}` cannot be `{}`", cut(value)));
    } else {
        // Without a line, so that one that all objects have is reported once.
        faults.note(GapKind::Unsupported, format!("attribute `{}` of objects", cut(key)));
    }
}

fn put<T: FromStr>(into: &mut T, text: &str) -> bool {
    text.trim().parse().map(|number| *into = number).is_ok()
}

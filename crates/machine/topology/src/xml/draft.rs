//! Objects while a file is read: in its order, each with the place of its parent.
//!
//! Owns the nesting of `<object>` and the permitted kinds in each. The walk has a stack of its own,
//! so that depth costs no call stack. Links between objects are made at the end, when version 1's
//! nodes have moved.

use std::collections::BTreeSet;

use crate::objects::{Attributes, CpuKind, MemoryTier, Object, ObjectId, ObjectKind};

use super::extras;
use super::relations::{RawAttribute, RawDistances};
use super::scan::{Element, Scanner, Token};
use super::version1::{self, DepthDistances};
use super::{Faults, MOST_OBJECTS, XmlError, attributes};

/// Contents of a file, before they are a topology.
pub(super) struct Draft {
    pub(super) version: u32,
    pub(super) objects: Vec<Object>,
    /// Each object's parent, which comes before it.
    pub(super) above: Vec<Option<usize>>,
    /// Begin of each object, in bytes.
    pub(super) at: Vec<usize>,
    /// The sets that each object has of its own.
    pub(super) has: Vec<u8>,
    /// Objects that are dropped.
    pub(super) dead: Vec<bool>,
    /// Memory and pages of the machine, where there is no NUMA node for them.
    pub(super) machine_memory: (u64, Vec<(u64, u64)>),
    pub(super) depth_distances: Vec<DepthDistances>,
    pub(super) raw_distances: Vec<RawDistances>,
    pub(super) raw_attributes: Vec<RawAttribute>,
    /// PUs and NUMA nodes that may be used.
    pub(super) allowed: [Option<crate::CpuSet>; 2],
    pub(super) cpu_kinds: Vec<CpuKind>,
    pub(super) memory_tiers: Vec<MemoryTier>,
    pub(super) support: Vec<(String, u64)>,
    pub(super) infos: Vec<(String, String)>,
    pub(super) faults: Faults,
}

impl Draft {
    pub(super) fn new(version: u32) -> Self {
        Self {
            version,
            objects: Vec::new(),
            above: Vec::new(),
            at: Vec::new(),
            has: Vec::new(),
            dead: Vec::new(),
            machine_memory: (0, Vec::new()),
            depth_distances: Vec::new(),
            raw_distances: Vec::new(),
            raw_attributes: Vec::new(),
            allowed: [None, None],
            cpu_kinds: Vec::new(),
            memory_tiers: Vec::new(),
            support: Vec::new(),
            infos: Vec::new(),
            faults: Faults::default(),
        }
    }

    /// Adds an object and returns its place.
    pub(super) fn push(
        &mut self,
        object: Object,
        above: Option<usize>,
        at: usize,
        has: u8,
    ) -> usize {
        self.objects.push(object);
        self.above.push(above);
        self.at.push(at);
        self.has.push(has);
        self.dead.push(false);
        self.objects.len() - 1
    }

    /// Gives each object without hwloc's unique number, or with a duplicate one, the next free one.
    pub(super) fn number_all(&mut self) {
        let mut taken = BTreeSet::new();
        for object in &mut self.objects {
            if object.gp_index.is_some_and(|number| !taken.insert(number)) {
                let number = object.gp_index.take().unwrap_or_default();
                let detail = format!("two objects have gp_index {number}; the second got another");
                self.faults.note(talea_model::GapKind::Damaged, detail);
            }
        }
        let mut next = taken.last().map_or(1, |&last| last.checked_add(1).unwrap_or(1));
        for (object, _) in self.objects.iter_mut().zip(&self.dead).filter(|&(_, &dead)| !dead) {
            if object.gp_index.is_none() {
                while !taken.insert(next) {
                    next = next.checked_add(1).unwrap_or(1);
                }
                object.gp_index = Some(next);
            }
        }
    }

    /// Links the objects and sorts them. Also returns, for each, its sets and its begin, and the new place of each object of
    /// the draft.
    pub(super) fn link(&mut self) -> (Vec<Object>, Vec<u8>, Vec<usize>, Vec<Option<ObjectId>>) {
        let mut objects = std::mem::take(&mut self.objects);
        for at in 0..objects.len() {
            let Some(above) = self.above[at].filter(|_| !self.dead[at]) else { continue };
            let id = ObjectId(at as u32);
            let kind = objects[at].kind;
            objects[at].parent = Some(ObjectId(above as u32));
            objects[above].list_of(kind).push(id);
        }
        let root =
            self.above.iter().zip(&self.dead).position(|(above, &dead)| above.is_none() && !dead);
        let (arranged, places) = crate::levels::arrange(objects, root.unwrap_or(0));
        let (mut has, mut at) = (vec![0; arranged.len()], vec![0; arranged.len()]);
        for (from, place) in places.iter().enumerate() {
            if let Some(id) = place {
                has[id.0 as usize] = self.has[from];
                at[id.0 as usize] = self.at[from];
            }
        }
        (arranged, has, at, places)
    }
}

/// Reads the root `<object>` and its contents.
pub(super) fn read_object<'a>(
    scan: &mut Scanner<'a>,
    element: &Element<'a>,
    draft: &mut Draft,
) -> Result<(), XmlError> {
    if !draft.objects.is_empty() {
        let line = scan.line(element.at);
        return Err(XmlError::unexpected(line, "one root `<object>`", "a second"));
    }
    let mut stack = vec![open(scan, element, draft, None)?];
    while let Some(&top) = stack.last() {
        match scan.next()? {
            Token::Open(element) => match element.name() {
                "object" => stack.push(open(scan, &element, draft, Some(top))?),
                "info" => {
                    let info = extras::read_info(scan, &element, &mut draft.faults)?;
                    let object = &mut draft.objects[top];
                    // Version 1 had no subtypes.
                    match info {
                        Some((name, value))
                            if draft.version == 1 && (name == "Type" || name == "CoProcType") =>
                        {
                            object.subtype = Some(value);
                        }
                        Some((name, value))
                            if draft.above[top].is_none() && extras::is_of_all(&name) =>
                        {
                            draft.infos.push((name, value));
                        }
                        info => object.infos.extend(info),
                    }
                }
                "page_type" => read_pages(scan, &element, draft, top)?,
                "distances" => version1::read_distances(scan, &element, draft, top)?,
                "userdata" => scan.skip()?,
                _ => extras::skip_unknown(scan, &element, &mut draft.faults)?,
            },
            Token::Text(text) if text.trim().is_empty() => {}
            Token::Text(text) => {
                let found = format!("`{}`", text.trim());
                return Err(XmlError::unexpected(scan.line_here(), "an element", &found));
            }
            Token::Close | Token::End => {
                stack.pop();
            }
        }
    }
    Ok(())
}

/// Takes the begin of an object.
fn open(
    scan: &Scanner<'_>,
    element: &Element<'_>,
    draft: &mut Draft,
    above: Option<usize>,
) -> Result<usize, XmlError> {
    if draft.objects.len() >= MOST_OBJECTS {
        let line = scan.line(element.at);
        return Err(XmlError::TooMany { line, limit: MOST_OBJECTS, what: "objects" });
    }
    let mut read =
        attributes::read(scan, element, draft.version, above.is_none(), &mut draft.faults)?;
    // Version 1 had Misc objects with PUs, between others.
    if draft.version == 1
        && read.object.kind == ObjectKind::Misc
        && read.has & attributes::HAS_CPUSET != 0
    {
        read.object.kind = ObjectKind::Group;
        read.object.attributes = Attributes::Group { kind: 0, subkind: 0 };
    }
    let kind = read.object.kind;
    if kind.is_io() || kind == ObjectKind::Misc {
        // They have no PUs of their own, whatever the file contains.
        for set in [
            &mut read.object.cpuset,
            &mut read.object.complete_cpuset,
            &mut read.object.nodeset,
            &mut read.object.complete_nodeset,
        ] {
            *set = crate::CpuSet::default();
        }
    }
    let may_be = match above.map(|above| draft.objects[above].kind) {
        None => kind.is_normal() || draft.version == 1 && kind == ObjectKind::NumaNode,
        Some(above) => may_stand_in(kind, above, draft.version),
    };
    if !may_be {
        let line = scan.line(element.at);
        return Err(match above {
            None => XmlError::unexpected(line, "a Machine as root", &format!("a {kind}")),
            Some(above) => {
                let expected = format!("children that a {} can have", draft.objects[above].kind);
                XmlError::unexpected(line, &expected, &format!("a {kind}"))
            }
        });
    }
    if above.is_none() {
        draft.allowed = read.allowed;
    }
    if let Some(memory) = read.machine_memory {
        draft.machine_memory.0 = memory;
    }
    Ok(draft.push(read.object, above, element.at, read.has))
}

fn may_stand_in(kind: ObjectKind, above: ObjectKind, version: u32) -> bool {
    // Version 1's NUMA nodes had the children of normal objects.
    let is_normal = above.is_normal() || version == 1 && above == ObjectKind::NumaNode;
    match kind {
        ObjectKind::Misc => true,
        _ if kind.is_normal() => is_normal && above != ObjectKind::Pu,
        _ if kind.is_memory() => (is_normal || above.is_memory()) && above != ObjectKind::Pu,
        _ => is_normal || above.is_io(),
    }
}

fn read_pages(
    scan: &mut Scanner<'_>,
    element: &Element<'_>,
    draft: &mut Draft,
    top: usize,
) -> Result<(), XmlError> {
    let number = |name| -> Result<Option<u64>, XmlError> {
        Ok(element.attribute(scan.text, name)?.and_then(|text| text.trim().parse().ok()))
    };
    match (number("size")?, number("count")?, &mut draft.objects[top].attributes) {
        (Some(size), count, Attributes::Numa { pages, .. }) => {
            pages.push((size, count.unwrap_or(0)));
        }
        (Some(size), count, _) if draft.above[top].is_none() => {
            draft.machine_memory.1.push((size, count.unwrap_or(0)));
        }
        _ => {
            draft.faults.damaged(scan.line(element.at), "a `<page_type>` without a node or a size");
        }
    }
    scan.skip()
}

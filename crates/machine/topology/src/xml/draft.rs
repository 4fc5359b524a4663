//! Objects while a file is read: in its order, each with the place of its parent.
//!
//! Owns their numbers and the links between them, which are made at the end, when version 1's
//! nodes have moved. It refuses reading ([`super::walk`]).

use std::collections::BTreeSet;

use crate::objects::{CpuKind, MemoryTier, Object, ObjectId};

use super::Faults;
use super::raw::{DepthDistances, RawAttribute, RawDistances};

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

    /// Links the objects and sorts them. Also returns, for each, its sets and its begin, and the
    /// new place of each object of the draft.
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

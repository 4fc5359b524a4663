//! From objects with sets of PUs to a tree.
//!
//! Owns the order: an object lies in the smallest one that holds all its PUs, as hwloc has it. What
//! overlaps without lying inside (a broken firmware table) is left out and said.

use std::cmp::Reverse;

use talea_topology::{CpuSet, Object, ObjectId, ObjectKind, Topology};

/// Objects that will be a tree.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Normal objects; the first is the machine.
    pub(super) normal: Vec<Object>,
    /// NUMA nodes.
    pub(super) memory: Vec<Object>,
    /// Devices, each with the PUs that it is close to.
    pub(super) devices: Vec<(Object, CpuSet)>,
}

#[derive(Debug, Default)]
struct Links {
    children: Vec<usize>,
    memory: Vec<usize>,
    devices: Vec<usize>,
}

impl Tree {
    /// Puts everything in its place; tells what was left out.
    pub(super) fn grow(mut self) -> (Topology, Vec<String>) {
        let mut left_out = Vec::new();
        self.add_groups();
        // The largest first, so that what holds an object is there before it; of equals the outer
        // kind.
        self.normal[1..].sort_by_key(|object| {
            (Reverse(object.cpuset.len()), object.kind, object.cpuset.first())
        });
        let mut links: Vec<Links> = self.normal.iter().map(|_| Links::default()).collect();
        for at in 1..self.normal.len() {
            let set = &self.normal[at].cpuset;
            let within = self.innermost(&links, set);
            let siblings = &links[within].children;
            if siblings.iter().any(|&other| self.normal[other].cpuset.intersects(set)) {
                let object = &self.normal[at];
                left_out.push(format!("{} with PUs {} overlaps others", object.kind, set));
                continue;
            }
            links[within].children.push(at);
        }
        for link in &mut links {
            link.children.sort_by_key(|&child| self.normal[child].cpuset.first());
        }
        for (at, node) in self.memory.iter().enumerate() {
            let within = self.holder(&links, &node.cpuset);
            links[within].memory.push(at);
        }
        for (at, (_, close)) in self.devices.iter().enumerate() {
            let within = self.holder(&links, close);
            links[within].devices.push(at);
        }
        (self.emit(&links), left_out)
    }

    /// The smallest object so far that holds the set.
    fn innermost(&self, links: &[Links], set: &CpuSet) -> usize {
        let mut at = 0;
        if set.is_empty() {
            return at;
        }
        let holds = |child: &&usize| set.is_subset(&self.normal[**child].cpuset);
        while let Some(&child) = links[at].children.iter().find(holds) {
            at = child;
        }
        at
    }

    /// The same, but not inside a core or cache: neither memory nor devices hang there.
    fn holder(&self, links: &[Links], set: &CpuSet) -> usize {
        let mut at = 0;
        let is_place =
            |kind| matches!(kind, ObjectKind::Package | ObjectKind::Die | ObjectKind::Group);
        let holds = |child: &&usize| {
            let object = &self.normal[**child];
            !set.is_empty() && is_place(object.kind) && set.is_subset(&object.cpuset)
        };
        while let Some(&child) = links[at].children.iter().find(holds) {
            at = child;
        }
        at
    }

    /// A NUMA node that is neither a package nor a die nor the machine needs an object to hang at.
    fn add_groups(&mut self) {
        let mut sets: Vec<CpuSet> = self.memory.iter().map(|node| node.cpuset.clone()).collect();
        sets.retain(|set| !set.is_empty());
        sets.sort();
        sets.dedup();
        let is_place = |object: &Object, set: &CpuSet| {
            object.cpuset == *set
                && matches!(
                    object.kind,
                    ObjectKind::Machine | ObjectKind::Package | ObjectKind::Die
                )
        };
        sets.retain(|set| !self.normal.iter().any(|object| is_place(object, set)));
        for set in sets {
            let mut group = Object::new(ObjectKind::Group);
            group.cpuset = set;
            self.normal.push(group);
        }
    }

    /// Depth first: memory, then what is inside, then devices.
    fn emit(mut self, links: &[Links]) -> Topology {
        enum Next {
            Normal(usize),
            Memory(usize),
            Device(usize),
        }
        let mut topology = Topology::default();
        let mut stack = vec![(Next::Normal(0), None::<ObjectId>)];
        while let Some((next, parent)) = stack.pop() {
            let blank = || Object::new(ObjectKind::Misc);
            let mut object = match next {
                Next::Normal(at) => std::mem::replace(&mut self.normal[at], blank()),
                Next::Memory(at) => std::mem::replace(&mut self.memory[at], blank()),
                Next::Device(at) => std::mem::replace(&mut self.devices[at].0, blank()),
            };
            object.gp_index = Some(topology.objects.len() as u64 + 1);
            let kind = object.kind;
            let same = topology.objects.iter().filter(|other| other.kind == kind).count();
            object.logical_index = same as u32;
            let id = topology.add(object, parent);
            if let Next::Normal(at) = next {
                let link = &links[at];
                let devices = link.devices.iter().map(|&at| Next::Device(at));
                let children = link.children.iter().map(|&at| Next::Normal(at));
                let memory = link.memory.iter().map(|&at| Next::Memory(at));
                let all: Vec<Next> = memory.chain(children).chain(devices).collect();
                stack.extend(all.into_iter().rev().map(|next| (next, Some(id))));
            }
        }
        topology
    }
}

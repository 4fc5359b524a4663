//! Merging two bundles.

use super::type_lists::datatypes_of;
use super::{Body, Bundle, Column, Graph, Node, Place, Process, Thread};

impl Place {
    /// The same with texts by their numbers in another bundle.
    fn renumbered(&self, texts: &[u32]) -> Self {
        let of = |id: u32| texts.get(id as usize).copied().unwrap_or(u32::MAX);
        Self { name: of(self.name), allowed: of(self.allowed), ..*self }
    }
}

impl Bundle {
    /// Adds all processes of `other`. Both come from one run, so their settings are the same.
    pub fn merge(&mut self, other: &Self) {
        let modules = self.modules.absorb(&other.modules);
        let of = |ids: &[u32], id: u32| ids.get(id as usize).copied().unwrap_or(u32::MAX);
        let paths: Vec<u32> = other
            .paths
            .values()
            .iter()
            .map(|path| {
                self.paths.id(path.iter().map(|&(m, offset)| (of(&modules, m), offset)).collect())
            })
            .collect();
        let procedures = self.procedures.absorb(&other.procedures);
        let comms = self.comms.absorb(&other.comms);
        let datatypes = self.datatypes.absorb(&other.datatypes);
        let ops = self.ops.absorb(&other.ops);
        let lists = self.lists.absorb(&other.lists);
        let type_lists: Vec<u32> = other
            .type_lists
            .values()
            .iter()
            .map(|list| self.type_lists.id(datatypes_of(list, &datatypes)))
            .collect();
        let texts = self.texts.absorb(&other.texts);
        let streams = self.streams.absorb(&other.streams);
        let behind = |id: u32| if id == 0 { 0 } else { of(&streams, id - 1).saturating_add(1) };
        let graphs: Vec<u32> = other
            .graphs
            .values()
            .iter()
            .map(|graph| {
                let nodes = graph
                    .nodes
                    .iter()
                    .map(|node| Node {
                        procedure: of(&procedures, node.procedure),
                        path: of(&paths, node.path),
                        choices: behind(node.choices),
                        ..node.clone()
                    })
                    .collect();
                self.graphs.id(Graph { nodes, ..*graph })
            })
            .collect();
        let bodies: Vec<u32> = other
            .bodies
            .values()
            .iter()
            .map(|body| {
                let column = |c: &Column| Column { stream: of(&streams, c.stream), ..*c };
                self.bodies.id(Body {
                    graph: of(&graphs, body.graph),
                    columns: body.columns.iter().map(column).collect(),
                    polls: body.polls.iter().map(|&id| behind(id)).collect(),
                })
            })
            .collect();
        // A list of ids of the other bundle, as ids of this one.
        let numbers = &mut self.numbers;
        let mut map = |id: u32, ids: &[u32], step: usize| {
            let list = other.numbers.get(id).cloned().unwrap_or_default();
            let mapped = list.iter().enumerate().map(|(i, &value)| {
                if step == 0 || i % step != 0 { value } else { i64::from(of(ids, value as u32)) }
            });
            numbers.id(mapped.collect())
        };
        for process in &other.processes {
            let threads = process
                .threads
                .iter()
                .map(|thread| Thread {
                    body: of(&bodies, thread.body),
                    peers: map(thread.peers, &[], 0),
                    counts: map(thread.counts, &procedures, 2),
                })
                .collect();
            self.processes.push(Process {
                host: of(&texts, process.host),
                library: of(&texts, process.library),
                comm_map: map(process.comm_map, &comms, 1),
                datatype_map: map(process.datatype_map, &datatypes, 1),
                op_map: map(process.op_map, &ops, 1),
                list_map: map(process.list_map, &lists, 1),
                type_list_map: map(process.type_list_map, &type_lists, 2),
                open: process
                    .open
                    .iter()
                    .map(|&[procedure, path, begin, polls]| {
                        [
                            u64::from(of(&procedures, procedure as u32)),
                            u64::from(of(&paths, path as u32)),
                            begin,
                            polls,
                        ]
                    })
                    .collect(),
                threads,
                places: process.places.iter().map(|place| place.renumbered(&texts)).collect(),
                ..process.clone()
            });
        }
    }

    /// A bundle without processes.
    pub fn nothing() -> Self {
        Self::empty(super::Settings::default())
    }

    /// Number of processes.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// True without processes.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Removes and returns the packed times of each process, in the order of processes.
    pub fn take_times(&mut self) -> Vec<Vec<u8>> {
        self.processes.iter_mut().map(|p| std::mem::take(&mut p.times)).collect()
    }

    /// World and rank of each process, in order.
    pub fn ranks(&self) -> Vec<(u64, i32)> {
        self.processes.iter().map(|p| (p.world, p.rank)).collect()
    }
}

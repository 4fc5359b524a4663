//! Lists whose entries are datatypes, such as those of `MPI_Alltoallw`.
//!
//! Owns their numbers: processes create datatypes in orders of their own, so that these lists have
//! a separate table, whose entries are numbers in the bundle's table of datatypes, and each process
//! a map from its own lists to that table.

use std::collections::{BTreeSet, HashMap};

use talea_model::ArgKind;

use super::Bundle;
use crate::live::read::LiveProcess;

/// A list of datatypes with other numbers; negative entries are no datatypes and stay.
pub(super) fn datatypes_of<T: Copy + Into<i64>>(list: &[i64], numbers: &[T]) -> Vec<i64> {
    let number = |id: i64| usize::try_from(id).ok().and_then(|id| numbers.get(id)).copied();
    list.iter().map(|&id| number(id).map_or(id.min(-1), Into::into)).collect()
}

impl Bundle {
    /// Puts the lists in columns of datatypes into their table, with the bundle's numbers of
    /// datatypes. Returns for each its number there and its number in the process: processes create
    /// datatypes in orders of their own.
    pub(super) fn add_type_lists(&mut self, live: &LiveProcess, datatypes: &[i64]) -> Vec<i64> {
        let mut used = BTreeSet::new();
        for log in live.threads.iter().flat_map(|thread| &thread.log.nodes) {
            let procedure = live.procedures.get(usize::from(log.signature.procedure.0));
            let args = procedure.map_or(&[][..], |(_, spec)| &spec.args);
            for (column, _) in
                log.columns.iter().zip(args).filter(|(_, arg)| arg.kind == ArgKind::Datatypes)
            {
                used.extend(column.totals().map(|(list, _)| list));
            }
        }
        let mut cursor = live.lists.cursor();
        let lists = used.into_iter().filter_map(|own| {
            let list: Vec<i64> = cursor.get(own)?.iter().collect();
            let id = self.type_lists.id(datatypes_of(&list, datatypes));
            Some([i64::from(id), own])
        });
        lists.flatten().collect()
    }
}

/// Meaning of the numbers in columns of lists of datatypes: these lists follow the others in the
/// recording's table.
pub(super) struct TypeLists(HashMap<i64, i64>);

impl TypeLists {
    pub(super) fn new(map: &[i64], first: i64) -> Self {
        Self(map.chunks_exact(2).map(|pair| (pair[1], first.saturating_add(pair[0]))).collect())
    }

    pub(super) fn list(&self, own: i64) -> i64 {
        // An absent number stays absent.
        self.0.get(&own).copied().unwrap_or(own.min(-1))
    }
}

//! Nodes whose batches were refused, and why: what an operator sees of them.
//!
//! Owns the last reason and the number of each node since the server began. Names are those of
//! tokens, which bounds their number.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use talea_model::Nanos;

use crate::routes::RefusedNode;

/// Most bytes of a reason that are kept.
const LONGEST: usize = 500;

#[derive(Debug)]
struct Last {
    count: u64,
    at: Nanos,
    why: String,
}

/// Nodes by name.
#[derive(Debug, Default)]
pub(crate) struct Refused(Mutex<HashMap<String, Last>>);

impl Refused {
    pub(crate) fn note(&self, node: &str, why: &str, now: Nanos) {
        let why = why[..why.floor_char_boundary(LONGEST)].to_owned();
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = nodes.get(node).map_or(0, |last| last.count);
        nodes.insert(node.to_owned(), Last { count: count.saturating_add(1), at: now, why });
    }

    /// Their entries in `/api/v1/nodes`, by name.
    pub(crate) fn list(&self) -> Vec<RefusedNode> {
        let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<(&String, &Last)> = nodes.iter().collect();
        all.sort_unstable_by_key(|(node, _)| *node);
        let entry = |(node, last): (&String, &Last)| RefusedNode {
            node: node.clone(),
            requests: last.count,
            last_ns: last.at,
            why: last.why.clone(),
        };
        all.into_iter().map(entry).collect()
    }
}

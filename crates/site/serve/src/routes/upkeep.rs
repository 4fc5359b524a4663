//! Resources of the agents of nodes, as Prometheus reads them.
//!
//! Owns the names of these series and how a node's name stands in them. Each is what the node's
//! newest batch said; a node whose agent does not say has none. Sums are the agent's since it
//! began, so that they begin anew with it, as Prometheus expects of counters. Follows
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write as _;

use talea_model::shares::Upkeep;

/// Name, type, what it is, and its value.
type Series = (&'static str, &'static str, &'static str, fn(&Upkeep) -> f64);

const SERIES: [Series; 7] = [
    ("cpu_seconds_total", "counter", "processor time of the node's agent", |upkeep| {
        upkeep.processor.0 as f64 / 1e9
    }),
    ("resident_bytes", "gauge", "resident memory of the node's agent", |u| u.memory.0 as f64),
    ("resident_most_bytes", "gauge", "most resident memory of the node's agent", |upkeep| {
        upkeep.most_memory.0 as f64
    }),
    ("spool_bytes", "gauge", "what the agent's spool has on the node's disk", |upkeep| {
        upkeep.spool.0 as f64
    }),
    ("spool_batches", "gauge", "batches that wait on the node", |upkeep| upkeep.waiting as f64),
    ("lost_samples_total", "counter", "samples that found no room on the node", |upkeep| {
        upkeep.lost_samples as f64
    }),
    ("lost_batches_total", "counter", "batches that were refused or not kept", |upkeep| {
        upkeep.lost_batches as f64
    }),
];

/// The series of nodes, which are in order; nothing where no agent says anything.
pub(super) fn series(nodes: &[(String, Upkeep)]) -> String {
    let mut text = String::new();
    if nodes.is_empty() {
        return text;
    }
    for (name, kind, help, value) in SERIES {
        let _ =
            write!(text, "# HELP talea_agent_{name} {help}\n# TYPE talea_agent_{name} {kind}\n");
        for (node, upkeep) in nodes {
            let (node, value) = (escaped(node), value(upkeep));
            let _ = writeln!(text, "talea_agent_{name}{{node=\"{node}\"}} {value}");
        }
    }
    text
}

/// A label's value.
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use talea_model::{Bytes, Nanos};

    use super::*;

    #[test]
    fn names_end_no_line_and_no_value() {
        assert_eq!(series(&[]), "");
        let upkeep = Upkeep {
            processor: Nanos(1_500_000_000),
            memory: Bytes(6 << 20),
            most_memory: Bytes(30 << 20),
            spool: Bytes(4096),
            waiting: 2,
            lost_samples: 3,
            lost_batches: 4,
        };
        insta::assert_snapshot!(series(&[("a\"\\\nb".to_owned(), upkeep)]));
    }
}

//! Counters of the nodes' networks: what became of the files that the processes of a run leave.
//!
//! Owns what `run.json` and the summary say of them. The counters themselves are
//! [`talea_network::job`]'s.

use talea_model::{Gap, GapKind, Nanos};
use talea_network::NetworkError;
use talea_network::job::node::Node;
use talea_run::RunDirectory;
use talea_run::counters::{self, Kept};

use crate::terminal::{grouped, say};

/// Counts what there is; nothing if nobody asked.
pub(super) fn settle(directory: &RunDirectory, interval: Option<Nanos>) -> Option<Kept> {
    let mut kept = Kept { interval_ns: interval?, ..Kept::default() };
    let missing = |kept: &mut Kept, detail: String| {
        kept.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
    };
    let files = counters::files(directory).unwrap_or_else(|error| {
        let folder = counters::folder(directory.path());
        missing(&mut kept, NetworkError::Read { source: error, path: folder }.to_string());
        Vec::new()
    });
    for path in files {
        match Node::read(&path) {
            Ok(node) => {
                if node.ports.is_empty() {
                    let detail = format!("node `{}` has no port with counters", node.name);
                    missing(&mut kept, detail);
                }
                kept.ports += node.ports.len() as u64;
                kept.readings += node.readings;
                kept.gaps.merge(node.gaps);
                kept.nodes.push(node.name);
            }
            Err(error) => missing(&mut kept, error.to_string()),
        }
    }
    if kept.nodes.is_empty() {
        let detail = "no counters of a network were read, which begins with MPI_Init";
        missing(&mut kept, detail.to_owned());
    }
    Some(kept)
}

/// Prints what was recorded of the network.
pub(super) fn say_kept(kept: &Kept) {
    let s = |count: u64| if count == 1 { "" } else { "s" };
    let nodes = kept.nodes.len() as u64;
    say(&format!(
        "network  {} reading{} of {} port{} on {} node{}, see `talea fabric table`",
        grouped(kept.readings),
        s(kept.readings),
        kept.ports,
        s(kept.ports),
        nodes,
        s(nodes)
    ));
}

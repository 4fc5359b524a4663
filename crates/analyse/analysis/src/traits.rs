//! Traits of a thread's calls beside their order, for the structure tree.
//!
//! Owns the conversion from the kinds of recorded arguments, from lines of the source and from
//! machine code, to [`talea_flow::structure::Traits`].

use std::collections::HashMap;

use talea_flow::structure::{CodeFrame, Traits};
use talea_model::{ArgKind, ArgSpec, NodeId, PathId, ProcedureSpec, Signature};
use talea_run::Recording;
use talea_run::recording::Thread;

use crate::procedures::{Traffic, is_poll, traffic};

/// Known properties of a call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPath {
    /// The first path through the same lines of the source, itself or another one.
    pub first: PathId,
    /// Its frames in machine code, outermost first; empty where no frame is known.
    pub code: Vec<CodeFrame>,
}

/// Traits of each node of a thread; `paths` has the properties of each path of the recording.
pub(crate) fn traits(recording: &Recording, thread: &Thread, paths: &[KnownPath]) -> Vec<Traits> {
    let known: Vec<Traits> = recording.procedures.iter().map(of_procedure).collect();
    let mut first: HashMap<Signature, NodeId> = HashMap::new();
    let nodes = thread.log.nodes.iter().zip(0..);
    nodes
        .map(|(node, number)| {
            let Signature { procedure, path } = node.signature;
            let known_path = paths.get(path.0 as usize);
            let path = known_path.map_or(path, |known| known.first);
            let same = *first.entry(Signature { procedure, path }).or_insert(NodeId(number));
            let same_as = (same.0 != number).then_some(same);
            let traits = known.get(usize::from(procedure.0)).cloned().unwrap_or_default();
            let code = known_path.map_or_else(Vec::new, |known| known.code.clone());
            Traits { same_as, code, ..traits }
        })
        .collect()
}

fn of_procedure(spec: &ProcedureSpec) -> Traits {
    // Lists are numbered in the order of first use and results depend on timing: the program alone
    // chooses neither.
    let chosen = |arg: &ArgSpec| {
        let kind = matches!(
            arg.kind,
            ArgKind::Count
                | ArgKind::Peer
                | ArgKind::Root
                | ArgKind::Tag
                | ArgKind::Comm
                | ArgKind::Datatype
                | ArgKind::Op
        );
        kind && !arg.name.starts_with("status.") && !arg.name.starts_with("new")
    };
    let places = |wanted: &dyn Fn(&ArgSpec) -> bool| -> Vec<usize> {
        (0..spec.args.len()).filter(|&at| wanted(&spec.args[at])).collect()
    };
    let found = |arg: &ArgSpec| arg.kind == ArgKind::Flag || arg.name == "outcount";
    let matched = |arg: &ArgSpec| arg.name.starts_with("status.") || arg.name == "index";
    Traits {
        chosen: places(&chosen),
        matched: places(&matched),
        collective: matches!(traffic(&spec.name), Traffic::Collective(_)),
        poll: places(&found).first().copied().filter(|_| is_poll(&spec.name)),
        same_as: None,
        code: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, args: &[(&str, ArgKind)]) -> ProcedureSpec {
        let arg = |&(name, kind): &(&str, ArgKind)| ArgSpec { name: name.to_owned(), kind };
        ProcedureSpec { name: name.to_owned(), args: args.iter().map(arg).collect() }
    }

    #[test]
    fn arguments_that_the_program_chose() {
        let recv = spec(
            "MPI_Recv",
            &[
                ("count", ArgKind::Count),
                ("source", ArgKind::Peer),
                ("comm", ArgKind::Comm),
                ("status.source", ArgKind::Peer),
            ],
        );
        let expected = Traits { chosen: vec![0, 1, 2], matched: vec![3], ..Traits::default() };
        assert_eq!(of_procedure(&recv), expected);
        let any = spec("MPI_Waitany", &[("requests", ArgKind::Requests), ("index", ArgKind::Int)]);
        assert_eq!(of_procedure(&any), Traits { matched: vec![1], ..Traits::default() });
        let test = spec("MPI_Test", &[("request", ArgKind::Request), ("flag", ArgKind::Flag)]);
        assert_eq!(of_procedure(&test), Traits { poll: Some(1), ..Traits::default() });
        let barrier = spec("MPI_Barrier", &[("comm", ArgKind::Comm)]);
        assert!(of_procedure(&barrier).collective);
    }
}

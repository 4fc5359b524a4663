//! Bytes and destinations of a thread's calls, call by call in order.
//!
//! Owns the state that they depend on: a persistent send is known when it is prepared and counts
//! when it is started, and the peer of a one-sided call is a rank of the window's communicator.

use foldhash::HashMap;
use talea_model::{Bytes, NodeId, ProcedureSpec, Rank};
use talea_run::Recording;
use talea_run::lists::Cursor;
use talea_run::recording::{Event, Process};

use crate::arguments::SendPlan;
use crate::procedures::Traffic;
use crate::requests::{Plan, Requests};

/// Bytes from one process to another, ranks of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// From the caller to this rank.
    To(Rank, Bytes),
    /// Out of the memory of this rank to the caller.
    From(Rank, Bytes),
}

/// Work at each visit of a node.
struct NodePlan {
    send: SendPlan,
    requests: Plan,
    /// Arguments that name a communicator and the window made on it.
    window: Option<(usize, usize)>,
}

impl NodePlan {
    fn of(spec: &ProcedureSpec) -> Self {
        let place = |name: &str| spec.args.iter().position(|arg| arg.name == name);
        let makes_window =
            ["MPI_Win_create", "MPI_Win_allocate"].iter().any(|name| spec.name.starts_with(name));
        let window = if makes_window { place("comm").zip(place("win")) } else { None };
        Self { send: SendPlan::for_procedure(spec), requests: Plan::for_procedure(spec), window }
    }
}

/// The sends of one thread, followed through its calls.
pub(crate) struct Sends<'a> {
    recording: &'a Recording,
    process: &'a Process,
    plans: Vec<NodePlan>,
    requests: Requests,
    windows: HashMap<i64, i64>,
    lists: Cursor<'a>,
}

impl<'a> Sends<'a> {
    /// A thread of `process` before its first call; `specs` has the procedure of each node.
    pub(crate) fn new(
        recording: &'a Recording,
        process: &'a Process,
        specs: &[ProcedureSpec],
    ) -> Self {
        Self {
            recording,
            process,
            plans: specs.iter().map(NodePlan::of).collect(),
            requests: Requests::default(),
            windows: HashMap::default(),
            lists: recording.lists.cursor(),
        }
    }

    /// True for the nodes of collective operations.
    pub(crate) fn is_collective(&self, node: NodeId) -> bool {
        matches!(self.plans[node.0 as usize].send.traffic, Traffic::Collective(_))
    }

    /// Bytes that the next call sends, absent where its procedure sends none; `each` gets the
    /// transfers whose other end is known. Every call must be given, in order.
    pub(crate) fn event(
        &mut self,
        event: &Event<'_>,
        mut each: impl FnMut(Transfer),
    ) -> Option<Bytes> {
        let Self { recording, process, plans, requests, windows, lists } = self;
        let plan = &plans[event.node.0 as usize];
        if let Some((comm, window)) = plan.window
            && let (Some(&comm), Some(&window)) = (event.args.get(comm), event.args.get(window))
        {
            windows.insert(window, comm);
        }
        let mut sends = None;
        let mut sent = None;
        if plan.send.traffic != Traffic::None {
            let bytes = plan.send.bytes(recording, process, event.args, lists);
            let window = |window| windows.get(&window).copied();
            let peer = || plan.send.receiver(recording, process, event.args, window);
            let mut own = Bytes(0);
            match plan.send.traffic {
                Traffic::Send | Traffic::Put => {
                    if let Some(to) = peer() {
                        each(Transfer::To(to, bytes));
                        own = bytes;
                    }
                }
                Traffic::Get => {
                    if let Some(from) = peer() {
                        each(Transfer::From(from, bytes));
                    }
                }
                Traffic::Prepare => sends = Some((peer(), bytes)),
                Traffic::Start => {
                    for age in plan.requests.named(event.args, lists).iter() {
                        if let Some((Some(to), bytes)) =
                            requests.get(age).and_then(|made| made.sends)
                        {
                            each(Transfer::To(to, bytes));
                            own += bytes;
                        }
                    }
                }
                Traffic::Collective(_) => own = bytes,
                Traffic::None => {}
            }
            sent = Some(own);
        }
        if !plan.requests.is_idle() {
            requests.follow(&plan.requests, event.args, lists, sends);
        }
        sent
    }
}

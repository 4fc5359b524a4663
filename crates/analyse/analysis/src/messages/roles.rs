//! A procedure's treatment of messages, and the places of its arguments.
//!
//! Owns the roles of receiving calls, and the places of arguments by name, found once for each
//! node. The data that a call sends are [`SendPlan`]'s, the requests that it completes [`Plan`]'s.

use talea_model::{ArgKind, ProcedureSpec};

use crate::arguments::SendPlan;
use crate::requests::Plan;

/// Places of the relevant arguments of a procedure.
pub(super) struct NodePlan {
    pub(super) send: SendPlan,
    pub(super) requests: Plan,
    pub(super) role: Role,
    /// Partitioned messages match among each other only.
    pub(super) partitioned: bool,
    pub(super) comm: Option<usize>,
    pub(super) dest: Option<usize>,
    pub(super) send_tag: Option<usize>,
    pub(super) source: Option<usize>,
    pub(super) receive_tag: Option<usize>,
    /// Source and tag that the call itself, or the one request that it completed, has matched.
    pub(super) status: Option<(usize, usize)>,
    pub(super) statuses: Option<usize>,
    pub(super) index: Option<usize>,
    pub(super) flag: Option<usize>,
    /// Direction of waiting, for a blocking collective operation.
    pub(super) meets: Option<Meets>,
    pub(super) root: Option<usize>,
}

/// Direction of waiting in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meets {
    /// All wait for the last one.
    All,
    /// All wait for the root.
    FromRoot,
    /// The root waits for the last one.
    AtRoot,
}

impl Meets {
    fn of(name: &str) -> Option<Self> {
        match name {
            "MPI_Barrier"
            | "MPI_Allreduce"
            | "MPI_Allgather"
            | "MPI_Allgatherv"
            | "MPI_Alltoall"
            | "MPI_Alltoallv"
            | "MPI_Alltoallw"
            | "MPI_Reduce_scatter"
            | "MPI_Reduce_scatter_block" => Some(Self::All),
            "MPI_Bcast" | "MPI_Scatter" | "MPI_Scatterv" => Some(Self::FromRoot),
            "MPI_Reduce" | "MPI_Gather" | "MPI_Gatherv" => Some(Self::AtRoot),
            _ => None,
        }
    }
}

/// Role of a call beside sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// It does not receive by itself; it may complete requests.
    #[default]
    Other,
    /// Receives before it returns.
    Receives,
    Posts,
    Prepares,
    Starts,
    /// Finds a message and takes it out of the queue.
    Claims,
    /// Receives a claimed message.
    ReceivesClaimed,
    PostsClaimed,
    Cancels,
    /// Frees a request: its completion remains unknown.
    Frees,
}

impl NodePlan {
    pub(super) fn for_procedure(spec: &ProcedureSpec) -> Self {
        let place = |name: &str| spec.args.iter().position(|arg| arg.name == name);
        let name = spec.name.strip_suffix("_c").unwrap_or(&spec.name);
        let role = match name {
            "MPI_Recv" | "MPI_Sendrecv" | "MPI_Sendrecv_replace" => Role::Receives,
            "MPI_Irecv" | "MPI_Isendrecv" | "MPI_Isendrecv_replace" => Role::Posts,
            "MPI_Recv_init" | "MPI_Precv_init" => Role::Prepares,
            "MPI_Start" | "MPI_Startall" => Role::Starts,
            "MPI_Mprobe" | "MPI_Improbe" => Role::Claims,
            "MPI_Mrecv" => Role::ReceivesClaimed,
            "MPI_Imrecv" => Role::PostsClaimed,
            "MPI_Cancel" => Role::Cancels,
            "MPI_Request_free" => Role::Frees,
            _ => Role::Other,
        };
        Self {
            send: SendPlan::for_procedure(spec),
            requests: Plan::for_procedure(spec),
            role,
            partitioned: matches!(name, "MPI_Psend_init" | "MPI_Precv_init"),
            comm: spec.args.iter().position(|arg| arg.kind == ArgKind::Comm),
            dest: place("dest"),
            send_tag: place("sendtag").or_else(|| place("tag")),
            source: place("source"),
            receive_tag: place("recvtag").or_else(|| place("tag")),
            status: place("status.source").zip(place("status.tag")),
            statuses: place("statuses"),
            index: place("index"),
            flag: place("flag"),
            meets: Meets::of(name),
            root: place("root"),
        }
    }
}

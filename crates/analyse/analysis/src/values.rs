//! Recorded arguments as the values that they stand for.
//!
//! Owns the JSON form of every kind of argument: ranks of the world, names of communicators,
//! datatypes and operations, numbers of requests. A source in a status is a rank of the
//! communicator that the request was made on, which is why the requests of the thread are followed.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::{Map, Value, json};
use talea_model::args::special;
use talea_model::{ArgKind, ArgSpec, NodeId, ProcedureSpec};
use talea_run::Recording;
use talea_run::lists::Cursor;
use talea_run::recording::{Event, Process, Thread};

use crate::requests::{Plan, Request, Requests};

/// Values of a thread's arguments, event by event in order.
#[derive(Debug)]
pub struct Values<'a> {
    recording: &'a Recording,
    process: &'a Process,
    /// For each node of the thread.
    nodes: Vec<NodePlan<'a>>,
    requests: Requests,
    lists: RefCell<Cursor<'a>>,
    /// Communicators of windows.
    windows: HashMap<i64, i64>,
}

#[derive(Debug)]
struct NodePlan<'a> {
    name: &'a str,
    args: &'a [ArgSpec],
    requests: Plan,
    /// For each argument the one that names the communicator its ranks are of.
    comm: Vec<Option<usize>>,
    win: Option<usize>,
    /// The communicator of a window that is made.
    win_comm: Option<usize>,
}

impl<'a> NodePlan<'a> {
    fn of(spec: &'a ProcedureSpec) -> Self {
        let own =
            |at: &usize| spec.args[*at].kind == ArgKind::Comm && !is_made(&spec.args[*at].name);
        let comms: Vec<usize> = (0..spec.args.len()).filter(own).collect();
        let next = |at: usize| comms.iter().find(|&&comm| comm > at).or(comms.last()).copied();
        Self {
            name: &spec.name,
            args: &spec.args,
            requests: Plan::for_procedure(spec),
            comm: (0..spec.args.len()).map(next).collect(),
            win: spec.args.iter().position(|arg| arg.name == "win"),
            win_comm: spec.args.iter().position(|arg| arg.name == "comm"),
        }
    }
}

/// Communicators that a call makes: no rank among its arguments is one of theirs.
fn is_made(name: &str) -> bool {
    matches!(
        name,
        "newcomm"
            | "comm_cart"
            | "comm_graph"
            | "comm_dist_graph"
            | "newintercomm"
            | "newintracomm"
    )
}

/// `MPI_UNDEFINED` of Open MPI, MPICH and the standard ABI; plain integers are recorded as they
/// are.
const UNDEFINED: i64 = -32_766;

const NO_SPEC: &ProcedureSpec = &ProcedureSpec { name: String::new(), args: Vec::new() };

impl<'a> Values<'a> {
    /// For the events of one thread from its first on.
    pub fn new(recording: &'a Recording, process: &'a Process, thread: &Thread) -> Self {
        let spec = |procedure: usize| recording.procedures.get(procedure).unwrap_or(NO_SPEC);
        let nodes = thread.log.nodes.iter();
        Self {
            recording,
            process,
            nodes: nodes
                .map(|node| NodePlan::of(spec(usize::from(node.signature.procedure.0))))
                .collect(),
            requests: Requests::default(),
            lists: RefCell::new(recording.lists.cursor()),
            windows: HashMap::new(),
        }
    }

    /// True if more than the number of requests made before may be needed to name an argument: the
    /// communicator of a request or of a window.
    pub fn need_all_events(&self) -> bool {
        self.nodes.iter().any(|plan| {
            let is_source =
                |arg: &ArgSpec| matches!(arg.name.as_str(), "status.source" | "statuses");
            plan.win.is_some() || !plan.requests.is_idle() && plan.args.iter().any(is_source)
        })
    }

    /// Passes over so many events of each node.
    pub fn pass(&mut self, visits: &[u64]) {
        let made = self.nodes.iter().zip(visits).filter(|(plan, _)| plan.requests.makes());
        self.requests.pass(made.fold(0, |sum: u64, (_, &visits)| sum.saturating_add(visits)));
    }

    /// The procedure of a node.
    pub fn name(&self, node: NodeId) -> &'a str {
        self.nodes[node.0 as usize].name
    }

    /// The next event's arguments by name. Every event must be passed in order, to this or to
    /// [`Self::skip`].
    pub fn named(&mut self, event: &Event<'_>) -> Map<String, Value> {
        let plan = &self.nodes[event.node.0 as usize];
        let mut named = Map::new();
        for (at, (arg, &value)) in plan.args.iter().zip(event.args).enumerate() {
            if value == special::ABSENT {
                continue;
            }
            if arg.name == "statuses" {
                named.insert(arg.name.clone(), self.statuses(plan, event.args, value));
                continue;
            }
            let value = match arg.name.as_str() {
                "status.source" => self.source(plan, event.args, value),
                _ => self.value(plan, at, value, event.args),
            };
            named.insert(arg.name.clone(), value);
        }
        if let Some(number) = self.skip(event) {
            named.insert("request".to_owned(), json!(format!("r{number}")));
        }
        named
    }

    /// Follows the next event without naming its arguments; the number of the request that it
    /// made.
    pub fn skip(&mut self, event: &Event<'_>) -> Option<u64> {
        let plan = &self.nodes[event.node.0 as usize];
        if let Some((win, comm)) = plan.win.zip(plan.win_comm)
            && let (Some(&win), Some(&comm)) = (event.args.get(win), event.args.get(comm))
        {
            self.windows.insert(win, comm);
        }
        let requests = plan.requests;
        if requests.is_idle() {
            return None;
        }
        self.requests.follow(&requests, event.args, self.lists.get_mut(), None)
    }

    fn value(&self, plan: &NodePlan<'_>, at: usize, value: i64, args: &[i64]) -> Value {
        let name = &plan.args[at].name;
        match plan.args[at].kind {
            ArgKind::Int | ArgKind::Count if value == special::UNDEFINED && is_result(name) => {
                json!("MPI_UNDEFINED")
            }
            ArgKind::Int
                if matches!(name.as_str(), "color" | "split_type") && value == UNDEFINED =>
            {
                json!("MPI_UNDEFINED")
            }
            ArgKind::Peer | ArgKind::Root => self.rank(self.comm(plan, at, args), value),
            ArgKind::Tag if value == special::ANY_TAG => json!("MPI_ANY_TAG"),
            ArgKind::Int | ArgKind::Count | ArgKind::Tag => json!(value),
            ArgKind::Comm => match entry(&self.recording.comms, value) {
                Some(comm) => json!(comm.name),
                None => json!("MPI_COMM_NULL"),
            },
            ArgKind::Datatype => self.datatype(value),
            ArgKind::Op => match entry(&self.recording.ops, value) {
                Some(name) if !name.is_empty() => json!(name),
                Some(_) => json!(format!("op#{value}")),
                None => json!("MPI_OP_NULL"),
            },
            ArgKind::Handle if value < 0 => Value::Null,
            ArgKind::Handle => json!(format!("{name}#{value}")),
            ArgKind::Request => self.request(value),
            ArgKind::Requests => self.list(value, |age| self.request(age)),
            ArgKind::Datatypes => self.list(value, |datatype| self.datatype(datatype)),
            ArgKind::List => self.list(value, |number| json!(number)),
            ArgKind::Peers => {
                let comm = self.comm(plan, at, args);
                self.list(value, |rank| self.rank(comm, rank))
            }
            ArgKind::Flag => json!(value != 0),
        }
    }

    fn list(&self, list: i64, value: impl Fn(i64) -> Value) -> Value {
        match self.lists.borrow_mut().get(list) {
            Some(list) => list.iter().map(value).collect(),
            None => Value::Null,
        }
    }

    /// The communicator that an argument's ranks are of.
    fn comm(&self, plan: &NodePlan<'_>, at: usize, args: &[i64]) -> Option<i64> {
        let window = plan.win.and_then(|win| self.windows.get(args.get(win)?).copied());
        window.or_else(|| args.get(plan.comm[at]?).copied())
    }

    /// A rank of the world; `?2` for rank 2 of a group outside of it.
    fn rank(&self, comm: Option<i64>, rank: i64) -> Value {
        match rank {
            special::PROC_NULL => json!("MPI_PROC_NULL"),
            special::ANY_SOURCE => json!("MPI_ANY_SOURCE"),
            special::ROOT => json!("MPI_ROOT"),
            special::UNDEFINED => json!("MPI_UNDEFINED"),
            _ => match self.recording.world_rank(self.process, comm, rank) {
                Some(rank) => json!(rank),
                None => json!(format!("?{rank}")),
            },
        }
    }

    fn datatype(&self, value: i64) -> Value {
        match entry(&self.recording.datatypes, value) {
            Some((_, name)) if !name.is_empty() => json!(name),
            Some((size, _)) => json!(format!("type#{value}({size} B)")),
            None => json!("MPI_DATATYPE_NULL"),
        }
    }

    fn request(&self, age: i64) -> Value {
        match self.requests.named(age) {
            Request::Null => json!("MPI_REQUEST_NULL"),
            Request::Unknown => Value::Null,
            Request::Own(number) => json!(format!("r{number}")),
            Request::Foreign { thread, number } => json!(format!("t{thread}.r{number}")),
        }
    }

    /// The source in the status of a call that received, or that completed one request.
    fn source(&self, plan: &NodePlan<'_>, args: &[i64], rank: i64) -> Value {
        let mut lists = self.lists.borrow_mut();
        let named = plan.requests.named(args, &mut lists);
        let index = plan.args.iter().position(|arg| arg.name == "index");
        let age = match index.and_then(|index| args.get(index)) {
            Some(&index) => usize::try_from(index).ok().and_then(|index| named.get(index)),
            None => named.get(0),
        };
        let comm = match age {
            Some(age) => self.requests.get(age).and_then(|made| made.comm),
            None => plan.comm.first().copied().flatten().and_then(|comm| args.get(comm).copied()),
        };
        self.rank_of(comm, rank)
    }

    /// Where wild cards received among several requests: for each position in the list, source and
    /// tag.
    fn statuses(&self, plan: &NodePlan<'_>, args: &[i64], list: i64) -> Value {
        let mut lists = self.lists.borrow_mut();
        let triples: Vec<i64> =
            lists.get(list).map_or_else(Vec::new, |triples| triples.iter().collect());
        let ages = plan.requests.named(args, &mut lists);
        let status = |triple: &[i64]| {
            let age = usize::try_from(triple[0]).ok().and_then(|at| ages.get(at));
            let comm = age.and_then(|age| self.requests.get(age)?.comm);
            json!([triple[0], self.rank_of(comm, triple[1]), triple[2]])
        };
        triples.chunks_exact(3).map(status).collect()
    }

    /// A rank of a communicator that may not be known.
    fn rank_of(&self, comm: Option<i64>, rank: i64) -> Value {
        match comm {
            None if rank >= 0 => json!(format!("?{rank}")),
            _ => self.rank(comm, rank),
        }
    }
}

fn entry<T>(table: &[T], value: i64) -> Option<&T> {
    table.get(usize::try_from(value).ok()?)
}

/// Integers that a call gives back, which may be `MPI_UNDEFINED`.
fn is_result(name: &str) -> bool {
    matches!(name, "index" | "outcount")
}

//! Messages from one process to another, each with the call that sent it and the one that completed its receive.
//!
//! Owns the matching, which a recording does not store: by the standard's rule that messages do not overtake each other, the n-th send
//! from one rank to another with a tag on a communicator belongs to the n-th receive that was posted for it there (MPI 5.0, section 3.5). Where a
//! process has several threads that send on one channel, begin times decide, which is an estimate. Messages that matched probes claim are
//! taken to be received in that order. What is not matched is counted.

use std::collections::{BTreeMap, HashMap, VecDeque};

use rayon::prelude::*;
use talea_model::args::special;
use talea_model::{ArgKind, Bytes, Nanos, ProcedureSpec, Rank};
use talea_run::Recording;
use talea_run::recording::{Event, Process, Thread};

use super::arguments::SendPlan;
use crate::procedures::Traffic;
use crate::requests::{Plan, Request, Requests};

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Place of the sender in [`Recording::processes`], and of its thread there.
    pub(crate) from: (usize, usize),
    /// The call that sent it.
    pub(crate) sent: (Nanos, Nanos),
    /// Place of the receiver and of the thread that posted the receive.
    pub(crate) to: (usize, usize),
    /// When the receive was posted, and the end of the call that completed it.
    pub(crate) received: (Nanos, Nanos),
    /// Size of what was sent.
    pub(crate) bytes: Bytes,
    /// Its tag.
    pub(crate) tag: i64,
}

/// All messages of a run that have times.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// By sender, channel and time.
    pub(crate) all: Vec<Message>,
    /// Sends and receives whose other end was not found.
    pub(crate) unmatched: u64,
}

/// Communicator as all its members call it: name and leader. Ids of a recording are the same for all.
type Channel = (i64, Rank, i64);

#[derive(Clone, Copy, Debug)]
struct Send {
    thread: usize,
    call: (Nanos, Nanos),
    bytes: Bytes,
}

#[derive(Clone, Copy, Debug)]
struct Receive {
    thread: usize,
    posted: Nanos,
    /// Absent while it is open.
    done: Option<Nanos>,
    comm: i64,
    source: Option<Rank>,
    tag: i64,
}

/// What a process sends to and receives from others, by channel (communicator, the other rank, tag) in the order of calls.
#[derive(Debug, Default)]
struct Ends {
    sends: BTreeMap<Channel, Vec<Send>>,
    receives: BTreeMap<Channel, Vec<Receive>>,
    /// Receives that were never completed, or whose source is not known.
    open: u64,
}

/// Where a procedure has the arguments that matter here.
struct NodePlan {
    send: SendPlan,
    requests: Plan,
    role: Role,
    comm: Option<usize>,
    send_tag: Option<usize>,
    source: Option<usize>,
    receive_tag: Option<usize>,
    status: Option<(usize, usize)>,
    statuses: Option<usize>,
    index: Option<usize>,
    flag: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    /// Neither sends nor receives by itself; it may complete requests.
    #[default]
    Other,
    Blocking,
    Posts,
    Prepares,
    Starts,
    /// Finds a message and takes it out of the queue.
    Claims,
    /// Receives what was claimed.
    ReceivesClaimed,
    PostsClaimed,
    Cancels,
}

impl NodePlan {
    fn of(spec: &ProcedureSpec) -> Self {
        let place = |name: &str| spec.args.iter().position(|arg| arg.name == name);
        let name = spec.name.strip_suffix("_c").unwrap_or(&spec.name);
        let role = match name {
            "MPI_Recv" | "MPI_Sendrecv" | "MPI_Sendrecv_replace" => Role::Blocking,
            "MPI_Irecv" | "MPI_Isendrecv" | "MPI_Isendrecv_replace" => Role::Posts,
            "MPI_Recv_init" => Role::Prepares,
            "MPI_Start" | "MPI_Startall" => Role::Starts,
            "MPI_Mprobe" | "MPI_Improbe" => Role::Claims,
            "MPI_Mrecv" => Role::ReceivesClaimed,
            "MPI_Imrecv" => Role::PostsClaimed,
            "MPI_Cancel" => Role::Cancels,
            _ => Role::Other,
        };
        Self {
            send: SendPlan::of(spec),
            requests: Plan::of(spec),
            role,
            comm: spec.args.iter().position(|arg| arg.kind == ArgKind::Comm),
            send_tag: place("sendtag").or_else(|| place("tag")),
            source: place("source"),
            receive_tag: place("recvtag").or_else(|| place("tag")),
            status: place("status.source").zip(place("status.tag")),
            statuses: place("statuses"),
            index: place("index"),
            flag: place("flag"),
        }
    }
}

/// A request that is open, or persistent.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Send { to: Channel, bytes: Bytes },
    Receive { comm: i64, source: Option<Rank>, tag: i64, started: Option<usize>, persistent: bool },
    Cancelled,
}

/// Stands for the communicator of a receive that was cancelled.
const CANCELLED: i64 = i64::MIN;

struct Walker<'a> {
    recording: &'a Recording,
    process: &'a Process,
    thread: usize,
    requests: Requests,
    pending: HashMap<u64, Pending>,
    /// In the order in which they were posted.
    receives: Vec<Receive>,
    sends: Vec<(Channel, Send)>,
    /// Messages that matched probes found, as places in `receives`; recordings do not number them.
    claimed: VecDeque<usize>,
}

impl Walker<'_> {
    fn world(&self, comm: i64, rank: i64) -> Option<Rank> {
        self.recording.world_rank(self.process, Some(comm), rank)
    }

    fn event(&mut self, plan: &NodePlan, event: &Event<'_>) {
        let (Some(begin), Some(duration)) = (event.begin, event.duration) else { return };
        let end = begin + duration;
        let args = event.args;
        let value = |at: Option<usize>| at.and_then(|at| args.get(at).copied());
        let comm = value(plan.comm).unwrap_or(-1);
        let to = |tag: i64| {
            let peer = plan.send.receiver(self.recording, self.process, args, |_| None)?;
            Some((comm, peer, tag))
        };
        let bytes = || plan.send.bytes(self.recording, self.process, args);
        let mut made = None;
        match plan.send.traffic {
            Traffic::Send => {
                if let Some(channel) = value(plan.send_tag).and_then(to) {
                    let send = Send { thread: self.thread, call: (begin, end), bytes: bytes() };
                    self.sends.push((channel, send));
                }
            }
            Traffic::Prepare => {
                made = value(plan.send_tag)
                    .and_then(to)
                    .map(|to| Pending::Send { to, bytes: bytes() });
            }
            _ => {}
        }
        let lists = &self.recording.lists;
        let named = plan.requests.named(args, lists);
        if plan.role == Role::Starts {
            for &age in named {
                self.start(age, (begin, end));
            }
        }
        if let (Some(source), Some(tag)) = (value(plan.source), value(plan.receive_tag))
            && matches!(plan.role, Role::Blocking | Role::Posts | Role::Prepares)
            && source != special::PROC_NULL
        {
            let from = self.world(comm, source);
            let mut receive =
                Receive { thread: self.thread, posted: begin, done: None, comm, source: from, tag };
            if plan.role == Role::Blocking {
                receive.done = Some(end);
                if let Some((source, tag)) = plan.status {
                    self.complete_wild(&mut receive, args.get(source), args.get(tag));
                }
                self.receives.push(receive);
            } else {
                let persistent = plan.role == Role::Prepares;
                let started = (!persistent).then(|| {
                    self.receives.push(receive);
                    self.receives.len() - 1
                });
                made = Some(Pending::Receive { comm, source: from, tag, started, persistent });
            }
        }
        match plan.role {
            Role::Claims if plan.flag.is_none_or(|at| args.get(at) == Some(&1)) => {
                self.claim(plan, comm, begin, args);
            }
            Role::ReceivesClaimed => {
                if let Some(at) = self.claimed.pop_front()
                    && let Some(receive) = self.receives.get_mut(at)
                {
                    receive.done = Some(end);
                }
            }
            Role::PostsClaimed => {
                let started = self.claimed.pop_front();
                let claimed = started.and_then(|at| self.receives.get(at).copied());
                made = claimed.map(|Receive { comm, source, tag, .. }| Pending::Receive {
                    comm,
                    source,
                    tag,
                    started,
                    persistent: false,
                });
            }
            Role::Cancels => named.iter().for_each(|&age| self.cancel(age)),
            _ => {}
        }
        if plan.requests.is_idle() {
            return;
        }
        for position in plan.requests.completed(args, lists) {
            if let Some(&age) = named.get(position) {
                self.complete(plan, age, position, args, end);
            }
        }
        if let Some(number) = self.requests.follow(&plan.requests, args, lists, None)
            && let Some(made) = made
        {
            self.pending.insert(number, made);
        }
    }

    /// A persistent request is started.
    fn start(&mut self, age: i64, call: (Nanos, Nanos)) {
        let Request::Own(number) = self.requests.named(age) else { return };
        match self.pending.get_mut(&number) {
            Some(Pending::Send { to, bytes }) => {
                let send = Send { thread: self.thread, call, bytes: *bytes };
                self.sends.push((*to, send));
            }
            Some(Pending::Receive { comm, source, tag, started, .. }) => {
                *started = Some(self.receives.len());
                self.receives.push(Receive {
                    thread: self.thread,
                    posted: call.0,
                    done: None,
                    comm: *comm,
                    source: *source,
                    tag: *tag,
                });
            }
            Some(Pending::Cancelled) | None => {}
        }
    }

    /// A matched probe found a message: from there on it is this thread's.
    fn claim(&mut self, plan: &NodePlan, comm: i64, posted: Nanos, args: &[i64]) {
        let value = |at: Option<usize>| at.and_then(|at| args.get(at).copied());
        let (Some(source), Some(tag)) = (value(plan.source), value(plan.receive_tag)) else {
            return;
        };
        let source = self.world(comm, source);
        let mut receive = Receive { thread: self.thread, posted, done: None, comm, source, tag };
        if let Some((source, tag)) = plan.status {
            self.complete_wild(&mut receive, args.get(source), args.get(tag));
        }
        self.claimed.push_back(self.receives.len());
        self.receives.push(receive);
    }

    /// A receive that is cancelled is taken for one that no message was received by.
    fn cancel(&mut self, age: i64) {
        let Request::Own(number) = self.requests.named(age) else { return };
        if let Some(Pending::Receive { started: Some(at), .. }) = self.pending.get(&number)
            && let Some(receive) = self.receives.get_mut(*at)
        {
            receive.comm = CANCELLED;
            self.pending.insert(number, Pending::Cancelled);
        }
    }

    /// A request is complete after the call that ends at `end`.
    fn complete(&mut self, plan: &NodePlan, age: i64, position: usize, args: &[i64], end: Nanos) {
        let Request::Own(number) = self.requests.named(age) else { return };
        let Some(Pending::Receive { started, persistent, .. }) = self.pending.get_mut(&number)
        else {
            return;
        };
        let Some(at) = started.take() else { return };
        if !*persistent {
            self.pending.remove(&number);
        }
        let Some(mut receive) = self.receives.get(at).copied() else { return };
        receive.done = Some(end);
        let list = plan.statuses.and_then(|at| args.get(at));
        let triples = list
            .and_then(|&list| self.recording.lists.get(usize::try_from(list).ok()?))
            .map_or(&[][..], Vec::as_slice);
        let own = triples.chunks_exact(3).find(|one| usize::try_from(one[0]) == Ok(position));
        if let Some([_, source, tag]) = own {
            self.complete_wild(&mut receive, Some(source), Some(tag));
        } else if let Some((source, tag)) = plan.status
            && plan.index.is_none_or(|at| {
                args.get(at).is_some_and(|&index| usize::try_from(index) == Ok(position))
            })
        {
            self.complete_wild(&mut receive, args.get(source), args.get(tag));
        }
        self.receives[at] = receive;
    }

    /// Source and tag that a wild card turned out to be.
    fn complete_wild(&self, receive: &mut Receive, source: Option<&i64>, tag: Option<&i64>) {
        let known = |value: Option<&i64>| value.copied().filter(|&value| value != special::ABSENT);
        if receive.source.is_none() {
            receive.source = known(source).and_then(|rank| self.world(receive.comm, rank));
        }
        if receive.tag == special::ANY_TAG
            && let Some(tag) = known(tag)
        {
            receive.tag = tag;
        }
    }
}

fn ends(recording: &Recording, process: &Process, until: Nanos) -> Ends {
    let mut ends = Ends::default();
    for (at, thread) in process.threads.iter().enumerate() {
        walk(recording, process, (at, thread), until, &mut ends);
    }
    // Threads that share a channel: by the time of their calls.
    if process.threads.len() > 1 {
        ends.sends.values_mut().for_each(|sends| sends.sort_by_key(|send| send.call.0));
        ends.receives.values_mut().for_each(|all| all.sort_by_key(|one| one.posted));
    }
    ends
}

fn walk(
    recording: &Recording,
    process: &Process,
    (at, thread): (usize, &Thread),
    until: Nanos,
    ends: &mut Ends,
) {
    let none = ProcedureSpec { name: String::new(), args: Vec::new() };
    let spec = |procedure: u16| recording.procedures.get(usize::from(procedure)).unwrap_or(&none);
    let plans: Vec<NodePlan> = thread
        .log
        .nodes
        .iter()
        .map(|node| NodePlan::of(spec(node.signature.procedure.0)))
        .collect();
    let mut walker = Walker {
        recording,
        process,
        thread: at,
        requests: Requests::default(),
        pending: HashMap::new(),
        receives: Vec::new(),
        sends: Vec::new(),
        claimed: VecDeque::new(),
    };
    let mut events = process.events(recording, thread);
    while let Some(event) = events.next_event() {
        if event.begin.is_none_or(|begin| begin > until) {
            break;
        }
        if let Some(plan) = plans.get(event.node.0 as usize) {
            walker.event(plan, &event);
        }
    }
    for (channel, send) in walker.sends {
        ends.sends.entry(channel).or_default().push(send);
    }
    for receive in walker.receives.into_iter().filter(|receive| receive.comm != CANCELLED) {
        match (receive.source, receive.done) {
            (Some(source), Some(_)) => {
                ends.receives.entry((receive.comm, source, receive.tag)).or_default().push(receive);
            }
            _ => ends.open += 1,
        }
    }
}

/// Finds the messages among processes of the same world that were sent until `until`.
pub(crate) fn messages(recording: &Recording, until: Nanos) -> Messages {
    let processes = &recording.processes;
    let ends: Vec<Ends> =
        processes.par_iter().map(|process| ends(recording, process, until)).collect();
    let place: BTreeMap<(u32, Rank), usize> = processes
        .iter()
        .enumerate()
        .map(|(at, process)| ((process.location.world, process.location.rank), at))
        .collect();
    let mut found = Messages::default();
    let received: usize = ends.iter().flat_map(|one| one.receives.values()).map(Vec::len).sum();
    for (at, own) in ends.iter().enumerate() {
        let me = processes[at].location;
        for (&(comm, to, tag), sends) in &own.sends {
            let receiver = place.get(&(me.world, to)).copied();
            let posted = receiver
                .and_then(|receiver| ends[receiver].receives.get(&(comm, me.rank, tag)))
                .map_or(&[][..], Vec::as_slice);
            found.unmatched += sends.len().saturating_sub(posted.len()) as u64;
            for (send, receive) in sends.iter().zip(posted) {
                let (Some(receiver), Some(done)) = (receiver, receive.done) else { continue };
                found.all.push(Message {
                    from: (at, send.thread),
                    sent: send.call,
                    to: (receiver, receive.thread),
                    received: (receive.posted, done),
                    bytes: send.bytes,
                    tag,
                });
            }
        }
    }
    found.unmatched += received.saturating_sub(found.all.len()) as u64;
    found.unmatched += ends.iter().map(|own| own.open).sum::<u64>();
    found
}

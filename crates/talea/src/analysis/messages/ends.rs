//! What a process sends and receives, in the order that decides which belongs to which.
//!
//! Owns following its calls and requests: when a receive was posted, when it was complete, and what its wild cards met. A receive
//! that was cancelled is taken for one that got nothing; a send that was cancelled counts as sent, as MPIs do not call messages back.

use std::collections::{BTreeMap, HashMap, VecDeque};

use talea_model::args::special;
use talea_model::{Bytes, Nanos, ProcedureSpec};
use talea_run::Recording;
use talea_run::recording::{Event, Process, Thread};

use super::Channel;
use super::roles::{NodePlan, Role};
use crate::procedures::Traffic;
use crate::requests::{Request, Requests};

#[derive(Clone, Copy, Debug)]
pub(super) struct Send {
    pub(super) thread: usize,
    pub(super) call: (Nanos, Nanos),
    pub(super) bytes: Bytes,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Receive {
    /// The one that posted it.
    pub(super) thread: usize,
    pub(super) posted: Nanos,
    /// Absent while it is open: it has its place among the others all the same.
    pub(super) done: Option<Nanos>,
    from: Channel,
    cancelled: bool,
}

/// What a process sends to and receives from others, by channel in the order of calls.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) sends: BTreeMap<Channel, Vec<Send>>,
    pub(super) receives: BTreeMap<Channel, Vec<Receive>>,
    /// Sends and receives whose other end is no process of this world, or not known.
    pub(super) unknown: u64,
}

/// A request that is open, or persistent.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Send {
        to: Channel,
        bytes: Bytes,
    },
    Receive {
        from: Channel,
        /// Place of what it receives now.
        open: Option<usize>,
        persistent: bool,
    },
}

/// Another thread's request that was found complete.
#[derive(Clone, Copy, Debug)]
struct Foreign {
    thread: u32,
    number: u64,
    end: Nanos,
    /// Source and tag, where a status tells them.
    met: Option<(i64, i64)>,
}

struct Walker<'a> {
    recording: &'a Recording,
    process: &'a Process,
    thread: usize,
    requests: Requests,
    pending: HashMap<u64, Pending>,
    /// In the order in which they were posted.
    receives: Vec<Receive>,
    sends: Vec<(Channel, Send)>,
    /// Messages that matched probes found, as places in `receives`, none for that of `MPI_PROC_NULL`; recordings do not number them.
    claimed: VecDeque<Option<usize>>,
    foreign: Vec<Foreign>,
}

fn value(args: &[i64], at: Option<usize>) -> Option<i64> {
    at.and_then(|at| args.get(at).copied())
}

impl Walker<'_> {
    fn channel(&self, plan: &NodePlan, comm: i64, other: i64, tag: i64) -> Channel {
        let other = self.recording.world_rank(self.process, Some(comm), other);
        Channel { comm, other, tag, partitioned: plan.partitioned }
    }

    /// Where a call sends to; nowhere with `MPI_PROC_NULL`.
    fn sends_to(&self, plan: &NodePlan, comm: i64, args: &[i64]) -> Option<Channel> {
        let dest = value(args, plan.dest).filter(|&dest| dest != special::PROC_NULL)?;
        Some(self.channel(plan, comm, dest, value(args, plan.send_tag)?))
    }

    /// Where a call receives from, as far as it says.
    fn receives_from(&self, plan: &NodePlan, comm: i64, args: &[i64]) -> Option<Channel> {
        let source = value(args, plan.source).filter(|&source| source != special::PROC_NULL)?;
        Some(self.channel(plan, comm, source, value(args, plan.receive_tag)?))
    }

    fn post(&mut self, posted: Nanos, from: Channel) -> usize {
        let receive = Receive { thread: self.thread, posted, done: None, from, cancelled: false };
        self.receives.push(receive);
        self.receives.len() - 1
    }

    fn event(&mut self, plan: &NodePlan, event: &Event<'_>) {
        let (Some(begin), Some(duration)) = (event.begin, event.duration) else { return };
        let call = (begin, begin + duration);
        let (args, lists) = (event.args, &self.recording.lists);
        let comm = value(args, plan.comm).unwrap_or(-1);
        let named = plan.requests.named(args, lists);
        let mut made = None;
        if matches!(plan.send.traffic, Traffic::Send | Traffic::Prepare)
            && let Some(to) = self.sends_to(plan, comm, args)
        {
            let bytes = plan.send.bytes(self.recording, self.process, args);
            if plan.send.traffic == Traffic::Send {
                self.sends.push((to, Send { thread: self.thread, call, bytes }));
            } else {
                made = Some(Pending::Send { to, bytes });
            }
        }
        match plan.role {
            Role::Receives => {
                if let Some(from) = self.receives_from(plan, comm, args) {
                    let at = self.post(begin, from);
                    self.done(at, call.1, own_status(plan, args));
                }
            }
            Role::Posts => {
                made = self.receives_from(plan, comm, args).map(|from| Pending::Receive {
                    from,
                    open: Some(self.post(begin, from)),
                    persistent: false,
                });
            }
            Role::Prepares => {
                let from = self.receives_from(plan, comm, args);
                made = from.map(|from| Pending::Receive { from, open: None, persistent: true });
            }
            Role::Starts => named.iter().for_each(|&age| self.start(age, call)),
            Role::Claims if plan.flag.is_none_or(|at| args.get(at) == Some(&1)) => {
                let at = self.receives_from(plan, comm, args).map(|from| self.post(begin, from));
                if let Some(at) = at {
                    self.meet(at, own_status(plan, args));
                }
                self.claimed.push_back(at);
            }
            Role::ReceivesClaimed => {
                if let Some(at) = self.claimed.pop_front().flatten() {
                    self.done(at, call.1, None);
                }
            }
            Role::PostsClaimed => {
                let open = self.claimed.pop_front().flatten();
                let from = open.and_then(|at| self.receives.get(at)).map(|receive| receive.from);
                made = from.map(|from| Pending::Receive { from, open, persistent: false });
            }
            Role::Cancels => named.iter().for_each(|&age| {
                if let Request::Own(number) = self.requests.named(age)
                    && let Some(Pending::Receive { open, .. }) = self.pending.get_mut(&number)
                    && let Some(receive) = open.take().and_then(|at| self.receives.get_mut(at))
                {
                    receive.cancelled = true;
                }
            }),
            Role::Frees => named.iter().for_each(|&age| {
                if let Request::Own(number) = self.requests.named(age) {
                    self.pending.remove(&number);
                }
            }),
            Role::Claims | Role::Other => {}
        }
        if plan.requests.is_idle() {
            return;
        }
        if plan.role != Role::Frees {
            for position in plan.requests.completed(args, lists) {
                if let Some(&age) = named.get(position) {
                    self.complete(age, call.1, self.status(plan, position, args));
                }
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
        match self.pending.get(&number).copied() {
            Some(Pending::Send { to, bytes }) => {
                self.sends.push((to, Send { thread: self.thread, call, bytes }));
            }
            Some(Pending::Receive { from, persistent, .. }) => {
                let open = Some(self.post(call.0, from));
                self.pending.insert(number, Pending::Receive { from, open, persistent });
            }
            None => {}
        }
    }

    /// A request is complete after the call that ends at `end`.
    fn complete(&mut self, age: i64, end: Nanos, met: Option<(i64, i64)>) {
        match self.requests.named(age) {
            Request::Own(number) => {
                if let Some(at) = self.completed(number) {
                    self.done(at, end, met);
                }
            }
            Request::Foreign { thread, number } => {
                self.foreign.push(Foreign { thread, number, end, met });
            }
            Request::Null | Request::Unknown => {}
        }
    }

    /// The place of what a request that is complete has received.
    fn completed(&mut self, number: u64) -> Option<usize> {
        let Some(Pending::Receive { open, persistent, .. }) = self.pending.get_mut(&number) else {
            return None;
        };
        let at = open.take();
        if !*persistent {
            self.pending.remove(&number);
        }
        at
    }

    fn done(&mut self, at: usize, end: Nanos, met: Option<(i64, i64)>) {
        self.meet(at, met);
        if let Some(receive) = self.receives.get_mut(at) {
            receive.done = Some(end);
        }
    }

    /// Source and tag that wild cards turned out to be.
    fn meet(&mut self, at: usize, met: Option<(i64, i64)>) {
        let (Some(receive), Some((source, tag))) = (self.receives.get_mut(at), met) else { return };
        let from = &mut receive.from;
        if from.other.is_none() {
            from.other = self.recording.world_rank(self.process, Some(from.comm), source);
        }
        if from.tag == special::ANY_TAG {
            from.tag = tag;
        }
    }

    /// What the call says that the request at a position has met.
    fn status(&self, plan: &NodePlan, position: usize, args: &[i64]) -> Option<(i64, i64)> {
        let is_this = |number: i64| usize::try_from(number) == Ok(position);
        let list = value(args, plan.statuses).and_then(|list| usize::try_from(list).ok());
        let triples = list.and_then(|list| self.recording.lists.get(list));
        let mut triples = triples.map_or(&[][..], Vec::as_slice).chunks_exact(3);
        if let Some(own) = triples.find(|triple| is_this(triple[0])) {
            return Some((own[1], own[2]));
        }
        let alone = plan.index.is_none() || value(args, plan.index).is_some_and(is_this);
        alone.then(|| own_status(plan, args)).flatten()
    }
}

/// Source and tag of the call's one status, where it was filled.
fn own_status(plan: &NodePlan, args: &[i64]) -> Option<(i64, i64)> {
    let (source, tag) = plan.status?;
    let met = (*args.get(source)?, *args.get(tag)?);
    (met.0 != special::ABSENT).then_some(met)
}

/// What a process sent and received until a time.
pub(super) fn ends(recording: &Recording, process: &Process, until: Nanos) -> Ends {
    let threads = process.threads.iter().enumerate();
    let mut walked: Vec<Walker<'_>> =
        threads.map(|(at, thread)| walk(recording, process, (at, thread), until)).collect();
    // What one thread posted and another one found complete; of persistent ones it is not known which round it was.
    let foreign: Vec<Foreign> =
        walked.iter_mut().flat_map(|one| std::mem::take(&mut one.foreign)).collect();
    for Foreign { thread, number, end, met } in foreign {
        let owner = process.threads.iter().position(|one| one.number == thread);
        let Some(owner) = owner.and_then(|at| walked.get_mut(at)) else { continue };
        let once =
            matches!(owner.pending.get(&number), Some(Pending::Receive { persistent: false, .. }));
        if let Some(at) = once.then(|| owner.completed(number)).flatten() {
            owner.done(at, end, met);
        }
    }
    let mut ends = Ends::default();
    for walker in walked {
        for (to, send) in walker.sends {
            match to.shared(recording) {
                Some(channel) => ends.sends.entry(channel).or_default().push(send),
                None => ends.unknown += 1,
            }
        }
        for receive in walker.receives.into_iter().filter(|receive| !receive.cancelled) {
            match receive.from.shared(recording) {
                Some(channel) => ends.receives.entry(channel).or_default().push(receive),
                None => ends.unknown += 1,
            }
        }
    }
    // Threads that share a channel: by the time of their calls.
    if process.threads.len() > 1 {
        ends.sends.values_mut().for_each(|sends| sends.sort_by_key(|send| send.call.0));
        ends.receives.values_mut().for_each(|all| all.sort_by_key(|one| one.posted));
    }
    ends
}

fn walk<'a>(
    recording: &'a Recording,
    process: &'a Process,
    (at, thread): (usize, &'a Thread),
    until: Nanos,
) -> Walker<'a> {
    let none = ProcedureSpec { name: String::new(), args: Vec::new() };
    let spec = |procedure: u16| recording.procedures.get(usize::from(procedure)).unwrap_or(&none);
    let nodes = thread.log.nodes.iter();
    let plans: Vec<NodePlan> =
        nodes.map(|node| NodePlan::of(spec(node.signature.procedure.0))).collect();
    let mut walker = Walker {
        recording,
        process,
        thread: at,
        requests: Requests::default(),
        pending: HashMap::new(),
        receives: Vec::new(),
        sends: Vec::new(),
        claimed: VecDeque::new(),
        foreign: Vec::new(),
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
    walker
}

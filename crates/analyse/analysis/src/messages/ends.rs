//! Sends and receives of a process, in the order that decides their matching.
//!
//! Owns the tracking of its calls and requests: the times at which a receive was posted and
//! complete, and the matches of its wild cards. Calls whose times were not kept have their place
//! among the others, at [`UNKNOWN`] times. A cancelled receive counts as one that got nothing;
//! a cancelled send counts as sent, as MPIs do not call messages back.

mod complete;

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

use foldhash::HashMap;
use talea_model::args::special;
use talea_model::{Bytes, Nanos, ProcedureSpec};
use talea_run::Recording;
use talea_run::lists::Cursor;
use talea_run::recording::{Event, Process, Thread};

use complete::{Met, only_status, own_status};

use super::Channel;
use super::parts::{Before, Call, Meeting, Receive, Send};
use super::posted::Posted;
use super::roles::{NodePlan, Role};
use crate::estimates::UNKNOWN;
use crate::procedures::Traffic;
use crate::requests::{Request, Requests};

/// Sends and receives of a process, by channel in the order of calls.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) sends: BTreeMap<Channel, Vec<Send>>,
    pub(super) receives: BTreeMap<Channel, Vec<Receive>>,
    /// Parts in collective operations, by communicator in their order.
    pub(super) meetings: BTreeMap<i64, Vec<Meeting>>,
    /// Number of sends and receives whose other end is no process of this world, or unknown.
    pub(super) unknown: u64,
    /// Begin of the first call that was left out because there were too many before it.
    pub(super) stopped: Option<Nanos>,
    /// Numbers of those before the time.
    pub(super) before: Before,
}

/// Place of a send that is only counted.
const GONE: usize = usize::MAX;

/// Maximum number of sends, receives and parts in collective operations of a run: bounds the memory
/// for them.
const MOST: usize = 4_000_000;
/// Minimum of the same per process, where there are many.
const FEWEST: usize = 10_000;

/// An open or persistent request.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Send {
        to: Channel,
        bytes: Bytes,
        /// Place of its present send.
        open: Option<usize>,
        persistent: bool,
    },
    Receive {
        from: Channel,
        /// Place of its present receive.
        open: Option<usize>,
        persistent: bool,
    },
}

/// Another thread's request that was found complete.
#[derive(Clone, Copy, Debug)]
struct Foreign {
    thread: u32,
    number: u64,
    call: Call,
    /// Source and tag, if a status has them.
    met: Option<(i64, i64)>,
}

struct Walker<'a> {
    recording: &'a Recording,
    process: &'a Process,
    thread: usize,
    requests: Requests,
    pending: HashMap<u64, Pending>,
    /// Receives in the order in which they were posted.
    receives: Posted,
    sends: Vec<(Channel, Send)>,
    /// Sends that began earlier are only counted.
    from: Nanos,
    /// The same for receives that were complete earlier; never where threads share channels.
    from_posted: Nanos,
    /// Sends that were only counted, by channel.
    sent_before: HashMap<Channel, u64>,
    /// Those of them without a known channel.
    unknown: u64,
    /// Messages that matched probes found, as places in `receives`, `None` for that of
    /// `MPI_PROC_NULL`; recordings do not number them.
    claimed: VecDeque<Option<usize>>,
    foreign: Vec<Foreign>,
    meetings: Vec<(i64, Meeting)>,
    /// Number of events so far.
    events: u64,
    /// Begin of the last one that is known.
    last: Option<Nanos>,
    stopped: Option<Nanos>,
}

/// A completed operation: a place in `sends` or in `receives`.
enum Done {
    Send(usize),
    Receive(usize),
}

fn value(args: &[i64], at: Option<usize>) -> Option<i64> {
    at.and_then(|at| args.get(at).copied())
}

impl Walker<'_> {
    fn channel(&self, plan: &NodePlan, comm: i64, other: i64, tag: i64) -> Channel {
        let other = self.recording.world_rank(self.process, Some(comm), other);
        Channel { comm, other, tag, partitioned: plan.partitioned }
    }

    /// Destination of a call; `None` with `MPI_PROC_NULL`.
    fn sends_to(&self, plan: &NodePlan, comm: i64, args: &[i64]) -> Option<Channel> {
        let dest = value(args, plan.dest).filter(|&dest| dest != special::PROC_NULL)?;
        Some(self.channel(plan, comm, dest, value(args, plan.send_tag)?))
    }

    /// Source of a call, as far as its arguments have it.
    fn receives_from(&self, plan: &NodePlan, comm: i64, args: &[i64]) -> Option<Channel> {
        let source = value(args, plan.source).filter(|&source| source != special::PROC_NULL)?;
        Some(self.channel(plan, comm, source, value(args, plan.receive_tag)?))
    }

    fn post(&mut self, posted: Nanos, from: Channel) -> usize {
        let receive = Receive { thread: self.thread, posted, done: None, from, cancelled: false };
        if self.from_posted > Nanos(0) {
            self.receives.leave(self.recording, self.from_posted);
        }
        self.receives.push(receive)
    }

    fn event(&mut self, plan: &NodePlan, event: &Event<'_>, lists: &mut Cursor<'_>) {
        let (begin, end) = match (event.begin, event.duration) {
            (Some(begin), Some(duration)) => (begin, begin + duration),
            _ => (UNKNOWN, UNKNOWN),
        };
        let number = self.events;
        let call = Call { thread: self.thread, node: event.node, number, begin, end };
        let args = event.args;
        let comm = value(args, plan.comm).unwrap_or(-1);
        let mut made = self.sends(plan, call, comm, args, lists);
        if let Some(meets) = plan.meets {
            let root = value(args, plan.root);
            let root =
                root.and_then(|root| self.recording.world_rank(self.process, Some(comm), root));
            self.meetings.push((comm, Meeting { call, meets, root }));
        }
        match plan.role {
            Role::Receives => {
                if let Some(from) = self.receives_from(plan, comm, args) {
                    let at = self.post(begin, from);
                    self.done(at, call, own_status(plan, args));
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
            Role::Starts => {
                plan.requests.named(args, lists).iter().for_each(|age| self.start(age, call));
            }
            Role::Claims if plan.flag.is_none_or(|at| args.get(at) == Some(&1)) => {
                let at = self.receives_from(plan, comm, args).map(|from| self.post(begin, from));
                if let Some(at) = at {
                    self.meet(at, own_status(plan, args));
                }
                self.claimed.push_back(at);
            }
            Role::ReceivesClaimed => {
                if let Some(at) = self.claimed.pop_front().flatten() {
                    self.done(at, call, None);
                }
            }
            Role::PostsClaimed => {
                let open = self.claimed.pop_front().flatten();
                let from = open.and_then(|at| self.receives.get(at)).map(|receive| receive.from);
                made = from.map(|from| Pending::Receive { from, open, persistent: false });
            }
            Role::Cancels => plan.requests.named(args, lists).iter().for_each(|age| {
                if let Request::Own(number) = self.requests.named(age)
                    && let Some(Pending::Receive { open, .. }) = self.pending.get_mut(&number)
                    && let Some(receive) = open.take().and_then(|at| self.receives.get_mut(at))
                {
                    receive.cancelled = true;
                }
            }),
            Role::Frees => plan.requests.named(args, lists).iter().for_each(|age| {
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
            self.complete_all(plan, call, args, lists);
        }
        if let Some(number) = self.requests.follow(&plan.requests, args, lists, None)
            && let Some(made) = made
        {
            if let Pending::Send { open: Some(at), .. } = made
                && let Some((_, send)) = self.sends.get_mut(at)
            {
                send.done = None;
            }
            self.pending.insert(number, made);
        }
    }

    /// Notes the send of a call; returns the request as which it would be pending.
    fn sends(
        &mut self,
        plan: &NodePlan,
        call: Call,
        comm: i64,
        args: &[i64],
        lists: &mut Cursor<'_>,
    ) -> Option<Pending> {
        if !matches!(plan.send.traffic, Traffic::Send | Traffic::Prepare) {
            return None;
        }
        let to = self.sends_to(plan, comm, args)?;
        let bytes = plan.send.bytes(self.recording, self.process, args, lists);
        let persistent = plan.send.traffic == Traffic::Prepare;
        // A call without a request is complete when it returns.
        let open = (!persistent).then(|| self.send(to, call, bytes, Some(call)));
        Some(Pending::Send { to, bytes, open, persistent })
    }

    /// Completes the requests that a call found complete.
    fn complete_all(&mut self, plan: &NodePlan, call: Call, args: &[i64], lists: &mut Cursor<'_>) {
        let completed = plan.requests.completed(args, lists);
        if completed.is_empty() {
            return;
        }
        // Statuses are few and in a list of their own.
        let statuses: Vec<i64> = value(args, plan.statuses)
            .and_then(|list| lists.get(list))
            .map_or_else(Vec::new, |list| list.iter().collect());
        let met = Met::by_position(&statuses);
        let named = plan.requests.named(args, lists);
        for position in completed {
            if let Some(age) = named.get(position) {
                let status = met.at(position).or_else(|| only_status(plan, position, args));
                self.complete(age, call, status);
            }
        }
    }
}

/// Sends and receives of a process in a time; those before are counted.
pub(super) fn ends(recording: &Recording, process: &Process, time: &RangeInclusive<Nanos>) -> Ends {
    let threads = process.threads.iter().enumerate();
    let mut walked: Vec<Walker<'_>> =
        threads.map(|(at, thread)| walk(recording, process, (at, thread), time)).collect();
    // Requests that one thread posted and another one found complete; for persistent ones the round
    // is unknown.
    let foreign: Vec<Foreign> =
        walked.iter_mut().flat_map(|one| std::mem::take(&mut one.foreign)).collect();
    for Foreign { thread, number, call, met } in foreign {
        let owner = process.threads.iter().position(|one| one.number == thread);
        let Some(owner) = owner.and_then(|at| walked.get_mut(at)) else { continue };
        let once = matches!(
            owner.pending.get(&number),
            Some(
                Pending::Send { persistent: false, .. }
                    | Pending::Receive { persistent: false, .. }
            )
        );
        if once {
            owner.finish(number, call, met);
        }
    }
    let mut ends = Ends::default();
    let mut sends: HashMap<Channel, Vec<Send>> = HashMap::default();
    let mut receives: HashMap<Channel, Vec<Receive>> = HashMap::default();
    for walker in walked {
        ends.stopped = ends.stopped.into_iter().chain(walker.stopped).min();
        let mut posted = walker.receives;
        ends.unknown += walker.unknown + posted.unknown;
        ends.before.add(walker.sent_before, std::mem::take(&mut posted.before));
        for (comm, meeting) in walker.meetings {
            ends.meetings.entry(comm).or_default().push(meeting);
        }
        for (to, send) in walker.sends {
            match to.shared(recording) {
                Some(channel) => sends.entry(channel).or_default().push(send),
                None => ends.unknown += 1,
            }
        }
        for receive in posted.into_kept().filter(|receive| !receive.cancelled) {
            match receive.from.shared(recording) {
                Some(channel) => receives.entry(channel).or_default().push(receive),
                None => ends.unknown += 1,
            }
        }
    }
    // The order of calls without times on channels that threads share is unknown.
    if process.threads.len() > 1 && process.threads.iter().any(Thread::has_holes) {
        let lengths = sends.values().map(Vec::len).chain(receives.values().map(Vec::len));
        ends.unknown += lengths.sum::<usize>() as u64;
        sends.clear();
        receives.clear();
        ends.meetings.clear();
    }
    ends.sends = sends.into_iter().collect();
    ends.receives = receives.into_iter().collect();
    // Threads that share a channel: by the time of their calls.
    if process.threads.len() > 1 {
        ends.sends.values_mut().for_each(|sends| sends.sort_by_key(|send| send.call.0));
        ends.receives.values_mut().for_each(|all| all.sort_by_key(|one| one.posted));
        ends.meetings.values_mut().for_each(|all| all.sort_by_key(|one| one.call.begin));
    }
    ends
}

fn walk<'a>(
    recording: &'a Recording,
    process: &'a Process,
    (at, thread): (usize, &'a Thread),
    time: &RangeInclusive<Nanos>,
) -> Walker<'a> {
    let none = ProcedureSpec { name: String::new(), args: Vec::new() };
    let spec = |procedure: u16| recording.procedures.get(usize::from(procedure)).unwrap_or(&none);
    let nodes = thread.log.nodes.iter();
    let plans: Vec<NodePlan> =
        nodes.map(|node| NodePlan::for_procedure(spec(node.signature.procedure.0))).collect();
    let mut walker = Walker {
        recording,
        process,
        thread: at,
        requests: Requests::default(),
        pending: HashMap::default(),
        receives: Posted::default(),
        sends: Vec::new(),
        from: *time.start(),
        from_posted: if process.threads.len() > 1 { Nanos(0) } else { *time.start() },
        sent_before: HashMap::default(),
        unknown: 0,
        claimed: VecDeque::new(),
        foreign: Vec::new(),
        meetings: Vec::new(),
        events: 0,
        last: None,
        stopped: None,
    };
    let most = (MOST / recording.processes.len().max(1)).max(FEWEST);
    let mut lists = recording.lists.cursor();
    let mut events = process.events(recording, thread);
    while let Some(event) = events.next_event() {
        let is_timed = event.begin.is_some() && event.duration.is_some();
        if event.begin.is_some_and(|begin| begin > *time.end()) || !is_timed && !thread.has_holes()
        {
            break;
        }
        if walker.sends.len() + walker.receives.len() + walker.meetings.len() >= most {
            walker.stopped = event.begin.or(walker.last);
            break;
        }
        if let Some(plan) = plans.get(event.node.0 as usize) {
            walker.event(plan, &event, &mut lists);
        }
        walker.events += 1;
        walker.last = event.begin.or(walker.last);
    }
    walker
}

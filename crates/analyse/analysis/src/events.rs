//! The calls of one thread in their order.
//!
//! Owns the choice of the thread and of a window of time, and the line of each call; the meaning of
//! arguments is [`crate::values`]'. Lines are made one by one, so that a run of any length needs no
//! memory.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use talea_model::{Nanos, NodeId, Rank};
use talea_results::views::EventLine;
use talea_run::load::Run;
use talea_run::recording::{self, Process, Thread};

use crate::procedures::is_poll;
use crate::sites::Places;
use crate::values::Values;

/// A thread and a window of time.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// World.
    pub world: u32,
    /// Rank in that world.
    pub rank: Rank,
    /// Thread of that rank.
    pub thread: u32,
    /// Calls that end before it are left out.
    pub from: Option<Nanos>,
    /// Calls that begin after it are left out.
    pub to: Option<Nanos>,
}

/// Reasons for having no calls.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// No such rank.
    #[error("no record of rank {rank} of world {world}; the run has {known}: `{}`", path.display())]
    Rank {
        /// The requested world.
        world: u32,
        /// The requested rank.
        rank: Rank,
        /// The available ones.
        known: String,
        /// The run.
        path: PathBuf,
    },
    /// No such thread.
    #[error(
        "rank {rank} has {threads} recorded threads, there is no thread {thread}: `{}`",
        path.display()
    )]
    Thread {
        /// The requested rank.
        rank: Rank,
        /// The requested thread.
        thread: u32,
        /// Number of threads.
        threads: usize,
        /// The run.
        path: PathBuf,
    },
    /// A window that ends before it begins.
    #[error("--from {from} is after --to {to}: no call can be between them")]
    Window {
        /// Its begin.
        from: Nanos,
        /// Its end.
        to: Nanos,
    },
    /// A window of time where no times were kept.
    #[error("the run was recorded without the times of single calls, --from and --to need them: `{}`", .0.display())]
    NoTimes(PathBuf),
}

impl Request {
    /// Refuses a window that ends before it begins.
    pub fn check(&self) -> Result<(), EventsError> {
        match (self.from, self.to) {
            (Some(from), Some(to)) if from > to => Err(EventsError::Window { from, to }),
            _ => Ok(()),
        }
    }
}

/// The calls of a thread, one after the other.
pub struct Events<'a> {
    request: Request,
    path: PathBuf,
    thread: &'a Thread,
    /// The call site of each node.
    sites: Vec<String>,
    values: Values<'a>,
    walk: recording::Events<'a>,
}

impl<'a> Events<'a> {
    /// The requested calls of a run; errors name it by `path`.
    pub fn new(run: &'a Run, path: &Path, request: Request) -> Result<Self, EventsError> {
        request.check()?;
        let (process, thread) = find(run, path, request)?;
        let places = Places::new(run);
        let nodes = thread.log.nodes.iter();
        let mut values = Values::new(&run.recording, process, thread);
        let mut walk = process.events(&run.recording, thread);
        if let Some(from) = request.from
            && !values.need_all_events()
        {
            values.pass(&walk.skip_to(from));
        }
        Ok(Self {
            request,
            path: path.to_owned(),
            thread,
            sites: nodes.map(|node| places.short(node.signature.path)).collect(),
            values,
            walk,
        })
    }

    /// Call sites of the thread, one for each node of its graph.
    pub fn sites(&self) -> &[String] {
        &self.sites
    }

    /// Names of its procedures, one for each node of its graph.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        (0..self.thread.log.nodes.len() as u32).map(|at| self.values.name(NodeId(at)))
    }

    /// The next call in the window; none after the last one.
    pub fn next_line(&mut self) -> Result<Option<EventLine<'_>>, EventsError> {
        let Request { from, to, .. } = self.request;
        while let Some(event) = self.walk.next_event() {
            // Every event must be asked for, in order.
            let args = self.values.named(&event);
            if let (Some(begin), Some(duration)) = (event.begin, event.duration) {
                if to.is_some_and(|to| begin > to) {
                    return Ok(None);
                }
                if from.is_some_and(|from| begin + duration < from) {
                    continue;
                }
            } else if (from.is_some() || to.is_some()) && self.thread.has_holes() {
                continue;
            } else if from.is_some() || to.is_some() {
                return Err(EventsError::NoTimes(self.path.clone()));
            }
            let call = self.values.name(event.node);
            let polls = if is_poll(call) && unsuccessful(&args) { event.polls } else { 0 };
            return Ok(Some(EventLine {
                begin_ns: event.begin.map(|begin| begin.0),
                duration_ns: event.duration.map(|duration| duration.0),
                call,
                args,
                polls,
                site: &self.sites[event.node.0 as usize],
            }));
        }
        Ok(None)
    }
}

fn find<'a>(
    run: &'a Run,
    path: &Path,
    request: Request,
) -> Result<(&'a Process, &'a Thread), EventsError> {
    let Request { world, rank, thread: number, .. } = request;
    let processes = &run.recording.processes;
    let wanted = |p: &&Process| p.location.world == world && p.location.rank == rank;
    let process = processes.iter().find(wanted).ok_or_else(|| {
        let ranks = processes.iter().filter(|p| p.location.world == world);
        let ranks = crate::classes::ranges(ranks.map(|p| p.location.rank.0));
        let known = if ranks.is_empty() {
            "none of that world".to_owned()
        } else {
            format!("ranks {ranks} there")
        };
        EventsError::Rank { world, rank, known, path: path.to_owned() }
    })?;
    let thread = process.threads.iter().find(|thread| thread.number == number);
    let thread = thread.ok_or_else(|| EventsError::Thread {
        rank,
        thread: number,
        threads: process.threads.len(),
        path: path.to_owned(),
    })?;
    Ok((process, thread))
}

/// True for a poll that found nothing.
fn unsuccessful(args: &Map<String, Value>) -> bool {
    args.get("flag") == Some(&Value::Bool(false))
        || args.get("outcount").and_then(Value::as_i64) == Some(0)
}

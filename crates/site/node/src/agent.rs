//! `talea agent`: samples this node until a signal or the end of its time.
//!
//! Owns the sampler, the store and the messages: at the begin, at changes, at the end.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use talea_agent::send::Sender;
use talea_agent::slots::Slots;
use talea_agent::{Agent, Budget, Delivery, Files, Progress};
use talea_model::shares::{Batch, Sampler as How};
use talea_model::{Bytes, Gap, GapKind, Gaps, Nanos};
use talea_sampling::give_back_code;
use talea_sampling::system::{self, OpenError, PhaseOf, SystemSampler, Wake};
use talea_store::access::Server;
use talea_store::address::{self, Access};
use talea_store::{Put, Store, StoreError, sqlite};

use crate::NodeError;
use crate::outputs::Outputs;

/// Options of the agent.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address of the store.
    pub store: String,
    /// Samples of each core a second.
    pub rate: f64,
    /// Length of a batch's interval.
    pub interval: Nanos,
    /// How long to work; until a signal if absent.
    pub during: Option<Nanos>,
    /// How samples are taken.
    pub sampler: Sampler,
    /// Name of the node; the host's if absent.
    pub node: Option<String>,
    /// Where batches wait for the store; beside it if absent.
    pub spool: Option<PathBuf>,
    /// Most bytes there.
    pub most: Bytes,
    /// This node's token for a server.
    pub token: Option<PathBuf>,
    /// Certificates that the server's is checked with.
    pub authorities: Option<PathBuf>,
    /// Further outputs of batches.
    pub also: Vec<String>,
    /// Counters around samples.
    pub counters: Counters,
    /// Folder of the files of jobs, and of the file `yield`, by which other tools ask for the
    /// counters.
    pub run_dir: PathBuf,
}

/// Counters around samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counters {
    /// The default counters of this machine.
    Default,
    /// These.
    These(Vec<String>),
}

/// Default folder of batches that wait for a server.
const SPOOL: &str = "/var/lib/talea/spool";

/// Where batches go.
enum Target {
    /// A store of this process.
    Store(Box<dyn Store>),
    /// A server.
    Server(Sender),
}

/// How samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// The best that is allowed.
    Auto,
    /// Counted in the kernel.
    Bpf,
    /// Read one by one.
    Rings,
    /// Of own processes.
    Own,
}

/// Samples until a signal or the time comes.
pub(crate) fn agent(options: &Options, say: &dyn Fn(&str)) -> Result<(), NodeError> {
    // Reading the command line of the program with all commands took megabytes of its file.
    give_back_code();
    let stop = Arc::new(AtomicBool::new(false));
    // Closing the terminal of its start ends it. Elsewhere SIGHUP means to read files again, and it
    // has none.
    let is_attached = std::io::stdin().is_terminal() || std::io::stderr().is_terminal();
    let hangs_up = if is_attached { Arc::clone(&stop) } else { Arc::default() };
    for (signal, flag) in [(SIGINT, &stop), (SIGTERM, &stop), (SIGHUP, &hangs_up)] {
        signal_hook::flag::register(signal, Arc::clone(flag)).map_err(NodeError::Signals)?;
    }
    if let Counters::These(names) = &options.counters {
        system::check_counters(names)?;
    }
    // Each batch keeps its own interval until it is merged into hours: one machine asks for
    // minutes.
    let kept = sqlite::Options { slice: Nanos(0), ..sqlite::Options::default() };
    let node = options.node.clone().unwrap_or_else(host);
    let (mut target, beside) = target(options, &kept, &node)?;
    let mut outputs = Outputs::open(&options.also)?;
    let mut gaps = Gaps::default();
    let counters = match &options.counters {
        Counters::Default => system::default_counters(),
        Counters::These(names) => names.clone(),
    };
    let files = Files::default();
    let sampler = opened(options.sampler, period(options), counters, &files, &mut gaps)?;
    if sampler.name() == How::Bpf && !is_of_the_host() {
        gaps.note(Gap {
            kind: GapKind::Unsupported,
            rank: None,
            detail: "jobs, build ids and phases are not seen: the agent is in a container's name space of processes, and belongs into the host's".to_owned(),
            count: 0,
        });
    }
    let (how, cores) = (sampler.name(), sampler.cores().len());
    for gap in &gaps {
        say(&format!("gap: {}", gap.sentence()));
    }
    let spool = options.spool.clone().unwrap_or(beside);
    let period = period(options);
    let mut agent = Agent::new(
        sampler,
        talea_agent::Options {
            node: node.clone(),
            period,
            interval: Duration::from_nanos(options.interval.0),
            budget: Budget::default(),
            spool: (spool, options.most),
            yields: Some(options.run_dir.join("yield")),
            run_dir: options.run_dir.clone(),
            files,
        },
        gaps,
    )?;
    let s = if cores == 1 { "" } else { "s" };
    say(&format!(
        "sampling {cores} core{s} of `{node}` every {period} {}; a batch every {} to {}",
        words(how),
        options.interval,
        options.store
    ));
    // The loop needs no code of the start.
    give_back_code();
    let begin = Instant::now();
    let over = options.during.map(|during| Duration::from_nanos(during.0));
    let stopped =
        || stop.load(Ordering::Relaxed) || over.is_some_and(|over| begin.elapsed() >= over);
    let mut refusal = String::new();
    let mut put = |store: &mut dyn Store, batch: &Batch| match store.put(batch) {
        Ok(put) => {
            // The agent never ends by itself: what gets old is seen to as it goes on.
            let refused = retain(store).err().map_or_else(String::new, |e| e.to_string());
            if refused != refusal && !refused.is_empty() {
                say(&format!("old times stay as fine as they are: {refused}"));
            }
            refusal = refused;
            if put == Put::New { Delivery::Taken } else { Delivery::Known }
        }
        Err(error @ StoreError::Batch { .. }) => Delivery::Refused(error.to_string()),
        Err(error) => Delivery::Later(error.to_string()),
    };
    let mut deliver = |batch: &_| {
        let delivery = match &mut target {
            Target::Store(store) => put(&mut **store, batch),
            Target::Server(sender) => sender.send(batch),
        };
        // A known batch has gone to the outputs before.
        if delivery == Delivery::Taken {
            outputs.send(batch, say);
        }
        delivery
    };
    let mut last: Option<Progress> = None;
    let mut samples = 0;
    agent.run(&stopped, &mut deliver, &mut |progress| {
        // The first batch needs code that later ones do not, such as that of a new store's tables.
        if last.is_none() {
            give_back_code();
        }
        samples += progress.samples;
        say_changes(last.as_ref(), progress, say);
        last = Some(progress.clone());
    });
    outputs.end(say);
    if let Some(last) = last {
        say(&total(samples, &last));
    }
    Ok(())
}

/// All samples and batches of the agent, and its own cost.
fn total(samples: u64, last: &Progress) -> String {
    let cost = last.cost.map_or_else(String::new, |cost| {
        let took = Nanos(cost.processor.as_nanos() as u64);
        format!("; the agent took {took} of a core and has {}", Bytes(cost.memory))
    });
    let samples_word = if samples == 1 { "sample" } else { "samples" };
    let batches_word = if last.batches == 1 { "batch" } else { "batches" };
    format!("{samples} {samples_word} in {} {batches_word}{cost}", last.batches)
}

/// Prints changes of the delivery.
fn say_changes(last: Option<&Progress>, now: &Progress, say: &dyn Fn(&str)) {
    let unkept = last.and_then(|last| last.unkept.as_ref());
    match &now.unkept {
        Some(why) if unkept != Some(why) => say(&format!("batches are lost: {why}")),
        None if unkept.is_some() => say("batches are kept again"),
        _ => {}
    }
    let trouble = last.and_then(|last| last.trouble.as_ref());
    match &now.trouble {
        Some(why) if trouble != Some(why) && now.waiting == 1 => {
            say(&format!("1 batch waits: {why}"));
        }
        Some(why) if trouble != Some(why) => say(&format!("{} batches wait: {why}", now.waiting)),
        None if trouble.is_some() => say("the store takes batches again"),
        _ => {}
    }
}

/// The receiver of batches, and the default folder in which they wait for it.
fn target(
    options: &Options,
    kept: &sqlite::Options,
    node: &str,
) -> Result<(Target, PathBuf), NodeError> {
    let server =
        Server::from_address(&options.store, options.token.clone(), options.authorities.clone())?;
    if let Some(server) = server {
        return Ok((Target::Server(Sender::new(&server, node)?), PathBuf::from(SPOOL)));
    }
    let store = address::open(&options.store, Access::Write, kept)?;
    let beside = match address::parse(&options.store)? {
        address::Address::Sqlite(file) => {
            let mut name = file.into_os_string();
            name.push(".spool");
            name.into()
        }
        address::Address::Prometheus(_) => PathBuf::from(SPOOL),
    };
    Ok((Target::Store(store), beside))
}

/// Makes some old times coarser, in steps that take a moment each.
fn retain(store: &mut dyn Store) -> Result<(), StoreError> {
    const STEPS: usize = 4;
    store.retain(Nanos::now(), STEPS)?;
    Ok(())
}

fn period(options: &Options) -> Nanos {
    Nanos((1e9 / options.rate).round() as u64)
}

/// Opens a sampler that sees phases too; `files` has the deadline of its accesses to processes.
///
/// # Errors
/// What stands against it.
pub fn opened(
    sampler: Sampler,
    period: Nanos,
    counters: Vec<String>,
    files: &Files,
    gaps: &mut Gaps,
) -> Result<Box<dyn SystemSampler>, OpenError> {
    let asked = system::Options {
        period,
        seed: u64::from(std::process::id()),
        // Phases are read while threads are still in them.
        wake: Wake::EachSample,
        counters,
        ..system::Options::default()
    };
    let phases = || -> PhaseOf {
        let mut slots = Slots::new(files.clone());
        Box::new(move |process, thread| slots.phase_of(process, thread))
    };
    match sampler {
        Sampler::Auto => system::open(&asked, Some(phases()), gaps),
        Sampler::Bpf => system::open_bpf(&asked),
        Sampler::Rings => system::open_rings(&asked, Some(phases())),
        Sampler::Own => system::open_own(&asked),
    }
}

fn words(how: How) -> &'static str {
    match how {
        How::Bpf => "by a BPF program in the kernel",
        How::Rings => "by rings of perf events",
        How::OwnProcesses => "in this user's processes only",
    }
}

/// Whether the numbers of processes that the kernel counts by are those that `/proc` has here.
fn is_of_the_host() -> bool {
    // The kernel's own number of the first name space (`PROC_PID_INIT_INO`).
    const FIRST: &str = "pid:[4026531836]";
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|space| space.as_os_str() == FIRST)
}

/// This host's name.
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn what_changes_is_said_once() {
        let progress = |unkept: Option<&str>, trouble: Option<&str>| Progress {
            batches: 1,
            samples: 1,
            waiting: 2,
            trouble: trouble.map(str::to_owned),
            unkept: unkept.map(str::to_owned),
            cost: None,
        };
        let said = RefCell::new(Vec::new());
        let mut last = None;
        for (unkept, trouble) in [
            (None, None),
            (Some("full"), None),
            (Some("full"), Some("away")),
            (Some("other"), Some("away")),
            (None, Some("away")),
            (None, None),
        ] {
            let now = progress(unkept, trouble);
            say_changes(last.as_ref(), &now, &|text| said.borrow_mut().push(text.to_owned()));
            last = Some(now);
        }
        let expected = [
            "batches are lost: full",
            "2 batches wait: away",
            "batches are lost: other",
            "batches are kept again",
            "the store takes batches again",
        ];
        assert_eq!(said.into_inner(), expected);
    }
}

//! `talea agent`: samples this node until it is told to stop.
//!
//! Owns what is opened, and what is said on standard error: once at the begin, when something changes, once at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use talea_agent::send::{self, Sender};
use talea_agent::slots::Slots;
use talea_agent::{Agent, Budget, Delivery, Progress};
use talea_model::shares::Sampler as How;
use talea_model::{Bytes, Gaps, Nanos};
use talea_sampling::system::{self, PhaseOf, SystemSampler, Wake};
use talea_store::address::{self, Access};
use talea_store::{Store, StoreError, sqlite};

use super::AlwaysError;
use crate::terminal::say;

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Address of the store.
    pub(crate) store: String,
    /// Samples of each core a second.
    pub(crate) rate: f64,
    /// What a batch is of.
    pub(crate) interval: Nanos,
    /// How long to work; until a signal if absent.
    pub(crate) during: Option<Nanos>,
    /// How samples are taken.
    pub(crate) sampler: Sampler,
    /// Name of the node; the host's if absent.
    pub(crate) node: Option<String>,
    /// Where batches wait for the store; beside it if absent.
    pub(crate) spool: Option<PathBuf>,
    /// Most bytes there.
    pub(crate) most: Bytes,
    /// This node's token for a server.
    pub(crate) token: Option<PathBuf>,
    /// Who vouches for the server.
    pub(crate) authorities: Option<PathBuf>,
}

/// Where batches wait for a server unless somebody says where.
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
pub(crate) enum Sampler {
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
pub(crate) fn agent(options: &Options) -> Result<(), AlwaysError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(AlwaysError::Signals)?;
    }
    // Each batch keeps its own interval until it is merged into hours: one machine asks for minutes.
    let kept = sqlite::Options { slice: Nanos(0), ..sqlite::Options::default() };
    let is_server = ["http://", "https://"].iter().any(|scheme| options.store.starts_with(scheme));
    let (mut target, spool) = if is_server {
        let token = options.token.clone().ok_or(AlwaysError::NoToken)?;
        let authorities = options.authorities.clone();
        let server = send::Server { address: options.store.clone(), token, authorities };
        (Target::Server(Sender::new(&server)?), PathBuf::from(SPOOL))
    } else {
        let store = address::open(&options.store, Access::Write, &kept)?;
        let address::Address::Sqlite(file) = address::parse(&options.store)?;
        let mut beside = file.into_os_string();
        beside.push(".spool");
        (Target::Store(store), beside.into())
    };
    let mut gaps = Gaps::default();
    let sampler = opened(options, &mut gaps)?;
    let (how, cores) = (sampler.name(), sampler.cores().len());
    for gap in &gaps {
        say(&format!("gap: {}", gap.detail));
    }
    let spool = options.spool.clone().unwrap_or(spool);
    let node = options.node.clone().unwrap_or_else(host);
    let period = period(options);
    let mut agent = Agent::new(
        sampler,
        talea_agent::Options {
            node: node.clone(),
            period,
            interval: Duration::from_nanos(options.interval.0),
            budget: Budget::default(),
            spool: (spool, options.most),
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
    let begin = Instant::now();
    let over = options.during.map(|during| Duration::from_nanos(during.0));
    let stopped =
        || stop.load(Ordering::Relaxed) || over.is_some_and(|over| begin.elapsed() >= over);
    let mut refusal = String::new();
    let mut put = |store: &mut dyn Store, batch: &_| match store.put(batch) {
        Ok(_) => {
            // The agent never ends by itself: what gets old is seen to as it goes on.
            let refused = retain(store).err().map_or_else(String::new, |e| e.to_string());
            if refused != refusal && !refused.is_empty() {
                say(&format!("old times stay as fine as they are: {refused}"));
            }
            refusal = refused;
            Delivery::Taken
        }
        Err(error @ StoreError::Batch { .. }) => Delivery::Refused(error.to_string()),
        Err(error) => Delivery::Later(error.to_string()),
    };
    let mut deliver = |batch: &_| match &mut target {
        Target::Store(store) => put(&mut **store, batch),
        Target::Server(sender) => sender.send(batch),
    };
    let mut last: Option<Progress> = None;
    let mut samples = 0;
    agent.run(&stopped, &mut deliver, &mut |progress| {
        samples += progress.samples;
        let before = last.as_ref().and_then(|last| last.trouble.as_ref());
        match &progress.trouble {
            Some(trouble) if before != Some(trouble) => {
                say(&format!("{} batches wait: {trouble}", progress.waiting));
            }
            None if before.is_some() => say("the store takes batches again"),
            _ => {}
        }
        last = Some(progress.clone());
    })?;
    if let Some(last) = last {
        let cost = last.cost.map_or_else(String::new, |cost| {
            let took = Nanos(cost.processor.as_nanos() as u64);
            format!("; the agent took {took} of a core and has {}", Bytes(cost.memory))
        });
        say(&format!("{samples} samples in {} batches{cost}", last.batches));
    }
    Ok(())
}

/// Makes some old times coarser, in steps that take a moment each.
fn retain(store: &mut dyn Store) -> Result<(), StoreError> {
    const STEPS: usize = 4;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    store.retain(Nanos(now.unwrap_or_default().as_nanos() as u64), STEPS)?;
    Ok(())
}

fn period(options: &Options) -> Nanos {
    Nanos((1e9 / options.rate).round() as u64)
}

fn opened(options: &Options, gaps: &mut Gaps) -> Result<Box<dyn SystemSampler>, AlwaysError> {
    let asked = system::Options {
        period: period(options),
        seed: u64::from(std::process::id()),
        // Phases are read while threads are still in them.
        wake: Wake::EachSample,
        ..system::Options::default()
    };
    let phases = || -> PhaseOf {
        let mut slots = Slots::default();
        Box::new(move |process, thread| slots.phase_of(process, thread))
    };
    Ok(match options.sampler {
        Sampler::Auto => system::open(&asked, Some(phases()), gaps)?,
        Sampler::Bpf => system::open_bpf(&asked)?,
        Sampler::Rings => system::open_rings(&asked, Some(phases()))?,
        Sampler::Own => system::open_own(&asked)?,
    })
}

fn words(how: How) -> &'static str {
    match how {
        How::Bpf => "by a BPF program in the kernel",
        How::Rings => "by rings of perf events",
        How::OwnProcesses => "in this user's processes only",
    }
}

/// This host's name.
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

//! A recording of a generated program with many ranks, made by the real recorder.
//!
//! `generate_run OUT --ranks N --events E --behaviours B` writes a run directory: N ranks with
//! about E events each, in B kinds of behaviour. Each rank's calls go through the recorder of the
//! library into a mapped file, its bundle, and the merge of all, as in a real run; their times are
//! computed. All ranks compute, exchange messages in a ring, and reduce over the ranks of their
//! own kind, those of kind K in K + 1 calls; every tenth step ends with a reduction over all. The
//! last kind computes longer than the others, and three steps take six times as long as the rest.
//!
//! With `--hosts FIRST:COUNT` it writes the mapped files of these hosts instead, as they are while
//! the program runs.

// A program for the command line.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use rayon::prelude::*;
use talea_flow::times::{Bound, Quantiser};
use talea_model::args::special;
use talea_model::random::mix;
use talea_model::{Frame, Gaps, Module, Nanos, ResolvedFrame};
use talea_mpi::abi::entry::ENTRIES;
use talea_mpi::plan::Plan;
use talea_mpi::record::memory::Memory;
use talea_mpi::record::{HotNode, Recorder, Translate};
use talea_run::bundle::Bundle;
use talea_run::directory::FORMAT;
use talea_run::live::LiveProcess;
use talea_run::live::layout::{self, Node, Sync, Thread, TimesMode};
use talea_run::live::record::{CommSymbol, Members, Symbol, put_module, put_procedure};
use talea_run::mapped::live_name;
use talea_run::sites::ResolvedAddress;
use talea_run::{MappedRegion, Metadata, Outcome, RunDirectory, SiteTable, trace};

const HELP: &str = "expected generate_run OUT [--ranks N] [--events E] [--behaviours B (1 to 8)] [--hosts FIRST:COUNT]";
/// Length of a step.
const STEP: u64 = 1_000_000;
/// Length of the part of a slow step that others do not have.
const SLOW: u64 = 5 * STEP;
/// Begin of the first step.
const BEGIN: u64 = 60_000_000;
/// Name of the program, of its source file, and of the recording's hosts.
const NAME: &str = "generated";
/// Ranks of one host.
const OF_HOST: u32 = 64;
/// Ranks that are merged before others join them.
const TOGETHER: u32 = 64;

/// Calls of the program: procedure, function and line.
const SITES: [(&str, &str, u32); 6] = [
    ("MPI_Init", "main", 10),
    ("MPI_Bcast", "read_input", 20),
    ("MPI_Sendrecv", "exchange", 30),
    ("MPI_Allreduce", "sum_of_kind", 40),
    ("MPI_Allreduce", "sum_of_all", 50),
    ("MPI_Finalize", "main", 60),
];
/// Line of the call of each function in `main`.
const OUTER: u32 = 100;

/// Size and kinds of the program.
#[derive(Clone, Copy, Debug)]
struct Program {
    ranks: u32,
    steps: u64,
    kinds: u32,
}

impl Program {
    fn kind(self, rank: u32) -> u32 {
        rank % self.kinds
    }

    /// Steps that take longer, after the first of them that a step number has passed.
    fn slow_before(self, step: u64) -> u64 {
        (1..=3).filter(|quarter| self.steps * quarter / 4 < step).count() as u64
    }

    fn is_slow(self, step: u64) -> bool {
        self.steps >= 20 && self.slow_before(step + 1) > self.slow_before(step)
    }

    fn begin(self, step: u64) -> u64 {
        let slow = if self.steps >= 20 { self.slow_before(step) } else { 0 };
        BEGIN + step * STEP + slow * SLOW
    }

    /// End of the computation of a rank in a step.
    fn computed(self, rank: u32, step: u64) -> u64 {
        let noise = mix(u64::from(rank) << 32 | step) % (STEP / 50);
        let kind = self.kind(rank);
        let more = if kind + 1 == self.kinds { STEP / 5 } else { 0 };
        let slow = if self.is_slow(step) && kind == 0 { SLOW } else { 0 };
        self.begin(step) + STEP * 2 / 5 + more + noise + slow
    }
}

/// Recorded values of a call.
struct Values<'a>(&'a [i64]);

impl Translate for Values<'_> {
    fn translate(&mut self, plan: &Plan, _: &[u64], values: &mut [i64]) {
        values[..plan.columns.len()].copy_from_slice(self.0);
    }

    fn epoch(&self) -> u32 {
        0
    }
}

/// Plans of the procedures of [`SITES`].
fn plan(site: usize) -> &'static Plan {
    static PLANS: OnceLock<Vec<Plan>> = OnceLock::new();
    let of = |&(name, ..): &(&str, &str, u32)| {
        let entry = ENTRIES.iter().find(|entry| entry.name.to_str() == Ok(name));
        Plan::new(entry.unwrap_or(&ENTRIES[0]))
    };
    &PLANS.get_or_init(|| SITES.iter().map(of).collect())[site]
}

/// A rank while it is recorded.
struct Recorded {
    memory: *mut Memory,
    recorder: Recorder,
    thread: *mut Thread,
    nodes: [Option<HotNode>; SITES.len()],
    program: Program,
    rank: u32,
}

impl Recorded {
    fn new(program: Program, rank: u32) -> Option<Self> {
        let room = (1 << 20) + program.steps as usize * 64;
        let memory = Memory::new(MappedRegion::anonymous(room).ok()?)?;
        let memory = Box::into_raw(Box::new(memory));
        // SAFETY: it is freed in `finish`, after the recorder that refers to it.
        let shared: &'static Memory = unsafe { &*memory };
        let quantiser = Arc::new(Quantiser::new(Bound::default()));
        // SAFETY: the memory is fresh and used by this thread only.
        unsafe {
            let header = &mut *shared.header();
            header.magic = layout::MAGIC;
            header.version = layout::VERSION;
            header.state = layout::state::FINALIZED;
            (header.rank, header.size) = (rank as i32, program.ranks);
            (header.pid, header.world, header.abi) = (rank + 1, 1, 1);
            (header.tick_mult, header.callers) = (1 << 32, 3);
            let bound = Bound::default();
            header.bound_relative = bound.relative_ppm;
            header.bound_absolute = bound.absolute.0 as u32;
            header.bound_drift = bound.drift.0 as u32;
            header.syncs[1] = Sync { ticks: 1 << 50, nanos: 1 << 50 };
            header.sync_count = 2;
            let host = host_name(rank);
            header.host[..host.len()].copy_from_slice(host.as_bytes());
            let library = b"none: the calls were generated";
            header.library[..library.len()].copy_from_slice(library);
            let mut bytes = Vec::new();
            put_module(&mut bytes, &module());
            shared.append(&raw mut (*shared.header()).modules, &bytes).ok()?;
            bytes.clear();
            for symbol in symbols(program, rank) {
                symbol.put(&mut bytes);
            }
            shared.append(&raw mut (*shared.header()).symbols, &bytes).ok()?;
            let offset = shared.allocate(size_of::<Thread>() as u64).ok()?;
            let thread = shared.at::<Thread>(offset);
            (header.threads[0], header.thread_count) = (offset, 1);
            let recorder = Recorder::new(shared, thread, quantiser, TimesMode::Bounded);
            let nodes = std::array::from_fn(|_| None);
            Some(Self { memory, recorder, thread, nodes, program, rank })
        }
    }

    /// Makes the node of a call site.
    fn node(&mut self, site: usize) -> Option<HotNode> {
        let plan = plan(site);
        // SAFETY: as in `new`.
        unsafe {
            let memory = &*self.memory;
            let count = (*self.thread).node_count;
            let mut bytes = Vec::new();
            put_procedure(&mut bytes, plan.procedure, &plan.spec);
            memory.append(&raw mut (*memory.header()).procedures, &bytes).ok()?;
            let offset = memory.allocate(size_of::<Node>() as u64).ok()?;
            let node = memory.at::<Node>(offset);
            (*node).index = count;
            (*node).procedure = plan.procedure;
            (*node).columns = plan.columns.len() as u32;
            let (_, function, line) = SITES[site];
            (*node).path[0].offset = u64::from(line);
            (*node).path_len = 1;
            if function != "main" {
                (*node).path[1].offset = u64::from(line + OUTER);
                (*node).path_len = 2;
            }
            if (*self.thread).last_node == 0 {
                (*self.thread).first_node = offset;
            } else {
                (*memory.at::<Node>((*self.thread).last_node)).next = offset;
            }
            (*self.thread).last_node = offset;
            (*self.thread).node_count += 1;
            Some(HotNode::new(node, plan, count))
        }
    }

    /// Records a call with these arguments by name; others are 0.
    fn call(&mut self, site: usize, args: &[(&str, i64)], begin: u64, end: u64) {
        if self.nodes[site].is_none() {
            self.nodes[site] = self.node(site);
        }
        let plan = plan(site);
        let value = |name: &str| {
            let known = args.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
            known.unwrap_or(if name.contains('.') { special::ABSENT } else { 0 })
        };
        let values: Vec<i64> = plan.spec.args.iter().map(|arg| value(&arg.name)).collect();
        let mut words: Vec<u64> = values.iter().map(|&value| value as u64).collect();
        words.resize(plan.words(), 0);
        let Some(hot) = &mut self.nodes[site] else { return };
        // SAFETY: the node is this thread's, and there are as many words as it has.
        unsafe {
            self.recorder.event(hot, begin, end, &words, false, 1, &mut Values(&values));
            (*self.thread).end_ticks = end;
        }
    }

    fn run(&mut self) {
        let (program, rank) = (self.program, self.rank);
        let kind = program.kind(rank);
        let (right, left) =
            ((rank + 1) % program.ranks, (rank + program.ranks - 1) % program.ranks);
        self.call(0, &[], mix(u64::from(rank)) % STEP, BEGIN - 9 * STEP);
        self.call(1, &[("count", 64)], BEGIN - 5 * STEP, BEGIN - 4 * STEP);
        for step in 0..program.steps {
            let ready = program.computed(rank, step);
            let mut now = ready.max(program.computed(left, step)) + 5_000;
            let ring = [
                ("sendcount", 1000),
                ("recvcount", 1000),
                ("dest", i64::from(right)),
                ("source", i64::from(left)),
            ];
            self.call(2, &ring, ready, now);
            let slow = if program.is_slow(step) { SLOW } else { 0 };
            for sum in 0..=u64::from(kind) {
                let end = program.begin(step) + slow + STEP * 3 / 4 + sum * (STEP / 40);
                self.call(3, &[("count", 1), ("comm", 1)], now + 2_000, end.max(now + 3_000));
                now = end.max(now + 3_000);
            }
            if step % 10 == 9 {
                let end = program.begin(step + 1) - 2_000;
                self.call(4, &[("count", 3)], now + 2_000, end.max(now + 3_000));
            }
        }
        let end = program.begin(program.steps);
        self.call(5, &[], end, end + STEP);
    }

    /// The bundle of the rank.
    fn finish(self) -> Result<Bundle, String> {
        self.with_bytes(|bytes| {
            let process = LiveProcess::read(bytes).map_err(|error| error.to_string())?;
            match process.damage.first() {
                None => Ok(Bundle::from_live(&process)),
                Some(damage) => Err(damage.clone()),
            }
        })
    }

    /// The bytes of its file.
    fn with_bytes<T>(self, read: impl FnOnce(&[u8]) -> Result<T, String>) -> Result<T, String> {
        let is_full = self.recorder.full.is_some();
        let memory = self.memory;
        drop(self.recorder);
        // SAFETY: it came from a box, and nothing refers to it any more; no thread writes.
        let memory = unsafe { Box::from_raw(memory) };
        if is_full {
            return Err("no room for the events of a rank".to_owned());
        }
        // SAFETY: as above.
        read(unsafe { memory.bytes() })
    }

    /// Writes the file of a rank that is running.
    fn write(self, live: &Path) -> Result<(), String> {
        // SAFETY: as in `new`.
        unsafe { (*(*self.memory).header()).state = layout::state::RECORDING };
        let name = live_name(&host_name(self.rank), self.rank + 1, Nanos(1));
        self.with_bytes(|bytes| {
            let done = std::fs::write(live.join(&name), bytes);
            done.map_err(|error| format!("{error}: `{name}`"))
        })
    }
}

fn host_name(rank: u32) -> String {
    format!("{NAME}{:05}", rank / OF_HOST)
}

fn module() -> Module {
    Module { path: format!("/{NAME}"), build_id: String::new() }
}

fn symbols(program: Program, rank: u32) -> Vec<Symbol> {
    let comm = |name: String, leader: u32, stride: u32, count: u32| {
        let members = Members::Range {
            first: i64::from(leader),
            stride: i64::from(stride),
            count: u64::from(count),
        };
        Symbol::Comm(CommSymbol { name, leader, members, inter: false })
    };
    let (kinds, kind) = (program.kinds, program.kind(rank));
    let of_kind = (program.ranks - kind).div_ceil(kinds);
    vec![
        comm("world".to_owned(), 0, 1, program.ranks),
        comm("world.split0".to_owned(), kind, kinds, of_kind),
        Symbol::Datatype { size: 8, name: "MPI_DOUBLE".to_owned() },
        Symbol::Op { name: "MPI_SUM".to_owned() },
    ]
}

fn recorded(program: Program, rank: u32) -> Result<Bundle, String> {
    let mut recording = Recorded::new(program, rank).ok_or("no memory for a rank")?;
    recording.run();
    recording.finish()
}

/// Writes the mapped files of some hosts.
fn write_hosts(program: Program, directory: &RunDirectory, hosts: &str) -> Result<(), String> {
    let (first, count) = hosts.split_once(':').ok_or(HELP)?;
    let number = |text: &str| text.parse::<u32>().map_err(|error| format!("{error}: `{hosts}`"));
    let (first, count) = (number(first)?, number(count)?);
    let live = directory.live();
    std::fs::create_dir_all(&live).map_err(|error| format!("{error}: `{}`", live.display()))?;
    let end = first.saturating_add(count).saturating_mul(OF_HOST).min(program.ranks);
    let ranks = first.saturating_mul(OF_HOST)..end;
    ranks.into_par_iter().try_for_each(|rank| {
        let mut recording = Recorded::new(program, rank).ok_or("no memory for a rank")?;
        recording.run();
        recording.write(&live)
    })
}

fn merged(program: Program) -> Result<Bundle, String> {
    let groups: Vec<u32> = (0..program.ranks).step_by(TOGETHER as usize).collect();
    let group = |&first: &u32| {
        let mut all = recorded(program, first)?;
        for rank in first + 1..(first + TOGETHER).min(program.ranks) {
            all.merge(&recorded(program, rank)?);
        }
        Ok(all)
    };
    let mut level: Vec<Bundle> = groups.par_iter().map(group).collect::<Result<_, String>>()?;
    while level.len() > 1 {
        level = level
            .par_chunks_mut(2)
            .map(|pair| {
                let mut first = std::mem::replace(&mut pair[0], Bundle::nothing());
                if let Some(second) = pair.get(1) {
                    first.merge(second);
                }
                first
            })
            .collect();
    }
    level.pop().ok_or_else(|| HELP.to_owned())
}

fn sites() -> SiteTable {
    let frame = |function: &str, line: u32| ResolvedFrame {
        function: Some(function.to_owned()),
        file: Some(format!("{NAME}.c")),
        line: Some(line),
        offset: None,
        address: format!("{NAME}+{line:#x}"),
    };
    let mut addresses = BTreeMap::new();
    for (_, function, line) in SITES {
        let at = |offset: u32| Frame { module: 0, offset: u64::from(offset) };
        addresses.insert(at(line), frame(function, line));
        if function != "main" {
            addresses.insert(at(line + OUTER), frame("main", line + OUTER));
        }
    }
    let resolved = |(address, frame)| ResolvedAddress { address, frames: vec![frame], code: None };
    SiteTable {
        format: FORMAT,
        modules: vec![module()],
        addresses: addresses.into_iter().map(resolved).collect(),
        gaps: Gaps::default(),
    }
}

fn generate(words: &[String]) -> Result<(), String> {
    let (mut out, mut ranks, mut events, mut kinds) = (None, 1024, 1e4, 5);
    let mut hosts = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || -> Result<f64, String> {
            let text = words.next().ok_or(HELP)?;
            text.parse().map_err(|error| format!("{word}: expected a number ({error}): `{text}`"))
        };
        match word.as_str() {
            "--ranks" => ranks = number()? as u32,
            "--events" => events = number()?,
            "--hosts" => hosts = Some(words.next().ok_or(HELP)?),
            "--behaviours" => kinds = number()? as u32,
            _ if out.is_none() && !word.starts_with('-') => out = Some(PathBuf::from(word)),
            _ => return Err(format!("unexpected `{word}`; {HELP}")),
        }
    }
    let out = out.ok_or(HELP)?;
    if !(1..=8).contains(&kinds) || ranks < kinds.max(2) || events < 20.0 {
        return Err(format!("{HELP}; N at least B and 2, E at least 20"));
    }
    // A step has a message, the sums of the kind, in the mean, and a tenth of a sum of all.
    let of_step = 1.0 + f64::from(kinds + 1) / 2.0 + 0.1;
    let program = Program { ranks, steps: ((events - 3.0) / of_step) as u64, kinds };
    let begin = Instant::now();
    if let Some(hosts) = hosts {
        let directory = RunDirectory::open(&out).map_err(|error| error.to_string())?;
        return write_hosts(program, &directory, hosts);
    }
    let mut bundle = merged(program)?;
    let directory = RunDirectory::create(Some(&out), NAME).map_err(|error| error.to_string())?;
    trace::write(directory.path(), &mut bundle).map_err(|error| error.to_string())?;
    sites().write(&directory.sites()).map_err(|error| error.to_string())?;
    let argv = vec![NAME.to_owned(), format!("{ranks} ranks"), format!("{events} events each")];
    let metadata = Metadata {
        command: format!("{}: no program ran, calls and times were generated", argv.join(", ")),
        argv,
        host: NAME.to_owned(),
        outcome: Some(Outcome::ExitCode(0)),
        wall: Some(Nanos(program.begin(program.steps) + STEP)),
        ..Metadata::default()
    };
    directory.write_metadata(&metadata).map_err(|error| error.to_string())?;
    println!("{} in {:.1} s", directory.path().display(), begin.elapsed().as_secs_f64());
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match generate(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

//! A made-up site behind the real server, for the tests of its pages: nodes, jobs of two users, a
//! node that fell silent, hostile names, counters.
//!
//! `site FOLDER` fills a store in an empty folder, prints the address on standard output and serves
//! until it is ended. `root` (operator), `ada` (1001) and `ben` (1002) have the password `correct
//! horse`. What is in the store depends on nothing but the time, which ends now.

// An example tells on standard output where it listens.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use talea_model::shares::{
    Activity, Batch, BatchId, Counter, Job, KERNEL, Rate, Sampler, Share, Spread, bucket,
};
use talea_model::{Gaps, Module, Nanos};
use talea_results::site;
use talea_serve::access::{Role, add_user};
use talea_serve::{Findings, Functions, Options, serve};
use talea_store::sqlite::{self, Sqlite};
use talea_store::{Bounds, Store as _, Visible};

const SECOND: u64 = 1_000_000_000;
const SLICE: u64 = 600 * SECOND;
/// Three hours.
const SLICES: u64 = 18;
const CORES: u32 = 4;
const NODES: u64 = 8;
const PASSWORD: &str = "correct horse";
const HOSTILE: &str = "\"><img src=x onerror=window.broken=1>\u{202e}'; DROP TABLE share;\n--";

/// A job: name, owner, nodes, slices, samples in ten of its cores that are busy, and what it runs.
struct Load {
    id: &'static str,
    user: u32,
    nodes: std::ops::Range<u64>,
    slices: std::ops::Range<u64>,
    busy: u64,
    /// Path of the file, phase, parts of ten.
    parts: &'static [(&'static str, &'static str, u64)],
}

const LOADS: [Load; 4] = [
    Load {
        id: "4711",
        user: 1001,
        nodes: 0..4,
        slices: 4..18,
        busy: 10,
        parts: &[
            ("/opt/lammps/bin/lmp_mpi", "pair", 6),
            ("/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40", "exchange", 3),
            ("/lib/x86_64-linux-gnu/libm.so.6", "pair", 1),
        ],
    },
    Load {
        id: "4712_3",
        user: 1002,
        nodes: 4..6,
        slices: 0..18,
        busy: 4,
        parts: &[
            ("/home/ben/code/solver", "assemble", 5),
            ("/opt/intel/oneapi/mkl/2025.0/lib/libmkl_avx512.so.2", "solve", 5),
        ],
    },
    Load {
        id: "4690",
        user: 1001,
        nodes: 0..2,
        slices: 0..3,
        busy: 8,
        parts: &[("/usr/bin/python3.11", "load", 10)],
    },
    Load {
        id: HOSTILE,
        user: 1001,
        nodes: 6..7,
        slices: 9..18,
        busy: 9,
        parts: &[(HOSTILE, HOSTILE, 10)],
    },
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).map(PathBuf::from).ok_or("usage: site FOLDER")?;
    let (store, config) = (folder.join("site.db"), folder.join("config"));
    fill(&store)?;
    for (name, uid, role) in
        [("root", 0, Role::Operator), ("ada", 1001, Role::User), ("ben", 1002, Role::User)]
    {
        add_user(&config, name, uid, role, PASSWORD)?;
    }
    serve(Options {
        store: format!("sqlite:{}", store.display()),
        slice: Nanos(SLICE),
        most: None,
        oldest: Nanos(90 * 86_400 * SECOND),
        longest: talea_serve::LONGEST_QUERY,
        memory: talea_serve::MEMORY_OF_QUERY,
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        config,
        tls: None,
        insecure: false,
        findings: Arc::new(Idle),
        functions: Arc::new(Places),
        connections: talea_serve::MOST_CONNECTIONS,
        connections_of_address: talea_serve::MOST_CONNECTIONS,
        patience: talea_serve::Patience::default(),
        ready: Box::new(|address| println!("http://{address}")),
    })?;
    Ok(())
}

fn fill(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
    let last = now / SLICE * SLICE;
    let mut store = Sqlite::open(path, &sqlite::Options::default())?;
    for slice in 0..SLICES {
        let begin = last - (SLICES - 1 - slice) * SLICE;
        let batches: Vec<Batch> = (0..NODES)
            .filter(|&node| node != 7 || slice < 12)
            .map(|node| batch(node, slice, begin))
            .collect();
        store.put_all(&batches)?;
    }
    Ok(())
}

fn batch(node: u64, slice: u64, begin: u64) -> Batch {
    let load = LOADS.iter().find(|one| one.nodes.contains(&node) && one.slices.contains(&slice));
    let mut batch = Batch {
        begin: Nanos(begin),
        end: Nanos(begin + SLICE),
        period: Nanos(SECOND),
        cores: CORES,
        sampler: Sampler::Bpf,
        modules: vec![module(KERNEL)],
        ..Batch::empty(BatchId { node: format!("n{:02}", node + 1), started: 1, number: slice })
    };
    let samples = SLICE / SECOND;
    let Some(load) = load else {
        batch.shares = (0..CORES).map(|core| share(core, Activity::Idle, samples)).collect();
        return batch;
    };
    batch.jobs = vec![Job { id: load.id.to_owned(), user: Some(load.user) }];
    batch.modules.extend(load.parts.iter().map(|(path, ..)| module(path)));
    batch.phases = load.parts.iter().map(|(_, phase, _)| (*phase).to_owned()).collect();
    batch.phases.dedup();
    let phase = |name: &str| batch.phases.iter().position(|one| one == name).map(|at| at as u32);
    for core in 0..CORES {
        let mine = |activity, samples| Share {
            job: Some(0),
            user: Some(load.user),
            ..share(core, activity, samples)
        };
        // Later cores do less, and nodes and slices are not all alike.
        let busy = samples * load.busy / 10 * (20 - u64::from(core)) / 20 - (node * 7 + slice) % 11;
        let kernel = busy / 20;
        for (at, (_, name, part)) in load.parts.iter().enumerate() {
            batch.shares.push(Share {
                executable: Some(1),
                library: Some(at as u32 + 1),
                address: Some(0x1000 * (at as u64 + 1)),
                phase: phase(name),
                ..mine(Activity::User, (busy - kernel) * part / 10)
            });
        }
        batch.shares.push(Share {
            executable: Some(1),
            library: Some(0),
            address: Some(0xffff_8000_0000_1000),
            ..mine(Activity::Kernel, kernel)
        });
        let seen: u64 =
            batch.shares.iter().filter(|one| one.core == core).map(|one| one.samples).sum();
        batch.shares.push(mine(Activity::Waiting, samples - seen));
    }
    batch.shares.sort();
    count(&mut batch, load);
    batch
}

/// Counters of a job that computes: instructions, cycles and page faults of every part, and of
/// every core.
fn count(batch: &mut Batch, load: &Load) {
    const COUNTERS: [(&str, f64); 3] =
        [("cycles", 3.1e9), ("instructions", 4.2e9), ("page-faults", 90.0)];
    batch.counters = COUNTERS
        .iter()
        .map(|(name, _)| Counter { name: (*name).to_owned(), unit: "1".to_owned() })
        .collect();
    for (counter, (_, rate)) in COUNTERS.iter().enumerate() {
        for (at, (_, _, part)) in load.parts.iter().enumerate() {
            let nanos = part * SLICE / 10;
            batch.rates.push(Rate {
                counter: counter as u32,
                job: Some(0),
                user: Some(load.user),
                executable: Some(1),
                library: Some(at as u32 + 1),
                phase: Some((at as u32).min(batch.phases.len() as u32 - 1)),
                samples: nanos / SECOND / 3,
                nanos,
                count: (rate / (at + 1) as f64 * nanos as f64 / 1e9) as u64,
            });
        }
        let mut cores: Vec<(i16, u32)> = (0..CORES)
            .filter_map(|core| Some((bucket(rate * f64::from(20 - 3 * core) / 20.0)?, 1)))
            .collect();
        cores.sort_unstable();
        cores.dedup_by_key(|one| one.0);
        batch.spreads.push(Spread { counter: counter as u32, job: 0, cores });
    }
    batch.rates.sort();
    batch.spreads.sort();
}

fn module(path: &str) -> Module {
    Module { path: path.to_owned(), build_id: String::new() }
}

fn share(core: u32, activity: Activity, samples: u64) -> Share {
    Share {
        core,
        activity,
        job: None,
        user: None,
        executable: None,
        library: None,
        address: None,
        phase: None,
        samples,
    }
}

/// Names functions by their places: the files are not there.
struct Places;

impl Functions for Places {
    fn name(&self, module: Option<&Module>, address: Option<u64>, _: Option<Instant>) -> String {
        match (module, address) {
            (Some(_), Some(address)) => format!("function_{address:x}"),
            _ => "(no file)".to_owned(),
        }
    }
}

/// Finds the job that leaves its cores idle.
struct Idle;

impl Findings for Idle {
    fn findings(
        &self,
        visible: Visible,
        time: Option<(Nanos, Nanos)>,
        _: Option<(&str, Option<u32>)>,
        _: &Arc<Bounds>,
    ) -> site::Findings {
        let (from, to) = time.unwrap_or_default();
        let sees = matches!(visible, Visible::All | Visible::User(1002));
        let found = sees.then(|| site::Finding {
            rule: "idle-cores".to_owned(),
            job: Some("4712_3".to_owned()),
            user: Some(1002),
            node: None,
            begin: from,
            end: to.min(from + Nanos(3_600 * SECOND)),
            severity: site::Severity::Warning,
            title: "Job `4712_3` leaves more than half of its cores idle".to_owned(),
            hint: "ask for fewer cores, or set `OMP_NUM_THREADS`".to_owned(),
            values: BTreeMap::from([("busy".to_owned(), 0.37)]),
            names: BTreeMap::new(),
        });
        site::Findings { findings: found.into_iter().collect(), gaps: Gaps::default() }
    }
}

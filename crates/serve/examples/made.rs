//! A server with made data, to look at pages and dashboards: `cargo run -p talea-serve --example made -- FOLDER [ADDRESS]`.
//!
//! Owns a machine that never was: some nodes, two days of jobs of a few users with libraries as clusters have them, and batches that go on while it runs. All passwords
//! are `talea made`; users are `anna` (1000), `berta` (1001) and the operator `root`. Not for anything but looking.

// An example tells on standard output what to do next.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use talea_model::shares::{Activity, Batch, BatchId, Job, Sampler, Share};
use talea_model::{Gap, GapKind, Gaps, Module, Nanos};
use talea_serve::access::{Kind, Role, add_token, add_user};
use talea_serve::{Functions, NoFindings, Options, serve};
use talea_store::Store as _;
use talea_store::sqlite::{Options as Kept, Sqlite};

const PASSWORD: &str = "talea made";
const NODES: u64 = 16;
const CORES: u32 = 8;
const MINUTE: u64 = 60_000_000_000;
const HOURS: u64 = 48;

/// What programs do: executable, phases, and libraries with their share of 100.
struct Program {
    executable: &'static str,
    phases: [&'static str; 2],
    libraries: [(&'static str, u64); 4],
}

const PROGRAMS: [Program; 4] = [
    Program {
        executable: "/apps/lammps/2024/bin/lmp",
        phases: ["pair", "neigh"],
        libraries: [
            ("/apps/lammps/2024/bin/lmp", 62),
            ("/opt/openmpi/lib/libmpi.so.40", 14),
            ("/lib/x86_64-linux-gnu/libc.so.6", 5),
            ("[kernel]", 4),
        ],
    },
    Program {
        executable: "/usr/bin/python3.11",
        phases: ["load", "train"],
        libraries: [
            ("/opt/intel/mkl/lib/libmkl_avx512.so.2", 51),
            ("/usr/bin/python3.11", 18),
            ("/home/anna/venv/lib/python3.11/site-packages/numpy/core/_multiarray_umath.so", 12),
            ("[kernel]", 6),
        ],
    },
    Program {
        executable: "/home/berta/src/solver/build/solver",
        phases: ["assemble", "solve"],
        libraries: [
            ("/opt/openblas/lib/libopenblas.so.0", 44),
            ("/home/berta/src/solver/build/solver", 21),
            ("/opt/openmpi/lib/libmpi.so.40", 17),
            ("[kernel]", 3),
        ],
    },
    Program {
        executable: "/opt/gromacs/bin/gmx_mpi",
        phases: ["force", "update"],
        libraries: [
            ("/opt/gromacs/lib/libgromacs.so.8", 55),
            ("/usr/local/cuda/lib64/libcufft.so.11", 13),
            ("/lib/x86_64-linux-gnu/libm.so.6", 9),
            ("[kernel]", 5),
        ],
    },
];

/// Numbers that look like chance and are always the same.
fn chance(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The minute of a node, which has one job at a time, perhaps none.
fn batch(node: u64, minute: u64) -> Batch {
    // Jobs are on four nodes each and last three hours.
    let (group, slot) = (node / 4, minute / 180);
    let draw = chance(group * 1_000_003 + slot);
    let program = &PROGRAMS[(draw % 4) as usize];
    let user = [1000, 1001, 1001, 1002][(draw >> 8) as usize % 4];
    let has_job = !draw.is_multiple_of(7);
    let id = format!("{}", 40_000 + (slot % 10_000) * 4 + group);
    let mut modules: Vec<Module> = Vec::new();
    let mut place = |path: &str| -> u32 {
        let found = modules.iter().position(|module| module.path == path);
        found.unwrap_or_else(|| {
            modules.push(Module { path: path.to_owned(), build_id: "c0ffee".to_owned() });
            modules.len() - 1
        }) as u32
    };
    let mut shares = Vec::new();
    for core in 0..CORES {
        let idle = |activity, job| Share {
            core,
            activity,
            job,
            user: None,
            executable: None,
            library: None,
            address: None,
            phase: None,
            samples: 60,
        };
        if !has_job {
            shares.push(idle(Activity::Idle, None));
            continue;
        }
        let executable = place(program.executable);
        let mut left = 60;
        for (at, (library, percent)) in program.libraries.iter().enumerate() {
            // Later cores have less to do: some imbalance to be seen.
            let jitter = chance(node * 977 + minute * 31 + u64::from(core) * 7 + at as u64) % 5;
            let samples = (percent * 60 / 100 + jitter).saturating_sub(u64::from(core)).min(left);
            left -= samples;
            let kernel = *library == "[kernel]";
            let share = Share {
                core,
                activity: if kernel { Activity::Kernel } else { Activity::User },
                job: Some(0),
                user: Some(user),
                executable: Some(executable),
                library: Some(place(library)),
                address: Some(0x1000 + at as u64 * 0x40),
                phase: Some(at as u32 % 2),
                samples,
            };
            if samples > 0 {
                shares.push(share);
            }
        }
        if left > 0 {
            shares.push(Share { samples: left, ..idle(Activity::Waiting, Some(0)) });
        }
    }
    shares.sort();
    let mut gaps = Gaps::default();
    if node == 5 {
        let detail = "processes that were hit had ended before their job was looked for";
        gaps.note(Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: detail.to_owned(),
            count: 1 + minute % 3,
        });
    }
    Batch {
        id: BatchId { node: name(node), started: 1, number: minute },
        begin: Nanos(minute * MINUTE),
        end: Nanos((minute + 1) * MINUTE),
        period: Nanos(1_000_000_000),
        cores: CORES,
        sampler: Sampler::Bpf,
        jobs: if has_job { vec![Job { id, user: Some(user) }] } else { Vec::new() },
        modules,
        phases: program.phases.map(str::to_owned).to_vec(),
        shares,
        counters: Vec::new(),
        rates: Vec::new(),
        spreads: Vec::new(),
        gaps,
    }
}

fn name(node: u64) -> String {
    format!("n{:03}", node + 1)
}

fn minute() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64 / MINUTE
}

struct Unnamed;

impl Functions for Unnamed {
    fn name(&self, _: Option<&Module>, address: Option<u64>) -> String {
        address.map_or_else(|| "(unknown)".to_owned(), |address| format!("function_{address:x}"))
    }
}

fn fill(path: &Path, from: u64, to: u64) -> Result<(), Box<dyn Error>> {
    let kept = Kept { slice: Nanos(MINUTE), ..Kept::default() };
    let mut store = Sqlite::open(path, &kept)?;
    for minute in from..to {
        // One node went silent an hour ago.
        let nodes = (0..NODES).filter(|node| *node != 11 || minute + 60 < to);
        let batches: Vec<Batch> = nodes.map(|node| batch(node, minute)).collect();
        store.put_all(&batches)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder: PathBuf = words.next().ok_or("expected a folder")?.into();
    let listen = words.next().unwrap_or_else(|| "127.0.0.1:8090".to_owned()).parse()?;
    let config = folder.join("config");
    let path = folder.join("made.db");
    std::fs::create_dir_all(&folder)?;
    if !config.exists() {
        add_user(&config, "anna", 1000, Role::User, PASSWORD)?;
        add_user(&config, "berta", 1001, Role::User, PASSWORD)?;
        add_user(&config, "root", 0, Role::Operator, PASSWORD)?;
        let token = add_token(&config, Kind::User, "root")?;
        std::fs::write(folder.join("token"), &token)?;
        println!("token of root: {token}");
        fill(&path, minute() - HOURS * 60, minute())?;
    }
    let live = path.clone();
    std::thread::spawn(move || {
        let mut next = minute();
        loop {
            let now = minute();
            if let Err(error) = fill(&live, next.min(now), now) {
                println!("not filled: {error}");
            }
            next = now;
            std::thread::sleep(Duration::from_secs(5));
        }
    });
    serve(Options {
        store: format!("sqlite:{}", path.display()),
        slice: Nanos(MINUTE),
        most: None,
        listen,
        config,
        tls: None,
        findings: Arc::new(NoFindings),
        functions: Arc::new(Unnamed),
        ready: Box::new(|address| println!("http://{address}/ as anna, berta or root: {PASSWORD}")),
    })?;
    Ok(())
}

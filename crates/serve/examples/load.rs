//! What many agents cost a server: `cargo run --release -p talea-serve --example load [-- AGENTS SECONDS DAYS]`.
//!
//! Owns a thousand agents that push a batch every ten seconds, spread evenly, and the time from when each was due to its answer; then the time of the questions of a job's
//! page over thirty days. Server and agents share this machine, so that the figures are upper bounds.

// An example prints its table.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use talea_model::shares::{Activity, Batch, BatchId, Job, Sampler, Share};
use talea_model::{Gaps, Module, Nanos};
use talea_serve::access::{Kind, Role, add_token, add_tokens, add_user};
use talea_serve::{Functions, NoFindings, Options, serve};
use talea_store::Store as _;
use talea_store::sqlite::{Options as Kept, Sqlite};

const EVERY: Duration = Duration::from_secs(10);
const CLIENTS: usize = 24;
const CORES: u32 = 48;
const SECOND: u64 = 1_000_000_000;
const PAGE_NODES: u64 = 4;

struct Unnamed;

impl Functions for Unnamed {
    fn name(&self, _: Option<&Module>, _: Option<u64>) -> String {
        "(unknown)".to_owned()
    }
}

/// A batch of a node of 48 cores with one job: four libraries on each core.
fn batch(node: &str, number: u64, begin: u64, length: u64, job: u64) -> Batch {
    let paths = ["/apps/lmp", "/opt/openmpi/lib/libmpi.so.40", "/lib/libc.so.6", "/lib/libm.so.6"];
    let share = |core: u32, at: u32| Share {
        core,
        activity: Activity::User,
        job: Some(0),
        user: Some(1000),
        executable: Some(0),
        library: Some(at),
        address: Some(0x1000 + u64::from(core * 64 + at)),
        phase: None,
        samples: length / SECOND / 4 + 1,
    };
    let shares = (0..CORES).flat_map(|core| (0..4).map(move |at| (core, at)));
    Batch {
        id: BatchId { node: node.to_owned(), started: 1, number },
        begin: Nanos(begin),
        end: Nanos(begin + length),
        period: Nanos(SECOND),
        cores: CORES,
        sampler: Sampler::Bpf,
        jobs: vec![Job { id: job.to_string(), user: Some(1000) }],
        modules: paths
            .map(|path| Module { path: path.to_owned(), build_id: "ab".to_owned() })
            .to_vec(),
        phases: Vec::new(),
        shares: shares.map(|(core, at)| share(core, at)).collect(),
        counters: Vec::new(),
        rates: Vec::new(),
        spreads: Vec::new(),
        gaps: Gaps::default(),
        upkeep: None,
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

fn framed(batch: &Batch) -> Result<Vec<u8>, Box<dyn Error>> {
    let wire = talea_store::wire::encode(batch)?;
    Ok([&(wire.len() as u32).to_le_bytes()[..], &wire].concat())
}

/// Some days of one job on some nodes, in slices of ten minutes.
fn fill(path: &Path, days: u64) -> Result<(), Box<dyn Error>> {
    let mut store = Sqlite::open(path, &Kept::default())?;
    let (slices, length) = (days * 144, 600 * SECOND);
    let begin = now() / length * length - slices * length;
    for slice in 0..slices {
        let all: Vec<Batch> = (0..PAGE_NODES)
            .map(|node| batch(&format!("p{node}"), slice, begin + slice * length, length, 4711))
            .collect();
        store.put_all(&all)?;
    }
    while store.retain(Nanos(now()), 64)?.more {}
    Ok(())
}

fn started(folder: &Path) -> Result<SocketAddr, Box<dyn Error>> {
    let (ready, listens) = channel();
    let options = Options {
        store: format!("sqlite:{}", folder.join("load.db").display()),
        slice: Nanos(600 * SECOND),
        most: None,
        listen: "127.0.0.1:0".parse()?,
        config: folder.join("config"),
        tls: None,
        findings: Arc::new(NoFindings),
        functions: Arc::new(Unnamed),
        connections: talea_serve::MOST_CONNECTIONS,
        patience: talea_serve::Patience::default(),
        ready: Box::new(move |address| {
            let _ = ready.send(address);
        }),
    };
    std::thread::spawn(move || {
        if let Err(error) = serve(options) {
            println!("no server: {error}");
        }
    });
    Ok(listens.recv()?)
}

/// One thread with some of the agents.
fn push(
    address: SocketAddr,
    agents: &[(usize, String)],
    count: usize,
    rounds: u64,
    begin: Instant,
    told: &Sender<Result<Duration, String>>,
) {
    let client: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    for round in 0..rounds {
        for (at, token) in agents {
            let due = begin + EVERY * round as u32 + EVERY * *at as u32 / count as u32;
            let node = format!("n{at}");
            let made = batch(&node, round, now(), EVERY.as_nanos() as u64, *at as u64 / 8);
            let Ok(body) = framed(&made) else { continue };
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let url = format!("http://{address}/api/v1/batches");
            let request = client.post(url).header("Authorization", format!("Bearer {token}"));
            let told = match request.send(&body[..]) {
                Ok(mut answer) if answer.status() == 200 => {
                    let _ = answer.body_mut().read_to_string();
                    told.send(Ok(due.elapsed()))
                }
                Ok(answer) => told.send(Err(answer.status().to_string())),
                Err(error) => told.send(Err(error.to_string())),
            };
            if told.is_err() {
                return;
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let count: usize = words.next().map_or(Ok(1000), |word| word.parse())?;
    let seconds: u64 = words.next().map_or(Ok(60), |word| word.parse())?;
    let days: u64 = words.next().map_or(Ok(30), |word| word.parse())?;
    let folder = std::env::temp_dir().join(format!("talea-load-{}", std::process::id()));
    let config = folder.join("config");
    add_user(&config, "root", 0, Role::Operator, "talea load")?;
    let root = add_token(&config, Kind::User, "root")?;
    let nodes: Vec<String> = (0..count).map(|at| format!("n{at}")).collect();
    let tokens = add_tokens(&config, Kind::Node, &nodes)?;
    fill(&folder.join("load.db"), days)?;
    let address = started(&folder)?;

    let (told, heard) = channel();
    let begin = Instant::now() + Duration::from_secs(1);
    let agents: Vec<(usize, String)> = tokens.into_iter().enumerate().collect();
    let rounds = (seconds / EVERY.as_secs()).max(1);
    for client in 0..CLIENTS {
        let own: Vec<_> = agents.iter().filter(|(at, _)| at % CLIENTS == client).cloned().collect();
        let told = told.clone();
        std::thread::spawn(move || push(address, &own, count, rounds, begin, &told));
    }
    drop(told);
    let (mut times, mut failed) = (Vec::new(), Vec::new());
    for answer in heard {
        match answer {
            Ok(time) => times.push(time),
            Err(why) => failed.push(why),
        }
    }
    times.sort();
    let at = |part: f64| {
        let place = (times.len() as f64 * part) as usize;
        times.get(place.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    println!("| agents | batches | failed | p50 | p99 | max |\n|---|---|---|---|---|---|");
    let (half, most, all) = (at(0.5), at(0.99), at(1.0));
    println!(
        "| {count} | {} | {} | {half:.1?} | {most:.1?} | {all:.1?} |",
        times.len(),
        failed.len()
    );
    failed.dedup();
    failed.truncate(5);
    for why in &failed {
        println!("failed: {why}");
    }

    println!("\n| question | first | again |\n|---|---|---|");
    let client: ureq::Agent = ureq::Agent::config_builder().build().into();
    for question in [
        "jobs/4711?last=30d",
        "usage?last=30d&job=4711&by=executable",
        "usage?last=30d&job=4711&by=library",
        "usage?last=30d&job=4711&by=activity",
        "series?last=30d&job=4711&by=node&step=6h",
        "series?last=30d&job=4711&by=library&step=6h",
        "usage?last=7d&job=4711&by=core,activity",
    ] {
        let ask = || -> Result<Duration, Box<dyn Error>> {
            let begin = Instant::now();
            let request = client.get(format!("http://{address}/api/v1/{question}"));
            let mut answer = request.header("Authorization", format!("Bearer {root}")).call()?;
            answer.body_mut().with_config().limit(1 << 30).read_to_vec()?;
            Ok(begin.elapsed())
        };
        println!("| `{question}` | {:.1?} | {:.1?} |", ask()?, ask()?);
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

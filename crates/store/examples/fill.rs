//! Fills a store as agents would and asks it, to print what both take: `fill FILE [ROWS [NODES]]`.
//!
//! Owns nothing but figures. The machine is invented: each node runs one job at a time out of a few hundred, with hot addresses
//! and rare ones in 60 libraries; one job goes on for all the time. Times are of the wall, one run each.

#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use talea_model::shares::{Activity, Batch, BatchId, Job, Sampler, Share};
use talea_model::{Gaps, Module, Nanos};
use talea_store::sqlite::{Options, Sqlite};
use talea_store::{Dimension, Question, Store, Text, Visible};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;
const START: u64 = 1_735_689_600 * SECOND;
const CORES: u32 = 48;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    /// Few often, many rarely.
    fn skewed(&mut self, n: u64) -> u64 {
        let most = self.below(n) + 1;
        self.below(most)
    }
}

fn batch(node: u64, number: u64, begin: u64, length: u64, rows: u64, random: &mut Random) -> Batch {
    // Node 0 runs the same job for ever.
    let job = if node == 0 { 0 } else { 1 + node * 40 + (begin - START) / (DAY * 3 / 4) };
    let user = 1000 + job as u32 % 50;
    let modules = (0..60)
        .map(|n| Module { path: format!("/lib/lib{n}.so"), build_id: format!("{n:040x}") })
        .chain([Module { path: format!("/bin/app{}", job % 20), build_id: String::new() }]);
    let mut shares: Vec<Share> = (0..rows)
        .map(|_| {
            let library = random.skewed(60) as u32;
            Share {
                core: random.below(CORES.into()) as u32,
                activity: Activity::User,
                job: Some(0),
                user: Some(user),
                executable: Some(60),
                library: Some(library),
                address: Some(0x1000 + random.skewed(3000)),
                phase: Some(random.below(2) as u32),
                samples: 1 + random.below(4),
            }
        })
        .collect();
    shares.sort();
    shares.dedup_by(|a, b| Share { samples: 0, ..a.clone() } == Share { samples: 0, ..b.clone() });
    Batch {
        id: BatchId { node: format!("node{node:04}"), started: 1, number },
        begin: Nanos(begin),
        end: Nanos(begin + length),
        period: Nanos(SECOND),
        cores: CORES,
        sampler: Sampler::Bpf,
        jobs: vec![Job { id: job.to_string(), user: Some(user) }],
        modules: modules.collect(),
        phases: vec!["assemble".to_owned(), "solve".to_owned()],
        shares,
        counters: Vec::new(),
        rates: Vec::new(),
        spreads: Vec::new(),
        gaps: Gaps::default(),
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else { return println!("usage: fill FILE [ROWS [NODES]]") };
    let rows: u64 = arguments.next().and_then(|rows| rows.parse().ok()).unwrap_or(10_000_000);
    let nodes: u64 = arguments.next().and_then(|nodes| nodes.parse().ok()).unwrap_or(8);
    if let Err(error) = run(Path::new(&path), rows, nodes) {
        println!("{error}");
    }
}

fn run(path: &Path, rows: u64, nodes: u64) -> Result<(), talea_store::StoreError> {
    let mut store = Sqlite::open(path, &Options::default())?;
    let mut random = Random(88_172_645_463_325_252);
    // Ten-minute slices of 30 days, a batch each, so that every row counts.
    let slices = 30 * 144;
    let each = rows / slices / nodes;
    let (begin, mut batches) = (Instant::now(), 0_u64);
    for slice in 0..slices {
        let at = START + slice * 600 * SECOND;
        let made: Vec<Batch> = (0..nodes)
            .map(|node| batch(node, slice, at, 600 * SECOND, each, &mut random))
            .collect();
        batches += made.len() as u64;
        store.put_all(&made)?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("filled: {batches} batches of {each} rows in {seconds:.1} s, made and put");
    ask(&store)?;
    retain(&mut store)?;
    ask(&store)?;
    for group in [1, 10, 100] {
        ingest(&mut store, group, &mut random)?;
    }
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    println!("file: {:.1} MiB", bytes as f64 / f64::from(1 << 20));
    Ok(())
}

fn ask(store: &Sqlite) -> Result<(), talea_store::StoreError> {
    let whole = Question {
        by: vec![Dimension::Library],
        ..Question::of(Visible::All, Nanos(START), Nanos(START + 30 * DAY))
    };
    let is = |name: &str| Some(Text::Is(name.to_owned()));
    let job = Question { job: is("0"), ..whole.clone() };
    let day = Question { from: Nanos(START + 29 * DAY), ..whole.clone() };
    let questions = [
        ("longest job by library", job.clone()),
        ("longest job by core", Question { by: vec![Dimension::Core], ..job.clone() }),
        ("longest job by function", Question { by: vec![Dimension::Function], ..job.clone() }),
        ("a short job by library", Question { job: is("47"), ..whole.clone() }),
        (
            "a user by job",
            Question { by: vec![Dimension::Job], visible: Visible::User(1003), ..whole.clone() },
        ),
        ("one node's last day", Question { node: is("node0001"), ..day.clone() }),
        ("all nodes' last day", day),
        (
            "a rare library by job",
            Question { by: vec![Dimension::Job], library: is("/lib/lib59.so"), ..whole.clone() },
        ),
        ("everything by library", whole.clone()),
    ];
    for (name, question) in questions {
        let begin = Instant::now();
        let answer = store.usage(&question)?;
        let took = begin.elapsed().as_secs_f64() * 1e3;
        println!(
            "{name:<26} {took:>8.1} ms  {} rows, {} samples",
            answer.groups, answer.totals.samples
        );
    }
    let begin = Instant::now();
    let points = store.series(&Question { limit: 20, ..job }, Nanos(DAY / 24))?.points.len();
    println!(
        "{:<26} {:>8.1} ms  {points} points",
        "longest job over time",
        begin.elapsed().as_secs_f64() * 1e3
    );
    let begin = Instant::now();
    let jobs = store.jobs(&whole)?.len();
    println!("{:<26} {:>8.1} ms  {jobs} jobs", "jobs", begin.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

fn retain(store: &mut Sqlite) -> Result<(), talea_store::StoreError> {
    let begin = Instant::now();
    let (mut merged, mut longest) = (0, 0.0_f64);
    loop {
        let step = Instant::now();
        let retained = store.retain(Nanos(START + 30 * DAY), 1)?;
        longest = longest.max(step.elapsed().as_secs_f64());
        merged += retained.merged;
        if !retained.more {
            break;
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "retain: {merged} slices merged in {seconds:.1} s, longest step {:.1} ms",
        longest * 1e3
    );
    Ok(())
}

/// A thousand agents, a batch of 200 rows every ten seconds each.
fn ingest(
    store: &mut Sqlite,
    group: usize,
    random: &mut Random,
) -> Result<(), talea_store::StoreError> {
    let begin = START + (31 + group as u64) * DAY;
    let made: Vec<Batch> = (0..2000)
        .map(|n| {
            batch(
                n % 1000,
                group as u64 * 1_000_000 + n / 1000,
                begin + n / 1000 * 10 * SECOND,
                10 * SECOND,
                200,
                random,
            )
        })
        .collect();
    let begin = Instant::now();
    let mut longest = 0.0_f64;
    for batches in made.chunks(group) {
        let one = Instant::now();
        store.put_all(batches)?;
        longest = longest.max(one.elapsed().as_secs_f64());
    }
    let rate = made.len() as f64 / begin.elapsed().as_secs_f64();
    println!(
        "ingest: {rate:.0} batches/s, {group} in a transaction, longest {:.1} ms",
        longest * 1e3
    );
    Ok(())
}

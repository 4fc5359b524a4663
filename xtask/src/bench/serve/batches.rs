//! A thousand agents that send to one server, and what they send.
//!
//! Owns made-up batches: real files of this machine, whose functions have names, with samples that
//! fall on few places often and on many seldom.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use object::{Object as _, ObjectSection as _};
use talea_model::shares::{
    Activity, Batch, BatchId, Counter, Job, Rate, Sampler, Share, Spread, bucket,
};
use talea_model::{Module, Nanos};

use super::super::heading;
use super::SECOND;
use crate::site::Site;

const AGENTS: u32 = 1000;
/// How often each of them sends, and for how long.
const EVERY: Duration = Duration::from_secs(10);
const ROUNDS: u32 = 6;
const CLIENTS: u32 = 24;
pub(super) const CORES: u32 = 48;

/// A file that samples lie in, with places in its code.
pub(super) struct Place {
    module: Module,
    code: std::ops::Range<u64>,
}
/// Files of this machine whose functions have names.
pub(super) fn places(talea: &Path) -> Result<Vec<Place>, String> {
    let libraries = ["libc.so.6", "libm.so.6", "libstdc++.so.6"];
    let libraries = libraries.map(|name| PathBuf::from("/usr/lib/x86_64-linux-gnu").join(name));
    let mut all = Vec::new();
    for path in std::iter::once(talea.to_owned()).chain(libraries).filter(|path| path.exists()) {
        let bytes = fs::read(&path).map_err(|e| format!("{e}: `{}`", path.display()))?;
        let file = object::File::parse(&*bytes).map_err(|e| e.to_string())?;
        let id = file.build_id().ok().flatten().unwrap_or_default();
        let text = file.section_by_name(".text").ok_or("no code")?;
        let build_id = id.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let path = path.canonicalize().unwrap_or(path).display().to_string();
        let code = text.address()..text.address() + text.size();
        all.push(Place { module: Module { path, build_id }, code });
    }
    Ok(all)
}

/// A batch of a node of 48 cores with one job: on each core each file twice, at places that vary.
pub(super) fn batch(
    node: &str,
    number: u64,
    time: std::ops::Range<u64>,
    job: u64,
    places: &[Place],
) -> Batch {
    let per_row = (time.end - time.start) / SECOND / (2 * places.len() as u64);
    let share = |core: u32, at: usize, turn: u64| {
        let Place { code, .. } = &places[at];
        // Samples fall on few places often, and on many seldom.
        let draw = (number * 31 + u64::from(core) * 17 + turn).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hot = (draw >> 40) % 64 * 64;
        let cold = (draw >> 20) % (code.end - code.start).max(1);
        let offset = if turn == 0 { hot.min(code.end - code.start - 1) } else { cold };
        Share {
            core,
            activity: Activity::User,
            job: Some(0),
            user: Some(1000),
            executable: Some(0),
            library: Some(at as u32),
            address: Some(code.start + offset),
            phase: Some((turn % 2) as u32),
            samples: per_row.max(1),
        }
    };
    let rows = (0..CORES).flat_map(|core| (0..places.len()).map(move |at| (core, at)));
    let rate = |counter: u32, library: usize| Rate {
        counter,
        job: Some(0),
        user: Some(1000),
        executable: Some(0),
        library: Some(library as u32),
        phase: Some(0),
        samples: per_row.max(1),
        nanos: per_row.max(1) * SECOND,
        count: per_row.max(1) * 1_000_000 * u64::from(counter + 1),
    };
    let spread = |counter: u32, rate: f64| Spread {
        counter,
        job: 0,
        cores: bucket(rate).map(|bucket| (bucket, CORES)).into_iter().collect(),
    };
    let counters = [("page-faults", "1"), ("context-switches", "1"), ("busy", "1")];
    Batch {
        begin: Nanos(time.start),
        end: Nanos(time.end),
        period: Nanos(SECOND),
        cores: CORES,
        sampler: Sampler::Bpf,
        jobs: vec![Job { id: job.to_string(), user: Some(1000) }],
        modules: places.iter().map(|place| place.module.clone()).collect(),
        phases: vec!["solve".to_owned(), "exchange".to_owned()],
        shares: rows.flat_map(|(core, at)| [share(core, at, 0), share(core, at, 1)]).collect(),
        counters: counters
            .map(|(name, unit)| Counter { name: name.to_owned(), unit: unit.to_owned() })
            .to_vec(),
        rates: (0..2)
            .flat_map(|counter| (0..places.len()).map(move |at| (counter, at)))
            .map(|(counter, at)| rate(counter, at))
            .collect(),
        spreads: vec![spread(0, 20.0), spread(1, 50.0), spread(2, 0.9)],
        ..Batch::empty(BatchId { node: node.to_owned(), started: 1, number })
    }
}

/// A thousand agents that send every ten seconds, spread evenly; from when a batch was due to its
/// answer.
pub(super) fn ingest(site: &Site) -> Result<(), String> {
    let places = places(&site.talea)?;
    let tokens: Result<Vec<String>, String> =
        (0..AGENTS).map(|at| site.token("node", &format!("n{at}"))).collect();
    let tokens = tokens?;
    let server = site.server("many.db", &[])?;
    let (told, heard) = channel();
    let begin = Instant::now() + Duration::from_secs(1);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (told, tokens, places, address) = (told.clone(), &tokens, &places, &server.address);
            scope.spawn(move || {
                let own = (client..AGENTS).step_by(CLIENTS as usize);
                let own: Vec<(u32, &str)> =
                    own.map(|at| (at, tokens[at as usize].as_str())).collect();
                push(address, &own, begin, places, &told);
            });
        }
    });
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
    let rows = CORES as usize * 2 * places.len();
    heading("A server and a thousand agents");
    println!(
        "Each agent sends a batch of {rows} rows every {} s for {} s; from when it was due to its answer. Server and agents share the cores.\n",
        EVERY.as_secs(),
        EVERY.as_secs() * u64::from(ROUNDS)
    );
    println!(
        "| agents | batches | failed | p50, ms | p99, ms | max, ms |\n|---|---|---|---|---|---|"
    );
    let shown = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
    println!(
        "| {AGENTS} | {} | {} | {} | {} | {} |",
        times.len(),
        failed.len(),
        shown(at(0.5)),
        shown(at(0.99)),
        shown(at(1.0))
    );
    failed.first().map_or(Ok(()), |why| Err(format!("batches failed: {why}")))
}

/// Some of the agents.
fn push(
    address: &str,
    agents: &[(u32, &str)],
    begin: Instant,
    places: &[Place],
    told: &Sender<Result<Duration, String>>,
) {
    let client: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    for round in 0..ROUNDS {
        for &(at, token) in agents {
            let due = begin + EVERY * round + EVERY * at / AGENTS;
            let now = Nanos::now().0;
            let time = now - EVERY.as_nanos() as u64..now;
            let made = batch(&format!("n{at}"), u64::from(round), time, u64::from(at) / 8, places);
            let Ok(wire) = talea_store::wire::encode(&made) else { continue };
            let body = [&(wire.len() as u32).to_le_bytes()[..], &wire].concat();
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let url = format!("http://{address}/api/v1/batches");
            let request = client.post(url).header("Authorization", format!("Bearer {token}"));
            let answer = match request.send(&body[..]) {
                Ok(mut answer) if answer.status() == 200 => {
                    let _ = answer.body_mut().read_to_string();
                    Ok(due.elapsed())
                }
                Ok(answer) => Err(answer.status().to_string()),
                Err(error) => Err(error.to_string()),
            };
            if told.send(answer).is_err() {
                return;
            }
        }
    }
}

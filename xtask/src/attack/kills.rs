//! Agents and servers that are killed at any moment, under load.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use talea_model::Nanos;

use super::{Attack, Extent, Outcome, SAMPLES, SECOND, batch};
use crate::site::{self, Role, Running, SOON, Server, Site, until};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "agent killed 6 times under load, 7 s after each start, with an interval of 60 s",
        before: "6.0 of 86.9 core seconds kept, no gap",
        limit: "kept and reported as gap together 90 to 110 % of the time, kept at least half",
        extent: Extent::Full,
        make: agent,
    },
    Attack {
        name: "server killed again and again under 40 senders",
        before: "-",
        limit: "stored = acknowledged",
        extent: Extent::Fast,
        make: server,
    },
];

const KILLS: usize = 6;
const LIVES: Duration = Duration::from_secs(7);
const RATE: f64 = 200.0;

fn agent(site: &Site, _: Extent) -> Result<Outcome, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let busy = || Running::start(Command::new("sh").args(["-c", "while :; do :; done"]));
    let _load: Vec<Running> = (0..cores).map(|_| busy()).collect::<Result<_, _>>()?;
    let store = format!("sqlite:{}", site.path("t.db").display());
    let start = |interval: &str| {
        let words = ["agent", "--store", &store, "--rate", "200Hz", "--interval", interval];
        Running::start(&mut site.talea(words))
    };
    let begin = Instant::now();
    for _ in 0..KILLS {
        let mut agent = start("60s")?;
        if until(LIVES, || !agent.runs()) {
            return Ok(Outcome::Skipped(format!("no agent here: {}", agent.lines().join(" "))));
        }
    }
    let asked = || -> Result<Value, String> {
        let text = crate::bench::output(&mut site.talea(["usage", "--store", &store, "--json"]))?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    let mut last = start("500ms")?;
    let before = asked().map_or(0, |answer| answer["samples"].as_u64().unwrap_or(0));
    until(SOON, || asked().is_ok_and(|now| now["samples"].as_u64().unwrap_or(0) > before));
    last.signal(Signal::INT);
    last.ended(SOON)?;
    let all = begin.elapsed().as_secs_f64() * cores as f64;
    let answer = asked()?;
    let kept = answer["samples"].as_f64().unwrap_or(0.0) / RATE;
    let none = Vec::new();
    let gaps = answer["gaps"].as_array().unwrap_or(&none).iter();
    let of_time = |gap: &&Value| {
        gap["detail"].as_str().is_some_and(|text| text.contains("milliseconds were not sampled"))
    };
    let lost: f64 = gaps.filter(of_time).filter_map(|gap| gap["count"].as_f64()).sum();
    let lost = lost / 1000.0 * cores as f64;
    let figures = format!("{kept:.1} of {all:.1} core seconds kept, {lost:.1} reported as gap");
    let part = (kept + lost) / all;
    Ok(Outcome::of((0.9..1.1).contains(&part) && kept > 0.5 * all, figures))
}

const SENDERS: u64 = 40;

fn server(site: &Site, extent: Extent) -> Result<Outcome, String> {
    let kills = if extent == Extent::Fast { 4 } else { 20 };
    let root = site.user("root", 0, Role::Operator)?;
    let tokens: Vec<String> =
        (0..SENDERS).map(|at| site.token("node", &format!("n{at}"))).collect::<Result<_, _>>()?;
    let mut server = site.server("t.db", &[])?;
    let address = Mutex::new(server.address.clone());
    let (acknowledged, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let start = Nanos::now() - Nanos(80_000 * SECOND);
    let sender = |at: u64| {
        let client = site::client();
        let mut number = 0;
        // As an agent: a batch without an answer comes again, and the last one too.
        let mut pending = false;
        while pending || !is_over.load(Ordering::SeqCst) {
            let to = address.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let batches = [batch(&format!("n{at}"), number, start)];
            match site::put(&client, &to, &tokens[at as usize], &batches) {
                Ok(came) if came.status == 200 => {
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                    (number, pending) = (number + 1, false);
                }
                Ok(came) if came.status != 503 => return Err(format!("{}", came.status)),
                _ => {
                    pending = true;
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
        Ok(())
    };
    let sent = std::thread::scope(|scope| -> Result<Server, String> {
        let senders: Vec<_> = (0..SENDERS).map(|at| scope.spawn(move || sender(at))).collect();
        let killed = (0..kills).try_for_each(|kill| {
            let count = acknowledged.load(Ordering::SeqCst);
            // Each time after as many answers as differ from kill to kill.
            let goal = count + 50 + 37 * kill;
            if !until(SOON, || acknowledged.load(Ordering::SeqCst) >= goal) {
                return Err("senders get no answers".to_owned());
            }
            server.process.signal(Signal::KILL);
            server = site.server("t.db", &[])?;
            server.address.clone_into(&mut address.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(())
        });
        is_over.store(true, Ordering::SeqCst);
        let ended = senders.into_iter().map(|one| one.join().map_err(|_| "a bug".to_owned())?);
        ended.collect::<Result<(), String>>()?;
        killed.map(|()| server)
    })?;
    let (stored, count) = (sent.samples(&root)?, acknowledged.load(Ordering::SeqCst));
    let figures = format!(
        "{kills} kills; {stored} samples stored, {} acknowledged in {count} batches",
        count * SAMPLES
    );
    Ok(Outcome::of(stored == count * SAMPLES, figures))
}

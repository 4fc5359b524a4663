//! A store that is removed, replaced or damaged while its server runs and agents send.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use talea_model::Nanos;
use talea_store::sqlite::{Options, Sqlite};

use super::{Attack, Extent, Outcome, SAMPLES, SECOND, batch, seconds};
use crate::site::{Role, Running, SOON, Site, until};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "store removed while an agent sends, back after three intervals",
        before: "200 to batches, all of them lost at the end",
        limit: "503 meanwhile, at most 2 lines of log, no sample lost",
        extent: Extent::Fast,
        make: removed,
    },
    Attack {
        name: "store replaced by an older copy",
        before: "200 to batches, all of them lost at the end",
        limit: "503 until the copy is unchanged for 2 s; then all of it and of later batches, within 10 s",
        extent: Extent::Fast,
        make: replaced,
    },
    Attack {
        name: "store damaged: all but the first 100 bytes overwritten, then 20 batches and 20 queries",
        before: "-",
        limit: "200 or 503 only, at most 4 lines of log",
        extent: Extent::Fast,
        make: damaged,
    },
];

/// An agent of node `n1` that sends to a server often; its token is made before the server starts.
pub(super) fn agent(site: &Site, address: &str) -> Result<Running, String> {
    let to = format!("http://{address}");
    let words = ["agent", "--store", &to, "--token-file", "token", "--spool", "spool"];
    let often = ["--node", "n1", "--rate", "100Hz", "--interval", "500ms"];
    Running::start(&mut site.talea(words.into_iter().chain(often)))
}

/// Samples that an agent says it made.
fn made(agent: &Running) -> Option<u64> {
    let lines = agent.lines_with(" samples in ");
    lines.last()?.split_whitespace().find_map(|word| word.parse().ok())
}

fn removed(site: &Site, _: Extent) -> Result<Outcome, String> {
    let root = site.user("root", 0, Role::Operator)?;
    site.secret("token", &site.token("node", "n1")?)?;
    let server = site.server("t.db", &["--slice", "0s"])?;
    let mut agent = agent(site, &server.address)?;
    let count = || server.samples(&root).unwrap_or(0);
    until(SOON, || count() > 0 || !agent.runs());
    if !agent.runs() {
        return Ok(Outcome::Skipped(format!("no agent here: {}", agent.lines().join(" "))));
    }
    let (path, away) = (site.path("t.db"), site.path("away.db"));
    fs::rename(&path, &away).map_err(|error| error.to_string())?;
    let failures = || server.metric("talea_serve_store_failures_total").unwrap_or(0);
    let refused = until(SOON, || failures() >= 3);
    let query = server.get(&root, "/api/v1/usage")?.status;
    fs::rename(&away, &path).map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let before = count();
    let grows = until(SOON, || count() > before);
    let took = begin.elapsed();
    agent.signal(Signal::INT);
    agent.ended(SOON)?;
    let made = made(&agent).ok_or("the agent says nothing")?;
    let stored = count();
    let lines = server.process.lines_with("the store fails").len();
    let figures = format!(
        "batches and queries {}; {lines} lines of log; taken again after {}; {} of {made} samples lost",
        if refused && query == 503 { "503" } else { "not refused" },
        seconds(took),
        made.abs_diff(stored),
    );
    Ok(Outcome::of(refused && query == 503 && grows && lines <= 2 && stored == made, figures))
}

fn replaced(site: &Site, _: Extent) -> Result<Outcome, String> {
    let (root, node) = (site.user("root", 0, Role::Operator)?, site.token("node", "n1")?);
    let server = site.server("t.db", &["--slice", "0s"])?;
    let start = Nanos::now() - Nanos(1000 * SECOND);
    let put = |number| -> Result<u16, String> {
        Ok(server.put(&node, &[batch("n1", number, start)])?.status)
    };
    let copy = site.path("copy.db");
    for number in 0..4 {
        if put(number)? != 200 {
            return Err(format!("batch {number} is refused"));
        }
        if number == 1 {
            whole_copy(&site.path("t.db"), &copy)?;
        }
    }
    // One step, as rsync or a backup does it.
    fs::rename(&copy, site.path("t.db")).map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let at_once = put(4)?;
    let taken = until(SOON, || put(4) == Ok(200));
    let took = begin.elapsed();
    let samples = server.samples(&root)?;
    // Two batches of the copy and the one after it.
    let expected = 3 * SAMPLES;
    let figures = format!(
        "{at_once} at first, taken after {}; {samples} samples in the new file of {expected}",
        seconds(took)
    );
    let in_time = took < Duration::from_secs(10);
    Ok(Outcome::of(at_once == 503 && taken && in_time && samples == expected, figures))
}

/// A copy with what is in the log of the file.
fn whole_copy(from: &Path, to: &Path) -> Result<(), String> {
    let beside = |path: &Path| format!("{}-wal", path.display());
    let copied = fs::copy(from, to).and_then(|_| fs::copy(beside(from), beside(to)));
    copied.map_err(|error| error.to_string())?;
    Sqlite::open(to, &Options::default()).map(drop).map_err(|error| error.to_string())
}

fn damaged(site: &Site, _: Extent) -> Result<Outcome, String> {
    let (root, node) = (site.user("root", 0, Role::Operator)?, site.token("node", "n1")?);
    let server = site.server("t.db", &["--slice", "0s"])?;
    let start = Nanos::now() - Nanos(10_000 * SECOND);
    let put = |number| -> Result<u16, String> {
        Ok(server.put(&node, &[batch("n1", number, start)])?.status)
    };
    for number in 0..200 {
        if put(number)? != 200 {
            return Err(format!("batch {number} is refused"));
        }
    }
    overwrite(&site.path("t.db"), 100)?;
    overwrite(&site.path("t.db-wal"), 32)?;
    let mut statuses = Vec::new();
    for number in 200..220 {
        statuses.push(put(number)?);
    }
    for _ in 0..20 {
        statuses.push(server.get(&root, "/api/v1/usage?by=job,library")?.status);
    }
    let lines = server.process.lines_with("the store fails").len();
    let count = |wanted: u16| statuses.iter().filter(|&&status| status == wanted).count();
    let (good, later) = (count(200), count(503));
    let figures = format!("{good} times 200, {later} times 503, {lines} lines of log");
    let only = good + later == statuses.len() && later >= 20;
    Ok(Outcome::of(only && (1..=4).contains(&lines), figures))
}

fn overwrite(path: &Path, from: u64) -> Result<(), String> {
    let file = fs::OpenOptions::new().write(true).open(path);
    let file = file.map_err(|error| format!("{error}: `{}`", path.display()))?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let nonsense = vec![0x5a; length.max(1 << 20) as usize - from as usize];
    file.write_all_at(&nonsense, from).map_err(|error| error.to_string())
}

//! File systems that stop answering, as file servers that are away, under the agent and under the
//! server.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use talea_model::Nanos;
use talea_model::shares::Job;
use talea_store::Store as _;
use talea_store::sqlite::{Options, Sqlite};

use super::files::{address, module};
use super::hanging_files::Hanging;
use super::{Attack, Extent, Outcome, SECOND, batch, seconds};
use crate::site::{self, Role, Running, SOON, Site, until};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "file system of a running program hangs; SIGTERM to the agent",
        before: "sampling stops, SIGTERM without effect",
        limit: "samples go on, the agent ends within 5 s",
        extent: Extent::Full,
        make: agent,
    },
    Attack {
        name: "`by=function` of a job whose files hang, beside the same query of another user",
        before: "both wait until the file systems answer",
        limit: "both 200 within 30 s; the other user has names",
        extent: Extent::Fast,
        make: server,
    },
];

fn mounted(folder: &Path, bytes: Vec<u8>) -> Result<Hanging, String> {
    site::note_mount(folder);
    Hanging::mounted(folder, "program", bytes)
}

/// Waits until a program runs in its loop: the parts of its file that it needs are in memory then.
fn has_run(process: u32) -> bool {
    until(SOON, || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let ticks = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(11));
        ticks.and_then(|ticks| ticks.parse::<u64>().ok()).is_some_and(|ticks| ticks > 30)
    })
}

fn agent(site: &Site, _: Extent) -> Result<Outcome, String> {
    let bytes = fs::read("/bin/dash").map_err(|error| format!("{error}: `/bin/dash`"))?;
    let system = match mounted(&site.path("mounted"), bytes) {
        Ok(system) => system,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let mut program = Command::new(system.file());
    let program = Running::start(program.args(["-c", "while :; do :; done"]))?;
    if !has_run(program.id()) {
        return Err("the program does not run".to_owned());
    }
    system.stop();
    let store = format!("sqlite:{}", site.path("t.db").display());
    let words = ["agent", "--store", &store, "--rate", "100Hz", "--interval", "500ms"];
    let mut agent = Running::start(&mut site.talea(words))?;
    let samples = || -> u64 {
        let asked = crate::bench::output(&mut site.talea(["usage", "--store", &store, "--json"]));
        let answer: Option<serde_json::Value> =
            asked.ok().and_then(|text| serde_json::from_str(&text).ok());
        answer.and_then(|answer| answer["samples"].as_u64()).unwrap_or(0)
    };
    until(SOON, || samples() > 0 || !agent.runs());
    if !agent.runs() {
        return Ok(Outcome::Skipped(format!("no agent here: {}", agent.lines().join(" "))));
    }
    let before = samples();
    let goes_on = until(SOON, || samples() > before);
    let begin = Instant::now();
    agent.signal(Signal::TERM);
    let ended = agent.ended(SOON);
    let took = begin.elapsed();
    let figures = format!(
        "{} samples while it hangs; ended {} after SIGTERM",
        samples(),
        ended.map_or_else(|why| why, |_| seconds(took)),
    );
    Ok(Outcome::of(goes_on && took < Duration::from_secs(5), figures))
}

fn server(site: &Site, extent: Extent) -> Result<Outcome, String> {
    let systems = if extent == Extent::Fast { 1 } else { 8 };
    let mount = |at: usize| mounted(&site.path(&format!("mounted-{at}")), b"a file".to_vec());
    let systems = match (0..systems).map(mount).collect::<Result<Vec<_>, _>>() {
        Ok(systems) => systems,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    // A library whose symbols everybody may read.
    let maps = fs::read_to_string("/proc/self/maps").map_err(|error| error.to_string())?;
    let library = maps.split_whitespace().find(|word| word.contains("libc.so"));
    let copy = site.path("libc.so");
    fs::copy(library.ok_or("no libc")?, &copy).map_err(|error| error.to_string())?;
    let start = Nanos::now() - Nanos(100 * SECOND);
    let mut hung = batch("n1", 0, start);
    let pattern = hung.shares[0].clone();
    hung.modules = Vec::new();
    hung.shares = Vec::new();
    for (at, system) in systems.iter().enumerate() {
        let path = system.file().display().to_string();
        hung.modules.push(talea_model::Module { path, build_id: "ab".to_owned() });
        let at = Some(at as u32);
        let share = talea_model::shares::Share { executable: at, library: at, ..pattern.clone() };
        hung.shares.push(share);
    }
    let mut other = batch("n2", 0, start);
    other.jobs = vec![Job { id: "4712".to_owned(), user: Some(1001) }];
    other.modules = vec![module(&copy)?];
    let at = address(&copy, "qsort")?;
    for share in &mut other.shares {
        (share.user, share.executable, share.library) = (Some(1001), Some(0), Some(0));
        share.address = Some(at);
    }
    let mut store = Sqlite::open(&site.path("t.db"), &Options::default());
    let put = store.as_mut().map_err(|error| error.to_string());
    put?.put_all(&[hung, other]).map_err(|error| error.to_string())?;
    let (first, second) =
        (site.user("one", 1000, Role::User)?, site.user("two", 1001, Role::User)?);
    let server = site.server("t.db", &[])?;
    systems.iter().for_each(Hanging::stop);
    let ask = |token: &str| {
        let begin = Instant::now();
        let came = server.get(token, "/api/v1/usage?by=function");
        (begin.elapsed(), came)
    };
    let (of_hung, of_other) = std::thread::scope(|scope| {
        let first = scope.spawn(|| ask(&first));
        // The first query reads files by then.
        std::thread::sleep(Duration::from_millis(500));
        let other = ask(&second);
        first.join().map(|first| (first, other)).map_err(|_| "a bug of a client".to_owned())
    })?;
    systems.iter().for_each(Hanging::go_on);
    let (waited, answer) = (of_hung.0, of_hung.1?);
    let (other_waited, other) = (of_other.0, of_other.1?);
    let is_said = answer.text.contains("(file system does not answer)");
    let has_name = other.text.contains("qsort");
    let figures = format!(
        "{} file systems hang: {} after {}; the other user: {} after {}, {}",
        systems.len(),
        answer.status,
        seconds(waited),
        other.status,
        seconds(other_waited),
        if has_name { "with names" } else { "without names" },
    );
    let longest = Duration::from_secs(30);
    let both = answer.status == 200 && other.status == 200 && is_said && has_name;
    Ok(Outcome::of(both && waited < longest && other_waited < longest, figures))
}

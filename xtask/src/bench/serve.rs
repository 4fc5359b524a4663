//! What `talea serve` does on this machine: batches of a thousand agents, and the questions of a job's page over thirty days.
//!
//! The server is the program that users run, with its defaults: slices of a minute, rules, names of functions. Agents and questions are threads of this
//! process and share the cores with it, so that times are upper bounds. A page's questions are those of `web/src/serve/job.ts`, in its order and at once as browsers do.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use object::{Object as _, ObjectSection as _};
use talea_model::shares::{
    Activity, Batch, BatchId, Counter, Job, Rate, Sampler, Share, Spread, bucket,
};
use talea_model::{Module, Nanos};
use talea_store::Store as _;
use talea_store::sqlite::{Options, Sqlite};

use super::{built, heading, median, output, scratch};

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const AGENTS: u32 = 1000;
/// How often each of them sends, and for how long.
const EVERY: Duration = Duration::from_secs(10);
const ROUNDS: u32 = 6;
const CLIENTS: u32 = 24;
const CORES: u32 = 48;
/// The job of the page.
const NODES: u64 = 4;
const DAYS: u64 = 30;
/// Times that a question is asked again.
const AGAIN: usize = 5;

/// A server that ends with this.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file that samples lie in, with places in its code.
struct Place {
    module: Module,
    code: std::ops::Range<u64>,
}

pub(crate) fn run() -> Result<(), String> {
    let talea = built("talea")?;
    let folder = scratch("serve")?;
    let done = ingest(&talea, &folder).and_then(|()| page(&talea, &folder));
    let _ = fs::remove_dir_all(&folder);
    done
}

/// Starts the server and waits until it listens.
fn started(talea: &Path, folder: &Path, store: &Path) -> Result<Server, String> {
    let mut command = Command::new(talea);
    command.args(["serve", "--listen", "127.0.0.1:0", "--store"]);
    command.arg(format!("sqlite:{}", store.display())).arg("--config").arg(folder.join("config"));
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
    let said = child.stderr.take().ok_or("no standard error")?;
    let mut server = Server { child, address: String::new() };
    let mut lines = BufReader::new(said).lines().map_while(Result::ok);
    let mut before = Vec::new();
    for line in lines.by_ref() {
        if let Some(address) = line.strip_prefix("talea: listening on ") {
            address.clone_into(&mut server.address);
            break;
        }
        before.push(line);
    }
    if server.address.is_empty() {
        return Err(format!("no server: {}", before.join("\n")));
    }
    std::thread::spawn(move || lines.for_each(drop));
    Ok(server)
}

fn token(talea: &Path, folder: &Path, kind: &str, name: &str) -> Result<String, String> {
    let mut command = Command::new(talea);
    command.args(["serve", "token", "add", kind, name, "--config"]).arg(folder.join("config"));
    Ok(output(&mut command)?.trim().to_owned())
}

/// The operator's token.
fn operator(talea: &Path, folder: &Path) -> Result<String, String> {
    use std::io::Write as _;
    let mut command = Command::new(talea);
    command.args(["serve", "user", "add", "root", "--uid", "0", "--operator", "--config"]);
    command.arg(folder.join("config")).stdin(Stdio::piped());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let mut to = child.stdin.take().ok_or("no standard input")?;
    to.write_all(b"bench bench\n").map_err(|e| e.to_string())?;
    drop(to);
    if !child.wait().map_err(|e| e.to_string())?.success() {
        return Err("no operator".to_owned());
    }
    token(talea, folder, "user", "root")
}

/// Files of this machine whose functions have names.
fn places(talea: &Path) -> Result<Vec<Place>, String> {
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
fn batch(node: &str, number: u64, time: std::ops::Range<u64>, job: u64, places: &[Place]) -> Batch {
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

/// A thousand agents that send every ten seconds, spread evenly; from when a batch was due to its answer.
fn ingest(talea: &Path, folder: &Path) -> Result<(), String> {
    let places = places(talea)?;
    let tokens: Result<Vec<String>, String> =
        (0..AGENTS).map(|at| token(talea, folder, "node", &format!("n{at}"))).collect();
    let tokens = tokens?;
    let server = started(talea, folder, &folder.join("many.db"))?;
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

/// Thirty days of one job: seven in batches of a minute, those before in hours, as they are kept.
fn fill(path: &Path, places: &[Place]) -> Result<u64, String> {
    let options = Options { slice: Nanos(MINUTE), ..Options::default() };
    let mut store = Sqlite::open(path, &options).map_err(|e| e.to_string())?;
    let end = Nanos::now().0 / HOUR * HOUR;
    let fine = end - 7 * 24 * HOUR;
    let hours = (0..(DAYS - 7) * 24).map(|at| fine - (at + 1) * HOUR).rev();
    let minutes = (0..7 * 24 * 60).map(|at| fine + at * MINUTE);
    let times = hours.map(|at| at..at + HOUR).chain(minutes.map(|at| at..at + MINUTE));
    let mut waiting = Vec::new();
    for (number, time) in (0..).zip(times) {
        for node in 0..NODES {
            waiting.push(batch(&format!("p{node}"), number, time.clone(), 4711, places));
        }
        if waiting.len() >= 400 {
            store.put_all(&waiting).map_err(|e| e.to_string())?;
            waiting.clear();
        }
    }
    store.put_all(&waiting).map_err(|e| e.to_string())?;
    while store.retain(Nanos(end), 64).map_err(|e| e.to_string())?.more {}
    fs::metadata(path).map(|file| file.len()).map_err(|e| e.to_string())
}

/// What the page of a job asks (`JobPage.update` of `web/src/serve/job.ts`), in its order: `what: question` on a line. The first is asked alone, the others at
/// once when it is answered; the second is what rules find, for which nothing else on the page waits. `web/test/serve.test.mjs` holds the page to this list.
const JOB_PAGE: &str = include_str!("job-page.txt");

/// The same of thirty days before `end`, in seconds since 1970; functions are asked for of the last 90 minutes, as four nodes allow.
fn questions(end: u64) -> Vec<(&'static str, String)> {
    let lines = JOB_PAGE.lines().filter_map(|line| line.split_once(": "));
    let filled = |question: &str| {
        let question = question.replace("{from}", &(end - DAYS * 86_400).to_string());
        let question = question.replace("{late}", &format!("{}.000000", end - 90 * 60));
        question.replace("{to}", &end.to_string()).replace("{user}", "1000")
    };
    lines.map(|(what, question)| (what, filled(question))).collect()
}

/// Milliseconds until a question is answered.
fn answered(address: &str, token: &str, question: &str) -> Result<f64, String> {
    let client: ureq::Agent = ureq::Agent::config_builder().build().into();
    let begin = Instant::now();
    let request = client.get(format!("http://{address}/api/v1/{question}"));
    let request = request.header("Authorization", format!("Bearer {token}"));
    let mut answer = request.call().map_err(|e| format!("{e}: {question}"))?;
    let body = answer.body_mut().with_config().limit(1 << 30).read_to_vec();
    body.map_err(|e| e.to_string())?;
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

/// Milliseconds until a page shows its figures, and until it shows what rules found too.
struct Shown {
    figures: f64,
    rules: f64,
}

/// The questions of a job's page, and how long it takes until all of them are answered.
fn page(talea: &Path, folder: &Path) -> Result<(), String> {
    let places = places(talea)?;
    let file = folder.join("page.db");
    let size = fill(&file, &places)?;
    let token = operator(talea, folder)?;
    let server = started(talea, folder, &file)?;
    let end = Nanos::now().0 / HOUR * HOUR / SECOND;
    let questions = questions(end);
    let ask = |question: &str| answered(&server.address, &token, question);
    let [(_, job), (_, rules), rest @ ..] = questions.as_slice() else {
        return Err("no questions".to_owned());
    };
    let all = || -> Result<Shown, String> {
        let begin = Instant::now();
        ask(job)?;
        let joined = |one: std::thread::ScopedJoinHandle<'_, Result<f64, String>>| {
            one.join().map_err(|_| "a question failed".to_owned())?
        };
        std::thread::scope(|scope| {
            let ruling = scope.spawn(|| ask(rules));
            let asked: Vec<_> = rest.iter().map(|(_, one)| scope.spawn(|| ask(one))).collect();
            asked.into_iter().try_for_each(|one| joined(one).map(|_| ()))?;
            let figures = begin.elapsed().as_secs_f64() * 1e3;
            joined(ruling)?;
            Ok(Shown { figures, rules: begin.elapsed().as_secs_f64() * 1e3 })
        })
    };
    let first = all()?;
    let again = |question: &dyn Fn() -> Result<f64, String>| -> Result<String, String> {
        let times: Result<Vec<f64>, String> = (0..AGAIN).map(|_| question()).collect();
        Ok(format!("{:.0}", median(&mut times?)))
    };
    heading("The page of a job over thirty days");
    println!(
        "{NODES} nodes of {CORES} cores, seven days in minutes and the rest in hours, {:.0} MB. Milliseconds: the whole page when it is opened first, with what rules find in all of the job's time asked beside it; then medians of {AGAIN}, when the server remembers that for 45 s.\n",
        size as f64 / 1e6
    );
    println!("| question | ms |\n|---|---|");
    println!("| the whole page but rules, first | {:.0} |", first.figures);
    println!("| what rules find, first | {:.0} |", first.rules);
    println!("| the whole page but rules, again | {} |", again(&|| all().map(|all| all.figures))?);
    for (what, question) in std::iter::once(&questions[0]).chain(rest) {
        println!("| {what} | {} |", again(&|| ask(question))?);
    }
    let late = end - 90 * 60;
    let cores = format!(
        "usage?from={late}.000000&to={end}&job=4711&user=1000&by=node,core,activity&limit=50000"
    );
    println!(
        "| single cores of its last 90 min, where agents tell no spread | {} |",
        again(&|| ask(&cores))?
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_whole() {
        let all = questions(1_735_689_600);
        assert_eq!(all.len(), JOB_PAGE.lines().count());
        let first: Vec<&str> = all[..2].iter().map(|(what, _)| *what).collect();
        assert_eq!(first, ["the job", "rules"]);
        assert!(all.iter().all(|(_, question)| !question.contains(['{', '}', ' '])));
    }
}

//! Many who ask as much as they may, while an operator looks at the machine.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use talea_model::shares::{Activity, Batch, BatchId, Job, Sampler, Share};
use talea_model::{Module, Nanos};
use talea_store::Store as _;
use talea_store::sqlite::{Options, Sqlite};

use super::killed::started;
use super::visible::encoded;
use crate::access::{Kind, Role, add_token, add_user};
use crate::testing::SECOND;

const HOUR: u64 = 60 * MINUTE;
const MINUTE: u64 = 60 * SECOND;
const NODES: u64 = 50;
const MINUTES: u64 = 60;
const CORES: u32 = 10;
/// Of each core.
const LIBRARIES: u32 = 15;
const CLIENTS: usize = 20;
/// Who go away before their answer.
const GONE: u32 = 3;
/// What questions of a server may take, and what it has anyway: six of 192 MiB, answers of 256 MiB,
/// and 64 MiB.
const MOST: u64 = (6 * 192 + 256 + 64) << 20;

/// Begin of the samples: recent, because the server makes a day of slices that are older than three
/// months as soon as it has run for half a minute.
fn start() -> u64 {
    static START: OnceLock<u64> = OnceLock::new();
    *START.get_or_init(|| (Nanos::now().0 / HOUR - 3) * HOUR)
}

/// An hour of nodes whose cores are in many files, all of one user.
fn fill(path: &std::path::Path) {
    let options = Options { slice: Nanos(MINUTE), ..Options::default() };
    let mut store = Sqlite::open(path, &options).unwrap();
    let name = |at: u32| format!("/opt/software/of/this/site/lib/libnumerics-{at}.so.1.2.3");
    let module = |at| Module { path: name(at), build_id: "ab".to_owned() };
    let share = |core: u32, library: u32| Share {
        core,
        activity: if library.is_multiple_of(2) { Activity::User } else { Activity::Kernel },
        job: Some(0),
        user: Some(1000),
        executable: Some(0),
        library: Some(library),
        address: Some(0x1000),
        phase: Some(0),
        samples: 4,
    };
    for minute in 0..MINUTES {
        let begin = Nanos(start() + minute * MINUTE);
        let batch = |node: u64| Batch {
            begin,
            end: begin + Nanos(MINUTE),
            period: Nanos(SECOND),
            cores: CORES,
            sampler: Sampler::Bpf,
            jobs: vec![Job { id: "4711".to_owned(), user: Some(1000) }],
            modules: (0..LIBRARIES).map(module).collect(),
            phases: vec!["solve".to_owned()],
            shares: (0..CORES)
                .flat_map(|core| (0..LIBRARIES).map(move |at| share(core, at)))
                .collect(),
            ..Batch::empty(BatchId { node: format!("n{node:03}"), started: 1, number: minute })
        };
        store.put_all(&(0..NODES).map(batch).collect::<Vec<_>>()).unwrap();
    }
}

fn resident_most(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() << 10
}

/// Tells clients to end, also where the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn client() -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_mins(3)))
        .http_status_as_error(false)
        .build()
        .into()
}

#[test]
fn an_operator_looks_at_the_machine_while_others_ask_the_worst() {
    let folder = tempfile::tempdir().unwrap();
    fill(&folder.path().join("t.db"));
    let config = folder.path().join("config");
    add_user(&config, "root", 0, Role::Operator, "long enough").unwrap();
    let bearer = |name: &str| format!("Bearer {}", add_token(&config, Kind::User, name).unwrap());
    let root = bearer("root");
    let users: Vec<String> = (0..CLIENTS)
        .map(|at| {
            let name = format!("user{at}");
            add_user(&config, &name, 1000, Role::User, "long enough").unwrap();
            bearer(&name)
        })
        .collect();
    let (server, address) = started(folder.path(), Stdio::null());
    let term = "sum by (core,node,executable,library,phase,activity) (sum_over_time(talea_core_samples[1m]))";
    let terms = [term; 8].join(" + ");
    let times = format!("start={}&end={}&step=30", start() / SECOND, start() / SECOND + 3600);
    let path =
        |query: &str| format!("/prometheus/api/v1/query_range?{times}&query={}", encoded(query));
    let (one, eight) = (path(term), path(&terms));
    let (is_over, answered, long) =
        (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let looks: Vec<Duration> = std::thread::scope(|scope| {
        for (at, user) in users.iter().enumerate() {
            let (is_over, answered, long) = (&is_over, &answered, &long);
            let (one, eight, address) = (&one, &eight, &address);
            scope.spawn(move || {
                let client = client();
                while !is_over.load(Ordering::Relaxed) {
                    if at % 4 == 3 {
                        // Who goes away before the answer comes.
                        let mut gone = TcpStream::connect(address).unwrap();
                        let head = format!(
                            "GET {one} HTTP/1.1\r\nHost: x\r\nAuthorization: {user}\r\n\r\n"
                        );
                        let _ = gone.write_all(head.as_bytes());
                        std::thread::sleep(Duration::from_millis(100));
                        continue;
                    }
                    let path = if at % 4 == 2 { eight } else { one };
                    let url = format!("http://{address}{path}");
                    let mut answer = client.get(url).header("Authorization", user).call().unwrap();
                    let status = answer.status().as_u16();
                    assert!([200, 400, 503].contains(&status), "{status}");
                    let body = answer.body_mut().with_config().limit(256 << 20).read_to_vec();
                    let body = body.unwrap();
                    answered.fetch_add(1, Ordering::Relaxed);
                    if status == 200 {
                        let end = String::from_utf8_lossy(&body[body.len().saturating_sub(300)..]);
                        assert!(
                            body.len() > 1 << 20 && body.ends_with(b"}"),
                            "{} bytes: {end}",
                            body.len()
                        );
                        long.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let _over = Over(&is_over);
        let client = client();
        let times = format!("from={}&to={}", start() / SECOND, start() / SECOND + 3600);
        let page = [
            format!("/api/v1/usage?{times}&by=activity"),
            format!("/api/v1/usage?{times}&by=job,user&limit=26"),
            "/api/v1/nodes".to_owned(),
            "/metrics".to_owned(),
        ];
        std::thread::sleep(Duration::from_secs(2));
        let looks = (0..15).map(|_| {
            let begin = Instant::now();
            for path in &page {
                let url = format!("http://{address}{path}");
                let answer = client.get(url).header("Authorization", &root).call().unwrap();
                assert_eq!(answer.status().as_u16(), 200, "{path}");
            }
            let took = begin.elapsed();
            std::thread::sleep(Duration::from_millis(300));
            took
        });
        looks.collect()
    });
    let memory = resident_most(server.0.id());
    let mut sorted = looks;
    sorted.sort();
    let (middle, last) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    println!(
        "page: median {middle:?}, most {last:?}; {} MiB; {} answers, {} with all rows",
        memory >> 20,
        answered.load(Ordering::Relaxed),
        long.load(Ordering::Relaxed)
    );
    assert!(memory < MOST, "{} MiB", memory >> 20);
    assert!(middle < Duration::from_secs(1), "median of a page's four questions: {middle:?}");
    assert!(long.load(Ordering::Relaxed) > 0, "nobody had an answer");
}

#[test]
fn a_question_ends_when_its_client_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    fill(&folder.path().join("t.db"));
    let config = folder.path().join("config");
    add_user(&config, "root", 0, Role::Operator, "long enough").unwrap();
    let root = format!("Bearer {}", add_token(&config, Kind::User, "root").unwrap());
    let (_server, address) = started(folder.path(), Stdio::null());
    let client = client();
    let figure = |name: &str| -> f64 {
        let url = format!("http://{address}/metrics");
        let text = client.get(url).call().unwrap().body_mut().read_to_string().unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse().unwrap()
    };
    let seconds = || figure("talea_serve_question_seconds_total");
    let questions = || figure("talea_serve_questions_total");
    let times = format!("start={}&end={}&step=30", start() / SECOND, start() / SECOND + 3600);
    let query = encoded("sum by (core,node,library) (sum_over_time(talea_core_samples[1m]))");
    let path = format!("/prometheus/api/v1/query_range?{times}&query={query}");
    let url = format!("http://{address}{path}");
    let mut whole = client.get(url).header("Authorization", &root).call().unwrap();
    assert_eq!(whole.status().as_u16(), 200);
    whole.body_mut().with_config().limit(256 << 20).read_to_vec().unwrap();
    let (took, asked) = (seconds(), questions());
    // Some who ask the same and go away after a part of the time.
    for _ in 0..GONE {
        let mut gone = TcpStream::connect(&address).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {root}\r\n\r\n");
        gone.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_secs_f64(took / 10.0));
    }
    let ended = (0..1200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        questions() >= asked + f64::from(GONE)
    });
    assert!(ended);
    let each = (seconds() - took) / f64::from(GONE);
    assert!(each < took * 0.7, "{each} s for each of who went away, {took} s for a whole answer");
}

//! The same pages from another engine: a server whose store is `VictoriaMetrics` answers as one
//! with `SQLite` does.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use talea_testing::missing;

use super::Served;
use crate::access::{Kind, Role};
use crate::testing::batch;

/// A server of its own on a free port; it ends with the test.
struct Engine(Child, String);

impl Engine {
    fn start(folder: &Path) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let data = folder.join("victoria");
        let child = Command::new("victoria-metrics")
            .arg(format!("-storageDataPath={}", data.display()))
            .arg(format!("-httpListenAddr={address}"))
            .args(["-dedup.minScrapeInterval=1ms", "-search.latencyOffset=0s"])
            .args(["-retentionPeriod=100y", "-memory.allowedPercent=5"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match child {
            Ok(child) => {
                let engine = Self(child, format!("http://{address}"));
                eventually(|| std::net::TcpStream::connect(&address).is_ok(), "it listens");
                Some(engine)
            }
            Err(error) => missing(&format!("victoria-metrics cannot be started: {error}")),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn eventually(mut holds: impl FnMut() -> bool, what: &str) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_mins(1), "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// An answer without what differs by nature: the name of the store, and what is said of how it is
/// kept.
fn plain(mut answer: Value) -> Value {
    if let Some(object) = answer.as_object_mut() {
        for key in ["store", "gaps"] {
            object.remove(key);
        }
        for node in object.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten() {
            node.as_object_mut().map(|node| node.remove("interval_ns"));
        }
    }
    answer
}

#[test]
fn pages_are_the_same_from_victoria_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let Some(engine) = Engine::start(folder.path()) else { return };
    let file = Served::new();
    let series = Served::on(&format!("prometheus:{}", engine.1));
    let jobs = [("alpha-1", 1, "alpha"), ("bravo-1", 2, "bravo")];
    let mut people = Vec::new();
    for served in [&file, &series] {
        for node in ["n1", "n2"] {
            let token = served.token(Kind::Node, node);
            for number in 0..6 {
                // Nodes differ, and one has both jobs.
                let own = if node == "n1" { &jobs[..] } else { &jobs[1..] };
                assert_eq!(served.put(&token, &[batch(node, number, own)]).status, 200);
            }
        }
        let anna = served.user("anna", 1, Role::User);
        people.push([anna, served.user("root", 0, Role::Operator)]);
    }
    let time = "from=1767225600&to=1767225660";
    let mut paths: Vec<String> =
        ["node", "job", "user", "executable", "library", "function", "phase", "core", "activity"]
            .iter()
            .flat_map(|by| {
                [
                    format!("/api/v1/usage?{time}&by={by}"),
                    format!("/api/v1/series?{time}&step=10s&by={by}"),
                ]
            })
            .collect();
    paths.extend(["library", "job,phase"].map(|by| format!("/api/v1/rates?{time}&by={by}")));
    for path in ["/api/v1/nodes", "/api/v1/jobs", "/api/v1/jobs/bravo-1", "/api/v1/jobs/alpha-1"] {
        let question = if path == "/api/v1/nodes" { String::new() } else { format!("?{time}") };
        paths.push(format!("{path}{question}"));
    }
    for path in &paths {
        for (own, other) in people[0].iter().zip(&people[1]) {
            let expected = file.get(path, &[("Authorization", own)]);
            let begin = Instant::now();
            // What was written is found a moment later.
            loop {
                let found = series.get(path, &[("Authorization", other)]);
                let is_same = if found.status == 200 && expected.status == 200 {
                    plain(found.json()) == plain(expected.json())
                } else {
                    found.status == expected.status
                };
                if is_same {
                    break;
                }
                let waited = begin.elapsed();
                assert!(waited < Duration::from_mins(1), "{path}: {found:?}, not {expected:?}");
                std::thread::sleep(Duration::from_millis(300));
            }
        }
    }
}

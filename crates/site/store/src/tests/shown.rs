//! What people are shown - queries in the documentation, panels of dashboards - gives something on
//! real servers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use talea_model::shares::{Activity, Share};
use talea_model::{Gap, GapKind, Module, Nanos};

use crate::Store;
use crate::prometheus::{Options, Prometheus};
use crate::tests::made::{MPI, batch};
use crate::tests::server::{Server, eventually, servers};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// A quarter of an hour of a node, up to now.
fn fill(server: &Server) {
    let mut store = Prometheus::at(&server.address(), &Options::default()).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = now.as_nanos() as u64;
    for number in 0..90 {
        let mut batch = batch("n1", 7, number);
        batch.begin = Nanos(now - (90 - number) * 10_000_000_000);
        batch.end = Nanos(batch.begin.0 + 10_000_000_000);
        batch.phases = vec!["solve".to_owned()];
        batch.shares[0].phase = Some(0);
        let mut idle = batch.shares[0].clone();
        (idle.activity, idle.job, idle.user) = (Activity::Idle, None, None);
        (idle.executable, idle.library, idle.address, idle.phase) = (None, None, None, None);
        batch.shares.push(idle);
        batch.modules.push(Module { path: MPI.to_owned(), build_id: String::new() });
        batch.shares.push(Share { library: Some(2), ..batch.shares[0].clone() });
        batch.gaps.note(Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: "samples lost".to_owned(),
            count: 3,
        });
        store.put(&batch).unwrap();
    }
}

/// That a query gives at least one series.
fn gives(server: &Server, query: &str) -> Result<(), String> {
    let form = [("query", query), ("nocache", "1")];
    let address = format!("{}/api/v1/query", server.address());
    let said = ureq::post(address).send_form(form).map_err(|e| format!("{query}: {e}"))?;
    let text = said.into_body().read_to_string().unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let some = value["data"]["result"].as_array().is_some_and(|result| !result.is_empty());
    if some { Ok(()) } else { Err(format!("{:?}: {query}: {text}", server.engine())) }
}

fn documented() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs/store.md")).unwrap();
    let blocks = text.split("```promql\n").skip(1).filter_map(|block| block.split("```").next());
    let queries = blocks.flat_map(|block| block.split("\n\n"));
    let plain = |query: &str| {
        let lines = query.lines().filter(|line| !line.starts_with('#'));
        lines.collect::<Vec<_>>().join(" ").trim().to_owned()
    };
    queries.map(plain).filter(|query| !query.is_empty()).collect()
}

fn dashboards() -> Vec<(PathBuf, Value)> {
    let folder = root().join("grafana/dashboards");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).unwrap();
        (file, serde_json::from_str(&text).unwrap())
    };
    files.into_iter().map(read).collect()
}

/// What Grafana writes in place of its variables.
fn filled(query: &str) -> String {
    [
        ("$__range", "15m"),
        ("$__interval", "1m"),
        ("${node:regex}", "n1"),
        ("${job:regex}", "4711"),
        ("${user:regex}", ".*"),
    ]
    .iter()
    .fold(query.to_owned(), |query, (name, value)| query.replace(name, value))
}

#[test]
fn every_query_gives_something() {
    let servers = servers();
    for server in &servers {
        fill(server);
        let documented = documented();
        assert!(documented.len() >= 5);
        for query in documented {
            eventually(|| gives(server, &query));
        }
        for (file, dashboard) in dashboards() {
            for panel in dashboard["panels"].as_array().unwrap() {
                for target in panel["targets"].as_array().into_iter().flatten() {
                    let query = filled(target["expr"].as_str().unwrap());
                    assert!(!query.contains('$'), "{}: {query}", file.display());
                    eventually(|| gives(server, &query));
                }
            }
            for variable in dashboard["templating"]["list"].as_array().unwrap() {
                if variable["type"] == "query" {
                    let query = variable["query"]["query"].as_str().unwrap();
                    let inside = query.strip_prefix("label_values(").unwrap();
                    let (selector, _) = inside.rsplit_once(',').unwrap();
                    let query = format!("last_over_time({}[15m])", filled(selector));
                    eventually(|| gives(server, &query));
                }
            }
        }
    }
}

#[test]
fn dashboards_are_as_grafana_wants_them() {
    let mut uids = BTreeSet::new();
    let dashboards = dashboards();
    assert!(dashboards.len() >= 3);
    for (file, dashboard) in dashboards {
        let name = file.display();
        assert!(dashboard["schemaVersion"].as_u64().is_some_and(|version| version >= 36), "{name}");
        assert!(uids.insert(dashboard["uid"].as_str().unwrap().to_owned()), "{name}");
        assert!(dashboard["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");
        let mut ids = BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{name}");
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{name}");
            let place = &panel["gridPos"];
            assert!(["h", "w", "x", "y"].iter().all(|key| place[key].is_u64()), "{name}");
            assert!(place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24, "{name}");
            assert!(!panel["targets"].as_array().unwrap().is_empty(), "{name}");
        }
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        assert_eq!(variables[0]["type"], "datasource", "{name}");
        assert_eq!(variables[0]["name"], "datasource", "{name}");
    }
}

//! Queries of dashboards give the figures that the other routes give.

use serde_json::{Value, json};

use super::Served;
use super::visible::encoded;
use crate::access::{Kind, Role};
use crate::testing::batch;

/// Batches of two minutes from 2026-01-01; the times are in the middle of an hour.
fn filled() -> (Served, String) {
    let served = Served::new();
    let (root, node) = (served.user("root", 0, Role::Operator), served.token(Kind::Node, "n1"));
    let jobs = [("1", 1, "a"), ("2", 2, "b")];
    let all: Vec<_> = (0..12).map(|number| batch("n1", number, &jobs)).collect();
    assert_eq!(served.put(&node, &all).status, 200);
    (served, root)
}

fn asked(served: &Served, root: &str, query: &str) -> Value {
    let path = format!("/prometheus/api/v1/query?time=1767225780&query={}", encoded(query));
    served.get(&path, &[("Authorization", root)]).json()["data"].clone()
}

/// Labels and value of each row.
fn rows(data: &Value) -> Vec<(Value, f64)> {
    let rows = data["result"].as_array().unwrap().iter();
    rows.map(|row| (row["metric"].clone(), row["value"][1].as_str().unwrap().parse().unwrap()))
        .collect()
}

#[test]
fn windows_shorter_than_slices_are_warned_of() {
    let (served, root) = filled();
    let warned = |window: &str| {
        let query = encoded(&format!("sum(rate(talea_samples[{window}]))"));
        let path = format!("/prometheus/api/v1/query?time=1767225655&query={query}");
        let answer = served.get(&path, &[("Authorization", &root)]).json();
        let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
        warnings.iter().any(|warning| warning.as_str().unwrap().contains("slices of up to 10 s"))
    };
    assert!(warned("5s"));
    assert!(!warned("10s"));
    assert!(!warned("10m"));
}

#[test]
fn sums_over_all_time_are_those_of_usage() {
    let (served, root) = filled();
    let ask = |query: &str| rows(&asked(&served, &root, query));
    assert_eq!(ask("sum(sum_over_time(talea_samples[10m]))"), [(json!({}), 240.0)]);
    assert_eq!(
        ask("sum by (job) (sum_over_time(talea_work_samples[10m]))"),
        [(json!({"job": "1"}), 120.0), (json!({"job": "2"}), 120.0)]
    );
    assert_eq!(
        ask("sum by (user) (increase(talea_core_seconds{library=~\".*libb.so\"}[10m])) * 2"),
        [(json!({"user": "2"}), 240.0)]
    );
    assert_eq!(ask("sum(rate(talea_samples[10m]))"), [(json!({}), 0.4)]);
    assert_eq!(
        ask("topk(1, sum by (phase) (sum_over_time(talea_samples{job!=\"2\"}[10m])))"),
        [(json!({"phase": "phase of a"}), 120.0)]
    );
    assert_eq!(
        ask(
            "sum by (job) (sum_over_time(talea_samples[10m])) / scalar(sum(sum_over_time(talea_samples[10m])))"
        ),
        [(json!({"job": "1"}), 0.5), (json!({"job": "2"}), 0.5)]
    );
    assert_eq!(
        ask(
            "count(sum by (node, core) (sum_over_time(talea_core_samples{activity=\"user\"}[10m])))"
        ),
        [(json!({}), 2.0)]
    );
    assert_eq!(ask("sum(sum_over_time(talea_samples{job=\"\"}[10m]))"), []);
    assert_eq!(ask("sum(sum_over_time(talea_samples[10m] offset 1d))"), []);
    let scalar = asked(&served, &root, "1 + 2 * 3");
    assert_eq!(scalar, json!({"resultType": "scalar", "result": [1_767_225_780.0, "7"]}));
}

#[test]
fn steps_of_a_range_have_all_samples_once() {
    let (served, root) = filled();
    let query = encoded("sum by (job) (sum_over_time(talea_samples[30s]))");
    let path = format!(
        "/prometheus/api/v1/query_range?query={query}&start=1767225600&end=1767225780&step=30"
    );
    let found = served.get(&path, &[("Authorization", &root)]).json();
    assert_eq!(found["data"]["resultType"], "matrix");
    let rows = found["data"]["result"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let values = row["values"].as_array().unwrap().iter();
        let sum: f64 = values.map(|pair| pair[1].as_str().unwrap().parse::<f64>().unwrap()).sum();
        assert!((sum - 120.0).abs() < 1e-9, "{row}");
    }
}

#[test]
fn forms_labels_and_errors() {
    let (served, root) = filled();
    let head = &[("Authorization", root.as_str())];
    let body =
        format!("query={}&time=1767225780", encoded("sum(sum_over_time(talea_samples[10m]))"));
    let came = served.post("/prometheus/api/v1/query", head, body.as_bytes()).json();
    assert_eq!(came["data"]["result"][0]["value"][1], "240");
    // As long as an address may be.
    let long = format!("{body}&dedup={}", "x".repeat((16 << 10) - 1024));
    let came = served.post("/prometheus/api/v1/query", head, long.as_bytes());
    assert_ne!(came.status, 413, "{}", came.text);
    let longer = format!("{long}{}", "x".repeat(2048));
    assert_eq!(served.post("/prometheus/api/v1/query", head, longer.as_bytes()).status, 413);
    let time = "start=1767225600&end=1767225780";
    let values = |name: &str| {
        let path = format!("/prometheus/api/v1/label/{name}/values?{time}");
        served.get(&path, head).json()["data"].clone()
    };
    assert_eq!(values("job"), json!(["1", "2"]));
    assert_eq!(values("core"), json!(["0", "1"]));
    assert_eq!(values("nothing"), json!([]));
    let path = format!("/prometheus/api/v1/series?{time}&match[]=talea_work_samples");
    let series = served.get(&path, head).json()["data"].clone();
    assert_eq!(series.as_array().unwrap().len(), 2);
    assert_eq!(series[0]["__name__"], "talea_work_samples");
    let came = served.get("/prometheus/api/v1/query?query=rate(up[5m])", head);
    assert_eq!(came.status, 400);
    let error: Value = serde_json::from_str(&came.text).unwrap();
    assert_eq!((&error["status"], &error["errorType"]), (&json!("error"), &json!("bad_data")));
    assert!(error["error"].as_str().unwrap().contains("talea_samples"), "{error}");
}

/// Queries of the panels of a dashboard with their titles, for some minutes and everybody.
fn panels(name: &str) -> Vec<(String, String)> {
    let path = format!("{}/../../../grafana/dashboards/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let dashboard: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut found = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().unwrap();
            let query = ["node", "job", "user"].iter().fold(query.to_owned(), |query, name| {
                query.replace(&format!("${{{name}:regex}}"), ".*")
            });
            let query = query.replace("$__range", "10m").replace("$__interval", "1m");
            assert!(!query.contains('$'), "{query}");
            found.push((format!("{name}: {title}"), query));
        }
    }
    found
}

#[test]
fn panels_of_dashboards_work_but_for_those_that_are_documented() {
    let (served, root) = filled();
    let head = &[("Authorization", root.as_str())];
    let panels: Vec<_> = ["job", "libraries", "machine"].into_iter().flat_map(panels).collect();
    assert!(panels.len() > 20, "{}", panels.len());
    let refused = panels.iter().filter(|(_, query)| {
        let path = format!("/prometheus/api/v1/query?time=1767225780&query={}", encoded(query));
        let came = served.get(&path, head);
        assert!([200, 400].contains(&came.status), "{query}: {}", came.text);
        came.status == 400
    });
    let refused: Vec<_> = refused.map(|(title, _)| title.as_str()).collect();
    let documented = [
        "job: Addresses",
        "libraries: Builds of libraries",
        "machine: Jobs",
        "machine: Jobs",
        "machine: What agents lost",
    ];
    assert_eq!(refused, documented);
    let path = "/prometheus/api/v1/label/node/values?match[]=talea_work_samples&start=1767225600&end=1767226000";
    assert_eq!(served.get(path, head).json()["data"], json!(["n1"]));
}

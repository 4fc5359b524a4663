//! Tests of a job's counters over its nodes: two files of one node, times of the run, keys of JSON.

use serde_json::json;

use super::node::tests::TEXT;
use super::*;

fn job() -> Job {
    let text = |name: &str| {
        TEXT.replace("10 17 500 2", "100 17 500 2").replace("host n1", &format!("host {name}"))
    };
    let node = |name: &str| Node::parse(name, text(name)).unwrap();
    let own = |name: &str, ranks: std::ops::Range<u32>, own| Part {
        name: name.to_owned(),
        ranks: ranks.map(Rank).collect(),
        end: Some(Nanos(20_000_000_000)),
        clocks: Some((Nanos(1_500_000_000), Nanos(0))),
        node: Some(node(name)),
        own,
    };
    let without = Part { node: None, ..own("n3", 8..9, [5, 6]) };
    let parts = vec![own("n1", 0..4, [600, 2000]), own("n2", 4..8, [700, 4000]), without];
    Job { parts, collective: 64, gaps: Gaps::default() }
}

#[test]
fn a_second_file_of_a_node_is_said() {
    let mut job = job();
    let node =
        |name: &str| Node::parse(name, TEXT.replace("host n1", &format!("host {name}"))).unwrap();
    let said =
        |job: &Job| job.gaps.iter().filter(|gap| gap.detail.contains("more than one")).count();
    job.add(node("n3"));
    job.add(node("n4"));
    assert_eq!((job.parts.len(), said(&job)), (4, 0));
    job.add(node("n3"));
    assert_eq!((job.parts.len(), said(&job)), (5, 1));
    assert!(job.parts[2].node.is_some() && job.parts[4].ranks.is_empty());
}

#[test]
fn times_are_those_of_the_run() {
    let job = job();
    let part = &job.parts[0];
    // 8.1 s of the date are 4.1 s of the node's clock, and the run began at 1.5 s of that.
    assert_eq!(part.time(Nanos(8_100_000_000)), Some(Nanos(2_600_000_000)));
    // Before the run.
    assert_eq!(part.time(Nanos(5_000_000_000)), Some(Nanos(0)));
    assert_eq!(job.parts[2].time(Nanos(5)), None);
}

#[test]
fn the_keys_of_json_stay() {
    let json = serde_json::to_value(job().parts[0].row()).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "node",
            "ranks",
            "source",
            "interval_ns",
            "readings",
            "seconds",
            "ended",
            "sent",
            "received",
            "ports",
            "steps",
        ]
    );
    assert_eq!(json["sent"], json!({ "ports": 664, "own": 600, "other": 64 }));
    assert_eq!(
        json["steps"][1],
        json!(
            {
                "time_ns": 500_000_000,
                "realtime_ns": 6_000_000_000_u64,
                "bytes": [[400, 500], [400, 500]]
            }
        )
    );
    let port = &json["ports"][0];
    assert_eq!(port["sent"]["bytes_per_packet"], 66.4);
    assert_eq!(port["sent"]["most"]["end_ns"], 500_000_000);
    assert_eq!(
        port["counters"][0],
        json!({ "name": "data", "unit": "four_bytes", "hertz": null, "grown": 166 })
    );
}

//! Names and questions that mean harm.

use super::Served;
use super::visible::encoded;
use crate::access::{Kind, Role};
use crate::testing::batch;

#[test]
fn names_come_back_as_they_are() {
    let served = Served::new();
    let (root, node) = (served.user("root", 0, Role::Operator), served.token(Kind::Node, "n1"));
    let names = [
        "'; DROP TABLE share; --",
        "</script><script>alert(1)</script>",
        "../../../etc/passwd",
        "\"} or vector(1) or {job=\"",
        "\r\nSet-Cookie: a=b",
        "\u{0}\u{202e}\u{7f}",
        "",
        "日本語",
    ];
    let jobs: Vec<(&str, u32, &str)> = names.iter().map(|name| (*name, 7, *name)).collect();
    assert_eq!(served.put(&node, &[batch("n1", 0, &jobs)]).status, 200);
    let head = &[("Authorization", root.as_str())];
    let found = served.get("/api/v1/usage?by=job,phase", head).json();
    assert_eq!(found["rows"].as_array().unwrap().len(), names.len());
    for name in names {
        let rows = found["rows"].as_array().unwrap();
        assert!(rows.iter().any(|row| row["job"] == name), "{name}");
        if name.is_empty() {
            continue;
        }
        let job = served.get(&format!("/api/v1/jobs/{}", encoded(name)), head).json();
        assert_eq!(job["job"], name);
        let one = served.get(&format!("/api/v1/usage?job={}", encoded(name)), head).json();
        assert_eq!(one["matched_samples"], 10, "{name}");
        let hits = served.get(&format!("/api/v1/search?q={}&from=0", encoded(name)), head);
        assert!(hits.json()["hits"].as_array().is_some_and(|hits| !hits.is_empty()), "{name}");
    }
}

#[test]
fn questions_that_cannot_be_meant_name_what_can() {
    let served = Served::new();
    let root = served.user("root", 0, Role::Operator);
    let head = &[("Authorization", root.as_str())];
    let came = served.get("/api/v1/usage?colour=red", head);
    assert_eq!(came.status, 400);
    assert!(
        came.text.contains("unknown parameter") && came.text.contains("executable"),
        "{came:?}"
    );
    for path in [
        "/api/v1/series?step=0s&last=1h",
        "/api/v1/series?last=1h",
        "/api/v1/series?step=1s",
        "/api/v1/search",
        "/api/v1/nodes?x=1",
        "/api/v1/findings?rule=x",
        "/prometheus/api/v1/query",
        "/prometheus/api/v1/query_range?query=1",
        "/prometheus/api/v1/query_range?query=1&start=0&end=1000000&step=1",
        "/prometheus/api/v1/series",
    ] {
        let came = served.get(path, head);
        assert_eq!(came.status, 400, "{path}: {}", came.text);
        assert!(came.text.contains("expected"), "{path}: {}", came.text);
    }
    let long = served.get(&format!("/api/v1/usage?job={}", "x".repeat(20_000)), head);
    assert_eq!(long.status, 400);
    for path in ["/api/v1/usage/", "/api/v2/usage", "/etc/passwd", "/assets/..%2f..%2fCargo.toml"] {
        assert_eq!(served.get(path, head).status, 404, "{path}");
    }
    assert_eq!(served.post("/api/v1/usage", head, b"").status, 405);
    assert_eq!(served.get("/api/v1/batches", head).status, 405);
}

#[test]
fn a_question_of_a_megabyte_does_no_harm() {
    use std::io::{Read as _, Write as _};
    let served = Served::new();
    let mut connection = std::net::TcpStream::connect(served.address).unwrap();
    let line = format!("GET /api/v1/usage?job={} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20));
    let _ = connection.write_all(line.as_bytes());
    let mut text = String::new();
    let _ = connection.read_to_string(&mut text);
    assert!(!text.contains(" 200 "), "{text}");
    assert_eq!(served.get("/", &[]).status, 200);
}

//! Batches that come once, again, in any order, in pieces and not at all.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use talea_model::shares::{Batch, Upkeep};
use talea_model::{Bytes, Nanos};

use super::Served;
use crate::access::{Kind, Role};
use crate::testing::{batch, framed};

fn samples(served: &Served, root: &str) -> u64 {
    let answer = served.get("/api/v1/usage", &[("Authorization", root)]).json();
    answer["samples"].as_u64().unwrap()
}

#[test]
fn a_batch_counts_once_however_it_comes() {
    let served = Served::new();
    let (root, node) = (served.user("root", 0, Role::Operator), served.token(Kind::Node, "n1"));
    let all: Vec<_> = (0..20).map(|number| batch("n1", number, &[("1", 1, "a")])).collect();
    let first = served.put(&node, &all[5..10]).json();
    assert_eq!((&first["new"], &first["already"]), (&5.into(), &0.into()));
    let mut backwards = all.clone();
    backwards.reverse();
    let rest = served.put(&node, &backwards).json();
    assert_eq!((&rest["new"], &rest["already"]), (&15.into(), &5.into()));
    for one in all.iter().rev() {
        assert_eq!(served.put(&node, std::slice::from_ref(one)).json()["new"], 0);
    }
    assert_eq!(samples(&served, &root), 200);
}

#[test]
fn operators_see_what_agents_take() {
    let served = Served::new();
    let (root, user) = (served.user("root", 0, Role::Operator), served.user("u", 1, Role::User));
    let of = |node: &str, number, seconds: u64| Batch {
        upkeep: Some(Upkeep {
            processor: Nanos(seconds * 1_000_000_000),
            spool: Bytes(4096 * seconds),
            ..Upkeep::default()
        }),
        ..batch(node, number, &[])
    };
    let (first, second) = (served.token(Kind::Node, "n1"), served.token(Kind::Node, "n2"));
    let seen = |bearer: &str| served.get("/metrics", &[("Authorization", bearer)]).text;
    // An agent of before says nothing of itself, and is as welcome.
    assert_eq!(served.put(&second, &[batch("n2", 0, &[])]).status, 200);
    assert!(!seen(&root).contains("talea_agent_"));
    assert_eq!(served.put(&first, &[of("n1", 0, 1), of("n1", 1, 3)]).status, 200);
    // An answer that was lost: the first one comes again.
    assert_eq!(served.put(&first, &[of("n1", 0, 1)]).status, 200);
    let text = seen(&root);
    for line in [
        "# HELP talea_agent_cpu_seconds_total processor time of the node's agent",
        "# TYPE talea_agent_cpu_seconds_total counter",
        "talea_agent_cpu_seconds_total{node=\"n1\"} 3",
        "talea_agent_spool_bytes{node=\"n1\"} 12288",
        "talea_agent_resident_bytes{node=\"n1\"} 0",
    ] {
        assert!(text.lines().any(|seen| seen == line), "{line}: {text}");
    }
    assert!(!text.contains("n2"), "{text}");
    // Names of nodes are for operators.
    let public = served.get("/metrics", &[]).text;
    assert!(public.contains("talea_serve_nodes 2\n") && !public.contains("talea_agent_"));
    assert!(!seen(&user).contains("talea_agent_"));
    assert_eq!(served.get("/metrics", &[("Authorization", "Bearer no")]).status, 401);
}

#[test]
fn a_body_that_is_wrong_anywhere_is_not_stored_at_all() {
    let served = Served::new();
    let (root, node) = (served.user("root", 0, Role::Operator), served.token(Kind::Node, "n1"));
    let (good, other) = (batch("n1", 0, &[("1", 1, "a")]), batch("n2", 0, &[("1", 1, "a")]));
    let body = framed(&[good.clone(), good.clone()]);
    let mut longest = good.clone();
    longest.end = talea_model::Nanos(u64::MAX);
    let send =
        |body: &[u8]| served.post("/api/v1/batches", &[("Authorization", &node)], body).status;
    assert_eq!(served.put(&node, &[good.clone(), other]).status, 403);
    assert_eq!(served.put(&node, &[good.clone(), longest]).status, 400);
    assert_eq!(send(&body[..body.len() - 1]), 400);
    assert_eq!(send(&[&body[..], b"x"].concat()), 400);
    assert_eq!(send(&[0xff; 100]), 400);
    assert_eq!(send(&[&8_u32.to_le_bytes()[..], b"garbage!"].concat()), 400);
    assert_eq!(samples(&served, &root), 0);
    assert_eq!(served.put(&node, &[good]).status, 200);
    assert_eq!(samples(&served, &root), 10);
    let metrics = served.get("/metrics", &[]).text;
    assert!(metrics.contains("\ntalea_serve_refused_total 6\n"), "{metrics}");
}

/// What comes back to bytes as they are.
fn raw(served: &Served, bytes: &[u8]) -> String {
    let mut connection = TcpStream::connect(served.address).unwrap();
    connection.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    // The server may have answered and gone before all is sent.
    let _ = connection.write_all(bytes);
    let _ = connection.shutdown(std::net::Shutdown::Write);
    let mut text = Vec::new();
    let _ = connection.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn bodies_that_break_off_or_never_end() {
    let served = Served::new();
    let (root, node) = (served.user("root", 0, Role::Operator), served.token(Kind::Node, "n1"));
    let head = |length: usize| {
        format!(
            "POST /api/v1/batches HTTP/1.1\r\nHost: x\r\nAuthorization: {node}\r\nContent-Length: {length}\r\n\r\n"
        )
        .into_bytes()
    };
    let body = framed(&[batch("n1", 0, &[("1", 1, "a")])]);
    let half = raw(&served, &[head(body.len()), body[..body.len() / 2].to_vec()].concat());
    assert!(!half.contains(" 200 "), "{half}");
    let long = raw(&served, &head(17 << 20));
    assert!(long.contains(" 413 "), "{long}");
    let huge = raw(&served, &head(usize::MAX));
    assert!(!huge.contains(" 200 "), "{huge}");
    let garbage = raw(&served, b"\x16\x03\x01garbage\r\n\r\n");
    assert!(!garbage.contains(" 200 "), "{garbage}");
    assert_eq!(samples(&served, &root), 0);
    assert_eq!(served.put(&node, &[batch("n1", 0, &[("1", 1, "a")])]).status, 200);
    assert_eq!(samples(&served, &root), 10);
}

#[test]
fn a_store_that_is_full_says_so_and_loses_nothing() {
    let served = Served::bounded(Some(Bytes(256 << 10)));
    let (root, node) = (served.user("root", 0, Role::Operator), served.token(Kind::Node, "n1"));
    let mut taken = 0;
    let full = (0..2000).find_map(|number| {
        let names: Vec<String> =
            (0..50).map(|n| format!("{number}-{n}-{}", "x".repeat(100))).collect();
        let jobs: Vec<(&str, u32, &str)> =
            names.iter().map(|name| (name.as_str(), 1, name.as_str())).collect();
        let came = served.put(&node, &[batch("n1", number, &jobs)]);
        taken += u64::from(came.status == 200) * 500;
        (came.status != 200).then_some(came)
    });
    let full = full.unwrap();
    assert_eq!(full.status, 503, "{}", full.text);
    assert!(full.retry.is_some() && full.text.contains("full"), "{full:?}");
    assert!(!full.text.contains("t.db"), "{full:?}");
    assert_eq!(samples(&served, &root), taken);
}

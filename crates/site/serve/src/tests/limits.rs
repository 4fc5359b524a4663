//! Limits of a query: its time, also where names of functions take long, and its memory.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use talea_model::{Bytes, Module};

use super::Served;
use crate::Functions;
use crate::access::{Kind, Role};
use crate::testing::batch;

const HANGS: &str = "(file system does not answer)";

/// Names of files that all hang: each is waited for until the deadline.
struct Hanging;

impl Functions for Hanging {
    fn name(&self, _: Option<&Module>, _: Option<u64>, deadline: Option<Instant>) -> String {
        let (_kept, never) = channel::<()>();
        let left = deadline.unwrap().saturating_duration_since(Instant::now());
        let _ = never.recv_timeout(left);
        HANGS.to_owned()
    }
}

/// A server with one batch of two jobs, and the header of an operator.
fn served(change: impl FnOnce(&mut crate::Options)) -> (Served, String) {
    let served = Served::with(change);
    let (root, node) = (served.user("root", 0, Role::Operator), served.token(Kind::Node, "n1"));
    let jobs = [("1", 1, "alpha"), ("2", 2, "bravo")];
    assert_eq!(served.put(&node, &[batch("n1", 0, &jobs)]).status, 200);
    (served, root)
}

#[test]
fn a_query_keeps_its_time_where_files_of_functions_hang() {
    let longest = Duration::from_secs(5);
    let (served, root) = served(|options| {
        options.longest = longest;
        options.functions = std::sync::Arc::new(Hanging);
    });
    for path in [
        "usage?by=function,library",
        "series?by=function,library&step=1h&from=1767225600&to=1767229200",
    ] {
        let came = served.get(&format!("/api/v1/{path}"), &[("Authorization", &root)]);
        assert_eq!(came.status, 200, "{path}: {}", came.text);
    }
    let came = served.get("/api/v1/usage?by=function,library", &[("Authorization", &root)]);
    let answer = came.json();
    let rows = answer["rows"].as_array().unwrap();
    assert!(rows.len() == 2 && rows.iter().all(|row| row["function"] == HANGS), "{answer}");
}

#[test]
fn a_query_beyond_its_time_or_memory_is_refused_for_good() {
    let too_long = served(|options| options.longest = Duration::from_nanos(1));
    let too_large = served(|options| options.memory = Bytes(100));
    for ((served, root), why) in [(too_long, "more than"), (too_large, "100")] {
        let came = served.get("/api/v1/usage?by=job", &[("Authorization", &root)]);
        assert!(came.status == 503 && came.text.contains(why), "{came:?}");
        assert_eq!(came.retry, None, "the same query would fail again");
        // Batches go on.
        let node = served.token(Kind::Node, "n2");
        assert_eq!(served.put(&node, &[batch("n2", 0, &[("1", 1, "a")])]).status, 200);
    }
}

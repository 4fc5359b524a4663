//! Batches that cannot be true: a node's token may be in anybody's hands.

use talea_model::Nanos;
use talea_model::shares::Batch;

use super::{Came, Served};
use crate::access::{Kind, Role};
use crate::testing::{SECOND, batch};

/// A batch of ten seconds that ended just now.
fn now(number: u64) -> Batch {
    let mut batch = batch("n1", number, &[("1", 1, "a"), ("2", 2, "b")]);
    batch.end = Nanos::now();
    batch.begin = batch.end - Nanos(10 * SECOND);
    batch
}

fn served() -> (Served, String, String) {
    let served = Served::with(|options| options.oldest = Nanos(30 * 86_400 * SECOND));
    let root = served.user("root", 0, Role::Operator);
    let node = served.token(Kind::Node, "n1");
    (served, root, node)
}

fn nodes(served: &Served, bearer: &str) -> serde_json::Value {
    served.get("/api/v1/nodes", &[("Authorization", bearer)]).json()
}

#[test]
fn what_cannot_be_true_is_refused_and_shown_to_operators() {
    let (served, root, node) = served();
    let refused = |change: &dyn Fn(&mut Batch)| -> Came {
        let mut batch = now(0);
        change(&mut batch);
        let came = served.put(&node, &[batch]);
        assert_eq!(came.status, 400, "{}", came.text);
        came
    };
    let too_many = refused(&|batch| batch.shares[0].samples = 1_000_000_000_000_000);
    assert!(too_many.text.contains("1000000000000000 samples of core 0"), "{}", too_many.text);
    let core = refused(&|batch| batch.shares[0].core = u32::MAX);
    assert!(core.text.contains("core 4294967295, expected"), "{}", core.text);
    let old = refused(&|batch| {
        batch.begin = Nanos(0);
        batch.end = Nanos(10 * SECOND);
    });
    assert!(old.text.contains("clock is wrong"), "{}", old.text);
    assert_eq!(served.put(&node, &[now(0)]).status, 200);
    let mut again = Vec::new();
    for started in 2..4 {
        let mut other = now(0);
        other.id.started = started;
        again.push(served.put(&node, &[other]));
    }
    for came in again {
        assert_eq!(came.status, 400);
        assert!(came.text.contains("have a batch of this node already"), "{}", came.text);
    }
    let answer = served.get("/api/v1/usage", &[("Authorization", &root)]).json();
    assert_eq!(answer["samples"], 20);
    let seen = nodes(&served, &root);
    let refused = &seen["refused"][0];
    assert_eq!((&refused["node"], &refused["requests"]), (&"n1".into(), &5.into()), "{seen}");
    assert!(refused["why"].as_str().unwrap().contains("already"), "{seen}");
    assert!(refused["last_ns"].as_u64().unwrap() > 0);
    // That is no business of users.
    let user = served.user("u", 1, Role::User);
    assert!(nodes(&served, &user)["refused"].is_null());
    let metrics = served.get("/metrics", &[]).text;
    assert!(metrics.contains("\ntalea_serve_refused_total 5\n"), "{metrics}");
}

#[test]
fn batches_of_other_requests_are_taken_beside_one_that_is_refused() {
    let (served, root, node) = served();
    let other = served.token(Kind::Node, "n2");
    assert_eq!(served.put(&node, &[now(0)]).status, 200);
    let (twice, good) = (now(1), Batch { id: batch("n2", 0, &[]).id, ..now(0) });
    std::thread::scope(|scope| {
        let mut sent = Vec::new();
        for _ in 0..4 {
            sent.push(scope.spawn(|| served.put(&node, std::slice::from_ref(&twice)).status));
            sent.push(scope.spawn(|| served.put(&other, std::slice::from_ref(&good)).status));
        }
        let statuses: Vec<u16> = sent.into_iter().map(|one| one.join().unwrap()).collect();
        assert_eq!(statuses, [400, 200].repeat(4));
    });
    let answer = served.get("/api/v1/usage", &[("Authorization", &root)]).json();
    assert_eq!(answer["samples"], 40);
}

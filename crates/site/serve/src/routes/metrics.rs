//! The server's own numbers, as Prometheus reads them.
//!
//! Owns their names. Anyone may read them: none tells of a job, a user or the name of a node. Who
//! asks as an operator gets what the agent of each node takes beside them.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;

use super::upkeep;
use crate::access::Person;
use crate::refusal::Refusal;
use crate::state::Shared;

pub(super) async fn metrics(
    State(state): State<Shared>,
    headers: HeaderMap,
    person: Result<Person, Refusal>,
) -> Result<impl IntoResponse, Refusal> {
    let person = match person {
        // A request with credentials is for more than the public numbers, and must learn that these
        // are wrong.
        Err(refusal) if headers.contains_key(header::AUTHORIZATION) => return Err(refusal),
        person => person.ok(),
    };
    let counts = &state.counts;
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
    let seconds = |nanos: &AtomicU64| count(nanos) / 1e9;
    let (nodes, silent) = state.heard.count(Instant::now());
    let (users, tokens) = state.access.count();
    let all = [
        ("batches_total", "counter", "batches that count", count(&counts.batches)),
        ("batches_again_total", "counter", "batches that counted already", count(&counts.already)),
        ("rows_total", "counter", "rows of batches that came", count(&counts.rows)),
        ("bytes_total", "counter", "bytes of batches that came", count(&counts.bytes)),
        (
            "refused_total",
            "counter",
            "requests with batches that were refused",
            count(&counts.refused),
        ),
        (
            "later_total",
            "counter",
            "requests with batches that must come again",
            count(&counts.later),
        ),
        ("commits_total", "counter", "steps of writing", count(&counts.commits)),
        ("commit_seconds_total", "counter", "time of these steps", seconds(&counts.commit_nanos)),
        (
            "store_failures_total",
            "counter",
            "requests for which the store failed",
            count(&counts.store_failures),
        ),
        ("questions_total", "counter", "questions to the store", count(&counts.questions)),
        (
            "question_seconds_total",
            "counter",
            "time of these questions",
            seconds(&counts.question_nanos),
        ),
        ("uptime_seconds", "gauge", "time since the start", state.started.elapsed().as_secs_f64()),
        ("nodes", "gauge", "nodes that were heard of in the last day", nodes as f64),
        (
            "nodes_silent",
            "gauge",
            "nodes that sent nothing for more than three of their intervals",
            silent as f64,
        ),
        ("connections", "gauge", "connections that are open", state.connections.open() as f64),
        (
            "connections_turned_away_total",
            "counter",
            "connections that were closed because there were too many",
            state.connections.turned_away() as f64,
        ),
        (
            "connections_turned_away_of_address_total",
            "counter",
            "those of them that were closed because their address had too many",
            state.connections.turned_away_of_address() as f64,
        ),
        ("users", "gauge", "users that may log in", users as f64),
        ("tokens", "gauge", "tokens that are known", tokens as f64),
    ];
    let mut text = String::new();
    for (name, kind, help, value) in all {
        let _ = write!(
            text,
            "# HELP talea_serve_{name} {help}\n# TYPE talea_serve_{name} {kind}\ntalea_serve_{name} {value}\n"
        );
    }
    if let Some(bytes) = state.store_bytes() {
        let _ = write!(
            text,
            "# HELP talea_serve_store_bytes size of the store's files\n# TYPE talea_serve_store_bytes gauge\ntalea_serve_store_bytes {bytes}\n"
        );
    }
    if person.is_some_and(|person| person.operator) {
        text += &upkeep::series(&state.heard.upkeep(Instant::now()));
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}

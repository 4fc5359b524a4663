//! `talea show RUN stats`: how much was recorded and what it takes.
//!
//! Owns the public keys of its JSON; the help of the view says what each means.

use serde::Serialize;
use talea_model::{Bytes, Gaps};

use super::{Format, gaps, joined, json};
use crate::analysis::Analysis;

#[derive(Serialize)]
struct Stats<'a> {
    ranks: usize,
    calls: u64,
    events: u64,
    nodes: Option<f64>,
    edges: Option<f64>,
    cardinality: Option<f64>,
    bytes_total: Bytes,
    bytes_sequence: Bytes,
    bytes_times: Bytes,
    classes: usize,
    dominant_loop_share: Option<f64>,
    gaps: &'a Gaps,
}

/// The view's text.
pub(super) fn show(analysis: &Analysis<'_>, format: Format) -> String {
    let recording = &analysis.run.recording;
    let mean = |value: &dyn Fn(&crate::analysis::rank::RankStudy) -> f64| {
        let ranks = analysis.ranks.len();
        (ranks > 0).then(|| analysis.ranks.iter().map(value).sum::<f64>() / ranks as f64)
    };
    let stats = Stats {
        ranks: analysis.ranks.len(),
        calls: analysis.calls.calls(),
        events: recording.events(),
        nodes: mean(&|rank| rank.graph.nodes as f64),
        edges: mean(&|rank| rank.graph.edges as f64),
        cardinality: mean(&|rank| rank.graph.cardinality),
        bytes_total: recording.sizes.total,
        bytes_sequence: recording.sizes.sequence,
        bytes_times: recording.sizes.times,
        classes: analysis.classes.len(),
        dominant_loop_share: analysis.dominant_share(),
        gaps: &recording.gaps,
    };
    if format == Format::Json {
        return json(&stats);
    }
    let per_event = |bytes: Bytes| {
        let each = bytes.0 as f64 / stats.events.max(1) as f64;
        format!("{bytes}  ({each:.3} B an event)")
    };
    let share = stats.dominant_loop_share.map_or_else(
        || "unknown: no loop, or no times".to_owned(),
        |share| format!("{:.1} % of the time", share * 100.0),
    );
    let mean = |value: Option<f64>, of: &str| {
        value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.1}  ({of})"))
    };
    let mut lines: Vec<String> = [
        ("ranks", stats.ranks.to_string()),
        ("calls", stats.calls.to_string()),
        ("events", stats.events.to_string()),
        ("nodes", mean(stats.nodes, "a rank")),
        ("edges", mean(stats.edges, "a rank")),
        ("cardinality", mean(stats.cardinality, "events a node")),
        ("bytes", per_event(stats.bytes_total)),
        ("  sequence", per_event(stats.bytes_sequence)),
        ("  times", per_event(stats.bytes_times)),
        ("classes", stats.classes.to_string()),
        ("dominant loop", share),
    ]
    .map(|(name, value)| format!("{name:<14}{value}"))
    .into();
    lines.extend(gaps(analysis));
    joined(lines)
}

//! `talea show RUN stats`: how much was recorded and what it takes.
//!
//! Owns the public keys of its JSON; the help of the view says what each means.

use serde::Serialize;
use talea_model::units::percent;
use talea_model::{Bytes, Gaps, Nanos};

use super::{Format, gaps, joined, json};
use talea_analysis::Analysis;
use talea_analysis::delays::Delay;
use talea_analysis::rank::{ThreadStudy, part};

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
    mpi_share: Option<f64>,
    waiting_share: Option<f64>,
    waiting_judged: f64,
    threads_wait_for_pus: bool,
    running_share: Option<f64>,
    delayed_share: Option<f64>,
    gaps: &'a Gaps,
}

/// The view's text.
pub(super) fn show(analysis: &Analysis<'_>, format: Format) -> String {
    let recording = &analysis.run.recording;
    let threads = || analysis.ranks.iter().flat_map(|rank| rank.active().map(|(_, one)| one));
    let mean = |value: &dyn Fn(&ThreadStudy) -> f64| {
        let count = threads().count();
        (count > 0).then(|| threads().map(value).sum::<f64>() / count as f64)
    };
    let of = if analysis.has_threads() { "a thread" } else { "a rank" };
    let time = analysis.time_of_all();
    let mpi: Nanos = analysis.ranks.iter().map(|rank| rank.mpi).sum();
    let delay = analysis.delay();
    let stats = Stats {
        ranks: analysis.ranks.len(),
        calls: analysis.calls.calls(),
        events: recording.events(),
        nodes: mean(&|thread| thread.graph.nodes as f64),
        edges: mean(&|thread| thread.graph.edges as f64),
        cardinality: mean(&|thread| thread.graph.cardinality),
        bytes_total: recording.sizes.total,
        bytes_sequence: recording.sizes.sequence,
        bytes_times: recording.sizes.times,
        classes: analysis.classes.len(),
        dominant_loop_share: analysis.dominant_share(),
        mpi_share: (time > Nanos(0)).then(|| part(mpi, time)),
        waiting_share: analysis.waiting_share().filter(|_| time > Nanos(0)),
        waiting_judged: analysis.judged_part(),
        threads_wait_for_pus: analysis.is_crowded(),
        running_share: delay.map(Delay::ran_share),
        delayed_share: delay.map(Delay::share),
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
    let of_time = |share: Option<f64>| {
        share.map_or_else(
            || "unknown: no times".to_owned(),
            |share| format!("{:.1} % of the time", share * 100.0),
        )
    };
    let waiting = match stats.waiting_share {
        Some(share) if stats.threads_wait_for_pus => {
            format!("{:.1} %, unreliable: threads wait for PUs", share * 100.0)
        }
        Some(share) if stats.waiting_judged < 1.0 => {
            let judged = percent(stats.waiting_judged);
            format!("{:.1} % of the first {judged} of the time", share * 100.0)
        }
        share => of_time(share),
    };
    let mean = |value: Option<f64>, of: &str| {
        value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.1}  ({of})"))
    };
    let mut lines: Vec<String> = [
        ("ranks", stats.ranks.to_string()),
        ("calls", stats.calls.to_string()),
        ("events", stats.events.to_string()),
        ("nodes", mean(stats.nodes, of)),
        ("edges", mean(stats.edges, of)),
        ("cardinality", mean(stats.cardinality, "events a node")),
        ("bytes", per_event(stats.bytes_total)),
        ("  sequence", per_event(stats.bytes_sequence)),
        ("  times", per_event(stats.bytes_times)),
        ("classes", stats.classes.to_string()),
        ("dominant loop", share),
        ("in MPI", of_time(stats.mpi_share)),
        ("  waiting", waiting),
        ("on PUs", of_time(stats.running_share)),
        ("ready, no PU", of_time(stats.delayed_share)),
    ]
    .map(|(name, value)| format!("{name:<14}{value}"))
    .into();
    lines.extend(gaps(analysis));
    joined(lines)
}

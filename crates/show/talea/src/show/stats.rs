//! `talea show RUN stats`: how much was recorded and what it takes.
//!
//! Owns the lines; the figures are `talea_analysis::views`'.

use talea_model::Bytes;
use talea_model::units::percent;

use super::{Format, gaps, joined, json};
use talea_analysis::Analysis;
use talea_analysis::views;

/// The view's text.
pub(super) fn show(analysis: &Analysis<'_>, format: Format) -> String {
    let of = if analysis.has_threads() { "a thread" } else { "a rank" };
    let stats = views::stats(analysis);
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
            || "unknown: not all calls have times".to_owned(),
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

//! Iterations of a recording that smart collection kept or would keep, and totals of call sites.
//!
//! Owns which iterations are alike: those that make the same calls and take about as long. The
//! choice and the estimates are [`talea_flow::collection`]'s; the recording has the true totals
//! beside them. Of a run that was recorded with smart collection the choice was made while it ran:
//! kept iterations are those whose calls all have times, and totals are the recorder's sums.

use std::collections::{BTreeSet, HashMap};

pub use talea_flow::collection::Plan;
use talea_flow::collection::{Estimate, Turn, half_octave};
use talea_flow::history::{Group, History};
use talea_flow::kinds::{self, Kinds};
use talea_model::Nanos;
use talea_results::collection::{CollectionData, GroupData, PhaseData, TotalData};
use talea_run::live::layout::TimesMode;

use super::growth::{NoTimes, growth};
use crate::Analysis;
use crate::location::ThreadAt;
use crate::walk::walk;

/// Maximum number of groups of durations of a whole recording, as many as of smart collection.
const GROUPS: usize = 1024;

/// The kept part of an iteration: its number of events, and the time of each node.
type Kept = (u64, HashMap<u32, Nanos>);
/// A kind of iterations.
type Kind = kinds::Kind<Kept>;
/// All kinds: by calls, and half octave of duration.
type All = Kinds<(Vec<u32>, u32), Kept>;

/// The iterations of a thread's main loop that were kept or would be kept by a plan.
///
/// # Errors
/// For a run without times of calls.
pub fn collection(
    analysis: &Analysis<'_>,
    at: ThreadAt,
    plan: Plan,
) -> Result<CollectionData, NoTimes> {
    let recording = &analysis.run.recording;
    if recording.times == TimesMode::Statistics {
        return Err(NoTimes);
    }
    let steady = growth(analysis, &[at])?.steady;
    let iterations = analysis.iterations(at);
    let thread = analysis.recorded(at);
    let is_smart = analysis.run.metadata.options.get("collect").is_some_and(|one| one == "smart");
    let (kinds, exact, events) = kinds_of(analysis, at, plan, is_smart);
    let mut totals: Vec<TotalData> = if is_smart {
        let walked = walk(recording, analysis.process(at.process), thread);
        let figures = |node: u32| walked.nodes.get(node as usize);
        let sum = |node| figures(node).map_or(Nanos(0), |figures| figures.durations.sum());
        exact.keys().map(|&node| recorded(analysis, at, node, sum(node))).collect()
    } else {
        exact.iter().map(|(&node, &time)| total(analysis, at, &kinds, (node, time))).collect()
    };
    totals.sort_by(|a, b| b.time_ns.cmp(&a.time_ns).then_with(|| a.site.cmp(&b.site)));
    let kept = || kinds.iter().flat_map(|kind| kind.kept.values());
    let phase = |(place, kind)| phase(kind, kinds.is_mixed(place));
    let study = analysis.thread(at);
    Ok(CollectionData {
        rank: analysis.ranks[at.process].rank,
        thread: study.number,
        smart: is_smart,
        iterations: iterations.len() as u64,
        kept: kept().count() as u64,
        events,
        kept_events: kept().map(|(events, _)| events).sum(),
        steady_at_ns: steady.first().map(|one| one.known_ns),
        phases: kinds.iter().enumerate().filter_map(phase).collect(),
        totals,
        history: history(analysis, at),
    })
}

/// Durations over time: those that were noted while the program ran, or those of a whole recording.
fn history(analysis: &Analysis<'_>, at: ThreadAt) -> Vec<GroupData> {
    let thread = analysis.recorded(at);
    let mut whole = History::new(GROUPS);
    if !thread.has_holes() {
        for one in &*analysis.iterations(at) {
            whole.push(one.begin, one.duration);
        }
    }
    let groups = if thread.has_holes() { thread.history() } else { whole.groups() };
    let group = |one: &Group| GroupData {
        begin_ns: one.begin,
        iterations: one.count,
        time_ns: one.sum,
        min_ns: one.min,
        max_ns: one.max,
    };
    groups.iter().map(group).collect()
}

/// The kinds of iterations with their kept ones, the time of each node in all iterations, and the
/// number of events of these.
fn kinds_of(
    analysis: &Analysis<'_>,
    at: ThreadAt,
    plan: Plan,
    is_smart: bool,
) -> (All, HashMap<u32, Nanos>, u64) {
    let mut kinds = All::new(plan);
    let (mut exact, mut all_events) = (HashMap::<u32, Nanos>::new(), 0);
    let recording = &analysis.run.recording;
    let thread = analysis.recorded(at);
    let mut events = analysis.process(at.process).events(recording, thread).without_arguments();
    let mut place = 0;
    for (number, iteration) in (0..).zip(&*analysis.iterations(at)) {
        let (mut times, mut is_whole) = (HashMap::<u32, Nanos>::new(), true);
        while place < iteration.events.end {
            let Some(event) = events.next_event() else { break };
            if place >= iteration.events.start {
                let time = event.duration.unwrap_or_default();
                is_whole &= event.duration.is_some();
                *times.entry(event.node.0).or_default() += time;
                *exact.entry(event.node.0).or_default() += time;
            }
            place += 1;
        }
        let calls: BTreeSet<u32> = times.keys().copied().collect();
        let kind = kinds.place((calls.into_iter().collect(), half_octave(iteration.duration)));
        let is_chosen = kinds.count(kind, Turn { number, duration: iteration.duration });
        let count = iteration.events.len() as u64;
        all_events += count;
        if is_smart && is_whole {
            kinds.keep_anyway(kind, number, (count, times));
        } else if !is_smart && is_chosen {
            kinds.keep(kind, number, (count, times), |_| ());
        }
    }
    if !is_smart {
        kinds.settle();
    }
    (kinds, exact, all_events)
}

fn phase(kind: &Kind, mixed: bool) -> Option<PhaseData> {
    let (first, last) = kind.behaviour.extent()?;
    Some(PhaseData {
        first,
        last,
        iterations: kind.behaviour.count(),
        time_ns: kind.behaviour.sum(),
        kept: kind.kept.keys().copied().collect(),
        mixed,
    })
}

fn site(analysis: &Analysis<'_>, at: ThreadAt, node: u32) -> String {
    let signature = analysis.recorded(at).log.nodes.get(node as usize).map(|node| node.signature);
    signature.map_or_else(|| "?".to_owned(), |one| analysis.places.label(one))
}

/// The exact time of a node.
fn recorded(analysis: &Analysis<'_>, at: ThreadAt, node: u32, time_ns: Nanos) -> TotalData {
    let time = time_ns.0 as f64;
    let site = site(analysis, at, node);
    TotalData { site, time_ns, estimate_ns: time, low_ns: time, high_ns: time }
}

fn total(
    analysis: &Analysis<'_>,
    at: ThreadAt,
    kinds: &All,
    (node, time_ns): (u32, Nanos),
) -> TotalData {
    let nothing = Estimate { total: 0.0, margin: Some(0.0) };
    let estimates = kinds.iter().map(|kinds::Kind { behaviour, kept }| {
        behaviour.estimate(|number| {
            let times = kept.get(&number).map(|(_, times)| times);
            times.and_then(|times| times.get(&node)).copied().unwrap_or_default()
        })
    });
    let sum = estimates.fold(nothing, Estimate::plus);
    let margin = sum.margin.unwrap_or(f64::NAN);
    TotalData {
        site: site(analysis, at, node),
        time_ns,
        estimate_ns: sum.total,
        // Times are not negative; an unknown end stays unknown.
        low_ns: if sum.total < margin { 0.0 } else { sum.total - margin },
        high_ns: sum.total + margin,
    }
}

//! Single iterations in the report, or the whole run: the calls of each row, and messages between
//! them.
//!
//! Owns the choice of the iterations (the one of median duration, and slow ones) and of the threads
//! that get a row where there are many.

use std::collections::HashMap;

use rayon::prelude::*;
use talea_flow::iterations::Iteration;
use talea_model::Nanos;
use talea_report::data::{Bar, Message, Row, SiteId, Timeline};

use super::class_of_threads;
use super::time::{LISTED, main_loop, worst};
use crate::Analysis;
use crate::iterations::read_iterations;
use crate::location::ThreadAt;
use crate::messages::messages_inside;
use crate::rank::LoopFigures;
use crate::values::Values;
use crate::words;

/// Rows of a timeline; of more ranks the classes' representatives and those that stand out are
/// shown.
const ROWS: usize = 32;
/// Bars of a timeline.
const BARS: usize = 20_000;
/// Events of a run up to which its messages are matched for the report.
const MATCHED: u64 = 20_000_000;

/// The run in detail: a typical iteration of the main loop of the largest class, and the whole run
/// where it is short enough to be drawn, else the slow iterations.
pub(super) fn timelines(analysis: &Analysis<'_>) -> Vec<Timeline> {
    let rows = rows(analysis);
    let whole = whole(analysis, &rows);
    let mut wanted: Vec<Wanted> = typical_iteration(analysis).into_iter().collect();
    if whole.is_none() {
        wanted.extend(slow_iterations(analysis, &rows));
    }
    let mut all = frames(analysis, &rows, &wanted);
    all.extend(whole);
    for timeline in &mut all {
        timeline.rows = extents(analysis, &rows);
    }
    draw_calls(analysis, &rows, &mut all);
    draw_messages(analysis, &rows, &mut all);
    all
}

/// An iteration that is worth showing.
struct Wanted {
    number: usize,
    /// Reason for it.
    why: String,
    /// Shown only where there is room.
    is_slow: bool,
}

/// The iteration whose duration is nearest to the median.
fn typical_iteration(analysis: &Analysis<'_>) -> Option<Wanted> {
    let representative = analysis.classes.first()?.representative;
    let median = analysis.thread(representative).main()?.durations.median;
    let each = analysis.iterations(representative);
    let near = |at: usize| each[at].duration.0.abs_diff(median.0);
    // The first one is often different: caches are cold and pages are new.
    let candidates = usize::from(each.len() > 2)..each.len();
    let number = candidates.min_by_key(|&at| (near(at), at))?;
    Some(Wanted { number, why: format!("median duration of {}", each.len()), is_slow: false })
}

/// The longest iteration of the representative, then those that stand out.
fn slow_iterations(analysis: &Analysis<'_>, rows: &[ThreadAt]) -> Vec<Wanted> {
    let Some(class) = analysis.classes.first() else { return Vec::new() };
    let Some(main) = analysis.thread(class.representative).main() else { return Vec::new() };
    let each = analysis.iterations(class.representative);
    let longest = (0..each.len()).max_by_key(|&at| each[at].duration);
    let longest = longest.map(|at| (at, each[at].duration, class.representative));
    let members = members(analysis, rows, main);
    let others = worst(analysis, &members);
    // Another thread may be slower in it.
    let longest = longest.map(|longest| {
        others.iter().find(|other| other.0 == longest.0).copied().unwrap_or(longest)
    });
    let wanted = |(number, duration, thread)| Wanted {
        number,
        why: format!(
            "{duration} on {}, the median is {}",
            analysis.location(thread),
            main.durations.median
        ),
        is_slow: true,
    };
    let first = longest.map(|one| one.0);
    // One that the representative does not have is not shown.
    let others = others.into_iter().filter(|one| Some(one.0) != first && one.0 < each.len());
    longest.into_iter().chain(others).take(LISTED).map(wanted).collect()
}

/// The frames of iterations of the main loop of the largest class over all threads that run it; of
/// slow ones as many as there is room for.
fn frames(analysis: &Analysis<'_>, rows: &[ThreadAt], wanted: &[Wanted]) -> Vec<Timeline> {
    let Some(class) = analysis.classes.first() else { return Vec::new() };
    let Some(main) = analysis.thread(class.representative).main() else { return Vec::new() };
    let shown = analysis.iterations(class.representative);
    let members = members(analysis, rows, main);
    // Only those that are shown: threads may have millions.
    let of_members: Vec<Vec<Option<Iteration>>> = members
        .par_iter()
        .map(|&at| {
            let each = read_iterations(analysis, at);
            wanted.iter().map(|one| each.get(one.number).cloned()).collect()
        })
        .collect();
    let mut found = Vec::new();
    let (mut bars, mut slow) = (0, 0);
    for (place, one) in wanted.iter().enumerate() {
        let own: Vec<&Iteration> =
            of_members.iter().filter_map(|of_member| of_member[place].as_ref()).collect();
        let (Some(shown), Some(begin), Some(end)) = (
            shown.get(one.number),
            own.iter().map(|one| one.begin).min(),
            own.iter().map(|one| one.begin + one.duration).max(),
        ) else {
            continue;
        };
        if one.is_slow {
            bars += own.iter().map(|one| one.events.len()).sum::<usize>();
            if slow > 0 && bars > BARS {
                break;
            }
            slow += 1;
        }
        found.push(Timeline {
            loop_id: main_loop(analysis, 0, class),
            iteration: one.number as u64,
            why: one.why.clone(),
            begin,
            end,
            bounds: vec![shown.begin, shown.begin + shown.duration],
            ..Timeline::default()
        });
    }
    found
}

/// Threads whose main loop begins with the same call.
fn members(analysis: &Analysis<'_>, rows: &[ThreadAt], main: &LoopFigures) -> Vec<ThreadAt> {
    let is_member =
        |&at: &ThreadAt| analysis.thread(at).main().is_some_and(|own| own.header == main.header);
    rows.iter().copied().filter(is_member).collect()
}

/// The frame of the whole run, where it is short enough to be drawn.
fn whole(analysis: &Analysis<'_>, rows: &[ThreadAt]) -> Option<Timeline> {
    let events: u64 = rows.iter().map(|&at| analysis.thread(at).events).sum();
    if events == 0 || events > BARS as u64 || analysis.wall == Nanos(0) {
        return None;
    }
    let begin = analysis.ranks.iter().map(|study| study.begin).min()?;
    Some(Timeline { begin, end: begin + analysis.wall, ..Timeline::default() })
}

/// Threads that get a row: all, or representatives and those with least and most computation.
fn rows(analysis: &Analysis<'_>) -> Vec<ThreadAt> {
    let all: Vec<ThreadAt> =
        (0..analysis.ranks.len()).flat_map(|rank| analysis.threads_of(rank)).collect();
    if all.len() <= ROWS {
        return all;
    }
    let mut by_work = all.clone();
    by_work.sort_by_key(|&at| (analysis.thread(at).run - analysis.thread(at).mpi, at));
    let stand_out = by_work[..ROWS / 4].iter().chain(&by_work[all.len() - ROWS / 4..]).copied();
    let mut rows: Vec<ThreadAt> = analysis
        .classes
        .iter()
        .map(|class| class.representative)
        .take(ROWS / 2)
        .chain(stand_out)
        .collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Data of each row.
fn extents(analysis: &Analysis<'_>, rows: &[ThreadAt]) -> Vec<Row> {
    let class_of = class_of_threads(analysis);
    let row = |&at: &ThreadAt| {
        let (study, own) = (&analysis.ranks[at.process], analysis.thread(at));
        // Only the thread that began MPI is there as long as its rank.
        let (begin, end) =
            if at.thread == 0 { (study.begin, study.end) } else { (own.begin, own.end) };
        Row {
            rank: study.rank,
            thread: analysis.recorded(at).number,
            class: class_of[at.process][at.thread],
            begin,
            end,
        }
    };
    rows.iter().map(row).collect()
}

/// Calls inside the windows of timelines, in one walk through each thread.
fn draw_calls(analysis: &Analysis<'_>, rows: &[ThreadAt], timelines: &mut [Timeline]) {
    // Of an iteration; the whole run is there only where it is short enough.
    let most = BARS / rows.len().max(1);
    let seen: &[Timeline] = timelines;
    let calls: Vec<Vec<Call>> =
        rows.par_iter().map(|&at| calls_inside(analysis, at, seen, most)).collect();
    let mut texts: Vec<HashMap<String, u32>> = vec![HashMap::new(); timelines.len()];
    for (row, call) in
        (0..).zip(calls).flat_map(|(row, calls)| calls.into_iter().map(move |call| (row, call)))
    {
        let Call { timeline: number, begin, duration, shown } = call;
        let timeline = &mut timelines[number];
        let Some((site, text)) = shown else {
            // Time that is not drawn is no computation.
            let end = &mut timeline.rows[row as usize].end;
            *end = begin.min(*end);
            continue;
        };
        let args = (!text.is_empty()).then(|| {
            *texts[number].entry(text).or_insert_with_key(|text| {
                timeline.args.push(text.clone());
                timeline.args.len() as u32 - 1
            })
        });
        timeline.bars.push(Bar { row, begin, duration, site, args });
    }
}

/// A call inside a window.
struct Call {
    timeline: usize,
    begin: Nanos,
    duration: Nanos,
    /// Its site and arguments; absent for the first one that there is no room for.
    shown: Option<(SiteId, String)>,
}

/// Calls of a thread inside the windows of timelines, of an iteration at most `most`.
fn calls_inside(
    analysis: &Analysis<'_>,
    at: ThreadAt,
    timelines: &[Timeline],
    most: usize,
) -> Vec<Call> {
    let recording = &analysis.run.recording;
    let last = timelines.iter().map(|one| one.end).max().unwrap_or_default();
    let (process, thread) = (analysis.process(at.process), analysis.recorded(at));
    let mut values = Values::new(recording, process, thread);
    let mut events = process.events(recording, thread);
    let first = timelines.iter().map(|one| one.begin).min();
    if let Some(first) = first
        && !values.need_all_events()
    {
        values.pass(&events.skip_to(first));
    }
    let mut drawn = vec![0; timelines.len()];
    let mut calls = Vec::new();
    while let Some(event) = events.next_event() {
        let (Some(begin), Some(duration)) = (event.begin, event.duration) else {
            if thread.has_holes() {
                values.skip(&event);
                continue;
            }
            break;
        };
        if begin > last {
            break;
        }
        let inside = |one: &Timeline| begin <= one.end && begin + duration >= one.begin;
        if !timelines.iter().any(inside) {
            // Requests are followed from the first call on.
            values.skip(&event);
            continue;
        }
        let args = values.named(&event);
        let signature = thread.log.nodes[event.node.0 as usize].signature;
        let Some(site) = analysis.calls.number(signature) else { continue };
        let text = words::text(&args);
        for (timeline, one) in timelines.iter().enumerate().filter(|(_, one)| inside(one)) {
            drawn[timeline] += 1;
            let fits = drawn[timeline] <= most || one.loop_id.is_none();
            if fits || drawn[timeline] == most + 1 {
                let shown = fits.then(|| (site, text.clone()));
                calls.push(Call { timeline, begin, duration, shown });
            }
        }
    }
    calls
}

/// Messages that are on their way inside the windows, from row to row.
fn draw_messages(analysis: &Analysis<'_>, rows: &[ThreadAt], timelines: &mut [Timeline]) {
    let recording = &analysis.run.recording;
    let last = timelines.iter().map(|one| one.end).max().unwrap_or_default();
    if recording.events() > MATCHED || last == Nanos(0) {
        return;
    }
    let numbers: HashMap<ThreadAt, u32> = rows.iter().copied().zip(0..).collect();
    let row =
        |(process, thread): (usize, usize)| numbers.get(&ThreadAt { process, thread }).copied();
    let first = timelines.iter().map(|one| one.begin).min().unwrap_or_default();
    for message in &messages_inside(recording, first..=last) {
        let Some((from_row, to_row)) = row(message.from).zip(row(message.to)) else { continue };
        let (sent, received) = (message.sent.0, message.received.1);
        let inside = |one: &&mut Timeline| {
            sent >= one.begin && received <= one.end && one.messages.len() < BARS
        };
        for timeline in timelines.iter_mut().filter(inside) {
            let bytes = message.bytes.0;
            timeline.messages.push(Message { from_row, sent, to_row, received, bytes });
        }
    }
}

//! What the report shows over time: one representative iteration, and the durations of all.
//!
//! Owns the choice of the iteration (the one of median duration), of the ranks that get a row where there are many, and
//! the stride where a run has more iterations than a plot has points.

use std::collections::{BTreeMap, HashMap};

use talea_flow::iterations::Iteration;
use talea_model::{Nanos, Rank};
use talea_report::data::{
    Bar, IterationSeries, LoopId, Message, Outlier, RankSeries, Row, Timeline,
};

use super::class_of_ranks;
use crate::analysis::Analysis;
use crate::analysis::classes::Class;
use crate::analysis::messages::messages;
use crate::analysis::tree::{graph_loop, numbers};
use crate::events::values::Values;
use crate::events::words;

/// Rows of a timeline; of more ranks the classes' representatives and those that stand out are shown.
const ROWS: usize = 32;
/// Bars of a timeline.
const BARS: usize = 20_000;
/// Events of a run up to which its messages are matched for the report.
const MATCHED: u64 = 20_000_000;
/// Points of a series of iterations.
const POINTS: usize = 2_000;
/// Ranks whose single durations are kept.
const SINGLE: usize = 16;

/// The main loop of a class in the numbers of the report.
fn main_loop(analysis: &Analysis<'_>, number: usize, class: &Class) -> Option<LoopId> {
    let main = analysis.ranks[class.representative].main()?;
    Some(graph_loop(numbers(number), main.index))
}

/// Iterations of a class over the run.
pub(super) fn series(analysis: &Analysis<'_>) -> Vec<IterationSeries> {
    let of_class = |(number, class): (usize, &Class)| {
        let loop_id = main_loop(analysis, number, class)?;
        let header = analysis.ranks[class.representative].main()?.header;
        // Ranks whose main loop is another one cannot be compared.
        let members: Vec<usize> = class
            .members
            .iter()
            .copied()
            .filter(|&at| analysis.ranks[at].main().is_some_and(|main| main.header == header))
            .collect();
        let count = members.iter().map(|&at| analysis.ranks[at].iterations.len()).max()?;
        let stride = count.div_ceil(POINTS).max(1);
        let mut series = IterationSeries {
            loop_id,
            class: Some(number as u32),
            stride: stride as u64,
            ..IterationSeries::default()
        };
        for from in (0..count).step_by(stride) {
            let range = from..(from + stride).min(count);
            let ranks = members.iter().map(|&at| analysis.ranks[at].iterations.as_slice());
            let all: Vec<&Iteration> = ranks
                .filter_map(|own| own.get(range.start..range.end.min(own.len())))
                .flatten()
                .collect();
            let mut durations: Vec<Nanos> = all.iter().map(|one| one.duration).collect();
            durations.sort_unstable();
            let (Some(&min), Some(&max)) = (durations.first(), durations.last()) else { continue };
            series.begin.push(all.iter().map(|one| one.begin).min().unwrap_or_default());
            series.min.push(min);
            series.median.push(durations[(durations.len() - 1) / 2]);
            series.max.push(max);
        }
        if members.len() <= SINGLE && stride == 1 {
            series.ranks = members
                .iter()
                .filter(|&&at| analysis.ranks[at].iterations.len() == count)
                .map(|&at| RankSeries {
                    rank: analysis.ranks[at].rank,
                    durations: analysis.ranks[at]
                        .iterations
                        .iter()
                        .map(|one| one.duration)
                        .collect(),
                })
                .collect();
        }
        series.outliers = outliers(analysis, &members);
        Some(series)
    };
    analysis.classes.iter().enumerate().filter_map(of_class).collect()
}

/// The iterations that took longest, with the rank that was slowest in each.
fn outliers(analysis: &Analysis<'_>, members: &[usize]) -> Vec<Outlier> {
    let mut worst: HashMap<u64, (Nanos, Rank)> = HashMap::new();
    for study in members.iter().map(|&at| &analysis.ranks[at]) {
        let Some(main) = study.main() else { continue };
        for &iteration in main.durations.outliers.iter().take(POINTS) {
            let found = (study.iterations[iteration].duration, study.rank);
            let known = worst.entry(iteration as u64).or_insert(found);
            if found.0 > known.0 {
                *known = found;
            }
        }
    }
    let mut outliers: Vec<Outlier> = worst
        .into_iter()
        .map(|(iteration, (duration, rank))| Outlier { iteration, rank, duration })
        .collect();
    outliers.sort_by_key(|one| (std::cmp::Reverse(one.duration), one.iteration));
    outliers.truncate(50);
    outliers
}

/// One iteration of the main loop of the largest class.
pub(super) fn timelines(analysis: &Analysis<'_>) -> Vec<Timeline> {
    let Some(class) = analysis.classes.first() else { return Vec::new() };
    let study = &analysis.ranks[class.representative];
    let (Some(loop_id), Some(main)) = (main_loop(analysis, 0, class), study.main()) else {
        return whole(analysis).into_iter().collect();
    };
    let median = main.durations.median;
    let near = |at: usize| study.iterations[at].duration.0.abs_diff(median.0);
    // The first one is often different: caches are cold and pages are new.
    let candidates = usize::from(study.iterations.len() > 2)..study.iterations.len();
    let Some(chosen) = candidates.min_by_key(|&at| (near(at), at)) else { return Vec::new() };
    let rows = rows(analysis);
    let same =
        |&&at: &&usize| analysis.ranks[at].main().is_some_and(|other| other.header == main.header);
    let own: Vec<&Iteration> = rows
        .iter()
        .filter(same)
        .filter_map(|&at| analysis.ranks[at].iterations.get(chosen))
        .collect();
    let begin = own.iter().map(|one| one.begin).min().unwrap_or_default();
    let end = own.iter().map(|one| one.begin + one.duration).max().unwrap_or_default();
    let mut timeline = Timeline {
        loop_id: Some(loop_id),
        iteration: chosen as u64,
        why: format!("median duration of {}", study.iterations.len()),
        begin,
        end,
        bounds: vec![
            study.iterations[chosen].begin,
            study.iterations[chosen].begin + study.iterations[chosen].duration,
        ],
        ..Timeline::default()
    };
    fill(analysis, &rows, &mut timeline);
    vec![timeline].into_iter().chain(whole(analysis)).collect()
}

/// The whole run, where it is short enough to be drawn.
fn whole(analysis: &Analysis<'_>) -> Option<Timeline> {
    let rows = rows(analysis);
    let events: u64 = rows.iter().map(|&at| analysis.ranks[at].events).sum();
    if events == 0 || events > BARS as u64 || analysis.wall == Nanos(0) {
        return None;
    }
    let begin = analysis.ranks.iter().map(|study| study.begin).min()?;
    let mut timeline = Timeline {
        begin,
        end: begin + analysis.wall,
        why: "the whole run".to_owned(),
        ..Timeline::default()
    };
    fill(analysis, &rows, &mut timeline);
    Some(timeline)
}

/// Ranks that get a row: all, or representatives and the ones with least and most computation.
fn rows(analysis: &Analysis<'_>) -> Vec<usize> {
    let count = analysis.ranks.len();
    if count <= ROWS {
        return (0..count).collect();
    }
    let mut by_work: Vec<usize> = (0..count).collect();
    by_work.sort_by_key(|&at| (analysis.ranks[at].run - analysis.ranks[at].mpi, at));
    let stand_out = by_work[..ROWS / 4].iter().chain(&by_work[count - ROWS / 4..]).copied();
    let mut rows: Vec<usize> = analysis
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

/// Rows and bars for the window of a timeline.
fn fill(analysis: &Analysis<'_>, rows: &[usize], timeline: &mut Timeline) {
    let recording = &analysis.run.recording;
    let class_of = class_of_ranks(analysis);
    let mut texts: HashMap<String, u32> = HashMap::new();
    for &at in rows {
        let (process, study) = (analysis.process(at), &analysis.ranks[at]);
        for thread in &process.threads {
            let row = timeline.rows.len() as u32;
            timeline.rows.push(Row {
                rank: study.rank,
                thread: thread.number,
                class: class_of[at],
                begin: study.begin,
                end: study.end,
            });
            let mut values = Values::new(recording, process, thread);
            let mut events = process.events(recording, thread);
            while let Some(event) = events.next_event() {
                // The requests have to be followed from the first call on.
                let args = values.named(&event);
                let (Some(begin), Some(duration)) = (event.begin, event.duration) else { break };
                if begin > timeline.end || timeline.bars.len() >= BARS {
                    break;
                }
                if begin + duration < timeline.begin {
                    continue;
                }
                let signature = thread.log.nodes[event.node.0 as usize].signature;
                let Some(site) = analysis.calls.number(signature) else { continue };
                let text = words::text(&args);
                let args = (!text.is_empty()).then(|| {
                    *texts.entry(text).or_insert_with_key(|text| {
                        timeline.args.push(text.clone());
                        timeline.args.len() as u32 - 1
                    })
                });
                timeline.bars.push(Bar { row, begin, duration, site, args });
            }
        }
    }
    draw_messages(analysis, rows, timeline);
}

/// Messages that are on their way inside the window, from row to row.
fn draw_messages(analysis: &Analysis<'_>, rows: &[usize], timeline: &mut Timeline) {
    let recording = &analysis.run.recording;
    if recording.events() > MATCHED {
        return;
    }
    // The first row of each process that has rows.
    let mut first = BTreeMap::new();
    let mut next = 0;
    for &at in rows {
        first.insert(at, next);
        next += analysis.process(at).threads.len() as u32;
    }
    let row = |(process, thread): (usize, usize)| Some(first.get(&process)? + thread as u32);
    for message in &messages(recording, timeline.end).all {
        let inside = message.sent.0 >= timeline.begin && message.received.1 <= timeline.end;
        let ends = row(message.from).zip(row(message.to));
        if let Some((from_row, to_row)) = ends.filter(|_| inside) {
            timeline.messages.push(Message {
                from_row,
                sent: message.sent.0,
                to_row,
                received: message.received.1,
                bytes: message.bytes.0,
            });
        }
        if timeline.messages.len() >= BARS {
            break;
        }
    }
}

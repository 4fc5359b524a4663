//! Time in the report: the durations of all iterations.
//!
//! Owns the series of iterations and its stride: a run may have more iterations than a plot has
//! points, or keep groups of them. The inside of iterations is [`super::detail`]'s.

use std::collections::HashMap;

use talea_model::Nanos;
use talea_model::units::typical;
use talea_report::data::{IterationSeries, LoopId, Outlier, RankSeries};

use crate::Analysis;
use crate::classes::Class;
use crate::course::{Course, Group};
use crate::location::ThreadAt;
use crate::tree::{graph_loop, numbers};

/// Points of a series of iterations.
const POINTS: usize = 2_000;
/// Iterations that stand out and are listed, and shown in detail where there is room.
pub(super) const LISTED: usize = 50;
/// Ranks whose single durations are kept.
const SINGLE: usize = 16;

/// The main loop of a class in the numbers of the report.
pub(super) fn main_loop(analysis: &Analysis<'_>, number: usize, class: &Class) -> Option<LoopId> {
    let main = analysis.thread(class.representative).main()?;
    Some(graph_loop(numbers(number), main.index))
}

/// Iterations of a class over the run.
pub(super) fn series(analysis: &Analysis<'_>) -> Vec<IterationSeries> {
    let of_class = |(number, class): (usize, &Class)| {
        let loop_id = main_loop(analysis, number, class)?;
        let header = analysis.thread(class.representative).main()?.header;
        // Threads whose main loop is another one cannot be compared.
        let members: Vec<ThreadAt> = class
            .members
            .iter()
            .copied()
            .filter(|&at| analysis.thread(at).main().is_some_and(|main| main.header == header))
            .collect();
        let courses = || members.iter().map(|&at| &analysis.thread(at).course);
        let count = courses().map(Course::len).max()?;
        let stride = match courses().map(Course::stride).max()? {
            1 => count.div_ceil(POINTS).max(1),
            // Points are whole groups.
            kept => count.div_ceil(POINTS).next_power_of_two().max(kept),
        };
        let mut series = IterationSeries {
            loop_id,
            class: Some(number as u32),
            stride: stride as u64,
            takes: takes(analysis, class.representative),
            ..IterationSeries::default()
        };
        for from in (0..count).step_by(stride) {
            let all = courses().flat_map(|course| course.groups(from..from + stride));
            add_point(&mut series, all.collect());
        }
        if members.len() <= SINGLE && stride == 1 {
            series.ranks = members
                .iter()
                .filter(|&&at| analysis.thread(at).course.len() == count)
                .map(|&at| RankSeries {
                    rank: analysis.ranks[at.process].rank,
                    thread: analysis.number_of(at),
                    durations: analysis.iterations(at).iter().map(|one| one.duration).collect(),
                })
                .collect();
        }
        series.outliers = outliers(analysis, &members);
        Some(series)
    };
    analysis.classes.iter().enumerate().filter_map(of_class).collect()
}

/// Adds a point of these groups of iterations, each with its number of iterations.
fn add_point(series: &mut IterationSeries, mut all: Vec<(Group, usize)>) {
    let mean = |one: &(Group, usize)| Nanos(one.0.sum.0 / one.1 as u64);
    all.sort_unstable_by_key(mean);
    let groups = || all.iter().map(|one| one.0);
    let (Some(begin), Some(min), Some(max)) = (
        groups().map(|group| group.begin).min(),
        groups().map(|group| group.min).min(),
        groups().map(|group| group.max).max(),
    ) else {
        return;
    };
    let count: usize = all.iter().map(|one| one.1).sum();
    let mut reached = 0;
    let middle = all.iter().find(|one| {
        reached += one.1;
        reached > (count - 1) / 2
    });
    series.begin.push(begin);
    series.min.push(min);
    series.median.push(middle.map_or(Nanos(0), mean));
    series.max.push(max);
    let sum: Nanos = groups().map(|group| group.sum).sum();
    series.mean.push(Nanos(sum.0 / count as u64));
}

/// Duration of an iteration on a thread.
fn takes(analysis: &Analysis<'_>, at: ThreadAt) -> String {
    let study = analysis.thread(at);
    let median = study.main().map_or(Nanos(0), |main| main.durations.median);
    let count = study.course.len() as u64;
    let each = typical(median, Nanos(study.course.sum().0 / count.max(1)), count);
    format!("{each} on {}", analysis.location(at))
}

/// The iterations that took longest, with the thread that was slowest in each.
fn outliers(analysis: &Analysis<'_>, members: &[ThreadAt]) -> Vec<Outlier> {
    let found = worst(analysis, members).into_iter().take(LISTED);
    found
        .map(|(iteration, duration, at)| Outlier {
            iteration: iteration as u64,
            rank: analysis.ranks[at.process].rank,
            thread: analysis.number_of(at),
            duration,
        })
        .collect()
}

/// Iterations that stand out on any of these threads, the longest first, each with its duration on
/// the thread that was slowest.
pub(super) fn worst(
    analysis: &Analysis<'_>,
    members: &[ThreadAt],
) -> Vec<(usize, Nanos, ThreadAt)> {
    let mut worst: HashMap<usize, (Nanos, ThreadAt)> = HashMap::new();
    for &at in members {
        let study = analysis.thread(at);
        let Some(main) = study.main() else { continue };
        for &iteration in main.durations.outliers.iter().take(POINTS) {
            let Some(duration) = study.course.duration(iteration) else { continue };
            let found = (duration, at);
            let known = worst.entry(iteration).or_insert(found);
            if found.0 > known.0 {
                *known = found;
            }
        }
    }
    let mut worst: Vec<_> = worst.into_iter().map(|(at, (time, who))| (at, time, who)).collect();
    worst.sort_by_key(|one| (std::cmp::Reverse(one.1), one.0));
    worst
}

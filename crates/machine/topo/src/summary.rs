//! From recordings to the data of pictures, pages and text: values, findings, facts.
//!
//! Owns the choice of a picture's values: those at a time, the means over all of it, or their
//! differences to another recording's. It refuses drawing, which is `talea-topology`'s and
//! `talea-report`'s.

use std::path::PathBuf;

use talea_model::{Gaps, Nanos};
use talea_run::directory::known_as;
use talea_topology::hints::{Hint, hints};
use talea_topology::phases::Phases;
use talea_topology::scale::{Ends, Scale};
use talea_topology::svg::{Placed, Range, Shown, ShownHint, ShownMonitor};
use talea_topology::{Monitor, MonitorInfo, ObjectId};

use crate::Recording;

/// Maximum number of threads that are marked on a picture.
const MOST_PLACED: usize = 4096;

/// Errors of a recording's summary.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// Two recordings that have no monitor in common.
    #[error(
        "the two recordings have no monitor on the same objects: `{}`, `{}`",
        .0.display(),
        .1.display()
    )]
    Apart(PathBuf, PathBuf),
    /// No frame at this time, in seconds; then the first and the last time.
    #[error("there is no value at {0:.3} s, the recording has values from {1:.3} s to {2:.3} s")]
    Time(f64, f64, f64),
}

/// The visible monitors, each with its place among all.
pub fn visible_monitors(recording: &Recording) -> impl Iterator<Item = (usize, &Monitor)> {
    recording.monitors.iter().enumerate().filter(|(_, monitor)| !monitor.silent)
}

/// All monitors, for findings and pages.
pub fn monitor_infos(recording: &Recording) -> Vec<MonitorInfo> {
    let all = recording.monitors.iter().zip(&recording.objects);
    all.map(|(monitor, objects)| MonitorInfo::new(&recording.topology, monitor, objects)).collect()
}

/// Findings in a recording.
pub fn findings(recording: &Recording) -> Vec<Hint> {
    let infos = monitor_infos(recording);
    let mut found = hints(&recording.topology, &infos, &recording.frames, &recording.placement);
    if let Some(run) = &recording.run {
        for hint in &mut found {
            let during = run.during(hint.from, hint.to);
            let both = hint.region.take().into_iter().chain(during);
            hint.region = both.reduce(|phase, during| format!("{phase}, {during}"));
        }
    }
    found
}

/// A finding with its part of the program.
pub fn sentence(hint: &Hint) -> String {
    match &hint.region {
        Some(region) => format!("{}, in {region}.", hint.sentence.trim_end_matches('.')),
        None => hint.sentence.clone(),
    }
}

/// The values of each monitor at a time, or their means over all of it; absent ones are NaN.
///
/// # Errors
/// No value at this time.
pub fn values(recording: &Recording, at: Option<Nanos>) -> Result<Vec<Vec<f64>>, SummaryError> {
    let frames = &recording.frames;
    let Some(at) = at else { return Ok(means(recording)) };
    let (first, last) = match (frames.first(), frames.last()) {
        (Some(first), Some(last)) => (first.at - first.span, last.at),
        _ => (Nanos(0), Nanos(0)),
    };
    let frame = frames.iter().find(|frame| frame.at >= at).filter(|_| at >= first);
    let time = || SummaryError::Time(at.seconds(), first.seconds(), last.seconds());
    frame.map(|frame| frame.values.clone()).ok_or_else(time)
}

/// Means over time, of the frames that have a value.
fn means(recording: &Recording) -> Vec<Vec<f64>> {
    let blank = |objects: &Vec<ObjectId>| vec![(0.0, 0_u32); objects.len()];
    let mut sums: Vec<Vec<(f64, u32)>> = recording.objects.iter().map(blank).collect();
    for frame in &recording.frames {
        for (sums, values) in sums.iter_mut().zip(&frame.values) {
            for ((sum, count), value) in sums.iter_mut().zip(values) {
                if !value.is_nan() {
                    *sum += value;
                    *count += 1;
                }
            }
        }
    }
    let mean =
        |&(sum, count): &(f64, u32)| if count > 0 { sum / f64::from(count) } else { f64::NAN };
    sums.iter().map(|sums| sums.iter().map(mean).collect()).collect()
}

/// The data of a picture of a recording, or of its difference to another one.
///
/// # Errors
/// No value at this time, or no monitor that both have.
pub fn picture_data(
    recording: &Recording,
    other: Option<&Recording>,
    at: Option<Nanos>,
) -> Result<Shown, SummaryError> {
    let now = values(recording, at)?;
    let before =
        other.map(|other| Ok::<_, SummaryError>((other, values(other, at)?))).transpose()?;
    let mut monitors = Vec::new();
    for (number, monitor) in visible_monitors(recording) {
        let objects = &recording.objects[number];
        let mut values = now[number].clone();
        if let Some((other, before)) = &before {
            let same = |(at, m): &(usize, &Monitor)| {
                m.name == monitor.name && &other.objects[*at] == objects
            };
            let Some((at, _)) = visible_monitors(other).find(same) else { continue };
            values.iter_mut().zip(&before[at]).for_each(|(value, before)| *value -= before);
        }
        monitors.push(shown_monitor(recording, number, values, before.is_some()));
    }
    if let Some(other) = other
        && monitors.is_empty()
    {
        return Err(SummaryError::Apart(recording.path.clone(), other.path.clone()));
    }
    let mut gaps = recording.gaps.clone();
    gaps.merge(other.map(|other| other.gaps.clone()).unwrap_or_default());
    let hint = |hint: &Hint| ShownHint {
        objects: hint.objects.clone(),
        sentence: sentence(hint),
        from_to: Some((hint.from, hint.to)),
    };
    let hints =
        if other.is_none() { findings(recording).iter().map(hint).collect() } else { Vec::new() };
    Ok(Shown {
        title: title(recording, other),
        subtitle: facts(recording, at),
        monitors,
        placement: placed(recording, at),
        hints,
        gaps: gap_sentences(&gaps),
    })
}

fn shown_monitor(
    recording: &Recording,
    number: usize,
    values: Vec<f64>,
    difference: bool,
) -> ShownMonitor {
    let info = MonitorInfo::new(
        &recording.topology,
        &recording.monitors[number],
        &recording.objects[number],
    );
    let (scale, range) = if difference {
        let most =
            values.iter().filter(|value| value.is_finite()).fold(0.0, |m: f64, v| m.max(v.abs()));
        (Scale { low: -most, high: most, log: false }, Range::Auto)
    } else {
        let fixed = info.scale.min.is_some() && info.scale.max.is_some();
        let found = Scale::new(values.iter().copied(), Ends::Auto, info.scale);
        (found.unwrap_or_default(), if fixed { Range::Fixed } else { Range::Auto })
    };
    let values = values.into_iter().map(Some).collect();
    ShownMonitor { info, values, scale, range, difference }
}

/// The command.
fn title(recording: &Recording, other: Option<&Recording>) -> String {
    let name = |recording: &Recording| {
        let command = &recording.about.command;
        if command.is_empty() { known_as(&recording.path) } else { command.clone() }
    };
    match other {
        None => name(recording),
        Some(other) => format!("{} minus {}", name(recording), name(other)),
    }
}

/// Host, source, date, and the displayed time.
pub fn facts(recording: &Recording, at: Option<Nanos>) -> Vec<String> {
    let mut all = about(recording);
    let place = all.len().saturating_sub(usize::from(recording.run.is_some()));
    all.insert(place, time(recording, at));
    all
}

/// The displayed time.
fn time(recording: &Recording, at: Option<Nanos>) -> String {
    let span = recording.frames.last().map_or(0.0, |frame| frame.at.seconds());
    match at {
        Some(at) => {
            let phase = recording.run.as_ref().and_then(|run| Some(run.name(run.at(at)?)));
            let phase = phase.map(|phase| format!(", {phase}")).unwrap_or_default();
            format!("at {:.2} s of {span:.2} s{phase}", at.seconds())
        }
        None => format!("mean of {} values over {span:.2} s", recording.frames.len()),
    }
}

/// Host, source, date, the run beside it: facts of a page, which shows any time.
pub fn about(recording: &Recording) -> Vec<String> {
    let about = &recording.about;
    let date = about.start.get(..16).map(|date| date.replace('T', " ")).unwrap_or_default();
    let source =
        if about.source.is_empty() { String::new() } else { format!("source: {}", about.source) };
    let run = recording.run.as_ref().map(Phases::summary).unwrap_or_default();
    let all = [about.host.clone(), source, date, run];
    all.into_iter().filter(|fact| !fact.is_empty()).collect()
}

/// Gaps, a sentence each.
pub fn gap_sentences(gaps: &Gaps) -> Vec<String> {
    gaps.iter().map(|gap| gap.detail.clone()).collect()
}

/// Threads on PUs at a time, or where they were last seen.
fn placed(recording: &Recording, at: Option<Nanos>) -> Vec<Placed> {
    let samples = &recording.placement;
    let sample = match at {
        Some(at) => samples.iter().rev().find(|sample| sample.at <= at).or(samples.first()),
        None => samples.last(),
    };
    let topology = &recording.topology;
    let pus: std::collections::HashMap<u32, ObjectId> = topology
        .pus()
        .into_iter()
        .filter_map(|id| Some((topology.get(id).os_index?, id)))
        .collect();
    let threads = sample.map_or(&[][..], |sample| &sample.threads);
    let place = |thread: &talea_topology::hints::ThreadAt| {
        Some(Placed { pu: *pus.get(&thread.pu)?, label: thread.label.clone() })
    };
    threads.iter().filter_map(place).take(MOST_PLACED).collect()
}

#[cfg(test)]
mod tests {
    use talea_topology::phases::Course;
    use talea_topology::{Frame, accumulate::objects_of, monitors::parse, synthetic};

    use super::*;

    /// Ten seconds, in which the first PU alone is busy from the third on; iterations of a second
    /// each from the second on.
    fn recording() -> Recording {
        const SECOND: u64 = 1_000_000_000;
        let topology = synthetic::parse("core:2 pu:1").unwrap();
        let monitors = parse("WORK { OBJ = PU; CTR = instructions; PER = second; }").unwrap();
        let objects = vec![objects_of(&topology, monitors[0].objects)];
        let frame = |at: u64| Frame {
            at: Nanos(at * SECOND),
            span: Nanos(SECOND),
            phase: 0,
            values: vec![if at > 3 { vec![1e9, 1e6] } else { vec![1e9, 1e9] }],
        };
        let course = Course {
            of: "rank 0 of `app`".into(),
            place: "a.c:7".into(),
            begin: 0,
            end: 11 * SECOND as i64,
            iterations: (2..9).map(|at| (at * SECOND as i64, Nanos(SECOND))).collect(),
            ..Course::default()
        };
        Recording {
            topology,
            monitors,
            objects,
            frames: (1..=7).map(frame).collect(),
            run: Phases::within(&course, Nanos(0), Nanos(7 * SECOND)),
            ..Recording::default()
        }
    }

    #[test]
    fn findings_name_the_iterations_that_they_are_of() {
        let recording = recording();
        let found = findings(&recording);
        let unequal = found.iter().find(|hint| hint.sentence.contains("WORK")).unwrap();
        assert_eq!(unequal.region.as_deref(), Some("a.c:7 iterations 1-4"), "{unequal:?}");
        assert!(sentence(unequal).ends_with(", in a.c:7 iterations 1-4."), "{}", sentence(unequal));
        let facts = facts(&recording, Some(Nanos(2_500_000_000)));
        assert!(facts.iter().any(|fact| fact.ends_with(", a.c:7 iteration 0")), "{facts:?}");
        let without = Recording { run: None, ..recording };
        assert!(findings(&without).iter().all(|hint| hint.region.is_none()));
    }
}

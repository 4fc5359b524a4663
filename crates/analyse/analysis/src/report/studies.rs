//! Time between calls in the report: loops folded, kinds of computation, and their change over the
//! run.
//!
//! Owns which loops and marked phases are folded, and the way from each analysis to sentences,
//! pictures and a table. The analyses are those of `talea fold`, `talea cluster` and `talea track`.

use talea_fold::regions::{Region, possible};
use talea_metric::measure::Part;
use talea_model::trace::types;
use talea_model::units::{mean_and_median, si};
use talea_model::{Gap, GapKind, Gaps, Nanos, Trace};
use talea_report::data::clusters::{ClusterData, TrackData};
use talea_report::data::folded::FoldedData;
use talea_report::data::{LoopId, Picture, Study, StudyColumn, StudyKind, StudyValue};
use talea_report::{cluster_svg, cluster_timeline_svg, fold_svg, track_svg};
use talea_run::live::layout::TimesMode;
use talea_run::recording::Recording;

use crate::Analysis;
use crate::flow::Flow;
use crate::input::run;
use crate::tree::{graph_loop, numbers};
use crate::walk::walk;
use crate::{clusters, folding, tracks};

/// Events of a run up to which its loops are folded without being asked.
const MOST_EVENTS: u64 = 2_000_000;
/// Events of a run up to which its bursts are clustered, which takes longer: ten radii are judged
/// by the ranks' sequences.
const MOST_CLUSTERED: u64 = 300_000;
/// Loops, and marked phases, that are folded: those with most time first.
const MOST_LOOPS: usize = 4;
/// Executions of a loop's iterations, or of a phase, that must be there, and alike, to be folded.
const LEAST_ITERATIONS: usize = 8;
/// A change over the run is looked for in so many windows.
const WINDOWS: u64 = 8;
/// Minimum number of bursts in each of them.
const LEAST_BURSTS: u64 = 100;

/// Analyses of the time between calls in a report, by what was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Loops and marked phases are folded.
    pub folded: bool,
    /// Bursts are clustered.
    pub clustered: bool,
}

impl Depth {
    /// The depth for a recording, which has samples or none.
    pub fn for_recording(recording: &Recording, sampled: bool) -> Self {
        let events = recording.events();
        let timed = recording.times != TimesMode::Statistics;
        Self {
            folded: timed && sampled && events <= MOST_EVENTS,
            clustered: timed && events <= MOST_CLUSTERED,
        }
    }
}

/// All studies of a run, and what is not folded though it could be asked for; none where calls have
/// no times, or where they would take longer than anybody waits for a report.
pub(super) fn studies(analysis: &Analysis<'_>) -> (Vec<Study>, Gaps) {
    let mut gaps = Gaps::default();
    (all(analysis, &mut gaps), gaps)
}

fn all(analysis: &Analysis<'_>, missing: &mut Gaps) -> Vec<Study> {
    let depth = Depth::for_recording(&analysis.run.recording, run::has_samples(analysis));
    if !depth.folded && !depth.clustered {
        return Vec::new();
    }
    let trace = if depth.clustered { run::trace(analysis) } else { run::inside(analysis) };
    let mut studies = Vec::new();
    if trace.events.types.iter().any(|kind| types::SAMPLE_CALLER.contains(kind)) {
        studies.extend(inside(analysis, &trace, missing));
        // Without loops and phases calls say what is repeated.
        if studies.is_empty() {
            let whole = (!depth.clustered).then(|| run::trace(analysis));
            let folded = fold(whole.as_ref().unwrap_or(&trace), None).ok();
            let known = &analysis.run.recording.gaps;
            studies.extend(folded.map(|one| folded_study(&one.data, None, known)));
        }
    }
    let known = &analysis.run.recording.gaps;
    if !depth.clustered {
        return studies;
    }
    if let Some(data) =
        clusters::of_part(&trace, None, Part::default(), "").filter(|data| data.clusters.len() > 1)
    {
        let enough = data.points > WINDOWS * LEAST_BURSTS;
        studies.push(kinds(&data, known));
        let drift = if enough { tracks::of_windows(&trace, WINDOWS) } else { None };
        studies
            .extend(drift.filter(|data| !data.objects.is_empty()).map(|data| drifts(&data, known)));
    }
    studies
}

/// A loop that is folded.
struct Folded {
    /// Its number on the page.
    id: LoopId,
    /// Its name in the trace and how often it turns.
    title: String,
    /// Name of the region in `talea fold`.
    region: String,
    /// Whether it is the one that `talea fold` folds unasked.
    main: bool,
}

/// Loops of the largest class: the main loop, then the others by time.
fn loops(analysis: &Analysis<'_>, trace: &Trace) -> Vec<Folded> {
    let Some(class) = analysis.classes.first() else { return Vec::new() };
    let process = analysis.process(class.representative.process);
    let thread = analysis.recorded(class.representative);
    let walked = walk(&analysis.run.recording, process, thread);
    let flow = Flow::from_thread(&analysis.run.recording, thread, &walked, &analysis.paths);
    let names = run::loop_names(analysis, thread, &flow);
    let mut found = Vec::new();
    for (number, (one, name)) in flow.timeline.loops.iter().zip(names).enumerate() {
        let main = flow.timeline.main == Some(number);
        let label = run::label(&name);
        let known = trace.labels.event_types.iter().find(|kind| kind.label == label);
        let event_type = known.filter(|_| !main && one.iterations.len() >= LEAST_ITERATIONS);
        if !main && event_type.is_none() {
            continue;
        }
        let folded = Folded {
            id: graph_loop(numbers(0), one.index),
            title: format!("{label} ×{}", one.iterations.len()),
            region: event_type
                .map_or_else(|| "iteration".to_owned(), |kind| kind.number.to_string()),
            main,
        };
        found.push((!main, std::cmp::Reverse(one.total), folded));
    }
    found.sort_by_key(|one| (one.0, one.1));
    found.into_iter().map(|one| one.2).take(MOST_LOOPS).collect()
}

/// Values of the marked phases with most time that have instances enough.
fn phases(trace: &Trace) -> Vec<i64> {
    let found = possible(trace).into_iter().filter(|one| one.instances >= LEAST_ITERATIONS as u64);
    let value = |one: talea_fold::regions::Possible| match one.region {
        Region::Value { event_type: types::MARKED, value } => value,
        _ => None,
    };
    found.filter_map(value).take(MOST_LOOPS).collect()
}

fn fold(trace: &Trace, region: Option<String>) -> Result<folding::Folded, folding::AnalyseError> {
    let what = folding::FoldOptions { region, ..folding::FoldOptions::default() };
    folding::analyse(&[(String::new(), trace)], &what)
}

fn inside(analysis: &Analysis<'_>, trace: &Trace, missing: &mut Gaps) -> Vec<Study> {
    let mut not_folded = |what: String, error: folding::AnalyseError| {
        let detail = format!("{what} is not folded: {error}");
        missing.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
    };
    let known = &analysis.run.recording.gaps;
    let mut studies = Vec::new();
    for one in loops(analysis, trace) {
        match fold(trace, Some(one.region)) {
            // A few executions that are alike say nothing; `talea fold` shows them on request.
            Ok(folded) if !one.main && folded.data.all.folded < LEAST_ITERATIONS as u64 => {}
            Ok(folded) => {
                let study = folded_study(&folded.data, Some(one.id), known);
                studies.push(Study { title: one.title, ..study });
            }
            Err(error) => not_folded(format!("`{}`", one.title), error),
        }
    }
    for value in phases(trace) {
        match fold(trace, Some(format!("{}={value}", types::MARKED))) {
            Ok(folded) => {
                let mut study = folded_study(&folded.data, None, known);
                study.title = format!("Phase {}", folded.data.region.name);
                studies.push(study);
            }
            Err(error) => {
                let name = trace.labels.value(types::MARKED, value).unwrap_or("without a name");
                not_folded(format!("phase `{name}`"), error);
            }
        }
    }
    studies
}

fn columns<const N: usize>(columns: [(&str, &str); N]) -> Vec<StudyColumn> {
    let column =
        |(head, unit): (&str, &str)| StudyColumn { head: head.to_owned(), unit: unit.to_owned() };
    columns.map(column).into()
}

/// Gaps of this section, beside those of the run on the page.
fn gaps(own: &Gaps, known: &Gaps) -> Vec<String> {
    let new = own.iter().filter(|gap| !known.iter().any(|one| one == *gap));
    new.map(|gap| gap.detail.clone()).collect()
}

fn folded_study(data: &FoldedData, loop_id: Option<LoopId>, known: &Gaps) -> Study {
    let group = &data.all;
    let row = |counter: &talea_report::data::folded::FoldedCounter| {
        vec![
            counter.name.clone().into(),
            (counter.samples as f64).into(),
            (counter.instances as f64).into(),
            StudyValue::Text(si(counter.mean_rate, &counter.unit)),
            counter.error_held_out.into(),
            counter.error_estimated.into(),
            (counter.jumps.len() as f64).into(),
        ]
    };
    Study {
        kind: StudyKind::Inside,
        loop_id,
        title: data.region.of.clone(),
        note: format!(
            "{} of {} executions folded, {}",
            group.folded,
            group.found,
            mean_and_median(group.mean_ns, group.median_ns)
        ),
        findings: data.findings.clone(),
        pictures: vec![Picture {
            caption:
                "rates of counters over the iteration with 95 % bands, and the routines that run"
                    .to_owned(),
            svg: fold_svg(data),
        }],
        columns: columns([
            ("counter", ""),
            ("samples", ""),
            ("executions", ""),
            ("mean rate", ""),
            ("error held out", "%"),
            ("error at a place", "%"),
            ("jumps", ""),
        ]),
        rows: group.counters.iter().map(row).collect(),
        gaps: gaps(&data.gaps, known),
    }
}

fn kinds(data: &ClusterData, known: &Gaps) -> Study {
    let row = |row: &talea_report::data::clusters::ClusterRow| -> Vec<StudyValue> {
        let mut cells = vec![
            f64::from(row.id).into(),
            (row.points as f64).into(),
            row.time_share.into(),
            row.mean_duration_ns.map(|mean| mean / 1e9).into(),
        ];
        cells.extend(row.centroid.iter().zip(&data.dimensions).map(|(&value, dimension)| {
            StudyValue::from(if dimension.unit == "ns" { value / 1e9 } else { value })
        }));
        cells.push((row.ranks as f64).into());
        cells.push(row.spmd_score.into());
        let site = row.site.as_ref();
        cells.push(site.map_or(StudyValue::Absent, |site| {
            StudyValue::Text(format!("{} {}", site.function, site.line).trim().to_owned())
        }));
        cells
    };
    let mut heads = columns([("cluster", ""), ("bursts", ""), ("time", "%"), ("mean", "s")]);
    heads.extend(data.dimensions.iter().map(|dimension| StudyColumn {
        head: dimension.name.clone(),
        unit: if dimension.unit == "ns" { "s".to_owned() } else { dimension.unit.clone() },
    }));
    heads.extend(columns([("ranks", ""), ("SPMD score", "%"), ("before the call at", "")]));
    Study {
        kind: StudyKind::Kinds,
        loop_id: None,
        title: format!("{} clusters", data.clusters.len()),
        note: format!("of {} bursts of computation", data.points),
        findings: data.findings.clone(),
        pictures: vec![
            Picture {
                caption:
                    "bursts by what they are compared by, a colour and a mark for each cluster"
                        .to_owned(),
                svg: cluster_svg(data),
            },
            Picture {
                caption: "the same over time, a row for each rank".to_owned(),
                svg: cluster_timeline_svg(data),
            },
        ],
        columns: heads,
        rows: data.clusters.iter().map(row).collect(),
        gaps: gaps(&data.gaps, known),
    }
}

fn drifts(data: &TrackData, known: &Gaps) -> Study {
    let begin = data.frames.first().map_or(0, |frame| frame.begin_ns);
    let end = data.frames.last().map_or(0, |frame| frame.end_ns);
    Study {
        kind: StudyKind::Drift,
        loop_id: None,
        title: format!("{} kinds of computation", data.objects.len()),
        note: format!(
            "followed through {} windows of {}",
            data.frames.len(),
            Nanos(end.saturating_sub(begin) / (data.frames.len() as u64).max(1))
        ),
        findings: data.findings.clone(),
        pictures: vec![Picture {
            caption: "each kind of computation from window to window".to_owned(),
            svg: track_svg(data),
        }],
        gaps: gaps(&data.gaps, known),
        ..Study::default()
    }
}

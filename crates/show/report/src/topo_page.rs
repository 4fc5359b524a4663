//! One file of HTML that replays performance values on a node's objects: picture, time, table,
//! findings.
//!
//! Owns the embedding of values. The picture is the one of `talea_topology::svg`; the program in
//! `web/src/topo` colours it, so that the page shows the machine even where JavaScript is off.
//! Values keep 16 bits of their fraction (an error below 1 in 65,536): ten thousand frames of four
//! hundred objects are 12 MB before compression. It refuses computing values or findings, and every
//! request.

use serde::Serialize;
use talea_model::Nanos;
use talea_topology::hints::{Hint, PlacementSample};
use talea_topology::layout::{Options, layout};
use talea_topology::phases::{Phase, PhaseKind, Phases};
use talea_topology::svg::Shown;
use talea_topology::{Frame, MonitorInfo, Topology, svg};

use crate::document::{Document, base64};

const PROGRAM: &str = include_str!("../../../../web/dist/topo.js");
const STYLE: &str = include_str!("../../../../web/dist/topo.css");
/// SHA-256 of the program in base64, written when it was built.
const PROGRAM_HASH: &str = include_str!("../../../../web/dist/topo.sha256");

/// Room for the objects on a page of 1,600 by 1,000 pixels, with time below and monitors beside.
const ROOM: Options = Options { width: 1245.0, height: 640.0, fold_above: 4 };

/// A recording of these monitors.
#[derive(Clone, Debug, Default)]
pub struct PageRecording<'a> {
    /// The command.
    pub name: String,
    /// Host, source (such as `simulated`), date: shown below the title.
    pub facts: Vec<String>,
    /// Values; for each monitor one per object.
    pub frames: &'a [Frame],
    /// Threads by time.
    pub placement: &'a [PlacementSample],
    /// Findings.
    pub hints: &'a [Hint],
    /// Losses, a sentence each.
    pub gaps: Vec<String>,
    /// Names of the program's own phases by number.
    pub phases: Vec<(u32, String)>,
    /// The run shown with it.
    pub run: Option<&'a Phases>,
}

#[derive(Serialize)]
struct Payload<'a> {
    version: u32,
    objects: Vec<ObjectData>,
    monitors: Vec<MonitorData<'a>>,
    recordings: Vec<RecordingData<'a>>,
}

#[derive(Serialize)]
struct ObjectData {
    label: String,
    kind: &'static str,
    /// The operating system's number, by which threads find their PU.
    os: Option<u32>,
    /// Further facts: kind of CPU, vendor, link, memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facts: Vec<String>,
}

#[derive(Serialize)]
struct MonitorData<'a> {
    name: &'a str,
    counter: &'a str,
    unit: &'a str,
    level: &'a str,
    aggregate: &'a str,
    log: bool,
    min: Option<f64>,
    max: Option<f64>,
    objects: Vec<u32>,
}

#[derive(Serialize)]
struct RecordingData<'a> {
    name: &'a str,
    facts: &'a [String],
    gaps: &'a [String],
    phases: Vec<(u32, &'a str)>,
    run: Option<RunData<'a>>,
    at: Vec<u64>,
    span: Vec<u64>,
    /// First frame and number of each phase.
    phase: Vec<(usize, u32)>,
    hints: Vec<HintData<'a>>,
    /// Names of threads.
    threads: Vec<&'a str>,
    placement: Vec<PlacementData>,
    /// Monitors without a number in any frame.
    silent: Vec<usize>,
}

#[derive(Serialize)]
struct RunData<'a> {
    summary: String,
    place: &'a str,
    median: Nanos,
    merged: Option<u64>,
    /// Kind, first and last iteration, begin, end, longest iteration, whether it is slow.
    phases: Vec<(u8, u64, u64, u64, u64, u64, u8)>,
}

#[derive(Serialize)]
struct HintData<'a> {
    kind: &'static str,
    objects: Vec<u32>,
    figure: &'a str,
    from: Nanos,
    to: Nanos,
    region: Option<&'a str>,
    sentence: &'a str,
}

#[derive(Serialize)]
struct PlacementData {
    at: Nanos,
    /// PU and thread, of running ones.
    on: Vec<(u32, usize)>,
}

/// The page; the second recording, if any, is the reference of the comparison.
pub fn page(
    topology: &Topology,
    monitors: &[MonitorInfo],
    recording: &PageRecording<'_>,
    second: Option<&PageRecording<'_>>,
) -> String {
    let all: Vec<&PageRecording<'_>> = std::iter::once(recording).chain(second).collect();
    let object = |(id, one): (_, &talea_topology::Object)| ObjectData {
        label: topology.label(id),
        kind: one.kind.short(),
        os: one.os_index,
        facts: svg::facts(topology, id),
    };
    let payload = Payload {
        version: 1,
        objects: topology.iter().map(object).collect(),
        monitors: monitors.iter().map(monitor).collect(),
        recordings: all.iter().map(|one| data(one, monitors)).collect(),
    };
    // Writing to a string fails only for maps with keys that are not text; there are no maps.
    let mut bytes = serde_json::to_vec(&payload).unwrap_or_default();
    let json = bytes.len();
    for one in &all {
        planes(&mut bytes, one.frames, monitors);
    }
    // The lowest level that still finds repetition: values are mostly noise, and there may be many.
    let body = base64(&miniz_oxide::deflate::compress_to_vec_zlib(&bytes, 4));
    drop(bytes);
    let picture = svg::fragment(topology, &layout(topology, &ROOM), &Shown::default());
    Document {
        title: &recording.name,
        product: "talea topo",
        styles: &[STYLE, &svg::page_style()],
        without: "Values are drawn with JavaScript, which is off here; below is the machine without them.",
        body: &format!("<div id=\"picture\">{picture}</div>"),
        attribute: ("json", &json.to_string()),
        data: &body,
        program: PROGRAM,
        hash: PROGRAM_HASH,
    }
    .html()
}

fn monitor(one: &MonitorInfo) -> MonitorData<'_> {
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    MonitorData {
        name: &one.name,
        counter: &one.counter,
        unit: &one.unit,
        level: &one.level,
        aggregate: &one.aggregate,
        log: one.scale.log,
        min: finite(one.scale.min),
        max: finite(one.scale.max),
        objects: one.objects.iter().map(|id| id.0).collect(),
    }
}

fn data<'a>(one: &'a PageRecording<'a>, monitors: &[MonitorInfo]) -> RecordingData<'a> {
    let mut phase: Vec<(usize, u32)> = Vec::new();
    for (at, frame) in one.frames.iter().enumerate() {
        if phase.last().is_none_or(|last| last.1 != frame.phase) {
            phase.push((at, frame.phase));
        }
    }
    let hint = |hint: &'a Hint| HintData {
        kind: hint.kind.word(),
        objects: hint.objects.iter().map(|id| id.0).collect(),
        figure: &hint.figure,
        from: hint.from,
        to: hint.to,
        region: hint.region.as_deref(),
        sentence: &hint.sentence,
    };
    let silent = |monitor: &usize| {
        let values = one.frames.iter().filter_map(|frame| frame.values.get(*monitor)).flatten();
        values.copied().all(f64::is_nan)
    };
    let (threads, placement) = placed(one.placement);
    RecordingData {
        name: &one.name,
        facts: &one.facts,
        gaps: &one.gaps,
        phases: one.phases.iter().map(|(number, name)| (*number, name.as_str())).collect(),
        run: one.run.map(run),
        at: one.frames.iter().map(|frame| frame.at.0).collect(),
        span: one.frames.iter().map(|frame| frame.span.0).collect(),
        phase,
        hints: one.hints.iter().map(hint).collect(),
        threads,
        placement,
        silent: (0..monitors.len()).filter(silent).collect(),
    }
}

fn run(run: &Phases) -> RunData<'_> {
    let phase = |phase: &Phase| {
        let kind = match phase.kind {
            PhaseKind::SetUp => 0,
            PhaseKind::Iterations => 1,
            PhaseKind::Between => 2,
            PhaseKind::WrapUp => 3,
            PhaseKind::Whole => 4,
        };
        let Phase { first, last, from, to, longest, slow, .. } = phase;
        (kind, *first, *last, from.0, to.0, longest.0, u8::from(*slow))
    };
    RunData {
        summary: run.summary(),
        place: &run.place,
        median: run.median,
        merged: run.merged,
        phases: run.all.iter().map(phase).collect(),
    }
}

/// Names once, and only samples that differ from the one before.
fn placed(samples: &[PlacementSample]) -> (Vec<&str>, Vec<PlacementData>) {
    let mut numbers = std::collections::BTreeMap::new();
    let mut names = Vec::new();
    let mut out: Vec<PlacementData> = Vec::new();
    for sample in samples {
        let running = sample.threads.iter().filter(|thread| thread.running);
        let on: Vec<(u32, usize)> = running
            .map(|thread| {
                let number = *numbers.entry(thread.label.as_str()).or_insert_with(|| {
                    names.push(thread.label.as_str());
                    names.len() - 1
                });
                (thread.pu, number)
            })
            .collect();
        if out.last().is_none_or(|last| last.on != on) {
            out.push(PlacementData { at: sample.at, on });
        }
    }
    (names, out)
}

/// Values of all monitors: for each object its frames one after the other, as the upper three bytes
/// of 32-bit numbers, each byte in a plane of its own - upper bytes repeat, lower ones are noise.
fn planes(out: &mut Vec<u8>, frames: &[Frame], monitors: &[MonitorInfo]) {
    for (number, monitor) in monitors.iter().enumerate() {
        let mut rounded: Vec<u32> = Vec::with_capacity(frames.len() * monitor.objects.len());
        for object in 0..monitor.objects.len() {
            rounded.extend(frames.iter().map(|frame| {
                let value = frame.values.get(number).and_then(|all| all.get(object));
                shortened(value.copied().unwrap_or(f64::NAN))
            }));
        }
        for shift in [24, 16, 8] {
            out.extend(rounded.iter().map(|bits| (bits >> shift) as u8));
        }
    }
}

/// The bits of the nearest 32-bit number whose lowest byte is zero; NaN stays NaN.
fn shortened(value: f64) -> u32 {
    if !value.is_finite() {
        return 0x7fc0_0000;
    }
    let bits = (value.clamp(-3e38, 3e38) as f32).to_bits();
    (bits + 0x80) & 0xffff_ff00
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_topology::{Object, ObjectKind};

    use super::*;

    proptest! {
        #[test]
        fn values_keep_their_first_digits(value in -1e30..1e30_f64) {
            let near = f64::from(f32::from_bits(shortened(value)));
            prop_assert!((near - value).abs() <= value.abs() / 65_536.0, "{} {}", value, near);
        }
    }

    #[test]
    fn what_is_absent_stays_absent() {
        for value in [f64::NAN, f64::INFINITY, -f64::NAN] {
            assert!(f32::from_bits(shortened(value)).is_nan());
        }
        assert_eq!(shortened(0.0), 0);
        assert!(f32::from_bits(shortened(1e300)).is_finite());
    }

    #[test]
    fn no_text_ends_its_element() {
        let mut topology = Topology::default();
        topology.objects.push(Object::new(ObjectKind::Machine));
        topology.objects[0].name = Some("</script><svg onload=alert(1)>".into());
        let hostile = "</script><script>alert(1)</script>";
        let recording = PageRecording {
            name: hostile.into(),
            facts: vec![hostile.into()],
            gaps: vec![hostile.into()],
            ..PageRecording::default()
        };
        let html = page(&topology, &[MonitorInfo::default()], &recording, Some(&recording));
        assert_eq!(html.matches("<script").count(), 2);
        assert_eq!(html.to_ascii_lowercase().matches("</script").count(), 2);
    }
}

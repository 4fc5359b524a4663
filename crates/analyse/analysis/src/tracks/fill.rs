//! From tracked clusters to the displayed data.
//!
//! Owns figures of each object in each frame, and the sentences. Objects are numbered by their
//! share of the time in all frames.

use std::collections::BTreeMap;

use talea_cluster::Label;
use talea_cluster::dimension::{Dimension, find};
use talea_cluster::prepare::Scale;
use talea_model::units::percent;
use talea_report::data::clusters::{
    ClusterSite, DimensionData, FrameData, ObjectData, ObjectFrame, TrackData,
};

use super::Options;
use super::follow::{Followed, is_count};
use super::frames::Frame;
use crate::clusters::{Names, dimension_data, mean, site_of, sums};

/// All displayed data.
pub(super) fn data(frames: &[Frame<'_>], followed: &Followed, options: &Options) -> TrackData {
    let mut objects = BTreeMap::<u32, ObjectData>::new();
    let mut best = BTreeMap::<u32, (f64, Option<ClusterSite>)>::new();
    for at in 0..frames.len() {
        for (number, (clusters, own)) in clusters_of(followed, at) {
            let (one, site) = figures(frames, followed, at, clusters, &own);
            let kept = best.entry(number).or_insert((f64::NEG_INFINITY, None));
            if one.time_share.unwrap_or(0.0) > kept.0 || kept.1.is_none() {
                *kept = (one.time_share.unwrap_or(0.0), site);
            }
            let object = objects.entry(number).or_insert_with(|| ObjectData {
                frames: vec![None; frames.len()],
                ..ObjectData::default()
            });
            object.frames[at] = Some(one);
        }
    }
    for (number, (_, site)) in best {
        if let Some(object) = objects.get_mut(&number) {
            object.site = site;
        }
    }
    let share = |one: &ObjectData| -> f64 {
        one.frames.iter().flatten().filter_map(|f| f.time_share).sum()
    };
    let mut numbers: Vec<u32> = objects.keys().copied().collect();
    numbers.sort_by(|a, b| share(&objects[b]).total_cmp(&share(&objects[a])));
    let ids: BTreeMap<u32, u32> = numbers.iter().copied().zip(1..).collect();
    let joins = joins(followed);
    for (number, object) in &mut objects {
        object.id = ids[number];
        object.joins = joins.get(number).and_then(|one| ids.get(one)).copied();
    }
    let objects: Vec<ObjectData> =
        numbers.iter().filter_map(|number| objects.remove(number)).collect();
    let mut data = TrackData {
        of: if options.windows.is_some() { "windows" } else { "runs" }.to_owned(),
        per_task: followed.per_task,
        dimensions: dimensions(followed),
        edges: followed.edges,
        frames: frames
            .iter()
            .enumerate()
            .map(|(at, frame)| frame_data(frame, followed, at))
            .collect(),
        objects,
        ..TrackData::default()
    };
    for frame in frames {
        let named = |gap: &talea_model::Gap| talea_model::Gap {
            detail: if options.windows.is_some() {
                gap.detail.clone()
            } else {
                format!("{}: {}", frame.name, gap.detail)
            },
            ..gap.clone()
        };
        frame.bursts.gaps.iter().for_each(|gap| data.gaps.note(named(gap)));
    }
    data.findings = findings(&data);
    data
}

/// Clusters of a frame by object, and the bursts of each object, ascending.
fn clusters_of(followed: &Followed, frame: usize) -> BTreeMap<u32, (Vec<u32>, Vec<u32>)> {
    let objects = &followed.steps[frame].objects;
    let mut of = BTreeMap::<u32, (Vec<u32>, Vec<u32>)>::new();
    for (label, &object) in (1..).zip(objects) {
        of.entry(object).or_default().0.push(label);
    }
    let clustered = &followed.frames[frame];
    for (&burst, label) in clustered.bursts.iter().zip(&clustered.clustering.labels) {
        let object = label.place().and_then(|place| objects.get(place));
        if let Some((_, bursts)) = object.and_then(|object| of.get_mut(object)) {
            bursts.push(burst);
        }
    }
    of
}

fn dimensions(followed: &Followed) -> Vec<DimensionData> {
    let one = |(one, scale): (&Dimension, &Scale)| {
        let mut data = dimension_data(one, scale);
        if followed.per_task && is_count(one) {
            data.name += " x ranks";
        }
        data
    };
    followed.dimensions.iter().zip(&followed.prepared.scales).map(one).collect()
}

fn frame_data(frame: &Frame<'_>, followed: &Followed, at: usize) -> FrameData {
    let (clustered, step, how) =
        (&followed.frames[at], &followed.steps[at], &followed.requisites[at]);
    let time = clustered.bursts.iter().map(|&burst| frame.bursts.duration[burst as usize]);
    let ranks: std::collections::BTreeSet<u32> =
        frame.bursts.rank.iter().map(|rank| rank.0).collect();
    FrameData {
        name: frame.name.clone(),
        ranks: ranks.len() as u64,
        begin_ns: frame.begin,
        end_ns: frame.end,
        bursts: frame.bursts.len() as u64,
        points: clustered.bursts.len() as u64,
        eps: clustered.eps,
        min_points: clustered.min_points as u64,
        clusters: clustered.clustering.clusters.len() as u64,
        noise: clustered.clustering.noise() as u64,
        time_ns: time.filter(|time| time.is_finite()).sum(),
        spmd_score: clustered.score.global,
        matched: step.comparison.as_ref().map(|one| one.shares),
        is_equivalent: step.comparison.as_ref().map(|one| one.is_equivalent),
        in_a_row: step.in_a_row as u64,
        is_stable: step.is_stable,
        lowered: step.lowered as u64,
        requisites: [how.margin, how.share, how.likeness],
    }
}

/// The figures of some clusters of a frame together, and their place.
fn figures(
    frames: &[Frame<'_>],
    followed: &Followed,
    at: usize,
    clusters: Vec<u32>,
    own: &[u32],
) -> (ObjectFrame, Option<ClusterSite>) {
    let (frame, clustered) = (&frames[at], &followed.frames[at]);
    let bursts = &frame.bursts;
    let duration = |of: &[u32]| -> f64 {
        of.iter().map(|&burst| bursts.duration[burst as usize]).filter(|d| d.is_finite()).sum()
    };
    let (time, all) = (duration(own), duration(&clustered.bursts));
    let count = own.len() as f64;
    let column =
        |name: &str| find(bursts, name).map(|place| bursts.counters[place].values.as_slice());
    let (ins, cyc) = (column("PAPI_TOT_INS"), column("PAPI_TOT_CYC"));
    let ipc = ins.zip(cyc).and_then(|(ins, cyc)| sums(ins, cyc, own.iter().copied()));
    let instructions = ins.and_then(|ins| {
        let values: Vec<f64> =
            own.iter().map(|&burst| ins[burst as usize]).filter(|v| v.is_finite()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64 * count)
    });
    let offset = followed.offsets[at];
    let centroid = followed.dimensions.iter().zip(&followed.columns).map(|(one, column)| {
        mean(own.iter().map(|&burst| column[offset + burst as usize]), one.spacing)
    });
    let scores = clusters.iter().filter_map(|&label| {
        let place = label as usize - 1;
        Some((
            (*clustered.score.clusters.get(place)?)?,
            clustered.clustering.clusters.get(place)?.weight,
        ))
    });
    let (score, weight) =
        scores.fold((0.0, 0.0), |sum, (score, weight)| (sum.0 + score * weight, sum.1 + weight));
    let timed = all > 0.0;
    let one = ObjectFrame {
        points: own.len() as u64,
        time_ns: time,
        time_share: timed.then(|| time / all),
        mean_duration_ns: (timed && count > 0.0).then(|| time / count),
        centroid: centroid.collect(),
        ipc: ipc.map(|(ins, cyc)| ins / cyc),
        instructions,
        spmd_score: (weight > 0.0).then(|| score / weight),
        clusters,
    };
    let site = site_of(bursts, &Names::from_trace(frame.trace), own);
    (one, site)
}

/// Objects whose clusters merge with those of another one, which names them from then on.
fn joins(followed: &Followed) -> BTreeMap<u32, u32> {
    let steps = &followed.steps;
    let mut found = BTreeMap::new();
    for now in 1..steps.len() {
        let object = |at: usize, label: &Label| steps[at].objects.get(label.place()?).copied();
        for one in steps[now].comparison.iter().flat_map(|comparison| &comparison.matches) {
            let Some(name) = one.after.first().and_then(|label| object(now, label)) else {
                continue;
            };
            // Missing objects may come back.
            let is_over = |old: &u32| steps[now..].iter().all(|step| !step.objects.contains(old));
            let merged = one.before.iter().filter_map(|label| object(now - 1, label));
            found.extend(merged.filter(is_over).map(|merged| (merged, name)));
        }
    }
    found
}

/// Frames of an object, if it is not in all, and the object that it becomes a part of.
fn presence(object: &ObjectData, data: &TrackData) -> String {
    let joins = object.joins.map_or_else(String::new, |id| format!(", then a part of object {id}"));
    let there: Vec<&str> = data
        .frames
        .iter()
        .zip(&object.frames)
        .filter(|(_, one)| one.is_some())
        .map(|(frame, _)| frame.name.as_str())
        .collect();
    match there[..] {
        _ if there.len() == data.frames.len() => String::new(),
        [one] if joins.is_empty() => format!(", only in {one}"),
        [one] => format!(", in {one}{joins}"),
        _ => format!(", in {} of {}{joins}", there.len(), data.frames.len()),
    }
}

fn findings(data: &TrackData) -> Vec<String> {
    let mut out = Vec::new();
    let frames = data.frames.len();
    let everywhere: Vec<&ObjectData> =
        data.objects.iter().filter(|one| one.frames.iter().all(Option::is_some)).collect();
    let what = if data.of == "windows" { "windows" } else { "runs" };
    if everywhere.is_empty() {
        let most =
            data.objects.iter().map(|one| one.frames.iter().flatten().count()).max().unwrap_or(0);
        out.push(format!(
            "No kind of computation is in all {frames} {what}; the most common is in {most}."
        ));
    } else {
        // With the objects that become a part of them.
        let is_same = |one: &ObjectData| {
            let same = |id: u32| everywhere.iter().any(|one| one.id == id);
            same(one.id) || one.joins.is_some_and(same)
        };
        let of_frame = |at: usize| -> f64 {
            let same = data.objects.iter().filter(|one| is_same(one));
            same.filter_map(|one| one.frames[at].as_ref()?.time_share).sum()
        };
        let shares: Vec<f64> = (0..frames).map(of_frame).collect();
        let least = shares.iter().copied().fold(1.0, f64::min);
        let most = shares.iter().copied().fold(0.0, f64::max);
        let (noun, verb) = if everywhere.len() == 1 { ("kind", "is") } else { ("kinds", "are") };
        let span = if percent(least) == percent(most) {
            percent(most)
        } else {
            format!("{} to {}", percent(least), percent(most))
        };
        let all = if frames == 2 { "both".to_owned() } else { format!("all {frames}") };
        out.push(format!("{} {noun} of computation {verb} the same in {all} {what}: {span} of the time that was clustered.", everywhere.len()));
    }
    let arrow = |values: Vec<String>| {
        if values.len() <= 5 {
            values.join(" → ")
        } else {
            format!("{} → ... → {}", values[..2].join(" → "), values[values.len() - 1])
        }
    };
    for object in data.objects.iter().take(3) {
        let each = |value: &dyn Fn(&ObjectFrame) -> Option<String>| {
            arrow(
                object
                    .frames
                    .iter()
                    .flatten()
                    .map(|one| value(one).unwrap_or_else(|| "-".to_owned()))
                    .collect(),
            )
        };
        let place = object.site.as_ref().map_or_else(String::new, |site| {
            format!(" ({})", if site.line.is_empty() { &site.function } else { &site.line })
        });
        let ipc = object.frames.iter().flatten().any(|one| one.ipc.is_some());
        let ipc = if ipc {
            format!("; IPC {}", each(&|one| one.ipc.map(|ipc| format!("{ipc:.2}"))))
        } else {
            String::new()
        };
        out.push(format!(
            "Object {}{place}{}: {} of the time; mean duration {}{ipc}.",
            object.id,
            presence(object, data),
            each(&|one| one.time_share.map(percent)),
            each(&|one| one.mean_duration_ns.map(|mean| talea_model::units::si(mean, "ns")))
        ));
    }
    if let Some(first) = data.frames.iter().find(|frame| frame.is_stable) {
        out.push(format!(
            "Clusters are stable from frame {} on: three equivalent ones in a row.",
            first.name
        ));
    }
    let lowered = data.frames.iter().map(|frame| frame.lowered).max().unwrap_or_default();
    if lowered > 0 {
        let [margin, share, _] = data.frames.last().map_or([0.0; 3], |frame| frame.requisites);
        out.push(format!(
            "Conditions of a match were relaxed {}, to a margin of {} and {} of the time: stricter ones were not met.",
            if lowered == 1 { "once".to_owned() } else { format!("{lowered} times") },
            percent(margin), percent(share)
        ));
    }
    out
}

//! From "holds in this frame" to "held from here to there".
//!
//! Owns the definition of lasting, so that no finding flickers: short breaks are bridged, short
//! stretches are dropped.

use talea_model::Nanos;

use super::extent::Span;
use super::inputs::Input;
use crate::objects::ObjectId;

/// Minimum number of frames of a stretch: one or two may be an accident of sampling.
pub(super) const LEAST_FRAMES: usize = 3;
/// Minimum share of the recording: a shorter stretch is not worth a sentence.
pub(super) const LEAST_SHARE: f64 = 0.02;
/// Maximum number of frames of a break that does not end a stretch.
pub(super) const BRIDGE: usize = 2;
/// Stretches of two objects that share this part of the shorter one are one finding.
const TOGETHER: f64 = 0.5;

/// The longest stretch of an object, from a figure for each frame in which the finding holds;
/// `None` if nothing lasted.
pub(super) fn longest(input: &Input<'_>, object: ObjectId, holds: &[Option<f64>]) -> Option<Span> {
    let mut stretches: Vec<std::ops::Range<usize>> = Vec::new();
    for at in (0..holds.len()).filter(|&at| holds[at].is_some()) {
        match stretches.last_mut() {
            Some(last) if at - last.end <= BRIDGE => last.end = at + 1,
            _ => stretches.push(at..at + 1),
        }
    }
    let whole = input.total.0.max(1) as f64;
    let lasts = |frames: &std::ops::Range<usize>| {
        let held = holds[frames.clone()].iter().flatten().count();
        let (from, to) = input.times(frames);
        held >= LEAST_FRAMES && (to - from).0 as f64 >= LEAST_SHARE * whole
    };
    stretches.retain(lasts);
    let length = |frames: &std::ops::Range<usize>| {
        let (from, to) = input.times(frames);
        to - from
    };
    let all: Nanos = stretches.iter().map(length).sum();
    let best = stretches.into_iter().rev().max_by_key(length)?;
    let figures = holds[best.clone()].iter().flatten();
    let figure = figures.clone().sum::<f64>() / figures.count() as f64;
    Some(Span {
        objects: vec![object],
        frames: best,
        share: (all.0 as f64 / whole).min(1.0),
        figure,
    })
}

/// Objects whose stretches lie together become one finding.
pub(super) fn together(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.frames.start, span.objects.first().copied()));
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        let near = out.iter_mut().find(|one| {
            let from = one.frames.start.max(span.frames.start);
            let to = one.frames.end.min(span.frames.end);
            let shorter = one.frames.len().min(span.frames.len());
            to > from && (to - from) as f64 >= TOGETHER * shorter as f64
        });
        let Some(one) = near else {
            out.push(span);
            continue;
        };
        one.objects.extend(span.objects);
        one.frames = one.frames.start.min(span.frames.start)..one.frames.end.max(span.frames.end);
        one.share = one.share.max(span.share);
        one.figure = one.figure.max(span.figure);
    }
    for span in &mut out {
        span.objects.sort_unstable();
        span.objects.dedup();
    }
    out
}

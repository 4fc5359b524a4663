//! The packed times of one thread, in the form after the clock of their process.
//!
//! Owns their bytes: the number of events with times; since version 4 the holes between them; since
//! version 5 the durations of iterations, where a reader of the rings noted them (packed with the
//! holes since version 6); since version 3 the form of the packed cells; these; in long streams the
//! places from which they can be read; where there are holes the extremes of each node; and packed
//! for each node the difference of its exact sums from those of its restored times, or, where times
//! were not kept, sums and extremes of each node.

use talea_flow::codec::times::{self, Form};
use talea_flow::history::Group;
use talea_flow::log::ThreadLog;
use talea_flow::times::Quantiser;

use crate::live::cells::cell;
use crate::live::history::get_history;
use crate::live::layout::TimesMode;
use crate::live::numbers::{Cursor, put_number};
use crate::live::read::NodeSums;
use crate::recording::holes::{Hole, Holes, get_holes};
use crate::recording::restarts::{Restart, put_restarts};
use crate::recording::{Coding, Times};

use super::series::{get_series, put_series};
use talea_model::{Nanos, NodeId};

/// Versions of bundles from which on times say their form, have holes, have the durations of
/// iterations, and have both packed.
const WITH_FORMS: u64 = 3;
const WITH_HOLES: u64 = 4;
const WITH_HISTORY: u64 = 5;
const WITH_SERIES: u64 = 6;

/// Times of a thread in the recorder's form.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedTimes<'a> {
    /// Gap and duration of each event that has them.
    pub(super) bytes: &'a [u8],
    /// Events without.
    pub(super) holes: &'a [Hole],
    /// Durations of iterations.
    pub(super) history: &'a [Group],
}

/// Packs the times of a thread.
pub(super) fn pack_times(
    log: &ThreadLog,
    live: &RecordedTimes<'_>,
    sums: &[NodeSums],
    mode: TimesMode,
    quantiser: &Quantiser,
) -> Vec<u8> {
    let mut from = Cursor::new(live.bytes);
    let (mut walk, mut holes) = (log.walk(), Holes::new(live.holes));
    let mut kept = 0_u64;
    let mut restored = vec![[0_u64; 2]; log.nodes.len()];
    let mut restarts = Vec::new();
    let form = Form::for_events(log.events);
    let packed = match mode {
        TimesMode::Statistics => Vec::new(),
        TimesMode::Exact => {
            let mut encoder = times::exact::Encoder::new();
            while let Some((node, edge)) = holes.next_timed(&mut walk) {
                let (Some(gap), Some(duration)) = (from.number(), from.number()) else { break };
                encoder.push(edge.map_or(0, |e| e + 1), gap, node.0, duration);
                let sums = &mut restored[node.0 as usize];
                sums[0] = sums[0].wrapping_add(gap);
                sums[1] = sums[1].wrapping_add(duration);
                kept += 1;
            }
            encoder.finish()
        }
        TimesMode::Bounded => {
            let mut encoder = times::Encoder::new(form, |index| quantiser.extra_bits(index));
            let (mut visits, mut last, mut end) = (vec![0; log.nodes.len()], NodeId(0), 0_u64);
            while let Some((node, edge)) = holes.next_timed(&mut walk) {
                let (Some(gap), Some(duration)) =
                    (cell(&mut from, quantiser), cell(&mut from, quantiser))
                else {
                    break;
                };
                let edge = edge.map_or(0, |e| e + 1);
                if let Some(offset) = encoder.push(edge, gap, node.0, duration) {
                    restarts.push(Restart { offset, end, last, visits: visits.clone() });
                }
                let times = [gap, duration].map(|cell| quantiser.restore(cell).0);
                let sums = &mut restored[node.0 as usize];
                for (sum, time) in sums.iter_mut().zip(times) {
                    *sum = sum.wrapping_add(time);
                    end = end.saturating_add(time);
                }
                visits[node.0 as usize] += 1;
                last = node;
                kept += 1;
            }
            encoder.finish()
        }
    };
    // Reading begins in the middle of whole streams only.
    if !live.holes.is_empty() {
        restarts.clear();
    }
    let mut out = Vec::new();
    put_number(&mut out, kept);
    put_series(&mut out, live.holes, live.history);
    put_number(&mut out, form.number());
    put_number(&mut out, packed.len() as u64);
    out.extend_from_slice(&packed);
    if form == Form::Symbols {
        let mut places = Vec::new();
        put_restarts(&mut places, &restarts);
        put_number(&mut out, places.len() as u64);
        out.extend_from_slice(&places);
    }
    if mode == TimesMode::Statistics {
        for sums in sums {
            for number in [sums.gap, sums.duration, sums.min, sums.max] {
                put_number(&mut out, number);
            }
        }
        return out;
    }
    if !live.holes.is_empty() {
        put_extremes(&mut out, sums);
    }
    let mut encoder = times::sums::Encoder::default();
    for ((node, sums), restored) in log.nodes.iter().zip(sums).zip(restored) {
        let expected =
            restored.map(|sum| quantiser.bound().tolerance_of_sum(Nanos(sum), node.visits).0);
        let missing = [sums.gap.wrapping_sub(restored[0]), sums.duration.wrapping_sub(restored[1])];
        encoder.push(expected, missing.map(|sum| sum as i64));
    }
    out.extend_from_slice(&encoder.finish());
    out
}

/// Minimum and maximum of the durations of each node: not all of these are kept.
fn put_extremes(out: &mut Vec<u8>, sums: &[NodeSums]) {
    put_number(out, sums.len() as u64);
    for sums in sums {
        put_number(out, sums.min);
        put_number(out, sums.max.saturating_sub(sums.min));
    }
}

fn get_extremes(from: &mut Cursor<'_>) -> Option<Vec<[u64; 2]>> {
    let count = from.number()?;
    let mut extremes = Vec::new();
    for _ in 0..count {
        let min = from.number()?;
        extremes.push([min, min.checked_add(from.number()?)?]);
    }
    Some(extremes)
}

/// Packed cells and everything after them, in the form of a version of bundles.
pub(super) fn read_times(from: &mut Cursor<'_>, version: u64) -> Option<Times> {
    let kept = from.number()?;
    let (holes, history) = match version {
        WITH_SERIES.. => get_series(from)?,
        WITH_HISTORY => (get_holes(from)?, get_history(from)?),
        WITH_HOLES => (get_holes(from)?, Vec::new()),
        _ => (Vec::new(), Vec::new()),
    };
    let has_form = version >= WITH_FORMS;
    let form = if has_form { Form::from_number(from.number()?)? } else { Form::Bits };
    let length = usize::try_from(from.number()?).ok()?;
    let cells = from.take(length)?.to_vec();
    let restarts = match form {
        Form::Bits => Vec::new(),
        Form::Symbols => {
            let length = usize::try_from(from.number()?).ok()?;
            from.take(length)?.to_vec()
        }
    };
    let mut rest = *from;
    let extremes = if holes.is_empty() { Vec::new() } else { get_extremes(&mut rest)? };
    let corrections = rest.take(rest.left())?.to_vec();
    Some(Times {
        kept,
        holes,
        history,
        extremes,
        coding: Coding::Packed(form),
        cells,
        restarts,
        corrections,
        sums: Vec::new(),
    })
}

/// Sums and extremes of a node whose times were not kept.
pub(super) fn get_sums(from: &mut Cursor<'_>) -> Option<NodeSums> {
    let (gap, duration) = (from.number()?, from.number()?);
    Some(NodeSums { gap, duration, min: from.number()?, max: from.number()? })
}

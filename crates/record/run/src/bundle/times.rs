//! The packed times of one thread, in the form after the clock of their process.
//!
//! Owns their bytes: the number of events with times; since version 3 the form of the packed cells;
//! these; in long streams the places from which they can be read; and packed for each node the
//! difference of its exact sums from those of its restored times, or, where times were not kept,
//! sums and extremes of each node.

use talea_flow::codec::times::{self, Form};
use talea_flow::log::ThreadLog;
use talea_flow::times::Quantiser;

use crate::live::cells::cell;
use crate::live::layout::TimesMode;
use crate::live::numbers::{Cursor, put_number};
use crate::live::read::NodeSums;
use crate::recording::restarts::{Restart, put_restarts};
use crate::recording::{Coding, Times};
use talea_model::{Nanos, NodeId};

/// Packs the times of a thread.
pub(super) fn pack_times(
    log: &ThreadLog,
    live: &[u8],
    sums: &[NodeSums],
    mode: TimesMode,
    quantiser: &Quantiser,
) -> Vec<u8> {
    let mut from = Cursor::new(live);
    let mut walk = log.walk();
    let mut kept = 0_u64;
    let mut restored = vec![[0_u64; 2]; log.nodes.len()];
    let mut restarts = Vec::new();
    let form = Form::for_events(log.events);
    let packed = match mode {
        TimesMode::Statistics => Vec::new(),
        TimesMode::Exact => {
            let mut encoder = times::exact::Encoder::new();
            while let Some((node, edge)) = walk.next_step() {
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
            while let Some((node, edge)) = walk.next_step() {
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
    let mut out = Vec::new();
    put_number(&mut out, kept);
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

/// Packed cells, which say their form or are of an earlier version, and everything after them.
pub(super) fn read_times(from: &mut Cursor<'_>, has_form: bool) -> Option<Times> {
    let kept = from.number()?;
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
    let corrections = rest.take(rest.left())?.to_vec();
    Some(Times {
        kept,
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

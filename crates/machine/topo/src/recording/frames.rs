//! Frames as bytes: some hundred at a time, column by column.
//!
//! Owns the form of a block of frames: counts first, then a column each for time, span and phase,
//! then one for each object of each monitor. A column of whole numbers is differences as LEB128,
//! any other the bits of its numbers, each xored with the one before; absent values have a column
//! of runs. All of it is packed with zstd.

use talea_model::Nanos;
use talea_run::live::numbers::{Cursor, put_number, put_signed};
use talea_topology::Frame;

use super::words_of_frame;

/// Frames are packed fast rather than small: this runs beside the program.
const LEVEL: i32 = 1;
/// Most bytes that a block may unfold to.
const MOST_BYTES: usize = 1 << 28;
/// Whole numbers below this are kept as such without loss.
const WHOLE: f64 = 9e15;

/// Packs frames whose monitors have so many objects each.
pub(super) fn pack(frames: &[Frame], widths: &[usize]) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    put_number(&mut out, frames.len() as u64);
    put_number(&mut out, widths.len() as u64);
    for &width in widths {
        put_number(&mut out, width as u64);
    }
    let mut last = 0;
    for frame in frames {
        put_number(&mut out, frame.at.0.wrapping_sub(last));
        last = frame.at.0;
    }
    for frame in frames {
        put_number(&mut out, frame.span.0);
    }
    for frame in frames {
        put_number(&mut out, u64::from(frame.phase));
    }
    for (monitor, &width) in widths.iter().enumerate() {
        for object in 0..width {
            let value = |frame: &Frame| {
                let values = frame.values.get(monitor);
                values.and_then(|values| values.get(object)).copied().unwrap_or(f64::NAN)
            };
            put_column(&mut out, &frames.iter().map(value));
        }
    }
    zstd::bulk::compress(&out, LEVEL)
}

fn put_column(out: &mut Vec<u8>, values: &(impl Iterator<Item = f64> + Clone)) {
    let present = || values.clone().filter(|value| !value.is_nan());
    let absent = values.clone().count() - present().count();
    // Minus zero would not come back as it was.
    let is_whole =
        |v: f64| v.fract() == 0.0 && v.abs() < WHOLE && !(v == 0.0 && v.is_sign_negative());
    let whole = present().all(is_whole);
    out.push(u8::from(whole) | u8::from(absent > 0) << 1);
    if absent > 0 {
        put_runs(out, values.clone().map(f64::is_nan));
    }
    if whole {
        let mut last = 0_i64;
        for value in present() {
            put_signed(out, (value as i64).wrapping_sub(last));
            last = value as i64;
        }
    } else {
        let mut last = 0;
        for value in present() {
            out.extend((value.to_bits() ^ last).to_le_bytes());
            last = value.to_bits();
        }
    }
}

/// Lengths of runs, in turn of `false` and `true`.
fn put_runs(out: &mut Vec<u8>, flags: impl Iterator<Item = bool>) {
    let (mut flag, mut length) = (false, 0);
    for next in flags {
        if next != flag {
            put_number(out, length);
            (flag, length) = (next, 0);
        }
        length += 1;
    }
    put_number(out, length);
}

/// Unpacks frames of `room` words at most, which become less; none, and no room, if they are more.
/// None if the bytes mean nothing.
pub(super) fn unpack(bytes: &[u8], widths: &[usize], room: &mut u64) -> Option<Vec<Frame>> {
    let bytes =
        zstd::bulk::decompress(bytes, MOST_BYTES.min(bytes.len().saturating_mul(1 << 14))).ok()?;
    let mut from = Cursor::new(&bytes);
    // Each frame has three numbers at least.
    let count = usize::try_from(from.number()?).ok().filter(|&count| count <= from.left())?;
    let same = |from: &mut Cursor<'_>, width: usize| from.number() == Some(width as u64);
    if !same(&mut from, widths.len()) || !widths.iter().all(|&width| same(&mut from, width)) {
        return None;
    }
    let words = (count as u64).saturating_mul(words_of_frame(widths));
    let Some(left) = room.checked_sub(words) else {
        *room = 0;
        return None;
    };
    *room = left;
    let mut at = 0_u64;
    let mut frames = Vec::with_capacity(count);
    for _ in 0..count {
        at = at.wrapping_add(from.number()?);
        frames.push(Frame { at: Nanos(at), ..Frame::default() });
    }
    for frame in &mut frames {
        frame.span = Nanos(from.number()?);
    }
    for frame in &mut frames {
        frame.phase = u32::try_from(from.number()?).ok()?;
        frame.values = widths.iter().map(|&width| vec![f64::NAN; width]).collect();
    }
    for (monitor, &width) in widths.iter().enumerate() {
        for object in 0..width {
            let form = from.byte()?;
            let absent = if form & 2 == 0 { vec![false; count] } else { runs(&mut from, count)? };
            let (mut whole, mut bits) = (0_i64, 0_u64);
            for (frame, _) in frames.iter_mut().zip(absent).filter(|(_, absent)| !absent) {
                frame.values[monitor][object] = if form & 1 == 1 {
                    whole = whole.wrapping_add(from.signed()?);
                    whole as f64
                } else {
                    bits ^= u64::from_le_bytes(from.take(8)?.try_into().ok()?);
                    f64::from_bits(bits)
                };
            }
        }
    }
    from.is_done().then_some(frames)
}

fn runs(from: &mut Cursor<'_>, count: usize) -> Option<Vec<bool>> {
    let mut flags = Vec::new();
    let mut flag = false;
    while flags.len() < count {
        let length = usize::try_from(from.number()?).ok()?;
        // The first run may be empty, no other.
        if length > count - flags.len() || length == 0 && !flags.is_empty() {
            return None;
        }
        flags.resize(flags.len() + length, flag);
        flag = !flag;
    }
    Some(flags)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same where absent is equal to absent.
    fn same(a: &[Frame], b: &[Frame]) -> bool {
        let bits = |frame: &Frame| -> Vec<Vec<u64>> {
            let one = |v: &f64| if v.is_nan() { 1 } else { v.to_bits() };
            frame.values.iter().map(|values| values.iter().map(one).collect()).collect()
        };
        let equal = |(a, b): (&Frame, &Frame)| {
            (a.at, a.span, a.phase) == (b.at, b.span, b.phase) && bits(a) == bits(b)
        };
        a.len() == b.len() && a.iter().zip(b).all(equal)
    }

    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => (0..2000_i64).prop_map(|v| v as f64),
            1 => any::<f64>(),
            1 => Just(f64::NAN),
            1 => prop_oneof![Just(-0.0), Just(f64::INFINITY), Just(9e15), Just(-9e15)],
        ]
    }

    fn frames() -> impl Strategy<Value = (Vec<usize>, Vec<Frame>)> {
        prop::collection::vec(0..5_usize, 0..4).prop_flat_map(|widths| {
            let values: Vec<_> =
                widths.iter().map(|&width| prop::collection::vec(value(), width)).collect();
            let frame = (any::<u64>(), any::<u64>(), any::<u32>(), values).prop_map(
                |(at, span, phase, values)| Frame {
                    at: Nanos(at),
                    span: Nanos(span),
                    phase,
                    values,
                },
            );
            (Just(widths), prop::collection::vec(frame, 0..30))
        })
    }

    proptest! {
        #[test]
        fn frames_come_back((widths, frames) in frames()) {
            let bytes = pack(&frames, &widths).unwrap();
            let found = unpack(&bytes, &widths, &mut 10_000).unwrap();
            prop_assert!(same(&found, &frames), "{:?} {:?}", found, frames);
        }

        #[test]
        fn frames_take_no_more_room_than_there_is(
            (widths, frames) in frames(),
            room in 0..3000_u64
        ) {
            let bytes = pack(&frames, &widths).unwrap();
            let needed = frames.len() as u64 * words_of_frame(&widths);
            let mut left = room;
            let found = unpack(&bytes, &widths, &mut left);
            prop_assert_eq!(found.is_some(), needed <= room);
            prop_assert_eq!(
                left,
                room.saturating_sub(needed).min(if needed <= room { room } else { 0 })
            );
        }

        #[test]
        fn any_bytes_are_frames_or_refused(
            content in prop::collection::vec(any::<u8>(), 0..200),
            widths in prop::collection::vec(0..5_usize, 0..4),
        ) {
            let _ = unpack(&content, &widths, &mut 10_000);
            let _ = unpack(&zstd::bulk::compress(&content, 1).unwrap(), &widths, &mut 10_000);
        }
    }
}

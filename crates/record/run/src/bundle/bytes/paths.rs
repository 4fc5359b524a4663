//! Call paths as bytes.
//!
//! Owns their format: a path shares its outermost frames with the one before it, as is usual, and
//! has its own ones in full.

use crate::limits::{MOST_FRAMES, MOST_FRAMES_IN_ALL};
use crate::live::numbers::{Cursor, get_all, put_number};

type Frame = (u32, u64);

fn put_frame(out: &mut Vec<u8>, &(module, offset): &Frame) {
    put_number(out, u64::from(module.wrapping_add(1)));
    put_number(out, offset);
}

fn get_frame(from: &mut Cursor<'_>) -> Option<Frame> {
    Some(((from.number()? as u32).wrapping_sub(1), from.number()?))
}

pub(super) fn put(out: &mut Vec<u8>, paths: &[Vec<Frame>]) {
    put_number(out, paths.len() as u64);
    let mut before: &[Frame] = &[];
    for path in paths {
        let same = |(a, b): &(&Frame, &Frame)| a == b;
        let shared = path.iter().rev().zip(before.iter().rev()).take_while(same).count();
        put_number(out, shared as u64);
        let own = &path[..path.len() - shared];
        put_number(out, own.len() as u64);
        for frame in own {
            put_frame(out, frame);
        }
        before = path;
    }
}

/// The paths of a bundle of this version; in the first each had all of its frames.
pub(super) fn get(from: &mut Cursor<'_>, version: u64) -> Option<Vec<Vec<Frame>>> {
    if version == 1 {
        return get_all(from, |from| get_all(from, get_frame));
    }
    let mut before: Vec<Frame> = Vec::new();
    let mut left = MOST_FRAMES_IN_ALL;
    get_all(from, |from| {
        let shared = usize::try_from(from.number()?).ok()?;
        let begin = before.len().checked_sub(shared)?;
        let mut path = get_all(from, get_frame)?;
        if path.len() + shared > MOST_FRAMES {
            return None;
        }
        path.extend_from_slice(&before[begin..]);
        left = left.checked_sub(path.len())?;
        before.clone_from(&path);
        Some(path)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn paths_come_back(paths in prop::collection::vec(
            prop::collection::vec((0..3_u32, 0..4_u64), 0..6), 0..20)) {
            let mut out = Vec::new();
            put(&mut out, &paths);
            prop_assert_eq!(get(&mut Cursor::new(&out), 2), Some(paths));
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = get(&mut Cursor::new(&bytes), 2);
        }
    }
}

//! Durations of the iterations of a thread whose times are mostly not kept.
//!
//! Owns their bytes, in the file of kept times and in traces: groups of neighbours in the order of
//! time, each with begin, count, sum, minimum and maximum. Begins are in nominal nanoseconds since
//! the process's start. Nothing of them is trusted.

use talea_flow::history::Group;
use talea_model::Nanos;

use super::numbers::{Cursor, put_number};

/// Appends groups.
pub(crate) fn put_history(out: &mut Vec<u8>, groups: &[Group]) {
    put_number(out, groups.len() as u64);
    let mut before = 0;
    for group in groups {
        let (begin, min, max) = (group.begin.0, group.min.0, group.max.0);
        put_number(out, begin.saturating_sub(before));
        put_number(out, group.count);
        put_number(out, group.sum.0);
        put_number(out, min);
        put_number(out, max.saturating_sub(min));
        before = begin.max(before);
    }
}

/// Reads groups; `None` where the bytes are malformed.
pub(crate) fn get_history(from: &mut Cursor<'_>) -> Option<Vec<Group>> {
    let count = from.number()?;
    let mut groups = Vec::new();
    let mut begin = 0_u64;
    for _ in 0..count {
        begin = begin.checked_add(from.number()?)?;
        let (count, sum, min) = (from.number()?, from.number()?, from.number()?);
        let max = min.checked_add(from.number()?)?;
        let [begin, sum, min, max] = [begin, sum, min, max].map(Nanos);
        groups.push(Group { begin, count, sum, min, max });
    }
    groups.iter().all(|group| group.count > 0).then_some(groups)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_flow::history::History;

    use super::*;

    proptest! {
        #[test]
        fn histories_come_back(
            durations in prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 50), 0..50),
        ) {
            let (mut history, mut now) = (History::new(16), 0);
            for &(gap, duration) in &durations {
                history.push(Nanos(now + gap), Nanos(duration));
                now += gap + duration;
            }
            let mut bytes = Vec::new();
            put_history(&mut bytes, history.groups());
            let mut from = Cursor::new(&bytes);
            let found = get_history(&mut from);
            prop_assert_eq!(found.as_deref(), Some(history.groups()));
            prop_assert!(from.is_done());
            for end in 0..bytes.len() {
                prop_assert_eq!(get_history(&mut Cursor::new(&bytes[..end])), None);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            for group in get_history(&mut Cursor::new(&bytes)).into_iter().flatten() {
                prop_assert!(group.count > 0 && group.min <= group.max);
            }
        }
    }
}

//! How much a counter grew between two totals.
//!
//! Owns what makes a difference a lie: a counter that is full, one that somebody reset, and one that wrapped, which is told from a reset by how far it would have gone.
//! Of a counter that wraps, more than half of the range in one step is not believed.

use talea_model::{GapKind, Gaps};

use super::{Counter, Full, Reading};
use crate::source::gap;

/// The steps between two totals of a counter; none, with a gap, where they cannot be known. `port` is for the gap.
pub fn grown(
    counter: &Counter,
    port: &str,
    before: Reading,
    after: Reading,
    gaps: &mut Gaps,
) -> Option<u64> {
    let most = counter.most();
    let mut refuse = |kind, why: &str| {
        gaps.note(gap(kind, format!("counter `{}` of port `{port}` {why}", counter.name)));
        None
    };
    if counter.full == Full::Saturates && after.value == most {
        return refuse(GapKind::Missing, "is full: what came since is not counted");
    }
    if let Some(more) = after.value.checked_sub(before.value) {
        return Some(more);
    }
    let more = after.value.wrapping_sub(before.value) & most;
    if counter.full == Full::Wraps && more <= most / 2 {
        return Some(more);
    }
    refuse(GapKind::Missing, "went back: somebody reset it")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_model::Nanos;

    use super::super::{Role, Unit};
    use super::*;

    fn counter(bits: u8, full: Full) -> Counter {
        Counter { name: "data".to_owned(), role: Role::Sent, unit: Unit::Bytes(4), bits, full }
    }

    fn grown_by(counter: &Counter, before: u64, after: u64) -> (Option<u64>, usize) {
        let mut gaps = Gaps::default();
        let [before, after] = [before, after].map(|value| Reading { at: Nanos(0), value });
        let by = grown(counter, "p", before, after, &mut gaps);
        (by, gaps.iter().count())
    }

    #[test]
    fn what_is_no_growth() {
        let narrow = counter(32, Full::Saturates);
        assert_eq!(grown_by(&narrow, 5, 7), (Some(2), 0));
        assert_eq!(grown_by(&narrow, 5, u64::from(u32::MAX)), (None, 1));
        assert_eq!(grown_by(&narrow, 7, 5), (None, 1));
        let gemini = counter(48, Full::Wraps);
        assert_eq!(grown_by(&gemini, 281_474_976_710_655, 4), (Some(5), 0));
        assert_eq!(grown_by(&gemini, 1 << 20, 4), (None, 1));
        let cassini = counter(56, Full::Wraps);
        assert_eq!(grown_by(&cassini, (1 << 56) - 2, 3), (Some(5), 0));
        let whole = counter(64, Full::Wraps);
        assert_eq!(grown_by(&whole, u64::MAX, 0), (Some(1), 0));
        assert_eq!(grown_by(&whole, 1000, 0), (None, 1));
    }

    proptest! {
        #[test]
        fn a_wrap_is_seen_through(bits in 2_u8..=64, before: u64, by: u64) {
            let counter = counter(bits, Full::Wraps);
            let before = before & counter.most();
            let by = by & (counter.most() / 2);
            let after = before.wrapping_add(by) & counter.most();
            prop_assert_eq!(grown_by(&counter, before, after), (Some(by), 0));
        }
    }
}

//! Classes of the times just before a time.
//!
//! Owns three classes of times and the memory of odd indices. All is one number: a processor waits
//! where it loads what it has stored in parts.

/// Twice the class of a time: below, near or above the median of its context.
pub(super) const BELOW: u8 = 0;
pub(super) const NEAR: u8 = 2;
pub(super) const ABOVE: u8 = 4;

/// Contexts that [`Before::context`] tells apart, with 18 for the two classes of the caller.
pub(super) const CONTEXTS: usize = 9 * 18;
/// Groups of these contexts.
pub(super) const GROUPS: usize = 6;

/// The two times just before, and the parities of the last eight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before(u64);

impl Before {
    /// At the begin of a stream.
    pub(super) const NOTHING: Self = Self::new([NEAR; 2], 0);

    /// After times of these classes, the latest one last.
    #[inline]
    const fn new([earlier, last]: [u8; 2], parities: u8) -> Self {
        let recent = (parities != 0) as u64;
        let (earlier, last) = (earlier as u64, last as u64);
        let (context, group) = (earlier * 27 + last * 9 + recent, last + recent);
        Self(context | group << 8 | recent << 16 | last << 24 | (parities as u64) << 32)
    }

    /// After one more time.
    #[inline]
    pub(super) const fn then(self, class: u8, is_odd: bool) -> Self {
        let parities = (self.0 >> 32) as u8;
        Self::new([(self.0 >> 24) as u8, class], parities << 1 | is_odd as u8)
    }

    /// 1 if an odd index is among the last eight, else 0.
    #[inline]
    pub(super) const fn recent(self) -> usize {
        (self.0 >> 16) as usize & 1
    }

    /// Number below [`CONTEXTS`] after a context's own last two times, the latest one first.
    #[inline]
    pub(super) const fn context(self, [last, earlier]: [u8; 2]) -> usize {
        (self.0 & 0xff) as usize + last as usize + 3 * earlier as usize
    }

    /// The context without the earlier time and without the context's own.
    #[inline]
    pub(super) const fn group(self) -> usize {
        (self.0 >> 8) as usize & 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_all_different() {
        let classes = [BELOW, NEAR, ABOVE];
        let mut seen = std::collections::BTreeSet::new();
        for (earlier, last) in classes.into_iter().flat_map(|a| classes.map(|b| (a, b))) {
            for is_odd in [false, true] {
                let before = Before::NOTHING.then(earlier, false).then(last, is_odd);
                assert!(before.group() < GROUPS && before.recent() == usize::from(is_odd));
                for own in classes.into_iter().flat_map(|a| classes.map(|b| [a, b])) {
                    seen.insert(before.context(own));
                }
            }
        }
        assert_eq!(seen, (0..CONTEXTS).collect());
    }
}

//! Classes of the times just before a time.
//!
//! Owns the classes of two times and the memory of odd indices. All is one number: a processor
//! waits where it loads what it has stored in parts.

/// Class of a time: below, near or above the median of its context.
pub(super) const BELOW: u8 = 0;
pub(super) const NEAR: u8 = 1;
pub(super) const ABOVE: u8 = 2;

/// [`Before::context`] and [`Own::context`] are below these.
pub(super) const CONTEXTS: usize = 22;
pub(super) const OWN_CONTEXTS: usize = 11;

/// The two times just before, and the parities of the last eight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before(u32);

impl Before {
    /// At the begin of a stream.
    pub(super) const NOTHING: Self = Self((Own::NOTHING.0 as u32) << 8);

    /// After one more time.
    #[inline]
    pub(super) const fn then(self, class: u8, is_odd: bool) -> Self {
        let classes = Own((self.0 >> 8) as u8).then(class);
        let parities = (self.0 << 1 | is_odd as u32) & 0xff;
        Self((classes.0 as u32) << 8 | parities)
    }

    /// The classes, and whether an odd index is among the last eight.
    #[inline]
    pub(super) const fn context(self) -> usize {
        (self.0 >> 8 << 1 | (self.0 & 0xff != 0) as u32) as usize
    }
}

/// Classes of the last two times of a context.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own(u8);

impl Own {
    /// Of a new context.
    pub(super) const NOTHING: Self = Self(NEAR << 2 | NEAR);

    /// After one more time.
    #[inline]
    pub(super) const fn then(self, class: u8) -> Self {
        Self((self.0 << 2 | class) & 15)
    }

    /// The classes.
    #[inline]
    pub(super) const fn context(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_all_different() {
        let classes = [BELOW, NEAR, ABOVE];
        let (mut seen, mut own) = (std::collections::BTreeSet::new(), Vec::new());
        for (earlier, last) in classes.into_iter().flat_map(|a| classes.map(|b| (a, b))) {
            own.push(Own::NOTHING.then(earlier).then(last).context());
            for is_odd in [false, true] {
                let before = Before::NOTHING.then(ABOVE, is_odd).then(earlier, false);
                seen.insert(before.then(last, false).context());
            }
        }
        assert_eq!((seen.len(), seen.last()), (18, Some(&(CONTEXTS - 1))));
        assert!(own.is_sorted_by(|a, b| a < b) && own.last() == Some(&(OWN_CONTEXTS - 1)));
    }

    #[test]
    fn odd_indices_are_forgotten_after_eight_times() {
        let even = Before::NOTHING.context();
        let mut before = Before::NOTHING.then(NEAR, true);
        for _ in 0..7 {
            before = before.then(NEAR, false);
            assert_ne!(before.context(), even);
        }
        assert_eq!(before.then(NEAR, false).context(), even);
    }
}

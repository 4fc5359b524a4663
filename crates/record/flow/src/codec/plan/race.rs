//! Early termination of plans that fall behind.
//!
//! Owns the bytes that the best plan had written at some places of the stream, and the decision
//! when another one has too many more.

/// Places in a stream where plans are compared.
const STATIONS: u64 = 16;

/// Bytes that the best plan so far had written at some places of the stream, for giving up plans
/// that fall behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Race {
    best: Vec<usize>,
    own: Vec<usize>,
}

impl Race {
    /// Starts another plan.
    pub(super) fn start(&mut self) {
        self.own.clear();
    }

    /// Notes `bytes` for `done` of `all` values; true if that is too much to win.
    pub(super) fn is_lost(&mut self, done: u64, all: u64, bytes: usize) -> bool {
        if self.best.last().is_some_and(|&most| bytes > most) {
            return true;
        }
        // A legal stream of few runs may have nearly 2^64 values, and then no station after its
        // end.
        let reached = |station: usize| {
            let place = (station as u64 + 1).checked_mul(all.div_ceil(STATIONS));
            place.is_some_and(|place| place <= done)
        };
        while reached(self.own.len()) {
            let best = self.best.get(self.own.len());
            // Early learning pays later on.
            if best.is_some_and(|&best| bytes > best + best / 8 + 4) {
                return true;
            }
            self.own.push(bytes);
        }
        false
    }

    /// The plan has won with this many bytes.
    pub(super) fn finish(&mut self, bytes: usize) {
        self.own.push(bytes);
        self.best = std::mem::take(&mut self.own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn races_over_streams_of_any_length_end() {
        for all in [1, 15, 16, 17, u64::MAX / 16, u64::MAX - 1, u64::MAX] {
            let mut race = Race::default();
            assert!(!race.is_lost(all, all, 7));
            assert!((1..=STATIONS as usize).contains(&race.own.len()), "{all}: {:?}", race.own);
        }
    }
}

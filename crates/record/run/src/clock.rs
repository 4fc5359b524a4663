//! From raw ticks of a fast clock to nanoseconds of `CLOCK_MONOTONIC`.
//!
//! Owns the arithmetic: a piecewise-linear map through sync points, at which the two clocks were
//! read together. It reads no clock. It uses integers of 128 bits and rounds down, so that the map
//! is exact at the points and never decreases between them.

use talea_model::Nanos;

/// The two clocks, read as nearly at the same moment as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyncPoint {
    /// The raw clock.
    pub tick: u64,
    /// `CLOCK_MONOTONIC`.
    pub at: Nanos,
}

/// A map from ticks to nanoseconds that never decreases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockMap {
    /// At least two, strictly ascending in both clocks.
    points: Vec<SyncPoint>,
}

/// Error of sync points that do not make a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected at least 2 sync points at which both clocks advance, found {usable} of {given}")]
pub struct ClockError {
    /// Number of points given.
    pub given: usize,
    /// Number of points without those at which a clock stood still or went back.
    pub usable: usize,
}

impl ClockMap {
    /// A map through `points`, in any order.
    ///
    /// A point at which one of the clocks does not advance beyond the one before is left out: a
    /// process that moved to a socket with another counter, or damaged data.
    pub fn new(mut points: Vec<SyncPoint>) -> Result<Self, ClockError> {
        let given = points.len();
        points.sort_unstable();
        let mut usable: Vec<SyncPoint> = Vec::with_capacity(given);
        for point in points {
            if usable.last().is_none_or(|last| last.tick < point.tick && last.at < point.at) {
                usable.push(point);
            }
        }
        if usable.len() < 2 {
            return Err(ClockError { given, usable: usable.len() });
        }
        Ok(Self { points: usable })
    }

    /// The map of a clock whose ticks are nanoseconds already.
    pub fn identity() -> Self {
        let point = |t| SyncPoint { tick: t, at: Nanos(t) };
        Self { points: vec![point(0), point(u64::MAX)] }
    }

    /// The time of a tick.
    ///
    /// Outside the sync points the rate is that from the first to the last one, since over the
    /// longest time a reading error has the least weight. Times stop at 0 and at `u64::MAX`.
    pub fn nanos(&self, tick: u64) -> Nanos {
        let [a, b, origin] = self.line(tick);
        along(a, b, origin, tick)
    }

    /// Two points of the line of a tick, and the point from which to follow it.
    fn line(&self, tick: u64) -> [SyncPoint; 3] {
        let (first, last) = (self.points[0], self.points[self.points.len() - 1]);
        if tick < first.tick {
            return [first, last, first];
        }
        if tick >= last.tick {
            return [first, last, last];
        }
        let next = self.points.partition_point(|point| point.tick <= tick);
        [self.points[next - 1], self.points[next], self.points[next - 1]]
    }
}

/// A map for ticks that mostly ascend slowly: remembers the line of the last one, and multiplies by
/// a reciprocal instead of dividing.
#[derive(Clone, Debug)]
pub(crate) struct Hand<'a> {
    map: &'a ClockMap,
    /// Ticks from which on, and below which, the line holds.
    from: u64,
    to: u64,
    line: [SyncPoint; 3],
    /// Nanoseconds and ticks from the line's first point to its second.
    slope: (u64, u64),
    /// 2^64 divided by the ticks of `slope`, rounded down, or one less than that.
    reciprocal: u64,
}

impl<'a> Hand<'a> {
    pub(crate) fn new(map: &'a ClockMap) -> Self {
        let line = [map.points[0]; 3];
        Self { map, from: 0, to: 0, line, slope: (0, 1), reciprocal: u64::MAX }
    }

    /// As [`ClockMap::nanos`].
    #[inline]
    pub(crate) fn nanos(&mut self, tick: u64) -> Nanos {
        if tick < self.from || tick >= self.to {
            let next = self.map.points.partition_point(|point| point.tick <= tick);
            self.from = next.checked_sub(1).map_or(0, |before| self.map.points[before].tick);
            self.to = self.map.points.get(next).map_or(u64::MAX, |point| point.tick);
            self.line = self.map.line(tick);
            let [a, b, _] = self.line;
            self.slope = (b.at.0 - a.at.0, b.tick - a.tick);
            self.reciprocal = u64::MAX / self.slope.1;
        }
        let [a, b, origin] = self.line;
        let (rise, run) = self.slope;
        let since = tick.checked_sub(origin.tick);
        let Some(product) = since.and_then(|since| since.checked_mul(rise)) else {
            return along(a, b, origin, tick);
        };
        // The estimate is at most two too small.
        let mut risen = ((u128::from(product) * u128::from(self.reciprocal)) >> 64) as u64;
        let mut left = product - risen * run;
        while left >= run {
            (risen, left) = (risen + 1, left - run);
        }
        Nanos(origin.at.0.saturating_add(risen))
    }
}

/// The time at `tick` on the line through `origin` with the slope from `a` to `b`, rounded down.
fn along(a: SyncPoint, b: SyncPoint, origin: SyncPoint, tick: u64) -> Nanos {
    let rise = u128::from(b.at.0 - a.at.0);
    let run = u128::from(b.tick - a.tick);
    // Without a sign the product of two 64-bit factors fits.
    let product = u128::from(tick.abs_diff(origin.tick)) * rise;
    let start = u128::from(origin.at.0);
    let time = if tick >= origin.tick {
        // Division of 64 bits is several times faster, and enough for most.
        let risen = match (u64::try_from(product), u64::try_from(run)) {
            (Ok(product), Ok(run)) => u128::from(product / run),
            _ => product / run,
        };
        start + risen
    } else {
        start.saturating_sub(product.div_ceil(run))
    };
    Nanos(time.min(u128::from(u64::MAX)) as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn map(points: &[(u64, u64)]) -> ClockMap {
        let points = points.iter().map(|&(tick, at)| SyncPoint { tick, at: Nanos(at) });
        ClockMap::new(points.collect()).unwrap()
    }

    #[test]
    fn between_and_outside_the_points() {
        let map = map(&[(1000, 500), (2000, 1000), (4000, 3000)]);
        let check = |tick, expected| assert_eq!(map.nanos(tick), Nanos(expected), "tick {tick}");
        check(1000, 500);
        check(1500, 750);
        check(2000, 1000);
        check(3001, 2001);
        check(4000, 3000);
        // Outside, 2500 ns in 3000 ticks.
        check(7000, 5500);
        check(700, 250);
        check(0, 0);
    }

    #[test]
    fn points_that_go_back_are_left_out() {
        let map = map(&[(0, 10), (20, 5), (10, 20), (10, 30), (30, 40)]);
        assert_eq!(map.points.len(), 3);
        assert_eq!(map.nanos(20), Nanos(30));
        let same = SyncPoint { tick: 1, at: Nanos(1) };
        let error = ClockMap::new(vec![same; 3]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected at least 2 sync points at which both clocks advance, found 1 of 3"
        );
    }

    proptest! {
        #[test]
        fn never_decreases_and_never_panics(
            points in prop::collection::vec((any::<u64>(), any::<u64>()), 2..8),
            mut ticks in prop::collection::vec(any::<u64>(), 2..20),
        ) {
            let all = points.iter().map(|&(tick, at)| SyncPoint { tick, at: Nanos(at) }).collect();
            let Ok(map) = ClockMap::new(all) else { return Ok(()) };
            ticks.extend(points.iter().map(|p| p.0));
            // As close to points as those of recordings.
            let near = |p: &(u64, u64)| [1, 1000, 123_456_789].map(|n| p.0.wrapping_add(n));
            ticks.extend(points.iter().flat_map(near));
            ticks.sort_unstable();
            let times: Vec<_> = ticks.iter().map(|&tick| map.nanos(tick)).collect();
            let mut hand = Hand::new(&map);
            let by_hand: Vec<_> = ticks.iter().map(|&tick| hand.nanos(tick)).collect();
            prop_assert_eq!(&by_hand, &times);
            prop_assert!(times.is_sorted());
            for point in &map.points {
                prop_assert_eq!(map.nanos(point.tick), point.at);
            }
        }

        #[test]
        fn a_steady_clock_is_exact(tick in any::<u64>()) {
            prop_assert_eq!(ClockMap::identity().nanos(tick), Nanos(tick));
        }
    }
}

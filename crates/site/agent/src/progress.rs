//! Interval in progress of a killed agent, for the next one.
//!
//! Owns how often the interval in progress is kept, and what the next agent says of the time in
//! which none sampled. Keeping takes a five-hundredth of the time at most: the more an interval
//! has, the less often it is kept.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use talea_model::{Gap, GapKind, Nanos};
use talea_store::spool::Until;

/// Between two times that the interval in progress is kept, at least.
const PAUSE: Duration = Duration::from_secs(2);
/// How many times longer than keeping took.
const PART: u32 = 500;
/// Rows up to which an interval in progress is kept: packing more takes some megabytes.
pub(crate) const MOST_ROWS: usize = 16_384;

/// When the interval in progress is kept next.
#[derive(Debug)]
pub(crate) struct Pace(Instant);

impl Pace {
    /// At the next look.
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn is_due(&self) -> bool {
        Instant::now() >= self.0
    }

    /// It was kept, from then until now.
    pub(crate) fn kept(&mut self, from: Instant) {
        self.0 = from + pause(from.elapsed());
    }
}

fn pause(took: Duration) -> Duration {
    PAUSE.max(took.saturating_mul(PART))
}

/// That a node is sampled until now.
pub(crate) fn until_now(node: &str, boot: &str) -> Until {
    let since = clock_gettime(ClockId::Boottime);
    Until {
        node: node.to_owned(),
        at: Nanos::now(),
        boot: boot.to_owned(),
        since_boot: Nanos(
            since.tv_sec.unsigned_abs() * 1_000_000_000 + since.tv_nsec.unsigned_abs(),
        ),
    }
}

/// The time in which nobody sampled the node, as a gap; none if it is another node's, or nothing.
pub(crate) fn unsampled(before: &Until, now: &Until) -> Option<Gap> {
    if before.node != now.node {
        return None;
    }
    let is_same = before.boot == now.boot && !now.boot.is_empty();
    // The clock may have been set; in one start of the kernel another one says how long it was.
    let (length, what) = if is_same {
        (now.since_boot.0.saturating_sub(before.since_boot.0), "")
    } else {
        (now.at.0.saturating_sub(before.at.0), ", in which the host was started anew")
    };
    let count = length / 1_000_000;
    let detail = format!(
        "milliseconds were not sampled: between the end of one agent and the begin of the next{what}"
    );
    (count > 0).then_some(Gap { kind: GapKind::Missing, rank: None, detail, count })
}

/// Gap of an interval in progress that its agent did not end.
pub(crate) fn cut_short() -> Gap {
    Gap {
        kind: GapKind::EndedEarly,
        rank: None,
        detail:
            "agents were killed in the middle of an interval: this is the part that they had kept"
                .to_owned(),
        count: 1,
    }
}

/// That nothing can be kept of the interval in progress.
pub(crate) fn unkept() -> Gap {
    Gap {
        kind: GapKind::DiskFull,
        rank: None,
        detail: "the interval in progress cannot be written to the spool: an agent that is killed loses it unsaid"
            .to_owned(),
        count: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(node: &str, boot: &str, at: u64, since_boot: u64) -> Until {
        let (node, boot) = (node.to_owned(), boot.to_owned());
        Until { node, boot, at: Nanos(at * 1_000_000), since_boot: Nanos(since_boot * 1_000_000) }
    }

    #[test]
    fn the_length_is_that_of_a_clock_that_nobody_sets() {
        let count = |before: &Until, now: &Until| unsampled(before, now).map(|gap| gap.count);
        let before = until("n", "a", 1_000_000, 500);
        // The clock was set back by much.
        assert_eq!(count(&before, &until("n", "a", 10, 4_700)), Some(4_200));
        let other = until("n", "b", 1_060_000, 7);
        assert_eq!(count(&before, &other), Some(60_000));
        assert!(unsampled(&before, &other).unwrap().detail.ends_with("the host was started anew"));
        for now in [
            until("m", "a", 2_000_000, 900),
            until("n", "b", 10, 7),
            until("n", "a", 2_000_000, 500),
        ] {
            assert_eq!(unsampled(&before, &now), None, "{now:?}");
        }
        // Where no start is told, the clock is all there is.
        assert_eq!(count(&until("n", "", 5, 5), &until("n", "", 8, 90)), Some(3));
    }

    #[test]
    fn keeping_takes_little_of_the_time() {
        assert_eq!(pause(Duration::from_micros(100)), PAUSE);
        assert_eq!(pause(Duration::from_millis(40)), Duration::from_secs(20));
    }
}

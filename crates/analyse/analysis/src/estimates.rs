//! Times of calls whose sums alone were kept.
//!
//! Owns the estimate: each such call gets the mean of those at its node, and calls between two
//! known moments are scaled to fill the time there. The time between these moments is exact, the
//! parts that nodes have in it are estimates, and single times say nothing.

use talea_flow::iterations::TimedEvent;
use talea_model::Nanos;
use talea_run::live::read::NodeSums;

/// The time of a call that is not known yet.
pub(crate) const UNKNOWN: Nanos = Nanos(u64::MAX);

/// Mean gap and duration of the calls of a node whose times were not kept, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    gap: f64,
    duration: f64,
}

impl Mean {
    /// Of so many calls, by the sums of all calls and of those with times.
    pub(crate) fn new(calls: u64, all: &NodeSums, known: &NodeSums) -> Self {
        let mean = |all: u64, known: u64| all.saturating_sub(known) as f64 / calls.max(1) as f64;
        Self { gap: mean(all.gap, known.gap), duration: mean(all.duration, known.duration) }
    }
}

/// Fills in the times of calls of a thread: those with the end [`UNKNOWN`]; some have a known
/// begin. `means` are by node; `resumed` has the first calls with times after others, by
/// place, with the gap before each. Calls after the last known moment are left out.
pub(crate) fn fill(events: &mut Vec<TimedEvent>, means: &[Mean], resumed: &[(usize, Nanos)]) {
    let mean = |event: &TimedEvent| means.get(event.node.0 as usize).copied().unwrap_or_default();
    let mut resumed = resumed.iter().peekable();
    let mut at = 0;
    while at < events.len() {
        if events[at].end != UNKNOWN {
            at += 1;
            continue;
        }
        let Some(stop) = (at + 1..events.len()).find(|&next| events[next].begin != UNKNOWN) else {
            break;
        };
        while resumed.next_if(|(place, _)| *place < stop).is_some() {}
        let last_gap = match resumed.peek() {
            Some(&&(place, gap)) if place == stop => gap.0 as f64,
            _ => mean(&events[stop]).gap,
        };
        let begins = events[at].begin != UNKNOWN;
        let from = match at.checked_sub(1) {
            _ if begins => events[at].begin,
            Some(before) => events[before].end,
            None => Nanos(0),
        };
        let inside: f64 = events[at..stop].iter().map(mean).map(|one| one.gap + one.duration).sum();
        let first_gap = if begins { mean(&events[at]).gap } else { 0.0 };
        let all = inside - first_gap + last_gap;
        let factor = if all > 0.0 { (events[stop].begin - from).0 as f64 / all } else { 0.0 };
        let mut now = -first_gap * factor;
        for event in &mut events[at..stop] {
            let Mean { gap, duration } = mean(event);
            let begin = now + gap * factor;
            now = begin + duration * factor;
            let time = |since: f64| from + Nanos(since.max(0.0) as u64);
            (event.begin, event.end) = (time(begin), time(now));
        }
        at = stop;
    }
    events.truncate(at);
}

#[cfg(test)]
mod tests {
    use talea_model::NodeId;

    use super::*;

    fn event(node: u32, begin: Option<u64>, end: Option<u64>) -> TimedEvent {
        let time = |time: Option<u64>| time.map_or(UNKNOWN, Nanos);
        TimedEvent { node: NodeId(node), begin: time(begin), end: time(end) }
    }

    fn filled(mut events: Vec<TimedEvent>, resumed: &[(usize, Nanos)]) -> Vec<(u64, u64)> {
        let means = [Mean { gap: 10.0, duration: 5.0 }, Mean { gap: 20.0, duration: 5.0 }];
        fill(&mut events, &means, resumed);
        events.iter().map(|event| (event.begin.0, event.end.0)).collect()
    }

    #[test]
    fn calls_fill_the_time_between_known_moments() {
        let unknown = |node| event(node, None, None);
        let known = |begin, end| event(0, Some(begin), Some(end));
        // 10 + 5 + 20 + 5 and a gap of 10 fill 100.
        let events = vec![known(0, 50), unknown(0), unknown(1), known(150, 160)];
        assert_eq!(
            filled(events.clone(), &[(3, Nanos(10))]),
            [(0, 50), (70, 80), (120, 130), (150, 160)]
        );
        // Without that gap the mean one counts, here the same.
        assert_eq!(filled(events, &[]), [(0, 50), (70, 80), (120, 130), (150, 160)]);
        // A known begin stays; calls after the last known moment are unknown.
        let events = vec![event(1, Some(7), None), event(0, Some(22), None), unknown(1)];
        assert_eq!(filled(events, &[]), [(7, 12)]);
        assert_eq!(filled(vec![unknown(0), known(15, 30)], &[(1, Nanos(0))])[0], (10, 15));
        assert_eq!(filled(vec![unknown(0)], &[]), []);
    }
}

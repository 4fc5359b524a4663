//! Time between two collections: longer while the agent exceeds its budget or all cores are idle.

use std::time::Duration;

use talea_model::{Gap, GapKind};

use super::Agent;
use crate::budget::Cost;

/// Time between two collections, at first and at most: samplers need one twice a minute.
pub(super) const LOOK: Duration = Duration::from_secs(1);
const LONGEST_LOOK: Duration = Duration::from_secs(16);
/// Factor of that time after a collection with idle cores only.
const IDLE: u32 = 3;

impl Agent {
    pub(super) fn keep_to_budget(&mut self, before: &Cost, cost: &Cost, passed: Duration) {
        let exceeds = cost.exceeds(before, passed, &self.options.budget);
        self.look = next_look(self.look, exceeds.as_deref());
        if let Some(detail) = exceeds {
            let detail = format!("{detail}: it looks every {} s", self.look.as_secs());
            self.gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count: 0 });
        }
    }
}

/// Time between collections after an interval that was above the budget or not.
fn next_look(look: Duration, exceeds: Option<&str>) -> Duration {
    match exceeds {
        Some(_) => (look * 2).min(LONGEST_LOOK),
        None => (look / 2).max(LOOK),
    }
}

/// Time until the next collection. After idle cores only, few names are about to be lost.
pub(super) fn pause(look: Duration, idle: bool) -> Duration {
    let longer = if idle { (IDLE * look).min(LONGEST_LOOK) } else { look };
    // The upper bound never shortens a time that is longer by itself.
    longer.max(look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_less_often_while_it_takes_too_much() {
        let looks = |exceeds: Option<&str>, look| {
            let mut look = Duration::from_secs(look);
            let mut next = || {
                look = next_look(look, exceeds);
                look.as_secs()
            };
            [next(), next(), next(), next(), next()]
        };
        assert_eq!(looks(Some("too much"), 1), [2, 4, 8, 16, 16]);
        assert_eq!(looks(None, 16), [8, 4, 2, 1, 1]);
    }

    #[test]
    fn a_pause_is_never_shorter_than_a_look_and_never_too_long() {
        let pauses =
            |idle| [1, 2, 8, 16, 40].map(|look| pause(Duration::from_secs(look), idle).as_secs());
        assert_eq!(pauses(false), [1, 2, 8, 16, 40]);
        assert_eq!(pauses(true), [3, 6, 16, 16, 40]);
    }
}

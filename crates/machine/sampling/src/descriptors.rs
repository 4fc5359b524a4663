//! How many descriptors this process may have.
//!
//! Owns raising the soft limit, see getrlimit(2): samplers take one or more for each core, and a
//! soft limit of 1,024, which is there for programs that use select(2), ends them on nodes with
//! many. The hard limit is the administrator's and stays.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many as there may be.
pub(crate) const ALL: u64 = u64::MAX;

/// Raises the soft limit to what is needed, as far as the hard one lets it, and gives what it is
/// then. No farther: programs that are started inherit it.
pub(crate) fn raise(needed: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let now = limit.current.unwrap_or(ALL);
    let wanted = needed.min(limit.maximum.unwrap_or(ALL));
    if now >= wanted {
        return now;
    }
    let current = (wanted < ALL).then_some(wanted);
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).map_or(now, |()| wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_as_far_as_it_is_needed_and_may_be() {
        let before = getrlimit(Resource::Nofile);
        let Some(most) = before.maximum.filter(|&most| most > 64) else {
            println!("skipped: descriptors have no limit here that could be less");
            return;
        };
        // Little less than now, as other tests of this process need theirs.
        let less = before.current.unwrap_or(most).min(most - 1);
        setrlimit(Resource::Nofile, Rlimit { current: Some(less), maximum: Some(most) }).unwrap();
        assert_eq!(raise(less - 1), less);
        for needed in [less + 1, ALL] {
            assert_eq!(raise(needed), needed.min(most));
            assert_eq!(getrlimit(Resource::Nofile).current, Some(needed.min(most)));
        }
    }
}

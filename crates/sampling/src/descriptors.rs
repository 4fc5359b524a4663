//! How many descriptors this process may have.
//!
//! Owns raising the soft limit, see getrlimit(2): samplers take one or more for each core, and a soft limit of 1,024, which is there for programs that use
//! select(2), ends them on nodes with many. The hard limit is the administrator's and stays.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one. Where that is refused, opening says what is missing.
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let before = getrlimit(Resource::Nofile);
        let Some(most) = before.maximum.filter(|&most| most > 64) else {
            println!("skipped: descriptors have no limit here that could be less");
            return;
        };
        // Little less than now, as other tests of this process need theirs.
        let less = before.current.unwrap_or(most).min(most - 1);
        setrlimit(Resource::Nofile, Rlimit { current: Some(less), maximum: Some(most) }).unwrap();
        raise();
        assert_eq!(getrlimit(Resource::Nofile).current, Some(most));
    }
}

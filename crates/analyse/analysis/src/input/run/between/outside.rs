//! Time of a thread outside MPI.
//!
//! Owns the meaning of calls that overlap, as corrected clocks let them: the first end of a call
//! inside MPI leaves it, as in a trace's records.

/// A thread between its calls.
pub(super) struct Outside {
    since: Option<u64>,
    /// Ends of calls that are not reached yet.
    ends: Vec<u64>,
}

impl Outside {
    /// Before the thread's first call.
    pub(super) fn new() -> Self {
        Self { since: Some(0), ends: Vec::new() }
    }

    /// Goes on to a call; `found` takes the interval outside MPI before it.
    pub(super) fn call(&mut self, begin: u64, end: u64, found: impl FnMut(u64, u64)) {
        self.until(begin, found);
        self.ends.push(end);
    }

    /// Goes on to the begin of a call, or to the end of time.
    pub(super) fn until(&mut self, time: u64, mut found: impl FnMut(u64, u64)) {
        let mut first = None;
        self.ends.retain(|&end| {
            let is_ahead = end > time;
            if !is_ahead {
                first = Some(first.map_or(end, |first: u64| first.min(end)));
            }
            is_ahead
        });
        if let Some(since) = self.since.take().or(first).filter(|&since| since < time) {
            found(since, time);
        }
    }
}

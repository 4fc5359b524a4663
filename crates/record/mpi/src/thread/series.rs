//! Unsuccessful polls in a row, which are one event for each of their sites.
//!
//! Owns the sites of a series while it grows: up to eight, however the program alternates between
//! them. Each has a counter and two sums of times in the mapped file, so that they survive the
//! program ([`super::polls`]). When the series ends, each site becomes one event, in the order of
//! first polls. Their gaps and durations divide the time from the begin of the first poll to the
//! end of the last: time inside a site's polls is its duration, time between them and the polls
//! before is its gap. The order of polls within a series is not kept.

use talea_run::live::layout::MAX_POLL_SITES;

use crate::abi::entry::Call;
use crate::abi::fortran::FortranHandle;
use crate::around::Around;
use crate::around::single::Single;
use crate::plan::arguments;
use crate::plan::{Found, Plan};
use crate::record::{HotNode, MAX_WORDS};

/// Unsuccessful polls in a row.
#[derive(Debug)]
pub(crate) struct Series {
    /// Number of sites in use.
    count: usize,
    /// The site of the last poll.
    last: usize,
    sites: [Site; MAX_POLL_SITES],
}

/// A site of a series.
#[derive(Debug)]
pub(crate) struct Site {
    /// Its node; null without.
    node: *mut HotNode,
    /// The site that was polled after this one the last time.
    next: usize,
    /// Words that identify the tuple of the first poll.
    words: [u64; MAX_WORDS],
    /// The request of the first poll, where there is one.
    pub(crate) single: Option<Single>,
    /// State of the requests of the last poll.
    pub(crate) around: Around,
    /// Their handles, for polls of a list of them.
    handles: Vec<usize>,
    /// Address of the list; 0 without, and where statuses have to be read.
    list: usize,
}

impl Site {
    /// True if a poll is for the list that was noted last, whose state is known.
    ///
    /// # Safety
    /// `call` is a call of the plan's procedure.
    #[inline(always)]
    pub(crate) unsafe fn asks_again(&self, plan: &Plan, call: Call) -> bool {
        let Some(&Found::Requests { arg, length }) = plan.found.first() else { return false };
        // SAFETY: arguments are as in the table.
        unsafe {
            let size = arguments::handle_size(plan);
            let at = |number: usize| {
                let address = self.list + number * size;
                arguments::handle_at(plan, address, FortranHandle::Request)
            };
            call.arg(usize::from(arg)) == self.list
                && arguments::int(plan, call, length) == self.handles.len() as i64
                && self.handles.iter().enumerate().all(|(number, &handle)| at(number) == handle)
        }
    }

    /// Remembers the list of a poll that found nothing, which is unchanged.
    ///
    /// # Safety
    /// `call` is a call of the plan's procedure that `around` has processed.
    pub(crate) unsafe fn note_list(&mut self, plan: &Plan, call: Call) {
        self.list = 0;
        if let Some(&Found::Requests { arg, .. }) = plan.found.first()
            && !self.around.handles_of_last_call(&mut self.handles)
        {
            // SAFETY: by the table the procedure has this argument.
            self.list = unsafe { call.arg(usize::from(arg)) };
        }
    }

    /// Removes the node from the site of a closed series; also returns the words of its first poll.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> (*mut HotNode, *const u64) {
        self.next = 0;
        (std::mem::replace(&mut self.node, std::ptr::null_mut()), self.words.as_ptr())
    }
}

impl Series {
    /// No series.
    pub(crate) fn none() -> Self {
        let site = |_| Site {
            node: std::ptr::null_mut(),
            next: 0,
            words: [0; MAX_WORDS],
            single: None,
            around: Around::default(),
            handles: Vec::new(),
            list: 0,
        };
        Self { count: 0, last: 0, sites: [0; MAX_POLL_SITES].map(site) }
    }

    /// True if the last recorded call was an unsuccessful poll.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.count != 0
    }

    /// The place of a node's site, if it is one of the series.
    #[inline(always)]
    pub(crate) fn place(&mut self, node: *mut HotNode) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        // Loops repeat their polls in the same order.
        let next = self.sites[self.last].next;
        if self.sites[next].node == node {
            self.last = next;
            return Some(next);
        }
        self.search(node)
    }

    #[inline(never)]
    fn search(&mut self, node: *mut HotNode) -> Option<usize> {
        let place = self.sites[..self.count].iter().position(|site| site.node == node)?;
        self.sites[self.last].next = place;
        self.last = place;
        Some(place)
    }

    /// The site at a place returned by [`Self::place`].
    #[inline(always)]
    pub(crate) fn site(&mut self, place: usize) -> &mut Site {
        &mut self.sites[place]
    }

    /// Number of sites; a new one has this place.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Adds a site behind the last one, for a poll with these words and these requests. There is
    /// room for it.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        node: *mut HotNode,
        words: &[u64; MAX_WORDS],
        single: Option<Single>,
        around: &mut Around,
    ) {
        let place = self.count;
        self.sites[self.last].next = place;
        let site = &mut self.sites[place];
        (site.node, site.next, site.words, site.single) = (node, 0, *words, single);
        std::mem::swap(&mut site.around, around);
        site.list = 0;
        self.last = place;
        self.count = place + 1;
    }

    /// Ends the series; returns the number of its sites.
    #[inline(always)]
    pub(crate) fn close(&mut self) -> usize {
        self.last = 0;
        std::mem::take(&mut self.count)
    }
}

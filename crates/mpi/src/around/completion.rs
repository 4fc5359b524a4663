//! Which requests a call has completed.
//!
//! Owns taking them out of the table, and the lists of positions and statuses that tell which they were.

use super::Around;
use crate::entry::Call;
use crate::plan::{Found, Plan};
use crate::process::Process;
use crate::requests::Request;
use crate::table::Class;

impl Around {
    /// Which requests are complete now.
    pub(super) unsafe fn complete(
        &mut self,
        process: &Process,
        plan: &Plan,
        call: Call,
        words: &mut [u64],
    ) {
        let finish = |&(handle, address, request): &(usize, usize, Option<Request>)| {
            if request.is_some_and(|r| !r.persistent || plan.class == Class::RequestFree) {
                process.requests.with(|r| r.remove(handle, address));
            }
        };
        // The words of a flag, an index or a number of completed requests, found by their place in the plan.
        let int_out = |nth: usize| {
            let mut places = plan
                .found
                .iter()
                .zip(words.iter())
                .filter(|(f, _)| matches!(f, Found::IntOut { .. }));
            places.nth(nth).map_or(0, |(_, &word)| word as i64)
        };
        if self.requests.is_empty() {
            return;
        }
        let mut statuses: Vec<i64> = Vec::new();
        let mut list_statuses = |around: &Self, position: usize, number: usize| {
            if around.requests.get(position).is_some_and(|(_, _, r)| r.is_some_and(|r| r.wild)) {
                // SAFETY: there is a status for each completed request.
                if let Some((source, tag)) = unsafe { around.status(number) } {
                    statuses.extend([position as i64, source, tag]);
                }
            }
        };
        match plan.class {
            Class::Wait | Class::RequestFree => self.requests.iter().for_each(finish),
            Class::Test if int_out(0) != 0 => self.requests.iter().for_each(finish),
            Class::Waitall => {
                (0..self.requests.len()).for_each(|i| list_statuses(self, i, i));
                self.requests.iter().for_each(finish);
            }
            Class::Testall if int_out(0) != 0 => {
                (0..self.requests.len()).for_each(|i| list_statuses(self, i, i));
                self.requests.iter().for_each(finish);
            }
            Class::Waitany | Class::Testany => {
                if let Some(request) =
                    usize::try_from(int_out(0)).ok().and_then(|i| self.requests.get(i))
                    && (plan.class == Class::Waitany || int_out(1) != 0)
                {
                    finish(request);
                }
            }
            Class::Waitsome | Class::Testsome => {
                let count = int_out(0);
                let indices = plan.found.iter().position(|f| matches!(f, Found::Indices { .. }));
                if let (Some(place), true) = (indices, count >= 0) {
                    let Found::Indices { arg, .. } = plan.found[place] else { return };
                    // SAFETY: the call filled this many positions.
                    let array = unsafe { call.arg(usize::from(arg)) } as *const i32;
                    let positions: Vec<i64> = (0..count as usize)
                        .map(|i| {
                            // SAFETY: as above.
                            let position = unsafe { *array.add(i) };
                            i64::from(position - plan.first)
                        })
                        .collect();
                    for (number, &position) in positions.iter().enumerate() {
                        list_statuses(self, position as usize, number);
                        if let Some(request) = self.requests.get(position as usize) {
                            finish(request);
                        }
                    }
                    words[place] =
                        process.handles.with(|h| h.list(process.memory, &positions)) as u64;
                }
            }
            _ => {}
        }
        if !statuses.is_empty()
            && let Some(place) = plan.found.iter().position(|f| matches!(f, Found::Statuses { .. }))
        {
            words[place] = process.handles.with(|h| h.list(process.memory, &statuses)) as u64;
        }
    }
}

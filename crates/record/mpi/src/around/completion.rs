//! Requests that a call has completed.
//!
//! Owns their removal from the table, and the lists of positions and statuses that identify them.

use super::{Around, Scene};
use crate::abi::table::Class;
use crate::plan::{Found, Plan};

/// The word of a flag, an index or a number of completed requests, by its place in the plan.
fn int_out(plan: &Plan, words: &[u64], nth: usize) -> i64 {
    let places = plan.found.iter().zip(words);
    let mut places = places.filter(|(found, _)| matches!(found, Found::IntOut { .. }));
    places.nth(nth).map_or(0, |(_, &word)| word as i64)
}

impl Around {
    /// Removes the completed requests.
    pub(super) unsafe fn complete(&mut self, scene: Scene<'_>, words: &mut [u64]) {
        let plan = scene.plan;
        let flag = |nth: usize| int_out(plan, words, nth) != 0;
        // SAFETY: out parameters are valid after the call, and arrays are as long as before.
        unsafe {
            match plan.class {
                Class::Wait | Class::RequestFree => self.complete_one(scene),
                Class::Test if flag(0) => self.complete_one(scene),
                Class::Waitall => self.complete_all(scene, words),
                Class::Testall if flag(0) => self.complete_all(scene, words),
                Class::Waitany | Class::Testany => {
                    let position = usize::try_from(int_out(plan, words, 0));
                    if let (Ok(position), Some(shadow)) = (position, self.shadow())
                        && (plan.class == Class::Waitany || int_out(plan, words, 1) != 0)
                    {
                        let thread = scene.thread;
                        let requests = &scene.process.requests;
                        requests.with(|r| shadow.complete(position, false, thread, r));
                    }
                }
                Class::Waitsome | Class::Testsome => self.complete_some(scene, words),
                _ => {}
            }
        }
    }

    /// The call was about one request.
    fn complete_one(&self, scene: Scene<'_>) {
        let Some((handle, address, Some(request))) = self.request else { return };
        if !request.persistent || scene.plan.class == Class::RequestFree {
            scene.process.requests.with(|r| r.remove(handle, address));
        }
    }

    unsafe fn complete_all(&mut self, scene: Scene<'_>, words: &mut [u64]) {
        let Scene { process, thread, .. } = scene;
        let Some(shadow) = self.shadow() else { return };
        let count = shadow.len();
        let wild: Vec<usize> = if shadow.has_wild() {
            (0..count).filter(|&position| shadow.is_wild(position)).collect()
        } else {
            Vec::new()
        };
        process.requests.with(|requests| {
            for position in 0..count {
                // SAFETY: the array is as long as before the call.
                unsafe { shadow.complete(position, false, thread, requests) };
            }
        });
        // SAFETY: there is a status for each request.
        unsafe { self.list_statuses(scene, words, wild.into_iter().map(|at| (at, at))) };
    }

    unsafe fn complete_some(&mut self, scene: Scene<'_>, words: &mut [u64]) {
        let Scene { process, thread, plan, call } = scene;
        let count = int_out(plan, words, 0);
        let indices = plan.found.iter().position(|f| matches!(f, Found::Indices { .. }));
        let (Some(place), Ok(count)) = (indices, usize::try_from(count)) else { return };
        let Found::Indices { arg, .. } = plan.found[place] else { return };
        let mut positions = std::mem::take(&mut self.list);
        positions.clear();
        // SAFETY: the call filled this many positions.
        positions.extend((0..count).map(|i| unsafe {
            let array = call.arg(usize::from(arg)) as *const i32;
            i64::from(*array.add(i) - plan.first)
        }));
        let list = process.handles.with(|h| h.lists.list(process.memory, &positions));
        words[place] = list.map_or(-1, |list| i64::from(list.id)) as u64;
        if let Some(shadow) = self.shadow() {
            let is_wild =
                |&(_, &at): &(usize, &i64)| usize::try_from(at).is_ok_and(|at| shadow.is_wild(at));
            let numbered = positions.iter().enumerate();
            let wild: Vec<(usize, usize)> = if shadow.has_wild() {
                numbered.filter(is_wild).map(|(number, &at)| (at as usize, number)).collect()
            } else {
                Vec::new()
            };
            // SAFETY: the array is as long as before the call, and there is a status for each
            // position.
            unsafe {
                process.requests.with(|r| shadow.complete_some(&positions, list, thread, r));
                self.list_statuses(scene, words, wild.into_iter());
            }
        }
        self.list = positions;
    }

    /// Writes the matches of the wild cards among the completed requests: for each its position,
    /// and the number of its status.
    unsafe fn list_statuses(
        &self,
        scene: Scene<'_>,
        words: &mut [u64],
        wild: impl Iterator<Item = (usize, usize)>,
    ) {
        let Scene { process, plan, .. } = scene;
        let mut statuses: Vec<i64> = Vec::new();
        for (position, number) in wild {
            // SAFETY: there is a status for each completed request.
            if let Some((source, tag)) = unsafe { self.status(number) } {
                statuses.extend([position as i64, source, tag]);
            }
        }
        if !statuses.is_empty()
            && let Some(place) = plan.found.iter().position(|f| matches!(f, Found::Statuses { .. }))
        {
            words[place] = process.handles.with(|h| h.list(process.memory, &statuses)) as u64;
        }
    }
}

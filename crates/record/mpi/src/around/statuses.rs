//! Statuses with the matches of receives with wild cards.
//!
//! Owns a status where the program ignores it, and the detection of those that a call filled.

use super::Around;
use crate::abi::abi;
use crate::abi::entry::Call;
use crate::plan::Plan;

/// Marker written into a status before the call; unchanged afterwards if the status was not filled.
const UNTOUCHED: i32 = i32::MIN + 77;

impl Around {
    /// Ensures that the status with a wild card's match will be written somewhere.
    pub(super) unsafe fn prepare_status(&mut self, plan: &Plan, lanes: &[u64], call: Call) {
        let statuses = plan.statuses;
        let Some(arg) = plan.status.or(statuses) else { return };
        let abi = abi();
        let own_wild = plan.makes.is_none() && is_wild(plan, lanes);
        let (wild, count) = match self.shadow() {
            Some(shadow) => (shadow.has_wild(), shadow.len()),
            None => (self.request.is_some_and(|(_, _, r)| r.is_some_and(|r| r.wild)), 1),
        };
        if !wild && !own_wild {
            return;
        }
        // SAFETY: by the table this argument points to one status, or to one for each request.
        unsafe {
            let count = if statuses.is_some() { count } else { 1 };
            let mut address = call.arg(usize::from(arg));
            let ignored = address <= 1
                || address == abi.status_ignore
                || (plan.fortran && abi.fortran_ignore.contains(&address));
            if ignored {
                let size = count * abi.status_bytes + 8;
                if self.statuses.len() < size {
                    // Alignment of a status is that of its integers, which the allocator gives.
                    self.statuses.resize(size, 0);
                }
                address = self.statuses.as_mut_ptr() as usize;
                call.set_arg(usize::from(arg), address);
            }
            self.saved.clear();
            self.status = address;
            if statuses.is_some() {
                // Of a list only the statuses of complete receives are read, and these are written.
                return;
            }
            let source = (address + abi.status_source) as *mut i32;
            self.saved.push(source.read());
            source.write(UNTOUCHED);
        }
    }

    /// Restores statuses that the call did not fill.
    ///
    /// # Safety
    /// [`Self::before`] was called for the call that has just returned.
    pub unsafe fn settle(&mut self) {
        if self.status == 0 {
            return;
        }
        let abi = abi();
        for (i, &saved) in self.saved.iter().enumerate() {
            let source = (self.status + i * abi.status_bytes + abi.status_source) as *mut i32;
            // SAFETY: `prepare_status` found room for this many statuses here.
            unsafe {
                if *source == UNTOUCHED {
                    *source = saved;
                }
            }
        }
        self.status = 0;
    }

    /// Source and tag of a prepared status.
    pub(super) unsafe fn status(&self, number: usize) -> Option<(i64, i64)> {
        if self.status == 0 {
            return None;
        }
        let abi = abi();
        let at = self.status + number * abi.status_bytes;
        // SAFETY: `prepare_status` found room for this many statuses here.
        let (source, tag) = unsafe {
            (*((at + abi.status_source) as *const i32), *((at + abi.status_tag) as *const i32))
        };
        (source != UNTOUCHED).then(|| (abi.peer(source), abi.tag(tag)))
    }
}

/// True if the lanes of a receive or probe have a wild card.
#[inline(always)]
pub(super) fn is_wild(plan: &Plan, lanes: &[u64]) -> bool {
    let abi = abi();
    plan.wild.is_some_and(|(source, tag)| {
        lanes[usize::from(source)] as i32 == abi.any_source
            || lanes[usize::from(tag)] as i32 == abi.any_tag
    })
}

//! `MPI_Iprobe` and `MPI_Improbe`, the polls that are about no request.
//!
//! Owns the short path through [`crate::around`] for them: no lists, no heap. A message that was
//! found has always filled the status, so that a status of ours is all that must exist before the
//! call.

use talea_model::args::special;

use crate::abi::abi;
use crate::around::Scene;

/// Passes a status to the call where the program has none.
///
/// # Safety
/// `scene.call` is a call of the plan's procedure that has not been forwarded yet, and `own` lives
/// until it has returned.
#[inline(always)]
pub(crate) unsafe fn prepare(scene: Scene<'_>, own: *mut [u64; 8]) {
    let Some(arg) = scene.plan.status else { return };
    let abi = abi();
    // SAFETY: by the table this argument points to a status, which has 32 bytes at most.
    unsafe {
        let address = scene.call.arg(usize::from(arg));
        if address <= 1
            || address == abi.status_ignore
            || (scene.plan.fortran && abi.fortran_ignore.contains(&address))
        {
            scene.call.set_arg(usize::from(arg), own as usize);
        }
    }
}

/// The found words of a probe: `lanes` are those of the same call.
///
/// # Safety
/// A call that is `complete` has returned, and [`prepare`] was called for it before.
pub(crate) unsafe fn find(scene: Scene<'_>, complete: bool, lanes: &[u64], found: &mut [u64]) {
    let [flag, source, tag] = found else { return };
    (*flag, *source, *tag) = (u64::from(complete), special::ABSENT as u64, special::ABSENT as u64);
    let (Some(arg), Some((from, with))) = (scene.plan.status, scene.plan.wild) else { return };
    let abi = abi();
    let wild = lanes[usize::from(from)] as i32 == abi.any_source
        || lanes[usize::from(with)] as i32 == abi.any_tag;
    if !complete || !wild {
        return;
    }
    // SAFETY: the status of a message that was found.
    unsafe {
        let status = scene.call.arg(usize::from(arg));
        *source = abi.peer(*((status + abi.status_source) as *const i32)) as u64;
        *tag = abi.tag(*((status + abi.status_tag) as *const i32)) as u64;
    }
}

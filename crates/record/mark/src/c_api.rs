//! The functions behind `include/talea_mark.h`.
//!
//! Owns nothing: checks pointers and calls `markers` and `thread`. Macros of the header call these
//! only where a flag says so.

use std::ffi::{c_int, c_schar};
use std::sync::atomic::Ordering;

use crate::markers;
use crate::site::Site;
use crate::{slow, thread};

/// First use of a site: fills it in. Its flag from now on, 1 or -1; -1 for NULL.
///
/// # Safety
/// `site` must be NULL or a `struct talea_mark_site` that stays where it is, with static texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn talea_mark_register(site: *const Site) -> c_schar {
    // SAFETY: as the caller says.
    unsafe { site.as_ref() }.map_or(-1, markers::register)
}

/// Enters the phase of a site: 1 if it must be left again, 0 if it is off or there is no room for
/// the thread.
///
/// # Safety
/// As of `talea_mark_register`, but not NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn talea_mark_enter(site: &Site) -> c_int {
    match site.marker() {
        Some(marker) if thread::entered(marker) => 1,
        _ => enter_slowly(site),
    }
}

#[cold]
#[inline(never)]
extern "C" fn enter_slowly(site: &Site) -> c_int {
    c_int::from(enter(site))
}

/// Leaves the phase of a site, and what is inside it; does nothing if the thread is not in it.
///
/// # Safety
/// As of `talea_mark_enter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn talea_mark_leave(site: &Site) {
    match site.marker() {
        Some(marker) if thread::left(marker) => {}
        _ => leave_slowly(site),
    }
}

#[cold]
#[inline(never)]
extern "C" fn leave_slowly(site: &Site) {
    if let Some(marker) = site.marker()
        && !slow::leave_slowly(marker)
    {
        site.switch_off();
    }
}

/// Enters the phase of a site in any case, and switches the site off if its phase is.
#[cold]
pub(crate) fn enter(site: &Site) -> bool {
    let Some(marker) = site.marker() else { return false };
    let entered = slow::enter_slowly(marker);
    if !entered && !marker.on.load(Ordering::Relaxed) {
        site.switch_off();
    }
    entered
}

//! The functions behind `include/talea_mark.h`.
//!
//! Owns nothing: checks pointers and calls `markers` and `thread`. Macros of the header call these only where a flag says so.

use std::ffi::{c_int, c_schar};

use crate::markers::{self, Site};
use crate::thread;

/// First use of a site: fills it in. Its flag from now on, 1 or -1; -1 for NULL.
///
/// # Safety
/// `site` must be NULL or a `struct talea_mark_site` that stays where it is, with static texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn talea_mark_register(site: *const Site) -> c_schar {
    // SAFETY: as the caller says.
    unsafe { site.as_ref() }.map_or(-1, markers::register)
}

/// Enters the phase of a site: 1 if it must be left again, 0 if it is off or there is no room for the thread.
///
/// # Safety
/// As of `talea_mark_register`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn talea_mark_enter(site: *const Site) -> c_int {
    // SAFETY: as the caller says.
    unsafe { site.as_ref() }.map_or(0, |site| c_int::from(enter(site)))
}

/// Leaves the phase of a site, and what is inside it; does nothing if the thread is not in it.
///
/// # Safety
/// As of `talea_mark_register`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn talea_mark_leave(site: *const Site) {
    // SAFETY: as the caller says.
    if let Some(site) = unsafe { site.as_ref() }
        && let Some(marker) = site.marker()
        && !thread::leave(marker)
    {
        site.switch_off();
    }
}

/// Enters the phase of a site, and switches the site off if its phase is.
#[inline]
pub(crate) fn enter(site: &Site) -> bool {
    let Some(marker) = site.marker() else { return false };
    if thread::enter(marker) {
        return true;
    }
    refused(site)
}

#[cold]
fn refused(site: &Site) -> bool {
    if site.marker().is_some_and(|m| !m.on.load(std::sync::atomic::Ordering::Relaxed)) {
        site.switch_off();
    }
    false
}

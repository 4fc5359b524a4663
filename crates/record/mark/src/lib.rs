//! Phases of a program, marked by its author and seen from outside, at the price of some stores.
//!
//! A marker is a static site with a flag: below 0 it is off and costs a load and a branch, at 0 it
//! is registered, above 0 it is on. What it says goes to two places: the OpenTelemetry thread
//! context, where profilers look that interrupt the thread, and a table in shared memory, which any
//! process of the same user can read. A marker that takes too much of a thread's time switches
//! itself off, and says so.
//!
//! ```
//! fn step() {
//!     let _phase = talea_mark::phase!("solve");
//!     // The phase ends with the scope.
//! }
//! # step();
//! ```
//!
//! Unsafe code: the C interface, thread-local words in assembler, shared memory. `layout`, `meter`
//! and `reader` have none.

mod attributes;
mod bridge;
#[doc(hidden)]
pub mod c_api;
mod context;
mod ends;
pub mod layout;
mod lock;
mod mapping;
mod marker;
mod markers;
mod meter;
mod process;
mod ranges;
pub mod reader;
mod recorder;
mod registry;
mod site;
mod slots;
mod slow;
mod table;
mod thread;
mod tls;

use std::marker::PhantomData;
use std::sync::atomic::{AtomicI8, Ordering};

pub use context::{KEY, KEY_INDEX, SCHEMA};
use marker::Marker;
pub use meter::{BRIDGED_PAIR_NS, Budget, PAIR_NS, RECORDED_PAIR_NS, WINDOW_NS};
#[doc(hidden)]
pub use site::Site;
pub use thread::DEPTH;

/// A thread is in a phase as long as this lives. It belongs to its thread.
#[must_use = "the phase ends where this is dropped"]
pub struct Phase {
    marker: Option<&'static Marker>,
    of_this_thread: PhantomData<*const ()>,
}

impl Phase {
    /// In no phase: what a marker gives that is off.
    #[inline]
    pub const fn none() -> Phase {
        Phase { marker: None, of_this_thread: PhantomData }
    }

    /// Expansion of `phase!`.
    #[doc(hidden)]
    #[inline]
    pub fn enter(site: &'static Site, flag: &'static AtomicI8) -> Phase {
        match flag.load(Ordering::Relaxed) {
            ..0 => Phase::none(),
            0 => Phase::first(site),
            _ => Phase::enter_on(site),
        }
    }

    fn enter_on(site: &'static Site) -> Phase {
        match site.marker() {
            Some(marker) if thread::entered(marker) => {
                Phase { marker: Some(marker), of_this_thread: PhantomData }
            }
            _ => Phase::slowly(site),
        }
    }

    #[cold]
    fn slowly(site: &'static Site) -> Phase {
        let marker = if c_api::enter(site) { site.marker() } else { None };
        Phase { marker, of_this_thread: PhantomData }
    }

    #[cold]
    fn first(site: &'static Site) -> Phase {
        if markers::register(site) > 0 { Phase::slowly(site) } else { Phase::none() }
    }
}

impl Drop for Phase {
    #[inline]
    fn drop(&mut self) {
        if let Some(marker) = self.marker {
            leave(marker);
        }
    }
}

fn leave(marker: &Marker) {
    if !thread::left(marker) {
        slow::leave_slowly(marker);
    }
}

/// Enters a phase until the end of the scope: `let _phase = talea_mark::phase!("solve");`. The name
/// is a literal.
///
/// In a loop that the compiler shall vectorise, mark the loop, not its body.
#[macro_export]
macro_rules! phase {
    ($name:literal) => {{
        // Flags stand together, 64 in a cache line.
        #[unsafe(link_section = "talea_mark_flags")]
        static FLAG: ::std::sync::atomic::AtomicI8 = ::std::sync::atomic::AtomicI8::new(0);
        static SITE: $crate::Site = $crate::Site::new(
            ::std::concat!($name, "\0"),
            ::std::concat!(::std::file!(), "\0"),
            ::std::line!(),
            &FLAG,
        );
        $crate::Phase::enter(&SITE, &FLAG)
    }};
}

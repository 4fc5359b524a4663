//! The unsafe calls, each behind a safe function.
//!
//! Owns `perf_event_open` and the functions of libhwloc. Everything else that the crate asks of the kernel has safe calls in
//! the standard library or in rustix.

pub(crate) mod hwloc;
pub(crate) mod perf;

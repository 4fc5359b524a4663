//! The unsafe calls, each behind a safe function.
//!
//! Owns `perf_event_open`, the buffers that the kernel fills with samples, BPF programs and their
//! maps, files mapped for reading, the pages of this program's own file, and the functions of
//! libhwloc. Everything else that the crate asks of the kernel has safe calls in the standard
//! library or in rustix.

#[cfg(all(feature = "system", target_arch = "x86_64"))]
pub(crate) mod bpf;
pub(crate) mod buffer;
#[cfg(feature = "system")]
pub(crate) mod clock;
pub(crate) mod code;
pub(crate) mod hwloc;
pub(crate) mod page;
pub(crate) mod perf;
pub(crate) mod sampled;

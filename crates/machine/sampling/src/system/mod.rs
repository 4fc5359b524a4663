//! Samples of every core at a rate, counted by their place: process, executable, file and place of
//! the address, phase.
//!
//! Owns the three ways to do that behind [`SystemSampler`]: a BPF program that counts in the kernel
//! ([`open_bpf`]), rings of perf events that are read ([`open_rings`]), and the own user's
//! processes where nothing else is allowed ([`open_own`]). It refuses to know what a job is, to
//! resolve names of functions, and to sleep: who calls waits for [`SystemSampler::descriptors`] or
//! for its own clock, and collects.
//!
//! Processes have the numbers of the initial PID namespace with BPF, those of the caller's with the
//! others: agents belong there.

#[cfg(target_arch = "x86_64")]
mod bpf;
mod clocks;
mod counters;
#[doc(hidden)]
pub mod damaged;
mod error;
mod hit;
mod idle;
mod mappings;
mod merge;
mod own;
mod processes;
mod rates;
pub(crate) mod record;
mod rings;
mod steering;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;

use talea_model::shares::{Counter, Sampler};
use talea_model::{GapKind, Gaps, Nanos};
use talea_topology::CpuSet;

pub use counters::{HARDWARE, SOFTWARE, check_counters, default_counters};
pub use error::OpenError;
pub use hit::{FileId, Hit, State};
pub use rates::{MOST_COUNTERS, Rated, Sum};

use crate::descriptors;
use crate::source::gap;

/// Options of a sampler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Mean time between two samples of one core; 100 µs to 1000 s.
    pub period: Nanos,
    /// Periods vary by a tenth around the mean, so that programs with a period of their own are not
    /// always met at the same place. The same seed gives the same periods.
    pub seed: u64,
    /// Which cores; none for all that run.
    pub cores: Option<CpuSet>,
    /// When the descriptors of rings become readable.
    pub wake: Wake,
    /// Counters around samples, by names as `perf list` has them, at most [`MOST_COUNTERS`]; see
    /// [`default_counters`].
    pub counters: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            period: Nanos(1_000_000_000),
            seed: 0,
            cores: None,
            wake: Wake::HalfFull,
            counters: Vec::new(),
        }
    }
}

/// When a reader of rings is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// When half of a ring is in use: else records would be lost.
    HalfFull,
    /// At each sample too, so that the phase of its thread can be asked for while it is still in
    /// it.
    EachSample,
}

/// Where BPF finds the phase of a process's threads: OpenTelemetry's thread context (OTEP 4947).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls {
    /// From the thread pointer to the pointer to the record, `otel_thread_ctx_v1`.
    pub offset: i64,
    /// Key of the attribute that is the phase.
    pub attribute: u8,
}

/// Asked by rings for the phase of a thread (process, thread) while a sample of it is looked at.
pub type PhaseOf = Box<dyn FnMut(u32, u32) -> Option<Arc<[u8]>> + Send>;

/// Takes samples of a machine.
pub trait SystemSampler: Send {
    /// Which mechanism.
    fn name(&self) -> Sampler;

    /// Cores that are sampled now.
    fn cores(&self) -> CpuSet;

    /// Adds the samples since the last call, sorted, each key once; `count` of all is the number of
    /// samples.
    ///
    /// To be called at least every 30 s, and when a descriptor is readable.
    ///
    /// # Errors
    /// Those of the kernel, when it refuses what it did at the start; samples of this interval are
    /// lost.
    fn collect(&mut self, hits: &mut Vec<Hit>, gaps: &mut Gaps) -> io::Result<()>;

    /// Samples that found no room since it was opened; each is in a gap too.
    fn lost_samples(&self) -> u64 {
        0
    }

    /// Counters around samples, in the order of [`Rated::sums`]: requested ones that can be counted
    /// here.
    fn counters(&self) -> &[Counter] {
        &[]
    }

    /// Adds the growth of counters around the samples that [`SystemSampler::collect`] returned,
    /// sorted by hit. A rate is returned with the sample behind it, and so may be of a hit that an
    /// earlier call of `collect` returned.
    ///
    /// # Errors
    /// Those of the kernel; rates of this interval are lost.
    fn rated(&mut self, rated: &mut Vec<Rated>) -> io::Result<()> {
        let _ = rated;
        Ok(())
    }

    /// Closes the counters, so that other tools can have them. Samples go on.
    fn release_counters(&mut self) {}

    /// Opens them again.
    fn resume_counters(&mut self) {}

    /// Descriptors that become readable when data must be collected soon. They may change with each
    /// [`SystemSampler::collect`]; none with BPF, where the kernel counts.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// Says where a process keeps its phase, or that it is gone. False where this sampler does not
    /// read phases by itself: see [`PhaseOf`].
    ///
    /// # Errors
    /// Those of the kernel, as when there are more than 8,192 processes with phases.
    fn set_tls(&mut self, process: u32, tls: Option<Tls>) -> io::Result<bool> {
        let _ = (process, tls);
        Ok(false)
    }

    /// The path of a sampled file, also of processes that have ended: whole from rings, its last
    /// part from BPF (up to 63 bytes).
    fn path(&self, file: FileId) -> Option<PathBuf> {
        let _ = file;
        None
    }
}

/// Opens the best that is allowed here: BPF, then rings, then own processes. Why a better one is
/// not allowed is a gap.
///
/// # Errors
/// What stands against the last of them, when nothing is allowed.
pub fn open(
    options: &Options,
    phase_of: Option<PhaseOf>,
    gaps: &mut Gaps,
) -> Result<Box<dyn SystemSampler>, OpenError> {
    let mut note = |what: &str, error: &OpenError| {
        let detail = format!("{what}: {error}");
        gaps.note(gap(GapKind::Unsupported, detail));
    };
    match open_bpf(options) {
        Ok(sampler) => return Ok(sampler),
        Err(error) => note("samples are not counted by BPF in the kernel", &error),
    }
    match open_rings(options, phase_of) {
        Ok(sampler) => return Ok(sampler),
        Err(error) => note("cores are not sampled, but processes of this user only", &error),
    }
    open_own(options)
}

/// Opens the sampler that counts in the kernel.
///
/// A sample takes the core that it hits about 10 µs where a mapping must be looked up, else 1 µs:
/// each core remembers for half a second where its samples lay, so that a library that takes
/// another's place in the same process may be taken for it as long. A collection takes this process
/// .2 ms, and waits for the kernel meanwhile (some milliseconds). To open it takes some tens of
/// milliseconds.
///
/// # Errors
/// Names what is missing: capabilities, BTF, a newer kernel.
pub fn open_bpf(options: &Options) -> Result<Box<dyn SystemSampler>, OpenError> {
    check(options)?;
    #[cfg(target_arch = "x86_64")]
    return Ok(Box::new(bpf::Counted::open(options)?));
    #[cfg(not(target_arch = "x86_64"))]
    Err(OpenError::Processor { processor: std::env::consts::ARCH })
}

/// Opens the sampler that reads each sample from rings. `phase_of` returns the phase of each
/// sampled thread.
///
/// Each program that is started on the machine costs this process about 3 µs, for what it maps.
///
/// # Errors
/// Names what is missing: a capability or a setting.
pub fn open_rings(
    options: &Options,
    phase_of: Option<PhaseOf>,
) -> Result<Box<dyn SystemSampler>, OpenError> {
    check(options)?;
    Ok(Box::new(rings::Rings::open(options, phase_of)?))
}

/// Opens the sampler of the own user's processes.
///
/// # Errors
/// Names the setting that forbids even that.
pub fn open_own(options: &Options) -> Result<Box<dyn SystemSampler>, OpenError> {
    check(options)?;
    Ok(Box::new(own::Own::open(options)?))
}

/// Preparation of every sampler: a valid period, and descriptors for each core.
fn check(options: &Options) -> Result<(), OpenError> {
    descriptors::raise(descriptors::ALL);
    match options.period.0 {
        100_000..=1_000_000_000_000 => Ok(()),
        _ => Err(OpenError::Period { period: options.period }),
    }
}

/// A gap that says how many; none if there are none.
fn note_count(gaps: &mut Gaps, kind: GapKind, count: u64, detail: impl FnOnce() -> String) {
    if count > 0 {
        gaps.note(talea_model::Gap { kind, rank: None, detail: detail(), count });
    }
}

//! Samples of all cores, each read from the ring of its core.
//!
//! Owns the rings and their sizes. Each holds the samples of one core and what processes map,
//! execute and are called there, which at one sample a second is nearly all of it: each program
//! that is started costs some microseconds here, which BPF does not.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use talea_model::shares::{Counter, Sampler};
use talea_model::{GapKind, Gaps};
use talea_topology::CpuSet;

use super::clocks::{self, Clocks};
use super::counters::{Counters, Kinds};
use super::error::of_events;
use super::hit::{FileId, Hit};
use super::merge::Merge;
use super::rates::{Rated, Rates};
use super::{OpenError, Options, PhaseOf, SystemSampler, Wake};
use crate::root::Root;
use crate::source::gap;
use crate::sys::buffer::Buffer;
use crate::sys::clock::{self, Group, Recorded};
use crate::sys::perf::{self, Whose};

const WHAT: &str = "sampling every core";
/// Data pages of a ring, least and most; what is mapped counts as memory of this process once it
/// was used.
const PAGES: (u64, u64) = (16, 256);
/// Bytes of a sample, those of the head of its counts, and of a count.
const SAMPLE: u64 = 48;
const COUNTS: u64 = 32;
const COUNT: u64 = 8;

/// The sampler.
pub(super) struct Rings {
    clocks: Clocks<Ring>,
    merge: Merge,
    shape: Shape,
    counters: Counters,
    names: Vec<Counter>,
    /// Counters that cannot be counted here; reported with the first samples.
    untold: Gaps,
    /// Another tool has the counters.
    released: bool,
    /// Samples of each core.
    taken: Vec<u64>,
}

/// Properties of each ring.
#[derive(Clone, Copy, Debug)]
struct Shape {
    recorded: Recorded,
    pages: usize,
}

#[derive(Debug)]
struct Ring {
    event: File,
    buffer: Buffer,
    /// Open for as long as they are to count.
    _counters: Vec<File>,
    /// Reason for which there are none, until it is reported.
    refused: Option<String>,
}

impl AsRef<File> for Ring {
    fn as_ref(&self) -> &File {
        &self.event
    }
}

fn open_ring(
    root: &Root,
    shape: Shape,
    counters: &Counters,
    core: u32,
    period: u64,
) -> Result<Ring, OpenError> {
    let whose = Whose { thread: None, pu: Some(core) };
    let explain = |error| of_events(root, WHAT, 0, error);
    let event = clock::open_recorded(whose, period, shape.recorded).map_err(explain)?;
    let buffer = Buffer::map(&event, shape.pages).map_err(|error| locked(WHAT, error))?;
    // All or none: in a sample they have no names.
    let opened: Result<Vec<File>, _> = counters.open(core, Some(&event)).into_iter().collect();
    perf::start(&event).map_err(explain)?;
    let refused = opened.as_ref().err();
    let refused = refused.map(|error| format!("no counters are read on core {core}: {error}"));
    Ok(Ring { event, buffer, _counters: opened.unwrap_or_default(), refused })
}

/// Meaning of the error when a ring cannot be mapped.
pub(super) fn locked(what: &'static str, error: io::Error) -> OpenError {
    match Errno::from_io_error(&error) {
        Some(Errno::PERM | Errno::AGAIN | Errno::NOMEM) => OpenError::Locked { what },
        _ => OpenError::Io { what, error },
    }
}

/// Whether the kernel's perf events know control groups of version 2: where they are mounted in
/// version 1, samples have its numbers.
fn groups(root: &Root) -> bool {
    let text = root.read("proc/self/cgroup").unwrap_or_default();
    let controllers = text.lines().filter_map(|line| line.split(':').nth(1));
    !controllers.flat_map(|list| list.split(',')).any(|name| name == "perf_event")
}

impl Rings {
    pub(super) fn open(options: &Options, phase_of: Option<PhaseOf>) -> Result<Self, OpenError> {
        let root = Root::machine();
        let mut untold = Gaps::default();
        let counters = Counters::find(&root, &options.counters, Kinds::Software, &mut untold);
        let counts = counters.len() > 0;
        let group = if counts { Group::Read } else { Group::Unread };
        let one = SAMPLE + if counts { COUNTS + COUNT * counters.len() as u64 } else { 0 };
        // Two seconds of samples fit half of it, beside the rest.
        let bytes = one * 4_000_000_000 / options.period.0.max(1);
        let page = rustix::param::page_size() as u64;
        let pages = (bytes / page + PAGES.0).next_power_of_two().clamp(PAGES.0, PAGES.1);
        let wake = match options.wake {
            Wake::HalfFull => Some((pages * page / 2) as u32),
            Wake::EachSample => None,
        };
        let recorded =
            Recorded { groups: groups(&root), processes: true, kernel: true, group, wake };
        let mut shape = Shape { recorded, pages: pages as usize };
        let clocks = Clocks::open(&root, options, |core, period| {
            match open_ring(&root, shape, &counters, core, period) {
                // Older kernels do not know the control group, and those without it neither.
                Err(OpenError::Io { error, .. })
                    if shape.recorded.groups
                        && error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) =>
                {
                    shape.recorded.groups = false;
                    open_ring(&root, shape, &counters, core, period)
                }
                other => other,
            }
        })?;
        let mut merge = Merge::new(&root, phase_of);
        // After the events: what begins meanwhile is in the rings.
        merge.processes.scan();
        merge.rates = counts.then(|| Rates::new(counters.len(), options.period.0));
        let names = counters.names();
        let taken = Vec::new();
        Ok(Self { clocks, merge, shape, counters, names, untold, released: false, taken })
    }
}

impl SystemSampler for Rings {
    fn name(&self) -> Sampler {
        Sampler::Rings
    }

    fn cores(&self) -> CpuSet {
        self.clocks.cores()
    }

    fn collect(&mut self, hits: &mut Vec<Hit>, gaps: &mut Gaps) -> io::Result<()> {
        gaps.merge(std::mem::take(&mut self.untold));
        let now = clocks::now();
        let first = hits.len();
        for clock in &mut self.clocks.all {
            let core = clock.core as usize;
            if self.taken.len() <= core {
                self.taken.resize(core + 1, 0);
            }
            self.taken[core] += self.merge.drain(&mut clock.event.buffer);
            clock.steer(now);
            if let Some(refused) = clock.event.refused.take() {
                gaps.note(gap(GapKind::Missing, refused));
            }
        }
        self.merge.apply(now, hits, gaps);
        let (taken, shape, root) = (&self.taken, self.shape, Root::machine());
        let taken = |core: u32| taken.get(core as usize).copied().unwrap_or(0);
        self.clocks.account(now, taken, (hits, first), gaps);
        let counters = &self.counters;
        self.clocks
            .follow(gaps, taken, |core, period| open_ring(&root, shape, counters, core, period));
        Ok(())
    }

    fn lost_samples(&self) -> u64 {
        self.merge.lost_samples()
    }

    fn counters(&self) -> &[Counter] {
        &self.names
    }

    fn rated(&mut self, rated: &mut Vec<Rated>) -> io::Result<()> {
        if let Some(rates) = &mut self.merge.rates {
            if self.released {
                rates.interrupt();
            }
            let first = rated.len();
            rates.take(rated);
            if self.released {
                rated.truncate(first);
            }
        }
        Ok(())
    }

    // Events of the kernel take no hardware from anybody: they need not be closed to be left alone.
    fn release_counters(&mut self) {
        self.released = true;
    }

    fn resume_counters(&mut self) {
        self.released = false;
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.clocks.all.iter().map(|clock| clock.event.event.as_fd()).collect()
    }

    fn path(&self, file: FileId) -> Option<PathBuf> {
        self.merge.processes.path(file).map(Path::to_owned)
    }
}

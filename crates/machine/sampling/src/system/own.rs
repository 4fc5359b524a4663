//! Samples of the own user's processes, where cores may not be sampled.
//!
//! Owns an event and a small ring for each of their threads, and looking for new ones at each
//! collection. The clock counts while a thread runs, in user mode only: what is idle or in the
//! kernel is not seen, which is a gap. Threads beyond what may be locked in memory or opened are
//! counted as a gap too; processes that computed most since the last look come first.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use talea_model::shares::Sampler;
use talea_model::{GapKind, Gaps};
use talea_topology::CpuSet;

use super::error::of_events;
use super::hit::{FileId, Hit};
use super::merge::Merge;
use super::rings::locked;
use super::steering::Steering;
use super::{OpenError, Options, SystemSampler, Wake, clocks, note_count};
use crate::cpus;
use crate::root::Root;
use crate::source::gap;
use crate::sys::buffer::Buffer;
use crate::sys::clock::{self, Group, Recorded};
use crate::sys::perf::{self, Whose};
use crate::sys::sampled::set_period;

const WHAT: &str = "sampling own processes";
/// Threads at most, whatever the limits allow.
const MOST: usize = 4096;
/// Data pages of a ring.
const PAGES: usize = 2;
/// Shortest time between two looks for new threads, in nanoseconds.
const LOOK: u64 = 1_000_000_000;

/// The sampler.
pub(super) struct Own {
    options: Options,
    root: Root,
    user: u32,
    threads: BTreeMap<u32, Thread>,
    merge: Merge,
    /// Time that each process had computed at the last look, in ticks.
    computed: HashMap<u32, u64>,
    looked: u64,
    /// Threads that could not be opened at the last look.
    left_out: u64,
}

/// A thread that is sampled.
#[derive(Debug)]
struct Thread {
    event: File,
    buffer: Buffer,
    steering: Steering,
    opened: u64,
    taken: u64,
}

impl Thread {
    fn open(root: &Root, options: &Options, tid: u32) -> Result<Self, OpenError> {
        let bytes = (PAGES * rustix::param::page_size() / 2) as u32;
        let wake = (options.wake == Wake::HalfFull).then_some(bytes);
        let recorded =
            Recorded { groups: false, processes: true, kernel: false, group: Group::Unread, wake };
        let mut steering = Steering::new(options.period.0, options.seed, tid);
        let whose = Whose { thread: Some(tid), pu: None };
        let explain = |error| of_events(root, WHAT, 2, error);
        let event = clock::open_recorded(whose, steering.first(), recorded).map_err(explain)?;
        let buffer = Buffer::map(&event, PAGES).map_err(|error| locked(WHAT, error))?;
        perf::start(&event).map_err(explain)?;
        Ok(Self { event, buffer, steering, opened: clocks::now(), taken: 0 })
    }
}

impl Own {
    pub(super) fn open(options: &Options) -> Result<Self, OpenError> {
        let root = Root::machine();
        // Its own thread is always there: what is refused for it is refused for all.
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        drop(Thread::open(&root, options, tid)?);
        let mut own = Self {
            options: options.clone(),
            user: rustix::process::geteuid().as_raw(),
            threads: BTreeMap::new(),
            merge: Merge::new(&root, None),
            computed: HashMap::new(),
            looked: 0,
            left_out: 0,
            root,
        };
        own.look();
        Ok(own)
    }

    /// Opens threads that are new and lets go of those that have ended.
    fn look(&mut self) {
        self.looked = clocks::now();
        let mut processes: Vec<(u64, u32)> = Vec::new();
        let mut computed = HashMap::new();
        for name in self.root.names("proc") {
            let Ok(process) = name.parse::<u32>() else { continue };
            let path = self.root.path(&format!("proc/{process}"));
            if path.metadata().ok().is_none_or(|found| found.uid() != self.user) {
                continue;
            }
            let ticks = ticks(&self.root.read(&format!("proc/{process}/stat")).unwrap_or_default());
            let before = self.computed.get(&process).copied().unwrap_or(0);
            computed.insert(process, ticks);
            processes.push((ticks.saturating_sub(before), process));
        }
        self.computed = computed;
        processes.sort_by_key(|&(ticks, process)| (std::cmp::Reverse(ticks), process));
        let mut there = BTreeMap::new();
        let mut full = false;
        self.left_out = 0;
        for (_, process) in processes {
            for tid in self.root.names(&format!("proc/{process}/task")) {
                let Ok(tid) = tid.parse::<u32>() else { continue };
                if let Some(known) = self.threads.remove(&tid) {
                    there.insert(tid, known);
                    continue;
                }
                full |= there.len() >= MOST;
                if full {
                    self.left_out += 1;
                    continue;
                }
                match Thread::open(&self.root, &self.options, tid) {
                    Ok(thread) => drop(there.insert(tid, thread)),
                    Err(OpenError::Locked { .. } | OpenError::Descriptors { .. }) => {
                        full = true;
                        self.left_out += 1;
                    }
                    Err(OpenError::Io { error, .. })
                        if Errno::from_io_error(&error) == Some(Errno::SRCH) => {}
                    Err(_) => self.left_out += 1,
                }
            }
        }
        // The remaining threads have ended; their last samples were drained just before.
        self.threads = there;
    }
}

/// Time in user and kernel mode in `/proc/PID/stat`, in ticks; the name before may hold anything
/// but its own end.
fn ticks(stat: &str) -> u64 {
    let Some((_, rest)) = stat.rsplit_once(") ") else { return 0 };
    let numbers = rest.split(' ').skip(11).take(2);
    numbers.filter_map(|word| word.parse::<u64>().ok()).fold(0, u64::saturating_add)
}

impl SystemSampler for Own {
    fn name(&self) -> Sampler {
        Sampler::OwnProcesses
    }

    fn cores(&self) -> CpuSet {
        let online = cpus::online(&self.root);
        self.options.cores.as_ref().map_or_else(|| online.clone(), |cores| cores.and(&online))
    }

    fn collect(&mut self, hits: &mut Vec<Hit>, gaps: &mut Gaps) -> io::Result<()> {
        let now = clocks::now();
        for thread in self.threads.values_mut() {
            thread.taken += self.merge.drain(&mut thread.buffer);
            // Only while the thread runs does its clock count: the kernel knows for how long, but a
            // read for each costs more than periods that stay the same for long.
            let elapsed = now.saturating_sub(thread.opened);
            let ran = thread.taken.saturating_mul(self.options.period.0).min(elapsed);
            if let Some(period) = thread.steering.next(ran) {
                let _ = set_period(&thread.event, period);
            }
        }
        let first = hits.len();
        self.merge.apply(now, hits, gaps);
        if let Some(cores) = &self.options.cores {
            let mut at = 0;
            hits.retain(|hit| {
                at += 1;
                at <= first || cores.contains(hit.core as usize)
            });
        }
        for hit in &mut hits[first..] {
            hit.user = Some(self.user);
        }
        if now.saturating_sub(self.looked) >= LOOK.min(self.options.period.0.max(LOOK / 10)) {
            self.look();
        }
        let detail = "only processes of this user are sampled, in user mode: idle cores, the kernel and others' programs are not seen";
        gaps.note(gap(GapKind::Unsupported, detail.to_owned()));
        if !self.options.counters.is_empty() {
            let detail = "no counters are read at samples: that needs whole cores to be sampled";
            gaps.note(gap(GapKind::Unsupported, detail.to_owned()));
        }
        note_count(gaps, GapKind::Missing, self.left_out, || {
            "threads are not sampled, as there is no descriptor or no memory to lock for them (`ulimit -n`, `ulimit -l`)".to_owned()
        });
        Ok(())
    }

    fn lost_samples(&self) -> u64 {
        self.merge.lost_samples()
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.threads.values().map(|thread| thread.event.as_fd()).collect()
    }

    fn path(&self, file: FileId) -> Option<PathBuf> {
        self.merge.processes.path(file).map(Path::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_processes_with_any_name() {
        let stat = "7 (a) R 1 (b) S 1 7 7 0 -1 4194560 120 0 0 0 30 12 0 0 20 0";
        assert_eq!(ticks(stat), 42);
        assert_eq!(ticks("7 (a"), 0);
    }
}

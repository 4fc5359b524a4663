//! Search for threads: new ones are watched, ended ones leave their collected data.
//!
//! Owns the detection of a thread's end: data that the thread itself uses are freed then, so that a
//! wrong result would affect the program. The list of threads is read for new ones, and for
//! candidates that may have ended; the kernel must confirm the end of each by its number.

use std::collections::btree_map::Entry;

use talea_model::GapKind;
use talea_sampling::threads::{OpenThreadError, Sampled};

use super::super::probes::ProbeThread;
use super::super::thread::Watched;
use super::{Helper, name, nanos};
use crate::sys::clock;
use crate::sys::own_threads;

/// Maximum number of watched threads; each has a buffer of its own.
const MOST_THREADS: usize = 4096;

impl Helper<'_> {
    /// Opens events on new threads, and takes the data of ended ones.
    pub(super) fn look_for_threads(&mut self) {
        let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return };
        let mut here: Vec<u32> = tasks
            .flatten()
            .filter_map(|task| task.file_name().to_str()?.parse().ok())
            .filter(|&tid| !own_threads::is_ours(tid))
            .collect();
        here.sort_unstable();
        // The kernel may omit threads from its list while others end: the omission counts only for
        // those that it does not know by number.
        let is_gone = |(&tid, watched): (&u32, &Watched)| {
            let gone = !watched.ended && here.binary_search(&tid).is_err() && !exists(tid);
            gone.then_some(tid)
        };
        let gone: Vec<u32> = self.threads.iter().filter_map(is_gone).collect();
        // After the search: an ended thread has registered before.
        self.waiting.extend(ProbeThread::new_ones());
        for tid in here {
            // Ended threads are kept until they are written, and numbers of threads are reused.
            if !self.threads.contains_key(&tid) && self.threads.len() < MOST_THREADS {
                self.watch(tid);
            }
        }
        self.hand_out_probes();
        let to_nanos = nanos(self.pairs);
        for tid in gone {
            if let Some(watched) = self.threads.get_mut(&tid) {
                watched.end(&mut self.stacks, to_nanos);
            }
        }
    }

    /// A new thread: with events, if it can be sampled.
    fn watch(&mut self, tid: u32) {
        let first = self.options.rank as usize;
        let opened = self.selected.as_ref().map(|selected| Sampled::open(selected, tid, first));
        let events = match opened.transpose() {
            Ok(events) => events,
            Err(OpenThreadError::Gone) => return,
            Err(OpenThreadError::Io(error)) => {
                let gap = (GapKind::Missing, format!("some threads are not sampled: {error}"));
                if !self.gaps.contains(&gap) {
                    self.gaps.push(gap);
                }
                None
            }
        };
        self.threads.insert(tid, Watched::new(tid, self.next, name(tid), events));
        self.next += 1;
        self.came = clock::monotonic();
    }

    /// Joins registered threads with those that were found.
    fn hand_out_probes(&mut self) {
        let to_nanos = nanos(self.pairs);
        let (threads, stacks, next) = (&mut self.threads, &mut self.stacks, &mut self.next);
        self.waiting.retain(|probe| match threads.entry(probe.tid) {
            // One of the same number has ended, and is about to be written.
            Entry::Occupied(watched) if watched.get().ended => true,
            Entry::Occupied(mut watched) if watched.get().is_probed() => {
                // A thread registers once: the one before it has ended, and its number was reused
                // since the last search.
                watched.get_mut().end(stacks, to_nanos);
                true
            }
            Entry::Occupied(mut watched) => {
                watched.get_mut().probed_by(probe);
                false
            }
            // A thread that came after the search, or one for which there is no room.
            Entry::Vacant(_) if exists(probe.tid) => true,
            // One that was too short for any search: its phases are there.
            Entry::Vacant(place) => {
                let watched = place.insert(Watched::new(probe.tid, *next, String::new(), None));
                *next += 1;
                watched.probed_by(probe);
                watched.end(stacks, to_nanos);
                false
            }
        });
    }
}

/// True if the kernel knows a thread of this process by its number; also if it does not answer.
fn exists(tid: u32) -> bool {
    // SAFETY: signal 0 is not delivered; the call only checks for the thread.
    let found = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid as libc::pid_t, 0) };
    found == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_known_by_their_numbers_until_they_end() {
        let thread = std::thread::spawn(|| {
            // SAFETY: the call has no precondition.
            let tid = unsafe { libc::gettid() } as u32;
            assert!(exists(tid));
            tid
        });
        let tid = thread.join().unwrap();
        // A join returns a moment before the kernel has forgotten the thread.
        let forgotten = (0..1_000_000).any(|_| {
            std::thread::yield_now();
            !exists(tid)
        });
        assert!(forgotten, "thread {tid} has ended");
    }
}

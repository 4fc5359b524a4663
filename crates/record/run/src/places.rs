//! PUs on which the threads of a process may run, and ran.
//!
//! Owns the record of a thread's place and its bytes in a live file. PUs have the operating
//! system's numbers; the topology of the host, beside the recording, has their objects. Sets of PUs
//! are kept in the kernel's list form and are not parsed here.

use talea_model::Nanos;

use crate::live::numbers::{Cursor, put_number, put_text};

/// Maximum number of threads of a process whose places are kept; programs with more are covered in
/// part.
pub const MOST_THREADS: usize = 1024;

/// A thread's place, from the kernel, when the process began or ended its recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPlace {
    /// The operating system's number of the thread.
    pub tid: u32,
    /// Its name, as the program or a library set it.
    pub name: String,
    /// PUs on which it may run, as a list of `proc_pid_status(5)`: `0-3,8`; empty where the kernel
    /// has none.
    pub allowed: String,
    /// The PU on which it ran last.
    pub last: u32,
    /// Time on PUs, user and kernel, to a hundredth of a second.
    pub busy: Nanos,
}

/// The kernel counts in hundredths of a second.
const STEP: u64 = 10_000_000;

impl ThreadPlace {
    /// Appends the record.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_number(out, u64::from(self.tid));
        put_text(out, &self.name);
        put_text(out, &self.allowed);
        put_number(out, u64::from(self.last));
        put_number(out, self.steps());
    }

    /// Reads a record.
    pub fn get(from: &mut Cursor<'_>) -> Option<Self> {
        Some(Self {
            tid: u32::try_from(from.number()?).ok()?,
            name: from.text()?,
            allowed: from.text()?,
            last: u32::try_from(from.number()?).ok()?,
            busy: Self::of_steps(from.number()?),
        })
    }

    pub(crate) fn steps(&self) -> u64 {
        self.busy.0 / STEP
    }

    pub(crate) fn of_steps(steps: u64) -> Nanos {
        Nanos(steps.saturating_mul(STEP))
    }
}

/// The newest record of each thread, by its number.
pub(crate) fn newest(records: Vec<ThreadPlace>) -> Vec<ThreadPlace> {
    let by_thread: std::collections::BTreeMap<u32, ThreadPlace> =
        records.into_iter().map(|place| (place.tid, place)).collect();
    by_thread.into_values().take(MOST_THREADS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_come_back(
            tid: u32,
            name: String,
            allowed: String,
            last: u32,
            steps in 0..u64::MAX / STEP
        ) {
            let place = ThreadPlace {
                tid,
                name,
                allowed,
                last,
                busy: ThreadPlace::of_steps(steps)
            };
            let mut out = Vec::new();
            place.put(&mut out);
            prop_assert_eq!(ThreadPlace::get(&mut Cursor::new(&out)), Some(place));
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = ThreadPlace::get(&mut Cursor::new(&bytes));
        }
    }

    #[test]
    fn the_end_says_more_than_the_begin() {
        let place = |tid, last| ThreadPlace {
            tid,
            name: "demo".into(),
            allowed: "0-3".into(),
            last,
            busy: Nanos(0),
        };
        assert_eq!(newest(vec![place(7, 0), place(9, 2), place(7, 1)]), [place(7, 1), place(9, 2)]);
    }
}

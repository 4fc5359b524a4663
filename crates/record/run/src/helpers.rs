//! Accesses to files with a deadline: a file system whose server is down blocks the accessing
//! thread until the server is back.
//!
//! Owns the threads that access files for their caller, and the caller's wait. A place without an
//! answer is not accessed again until the blocked access has ended: it costs one thread and one
//! wait, however often it is needed. A thread that waits in the kernel cannot be ended; it ends
//! with the process, or when the file system answers again. It refuses to know the meaning of a
//! place: callers name file systems without access to them.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SendError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type Work = Box<dyn FnOnce() + Send>;

/// Threads that access places. One works at a time; the others wait for an answer in the kernel.
pub struct Helpers<P> {
    patience: Duration,
    most: usize,
    worker: Mutex<Option<Sender<Work>>>,
    /// Places whose access has not ended, and whether it has by now.
    stuck: Mutex<HashMap<P, Arc<AtomicBool>>>,
}

/// Notes that an access ended, also by a panic.
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Eq + Hash> Helpers<P> {
    /// Callers wait for `patience` at most. While `most` accesses have not ended, none begins.
    pub fn new(patience: Duration, most: usize) -> Self {
        Self { patience, most, worker: Mutex::default(), stuck: Mutex::default() }
    }

    /// Result of an access to a place; none without an answer in time, or while an earlier access
    /// to the place has not ended.
    pub fn ask<T: Send + 'static>(
        &self,
        place: P,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.ask_within(Duration::MAX, place, look)
    }

    /// The same for a caller with less time: none too where the place needs longer than `longest`.
    pub fn ask_within<T: Send + 'static>(
        &self,
        longest: Duration,
        place: P,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        {
            let mut stuck = locked(&self.stuck);
            stuck.retain(|_, ended| !ended.load(Ordering::Acquire));
            if stuck.len() >= self.most || stuck.contains_key(&place) {
                return None;
            }
        }
        let (answers, answer) = channel();
        let ended = Arc::new(AtomicBool::new(false));
        let note = Ended(Arc::clone(&ended));
        let work = move || {
            let _note = note;
            // A caller that does not wait any more needs no answer.
            let _ = answers.send(look());
        };
        let mut worker = locked(&self.worker);
        send(&mut worker, Box::new(work))?;
        match answer.recv_timeout(self.patience.min(longest)) {
            Ok(found) => Some(found),
            Err(error) => {
                // The thread ends after its work; the next access has a new one.
                *worker = None;
                if error == RecvTimeoutError::Timeout {
                    locked(&self.stuck).insert(place, ended);
                }
                None
            }
        }
    }
}

/// Gives work to the thread that waits for it, or to a new one. None where the system gives no
/// thread.
fn send(worker: &mut Option<Sender<Work>>, work: Work) -> Option<()> {
    let work = match worker.as_ref() {
        None => work,
        Some(waits) => match waits.send(work) {
            Ok(()) => return Some(()),
            Err(SendError(work)) => work,
        },
    };
    begin(worker, work)
}

fn begin(worker: &mut Option<Sender<Work>>, work: Work) -> Option<()> {
    let (sender, receiver) = channel::<Work>();
    let named = std::thread::Builder::new().name("files".to_owned());
    named.spawn(move || receiver.into_iter().for_each(|work| work())).ok()?;
    let sent = sender.send(work);
    *worker = Some(sender);
    sent.ok()
}

impl<P> fmt::Debug for Helpers<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helpers").field("patience", &self.patience).finish_non_exhaustive()
    }
}

/// Where the file system of a path is mounted, by the kernel's list (`/proc/self/mountinfo`,
/// proc(5)): no file system is asked.
pub fn mount_of(path: &Path) -> PathBuf {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mount_in(&text, path)
}

fn mount_in(text: &str, path: &Path) -> PathBuf {
    let places = text.lines().filter_map(|line| Some(unescaped(line.split(' ').nth(4)?)));
    let above = places.filter(|place| path.starts_with(place));
    above.max_by_key(|place| place.as_os_str().len()).unwrap_or_else(|| PathBuf::from("/"))
}

/// Blanks and line ends in paths are octal numbers there.
fn unescaped(text: &str) -> PathBuf {
    let plain = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    plain.iter().fold(text.to_owned(), |text, (code, sign)| text.replace(code, sign)).into()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;
    use std::time::Instant;

    use super::*;

    /// An access that ends when its sender is used or dropped.
    fn hanging() -> (Sender<()>, impl FnOnce() + Send + 'static) {
        let (release, waits): (Sender<()>, Receiver<()>) = channel();
        (release, move || {
            let _ = waits.recv();
        })
    }

    /// Repeats until the place answers: a released access has to end first.
    fn answers(helpers: &Helpers<&'static str>, place: &'static str) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) {
            if helpers.ask(place, || 7) == Some(7) {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }

    #[test]
    fn a_place_that_does_not_answer_keeps_no_others() {
        let helpers = Helpers::new(Duration::from_millis(100), 4);
        assert_eq!(helpers.ask("a", || 1), Some(1));
        let (release, look) = hanging();
        assert_eq!(helpers.ask("hung", look), None);
        // No second wait for the place, while others answer.
        let begin = Instant::now();
        for _ in 0..1000 {
            assert_eq!(helpers.ask("hung", || 2), None);
        }
        assert!(begin.elapsed() < Duration::from_secs(50), "each waited anew");
        assert!(answers(&helpers, "a"));
        drop(release);
        assert!(answers(&helpers, "hung"));
    }

    #[test]
    fn a_caller_with_less_time_waits_no_longer() {
        let helpers = Helpers::new(Duration::from_mins(10), 4);
        let (release, look) = hanging();
        let begin = Instant::now();
        assert_eq!(helpers.ask_within(Duration::from_millis(50), "slow", look), None);
        assert!(begin.elapsed() < Duration::from_mins(5));
        assert_eq!(helpers.ask("slow", || 1), None);
        drop(release);
        assert!(answers(&helpers, "slow"));
    }

    #[test]
    fn looks_that_do_not_end_are_bounded() {
        let helpers = Helpers::new(Duration::from_millis(50), 2);
        let (first, look) = hanging();
        assert_eq!(helpers.ask("a", look), None);
        let (_second, look) = hanging();
        assert_eq!(helpers.ask("b", look), None);
        assert_eq!(helpers.ask("c", || 1), None);
        drop(first);
        assert!(answers(&helpers, "c") && answers(&helpers, "a"));
        assert_eq!(helpers.ask("b", || 1), None);
    }

    #[test]
    fn a_look_that_ends_by_a_bug_is_no_answer_and_the_next_one_is() {
        let helpers = Helpers::new(Duration::from_secs(20), 2);
        assert_eq!(helpers.ask("a", || -> u32 { panic!("on purpose") }), None);
        assert_eq!(helpers.ask("a", || 3), Some(3));
    }

    #[test]
    fn places_are_known_without_asking_them() {
        let text = "22 28 0:21 / / rw - ext4 /dev/a rw\n\
                    23 22 0:22 / /home rw - nfs s:/h rw\n\
                    24 23 0:23 / /home/a\\040b rw - fuse f rw\n\
                    25 22 0:24 / /homes rw - tmpfs t rw\n";
        let place = |path: &str| mount_in(text, Path::new(path)).display().to_string();
        assert_eq!(place("/home/c/d"), "/home");
        assert_eq!(place("/home/a b/d"), "/home/a b");
        assert_eq!(place("/homes/d"), "/homes");
        assert_eq!(place("/bin/x"), "/");
        assert_eq!(mount_in("", Path::new("/x")), Path::new("/"));
        assert_eq!(mount_of(Path::new("/proc/self/maps")), Path::new("/proc"));
    }
}

//! Threads that work beside the program until they are asked to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

/// A thread with the result of its work.
#[derive(Debug)]
pub(super) struct Worker<T> {
    stop: Arc<AtomicBool>,
    thread: io::Result<JoinHandle<T>>,
}

impl<T: Send + 'static> Worker<T> {
    /// `work` gets a flag that is true when it has to stop; it may park meanwhile.
    pub(super) fn start(name: &str, work: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = Builder::new().name(name.to_owned()).spawn(move || work(&seen));
        Self { stop, thread }
    }

    /// Stops the thread; returns its result.
    ///
    /// # Errors
    /// The system had no thread, or the work panicked.
    pub(super) fn finish(self) -> io::Result<T> {
        self.stop.store(true, Ordering::Release);
        let thread = self.thread?;
        thread.thread().unpark();
        thread.join().map_err(|_| io::Error::other("a bug stopped it, please report it"))
    }
}

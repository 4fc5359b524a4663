//! The page of a running program: `talea watch --page` and `talea run --page`.
//!
//! Owns the thread that looks at a program while `talea run` waits for it, and the text with the
//! page's address. The page itself is `talea-page`'s.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use talea_model::Nanos;
use talea_page::hosts::Job;
use talea_page::{About, Page, PageError, Port};
use talea_run::{Metadata, RunDirectory};

use crate::terminal::say;

/// Time between the looks of `talea run`.
const EVERY: Nanos = Nanos(1_000_000_000);
/// Maximum time for reading the rest of an ended program.
const REST: Duration = Duration::from_secs(5);

/// Opens the page of a run; `path` is its directory as the user knows it.
pub(crate) fn open(
    port: Port,
    path: &Path,
    metadata: &Metadata,
    every_ns: Nanos,
) -> Result<Page, PageError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let path = path.display().to_string();
    let about = About { name, path, command: metadata.command.clone(), every_ns };
    port.open(&about)
}

/// The page beside a program, if there is one.
#[derive(Debug)]
pub(crate) struct Background {
    port: Option<Port>,
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Background {
    /// Takes the port, so that a program whose page is impossible is not started.
    pub(crate) fn new(port: Option<u16>) -> Result<Self, PageError> {
        Ok(Self { port: port.map(Port::take).transpose()?, running: None })
    }

    /// Opens the page of a program that has just started, and prints its address.
    pub(crate) fn start(&mut self, directory: &RunDirectory, metadata: &Metadata) {
        let Some(port) = self.port.take() else { return };
        let page = match open(port, directory.path(), metadata, EVERY) {
            Ok(page) => page,
            Err(error) => return say(&format!("warning: {error}")),
        };
        say(&format!("page of the running program, on this machine: {}", page.url()));
        let (stop, stopped) = channel();
        let directory = directory.clone();
        let thread = std::thread::Builder::new().name("talea-watch".to_owned()).spawn(move || {
            let mut watched = Job::new(directory);
            let every = Duration::from_nanos(EVERY.0);
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                page.show(&watched.look(every / 2));
            }
            let begin = Instant::now();
            let mut data = watched.look(every);
            while !data.is_last() && begin.elapsed() < REST {
                data = watched.look(every);
            }
            // The program has ended, whatever its processes left behind.
            data.running = false;
            data.new_events = 0;
            page.show(&data);
            page.close();
        });
        match thread {
            Ok(thread) => self.running = Some((stop, thread)),
            Err(error) => {
                say(&format!("warning: the page is closed, its thread cannot start: {error}"));
            }
        }
    }

    /// Shows the end of the program and closes the page.
    pub(crate) fn finish(self) {
        if let Some((stop, thread)) = self.running {
            drop(stop);
            // A bug of the page has been reported, and is no part of the run.
            let _ = thread.join();
        }
    }
}

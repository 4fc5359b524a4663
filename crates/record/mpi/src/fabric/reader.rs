//! Readings of this node's ports, into the node's file.
//!
//! Owns the file: its head lists the ports and the reader, then each reading is appended with one
//! system call. Its size is bounded: with each half of the remaining bound readings become half as
//! frequent. Ports are those of `/sys`, see [`talea_sampling::fabric`].

use std::io::{self, Write as _};
use std::path::PathBuf;

use talea_model::{Gaps, Nanos};
use talea_run::counters::{Clocks, MOST_BYTES, Notes, note};
use talea_sampling::Root;
use talea_sampling::fabric::{CounterSource, Files, Port, PortKind, of_machine, recorded};

use crate::sys::clock;
use crate::sys::kept_file::KeptFile;

/// Maximum number of doublings of the interval.
const MOST_HALVES: u32 = 32;

#[derive(Debug)]
pub(super) struct Reader {
    source: Files,
    file: KeptFile,
    clocks: Clocks,
    interval: Nanos,
    /// Bytes of the file, and number of doublings of the interval.
    written: u64,
    halves: u32,
    /// True if the file cannot be written any more.
    failed: bool,
}

impl Reader {
    /// Creates the node's file with the first reading; also returns the file's beginning. An error
    /// if there is such a file.
    pub(super) fn create(path: PathBuf, host: &str, interval: Nanos) -> io::Result<(Self, String)> {
        // First, as other processes of the node try the same.
        let file = KeptFile::create(path)?;
        let mut gaps = Gaps::default();
        let root = Root::machine();
        let source = of_machine(&root, &mut gaps);
        let (realtime, monotonic) = (Nanos(clock::realtime()), Nanos(clock::monotonic()));
        let clocks = Clocks { realtime, monotonic };
        let above = source.ports().iter().filter(|port| is_above_others(&root, port));
        let notes = Notes {
            host: host.to_owned(),
            pid: Some(std::process::id()),
            asked: Some(interval),
            interval: Some(interval),
            clocks: Some(clocks),
            above: above.map(|port| port.name.clone()).collect(),
            gaps: gaps.iter().map(|gap| gap.detail.clone()).collect(),
            ended: None,
        };
        let head = recorded::head(&source) + &notes.text();
        let mut reader =
            Self { source, file, clocks, interval, written: 0, halves: 0, failed: false };
        reader.append(&head);
        reader.read();
        Ok((reader, head))
    }

    /// Interval between two readings.
    pub(super) fn interval(&self) -> Nanos {
        self.interval
    }

    /// Reads all ports once.
    pub(super) fn read(&mut self) {
        // The date of the beginning, and steps of a monotonic clock.
        let passed = clock::monotonic().saturating_sub(self.clocks.monotonic.0);
        let at = Nanos(self.clocks.realtime.0.saturating_add(passed));
        // Unreadable counters are absent in the text.
        let Some(readings) = self.source.read(at, &mut Gaps::default()) else { return };
        self.append(&recorded::totals(self.source.ports(), at, &readings));
        let left = MOST_BYTES >> self.halves.min(MOST_HALVES);
        if self.written > MOST_BYTES - left / 2 && self.halves < MOST_HALVES {
            self.halves += 1;
            self.interval = Nanos(self.interval.0.saturating_mul(2));
            let gap = "the file of counters became large: readings became half as many";
            self.append(&(note("interval", &self.interval.0.to_string()) + &note("gap", gap)));
        }
    }

    /// The last reading, and the reason for it.
    pub(super) fn end(mut self, why: &str) {
        self.read();
        self.append(&note("ended", why));
    }

    /// Without room on the disk readings end here; the missing end of the file shows this.
    fn append(&mut self, text: &str) {
        if !self.failed {
            self.failed = self.file.write_all(text.as_bytes()).is_err();
            self.written += text.len() as u64;
        }
    }
}

/// Interfaces such as bonds and bridges send through others, which count the same bytes: the kernel
/// links to these as `lower_NAME`.
fn is_above_others(root: &Root, port: &Port) -> bool {
    let links = || root.names(&format!("sys/class/net/{}", port.name));
    port.kind == PortKind::Ethernet && links().iter().any(|name| name.starts_with("lower_"))
}

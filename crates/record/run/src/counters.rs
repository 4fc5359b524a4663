//! Counters of the network that the nodes of a job kept: their files, and the notes in them.
//!
//! Owns the names below a run directory, `RUN/fabric/HOST.counters`, and the notes in the files:
//! the reader, its interval, its clocks, and the reason for its end. The counters have the text
//! form of `talea_sampling::fabric::recorded`, which treats notes as comments: a line begins with
//! `#!`, followed by a word for its kind. It refuses to know the meaning of a counter. Each reading
//! is appended when it is made, so that `kill -9` loses only later ones.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use talea_model::{Gaps, Nanos};

use crate::directory::{RunDirectory, entries, plain_host};

/// Ending of the files.
const ENDING: &str = "counters";
/// Beginning of a note.
const NOTE: &str = "#!";
/// Size of a file from which on its writer makes fewer readings; the file stays below twice of it.
pub const MOST_BYTES: u64 = 64 << 20;
/// Bytes at the begin and the end of a file in which the notes about its process are.
const PART: u64 = 64 << 10;
/// Maximum number of notes of one kind.
const MOST_NOTES: usize = 1 << 12;

/// The folder of counters of a run.
pub fn folder(directory: &Path) -> PathBuf {
    directory.join("fabric")
}

/// The file of a node in such a folder, or in the folder of live files on the node's own disk.
pub fn file(folder: &Path, host: &str) -> PathBuf {
    folder.join(format!("{}.{ENDING}", plain_host(host)))
}

/// True for a file of counters, by its name.
pub fn is_counters(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

/// The files of a run, by name; empty where none were kept.
pub fn files(directory: &RunDirectory) -> io::Result<Vec<PathBuf>> {
    match entries(&folder(directory.path())) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        found => Ok(found?.into_iter().filter(|path| is_counters(path)).collect()),
    }
}

/// A file's whole lines: a line that was being written when its writer was killed is incomplete.
///
/// # Errors
/// Error of the system, no regular file, or a file larger than any writer makes.
pub fn read(path: &Path) -> io::Result<String> {
    let found = std::fs::metadata(path)?;
    // Before opening, because opening a pipe would wait for its writer.
    if !found.is_file() || found.len() > 4 * MOST_BYTES {
        return Err(io::Error::other("expected a regular file below 256 MiB"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(4 * MOST_BYTES).read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    bytes.truncate(end);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The process that reads into a file, until it has made its last reading; `None` without a file.
pub fn process_at_work(path: &Path) -> Option<u32> {
    let mut file = File::open(path).ok()?;
    let mut part = || {
        let mut bytes = Vec::new();
        file.by_ref().take(PART).read_to_end(&mut bytes).ok()?;
        let length = file.seek(SeekFrom::End(0)).ok()?;
        file.seek(SeekFrom::Start(length.saturating_sub(PART))).ok()?;
        Some(Notes::parse(&String::from_utf8_lossy(&bytes)))
    };
    let (begin, end) = (part()?, part()?);
    begin.pid.filter(|_| end.ended.is_none())
}

/// Notes of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The node, with its processes' name for it; empty where unknown.
    pub host: String,
    /// The process that read.
    pub pid: Option<u32>,
    /// Requested interval between readings.
    pub asked: Option<Nanos>,
    /// Interval between readings at the end, which are further apart where the file became large.
    pub interval: Option<Nanos>,
    /// The two clocks of the node at one time: times of readings continue the first by steps of the
    /// second.
    pub clocks: Option<Clocks>,
    /// Ports on top of others, which count the same bytes again.
    pub above: Vec<String>,
    /// Counters that could not be read, or were read less often.
    pub gaps: Vec<String>,
    /// The reason for the end of the readings; `None` where there is no note.
    pub ended: Option<String>,
}

/// The two clocks at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// `CLOCK_REALTIME`, in nanoseconds since 1970.
    pub realtime: Nanos,
    /// `CLOCK_MONOTONIC` of the node.
    pub monotonic: Nanos,
}

impl Clocks {
    /// The time of a reading on the node's `CLOCK_MONOTONIC`; `None` before it began to count.
    pub fn monotonic_of(self, at: Nanos) -> Option<Nanos> {
        let monotonic =
            i128::from(at.0) - i128::from(self.realtime.0) + i128::from(self.monotonic.0);
        u64::try_from(monotonic).ok().map(Nanos)
    }
}

/// Summary of the counters of a run's nodes, for `run.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Requested interval between readings.
    pub interval_ns: Nanos,
    /// Nodes with counters.
    pub nodes: Vec<String>,
    /// Number of ports of all of them.
    pub ports: u64,
    /// Number of readings of all of them.
    pub readings: u64,
    /// Gaps of them.
    pub gaps: Gaps,
}

/// One note; `of` is the word for its kind.
pub fn note(of: &str, text: &str) -> String {
    let harmless = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(harmless).take(400).collect();
    format!("{NOTE} {of} {}\n", text.trim())
}

impl Notes {
    /// The text after the head of the counters.
    pub fn text(&self) -> String {
        let mut text = note("host", &self.host);
        let _ = self.pid.map(|pid| text.write_str(&note("process", &pid.to_string())));
        let last = self.interval.filter(|_| self.interval != self.asked);
        for interval in self.asked.into_iter().chain(last) {
            text.push_str(&note("interval", &interval.0.to_string()));
        }
        if let Some(Clocks { realtime, monotonic }) = self.clocks {
            text.push_str(&note("clocks", &format!("{} {}", realtime.0, monotonic.0)));
        }
        self.above.iter().for_each(|port| text.push_str(&note("above", port)));
        self.gaps.iter().for_each(|gap| text.push_str(&note("gap", gap)));
        text
    }

    /// The notes of a file, anywhere in it; other lines are ignored.
    pub fn parse(text: &str) -> Self {
        let mut notes = Self::default();
        let kept = |list: &mut Vec<String>, text: &str| {
            if list.len() < MOST_NOTES {
                list.push(text.to_owned());
            }
        };
        for line in text.lines() {
            let Some(line) = line.strip_prefix(NOTE) else { continue };
            let (of, text) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            match of {
                "host" => text.clone_into(&mut notes.host),
                "process" => notes.pid = text.parse().ok(),
                "interval" => {
                    notes.interval = text.parse().ok().map(Nanos);
                    notes.asked = notes.asked.or(notes.interval);
                }
                "clocks" => {
                    let pair = text.split_once(' ').and_then(|(realtime, monotonic)| {
                        Some((realtime.parse().ok()?, monotonic.parse().ok()?))
                    });
                    notes.clocks = pair.map(|(realtime, monotonic)| Clocks {
                        realtime: Nanos(realtime),
                        monotonic: Nanos(monotonic),
                    });
                }
                "above" => kept(&mut notes.above, text),
                "gap" => kept(&mut notes.gaps, text),
                "ended" => notes.ended = Some(text.to_owned()),
                _ => {}
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn notes() -> Notes {
        Notes {
            host: "node 1".to_owned(),
            pid: Some(4711),
            asked: Some(Nanos(1_000_000_000)),
            interval: Some(Nanos(2_000_000_000)),
            clocks: Some(Clocks { realtime: Nanos(1000), monotonic: Nanos(7) }),
            above: vec!["bond0".to_owned(), "br0".to_owned()],
            gaps: vec!["port `cxi1` has no folder".to_owned()],
            ended: None,
        }
    }

    #[test]
    fn notes_are_read_as_they_were_written() {
        let text = notes().text();
        assert!(text.lines().all(|line| line.starts_with("#! ")), "{text}");
        assert_eq!(Notes::parse(&text), notes());
        let ended = format!("{text}at 5\n1 2\n{}", note("ended", "MPI_Finalize"));
        assert_eq!(Notes::parse(&ended).ended.as_deref(), Some("MPI_Finalize"));
        assert_eq!(note("gap", "two\nlines"), "#! gap two lines\n");
    }

    #[test]
    fn times_of_readings_are_those_of_the_clock_that_nobody_sets() {
        let clocks = notes().clocks.unwrap();
        assert_eq!(clocks.monotonic_of(Nanos(1005)), Some(Nanos(12)));
        assert_eq!(clocks.monotonic_of(Nanos(994)), Some(Nanos(1)));
        assert_eq!(clocks.monotonic_of(Nanos(5)), None);
    }

    #[test]
    fn files_are_found_and_cut_at_whole_lines() {
        let run = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(Some(&run.path().join("run")), "run").unwrap();
        assert_eq!(files(&directory).unwrap(), Vec::<PathBuf>::new());
        let folder = folder(directory.path());
        std::fs::create_dir(&folder).unwrap();
        let path = file(&folder, "a/b");
        std::fs::write(&path, b"at 1\n47\xff 2\nat 2\n47").unwrap();
        std::fs::write(folder.join("other.txt"), "").unwrap();
        assert_eq!(files(&directory).unwrap(), [folder.join("a_b.counters")]);
        assert_eq!(read(&path).unwrap(), "at 1\n47\u{fffd} 2\nat 2\n");
        assert!(read(&folder).is_err());
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "([#! a-z0-9]{0,20}\n?){0,20}") {
            let _ = Notes::parse(&text);
        }
    }
}

//! Programs that stop where their test asks them to, and what a reader sees of them meanwhile.
//!
//! Owns the way a program and its test talk: it says a word, and waits for a line. Each test
//! program has what it needs of this.
#![allow(dead_code, reason = "no test program needs all of it")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use talea_mark::reader::{self, Table};

/// The library that cargo made for these tests.
pub(crate) fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let library = own.parent().unwrap().join("libtalea_mark.so");
    assert!(library.exists(), "not built: {}", library.display());
    library
}

/// What a reader does: find the table in the maps, read it from the memory of the process.
pub(crate) fn table_of(process: u32) -> Option<Table> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let range = reader::table_in(&maps)?;
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let memory = std::fs::File::open(format!("/proc/{process}/mem")).ok()?;
    memory.read_exact_at(&mut bytes, range.start).ok()?;
    Some(Table::from_bytes(&bytes).unwrap())
}

/// A program that stops where its test asks it to.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) words: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn new(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let words = BufReader::new(child.stdout.take().unwrap());
        Self { child, words }
    }

    /// Its next word.
    pub(crate) fn word(&mut self) -> String {
        let mut line = String::new();
        self.words.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn table(&self) -> Table {
        table_of(self.child.id()).unwrap()
    }

    /// Waits for a word, and reads the table.
    pub(crate) fn at(&mut self, word: &str) -> Table {
        assert_eq!(self.word(), word);
        self.table()
    }

    /// The phase of its first thread at a word, and goes on.
    pub(crate) fn phase_at(&mut self, word: &str) -> Option<String> {
        let phase = self.at(word).phase_of(self.child.id()).map(ToOwned::to_owned);
        self.go_on();
        phase
    }

    pub(crate) fn go_on(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// Resident memory, in KiB.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line =
            status.lines().find_map(|l| l.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        line.unwrap().trim().parse().unwrap()
    }

    /// It ends where it waits.
    pub(crate) fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    /// It goes on to its end.
    pub(crate) fn finish(mut self) {
        self.go_on();
        self.end();
    }
}

//! Generated traces of known truth in Paraver's form: `.prv`, `.pcf` and `.row`.
//!
//! Owns the text of records, labels and names of rows, in the form in which Extrae writes them, and
//! counts of what was written. Programs of this folder add the truth about their computation. It
//! refuses to use the product's writer: readers are tested against a second source.

pub mod beside;
pub mod sampled;
pub mod steps;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Instructions that were completed.
pub const INSTRUCTIONS: u32 = 42_000_050;
/// Cycles.
pub const CYCLES: u32 = 42_000_059;
/// Begin and end of a routine of the user.
pub const USER_FUNCTION: u32 = 60_000_019;
/// Calls of MPI between two ranks, between all ranks, and others.
pub const POINT_TO_POINT: u32 = 50_000_001;
/// See [`POINT_TO_POINT`].
pub const COLLECTIVE: u32 = 50_000_002;
/// See [`POINT_TO_POINT`].
pub const OTHER: u32 = 50_000_003;
/// Routine and line that call MPI.
pub const CALLER: u32 = 70_000_001;
/// See [`CALLER`].
pub const CALLER_LINE: u32 = 80_000_001;
/// Routine and line of a sample.
pub const SAMPLED: u32 = 30_000_000;
/// See [`SAMPLED`].
pub const SAMPLED_LINE: u32 = 30_000_100;
/// State of a thread that computes.
pub const RUNNING: u32 = 1;

/// The three files of a trace.
#[derive(Clone, Debug)]
pub struct Files {
    /// Records.
    pub prv: String,
    /// Labels.
    pub pcf: String,
    /// Names of rows.
    pub row: String,
}

impl Files {
    /// Writes `NAME.prv`, `NAME.pcf` and `NAME.row` into a folder. The path of the first.
    ///
    /// # Panics
    ///
    /// If the folder cannot be written.
    #[must_use]
    pub fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let path = |end: &str| folder.join(format!("{name}.{end}"));
        for (end, text) in [("prv", &self.prv), ("pcf", &self.pcf), ("row", &self.row)] {
            std::fs::write(path(end), text).expect("the folder can be written");
        }
        path("prv")
    }
}

/// A thread of a task of an application, all counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thread {
    /// Processor, counted from 1.
    pub cpu: u32,
    /// Application.
    pub application: u32,
    /// Task of the application.
    pub task: u32,
    /// Thread of the task.
    pub thread: u32,
}

impl Thread {
    /// The only thread of a task of the first application, on a processor of its own.
    #[must_use]
    pub fn of_task(task: u32) -> Self {
        Self { cpu: task, application: 1, task, thread: 1 }
    }

    fn place(self) -> String {
        let Self { cpu, application, task, thread } = self;
        format!("{cpu}:{application}:{task}:{thread}")
    }
}

/// Number of records of each kind, and of pairs in events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// States.
    pub states: usize,
    /// Events.
    pub events: usize,
    /// Pairs of type and value in all events.
    pub pairs: usize,
    /// Messages.
    pub messages: usize,
}

/// Records in the order in which they were added; their text is in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Records {
    lines: Vec<(u64, String)>,
    counts: Counts,
}

impl Records {
    /// Adds a state from a time to another.
    pub fn state(&mut self, of: Thread, begin: u64, end: u64, state: u32) {
        self.counts.states += 1;
        self.lines.push((begin, format!("1:{}:{begin}:{end}:{state}", of.place())));
    }

    /// Adds an event with pairs of type and value.
    pub fn event(&mut self, of: Thread, time: u64, pairs: &[(u32, u64)]) {
        self.counts.events += 1;
        self.counts.pairs += pairs.len();
        let mut line = format!("2:{}:{time}", of.place());
        for (kind, value) in pairs {
            let _ = write!(line, ":{kind}:{value}");
        }
        self.lines.push((time, line));
    }

    /// Adds a message: logical and physical times at its sender and at its receiver, its size in
    /// bytes and its tag. It stands where it was sent.
    pub fn message(&mut self, ends: [(Thread, [u64; 2]); 2], size: u64, tag: u32) {
        self.message_at(ends[0].1[0], ends, size, tag);
    }

    /// Adds a message that stands among the records of another time.
    pub fn message_at(&mut self, time: u64, ends: [(Thread, [u64; 2]); 2], size: u64, tag: u32) {
        self.counts.messages += 1;
        let [from, to] =
            ends.map(|(of, [logical, physical])| format!("{}:{logical}:{physical}", of.place()));
        self.lines.push((time, format!("3:{from}:{to}:{size}:{tag}")));
    }

    /// Adds the records of another list behind the own ones.
    pub fn append(&mut self, mut others: Self) {
        self.lines.append(&mut others.lines);
        self.counts.states += others.counts.states;
        self.counts.events += others.counts.events;
        self.counts.pairs += others.counts.pairs;
        self.counts.messages += others.counts.messages;
    }

    /// Number of records so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The text of a trace that lasts so many nanoseconds, on one node, with the tasks of each
    /// application, and lines of communicators and comments. Records of a time stay in their order.
    #[must_use]
    pub fn text(mut self, end: u64, applications: &[u32], head: &[String]) -> String {
        self.lines.sort_by_key(|line| line.0);
        let cpus: u32 = applications.iter().sum();
        let tasks = applications
            .iter()
            .map(|&tasks| format!("{tasks}({})", vec!["1:1"; tasks as usize].join(",")));
        let tasks = tasks.collect::<Vec<_>>().join(",");
        let mut text = format!(
            "#Paraver (01/01/2026 at 10:00):{end}_ns:1({cpus}):{}:{tasks},{}\n",
            applications.len(),
            head.iter().filter(|line| line.starts_with('c')).count()
        );
        let lines = self.lines.iter().map(|(_, line)| line);
        for line in head.iter().chain(lines) {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

/// Communicators of an application: one of all tasks, and one of each task.
#[must_use]
pub fn communicators(application: u32, tasks: u32) -> Vec<String> {
    let all: Vec<String> = (1..=tasks).map(|task| task.to_string()).collect();
    let mut lines = vec![format!("c:{application}:1:{tasks}:{}", all.join(":"))];
    lines.extend((1..=tasks).map(|task| format!("c:{application}:{}:1:{task}", task + 1)));
    lines
}

/// Names of processors, of the node and of the threads, for tasks of one thread each.
#[must_use]
pub fn rows(node: &str, applications: &[u32]) -> String {
    let cpus: u32 = applications.iter().sum();
    let mut text = format!("LEVEL CPU SIZE {cpus}\n");
    for cpu in 1..=cpus {
        let _ = writeln!(text, "{cpu}.{node}");
    }
    let _ = write!(text, "\nLEVEL NODE SIZE 1\n{node}\n\nLEVEL THREAD SIZE {cpus}\n");
    for (application, &tasks) in (1..).zip(applications) {
        for task in 1..=tasks {
            let _ = writeln!(text, "THREAD {application}.{task}.1");
        }
    }
    text
}

/// Labels of a trace.
#[derive(Clone, Debug)]
pub struct Labels(String);

impl Default for Labels {
    /// Options and names of states, which every trace has.
    fn default() -> Self {
        let states = "DEFAULT_OPTIONS\n\nLEVEL               THREAD\n\
            UNITS               NANOSEC\n\n\nSTATES\n0    Idle\n1    Running\n\
            2    Not created\n3    Waiting a message\n4    Blocking Send\n8    Wait/WaitAll\n\
            13    Group Communication\n15    Others\n16    Send Receive\n\n\n";
        Self(states.to_owned())
    }
}

impl Labels {
    /// Adds types with one list of values; without values their numbers are counts.
    #[must_use]
    pub fn with(mut self, types: &[(u32, &str)], values: &[(u64, &str)]) -> Self {
        self.0.push_str("EVENT_TYPE\n");
        let gradient = if values.is_empty() { 7 } else { 0 };
        for (kind, name) in types {
            let _ = writeln!(self.0, "{gradient}    {kind}    {name}");
        }
        if !values.is_empty() {
            self.0.push_str("VALUES\n");
        }
        for (value, name) in values {
            let _ = writeln!(self.0, "{value}   {name}");
        }
        self.0.push_str("\n\n");
        self
    }

    /// Adds the calls of MPI that programs of this folder make.
    #[must_use]
    pub fn with_mpi(self) -> Self {
        const OUTSIDE: (u64, &str) = (0, "Outside MPI");
        self.with(
            &[(POINT_TO_POINT, "MPI Point-to-point")],
            &[(41, "MPI_Sendrecv"), (6, "MPI_Waitall"), OUTSIDE],
        )
        .with(&[(COLLECTIVE, "MPI Collective Comm")], &[(10, "MPI_Allreduce"), OUTSIDE])
        .with(&[(OTHER, "MPI Other")], &[(31, "MPI_Init"), (32, "MPI_Finalize"), OUTSIDE])
    }

    /// Adds instructions and cycles.
    #[must_use]
    pub fn with_counters(self) -> Self {
        let types = [
            (INSTRUCTIONS, "PAPI_TOT_INS [Instr completed]"),
            (CYCLES, "PAPI_TOT_CYC [Total cycles]"),
        ];
        self.with(&types, &[])
    }

    /// Adds notes that the recorder writes of itself, at the begin of each thread.
    #[must_use]
    pub fn with_notes(self) -> Self {
        self.with(&[(40_000_001, "Application")], &[(0, "End"), (1, "Begin")])
            .with(&[(40_000_050, "\"RAW clock\"")], &[])
            .with(&[(40_000_033, "Process IDentifier")], &[])
            .with(&[(40_000_133, "fork() depth")], &[])
            .with(&[(41_999_999, "Active hardware counter set")], &[])
    }

    /// The text.
    #[must_use]
    pub fn text(self) -> String {
        self.0
    }
}

/// Notes of a recorder about a thread, as [`Labels::with_notes`] names them.
fn notes(records: &mut Records, of: Thread, time: u64) {
    let clock = 1_460_205_403_000_000 + time;
    let process = 14 + u64::from(of.task);
    let pairs = [(40_000_001, 1), (40_000_050, clock), (40_000_033, process), (40_000_133, 0)];
    records.event(of, time, &pairs);
}

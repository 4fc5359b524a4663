//! Names of a run as numbers and labels of a trace: calls, callers, states.
//!
//! Owns the numbers. Calls that Extrae traces have its numbers, so that configurations made for it
//! fit; others follow from 1,001 on in the order in which they are met. Functions and lines count
//! from 2: 0 ends, 1 is what could not be resolved.

use std::collections::BTreeMap;

use talea_model::trace::{EventType, Labels, StateLabel, ValueSet, types};
use talea_model::{PathId, ResolvedFrame};
use talea_report::data::Category;
use talea_run::Recording;

use crate::Analysis;
use crate::procedures::{Traffic, category, traffic};

/// Extrae's numbers of calls.
const NUMBERS: [(&str, i64); 61] = [
    ("Send", 1),
    ("Recv", 2),
    ("Isend", 3),
    ("Irecv", 4),
    ("Wait", 5),
    ("Waitall", 6),
    ("Bcast", 7),
    ("Barrier", 8),
    ("Reduce", 9),
    ("Allreduce", 10),
    ("Alltoall", 11),
    ("Alltoallv", 12),
    ("Gather", 13),
    ("Gatherv", 14),
    ("Scatter", 15),
    ("Scatterv", 16),
    ("Allgather", 17),
    ("Allgatherv", 18),
    ("Comm_rank", 19),
    ("Comm_size", 20),
    ("Comm_create", 21),
    ("Comm_dup", 22),
    ("Comm_split", 23),
    ("Comm_free", 25),
    ("Scan", 30),
    ("Init", 31),
    ("Finalize", 32),
    ("Bsend", 33),
    ("Ssend", 34),
    ("Rsend", 35),
    ("Ibsend", 36),
    ("Issend", 37),
    ("Irsend", 38),
    ("Test", 39),
    ("Sendrecv", 41),
    ("Sendrecv_replace", 42),
    ("Cart_create", 43),
    ("Waitany", 59),
    ("Waitsome", 60),
    ("Probe", 61),
    ("Iprobe", 62),
    ("Win_create", 63),
    ("Win_free", 64),
    ("Put", 65),
    ("Get", 66),
    ("Accumulate", 67),
    ("Win_fence", 68),
    ("Win_start", 69),
    ("Win_complete", 70),
    ("Win_post", 71),
    ("Win_wait", 72),
    ("Win_test", 73),
    ("Win_lock", 74),
    ("Win_unlock", 75),
    ("Reduce_scatter", 80),
    ("Recv_init", 116),
    ("Send_init", 117),
    ("Start", 123),
    ("Startall", 124),
    ("Testall", 126),
    ("Init_thread", 140),
];

/// Numbers of calls that Extrae has none for begin here.
const OWN: i64 = 1_001;

/// How a call looks in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// Its event type, one of [`types::MPI`].
    pub(super) event: u32,
    /// Its number.
    pub(super) value: i64,
    /// The thread's activity in it.
    pub(super) state: u32,
}

/// Calls with their numbers.
pub(super) struct Calls {
    kinds: BTreeMap<String, Kind>,
}

impl Calls {
    /// For all procedures of a run; the same run gives the same numbers.
    pub(super) fn new(recording: &Recording) -> Self {
        let mut names: Vec<&str> =
            recording.procedures.iter().map(|spec| spec.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut next = OWN;
        let mut kinds = BTreeMap::new();
        for name in names {
            let base = base(name);
            let known = NUMBERS.iter().find(|(known, _)| *known == base);
            let value = known.map_or_else(
                || {
                    next += 1;
                    next - 1
                },
                |&(_, value)| value,
            );
            kinds.insert(name.to_owned(), Kind { event: event(name), value, state: state(name) });
        }
        Self { kinds }
    }

    /// How a call looks; what is not known stands as any other call.
    pub(super) fn kind(&self, name: &str) -> Kind {
        let unknown = Kind { event: *types::MPI.start() + 2, value: OWN - 1, state: types::OTHERS };
        self.kinds.get(name).copied().unwrap_or(unknown)
    }

    /// Labels of the types and values.
    pub(super) fn label(&self, labels: &mut Labels) {
        const TITLES: [&str; 5] =
            ["MPI Point-to-point", "MPI Collective Comm", "MPI Other", "MPI One-sided", "MPI I/O"];
        for (number, title) in types::MPI.zip(TITLES) {
            let mut values = ValueSet::default();
            values.push(0, "Outside MPI".to_owned());
            for (name, kind) in self.kinds.iter().filter(|(_, kind)| kind.event == number) {
                values.push(kind.value, name.clone());
            }
            if values.len() > 1 {
                push(labels, &[(number, title.to_owned())], Some(values));
            }
        }
        for (number, title) in [
            (types::SEND_SIZE, "Send Size in MPI Global OP"),
            (types::ROOT, "Root in MPI Global OP"),
            (types::COMMUNICATOR, "Communicator in MPI Global OP"),
        ] {
            plain(labels, number, title);
        }
    }
}

fn base(name: &str) -> &str {
    let name = name.strip_prefix("MPI_").unwrap_or(name);
    name.strip_suffix("_c").unwrap_or(name)
}

fn event(name: &str) -> u32 {
    let first = *types::MPI.start();
    let base = base(name);
    let fetches =
        ["Get_accumulate", "Rget_accumulate", "Fetch_and_op", "Compare_and_swap"].contains(&base);
    let one_sided = matches!(traffic(name), Traffic::Put | Traffic::Get) || fetches;
    if base.starts_with("File_") {
        first + 4
    } else if one_sided || base.starts_with("Win_") {
        first + 3
    } else {
        match category(name) {
            Category::Collective => first + 1,
            Category::Transfer | Category::Waiting => first,
            _ if traffic(name) == Traffic::Prepare => first,
            _ if ["Recv_init", "Precv_init"].contains(&base) => first,
            Category::Setup | Category::Computation | Category::Io => first + 2,
        }
    }
}

fn state(name: &str) -> u32 {
    match base(name) {
        "Send" | "Ssend" | "Bsend" | "Rsend" => types::BLOCKING_SEND,
        "Recv" | "Mrecv" => types::WAITING,
        "Sendrecv" | "Sendrecv_replace" => types::SEND_RECEIVE,
        "Isend" | "Issend" | "Ibsend" | "Irsend" | "Start" | "Startall" => types::IMMEDIATE_SEND,
        "Irecv" | "Imrecv" => types::IMMEDIATE_RECEIVE,
        "Wait" | "Waitall" | "Waitany" | "Waitsome" => types::WAIT_ALL,
        "Barrier" => types::SYNCHRONIZATION,
        base if base.starts_with("Test") || base.ends_with("robe") => types::TEST_PROBE,
        base if base.starts_with("File_") => types::IO,
        _ if category(name) == Category::Collective => types::GROUP_COMMUNICATION,
        _ => types::OTHERS,
    }
}

/// Functions and lines on the way to calls.
pub(super) struct Callers<'a> {
    analysis: &'a Analysis<'a>,
    functions: Interned,
    lines: Interned,
    deepest: u32,
}

#[derive(Default)]
struct Interned {
    numbers: BTreeMap<String, i64>,
    texts: Vec<String>,
}

impl Interned {
    fn number(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        self.texts.push(text.to_owned());
        let number = self.texts.len() as i64 + 1;
        self.numbers.insert(text.to_owned(), number);
        number
    }

    fn values(self) -> ValueSet {
        let mut values = ValueSet::default();
        values.push(0, "End".to_owned());
        values.push(1, "Unresolved".to_owned());
        for (text, number) in self.texts.into_iter().zip(2..) {
            values.push(number, text);
        }
        values
    }
}

impl<'a> Callers<'a> {
    /// None met yet.
    pub(super) fn new(analysis: &'a Analysis<'a>) -> Self {
        Self { analysis, functions: Interned::default(), lines: Interned::default(), deepest: 0 }
    }

    /// The pairs of type and value that say where a call comes from.
    pub(super) fn pairs(&mut self, path: PathId) -> Vec<(u32, i64)> {
        let mut pairs = Vec::new();
        let analysis = self.analysis;
        let frames = analysis.places.frames(path).iter().filter(|frame| !starts_programs(frame));
        for (level, frame) in (0..types::CALLER.count() as u32).zip(frames) {
            let (function, line) = self.frame(frame);
            // A call has a place also where no line is known. Samples have none there: each would
            // have its own.
            let line = if line == 1 { self.lines.number(&frame.short()) } else { line };
            pairs.push((types::CALLER.start() + level, function));
            pairs.push((types::CALLER_LINE.start() + level, line));
            self.deepest = self.deepest.max(level + 1);
        }
        pairs
    }

    /// The numbers of a function and of a line in it.
    pub(super) fn frame(&mut self, frame: &ResolvedFrame) -> (i64, i64) {
        let function = frame.function.as_deref().map_or(1, |name| self.functions.number(name));
        let line = match (&frame.file, frame.line) {
            (Some(file), Some(line)) => {
                let name = file.rsplit('/').next().unwrap_or(file);
                self.lines.number(&format!("{line} ({name}, {file})"))
            }
            _ => 1,
        };
        (function, line)
    }

    /// Labels of the types and values; samples have stacks of up to `sampled` levels.
    pub(super) fn label(self, sampled: u32, labels: &mut Labels) {
        let levels = |first: u32, count: u32, from: u32, what: &str| -> Vec<(u32, String)> {
            let one = |at: u32| (first + at, format!("{what} at level {}", at + from));
            (0..count).map(one).collect()
        };
        let calls = self.deepest;
        let mut functions = levels(*types::CALLER.start(), calls, 1, "Caller");
        functions.extend(levels(*types::SAMPLE_CALLER.start(), sampled, 0, "Sampled function"));
        let mut lines = levels(*types::CALLER_LINE.start(), calls, 1, "Caller line");
        lines.extend(levels(*types::SAMPLE_LINE.start(), sampled, 0, "Sampled line"));
        push(labels, &functions, Some(self.functions.values()));
        push(labels, &lines, Some(self.lines.values()));
    }
}

/// How the C library starts a program or a thread, which is not the program's.
pub(super) fn starts_programs(frame: &ResolvedFrame) -> bool {
    const NAMES: [&str; 5] = ["_start", "start_thread", "clone", "__clone", "__GI___clone"];
    frame.function.as_deref().is_some_and(|name| {
        NAMES.contains(&name) || name.starts_with("__libc_start") || name.starts_with("clone3")
    })
}

/// The phases that the program marks, by name from value 1; no type without any.
pub(super) fn phases(labels: &mut Labels, names: Vec<String>) {
    if names.is_empty() {
        return;
    }
    let mut values = ValueSet::default();
    values.push(0, "End".to_owned());
    for (number, name) in (1..).zip(names) {
        // Names are whatever the program says, labels are lines.
        values.push(number, name.replace(char::is_control, " "));
    }
    push(labels, &[(types::MARKED, "Phase".to_owned())], Some(values));
}

/// A type without named values.
pub(super) fn plain(labels: &mut Labels, number: u32, title: &str) {
    push(labels, &[(number, title.to_owned())], None);
}

/// Types that share their values.
fn push(labels: &mut Labels, all: &[(u32, String)], values: Option<ValueSet>) {
    let set = values.map(|values| {
        labels.value_sets.push(values);
        labels.value_sets.len() as u32 - 1
    });
    for (number, label) in all {
        labels.event_types.push(EventType {
            number: *number,
            gradient: 0,
            label: label.clone(),
            precision: None,
            values: set,
        });
    }
}

/// Names and colours of the states, those of Paraver's default.
pub(super) fn states(labels: &mut Labels) {
    const STATES: [(u32, &str, [u8; 3]); 15] = [
        (0, "Idle", [117, 195, 255]),
        (types::RUNNING, "Running", [0, 0, 255]),
        (types::NOT_CREATED, "Not created", [255, 255, 255]),
        (types::WAITING, "Waiting a message", [255, 0, 0]),
        (types::BLOCKING_SEND, "Blocking Send", [255, 0, 174]),
        (types::SYNCHRONIZATION, "Synchronization", [179, 0, 0]),
        (types::TEST_PROBE, "Test/Probe", [0, 255, 0]),
        (types::WAIT_ALL, "Wait/WaitAll", [235, 0, 0]),
        (types::IMMEDIATE_SEND, "Immediate Send", [255, 0, 255]),
        (types::IMMEDIATE_RECEIVE, "Immediate Receive", [100, 100, 177]),
        (types::IO, "I/O", [172, 174, 41]),
        (types::GROUP_COMMUNICATION, "Group Communication", [255, 144, 26]),
        (types::TRACING_DISABLED, "Tracing Disabled", [2, 255, 177]),
        (types::OTHERS, "Others", [192, 224, 0]),
        (types::SEND_RECEIVE, "Send Receive", [66, 66, 66]),
    ];
    labels.states = STATES
        .iter()
        .map(|&(number, name, colour)| StateLabel {
            number,
            name: Some(name.to_owned()),
            colour: Some(colour),
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_type_and_the_state_of_what_they_do() {
        let [p2p, collective, other, one_sided, io] =
            [0, 1, 2, 3, 4].map(|at| types::MPI.start() + at);
        for (name, kind, doing) in [
            ("MPI_Send", p2p, types::BLOCKING_SEND),
            ("MPI_Recv_c", p2p, types::WAITING),
            ("MPI_Send_init", p2p, types::OTHERS),
            ("MPI_Probe", p2p, types::TEST_PROBE),
            ("MPI_Improbe", p2p, types::TEST_PROBE),
            ("MPI_Testsome", p2p, types::TEST_PROBE),
            ("MPI_Test_cancelled", other, types::TEST_PROBE),
            ("MPI_Barrier", collective, types::SYNCHRONIZATION),
            ("MPI_Iallreduce", collective, types::GROUP_COMMUNICATION),
            ("MPI_Put", one_sided, types::OTHERS),
            ("MPI_Rget", one_sided, types::OTHERS),
            ("MPI_Get_accumulate", one_sided, types::OTHERS),
            ("MPI_Win_create", one_sided, types::OTHERS),
            ("MPI_Get_count", other, types::OTHERS),
            ("MPI_File_write_all", io, types::IO),
        ] {
            assert_eq!((event(name), state(name)), (kind, doing), "{name}");
        }
    }
}

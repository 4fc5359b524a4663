//! Small traces by hand, generated ones, hostile bytes; the real ones are in
//! `tests/paraver_files.rs`.

use proptest::prelude::*;
use talea_model::trace::{MessageRecord, RecordKind, StateRecord, TimeUnit, UNKNOWN_TIME};
use talea_model::{Gaps, Nanos, Trace};

use super::*;

/// Every kind of line, in Extrae's form, with a few irregular ones.
const SMALL: &str = "\
#Paraver (21/01/2022 at 16:37):2000_ns:2(4,4):2:2(1:1,2:2),1(1:1),3
c:1:1:2:1:2
c:2:2:1:1
i:1:3:1:1:2:2
#20220121164408:CUTTER:ORIGINAL:\"/a:b.prv\"
1:1:1:1:1:0:100:1
2:1:1:1:1:0:50000001:31:42000050:123456789012345
2:5:1:2:2:50:50000001:0
3:1:1:1:1:10:12:5:1:2:2:40:41:1024:7
#in between
1:8:2:1:1:1000:2000:15
2:8:2:1:1:900:40000001:1
";

fn read_text(text: &str) -> Trace {
    let trace = read_bytes(text.as_bytes(), &Options::default()).unwrap();
    trace.check().unwrap();
    trace
}

fn written(trace: &Trace) -> String {
    let mut out = Vec::new();
    write(trace, &mut out).unwrap();
    out.into_iter().map(char::from).collect()
}

fn gaps(trace: &Trace) -> Vec<String> {
    trace.gaps.iter().map(|gap| format!("{:?} {}: {}", gap.kind, gap.count, gap.detail)).collect()
}

#[test]
fn a_small_trace() {
    let trace = read_text(SMALL);
    assert_eq!(gaps(&trace), Vec::<String>::new());
    assert_eq!((trace.date.as_str(), trace.duration), ("21/01/2022 at 16:37", Nanos(2000)));
    assert_eq!((trace.locations.len(), &trace.locations.nodes[..]), (4, &[4, 4][..]));
    assert_eq!((trace.states.len(), trace.events.len(), trace.messages.len()), (2, 3, 1));
    let event = trace.events.get(0).unwrap();
    assert_eq!(
        (event.types, event.values),
        (&[50_000_001, 42_000_050][..], &[31, 123_456_789_012_345][..])
    );
    assert_eq!(trace.events.get(1).map(|one| (one.location, one.cpu, one.time)), Some((2, 5, 50)));
    let message = trace.messages.get(0).unwrap();
    assert_eq!((message.sender, message.receiver, message.size, message.tag), (0, 2, 1024, 7));
    assert_eq!(trace.communicators.len(), 3);
    assert_eq!(trace.lines.iter().map(|(after, _)| after).collect::<Vec<_>>(), [0, 4]);
    assert_eq!(written(&trace), SMALL);
}

#[test]
fn line_ends_of_windows_and_missing_ones() {
    let trace = read_text(SMALL);
    assert_eq!(read_text(&SMALL.replace('\n', "\r\n")), trace);
    let blanks = SMALL.replace('\n', "\n\n");
    assert_eq!(read_text(&blanks), trace);
    let open = read_text(SMALL.trim_end());
    assert_eq!(open.events, trace.events);
    assert_eq!(
        gaps(&open),
        ["Estimated 1: line 12, the last, has no end: expected a newline, it may be cut short"]
    );
}

/// The trace does not depend on how its bytes are cut into blocks.
#[test]
fn blocks_of_any_size() {
    let trace = read_text(SMALL);
    for size in 1..SMALL.len() {
        let mut reader = Reader::new(&Options::default());
        for block in SMALL.as_bytes().chunks(size) {
            reader.block(block).unwrap();
        }
        assert_eq!(reader.finish().unwrap(), trace, "blocks of {size} bytes");
    }
}

#[test]
fn what_stands_before_a_cut_is_kept() {
    let trace = read_text(SMALL);
    let header = SMALL.find('\n').unwrap();
    for length in 0..SMALL.len() {
        let cut = read_bytes(&SMALL.as_bytes()[..length], &Options::default());
        let Ok(cut) = cut else {
            assert!(length < header, "{length}: {cut:?}");
            continue;
        };
        cut.check().unwrap();
        let whole_lines =
            SMALL[..length].lines().count() - usize::from(!SMALL[..length].ends_with('\n'));
        let records = SMALL
            .lines()
            .take(whole_lines)
            .filter(|line| line.starts_with(['1', '2', '3']))
            .count();
        assert!(cut.order.len() == records || cut.order.len() == records + 1, "{length}");
        assert_eq!(cut.order[..records], trace.order[..records]);
        // Without all communicators, or with half a line, something is missing.
        let ends = length > 0 && SMALL.as_bytes()[length - 1] == b'\n';
        assert!(ends || !cut.gaps.is_empty(), "{length}");
    }
    let cut = read_text(&SMALL[..SMALL.len() - 3]);
    assert_eq!(
        gaps(&cut),
        [
            "Damaged 1: the file was cut: line 12, column 23: expected a value of 64 bits, found the end of the line"
        ]
    );
}

#[test]
fn units_of_time() {
    let check = |suffix: &str, unit: TimeUnit, nanos: u64| {
        let text = format!("#Paraver (01/01/09 at 10:30):7{suffix}:0:1:1(1:0)\n2:0:1:1:1:7:1:1\n");
        let trace = read_text(&text);
        assert_eq!((trace.unit, trace.duration), (unit, Nanos(7 * nanos)));
        assert_eq!(trace.events.time, [7 * nanos]);
        assert_eq!(trace.locations.get(0).unwrap().node, None);
        let again = read_text(&written(&trace));
        assert_eq!(again, trace);
        // A time that is not whole in the unit is written in nanoseconds.
        let mut finer = trace.clone();
        finer.events.time[0] -= 1;
        let again = read_text(&written(&finer));
        assert_eq!(again.events, finer.events);
    };
    check("", TimeUnit::Microseconds, 1_000);
    check("_us", TimeUnit::Microseconds, 1_000);
    check("_ns", TimeUnit::Nanoseconds, 1);
    check("_ms", TimeUnit::Milliseconds, 1_000_000);
    check("_s", TimeUnit::Seconds, 1_000_000_000);
    let text = "#Paraver (x):1:0:1:1(1:0)\n2:0:1:1:1:18446744073709551:1:1\n2:0:1:1:1:18446744073709552:1:1\n";
    let error = read_bytes(text.as_bytes(), &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 3, column 11: expected a time within 584 years, found `18446744073709552:1:1`"
    );
}

#[test]
fn headers_of_other_tools() {
    let same = |header: &str| read_text(&format!("{header}\n")).locations;
    let usual = same("#Paraver (1/2/03 at 04:05):9_ns:1(8):2:2(1:1,3:1),1(1:1),0");
    assert_eq!(usual.len(), 5);
    assert_eq!(same("#Paraver (1/2/03 at 04:05):9_ns:1(8):2:2(1:1,3:1):1(1:1)"), usual);
    assert_eq!(same("#Paraver (1/2/03 at 04:05):9_ns:1(8):2:2(1:1,3:1),0:1(1:1),0"), usual);
    assert_eq!(same("#Paraver (1/2/03 at 04:05):9_ns:1(8):2:2(1:1,3:1):1(1:1):"), usual);
    assert_eq!(same("#PARAVER ():9_ns: 1 ( 8 ) : 2 : 2 ( 1 : 1 , 3 : 1 ) : 1 (1:1) "), usual);
    assert_eq!(same("new format\n#Paraver (1/2/03 at 04:05):9_ns:1(8):2:2(1:1,3:1):1(1:1)"), usual);
    let counted =
        read_text("#Paraver (x):9:0:2:1(1:0),1:1(1:0),2\nc:1:1:1:1\nc:2:2:1:1\nc:2:3:1:1\n");
    assert!(counted.gaps.is_empty() && counted.communicators.len() == 3);
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let error = read_bytes(text.as_bytes(), &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn errors_name_line_column_and_expectation() {
    refused("", "no Paraver trace: expected a first line such as `#Paraver (...`, found no bytes");
    refused(
        "%EventDef\n",
        "line 1, column 1: expected a first line such as `#Paraver (dd/mm/yyyy at hh:mm):`, found `%EventDef`",
    );
    refused(
        "#Paraver (x:1",
        "line 1, column 14: expected `)` behind the date, found the end of the line",
    );
    refused(
        "#Paraver (x):9_fs:0:1:1(1:0)\n",
        "line 1, column 15: expected one of the units _ns, _us, _ms and _s, or none for microseconds, found `_fs:0:1:1(1:0)`",
    );
    refused(
        "#Paraver (x):9:3(1,1):1:1(1:0)\n",
        "line 1, column 16: expected 2 nodes, as many as are listed, found `3(1,1):1:1(1:0)`",
    );
    refused(
        "#Paraver (x):9:0:1:2(1:0)\n",
        "line 1, column 20: expected 1 tasks, as many as are listed, found `2(1:0)`",
    );
    refused(
        "#Paraver (x):9:0:1:1(4000000000:0)\n",
        "line 1, column 22: expected at most 16777216 threads, found `4000000000:0)`",
    );
    refused(
        "#Paraver (x):9:0:2:1(1:0)\n",
        "line 1, column 26: expected the number of tasks of an application, found the end of the line",
    );
    refused(
        "#Paraver (x):9:0:1:1(1:0),1(1:0)\n",
        "line 1, column 26: expected the end of the line behind 1 applications, found `,1(1:0)`",
    );
    let line = |line: &str, message: &str| {
        refused(
            &format!("#Paraver (x):9_ns:1(1):1:1(2:1)\n{line}\n"),
            &format!("line 2, column {message}"),
        );
    };
    let kinds =
        "a record of kind 1, 2, 3 or 4, a communicator (c or i) or a line that begins with #";
    line("5:1:1:1:1:1:1", &format!("1: expected {kinds}, found `5:1:1:1:1:1:1`"));
    line("what", &format!("1: expected {kinds}, found `what`"));
    line(
        "2:1:2:1:1:1:1:1",
        "5: expected an application of 1 to 1, as the header has, found `2:1:1:1:1:1`",
    );
    line(
        "2:1:1:3:1:1:1:1",
        "7: expected a task of 1 to 1, as application 1 of the header has, found `3:1:1:1:1`",
    );
    line(
        "2:1:1:1:0:1:1:1",
        "9: expected a thread of 1 to 2, as task 1.1 of the header has, found `0:1:1:1`",
    );
    line("2:1:1:1:1:1", "12: expected an event type of 32 bits, found the end of the line");
    line("2:1:1:1:1:1:4294967296:1", "13: expected an event type of 32 bits, found `4294967296:1`");
    line(
        "2:1:1:1:1:1:7:18446744073709551616",
        "15: expected a value of 64 bits, found `18446744073709551616`",
    );
    line("1:1:1:1:1:5:x:1", "13: expected the time that the state ends, found `x:1`");
    line("1:1:1:1:1:5:6:1:1", "17: expected the end of the record, found `1`");
    line("3:1:1:1:1:5:6:1:1:1:1:7:8:9", "28: expected a tag, found the end of the line");
}

#[test]
fn odd_numbers() {
    let text = "#Paraver (x):9_ns:1(1):1:1(2:1)\n2: 1:1:1:1:0:5:-3: 6 :18446744073709551615\n2:1:1:1:2:0000000000000000000000009:7:-9223372036854775808\n\
        1:1:1:1:1:5:-1:3\n3:1:1:1:1:1:-1:1:1:1:2:-1:-1:-2147483648:-1\n";
    let trace = read_text(text);
    assert_eq!(trace.events.values, [-3, -1, i64::MIN]);
    assert_eq!(trace.events.time, [0, 9]);
    assert_eq!(trace.states.end, [UNKNOWN_TIME]);
    let message = trace.messages.get(0).unwrap();
    assert_eq!((message.physical_send, message.physical_receive), (UNKNOWN_TIME, UNKNOWN_TIME));
    assert_eq!((message.size, message.tag), (-2_147_483_648, -1));
    assert_eq!(
        gaps(&trace),
        ["Damaged 1: messages have a negative size, as of 2 GiB and more in 32 bits"]
    );
    assert_eq!(read_text(&written(&trace)), trace);
}

#[test]
fn contradictions_are_gaps() {
    let text = "#Paraver (x):9_ns:1(1):1:1(2:2),4\nc:1:1:2:1\nc:1:1:1:1\n2:3:1:1:1:10:1:1\n1:1:1:1:1:5:4:1\n4:1:1:1:1:what\n";
    let trace = read_text(text);
    assert_eq!(
        gaps(&trace),
        [
            "Damaged 1: communicators could not be read, the first: line 2, column 7: expected 1 tasks, as many as follow, found `2:1`",
            "Damaged 0: records go on to 10.0 ns, the header says that the trace ends at 9.00 ns",
            "Damaged 0: records name CPUs up to 3, the header has 1",
            "Damaged 1: states end before they begin",
            "Damaged 1: tasks run on nodes that the header does not list",
            "Missing 2: the header counts 4 communicators, 2 follow",
            "Unsupported 1: records of kind 4 (global operations) are kept, not interpreted",
        ]
    );
    let kept: Vec<_> = trace.lines.iter().collect();
    assert_eq!(kept, [(0, &b"c:1:1:2:1"[..]), (2, b"4:1:1:1:1:what")]);
}

#[test]
fn damaged_lines_can_be_left_out() {
    let text = SMALL.replace("\n#in", "\n2:1:1:1:1:5:x:1\nnoise\n#in");
    let options = Options { damage: Damage::Skip, ..Options::default() };
    let trace = read_bytes(text.as_bytes(), &options).unwrap();
    assert_eq!(
        gaps(&trace),
        [
            "Damaged 2: damaged lines were left out, the first: line 10, column 13: expected an event type of 32 bits, found `x:1`"
        ]
    );
    assert_eq!(written(&trace), SMALL);
}

/// A source that returns some bytes and then fails.
struct Broken<'a>(&'a [u8], std::io::ErrorKind);

impl Read for Broken<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() { Err(self.1.into()) } else { self.0.read(into) }
    }
}

#[test]
fn sources_that_break_off_or_fail() {
    use std::io::ErrorKind;
    let length = SMALL.find("2:5").unwrap() + 9;
    let begin = &SMALL.as_bytes()[..length];
    let trace = read(Broken(begin, ErrorKind::UnexpectedEof), &Options::default()).unwrap();
    assert_eq!(trace.order, [RecordKind::State, RecordKind::Event]);
    assert_eq!(
        gaps(&trace),
        [
            "Damaged 0: the file breaks off after line 7: unexpected end of file",
            "Damaged 1: the file was cut: line 8, column 10: expected the time of the event, found the end of the line"
        ]
    );
    let error = read(Broken(begin, ErrorKind::InvalidData), &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "reading failed after line 7");
}

#[test]
fn traces_that_do_not_fit_are_not_written() {
    let mut trace = read_text(SMALL);
    trace.states.cpu.pop();
    let error = write(&trace, std::io::sink()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the trace is not consistent: expected 2 rows in every column of states, found 1"
    );
}

const PCF: &str = "\
DEFAULT_OPTIONS

LEVEL               THREAD
YMAX_SCALE          37


DEFAULT_SEMANTIC

THREAD_FUNC          State As Is


STATES
0    Idle
1    Running


STATES_COLOR
0    {117,195,255}
7    {0,0,255}


EVENT_TYPE
7  42000050 PAPI_TOT_INS ([Instr completed])
7  42000059 (PAPI_TOT_CYC) Total cycles


EVENT_TYPE
0    70000001    Caller at level 1
0    70000002    Caller at level 2
PRECISION 2
VALUES
0   End
-9223372036854775808   lowest
18446744073709551615   all bits


GRADIENT_COLOR
0    {0,255,2}


GRADIENT_NAMES
0    Gradient 0


SOMETHING_NEW
1 what
it is


EVENT_TYPE
1    7   
";

#[test]
fn labels() {
    let mut gaps = Gaps::default();
    let labels = read_labels(PCF.as_bytes(), &mut gaps);
    assert!(gaps.is_empty(), "{gaps:?}");
    assert_eq!(
        labels.options,
        [("LEVEL".into(), "THREAD".into()), ("YMAX_SCALE".into(), "37".into())]
    );
    assert_eq!(labels.semantic, [("THREAD_FUNC".into(), "State As Is".into())]);
    assert_eq!(
        (labels.state(1), labels.state(7), labels.states[2].colour),
        (Some("Running"), None, Some([0, 0, 255]))
    );
    assert_eq!(labels.event_type(42_000_050).unwrap().label, "PAPI_TOT_INS ([Instr completed])");
    assert_eq!(labels.event_type(42_000_059).unwrap().gradient, 7);
    assert_eq!(labels.event_type(7).unwrap().label, "");
    for level in [70_000_001, 70_000_002] {
        assert_eq!(labels.value(level, i64::MIN), Some("lowest"));
        assert_eq!(labels.value(level, -1), Some("all bits"));
        assert_eq!(labels.event_type(level).unwrap().precision, Some(2));
    }
    assert_eq!(labels.raw[0].title, "SOMETHING_NEW");
    assert_eq!(labels.raw[0].lines, ["1 what", "it is"]);
    assert_eq!(labels.gradients[0].name.as_deref(), Some("Gradient 0"));
    assert_eq!(read_labels(write_labels(&labels).as_bytes(), &mut gaps), labels);
    assert_eq!(read_labels(PCF.replace('\n', "\r\n").as_bytes(), &mut gaps), labels);
    assert!(gaps.is_empty(), "{gaps:?}");
}

#[test]
fn labels_that_contradict_themselves() {
    let text = "5 orphan\nVALUES\n1 a\nEVENT_TYPE\n9 1 one\n9 1 other\nx 2 two\nVALUES\n1 a\n1 b\n1 a\nz\nSTATES\n1 x\n1 y\n\
        STATES_COLOR\n1 {1,2}\n1 {1,2,3}\n1 {1,2,256}\nEVENT_TYPE\n9 3 caf\u{e9}";
    let latin: Vec<u8> = text.chars().map(|one| one as u8).collect();
    let mut gaps = Gaps::default();
    let labels = read_labels(&latin, &mut gaps);
    assert_eq!(labels.event_type(3).unwrap().label, "café");
    assert_eq!((labels.value(1, 1), labels.state(1)), (Some("a"), Some("x")));
    let found: Vec<_> = gaps.iter().map(|gap| format!("{}: {}", gap.count, gap.detail)).collect();
    assert_eq!(
        found,
        [
            "3: labels: a thing has two names, the first: event type 1: `one` and `other`",
            "6: labels: lines could not be read, the first: line 1: expected the title of a section, found `5 orphan`",
            "1: labels: the last line has no end: expected a newline, it may be cut short",
        ]
    );
}

#[test]
fn names_of_rows() {
    let trace = read_text(SMALL);
    let text = "LEVEL CPU SIZE 8\n1.a\n2.a\n3.a\n4.a\n1.b\n2.b\n3.b\n4.b\n\nLEVEL NODE SIZE 2\na\nb\n\nLEVEL THREAD SIZE 4\nTHREAD 1.1.1\n\
        THREAD 1.2.1\nTHREAD 1.2.2\nTHREAD 2.1.1\n";
    let mut gaps = Gaps::default();
    let levels = read_rows(text.as_bytes(), &trace.locations, &mut gaps);
    assert!(gaps.is_empty(), "{gaps:?}");
    assert_eq!(write_rows(&levels), text);
    assert_eq!(
        read_rows(text.replace('\n', "\r\n").as_bytes(), &trace.locations, &mut gaps),
        levels
    );
    let mut locations = trace.locations.clone();
    locations.levels = levels;
    assert_eq!(
        (locations.name(2), locations.level("NODE").unwrap().len()),
        (Some("THREAD 1.2.2"), 2)
    );
    let cut = "LEVEL NODE SIZE 2\na\nLEVEL THREAD SIZE 4000000000\nx\n";
    read_rows(format!("{cut}\n\nnoise").as_bytes(), &trace.locations, &mut gaps);
    read_rows(b"LEVEL NODE SIZE 1\na\nb\n", &trace.locations, &mut gaps);
    let found: Vec<_> = gaps.iter().map(|gap| format!("{}: {}", gap.count, gap.detail)).collect();
    assert_eq!(
        found,
        [
            "1: 1 names of level NODE, the trace has 2",
            "0: names of rows: line 3: expected `LEVEL <name> SIZE <n>`, found `b`; such lines are left out",
            "1: names of level NODE: expected 2 lines, found 1",
            "3999999996: names of level THREAD: expected 4000000000 lines, found 4",
        ]
    );
}

prop_compose! {
    /// Applications with tasks of threads, on nodes or on none.
    fn any_locations()(
        nodes in prop::collection::vec(1..100_u32, 0..4),
        applications in prop::collection::vec(
            prop::collection::vec((1..4_u32, 0..4_u32), 1..4), 1..4
        )
    ) -> talea_model::trace::Locations {
        let mut locations = talea_model::trace::Locations::default();
        for tasks in applications {
            locations.push_application();
            for (threads, node) in tasks {
                locations.push_task(threads, node.min(nodes.len() as u32)).unwrap();
            }
        }
        locations.nodes = nodes;
        locations
    }
}

/// Small numbers, large ones, and those at the ends.
fn any_value() -> impl Strategy<Value = i64> {
    prop_oneof![
        0..100_i64,
        any::<i64>(),
        Just(i64::MIN),
        Just(i64::MAX),
        Just(99_999_999),
        Just(10_000_000_000_000_000)
    ]
}

fn any_time() -> impl Strategy<Value = u64> {
    prop_oneof![0..100_u64, 0..1_u64 << 62, Just(UNKNOWN_TIME - 1)]
}

/// Times that may be unknown.
fn end_time() -> impl Strategy<Value = u64> {
    prop_oneof![4 => any_time(), 1 => Just(UNKNOWN_TIME)]
}

#[derive(Clone, Debug)]
enum Record {
    State(u32, u64, u64, u32),
    Event(u32, u64, Vec<(u32, i64)>),
    Message(u32, [u64; 4], i64, i64),
    Line(String),
}

fn any_record() -> impl Strategy<Value = Record> {
    prop_oneof![
        (any::<u32>(), any_time(), end_time(), any::<u32>())
            .prop_map(|(a, b, c, d)| Record::State(a, b, c, d)),
        (any::<u32>(), any_time(), prop::collection::vec((any::<u32>(), any_value()), 1..20))
            .prop_map(|(a, b, c)| Record::Event(a, b, c)),
        (any::<u32>(), (any_time(), end_time(), end_time(), end_time()), any_value(), any_value())
            .prop_map(|(a, (b, c, d, e), size, tag)| Record::Message(a, [b, c, d, e], size, tag)),
        "#[ -~]{0,20}".prop_map(Record::Line),
    ]
}

prop_compose! {
    fn any_trace()(
        locations in any_locations(),
        records in prop::collection::vec(any_record(), 0..40),
        duration in any_time()
    ) -> Trace {
        let mut trace = Trace {
            date: "01/02/03 at 04:05".into(),
            duration: Nanos(duration),
            locations,
            ..Trace::default()
        };
        let most = trace.locations.len() as u32;
        for record in records {
            match record {
                Record::State(at, begin, end, state) => trace.push_state(
                    StateRecord { location: at % most, cpu: at >> 16, begin, end, state }
                ),
                Record::Event(at, time, pairs) => {
                    let (types, values): (Vec<u32>, Vec<i64>) = pairs.into_iter().unzip();
                    trace.push_event((at % most, at >> 16), time, &types, &values);
                }
                Record::Message(
                    at,
                    [logical_send, physical_send, logical_receive, physical_receive],
                    size,
                    tag
                ) => {
                    trace.push_message(MessageRecord {
                        sender: at % most, sender_cpu: at >> 24,
                        receiver: (at >> 8) % most, receiver_cpu: at >> 28,
                        logical_send, physical_send, logical_receive, physical_receive, size, tag,
                    });
                }
                Record::Line(line) => trace.push_line(line.trim_end().as_bytes()),
            }
        }
        trace
    }
}

/// A line of the text in another form, which only the careful parser reads.
fn spaced(text: &str) -> String {
    text.lines()
        .map(|line| {
            if line.starts_with('#') {
                format!("{line}\n")
            } else {
                format!("{}\n", line.replace(':', ": "))
            }
        })
        .collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read(trace in any_trace()) {
        let text = written(&trace);
        let mut again = read_bytes(text.as_bytes(), &Options::default()).unwrap();
        let fast_gaps = std::mem::take(&mut again.gaps);
        prop_assert_eq!(&again, &trace);
        let mut careful = read_bytes(spaced(&text).as_bytes(), &Options::default()).unwrap();
        prop_assert_eq!(std::mem::take(&mut careful.gaps), fast_gaps);
        prop_assert_eq!(careful, trace);
    }

    #[test]
    fn hostile_bytes(bytes: Vec<u8>, headed: bool) {
        let mut text = if headed { SMALL.as_bytes().to_vec() } else { Vec::new() };
        text.extend_from_slice(&bytes);
        for damage in [Damage::Refuse, Damage::Skip] {
            if let Ok(trace) = read_bytes(&text, &Options { size: None, damage }) {
                prop_assert!(trace.check().is_ok());
                let again = written(&trace);
                prop_assert_eq!(
                    read_bytes(again.as_bytes(), &Options::default()).unwrap().events,
                    trace.events
                );
            }
        }
        let mut gaps = Gaps::default();
        let labels = read_labels(&bytes, &mut gaps);
        write_labels(&labels);
        read_rows(&bytes, &talea_model::trace::Locations::default(), &mut gaps);
    }

    #[test]
    fn texts_with_damage(
        places in prop::collection::vec((0..SMALL.len(), any::<u8>()), 1..6),
        cut in 0..SMALL.len()
    ) {
        let mut text = SMALL.as_bytes().to_vec();
        for &(place, byte) in &places {
            text[place] = byte;
        }
        text.truncate(SMALL.len() - cut / 4);
        for damage in [Damage::Refuse, Damage::Skip] {
            if let Ok(trace) = read_bytes(&text, &Options { size: Some(u64::MAX), damage }) {
                prop_assert!(trace.check().is_ok());
            }
        }
    }

    #[test]
    fn labels_with_damage(places in prop::collection::vec((0..PCF.len(), any::<u8>()), 1..9)) {
        let mut text = PCF.as_bytes().to_vec();
        for &(place, byte) in &places {
            text[place] = byte;
        }
        let mut gaps = Gaps::default();
        let labels = read_labels(&text, &mut gaps);
        let again = read_labels(write_labels(&labels).as_bytes(), &mut gaps);
        prop_assert_eq!(again.event_types.len(), labels.event_types.len());
    }
}

#[test]
fn a_trace_of_nothing_comes_back() {
    let mut text = Vec::new();
    super::write(&Trace::default(), &mut text).unwrap();
    let read = super::read_bytes(&text, &super::Options::default()).unwrap();
    assert_eq!(read.locations.len(), 0);
    let mut again = Vec::new();
    super::write(&read, &mut again).unwrap();
    assert_eq!(text, again);
}

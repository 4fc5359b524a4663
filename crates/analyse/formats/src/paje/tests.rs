//! Tests of the Pajé reader and writer: one known trace, orders of fields, errors that name their
//! place, and round trips. Damaged files must be read or refused.

use proptest::prelude::*;

use super::*;

/// The trace that the slides print.
const SLIDE: &str = "\
%EventDef val 0
% Id int
% Phase int
% Time_us date
% Value double
%EndEventDef
%EventDef container 1
% Id int
% Level string
% Sibling int
% Name string
% Logscale int
%EndEventDef
1 3 PU 0 SINGLE_L3_MISS 1
1 2 PU 1 SINGLE_L3_MISS 1
1 1 PU 2 SINGLE_L3_MISS 1
1 0 PU 3 SINGLE_L3_MISS 1
0 2 0 962832762224 67 ,00
0 1 0 962832762224 58 ,00
0 3 0 962832762225 77 ,00
0 0 0 962832762236 64 ,00
0 3 0 962832860676 94514 ,00
0 0 0 962832860676 121746 ,00
0 2 0 962832860676 205170 ,00
0 1 0 962832860717 200931 ,00
";

#[test]
fn the_trace_of_the_slides() {
    let trace = read(SLIDE.as_bytes()).unwrap();
    assert_eq!(trace.containers.len(), 4);
    assert_eq!(
        trace.containers[0],
        Container {
            id: 3,
            level: "PU".into(),
            sibling: 0,
            name: "SINGLE_L3_MISS".into(),
            log_scale: true
        }
    );
    assert_eq!(trace.values.len(), 8);
    assert_eq!(trace.values[0], Value { id: 2, phase: 0, time_us: 962_832_762_224, value: 67.0 });
    assert!((trace.values[7].value - 200_931.0).abs() < f64::EPSILON);
    assert_eq!(read(write(&trace).as_bytes()), Ok(trace));
}

#[test]
fn fields_may_have_another_order_and_names_blanks() {
    let text = "%EventDef container 7\n% Name string\n% Id int\n%EndEventDef\n%EventDef val 2\n% Value double\n% Id int\n\
        %EndEventDef\n%EventDef other 3\n%EndEventDef\n7 SINGLE L3 MISS 5\n7 \"two  blanks\" 6\n2 1,5 5\n2 1.5e3 6\n3 x y\n2 4 9\n";
    let trace = read(text.as_bytes()).unwrap();
    let names: Vec<&str> = trace.containers.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["SINGLE L3 MISS", "two  blanks"]);
    let values: Vec<f64> = trace.values.iter().map(|v| v.value).collect();
    assert_eq!(values, [1.5, 1500.0, 4.0]);
    assert_eq!((trace.skipped, trace.orphans), (1, 1));
}

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), message);
}

#[test]
fn what_breaks_the_format_is_named() {
    refused("", "no Paje trace: expected a line such as `%EventDef val 0`, found none");
    refused(
        "hello\n",
        "line 1: expected the number of an event that a %EventDef before defines, found `hello`",
    );
    refused(
        "%EventDef val 0\n% Id int\n",
        "line 1: the definition that starts here does not end with %EndEventDef",
    );
    let with = |line: &str| SLIDE.to_owned() + line;
    refused(&with("0 2 0 9628 x\n"), "line 26: expected a number, found `x`");
    refused(&with("0 2 0 9628 67 00\n"), "line 26: expected a number, found `67 00`");
    refused(&with("0 2 0\n"), "line 26: expected 4 fields, found `2 0`");
    refused(&with("1 2 PU -1 NAME 1\n"), "line 26: expected the number of an object, found `-1`");
    // The last line of a file whose writer was stopped.
    assert_eq!(read(with("0 2 0").as_bytes()).unwrap().values.len(), 8);
}

fn traces() -> impl Strategy<Value = Trace> {
    let container = ("[A-Za-z0-9]{1,6}", 0..400_u32, "[A-Z_ ]{1,12}", any::<bool>());
    let containers = prop::collection::vec(container, 1..8);
    let value =
        (0..8_u64, 0..5_u32, any::<u64>(), any::<f64>().prop_filter("absent", |v| !v.is_nan()));
    (containers, prop::collection::vec(value, 0..60)).prop_map(|(containers, values)| {
        let containers: Vec<Container> = containers
            .into_iter()
            .zip(0..)
            .map(|((level, sibling, name, log_scale), id)| Container {
                id,
                level,
                sibling,
                name,
                log_scale,
            })
            .collect();
        let values: Vec<Value> = values
            .into_iter()
            .map(|(id, phase, time_us, value)| Value { id, phase, time_us, value })
            .collect();
        let orphans = values.iter().filter(|v| v.id >= containers.len() as u64).count() as u64;
        Trace { containers, values, skipped: 0, orphans }
    })
}

proptest! {
    #[test]
    fn traces_come_back(trace in traces()) {
        prop_assert_eq!(read(write(&trace).as_bytes()), Ok(trace));
    }

    #[test]
    fn damage_is_read_or_refused(
        trace in traces(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>()
    ) {
        let mut bytes = write(&trace).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read(&bytes);
        let _ = read(&bytes[..at]);
    }
}

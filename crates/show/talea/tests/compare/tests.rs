//! The comparison itself: what it accepts, and that it finds what differs.

use super::{InRow, compare_texts};

fn event(call: &str, args: &str, polls: u64) -> String {
    format!(
        r#"{{"begin_ns":1,"duration_ns":2,"call":"{call}","args":{args},"polls":{polls},"site":"a.c:1"}}"#
    )
}

#[track_caller]
fn check(log: &str, events: &[String], expected: Result<usize, &str>) {
    check_in(InRow::Folded, log, events, expected);
}

#[track_caller]
fn check_in(in_row: InRow, log: &str, events: &[String], expected: Result<usize, &str>) {
    let found = compare_texts("rank-3.log", log, &events.join("\n"), in_row);
    match (&found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(*found, expected),
        (Err(found), Err(expected)) => {
            assert!(found.contains(expected), "`{expected}` is not in: {found}");
        }
        _ => panic!("expected {expected:?}, found {found:?}"),
    }
}

const SEND: &str = "MPI_Send count=3 datatype=MPI_INT dest=1 tag=7 comm=world";

#[test]
fn equal_calls_are_equal_and_local_ones_do_not_count() {
    let send = r#"{"count":3,"datatype":"MPI_INT","dest":1,"tag":7,"comm":"world","more":5}"#;
    let events =
        [event("MPI_Wtime", "{}", 0), event("MPI_Send", send, 0), event("MPI_Comm_rank", "{}", 0)];
    check(SEND, &events, Ok(1));
}

#[test]
fn another_value_or_a_missing_one_is_found() {
    let tag = r#"{"count":3,"datatype":"MPI_INT","dest":1,"tag":8,"comm":"world"}"#;
    check(
        SEND,
        &[event("MPI_Send", tag, 0)],
        Err("rank-3.log:1: argument `tag` differs: 7 against 8"),
    );
    let no_tag = r#"{"count":3,"datatype":"MPI_INT","dest":1,"comm":"world"}"#;
    check(SEND, &[event("MPI_Send", no_tag, 0)], Err("the event does not say `tag`"));
    check(
        SEND,
        &[event("MPI_Ssend", no_tag, 0)],
        Err("the calls differ: MPI_Send against MPI_Ssend"),
    );
    check(SEND, &[], Err("the events end"));
    check("", &[event("MPI_Send", no_tag, 0)], Err("the logger's lines end"));
}

#[test]
fn communicators_are_related_one_to_one() {
    let log = "MPI_Barrier comm=c0\nMPI_Barrier comm=c1\nMPI_Barrier comm=c0";
    let barrier = |comm: &str| event("MPI_Barrier", &format!(r#"{{"comm":"{comm}"}}"#), 0);
    check(log, &[barrier("comm#4"), barrier("comm#9"), barrier("comm#4")], Ok(3));
    check(log, &[barrier("comm#4"), barrier("comm#4"), barrier("comm#4")], Err("comm#4 was c0"));
    check(log, &[barrier("comm#4"), barrier("comm#9"), barrier("comm#8")], Err("c0 was comm#4"));
    check(
        log,
        &[barrier("world"), barrier("comm#9"), barrier("world")],
        Err("c0 against \"world\""),
    );
}

#[test]
fn requests_are_numbers_and_a_shared_handle_may_be_any_of_its_own() {
    let log = "MPI_Waitall count=3 array_of_requests=[r4|r6,MPI_REQUEST_NULL,r5]";
    let wait = |list: &str| {
        [event("MPI_Waitall", &format!(r#"{{"count":3,"array_of_requests":{list}}}"#), 0)]
    };
    check(log, &wait(r#"["r4",null,"r5"]"#), Ok(1));
    check(log, &wait(r#"["r6","MPI_REQUEST_NULL","r5"]"#), Ok(1));
    check(log, &wait(r#"["r5",null,"r5"]"#), Err("entry 0: r4|r6 against \"r5\""));
    check(log, &wait(r#"["r4",null]"#), Err("3 entries against 2"));
}

#[test]
fn unsuccessful_polls_are_counted() {
    let log = "MPI_Test request=r1 flag=0\nMPI_Test request=r2 flag=0 times=2\nMPI_Test request=r2 flag=1";
    let done = event("MPI_Test", r#"{"request":"r2","flag":true}"#, 0);
    let polls = |n| event("MPI_Test", r#"{"request":"r1"}"#, n);
    check(log, &[polls(3), done.clone()], Ok(4));
    check(
        log,
        &[polls(2), done.clone()],
        Err("polls in a row of 2 MPI_Test, the logger has 3 MPI_Test"),
    );
    check(
        log,
        &[polls(4), done.clone()],
        Err("polls in a row of 4 MPI_Test, the logger has 3 MPI_Test"),
    );
    let second = event("MPI_Test", r#"{"request":"r2"}"#, 2);
    check(log, &[polls(1), second, done], Ok(4));
}

#[test]
fn polls_that_alternate_are_folded_by_kind() {
    let log = "MPI_Testall count=1 array_of_requests=[r1] flag=0\n\
               MPI_Iprobe source=0 tag=1 comm=world flag=0\n\
               MPI_Testall count=1 array_of_requests=[r1] flag=0\n\
               MPI_Iprobe source=0 tag=1 comm=world flag=0 times=3\n\
               MPI_Barrier comm=world";
    let testall = |n| {
        let args = r#"{"count":1,"array_of_requests":["r1"],"flag":false}"#;
        event("MPI_Testall", args, n)
    };
    let iprobe = |n, tag| {
        let args = format!(r#"{{"source":0,"tag":{tag},"comm":"world","flag":false}}"#);
        event("MPI_Iprobe", &args, n)
    };
    let barrier = event("MPI_Barrier", r#"{"comm":"world"}"#, 0);
    let sequence = |polls: &[&String]| -> Vec<String> {
        polls.iter().copied().chain([&barrier]).cloned().collect()
    };
    check(log, &sequence(&[&testall(2), &iprobe(4, 1)]), Ok(7));
    check(log, &sequence(&[&testall(2), &iprobe(1, 1), &iprobe(3, 1)]), Ok(7));
    check(log, &sequence(&[&iprobe(4, 1), &testall(2)]), Err("in a row of 4 MPI_Iprobe"));
    check(log, &sequence(&[&testall(3), &iprobe(3, 1)]), Err("in a row of 3 MPI_Testall"));
    check(log, &sequence(&[&testall(2), &iprobe(4, 2)]), Err("argument `tag` differs"));
    check(log, &sequence(&[&testall(2)]), Err("in a row of 2 MPI_Testall, the logger has"));
    // Where each poll is an event, their order counts.
    let (test, probe) = (testall(1), iprobe(1, 1));
    let log = log.replace(" times=3", "");
    check_in(InRow::Kept, &log, &sequence(&[&test, &probe, &test, &probe]), Ok(5));
    let turned = sequence(&[&test, &test, &probe, &probe]);
    check_in(InRow::Kept, &log, &turned, Err("the calls differ"));
}

#[test]
fn who_sent_to_a_wildcard_must_be_known() {
    let recv =
        "MPI_Irecv count=1 datatype=MPI_INT source=MPI_ANY_SOURCE tag=1 comm=world request=r0\n";
    let log = format!("{recv}MPI_Wait request=r0 status.source=2 status.tag=1");
    let made = r#"{"count":1,"datatype":"MPI_INT","source":"MPI_ANY_SOURCE","tag":1,"comm":"world","request":"r0"}"#;
    let made = event("MPI_Irecv", made, 0);
    let right = event("MPI_Wait", r#"{"request":"r0","status.source":2,"status.tag":1}"#, 0);
    check(&log, &[made.clone(), right], Ok(2));
    check(
        &log,
        &[made.clone(), event("MPI_Wait", r#"{"request":"r0"}"#, 0)],
        Err("does not say `status.source`"),
    );
    let wrong = event("MPI_Wait", r#"{"request":"r0","status.source":1}"#, 0);
    check(&log, &[made, wrong], Err("`status.source` differs: 2 against 1"));
}

#[test]
fn derived_types_and_own_operations_need_only_be_such() {
    let log = "MPI_Allreduce count=1 datatype=derived:24 op=user comm=world";
    let reduce = |kind: &str| {
        [event(
            "MPI_Allreduce",
            &format!(r#"{{"count":1,"datatype":"{kind}","op":"op#0","comm":"world"}}"#),
            0,
        )]
    };
    check(log, &reduce("type#5"), Ok(1));
    check(log, &reduce("type#5(24 B)"), Ok(1));
    check(log, &reduce("type#5(16 B)"), Err("derived:24 against"));
    check(log, &reduce("MPI_INT"), Err("derived:24 against"));
}

#[test]
fn lists_of_datatypes_are_compared_one_by_one() {
    let log = "MPI_Type_create_struct count=2 array_of_blocklengths=[1,2] array_of_types=[MPI_INT,derived:8]";
    let made = |types: &str| {
        let args = format!(
            r#"{{"count":2,"array_of_blocklengths":[1,2],"array_of_types":{types},"newtype":"type#4"}}"#
        );
        [event("MPI_Type_create_struct", &args, 0)]
    };
    check(log, &made(r#"["MPI_INT","type#3(8 B)"]"#), Ok(1));
    check(log, &made(r#"["MPI_INT","type#3(4 B)"]"#), Err("entry 1: derived:8 against"));
    check(log, &made("[7,3]"), Err("entry 0: MPI_INT against 7"));
    check(log, &made("null"), Err("the event does not say `array_of_types`"));
}

#[test]
fn several_statuses_are_found_by_position() {
    let recv =
        "MPI_Irecv count=1 datatype=MPI_INT source=MPI_ANY_SOURCE tag=1 comm=world request=r0\n";
    let list = "array_of_requests=[r5,r0] outcount=1 array_of_indices=[1]";
    let log = format!(
        "{recv}MPI_Waitsome incount=2 {list} array_of_statuses.source=[2] array_of_statuses.tag=[1]"
    );
    let made =
        r#"{"count":1,"datatype":"MPI_INT","source":"MPI_ANY_SOURCE","tag":1,"comm":"world"}"#;
    let events = |statuses: &str| {
        let args =
            r#""incount":2,"array_of_requests":["r5","r0"],"outcount":1,"array_of_indices":[1]"#;
        let args = format!("{{{args}{statuses}}}");
        [event("MPI_Irecv", made, 0), event("MPI_Waitsome", &args, 0)]
    };
    check(&log, &events(r#","statuses":[1,2,1]"#), Ok(2));
    check(&log, &events(r#","statuses":[[1,2,1]]"#), Ok(2));
    check(&log, &events(r#","statuses":[1,3,1]"#), Err("source 2, tag 1 against source 3, tag 1"));
    check(&log, &events(""), Err("wildcard receive r0 completed with source 2, tag 1"));
}

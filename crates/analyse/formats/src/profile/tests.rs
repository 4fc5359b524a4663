//! Tests of profile formats: the same samples as collapsed stacks, speedscope, Chrome trace and
//! pprof.

use std::sync::Arc;

use super::*;

fn samples() -> Samples {
    let frame = |name: &str, file: Option<&str>, line| Frame {
        name: name.into(),
        file: file.map(Into::into),
        line,
    };
    Samples {
        name: "a \"run\"".into(),
        unit: Unit::Nanoseconds,
        frames: vec![frame("main", Some("a.c"), Some(3)), frame("f;g\n", None, None)],
        threads: vec![
            SampledThread {
                name: "rank 0".into(),
                samples: vec![
                    Sample { stack: vec![0, 1], weight: 10 },
                    Sample { stack: vec![0], weight: 300 },
                ],
            },
            SampledThread {
                name: "rank 1".into(),
                // Frame 9 does not exist.
                samples: vec![
                    Sample { stack: vec![0, 9, 1], weight: 5 },
                    Sample { stack: vec![], weight: 7 },
                ],
            },
        ],
    }
}

#[test]
fn collapsed_stacks() {
    insta::assert_snapshot!(collapsed(&samples()), @r"
    main 300
    main;f:g  15
    ");
}

#[test]
fn speedscope_file() {
    insta::assert_snapshot!(speedscope(&samples()), @r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"talea","name":"a \"run\"","shared":{"frames":[{"name":"main","file":"a.c","line":3},{"name":"f;g\n"}]},"profiles":[{"type":"sampled","name":"rank 0","unit":"nanoseconds","startValue":0,"endValue":310,"samples":[[0,1],[0]],"weights":[10,300]},{"type":"sampled","name":"rank 1","unit":"nanoseconds","startValue":0,"endValue":12,"samples":[[0,1],[]],"weights":[5,7]}]}"#);
}

/// Two threads with slices that overlap, counters, and a message; with the ends of messages.
fn tracks() -> [(Track, Vec<FlowEnd>); 2] {
    let slice = |name: &str, begin: u64, end: u64| Slice {
        label: Arc::new(Label { name: name.into(), category: "mpi", arguments: Vec::new() }),
        begin: Nanos(begin),
        end: Nanos(end),
    };
    let mut send = slice("MPI_Send", 1_234_567, 1_234_600);
    Arc::make_mut(&mut send.label).arguments =
        vec![("bytes_sent", Argument::Number(64)), ("site", Argument::Text("a \"b\".c:3".into()))];
    let track = |process, name: &str, slices| Track {
        of: TrackName {
            process,
            process_name: format!("rank {process} on host"),
            thread: 0,
            name: name.into(),
        },
        slices,
        counters: Vec::new(),
    };
    let mut sender = track(3, "t\u{1}\\", vec![send]);
    sender.counters = vec![Series {
        name: "cycles".into(),
        unit: "per second",
        values: vec![(Nanos(5), 2.5e9), (Nanos(6), f64::NAN)],
    }];
    // The second overlaps the first, the third lies in the second and goes on the first row.
    let mixed = vec![slice("a", 0, 100), slice("b", 50, 2_000_000), slice("c", 200, 1_500_000)];
    let end = |slice, at, side| vec![FlowEnd { slice, at: Nanos(at), side, number: 0 }];
    let receiver = track(4, "u", mixed);
    let arrives = end(1, 2_000_000, Side::FinishAtMark);
    [(sender, end(0, 1_234_567, Side::Begin)), (receiver, arrives)]
}

/// All tracks by a writer.
fn write(mut writer: impl TrackWriter) -> TimelineCounts {
    for (track, ends) in tracks() {
        writer.track(&track, &ends).unwrap();
    }
    writer.finish().unwrap()
}

fn chrome(out: &mut Vec<u8>) -> TimelineCounts {
    let names = tracks().map(|(track, _)| track.of);
    write(Chrome::new(&names, out).unwrap())
}

#[test]
fn chrome_trace() {
    let mut bytes = Vec::new();
    let counts = chrome(&mut bytes);
    assert_eq!(counts, TimelineCounts { slices: 5, flows: 1, values: 1 });
    insta::assert_snapshot!(String::from_utf8(bytes).unwrap(), @r#"
    {"displayTimeUnit":"ns","traceEvents":[
    {"ph":"M","pid":3,"tid":0,"name":"process_name","args":{"name":"rank 3 on host"}},
    {"ph":"M","pid":3,"tid":0,"name":"process_sort_index","args":{"sort_index":3}},
    {"ph":"M","pid":3,"tid":0,"name":"thread_name","args":{"name":"t\u0001\\"}},
    {"ph":"M","pid":4,"tid":0,"name":"process_name","args":{"name":"rank 4 on host"}},
    {"ph":"M","pid":4,"tid":0,"name":"process_sort_index","args":{"sort_index":4}},
    {"ph":"M","pid":4,"tid":0,"name":"thread_name","args":{"name":"u"}},
    {"ph":"X","pid":3,"tid":0,"name":"MPI_Send","cat":"mpi","ts":1234.567,"dur":0.033,"args":{"bytes_sent":64,"site":"a \"b\".c:3"}},
    {"ph":"s","pid":3,"tid":0,"name":"message","cat":"message","id":0,"ts":1234.567},
    {"ph":"C","pid":3,"tid":0,"name":"cycles","ts":0.005,"args":{"per second":2500000000}},
    {"ph":"X","pid":4,"tid":0,"name":"a","cat":"mpi","ts":0.000,"dur":0.100},
    {"ph":"X","pid":4,"tid":0,"name":"c","cat":"mpi","ts":0.200,"dur":1499.800},
    {"ph":"M","pid":4,"tid":1,"name":"thread_name","args":{"name":"u, beside (1)"}},
    {"ph":"X","pid":4,"tid":1,"name":"b","cat":"mpi","ts":0.050,"dur":1999.950},
    {"ph":"X","pid":4,"tid":1,"name":"message arrives","cat":"message","ts":2000.000,"dur":0.000},
    {"ph":"f","pid":4,"tid":1,"bp":"e","name":"message","cat":"message","id":0,"ts":2000.000}
    ]}
    "#);
}

/// Tests of the command ask Perfetto about the contents.
#[test]
fn perfetto_packets() {
    let mut bytes = Vec::new();
    let counts = write(Perfetto::new(4, &mut bytes));
    assert_eq!(counts, chrome(&mut Vec::new()));
    // Packets alone, from which the rest can be read by itself: two processes, three rows and a
    // counter; begins and ends of slices, and a value.
    let packets = fields(&bytes);
    assert!(packets.iter().all(|(field, packet)| *field == 1 && packet.is_ok()));
    assert_eq!(packets.len(), 6 + 2 * 5 + 1);
    for text in ["rank 3 on host", "u, beside (1)", "bytes_sent", "message arrives"] {
        let found = bytes.windows(text.len()).filter(|part| *part == text.as_bytes());
        assert_eq!(found.count(), 1, "{text}");
    }
}

/// Fields of a message: number, and the bytes or the number there.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Result<&[u8], u64>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let length = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let (head, rest) = bytes.split_at(length);
        *bytes = rest;
        head.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f))
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let number = varint(&mut bytes);
        if key & 7 == 2 {
            let (content, rest) = bytes.split_at(number as usize);
            found.push((key >> 3, Ok(content)));
            bytes = rest;
        } else {
            assert_eq!(key & 7, 0);
            found.push((key >> 3, Err(number)));
        }
    }
    found
}

#[test]
fn pprof_profile() {
    let bytes = pprof(&samples());
    let all = fields(&bytes);
    let of = |field: u64| all.iter().filter(move |one| one.0 == field).map(|one| one.1.unwrap());
    let strings: Vec<&str> = of(6).map(|text| std::str::from_utf8(text).unwrap()).collect();
    assert_eq!(
        strings,
        ["", "cpu", "nanoseconds", "thread", "rank 0", "rank 1", "main", "a.c", "f;g\n"]
    );
    let of_samples: Vec<_> = of(2).map(fields).collect();
    // From the innermost out; 300 takes two bytes.
    assert_eq!(of_samples[0][0], (1, Ok(&[2, 1][..])));
    assert_eq!(of_samples[1][1], (2, Ok(&[0xac, 2][..])));
    assert_eq!(fields(of_samples[2][2].1.unwrap()), [(1, Err(3)), (2, Err(5))]);
    assert_eq!(fields(of(1).next().unwrap()), [(1, Err(1)), (2, Err(2))]);
    assert_eq!(fields(of(5).next().unwrap()), [(1, Err(1)), (2, Err(6)), (3, Err(6)), (4, Err(7))]);
    let location = fields(of(4).next().unwrap());
    assert_eq!(location[0], (1, Err(1)));
    assert_eq!(fields(location[1].1.unwrap()), [(1, Err(1)), (2, Err(3))]);
}

//! Tests of sample files: round trips, earlier versions, killed writers. Damage must become a gap.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use proptest::prelude::*;
use talea_model::{Frame, GapKind, Module, Nanos, Rank};

use super::records::{ABSENT, Entries, Header, Record};
use super::*;

fn header() -> Header {
    let counter = |name: &str, unit: &str| Counter { name: name.into(), unit: unit.into() };
    Header {
        host: "node1".into(),
        pid: 77,
        command: vec!["./app".into(), "-x".into()],
        executable: "/home/me/app".into(),
        talea: "0.1.0".into(),
        trigger: Trigger { counter: "task-clock".into(), period: 10_000_000 },
        unwinding: Unwinding::Dwarf,
        begin: Nanos(1000),
        counters: vec![counter("task-clock", "ns"), counter("page-faults", "")],
        sets: vec![vec![0, 1], vec![1]],
    }
}

fn file(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, header()).unwrap();
    for record in records {
        writer.append(record).unwrap();
    }
    writer.flush().unwrap();
    bytes
}

fn small_file() -> Vec<Record> {
    let module = |path: &str| Module { path: path.into(), build_id: "ab".into() };
    let node = |parent, offset| Node { parent, frame: Frame { module: 0, offset } };
    vec![
        Record::Modules { first: 0, modules: vec![module("/home/me/app")] },
        Record::Nodes {
            first: 0,
            nodes: vec![node(Stacks::OUTERMOST, 0x100), node(0, 0x200), node(Stacks::CUT, 0x300)],
        },
        Record::Thread { thread: 0, tid: 77, name: "app".into(), begin: Nanos(1000) },
        Record::Samples(
            Entries {
                times: vec![2000, 3000],
                values: vec![10, 1, 20, ABSENT],
                ..Entries::default()
            },
            vec![1, Stacks::UNKNOWN],
        ),
        Record::Samples(
            Entries { set: 1, turn: 1, times: vec![4000], values: vec![5], ..Entries::default() },
            vec![2],
        ),
        Record::Probes(
            Entries { set: 1, turn: 1, times: vec![4100, 4200], values: vec![6, 7], thread: 0 },
            vec![2, 1],
        ),
        Record::PhaseNames { first: 1, names: vec!["outer".into(), "inner".into()] },
        Record::Phases(
            Entries {
                times: vec![2100, 2900],
                values: vec![11, 2, 15, ABSENT],
                ..Entries::default()
            },
            vec![2, 3],
        ),
        Record::Phases(Entries { times: vec![2200, 2300], ..Entries::default() }, vec![4, 5]),
        Record::World(World { rank: Rank(3), size: 4, id: 99 }),
        Record::State {
            thread: 0,
            number: Some(0),
            end: Some(Nanos(5000)),
            lost_samples: 2,
            lost_probes: 0,
            lost_phases: 3,
        },
        Record::Gap { kind: GapKind::Unsupported, detail: "no PMU".into(), count: 0 },
        Record::End { at: Nanos(6000) },
    ]
}

/// The only process of a file, with the file's damage.
fn read_back(bytes: &[u8]) -> ProcessSamples {
    let FileSamples { mut processes, gaps } = read(bytes, Path::new("test")).unwrap();
    assert_eq!(processes.len(), 1);
    let mut process = processes.remove(0);
    process.gaps.merge(gaps);
    process
}

/// In words, as an absent value is no number.
fn told(process: &ProcessSamples) -> String {
    format!("{process:?}")
}

/// The same records in a file of one process, as earlier versions wrote them.
fn file_of_one(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut journal = crate::journal::Writer::new(&mut bytes, ONE_PROCESS).unwrap();
    for record in [Record::Header(Box::new(header()))].iter().chain(records) {
        let mut bytes = Vec::new();
        record.put(&mut bytes);
        journal.append(record.tag(), &bytes).unwrap();
    }
    bytes
}

#[test]
fn files_of_one_process_are_read() {
    let (one, host) = (file_of_one(&small_file()), file(&small_file()));
    assert_eq!(told(&read_back(&one)), told(&read_back(&host)));
}

/// Keeps each write by itself.
#[derive(Clone, Default)]
struct Batches(Rc<RefCell<Vec<Vec<u8>>>>);

impl std::io::Write for Batches {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Appends the records of some processes to one file, a batch of each in turn.
fn shared(processes: &[(u32, &[Record])]) -> Vec<u8> {
    let of_process = |&(pid, records): &(u32, &[Record])| {
        let batches = Batches::default();
        let mut writer = Writer::new(batches.clone(), Header { pid, ..header() }).unwrap();
        for record in records {
            writer.append(record).unwrap();
            writer.flush().unwrap();
        }
        batches.0.take()
    };
    let batches: Vec<Vec<Vec<u8>>> = processes.iter().map(of_process).collect();
    let most = batches.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..most).flat_map(|turn| batches.iter().filter_map(move |all| all.get(turn)));
    turns.flatten().copied().collect()
}

#[test]
fn processes_of_a_host_share_a_file() {
    let all = small_file();
    let bytes = shared(&[(1, &all), (2, &all[..4]), (3, &all)]);
    let found = read(&bytes, Path::new("test")).unwrap();
    assert!(found.gaps.is_empty());
    for (process, (pid, records)) in
        found.processes.iter().zip([(1, &all[..]), (2, &all[..4]), (3, &all[..])])
    {
        let mut alone = Vec::new();
        let mut writer = Writer::new(&mut alone, Header { pid, ..header() }).unwrap();
        for record in records {
            writer.append(record).unwrap();
        }
        writer.flush().unwrap();
        assert_eq!(told(process), told(&read_back(&alone)));
    }

    // Damage to one block is damage to one process.
    for at in 24..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        let again = read(&damaged, Path::new("test")).unwrap();
        assert!(!again.gaps.is_empty(), "byte {at}");
        let again: Vec<String> = again.processes.iter().map(told).collect();
        let same = found.processes.iter().filter(|&process| again.contains(&told(process)));
        assert!(same.count() >= 2, "byte {at}");
    }
}

#[test]
fn processes_that_nobody_asked_for_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.samples");
    let all = small_file();
    std::fs::write(&path, shared(&[(1, &all), (2, &all), (3, &all)])).unwrap();
    let read = || read(&std::fs::read(&path).unwrap(), &path).unwrap();
    leave_out(&path, &[read().processes[0].id(), read().processes[2].id()]).unwrap();
    let left = read();
    assert_eq!((left.processes.len(), left.processes[0].pid), (1, 2));
    assert!(left.gaps.is_empty());
}

#[test]
fn a_write_that_the_disk_cut_is_the_last_one() {
    struct Small(Vec<u8>, usize);
    impl std::io::Write for &mut Small {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let room = bytes.len().min(self.1 - self.0.len());
            self.0.extend_from_slice(&bytes[..room]);
            Ok(room)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut disk = Small(Vec::new(), 400);
    let mut writer = Writer::new(&mut disk, header()).unwrap();
    writer.flush().unwrap();
    for record in small_file() {
        writer.append(&record).unwrap();
    }
    let error = writer.flush().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WriteZero);
    // Another process goes on behind the cut block.
    let bytes = [disk.0, file(&[])].concat();
    let found = read(&bytes, Path::new("test")).unwrap();
    assert_eq!(found.gaps.iter().count(), 1);
    assert!(!found.processes[0].complete);
}

#[test]
fn a_file_says_what_was_written() {
    let process = read_back(&file(&small_file()));
    assert_eq!((process.host.as_str(), process.pid, process.complete), ("node1", 77, true));
    assert_eq!((process.begin, process.end), (Nanos(1000), Nanos(6000)));
    assert_eq!(process.world.unwrap().rank, Rank(3));
    let thread = &process.threads[0];
    assert_eq!((thread.tid, thread.number, thread.end), (77, Some(0), Some(Nanos(5000))));
    let series = &thread.samples.series;
    assert_eq!(series.times, [2000, 3000, 4000]);
    assert_eq!(series.turns, [0, 0, 1]);
    let faults = series.column(1, &process.sets);
    assert_eq!((faults[0], faults[2]), (1.0, 5.0));
    assert!(faults[1].is_nan() && series.value(2, 0, &process.sets).is_nan());
    assert_eq!(series.column(0, &process.sets)[..2], [10.0, 20.0]);
    assert_eq!(thread.probes.kinds, [ProbeKind::Begin, ProbeKind::End]);
    assert_eq!(thread.probes.events, [0, Probes::NO_EVENT]);
    let offsets = |stack| process.stacks.frames(stack).map(|f| f.offset).collect::<Vec<_>>();
    assert_eq!(offsets(1), [0x200, 0x100]);
    assert_eq!(offsets(2), [0x300]);
    assert_eq!(offsets(Stacks::UNKNOWN), [0; 0]);
    assert!(process.stacks.is_whole(1) && !process.stacks.is_whole(2));
    let gaps: Vec<&str> = process.gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(
        gaps,
        [
            "2 samples of process 77 found no room",
            "3 instances of phases of process 77 were not recorded: too fast, or no room",
            "no PMU"
        ]
    );
    assert_eq!(process.phases, ["outer", "inner"]);
    let phases = &thread.phases;
    assert_eq!(phases.series.times, [2100, 2200, 2300, 2900]);
    assert_eq!(phases.phases, [0, 1, 1, 0]);
    let (enter, leave) = (PhaseKind::Enter, PhaseKind::Leave);
    assert_eq!(phases.kinds, [enter, enter, leave, leave]);
    assert_eq!(phases.series.row(0), [11.0, 2.0]);
    assert!(phases.series.row(1).is_empty() && phases.series.value(1, 0, &process.sets).is_nan());
}

#[test]
fn files_from_before_phases_are_read() {
    let before: Vec<Record> = small_file()
        .into_iter()
        .filter(|one| !matches!(one, Record::PhaseNames { .. } | Record::Phases(..)))
        .collect();
    let mut bytes = Vec::new();
    let state = before.iter().find(|one| matches!(one, Record::State { .. })).unwrap();
    state.put(&mut bytes);
    // The count of lost phases came last, and was absent.
    bytes.pop();
    match Record::get(state.tag(), &bytes) {
        Some(Some(Record::State { lost_samples, lost_phases, .. })) => {
            assert_eq!((lost_samples, lost_phases), (2, 0));
        }
        other => panic!("{other:?}"),
    }
    let process = read_back(&file(&before));
    assert!(process.phases.is_empty() && process.threads[0].phases.series.is_empty());
}

#[test]
fn phases_whose_names_are_lost_are_phases_still() {
    let mut records = small_file();
    records.retain(|one| !matches!(one, Record::PhaseNames { .. }));
    records.push(Record::PhaseNames { first: 4, names: vec!["last".into()] });
    records.push(Record::PhaseNames { first: 2, names: vec!["too late".into()] });
    records.push(Record::PhaseNames { first: u32::MAX, names: vec!["beyond".into()] });
    let process = read_back(&file(&records));
    assert_eq!(process.phases, ["", "", "", "last"]);
    assert_eq!(process.threads[0].phases.phases, [0, 1, 1, 0]);
    assert!(process.gaps.iter().any(|gap| gap.count == 2 && gap.kind == GapKind::Damaged));
}

#[test]
fn a_killed_writer_leaves_what_it_wrote() {
    let bytes = file(&small_file());
    let process = read_back(&bytes[..bytes.len() - 1]);
    assert!(!process.complete);
    assert_eq!(process.samples(), 3);
}

#[test]
fn the_samples_of_a_run_stand_by_rank() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(Some(&folder.path().join("run")), "").unwrap();
    assert_eq!(load(&run), RunSamples::default());
    std::fs::create_dir(super::folder(run.path())).unwrap();
    for (host, rank) in [("c", None), ("b", Some(1)), ("a host", Some(0))] {
        let world = rank.map(|rank| Record::World(World { rank: Rank(rank), size: 2, id: 5 }));
        let path = super::folder(run.path()).join(file_name(host, ProcessId::default()));
        std::fs::write(path, file(&world.into_iter().collect::<Vec<_>>())).unwrap();
    }
    std::fs::write(super::folder(run.path()).join("x.samples"), "nonsense").unwrap();
    let all = load(&run);
    let ranks: Vec<_> = all.processes.iter().map(|p| p.world.map(|w| w.rank.0)).collect();
    assert_eq!(ranks, [Some(0), Some(1), None]);
    assert_eq!(all.gaps.iter().count(), 1);
    let name = file_name("a host", ProcessId::default());
    assert!(name.starts_with("a_host-") && name.ends_with(".samples"), "{name}");
}

fn entries() -> impl Strategy<Value = Entries> {
    let value = prop_oneof![3 => 0..1_u64 << 62, 1 => Just(ABSENT)];
    (any::<(u32, u32, u32)>(), 0..5_usize, 0..6_usize).prop_flat_map(move |(ids, width, count)| {
        let times = prop::collection::vec(any::<u64>(), count);
        let values = prop::collection::vec(value.clone(), count * width);
        (times, values).prop_map(move |(times, values)| {
            let (thread, set, turn) = ids;
            Entries { thread, set, turn, times, values }
        })
    })
}

fn record() -> impl Strategy<Value = Record> {
    let module =
        ("\\PC{0,20}", "[0-9a-f]{0,8}").prop_map(|(path, build_id)| Module { path, build_id });
    let parent = prop_oneof![Just(Stacks::OUTERMOST), Just(Stacks::CUT), 0..1000_u32];
    let node = (parent, any::<(u32, u64)>())
        .prop_map(|(parent, (module, offset))| Node { parent, frame: Frame { module, offset } });
    let with = |entries: Entries| {
        let count = entries.times.len();
        (Just(entries), prop::collection::vec(any::<u32>(), count))
    };
    prop_oneof![
        Just(Record::Header(Box::new(header()))),
        (any::<u32>(), prop::collection::vec(module, 0..4))
            .prop_map(|(first, modules)| Record::Modules { first, modules }),
        (any::<u32>(), prop::collection::vec(node, 0..6))
            .prop_map(|(first, nodes)| Record::Nodes { first, nodes }),
        any::<(u32, u32, String, u64)>().prop_map(|(thread, tid, name, begin)| Record::Thread {
            thread,
            tid,
            name,
            begin: Nanos(begin)
        }),
        any::<(u32, Option<u32>, Option<u64>, u64, u64, u64)>().prop_map(|r| Record::State {
            thread: r.0,
            number: r.1,
            end: r.2.map(Nanos),
            lost_samples: r.3,
            lost_probes: r.4,
            lost_phases: r.5
        }),
        (any::<u32>(), prop::collection::vec("\\PC{0,20}", 0..4))
            .prop_map(|(first, names)| Record::PhaseNames { first, names }),
        entries()
            .prop_flat_map(with)
            .prop_map(|(e, w)| { Record::Phases(e, w.into_iter().map(u64::from).collect()) }),
        entries().prop_flat_map(with).prop_map(|(e, s)| Record::Samples(e, s)),
        entries()
            .prop_flat_map(with)
            .prop_map(|(e, w)| { Record::Probes(e, w.into_iter().map(u64::from).collect()) }),
        any::<(u32, u32, u64)>().prop_map(|(r, size, id)| Record::World(World {
            rank: Rank(r),
            size,
            id
        })),
        any::<(String, u64)>().prop_map(|(detail, count)| Record::Gap {
            kind: GapKind::Estimated,
            detail,
            count
        }),
        any::<u64>().prop_map(|at| Record::End { at: Nanos(at) }),
    ]
}

/// Walks everything that a reader might.
fn exercise(process: &ProcessSamples) {
    for thread in &process.threads {
        for series in [&thread.samples.series, &thread.probes.series, &thread.phases.series] {
            assert!(series.times.is_sorted());
            assert_eq!((series.sets.len(), series.turns.len()), (series.len(), series.len()));
            for counter in 0..=process.counters.len() {
                assert_eq!(series.column(counter, &process.sets).len(), series.len());
            }
        }
        assert_eq!(thread.samples.stacks.len(), thread.samples.series.len());
        assert_eq!(thread.probes.events.len(), thread.probes.series.len());
        assert_eq!(thread.phases.kinds.len(), thread.phases.series.len());
        assert_eq!(thread.phases.phases.len(), thread.phases.series.len());
        for &stack in &thread.samples.stacks {
            assert!(process.stacks.frames(stack).count() <= MOST_FRAMES);
        }
    }
}

proptest! {
    #[test]
    fn records_come_back(record in record()) {
        let mut bytes = Vec::new();
        record.put(&mut bytes);
        prop_assert_eq!(Record::get(record.tag(), &bytes), Some(Some(record)));
    }

    #[test]
    fn any_records_make_a_process(records in prop::collection::vec(record(), 0..12)) {
        exercise(&read_back(&file(&records)));
    }

    #[test]
    fn any_bytes_in_a_block_are_survived(tag in 0..13_usize, bytes: Vec<u8>) {
        let tags = small_file();
        let tag = tags[tag % tags.len()].tag();
        let _ = Record::get(tag, &bytes);
        if let Some((_, record)) = ProcessId::split(&bytes) {
            let _ = Record::get(tag, record);
        }
    }

    #[test]
    fn damage_is_a_gap(at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let mut bytes = file(&small_file());
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        if let Ok(found) = read(&bytes, Path::new("test")) {
            found.processes.iter().for_each(exercise);
            prop_assert!(!found.gaps.is_empty());
        }
    }
}

//! Data sets as a reader of Parquet sees them, beside the recordings and traces that they are of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};

use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::record::Field;
use talea_model::trace::{EventType, MessageRecord, StateRecord, ValueSet};
use talea_model::{Bytes, Gaps};
use talea_run::load::load;
use tempfile::TempDir;

use super::dataset::MARK;
use super::*;
use crate::Analysis;
use crate::input::run::tests::samples;
use crate::location::ThreadAt;

type Row = BTreeMap<String, Field>;

/// Files of a table in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.collect();
    paths.sort();
    paths
        .into_iter()
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

fn reader(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).unwrap()).unwrap()
}

fn rows(folder: &Path) -> Vec<Row> {
    let mut all = Vec::new();
    for path in files(folder) {
        for row in reader(&path).get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let cells = row.get_column_iter();
            all.push(cells.map(|(name, field)| (name.clone(), field.clone())).collect());
        }
    }
    all
}

/// A number, absent for null.
fn number(row: &Row, name: &str) -> Option<i64> {
    match &row[name] {
        Field::Long(value) => Some(*value),
        Field::Null => None,
        other => panic!("{name}: {other:?}"),
    }
}

fn text<'a>(row: &'a Row, name: &str) -> &'a str {
    let Field::Str(text) = &row[name] else { panic!("{name}: {row:?}") };
    text
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn trace() -> Trace {
    let mut trace = Trace::default();
    trace.locations.push_task(2, 1).unwrap();
    trace.push_event((1, 0), 7, &[50_000_001, 42], &[3, -5]);
    trace.push_state(StateRecord { location: 0, cpu: 0, begin: 1, end: 9, state: 1 });
    trace.push_message(MessageRecord {
        sender: 0,
        sender_cpu: 0,
        logical_send: 2,
        physical_send: 3,
        receiver: 1,
        receiver_cpu: 0,
        logical_receive: 2,
        physical_receive: 8,
        size: 64,
        tag: 5,
    });
    let mut set = ValueSet::default();
    set.push(3, "MPI_Isend".to_owned());
    trace.labels.value_sets.push(set);
    trace.labels.event_types.push(EventType {
        number: 50_000_001,
        label: "MPI".to_owned(),
        values: Some(0),
        ..Default::default()
    });
    trace
}

#[test]
fn tables_of_a_trace_are_read_by_others() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    save(&trace(), &path).unwrap();
    let events = rows(&path.join("events"));
    assert_eq!(events.len(), 2);
    assert_eq!((number(&events[0], "thread"), number(&events[0], "time_ns")), (Some(2), Some(7)));
    assert_eq!(text(&events[0], "value_label"), "MPI_Isend");
    assert_eq!((number(&events[1], "type"), number(&events[1], "value")), (Some(42), Some(-5)));
    assert_eq!(number(&rows(&path.join("states"))[0], "end_ns"), Some(9));
    let message = &rows(&path.join("messages"))[0];
    assert_eq!((number(message, "to_thread"), number(message, "bytes")), (Some(2), Some(64)));
    assert_eq!(names(&path.join("events")), BTreeSet::from(["first_task=1".to_owned()]));
}

#[test]
fn tasks_have_folders_by_their_number_of_rows() {
    assert_eq!(members_of_folder(0, 0), 256);
    assert_eq!(members_of_folder(1 << 20, 4), 16);
    assert_eq!(members_of_folder(7_800_000, 4), 2);
    assert_eq!(members_of_folder(u64::MAX, 4), 1);
    let mut trace = Trace::default();
    for task in 0..600_u32 {
        trace.locations.push_task(1, 1).unwrap();
        trace.push_state(StateRecord { location: task, cpu: 0, begin: 1, end: 9, state: 1 });
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    save(&trace, &path).unwrap();
    let expected = ["first_task=1", "first_task=257", "first_task=513"].map(str::to_owned);
    assert_eq!(names(&path.join("states")), BTreeSet::from(expected));
    let tasks = rows(&path.join("states")).into_iter().map(|row| number(&row, "task").unwrap());
    assert_eq!(tasks.collect::<Vec<_>>(), (1..=600).collect::<Vec<_>>());
}

/// Writes a run; the folder must live as long as the data set.
fn of_run(analysis: &Analysis<'_>) -> (TempDir, PathBuf, Gaps) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.parquet");
    let mut gaps = Gaps::default();
    save_run(analysis, &path, &mut gaps).unwrap();
    (folder, path, gaps)
}

#[test]
fn calls_are_the_events_of_the_recording() {
    let mut found = 0;
    for sample in samples() {
        let Ok(run) = load(sample.path()) else { continue };
        let analysis = Analysis::new(&run, &mut |_| ());
        let (_folder, path, _) = of_run(&analysis);
        let mut by_thread: BTreeMap<(i64, i64), Vec<Row>> = BTreeMap::new();
        for row in rows(&path.join("calls")) {
            let key = (number(&row, "rank").unwrap(), number(&row, "thread").unwrap());
            by_thread.entry(key).or_default().push(row);
        }
        for (place, process) in run.recording.processes.iter().enumerate() {
            for (at, thread) in process.threads.iter().enumerate() {
                let each = analysis.iterations(ThreadAt { process: place, thread: at });
                let key = (i64::from(analysis.ranks[place].rank.0), i64::from(thread.number));
                let mut rows = by_thread.remove(&key).unwrap_or_default().into_iter();
                let mut events = process.events(&run.recording, thread);
                let mut event_number = 0;
                while let Some(event) = events.next_event() {
                    let row = rows.next().unwrap();
                    let signature = thread.log.nodes[event.node.0 as usize].signature;
                    let site = number(&row, "site_id").unwrap() as usize;
                    assert_eq!(analysis.calls.sites()[site].signature, signature);
                    let procedure = &run.recording.procedure(signature.procedure).name;
                    assert_eq!(text(&row, "procedure"), procedure);
                    assert_eq!(text(&row, "site"), analysis.places.short(signature.path));
                    let times = [event.begin, event.duration].map(|time| time.map(|t| t.0 as i64));
                    let own = ["begin_ns", "duration_ns"].map(|name| number(&row, name));
                    assert_eq!(own, times);
                    assert_eq!(number(&row, "calls"), Some(event.polls as i64));
                    let inside = |one: &talea_flow::iterations::Iteration| {
                        one.events.contains(&event_number)
                    };
                    let iteration = each.iter().position(inside);
                    assert_eq!(number(&row, "iteration"), iteration.map(|at| at as i64));
                    event_number += 1;
                }
                assert!(rows.next().is_none());
                found += event_number;
            }
        }
        assert!(by_thread.is_empty());
    }
    assert!(found > 1000, "{found}");
}

#[test]
fn sums_of_a_run_are_those_of_its_views() {
    for sample in samples() {
        let Ok(run) = load(sample.path()) else { continue };
        let analysis = Analysis::new(&run, &mut |_| ());
        let (_folder, path, _) = of_run(&analysis);
        let mut bytes: BTreeMap<usize, Bytes> = BTreeMap::new();
        let mut calls: BTreeMap<usize, u64> = BTreeMap::new();
        let mut iterations = BTreeSet::new();
        for row in rows(&path.join("calls")) {
            let site = number(&row, "site_id").unwrap() as usize;
            if let Some(sent) = number(&row, "bytes") {
                *bytes.entry(site).or_default() += Bytes(sent as u64);
            }
            *calls.entry(site).or_default() += number(&row, "calls").unwrap() as u64;
            let iteration = number(&row, "iteration");
            iterations.extend(iteration.map(|one| (number(&row, "rank"), one)));
        }
        let sites = analysis.calls.sites();
        for (at, site) in sites.iter().enumerate() {
            assert_eq!(bytes.get(&at).copied(), site.stats.bytes, "{}", site.procedure);
            assert_eq!(calls.get(&at).copied().unwrap_or(0), site.stats.calls);
        }
        assert_eq!(rows(&path.join("sites")).len(), sites.len());
        let sums = rows(&path.join("sums"));
        let own = sums.iter().map(|row| {
            let of = |name| number(row, name).unwrap() as u64;
            (of("site_id"), of("rank"), of("events"), of("time_ns"))
        });
        let expected = (0..).zip(sites).flat_map(|(number, site)| {
            let ranks = site.stats.ranks.iter();
            ranks.map(move |(rank, sum)| (number, u64::from(rank.0), sum.events, sum.time.0))
        });
        assert!(own.eq(expected));
        let listed = rows(&path.join("iterations"));
        assert_eq!(listed.len(), iterations.len());
        for (row, iteration) in listed
            .iter()
            .zip(crate::views::iterations(&analysis, &[], &crate::views::Which::Main).unwrap())
        {
            let own =
                ["iteration", "begin_ns", "duration_ns"].map(|name| number(row, name).unwrap());
            let expected = [iteration.iteration, iteration.begin_ns.0, iteration.duration_ns.0];
            assert_eq!(own.map(|value| value as u64), expected);
        }
        let found = crate::messages::messages(&run.recording, talea_model::Nanos(u64::MAX));
        assert_eq!(rows(&path.join("messages")).len(), found.all.len());
    }
}

/// Extremes of the first column of a row group.
fn extremes(group: &RowGroupMetaData) -> (i64, i64) {
    match group.column(0).statistics().unwrap() {
        Statistics::Int64(all) => extreme(all),
        other => panic!("{other:?}"),
    }
}

fn extreme(all: &ValueStatistics<i64>) -> (i64, i64) {
    (*all.min_opt().unwrap(), *all.max_opt().unwrap())
}

#[test]
fn row_groups_have_their_extremes() {
    let folder = TempDir::new().unwrap();
    let columns = [("begin_ns", Kind::Ascending), ("site", Kind::Text)];
    let mut part = Part::create(folder.path(), &columns).unwrap();
    let count = 2 * GROUP as i64 + 5;
    let names = ["a", "b"].map(|text| part.name(1, text));
    for at in 0..count {
        let time = Cell::Optional(Some(10 * at));
        part.push(&[time, Cell::Name(names[(at % 2) as usize])]).unwrap();
    }
    assert_eq!(part.finish().unwrap(), count as u64);
    let reader = reader(&folder.path().join("part-0.parquet"));
    let groups: Vec<(i64, i64)> = reader.metadata().row_groups().iter().map(extremes).collect();
    let group = GROUP as i64;
    let last = |at: i64| 10 * (at - 1);
    assert_eq!(
        groups,
        [(0, last(group)), (10 * group, last(2 * group)), (20 * group, last(count))]
    );
    let sites = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        row.get_column_iter().nth(1).unwrap().1.clone()
    });
    let expected = ["a", "b"].map(|text| Field::Str(text.to_owned()));
    assert!(sites.eq(expected.into_iter().cycle().take(count as usize)));
}

#[test]
fn nothing_is_left_of_an_interrupted_data_set() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    save(&trace(), &path).unwrap();
    let before = rows(&path.join("events"));
    for name in ["t.parquet", "new.parquet"] {
        let set = DataSet::create(&folder.path().join(name)).unwrap();
        let mut part = Part::create(&set.folder("states"), &[("task", Kind::Number)]).unwrap();
        part.push(&[Cell::Number(1)]).unwrap();
        drop((part, set));
    }
    // A writer that fails leaves as little.
    let set = DataSet::create(&path).unwrap();
    let failed = set.write("states", &[("task", Kind::Number)], |_| {
        Err::<(), _>(ParquetError::EOF("cut".to_owned()))
    });
    let text = failed.map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("t.parquet/states") && !text.contains(".talea-"), "{text}");
    // As of a process that was killed, and of one that still writes.
    let killed = folder.path().join(".t.parquet.talea-killed");
    fs::create_dir(&killed).unwrap();
    fs::write(killed.join(MARK), "{}").unwrap();
    drop(DataSet::create(&path).unwrap());
    assert!(!killed.exists() && set.folder("").exists());
    drop(set);
    assert_eq!(names(folder.path()), BTreeSet::from(["t.parquet".to_owned()]));
    assert_eq!(rows(&path.join("events")), before);
}

#[test]
fn only_data_sets_of_ours_are_replaced() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let refused = |name: &str, why: &str| {
        let text = save(&trace(), &at(name)).unwrap_err().to_string();
        assert!(text.contains(why) && text.contains("give another name"), "{name}: {text}");
    };
    fs::write(at("file.parquet"), "PAR1").unwrap();
    refused("file.parquet", "found a file");
    fs::create_dir(at("folder.parquet")).unwrap();
    refused("folder.parquet", "found a folder without");
    fs::write(at("folder.parquet").join("notes"), "mine").unwrap();
    refused("folder.parquet", "found a folder without");
    assert_eq!(fs::read_to_string(at("folder.parquet").join("notes")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(at("file.parquet")).unwrap(), "PAR1");
    save(&trace(), &at("own.parquet")).unwrap();
    save(&Trace::default(), &at("own.parquet")).unwrap();
    assert!(rows(&at("own.parquet").join("events")).is_empty());
    // Through a link, which stays.
    std::os::unix::fs::symlink("own.parquet", at("link.parquet")).unwrap();
    save(&trace(), &at("link.parquet")).unwrap();
    assert!(fs::symlink_metadata(at("link.parquet")).unwrap().is_symlink());
    assert_eq!(rows(&at("own.parquet").join("events")).len(), 2);
    // With something of its user in it.
    fs::write(at("own.parquet").join("notes"), "mine").unwrap();
    refused("own.parquet", "`notes` in it");
    fs::remove_file(at("own.parquet").join("notes")).unwrap();
    fs::write(at("own.parquet").join(MARK), "{}").unwrap();
    refused("own.parquet", "found a folder without");
    assert!(matches!(save(&trace(), Path::new("-")), Err(SaveError::Stream)));
    assert!(names(folder.path()).iter().all(|name| !name.starts_with('.')));
    let missing = save(&trace(), &at("no/such.parquet")).unwrap_err().to_string();
    assert!(missing.contains("No such file") && !missing.contains(".talea-"), "{missing}");
}

//! `SQLite` against the oracle, and files that are not as they should be.

mod gone;
mod losses;
pub(crate) mod made;
mod modes;
mod refusing;
mod server;
mod servers;
mod shown;
mod strict;

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use talea_model::shares::{Activity, Batch, Job, Rate, Share};
use talea_model::{Bytes, Nanos};
use tempfile::TempDir;

use crate::oracle::Oracle;
use crate::sqlite::{DAY, HOUR, Options, Sqlite};
use crate::{Dimension, Put, Question, Store, StoreError, Text, Value, Visible};
use made::{MPI, SECOND, START, batch, batches, question};

fn options(slice: u64) -> Options {
    Options {
        slice: Nanos(slice),
        fine_for: Nanos(DAY.0),
        hours_for: Nanos(2 * DAY.0),
        patience: Duration::ZERO,
        ..Options::default()
    }
}

fn store(options: &Options) -> (TempDir, Sqlite) {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("t.db"), options).unwrap();
    (folder, store)
}

fn slices() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![0, HOUR.0 / 6, HOUR.0])
}

fn whole(visible: Visible) -> Question {
    Question::everything(visible, Nanos(0), Nanos(i64::MAX as u64))
}

/// The question with what rates and spreads are kept without left out.
fn of_counters(asked: &Question) -> (Question, Question) {
    use Dimension::{Activity, Core, Function};
    let by = asked.by.iter().copied();
    let by = by.filter(|by| !matches!(by, Core | Activity | Function)).collect();
    let rates = Question { core: None, activity: None, by, ..asked.clone() };
    let spreads = Question { executable: None, library: None, phase: None, ..rates.clone() };
    (rates, spreads)
}

/// Both stores answer the same.
fn agree(sqlite: &Sqlite, oracle: &Oracle, asked: &Question, step: u64) {
    assert_eq!(sqlite.usage(asked).unwrap(), oracle.usage(asked).unwrap());
    let step = Nanos(step);
    assert_eq!(sqlite.series(asked, step).unwrap(), oracle.series(asked, step).unwrap());
    assert_eq!(sqlite.nodes(asked.visible).unwrap(), oracle.nodes(asked.visible).unwrap());
    assert_eq!(sqlite.jobs(asked).unwrap(), oracle.jobs(asked).unwrap());
    let (rates, spreads) = of_counters(asked);
    assert_eq!(sqlite.rates(&rates).unwrap(), oracle.rates(&rates).unwrap());
    assert_eq!(sqlite.spreads(&spreads).unwrap(), oracle.spreads(&spreads).unwrap());
    assert_eq!(sqlite.rates(asked).is_err(), oracle.rates(asked).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn as_the_oracle(
        batches in batches(),
        more in batches(),
        asked in prop::collection::vec(question(), 4),
        slice in slices(),
        step in prop::sample::select(vec![HOUR.0, HOUR.0 / 4, DAY.0, 1_000_000_007 * 600]),
        days in 0_u64..6,
    ) {
        let options = options(slice);
        let (_folder, mut sqlite) = store(&options);
        let mut oracle = Oracle::new(options);
        prop_assert_eq!(sqlite.put_all(&batches).unwrap(), oracle.put_all(&batches).unwrap());
        for asked in &asked {
            agree(&sqlite, &oracle, asked, step);
        }
        let now = Nanos(START + days * DAY.0);
        sqlite.retain(now, usize::MAX).unwrap();
        oracle.retain(now, usize::MAX).unwrap();
        for asked in &asked {
            agree(&sqlite, &oracle, asked, step);
        }
        // Late ones, and those sent again.
        prop_assert_eq!(sqlite.put_all(&more).unwrap(), oracle.put_all(&more).unwrap());
        prop_assert!(sqlite.put_all(&batches).unwrap().iter().all(|&put| put == Put::Already));
        for asked in &asked {
            agree(&sqlite, &oracle, asked, step);
        }
        // Those become coarser too, first beside what was summed before.
        for later in [0, HOUR.0 * 30, 3 * DAY.0] {
            let now = Nanos(now.0 + later);
            sqlite.retain(now, usize::MAX).unwrap();
            oracle.retain(now, usize::MAX).unwrap();
            for asked in &asked {
                agree(&sqlite, &oracle, asked, step);
            }
        }
    }

    #[test]
    fn order_and_repetition_change_nothing(
        batches in batches(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 30),
        asked in question(),
        slice in slices(),
    ) {
        let mut once: Vec<Batch> = Vec::new();
        for batch in batches {
            if once.iter().all(|other| other.id != batch.id) {
                once.push(batch);
            }
        }
        let (_a, mut straight) = store(&options(slice));
        straight.put_all(&once).unwrap();
        let (_b, mut wild) = store(&options(slice));
        if !once.is_empty() {
            for place in order {
                wild.put(&once[place.index(once.len())]).unwrap();
            }
        }
        wild.put_all(&once).unwrap();
        prop_assert_eq!(straight.usage(&asked).unwrap(), wild.usage(&asked).unwrap());
        let (rates, spreads) = of_counters(&asked);
        prop_assert_eq!(straight.rates(&rates).unwrap(), wild.rates(&rates).unwrap());
        prop_assert_eq!(straight.spreads(&spreads).unwrap(), wild.spreads(&spreads).unwrap());
    }

    #[test]
    fn sums_stay_when_times_become_coarser(
        batches in batches(),
        slice in slices(),
        steps in 1_usize..4,
        days in 0_u64..8,
    ) {
        let (_folder, mut store) = store(&options(slice));
        store.put_all(&batches).unwrap();
        let now = Nanos(START + days * DAY.0);
        let by = [
            Dimension::User,
            Dimension::Job,
            Dimension::Executable,
            Dimension::Library,
            Dimension::Phase
        ];
        let sums = |store: &Sqlite| {
            let asked = Question { by: by.to_vec(), ..whole(Visible::All) };
            let answer = store.usage(&asked).unwrap();
            let totals = answer.totals;
            let rates = store.rates(&asked).unwrap().rows;
            let whole = (
                totals.all_samples,
                totals.all_core_seconds,
                store.jobs(&asked).unwrap().len()
            );
            (answer.rows, whole, rates, store.spreads(&asked).unwrap())
        };
        let before = sums(&store);
        while store.retain(now, steps).unwrap().more {
            prop_assert_eq!(&sums(&store), &before);
        }
        prop_assert_eq!(&sums(&store), &before);
        prop_assert_eq!(store.retain(now, 1).unwrap(), crate::Retained::default());
    }
}

#[test]
fn users_see_nothing_of_others() {
    let (_folder, mut store) = store(&options(0));
    let mut shared = batch("n1", 0, 0);
    shared.jobs.push(Job { id: "4712".to_owned(), user: Some(7) });
    let other = Share { job: Some(1), user: Some(7), core: 2, ..shared.shares[0].clone() };
    // A process of user 7 inside the first job: the time is the job's.
    let guest = Share { user: Some(7), core: 3, ..shared.shares[0].clone() };
    shared.shares.extend([other, guest]);
    store.put(&shared).unwrap();
    store.put(&batch("n2", 0, 0)).unwrap();
    let asked = Question { by: vec![Dimension::Job, Dimension::Node], ..whole(Visible::User(7)) };
    let answer = store.usage(&asked).unwrap();
    assert_eq!(answer.rows.len(), 1);
    assert_eq!(answer.rows[0].key, ["4712", "n1"].map(|name| Value::Text(name.to_owned())));
    assert_eq!((answer.totals.all_samples, answer.totals.samples), (10, 10));
    for foreign in [
        Question { job: Some(Text::Is("4711".to_owned())), ..asked.clone() },
        Question { job: Some(Text::Like("4711*".to_owned())), ..asked.clone() },
        Question { user: Some(1000), ..asked.clone() },
        Question { node: Some(Text::Is("n2".to_owned())), ..asked.clone() },
    ] {
        let answer = store.usage(&foreign).unwrap();
        assert_eq!((answer.groups, answer.totals.samples, answer.totals.all_samples), (0, 0, 10));
        assert_eq!(store.jobs(&foreign).unwrap(), []);
        assert!(store.series(&foreign, DAY).is_err(), "292 years of days are too many");
    }
    let nodes = store.nodes(Visible::User(7)).unwrap();
    assert_eq!(nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["n1"]);
    assert_eq!(nodes[0].interval, None);
    // What counters did is seen like samples; that it did more than nothing is nobody's business.
    assert_eq!(store.rates(&asked).unwrap().rows, []);
    assert_eq!(store.spreads(&asked).unwrap(), []);
    let own = Question { visible: Visible::User(1000), ..asked.clone() };
    assert_eq!(store.rates(&own).unwrap().rows.len(), 2);
    assert_eq!(store.spreads(&own).unwrap()[0].cores, 4);
    let others = Question { user: Some(7), ..own };
    assert_eq!(
        (store.rates(&others).unwrap().groups, store.spreads(&others).unwrap().len()),
        (0, 0)
    );
    // Time of the job's idle cores is its owner's.
    let waiting = Question { by: vec![Dimension::Activity], ..whole(Visible::User(1000)) };
    let samples: Vec<u64> =
        store.usage(&waiting).unwrap().rows.iter().map(|row| row.samples).collect();
    assert_eq!(samples, [30, 20]);
}

#[test]
fn the_longest_slice_of_a_user_is_none_of_somebody_else() {
    let (_folder, mut store) = store(&options(0));
    let mut other = batch("n", 0, 100);
    other.end = Nanos(other.begin.0 + 600 * SECOND);
    other.jobs[0].user = Some(7);
    other.shares.iter_mut().for_each(|share| share.user = Some(7));
    other.rates[0].user = Some(7);
    store.put_all(&[batch("n", 0, 1), other]).unwrap();
    let widest = |store: &Sqlite, visible| {
        let day = Question::everything(visible, Nanos(START), Nanos(START + DAY.0));
        store.series(&day, HOUR).unwrap().widest.0 / SECOND
    };
    // Before and after their hour is summed.
    for now in [START, START + 6 * HOUR.0] {
        store.retain(Nanos(now), usize::MAX).unwrap();
        let all = [Visible::All, Visible::User(7), Visible::User(1000), Visible::User(8)];
        assert_eq!(all.map(|visible| widest(&store, visible)), [600, 600, 10, 0]);
    }
}

#[test]
fn sums_of_any_size() {
    let (_folder, mut store) = store(&options(HOUR.0));
    for number in 0..4 {
        let mut much = batch("n", 0, number);
        much.shares.iter_mut().for_each(|share| share.samples = u64::MAX);
        store.put(&much).unwrap();
    }
    for number in 4..8 {
        let mut much = batch(&number.to_string(), 0, number);
        much.shares.clear();
        let rate = &mut much.rates[0];
        (rate.samples, rate.nanos, rate.count) = (u64::MAX, u64::MAX, u64::MAX);
        much.spreads[0].cores[1].1 = u32::MAX;
        store.put(&much).unwrap();
    }
    let rates = store.rates(&whole(Visible::All)).unwrap();
    // Less than it was would be wrong: it is absent.
    assert_eq!(rates.rows, []);
    let absent = rates.gaps.iter().find(|gap| gap.detail.contains("rates are absent")).unwrap();
    assert_eq!(absent.count, 1);
    let spread = &store.spreads(&whole(Visible::All)).unwrap()[0];
    assert_eq!(spread.cores, 4 * u64::from(u32::MAX) + 4 + 8);
    let answer = store.usage(&whole(Visible::All)).unwrap();
    // Each row stops at its cap, and sums of rows do not overflow.
    assert_eq!(answer.totals.samples, 1 << 63);
    assert!(answer.totals.core_seconds > 1e9);
    store.retain(Nanos(START + 100 * DAY.0), 1000).unwrap();
    assert!(store.usage(&whole(Visible::All)).unwrap().totals.samples > 1 << 62);
}

#[test]
fn batches_that_make_no_sense_are_refused_whole() {
    let (_folder, mut store) = store(&options(0));
    let mut late = batch("n", 0, 1);
    late.end = Nanos(u64::MAX);
    let mut long = batch("n", 0, 2);
    long.end = Nanos(long.begin.0 + 2 * HOUR.0 + 1);
    let mut index = batch("n", 0, 3);
    index.shares[0].library = Some(2);
    let named = batch(&"n".repeat(5000), 0, 4);
    let counted = batch("n", u64::MAX, 5);
    let mut counters = batch("n", 0, 6);
    counters.counters = vec![counters.counters[0].clone(); crate::MOST_COUNTERS + 1];
    let mut counter = batch("n", 0, 7);
    counter.rates[0].counter = 1;
    let mut buckets = batch("n", 0, 8);
    buckets.spreads[0].cores = vec![(1, 1), (1, 1)];
    for wrong in [late, long, index, named, counted, counters, counter, buckets] {
        let error = store.put_all(&[batch("n", 0, 0), wrong]).unwrap_err();
        assert!(matches!(error, StoreError::Batch { .. }), "{error}");
    }
    assert_eq!(store.usage(&whole(Visible::All)).unwrap().groups, 0);
    assert_eq!(store.put(&batch("n", 0, 0)).unwrap(), Put::New);
}

#[test]
fn functions_say_what_they_lack() {
    let (_folder, mut store) = store(&options(0));
    let mut batch = batch("n", 0, 0);
    let first = batch.shares[0].clone();
    batch.shares =
        (1..=4).map(|n| Share { address: Some(n), samples: n, ..first.clone() }).collect();
    store.put(&batch).unwrap();
    let asked = Question { by: vec![Dimension::Function], limit: 2, ..whole(Visible::All) };
    let answer = store.usage(&asked).unwrap();
    assert_eq!((answer.rows.len(), answer.groups), (2, 4));
    let lacks: Vec<u64> = answer.gaps.iter().map(|gap| gap.count).collect();
    assert_eq!(lacks, [3]);
    let all = store.usage(&Question { limit: 4, ..asked.clone() }).unwrap();
    assert!(all.gaps.is_empty(), "{:?}", all.gaps);
    let others = store.usage(&Question { by: vec![Dimension::Core], limit: 0, ..asked }).unwrap();
    assert!(others.gaps.is_empty(), "{:?}", others.gaps);
}

#[test]
fn slices_longer_than_steps_are_told() {
    let (_folder, mut store) = store(&options(0));
    store.put(&batch("n", 0, 0)).unwrap();
    let asked = Question::everything(Visible::All, Nanos(START), Nanos(START) + HOUR);
    let told = |store: &Sqlite, step: Nanos| {
        let mut gaps = talea_model::Gaps::default();
        store.series(&asked, step).unwrap().note_wide(step, &mut gaps);
        gaps.iter().count()
    };
    let minute = Nanos(60 * SECOND);
    assert_eq!((told(&store, Nanos(SECOND)), told(&store, minute)), (1, 0));
    store.retain(Nanos(START + 3 * DAY.0), usize::MAX).unwrap();
    assert_eq!((told(&store, minute), told(&store, DAY)), (1, 0));
}

#[test]
fn questions_that_cannot_be_meant() {
    let (_folder, store) = store(&options(0));
    let asked = whole(Visible::All);
    let said = |asked: Question| store.usage(&asked).unwrap_err().to_string();
    let twice = vec![Dimension::Job, Dimension::Job];
    let long = Question { to: Nanos(10_000 * HOUR.0), ..asked.clone() };
    insta::assert_snapshot!(
        [
            said(Question { to: Nanos(0), ..asked.clone() }),
            said(Question { limit: 100_001, ..asked.clone() }),
            said(Question { by: twice, ..asked.clone() }),
            store.series(&asked, Nanos(0)).unwrap_err().to_string(),
            store.series(&asked, Nanos(1)).unwrap_err().to_string(),
            store.series(&long, Nanos(HOUR.0)).unwrap_err().to_string(),
        ]
        .join("\n")
    );
}

/// The length of a summed hour is that of its longest slice, whoever's: a user's question tells of
/// own ones.
#[test]
fn the_longest_slice_of_a_user_is_no_other_users() {
    let options = options(0);
    let (_folder, mut sqlite) = store(&options);
    let mut oracle = Oracle::new(options);
    let of = |number, user: u32, minutes: u64| {
        let mut batch = batch("n", 1, number);
        batch.end = Nanos(batch.begin.0 + minutes * 60 * SECOND);
        batch.jobs[0].user = Some(user);
        batch.shares.iter_mut().for_each(|share| share.user = Some(user));
        batch
    };
    let batches = [of(0, 1, 1), of(1, 2, 30), of(2, 1, 2), of(3, 2, 5)];
    let after = |hours: u64| Nanos(START + hours * HOUR.0);
    let asked = |visible| Question::everything(visible, Nanos(START), after(3));
    let check = |sqlite: &Sqlite, oracle: &Oracle, expected: [u64; 3]| {
        for (visible, minutes) in
            [Visible::User(1), Visible::User(2), Visible::All].into_iter().zip(expected)
        {
            let series = sqlite.series(&asked(visible), HOUR).unwrap();
            assert_eq!(series.widest, Nanos(minutes * 60 * SECOND), "{visible:?}");
            agree(sqlite, oracle, &asked(visible), HOUR.0);
        }
    };
    for store in [&mut sqlite as &mut dyn Store, &mut oracle] {
        store.put_all(&batches).unwrap();
        store.retain(after(3), usize::MAX).unwrap();
    }
    check(&sqlite, &oracle, [2, 30, 30]);
    // A late one makes the slice longer that it shares with what was there.
    let mut late = of(4, 3, 40);
    (late.begin, late.end) = (batches[0].begin, Nanos(batches[0].begin.0 + 2400 * SECOND));
    for store in [&mut sqlite as &mut dyn Store, &mut oracle] {
        store.put_all(std::slice::from_ref(&late)).unwrap();
    }
    check(&sqlite, &oracle, [40, 30, 40]);
    for store in [&mut sqlite as &mut dyn Store, &mut oracle] {
        store.retain(after(5), usize::MAX).unwrap();
    }
    check(&sqlite, &oracle, [40, 30, 40]);
}

fn refused(path: &Path, options: &Options) -> String {
    let folder = path.parent().unwrap().display().to_string();
    Sqlite::open(path, options).unwrap_err().to_string().replace(&folder, "FOLDER")
}

#[test]
fn files_that_are_none_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = options(0);
    std::fs::write(path("text"), "no database, but long enough to be taken for one\n".repeat(100))
        .unwrap();
    let foreign = rusqlite::Connection::open(path("foreign")).unwrap();
    foreign.execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES(1);").unwrap();
    drop(foreign);
    drop(Sqlite::open(&path("newer"), &options).unwrap());
    let newer = rusqlite::Connection::open(path("newer")).unwrap();
    newer.pragma_update(None, "user_version", 6).unwrap();
    drop(newer);
    let missing = folder.path().join("no/such/folder/t.db");
    assert!(matches!(Sqlite::open(&missing, &options), Err(StoreError::Open { .. })));
    assert!(matches!(
        Sqlite::open_to_read(&path("missing"), &options),
        Err(StoreError::None { .. })
    ));
    insta::assert_snapshot!(
        ["text", "foreign", "newer"].map(|name| refused(&path(name), &options)).join("\n")
    );
    assert!(std::fs::read_to_string(path("text")).unwrap().starts_with("no database"));
}

#[test]
fn a_file_that_may_not_grow() {
    let most = Some(Bytes(400_000));
    let (_folder, mut store) = store(&Options { most, ..options(0) });
    let mut put = Vec::new();
    let error = loop {
        let mut batch = batch("n", 0, put.len() as u64);
        batch.modules[0].path = format!("{}{}", "x".repeat(4000), put.len());
        match store.put(&batch) {
            Ok(_) => put.push(batch),
            Err(error) => break error,
        }
        assert!(put.len() < 1000);
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    // What was acknowledged is there, and the rest is not.
    assert!(store.put_all(&put).unwrap().iter().all(|&put| put == Put::Already));
    let answer = store.usage(&whole(Visible::All)).unwrap();
    assert_eq!(answer.totals.samples, 20 * put.len() as u64);
}

#[test]
fn by_address() {
    use crate::address::{Access, open};
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("a 'b'?mode=ro#%41.db").display());
    assert!(open(&address, Access::Read, &Options::default()).is_err());
    let mut store = open(&address, Access::Write, &Options::default()).unwrap();
    store.put(&batch("n", 0, 0)).unwrap();
    let store = open(&address, Access::Read, &Options::default()).unwrap();
    assert_eq!(store.nodes(Visible::All).unwrap().len(), 1);
}

#[test]
fn a_reader_beside_the_writer() {
    let (folder, mut store) = store(&options(0));
    let path = folder.path().join("t.db");
    let reader = Sqlite::open_to_read(&path, &options(0)).unwrap();
    store.put(&batch("n", 0, 0)).unwrap();
    assert_eq!(reader.usage(&whole(Visible::All)).unwrap().totals.samples, 20);
    let mut reader = reader;
    assert!(matches!(reader.put(&batch("n", 0, 1)), Err(StoreError::ReadOnly { .. })));
    // Another writer waits its turn, and not for ever.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(store.put(&batch("n", 0, 1)), Err(StoreError::Busy { .. })));
}

#[test]
fn what_is_looked_at() {
    // The plans that questions rely on: no scan of all parts where an index leads to them.
    let (folder, mut store) = store(&options(0));
    store.put(&batch("n", 0, 0)).unwrap();
    let path = folder.path().join("t.db");
    assert!(path.exists());
    let names = ["job", "user", "library", "node"];
    let filters = [
        Question { job: Some(Text::Is("4711".to_owned())), ..whole(Visible::All) },
        whole(Visible::User(1000)),
        Question { library: Some(Text::Like("*libm*".to_owned())), ..whole(Visible::All) },
        Question { node: Some(Text::Is("n".to_owned())), ..whole(Visible::All) },
    ];
    let of_two = [filters[0].clone(), filters[1].clone()];
    let plans: Vec<String> = names
        .iter()
        .zip(filters)
        .map(|(name, asked)| format!("{name}:\n{}", store.plan(&asked).unwrap().join("\n")))
        .collect();
    insta::assert_snapshot!(plans.join("\n"));
    let [job, user] = [0, 1].map(|at| &of_two[at]);
    let plans = [job, user].map(|asked| store.plan_of_rates(asked).unwrap().join("\n"));
    insta::assert_snapshot!(plans.join("\n\n"), @r"
    SEARCH a USING PRIMARY KEY (job=?)
    LIST SUBQUERY 1
    SCAN json_each VIRTUAL TABLE INDEX 1:
    SEARCH s USING INTEGER PRIMARY KEY (rowid=?)
    SEARCH r USING PRIMARY KEY (slice=? AND user=? AND job=?)

    SEARCH a USING COVERING INDEX rate_user (user=?)
    SEARCH s USING INTEGER PRIMARY KEY (rowid=?)
    SEARCH r USING PRIMARY KEY (slice=? AND user=? AND job=?)
    ");
}

#[test]
fn what_is_read_does_not_grow_with_the_file() {
    let (_folder, mut store) = store(&options(0));
    let minute = |number: u64, minutes: u64| Batch {
        begin: Nanos(START + number * 60 * SECOND),
        end: Nanos(START + (number + minutes) * 60 * SECOND),
        ..batch("n", 0, number)
    };
    let last = |number: u64| {
        let begin = START + number * 60 * SECOND;
        Question::everything(Visible::All, Nanos(begin), Nanos(begin + 60 * SECOND))
    };
    let asked = |number: u64| {
        let last = last(number);
        let text = |text: &str| Some(Text::Like(text.to_owned()));
        [
            last.clone(),
            Question { node: text("n"), ..last.clone() },
            Question { user: Some(1000), ..last.clone() },
            Question { visible: Visible::User(1000), ..last.clone() },
            // As lists of jobs are asked for.
            Question { job: text("*"), ..last.clone() },
            Question { job: text("*"), visible: Visible::User(1000), ..last.clone() },
            Question { job: text("47*"), ..last.clone() },
            Question { library: text("*libm*"), ..last.clone() },
            Question { executable: text("*lmp"), node: text("n*"), ..last },
        ]
    };
    // As long as a batch may be, and one that reaches into the time is found all the same.
    let mut steps = Vec::new();
    for (first, end) in [(0, 300), (300, 1200)] {
        let batches: Vec<Batch> = (first..end).map(|number| minute(number, 1)).collect();
        store.put_all(&batches).unwrap();
        steps.push(asked(end - 1).map(|asked| store.steps(&asked).unwrap()));
        for asked in asked(end - 1) {
            let rates = Question { job: None, library: None, executable: None, ..asked };
            let plan = store.plan_of_rates(&rates).unwrap();
            assert!(plan.iter().any(|step| step.contains("begin>? AND begin<?")), "{plan:?}");
        }
    }
    assert_eq!(steps[0], steps[1]);
    store.put(&minute(2000, 120)).unwrap();
    assert_eq!(store.usage(&last(2119)).unwrap().totals.all_samples, 20);
    assert_eq!(store.usage(&last(2120)).unwrap().totals.all_samples, 0);
}

#[test]
fn long_batches_of_files_of_before_are_found() {
    let (folder, mut store) = store(&options(0));
    let path = folder.path().join("t.db");
    store.put(&batch("n", 0, 0)).unwrap();
    drop(store);
    // Of the time when batches could be of a day.
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute("UPDATE slice SET width = ?1", [(23 * HOUR.0) as i64]).unwrap();
    file.execute("DELETE FROM setting WHERE name = 'longest'", []).unwrap();
    let asked = |hours: u64| {
        let from = Nanos(START + hours * HOUR.0);
        Question::everything(Visible::All, from, from + HOUR)
    };
    let reads = Sqlite::open_to_read(&path, &options(0)).unwrap();
    assert_eq!(reads.usage(&asked(22)).unwrap().totals.samples, 20);
    let writes = Sqlite::open(&path, &options(0)).unwrap();
    for store in [&reads, &writes] {
        assert_eq!(store.usage(&asked(22)).unwrap().totals.samples, 20);
        assert_eq!(store.usage(&asked(23)).unwrap().totals.samples, 0);
    }
    // Still when their hours are summed, whoever opens the file again.
    let mut writes = writes;
    writes.retain(Nanos(START + 12 * HOUR.0), usize::MAX).unwrap();
    drop(writes);
    let again = Sqlite::open(&path, &options(0)).unwrap();
    assert_eq!(again.usage(&asked(22)).unwrap().totals.samples, 20);
}

#[test]
fn files_of_before_become_of_now() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    std::fs::write(&path, include_bytes!("data/version-1.db")).unwrap();
    let asked = Question { by: vec![Dimension::Library], ..whole(Visible::All) };
    // Who only reads it gets what it has.
    let old = Sqlite::open_to_read(&path, &options(0)).unwrap();
    let usage = old.usage(&asked).unwrap();
    assert_eq!((usage.totals.samples, usage.gaps.iter().count()), (60, 1));
    let rates = old.rates(&asked).unwrap();
    assert_eq!((rates.rows.len(), rates.groups, rates.time), (0, 0, usage.totals.time));
    assert!(rates.gaps.iter().any(|gap| gap.detail.contains("a version without rates")));
    assert_eq!(old.spreads(&asked).unwrap(), []);
    let mut store = Sqlite::open(&path, &options(0)).unwrap();
    assert_eq!(store.usage(&asked).unwrap(), usage);
    // The batches of before are known, and those of now have rates.
    assert_eq!(store.put(&batch("n", 0, 2)).unwrap(), Put::Already);
    assert_eq!(store.put(&batch("n", 0, 3)).unwrap(), Put::New);
    store.retain(Nanos(START + 100 * DAY.0), usize::MAX).unwrap();
    // Who has had it open to read sees them too.
    for store in [&store, &old] {
        let rates = store.rates(&asked).unwrap();
        assert_eq!((rates.rows[0].rate(), rates.rows.len()), (Some(5.0), 1));
        assert_eq!(store.spreads(&asked).unwrap()[0].cores, 2);
        assert_eq!(store.usage(&asked).unwrap().totals.samples, 80);
    }
}

/// Nothing of a file says what is in MPI: rows of before are told apart as those of now, also by
/// who only reads the file.
#[test]
fn time_in_mpi_is_told_apart_in_files_of_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    std::fs::write(&path, include_bytes!("data/version-1.db")).unwrap();
    let file = rusqlite::Connection::open(&path).unwrap();
    let mpi = "UPDATE module SET path = ?1 WHERE path = '/lib/libm.so.6'";
    assert_eq!(file.execute(mpi, [MPI]).unwrap(), 1);
    drop(file);
    let asked = Question { by: vec![Dimension::Activity], ..whole(Visible::All) };
    let only =
        |activity| Question { activity: Some(activity), by: Vec::new(), ..whole(Visible::All) };
    let check = |store: &Sqlite, samples: u64| {
        let usage = store.usage(&asked).unwrap();
        let rows: Vec<_> = usage.rows.iter().map(|row| (row.key[0].clone(), row.samples)).collect();
        let of = |activity| (Value::Activity(activity), samples);
        assert_eq!(rows, [of(Activity::Waiting), of(Activity::Mpi)]);
        assert_eq!(store.usage(&only(Activity::Mpi)).unwrap().totals.samples, samples);
        assert_eq!(store.usage(&only(Activity::User)).unwrap().totals.samples, 0);
        let step = Nanos(HOUR.0);
        let day = Question { from: Nanos(START), to: Nanos(START + DAY.0), ..asked.clone() };
        let series = store.series(&day, step).unwrap();
        assert_eq!((&series.keys[1], series.points[0].by_key[1]), (&usage.rows[1].key, samples));
        assert_eq!(store.jobs(&only(Activity::Mpi)).unwrap()[0].samples, samples);
    };
    check(&Sqlite::open_to_read(&path, &options(0)).unwrap(), 30);
    let mut store = Sqlite::open(&path, &options(0)).unwrap();
    check(&store, 30);
    // So are batches of agents of before and of now, which say that they are in a program, and
    // hours.
    let mut more = batch("n", 0, 3);
    more.modules[1].path = MPI.to_owned();
    store.put(&more).unwrap();
    check(&store, 40);
    store.retain(Nanos(START + 100 * DAY.0), usize::MAX).unwrap();
    check(&store, 40);
}

#[test]
fn rates_of_several_counters_stand_together() {
    let (_folder, mut store) = store(&options(0));
    let mut made = batch("n", 0, 0);
    made.counters.push(talea_model::shares::Counter { name: "a".to_owned(), unit: "B".to_owned() });
    let rate = made.rates[0].clone();
    let other = Rate { library: Some(0), samples: 20, nanos: 0, ..rate.clone() };
    made.rates.extend([other, Rate { counter: 1, samples: 1, ..rate }]);
    store.put(&made).unwrap();
    let asked = Question { by: vec![Dimension::Library], ..whole(Visible::All) };
    let rates = store.rates(&asked).unwrap();
    let rows = |rates: &crate::Rates| -> Vec<String> {
        let row =
            |row: &crate::RateRow| format!("{} {:?} {:?}", row.counter.name, row.key, row.rate());
        rates.rows.iter().map(row).collect()
    };
    insta::assert_snapshot!(rows(&rates).join("\n"), @r#"
    page-faults [Text("/bin/lmp")] None
    a [Text("/lib/libm.so.6")] Some(5.0)
    page-faults [Text("/lib/libm.so.6")] Some(5.0)
    "#);
    // The limit is of keys, not of rows.
    let rates = store.rates(&Question { limit: 2, ..asked.clone() }).unwrap();
    assert_eq!((rates.rows.len(), rates.groups), (3, 2));
    let rates = store.rates(&Question { limit: 1, ..asked }).unwrap();
    assert_eq!((rates.rows.len(), rates.groups), (1, 2));
}

#[test]
fn a_question_that_takes_too_long_is_given_up_and_the_next_is_answered() {
    let (folder, mut store) = store(&options(0));
    let batches: Vec<Batch> = (0..2000).map(|number| batch("n", 0, number)).collect();
    store.put_all(&batches).unwrap();
    let path = folder.path().join("t.db");
    let asked = Question { by: vec![Dimension::Executable], ..whole(Visible::All) };
    let of = |longest| {
        Sqlite::open_to_read(&path, &Options { longest: Some(longest), ..options(0) }).unwrap()
    };
    let impatient = of(Duration::ZERO);
    for _ in 0..2 {
        let refused = impatient.usage(&asked);
        assert!(matches!(refused, Err(StoreError::TooLong { .. })), "{refused:?}");
    }
    // It has few steps.
    let one = Question { to: Nanos(START + 1), from: Nanos(START), ..asked.clone() };
    assert_eq!(impatient.usage(&one).unwrap().totals.samples, 20);
    assert_eq!(of(Duration::from_mins(10)).usage(&asked).unwrap(), store.usage(&asked).unwrap());
}

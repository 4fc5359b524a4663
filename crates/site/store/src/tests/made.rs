//! Batches and questions for tests: few names, so that they meet; and some that are hostile.

use proptest::prelude::*;
use talea_model::shares::{
    Activity, Batch, BatchId, Counter, Job, MOST_BUCKET, Rate, Sampler, Share, Spread, ZERO, bucket,
};
use talea_model::{Gap, GapKind, Gaps, Module, Nanos};

use crate::{Dimension, Question, Text, Visible};

pub(crate) const SECOND: u64 = 1_000_000_000;
/// 2025-01-01, on the hour.
pub(crate) const START: u64 = 1_735_689_600 * SECOND;
const HOSTILE: &str = "'; DROP TABLE share; --\n\"../../\u{0}\u{202e}%*";

/// A library of MPI.
pub(crate) const MPI: &str = "/usr/lib/libmpi.so.40.30.4";

/// A batch of ten seconds.
pub(crate) fn batch(node: &str, started: u64, number: u64) -> Batch {
    let begin = START + number * 10 * SECOND;
    let share = |core, activity, samples| Share {
        core,
        activity,
        job: Some(0),
        user: Some(1000),
        executable: Some(0),
        library: Some(1),
        address: Some(0x1000 + number % 7),
        phase: None,
        samples,
    };
    Batch {
        begin: Nanos(begin),
        end: Nanos(begin + 10 * SECOND),
        period: Nanos(SECOND),
        cores: 2,
        sampler: Sampler::Bpf,
        jobs: vec![Job { id: "4711".to_owned(), user: Some(1000) }],
        modules: ["/bin/lmp", "/lib/libm.so.6"]
            .map(|path| Module { path: path.to_owned(), build_id: "ab".to_owned() })
            .to_vec(),
        shares: vec![share(0, Activity::User, 10), share(1, Activity::Waiting, 10)],
        counters: vec![Counter { name: "page-faults".to_owned(), unit: "1".to_owned() }],
        rates: vec![Rate {
            counter: 0,
            job: Some(0),
            user: Some(1000),
            executable: Some(0),
            library: Some(1),
            phase: None,
            samples: 9,
            nanos: 18 * SECOND,
            count: 90,
        }],
        spreads: vec![Spread {
            counter: 0,
            job: 0,
            cores: vec![(ZERO, 1), (bucket(5.0).unwrap(), 1)],
        }],
        ..Batch::empty(BatchId { node: node.to_owned(), started, number })
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]{1,2}",
        1 => Just(HOSTILE.to_owned()),
        2 => Just(MPI.to_owned()),
        1 => (4094_usize..4100).prop_map(|n| "é".repeat(n / 2) + "xyz"),
    ]
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let job = (name(), prop::option::of(0_u32..3)).prop_map(|(id, user)| Job { id, user });
    prop::collection::vec(job, 1..3)
}

fn modules() -> impl Strategy<Value = Vec<Module>> {
    let module = (name(), "[01]?").prop_map(|(path, build_id)| Module { path, build_id });
    prop::collection::vec(module, 1..3)
}

fn activity() -> impl Strategy<Value = Activity> {
    prop::sample::select(Activity::ALL.to_vec())
}

type Tables = (Vec<Job>, Vec<Module>, Vec<String>);

fn shares((jobs, modules, phases): &Tables) -> impl Strategy<Value = Vec<Share>> + use<> {
    let index = |length: usize| prop::option::of(0..length as u32);
    let key =
        (index(jobs.len()), prop::option::of(0_u32..3), index(modules.len()), index(modules.len()));
    let address = prop::option::of(prop_oneof![0_u64..3, (u64::MAX - 2)..=u64::MAX, Just(1 << 63)]);
    let rest = (0_u32..3, activity(), index(phases.len()), address, 0_u64..1_000_000);
    let share = (key, rest).prop_map(|((job, user, executable, library), rest)| {
        let (core, activity, phase, address, samples) = rest;
        Share { core, activity, job, user, executable, library, address, phase, samples }
    });
    prop::collection::vec(share, 0..6)
}

fn counters() -> impl Strategy<Value = Vec<Counter>> {
    let counter = (name(), "[1B]").prop_map(|(name, unit)| Counter { name, unit });
    prop::collection::vec(counter, 1..3)
}

type Counted = (Vec<Counter>, Vec<Rate>, Vec<Spread>);

/// Rates and spreads, of what shares speak of and of what they do not.
fn counted((jobs, modules, phases): &Tables) -> impl Strategy<Value = Counted> + use<> {
    let (jobs, modules, phases) = (jobs.len(), modules.len(), phases.len());
    counters().prop_flat_map(move |counters| {
        let index = |length: usize| prop::option::of(0..length as u32);
        let counter = 0..counters.len() as u32;
        let key = (index(jobs), prop::option::of(0_u32..3), index(modules), index(modules));
        let sums = (0_u64..5, 0_u64..1 << 40, prop_oneof![0_u64..100, Just(1 << 50)]);
        let rate =
            (counter.clone(), key, index(phases), sums).prop_map(
                |(counter, (job, user, executable, library), phase, (samples, nanos, count))| {
                    Rate { counter, job, user, executable, library, phase, samples, nanos, count }
                },
            );
        let bucket = prop_oneof![4 => -3_i16..3, 1 => i16::MIN..=MOST_BUCKET];
        let cores = prop::collection::btree_map(bucket, 0_u32..9, 0..5);
        let spread = (counter, 0..jobs as u32, cores).prop_map(|(counter, job, cores)| Spread {
            counter,
            job,
            cores: cores.into_iter().collect(),
        });
        let rows = (prop::collection::vec(rate, 0..6), prop::collection::vec(spread, 0..4));
        (Just(counters), rows).prop_map(|(counters, (rates, spreads))| (counters, rates, spreads))
    })
}

fn one() -> impl Strategy<Value = Batch> {
    let tables = (jobs(), modules(), prop::collection::vec(name(), 1..3));
    let rows = tables.prop_flat_map(|tables| ((shares(&tables), counted(&tables)), Just(tables)));
    let id = ("[mn]", 0_u64..2, 0_u64..8);
    // Five days, in minutes, and now and then something long.
    let time = (0_u64..5 * 1440, prop_oneof![5 => 0_u64..15, 1 => 0_u64..=120], 1_u64..5000);
    let gaps = prop::collection::vec(("[xy]", 0_u64..3), 0..2);
    (rows, id, time, gaps).prop_map(
        |(((shares, counted), tables), (node, started, number), time, gaps)| {
            let (begin, length, period) = time;
            let begin = START + begin * 60 * SECOND + period;
            let mut noted = Gaps::default();
            for (detail, count) in gaps {
                noted.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
            }
            Batch {
                id: BatchId { node, started, number },
                begin: Nanos(begin),
                end: Nanos(begin + length * 60 * SECOND),
                period: Nanos(period * 1_000_003),
                cores: period as u32,
                sampler: Sampler::Rings,
                jobs: tables.0,
                modules: tables.1,
                phases: tables.2,
                shares,
                counters: counted.0,
                rates: counted.1,
                spreads: counted.2,
                gaps: noted,
                upkeep: None,
            }
        },
    )
}

/// Batches in any order, some with the same id.
pub(crate) fn batches() -> impl Strategy<Value = Vec<Batch>> {
    prop::collection::vec(one(), 0..10)
}

fn text() -> impl Strategy<Value = Option<Text>> {
    prop_oneof![
        6 => Just(None),
        2 => name().prop_map(|name| Some(Text::Is(name))),
        1 => "[ab*?']{0,3}".prop_map(|pattern| Some(Text::Like(pattern))),
    ]
}

/// Any question of the time that batches are of.
pub(crate) fn question() -> impl Strategy<Value = Question> {
    use Dimension::{Activity, Core, Executable, Function, Job, Library, Node, Phase, User};
    let all = vec![Activity, Core, Executable, Function, Job, Library, Node, Phase, User];
    let by = prop::sample::subsequence(all, 0..4).prop_shuffle();
    let visible = prop_oneof![Just(Visible::All), (0_u32..3).prop_map(Visible::User)];
    let time = (0_u64..5 * 1440, 1_u64..5 * 1440);
    let texts = (text(), text(), text(), text(), prop::option::weighted(0.2, "[mn*]"));
    let user = prop::option::weighted(0.2, 0_u32..3);
    let core = prop::option::weighted(0.1, 0_u32..3);
    let activity = prop::option::weighted(0.1, activity());
    (visible, time, texts, (user, core, activity), by, 0_usize..8).prop_map(
        |(visible, (from, length), (job, executable, library, phase, node), rest, by, limit)| {
            let from = START + from * 60 * SECOND;
            let (user, core, activity) = rest;
            Question {
                visible,
                from: Nanos(from),
                to: Nanos(from + length * 60 * SECOND),
                node: node.map(Text::Like),
                job,
                user,
                executable,
                library,
                phase,
                core,
                activity,
                by,
                limit,
            }
        },
    )
}

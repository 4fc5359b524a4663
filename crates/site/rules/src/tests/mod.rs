//! Each built-in rule where it fires and where it just does not; what is absent; whose findings one
//! sees; mistakes in rules.

mod made;

use std::cell::Cell;
use std::path::Path;

use proptest::prelude::*;
use talea_model::shares::{Batch, Job};
use talea_model::{Module, Nanos};
use talea_store::{
    Answer, JobSeen, NodeSeen, Put, Question, Rates, Retained, Series, SpreadSeen, Store,
    StoreError, Visible,
};

use crate::metrics::Metric;
use crate::rule::Most;
use crate::{
    Asked, Finding, Findings, Names, Rule, Time, builtin, evaluate, evaluate_asked, read,
    read_folder, with_overrides,
};
use made::{Core, MINUTE, Made, NOW, SECOND, store};

fn rules() -> Vec<Rule> {
    builtin().unwrap()
}

fn found_at(made: &[Made], now: Nanos) -> Findings {
    let (_folder, store) = store(made);
    evaluate(&store, &rules(), now, Visible::All).unwrap()
}

fn names_of(findings: &Findings) -> Vec<&str> {
    findings.findings.iter().map(|finding| finding.rule.as_str()).collect()
}

/// The rule fires for the first, and nothing is said by it of the second, which is nearly the same.
#[track_caller]
fn just(rule: &str, fires: Made, not: Made) -> Finding {
    let quiet = found_at(&[not], NOW);
    assert!(!names_of(&quiet).contains(&rule), "{:?}", quiet.findings);
    let mut found = found_at(&[fires], NOW);
    let at = found.findings.iter().position(|finding| finding.rule == rule);
    let finding = found.findings.swap_remove(at.unwrap_or_else(|| panic!("{found:?}")));
    assert!(!finding.title.contains("(unknown)"), "{finding:?}");
    assert!(!finding.hint.contains("(unknown)"), "{finding:?}");
    finding
}

fn cores(user: u64, kernel: u64) -> Made {
    Made {
        cores: vec![Core { user, kernel, waiting: 60 - user - kernel, mpi: 0 }; 10],
        ..Made::default()
    }
}

fn counting(counters: &[(&'static str, f64)]) -> Made {
    Made { counters: counters.to_vec(), ..Made::default() }
}

#[test]
fn idle_cores() {
    let idle = |cores: usize| {
        let busy = Core { user: 60, kernel: 0, waiting: 0, mpi: 0 };
        let mut all = vec![busy; 10];
        all[..cores].fill(Core { user: 0, kernel: 0, waiting: 60, mpi: 0 });
        Made { cores: all, ..Made::default() }
    };
    let finding = just("idle-cores", idle(2), idle(1));
    insta::assert_snapshot!(format!("{}\n{}", finding.title, finding.hint));
    // The same, as agents tell it.
    let told = |idle: usize| {
        let shares = (0..10).map(|core| if core < idle { 0.0 } else { 0.99 });
        Made { spread: shares.collect(), ..self::cores(40, 0) }
    };
    just("idle-cores", told(2), told(1));
}

#[test]
fn imbalance() {
    let others = |user: u64| {
        let mut all = vec![Core { user, kernel: 0, waiting: 60 - user, mpi: 0 }; 10];
        all[7] = Core { user: 60, kernel: 0, waiting: 0, mpi: 0 };
        Made { cores: all, ..Made::default() }
    };
    let finding = just("imbalance", others(45), others(48));
    assert_eq!(finding.names["core"], "7");
    insta::assert_snapshot!(format!("{}\n{}", finding.title, finding.hint));
}

/// Ranks that wait for another one in an MPI that polls: all cores are busy, and one computes.
fn polling(computes: u64) -> Made {
    let waits = Core { user: computes, kernel: 0, waiting: 0, mpi: 60 - computes };
    let mut all = vec![waits; 10];
    all[7] = Core { user: 58, kernel: 2, waiting: 0, mpi: 0 };
    Made { cores: all, in_library: 5, ..Made::default() }
}

#[test]
fn imbalance_of_ranks_that_poll_names_the_core_that_computes() {
    let finding = just("imbalance", polling(45), polling(48));
    assert_eq!((&finding.names["core"][..], &finding.names["library"][..]), ("7", "/bin/lmp"));
    assert!((finding.values["balance"] - 0.775).abs() < 1e-9, "{:?}", finding.values);
    // The same, as agents tell it; all cores are busy.
    let told = |part: f64| {
        let computing = (0..10).map(|core| if core == 7 { 1.0 } else { part });
        let made = polling((part * 60.0) as u64);
        Made { spread: vec![1.0; 10], computing: computing.collect(), ..made }
    };
    let finding = just("imbalance", told(0.75), told(0.8));
    assert_eq!(finding.names["core"], "7");
    // The same time in another library is computation, and the cores are alike.
    let alike = Made { mpi: "/lib/libmpir.so.23", ..polling(45) };
    assert!(!names_of(&found_at(&[alike], NOW)).contains(&"imbalance"));
}

#[test]
fn mpi_time() {
    let finding = just("mpi-time", polling(45), polling(46));
    // The lower end of 675 of 3000 samples.
    insta::assert_snapshot!(format!("{}\n{}", finding.title, finding.hint), @"
    At least 21 % of the job's busy time is in MPI
    Core 0 of n1 has most of it, in /usr/lib/openmpi/lib/openmpi3/mca_btl_vader.so. Record the program with `talea run`: it shows which calls wait, and for which rank.
    ");
    // MPI that is linked into the executable cannot be told from it.
    let inside = Made { mpi: "/bin/lmp", ..polling(10) };
    assert!(!names_of(&found_at(&[inside], NOW)).contains(&"mpi-time"));
}

#[test]
fn cores_of_long_times_are_those_of_their_end() {
    let busiest = |core: usize, minutes: std::ops::Range<u64>| {
        let mut all = vec![Core { user: 45, kernel: 0, waiting: 15, mpi: 0 }; 10];
        all[core] = Core { user: 60, kernel: 0, waiting: 0, mpi: 0 };
        Made { cores: all, minutes, ..Made::default() }
    };
    // Of all of the time it would be the third.
    let (_folder, store) = store(&[busiest(3, 360..1200), busiest(7, 0..360)]);
    let time = Time::Whole(NOW - Nanos(1200 * 60 * SECOND), NOW);
    let asked = Asked { visible: Visible::All, time, job: None };
    let found = evaluate_asked(&store, &rules(), &asked, &mut ()).unwrap();
    let finding = found.findings.iter().find(|finding| finding.rule == "imbalance").unwrap();
    assert_eq!(finding.names["core"], "7");
    assert_eq!((finding.begin, finding.end), (NOW - Nanos(360 * 60 * SECOND), NOW));
    let detail = "single cores and functions are those of the last 360 min";
    assert!(found.gaps.iter().any(|gap| gap.detail == detail), "{:?}", found.gaps);
}

#[test]
fn shares_are_set_against_cores_of_the_same_time() {
    // Half idle for long, then evenly busy: its cores are alike.
    let made = |user: u64, minutes: std::ops::Range<u64>| {
        let cores = vec![Core { user, kernel: 0, waiting: 60 - user, mpi: 0 }; 10];
        Made { cores, minutes, ..Made::default() }
    };
    let (_folder, store) = store(&[made(20, 360..1200), made(50, 0..360)]);
    let found = |to: Nanos| {
        let time = Time::Whole(NOW - Nanos(1200 * 60 * SECOND), to);
        let asked = Asked { visible: Visible::All, time, job: None };
        evaluate_asked(&store, &rules(), &asked, &mut ()).unwrap()
    };
    assert!(!names_of(&found(NOW)).contains(&"imbalance"));
    // A job that ended long before has its end looked at, not the question's.
    let late = found(NOW + Nanos(1000 * 60 * SECOND));
    let absent = late.gaps.iter().find(|gap| gap.detail.contains("`imbalance`"));
    assert!(absent.is_none(), "{absent:?}");
}

#[test]
fn page_faults() {
    let finding = just(
        "page-faults",
        counting(&[("page-faults", 20_100.0)]),
        counting(&[("page-faults", 20_000.0)]),
    );
    assert_eq!(finding.names["library"], "/lib/libm.so.6");
    insta::assert_snapshot!(format!("{}\n{}", finding.title, finding.hint));
}

#[test]
fn built_in_rules_need_only_what_agents_count_by_default() {
    let counted = talea_sampling::system::HARDWARE.iter();
    let counted: Vec<&str> = counted.chain(&talea_sampling::system::SOFTWARE).copied().collect();
    let mut needed = Vec::new();
    for rule in rules() {
        let formulas = rule.metrics.iter().map(|(_, formula)| formula).chain([&rule.condition]);
        let metrics = formulas.flat_map(|formula| formula.metrics.clone());
        let counters = metrics.filter_map(|metric| match metric {
            Metric::Counter(counter) => Some(counter),
            _ => None,
        });
        needed.extend(counters);
        if let Most::Counter(counter) = rule.most {
            needed.push(counter);
        }
    }
    assert!(needed.iter().any(|name| name == "cache-misses"), "{needed:?}");
    let missing: Vec<_> = needed.iter().filter(|name| !counted.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "nobody counts {missing:?} unless told");
}

#[test]
fn cache_misses() {
    let misses = |rate| counting(&[("instructions", 1e9), ("cache-misses", rate)]);
    let finding = just("cache-misses", misses(1.01e7), misses(1e7));
    assert!(finding.title.starts_with("10.1 of a thousand"), "{}", finding.title);
}

#[test]
fn memory_bound_library() {
    let slow =
        |cycles| counting(&[("cycles", cycles), ("instructions", 1e9), ("cache-misses", 6e6)]);
    let finding = just("memory-bound-library", slow(1.6e9), slow(1.5e9));
    insta::assert_snapshot!(finding.title);
}

#[test]
fn unused_allocation() {
    let finding = just("unused-allocation", cores(4, 0), cores(6, 0));
    assert_eq!(finding.job.as_deref(), Some("4711"));
    assert_eq!((finding.begin, finding.end), (Nanos(NOW.0 - 30 * MINUTE), NOW));
    insta::assert_json_snapshot!(finding);
}

#[test]
fn context_switches() {
    let switches = |rate| counting(&[("context-switches", rate)]);
    just("context-switches", switches(5_010.0), switches(5_000.0));
}

#[test]
fn kernel_time() {
    let kernel = |kernel| Made {
        cores: vec![Core { user: 60 - kernel, kernel, waiting: 0, mpi: 0 }; 10],
        ..Made::default()
    };
    let finding = just("kernel-time", kernel(17), kernel(15));
    assert_eq!(finding.names["executable"], "/bin/lmp");
}

#[test]
fn one_library() {
    let library = |in_library| Made { in_library, ..cores(60, 0) };
    let finding = just("one-library", library(38), library(36));
    assert_eq!(finding.names["library"], "/lib/libm.so.6");
    assert_eq!(finding.names["function"], "libm.so.6+0x20");
    // Most of the time in MPI is another rule's.
    let all = vec![Core { user: 15, kernel: 0, waiting: 0, mpi: 45 }; 10];
    let found = found_at(&[Made { cores: all, ..Made::default() }], NOW);
    assert_eq!(names_of(&found), ["mpi-time"]);
}

#[test]
fn unused_node() {
    let node = |busy| Made {
        job: None,
        cores: vec![Core { user: busy, kernel: 0, waiting: 60 - busy, mpi: 0 }; 10],
        ..Made::default()
    };
    // The executable that runs is named; one that does nothing at all has none.
    let finding = just("unused-node", node(1), node(2));
    assert_eq!(finding.node.as_deref(), Some("n1"));
}

#[test]
fn silent_node() {
    let at = |made: &Made, seconds: u64| {
        let found = found_at(std::slice::from_ref(made), Nanos(NOW.0 + seconds * SECOND));
        names_of(&found).contains(&"silent-node")
    };
    let made = cores(60, 0);
    assert!(!at(&made, 180) && at(&made, 181));
    assert!(at(&made, 86_399) && !at(&made, 86_401));
    // Agents may send once an hour.
    let hourly = Made { interval: 60, minutes: 0..5, ..made };
    assert!(!at(&hourly, 3 * 3600) && at(&hourly, 3 * 3600 + 1));
    // One batch tells it already.
    let first = Made { minutes: 0..1, ..hourly };
    assert!(!at(&first, 3 * 3600) && at(&first, 3 * 3600 + 1));
}

#[test]
fn a_short_batch_of_an_agent_that_ends_is_no_interval() {
    let hourly = Made { interval: 60, minutes: 1..4, ..cores(60, 0) };
    let last = Made { interval: 2, minutes: 0..1, ..hourly.clone() };
    let at = |seconds: u64| {
        let found = found_at(&[hourly.clone(), last.clone()], Nanos(NOW.0 + seconds * SECOND));
        names_of(&found).contains(&"silent-node")
    };
    assert!(!at(3 * 3600) && at(3 * 3600 + 1));
}

#[test]
fn silence_of_many_nodes_is_one_question() {
    let node = |at: u64, interval| Made {
        node: format!("n{at}"),
        interval,
        // The first of them were silent for long.
        minutes: 40_u64.saturating_sub(at)..45,
        ..cores(60, 0)
    };
    let mut all: Vec<Made> = (0..40).map(|at| node(at, 1)).collect();
    all.push(Made { minutes: 0..5, ..node(40, 60) });
    all.push(Made { minutes: 0..1, ..node(41, 60) });
    let asked =
        Asked { visible: Visible::All, time: Time::Now(Nanos(NOW.0 + 240 * SECOND)), job: None };
    for (tells, most) in [(Tells::Intervals, 0), (Tells::Slices, 1)] {
        let (_folder, store) = store(&all);
        let store = Seen { store, by: Visible::All, tells, series: Cell::new(0) };
        let found = evaluate_asked(&store, &rules(), &asked, &mut ()).unwrap();
        let mut silent: Vec<&str> = found
            .findings
            .iter()
            .filter(|finding| finding.rule == "silent-node")
            .filter_map(|finding| finding.node.as_deref())
            .collect();
        silent.sort_unstable();
        let mut expected: Vec<String> = (0..40).map(|at| format!("n{at}")).collect();
        expected.sort_unstable();
        assert_eq!(silent, expected, "{tells:?}");
        assert_eq!(store.series.get(), most, "{tells:?}");
    }
}

#[test]
fn rules_of_nodes_are_not_judged_by_what_a_user_sees() {
    let own = Made {
        node: "n2".to_owned(),
        job: Some(Job { id: "1".to_owned(), user: Some(7) }),
        minutes: 10..60,
        ..cores(60, 0)
    };
    let (_folder, store) = store(&[cores(4, 0), own]);
    let asked = Asked { visible: Visible::All, time: Time::Now(NOW), job: None };
    let found = |store: &dyn Store| evaluate_asked(store, &rules(), &asked, &mut ()).unwrap();
    assert!(names_of(&found(&store)).contains(&"silent-node"));
    // A server asked with a user's token answers all questions so.
    let user = Visible::User(7);
    let found = found(&Seen { store, by: user, tells: Tells::Slices, series: Cell::new(0) });
    assert_eq!(names_of(&found), [""; 0]);
}

/// A store that answers what one may see, whoever asks.
struct Seen {
    store: talea_store::sqlite::Sqlite,
    by: Visible,
    tells: Tells,
    /// Series that were asked for.
    series: Cell<u32>,
}

/// What a store tells of nodes' intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    Intervals,
    /// Only when slices began.
    Slices,
}

impl Seen {
    fn of(&self, question: &Question) -> Question {
        Question { visible: self.by, ..question.clone() }
    }
}

impl Store for Seen {
    fn put_all(&mut self, batches: &[Batch]) -> Result<Vec<Put>, StoreError> {
        self.store.put_all(batches)
    }

    fn usage(&self, question: &Question) -> Result<Answer, StoreError> {
        self.store.usage(&self.of(question))
    }

    fn series(&self, question: &Question, step: Nanos) -> Result<Series, StoreError> {
        self.series.set(self.series.get() + 1);
        self.store.series(&self.of(question), step)
    }

    fn nodes(&self, _: Visible) -> Result<Vec<NodeSeen>, StoreError> {
        let mut nodes = self.store.nodes(self.by)?;
        if self.tells == Tells::Slices {
            for node in &mut nodes {
                node.interval = None;
            }
        }
        Ok(nodes)
    }

    fn jobs(&self, question: &Question) -> Result<Vec<JobSeen>, StoreError> {
        self.store.jobs(&self.of(question))
    }

    fn rates(&self, question: &Question) -> Result<Rates, StoreError> {
        self.store.rates(&self.of(question))
    }

    fn spreads(&self, question: &Question) -> Result<Vec<SpreadSeen>, StoreError> {
        self.store.spreads(&self.of(question))
    }

    fn sees(&self) -> Result<Visible, StoreError> {
        Ok(self.by)
    }

    fn retain(&mut self, now: Nanos, steps: usize) -> Result<Retained, StoreError> {
        self.store.retain(now, steps)
    }
}

#[test]
fn a_condition_must_hold_as_long_as_the_rule_says() {
    let before = Made { minutes: 5..60, ..cores(60, 0) };
    let now = Made { minutes: 0..5, ..cores(30, 30) };
    assert!(!names_of(&found_at(&[before.clone(), now], NOW)).contains(&"kernel-time"));
    let now = Made { minutes: 0..10, ..cores(30, 30) };
    let before = Made { minutes: 10..60, ..before };
    assert!(names_of(&found_at(&[before, now], NOW)).contains(&"kernel-time"));
    // A job that has just begun.
    let short = Made { minutes: 0..5, ..cores(30, 30) };
    assert!(!names_of(&found_at(&[short], NOW)).contains(&"kernel-time"));
}

#[test]
fn times_in_a_row_of_the_same_slices_are_said() {
    let said = |interval| {
        let found = found_at(&[Made { interval, ..cores(30, 30) }], Nanos(NOW.0 - MINUTE));
        found.gaps.iter().any(|gap| gap.detail.contains("share samples"))
    };
    assert!(!said(1) && said(10));
}

#[test]
fn findings_of_a_rule_are_counted_beyond_the_first() {
    let text = r#"
[[rule]]
name = "busy"
per = "job"
severity = "info"
over = "5min"
samples = 1
condition = "busy > 0"
title = "t"
hint = "h"
"#;
    let rules = read(text, Path::new("t.toml")).unwrap();
    let job = |id: usize| Made {
        job: Some(Job { id: id.to_string(), user: Some(1000) }),
        cores: vec![Core { user: 50, kernel: 0, waiting: 10, mpi: 0 }],
        minutes: 0..1,
        ..Made::default()
    };
    let all: Vec<Made> = (0..1003).map(job).collect();
    let (_folder, store) = store(&all);
    let found = evaluate(&store, &rules, NOW, Visible::All).unwrap();
    assert_eq!(found.findings.len(), 1000);
    let gap = found.gaps.iter().find(|gap| gap.detail.contains("rule `busy`")).unwrap();
    assert_eq!(gap.count, 3);
}

#[test]
fn what_is_named_is_of_the_user_who_is_named() {
    let text = r#"
[[rule]]
name = "who"
per = "node"
severity = "info"
over = "5min"
condition = "busy > 0"
title = "{user} {executable}"
hint = "h"
"#;
    let rules = read(text, Path::new("t.toml")).unwrap();
    let job = |user: u32, executable: &str, samples| Made {
        job: Some(Job { id: executable.to_owned(), user: Some(user) }),
        executable: executable.to_owned(),
        ..cores(samples, 0)
    };
    // The first user has most of the node by two programs, the second the one with most.
    let (_folder, store) =
        store(&[job(1, "/bin/a", 30), job(1, "/bin/b", 20), job(2, "/bin/c", 40)]);
    let found = evaluate(&store, &rules, NOW, Visible::All).unwrap();
    let titles: Vec<&str> = found.findings.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["1 /bin/a"]);
}

#[test]
fn what_is_absent_is_never_true_and_said() {
    let text = r#"
[[rule]]
name = "never"
per = "job"
severity = "info"
over = "5min"
condition = '"page-faults" < 10 | waiting < 0.5 | "function:*" < 2'
title = "t"
hint = "h"
"#;
    let rules = read(text, Path::new("t.toml")).unwrap();
    let (_folder, store) = store(&[Made {
        cores: vec![Core { user: 60, kernel: 0, waiting: 0, mpi: 0 }; 2],
        ..Made::default()
    }]);
    let found = evaluate(&store, &rules, NOW, Visible::All).unwrap();
    assert_eq!(found.findings, []);
    let gaps: Vec<&str> = found.gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(
        gaps,
        ["rule `never`: page-faults, waiting, function:* is not known of some that it is for"]
    );
}

#[test]
fn users_find_their_own_jobs_only() {
    let other = Job { id: "hers*".to_owned(), user: Some(1001) };
    let hers = Made { job: Some(other), executable: "/home/hers/app".to_owned(), ..cores(4, 0) };
    let (_folder, store) = store(&[cores(4, 0), hers].map(|made| Made { in_library: 2, ..made }));
    let found = |visible| evaluate(&store, &rules(), NOW, visible).unwrap();
    assert_eq!(names_of(&found(Visible::All)), ["unused-allocation"; 2]);
    let his = format!("{:?}", found(Visible::User(1000)));
    assert!(his.contains("4711") && !his.contains("hers"), "{his}");
    let hers = found(Visible::User(1001));
    assert_eq!(hers.findings.len(), 1);
    // A star in a name stands for itself.
    assert_eq!(hers.findings[0].names["executable"], "/home/hers/app");
    assert_eq!(found(Visible::User(7)), Findings::default());
    let asked = Asked {
        visible: Visible::All,
        time: Time::Whole(Nanos(NOW.0 - 60 * MINUTE), NOW),
        job: Some(("4711".to_owned(), Some(1000))),
    };
    let one = evaluate_asked(&store, &rules(), &asked, &mut ()).unwrap();
    assert_eq!(one.findings.len(), 1);
    let short = Asked { time: Time::Whole(Nanos(NOW.0 - 10 * MINUTE), NOW), ..asked };
    assert_eq!(names_of(&evaluate_asked(&store, &rules(), &short, &mut ()).unwrap()), [""; 0]);
}

struct Symbols;

impl Names for Symbols {
    fn function(&mut self, _: Option<&Module>, address: Option<u64>) -> Option<String> {
        Some(format!("f{:x}", address?))
    }
}

#[test]
fn functions_have_names_where_somebody_knows_them() {
    let text = r#"
[[rule]]
name = "function"
per = "job"
severity = "info"
over = "5min"
condition = '"function.low:f2?" > 0.3 & function > 0.5 & has_event("library:*/none*")'
title = "{function:%} in {function}, {share_of_m:%} in libm"
hint = "look"
metrics = { share_of_m = '"library:*/libm.so*"' }
"#;
    let rules = read(text, Path::new("t.toml")).unwrap();
    let (_folder, store) = store(&[cores(50, 0)]);
    let asked = Asked { visible: Visible::All, time: Time::Now(NOW), job: None };
    let found = evaluate_asked(&store, &rules, &asked, &mut Symbols).unwrap();
    assert_eq!(found.findings[0].title, "60 % in f10, 40 % in libm");
}

#[test]
fn names_of_a_text_belong_together() {
    let text = r#"
[[rule]]
name = "together"
per = "job"
severity = "info"
over = "5min"
condition = "busy > 0"
title = "core {core} of {node}"
hint = "{library}: {function}"

[[rule]]
name = "inside"
per = "job"
severity = "info"
over = "5min"
condition = "busy > 0"
title = "{library}"
hint = "{function}"
"#;
    let rules = read(text, Path::new("t.toml")).unwrap();
    // The first node has most samples, the second the busiest core; the library has more than the
    // program, but its functions are two.
    let core = |user| Core { user, kernel: 0, waiting: 60 - user, mpi: 0 };
    let first = Made { cores: [50, 48, 48].map(core).to_vec(), in_library: 26, ..Made::default() };
    let second = Made {
        cores: [45, 20, 58].map(core).to_vec(),
        in_library: 30,
        node: "n2".to_owned(),
        address: 0x30,
        ..Made::default()
    };
    let (_folder, store) = store(&[first, second]);
    let asked = Asked { visible: Visible::All, time: Time::Now(NOW), job: None };
    let found = evaluate_asked(&store, &rules, &asked, &mut Symbols).unwrap();
    let texts: Vec<_> = found.findings.iter().map(|f| (&f.title[..], &f.hint[..])).collect();
    assert_eq!(
        texts,
        [("/lib/libm.so.6", "f30"), ("core 2 of n2", "/lib/libm.so.6: f30")],
        "{:?}",
        found.gaps
    );
}

#[test]
fn mistakes_are_said_with_file_and_line() {
    let said = |text: &str| read(text, Path::new("own.toml")).unwrap_err().to_string();
    let with = |line: &str| {
        let base = "[[rule]]\nname = \"x\"\nper = \"job\"\nseverity = \"info\"\nover = \"5min\"\n";
        let rest = ["condition = \"busy > 1\"", "title = \"t\"", "hint = \"h\""];
        let key = line.split(' ').next().unwrap();
        let rest: Vec<&str> = rest.into_iter().filter(|other| !other.starts_with(key)).collect();
        format!("{base}{line}\n{}\n", rest.join("\n"))
    };
    insta::assert_snapshot!(
        [
            said("x"),
            said("[[rule]]\nnam = 1"),
            said("[[rule]]\nname = \"x\""),
            said("[[rule]]\nname = \"X y\""),
            said("[[rule]]\nname = \"x\"\noff = true\n[[rule]]\nname = \"x\"\noff = true"),
            said(&with("condition = \"kernal > 0.5\"")),
            said(&with("condition = \"kernel > > 0.5\"")),
            said(&with("condition = \"silent > 5\"")),
            said(&with("condition = \"share > 5\"")),
            said(&with("each = \"library\"")),
            said(&with("for = \"5 weeks\"")),
            said(&with("for = \"31d\"")),
            said(&with("most = \"much\"")),
            said(&with("title = \"{\"")),
            said(&with("title = \"{colour}\"")),
            said(&with("each = \"core\"")),
            said(&with("metrics = { Bad = \"1\" }")),
        ]
        .join("\n")
    );
}

#[test]
fn own_files_take_the_place_of_rules_or_switch_them_off() {
    let folder = tempfile::tempdir().unwrap();
    let off = "[[rule]]\nname = \"imbalance\"\noff = true\n";
    std::fs::write(folder.path().join("a.toml"), off).unwrap();
    let own = rules_text("kernel-time").replace("0.25", "0.9");
    std::fs::write(folder.path().join("b.toml"), own).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "no rules").unwrap();
    let all = with_overrides(rules(), read_folder(folder.path()).unwrap());
    assert_eq!(all.len(), rules().len() - 1);
    assert!(all.iter().all(|rule| rule.name != "imbalance"));
    let (_folder, store) = store(&[cores(30, 30)]);
    let found = evaluate(&store, &all, NOW, Visible::All).unwrap();
    assert!(!names_of(&found).contains(&"kernel-time"));
    assert!(read_folder(Path::new("/nowhere")).unwrap_err().to_string().contains("/nowhere"));
}

fn rules_text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    std::fs::read_to_string(folder.join(name).with_extension("toml")).unwrap()
}

#[test]
fn all_files_of_rules_are_built_in_and_say_why() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let files = std::fs::read_dir(folder).unwrap().count();
    assert_eq!(files, rules().len());
    for rule in rules() {
        assert!(!rule.reason.is_empty(), "{}", rule.name);
    }
}

proptest! {
    #[test]
    fn no_text_does_harm(text in ".{0,200}") {
        let _ = read(&text, Path::new("t"));
    }

    #[test]
    fn no_value_does_harm(
        key in "over|for|condition|title|most|per|samples|metrics|each",
        value in ".{0,40}"
    ) {
        let text = format!("[[rule]]\nname = \"x\"\nper = \"job\"\n{key} = {value}\n");
        let _ = read(&text, Path::new("t"));
        let _ = read(&format!("[[rule]]\nname = \"x\"\n{key} = '''{value}'''\n"), Path::new("t"));
    }
}

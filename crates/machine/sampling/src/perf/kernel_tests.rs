//! Software events of the kernel that runs the tests; it needs no PMU.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use super::*;
use crate::family::Stat;
use crate::sources::now;

/// Why perf events cannot be tested here; in CI they must be.
fn skipped(source: &PerfSource) -> bool {
    let reason = match source.offers("task-clock") {
        Offer::Refused(reason) => reason,
        // Others may be allowed to count only part of what is compared here.
        _ if !rustix::process::geteuid().is_root() => "needs root".to_owned(),
        _ => return false,
    };
    talea_testing::skip(&reason);
    true
}

fn opened(
    source: &mut PerfSource,
    counters: &[&str],
    target: &Target,
) -> (Vec<Vec<f64>>, Vec<Opened>, Gaps) {
    let mut gaps = Gaps::default();
    let names: Vec<String> = counters.iter().map(|name| (*name).to_owned()).collect();
    let opened = source.open(&names, target, &mut gaps).unwrap();
    (opened.iter().map(|o| vec![f64::NAN; o.places.len()]).collect(), opened, gaps)
}

/// A shell that works when it is told to, and tells when it has done so.
struct Worker(Child);

impl Worker {
    fn new() -> Self {
        // Each subshell is a child; what it does is counted only if children are.
        let work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let script = format!(
            "echo here; read x; {work}; for n in 1 2 3 4 5; do ({work}); done; echo done; read x"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut worker = Self(command.spawn().unwrap());
        // Its beginning is not to be counted.
        worker.hear("here\n");
        worker
    }

    fn hear(&mut self, expected: &str) {
        let mut said = [0; 5];
        self.0.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(said, expected.as_bytes());
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn work(&mut self) {
        self.0.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        self.hear("done\n");
    }

    /// Time in ns (to 10 ms) and minor faults, as /proc has them.
    fn known(&self) -> (f64, f64) {
        let stat = Stat::of_process(&Root::machine(), self.id()).unwrap();
        (stat.times.iter().sum::<u64>() as f64 * 1e7, stat.faults[0] as f64)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_is_counted_as_proc_has_it() {
    let mut source = PerfSource::new(Root::machine());
    if skipped(&source) {
        return;
    }
    let counters = ["task-clock", "page-faults", "minor-faults", "major-faults"];
    let mut count = |children| {
        let mut worker = Worker::new();
        let before = worker.known();
        let target = Target::Processes { pids: vec![worker.id()], children };
        let (mut numbers, opened, mut gaps) = opened(&mut source, &counters, &target);
        assert_eq!(opened[0].places.len(), cpus::online(&Root::machine()).len());
        worker.work();
        source.read(Nanos(1), &mut numbers, &mut gaps);
        let after = worker.known();
        assert!(gaps.is_empty(), "{gaps:?}");
        let sums: Vec<f64> = numbers.iter().map(|numbers| numbers.iter().sum()).collect();
        // The shell may be in the middle of a fault when counting begins.
        assert!((sums[1] - sums[2] - sums[3]).abs() <= 2.0, "{sums:?}");
        (sums, after.0 - before.0, after.1 - before.1)
    };
    let (sums, time, faults) = count(false);
    assert!((sums[0] - time).abs() < 0.1 * time + 3e7, "{sums:?}, /proc has {time} ns");
    // The shell may have been about to wait when counting began.
    assert!(sums[2] <= faults && sums[2] >= 0.8 * faults, "{sums:?}, /proc has {faults}");
    let (with_children, time, faults) = count(true);
    assert!(with_children[0] > 2.0 * time - 3e7, "{with_children:?}, the shell itself {time} ns");
    assert!(with_children[2] > 1.5 * faults, "{with_children:?}, the shell itself {faults}");
}

#[test]
fn threads_are_followed_where_events_on_each_pu_are_too_many() {
    let mut source = PerfSource::new(Root::machine());
    if skipped(&source) {
        return;
    }
    source.most = 1;
    let mut worker = Worker::new();
    let before = worker.known();
    let target = Target::Processes { pids: vec![worker.id()], children: true };
    let (mut numbers, opened, mut gaps) =
        opened(&mut source, &["task-clock", "minor-faults"], &target);
    assert_eq!(opened[0].places.len(), cpus::online(&Root::machine()).len());
    assert_eq!(source.descriptors(), 2);
    worker.work();
    source.read(Nanos(1), &mut numbers, &mut gaps);
    let after = worker.known();
    let sum = |i: usize| numbers[i].iter().filter(|n| !n.is_nan()).sum::<f64>();
    let (time, faults) = (after.0 - before.0, after.1 - before.1);
    assert!((sum(0) - time).abs() < 0.1 * time + 3e7, "{numbers:?}, /proc has {time} ns");
    assert!(sum(1) <= faults && sum(1) >= 0.5 * faults, "{numbers:?}, /proc has {faults}");
    assert!(gaps.iter().all(|gap| gap.detail.contains("where each ran last")), "{gaps:?}");
    drop(worker);
    // One last reading, then nothing is open.
    source.read(Nanos(2), &mut numbers, &mut gaps);
    assert_eq!(source.descriptors(), 2);
    source.read(Nanos(3), &mut numbers, &mut gaps);
    assert_eq!(source.descriptors(), 0);
}

#[test]
fn groups_that_do_not_fit_are_counted_one_by_one() {
    let mut source = PerfSource::new(Root::machine());
    if skipped(&source) {
        return;
    }
    let mut worker = Worker::new();
    let target = Target::Processes { pids: vec![worker.id()], children: false };
    let counters = ["task-clock", "minor-faults", "page-faults"];
    let (mut numbers, opened, mut gaps) = opened(&mut source, &counters, &target);
    let pus = opened[0].places.len();
    assert_eq!((source.groups.len(), source.descriptors()), (pus, 3 * pus));
    source.read(Nanos(1), &mut numbers, &mut gaps);
    // As if they had not run.
    source.starved.insert(0);
    source.split(&mut gaps);
    assert_eq!((source.groups.len(), source.descriptors()), (3 * pus, 3 * pus));
    worker.work();
    source.read(Nanos(2), &mut numbers, &mut gaps);
    let sum = |i: usize| numbers[i].iter().sum::<f64>();
    assert!(sum(0) > 0.0 && sum(1) > 0.0 && sum(2) >= sum(1) - 2.0, "{numbers:?}");
    assert_eq!(gaps.iter().count(), 1, "{gaps:?}");
}

#[test]
fn tracepoints_where_the_kernel_shows_them() {
    let mut source = PerfSource::new(Root::machine());
    match source.offers("sched:sched_switch") {
        Offer::Yes(_) => {}
        other => return println!("skipped: no tracefs, or not for this user: {other:?}"),
    }
    let counters = ["sched:sched_switch", "context-switches"];
    let mut worker = Worker::new();
    let (mut numbers, _, mut gaps) = opened(&mut source, &counters, &Target::Machine);
    worker.work();
    source.read(Nanos(1), &mut numbers, &mut gaps);
    let sum = |i: usize| numbers[i].iter().sum::<f64>();
    assert!(sum(0) >= 5.0 && (sum(0) - sum(1)).abs() <= 0.2 * sum(1), "{numbers:?}");
}

#[test]
fn pus_add_up_to_the_machine() {
    let mut source = PerfSource::new(Root::machine());
    if skipped(&source) {
        return;
    }
    let counters = ["cpu-clock", "page-faults", "task-clock:u", "context-switches"];
    let mut worker = Worker::new();
    let (mut numbers, opened, mut gaps) = opened(&mut source, &counters, &Target::Machine);
    if opened[0].places.is_empty() {
        println!("skipped: {gaps:?}");
        return;
    }
    let (began, before) = (now(), worker.known());
    worker.work();
    let (wall, after) = ((now() - began).0 as f64, worker.known());
    source.read(Nanos(1), &mut numbers, &mut gaps);
    // Each PU's clock runs all the time.
    assert!(numbers[0].iter().all(|clock| *clock >= 0.5 * wall), "{numbers:?} in {wall} ns");
    assert!(numbers[1].iter().sum::<f64>() >= after.1 - before.1, "{numbers:?}");
    // The shell waits for each of its children.
    assert!(numbers[3].iter().sum::<f64>() >= 5.0, "{numbers:?}");
    assert!(gaps.iter().all(|gap| gap.kind == GapKind::Estimated), "{gaps:?}");
    assert_eq!(source.descriptors(), 4 * opened[0].places.len());
    // Nothing asked, nothing open.
    source.open(&[], &Target::Machine, &mut gaps).unwrap();
    assert_eq!(source.descriptors(), 0);
}

#[test]
fn a_pu_that_goes_and_comes_back() {
    // The list is ours; the events are real ones on the first PU.
    let folder = tempfile::tempdir().unwrap();
    let root = Root::at(folder.path());
    let write = |text: &str| {
        let path = root.path("sys/devices/system/cpu/online");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("0\n");
    let mut source = PerfSource::new(root.clone());
    let mut gaps = Gaps::default();
    if skipped(&source) {
        return;
    }
    let (mut numbers, opened, _) = opened(&mut source, &["cpu-clock"], &Target::Machine);
    if opened[0].places.is_empty() {
        println!("skipped: this user may not count the machine");
        return;
    }
    let mut read = |source: &mut PerfSource| {
        source.read(Nanos(1), &mut numbers, &mut gaps);
        numbers[0][0]
    };
    assert!(read(&mut source) > 0.0);
    write("1\n");
    assert!(read(&mut source).is_nan());
    assert!(read(&mut source).is_nan());
    write("0-1\n");
    // Counting begins anew in this reading, so that the next one has something to tell.
    let first = read(&mut source);
    assert!(first >= 0.0, "{first}");
    assert!(read(&mut source) > 0.0);
    let details: Vec<&str> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
    let expected = [
        "PU 0 went offline while it was counted",
        "PUs 1 came after counting began and are not counted",
    ];
    assert_eq!(details, expected);
}

#[test]
fn what_cannot_be_had_is_a_gap_with_its_reason() {
    let mut source = PerfSource::new(Root::machine());
    if skipped(&source) {
        return;
    }
    let (numbers, _, gaps) = opened(&mut source, &["nope/x/", "page-faults"], &Target::Machine);
    assert!(numbers[0].is_empty());
    let text = format!("{gaps:?}");
    assert!(text.contains("counter `nope/x/` is not measured: no PMU `nope`"), "{text}");
    let gone = Target::Processes { pids: vec![u32::MAX >> 2], children: true };
    let error = source.open(&["page-faults".to_owned()], &gone, &mut Gaps::default()).unwrap_err();
    assert_eq!(error.to_string(), "expected a running process, found none with number 1073741823");
    match source.offers("cycles") {
        Offer::Yes(offered) => assert_eq!(offered, Offered::growing(Scope::Pu, "")),
        Offer::Refused(reason) => assert!(reason.contains("PMU"), "{reason}"),
        Offer::No => panic!("every kernel knows the name"),
    }
    assert_eq!(source.offers("nonsense"), Offer::No);
}

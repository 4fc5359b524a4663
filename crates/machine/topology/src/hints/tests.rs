//! Tests of the findings on values of objects: none for quiet, even or unsteady data, and one for
//! each kind of imbalance, saturation, remote memory and shared core.

use super::*;
use crate::objects::{MemoryAttribute, ObjectKind as K};
use crate::sample;

const STEP: u64 = 100_000_000;

fn info(topology: &Topology, name: &str, counter: &str, unit: &str, kind: K) -> MonitorInfo {
    let objects = topology.of_kind(kind).map(|(id, _)| id).collect();
    let (name, counter, unit) = (name.into(), counter.into(), unit.into());
    MonitorInfo { name, counter, unit, objects, ..MonitorInfo::default() }
}

/// A hundred frames of a tenth of a second; `value` of monitor, frame, object.
fn frames(monitors: &[MonitorInfo], value: impl Fn(usize, usize, usize) -> f64) -> Vec<Frame> {
    let values = |frame: usize| {
        let all = monitors.iter().enumerate();
        all.map(|(m, one)| (0..one.objects.len()).map(|o| value(m, frame, o)).collect()).collect()
    };
    (0..100_usize)
        .map(|at| Frame {
            at: Nanos((at as u64 + 1) * STEP),
            span: Nanos(STEP),
            phase: u32::from((30..60).contains(&at)),
            values: values(at),
        })
        .collect()
}

fn placed(threads: impl Fn(usize) -> Vec<ThreadAt>) -> Vec<PlacementSample> {
    (0..100)
        .map(|at| PlacementSample { at: Nanos((at as u64 + 1) * STEP), threads: threads(at) })
        .collect()
}

fn thread(tid: u32, pu: u32, allowed: &str, running: bool) -> ThreadAt {
    let allowed = CpuSet::from_list(allowed).unwrap();
    ThreadAt { pid: 7, tid, label: format!("lmp r0 t{tid}"), pu, allowed, running }
}

fn kinds(hints: &[Hint]) -> Vec<HintKind> {
    hints.iter().map(|hint| hint.kind).collect()
}

/// A little reproducible noise.
fn noise(frame: usize, object: usize) -> f64 {
    0.97 + 0.06 * ((frame * 7919 + object * 104_729) % 101) as f64 / 100.0
}

#[test]
fn quiet_and_even_data_have_no_findings() {
    let topology = sample::small();
    let monitors = [
        info(&topology, "busy", "proc:busy", "%", K::Pu),
        info(&topology, "L3 misses", "PAPI_L3_TCM", "", K::L3Cache),
        info(&topology, "ipc", "PAPI_TOT_INS/PAPI_TOT_CYC", "", K::Core),
        info(&topology, "local", "numa:local", "", K::NumaNode),
        info(&topology, "other", "numa:other", "", K::NumaNode),
        info(&topology, "traffic", "imc:read_bytes", "B", K::NumaNode),
    ];
    let even = |monitor: usize, frame: usize, object: usize| {
        let value = [95.0, 1e6, 1.5, 1e5, 100.0, 1e9][monitor];
        value * noise(frame, object)
    };
    assert_eq!(hints(&topology, &monitors, &frames(&monitors, even), &[]), []);
    assert_eq!(hints(&topology, &monitors, &frames(&monitors, |_, _, _| 0.0), &[]), []);
    assert_eq!(hints(&topology, &monitors, &frames(&monitors, |_, _, _| f64::NAN), &[]), []);
    assert_eq!(hints(&topology, &monitors, &[], &[]), []);
    assert_eq!(hints(&Topology::default(), &[], &[], &[]), []);
    // Each PU has one thread that may run anywhere.
    let full = placed(|_| (0..16).map(|at| thread(at, at, "0-15", true)).collect());
    assert_eq!(hints(&topology, &monitors, &frames(&monitors, even), &full), []);
}

#[test]
fn what_flaps_is_no_finding() {
    let topology = sample::small();
    let monitors = [info(&topology, "L3 misses", "PAPI_L3_TCM", "", K::L3Cache)];
    let data =
        frames(&monitors, |_, frame, object| if object == 0 && frame % 9 == 0 { 4e6 } else { 1e6 });
    assert_eq!(hints(&topology, &monitors, &data, &[]), []);
}

#[test]
fn an_unequal_level() {
    let topology = sample::small();
    let monitors = [info(&topology, "L2 misses", "PAPI_L2_TCM", "", K::L2Cache)];
    let data = frames(&monitors, |_, frame, object| {
        if object == 3 && (30..60).contains(&frame) { 3e6 } else { 1e6 * noise(frame, object) }
    });
    let found = hints(&topology, &monitors, &data, &[]);
    assert_eq!(kinds(&found), [HintKind::Imbalance]);
    let hint = &found[0];
    assert_eq!(hint.objects, [monitors[0].objects[3]]);
    assert_eq!((hint.from, hint.to), (Nanos(30 * STEP), Nanos(60 * STEP)));
    assert_eq!(hint.region.as_deref(), Some("phase 1"));
    // Three against seven of one: 3 / (10 / 8).
    assert!((hint.value - 2.4).abs() < 0.02, "{}", hint.value);
    insta::assert_snapshot!(hint.sentence, @"L2 misses is unequal at L2: L2 L#3 has up to 2.40 times the mean for 3.00 s of 10.0 s.");
}

/// Twenty switches a second, unequally spread, are noise; forty thousand take a fifth of a PU.
#[test]
fn events_that_take_no_time_are_no_finding() {
    let topology = sample::small();
    let monitors = [info(&topology, "SWITCHES", "\"context-switches\"", "1/s", K::Pu)];
    let found = |rate: f64| {
        let data = frames(&monitors, |_, frame, object| {
            rate * noise(frame, object) * if object == 2 { 1.65 } else { 1.0 }
        });
        kinds(&hints(&topology, &monitors, &data, &[]))
    };
    assert_eq!(found(20.0), []);
    assert_eq!(found(1000.0), []);
    assert_eq!(found(40_000.0), [HintKind::Imbalance]);
}

#[test]
fn a_saturated_cache_needs_users_that_slow_down() {
    let topology = sample::small();
    let monitors = [
        info(&topology, "L3 accesses", "PAPI_L3_TCA", "", K::L3Cache),
        info(&topology, "instructions", "PAPI_TOT_INS", "", K::Core),
    ];
    let run = |slow: f64| {
        frames(&monitors, |monitor, frame, object| {
            let full = (40..80).contains(&frame);
            match (monitor, full) {
                (0, true) => 9.5e7,
                (0, false) => 1e7,
                (_, true) => 1e8 * slow * noise(frame, object),
                (_, false) => 1e8 * noise(frame, object),
            }
        })
    };
    let found = hints(&topology, &monitors, &run(0.5), &[]);
    assert_eq!(kinds(&found), [HintKind::SaturatedCache]);
    assert_eq!(found[0].objects.len(), 2);
    assert_eq!((found[0].from, found[0].to), (Nanos(40 * STEP), Nanos(80 * STEP)));
    assert_eq!(hints(&topology, &monitors, &run(1.0), &[]), []);
}

#[test]
fn memory_against_what_it_can_do() {
    let mut topology = sample::small();
    let nodes: Vec<ObjectId> = topology.of_kind(K::NumaNode).map(|(id, _)| id).collect();
    let values = nodes.iter().map(|&id| (id, None, 20_000)).collect();
    topology.memory_attributes.push(MemoryAttribute { name: "Bandwidth".into(), flags: 0, values });
    let monitors =
        [info(&topology, "traffic", "imc:read_bytes + imc:write_bytes", "B/s", K::NumaNode)];
    let data = frames(&monitors, |_, frame, _| if frame >= 50 { 18e9 } else { 2e9 });
    let found = hints(&topology, &monitors, &data, &[]);
    assert_eq!(kinds(&found), [HintKind::SaturatedMemory]);
    insta::assert_snapshot!(found[0].sentence, @"NUMANode P#0 and NUMANode P#1 are at 90 % of what the memory can do (traffic) for 5.00 s of 10.0 s.");
}

#[test]
fn remote_memory() {
    let topology = sample::small();
    let monitors = [
        info(&topology, "local", "numa:local", "", K::NumaNode),
        info(&topology, "other", "numa:other", "", K::NumaNode),
    ];
    let data = frames(&monitors, |monitor, _, object| match (monitor, object) {
        (0, _) => 1e4,
        (_, 1) => 5e3,
        _ => 10.0,
    });
    let found = hints(&topology, &monitors, &data, &[]);
    let remote = found.iter().find(|hint| hint.kind == HintKind::RemoteMemory).unwrap();
    assert_eq!(remote.objects, [monitors[1].objects[1]]);
    assert!((remote.value - 1.0 / 3.0).abs() < 1e-9);
    // A handful of pages is not significant.
    let few = frames(&monitors, |_, _, _| 20.0);
    assert_eq!(hints(&topology, &monitors, &few, &[]), []);
}

#[test]
fn threads_that_share_a_core_while_others_are_idle() {
    let topology = sample::small();
    let monitors = [info(&topology, "busy", "proc:busy", "", K::Pu)];
    let data = frames(&monitors, |_, _, object| if object < 2 { 0.99 } else { 0.01 });
    let found = hints(&topology, &monitors, &data, &[]);
    assert_eq!(found[0].kind, HintKind::SmtSiblings);
    let core = topology.of_kind(K::Core).next().unwrap().0;
    assert_eq!(found[0].objects, [core]);
    // No thread may use the idle cores: the user decided so.
    let bound = placed(|_| vec![thread(1, 0, "0-1", true), thread(2, 1, "0-1", true)]);
    assert!(!kinds(&hints(&topology, &monitors, &data, &bound)).contains(&HintKind::SmtSiblings));
}

#[test]
fn a_queue_while_others_are_idle() {
    let topology = sample::small();
    let data = frames(&[], |_, _, _| 0.0);
    let crowd = placed(|_| (0..3).map(|tid| thread(tid, 4, "0-7", true)).collect());
    let found = hints(&topology, &[], &data, &crowd);
    assert_eq!(kinds(&found), [HintKind::RunQueue, HintKind::UnusedCores]);
    assert_eq!(found[0].value.to_bits(), 3.0_f64.to_bits());
    insta::assert_snapshot!(found[0].sentence, @"PU P#4 has 3.0 running threads while no thread of the program runs on up to 7 other PUs that they may use, for 10.0 s of 10.0 s.");
    insta::assert_snapshot!(found[1].sentence, @"The threads never use 3 of 4 cores that they may use: Core P#0, Core P#1 and Core P#3.");
    // Threads that wait do not queue.
    let waiting = placed(|_| (0..3).map(|tid| thread(tid, 4, "0-7", false)).collect());
    assert_eq!(hints(&topology, &[], &data, &waiting), []);
}

#[test]
fn threads_that_are_all_bound_to_one_pu() {
    let topology = sample::small();
    let data = frames(&[], |_, _, _| 0.0);
    let stuck = placed(|_| (0..4).map(|tid| thread(tid, 3, "3", true)).collect());
    let found = hints(&topology, &[], &data, &stuck);
    assert_eq!(kinds(&found), [HintKind::BoundToOne]);
    insta::assert_snapshot!(found[0].sentence, @"4 threads of process 7 (lmp r0 t0) may only use PU P#3 of 16 PUs, for 10.0 s of 10.0 s.");
}

#[test]
fn names_of_counters_are_whole() {
    let one = |text: &str| MonitorInfo { counter: text.into(), ..MonitorInfo::default() };
    assert!(inputs::mentions(&one("proc:busy*2"), "proc:busy"));
    assert!(inputs::mentions(&one("perf::instructions/cycles"), "instructions"));
    assert!(inputs::mentions(&one("instructions:u"), "instructions"));
    assert!(!inputs::mentions(&one("branch-instructions"), "instructions"));
    assert!(inputs::mentions(&one("2*PAPI_L3_TCM"), "PAPI_L3_*"));
}

#[test]
fn lists_that_do_not_fit_the_frames_are_no_matter() {
    let topology = sample::small();
    let mut monitors = vec![info(&topology, "busy", "proc:busy", "%", K::Pu)];
    let data = frames(&monitors, |_, _, _| 50.0);
    monitors.push(info(&topology, "more", "PAPI_L3_TCM", "", K::L3Cache));
    monitors.push(MonitorInfo { objects: vec![ObjectId(99_999); 3], ..monitors[1].clone() });
    monitors.push(MonitorInfo { objects: vec![ObjectId(99_999); 300], ..monitors[0].clone() });
    assert_eq!(hints(&topology, &monitors, &data, &[]), []);
}

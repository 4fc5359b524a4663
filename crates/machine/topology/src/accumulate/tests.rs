//! Values against a slow recomputation from the definition, and reasons for absent ones.

use proptest::prelude::*;
use talea_model::Nanos;

use super::*;
use crate::cpuset::CpuSet;
use crate::monitors::{Monitor, ObjectsOf, Per, When, parse};
use crate::objects::{Object, ObjectKind, Topology};

/// Packages with a NUMA node each, L3s, cores with a L2, PUs; the operating system counts PUs from
/// the last one. A network device `eth0` is in the last package.
fn machine(packages: u32, caches: u32, cores: u32, pus: u32) -> Topology {
    let mut topology = Topology::default();
    let total = packages * caches * cores * pus;
    let mut next_pu = total;
    let add = |topology: &mut Topology, kind, parent: Option<ObjectId>, pus: CpuSet| {
        let mut object = Object::new(kind);
        object.logical_index = topology.of_kind(kind).count() as u32;
        object.os_index = Some(object.logical_index);
        object.cpuset = pus;
        topology.add(object, parent)
    };
    // The PUs from the next one downwards.
    let some =
        |next: u32, count: u32| (next - count..next).map(|pu| pu as usize).collect::<CpuSet>();
    let root = add(&mut topology, ObjectKind::Machine, None, some(total, total));
    for package in 0..packages {
        let set = some(next_pu, caches * cores * pus);
        let parent = add(&mut topology, ObjectKind::Package, Some(root), set.clone());
        add(&mut topology, ObjectKind::NumaNode, Some(parent), set);
        for _ in 0..caches {
            let set = some(next_pu, cores * pus);
            let cache = add(&mut topology, ObjectKind::L3Cache, Some(parent), set);
            for _ in 0..cores {
                let set = some(next_pu, pus);
                let l2 = add(&mut topology, ObjectKind::L2Cache, Some(cache), set.clone());
                let core = add(&mut topology, ObjectKind::Core, Some(l2), set);
                for _ in 0..pus {
                    next_pu -= 1;
                    let set = CpuSet::single(next_pu as usize);
                    let id = add(&mut topology, ObjectKind::Pu, Some(core), set);
                    topology.objects[id.0 as usize].os_index = Some(next_pu);
                }
            }
        }
        if package + 1 == packages {
            let set = CpuSet::default();
            let device = add(&mut topology, ObjectKind::OsDevice, Some(parent), set);
            topology.objects[device.0 as usize].name = Some("eth0".into());
        }
    }
    topology
}

fn pus(topology: &Topology) -> Vec<Place> {
    let mut all: Vec<u32> =
        topology.pus().iter().filter_map(|&pu| topology.get(pu).os_index).collect();
    all.sort_unstable();
    all.into_iter().map(Place::Pu).collect()
}

/// Places of the tests' counters.
fn places(topology: &Topology, counter: &str) -> Option<Vec<Place>> {
    let count = |kind| topology.of_kind(kind).count() as u32;
    match counter.split('.').next()? {
        "pu" | "cycles" | "instructions" | "cache-misses" => Some(pus(topology)),
        "numa" => Some((0..count(ObjectKind::NumaNode)).map(Place::Numa).collect()),
        "package" => Some((0..count(ObjectKind::Package)).map(Place::Package).collect()),
        "device" => Some(vec![Place::Device("eth0".into()), Place::Device("lo".into())]),
        "machine" | "mem:used" => Some(vec![Place::Machine]),
        "first" => Some(vec![Place::Pu(0)]),
        _ => None,
    }
}

fn plan(topology: &Topology, text: &str) -> Plan {
    let monitors = parse(text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    Plan::new(topology, &monitors, |counter| places(topology, counter))
}

/// A frame of one second in which each counter has these numbers at its places.
fn frame(plan: &mut Plan, numbers: &[&[f64]]) -> Frame {
    let second = Nanos(1_000_000_000);
    let numbers = numbers.iter().map(|numbers| numbers.to_vec()).collect();
    plan.frame(&Readings { at: second, span: second, numbers })
}

/// The first monitor's values at an object's kind with these numbers at PUs 0, 1, 2 ...
fn values(fields: &str, numbers: &[&[f64]]) -> Vec<f64> {
    let topology = machine(2, 1, 2, 2);
    let mut plan = plan(&topology, &format!("M{{ {fields} }}"));
    assert!(plan.is_supported(0), "{:?}", plan.gaps());
    frame(&mut plan, numbers).values.remove(0)
}

const A: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
const B: &[f64] = &[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 4.0];

#[test]
fn readings_become_values_of_levels() {
    // The tree's first PU is the operating system's last.
    assert_eq!(values("OBJ = PU; CTR = pu.a;", &[A]), [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
    assert_eq!(values("OBJ = Core; CTR = pu.a;", &[A]), [15.0, 11.0, 7.0, 3.0]);
    assert_eq!(values("OBJ = L3:1; CTR = pu.a;", &[A]), [10.0]);
    assert_eq!(values("OBJ = NUMANode; CTR = pu.a;", &[A]), [26.0, 10.0]);
    assert_eq!(values("OBJ = 0; CTR = pu.a;", &[A]), [36.0]);
    assert_eq!(values("OBJ = 4; CTR = pu.a;", &[A]), [15.0, 11.0, 7.0, 3.0]);
    assert_eq!(values("OBJ = Machine; CTR = pu.a; AGG = max;", &[A]), [8.0]);
    assert_eq!(values("OBJ = Machine; CTR = pu.a; AGG = mean;", &[A]), [4.5]);
    assert_eq!(values("OBJ = Package; CTR = pu.a; AGG = min;", &[A]), [5.0, 1.0]);
    // Sums first: 36 / 14, not the sum of ratios.
    assert_eq!(values("OBJ = Machine; CTR = pu.a / pu.b;", &[A, B]), [36.0 / 14.0]);
    let ratios = [1.0, 2.0, 3.0, 4.0, 2.5, 3.0, 3.5, 2.0];
    let sum = ratios.iter().rev().sum::<f64>();
    assert_eq!(values("OBJ = Machine; CTR = pu.a / pu.b; WHEN = before;", &[A, B]), [sum]);
    let most = values("OBJ = Machine; CTR = pu.a / pu.b; WHEN = Core; AGG = max;", &[A, B]);
    assert_eq!(most, [3.5]);
    assert_eq!(values("OBJ = Package; CTR = pu.a; PER = pu.b;", &[A, B]), [2.6, 2.5]);
    assert_eq!(values("OBJ = Machine; CTR = machine.x + pu.a;", &[&[1.0], A]), [37.0]);
    assert_eq!(values("OBJ = NUMANode; CTR = numa.x;", &[&[3.0, 4.0]]), [3.0, 4.0]);
    assert_eq!(values("OBJ = NUMANode; CTR = package.x;", &[&[3.0, 4.0]]), [3.0, 4.0]);
    assert_eq!(values("OBJ = OSDev; CTR = device.x;", &[&[3.0, 4.0]]), [3.0]);
    assert_eq!(values("OBJ = Machine; CTR = device.x;", &[&[3.0, 4.0]]), [7.0]);
    let packages = values("OBJ = Package; CTR = device.x;", &[&[3.0, 4.0]]);
    assert!(packages[0].is_nan() && packages[1..] == [3.0], "{packages:?}");
}

#[test]
fn one_absent_reading_makes_what_contains_it_absent() {
    let mut a = A.to_vec();
    a[0] = f64::NAN;
    let cores = values("OBJ = Core; CTR = pu.a;", &[&a]);
    assert_eq!(cores[..3], [15.0, 11.0, 7.0]);
    assert!(cores[3].is_nan());
    for aggregate in ["sum", "max", "min", "mean"] {
        let whole = values(&format!("OBJ = Machine; CTR = pu.a; AGG = {aggregate};"), &[&a]);
        assert!(whole[0].is_nan(), "{aggregate}");
    }
    assert!(values("OBJ = PU; CTR = pu.a;", &[&A[..4]])[..4].iter().all(|v| v.is_nan()));
    assert!(values("OBJ = PU; CTR = pu.a;", &[]).iter().all(|v| v.is_nan()));
    let zero = values("OBJ = Machine; CTR = pu.a / pu.b;", &[A, &[0.0; 8]]);
    assert!(zero[0].is_nan());
}

#[test]
fn why_values_are_absent() {
    let topology = machine(2, 2, 2, 2);
    let plan = plan(
        &topology,
        "A{ OBJ = L2; CTR = package.power; } B{ OBJ = PU; CTR = PAPI_FP_OPS; } C{ OBJ = L5; CTR = pu.a; }
        D{ OBJ = L3; CTR = first.a; } E{ OBJ = PU; CTR = device.x; } F{ OBJ = PU; CTR = pu.a + numa.x; WHEN = before; }
        G{ OBJ = Package; CTR = device.x; } H{ OBJ = PU; CTR = pu.a; WHEN = Package; } I{ OBJ = Core; CTR = mem:used; }
        J{ OBJ = Machine; CTR = PAPI_L3_TCM / PAPI_TOT_INS; }",
    );
    let supported: Vec<bool> = (0..plan.monitors()).map(|i| plan.is_supported(i)).collect();
    let all = [false, false, false, true, false, false, true, false, false, true];
    assert_eq!(supported, all);
    assert_eq!(plan.counters(), ["first.a", "device.x", "cache-misses", "instructions"]);
    let gaps: Vec<String> =
        plan.gaps().iter().map(|gap| format!("{:?} {}", gap.kind, gap.detail)).collect();
    insta::assert_snapshot!(gaps.join("\n"));
}

#[test]
fn presets_of_papi_divide_too() {
    let topology = machine(1, 1, 1, 2);
    let text =
        "A{ OBJ = Core; CTR = pu.a; PER = instruction; } B{ OBJ = Core; CTR = pu.a; PER = cycle; }";
    let monitors = parse(text).unwrap();
    let pus = || Some(vec![Place::Pu(0), Place::Pu(1)]);
    let mut plan = Plan::new(&topology, &monitors, |counter| match counter {
        "pu.a" | "PAPI_TOT_INS" => pus(),
        _ => None,
    });
    assert_eq!(plan.counters(), ["pu.a", "PAPI_TOT_INS"]);
    let frame = frame(&mut plan, &[&[3.0, 5.0], &[2.0, 2.0]]);
    assert_eq!(frame.values[0], [2.0]);
    let gaps: Vec<String> = plan.gaps().iter().map(|gap| gap.detail.clone()).collect();
    let why = "PER = cycle needs one of `cycles`, `cpu-cycles`, `PAPI_TOT_CYC`, none of them can be read here";
    assert_eq!(gaps, [format!("B: {why}")]);
}

#[test]
fn devices_for_something_else_are_no_gap() {
    let mut topology = machine(1, 1, 1, 1);
    for (name, used) in
        [("eth1", "Network"), ("eth2", "Network"), ("sda", "Block"), ("sdb", "Block")]
    {
        let mut device = Object::new(ObjectKind::OsDevice);
        device.name = Some(name.into());
        device.attributes = crate::objects::Attributes::Os { uses: vec![used.into()] };
        topology.add(device, Some(ObjectId(0)));
    }
    let gaps = |read: &[&str]| {
        let places: Vec<Place> = read.iter().map(|name| Place::Device((*name).into())).collect();
        let monitors = parse("NET{ OBJ = OSDev; CTR = net:*:rx_bytes; }").unwrap();
        let plan = Plan::new(&topology, &monitors, |_| Some(places.clone()));
        plan.gaps().iter().map(|gap| gap.detail.clone()).collect::<Vec<_>>()
    };
    assert!(gaps(&["eth0", "eth1", "eth2"]).is_empty());
    assert_eq!(gaps(&["eth0", "eth2"]), ["NET: `net:*:rx_bytes` is not read at 1 of 3 OSDev"]);
}

#[test]
fn sums_and_windows() {
    let topology = machine(1, 1, 1, 1);
    let text = "A{ OBJ = PU; CTR = pu.a / pu.b; ACCUMULATE = 1; } B{ OBJ = PU; CTR = pu.a; WINDOW = 2; PER = second; }
        C{ OBJ = Machine; CTR = mem:used + 0 * pu.a; ACCUMULATE = 1; }";
    let mut plan = plan(&topology, text);
    assert_eq!(plan.counters(), ["pu.a", "pu.b", "mem:used"]);
    let mut seen = Vec::new();
    for (a, b, used) in [(1.0, 1.0, 5.0), (3.0, 1.0, 6.0), (f64::NAN, 1.0, 7.0), (5.0, 1.0, 8.0)] {
        let frame = frame(&mut plan, &[&[a], &[b], &[used]]);
        seen.push(frame.values.iter().map(|values| values[0]).collect::<Vec<_>>());
    }
    // Sums leave out the frame with one side absent; a gauge is never summed.
    let shown: Vec<String> = seen.iter().map(|values| format!("{values:?}")).collect();
    let expected = ["[1.0, 1.0, 5.0]", "[2.0, 2.0, 6.0]", "[NaN, 3.0, NaN]", "[3.0, 5.0, 8.0]"];
    assert_eq!(shown, expected);
    let missed: Vec<u64> = plan.gaps().iter().map(|gap| gap.count).collect();
    assert_eq!(missed, [1, 1]);
}

#[test]
fn memory_of_the_same_pus_does_not_take_what_is_of_the_package() {
    let mut topology = machine(1, 1, 2, 1);
    let mut second = topology.get(ObjectId(2)).clone();
    assert_eq!(second.kind, ObjectKind::NumaNode);
    (second.os_index, second.logical_index) = (Some(1), 1);
    topology.add(second, Some(ObjectId(1)));
    let mut plan = plan(
        &topology,
        "A{ OBJ = NUMANode; CTR = package.x; } B{ OBJ = NUMANode; CTR = numa.x; } C{ OBJ = NUMANode; CTR = pu.a; }",
    );
    assert!(!plan.is_supported(0));
    let frame = frame(&mut plan, &[&[1.0, 2.0], &[3.0, 4.0]]);
    assert_eq!(frame.values[1..], [[1.0, 2.0], [7.0, 7.0]]);
}

#[test]
fn empty_topologies_and_monitors_do_no_harm() {
    let mut none =
        plan(&Topology::default(), "A{ OBJ = PU; CTR = pu.a; } B{ OBJ = 0; CTR = machine.a; }");
    assert_eq!(frame(&mut none, &[]).values, [[0.0; 0]; 2]);
    let mut constant = plan(&machine(1, 1, 1, 2), "A{ OBJ = PU; CTR = 2 + 1; }");
    assert_eq!(frame(&mut constant, &[]).values, [[3.0, 3.0]]);
    assert_eq!(constant.objects(7), []);
}

#[test]
fn imbalance_of_a_level() {
    assert_eq!(imbalance(&[1.0, 1.0, 1.0]), Some(1.0));
    assert_eq!(imbalance(&[0.0, f64::NAN, 4.0]), Some(2.0));
    assert_eq!(imbalance(&[]), None);
    assert_eq!(imbalance(&[0.0]), None);
    assert_eq!(imbalance(&[-1.0, 4.0]), None);
}

/// A list becomes one number; any absent one makes it absent.
fn slow_aggregate(aggregate: Aggregate, all: &[f64]) -> f64 {
    if all.is_empty() || all.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let sum: f64 = all.iter().sum();
    match aggregate {
        Aggregate::Sum => sum,
        Aggregate::Mean => sum / all.len() as f64,
        Aggregate::Min => all.iter().copied().fold(f64::INFINITY, f64::min),
        Aggregate::Max => all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// The value at some PUs after some frames, directly from the definition. Counters are read at all
/// PUs.
fn slow_at(monitor: &Monitor, set: &CpuSet, counters: &[String], frames: &[Readings]) -> f64 {
    let within = if monitor.when == When::After { monitor.aggregate } else { Aggregate::Sum };
    let needed = monitor.counters();
    // For each frame the counters and then the span; frames that lack one have nothing.
    let of_frame = |readings: &Readings| -> Option<Vec<f64>> {
        let of = |name: &String| {
            let place = counters.iter().position(|known| known == name).unwrap();
            let numbers: Vec<f64> = set.iter().map(|pu| readings.numbers[place][pu]).collect();
            slow_aggregate(within, &numbers)
        };
        let all: Vec<f64> = needed.iter().map(of).chain([readings.span.seconds()]).collect();
        all.iter().all(|value| !value.is_nan()).then_some(all)
    };
    let last = of_frame(&frames[frames.len() - 1]);
    let sum = |frames: &[Readings]| -> Option<(Vec<f64>, f64)> {
        let present: Vec<Vec<f64>> = frames.iter().filter_map(of_frame).collect();
        let first = present.first()?.clone();
        let sums = present[1..]
            .iter()
            .fold(first, |sums, more| sums.iter().zip(more).map(|(a, b)| a + b).collect());
        Some((sums, present.len() as f64))
    };
    let numbers = if monitor.accumulate {
        last.and_then(|_| sum(frames).map(|(sums, _)| sums))
    } else {
        let from = frames.len().saturating_sub(monitor.window as usize);
        sum(&frames[from..]).map(|(sums, count)| sums.iter().map(|sum| sum / count).collect())
    };
    let Some(numbers) = numbers else { return f64::NAN };
    let value = |expression: &Expression| {
        let of = |name: &String| numbers[needed.iter().position(|known| known == name).unwrap()];
        expression.eval(&expression.counters().iter().map(of).collect::<Vec<_>>())
    };
    let value = match &monitor.per {
        Per::Second => value(&monitor.expression) / numbers[numbers.len() - 1],
        Per::Expression(divisor) => value(&monitor.expression) / value(divisor),
        _ => value(&monitor.expression),
    };
    if value.is_finite() { value } else { f64::NAN }
}

fn slow(
    topology: &Topology,
    monitor: &Monitor,
    counters: &[String],
    frames: &[Readings],
) -> Vec<f64> {
    let inner = match monitor.when {
        When::After => None,
        When::Before => Some(ObjectKind::Pu),
        When::At(ObjectsOf::Kind(kind)) => Some(kind),
        When::At(_) => unreachable!("not generated"),
    };
    let at = |id: ObjectId| {
        let set = &topology.get(id).cpuset;
        let Some(inner) = inner else { return slow_at(monitor, set, counters, frames) };
        let below = topology.of_kind(inner).filter(|(_, object)| object.cpuset.is_subset(set));
        let all: Vec<f64> =
            below.map(|(_, object)| slow_at(monitor, &object.cpuset, counters, frames)).collect();
        slow_aggregate(monitor.aggregate, &all)
    };
    objects_of(topology, monitor.objects).into_iter().map(at).collect()
}

fn monitors() -> impl Strategy<Value = Monitor> {
    let kinds = [
        ObjectKind::Machine,
        ObjectKind::Package,
        ObjectKind::NumaNode,
        ObjectKind::L3Cache,
        ObjectKind::Core,
        ObjectKind::Pu,
    ];
    let kind = || prop::sample::select(kinds.to_vec());
    let texts =
        ["pu.a", "pu.a / pu.b", "max(pu.b, pu.c) - 1", "pu.c * 2 / (pu.a + pu.b)", "1 - pu.a"];
    let texts = || prop::sample::select(texts.to_vec()).prop_map(|t| Expression::parse(t).unwrap());
    let aggregate =
        prop::sample::select(vec![Aggregate::Sum, Aggregate::Max, Aggregate::Min, Aggregate::Mean]);
    let when = prop_oneof![
        2 => Just(When::After),
        1 => Just(When::Before),
        1 => kind().prop_map(|kind| When::At(ObjectsOf::Kind(kind)))
    ];
    let per = prop_oneof![Just(Per::Frame), Just(Per::Second), texts().prop_map(Per::Expression)];
    (kind(), texts(), aggregate, when, per, 1_u32..4, any::<bool>()).prop_map(
        |(kind, expression, aggregate, when, per, window, accumulate)| {
            let monitor = Monitor::new("M", ObjectsOf::Kind(kind), expression);
            Monitor { aggregate, when, per, window, accumulate, ..monitor }
        },
    )
}

proptest! {
    #[test]
    fn values_are_those_of_the_definition(
        shape in (1_u32..3, 1_u32..3, 1_u32..3, 1_u32..3),
        monitors in prop::collection::vec(monitors(), 1..5),
        numbers in prop::collection::vec(
            prop::collection::vec(
                prop_oneof![9 => 0.0..1e6_f64, 1 => Just(0.0), 1 => Just(f64::NAN)],
                3 * 16
            ),
            1..5,
        ),
    ) {
        let topology = machine(shape.0, shape.1, shape.2, shape.3);
        let count = topology.pus().len();
        let mut plan = Plan::new(&topology, &monitors, |counter| places(&topology, counter));
        let mut frames = Vec::new();
        for (i, numbers) in numbers.iter().enumerate() {
            let numbers: Vec<Vec<f64>> =
                (0..plan.counters().len()).map(|c| numbers[c * 16..][..count].to_vec()).collect();
            let span = Nanos(250_000_000 * (i as u64 + 1));
            frames.push(Readings { at: Nanos(i as u64), span, numbers });
            let frame = plan.frame(&frames[i]);
            for (place, monitor) in monitors.iter().enumerate() {
                if !plan.is_supported(place) {
                    // Only objects that contain none of the inner ones are refused.
                    prop_assert!(matches!(monitor.when, When::At(_)));
                    prop_assert!(frame.values[place].iter().all(|value| value.is_nan()));
                    continue;
                }
                let expected = slow(&topology, monitor, plan.counters(), &frames);
                prop_assert_eq!(expected.len(), frame.values[place].len());
                for (a, b) in expected.iter().zip(&frame.values[place]) {
                    let near = (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-3);
                    prop_assert!(near || a.is_nan() && b.is_nan(), "{}: {} {}", monitor, a, b);
                }
            }
        }
    }

    #[test]
    fn any_depth_is_a_level(shape in (1_u32..3, 1_u32..3, 1_u32..3, 1_u32..3), depth in 0_u32..12) {
        let topology = machine(shape.0, shape.1, shape.2, shape.3);
        let level = objects_of(&topology, ObjectsOf::Depth(depth));
        let kinds = [
            ObjectKind::Machine,
            ObjectKind::Package,
            ObjectKind::L3Cache,
            ObjectKind::L2Cache,
            ObjectKind::Core,
            ObjectKind::Pu
        ];
        let expected = kinds.get(depth as usize).map_or(
            vec![],
            |&kind| objects_of(&topology, ObjectsOf::Kind(kind))
        );
        prop_assert_eq!(level, expected);
    }
}

//! Made-up machines and recordings for the page of a node's objects.
//!
//! Owns nothing that a user sees. Values are waves over PUs, the same every time.

use talea_model::Nanos;
use talea_topology::hints::{PlacementSample, ThreadAt};
use talea_topology::phases::{Course, Phases};
use talea_topology::scale::Wanted;
use talea_topology::{
    Attributes, CpuSet, Frame, MonitorInfo, Object, ObjectId, ObjectKind as K, Topology,
};

/// Two packages with memory, `caches` L3 each for `cores` cores of two PUs, two networks, and six
/// disks that share a mark.
pub(crate) fn machine(caches: usize, cores: usize) -> Topology {
    let mut all = Topology::default();
    let root = add(&mut all, None, K::Machine);
    for _ in 0..2 {
        let package = add(&mut all, Some(root), K::Package);
        add(&mut all, Some(package), K::NumaNode);
        for _ in 0..caches {
            let shared = add(&mut all, Some(package), K::L3Cache);
            for _ in 0..cores {
                let private = add(&mut all, Some(shared), K::L2Cache);
                let core = add(&mut all, Some(private), K::Core);
                add(&mut all, Some(core), K::Pu);
                add(&mut all, Some(core), K::Pu);
            }
        }
    }
    let disks = (0..6).map(|disk| (format!("nvme{disk}n1"), "Block"));
    let networks = (0..2).map(|network| (format!("eth{network}"), "Network"));
    for (name, used) in networks.chain(disks) {
        let device = add(&mut all, Some(root), K::OsDevice);
        let device = &mut all.objects[device.0 as usize];
        device.name = Some(name);
        device.attributes = Attributes::Os { uses: vec![used.into()] };
    }
    all
}

fn add(all: &mut Topology, parent: Option<ObjectId>, kind: K) -> ObjectId {
    let number = all.of_kind(kind).count() as u32;
    let mut object = Object::new(kind);
    object.logical_index = number;
    if !kind.is_cache() && kind != K::Machine {
        object.os_index = Some(number);
    }
    object.attributes = match kind {
        K::NumaNode => Attributes::Numa { memory: 256 << 30, pages: Vec::new() },
        K::L3Cache => cache(32 << 20, 3),
        K::L2Cache => cache(1 << 20, 2),
        _ => Attributes::None,
    };
    if kind == K::Pu {
        object.cpuset = CpuSet::single(number as usize);
        let mut at = parent;
        while let Some(id) = at {
            let outer = &mut all.objects[id.0 as usize];
            outer.cpuset.insert(number as usize);
            at = outer.parent;
        }
    }
    all.add(object, parent)
}

fn cache(size: u64, depth: u32) -> Attributes {
    Attributes::Cache { size, depth, line: 64, associativity: 16, data: true, instructions: true }
}

/// Monitors at PUs, L3, memory, networks and disks.
pub(crate) fn monitors(topology: &Topology) -> Vec<MonitorInfo> {
    let one =
        |name: &str, counter: &str, unit: &str, kind: K, log: bool, max: Option<f64>| MonitorInfo {
            name: name.into(),
            counter: counter.into(),
            unit: unit.into(),
            level: kind.short().into(),
            aggregate: "sum".into(),
            objects: topology.of_kind(kind).map(|(id, _)| id).collect(),
            scale: Wanted { min: None, max, log },
        };
    vec![
        one("busy", "100 * proc:busy", "%", K::Pu, false, Some(100.0)),
        one("instructions", "PAPI_TOT_INS", "/s", K::Pu, false, None),
        one("L3 misses", "PAPI_L3_TCM", "/s", K::L3Cache, true, None),
        one("memory traffic", "imc:read_bytes + imc:write_bytes", "B/s", K::NumaNode, false, None),
        one("received", "net:*:rx_bytes", "B/s", K::OsDevice, false, None),
        one("written", "disk:*:write_bytes", "B/s", K::OsDevice, false, None),
    ]
}

/// Frames of a tenth of a second; phases of 1 to 3, a busy middle, the last network without any
/// value.
pub(crate) fn frames(monitors: &[MonitorInfo], count: usize, faster: f64) -> Vec<Frame> {
    let value = |monitor: usize, object: usize, objects: usize, frame: usize| {
        let part = frame as f64 / count as f64;
        let place = object as f64 / objects as f64;
        let wave = 0.5 + 0.5 * (12.0 * part * faster + 5.0 * place).sin();
        let noise = ((frame * 7919 + object * 104_729) % 997) as f64 / 997.0;
        let busy =
            if (0.1..0.9).contains(&part) { 0.35 + 0.5 * wave + 0.1 * noise } else { 0.02 * noise };
        match monitor {
            0 if object == 7 && (0.4..0.6).contains(&part) => f64::NAN,
            0 => 100.0 * busy * faster.min(1.0),
            1 => 2.4e9 * busy * (1.2 - 0.4 * place),
            2 => 10f64.powf(2.0 + 5.5 * busy),
            3 => 1.1e11 * busy,
            4 if object >= 1 => f64::NAN,
            5 if object < 2 => f64::NAN,
            _ => 1.2e9 * wave * noise,
        }
    };
    (0..count)
        .map(|frame| Frame {
            at: Nanos((frame as u64 + 1) * 100_000_000),
            span: Nanos(100_000_000),
            phase: [0, 1, 2, 2, 3][5 * frame / count],
            values: (monitors.iter().enumerate())
                .map(|(number, one)| {
                    let objects = one.objects.len();
                    (0..objects).map(|object| value(number, object, objects, frame)).collect()
                })
                .collect(),
        })
        .collect()
}

/// Eight ranks that move to the next core now and then, and four threads on one PU.
pub(crate) fn placement(count: usize) -> Vec<PlacementSample> {
    let sample = |frame: usize| {
        let thread = |rank: usize| ThreadAt {
            pid: 100 + rank as u32,
            tid: 100 + rank as u32,
            label: if rank < 8 {
                format!("lmp r{rank} t0")
            } else {
                format!("lmp r0 t{}", rank - 7)
            },
            pu: if rank < 8 { 2 * ((rank + frame / 40) % 8) as u32 } else { 11 },
            allowed: CpuSet::from_list("0-15").unwrap_or_default(),
            running: true,
        };
        PlacementSample {
            at: Nanos((frame as u64 + 1) * 100_000_000),
            threads: (0..12).map(thread).collect(),
        }
    };
    (0..count).map(sample).collect()
}

/// A run that fills all but the first and last tenth of so many frames with iterations; every 97th
/// is slow, some of them very.
pub(crate) fn run(count: usize, iterations: u64) -> Phases {
    let whole = count as u64 * 100_000_000;
    let long = |at: u64| if at % 97 == 41 { 3 + at % 3 } else { 1 };
    let unit = whole * 8 / 10 / (0..iterations).map(long).sum::<u64>().max(1);
    let mut now = whole / 10;
    let turns = (0..iterations).map(|at| {
        let begin = now;
        now += long(at) * unit;
        (begin as i64, Nanos(now - begin))
    });
    let mut slow: Vec<usize> = (0..iterations as usize).filter(|&at| long(at as u64) > 1).collect();
    slow.sort_by_key(|&at| std::cmp::Reverse(long(at as u64)));
    let course = Course {
        of: "rank 0 of `talea-halo`".into(),
        place: "halo.c:285-299".into(),
        begin: (whole / 25) as i64,
        iterations: turns.collect(),
        end: (whole / 100 * 95) as i64,
        slow,
        median: Nanos(unit),
    };
    Phases::within(&course, Nanos(0), Nanos(whole)).unwrap_or_default()
}

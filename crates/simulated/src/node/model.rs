//! How many loads a thread does and how many of them miss, if it reads its data in random order.
//!
//! Owns the arithmetic. Of a working set of W bytes a cache of C bytes holds C/W, so that 1 - C/W
//! of the loads miss it; who shares a cache has a part of it. A load lasts as long as the level
//! that answers takes; the thread waits for it, as in a list whose next element is not known
//! before.

use talea_model::{Nanos, random};
use talea_topology::{Attributes, ObjectKind, Topology};

/// Cycles a second.
const FREQUENCY: f64 = 2.5e9;
/// Cycles until a load is answered by the first, second, third level and by memory.
const LATENCIES: [f64; 4] = [4.0, 14.0, 45.0, 220.0];
/// Sizes where the topology has no such cache.
const SIZES: [u64; 3] = [32 << 10, 1 << 20, 32 << 20];
/// Instructions beside each load.
const INSTRUCTIONS: f64 = 4.0;
/// Share of time that an idle PU spends in the kernel.
const IDLE: f64 = 0.002;
/// Bytes that the kernel's idle work touches.
const IDLE_SET: f64 = 24_000.0;
/// How long a wave lasts, in ns.
const WAVE: u64 = 12_000_000_000;

/// A cache as a PU sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cache {
    pub(super) size: f64,
    /// Its number among all caches.
    pub(super) number: usize,
}

/// A PU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pu {
    pub(super) number: u32,
    /// Its core, by number among cores.
    pub(super) core: usize,
    pub(super) node: u32,
    /// First, second, third level.
    pub(super) caches: [Cache; 3],
}

/// Work of a PU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Activity {
    /// Share of the time, 0 to 1.
    busy: f64,
    /// Bytes that it reads.
    working_set: f64,
}

impl Activity {
    pub(super) fn is_busy(self) -> bool {
        self.busy > 10.0 * IDLE
    }
}

/// Figures a second; `working_set` in bytes, `busy` as a share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) cycles: f64,
    pub(super) instructions: f64,
    pub(super) loads: f64,
    pub(super) misses: [f64; 3],
    pub(super) stalls: f64,
    pub(super) busy: f64,
    pub(super) switches: f64,
    pub(super) working_set: f64,
}

/// The PUs with their caches, and how many caches there are.
pub(super) fn pus(topology: &Topology) -> (Vec<Pu>, usize) {
    const LEVELS: [ObjectKind; 3] = [ObjectKind::L1Cache, ObjectKind::L2Cache, ObjectKind::L3Cache];
    // Objects are numbered through; what a PU lacks gets numbers after them.
    let mut caches = topology.objects.len();
    let mut pus = Vec::new();
    for (id, object) in topology.of_kind(ObjectKind::Pu) {
        let above = topology.ancestors(id);
        let of = |kind| above.iter().rev().find(|&&id| topology.get(id).kind == kind).copied();
        let cache = |level: usize| {
            let found = of(LEVELS[level]);
            let size = found.and_then(|id| match topology.get(id).attributes {
                Attributes::Cache { size, .. } if size > 0 => Some(size),
                _ => None,
            });
            let number = found.map_or_else(
                || {
                    caches += 1;
                    caches - 1
                },
                |id| id.0 as usize,
            );
            Cache { size: size.unwrap_or(SIZES[level]) as f64, number }
        };
        pus.push(Pu {
            number: object.os_index.unwrap_or(object.logical_index),
            core: of(ObjectKind::Core).map_or(usize::MAX - pus.len(), |id| id.0 as usize),
            node: object.nodeset.first().map_or(0, |node| node as u32),
            caches: std::array::from_fn(cache),
        });
    }
    (pus, caches)
}

/// Work of a PU when two threads walk lists.
pub(super) fn list(pus: &[Pu], at: usize, step: Nanos, time: Nanos) -> Activity {
    let idle = Activity { busy: IDLE, working_set: IDLE_SET };
    let Some(first) = pus.first() else { return idle };
    let other = pus.iter().position(|pu| pu.core != first.core);
    if at != 0 && Some(at) != other {
        return idle;
    }
    let pu = &pus[at];
    // From an eighth of the first level to eight times the third.
    let smallest = (pu.caches[0].size / 8.0).max(64.0);
    let sizes =
        (pu.caches[2].size * 64.0 / pu.caches[0].size).log2().ceil().clamp(1.0, 60.0) as u64;
    let turn = time.0.checked_div(step.0).unwrap_or(0) % (sizes + 1);
    Activity { busy: 1.0, working_set: smallest * (1_u64 << turn) as f64 }
}

/// Work of a PU when all work in waves.
pub(super) fn wave(pu: &Pu, seed: u64, time: Nanos) -> Activity {
    let own = unit(mix(seed, u64::from(pu.number)));
    let phase = (time.0 % WAVE) as f64 / WAVE as f64 + own;
    // Up and down again, without corners that a recording would show as events.
    let level = 0.5 - 0.5 * (phase * std::f64::consts::TAU).cos();
    let smallest = pu.caches[0].size / 4.0;
    let most = (pu.caches[2].size / smallest).max(1.0);
    Activity { busy: 0.3 + 0.7 * level, working_set: smallest * most.powf(own * 0.6 + level * 0.4) }
}

/// The figures of a PU.
pub(super) fn rates(pu: &Pu, activity: Activity, sharers: &[u32], noise: f64) -> Rates {
    let cycles = FREQUENCY * activity.busy;
    let mut share = [1.0; 4];
    for (level, cache) in pu.caches.iter().enumerate() {
        let sharers = f64::from(sharers[cache.number].max(1));
        let held = cache.size / sharers / activity.working_set.max(1.0);
        // A few loads always miss, and no level misses more than asked it.
        share[level + 1] = (1.0 - held).max(1e-4 / 10_f64.powi(level as i32)).min(share[level]);
    }
    let mut latency = LATENCIES[0];
    for level in 0..3 {
        latency += share[level + 1] * (LATENCIES[level + 1] - LATENCIES[level]);
    }
    let loads = cycles / latency * noise;
    let misses = [share[1] * loads, share[2] * loads, share[3] * loads];
    Rates {
        cycles,
        instructions: loads * INSTRUCTIONS,
        loads,
        misses,
        stalls: cycles * (1.0 - LATENCIES[0] / latency),
        busy: activity.busy,
        switches: 4.0 + 50.0 * (1.0 - activity.busy),
        working_set: activity.working_set,
    }
}

/// Between 0.98 and 1.02.
pub(super) fn noise(seed: u64, pu: u32) -> f64 {
    0.98 + 0.04 * unit(mix(seed, u64::from(pu)))
}

fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A random number of both.
fn mix(seed: u64, number: u64) -> u64 {
    random::mix(seed.wrapping_add(number.wrapping_mul(random::STEP)))
}

//! Offsets between the clocks of hosts.
//!
//! Owns the measurement: one rank of each host requests the time from rank 0, twenty times, and
//! uses the fastest answer (Cristian 1989). The error is at most half of that round trip. Hosts
//! share `CLOCK_MONOTONIC` among their ranks, so that ranks of rank 0's host have nothing to
//! measure. Those of a run on one host exchange one word each: a hash of the host, and whether it
//! has an observer.

use talea_run::directory::shared_host_name;

use crate::abi::abi;
use crate::abi::pmpi;
use crate::end::world::World;
use crate::sys::clock;

const ROUNDS: usize = 20;

/// Offset of this host's clock from that of rank 0's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offset {
    /// Nanoseconds to add to this host's `CLOCK_MONOTONIC`.
    pub nanos: i64,
    /// Its uncertainty, in nanoseconds.
    pub error: u64,
    /// True if there is no other host.
    pub one_host: bool,
    /// True if every rank said that its host has an observer.
    pub observed: bool,
}

/// Whether a host has an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observer {
    /// It has one.
    Present,
    /// It has none, or it does not matter.
    Absent,
}

/// Measures the offset. All ranks of the world call it. `host` identifies hosts.
pub fn measure(host: &str, observer: Observer) -> Offset {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    // Two hosts of one name were booted apart.
    let host = shared_host_name(host).unwrap_or_else(|_| host.to_owned());
    for byte in host.bytes().chain(clock_identity().bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    // The lowest bit is the observer's.
    let words = World::of_program().all(hash & !1 | u64::from(observer == Observer::Present));
    let observed = words.iter().all(|word| word & 1 == 1);
    let hosts: Vec<u64> = words.iter().map(|word| word >> 1).collect();
    if hosts.iter().all(|h| *h == hosts[0]) {
        return Offset { one_host: true, observed, ..Offset::default() };
    }
    let Some(world) = World::new() else { return Offset { observed, ..Offset::default() } };
    let mut answer = (0_i64, 0_u64);
    for leader in 1..world.size {
        if hosts[leader] == hosts[0] || hosts[..leader].contains(&hosts[leader]) {
            continue;
        }
        if world.rank == 0 {
            for _ in 0..ROUNDS {
                world.receive_word(leader);
                world.send_word(leader, clock::monotonic());
            }
        } else if world.rank == leader {
            answer = ask(&world);
            for rank in leader + 1..world.size {
                if hosts[rank] == hosts[leader] {
                    world.send_word(rank, answer.0 as u64);
                    world.send_word(rank, answer.1);
                }
            }
        } else if world.rank > leader && hosts[world.rank] == hosts[leader] {
            answer = (world.receive_word(leader) as i64, world.receive_word(leader));
        }
    }
    Offset { nanos: answer.0, error: answer.1, one_host: false, observed }
}

fn ask(world: &World) -> (i64, u64) {
    let mut best = (0_i64, u64::MAX);
    for _ in 0..ROUNDS {
        let before = clock::monotonic();
        world.send_word(0, before);
        let there = world.receive_word(0);
        let after = clock::monotonic();
        let trip = after - before;
        if trip < best.1 {
            best = (there as i64 - (before + trip / 2) as i64, trip);
        }
    }
    (best.0, best.1.div_ceil(2))
}

/// Containers of one host may still have monotonic clocks of their own (`time_namespaces(7)`).
fn clock_identity() -> String {
    std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default()
}

impl World {
    fn send_word(&self, to: usize, word: u64) {
        // SAFETY: eight bytes are valid.
        unsafe { pmpi::send((&raw const word) as usize, 8, abi().byte, to, 78, self.comm) };
    }

    fn receive_word(&self, from: usize) -> u64 {
        let mut word = 0_u64;
        let mut status = [0_u64; 16];
        // SAFETY: eight bytes are valid, and the status is larger than any implementation's.
        unsafe {
            let status = status.as_mut_ptr() as usize;
            pmpi::recv((&raw mut word) as usize, 8, abi().byte, from, 78, self.comm, status);
        }
        word
    }
}

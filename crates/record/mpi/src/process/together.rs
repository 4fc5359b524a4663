//! Decisions and steps that the ranks of a world take together.
//!
//! Owns the exchange after the initialisation of MPI, the decision who merges records, and the part
//! of processes without a record in both. All ranks decide alike.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::start;
use crate::abi::abi;
use crate::abi::pmpi;
use crate::end::gather::gather;
use crate::end::offsets::{self, Observer, Offset};
use crate::end::world::World as Ranks;
use crate::fabric;
use crate::sys::clock;
use crate::sys::host::host_name;

/// Facts that the ranks agreed on at the initialisation of MPI: bits of [`agreed`].
static AGREED: AtomicU32 = AtomicU32::new(0);

/// Facts that the ranks agreed on, and steps that were made.
pub(super) mod agreed {
    /// Each host has an observer.
    pub(in super::super) const OBSERVED: u32 = 1;
    /// Records are in the run directory.
    pub(in super::super) const IN_RUN: u32 = 2;
    /// The exchange at the begin was made, or is being made; it is made once.
    pub(in super::super) const BEGUN: u32 = 4;
    /// The same at the end.
    pub(in super::super) const ENDED: u32 = 8;
}

/// The identity of a world, and this host's clock, as all ranks determine them together.
pub(super) struct Together {
    /// A name of this world that its processes share and other worlds do not.
    pub(super) world: u64,
    pub(super) offset: Offset,
}

impl Together {
    /// All ranks of the world call it after the initialisation of MPI, those without a record too.
    /// `own` identifies the process that calls it.
    pub(super) fn new(own: [u64; 2], observer: Observer) -> Self {
        let mut world = [own[0], own[1], u64::from(is_in_run())];
        // SAFETY: MPI is initialised; the pointer is valid.
        unsafe {
            let size = size_of_val(&world);
            pmpi::bcast(world.as_mut_ptr() as usize, size, abi().byte, 0, abi().comm_world);
        }
        let offset = offsets::measure(&host_name(), observer);
        let observed = if offset.observed { agreed::OBSERVED } else { 0 };
        // As rank 0 has it: all ranks must decide alike.
        let in_run = if world[2] != 0 { agreed::IN_RUN } else { 0 };
        AGREED.fetch_or(observed | in_run, Ordering::AcqRel);
        Self { world: world[0].rotate_left(40) ^ world[1], offset }
    }
}

/// True the first time for each bit.
pub(super) fn is_first(bit: u32) -> bool {
    AGREED.fetch_or(bit, Ordering::AcqRel) & bit == 0
}

/// True if the environment is that of a recording.
fn is_asked() -> bool {
    ["TALEA_OUT", "TALEA_LIVE"].iter().any(|name| std::env::var_os(name).is_some())
}

/// Takes part in what the ranks do together at the initialisation of MPI, in a process without a
/// record of its own. Nothing of it could be missed by an observer. The library's own call of
/// another binding is not distinguished from the program's, so that the second one does nothing.
pub fn initialised_without() {
    if is_asked() && is_first(agreed::BEGUN) {
        Together::new([u64::from(std::process::id()), clock::realtime()], Observer::Present);
    }
}

/// Takes part in the end of a recording to which this process does not contribute, because its file
/// could not be created.
pub fn end_without() {
    if !is_asked() || !is_first(agreed::ENDED) {
        return;
    }
    if let Some(directory) = merged_by_ranks() {
        end_counters();
        offsets::measure(&host_name(), Observer::Absent);
        fabric::gather(&directory);
        gather(None, &directory);
    }
}

/// The last reading of counters that ranks bring together, if there are any: when all ranks have
/// completed all their messages, and before any of ours.
pub(super) fn end_counters() {
    if fabric::is_asked() {
        Ranks::of_program().all(0);
        fabric::end("MPI_Finalize");
    }
}

/// File of the merged trace, if ranks write it: if the user asks for it, and where nobody else
/// could bring records from the nodes' own disks. Otherwise ranks exchange no message at the end:
/// their files are merged after the program has ended, which then costs it no time.
pub(super) fn merged_by_ranks() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name);
    let is_auto = variable("TALEA_MERGE").is_some_and(|found| found == "auto");
    let is_in_reach = agreed::OBSERVED | agreed::IN_RUN;
    if is_auto && AGREED.load(Ordering::Acquire) & is_in_reach != 0 {
        return None;
    }
    variable("TALEA_OUT").map(PathBuf::from)
}

/// True if the record of this process is in the run directory; also without a record.
fn is_in_run() -> bool {
    std::env::var_os("TALEA_LIVE").is_none_or(|live| start::is_of_run(live.as_ref()))
}

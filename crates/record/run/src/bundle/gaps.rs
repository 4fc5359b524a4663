//! Gaps and uncertainties of a bundle, in words.
//!
//! Owns the notes about processes; those about single streams are made where the streams are read.

use talea_model::{Gap, GapKind, Gaps, Nanos, Rank};

use super::{Clock, Process};
use crate::live::layout::state;
use crate::recording;

pub(super) fn note_process(process: &Process, clock: &Clock, rank: Rank, gaps: &mut Gaps) {
    let mut note =
        |kind, detail: String, count| gaps.note(Gap { kind, rank: Some(rank), detail, count });
    if process.state == state::RECORDING {
        let detail =
            format!("rank {rank} ended without MPI_Finalize; recorded up to its last moments");
        note(GapKind::EndedEarly, detail, 0);
    }
    if clock.offset[2] > 0 {
        let detail = format!(
            "times of rank {rank} are from another clock, known to {}",
            Nanos(clock.offset[2] as u64)
        );
        note(GapKind::Estimated, detail, 0);
    }
    let [memory, disk, paused, threads] = process.lost;
    let lost = [
        (
            memory,
            GapKind::MemoryBound,
            "calls were not recorded because the memory bound was reached",
        ),
        (disk, GapKind::DiskFull, "calls were not recorded because the disk was full"),
        (paused, GapKind::Paused, "calls were made while MPI_Pcontrol(0) was in force"),
        (
            threads,
            GapKind::Unsupported,
            "calls were made by threads beyond the 256 that are recorded",
        ),
    ];
    for (count, kind, what) in lost {
        if count > 0 {
            note(kind, format!("rank {rank}: {count} {what}"), count);
        }
    }
    let shortened = process.shortened_paths;
    if shortened > 0 {
        let sites = if shortened == 1 { "site" } else { "sites" };
        let detail = format!(
            "rank {rank}: {shortened} call {sites}: too many call paths, further ones are not distinguished"
        );
        note(GapKind::MemoryBound, detail, shortened);
    }
    for damage in &process.damage {
        note(GapKind::Damaged, format!("rank {rank}: {damage}"), 0);
    }
}

pub(super) fn gap_of(kind: GapKind, rank: Rank, what: &str, count: u64) -> Gap {
    Gap { kind, rank: Some(rank), detail: format!("rank {rank}: {what}"), count }
}

/// Ranks of the first world that left no record.
pub(super) fn note_missing(processes: &[recording::Process], gaps: &mut Gaps) {
    let first = || processes.iter().filter(|p| p.location.world == 0);
    let Some(size) = first().map(|p| p.world_size).max() else { return };
    let here: std::collections::HashSet<u32> = first().map(|p| p.location.rank.0).collect();
    for rank in (0..size.min(1 << 22)).filter(|r| !here.contains(r)).take(10_000) {
        gaps.note(Gap {
            kind: GapKind::Missing,
            rank: Some(Rank(rank)),
            detail: format!("rank {rank} left no record"),
            count: 0,
        });
    }
}

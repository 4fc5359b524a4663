//! Reports with known truth: a halo exchange with a small solver inside each step, played by a
//! fixed clock.
//!
//! Owns made-up runs for tests, screenshots and examples. Nothing here was measured. Class A is the
//! inside of the grid, B its ends (one neighbour), C the ranks that write results.

#![allow(
    clippy::unwrap_used,
    clippy::assigning_clones,
    clippy::too_many_lines,
    missing_docs,
    unreachable_pub,
    dead_code
)]

mod course;
mod fill;
pub mod irregular;
pub mod network;
mod play;
mod shape;

use talea_model::{Bytes, Gap, GapKind, Gaps, Nanos, Rank};
use talea_report::data::{
    Category, Finding, RankClass, ReportData, RunInfo, SiteRow, Target, TreeKind, TreeNode,
};

use play::{SITES, play};

pub const STEPS: u64 = 60;
pub const INNER: u64 = 6;
/// The loop over time steps of class A; of the others 10 and 20 more.
pub const MAIN_LOOP: u32 = 1;
/// The solver's loop inside it.
pub const INNER_LOOP: u32 = 2;

/// Four ranks on one node, all alike but rank 3, which is 12 % slower.
pub fn halo() -> ReportData {
    fill::report(&play(4, None), "./halo -n 4096 -steps 60")
}

/// The halo run with the network between its nodes.
pub fn networked() -> ReportData {
    let mut report = halo();
    network::gemini([4, 4, 8], 2, &mut |_, network| {
        report.network = Some(talea_report::network::data(network));
    });
    report
}

/// 512 ranks in three classes.
pub fn large() -> ReportData {
    fill::report(&play(512, None), "./halo -n 65536 -steps 60 -out result.h5")
}

/// Rank 2 is killed in step 41.
pub fn broken() -> ReportData {
    let mut report = fill::report(&play(4, Some((2, 41))), "./halo -n 4096 -steps 60");
    let at = report.ranks[2].wall;
    report.run.exit = "signal 9 on rank 2".to_owned();
    report.run.ok = false;
    report.gaps.note(Gap {
        kind: GapKind::EndedEarly,
        rank: Some(Rank(2)),
        detail: format!("rank 2 ended by signal 9 after {at}; its last 3 ms are missing"),
        count: 0,
    });
    report.gaps.note(Gap {
        kind: GapKind::Unresolved,
        rank: None,
        detail: "no line tables in libhalo.so; 3 call sites are shown as addresses".to_owned(),
        count: 3,
    });
    report.findings.insert(
        0,
        Finding {
            text: format!("Rank 2 was ended by signal 9 after {at}, in step 41 of the loop at `halo.c:120`; the other ranks waited for it in `MPI_Waitall`."),
            target: Target::Rank { rank: Rank(2) },
        },
    );
    report
}

/// A program that never called MPI.
pub fn empty() -> ReportData {
    let root = TreeNode { time: Nanos(1_200_000_000), ..fill::tree_node(1, TreeKind::Root, "run") };
    ReportData {
        run: RunInfo {
            command: "hostname".to_owned(),
            ranks: 2,
            wall: Nanos(1_200_000_000),
            ..fill::run("hostname")
        },
        gaps: {
            let mut gaps = Gaps::default();
            gaps.note(Gap {
                kind: GapKind::Missing,
                rank: None,
                detail: "no rank called MPI_Init, so there is nothing between start and end"
                    .to_owned(),
                count: 0,
            });
            gaps
        },
        classes: vec![RankClass {
            id: 0,
            name: "A".to_owned(),
            ranks: "0-1".to_owned(),
            locations: "0-1".to_owned(),
            count: 2,
            representative: Rank(0),
            thread: 0,
            tree: root,
            graph: talea_report::GraphData::default(),
        }],
        ranks: (0..2).map(|rank| fill::rank_row(rank, 0, 1_200_000_000)).collect(),
        ..ReportData::default()
    }
}

/// The halo run with text that tries to leave its place.
pub fn hostile() -> ReportData {
    let attack = "</script><img src=x onerror=\"window.broken=1\"><!--<script>";
    let mut report = halo();
    report.run.command = format!("./a.out '{attack}'");
    report.run.hosts = vec![attack.to_owned()];
    report.sites[9].procedure = attack.to_owned();
    report.sites[9].function = "x".repeat(1 << 20);
    report.sites[9].path = vec![attack.to_owned(), "f".repeat(1 << 20)];
    report.sites[10].function = "\u{202e}gnp\u{61c}\u{200b}.exe \u{5d0}\u{5d1}\u{5d2}".to_owned();
    report.sites[10].file = attack.to_owned();
    fill::groups(&mut report);
    report.findings[0].text = format!("{attack} `{attack}` 99 %");
    report.findings[1].text = "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{202e}abc".to_owned();
    report.classes[0].name = attack.to_owned();
    report.classes[0].graph.nodes[3].label = attack.to_owned();
    report.classes[0].graph.nodes[4].label = "\u{202e}\u{61c}\u{ad}".repeat(2000);
    report.classes[0].graph.loops[0].label = attack.to_owned();
    report.classes[0].tree.children[0].label = attack.to_owned();
    report.ranks[1].host = attack.to_owned();
    report.ranks[1].end = attack.to_owned();
    for timeline in &mut report.timelines {
        for text in &mut timeline.args {
            *text = attack.to_owned();
        }
    }
    report.gaps.note(Gap {
        kind: GapKind::Damaged,
        rank: None,
        detail: attack.to_owned(),
        count: 1,
    });
    report
}

/// The halo run with a last rank that makes no calls.
pub fn silent() -> ReportData {
    let mut report = halo();
    for site in &mut report.sites {
        let (time, count) = (site.rank_times[3], site.rank_counts[3]);
        (site.rank_times[3], site.rank_counts[3]) = (Nanos(0), 0);
        (site.time, site.count) = (site.time - time, site.count - count);
    }
    fill::groups(&mut report);
    report
}

/// The halo run of which 40 ranks left gaps.
pub fn crowded() -> ReportData {
    let mut report = halo();
    for rank in 0..40 {
        report.gaps.note(Gap {
            kind: GapKind::EndedEarly,
            rank: Some(Rank(rank)),
            detail: format!("rank {rank} ended without MPI_Finalize"),
            count: 0,
        });
    }
    report
}

/// A report that nobody filled.
pub fn nothing() -> ReportData {
    ReportData::default()
}

type Make = fn() -> ReportData;

pub const ALL: [(&str, Make); 9] = [
    ("halo", halo),
    ("large", large),
    ("broken", broken),
    ("empty", empty),
    ("nothing", nothing),
    ("hostile", hostile),
    ("silent", silent),
    ("crowded", crowded),
    ("networked", networked),
];

pub(crate) fn category(site: usize) -> Category {
    SITES[site].category
}

pub(crate) fn blank_site(id: usize) -> SiteRow {
    let site = &SITES[id];
    SiteRow {
        id: id as u32,
        procedure: site.procedure.to_owned(),
        category: site.category,
        function: site.function.to_owned(),
        file: format!("/home/user/halo/src/{}", site.file),
        line: site.line,
        address: format!("halo+0x{:x}", 0x1200 + id * 0x44),
        place: format!("{}:{}", site.file, site.line),
        path: vec![
            format!("{} {}:{}", site.function, site.file, site.line),
            "step halo.c:120".to_owned(),
            "main halo.c:201".to_owned(),
        ],
        count: 0,
        time: Nanos(0),
        share: 0.0,
        bytes: site.bytes.map(|_| Bytes(0)),
        min: Nanos(u64::MAX),
        median: Nanos(0),
        max: Nanos(0),
        imbalance: 1.0,
        rank_min: Rank(0),
        rank_max: Rank(0),
        rank_times: Vec::new(),
        rank_counts: Vec::new(),
    }
}

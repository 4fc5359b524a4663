//! From played calls to a report, in the plainest way that can be right.

use talea_model::{Bytes, Gaps, Nanos, Rank};
use talea_report::data::{
    Finding, HostData, Picture, PlaceRow, RankClass, RankRow, ReportData, RunInfo, SiteGroup,
    SiteRow, Study, StudyColumn, StudyKind, Target, TreeKind, TreeNode,
};

use super::course::{matrix, series, slow, typical, whole};
use super::play::{Call, Played, SITES};
use super::shape::{graph, tree};
use super::{INNER_LOOP, MAIN_LOOP, blank_site};

pub(crate) fn run(command: &str) -> RunInfo {
    RunInfo {
        command: command.to_owned(),
        hosts: vec!["node01".to_owned()],
        ranks: 4,
        started: "2026-11-20T09:12:44+01:00".to_owned(),
        mpi: "Open MPI 5.0.8".to_owned(),
        talea: "0.1.0".to_owned(),
        times_mode: "bounded".to_owned(),
        times_bound: "at most 1 µs or 1 %".to_owned(),
        times_resolution: Nanos(1000),
        exit: "exit code 0".to_owned(),
        ok: true,
        ..RunInfo::default()
    }
}

pub(crate) fn tree_node(id: u32, kind: TreeKind, label: &str) -> TreeNode {
    TreeNode {
        id,
        kind,
        loop_id: None,
        label: label.to_owned(),
        count: None,
        range: String::new(),
        iterations: None,
        guard: String::new(),
        time: Nanos(0),
        share: 0.0,
        mpi_share: 0.0,
        events: 0,
        site: None,
        children: Vec::new(),
    }
}

pub(crate) fn rank_row(rank: u32, class: u32, wall: u64) -> RankRow {
    RankRow {
        rank: Rank(rank),
        host: format!("node{:02}", rank / 64 + 1),
        class,
        wall: Nanos(wall),
        mpi: Nanos(0),
        compute: Nanos(wall),
        bytes: Bytes(0),
        events: 0,
        end: "finished".to_owned(),
        ok: true,
        threads: Vec::new(),
    }
}

pub(crate) fn report(played: &Played, command: &str) -> ReportData {
    let ranks = played.calls.len() as u32;
    let end = |calls: &[Call]| calls.last().map_or(0, |call| call.begin + call.duration);
    let wall = played.calls.iter().map(|calls| end(calls)).max().unwrap_or(0);
    let mut report = ReportData { run: run(command), ..ReportData::default() };
    report.run.ranks = ranks;
    report.run.wall = Nanos(wall);
    report.run.hosts = (0..ranks.div_ceil(64)).map(|node| format!("node{:02}", node + 1)).collect();
    report.hosts =
        report.run.hosts.iter().zip(0..).map(|(name, at)| host(name, at, ranks)).collect();
    report.gaps = Gaps::default();
    report.sites = sites(played, wall * u64::from(ranks));
    groups(&mut report);
    report.ranks = (0..ranks).map(|rank| rank_figures(played, rank, end)).collect();
    let count = *played.class.iter().max().unwrap() + 1;
    for id in 0..count {
        let members: Vec<u32> =
            (0..ranks).filter(|&rank| played.class[rank as usize] == id).collect();
        let first =
            *members.iter().find(|&&rank| Some(rank) != played.killed.map(|one| one.0)).unwrap();
        let calls = &played.calls[first as usize];
        report.classes.push(RankClass {
            id,
            name: ["A", "B", "C"][id as usize].to_owned(),
            ranks: ranges(&members),
            locations: ranges(&members),
            count: members.len() as u32,
            representative: Rank(first),
            thread: 0,
            tree: tree(id, calls),
            graph: graph(id, calls),
        });
        report.iterations.push(series(played, id * 10 + MAIN_LOOP, Some(id), &members));
    }
    report.timelines.push(typical(played));
    report.timelines.push(if ranks <= 8 { whole(played) } else { slow(played) });
    report.matrices = vec![matrix(played)];
    report.findings = findings(&report);
    report.studies = vec![
        inside("Loop halo.c:120", Some(MAIN_LOOP)),
        inside("Loop cg.c:40", Some(INNER_LOOP)),
        inside("Phase relax", None),
    ];
    report
}

/// What samples say of a loop or a phase.
fn inside(title: &str, loop_id: Option<u32>) -> Study {
    let column =
        |(head, unit): (&str, &str)| StudyColumn { head: head.to_owned(), unit: unit.to_owned() };
    Study {
        kind: StudyKind::Inside,
        loop_id,
        title: title.to_owned(),
        note: "37 of 40 executions folded, 30.1 ms each".to_owned(),
        findings: vec!["instructions: 2.1 G/s on average, a drop of 800 M/s at 61 %.".to_owned()],
        pictures: vec![Picture {
            caption: "rates over the iteration".to_owned(),
            svg: "<svg class=\"plot\"></svg>".to_owned(),
        }],
        columns: [("counter", ""), ("samples", ""), ("error held out", "%")].map(column).into(),
        rows: vec![
            vec!["instructions".to_owned().into(), 2480.0.into(), 0.012.into()],
            vec!["L1 misses".to_owned().into(), 2480.0.into(), None.into()],
        ],
        gaps: vec!["3 instances with durations far from the others are not folded".to_owned()],
    }
}

/// 64 ranks a node, each on a core of its own.
fn host(name: &str, node: u32, ranks: u32) -> HostData {
    let row = |rank: u32| PlaceRow {
        rank: Rank(rank),
        pid: 4000 + rank,
        allowed: format!("{0},{1}", rank % 64, rank % 64 + 64),
        inside: format!("Core {}", rank % 64),
        last: (rank % 64).to_string(),
        threads: 3,
        working: 1,
    };
    HostData {
        name: name.to_owned(),
        machine: "2 packages, 8 NUMA nodes, 64 cores, 128 PUs, EPYC 7543".to_owned(),
        pus: "0-127".to_owned(),
        notes: if node == 0 { vec!["ranks 0-1 share PU 3".to_owned()] } else { Vec::new() },
        gaps: Vec::new(),
        ranks: (node * 64..ranks.min(node * 64 + 64)).map(row).collect(),
        picture: (node == 0).then(|| "<svg class=\"topo\"></svg>".to_owned()),
    }
}

fn findings(report: &ReportData) -> Vec<Finding> {
    let main = &report.classes[0].tree.children[2];
    let wait = &report.sites[9];
    let finding = |text: String, target| Finding { text, target };
    vec![
        finding(
            format!(
                "{:.1} % of the time is one loop of {} steps, `halo.c:120`; {:.0} % of it is in MPI.",
                main.share * 100.0,
                main.count.unwrap_or(0),
                main.mpi_share * 100.0
            ),
            Target::Loop { id: MAIN_LOOP },
        ),
        finding(
            "A step takes 30.1 ms; every 20th takes 41.2 ms, and step 37 took 63.1 ms because rank 2 was late.".to_owned(),
            Target::Iteration { id: MAIN_LOOP, iteration: 37 },
        ),
        finding(
            format!(
                "{:.0} % of all time waits in `MPI_Waitall` at `halo.c:97`.",
                wait.share * 100.0
            ),
            Target::Site { id: 9 },
        ),
        finding(
            "Rank 3 computes 12 % longer than the rest; the others wait for it.".to_owned(),
            Target::Rank { rank: Rank(3) }
        ),
        finding(
            "Each rank sends only to its neighbours, 131 kB a step.".to_owned(),
            Target::Matrix
        ),
    ]
}

fn ranges(ranks: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match parts.last_mut() {
            Some(last) if last.1 + 1 == rank => last.1 = rank,
            _ => parts.push((rank, rank)),
        }
    }
    let text = |&(a, b): &(u32, u32)| {
        if a == b { a.to_string() } else { format!("{a}-{b}") }
    };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

fn sites(played: &Played, all: u64) -> Vec<SiteRow> {
    let mut out = Vec::new();
    for (id, site) in SITES.iter().enumerate() {
        let mut row = blank_site(id);
        let mut durations = Vec::new();
        for calls in &played.calls {
            let own = calls.iter().filter(|call| call.site == id).map(|call| call.duration);
            let before = durations.len();
            durations.extend(own);
            row.rank_times.push(Nanos(durations[before..].iter().sum()));
            row.rank_counts.push((durations.len() - before) as u64);
        }
        durations.sort_unstable();
        row.count = durations.len() as u64;
        row.time = row.rank_times.iter().copied().sum();
        row.share = row.time.0 as f64 / all as f64;
        row.bytes = site.bytes.map(|bytes| Bytes(bytes * row.count));
        row.min = Nanos(durations.first().copied().unwrap_or(0));
        row.max = Nanos(durations.last().copied().unwrap_or(0));
        row.median = Nanos(durations.get(durations.len() / 2).copied().unwrap_or(0));
        let callers = row.rank_counts.iter().filter(|&&count| count > 0).count().max(1);
        let with =
            || row.rank_times.iter().enumerate().filter(|(rank, _)| row.rank_counts[*rank] > 0);
        if let (Some(most), Some(least)) =
            (with().max_by_key(|one| one.1), with().min_by_key(|one| one.1))
        {
            row.imbalance = most.1.0 as f64 * callers as f64 / row.time.0.max(1) as f64;
            (row.rank_max, row.rank_min) = (Rank(most.0 as u32), Rank(least.0 as u32));
        }
        out.push(row);
    }
    out
}

/// Sums the sites of a report by line and by routine.
pub(crate) fn groups(report: &mut ReportData) {
    report.lines = report.sites.iter().map(|site| group(&[site])).collect();
    report.lines.sort_by_key(|line| std::cmp::Reverse(line.time));
    report.routines.clear();
    for function in report.sites.iter().map(|site| site.function.clone()) {
        if report.routines.iter().all(|routine| routine.function != function) {
            let own: Vec<&SiteRow> =
                report.sites.iter().filter(|site| site.function == function).collect();
            report.routines.push(SiteGroup { label: function, line: 0, ..group(&own) });
        }
    }
}

/// Sites as one row; medians and extremes of ranks are those of the site with most time.
fn group(sites: &[&SiteRow]) -> SiteGroup {
    let mut sites = sites.to_vec();
    sites.sort_by_key(|site| std::cmp::Reverse(site.time));
    let first = sites[0];
    let mut procedures: Vec<String> = sites.iter().map(|site| site.procedure.clone()).collect();
    procedures.dedup();
    SiteGroup {
        procedures,
        category: first.category,
        function: first.function.clone(),
        file: first.file.clone(),
        line: first.line,
        label: format!("{} {}:{}", first.procedure, first.file, first.line),
        sites: sites.iter().map(|site| site.id).collect(),
        paths: sites.len() as u64,
        count: sites.iter().map(|site| site.count).sum(),
        time: sites.iter().map(|site| site.time).sum(),
        share: sites.iter().map(|site| site.share).sum(),
        bytes: sites.iter().filter_map(|site| site.bytes).reduce(|a, b| a + b),
        min: sites.iter().map(|site| site.min).min().unwrap_or_default(),
        median: first.median,
        max: sites.iter().map(|site| site.max).max().unwrap_or_default(),
        imbalance: first.imbalance,
        rank_min: first.rank_min,
        rank_max: first.rank_max,
    }
}

fn rank_figures(played: &Played, rank: u32, end: impl Fn(&[Call]) -> u64) -> RankRow {
    let calls = &played.calls[rank as usize];
    let mut row = rank_row(rank, played.class[rank as usize], end(calls));
    row.mpi = calls.iter().map(|call| Nanos(call.duration)).sum();
    row.compute = row.wall - row.mpi;
    row.events = calls.len() as u64;
    row.bytes = calls.iter().filter_map(|call| SITES[call.site].bytes).map(Bytes).sum();
    if let Some((killed, _)) = played.killed {
        row.ok = false;
        row.end = if killed == rank {
            format!("signal 9 after {}", row.wall)
        } else {
            "ended by mpirun (signal 15)".to_owned()
        };
    }
    row
}

//! Whole screens as text, and keys.

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_results::watch::{
    ClusterNow, ClustersNow, IterationGroup, LoopNow, OpenCall, RankNow, RankState, SiteNow,
    WatchData,
};

use super::draw;
use super::*;

fn data(ranks: u32) -> WatchData {
    let group = |at: u64| IterationGroup {
        begin_ns: Nanos(at * 40_000_000),
        count: 4,
        mean_ns: Nanos(9_000_000 + at % 3 * 1_000_000),
        min_ns: Nanos(8_000_000),
        max_ns: Nanos(if at == 20 { 30_000_000 } else { 12_000_000 }),
    };
    let rank = |number: u32| RankNow {
        rank: Some(number),
        world: usize::from(number == 5),
        host: "n1".to_owned(),
        state: if number == 3 { RankState::Killed } else { RankState::Running },
        events: 5000,
        iterations: Some(120),
        mpi_share: 0.2,
        recent_mpi_share: f64::from(number) / 8.0,
        inside: (number != 1).then(|| OpenCall {
            site: "MPI_Waitall halo.c:120".to_owned(),
            since_ns: Nanos(1_200_000),
        }),
    };
    let site = |site: &str, share| SiteNow {
        site: site.to_owned(),
        calls: 480,
        time_ns: Nanos(700_000_000),
        share,
        recent_share: share / 2.0,
    };
    let cluster = |id: u32, share: f64| ClusterNow {
        id,
        share,
        recent_share: share / 2.0,
        bursts: 480,
        mean_ns: Nanos(2_310_000),
        min_ns: Nanos(2_000_000),
        max_ns: Nanos(3_000_000),
        threads: 4,
        after: "MPI_Waitall halo.c:120".to_owned(),
        before: "MPI_Allreduce \u{1b}[31m".to_owned(),
    };
    WatchData {
        look: 5,
        running: true,
        time_ns: Nanos(5_000_000_000),
        interval_ns: Nanos(1_000_000_000),
        took_ns: Nanos(3_000_000),
        events: 20_000,
        new_events: 4_000,
        left_events: 0,
        nodes: 62,
        edges: 88,
        change: Some(0.001),
        steady_since_ns: Some(Nanos(1_000_000_000)),
        mpi_share: 0.25,
        recent_mpi_share: 0.125,
        main_loop: Some(LoopNow {
            place: "halo.c:98-130".to_owned(),
            counted_by: "MPI_Waitall halo.c:120".to_owned(),
            rank: 0,
            iterations: 121,
            min_iterations: 120,
            max_iterations: 121,
            share: 0.983,
            mean_ns: Nanos(10_000_000),
            variation: 0.04,
            history: (0..30).map(group).collect(),
        }),
        clusters: Some(ClustersNow {
            at_ns: Nanos(5_000_000_000),
            bursts: 960,
            time_ns: Nanos(2_000_000_000),
            by_calls: false,
            short_share: 0.01,
            noise_share: 0.0,
            others_share: 0.0,
            stable_since_ns: Some(Nanos(2_000_000_000)),
            lowered: 0,
            clusters: vec![cluster(1, 0.9), cluster(3, 0.08)],
        }),
        sites: vec![
            site("MPI_Waitall halo.c:120", 0.2),
            site("MPI_Allreduce \u{1b}[31m/long/path/solver.f90:1042 < main.f90:77", 0.05),
        ],
        ranks: (0..ranks).map(rank).collect(),
        other_ranks: 0,
        gaps: Gaps::default(),
    }
}

fn text(data: &WatchData, state: &State, (width, height): (u16, u16)) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    draw::screen(&mut buffer, "talea-halo", data, state, Colours::None);
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
}

#[test]
fn screens() {
    let state = State::default();
    insta::assert_snapshot!("wide", text(&data(4), &state, (100, 24)));
    insta::assert_snapshot!("narrow", text(&data(6), &state, (60, 24)));
    let mut damaged = data(1);
    damaged.main_loop = None;
    damaged.clusters = None;
    damaged.sites.clear();
    damaged.left_events = 1234;
    damaged.steady_since_ns = None;
    damaged.running = false;
    let detail = "times of single calls are not kept: no iterations".to_owned();
    damaged.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
    insta::assert_snapshot!("without", text(&damaged, &state, (80, 16)));
    let help = State { help: true, ..State::default() };
    let clusters = State { clusters: true, ..State::default() };
    insta::assert_snapshot!("clusters", text(&data(2), &clusters, (80, 20)));
    insta::assert_snapshot!("help", text(&data(1), &help, (100, 24)));
}

#[test]
fn any_size_is_drawn() {
    for width in (1..140).step_by(3) {
        for height in 1..40 {
            for clusters in [false, true] {
                let state = State { clusters, ..State::default() };
                let screen = text(&data(7), &state, (width, height));
                assert!(!screen.contains('\u{1b}'));
            }
        }
    }
}

#[test]
fn keys_change_the_view() {
    let mut state = State::default();
    let mut press = |code| state.press(KeyEvent::new(code, KeyModifiers::NONE), 4);
    assert_eq!(press(KeyCode::Char('q')), Action::Leave);
    assert_eq!(press(KeyCode::Char('x')), Action::Nothing);
    for code in
        [KeyCode::Char('s'), KeyCode::PageDown, KeyCode::Up, KeyCode::Char(' '), KeyCode::Char('c')]
    {
        assert_eq!(press(code), Action::Draw);
    }
    assert_eq!((state.first, state.by_mpi, state.paused, state.clusters), (2, true, true, true));
    let data = data(4);
    let order: Vec<_> = state.sorted(&data.ranks).iter().map(|rank| rank.rank.unwrap()).collect();
    assert_eq!(order, [3, 2, 1, 0]);
}

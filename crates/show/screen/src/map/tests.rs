//! Whole screens as text, sequences of keys, and two tests for manual inspection.

use std::fmt::Write as _;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use talea_model::{Gap, GapKind, Nanos};
use talea_topology::phases::{Course, Phases};

use super::draw;
use super::feed::Feed;
use super::history::Replay;
use super::simulated::{Live, node, recording};
use super::state::{Moment, State};
use crate::colour::Colours;
use crate::terminal::Action;

fn cells(feed: &dyn Feed, state: &State, size: (u16, u16), colours: Colours) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| draw::screen(frame.buffer_mut(), feed, state, colours)).unwrap();
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let row: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

fn shown(feed: &dyn Feed, state: &State, size: (u16, u16)) -> String {
    text(&cells(feed, state, size, Colours::Many))
}

/// Presses keys: characters, and `<` `>` `^` `_` for arrows, `{` `}` for scrubbing far, `$` for
/// End, `@` for Tab.
fn press(state: &mut State, feed: &dyn Feed, keys: &str) -> Action {
    let mut last = Action::Nothing;
    for key in keys.chars() {
        let (code, modifiers) = match key {
            '<' => (KeyCode::Left, KeyModifiers::NONE),
            '>' => (KeyCode::Right, KeyModifiers::NONE),
            '{' => (KeyCode::Left, KeyModifiers::SHIFT),
            '}' => (KeyCode::Right, KeyModifiers::SHIFT),
            '^' => (KeyCode::Up, KeyModifiers::NONE),
            '_' => (KeyCode::Down, KeyModifiers::NONE),
            '$' => (KeyCode::End, KeyModifiers::NONE),
            '@' => (KeyCode::Tab, KeyModifiers::NONE),
            '#' => (KeyCode::PageDown, KeyModifiers::NONE),
            key => (KeyCode::Char(key), KeyModifiers::NONE),
        };
        last = state.press(KeyEvent::new(code, modifiers), feed);
    }
    last
}

fn laptop() -> Replay {
    recording(node(1, 1, 1, 4, 1), 130)
}

fn large() -> Replay {
    recording(node(2, 1, 12, 8, 2), 130)
}

fn at(feed: &dyn Feed, keys: &str) -> State {
    let mut state = State::new(feed);
    press(&mut state, feed, keys);
    state
}

#[test]
fn four_pus_are_rows() {
    let feed = laptop();
    insta::assert_snapshot!(shown(&feed, &at(&feed, "$__"), (100, 30)));
}

/// Two seconds of set-up, 40 iterations of 200 ms, three of them slow, wrap-up; the recording began
/// a second before.
fn with_run(mut feed: Replay) -> Replay {
    const MS: i64 = 1_000_000;
    let slow = [7, 8, 30];
    let mut now = 3000 * MS;
    let iterations = (0..40).map(|at| {
        let time = if slow.contains(&at) { 500 * MS } else { 200 * MS };
        now += time;
        (now - time, Nanos(time as u64))
    });
    let course = Course {
        of: "rank 0 of `halo`".into(),
        place: "halo.c:285-299".into(),
        begin: 1000 * MS,
        iterations: iterations.collect(),
        end: 12_300 * MS,
        slow: slow.to_vec(),
        median: Nanos(200_000_000),
    };
    feed.run = Phases::within(&course, Nanos(0), Nanos(13_000_000_000));
    feed
}

/// The two rows of the ruler.
fn ruler(feed: &dyn Feed, state: &State, colours: Colours) -> String {
    let all = text(&cells(feed, state, (100, 30), colours));
    all.lines().skip(27).take(2).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_ruler_has_the_phases_of_a_run() {
    let feed = with_run(laptop());
    let mut state = at(&feed, "");
    let mut all = ruler(&feed, &state, Colours::Many);
    for keys in ["}}", "}}", "}}", "}}}", "$"] {
        press(&mut state, &feed, keys);
        all.push('\n');
        all.push_str(&ruler(&feed, &state, Colours::None));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn many_pus_fit_on_one_screen() {
    let feed = large();
    insta::assert_snapshot!(shown(&feed, &at(&feed, "$###"), (100, 30)));
}

#[test]
fn many_pus_fit_on_a_small_screen() {
    let feed = large();
    insta::assert_snapshot!(shown(&feed, &at(&feed, "$"), (80, 24)));
}

#[test]
fn a_large_screen_has_figures_in_its_cells() {
    let feed = recording(node(2, 2, 2, 8, 2), 60);
    insta::assert_snapshot!(shown(&feed, &at(&feed, "$"), (200, 60)));
}

#[test]
fn a_terminal_that_is_too_small_says_so() {
    let feed = laptop();
    insta::assert_snapshot!(shown(&feed, &at(&feed, ""), (50, 12)), @r"
    talea topo: the terminal is too small
    it has 50 x 12, this view needs 60 x 16
    q leaves
    ");
}

#[test]
fn without_colour_blocks_say_it() {
    let feed = large();
    let state = at(&feed, "$x{d");
    let cells = cells(&feed, &at(&feed, "$"), (100, 30), Colours::None);
    let coloured = |buffer: &Buffer| {
        buffer.content().iter().filter(|c| c.fg != Color::Reset || c.bg != Color::Reset).count()
    };
    assert_eq!(coloured(&cells), 0);
    insta::assert_snapshot!(text(&cells));
    assert_eq!(coloured(&super::tests::cells(&feed, &state, (100, 30), Colours::None)), 0);
}

#[test]
fn a_live_view_is_paused_and_scrubbed_while_recording_goes_on() {
    let mut feed = Live::new(node(1, 1, 2, 4, 2), 100);
    let mut state = at(&feed, "{<<x}");
    assert_eq!(state.moment, Moment::At(97));
    (0..20).for_each(|_| feed.step());
    state.take(&feed);
    state.note = None;
    insta::assert_snapshot!(shown(&feed, &state, (100, 28)));
    press(&mut state, &feed, " ");
    assert_eq!(state.moment, Moment::Newest);
    assert_eq!(state.number(&feed), Some(119));
}

#[test]
fn differences_diverge() {
    let feed = laptop();
    let few = at(&feed, "$x{{d");
    insta::assert_snapshot!("difference_few", shown(&feed, &few, (100, 24)));
    let feed = large();
    let many = at(&feed, "$x{{d");
    insta::assert_snapshot!("difference_many", shown(&feed, &many, (100, 30)));
}

#[test]
fn absent_values_and_gaps_are_seen() {
    let mut feed = recording(node(1, 1, 4, 8, 2), 20);
    for frame in &mut feed.frames {
        frame.values[0][5..9].fill(f64::NAN);
        frame.values[0].truncate(60);
    }
    for (detail, kind) in [
        ("PU 5 to 8 went offline after 1.2 s", GapKind::Missing),
        ("values of 12 frames are scaled", GapKind::Estimated),
    ] {
        feed.gaps.note(Gap { kind, rank: None, detail: detail.to_owned(), count: 0 });
    }
    let mut state = at(&feed, "$");
    state.selected = 6;
    insta::assert_snapshot!(shown(&feed, &state, (100, 28)));
}

#[test]
fn nothing_yet_is_said() {
    let feed = Live::new(node(1, 1, 1, 4, 1), 0);
    let state = State::new(&feed);
    assert!(shown(&feed, &state, (80, 24)).contains("waiting for the first values"));
    let mut feed = laptop();
    feed.monitors.clear();
    assert!(shown(&feed, &State::new(&feed), (80, 24)).contains("no monitor is defined"));
}

#[test]
fn help_names_every_key() {
    let feed = laptop();
    insta::assert_snapshot!(shown(&feed, &at(&feed, "?"), (100, 30)));
    assert!(!at(&feed, "??").help);
}

#[test]
fn threads_are_counted_on_cells() {
    let feed = recording(node(1, 1, 4, 8, 2), 20);
    insta::assert_snapshot!(shown(&feed, &at(&feed, "$p"), (100, 24)));
}

#[test]
fn names_from_outside_cannot_command_the_terminal() {
    let mut feed = laptop();
    feed.title = "\x1b[2Jhost\u{7}".to_owned();
    feed.monitors[0].name = "a\x1b]0;\u{202e}\u{200b}\u{61c}b".to_owned();
    let buffer = cells(&feed, &at(&feed, "$"), (100, 30), Colours::Many);
    let hidden = talea_model::text::is_hidden;
    assert!(buffer.content().iter().all(|cell| !cell.symbol().contains(hidden)));
}

#[test]
fn keys_lead_through_the_view() {
    let feed = laptop();
    let mut state = at(&feed, "");
    assert_eq!(press(&mut state, &feed, "q"), Action::Leave);
    assert_eq!(press(&mut state, &feed, "~"), Action::Nothing);
    assert!(state.playing);
    press(&mut state, &feed, " ");
    assert!(!state.playing);
    let mut check = |keys: &str, expected: (u64, usize, usize)| {
        press(&mut state, &feed, keys);
        assert_eq!(
            (state.number(&feed), state.selected, state.monitor),
            (Some(expected.0), expected.1, expected.2),
            "{keys}"
        );
    };
    check("<", (0, 0, 0));
    check(">>", (2, 0, 0));
    check("}", (12, 0, 0));
    check("$>", (129, 0, 0));
    check("{<", (118, 0, 0));
    check("^", (118, 0, 0));
    check("_____", (118, 3, 0));
    check("2", (118, 3, 4));
    check("@", (118, 0, 5));
    check("@", (118, 0, 0));
    check("vv", (118, 0, 2));
    check("V9", (118, 0, 1));
    assert_eq!(state.note, Some("there are not that many monitors"));
    press(&mut state, &feed, "d");
    assert!(!state.difference && state.note.is_some());
}

#[test]
fn a_recording_plays_at_its_speed() {
    let feed = laptop();
    let mut state = at(&feed, "");
    let wait = state.advance(Duration::from_millis(250), &feed);
    assert_eq!((state.number(&feed), wait), (Some(2), Some(Duration::from_millis(50))));
    press(&mut state, &feed, "+++");
    state.advance(Duration::from_millis(100), &feed);
    assert_eq!(state.number(&feed), Some(10));
    press(&mut state, &feed, "----");
    state.advance(Duration::from_millis(200), &feed);
    assert_eq!(state.number(&feed), Some(11));
    assert_eq!(state.advance(Duration::from_secs(99), &feed), None);
    assert_eq!((state.number(&feed), state.playing), (Some(129), false));
    press(&mut state, &feed, " ");
    assert_eq!((state.number(&feed), state.playing), (Some(0), true));
}

#[test]
fn values_do_not_move_columns() {
    let feed = laptop();
    // The columns of everything except digits, blocks and signs stay from frame to frame.
    let frame = |number: u64| {
        let mut state = at(&feed, " ");
        state.moment = Moment::At(number);
        let text = shown(&feed, &state, (100, 30));
        let unit: Vec<usize> = text
            .lines()
            .skip(5)
            .take(4)
            .filter_map(|l| {
                let end = l.find("/s")?;
                Some(l[..end].chars().count())
            })
            .collect();
        unit
    };
    let first = frame(3);
    assert_eq!(first.len(), 4);
    assert!((4..130).all(|number| frame(number) == first));
}

#[test]
fn every_size_is_drawn() {
    let mut feed = large();
    feed.frames[60].at = Nanos(u64::MAX);
    for (width, height) in [(1, 1), (59, 15), (60, 16), (61, 40), (99, 17), (300, 100), (500, 20)] {
        for keys in ["", "$", "2", "3", "vvv", "?", "xd", "p", "l", "$la"] {
            let state = at(&feed, keys);
            cells(&feed, &state, (width, height), Colours::Many);
        }
    }
}

/// Draws the machine of a file of hwloc's; the text of one size.
fn draw_machine(name: &str, bytes: &[u8]) -> (usize, String) {
    let loaded = talea_topology::xml::read(bytes).unwrap();
    let feed = recording(loaded.topology, 3);
    let state = at(&feed, "$");
    let pus = feed.topology.pus().len();
    assert_eq!(state.groups.blocks().map(|block| block.cells.len()).sum::<usize>(), pus);
    let text = shown(&feed, &state, (100, 30));
    // Nothing is out of sight except on the largest machines.
    assert!(!text.contains("rows  ↓") || pus > 384, "{name}\n{text}");
    let wanted = std::env::var("TALEA_SHOW").ok();
    if wanted.is_some_and(|wanted| name.contains(&wanted)) {
        println!("{name}\n{text}");
    }
    for size in [(60, 16), (80, 24), (200, 60)] {
        cells(&feed, &state, size, Colours::Many);
    }
    (pus, text)
}

/// Real machines, from other people's hwloc; the folder is beside the project.
#[test]
fn real_machines_have_a_cell_for_every_pu() {
    let Some(folder) = talea_testing::data("hwloc") else { return };
    let mut seen = 0;
    for version in ["v1", "v2", "v3"] {
        for entry in std::fs::read_dir(folder.join(version)).unwrap() {
            let path = entry.unwrap().path();
            draw_machine(&path.display().to_string(), &std::fs::read(&path).unwrap());
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn generated_machines_have_a_cell_for_every_pu() {
    for machine in talea_testing::hwloc::MACHINES {
        for version in 1..=3 {
            let (pus, text) = draw_machine(machine.name, machine.xml(version).as_bytes());
            assert_eq!(pus, machine.pus(), "{}", machine.name);
            assert!(text.contains("node01"), "{text}");
        }
    }
}

/// For manual inspection: run it in a terminal with `--ignored --nocapture`. `TALEA_SHAPE` is
/// `packages,numa,l3,cores,pus`, `TALEA_PLAY` plays a recording instead of a live view,
/// `TALEA_PANIC` breaks it after a while.
#[test]
#[ignore = "needs a terminal and a person"]
fn look_at_it() {
    let shape = std::env::var("TALEA_SHAPE").unwrap_or_else(|_| "2,1,12,8,2".to_owned());
    let n: Vec<usize> = shape.split(',').map(|part| part.parse().unwrap()).collect();
    let topology = node(n[0], n[1], n[2], n[3], n[4]);
    let options = super::Options { speed: 0, colours: Colours::from_environment() };
    let end = if std::env::var_os("TALEA_PLAY").is_some() {
        super::watch(&mut recording(topology, 600), options)
    } else {
        super::watch(&mut Live::new(topology, 0).start(), options)
    };
    let mut out = std::io::stdout();
    std::io::Write::write_fmt(&mut out, format_args!("left: {end:?}\n")).unwrap();
}

/// Processor time of this process, in steps of 10 ms: other load does not count.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    Duration::from_millis(
        10 * fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum::<u64>(),
    )
}

/// Prints the cost of drawing 256 PUs: `cargo test --release -p talea -- --ignored --nocapture
/// drawing_costs`.
#[test]
#[ignore = "prints a measurement"]
fn drawing_costs() {
    use ratatui::backend::CrosstermBackend;
    use ratatui::{TerminalOptions, Viewport, layout::Rect};
    use std::cell::Cell;
    use std::rc::Rc;

    /// Counts the bytes that a terminal would get.
    struct Count(Rc<Cell<u64>>);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.set(self.0.get() + bytes.len() as u64);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    const FRAMES: u64 = 2000;
    for (width, height) in [(100, 30), (200, 60)] {
        let feed = recording(node(2, 1, 8, 8, 2), FRAMES);
        let mut state = at(&feed, " ");
        let options = TerminalOptions { viewport: Viewport::Fixed(Rect::new(0, 0, width, height)) };
        let written = Rc::new(Cell::new(0));
        let backend = CrosstermBackend::new(Count(Rc::clone(&written)));
        let mut terminal = Terminal::with_options(backend, options).unwrap();
        let begin = processor_time();
        for number in 0..FRAMES {
            state.moment = Moment::At(number);
            terminal
                .draw(|frame| draw::screen(frame.buffer_mut(), &feed, &state, Colours::Many))
                .unwrap();
        }
        let each = processor_time().saturating_sub(begin) / FRAMES as u32;
        println!(
            "{width} x {height}, 256 PUs: {each:?} and {} bytes a frame",
            written.get() / FRAMES
        );
    }
}

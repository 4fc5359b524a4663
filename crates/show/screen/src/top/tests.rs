//! Whole screens as text, and ways through them by keys.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use talea_model::shares::{Activity, Batch, BatchId, Job, KERNEL, Sampler, Share};
use talea_model::{Module, Nanos};
use talea_store::{Recent, Value};

use super::draw::{self, Shown};
use super::names::of_passwd;
use super::rows::{Naming, Parts, Row, rows};
use super::source::WINDOWS;
use super::state::{Action, State};
use super::view::View;
use crate::colour::Colours;

const END: Nanos = Nanos(100_000_000_000);

struct Numbers;

impl Naming for Numbers {
    fn function(&mut self, value: &Value) -> String {
        let Value::Function { address, .. } = value else { return "-".to_owned() };
        format!("f{:x}", address.unwrap_or(0) & !0xf)
    }

    fn user(&self, user: u64) -> String {
        user.to_string()
    }
}

/// Four cores for ten seconds at 10 Hz: two compute, one is in the kernel and waits, one does
/// nothing.
fn recent() -> Recent {
    let share = |core, activity, library: Option<u32>, address, samples| Share {
        core,
        activity,
        job: (core < 3).then_some(0),
        user: (activity != Activity::Idle).then_some(1000 + core),
        executable: library.map(|_| core / 2),
        library,
        address,
        phase: (core == 0).then_some(0),
        samples,
    };
    let shares = vec![
        share(0, Activity::User, Some(0), Some(0x10), 60),
        share(0, Activity::User, Some(0), Some(0x1f), 20),
        share(0, Activity::User, Some(2), Some(0x20), 20),
        share(1, Activity::User, Some(2), Some(0x20), 40),
        share(1, Activity::User, Some(4), Some(0x40), 60),
        share(2, Activity::Kernel, Some(3), Some(0x30), 30),
        share(2, Activity::Waiting, None, None, 70),
        share(3, Activity::Idle, None, None, 100),
    ];
    let module = |path: &str| Module { path: path.to_owned(), build_id: String::new() };
    let mut recent = Recent::new(END);
    let batch = Batch {
        begin: Nanos(END.0 - 10_000_000_000),
        end: END,
        period: Nanos(100_000_000),
        cores: 4,
        sampler: Sampler::Bpf,
        jobs: vec![Job { id: "4711".to_owned(), user: Some(1000) }],
        modules: vec![
            module("/opt/simulation/with/a/long/path/to/its/own/folder/of/programs/bin/lmp"),
            module("/bin/\x1b[2Jt\u{202e}a\u{200b}r"),
            module("/usr/lib/x86_64-linux-gnu/libm.so.6"),
            module(KERNEL),
            module("/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_btl_vader.so"),
        ],
        phases: vec!["force".to_owned()],
        shares,
        ..Batch::empty(BatchId { node: "n1".to_owned(), started: 1, number: 0 })
    };
    recent.push(batch).unwrap();
    recent
}

fn figures(recent: &Recent, state: &State) -> (Parts, Vec<Row>) {
    let all = recent.usage(&state.question_of_all(END)).unwrap();
    let answer = recent.usage(&state.question(END)).unwrap();
    (Parts::from_answer(&all), rows(&answer, state, 10.0, &mut Numbers))
}

fn buffer(state: &State, size: (u16, u16), colours: Colours) -> Buffer {
    let recent = recent();
    let (all, rows) = figures(&recent, state);
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    let gaps = ["samples are not counted by BPF in the kernel: no".to_owned(), "more".to_owned()];
    let shown = Shown {
        head: "n1 · 4 cores · 10 Hz by rings of perf events",
        cost: Some(0.0042),
        all,
        time: Nanos(10_000_000_000),
        rows: &rows,
        trouble: None,
        gaps: if size.1 > 20 { &gaps } else { &[] },
    };
    draw::screen(&mut buffer, &shown, state, colours);
    buffer
}

fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let row: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

/// Presses keys: `>` is Enter, `<` Backspace, `_` down, `@` Tab, others are themselves.
fn press(state: &mut State, keys: &str) -> Action {
    let recent = recent();
    let mut last = Action::Nothing;
    for key in keys.chars() {
        let code = match key {
            '>' => KeyCode::Enter,
            '<' => KeyCode::Backspace,
            '_' => KeyCode::Down,
            '@' => KeyCode::Tab,
            key => KeyCode::Char(key),
        };
        let values: Vec<Value> =
            figures(&recent, state).1.into_iter().map(|row| row.value).collect();
        last = state.press(KeyEvent::new(code, KeyModifiers::NONE), &values, END);
    }
    last
}

fn state(view: View) -> State {
    State::new(view, &WINDOWS, Nanos(30_000_000_000))
}

fn shown(keys: &str, size: (u16, u16)) -> String {
    let mut state = state(View::Executable);
    press(&mut state, keys);
    text(&buffer(&state, size, Colours::Many))
}

#[test]
fn screens() {
    let wide = shown("", (100, 24));
    for text in [
        "takes 0.42 % of a core",
        "user  35.0 %",
        "kernel   7.5 %",
        "in MPI ≥ 15.0 %",
        "waiting  17.5 %",
        "idle  25.0 %",
    ] {
        assert!(wide.contains(text), "{text}: {wide}");
    }
    // Names cannot command the terminal; the end of a long path is shown; idle time is no row.
    assert!(
        wide.contains("/bin/\u{fffd}[2Jt\u{fffd}a\u{fffd}r") && wide.contains("programs/bin/lmp"),
        "{wide}"
    );
    assert!(
        wide.contains("gap: samples are not counted by BPF in the kernel: no (and 1 more)"),
        "{wide}"
    );
    let usual = shown("", (80, 24));
    assert!(usual.contains("MPI ≥ 15.0 % ") && usual.contains("idle  25.0 %"), "{usual}");
    let help = shown("?", (100, 40));
    assert!(help.contains("time in MPI is a lower bound"), "{help}");
    let small = shown("l", (60, 15));
    assert!(small.contains(" 15.0 % ") && small.contains("libm.so.6"), "{small}");
    assert!(small.lines().last().unwrap().starts_with("q quit"), "{small}");
    assert!(shown("f", (40, 12)).contains("f20"));
    assert!(shown("c", (100, 15)).contains("core 2"));
    let inside = shown(">/libm", (100, 15));
    assert!(inside.contains("executable ") && inside.contains(" › /libm▏"), "{inside}");
    assert!(shown("?", (100, 24)).contains("leave; so does Ctrl-C"));
    assert!(shown("", (20, 4)).contains("expected 30 colum"));
}

#[test]
fn every_size_can_be_drawn() {
    for keys in ["", "c", "?", "/x", "j>>>"] {
        for size in [(1, 1), (30, 6), (31, 7), (60, 15), (61, 9), (90, 10), (250, 80)] {
            let _ = shown(keys, size);
        }
    }
}

#[test]
fn without_colour_nothing_has_one() {
    let none = buffer(&state(View::Core), (100, 20), Colours::None);
    let plain = |cell: &ratatui::buffer::Cell| {
        use ratatui::style::Color::Reset;
        cell.fg == Reset && cell.bg == Reset
    };
    assert!(none.content().iter().all(plain));
}

#[test]
fn shares_are_of_all_and_those_of_cores_of_their_own() {
    let recent = recent();
    let (all, rows) = figures(&recent, &state(View::Library));
    assert_eq!(all, Parts { user: 140, kernel: 30, mpi: 60, waiting: 70, idle: 100 });
    let named: Vec<(&str, u64)> =
        rows.iter().map(|row| (row.name.as_str(), row.parts.all())).collect();
    assert_eq!((named[0].1, named[2]), (80, ("/usr/lib/x86_64-linux-gnu/libm.so.6", 60)));
    assert_eq!(rows[2].share.unwrap().share.to_string(), "0.15");
    assert!((rows[2].cores - 0.6).abs() < 1e-9);
    let (_, cores) = figures(&recent, &state(View::Core));
    assert_eq!(cores.len(), 4);
    // A core that polls in MPI is busy.
    let polls = cores.iter().find(|row| row.name == "core 1").unwrap();
    assert_eq!((polls.parts.mpi, polls.share.unwrap().share.to_string()), (60, "1".to_owned()));
    let core = cores.iter().find(|row| row.name == "core 2").unwrap();
    assert_eq!(core.share.unwrap().share.to_string(), "0.3");
    // Two addresses of one function.
    let (_, functions) = figures(&recent, &state(View::Function));
    assert_eq!(functions.iter().filter(|row| row.name == "f10").count(), 1);
}

#[test]
fn keys() {
    let mut state = state(View::Executable);
    assert_eq!(press(&mut state, "q"), Action::Leave);
    assert_eq!(press(&mut state, "j>"), Action::Ask);
    assert_eq!((state.view, state.only.len()), (View::Executable, 1));
    press(&mut state, ">");
    assert_eq!((state.view, state.only.len()), (View::Library, 2));
    press(&mut state, ">>");
    assert_eq!((state.view, state.only.len()), (View::Function, 3));
    press(&mut state, "<<<");
    assert_eq!((state.view, state.only.len()), (View::Job, 0));
    press(&mut state, " ");
    assert_eq!(state.paused, Some(END));
    press(&mut state, " ++");
    assert_eq!((state.paused, state.window()), (None, Nanos(300_000_000_000)));
    press(&mut state, "-------");
    assert_eq!(state.window(), Nanos(5_000_000_000));
    // Letters belong to the text that is typed.
    press(&mut state, "e/quit");
    assert_eq!((state.filter.as_str(), state.view), ("quit", View::Executable));
    press(&mut state, "><");
    assert_eq!((state.filter.as_str(), state.typing), ("", false));
    press(&mut state, "@s");
    assert_eq!(state.view, View::Library);
    assert_eq!(press(&mut state, "z"), Action::Nothing);
}

#[test]
fn users_have_names() {
    let users =
        of_passwd("root:x:0:0:root:/root:/bin/sh\nbad\nalice:x:1000:1000::/home/alice:/bin/sh\n");
    assert_eq!(users.get(&1000).map(String::as_str), Some("alice"));
    assert_eq!(users.len(), 2);
}

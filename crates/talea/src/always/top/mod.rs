//! `talea top`: where the time of a node's cores goes now, or went lately in a store.
//!
//! Owns the loop that waits for figures or a key, whichever is first, and the answer without a screen (`--once`),
//! which is that of `talea usage`. Where figures are from is [`source`]'s, what keys do [`state`]'s, what is drawn
//! [`draw`]'s.

mod draw;
mod keys;
mod rows;
mod source;
mod state;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use talea_model::{Gap, Module, Nanos};
use talea_node::Sampler;
use talea_run::functions::Functions;
use talea_store::{Dimension, Question, Value, Visible};

use super::usage::{self, Filters, print};
use super::{AlwaysError, Place, UsageOptions};
use crate::terminal::say;
use crate::topo::screen::ScreenError;
use crate::topo::screen::colour::Colours;
use crate::topo::screen::terminal::Screen;
use draw::Shown;
use rows::{Naming, Parts, Row};
use source::{Live, Source, Stored};
use state::{Action, State, View};

/// Times of own samples that one can choose from, in seconds; and of stores.
const WINDOWS: [u64; 6] = [5, 10, 30, 60, 300, 600];
const LONG_WINDOWS: [u64; 7] = [60, 300, 900, 3600, 21_600, 86_400, 604_800];
/// A signal that asks for the end is noticed after at most this long.
const PULSE: Duration = Duration::from_millis(200);
/// Most names of functions that are kept.
const MOST_NAMES: usize = 100_000;
/// What the JSON has in place of a store's address.
const LIVE: &str = "live";

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The store; this node's cores if absent.
    pub(crate) place: Option<Place>,
    /// Columns that separate rows: the first is the view, all count with `once`.
    pub(crate) by: Vec<Dimension>,
    /// The time that shares are of; as long as fits the source if absent.
    pub(crate) last: Option<Nanos>,
    /// Samples of each core a second.
    pub(crate) rate: f64,
    /// How samples are taken.
    pub(crate) sampler: Sampler,
    /// Time between two pictures.
    pub(crate) every: Nanos,
    /// One answer instead of a screen.
    pub(crate) once: bool,
    /// How long it samples for that answer.
    pub(crate) during: Nanos,
    /// Most rows of it.
    pub(crate) limit: usize,
    /// JSON instead of text.
    pub(crate) json: bool,
}

/// Shows it until the user leaves, or answers once.
pub(crate) fn top(options: &Options) -> Result<(), AlwaysError> {
    if options.place.is_none() && options.last.is_some_and(|last| last > source::KEPT) {
        return Err(AlwaysError::TooLong);
    }
    if options.once {
        return once(options);
    }
    let begin = Instant::now();
    let (mut source, windows, last): (Box<dyn Source>, &[u64], Nanos) =
        if let Some(place) = &options.place {
            let last = options.last.unwrap_or(Nanos(900_000_000_000));
            (Box::new(Stored::open(place, options.every)?), &LONG_WINDOWS, last)
        } else {
            let last = options.last.unwrap_or(Nanos(30_000_000_000));
            (Box::new(Live::open(options)?), &WINDOWS, last)
        };
    let view = options.by.first().and_then(|by| View::of(*by)).unwrap_or(View::Executable);
    let mut state = State::new(view, windows, last);
    let shown = watch(&mut *source, &mut state);
    tell_cost(&*source, begin);
    match shown {
        // Asked to end by a signal it ends, with everything as it was.
        Err(AlwaysError::Screen(ScreenError::Signal(_))) => Ok(()),
        other => other,
    }
}

fn tell_cost(source: &dyn Source, begin: Instant) {
    if let Some(cost) = source.cost() {
        let seconds = begin.elapsed().as_secs();
        say(&format!("took {:.2} % of a core for {seconds} s", cost * 100.0));
    }
}

/// What the figures on the screen are.
#[derive(Default)]
struct Figures {
    all: Parts,
    rows: Vec<Row>,
    time: Nanos,
    gaps: Vec<String>,
    trouble: Option<String>,
}

fn watch(source: &mut dyn Source, state: &mut State) -> Result<(), AlwaysError> {
    let colours = Colours::from_environment();
    let mut names = Names::new();
    let mut screen = Screen::enter()?;
    let mut figures =
        Figures { trouble: Some("waiting for the first samples".into()), ..Figures::default() };
    let mut dirty = true;
    loop {
        if source.poll()? && state.paused.is_none() {
            figures = ask(source, state, &mut names);
            dirty = true;
        }
        if dirty {
            state.chosen = state.chosen.min(figures.rows.len().saturating_sub(1));
            let head = source.head();
            let shown = Shown {
                head: &head,
                cost: source.cost(),
                all: figures.all,
                time: figures.time,
                rows: &figures.rows,
                trouble: figures.trouble.as_deref(),
                gaps: &figures.gaps,
            };
            screen
                .draw(|buffer| draw::screen(buffer, &shown, state, colours))
                .map_err(ScreenError::Terminal)?;
            dirty = false;
        }
        let mut ready = event::poll(PULSE).map_err(ScreenError::Terminal)?;
        while ready {
            match event::read().map_err(ScreenError::Terminal)? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    let values: Vec<Value> =
                        figures.rows.iter().map(|row| row.value.clone()).collect();
                    match state.press(key, &values, source.end()) {
                        Action::Nothing => {}
                        Action::Draw => dirty = true,
                        Action::Ask => {
                            figures = ask(source, state, &mut names);
                            dirty = true;
                        }
                        Action::Leave => return Ok(()),
                        Action::Suspend => {
                            screen.suspend().map_err(ScreenError::Terminal)?;
                            dirty = true;
                        }
                    }
                }
                Event::Resize(..) => dirty = true,
                _ => {}
            }
            ready = event::poll(Duration::ZERO).map_err(ScreenError::Terminal)?;
        }
        if let Some(signal) = screen.signal() {
            return Err(ScreenError::Signal(signal).into());
        }
    }
}

/// A store that cannot answer now says why on the screen, and is asked again.
fn ask(source: &dyn Source, state: &State, names: &mut Names) -> Figures {
    let end = source.end();
    let answers = source
        .usage(&state.question_of_all(end))
        .and_then(|all| Ok((all, source.usage(&state.question(end))?)));
    let (all, answer) = match answers {
        Ok(answers) => answers,
        Err(error) => return Figures { trouble: Some(error.to_string()), ..Figures::default() },
    };
    let Some((begin, end)) = all.totals.time else {
        let trouble = Some("nothing was observed in this time".to_owned());
        return Figures { trouble, ..Figures::default() };
    };
    let time = end - begin;
    Figures {
        all: Parts::of(&all),
        rows: rows::rows(&answer, state, time.seconds(), names),
        time,
        gaps: all.gaps.iter().map(Gap::told).collect(),
        trouble: None,
    }
}

/// Functions and users by name, each looked up once.
struct Names {
    functions: Option<Functions>,
    known: HashMap<(Option<Module>, Option<u64>), String>,
    users: BTreeMap<u64, String>,
}

impl Names {
    fn new() -> Self {
        let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self { functions: None, known: HashMap::new(), users: of_passwd(&text) }
    }
}

impl Naming for Names {
    fn function(&mut self, value: &Value) -> String {
        let Value::Function { module, address } = value else { return String::new() };
        let key = (module.clone(), *address);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let name =
            self.functions.get_or_insert_with(Functions::new).name(module.as_ref(), *address);
        let file = module.as_ref().and_then(|module| module.path.rsplit('/').next());
        let name = file.map_or_else(|| name.clone(), |file| format!("{name}  {file}"));
        if self.known.len() >= MOST_NAMES {
            self.known.clear();
        }
        self.known.insert(key, name.clone());
        name
    }

    fn user(&self, user: u64) -> String {
        self.users.get(&user).map_or_else(|| user.to_string(), |name| format!("{user} {name}"))
    }
}

/// Names of users by number; passwd(5).
fn of_passwd(text: &str) -> BTreeMap<u64, String> {
    let user = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        Some((fields.nth(1)?.parse().ok()?, name))
    };
    text.lines().filter_map(user).collect()
}

/// The answer of `talea usage`, of this node's next seconds or of a store's last.
fn once(options: &Options) -> Result<(), AlwaysError> {
    let mut asked = UsageOptions {
        place: Place { store: LIVE.to_owned(), ..Place::default() },
        by: options.by.clone(),
        last: options.last,
        filters: Filters::default(),
        limit: options.limit,
        rates: false,
        json: options.json,
    };
    if let Some(place) = &options.place {
        asked.place = place.clone();
        return usage::usage(&asked);
    }
    let mut live = Live::open(options)?;
    let (begin, during) = (Instant::now(), Duration::from_nanos(options.during.0));
    while let Some(left) = during.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) {
        std::thread::sleep(PULSE.min(left));
        live.poll()?;
    }
    live.finish()?;
    let whole = Question::of(Visible::All, Nanos(0), Nanos(i64::MAX as u64));
    let question = Question { by: options.by.clone(), limit: usage::limit(&asked), ..whole };
    let out = print(&asked, &live.usage(&question)?);
    std::io::stdout().write_all(out.as_bytes()).map_err(AlwaysError::Output)?;
    tell_cost(&live, begin);
    Ok(())
}

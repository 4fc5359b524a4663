//! The selection on the screen, and its changes by keys.
//!
//! Owns view, choices, filter, order, time and the chosen row. Pure: it knows no store and no
//! terminal.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use talea_model::Nanos;
use talea_store::{Dimension, MOST_ROWS, Question, Text, Value, Visible};

use super::keys::{Command, command};
use super::view::View;

const SECOND: u64 = 1_000_000_000;
/// Maximum number of characters of a filter.
const LONGEST: usize = 60;

/// The order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Share,
    Name,
}

/// Effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    Draw,
    /// Query the source again, then draw.
    Ask,
    Leave,
    Suspend,
}

/// The selection.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) view: View,
    /// Views and values that were chosen on the way here.
    pub(super) only: Vec<(View, Value)>,
    pub(super) order: Order,
    pub(super) filter: String,
    /// True while the filter is typed.
    pub(super) typing: bool,
    pub(super) help: bool,
    /// The end of the time while it is paused.
    pub(super) paused: Option<Nanos>,
    pub(super) chosen: usize,
    windows: Vec<Nanos>,
    window: usize,
}

impl State {
    /// `windows` are the times to choose from, in seconds and rising; `at` is the initial one.
    pub(super) fn new(view: View, windows: &[u64], at: Nanos) -> Self {
        let mut windows: Vec<Nanos> = windows.iter().map(|s| Nanos(s * SECOND)).collect();
        if !windows.contains(&at) {
            windows.push(at);
            windows.sort();
        }
        let window = windows.iter().position(|window| *window == at).unwrap_or(0);
        Self {
            view,
            only: Vec::new(),
            order: Order::Share,
            filter: String::new(),
            typing: false,
            help: false,
            paused: None,
            chosen: 0,
            windows,
            window,
        }
    }

    /// The time that shares are of.
    pub(super) fn window(&self) -> Nanos {
        self.windows[self.window]
    }

    /// The query for the rows; `end` is the time of the newest sample.
    pub(super) fn question(&self, end: Nanos) -> Question {
        let mut question = self.question_of_all(end);
        for (view, value) in &self.only {
            let text = match value {
                Value::Text(text) => Some(Text::Is(text.clone())),
                _ => None,
            };
            match (view, value) {
                (View::User, Value::Number(user)) => question.user = u32::try_from(*user).ok(),
                (View::Core, Value::Number(core)) => question.core = u32::try_from(*core).ok(),
                (View::Job, _) => question.job = text,
                (View::Executable, _) => question.executable = text,
                (View::Library, _) => question.library = text,
                (View::Phase, _) => question.phase = text,
                _ => {}
            }
        }
        question.by = vec![self.view.dimension(), Dimension::Activity];
        question
    }

    /// The query for the activities of all cores.
    pub(super) fn question_of_all(&self, end: Nanos) -> Question {
        let to = self.paused.unwrap_or(end);
        let from = Nanos(to.0.saturating_sub(self.window().0));
        let by = vec![Dimension::Activity];
        // A query needs a time that is not empty.
        let to = to.max(Nanos(from.0 + 1));
        Question { by, limit: MOST_ROWS, ..Question::everything(Visible::All, from, to) }
    }

    /// Applies a key. `rows` are the values of the displayed rows, `end` is the time of the newest
    /// sample.
    pub(super) fn press(&mut self, key: KeyEvent, rows: &[Value], end: Nanos) -> Action {
        if self.typing && !key.modifiers.contains(KeyModifiers::CONTROL) {
            return self.typed(key);
        }
        let Some(command) = command(key) else { return Action::Nothing };
        if self.help && !matches!(command, Command::Leave | Command::Suspend) {
            self.help = false;
            return Action::Draw;
        }
        match command {
            Command::Leave => return Action::Leave,
            Command::Suspend => return Action::Suspend,
            Command::Help => self.help = true,
            Command::Pause => {
                self.paused = if self.paused.is_none() { Some(end) } else { None };
                return Action::Ask;
            }
            Command::Show(view) => return self.show(view),
            Command::Next(by) => {
                let at = View::ALL.iter().position(|view| *view == self.view).unwrap_or(0) as i8;
                return self.show(View::ALL[(at + by).rem_euclid(View::ALL.len() as i8) as usize]);
            }
            Command::Sort => {
                self.order = if self.order == Order::Share { Order::Name } else { Order::Share };
                return Action::Ask;
            }
            Command::Type => self.typing = true,
            Command::Move(by) => {
                let last = rows.len().saturating_sub(1);
                self.chosen = self.chosen.saturating_add_signed(by as isize).min(last);
            }
            Command::Choose => return self.choose(rows),
            Command::Back => {
                if !self.filter.is_empty() {
                    self.filter.clear();
                } else if let Some((view, _)) = self.only.pop() {
                    self.view = view;
                }
                self.chosen = 0;
                return Action::Ask;
            }
            Command::Window(by) => {
                let at = self.window.saturating_add_signed(by.into());
                self.window = at.min(self.windows.len() - 1);
                return Action::Ask;
            }
        }
        Action::Draw
    }

    fn show(&mut self, view: View) -> Action {
        self.view = view;
        self.filter.clear();
        self.chosen = 0;
        Action::Ask
    }

    fn choose(&mut self, rows: &[Value]) -> Action {
        let (Some(value), Some(inside)) = (rows.get(self.chosen), self.view.inside()) else {
            return Action::Nothing;
        };
        if *value == Value::Absent {
            return Action::Nothing;
        }
        let left = self.view;
        self.only.retain(|(view, _)| *view != left);
        self.only.push((left, value.clone()));
        self.show(inside)
    }

    fn typed(&mut self, key: KeyEvent) -> Action {
        match key.code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) if self.filter.chars().count() < LONGEST && !c.is_control() => {
                self.filter.push(c);
            }
            _ => return Action::Nothing,
        }
        self.chosen = 0;
        Action::Ask
    }
}

//! Output on the terminal: short messages on standard error, progress of long work, colours of
//! LOOK.
//!
//! Owns the prefix `talea:`, the two seconds before progress is shown, how wide lines are, and when
//! colours are off. Standard output belongs to results and is written by the commands.

use std::io::{IsTerminal, Write};
use std::ops::RangeInclusive;
use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub(crate) use talea_model::notation::grouped;
pub(crate) use talea_model::text::clean;
use talea_model::text::{without_hidden, without_hidden_in_lines};
use talea_model::{Gaps, Rank};
use talea_report::data::Category;
pub(crate) use talea_screen::glyphs::bar;

/// Columns of text where no terminal says how many it has.
const USUAL: usize = 100;
/// Columns for which text is laid out, whatever the terminal has.
const LAID_OUT: RangeInclusive<usize> = 60..=140;

/// Columns of the terminal that standard output is; nothing where it is none.
fn columns() -> Option<usize> {
    static COLUMNS: OnceLock<Option<usize>> = OnceLock::new();
    *COLUMNS.get_or_init(|| {
        let out = std::io::stdout();
        let known = out.is_terminal().then(|| rustix::termios::tcgetwinsize(&out));
        let columns = known.map(|size| size.map_or(0, |size| usize::from(size.ws_col)));
        columns.map(|columns| if columns == 0 { USUAL } else { columns })
    })
}

/// Columns that a line has at most on a terminal; in a pipe those that text is laid out for.
pub(crate) fn width() -> usize {
    columns().unwrap_or(USUAL).clamp(*LAID_OUT.start(), *LAID_OUT.end())
}

/// Columns of sentences, which nobody reads well when they are longer.
pub(crate) fn prose() -> usize {
    width().min(USUAL)
}

/// Columns that a line must not exceed: those of the terminal, any number in a pipe.
pub(crate) fn limit() -> usize {
    if columns().is_some() { width() } else { usize::MAX - 1 }
}

/// One line of text from outside: cut where the terminal ends, never in a pipe.
pub(crate) fn fitted(text: &str) -> String {
    clean(text, limit())
}

/// Text from outside as [`clean`] has it, but whole where standard output is a pipe: programs take
/// it from there.
pub(crate) fn cell(text: &str, width: usize) -> String {
    clean(text, if columns().is_some() { width } else { limit() })
}

/// One message for people. It may quote files and names from outside, which must not command the
/// terminal.
pub(crate) fn say(message: &str) {
    // Nobody could read that standard error is gone.
    let _ = writeln!(std::io::stderr(), "talea: {}", without_hidden_in_lines(message));
}

/// The panic hook: a bug, what to do about it, and where it is.
pub(crate) fn say_bug(info: &PanicHookInfo<'_>) {
    let what = info.payload_as_str().unwrap_or("unknown panic");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    say(&format!("bug: {what} ({place}); please report it with the command that you used"));
}

/// Gaps, on standard error: for outputs whose form has no place for it. With a rank, what concerns
/// it.
pub(crate) fn say_gaps(gaps: &Gaps, rank: Option<Rank>) {
    let mut found =
        gaps.iter().filter(|gap| rank.is_none() || gap.rank.is_none_or(|of| Some(of) == rank));
    if let Some(first) = found.next() {
        let more = match found.count() {
            0 => String::new(),
            more => format!(" (and {more} more, see `talea show RUN stats`)"),
        };
        say(&format!("gap: {}{more}", clean(&first.detail, 200)));
    }
}

/// Work in steps that tells a waiting person which step it is at.
#[derive(Debug)]
pub(crate) struct Progress {
    begin: Instant,
    shown: bool,
    terminal: bool,
}

impl Progress {
    /// Work begins.
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), shown: false, terminal: std::io::stderr().is_terminal() }
    }

    /// The next step begins.
    pub(crate) fn step(&mut self, what: &str) {
        const QUIET: Duration = Duration::from_secs(2);
        if self.terminal && self.begin.elapsed() >= QUIET {
            self.shown = true;
            let what = without_hidden(what);
            let _ = write!(std::io::stderr(), "\r\x1b[Ktalea: {what} ...");
        }
    }
}

impl Progress {
    /// The same as a callback of libraries.
    pub(crate) fn steps(&mut self) -> impl FnMut(&str) + '_ {
        |what| self.step(what)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Whether and how text on standard output is coloured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    on: bool,
}

impl Palette {
    /// For standard output.
    pub(crate) fn stdout() -> Self {
        Self { on: std::io::stdout().is_terminal() && talea_screen::colours_allowed() }
    }

    /// Text in the colour of what its time is spent on.
    pub(crate) fn category(self, category: Category, text: &str) -> String {
        // The nearest of the 256 to the report's colours.
        let colour = match category {
            Category::Computation => 32,
            Category::Waiting => 214,
            Category::Transfer => 36,
            Category::Collective => 175,
            Category::Io => 137,
            Category::Setup => return self.faint(text),
        };
        self.code(&format!("38;5;{colour}"), text)
    }

    /// Text of less weight.
    pub(crate) fn faint(self, text: &str) -> String {
        self.code("2", text)
    }

    /// Text of more weight.
    pub(crate) fn strong(self, text: &str) -> String {
        self.code("1", text)
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// As [`cell`], without its middle where it is too long.
pub(crate) fn both_ends(text: &str, width: usize) -> String {
    let whole = clean(text, limit());
    if columns().is_some() { talea_model::both_ends(&whole, width) } else { whole }
}

/// Text from outside in lines of at most `width` columns, broken between words; a longer word is
/// cut on a terminal only.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    talea_model::text::wrapped(text, width, if columns().is_some() { width } else { limit() })
}

/// Values in blocks of eighths, from 0 to the largest; a blank for NaN.
pub(crate) fn blocks(values: &[f64], width: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let steps = values.len();
    let mean = |column: usize| {
        let (from, to) = (
            column * steps / width,
            ((column + 1) * steps / width).max(column * steps / width + 1),
        );
        let part = values.get(from..to.min(steps)).unwrap_or_default();
        part.iter().sum::<f64>() / part.len() as f64
    };
    let means: Vec<f64> = (0..width).map(mean).collect();
    let most = means.iter().copied().filter(|mean| mean.is_finite()).fold(0.0, f64::max);
    let block = |mean: f64| {
        let level = (8.0 * mean / most).ceil() as usize;
        if mean.is_finite() && most > 0.0 { BLOCKS[level.clamp(1, 8) - 1] } else { ' ' }
    };
    means.into_iter().map(block).collect()
}

/// Findings, the most important one first, which has more weight.
pub(crate) fn findings(findings: &[String], palette: Palette) -> impl Iterator<Item = String> {
    (0..).zip(findings).flat_map(move |(at, finding)| {
        let weight = move |line: String| if at == 0 { palette.strong(&line) } else { line };
        wrapped(finding, prose()).into_iter().map(weight)
    })
}

/// Gaps, in faint text.
pub(crate) fn gaps(gaps: &Gaps, palette: Palette) -> impl Iterator<Item = String> {
    gaps.iter()
        .flat_map(|gap| wrapped(&format!("gap: {}", gap.sentence()), prose()))
        .map(move |line| palette.faint(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        // Tests write into a pipe, where nothing is cut.
        assert_eq!(wrapped("abcdefgh i", 4), ["abcdefgh", "i"]);
    }

    #[test]
    fn pictures_of_values() {
        assert_eq!(blocks(&[0.0, 1.0, 2.0, 4.0], 4), "▁▂▄█");
        assert_eq!(blocks(&[1.0, f64::NAN, 1.0], 3), "█ █");
        assert_eq!(blocks(&[], 3), "   ");
        assert_eq!(blocks(&[2.0], 3).chars().count(), 3);
    }
}

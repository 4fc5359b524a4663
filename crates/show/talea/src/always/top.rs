//! `talea top`: its options, the sampler or the store that it opens, and the answer without a
//! screen (`--once`).
//!
//! Owns the JSON and the text of `--once`, which are those of `talea usage`. The screen is
//! `talea_screen::top`.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use talea_model::Nanos;
use talea_node::args::RUN_DIR;
use talea_node::{Sampler, opened};
use talea_screen::ScreenError;
use talea_screen::top::{self, KEPT, Live, LiveOptions, Source, Stored, TopError};
use talea_store::{Dimension, Place, Question, Visible};

use super::query::Filters;
use super::usage::{self, print};
use super::{AlwaysError, UsageOptions};
use crate::terminal::say;

/// Interval at which samples are taken in for an answer without a screen.
const PULSE: Duration = Duration::from_millis(200);
/// Value of the JSON in place of a store's address.
const LIVE: &str = "live";

/// Options of `talea top`.
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
    if options.place.is_none() && options.last.is_some_and(|last| last > KEPT) {
        return Err(AlwaysError::TooLong);
    }
    if options.once {
        return once(options);
    }
    let begin = Instant::now();
    let mut source: Box<dyn Source> = match &options.place {
        Some(place) => Box::new(Stored::new(place.open()?, &place.store, options.every)),
        None => Box::new(live(options)?),
    };
    let shown = top::watch(&mut *source, options.by.first().copied(), options.last);
    tell_cost(&*source, begin);
    match shown {
        // Asked to end by a signal it ends, with everything as it was.
        Err(TopError::Screen(ScreenError::Signal(_))) => Ok(()),
        other => Ok(other?),
    }
}

/// This node's cores, sampled from now on.
fn live(options: &Options) -> Result<Live, TopError> {
    let how = LiveOptions {
        rate: options.rate,
        every: options.every,
        kept: options.during,
        run_dir: PathBuf::from(RUN_DIR),
    };
    Live::start(&how, |period, files, gaps| {
        opened(options.sampler, period, Vec::new(), files, gaps)
    })
}

fn tell_cost(source: &dyn Source, begin: Instant) {
    if let Some(cost) = source.cost() {
        let seconds = begin.elapsed().as_secs();
        say(&format!("took {:.2} % of a core for {seconds} s", cost * 100.0));
    }
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
    let mut live = live(options)?;
    let (begin, during) = (Instant::now(), Duration::from_nanos(options.during.0));
    while let Some(left) = during.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) {
        std::thread::sleep(PULSE.min(left));
        live.poll()?;
    }
    live.finish()?;
    let whole = Question::everything(Visible::All, Nanos(0), Nanos(i64::MAX as u64));
    let question = Question { by: options.by.clone(), limit: usage::limit(&asked), ..whole };
    let out = print(&asked, &live.usage(&question)?);
    std::io::stdout().write_all(out.as_bytes()).map_err(AlwaysError::Output)?;
    tell_cost(&live, begin);
    Ok(())
}

//! Questions to a store, as `talea usage` asks them.
//!
//! Owns nothing but the way to the question; functions are resolved by this machine's files.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use talea_model::{Nanos, notation};
use talea_run::functions::Functions;
use talea_store::{Dimension, MOST_ROWS, Place, Question, Text, Visible, public};

use crate::errors::{compute, json, wrong};

/// Place of a store.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PlaceArgs {
    address: String,
    token_file: Option<PathBuf>,
    ca: Option<PathBuf>,
}

impl PlaceArgs {
    fn place(&self) -> Place {
        Place {
            store: self.address.clone(),
            token: self.token_file.clone(),
            authorities: self.ca.clone(),
        }
    }

    /// The file of a store that is one.
    fn files(&self) -> Vec<&Path> {
        self.address.strip_prefix("sqlite:").map(Path::new).into_iter().collect()
    }
}

/// Options of a question.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct UsageArgs {
    by: Vec<String>,
    last: Option<String>,
    node: Option<String>,
    job: Option<String>,
    user: Option<u32>,
    executable: Option<String>,
    library: Option<String>,
    phase: Option<String>,
    limit: usize,
}

/// Opens a store, to find out whether there is one.
#[pyfunction]
pub(crate) fn check_store(py: Python<'_>, place: PlaceArgs) -> PyResult<()> {
    compute(py, &place.files(), || place.place().open().map(drop))
}

/// The answer to a question, as JSON.
#[pyfunction]
pub(crate) fn usage(py: Python<'_>, place: PlaceArgs, args: UsageArgs) -> PyResult<String> {
    let last = args.last.as_deref().map(notation::step).transpose().map_err(wrong)?;
    let mut by: Vec<Dimension> = Vec::new();
    for name in &args.by {
        let one = dimension(name).ok_or_else(|| {
            let known = DIMENSIONS.map(public::word).join(", ");
            wrong(format!("expected a dimension ({known}), found `{name}`"))
        })?;
        if !by.contains(&one) {
            by.push(one);
        }
    }
    if !(1..=MOST_ROWS).contains(&args.limit) {
        return Err(wrong(format!("expected a limit from 1 to {MOST_ROWS}, found {}", args.limit)));
    }
    compute(py, &place.files(), || {
        let store = place.place().open().map_err(|error| error.to_string())?;
        let (from, to) = Question::period(last, Nanos::now());
        let text = |name: &Option<String>| name.as_deref().map(Text::pattern);
        // Addresses of one function become one row after they are resolved.
        let limit = if by.contains(&Dimension::Function) { MOST_ROWS } else { args.limit };
        let question = Question {
            node: text(&args.node),
            job: text(&args.job),
            user: args.user,
            executable: text(&args.executable),
            library: text(&args.library),
            phase: text(&args.phase),
            by,
            limit,
            ..Question::everything(Visible::All, from, to)
        };
        let answer = store.usage(&question).map_err(|error| error.to_string())?;
        let functions = Functions::new();
        let mut rows =
            public::named(&answer, &mut |module, address| functions.name(module, address));
        rows.truncate(args.limit);
        json(&public::usage(&place.address, &answer, &rows))
    })
}

const DIMENSIONS: [Dimension; 9] = [
    Dimension::Node,
    Dimension::Job,
    Dimension::User,
    Dimension::Executable,
    Dimension::Library,
    Dimension::Function,
    Dimension::Phase,
    Dimension::Core,
    Dimension::Activity,
];

fn dimension(name: &str) -> Option<Dimension> {
    DIMENSIONS.into_iter().find(|&one| public::word(one) == name)
}

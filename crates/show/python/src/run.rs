//! A run: its views as JSON text and tables.
//!
//! Owns the recording and its analysis, made once, when a view needs it first. Views are those of
//! `talea show`, calls of `talea events`.

use std::path::PathBuf;
use std::sync::OnceLock;

use pyo3::prelude::*;
use self_cell::self_cell;
use serde::Serialize;
use talea_analysis::events::{Events, Request};
use talea_analysis::groups::By;
use talea_analysis::report::{group_rows, host_rows, site_rows};
use talea_analysis::views::{self, ViewError, Which};
use talea_analysis::{Analysis, views::IterationsError};
use talea_model::Rank;
use talea_results::views::{EventLine, SampleRow};
use talea_run::load::{self, LoadError};
use talea_run::sampled::SampleSites;
use talea_run::{RunDirectory, samples};

use crate::columns::{Building, columns_of, table_of};
use crate::errors::{compute, json, wrong};
use crate::table::Table;
use crate::times::{Time, optional};

#[derive(Default)]
struct Lazy<'a>(OnceLock<Analysis<'a>>);

self_cell! {
    /// A run with the analysis that borrows it.
    struct Loaded {
        owner: load::Run,
        #[not_covariant]
        dependent: Lazy,
    }
}

/// A loop of `iterations`.
#[derive(FromPyObject)]
pub(crate) enum Loop {
    Number(u32),
    Label(String),
}

/// A run directory.
#[pyclass(frozen, module = "talea._talea")]
pub(crate) struct Run {
    path: PathBuf,
    loaded: Loaded,
}

impl Run {
    /// Computes with the analysis, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Analysis<'_>) -> Result<T, String> + Send,
    ) -> PyResult<T> {
        compute(py, &[&self.path], || {
            self.loaded.with_dependent(|run, lazy| {
                work(lazy.0.get_or_init(|| Analysis::new(run, &mut |_| ())))
            })
        })
    }

    /// The same for views that need a record of a process.
    fn view<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Analysis<'_>) -> Result<T, String> + Send,
    ) -> PyResult<T> {
        self.with(py, |analysis| {
            views::check(analysis, &self.path).map_err(|error| error.to_string())?;
            work(analysis)
        })
    }

    fn json<T: Serialize>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Analysis<'_>) -> Result<T, ViewError> + Send,
    ) -> PyResult<String> {
        self.view(py, |analysis| json(&work(analysis).map_err(|error| error.to_string())?))
    }
}

#[pymethods]
impl Run {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let run = compute::<_, LoadError, _>(py, &[&path], || load::load(&path))?;
        Ok(Self { loaded: Loaded::new(run, |_| Lazy::default()), path })
    }

    /// The path by which it was opened.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Call sites by call path.
    fn calls(&self, py: Python<'_>) -> PyResult<Table> {
        self.view(py, |analysis| {
            let rows = site_rows(analysis);
            let order = analysis.calls.by_time();
            table_of(order.iter().map(|&at| rows[at as usize].clone()))
        })
    }

    /// Call sites by `line` or `routine`.
    fn call_groups(&self, py: Python<'_>, by: &str) -> PyResult<Table> {
        let by = match by {
            "line" => By::Line,
            "routine" => By::Routine,
            other => return Err(wrong(format!("expected line or routine, found `{other}`"))),
        };
        self.view(py, |analysis| table_of(group_rows(analysis, by)))
    }

    /// Classes of threads.
    fn classes(&self, py: Python<'_>) -> PyResult<Table> {
        self.view(py, |analysis| table_of(views::classes(analysis)))
    }

    /// Structure trees, as JSON.
    fn structure(
        &self,
        py: Python<'_>,
        rank: Option<u32>,
        thread: Option<u32>,
    ) -> PyResult<String> {
        self.json(py, |analysis| {
            let which = views::choose(analysis, &self.path, rank.map(Rank), thread)?;
            let trees = views::trees(analysis, &which);
            Ok(trees.iter().map(|drawn| views::structure(analysis, drawn)).collect::<Vec<_>>())
        })
    }

    /// The flow graph of a thread, as JSON; `null` for a run without threads.
    fn graph(&self, py: Python<'_>, rank: Option<u32>, thread: Option<u32>) -> PyResult<String> {
        self.json(py, |analysis| {
            let which = views::choose(analysis, &self.path, rank.map(Rank), thread)?;
            let first = || analysis.classes.first().map(|class| class.representative);
            let at = which.first().copied().or_else(first);
            Ok(at.map(|at| views::flow_graph(analysis, at)))
        })
    }

    /// Growth of the flow graph, as JSON.
    fn growth(&self, py: Python<'_>, rank: Option<u32>, thread: Option<u32>) -> PyResult<String> {
        self.json(py, |analysis| {
            let which = views::choose(analysis, &self.path, rank.map(Rank), thread)?;
            let path = self.path.clone();
            views::growth(analysis, &which).map_err(|source| ViewError::Growth { source, path })
        })
    }

    /// Iterations that smart collection kept or would keep, as JSON; `null` for a run without
    /// threads.
    fn collection(
        &self,
        py: Python<'_>,
        rank: Option<u32>,
        thread: Option<u32>,
        plan: (usize, u64),
    ) -> PyResult<String> {
        self.json(py, |analysis| {
            let which = views::choose(analysis, &self.path, rank.map(Rank), thread)?;
            let first = || analysis.classes.first().map(|class| class.representative);
            let plan = views::Plan::new(plan.0, plan.1);
            let at = which.first().copied().or_else(first);
            let found = at.map(|at| views::collection(analysis, at, plan)).transpose();
            let path = self.path.clone();
            found.map_err(|source| ViewError::Growth { source, path })
        })
    }

    /// Counts and sizes, as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |analysis| json(&views::stats(analysis)))
    }

    /// Communication, as JSON.
    fn matrix(&self, py: Python<'_>) -> PyResult<String> {
        self.json(py, |analysis| Ok(views::matrix(analysis)))
    }

    /// Placement of ranks, as JSON.
    fn hosts(&self, py: Python<'_>) -> PyResult<String> {
        self.json(py, |analysis| {
            let mut hosts = host_rows(analysis);
            for host in &mut hosts {
                host.picture = None;
            }
            Ok(hosts)
        })
    }

    /// Gaps of the recording, as JSON.
    fn gaps(&self, py: Python<'_>) -> PyResult<String> {
        let run = self.loaded.borrow_owner();
        compute(py, &[&self.path], || json(&run.recording.gaps))
    }

    /// Samples by function and line of each process, as JSON.
    fn sampled(&self, py: Python<'_>, rank: Option<u32>) -> PyResult<String> {
        compute(py, &[&self.path], || {
            let (shown, _) = views::sampled(&self.path, rank.map(Rank)).map_err(text)?;
            json(&shown)
        })
    }

    /// Single samples of all threads.
    fn samples(&self, py: Python<'_>) -> PyResult<Table> {
        compute(py, &[&self.path], || {
            let directory = RunDirectory::open(&self.path).map_err(text)?;
            let all = samples::load(&directory);
            if all.processes.is_empty() && all.gaps.is_empty() {
                return Err(text(ViewError::NoSamples(self.path.clone())));
            }
            let sites = SampleSites::load(&directory, &all);
            let processes = all.processes.iter().enumerate();
            table_of::<SampleRow>(
                processes.flat_map(|(at, process)| views::sample_rows(process, at, &sites)),
            )
        })
    }

    /// Calls of a thread in their order.
    fn events(
        &self,
        py: Python<'_>,
        rank: u32,
        thread: u32,
        world: u32,
        begin: Option<Time>,
        end: Option<Time>,
    ) -> PyResult<Table> {
        let (from, to) = (optional(begin.as_ref())?, optional(end.as_ref())?);
        let request = Request { world, rank: Rank(rank), thread, from, to };
        let run = self.loaded.borrow_owner();
        compute(py, &[&self.path], || {
            let mut events = Events::new(run, &self.path, request).map_err(text)?;
            let mut building = Building::new(columns_of::<EventLine<'_>>());
            while let Some(line) = events.next_line().map_err(text)? {
                building.push(serde_json::to_value(line).map_err(text)?)?;
            }
            building.finish()
        })
    }

    /// Iterations of a loop; of the main loop of each thread without a loop.
    fn iterations(
        &self,
        py: Python<'_>,
        of: Option<Loop>,
        rank: Option<u32>,
        thread: Option<u32>,
    ) -> PyResult<Table> {
        let which = match of {
            None => Which::Main,
            Some(Loop::Number(number)) => Which::Number(number),
            Some(Loop::Label(label)) => Which::Label(label),
        };
        self.view(py, |analysis| {
            let threads =
                views::choose(analysis, &self.path, rank.map(Rank), thread).map_err(text)?;
            let rows = views::iterations(analysis, &threads, &which);
            table_of(rows.map_err(|error: IterationsError| text(error))?)
        })
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

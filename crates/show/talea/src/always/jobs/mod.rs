//! `talea jobs`: the jobs of a store, one job with where its time went, and what rules found.
//!
//! Owns the options and the public keys of the JSON. A job of a list and its findings have the keys
//! of the server's routes; further data of one job only this has (docs/server.md, "From a
//! terminal"). Shares of one job are of the job's own samples, those included in which its cores
//! waited.

mod one;
mod text;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use talea_model::{Gaps, Nanos};
use talea_report::data::site::{JobDetails, JobList};
use talea_rules::{
    Asked, Findings, Rule, Time, builtin, evaluate_asked, read_folder, with_overrides,
};
use talea_run::functions::HostFunctions;
use talea_store::{JobSeen, MOST_ROWS, Place, Question, Store, Text, Visible, public};

use super::AlwaysError;

/// Most jobs where nobody says how many.
const LISTED: usize = 100;

/// Options of the command.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The store.
    pub(crate) place: Place,
    /// One job by its name; the list if absent.
    pub(crate) job: Option<String>,
    /// How long before now the time begins; all of it if absent.
    pub(crate) last: Option<Nanos>,
    /// Only this user's.
    pub(crate) user: Option<u32>,
    /// Current findings of all jobs and nodes, instead of the list.
    pub(crate) findings: bool,
    /// Folder of the user's own rules.
    pub(crate) rules: Option<PathBuf>,
    /// Most jobs of the list, or rows of each table of one job.
    pub(crate) limit: Option<usize>,
    /// JSON instead of text.
    pub(crate) json: bool,
}

/// Answers on standard output.
pub(crate) fn jobs(options: &Options) -> Result<(), AlwaysError> {
    let store = options.place.open()?;
    let now = Nanos::now();
    let (from, to) = Question::period(options.last, now);
    let question = Question {
        user: options.user,
        job: options.job.clone().map(Text::Is),
        limit: options.limit.unwrap_or(LISTED),
        ..Question::everything(Visible::All, from, to)
    };
    let out = if options.findings {
        let asked = Asked { visible: Visible::All, time: Time::Now(now), job: None };
        let found = evaluate_asked(
            &*store,
            &rules(options.rules.as_deref())?,
            &asked,
            &mut HostFunctions::default(),
        )?;
        if options.json { pretty(&found) } else { text::all_findings(&found) }
    } else if options.job.is_some() {
        one_job(&*store, &question, options)?
    } else {
        let (all, gaps) = first(&*store, &question)?;
        if options.json {
            let jobs = all.iter().map(public::job).collect();
            pretty(&JobList { store: options.place.store.clone(), jobs, gaps })
        } else {
            text::list(&all, &gaps, &options.place.store)
        }
    };
    std::io::stdout().write_all(out.as_bytes()).map_err(AlwaysError::Output)
}

/// The jobs with most samples, and whether there are more.
fn first(store: &dyn Store, question: &Question) -> Result<(Vec<JobSeen>, Gaps), AlwaysError> {
    let limit = question.limit;
    let mut jobs =
        store.jobs(&Question { limit: (limit + 1).min(MOST_ROWS), ..question.clone() })?;
    let mut gaps = Gaps::default();
    public::cut(&mut jobs, limit, &mut gaps);
    Ok((jobs, gaps))
}

/// One job; users of different clusters may have several of one name.
fn one_job(
    store: &dyn Store,
    question: &Question,
    options: &Options,
) -> Result<String, AlwaysError> {
    let (all, more) = first(store, &Question { limit: LISTED, ..question.clone() })?;
    if all.is_empty() {
        let job = options.job.clone().unwrap_or_default();
        return Err(AlwaysError::NoJob { job, store: options.place.store.clone() });
    }
    let rules = rules(options.rules.as_deref())?;
    let mut names = HostFunctions::default();
    let (mut texts, mut values) = (Vec::new(), Vec::new());
    for seen in &all {
        let limit = options.limit.unwrap_or(10);
        let mut detail = one::detail(store, question, seen, limit, &mut names)?;
        detail.gaps.merge(more.clone());
        let found = findings(store, &rules, seen, &mut names)?;
        texts.push(text::one(seen, &detail, &found));
        values.push(one::result(seen, &detail, &found));
    }
    Ok(if options.json {
        pretty(&match values.len() {
            1 => JobDetails::One(Box::new(values.remove(0))),
            _ => JobDetails::Several(values),
        })
    } else {
        texts.join("\n")
    })
}

/// Findings in all of a job's time.
fn findings(
    store: &dyn Store,
    rules: &[Rule],
    seen: &JobSeen,
    names: &mut HostFunctions,
) -> Result<Findings, AlwaysError> {
    let asked = Asked {
        visible: Visible::All,
        time: Time::Whole(seen.first, seen.last),
        job: Some((seen.job.id.clone(), seen.job.user)),
    };
    Ok(evaluate_asked(store, rules, &asked, names)?)
}

/// The built-in rules and those of a folder, which take their places.
pub(super) fn rules(folder: Option<&Path>) -> Result<Vec<Rule>, AlwaysError> {
    let own = folder.map_or(Ok(Vec::new()), read_folder)?;
    Ok(with_overrides(builtin()?, own))
}

fn pretty(value: &impl Serialize) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).unwrap_or_default())
}

//! Which jobs there are, and one of them.
//!
//! Owns that a job of somebody else and one that there is not are the same answer.

use axum::Json;
use axum::extract::{Path, State};
use talea_model::Gaps;
use talea_model::Nanos;
use talea_store::{JobSeen, MOST_ROWS, Question, Text, public};

use super::answers::{Jobs, OneJob};
use super::findings;
use crate::access::Person;
use crate::question::{FILTERS, Parameters, TIME};
use crate::refusal::Refusal;
use crate::replies::Rendered;
use crate::state::Shared;

pub(super) async fn jobs(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Rendered, Refusal> {
    parameters.only(&[&TIME, &FILTERS, &["limit"]])?;
    let mut question = parameters.question(person.visible(), Nanos::now())?;
    let limit = question.limit;
    // One more than is asked for tells whether there are more.
    question.limit = (limit + 1).min(MOST_ROWS);
    let asker = person.clone();
    let rendered = state.ask_within(&person, move |state, store, _| {
        let mut jobs = store.jobs(&question)?;
        let mut gaps = Gaps::default();
        public::cut(&mut jobs, limit, &mut gaps);
        let jobs = jobs.iter().map(public::job).collect();
        state.answers.json(&asker, &Jobs { jobs, gaps })
    });
    rendered.await
}

pub(super) async fn job(
    State(state): State<Shared>,
    person: Person,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<Json<OneJob>, Refusal> {
    parameters.only(&[&TIME, &["user", "findings"]])?;
    let with_findings = match parameters.get("findings") {
        None | Some("yes") => true,
        Some("no") => false,
        Some(_) => return Err(Refusal::question("`findings`: expected yes or no")),
    };
    let mut question = parameters.question(person.visible(), Nanos::now())?;
    question.job = Some(Text::Is(id));
    // Schedulers count anew at times: of several owners the one with most samples is shown, unless
    // `user` says which.
    question.limit = 1;
    let asked = question.clone();
    let found = state.ask(&person, move |store| store.jobs(&asked)).await?;
    let job: JobSeen = found.into_iter().next().ok_or_else(Refusal::missing)?;
    let visible = person.visible();
    let of_it = Some((job.job.id.clone(), job.job.user));
    let time = Some((job.first, job.last));
    let (mut findings, mut gaps) = (None, Gaps::default());
    // Rules read all of a job's time: pages that show the rest meanwhile query them by their own
    // route.
    if with_findings {
        let found = findings::findings_of_time(&state, &person, time, of_it, |_| true).await?;
        findings = Some(found.findings);
        gaps = found.gaps;
    }
    let of_job = Question {
        job: Some(Text::Is(job.job.id.clone())),
        user: job.job.user,
        ..Question::everything(visible, question.from, question.to)
    };
    let spreads = state.ask(&person, move |store| store.spreads(&of_job)).await?;
    let spreads = spreads.iter().map(public::spread).collect();
    Ok(Json(OneJob { job: public::job(&job), findings, spreads, gaps }))
}

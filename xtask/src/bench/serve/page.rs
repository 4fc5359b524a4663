//! The page of a job that ran for thirty days: what it asks, and how long until it is answered.
//!
//! A page's questions are those of `web/src/serve/job.ts`, in its order and at once as browsers do.

use std::fs;
use std::path::Path;
use std::time::Instant;

use talea_model::Nanos;
use talea_store::Store as _;
use talea_store::sqlite::{Options, Sqlite};

use super::super::{heading, median};
use super::batches::{CORES, Place, batch, places};
use super::{HOUR, MINUTE, SECOND};
use crate::site::{Role, Site};

/// The job of the page.
const NODES: u64 = 4;
const DAYS: u64 = 30;
/// Times that a question is asked again.
const AGAIN: usize = 5;

/// Thirty days of one job: seven in batches of a minute, those before in hours, as they are kept.
fn fill(path: &Path, places: &[Place]) -> Result<u64, String> {
    let options = Options { slice: Nanos(MINUTE), ..Options::default() };
    let mut store = Sqlite::open(path, &options).map_err(|e| e.to_string())?;
    let end = Nanos::now().0 / HOUR * HOUR;
    let fine = end - 7 * 24 * HOUR;
    let hours = (0..(DAYS - 7) * 24).map(|at| fine - (at + 1) * HOUR).rev();
    let minutes = (0..7 * 24 * 60).map(|at| fine + at * MINUTE);
    let times = hours.map(|at| at..at + HOUR).chain(minutes.map(|at| at..at + MINUTE));
    let mut waiting = Vec::new();
    for (number, time) in (0..).zip(times) {
        for node in 0..NODES {
            waiting.push(batch(&format!("p{node}"), number, time.clone(), 4711, places));
        }
        if waiting.len() >= 400 {
            store.put_all(&waiting).map_err(|e| e.to_string())?;
            waiting.clear();
        }
    }
    store.put_all(&waiting).map_err(|e| e.to_string())?;
    while store.retain(Nanos(end), 64).map_err(|e| e.to_string())?.more {}
    fs::metadata(path).map(|file| file.len()).map_err(|e| e.to_string())
}

/// Queries of a job's page (`JobPage.update` of `web/src/serve/job.ts`), in its order: `what:
/// question` on a line. The first is sent alone, the others at once when it is answered. The second
/// is the findings of rules; nothing else on the page waits for it. `web/test/serve.test.mjs` holds
/// the page to this list.
const JOB_PAGE: &str = include_str!("job-page.txt");

/// Further queries for jobs whose agents report no spread of cores.
const SINGLE_CORES: &str = "single cores of its last 90 min, where agents tell no spread: usage?from={late}&to={to}&job=4711&user={user}&by=node,core,activity&limit=50000";

/// The same of thirty days before `end`, in seconds since 1970.
fn questions(end: u64) -> Vec<(&'static str, String)> {
    JOB_PAGE.lines().filter_map(|line| filled(line, end)).collect()
}

/// Name and query. Functions and single cores are queried for the last 90 minutes, as four nodes
/// allow.
fn filled(line: &'static str, end: u64) -> Option<(&'static str, String)> {
    let (what, question) = line.split_once(": ")?;
    let question = question.replace("{from}", &(end - DAYS * 86_400).to_string());
    let question = question.replace("{late}", &format!("{}.000000", end - 90 * 60));
    Some((what, question.replace("{to}", &end.to_string()).replace("{user}", "1000")))
}

/// Milliseconds until a question is answered.
fn answered(address: &str, token: &str, question: &str) -> Result<f64, String> {
    let client: ureq::Agent = ureq::Agent::config_builder().build().into();
    let begin = Instant::now();
    let request = client.get(format!("http://{address}/api/v1/{question}"));
    let request = request.header("Authorization", format!("Bearer {token}"));
    let mut answer = request.call().map_err(|e| format!("{e}: {question}"))?;
    let body = answer.body_mut().with_config().limit(1 << 30).read_to_vec();
    body.map_err(|e| e.to_string())?;
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

/// Milliseconds until a page shows its figures, and until it shows what rules found too.
struct Shown {
    figures: f64,
    rules: f64,
}

/// The questions of a job's page, and how long it takes until all of them are answered.
pub(super) fn page(site: &Site) -> Result<(), String> {
    let places = places(&site.talea)?;
    let size = fill(&site.path("page.db"), &places)?;
    let token = site.user("root", 0, Role::Operator)?;
    let server = site.server("page.db", &[])?;
    let end = Nanos::now().0 / HOUR * HOUR / SECOND;
    let questions = questions(end);
    let ask = |question: &str| answered(&server.address, &token, question);
    let [(_, job), (_, rules), rest @ ..] = questions.as_slice() else {
        return Err("no questions".to_owned());
    };
    let all = || -> Result<Shown, String> {
        let begin = Instant::now();
        ask(job)?;
        let joined = |one: std::thread::ScopedJoinHandle<'_, Result<f64, String>>| {
            one.join().map_err(|_| "a question failed".to_owned())?
        };
        std::thread::scope(|scope| {
            let ruling = scope.spawn(|| ask(rules));
            let asked: Vec<_> = rest.iter().map(|(_, one)| scope.spawn(|| ask(one))).collect();
            asked.into_iter().try_for_each(|one| joined(one).map(|_| ()))?;
            let figures = begin.elapsed().as_secs_f64() * 1e3;
            joined(ruling)?;
            Ok(Shown { figures, rules: begin.elapsed().as_secs_f64() * 1e3 })
        })
    };
    let first = all()?;
    let again = |question: &dyn Fn() -> Result<f64, String>| -> Result<String, String> {
        let times: Result<Vec<f64>, String> = (0..AGAIN).map(|_| question()).collect();
        Ok(format!("{:.0}", median(&mut times?)))
    };
    heading("The page of a job over thirty days");
    println!(
        "{NODES} nodes of {CORES} cores, seven days in minutes and the rest in hours, {:.0} MB. Milliseconds: the whole page when it is opened first, with what rules find in all of the job's time asked beside it; then medians of {AGAIN}, when the server remembers that for 45 s.\n",
        size as f64 / 1e6
    );
    println!("| question | ms |\n|---|---|");
    println!("| the whole page but rules, first | {:.0} |", first.figures);
    println!("| what rules find, first | {:.0} |", first.rules);
    println!("| the whole page but rules, again | {} |", again(&|| all().map(|all| all.figures))?);
    for (what, question) in std::iter::once(&questions[0]).chain(rest) {
        println!("| {what} | {} |", again(&|| ask(question))?);
    }
    let (what, cores) = filled(SINGLE_CORES, end).ok_or("no question")?;
    println!("| {what} | {} |", again(&|| ask(&cores))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_whole() {
        let end = 1_735_689_600;
        let mut all = questions(end);
        assert_eq!(all.len(), JOB_PAGE.lines().count());
        all.push(filled(SINGLE_CORES, end).unwrap());
        let first: Vec<&str> = all[..2].iter().map(|(what, _)| *what).collect();
        assert_eq!(first, ["the job", "rules"]);
        assert!(all.iter().all(|(_, question)| !question.contains(['{', '}', ' '])));
    }
}

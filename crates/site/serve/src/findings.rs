//! Findings of rules, evaluated at a query and remembered for a moment.
//!
//! Owns the remembered answers, each for one user: no user gets the findings of another one.
//! [`crate::state`] makes equal queries at one time wait for one answer. Rules and their evaluation
//! are `talea_rules`'.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_results::site::Findings as Found;
use talea_rules::{Asked, Rule, Time, evaluate_asked};
use talea_run::functions::HostFunctions;
use talea_store::address::{self, Access};
use talea_store::{Bounds, StoreError, Visible, sqlite};

use crate::state::Findings;

/// How long an answer holds: agents send once a minute, and pages ask twice.
const HOLDS: Duration = Duration::from_secs(45);
/// Most answers that are remembered.
const MOST: usize = 64;

type Question = (Option<u32>, Option<(Nanos, Nanos)>, Option<(String, Option<u32>)>);

/// Writes a line of the log.
type Say = Box<dyn Fn(&str) + Send + Sync>;

/// Rules on a store.
pub struct RuleFindings {
    store: String,
    rules: Vec<Rule>,
    known: Mutex<HashMap<Question, (Instant, Found)>>,
    /// Why the store did not answer the last time.
    failing: Mutex<Option<String>>,
    functions: HostFunctions,
    say: Say,
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RuleFindings {
    /// `store` is an address; `say` gets a line when the store begins not to answer.
    pub fn new(store: &str, rules: Vec<Rule>, functions: HostFunctions, say: Say) -> Self {
        let (known, failing) = (Mutex::default(), Mutex::default());
        Self { store: store.to_owned(), rules, known, failing, functions, say }
    }

    /// An answer of the last moments.
    fn remembered(&self, question: &Question) -> Option<Found> {
        let known = locked(&self.known);
        let (at, answer) = known.get(question)?;
        (at.elapsed() < HOLDS).then(|| answer.clone())
    }

    /// Keeps an answer; the oldest goes where there are too many.
    fn remember(&self, question: Question, answer: Found) {
        let mut known = locked(&self.known);
        known.retain(|_, (at, _)| at.elapsed() < HOLDS);
        if known.len() >= MOST
            && let Some(oldest) = known.iter().min_by_key(|(_, (at, _))| *at)
        {
            let oldest = oldest.0.clone();
            known.remove(&oldest);
        }
        known.insert(question, (Instant::now(), answer));
    }

    /// Findings of all rules: together one query, with its deadline.
    fn found(&self, asked: &Asked, bounds: &Arc<Bounds>) -> Result<Found, StoreError> {
        let options =
            sqlite::Options { longest: Some(bounds.longest()), ..sqlite::Options::default() };
        let mut store = address::open(&self.store, Access::Read, &options)?;
        store.bound(Some(Arc::clone(bounds)));
        let mut names = self.functions.until(bounds.deadline());
        evaluate_asked(&*store, &self.rules, asked, &mut names)
    }
}

impl Findings for RuleFindings {
    fn findings(
        &self,
        visible: Visible,
        time: Option<(Nanos, Nanos)>,
        job: Option<(&str, Option<u32>)>,
        bounds: &Arc<Bounds>,
    ) -> Found {
        let job = job.map(|(name, owner)| (name.to_owned(), owner));
        let user = match visible {
            Visible::All => None,
            Visible::User(user) => Some(user),
        };
        let question = (user, time, job.clone());
        if let Some(answer) = self.remembered(&question) {
            return answer;
        }
        let time = time.map_or(Time::Now(Nanos::now()), |(from, to)| Time::Whole(from, to));
        match self.found(&Asked { visible, time, job }, bounds) {
            Ok(answer) => {
                *locked(&self.failing) = None;
                self.remember(question, answer.clone());
                answer
            }
            // Not remembered: the client has disconnected, or others may have taken the time.
            Err(StoreError::TooLong { longest }) => {
                let mut gaps = Gaps::default();
                let detail = format!("rules were not evaluated within {} s", longest.as_secs());
                gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
                Found { findings: Vec::new(), gaps }
            }
            // Not remembered: the next query tries again.
            Err(error) => {
                let mut gaps = Gaps::default();
                // The address of the store is for the operator only, in one line of the log.
                let why = error.to_string();
                let before = locked(&self.failing).replace(why.clone());
                if before.as_ref() != Some(&why) {
                    (self.say)(&format!("rules cannot be looked at: {why}"));
                }
                let detail = "rules cannot be looked at: the store does not answer".to_owned();
                gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
                Found { findings: Vec::new(), gaps }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use talea_model::shares::{Activity, Batch, BatchId, Job, Sampler, Share};
    use talea_store::Store as _;
    use talea_store::sqlite::Sqlite;

    use super::*;

    const MINUTE: u64 = 60_000_000_000;

    fn half_a_minute() -> Arc<Bounds> {
        Arc::new(Bounds::new(Duration::from_secs(30), talea_model::Bytes(1 << 30)))
    }

    /// A minute of a node whose job uses eight of its ten cores.
    fn batch(node: &str, user: u32, number: u64) -> Batch {
        let begin = Nanos::now().0 / MINUTE * MINUTE - (30 - number) * MINUTE;
        let share = |core: u32| Share {
            core,
            activity: if core < 8 { Activity::User } else { Activity::Waiting },
            job: Some(0),
            user: (core < 8).then_some(user),
            executable: None,
            library: None,
            address: None,
            phase: None,
            samples: 60,
        };
        Batch {
            begin: Nanos(begin),
            end: Nanos(begin + MINUTE),
            period: Nanos(1_000_000_000),
            cores: 10,
            sampler: Sampler::Bpf,
            jobs: vec![Job { id: format!("job-{user}"), user: Some(user) }],
            shares: (0..10).map(share).collect(),
            ..Batch::empty(BatchId { node: node.to_owned(), started: 1, number })
        }
    }

    #[test]
    fn each_user_gets_own_findings_also_when_others_were_asked_for_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hidden.db");
        let minutes = sqlite::Options { slice: Nanos(MINUTE), ..sqlite::Options::default() };
        let mut store = Sqlite::open(&path, &minutes).unwrap();
        let all: Vec<Batch> =
            (0..30).flat_map(|at| [batch("n1", 1, at), batch("n2", 2, at)]).collect();
        store.put_all(&all).unwrap();
        let rules = talea_rules::builtin().unwrap();
        let address = format!("sqlite:{}", path.display());
        let functions = HostFunctions::default();
        let ruled = RuleFindings::new(&address, rules, functions, Box::new(|_| ()));
        let jobs = |visible, job| {
            let Found { findings, gaps } = ruled.findings(visible, None, job, &half_a_minute());
            assert!(!format!("{gaps:?}").contains("cannot be looked at"), "{gaps:?}");
            let idle = findings.into_iter().filter(|one| one.rule == "idle-cores");
            idle.map(|one| one.job.unwrap()).collect::<Vec<_>>()
        };
        // Twice: the second time from what is remembered.
        for _ in 0..2 {
            assert_eq!(jobs(Visible::All, None), ["job-1", "job-2"]);
            assert_eq!(jobs(Visible::User(1), None), ["job-1"]);
            assert_eq!(jobs(Visible::User(2), None), ["job-2"]);
            assert_eq!(jobs(Visible::User(3), None), [""; 0]);
            assert_eq!(jobs(Visible::User(1), Some(("job-2", Some(2)))), [""; 0]);
        }
        for user in 10..200 {
            assert_eq!(jobs(Visible::User(user), None), [""; 0]);
        }
        {
            // The oldest went, one by one.
            let known = locked(&ruled.known);
            let is_known = |user| known.contains_key(&(Some(user), None, None));
            assert_eq!(known.len(), MOST);
            assert!((200 - MOST as u32..200).all(is_known) && !is_known(10));
        }
        drop(store);
        std::fs::rename(&path, folder.path().join("away")).unwrap();
        let found = ruled.findings(Visible::User(7), None, None, &half_a_minute());
        let said = format!("{:?}", found.gaps);
        assert!(found.findings.is_empty() && said.contains("does not answer"), "{said}");
        assert!(!said.contains("hidden"), "where the store is, is nobody's business: {said}");
        // The store is there again: nothing of that is remembered.
        std::fs::rename(folder.path().join("away"), &path).unwrap();
        assert_eq!(jobs(Visible::User(7), None), [""; 0]);
        // All rules have one deadline together, which is no failure of the store.
        let over = Arc::new(Bounds::new(Duration::ZERO, talea_model::Bytes(1 << 30)));
        let found = ruled.findings(Visible::User(8), None, None, &over);
        let said = format!("{:?}", found.gaps);
        assert!(found.findings.is_empty() && said.contains("not evaluated within 0 s"), "{said}");
        assert_eq!(jobs(Visible::User(8), None), [""; 0]);
    }
}

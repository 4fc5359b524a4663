//! What rules find, for the server: evaluated when somebody asks, and remembered for a moment.
//!
//! Owns the remembered answers, each for one who asks: nobody gets what was found for another. Rules and their evaluation are `talea_rules`'.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_rules::{Asked, Rule, Time, evaluate_asked};
use talea_serve::Findings;
use talea_store::address::{self, Access};
use talea_store::{StoreError, Visible, sqlite};

use super::jobs::Resolved;

/// How long an answer holds: agents send once a minute.
const HOLDS: Duration = Duration::from_secs(30);
/// Most answers that are remembered.
const MOST: usize = 256;

type Question = (Option<u32>, Option<(Nanos, Nanos)>, Option<(String, Option<u32>)>);
type Answer = (Vec<Value>, Gaps);

/// Rules on a store.
pub(super) struct Ruled {
    store: String,
    rules: Vec<Rule>,
    known: Mutex<HashMap<Question, (Instant, Answer)>>,
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ruled {
    pub(super) fn new(store: &str, rules: Vec<Rule>) -> Self {
        Self { store: store.to_owned(), rules, known: Mutex::default() }
    }

    fn found(&self, asked: &Asked) -> Result<Answer, StoreError> {
        let store = address::open(&self.store, Access::Read, &sqlite::Options::default())?;
        let found = evaluate_asked(&*store, &self.rules, asked, &mut Resolved::new())?;
        let findings = found.findings.iter().filter_map(|one| serde_json::to_value(one).ok());
        Ok((findings.collect(), found.gaps))
    }
}

impl Findings for Ruled {
    fn findings(
        &self,
        visible: Visible,
        time: Option<(Nanos, Nanos)>,
        job: Option<(&str, Option<u32>)>,
    ) -> Answer {
        let job = job.map(|(name, owner)| (name.to_owned(), owner));
        let user = match visible {
            Visible::All => None,
            Visible::User(user) => Some(user),
        };
        let question = (user, time, job.clone());
        let now = Instant::now();
        let fresh = |at: &Instant| now.duration_since(*at) < HOLDS;
        if let Some((at, answer)) = locked(&self.known).get(&question)
            && fresh(at)
        {
            return answer.clone();
        }
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = time
            .map_or(Time::Now(Nanos(clock.as_nanos() as u64)), |(from, to)| Time::Whole(from, to));
        let answer = self.found(&Asked { visible, time, job }).unwrap_or_else(|error| {
            let mut gaps = Gaps::default();
            let detail = format!("rules could not be looked at: {error}");
            gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
            (Vec::new(), gaps)
        });
        let mut known = locked(&self.known);
        if known.len() >= MOST {
            known.retain(|_, (at, _)| fresh(at));
        }
        if known.len() < MOST {
            known.insert(question, (now, answer.clone()));
        }
        answer
    }
}

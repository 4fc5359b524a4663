//! Scheduling of queries: fair by user.
//!
//! Owns how many questions are under way, of all and of one person, and the order of those that
//! wait: who has fewest under way comes first, then who came first. Some turns are operators'
//! alone, so that nobody's questions keep them from looking at the machine.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::access::Person;
use crate::refusal::Refusal;

/// Questions at a time.
pub(crate) const AT_ONCE: usize = 6;
/// Those of them that are operators' alone.
pub(crate) const OF_OPERATORS: usize = 2;
/// Questions of one user at a time, and of one operator.
const OF_USER: usize = 2;
const OF_OPERATOR: usize = 4;
/// How long a question waits for the ones before.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most questions of a person that wait, and of all.
const MOST_OF_ONE: usize = 64;
const MOST: usize = 1024;

/// The turns of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Under way, by name.
    of_person: HashMap<String, usize>,
    of_users: usize,
    all: usize,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    who: Who,
    turn: oneshot::Sender<Turn>,
}

#[derive(Clone, Debug)]
struct Who {
    name: String,
    is_operator: bool,
}

/// A question that may be asked now; the next one's turn comes when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Turns,
    who: Who,
}

impl Inner {
    fn own(&self, who: &Who) -> usize {
        self.of_person.get(&who.name).copied().unwrap_or(0)
    }

    fn may(&self, who: &Who) -> bool {
        if who.is_operator {
            return self.all < AT_ONCE && self.own(who) < OF_OPERATOR;
        }
        self.all < AT_ONCE && self.of_users < AT_ONCE - OF_OPERATORS && self.own(who) < OF_USER
    }

    fn begin(&mut self, who: &Who) {
        self.all += 1;
        self.of_users += usize::from(!who.is_operator);
        *self.of_person.entry(who.name.clone()).or_default() += 1;
    }

    fn end(&mut self, who: &Who) {
        self.all = self.all.saturating_sub(1);
        self.of_users = self.of_users.saturating_sub(usize::from(!who.is_operator));
        match self.of_person.get_mut(&who.name) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(self.of_person.remove(&who.name)),
        }
    }

    /// The next user, if one may run.
    fn next(&mut self) -> Option<Waiting> {
        self.waiting.retain(|waiting| !waiting.turn.is_closed());
        let may = self.waiting.iter().enumerate().filter(|(_, waiting)| self.may(&waiting.who));
        let (place, _) = may.min_by_key(|(place, waiting)| (self.own(&waiting.who), *place))?;
        let next = self.waiting.remove(place)?;
        self.begin(&next.who);
        Some(next)
    }
}

impl Turns {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn.
    pub(crate) async fn take(&self, person: &Person) -> Result<Turn, Refusal> {
        let busy = || Refusal::busy("too many questions at a time");
        let who = Who { name: person.name.clone(), is_operator: person.operator };
        let waits = {
            let mut inner = self.inner();
            inner.waiting.retain(|waiting| !waiting.turn.is_closed());
            if inner.may(&who) {
                inner.begin(&who);
                return Ok(Turn { turns: self.clone(), who });
            }
            let own = inner.waiting.iter().filter(|one| one.who.name == who.name).count();
            if own >= MOST_OF_ONE || inner.waiting.len() >= MOST {
                return Err(busy());
            }
            let (turn, waits) = oneshot::channel();
            inner.waiting.push_back(Waiting { who, turn });
            waits
        };
        let turn = tokio::time::timeout(PATIENCE, waits).await;
        turn.map_err(|_| busy())?.map_err(|_| Refusal::bug())
    }

    /// Gives free turns to those who wait.
    fn hand_on(&self) {
        loop {
            let next = self.inner().next();
            let Some(Waiting { who, turn }) = next else { return };
            // A client that disconnected meanwhile returns its turn, which comes here again.
            drop(turn.send(Turn { turns: self.clone(), who }));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.inner().end(&self.who);
        self.turns.hand_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(name: &str, operator: bool) -> Person {
        Person { name: name.to_owned(), uid: 1, operator }
    }

    /// Those who have a turn after all that can happen has happened.
    async fn settled() {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    fn asks(
        turns: &Turns,
        name: &str,
        operator: bool,
    ) -> tokio::task::JoinHandle<Result<Turn, Refusal>> {
        let (turns, person) = (turns.clone(), person(name, operator));
        tokio::spawn(async move { turns.take(&person).await })
    }

    fn runs(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(test);
    }

    #[test]
    fn nobody_takes_all_turns() {
        runs(async {
            let turns = Turns::default();
            let mut held = Vec::new();
            for name in ["a", "b", "c"] {
                let mut own = Vec::new();
                for _ in 0..20 {
                    own.push(asks(&turns, name, false));
                }
                settled().await;
                held.push(own);
            }
            let done = |held: &[tokio::task::JoinHandle<_>]| {
                held.iter().filter(|one| one.is_finished()).count()
            };
            // Two of each of the first two; the third waits with the rest of them.
            assert_eq!(held.iter().map(|own| done(own)).collect::<Vec<_>>(), [2, 2, 0]);
            let mut operators = Vec::new();
            for _ in 0..3 {
                operators.push(asks(&turns, "root", true));
            }
            settled().await;
            assert_eq!(done(&operators), OF_OPERATORS);
            // When one of the first ends, the one who has none comes before those who came earlier.
            let own = &mut held[0];
            let place = own.iter().position(tokio::task::JoinHandle::is_finished).unwrap();
            let first = own.remove(place).await.unwrap().unwrap();
            drop(first);
            settled().await;
            // An operator who waits has fewer turns left than users have, but some of them alone.
            let now = [done(&held[0]), done(&held[1]), done(&held[2]), done(&operators)];
            assert_eq!(now, [1, 2, 1, 2]);
        });
    }

    #[test]
    fn who_goes_away_is_passed_over() {
        runs(async {
            let turns = Turns::default();
            let person = person("a", false);
            let first = turns.take(&person).await.unwrap();
            let second = turns.take(&person).await.unwrap();
            let gone = asks(&turns, "a", false);
            let waits = asks(&turns, "a", false);
            settled().await;
            gone.abort();
            settled().await;
            drop(first);
            settled().await;
            assert!(waits.is_finished());
            drop((second, waits.await));
            let inner = turns.inner();
            assert_eq!((inner.all, inner.of_users, inner.waiting.len()), (0, 0, 0));
            assert!(inner.of_person.is_empty());
        });
    }

    #[test]
    fn too_many_that_wait_are_told_to_come_again() {
        runs(async {
            let turns = Turns::default();
            let all: Vec<_> =
                (0..=OF_USER + MOST_OF_ONE).map(|_| asks(&turns, "a", false)).collect();
            settled().await;
            let mut refused = 0;
            let mut held = Vec::new();
            for one in all {
                if one.is_finished() {
                    match one.await.unwrap() {
                        Ok(turn) => held.push(turn),
                        Err(refusal) => {
                            assert_eq!(refusal.status.as_u16(), 503);
                            refused += 1;
                        }
                    }
                } else {
                    one.abort();
                }
            }
            assert_eq!((held.len(), refused), (OF_USER, 1));
        });
    }
}

//! The last batches, in memory: what somebody watches and nobody keeps.
//!
//! Owns the bound, and answers of usage as any [`Store`](crate::Store) gives them. Rows of a batch
//! are summed by numbers first and get names afterwards. It refuses to be a store: what is too old,
//! or too much, is gone.

use std::collections::{BTreeMap, HashMap, VecDeque};

use talea_model::shares::{Activities, Activity, Batch, Share};
use talea_model::{Gap, Gaps, Module, Nanos};

use crate::answer::{Answer, Row, Totals, Value};
use crate::arrival::{NO_ADDRESS, check, cut, losses, nanos, owner, samples};
use crate::error::StoreError;
use crate::proportion::Proportion;
use crate::question::{Dimension, Question, Text, Visible};

/// Most rows of all batches that are kept.
pub(crate) const MOST_KEPT: usize = 2_000_000;

/// The last batches.
#[derive(Debug)]
pub struct Recent {
    keep: Nanos,
    batches: VecDeque<Batch>,
    rows: usize,
}

/// Samples and nanoseconds.
type Sum = (u64, u128);

fn add(sum: &mut Sum, more: Sum) {
    *sum = (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1));
}

/// Which names of a batch a question asks for.
struct Asked {
    job: Vec<bool>,
    executable: Vec<bool>,
    library: Vec<bool>,
    phase: Vec<bool>,
    activities: Activities,
}

impl Asked {
    fn of(batch: &Batch, question: &Question) -> Self {
        fn of<'a>(names: impl Iterator<Item = &'a String>, text: Option<&Text>) -> Vec<bool> {
            text.map_or_else(Vec::new, |text| names.map(|name| text.matches(cut(name))).collect())
        }
        let paths = || batch.modules.iter().map(|module| &module.path);
        Self {
            job: of(batch.jobs.iter().map(|job| &job.id), question.job.as_ref()),
            executable: of(paths(), question.executable.as_ref()),
            library: of(paths(), question.library.as_ref()),
            phase: of(batch.phases.iter(), question.phase.as_ref()),
            activities: Activities::from_modules(&batch.modules),
        }
    }

    fn passes(&self, batch: &Batch, share: &Share, question: &Question) -> bool {
        let is = |asked: bool, table: &[bool], index: Option<u32>| {
            !asked || index.and_then(|index| table.get(index as usize)).copied().unwrap_or(false)
        };
        is(question.job.is_some(), &self.job, share.job)
            && is(question.executable.is_some(), &self.executable, share.executable)
            && is(question.library.is_some(), &self.library, share.library)
            && is(question.phase.is_some(), &self.phase, share.phase)
            && question.user.is_none_or(|user| owner(batch, share) == Some(user))
            && question.core.is_none_or(|core| share.core == core)
            && question.activity.is_none_or(|activity| self.activities.at(share) == activity)
    }
}

impl Recent {
    /// Keeps batches for so long after the end of the last.
    pub fn new(keep: Nanos) -> Self {
        Self { keep, batches: VecDeque::new(), rows: 0 }
    }

    /// Takes a batch that comes after all others.
    ///
    /// # Errors
    /// A batch that [`check`] refuses.
    pub fn push(&mut self, batch: Batch) -> Result<(), StoreError> {
        check(&batch)?;
        let since = batch.end.0.saturating_sub(self.keep.0);
        self.rows += batch.shares.len();
        self.batches.push_back(batch);
        while let Some(oldest) = self.batches.front() {
            if oldest.end.0 > since && self.rows <= MOST_KEPT {
                break;
            }
            self.rows = self.rows.saturating_sub(oldest.shares.len());
            self.batches.pop_front();
        }
        Ok(())
    }

    /// The last batch.
    pub fn last(&self) -> Option<&Batch> {
        self.batches.back()
    }

    /// Use of cores in the kept batches; as [`Store::usage`](crate::Store::usage), with the gaps of
    /// all batches of the time.
    ///
    /// # Errors
    /// A question that cannot be meant.
    pub fn usage(&self, question: &Question) -> Result<Answer, StoreError> {
        question.check()?;
        let mut groups: BTreeMap<Vec<Value>, Sum> = BTreeMap::new();
        let (mut all, mut matched): (Sum, Sum) = Default::default();
        let mut time: Option<(Nanos, Nanos)> = None;
        let mut gaps: BTreeMap<Gap, u64> = BTreeMap::new();
        let inside = |batch: &&Batch| batch.begin < question.to && batch.end > question.from;
        for batch in self.batches.iter().filter(inside) {
            let mut seen = question.visible == Visible::All;
            let node = question.node.as_ref().is_none_or(|text| text.matches(&batch.id.node));
            let asked = Asked::of(batch, question);
            let mut own: HashMap<Vec<Option<u64>>, Sum> = HashMap::new();
            for share in &batch.shares {
                let sum = (samples(share) as u64, nanos(batch, share) as u128);
                match question.visible {
                    Visible::User(user) if owner(batch, share) != Some(user) => continue,
                    _ => seen = true,
                }
                add(&mut all, sum);
                if node && asked.passes(batch, share, question) {
                    add(&mut matched, sum);
                    let activity = asked.activities.at(share);
                    let key = numbers(batch, share, activity, &question.by);
                    add(own.entry(key).or_default(), sum);
                }
            }
            for (key, sum) in own {
                add(groups.entry(named(batch, &key, &question.by)).or_default(), sum);
            }
            if seen {
                let (begin, end) = time.unwrap_or((batch.begin, batch.end));
                time = Some((begin.min(batch.begin), end.max(batch.end)));
            }
            if node && question.visible == Visible::All {
                for gap in &losses(batch) {
                    let detail = format!("node {}: {}", batch.id.node, gap.detail);
                    let count = gaps.entry(Gap { detail, count: 0, ..gap.clone() }).or_default();
                    *count = count.saturating_add(gap.count);
                }
            }
        }
        let mut noted = Gaps::default();
        for (gap, count) in gaps {
            noted.note(Gap { count, ..gap });
        }
        let mut rows: Vec<(Vec<Value>, Sum)> = groups.into_iter().collect();
        // By key they are already.
        rows.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.0));
        let groups = rows.len() as u64;
        let seconds = |sum: Sum| sum.1 as f64 / 1e9;
        let row = |(key, sum): (Vec<Value>, Sum)| Row {
            key,
            samples: sum.0,
            core_seconds: seconds(sum),
            of_all: Proportion::new(sum.0, all.0),
            of_matched: Proportion::new(sum.0, matched.0),
        };
        let answer = Answer {
            by: question.by.clone(),
            rows: rows.into_iter().take(question.limit).map(row).collect(),
            groups,
            totals: Totals {
                time,
                all_samples: all.0,
                all_core_seconds: seconds(all),
                samples: matched.0,
                core_seconds: seconds(matched),
            },
            gaps: noted,
        };
        Ok(answer.completed())
    }
}

/// A key of numbers that hold in this batch only; a function takes two.
fn numbers(batch: &Batch, share: &Share, activity: Activity, by: &[Dimension]) -> Vec<Option<u64>> {
    let mut key = Vec::with_capacity(by.len() + 1);
    for dimension in by {
        key.push(match dimension {
            Dimension::Node => None,
            Dimension::Job => share.job.map(u64::from),
            Dimension::User => owner(batch, share).map(u64::from),
            Dimension::Executable => share.executable.map(u64::from),
            Dimension::Library | Dimension::Function => share.library.map(u64::from),
            Dimension::Phase => share.phase.map(u64::from),
            Dimension::Core => Some(share.core.into()),
            Dimension::Activity => Some(activity as u64),
        });
        if *dimension == Dimension::Function {
            key.push(share.address.filter(|&address| address != NO_ADDRESS));
        }
    }
    key
}

fn named(batch: &Batch, numbers: &[Option<u64>], by: &[Dimension]) -> Vec<Value> {
    let mut numbers = numbers.iter().copied();
    let text = |name: Option<&String>| {
        name.map_or(Value::Absent, |name| Value::Text(cut(name).to_owned()))
    };
    let module = |number: Option<u64>| number.and_then(|at| batch.modules.get(at as usize));
    let mut key = Vec::with_capacity(by.len());
    for dimension in by {
        let number = numbers.next().flatten();
        key.push(match dimension {
            Dimension::Node => Value::Text(batch.id.node.clone()),
            Dimension::Job => {
                text(number.and_then(|at| batch.jobs.get(at as usize)).map(|job| &job.id))
            }
            Dimension::Executable | Dimension::Library => {
                text(module(number).map(|module| &module.path))
            }
            Dimension::Phase => text(number.and_then(|at| batch.phases.get(at as usize))),
            Dimension::User | Dimension::Core => number.map_or(Value::Absent, Value::Number),
            Dimension::Activity => {
                let is = |activity: &Activity| Some(*activity as u64) == number;
                Value::Activity(Activity::ALL.into_iter().find(is).unwrap_or(Activity::Idle))
            }
            Dimension::Function => Value::Function {
                module: module(number).map(|module| Module {
                    path: cut(&module.path).to_owned(),
                    build_id: cut(&module.build_id).to_owned(),
                }),
                address: numbers.next().flatten(),
            },
        });
    }
    key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Store;
    use crate::oracle::Oracle;
    use crate::sqlite::{DAY, Options};
    use crate::tests::made::{START, batch, batches, question};

    proptest! {
        #[test]
        fn as_the_oracle(batches in batches(), asked in prop::collection::vec(question(), 4)) {
            let mut oracle = Oracle::new(Options { slice: Nanos(0), ..Options::default() });
            let mut recent = Recent::new(Nanos(40 * DAY.0));
            for batch in batches {
                // Slices of one node with the same begin are one, as long as the longest of them.
                let (node, begin) = (&batch.id.node, batch.begin);
                let same = |other: &Batch| other.id.node == *node && other.begin == begin;
                let known = recent.batches.iter().any(same);
                if !known && oracle.put(&batch).unwrap() == crate::Put::New {
                    recent.push(batch).unwrap();
                }
            }
            for asked in asked {
                let (mut mine, mut other) = (
                    recent.usage(&asked).unwrap(),
                    oracle.usage(&asked).unwrap()
                );
                // What a batch of the time lost is told whatever the filters.
                (mine.gaps, other.gaps) = Default::default();
                prop_assert_eq!(mine, other);
            }
        }
    }

    #[test]
    fn what_is_old_or_too_much_is_gone() {
        let mut recent = Recent::new(Nanos(30_000_000_000));
        for number in 0..10 {
            recent.push(batch("n", 1, number)).unwrap();
        }
        let all = Question::everything(Visible::All, Nanos(0), Nanos(i64::MAX as u64));
        let answer = recent.usage(&all).unwrap();
        assert_eq!(answer.totals.all_samples, 3 * 20);
        assert_eq!(answer.totals.time.unwrap().0, Nanos(START + 70_000_000_000));
        assert_eq!(recent.rows, 6);
        let mut wrong = batch("n", 1, 11);
        wrong.period = Nanos(0);
        assert!(recent.push(wrong).is_err());
    }
}

//! The values of metrics for one job, node or library in one time.
//!
//! Owns what each metric is computed of. What cannot be had is absent: idle time where none of it
//! was seen (a job's cores may not be known), counters that nobody counts, functions where nobody
//! resolves them.

mod activities;

use std::collections::{BTreeMap, BTreeSet};

use talea_model::Nanos;
use talea_store::{Dimension, Question, StoreError, Text, Value, rank};

use crate::metrics::{Does, Metric};
use crate::names::{Names, Sum, by_name};
use crate::rule::{Most, Rule};
use crate::subject::{narrow, value_of, value_text};
use crate::tables::{Part, Tables, Wanted, Window};
pub(crate) use activities::Activities;

const MINUTE: u64 = 60_000_000_000;
const HOUR: u64 = 60 * MINUTE;

/// Subject of a rule, in one time range.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) rule: &'a Rule,
    pub(crate) window: Window,
    pub(crate) dimensions: &'a [Dimension],
    pub(crate) key: &'a [Value],
}

impl Subject<'_> {
    fn wanted(&self, rest: &[Dimension]) -> Wanted {
        // A dimension of the subject is no further group.
        let rest = rest.iter().filter(|dimension| !self.dimensions.contains(dimension));
        Wanted {
            window: self.window,
            subject: self.dimensions.to_vec(),
            rest: rest.copied().collect(),
            like: None,
        }
    }

    /// The part of its time in which single cores and addresses are searched. They are kept in the
    /// finest slices only, and a long time has millions of these. Beyond one hour the limit is six
    /// hours of one node, less of many nodes, before the end of the subject's time.
    fn lately(&self, tables: &mut Tables<'_>) -> Result<Window, StoreError> {
        let (from, to) = self.window;
        if to - from <= Nanos(HOUR) {
            return Ok(self.window);
        }
        let at = (self.window, self.key.to_vec());
        if let Some(known) = tables.lately.get(&at) {
            return Ok(*known);
        }
        let nodes = tables.parts(&self.wanted(&[Dimension::Node]), self.key)?.len() as u64;
        let span = 6 * HOUR / nodes.max(1);
        let span = (span - span % (HOUR / 6)).clamp(HOUR / 6, 6 * HOUR);
        let end = self.end(tables)?.clamp(from, to);
        let part = (from.max(end - Nanos(span)), end);
        if part.0 > from {
            tables.note_lately(span / MINUTE);
        }
        let part = if part.0 > from { part } else { self.window };
        tables.lately.insert(at, part);
        Ok(part)
    }

    /// When the job or node was seen last.
    fn end(&self, tables: &mut Tables<'_>) -> Result<Nanos, StoreError> {
        let to = self.window.1;
        if self.dimensions.contains(&Dimension::Job) {
            let mut question = tables.question(self.window);
            narrow(&mut question, self.dimensions, self.key);
            let jobs = tables.store.jobs(&question)?;
            return Ok(jobs.iter().map(|job| job.last).max().unwrap_or(to));
        }
        let Some(Value::Text(node)) = value_of(Dimension::Node, self.dimensions, self.key) else {
            return Ok(to);
        };
        let nodes = tables.nodes()?;
        Ok(nodes.iter().find(|one| one.name == *node).map_or(to, |one| one.last))
    }

    /// The same with the part of its time that all of some metrics can be had of: what is set
    /// against single cores or functions is of their time.
    pub(crate) fn with_time_of(
        mut self,
        metrics: &[Metric],
        tables: &mut Tables<'_>,
    ) -> Result<Self, StoreError> {
        for metric in metrics {
            let fine = match metric {
                Metric::Cores
                | Metric::Most(Dimension::Function | Dimension::Core, _)
                | Metric::Like(Dimension::Function | Dimension::Core, ..) => true,
                Metric::CoresAt(does, tenth) => self.spread(*does, *tenth, tables)?.is_none(),
                _ => false,
            };
            if fine {
                self.window = self.lately(tables)?;
                break;
            }
        }
        Ok(self)
    }

    /// Its samples by activity.
    pub(crate) fn activities(&self, tables: &mut Tables<'_>) -> Result<Activities, StoreError> {
        Ok(Activities::from_parts(&tables.parts(&self.wanted(&[Dimension::Activity]), self.key)?))
    }

    /// The value of a metric; none where it cannot be had.
    pub(crate) fn value(
        &self,
        metric: &Metric,
        tables: &mut Tables<'_>,
        names: &mut dyn Names,
    ) -> Result<Option<f64>, StoreError> {
        match metric {
            Metric::Silent => return self.silent(tables),
            Metric::Intervals => return self.silent_intervals(tables),
            Metric::Counter(counter) => return self.rate(counter, tables),
            _ => {}
        }
        let own = self.activities(tables)?;
        // Idle time that nobody saw is no idle time only if somebody looked.
        let looked = own.nothing() > 0;
        let of_all = |part: u64| looked.then_some((part, own.all()));
        let share = match metric {
            Metric::User(_) => Some((own.user, own.busy())),
            Metric::Kernel(_) => Some((own.kernel, own.busy())),
            Metric::Mpi(_) => Some((own.mpi, own.busy())),
            // Idle time that nobody saw would make it less.
            Metric::Computing(_) => Some((own.computing(), own.all())),
            Metric::Busy(_) => of_all(own.busy()),
            Metric::Waiting(_) => of_all(own.waiting),
            Metric::Idle(_) => of_all(own.nothing()),
            Metric::Share(_) => {
                let per = self.rule.per.dimensions();
                let whole = Subject { dimensions: per, key: &self.key[..per.len()], ..*self };
                Some((own.busy(), whole.activities(tables)?.busy()))
            }
            Metric::Most(dimension, _) => {
                let largest = self.by(*dimension, tables, names)?.into_iter().map(|(_, n)| n).max();
                largest.map(|largest| (largest, own.busy()))
            }
            Metric::Like(dimension, pattern, _) => {
                self.like(*dimension, pattern, tables, names)?.map(|part| (part, own.busy()))
            }
            _ => None,
        };
        Ok(match metric {
            Metric::User(end)
            | Metric::Kernel(end)
            | Metric::Mpi(end)
            | Metric::Computing(end)
            | Metric::Busy(end)
            | Metric::Waiting(end)
            | Metric::Idle(end)
            | Metric::Share(end)
            | Metric::Most(_, end)
            | Metric::Like(_, _, end) => share.and_then(|(part, all)| end.value(part, all)),
            Metric::Samples => Some(own.all() as f64),
            Metric::CoreSeconds => {
                let parts = tables.parts(&self.wanted(&[Dimension::Activity]), self.key)?;
                Some(parts.iter().map(|part| part.core_seconds).sum())
            }
            Metric::Nodes => {
                let parts = tables.parts(&self.wanted(&[Dimension::Node]), self.key)?;
                Some(parts.len() as f64)
            }
            Metric::Cores => {
                let parts =
                    tables.parts(&self.wanted(&[Dimension::Node, Dimension::Core]), self.key)?;
                let known =
                    |part: &&Part| part.key.last().is_some_and(|core| *core != Value::Absent);
                Some(parts.iter().filter(known).count() as f64).filter(|count| *count > 0.0)
            }
            Metric::CoresAt(does, tenth) => {
                self.cores_at(*does, *tenth, looked || own.mpi > 0, tables)?
            }
            Metric::Silent | Metric::Intervals | Metric::Counter(_) => None,
        })
    }

    /// How busy the core is that so many tenths of the others are less busy than.
    fn cores_at(
        &self,
        does: Does,
        tenth: u8,
        looked: bool,
        tables: &mut Tables<'_>,
    ) -> Result<Option<f64>, StoreError> {
        if let Some(spread) = self.spread(does, tenth, tables)? {
            return Ok(Some(spread));
        }
        if !looked {
            return Ok(None);
        }
        let wanted = self.wanted(&[Dimension::Node, Dimension::Core, Dimension::Activity]);
        let parts = tables.parts(&wanted, self.key)?;
        let mut cores: BTreeMap<&[Value], Activities> = BTreeMap::default();
        for part in parts.iter() {
            let Some((activity, core)) = part.key.split_last() else { continue };
            // Old times have no cores.
            if core.last().is_some_and(|core| *core != Value::Absent) {
                cores.entry(core).or_default().add(activity, part.samples);
            }
        }
        let mut shares: Vec<f64> = cores.values().map(|core| core.of_cores(does)).collect();
        shares.sort_by(f64::total_cmp);
        // As agents' buckets have it, so that a rule says the same of both.
        let rank = rank(shares.len() as u128, usize::from(tenth)) as usize;
        Ok(shares.get(rank - 1).copied())
    }

    /// Busy samples by name; `None` has no name.
    fn by(
        &self,
        dimension: Dimension,
        tables: &mut Tables<'_>,
        names: &mut dyn Names,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let wanted = self.wanted(&[dimension, Dimension::Activity]);
        let parts = tables.parts(&wanted, self.key)?;
        let busy = |value: &Value| matches!(value, Value::Activity(does) if does.is_busy());
        let rows = parts.iter().filter(|part| part.key.last().is_some_and(busy));
        let rows = rows.map(|part| (&part.key[0], part.samples, part.core_seconds));
        Ok(named_only(by_name(rows, names)).collect())
    }

    fn like(
        &self,
        dimension: Dimension,
        pattern: &str,
        tables: &mut Tables<'_>,
        names: &mut dyn Names,
    ) -> Result<Option<u64>, StoreError> {
        if dimension == Dimension::Function {
            let all = self.by(dimension, tables, names)?;
            let text = Text::Like(pattern.to_owned());
            let part = all.iter().filter(|(name, _)| text.matches(name)).map(|(_, n)| n).sum();
            return Ok((!all.is_empty()).then_some(part));
        }
        let like = Some((dimension, pattern.to_owned()));
        let wanted = Wanted { like, ..self.wanted(&[Dimension::Activity]) };
        Ok(Some(Activities::from_parts(&tables.parts(&wanted, self.key)?).busy()))
    }

    /// The names of the things that have most of what the rule is about, each inside those named
    /// before it: a core of the node, a function of the library.
    pub(crate) fn named(
        &self,
        wanted: &BTreeSet<Dimension>,
        tables: &mut Tables<'_>,
        names: &mut dyn Names,
    ) -> Result<BTreeMap<Dimension, String>, StoreError> {
        let mut named = BTreeMap::new();
        let mut inside = tables.question(self.window);
        narrow(&mut inside, self.dimensions, self.key);
        for dimension in INWARDS.into_iter().filter(|dimension| wanted.contains(dimension)) {
            if named.contains_key(&dimension) {
                continue;
            }
            if let Some(value) = value_of(dimension, self.dimensions, self.key) {
                named.extend(value_text(value).map(|name| (dimension, name)));
                continue;
            }
            if matches!(dimension, Dimension::Core | Dimension::Function) {
                (inside.from, inside.to) = self.lately(tables)?;
            }
            // The core with most of all nodes' is not always one of the node with most.
            let samples = !matches!(self.rule.most, Most::Counter(_));
            let both = samples && dimension == Dimension::Node && wanted.contains(&Dimension::Core);
            let found = if both {
                (inside.from, inside.to) = self.lately(tables)?;
                self.busiest_core(&inside, tables)?
            } else {
                let name = self.most_of(dimension, &inside, tables, names)?;
                name.into_iter().map(|name| (dimension, name)).collect()
            };
            for (dimension, name) in found {
                let value = match (dimension, name.parse()) {
                    (Dimension::Core | Dimension::User, Ok(number)) => Value::Number(number),
                    _ => Value::Text(name.clone()),
                };
                narrow(&mut inside, &[dimension], &[value]);
                named.insert(dimension, name);
            }
        }
        Ok(named)
    }

    /// Counters of rows grouped by these dimensions.
    fn of_most(&self, inside: &Question, by: &[Dimension]) -> Question {
        let mut question = Question { by: by.to_vec(), ..inside.clone() };
        match &self.rule.most {
            Most::Activity(activity) => question.activity = Some(*activity),
            Most::Busy | Most::Computing | Most::Counter(_) => {
                question.by.push(Dimension::Activity);
            }
        }
        question
    }

    /// The node and the core of it with most samples.
    fn busiest_core(
        &self,
        inside: &Question,
        tables: &Tables<'_>,
    ) -> Result<Vec<(Dimension, String)>, StoreError> {
        let by = [Dimension::Node, Dimension::Core];
        let answer = tables.store.usage(&self.of_most(inside, &by))?;
        let mut sums: BTreeMap<&[Value], u64> = BTreeMap::new();
        for row in answer.rows.iter().filter(|row| self.counts(row, by.len())) {
            let sum = sums.entry(&row.key[..by.len()]).or_default();
            *sum = sum.saturating_add(row.samples);
        }
        let most = sums.into_iter().rev().max_by_key(|(_, samples)| *samples);
        let key = most.map_or(&[][..], |(key, _)| key);
        Ok(by
            .into_iter()
            .zip(key)
            .filter_map(|(by, value)| Some((by, value_text(value)?)))
            .collect())
    }

    /// True for rows of what the rule counts, or of the one activity that was asked for; `at` is
    /// where rows have it.
    fn counts(&self, row: &talea_store::Row, at: usize) -> bool {
        let outside = matches!(self.rule.most, Most::Computing);
        row.key.get(at).is_none_or(|activity| match activity {
            Value::Activity(does) if outside => does.is_computing(),
            Value::Activity(does) => does.is_busy(),
            _ => false,
        })
    }

    fn most_of(
        &self,
        dimension: Dimension,
        inside: &Question,
        tables: &mut Tables<'_>,
        names: &mut dyn Names,
    ) -> Result<Option<String>, StoreError> {
        let mut question = self.of_most(inside, &[dimension]);
        // Rates are kept without cores: inside one, samples decide.
        if let (Most::Counter(counter), None) = (&self.rule.most, question.core)
            && let Some(name) = self.of_counter(counter, dimension, tables, &mut question)?
        {
            return Ok(Some(name));
        }
        let answer = tables.store.usage(&question)?;
        let rows = answer.rows.iter().filter(|row| self.counts(row, 1));
        let rows = rows.map(|row| (&row.key[0], row.samples, row.core_seconds));
        let summed: Vec<_> = named_only(by_name(rows, names)).collect();
        if dimension == Dimension::Function && summed.is_empty() {
            return Ok(rows_first_place(&answer.rows));
        }
        // The first of those with most, in the order of names.
        let most = summed.into_iter().rev().max_by_key(|(_, samples)| *samples);
        Ok(most.map(|(name, _)| name))
    }
}

/// Things that texts name, from what is around to what is inside.
const INWARDS: [Dimension; 9] = [
    Dimension::Job,
    Dimension::User,
    Dimension::Node,
    Dimension::Core,
    Dimension::Executable,
    Dimension::Phase,
    Dimension::Library,
    Dimension::Function,
    Dimension::Activity,
];

/// Samples of what has a name, in the order of names.
fn named_only(sums: BTreeMap<Option<String>, Sum>) -> impl Iterator<Item = (String, u64)> {
    sums.into_iter().filter_map(|(name, sum)| Some((name?, sum.samples)))
}

/// Where functions have no names: file and address of the place with most samples.
fn rows_first_place(rows: &[talea_store::Row]) -> Option<String> {
    rows.iter().find_map(|row| match row.key.first() {
        Some(Value::Function { module: Some(module), address: Some(address) }) => {
            let file = module.path.rsplit('/').next().unwrap_or_default();
            Some(format!("{file}+{address:#x}"))
        }
        _ => None,
    })
}

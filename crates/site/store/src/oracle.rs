//! A store of plain lists, slow and obvious, that `SQLite` must agree with.
//!
//! Owns nothing that anybody but tests may use. It shares the rules of `arrival` with other stores
//! and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use talea_model::network::is_network_library;
use talea_model::notation::moment;
use talea_model::shares::{Activity, Batch, BatchId, Counter, Job};
use talea_model::{Gap, GapKind, Gaps, Module, Nanos};

use crate::arrival::{NO_ADDRESS, cut, losses, nanos, owner, rate_owner, spread_owner};
use crate::sqlite::{DAY, HOUR, Options};
use crate::{
    Answer, Dimension, JobSeen, NodeSeen, Point, Proportion, Put, Question, RateRow, Rates,
    Retained, Row, Series, SpreadSeen, Store, StoreError, Text, Totals, Value, Visible,
};

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Slice {
    node: String,
    level: u8,
    begin: u64,
}

#[derive(Clone)]
struct Kept {
    slice: Slice,
    job: Option<Job>,
    user: Option<u32>,
    executable: Option<Module>,
    library: Option<Module>,
    phase: Option<String>,
    activity: Activity,
    core: Option<u32>,
    address: Option<u64>,
    samples: u64,
    nanos: u64,
}

/// What a counter did: the row says where, with samples and nanoseconds of the rate.
struct Rated {
    row: Kept,
    counter: Counter,
    count: u64,
}

/// Cores of a job by bucket.
struct Spreaded {
    row: Kept,
    counter: Counter,
    cores: Vec<(i16, u32)>,
}

pub(crate) struct Oracle {
    pub(crate) options: Options,
    ids: BTreeSet<BatchId>,
    nodes: BTreeMap<String, (NodeSeen, (Nanos, u32))>,
    widths: BTreeMap<Slice, u64>,
    rows: Vec<Kept>,
    rates: Vec<Rated>,
    spreads: Vec<Spreaded>,
    losses: Vec<(Slice, Gap)>,
}

impl Oracle {
    pub(crate) fn new(options: Options) -> Self {
        let (ids, nodes, widths) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        Self {
            options,
            ids,
            nodes,
            widths,
            rows: Vec::new(),
            rates: Vec::new(),
            spreads: Vec::new(),
            losses: Vec::new(),
        }
    }

    fn one(&mut self, batch: &Batch) -> Put {
        let node = batch.id.node.clone();
        if !self.ids.insert(batch.id.clone()) {
            return Put::Already;
        }
        let slice = self.options.slice.0;
        let begin = batch.begin.0 - batch.begin.0.checked_rem(slice).unwrap_or(0);
        let key = Slice { node: node.clone(), level: 0, begin };
        let width = self.widths.entry(key.clone()).or_default();
        *width = (*width).max(slice).max(batch.end.0 - batch.begin.0);
        let module = |index: Option<u32>| {
            index.map(|index| &batch.modules[index as usize]).map(|module| Module {
                path: cut(&module.path).to_owned(),
                build_id: cut(&module.build_id).to_owned(),
            })
        };
        let job = |index: Option<u32>| {
            let job = index.map(|index| &batch.jobs[index as usize]);
            job.map(|job| Job { id: cut(&job.id).to_owned(), user: job.user })
        };
        let phase =
            |index: Option<u32>| index.map(|index| cut(&batch.phases[index as usize]).to_owned());
        let counter = |index: u32| {
            let Counter { name, unit } = &batch.counters[index as usize];
            Counter { name: cut(name).to_owned(), unit: cut(unit).to_owned() }
        };
        for rate in &batch.rates {
            let row = Kept {
                slice: key.clone(),
                job: job(rate.job),
                user: rate_owner(batch, rate),
                executable: module(rate.executable),
                library: module(rate.library),
                phase: phase(rate.phase),
                activity: Activity::User,
                core: None,
                address: None,
                samples: rate.samples,
                nanos: rate.nanos,
            };
            self.rates.push(Rated { row, counter: counter(rate.counter), count: rate.count });
        }
        for spread in &batch.spreads {
            let row = Kept {
                slice: key.clone(),
                job: job(Some(spread.job)),
                user: spread_owner(batch, spread),
                executable: None,
                library: None,
                phase: None,
                activity: Activity::User,
                core: None,
                address: None,
                samples: 0,
                nanos: 0,
            };
            let (counter, cores) = (counter(spread.counter), spread.cores.clone());
            self.spreads.push(Spreaded { row, counter, cores });
        }
        for share in &batch.shares {
            let library = module(share.library);
            let in_mpi = library.as_ref().is_some_and(|module| is_network_library(&module.path));
            self.rows.push(Kept {
                slice: key.clone(),
                job: job(share.job),
                user: owner(batch, share),
                executable: module(share.executable),
                library,
                phase: phase(share.phase),
                activity: match share.activity {
                    Activity::User if in_mpi => Activity::Mpi,
                    activity => activity,
                },
                core: Some(share.core),
                address: share.address.filter(|&address| address != NO_ADDRESS),
                samples: share.samples,
                nanos: nanos(batch, share) as u64,
            });
        }
        self.losses.extend(losses(batch).iter().map(|gap| (key.clone(), gap.clone())));
        let latest = (batch.end, batch.cores);
        let (seen, last) = self.nodes.entry(node.clone()).or_insert_with(|| {
            let (first, last, cores, sampler) =
                (batch.begin, batch.end, batch.cores, batch.sampler);
            (NodeSeen { name: node, first, last, cores, sampler, interval: None }, latest)
        });
        seen.first = seen.first.min(batch.begin);
        seen.last = seen.last.max(batch.end);
        *last = (*last).max(latest);
        seen.cores = last.1;
        Put::New
    }

    fn is_seen(row: &Kept, visible: Visible) -> bool {
        match visible {
            Visible::All => true,
            Visible::User(user) => row.user == Some(user),
        }
    }

    fn in_time(&self, slice: &Slice, question: &Question) -> bool {
        let end = slice.begin + self.widths[slice];
        slice.begin < question.to.0 && end > question.from.0
    }

    fn matches(&self, row: &Kept, question: &Question) -> bool {
        let text = |asked: &Option<Text>, name: Option<&str>| {
            asked.as_ref().is_none_or(|text| name.is_some_and(|name| text.matches(name)))
        };
        let path = |module: &Option<Module>| module.as_ref().map(|module| module.path.clone());
        Self::is_seen(row, question.visible)
            && self.in_time(&row.slice, question)
            && text(&question.node, Some(&row.slice.node))
            && text(&question.job, row.job.as_ref().map(|job| job.id.as_str()))
            && text(&question.executable, path(&row.executable).as_deref())
            && text(&question.library, path(&row.library).as_deref())
            && text(&question.phase, row.phase.as_deref())
            && question.user.is_none_or(|user| row.user == Some(user))
            && question.core.is_none_or(|core| row.core == Some(core))
            && question.activity.is_none_or(|activity| row.activity == activity)
    }

    fn key(row: &Kept, by: &[Dimension]) -> Vec<Value> {
        let name =
            |name: Option<&String>| name.map_or(Value::Absent, |name| Value::Text(name.clone()));
        let number =
            |number: Option<u32>| number.map_or(Value::Absent, |n| Value::Number(n.into()));
        by.iter()
            .map(|by| match by {
                Dimension::Node => Value::Text(row.slice.node.clone()),
                Dimension::Job => name(row.job.as_ref().map(|job| &job.id)),
                Dimension::User => number(row.user),
                Dimension::Executable => name(row.executable.as_ref().map(|module| &module.path)),
                Dimension::Library => name(row.library.as_ref().map(|module| &module.path)),
                Dimension::Function => {
                    Value::Function { module: row.library.clone(), address: row.address }
                }
                Dimension::Phase => name(row.phase.as_ref()),
                Dimension::Core => number(row.core),
                Dimension::Activity => Value::Activity(row.activity),
            })
            .collect()
    }

    fn gaps(&self, question: &Question) -> Gaps {
        let filtered = question.job.is_some()
            || matches!(question.visible, Visible::User(_))
            || question.user.is_some();
        // Which rows lead to a slice: those of the job, or of the user, or of the module.
        let leads = |slice: &Slice| {
            let driver = Question {
                from: question.from,
                to: question.to,
                node: question.node.clone(),
                job: question.job.clone(),
                user: match question.visible {
                    Visible::All => question.user,
                    Visible::User(user) => Some(user),
                },
                executable: question.executable.clone().filter(|_| !filtered),
                library: question
                    .library
                    .clone()
                    .filter(|_| !filtered && question.executable.is_none()),
                ..Question::everything(Visible::All, question.from, question.to)
            };
            let places = |row: &Kept| {
                // A module is found where it is executed or lies.
                let text = driver.executable.as_ref().or(driver.library.as_ref());
                let is = |module: &Option<Module>| {
                    module.as_ref().is_some_and(|m| text.is_some_and(|text| text.matches(&m.path)))
                };
                let rest = Question { executable: None, library: None, ..driver.clone() };
                self.matches(row, &rest)
                    && (text.is_none() || is(&row.executable) || is(&row.library))
            };
            let any = filtered || driver.executable.is_some() || driver.library.is_some();
            let node = question.node.as_ref().is_none_or(|text| text.matches(&slice.node));
            self.in_time(slice, question)
                && node
                && (!any || self.rows.iter().any(|row| row.slice == *slice && places(row)))
        };
        let mut counts: BTreeMap<Gap, u64> = BTreeMap::new();
        for (slice, gap) in self.losses.iter().filter(|(slice, _)| leads(slice)) {
            let node = &slice.node;
            match question.visible {
                Visible::All => {
                    let detail = format!("node {node}: {}", gap.detail);
                    *counts.entry(Gap { detail, count: 0, ..gap.clone() }).or_default() +=
                        gap.count;
                }
                Visible::User(_) => {
                    let detail =
                        format!("node {node}: agents reported losses; operators see which");
                    counts.insert(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 }, 0);
                }
            }
        }
        let mut gaps = Gaps::default();
        for (gap, count) in counts {
            gaps.note(Gap { count, ..gap });
        }
        gaps
    }

    /// Slices of the time that may be seen, and their samples and nanoseconds.
    fn whole(&self, question: &Question) -> (BTreeSet<&Slice>, u128, u128) {
        let everything = Question::everything(question.visible, question.from, question.to);
        let rows: Vec<&Kept> =
            self.rows.iter().filter(|row| self.matches(row, &everything)).collect();
        let slices = match question.visible {
            Visible::All => {
                self.widths.keys().filter(|slice| self.in_time(slice, question)).collect()
            }
            Visible::User(_) => rows.iter().map(|row| &row.slice).collect(),
        };
        let samples = rows.iter().map(|row| u128::from(row.samples)).sum();
        (slices, samples, rows.iter().map(|row| u128::from(row.nanos)).sum())
    }

    fn answer(&self, question: &Question) -> Result<Answer, StoreError> {
        question.check()?;
        let mut groups: BTreeMap<Vec<Value>, (u64, u128)> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| self.matches(row, question)) {
            let sums = groups.entry(Self::key(row, &question.by)).or_default();
            sums.0 += row.samples;
            sums.1 += u128::from(row.nanos);
        }
        let (slices, all, all_nanos) = self.whole(question);
        let mut gaps = self.gaps(question);
        let begin = slices.iter().map(|slice| Nanos(slice.begin)).min();
        let end = slices.iter().map(|&slice| Nanos(slice.begin + self.widths[slice])).max();
        let time = begin.zip(end);
        if let Some((begin, end)) =
            time.filter(|time| time.0 < question.from || time.1 > question.to)
        {
            let (begin, end) = (moment(begin), moment(end));
            let detail = format!(
                "times are kept in slices, which count whole: the answer is of {begin} to {end}"
            );
            gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count: 0 });
        }
        let coarse = slices.iter().filter(|slice| slice.level > 0).count();
        if coarse > 0 && question.is_fine() {
            let of = slices.len();
            let detail = format!("{coarse} of {of} slices are old and have no cores and addresses");
            gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: coarse as u64 });
        }
        let samples: u64 = groups.values().map(|sums| sums.0).sum();
        let nanos: u128 = groups.values().map(|sums| sums.1).sum();
        let mut rows: Vec<Row> = groups
            .iter()
            .map(|(key, &(hits, nanos))| Row {
                key: key.clone(),
                samples: hits,
                core_seconds: nanos as f64 / 1e9,
                of_all: Proportion::new(hits, all as u64),
                of_matched: Proportion::new(hits, samples),
            })
            .collect();
        rows.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.key.cmp(&b.key)));
        rows.truncate(question.limit);
        let totals = Totals {
            time,
            all_samples: all as u64,
            all_core_seconds: all_nanos as f64 / 1e9,
            samples,
            core_seconds: nanos as f64 / 1e9,
        };
        let groups = groups.len() as u64;
        Ok(Answer { by: question.by.clone(), rows, groups, totals, gaps })
    }
}

impl Store for Oracle {
    fn put_all(&mut self, batches: &[Batch]) -> Result<Vec<Put>, StoreError> {
        batches.iter().try_for_each(crate::check)?;
        Ok(batches.iter().map(|batch| self.one(batch)).collect())
    }

    fn usage(&self, question: &Question) -> Result<Answer, StoreError> {
        self.answer(question).map(Answer::completed)
    }

    fn series(&self, question: &Question, step: Nanos) -> Result<Series, StoreError> {
        question.check_series(step)?;
        let answer = self.answer(question)?;
        let keys: Vec<Vec<Value>> = answer.rows.into_iter().map(|row| row.key).collect();
        let floor = |slice: &Slice| slice.begin / step.0 * step.0;
        let times: BTreeSet<u64> = self.whole(question).0.into_iter().map(floor).collect();
        let everything = Question::everything(question.visible, question.from, question.to);
        let sum = |time: u64, question: &Question, key: Option<&Vec<Value>>| {
            let mut sums = (0, 0_u128);
            for row in self.rows.iter().filter(|row| floor(&row.slice) == time) {
                let is = key.is_none_or(|key| *key == Self::key(row, &question.by));
                if is && self.matches(row, question) {
                    sums = (sums.0 + row.samples, sums.1 + u128::from(row.nanos));
                }
            }
            sums
        };
        let point = |time: u64| {
            let sums: Vec<(u64, u128)> =
                keys.iter().map(|key| sum(time, question, Some(key))).collect();
            Point {
                begin: Nanos(time),
                all_samples: sum(time, &everything, None).0,
                samples: sum(time, question, None).0,
                by_key: sums.iter().map(|sums| sums.0).collect(),
                core_seconds: sums.iter().map(|sums| sums.1 as f64 / 1e9).collect(),
            }
        };
        let points = times.into_iter().map(point).collect();
        let widest = self.whole(question).0.into_iter().map(|slice| self.widths[slice]).max();
        Ok(Series {
            by: question.by.clone(),
            keys: keys.clone(),
            step,
            points,
            gaps: answer.gaps,
            widest: Nanos(widest.unwrap_or(0)),
        })
    }

    fn nodes(&self, visible: Visible) -> Result<Vec<NodeSeen>, StoreError> {
        let own = |seen: &NodeSeen| {
            let rows = self.rows.iter();
            let own: Vec<&Slice> = rows
                .filter(|row| row.slice.node == seen.name && Self::is_seen(row, visible))
                .map(|row| &row.slice)
                .collect();
            let first = own.iter().map(|slice| Nanos(slice.begin)).min()?;
            let last = own.iter().map(|&slice| Nanos(slice.begin + self.widths[slice])).max()?;
            Some(NodeSeen { first, last, ..seen.clone() })
        };
        let interval = |name: &str| {
            let own = |level| {
                self.widths
                    .iter()
                    .filter(move |(slice, _)| slice.node == name && slice.level == level)
            };
            let level = (0..3).find(|&level| own(level).next().is_some())?;
            let mut last: Vec<_> = own(level).map(|(slice, width)| (slice.begin, *width)).collect();
            last.sort_unstable();
            last.iter().rev().take(2).map(|(_, width)| Nanos(*width)).max()
        };
        let nodes = self.nodes.values().map(|(seen, _)| seen);
        Ok(match visible {
            Visible::All => nodes
                .map(|seen| NodeSeen { interval: interval(&seen.name), ..seen.clone() })
                .collect(),
            Visible::User(_) => nodes.filter_map(own).collect(),
        })
    }

    fn jobs(&self, question: &Question) -> Result<Vec<JobSeen>, StoreError> {
        question.check()?;
        let mut jobs: BTreeMap<(String, i64), Vec<&Kept>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| self.matches(row, question)) {
            if let Some(job) = &row.job {
                let key = (job.id.clone(), job.user.map_or(-1, i64::from));
                jobs.entry(key).or_default().push(row);
            }
        }
        let mut seen: Vec<JobSeen> = jobs
            .into_iter()
            .map(|((id, user), rows)| {
                let ends = rows.iter().map(|row| row.slice.begin + self.widths[&row.slice]);
                let nodes: BTreeSet<&String> = rows.iter().map(|row| &row.slice.node).collect();
                let nanos: u128 = rows.iter().map(|row| u128::from(row.nanos)).sum();
                JobSeen {
                    job: Job { id, user: u32::try_from(user).ok() },
                    first: Nanos(rows.iter().map(|row| row.slice.begin).min().unwrap()),
                    last: Nanos(ends.max().unwrap()),
                    nodes: nodes.len() as u64,
                    samples: rows.iter().map(|row| row.samples).sum(),
                    core_seconds: nanos as f64 / 1e9,
                }
            })
            .collect();
        seen.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.job.cmp(&b.job)));
        seen.truncate(question.limit);
        Ok(seen)
    }

    fn rates(&self, question: &Question) -> Result<Rates, StoreError> {
        question.check_rates()?;
        let mut sums: BTreeMap<Vec<Value>, BTreeMap<&Counter, [u64; 3]>> = BTreeMap::new();
        for rate in self.rates.iter().filter(|rate| self.matches(&rate.row, question)) {
            let of_key = sums.entry(Self::key(&rate.row, &question.by)).or_default();
            let sum = of_key.entry(&rate.counter).or_default();
            for (sum, more) in sum.iter_mut().zip([rate.row.samples, rate.row.nanos, rate.count]) {
                *sum += more;
            }
        }
        let groups = sums.len() as u64;
        let mut keys: Vec<_> = sums.into_iter().collect();
        keys.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.values().map(|sums| sums[0]).max()));
        keys.truncate(question.limit);
        let mut rows = Vec::new();
        for (key, of_key) in keys {
            for (counter, [samples, nanos, count]) in of_key {
                let counter = counter.clone();
                rows.push(RateRow { counter, key: key.clone(), samples, nanos, count });
            }
        }
        // The rest is of the time, whatever was counted in it.
        let usage = self.answer(question)?;
        let time = usage.totals.time;
        Ok(Rates { by: question.by.clone(), rows, groups, time, gaps: usage.gaps })
    }

    fn spreads(&self, question: &Question) -> Result<Vec<SpreadSeen>, StoreError> {
        question.check_spreads()?;
        let mut buckets: BTreeMap<&Counter, BTreeMap<i16, u128>> = BTreeMap::new();
        for spread in self.spreads.iter().filter(|spread| self.matches(&spread.row, question)) {
            for &(bucket, cores) in spread.cores.iter().filter(|&&(_, cores)| cores > 0) {
                let of_counter = buckets.entry(&spread.counter).or_default();
                *of_counter.entry(bucket).or_default() += u128::from(cores);
            }
        }
        let spreads =
            buckets.into_iter().filter_map(|(c, b)| SpreadSeen::from_buckets(c.clone(), &b));
        Ok(spreads.take(question.limit).collect())
    }

    fn retain(&mut self, now: Nanos, _: usize) -> Result<Retained, StoreError> {
        let levels = [(0, HOUR.0, self.options.fine_for), (1, DAY.0, self.options.hours_for)];
        for (level, length, kept_for) in levels {
            let old = (now - kept_for).0;
            let goes = |slice: &Slice| slice.level == level && slice.begin < old / length * length;
            let longer = |slice: &Slice| Slice {
                level: level + 1,
                begin: slice.begin / length * length,
                node: slice.node.clone(),
            };
            for row in self.rows.iter_mut().filter(|row| goes(&row.slice)) {
                row.slice = longer(&row.slice);
                (row.core, row.address) = (None, None);
            }
            let rates = self.rates.iter_mut().map(|rate| &mut rate.row);
            let spreads = self.spreads.iter_mut().map(|spread| &mut spread.row);
            for row in rates.chain(spreads).filter(|row| goes(&row.slice)) {
                row.slice = longer(&row.slice);
            }
            for (slice, _) in self.losses.iter_mut().filter(|(slice, _)| goes(slice)) {
                *slice = longer(slice);
            }
            for slice in self.widths.keys().filter(|slice| goes(slice)).cloned().collect::<Vec<_>>()
            {
                self.widths.remove(&slice);
                self.widths.insert(longer(&slice), length);
            }
        }
        Ok(Retained::default())
    }
}

//! Answers of the store, asked for once and kept for all rules that need them.
//!
//! Owns how much is kept and what happens where an answer has more rows than it may: then each job
//! or node is asked for by itself.

use std::collections::BTreeMap;
use std::rc::Rc;

use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_store::{
    Dimension, MOST_ROWS, NodeSeen, QUANTILES, Question, RateRow, Store, StoreError, Text, Value,
    Visible,
};

use crate::subject::narrow;

/// Most rows that are kept between two rules.
const MOST_KEPT: usize = 4 * MOST_ROWS;

/// Begin and end of a time.
pub(crate) type Window = (Nanos, Nanos);

/// Query of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) window: Window,
    /// Dimensions that distinguish subjects.
    pub(crate) subject: Vec<Dimension>,
    /// Dimensions that distinguish the rows of one subject.
    pub(crate) rest: Vec<Dimension>,
    /// Only what is like this.
    pub(crate) like: Option<(Dimension, String)>,
}

/// A row of a subject.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) key: Vec<Value>,
    pub(crate) samples: u64,
    pub(crate) core_seconds: f64,
}

/// Rows by subject.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) subjects: BTreeMap<Vec<Value>, Rc<Vec<Part>>>,
    /// True when no row is missing.
    pub(crate) whole: bool,
    /// Time range of the slices that count; some may reach beyond the queried time.
    pub(crate) time: Option<Window>,
    rows: usize,
}

/// Quantiles over cores of the busy share, and of the share outside MPI.
pub(crate) type BusyCores = [Option<[f64; QUANTILES]>; 2];

/// The store, the visible data, and tables that were read before.
pub(crate) struct Tables<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) visible: Visible,
    /// Only this job, and its owner if it is known.
    pub(crate) job: Option<(String, Option<u32>)>,
    pub(crate) gaps: Gaps,
    pub(crate) rates: Vec<Rc<RateTable>>,
    /// How busy the cores of a job were, and how busy outside MPI, by time and job.
    pub(crate) spreads: BTreeMap<(Window, Vec<Value>), BusyCores>,
    /// The part of a time that single cores of a subject are looked for in.
    pub(crate) lately: BTreeMap<(Window, Vec<Value>), Window>,
    /// When slices of nodes began, before a time.
    pub(crate) begins: Option<(Nanos, BTreeMap<String, Vec<u64>>)>,
    kept: Vec<(Wanted, Rc<Table>)>,
    nodes: Option<Rc<Vec<NodeSeen>>>,
}

impl<'a> Tables<'a> {
    pub(crate) fn new(
        store: &'a dyn Store,
        visible: Visible,
        job: Option<(String, Option<u32>)>,
    ) -> Self {
        Self {
            store,
            visible,
            job,
            gaps: Gaps::default(),
            rates: Vec::new(),
            spreads: BTreeMap::new(),
            lately: BTreeMap::new(),
            begins: None,
            kept: Vec::new(),
            nodes: None,
        }
    }

    /// A question of a time that may be asked at all.
    pub(crate) fn question(&self, (from, to): Window) -> Question {
        let mut question =
            Question { limit: MOST_ROWS, ..Question::everything(self.visible, from, to) };
        if let Some((job, user)) = &self.job {
            question.job = Some(Text::Is(job.clone()));
            question.user = *user;
        }
        question
    }

    fn ask(&self, wanted: &Wanted, subject: Option<&[Value]>) -> Result<(Table, Gaps), StoreError> {
        let mut question = self.question(wanted.window);
        if let Some(subject) = subject {
            narrow(&mut question, &wanted.subject, subject);
        }
        if let Some((dimension, pattern)) = &wanted.like {
            let text = Text::pattern(pattern);
            match dimension {
                Dimension::Executable => question.executable = Some(text),
                Dimension::Library => question.library = Some(text),
                _ => question.phase = Some(text),
            }
        }
        question.by = wanted.subject.iter().chain(&wanted.rest).copied().collect();
        let answer = self.store.usage(&question)?;
        let (rows, whole) = (answer.rows.len(), answer.groups <= answer.rows.len() as u64);
        let mut groups: BTreeMap<Vec<Value>, Vec<Part>> = BTreeMap::new();
        for row in answer.rows {
            let mut key = row.key;
            let rest = key.split_off(wanted.subject.len().min(key.len()));
            let part = Part { key: rest, samples: row.samples, core_seconds: row.core_seconds };
            groups.entry(key).or_default().push(part);
        }
        let subjects = groups.into_iter().map(|(key, parts)| (key, Rc::new(parts))).collect();
        Ok((Table { subjects, whole, time: answer.totals.time, rows }, answer.gaps))
    }

    /// All subjects with their rows.
    pub(crate) fn table(&mut self, wanted: &Wanted) -> Result<Rc<Table>, StoreError> {
        if let Some((_, table)) = self.kept.iter().find(|(known, _)| known == wanted) {
            return Ok(Rc::clone(table));
        }
        let (table, gaps) = self.ask(wanted, None)?;
        // Losses of the store are reported once: by the query that every rule makes first.
        if wanted.rest == [Dimension::Activity] && wanted.like.is_none() {
            self.gaps.merge(gaps);
        }
        let table = Rc::new(table);
        self.kept.push((wanted.clone(), Rc::clone(&table)));
        Ok(table)
    }

    /// The rows of one subject.
    pub(crate) fn parts(
        &mut self,
        wanted: &Wanted,
        subject: &[Value],
    ) -> Result<Rc<Vec<Part>>, StoreError> {
        let table = self.table(wanted)?;
        if table.whole {
            return Ok(table.subjects.get(subject).cloned().unwrap_or_default());
        }
        let (own, _) = self.ask(wanted, Some(subject))?;
        if !own.whole {
            self.note_cut();
        }
        Ok(own.subjects.get(subject).cloned().unwrap_or_default())
    }

    /// Says that an answer had more rows than a store gives.
    pub(crate) fn note_cut(&mut self) {
        let detail = format!("rules looked at the first {MOST_ROWS} rows of an answer only");
        self.gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: 0 });
    }

    /// Says that cores and functions are those of the end of a long time.
    pub(crate) fn note_lately(&mut self, minutes: u64) {
        let detail = format!("single cores and functions are those of the last {minutes} min");
        self.gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count: 0 });
    }

    /// The nodes that may be seen.
    pub(crate) fn nodes(&mut self) -> Result<Rc<Vec<NodeSeen>>, StoreError> {
        if let Some(nodes) = &self.nodes {
            return Ok(Rc::clone(nodes));
        }
        let nodes = Rc::new(self.store.nodes(self.visible)?);
        self.nodes = Some(Rc::clone(&nodes));
        Ok(nodes)
    }

    /// Forgets what was asked, where that has become much.
    pub(crate) fn relieve(&mut self) {
        if self.kept.iter().map(|(_, table)| table.rows).sum::<usize>() > MOST_KEPT {
            self.kept.clear();
        }
        if self.rates.iter().map(|table| table.subjects.len()).sum::<usize>() > MOST_KEPT {
            self.rates.clear();
        }
        if self.spreads.len() > MOST_ROWS {
            self.spreads.clear();
        }
        if self.lately.len() > MOST_ROWS {
            self.lately.clear();
        }
    }
}

/// Rates by subject.
#[derive(Debug)]
pub(crate) struct RateTable {
    pub(crate) window: Window,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) subjects: BTreeMap<Vec<Value>, Rc<Vec<RateRow>>>,
    /// True when no subject is missing.
    pub(crate) whole: bool,
}

impl RateTable {
    pub(crate) fn ask(
        tables: &Tables<'_>,
        question: &Question,
        window: Window,
    ) -> Result<Self, StoreError> {
        let rates = tables.store.rates(question)?;
        let mut groups: BTreeMap<Vec<Value>, Vec<RateRow>> = BTreeMap::new();
        for row in rates.rows {
            groups.entry(row.key.clone()).or_default().push(row);
        }
        let whole = rates.groups <= groups.len() as u64;
        let subjects = groups.into_iter().map(|(key, rows)| (key, Rc::new(rows))).collect();
        Ok(Self { window, dimensions: question.by.clone(), subjects, whole })
    }
}

//! Rates of counters and the spread of cores, for the metrics that need them.
//!
//! Owns how they are asked for: rates once for all subjects, spreads (which a store keeps per job)
//! for one job at a time.

use std::rc::Rc;

use talea_model::shares::{BUSY, COMPUTING};
use talea_store::{Dimension, Question, RateRow, StoreError};

use crate::facts::Subject;
use crate::metrics::Does;
use crate::subject::narrow;
use crate::tables::{RateTable, Tables};

impl Subject<'_> {
    /// Counts a second of a core.
    pub(crate) fn rate(
        &self,
        counter: &str,
        tables: &mut Tables<'_>,
    ) -> Result<Option<f64>, StoreError> {
        let known = tables
            .rates
            .iter()
            .find(|table| table.window == self.window && table.dimensions == self.dimensions);
        let table = if let Some(table) = known {
            Rc::clone(table)
        } else {
            let mut question = tables.question(self.window);
            question.by = self.dimensions.to_vec();
            let table = Rc::new(RateTable::ask(tables, &question, self.window)?);
            tables.rates.push(Rc::clone(&table));
            table
        };
        let mut rows = table.subjects.get(self.key).cloned();
        if rows.is_none() && !table.whole {
            let mut question = tables.question(self.window);
            narrow(&mut question, self.dimensions, self.key);
            question.by = self.dimensions.to_vec();
            let own = RateTable::ask(tables, &question, self.window)?;
            rows = own.subjects.get(self.key).cloned();
        }
        let rows = rows.unwrap_or_default();
        Ok(rows.iter().find(|row| row.counter.name == counter).and_then(RateRow::rate))
    }

    /// A tenth of how busy cores are, as agents saw it; none for what is no job, and where agents
    /// do not say.
    pub(crate) fn spread(
        &self,
        does: Does,
        tenth: u8,
        tables: &mut Tables<'_>,
    ) -> Result<Option<f64>, StoreError> {
        if !self.dimensions.contains(&Dimension::Job) {
            return Ok(None);
        }
        let at = (self.window, self.key.to_vec());
        let [busy, computing] = if let Some(known) = tables.spreads.get(&at) {
            *known
        } else {
            let mut question = tables.question(self.window);
            narrow(&mut question, self.dimensions, self.key);
            let spreads = tables.store.spreads(&question)?;
            let of = |name| spreads.iter().find(|spread| spread.counter.name == name);
            let both = [BUSY, COMPUTING].map(|name| of(name).map(|spread| spread.quantiles));
            tables.spreads.insert(at, both);
            both
        };
        let known = match does {
            Does::Busy => busy,
            Does::Computing => computing,
        };
        Ok(known.and_then(|tenths| tenths.get(usize::from(tenth)).copied()))
    }

    /// The thing of a dimension that a counter counted most at. Where rates are kept without the
    /// dimension the question is narrowed to the library with most, and the caller goes on by
    /// samples.
    pub(crate) fn of_counter(
        &self,
        counter: &str,
        dimension: Dimension,
        tables: &mut Tables<'_>,
        question: &mut Question,
    ) -> Result<Option<String>, StoreError> {
        let kept =
            !matches!(dimension, Dimension::Core | Dimension::Function | Dimension::Activity);
        let by = if kept { dimension } else { Dimension::Library };
        if self.dimensions.contains(&by) {
            return Ok(None);
        }
        let rates = tables.store.rates(&Question { by: vec![by], ..question.clone() })?;
        let named = rates.rows.iter().filter(|row| row.counter.name == counter);
        let known =
            named.filter_map(|row| Some((crate::subject::value_text(row.key.first()?)?, row)));
        // The first of those with most, in the order of names.
        let most = known.max_by(|a, b| a.1.count.cmp(&b.1.count).then_with(|| b.0.cmp(&a.0)));
        let Some((name, row)) = most else { return Ok(None) };
        if kept {
            return Ok(Some(name));
        }
        narrow(question, &[by], &row.key);
        Ok(None)
    }
}

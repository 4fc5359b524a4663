//! Plans of `SQLite` for the rows of a question, for tests of indexes and of cost.

use super::Sqlite;
use super::levels::Grain;
use super::scan::Scan;
use crate::question::Question;

impl Sqlite {
    /// How `SQLite` would find the rows of a question.
    pub(crate) fn plan(&self, question: &Question) -> rusqlite::Result<Vec<String>> {
        self.explained(&Scan::filtered(&self.connection, question, Grain::for_question(question))?)
    }

    /// The same for its rates.
    pub(crate) fn plan_of_rates(&self, question: &Question) -> rusqlite::Result<Vec<String>> {
        self.explained(&Scan::of_counters(&self.connection, question, "rate")?)
    }

    /// Steps of `SQLite` that it takes to find the rows of a question.
    pub(crate) fn steps(&self, question: &Question) -> rusqlite::Result<i32> {
        let scan = Scan::filtered(&self.connection, question, Grain::for_question(question))?;
        let mut select =
            self.connection.prepare(&format!("SELECT sum(r.samples) {}", scan.shares()))?;
        let values = rusqlite::params_from_iter(scan.values());
        select.query_row(values, |row| row.get::<_, Option<i64>>(0))?;
        Ok(select.get_status(rusqlite::StatementStatus::VmStep))
    }

    fn explained(&self, scan: &Scan) -> rusqlite::Result<Vec<String>> {
        let sql = format!("EXPLAIN QUERY PLAN SELECT sum(r.samples) {}", scan.shares());
        let mut explain = self.connection.prepare(&sql)?;
        let values = rusqlite::params_from_iter(scan.values());
        explain.query_map(values, |row| row.get(3))?.collect()
    }
}

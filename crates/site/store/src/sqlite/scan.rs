//! Which rows a question is about, as SQL with everything from outside bound.
//!
//! Owns the way to them: by job before user before module, or by the slices of the time where these
//! are fewer, so that a query of an hour does not search all years. Visibility is decided here and
//! nowhere else: for a user every scan goes through that user's rows. Statements fix the order of
//! tables (`CROSS JOIN`), since `SQLite` would guess without statistics.

mod lead;

use rusqlite::types::Value as Bound;
use rusqlite::{Connection, params_from_iter};

use talea_model::shares::Activity;

use crate::question::{Dimension, Question, Text, Visible};
use crate::sqlite::levels::{self, Ends, Grain};
use crate::sqlite::names::{JOBS, NODES, PHASES, ids, modules, network_libraries};
use crate::sqlite::rows::number_of_activity;
use lead::Lead;

/// Indexes that slices in front of all other tables are found by.
const BY_TIME: &str = "slice_time";
const BY_NODE: &str = "slice_node";

/// How far is counted first; so few that tests with little in their files go both ways.
const FEW: usize = 2;

/// The rows of a question: `s` is the slice, `r` the share.
#[derive(Debug)]
pub(super) struct Scan {
    /// Joins behind slices that are the first table, else all of it.
    from: String,
    /// The index by which slices are found where they are the first table.
    by: Option<&'static str>,
    /// Levels of slices and their times as a table of values, where slices are the first table.
    levels: String,
    grain: Grain,
    table: &'static str,
    join: &'static str,
    on_slices: String,
    on_rows: String,
    /// The number of a row's activity.
    activity: String,
    values: Vec<Bound>,
    slice_values: usize,
}

impl Scan {
    /// The rows that pass the question's filters.
    pub(super) fn filtered(
        connection: &Connection,
        question: &Question,
        grain: Grain,
    ) -> rusqlite::Result<Self> {
        let mut scan = Self::empty(grain);
        // Sums without cores and addresses are kept beside the shares: most questions need no more.
        scan.table = if question.is_fine() { "share" } else { "part" };
        let user = match question.visible {
            Visible::All => question.user,
            Visible::User(user) => Some(user),
        };
        let modules = modules(connection, question)?;
        let (executables, libraries) = &modules;
        if let Some(job) = &question.job {
            scan.through_jobs(connection, question, job, user)?;
        } else if let Some(user) = user {
            scan.through_user(connection, question, user)?;
        } else if let Some(modules) = executables.as_ref().or(libraries.as_ref()) {
            scan.join = if executables.is_some() {
                "r.slice = s.id AND r.executable = a.module"
            } else {
                "r.slice = s.id AND r.library = a.module"
            };
            let each = modules.matches(',').count() + 1;
            scan.on_slices = format!("a.module IN {}", scan.list(modules.clone()));
            scan.lead(connection, question, Lead { each, ..Lead::new("module_at") })?;
        } else if question.node.is_some() {
            scan.by = Some(BY_NODE);
        }
        scan.filter(connection, question, modules)?;
        if let Some(core) = question.core {
            let core = scan.bind(i64::from(core));
            scan.rows(&format!("r.core = {core}"));
        }
        if question.activity.is_some() || question.by.contains(&Dimension::Activity) {
            scan.tell_mpi_apart(connection)?;
        }
        if let Some(activity) = question.activity {
            let activity = scan.bind(number_of_activity(activity));
            let is = format!("{} = {activity}", scan.activity);
            scan.rows(&is);
        }
        Ok(scan)
    }

    /// The same of what counters did: `table` is `rate` or `spread`, which have a table of their
    /// own that leads to them.
    pub(super) fn of_counters(
        connection: &Connection,
        question: &Question,
        table: &'static str,
    ) -> rusqlite::Result<Self> {
        let mut scan = Self { table, ..Self::empty(Grain::Hours) };
        let user = match question.visible {
            Visible::All => question.user,
            Visible::User(user) => Some(user),
        };
        if question.job.is_some() || user.is_some() {
            scan.join = "r.slice = s.id AND r.user = a.user AND r.job = a.job";
        } else if question.node.is_some() {
            scan.by = Some(BY_NODE);
        }
        if let Some(job) = &question.job {
            let jobs = ids(connection, &JOBS, job)?;
            scan.on_slices = format!("a.job IN {}", scan.list(jobs));
        }
        if let Some(user) = user {
            let user = scan.bind(i64::from(user));
            scan.also(&format!("a.user = {user}"));
        }
        if question.job.is_some() || user.is_some() {
            // Jobs are not looked for by slice: one has only as many as it ran.
            let each = usize::from(question.job.is_none());
            scan.lead(connection, question, Lead { each, ..Lead::new("rate_at") })?;
        }
        scan.filter(connection, question, modules(connection, question)?)?;
        Ok(scan)
    }

    /// Time in MPI is kept as time in programs: the library tells it apart, so that a longer list
    /// of libraries is true of old rows too.
    fn tell_mpi_apart(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if let Some(libraries) = network_libraries(connection)? {
            let libraries = self.list(libraries);
            let [user, mpi] = [Activity::User, Activity::Mpi].map(number_of_activity);
            self.activity = format!(
                "(CASE WHEN r.activity = {user} AND r.library IN {libraries} THEN {mpi} ELSE r.activity END)"
            );
        }
        Ok(())
    }

    /// Filters of every scan.
    fn filter(
        &mut self,
        connection: &Connection,
        question: &Question,
        (executables, libraries): (Option<String>, Option<String>),
    ) -> rusqlite::Result<()> {
        self.time(question);
        if let Some(node) = &question.node {
            let nodes = ids(connection, &NODES, node)?;
            let nodes = self.list(nodes);
            self.also(&format!("s.node IN {nodes}"));
        }
        self.slice_values = self.values.len();
        if let (Visible::User(_), Some(user)) = (question.visible, question.user) {
            // Somebody else's, and visible to nobody but them and operators.
            let user = self.bind(i64::from(user));
            self.rows(&format!("r.user = {user}"));
        }
        for (column, list) in [("r.executable", executables), ("r.library", libraries)] {
            if let Some(list) = list {
                let list = self.list(list);
                self.rows(&format!("{column} IN {list}"));
            }
        }
        if let Some(phase) = &question.phase {
            let phases = ids(connection, &PHASES, phase)?;
            let phases = self.list(phases);
            self.rows(&format!("r.phase IN {phases}"));
        }
        Ok(())
    }

    /// Everything of the question's time that may be seen. What of it is in [`Scan::whole`].
    pub(super) fn of_time(
        connection: &Connection,
        question: &Question,
        grain: Grain,
    ) -> rusqlite::Result<Self> {
        let mut scan = Self::empty(grain);
        if let Visible::User(user) = question.visible {
            // Of all nodes, whatever the filters.
            let whole = Question { node: None, ..question.clone() };
            scan.through_user(connection, &whole, user)?;
        }
        scan.time(question);
        scan.slice_values = scan.values.len();
        Ok(scan)
    }

    /// The table that has the sums of [`Scan::of_time`].
    pub(super) fn whole(question: &Question) -> &'static str {
        match question.visible {
            Visible::All => "s",
            Visible::User(_) => "a",
        }
    }

    fn empty(grain: Grain) -> Self {
        Self {
            from: String::new(),
            by: Some(BY_TIME),
            levels: String::new(),
            grain,
            table: "share",
            join: "r.slice = s.id",
            on_slices: String::new(),
            on_rows: String::new(),
            activity: "r.activity".to_owned(),
            values: Vec::new(),
            slice_values: 0,
        }
    }

    /// Rows of jobs, of all that there are for `*`.
    fn through_jobs(
        &mut self,
        connection: &Connection,
        question: &Question,
        job: &Text,
        user: Option<u32>,
    ) -> rusqlite::Result<()> {
        let is_every = matches!(job, Text::Like(pattern) if pattern == "*");
        self.join = "r.slice = s.id AND r.user = a.user AND r.job = a.job";
        if !is_every {
            let jobs = ids(connection, &JOBS, job)?;
            let jobs = self.list(jobs);
            self.also(&format!("a.job IN {jobs}"));
        }
        let user = user.map(|user| self.bind(i64::from(user)));
        if let Some(user) = &user {
            self.also(&format!("a.user = {user}"));
        }
        let mut lead = Lead::new("job_at");
        if is_indexed(connection)? {
            lead.index = "INDEXED BY job_slice";
            if let Some(user) = user.filter(|_| is_every) {
                lead.by = "user_at";
                lead.from = format!(
                    "user_at u CROSS JOIN slice s ON s.id = u.slice AND u.user = {user} \
                     CROSS JOIN job_at a INDEXED BY job_slice ON a.slice = s.id"
                );
            }
        } else {
            lead.each = 0;
        }
        self.lead(connection, question, lead)
    }

    fn through_user(
        &mut self,
        connection: &Connection,
        question: &Question,
        user: u32,
    ) -> rusqlite::Result<()> {
        self.join = "r.slice = s.id AND r.user = a.user";
        let user = self.bind(i64::from(user));
        self.also(&format!("a.user = {user}"));
        self.lead(connection, question, Lead::new("user_at"))
    }

    /// Goes by the table that the conditions so far are of, or by the slices of the time, whichever
    /// is less to look at.
    fn lead(
        &mut self,
        connection: &Connection,
        question: &Question,
        lead: Lead,
    ) -> rusqlite::Result<()> {
        let mut slices = Self::empty(self.grain);
        slices.time(question);
        if let Some(node) = &question.node {
            slices.by = Some(BY_NODE);
            let nodes = ids(connection, &NODES, node)?;
            let nodes = slices.list(nodes);
            slices.also(&format!("s.node IN {nodes}"));
        }
        let rows = match &*self.on_slices {
            "" => format!("FROM {} a", lead.by),
            conditions => format!("FROM {} a WHERE {conditions}", lead.by),
        };
        self.by = None;
        // Neither is counted much further than the other, however many there are.
        let mut most = FEW;
        while lead.each > 0 && counted(connection, &rows, &self.values, most)? == most {
            let of_slices = most / lead.each;
            if of_slices > 0
                && counted(connection, &slices.slices(), &slices.values, of_slices)? < of_slices
            {
                self.by = slices.by;
                break;
            }
            most = most.saturating_mul(8).min(i64::MAX as usize);
        }
        self.from = if self.by.is_some() {
            let Lead { table, index, .. } = lead;
            format!(" CROSS JOIN {table} a {index} ON a.slice = s.id")
        } else {
            lead.from
        };
        Ok(())
    }

    /// Slices that the question's time touches, of the levels that its grain needs.
    fn time(&mut self, question: &Question) {
        let ends = Ends::new(question, self.grain);
        let ends = [ends.from, ends.to, ends.first, ends.last].map(|at| self.bind(at));
        let [from, to, first, last] = &ends;
        if self.by.is_some() {
            self.levels = levels::table(from, to, first, last);
            self.also(&levels::in_table(from, to));
        } else {
            self.also(&levels::touched(from, to, first, last));
        }
    }

    /// The place of a value that is bound.
    pub(super) fn bind(&mut self, value: impl Into<Bound>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn list(&mut self, ids: String) -> String {
        format!("(SELECT value FROM json_each({}))", self.bind(ids))
    }

    fn also(&mut self, condition: &str) {
        if !self.on_slices.is_empty() {
            self.on_slices.push_str(" AND ");
        }
        self.on_slices.push_str(condition);
    }

    fn rows(&mut self, condition: &str) {
        self.on_rows.push_str(" AND ");
        self.on_rows.push_str(condition);
    }

    /// `FROM` to `WHERE` of the slices alone.
    pub(super) fn slices(&self) -> String {
        format!("FROM {} WHERE {}", self.tables(), self.on_slices)
    }

    /// `FROM` to `WHERE` of the shares.
    pub(super) fn shares(&self) -> String {
        let Self { table, join, on_slices, on_rows, .. } = self;
        format!("FROM {} CROSS JOIN {table} r ON {join} WHERE {on_slices}{on_rows}", self.tables())
    }

    fn tables(&self) -> String {
        let Self { from, levels, .. } = self;
        match self.by {
            Some(index) => format!("{levels} CROSS JOIN slice s INDEXED BY {index}{from}"),
            None => from.clone(),
        }
    }

    /// The number of a row's activity.
    pub(super) fn activity(&self) -> &str {
        &self.activity
    }

    /// Values that are bound in [`Scan::slices`].
    pub(super) fn slice_values(&self) -> &[Bound] {
        &self.values[..self.slice_values]
    }

    /// Values that are bound in [`Scan::shares`], and after it.
    pub(super) fn values(&self) -> &[Bound] {
        &self.values
    }
}

/// How many rows there are, as far as so many.
fn counted(
    connection: &Connection,
    rows: &str,
    values: &[Bound],
    most: usize,
) -> rusqlite::Result<usize> {
    let sql = format!("SELECT count(*) FROM (SELECT 1 {rows} LIMIT {most})");
    let count: i64 =
        connection.prepare_cached(&sql)?.query_row(params_from_iter(values), |row| row.get(0))?;
    Ok(count.max(0) as usize)
}

/// True where jobs are found by slice. Who only reads a file of before cannot change that.
fn is_indexed(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'job_slice')";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

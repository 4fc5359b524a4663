//! Where records of a trace happen: applications, their tasks, the tasks' threads, and nodes with
//! CPUs.
//!
//! Owns the numbering: location 0 is the first thread of the first task of the first application,
//! and so on in that order. Only tasks take memory, not threads: a header may claim many of them in
//! few bytes, and up to [`MOST_LOCATIONS`] are believed.

/// Most threads of one trace.
pub const MOST_LOCATIONS: u32 = 1 << 24;

/// More threads than are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyLocations;

impl std::fmt::Display for TooManyLocations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "expected at most {MOST_LOCATIONS} threads")
    }
}

impl std::error::Error for TooManyLocations {}

/// One location. All numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Application.
    pub application: u32,
    /// Task (process) of the application.
    pub task: u32,
    /// Thread of the task.
    pub thread: u32,
    /// Node that the task runs on; absent where it is not known.
    pub node: Option<u32>,
}

/// Names of one level of things, as a source lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// `CPU`, `NODE`, `TASK`, `THREAD`, or what else the source says.
    pub name: String,
    /// In the order of their numbers.
    pub rows: Vec<String>,
}

/// All locations of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locations {
    /// CPUs of each node; empty where the source knows no nodes.
    pub nodes: Vec<u32>,
    /// Names of threads, nodes and so on, as far as the source has them.
    pub levels: Vec<Level>,
    /// One past the last task of each application.
    applications: Vec<u32>,
    /// One past the last location of each task.
    tasks: Vec<u32>,
    /// Node of each task; 0: not known.
    task_node: Vec<u32>,
}

impl Locations {
    /// Begins the next application; tasks that follow belong to it.
    pub fn push_application(&mut self) {
        self.applications.push(self.tasks.len() as u32);
    }

    /// Adds a task to the last application, which begins where there is none. `node` counts from 1;
    /// 0 where it is not known.
    pub fn push_task(&mut self, threads: u32, node: u32) -> Result<(), TooManyLocations> {
        let end = self.end(self.tasks.len()).checked_add(threads).ok_or(TooManyLocations)?;
        // A task without threads has no location, but is there.
        if end > MOST_LOCATIONS || self.tasks.len() >= MOST_LOCATIONS as usize {
            return Err(TooManyLocations);
        }
        if self.applications.is_empty() {
            self.push_application();
        }
        self.tasks.push(end);
        self.task_node.push(node);
        if let Some(application) = self.applications.last_mut() {
            *application = self.tasks.len() as u32;
        }
        Ok(())
    }

    /// Number of locations.
    pub fn len(&self) -> usize {
        self.end(self.tasks.len()) as usize
    }

    /// True without locations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of applications.
    pub fn applications(&self) -> usize {
        self.applications.len()
    }

    /// Threads and node (0: not known) of each task of an application, which counts from 1.
    pub fn tasks(&self, application: u32) -> impl ExactSizeIterator<Item = (u32, u32)> + '_ {
        let tasks = self.tasks_of(application).unwrap_or_default();
        tasks.map(|task| (self.tasks[task] - self.end(task), self.task_node[task]))
    }

    /// The location of a thread; absent where there is none. Numbers count from 1.
    #[inline]
    pub fn find(&self, application: u32, task: u32, thread: u32) -> Option<u32> {
        let tasks = self.tasks_of(application)?;
        let task = tasks.start.checked_add(task.checked_sub(1)? as usize)?;
        if task >= tasks.end {
            return None;
        }
        let end = *self.tasks.get(task)?;
        let location = self.end(task).checked_add(thread.checked_sub(1)?)?;
        (location < end).then_some(location)
    }

    /// Which thread a location is; absent where there is none.
    pub fn get(&self, location: u32) -> Option<Place> {
        let task = self.tasks.partition_point(|&end| end <= location);
        if task >= self.tasks.len() {
            return None;
        }
        let application = self.applications.partition_point(|&end| end as usize <= task);
        let first_task = self.tasks_of(application as u32 + 1)?.start;
        Some(Place {
            application: application as u32 + 1,
            task: (task - first_task) as u32 + 1,
            thread: location - self.end(task) + 1,
            node: Some(self.task_node[task]).filter(|&node| node != 0),
        })
    }

    /// The names of a level, such as `NODE`; absent where the source has none.
    pub fn level(&self, name: &str) -> Option<&[String]> {
        self.levels.iter().find(|level| level.name == name).map(|level| &level.rows[..])
    }

    /// The name of a location among those of the level `THREAD`.
    pub fn name(&self, location: u32) -> Option<&str> {
        self.level("THREAD")?.get(location as usize).map(String::as_str)
    }

    /// First location behind the first `tasks` tasks.
    #[inline]
    fn end(&self, tasks: usize) -> u32 {
        match tasks.checked_sub(1) {
            Some(last) => self.tasks.get(last).copied().unwrap_or_default(),
            None => 0,
        }
    }

    #[inline]
    fn tasks_of(&self, application: u32) -> Option<std::ops::Range<usize>> {
        let at = application.checked_sub(1)? as usize;
        let end = *self.applications.get(at)? as usize;
        let begin = match at.checked_sub(1) {
            Some(before) => self.applications[before] as usize,
            None => 0,
        };
        Some(begin..end)
    }
}

//! Call sites summed by line of the source and by routine of the program.
//!
//! Owns the grouping. One line has a call site for each path that leads to it: the sum is its cost
//! over all callers. A line is one of one procedure; a routine is a function with all procedures
//! that it calls itself.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use talea_flow::stats::CallStats;
use talea_model::Nanos;
use talea_report::data::Category;

use super::Analysis;

/// Key of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Procedure, file and line.
    Line,
    /// The calling function.
    Routine,
}

/// Call sites that belong together.
#[derive(Debug)]
pub struct Group {
    /// Their numbers, most time first; at least one.
    pub sites: Vec<u32>,
    /// Their procedures, most time first.
    pub procedures: Vec<String>,
    /// `MPI_Waitall halo.c:120`, or the routine.
    pub label: String,
    /// The largest part of its time.
    pub category: Category,
    /// True if all of them begin or end MPI.
    pub bracket: bool,
    /// Their figures together.
    pub stats: CallStats,
    /// Time between beginning and ending MPI.
    pub inside: Nanos,
}

impl Analysis<'_> {
    /// Call sites of one line, or routine, together; most time first.
    pub fn groups(&self, by: By) -> Vec<Group> {
        let sites = self.calls.sites();
        let mut together: BTreeMap<(String, String), Vec<u32>> = BTreeMap::new();
        for at in self.calls.by_time() {
            let site = &sites[at as usize];
            let key = match by {
                By::Line => (self.line(at), site.procedure.clone()),
                By::Routine => (self.routine(at), String::new()),
            };
            together.entry(key).or_default().push(at);
        }
        let mut groups: Vec<Group> =
            together.into_iter().map(|(key, sites)| self.group(by, &key.0, sites)).collect();
        groups.sort_by_key(|group| (Reverse(group.stats.time), group.sites[0]));
        groups
    }

    fn group(&self, by: By, name: &str, members: Vec<u32>) -> Group {
        let sites = || members.iter().map(|&at| &self.calls.sites()[at as usize]);
        let (mut stats, mut procedures) = (CallStats::default(), Vec::<String>::new());
        let mut times: BTreeMap<Category, Nanos> = BTreeMap::new();
        for site in sites() {
            stats.merge(&site.stats);
            *times.entry(site.category).or_default() += site.stats.time;
            if !procedures.contains(&site.procedure) {
                procedures.push(site.procedure.clone());
            }
        }
        let category = times.into_iter().max_by_key(|(_, time)| *time);
        let signature = self.calls.sites()[members[0] as usize].signature;
        let label = match by {
            By::Routine => name.to_owned(),
            By::Line if members.len() == 1 => self.places.label(signature),
            By::Line => format!("{} {}", procedures[0], self.places.short(signature.path)),
        };
        Group {
            label,
            procedures,
            category: category.map_or(Category::Setup, |(category, _)| category),
            bracket: sites().all(|site| site.bracket),
            inside: sites().filter(|site| !site.bracket).map(|site| site.stats.time).sum(),
            stats,
            sites: members,
        }
    }

    /// The identity of a site's line.
    fn line(&self, site: u32) -> String {
        let frames = self.places.frames(self.calls.sites()[site as usize].signature.path);
        frames.first().map_or_else(String::new, |frame| match (&frame.file, frame.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => frame.address.clone(),
        })
    }

    /// The calling function, or its module if nothing else is known.
    fn routine(&self, site: u32) -> String {
        let frames = self.places.frames(self.calls.sites()[site as usize].signature.path);
        let Some(frame) = frames.first() else { return "?".to_owned() };
        let module = || frame.address.split('+').next().unwrap_or(&frame.address);
        let name = frame.function.as_deref().map_or_else(module, talea_model::without_parameters);
        name.to_owned()
    }
}

//! Counters in the texts of `/proc` and `/sys`.
//!
//! Owns the source `proc`: which files are read for the counters that were asked for (each once a
//! reading, however many counters stand in it), growth, and what happens when a PU or device goes
//! away: no number and a gap, until it comes back. For processes it has times and page faults of
//! their threads ([`tasks`]).

mod names;
mod tasks;
mod texts;

use std::collections::BTreeMap;

use talea_model::{GapKind, Gaps, Nanos};
use talea_topology::Place;

use crate::cpus::{self, OnlineWatch};
use crate::family::Family;
use crate::growth::{Grown, Growth};
use crate::root::{Root, Watched};
use crate::source::{CounterSource, Offer, OpenError, Opened, Target, gap};
use names::Cell;
use tasks::{Figure, Tasks};
use texts::{Spot, Tables};

/// Texts of `/proc` and `/sys`.
#[derive(Debug)]
pub struct ProcSource {
    root: Root,
    counters: Vec<Counter>,
    files: Vec<Source>,
    tables: Tables,
    tasks: Option<Tasks>,
    online: OnlineWatch,
}

#[derive(Debug)]
struct Counter {
    name: String,
    places: Vec<Place>,
    factor: f64,
    growing: bool,
    /// One for each cell.
    growth: Growth,
}

/// A file and the numbers in it.
#[derive(Debug)]
struct Source {
    file: Watched,
    needs: Needs,
    cells: Vec<Wanted>,
}

/// Which table a file's text is made into before its numbers are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Times,
    Columns,
    Nothing,
}

#[derive(Debug)]
struct Wanted {
    counter: usize,
    place: usize,
    /// Number among the counter's cells.
    cell: usize,
    spot: Spot,
}

impl ProcSource {
    /// With the texts below this root.
    pub fn new(root: Root) -> Self {
        let tables = Tables::default();
        let online = OnlineWatch::new(&root);
        Self { root, counters: Vec::new(), files: Vec::new(), tables, tasks: None, online }
    }

    /// Adds a counter that stands in files.
    fn watch(&mut self, name: &str, files: &mut BTreeMap<String, Source>) -> Result<(), String> {
        let found = names::find(&self.root, name).ok_or("only threads of processes have it")??;
        let counter = self.counters.len();
        let mut places: Vec<Place> = Vec::new();
        let mut numbers: BTreeMap<Place, usize> = BTreeMap::new();
        let count = found.cells.len();
        for (cell, Cell { place, path, spot }) in found.cells.into_iter().enumerate() {
            let place = *numbers.entry(place.clone()).or_insert_with(|| {
                places.push(place);
                places.len() - 1
            });
            let needs = match spot {
                Spot::Times(..) => Needs::Times,
                Spot::Column(_) => Needs::Columns,
                _ => Needs::Nothing,
            };
            let file = files.entry(path).or_insert_with_key(|path| Source {
                file: self.root.watch(path),
                needs,
                cells: Vec::new(),
            });
            if needs != Needs::Nothing {
                file.needs = needs;
            }
            file.cells.push(Wanted { counter, place, cell, spot });
        }
        self.counters.push(Counter {
            name: name.to_owned(),
            places,
            factor: found.factor,
            growing: found.offered.growing,
            growth: Growth::new(count),
        });
        Ok(())
    }

    /// A counter without places.
    fn leave_out(&mut self, name: &str) {
        let (name, places, growth) = (name.to_owned(), Vec::new(), Growth::default());
        self.counters.push(Counter { name, places, factor: 1.0, growing: true, growth });
    }

    /// Opens a counter for processes; true if their threads have it.
    fn figure(&mut self, name: &str, pus: &[u32], gaps: &mut Gaps) -> Option<Figure> {
        let figure = Figure::named(name);
        if figure.is_some() {
            self.leave_out(name);
            let places = pus.iter().map(|&pu| Place::Pu(pu)).collect();
            self.counters.last_mut()?.places = places;
            let detail = "by thread, at the PU where each ran last";
            gaps.note(gap(GapKind::Estimated, format!("`{name}` of processes is known {detail}")));
        }
        figure
    }

    fn read_files(&mut self, numbers: &mut [Vec<f64>], gaps: &mut Gaps) {
        for source in &mut self.files {
            let text = source.file.read();
            match source.needs {
                Needs::Times => self.tables.stat(text.unwrap_or_default()),
                Needs::Columns => self.tables.columns(text.unwrap_or_default()),
                Needs::Nothing => {}
            }
            for wanted in &source.cells {
                let total = text.and_then(|text| self.tables.find(&wanted.spot, text));
                let counter = &mut self.counters[wanted.counter];
                let number = if counter.growing {
                    let grown = counter.growth.next(wanted.cell, total);
                    if let Grown::Absent | Grown::Fell = grown {
                        note(counter, wanted.place, grown, gaps);
                    }
                    grown.number()
                } else {
                    if total.is_none() {
                        note(counter, wanted.place, Grown::Absent, gaps);
                    }
                    total.map_or(f64::NAN, |total| total as f64)
                };
                if let Some(out) =
                    numbers.get_mut(wanted.counter).and_then(|n| n.get_mut(wanted.place))
                {
                    *out += number * counter.factor;
                }
            }
        }
    }
}

fn note(counter: &Counter, place: usize, grown: Grown, gaps: &mut Gaps) {
    let what = match grown {
        Grown::Fell => "was reset or went back",
        _ => "could not be read for some time",
    };
    let place = match counter.places.get(place) {
        Some(Place::Pu(pu)) => format!(" on PU {pu}"),
        Some(Place::Numa(node)) => format!(" of NUMA node {node}"),
        Some(Place::Device(name)) => format!(" of `{name}`"),
        _ => String::new(),
    };
    gaps.note(gap(GapKind::Missing, format!("`{}`{place} {what}", counter.name)));
}

/// The number of a cell, read by itself.
fn value(root: &Root, cell: &Cell) -> Option<u64> {
    Tables::default().find(&cell.spot, &root.read(&cell.path)?)
}

impl CounterSource for ProcSource {
    fn name(&self) -> &'static str {
        "proc"
    }

    fn offers(&self, counter: &str) -> Offer {
        match names::find(&self.root, counter) {
            Some(Ok(found)) => Offer::Yes(found.offered),
            Some(Err(reason)) => Offer::Refused(reason),
            // Only processes have these.
            None => Figure::named(counter).map_or(Offer::No, |f| Offer::Yes(f.offered())),
        }
    }

    fn known(&self) -> Vec<String> {
        let mut names = names::known(&self.root);
        names.push("proc:minor-faults".to_owned());
        names.sort();
        names
    }

    fn open(
        &mut self,
        counters: &[String],
        target: &Target,
        gaps: &mut Gaps,
    ) -> Result<Vec<Opened>, OpenError> {
        (self.counters, self.files, self.tasks) = (Vec::new(), Vec::new(), None);
        self.online = OnlineWatch::new(&self.root);
        let mut files = BTreeMap::new();
        let (mut figures, mut whole) = (Vec::new(), Vec::new());
        let pus: Vec<u32> = cpus::online(&self.root).iter().map(|pu| pu as u32).collect();
        for name in counters {
            if matches!(target, Target::Processes { .. })
                && let Some(figure) = self.figure(name, &pus, gaps)
            {
                figures.push((self.counters.len() - 1, figure));
            } else if let Err(reason) = self.watch(name, &mut files) {
                let detail = format!("counter `{name}` is not measured: {reason}");
                gaps.note(gap(GapKind::Unsupported, detail));
                self.leave_out(name);
            } else if matches!(target, Target::Processes { .. }) {
                whole.push(format!("`{name}`"));
            }
        }
        if !whole.is_empty() {
            let (names, s) = (whole.join(", "), if whole.len() == 1 { "s" } else { "" });
            let detail = format!("{names} count{s} the whole machine, not only the processes");
            gaps.note(gap(GapKind::Estimated, detail));
        }
        self.files = files.into_values().collect();
        if let Target::Processes { pids, children } = target
            && !figures.is_empty()
        {
            let mut family = Family::new(pids, *children);
            if family.processes(&self.root).is_empty() {
                let pids = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
                return Err(OpenError::NoProcess { pids });
            }
            let tasks = self.tasks.insert(Tasks::new(family, figures, &pus));
            tasks.begin(&self.root);
        }
        let opened: Vec<Opened> =
            self.counters.iter().map(|c| Opened { places: c.places.clone() }).collect();
        // The first totals; what they say of gaps is said again by the first reading.
        let mut numbers: Vec<Vec<f64>> = opened.iter().map(|o| vec![0.0; o.places.len()]).collect();
        self.read_files(&mut numbers, &mut Gaps::default());
        Ok(opened)
    }

    fn read(&mut self, _: Nanos, numbers: &mut [Vec<f64>], gaps: &mut Gaps) {
        // Cells at the same place are added; what has none stays absent.
        for numbers in numbers.iter_mut() {
            numbers.fill(0.0);
        }
        // PUs that left show in the texts; those that came later are said here.
        self.online.changed(gaps);
        self.read_files(numbers, gaps);
        if let Some(tasks) = &mut self.tasks {
            tasks.read(&self.root, numbers, gaps);
        }
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod source_tests;

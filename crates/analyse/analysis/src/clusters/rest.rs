//! Classification of all bursts of a run, where only some were held in memory and clustered.
//!
//! Owns the second reading. Each burst takes the label of the nearest clustered point as it is
//! read. Numbers, times, ranks, ranges, counters and call sites of clusters are then those of all
//! bursts. Counters come from the events that the first reading kept. At the end clusters are
//! numbered by their time.

use std::path::Path;
use std::time::Instant;

use talea_cluster::bursts::{Bursts, Counter, CounterEvents, CounterReader, Site, Source};
use talea_cluster::classify::Classifier;
use talea_cluster::prepare::Spacing;
use talea_cluster::{Clustering, Label};
use talea_metric::measure::{Chosen as Part, Span};
use talea_model::trace::types;
use talea_model::{Rank, Trace};

use super::counts::IpcPlaces;
use super::fill::reasons;
use super::points;
use super::study::Chosen;
use super::values::values;
use super::whole::{Tally, Whole};
use super::{Labels, Options, Study, StudyError};
use crate::Progress;
use crate::input::{self, Extent, InputError, Stretch, Visitor};

/// Bursts that are classified at once.
const CHUNK: usize = 1 << 14;

/// Errors of reading a run once more.
#[derive(Debug, thiserror::Error)]
pub enum RestError {
    /// The run.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Classification.
    #[error(transparent)]
    Study(#[from] StudyError),
}

/// Completes the study of the run at `path` if only some of its bursts were kept. `trace` has the
/// records of the first reading: samples and readings of counters.
pub(crate) fn complete(
    study: &mut Study,
    (path, trace): (&Path, Option<&Trace>),
    how: &Options,
    progress: Progress<'_>,
) -> Result<(), RestError> {
    let Some(trace) = trace.filter(|_| !study.bursts.in_window.is_empty()) else { return Ok(()) };
    let begin = Instant::now();
    let [eps] = study.eps[..] else {
        return Err(StudyError::OneRadius("a run with more calls than are held in memory").into());
    };
    let labels = &study.clustering.labels;
    let classifier = Classifier::new(&study.prepared.points, labels, eps);
    let events = trace.events_by_location();
    let types: Vec<u32> = study.bursts.counters.iter().map(|one| one.event_type).collect();
    let context = Context {
        study,
        how,
        classifier: classifier.map_err(StudyError::from)?,
        counters: CounterEvents::new(trace, &events, &types),
        both: IpcPlaces::from_bursts(&study.bursts),
    };
    let extent = how.extent();
    let mut whole = Whole { labels: context.tallies(), ..Whole::default() };
    let mut failed = None;
    let thread = |location| context.thread(location);
    input::visit(path, extent, &mut *progress, thread, |mut thread| {
        if how.labels == Labels::Kept {
            whole.values.resize(thread.location as usize, Vec::new());
            whole.values.push(std::mem::take(&mut thread.visitor.values));
        }
        failed = failed.take().or(thread.visitor.into_whole(&thread.sites, &mut whole).err());
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let clustered = study.prepared.points.len();
    study.subset = Some(match study.subset.take() {
        Some(subset) => Chosen { rule: format!("{} of bursts in memory", subset.rule), ..subset },
        None => Chosen { rule: "bursts in memory".to_owned(), points: clustered },
    });
    study.renumber(&mut whole);
    study.whole = Some(whole);
    study.seconds.cluster += begin.elapsed().as_secs_f64();
    Ok(())
}

impl Options {
    /// The extent of the computation that is read of a run.
    pub(super) fn extent(&self) -> Extent {
        Extent { part: self.part, most: self.most.unwrap_or(Extent::MOST) }
    }
}

impl Study {
    /// Numbers clusters by the time of all of their bursts.
    fn renumber(&mut self, whole: &mut Whole) {
        let mut order: Vec<usize> = (1..whole.labels.len()).collect();
        order.sort_by_key(|&label| std::cmp::Reverse(whole.labels[label].nanos));
        let mut label_of = vec![Label::NOISE; whole.labels.len()];
        for (place, &label) in order.iter().enumerate() {
            label_of[label] = Label::of_place(place);
        }
        let Clustering { labels, clusters, .. } = &mut self.clustering;
        for label in labels {
            *label = label_of[label.0 as usize];
        }
        *clusters = order.iter().filter_map(|&label| clusters.get(label - 1).copied()).collect();
        if self.eps.len() == order.len() && order.len() > 1 {
            self.eps = order.iter().map(|&label| self.eps[label - 1]).collect();
        }
        for kept in self.check.iter_mut().flat_map(|check| &mut check.kept) {
            kept.found = label_of[kept.found.0 as usize];
        }
        let first = types::CLUSTER_FIRST as u32;
        for value in whole.values.iter_mut().flatten().filter(|value| **value >= first) {
            let place = label_of[(*value - first) as usize + 1].place().unwrap_or_default();
            *value = first + place as u32;
        }
        let scores = &self.score.clusters;
        self.score.clusters =
            order.iter().map(|&label| scores.get(label - 1).copied().flatten()).collect();
        let noise = std::iter::once(0);
        let tallies = noise.chain(order).map(|label| std::mem::take(&mut whole.labels[label]));
        whole.labels = tallies.collect();
    }
}

/// Study and classifier that all threads share.
struct Context<'a> {
    study: &'a Study,
    how: &'a Options,
    classifier: Classifier,
    /// Source of the counters of bursts.
    counters: CounterEvents<'a>,
    both: Option<IpcPlaces>,
}

impl Context<'_> {
    fn tallies(&self) -> Vec<Tally> {
        let counters = self.study.bursts.counters.len();
        let empty = Tally::new(self.study.dimensions.len(), counters);
        vec![empty; self.study.clustering.clusters.len() + 1]
    }

    fn thread(&self, location: u32) -> Thread<'_> {
        let of_source = &self.study.bursts;
        let empty = |one: &Counter| Counter {
            event_type: one.event_type,
            name: one.name.clone(),
            values: Vec::new(),
        };
        let bursts = Bursts {
            source: Source::States,
            site_types: of_source.site_types,
            counters: of_source.counters.iter().map(empty).collect(),
            ..Bursts::default()
        };
        Thread {
            context: self,
            location,
            bursts,
            reader: self.counters.reader(location),
            found: Whole { labels: self.tallies(), ..Whole::default() },
            times: vec![Vec::new(); self.study.clustering.clusters.len() + 1],
            values: Vec::new(),
            failed: None,
        }
    }
}

/// Bursts of a thread that wait for their labels, and the figures of those before.
struct Thread<'a> {
    context: &'a Context<'a>,
    location: u32,
    bursts: Bursts,
    /// Reader of counters, at the last burst that was classified.
    reader: CounterReader<'a>,
    found: Whole,
    /// Time of each site, by label.
    times: Vec<Vec<u64>>,
    /// The value of each burst, where these are kept.
    values: Vec<u32>,
    failed: Option<StudyError>,
}

impl Visitor for Thread<'_> {
    fn stretch(&mut self, Stretch { begin, end, site }: Stretch) {
        let span = self.context.study.looked.span;
        let holds = |span: Span| span.chosen == Part::Whole || span.holds(begin, end);
        if !span.is_none_or(holds) {
            self.found.outside += 1;
            return;
        }
        let bursts = &mut self.bursts;
        bursts.rank.push(Rank(self.location));
        bursts.begin.push(begin);
        bursts.end.push(end);
        bursts.duration.push((end - begin) as f64);
        bursts.site.push(site);
        if bursts.len() == CHUNK {
            self.classify();
        }
    }

    fn end(&mut self, _: u64) {
        self.classify();
        // Threads may be many.
        self.bursts = Bursts::default();
    }
}

impl Thread<'_> {
    /// Labels the bursts that wait.
    fn classify(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.classified()
        {
            self.failed = Some(error);
        }
        let bursts = &mut self.bursts;
        bursts.rank.clear();
        bursts.begin.clear();
        bursts.end.clear();
        bursts.duration.clear();
        bursts.site.clear();
        bursts.counters.iter_mut().for_each(|one| one.values.clear());
    }

    fn classified(&mut self) -> Result<(), StudyError> {
        let Context { study, how, classifier, both, .. } = self.context;
        self.reader.read(&mut self.bursts);
        let bursts = &self.bursts;
        let computed = points::computed(&study.dimensions, bursts)?;
        let columns = points::columns(&study.dimensions, &computed, bursts);
        let shortest = study.shortest.0;
        let (preparation, outside) = points::preparation(bursts, &study.dimensions, how, shortest)?;
        let scales = Some(&study.prepared.scales[..]);
        let prepared = points::points(bursts, &columns, &preparation, &outside, how, true, scales)?;
        let labels = classifier.labels(&prepared.points)?;
        if how.labels == Labels::Kept {
            let points = prepared.bursts.iter().copied().zip(labels.iter().copied());
            self.values.extend(values(bursts.len(), &prepared.left_out, points));
        }
        let found = &mut self.found;
        found.bursts += bursts.len() as u64;
        found.time += bursts.duration.iter().sum::<f64>();
        let sums =
            reasons(&outside, &prepared.left_out, (&study.dimensions[..], shortest), |burst| {
                bursts.duration[burst as usize]
            });
        for (reason, (count, time)) in sums {
            let sum = found.left_out.entry(reason).or_default();
            *sum = (sum.0 + count, sum.1 + time);
        }
        for (&burst, label) in prepared.bursts.iter().zip(labels) {
            let at = burst as usize;
            let nanos = bursts.end[at] - bursts.begin[at];
            let tally = &mut found.labels[label.0 as usize];
            tally.points += 1;
            tally.nanos = tally.nanos.saturating_add(nanos);
            tally.counts.add_burst(bursts, at, *both);
            for ((values, column), one) in
                tally.values.iter_mut().zip(&columns).zip(&study.dimensions)
            {
                let value = column[at];
                values.low = values.low.min(value);
                values.high = values.high.max(value);
                let is_log = one.spacing == Spacing::Logarithmic;
                values.sum += if is_log { value.ln() } else { value };
            }
            let (times, site) = (&mut self.times[label.0 as usize], bursts.site[at] as usize);
            if site >= times.len() {
                times.resize(site + 1, 0);
            }
            times[site] = times[site].saturating_add(nanos);
        }
        Ok(())
    }

    /// Adds the thread's figures to those of all; `sites` are its own, by number.
    fn into_whole(self, sites: &[Site], whole: &mut Whole) -> Result<(), StudyError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let found = self.found;
        whole.bursts += found.bursts;
        whole.outside += found.outside;
        whole.time += found.time;
        whole.ranks += u64::from(found.bursts > 0);
        for (reason, (bursts, time)) in found.left_out {
            let sum = whole.left_out.entry(reason).or_default();
            *sum = (sum.0 + bursts, sum.1 + time);
        }
        for ((all, mut own), times) in whole.labels.iter_mut().zip(found.labels).zip(self.times) {
            for (site, nanos) in sites.iter().zip(times).filter(|&(_, nanos)| nanos > 0) {
                let sum = own.places.entry((site.caller, site.line)).or_default();
                *sum = sum.saturating_add(nanos);
            }
            all.add(own);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! A trace with the clusters of its bursts as events, as the BSC `ClusteringSuite` writes them.
//!
//! Owns their values and places: at the beginning of a burst its cluster, or the reason why it has
//! none; 0 at its end. Records keep their order; events of an earlier clustering are replaced. The
//! records of a run are made as they are written.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use talea_metric::measure::Chosen;
use talea_model::trace::{EventType, Lines, RecordKind, Trace, ValueSet, types};

use super::values::values;
use super::{Clustered, Study};
use crate::convert::paraver::{self, SaveError};
use crate::input::run::{self, Additions, BurstValues, Values};
use crate::input::{self, InputError, Opened};
use crate::{Analysis, Progress};

/// Number of the gradient of clusters.
const GRADIENT: u32 = 9;

/// One event to add.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Added {
    time: u64,
    /// Ends come before beginnings of the same time.
    begins: bool,
    location: u32,
    value: i64,
}

/// Errors of writing an input with its clusters.
#[derive(Debug, thiserror::Error)]
pub enum LabelledError {
    /// The input, which is read once more.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The files.
    #[error(transparent)]
    Save(#[from] SaveError),
}

/// Writes the input at `path` with the clusters of its bursts to `out`. Returns the number of
/// bursts without an event, which a run that has changed since it was read does not have any more;
/// absent for a table, as it has no trace.
pub fn save_labelled(
    clustered: &mut Clustered,
    path: &Path,
    out: &Path,
    progress: Progress<'_>,
) -> Result<Option<u64>, LabelledError> {
    let study = &clustered.study;
    let Some(trace) = clustered.trace.take() else { return Ok(None) };
    let whole = if clustered.has_records {
        trace
    } else {
        let Opened::Run(run) = input::open(path, &mut *progress)? else { return Ok(None) };
        let analysis = Analysis::new(&run, &mut *progress);
        progress("writing");
        if let Some(mut stream) = run::stream(&analysis) {
            label(&mut stream.head, study.clustering.clusters.len());
            let values = StudyValues::new(study);
            let added = Additions { values: Some(&values), ..Additions::default() };
            paraver::save_stream(&stream, &added, out)?;
            return Ok(Some(values.missing()));
        }
        run::trace(&analysis)
    };
    progress("writing");
    paraver::save(&labelled(whole, study), out)?;
    Ok(Some(0))
}

/// The values of a study's bursts.
fn study_values(study: &Study) -> Vec<u32> {
    let labels = study.clustering.labels.iter().copied();
    let points = study.prepared.bursts.iter().copied().zip(labels);
    values(study.bursts.len(), &study.prepared.left_out, points)
}

/// Values of a study's bursts: of those in memory, or of all where the run was read twice.
struct StudyValues<'a> {
    study: &'a Study,
    held: Vec<u32>,
    /// Number of bursts that were written.
    written: AtomicU64,
}

impl<'a> StudyValues<'a> {
    fn new(study: &'a Study) -> Self {
        let held = if study.whole.is_some() { Vec::new() } else { study_values(study) };
        Self { study, held, written: AtomicU64::new(0) }
    }

    /// Number of bursts that were not written.
    fn missing(&self) -> u64 {
        let all = match &self.study.whole {
            Some(whole) => whole.values.iter().map(|values| values.len() as u64).sum(),
            None => self.held.len() as u64,
        };
        all.saturating_sub(self.written.load(Ordering::Relaxed))
    }

    /// The values of a location's bursts: one for each in the analysed part.
    fn all_values<'b>(&'b self, values: &'b [u32]) -> Values<'b> {
        let span = self.study.looked.span;
        let mut values = values.iter();
        Box::new(move |begin, end| {
            let holds =
                span.is_none_or(|span| span.chosen == Chosen::Whole || span.holds(begin, end));
            let value = if holds { values.next()? } else { return None };
            self.written.fetch_add(1, Ordering::Relaxed);
            Some(i64::from(*value))
        })
    }

    /// The values of a location's bursts in memory.
    fn held_values(&self, location: u32) -> Values<'_> {
        let bursts = &self.study.bursts;
        let mut next = bursts.rank.partition_point(|rank| rank.0 < location);
        // Reading of a part may round the begin of its first burst in another way.
        Box::new(move |_, end| {
            while bursts.rank.get(next).is_some_and(|rank| rank.0 == location) {
                let found = bursts.end[next];
                if found > end {
                    return None;
                }
                next += 1;
                if found == end {
                    self.written.fetch_add(1, Ordering::Relaxed);
                    return self.held.get(next - 1).map(|&value| i64::from(value));
                }
            }
            None
        })
    }
}

impl BurstValues for StudyValues<'_> {
    fn event_type(&self) -> u32 {
        types::CLUSTER
    }

    fn values(&self, location: u32) -> Values<'_> {
        match &self.study.whole {
            Some(whole) => {
                self.all_values(whole.values.get(location as usize).map_or(&[], Vec::as_slice))
            }
            None => self.held_values(location),
        }
    }
}

fn added(study: &Study) -> Vec<Added> {
    let bursts = &study.bursts;
    let mut added = Vec::with_capacity(2 * bursts.len());
    for (at, value) in study_values(study).into_iter().enumerate() {
        let value = i64::from(value);
        let (begin, end, location) = (bursts.begin[at], bursts.end[at], bursts.rank[at].0);
        // A burst without extent would begin after its end.
        if begin < end {
            added.push(Added { time: begin, begins: true, location, value });
            added.push(Added { time: end, begins: false, location, value: 0 });
        }
    }
    added.sort_unstable();
    added
}

/// The trace with events of its clusters; `study` is that of its bursts.
pub fn labelled(mut trace: Trace, study: &Study) -> Trace {
    let mut cpus = BTreeMap::new();
    let places = trace
        .states
        .location
        .iter()
        .zip(&trace.states.cpu)
        .chain(trace.events.location.iter().zip(&trace.events.cpu));
    for (&location, &cpu) in places {
        cpus.entry(location).or_insert(cpu);
    }
    let added = added(study);
    let (events, order) = (std::mem::take(&mut trace.events), std::mem::take(&mut trace.order));
    let lines = std::mem::take(&mut trace.lines);
    let mut lines = lines.iter().peekable();
    let mut kept = Lines::default();
    let mut ahead = added.into_iter().peekable();
    let (mut state, mut event, mut message) = (0, 0, 0);
    let add = |trace: &mut Trace, one: Added| {
        let cpu = cpus.get(&one.location).copied().unwrap_or_default();
        trace.push_event((one.location, cpu), one.time, &[types::CLUSTER], &[one.value]);
    };
    for (done, kind) in (0_u64..).zip(order) {
        while let Some((_, text)) = lines.next_if(|(after, _)| *after <= done) {
            kept.push(trace.order.len() as u64, text);
        }
        let time = match kind {
            RecordKind::State => trace.states.begin.get(state).copied(),
            RecordKind::Event => events.time.get(event).copied(),
            RecordKind::Message => trace.messages.logical_send.get(message).copied(),
        };
        while let Some(one) = ahead.next_if(|one| time.is_none_or(|time| one.time < time)) {
            add(&mut trace, one);
        }
        match kind {
            RecordKind::State => {
                state += 1;
                trace.order.push(kind);
            }
            RecordKind::Message => {
                message += 1;
                trace.order.push(kind);
            }
            RecordKind::Event => {
                if let Some(one) = events.get(event) {
                    let pairs =
                        one.types.iter().zip(one.values).filter(|(one, _)| **one != types::CLUSTER);
                    let (of, values): (Vec<u32>, Vec<i64>) = pairs.unzip();
                    if !of.is_empty() {
                        trace.push_event((one.location, one.cpu), one.time, &of, &values);
                    }
                }
                event += 1;
            }
        }
    }
    for one in ahead {
        add(&mut trace, one);
    }
    for (_, text) in lines {
        kept.push(trace.order.len() as u64, text);
    }
    trace.lines = kept;
    label(&mut trace, study.clustering.clusters.len());
    trace
}

fn label(trace: &mut Trace, clusters: usize) {
    let labels = &mut trace.labels;
    labels.event_types.retain(|one| one.number != types::CLUSTER);
    let mut set = ValueSet::default();
    let fixed = [
        (0, "End"),
        (types::CLUSTER_MISSING, "Missing Data"),
        (types::CLUSTER_DURATION, "Duration Filtered"),
        (types::CLUSTER_RANGE, "Range Filtered"),
        (4, "Threshold Filtered"),
        (types::CLUSTER_NOISE, "Noise"),
    ];
    for (value, name) in fixed {
        set.push(value, name.to_owned());
    }
    for place in 0..clusters {
        set.push(types::CLUSTER_FIRST + place as i64, format!("Cluster {}", place + 1));
    }
    labels.value_sets.push(set);
    labels.event_types.push(EventType {
        number: types::CLUSTER,
        gradient: GRADIENT,
        label: "Cluster ID".to_owned(),
        precision: None,
        values: Some(labels.value_sets.len() as u32 - 1),
    });
}

#[cfg(test)]
mod tests {
    use talea_run::load::load;
    use tempfile::TempDir;

    use super::*;
    use crate::clusters::{Labels, Options, cluster};
    use crate::input::run::tests::samples;

    /// Clusters a run, writes it with them, and reads the files and the run's trace.
    fn written(folder: &Path, most: Option<u64>) -> Option<(Clustered, [Vec<u8>; 2], Trace)> {
        let options = Options { labels: Labels::Kept, most, ..Options::default() };
        let mut clustered = cluster(folder, &options, &mut |_| ()).ok()?;
        if clustered.has_records {
            return None;
        }
        let out = TempDir::new().unwrap();
        let prv = out.path().join("a.prv");
        let missing = save_labelled(&mut clustered, folder, &prv, &mut |_| ()).unwrap();
        assert_eq!(missing, Some(0));
        let files = [&prv, &prv.with_extension("pcf")].map(|file| std::fs::read(file).unwrap());
        let run = load(folder).unwrap();
        Some((clustered, files, run::trace(&Analysis::new(&run, &mut |_| ()))))
    }

    #[test]
    fn runs_are_written_with_clusters_as_their_traces_are() {
        let mut found = 0;
        for folder in samples() {
            let Some((clustered, files, whole)) = written(folder.path(), None) else { continue };
            let out = TempDir::new().unwrap();
            let prv = out.path().join("a.prv");
            paraver::save(&labelled(whole, &clustered.study), &prv).unwrap();
            let expected = [&prv, &prv.with_extension("pcf")];
            assert!(files == expected.map(|file| std::fs::read(file).unwrap()));
            found += 1;
        }
        assert!(found > 1);
    }

    /// Each burst of a thinned run is written with the cluster that counted it.
    #[test]
    fn bursts_that_are_not_in_memory_are_written_with_their_clusters() {
        let mut found = 0;
        for folder in samples() {
            let Some((all, ..)) = written(folder.path(), None) else { continue };
            let most = all.study.bursts.len() as u64 / 2;
            let Some((clustered, [prv, _], whole)) = written(folder.path(), Some(most)) else {
                continue;
            };
            let Some(figures) = &clustered.study.whole else { continue };
            let text = String::from_utf8(prv).unwrap();
            let mut counts = BTreeMap::<i64, u64>::new();
            let mut lines = 0;
            let first = format!("{}:", types::CLUSTER);
            for line in text.lines().skip(1).filter(|line| !line.starts_with('c')) {
                match line.splitn(7, ':').nth(6).and_then(|rest| rest.strip_prefix(&first)) {
                    Some(value) => *counts.entry(value.parse().unwrap()).or_default() += 1,
                    None => lines += 1,
                }
            }
            assert_eq!(lines, whole.order.len());
            let points = figures.labels.iter().map(|one| one.points);
            let values = std::iter::once(types::CLUSTER_NOISE).chain(types::CLUSTER_FIRST..);
            for (value, points) in values.zip(points) {
                assert_eq!(counts.remove(&value).unwrap_or_default(), points, "{value}");
            }
            let left_out: u64 = figures.left_out.values().map(|(bursts, _)| bursts).sum();
            assert_eq!(counts.remove(&0), Some(figures.bursts));
            assert_eq!(counts.values().sum::<u64>(), left_out);
            found += 1;
        }
        assert!(found > 0);
    }
}

//! A batch as series: one sample each, at the begin of the batch.
//!
//! Owns the names of metrics and labels, the part of a batch that is kept and the maximum number of
//! its series. The value is the number of samples of this batch alone, so that a batch that is sent
//! again puts the same values at the same times. Cores and addresses are in series apart. A batch
//! makes few of these: further samples are kept without core and address, with a gap.

use std::collections::BTreeMap;

use talea_model::shares::{Activities, Batch, Sampler, Share};
use talea_model::{Gap, GapKind, Gaps};

use crate::arrival::{NO_ADDRESS, activity, cut, losses, owner, rate_owner, spread_owner};
use crate::prometheus::Options;
use crate::prometheus::message::{Label, Sample, TimeSeries, WriteRequest};
use crate::prometheus::names::value;
use crate::rates::{fitting, note_beyond};

pub(super) const NUMBER: &str = "talea_batch_number";
pub(super) const BEGIN: &str = "talea_batch_begin_milliseconds";
pub(super) const END: &str = "talea_batch_end_milliseconds";
pub(super) const WIDTH: &str = "talea_batch_width_milliseconds";
pub(super) const WORK: &str = "talea_work_samples";
pub(super) const WORK_BEGIN: &str = "talea_work_begin_milliseconds";
pub(super) const WORK_END: &str = "talea_work_end_milliseconds";
pub(super) const SAMPLES: &str = "talea_samples";
pub(super) const BY_CORE: &str = "talea_core_samples";
pub(super) const BY_ADDRESS: &str = "talea_address_samples";
pub(super) const RATE_SAMPLES: &str = "talea_rate_samples";
pub(super) const RATE_NANOS: &str = "talea_rate_nanoseconds";
pub(super) const RATE_COUNT: &str = "talea_rate_count";
pub(super) const SPREAD: &str = "talea_spread_cores";
pub(super) const GAP: &str = "talea_gap";
pub(super) const GAP_SEEN: &str = "talea_gap_seen";

/// Integers up to here are exact as numbers of Prometheus.
const EXACT: u64 = 1 << 53;
/// Different gaps of a batch that are kept.
const MOST_GAPS: usize = 32;

type Labels = BTreeMap<&'static str, String>;

/// Begin and end of a batch in milliseconds, never shorter than it is.
pub(super) fn times(batch: &Batch) -> (u64, u64) {
    let begin = batch.begin.0 / 1_000_000;
    (begin, batch.end.0.div_ceil(1_000_000).max(begin + 1))
}

/// A batch as the request of a remote write.
pub(super) fn request(batch: &Batch, options: &Options) -> WriteRequest {
    let (begin, end) = times(batch);
    let mut series = Series { begin: begin as i64, made: Vec::new() };
    let agent = agent(batch);
    let mut of_batch = agent.clone();
    of_batch.insert("cores", batch.cores.to_string());
    of_batch.insert("sampler", sampler(batch.sampler).to_owned());

    let mut parts: BTreeMap<Labels, u64> = BTreeMap::new();
    let mut cores: BTreeMap<Labels, u64> = BTreeMap::new();
    let mut addresses: BTreeMap<Labels, u64> = BTreeMap::new();
    let mut work: BTreeMap<Labels, u64> = BTreeMap::new();
    let activities = Activities::from_modules(&batch.modules);
    for share in &batch.shares {
        let part = part(batch, share, &activities, &agent);
        let with = |label, value: Option<String>| {
            let mut labels = part.clone();
            labels.extend(value.map(|value| (label, value)));
            labels
        };
        let address = share.address.filter(|&address| address != NO_ADDRESS);
        add(&mut cores, with("core", Some(share.core.to_string())), share.samples);
        add(&mut addresses, with("address", address.map(|a| format!("{a:#x}"))), share.samples);
        let who = part.iter().filter(|(label, _)| {
            matches!(**label, "node" | "started" | "job" | "owner" | "user" | "period")
        });
        add(&mut work, who.map(|(&label, value)| (label, value.clone())).collect(), share.samples);
        add(&mut parts, part, share.samples);
    }
    let mut gaps = losses(batch);
    let cores = bounded(cores, "core", options.cores, &mut gaps);
    let addresses = bounded(addresses, "address", options.addresses, &mut gaps);

    for (metric, sums) in [(SAMPLES, &parts), (BY_CORE, &cores), (BY_ADDRESS, &addresses)] {
        series.add_all(metric, sums);
    }
    rates(batch, &agent, &mut series, &mut gaps);
    for (labels, &sum) in &work {
        series.add(WORK, labels, sum);
        let mut who = labels.clone();
        who.remove("period");
        series.add(WORK_BEGIN, &who, begin);
        series.add(WORK_END, &who, end);
        if !gaps.is_empty() {
            series.add(GAP_SEEN, &who, 1);
        }
    }
    for (labels, count) in kept(&gaps, &agent) {
        series.add(GAP, &labels, count);
    }
    series.add(BEGIN, &of_batch, begin);
    series.add(END, &of_batch, end);
    series.add(WIDTH, &of_batch, end - begin);
    // The sample that marks the batch as complete is the last one.
    series.add(NUMBER, &of_batch, batch.id.number);
    WriteRequest { timeseries: series.made }
}

struct Series {
    begin: i64,
    made: Vec<TimeSeries>,
}

impl Series {
    fn add_all(&mut self, metric: &str, sums: &BTreeMap<Labels, u64>) {
        for (labels, &sum) in sums {
            self.add(metric, labels, sum);
        }
    }

    fn add(&mut self, metric: &str, labels: &Labels, number: u64) {
        self.add_value(metric, labels, number.min(EXACT) as f64);
    }

    fn add_value(&mut self, metric: &str, labels: &Labels, value: f64) {
        let label =
            |name: &str, value: &str| Label { name: name.to_owned(), value: value.to_owned() };
        // Sorted by name, as remote write wants them; no label of ours is before this one.
        let labels = labels.iter().map(|(name, value)| label(name, value));
        let labels = std::iter::once(label("__name__", metric)).chain(labels).collect();
        let sample = Sample { value, timestamp: self.begin };
        self.made.push(TimeSeries { labels, samples: vec![sample] });
    }
}

fn add(sums: &mut BTreeMap<Labels, u64>, labels: Labels, samples: u64) {
    let sum = sums.entry(labels).or_default();
    *sum = sum.saturating_add(samples).min(EXACT);
}

/// Start of the agent.
pub(super) fn agent(batch: &Batch) -> Labels {
    // Two agents of one node must not write to one series: both may have begun a batch at the same
    // time.
    [("node", value(&batch.id.node)), ("started", batch.id.started.to_string())].into()
}

fn part(batch: &Batch, share: &Share, activities: &Activities, agent: &Labels) -> Labels {
    let files = [share.executable, share.library];
    let mut labels = hit(batch, agent, share.job, owner(batch, share), files, share.phase);
    labels.insert("activity", activity(activities.at(share)).to_owned());
    labels.insert("period", batch.period.0.to_string());
    labels
}

/// Place of the samples, and its owner.
fn hit(
    batch: &Batch,
    agent: &Labels,
    job: Option<u32>,
    user: Option<u32>,
    [executable, library]: [Option<u32>; 2],
    phase: Option<u32>,
) -> Labels {
    let mut labels = agent.clone();
    labels.extend(user.map(|user| ("user", user.to_string())));
    if let Some(job) = job.and_then(|job| batch.jobs.get(job as usize)) {
        labels.insert("job", value(&job.id));
        labels.extend(job.user.map(|owner| ("owner", owner.to_string())));
    }
    let files =
        [("executable", "executable_build", executable), ("library", "library_build", library)];
    for (path, build, index) in files {
        if let Some(module) = index.and_then(|index| batch.modules.get(index as usize)) {
            labels.insert(path, value(&module.path));
            if !module.build_id.is_empty() {
                labels.insert(build, cut(&module.build_id).to_owned());
            }
        }
    }
    let phase = phase.and_then(|phase| batch.phases.get(phase as usize));
    labels.extend(phase.map(|phase| ("phase", value(phase))));
    labels
}

/// Growth of counters, and its spread.
fn rates(batch: &Batch, agent: &Labels, series: &mut Series, gaps: &mut Gaps) {
    let counted = |labels: &mut Labels, counter: u32| {
        if let Some(counter) = batch.counters.get(counter as usize) {
            labels.insert("counter", value(&counter.name));
            labels.insert("unit", value(&counter.unit));
        }
    };
    let mut sums: BTreeMap<Labels, [u128; 3]> = BTreeMap::new();
    for rate in &batch.rates {
        let (user, files) = (rate_owner(batch, rate), [rate.executable, rate.library]);
        let mut labels = hit(batch, agent, rate.job, user, files, rate.phase);
        counted(&mut labels, rate.counter);
        let all = sums.entry(labels).or_default();
        for (sum, more) in all.iter_mut().zip([rate.samples, rate.nanos, rate.count]) {
            *sum += u128::from(more);
        }
    }
    let mut beyond = 0;
    for (labels, sums) in &sums {
        let Some(sums) = fitting(*sums) else {
            beyond += 1;
            continue;
        };
        for (metric, sum) in [RATE_SAMPLES, RATE_NANOS, RATE_COUNT].into_iter().zip(sums) {
            // Rounded above 2^53, by a part in 2^53 at most: less would be wrong by more.
            series.add_value(metric, labels, sum as f64);
        }
    }
    note_beyond(beyond, gaps);
    let mut cores: BTreeMap<Labels, u64> = BTreeMap::new();
    for spread in &batch.spreads {
        let user = spread_owner(batch, spread);
        let mut labels = hit(batch, agent, Some(spread.job), user, [None, None], None);
        counted(&mut labels, spread.counter);
        for &(bucket, cores_in_it) in &spread.cores {
            let mut labels = labels.clone();
            labels.insert("bucket", bucket.to_string());
            add(&mut cores, labels, u64::from(cores_in_it));
        }
    }
    series.add_all(SPREAD, &cores);
}

/// The series with the most samples, and all others without the label.
fn bounded(
    sums: BTreeMap<Labels, u64>,
    label: &'static str,
    most: usize,
    gaps: &mut Gaps,
) -> BTreeMap<Labels, u64> {
    let mut by_samples: Vec<(Labels, u64)> = sums.into_iter().collect();
    // Sorting keeps the order of equal ones.
    by_samples.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    let (mut kept, mut with, mut without) = (BTreeMap::new(), 0, 0_u64);
    for (mut labels, samples) in by_samples {
        if labels.contains_key(label) {
            with += 1;
            if with > most {
                labels.remove(label);
                without = without.saturating_add(samples);
            }
        }
        add(&mut kept, labels, samples);
    }
    if without > 0 {
        gaps.note(Gap {
            kind: GapKind::MemoryBound,
            rank: None,
            detail: format!("samples whose {label} is not kept, beyond {most} series of a batch"),
            count: without,
        });
    }
    kept
}

/// Gaps as labels and counts.
fn kept(gaps: &Gaps, agent: &Labels) -> BTreeMap<Labels, u64> {
    let mut sums = BTreeMap::new();
    for (place, gap) in gaps.iter().enumerate() {
        let mut labels = agent.clone();
        if place < MOST_GAPS {
            labels.insert("kind", kind(gap.kind));
            labels.extend(gap.rank.map(|rank| ("rank", rank.0.to_string())));
            labels.insert("detail", value(&gap.detail));
            add(&mut sums, labels, gap.count);
        } else {
            labels.insert("kind", kind(GapKind::MemoryBound));
            labels.insert("detail", "further gaps, counted only".to_owned());
            add(&mut sums, labels, 1);
        }
    }
    sums
}

/// The word of a kind of gap, as JSON has it.
pub(super) fn kind(kind: GapKind) -> String {
    let json = serde_json::to_value(kind).unwrap_or_default();
    json.as_str().unwrap_or("missing").to_owned()
}

pub(super) fn sampler(sampler: Sampler) -> &'static str {
    match sampler {
        Sampler::Bpf => "bpf",
        Sampler::Rings => "rings",
        Sampler::OwnProcesses => "own-processes",
    }
}

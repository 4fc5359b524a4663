//! From clusters to the displayed data.
//!
//! Owns the figures of each cluster, in original units. Ratios such as IPC are sums divided by
//! sums, over bursts that have both counters.

use std::collections::BTreeMap;
use std::time::Instant;

use talea_cluster::Label;
use talea_cluster::bursts::{Bursts, Site, Source};
use talea_cluster::dimension::{Dimension, find};
use talea_cluster::prepare::{LeftOut, Scale, Spacing};
use talea_cluster::stats::{ClusterStatistics, statistics};
use talea_metric::measure::Chosen;
use talea_report::data::clusters::{
    CheckData, ClusterData, ClusterRow, ClusterSite, CounterData, DimensionData, KeptData,
    LeftOutData, SpanData, SubsetData, TriedData,
};

use super::names::Names;
use super::points::words;
use super::{Study, Whole, drawn, findings};

/// Sums of two columns over bursts that have both.
pub fn sums(a: &[f64], b: &[f64], of: impl Iterator<Item = u32>) -> Option<(f64, f64)> {
    let both = of
        .map(|at| (a[at as usize], b[at as usize]))
        .filter(|(a, b)| a.is_finite() && b.is_finite());
    let (mut sums, mut any) = ((0.0, 0.0), false);
    for (a, b) in both {
        sums = (sums.0 + a, sums.1 + b);
        any = true;
    }
    (any && sums.1 > 0.0).then_some(sums)
}

/// Place with most of the time of some bursts.
pub fn place(bursts: &Bursts, names: &Names<'_>, of: &[u32]) -> Option<ClusterSite> {
    let mut numbers = BTreeMap::<(i64, i64), usize>::new();
    let mut number = |site: &Site| {
        let next = numbers.len();
        *numbers.entry((site.caller, site.line)).or_insert(next)
    };
    let place_of_site: Vec<usize> = bursts.sites.iter().map(&mut number).collect();
    let mut times = vec![None; numbers.len()];
    let mut all = 0.0;
    for &at in of {
        let at = at as usize;
        let place = *place_of_site.get(*bursts.site.get(at)? as usize)?;
        let time = bursts.duration[at].max(0.0);
        *times[place].get_or_insert(0.0) += time;
        all += time;
    }
    let timed = numbers.into_iter().filter_map(|(place, number)| Some((place, times[number]?)));
    most_timed(bursts, names, timed, all)
}

/// The known place with most time, of `all`.
fn most_timed(
    bursts: &Bursts,
    names: &Names<'_>,
    timed: impl Iterator<Item = ((i64, i64), f64)>,
    all: f64,
) -> Option<ClusterSite> {
    let known = timed.filter(|((caller, _), _)| *caller != 0);
    let ((caller, line), time) = known.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    Some(ClusterSite {
        function: names.function(bursts, caller)?,
        line: names.line(bursts, line).unwrap_or_default(),
        share: if all > 0.0 { time / all } else { 0.0 },
    })
}

/// All displayed data of a study; reading is not timed here.
pub fn data(study: &Study, names: &Names<'_>, input: &str) -> ClusterData {
    let begin = Instant::now();
    let bursts = &study.bursts;
    let timed = study.weights.is_some();
    let whole = study.whole.as_ref();
    let finite = || bursts.duration.iter().filter(|duration| duration.is_finite());
    let time = whole.map_or_else(|| finite().sum::<f64>(), |whole| whole.time);
    let held = whole.map_or_else(|| study.weights.iter().flatten().sum(), Whole::held);
    let points = whole.map_or(study.prepared.bursts.len() as u64, Whole::points);
    let share = |part: f64| (timed && time > 0.0).then(|| part / time);
    let ranks: std::collections::BTreeSet<u32> = bursts.rank.iter().map(|rank| rank.0).collect();
    let noise = whole.and_then(|whole| whole.labels.first()).map(|noise| noise.points);
    let mut data = ClusterData {
        input: input.to_owned(),
        name: String::new(),
        source: source(bursts.source).to_owned(),
        bursts: whole.map_or(bursts.len() as u64, |whole| whole.bursts) + outside(study),
        span_ns: study.looked.span.map(|span| SpanData {
            begin: span.begin.0,
            end: span.end.0,
            chosen: chosen(span.chosen).to_owned(),
        }),
        points,
        ranks: whole.map_or(ranks.len() as u64, |whole| whole.ranks),
        time_ns: timed.then_some(time),
        points_time_share: share(held),
        left_out: left_out(study, share),
        dimensions: study
            .dimensions
            .iter()
            .zip(&study.prepared.scales)
            .map(|(one, scale)| dimension_data(one, scale))
            .collect(),
        edges: study.edges,
        eps: if study.eps.len() == 1 && study.eps_from != "refinement" {
            study.eps.first().copied()
        } else {
            None
        },
        min_points: study.min_points as u64,
        eps_from: study.eps_from.to_owned(),
        tried: study
            .tried
            .iter()
            .map(|one| TriedData {
                eps: one.eps,
                clusters: one.clusters as u64,
                noise: one.held.map(|_| one.noise as u64),
                time_share: one.held,
                spmd_score: one.score,
            })
            .collect(),
        subset: study.subset.as_ref().map(|chosen| SubsetData {
            rule: chosen.rule.clone(),
            points: chosen.points as u64,
            share: chosen.points as f64 / points.max(1) as f64,
        }),
        check: study.check.as_ref().map(|check| CheckData {
            eps: check.eps,
            adjusted_rand: check.adjusted_rand,
            lost: check.kept.iter().filter(|one| one.recall < 0.5).count() as u64,
            clusters: check
                .kept
                .iter()
                .map(|one| KeptData {
                    id: one.label.0,
                    points: one.points,
                    found: (!one.found.is_noise()).then_some(one.found.0),
                    recall: one.recall,
                    precision: one.precision,
                })
                .collect(),
        }),
        noise: noise.unwrap_or(study.clustering.noise() as u64),
        spmd_score: study.score.global,
        gaps: bursts.gaps.clone(),
        ..ClusterData::default()
    };
    rows(study, names, &mut data);
    if let Some(whole) = whole {
        fill_whole(study, names, whole, &mut data);
    }
    data.scatter = drawn::scatter(study);
    data.timeline = drawn::timeline(study, names);
    // Rows of threads are named by rank and thread, `0.1`.
    let of_threads = ranks.iter().any(|&rank| names.rank(rank).contains('.'));
    data.findings = findings::findings(&data, if of_threads { "threads" } else { "ranks" });
    data.seconds = study.seconds;
    data.seconds.statistics = begin.elapsed().as_secs_f64();
    data
}

fn source(source: Source) -> &'static str {
    match source {
        Source::States => "states",
        Source::Calls => "calls",
        Source::Regions => "regions",
        Source::Table => "table",
    }
}

fn left_out(study: &Study, share: impl Fn(f64) -> Option<f64>) -> Vec<LeftOutData> {
    let reasons = if let Some(whole) = &study.whole {
        whole.left_out.clone()
    } else {
        let counted = |burst: u32| {
            let duration = study.bursts.duration[burst as usize];
            if duration.is_finite() { duration } else { 0.0 }
        };
        let how = (&study.dimensions[..], study.shortest.0);
        reasons(&study.outside, &study.prepared.left_out, how, counted)
    };
    let row = |(reason, (bursts, time))| LeftOutData { reason, bursts, time_share: share(time) };
    let bursts = outside(study);
    let outside = study.looked.span.filter(|_| bursts > 0).map(|span| LeftOutData {
        reason: match span.chosen {
            Chosen::Asked => format!("they are not within {} to {}", span.begin, span.end),
            _ => "they precede the end of MPI_Init or follow MPI_Finalize".to_owned(),
        },
        bursts,
        time_share: None,
    });
    outside.into_iter().chain(reasons.into_iter().map(row)).collect()
}

/// Number of bursts outside the analysed part.
fn outside(study: &Study) -> u64 {
    study.whole.as_ref().map_or(study.looked.outside, |whole| whole.outside)
}

/// Number and time of bursts without a point, by reason: those out of the range of a text, and
/// those that `preparation` left out; `time` is that of a burst.
pub(super) fn reasons(
    ranges: &[(String, Vec<u32>)],
    left_out: &[(u32, LeftOut)],
    (dimensions, shortest): (&[Dimension], f64),
    time: impl Fn(u32) -> f64,
) -> BTreeMap<String, (u64, f64)> {
    let mut reasons = BTreeMap::<String, (u64, f64)>::new();
    for (text, out) in ranges.iter().filter(|(_, out)| !out.is_empty()) {
        let sum = reasons.entry(format!("their {text} is out of range")).or_default();
        for &burst in out {
            *sum = (sum.0 + 1, sum.1 + time(burst));
        }
    }
    let mut of_points = BTreeMap::<LeftOut, (u64, f64)>::new();
    for &(burst, reason) in left_out {
        let sum = of_points.entry(reason).or_insert((0, 0.0));
        *sum = (sum.0 + 1, sum.1 + time(burst));
    }
    for (reason, (bursts, time)) in of_points {
        let sum = reasons.entry(words(reason, dimensions, shortest)).or_default();
        *sum = (sum.0 + bursts, sum.1 + time);
    }
    reasons
}

fn chosen(chosen: Chosen) -> &'static str {
    match chosen {
        Chosen::BetweenInitAndFinalize => "between-init-and-finalize",
        Chosen::Whole => "whole",
        Chosen::Asked => "asked",
    }
}

/// A dimension with the ends of its scale in its own unit.
pub fn dimension_data(one: &Dimension, scale: &Scale) -> DimensionData {
    let logarithmic = one.spacing == Spacing::Logarithmic;
    let back = |at: f64| Some(if logarithmic { at.exp() } else { at }).filter(|v| v.is_finite());
    DimensionData {
        name: one.name.clone(),
        expression: one.expression.to_string(),
        unit: one.unit().to_owned(),
        logarithmic,
        factor: scale.factor,
        low: back(scale.low),
        high: back(scale.high),
    }
}

/// Places of the bursts of noise and of each cluster, by label.
fn members(study: &Study) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); study.clustering.clusters.len() + 1];
    for (&burst, label) in study.prepared.bursts.iter().zip(&study.clustering.labels) {
        members[label.0 as usize].push(burst);
    }
    members
}

fn rows(study: &Study, names: &Names<'_>, data: &mut ClusterData) {
    let bursts = &study.bursts;
    let members = members(study);
    let unknown;
    let of_points = |column: &[f64]| -> Vec<f64> {
        study.prepared.bursts.iter().map(|&burst| column[burst as usize]).collect()
    };
    let durations = if let Some(weights) = &study.weights {
        weights
    } else {
        unknown = vec![f64::NAN; study.prepared.points.len()];
        &unknown
    };
    // One column after the other, so that only one copy is held.
    let labels: &[Label] = &study.clustering.labels;
    let of = |column: &[f64]| -> Vec<ClusterStatistics> {
        statistics(labels, durations, &[column]).unwrap_or_default()
    };
    let times = of(durations);
    let dimensions: Vec<_> =
        (0..study.dimensions.len()).map(|at| of(&of_points(study.values(at)))).collect();
    let counters: Vec<_> = bursts.counters.iter().map(|one| of(&of_points(&one.values))).collect();
    let [ins, cyc] = ["PAPI_TOT_INS", "PAPI_TOT_CYC"]
        .map(|name| find(bursts, name).map(|place| bursts.counters[place].values.as_slice()));
    let noise = times.first().filter(|noise| noise.points > 0).map(|noise| noise.share);
    data.noise_time_share = noise.unwrap_or_else(|| study.weights.is_some().then_some(0.0));
    let held: Vec<usize> = (1..members.len()).collect();
    data.clusters = held
        .into_iter()
        .map(|label| {
            let own = &members[label];
            let column = |of: &[Vec<ClusterStatistics>], at: usize| {
                of[at].get(label).and_then(|one| one.columns[0])
            };
            let each =
                |value: &dyn Fn(usize) -> f64| (0..study.dimensions.len()).map(value).collect();
            let ranks: std::collections::BTreeSet<u32> =
                own.iter().map(|&at| bursts.rank[at as usize].0).collect();
            let duration = times.get(label).and_then(|one| one.columns[0]);
            let of = || own.iter().copied();
            let instructions = ins.and_then(|ins| sums(ins, &bursts.duration, of()));
            ClusterRow {
                id: label as u32,
                points: own.len() as u64,
                ranks: ranks.len() as u64,
                time_ns: duration.map_or(0.0, |_| times[label].time),
                time_share: times.get(label).and_then(|one| one.share),
                mean_duration_ns: duration.map(|one| one.mean),
                median_duration_ns: duration.map(|one| one.median),
                centroid: each(&|at| {
                    let values = study.values(at);
                    mean(
                        own.iter().map(|&burst| values[burst as usize]),
                        study.dimensions[at].spacing,
                    )
                }),
                low: each(&|at| column(&dimensions, at).map_or(f64::NAN, |one| one.low)),
                high: each(&|at| column(&dimensions, at).map_or(f64::NAN, |one| one.high)),
                eps: study
                    .eps
                    .get(label - 1)
                    .or_else(|| study.eps.first())
                    .copied()
                    .unwrap_or_default(),
                spmd_score: study.score.clusters.get(label - 1).copied().flatten(),
                ipc: ins
                    .zip(cyc)
                    .and_then(|(ins, cyc)| sums(ins, cyc, of()))
                    .map(|(ins, cyc)| ins / cyc),
                mips: instructions.map(|(ins, time)| ins / time * 1e3),
                site: place(bursts, names, own),
                counters: bursts
                    .counters
                    .iter()
                    .enumerate()
                    .map(|(at, one)| {
                        let found = column(&counters, at);
                        CounterData {
                            name: one.name.clone(),
                            measured: found.map_or(0, |one| one.measured),
                            mean: found.map(|one| one.mean),
                            extrapolated: found.map(|one| one.extrapolated),
                        }
                    })
                    .collect(),
            }
        })
        .collect();
}

/// Puts the figures of all bursts in place of those of kept ones.
fn fill_whole(study: &Study, names: &Names<'_>, whole: &Whole, data: &mut ClusterData) {
    let held = whole.held();
    let share = |time: f64| (held > 0.0).then(|| time / held);
    data.noise_time_share = whole.labels.first().and_then(|noise| share(noise.time()));
    let ins = find(&study.bursts, "PAPI_TOT_INS");
    for (row, tally) in data.clusters.iter_mut().zip(whole.labels.iter().skip(1)) {
        row.points = tally.points;
        row.ranks = tally.ranks;
        row.time_ns = tally.time();
        row.time_share = share(tally.time());
        row.mean_duration_ns = Some(tally.time() / tally.points as f64);
        for (at, one) in study.dimensions.iter().enumerate() {
            row.centroid[at] = tally.mean(at, one.spacing);
            [row.low[at], row.high[at]] = tally.extremes(at);
        }
        let places = tally.places.iter().map(|(&place, &nanos)| (place, nanos as f64));
        row.site = most_timed(&study.bursts, names, places, tally.time());
        row.ipc = tally.counts.ipc();
        row.mips = ins.and_then(|place| tally.counts.counters.get(place)?.rate());
        for (counter, counted) in row.counters.iter_mut().zip(&tally.counts.counters) {
            counter.measured = counted.measured;
            counter.mean = counted.mean();
            counter.extrapolated = counted.mean().map(|mean| mean * tally.points as f64);
        }
    }
}

/// The mean of values, of logarithms where those are compared, in their own unit.
pub fn mean(values: impl ExactSizeIterator<Item = f64>, spacing: Spacing) -> f64 {
    let logarithmic = spacing == Spacing::Logarithmic;
    let count = values.len() as f64;
    let mean =
        values.map(|value| if logarithmic { value.ln() } else { value }).sum::<f64>() / count;
    if logarithmic { mean.exp() } else { mean }
}

//! Figures of a second reading beside those of holding and classifying all bursts.

use std::collections::BTreeSet;

use talea_metric::measure::Part;

use super::*;
use crate::clusters::{Eps, source, study};
use crate::input::run::tests::samples;

/// Compares the figures of the second reading of a run with those of `all` of its bursts; false
/// where no burst is left out, or where there is nothing to cluster.
fn compare(path: &Path, all: &source::Source, how: &Options) -> bool {
    let read = source::load(path, how, &mut |_| ()).unwrap();
    let (trace, bursts) = (read.trace, &all.bursts);
    if read.bursts.in_window.is_empty() {
        return false;
    }
    let Ok(mut study) = study(read.bursts, read.part, how) else { return false };
    // Clusters before they are numbered by the time of all bursts.
    let before = study.clustering.labels.clone();
    let [eps] = study.eps[..] else { panic!("{:?}", study.eps) };
    let classifier = Classifier::new(&study.prepared.points, &before, eps).unwrap();
    complete(&mut study, (path, trace.as_ref()), how, &mut |_| ()).unwrap();
    let whole = study.whole.as_ref().unwrap();
    let mut label_of = vec![Label::NOISE; whole.labels.len()];
    for (old, &new) in before.iter().zip(&study.clustering.labels) {
        label_of[old.0 as usize] = new;
    }

    let computed = points::computed(&study.dimensions, bursts).unwrap();
    let columns = points::columns(&study.dimensions, &computed, bursts);
    let shortest = study.shortest.0;
    let (preparation, outside) =
        points::preparation(bursts, &study.dimensions, how, shortest).unwrap();
    let scales = Some(&study.prepared.scales[..]);
    let prepared =
        points::points(bursts, &columns, &preparation, &outside, how, true, scales).unwrap();
    let labels = classifier.labels(&prepared.points).unwrap();
    assert_eq!((whole.bursts, whole.outside), (bursts.len() as u64, all.part.outside));
    let ranks: BTreeSet<Rank> = bursts.rank.iter().copied().collect();
    assert_eq!((whole.points(), whole.ranks), (labels.len() as u64, ranks.len() as u64));
    let dimensions = (&study.dimensions[..], shortest);
    let left_out =
        reasons(&outside, &prepared.left_out, dimensions, |burst| bursts.duration[burst as usize]);
    assert_eq!(whole.left_out, left_out);

    assert_eq!(study.bursts.counters.len(), bursts.counters.len());
    for (label, tally) in (0..).zip(&whole.labels) {
        let of_points = prepared.bursts.iter().zip(&labels);
        let own = of_points.filter(|(_, old)| label_of[old.0 as usize] == Label(label));
        let own: Vec<usize> = own.map(|(&burst, _)| burst as usize).collect();
        let ranks: BTreeSet<Rank> = own.iter().map(|&at| bursts.rank[at]).collect();
        let nanos: u64 = own.iter().map(|&at| bursts.end[at] - bursts.begin[at]).sum();
        assert_eq!(
            (tally.points, tally.ranks, tally.nanos),
            (own.len() as u64, ranks.len() as u64, nanos)
        );
        for (dimension, column) in columns.iter().enumerate().filter(|_| !own.is_empty()) {
            let values = || own.iter().map(|&at| column[at]);
            let ends = [
                values().fold(f64::INFINITY, f64::min),
                values().fold(f64::NEG_INFINITY, f64::max),
            ];
            assert_eq!(tally.extremes(dimension).map(f64::to_bits), ends.map(f64::to_bits));
        }
        for (counted, counter) in tally.counts.counters.iter().zip(&bursts.counters) {
            let values = own.iter().map(|&at| counter.values[at]);
            let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
            assert_eq!(counted.measured, values.len() as u64);
            if let Some(found) = counted.mean() {
                let expected = values.iter().sum::<f64>() / values.len() as f64;
                assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} {expected}");
            }
        }
    }
    true
}

#[test]
fn figures_of_a_second_reading_are_those_of_all_bursts() {
    let (mut found, mut counted) = (0, 0);
    for folder in samples() {
        for part in [Part::Whole, Part::default()] {
            let plain = Options { part, eps: Eps::Given(0.1), ..Options::default() };
            let Ok(all) = source::load(folder.path(), &plain, &mut |_| ()) else { continue };
            let names = all.bursts.counters.iter().map(|one| &one.name);
            let dimensions = names.map(|name| Some(format!("\"{name}\", log(duration)")));
            for dimensions in dimensions.chain([None]) {
                for share in [2, 10] {
                    let most = Some(all.bursts.len() as u64 / share);
                    let how = Options { dimensions: dimensions.clone(), most, ..plain.clone() };
                    if compare(folder.path(), &all, &how) {
                        found += 1;
                        counted += usize::from(!all.bursts.counters.is_empty());
                    }
                }
            }
        }
    }
    assert!(found > 0 && counted > 0);
}

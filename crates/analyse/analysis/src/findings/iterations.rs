//! The duration of an iteration, in a sentence.
//!
//! Owns the definition of slow iterations, and the search for their period.

use std::fmt::Write as _;

use talea_model::Nanos;
use talea_model::units::typical;
use talea_report::data::{Finding, Target};

use super::Analysis;
use crate::tree::graph_loop;

/// Minimum number of iterations with a typical duration.
const FEW: usize = 10;
/// Ratio to the median from which on an iteration is slow.
const SLOW: f64 = 1.2;

/// The duration of an iteration of the main loop, and the slower ones: in a period, or single.
pub(super) fn iterations(analysis: &Analysis<'_>) -> Option<Finding> {
    let class = analysis.classes.first()?;
    let study = analysis.thread(class.representative);
    let main = study.main()?;
    if study.course.len() < FEW || main.durations.median == Nanos(0) {
        return None;
    }
    let each = analysis.iterations(class.representative);
    let durations: Vec<f64> = each.iter().map(|one| one.duration.0 as f64).collect();
    let median = main.durations.median;
    // Where one iteration is nearly everything, the others are no evidence about it.
    let total: f64 = durations.iter().sum();
    if durations.iter().any(|duration| 2.0 * duration > total) {
        return None;
    }
    let id = graph_loop(0, main.index);
    let slow: Vec<usize> =
        (0..durations.len()).filter(|&at| durations[at] > SLOW * median.0 as f64).collect();
    let mean_of = |places: &[usize]| {
        let sum: f64 = places.iter().map(|&at| durations[at]).sum();
        Nanos((sum / places.len().max(1) as f64) as u64)
    };
    let all: Vec<usize> = (0..durations.len()).collect();
    let typical = typical(median, mean_of(&all), durations.len() as u64);
    if let Some(period) = period(&slow, durations.len()) {
        let text = format!(
            "An iteration takes {typical}; every {} takes {} (mean).",
            ordinal(period),
            mean_of(&slow)
        );
        return Some(Finding { text, target: Target::Loop { id } });
    }
    let worst = (0..durations.len())
        .max_by(|&a, &b| durations[a].total_cmp(&durations[b]).then(b.cmp(&a)))?;
    let mut text = format!("An iteration takes {typical}");
    if durations[worst] > SLOW * median.0 as f64 {
        let _ = write!(
            text,
            "; the longest of {} is number {worst} with {}",
            analysis.location(class.representative),
            each[worst].duration
        );
        let target = Target::Iteration { id, iteration: worst as u64 };
        return Some(Finding { text: text + ".", target });
    }
    let _ = write!(text, ", none longer than {}", main.durations.max);
    Some(Finding { text: text + ".", target: Target::Loop { id } })
}

/// The distance of slow iterations if nearly all of them are equally far apart.
fn period(slow: &[usize], iterations: usize) -> Option<usize> {
    let gaps: Vec<usize> = slow.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut sorted = gaps.clone();
    sorted.sort_unstable();
    let period = *sorted.get(sorted.len() / 2)?;
    let regular = gaps.iter().filter(|&&gap| gap == period).count();
    let expected = iterations / period.max(1);
    (period >= 2
        && gaps.len() >= 3
        && regular * 5 >= gaps.len() * 4
        && slow.len() * 5 >= expected * 4)
        .then_some(period)
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_iterations_have_a_period_only_if_they_are_regular() {
        let every = |n: usize| (0..100).filter(|at| at % n == n - 1).collect::<Vec<_>>();
        assert_eq!(period(&every(20), 100), Some(20));
        assert_eq!(period(&every(5), 100), Some(5));
        assert_eq!(period(&[3, 17, 19, 60], 100), None);
        assert_eq!(period(&[10, 20, 30, 40], 100), None);
        assert_eq!(period(&[], 100), None);
    }

    #[test]
    fn ordinals_end_as_they_are_said() {
        let ordinals: Vec<String> = [2, 3, 11, 20, 21, 101].into_iter().map(ordinal).collect();
        assert_eq!(ordinals, ["2nd", "3rd", "11th", "20th", "21st", "101st"]);
    }
}

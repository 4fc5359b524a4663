//! Jumps of the rate: proposed where they would explain most, accepted only where held-out instances are foretold better.
//!
//! Owns the search. Proposals come from curves much smoother than the best one, in which a jump stands out, several at a time, since
//! one of four jumps helps little as long as the other three forbid a smoother curve. Whatever does not help is dropped again.

use crate::held::{Held, better, mean};
use crate::spline::{Knots, System};

/// More jumps than these are a texture, which smoothing describes better.
const MOST: usize = 12;

/// Smoothing, jumps in rising order, and the scores of the groups with them.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) lambda: f64,
    pub(crate) kinks: Vec<f64>,
    pub(crate) scores: Vec<f64>,
}

/// Searches jumps on top of the best curve without any.
pub(crate) fn search(knots: &Knots, held: &Held, without: Choice, closest: f64) -> Choice {
    let mut best = without;
    for _ in 0..3 {
        let mut found = None::<Choice>;
        for factor in [1e3, 1e5, 30.0] {
            let kinks = propose(knots, best.lambda * factor, &best.kinks, closest);
            if kinks.len() == best.kinks.len() {
                continue;
            }
            let tried = smoother(held, kinks, &best);
            if found.as_ref().is_none_or(|found| mean(&tried.scores) < mean(&found.scores)) {
                found = Some(tried);
            }
        }
        let Some(found) = found.filter(|found| mean(&found.scores) < mean(&best.scores)) else {
            break;
        };
        let found = pruned(knots, held, found, &best.kinks, closest);
        if found.kinks.len() <= best.kinks.len() || !better(&found.scores, &best.scores) {
            break;
        }
        best = found;
    }
    best
}

/// `kinks` and those that explain most of what a curve of smoothing `lambda` leaves.
fn propose(knots: &Knots, lambda: f64, kinks: &[f64], closest: f64) -> Vec<f64> {
    let mut kinks = kinks.to_vec();
    let Ok(system) = System::new(knots, lambda) else { return kinks };
    let mut first = None::<f64>;
    while kinks.len() < MOST {
        let Some(found) = system.candidate(&kinks, |at| free(&kinks, at, closest)) else { break };
        let first = *first.get_or_insert(found.gain);
        if found.gain < 0.03 * first {
            break;
        }
        kinks.push(found.at);
    }
    refine(&system, &mut kinks, closest);
    kinks.sort_by(f64::total_cmp);
    kinks
}

fn free(kinks: &[f64], at: f64, closest: f64) -> bool {
    at > closest && at < 1.0 - closest && kinks.iter().all(|kink| (kink - at).abs() > closest)
}

/// Moves each kink to its best place between its neighbours, given the others.
pub(crate) fn refine(system: &System<'_>, kinks: &mut [f64], closest: f64) {
    for at in 0..kinks.len() {
        let mut others = kinks.to_vec();
        let old = others.swap_remove(at);
        let distance = others.iter().map(|other| (other - old).abs()).fold(0.06, f64::min);
        let near = |place: f64| {
            (place - old).abs() < 0.5 * distance && place > closest && place < 1.0 - closest
        };
        if let Some(found) = system.candidate(&others, near) {
            kinks[at] = found.at;
        }
    }
}

/// The best smoothing from that of `old` upwards.
fn smoother(held: &Held, kinks: Vec<f64>, old: &Choice) -> Choice {
    let mut best = Choice { lambda: old.lambda, scores: held.scores(old.lambda, &kinks), kinks };
    let mut lambda = old.lambda;
    let mut worse = 0;
    while worse < 2 && lambda < 1.0 {
        lambda *= 6.0;
        let scores = held.scores(lambda, &best.kinks);
        if mean(&scores) < mean(&best.scores) {
            (best.lambda, best.scores, worse) = (lambda, scores, 0);
        } else {
            worse += 1;
        }
    }
    best
}

/// Drops every jump, but those of `keep`, without which the held-out instances are foretold no worse.
fn pruned(knots: &Knots, held: &Held, mut choice: Choice, keep: &[f64], closest: f64) -> Choice {
    let Ok(system) = System::new(knots, choice.lambda) else { return choice };
    let moved = |choice: &mut Choice| {
        let mut kinks = choice.kinks.clone();
        refine(&system, &mut kinks, closest);
        let scores = held.scores(choice.lambda, &kinks);
        if mean(&scores) < mean(&choice.scores) {
            (choice.kinks, choice.scores) = (kinks, scores);
        }
    };
    moved(&mut choice);
    // The weakest first: dropping it changes most what the others are worth.
    loop {
        let mut weakest = None::<(usize, Vec<f64>)>;
        for at in 0..choice.kinks.len() {
            if keep.contains(&choice.kinks[at]) {
                continue;
            }
            let mut kinks = choice.kinks.clone();
            kinks.remove(at);
            let scores = held.scores(choice.lambda, &kinks);
            if better(&choice.scores, &scores) {
                continue;
            }
            if weakest.as_ref().is_none_or(|(_, least)| mean(&scores) < mean(least)) {
                weakest = Some((at, scores));
            }
        }
        let Some((at, scores)) = weakest else { break };
        choice.kinks.remove(at);
        choice.scores = scores;
    }
    choice
}

//! Jumps of the rate: proposed where they would explain most, accepted only where they improve the
//! prediction of held-out instances.
//!
//! Owns the search. Proposals come from curves much smoother than the best one, in which a jump
//! stands out, several at a time, since one of four jumps helps little as long as the other three
//! forbid a smoother curve. A proposal is the largest of many chances, so that each jump must also
//! be many times higher than the jackknife's error of its height, and held-out instances are
//! predicted with places found without them.

use crate::band::{spread, student_tail};
use crate::bins::Bins;
use crate::held_out::{Held, better, mean};
use crate::spline::{Heights, Knots, System};

/// Maximum number of jumps; more are a texture, which smoothing describes better.
const MOST: usize = 12;
/// Maximum number of jumps that are suspected one by one.
const SINGLES: usize = 4;
/// Number of blocks of groups for the error of a height.
const BLOCKS: usize = 24;

/// Minimum height of a certain jump in standard errors, as if there were many groups: one of a
/// thousand by chance ...
const CERTAIN: f64 = 3.3;
/// ... and one of eighty.
const SUSPECTED: f64 = 2.5;
/// A jump among bends stands out less: the bends explain its neighbourhood as well.
const POSSIBLE: f64 = 1.5;
/// Ratio of scores that differ only by chance.
const ALIKE: f64 = 1.01;

/// Smoothing, jumps in ascending order, and the scores of the groups with them.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) lambda: f64,
    pub(crate) kinks: Vec<f64>,
    pub(crate) scores: Vec<f64>,
}

/// Input of a search.
pub(crate) struct Search<'a> {
    pub(crate) bins: &'a Bins,
    pub(crate) knots: &'a Knots,
    pub(crate) held: &'a Held,
    /// Minimum distance of kinks to each other and to the ends.
    pub(crate) closest: f64,
}

impl Search<'_> {
    /// Searches for jumps on top of the best curve without any.
    pub(crate) fn run(&self, without: Choice) -> Choice {
        let mut best = without;
        for _ in 0..3 {
            let mut found = None::<Choice>;
            for factor in [1e3, 1e5, 30.0, 1.0] {
                let Some(tried) = self.attempt(&best, factor) else { continue };
                if found.as_ref().is_none_or(|found| mean(&tried.scores) < mean(&found.scores)) {
                    found = Some(tried);
                }
            }
            match found {
                Some(found) if better(&found.scores, &best.scores) => best = found,
                _ => break,
            }
        }
        best
    }

    /// Jumps beside those of `best` that are possible but not certain enough, each with those of
    /// `best` as another choice.
    pub(crate) fn suspects(&self, best: &Choice) -> Vec<Choice> {
        let mut found = Vec::new();
        for factor in [30.0, 1e3] {
            let mut kinks = self.propose(best.lambda * factor, &best.kinks, MOST);
            self.prune(best.lambda * factor, &mut kinks, SUSPECTED);
            if kinks.len() <= best.kinks.len() {
                continue;
            }
            let mut choice = self.smoother(kinks, best);
            self.prune(choice.lambda, &mut choice.kinks, SUSPECTED);
            choice.scores = self.held.scores(choice.lambda, &choice.kinks);
            // A worse prediction is no other choice.
            if choice.kinks.len() > best.kinks.len() && mean(&choice.scores) < mean(&best.scores) {
                found.push(choice);
            }
        }
        // A jump among bends shows only in a curve about as smooth as the best, and alone.
        for factor in [1.0, 5.0, 25.0] {
            let lambda = best.lambda * factor;
            let several = self.propose(lambda, &best.kinks, best.kinks.len() + SINGLES);
            for &at in several.iter().filter(|at| !best.kinks.contains(at)) {
                let mut kinks = best.kinks.clone();
                kinks.push(at);
                kinks.sort_by(f64::total_cmp);
                self.prune(lambda, &mut kinks, POSSIBLE);
                if !kinks.contains(&at) {
                    continue;
                }
                let scores = self.held.scores(lambda, &kinks);
                if mean(&scores) < ALIKE * mean(&best.scores) {
                    found.push(Choice { lambda, kinks, scores });
                }
            }
        }
        found
    }

    /// More jumps than those of `old`, from a curve smoother by `factor`.
    fn attempt(&self, old: &Choice, factor: f64) -> Option<Choice> {
        // In a curve as smooth as the best only one at a time is searched.
        let most = if factor > 1.0 { MOST } else { old.kinks.len() + 1 };
        let mut kinks = self.propose(old.lambda * factor, &old.kinks, most);
        // Heights are judged at a suitable smoothing: that of the search.
        self.prune(old.lambda * factor.min(1e3), &mut kinks, CERTAIN);
        if kinks.len() <= old.kinks.len() {
            return None;
        }
        let mut choice = self.smoother(kinks, old);
        let before = choice.kinks.len();
        self.prune(choice.lambda, &mut choice.kinks, CERTAIN);
        if choice.kinks.len() < before {
            if choice.kinks.len() <= old.kinks.len() {
                return None;
            }
            choice = self.smoother(choice.kinks, old);
        }
        if let Ok(system) = System::new(self.knots, choice.lambda) {
            system.refine(&mut choice.kinks, self.closest);
            choice.kinks.sort_by(f64::total_cmp);
        }
        choice.scores = self.held.scores_found_anew(choice.lambda, &choice.kinks, self.closest);
        Some(choice)
    }

    /// `kinks` and, up to `most` in all, those that explain most of the residuals of a curve of
    /// smoothing `lambda`.
    fn propose(&self, lambda: f64, kinks: &[f64], most: usize) -> Vec<f64> {
        let mut kinks = kinks.to_vec();
        let Ok(system) = System::new(self.knots, lambda) else { return kinks };
        system.grow(&mut kinks, most, 0.02, self.closest);
        system.refine(&mut kinks, self.closest);
        kinks.sort_by(f64::total_cmp);
        kinks
    }

    /// Drops the weakest kink until all are higher than chance would make them.
    fn prune(&self, lambda: f64, kinks: &mut Vec<f64>, limit: f64) {
        let blocks = self.bins.groups.min(BLOCKS);
        let without: Vec<Knots> = (0..blocks)
            .map(|block| self.bins.knots((block..self.bins.groups).step_by(blocks)))
            .collect();
        let Ok(whole) = System::new(self.knots, lambda) else { return };
        let whole = whole.heights(kinks);
        let parts: Vec<Heights> = without
            .iter()
            .filter_map(|knots| System::new(knots, lambda).ok())
            .map(|system| system.heights(kinks))
            .collect();
        let limit = student_tail(limit, blocks.saturating_sub(1));
        let mut kept: Vec<usize> = (0..kinks.len()).collect();
        while !kept.is_empty() {
            let rows: Vec<Vec<f64>> = parts.iter().map(|part| part.with_kinks(&kept)).collect();
            let errors = spread(rows.iter().map(Vec::as_slice), kept.len());
            let weakest = whole
                .with_kinks(&kept)
                .iter()
                .zip(errors)
                .map(|(height, error)| height.abs() / error)
                .enumerate()
                .min_by(|a, b| a.1.total_cmp(&b.1));
            match weakest {
                // NaN results from fewer than two blocks.
                Some((at, ratio)) if ratio.is_nan() || ratio <= limit => kept.remove(at),
                _ => break,
            };
        }
        *kinks = kept.iter().map(|&at| kinks[at]).collect();
    }

    /// The best smoothing from that of `old` upwards.
    fn smoother(&self, kinks: Vec<f64>, old: &Choice) -> Choice {
        let scores = self.held.scores(old.lambda, &kinks);
        let mut best = Choice { lambda: old.lambda, scores, kinks };
        let mut lambda = old.lambda;
        let mut worse = 0;
        while worse < 2 && lambda < 1.0 {
            lambda *= 5.0;
            let scores = self.held.scores(lambda, &best.kinks);
            if mean(&scores) < mean(&best.scores) {
                (best.lambda, best.scores, worse) = (lambda, scores, 0);
            } else {
                worse += 1;
            }
        }
        best
    }
}

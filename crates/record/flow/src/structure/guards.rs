//! Guards: the iterations on which the parts of a loop's body run.
//!
//! Owns the iterations of a loop in compressed form ([`Frame`]) and the guards made from them: per
//! execution where all executions agree, from the end where their lengths differ, else through the
//! whole run. The cost of each guard is the number of runs of iterations of its part, never a pass
//! over all iterations.

use super::Guard;
use crate::labels::{Partition, PartitionBuilder};
use crate::runs::Runs;

/// Maximum number of parts times different executions; beyond, programs are irregular and their
/// guards are given for the whole run.
const COMPARED: usize = 10_000_000;

/// The iterations of one loop. Equal iterations, and equal executions, have the same number.
#[derive(Debug)]
pub(super) struct Frame {
    /// For each different execution its iterations.
    pub executions: Vec<Runs<u32>>,
    /// All executions in the order of the run.
    pub order: Runs<u32>,
    /// Number of executions of each different iteration.
    pub weights: Vec<u64>,
}

impl Frame {
    /// The frame of a part that runs once: one execution of one iteration.
    pub(super) fn once() -> Self {
        Self {
            executions: vec![Runs::from_iter([0])],
            order: Runs::from_iter([0]),
            weights: vec![1],
        }
    }

    /// Number of runs that a pass over all iterations skips.
    pub(super) fn size(&self) -> usize {
        let runs: usize = self.executions.iter().map(|execution| execution.runs().len()).sum();
        runs + self.order.runs().len() + self.weights.len()
    }

    /// The frame of an inner loop: `execution_of` returns for each iteration of this frame the
    /// inner loop's execution in it, and `executions` has the content of each.
    pub(super) fn inner(
        &self,
        execution_of: &[Option<u32>],
        executions: Vec<Runs<u32>>,
        iterations: usize,
    ) -> Self {
        let order = self.map(|iteration| execution_of[iteration as usize]);
        let mut times = vec![0_u64; executions.len()];
        for &(execution, count) in order.runs() {
            times[execution as usize] += count;
        }
        let mut weights = vec![0_u64; iterations];
        for (execution, times) in executions.iter().zip(times) {
            for &(iteration, count) in execution.runs() {
                weights[iteration as usize] += count * times;
            }
        }
        Self { executions, order, weights }
    }

    /// Values of `of` for every iteration, in the order of the run; iterations without a value are
    /// left out.
    pub(super) fn map<T: PartialEq + Copy>(&self, of: impl Fn(u32) -> Option<T>) -> Runs<T> {
        let mapped: Vec<Runs<T>> = self
            .executions
            .iter()
            .map(|execution| {
                let mut runs = Runs::new();
                for &(iteration, count) in execution.runs() {
                    if let Some(value) = of(iteration) {
                        runs.push(value, count);
                    }
                }
                runs
            })
            .collect();
        let mut all = Runs::new();
        for &(execution, count) in self.order.runs() {
            match mapped[execution as usize].runs() {
                [] => {}
                [(value, length)] => all.push(*value, length * count),
                runs => {
                    for &(value, length) in (0..count).flat_map(|_| runs) {
                        all.push(value, length);
                    }
                }
            }
        }
        all
    }

    /// Number of iterations of each execution in the order of the run.
    pub(super) fn trips(&self) -> Runs<u64> {
        let lengths: Vec<u64> = self.executions.iter().map(Runs::len).collect();
        let mut trips = Runs::new();
        for &(execution, count) in self.order.runs() {
            trips.push(lengths[execution as usize], count);
        }
        trips
    }

    /// Number of executions of a part that runs on the iterations `on`.
    pub(super) fn weight(&self, on: &[u32]) -> u64 {
        on.iter().map(|&iteration| self.weights[iteration as usize]).sum()
    }

    /// Guards of the parts that run on the iterations `parts[0]`, `parts[1]`, ...
    pub(super) fn guards(&self, parts: &[&[u32]]) -> Vec<Guard> {
        let mut parts_of = vec![Vec::new(); self.weights.len()];
        for (part, on) in parts.iter().enumerate() {
            for &iteration in *on {
                parts_of[iteration as usize].push(part as u32);
            }
        }
        let candidates = self.per_execution(&parts_of, parts.len());
        let missing: Vec<bool> = candidates.iter().map(Option::is_none).collect();
        for list in &mut parts_of {
            list.retain(|&part| missing[part as usize]);
        }
        let (whole, of) = self.through_the_run(&parts_of, &missing);
        candidates
            .into_iter()
            .zip(whole)
            .map(|(guard, iterations)| guard.unwrap_or(Guard::Whole { iterations, of }))
            .collect()
    }

    /// The guards that hold in every execution alike.
    fn per_execution(&self, parts_of: &[Vec<u32>], parts: usize) -> Vec<Option<Guard>> {
        // The others must be the beginning of the longest execution.
        let longest = self.executions.iter().map(Runs::len).enumerate().rev();
        let Some((longest, _)) = longest
            .max_by_key(|&(_, length)| length)
            .filter(|_| parts.saturating_mul(self.executions.len()) <= COMPARED)
        else {
            return vec![None; parts];
        };
        let model = intervals(&self.executions[longest], parts_of, parts);
        let mut fits = vec![[true; 3]; parts];
        for execution in &self.executions {
            let length = execution.len();
            let own = intervals(execution, parts_of, parts);
            for ((own, model), fits) in own.iter().zip(&model).zip(&mut fits) {
                fits[0] = fits[0] && is_beginning(own, model, length);
                fits[1] = fits[1]
                    && match own.as_slice() {
                        [] => length == 1,
                        [one] => *one == (0, length - 1),
                        _ => false,
                    };
                fits[2] = fits[2] && own.as_slice() == [(length - 1, 1)];
            }
        }
        let guard = |(fits, model): ([bool; 3], Vec<(u64, u64)>)| match fits {
            [true, ..] => Some(Guard::Each { iterations: Partition::from_intervals(model) }),
            [_, true, _] => Some(Guard::NotLast),
            [_, _, true] => Some(Guard::Last),
            _ => None,
        };
        fits.into_iter().zip(model).map(guard).collect()
    }

    /// For the `wanted` parts their iterations counted through all executions, and the number of
    /// all.
    fn through_the_run(&self, parts_of: &[Vec<u32>], wanted: &[bool]) -> (Vec<Partition>, u64) {
        let mut builders = vec![PartitionBuilder::default(); wanted.len()];
        let mut at = 0;
        if wanted.contains(&true) {
            for &(execution, count) in self.order.runs() {
                for _ in 0..count {
                    for &(iteration, length) in self.executions[execution as usize].runs() {
                        for &part in &parts_of[iteration as usize] {
                            builders[part as usize].push(at, length);
                        }
                        at += length;
                    }
                }
            }
        }
        (builders.into_iter().map(PartitionBuilder::finish).collect(), at)
    }
}

/// For each part the iterations of `execution` on which it runs, as (first, number).
fn intervals(execution: &Runs<u32>, parts_of: &[Vec<u32>], parts: usize) -> Vec<Vec<(u64, u64)>> {
    let mut found: Vec<Vec<(u64, u64)>> = vec![Vec::new(); parts];
    let mut at = 0;
    for &(iteration, count) in execution.runs() {
        for &part in &parts_of[iteration as usize] {
            match found[part as usize].last_mut() {
                Some((first, length)) if *first + *length == at => *length += count,
                _ => found[part as usize].push((at, count)),
            }
        }
        at += count;
    }
    found
}

/// True if `own` is the rest of `model` when it is cut off after `length` iterations.
fn is_beginning(own: &[(u64, u64)], model: &[(u64, u64)], length: u64) -> bool {
    let cut = model.partition_point(|&(first, _)| first < length);
    own.len() == cut
        && own.iter().zip(model).all(|(&(first, count), &(model_first, model_count))| {
            first == model_first && count == model_count.min(length - first)
        })
}

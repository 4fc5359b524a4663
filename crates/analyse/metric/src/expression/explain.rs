//! The value of an expression, or the reason why there is none.
//!
//! Owns the reasons: missing counters, and a divisor of zero. It follows the same program as
//! [`Expression::eval`] and gives the same value; it is slower, and meant for tables that people
//! read.

use super::program::{finite, has};
use super::{Expression, Step};

/// Reasons for the absence of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Absent {
    /// Required counters were not measured.
    #[error("no {}", list(.0))]
    Missing(Vec<String>),
    /// A divisor is zero.
    #[error("division by zero: {0} is 0")]
    DivisionByZero(String),
    /// The result overflows, or a function has no value there.
    #[error("no number comes out")]
    NotANumber,
    /// A count, or a part of one, that is less than zero: see [`crate::table`].
    #[error("{0} is below zero")]
    Negative(String),
    /// A value beyond the limits of any machine: see [`crate::limits`].
    #[error("{0}")]
    Impossible(String),
    /// Counters that took turns so seldom that each saw another part of the program.
    #[error("{0} and {1} counted at different times")]
    Apart(String, String),
    /// A metric that is defined by itself.
    #[error("defined by itself: {0}")]
    Cycle(String),
}

/// A list of names for people, a few of them.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let mut text = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text = format!("{text} and {} more", names.len() - SHOWN);
    }
    text
}

/// Reason for the absence of a part's value, by places in the program.
#[derive(Clone, Copy)]
enum Why {
    Missing,
    /// The divisor ends before this step.
    Zero(usize),
    NotANumber,
}

impl Expression {
    /// The value for the numbers of `number`, or the reason why there is none. Non-finite numbers
    /// are missing.
    pub fn value(&self, number: impl Fn(&str) -> Option<f64>) -> Result<f64, Absent> {
        let numbers: Vec<f64> =
            self.counters.iter().map(|name| number(name).map_or(f64::NAN, finite)).collect();
        self.explained(&numbers)
    }

    /// The same for one number per counter, in the order of [`Self::counters`].
    pub fn explained(&self, numbers: &[f64]) -> Result<f64, Absent> {
        let of = |counter: u32| numbers.get(counter as usize).copied().map(finite);
        let mut stack: Vec<Result<f64, Why>> = Vec::new();
        for (at, &step) in self.steps.iter().enumerate() {
            let mut pop = || stack.pop().unwrap_or(Err(Why::NotANumber));
            let value = match (step, step.arity()) {
                (Step::Number(number), _) => Ok(number),
                (Step::Counter(counter), _) => {
                    of(counter).filter(|value| value.is_finite()).ok_or(Why::Missing)
                }
                (Step::Has(counter), _) => Ok(has(of(counter))),
                (Step::Select, _) => {
                    let (last, condition, first) = (pop(), pop(), pop());
                    condition.and_then(|condition| if condition == 0.0 { last } else { first })
                }
                (_, 1) => pop().and_then(|a| number_of(step.of_one(a))),
                _ => {
                    let (last, first) = (pop(), pop());
                    first.and_then(|a| {
                        let b = last?;
                        let divides = matches!(step, Step::Divide | Step::Remainder);
                        if divides && b == 0.0 {
                            Err(Why::Zero(at))
                        } else {
                            number_of(step.of_two(a, b))
                        }
                    })
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(Err(Why::NotANumber)).map_err(|why| match why {
            Why::Missing => {
                let named = self.counters.iter().zip(0..);
                let missing = named.filter(|(_, at)| !of(*at).is_some_and(f64::is_finite));
                Absent::Missing(missing.map(|(name, _)| name.clone()).collect())
            }
            Why::Zero(at) => Absent::DivisionByZero(self.part_before(at).to_string()),
            Why::NotANumber => Absent::NotANumber,
        })
    }

    /// The part whose last step stands before `end`.
    fn part_before(&self, end: usize) -> Self {
        let (mut begin, mut wanted) = (end, 1);
        while begin > 0 && wanted > 0 {
            begin -= 1;
            wanted = wanted - 1 + self.steps[begin].arity();
        }
        Self {
            steps: self.steps[begin..end].to_vec(),
            counters: self.counters.clone(),
            depth: self.depth,
        }
    }
}

fn number_of(value: f64) -> Result<f64, Why> {
    if value.is_finite() { Ok(value) } else { Err(Why::NotANumber) }
}

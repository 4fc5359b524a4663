//! The unit of an expression, from those of its counters.
//!
//! Owns the arithmetic of units, if the result is one of [`Unit`]; products of units are not.

use super::{Expression, Step};
use crate::catalogue::Unit;

#[derive(Clone, Copy, PartialEq)]
enum Is {
    Plain,
    In(Unit),
    Unknown,
}

impl Expression {
    /// The unit of the value, if it can be determined; numbers without counters are ratios.
    pub fn unit(&self, of: impl Fn(&str) -> Option<Unit>) -> Option<Unit> {
        let units: Vec<Is> =
            self.counters.iter().map(|name| of(name).map_or(Is::Unknown, Is::In)).collect();
        let mut stack: Vec<Is> = Vec::new();
        for &step in &self.steps {
            let unit = match step {
                Step::Number(_) | Step::Has(_) => Is::Plain,
                Step::Counter(counter) => units[counter as usize],
                Step::Select => {
                    let last = stack.pop().unwrap_or(Is::Unknown);
                    stack.pop();
                    two(Step::Max, stack.pop().unwrap_or(Is::Unknown), last)
                }
                Step::Negate | Step::Abs => stack.pop().unwrap_or(Is::Unknown),
                Step::Sqrt | Step::Log2 => match stack.pop() {
                    Some(Is::Plain) => Is::Plain,
                    Some(Is::In(Unit::Ratio)) => Is::In(Unit::Ratio),
                    _ => Is::Unknown,
                },
                _ => {
                    let last = stack.pop().unwrap_or(Is::Unknown);
                    two(step, stack.pop().unwrap_or(Is::Unknown), last)
                }
            };
            stack.push(unit);
        }
        match stack.pop() {
            Some(Is::Plain) => Some(Unit::Ratio),
            Some(Is::In(unit)) => Some(unit),
            _ => None,
        }
    }
}

fn two(step: Step, first: Is, last: Is) -> Is {
    match (step, first, last) {
        _ if step.is_true_or_false() => Is::Plain,
        (_, Is::Unknown, _) | (_, _, Is::Unknown) => Is::Unknown,
        (Step::Divide | Step::Ratio, Is::In(a), Is::In(b)) if a == b => Is::In(Unit::Ratio),
        (
            Step::Divide | Step::Ratio | Step::Multiply | Step::Remainder,
            one,
            Is::Plain | Is::In(Unit::Ratio),
        )
        | (Step::Multiply, Is::Plain | Is::In(Unit::Ratio), one) => one,
        (Step::Divide | Step::Ratio | Step::Multiply | Step::Remainder, ..) => Is::Unknown,
        (_, a, b) if a == b => a,
        (_, Is::Plain, one) | (_, one, Is::Plain) => one,
        _ => Is::Unknown,
    }
}

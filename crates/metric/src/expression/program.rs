//! The flat program of an expression.
//!
//! Owns its steps, their values, and the check that it can be evaluated and read back. It refuses recursion: what a step takes are the last
//! results before it.

use super::{Expression, MOST_COUNTERS, MOST_NESTED, MOST_STEPS, Wrong};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Number(f64),
    Counter(u32),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Min,
    Max,
    Abs,
    Sqrt,
    Log2,
}

impl Expression {
    pub(super) fn run(&self, numbers: &[f64], stack: &mut [f64]) -> f64 {
        let mut top = 0;
        for &step in &self.steps {
            match step {
                Step::Number(number) => {
                    stack[top] = number;
                    top += 1;
                }
                Step::Counter(counter) => {
                    stack[top] = numbers.get(counter as usize).copied().map_or(f64::NAN, finite);
                    top += 1;
                }
                _ if step.arity() == 1 => stack[top - 1] = step.of_one(stack[top - 1]),
                _ => {
                    top -= 1;
                    stack[top - 1] = step.of_two(stack[top - 1], stack[top]);
                }
            }
        }
        stack[0]
    }

    pub(super) fn append(&mut self, other: &Self) -> Result<(), Wrong> {
        if self.steps.len() + other.steps.len() > MOST_STEPS {
            return Err(Wrong::TooLong);
        }
        for step in &other.steps {
            let step = match *step {
                Step::Counter(counter) => self.intern(&other.counters[counter as usize])?,
                step => step,
            };
            self.steps.push(step);
        }
        Ok(())
    }

    pub(super) fn intern(&mut self, name: &str) -> Result<Step, Wrong> {
        let known = self.counters.iter().position(|known| known == name);
        if known.is_none() {
            if self.counters.len() >= MOST_COUNTERS {
                return Err(Wrong::TooMany);
            }
            self.counters.push(name.to_owned());
        }
        Ok(Step::Counter(known.unwrap_or(self.counters.len() - 1) as u32))
    }

    /// Counts how many numbers wait at most, and refuses what is too much to evaluate or to read back as text.
    pub(super) fn checked(mut self) -> Result<Self, Wrong> {
        if self.steps.len() > MOST_STEPS {
            return Err(Wrong::TooLong);
        }
        let (mut parts, mut most): (Vec<Part>, usize) = (Vec::new(), 0);
        for &step in &self.steps {
            let part = match (step.arity(), parts.pop()) {
                (1, Some(only)) => only.under(step),
                (2, Some(last)) => match parts.pop() {
                    Some(first) => first.with(step, &last)?,
                    None => last,
                },
                (_, other) => {
                    parts.extend(other);
                    let constant =
                        if let Step::Number(number) = step { Some(number) } else { None };
                    Part { nested: 0, binds: PRIMARY, constant }
                }
            };
            if part.constant.is_some_and(f64::is_nan) {
                return Err(Wrong::NotANumber);
            }
            if part.nested > MOST_NESTED {
                return Err(Wrong::TooDeep);
            }
            parts.push(part);
            most = most.max(parts.len());
        }
        self.depth = most;
        Ok(self)
    }
}

/// What [`Expression::checked`] knows of a part.
struct Part {
    /// How many operators and parentheses wait at once while its text is read; one number more at most waits while it is evaluated.
    nested: usize,
    /// How strongly it binds.
    binds: u8,
    /// Its value, if it has no counters.
    constant: Option<f64>,
}

impl Part {
    fn enclosed(&self, least: u8) -> usize {
        self.nested + usize::from(self.binds < least)
    }

    fn under(&self, step: Step) -> Self {
        let binds = step.binds();
        let nested = 1 + self.enclosed(if binds == UNARY { UNARY } else { 0 });
        Self { nested, binds, constant: self.constant.map(|value| step.of_one(value)) }
    }

    fn with(&self, step: Step, last: &Self) -> Result<Self, Wrong> {
        let binds = step.binds();
        let nested = if binds == PRIMARY {
            1 + self.nested.max(last.nested)
        } else {
            // The right side needs parentheses also where it binds as strongly.
            self.enclosed(binds).max(last.enclosed(binds + 1) + 1)
        };
        if step == Step::Divide && last.constant == Some(0.0) {
            return Err(Wrong::DivisionByZero);
        }
        let both = self.constant.zip(last.constant);
        Ok(Self { nested, binds, constant: both.map(|(a, b)| step.of_two(a, b)) })
    }
}

/// How strongly parts bind: sums, products, signs, and what needs no parentheses.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
pub(super) const UNARY: u8 = 3;
pub(super) const PRIMARY: u8 = 4;

impl Step {
    /// How many numbers it takes.
    pub(super) fn arity(self) -> usize {
        match self {
            Self::Number(_) | Self::Counter(_) => 0,
            Self::Negate | Self::Abs | Self::Sqrt | Self::Log2 => 1,
            _ => 2,
        }
    }

    pub(super) fn binds(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => SUM,
            Self::Multiply | Self::Divide => PRODUCT,
            Self::Negate => UNARY,
            _ => PRIMARY,
        }
    }

    pub(super) fn of_one(self, a: f64) -> f64 {
        finite(match self {
            Self::Negate => -a,
            Self::Abs => a.abs(),
            Self::Sqrt => a.sqrt(),
            _ => a.log2(),
        })
    }

    pub(super) fn of_two(self, a: f64, b: f64) -> f64 {
        finite(match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            // The library's minimum prefers numbers to NaN, which would hide what is absent.
            _ if a.is_nan() || b.is_nan() => f64::NAN,
            Self::Min => a.min(b),
            _ => a.max(b),
        })
    }
}

pub(super) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

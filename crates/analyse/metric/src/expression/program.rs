//! The flat program of an expression.
//!
//! Owns its steps, their values, and the check that it can be evaluated and read back. It refuses
//! recursion: a step takes the last results before it.

use super::{Expression, MOST_COUNTERS, MOST_NESTED, MOST_STEPS, Wrong};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Number(f64),
    Counter(u32),
    /// Tests whether a counter is available.
    Has(u32),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    Equal,
    Unequal,
    And,
    Xor,
    Or,
    Min,
    Max,
    /// A quotient that is 0 where the divisor is.
    Ratio,
    Abs,
    Sqrt,
    Log2,
    /// `a if c else b`, in this order.
    Select,
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
                Step::Has(counter) => {
                    stack[top] = has(numbers.get(counter as usize).copied());
                    top += 1;
                }
                Step::Select => {
                    top -= 2;
                    stack[top - 1] = select(stack[top - 1], stack[top], stack[top + 1]);
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
                Step::Counter(counter) => {
                    Step::Counter(self.intern(&other.counters[counter as usize])?)
                }
                Step::Has(counter) => Step::Has(self.intern(&other.counters[counter as usize])?),
                step => step,
            };
            self.steps.push(step);
        }
        Ok(())
    }

    pub(super) fn intern(&mut self, name: &str) -> Result<u32, Wrong> {
        let known = self.counters.iter().position(|known| known == name);
        if known.is_none() {
            if self.counters.len() >= MOST_COUNTERS {
                return Err(Wrong::TooMany);
            }
            self.counters.push(name.to_owned());
        }
        Ok(known.unwrap_or(self.counters.len() - 1) as u32)
    }

    /// Counts the maximum number of waiting numbers, and refuses a program too large to evaluate or
    /// to read back as text.
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
                (3, Some(last)) => match (parts.pop(), parts.pop()) {
                    (Some(condition), Some(first)) => first.choose(&condition, &last),
                    _ => last,
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

/// State of a part in [`Expression::checked`].
struct Part {
    /// Maximum number of operators and parentheses that wait while its text is read; one number
    /// more at most waits while it is evaluated.
    nested: usize,
    /// Its binding strength.
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

    /// This part if the condition holds, else the last.
    fn choose(&self, condition: &Self, last: &Self) -> Self {
        let sides = (self.enclosed(SELECT + 1)).max(condition.enclosed(SELECT + 1) + 1);
        // Two numbers wait while the last is evaluated, though one word does while it is read.
        let nested = sides.max(last.enclosed(SELECT) + 2);
        Self {
            nested,
            binds: SELECT,
            constant: chosen(self.constant, condition.constant, last.constant),
        }
    }

    fn with(&self, step: Step, last: &Self) -> Result<Self, Wrong> {
        let binds = step.binds();
        let nested = if binds == PRIMARY {
            1 + self.nested.max(last.nested)
        } else {
            // The right side needs parentheses also at equal binding strength.
            self.enclosed(binds).max(last.enclosed(binds + 1) + 1)
        };
        if step == Step::Divide && last.constant == Some(0.0) {
            return Err(Wrong::DivisionByZero);
        }
        let both = self.constant.zip(last.constant);
        Ok(Self { nested, binds, constant: both.map(|(a, b)| step.of_two(a, b)) })
    }
}

/// Binding strengths, as in Linux: choices, logic, comparisons, sums, products, signs, and parts
/// that need no parentheses.
pub(super) const SELECT: u8 = 1;
const OR: u8 = 2;
const XOR: u8 = 3;
const AND: u8 = 4;
const TEST: u8 = 5;
const SUM: u8 = 6;
const PRODUCT: u8 = 7;
pub(super) const UNARY: u8 = 8;
pub(super) const PRIMARY: u8 = 9;

impl Step {
    /// Number of its operands.
    pub(super) fn arity(self) -> usize {
        match self {
            Self::Number(_) | Self::Counter(_) | Self::Has(_) => 0,
            Self::Negate | Self::Abs | Self::Sqrt | Self::Log2 => 1,
            Self::Select => 3,
            _ => 2,
        }
    }

    pub(super) fn binds(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => SUM,
            Self::Multiply | Self::Divide | Self::Remainder => PRODUCT,
            Self::Less
            | Self::Greater
            | Self::LessOrEqual
            | Self::GreaterOrEqual
            | Self::Equal
            | Self::Unequal => TEST,
            Self::And => AND,
            Self::Xor => XOR,
            Self::Or => OR,
            Self::Select => SELECT,
            Self::Negate => UNARY,
            _ => PRIMARY,
        }
    }

    /// True for comparisons and logical operators.
    pub(super) fn is_true_or_false(self) -> bool {
        (OR..=TEST).contains(&self.binds())
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
            // The library's minimum prefers numbers to NaN, which would hide an absent value.
            _ if a.is_nan() || b.is_nan() => f64::NAN,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Ratio if b == 0.0 => 0.0,
            Self::Ratio => a / b,
            Self::Less => truth(a < b),
            Self::Greater => truth(a > b),
            Self::LessOrEqual => truth(a <= b),
            Self::GreaterOrEqual => truth(a >= b),
            // Results of different computations are hardly ever equal; authors compare literals and
            // counts.
            Self::Equal => truth(a.to_bits() == b.to_bits() || (a == 0.0 && b == 0.0)),
            Self::Unequal => truth(!(a.to_bits() == b.to_bits() || (a == 0.0 && b == 0.0))),
            _ => match (whole(a), whole(b)) {
                (Some(a), Some(b)) => match self {
                    Self::And => (a & b) as f64,
                    Self::Xor => (a ^ b) as f64,
                    Self::Or => (a | b) as f64,
                    _ => a.checked_rem(b).map_or(f64::NAN, |rest| rest as f64),
                },
                _ => f64::NAN,
            },
        })
    }
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// The whole number towards zero, by C's conversion; absent beyond 64 bits.
fn whole(a: f64) -> Option<i64> {
    (a.abs() < 9.2e18).then_some(a as i64)
}

/// 1 where there is a number.
pub(super) fn has(number: Option<f64>) -> f64 {
    truth(number.is_some_and(f64::is_finite))
}

/// The side that the condition chooses; the other one need not be available.
pub(super) fn select(a: f64, condition: f64, b: f64) -> f64 {
    if condition.is_nan() {
        f64::NAN
    } else if condition == 0.0 {
        b
    } else {
        a
    }
}

/// The value of a choice whose condition is known already.
pub(super) fn chosen(a: Option<f64>, condition: Option<f64>, b: Option<f64>) -> Option<f64> {
    condition.and_then(|condition| if condition == 0.0 { b } else { a })
}

pub(super) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

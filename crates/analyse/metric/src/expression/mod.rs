//! Arithmetic over counters: from text to a flat program, and its value for given numbers.
//!
//! ```text
//! choice   = either [ "if" choice "else" choice ]
//! either   = odd { ("|" | "||") odd }
//! odd      = both { "^" both }
//! both     = test { ("&" | "&&") test }
//! test     = sum { ("<" | ">" | "<=" | ">=" | "==" | "!=") sum }
//! sum      = product { ("+" | "-") product }
//! product  = unary { ("*" | "/" | "%") unary }
//! unary    = "-" unary | primary
//! primary  = number | counter | "$" digits | "(" choice ")"
//!          | function "(" choice { "," choice } ")"
//!          | "has_event" "(" counter ")" | "source_count" "(" counter ")"
//!          | "strcmp_cpuid_str" "(" number ")"
//! function = "min" | "max" (two or more arguments) | "d_ratio" (two)
//!          | "abs" | "sqrt" | "log2" (one)
//! number   = digits [ "." digits ] [ "e" [ "+" | "-" ] digits ] [ "k" | "M" | "G" | "T" ]
//!          | "0x" digits
//! counter  = bare | '"' anything but quotes and control characters '"' | "#" word
//! bare     = letter { letter | digit | "_" | "." | ":" | ":*:" | "\\" any | event },
//!            and "=" after a ":"
//! event    = "@" terms "@" | "/" terms with a "=" "/"
//! ```
//!
//! This is the language of Linux' `MetricExpr` (tools/perf/util/expr.y, with its precedence) and of
//! Intel's and LIKWID's formulas beside that of monitors. `@` stands for the `/` of perf's events,
//! and `\\` takes the next character as it is: `cpu@INST\\,cmask\\=1@` is the counter
//! `cpu/INST,cmask=1/`, and so is `cpu/INST,cmask=1/`, as no `=` could stand between two divisions.
//! Literals (`#smt_on`, `#num_cpus`) are counters whose name begins with `#`, in small letters.
//! Comparisons give 1 or 0; `&`, `|`, `^` and `%` work on whole numbers; of `a if c else b` only
//! the side that `c` chooses must be available; `d_ratio(a, b)` is 0 where `b` is 0, as its authors
//! intend; `has_event(c)` is 1 where `c` is available. The caller supplies `source_count(c)` and
//! `strcmp_cpuid_str(n)` under that name.
//!
//! `.`, `:` and `=` belong to a name only before a letter, a digit or `_`:
//! `perf::INSTRUCTIONS:u=1`, `net:*:rx_bytes`. `/` always divides and `-` always subtracts, so
//! names with those need quotes (`"cpu/cache-misses/"`), except that hyphenated names of the
//! catalogue are recognised whole (`LLC-load-misses / instructions`). Words with blanks between are
//! one name with `_` if the catalogue has it, as in `PAPI L2 TCM`; nothing else could be meant.
//! `$0`, `$1` ... are the members of a list that stands elsewhere.
//!
//! Absent is absent: an unavailable number (`NaN`, infinite, or missing), a division by zero, the
//! logarithm of zero and overflows give `NaN`, never an infinity and never zero. It refuses
//! recursion: reading and evaluating use explicit, bounded stacks.

mod display;
mod event;
mod explain;
mod lexer;
mod parser;
mod program;
mod rows;
#[cfg(test)]
mod tests;
mod token;
mod units;

use std::ops::Range;

pub use self::explain::Absent;
use self::program::Step;

/// Maximum number of parentheses, functions and operators that wait for their right side.
pub const MOST_NESTED: usize = 256;
/// Maximum number of numbers, counters and operators of an expression.
pub const MOST_STEPS: usize = 1 << 14;
/// Maximum number of different counters of an expression.
pub const MOST_COUNTERS: usize = 256;
/// Longest name of a counter in bytes.
pub const LONGEST_NAME: usize = 256;

/// An expression over counters, in postfix order.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    steps: Vec<Step>,
    /// Counters in the order of first use.
    counters: Vec<String>,
    /// Maximum number of waiting numbers.
    depth: usize,
}

/// An error in a text, and its place.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{wrong}")]
pub struct ExpressionError {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// The error.
    pub wrong: Wrong,
}

/// Errors in an expression.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Wrong {
    /// An unknown character.
    #[error("expected a number, a counter or an operator, found `{0}`")]
    Character(char),
    /// Something else in the place of a value.
    #[error("expected a number, a counter or `(`, found {0}")]
    ExpectedValue(String),
    /// Something else in the place of an operator.
    #[error("expected an operator, found {0}")]
    ExpectedOperator(String),
    /// `(` without `)`.
    #[error("expected `)` for this `(`")]
    Unclosed,
    /// `)` without `(`.
    #[error("expected `(` before this `)`")]
    Unopened,
    /// `if` without `else`.
    #[error("expected `else` after this `if`")]
    NoElse,
    /// `else` without `if`.
    #[error("expected `if` before this `else`")]
    NoIf,
    /// A quote without its end.
    #[error("expected `\"` at the end of the name")]
    UnclosedQuote,
    /// A name that is empty or longer than [`LONGEST_NAME`].
    #[error("expected a name of 1 to {LONGEST_NAME} bytes, found {0}")]
    NameLength(usize),
    /// Digits that are no number, or too large for one.
    #[error("expected a number such as 1000, 1e3 or 1k, found `{0}`")]
    Number(String),
    /// `$n` without a list.
    #[error("expected a list of counters for `${0}`, there is none")]
    NoList(usize),
    /// `$n` with n too large.
    #[error("expected `$0` to `${last}`, found `${found}`", last = .length.saturating_sub(1))]
    BeyondList {
        /// The number.
        found: usize,
        /// Length of the list.
        length: usize,
    },
    /// Too few or too many arguments.
    #[error("expected {expected} of `{function}`, found {found}")]
    Arguments {
        /// Its name.
        function: &'static str,
        /// Its arguments, in words.
        expected: &'static str,
        /// Number of arguments.
        found: usize,
    },
    /// A division by zero for any counters.
    #[error("expected a divisor that can differ from zero")]
    DivisionByZero,
    /// A part without counters that has no value.
    #[error("expected a part that has a value, this is not a number")]
    NotANumber,
    /// Deeper than [`MOST_NESTED`].
    #[error("expected at most {MOST_NESTED} nested parts")]
    TooDeep,
    /// Longer than [`MOST_STEPS`].
    #[error("expected at most {MOST_STEPS} numbers, counters and operators")]
    TooLong,
    /// More than [`MOST_COUNTERS`].
    #[error("expected at most {MOST_COUNTERS} different counters")]
    TooMany,
}

/// An expression and the places of its counters in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The expression.
    pub expression: Expression,
    /// Bytes of the first use of each counter.
    pub spans: Vec<Range<usize>>,
}

impl Expression {
    /// Reads an expression that has no list of counters.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        Ok(parser::parse(text, &[])?.expression)
    }

    /// Reads an expression in which `$0` is the first counter of `list`. Spans are bytes of `text`.
    pub fn parse_with(text: &str, list: &[String]) -> Result<Parsed, ExpressionError> {
        parser::parse(text, list)
    }

    /// The counter itself.
    pub fn counter(name: &str) -> Self {
        Self { steps: vec![Step::Counter(0)], counters: vec![name.to_owned()], depth: 1 }
    }

    /// The counter itself, with an external name: one that could not be written between quotes is
    /// refused.
    pub fn checked_counter(name: &str) -> Result<Self, Wrong> {
        if !(1..=LONGEST_NAME).contains(&name.len()) {
            return Err(Wrong::NameLength(name.len()));
        }
        match name.chars().find(|&c| c == '"' || c.is_control()) {
            Some(wrong) => Err(Wrong::Character(wrong)),
            None => Ok(Self::counter(name)),
        }
    }

    /// Counters in the order of first use; numbers are given in this order.
    pub fn counters(&self) -> &[String] {
        &self.counters
    }

    /// The counter, if the expression is a single one without arithmetic.
    pub fn as_counter(&self) -> Option<&str> {
        (self.steps == [Step::Counter(0)]).then(|| self.counters[0].as_str())
    }

    /// The value, unless there are counters in it.
    pub fn constant(&self) -> Option<f64> {
        self.counters.is_empty().then(|| self.eval(&[]))
    }

    /// The value for one number per counter, in the order of [`Self::counters`]; `NaN` is absent.
    pub fn eval(&self, numbers: &[f64]) -> f64 {
        // Nearly all expressions are shallow, and a small stack costs nothing to clear.
        if self.depth <= 8 {
            self.run(numbers, &mut [0.0; 8])
        } else {
            self.run(numbers, &mut [0.0; MOST_NESTED + 1])
        }
    }

    /// The same with expressions in the place of counters; counters without one stay.
    ///
    /// Fails where the result would be [`Wrong::TooLong`] or [`Wrong::TooDeep`], or could never
    /// have a value.
    pub fn replace<'a>(
        &self,
        with: impl Fn(&str) -> Option<&'a Expression>,
    ) -> Result<Self, Wrong> {
        let replacements: Vec<_> = self.counters.iter().map(|name| with(name)).collect();
        let mut result = Self { steps: Vec::new(), counters: Vec::new(), depth: 0 };
        for &step in &self.steps {
            match step {
                Step::Counter(counter) => match replacements[counter as usize] {
                    Some(other) => result.append(other)?,
                    None => result.append(&Self::counter(&self.counters[counter as usize]))?,
                },
                // Only a counter can be available or not.
                Step::Has(counter) => {
                    let own = self.counters[counter as usize].as_str();
                    let other = replacements[counter as usize].and_then(Self::as_counter);
                    let step = Step::Has(result.intern(other.unwrap_or(own))?);
                    result.steps.push(step);
                }
                _ => result.steps.push(step),
            }
        }
        result.checked()
    }

    /// This divided by another one.
    pub fn over(&self, divisor: &Self) -> Result<Self, Wrong> {
        let mut result = self.clone();
        result.append(divisor)?;
        result.steps.push(Step::Divide);
        result.checked()
    }
}

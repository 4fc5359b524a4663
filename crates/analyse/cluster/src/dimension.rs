//! Dimensions in which bursts are compared: expressions of their counters and of their duration.
//!
//! Owns the list that users write, `log(PAPI_TOT_INS), PAPI_TOT_INS / PAPI_TOT_CYC`: commas outside
//! of parentheses separate, `log(...)` around a whole expression asks for logarithms, counters go
//! by name or by event type. Owns the default dimensions too. The language of expressions is crate
//! `metric`'s.

use talea_metric::{Expression, ExpressionError, suggest, synonyms};
use thiserror::Error;

use crate::bursts::{Bursts, Counter};
use crate::points::MAX_DIMENSIONS;
use crate::prepare::Spacing;

/// The name that stands for a burst's duration in nanoseconds.
pub const DURATION: &str = "duration";

/// Longest accepted list, in bytes.
const LONGEST: usize = 1 << 16;

/// One dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// As the user wrote it, or the name of a well-known one: `instructions`, `IPC`, `duration`.
    pub name: String,
    /// The value that is computed for each burst.
    pub expression: Expression,
    /// Values or their logarithms.
    pub spacing: Spacing,
}

/// Errors of dimensions.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DimensionError {
    /// The text is no expression.
    #[error("expected an expression as dimension {place}, {wrong}: `{text}`")]
    Expression {
        /// Place in the list, from 1.
        place: usize,
        /// The error of the expression.
        wrong: ExpressionError,
        /// Text of the expression.
        text: String,
    },
    /// Unknown counter.
    #[error("expected a counter of the input{there}, found `{name}`{near}")]
    Counter {
        /// Name that the user wrote.
        name: String,
        /// Names of the available counters, in words.
        there: String,
        /// A similar name, in words.
        near: String,
    },
    /// Too few or too many dimensions.
    #[error("expected 1 to {MAX_DIMENSIONS} dimensions, found {0}")]
    Count(usize),
    /// The list is longer than any written by hand.
    #[error("expected a list of at most {LONGEST} bytes, found {0}")]
    Long(usize),
    /// Nothing to compare.
    #[error("expected bursts with counters or durations to compare, found {0}")]
    Nothing(&'static str),
}

impl Dimension {
    /// Reads a list.
    pub fn list(text: &str) -> Result<Vec<Self>, DimensionError> {
        if text.len() > LONGEST {
            return Err(DimensionError::Long(text.len()));
        }
        let parts: Vec<&str> = split(text).into_iter().map(str::trim).collect();
        if parts.is_empty() || parts.len() > MAX_DIMENSIONS {
            return Err(DimensionError::Count(parts.len()));
        }
        let parse = |(place, part): (usize, &str)| {
            let (inner, spacing) = match inside(part) {
                Some(inner) => (inner, Spacing::Logarithmic),
                None => (part, Spacing::Linear),
            };
            let wrong = |wrong| DimensionError::Expression { place, wrong, text: part.to_owned() };
            let expression = Expression::parse(&quoted(inner)).map_err(wrong)?;
            Ok(Self { name: inner.trim().trim_matches('"').to_owned(), expression, spacing })
        };
        (1..).zip(parts).map(parse).collect()
    }

    /// The columns of a table as they are, by their names.
    pub fn columns(names: &[String]) -> Vec<Self> {
        let one = |name: &String| Self {
            name: name.clone(),
            expression: Expression::counter(name),
            spacing: Spacing::Linear,
        };
        names.iter().map(one).collect()
    }

    /// Default dimensions: instructions (as logarithms) and IPC if most of the time has them, else
    /// durations (as logarithms), else the first two columns.
    pub fn usual(bursts: &Bursts) -> Result<Vec<Self>, DimensionError> {
        if bursts.is_empty() {
            return Err(DimensionError::Nothing("no burst"));
        }
        let named = |name: &str, text: String, spacing| {
            Expression::parse(&text).ok().map(|expression| Self {
                name: name.to_owned(),
                expression,
                spacing,
            })
        };
        let both = find(bursts, "PAPI_TOT_INS").zip(find(bursts, "PAPI_TOT_CYC"));
        if let Some((instructions, cycles)) = both
            && holds(bursts, instructions, cycles)
        {
            let quote = |place: usize| format!("\"{}\"", bursts.counters[place].name);
            let (ins, cyc) = (quote(instructions), quote(cycles));
            let two = [
                named("instructions", ins.clone(), Spacing::Logarithmic),
                named("IPC", format!("{ins} / {cyc}"), Spacing::Linear),
            ];
            return Ok(two.into_iter().flatten().collect());
        }
        if bursts.duration.iter().any(|&duration| duration > 0.0) {
            return Ok(named(DURATION, DURATION.into(), Spacing::Logarithmic)
                .into_iter()
                .collect());
        }
        let names: Vec<String> = bursts.counters.iter().take(2).map(|c| c.name.clone()).collect();
        if names.is_empty() {
            return Err(DimensionError::Nothing("neither"));
        }
        Ok(Self::columns(&names))
    }

    /// The value of each burst, `NaN` where a counter of it is missing.
    pub fn values(&self, bursts: &Bursts) -> Result<Vec<f64>, DimensionError> {
        let mut columns: Vec<&[f64]> = Vec::new();
        for name in self.expression.counters() {
            let column = match find(bursts, name) {
                Some(place) => &bursts.counters[place].values,
                None if name == DURATION => &bursts.duration,
                None => return Err(unknown(bursts, name)),
            };
            columns.push(column);
        }
        let mut numbers = vec![0.0; columns.len()];
        let value = |burst| {
            for (number, column) in numbers.iter_mut().zip(&columns) {
                *number = column[burst];
            }
            self.expression.eval(&numbers)
        };
        Ok((0..bursts.len()).map(value).collect())
    }

    /// The unit of its values: `ns` for durations, empty for counts and ratios.
    pub fn unit(&self) -> &'static str {
        match self.expression.as_counter() {
            Some(DURATION) => "ns",
            _ => "",
        }
    }
}

/// Place of a counter among those of the bursts, by its name, event type or synonym.
pub fn find(bursts: &Bursts, name: &str) -> Option<usize> {
    let place = |name: &str| {
        let found = bursts.counter(name)?;
        bursts.counters.iter().position(|one| std::ptr::eq(one, found))
    };
    let same = |one: &Counter| synonyms::same(&one.name, name);
    place(name).or_else(|| bursts.counters.iter().position(same))
}

/// True if bursts that have both counters hold at least half of the time, or are at least half of
/// the bursts where there are no times.
fn holds(bursts: &Bursts, a: usize, b: usize) -> bool {
    let (mut with, mut all) = (0.0, 0.0);
    let columns = (&bursts.counters[a].values, &bursts.counters[b].values);
    for (place, &duration) in bursts.duration.iter().enumerate() {
        let weight = if duration.is_finite() { duration } else { 1.0 };
        all += weight;
        if columns.0[place].is_finite() && columns.1[place] > 0.0 {
            with += weight;
        }
    }
    with > 0.0 && with >= 0.5 * all
}

fn unknown(bursts: &Bursts, name: &str) -> DimensionError {
    const SHOWN: usize = 8;
    let names: Vec<&str> = bursts.counters.iter().map(|one| one.name.as_str()).collect();
    let more = names.len().saturating_sub(SHOWN);
    let listed = names.iter().take(SHOWN).copied().chain([DURATION]).collect::<Vec<_>>().join(", ");
    let there =
        if more > 0 { format!(" ({listed}, and {more} more)") } else { format!(" ({listed})") };
    let near = suggest(name, names.into_iter().chain([DURATION]));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    DimensionError::Counter { name: name.chars().take(64).collect(), there, near }
}

/// Parts between commas that stand outside of parentheses and quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut in_quotes) = (Vec::new(), 0, 0_i64, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => in_quotes = !in_quotes,
            '(' if !in_quotes => depth += 1,
            ')' if !in_quotes => depth -= 1,
            ',' if !in_quotes && depth <= 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// The argument of `log(...)`, where that is the whole text.
fn inside(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("log").or_else(|| text.strip_prefix("ln"))?.trim_start();
    let inner = inner.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0_i64;
    let closes_early = inner.bytes().any(|c| {
        depth += i64::from(c == b'(') - i64::from(c == b')');
        depth < 0
    });
    (!closes_early).then_some(inner)
}

/// Event types, which would be numbers, as names.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut rest, mut before, mut in_quotes) = (text, ' ', false);
    while let Some(c) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_part = before.is_alphanumeric()
            || "_.:$".contains(before)
            || rest[digits..].starts_with(|c: char| c.is_alphanumeric() || "_.:".contains(c));
        let is_type = || rest[..digits].parse().is_ok_and(talea_model::trace::types::is_counter);
        let taken = if !in_quotes && digits == 8 && !is_part && is_type() {
            out.extend(["\"", &rest[..digits], "\""]);
            digits
        } else {
            in_quotes ^= c == '"';
            let taken = if digits > 0 { digits } else { c.len_utf8() };
            out.push_str(&rest[..taken]);
            taken
        };
        before = rest[..taken].chars().next_back().unwrap_or(' ');
        rest = &rest[taken..];
    }
    out
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "figures that are exact")]
mod tests {
    use super::*;
    use crate::bursts::Counter;

    fn bursts() -> Bursts {
        let counter = |event_type, name: &str, values: [f64; 2]| Counter {
            event_type,
            name: name.into(),
            values: values.to_vec(),
        };
        Bursts {
            duration: vec![10.0, 20.0],
            counters: vec![
                counter(42_000_050, "PAPI_TOT_INS", [100.0, 300.0]),
                counter(42_000_059, "PAPI_TOT_CYC", [200.0, f64::NAN]),
            ],
            ..Bursts::default()
        }
    }

    #[test]
    fn lists_as_people_write_them() {
        let bursts = bursts();
        let values = |text: &str| -> Vec<Vec<f64>> {
            Dimension::list(text).unwrap().iter().map(|one| one.values(&bursts).unwrap()).collect()
        };
        assert_eq!(values("42000050, max(PAPI_TOT_INS, 200)"), [[100.0, 300.0], [200.0, 300.0]]);
        assert_eq!(values("instructions * 2 / duration"), [[20.0, 30.0]]);
        let list =
            Dimension::list("log(42000050 / duration),log(1)+log2(2)").map(|list| list.len());
        assert!(list.is_err(), "`log` is no function inside of an expression: {list:?}");
        let list = Dimension::list("log( PAPI_TOT_INS ), PAPI_TOT_INS/PAPI_TOT_CYC").unwrap();
        assert_eq!(
            (list[0].spacing, list[0].name.as_str()),
            (Spacing::Logarithmic, "PAPI_TOT_INS")
        );
        assert!(list[1].values(&bursts).unwrap()[1].is_nan());
    }

    #[test]
    fn what_is_no_dimension_is_said() {
        let error = |text: &str| -> Result<(), DimensionError> {
            let list = Dimension::list(text)?;
            list.iter().try_for_each(|one| one.values(&bursts()).map(drop))?;
            Ok(())
        };
        let said = |text| error(text).unwrap_err().to_string();
        assert_eq!(
            said("PAPI_TOT_IN"),
            "expected a counter of the input (PAPI_TOT_INS, PAPI_TOT_CYC, duration), found `PAPI_TOT_IN`; \
             did you mean `PAPI_TOT_INS`?"
        );
        assert!(
            said("duration,").starts_with("expected an expression as dimension 2"),
            "{}",
            said("duration,")
        );
        assert!(error("duration").is_ok());
    }

    #[test]
    fn what_is_usual_depends_on_what_is_there() {
        let names = |bursts: &Bursts| -> Vec<String> {
            Dimension::usual(bursts).unwrap().into_iter().map(|one| one.name).collect()
        };
        // The burst of 20 ns has no cycles: less than half of the time has both.
        assert_eq!(names(&bursts()), ["duration"]);
        let mut whole = bursts();
        whole.counters[1].values[1] = 100.0;
        assert_eq!(names(&whole), ["instructions", "IPC"]);
        whole.duration = vec![f64::NAN; 2];
        whole.counters[0].name = "a".into();
        whole.counters[0].event_type = 0;
        assert_eq!(names(&whole), ["a", "PAPI_TOT_CYC"]);
        assert!(Dimension::usual(&Bursts::default()).is_err());
    }
}

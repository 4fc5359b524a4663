//! A program back to its text.
//!
//! Owns parentheses where they are needed and quotes where a name is not a bare one. It refuses
//! recursion.

use std::fmt;

use super::program::{PRIMARY, SELECT, UNARY};
use super::token::Token;
use super::{Expression, Step, lexer};

impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Left sides grow in place, so that long sums take time in proportion to their length.
        let mut parts: Vec<(String, u8)> = Vec::new();
        for &step in &self.steps {
            let part = match step {
                Step::Number(number) => (number_text(number), PRIMARY),
                Step::Counter(counter) => (name_text(&self.counters[counter as usize]), PRIMARY),
                Step::Negate => {
                    let (text, binds) = parts.pop().unwrap_or_default();
                    (format!("-{}", enclosed(text, binds < UNARY)), UNARY)
                }
                Step::Abs | Step::Sqrt | Step::Log2 => {
                    let (text, _) = parts.pop().unwrap_or_default();
                    (format!("{}({text})", word(step)), PRIMARY)
                }
                Step::Has(counter) => {
                    let name = name_text(&self.counters[counter as usize]);
                    (format!("has_event({name})"), PRIMARY)
                }
                Step::Select => {
                    let (last, last_binds) = parts.pop().unwrap_or_default();
                    let (condition, condition_binds) = parts.pop().unwrap_or_default();
                    let (first, first_binds) = parts.pop().unwrap_or_default();
                    let mut text = enclosed(first, first_binds <= SELECT);
                    text.push_str(" if ");
                    text.push_str(&enclosed(condition, condition_binds <= SELECT));
                    text.push_str(" else ");
                    text.push_str(&enclosed(last, last_binds < SELECT));
                    (text, SELECT)
                }
                Step::Min | Step::Max | Step::Ratio => {
                    let (last, _) = parts.pop().unwrap_or_default();
                    let (first, _) = parts.pop().unwrap_or_default();
                    (format!("{}({first}, {last})", word(step)), PRIMARY)
                }
                _ => {
                    let own = step.binds();
                    let (last, last_binds) = parts.pop().unwrap_or_default();
                    let (first, first_binds) = parts.pop().unwrap_or_default();
                    let mut text = enclosed(first, first_binds < own);
                    text.push_str(word(step));
                    text.push_str(&enclosed(last, last_binds <= own));
                    (text, own)
                }
            };
            parts.push(part);
        }
        out.write_str(parts.first().map_or("", |(text, _)| text))
    }
}

fn word(step: Step) -> &'static str {
    match step {
        Step::Add => " + ",
        Step::Subtract => " - ",
        Step::Multiply => " * ",
        Step::Divide => " / ",
        Step::Remainder => " % ",
        Step::Less => " < ",
        Step::Greater => " > ",
        Step::LessOrEqual => " <= ",
        Step::GreaterOrEqual => " >= ",
        Step::Equal => " == ",
        Step::Unequal => " != ",
        Step::And => " & ",
        Step::Xor => " ^ ",
        Step::Or => " | ",
        Step::Ratio => "d_ratio",
        Step::Min => "min",
        Step::Max => "max",
        Step::Abs => "abs",
        Step::Sqrt => "sqrt",
        _ => "log2",
    }
}

fn enclosed(text: String, needed: bool) -> String {
    if needed { format!("({text})") } else { text }
}

fn number_text(number: f64) -> String {
    if number != 0.0 && !(1e-5..1e15).contains(&number.abs()) {
        format!("{number:e}")
    } else {
        number.to_string()
    }
}

/// The text of a name in an expression: bare where that reads back as the same.
pub(super) fn name_text(name: &str) -> String {
    let bare = !name.contains('-')
        && lexer::tokens(name).is_ok_and(|tokens| {
            matches!(tokens.as_slice(), [(Token::Name { name: read, .. }, _)] if read == name)
        });
    if bare { name.to_owned() } else { format!("\"{name}\"") }
}

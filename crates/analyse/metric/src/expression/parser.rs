//! Tokens to a program, by Dijkstra's shunting yard.
//!
//! Owns precedence, arguments of functions, and the search for parts that can never have a value.
//! It refuses recursion.

use std::ops::Range;

use super::lexer::tokens;
use super::program::{SELECT, chosen};
use super::token::Token;
use super::{Expression, ExpressionError, MOST_NESTED, MOST_STEPS, Parsed, Step, Wrong};

/// An operator, function or parenthesis that waits for its right side.
enum Waiting {
    Operator(Step),
    Open,
    /// `if`: the condition follows.
    If,
    /// `else`: the alternative follows.
    Else,
    Function {
        step: Step,
        name: &'static str,
        arguments: usize,
    },
}

/// A finished part: its place, and its value if it has no counters.
struct Part {
    span: Range<usize>,
    constant: Option<f64>,
}

struct Yard<'a> {
    text: &'a str,
    program: Expression,
    spans: Vec<Range<usize>>,
    waiting: Vec<(Waiting, Range<usize>)>,
    parts: Vec<Part>,
}

type Outcome<T> = Result<T, ExpressionError>;

fn wrong<T>(span: Range<usize>, wrong: Wrong) -> Outcome<T> {
    Err(ExpressionError { span, wrong })
}

pub(super) fn parse(text: &str, list: &[String]) -> Outcome<Parsed> {
    let mut yard = Yard {
        text,
        program: Expression { steps: Vec::new(), counters: Vec::new(), depth: 0 },
        spans: Vec::new(),
        waiting: Vec::new(),
        parts: Vec::new(),
    };
    let tokens = tokens(text)?;
    let mut value_next = true;
    for (i, (token, span)) in tokens.iter().enumerate() {
        let called = matches!(tokens.get(i + 1), Some((Token::Sign('('), _)));
        value_next = if value_next {
            yard.value(token, span.clone(), called, list)?
        } else {
            yard.operator(token, span.clone())?
        };
    }
    if value_next {
        let end = text.trim_end().len();
        return wrong(end..end, Wrong::ExpectedValue("the end".into()));
    }
    yard.reduce(0)?;
    if let Some((waiting, span)) = yard.waiting.pop() {
        let is_if = matches!(waiting, Waiting::If);
        return wrong(span, if is_if { Wrong::NoElse } else { Wrong::Unclosed });
    }
    let whole = text.len() - text.trim_start().len()..text.trim_end().len();
    match yard.program.checked() {
        Ok(expression) => Ok(Parsed { expression, spans: yard.spans }),
        Err(reason) => wrong(whole, reason),
    }
}

fn function(name: &str) -> Option<(Step, &'static str)> {
    match name {
        "min" => Some((Step::Min, "min")),
        "max" => Some((Step::Max, "max")),
        "d_ratio" => Some((Step::Ratio, "d_ratio")),
        "abs" => Some((Step::Abs, "abs")),
        "sqrt" => Some((Step::Sqrt, "sqrt")),
        "log2" => Some((Step::Log2, "log2")),
        _ => None,
    }
}

impl Yard<'_> {
    /// Takes a token where a value may begin; returns true if a value is still expected.
    fn value(
        &mut self,
        token: &Token,
        span: Range<usize>,
        called: bool,
        list: &[String],
    ) -> Outcome<bool> {
        match token {
            Token::Number(number) => self.push(Step::Number(*number), span, Some(*number))?,
            Token::Name { name, quoted } => match function(name).filter(|_| called && !quoted) {
                Some((step, name)) => {
                    self.wait(Waiting::Function { step, name, arguments: 0 }, span)?;
                    return Ok(true);
                }
                None => self.counter(name, span)?,
            },
            Token::Member(found) => match list.get(*found) {
                Some(name) => self.counter(name, span)?,
                None if list.is_empty() => return wrong(span, Wrong::NoList(*found)),
                None => {
                    let (found, length) = (*found, list.len());
                    return wrong(span, Wrong::BeyondList { found, length });
                }
            },
            Token::Has(name) => {
                let counter = self.intern(name, &span)?;
                self.push(Step::Has(counter), span, None)?;
            }
            Token::Sign('-') => {
                self.wait(Waiting::Operator(Step::Negate), span)?;
                return Ok(true);
            }
            Token::Sign('(') => {
                // The parenthesis of a call is the call's own.
                if let Some((Waiting::Function { arguments, .. }, _)) = self.waiting.last_mut()
                    && *arguments == 0
                {
                    *arguments = 1;
                } else {
                    self.wait(Waiting::Open, span)?;
                }
                return Ok(true);
            }
            Token::Sign(_) | Token::If | Token::Else => {
                let found = token.describe(&self.text[span.clone()]);
                return wrong(span, Wrong::ExpectedValue(found));
            }
        }
        Ok(false)
    }

    /// Takes a token after a value; returns true if another value is expected.
    fn operator(&mut self, token: &Token, span: Range<usize>) -> Outcome<bool> {
        let step = match token {
            Token::Sign('+') => Step::Add,
            Token::Sign('-') => Step::Subtract,
            Token::Sign('*') => Step::Multiply,
            Token::Sign('/') => Step::Divide,
            Token::Sign('%') => Step::Remainder,
            Token::Sign('<') => Step::Less,
            Token::Sign('>') => Step::Greater,
            Token::Sign('≤') => Step::LessOrEqual,
            Token::Sign('≥') => Step::GreaterOrEqual,
            Token::Sign('=') => Step::Equal,
            Token::Sign('≠') => Step::Unequal,
            Token::Sign('&') => Step::And,
            Token::Sign('^') => Step::Xor,
            Token::Sign('|') => Step::Or,
            Token::If => {
                // A waiting `else` takes this as part of its right side.
                self.reduce(SELECT + 1)?;
                self.wait(Waiting::If, span)?;
                return Ok(true);
            }
            Token::Else => {
                self.reduce(0)?;
                let Some((waiting @ Waiting::If, _)) = self.waiting.last_mut() else {
                    return wrong(span, Wrong::NoIf);
                };
                *waiting = Waiting::Else;
                return Ok(true);
            }
            Token::Sign(',') => {
                self.reduce(0)?;
                return match self.waiting.last_mut() {
                    Some((Waiting::Function { step, name, arguments }, _)) => {
                        let (step, name, found) = (*step, *name, *arguments + 1);
                        *arguments = found;
                        if step.arity() == 1 || (step == Step::Ratio && found > 2) {
                            let one = step.arity() == 1;
                            let expected = if one { "one argument" } else { "two arguments" };
                            return wrong(
                                span,
                                Wrong::Arguments { function: name, expected, found },
                            );
                        }
                        // All but the last two are combined at once, so that one number waits.
                        if found > 2 {
                            self.apply(step)?;
                        }
                        Ok(true)
                    }
                    Some((Waiting::If, open)) => wrong(open.clone(), Wrong::NoElse),
                    _ => wrong(span, Wrong::ExpectedOperator("`,`".into())),
                };
            }
            Token::Sign(')') => {
                self.reduce(0)?;
                match self.waiting.pop() {
                    Some((Waiting::Open, open)) => self.widen(open.start..span.end),
                    Some((Waiting::Function { step, name, arguments }, open)) => {
                        if arguments == 1 && step.arity() == 2 {
                            let any = step != Step::Ratio;
                            let expected =
                                if any { "two or more arguments" } else { "two arguments" };
                            let found = arguments;
                            return wrong(
                                open.start..span.end,
                                Wrong::Arguments { function: name, expected, found },
                            );
                        }
                        // An error in the call then covers all of it.
                        self.widen(open.start..span.end);
                        self.apply(step)?;
                        self.widen(open.start..span.end);
                    }
                    Some((Waiting::If, open)) => return wrong(open, Wrong::NoElse),
                    _ => return wrong(span, Wrong::Unopened),
                }
                return Ok(false);
            }
            _ => {
                let found = token.describe(&self.text[span.clone()]);
                return wrong(span, Wrong::ExpectedOperator(found));
            }
        };
        self.reduce(step.binds())?;
        self.wait(Waiting::Operator(step), span)?;
        Ok(true)
    }

    /// Applies waiting operators that bind at least as strongly.
    fn reduce(&mut self, least: u8) -> Outcome<()> {
        loop {
            let (step, start) = match self.waiting.last() {
                Some(&(Waiting::Operator(step), ref span)) => (step, span.start),
                Some((Waiting::Else, span)) => (Step::Select, span.start),
                _ => return Ok(()),
            };
            if step.binds() < least {
                return Ok(());
            }
            self.waiting.pop();
            self.apply(step)?;
            if step == Step::Negate {
                let end = self.parts.last().map_or(start, |part| part.span.end);
                self.widen(start..end);
            }
        }
    }

    /// The last part stands in parentheses, after a sign or a function's name.
    fn widen(&mut self, span: Range<usize>) {
        if let Some(part) = self.parts.last_mut() {
            part.span = span;
        }
    }

    fn wait(&mut self, what: Waiting, span: Range<usize>) -> Outcome<()> {
        if self.waiting.len() >= MOST_NESTED {
            return wrong(span, Wrong::TooDeep);
        }
        self.waiting.push((what, span));
        Ok(())
    }

    fn counter(&mut self, name: &str, span: Range<usize>) -> Outcome<()> {
        let counter = self.intern(name, &span)?;
        self.push(Step::Counter(counter), span, None)
    }

    fn intern(&mut self, name: &str, span: &Range<usize>) -> Outcome<u32> {
        let counter = self.program.intern(name);
        let counter = counter.map_err(|wrong| ExpressionError { span: span.clone(), wrong })?;
        if self.program.counters.len() > self.spans.len() {
            self.spans.push(span.clone());
        }
        Ok(counter)
    }

    fn push(&mut self, step: Step, span: Range<usize>, constant: Option<f64>) -> Outcome<()> {
        if self.program.steps.len() >= MOST_STEPS {
            return wrong(span, Wrong::TooLong);
        }
        self.program.steps.push(step);
        self.parts.push(Part { span, constant });
        Ok(())
    }

    /// Applies an operator to the last parts.
    fn apply(&mut self, step: Step) -> Outcome<()> {
        let Some(last) = self.parts.pop() else { return Ok(()) };
        let part = if step.arity() == 1 {
            Part { span: last.span, constant: last.constant.map(|a| step.of_one(a)) }
        } else if step == Step::Select {
            let (Some(condition), Some(first)) = (self.parts.pop(), self.parts.pop()) else {
                return Ok(());
            };
            let constant = chosen(first.constant, condition.constant, last.constant);
            Part { span: first.span.start..last.span.end, constant }
        } else {
            let Some(first) = self.parts.pop() else { return Ok(()) };
            if step == Step::Divide && last.constant == Some(0.0) {
                return wrong(last.span, Wrong::DivisionByZero);
            }
            let both = first.constant.zip(last.constant);
            let span = first.span.start..last.span.end;
            Part { span, constant: both.map(|(a, b)| step.of_two(a, b)) }
        };
        if part.constant.is_some_and(f64::is_nan) {
            return wrong(part.span, Wrong::NotANumber);
        }
        self.push(step, part.span, part.constant)
    }
}

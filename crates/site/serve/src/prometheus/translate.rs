//! The supported part of `PromQL`: from the parser's tree to ours.
//!
//! Owns the subset and the words about the rest. Depth and length are bounded before anything looks
//! at the text. A selector becomes a [`Leaf`]: one question to the store for all its times, with
//! the filters that the store knows; others are applied to its rows by their labels.

mod selector;

use std::time::Duration;

use promql_parser::label::Matcher;
use promql_parser::parser::token::{
    T_ADD, T_AVG, T_BOTTOMK, T_COUNT, T_DIV, T_MAX, T_MIN, T_MUL, T_SUB, T_SUM, T_TOPK, TokenType,
};
use promql_parser::parser::{
    AggregateExpr, BinaryExpr, Call, Expr, LabelModifier, MatrixSelector, VectorMatchCardinality,
    VectorSelector, parse,
};
use talea_model::Nanos;
use talea_store::{Dimension, Question, Visible};

pub(super) use selector::dimension;
use selector::leaf;

/// Most bytes outside of quoted names: what nests is no deeper.
const MOST_BYTES: usize = 4096;
/// Most levels that are looked at.
const DEEPEST: usize = 64;
/// Most selectors of one query.
pub(super) const MOST_LEAVES: usize = 16;

/// Hint in the errors of everything else.
const SUPPORTED: &str = "understood are sum, avg, min, max, count, topk, bottomk with by and without; + - * /; \
    rate, increase, sum_over_time of a metric with a range; scalar, sort, sort_desc and numbers";

/// Labels and what they are in the store.
pub(super) const LABELS: [(&str, Dimension); 8] = [
    ("activity", Dimension::Activity),
    ("core", Dimension::Core),
    ("executable", Dimension::Executable),
    ("job", Dimension::Job),
    ("library", Dimension::Library),
    ("node", Dimension::Node),
    ("phase", Dimension::Phase),
    ("user", Dimension::User),
];

/// Quantity of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Samples,
    CoreSeconds,
}

/// Metrics: names, what they count, and labels of their series, in the order of names.
pub(super) const METRICS: [(&str, Unit, &[&str]); 4] = [
    (
        "talea_core_samples",
        Unit::Samples,
        &["activity", "core", "executable", "job", "library", "node", "phase", "user"],
    ),
    (
        "talea_core_seconds",
        Unit::CoreSeconds,
        &["activity", "executable", "job", "library", "node", "phase", "user"],
    ),
    (
        "talea_samples",
        Unit::Samples,
        &["activity", "executable", "job", "library", "node", "phase", "user"],
    ),
    ("talea_work_samples", Unit::Samples, &["job", "node", "user"]),
];

/// A selector with what is done to it over time and summed up by.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) unit: Unit,
    pub(super) range: Nanos,
    /// True for what is to be a second's.
    pub(super) by_second: bool,
    /// How long before the time of evaluation.
    pub(super) offset: Nanos,
    pub(super) question: Question,
    /// Labels that rows are summed up by, as places in the question's `by`.
    pub(super) kept: Vec<&'static str>,
    /// Filters that the store lacks.
    pub(super) matchers: Vec<Matcher>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Avg,
    Min,
    Max,
    Count,
    Top(usize),
    Bottom(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Labels that decide which rows belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    By(Vec<String>),
    Without(Vec<String>),
}

impl Grouping {
    pub(super) fn keeps(&self, label: &str) -> bool {
        match self {
            Self::By(labels) => labels.iter().any(|other| other == label),
            Self::Without(labels) => labels.iter().all(|other| other != label),
        }
    }
}

/// A query.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Number(f64),
    /// Place of the leaf.
    Leaf(usize),
    Fold {
        fold: Fold,
        grouping: Grouping,
        of: Box<Node>,
    },
    Both {
        operation: Operation,
        matching: Grouping,
        left: Box<Node>,
        right: Box<Node>,
    },
    Scalar(Box<Node>),
    Sorted {
        of: Box<Node>,
        falls: bool,
    },
}

/// A query with its leaves.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) node: Node,
    pub(super) leaves: Vec<Leaf>,
}

/// Understands a query, as somebody may ask it.
///
/// # Errors
/// Says what was expected.
pub(super) fn query(text: &str, visible: Visible) -> Result<Query, String> {
    let parsed = parsed(text)?;
    let mut translator = Translator { visible, leaves: Vec::new() };
    let node = translator.node(&parsed, 0)?;
    Ok(Query { node, leaves: translator.leaves })
}

/// A selector of series alone, as `match[]` has it.
pub(super) fn selector(text: &str, visible: Visible) -> Result<(Leaf, &'static str), String> {
    one_of(plain(text)?, visible)
}

/// The same where names are asked for: a batch's own series, which a server of Prometheus has, are
/// of every node that has work.
pub(super) fn selector_of_names(text: &str, visible: Visible) -> Result<Leaf, String> {
    let mut selector = plain(text)?;
    if selector.name.as_deref() == Some("talea_batch_number") {
        selector.name = Some("talea_work_samples".to_owned());
    }
    Ok(one_of(selector, visible)?.0)
}

fn plain(text: &str) -> Result<VectorSelector, String> {
    match parsed(text)? {
        Expr::VectorSelector(selector) => Ok(selector),
        _ => Err("expected a metric with labels".to_owned()),
    }
}

fn one_of(selector: VectorSelector, visible: Visible) -> Result<(Leaf, &'static str), String> {
    let all = Grouping::Without(Vec::new());
    let name = selector.name.clone();
    let whole = MatrixSelector { vs: selector, range: Duration::from_secs(1) };
    let leaf = leaf(&whole, &all, visible)?;
    let metric = METRICS.iter().find(|metric| Some(metric.0) == name.as_deref());
    Ok((leaf, metric.map_or("", |metric| metric.0)))
}

fn parsed(text: &str) -> Result<Expr, String> {
    let mut quote = None;
    let (mut outside, mut escaped) = (0, false);
    for byte in text.bytes() {
        match quote {
            // The parser passes over comments, whatever quotes they have.
            None if byte == b'#' => return Err("expected a query without comments".to_owned()),
            None if matches!(byte, b'"' | b'\'' | b'`') => quote = Some(byte),
            None => outside += 1,
            Some(_) if escaped => escaped = false,
            Some(begin) if byte == b'\\' => escaped = begin != b'`',
            Some(begin) if byte == begin => quote = None,
            Some(_) => {}
        }
    }
    if outside > MOST_BYTES {
        return Err(format!("expected a query of at most {MOST_BYTES} bytes outside of names"));
    }
    parse(text)
}

struct Translator {
    visible: Visible,
    leaves: Vec<Leaf>,
}

fn unsupported<T>(what: &str) -> Result<T, String> {
    let short: String = what.chars().take(100).collect();
    Err(format!("not understood: {short}; {SUPPORTED}"))
}

impl Translator {
    fn node(&mut self, expression: &Expr, depth: usize) -> Result<Node, String> {
        if depth > DEEPEST {
            return Err(format!("expected at most {DEEPEST} levels"));
        }
        match expression {
            Expr::Paren(inside) => self.node(&inside.expr, depth + 1),
            Expr::NumberLiteral(number) => Ok(Node::Number(number.val)),
            Expr::Aggregate(aggregate) => self.aggregate(aggregate, depth),
            Expr::Binary(both) => self.both(both, depth),
            Expr::Call(call) => self.call(call, depth),
            Expr::Unary(unary) => {
                let of = self.node(&unary.expr, depth + 1)?;
                let minus = Box::new(Node::Number(-1.0));
                let matching = Grouping::Without(Vec::new());
                let operation = Operation::Multiply;
                Ok(Node::Both { operation, matching, left: minus, right: Box::new(of) })
            }
            Expr::VectorSelector(_) => {
                unsupported("a metric without a range, write sum_over_time(METRIC[5m])")
            }
            Expr::MatrixSelector(_) => unsupported("a range without a function"),
            Expr::Subquery(_) => unsupported("subqueries"),
            Expr::StringLiteral(_) => unsupported("texts"),
            Expr::Extension(_) => unsupported("extensions"),
        }
    }

    fn aggregate(&mut self, aggregate: &AggregateExpr, depth: usize) -> Result<Node, String> {
        let parameter = || match aggregate.param.as_deref() {
            Some(Expr::NumberLiteral(number)) if (0.0..=1e6).contains(&number.val) => {
                Ok(number.val as usize)
            }
            _ => Err("expected a number of rows".to_owned()),
        };
        let is = |token| aggregate.op == TokenType::new(token);
        let fold = match () {
            () if is(T_SUM) => Fold::Sum,
            () if is(T_AVG) => Fold::Avg,
            () if is(T_MIN) => Fold::Min,
            () if is(T_MAX) => Fold::Max,
            () if is(T_COUNT) => Fold::Count,
            () if is(T_TOPK) => Fold::Top(parameter()?),
            () if is(T_BOTTOMK) => Fold::Bottom(parameter()?),
            () => return unsupported(&aggregate.op.to_string()),
        };
        let grouping = match &aggregate.modifier {
            None => Grouping::By(Vec::new()),
            Some(LabelModifier::Include(labels)) => Grouping::By(labels.labels.clone()),
            Some(LabelModifier::Exclude(labels)) => Grouping::Without(labels.labels.clone()),
        };
        // The store sums up itself what is to be summed up anyway.
        if fold == Fold::Sum
            && let Some((call, selector)) = over_time(&aggregate.expr)
        {
            return self.leaf(call, selector, &grouping);
        }
        let of = Box::new(self.node(&aggregate.expr, depth + 1)?);
        Ok(Node::Fold { fold, grouping, of })
    }

    fn both(&mut self, both: &BinaryExpr, depth: usize) -> Result<Node, String> {
        let is = |token| both.op == TokenType::new(token);
        let operation = match () {
            () if is(T_ADD) => Operation::Add,
            () if is(T_SUB) => Operation::Subtract,
            () if is(T_MUL) => Operation::Multiply,
            () if is(T_DIV) => Operation::Divide,
            () => return unsupported(&both.op.to_string()),
        };
        let mut matching = Grouping::Without(Vec::new());
        if let Some(modifier) = &both.modifier {
            if modifier.card != VectorMatchCardinality::OneToOne {
                return unsupported("group_left and group_right");
            }
            matching = match &modifier.matching {
                None => matching,
                Some(LabelModifier::Include(labels)) => Grouping::By(labels.labels.clone()),
                Some(LabelModifier::Exclude(labels)) => Grouping::Without(labels.labels.clone()),
            };
        }
        let left = Box::new(self.node(&both.lhs, depth + 1)?);
        let right = Box::new(self.node(&both.rhs, depth + 1)?);
        Ok(Node::Both { operation, matching, left, right })
    }

    fn call(&mut self, call: &Call, depth: usize) -> Result<Node, String> {
        let mut of = || {
            let argument = call.args.args.first().ok_or("expected an argument")?;
            self.node(argument, depth + 1).map(Box::new)
        };
        match call.func.name {
            "scalar" => Ok(Node::Scalar(of()?)),
            "sort" => Ok(Node::Sorted { of: of()?, falls: false }),
            "sort_desc" => Ok(Node::Sorted { of: of()?, falls: true }),
            _ => match over_time_of(call) {
                Some(selector) => {
                    let all = Grouping::Without(Vec::new());
                    self.leaf(call, selector, &all)
                }
                None => unsupported(call.func.name),
            },
        }
    }

    fn leaf(
        &mut self,
        call: &Call,
        selector: &MatrixSelector,
        grouping: &Grouping,
    ) -> Result<Node, String> {
        let mut leaf = leaf(selector, grouping, self.visible)?;
        leaf.by_second = call.func.name == "rate";
        if self.leaves.len() >= MOST_LEAVES {
            return Err(format!("expected at most {MOST_LEAVES} metrics in a query"));
        }
        self.leaves.push(leaf);
        Ok(Node::Leaf(self.leaves.len() - 1))
    }
}

/// A function of a metric with a range, perhaps in parentheses.
fn over_time(expression: &Expr) -> Option<(&Call, &MatrixSelector)> {
    let mut inside = expression;
    for _ in 0..DEEPEST {
        match inside {
            Expr::Paren(paren) => inside = &paren.expr,
            Expr::Call(call) => return Some((call, over_time_of(call)?)),
            _ => return None,
        }
    }
    None
}

/// Each value is of one batch alone: sums over time are the increase of a counter that nobody
/// keeps.
fn over_time_of(call: &Call) -> Option<&MatrixSelector> {
    if !matches!(call.func.name, "rate" | "increase" | "sum_over_time") {
        return None;
    }
    match call.args.args.first().map(|argument| &**argument) {
        Some(Expr::MatrixSelector(selector)) => Some(selector),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_store::Text;

    use super::*;

    fn said(text: &str) -> String {
        query(text, Visible::User(1)).unwrap_err()
    }

    #[test]
    fn what_is_not_understood_says_what_is() {
        let all: Vec<String> = [
            "talea_samples",
            "talea_samples[5m]",
            "up",
            "rate(up[5m])",
            "histogram_quantile(0.9, rate(talea_samples[5m]))",
            "sum by (address) (rate(talea_samples[5m]))",
            "sum(rate(talea_work_samples{library=\"x\"}[5m]))",
            "rate(talea_samples[5m] offset -5m)",
            "rate(talea_samples[5m] @ 7)",
            "rate(talea_samples[100ms])",
            "1 and 2",
            "1 > 2",
            "stddev(rate(talea_samples[5m]))",
            "max_over_time(rate(talea_samples[5m])[1h:1m])",
            "topk(-1, rate(talea_samples[5m]))",
            "\"text\"",
            "sum(",
        ]
        .map(said)
        .to_vec();
        insta::assert_snapshot!(all.join("\n"));
        assert!(said(&format!("{}1", "-".repeat(5000))).contains("bytes"));
        assert!(said(&format!("{}1{}", "(".repeat(100), ")".repeat(100))).contains("levels"));
        assert!(said(&vec!["1"; 2000].join("+")).contains("levels"));
        assert!(said(&vec!["rate(talea_samples[5m])"; 20].join("+")).contains("metrics"));
    }

    #[test]
    fn filters_go_to_the_store_where_it_has_them() {
        let text = "sum by (library) (sum_over_time(talea_samples{job=\"4711\",node=~\".*\",phase!=\"\",user=~\"1|2\"}[5m] offset 1h))";
        let query = query(text, Visible::User(7)).unwrap();
        let leaf = &query.leaves[0];
        assert_eq!(leaf.question.visible, Visible::User(7));
        assert_eq!(leaf.question.job, Some(Text::Is("4711".to_owned())));
        assert_eq!(leaf.question.by, [Dimension::Library, Dimension::Phase, Dimension::User]);
        assert_eq!(leaf.kept, ["library"]);
        assert_eq!((leaf.range, leaf.offset), (Nanos(300_000_000_000), Nanos(3_600_000_000_000)));
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "\\PC{0,40}") {
            let _ = query(&text, Visible::All);
        }

        #[test]
        fn nearly_queries_do_no_harm(words in prop::collection::vec(prop::sample::select(vec![
            "sum", "by", "(", ")", "rate", "talea_samples", "{", "}", "[5m]", "job", "=~", "\"a.*\"", ",", "1", "-", "/", "topk",
        ]), 0..20)) {
            let _ = query(&words.join(" "), Visible::All);
        }
    }
}

//! Which series a question is about.
//!
//! Owns the matchers. Who may see what is decided here and nowhere else: for a user every selector
//! has that user's label. Everything from outside goes through `names`.

use std::collections::BTreeSet;

use talea_model::{Gap, GapKind, Gaps, Module};

use crate::answer::Value;
use crate::arrival::activity;
use crate::prometheus::http::Found;
use crate::prometheus::names::{any_of, matcher, name, value};
use crate::prometheus::put::{BY_ADDRESS, BY_CORE, SAMPLES};
use crate::question::{Dimension, Question, Visible};

/// Matchers, with commas.
pub(super) type Matchers = Vec<String>;

/// Of the node alone.
pub(super) fn node(question: &Question) -> Matchers {
    question.node.iter().map(|text| matcher("node", text)).collect()
}

/// Permission of the query.
pub(super) fn visible(visible: Visible) -> Matchers {
    match visible {
        Visible::All => Vec::new(),
        Visible::User(user) => vec![format!("user=\"{user}\"")],
    }
}

/// Of who worked: node, job and user.
pub(super) fn who(question: &Question) -> Matchers {
    let mut matchers = visible(question.visible);
    matchers.extend(node(question));
    matchers.extend(question.job.iter().map(|text| matcher("job", text)));
    // Beside the one of who may see it: somebody else's are both, which no series is.
    matchers.extend(question.user.map(|user| format!("user=\"{user}\"")));
    matchers
}

/// True when rows matter, not only who worked.
pub(crate) fn has_filters_of_rows(question: &Question) -> bool {
    question.executable.is_some()
        || question.library.is_some()
        || question.phase.is_some()
        || question.core.is_some()
        || question.activity.is_some()
}

/// Of the rows that pass all filters.
pub(super) fn rows(question: &Question) -> Matchers {
    let mut matchers = who(question);
    let texts = [
        ("executable", &question.executable),
        ("library", &question.library),
        ("phase", &question.phase),
    ];
    for (label, text) in texts {
        matchers.extend(text.iter().map(|text| matcher(label, text)));
    }
    matchers.extend(question.core.map(|core| format!("core=\"{core}\"")));
    matchers.extend(question.activity.map(|is| format!("activity=\"{}\"", activity(is))));
    matchers
}

/// The metric that has what the question needs.
pub(super) fn metric(question: &Question, gaps: &mut Gaps) -> &'static str {
    let core = question.core.is_some() || question.by.contains(&Dimension::Core);
    let function = question.by.contains(&Dimension::Function);
    if core && function {
        gaps.note(Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: "cores and addresses are kept apart: the answer has no addresses".to_owned(),
            count: 0,
        });
    }
    if core {
        BY_CORE
    } else if function {
        BY_ADDRESS
    } else {
        SAMPLES
    }
}

/// Matchers that let these keys through, and as little else as their labels allow. Few keys of many
/// would else bring all with them.
pub(super) fn only(keys: &[Vec<Value>], by: &[Dimension]) -> Matchers {
    /// Longer ones take servers more than they save.
    const LONGEST: usize = 16 << 10;
    let mut matchers = Vec::new();
    for (place, by) in by.iter().enumerate() {
        // Builds and addresses go with their file.
        let label = match by {
            Dimension::Function => "library",
            by => labels_of(*by)[0],
        };
        let values: BTreeSet<String> = keys.iter().map(|key| text(&key[place])).collect();
        let matcher = any_of(label, values.iter().map(String::as_str));
        if matcher.len() <= LONGEST {
            matchers.push(matcher);
        }
    }
    matchers
}

/// The label's value of a part of a key; empty for none.
fn text(part: &Value) -> String {
    match part {
        Value::Absent | Value::Function { module: None, .. } => String::new(),
        Value::Text(name) => value(name),
        Value::Number(number) => number.to_string(),
        Value::Activity(is) => activity(*is).to_owned(),
        Value::Function { module: Some(module), .. } => value(&module.path),
    }
}

/// Labels of the dimensions, and of what a sample stands for.
pub(super) fn labels(by: &[Dimension]) -> String {
    let labels = by.iter().flat_map(|by| labels_of(*by));
    let mut labels: Vec<&str> = labels.copied().chain(["period"]).collect();
    labels.sort_unstable();
    labels.dedup();
    labels.join(",")
}

fn labels_of(by: Dimension) -> &'static [&'static str] {
    match by {
        Dimension::Function => &["library", "library_build", "address"],
        Dimension::Node => &["node"],
        Dimension::Job => &["job"],
        Dimension::User => &["user"],
        Dimension::Executable => &["executable"],
        Dimension::Library => &["library"],
        Dimension::Phase => &["phase"],
        Dimension::Core => &["core"],
        Dimension::Activity => &["activity"],
    }
}

/// The key of what was found.
pub(super) fn key(found: &Found, by: &[Dimension]) -> Vec<Value> {
    let text = |label: &str| {
        let text = found.label(label).map(|value| Value::Text(name(value).to_owned()));
        text.unwrap_or(Value::Absent)
    };
    let number = |label: &str| {
        let number = found.label(label).and_then(|value| value.parse().ok());
        number.map_or(Value::Absent, Value::Number)
    };
    let one = |by: &Dimension| match by {
        Dimension::Node => text("node"),
        Dimension::Job => text("job"),
        Dimension::User => number("user"),
        Dimension::Executable => text("executable"),
        Dimension::Library => text("library"),
        Dimension::Phase => text("phase"),
        Dimension::Core => number("core"),
        Dimension::Activity => {
            let word = serde_json::Value::from(found.label("activity").unwrap_or_default());
            serde_json::from_value(word).map_or(Value::Absent, Value::Activity)
        }
        Dimension::Function => Value::Function {
            module: found.label("library").map(|path| Module {
                path: name(path).to_owned(),
                build_id: found.label("library_build").unwrap_or_default().to_owned(),
            }),
            address: found
                .label("address")
                .and_then(|address| u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()),
        },
    };
    by.iter().map(one).collect()
}

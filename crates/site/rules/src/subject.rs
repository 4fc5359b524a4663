//! Subject of a rule, as the filter of a query.
//!
//! Owns the way from a row's key to a question that asks for exactly this job, node or library.
//! Names are asked for as they are, whatever characters they have.

use talea_store::{Dimension, Question, Text, Value};

/// Narrows a question to a subject: `key` has the values of `dimensions`.
pub(crate) fn narrow(question: &mut Question, dimensions: &[Dimension], key: &[Value]) {
    for (dimension, value) in dimensions.iter().zip(key) {
        let text = match value {
            Value::Text(text) => Some(Text::Is(text.clone())),
            _ => None,
        };
        match (dimension, value) {
            (Dimension::User, Value::Number(user)) => question.user = u32::try_from(*user).ok(),
            (Dimension::Core, Value::Number(core)) => question.core = u32::try_from(*core).ok(),
            (Dimension::Job, _) => question.job = text,
            (Dimension::Node, _) => question.node = text,
            (Dimension::Executable, _) => question.executable = text,
            (Dimension::Library, _) => question.library = text,
            (Dimension::Phase, _) => question.phase = text,
            _ => {}
        }
    }
}

/// The value of a dimension in a key.
pub(crate) fn value_of<'a>(
    dimension: Dimension,
    dimensions: &[Dimension],
    key: &'a [Value],
) -> Option<&'a Value> {
    dimensions.iter().zip(key).find(|(known, _)| **known == dimension).map(|(_, value)| value)
}

/// A value as texts show it.
pub(crate) fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// False for keys of nothing: samples of no job are no job's.
pub(crate) fn is_something(dimensions: &[Dimension], key: &[Value]) -> bool {
    let absent = |(dimension, value): (&Dimension, &Value)| {
        *dimension != Dimension::User && *value == Value::Absent
    };
    !dimensions.iter().zip(key).any(absent)
}

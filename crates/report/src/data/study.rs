//! Studies of the computation between calls: the inside of a loop's iteration, kinds of computation, and how these change.
//!
//! Owns the shape that all of them are shown in: sentences, pictures, a table. What a study found is decided where it is made.

use serde::Serialize;

use super::LoopId;

/// One study.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Study {
    /// Which of the page's views it stands in.
    pub kind: StudyKind,
    /// The loop whose iterations were studied; absent where it is the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_id: Option<LoopId>,
    /// What was studied, in a few words: the name that it is chosen by where there are several.
    pub title: String,
    /// How much of it, in a few words.
    pub note: String,
    /// What matters, a sentence each, most important first.
    pub findings: Vec<String>,
    /// In the order in which they are shown.
    pub pictures: Vec<Picture>,
    /// What the columns of the table are.
    pub columns: Vec<StudyColumn>,
    /// The table; each row has a value for each column.
    pub rows: Vec<Vec<StudyValue>>,
    /// What is missing, a sentence each.
    pub gaps: Vec<String>,
}

/// What a study is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StudyKind {
    /// Rates of counters and call stacks inside one iteration, folded from samples of many.
    #[default]
    Inside,
    /// Kinds of computation: clusters of bursts.
    Kinds,
    /// How these change over the run.
    Drift,
}

/// A picture of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Picture {
    /// What it shows, in some words.
    pub caption: String,
    /// An SVG element without scripts, in which every name is escaped.
    pub svg: String,
}

/// A column of a study's table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StudyColumn {
    /// Its head.
    pub head: String,
    /// Unit of its numbers (`s`, `B`, `%` of shares from 0 to 1); empty for plain numbers and for text.
    pub unit: String,
}

/// A value of a study's table: a number, a text, or null.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(untagged)]
pub enum StudyValue {
    /// Not known.
    #[default]
    Absent,
    /// In the column's unit; not finite ones become null.
    Number(f64),
    /// Any text.
    Text(String),
}

impl From<f64> for StudyValue {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Absent }
    }
}

impl From<Option<f64>> for StudyValue {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Absent, Self::from)
    }
}

impl From<String> for StudyValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

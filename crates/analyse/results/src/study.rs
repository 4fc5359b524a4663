//! Studies of the computation between calls: the inside of a loop's iteration, kinds of
//! computation, and their changes.
//!
//! Owns the common shape of all of them: sentences, pictures, a table. The analysis decides the
//! findings.

use schemars::JsonSchema;
use serde::Serialize;

use super::LoopId;

/// One study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Study {
    /// The page's view that shows it.
    pub kind: StudyKind,
    /// The loop whose iterations were studied; absent where it is the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_id: Option<LoopId>,
    /// Subject of the study, in a few words: its name in the choice where there are several.
    pub title: String,
    /// Extent of the subject, in a few words.
    pub note: String,
    /// Findings, a sentence each, most important first.
    pub findings: Vec<String>,
    /// Pictures in the order of display.
    pub pictures: Vec<Picture>,
    /// The columns of the table.
    pub columns: Vec<StudyColumn>,
    /// The table; each row has a value for each column.
    pub rows: Vec<Vec<StudyValue>>,
    /// Gaps, a sentence each.
    pub gaps: Vec<String>,
}

/// Kind of a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StudyKind {
    /// Rates of counters and call stacks inside one iteration, folded from samples of many.
    #[default]
    Inside,
    /// Kinds of computation: clusters of bursts.
    Kinds,
    /// Changes of these over the run.
    Drift,
}

/// A picture of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Picture {
    /// Its subject, in some words.
    pub caption: String,
    /// An SVG element without scripts, in which every name is escaped.
    pub svg: String,
}

/// A column of a study's table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct StudyColumn {
    /// Its head.
    pub head: String,
    /// Unit of its numbers (`s`, `B`, `%` of shares from 0 to 1); empty for plain numbers and for
    /// text.
    pub unit: String,
}

/// A value of a study's table: a number, a text, or null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StudyValue {
    /// Unknown.
    #[default]
    Absent,
    /// A number in the column's unit; a non-finite one becomes null.
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

//! Query of `talea usage`: its options and filters, and the text of a name in a row.
//!
//! Owns what its tables share. It refuses asking the store and drawing.

use talea_model::Nanos;
use talea_report::data::site::Name;
use talea_store::{Dimension, Place};

/// Options of a query.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The store.
    pub(crate) place: Place,
    /// Columns that separate rows.
    pub(crate) by: Vec<Dimension>,
    /// How long before now the time begins; all of it if absent.
    pub(crate) last: Option<Nanos>,
    /// Filters and groups.
    pub(crate) filters: Filters,
    /// Most rows.
    pub(crate) limit: usize,
    /// Growth of counters instead of shares.
    pub(crate) rates: bool,
    /// JSON instead of text.
    pub(crate) json: bool,
}

/// Names with `*` and `?` stand for all that are like them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    pub(crate) node: Option<String>,
    pub(crate) job: Option<String>,
    pub(crate) user: Option<u32>,
    pub(crate) executable: Option<String>,
    pub(crate) library: Option<String>,
    pub(crate) phase: Option<String>,
}

impl Filters {
    /// The filters in words; empty without filters.
    pub(super) fn words(&self) -> Option<String> {
        let user = self.user.map(|user| user.to_string());
        let all = [
            ("node", &self.node),
            ("job", &self.job),
            ("user", &user),
            ("executable", &self.executable),
            ("library", &self.library),
            ("phase", &self.phase),
        ];
        let named = all.into_iter().filter_map(|(word, name)| Some((word, name.as_ref()?)));
        let words: Vec<String> = named.map(|(word, name)| format!("{word} `{name}`")).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// A name of a row.
pub(super) fn cell(name: Option<&Name>) -> String {
    match name {
        None => "-".to_owned(),
        Some(Name::Text(text)) => text.clone(),
        Some(Name::Number(number)) => number.to_string(),
    }
}

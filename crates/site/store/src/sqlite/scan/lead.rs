//! First table of a scan, with the slices behind it.
//!
//! Owns the join of both. The scan decides whether it goes by this table or by slices.

/// A table `a` with a row for what is asked for and each slice that has it.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) table: &'static str,
    /// Where its rows are counted: it, or what leads to it.
    pub(super) by: &'static str,
    /// It, and the slices behind it.
    pub(super) from: String,
    /// The index that it is looked into by slice.
    pub(super) index: &'static str,
    /// How often it is looked into for each slice when these come first; 0 where it cannot be.
    pub(super) each: usize,
}

impl Lead {
    pub(super) fn new(table: &'static str) -> Self {
        let from = format!("{table} a CROSS JOIN slice s ON s.id = a.slice");
        Self { table, by: table, from, index: "", each: 1 }
    }
}

//! The index of records by location and time.
//!
//! Owns a stable sort: by location, then time, then the order of the source. Sources that are
//! sorted already, as most are, cost one counting pass and no comparison sort. Shape: one offset a
//! location and one more, four bytes a record.

/// Rows of one kind of record, grouped by location, each group by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByLocation {
    /// Where the rows of each location begin in `rows`; one more for the end.
    begins: Vec<usize>,
    rows: Vec<u32>,
}

impl ByLocation {
    /// Sorts the rows of two columns of the same length; rows of locations beyond `locations` are
    /// left out.
    pub fn new(locations: usize, location: &[u32], time: &[u64]) -> Self {
        let mut begins = vec![0_usize; locations + 1];
        for &one in location {
            if let Some(count) = begins.get_mut(one as usize + 1) {
                *count += 1;
            }
        }
        for next in 1..begins.len() {
            begins[next] += begins[next - 1];
        }
        let mut free = begins.clone();
        let mut rows = vec![0_u32; begins.last().copied().unwrap_or_default()];
        for (&one, row) in location.iter().zip(0..) {
            if (one as usize) < locations {
                let place = &mut free[one as usize];
                rows[*place] = row;
                *place += 1;
            }
        }
        let at = |row: &u32| time.get(*row as usize).copied().unwrap_or_default();
        for group in begins.windows(2) {
            let group = &mut rows[group[0]..group[1]];
            if !group.is_sorted_by_key(at) {
                group.sort_by_key(at);
            }
        }
        Self { begins, rows }
    }

    /// Number of locations.
    pub fn len(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// True without locations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of a location by time; none for a location that does not exist.
    pub fn rows(&self, location: u32) -> &[u32] {
        let location = location as usize;
        match (self.begins.get(location), self.begins.get(location + 1)) {
            (Some(&begin), Some(&end)) => &self.rows[begin..end],
            _ => &[],
        }
    }
}

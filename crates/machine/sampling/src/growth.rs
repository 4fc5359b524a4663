//! From totals to growth.
//!
//! Owns what makes a difference of two totals a lie: the first total, a total that was away, a
//! total that fell. Each of them gives no number rather than a wrong one.

/// Totals of one counter at all its places, as they were last.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    last: Vec<Option<u64>>,
}

/// Outcome of a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grown {
    /// By so much.
    By(u64),
    /// There is a total now and there was none before.
    Began,
    /// There is no total.
    Absent,
    /// It is smaller than before: the counter was reset, or it wrapped.
    Fell,
}

impl Growth {
    /// For this many places.
    pub fn new(places: usize) -> Self {
        Self { last: vec![None; places] }
    }

    /// Takes the total at a place.
    pub fn next(&mut self, place: usize, total: Option<u64>) -> Grown {
        let Some(last) = self.last.get_mut(place) else { return Grown::Absent };
        let before = std::mem::replace(last, total);
        match (before, total) {
            (_, None) => Grown::Absent,
            (None, Some(_)) => Grown::Began,
            (Some(before), Some(now)) => now.checked_sub(before).map_or(Grown::Fell, Grown::By),
        }
    }
}

impl Grown {
    /// The number, `NaN` where there is none.
    pub fn number(self) -> f64 {
        match self {
            Self::By(by) => by as f64,
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_totals_in_a_row_make_a_number() {
        let mut growth = Growth::new(1);
        let mut next = |total| growth.next(0, total);
        assert_eq!(next(Some(5)), Grown::Began);
        assert_eq!(next(Some(7)), Grown::By(2));
        assert_eq!(next(None), Grown::Absent);
        assert_eq!(next(Some(9)), Grown::Began);
        assert_eq!(next(Some(3)), Grown::Fell);
        assert_eq!(next(Some(u64::MAX)), Grown::By(u64::MAX - 3));
        assert_eq!(growth.next(1, Some(1)), Grown::Absent);
    }
}

//! Position of a router: a number on each axis of a torus, or on each level of another shape.
//!
//! Owns its usual notation, `(1,0,5)`. It does not know the lengths of axes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::FabricError;

/// Maximum number of axes: five of Blue Gene/Q, six of Tofu.
pub const MOST_AXES: usize = 6;

/// A number on each of up to six axes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Coordinate {
    values: [u16; MOST_AXES],
    axes: u8,
}

impl Coordinate {
    /// Coordinate with these numbers; `None` if there are more than [`MOST_AXES`].
    pub fn new(values: &[u16]) -> Option<Self> {
        let mut coordinate = Self { axes: u8::try_from(values.len()).ok()?, ..Self::default() };
        coordinate.values.get_mut(..values.len())?.copy_from_slice(values);
        Some(coordinate)
    }

    /// Numbers, those of the first axis first.
    pub fn values(&self) -> &[u16] {
        &self.values[..usize::from(self.axes)]
    }
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (at, value) in self.values().iter().enumerate() {
            write!(f, "{}{value}", if at == 0 { "" } else { "," })?;
        }
        f.write_str(")")
    }
}

impl From<Coordinate> for String {
    fn from(coordinate: Coordinate) -> Self {
        coordinate.to_string()
    }
}

impl TryFrom<String> for Coordinate {
    type Error = FabricError;

    fn try_from(text: String) -> Result<Self, FabricError> {
        text.parse()
    }
}

impl FromStr for Coordinate {
    type Err = FabricError;

    /// Numbers separated by commas, in parentheses or without; blanks beside numbers are ignored.
    fn from_str(text: &str) -> Result<Self, FabricError> {
        let inner = text.trim();
        let inner =
            inner.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(inner);
        let numbers = inner.split(',').map(|part| part.trim().parse::<u16>());
        let numbers: Result<Vec<u16>, _> = numbers.take(MOST_AXES + 1).collect();
        let found = numbers.ok().and_then(|numbers| Self::new(&numbers));
        found.ok_or_else(|| FabricError::Coordinate { found: text.chars().take(80).collect() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_coordinate() {
        for text in ["", "()", "(1,2", "1;2", "(1,,2)", "(-1,0)", "(65536,0)", "1,2,3,4,5,6,7"] {
            assert!(text.parse::<Coordinate>().is_err(), "{text}");
        }
        assert_eq!(" ( 1, 0 ,5 ) ".parse(), Ok(Coordinate::new(&[1, 0, 5]).unwrap()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(values in prop::collection::vec(any::<u16>(), 1..=MOST_AXES)) {
            let coordinate = Coordinate::new(&values).unwrap();
            prop_assert_eq!(coordinate.to_string().parse(), Ok(coordinate));
            prop_assert_eq!(coordinate.values(), &*values);
        }

        #[test]
        fn no_text_does_harm(text in ".{0,40}") {
            let _ = text.parse::<Coordinate>();
        }
    }
}

//! Errors of descriptions of fabrics, and of questions about them.

/// Errors; each message says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FabricError {
    /// A text that is no coordinate.
    #[error("`{found}` is no coordinate, expected up to six numbers below 65,536 such as (1,0,5)")]
    Coordinate {
        /// The text, or its beginning.
        found: String,
    },
    /// A size that no machine of the shape can have.
    #[error("{what} is {found}, expected {expected}")]
    Size {
        /// Object that has the size.
        what: &'static str,
        /// Requested size.
        found: u64,
        /// Possible sizes.
        expected: &'static str,
    },
    /// An unknown name.
    #[error("no {what} `{name}` in this fabric")]
    Unknown {
        /// Kind of object.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A duplicate.
    #[error("{what} `{name}` is there twice")]
    Twice {
        /// Kind of object.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A link that leads one way only.
    #[error("the link from `{from}` to `{to}` has no link back")]
    OneWay {
        /// Name of the router that it leaves.
        from: String,
        /// Name of the router that it reaches.
        to: String,
    },
    /// More objects than the maximum.
    #[error("more than {most} {what}")]
    TooMany {
        /// Kind of object.
        what: &'static str,
        /// The maximum.
        most: usize,
    },
}

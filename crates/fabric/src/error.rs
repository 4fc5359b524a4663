//! What is wrong with a description of a fabric, or with a question about one.

/// Every error says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FabricError {
    /// A text that is no coordinate.
    #[error("`{found}` is no coordinate, expected up to six numbers below 65,536 such as (1,0,5)")]
    Coordinate {
        /// The text, or its begin.
        found: String,
    },
    /// A size that no machine of the shape can have.
    #[error("{what} is {found}, expected {expected}")]
    Size {
        /// What has the size.
        what: &'static str,
        /// As it was asked for.
        found: u64,
        /// What is possible.
        expected: &'static str,
    },
    /// Something that is named and is not there.
    #[error("no {what} `{name}` in this fabric")]
    Unknown {
        /// Kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Something that is there twice.
    #[error("{what} `{name}` is there twice")]
    Twice {
        /// Kind of thing.
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
    /// More than is believed of a file.
    #[error("more than {most} {what}")]
    TooMany {
        /// Kind of thing.
        what: &'static str,
        /// Most of them.
        most: usize,
    },
}

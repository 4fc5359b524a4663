//! Counters by name, and arithmetic with them.
//!
//! Owns the catalogue of counters (what they count, where, in which unit) and the language of expressions over them. It refuses
//! reading counters.

pub mod catalogue;
pub mod expression;
mod suggest;

pub use catalogue::{CounterSpec, Kind, Scope, Unit};
pub use expression::{Expression, ExpressionError, Wrong};
pub use suggest::suggest;

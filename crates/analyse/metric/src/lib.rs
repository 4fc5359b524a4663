//! Counters by name, arithmetic with them, and metrics of a program.
//!
//! Owns the catalogue of counters (meaning, place, unit), the language of expressions over them,
//! the table of derived metrics, models of cycles and slots as trees of metrics, and the factors of
//! parallel efficiency. A value that cannot be computed is absent with its reason. It refuses
//! reading counters and files.

pub mod catalogue;
pub mod efficiency;
pub mod expression;
pub mod limits;
pub mod measure;
pub mod model;
mod suggest;
pub mod synonyms;
pub mod table;

pub use catalogue::{CounterSpec, Kind, Scope, Unit};
pub use expression::{Absent, Expression, ExpressionError, Wrong};
pub use model::{Definition, Model};
pub use suggest::suggest;
pub use table::{Category, Evaluated, metrics_of};

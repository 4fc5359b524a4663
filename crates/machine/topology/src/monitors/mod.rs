//! Monitors: values to display, and their objects.
//!
//! ```text
//! # The form of dynamic lstopo:
//! L3_MISS{ OBJ = L3; CTR = PAPI_L3_TCM; LOGSCALE = 1; MAX=1000000; MIN=0; }
//! % The form of Hierarchical-monitors:
//! CPI{ OBJ:=PU; PERF_LIB:=papi; EVSET:=PAPI_TOT_INS, PAPI_TOT_CYC; REDUCTION:=$1/$0; }
//! ```
//!
//! Keys, each with its default in parentheses:
//!
//! - `OBJ` (required; with `EVSET` the machine): a kind (`L3`, `socket`, `NUMANode` ...), a depth
//!   (0 is the machine), one object or some (`L3:1`, `PU:0-3`, logical numbers).
//! - `CTR` (required, or `EVSET`): an expression over counters and other monitors
//!   ([`talea_metric::expression`]).
//! - `EVSET` and `REDUCTION` (each member of the list): a list of counters or monitors; expressions
//!   over `$0 $1 ...` with commas between, each with a name if wished (`ipc=$1/$0`), or
//!   `monitor_events_sum`, `_mean`, `_min`, `_max`. More than one output makes the monitors
//!   `NAME:output`.
//! - `AGG` (`sum`): `sum`, `max`, `min`, `mean` over the places in an object.
//! - `WHEN` (`after`): `after`: counters are aggregated, then the expression is evaluated (a ratio
//!   of sums); `before`: evaluated where counters are read, then aggregated; a kind: evaluated at
//!   those objects, then aggregated.
//! - `PER` (per frame): the divisor of the value: `second`, `instruction`, `cycle` or an
//!   expression.
//! - `MIN`, `MAX` (from the values): the scale's ends.
//! - `LOGSCALE` (0): 1 for a logarithmic scale.
//! - `UNIT` (from the counters): text after the value, in quotes if need be.
//! - `ACCUMULATE` (0): 1 for counters that are summed since the start.
//! - `WINDOW` (1): number of frames over which counters are averaged.
//! - `SILENT` (0): 1 for monitors that only others use.
//! - `PERF_LIB`: kept for sources; `hierarchical` evaluates at the objects of the monitors in
//!   `EVSET`.
//!
//! `=` and `:=` are the same, keys may be in lower case, the last `;` may be missing. `#` and `//`
//! begin comments; `%` does at the beginning of a line and after `;`, `{` or `}`. Blanks in a
//! monitor's name become `_`. A monitor's name in an expression stands for its expression and takes
//! precedence over counters of the same name.
//!
//! Owns the language and its mistakes, which are all reported at once. It refuses values: see
//! [`crate::accumulate`].

mod blocks;
mod defaults;
mod fields;
mod info;
mod link;
mod mistakes;
mod sets;
#[cfg(test)]
mod tests;

use std::fmt;

use talea_metric::catalogue::{Unit, spec};
use talea_metric::expression::Expression;

pub use self::defaults::defaults;
pub use self::info::MonitorInfo;
pub use self::link::Known;
pub use self::mistakes::{Mistake, Mistakes};
use crate::objects::ObjectKind;

/// Longest text in bytes.
pub const LONGEST_TEXT: usize = 1 << 20;
/// Maximum number of monitors of a text.
pub const MOST_MONITORS: usize = 1024;
/// Maximum number of frames of a window.
pub const LONGEST_WINDOW: u32 = 1000;

/// A value on some objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Monitor {
    /// Unique among the monitors of a text.
    pub name: String,
    /// Objects on which it is shown.
    pub objects: ObjectsOf,
    /// Expression of counters alone: other monitors have been replaced by their definitions.
    pub expression: Expression,
    /// Aggregation of the places in an object to one number.
    pub aggregate: Aggregate,
    /// Objects at which the expression is evaluated.
    pub when: When,
    /// Divisor of the value.
    pub per: Per,
    /// Low end of the scale.
    pub min: Option<f64>,
    /// High end of the scale.
    pub max: Option<f64>,
    /// True for a logarithmic scale.
    pub log: bool,
    /// Text after the value; see [`Monitor::unit_text`].
    pub unit: Option<String>,
    /// Number of frames over which counters are averaged; 1 is the frame alone.
    pub window: u32,
    /// True if counters are summed since the start.
    pub accumulate: bool,
    /// True if it is for other monitors only.
    pub silent: bool,
    /// The library that its author intended.
    pub library: Option<String>,
}

/// The objects of a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectsOf {
    /// All of a kind.
    Kind(ObjectKind),
    /// All at a depth below the machine, which has depth 0.
    Depth(u32),
    /// Those of a kind with logical numbers from the first to the last.
    Some {
        /// The kind.
        kind: ObjectKind,
        /// First logical number.
        first: u32,
        /// Last logical number.
        last: u32,
    },
}

/// Aggregation of numbers. Any absent number makes the result absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// Their sum.
    #[default]
    Sum,
    /// The maximum.
    Max,
    /// The minimum.
    Min,
    /// Their mean.
    Mean,
}

/// Objects at which an expression is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum When {
    /// At the monitor's objects: counters are aggregated first.
    #[default]
    After,
    /// At the places of its counters; the values are aggregated.
    Before,
    /// At these objects, for which counters are summed; the values are aggregated.
    At(ObjectsOf),
}

/// Divisor of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Per {
    /// None: values are those of a frame of any length.
    #[default]
    Frame,
    /// Seconds.
    Second,
    /// The counter `instructions`, or `PAPI_TOT_INS` if only that is available.
    Instruction,
    /// The counter `cycles`, or `PAPI_TOT_CYC` if only that is available.
    Cycle,
    /// An expression.
    Expression(Expression),
}

/// Reads monitors with any names of counters.
pub fn parse(text: &str) -> Result<Vec<Monitor>, Mistakes> {
    link::link(text, None)
}

/// Reads monitors and refuses counters that neither the machine nor the catalogue knows. Those that
/// only the catalogue knows are no mistake: their values will be absent, with a reason.
pub fn parse_known(text: &str, known: &Known<'_>) -> Result<Vec<Monitor>, Mistakes> {
    link::link(text, Some(known))
}

impl Monitor {
    /// A monitor of an expression on objects, with defaults for all keys.
    pub fn new(name: &str, objects: ObjectsOf, expression: Expression) -> Self {
        Self {
            name: name.to_owned(),
            objects,
            expression,
            aggregate: Aggregate::Sum,
            when: When::After,
            per: Per::Frame,
            min: None,
            max: None,
            log: false,
            unit: None,
            window: 1,
            accumulate: false,
            silent: false,
            library: None,
        }
    }

    /// All counters that it needs, those of `PER` last.
    pub fn counters(&self) -> Vec<String> {
        let mut all = self.expression.counters().to_vec();
        let divisor = self.per.expression();
        let more = divisor.iter().flat_map(Expression::counters);
        all.extend(more.filter(|name| !self.expression.counters().contains(name)).cloned());
        all
    }

    /// Text after the value: the user's, or that of the counters' units; empty where unknown.
    pub fn unit_text(&self) -> String {
        if let Some(unit) = &self.unit {
            return unit.clone();
        }
        let of = |name: &str| spec(name).map(|spec| spec.unit);
        let Some(unit) = self.expression.unit(of) else { return String::new() };
        let divisor = match &self.per {
            Per::Frame => return unit.symbol().to_owned(),
            Per::Second => "s",
            Per::Instruction => "instruction",
            Per::Cycle => "cycle",
            Per::Expression(divisor) => match divisor.unit(of) {
                Some(Unit::Ratio) => return unit.symbol().to_owned(),
                Some(other) if other == unit => return String::new(),
                Some(other) if !other.symbol().is_empty() => other.symbol(),
                _ => return String::new(),
            },
        };
        let symbol = if unit.symbol().is_empty() { "1" } else { unit.symbol() };
        format!("{symbol}/{divisor}")
    }
}

impl Per {
    /// The divisor, unless it is time or none.
    pub fn expression(&self) -> Option<Expression> {
        match self {
            Self::Frame | Self::Second => None,
            Self::Instruction => Some(Expression::counter("instructions")),
            Self::Cycle => Some(Expression::counter("cycles")),
            Self::Expression(expression) => Some(expression.clone()),
        }
    }
}

impl Aggregate {
    pub(crate) const ALL: [(&'static str, Self); 4] =
        [("sum", Self::Sum), ("max", Self::Max), ("min", Self::Min), ("mean", Self::Mean)];

    /// `sum`, `max`, `min` or `mean`.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|known| known.1 == self).map_or("sum", |known| known.0)
    }
}

impl fmt::Display for ObjectsOf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |kind: ObjectKind| if kind.is_cache() { kind.short() } else { kind.name() };
        match *self {
            Self::Kind(kind) => out.write_str(word(kind)),
            Self::Depth(depth) => write!(out, "{depth}"),
            Self::Some { kind, first, last } if first == last => {
                write!(out, "{}:{first}", word(kind))
            }
            Self::Some { kind, first, last } => write!(out, "{}:{first}-{last}", word(kind)),
        }
    }
}

/// The text of the same monitor, on one line.
impl fmt::Display for Monitor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{{ OBJ = {}; CTR = {};", self.name, self.objects, self.expression)?;
        if self.aggregate != Aggregate::Sum {
            write!(out, " AGG = {};", self.aggregate.name())?;
        }
        match self.when {
            When::After => {}
            When::Before => out.write_str(" WHEN = before;")?,
            When::At(objects) => write!(out, " WHEN = {objects};")?,
        }
        match &self.per {
            Per::Frame => {}
            Per::Second => out.write_str(" PER = second;")?,
            Per::Instruction => out.write_str(" PER = instruction;")?,
            Per::Cycle => out.write_str(" PER = cycle;")?,
            // Parentheses distinguish a counter named `second` from the word.
            Per::Expression(divisor) => write!(out, " PER = ({divisor});")?,
        }
        if let Some(min) = self.min {
            write!(out, " MIN = {min:e};")?;
        }
        if let Some(max) = self.max {
            write!(out, " MAX = {max:e};")?;
        }
        if let Some(unit) = &self.unit {
            write!(out, " UNIT = \"{unit}\";")?;
        }
        if self.window != 1 {
            write!(out, " WINDOW = {};", self.window)?;
        }
        if let Some(library) = &self.library {
            write!(out, " PERF_LIB = {library};")?;
        }
        let flags =
            [("LOGSCALE", self.log), ("ACCUMULATE", self.accumulate), ("SILENT", self.silent)];
        for (key, _) in flags.iter().filter(|flag| flag.1) {
            write!(out, " {key} = 1;")?;
        }
        out.write_str(" }")
    }
}

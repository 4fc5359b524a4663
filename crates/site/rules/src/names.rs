//! Rows by what people call them: places in files are functions.
//!
//! Owns the sums of rows that have one name, and who is asked for those of functions. It refuses to
//! resolve them itself.

use std::collections::BTreeMap;

use talea_model::Module;
use talea_run::functions::HostFunctions;
use talea_store::Value;

use crate::subject::value_text;

/// Source of the names of functions.
pub trait Names {
    /// The function at an address of a file; none if it cannot be known here.
    fn function(&mut self, module: Option<&Module>, address: Option<u64>) -> Option<String>;
}

/// Functions of this host.
impl Names for HostFunctions {
    fn function(&mut self, module: Option<&Module>, address: Option<u64>) -> Option<String> {
        self.functions().lookup(module?, address?, self.deadline()).ok()
    }
}

/// Nobody: functions have no names then, and rules that speak of them are absent.
impl Names for () {
    fn function(&mut self, _: Option<&Module>, _: Option<u64>) -> Option<String> {
        None
    }
}

/// Sum of the rows of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Samples.
    pub samples: u64,
    /// Samples times what each stood for.
    pub core_seconds: f64,
}

/// Sums of rows (their value, samples, core seconds) by name, those without one together.
pub fn by_name<'a>(
    rows: impl Iterator<Item = (&'a Value, u64, f64)>,
    names: &mut dyn Names,
) -> BTreeMap<Option<String>, Sum> {
    let mut sums: BTreeMap<Option<String>, Sum> = BTreeMap::new();
    for (value, samples, core_seconds) in rows {
        let name = match value {
            Value::Function { module, address } => names.function(module.as_ref(), *address),
            other => value_text(other),
        };
        let sum = sums.entry(name).or_default();
        sum.samples = sum.samples.saturating_add(samples);
        sum.core_seconds += core_seconds;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses below 10 are of one function.
    struct One;

    impl Names for One {
        fn function(&mut self, _: Option<&Module>, address: Option<u64>) -> Option<String> {
            address.filter(|address| *address < 10).map(|_| "f".to_owned())
        }
    }

    #[test]
    fn places_of_one_function_are_one_row() {
        let at = |address| Value::Function { module: None, address: Some(address) };
        let rows =
            [(at(1), u64::MAX, 1.0), (at(10), 5, 2.0), (at(2), 3, 4.0), (Value::Absent, 1, 8.0)];
        let rows = rows.iter().map(|(value, samples, seconds)| (value, *samples, *seconds));
        let sums: Vec<_> = by_name(rows, &mut One).into_iter().collect();
        let sum = |samples, core_seconds| Sum { samples, core_seconds };
        assert_eq!(sums, [(None, sum(6, 10.0)), (Some("f".to_owned()), sum(u64::MAX, 5.0))]);
    }
}

//! Collapsed stacks: `outer;inner;innermost weight`, each stack once, sorted.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Samples;

/// All threads together. Semicolons and line ends in names become colons and blanks; samples
/// without a stack are left out.
pub fn collapsed(samples: &Samples) -> String {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for sample in samples.threads.iter().flat_map(|thread| &thread.samples) {
        let names = samples.stack(sample).map(|frame| plain(&frame.name));
        let stack = names.collect::<Vec<_>>().join(";");
        if !stack.is_empty() {
            let sum = sums.entry(stack).or_default();
            *sum = sum.saturating_add(sample.weight);
        }
    }
    let mut out = String::new();
    for (stack, weight) in sums {
        let _ = writeln!(out, "{stack} {weight}");
    }
    out
}

fn plain(name: &str) -> String {
    name.replace(';', ":").replace(char::is_control, " ")
}

//! From addresses in files to functions, when somebody asks.
//!
//! Owns the way there: files of this host by build id, the kernel by its own list of symbols. A file that is another one now is not used; what cannot
//! be resolved says so. The kernel's addresses hold until it is started anew.

use std::fs;

use talea_model::Module;
use talea_model::shares::KERNEL;
use talea_run::Resolver;

/// In place of a function that has no symbol.
const NO_SYMBOL: &str = "(no symbol)";

/// Resolves functions of modules and of the kernel.
#[derive(Debug)]
pub(super) struct Functions {
    resolver: Resolver,
    kernel: Vec<(u64, String)>,
}

impl Functions {
    pub(super) fn new() -> Self {
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        Self { resolver: Resolver::new(), kernel: of_kallsyms(&symbols) }
    }

    /// The function at an address, or in parentheses why there is none.
    pub(super) fn name(&mut self, module: Option<&Module>, address: Option<u64>) -> String {
        let Some(module) = module else { return "(no file)".to_owned() };
        let Some(address) = address else { return "(unknown)".to_owned() };
        if module.path == KERNEL {
            let after = self.kernel.partition_point(|(begin, _)| *begin <= address);
            let known = after.checked_sub(1).map(|at| self.kernel[at].1.clone());
            return known.unwrap_or_else(|| NO_SYMBOL.to_owned());
        }
        // The resolver takes return addresses: that of a sample is the instruction itself.
        let found = self.resolver.resolve(module, address.saturating_add(1));
        let last = found.into_iter().next_back().unwrap_or_default();
        last.function.unwrap_or_else(|| NO_SYMBOL.to_owned())
    }
}

/// Functions by address; nothing where the kernel hides them (`kernel.kptr_restrict`).
fn of_kallsyms(text: &str) -> Vec<(u64, String)> {
    let mut all: Vec<(u64, String)> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            let kind = words.next()?;
            let is_code = address != 0 && matches!(kind, "t" | "T" | "w" | "W");
            is_code.then_some((address, words.next()?.to_owned()))
        })
        .collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_the_kernel() {
        let text = "ffff10 T b\nffff00 t a\n0 T hidden\nffff08 d data\nzz T bad\n";
        let mut functions = Functions { resolver: Resolver::new(), kernel: of_kallsyms(text) };
        let kernel = Module { path: KERNEL.to_owned(), build_id: String::new() };
        let mut name = |address| functions.name(Some(&kernel), Some(address));
        assert_eq!(name(0xff_ff0c), "a");
        assert_eq!(name(0xff_ff10), "b");
        assert_eq!(name(0xff), NO_SYMBOL);
        assert_eq!(functions.name(None, Some(1)), "(no file)");
    }
}

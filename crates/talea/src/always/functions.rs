//! From addresses in files to functions, when somebody asks.
//!
//! Owns the way there: files of this host by build id, the kernel by its own list of symbols. A file that is another one now is not used; what cannot
//! be resolved says so. The kernel's addresses are those of one start of one host, which its module names.

use std::fs;

use talea_model::Module;
use talea_model::shares::KERNEL;
use talea_run::Resolver;
use talea_sampling::system::boot_id;

/// In place of a function that has no symbol.
const NO_SYMBOL: &str = "(no symbol)";
/// The same of a kernel of another host or another start.
const OTHER_KERNEL: &str = "(another kernel)";

/// Resolves functions of modules and of the kernel.
#[derive(Debug)]
pub(super) struct Functions {
    resolver: Resolver,
    kernel: Vec<(u64, String)>,
    /// The start of the kernel that these are of.
    boot: String,
}

impl Functions {
    pub(super) fn new() -> Self {
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        Self { resolver: Resolver::new(), kernel: of_kallsyms(&symbols), boot: boot_id() }
    }

    /// The function at an address, or in parentheses why there is none.
    pub(super) fn name(&mut self, module: Option<&Module>, address: Option<u64>) -> String {
        let Some(module) = module else { return "(no file)".to_owned() };
        if address.is_none() {
            return "(unknown)".to_owned();
        }
        let known = self.known(module, address);
        let is_other = module.path == KERNEL && module.build_id != self.boot;
        known.unwrap_or_else(|| if is_other { OTHER_KERNEL } else { NO_SYMBOL }.to_owned())
    }

    /// The function at an address; none if it cannot be known here.
    pub(super) fn known(&mut self, module: &Module, address: Option<u64>) -> Option<String> {
        let address = address?;
        if module.path == KERNEL {
            if self.boot.is_empty() || module.build_id != self.boot {
                return None;
            }
            let after = self.kernel.partition_point(|(begin, _)| *begin <= address);
            return after.checked_sub(1).map(|at| self.kernel[at].1.clone());
        }
        // The resolver takes return addresses: that of a sample is the instruction itself.
        let found = self.resolver.resolve(module, address.saturating_add(1));
        found.into_iter().next_back()?.function
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
        let mut functions = Functions {
            resolver: Resolver::new(),
            kernel: of_kallsyms(text),
            boot: "ab".to_owned(),
        };
        let kernel = Module { path: KERNEL.to_owned(), build_id: "ab".to_owned() };
        let mut name = |address| functions.name(Some(&kernel), Some(address));
        assert_eq!(name(0xff_ff0c), "a");
        assert_eq!(name(0xff_ff10), "b");
        assert_eq!(name(0xff), NO_SYMBOL);
        assert_eq!(functions.name(None, Some(1)), "(no file)");
        for build_id in ["", "ac"] {
            let other = Module { build_id: build_id.to_owned(), ..kernel.clone() };
            assert_eq!(functions.name(Some(&other), Some(0xff_ff10)), OTHER_KERNEL);
            assert_eq!(functions.known(&other, Some(0xff_ff10)), None);
        }
    }
}

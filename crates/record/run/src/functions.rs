//! Functions at addresses that batches of samples name: of this host's files and of its kernel.
//!
//! Owns the choice between a file, found by its build id, and the kernel's own list of symbols. A
//! file that has changed since is not used. A result without a name has the reason in parentheses.
//! Addresses of the kernel hold for one start of one host, which its module names ([`boot_id`]).
//! Batches name any file, so symbols are read with bounds, and no file is mapped.

use std::fs;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use talea_model::Module;
use talea_model::shares::KERNEL;

use crate::foreign::Readers;
use crate::symbols::{Bounds, FunctionNames, NoNames};

/// In place of a function that has no symbol.
const NO_SYMBOL: &str = "(no symbol)";
/// The same of a kernel of another host or another start.
const OTHER_KERNEL: &str = "(another kernel)";

/// The same of a file that is not read.
const TOO_LARGE: &str = "(symbols too large)";

/// The same of a file that cannot be read before its file server is back.
const HANGS: &str = "(file system does not answer)";

/// Resolves functions of modules and of the kernel, for many threads at a time.
#[derive(Debug)]
pub struct Functions {
    files: FunctionNames,
    kernel: Vec<(u64, String)>,
    /// The start of the kernel that these are of.
    boot: String,
}

impl Default for Functions {
    fn default() -> Self {
        Self::new()
    }
}

impl Functions {
    /// Of files that this process may read.
    pub fn new() -> Self {
        Self::for_readers(Readers::ThisProcess)
    }

    fn for_readers(readers: Readers) -> Self {
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        Self::of(boot_id(), &symbols, readers)
    }

    fn of(boot: String, symbols: &str, readers: Readers) -> Self {
        // Two starts that nobody knows may be two.
        let kernel = if boot.is_empty() { Vec::new() } else { of_kallsyms(symbols) };
        Self { files: FunctionNames::new(Bounds::default(), readers), kernel, boot }
    }

    /// The function at an address, or the reason in parentheses.
    pub fn name(&self, module: Option<&Module>, address: Option<u64>) -> String {
        self.name_by(module, address, None)
    }

    /// The same; a file that is not read by the deadline has no names.
    pub fn name_by(
        &self,
        module: Option<&Module>,
        address: Option<u64>,
        deadline: Option<Instant>,
    ) -> String {
        let Some(module) = module else { return "(no file)".to_owned() };
        let Some(address) = address else { return "(unknown)".to_owned() };
        self.lookup(module, address, deadline).unwrap_or_else(str::to_owned)
    }

    /// The function at an address by the deadline.
    ///
    /// # Errors
    /// The reason in parentheses.
    pub fn lookup(
        &self,
        module: &Module,
        address: u64,
        deadline: Option<Instant>,
    ) -> Result<String, &'static str> {
        if module.path == KERNEL {
            if module.build_id != self.boot {
                return Err(OTHER_KERNEL);
            }
            let after = self.kernel.partition_point(|(begin, _)| *begin <= address);
            let before = after.checked_sub(1).ok_or(NO_SYMBOL)?;
            return Ok(self.kernel[before].1.clone());
        }
        match self.files.name_by(module, address, deadline) {
            Ok(name) => name.ok_or(NO_SYMBOL),
            Err(NoNames::TooLarge(_)) => Err(TOO_LARGE),
            Err(NoNames::Hangs) => Err(HANGS),
            Err(_) => Err(NO_SYMBOL),
        }
    }
}

/// Functions of this host's files and kernel, looked for when the first is asked for; copies are of
/// the same.
#[derive(Clone, Debug)]
pub struct HostFunctions {
    functions: Arc<OnceLock<Functions>>,
    readers: Readers,
    /// End of the query that these are for.
    deadline: Option<Instant>,
}

impl Default for HostFunctions {
    fn default() -> Self {
        Self { functions: Arc::default(), readers: Readers::ThisProcess, deadline: None }
    }
}

impl HostFunctions {
    /// Of files that everybody may read: a server's own rights are not for who asks it.
    pub fn for_everybody() -> Self {
        Self { readers: Readers::Everybody, ..Self::default() }
    }

    /// The same functions for a query that ends then.
    #[must_use]
    pub fn until(&self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self.clone() }
    }

    /// The functions, found at the first call.
    pub fn functions(&self) -> &Functions {
        self.functions.get_or_init(|| Functions::for_readers(self.readers))
    }

    /// End of the query that these are for.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

/// Start of the kernel, as 32 hexadecimal digits (`/proc/sys/kernel/random/boot_id`, random(4));
/// empty where the system does not give it. Addresses of the kernel hold for this start only: the
/// next one may have another kernel or another place for it.
pub fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.chars().filter(char::is_ascii_hexdigit).take(32).collect()
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
    use crate::foreign;

    use super::*;

    #[test]
    fn symbols_of_the_kernel() {
        let text = "ffff10 T b\nffff00 t a\n0 T hidden\nffff08 d data\nzz T bad\n";
        let functions = Functions::of("ab".to_owned(), text, Readers::ThisProcess);
        let kernel = Module { path: KERNEL.to_owned(), build_id: "ab".to_owned() };
        let name = |address| functions.name(Some(&kernel), Some(address));
        assert_eq!(name(0xff_ff0c), "a");
        assert_eq!(name(0xff_ff10), "b");
        assert_eq!(name(0xff), NO_SYMBOL);
        assert_eq!(functions.name(None, Some(1)), "(no file)");
        for build_id in ["", "ac"] {
            let other = Module { build_id: build_id.to_owned(), ..kernel.clone() };
            assert_eq!(functions.name(Some(&other), Some(0xff_ff10)), OTHER_KERNEL);
            assert!(functions.lookup(&other, 0xff_ff10, None).is_err());
        }
        let unknown = Module { build_id: String::new(), ..kernel };
        let functions = Functions::of(String::new(), text, Readers::ThisProcess);
        assert_eq!(functions.name(Some(&unknown), Some(0xff_ff10)), NO_SYMBOL);
    }

    #[test]
    fn a_file_that_is_shortened_between_two_questions_ends_nothing() {
        use object::{Object as _, ObjectSymbol as _};

        // Large enough that the end is on pages that the first answer does not need.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p");
        fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        let addresses: Vec<u64> = {
            let bytes = fs::read(&path).unwrap();
            let elf = object::File::parse(&*bytes).unwrap();
            let is_function = |s: &object::Symbol<'_, '_>| s.kind() == object::SymbolKind::Text;
            let all = elf.symbols().filter(|s| is_function(s) && !s.is_undefined());
            all.map(|symbol| symbol.address()).take(2000).collect()
        };
        let functions = Functions::new();
        let build_id = foreign::identity(&fs::metadata(&path).unwrap()).to_string();
        let module = Module { path: path.to_str().unwrap().to_owned(), build_id };
        let name = |address| functions.name(Some(&module), Some(address));
        assert!(!name(addresses[0]).starts_with('('));
        fs::File::options().write(true).open(&path).unwrap().set_len(64).unwrap();
        assert!(addresses.iter().all(|&address| !name(address).starts_with('(')));
    }
}

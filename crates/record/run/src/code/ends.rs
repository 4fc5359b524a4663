//! Calls that never return: of `abort`, of functions that throw an exception, of functions that
//! always make such a call.
//!
//! Owns their detection. Compilers put other code after such a call, often of another loop, and an
//! edge from the call to that code would make loops that are not in the source. A function that is
//! examined counts as returning where the opposite is not certain.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Register};
use object::{Object as _, ObjectSymbol as _, ObjectSymbolTable as _, RelocationTarget};

use super::Code;
use super::decode::{Decoded, To};
use super::parts::Part;

/// Maximum number of instructions of functions that are examined, of one file.
const MOST_INSTRUCTIONS: usize = 4_000_000;
/// Maximum number of instructions of one such function.
const MOST_OF_ONE: usize = 20_000;
/// Maximum depth of functions that are examined.
const DEPTH: usize = 6;
/// Maximum number of instructions of a stub that jumps to another library's function.
const STUB: usize = 3;

/// Functions of C, C++, Fortran and the unwinder that never return.
const NAMES: [&str; 36] = [
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "pthread_exit",
    "longjmp",
    "siglongjmp",
    "_longjmp",
    "__longjmp_chk",
    "__assert_fail",
    "__assert_perror_fail",
    "__stack_chk_fail",
    "__chk_fail",
    "__fortify_fail",
    "err",
    "errx",
    "verr",
    "verrx",
    "_Unwind_Resume",
    "__cxa_throw",
    "__cxa_rethrow",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_throw_bad_array_new_length",
    "__cxa_call_unexpected",
    "__cxa_call_terminate",
    "__cxa_pure_virtual",
    "__clang_call_terminate",
    "_ZSt9terminatev",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_stop_string",
    "_gfortran_stop_numeric",
    "_gfortran_error_stop_string",
    "_gfortran_os_error_at",
];

fn never_returns(name: &str) -> bool {
    NAMES.contains(&name) || name.starts_with("_ZSt") && name.contains("__throw_")
}

/// Functions of a file that are known to return, or never to.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Slots for the addresses of other libraries' functions that never return.
    slots: HashSet<u64>,
    /// The file's own functions: true for those that never return.
    known: RefCell<HashMap<u64, bool>>,
    decoded: RefCell<usize>,
}

impl Ends {
    pub(super) fn new(elf: &object::File<'_>) -> Self {
        let mut slots = HashSet::new();
        if let (Some(relocations), Some(symbols)) =
            (elf.dynamic_relocations(), elf.dynamic_symbol_table())
        {
            for (slot, relocation) in relocations {
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                let symbol = symbols.symbol_by_index(index);
                let name = symbol.as_ref().ok().and_then(|symbol| symbol.name().ok());
                if name.is_some_and(never_returns) {
                    slots.insert(slot);
                }
            }
        }
        let own = elf
            .symbols()
            .chain(elf.dynamic_symbols())
            .filter(|symbol| !symbol.is_undefined() && symbol.name().is_ok_and(never_returns));
        let known = own.map(|symbol| (symbol.address(), true)).collect();
        Self { slots, known: RefCell::new(known), decoded: RefCell::new(0) }
    }

    /// True if the function that begins at an address never returns.
    pub(super) fn at(&self, code: &Code<'_>, address: u64) -> bool {
        self.inside(code, address, 0)
    }

    fn inside(&self, code: &Code<'_>, address: u64, depth: usize) -> bool {
        if let Some(&known) = self.known.borrow().get(&address) {
            return known;
        }
        if depth == DEPTH {
            return false;
        }
        // One that calls itself is not examined again.
        self.known.borrow_mut().insert(address, false);
        let ends = match stub(code, address) {
            Some(slot) => self.slots.contains(&slot),
            None => self.function(code, address, depth).unwrap_or(false),
        };
        self.known.borrow_mut().insert(address, ends);
        ends
    }

    /// True if each path through a function ends in a call that never returns; `None` where it
    /// cannot be read.
    fn function(&self, code: &Code<'_>, address: u64, depth: usize) -> Option<bool> {
        let part = code.parts.containing(address).filter(|part| part.begin == address)?;
        let left = MOST_INSTRUCTIONS.saturating_sub(*self.decoded.borrow());
        let decoded = Decoded::new(part, code.bytes(part)?, left.min(MOST_OF_ONE))?;
        *self.decoded.borrow_mut() += decoded.instructions.len();
        // Most return on some path without a call, which is quickly found.
        let all_calls_end = |_| true;
        let some = |call| self.inside(code, call, depth + 1);
        Some(!returns(&decoded, all_calls_end) && !returns(&decoded, some))
    }
}

/// Address from which a stub reads its target.
fn stub(code: &Code<'_>, address: u64) -> Option<u64> {
    // Longer than a stub can be; shorter where the section ends.
    let bytes = [32, 16, 8]
        .into_iter()
        .find_map(|size| code.bytes(Part { begin: address, end: address.checked_add(size)? }))?;
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    for _ in 0..STUB {
        let instruction: Instruction = decoder.decode();
        match instruction.flow_control() {
            FlowControl::Next => {}
            FlowControl::IndirectBranch if instruction.memory_base() == Register::RIP => {
                return Some(instruction.ip_rel_memory_address());
            }
            _ => return None,
        }
    }
    None
}

/// True if a path through a function reaches its end without a call that never returns.
fn returns(function: &Decoded, mut ends: impl FnMut(u64) -> bool) -> bool {
    let mut ways = vec![function.part.begin];
    let mut seen = HashSet::new();
    while let Some(from) = ways.pop() {
        let next = function.transfers.partition_point(|transfer| transfer.end <= from);
        // Nothing stands after a function except after a call that never returns.
        let Some(transfer) = function.transfers.get(next) else { continue };
        if !seen.insert(transfer.end) {
            continue;
        }
        let mut lead = |to: u64| {
            let inside = function.part.contains(to);
            if inside {
                ways.push(to);
            }
            inside
        };
        let returns = match transfer.to {
            To::Return | To::Computed => true,
            To::Jump(to) => !lead(to) && !ends(to),
            To::Branch(to) => {
                lead(transfer.end);
                !lead(to) && !ends(to)
            }
            To::Call(to) => {
                if !ends(to) {
                    lead(transfer.end);
                }
                false
            }
            To::End => false,
        };
        if returns {
            return true;
        }
    }
    false
}

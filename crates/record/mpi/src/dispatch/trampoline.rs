//! From an exported symbol to the event path.
//!
//! Owns the exported functions: each loads its number and goes to `enter`, which lays the six
//! register arguments below the return address, so that one function can serve procedures of every
//! shape. Refuses reading arguments.

include!(concat!(env!("OUT_DIR"), "/trampolines.rs"));

/// From an entry with its number in `eax` to [`crate::dispatch::dispatch`] and back.
///
/// The result is put into both result registers: `MPI_Wtime` and its like return a double.
#[unsafe(naked)]
extern "C-unwind" fn enter() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        ".cfi_adjust_cfa_offset 56",
        "mov rdi, rsp",
        "mov esi, eax",
        "call {dispatch}",
        "movq xmm0, rax",
        "add rsp, 56",
        ".cfi_adjust_cfa_offset -56",
        "ret",
        ".cfi_endproc",
        dispatch = sym crate::dispatch::dispatch,
    )
}

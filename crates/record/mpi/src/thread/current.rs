//! State of the calling thread.
//!
//! Owns the thread's own variable, whose reading takes two instructions.

use std::arch::{asm, global_asm};

use super::State;

// A variable of the thread in the initial-exec model: two instructions, where the default model
// calls a function. Global within the library, as these may stand in another object file than the
// variable.
global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".type talea_thread, @object",
    ".globl talea_thread",
    ".hidden talea_thread",
    ".balign 8",
    "talea_thread:",
    ".zero 8",
    ".size talea_thread, 8",
    ".text",
);

#[inline(always)]
pub(crate) fn this_thread() -> *mut State {
    let state: *mut State;
    // SAFETY: reads the thread's own variable; zero until `set_this_thread`.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + talea_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) state,
            options(nostack, preserves_flags, readonly),
        );
    }
    state
}

pub(crate) fn set_this_thread(state: *mut State) {
    // SAFETY: writes the thread's own variable.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + talea_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) state,
            options(nostack, preserves_flags),
        );
    }
}

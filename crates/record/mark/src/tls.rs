//! The words that each thread has: its state, where that is in a thread whose phases are recorded,
//! and the OpenTelemetry thread context.
//!
//! Owns the assembler for them. The context must be a symbol in the dynamic table of symbols (OTEP
//! 4947, `otel_thread_ctx_v1`), which stable Rust cannot make. Access is initial-exec, one load
//! from the global offset table: of the models that readers must support it is the fastest here and
//! the simplest for them, as the word holds the distance from the thread pointer for all threads.
//! The loader serves libraries that are opened late from its reserve, which these few bytes fit
//! into.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod native {
    use std::arch::{asm, global_asm};

    global_asm!(
        ".section .tbss.talea_mark,\"awT\",@nobits",
        ".globl otel_thread_ctx_v1",
        ".type otel_thread_ctx_v1,@tls_object",
        ".size otel_thread_ctx_v1,8",
        ".p2align 3",
        "otel_thread_ctx_v1:",
        ".zero 8",
        ".globl talea_mark_thread_state",
        ".hidden talea_mark_thread_state",
        ".type talea_mark_thread_state,@tls_object",
        ".size talea_mark_thread_state,8",
        "talea_mark_thread_state:",
        ".zero 8",
        ".globl talea_mark_recorded_state",
        ".hidden talea_mark_recorded_state",
        ".type talea_mark_recorded_state,@tls_object",
        ".size talea_mark_recorded_state,8",
        "talea_mark_recorded_state:",
        ".zero 8",
        ".previous",
    );

    /// State of the calling thread as `set_state` left it; 0 at first.
    #[inline]
    pub(crate) fn state() -> usize {
        let state: usize;
        // SAFETY: reads the thread's own word, which exists as long as the thread.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + talea_mark_thread_state@GOTTPOFF]",
                "mov {0}, qword ptr fs:[{0}]",
                out(reg) state,
                options(nostack, preserves_flags, readonly),
            );
        }
        state
    }

    /// Value that [`set_recorded_state`] left; 0 at first.
    pub(crate) fn recorded_state() -> usize {
        let state: usize;
        // SAFETY: as in `state`.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + talea_mark_recorded_state@GOTTPOFF]",
                "mov {0}, qword ptr fs:[{0}]",
                out(reg) state,
                options(nostack, preserves_flags, readonly),
            );
        }
        state
    }

    pub(crate) fn set_recorded_state(state: usize) {
        // SAFETY: writes the thread's own word, which nobody else knows.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + talea_mark_recorded_state@GOTTPOFF]",
                "mov qword ptr fs:[{0}], {1}",
                out(reg) _,
                in(reg) state,
                options(nostack, preserves_flags),
            );
        }
    }

    pub(crate) fn set_state(state: usize) {
        // SAFETY: writes the thread's own word, which nobody else knows.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + talea_mark_thread_state@GOTTPOFF]",
                "mov qword ptr fs:[{0}], {1}",
                out(reg) _,
                in(reg) state,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Address of the calling thread's context.
    #[allow(clippy::unnecessary_wraps, reason = "other processors have none")]
    pub(crate) fn context() -> Option<*mut *const u8> {
        let address: *mut *const u8;
        // SAFETY: the first word at the thread pointer is its own address (x86-64 psABI); the sum
        // is the variable's.
        unsafe {
            asm!(
                "mov {0}, qword ptr fs:[0]",
                "add {0}, qword ptr [rip + otel_thread_ctx_v1@GOTTPOFF]",
                out(reg) address,
                options(nostack, readonly),
            );
        }
        Some(address)
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod native {
    use std::cell::Cell;

    thread_local! {
        static STATE: Cell<usize> = const { Cell::new(0) };
        static RECORDED: Cell<usize> = const { Cell::new(0) };
    }

    #[inline]
    pub(crate) fn state() -> usize {
        STATE.with(Cell::get)
    }

    pub(crate) fn set_state(state: usize) {
        STATE.with(|word| word.set(state));
    }

    pub(crate) fn recorded_state() -> usize {
        RECORDED.with(Cell::get)
    }

    pub(crate) fn set_recorded_state(state: usize) {
        RECORDED.with(|word| word.set(state));
    }

    /// Absent: other processors' assembler is not written; the table serves their readers.
    pub(crate) fn context() -> Option<*mut *const u8> {
        None
    }
}

pub(crate) use native::{context, recorded_state, set_recorded_state, set_state, state};

//! Entry points of the parsers here for any bytes, for the search with damaged ones (`cargo xtask
//! fuzz`).
//!
//! Owns nothing, and says nothing of what was read: it must end, in bounded memory.

use crate::{jobs, modules, phases, processes};

/// Texts of `/proc/PID`: `stat`, `maps` and `cgroup`.
pub fn texts(bytes: &[u8]) {
    let _ = processes::started(bytes);
    let text = String::from_utf8_lossy(bytes);
    let _ = jobs::of_groups(&text);
    let _ = talea_mark::reader::table_in(&text);
    let _ = talea_mark::reader::context_in(&text);
    for line in text.lines() {
        let _ = modules::of_line(line);
        let _ = phases::mapping(line);
    }
}

/// A file of ELF that a process has mapped: the addresses that it knows.
pub fn file(bytes: &[u8]) {
    let _ = modules::headers(bytes);
    let _ = phases::pointer_in(bytes);
}

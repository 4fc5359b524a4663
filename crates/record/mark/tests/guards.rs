//! Phases of Rust programs, as a reader of this very process sees them.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "tests")]

use std::os::unix::fs::FileExt;

use talea_mark::reader::{self, Table};

fn table() -> Table {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let range = reader::table_in(&maps).unwrap();
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let memory = std::fs::File::open("/proc/self/mem").unwrap();
    memory.read_exact_at(&mut bytes, range.start).unwrap();
    Table::from_bytes(&bytes).unwrap()
}

/// Phase of the calling thread.
fn own() -> Option<String> {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    let thread = link.file_name().unwrap().to_str().unwrap().parse().unwrap();
    table().phase_of(thread).map(str::to_owned)
}

#[test]
fn scopes_nest_and_end() {
    {
        let _outer = talea_mark::phase!("outer");
        assert_eq!(own().as_deref(), Some("outer"));
        let inner = talea_mark::phase!("inner");
        assert_eq!(own().as_deref(), Some("inner"));
        drop(inner);
        assert_eq!(own().as_deref(), Some("outer"));
    }
    assert_eq!(own(), None);
}

#[test]
fn a_guard_that_outlives_an_inner_one_leaves_nothing_behind() {
    let outer = talea_mark::phase!("first");
    let inner = talea_mark::phase!("second");
    drop(outer);
    assert_eq!(own(), None);
    drop(inner);
    assert_eq!(own(), None);
    let _none = talea_mark::Phase::none();
}

#[test]
fn recursion_and_unwinding_end_phases() {
    fn down(levels: usize) {
        let _phase = talea_mark::phase!("down");
        match levels {
            0 => std::panic::panic_any(0),
            _ => down(levels - 1),
        }
    }
    std::panic::set_hook(Box::new(|_| {}));
    assert!(std::panic::catch_unwind(|| down(2 * talea_mark::DEPTH)).is_err());
    assert_eq!(own(), None);
}

#[test]
fn each_thread_has_its_own() {
    let _phase = talea_mark::phase!("main");
    std::thread::spawn(|| {
        assert_eq!(own(), None);
        let _phase = talea_mark::phase!("other");
        assert_eq!(own().as_deref(), Some("other"));
    })
    .join()
    .unwrap();
    assert_eq!(own().as_deref(), Some("main"));
}

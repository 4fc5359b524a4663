//! Names of functions in files that change, are large, are many, or are none.

use std::fs;
use std::sync::mpsc::channel;
use std::time::Duration;

use proptest::prelude::*;

use super::names::{Bounds, FunctionNames, NoNames};
use super::tests::{address, compiled, module, run};
use super::*;

fn names(bounds: Bounds) -> FunctionNames {
    FunctionNames::with_debug_roots(Vec::new(), bounds)
}

#[test]
fn a_file_that_is_shortened_between_two_questions() {
    let (dir, path) = compiled(&[]);
    let (own, at, leaf) = (module(&path), address(&path, "outer"), address(&path, "leaf"));
    let known = names(Bounds::default());
    assert_eq!(known.name(&own, at), Ok(Some("outer".to_owned())));
    fs::File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
    // Parts that were read remain; for the rest there is no file any more.
    assert_eq!(known.name(&own, leaf), Ok(Some("leaf".to_owned())));
    let other = names(Bounds::default()).name(&own, at);
    assert!(matches!(other, Err(NoNames::NotElf(_))), "{other:?}");
    drop(dir);
    let gone = names(Bounds::default()).name(&own, at);
    assert!(matches!(gone, Err(NoNames::Unreadable(_))), "{gone:?}");
}

#[test]
fn another_build_a_pipe_or_a_large_file_says_why_it_has_no_names() {
    let (dir, path) = compiled(&[]);
    let (own, at) = (module(&path), address(&path, "outer"));
    let other = Module { build_id: "00ff".to_owned(), ..own.clone() };
    assert_eq!(names(Bounds::default()).name(&other, at), Err(NoNames::OtherBuild));
    let small = Bounds { of_file: 1000, ..Bounds::default() };
    assert_eq!(names(small).name(&own, at), Err(NoNames::TooLarge(1000)));
    run("mkfifo", &["pipe"], dir.path());
    let pipe = dir.path().join("pipe").to_str().unwrap().to_owned();
    let pipe = names(Bounds::default()).name(&Module { path: pipe, ..own }, at);
    assert!(matches!(pipe, Err(NoNames::Unreadable(_))), "{pipe:?}");
}

#[test]
fn stripped_files_have_the_names_of_their_debug_files() {
    let (dir, path) = compiled(&[]);
    let (own, at) = (module(&path), address(&path, "outer"));
    run("objcopy", &["--only-keep-debug", "p", "p.debug"], dir.path());
    run("strip", &["p"], dir.path());
    assert_eq!(names(Bounds::default()).name(&own, at), Ok(None));
    run("objcopy", &["--add-gnu-debuglink=p.debug", "p"], dir.path());
    assert_eq!(names(Bounds::default()).name(&own, at), Ok(Some("outer".to_owned())));
    let root = dir.path().join("root");
    let place = root.join(format!(".build-id/{}/{}.debug", &own.build_id[..2], &own.build_id[2..]));
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::rename(dir.path().join("p.debug"), &place).unwrap();
    let by_id = FunctionNames::with_debug_roots(vec![root], Bounds::default());
    assert_eq!(by_id.name(&own, at), Ok(Some("outer".to_owned())));
}

#[test]
fn the_files_asked_for_last_are_kept() {
    let (dir, path) = compiled(&[]);
    let at = address(&path, "outer");
    let copy = |number: u32| {
        let path = dir.path().join(format!("p{number}"));
        fs::copy(dir.path().join("p"), &path).unwrap();
        module(&path)
    };
    let all: Vec<Module> = (0..4).map(copy).collect();
    let known = names(Bounds { files: 3, ..Bounds::default() });
    let is_named = |module| known.name(module, at).is_ok();
    assert!(all[..3].iter().all(is_named));
    // The first is requested again, so that the second is the oldest.
    assert!(is_named(&all[0]) && is_named(&all[3]));
    for module in &all {
        fs::remove_file(&module.path).unwrap();
    }
    assert!([&all[0], &all[2], &all[3]].into_iter().all(is_named));
    assert!(!is_named(&all[1]));
}

#[test]
fn a_file_with_more_names_than_are_kept_is_read_each_time() {
    let (dir, path) = compiled(&[]);
    let (own, at) = (module(&path), address(&path, "outer"));
    let small = dir.path().join("small");
    fs::write(&small, "").unwrap();
    let small = Module { path: small.to_str().unwrap().to_owned(), build_id: String::new() };
    // Room for a file without names.
    let known = names(Bounds { kept: 400, ..Bounds::default() });
    assert!(matches!(known.name(&small, 0), Err(NoNames::NotElf(_))));
    for _ in 0..2 {
        assert_eq!(known.name(&own, at), Ok(Some("outer".to_owned())));
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(known.name(&own, at), Err(NoNames::Unreadable(_))));
    // Nothing was dropped for a file that is not kept.
    fs::remove_file(&small.path).unwrap();
    assert!(matches!(known.name(&small, 0), Err(NoNames::NotElf(_))));
}

#[test]
fn known_files_are_answered_while_others_are_read() {
    let (_dir, path) = compiled(&[]);
    let (own, at) = (module(&path), address(&path, "outer"));
    let known = names(Bounds::default());
    assert!(known.name(&own, at).is_ok());
    let turn = known.reading.lock().unwrap();
    std::thread::scope(|scope| {
        let (answers, answer) = channel();
        let known = &known;
        scope.spawn(move || answers.send(known.name(&own, at)).unwrap());
        let answer = answer.recv_timeout(Duration::from_mins(1));
        drop(turn);
        assert_eq!(answer.unwrap(), Ok(Some("outer".to_owned())));
    });
}

#[test]
fn one_long_name_of_many_symbols_takes_no_more_than_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let name = "x".repeat(20_000);
    let label = |n: u32| format!(".type {name}{n}, @function\n{name}{n}: nop\n");
    let labels = (0..500).map(label).collect::<Vec<_>>().concat();
    fs::write(dir.path().join("p.s"), format!(".text\n{labels}")).unwrap();
    run("cc", &["-shared", "-nostdlib", "-o", "p", "p.s"], dir.path());
    let own = module(&dir.path().join("p"));
    let at = address(&dir.path().join("p"), &format!("{name}7"));
    let small = Bounds { of_file: 1 << 20, ..Bounds::default() };
    assert_eq!(names(small).name(&own, at), Err(NoNames::TooLarge(1 << 20)));
    assert!(names(Bounds::default()).name(&own, at).unwrap().is_some());
}

#[test]
fn fortran_by_its_library() {
    assert_eq!(demangle::demangled_of("drive_", true), "drive");
    assert_eq!(demangle::demangled_of("drive_", false), "drive_");
    assert_eq!(demangle::demangled_of("MAIN__", true), "MAIN__");
    assert_eq!(demangle::demangled_of("__heat_MOD_step", false), "heat::step");
}

#[test]
fn damaged_files_never_panic_nor_take_more_than_is_allowed() {
    let (dir, path) = compiled(&[]);
    let at = address(&path, "outer");
    let good = fs::read(&path).unwrap();
    let length = good.len();
    let flips = prop::collection::vec((0..length, 0..8_u8), 1..20);
    let header = prop::collection::vec((0..64_usize, any::<u8>()), 0..4);
    let cut = prop::option::weighted(0.25, 0..length);
    proptest!(ProptestConfig::with_cases(300), |(flips in flips, header in header, cut in cut)| {
        let mut bytes = good.clone();
        for (place, bit) in flips {
            bytes[place] ^= 1 << bit;
        }
        for (place, byte) in header {
            bytes[place] = byte;
        }
        bytes.truncate(cut.unwrap_or(length));
        let path = dir.path().join("damaged");
        fs::write(&path, bytes).unwrap();
        let module = Module { path: path.to_str().unwrap().into(), build_id: String::new() };
        let known = names(Bounds { of_file: 1 << 16, ..Bounds::default() });
        for address in [at, 0, u64::MAX] {
            let _ = known.name(&module, address);
        }
    });
}

//! Names of functions in files that change, are large, are many, or are none.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::names::{Bounds, FunctionNames, NoNames};
use super::tests::{address, compiled, module, run};
use super::*;
use crate::foreign::{self, Readers};

/// A file as it ran, known without a build id.
fn ran(path: &Path) -> Module {
    let build_id = foreign::identity(&fs::metadata(path).unwrap()).to_string();
    Module { path: path.to_str().unwrap().to_owned(), build_id }
}

fn names(bounds: Bounds) -> FunctionNames {
    FunctionNames::with_debug_roots(Vec::new(), bounds, Readers::ThisProcess)
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
fn without_build_id_only_the_file_that_ran_has_names() {
    let (dir, path) = compiled(&["-Wl,--build-id=none"]);
    let (own, at) = (ran(&path), address(&path, "outer"));
    let named = |module: &Module| names(Bounds::default()).name(module, at);
    assert_eq!(named(&own), Ok(Some("outer".to_owned())));
    // As earlier agents told of it.
    let unknown = Module { build_id: String::new(), ..own.clone() };
    assert_eq!(named(&unknown), Err(NoNames::Unidentified));
    // Another file in its place, which only who asks may read.
    let secret = dir.path().join("secret");
    fs::rename(&path, dir.path().join("away")).unwrap();
    run("cc", &["-g", "-Wl,--build-id=none", "-o", "secret", "p.c"], dir.path());
    std::os::unix::fs::symlink(&secret, &path).unwrap();
    assert_eq!(named(&own), Err(NoNames::Unreadable("a link is in its path".to_owned())));
    assert!(matches!(named(&unknown), Err(NoNames::Unidentified)));
    fs::remove_file(&path).unwrap();
    fs::hard_link(&secret, &path).unwrap();
    assert_eq!(named(&own), Err(NoNames::OtherBuild));
    fs::remove_file(&path).unwrap();
    fs::rename(dir.path().join("away"), &path).unwrap();
    assert_eq!(named(&own), Ok(Some("outer".to_owned())));
    // The same file at a later state.
    let later = fs::File::options().append(true).open(&path).unwrap();
    later.set_len(fs::metadata(&path).unwrap().len() + 1).unwrap();
    assert_eq!(named(&own), Err(NoNames::OtherBuild));
}

/// A build id is no secret and no proof: somebody may give a program that of a file which only
/// others may read.
#[test]
fn a_build_id_opens_no_file_that_who_asks_may_not_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let (dir, path) = compiled(&[]);
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (own, at) = (module(&path), address(&path, "outer"));
    let named = |readers| {
        FunctionNames::with_debug_roots(Vec::new(), Bounds::default(), readers).name(&own, at)
    };
    let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    let outer = Ok(Some("outer".to_owned()));
    assert_eq!(named(Readers::Everybody), outer);
    for mode in [0o700, 0o711, 0o750] {
        set(mode);
        assert_eq!(named(Readers::ThisProcess), outer, "{mode:o}");
        let refused = NoNames::Unreadable("not everybody may read it".to_owned());
        assert_eq!(named(Readers::Everybody), Err(refused), "{mode:o}");
    }
    set(0o755);
    let secret = dir.path().join("secret");
    fs::rename(&path, &secret).unwrap();
    std::os::unix::fs::symlink(&secret, &path).unwrap();
    for readers in [Readers::ThisProcess, Readers::Everybody] {
        let refused = NoNames::Unreadable("a link is in its path".to_owned());
        assert_eq!(named(readers), Err(refused));
    }
}

#[test]
fn a_debug_file_beside_a_program_is_not_reached_by_a_link() {
    let (dir, path) = compiled(&[]);
    let (own, at) = (module(&path), address(&path, "outer"));
    run("objcopy", &["--only-keep-debug", "p", "p.debug"], dir.path());
    run("strip", &["p"], dir.path());
    run("objcopy", &["--add-gnu-debuglink=p.debug", "p"], dir.path());
    assert_eq!(names(Bounds::default()).name(&own, at), Ok(Some("outer".to_owned())));
    fs::rename(dir.path().join("p.debug"), dir.path().join("secret")).unwrap();
    std::os::unix::fs::symlink("secret", dir.path().join("p.debug")).unwrap();
    assert_eq!(names(Bounds::default()).name(&own, at), Ok(None));
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
    let by_id =
        FunctionNames::with_debug_roots(vec![root], Bounds::default(), Readers::ThisProcess);
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
    let small = ran(&small);
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
    let turn = known.reading.take(None).unwrap();
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
fn a_deadline_ends_the_wait_for_a_turn_and_nothing_of_that_is_kept() {
    let (_dir, path) = compiled(&[]);
    let (own, at) = (module(&path), address(&path, "outer"));
    let known = names(Bounds::default());
    let turn = known.reading.take(None).unwrap();
    let soon = Some(Instant::now() + Duration::from_millis(20));
    assert_eq!(known.name_by(&own, at, soon), Err(NoNames::Hangs));
    drop(turn);
    // No time is left for another file, and any amount for one that is known.
    assert_eq!(known.name_by(&own, at, soon), Err(NoNames::Hangs));
    assert_eq!(known.name(&own, at), Ok(Some("outer".to_owned())));
    assert_eq!(known.name_by(&own, at, soon), Ok(Some("outer".to_owned())));
}

#[test]
fn one_long_name_of_many_symbols_takes_no_more_than_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let name = "x".repeat(20_000);
    let label = |n: u32| format!(".type {name}{n}, @function\n{name}{n}: nop\n");
    let labels = (0..500).map(label).collect::<Vec<_>>().concat();
    fs::write(dir.path().join("p.s"), format!(".text\n{labels}")).unwrap();
    run("cc", &["-shared", "-nostdlib", "-o", "p", "p.s"], dir.path());
    let own = ran(&dir.path().join("p"));
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
        let module = ran(&path);
        let known = names(Bounds { of_file: 1 << 16, ..Bounds::default() });
        for address in [at, 0, u64::MAX] {
            let _ = known.name(&module, address);
        }
    });
}

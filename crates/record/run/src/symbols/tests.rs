//! Real compilers' output in its many states: with lines, inlined, separated, stripped, exchanged,
//! damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};
use proptest::prelude::*;

use super::*;

/// `middle` is inlined into `outer`; the call in it stands in line 2.
const SOURCE: &str = "\
extern int leaf(int);
static inline __attribute__((always_inline)) int middle(int x) { return leaf(x) + 1; }
__attribute__((noinline)) int outer(int x) {
  return middle(x) + 2;
}
__attribute__((noinline)) int leaf(int x) { __asm__ volatile(\"\"); return x; }
int main(void) { return outer(1); }
";

pub(super) fn run(program: &str, arguments: &[&str], folder: &Path) {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program} is needed: {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A folder with the program `p`, and the folder's path.
pub(super) fn compiled(options: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("p.c"), SOURCE).unwrap();
    let always = ["-g", "-O1", "-Wl,--build-id", "-o", "p", "p.c"];
    run("cc", &[&always[..], options].concat(), dir.path());
    let path = dir.path().join("p");
    (dir, path)
}

pub(super) fn module(path: &Path) -> Module {
    let bytes = fs::read(path).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let build_id = hexadecimal(elf.build_id().unwrap().unwrap_or_default());
    Module { path: path.to_str().unwrap().to_owned(), build_id }
}

pub(super) fn address(path: &Path, name: &str) -> u64 {
    let bytes = fs::read(path).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    elf.symbols().find(|s| s.name() == Ok(name)).expect("the symbol").address()
}

/// The return address of the one call in `outer`: the first later offset with `middle` as its call.
fn return_address(path: &Path) -> u64 {
    let (begin, mut resolver) = (address(path, "outer"), Resolver::with_debug_roots(Vec::new()));
    let inside = |offset: &u64| resolver.resolve(&module(path), *offset).len() == 2;
    (begin + 1..begin + 64).find(inside).expect("an inlined call")
}

/// One line a frame: `function file:line`, with the file's last part.
pub(super) fn text(frames: &[ResolvedFrame]) -> Vec<String> {
    let line = |frame: &ResolvedFrame| {
        let function = frame.function.as_deref().unwrap_or("-");
        match frame.line {
            Some(_) => format!("{function} {}", frame.short()),
            None => function.to_owned(),
        }
    };
    frames.iter().map(line).collect()
}

#[test]
fn lines_and_inlined_calls_with_and_without_position_independence() {
    for options in [&["-pie", "-fPIE"][..], &["-no-pie"], &["-gdwarf-4"]] {
        let (_dir, path) = compiled(options);
        let at = return_address(&path);
        let mut resolver = Resolver::with_debug_roots(Vec::new());
        let frames = resolver.resolve(&module(&path), at);
        assert_eq!(text(&frames), ["middle p.c:2", "outer p.c:4"], "{options:?}");
        assert_eq!(frames[0].address, format!("p+{at:#x}"));
        assert!(resolver.gaps().is_empty());
    }
}

#[test]
fn a_call_at_the_end_of_a_function_belongs_to_it() {
    let (_dir, path) = compiled(&[]);
    // The first byte of a function as return address: the call was the last instruction of the one
    // before.
    let mut resolver = Resolver::with_debug_roots(Vec::new());
    let frames = resolver.resolve(&module(&path), address(&path, "leaf") + 1);
    assert_eq!(text(&frames), ["leaf p.c:6"]);
    let frames = resolver.resolve(&module(&path), address(&path, "leaf"));
    assert_ne!(frames[0].function.as_deref(), Some("leaf"));
}

#[test]
fn stripped_programs_lose_lines_then_names() {
    let (dir, path) = compiled(&["-rdynamic"]);
    let at = return_address(&path);
    let check = |expected: &[&str], gap: &str| {
        let mut resolver = Resolver::with_debug_roots(Vec::new());
        let frames = resolver.resolve(&module(&path), at);
        assert_eq!(text(&frames), expected);
        let gaps: Vec<_> = resolver.gaps().iter().map(|g| g.detail.clone()).collect();
        assert_eq!(gaps, [format!("{gap}: `{}`", path.display())]);
    };
    let no_line = "1 address with a function but no line (compile with `-g`)";
    run("strip", &["--strip-debug", "p"], dir.path());
    check(&["outer"], no_line);
    // The dynamic symbols stay.
    run("strip", &["p"], dir.path());
    check(&["outer"], no_line);
    let (dir, path) = compiled(&[]);
    let at = return_address(&path);
    run("strip", &["p"], dir.path());
    let mut resolver = Resolver::with_debug_roots(Vec::new());
    let frames = resolver.resolve(&module(&path), at);
    assert_eq!(frames, [ResolvedFrame { address: format!("p+{at:#x}"), ..Default::default() }]);
    let gap = resolver.gaps().iter().next().unwrap().detail.clone();
    assert!(gap.starts_with("1 address in no function that has a symbol"), "{gap}");
}

#[test]
fn separate_debug_files_are_found_by_build_id_and_by_link() {
    let (dir, path) = compiled(&[]);
    let at = return_address(&path);
    run("objcopy", &["--only-keep-debug", "p", "p.debug"], dir.path());
    run("strip", &["p"], dir.path());
    let root = dir.path().join("root");
    let check = |expected: &[&str]| {
        let mut resolver = Resolver::with_debug_roots(vec![root.clone()]);
        assert_eq!(text(&resolver.resolve(&module(&path), at)), expected);
    };
    check(&["-"]);
    let id = module(&path).build_id;
    let place = root.join(format!(".build-id/{}/{}.debug", &id[..2], &id[2..]));
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::copy(dir.path().join("p.debug"), &place).unwrap();
    check(&["middle p.c:2", "outer p.c:4"]);
    // A file of that name that belongs to another program does not count.
    let (_other_dir, other) = compiled(&["-DOTHER", "-O0"]);
    fs::copy(other, &place).unwrap();
    check(&["-"]);
    // Without a build id the link's checksum decides.
    run("objcopy", &["--remove-section=.note.gnu.build-id", "p"], dir.path());
    run("objcopy", &["--remove-section=.note.gnu.build-id", "p.debug"], dir.path());
    run("objcopy", &["--add-gnu-debuglink=p.debug", "p"], dir.path());
    fs::create_dir(dir.path().join(".debug")).unwrap();
    fs::rename(dir.path().join("p.debug"), dir.path().join(".debug/p.debug")).unwrap();
    check(&["middle p.c:2", "outer p.c:4"]);
    fs::write(dir.path().join(".debug/p.debug"), "changed").unwrap();
    check(&["-"]);
}

#[test]
fn another_build_or_no_file_is_never_resolved() {
    let (dir, path) = compiled(&[]);
    let at = return_address(&path);
    let recorded = Module { build_id: "00ff".into(), ..module(&path) };
    let check = |module: &Module, expected: &str| {
        let mut resolver = Resolver::new();
        let frames = resolver.resolve(module, at);
        assert_eq!(frames.len(), 1);
        assert_eq!((&frames[0].function, frames[0].line), (&None, None));
        let gap = resolver.gaps().iter().next().unwrap().clone();
        assert_eq!((gap.kind, gap.count), (GapKind::Unresolved, 1));
        assert_eq!(
            gap.detail,
            format!("1 address without function and line: {expected}: `{}`", module.path)
        );
    };
    let found = module(&path).build_id;
    check(&recorded, &format!("the file has build id {found}, the one that ran had 00ff"));
    let missing = Module { path: "/no/such/file".into(), build_id: String::new() };
    check(&missing, "the file cannot be read here (No such file or directory (os error 2))");
    // A pipe would block the reader.
    let pipe = dir.path().join("pipe");
    run("mkfifo", &["pipe"], dir.path());
    let pipe = Module { path: pipe.to_str().unwrap().into(), build_id: String::new() };
    check(&pipe, "the file cannot be read here (expected a regular file)");
    fs::write(&path, SOURCE).unwrap();
    let text = Module { build_id: String::new(), ..recorded };
    check(&text, "not an ELF file (Unknown file magic)");
}

#[test]
fn fortran_procedures_have_the_names_of_their_source() {
    if Command::new("gfortran").arg("--version").output().is_err() {
        eprintln!("skipped: gfortran is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let source = "\
module heat
contains
subroutine step(x)
  real :: x
  x = x + 1
end subroutine
end module
subroutine drive(x)
  use heat
  real :: x
  call step(x)
end subroutine
program p
  real :: x
  call drive(x)
end program
";
    fs::write(dir.path().join("p.f90"), source).unwrap();
    run("gfortran", &["-g", "-O0", "-Wl,--build-id", "-o", "p", "p.f90"], dir.path());
    let path = dir.path().join("p");
    let names = |resolver: &mut Resolver, symbols: &[&str], from: &Path| -> Vec<String> {
        let mut name =
            |s: &&str| resolver.resolve(&module(&path), address(from, s) + 1)[0].function.clone();
        symbols.iter().map(|s| name(s).unwrap()).collect()
    };
    let symbols = ["__heat_MOD_step", "drive_", "MAIN__"];
    let mut resolver = Resolver::with_debug_roots(Vec::new());
    assert_eq!(names(&mut resolver, &symbols, &path), ["heat::step", "drive", "p"]);
}

/// Queries a damaged copy for addresses inside and outside its code; any result is accepted.
fn ask(bytes: &[u8], at: u64) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p");
    fs::write(&path, bytes).unwrap();
    let module = Module { path: path.to_str().unwrap().into(), build_id: String::new() };
    let mut resolver = Resolver::with_debug_roots(Vec::new());
    for offset in [at, 0, 1, u64::MAX, at + 40] {
        let frames = resolver.resolve(&module, offset);
        assert!(!frames.is_empty());
        assert!(frames.iter().all(|frame| !frame.address.is_empty()));
    }
    let _ = resolver.gaps();
}

#[test]
fn damaged_files_never_panic() {
    let (_dir, path) = compiled(&[]);
    let at = return_address(&path);
    let good = fs::read(&path).unwrap();
    let length = good.len();
    let flips = prop::collection::vec((0..length, 0..8_u8), 1..20);
    // A quarter of the cases are cut, too.
    let cut = prop::option::weighted(0.25, 0..length);
    let cases = std::env::var("TALEA_TEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    proptest!(ProptestConfig::with_cases(cases), |(flips in flips, cut in cut)| {
        let mut bytes = good.clone();
        for (place, bit) in flips {
            bytes[place] ^= 1 << bit;
        }
        bytes.truncate(cut.unwrap_or(length));
        ask(&bytes, at);
    });
}

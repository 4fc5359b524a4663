//! Loops of functions built by the C compiler, in several states, and damaged files.

use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object as _, ObjectSymbol as _};
use proptest::prelude::*;

use super::decode::{Decoded, To};
use super::*;

/// Each function calls `x` and `o`; in those named `nested` the call of `x` has a loop of its own.
const SOURCE: &str = "\
#define CALLED __attribute__((noipa, noinline)) void
CALLED x(int i) { __asm__ volatile(\"\" : : \"r\"(i)); }
CALLED o(int i) { __asm__ volatile(\"\" : : \"r\"(i) : \"memory\"); }
CALLED nested(int n, int k) { for (int i = 0; i < n; i++) { for (int j = 0; j < k; j++) x(j); o(i); } }
CALLED nested_first(int n, int k) { for (int i = 0; i < n; i++) { o(i); for (int j = 0; j < k; j++) x(j); } }
CALLED nested_fixed(void) { for (int i = 0; i < 20; i++) { for (int j = 0; j < 10; j++) x(j); o(i); } }
CALLED nested_switch(int n, int *a) {
  for (int i = 0; i < n; i++) {
    while (*a++ > 0)
      switch (a[1]) {
      case 0: x(i); break; case 1: a += 2; break; case 2: a += a[7]; x(2); break; case 3: a[4]++; break;
      case 4: a[9] = 3; break; case 5: a[5]--; break; case 6: a[8] ^= a[1]; break; default: return;
      }
    o(i);
  }
}
CALLED nested_deep(int n, int k) {
  for (int t = 0; t < 3; t++)
    for (int i = 0; i < n; i++) { for (int j = 0; j < k; j++) x(j); if (i & 1) o(i); }
}
CALLED nested_recursion(int n) { x(n); if (n > 0) nested_recursion(n - 1); __asm__ volatile(\"\"); }
CALLED shared(int n, int k) { for (int i = 0; i < n; i++) { x(i); if (i % k == k - 1) o(i); } }
CALLED shared_fixed(void) { for (int i = 0; i < 200; i++) { x(i); if (i % 10 == 0) o(i); } }
CALLED shared_rare(int n, int *a) {
  for (int i = 0; i < n; i++) { x(i); if (__builtin_expect(a[i], 0)) { a[i + 1]++; o(i); } a[i] = i; }
}
CALLED shared_straight(int n) { x(n); o(n); }
CALLED shared_switch(int n, int *a) {
  for (int i = 0; i < n; i++)
    switch (a[i]) {
    case 0: x(i); break; case 1: a[2] = i; break; case 2: a[5] += a[7]; break; case 3: a[4]++; break;
    case 4: a[9] = 3; break; case 5: o(i); break; case 6: a[8] ^= a[1]; break; default: a[3] = 5;
    }
}
int main(int n, char **a) {
  nested(n, n); nested_first(n, n); nested_fixed(); nested_switch(n, (int *)a); nested_deep(n, n); nested_recursion(n);
  shared(n, n); shared_fixed(); shared_rare(n, (int *)a); shared_straight(n); shared_switch(n, (int *)a);
}
";

/// The program's bytes.
fn compiled(options: &[&str], strip: bool) -> Vec<u8> {
    compiled_from(SOURCE, options, strip)
}

fn compiled_from(source: &str, options: &[&str], strip: bool) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("p.c"), source).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(dir.path()).output();
        let output = output.unwrap_or_else(|error| panic!("{program} is needed: {error}"));
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run("cc", &[&["-o", "p", "p.c"][..], options].concat());
    if strip {
        run("strip", &["p"]);
    }
    fs::read(dir.path().join("p")).unwrap()
}

/// Address and size of each of the source's functions.
fn functions(file: &[u8]) -> BTreeMap<String, (u64, u64)> {
    let elf = object::File::parse(file).unwrap();
    let symbols = elf.symbols().filter(|symbol| symbol.size() > 0);
    symbols.map(|s| (s.name().unwrap().to_owned(), (s.address(), s.size()))).collect()
}

/// Return addresses of the calls of `callee` in the parts of `caller`.
fn returns(
    file: &[u8],
    all: &BTreeMap<String, (u64, u64)>,
    caller: &str,
    callee: &str,
) -> Vec<u64> {
    let code = Code::parse(file).unwrap();
    let parts = all.iter().filter(|(name, _)| name.split('.').next() == Some(caller));
    parts
        .flat_map(|(_, &(begin, size))| {
            let part = parts::Part { begin, end: begin + size };
            let decoded = Decoded::new(part, code.bytes(part).unwrap(), 10_000).unwrap();
            let to = To::Call(all[callee].0);
            let calls = decoded.transfers.into_iter().filter(move |transfer| transfer.to == to);
            calls.map(|transfer| transfer.end).collect::<Vec<u64>>()
        })
        .collect()
}

#[test]
fn own_loops_and_shared_ones_are_told_apart() {
    for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
        for more in [&["-fPIE", "-pie"][..], &["-fno-pie", "-no-pie", "-fcf-protection=none"]] {
            // The same code in the two files.
            let whole = compiled(&[&[level], more].concat(), false);
            let stripped = compiled(&[&[level], more].concat(), true);
            let all = functions(&whole);
            for file in [&whole, &stripped] {
                for name in all.keys().filter(|name| !name.contains('.')) {
                    let is_nested = name.starts_with("nested");
                    if !is_nested && !name.starts_with("shared") {
                        continue;
                    }
                    let places = |callee| {
                        loops_around(file, &returns(&whole, &all, name, callee))
                            .into_iter()
                            .map(|place| place.expect("a function that can be read"))
                            .collect::<Vec<_>>()
                    };
                    let (x, o) = (places("x"), places("o"));
                    assert!(!x.is_empty(), "{level} {name}");
                    assert!(x.iter().chain(&o).all(|place| place.function == all[name].0));
                    let own = x.iter().any(|x| {
                        x.loops.iter().any(|one| o.iter().all(|o| !o.loops.contains(one)))
                    });
                    assert_eq!(own, is_nested, "{level} {more:?} {name} {x:x?} {o:x?}");
                }
            }
        }
    }
}

#[test]
fn loops_stand_from_the_outermost_inwards() {
    let file = compiled(&["-O1"], false);
    let all = functions(&file);
    let x = loops_around(&file, &returns(&file, &all, "nested_deep", "x"));
    let o = loops_around(&file, &returns(&file, &all, "nested_deep", "o"));
    let (x, o) = (x[0].clone().unwrap(), o[0].clone().unwrap());
    assert_eq!((x.loops.len(), o.loops.len()), (3, 2));
    assert_eq!(x.loops[..2], o.loops[..]);
}

#[test]
fn what_is_no_code_has_no_answer() {
    let file = compiled(&["-O1"], false);
    assert_eq!(loops_around(&file, &[0, 1, u64::MAX]), [None, None, None]);
    assert_eq!(loops_around(b"no program", &[5]), [None]);
}

#[test]
fn what_stands_behind_a_call_that_never_returns_is_no_part_of_the_loop() {
    // Two loops in turn. After the call of the second one that ends the program, there is a part of
    // the first one.
    let source = |end: &str| {
        format!(
            "\
#include <stdlib.h>
__attribute__((noipa)) int x(void) {{ __asm__ volatile(\"\"); return 1; }}
__attribute__((noipa)) int o(void) {{ __asm__ volatile(\"\"); return 1; }}
__attribute__((noipa, used)) void die(int code) {{ if (code) exit(code); abort(); }}
__attribute__((noipa, used)) void warn(int code) {{ if (code) exit(code); }}
__asm__(\".type two,@function\\ntwo:\\npush %rbx\\n1: call x\\ntest %eax,%eax\\nje 4f\\n2: dec %ebx\\njne 1b\\n\"
        \"3: call o\\ntest %eax,%eax\\nje 5f\\ndec %ebx\\njne 3b\\npop %rbx\\nret\\n5: call {end}\\n4: call x\\njmp 2b\\n.size two,.-two\\n\");
int main(void) {{ return x() + o(); }}
"
        )
    };
    for (end, loops) in [("abort@PLT", 1), ("die", 1), ("warn", 3)] {
        let file = compiled_from(&source(end), &["-O2"], false);
        let all = functions(&file);
        let places = loops_around(&file, &returns(&file, &all, "two", "o"));
        let found: Vec<usize> =
            places.iter().map(|place| place.as_ref().unwrap().loops.len()).collect();
        assert_eq!(found, [loops], "{end}");
    }
}

/// Functions as generators write them, and worse: thousands of computed jumps, and of loops inside
/// each other.
#[test]
fn generated_functions_take_bounded_time() {
    let source = "\
__asm__(\".type jumps,@function\\njumps:\\n.rept 50000\\njz jumps\\njmp *%rax\\n.endr\\nret\\n.size jumps,.-jumps\\n\");
__asm__(\".type nest,@function\\nnest:\\n.fill 50000,1,0x90\\n.set at,49999\\n.rept 50000\\njz nest+at\\n.set at,at-1\\n\"
        \".endr\\nret\\n.size nest,.-nest\\n\");
int main(void) { return 0; }
";
    let file = compiled_from(source, &[], false);
    let begin = std::time::Instant::now();
    let places = loops_around(&file, &some_addresses(&file));
    assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
    let (begin, size) = functions(&file)["jumps"];
    let place = loops_around(&file, &[begin + size / 2]).remove(0).unwrap();
    assert_eq!((place.function, place.loops[0].header), (begin, begin));
    // Real code does not have so many.
    assert!(places.contains(&None));
}

/// Addresses inside functions, and in their midst.
fn some_addresses(file: &[u8]) -> Vec<u64> {
    functions(file).values().flat_map(|&(begin, size)| [begin + 1, begin + size / 2]).collect()
}

#[test]
fn damaged_files_are_survived() {
    let file = compiled(&["-O2"], false);
    let asked = some_addresses(&file);
    for end in (0..file.len()).step_by(97) {
        assert_eq!(loops_around(&file[..end], &asked).len(), asked.len());
    }
}

proptest! {
    #![proptest_config(
        ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() }
    )]

    #[test]
    fn any_code_is_survived(
        bytes in proptest::collection::vec(any::<u8>(), 0..4096),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..64),
    ) {
        thread_local! {
            static FILE: Vec<u8> = compiled(&["-O2"], false);
        }
        let (file, asked) = FILE.with(|file| (file.clone(), some_addresses(file)));
        // Other instructions in the place of the functions.
        let mut replaced = file.clone();
        let text = object::File::parse(&*file).unwrap();
        let text = object::ObjectSection::file_range(
            &text.section_by_name(".text").unwrap()
        ).unwrap();
        for (to, from) in replaced[text.0 as usize..][..text.1 as usize].iter_mut().zip(&bytes) {
            *to = *from;
        }
        prop_assert_eq!(loops_around(&replaced, &asked).len(), asked.len());
        let mut damaged = file;
        for (at, byte) in damage {
            let at = at.index(damaged.len());
            damaged[at] = byte;
        }
        prop_assert_eq!(loops_around(&damaged, &asked).len(), asked.len());
        prop_assert_eq!(loops_around(&bytes, &asked).len(), asked.len());
    }
}

#[test]
fn files_of_modules_are_read_if_they_are_the_ones_that_ran() {
    let dir = tempfile::tempdir().unwrap();
    let file = compiled(&["-O1", "-Wl,--build-id"], false);
    let path = dir.path().join("p");
    fs::write(&path, &file).unwrap();
    let asked = returns(&file, &functions(&file), "nested", "x");
    let own = object::File::parse(&*file).unwrap().build_id().unwrap().unwrap().to_vec();
    let loops = |path: &Path, build_id: String| {
        loops_in(&Module { path: path.to_str().unwrap().to_owned(), build_id }, &asked)
    };
    assert_eq!(loops(&path, crate::symbols::hexadecimal(&own)), loops_around(&file, &asked));
    assert_eq!(loops(&path, "0123".to_owned()), [None]);
    assert_eq!(loops(&dir.path().join("q"), String::new()), [None]);
}

//! The library under real programs: C, C++ and Fortran, with and without it, threads, forks,
//! readers in other processes.
//!
//! Each test compiles a small program against `include/talea_mark.h` and runs it with the library
//! preloaded. Where there is no compiler a test says so and is skipped; in CI that fails.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, reason = "tests")]

mod running;

use std::fmt::Write as _;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use talea_testing::{checkout, skip};

use talea_mark::reader::{self, State};
use tempfile::TempDir;

use running::{Running, library, table_of};

/// What every program here begins with: commands of a test come on standard input, a line each.
const PRELUDE: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "talea_mark.h"
/* Says that it is there, and waits for a line. */
static inline void stop(const char *word) { printf("%s\n", word); fflush(stdout); if (getchar() == EOF) exit(0); }
"#;

/// Compiles a program; None, and said why, without the compiler.
fn compiled(folder: &TempDir, text: &str, compiler: &[&str]) -> Option<PathBuf> {
    let extension = if compiler[0].contains("++") { "cc" } else { "c" };
    let source = folder.path().join(format!("program.{extension}"));
    std::fs::write(&source, text).unwrap();
    let out = folder.path().join("program");
    let include = checkout().join("include");
    let mut command = Command::new(compiler[0]);
    command.args(&compiler[1..]).arg("-I").arg(include).arg("-o").arg(&out).arg(&source);
    let Ok(done) = command.args(["-lpthread", "-ldl"]).output() else {
        skip(&format!("no {}", compiler[0]));
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(out)
}

const CC: &[&str] = &["cc", "-O1", "-std=gnu11", "-D_GNU_SOURCE=1", "-Wall", "-Wextra"];

/// A program of the prelude and these lines of C.
fn program(folder: &TempDir, body: &str) -> Option<PathBuf> {
    compiled(folder, &format!("{PRELUDE}{body}"), CC)
}

/// With the library; nothing of the caller's environment.
fn marked(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library()).env_remove("TALEA_MARK").env_remove("TALEA_MARK_BUDGET");
    command
}

fn output(command: &mut Command) -> (String, String) {
    let done = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, errors) = (text(done.stdout), text(done.stderr));
    assert!(done.status.success(), "{} {out} {errors}", done.status);
    (out, errors)
}

#[test]
fn the_header_compiles_everywhere_without_a_warning() {
    let text = r#"
#include "talea_mark.h"
static void two(float *a, const float *b, int n)
{
    TALEA_LOOP("turn", for (int i = 0; i < n; i++), { a[i] += b[i]; if (i == 3) continue; });
    TALEA_LOOP_GUARD(guard, "guarded");
    for (int i = 0; i < n; i++) {
        TALEA_GUARDED_BEGIN(guard);
        a[i] += b[i];
        TALEA_GUARDED_END(guard);
    }
}
int main(void)
{
    float a[8] = {0}, b[8] = {0};
    TALEA_PHASE_BEGIN("outer");
    {
        TALEA_PHASE_SCOPE("inner");
        two(a, b, 8);
    }
    TALEA_PHASE_END("outer");
    return 0;
}
"#;
    let inline = "template <class T> T marked(T x) { TALEA_PHASE_SCOPE(\"template\"); return x; }\n\
                  inline int also() { TALEA_PHASE_BEGIN(\"inline\"); TALEA_PHASE_END(\"inline\"); return marked(1); }\n\
                  static int user = also();\n";
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"];
    for (compiler, standard) in [
        ("gcc", "-std=c99"),
        ("gcc", "-std=c17"),
        ("clang-14", "-std=c99"),
        ("g++", "-std=c++17"),
        ("g++", "-std=c++11"),
        ("clang++-14", "-std=c++17"),
    ] {
        for more in ["-DTALEA_MARK_OTHER", "-DTALEA_MARK_NONE", "-fno-pie"] {
            let folder = TempDir::new().unwrap();
            let mut words = vec![compiler, standard, more];
            words.extend(strict);
            if more == "-fno-pie" {
                words.push("-no-pie");
            }
            let text = if compiler.contains("++") && more != "-DTALEA_MARK_NONE" {
                text.replace("int main", &format!("{inline}int main"))
                    .replace("return 0;", "return user - 1;")
            } else {
                text.to_owned()
            };
            let Some(program) = compiled(&folder, &text, &words) else { break };
            output(&mut Command::new(&program));
            let (_, errors) = output(marked(&program).env("TALEA_MARK", "report"));
            if more == "-DTALEA_MARK_OTHER" {
                assert!(errors.contains(" 8 on guarded "), "{errors}");
                assert!(errors.contains(" 8 on turn "), "{errors}");
            }
        }
    }
}

#[test]
fn a_program_that_needs_the_library_is_linked_with_it() {
    let folder = TempDir::new().unwrap();
    let text = format!(
        "#define TALEA_MARK_REQUIRED\n{PRELUDE}int main() {{ TALEA_PHASE_BEGIN(\"a\"); TALEA_PHASE_END(\"a\"); }}"
    );
    let (place, name) = (library(), "-l:libtalea_mark.so");
    let place = format!("-L{}", place.parent().unwrap().display());
    let source = folder.path().join("program.c");
    std::fs::write(&source, text).unwrap();
    let include = format!("-I{}", checkout().join("include").display());
    let out = folder.path().join("program");
    let mut command = Command::new("cc");
    command.args([&include, "-Wl,--as-needed", "-o"]).arg(&out).arg(&source).args([&place, name]);
    match command.output() {
        Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
        Err(_) => return skip("no cc"),
    }
    let library = library();
    let mut command = Command::new(&out);
    command.env("LD_LIBRARY_PATH", library.parent().unwrap()).env("TALEA_MARK", "report");
    let (_, errors) = output(&mut command);
    assert!(errors.contains(" 1 on a ("), "{errors}");
}

#[test]
fn another_process_reads_phases_that_nest_in_two_threads() {
    let folder = TempDir::new().unwrap();
    let body = r#"
static void *other(void *unused)
{
    TALEA_PHASE_BEGIN("other");
    stop("inside");
    TALEA_PHASE_END("other");
    return unused;
}
int main(void)
{
    pthread_t thread;
    TALEA_PHASE_BEGIN("outer");
    TALEA_PHASE_BEGIN("inner\n\"quoted\"");
    pthread_create(&thread, 0, other, 0);
    pthread_join(thread, 0);
    stop("joined");
    TALEA_PHASE_END("inner\n\"quoted\"");
    stop("outer");
    TALEA_PHASE_END("outer");
    stop("none");
}
"#;
    let Some(program) = program(&folder, body) else { return };
    let mut running = Running::new(&mut marked(&program));
    assert_eq!(running.word(), "inside");
    let table = running.table();
    assert_eq!(table.process, running.child.id());
    assert_eq!(table.threads.len(), 2);
    assert_eq!(table.phase_of(running.child.id()), Some("inner\n\"quoted\""));
    let other = table.threads.iter().find(|t| t.id != running.child.id()).unwrap();
    assert_eq!(table.phase_of(other.id), Some("other"));
    let lines: Vec<u32> = table.phases.iter().map(|phase| phase.line).collect();
    assert!(lines.is_sorted() || lines.len() == 3, "{lines:?}");
    assert!(table.phases.iter().all(|p| p.file.ends_with("program.c") && p.entries == 1));
    assert!(table.in_context || cfg!(not(target_arch = "x86_64")));
    for (word, phase) in
        [("joined", Some("inner\n\"quoted\"")), ("outer", Some("outer")), ("none", None)]
    {
        running.go_on();
        assert_eq!(running.word(), word);
        let table = running.table();
        assert_eq!(table.phase_of(running.child.id()), phase);
        assert_eq!(table.threads.len(), 1, "the other thread is gone");
        assert_eq!(table.unbalanced, 0);
    }
    running.end();
}

#[test]
fn ends_and_begins_that_do_not_match_do_no_harm() {
    let folder = TempDir::new().unwrap();
    let body = r#"
static void deep(int levels)
{
    TALEA_PHASE_BEGIN("deep");
    if (levels > 1) deep(levels - 1); else stop("deep");
    TALEA_PHASE_END("deep");
}
int main(void)
{
    TALEA_PHASE_END("never");
    TALEA_PHASE_BEGIN("outer");
    TALEA_PHASE_BEGIN("forgotten");
    TALEA_PHASE_BEGIN("forgotten too");
    TALEA_PHASE_END("outer");
    TALEA_PHASE_END("forgotten");
    stop("empty");
    deep(40);
    stop("back");
}
"#;
    let Some(program) = program(&folder, body) else { return };
    let mut running = Running::new(&mut marked(&program));
    let own = running.child.id();
    assert_eq!(running.word(), "empty");
    let table = running.table();
    assert_eq!(table.phase_of(own), None);
    // Two that `outer` closed, and the last end; the first end had no thread with phases yet.
    assert_eq!(table.unbalanced, 3);
    running.go_on();
    assert_eq!(running.word(), "deep");
    let table = running.table();
    assert_eq!((table.phase_of(own), table.deep), (Some("deep"), 8));
    running.go_on();
    assert_eq!(running.word(), "back");
    let table = running.table();
    assert_eq!((table.phase_of(own), table.unbalanced), (None, 3));
    running.end();
}

#[test]
fn the_thread_context_is_what_opentelemetry_says() {
    if cfg!(not(target_arch = "x86_64")) {
        return skip("the thread context is written on x86-64 only");
    }
    let folder = TempDir::new().unwrap();
    let body = r#"
static void show(void)
{
    unsigned char **context = dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1");
    unsigned char *record = context ? *context : 0;
    printf("record ");
    if (record) {
        unsigned short size;
        memcpy(&size, record + 26, 2);
        for (int i = 0; i < 28 + size; i++) printf("%02x", record[i]);
        if ((size_t)record % 2) printf("odd");
    }
    printf("\n");
}
int main(void)
{
    show();
    TALEA_PHASE_BEGIN("outer");
    TALEA_PHASE_BEGIN("solve \xff");
    show();
    TALEA_PHASE_END("solve \xff");
    show();
    stop("context");
    TALEA_PHASE_END("outer");
    show();
    stop("end");
}
"#;
    let Some(program) = program(&folder, body) else { return };
    let mut running = Running::new(&mut marked(&program));
    let record = |running: &mut Running| {
        let word = running.word();
        let hex = word.strip_prefix("record").unwrap().trim();
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        reader::context(&bytes).map(|context| context.attributes)
    };
    assert_eq!(record(&mut running), None);
    let attribute = |value: &str| Some(vec![(talea_mark::KEY_INDEX, value.to_owned())]);
    assert_eq!(record(&mut running), attribute("solve \u{fffd}"));
    assert_eq!(record(&mut running), attribute("outer"));
    assert_eq!(running.word(), "context");
    // The process context, as another process reads it.
    let process = running.child.id();
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = std::fs::File::open(format!("/proc/{process}/mem")).unwrap();
    let read = |at: u64, length: usize| {
        let mut bytes = vec![0; length];
        memory.read_exact_at(&mut bytes, at).unwrap();
        bytes
    };
    let range = reader::context_in(&maps).unwrap();
    let header = reader::context_header(&read(range.start, reader::CONTEXT_HEADER)).unwrap();
    let payload = read(header.payload, header.bytes as usize);
    let found = reader::process_context(&payload).unwrap();
    assert_eq!(found.keys, [talea_mark::KEY]);
    assert_eq!(found.schema.as_deref(), Some(talea_mark::SCHEMA));
    running.go_on();
    assert_eq!(record(&mut running), None);
    running.end();
}

#[test]
fn names_are_cut_and_made_text() {
    let folder = TempDir::new().unwrap();
    let long = "ä".repeat(500_000);
    let body = format!(
        "int main(void) {{ TALEA_PHASE_BEGIN(\"x{long}\"); TALEA_PHASE_BEGIN(\"a\\377b\"); TALEA_PHASE_BEGIN(\"\"); stop(\"in\"); }}"
    );
    let Some(program) = program(&folder, &body) else { return };
    let mut running = Running::new(&mut marked(&program));
    assert_eq!(running.word(), "in");
    let names: Vec<String> = running.table().phases.into_iter().map(|phase| phase.name).collect();
    assert_eq!(
        names,
        [format!("x{}", "ä".repeat(127)), "a\u{fffd}b".to_owned(), "(unnamed)".to_owned()]
    );
    running.end();
}

#[test]
fn a_child_has_a_table_of_its_own() {
    let folder = TempDir::new().unwrap();
    let body = r#"
int main(void)
{
    TALEA_PHASE_BEGIN("common");
    pid_t child = fork();
    if (child == 0) {
        TALEA_PHASE_BEGIN("child");
        printf("%d\n", getpid());
        stop("child");
        TALEA_PHASE_END("child");
        TALEA_PHASE_END("common");
        _exit(0);
    }
    waitpid(child, 0, 0);
    stop("parent");
}
"#;
    let Some(program) = program(&folder, body) else { return };
    let mut running = Running::new(&mut marked(&program));
    let own = running.child.id();
    let child: u32 = running.word().parse().unwrap();
    assert_eq!(running.word(), "child");
    let (parents, childs) = (running.table(), table_of(child).unwrap());
    assert_eq!((parents.process, childs.process), (own, child));
    assert_eq!(parents.phase_of(own), Some("common"));
    assert_eq!(childs.phase_of(child), Some("child"));
    assert_eq!((parents.threads.len(), childs.threads.len()), (1, 1));
    assert_eq!((parents.phases.len(), childs.phases.len()), (1, 2));
    assert_eq!((parents.phases[0].entries, childs.phases[0].entries), (1, 0));
    assert!(childs.in_context == parents.in_context);
    running.go_on();
    assert_eq!(running.word(), "parent");
    assert_eq!(running.table().phase_of(own), Some("common"));
    running.end();
}

#[test]
fn threads_that_come_and_go_leave_no_slots() {
    let folder = TempDir::new().unwrap();
    let body = r#"
static void *work(void *unused)
{
    TALEA_PHASE_BEGIN("work");
    TALEA_PHASE_BEGIN("left open");
    return unused;
}
int main(void)
{
    for (int i = 0; i < 25000; i++) {
        pthread_t threads[4];
        for (int j = 0; j < 4; j++) if (pthread_create(&threads[j], 0, work, 0)) return 1;
        for (int j = 0; j < 4; j++) pthread_join(threads[j], 0);
    }
    TALEA_PHASE_SCOPE("end");
    stop("end");
}
"#;
    let Some(program) = program(&folder, body) else { return };
    let mut running = Running::new(&mut marked(&program));
    assert_eq!(running.word(), "end");
    let table = running.table();
    assert_eq!((table.threads.len(), table.unslotted), (1, 0));
    assert_eq!(table.phases[0].entries, 100_000);
    let resident = running.resident();
    assert!(resident < 32 << 10, "{resident} KiB");
    running.end();
}

#[test]
fn a_marker_that_costs_too_much_switches_itself_off() {
    let folder = TempDir::new().unwrap();
    // Enters until the marker is off, then until its end is off, too.
    let body = r#"
int main(void)
{
    TALEA_PHASE_BEGIN("run");
    for (long i = 0; i < 40000000; i++) {
        TALEA_PHASE_BEGIN("hot");
        TALEA_PHASE_END("hot");
    }
    stop("in run");
}
"#;
    let Some(program) = program(&folder, body) else { return };
    let mut running = Running::new(&mut marked(&program));
    assert_eq!(running.word(), "in run");
    let table = running.table();
    assert_eq!(table.phase_of(running.child.id()), Some("run"));
    let hot = table.phases.iter().find(|phase| phase.name == "hot").unwrap();
    assert!(matches!(hot.state, State::Off { rate } if rate > 2_000_000), "{hot:?}");
    assert!(hot.entries < 40_000_000, "{hot:?}");
    assert_eq!((table.unbalanced, table.phases[0].state), (0, State::On));
    running.end();
    for (budget, off) in [("none", false), ("0.5%", true)] {
        let (_, errors) =
            output(marked(&program).env("TALEA_MARK_BUDGET", budget).env("TALEA_MARK", "report"));
        assert_eq!(errors.contains(" off at "), off, "{budget}: {errors}");
    }
}

#[test]
fn a_phase_that_is_switched_off_while_a_thread_is_inside_ends_there() {
    let folder = TempDir::new().unwrap();
    // Flags stand in one section, whose ends the linker names. `other` is inside when the phase is
    // switched off, so that the ends must stay on until it has left.
    let body = r#"
extern signed char __start_talea_mark_flags[], __stop_talea_mark_flags[];
static int off(void)
{
    int count = 0;
    for (signed char *flag = __start_talea_mark_flags; flag < __stop_talea_mark_flags; flag++) count += *flag < 0;
    return count;
}
static void begin(void) { TALEA_PHASE_BEGIN("hot"); }
static void end(void) { TALEA_PHASE_END("hot"); }
static volatile int state;
static void *other(void *unused)
{
    begin();
    state = 1;
    while (state == 1) usleep(100);
    end();
    printf("other %d\n", gettid());
    stop("other left");
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    while (state == 0) usleep(100);
    while (off() == 0) { begin(); end(); }
    for (int i = 0; i < 10000; i++) { begin(); end(); }
    printf("%d\n", off());
    state = 2;
    pthread_join(thread, 0);
    for (int i = 0; i < 10000; i++) { begin(); end(); }
    printf("%d\n", off());
    stop("end");
}
"#;
    let Some(program) = program(&folder, body) else { return };
    let mut running = Running::new(&mut marked(&program));
    // The begin is off, the end is not.
    assert_eq!(running.word(), "1");
    let other = running.word();
    let other: u32 = other.strip_prefix("other ").unwrap().parse().unwrap();
    assert_eq!(running.word(), "other left");
    let table = running.table();
    assert!(table.threads.iter().any(|thread| thread.id == other && thread.phase.is_none()));
    running.go_on();
    assert_eq!(running.word(), "2");
    assert_eq!(running.word(), "end");
    assert_eq!(running.table().unbalanced, 0);
    running.end();
}

#[test]
fn libraries_mark_while_they_are_loaded_and_another_thread_marks_for_the_first_time() {
    let (folder, plugins) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    // The loader's lock is the loading thread's until the constructor returns; the other one waits
    // for it at its first marker.
    let plugin = format!(
        r#"{PRELUDE}
#include <sys/syscall.h>
static volatile long other;
static void *mark(void *unused)
{{
    other = syscall(SYS_gettid);
    TALEA_PHASE_BEGIN("first");
    TALEA_PHASE_END("first");
    return unused;
}}
static int waits(void)
{{
    char name[64], line[256] = "";
    snprintf(name, sizeof name, "/proc/self/task/%ld/stat", other);
    FILE *file = fopen(name, "r");
    if (!file) return 1;
    char *got = fgets(line, sizeof line, file);
    fclose(file);
    return got && strstr(line, ") S") != 0;
}}
static pthread_t thread;
__attribute__((constructor)) static void load(void)
{{
    alarm(30);
    pthread_create(&thread, 0, mark, 0);
    while (!other || !waits()) usleep(1000);
    TALEA_PHASE_BEGIN("loaded");
    TALEA_PHASE_END("loaded");
}}
void join(void) {{ pthread_join(thread, 0); }}
"#
    );
    let words = [CC, &["-shared", "-fPIC", "-Wl,-z,now"]].concat();
    let Some(plugin) = compiled(&plugins, &plugin, &words) else { return };
    let body = r#"
int main(int argc, char **argv)
{
    void *plugin = dlopen(argv[argc - 1], RTLD_NOW);
    if (!plugin) return 1;
    ((void (*)(void))dlsym(plugin, "join"))();
    return 0;
}
"#;
    let Some(program) = program(&folder, body) else { return };
    let (_, errors) = output(marked(&program).arg(plugin).env("TALEA_MARK", "report"));
    assert!(errors.contains(" 1 on first (") && errors.contains(" 1 on loaded ("), "{errors}");
}

#[test]
fn marking_can_be_off_altogether() {
    let folder = TempDir::new().unwrap();
    let body = r#"int main(void) { TALEA_PHASE_SCOPE("a"); stop("in"); }"#;
    let Some(program) = program(&folder, body) else { return };
    let mut running = Running::new(marked(&program).env("TALEA_MARK", "off"));
    assert_eq!(running.word(), "in");
    assert_eq!(table_of(running.child.id()), None);
    running.end();
    // Nor without the library.
    let mut running = Running::new(marked(&program).env_remove("LD_PRELOAD"));
    assert_eq!(running.word(), "in");
    assert_eq!(table_of(running.child.id()), None);
    running.end();
}

#[test]
fn fortran_has_the_same_phases() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("phases");
    let mut command = Command::new("gfortran");
    command.arg("-J").arg(folder.path()).arg("-o").arg(&out);
    command
        .arg(checkout().join("include/talea_mark.f90"))
        .arg(checkout().join("apps/marked/phases_f.f90"));
    match command.arg("-ldl").output() {
        Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
        Err(_) => return skip("no gfortran"),
    }
    let (_, errors) = output(marked(&out).env("TALEA_MARK", "report"));
    assert!(errors.contains(" 34 on long (") && errors.contains(" 34 on short ("), "{errors}");
    let (out, errors) = output(marked(&out).env_remove("LD_PRELOAD"));
    assert!(out.starts_with("long ") && errors.is_empty());
}

#[test]
fn readers_see_whole_names_whatever_happens() {
    // Phases are registered while this reads: none may be seen in part.
    let folder = TempDir::new().unwrap();
    let mut body = String::from("int main(void) {\n");
    for at in 0..500 {
        let name = format!("phase {at} ends so");
        let _ = writeln!(body, "TALEA_PHASE_BEGIN(\"{name}\"); TALEA_PHASE_END(\"{name}\");");
        if at == 0 {
            body.push_str("stop(\"go\");\n");
        }
    }
    body.push_str("stop(\"done\"); }\n");
    let Some(program) = program(&folder, &body) else { return };
    let mut running = Running::new(&mut marked(&program));
    assert_eq!(running.word(), "go");
    running.go_on();
    loop {
        let table = running.table();
        assert!(
            table
                .phases
                .iter()
                .all(|p| p.name.starts_with("phase ") && p.name.ends_with(" ends so"))
        );
        if table.phases.len() == 500 {
            break;
        }
    }
    assert_eq!(running.word(), "done");
    let mut rest = Vec::new();
    drop(running.child.stdin.take());
    running.words.read_to_end(&mut rest).unwrap();
    assert!(running.child.wait().unwrap().success());
}

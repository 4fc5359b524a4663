//! Calls that a recorder in the process gets: a small library that stands for `libtalea_mpi.so`
//! writes down every call.
//!
//! Programs in C have it and `libtalea_mark.so` preloaded; the crate inside a Rust program finds it
//! as well, which is this test itself.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, reason = "tests")]

mod running;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use talea_testing::{checkout, skip};

use tempfile::TempDir;

use running::library;

/// Writes `+name` and `-name`, the thread before it.
const RECORDER: &str = r#"
#include <stdio.h>
#include <string.h>
static char names[100][300];
static unsigned used;
static _Thread_local int threads_own;
static unsigned name(const char *text, unsigned long length)
{
    for (unsigned i = 1; i <= used; i++)
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0)
            return i;
    memcpy(names[++used], text, length);
    return strcmp(names[used], "unwanted") == 0 ? 0 : used;
}
static void enter(unsigned phase) { threads_own++; printf("+%s ", names[phase]); }
static void leave(unsigned phase) { threads_own--; printf("-%s ", names[phase]); }
static const struct {
    unsigned version;
    unsigned (*name)(const char *, unsigned long);
    void (*enter)(unsigned);
    void (*leave)(unsigned);
} table = {VERSION, name, enter, leave};
const void *talea_mpi_phases(unsigned version) { return version == 1 ? &table : 0; }
"#;

const PROGRAM: &str = r#"
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "talea_mark.h"
/* What a program with NVTX inside gives to whoever fills it: words of functions, of which 9 and 11 of module 1 are push
   and pop, and 4 and 5 of module 5 are those of a domain. */
struct attributes { short version, bytes; int other[5]; long payload; int type; const char *message; };
static int (*push)(const char *);
static int (*pop)(void);
static int (*domain_push)(const void *, const struct attributes *);
static int (*domain_pop)(const void *);
static void *empty;
static void **tables[2][16];
static int module(unsigned which, void ****table, unsigned *number)
{
    for (int i = 0; i < 32; i++)
        tables[i / 16][i % 16] = &empty;
    tables[0][9] = (void **)&push;
    tables[0][11] = (void **)&pop;
    tables[1][4] = (void **)&domain_push;
    tables[1][5] = (void **)&domain_pop;
    *table = tables[which / 5];
    *number = 16;
    return which == 1 || which == 5;
}
static const struct { size_t bytes; int (*module)(unsigned, void ****, unsigned *); } callbacks = {sizeof callbacks, module};
static const void *export_table(unsigned which) { return which == 1 ? &callbacks : 0; }
static void bridge(void)
{
    int (*fill)(const void *(*)(unsigned)) = (int (*)(const void *(*)(unsigned)))dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2");
    if (fill(export_table) != 1)
        exit(9);
}
static void *other(void *unused)
{
    TALEA_PHASE_BEGIN("other");
    TALEA_PHASE_END("other");
    return unused;
}
int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "nvtx") == 0) {
        bridge();
        for (int i = 0; i < 2; i++) {
            push("range");
            push("within");
            pop();
            pop();
        }
        return 0;
    }
    if (strcmp(way, "nvtx too deep") == 0) {
        struct attributes attributes = {3, sizeof attributes, {0}, 0, 1, "domain's"};
        bridge();
        push("range");
        for (int i = 0; i < 70; i++)
            domain_push(&attributes, &attributes);
        if (pop() != 0 || pop() != -1)
            return 3;
        for (int i = 69; i >= 0; i--)
            if (domain_pop(&attributes) != (i < 63 ? i : 64))
                return 4;
        return domain_pop(&attributes) == -1 ? 0 : 5;
    }
    TALEA_PHASE_BEGIN("outer");
    TALEA_PHASE_BEGIN("inner");
    if (strcmp(way, "nested") == 0) {
        TALEA_PHASE_END("inner");
        { TALEA_PHASE_SCOPE("inner"); }
        { TALEA_PHASE_SCOPE("unwanted"); }
        TALEA_PHASE_END("outer");
        TALEA_PHASE_END("outer");
    } else if (strcmp(way, "crossed") == 0) {
        TALEA_PHASE_END("outer");
        TALEA_PHASE_END("inner");
    } else if (strcmp(way, "deep") == 0) {
        for (int i = 0; i < 40; i++)
            TALEA_PHASE_BEGIN("deep");
        for (int i = 0; i < 40; i++)
            TALEA_PHASE_END("deep");
    } else if (strcmp(way, "nvtx after native") == 0) {
        bridge();
        push("range");
        TALEA_PHASE_BEGIN("native");
        TALEA_PHASE_END("native");
        pop();
        TALEA_PHASE_END("inner");
    } else if (strcmp(way, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, 0, other, 0);
        pthread_join(thread, 0);
    } else if (strcmp(way, "fork") == 0) {
        fflush(stdout);
        if (fork() == 0) {
            TALEA_PHASE_END("inner");
            TALEA_PHASE_BEGIN("child");
            TALEA_PHASE_END("child");
            TALEA_PHASE_END("outer");
            exit(0);
        }
        wait(0);
        TALEA_PHASE_END("inner");
    } else if (strcmp(way, "hot") == 0) {
        for (int i = 0; i < 3000000; i++) {
            TALEA_PHASE_SCOPE("hot");
        }
    }
    return 0;
}
"#;

/// Compiles C with further words; none, and said why, without a compiler.
fn compiled(folder: &TempDir, name: &str, text: &str, words: &[&str]) -> Option<PathBuf> {
    let source = folder.path().join(format!("{name}.c"));
    std::fs::write(&source, text).unwrap();
    let out = folder.path().join(name);
    let include = checkout().join("include");
    let mut command = Command::new("cc");
    command.args(["-O1", "-std=gnu11", "-I"]).arg(include).args(words).arg("-o").arg(&out);
    let Ok(done) = command.arg(&source).args(["-lpthread", "-ldl"]).output() else {
        skip("no cc");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(out)
}

fn recorder(folder: &TempDir, version: &str) -> Option<PathBuf> {
    let version = format!("-DVERSION={version}");
    compiled(folder, "recorder.so", RECORDER, &["-shared", "-fPIC", &version])
}

fn output(command: &mut Command) -> (String, String) {
    let done = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert!(done.status.success(), "{}", done.status);
    (text(done.stdout).trim().to_owned(), text(done.stderr))
}

/// The program with both libraries.
fn run(program: &Path, recorder: &Path, way: &str) -> (String, String) {
    let preload = format!("{}:{}", recorder.display(), library().display());
    let mut command = Command::new(program);
    command.arg(way).env("LD_PRELOAD", preload).env("TALEA_MARK", "report");
    output(command.env_remove("TALEA_MARK_BUDGET"))
}

#[test]
fn a_recorder_is_told_of_every_phase_in_order() {
    let folder = TempDir::new().unwrap();
    let Some(recorder) = recorder(&folder, "1") else { return };
    let Some(program) = compiled(&folder, "program", PROGRAM, &[]) else { return };
    let check = |way: &str, expected: &str| {
        let (out, errors) = run(&program, &recorder, way);
        assert_eq!(out, expected, "{way}: {errors}");
        errors
    };
    // The second end of `outer` ends nothing.
    let errors = check("nested", "+outer +inner -inner +inner -inner -outer");
    assert!(errors.contains(" 1 on unwanted ("), "{errors}");
    // An end of an outer phase ends those inside it, the innermost first.
    check("crossed", "+outer +inner -inner -outer");
    check("thread", "+outer +inner +other -other");
    // Ranges of other tools are phases as all others, whichever of the two a thread begins with.
    let once = "+range +within -within -range";
    check("nvtx", &format!("{once} {once}"));
    check("nvtx after native", "+outer +inner +range +native -native -range -inner");
    // Pops of one domain find its own ranges, also where those of another are too deep.
    let (out, errors) = run(&program, &recorder, "nvtx too deep");
    assert_eq!(out.matches("-range").count(), 1, "{out}: {errors}");
    assert_eq!(out.matches("+domain's").count(), out.matches("-domain's").count(), "{out}");
    // The child of a fork is not recorded; its parent is.
    let errors = check("fork", "+outer +inner -inner");
    assert!(errors.contains(" 1 on child ("), "{errors}");
    // Phases beyond the depth are not reported, nor are their ends.
    let inside = ["+deep"; 30].join(" ") + " " + &["-deep"; 30].join(" ");
    check("deep", &format!("+outer +inner {inside}"));
}

#[test]
fn a_phase_that_its_budget_switched_off_is_not_told_of() {
    let folder = TempDir::new().unwrap();
    let Some(recorder) = recorder(&folder, "1") else { return };
    let Some(program) = compiled(&folder, "program", PROGRAM, &[]) else { return };
    let (out, errors) = run(&program, &recorder, "hot");
    let told = out.split(' ').filter(|word| *word == "+hot").count();
    let left = out.split(' ').filter(|word| *word == "-hot").count();
    assert!(told == left && (1..3_000_000).contains(&told), "{told} and {left}: {errors}");
    let line = errors.lines().find(|line| line.contains(" hot (")).unwrap();
    assert!(line.contains(" off at "), "{line}");
}

#[test]
fn a_recorder_of_another_version_is_none() {
    let folder = TempDir::new().unwrap();
    let Some(recorder) = recorder(&folder, "2") else { return };
    let Some(program) = compiled(&folder, "program", PROGRAM, &[]) else { return };
    let (out, errors) = run(&program, &recorder, "nested");
    assert_eq!(out, "");
    assert!(errors.contains(" 1 on inner ("), "{errors}");
}

/// What the test below starts.
#[test]
#[ignore = "started by another test"]
fn rust_program() {
    let _outer = talea_mark::phase!("outer");
    for _ in 0..2 {
        let _inner = talea_mark::phase!("inner");
    }
}

#[test]
fn the_crate_in_a_rust_program_finds_the_recorder() {
    let folder = TempDir::new().unwrap();
    let Some(recorder) = recorder(&folder, "1") else { return };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "rust_program", "--ignored", "--nocapture", "--test-threads", "1"]);
    let (out, _) = output(command.env("LD_PRELOAD", recorder).env_remove("TALEA_MARK"));
    assert!(out.contains("+outer +inner -inner +inner -inner -outer"), "{out}");
}

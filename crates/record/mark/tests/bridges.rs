//! Phases of programs that mark for other tools: real clients of NVTX and ITT, not recompiled, read
//! from outside.
//!
//! The clients are the Python packages `nvtx` and `ittapi`, and C compiled against NVIDIA's own
//! headers (package `nvidia-nvtx`); all three come from `scripts/setup.sh test`. Where they are not
//! there a test says so and is skipped; in CI that fails. ITT in C has its table made here, as its
//! headers are in no package.
#![allow(clippy::print_stdout, clippy::too_many_lines, clippy::unwrap_used)]
#![allow(missing_docs, reason = "tests")]

mod running;

use std::path::PathBuf;
use std::process::Command;
use talea_testing::{checkout, skip};

use talea_mark::reader::State;
use tempfile::TempDir;

use running::{Running, library, table_of};

fn python() -> String {
    let built = checkout().join("target/markers/bin/python3");
    let built = || built.exists().then(|| built.display().to_string());
    std::env::var("TALEA_PYTHON_MARKERS").ok().or_else(built).unwrap_or_else(|| "python3".into())
}

/// Whether Python has a package; says why not.
fn has(package: &str) -> bool {
    let asked = Command::new(python()).args(["-c", &format!("import {package}")]).output();
    let is_there = asked.is_ok_and(|asked| asked.status.success());
    if !is_there {
        skip(&format!("`{}` has no {package}: run scripts/setup.sh test", python()));
    }
    is_there
}

/// In the environment of other tools' programs.
fn bridged(command: &mut Command) -> &mut Command {
    command.env("NVTX_INJECTION64_PATH", library()).env("INTEL_LIBITTNOTIFY64", library());
    command.env_remove("TALEA_MARK").env_remove("TALEA_MARK_BUDGET").env_remove("LD_PRELOAD")
}

/// Compiles C against NVIDIA's headers; None, and said why, without them or a compiler.
fn compiled(folder: &TempDir, text: &str) -> Option<PathBuf> {
    let script = "import nvidia.cu13, os; print(os.path.join(nvidia.cu13.__path__[0], 'include'))";
    let asked = Command::new(python()).args(["-c", script]).output();
    let Some(asked) = asked.ok().filter(|asked| asked.status.success()) else {
        skip(&format!("`{}` has no nvidia-nvtx: run scripts/setup.sh test", python()));
        return None;
    };
    let include = String::from_utf8(asked.stdout).unwrap();
    let (source, out) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&source, format!("{PRELUDE}{text}")).unwrap();
    let mut command = Command::new("cc");
    command.args(["-O1", "-std=gnu11", "-Wall", "-I", include.trim()]);
    command.arg("-I").arg(checkout().join("include")).arg("-o").arg(&out).arg(&source);
    let Ok(done) = command.args(["-lpthread", "-ldl"]).output() else {
        skip("no cc");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(out)
}

const PRELUDE: &str = r#"
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include "nvtx3/nvToolsExt.h"
#include "talea_mark.h"
/* Says a word, and waits for a line. */
static inline void stop(const char *word) { printf("%s\n", word); fflush(stdout); if (getchar() == EOF) exit(0); }
static inline nvtxEventAttributes_t text(const char *text)
{
    nvtxEventAttributes_t is = {0};
    is.version = NVTX_VERSION;
    is.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    is.messageType = NVTX_MESSAGE_TYPE_ASCII;
    is.message.ascii = text;
    return is;
}
"#;

const PYTHON: &str = "
import sys
def stop(word):
    print(word, flush=True)
    if not sys.stdin.readline():
        sys.exit(0)
";

#[test]
fn pythons_nvtx_says_phases() {
    if !has("nvtx") {
        return;
    }
    let script = format!(
        "{PYTHON}
import nvtx
with nvtx.annotate('outer'):
    stop('outer')
    with nvtx.annotate('inner \u{20ac}', domain='other domain', color='blue'):
        stop('inner')
    stop('outer again')
nvtx.push_range('pushed', domain='mine')
stop('pushed')
nvtx.pop_range(domain='mine')
stop('none')
"
    );
    let mut running = Running::new(bridged(Command::new(python()).args(["-c", &script])));
    for (word, phase) in [
        ("outer", Some("outer")),
        ("inner", Some("inner \u{20ac}")),
        ("outer again", Some("outer")),
        ("pushed", Some("pushed")),
    ] {
        assert_eq!(running.phase_at(word).as_deref(), phase, "{word}");
    }
    let table = running.at("none");
    assert_eq!(table.phase_of(running.child.id()), None);
    assert_eq!((table.unbalanced, table.deep), (0, 0));
    assert!(table.phases.iter().all(|phase| phase.file == "nvtx" && phase.line == 0));
    running.finish();
}

#[test]
fn pythons_ittapi_says_phases() {
    if !has("ittapi") {
        return;
    }
    let script = format!(
        "{PYTHON}
import ittapi
with ittapi.task('outer', domain='one'):
    with ittapi.task('inner', domain='two'):
        stop('inner')
    stop('outer')
@ittapi.task
def work():
    stop('function')
work()
stop('none')
"
    );
    let mut running = Running::new(bridged(Command::new(python()).args(["-c", &script])));
    for (word, phase) in [("inner", "inner"), ("outer", "outer"), ("function", "work")] {
        assert_eq!(running.phase_at(word).as_deref(), Some(phase), "{word}");
    }
    let table = running.at("none");
    assert_eq!(table.phase_of(running.child.id()), None);
    assert_eq!(table.unbalanced, 0);
    assert!(table.phases.iter().all(|phase| phase.file == "itt"));
    running.finish();
}

#[test]
fn nvtx_in_c_nests_with_our_markers() {
    let folder = TempDir::new().unwrap();
    let body = r#"
int main(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("domain"), same = nvtxDomainCreateA("domain");
    nvtxDomainHandle_t wide = nvtxDomainCreateW(L"wide");
    nvtxEventAttributes_t by_text = text("by text"), by_handle = text(0), by_wide = text(0), unknown = text(0);
    by_handle.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    by_handle.message.registered = nvtxDomainRegisterStringA(domain, "by handle");
    by_wide.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    by_wide.message.registered = nvtxDomainRegisterStringW(domain, L"by wide handle");
    unknown.messageType = 77;
    int levels[6];
    levels[0] = nvtxRangePushA("first");
    stop("first");
    levels[1] = nvtxDomainRangePushEx(domain, &by_text);
    stop("by text");
    levels[2] = nvtxDomainRangePushEx(same, &by_handle);
    stop("by handle");
    nvtxDomainRangePushEx(wide, &by_wide);
    stop("by wide");
    levels[3] = nvtxRangePushW(L"gro\u00df");
    stop("wide");
    TALEA_PHASE_BEGIN("own");
    stop("own");
    levels[4] = nvtxRangePushEx(&unknown);
    stop("unknown");
    levels[5] = nvtxRangePop();
    stop("own again");
    TALEA_PHASE_END("own");
    stop("wide again");
    /* Each domain has its own ranges: the inner one of the other domain stays. */
    if (nvtxDomainRangePop(domain) != 1) return 1;
    stop("still wide");
    if (nvtxRangePop() != 1) return 2;
    stop("by wide again");
    if (nvtxDomainRangePop(wide) != 0 || nvtxDomainRangePop(domain) != 0) return 3;
    stop("first again");
    if (nvtxRangePop() != 0 || nvtxRangePop() >= 0 || nvtxDomainRangePop(domain) >= 0) return 4;
    stop("none");
    for (int i = 0; i < 6; i++)
        if (levels[i] != (int[]){0, 0, 1, 1, 2, 2}[i]) return 5;
}
"#;
    let Some(program) = compiled(&folder, body) else { return };
    // The same library, loaded twice in two ways, is one.
    let mut command = Command::new(&program);
    let mut running = Running::new(bridged(&mut command).env("LD_PRELOAD", library()));
    for (word, phase) in [
        ("first", "first"),
        ("by text", "by text"),
        ("by handle", "by handle"),
        ("by wide", "by wide handle"),
        ("wide", "gro\u{df}"),
        ("own", "own"),
        ("unknown", "(unnamed)"),
        ("own again", "own"),
        ("wide again", "gro\u{df}"),
        ("still wide", "gro\u{df}"),
        ("by wide again", "by wide handle"),
        ("first again", "first"),
    ] {
        assert_eq!(running.phase_at(word).as_deref(), Some(phase), "{word}");
    }
    let table = running.at("none");
    assert_eq!(table.phase_of(running.child.id()), None);
    assert_eq!(table.unbalanced, 2, "two pops without a push");
    running.finish();
}

#[test]
fn hostile_names_and_calls_do_no_harm() {
    let folder = TempDir::new().unwrap();
    let body = r#"
static char long_name[1 << 20];
static wchar_t long_wide[1 << 18];
static void *work(void *number)
{
    char name[32];
    snprintf(name, sizeof name, "thread %d", (int)(size_t)number % 7);
    nvtxRangePushA(name);
    nvtxRangePushA("left open");
    return 0;
}
int main(void)
{
    nvtxRangePop();
    memset(long_name, 'x', sizeof long_name - 1);
    wmemset(long_wide, 0x20ac, sizeof long_wide / sizeof *long_wide - 1);
    nvtxRangePushA(long_name);
    stop("long");
    nvtxRangePushW(long_wide);
    stop("long wide");
    nvtxRangePushA("\xff\xfe(\xc3");
    stop("no utf-8");
    wchar_t odd[] = {0xd800, 0x7fffffff, 'a', 0};
    nvtxRangePushW(odd);
    stop("no unicode");
    nvtxRangePushA(0);
    stop("null");
    nvtxRangePushW(0);
    nvtxRangePushEx(0);
    nvtxEventAttributes_t is = text("cut");
    is.size = 8;
    nvtxRangePushEx(&is);
    stop("cut");
    is = text(0);
    is.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    is.message.registered = (nvtxStringHandle_t)(size_t)0xdeadbeef;
    nvtxRangePushEx(&is);
    stop("no handle");
    nvtxDomainRangePushEx((nvtxDomainHandle_t)(size_t)1, 0);
    nvtxDomainRegisterStringA(0, 0);
    nvtxDomainDestroy(nvtxDomainCreateA(0));
    nvtxDomainRangePop((nvtxDomainHandle_t)(size_t)1);
    for (int i = 0; i < 9; i++) if (nvtxRangePop() != 8 - i) return 1;
    stop("all popped");
    /* Deeper than anything keeps, and back. */
    nvtxRangePushA("bottom");
    for (int i = 0; i < 1000; i++) nvtxRangePushA("deep");
    for (int i = 0; i < 1000; i++) nvtxRangePop();
    stop("bottom");
    nvtxRangePop();
    /* Names without end. */
    for (int i = 0; i < 100000; i++) {
        char name[32];
        snprintf(name, sizeof name, "step %d", i);
        nvtxRangePushA(name);
        if (i == 99999) stop("other");
        nvtxRangePop();
    }
    TALEA_PHASE_BEGIN("own");
    stop("own");
    TALEA_PHASE_END("own");
    for (int i = 0; i < 5000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, work, (void *)(size_t)i)) return 2;
        pthread_join(thread, 0);
    }
    nvtxRangePushA("left");
    stop("end");
}
"#;
    let Some(program) = compiled(&folder, body) else { return };
    let mut command = Command::new(&program);
    let mut running = Running::new(
        bridged(&mut command).env("LD_PRELOAD", library()).env("TALEA_MARK_BUDGET", "none"),
    );
    let (long, wide) = ("x".repeat(255), "\u{20ac}".repeat(85));
    for (word, phase) in [
        ("long", long.as_str()),
        ("long wide", &wide),
        ("no utf-8", "\u{fffd}\u{fffd}(\u{fffd}"),
        ("no unicode", "\u{fffd}\u{fffd}a"),
        ("null", "(unnamed)"),
        ("cut", "(unnamed)"),
        ("no handle", "(unnamed)"),
    ] {
        assert_eq!(running.phase_at(word).as_deref(), Some(phase), "{word}");
    }
    assert_eq!(running.phase_at("all popped"), None);
    let table = running.at("bottom");
    assert_eq!(table.phase_of(running.child.id()), Some("bottom"));
    assert!(table.deep > 900, "{}", table.deep);
    running.go_on();
    assert_eq!(running.phase_at("other").as_deref(), Some("(other)"));
    // There is room left for the program's own.
    assert_eq!(running.phase_at("own").as_deref(), Some("own"));
    let table = running.at("end");
    assert_eq!(table.phase_of(running.child.id()), Some("(other)"));
    assert_eq!((table.threads.len(), table.unslotted), (1, 0), "ended threads gave theirs back");
    assert!(table.phases.len() <= 2050, "{}", table.phases.len());
    let other = table.phases.iter().find(|phase| phase.name == "(other)").unwrap();
    assert!(other.entries > 90_000, "{other:?}");
    let resident = running.resident();
    assert!(resident < 32 << 10, "{resident} KiB");
    running.finish();
}

#[test]
fn a_name_that_costs_too_much_switches_itself_off_and_others_stay() {
    let folder = TempDir::new().unwrap();
    let body = r#"
int main(void)
{
    nvtxRangePushA("run");
    for (long i = 0; i < 5000000; i++) {
        nvtxRangePushA("hot");
        nvtxRangePop();
    }
    stop("in run");
    nvtxRangePushA("hot");
    nvtxRangePushA("cold");
    stop("cold");
    nvtxRangePop();
    nvtxRangePop();
    stop("run again");
    nvtxRangePop();
    stop("none");
}
"#;
    let Some(program) = compiled(&folder, body) else { return };
    let mut running = Running::new(bridged(&mut Command::new(&program)));
    let table = running.at("in run");
    assert_eq!(table.phase_of(running.child.id()), Some("run"));
    let hot = table.phases.iter().find(|phase| phase.name == "hot").unwrap();
    assert!(matches!(hot.state, State::Off { rate } if rate > 250_000), "{hot:?}");
    assert!(hot.entries < 5_000_000, "{hot:?}");
    running.go_on();
    assert_eq!(running.phase_at("cold").as_deref(), Some("cold"));
    assert_eq!(running.phase_at("run again").as_deref(), Some("run"));
    let table = running.at("none");
    assert_eq!((table.phase_of(running.child.id()), table.unbalanced), (None, 0));
    running.finish();
    // Nothing at all where marking is off.
    let done = bridged(&mut Command::new(&program)).env("TALEA_MARK", "off").output().unwrap();
    assert!(done.status.success());
}

#[test]
fn a_child_goes_on_in_the_ranges_of_its_parent() {
    let folder = TempDir::new().unwrap();
    let body = r#"
int main(void)
{
    nvtxRangePushA("outer");
    nvtxRangePushA("inner");
    if (fork() > 0) { for (;;) pause(); }
    nvtxRangePop();
    printf("%d\n", getpid());
    stop("child");
}
"#;
    let Some(program) = compiled(&folder, body) else { return };
    let mut running = Running::new(bridged(&mut Command::new(&program)));
    let child: u32 = running.word().parse().unwrap();
    let parents = running.at("child");
    assert_eq!(parents.phase_of(running.child.id()), Some("inner"));
    assert_eq!(table_of(child).unwrap().phase_of(child), Some("outer"));
    running.child.kill().unwrap();
    running.child.wait().unwrap();
}

/// ITT's table as `ittnotify_config.h` has it, with whatever a program may do to it.
const ITT: &str = r#"
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { unsigned long long d[3]; } id;
typedef struct domain { volatile int flags; const char *name; void *wide; int extra1; void *extra2; struct domain *next; } domain;
typedef struct handle { const char *text; void *wide; int extra1; void *extra2; struct handle *next; } handle;
static int never;
static void (*begin)(const domain *, id, id, handle *), (*begin_fn)(const domain *, id, id, void *), (*end)(const domain *), *other = &never;
static domain *(*domain_create)(const char *);
static handle *(*handle_create)(const char *);
static struct { const char *name; void *word, *first, *nothing; int group; } list[] = {
    {"__itt_task_begin", &begin, 0, 0, -1}, {"__itt_task_begin_fn", &begin_fn, 0, 0, -1}, {"__itt_task_end", &end, 0, 0, -1},
    {"__itt_domain_create", &domain_create, 0, 0, -1}, {"__itt_string_handle_create", &handle_create, 0, 0, -1},
    {"__itt_frame_begin_v3", &other, 0, 0, -1}, {"__itt_no_word", 0, 0, 0, -1}, {0},
};
static struct global { unsigned char magic[8]; unsigned long version[3]; long state[3]; pthread_mutex_t mutex; void *library, *handler, *path, *list, *rest[16]; } global =
    {{0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30}, {3, 0, 20250807}, {0}, PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, list, {0}};
static void stop(const char *word) { printf("%s\n", word); fflush(stdout); if (getchar() == EOF) exit(0); }
void function(void) {}
static char long_name[1 << 20];
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    void (*init)(void *, int) = (void (*)(void *, int))dlsym(library, "__itt_api_init");
    struct global wrong = global;
    wrong.magic[0] = 0;
    init(&wrong, -1);
    wrong = global;
    wrong.version[0] = 2;
    init(&wrong, -1);
    wrong = global;
    wrong.list = 0;
    init(&wrong, -1);
    init(0, -1);
    if (begin) return 1;
    init(&global, -1);
    if (!begin || other) return 2;
    const id null = {{0}};
    memset(long_name, 'x', sizeof long_name - 1);
    domain *one = domain_create("one"), *same = domain_create("one"), early = {1, "early", 0, 0, 0, 0};
    handle before = {"before", 0, 0, 0, 0}, no_text = {0, 0, 0, 0, 0};
    if (one != same || !one->flags || strcmp(one->name, "one") || handle_create("a") != handle_create("a") || domain_create(0) || handle_create(0)) return 3;
    end(one);
    begin(&early, null, null, &before);
    stop("before");
    begin(one, null, null, handle_create(long_name));
    stop("long");
    begin(one, null, null, 0);
    stop("null");
    begin(0, null, null, &no_text);
    stop("no text");
    begin_fn(one, null, null, function);
    stop("function");
    begin_fn(one, null, null, 0);
    stop("no function");
    for (int i = 0; i < 4; i++) end(one);
    end(0);
    stop("before again");
    char name[32];
    for (int i = 0; i < 1000; i++) { snprintf(name, sizeof name, "domain %d", i); if (!domain_create(name)->flags) return 4; }
    if (domain_create("new") != domain_create("newer")) return 5;
    for (int i = 0; i < 10000; i++) { snprintf(name, sizeof name, "name %d", i); if (!handle_create(name)->text) return 6; }
    begin(one, null, null, handle_create("new"));
    stop("other");
}
"#;

#[test]
fn itt_in_c_is_read_as_its_sources_have_it() {
    let folder = TempDir::new().unwrap();
    let (source, out) = (folder.path().join("itt.c"), folder.path().join("itt"));
    std::fs::write(&source, ITT).unwrap();
    let mut command = Command::new("cc");
    command.args(["-O1", "-std=gnu11", "-rdynamic", "-o"]).arg(&out).arg(&source);
    let Ok(done) = command.args(["-lpthread", "-ldl"]).output() else { return skip("no cc") };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut running = Running::new(bridged(Command::new(&out).arg(library())));
    let long = "x".repeat(255);
    for (word, phase) in [
        ("before", "before"),
        ("long", long.as_str()),
        ("null", "(unnamed)"),
        ("no text", "(unnamed)"),
        ("function", "function"),
        ("no function", "0x0"),
        ("before again", "before"),
        ("other", "(other)"),
    ] {
        assert_eq!(running.phase_at(word).as_deref(), Some(phase), "{word}");
    }
    assert!(running.child.wait().unwrap().success());
}

#[test]
fn the_client_that_is_measured_works() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("bridges");
    let mut command = Command::new("cc");
    command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&out);
    command.arg(checkout().join("apps/marked/bridges.c"));
    let Ok(done) = command.arg("-ldl").output() else { return skip("no cc") };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut command = Command::new(&out);
    command.arg(library()).arg("1").env("TALEA_MARK", "report").env("TALEA_MARK_BUDGET", "none");
    let done = command.output().unwrap();
    assert!(done.status.success());
    let report = String::from_utf8(done.stderr).unwrap();
    for name in ["assemble the matrix (nvtx", "exchange the halo (nvtx", "solve (itt"] {
        assert!(report.contains(&format!(" 40000 on {name}")), "{report}");
    }
}

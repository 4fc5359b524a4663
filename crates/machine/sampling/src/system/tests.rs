//! The samplers on the machine that runs this: what is spun where is found there, by each way to
//! sample.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use talea_testing::missing;

use super::*;
use crate::root::Root;

/// Samples of the machine of tests that run beside each other would be each other's.
static ALONE: Mutex<()> = Mutex::new(());
/// How long a condition is waited for.
const LONG: Duration = Duration::from_secs(20);

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn options(period: u64) -> Options {
    Options { period: Nanos(period), seed: 3, ..Options::default() }
}

type Opened = (&'static str, Box<dyn SystemSampler>);

/// The samplers of whole machines that are allowed here.
fn samplers(options: &Options) -> Vec<Opened> {
    let found = [("bpf", open_bpf(options)), ("rings", open_rings(options, None))];
    let found = found.into_iter().filter_map(|(name, sampler)| match sampler {
        Ok(sampler) => Some((name, sampler)),
        Err(error) => missing(&error.to_string()),
    });
    found.collect()
}

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Compiles C; none, with a word, without a compiler.
fn compiled(folder: &Path, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let (text, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&text, source).unwrap();
    let output =
        Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(&text).args(flags).output();
    let Ok(output) = output else { return missing("no C compiler (cc)") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// Starts a program on a core, and waits for its first line.
fn started(program: &Path, core: usize) -> (Running, String) {
    let mut command = Command::new("taskset");
    let command = command.args(["-c", &core.to_string()]).arg(program).stdout(Stdio::piped());
    let mut child = Running(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line)
}

/// Collects until a condition on all hits holds.
fn until(sampler: &mut dyn SystemSampler, enough: impl Fn(&[Hit]) -> bool) -> (Vec<Hit>, Gaps) {
    let (mut hits, mut gaps) = (Vec::new(), Gaps::default());
    let begin = Instant::now();
    loop {
        sampler.collect(&mut hits, &mut gaps).unwrap();
        if enough(&hits) {
            return (hits, gaps);
        }
        assert!(begin.elapsed() < LONG, "not found in {LONG:?}: {hits:?}\n{gaps:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn count<'a>(hits: impl IntoIterator<Item = &'a Hit>, what: impl Fn(&Hit) -> bool) -> u64 {
    hits.into_iter().filter(|hit| what(hit)).map(|hit| hit.count).sum()
}

const SPINNER: &str = r#"
#include <stdio.h>
#include <unistd.h>
volatile unsigned long sum;
__attribute__((noinline)) void spin(void) { for (unsigned long i = 0; i < 100000000; i++) sum += i; }
int main(void) { puts("ready"); fflush(stdout); for (int i = 0; i < 600; i++) spin(); }
"#;

/// Where a function lies in a file: begin and end.
fn place(file: &Path, function: &str) -> std::ops::Range<u64> {
    use object::{Object, ObjectSegment, ObjectSymbol};
    let bytes = std::fs::read(file).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let mut symbols = object.symbols().chain(object.dynamic_symbols());
    let symbol = symbols.find(|symbol| symbol.name() == Ok(function)).unwrap();
    let at = symbol.address();
    let mut segments = object.segments();
    let segment = segments.find(|s| (s.address()..s.address() + s.size()).contains(&at)).unwrap();
    let begin = at - segment.address() + segment.file_range().0;
    begin..begin + symbol.size()
}

#[test]
fn a_program_that_spins_has_its_core_and_its_function() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "spinner", SPINNER, &[]) else { return };
    for (name, mut sampler) in samplers(&options(2_000_000)) {
        let core = sampler.cores().iter().last().unwrap();
        let (child, _) = started(&program, core);
        let process = child.0.id();
        // What came before it began is not of interest.
        until(&mut *sampler, |_| true);
        let of_it = |hit: &Hit| hit.process == process && hit.state == State::User;
        let (hits, gaps) = until(&mut *sampler, |hits| count(hits, of_it) >= 200);
        let file = FileId::of_path(&program);
        let range = place(&program, "spin");
        for hit in hits.iter().filter(|hit| of_it(hit)) {
            assert_eq!(hit.core as usize, core, "{name}");
            assert_eq!(hit.name, *b"spinner\0\0\0\0\0\0\0\0\0", "{name}");
            assert_eq!(hit.executable, file, "{name}");
        }
        let inside =
            count(&hits, |hit| of_it(hit) && hit.file == file && range.contains(&hit.offset));
        assert!(inside * 100 >= count(&hits, of_it) * 99, "{name}: {hits:?} {range:x?}");
        // Nothing else is idle there while it spins; others may take their share.
        let idle = count(&hits, |hit| hit.core as usize == core && hit.state == State::Idle);
        assert!(idle * 20 <= count(&hits, of_it), "{name}: {idle} idle of {hits:?}");
        assert_eq!(
            sampler.path(file.unwrap()).unwrap().file_name(),
            Some(OsStr::new("spinner")),
            "{name}"
        );
        assert!(gaps.iter().all(|gap| gap.kind != GapKind::MemoryBound), "{name}: {gaps:?}");
    }
}

#[test]
fn idle_cores_are_counted() {
    let _alone = alone();
    for (name, mut sampler) in samplers(&options(2_000_000)) {
        let idle = |hit: &Hit| hit.state == State::Idle;
        // What else runs may leave no core idle.
        let begin = Instant::now();
        let enough = |hits: &[Hit]| count(hits, idle) >= 20 || begin.elapsed() > LONG / 2;
        let (hits, _) = until(&mut *sampler, enough);
        if count(&hits, idle) == 0 {
            println!("skipped: no core was idle");
            continue;
        }
        let hit = hits.iter().find(|hit| idle(hit)).unwrap();
        let expected = Hit { count: hit.count, ..Hit::idle(hit.core) };
        assert_eq!((hit, hit.executable), (&expected, None), "{name}");
    }
}

/// Computes for a part of its core's time, in pieces of some milliseconds: the part in percent.
const PART_TIME: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
volatile unsigned long sum;
int main(int argc, char **argv) {
    double part = argc > 1 ? atof(argv[1]) / 100 : 1;
    puts("ready"); fflush(stdout);
    for (;;) {
        /* Never the same, so that it keeps step with nothing. */
        double whole = .01 + .02 * drand48(), begin = now();
        while (now() < begin + part * whole) for (int i = 0; i < 1000; i++) sum += i;
        double rest = (1 - part) * whole;
        if (rest > 0) nanosleep(&(struct timespec){0, rest * 1e9}, 0);
    }
}
"#;

/// Seconds that a core was idle, and that the host had taken it away, since the start.
fn idle_seconds(core: usize) -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let name = format!("cpu{core} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name)).unwrap();
    let ticks: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let second = rustix::param::clock_ticks_per_second() as f64;
    ((ticks[3] + ticks[4]) / second, ticks[7] / second)
}

/// Differences of idle shares from the kernel's account in standard errors, by both samplers and at
/// three rates at once, while each core computes for a part of its time.
fn idle_errors(part: u32, seconds: f64, program: &Path) -> Vec<f64> {
    let rates = [(1, 1_000_000_000), (10, 100_000_000), (97, 10_309_278)];
    let mut all = Vec::new();
    for (rate, period) in rates {
        all.extend(
            samplers(&options(period)).into_iter().map(|(way, sampler)| (way, rate, sampler)),
        );
    }
    let Some((_, _, first)) = all.first() else { return Vec::new() };
    let cores: Vec<usize> = first.cores().iter().collect();
    let start = |core: &usize| {
        let mut command = Command::new("taskset");
        let command = command.args(["-c", &core.to_string()]).arg(program).arg(part.to_string());
        Running(command.stdout(Stdio::null()).spawn().unwrap())
    };
    let children: Vec<Running> = cores.iter().map(start).collect();
    std::thread::sleep(Duration::from_millis(500));
    let mut gaps = Gaps::default();
    for (_, _, sampler) in &mut all {
        sampler.collect(&mut Vec::new(), &mut gaps).unwrap();
    }
    let sum = || {
        let each = cores.iter().map(|&core| idle_seconds(core));
        each.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
    };
    let (begin, before) = (Instant::now(), sum());
    let mut hits = vec![Vec::new(); all.len()];
    let mut gaps = Gaps::default();
    while begin.elapsed().as_secs_f64() < seconds {
        std::thread::sleep(Duration::from_millis(500));
        for ((_, _, sampler), hits) in all.iter_mut().zip(&mut hits) {
            sampler.collect(hits, &mut gaps).unwrap();
        }
    }
    let (after, elapsed) = (sum(), begin.elapsed().as_secs_f64() * cores.len() as f64);
    drop(children);
    let could_run = elapsed - (after.1 - before.1);
    let expected = ((after.0 - before.0) / could_run).clamp(0.0, 1.0);
    let errors = all.iter().zip(&hits).map(|((way, rate, _), hits)| {
        let samples = count(hits, |_| true) as f64;
        let found = count(hits, |hit| hit.state == State::Idle) as f64 / samples;
        // A sample more or less at either end, and ticks of the account.
        let error =
            (expected * (1.0 - expected) / samples).sqrt() + 0.5 / samples + 0.01 / elapsed;
        let error = (found - expected) / error;
        println!("{way}, {part} %, {rate} Hz: idle {found:.4} of {samples}, {expected:.4} by /proc/stat: {error:+.1}");
        error
    });
    errors.collect()
}

/// Clocks of idle cores stand still in virtual machines: shares are those of the kernel's account
/// all the same.
#[test]
fn idle_time_is_what_the_kernel_says() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "parttime", PART_TIME, &[]) else { return };
    for part in [5, 15, 50, 100] {
        let far = |seconds| {
            let errors = idle_errors(part, seconds, &program);
            errors.iter().filter(|error| error.abs() > 3.0).count()
        };
        // One of some hundred is farther by chance: a longer measurement decides.
        assert!(far(8.0) == 0 || far(16.0) == 0, "{part} %");
    }
}

#[test]
fn libraries_are_told_from_programs() {
    const LIBRARY: &str = "volatile unsigned long sum; void work(void) { for (unsigned long i = 0; i < 1000000; i++) sum += i; }";
    const PROGRAM: &str = r#"
    #include <stdio.h>
    void work(void);
    int main(void) { puts("ready"); fflush(stdout); for (int i = 0; i < 60000; i++) work(); }
    "#;
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let Some(library) = compiled(path, "libwork.so", LIBRARY, &["-shared", "-fPIC"]) else {
        return;
    };
    let runpath = format!("-Wl,-rpath,{}", path.display());
    let linked = ["-L", path.to_str().unwrap(), "-lwork", &runpath];
    let Some(program) = compiled(path, "user", PROGRAM, &linked) else { return };
    let range = place(&library, "work");
    for before in [true, false] {
        for (name, mut sampler) in samplers(&options(2_000_000)) {
            // Once the process is there before the sampler, once after it.
            let (child, _) = started(&program, 0);
            if before {
                match open_again(name) {
                    Some(again) => sampler = again,
                    None => continue,
                }
            }
            let process = child.0.id();
            let of_it = |hit: &Hit| hit.process == process && hit.file == FileId::of_path(&library);
            let (hits, _) = until(&mut *sampler, |hits| count(hits, of_it) >= 50);
            let inside = count(&hits, |hit| of_it(hit) && range.contains(&hit.offset));
            assert!(inside * 100 >= count(&hits, of_it) * 98, "{name}: {hits:?} {range:x?}");
            assert!(
                hits.iter().filter(|h| of_it(h)).all(|h| h.executable == FileId::of_path(&program))
            );
        }
    }
}

fn open_again(name: &str) -> Option<Box<dyn SystemSampler>> {
    samplers(&options(2_000_000)).into_iter().find(|opened| opened.0 == name).map(|opened| opened.1)
}

#[test]
fn programs_that_live_for_a_moment_are_known() {
    const SHORT: &str = "volatile unsigned long sum; int main(void) { for (unsigned long i = 0; i < 20000000; i++) sum += i; return 0; }";
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "shortlived", SHORT, &[]) else { return };
    for (name, mut sampler) in samplers(&options(500_000)) {
        for _ in 0..60 {
            assert!(Command::new(&program).status().unwrap().success());
        }
        // All of them are gone by now.
        let file = FileId::of_path(&program);
        let named = |hit: &Hit| hit.name.starts_with(b"shortlived\0");
        let (hits, _) = until(&mut *sampler, |hits| count(hits, named) >= 100);
        // The kernel names a process before it has given up what it executed, and once it has let
        // go of its memory.
        let known = count(&hits, |hit| named(hit) && hit.executable == file);
        assert!(known * 10 >= count(&hits, named) * 9, "{name}: {hits:?}");
        let user = |hit: &Hit| named(hit) && hit.state == State::User;
        let inside = count(&hits, |hit| user(hit) && hit.file == file);
        assert!(inside * 10 >= count(&hits, user) * 8, "{name}: {hits:?}");
    }
}

#[test]
fn own_processes_are_seen_without_privileges() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "spinner", SPINNER, &[]) else { return };
    let (child, _) = started(&program, 0);
    let mut sampler = match open_own(&options(2_000_000)) {
        Ok(sampler) => sampler,
        Err(error) => return missing(&error.to_string()).unwrap_or_default(),
    };
    let file = FileId::of_path(&program);
    let of_it = |hit: &Hit| hit.process == child.0.id() && hit.file == file;
    let (hits, gaps) = until(&mut *sampler, |hits| count(hits, of_it) >= 100);
    let range = place(&program, "spin");
    let inside = count(&hits, |hit| of_it(hit) && range.contains(&hit.offset));
    assert!(inside * 100 >= count(&hits, of_it) * 98, "{hits:?}");
    assert!(hits.iter().all(|hit| hit.state == State::User && hit.user.is_some()));
    assert!(gaps.iter().any(|gap| gap.detail.starts_with("only processes of this user")));
}

/// Run by the test below without privileges; else it says nothing.
#[test]
fn refusals_child() {
    if std::env::var_os("TALEA_TEST_REFUSED").is_none() {
        return;
    }
    let (bpf, rings) = (open_bpf(&options(1_000_000)), open_rings(&options(1_000_000), None));
    println!("bpf: {}", bpf.err().map_or_else(String::new, |error| error.to_string()));
    println!("rings: {}", rings.err().map_or_else(String::new, |error| error.to_string()));
    let mut gaps = Gaps::default();
    match open(&options(1_000_000), None, &mut gaps) {
        Ok(sampler) => println!("auto: {:?}, {} gaps", sampler.name(), gaps.iter().count()),
        Err(error) => println!("auto: {error}"),
    }
}

#[test]
fn refusals_say_what_is_missing() {
    let _alone = alone();
    if !rustix::process::geteuid().is_root() {
        return missing("only root can give up privileges").unwrap_or_default();
    }
    // Where anybody may read the test.
    let folder = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()
        .unwrap();
    let test = folder.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    let without = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"];
    let output = Command::new("setpriv")
        .args(without)
        .arg(&test)
        .current_dir(folder.path())
        .args(["--exact", "system::tests::refusals_child", "--nocapture"])
        .env("TALEA_TEST_REFUSED", "1")
        .output();
    let Ok(output) = output else { return missing("no setpriv").unwrap_or_default() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |name: &str| {
        text.lines()
            .find_map(|line| Some(line.split_once(name)?.1))
            .unwrap_or_else(|| panic!("{output:?}"))
            .to_owned()
    };
    let bpf = line("bpf: ");
    assert!(
        bpf.starts_with(
            "counting samples by a BPF program needs CAP_BPF and CAP_PERFMON: run as root"
        ),
        "{bpf}"
    );
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    let level: i32 = level.trim().parse().unwrap();
    let (rings, auto) = (line("rings: "), line("auto: "));
    if level > 0 {
        let expected = format!(
            "sampling every core needs CAP_PERFMON, or kernel.perf_event_paranoid 0 or less, which is {level}: run"
        );
        assert!(rings.starts_with(&expected), "{rings}");
        assert!(level > 2 || auto == "OwnProcesses, 2 gaps", "{auto}");
    }
}

const PHASES: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
__thread void *otel_thread_ctx_v1;
struct record { uint8_t trace[16], span[8], valid, flags; uint16_t size; uint8_t bytes[64]; } __attribute__((packed));
static struct record record;
static volatile unsigned long sum;
static void phase(const char *name, unsigned long turns) {
    record.valid = 0;
    unsigned length = strlen(name);
    uint8_t other[] = {9, 2, 'h', 'i', 3, length};
    memcpy(record.bytes, other, 6);
    memcpy(record.bytes + 6, name, length);
    record.size = 6 + length;
    record.valid = 1;
    for (unsigned long i = 0; i < turns; i++) sum += i;
}
int main(void) {
    char *thread;
    __asm__("mov %%fs:0, %0" : "=r"(thread));
    printf("%ld\n", (long)((char *)&otel_thread_ctx_v1 - thread));
    fflush(stdout);
    otel_thread_ctx_v1 = &record;
    for (int i = 0; i < 30000; i++) { phase("solve", 2000000); phase("exchange", 1000000); }
}
"#;

#[cfg(target_arch = "x86_64")]
#[test]
fn phases_are_read_where_threads_publish_them() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "phases", PHASES, &[]) else { return };
    let mut sampler = match open_bpf(&options(1_000_000)) {
        Ok(sampler) => sampler,
        Err(error) => return missing(&error.to_string()).unwrap_or_default(),
    };
    let (child, line) = started(&program, 0);
    let process = child.0.id();
    let tls = Tls { offset: line.trim().parse().unwrap(), attribute: 3 };
    assert!(sampler.set_tls(process, Some(tls)).unwrap());
    until(&mut *sampler, |_| true);
    let of = |name: &'static [u8]| {
        move |hit: &Hit| hit.process == process && hit.phase.as_deref() == Some(name)
    };
    let (solve, exchange) = (of(b"solve"), of(b"exchange"));
    let (hits, _) = until(&mut *sampler, |hits| count(hits, solve) + count(hits, exchange) >= 1500);
    let (two, one) = (count(&hits, solve) as f64, count(&hits, exchange) as f64);
    // Four standard errors around two thirds.
    let share = two / (two + one);
    let error = (2.0 / 9.0 / (two + one)).sqrt();
    assert!((share - 2.0 / 3.0).abs() < 4.0 * error + 0.02, "{two} : {one}");
    // An offset that leads nowhere gives no phase, and says so.
    sampler.set_tls(process, Some(Tls { offset: 1 << 40, attribute: 3 })).unwrap();
    until(&mut *sampler, |_| true);
    let (hits, gaps) = until(&mut *sampler, |hits| count(hits, |hit| hit.process == process) >= 20);
    let without = count(&hits, |hit| hit.process == process && hit.phase.is_none());
    assert!(without + 2 >= count(&hits, |hit| hit.process == process), "{hits:?}");
    assert!(
        gaps.iter().any(|gap| gap.detail.starts_with("samples have no phase") && gap.count > 0),
        "{gaps:?}"
    );
    sampler.set_tls(process, None).unwrap();
    sampler.set_tls(process, None).unwrap();
}

#[test]
fn rings_ask_for_phases_while_a_sample_is_fresh() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "spinner", SPINNER, &[]) else { return };
    let (child, _) = started(&program, 0);
    let wanted = child.0.id();
    let ask: PhaseOf = Box::new(move |process, thread| {
        (process == wanted && thread == wanted).then(|| Arc::from(&b"spinning"[..]))
    });
    let options = Options { wake: Wake::EachSample, ..options(5_000_000) };
    let mut sampler = match open_rings(&options, Some(ask)) {
        Ok(sampler) => sampler,
        Err(error) => return missing(&error.to_string()).unwrap_or_default(),
    };
    until(&mut *sampler, |_| true);
    // The kernel wakes whoever waits at a sample: twenty samples, not half of a ring.
    let mut woken = 0;
    for _ in 0..20 {
        let descriptors = sampler.descriptors();
        let mut polled: Vec<_> = descriptors
            .iter()
            .map(|fd| rustix::event::PollFd::new(fd, rustix::event::PollFlags::IN))
            .collect();
        let long = rustix::event::Timespec::try_from(LONG).unwrap();
        woken += rustix::event::poll(&mut polled, Some(&long)).unwrap();
        drop(polled);
        sampler.collect(&mut Vec::new(), &mut Gaps::default()).unwrap();
    }
    assert!(woken >= 20);
    let spinning = |hit: &Hit| hit.phase.as_deref() == Some(b"spinning");
    let (hits, _) = until(&mut *sampler, |hits| count(hits, spinning) >= 20);
    assert!(hits.iter().all(|hit| spinning(hit) == (hit.process == wanted)));
    assert!(!sampler.set_tls(wanted, None).unwrap());
}

#[test]
fn nothing_is_lost_or_counted_twice() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "spinner", SPINNER, &[]) else { return };
    // Busy cores: the timers of idle ones may rest.
    let children: Vec<_> =
        crate::cpus::online(&Root::machine()).iter().map(|core| started(&program, core)).collect();
    for (name, mut sampler) in samplers(&options(200_000)) {
        let (mut hits, mut gaps) = (Vec::new(), Gaps::default());
        // What came before is not of interest.
        sampler.collect(&mut Vec::new(), &mut gaps).unwrap();
        let begin = Instant::now();
        let mut collections = 0_u32;
        while begin.elapsed() < Duration::from_secs(2) {
            sampler.collect(&mut hits, &mut gaps).unwrap();
            collections += 1;
        }
        let elapsed = begin.elapsed().as_nanos() as f64;
        let samples = count(&hits, |_| true) as f64;
        let expected = elapsed / 200_000.0 * sampler.cores().len() as f64;
        // Virtual cores may stand still for a while; twice would be far more.
        assert!(
            samples < expected * 1.05 && samples > expected * 0.5,
            "{name}: {samples} of {expected} in {collections}"
        );
    }
    drop(children);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn what_a_full_table_cannot_hold_is_counted() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "spinner", SPINNER, &[]) else { return };
    let children: Vec<_> =
        crate::cpus::online(&Root::machine()).iter().map(|core| started(&program, core)).collect();
    let mut sampler = match bpf::Counted::with_entries(&options(200_000), 2) {
        Ok(sampler) => sampler,
        Err(error) => return missing(&error.to_string()).unwrap_or(()),
    };
    let (begin, mut gaps) = (Instant::now(), Gaps::default());
    while sampler.lost_samples() == 0 {
        assert!(begin.elapsed() < LONG, "two places have held all samples for {LONG:?}");
        std::thread::sleep(Duration::from_millis(20));
        let mut hits = Vec::new();
        sampler.collect(&mut hits, &mut gaps).unwrap();
        // Idle time that the core's account has and no sample shows is added after the table.
        let in_table = hits.iter().filter(|hit| hit.state != State::Idle).count();
        assert!(in_table <= 2, "{hits:?}");
    }
    let told = gaps.iter().find(|gap| gap.detail.contains("table of hits was full")).unwrap();
    assert_eq!((told.kind, told.count), (GapKind::MemoryBound, sampler.lost_samples()));
    drop(children);
}

#[test]
fn wrong_options_are_refused() {
    for period in [0, 99_999, u64::MAX] {
        let error = open_bpf(&options(period)).err().unwrap().to_string();
        assert!(error.starts_with("expected 100 µs to 1000 s between samples"), "{error}");
    }
}

/// Two libraries: one takes a page fault each time it has computed for a while, one computes only.
/// What faults there were in how much time is printed after each round.
const FAULTS: &str = r"
#include <sys/mman.h>
volatile unsigned long sum;
long faults(void) {
    static char *page;
    if (!page) page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned long i = 0; i < 20000; i++) sum += i;
    madvise(page, 4096, MADV_DONTNEED);
    *page = 1;
    return 1;
}
";
const QUIET: &str = r"
volatile unsigned long total;
long quiet(void) { for (unsigned long i = 0; i < 20000; i++) total += i; return 0; }
";
const ROUNDS: &str = r#"
#include <sched.h>
#include <stdio.h>
#include <time.h>
long faults(void), quiet(void);
/* Of this process: what others do meanwhile is none of its time. */
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(void) {
    /* Before all others on its core, for the few seconds of the test. */
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1});
    puts("ready"); fflush(stdout);
    for (;;) {
        double begin = now(), middle;
        long n = 0;
        do n += faults(); while (now() < begin + .2);
        middle = now();
        while (now() < middle + .2) quiet();
        printf("%ld %.9f\n", n, middle - begin); fflush(stdout);
    }
}
"#;

/// Page faults per second around samples in a file, and around how many samples.
fn rate_of(
    sampler: &dyn SystemSampler,
    rated: &[Rated],
    process: u32,
    file: Option<FileId>,
) -> (f64, u64) {
    let names: Vec<&str> = sampler.counters().iter().map(|c| c.name.as_str()).collect();
    let at = names.iter().position(|&name| name == "page-faults").unwrap();
    let mut sum = Sum::default();
    for one in rated.iter().filter(|one| one.hit.process == process && one.hit.file == file) {
        assert_eq!((one.hit.offset, one.hit.count), (0, 0));
        assert!(sum.add(one.sums[at]));
    }
    (sum.count as f64 / (sum.nanos.max(1) as f64 / 1e9), sum.samples)
}

#[test]
fn page_faults_belong_to_the_library_that_takes_them() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let shared = ["-shared", "-fPIC"];
    let Some(faults) = compiled(path, "libfaults.so", FAULTS, &shared) else { return };
    let Some(quiet) = compiled(path, "libquiet.so", QUIET, &shared) else { return };
    let runpath = format!("-Wl,-rpath,{}", path.display());
    let linked = ["-L", path.to_str().unwrap(), "-lfaults", "-lquiet", &runpath];
    let Some(program) = compiled(path, "rounds", ROUNDS, &linked) else { return };
    let counters = ["context-switches", "page-faults"].map(str::to_owned).to_vec();
    for (name, mut sampler) in samplers(&Options { counters, ..options(2_000_000) }) {
        assert_eq!(sampler.counters().len(), 2, "{name}");
        let core = sampler.cores().iter().last().unwrap();
        let (mut child, _) = started(&program, core);
        let process = child.0.id();
        let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let mut found = Vec::new();
        // Others on the core are in the rates too: a round without them is waited for, not for
        // ever.
        for _ in 0..12 {
            let (mut hits, mut rated, mut gaps) = (Vec::new(), Vec::new(), Gaps::default());
            let (mut count, mut time) = (0.0, 0.0);
            for _ in 0..5 {
                let line = lines.next().unwrap().unwrap();
                let (n, seconds) = line.split_once(' ').unwrap();
                count += n.parse::<f64>().unwrap();
                time += seconds.parse::<f64>().unwrap();
                sampler.collect(&mut hits, &mut gaps).unwrap();
                sampler.rated(&mut rated).unwrap();
            }
            assert!(
                !gaps.iter().any(|gap| gap.detail.contains("counts around")),
                "{name}: {gaps:?}"
            );
            let truth = count / time;
            let (rate, samples) = rate_of(&*sampler, &rated, process, FileId::of_path(&faults));
            let (none, quiet) = rate_of(&*sampler, &rated, process, FileId::of_path(&quiet));
            println!("{name}: {rate:.0} of {truth:.0}/s at {samples}, {none:.0} at {quiet}");
            found.push(
                samples > 100
                    && quiet > 100
                    && (rate / truth - 1.0).abs() < 0.15
                    && none < truth * 0.1,
            );
            if found.last() == Some(&true) {
                break;
            }
        }
        assert_eq!(found.last(), Some(&true), "{name}");
        // Nothing is counted while another tool has the counters, and samples go on.
        sampler.release_counters();
        let (mut hits, mut rated, mut gaps) = (Vec::new(), Vec::new(), Gaps::default());
        sampler.collect(&mut hits, &mut gaps).unwrap();
        sampler.rated(&mut rated).unwrap();
        rated.clear();
        let (hits, _) = until(&mut *sampler, |hits| count(hits, |hit| hit.process == process) > 50);
        sampler.rated(&mut rated).unwrap();
        assert!(rated.is_empty() && !hits.is_empty(), "{name}: {}", rated.len());
        sampler.resume_counters();
        let begin = Instant::now();
        while rated.is_empty() {
            until(&mut *sampler, |_| true);
            sampler.rated(&mut rated).unwrap();
            assert!(begin.elapsed() < LONG, "{name}");
        }
    }
}

#[test]
fn without_counters_nothing_is_rated() {
    let _alone = alone();
    for (name, mut sampler) in samplers(&options(2_000_000)) {
        let mut rated = Vec::new();
        until(&mut *sampler, |hits| count(hits, |_| true) > 50);
        sampler.rated(&mut rated).unwrap();
        assert!(rated.is_empty() && sampler.counters().is_empty(), "{name}");
    }
}

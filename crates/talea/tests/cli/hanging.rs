//! A file system that hangs, as with a file server that is down: the agent goes on, and so do questions for functions.
//!
//! Owns a small file system of one file, by the protocol of FUSE (`linux/fuse.h`, fuse(4)), that stops answering on demand.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use talea_agent::Files;
use talea_agent::slots::Slots;
use talea_mark::reader;
use talea_model::Module;
use talea_run::foreign::Readers;
use talea_run::symbols::{Bounds, FunctionNames, NoNames};

use super::always::{Running, of, plain, samples};
use super::bench::{Bench, missing};

/// A mounted file system with one file.
struct Hanging {
    folder: PathBuf,
    name: &'static str,
    stopped: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

impl Hanging {
    /// Mounts it with a file of this name and these bytes; none where this user may not.
    #[track_caller]
    fn mounted(bench: &Bench, name: &'static str, bytes: Vec<u8>) -> Option<Self> {
        let folder = bench.path("mounted");
        fs::create_dir(&folder).unwrap();
        let Ok(device) = File::options().read(true).write(true).open("/dev/fuse") else {
            return missing("/dev/fuse cannot be opened");
        };
        let options =
            format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other\0", device.as_raw_fd());
        let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes()).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        if let Err(error) = mount("talea", &folder, "fuse", flags, options) {
            return missing(&format!("no file system can be mounted: {error}"));
        }
        let (stopped, ended) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let flags = (Arc::clone(&stopped), Arc::clone(&ended));
        let server = std::thread::spawn(move || serve(&device, name, &bytes, &flags.0, &flags.1));
        Some(Self { folder, name, stopped, ended, server: Some(server) })
    }

    fn file(&self) -> PathBuf {
        self.folder.join(self.name)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Requests of before have their answer.
        std::thread::sleep(Duration::from_millis(100));
    }

    fn go_on(&self) {
        self.stopped.store(false, Ordering::SeqCst);
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        // Requests end when the device is closed.
        self.ended.store(true, Ordering::SeqCst);
        let _ = self.server.take().unwrap().join();
        let _ = unmount(&self.folder, UnmountFlags::DETACH);
    }
}

/// Answers until the end; nothing is taken from the kernel while it is stopped, as by a process that has SIGSTOP.
fn serve(device: &File, name: &str, bytes: &[u8], stopped: &AtomicBool, ended: &AtomicBool) {
    let mut request = vec![0; 1 << 18];
    while !ended.load(Ordering::SeqCst) {
        let mut ready = [PollFd::new(device, PollFlags::IN)];
        let soon = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let is_ready = !stopped.load(Ordering::SeqCst) && poll(&mut ready, Some(&soon)) == Ok(1);
        if !is_ready {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        let Ok(length) = (&*device).read(&mut request) else { return };
        if let Some(answer) = answer(&request[..length], name, bytes) {
            // An interrupted request takes no answer.
            let _ = (&*device).write_all(&answer);
        }
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The answer to a request; none to requests that take none.
fn answer(request: &[u8], name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    const NO_SUCH: i32 = -2;
    const NOT_DONE: i32 = -38;
    let word = |at: usize| u32::from_ne_bytes(request[at..at + 4].try_into().unwrap());
    let (code, unique, node, body) = (word(4), number(request, 8), number(request, 16), 40);
    let attributes = |node: u64| {
        let is_file = node == 2;
        let size = if is_file { bytes.len() as u64 } else { 0 };
        let mode: u32 = if is_file { 0o100_755 } else { 0o040_755 };
        let longs = [node, size, size.div_ceil(512), 0, 0, 0];
        let words = [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0];
        [longs.map(u64::to_ne_bytes).concat(), words.map(u32::to_ne_bytes).concat()].concat()
    };
    let zeros = |count: usize| vec![0_u8; count];
    let (error, data) = match code {
        // Forgetting and interrupting.
        2 | 36 | 42 => return None,
        // The begin: version 7.31, with what is written at most.
        26 => {
            let mut data = zeros(64);
            data[..4].copy_from_slice(&7_u32.to_ne_bytes());
            data[4..8].copy_from_slice(&31_u32.to_ne_bytes());
            data[20..24].copy_from_slice(&4096_u32.to_ne_bytes());
            (0, data)
        }
        1 if request[body..].strip_suffix(&[0]) == Some(name.as_bytes()) => {
            (0, [&2_u64.to_ne_bytes()[..], &zeros(32), &attributes(2)].concat())
        }
        1 => (NO_SUCH, Vec::new()),
        3 => (0, [&zeros(16)[..], &attributes(node)].concat()),
        // Opening files and folders.
        14 | 27 => (0, zeros(16)),
        15 => {
            let from = (number(request, body + 8) as usize).min(bytes.len());
            let to = (from + word(body + 16) as usize).min(bytes.len());
            (0, bytes[from..to].to_vec())
        }
        // Flushing and releasing.
        18 | 25 | 29 => (0, Vec::new()),
        _ => (NOT_DONE, Vec::new()),
    };
    let length = (16 + data.len()) as u32;
    Some([&length.to_ne_bytes()[..], &error.to_ne_bytes(), &unique.to_ne_bytes(), &data].concat())
}

/// Waits until a program runs in its loop: all that it needs of its file is in memory then.
fn has_run(process: u32) {
    let begin = Instant::now();
    loop {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let ticks: u64 = fields.split_whitespace().nth(11).unwrap().parse().unwrap();
        if ticks > 30 {
            return;
        }
        assert!(begin.elapsed() < Duration::from_mins(1), "{stat}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_file_system_that_hangs_stops_neither_the_agent_nor_questions() {
    let (Some(bench), Some(other)) = (Bench::new(), plain("shares")) else { return };
    let bytes = fs::read("/bin/dash").unwrap();
    let Some(system) = Hanging::mounted(&bench, "program", bytes) else { return };
    let mut program = Command::new(system.file());
    let program = program.args(["-c", "while :; do :; done"]).spawn().unwrap();
    let number = program.id();
    let _program = Running::of(program);
    has_run(number);
    system.stop();
    let path = system.file().display().to_string();

    // The agent meets the file for the first time.
    let store = "sqlite:t.db";
    let Some(agent) = Running::agent(&bench, store, &["--sampler", "bpf"], 0) else { return };
    assert!(Command::new(&other).arg("3").output().unwrap().status.success());
    let end = Instant::now();
    let said = agent.stopped();
    assert!(end.elapsed() < Duration::from_secs(20), "it ended {:?} later", end.elapsed());
    assert!(said.contains("batches; the agent took"), "{said}");
    let answer = bench.json(&["usage", "--store", store, "--by", "executable", "--json"]);
    let seen = of(&answer, "executable", &path);
    let name = other.canonicalize().unwrap().display().to_string();
    let of_other = of(&answer, "executable", &name);
    assert!(seen > 200.0 && of_other > 200.0, "{seen} {of_other} of {}", samples(&answer));
    let gaps = answer["gaps"].as_array().unwrap();
    let told = |gap: &&serde_json::Value| gap["detail"].as_str().unwrap().contains("file system");
    assert!(gaps.iter().any(|gap| told(&gap)), "{gaps:?}");

    // One question for functions waits, and the others do not.
    let names = FunctionNames::new(Bounds::default(), Readers::ThisProcess);
    let hung = |build_id: &str| {
        let module = Module { path: path.clone(), build_id: build_id.to_owned() };
        names.name(&module, 0)
    };
    let begin = Instant::now();
    for build_id in ["aa", "ab", "ac", "ad", "ae", "af"] {
        assert_eq!(hung(build_id), Err(NoNames::Hangs));
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    let own = Module { path: name, build_id: "00".to_owned() };
    assert_eq!(names.name(&own, 0), Err(NoNames::OtherBuild));
    system.go_on();
    let begin = Instant::now();
    while hung(&format!("{:x}", begin.elapsed().as_millis())) == Err(NoNames::Hangs) {
        assert!(begin.elapsed() < Duration::from_secs(20), "it does not come back");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A library that hangs takes the phases of its own process only, and not those of all programs on the same device.
#[test]
fn a_library_that_hangs_hides_no_phases_of_other_processes() {
    let (Some(bench), Some(program)) = (Bench::new(), plain("phases")) else { return };
    let library = bench.library().with_file_name("libtalea_mark.so");
    if !library.is_file() {
        return missing("libtalea_mark.so is not built: `cargo build -p talea-mark`").unwrap_or(());
    }
    let bytes = fs::read(&library).unwrap();
    let Some(system) = Hanging::mounted(&bench, "libtalea_mark.so", bytes) else { return };
    let mut command = Command::new(&program);
    let child = command.args(["600", "1"]).env("LD_PRELOAD", system.file()).spawn().unwrap();
    let number = child.id();
    let _running = Running::of(child);
    has_run(number);
    system.stop();
    let store = "sqlite:p.db";
    let Some(agent) = Running::agent(&bench, store, &["--sampler", "bpf"], 600) else { return };
    let mut command = Command::new(&program);
    let output = command.args(["6", "2"]).env("LD_PRELOAD", &library).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = agent.stopped();
    assert!(said.contains("batches; the agent took"), "{said}");
    let words = ["usage", "--store", store, "--by", "phase", "--executable", "*/phases", "--json"];
    let answer = bench.json(&words);
    let seen = of(&answer, "phase", "long") + of(&answer, "phase", "short");
    assert!(seen > 200.0, "{seen} of {answer}");
    let gaps = answer["gaps"].as_array().unwrap();
    let told = |gap: &&serde_json::Value| gap["detail"].as_str().unwrap().contains("file system");
    assert!(gaps.iter().any(|gap| told(&gap)), "{gaps:?}");
}

/// Maps a file without reading it, prints a line and waits.
const MAPS: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int file = open(argv[1], O_RDONLY);
    if (file < 0 || mmap(0, 1 << 20, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED) return 1;
    puts("ready");
    fflush(stdout);
    pause();
}
"#;

/// A user may give a file of a file system that hangs the name of a table of phases: whoever reads its memory would wait for ever.
#[test]
fn memory_of_a_file_system_that_hangs_has_no_phases_and_stops_no_sampler() {
    let Some(bench) = Bench::new() else { return };
    let Some(program) = compiled(&bench, MAPS) else { return };
    let Some(system) = Hanging::mounted(&bench, "memfd:talea_mark", vec![0; 1 << 20]) else {
        return;
    };
    let mut command = Command::new(program);
    let mut child = command.arg(system.file()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let number = child.id();
    // A process whose memory is being read ends after the file system only: fields are dropped in this order.
    let (system, _running) = &(system, Running::of(child));
    assert_eq!(line, "ready\n");
    // Detached, the file system has no folder: its file is named as those of memory are.
    unmount(&system.folder, UnmountFlags::DETACH).unwrap();
    system.stop();
    let maps = fs::read_to_string(format!("/proc/{number}/maps")).unwrap();
    assert!(reader::table_in(&maps).is_some(), "{maps}");

    let mut slots = Slots::new(Files::default());
    let begin = Instant::now();
    assert_eq!(slots.phase_of(number, number), None);
    let waited = begin.elapsed();
    assert!(waited > Duration::from_millis(500), "it does not hang: {waited:?}");
    for _ in 0..1000 {
        assert_eq!(slots.phase_of(number, number), None);
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    // Phases of another process are seen.
    let own = (std::process::id(), rustix::thread::gettid().as_raw_nonzero().get() as u32);
    let _phase = talea_mark::phase!("others");
    assert_eq!(slots.phase_of(own.0, own.1).as_deref(), Some(&b"others"[..]));
}

/// Compiles a C program; none without a compiler.
#[track_caller]
fn compiled(bench: &Bench, source: &str) -> Option<PathBuf> {
    let (text, program) = (bench.path("compiled.c"), bench.path("compiled"));
    fs::write(&text, source).unwrap();
    let Ok(output) = Command::new("cc").arg("-o").arg(&program).arg(&text).output() else {
        return missing("no C compiler (cc)");
    };
    assert!(output.status.success(), "{output:?}");
    Some(program)
}

//! The recording that `generate_run` makes is a whole one, with the calls that its program states.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use talea_model::Nanos;
use talea_run::load::load;

const RANKS: u32 = 12;
const KINDS: u32 = 3;

#[test]
fn generated_ranks_call_as_their_kind_does() {
    let here = std::env::current_exe().unwrap();
    // Beside the folder of the test programs.
    let example = here.parent().unwrap().with_file_name("examples").join("generate_run");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let (ranks, kinds) = (RANKS.to_string(), KINDS.to_string());
    let words = ["--ranks", &ranks, "--events", "200", "--behaviours", &kinds];
    let done = Command::new(&example).arg(&out).args(words).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let run = load(&out).unwrap();
    assert!(run.recording.gaps.is_empty(), "{:?}", run.recording.gaps);
    assert_eq!(run.recording.processes.len(), RANKS as usize);
    assert!(run.metadata.command.contains("generated"), "{}", run.metadata.command);
    let mut steps = Vec::new();
    for (rank, process) in (0..RANKS).zip(&run.recording.processes) {
        let thread = &process.threads[0];
        let mut events = process.events(&run.recording, thread);
        let (mut sends, mut sums, mut now) = (0, 0, Nanos(0));
        while let Some(event) = events.next_event() {
            let begin = event.begin.unwrap();
            // Within the error of recorded times.
            assert!(begin + Nanos(20_000) >= now, "rank {rank}: {begin} after {now}");
            now = begin + event.duration.unwrap();
            let signature = thread.log.nodes[event.node.0 as usize].signature;
            let procedure = run.recording.procedure(signature.procedure);
            let value = |name: &str| {
                event.args[procedure.args.iter().position(|arg| arg.name == name).unwrap()]
            };
            match procedure.name.as_str() {
                "MPI_Sendrecv" => {
                    sends += 1;
                    assert_eq!(value("dest"), i64::from((rank + 1) % RANKS));
                    assert_eq!(value("source"), i64::from((rank + RANKS - 1) % RANKS));
                }
                "MPI_Allreduce" => sums += usize::from(value("comm") != 0),
                _ => {}
            }
        }
        // In each step one message, and a sum more than the number of the kind.
        assert_eq!(sums, sends * (rank % KINDS + 1) as usize, "rank {rank}");
        steps.push(sends);
    }
    assert!(steps[0] > 20 && steps.iter().all(|&own| own == steps[0]), "{steps:?}");
}

#[test]
fn words_that_are_wrong_are_refused() {
    let here = std::env::current_exe().unwrap();
    let example = here.parent().unwrap().with_file_name("examples").join("generate_run");
    for words in [&[][..], &["out", "--ranks", "x"], &["out", "--behaviours", "9"], &["a", "b"]] {
        let done = Command::new(&example).args(words).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{words:?}");
        assert!(!done.stderr.is_empty(), "{words:?}");
    }
}

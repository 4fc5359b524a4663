//! Waiting, against programs whose waits are known: rank 1 sleeps while rank 0 is in a call.

use super::bench::{Bench, Mpi};

/// The sentence of the report on time in MPI.
fn sentence(bench: &Bench, run: &str) -> String {
    let page = std::fs::read_to_string(bench.path(run).join("report.html")).unwrap();
    let at = page.find("is spent in MPI").unwrap();
    let begin = page[..at].rfind('"').unwrap() + 1;
    let end = at + page[at..].find('"').unwrap();
    page[begin..end].to_owned()
}

#[test]
fn time_before_the_partner_comes_is_waiting() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let program = mpi.program("late").display().to_string();
        for (way, call) in [
            ("send", "MPI_Send"),
            ("sendrecv", "MPI_Sendrecv"),
            ("recv", "MPI_Recv"),
            ("waitall", "MPI_Waitall"),
            ("allreduce", "MPI_Allreduce"),
            ("barrier", "MPI_Barrier"),
        ] {
            let name = format!("{}-{way}", mpi.name);
            let mut command = mpi.launch(2);
            // Sleeps of several turns of the scheduler, so that busy cores leave some waiting.
            command.extend([&program, way, "50", "20"].map(str::to_owned));
            let output = bench.record(&name, &[], &command);
            let said = String::from_utf8(output.stdout).unwrap();
            let truth: f64 = said.trim().strip_prefix("waiting ").unwrap().parse().unwrap();
            // Half of the time, unless other programs take the cores.
            assert!(truth > 0.02, "{said}");
            let stats = bench.json(&["show", &name, "stats", "--json"]);
            let found = stats["waiting_share"].as_f64().unwrap();
            assert!((found - truth).abs() < 0.02, "{name}: {found} for {truth}");
            let text = sentence(&bench, &name);
            // Beside other programs it is unknown.
            if !text.contains("wait for PUs") {
                assert!(text.contains("is waiting for ranks that come later"), "{text}");
                assert!(text.contains(call), "{text}");
            }
        }
    }
}

#[test]
fn who_waits_for_nobody_is_not_said_to_wait() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let mut command = mpi.launch(2);
        command.push(mpi.program("late").display().to_string());
        command.extend(["send", "400", "0"].map(str::to_owned));
        bench.record(mpi.name, &[], &command);
        let stats = bench.json(&["show", mpi.name, "stats", "--json"]);
        let (inside, waits) = (&stats["mpi_share"], &stats["waiting_share"]);
        // Nearly all is transfer.
        assert!(inside.as_f64().unwrap() > 0.5, "{stats}");
        assert!(waits.as_f64().unwrap() < 0.5 * inside.as_f64().unwrap(), "{stats}");
    }
}

//! MPI launchers: the one that a command starts with, and its option that hands variables on.
//!
//! Owns what each does with the environment. Children on the same host inherit it under all of
//! them; on other hosts Open MPI hands on only what `-x` names (mpirun(1)), while MPICH's and
//! Intel's hydra, and Slurm's srun with its default `--export=ALL`, hand on everything.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::environment::Variables;

/// A launcher that should answer `--version` within this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Command that starts the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI's mpirun, or prterun of PRRTE behind it.
    OpenMpi,
    /// Hydra of MPICH, MVAPICH and Intel MPI.
    Hydra,
    /// Slurm.
    Srun,
    /// Another one, a script, or the program itself.
    Other,
}

/// The launch that this process is one of several of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Its launcher.
    pub launcher: &'static str,
    /// How many processes it started.
    pub size: u32,
    /// Which of them this is.
    pub rank: u32,
}

/// Whether a launcher started this process with others, by what it leaves in the environment.
pub fn inside(variable: impl Fn(&str) -> Option<String>) -> Option<Inside> {
    const LEFT: [(&str, &str, &str); 3] = [
        ("mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
        ("srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
        ("mpirun", "PMI_SIZE", "PMI_RANK"),
    ];
    LEFT.into_iter().find_map(|(launcher, size, rank)| {
        let number = |name| variable(name)?.parse().ok();
        let found = Inside { launcher, size: number(size)?, rank: number(rank)? };
        (found.size > 1).then_some(found)
    })
}

/// Whether a name is that of a launcher; Debian adds the MPI's name after a dot.
pub fn is_launcher(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    matches!(stem, "mpirun" | "mpiexec" | "orterun" | "prterun" | "srun")
}

/// Which launcher a program is, if any.
pub fn detect(program: &Path) -> Launcher {
    if !is_launcher(program) {
        return Launcher::Other;
    }
    version(program).map_or(Launcher::Other, |text| Launcher::of_version(&text))
}

/// A launcher's text about its version; absent where it does not answer in time.
pub fn version(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begin = Instant::now();
    let mut said = Vec::new();
    let mut out = child.stdout.take().filter(|out| never_waits(out).is_ok());
    let ended = loop {
        let state = child.try_wait();
        // A program that ended has printed everything; a process that it left behind may keep the
        // pipe open.
        if let Some(out) = &mut out {
            listen(out, &mut said);
        }
        match state {
            Ok(Some(_)) => break true,
            Ok(None) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(2)),
            _ => break false,
        }
    };
    if !ended {
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    Some(String::from_utf8_lossy(&said).into_owned())
}

fn never_waits(out: &ChildStdout) -> rustix::io::Result<()> {
    fcntl_setfl(out, fcntl_getfl(out)? | OFlags::NONBLOCK)
}

/// Takes what is in the pipe, and forgets what no version is long enough for.
fn listen(out: &mut ChildStdout, said: &mut Vec<u8>) {
    const MOST: usize = 1 << 16;
    let mut bytes = [0; 4096];
    // As much as the pipe holds, not what may be written meanwhile.
    for _ in 0..16 {
        let Ok(count @ 1..) = out.read(&mut bytes) else { return };
        let room = MOST - said.len();
        said.extend(&bytes[..count.min(room)]);
    }
}

impl Launcher {
    fn of_version(text: &str) -> Self {
        let lower = text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if says(&["open mpi", "openrte", "open-mpi", "prrte", "prte"]) {
            Self::OpenMpi
        } else if says(&["hydra", "intel(r) mpi", "mpich", "mvapich"]) {
            Self::Hydra
        } else if says(&["slurm"]) {
            Self::Srun
        } else {
            Self::Other
        }
    }

    /// The command with what makes the launcher hand the variables on to other hosts.
    pub(crate) fn with_exports(self, command: &[OsString], variables: &Variables) -> Vec<OsString> {
        let mut words = command.to_vec();
        // Open MPI refuses -x together with its own list of variables.
        let listed = std::env::var_os("OMPI_MCA_mca_base_env_list").is_some();
        if self == Self::OpenMpi && !listed {
            let exports =
                variables.names().flat_map(|name| [OsString::from("-x"), OsString::from(name)]);
            words.splice(1..1, exports);
        }
        words
    }

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "Open MPI",
            Self::Hydra => "hydra (MPICH, Intel MPI)",
            Self::Srun => "Slurm",
            Self::Other => "unknown launcher",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_launcher_know_it() {
        let check = |set: &[(&str, &str)], expected: Option<(&str, u32, u32)>| {
            let found = inside(|name| Some(set.iter().find(|one| one.0 == name)?.1.to_owned()));
            assert_eq!(found.map(|one| (one.launcher, one.size, one.rank)), expected, "{set:?}");
        };
        check(&[], None);
        check(
            &[("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_RANK", "1")],
            Some(("mpirun", 2, 1)),
        );
        check(&[("PMI_SIZE", "1"), ("PMI_RANK", "0")], None);
        check(&[("PMI_SIZE", "4")], None);
        let step = [
            ("SLURM_STEP_NUM_TASKS", "8"),
            ("SLURM_PROCID", "3"),
            ("PMI_SIZE", "8"),
            ("PMI_RANK", "3"),
        ];
        check(&step, Some(("srun", 8, 3)));
        // A batch script has the number of tasks of its job, and is alone.
        check(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")], None);
    }

    #[test]
    fn versions_end_whatever_a_launcher_leaves_behind() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let said = |script: &str| {
            let path = folder.path().join("mpirun");
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            version(&path)
        };
        let left = "echo Open MPI; sleep 600 & echo $! >\"$0.pid\"";
        assert_eq!(said(left).as_deref(), Some("Open MPI\n"));
        let pid = std::fs::read_to_string(folder.path().join("mpirun.pid")).unwrap();
        let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        // More than a pipe holds, and no text.
        assert_eq!(said("head -c 200000 /dev/zero").map(|text| text.len()), Some(1 << 16));
        assert_eq!(said("printf 'MPICH \\377'").as_deref(), Some("MPICH \u{fffd}"));
    }

    #[test]
    fn launchers_by_name_and_version() {
        for name in ["mpirun", "/usr/bin/mpiexec.hydra", "mpirun.openmpi", "srun", "prterun"] {
            assert!(is_launcher(Path::new(name)), "{name}");
        }
        assert!(!is_launcher(Path::new("./halo")));
        let check = |text, expected| assert_eq!(Launcher::of_version(text), expected);
        check("mpirun (Open MPI) 4.1.4\n\nReport bugs to ...", Launcher::OpenMpi);
        check("mpirun (Open MPI) 5.0.8\n", Launcher::OpenMpi);
        check("prterun (PRRTE) 3.0.2", Launcher::OpenMpi);
        check("HYDRA build details:\n    Version:  4.0.2", Launcher::Hydra);
        check("Intel(R) MPI Library for Linux* OS, Version 2021.9", Launcher::Hydra);
        check("slurm 23.11.4", Launcher::Srun);
        check("", Launcher::Other);
    }
}

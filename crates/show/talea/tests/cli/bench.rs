//! What the tests stand on: the built program, its library, the MPIs of this machine, and a folder
//! of one's own.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use talea_testing::{checkout, missing};

use serde_json::Value;

/// An MPI with the demonstration programs built for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mpi {
    /// Folder of its programs below `apps/bin`.
    pub(super) name: &'static str,
    /// A program of this machine, or one below the checkout, and its own words.
    launcher: &'static [&'static str],
}

const OPENMPI: Mpi = Mpi { name: "openmpi", launcher: &["mpirun.openmpi"] };
const MPICH: Mpi = Mpi { name: "mpich", launcher: &["mpirun.mpich"] };
const MPIS: [Mpi; 2] = [OPENMPI, MPICH];

/// What `scripts/setup.sh test` puts into the checkout. Programs in `abi` are made for the standard
/// ABI of MPI 5.
const MPICH_5: Mpi = Mpi { name: "mpich5", launcher: &["target/mpis/mpich/bin/mpiexec"] };
const ABI: Mpi = Mpi { name: "abi", launcher: &["target/mpis/mpich/bin/mpiexec"] };
const OPENMPI_5: Mpi = Mpi {
    name: "openmpi5",
    launcher: &[
        "target/mpis/openmpi/bin/mpiexec",
        "--oversubscribe",
        // It lacks what the settings ask of Open MPI 4.
        "--mca",
        "btl",
        "self,sm,tcp",
        "--mca",
        "osc",
        "sm,rdma",
    ],
};

/// A temporary folder with what is needed to record in it.
#[derive(Debug)]
pub(super) struct Bench {
    folder: tempfile::TempDir,
    library: PathBuf,
}

/// The recording library, which cargo builds beside this crate's program.
fn library() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_BIN_EXE_talea")).parent()?;
    let named = std::env::var_os("TALEA_MPI_LIBRARY").map(PathBuf::from);
    let places =
        [named, Some(beside.join("libtalea_mpi.so")), Some(beside.join("deps/libtalea_mpi.so"))];
    places.into_iter().flatten().find(|path| path.is_file())
}

fn apps() -> PathBuf {
    checkout().join("apps/bin")
}

impl Mpi {
    /// MPIs of this machine whose programs are built.
    #[track_caller]
    pub(super) fn all() -> Vec<Self> {
        MPIS.into_iter().filter_map(Self::usable).collect()
    }

    /// Versions 5 of MPICH and Open MPI, and the standard ABI. They have no Fortran.
    #[track_caller]
    pub(super) fn newer() -> Vec<Self> {
        [MPICH_5, ABI, OPENMPI_5].into_iter().filter_map(Self::usable).collect()
    }

    /// Those that have all of MPI 4.
    #[track_caller]
    pub(super) fn with_mpi_4() -> Vec<Self> {
        [MPICH, MPICH_5, ABI].into_iter().filter_map(Self::usable).collect()
    }

    /// Those that have sessions and partitioned messages.
    #[track_caller]
    pub(super) fn with_sessions() -> Vec<Self> {
        [MPICH, MPICH_5, ABI, OPENMPI_5].into_iter().filter_map(Self::usable).collect()
    }

    /// One of them.
    #[track_caller]
    pub(super) fn any() -> Option<Self> {
        let usable = |mpi: &Self| mpi.program("halo").is_file() && mpi.is_installed();
        MPIS.into_iter()
            .find(usable)
            .or_else(|| missing("no MPI with programs in apps/bin: `make -C apps`"))
    }

    #[track_caller]
    fn usable(self) -> Option<Self> {
        if !self.is_installed() {
            let launcher = self.launcher[0];
            return missing(&format!("{launcher} is not installed: `scripts/setup.sh test`"));
        }
        if !self.program("halo").is_file() || !self.program("liblogger.so").is_file() {
            return missing(&format!("programs of {} are not built: `make -C apps`", self.name));
        }
        Some(self)
    }

    /// A program or library of this MPI.
    pub(super) fn program(self, name: &str) -> PathBuf {
        apps().join(self.name).join(name)
    }

    /// The words that start `ranks` ranks.
    pub(super) fn launch(self, ranks: u32) -> Vec<String> {
        let mut words: Vec<String> = self.launcher.iter().map(|&word| word.to_owned()).collect();
        if words[0].contains('/') {
            words[0] = checkout().join(&words[0]).display().to_string();
        }
        words.extend(["-n".to_owned(), ranks.to_string()]);
        words
    }

    fn is_installed(self) -> bool {
        let launcher = self.launcher[0];
        if launcher.contains('/') { checkout().join(launcher).is_file() } else { on_path(launcher) }
    }
}

pub(super) fn on_path(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

impl Bench {
    /// A new folder, if programs can be recorded at all.
    #[track_caller]
    pub(super) fn new() -> Option<Self> {
        let Some(library) = library() else {
            return missing("libtalea_mpi.so is not built: `cargo build -p talea-mpi`");
        };
        Some(Self { folder: tempfile::tempdir().unwrap(), library })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn library(&self) -> &Path {
        &self.library
    }

    /// `talea` with these words, in the folder, with what lets MPI run more ranks than there are
    /// cores.
    pub(super) fn talea<I: AsRef<std::ffi::OsStr>>(
        &self,
        words: impl IntoIterator<Item = I>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_talea"));
        command
            .args(words)
            .current_dir(self.folder.path())
            .env("TALEA_MPI_LIBRARY", &self.library)
            .env("NO_COLOR", "1")
            .envs(SETTINGS);
        command
    }

    /// Records a command into the run directory `name`, which must succeed.
    #[track_caller]
    pub(super) fn record(&self, name: &str, options: &[&str], command: &[String]) -> Output {
        let output = self.record_within(MOST_SECONDS, name, options, command);
        let Some(output) = output else { panic!("{command:?} does not end") };
        assert!(output.status.success(), "{command:?}: {output:?}");
        output
    }

    /// The same, with any outcome; none if it takes longer than so many seconds, after which it is
    /// ended.
    pub(super) fn record_within(
        &self,
        seconds: u32,
        name: &str,
        options: &[&str],
        command: &[String],
    ) -> Option<Output> {
        let talea = self.talea(["run", "--out"]);
        // A launcher that is told to end ends its ranks, wherever they run.
        let mut limited = Command::new("timeout");
        limited.arg("--kill-after=10").arg(seconds.to_string());
        limited.arg(talea.get_program()).args(talea.get_args()).arg(self.path(name));
        limited.args(options).arg("--").args(command).current_dir(self.folder.path());
        for (name, value) in talea.get_envs() {
            limited.env(name, value.unwrap_or_default());
        }
        let output = limited.output().unwrap();
        let ended = !matches!(output.status.code(), Some(124 | 137));
        ended.then_some(output)
    }

    /// Standard output of a command that must succeed.
    #[track_caller]
    pub(super) fn text(&self, words: &[&str]) -> String {
        let output = self.talea(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Its JSON.
    #[track_caller]
    pub(super) fn json(&self, words: &[&str]) -> Value {
        let found = serde_json::from_str(&self.text(words)).unwrap();
        super::schemas::check(words, &found);
        found
    }

    /// Asks for the report of a run whose recording left it to a later command, as it would have
    /// taken longer than users wait. That depends on the number of calls.
    #[track_caller]
    pub(super) fn reported(&self, run: &str) {
        let report = self.path(run).join("report.html");
        if !report.exists() {
            self.text(&["report", run]);
        }
        assert!(report.is_file());
    }

    /// The data of a run's report.
    #[track_caller]
    pub(super) fn report(&self, run: &str) -> Value {
        page_data(&self.text(&["report", run, "--out", "-"]))["report"].clone()
    }

    /// Demands that a run's report from stored sums is that from its events; the report.
    #[track_caller]
    pub(super) fn same_without_sums(&self, run: &str) -> Value {
        let sums = self.path(run).join("summary.talea");
        // Stores them where `talea run` did not.
        let first = self.report(run);
        assert!(sums.is_file(), "{run}");
        assert_eq!(self.report(run), first, "{run}");
        std::fs::remove_file(&sums).unwrap();
        assert_eq!(self.report(run), first, "{run}");
        first
    }

    /// The exit code and standard error of a command.
    #[track_caller]
    pub(super) fn fails(&self, words: &[&str]) -> (i32, String) {
        let output = self.talea(words).output().unwrap();
        (output.status.code().unwrap_or(-1), stderr(&output))
    }
}

pub(super) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How long a program may take; the longest, beside others on two cores, takes a minute.
const MOST_SECONDS: u32 = 300;

/// The same as in `scripts/mpi-env.sh`: any user, any number of ranks.
const SETTINGS: [(&str, &str); 11] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("OMPI_MCA_btl", "self,vader,tcp"),
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ("OMPI_MCA_osc", "pt2pt"),
    ("OMPI_MCA_btl_base_warn_component_unused", "0"),
    ("OMP_NUM_THREADS", "1"),
    ("LC_ALL", "C"),
];

/// The data that stand in a page, plain or packed.
pub(super) fn page_data(page: &str) -> Value {
    let rest = &page[page.find("id=\"talea-data\"").unwrap()..];
    let (head, body) = rest.split_once('>').unwrap();
    let body = body[..body.find("</script>").unwrap()].trim();
    if !head.contains("deflate") {
        return serde_json::from_str(body).unwrap();
    }
    let six = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0, 0_u32);
    for c in body.bytes().filter(|&c| c != b'=') {
        (held, bits) = ((held << 6) | u32::from(six(c)), bits + 6);
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    let mut text = String::new();
    flate2::read::ZlibDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

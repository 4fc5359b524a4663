//! The command line of `talea agent` and of `talea-agent`, the program of compute nodes.
//!
//! Owns the options and their help.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use talea_model::{Bytes, Nanos, notation};
use talea_topology::CpuSet;

use crate::{Counters, Options, Sampler, Starting, Task};

/// Folder of the notices of jobs.
pub const RUN_DIR: &str = "/run/talea";

// The command line of `talea-agent`, whose help is that of its options: a doc comment would take
// its place.
#[allow(missing_docs)]
#[derive(Debug, Parser)]
#[command(name = "talea-agent", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub args: AgentArgs,
}

/// Sample every core of this node, all the time
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(long_about = "\
Sample every core of this node, all the time.

Each core is sampled once a second, or at --rate: process, job and user, library and address, \
phase, kernel or idle. Samples are counted and go to a store, which `talea usage` queries.")]
#[command(after_long_help = "\
Examples:
  talea agent --store sqlite:/var/lib/talea/node.db        until it is stopped (Ctrl-C, SIGTERM)
  talea agent --store sqlite:t.db --rate 10Hz --for 60s    ten times a second, for a minute
  talea agent --store prometheus:http://tsdb:8428          to VictoriaMetrics or Prometheus
  talea agent --store https://server:8090 --token-file /etc/talea/token     to a server
  talea agent --store sqlite:t.db --also influx:http://influx:8086/write?db=site

Samples are counted in the kernel by a BPF program where that is allowed (root, or CAP_BPF and \
CAP_PERFMON); else each is read from rings of perf events (CAP_PERFMON, or kernel.perf_event_paranoid \
of 0 or less); else only this user's processes are seen, and no idle time. Which one it is, and why no \
better one, is said at the begin and kept with the samples.

Phases are what programs mark: with talea_mark.h, or with NVTX or ITT where they are started with \
NVTX_INJECTION64_PATH or INTEL_LIBITTNOTIFY64=/path/libtalea_mark.so.

Batches wait in a spool (STORE.spool) until the store has them: nothing is lost when it is away, up to \
--spool-size. A batch counts once, however often it is sent.

`talea agent job-start` and `job-end`, in a scheduler's prolog and epilog, tell a running agent which \
jobs there are; it finds them by their control groups without that.")]
pub struct AgentArgs {
    #[command(subcommand)]
    job: Option<JobCommand>,
    /// Store: sqlite:PATH, prometheus:http://HOST:PORT[/PREFIX], or a server's http://HOST:PORT or
    /// https://HOST:PORT
    #[arg(long, value_name = "STORE", required = true)]
    store: Option<String>,
    /// File with this node's token for the server
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// CA certificates of the server, PEM [default: public authorities]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ca: Option<PathBuf>,
    /// Further output in Influx' line protocol: influx:http://HOST:PORT/write?db=NAME, influx:FILE,
    /// influx:- (standard output); repeatable
    #[arg(long, value_name = "OUTPUT")]
    also: Vec<String>,
    /// Samples of each core: 1Hz, 100Hz
    #[arg(long, value_name = "RATE", value_parser = notation::rate, default_value = "1Hz")]
    rate: f64,
    /// Interval of a batch: 10s, 1min, maximum 1h
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "1min")]
    interval: Nanos,
    /// Stop after this time: 60s, 1h
    #[arg(long = "for", value_name = "TIME", value_parser = notation::step)]
    during: Option<Nanos>,
    /// How samples are taken
    #[arg(long, value_enum, default_value_t = How::Auto)]
    sampler: How,
    /// Name of this node [default: the host's name]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Folder where batches wait for the store [default: STORE.spool, for servers
    /// /var/lib/talea/spool]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    spool: Option<PathBuf>,
    /// Maximum size of the spool, 1M to 16G; the oldest batches go first
    #[arg(long, value_name = "SIZE", value_parser = notation::size, default_value = "64M")]
    spool_size: Bytes,
    /// Counters around samples: none, default, or perf's names: A,NAME=EVENT
    #[arg(long, value_name = "LIST", default_value = "default")]
    counters: String,
    /// Folder of job notifications; a file `yield` frees the counters
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = RUN_DIR)]
    run_dir: PathBuf,
}

/// Longest time that a batch is of.
const LONGEST_INTERVAL: Nanos = Nanos(3_600_000_000_000);

/// A time that a batch can be of.
fn interval(text: &str) -> Result<Nanos, String> {
    let interval = notation::step(text)?;
    if interval > LONGEST_INTERVAL {
        return Err(
            "expected at most 1h: until its end a batch is in memory alone and lost with the agent, and stores take none of a day".to_owned(),
        );
    }
    Ok(interval)
}

/// Names between commas; those in the slashes of `pmu/a,b/` are part of a name.
fn counters(text: &str) -> Counters {
    if text == "default" {
        return Counters::Default;
    }
    let mut inside = false;
    let split = |letter: char| {
        inside ^= letter == '/';
        letter == ',' && !inside
    };
    let names = text.split(split).map(str::trim).filter(|name| !name.is_empty() && *name != "none");
    Counters::These(names.map(str::to_owned).collect())
}

#[derive(Debug, Subcommand)]
enum JobCommand {
    JobStart(StartArgs),
    JobEnd(EndArgs),
}

/// Notify the agent of this node of a job's begin
#[derive(Debug, Args)]
#[command(long_about = "\
Notify the agent of this node of a job's begin, from the scheduler's prolog.

Jobs whose control groups name them are found without that, but for their owner, their cores where the groups do not say \
them, and whether their samples may be kept.")]
#[command(after_long_help = "\
Notices are files in DIR/jobs, one for each job. They stay when the agent is started anew. Processes \
belong to the job of their control group; else to the one that their environment names (SLURM_JOB_ID, \
PBS_JOBID), if it is their user's, and to none if that one has no notice; else to the only job with a notice of \
their user; else, if there are several, to the one that has the core. Processes of root belong to jobs by the first two ways only.

Without samples (--no-monitoring, a comment `no-monitoring` in SLURM_JOB_COMMENT, TALEA_NO_MONITORING=1) \
a job's time counts as user or kernel time of nobody in particular.

Example, in a prolog of Slurm:
  talea agent job-start || true")]
struct StartArgs {
    /// Name of the job [default: SLURM_JOB_ID or PBS_JOBID of the environment]
    #[arg(long, value_name = "ID", conflicts_with = "place")]
    id: Option<String>,
    /// The same, as `job-end` has it
    #[arg(value_name = "ID")]
    place: Option<String>,
    /// Its owner [default: SLURM_JOB_UID of the environment]
    #[arg(long, value_name = "UID")]
    user: Option<u32>,
    /// Its cores, as 0-7,16 [default: those of its control group]
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    cpus: Option<CpuSet>,
    /// It has the whole node
    #[arg(long, conflicts_with = "cpus")]
    exclusive: bool,
    /// Store only the job's time, no details of its samples
    #[arg(long)]
    no_monitoring: bool,
    /// Folder of the notices of jobs
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = RUN_DIR)]
    run_dir: PathBuf,
}

/// Tell the agent of this node that a job has ended
#[derive(Debug, Args)]
struct EndArgs {
    /// Name of the job [default: SLURM_JOB_ID or PBS_JOBID of the environment]
    #[arg(value_name = "ID", conflicts_with = "named")]
    id: Option<String>,
    /// The same, as `job-start` has it
    #[arg(long = "id", value_name = "ID")]
    named: Option<String>,
    /// Folder of the notices of jobs
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = RUN_DIR)]
    run_dir: PathBuf,
}

fn cpus(text: &str) -> Result<CpuSet, String> {
    let set = CpuSet::from_list(text).ok().filter(|set| !set.is_empty());
    set.ok_or_else(|| "expected a list of cores such as 0-7,16".to_owned())
}

/// How samples are taken.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum How {
    /// The best that is allowed
    Auto,
    /// Counted in the kernel by a BPF program
    Bpf,
    /// Read one by one from rings of perf events
    Rings,
    /// This user's processes only
    Own,
}

impl From<How> for Sampler {
    fn from(how: How) -> Self {
        match how {
            How::Auto => Self::Auto,
            How::Bpf => Self::Bpf,
            How::Rings => Self::Rings,
            How::Own => Self::Own,
        }
    }
}

impl From<AgentArgs> for Task {
    fn from(args: AgentArgs) -> Self {
        match args.job {
            Some(JobCommand::JobStart(job)) => {
                return Self::Start(Starting {
                    id: job.id.or(job.place),
                    user: job.user,
                    cores: Starting::cores(job.cpus, job.exclusive),
                    monitored: job.no_monitoring.then_some(false),
                    run_dir: job.run_dir,
                });
            }
            Some(JobCommand::JobEnd(job)) => {
                return Self::End { id: job.id.or(job.named), run_dir: job.run_dir };
            }
            None => {}
        }
        Self::Sample(Options {
            store: args.store.unwrap_or_default(),
            rate: args.rate,
            interval: args.interval,
            during: args.during,
            sampler: args.sampler.into(),
            node: args.node,
            spool: args.spool,
            most: args.spool_size,
            also: args.also,
            token: args.token_file,
            authorities: args.ca,
            counters: counters(&args.counters),
            run_dir: args.run_dir,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_end() {
        assert_eq!(interval("1h"), Ok(LONGEST_INTERVAL));
        assert!(talea_store::LONGEST_INTERVAL > LONGEST_INTERVAL);
        for long in ["61min", "24h"] {
            assert!(interval(long).unwrap_err().contains("at most 1h"), "{long}");
        }
        assert!(interval("0").is_err());
    }

    #[test]
    fn jobs_are_named_in_the_same_two_ways() {
        let task = |words: &[&str]| {
            let words = ["talea-agent"].iter().chain(words);
            Cli::try_parse_from(words).map(|cli| Task::from(cli.args))
        };
        for words in [&["--id", "17"][..], &["17"]] {
            let start = task(&[&["job-start"], words].concat()).unwrap();
            assert!(matches!(start, Task::Start(Starting { id: Some(id), .. }) if id == "17"));
            let end = task(&[&["job-end"], words].concat()).unwrap();
            assert!(matches!(end, Task::End { id: Some(id), .. } if id == "17"));
        }
        let help = <Cli as clap::CommandFactory>::command().render_help().to_string();
        assert!(help.starts_with("Sample every core of this node, all the time\n"), "{help}");
        assert!(task(&["job-start", "17", "--id", "18"]).is_err());
        assert!(task(&["job-end", "17", "--id", "18"]).is_err());
    }

    #[test]
    fn names_of_counters() {
        let these = |names: &[&str]| Counters::These(names.iter().map(|&n| n.to_owned()).collect());
        assert_eq!(counters("default"), Counters::Default);
        assert_eq!(counters("none"), these(&[]));
        assert_eq!(
            counters("cycles, cpu/event=1,umask=2/u,page-faults,"),
            these(&["cycles", "cpu/event=1,umask=2/u", "page-faults"])
        );
    }
}

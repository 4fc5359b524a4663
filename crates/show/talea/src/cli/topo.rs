//! The arguments of `talea topo`.
//!
//! Owns their definitions and help texts (the language of monitors, plug-ins and the keys of the
//! JSON among them), and the conversion into the options of [`crate::topo`].

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use talea_model::Nanos;
use talea_simulated::node::Scenario;
use talea_topo::selection::{Selection, Source};
use talea_topology::xml::Version;

use super::values;
use crate::topo;

/// Show performance values on the machine's topology, live or from a recording
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(long_about = "\
Show performance values on the machine's topology, live or from a recording.

On a terminal: the node with values on its objects, live (q leaves, ? explains), also while --out records. With --for, --svg, --html, \
--png, --xml or --json it measures without a screen. With --replay it shows a recording. Without anything to measure (monitors, a \
process, a command, --plugin, --simulate, --out, --for) such files - `talea topo --topology FILE --svg node.svg` - show the objects alone.")]
#[command(after_long_help = "\
Examples:
  talea topo                                        this machine, live
  talea topo --monitors my.txt --pid 4242           what a process, its threads and children do
  talea topo --out node.talea -- mpirun -n 4 ./app  record while a command runs
  talea topo --replay node.talea --html node.html   a page with a time scrubber
  talea topo --replay a.talea --compare b.talea --svg change.svg
  talea topo --out node.talea -- talea run --out app -- mpirun -n 4 ./app
  talea topo --replay node.talea --run app          which iteration of the loop a value belongs to
  talea topo --topology big.xml --json              what is in a file of hwloc's XML
  talea topo --synthetic 'pack:2 l3:4 core:8 pu:2' --simulate lists --svg demo.svg
  talea topo --counters                             names for monitors that work here

Monitors (one or more in a file, or with --monitor):
  L3_MISS { OBJ = L3; CTR = PAPI_L3_TCM; LOGSCALE = 1; MAX=1000000; MIN=0; }
  IPC { OBJ = Core; CTR = instructions / cycles; }
  FAULTS { OBJ = PU; CTR = page-faults; PER = second; AGG = sum; }
The form NAME{ OBJ:=L3; EVSET:=a,b; REDUCTION:=$1/$0; } works too. # and // begin comments.
  OBJ         a kind of object (L3, Core, NUMANode, PU ...), a depth, one object or some (L3:1,
              PU:0-3)
  CTR         an expression of counters and other monitors: + - * / ( ), min, max, abs, sqrt,
              log2, numbers such as 1.5k; names with other signs in quotes (\"cpu/cache-misses/\")
  WHEN        after: counters are summed over the object, then put into the expression [default];
              before: the other way round; a kind of object: evaluated there
  AGG         sum [default], max, min or mean: how an object's parts become one
  PER         second, instruction, cycle or an expression: what the value is divided by
              [default: nothing, values are those of the time between two readings]
  MIN, MAX    ends of the scale [default: those of the values]; LOGSCALE = 1: logarithmic
  UNIT        text behind the value [default: that of the counters]
  WINDOW      mean over so many readings [default: 1]; ACCUMULATE = 1: since the start
  SILENT      1: only for other monitors to use

Plug-ins are commands that first say what they count, then write a set of values at least as often \
as --every asks; their counters are called plugin:NAME. PLACE is pu:3, numa:0, package:1, \
device:eth0 or machine; `gauge` is what is now, `growing` a total:
  talea-plugin 1
  counter watts gauge W package:0
  end
  watts package:0 51.5
  end

Live values are refused on the objects of another machine: a file whose host name, CPU model or PUs \
differ, or a synthetic description. --simulate and --replay work with any objects.

Keys of the JSON: `talea schema machine`; with values: `talea schema map`; of --counters: `talea schema \
counters`.")]
pub(super) struct TopoArgs {
    /// Objects from a file of hwloc's XML, versions 1 to 3
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    topology: Option<PathBuf>,
    /// Objects from hwloc's synthetic notation: 'pack:2 numa:2 l3:1 core:8 pu:2'
    #[arg(long, value_name = "TEXT", conflicts_with = "topology")]
    synthetic: Option<String>,
    /// Measure here although --topology looks like another machine
    #[arg(long)]
    as_this_machine: bool,
    /// Only these PUs (0-3,8), or one object (L3:0, Package:1)
    #[arg(long, value_name = "SET|OBJECT")]
    restrict: Option<String>,
    /// Without bridges and devices
    #[arg(long)]
    no_io: bool,
    /// Monitors from a file; - is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    monitors: Option<PathBuf>,
    /// A monitor, as text; may be given more than once
    #[arg(long, value_name = "TEXT", conflicts_with = "monitors")]
    monitor: Vec<String>,
    /// Measure only this process, its threads and children; repeatable
    #[arg(long, value_name = "PID")]
    pid: Vec<u32>,
    /// Values from a simulated machine, named as such everywhere
    #[arg(long, value_name = "SCENARIO", value_enum)]
    simulate: Option<ScenarioArg>,
    /// Command that supplies further counters, plugin:NAME; repeatable
    #[arg(long, value_name = "COMMAND")]
    plugin: Vec<String>,
    /// Time between two values: 100ms, 1s
    #[arg(long, value_name = "TIME", value_parser = values::step, default_value = "500ms")]
    every: Nanos,
    /// Measure for so long, then end
    #[arg(long = "for", value_name = "TIME", value_parser = values::time)]
    duration: Option<Nanos>,
    /// Record into this file; .trace and .paje are dynamic lstopo's text form
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Show a recording, of either form
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["pid", "simulate", "plugin", "out", "command"]
    )]
    replay: Option<PathBuf>,
    /// Show how --replay differs from this earlier recording
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "replay")]
    compare: Option<PathBuf>,
    /// Show the phases of this run beside --replay
    #[arg(long, value_name = "RUN", value_hint = ValueHint::AnyPath, requires = "replay")]
    run: Option<PathBuf>,
    /// Rank whose iterations --run shows [default: the lowest rank on the recording's host]
    #[arg(long, value_name = "N", requires = "run")]
    rank: Option<u32>,
    /// Write --replay as the text form of dynamic lstopo
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "replay")]
    paje: Option<PathBuf>,
    /// Time of the values in pictures [default: mean of the recording]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    at: Option<Nanos>,
    /// Initial speed of a replay
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "replay")]
    speed: f64,
    /// Draw into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Write a page with a time scrubber into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Draw into this file, with chromium
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    png: Option<PathBuf>,
    /// Write the objects as hwloc's XML into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    xml: Option<PathBuf>,
    /// Version of --xml: 2 for all hwloc since 2.0, 3 for 3.x
    #[arg(
        long,
        value_name = "N",
        value_parser = xml_version,
        default_value = "2",
        requires = "xml"
    )]
    xml_version: Version,
    /// Width and height of pictures in pixels
    #[arg(long, value_name = "WxH", value_parser = values::dimensions, default_value = "1600x1000")]
    size: (f64, f64),
    /// JSON with stable keys on standard output
    #[arg(long)]
    json: bool,
    /// List the counters that work here
    #[arg(long)]
    counters: bool,
    /// A command to start and to watch
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND",
        value_hint = ValueHint::CommandWithArguments
    )]
    command: Vec<OsString>,
}

/// Versions of hwloc's XML that are written.
fn xml_version(text: &str) -> Result<Version, String> {
    match text {
        "2" => Ok(Version::Two),
        "3" => Ok(Version::Three),
        _ => Err("expected 2 or 3".to_owned()),
    }
}

/// Time for which a simulated list keeps its size.
const LIST_STEP: Nanos = Nanos(1_000_000_000);

/// Work of a simulated machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScenarioArg {
    /// Two threads walk linked lists of growing size
    Lists,
    /// All PUs work, in slow waves
    Mixed,
}

impl From<ScenarioArg> for Scenario {
    fn from(scenario: ScenarioArg) -> Self {
        match scenario {
            ScenarioArg::Lists => Self::Lists { step: LIST_STEP },
            ScenarioArg::Mixed => Self::Mixed,
        }
    }
}

impl From<TopoArgs> for topo::Options {
    fn from(args: TopoArgs) -> Self {
        Self {
            objects: Selection {
                source: match (args.topology, args.synthetic) {
                    (Some(path), _) => Source::File(path),
                    (None, Some(text)) => Source::Synthetic(text),
                    (None, None) => Source::Machine,
                },
                as_this_machine: args.as_this_machine,
                restrict: args.restrict,
                no_io: args.no_io,
            },
            monitors: match (args.monitors, args.monitor.is_empty()) {
                (Some(path), _) => topo::Monitors::File(path),
                (None, false) => topo::Monitors::Text(args.monitor.join("\n")),
                (None, true) => topo::Monitors::Default,
            },
            pids: args.pid,
            simulate: args.simulate.map(Into::into),
            plugins: args.plugin,
            every: args.every,
            duration: args.duration,
            record: args.out,
            replay: args.replay,
            compare: args.compare,
            run: args.run,
            rank: args.rank,
            at: args.at,
            speed: args.speed,
            out: topo::Outputs {
                svg: args.svg,
                html: args.html,
                png: args.png,
                xml: args.xml,
                xml_version: args.xml_version,
                paje: args.paje,
                json: args.json,
                size: args.size,
            },
            list: args.counters,
            command: args.command,
        }
    }
}

//! `talea convert`: a run or a trace as a file of another tool.
//!
//! Owns the choice of the form by the ending of the file's name, and the message about the output: the writer's counts. The contents of a
//! trace in each form are in [`timeline`], [`stacks`] and [`tables`]; the syntax is `formats`'.

mod csv;
mod file;
pub(crate) mod paraver;
#[cfg(feature = "parquet")]
mod parquet;
mod stacks;
mod tables;
mod timeline;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use talea_formats::profile;
use talea_model::{Gaps, Trace};

use crate::exit::{Exit, Expected};
use crate::terminal::say_gaps;
use crate::terminal::{Progress, say};
use talea_analysis::input::{self, InputError};

/// Options of `talea convert`.
#[derive(Debug)]
pub(crate) struct Options {
    /// A run directory or a trace.
    pub(crate) input: PathBuf,
    /// The file to write; `-` is standard output.
    pub(crate) out: PathBuf,
    /// Output form; by the file's name where absent.
    pub(crate) format: Option<Format>,
}

/// Forms of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Paraver: .prv or .prv.gz, with .pcf and .row beside it
    Paraver,
    /// Trace events of Chrome and Perfetto: .json
    Chrome,
    /// Stacks for speedscope.app: .speedscope.json
    Speedscope,
    /// Stacks for pprof: .pprof, .pb
    Pprof,
    /// One stack a line, for flame graphs: .folded, .collapsed
    Collapsed,
    /// Tables as text: .csv with events, .states.csv and .messages.csv beside it
    Csv,
    #[cfg_attr(
        feature = "parquet",
        doc = "Tables of Apache Parquet: .parquet with events, .states.parquet and .messages.parquet beside it"
    )]
    #[cfg_attr(
        not(feature = "parquet"),
        doc = "Tables of Apache Parquet: not in this build, built without `--features talea/parquet`; use csv"
    )]
    Parquet,
}

impl Format {
    /// The form by the ending of a file's name.
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let endings = [
            (".prv", Self::Paraver),
            (".prv.gz", Self::Paraver),
            (".speedscope.json", Self::Speedscope),
            (".json", Self::Chrome),
            (".pprof", Self::Pprof),
            (".pb", Self::Pprof),
            (".folded", Self::Collapsed),
            (".collapsed", Self::Collapsed),
            (".csv", Self::Csv),
            (".parquet", Self::Parquet),
        ];
        endings.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| format)
    }
}

/// Errors of `talea convert`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConvertError {
    /// The input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file name that determines no form.
    #[error(
        "expected a name that ends in .prv, .prv.gz, .json, .speedscope.json, .pprof, .pb, .folded, .collapsed, .csv or .parquet, or --format: `{}`",
        .0.display()
    )]
    Form(PathBuf),
    /// The file.
    #[error("cannot write: {source}: `{}`", path.display())]
    Write {
        /// Error of the system.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// The files of Paraver.
    #[error(transparent)]
    Paraver(#[from] paraver::SaveError),
    /// Tables.
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Parquet(#[from] parquet::SaveError),
    /// A build without it.
    #[cfg(not(feature = "parquet"))]
    #[error("this talea was built without Parquet: write a `.csv`, or build it with `cargo build --release --features talea/parquet`: `{}`", .0.display())]
    NoParquet(PathBuf),
    /// Nothing that this form can hold.
    #[error("the trace has neither samples nor calls of MPI with their callers, so that there are no stacks to write: `{}`", .0.display())]
    NoStacks(PathBuf),
}

impl Expected for ConvertError {
    fn exit(&self) -> Exit {
        match self {
            Self::Input(error) => error.exit(),
            #[cfg(not(feature = "parquet"))]
            Self::NoParquet(_) => Exit::Lacking,
            // `talea convert ... - | head`: the reader has enough.
            Self::Write { source, .. } | Self::Paraver(paraver::SaveError::File { source, .. })
                if source.kind() == io::ErrorKind::BrokenPipe =>
            {
                Exit::Closed
            }
            _ => Exit::Input,
        }
    }
}

/// Reads, converts, writes.
pub(crate) fn convert(options: &Options) -> Result<(), ConvertError> {
    let out = &options.out;
    let format = options.format.or_else(|| Format::of(out));
    let format = format.ok_or_else(|| ConvertError::Form(out.clone()))?;
    #[cfg(not(feature = "parquet"))]
    if format == Format::Parquet {
        return Err(ConvertError::NoParquet(out.clone()));
    }
    let mut progress = Progress::new();
    let input = input::load(&options.input, &mut progress.steps())?;
    progress.step("writing");
    let mut gaps = Gaps::default();
    let counts = save(&input.trace, format, options, &mut gaps)?;
    drop(progress);
    gaps.merge(input.trace.gaps);
    say_gaps(&gaps, None);
    let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
    let name = if file::is_standard_output(out) {
        "standard output".to_owned()
    } else {
        out.display().to_string()
    };
    say(&format!("wrote {name}: {}", counts.join(", ")));
    Ok(())
}

/// Writes a form; returns counts of its contents.
fn save(
    trace: &Trace,
    format: Format,
    options: &Options,
    gaps: &mut Gaps,
) -> Result<Vec<Count>, ConvertError> {
    let out = &options.out;
    let stacks =
        || stacks::stacks(trace).ok_or_else(|| ConvertError::NoStacks(options.input.clone()));
    let failed = |source| ConvertError::Write { source, path: out.clone() };
    let write = |bytes: &[u8]| file::write(out, bytes).map_err(failed);
    Ok(match format {
        Format::Paraver => {
            paraver::save(trace, out)?;
            let (states, events) = (trace.states.len(), trace.events.len());
            let messages = trace.messages.len();
            [(states, "state"), (events, "event"), (messages, "message")]
                .map(|(number, noun)| Count(number as u64, noun))
                .to_vec()
        }
        Format::Chrome => chrome(trace, out, gaps).map_err(failed)?,
        Format::Speedscope => {
            let stacks = stacks()?;
            write(profile::speedscope(&stacks).as_bytes())?;
            samples(&stacks)
        }
        Format::Pprof => {
            let stacks = stacks()?;
            write(&profile::pprof(&stacks))?;
            samples(&stacks)
        }
        Format::Collapsed => {
            let text = profile::collapsed(&stacks()?);
            write(text.as_bytes())?;
            vec![Count(text.lines().count() as u64, "stack")]
        }
        Format::Csv => csv::save(trace, out)?,
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::save(trace, out)?,
        // Refused before reading the input.
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Vec::new(),
    })
}

fn chrome(trace: &Trace, out: &Path, gaps: &mut Gaps) -> io::Result<Vec<Count>> {
    let timeline = timeline::timeline(trace, gaps);
    let mut draft = file::Draft::create(out)?;
    let counts = profile::chrome(&timeline, &mut draft)?;
    draft.flush()?;
    draft.finish()?;
    Ok(vec![
        Count(counts.slices, "slice"),
        Count(counts.flows, "flow"),
        Count(counts.values, "value of counters"),
        Count(timeline.tracks.len() as u64, "thread"),
    ])
}

/// Counts of stacks with their weights, as [`profile::speedscope`] and [`profile::pprof`] write them.
fn samples(stacks: &profile::Samples) -> Vec<Count> {
    let samples = stacks.threads.iter().map(|thread| thread.samples.len() as u64).sum();
    vec![Count(samples, "stack"), Count(stacks.threads.len() as u64, "thread")]
}

/// Number and name of the items written.
#[derive(Clone, Copy, Debug)]
struct Count(u64, &'static str);

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(number, noun) = self;
        let (noun, rest) = noun
            .split_once(' ')
            .map_or((*noun, String::new()), |(noun, rest)| (noun, format!(" {rest}")));
        write!(f, "{number} {noun}{}{rest}", if *number == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_the_normal_end() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let path = || PathBuf::from("-");
        let written = ConvertError::Write { source: closed(), path: path() };
        assert_eq!(written.exit(), Exit::Closed);
        let saved = paraver::SaveError::File { source: closed(), path: path() };
        assert_eq!(ConvertError::Paraver(saved).exit(), Exit::Closed);
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(ConvertError::Write { source, path: path() }.exit(), Exit::Input);
    }

    #[test]
    fn names_tell_the_form() {
        let check = |name: &str, format| assert_eq!(Format::of(Path::new(name)), format, "{name}");
        check("a/b.prv", Some(Format::Paraver));
        check("b.PRV.gz", Some(Format::Paraver));
        check("b.json", Some(Format::Chrome));
        check("b.speedscope.json", Some(Format::Speedscope));
        check("b.parquet", Some(Format::Parquet));
        check("b.csv", Some(Format::Csv));
        check("b.txt", None);
        check("", None);
    }
}

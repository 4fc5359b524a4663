//! A run or a trace as a file of another tool.
//!
//! Owns the choice of the form by the ending of the file's name, and the counts of the items
//! written. The contents of a trace in each form are in [`timeline`], [`stacks`] and [`tables`];
//! the syntax is `formats`'. A run is written as it is read where the form allows.

mod csv;
mod file;
pub mod paraver;
#[cfg(feature = "parquet")]
mod parquet;
mod stacks;
mod tables;
mod timeline;

use file::Draft;
pub use file::is_standard_output;

use std::io;
use std::path::{Path, PathBuf};

use talea_formats::profile::{self, Chrome, Perfetto};
use talea_model::trace::InMemory;
use talea_model::{Gaps, Trace};

use self::timeline::WithMessages;
use crate::Analysis;
use crate::Progress;
use crate::input::run::{Additions, Stream};
use crate::input::{self, InputError, Opened, run};

/// Forms of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Paraver: .prv or .prv.gz, with .pcf and .row beside it
    Paraver,
    /// Trace events of Chrome and Perfetto: .json
    Chrome,
    /// Packets of Perfetto, for traces of any size: .pftrace
    Perfetto,
    /// Stacks for speedscope.app: .speedscope.json
    Speedscope,
    /// Stacks for pprof: .pprof, .pb
    Pprof,
    /// One stack a line, for flame graphs: .folded, .collapsed
    Collapsed,
    /// Tables as text: .csv with events, .states.csv and .messages.csv beside it
    Csv,
    /// A data set of Apache Parquet: the folder .parquet with a folder for each table; needs the
    /// feature `parquet`
    Parquet,
}

impl Format {
    /// The form by the ending of a file's name.
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let endings = [
            (".prv", Self::Paraver),
            (".prv.gz", Self::Paraver),
            (".speedscope.json", Self::Speedscope),
            (".json", Self::Chrome),
            (".pftrace", Self::Perfetto),
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

/// Errors of a conversion.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file name that determines no form.
    #[error(
        "expected a name that ends in .prv, .prv.gz, .json, .pftrace, .speedscope.json, .pprof, .pb, .folded, .collapsed, .csv or .parquet, or --format: `{}`",
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

/// A finished conversion.
#[derive(Debug)]
pub struct Written {
    /// Counts of the items in the file.
    pub counts: Vec<Count>,
    /// Gaps of the input, and items that the form cannot hold.
    pub gaps: Gaps,
}

/// Writes a run or a trace to `out`, in the form of its name unless `format` is given; `-` is
/// standard output.
///
/// # Errors
///
/// If the input cannot be read, the name tells no form, the form cannot hold the input, or the file
/// cannot be written.
pub fn convert(
    input: &Path,
    out: &Path,
    format: Option<Format>,
    progress: Progress<'_>,
) -> Result<Written, ConvertError> {
    let format = format.or_else(|| Format::from_path(out));
    let format = format.ok_or_else(|| ConvertError::Form(out.to_owned()))?;
    #[cfg(not(feature = "parquet"))]
    if format == Format::Parquet {
        return Err(ConvertError::NoParquet(out.to_owned()));
    }
    #[cfg(feature = "parquet")]
    if format == Format::Parquet {
        // Before the input is read, which may take long.
        parquet::check_name(out)?;
    }
    let trace = match input::open(input, &mut *progress)? {
        Opened::Trace(trace) => *trace,
        Opened::Run(run) => {
            let analysis = Analysis::new(&run, &mut *progress);
            #[cfg(feature = "parquet")]
            if format == Format::Parquet {
                progress("writing");
                let mut gaps = run.recording.gaps.clone();
                let counts = parquet::save_run(&analysis, out, &mut gaps)?;
                return Ok(Written { counts, gaps });
            }
            let is_streamed = matches!(format, Format::Paraver | Format::Chrome | Format::Perfetto);
            if is_streamed && let Some(stream) = run::stream(&analysis) {
                progress("writing");
                let mut gaps = Gaps::default();
                let counts = save_stream(&stream, format, out, &mut gaps)?;
                gaps.merge(stream.head.gaps);
                return Ok(Written { counts, gaps });
            }
            run::trace(&analysis)
        }
    };
    progress("writing");
    let mut gaps = Gaps::default();
    let counts = save(&trace, format, (input, out), &mut gaps)?;
    gaps.merge(trace.gaps);
    Ok(Written { counts, gaps })
}

/// Counts of the records of a trace.
fn records(states: u64, events: u64, messages: u64) -> Vec<Count> {
    vec![Count(states, "state"), Count(events, "event"), Count(messages, "message")]
}

/// Writes a form; returns counts of its contents.
fn save(
    trace: &Trace,
    format: Format,
    (input, out): (&Path, &Path),
    gaps: &mut Gaps,
) -> Result<Vec<Count>, ConvertError> {
    let stacks = || stacks::stacks(trace).ok_or_else(|| ConvertError::NoStacks(input.to_owned()));
    let failed = |source| ConvertError::Write { source, path: out.to_owned() };
    let write = |bytes: &[u8]| file::write(out, bytes).map_err(failed);
    Ok(match format {
        Format::Paraver => {
            paraver::save(trace, out)?;
            let [states, events] = [trace.states.len(), trace.events.len()];
            records(states as u64, events as u64, trace.messages.len() as u64)
        }
        Format::Chrome | Format::Perfetto => {
            slices(&InMemory::new(trace), format, out, gaps).map_err(failed)?
        }
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

/// Writes a run as its records are made; returns counts of its contents.
fn save_stream(
    stream: &Stream<'_>,
    format: Format,
    out: &Path,
    gaps: &mut Gaps,
) -> Result<Vec<Count>, ConvertError> {
    if format == Format::Paraver {
        let counts = paraver::save_stream(stream, &Additions::default(), out)?;
        return Ok(records(counts.states, counts.events, counts.messages));
    }
    let failed = |source| ConvertError::Write { source, path: out.to_owned() };
    slices(stream, format, out, gaps).map_err(failed)
}

/// Writes a form of slices.
fn slices(
    records: &impl WithMessages,
    format: Format,
    out: &Path,
    gaps: &mut Gaps,
) -> io::Result<Vec<Count>> {
    let mut draft = Draft::create(out)?;
    let (counts, tracks) = if format == Format::Chrome {
        timeline::write(records, |names| Chrome::new(names, &mut draft), gaps)?
    } else {
        timeline::write(
            records,
            |names| {
                let most = names.iter().map(|one| one.process).max();
                Ok(Perfetto::new(most.unwrap_or_default(), &mut draft))
            },
            gaps,
        )?
    };
    draft.finish()?;
    Ok(vec![
        Count(counts.slices, "slice"),
        Count(counts.flows, "flow"),
        Count(counts.values, "value of counters"),
        Count(tracks as u64, "thread"),
    ])
}

/// Counts of stacks with their weights, as [`profile::speedscope`] and [`profile::pprof`] write
/// them.
fn samples(stacks: &profile::Samples) -> Vec<Count> {
    let samples = stacks.threads.iter().map(|thread| thread.samples.len() as u64).sum();
    vec![Count(samples, "stack"), Count(stacks.threads.len() as u64, "thread")]
}

/// Number and name of the items written.
#[derive(Clone, Copy, Debug)]
pub struct Count(u64, &'static str);

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
    use talea_run::load::load;

    use super::*;
    use crate::input::run::tests::samples;

    #[test]
    fn files_that_are_made_as_a_run_is_read_are_those_of_its_trace() {
        let (mut found, out) = (0, tempfile::TempDir::new().unwrap());
        for folder in samples() {
            let run = load(folder.path()).unwrap();
            let analysis = Analysis::new(&run, &mut |_| ());
            let Some(stream) = run::stream(&analysis) else { continue };
            let trace = run::trace(&analysis);
            for (format, name) in [(Format::Chrome, "a.json"), (Format::Perfetto, "a.pftrace")] {
                let path = out.path().join(name);
                let write = |records: Result<&Stream<'_>, &Trace>| {
                    let mut gaps = Gaps::default();
                    let counts = match records {
                        Ok(stream) => save_stream(stream, format, &path, &mut gaps),
                        Err(trace) => save(trace, format, (&path, &path), &mut gaps),
                    };
                    let counts: Vec<String> =
                        counts.unwrap().iter().map(Count::to_string).collect();
                    (std::fs::read(&path).unwrap(), counts, gaps)
                };
                let (bytes, counts, gaps) = write(Ok(&stream));
                let expected = write(Err(&trace));
                assert!(bytes == expected.0, "{name}");
                assert_eq!((counts, gaps), (expected.1, expected.2));
                found += usize::from(!bytes.is_empty());
            }
        }
        assert!(found > 2);
    }

    #[test]
    fn names_tell_the_form() {
        let check =
            |name: &str, format| assert_eq!(Format::from_path(Path::new(name)), format, "{name}");
        check("a/b.prv", Some(Format::Paraver));
        check("b.PRV.gz", Some(Format::Paraver));
        check("b.json", Some(Format::Chrome));
        check("b.pftrace", Some(Format::Perfetto));
        check("b.speedscope.json", Some(Format::Speedscope));
        check("b.parquet", Some(Format::Parquet));
        check("b.csv", Some(Format::Csv));
        check("b.txt", None);
        check("", None);
    }
}

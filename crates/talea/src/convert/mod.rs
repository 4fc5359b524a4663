//! `talea convert`: a run or a trace as a file of another tool.
//!
//! Owns the choice of the form by the ending of the file's name, and writing it. What a form can hold of a trace is told by
//! [`views`]; its syntax is `formats`'.

mod file;
pub(crate) mod paraver;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod views;

use std::path::{Path, PathBuf};

use talea_formats::profile;

use crate::exit::{Exit, Expected};
use crate::input::{self, InputError};
use crate::load::say_gaps;
use crate::terminal::{Progress, say};

/// What to convert.
#[derive(Debug)]
pub(crate) struct Options {
    /// A run directory or a trace.
    pub(crate) input: PathBuf,
    /// The file to write.
    pub(crate) out: PathBuf,
    /// Its form; by its name where absent.
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
    /// Tables of Apache Parquet: .parquet with events, .states.parquet and .messages.parquet beside it
    Parquet,
}

impl Format {
    /// By the ending of a file's name.
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
            (".parquet", Self::Parquet),
        ];
        endings.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| format)
    }
}

/// Why nothing was converted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConvertError {
    /// What is to be converted.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A name that does not say which form.
    #[error(
        "expected a name that ends in .prv, .prv.gz, .json, .speedscope.json, .pprof, .pb, .folded, .collapsed or .parquet, or --format: `{}`",
        .0.display()
    )]
    Form(PathBuf),
    /// The file.
    #[error("cannot write: {source}: `{}`", path.display())]
    Write {
        /// What the system said.
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
    /// Built without it.
    #[cfg(not(feature = "parquet"))]
    #[error("this talea was built without Parquet, build it with `cargo build --release --features parquet`: `{}`", .0.display())]
    NoParquet(PathBuf),
    /// Nothing that this form could hold.
    #[error("the trace has neither samples nor calls of MPI with their callers, so that there are no stacks to write: `{}`", .0.display())]
    NoStacks(PathBuf),
}

impl Expected for ConvertError {
    fn exit(&self) -> Exit {
        match self {
            Self::Input(error) => error.exit(),
            #[cfg(not(feature = "parquet"))]
            Self::NoParquet(_) => Exit::Lacking,
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
    let input = input::load(&options.input, &mut progress)?;
    let trace = &input.trace;
    progress.step("writing");
    let stacks =
        || views::stacks(trace).ok_or_else(|| ConvertError::NoStacks(options.input.clone()));
    let write = |bytes: &[u8]| {
        let failed = |source| ConvertError::Write { source, path: out.clone() };
        file::write(out, bytes).map_err(failed)
    };
    match format {
        Format::Paraver => paraver::save(trace, out)?,
        Format::Chrome => write(profile::chrome(&views::slices(trace)).as_bytes())?,
        Format::Speedscope => write(profile::speedscope(&stacks()?).as_bytes())?,
        Format::Pprof => write(&profile::pprof(&stacks()?))?,
        Format::Collapsed => write(profile::collapsed(&stacks()?).as_bytes())?,
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::save(trace, out)?,
        // Refused before anything was read.
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => {}
    }
    drop(progress);
    say_gaps(&trace.gaps, None);
    let (states, events, messages) = (trace.states.len(), trace.events.len(), trace.messages.len());
    say(&format!("wrote {}: {states} states, {events} events, {messages} messages", out.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_form() {
        let check = |name: &str, format| assert_eq!(Format::of(Path::new(name)), format, "{name}");
        check("a/b.prv", Some(Format::Paraver));
        check("b.PRV.gz", Some(Format::Paraver));
        check("b.json", Some(Format::Chrome));
        check("b.speedscope.json", Some(Format::Speedscope));
        check("b.parquet", Some(Format::Parquet));
        check("b.txt", None);
        check("", None);
    }
}

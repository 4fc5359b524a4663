//! `talea convert`: a run or a trace as a file of another tool.
//!
//! The conversions are `talea_analysis::convert`'s.

use std::io;
use std::path::PathBuf;

use talea_analysis::convert::{ConvertError, Format, is_standard_output, paraver};

use crate::exit::{Exit, Expected};
use crate::terminal::{Progress, say, say_gaps};

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
    let Options { input, out, format } = options;
    let mut progress = Progress::new();
    let written = talea_analysis::convert::convert(input, out, *format, &mut progress.steps())?;
    drop(progress);
    say_gaps(&written.gaps, None);
    let counts: Vec<String> = written.counts.iter().map(ToString::to_string).collect();
    let name = if is_standard_output(out) {
        "standard output".to_owned()
    } else {
        out.display().to_string()
    };
    say(&format!("wrote {name}: {}", counts.join(", ")));
    Ok(())
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
}

//! Where the objects of a machine come from: the machine itself, a file, a description.
//!
//! Owns reading the file, and the variable `HWLOC_XMLFILE`, by which hwloc's own programs are given another machine too.

use std::io::Read;
use std::path::{Path, PathBuf};

use talea_model::Gaps;
use talea_sampling::discover::{DiscoverError, Found, discover};
use talea_topology::xml::{self, XmlError};
use talea_topology::{Topology, synthetic};

/// Largest file of objects in bytes; the largest machines have some hundred KiB.
const MOST_BYTES: u64 = 1 << 28;

/// A machine's objects.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The objects.
    pub topology: Topology,
    /// Who says so: `libhwloc 2.9.0`, a file.
    pub how: String,
    /// What the file or the machine did not tell.
    pub gaps: Gaps,
}

/// Why there are no objects.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The file cannot be read.
    #[error("cannot read the topology: {source}: `{}`", path.display())]
    Read {
        /// What the system said.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// The file is too large to be one.
    #[error("expected a topology of at most {MOST_BYTES} bytes, found more: `{}`", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is no XML of hwloc.
    #[error("{source}: `{}`", path.display())]
    Xml {
        /// Where and what.
        source: XmlError,
        /// The file, or who gave the text.
        path: PathBuf,
    },
    /// The description means nothing.
    #[error("{0}")]
    Synthetic(#[from] synthetic::SyntheticError),
    /// Neither libhwloc nor the kernel tell.
    #[error("{0}")]
    Discover(#[from] DiscoverError),
}

impl Machine {
    /// This machine, or the one in the file that `HWLOC_XMLFILE` names.
    pub fn here() -> Result<Self, MachineError> {
        if let Some(path) = std::env::var_os("HWLOC_XMLFILE").filter(|path| !path.is_empty()) {
            return Self::of_file(Path::new(&path));
        }
        let found = discover()?;
        match found.found {
            Found::Objects(topology) => {
                Ok(Self { topology, how: found.how, gaps: Gaps::default() })
            }
            Found::Xml(text) => {
                Self::of_xml(text.as_bytes(), Path::new(&found.how.clone()), found.how)
            }
        }
    }

    /// What a file of hwloc's XML describes.
    pub fn of_file(path: &Path) -> Result<Self, MachineError> {
        let failed = |source| MachineError::Read { source, path: path.to_owned() };
        // What is no regular file does not say how long it is.
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(MachineError::TooLarge { path: path.to_owned() });
        }
        Self::of_xml(&bytes, path, path.display().to_string())
    }

    /// What hwloc's notation for synthetic machines describes.
    pub fn synthetic(text: &str) -> Result<Self, MachineError> {
        let topology = synthetic::parse(text)?;
        Ok(Self { topology, how: format!("synthetic `{text}`"), gaps: Gaps::default() })
    }

    /// What a text of hwloc's XML describes; `how` says who gave it.
    pub fn of_text(text: &str, how: &str) -> Result<Self, MachineError> {
        Self::of_xml(text.as_bytes(), Path::new(how), how.to_owned())
    }

    fn of_xml(bytes: &[u8], path: &Path, how: String) -> Result<Self, MachineError> {
        let failed = |source| MachineError::Xml { source, path: path.to_owned() };
        let loaded = xml::read(bytes).map_err(failed)?;
        Ok(Self { topology: loaded.topology, how, gaps: loaded.gaps })
    }
}

/// This machine's name.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

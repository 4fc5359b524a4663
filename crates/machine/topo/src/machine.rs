//! Where the objects of a machine come from: the machine itself, a file, a description.
//!
//! Owns reading the file, the variable `HWLOC_XMLFILE`, by which hwloc's own programs are given
//! another machine too, and whether values that are measured here may be shown on the objects.

use std::io::Read;
use std::path::{Path, PathBuf};

use talea_model::Gaps;
use talea_sampling::discover::{DiscoverError, Found, discover};
use talea_topology::xml::{self, XmlError};
use talea_topology::{CpuSet, ObjectKind, Topology, synthetic};

/// Largest file of objects in bytes. Most have some hundred KiB; one of 100,000 PUs has long sets
/// at each object.
const MOST_BYTES: u64 = 1 << 30;

/// A machine's objects.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The objects.
    pub topology: Topology,
    /// Source of the description: `libhwloc 2.9.0`, a file.
    pub how: String,
    /// Data that the file or the machine lacks.
    pub gaps: Gaps,
    /// Which machine the objects are of.
    origin: Origin,
}

/// Where objects are from, which decides whether values that are measured here belong on them.
#[derive(Clone, Debug, Default)]
enum Origin {
    /// They were discovered here, or the user says that they are this machine's.
    #[default]
    Here,
    /// A file says it, of some machine.
    File(Identity),
    /// A description of no machine.
    Synthetic,
}

/// Identity of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
struct Identity {
    host: Option<String>,
    model: Option<String>,
    pus: CpuSet,
}

impl Identity {
    fn of(topology: &Topology) -> Self {
        let root = topology.objects.first();
        let of_all = topology.infos.iter().find(|(name, _)| name == "HostName");
        let host = of_all.map(|(_, host)| host.as_str());
        let host = host.or_else(|| root.and_then(|root| root.info("HostName")));
        let mut packages = topology.of_kind(ObjectKind::Package);
        let model = packages.find_map(|(_, package)| package.info("CPUModel"));
        Self {
            host: host.map(str::to_owned),
            model: model.or_else(|| root.and_then(|root| root.info("CPUModel"))).map(str::to_owned),
            pus: root.map(|root| root.complete_cpuset.clone()).unwrap_or_default(),
        }
    }

    /// Differences of a machine from this one; none where nothing differs. What one of them does
    /// not say differs from nothing.
    fn difference(&self, here: &Self) -> Option<String> {
        let named = [("host", &self.host, &here.host), ("CPU model", &self.model, &here.model)];
        for (what, theirs, own) in named {
            if let (Some(theirs), Some(own)) = (theirs, own)
                && theirs.trim() != own.trim()
            {
                return Some(format!("{what} `{}`, here `{}`", theirs.trim(), own.trim()));
            }
        }
        let pus = || format!("PUs {}, here {}", self.pus, here.pus);
        (self.pus != here.pus).then(pus)
    }
}

/// Why there are no objects.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The file cannot be read.
    #[error("cannot read the topology: {source}: `{}`", path.display())]
    Read {
        /// Error of the system.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// The file is too large to be one.
    #[error(
        "expected a topology of at most {MOST_BYTES} bytes (Talea's limit), found more: `{}`",
        path.display()
    )]
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
    /// Values of this machine would be drawn on another one's objects.
    #[error(
        "values are measured on this machine, but the objects are another one's ({difference}): `{how}`"
    )]
    Elsewhere {
        /// The first difference.
        difference: String,
        /// Source of the other description.
        how: String,
    },
}

impl Machine {
    /// This machine, or the one in the file that `HWLOC_XMLFILE` names.
    pub fn here() -> Result<Self, MachineError> {
        if let Some(path) = std::env::var_os("HWLOC_XMLFILE").filter(|path| !path.is_empty()) {
            return Self::of_file(Path::new(&path));
        }
        Self::discovered()
    }

    fn discovered() -> Result<Self, MachineError> {
        let found = discover()?;
        match found.found {
            Found::Objects(topology) => {
                Ok(Self { topology, how: found.how, gaps: Gaps::default(), origin: Origin::Here })
            }
            Found::Xml(text) => {
                let how = Path::new(&found.how).to_owned();
                Ok(Self::of_xml(text.as_bytes(), &how, found.how)?.as_this_machine())
            }
        }
    }

    /// The same objects, which the caller vouches are this machine's.
    #[must_use]
    pub fn as_this_machine(self) -> Self {
        Self { origin: Origin::Here, ..self }
    }

    /// Whether values that are measured here belong on these objects: host name, processor and PUs
    /// are this machine's, as far as they are known. hwloc's variable `HWLOC_THISSYSTEM` says so
    /// too.
    ///
    /// # Errors
    /// [`MachineError::Elsewhere`] with what differs; others if nothing says what this machine is.
    pub fn check_here(&self) -> Result<(), MachineError> {
        let elsewhere = |difference| MachineError::Elsewhere { difference, how: self.how.clone() };
        if std::env::var_os("HWLOC_THISSYSTEM").is_some_and(|word| word == "1") {
            return Ok(());
        }
        match &self.origin {
            Origin::Here => Ok(()),
            Origin::Synthetic => Err(elsewhere("a description of no machine".to_owned())),
            Origin::File(theirs) => {
                let here = Self::discovered()?;
                let mut own = Identity::of(&here.topology);
                own.host.get_or_insert_with(host_name);
                theirs.difference(&own).map_or(Ok(()), |difference| Err(elsewhere(difference)))
            }
        }
    }

    /// Machine in a file of hwloc's XML.
    pub fn of_file(path: &Path) -> Result<Self, MachineError> {
        let failed = |source| MachineError::Read { source, path: path.to_owned() };
        // Only a regular file has a known length.
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(MachineError::TooLarge { path: path.to_owned() });
        }
        Self::of_xml(&bytes, path, path.display().to_string())
    }

    /// Machine in hwloc's notation for synthetic machines.
    pub fn synthetic(text: &str) -> Result<Self, MachineError> {
        let topology = synthetic::parse(text)?;
        let (how, gaps) = (format!("synthetic `{text}`"), Gaps::default());
        Ok(Self { topology, how, gaps, origin: Origin::Synthetic })
    }

    /// Machine in a text of hwloc's XML; `how` names the source.
    pub fn of_text(text: &str, how: &str) -> Result<Self, MachineError> {
        Self::of_xml(text.as_bytes(), Path::new(how), how.to_owned())
    }

    fn of_xml(bytes: &[u8], path: &Path, how: String) -> Result<Self, MachineError> {
        let failed = |source| MachineError::Xml { source, path: path.to_owned() };
        let loaded = xml::read(bytes).map_err(failed)?;
        let origin = Origin::File(Identity::of(&loaded.topology));
        Ok(Self { topology: loaded.topology, how, gaps: loaded.gaps, origin })
    }
}

/// This machine's name.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(host: &str, model: &str, pus: &str) -> Identity {
        let word = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Identity { host: word(host), model: word(model), pus: CpuSet::from_list(pus).unwrap() }
    }

    #[test]
    fn machines_differ_by_host_processor_and_pus() {
        let here = identity("n1", "EPYC 7402", "0-3");
        let check = |theirs: Identity, expected: Option<&str>| {
            assert_eq!(theirs.difference(&here).as_deref(), expected);
        };
        check(here.clone(), None);
        check(identity("", "", "0-3"), None);
        check(identity("n1", "EPYC 7402 ", "0-3"), None);
        check(identity("n2", "", "0-3"), Some("host `n2`, here `n1`"));
        check(identity("", "Xeon", "0-3"), Some("CPU model `Xeon`, here `EPYC 7402`"));
        check(identity("n1", "EPYC 7402", "0-7"), Some("PUs 0-7, here 0-3"));
    }

    #[test]
    fn what_this_machine_describes_is_this_machine() {
        let here = Machine::here().unwrap();
        here.check_here().unwrap();
        let text = talea_topology::xml::write(&here.topology, talea_topology::xml::Version::Two);
        Machine::of_text(&text, "a copy").unwrap().check_here().unwrap();
        let other = Machine::synthetic("pack:2 core:64 pu:2").unwrap();
        assert!(matches!(other.check_here(), Err(MachineError::Elsewhere { .. })));
        other.as_this_machine().check_here().unwrap();
    }
}

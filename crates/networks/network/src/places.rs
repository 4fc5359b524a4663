//! Places of ranks, from a launcher's file or the run itself.
//!
//! Owns the readers of these files, for commands about a job's traffic and for those that compare
//! its placement with others. Files that give ranks an order and no hosts need the job's nodes,
//! which are filled one after the other.

use std::fmt;
use std::path::PathBuf;

use talea_fabric::HostId;
use talea_fabric::place::{Placement, read};

use super::network::Network;
use crate::NetworkError;
use crate::input::text as read_text;

/// Source of the places of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// Slurm's host file.
    Hostfile(PathBuf),
    /// Open MPI's rankfile.
    Rankfile(PathBuf),
    /// Cray's rank order on the job's nodes.
    RankOrder(PathBuf),
    /// The run's own places.
    AsRun,
}

impl Placed {
    /// The host of each rank; `job` has the job's nodes and the number of ranks of each, `run` the
    /// number of ranks of the run and the known names of their hosts.
    pub fn placement(
        &self,
        network: &Network,
        job: (&[HostId], u16),
        run: (usize, &[Option<String>]),
    ) -> Result<Placement, NetworkError> {
        let fabric = &network.fabric;
        let lost = |path: &PathBuf, source| NetworkError::Placed { source, path: path.clone() };
        let launcher =
            |path: &PathBuf, source| NetworkError::Launcher { source, path: path.clone() };
        match self {
            Self::Hostfile(path) => {
                let text = read_text(path)?;
                let names = read::hostfile(&text).map_err(|error| launcher(path, error))?;
                read::placement(&names, fabric).map_err(|error| lost(path, error))
            }
            Self::Rankfile(path) => {
                let text = read_text(path)?;
                let names = read::rankfile(&text).map_err(|error| launcher(path, error))?;
                read::placement(&names, fabric).map_err(|error| lost(path, error))
            }
            Self::RankOrder(path) => {
                let order =
                    read::rank_order(&read_text(path)?).map_err(|error| launcher(path, error))?;
                let filled = Placement::filled(order.len(), job.1, job.0)?;
                let mut placed = vec![HostId(0); order.len()];
                // The file has each rank once.
                for (rank, host) in order.into_iter().zip(filled.hosts()) {
                    placed[rank as usize] = *host;
                }
                Ok(Placement::from_hosts(placed))
            }
            Self::AsRun => {
                let names: Option<Vec<&str>> = run.1.iter().map(Option::as_deref).collect();
                let names = names.filter(|names| names.len() == run.0 && run.0 > 0);
                let names = names.ok_or(NetworkError::NoPlaces)?;
                read::placement(&names, fabric).map_err(|source| NetworkError::RunHosts { source })
            }
        }
    }
}

/// The form of the command line.
impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hostfile(path) => write!(f, "hostfile:{}", path.display()),
            Self::Rankfile(path) => write!(f, "rankfile:{}", path.display()),
            Self::RankOrder(path) => write!(f, "rank-order:{}", path.display()),
            Self::AsRun => f.write_str("as-run"),
        }
    }
}

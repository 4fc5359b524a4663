//! `job-start` and `job-end`: what a scheduler's prolog and epilog tell the agent of their node.
//!
//! Owns where names come from when they are not given: the environment that Slurm makes (its
//! prolog's `SLURM_JOB_ID` and `SLURM_JOB_UID`), and the two ways in which a job says that it wants
//! no samples.

use std::path::{Path, PathBuf};

use talea_agent::notices::{self, Cores, Notice};
use talea_topology::CpuSet;

use crate::NodeError;

/// A comment of a job with this word in it asks for no samples, as `#SBATCH
/// --comment=no-monitoring`.
const OPT_OUT: &str = "no-monitoring";

/// Options of the begin of a job.
#[derive(Clone, Debug)]
pub struct Starting {
    /// Its name; that of the environment if absent.
    pub id: Option<String>,
    /// Its owner; that of the environment if absent.
    pub user: Option<u32>,
    /// Cores that it has.
    pub cores: Cores,
    /// Whether its samples are kept; if absent, as the environment says.
    pub monitored: Option<bool>,
    /// Folder of the agent's notices.
    pub run_dir: PathBuf,
}

impl Starting {
    /// The cores that options name.
    pub(crate) fn cores(cpus: Option<CpuSet>, exclusive: bool) -> Cores {
        match cpus {
            Some(cpus) => Cores::These(cpus),
            None if exclusive => Cores::All,
            None => Cores::Unknown,
        }
    }
}

pub(crate) fn start(starting: &Starting) -> Result<(), NodeError> {
    let notice = notice(starting, |name| std::env::var(name).ok())?;
    Ok(notices::start(&starting.run_dir, &notice)?)
}

pub(crate) fn end(id: Option<&str>, run_dir: &Path) -> Result<(), NodeError> {
    let id = id.map(str::to_owned).or_else(|| named(|name| std::env::var(name).ok()));
    Ok(notices::end(run_dir, &id.ok_or(NodeError::NoId)?)?)
}

fn named(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    ["SLURM_JOB_ID", "PBS_JOBID"].into_iter().find_map(variable).filter(|id| !id.is_empty())
}

fn notice(
    starting: &Starting,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Notice, NodeError> {
    let id = starting.id.clone().or_else(|| named(&variable)).ok_or(NodeError::NoId)?;
    let user = match (starting.user, variable("SLURM_JOB_UID").filter(|text| !text.is_empty())) {
        (Some(user), _) => Some(user),
        // The environment speaks of its own job only.
        (None, Some(text)) if named(&variable).as_ref() == Some(&id) => {
            Some(text.parse().map_err(|_| NodeError::User { text })?)
        }
        _ => None,
    };
    let asked = || {
        let comment = variable("SLURM_JOB_COMMENT").unwrap_or_default();
        let says = comment.split(is_between).any(|word| word == OPT_OUT);
        let set = variable("TALEA_NO_MONITORING").is_some_and(|text| !matches!(&*text, "" | "0"));
        !says && !set
    };
    let monitored = starting.monitored.unwrap_or_else(asked);
    Ok(Notice { id, user, cores: starting.cores.clone(), monitored })
}

/// Between words of a comment, which people write as they like.
fn is_between(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, ',' | ';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn told_of(id: Option<&str>, environment: &[(&str, &str)]) -> Result<Notice, String> {
        let starting = Starting {
            id: id.map(str::to_owned),
            user: None,
            cores: Cores::Unknown,
            monitored: None,
            run_dir: PathBuf::new(),
        };
        let variable = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned())
        };
        notice(&starting, variable).map_err(|error| error.to_string())
    }

    #[test]
    fn the_environment_names_the_job() {
        let slurm = [("SLURM_JOB_ID", "7"), ("SLURM_JOB_UID", "1000")];
        let notice = told_of(None, &slurm).unwrap();
        assert_eq!((&*notice.id, notice.user, notice.monitored), ("7", Some(1000), true));
        // Another job is not the environment's.
        assert_eq!(told_of(Some("8"), &slurm).unwrap().user, None);
        assert!(told_of(None, &[]).unwrap_err().starts_with("job ID missing"));
        let wrong = told_of(None, &[("SLURM_JOB_ID", "7"), ("SLURM_JOB_UID", "root")]);
        assert_eq!(wrong.unwrap_err(), "expected a user's number in SLURM_JOB_UID: `root`");
    }

    #[test]
    fn jobs_ask_for_no_samples() {
        for (name, value, monitored) in [
            ("SLURM_JOB_COMMENT", "no-monitoring", false),
            ("SLURM_JOB_COMMENT", "urgent, no-monitoring", false),
            ("SLURM_JOB_COMMENT", "urgent\nno-monitoring\n", false),
            ("SLURM_JOB_COMMENT", "urgent\tno-monitoring;x", false),
            ("SLURM_JOB_COMMENT", "with no-monitoring-tool", true),
            ("TALEA_NO_MONITORING", "1", false),
            ("TALEA_NO_MONITORING", "0", true),
            ("TALEA_NO_MONITORING", "", true),
        ] {
            let notice = told_of(Some("7"), &[(name, value)]).unwrap();
            assert_eq!(notice.monitored, monitored, "{name}={value}");
        }
    }
}

//! Placements as the files that launchers read.
//!
//! Owns three forms: Slurm's host file for `--distribution=arbitrary`, the rank order of Cray's
//! MPICH (`MPICH_RANK_REORDER_METHOD=3`, `intro_mpi(3)`) and Open MPI's rankfile (`mpirun(1)`). It
//! refuses host names that would be read as something else, and placements that a form cannot
//! express.

use std::fmt::Write;

use super::{PlaceError, Placement};
use crate::machine::{Fabric, HostId};

/// Names of the hosts of all ranks, checked.
fn names<'a>(placement: &Placement, fabric: &'a Fabric) -> Result<Vec<&'a str>, PlaceError> {
    let name = |host: &HostId| {
        let hosts = fabric.hosts();
        let missing = crate::traffic::TrafficError::Host { host: host.0, hosts: hosts.len() };
        let name = hosts.get(host.at()).map(|host| host.name.as_str()).ok_or(missing)?;
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.starts_with('-') || !name.chars().all(good) {
            return Err(PlaceError::Name { name: name.chars().take(80).collect() });
        }
        Ok(name)
    };
    placement.hosts().iter().map(name).collect()
}

/// Slurm's host file: the host of each rank, one a line, for `SLURM_HOSTFILE` and `srun
/// --distribution=arbitrary`. Slurm assigns the slots.
///
/// # Errors
/// A host name that cannot be written.
pub fn hostfile(placement: &Placement, fabric: &Fabric) -> Result<String, PlaceError> {
    let mut text = String::new();
    for name in names(placement, fabric)? {
        text.push_str(name);
        text.push('\n');
    }
    Ok(text)
}

/// Open MPI's rankfile: `rank 0=host slot=0`, a line for each rank, where a slot is a core of the
/// node.
///
/// # Errors
/// A host name that cannot be written.
pub fn rankfile(placement: &Placement, fabric: &Fabric) -> Result<String, PlaceError> {
    let mut text = String::new();
    for ((rank, name), slot) in names(placement, fabric)?.iter().enumerate().zip(placement.slots())
    {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "rank {rank}={name} slot={slot}");
    }
    Ok(text)
}

/// Cray's `MPICH_RANK_ORDER`: ranks in the order in which nodes of the job are filled, one node a
/// line. `nodes` is that order; those without a rank are skipped, as the job has no more nodes than
/// it fills.
///
/// # Errors
/// A rank on a node that is not listed, or nodes before the last one with unequal numbers of ranks:
/// the file cannot express the end of a node otherwise.
pub fn rank_order(placement: &Placement, nodes: &[HostId]) -> Result<String, PlaceError> {
    let most = placement.hosts().iter().chain(nodes).map(|host| host.at() + 1).max().unwrap_or(0);
    let mut ranks = vec![Vec::new(); most];
    for ((rank, host), slot) in (0_u32..).zip(placement.hosts()).zip(placement.slots()) {
        ranks[host.at()].push((*slot, rank));
    }
    let mut lines = Vec::new();
    for node in nodes {
        let mut of_node = std::mem::take(&mut ranks[node.at()]);
        if !of_node.is_empty() {
            of_node.sort_unstable();
            lines.push(of_node);
        }
    }
    if ranks.iter().any(|of_node| !of_node.is_empty()) {
        let what = "a rank is on a node that is not of the job, expected all nodes with ranks";
        return Err(PlaceError::Form { what });
    }
    let full = lines.first().map_or(0, Vec::len);
    let last = lines.len().saturating_sub(1);
    let uneven = |(at, line): (usize, &Vec<_>)| line.len() > full || at < last && line.len() < full;
    if lines.iter().enumerate().any(uneven) {
        let what = "nodes have different numbers of ranks, expected as many on all but the last";
        return Err(PlaceError::Form { what });
    }
    let mut text = String::from("# MPICH_RANK_REORDER_METHOD=3\n");
    for line in lines {
        let ranks: Vec<_> = line.iter().map(|(_, rank)| rank.to_string()).collect();
        text.push_str(&ranks.join(","));
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{blocks, hosts_of_a_router as fabric};

    #[test]
    fn the_three_forms() {
        let fabric = fabric(&["nid0", "nid1", "nid2"]);
        let nodes = [2, 0].map(HostId);
        let placement = blocks([4, 2, 1], [1, 2, 2], 4, &nodes).unwrap();
        let order = rank_order(&placement, &nodes).unwrap();
        insta::assert_snapshot!(hostfile(&placement, &fabric).unwrap().replace('\n', " "), @"nid2 nid2 nid0 nid0 nid2 nid2 nid0 nid0");
        insta::assert_snapshot!(rankfile(&placement, &fabric).unwrap(), @r"
        rank 0=nid2 slot=0
        rank 1=nid2 slot=1
        rank 2=nid0 slot=0
        rank 3=nid0 slot=1
        rank 4=nid2 slot=2
        rank 5=nid2 slot=3
        rank 6=nid0 slot=2
        rank 7=nid0 slot=3
        ");
        insta::assert_snapshot!(order, @r"
        # MPICH_RANK_REORDER_METHOD=3
        0,1,4,5
        2,3,6,7
        ");
    }

    #[test]
    fn what_a_form_cannot_say() {
        let uneven = Placement::from_hosts([0, 1, 1, 2].map(HostId).to_vec());
        let all = [0, 1, 2].map(HostId);
        assert!(rank_order(&uneven, &all).is_err());
        assert!(rank_order(&uneven, &all[..2]).is_err());
        let short = Placement::from_hosts([0, 1, 1, 0, 2].map(HostId).to_vec());
        assert!(rank_order(&short, &all).unwrap().ends_with("0,3\n1,2\n4\n"));
        for name in ["a b", "a\nrank 1=b slot=0", "", "-x", "a=b", "n(0,1).0"] {
            let fabric = fabric(&[name]);
            assert!(hostfile(&Placement::from_hosts(vec![HostId(0)]), &fabric).is_err(), "{name}");
        }
        assert!(rankfile(&uneven, &fabric(&["a"])).is_err());
        assert_eq!(rank_order(&Placement::default(), &[]).unwrap().lines().count(), 1);
    }
}

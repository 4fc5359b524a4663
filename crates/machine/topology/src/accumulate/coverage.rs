//! Coverage of a monitor's objects by a counter.
//!
//! Owns the reasons for objects without values: the counter is read at other places, not at all of
//! them, or at some PUs only. It refuses reasons where no value is expected: a disk has no packets
//! to count.

use super::contain::Members;
use crate::objects::{Attributes, ObjectId, ObjectKind, Topology};
use crate::values::Place;

/// A counter, and its requested objects.
pub(super) struct Asked<'a> {
    pub(super) counter: &'a str,
    /// Places of its readings.
    pub(super) places: &'a [Place],
    pub(super) objects: &'a [ObjectId],
    /// The user's name of the objects.
    pub(super) at: &'a str,
}

/// Objects without values.
pub(super) struct Lack {
    pub(super) why: String,
    pub(super) count: u64,
}

impl Asked<'_> {
    /// The missing values; an error where no object has a value. `members` are the places in each
    /// object.
    pub(super) fn lacks(
        &self,
        topology: &Topology,
        members: &Members,
    ) -> Result<Vec<Lack>, String> {
        let Self { counter, places, objects, at } = *self;
        if members.rows().all(<[u32]>::is_empty) {
            let read = match places.first() {
                Some(Place::Pu(_)) => "at PUs that it does not have",
                Some(Place::Numa(_)) => "per NUMA node",
                Some(Place::Package(_)) => "per package",
                Some(Place::Device(_)) => "per device",
                _ => "for the whole machine",
            };
            return Err(format!("`{counter}` is read {read}, which says nothing of each {at}"));
        }
        let counts = |&id: &ObjectId| !self.is_of_other_use(topology, id);
        let total = objects.iter().filter(|id| counts(id)).count();
        let rows = || objects.iter().zip(members.rows());
        let empty = rows().filter(|(id, places)| places.is_empty() && counts(id)).count();
        let pus: Vec<usize> = topology
            .of_kind(ObjectKind::Pu)
            .filter_map(|(_, pu)| pu.os_index.map(|number| number as usize))
            .collect();
        let all_pus = places.iter().all(|place| matches!(place, Place::Pu(_)));
        let is_partial = |(id, places): &(&ObjectId, &[u32])| {
            let cpuset = &topology.get(**id).cpuset;
            let has = pus.iter().filter(|&&pu| cpuset.contains(pu)).count();
            all_pus && !places.is_empty() && places.len() < has
        };
        let partial = rows().filter(is_partial).count();
        let lack = |count: usize, how: &str| {
            let why = format!("`{counter}` is {how} {count} of {total} {at}");
            (count > 0).then_some(Lack { why, count: count as u64 })
        };
        let lacks = [lack(empty, "not read at"), lack(partial, "read at some PUs only of")];
        Ok(lacks.into_iter().flatten().collect())
    }

    fn is_of_other_use(&self, topology: &Topology, id: ObjectId) -> bool {
        is_of_other_use(topology, id, self.counter)
    }
}

/// True if an object is a device for something other than the counter's family: a disk has no
/// packets.
pub fn is_of_other_use(topology: &Topology, id: ObjectId, counter: &str) -> bool {
    let Attributes::Os { uses } = &topology.get(id).attributes else { return false };
    let counted = match counter.split(':').next() {
        Some("net") => "Network",
        Some("disk") => "Block",
        Some("ib") => "OpenFabrics",
        _ => return false,
    };
    !uses.is_empty() && !uses.iter().any(|one| one == counted)
}

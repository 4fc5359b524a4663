//! Arguments of a call by name: their places among the recorded values, and their meaning in the
//! world.
//!
//! Owns the plan of one procedure, found once for each node, and the amounts that a call moves.

use talea_model::{ArgKind, Bytes, ProcedureSpec, Rank};
use talea_run::Recording;
use talea_run::lists::Cursor;
use talea_run::recording::Process;

use crate::procedures::{Share, Traffic, traffic};

/// Places of the arguments with the amount and the destination of a send.
#[derive(Clone, Copy, Debug)]
pub struct SendPlan {
    /// Direction of its bytes.
    pub traffic: Traffic,
    peer: Option<usize>,
    root: Option<usize>,
    comm: Option<usize>,
    win: Option<usize>,
    count: Option<usize>,
    partitions: Option<usize>,
    datatype: Option<usize>,
    datatypes: Option<usize>,
    counts: Option<usize>,
}

impl SendPlan {
    /// The plan of a procedure.
    pub fn for_procedure(spec: &ProcedureSpec) -> Self {
        let place = |names: &[&str]| {
            names.iter().find_map(|name| spec.args.iter().position(|arg| arg.name == *name))
        };
        Self {
            traffic: traffic(&spec.name),
            peer: place(&["dest", "target_rank"]),
            root: place(&["root"]),
            comm: spec.args.iter().position(|arg| arg.kind == ArgKind::Comm),
            win: place(&["win"]),
            count: place(&["sendcount", "origin_count", "count", "recvcount"]),
            partitions: place(&["partitions"]),
            datatype: place(&["sendtype", "origin_datatype", "datatype", "recvtype"]),
            datatypes: place(&["sendtypes"]),
            counts: place(&["sendcounts", "recvcounts"]),
        }
    }

    /// The other end of a message in the world; absent for `MPI_PROC_NULL` and processes of other
    /// worlds. `comm_of_window` has the communicator of a window by its number.
    pub fn receiver(
        &self,
        recording: &Recording,
        process: &Process,
        args: &[i64],
        comm_of_window: impl Fn(i64) -> Option<i64>,
    ) -> Option<Rank> {
        let value = |place: Option<usize>| place.and_then(|place| args.get(place).copied());
        let peer = value(self.peer)?;
        let comm = match self.win {
            Some(_) => value(self.win).and_then(comm_of_window),
            None => value(self.comm),
        };
        recording.world_rank(process, comm, peer)
    }

    /// Bytes that the call sends from this process (or, for a get, to it).
    pub fn bytes(
        &self,
        recording: &Recording,
        process: &Process,
        args: &[i64],
        lists: &mut Cursor<'_>,
    ) -> Bytes {
        let value = |place: Option<usize>| place.and_then(|place| args.get(place).copied());
        let size = |datatype: Option<i64>| {
            let place = datatype.and_then(|datatype| usize::try_from(datatype).ok());
            place.and_then(|place| recording.datatypes.get(place)).map_or(0, |datatype| datatype.0)
        };
        let positive = |count: i64| u64::try_from(count).unwrap_or(0);
        let elements = || {
            let one = positive(value(self.count).unwrap_or(0));
            one.saturating_mul(value(self.partitions).map_or(1, positive))
        };
        let once = || elements().saturating_mul(size(value(self.datatype)));
        let members = || {
            let comm = value(self.comm).and_then(|comm| usize::try_from(comm).ok());
            comm.and_then(|comm| recording.comms.get(comm)).map_or(1, |comm| comm.members.len())
        };
        let mut listed = || {
            let one = size(value(self.datatype));
            let mut list = |place: Option<usize>| -> Vec<i64> {
                let list = value(place).and_then(|list| lists.get(list)).unwrap_or_default();
                list.iter().collect()
            };
            let sizes = list(self.datatypes);
            let counts = list(self.counts);
            counts.iter().enumerate().fold(0_u64, |sum, (at, &count)| {
                let size = sizes.get(at).map_or(one, |&datatype| size(Some(datatype)));
                sum.saturating_add(positive(count).saturating_mul(size))
            })
        };
        let is_root = || {
            let root = value(self.root).unwrap_or(-1);
            recording.world_rank(process, value(self.comm), root) == Some(process.location.rank)
        };
        Bytes(match self.traffic {
            Traffic::Send | Traffic::Prepare | Traffic::Put | Traffic::Get => once(),
            Traffic::Collective(share) => match share {
                Share::Once if self.count.is_none() => listed(),
                Share::Once => once(),
                Share::Each => once().saturating_mul(members()),
                Share::List => listed(),
                Share::OfRoot if is_root() => once(),
                Share::EachOfRoot if is_root() => once().saturating_mul(members()),
                Share::ListOfRoot if is_root() => listed(),
                Share::Nothing | Share::OfRoot | Share::EachOfRoot | Share::ListOfRoot => 0,
            },
            Traffic::None | Traffic::Start => 0,
        })
    }
}

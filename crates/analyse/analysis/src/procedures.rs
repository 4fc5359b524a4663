//! Purpose of each MPI procedure: one table of the kind of time in it, of its messages, and of the
//! procedures that make requests.
//!
//! Owns facts of the MPI standard that views need and that recordings do not carry. Names are those
//! of the C binding; the large-count `_c` forms count as the same procedure. A test compares it
//! with the table that recordings are made by.

use talea_report::data::Category;

/// Which processes a call's own bytes go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// It sends nothing by itself.
    None,
    /// One message to `dest`.
    Send,
    /// Prepares messages to `dest` that `MPI_Start` sends.
    Prepare,
    /// Sends the prepared messages.
    Start,
    /// Into the memory of `target_rank`.
    Put,
    /// Out of the memory of `target_rank`.
    Get,
    /// All members send what their arguments say.
    Collective(Share),
}

/// How much one member contributes to a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Nothing.
    Nothing,
    /// `count` or `sendcount` elements.
    Once,
    /// The root's `count` elements.
    OfRoot,
    /// The same number of elements to each member.
    Each,
    /// The root's elements to each member.
    EachOfRoot,
    /// A list of numbers of elements, one a member.
    List,
    /// The root's list.
    ListOfRoot,
}

/// The name without the prefix, and without the suffix of large counts.
fn base(name: &str) -> &str {
    let name = name.strip_prefix("MPI_").unwrap_or(name);
    name.strip_suffix("_c").unwrap_or(name)
}

/// The collective operation behind a blocking, nonblocking or persistent procedure.
fn operation(base: &str) -> (&str, bool) {
    if let Some(name) = base.strip_suffix("_init") {
        return (name, true);
    }
    (base, false)
}

fn share(base: &str) -> Option<Share> {
    let name = operation(base).0;
    let lower: String;
    let name = match name.strip_prefix('I') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase()) => {
            lower = rest[..1].to_ascii_uppercase() + &rest[1..];
            &lower
        }
        _ => name,
    };
    Some(match name {
        "Barrier" => Share::Nothing,
        "Allgather"
        | "Allgatherv"
        | "Allreduce"
        | "Exscan"
        | "Gather"
        | "Gatherv"
        | "Reduce"
        | "Reduce_scatter"
        | "Reduce_scatter_block"
        | "Scan"
        | "Neighbor_allgather"
        | "Neighbor_allgatherv" => Share::Once,
        "Bcast" => Share::OfRoot,
        "Alltoall" | "Neighbor_alltoall" => Share::Each,
        "Scatter" => Share::EachOfRoot,
        "Alltoallv" | "Alltoallw" | "Neighbor_alltoallv" | "Neighbor_alltoallw" => Share::List,
        "Scatterv" => Share::ListOfRoot,
        _ => return None,
    })
}

/// Messages that a procedure sends.
pub fn traffic(name: &str) -> Traffic {
    let base = base(name);
    match base {
        "Send" | "Bsend" | "Ssend" | "Rsend" | "Isend" | "Ibsend" | "Issend" | "Irsend"
        | "Sendrecv" | "Isendrecv" | "Sendrecv_replace" | "Isendrecv_replace" => Traffic::Send,
        "Send_init" | "Bsend_init" | "Ssend_init" | "Rsend_init" | "Psend_init" => Traffic::Prepare,
        "Start" | "Startall" => Traffic::Start,
        "Put" | "Rput" | "Accumulate" | "Raccumulate" => Traffic::Put,
        "Get" | "Rget" => Traffic::Get,
        _ => match share(base) {
            Some(_) if operation(base).1 => Traffic::None,
            Some(share) => Traffic::Collective(share),
            None => Traffic::None,
        },
    }
}

/// Kind of the time in a procedure.
pub fn category(name: &str) -> Category {
    let base = base(name);
    if base.starts_with("File_") {
        return Category::Io;
    }
    if traffic(name) == Traffic::Prepare || operation(base).1 {
        return Category::Setup;
    }
    match base {
        "Wait"
        | "Waitall"
        | "Waitany"
        | "Waitsome"
        | "Test"
        | "Testall"
        | "Testany"
        | "Testsome"
        | "Recv"
        | "Mrecv"
        | "Probe"
        | "Iprobe"
        | "Mprobe"
        | "Improbe"
        | "Parrived"
        | "Win_wait"
        | "Win_test"
        | "Win_flush"
        | "Win_flush_all"
        | "Win_flush_local"
        | "Win_flush_local_all"
        | "Win_unlock"
        | "Win_unlock_all"
        | "Win_lock"
        | "Win_lock_all"
        | "Win_start"
        | "Win_complete"
        | "Buffer_detach"
        | "Buffer_flush" => Category::Waiting,
        "Irecv" | "Imrecv" | "Pready" | "Pready_list" | "Pready_range" | "Get_accumulate"
        | "Rget_accumulate" | "Fetch_and_op" | "Compare_and_swap" | "Win_post" | "Cancel" => {
            Category::Transfer
        }
        "Win_fence" => Category::Collective,
        _ if base.starts_with("Request_get_status") => Category::Waiting,
        _ => match traffic(name) {
            Traffic::Collective(_) => Category::Collective,
            Traffic::None => Category::Setup,
            _ => Category::Transfer,
        },
    }
}

/// Whether a call makes a request, which is then numbered.
pub fn makes_request(name: &str) -> bool {
    let base = base(name);
    match base {
        "Isend"
        | "Ibsend"
        | "Issend"
        | "Irsend"
        | "Irecv"
        | "Imrecv"
        | "Isendrecv"
        | "Isendrecv_replace"
        | "Recv_init"
        | "Precv_init"
        | "Rput"
        | "Rget"
        | "Raccumulate"
        | "Rget_accumulate"
        | "Grequest_start"
        | "Comm_idup"
        | "Comm_idup_with_info"
        | "Comm_iflush_buffer"
        | "Session_iflush_buffer"
        | "Buffer_iflush" => true,
        _ if base.starts_with("File_iread") || base.starts_with("File_iwrite") => true,
        _ if traffic(name) == Traffic::Prepare => true,
        // Blocking operations have the same share, but begin neither with an I nor end in `_init`.
        _ => share(base).is_some() && (operation(base).1 || base.starts_with('I')),
    }
}

/// Whether requests that a call makes stay after they are complete.
pub fn makes_persistent(name: &str) -> bool {
    makes_request(name) && base(name).ends_with("_init")
}

/// Calls that may find nothing and are then made again.
pub fn is_poll(name: &str) -> bool {
    let base = base(name);
    matches!(
        base,
        "Test"
            | "Testall"
            | "Testany"
            | "Testsome"
            | "Iprobe"
            | "Improbe"
            | "Parrived"
            | "Win_test"
    ) || base.starts_with("Request_get_status")
}

/// Calls that begin and end MPI: they are no part of the run that shares refer to.
pub fn is_bracket(name: &str) -> bool {
    matches!(base(name), "Init" | "Init_thread" | "Finalize" | "Session_init" | "Session_finalize")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table that recordings are made by: name, class, parameters.
    fn recorded() -> Vec<(&'static str, &'static str, &'static str)> {
        include_str!("../../../record/mpi/procedures.tsv")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let mut fields = line.split('\t');
                let mut next = || fields.next().unwrap_or_default();
                (next(), next(), next())
            })
            .collect()
    }

    #[test]
    fn requests_are_made_by_the_procedures_that_the_recorder_counts() {
        let recorded = recorded();
        assert!(recorded.len() > 600);
        for (name, class, params) in recorded {
            let makes = params.contains("request:request_out");
            assert_eq!(makes_request(name), makes, "{name}");
            assert_eq!(makes_persistent(name), class == "persistent", "{name}");
            let poll = ["test", "testall", "testany", "testsome", "poll", "iprobe", "improbe"];
            assert_eq!(is_poll(name), poll.contains(&class), "{name}");
            let bracket = ["init", "finalize", "session_init", "session_finalize"];
            assert_eq!(is_bracket(name), bracket.contains(&class), "{name}");
        }
    }

    #[test]
    fn what_sends_has_the_arguments_that_say_how_much() {
        for (name, _, params) in recorded() {
            let has = |arg: &str| params.split(' ').any(|p| p.split(':').next() == Some(arg));
            let amount = has("count") || has("sendcount");
            match traffic(name) {
                Traffic::Send | Traffic::Prepare => {
                    assert!(has("dest") && has("comm") && amount, "{name}");
                }
                Traffic::Put | Traffic::Get => {
                    assert!(has("target_rank") && has("origin_count"), "{name}");
                }
                Traffic::Start => assert!(has("request") || has("array_of_requests"), "{name}"),
                Traffic::Collective(Share::List | Share::ListOfRoot) => {
                    assert!(has("sendcounts"), "{name}");
                }
                Traffic::Collective(Share::Nothing) | Traffic::None => {}
                Traffic::Collective(_) => {
                    assert!(amount || has("recvcount") || has("recvcounts"), "{name}");
                }
            }
        }
    }

    #[test]
    fn categories() {
        let check = |name, expected| assert_eq!(category(name), expected, "{name}");
        check("MPI_Waitall", Category::Waiting);
        check("MPI_Recv_c", Category::Waiting);
        check("MPI_Isend", Category::Transfer);
        check("MPI_Startall", Category::Transfer);
        check("MPI_Iallreduce_c", Category::Collective);
        check("MPI_Allreduce_init", Category::Setup);
        check("MPI_Send_init", Category::Setup);
        check("MPI_File_iread_all", Category::Io);
        check("MPI_Comm_split", Category::Setup);
        check("MPI_Intercomm_create", Category::Setup);
        check("MPI_Put", Category::Transfer);
    }
}

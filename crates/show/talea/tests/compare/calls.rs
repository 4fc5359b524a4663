//! What is known of each call: the arguments that both sides must have, and which calls are outside
//! the sequence.

/// What both sides must say. Everything else is compared where both have it.
pub(super) fn required(call: &str) -> &'static [&'static str] {
    match call {
        "MPI_Send" | "MPI_Ssend" | "MPI_Bsend" | "MPI_Rsend" | "MPI_Isend" | "MPI_Issend"
        | "MPI_Ibsend" | "MPI_Irsend" | "MPI_Send_init" | "MPI_Ssend_init" => {
            &["count", "datatype", "dest", "tag", "comm"]
        }
        "MPI_Recv" | "MPI_Irecv" | "MPI_Recv_init" => {
            &["count", "datatype", "source", "tag", "comm"]
        }
        "MPI_Sendrecv" => &[
            "sendcount",
            "sendtype",
            "dest",
            "sendtag",
            "recvcount",
            "recvtype",
            "source",
            "recvtag",
            "comm",
        ],
        "MPI_Sendrecv_replace" => {
            &["count", "datatype", "dest", "sendtag", "source", "recvtag", "comm"]
        }
        "MPI_Probe" | "MPI_Iprobe" | "MPI_Mprobe" | "MPI_Improbe" => &["source", "tag", "comm"],
        "MPI_Mrecv" => &["count", "datatype"],
        "MPI_Wait" | "MPI_Test" | "MPI_Start" | "MPI_Cancel" | "MPI_Request_free" => &["request"],
        "MPI_Waitall" | "MPI_Testall" | "MPI_Waitany" | "MPI_Testany" | "MPI_Startall" => {
            &["count", "array_of_requests"]
        }
        "MPI_Waitsome" | "MPI_Testsome" => &["incount", "array_of_requests"],
        "MPI_Bcast" | "MPI_Ibcast" => &["count", "datatype", "root", "comm"],
        "MPI_Allreduce" | "MPI_Iallreduce" | "MPI_Scan" | "MPI_Exscan" => {
            &["count", "datatype", "op", "comm"]
        }
        "MPI_Reduce" => &["count", "datatype", "op", "root", "comm"],
        "MPI_Reduce_scatter_block" => &["recvcount", "datatype", "op", "comm"],
        "MPI_Reduce_scatter" => &["recvcounts", "datatype", "op", "comm"],
        "MPI_Gather" | "MPI_Gatherv" | "MPI_Scatter" | "MPI_Scatterv" => &["root", "comm"],
        "MPI_Barrier" | "MPI_Ibarrier" | "MPI_Allgather" | "MPI_Allgatherv" | "MPI_Alltoall"
        | "MPI_Alltoallv" | "MPI_Comm_free" => &["comm"],
        "MPI_Alltoallw" => &["recvcounts", "recvtypes", "comm"],
        "MPI_Type_create_struct" => &["count", "array_of_blocklengths", "array_of_types"],
        "MPI_Comm_dup" | "MPI_Comm_split" | "MPI_Comm_create" | "MPI_Cart_sub" => {
            &["comm", "newcomm"]
        }
        "MPI_Cart_create" => &["comm_old", "comm_cart"],
        "MPI_Put" | "MPI_Get" => &["origin_count", "origin_datatype", "target_rank"],
        _ => &[],
    }
}

/// Calls without effect on other processes or on requests: not part of the sequence.
pub(super) fn is_local(call: &str) -> bool {
    const NAMES: &[&str] = &[
        "Wtime",
        "Wtick",
        "Initialized",
        "Finalized",
        "Query_thread",
        "Is_thread_main",
        "Pcontrol",
        "Address",
        "Op_commutative",
        "Pack_size",
        "Pack_external_size",
        "Alloc_mem",
        "Free_mem",
        "Comm_rank",
        "Comm_size",
        "Comm_group",
        "Comm_compare",
        "Comm_test_inter",
        "Cart_rank",
        "Cart_coords",
        "Cart_shift",
        "Cart_get",
        "Cart_map",
        "Cartdim_get",
        "Dims_create",
        "Topo_test",
        "Graph_map",
        "Graph_neighbors",
        "Graph_neighbors_count",
        "Dist_graph_neighbors",
        "Dist_graph_neighbors_count",
        "Type_size",
        "Type_match_size",
        "Type_extent",
        "Type_lb",
        "Type_ub",
        "Win_shared_query",
    ];
    const PREFIXES: &[&str] = &[
        "Get_",
        "Comm_get_",
        "Comm_set_",
        "Comm_remote_",
        "Comm_create_keyval",
        "Comm_free_keyval",
        "Comm_create_errhandler",
        "Comm_call_errhandler",
        "Comm_delete_attr",
        "Group_",
        "Info_",
        "Attr_",
        "Keyval_",
        "Errhandler_",
        "Error_",
        "Add_error_",
        "Status_",
        "Type_get_",
        "Type_set_",
        "Type_create_keyval",
        "Type_free_keyval",
        "Type_delete_attr",
        "Type_size_",
        "Win_get_",
        "Win_set_",
        "Win_create_keyval",
        "Win_free_keyval",
        "Win_delete_attr",
        "Win_create_errhandler",
        "Win_call_errhandler",
        "File_get_",
        "File_set_errhandler",
        "File_create_errhandler",
        "File_call_errhandler",
        "Aint_",
        "Graph_get",
        "Graphdims_get",
    ];
    // Data representations and accumulating gets are not local, whatever they are called.
    let Some(name) = call.strip_prefix("MPI_") else {
        return false;
    };
    if name == "Get_accumulate" {
        return false;
    }
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

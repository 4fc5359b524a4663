/* Wrappers of begin and end, and of what makes and frees communicators, datatypes, operations, windows and files. */
#include "call.h"

#include <stdlib.h>

/* Begin and end. */

int MPI_Init(int *argc, char ***argv)
{
    log_inside++;
    int error = ((int (*)(int *, char ***))log_next("MPI_Init"))(argc, argv);
    log_inside--;
    if (log_inside)
        return error;
    log_open_files();
    log_begin("MPI_Init");
    DONE
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    log_inside++;
    int error = ((int (*)(int *, char ***, int, int *))log_next("MPI_Init_thread"))(argc, argv, required, provided);
    log_inside--;
    if (log_inside)
        return error;
    log_open_files();
    log_begin("MPI_Init_thread");
    log_int("required", required);
    log_int("provided", *provided);
    DONE
}

int MPI_Finalize(void)
{
    if (!log_inside) {
        log_begin("MPI_Finalize");
        log_end(MPI_SUCCESS);
        log_close_files();
    }
    log_inside++;
    int error = ((int (*)(void))log_next("MPI_Finalize"))();
    log_inside--;
    return error;
}

int MPI_Abort(MPI_Comm comm, int errorcode)
{
    if (!log_inside) {
        log_begin("MPI_Abort");
        log_comm("comm", comm);
        log_int("errorcode", errorcode);
        log_end(MPI_SUCCESS);
        log_close_files();
    }
    log_inside++;
    return ((int (*)(MPI_Comm, int))log_next("MPI_Abort"))(comm, errorcode);
}

/* The buffer of MPI_Bsend. */

int MPI_Buffer_attach(void *buffer, int size)
{
    CALL(MPI_Buffer_attach, buffer, size)
    log_int("size", size);
    DONE
}

int MPI_Buffer_detach(void *buffer_address, int *size)
{
    CALL(MPI_Buffer_detach, buffer_address, size)
    DONE
}

/* Communicators. */

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    CALL(MPI_Comm_dup, comm, newcomm)
    log_comm("comm", comm);
    log_new_comm("newcomm", *newcomm);
    DONE
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    CALL(MPI_Comm_idup, comm, newcomm, request)
    log_comm("comm", comm);
    log_new_request(*request, LOG_OTHER, comm);
    DONE
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    CALL(MPI_Comm_split, comm, color, key, newcomm)
    log_comm("comm", comm);
    log_index("color", color);
    log_int("key", key);
    log_new_comm("newcomm", *newcomm);
    DONE
}

int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    CALL(MPI_Comm_split_type, comm, split_type, key, info, newcomm)
    log_comm("comm", comm);
    log_int("key", key);
    log_new_comm("newcomm", *newcomm);
    DONE
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    CALL(MPI_Comm_create, comm, group, newcomm)
    log_comm("comm", comm);
    log_new_comm("newcomm", *newcomm);
    DONE
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    CALL(MPI_Comm_create_group, comm, group, tag, newcomm)
    log_comm("comm", comm);
    log_int("tag", tag);
    log_new_comm("newcomm", *newcomm);
    DONE
}

int MPI_Comm_free(MPI_Comm *comm)
{
    MPI_Comm before = *comm;
    CALL(MPI_Comm_free, comm)
    log_comm("comm", before);
    log_forget_comm(before);
    DONE
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    MPI_Comm before = *comm;
    CALL(MPI_Comm_disconnect, comm)
    log_comm("comm", before);
    log_forget_comm(before);
    DONE
}

int MPI_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
                   MPI_Comm *intercomm, int errcodes[])
{
    CALL(MPI_Comm_spawn, command, argv, maxprocs, info, root, comm, intercomm, errcodes)
    log_int("maxprocs", maxprocs);
    log_root(root, comm);
    log_comm("comm", comm);
    log_new_comm("intercomm", *intercomm);
    DONE
}

int MPI_Intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *made)
{
    CALL(MPI_Intercomm_create, local, local_leader, peer, remote_leader, tag, made)
    log_comm("local_comm", local);
    log_comm("peer_comm", peer);
    log_int("tag", tag);
    log_new_comm("newintercomm", *made);
    DONE
}

int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *made)
{
    CALL(MPI_Intercomm_merge, intercomm, high, made)
    log_comm("intercomm", intercomm);
    log_new_comm("newintracomm", *made);
    DONE
}

int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *made)
{
    CALL(MPI_Cart_create, comm, ndims, dims, periods, reorder, made)
    log_comm("comm_old", comm);
    log_int("ndims", ndims);
    log_ints("dims", dims, ndims);
    log_ints("periods", periods, ndims);
    log_int("reorder", reorder);
    log_new_comm("comm_cart", *made);
    DONE
}

int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *made)
{
    CALL(MPI_Cart_sub, comm, remain_dims, made)
    log_comm("comm", comm);
    log_new_comm("newcomm", *made);
    DONE
}

/* Datatypes and operations. */

int MPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    CALL(MPI_Type_contiguous, count, oldtype, newtype)
    log_int("count", count);
    log_type("oldtype", oldtype);
    log_type("newtype", *newtype);
    DONE
}

int MPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    CALL(MPI_Type_vector, count, blocklength, stride, oldtype, newtype)
    log_int("count", count);
    log_int("blocklength", blocklength);
    log_int("stride", stride);
    log_type("oldtype", oldtype);
    log_type("newtype", *newtype);
    DONE
}

int MPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    CALL(MPI_Type_create_hvector, count, blocklength, stride, oldtype, newtype)
    log_int("count", count);
    log_int("blocklength", blocklength);
    log_int("stride", stride);
    log_type("oldtype", oldtype);
    log_type("newtype", *newtype);
    DONE
}

int MPI_Type_indexed(int count, const int lengths[], const int displacements[], MPI_Datatype oldtype,
                     MPI_Datatype *newtype)
{
    CALL(MPI_Type_indexed, count, lengths, displacements, oldtype, newtype)
    log_int("count", count);
    log_type("oldtype", oldtype);
    log_type("newtype", *newtype);
    DONE
}

int MPI_Type_create_struct(int count, const int lengths[], const MPI_Aint displacements[], const MPI_Datatype types[],
                           MPI_Datatype *newtype)
{
    CALL(MPI_Type_create_struct, count, lengths, displacements, types, newtype)
    log_int("count", count);
    log_ints("array_of_blocklengths", lengths, count);
    log_types("array_of_types", types, count);
    log_type("newtype", *newtype);
    DONE
}

int MPI_Type_create_subarray(int ndims, const int sizes[], const int subsizes[], const int starts[], int order,
                             MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    CALL(MPI_Type_create_subarray, ndims, sizes, subsizes, starts, order, oldtype, newtype)
    log_int("ndims", ndims);
    log_type("oldtype", oldtype);
    log_type("newtype", *newtype);
    DONE
}

int MPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *newtype)
{
    CALL(MPI_Type_create_resized, oldtype, lb, extent, newtype)
    log_type("oldtype", oldtype);
    log_type("newtype", *newtype);
    DONE
}

int MPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    CALL(MPI_Type_dup, oldtype, newtype)
    log_type("oldtype", oldtype);
    log_type("newtype", *newtype);
    DONE
}

int MPI_Type_commit(MPI_Datatype *datatype)
{
    CALL(MPI_Type_commit, datatype)
    log_type("datatype", *datatype);
    DONE
}

int MPI_Type_free(MPI_Datatype *datatype)
{
    CALL(MPI_Type_free, datatype)
    DONE
}

int MPI_Op_create(MPI_User_function *function, int commute, MPI_Op *op)
{
    CALL(MPI_Op_create, function, commute, op)
    log_int("commute", commute);
    DONE
}

int MPI_Op_free(MPI_Op *op)
{
    CALL(MPI_Op_free, op)
    DONE
}

/* Windows. */

int MPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    CALL(MPI_Win_create, base, size, disp_unit, info, comm, win)
    log_int("size", size);
    log_int("disp_unit", disp_unit);
    log_comm("comm", comm);
    DONE
}

int MPI_Win_fence(int assert, MPI_Win win)
{
    CALL(MPI_Win_fence, assert, win)
    log_int("assert", assert);
    DONE
}

int MPI_Win_free(MPI_Win *win)
{
    CALL(MPI_Win_free, win)
    DONE
}

int MPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win)
{
    CALL(MPI_Win_lock, lock_type, rank, assert, win)
    log_win_peer("rank", rank, win);
    log_int("assert", assert);
    DONE
}

int MPI_Win_unlock(int rank, MPI_Win win)
{
    CALL(MPI_Win_unlock, rank, win)
    log_win_peer("rank", rank, win);
    DONE
}

static void remote_access(int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint at, int target_count,
                          MPI_Datatype target_type, MPI_Win win)
{
    log_int("origin_count", origin_count);
    log_type("origin_datatype", origin_type);
    log_win_peer("target_rank", rank, win);
    log_int("target_disp", at);
    log_int("target_count", target_count);
    log_type("target_datatype", target_type);
}

int MPI_Put(const void *origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint at, int target_count,
            MPI_Datatype target_type, MPI_Win win)
{
    CALL(MPI_Put, origin, origin_count, origin_type, rank, at, target_count, target_type, win)
    remote_access(origin_count, origin_type, rank, at, target_count, target_type, win);
    DONE
}

int MPI_Get(void *origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint at, int target_count,
            MPI_Datatype target_type, MPI_Win win)
{
    CALL(MPI_Get, origin, origin_count, origin_type, rank, at, target_count, target_type, win)
    remote_access(origin_count, origin_type, rank, at, target_count, target_type, win);
    DONE
}

int MPI_Accumulate(const void *origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint at,
                   int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win)
{
    CALL(MPI_Accumulate, origin, origin_count, origin_type, rank, at, target_count, target_type, op, win)
    remote_access(origin_count, origin_type, rank, at, target_count, target_type, win);
    log_op(op);
    DONE
}

/* Files. */

int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
{
    CALL(MPI_File_open, comm, filename, amode, info, fh)
    log_comm("comm", comm);
    log_int("amode", amode);
    DONE
}

int MPI_File_close(MPI_File *fh)
{
    CALL(MPI_File_close, fh)
    DONE
}

int MPI_File_sync(MPI_File fh)
{
    CALL(MPI_File_sync, fh)
    DONE
}

int MPI_File_set_size(MPI_File fh, MPI_Offset size)
{
    CALL(MPI_File_set_size, fh, size)
    log_int("size", size);
    DONE
}

int MPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                      MPI_Info info)
{
    CALL(MPI_File_set_view, fh, disp, etype, filetype, datarep, info)
    log_int("disp", disp);
    log_type("etype", etype);
    log_type("filetype", filetype);
    DONE
}

#define FILE_AT(name, qualifier)                                                                            \
    int name(MPI_File fh, MPI_Offset offset, qualifier void *buf, int count, MPI_Datatype datatype,         \
             MPI_Status *status)                                                                            \
    {                                                                                                       \
        CALL(name, fh, offset, buf, count, datatype, status)                                                \
        log_int("offset", offset);                                                                          \
        log_int("count", count);                                                                            \
        log_type("datatype", datatype);                                                                     \
        DONE                                                                                                \
    }
FILE_AT(MPI_File_write_at, const) FILE_AT(MPI_File_write_at_all, const)
FILE_AT(MPI_File_read_at, ) FILE_AT(MPI_File_read_at_all, )

#define FILE_HERE(name, qualifier)                                                                          \
    int name(MPI_File fh, qualifier void *buf, int count, MPI_Datatype datatype, MPI_Status *status)        \
    {                                                                                                       \
        CALL(name, fh, buf, count, datatype, status)                                                        \
        log_int("count", count);                                                                            \
        log_type("datatype", datatype);                                                                     \
        DONE                                                                                                \
    }
FILE_HERE(MPI_File_write, const) FILE_HERE(MPI_File_write_all, const)
FILE_HERE(MPI_File_read, ) FILE_HERE(MPI_File_read_all, )

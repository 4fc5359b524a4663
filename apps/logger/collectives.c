/* Wrappers of collective calls, each in its blocking form and in the one that returns a request. */
#include "call.h"

static int size_of(MPI_Comm comm)
{
    int size = 0, remote = 0;
    PMPI_Comm_test_inter(comm, &remote);
    if (remote)
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return size;
}

static int is_root(int root, MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return root == rank || root == MPI_ROOT;
}

#define UNPACK(...) __VA_ARGS__

/* blocking and starting: names; parameters and arguments in parentheses; then what to log. */
#define COLLECTIVE(blocking, starting, parameters, arguments, ...)            \
    int blocking(UNPACK parameters, MPI_Comm comm)                            \
    {                                                                         \
        CALL(blocking, UNPACK arguments, comm)                                \
        __VA_ARGS__ log_comm("comm", comm);                                   \
        DONE                                                                  \
    }                                                                         \
    int starting(UNPACK parameters, MPI_Comm comm, MPI_Request *request)      \
    {                                                                         \
        CALL(starting, UNPACK arguments, comm, request)                       \
        __VA_ARGS__ log_comm("comm", comm);                                   \
        log_new_request(*request, LOG_OTHER, comm);                           \
        DONE                                                                  \
    }

int MPI_Barrier(MPI_Comm comm)
{
    CALL(MPI_Barrier, comm)
    log_comm("comm", comm);
    DONE
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    CALL(MPI_Ibarrier, comm, request)
    log_comm("comm", comm);
    log_new_request(*request, LOG_OTHER, comm);
    DONE
}

COLLECTIVE(MPI_Bcast, MPI_Ibcast, (void *buffer, int count, MPI_Datatype datatype, int root),
           (buffer, count, datatype, root), {
               log_int("count", count);
               log_type("datatype", datatype);
               log_root(root, comm);
           })

#define REDUCTION(blocking, starting)                                                                                 \
    COLLECTIVE(blocking, starting,                                                                                    \
               (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op),                     \
               (sendbuf, recvbuf, count, datatype, op), {                                                             \
                   log_int("count", count);                                                                           \
                   log_type("datatype", datatype);                                                                    \
                   log_op(op);                                                                                        \
               })
REDUCTION(MPI_Allreduce, MPI_Iallreduce)
REDUCTION(MPI_Scan, MPI_Iscan)
REDUCTION(MPI_Exscan, MPI_Iexscan)

COLLECTIVE(MPI_Reduce, MPI_Ireduce,
           (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root),
           (sendbuf, recvbuf, count, datatype, op, root), {
               log_int("count", count);
               log_type("datatype", datatype);
               log_op(op);
               log_root(root, comm);
           })

COLLECTIVE(MPI_Reduce_scatter, MPI_Ireduce_scatter,
           (const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op),
           (sendbuf, recvbuf, recvcounts, datatype, op), {
               log_ints("recvcounts", recvcounts, size_of(comm));
               log_type("datatype", datatype);
               log_op(op);
           })

COLLECTIVE(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
           (const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op),
           (sendbuf, recvbuf, recvcount, datatype, op), {
               log_int("recvcount", recvcount);
               log_type("datatype", datatype);
               log_op(op);
           })

/* What is not significant (in place, or not on the root) may be garbage: it is left out. */
static void sent(const void *sendbuf, int count, MPI_Datatype type)
{
    if (sendbuf == MPI_IN_PLACE)
        return;
    log_int("sendcount", count);
    log_type("sendtype", type);
}

static void received(const void *recvbuf, int count, MPI_Datatype type)
{
    if (recvbuf == MPI_IN_PLACE)
        return;
    log_int("recvcount", count);
    log_type("recvtype", type);
}

COLLECTIVE(MPI_Gather, MPI_Igather,
           (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
            MPI_Datatype recvtype, int root),
           (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root), {
               sent(sendbuf, sendcount, sendtype);
               if (is_root(root, comm))
                   received(recvbuf, recvcount, recvtype);
               log_root(root, comm);
           })

COLLECTIVE(MPI_Gatherv, MPI_Igatherv,
           (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
            const int displs[], MPI_Datatype recvtype, int root),
           (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root), {
               sent(sendbuf, sendcount, sendtype);
               if (is_root(root, comm)) {
                   log_ints("recvcounts", recvcounts, size_of(comm));
                   log_type("recvtype", recvtype);
               }
               log_root(root, comm);
           })

COLLECTIVE(MPI_Scatter, MPI_Iscatter,
           (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
            MPI_Datatype recvtype, int root),
           (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root), {
               if (is_root(root, comm))
                   sent(sendbuf, sendcount, sendtype);
               received(recvbuf, recvcount, recvtype);
               log_root(root, comm);
           })

COLLECTIVE(MPI_Scatterv, MPI_Iscatterv,
           (const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf,
            int recvcount, MPI_Datatype recvtype, int root),
           (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root), {
               if (is_root(root, comm)) {
                   log_ints("sendcounts", sendcounts, size_of(comm));
                   log_type("sendtype", sendtype);
               }
               received(recvbuf, recvcount, recvtype);
               log_root(root, comm);
           })

#define EVERYONE(blocking, starting)                                                                                  \
    COLLECTIVE(blocking, starting,                                                                                    \
               (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,              \
                MPI_Datatype recvtype),                                                                               \
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), {                                        \
                   sent(sendbuf, sendcount, sendtype);                                                                \
                   received(recvbuf, recvcount, recvtype);                                                            \
               })
EVERYONE(MPI_Allgather, MPI_Iallgather)
EVERYONE(MPI_Alltoall, MPI_Ialltoall)

COLLECTIVE(MPI_Allgatherv, MPI_Iallgatherv,
           (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
            const int displs[], MPI_Datatype recvtype),
           (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype), {
               sent(sendbuf, sendcount, sendtype);
               log_ints("recvcounts", recvcounts, size_of(comm));
               log_type("recvtype", recvtype);
           })

COLLECTIVE(MPI_Alltoallv, MPI_Ialltoallv,
           (const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
            const int recvcounts[], const int rdispls[], MPI_Datatype recvtype),
           (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype), {
               if (sendbuf != MPI_IN_PLACE) {
                   log_ints("sendcounts", sendcounts, size_of(comm));
                   log_type("sendtype", sendtype);
               }
               log_ints("recvcounts", recvcounts, size_of(comm));
               log_type("recvtype", recvtype);
           })

COLLECTIVE(MPI_Alltoallw, MPI_Ialltoallw,
           (const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
            void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[]),
           (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes), {
               if (sendbuf != MPI_IN_PLACE) {
                   log_ints("sendcounts", sendcounts, size_of(comm));
                   log_types("sendtypes", sendtypes, size_of(comm));
               }
               log_ints("recvcounts", recvcounts, size_of(comm));
               log_types("recvtypes", recvtypes, size_of(comm));
           })

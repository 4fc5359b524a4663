/* Fortran entry points that lead past the wrappers of C.
 *
 * Open MPI's Fortran layer calls PMPI inside, so the C wrappers never see a Fortran program: each procedure has the two
 * symbols `mpi_send_` (mpif.h and module mpi) and `mpi_send_f08_` (module mpi_f08; its handles are structures of one
 * integer), with the same arguments. MPICH's layer calls MPI, except for `mpi_wait_f08_` and the like, which have no
 * buffer among their arguments; with one they are called `mpi_send_f08ts_` and end in C.
 * The call goes on to the same symbol; handles are converted only to be described. Positions in lists are logged from 0.
 */
#include "call.h"

#include <stdlib.h>

typedef MPI_Fint I;

#define COMM(comm) PMPI_Comm_f2c(*(comm))
#define TYPE(type) PMPI_Type_f2c(*(type))

/* Where Fortran's constants live, as the linker calls them; a program without Fortran has none of them. */
#ifdef OPEN_MPI
#define IN_PLACE "mpi_fortran_in_place_"
#define STATUS_IGNORED "mpi_fortran_status_ignore_"
#define STATUSES_IGNORED "mpi_fortran_statuses_ignore_"
#else
#define IN_PLACE "MPIR_F08_MPI_IN_PLACE"
#define STATUS_IGNORED "MPIR_F08_MPI_STATUS_IGNORE_OBJ"
#define STATUSES_IGNORED "MPIR_F08_MPI_STATUSES_IGNORE_OBJ"
#endif
extern I in_place_mark[] __asm__(IN_PLACE) __attribute__((weak));
extern I status_ignored_mark[] __asm__(STATUS_IGNORED) __attribute__((weak));
extern I statuses_ignored_mark[] __asm__(STATUSES_IGNORED) __attribute__((weak));

enum { STATUS_INTS = sizeof(MPI_Status) / sizeof(I) };

/* The first position in a list. In Fortran it is 1; module mpi_f08 of MPICH 4.0 forgets that. */
#ifdef OPEN_MPI
enum { FIRST = 1 };
#else
enum { FIRST = 0 };
#endif

static int ignored(const I *status)
{
    return status == status_ignored_mark || status == statuses_ignored_mark;
}

static MPI_Status c_status(const I *status)
{
    MPI_Status c;
    PMPI_Status_f2c(status, &c);
    return c;
}

static void status_of_receive(const I *status, const I *comm)
{
    if (!ignored(status)) {
        MPI_Status c = c_status(status);
        log_status(&c, COMM(comm));
    }
}

#define UNPACK(...) __VA_ARGS__

#define ONE(NAME, symbol, parameters, arguments, before, after) \
    void symbol parameters;                                     \
    void symbol parameters                                      \
    {                                                           \
        static void(*next) parameters;                          \
        if (!next)                                              \
            next = (void(*) parameters)log_next(#symbol);       \
        if (log_inside) {                                       \
            next arguments;                                     \
            return;                                             \
        }                                                       \
        UNPACK before;                                          \
        log_inside = 1;                                         \
        next arguments;                                         \
        log_inside = 0;                                         \
        log_begin("MPI_" #NAME);                                \
        UNPACK after;                                           \
        log_end(MPI_SUCCESS);                                   \
    }

#ifdef OPEN_MPI
#define FORTRAN(NAME, lower, parameters, arguments, before, after)           \
    ONE(NAME, mpi_##lower##_, parameters, arguments, before, after)          \
    ONE(NAME, mpi_##lower##_f08_, parameters, arguments, before, after)
#else
#define FORTRAN(NAME, lower, parameters, arguments, before, after)           \
    ONE(NAME, mpi_##lower##_f08_, parameters, arguments, before, after)
#endif

/* Begin and end. */

FORTRAN(Init, init, (I *ierr), (ierr), (), (log_open_files()))
FORTRAN(Init_thread, init_thread, (I *required, I *provided, I *ierr), (required, provided, ierr), (),
        (log_open_files(), log_int("required", *required), log_int("provided", *provided)))

#define LAST(symbol, NAME, parameters, arguments, what)        \
    void symbol parameters;                                    \
    void symbol parameters                                     \
    {                                                          \
        if (!log_inside) {                                     \
            log_begin("MPI_" #NAME);                           \
            UNPACK what;                                       \
            log_end(MPI_SUCCESS);                              \
            log_close_files();                                 \
        }                                                      \
        log_inside++;                                          \
        ((void(*) parameters)log_next(#symbol)) arguments;     \
        log_inside--;                                          \
    }
#define ABORT log_comm("comm", COMM(comm)), log_int("errorcode", *code)
LAST(mpi_finalize_f08_, Finalize, (I *ierr), (ierr), ())
LAST(mpi_abort_f08_, Abort, (I *comm, I *code, I *ierr), (comm, code, ierr), (ABORT))
#ifdef OPEN_MPI
LAST(mpi_finalize_, Finalize, (I *ierr), (ierr), ())
LAST(mpi_abort_, Abort, (I *comm, I *code, I *ierr), (comm, code, ierr), (ABORT))
#endif

/* Point to point. */

static void message(const I *count, const I *type, const char *peer_key, const I *peer, const I *tag, const I *comm)
{
    log_int("count", *count);
    log_type("datatype", TYPE(type));
    log_peer(peer_key, *peer, COMM(comm));
    log_tag("tag", *tag);
    log_comm("comm", COMM(comm));
}

static void made(const I *request, enum log_kind kind, const I *comm)
{
    log_new_request(PMPI_Request_f2c(*request), kind, COMM(comm));
}

#define SEND(NAME, lower)                                                                                   \
    FORTRAN(NAME, lower, (void *buf, I *count, I *type, I *dest, I *tag, I *comm, I *ierr),                 \
            (buf, count, type, dest, tag, comm, ierr), (), (message(count, type, "dest", dest, tag, comm)))
SEND(Send, send) SEND(Ssend, ssend) SEND(Bsend, bsend) SEND(Rsend, rsend)

#define MESSAGE_REQUEST(NAME, lower, peer_key, kind)                                                                   \
    FORTRAN(NAME, lower, (void *buf, I *count, I *type, I *peer, I *tag, I *comm, I *request, I *ierr),                \
            (buf, count, type, peer, tag, comm, request, ierr), (),                                                    \
            (message(count, type, peer_key, peer, tag, comm), made(request, kind, comm)))
MESSAGE_REQUEST(Isend, isend, "dest", LOG_OTHER)
MESSAGE_REQUEST(Issend, issend, "dest", LOG_OTHER)
MESSAGE_REQUEST(Ibsend, ibsend, "dest", LOG_OTHER)
MESSAGE_REQUEST(Irsend, irsend, "dest", LOG_OTHER)
MESSAGE_REQUEST(Send_init, send_init, "dest", LOG_OTHER)
MESSAGE_REQUEST(Ssend_init, ssend_init, "dest", LOG_OTHER)
MESSAGE_REQUEST(Irecv, irecv, "source", LOG_RECEIVE)
MESSAGE_REQUEST(Recv_init, recv_init, "source", LOG_RECEIVE)

FORTRAN(Recv, recv, (void *buf, I *count, I *type, I *source, I *tag, I *comm, I *status, I *ierr),
        (buf, count, type, source, tag, comm, status, ierr), (),
        (message(count, type, "source", source, tag, comm), status_of_receive(status, comm)))

FORTRAN(Sendrecv, sendrecv,
        (void *sendbuf, I *sendcount, I *sendtype, I *dest, I *sendtag, void *recvbuf, I *recvcount, I *recvtype,
         I *source, I *recvtag, I *comm, I *status, I *ierr),
        (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status, ierr),
        (),
        (log_int("sendcount", *sendcount), log_type("sendtype", TYPE(sendtype)), log_peer("dest", *dest, COMM(comm)),
         log_tag("sendtag", *sendtag), log_int("recvcount", *recvcount), log_type("recvtype", TYPE(recvtype)),
         log_peer("source", *source, COMM(comm)), log_tag("recvtag", *recvtag), log_comm("comm", COMM(comm)),
         status_of_receive(status, comm)))

FORTRAN(Sendrecv_replace, sendrecv_replace,
        (void *buf, I *count, I *type, I *dest, I *sendtag, I *source, I *recvtag, I *comm, I *status, I *ierr),
        (buf, count, type, dest, sendtag, source, recvtag, comm, status, ierr), (),
        (log_int("count", *count), log_type("datatype", TYPE(type)), log_peer("dest", *dest, COMM(comm)),
         log_tag("sendtag", *sendtag), log_peer("source", *source, COMM(comm)), log_tag("recvtag", *recvtag),
         log_comm("comm", COMM(comm)), status_of_receive(status, comm)))

FORTRAN(Probe, probe, (I *source, I *tag, I *comm, I *status, I *ierr), (source, tag, comm, status, ierr), (),
        (log_peer("source", *source, COMM(comm)), log_tag("tag", *tag), log_comm("comm", COMM(comm)),
         status_of_receive(status, comm)))

FORTRAN(Iprobe, iprobe, (I *source, I *tag, I *comm, I *flag, I *status, I *ierr),
        (source, tag, comm, flag, status, ierr), (),
        (log_peer("source", *source, COMM(comm)), log_tag("tag", *tag), log_comm("comm", COMM(comm)),
         log_int("flag", *flag != 0), (void)(*flag ? status_of_receive(status, comm) : (void)0)))

/* Requests. */

struct waiting {
    struct log_waited *waited;
    MPI_Request *c;
    int count;
};

static struct waiting before(int count, const I *requests)
{
    struct waiting w = {NULL, calloc((size_t)count + 1, sizeof(MPI_Request)), count};
    for (int i = 0; i < count; i++)
        w.c[i] = PMPI_Request_f2c(requests[i]);
    w.waited = log_waited(count, w.c);
    return w;
}

static void after(struct waiting w, const I *requests)
{
    /* A null handle in Fortran tells that the request is gone; the C object may be gone with it. */
    I null = PMPI_Request_c2f(MPI_REQUEST_NULL);
    for (int i = 0; i < w.count; i++)
        log_waited_after(w.waited, i, requests[i] == null ? MPI_REQUEST_NULL : w.c[i]);
    log_waited_free(w.waited);
    free(w.c);
}

static void one_status(struct waiting w, int index, const I *status)
{
    if (ignored(status) || index < 0)
        return;
    MPI_Status c = c_status(status);
    log_waited_status(w.waited, index, &c);
}

static void from_0(const I *index)
{
    log_index("index", *index == MPI_UNDEFINED ? MPI_UNDEFINED : *index - FIRST);
}

static void indices_from_0(const I *indices, int count)
{
    int *c = calloc((size_t)(count > 0 ? count : 1), sizeof *c);
    for (int i = 0; i < count; i++)
        c[i] = indices[i] - FIRST;
    if (count > 0)
        log_ints("array_of_indices", c, count);
    free(c);
}

static void all_statuses(struct waiting w, int count, const I *at, const I *statuses)
{
    if (ignored(statuses) || count <= 0)
        return;
    MPI_Status *c = calloc((size_t)count, sizeof *c);
    int *indices = calloc((size_t)count, sizeof *indices);
    for (int i = 0; i < count; i++) {
        c[i] = c_status(statuses + (size_t)i * STATUS_INTS);
        indices[i] = at ? at[i] - FIRST : i;
    }
    log_waited_statuses(w.waited, count, indices, c);
    free(indices);
    free(c);
}

FORTRAN(Wait, wait, (I *request, I *status, I *ierr), (request, status, ierr), (struct waiting w = before(1, request)),
        (log_waited_one(w.waited), one_status(w, 0, status), after(w, request)))
FORTRAN(Test, test, (I *request, I *flag, I *status, I *ierr), (request, flag, status, ierr),
        (struct waiting w = before(1, request)),
        (log_waited_one(w.waited), log_int("flag", *flag != 0), one_status(w, *flag ? 0 : -1, status),
         after(w, request)))
FORTRAN(Waitall, waitall, (I *count, I *requests, I *statuses, I *ierr), (count, requests, statuses, ierr),
        (struct waiting w = before(*count, requests)),
        (log_int("count", *count), log_waited_list(w.waited), all_statuses(w, *count, NULL, statuses),
         after(w, requests)))
FORTRAN(Testall, testall, (I *count, I *requests, I *flag, I *statuses, I *ierr),
        (count, requests, flag, statuses, ierr), (struct waiting w = before(*count, requests)),
        (log_int("count", *count), log_waited_list(w.waited), log_int("flag", *flag != 0),
         all_statuses(w, *flag ? *count : 0, NULL, statuses), after(w, requests)))
FORTRAN(Waitany, waitany, (I *count, I *requests, I *index, I *status, I *ierr),
        (count, requests, index, status, ierr), (struct waiting w = before(*count, requests)),
        (log_int("count", *count), log_waited_list(w.waited), from_0(index),
         one_status(w, *index == MPI_UNDEFINED ? -1 : *index - FIRST, status), after(w, requests)))
FORTRAN(Testany, testany, (I *count, I *requests, I *index, I *flag, I *status, I *ierr),
        (count, requests, index, flag, status, ierr), (struct waiting w = before(*count, requests)),
        (log_int("count", *count), log_waited_list(w.waited), log_int("flag", *flag != 0),
         (void)(*flag ? from_0(index) : (void)0),
         one_status(w, !*flag || *index == MPI_UNDEFINED ? -1 : *index - FIRST, status), after(w, requests)))
#define SOME(NAME, lower)                                                                                            \
    FORTRAN(NAME, lower, (I *incount, I *requests, I *outcount, I *indices, I *statuses, I *ierr),                   \
            (incount, requests, outcount, indices, statuses, ierr), (struct waiting w = before(*incount, requests)), \
            (log_int("incount", *incount), log_waited_list(w.waited), log_index("outcount", *outcount),              \
             indices_from_0(indices, *outcount), all_statuses(w, *outcount, indices, statuses), after(w, requests)))
SOME(Waitsome, waitsome)
SOME(Testsome, testsome)

#define ON_REQUEST(NAME, lower)                                                                                      \
    FORTRAN(NAME, lower, (I *request, I *ierr), (request, ierr), (struct waiting w = before(1, request)),            \
            (log_waited_one(w.waited), after(w, request)))
ON_REQUEST(Start, start)
ON_REQUEST(Request_free, request_free)
ON_REQUEST(Cancel, cancel)
FORTRAN(Startall, startall, (I *count, I *requests, I *ierr), (count, requests, ierr),
        (struct waiting w = before(*count, requests)),
        (log_int("count", *count), log_waited_list(w.waited), after(w, requests)))

/* Collectives. */

static int in_place(const void *buffer)
{
    return buffer == (const void *)in_place_mark;
}

static void sent(const void *buffer, const I *count, const I *type)
{
    if (!in_place(buffer)) {
        log_int("sendcount", *count);
        log_type("sendtype", TYPE(type));
    }
}

static void received(const void *buffer, const I *count, const I *type)
{
    if (!in_place(buffer)) {
        log_int("recvcount", *count);
        log_type("recvtype", TYPE(type));
    }
}

static int size_of(const I *comm)
{
    int size;
    PMPI_Comm_size(COMM(comm), &size);
    return size;
}

static int is_root(const I *root, const I *comm)
{
    int rank;
    PMPI_Comm_rank(COMM(comm), &rank);
    return rank == *root;
}

static void ending(const I *comm)
{
    log_comm("comm", COMM(comm));
}

FORTRAN(Barrier, barrier, (I *comm, I *ierr), (comm, ierr), (), (ending(comm)))
FORTRAN(Ibarrier, ibarrier, (I *comm, I *request, I *ierr), (comm, request, ierr), (),
        (ending(comm), made(request, LOG_OTHER, comm)))
#define BCAST log_int("count", *count), log_type("datatype", TYPE(type)), log_root(*root, COMM(comm)), ending(comm)
FORTRAN(Bcast, bcast, (void *buf, I *count, I *type, I *root, I *comm, I *ierr), (buf, count, type, root, comm, ierr),
        (), (BCAST))
FORTRAN(Ibcast, ibcast, (void *buf, I *count, I *type, I *root, I *comm, I *request, I *ierr),
        (buf, count, type, root, comm, request, ierr), (), (BCAST, made(request, LOG_OTHER, comm)))
#define REDUCED log_int("count", *count), log_type("datatype", TYPE(type)), log_op(PMPI_Op_f2c(*op))
#define REDUCTION(NAME, lower)                                                                            \
    FORTRAN(NAME, lower, (void *from, void *to, I *count, I *type, I *op, I *comm, I *ierr),              \
            (from, to, count, type, op, comm, ierr), (), (REDUCED, ending(comm)))
REDUCTION(Allreduce, allreduce) REDUCTION(Scan, scan) REDUCTION(Exscan, exscan)
FORTRAN(Iallreduce, iallreduce, (void *from, void *to, I *count, I *type, I *op, I *comm, I *request, I *ierr),
        (from, to, count, type, op, comm, request, ierr), (), (REDUCED, ending(comm), made(request, LOG_OTHER, comm)))
FORTRAN(Reduce, reduce, (void *from, void *to, I *count, I *type, I *op, I *root, I *comm, I *ierr),
        (from, to, count, type, op, root, comm, ierr), (), (REDUCED, log_root(*root, COMM(comm)), ending(comm)))
FORTRAN(Reduce_scatter, reduce_scatter, (void *from, void *to, I *counts, I *type, I *op, I *comm, I *ierr),
        (from, to, counts, type, op, comm, ierr), (),
        (log_ints("recvcounts", counts, size_of(comm)), log_type("datatype", TYPE(type)), log_op(PMPI_Op_f2c(*op)),
         ending(comm)))
FORTRAN(Reduce_scatter_block, reduce_scatter_block, (void *from, void *to, I *count, I *type, I *op, I *comm, I *ierr),
        (from, to, count, type, op, comm, ierr), (),
        (log_int("recvcount", *count), log_type("datatype", TYPE(type)), log_op(PMPI_Op_f2c(*op)), ending(comm)))

#define EXCHANGE(NAME, lower)                                                                                         \
    FORTRAN(NAME, lower,                                                                                              \
            (void *from, I *sendcount, I *sendtype, void *to, I *recvcount, I *recvtype, I *comm, I *ierr),           \
            (from, sendcount, sendtype, to, recvcount, recvtype, comm, ierr), (),                                     \
            (sent(from, sendcount, sendtype), received(to, recvcount, recvtype), ending(comm)))
EXCHANGE(Allgather, allgather) EXCHANGE(Alltoall, alltoall)

FORTRAN(Gather, gather,
        (void *from, I *sendcount, I *sendtype, void *to, I *recvcount, I *recvtype, I *root, I *comm, I *ierr),
        (from, sendcount, sendtype, to, recvcount, recvtype, root, comm, ierr), (),
        (sent(from, sendcount, sendtype),
         (void)(is_root(root, comm) ? received(to, recvcount, recvtype) : (void)0), log_root(*root, COMM(comm)),
         ending(comm)))
FORTRAN(Scatter, scatter,
        (void *from, I *sendcount, I *sendtype, void *to, I *recvcount, I *recvtype, I *root, I *comm, I *ierr),
        (from, sendcount, sendtype, to, recvcount, recvtype, root, comm, ierr), (),
        ((void)(is_root(root, comm) ? sent(from, sendcount, sendtype) : (void)0), received(to, recvcount, recvtype),
         log_root(*root, COMM(comm)), ending(comm)))
FORTRAN(Gatherv, gatherv,
        (void *from, I *sendcount, I *sendtype, void *to, I *counts, I *displs, I *recvtype, I *root, I *comm, I *ierr),
        (from, sendcount, sendtype, to, counts, displs, recvtype, root, comm, ierr), (),
        (sent(from, sendcount, sendtype),
         (void)(is_root(root, comm)
                    ? log_ints("recvcounts", counts, size_of(comm)), log_type("recvtype", TYPE(recvtype)) : (void)0),
         log_root(*root, COMM(comm)), ending(comm)))
FORTRAN(Scatterv, scatterv,
        (void *from, I *counts, I *displs, I *sendtype, void *to, I *recvcount, I *recvtype, I *root, I *comm, I *ierr),
        (from, counts, displs, sendtype, to, recvcount, recvtype, root, comm, ierr), (),
        ((void)(is_root(root, comm)
                    ? log_ints("sendcounts", counts, size_of(comm)), log_type("sendtype", TYPE(sendtype)) : (void)0),
         received(to, recvcount, recvtype), log_root(*root, COMM(comm)), ending(comm)))
FORTRAN(Allgatherv, allgatherv,
        (void *from, I *sendcount, I *sendtype, void *to, I *counts, I *displs, I *recvtype, I *comm, I *ierr),
        (from, sendcount, sendtype, to, counts, displs, recvtype, comm, ierr), (),
        (sent(from, sendcount, sendtype), log_ints("recvcounts", counts, size_of(comm)),
         log_type("recvtype", TYPE(recvtype)), ending(comm)))
FORTRAN(Alltoallv, alltoallv,
        (void *from, I *sendcounts, I *sdispls, I *sendtype, void *to, I *recvcounts, I *rdispls, I *recvtype, I *comm,
         I *ierr),
        (from, sendcounts, sdispls, sendtype, to, recvcounts, rdispls, recvtype, comm, ierr), (),
        ((void)(in_place(from) ? (void)0
                               : (log_ints("sendcounts", sendcounts, size_of(comm)),
                                  log_type("sendtype", TYPE(sendtype)))),
         log_ints("recvcounts", recvcounts, size_of(comm)), log_type("recvtype", TYPE(recvtype)), ending(comm)))

/* Communicators and datatypes. */

FORTRAN(Comm_dup, comm_dup, (I *comm, I *newcomm, I *ierr), (comm, newcomm, ierr), (),
        (log_comm("comm", COMM(comm)), log_new_comm("newcomm", COMM(newcomm))))
FORTRAN(Comm_split, comm_split, (I *comm, I *color, I *key, I *newcomm, I *ierr), (comm, color, key, newcomm, ierr), (),
        (log_comm("comm", COMM(comm)), log_index("color", *color), log_int("key", *key),
         log_new_comm("newcomm", COMM(newcomm))))
FORTRAN(Comm_free, comm_free, (I *comm, I *ierr), (comm, ierr), (MPI_Comm old = COMM(comm)),
        (log_comm("comm", old), log_forget_comm(old)))
FORTRAN(Cart_create, cart_create,
        (I *comm, I *ndims, I *dims, I *periods, I *reorder, I *made, I *ierr),
        (comm, ndims, dims, periods, reorder, made, ierr), (),
        (log_comm("comm_old", COMM(comm)), log_int("ndims", *ndims), log_ints("dims", dims, *ndims),
         log_ints("periods", periods, *ndims), log_int("reorder", *reorder), log_new_comm("comm_cart", COMM(made))))
FORTRAN(Cart_sub, cart_sub, (I *comm, I *remain, I *made, I *ierr), (comm, remain, made, ierr), (),
        (log_comm("comm", COMM(comm)), log_new_comm("newcomm", COMM(made))))
FORTRAN(Type_contiguous, type_contiguous, (I *count, I *oldtype, I *newtype, I *ierr), (count, oldtype, newtype, ierr),
        (), (log_int("count", *count), log_type("oldtype", TYPE(oldtype)), log_type("newtype", TYPE(newtype))))
FORTRAN(Type_vector, type_vector, (I *count, I *length, I *stride, I *oldtype, I *newtype, I *ierr),
        (count, length, stride, oldtype, newtype, ierr), (),
        (log_int("count", *count), log_int("blocklength", *length), log_int("stride", *stride),
         log_type("oldtype", TYPE(oldtype)), log_type("newtype", TYPE(newtype))))
FORTRAN(Type_commit, type_commit, (I *type, I *ierr), (type, ierr), (), (log_type("datatype", TYPE(type))))
FORTRAN(Type_free, type_free, (I *type, I *ierr), (type, ierr), (), ())

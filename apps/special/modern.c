/* What MPI 4 and 5 added, and persistent requests, one thing a run; every number is checked here, every call by tests:
 *
 *   modern large        procedures with large counts (`_c`)
 *   modern persistent   requests of messages that are started again and again
 *   modern repeated     the same of collective operations
 *   modern partitioned  messages sent and received in parts, between ranks 0 and 1, 2 and 3, ...
 *   modern sessions     two sessions, without MPI_Init
 *   modern sessions 3   the same in three seconds
 *   modern again        the same, and a third when these are closed
 *   modern both         MPI_Init, and a session that only rank 0 opens
 *
 * Exit code 77: this MPI does not have it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef OMPI_MAJOR_VERSION
#define OMPI_MAJOR_VERSION 0
#endif
#define HAS_LARGE (MPI_VERSION >= 4)
#define HAS_PARTITIONED (MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5)

static int rank, size, next, before;

static void expect(const char *what, long long expected, long long found)
{
    if (expected == found)
        return;
    fprintf(stderr, "modern: rank %d: %s: expected %lld, found %lld\n", rank, what, expected, found);
    abort();
}

static void place(MPI_Comm comm)
{
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
}

#if HAS_LARGE
static int large(void)
{
    enum { MOST = 64 };
    int out[MOST], in[MOST], sum = 0;
    MPI_Count counts[MOST];
    MPI_Aint starts[MOST];
    MPI_Count offsets[2] = {0, 2 * sizeof(int)};
    MPI_Datatype pair, row, types[MOST];
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Win win;
    for (int i = 0; i < MOST; i++) {
        out[i] = 100 * rank + i;
        in[i] = -1;
        counts[i] = 1;
        starts[i] = i * (MPI_Aint)sizeof(int);
        types[i] = MPI_INT;
    }
    /* More than fits an int, to nobody. */
    MPI_Send_c(out, 5000000000, MPI_BYTE, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    MPI_Sendrecv_c(out, 3, MPI_INT, next, 4, in, 5, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("number received", 100 * before + 2, in[2]);
    MPI_Irecv_c(in, MOST, MPI_INT, before, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend_c(out, 2, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Bcast_c(in, 4, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Allreduce_c(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("sum", size * (size - 1) / 2, sum);
    for (int i = 0; i < size; i++) {
        counts[i] = 1 + i % 2;
        starts[i] = 2 * i;
    }
    MPI_Allgatherv_c(out, counts[rank], MPI_INT, in, counts, starts, MPI_INT, MPI_COMM_WORLD);
    expect("number gathered", 100 * before, in[2 * before]);
    MPI_Type_contiguous_c(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        starts[i] = i * (MPI_Aint)sizeof(int) * 2;
        types[i] = pair;
    }
    MPI_Alltoallw_c(out, counts, starts, types, in, counts, starts, types, MPI_COMM_WORLD);
    expect("number exchanged", 100 * next + 2 * rank + 1, in[2 * next + 1]);
    types[0] = pair;
    types[1] = MPI_INT;
    counts[0] = 1;
    counts[1] = 3;
    MPI_Type_create_struct_c(2, counts, offsets, types, &row);
    MPI_Type_commit(&row);
    if (rank == 0)
        MPI_Send_c(out, 1, row, 1, 11, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv_c(in, 1, row, 0, 11, MPI_COMM_WORLD, &status);
        expect("number of a structure", 4, in[4]);
    }
    MPI_Type_free(&row);
    MPI_Type_free(&pair);
    /* From the heap: MPICH 4.0 places windows wrong whose address is no multiple of 16. */
    int *memory = calloc(MOST, sizeof(int));
    MPI_Win_create_c(memory, MOST * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put_c(out, 2, MPI_INT, next, 1, 2, MPI_INT, win);
    MPI_Win_fence(0, win);
    expect("number put", 100 * before + 1, memory[2]);
    MPI_Win_free(&win);
    free(memory);
    return 0;
}
#else
static int large(void)
{
    return 77;
}
#endif

static int persistent(void)
{
    int out[4] = {rank}, in[4], flag;
    MPI_Request pair[2], other;
    MPI_Status status;
    MPI_Recv_init(in, 4, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &pair[0]);
    MPI_Send_init(out, 2, MPI_INT, next, 5, MPI_COMM_WORLD, &pair[1]);
    for (int i = 0; i < 10; i++) {
        out[1] = i;
        MPI_Startall(2, pair);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        expect("number received", i, in[1]);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Start(&pair[0]);
        MPI_Start(&pair[1]);
        MPI_Wait(&pair[1], MPI_STATUS_IGNORE);
        for (flag = 0; !flag;)
            MPI_Test(&pair[0], &flag, &status);
        expect("source", before, status.MPI_SOURCE);
    }
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    /* New requests may get the old handles. */
    MPI_Irecv(in, 4, MPI_INT, before, 6, MPI_COMM_WORLD, &other);
    MPI_Ssend_init(out, 1, MPI_INT, next, 6, MPI_COMM_WORLD, &pair[1]);
    MPI_Start(&pair[1]);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    MPI_Wait(&pair[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&pair[1]);
    return 0;
}

#if HAS_PARTITIONED
static int repeated(void)
{
    int out[3] = {rank}, sum;
    MPI_Request pair[2];
    MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[0]);
    MPI_Bcast_init(out, 3, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[1]);
    for (int i = 0; i < 4; i++) {
        sum = 0;
        MPI_Start(&pair[0]);
        MPI_Wait(&pair[0], MPI_STATUS_IGNORE);
        expect("sum", size * (size - 1) / 2, sum);
        MPI_Start(&pair[1]);
        MPI_Wait(&pair[1], MPI_STATUS_IGNORE);
        expect("number of the root", 1, out[0]);
    }
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    return 0;
}

static int partitioned(void)
{
    enum { PARTS = 4, EACH = 8 };
    int numbers[PARTS * EACH], flag, last[1] = {3};
    MPI_Request request;
    if (rank % 2 == 0 && rank + 1 < size) {
        MPI_Psend_init(numbers, PARTS, EACH, MPI_INT, rank + 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        for (int turn = 0; turn < 3; turn++) {
            for (int i = 0; i < PARTS * EACH; i++)
                numbers[i] = 1000 * turn + i;
            MPI_Start(&request);
            MPI_Pready(0, request);
            MPI_Pready_range(1, 2, request);
            MPI_Pready_list(1, last, request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    } else if (rank % 2) {
        MPI_Precv_init(numbers, PARTS, EACH, MPI_INT, rank - 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        for (int turn = 0; turn < 3; turn++) {
            MPI_Start(&request);
            for (flag = 0; !flag;)
                MPI_Parrived(request, 2, &flag);
            expect("number of a part", 1000 * turn + 2 * EACH, numbers[2 * EACH]);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            expect("last number", 1000 * turn + PARTS * EACH - 1, numbers[PARTS * EACH - 1]);
        }
        MPI_Request_free(&request);
    }
    return 0;
}
#else
static int repeated(void)
{
    return 77;
}

static int partitioned(void)
{
    return 77;
}
#endif

#ifdef MPI_SESSION_NULL
static MPI_Comm of_set(MPI_Session session, const char *set)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, "talea.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static int sessions(int third, unsigned seconds)
{
    MPI_Session session, second;
    MPI_Comm all, twin, half, own;
    int sum = 0, got = -1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    all = of_set(session, "mpi://WORLD");
    place(all);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    expect("sum", size * (size - 1) / 2, sum);
    sleep(seconds);
    MPI_Comm_dup(all, &twin);
    /* The highest rank of the world is the first of its half. */
    MPI_Comm_split(twin, rank % 2, -rank, &half);
    int halves, place_in_half, first = (size - 1) - (rank % 2 == (size - 1) % 2 ? 0 : 1);
    MPI_Comm_size(half, &halves);
    MPI_Comm_rank(half, &place_in_half);
    int to = (place_in_half + 1) % halves;
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 8, &got, 1, MPI_INT, MPI_ANY_SOURCE, 8, half, MPI_STATUS_IGNORE);
    expect("number of the half", rank + 2 > size - 1 ? rank % 2 : rank + 2, got);
    sum = rank;
    MPI_Bcast(&sum, 1, MPI_INT, 0, half);
    expect("first of the half", first, sum);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    own = of_set(second, "mpi://SELF");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, own);
    expect("own number", rank, sum);
    MPI_Comm_free(&own);
    MPI_Session_finalize(&second);
    MPI_Comm_free(&half);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&all);
    MPI_Session_finalize(&session);
    if (!third)
        return 0;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    all = of_set(session, "mpi://WORLD");
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Session_finalize(&session);
    return 0;
}

static int both(void)
{
    MPI_Session session;
    int sum;
    if (rank == 0) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Comm own = of_set(session, "mpi://SELF");
        MPI_Barrier(own);
        MPI_Comm_free(&own);
        MPI_Session_finalize(&session);
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("sum", size * (size - 1) / 2, sum);
    return 0;
}
#else
static int sessions(int third, unsigned seconds)
{
    (void)third;
    (void)seconds;
    return 77;
}

static int both(void)
{
    return 77;
}
#endif

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int code = 2;
    if (!strcmp(what, "sessions") || !strcmp(what, "again"))
        return sessions(!strcmp(what, "again"), argc > 2 ? atoi(argv[2]) : 0);
    MPI_Init(&argc, &argv);
    place(MPI_COMM_WORLD);
    if (!strcmp(what, "large"))
        code = large();
    else if (!strcmp(what, "persistent"))
        code = persistent();
    else if (!strcmp(what, "repeated"))
        code = repeated();
    else if (!strcmp(what, "partitioned"))
        code = partitioned();
    else if (!strcmp(what, "both"))
        code = both();
    MPI_Finalize();
    return code;
}

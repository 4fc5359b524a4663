/* What lists of requests take: N receives are completed in random order, a list of them at a time, by calls that each look at
 * the whole list.
 *
 *     mpirun -n 1 requests any|some|testsome [N] [LIST]       default 10000 receives in one list
 *
 * MPI itself looks at each request of a list in each MPI_Waitany, so that LIST = N takes the square of N. Messages come from the own
 * rank. One line: the way, N, and seconds of the draining alone (sends included), which are compared with and without
 * recording. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

/* Messages on their way at once. */
enum { WINDOW = 64 };

static int n, rank, *values, *order, *indices, next_sent, completed;
static MPI_Request *requests;

/* Sends messages to so many of the receives, in random order. */
static void send_some(int count)
{
    for (; count > 0 && next_sent < n; count--, next_sent++)
        MPI_Send(&order[next_sent], 1, MPI_INT, rank, order[next_sent] % 32768, MPI_COMM_WORLD);
}

static void check(int index)
{
    completed++;
    /* Receives with the same tag are served in order: values need only fit the tag. */
    if (values[index] % 32768 != index % 32768) {
        fprintf(stderr, "requests: verification FAILED\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void drain_any(void)
{
    while (completed < n) {
        int index;
        send_some(completed + WINDOW - next_sent);
        MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        check(index);
    }
}

static void drain_some(int test)
{
    while (completed < n) {
        int count;
        send_some(completed + WINDOW - next_sent);
        if (test)
            MPI_Testsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
        else
            MPI_Waitsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; i++)
            check(indices[i]);
    }
}

/* The same order in each run. */
static void shuffle(void)
{
    static unsigned long long chance = 1;
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        int other = (int)((chance >> 33) % (unsigned)(i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Seconds that the completion of a list takes. */
static double drain(const char *way)
{
    next_sent = completed = 0;
    shuffle();
    for (int i = 0; i < n; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, rank, i % 32768, MPI_COMM_WORLD, &requests[i]);
    double begin = now();
    if (!strcmp(way, "any"))
        drain_any();
    else
        drain_some(!strcmp(way, "testsome"));
    return (now() - begin) / 1e9;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *way = argc > 1 ? argv[1] : "any";
    int all = argc > 2 ? atoi(argv[2]) : 10000;
    int list = argc > 3 ? atoi(argv[3]) : all;
    n = list < all ? list : all;
    values = malloc((size_t)n * sizeof *values);
    order = malloc((size_t)n * sizeof *order);
    indices = malloc((size_t)n * sizeof *indices);
    requests = malloc((size_t)n * sizeof *requests);
    if (n < 1 || list < 1 || !values || !order || !indices || !requests)
        MPI_Abort(MPI_COMM_WORLD, 2);
    double seconds = 0;
    for (int drained = 0; drained < all; drained += list) {
        n = list < all - drained ? list : all - drained;
        seconds += drain(way);
    }
    printf("%s\t%d\t%.6f\n", way, all, seconds);
    MPI_Finalize();
    return 0;
}

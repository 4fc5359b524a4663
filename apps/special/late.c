/* Waits of known length: rank 1 of two sleeps in each iteration, and rank 0 is in a call meanwhile.
 *
 *     mpirun -n 2 late send|sendrecv|recv|waitall|allreduce|barrier [ITERATIONS [MILLISECONDS]]
 *
 * Rank 0 prints which part of the time of both ranks is spent in a call before the other one has entered its own, by the clocks of the
 * program itself. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* More than any MPI sends without its receiver. */
enum { LARGE = 1 << 21 };

static char out[LARGE], in[LARGE];

/* MPI_Wtime of Open MPI counts from another moment in each process. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void call(const char *way, int rank, long iteration)
{
    int other = 1 - rank, tag = (int)(iteration % 100);
    long sum;
    if (!strcmp(way, "send")) {
        if (rank == 0)
            MPI_Send(out, LARGE, MPI_CHAR, other, tag, MPI_COMM_WORLD);
        else
            MPI_Recv(in, LARGE, MPI_CHAR, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "sendrecv")) {
        MPI_Sendrecv(out, 8, MPI_CHAR, other, tag, in, 8, MPI_CHAR, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "recv")) {
        if (rank == 0)
            MPI_Recv(in, 8, MPI_CHAR, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(out, 8, MPI_CHAR, other, tag, MPI_COMM_WORLD);
    } else if (!strcmp(way, "waitall")) {
        MPI_Request requests[2];
        MPI_Irecv(in, 8, MPI_CHAR, other, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 8, MPI_CHAR, other, tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (!strcmp(way, "allreduce")) {
        MPI_Allreduce(&iteration, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(way, "barrier")) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "recv";
    long iterations = argc > 2 ? atol(argv[2]) : 100, milliseconds = argc > 3 ? atol(argv[3]) : 5;
    int rank, size;
    MPI_Init(&argc, &argv);
    double begin = seconds();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || iterations < 1 || iterations > 1000000)
        MPI_Abort(MPI_COMM_WORLD, 2);
    /* Begin and end of each call of this rank, then of the other one. */
    double(*own)[2] = calloc((size_t)iterations, sizeof *own), (*other)[2] = calloc((size_t)iterations, sizeof *other);
    if (!own || !other)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (long i = 0; i < iterations; i++) {
        if (rank == 1)
            nanosleep(&(struct timespec){.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000}, NULL);
        own[i][0] = seconds();
        call(way, rank, i);
        own[i][1] = seconds();
    }
    MPI_Sendrecv(own, (int)(2 * iterations), MPI_DOUBLE, 1 - rank, 0, other, (int)(2 * iterations), MPI_DOUBLE, 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double sums[2] = {0, seconds() - begin}, all[2];
    for (long i = 0; i < iterations; i++)
        if (other[i][0] > own[i][0] && other[i][0] <= own[i][1])
            sums[0] += other[i][0] - own[i][0];
    MPI_Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("waiting %.4f\n", all[0] / all[1]);
    free(own);
    free(other);
    MPI_Finalize();
    return 0;
}

/* Threads that all communicate, under MPI_THREAD_MULTIPLE, and that are not there all the time.
 *
 *   workers STEPS MILLISECONDS
 *
 * Each rank lets MILLISECONDS pass, starts three threads, waits for their end and lets the same time pass again. Threads 1 and 2 make
 * STEPS exchanges with the neighbours, thread 3 reduces a sum once for ten of them. Computation is sleep: it takes as long however
 * many threads share a core.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EXCHANGING = 2, WORKERS = 3, COUNT = 1000 };

static int rank, ranks, steps;
static atomic_long turn;
static MPI_Comm own[WORKERS];

static void pass(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Threads make their first calls one after the other, so that a recorder numbers them in this order. */
static void await(long number)
{
    while (atomic_load(&turn) != number)
        pass(1);
}

static void *exchange(void *number)
{
    MPI_Comm comm = own[(long)number];
    double out[COUNT] = {0}, in[COUNT];
    MPI_Request requests[2];
    await((long)number);
    for (int step = 0; step < steps; step++) {
        MPI_Irecv(in, COUNT, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1, comm, &requests[0]);
        if (step == 0)
            atomic_fetch_add(&turn, 1);
        MPI_Isend(out, COUNT, MPI_DOUBLE, (rank + 1) % ranks, 1, comm, &requests[1]);
        pass(1);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return NULL;
}

static void *reduce(void *number)
{
    double mine = rank, sum;
    await((long)number);
    for (int step = 0; step < steps / 10; step++) {
        pass(10);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, own[(long)number]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE || argc != 3) {
        fprintf(stderr, "usage: workers STEPS MILLISECONDS, under MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    steps = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < WORKERS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    pass(atoi(argv[2]));
    pthread_t threads[WORKERS];
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, i < EXCHANGING ? exchange : reduce, (void *)i);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    pass(atoi(argv[2]));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

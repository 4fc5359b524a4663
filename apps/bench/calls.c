/* What one call costs: cheap MPI calls in tight loops, with and without a tool in between.
 *
 * Run it plain and under a tool, and subtract. One line for each call on rank 0:
 *     name<TAB>median<TAB>min<TAB>max        nanoseconds a call, over the batches
 * With more than one rank all ranks run the same loops at the same time, and rank 0 prints its own numbers.
 *
 *     mpirun -n 1 calls [batches] [calls a batch]       default 31 batches of 20000 calls
 *
 * `floor` is no call: two readings of the time stamp counter and 16 stored bytes, which no tool that keeps begin and end of each call
 * can do without. Names that end in `_deep` are calls below ten functions, none of which is inlined.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

enum { MOST_BATCHES = 1001 };

static int batches = 31, calls = 20000;
static int rank;
static volatile double sink;

static void print(const char *name, double *ns)
{
    qsort(ns, (size_t)batches, sizeof *ns, ascending);
    if (rank == 0)
        printf("%s\t%.1f\t%.1f\t%.1f\n", name, ns[batches / 2], ns[0], ns[batches - 1]);
}

/* Times `call` in batches; the first batch warms up and does not count. Each use is a call site of its own. */
#define MEASURE(name, call)                             \
    do {                                                \
        static double ns[MOST_BATCHES];                 \
        for (int b = -1; b < batches; b++) {            \
            double begin = now();                       \
            for (int i = 0; i < calls; i++)             \
                call;                                   \
            if (b >= 0)                                 \
                ns[b] = (now() - begin) / calls;        \
        }                                               \
        print(name, ns);                                \
    } while (0)

/* A function that calls another, and has something left to do then. */
#define THROUGH(name, next)                          \
    static __attribute__((noinline)) void name(void) \
    {                                                \
        next();                                      \
        __asm__ volatile("");                        \
    }

static __attribute__((noinline)) void deep_1(void)
{
    int flag;
    char byte = 0;
    MPI_Request null = MPI_REQUEST_NULL;
    MPI_Status status;
    MEASURE("send_proc_null_deep", MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
    MEASURE("test_null_deep", MPI_Test(&null, &flag, &status));
}
THROUGH(deep_2, deep_1)
THROUGH(deep_3, deep_2)
THROUGH(deep_4, deep_3)
THROUGH(deep_5, deep_4)
THROUGH(deep_6, deep_5)
THROUGH(deep_7, deep_6)
THROUGH(deep_8, deep_7)
THROUGH(deep_9, deep_8)
THROUGH(deep_10, deep_9)

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1)
        batches = atoi(argv[1]);
    if (argc > 2)
        calls = atoi(argv[2]);
    if (batches < 1 || batches > MOST_BATCHES || calls < 1) {
        if (rank == 0)
            fprintf(stderr, "calls: batches must be 1 to %d and calls at least 1\n", MOST_BATCHES);
        MPI_Finalize();
        return 2;
    }

    enum { LIST = 4 };
    int flag, index, number = 0, numbers[LIST];
    char byte = 0;
    MPI_Status status;
    MPI_Request null = MPI_REQUEST_NULL, pending, list[LIST];
    /* A communicator of its own: nothing is ever sent in it, so probes find nothing and the receive stays open. */
    MPI_Comm quiet;
    MPI_Comm_dup(MPI_COMM_WORLD, &quiet);
    MPI_Irecv(&number, 1, MPI_INT, rank, 99, quiet, &pending);
    for (int i = 0; i < LIST; i++)
        MPI_Irecv(&numbers[i], 1, MPI_INT, rank, 90 + i, quiet, &list[i]);

    MPI_Barrier(MPI_COMM_WORLD);
    static volatile unsigned long long kept[2];
    (void)kept;
    MEASURE("floor", (kept[0] = __builtin_ia32_rdtsc(), kept[1] = __builtin_ia32_rdtsc()));
    MEASURE("wtime", sink = MPI_Wtime());
    MEASURE("send_proc_null", MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
    MEASURE("test_null", MPI_Test(&null, &flag, &status));
    MEASURE("test_pending", MPI_Test(&pending, &flag, &status));
    MEASURE("testany_pending", MPI_Testany(LIST, list, &index, &flag, &status));
    MEASURE("iprobe_nothing", MPI_Iprobe(rank, 98, quiet, &flag, &status));
    deep_10();

    MPI_Cancel(&pending);
    MPI_Wait(&pending, &status);
    for (int i = 0; i < LIST; i++) {
        MPI_Cancel(&list[i]);
        MPI_Wait(&list[i], &status);
    }
    MPI_Comm_free(&quiet);
    MPI_Finalize();
    return 0;
}

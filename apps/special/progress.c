/* A progress loop: polls of several kinds in turn until a message has come.
 *
 *     mpirun -n 2 progress [steps] [microseconds]      default 20 steps, partners that are late by 0 microseconds
 *
 * Ranks in pairs take turns. One waits for a message and asks in turn whether it is there (MPI_Testall), whether any other has
 * come (MPI_Iprobe) and whether one of two receives that never end is done (MPI_Testany); between them stand calls without
 * effect on others. The other rank sends when a whole turn has found nothing, which it sees in memory that both share, or
 * that many microseconds later. However long that takes, a step is the same calls but for the number of polls.
 * Each rank prints the polls that found nothing:
 *     rank<TAB>testall<TAB>iprobe<TAB>testany
 * With a third word the first rank ends itself by SIGKILL in the middle of the last step's polls.
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TAG = 1, NEVER = 2, COUNT = 4 };

static int rank, steps = 20, late;
static long testall, iprobe, testany;
static MPI_Comm quiet;
static MPI_Request pending[2];

/* Waits for the partner's messages; `turns` tells the partner that a whole turn has found nothing. */
static void wait_for_messages(int partner, atomic_int *turns, int kill_here)
{
    static int numbers[COUNT];
    MPI_Request requests[COUNT];
    MPI_Status status;
    int done, found, index;
    volatile double sink;
    for (int i = 0; i < COUNT; i++)
        MPI_Irecv(&numbers[i], 1, MPI_INT, partner, TAG + 10 * i, MPI_COMM_WORLD, &requests[i]);
    for (int turn = 0;; turn++) {
        MPI_Testall(COUNT, requests, &done, MPI_STATUSES_IGNORE);
        if (done)
            break;
        testall++;
        sink = MPI_Wtime();
        MPI_Iprobe(MPI_ANY_SOURCE, NEVER, quiet, &found, &status);
        iprobe += !found;
        MPI_Testany(2, pending, &index, &found, MPI_STATUS_IGNORE);
        testany += !found;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (turn == 0)
            atomic_fetch_add(turns, 1);
        if (kill_here && turn == 2)
            raise(SIGKILL);
    }
    (void)sink;
}

static void send_messages(int partner, atomic_int *turns, int step)
{
    int number = step;
    while (atomic_load(turns) <= step)
        usleep(1);
    if (late)
        usleep((useconds_t)late);
    for (int i = 0; i < COUNT; i++)
        MPI_Send(&number, 1, MPI_INT, partner, TAG + 10 * i, MPI_COMM_WORLD);
}

/* A counter for each rank, in a file that all have open and that has no name any more. */
static atomic_int *shared(int size)
{
    char name[64] = "";
    if (rank == 0)
        snprintf(name, sizeof name, "/dev/shm/progress-%ld", (long)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    int file = open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, size * (long)sizeof(atomic_int)) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    atomic_int *all =
        mmap(NULL, (size_t)size * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (all == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 2);
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(name);
    return all;
}

int main(int argc, char **argv)
{
    int size, never[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        steps = atoi(argv[1]);
    if (argc > 2)
        late = atoi(argv[2]);
    if (steps < 1 || late < 0 || size % 2) {
        fprintf(stderr, "progress: an even number of ranks, at least 1 step, and no time below 0\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    atomic_int *turns = shared(size);
    MPI_Comm_dup(MPI_COMM_WORLD, &quiet);
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&never[i], 1, MPI_INT, rank, NEVER, quiet, &pending[i]);
    int partner = rank ^ 1;
    for (int step = 0; step < steps; step++) {
        if (rank % 2 == 0)
            wait_for_messages(partner, &turns[rank], argc > 3 && rank == 0 && step == steps - 1);
        else
            send_messages(partner, &turns[partner], step);
        if (rank % 2 != 0)
            wait_for_messages(partner, &turns[rank], 0);
        else
            send_messages(partner, &turns[partner], step);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Cancel(&pending[i]);
        MPI_Wait(&pending[i], MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&quiet);
    printf("%d\t%ld\t%ld\t%ld\n", rank, testall, iprobe, testany);
    MPI_Finalize();
    return 0;
}

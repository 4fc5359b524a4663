/* Particles that wander between ranks: how many go is another number in each step, and the tags of the messages count up, as
 * those of libraries do.
 *
 *     sizes [steps] */
#include "strip.h"

enum { PARTICLES = 20000, MOST = 200000 };

static double own[MOST], leaving[2][MOST], coming[MOST];
static int count, tag;

/* Moves all particles in the unit interval of this rank; those that leave it are put aside. */
static NOINLINE void move(int step, int *left, int *right)
{
    int kept = 0;
    *left = *right = 0;
    for (int i = 0; i < count; i++) {
        double x = own[i] + .2 * sin(12.9898 * own[i] + step);
        if (x < 0)
            leaving[0][(*left)++] = x + 1;
        else if (x >= 1)
            leaving[1][(*right)++] = x - 1;
        else
            own[kept++] = x;
    }
    count = kept;
}

/* Gives particles to one neighbour and takes those of the other one, whose number is found by a probe. */
static NOINLINE void pass(const double *particles, int number, int to, int from)
{
    MPI_Status status;
    MPI_Request request;
    int got;
    CALL(MPI_Isend, particles, number, MPI_DOUBLE, to, tag, MPI_COMM_WORLD, &request);
    CALL(MPI_Probe, from, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &got);
    CALL(MPI_Recv, coming, got, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    for (int i = 0; i < got; i++)
        own[count++] = coming[i];
    tag++;
}

static NOINLINE int check(void)
{
    int all;
    CALL(MPI_Allreduce, &count, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all == ranks * PARTICLES;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 60, good = 1;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    count = PARTICLES;
    for (int i = 0; i < count; i++)
        own[i] = (i + .5) / count;
    int left_rank = (rank + ranks - 1) % ranks, right_rank = (rank + 1) % ranks;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        int left, right;
        move(step, &left, &right);
        pass(leaving[0], left, left_rank, right_rank);
        pass(leaving[1], right, right_rank, left_rank);
        if (step % 10 == 9)
            good = good && check();
    }
    LEAVE();
    int code = verdict("sizes", good);
    CALL(MPI_Finalize);
    return code;
}

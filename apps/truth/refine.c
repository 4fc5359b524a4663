/* Adaptive refinement: a front moves through the field, and every ten steps the blocks that it touches are refined. Between
 * two refinements the number of blocks that exchange their borders is constant.
 *
 *     refine [steps] */
#include "strip.h"

enum { COLUMNS = 512, ROWS = 48, MOST = 8, EVERY = 10 };

static Strip block[MOST];
static int blocks = 2;

/* All blocks exchange their border rows; one call completes them all. */
static NOINLINE void exchange_blocks(void)
{
    MPI_Request requests[4 * MOST];
    LOOP("blocks");
    for (int b = 0; b < blocks; b++) {
        TURN();
        double *u = block[b].u;
        MPI_Request *own = requests + 4 * b;
        CALL(MPI_Irecv, row(&block[b], u, 0), COLUMNS, MPI_DOUBLE, below, b, MPI_COMM_WORLD, &own[0]);
        CALL(MPI_Irecv, row(&block[b], u, ROWS + 1), COLUMNS, MPI_DOUBLE, above, b, MPI_COMM_WORLD, &own[1]);
        CALL(MPI_Isend, row(&block[b], u, 1), COLUMNS, MPI_DOUBLE, below, b, MPI_COMM_WORLD, &own[2]);
        CALL(MPI_Isend, row(&block[b], u, ROWS), COLUMNS, MPI_DOUBLE, above, b, MPI_COMM_WORLD, &own[3]);
    }
    LEAVE();
    CALL(MPI_Waitall, 4 * blocks, requests, MPI_STATUSES_IGNORE);
}

/* The ranks agree on the number of blocks: as many as the one with most work wants. */
static NOINLINE void refine(int step)
{
    int front = (step / EVERY * 5) % 7, wanted = 2 + (front * (1 + rank)) % (MOST - 1), all;
    CALL(MPI_Allreduce, &wanted, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    int *owners = malloc((size_t)ranks * sizeof *owners);
    CALL(MPI_Allgather, &wanted, 1, MPI_INT, owners, 1, MPI_INT, MPI_COMM_WORLD);
    free(owners);
    for (int b = blocks; b < all; b++)
        for (int i = 0; i < (ROWS + 2) * COLUMNS; i++)
            block[b].u[i] = .5 * block[b - 1].u[i];
    blocks = all;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 60;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int b = 0; b < MOST; b++) {
        block[b] = new_strip(ROWS, COLUMNS);
        for (int i = 0; i < (ROWS + 2) * COLUMNS; i++)
            block[b].u[i] = i % 13 + b;
    }
    double first = 0, last = 0;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        if (step % EVERY == 0)
            refine(step);
        exchange_blocks();
        double change = 0;
        for (int b = 0; b < blocks; b++)
            change += sweep(&block[b]) / blocks;
        CALL(MPI_Allreduce, &change, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (first == 0)
            first = last;
    }
    LEAVE();
    int code = verdict("refine", last < first);
    CALL(MPI_Finalize);
    return code;
}

/* Divide and conquer by recursion: in each step the ranks sum a vector in halves of halves, down to single ranks, and bring the
 * parts together again on the way back. A level of the recursion is a turn. The number of ranks is a power of two.
 *
 *     recursion [steps] */
#include "strip.h"

enum { SIZE = 1 << 15 };

static double *vector, *other;

/* Ranks [low, high) exchange halves of vector[from, to) and go on with one half each. */
static NOINLINE void conquer(int low, int high, int from, int to)
{
    if (high - low == 1) {
        LEAVE();
        for (int i = from; i < to; i++)
            vector[i] = sqrt(vector[i] * vector[i] + 1e-3);
        LOOP("up");
        return;
    }
    TURN();
    int half = (high - low) / 2, middle = from + (to - from) / 2, lower = rank < low + half;
    int partner = lower ? rank + half : rank - half;
    int keep = lower ? from : middle, keep_to = lower ? middle : to, give = lower ? middle : from;
    int count = (to - from) / 2;
    CALL(MPI_Sendrecv, vector + give, count, MPI_DOUBLE, partner, DOWN, other, count, MPI_DOUBLE, partner, DOWN,
         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        vector[keep + i] += other[i];
    conquer(lower ? low : low + half, lower ? low + half : high, keep, keep_to);
    TURN();
    CALL(MPI_Sendrecv, vector + keep, count, MPI_DOUBLE, partner, UP, vector + give, count, MPI_DOUBLE, partner, UP,
         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static NOINLINE void sum_all(void)
{
    LOOP("down");
    conquer(0, ranks, 0, SIZE);
    LEAVE();
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    if (ranks & (ranks - 1))
        MPI_Abort(MPI_COMM_WORLD, 2);
    int steps = argc > 1 ? atoi(argv[1]) : 50, good = 1;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    vector = malloc(SIZE * sizeof *vector);
    other = malloc(SIZE * sizeof *other);
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        double expected = 0;
        for (int r = 0; r < ranks; r++)
            expected += step + r;
        for (int i = 0; i < SIZE; i++)
            vector[i] = step + rank + 1e-9 * (i % 5);
        sum_all();
        for (int i = 0; i < SIZE; i++)
            good = good && fabs(vector[i] - expected) < 1e-1;
    }
    LEAVE();
    int code = verdict("recursion", good);
    CALL(MPI_Finalize);
    return code;
}

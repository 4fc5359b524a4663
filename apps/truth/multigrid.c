/* Time steps of a multigrid solver: V-cycles over four levels, whose halos differ in size.
 *
 * A step makes two cycles and looks at the residual. A cycle goes down the levels (sweeps, residual), sweeps often on the
 * coarsest, and comes up again (sweeps): every sweep exchanges the rows at the border of its level.
 *
 *     multigrid [steps] [cycles a step] */
#include "strip.h"

enum { LEVELS = 4, COLUMNS = 256, ROWS = 32 };

static Strip level[LEVELS];
static double *rest[LEVELS];

static NOINLINE void exchange(Strip *s, double *u)
{
    MPI_Request requests[4];
    CALL(MPI_Irecv, row(s, u, 0), s->columns, MPI_DOUBLE, below, UP, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Irecv, row(s, u, s->rows + 1), s->columns, MPI_DOUBLE, above, DOWN, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Isend, row(s, u, 1), s->columns, MPI_DOUBLE, below, DOWN, MPI_COMM_WORLD, &requests[2]);
    CALL(MPI_Isend, row(s, u, s->rows), s->columns, MPI_DOUBLE, above, UP, MPI_COMM_WORLD, &requests[3]);
    CALL(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE);
}

/* The level's number of columns is an argument of its messages: it tells levels apart. */
static NOINLINE void smooth(int at, int sweeps)
{
    LOOP_BY_ARGUMENTS("sweeps");
    for (int i = 0; i < sweeps; i++) {
        TURN();
        exchange(&level[at], level[at].u);
        sweep(&level[at]);
    }
    LEAVE();
}

static NOINLINE void find_rest(int at)
{
    Strip *s = &level[at];
    exchange(s, s->u);
    apply_stencil(s, s->u, rest[at]);
    for (int i = 1; i <= s->rows; i++)
        for (int k = 0; k < s->columns; k++)
            row(s, rest[at], i)[k] = row(s, s->f, i)[k] - row(s, rest[at], i)[k];
}

static NOINLINE void restrict_to(int coarse)
{
    Strip *c = &level[coarse], *s = &level[coarse - 1];
    for (int i = 1; i <= c->rows; i++)
        for (int k = 0; k < c->columns; k++) {
            const double *low = row(s, rest[coarse - 1], 2 * i - 1), *high = row(s, rest[coarse - 1], 2 * i);
            row(c, c->f, i)[k] = low[2 * k] + low[2 * k + 1] + high[2 * k] + high[2 * k + 1];
            row(c, c->u, i)[k] = 0;
        }
}

static NOINLINE void correct(int fine)
{
    Strip *s = &level[fine], *c = &level[fine + 1];
    for (int i = 1; i <= s->rows; i++)
        for (int k = 0; k < s->columns; k++)
            row(s, s->u, i)[k] += row(c, c->u, (i + 1) / 2)[k / 2];
}

static NOINLINE void cycle(void)
{
    LOOP("down");
    for (int at = 0; at < LEVELS - 1; at++) {
        TURN();
        smooth(at, 2);
        find_rest(at);
        restrict_to(at + 1);
    }
    LEAVE();
    smooth(LEVELS - 1, 8);
    LOOP("up");
    for (int at = LEVELS - 2; at >= 0; at--) {
        TURN();
        correct(at);
        smooth(at, 2);
    }
    LEAVE();
}

static NOINLINE double norm(void)
{
    find_rest(0);
    double own = own_product(&level[0], rest[0], rest[0]), all;
    CALL(MPI_Allreduce, &own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all);
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 8, cycles = argc > 2 ? atoi(argv[2]) : 2, good = 1;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int at = 0; at < LEVELS; at++) {
        level[at] = new_strip(ROWS >> at, COLUMNS >> at);
        rest[at] = new_strip(ROWS >> at, COLUMNS >> at).u;
    }
    double before = norm(), after = 0;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        /* A source that wanders. */
        row(&level[0], level[0].f, 1 + step % ROWS)[(37 * step) % COLUMNS] += 1 + rank;
        LOOP("cycles");
        for (int i = 0; i < cycles; i++) {
            TURN();
            cycle();
        }
        LEAVE();
        after = norm();
        good = good && after < .5 * (before + ranks);
        before = after;
    }
    LEAVE();
    int code = verdict("multigrid", good);
    CALL(MPI_Finalize);
    return code;
}

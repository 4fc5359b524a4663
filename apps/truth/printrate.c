/* Molecular dynamics as in CoMD: an outer loop prints, an inner one makes the steps between two prints.
 *
 *     printrate [prints] */
#include "strip.h"

enum { COLUMNS = 512, ROWS = 96, RATE = 10 };

static Strip field;

static NOINLINE void exchange(void)
{
    CALL(MPI_Sendrecv, row(&field, field.u, ROWS), COLUMNS, MPI_DOUBLE, above, UP, row(&field, field.u, 0), COLUMNS,
         MPI_DOUBLE, below, UP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CALL(MPI_Sendrecv, row(&field, field.u, 1), COLUMNS, MPI_DOUBLE, below, DOWN, row(&field, field.u, ROWS + 1), COLUMNS,
         MPI_DOUBLE, above, DOWN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* `count` steps; the change of the last one. */
static NOINLINE double make_steps(int count)
{
    double change = 0;
    LOOP("steps");
    for (int step = 0; step < count; step++) {
        TURN();
        exchange();
        change = sweep(&field);
    }
    LEAVE();
    return change;
}

static NOINLINE double energy(double own)
{
    double all;
    CALL(MPI_Allreduce, &own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int prints = argc > 1 ? atoi(argv[1]) : 10;
    CALL(MPI_Bcast, &prints, 1, MPI_INT, 0, MPI_COMM_WORLD);
    field = new_strip(ROWS, COLUMNS);
    for (int i = 0; i < (ROWS + 2) * COLUMNS; i++)
        field.u[i] = i % 23;
    double first = 0, last = 0;
    MAIN_LOOP("prints");
    for (int print = 0; print < prints; print++) {
        TURN();
        last = energy(make_steps(RATE));
        if (first == 0)
            first = last;
    }
    LEAVE();
    int code = verdict("printrate", last < first);
    CALL(MPI_Finalize);
    return code;
}

/* A set-up with loops and most of the calls, which takes a fifth of the time, and five long steps.
 *
 *     setup [steps] */
#include <string.h>

#include "strip.h"

enum { COLUMNS = 1024, ROWS = 128, PARAMETERS = 60, PARTS = 4, BALANCE = 3, SWEEPS = 4 };

static Strip field;

static NOINLINE void exchange(void)
{
    MPI_Request requests[4];
    CALL(MPI_Irecv, row(&field, field.u, 0), COLUMNS, MPI_DOUBLE, below, UP, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Irecv, row(&field, field.u, ROWS + 1), COLUMNS, MPI_DOUBLE, above, DOWN, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Isend, row(&field, field.u, 1), COLUMNS, MPI_DOUBLE, below, DOWN, MPI_COMM_WORLD, &requests[2]);
    CALL(MPI_Isend, row(&field, field.u, ROWS), COLUMNS, MPI_DOUBLE, above, UP, MPI_COMM_WORLD, &requests[3]);
    CALL(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE);
}

/* Rank 0 reads a file of parameters, and each is sent to all. */
static NOINLINE double read_parameters(void)
{
    double sum = 0;
    LOOP("parameters");
    for (int i = 0; i < PARAMETERS; i++) {
        TURN();
        char name[32] = "";
        double value = rank == 0 ? 1. / (1 + i) : 0;
        if (rank == 0)
            snprintf(name, sizeof name, "parameter %d", i);
        CALL(MPI_Bcast, name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
        CALL(MPI_Bcast, &value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        sum += value * (strlen(name) > 0);
    }
    LEAVE();
    return sum;
}

/* The ranks weigh their parts, and give the upper one of their neighbours what they have too much. */
static NOINLINE double balance(void)
{
    double weight = 1 + rank, all = 0;
    LOOP("balance");
    for (int i = 0; i < BALANCE; i++) {
        TURN();
        LOOP("parts");
        for (int part = 0; part < PARTS; part++) {
            TURN();
            double give = weight / 16, got = 0;
            CALL(MPI_Sendrecv, &give, 1, MPI_DOUBLE, (rank + 1) % ranks, part, &got, 1, MPI_DOUBLE,
                 (rank + ranks - 1) % ranks, part, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            weight += got - give;
        }
        LEAVE();
        CALL(MPI_Allreduce, &weight, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    LEAVE();
    for (int i = 0; i < 64; i++)
        sweep(&field);
    return all;
}

static NOINLINE double advance(void)
{
    double change = 0, all;
    LOOP("sweeps");
    for (int i = 0; i < SWEEPS; i++) {
        TURN();
        exchange();
        for (int k = 0; k < 16; k++)
            change = sweep(&field);
    }
    LEAVE();
    CALL(MPI_Allreduce, &change, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 5;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    field = new_strip(ROWS, COLUMNS);
    for (int i = 0; i < (ROWS + 2) * COLUMNS; i++)
        field.u[i] = i % 29;
    double parameters = read_parameters(), weight = balance(), first = 0, last = 0;
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        last = advance();
        if (first == 0)
            first = last;
    }
    LEAVE();
    int code = verdict("setup", parameters > 4 && fabs(weight - ranks * (ranks + 1) / 2.) < 1e-9 && last < first);
    CALL(MPI_Finalize);
    return code;
}

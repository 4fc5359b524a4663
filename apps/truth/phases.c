/* A master loop without blocking calls: each of its phases begins a sum on a communicator of its own, computes, and waits.
 *
 *     phases [steps] */
#include "strip.h"

enum { PHASES = 4, COLUMNS = 512, ROWS = 64 };

static MPI_Comm comms[PHASES];
static Strip field[PHASES];

/* The communicator is what tells phases apart. */
static NOINLINE double run_phase(int phase, double own)
{
    double all;
    MPI_Request request;
    CALL(MPI_Iallreduce, &own, &all, 1, MPI_DOUBLE, MPI_SUM, comms[phase], &request);
    double change = sweep(&field[phase]);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    return change + 0 * all;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 40;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    LOOP("communicators");
    for (int phase = 0; phase < PHASES; phase++) {
        TURN();
        /* Other neighbours in each of them. */
        CALL(MPI_Comm_split, MPI_COMM_WORLD, rank % (phase + 1) == 0, rank, &comms[phase]);
        field[phase] = new_strip(ROWS, COLUMNS);
        for (int i = 0; i < (ROWS + 2) * COLUMNS; i++)
            field[phase].u[i] = i % (3 + phase);
    }
    LEAVE();
    double change[PHASES] = {0}, first = 0, last = 0;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        last = 0;
        LOOP_BY_ARGUMENTS("phases");
        for (int phase = 0; phase < PHASES; phase++) {
            TURN();
            change[phase] = run_phase(phase, change[phase]);
            last += change[phase];
        }
        LEAVE();
        if (first == 0)
            first = last;
    }
    LEAVE();
    int code = verdict("phases", last < first);
    CALL(MPI_Finalize);
    return code;
}

/* Gauss-Seidel with colours: each iteration sweeps red points, then black ones, by the same routine, which exchanges rows
 * with the colour as tag. Every fifth iteration looks at the change.
 *
 *     redblack [iterations] [colours] */
#include "strip.h"

enum { COLUMNS = 512, ROWS = 128, LOOK = 5 };

static Strip field;
static int colours;

static NOINLINE void exchange(int colour)
{
    MPI_Request requests[4];
    CALL(MPI_Irecv, row(&field, field.u, 0), COLUMNS, MPI_DOUBLE, below, colour, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Irecv, row(&field, field.u, ROWS + 1), COLUMNS, MPI_DOUBLE, above, colour, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Isend, row(&field, field.u, 1), COLUMNS, MPI_DOUBLE, below, colour, MPI_COMM_WORLD, &requests[2]);
    CALL(MPI_Isend, row(&field, field.u, ROWS), COLUMNS, MPI_DOUBLE, above, colour, MPI_COMM_WORLD, &requests[3]);
    CALL(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE);
}

static NOINLINE double sweep_colour(int colour)
{
    double change = 0;
    exchange(colour);
    for (int i = 1; i <= ROWS; i++) {
        const double *down = row(&field, field.u, i - 1), *up = row(&field, field.u, i + 1);
        double *own = row(&field, field.u, i);
        for (int k = 1 + (i + colour) % colours; k < COLUMNS - 1; k += colours) {
            double value = .25 * (own[k - 1] + own[k + 1] + down[k] + up[k]);
            change += (value - own[k]) * (value - own[k]);
            own[k] = value;
        }
    }
    return change;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int iterations = argc > 1 ? atoi(argv[1]) : 60;
    colours = argc > 2 ? atoi(argv[2]) : 2;
    CALL(MPI_Bcast, &iterations, 1, MPI_INT, 0, MPI_COMM_WORLD);
    field = new_strip(ROWS, COLUMNS);
    for (int i = 0; i < (ROWS + 2) * COLUMNS; i++)
        field.u[i] = i % 11;
    double first = 0, last = 0;
    MAIN_LOOP("iterations");
    for (int i = 0; i < iterations; i++) {
        TURN();
        double change = 0;
        LOOP_BY_ARGUMENTS("colours");
        for (int colour = 0; colour < colours; colour++) {
            TURN();
            change += sweep_colour(colour);
        }
        LEAVE();
        if (i % LOOK == LOOK - 1) {
            CALL(MPI_Allreduce, &change, &last, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            if (first == 0)
                first = last;
        }
    }
    LEAVE();
    int code = verdict("redblack", last < first);
    CALL(MPI_Finalize);
    return code;
}

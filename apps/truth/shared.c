/* One exchange routine for five parts of a step. The innermost frames of its calls are the same for all of them: who
 * called it stands four functions further out.
 *
 *     shared [steps] */
#include "strip.h"

enum { COLUMNS = 512, ROWS = 96 };

static Strip field;
static int moved;

static NOINLINE void exchange_rows(double *u)
{
    MPI_Request requests[4];
    CALL(MPI_Irecv, row(&field, u, 0), COLUMNS, MPI_DOUBLE, below, UP, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Irecv, row(&field, u, ROWS + 1), COLUMNS, MPI_DOUBLE, above, DOWN, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Isend, row(&field, u, 1), COLUMNS, MPI_DOUBLE, below, DOWN, MPI_COMM_WORLD, &requests[2]);
    CALL(MPI_Isend, row(&field, u, ROWS), COLUMNS, MPI_DOUBLE, above, UP, MPI_COMM_WORLD, &requests[3]);
    CALL(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE);
}

/* The layers between: each does something of its own after the call, so that its frame stays. */
static NOINLINE void swap_edges(double *u)
{
    exchange_rows(u);
    moved += 2;
}

static NOINLINE void fill_halo(double *u)
{
    swap_edges(u);
    moved += 1;
}

static NOINLINE void update_halo(double *u)
{
    fill_halo(u);
    moved += 1;
}

static NOINLINE double total(double own)
{
    double all;
    CALL(MPI_Allreduce, &own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static NOINLINE void advect(void)
{
    update_halo(field.u);
    for (int i = ROWS; i >= 1; i--)
        for (int k = 0; k < COLUMNS; k++)
            row(&field, field.u, i)[k] += .1 * (row(&field, field.u, i - 1)[k] - row(&field, field.u, i)[k]);
}

static NOINLINE void diffuse(void)
{
    LOOP("diffusion");
    for (int i = 0; i < 3; i++) {
        TURN();
        update_halo(field.u);
        sweep(&field);
    }
    LEAVE();
}

static NOINLINE double project(void)
{
    double change = 0;
    LOOP("projection");
    for (int i = 0; i < 4; i++) {
        TURN();
        update_halo(field.u);
        change = total(sweep(&field));
    }
    LEAVE();
    return change;
}

static NOINLINE void filter(void)
{
    update_halo(field.u);
    sweep(&field);
    moved += 1;
}

static NOINLINE void store(double *rows)
{
    update_halo(field.u);
    double mean = own_product(&field, field.u, field.u);
    CALL(MPI_Gather, &mean, 1, MPI_DOUBLE, rows, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* Advection and diffusion, the projection with its sums, each fifth step a filter, each tenth a file. */
static NOINLINE double advance(int step, double *rows)
{
    advect();
    double largest = total(row(&field, field.u, 1)[0]);
    diffuse();
    double change = project();
    if (step % 5 == 4)
        filter();
    if (step % 10 == 0)
        store(rows);
    return change + 0 * largest;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 30;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    field = new_strip(ROWS, COLUMNS);
    for (int i = 0; i < (ROWS + 2) * COLUMNS; i++)
        field.u[i] = i % 17 + rank;
    double *rows = malloc((size_t)ranks * sizeof *rows), first = 0, last = 0;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        last = advance(step, rows);
        if (first == 0)
            first = last;
    }
    LEAVE();
    int code = verdict("shared", last < first && moved > 0);
    CALL(MPI_Finalize);
    return code;
}

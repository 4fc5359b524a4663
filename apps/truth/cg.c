/* Time steps of heat by the implicit Euler scheme: each solves a system by conjugate gradients, with as many iterations as
 * its right side takes.
 *
 *     cg [steps] */
#include "strip.h"

enum { COLUMNS = 256, ROWS = 64 };

static Strip field;
static double *r, *p, *q;

static NOINLINE void exchange(double *of)
{
    MPI_Request requests[4];
    CALL(MPI_Irecv, row(&field, of, 0), COLUMNS, MPI_DOUBLE, below, UP, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Irecv, row(&field, of, ROWS + 1), COLUMNS, MPI_DOUBLE, above, DOWN, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Isend, row(&field, of, 1), COLUMNS, MPI_DOUBLE, below, DOWN, MPI_COMM_WORLD, &requests[2]);
    CALL(MPI_Isend, row(&field, of, ROWS), COLUMNS, MPI_DOUBLE, above, UP, MPI_COMM_WORLD, &requests[3]);
    CALL(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE);
}

static NOINLINE double dot(double *a, double *b)
{
    double own = own_product(&field, a, b), all;
    CALL(MPI_Allreduce, &own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* `to` = (1 + the stencil) `of`. */
static NOINLINE void apply(double *of, double *to)
{
    exchange(of);
    apply_stencil(&field, of, to);
    for (int i = COLUMNS; i < (ROWS + 1) * COLUMNS; i++)
        to[i] = of[i] + to[i];
}

static NOINLINE double solve(double tolerance)
{
    apply(field.u, q);
    for (int i = COLUMNS; i < (ROWS + 1) * COLUMNS; i++)
        p[i] = r[i] = field.f[i] - q[i];
    double rr = dot(r, r);
    LOOP("iterations");
    while (rr > tolerance) {
        TURN();
        apply(p, q);
        double alpha = rr / dot(p, q);
        add_scaled(alpha, p, field.u, COLUMNS, (ROWS + 1) * COLUMNS);
        add_scaled(-alpha, q, r, COLUMNS, (ROWS + 1) * COLUMNS);
        double next = dot(r, r), beta = next / rr;
        scale_and_add(beta, p, r, COLUMNS, (ROWS + 1) * COLUMNS);
        rr = next;
    }
    LEAVE();
    return rr;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 12, good = 1;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    field = new_strip(ROWS, COLUMNS);
    r = new_strip(ROWS, COLUMNS).u;
    p = new_strip(ROWS, COLUMNS).u;
    q = new_strip(ROWS, COLUMNS).u;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        for (int i = COLUMNS; i < (ROWS + 1) * COLUMNS; i++)
            field.f[i] = field.u[i];
        /* The sources get weaker, and with them the work that a step takes changes. */
        row(&field, field.f, 1 + (7 * step) % ROWS)[(31 * step) % COLUMNS] += 100. / (1 + step * step);
        good = good && solve(1e-6) <= 1e-6;
    }
    LEAVE();
    int code = verdict("cg", good);
    CALL(MPI_Finalize);
    return code;
}

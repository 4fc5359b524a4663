/* Two solvers in turn in each step: Richardson's iteration for one field, conjugate gradients for the other. Both use the same
 * exchange and the same product, and take as many iterations as they need.
 *
 *     solvers [steps] */
#include "strip.h"

enum { COLUMNS = 256, ROWS = 48, SIZE = (ROWS + 2) * COLUMNS };

static Strip field;
static double *pressure, *r, *p, *q;

static NOINLINE void exchange(double *of)
{
    MPI_Status status;
    CALL(MPI_Sendrecv, row(&field, of, ROWS), COLUMNS, MPI_DOUBLE, above, UP, row(&field, of, 0), COLUMNS, MPI_DOUBLE, below,
         UP, MPI_COMM_WORLD, &status);
    CALL(MPI_Sendrecv, row(&field, of, 1), COLUMNS, MPI_DOUBLE, below, DOWN, row(&field, of, ROWS + 1), COLUMNS, MPI_DOUBLE,
         above, DOWN, MPI_COMM_WORLD, &status);
}

static NOINLINE double dot(double *a, double *b)
{
    double own = own_product(&field, a, b), all;
    CALL(MPI_Allreduce, &own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static NOINLINE void apply(double *of, double *to, double shift)
{
    exchange(of);
    apply_stencil(&field, of, to);
    for (int i = COLUMNS; i < SIZE - COLUMNS; i++)
        to[i] += shift * of[i];
}

/* Velocities: (3 + stencil) u = f. */
static NOINLINE double richardson(double tolerance)
{
    double rr;
    LOOP("richardson");
    do {
        TURN();
        apply(field.u, q, 3);
        for (int i = COLUMNS; i < SIZE - COLUMNS; i++) {
            r[i] = field.f[i] - q[i];
            field.u[i] += r[i] / 7;
        }
        rr = dot(r, r);
    } while (rr > tolerance);
    LEAVE();
    return rr;
}

/* Pressure: (1/2 + stencil) p = u. */
static NOINLINE double conjugate_gradients(double tolerance)
{
    apply(pressure, q, .5);
    for (int i = COLUMNS; i < SIZE - COLUMNS; i++)
        p[i] = r[i] = field.u[i] - q[i];
    double rr = dot(r, r);
    LOOP("gradients");
    while (rr > tolerance) {
        TURN();
        apply(p, q, .5);
        double alpha = rr / dot(p, q);
        add_scaled(alpha, p, pressure, COLUMNS, SIZE - COLUMNS);
        add_scaled(-alpha, q, r, COLUMNS, SIZE - COLUMNS);
        double next = dot(r, r), beta = next / rr;
        scale_and_add(beta, p, r, COLUMNS, SIZE - COLUMNS);
        rr = next;
    }
    LEAVE();
    return rr;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 8, good = 1;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    field = new_strip(ROWS, COLUMNS);
    pressure = new_strip(ROWS, COLUMNS).u;
    r = new_strip(ROWS, COLUMNS).u;
    p = new_strip(ROWS, COLUMNS).u;
    q = new_strip(ROWS, COLUMNS).u;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        row(&field, field.f, 1 + (5 * step) % ROWS)[(41 * step) % COLUMNS] += 10. / (1 + step) + rank;
        good = good && richardson(1e-4) <= 1e-4;
        good = good && conjugate_gradients(1e-4) <= 1e-4;
    }
    LEAVE();
    int code = verdict("solvers", good);
    CALL(MPI_Finalize);
    return code;
}

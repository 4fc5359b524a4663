/* A box in three dimensions: the faces are exchanged one axis after the other by one routine for all six, in each of a fixed
 * number of iterations of conjugate gradients within time steps.
 *
 *     neighbours [steps] [iterations] */
#include "strip.h"

enum { SIDE = 24, FULL = SIDE + 2, SIZE = FULL * FULL * FULL, FACE = SIDE * SIDE };

static MPI_Comm box;
static int sides[3][2];
static double x[SIZE], b[SIZE], r[SIZE], p[SIZE], q[SIZE];
static const int stride[3] = {1, FULL, FULL * FULL};

/* Copies a face between the field and a buffer; `plane` counts along the axis. */
static NOINLINE void copy_face(double *field, double *buffer, int axis, int plane, int into_field)
{
    int s = stride[(axis + 1) % 3], t = stride[(axis + 2) % 3];
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            double *value = &field[plane * stride[axis] + (i + 1) * s + (j + 1) * t];
            if (into_field)
                *value = buffer[i * SIDE + j];
            else
                buffer[i * SIDE + j] = *value;
        }
}

static NOINLINE void exchange(double *field)
{
    static double in[2][FACE], out[2][FACE];
    LOOP("axes");
    for (int axis = 0; axis < 3; axis++) {
        TURN();
        MPI_Request requests[4];
        LOOP("directions");
        for (int d = 0; d < 2; d++) {
            TURN();
            copy_face(field, out[d], axis, d ? SIDE : 1, 0);
            CALL(MPI_Irecv, in[d], FACE, MPI_DOUBLE, sides[axis][d], 2 * axis + 1 - d, box, &requests[2 * d]);
            CALL(MPI_Isend, out[d], FACE, MPI_DOUBLE, sides[axis][d], 2 * axis + d, box, &requests[2 * d + 1]);
        }
        LEAVE();
        CALL(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE);
        for (int d = 0; d < 2; d++)
            if (sides[axis][d] != MPI_PROC_NULL)
                copy_face(field, in[d], axis, d ? SIDE + 1 : 0, 1);
    }
    LEAVE();
}

static NOINLINE double dot(const double *a, const double *c)
{
    double own = 0, all;
    for (int k = 1; k <= SIDE; k++)
        for (int j = 1; j <= SIDE; j++)
            for (int i = 1; i <= SIDE; i++) {
                int at = i + FULL * j + FULL * FULL * k;
                own += a[at] * c[at];
            }
    CALL(MPI_Allreduce, &own, &all, 1, MPI_DOUBLE, MPI_SUM, box);
    return all;
}

static NOINLINE void apply(double *of, double *to)
{
    exchange(of);
    for (int k = 1; k <= SIDE; k++)
        for (int j = 1; j <= SIDE; j++)
            for (int i = 1; i <= SIDE; i++) {
                int at = i + FULL * j + FULL * FULL * k;
                to[at] = 7 * of[at];
                for (int axis = 0; axis < 3; axis++)
                    to[at] -= of[at - stride[axis]] + of[at + stride[axis]];
            }
}

static NOINLINE double solve(int iterations)
{
    for (int i = 0; i < SIZE; i++) {
        r[i] = p[i] = b[i];
        x[i] = 0;
    }
    double rr = dot(r, r);
    LOOP("iterations");
    for (int i = 0; i < iterations; i++) {
        TURN();
        apply(p, q);
        double alpha = rr / dot(p, q);
        add_scaled(alpha, p, x, 0, SIZE);
        add_scaled(-alpha, q, r, 0, SIZE);
        double next = dot(r, r), beta = next / rr;
        scale_and_add(beta, p, r, 0, SIZE);
        rr = next;
    }
    LEAVE();
    return rr;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int grid[3] = {0, 0, 0}, open[3] = {0, 0, 0};
    int steps = argc > 1 ? atoi(argv[1]) : 15, iterations = argc > 2 ? atoi(argv[2]) : 50, good = 1;
    MPI_Dims_create(ranks, 3, grid);
    CALL(MPI_Cart_create, MPI_COMM_WORLD, 3, grid, open, 0, &box);
    for (int axis = 0; axis < 3; axis++)
        MPI_Cart_shift(box, axis, 1, &sides[axis][0], &sides[axis][1]);
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        /* The halo of r and b stays zero: it counts in no product. */
        for (int k = 1; k <= SIDE; k++)
            b[k * (1 + FULL + FULL * FULL)] = 1 + step + x[k * (1 + FULL + FULL * FULL)];
        double before = dot(b, b);
        good = good && solve(iterations) < .5 * before;
    }
    LEAVE();
    int code = verdict("neighbours", good);
    CALL(MPI_Finalize);
    return code;
}

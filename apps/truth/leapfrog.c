/* Leapfrog of fourth order (Yoshida): each step has four sub-steps, and each of them exchanges through the same routine with a
 * tag of its own. No other call stands between sub-steps or between steps.
 *
 *     leapfrog [steps] */
#include "strip.h"

enum { COLUMNS = 512, ROWS = 128 };

static Strip place, speed;

/* The tag of the sub-step is what tells sub-steps apart. */
static NOINLINE void exchange(double *u, int tag)
{
    MPI_Request requests[4];
    CALL(MPI_Irecv, row(&place, u, 0), COLUMNS, MPI_DOUBLE, below, tag, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Irecv, row(&place, u, ROWS + 1), COLUMNS, MPI_DOUBLE, above, tag, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Isend, row(&place, u, 1), COLUMNS, MPI_DOUBLE, below, tag, MPI_COMM_WORLD, &requests[2]);
    CALL(MPI_Isend, row(&place, u, ROWS), COLUMNS, MPI_DOUBLE, above, tag, MPI_COMM_WORLD, &requests[3]);
    CALL(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE);
}

static NOINLINE void drift(double by)
{
    for (int i = COLUMNS; i < (ROWS + 1) * COLUMNS; i++)
        place.u[i] += by * speed.u[i];
}

static NOINLINE void kick(double by)
{
    apply_stencil(&place, place.u, speed.next);
    for (int i = COLUMNS; i < (ROWS + 1) * COLUMNS; i++)
        speed.u[i] -= by * speed.next[i];
}

static NOINLINE double energy(void)
{
    exchange(place.u, 9);
    apply_stencil(&place, place.u, speed.next);
    double own = own_product(&speed, speed.u, speed.u) + own_product(&place, place.u, speed.next), all;
    CALL(MPI_Allreduce, &own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all / 2;
}

static NOINLINE void step_forward(double dt)
{
    const double root = cbrt(2), w1 = 1 / (2 - root), w0 = -root * w1;
    const double c[4] = {w1 / 2, (w0 + w1) / 2, (w0 + w1) / 2, w1 / 2}, d[4] = {w1, w0, w1, 0};
    LOOP_BY_ARGUMENTS("substeps");
    for (int s = 0; s < 4; s++) {
        TURN();
        drift(c[s] * dt);
        exchange(place.u, 1 + s);
        kick(d[s] * dt);
    }
    LEAVE();
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 40;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    place = new_strip(ROWS, COLUMNS);
    speed = new_strip(ROWS, COLUMNS);
    for (int i = 1; i <= ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            row(&place, place.u, i)[k] = sin(.05 * (rank * ROWS + i)) * cos(.03 * k);
    double before = energy();
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        step_forward(.2);
    }
    LEAVE();
    double after = energy();
    int code = verdict("leapfrog", fabs(after - before) < 1e-3 * before);
    CALL(MPI_Finalize);
    return code;
}

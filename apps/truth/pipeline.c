/* Wavefront sweeps as in transport codes: from each of the eight corners of a box, plane by plane, over a grid of ranks. A rank
 * takes the sides of its neighbours upstream and gives its own to those downstream; at the border there is nobody.
 *
 *     pipeline [steps] */
#include <string.h>

#include "strip.h"

enum { OCTANTS = 8, PLANES = 4, SIDE = 96, ANGLES = 8 };

static double flux[PLANES][SIDE][SIDE], x_side[SIDE * ANGLES], y_side[SIDE * ANGLES];
static int width, height, column, line;

static int neighbour(int dx, int dy)
{
    int x = column + dx, y = line + dy;
    return x < 0 || x >= width || y < 0 || y >= height ? -1 : y * width + x;
}

static NOINLINE void sweep_plane(int plane, int right, int up)
{
    for (int a = 0; a < ANGLES; a++)
        for (int j = 0; j < SIDE; j++)
            for (int i = 0; i < SIDE; i++) {
                int x = right ? i : SIDE - 1 - i, y = up ? j : SIDE - 1 - j;
                double *from_x = &x_side[a * SIDE + y], *from_y = &y_side[a * SIDE + x];
                double psi = (1 + *from_x + (.5 + .1 * a) * *from_y) / (3 + .1 * a);
                *from_x = *from_y = psi;
                flux[plane][y][x] += psi / (ANGLES * OCTANTS);
            }
}

/* The neighbours change with the octant: arguments tell octants apart. */
static NOINLINE void sweep_octant(int octant)
{
    int dx = octant & 1 ? 1 : -1, dy = octant & 2 ? 1 : -1, down = octant & 4;
    int from_x = neighbour(-dx, 0), to_x = neighbour(dx, 0), from_y = neighbour(0, -dy), to_y = neighbour(0, dy);
    LOOP_BY_ARGUMENTS("planes");
    for (int k = 0; k < PLANES; k++) {
        TURN();
        memset(x_side, 0, sizeof x_side);
        memset(y_side, 0, sizeof y_side);
        if (from_x >= 0)
            CALL(MPI_Recv, x_side, SIDE * ANGLES, MPI_DOUBLE, from_x, octant, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (from_y >= 0)
            CALL(MPI_Recv, y_side, SIDE * ANGLES, MPI_DOUBLE, from_y, octant, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sweep_plane(down ? PLANES - 1 - k : k, dx > 0, dy > 0);
        if (to_x >= 0)
            CALL(MPI_Send, x_side, SIDE * ANGLES, MPI_DOUBLE, to_x, octant, MPI_COMM_WORLD);
        if (to_y >= 0)
            CALL(MPI_Send, y_side, SIDE * ANGLES, MPI_DOUBLE, to_y, octant, MPI_COMM_WORLD);
    }
    LEAVE();
}

static NOINLINE double largest_flux(void)
{
    double own = 0, all;
    for (int k = 0; k < PLANES; k++)
        for (int j = 0; j < SIDE; j++)
            for (int i = 0; i < SIDE; i++)
                own = fmax(own, flux[k][j][i]);
    CALL(MPI_Allreduce, &own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 6;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (height = (int)sqrt(ranks); ranks % height; height--)
        ;
    width = ranks / height;
    column = rank % width;
    line = rank / width;
    double first = 0, last = 0;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        memset(flux, 0, sizeof flux);
        LOOP("octants");
        for (int octant = 0; octant < OCTANTS; octant++) {
            TURN();
            sweep_octant(octant);
        }
        LEAVE();
        last = largest_flux();
        if (first == 0)
            first = last;
    }
    LEAVE();
    /* The same source each time gives the same flux; it lies between that of nothing and of an endless medium. */
    int code = verdict("pipeline", last == first && last > 1. / 3 && last < 10);
    CALL(MPI_Finalize);
    return code;
}

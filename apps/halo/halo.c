/* A 3-D halo exchange in the manner of MiniGhost: the program that Talea's demonstration records.
 *
 * What a report of it should show, in the order of the calls:
 *
 *     MPI_Init
 *     set-up          parameters, process grid, communicators, initial sums
 *     TIME LOOP       --steps times
 *         command     MPI_Bcast: rank 0 says whether to go on
 *         step size   MPI_Allreduce
 *         VARIABLES   --vars times
 *             halo    x, y, z: 2 MPI_Irecv, 2 MPI_Isend, 1 MPI_Waitall each
 *             only variable 1: limits      MPI_Allreduce, MPI_Allreduce
 *             only variable 3: calibrate   MPI_Reduce, MPI_Bcast
 *             stencil (computation only)
 *         every --reduce-every steps: one MPI_Allreduce a variable, through one wrapper
 *     wrap-up         statistics, verification
 *     MPI_Finalize
 *
 * Variables and steps count from 0. Each variable diffuses with reflecting (or periodic) borders, so its sum over
 * the whole domain must stay what it was: the program checks that and exits with 1 if it did not.
 */
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What rank 0 reads from the command line and broadcasts. */
struct options {
    int size, steps, vars, stencil, reduce_every, periodic, kill_rank, kill_at_step;
    double imbalance;
};

static struct options opt = {64, 60, 6, 27, 5, 0, -1, 0, 0.0};

static int rank, ranks;
static MPI_Comm grid;         /* the process grid: halo messages */
static MPI_Comm sums;         /* a duplicate of it: reductions, so that they never meet halo messages */
static int neighbour[3][2];   /* ranks in `grid` below and above along x, y, z; MPI_PROC_NULL at a border */
static int row;               /* cells along one side of the block with both ghost layers: size + 2 */
static double **field;        /* one block of row^3 cells for each variable */
static double *next;          /* where the stencil writes; then it changes places with the variable's block */
static double *face[2][2];    /* buffers of row^2 values: [send, receive][low, high] */
static double time_in_halo, time_in_stencil, cpu_in_stencil;

#define AT(x, y, z) (((size_t)(z) * row + (y)) * row + (x))

/* Index of cell (a, b) in the plane `at` across `axis`. */
static size_t plane_index(int axis, int at, int a, int b)
{
    return axis == 0 ? AT(at, a, b) : axis == 1 ? AT(a, at, b) : AT(a, b, at);
}

static void pack(const double *u, int axis, int at, double *buffer)
{
    for (int b = 0; b < row; b++)
        for (int a = 0; a < row; a++)
            buffer[(size_t)b * row + a] = u[plane_index(axis, at, a, b)];
}

static void unpack(double *u, int axis, int at, const double *buffer)
{
    for (int b = 0; b < row; b++)
        for (int a = 0; a < row; a++)
            u[plane_index(axis, at, a, b)] = buffer[(size_t)b * row + a];
}

/* Exchanges the two faces of one variable across one axis. */
static void exchange_axis(double *u, int v, int axis)
{
    MPI_Request request[4];
    int count = row * row, last = opt.size;
    int low = neighbour[axis][0], high = neighbour[axis][1];
    /* The tag says which variable and which way: even tags travel upwards. */
    int up = 10 * (v + 1) + 2 * axis, down = up + 1;
    MPI_Irecv(face[1][0], count, MPI_DOUBLE, low, up, grid, &request[0]);
    MPI_Irecv(face[1][1], count, MPI_DOUBLE, high, down, grid, &request[1]);
    pack(u, axis, 1, face[0][0]);
    pack(u, axis, last, face[0][1]);
    MPI_Isend(face[0][0], count, MPI_DOUBLE, low, down, grid, &request[2]);
    MPI_Isend(face[0][1], count, MPI_DOUBLE, high, up, grid, &request[3]);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    /* At a border the domain reflects: its own outermost cells are the ghost cells. */
    unpack(u, axis, 0, low == MPI_PROC_NULL ? face[0][0] : face[1][0]);
    unpack(u, axis, last + 1, high == MPI_PROC_NULL ? face[0][1] : face[1][1]);
}

/* Fills the ghost cells of one variable. Faces carry their ghost cells too and the axes follow one another, so
 * after z the edges and corners have arrived as well, which the 27-point stencil needs. The three calls come from
 * three lines, which the call paths of a recording tell apart. */
static void exchange_halo(int v)
{
    double begin = MPI_Wtime();
    exchange_axis(field[v], v, 0);
    exchange_axis(field[v], v, 1);
    exchange_axis(field[v], v, 2);
    time_in_halo += MPI_Wtime() - begin;
}

/* Diffusion over the planes first..last: every cell moves towards its neighbours by the same weight, so what one
 * cell loses another gains. */
static void diffuse_planes(const double *u, double *to, double weight, int first, int last)
{
    for (int z = first; z <= last; z++)
        for (int y = 1; y <= opt.size; y++)
            for (int x = 1; x <= opt.size; x++) {
                double around = 0;
                if (opt.stencil == 7) {
                    around = u[AT(x - 1, y, z)] + u[AT(x + 1, y, z)] + u[AT(x, y - 1, z)] +
                             u[AT(x, y + 1, z)] + u[AT(x, y, z - 1)] + u[AT(x, y, z + 1)];
                    to[AT(x, y, z)] = u[AT(x, y, z)] + weight * (around / 6 - u[AT(x, y, z)]);
                } else {
                    for (int dz = -1; dz <= 1; dz++)
                        for (int dy = -1; dy <= 1; dy++) {
                            const double *line = &u[AT(x, y + dy, z + dz)];
                            around += line[-1] + line[0] + line[1];
                        }
                    to[AT(x, y, z)] = u[AT(x, y, z)] + weight * (around / 27 - u[AT(x, y, z)]);
                }
            }
}

/* Processor time of this thread: what it was given, whatever else ran on its core. */
static double cpu_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void stencil(int v, double weight)
{
    double begin = MPI_Wtime(), cpu_begin = cpu_time();
    diffuse_planes(field[v], next, weight, 1, opt.size);
    /* The overloaded rank (the last one) does part of its planes again: same values, more time. */
    double extra = rank == ranks - 1 ? opt.imbalance * opt.size : 0;
    for (; extra >= 1; extra -= opt.size)
        diffuse_planes(field[v], next, weight, 1, extra < opt.size ? (int)extra : opt.size);
    double *old = field[v];
    field[v] = next;
    next = old;
    time_in_stencil += MPI_Wtime() - begin;
    cpu_in_stencil += cpu_time() - cpu_begin;
}

/* Sum of this rank's cells of one variable. */
static double local_sum(int v)
{
    double sum = 0;
    for (int z = 1; z <= opt.size; z++)
        for (int y = 1; y <= opt.size; y++)
            for (int x = 1; x <= opt.size; x++)
                sum += field[v][AT(x, y, z)];
    return sum;
}

/* The one wrapper through which all sums go: its callers, not this line, tell the sums apart. */
static double global_sum(double part)
{
    double sum;
    MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, sums);
    return sum;
}

/* Variable 1 only: the smallest and the largest value of the domain. */
static void limits(const double *u, double *low, double *high)
{
    double least = u[AT(1, 1, 1)], most = least;
    for (int x = 1; x <= opt.size; x++) {
        least = fmin(least, u[AT(x, x, x)]);
        most = fmax(most, u[AT(x, x, x)]);
    }
    MPI_Allreduce(&least, low, 1, MPI_DOUBLE, MPI_MIN, sums);
    MPI_Allreduce(&most, high, 1, MPI_DOUBLE, MPI_MAX, sums);
}

/* Variable 3 only: rank 0 turns the mean of all corners into a factor for everyone. */
static double calibrate(const double *u)
{
    double corner = u[AT(1, 1, 1)], mean = 0, factor = 0;
    MPI_Reduce(&corner, &mean, 1, MPI_DOUBLE, MPI_SUM, 0, sums);
    if (rank == 0)
        factor = 1 / (1 + fabs(mean / ranks));
    MPI_Bcast(&factor, 1, MPI_DOUBLE, 0, sums);
    return factor;
}

static void usage(const char *program)
{
    printf("Usage: mpirun -n RANKS %s [options]\n"
           "  --size N           cells along each side of a rank's block (%d)\n"
           "  --steps N          time steps (%d)\n"
           "  --vars N           variables, each with its own halo (%d)\n"
           "  --stencil 7|27     points of the stencil (%d)\n"
           "  --reduce-every K   sum every variable each K steps; 0: never (%d)\n"
           "  --imbalance F      the last rank computes F times more, such as 0.5 (0)\n"
           "  --periodic         the domain closes on itself instead of reflecting\n"
           "  --kill-rank R      rank R kills itself with SIGKILL ...\n"
           "  --kill-at-step S   ... at the beginning of step S (0)\n"
           "  --help             this text\n",
           program, opt.size, opt.steps, opt.vars, opt.stencil, opt.reduce_every);
}

/* Every rank parses, only rank 0 speaks. Returns -1 to go on, else the exit code. */
static int parse(int argc, char **argv)
{
    static const struct option names[] = {
        {"size", 1, 0, 'n'},      {"steps", 1, 0, 's'},        {"vars", 1, 0, 'v'},
        {"stencil", 1, 0, 'p'},   {"reduce-every", 1, 0, 'r'}, {"imbalance", 1, 0, 'i'},
        {"periodic", 0, 0, 'c'},  {"kill-rank", 1, 0, 'k'},    {"kill-at-step", 1, 0, 'a'},
        {"help", 0, 0, 'h'},      {0, 0, 0, 0}};
    opterr = rank == 0;
    for (int c; (c = getopt_long(argc, argv, "h", names, NULL)) != -1;)
        switch (c) {
        case 'n': opt.size = atoi(optarg); break;
        case 's': opt.steps = atoi(optarg); break;
        case 'v': opt.vars = atoi(optarg); break;
        case 'p': opt.stencil = atoi(optarg); break;
        case 'r': opt.reduce_every = atoi(optarg); break;
        case 'i': opt.imbalance = atof(optarg); break;
        case 'c': opt.periodic = 1; break;
        case 'k': opt.kill_rank = atoi(optarg); break;
        case 'a': opt.kill_at_step = atoi(optarg); break;
        case 'h':
            if (rank == 0)
                usage(argv[0]);
            return 0;
        default: return 2;
        }
    if (optind != argc || opt.size < 1 || opt.steps < 0 || opt.vars < 1 || opt.imbalance < 0 ||
        opt.reduce_every < 0 || (opt.stencil != 7 && opt.stencil != 27)) {
        if (rank == 0)
            fprintf(stderr, "halo: a value is out of range or an argument is unknown; see --help\n");
        return 2;
    }
    return -1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int stop = parse(argc, argv);
    if (stop >= 0) {
        MPI_Finalize();
        return stop;
    }

    /* Set-up: parameters, process grid, communicators. */
    MPI_Bcast(&opt, sizeof opt, MPI_BYTE, 0, MPI_COMM_WORLD);
    int dims[3] = {0, 0, 0}, periods[3] = {opt.periodic, opt.periodic, opt.periodic}, where[3];
    MPI_Dims_create(ranks, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
    MPI_Cart_coords(grid, rank, 3, where);
    for (int axis = 0; axis < 3; axis++)
        MPI_Cart_shift(grid, axis, 1, &neighbour[axis][0], &neighbour[axis][1]);
    MPI_Comm_dup(grid, &sums);
    MPI_Comm layer; /* ranks of the same layer along z: they report together at the end */
    MPI_Comm_split(grid, where[2], rank, &layer);

    /* Memory and initial values: a hot ball in the middle of a cold block, hotter for higher variables. */
    row = opt.size + 2;
    size_t cells = (size_t)row * row * row;
    field = calloc((size_t)opt.vars, sizeof *field);
    for (int v = 0; v < opt.vars; v++)
        field[v] = calloc(cells, sizeof(double));
    next = calloc(cells, sizeof(double));
    for (int i = 0; i < 4; i++)
        face[i / 2][i % 2] = calloc((size_t)row * row, sizeof(double));
    for (int v = 0; v < opt.vars; v++)
        for (int z = 1; z <= opt.size; z++)
            for (int y = 1; y <= opt.size; y++)
                for (int x = 1; x <= opt.size; x++) {
                    double dx = x - row / 2.0, dy = y - row / 2.0, dz = z - row / 2.0;
                    double hot = sqrt(dx * dx + dy * dy + dz * dz) < opt.size / 4.0 ? 100.0 * (v + 1) : 0.0;
                    field[v][AT(x, y, z)] = hot + rank + 1;
                }
    double *sum_at_start = calloc((size_t)opt.vars, sizeof(double));
    for (int v = 0; v < opt.vars; v++)
        sum_at_start[v] = local_sum(v);
    MPI_Allreduce(MPI_IN_PLACE, sum_at_start, opt.vars, MPI_DOUBLE, MPI_SUM, sums);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), cpu_begin = cpu_time();

    /* The time loop. */
    double weight = 0.5, low = 0, high = 0;
    for (int step = 0; step < opt.steps; step++) {
        if (rank == opt.kill_rank && step == opt.kill_at_step)
            raise(SIGKILL);
        int go_on = 1;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, grid);
        double wish = 0.5 + 0.1 * sin(step), agreed;
        MPI_Allreduce(&wish, &agreed, 1, MPI_DOUBLE, MPI_MIN, sums);
        for (int v = 0; go_on && v < opt.vars; v++) {
            exchange_halo(v);
            double factor = 1;
            if (v == 1)
                limits(field[v], &low, &high);
            if (v == 3)
                factor = calibrate(field[v]);
            stencil(v, weight * agreed * factor);
        }
        if (opt.reduce_every > 0 && (step + 1) % opt.reduce_every == 0)
            for (int v = 0; v < opt.vars; v++) {
                double sum = global_sum(local_sum(v));
                if (rank == 0 && v == 0)
                    printf("step %4d  sum of variable 0: %.6e\n", step + 1, sum);
            }
    }
    double seconds = MPI_Wtime() - begin, cpu = cpu_time() - cpu_begin;

    /* Wrap-up: where the time went, and whether the sums are what they were. */
    double mine[4] = {time_in_halo, time_in_stencil, cpu_in_stencil, cpu}, layer_total[2], longest;
    double *all = calloc((size_t)ranks * 4, sizeof(double));
    MPI_Allreduce(mine, layer_total, 2, MPI_DOUBLE, MPI_SUM, layer);
    MPI_Gather(mine, 4, MPI_DOUBLE, all, 4, MPI_DOUBLE, 0, grid);
    MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, grid);
    int wrong = 0;
    for (int v = 0; v < opt.vars; v++) {
        double sum = global_sum(local_sum(v));
        if (!(fabs(sum - sum_at_start[v]) <= 1e-9 * fabs(sum_at_start[v]))) {
            wrong++;
            if (rank == 0)
                fprintf(stderr, "halo: sum of variable %d was %.17g and is %.17g\n", v, sum_at_start[v], sum);
        }
    }
    if (rank == 0) {
        printf("halo: %d ranks as %d x %d x %d, %d^3 cells a rank, %d variables, %d steps in %.3f s\n", ranks,
               dims[0], dims[1], dims[2], opt.size, opt.vars, opt.steps, longest);
        for (int r = 0; r < ranks && r < 64; r++)
            printf("  rank %2d  halo %8.3f s  stencil %8.3f s  CPU time %8.3f s, in the stencil %8.3f s\n", r,
                   all[4 * r], all[4 * r + 1], all[4 * r + 3], all[4 * r + 2]);
        printf("verification: %s (variable 1 between %.3f and %.3f)\n", wrong ? "FAILED" : "ok", low, high);
    }
    for (int v = 0; v < opt.vars; v++)
        free(field[v]);
    for (int i = 0; i < 4; i++)
        free(face[i / 2][i % 2]);
    free(field);
    free(next);
    free(sum_at_start);
    free(all);
    MPI_Comm_free(&layer);
    MPI_Comm_free(&sums);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return wrong != 0;
}

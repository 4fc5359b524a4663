/* Rounds of collective operations, blocking and not, with counts that depend on data. */
#include "random.h"

#include <sched.h>
#include <stdlib.h>

/* A count that only one rank knows until it tells the others. */
static int told_count(const struct place *p, struct draw *d, int turn)
{
    int root = pick(d, p->size), below = 1 + pick(d, 200), count = 0;
    int drawn = pick(d, below);
    if (p->rank == root)
        count = 1 + (drawn + turn) % 200;
    MPI_Bcast(&count, 1, MPI_INT, root, p->comm);
    return count;
}

static void check_equal(const char *what, double expected, double found)
{
    if (expected != found)
        fail(what, (long long)expected, (long long)found);
}

static void finish(MPI_Request *request, struct draw *d)
{
    int flag = 0;
    if (pick(d, 2)) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
        return;
    }
    while (!flag) {
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        if (!flag)
            sched_yield();
    }
}

static void synchronise(const struct place *p, struct draw *d, int turn)
{
    MPI_Request request;
    (void)turn;
    if (pick(d, 2)) {
        MPI_Barrier(p->comm);
    } else {
        MPI_Ibarrier(p->comm, &request);
        finish(&request, d);
    }
}

static void broadcast(const struct place *p, struct draw *d, int turn)
{
    int root = pick(d, p->size), count = told_count(p, d, turn), now = pick(d, 2);
    long *numbers = calloc((size_t)count, sizeof *numbers);
    MPI_Request request;
    for (int i = 0; p->rank == root && i < count; i++)
        numbers[i] = root + i;
    if (now) {
        MPI_Bcast(numbers, count, MPI_LONG, root, p->comm);
    } else {
        MPI_Ibcast(numbers, count, MPI_LONG, root, p->comm, &request);
        finish(&request, d);
    }
    for (int i = 0; i < count; i++)
        check_equal("broadcast number", root + i, (double)numbers[i]);
    free(numbers);
}

static void add_absolute(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((double *)inout)[i] += ((double *)in)[i];
}

static void reduce(const struct place *p, struct draw *d, int turn)
{
    int count = told_count(p, d, turn), root = pick(d, p->size), kind = pick(d, 8), own = pick(d, 4) == 0;
    double *mine = calloc((size_t)count, sizeof *mine), *all = calloc((size_t)count, sizeof *all);
    double total = p->size * (p->size + 1) / 2.0, up_to_me = (p->rank + 1) * (p->rank + 2) / 2.0;
    MPI_Op op = MPI_SUM;
    MPI_Request request;
    if (own)
        MPI_Op_create(add_absolute, 1, &op);
    for (int i = 0; i < count; i++)
        mine[i] = all[i] = p->rank + 1;
    switch (kind) {
    case 0:
    case 1: MPI_Allreduce(mine, all, count, MPI_DOUBLE, op, p->comm); break;
    case 2: MPI_Allreduce(MPI_IN_PLACE, all, count, MPI_DOUBLE, op, p->comm); break;
    case 3:
        MPI_Iallreduce(mine, all, count, MPI_DOUBLE, op, p->comm, &request);
        finish(&request, d);
        break;
    case 4:
        MPI_Reduce(mine, all, count, MPI_DOUBLE, op, root, p->comm);
        if (p->rank != root)
            all[0] = total;
        break;
    case 5:
        MPI_Scan(mine, all, count, MPI_DOUBLE, op, p->comm);
        total = up_to_me;
        break;
    case 6:
        MPI_Exscan(mine, all, count, MPI_DOUBLE, op, p->comm);
        total = p->rank == 0 ? all[0] : up_to_me - (p->rank + 1);
        break;
    default:
        MPI_Allreduce(mine, all, count, MPI_DOUBLE, MPI_MAX, p->comm);
        total = p->size;
    }
    check_equal("reduction", total, all[0]);
    if (own)
        MPI_Op_free(&op);
    free(mine);
    free(all);
}

static void reduce_scatter(const struct place *p, struct draw *d, int turn)
{
    int block = told_count(p, d, turn), even = pick(d, 2), sum = 0;
    int *counts = calloc((size_t)p->size, sizeof *counts);
    for (int i = 0; i < p->size; i++)
        sum += counts[i] = even ? block : 1 + (block + i) % 7;
    int *mine = calloc((size_t)sum, sizeof *mine), *part = calloc((size_t)sum, sizeof *part);
    for (int i = 0; i < sum; i++)
        mine[i] = 1;
    if (even)
        MPI_Reduce_scatter_block(mine, part, block, MPI_INT, MPI_SUM, p->comm);
    else
        MPI_Reduce_scatter(mine, part, counts, MPI_INT, MPI_SUM, p->comm);
    check_equal("scattered sum", p->size, part[0]);
    free(counts);
    free(mine);
    free(part);
}

static void gather(const struct place *p, struct draw *d, int turn)
{
    int count = told_count(p, d, turn), root = pick(d, p->size), all = pick(d, 2);
    int *mine = calloc((size_t)count, sizeof *mine), *total = calloc((size_t)(count * p->size), sizeof *total);
    for (int i = 0; i < count; i++)
        mine[i] = p->rank;
    if (all)
        MPI_Allgather(mine, count, MPI_INT, total, count, MPI_INT, p->comm);
    else
        MPI_Gather(mine, count, MPI_INT, total, count, MPI_INT, root, p->comm);
    for (int r = 0; (all || p->rank == root) && r < p->size; r++)
        check_equal("gathered rank", r, total[r * count]);
    free(mine);
    free(total);
}

/* Rank r has r % 3 + `more` numbers: counts and displacements of that, and their sum. */
static int uneven(const struct place *p, int more, int **counts, int **starts)
{
    int sum = 0;
    *counts = calloc((size_t)p->size, sizeof(int));
    *starts = calloc((size_t)p->size, sizeof(int));
    for (int r = 0; r < p->size; r++) {
        (*counts)[r] = r % 3 + more;
        (*starts)[r] = sum;
        sum += (*counts)[r];
    }
    return sum;
}

static void gather_uneven(const struct place *p, struct draw *d, int turn)
{
    int more = told_count(p, d, turn), root = pick(d, p->size), all = pick(d, 2), *counts, *starts;
    int sum = uneven(p, more, &counts, &starts);
    short *mine = calloc((size_t)counts[p->rank], sizeof *mine), *total = calloc((size_t)sum, sizeof *total);
    for (int i = 0; i < counts[p->rank]; i++)
        mine[i] = (short)p->rank;
    if (all)
        MPI_Allgatherv(mine, counts[p->rank], MPI_SHORT, total, counts, starts, MPI_SHORT, p->comm);
    else if (p->rank == root)
        MPI_Gatherv(mine, counts[p->rank], MPI_SHORT, total, counts, starts, MPI_SHORT, root, p->comm);
    else
        MPI_Gatherv(mine, counts[p->rank], MPI_SHORT, NULL, NULL, NULL, MPI_SHORT, root, p->comm);
    for (int r = 0; (all || p->rank == root) && r < p->size; r++)
        check_equal("gathered rank", r, total[starts[r]]);
    free(counts);
    free(starts);
    free(mine);
    free(total);
}

static void scatter(const struct place *p, struct draw *d, int turn)
{
    int count = told_count(p, d, turn), root = pick(d, p->size), even = pick(d, 2), *counts, *starts;
    int sum = even ? count * p->size : uneven(p, count, &counts, &starts);
    float *mine = calloc((size_t)count + 3, sizeof *mine), *total = calloc((size_t)sum, sizeof *total);
    for (int i = 0; p->rank == root && i < sum; i++)
        total[i] = (float)i;
    if (even) {
        MPI_Scatter(total, count, MPI_FLOAT, mine, count, MPI_FLOAT, root, p->comm);
        check_equal("scattered number", p->rank * count, mine[0]);
    } else {
        MPI_Scatterv(total, counts, starts, MPI_FLOAT, mine, counts[p->rank], MPI_FLOAT, root, p->comm);
        check_equal("scattered number", starts[p->rank], mine[0]);
        free(counts);
        free(starts);
    }
    free(mine);
    free(total);
}

static void exchange(const struct place *p, struct draw *d, int turn)
{
    int count = 1 + told_count(p, d, turn) % 20, kind = pick(d, 3), n = p->size;
    int *counts = calloc((size_t)n, sizeof(int)), *starts = calloc((size_t)n, sizeof(int));
    int *bytes = calloc((size_t)n, sizeof(int));
    MPI_Datatype *types = calloc((size_t)n, sizeof *types), one;
    int *out = calloc((size_t)(n * count), sizeof(int)), *in = calloc((size_t)(n * count), sizeof(int));
    for (int r = 0; r < n; r++) {
        counts[r] = count;
        starts[r] = r * count;
        bytes[r] = r * count * (int)sizeof(int);
        out[r * count] = 1000 * p->rank + r;
    }
    if (kind == 0)
        MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, p->comm);
    else if (kind == 1)
        MPI_Alltoallv(out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, p->comm);
    else {
        MPI_Type_contiguous(1, MPI_INT, &one);
        MPI_Type_commit(&one);
        for (int r = 0; r < n; r++)
            types[r] = (p->rank + r) % 3 ? MPI_INT : one;
        MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, p->comm);
        MPI_Type_free(&one);
    }
    for (int r = 0; r < n; r++)
        check_equal("exchanged number", 1000 * r + p->rank, in[r * count]);
    free(counts);
    free(starts);
    free(bytes);
    free(types);
    free(out);
    free(in);
}

round_function *const collective_rounds[] = {
    synchronise, broadcast, reduce, reduce, reduce_scatter, gather, gather_uneven, scatter, exchange,
};
const int collective_round_count = sizeof collective_rounds / sizeof *collective_rounds;

/* A strip of rows of a field, and the arithmetic on it, for the programs in this folder.
 *
 * Owns no communication: each program exchanges its rows in its own way. Rows 0 and rows + 1 are the halo. */
#ifndef STRIP_H
#define STRIP_H
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "truth.h"

#define NOINLINE __attribute__((noinline, unused))
enum { UP = 1, DOWN = 2 };

typedef struct {
    int rows, columns;
    double *u, *f, *next;
} Strip;

static int rank, ranks, below, above;

/* Finds the own place in the line of ranks. */
static NOINLINE void find_neighbours(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    TRUTH_RANK(rank);
    below = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    above = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
}

/* A strip that is zero. */
static NOINLINE Strip new_strip(int rows, int columns)
{
    size_t size = (size_t)(rows + 2) * (size_t)columns;
    Strip s = {rows, columns, (double *)calloc(size, sizeof(double)), (double *)calloc(size, sizeof(double)),
               (double *)calloc(size, sizeof(double))};
    if (!s.u || !s.f || !s.next)
        abort();
    return s;
}

static NOINLINE void free_strip(Strip *s)
{
    free(s->u);
    free(s->f);
    free(s->next);
}

static inline double *row(const Strip *s, double *field, int i)
{
    return field + (size_t)i * (size_t)s->columns;
}

/* One sweep of damped Jacobi for 4 u - neighbours = f, with zero around the field. The squared change. */
static NOINLINE double sweep(Strip *s)
{
    double change = 0;
    for (int i = 1; i <= s->rows; i++) {
        const double *down = row(s, s->u, i - 1), *own = row(s, s->u, i), *up = row(s, s->u, i + 1);
        const double *f = row(s, s->f, i);
        double *next = row(s, s->next, i);
        for (int k = 0; k < s->columns; k++) {
            double sides = (k > 0 ? own[k - 1] : 0) + (k + 1 < s->columns ? own[k + 1] : 0);
            double step = .8 * (.25 * (f[k] + sides + down[k] + up[k]) - own[k]);
            next[k] = own[k] + step;
            change += step * step;
        }
    }
    for (int i = 1; i <= s->rows; i++)
        for (int k = 0; k < s->columns; k++)
            row(s, s->u, i)[k] = row(s, s->next, i)[k];
    return change;
}

/* `to` = 4 `of` - its neighbours, which needs the halo of `of`. */
static NOINLINE void apply_stencil(const Strip *s, double *of, double *to)
{
    for (int i = 1; i <= s->rows; i++) {
        const double *down = row(s, of, i - 1), *own = row(s, of, i), *up = row(s, of, i + 1);
        double *out = row(s, to, i);
        for (int k = 0; k < s->columns; k++) {
            double sides = (k > 0 ? own[k - 1] : 0) + (k + 1 < s->columns ? own[k + 1] : 0);
            out[k] = 4 * own[k] - sides - down[k] - up[k];
        }
    }
}

/* The product of two fields over the own rows. */
static NOINLINE double own_product(const Strip *s, double *a, double *b)
{
    double sum = 0;
    for (int i = 1; i <= s->rows; i++)
        for (int k = 0; k < s->columns; k++)
            sum += row(s, a, i)[k] * row(s, b, i)[k];
    return sum;
}

/* y += a x */
static inline void add_scaled(double a, const double *x, double *y, int first, int behind)
{
    for (int i = first; i < behind; i++)
        y[i] += a * x[i];
}

/* y = a y + x */
static inline void scale_and_add(double a, double *y, const double *x, int first, int behind)
{
    for (int i = first; i < behind; i++)
        y[i] = x[i] + a * y[i];
}

/* Says how the verification went; the program's exit code. */
static NOINLINE int verdict(const char *name, int good)
{
    if (!good)
        fprintf(stderr, "%s: rank %d: verification FAILED\n", name, rank);
    else if (rank == 0)
        printf("%s: %d ranks, verification ok\n", name, ranks);
    return good ? 0 : 1;
}
#endif

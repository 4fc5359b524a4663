/* The library of library.c; its notes are those of the program. */
#define TRUTH_EXTERNAL
#include "exchange.h"

#include <math.h>
#include <mpi.h>
#include <stdlib.h>

#include "truth.h"

struct Exchange {
    MPI_Comm comm;
    int columns, below, above;
    MPI_Request requests[4];
};

Exchange *exchange_create(int columns, int below, int above)
{
    Exchange *exchange = malloc(sizeof *exchange);
    if (!exchange)
        abort();
    *exchange = (Exchange){.columns = columns, .below = below, .above = above};
    CALL(MPI_Comm_dup, MPI_COMM_WORLD, &exchange->comm);
    return exchange;
}

void exchange_begin(Exchange *exchange, double *low_halo, double *low, double *high, double *high_halo)
{
    int n = exchange->columns;
    CALL(MPI_Irecv, low_halo, n, MPI_DOUBLE, exchange->below, 1, exchange->comm, &exchange->requests[0]);
    CALL(MPI_Irecv, high_halo, n, MPI_DOUBLE, exchange->above, 2, exchange->comm, &exchange->requests[1]);
    CALL(MPI_Isend, low, n, MPI_DOUBLE, exchange->below, 2, exchange->comm, &exchange->requests[2]);
    CALL(MPI_Isend, high, n, MPI_DOUBLE, exchange->above, 1, exchange->comm, &exchange->requests[3]);
}

void exchange_end(Exchange *exchange)
{
    CALL(MPI_Waitall, 4, exchange->requests, MPI_STATUSES_IGNORE);
}

double exchange_norm(Exchange *exchange, double own)
{
    double all;
    CALL(MPI_Allreduce, &own, &all, 1, MPI_DOUBLE, MPI_SUM, exchange->comm);
    return sqrt(all);
}

void exchange_free(Exchange *exchange)
{
    CALL(MPI_Comm_free, &exchange->comm);
    free(exchange);
}

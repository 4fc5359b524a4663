/* Many signatures: how a tool that keeps one entry for each distinct call does when there are a thousand of them.
 *
 *     mpirun -n 1 signatures [rounds]                1000 call sites in turn, each with its own tag and size
 *     mpirun -n 1 signatures --same-site [rounds]    one call site with the same 1000 tags and sizes
 *
 * All calls are MPI_Send to MPI_PROC_NULL, which does nothing. Prints on rank 0
 *     name<TAB>median<TAB>min<TAB>max        nanoseconds a call, over the rounds (default 200)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

enum { SITES = 1000, MOST_ROUNDS = 100000 };

static char buffer[4 * SITES];

/* Site number k. */
#define SEND(k) MPI_Send(buffer, 4 * (k), MPI_BYTE, MPI_PROC_NULL, (k), MPI_COMM_WORLD);
#define TEN(m, k) m((k) + 0) m((k) + 1) m((k) + 2) m((k) + 3) m((k) + 4) m((k) + 5) m((k) + 6) m((k) + 7) m((k) + 8) m((k) + 9)
#define SEND_10(k) TEN(SEND, k)
#define HUNDRED(k)                                                                                                  \
    SEND_10((k) + 0) SEND_10((k) + 10) SEND_10((k) + 20) SEND_10((k) + 30) SEND_10((k) + 40)                        \
    SEND_10((k) + 50) SEND_10((k) + 60) SEND_10((k) + 70) SEND_10((k) + 80) SEND_10((k) + 90)

static void thousand_sites(void)
{
    HUNDRED(0) HUNDRED(100) HUNDRED(200) HUNDRED(300) HUNDRED(400)
    HUNDRED(500) HUNDRED(600) HUNDRED(700) HUNDRED(800) HUNDRED(900)
}

static void one_site(void)
{
    for (int k = 0; k < SITES; k++)
        SEND(k)
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int same_site = argc > 1 && strcmp(argv[1], "--same-site") == 0;
    int rounds = argc > 1 + same_site ? atoi(argv[1 + same_site]) : 200;
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        if (rank == 0)
            fprintf(stderr, "signatures: rounds must be 1 to %d\n", MOST_ROUNDS);
        MPI_Finalize();
        return 2;
    }

    double *ns = calloc((size_t)rounds, sizeof *ns);
    /* The first two rounds make every entry and every edge; they do not count. */
    for (int round = -2; round < rounds; round++) {
        double begin = now();
        if (same_site)
            one_site();
        else
            thousand_sites();
        if (round >= 0)
            ns[round] = (now() - begin) / SITES;
    }
    qsort(ns, (size_t)rounds, sizeof *ns, ascending);
    if (rank == 0)
        printf("%s\t%.1f\t%.1f\t%.1f\n", same_site ? "same_site" : "thousand_sites", ns[rounds / 2], ns[0], ns[rounds - 1]);
    free(ns);
    MPI_Finalize();
    return 0;
}

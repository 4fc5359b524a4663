/* Counts the communicating calls that a recorder makes by itself.
 *
 * It is preloaded behind the recorder, which forwards the program's calls to MPI_* and makes its own by PMPI_*. Each
 * process appends a line to the file BENEATH_FILE: calls of its own until the program's first communicating call, those
 * after it, and the number of the program's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long before, after, program;

static void *next(const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    if (!found) {
        fprintf(stderr, "beneath: no %s behind this library\n", symbol);
        abort();
    }
    return found;
}

static void own(void)
{
    atomic_fetch_add(atomic_load(&program) ? &after : &before, 1);
}

#define CALL(name, parameters, arguments)              \
    int PMPI_##name parameters                         \
    {                                                  \
        int(*real) parameters = next("PMPI_" #name);   \
        own();                                         \
        return real arguments;                         \
    }                                                  \
    int MPI_##name parameters                          \
    {                                                  \
        int(*real) parameters = next("MPI_" #name);    \
        atomic_fetch_add(&program, 1);                 \
        return real arguments;                         \
    }

CALL(Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))
CALL(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s), (b, n, t, from, tag, c, s))
CALL(Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r),
     (b, n, t, to, tag, c, r))
CALL(Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r),
     (b, n, t, from, tag, c, r))
CALL(Iprobe, (int from, int tag, MPI_Comm c, int *flag, MPI_Status *s), (from, tag, c, flag, s))
CALL(Probe, (int from, int tag, MPI_Comm c, MPI_Status *s), (from, tag, c, s))
CALL(Barrier, (MPI_Comm c), (c))
CALL(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
CALL(Reduce, (const void *b, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c), (b, r, n, t, o, root, c))
CALL(Allreduce, (const void *b, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, r, n, t, o, c))
CALL(Gather, (const void *b, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, int root, MPI_Comm c),
     (b, n, t, r, m, u, root, c))
CALL(Allgather, (const void *b, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, MPI_Comm c),
     (b, n, t, r, m, u, c))
CALL(Comm_dup, (MPI_Comm c, MPI_Comm *new), (c, new))
CALL(Comm_free, (MPI_Comm *c), (c))

__attribute__((destructor)) static void write_line(void)
{
    const char *path = getenv("BENEATH_FILE");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file || !atomic_load(&program))
        return;
    fprintf(file, "%ld %ld %ld\n", atomic_load(&before), atomic_load(&after), atomic_load(&program));
    fclose(file);
}

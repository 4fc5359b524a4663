/* Rounds around MPI's objects: derived datatypes, windows, files. */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void derived(const struct place *p, struct draw *d, int turn)
{
    enum { ROWS = 8, COLUMNS = 6 };
    int kind = pick(d, 4), tag = 1 + pick(d, 50), column = pick(d, COLUMNS);
    int to = (p->rank + 1) % p->size, from = (p->rank + p->size - 1) % p->size;
    int out[ROWS][COLUMNS], in[ROWS][COLUMNS];
    MPI_Datatype type, part;
    (void)turn;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            out[i][j] = p->world_rank[p->rank];
            in[i][j] = -1;
        }
    switch (kind) {
    case 0: MPI_Type_contiguous(COLUMNS, MPI_INT, &type); break;
    case 1: MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &type); break;
    case 2: /* two columns, made of columns */
        MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &part);
        MPI_Type_create_resized(part, 0, sizeof(int), &type);
        MPI_Type_free(&part);
        column = 0;
        break;
    default: {
        /* The same three numbers, described in two ways: ranks make different types in different orders. */
        int lengths[2] = {1, 2};
        MPI_Aint starts[2] = {0, 3 * sizeof(int)};
        MPI_Datatype types[2] = {MPI_INT, MPI_INT};
        if (p->rank % 2) {
            MPI_Type_contiguous(2, MPI_INT, &part);
            lengths[1] = 1;
            types[1] = part;
        }
        MPI_Type_create_struct(2, lengths, starts, types, &type);
        if (p->rank % 2)
            MPI_Type_free(&part);
        column = 0;
    }
    }
    if (kind == 0)
        column = 0;
    MPI_Type_commit(&type);
    MPI_Sendrecv(&out[0][column], kind == 2 ? 2 : 1, type, to, tag, &in[0][column], kind == 2 ? 2 : 1, type, from, tag,
                 p->comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    if (in[0][column] != p->world_rank[from])
        fail("derived type's element", p->world_rank[from], in[0][column]);
}

static void window(const struct place *p, struct draw *d, int turn)
{
    int times = 1 + pick(d, 3), value = p->world_rank[p->rank], got = -1;
    int to = (p->rank + 1) % p->size, from = (p->rank + p->size - 1) % p->size;
    MPI_Win win;
    (void)turn;
    if (p->threads > 1)
        return;
    /* From the heap: MPICH 4.0 places windows wrong whose address is no multiple of 16. */
    int *memory = calloc(2, sizeof(int));
    memory[0] = -1;
    memory[1] = value;
    MPI_Win_create(memory, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, p->comm, &win);
    for (int i = 0; i < times; i++) {
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_INT, to, 0, 1, MPI_INT, win);
        MPI_Get(&got, 1, MPI_INT, from, 1, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
    }
    MPI_Win_free(&win);
    if (memory[0] != p->world_rank[from] || got != p->world_rank[from])
        fail("number put or got", p->world_rank[from], memory[0]);
    free(memory);
}

/* One file a communicator, in the folder for temporary files: its name has the first member's process id. */
static void file(const struct place *p, struct draw *d, int turn)
{
    int id = (int)getpid(), count = 1 + pick(d, 100), *numbers;
    const char *folder = getenv("TMPDIR");
    char path[4096];
    MPI_File file;
    (void)turn;
    if (p->threads > 1)
        return;
    MPI_Bcast(&id, 1, MPI_INT, 0, p->comm);
    snprintf(path, sizeof path, "%s/random-%d.dat", folder ? folder : "/tmp", id);
    MPI_File_open(p->comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    numbers = calloc((size_t)count, sizeof(int));
    for (int i = 0; i < count; i++)
        numbers[i] = p->rank;
    MPI_File_write_at_all(file, (MPI_Offset)p->rank * count * (MPI_Offset)sizeof(int), numbers, count, MPI_INT,
                          MPI_STATUS_IGNORE);
    /* What others wrote for this rank is in the file only after a sync. */
    MPI_File_sync(file);
    MPI_Barrier(p->comm);
    numbers[0] = -1;
    MPI_File_read_at(file, (MPI_Offset)p->rank * count * (MPI_Offset)sizeof(int), numbers, count, MPI_INT,
                     MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    if (numbers[0] != p->rank)
        fail("number in the file", p->rank, numbers[0]);
    free(numbers);
}

round_function *const object_rounds[] = {derived, derived, derived, window, file};
const int object_round_count = sizeof object_rounds / sizeof *object_rounds;

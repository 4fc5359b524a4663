/* Call paths that are hard to tell apart, or hard to find:
 *
 *     paths many       one line is reached by 131,072 different ways
 *     paths deep       calls at the bottom of recursions, the deepest of 10,000 levels
 *     paths frames     one way, on stacks whose frames have a new size each time
 *     paths jit        calls through code that was made while the program ran, of which nobody knows how to unwind it
 *
 * Prints how many calls of MPI_Test were made. */
#include <alloca.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline))

static long tests;

static NOINLINE void test(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    tests++;
}

/* Two functions a level, of which the bits of `way` choose one: a path for each number. */
static NOINLINE void level0(unsigned way)
{
    if (way != ~0u)
        test();
}
#define LEVEL(number, below)                                                                                      \
    static NOINLINE void left##number(unsigned way);                                                              \
    static NOINLINE void right##number(unsigned way);                                                             \
    static NOINLINE void level##number(unsigned way)                                                              \
    {                                                                                                             \
        if (way & 1)                                                                                              \
            left##number(way >> 1);                                                                               \
        else                                                                                                      \
            right##number(way >> 1);                                                                              \
        __asm__ volatile("");                                                                                     \
    }                                                                                                             \
    static NOINLINE void left##number(unsigned way)                                                               \
    {                                                                                                             \
        level##below(way);                                                                                        \
        __asm__ volatile("");                                                                                     \
    }                                                                                                             \
    static NOINLINE void right##number(unsigned way)                                                              \
    {                                                                                                             \
        level##below(way);                                                                                        \
        __asm__ volatile("");                                                                                     \
    }
LEVEL(1, 0)
LEVEL(2, 1)
LEVEL(3, 2)
LEVEL(4, 3)
LEVEL(5, 4)
LEVEL(6, 5)
LEVEL(7, 6)
LEVEL(8, 7)
LEVEL(9, 8)
LEVEL(10, 9)
LEVEL(11, 10)
LEVEL(12, 11)
LEVEL(13, 12)
LEVEL(14, 13)
LEVEL(15, 14)
LEVEL(16, 15)
LEVEL(17, 16)

static NOINLINE int recurse(int levels)
{
    if (levels == 0) {
        test();
        return 0;
    }
    int below = recurse(levels - 1);
    __asm__ volatile("");
    return below + 1;
}

static NOINLINE int with_frame(int bytes)
{
    char *room = alloca((size_t)bytes);
    memset(room, bytes, (size_t)bytes);
    test();
    return room[bytes / 2];
}

/* sub rsp, 40; call rdi; add rsp, 40; ret: no frame pointer, no unwind table. */
static const unsigned char machine[] = {0x48, 0x83, 0xec, 0x28, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x28, 0xc3};

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "many";
    MPI_Init(&argc, &argv);
    if (!strcmp(what, "many")) {
        for (unsigned way = 0; way < 1u << 17; way++)
            level17(way);
    } else if (!strcmp(what, "deep")) {
        for (int levels = 0; levels < 200; levels++)
            recurse(levels);
        for (int turn = 0; turn < 20; turn++)
            recurse(10000 - turn);
    } else if (!strcmp(what, "frames")) {
        for (int bytes = 16; bytes < 16 + 16 * 2000; bytes += 16)
            with_frame(bytes);
    } else if (!strcmp(what, "jit")) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            MPI_Abort(MPI_COMM_WORLD, 3);
        memcpy(page, machine, sizeof machine);
        void (*through)(void (*)(void));
        memcpy(&through, &page, sizeof through);
        for (int turn = 0; turn < 1000; turn++)
            through(test);
    }
    MPI_Finalize();
    printf("%ld\n", tests);
    return 0;
}

/* Phases of known shape, for what `talea run --sample` records at their ends.
 *
 *   regions [INSTANCES [THREADS [WAY]]]       50 instances in each of 1 thread
 *
 * Each instance of `touch` computes for 6 ms of its thread's processor time and then touches 400 new pages, evenly over 4 ms: page faults
 * have a kink at 0.6 of it. `plain` computes for 3 ms, `step` is around both. WAY is one of
 *
 *   whole     every phase is left once
 *   never     `last` is entered and not left
 *   twice     each `touch` is left twice, `step` is left from inside `plain`
 *   hot       before all else a phase is entered ten million times
 *   brief     before all else 200 threads, one after the other, are in `brief` for 3 ms, which is all that they do
 *   stop      writes a line when it is in `last`, and waits there until it is killed
 *   fork      a child does the same
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "talea_mark.h"

#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { PAGES = 400, PAGE = 4096 };

static int instances = 50;
static const char *way = "whole";

static double own_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Computes until the thread has used `until` seconds. */
__attribute__((noinline)) static double compute(double until)
{
    double sum = 0;
    while (own_time() < until)
        for (int i = 1; i < 300; i++)
            sum += 1.0 / i;
    return sum;
}

/* Touches a page whenever its time has come. */
__attribute__((noinline)) static double touch(char *pages, double begin, double seconds)
{
    double sum = 0;
    for (int page = 0; page < PAGES; page++) {
        pages[page * PAGE] = 1;
        sum += compute(begin + seconds * (page + 1) / PAGES);
    }
    return sum;
}

static void *work(void *unused)
{
    double sum = 0;
    for (int instance = 0; instance < instances; instance++) {
        char *pages = mmap(0, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED)
            exit(1);
        /* Pages that are larger would be fewer. */
        madvise(pages, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
        TALEA_PHASE_BEGIN("step");
        TALEA_PHASE_BEGIN("touch");
        double begin = own_time();
        sum += compute(begin + 0.006);
        sum += touch(pages, begin + 0.006, 0.004);
        TALEA_PHASE_END("touch");
        if (strcmp(way, "twice") == 0)
            TALEA_PHASE_END("touch");
        TALEA_PHASE_BEGIN("plain");
        sum += compute(own_time() + 0.003);
        if (strcmp(way, "twice") != 0)
            TALEA_PHASE_END("plain");
        TALEA_PHASE_END("step");
        munmap(pages, (size_t)PAGES * PAGE);
#ifdef WITH_MPI
        /* The others wait for it in the call. */
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 1)
            sum += compute(own_time() + 0.004);
        double all;
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        TALEA_PHASE_BEGIN("after");
        sum += compute(own_time() + 0.001);
        TALEA_PHASE_END("after");
#endif
    }
    /* So that the work is not left out. */
    return sum < 0 ? unused : 0;
}

static void hot(void)
{
    for (int i = 0; i < 10000000; i++) {
        TALEA_PHASE_BEGIN("hot");
        __asm__ volatile("" : "+r"(i));
        TALEA_PHASE_END("hot");
    }
}

static void *brief(void *unused)
{
    TALEA_PHASE_BEGIN("brief");
    double sum = compute(own_time() + 0.003);
    TALEA_PHASE_END("brief");
    return sum < 0 ? unused : 0;
}

static void all(int threads)
{
    pthread_t others[256];
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], 0, work, 0) != 0)
            exit(1);
    work(0);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], 0);
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    if (argc > 1)
        instances = atoi(argv[1]);
    if (argc > 3)
        way = argv[3];
    if (threads < 1 || threads > 256 || instances < 1) {
        fprintf(stderr, "usage: regions [INSTANCES [THREADS [WAY]]], up to 256 threads\n");
        return 2;
    }
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    if (strcmp(way, "hot") == 0)
        hot();
    for (int i = 0; i < 200 && strcmp(way, "brief") == 0; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, brief, 0) != 0)
            return 1;
        pthread_join(thread, 0);
    }
    if (strcmp(way, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            all(1);
            _exit(0);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    all(threads);
    if (strcmp(way, "never") == 0 || strcmp(way, "stop") == 0)
        TALEA_PHASE_BEGIN("last");
    if (strcmp(way, "stop") == 0) {
        puts("inside");
        fflush(stdout);
        for (;;)
            pause();
    }
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
}

/* Two phases whose times are as 2 to 1, in each thread: what samples and tables must show.
 *
 *   phases [SECONDS [THREADS [FILE]]]      1 second of processor time in each of 1 thread
 *
 * A file is mapped to be read, as tools do with libraries, below all that was mapped before.
 * Time is each thread's own processor time, so that other programs change nothing. Prints what each thread spent in each phase. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "talea_mark.h"

static double seconds = 1;

static double own_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Works until the thread has used `until` seconds. */
__attribute__((noinline)) static double spin(double until)
{
    double sum = 0;
    while (own_time() < until)
        for (int i = 1; i < 1000; i++)
            sum += 1.0 / i;
    return sum;
}

static void *work(void *argument)
{
    double *spent = argument;
    double sum = 0;
    double begin = own_time(), now = begin;
    /* A round takes 30 ms, so that rounds are many and markers few. */
    while (now < begin + seconds) {
        double at = now;
        TALEA_PHASE_BEGIN("step");
        TALEA_PHASE_BEGIN("long");
        sum += spin(at + 0.020);
        now = own_time();
        TALEA_PHASE_END("long");
        spent[0] += now - at;
        {
            TALEA_PHASE_SCOPE("short");
            at = now;
            sum += spin(at + 0.010);
            now = own_time();
            spent[1] += now - at;
        }
        TALEA_PHASE_END("step");
    }
    /* So that the work is not left out. */
    return sum < 0 ? argument : 0;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    if (argc > 1)
        seconds = atof(argv[1]);
    if (threads < 1 || threads > 256 || !(seconds > 0)) {
        fprintf(stderr, "usage: phases [SECONDS [THREADS [FILE]]], up to 256 threads\n");
        return 2;
    }
    int file = argc > 3 ? open(argv[3], O_RDONLY) : -1;
    if (argc > 3 && (file < 0 || mmap(0, 1 << 16, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED)) {
        perror(argv[3]);
        return 1;
    }
    pthread_t others[256];
    double spent[256][2] = {{0}};
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], 0, work, spent[i]) != 0)
            return 1;
    work(spent[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], 0);
    for (int i = 0; i < threads; i++)
        printf("thread %d: long %.3f s, short %.3f s\n", i, spent[i][0], spent[i][1]);
    return 0;
}

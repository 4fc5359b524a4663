/* Two threads walk linked lists of growing size: first they fit the first cache, at last only memory. What a monitor of
 * misses shows moves outwards, level by level.
 *
 *   lists [SECONDS] [LARGEST_KIB] [THREADS]      default: 8 seconds, 262144 KiB, 2 threads
 *
 * Prints for each size how long a step takes, mean over the threads.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LINE = 64, MOST_THREADS = 256 };

struct cell {
    struct cell *next;
    char rest[LINE - sizeof(struct cell *)];
};

struct walk {
    double seconds;
    size_t bytes;
    double nanoseconds;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* One cycle through all cells in random order, so that no prefetcher foresees the next (Sattolo's algorithm). */
static struct cell *list(size_t count)
{
    struct cell *cells = aligned_alloc(LINE, count * sizeof *cells);
    size_t *order = malloc(count * sizeof *order);
    if (!cells || !order) {
        fprintf(stderr, "lists: no memory for %zu cells\n", count);
        exit(1);
    }
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count - 1; i > 0; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        size_t j = state % i, swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (size_t i = 0; i < count; i++)
        cells[order[i]].next = &cells[order[(i + 1) % count]];
    free(order);
    return cells;
}

static void *walk(void *argument)
{
    struct walk *walk = argument;
    struct cell *cells = list(walk->bytes / sizeof(struct cell));
    struct cell *volatile at = cells;
    double begin = now(), end = begin + walk->seconds;
    long steps = 0;
    while (now() < end) {
        struct cell *cell = at;
        for (int i = 0; i < 100000; i++)
            cell = cell->next;
        at = cell;
        steps += 100000;
    }
    walk->nanoseconds = (now() - begin) / (double)steps * 1e9;
    free(cells);
    return NULL;
}

int main(int count, char **words)
{
    double seconds = count > 1 ? atof(words[1]) : 8;
    size_t largest = (count > 2 ? strtoull(words[2], NULL, 10) : 262144) * 1024;
    int threads = count > 3 ? atoi(words[3]) : 2, sizes = 0;
    if (seconds <= 0 || largest < 16 * 1024 || threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: lists [SECONDS] [LARGEST_KIB, at least 16] [THREADS, at most %d]\n", MOST_THREADS);
        return 2;
    }
    for (size_t bytes = 16 * 1024; bytes <= largest; bytes *= 4)
        sizes++;
    for (size_t bytes = 16 * 1024; bytes <= largest; bytes *= 4) {
        pthread_t ids[MOST_THREADS];
        struct walk walks[MOST_THREADS];
        double sum = 0;
        for (int i = 0; i < threads; i++) {
            walks[i] = (struct walk){seconds / sizes, bytes, 0};
            if (pthread_create(&ids[i], NULL, walk, &walks[i])) {
                fprintf(stderr, "lists: cannot start thread %d\n", i);
                return 1;
            }
        }
        for (int i = 0; i < threads; i++) {
            pthread_join(ids[i], NULL);
            sum += walks[i].nanoseconds;
        }
        printf("%8zu KiB  %6.1f ns a step\n", bytes / 1024, sum / threads);
        fflush(stdout);
    }
    return 0;
}

/* What markers cost: nanoseconds for each turn of loops, with and without markers. `cargo xtask bench mark` runs it.
 *
 *   cost ROUNDS      a line for each loop: its name, then nanoseconds a turn, ROUNDS times
 *
 * Whether markers are on is for the environment to say: without the library, with it, with TALEA_MARK=off. Rounds of all loops take
 * turns, so that a machine which changes its speed changes it for all, and are short, so that few are interrupted. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "talea_mark.h"

enum { TURNS = 200000, LENGTH = 4096, SWEEPS = 50, MOST = 256 };

static float a[LENGTH], b[LENGTH];

/* Keeps a loop that does nothing. */
#define KEEP(x) __asm__ volatile("" : "+r"(x))

__attribute__((noinline)) static void empty(void)
{
    for (int i = 0; i < TURNS; i++)
        KEEP(i);
}

__attribute__((noinline)) static void pair(void)
{
    for (int i = 0; i < TURNS; i++) {
        TALEA_PHASE_BEGIN("pair");
        KEEP(i);
        TALEA_PHASE_END("pair");
    }
}

__attribute__((noinline)) static void scope(void)
{
    for (int i = 0; i < TURNS; i++) {
        TALEA_PHASE_SCOPE("scope");
        KEEP(i);
    }
}

__attribute__((noinline)) static void plain(void)
{
    for (int i = 0; i < LENGTH; i++)
        a[i] += 0.5f * b[i];
}

__attribute__((noinline)) static void inside(void)
{
    for (int i = 0; i < LENGTH; i++) {
        TALEA_PHASE_BEGIN("inside");
        a[i] += 0.5f * b[i];
        TALEA_PHASE_END("inside");
    }
}

__attribute__((noinline)) static void guarded(void)
{
    TALEA_LOOP("guarded", for (int i = 0; i < LENGTH; i++), a[i] += 0.5f * b[i];);
}

/* The same loop, repeated so often that the clock does not matter. */
#define SWEEP(of)                              \
    static void of##_sweeps(void)              \
    {                                          \
        for (int i = 0; i < SWEEPS; i++) {     \
            of();                              \
            __asm__ volatile("" ::: "memory"); \
        }                                      \
    }
SWEEP(plain)
SWEEP(inside)
SWEEP(guarded)

static const struct {
    const char *name;
    void (*run)(void);
    double turns;
} loops[] = {
    {"empty", empty, TURNS},
    {"pair", pair, TURNS},
    {"scope", scope, TURNS},
    {"plain", plain_sweeps, (double)LENGTH * SWEEPS},
    {"inside", inside_sweeps, (double)LENGTH * SWEEPS},
    {"guarded", guarded_sweeps, (double)LENGTH * SWEEPS},
};

static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    enum { LOOPS = sizeof loops / sizeof *loops };
    static double took[LOOPS][MOST];
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    if (rounds < 1 || rounds > MOST)
        rounds = MOST;
    /* The first round is not kept: markers are registered in it. */
    for (int round = -1; round < rounds; round++)
        for (int i = 0; i < LOOPS; i++) {
            double begin = nanoseconds();
            loops[i].run();
            if (round >= 0)
                took[i][round] = (nanoseconds() - begin) / loops[i].turns;
        }
    for (int i = 0; i < LOOPS; i++) {
        printf("%s", loops[i].name);
        for (int round = 0; round < rounds; round++)
            printf(" %.4f", took[i][round]);
        printf("\n");
    }
    return 0;
}

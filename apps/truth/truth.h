/* Notes of a program on its own structure, made while it runs: which loop is entered, when a turn begins, when the loop
 * is left, and which MPI procedure is called. They are what Talea's structure tree is compared with.
 *
 * Owns the macros and the file TRUTH_DIR/RANK.THREAD.truth; nothing is noted where TRUTH_DIR is not set. Makes no call of MPI
 * of its own: the program says its rank, everything stays in memory, and the files are written at exit.
 *
 *     CALL(MPI_Init, &argc, &argv);
 *     TRUTH_RANK(rank);
 *     MAIN_LOOP("steps");
 *     for (int step = 0; step < steps; step++) {
 *         TURN();
 *         CALL(MPI_Barrier, MPI_COMM_WORLD);
 *     }
 *     LEAVE();
 *
 * A call belongs to one place if its line and the calls of functions that lead to it are the same, beginning at the
 * function that noted the latest turn: a wrapper that is called on two lines is two places, a recursion that notes
 * its levels as turns is one. Hence frame pointers (-fno-omit-frame-pointer) and `noinline`.
 *
 * Calls that Talea only counts (MPI_Comm_rank, MPI_Wtime) are not noted, nor polls without success: FOUND notes the
 * successful one after it was made.
 *
 * With TRUTH_EXTERNAL the functions are those of another part of the program (truth.c, compiled with TRUTH_EXPORT).
 * File: the line `truth 1`; lines `loop ID FLAGS NAME LINE` and `call ID PROCEDURE LINE`; an empty line; tokens
 * `(ID` (enter), `/` (turn), `)` (leave) and `ID` (call). FLAGS: m (main), a (arguments tell executions apart), -. */
#ifndef TRUTH_H
#define TRUTH_H

#ifdef TRUTH_EXTERNAL
#define TRUTH_FUNCTION extern
#elif defined(TRUTH_EXPORT)
#define TRUTH_FUNCTION __attribute__((noinline))
#else
#define TRUTH_FUNCTION static __attribute__((noinline, unused))
#endif

enum { TRUTH_MAIN = 1, TRUTH_ARGUMENTS = 2 };

#ifdef __cplusplus
extern "C" {
#endif
TRUTH_FUNCTION void truth_call(const char *procedure, int line);
TRUTH_FUNCTION void truth_enter(const char *name, int line, int flags);
TRUTH_FUNCTION void truth_turn(void);
TRUTH_FUNCTION void truth_leave(void);
TRUTH_FUNCTION void truth_rank(int rank);
TRUTH_FUNCTION void truth_thread(int thread);
#ifdef __cplusplus
}
#endif

/* Calls an MPI procedure. */
#define CALL(procedure, ...) (truth_call(#procedure, __LINE__), procedure(__VA_ARGS__))
/* Notes a poll that has just been successful. */
#define FOUND(procedure) truth_call(#procedure, __LINE__)
/* Enters a loop: any, the one whose turns are the program's steps, one whose executions differ in arguments. */
#define LOOP(name) truth_enter(name, __LINE__, 0)
#define MAIN_LOOP(name) truth_enter(name, __LINE__, TRUTH_MAIN)
#define LOOP_BY_ARGUMENTS(name) truth_enter(name, __LINE__, TRUTH_ARGUMENTS)
#define TURN() truth_turn()
#define LEAVE() truth_leave()
#define TRUTH_RANK(rank) truth_rank(rank)
/* The main thread is 0. */
#define TRUTH_THREAD(number) truth_thread(number)

#ifndef TRUTH_EXTERNAL
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRUTH_PLACES = 4096, TRUTH_DEPTH = 256, TRUTH_FRAMES = 64 };
/* Events that are no place; places have smaller numbers. */
enum { TRUTH_TURN = 0x10000, TRUTH_LEAVE = 0x10001 };

typedef struct truth_place {
    uint64_t key;
    char name[56];
    int line, flags, is_loop;
} truth_place;

typedef struct truth_log {
    truth_place places[TRUTH_PLACES];
    int known;
    /* Places by key; 0 is free, else one more than the place. */
    int table[2 * TRUTH_PLACES];
    uint32_t *events;
    size_t count, room;
    /* Frames of the functions that noted the latest turns of the open loops. */
    void *frames[TRUTH_DEPTH];
    int depth, thread;
    struct truth_log *next;
} truth_log;

static const char *truth_folder;
static int truth_own_rank = -1;
static truth_log *truth_logs;
static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t truth_once = PTHREAD_ONCE_INIT;
static __thread truth_log *truth_own;

static void truth_fail(const char *what)
{
    fprintf(stderr, "truth: %s\n", what);
    abort();
}

static void truth_write(void)
{
    for (truth_log *log = truth_logs; log; log = log->next) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%d.%d.truth", truth_folder, truth_own_rank, log->thread);
        FILE *file = fopen(path, "w");
        if (!file)
            truth_fail("cannot write into TRUTH_DIR");
        fprintf(file, "truth 1\n");
        for (int i = 0; i < log->known; i++) {
            truth_place *place = &log->places[i];
            if (place->is_loop)
                fprintf(file, "loop %d %s%s%s %s %d\n", i, place->flags & TRUTH_MAIN ? "m" : "",
                        place->flags & TRUTH_ARGUMENTS ? "a" : "", place->flags ? "" : "-", place->name, place->line);
            else
                fprintf(file, "call %d %s %d\n", i, place->name, place->line);
        }
        for (size_t i = 0; i < log->count; i++) {
            uint32_t event = log->events[i];
            const char *before = i % 32 ? " " : "\n";
            if (event == TRUTH_TURN)
                fprintf(file, "%s/", before);
            else if (event == TRUTH_LEAVE)
                fprintf(file, "%s)", before);
            else
                fprintf(file, "%s%s%u", before, log->places[event].is_loop ? "(" : "", event);
        }
        fprintf(file, "\n");
        if (fclose(file))
            truth_fail("cannot write into TRUTH_DIR");
    }
}

static void truth_start(void)
{
    truth_folder = getenv("TRUTH_DIR");
    if (truth_folder)
        atexit(truth_write);
}

static truth_log *truth_mine(void)
{
    if (truth_own)
        return truth_own;
    pthread_once(&truth_once, truth_start);
    if (!truth_folder)
        return NULL;
    truth_own = (truth_log *)calloc(1, sizeof *truth_own);
    if (!truth_own)
        truth_fail("no memory");
    pthread_mutex_lock(&truth_lock);
    truth_own->next = truth_logs;
    truth_logs = truth_own;
    pthread_mutex_unlock(&truth_lock);
    return truth_own;
}

static void truth_note(truth_log *log, uint32_t event)
{
    if (log->count == log->room) {
        log->room = log->room ? 2 * log->room : 1 << 14;
        log->events = (uint32_t *)realloc(log->events, log->room * sizeof *log->events);
        if (!log->events)
            truth_fail("no memory");
    }
    log->events[log->count++] = event;
}

/* The number of a place: its name and line, and the return addresses from `frame` up to the latest turn's. */
static uint32_t truth_number(truth_log *log, void **frame, const char *name, int line, int flags, int is_loop)
{
    uint64_t key = 14695981039346656037u ^ (uint64_t)(uint32_t)line;
    for (const char *at = name; *at; at++)
        key = (key ^ (unsigned char)*at) * 1099511628211u;
    void **top = log->depth > 0 ? (void **)log->frames[log->depth - 1] : NULL;
    /* Outside of loops each line is reached once or through its own callers: the frames end where they no longer go up. */
    for (int i = 0; i < TRUTH_FRAMES && frame && (!top || frame < top); i++) {
        void **up = (void **)frame[0];
        key = (key ^ (uint64_t)(uintptr_t)frame[1]) * 1099511628211u;
        if (up <= frame || (char *)up - (char *)frame > 1 << 20)
            break;
        frame = up;
    }
    key = (key ^ (uint64_t)is_loop) * 1099511628211u;
    key ^= key >> 29;
    size_t at = key % (2 * TRUTH_PLACES);
    while (log->table[at]) {
        uint32_t place = (uint32_t)log->table[at] - 1;
        if (log->places[place].key == key)
            return place;
        at = (at + 1) % (2 * TRUTH_PLACES);
    }
    if (log->known == TRUTH_PLACES)
        truth_fail("too many places");
    truth_place *place = &log->places[log->known];
    place->key = key;
    snprintf(place->name, sizeof place->name, "%s", name);
    place->line = line;
    place->flags = flags;
    place->is_loop = is_loop;
    log->table[at] = ++log->known;
    return (uint32_t)log->known - 1;
}

/* The frame of the function that calls the one which this stands in: frame[0] is its caller's frame, frame[1] its return address. */
#define TRUTH_CALLER ((void **)*(void **)__builtin_frame_address(0))

TRUTH_FUNCTION void truth_call(const char *procedure, int line)
{
    truth_log *log = truth_mine();
    if (log)
        truth_note(log, truth_number(log, TRUTH_CALLER, procedure, line, 0, 0));
}

TRUTH_FUNCTION void truth_enter(const char *name, int line, int flags)
{
    truth_log *log = truth_mine();
    if (!log)
        return;
    truth_note(log, truth_number(log, TRUTH_CALLER, name, line, flags, 1));
    if (log->depth == TRUTH_DEPTH)
        truth_fail("too many loops inside loops");
    log->frames[log->depth++] = TRUTH_CALLER;
}

TRUTH_FUNCTION void truth_turn(void)
{
    truth_log *log = truth_mine();
    if (!log)
        return;
    if (log->depth == 0)
        truth_fail("a turn outside of loops");
    /* A turn without any call cannot be seen: waiting loops would fill the memory with them. */
    if (log->count > 0 && log->events[log->count - 1] != TRUTH_TURN)
        truth_note(log, TRUTH_TURN);
    log->frames[log->depth - 1] = TRUTH_CALLER;
}

TRUTH_FUNCTION void truth_leave(void)
{
    truth_log *log = truth_mine();
    if (!log)
        return;
    if (log->depth == 0)
        truth_fail("leaves a loop that was not entered");
    truth_note(log, TRUTH_LEAVE);
    log->depth--;
}

TRUTH_FUNCTION void truth_rank(int rank)
{
    truth_own_rank = rank;
}

TRUTH_FUNCTION void truth_thread(int thread)
{
    truth_log *log = truth_mine();
    if (log)
        log->thread = thread;
}
#endif
#endif

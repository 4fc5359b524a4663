/* Random MPI calls from a seed; see random.h. Exits with 0 only if every message was what it had to be.
 *
 *     mpirun -n 4 random [--seed S] [--calls N] [--threads T] [--spawn]
 *
 * --threads asks for MPI_THREAD_MULTIPLE and leaves out what belongs to the whole process (windows, files, buffered
 * sends). --spawn starts two more processes at the end; the MPICH of Debian 12 cannot.
 */
#include "random.h"

#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int seed = 1, calls = 1000, threads = 1, spawn;
static int world_rank, world_size;

uint64_t draw(struct draw *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int pick(struct draw *d, int below)
{
    return (int)(draw(d) % (uint64_t)below);
}

void fail(const char *what, long long expected, long long found)
{
    fprintf(stderr, "random: seed %d, rank %d: %s should be %lld and is %lld\n", seed, world_rank, what, expected, found);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int *new_message(const struct place *p, int tag, int ints)
{
    int *message = malloc((size_t)ints * sizeof(int));
    message[0] = p->world_rank[p->rank];
    message[1] = tag;
    for (int i = HEADER; i < ints; i++)
        message[i] = message[0] * 31 + tag + i;
    return message;
}

void check_message(const int *message, int ints, int source_world, int tag)
{
    if (message[0] != source_world)
        fail("sender in the message", source_world, message[0]);
    if (message[1] != tag)
        fail("tag in the message", tag, message[1]);
    for (int i = HEADER; i < ints; i++)
        if (message[i] != source_world * 31 + tag + i)
            fail("content", source_world * 31 + tag + i, message[i]);
}

void logger_note(const char *text) __attribute__((weak));

void tell_logger(int source_world, int tag)
{
    char text[64];
    if (!logger_note)
        return;
    snprintf(text, sizeof text, "status.source=%d status.tag=%d", source_world, tag);
    logger_note(text);
}

/* The communicators of one thread. Slot 0 is its world; the others come and go. */
enum { SLOTS = 4 };

struct thread {
    int number;
    struct draw numbers;
    struct place place[SLOTS];
    int made;   /* rounds so far weigh about this many calls */
    int budget; /* and may weigh this many */
};

static void enter(struct place *p, MPI_Comm comm)
{
    MPI_Group all, members;
    p->comm = comm;
    p->threads = threads;
    p->world_rank = NULL;
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comm, &p->rank);
    MPI_Comm_size(comm, &p->size);
    int *local = malloc((size_t)p->size * sizeof(int)), *world = malloc((size_t)p->size * sizeof(int));
    for (int i = 0; i < p->size; i++)
        local[i] = i;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(comm, &members);
    MPI_Group_translate_ranks(members, p->size, local, all, world);
    MPI_Group_free(&members);
    MPI_Group_free(&all);
    free(local);
    p->world_rank = world;
}

static void leave(struct place *p)
{
    if (p->comm != MPI_COMM_NULL)
        MPI_Comm_free(&p->comm);
    free((void *)p->world_rank);
    p->comm = MPI_COMM_NULL;
    p->world_rank = NULL;
}

/* Frees the communicator of a slot and makes a new one from the thread's world: all ranks do it together. */
static void renew(struct thread *t, struct draw *d)
{
    int slot = 1 + pick(d, SLOTS - 1), parts = 1 + pick(d, 3), backwards = pick(d, 2);
    const struct place *world = &t->place[0];
    MPI_Comm made, grid;
    leave(&t->place[slot]);
    switch (pick(d, 4)) {
    case 0: MPI_Comm_dup(world->comm, &made); break;
    case 1: /* the last rank stays outside */
        MPI_Comm_split(world->comm, world->size > 1 && world->rank == world->size - 1 ? MPI_UNDEFINED : 0, world->rank,
                       &made);
        break;
    case 2: {
        int dims[2] = {0, 0}, periods[2] = {1, 0}, keep[2] = {backwards, !backwards};
        MPI_Dims_create(world->size, 2, dims);
        MPI_Cart_create(world->comm, 2, dims, periods, 0, &grid);
        MPI_Cart_sub(grid, keep, &made);
        MPI_Comm_free(&grid);
        break;
    }
    default:
        MPI_Comm_split(world->comm, world->rank % parts, backwards ? -world->rank : world->rank, &made);
    }
    enter(&t->place[slot], made);
}

static void one_round(struct thread *t, struct draw *d, int turn)
{
    const struct place *p = &t->place[pick(d, 3) == 0 ? 1 + pick(d, SLOTS - 1) : 0];
    int family = pick(d, 20), inner = 0;
    round_function *round;
    if (family < 11)
        round = message_rounds[pick(d, message_round_count)];
    else if (family < 17)
        round = collective_rounds[pick(d, collective_round_count)];
    else if (family < 19)
        round = object_rounds[pick(d, object_round_count)];
    else
        round = NULL;
    inner = 4;
    t->made += inner;
    if (!round) {
        renew(t, d);
        t->made += 4;
    } else if (p->comm != MPI_COMM_NULL) {
        round(p, d, turn);
    }
}

/* How often a loop turns, where only rank 0 knows: everyone else must be told. */
static int told_by_rank_0(struct thread *t, struct draw *d)
{
    int below = 1 + pick(d, 6), turns = 0;
    if (t->place[0].rank == 0)
        turns = pick(d, below);
    else
        (void)draw(d);
    MPI_Bcast(&turns, 1, MPI_INT, 0, t->place[0].comm);
    return turns;
}

/* A body is a fixed list of rounds and loops: it starts from its seed anew each time it is executed. */
static void body(struct thread *t, uint64_t body_seed, int depth, int turn)
{
    struct draw d = {body_seed};
    int entries = 1 + pick(&d, 4);
    for (int i = 0; i < entries && t->made < t->budget; i++) {
        struct draw entry = {draw(&d)};
        int kind = pick(&entry, 8);
        if (depth < 3 && kind < 2) {
            int turns = kind == 0 ? 2 + pick(&entry, 6) : told_by_rank_0(t, &entry);
            uint64_t inner = draw(&entry);
            for (int k = 0; k < turns && t->made < t->budget; k++)
                body(t, inner, depth + 1, k);
        } else {
            one_round(t, &entry, turn);
        }
    }
}

static void *run(void *argument)
{
    struct thread *t = argument;
    for (int slot = 1; slot < SLOTS; slot++)
        t->place[slot] = (struct place){MPI_COMM_NULL, 0, 0, NULL, threads};
    while (t->made < t->budget)
        body(t, draw(&t->numbers), 0, 0);
    for (int slot = 0; slot < SLOTS; slot++)
        leave(&t->place[slot]);
    return NULL;
}

/* Starts two more processes, greets them and lets them go. */
static void spawn_two(const char *program)
{
    char child[] = "--child", *arguments[] = {child, NULL};
    MPI_Comm children;
    int greeting = 42;
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Bcast(&greeting, 1, MPI_INT, world_rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children);
    MPI_Comm_disconnect(&children);
}

static void be_spawned(void)
{
    MPI_Comm parents;
    int greeting = 0;
    MPI_Comm_get_parent(&parents);
    MPI_Bcast(&greeting, 1, MPI_INT, 0, parents);
    if (greeting != 42)
        fail("greeting", 42, greeting);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_disconnect(&parents);
    MPI_Finalize();
    exit(0);
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"seed", 1, 0, 's'}, {"calls", 1, 0, 'c'}, {"threads", 1, 0, 't'},
                                          {"spawn", 0, 0, 'p'}, {"child", 0, 0, 'C'}, {0, 0, 0, 0}};
    int child = 0, wrong = 0, provided;
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (c) {
        case 's': seed = atoi(optarg); break;
        case 'c': calls = atoi(optarg); break;
        case 't': threads = atoi(optarg); break;
        case 'p': spawn = 1; break;
        case 'C': child = 1; break;
        default: wrong = 1;
        }
    if (wrong || optind != argc || threads < 1 || threads > 16 || calls < 0) {
        fprintf(stderr, "usage: random [--seed S] [--calls N] [--threads 1..16] [--spawn]\n");
        return 2;
    }

    if (threads > 1) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
        if (provided != MPI_THREAD_MULTIPLE)
            fail("level of thread support", MPI_THREAD_MULTIPLE, provided);
    } else {
        MPI_Init(&argc, &argv);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (child)
        be_spawned();

    struct thread *each = calloc((size_t)threads, sizeof *each);
    pthread_t *handles = calloc((size_t)threads, sizeof *handles);
    for (int i = 0; i < threads; i++) {
        MPI_Comm mine;
        each[i].number = i;
        each[i].numbers.state = (uint64_t)seed * 1000003u + (uint64_t)i;
        each[i].budget = calls / threads;
        MPI_Comm_dup(MPI_COMM_WORLD, &mine);
        enter(&each[i].place[0], mine);
    }
    for (int i = 1; i < threads; i++)
        pthread_create(&handles[i], NULL, run, &each[i]);
    run(&each[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(handles[i], NULL);
    if (spawn)
        spawn_two(argv[0]);
    free(handles);
    free(each);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

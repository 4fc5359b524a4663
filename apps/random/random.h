/* A program of random but reproducible MPI calls, for tests: what random.c and its rounds share.
 *
 * All ranks draw the same numbers from the same seed, so all know what everyone does. The program is a series of rounds;
 * a round is a small piece of communication among all members of one communicator, complete in itself: it leaves no
 * message and no request behind. Rounds stand in nested loops. So nothing can deadlock, whatever the order, and the
 * same seed on the same number of ranks makes the same calls, except for how often polls fail and in which order
 * wildcards match.
 */
#ifndef RANDOM_RANDOM_H
#define RANDOM_RANDOM_H

#include <mpi.h>
#include <stdint.h>

/* Numbers that are the same on all ranks (splitmix64). */
struct draw {
    uint64_t state;
};
uint64_t draw(struct draw *d);
/* 0 .. below - 1 */
int pick(struct draw *d, int below);

/* Where a round happens. Each thread has its own `world`. */
struct place {
    MPI_Comm comm;
    int rank, size;        /* in comm */
    const int *world_rank; /* of each member of comm */
    int threads;           /* of the program: some calls are left out when there are several */
};

/* A message is ints: who sent it (world rank), its tag, then a pattern. Both ends check. */
enum { HEADER = 2, MOST_INTS = 20000 };
int *new_message(const struct place *p, int tag, int ints);
void check_message(const int *message, int ints, int source_world, int tag);
void fail(const char *what, long long expected, long long found);

/* If the logger is there, tells it what the ignored status of the last call would have said. */
void tell_logger(int source_world, int tag);

/* A round: `d` has its parameters (the same in every iteration of a loop), `turn` counts the iterations around it. */
typedef void round_function(const struct place *p, struct draw *d, int turn);

extern round_function *const message_rounds[];
extern const int message_round_count;
extern round_function *const collective_rounds[];
extern const int collective_round_count;
extern round_function *const object_rounds[];
extern const int object_round_count;

#endif

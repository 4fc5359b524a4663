/* Three threads of each rank with a communicator and a loop of their own, at the same time; the main thread waits for them.
 *
 *     threads [steps] */
#include "strip.h"

enum { THREADS = 3, COLUMNS = 256, ROWS = 64 };

static MPI_Comm comms[THREADS];
static Strip field[THREADS];
static double first[THREADS], last[THREADS];
static int steps = 40;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER;
static int running;

/* Threads begin one after the other, so that their numbers are the same in each run. */
static void begin(int number)
{
    TRUTH_THREAD(number + 1);
    pthread_mutex_lock(&order);
    while (running < number)
        pthread_cond_wait(&begun, &order);
    pthread_mutex_unlock(&order);
    CALL(MPI_Barrier, comms[number]);
    pthread_mutex_lock(&order);
    running++;
    pthread_cond_broadcast(&begun);
    pthread_mutex_unlock(&order);
}

static void *exchanging(void *unused)
{
    begin(0);
    Strip *s = &field[0];
    MAIN_LOOP("exchanging");
    for (int step = 0; step < steps; step++) {
        TURN();
        CALL(MPI_Sendrecv, row(s, s->u, ROWS), COLUMNS, MPI_DOUBLE, above, UP, row(s, s->u, 0), COLUMNS, MPI_DOUBLE, below,
             UP, comms[0], MPI_STATUS_IGNORE);
        CALL(MPI_Sendrecv, row(s, s->u, 1), COLUMNS, MPI_DOUBLE, below, DOWN, row(s, s->u, ROWS + 1), COLUMNS, MPI_DOUBLE,
             above, DOWN, comms[0], MPI_STATUS_IGNORE);
        last[0] = sweep(s);
        if (first[0] == 0)
            first[0] = last[0];
    }
    LEAVE();
    return unused;
}

static void *summing(void *unused)
{
    begin(1);
    MAIN_LOOP("summing");
    for (int step = 0; step < steps; step++) {
        TURN();
        double own = sweep(&field[1]);
        CALL(MPI_Allreduce, &own, &last[1], 1, MPI_DOUBLE, MPI_SUM, comms[1]);
        if (first[1] == 0)
            first[1] = last[1];
    }
    LEAVE();
    CALL(MPI_Barrier, comms[1]);
    return unused;
}

static void *waiting(void *unused)
{
    begin(2);
    Strip *s = &field[2];
    MAIN_LOOP("waiting");
    for (int step = 0; step < steps; step++) {
        TURN();
        MPI_Request requests[2];
        CALL(MPI_Irecv, row(s, s->u, 0), COLUMNS, MPI_DOUBLE, below, UP, comms[2], &requests[0]);
        CALL(MPI_Isend, row(s, s->u, ROWS), COLUMNS, MPI_DOUBLE, above, UP, comms[2], &requests[1]);
        last[2] = sweep(s);
        CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
        if (step % 4 == 3)
            CALL(MPI_Bcast, s->f, 1, MPI_DOUBLE, 0, comms[2]);
        if (first[2] == 0)
            first[2] = last[2];
    }
    LEAVE();
    return unused;
}

int main(int argc, char **argv)
{
    int provided, good = 1;
    CALL(MPI_Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    TRUTH_THREAD(0);
    find_neighbours();
    if (provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (argc > 1)
        steps = atoi(argv[1]);
    LOOP("communicators");
    for (int t = 0; t < THREADS; t++) {
        TURN();
        CALL(MPI_Comm_dup, MPI_COMM_WORLD, &comms[t]);
        field[t] = new_strip(ROWS, COLUMNS);
        for (int i = 0; i < (ROWS + 2) * COLUMNS; i++)
            field[t].u[i] = i % 13;
    }
    LEAVE();
    void *(*bodies[THREADS])(void *) = {exchanging, summing, waiting};
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, bodies[t], NULL);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        good = good && last[t] < first[t];
    int code = verdict("threads", good);
    CALL(MPI_Finalize);
    return code;
}

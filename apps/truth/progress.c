/* A progress loop that polls for three things in turn until all messages of a step have come: the rows of the partner, its
 * token, its thanks. The even rank of a pair begins, and each message is sent when the one before it has come, so that what
 * succeeds does so in the same order in each step, however often the polls in between fail.
 *
 *     progress [steps] */
#include "strip.h"

enum { COLUMNS = 512, ROWS = 96, ROW = 1, TOKEN = 3, THANKS = 4 };

static Strip field;
static int partner;
static double token, thanks, polled;

static NOINLINE void send_rows(void)
{
    CALL(MPI_Send, row(&field, field.u, 1), COLUMNS, MPI_DOUBLE, partner, ROW, MPI_COMM_WORLD);
    CALL(MPI_Send, row(&field, field.u, ROWS), COLUMNS, MPI_DOUBLE, partner, ROW + 1, MPI_COMM_WORLD);
}

static NOINLINE void send_word(double word, int tag)
{
    CALL(MPI_Send, &word, 1, MPI_DOUBLE, partner, tag, MPI_COMM_WORLD);
}

/* Nothing is done twice in an execution of this loop: what can be seen of it is a sequence. */
static NOINLINE void progress(int step)
{
    MPI_Request rows[2], words[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int have_rows = 0, have_token = 0, have_thanks = 0, first = rank % 2 == 0;
    CALL(MPI_Irecv, row(&field, field.u, 0), COLUMNS, MPI_DOUBLE, partner, ROW, MPI_COMM_WORLD, &rows[0]);
    CALL(MPI_Irecv, row(&field, field.u, ROWS + 1), COLUMNS, MPI_DOUBLE, partner, ROW + 1, MPI_COMM_WORLD, &rows[1]);
    CALL(MPI_Irecv, &thanks, 1, MPI_DOUBLE, partner, THANKS, MPI_COMM_WORLD, &words[1]);
    if (first)
        send_rows();
    LOOP("polling");
    while (!have_rows || !have_token || !have_thanks) {
        TURN();
        double begin = MPI_Wtime();
        int found = 0, which;
        MPI_Status status;
        if (!have_rows) {
            MPI_Testall(2, rows, &found, MPI_STATUSES_IGNORE);
            if (found) {
                FOUND(MPI_Testall);
                have_rows = 1;
                if (first)
                    send_word(step, TOKEN);
                else
                    send_rows();
            }
        }
        if (!have_token) {
            MPI_Iprobe(partner, TOKEN, MPI_COMM_WORLD, &found, &status);
            if (found) {
                FOUND(MPI_Iprobe);
                CALL(MPI_Recv, &token, 1, MPI_DOUBLE, partner, TOKEN, MPI_COMM_WORLD, &status);
                have_token = 1;
                send_word(step, first ? THANKS : TOKEN);
            }
        }
        if (!have_thanks) {
            MPI_Testany(2, words, &which, &found, &status);
            if (found && which != MPI_UNDEFINED) {
                FOUND(MPI_Testany);
                have_thanks = 1;
                if (!first)
                    send_word(step, THANKS);
            }
        }
        polled += MPI_Wtime() - begin;
    }
    LEAVE();
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 60, good = ranks % 2 == 0;
    if (!good)
        MPI_Abort(MPI_COMM_WORLD, 2);
    partner = rank ^ 1;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    field = new_strip(ROWS, COLUMNS);
    for (int i = 0; i < (ROWS + 2) * COLUMNS; i++)
        field.u[i] = i % 7;
    double first = 0, last = 0;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        progress(step);
        good = good && (int)token == step && (int)thanks == step;
        last = sweep(&field);
        if (first == 0)
            first = last;
    }
    LEAVE();
    int code = verdict("progress", good && last < first && polled > 0);
    CALL(MPI_Finalize);
    return code;
}

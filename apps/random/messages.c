/* Rounds of point-to-point messages: every way to send, to receive, to probe, to wait and to poll. */
#include "random.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* A length in ints: mostly small, sometimes beyond the size that MPI sends at once. */
static int length(struct draw *d)
{
    static const int choices[] = {2, 2, 3, 16, 17, 100, 1000, 1000, 5000, MOST_INTS};
    return choices[pick(d, 10)];
}

/* Most tags are small and few; some count up with the loop around the round. */
static int some_tag(struct draw *d, int turn)
{
    int tag = 1 + pick(d, 50);
    return pick(d, 3) == 0 ? 1000 + tag + turn : tag;
}

/* Who a rank sends to and hears from when all shift by `by`: without wrapping, borders meet MPI_PROC_NULL. */
struct shift {
    int to, from;
};

static struct shift shift(const struct place *p, struct draw *d)
{
    int by = 1 + pick(d, 3), wraps = pick(d, 3) > 0;
    struct shift s = {p->rank + by, p->rank - by};
    if (wraps) {
        s.to = s.to % p->size;
        s.from = ((s.from % p->size) + p->size) % p->size;
    } else {
        if (s.to >= p->size)
            s.to = MPI_PROC_NULL;
        if (s.from < 0)
            s.from = MPI_PROC_NULL;
    }
    return s;
}

static void check_from(const struct place *p, const int *message, int ints, int from, int tag)
{
    if (from != MPI_PROC_NULL)
        check_message(message, ints, p->world_rank[from], tag);
}

static void check_status(const MPI_Status *status, int from, int tag)
{
    if (from == MPI_PROC_NULL)
        return;
    if (status->MPI_SOURCE != from)
        fail("source in the status", from, status->MPI_SOURCE);
    if (status->MPI_TAG != tag)
        fail("tag in the status", tag, status->MPI_TAG);
}

/* Receives are posted first, so any kind of send may follow. */
static void posted_shift(const struct place *p, struct draw *d, int turn)
{
    struct shift s = shift(p, d);
    int ints = length(d), tag = some_tag(d, turn), kind = pick(d, 5), ignore = pick(d, 2);
    int *out = new_message(p, tag, ints), *in = malloc((size_t)ints * sizeof(int));
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[2];
    MPI_Irecv(in, ints, MPI_INT, s.from, tag, p->comm, &request[0]);
    switch (kind) {
    case 0: MPI_Send(out, ints, MPI_INT, s.to, tag, p->comm); break;
    case 1: MPI_Ssend(out, ints, MPI_INT, s.to, tag, p->comm); break;
    case 2: MPI_Issend(out, ints, MPI_INT, s.to, tag, p->comm, &request[1]); break;
    case 3: /* a ready send needs to know that the receive is there */
        MPI_Barrier(p->comm);
        MPI_Rsend(out, ints, MPI_INT, s.to, tag, p->comm);
        break;
    default: MPI_Isend(out, ints, MPI_INT, s.to, tag, p->comm, &request[1]);
    }
    if (kind == 0) {
        MPI_Wait(&request[0], ignore ? MPI_STATUS_IGNORE : &status[0]);
        if (!ignore)
            check_status(&status[0], s.from, tag);
    } else {
        MPI_Waitall(2, request, ignore ? MPI_STATUSES_IGNORE : status);
        if (!ignore)
            check_status(&status[0], s.from, tag);
    }
    check_from(p, in, ints, s.from, tag);
    free(out);
    free(in);
}

static void combined_shift(const struct place *p, struct draw *d, int turn)
{
    struct shift s = shift(p, d);
    int ints = length(d), tag = some_tag(d, turn), replace = pick(d, 2), any = pick(d, 2);
    int *out = new_message(p, tag, ints), *in = malloc((size_t)ints * sizeof(int));
    MPI_Status status;
    if (replace) {
        MPI_Sendrecv_replace(out, ints, MPI_INT, s.to, tag, s.from, any ? MPI_ANY_TAG : tag, p->comm, &status);
        if (s.from != MPI_PROC_NULL)
            check_from(p, out, ints, s.from, tag);
    } else {
        MPI_Sendrecv(out, ints, MPI_INT, s.to, tag, in, ints, MPI_INT, s.from, tag, p->comm, &status);
        check_from(p, in, ints, s.from, tag);
    }
    check_status(&status, s.from, tag);
    /* With any tag, nothing of the next round may be there yet. */
    if (replace && any)
        MPI_Barrier(p->comm);
    free(out);
    free(in);
}

/* Neighbours in pairs: the lower speaks first. */
static void ping_pong(const struct place *p, struct draw *d, int turn)
{
    int ints = length(d), tag = some_tag(d, turn), times = 1 + pick(d, 4), partner = p->rank ^ 1;
    if (partner >= p->size)
        partner = MPI_PROC_NULL;
    int *out = new_message(p, tag, ints), *in = malloc((size_t)ints * sizeof(int));
    for (int i = 0; i < times; i++) {
        if (p->rank < partner)
            MPI_Send(out, ints, MPI_INT, partner, tag, p->comm);
        MPI_Recv(in, ints, MPI_INT, partner, tag, p->comm, MPI_STATUS_IGNORE);
        if (p->rank >= partner)
            MPI_Send(out, ints, MPI_INT, partner, tag, p->comm);
        check_from(p, in, ints, partner, tag);
    }
    free(out);
    free(in);
}

static void buffered(const struct place *p, struct draw *d, int turn)
{
    struct shift s = shift(p, d);
    int ints = 2 + pick(d, 100), tag = some_tag(d, turn), size = ints * (int)sizeof(int) + MPI_BSEND_OVERHEAD;
    if (p->threads > 1)
        return;
    int *out = new_message(p, tag, ints), *in = malloc((size_t)ints * sizeof(int));
    char *room = malloc((size_t)size);
    MPI_Buffer_attach(room, size);
    MPI_Bsend(out, ints, MPI_INT, s.to, tag, p->comm);
    MPI_Recv(in, ints, MPI_INT, s.from, tag, p->comm, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&room, &size);
    check_from(p, in, ints, s.from, tag);
    free(room);
    free(out);
    free(in);
}

/* Everyone sends one message to one rank, which takes them as they come, in one of many ways. */
static void wildcard_gather(const struct place *p, struct draw *d, int turn)
{
    int root = pick(d, p->size), ints = length(d), tag = some_tag(d, turn), way = pick(d, 7);
    int wanted = pick(d, 3) == 0 ? MPI_ANY_TAG : tag;
    if (p->rank != root) {
        int *out = new_message(p, tag, ints);
        MPI_Send(out, ints, MPI_INT, root, tag, p->comm);
        free(out);
    }
    for (int left = p->rank == root ? p->size - 1 : 0; left > 0; left--) {
        int *in = malloc((size_t)ints * sizeof(int)), flag = 0, found = 0;
        MPI_Status status;
        MPI_Message message;
        switch (way) {
        case 0:
            MPI_Recv(in, ints, MPI_INT, MPI_ANY_SOURCE, wanted, p->comm, &status);
            break;
        case 1:
            MPI_Recv(in, ints, MPI_INT, MPI_ANY_SOURCE, wanted, p->comm, MPI_STATUS_IGNORE);
            tell_logger(in[0], in[1]);
            break;
        case 2:
            MPI_Probe(MPI_ANY_SOURCE, wanted, p->comm, &status);
            MPI_Get_count(&status, MPI_INT, &found);
            MPI_Recv(in, found, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, p->comm, &status);
            break;
        case 3:
            while (!flag) {
                MPI_Iprobe(MPI_ANY_SOURCE, wanted, p->comm, &flag, &status);
                if (!flag)
                    sched_yield();
            }
            MPI_Recv(in, ints, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, p->comm, MPI_STATUS_IGNORE);
            break;
        case 4:
            MPI_Mprobe(MPI_ANY_SOURCE, wanted, p->comm, &message, &status);
            MPI_Mrecv(in, ints, MPI_INT, &message, &status);
            break;
        case 5:
            while (!flag) {
                MPI_Improbe(MPI_ANY_SOURCE, wanted, p->comm, &flag, &message, &status);
                if (!flag)
                    sched_yield();
            }
            MPI_Mrecv(in, ints, MPI_INT, &message, MPI_STATUS_IGNORE);
            break;
        default: {
            MPI_Request request;
            MPI_Irecv(in, ints, MPI_INT, MPI_ANY_SOURCE, wanted, p->comm, &request);
            MPI_Wait(&request, &status);
        }
        }
        check_message(in, ints, in[0], tag);
        if (way != 1 && way != 3 && way != 5 && p->world_rank[status.MPI_SOURCE] != in[0])
            fail("source in the status", in[0], p->world_rank[status.MPI_SOURCE]);
        free(in);
    }
    /* Nobody may send for a later round before the last message of this one has been taken. */
    if (pick(d, 2)) {
        MPI_Barrier(p->comm);
    } else if (p->rank == root) {
        for (int r = 0; r < p->size; r++)
            if (r != root)
                MPI_Send(NULL, 0, MPI_INT, r, tag, p->comm);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, root, tag, p->comm, MPI_STATUS_IGNORE);
    }
}

/* Completes `count` requests in one of the ways there are; receives are the first half. */
static void complete(int count, MPI_Request *request, int way)
{
    MPI_Status *status = calloc((size_t)count, sizeof *status), one;
    int *indices = calloc((size_t)count, sizeof *indices), flag = 0, index = 0, done = 0, turns = 0;
    switch (way) {
    case 0: MPI_Waitall(count, request, status); break;
    case 1:
        for (int i = count - 1; i >= 0; i--)
            MPI_Wait(&request[i], i % 2 ? &one : MPI_STATUS_IGNORE);
        break;
    case 2:
        for (int i = 0; i < count; i++)
            MPI_Waitany(count, request, &index, &one);
        break;
    case 3:
        while (done < count) {
            MPI_Waitsome(count, request, &index, indices, status);
            done += index;
        }
        break;
    case 4:
        for (int i = 0; i < count; i++)
            for (flag = 0; !flag;) {
                MPI_Test(&request[i], &flag, i % 2 ? &one : MPI_STATUS_IGNORE);
                if (!flag)
                    sched_yield();
            }
        break;
    case 5:
        while (!flag) {
            MPI_Testall(count, request, &flag, status);
            if (!flag)
                sched_yield();
        }
        break;
    case 6:
        while (done < count) {
            MPI_Testany(count, request, &index, &flag, &one);
            if (flag)
                done++;
            else
                sched_yield();
        }
        break;
    case 7:
        while (done < count) {
            MPI_Testsome(count, request, &index, indices, status);
            done += index;
            if (index == 0)
                sched_yield();
        }
        break;
    default: /* two places poll in turn, then both give up and wait */
        for (; turns < 3 && !flag; turns++) {
            MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE);
            MPI_Testall(count, request, &flag, MPI_STATUSES_IGNORE);
        }
        MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < count; i++)
        if (request[i] != MPI_REQUEST_NULL)
            fail("number of requests that are still there", 0, i + 1);
    free(status);
    free(indices);
}

/* Several messages each way at once, some of them taken from anyone. */
static void many_requests(const struct place *p, struct draw *d, int turn)
{
    int pairs = 1 + pick(d, 5), ints = length(d), tag = some_tag(d, turn), way = pick(d, 9), any = pick(d, 3) == 0;
    int by = 1 + pick(d, 3), to = (p->rank + by) % p->size, from = (p->rank - by % p->size + p->size) % p->size;
    MPI_Request *request = calloc((size_t)(2 * pairs), sizeof *request);
    int **buffer = calloc((size_t)(2 * pairs), sizeof *buffer);
    for (int i = 0; i < pairs; i++) {
        buffer[i] = malloc((size_t)ints * sizeof(int));
        MPI_Irecv(buffer[i], ints, MPI_INT, any ? MPI_ANY_SOURCE : from, tag + i, p->comm, &request[i]);
    }
    for (int i = 0; i < pairs; i++) {
        buffer[pairs + i] = new_message(p, tag + i, ints);
        if (pick(d, 2))
            MPI_Isend(buffer[pairs + i], ints, MPI_INT, to, tag + i, p->comm, &request[pairs + i]);
        else
            MPI_Issend(buffer[pairs + i], ints, MPI_INT, to, tag + i, p->comm, &request[pairs + i]);
    }
    complete(2 * pairs, request, way);
    for (int i = 0; i < pairs; i++)
        check_message(buffer[i], ints, p->world_rank[from], tag + i);
    /* A wildcard must not catch a message of the next round that has the same tag. */
    if (any)
        MPI_Barrier(p->comm);
    for (int i = 0; i < 2 * pairs; i++)
        free(buffer[i]);
    free(buffer);
    free(request);
}

/* One receive of a long list: what it is to bring, and where. */
static void post(const struct place *p, int from, int tag, int copied, int *in, MPI_Request *request)
{
    MPI_Request one;
    MPI_Irecv(in, 3, MPI_INT, from, tag, p->comm, copied ? &one : request);
    if (copied)
        *request = one;
}

/* A long list of requests, of which calls complete one or some at a time, in an order of the sender's. */
static void long_lists(const struct place *p, struct draw *d, int turn)
{
    enum { MOST = 48 };
    int count = 8 + pick(d, MOST / 2 - 8), again = pick(d, count), way = pick(d, 7), any = pick(d, 3) == 0;
    int by = 1 + pick(d, 3), to = (p->rank + by) % p->size, from = (p->rank - by % p->size + p->size) % p->size;
    int tag = 2000 + turn % 100, all = count, left = count, done = 0, indices[MOST], in[MOST][3], order[MOST];
    MPI_Request request[MOST];
    MPI_Status status[MOST];
    if (way == 5)
        all += again;
    for (int i = 0; i < all; i++)
        order[i] = i;
    for (int i = all - 1; i > 0; i--) {
        int other = pick(d, i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int i = 0; i < count; i++)
        post(p, any ? MPI_ANY_SOURCE : from, tag + i, pick(d, 4) == 0, in[i], &request[i]);
    for (int i = 0; i < all; i++) {
        int *out = new_message(p, tag + order[i], 3);
        MPI_Send(out, 3, MPI_INT, to, tag + order[i], p->comm);
        free(out);
    }
    while (done < all) {
        int number = 1, index = 0, flag = 1;
        switch (way) {
        case 0: MPI_Waitany(count, request, &index, &status[0]); break;
        case 1: MPI_Waitsome(count, request, &number, indices, status); break;
        case 2: MPI_Testsome(count, request, &number, indices, status); break;
        case 3: MPI_Testany(count, request, &index, &flag, &status[0]); break;
        case 4: /* what is complete leaves the list */
            MPI_Waitany(left, request, &index, &status[0]);
            left--;
            request[index] = request[left];
            break;
        case 5: /* another receive takes its place */
            MPI_Waitany(count, request, &index, &status[0]);
            if (done < again)
                post(p, any ? MPI_ANY_SOURCE : from, tag + count + done, done % 3 == 0, in[count + done], &request[index]);
            break;
        default: /* two lists in turn, and a single one from time to time */
            index = done % 5 == 4 ? done / 5 : -1;
            if (index >= 0 && request[index] != MPI_REQUEST_NULL) {
                MPI_Wait(&request[index], &status[0]);
            } else {
                int half = count / 2, second = done % 2;
                MPI_Waitany(second ? count - half : half, request + (second ? half : 0), &index, &status[0]);
                if (index == MPI_UNDEFINED) {
                    second = !second;
                    MPI_Waitany(second ? count - half : half, request + (second ? half : 0), &index, &status[0]);
                }
            }
        }
        done += way == 1 || way == 2 ? number : flag;
        if (!flag || !number)
            sched_yield();
    }
    for (int i = 0; i < all; i++)
        check_message(in[i], 3, p->world_rank[from], tag + i);
    if (any)
        MPI_Barrier(p->comm);
}

static void persistent(const struct place *p, struct draw *d, int turn)
{
    struct shift s = shift(p, d);
    int ints = length(d), tag = some_tag(d, turn), times = 1 + pick(d, 8), together = pick(d, 2), way = pick(d, 4);
    int *out = new_message(p, tag, ints), *in = malloc((size_t)ints * sizeof(int)), flag, index, indices[2];
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_Recv_init(in, ints, MPI_INT, s.from, tag, p->comm, &request[0]);
    if (pick(d, 2))
        MPI_Send_init(out, ints, MPI_INT, s.to, tag, p->comm, &request[1]);
    else
        MPI_Ssend_init(out, ints, MPI_INT, s.to, tag, p->comm, &request[1]);
    for (int i = 0; i < times; i++) {
        memset(in, 0, (size_t)ints * sizeof(int));
        if (together) {
            MPI_Startall(2, request);
        } else {
            MPI_Start(&request[0]);
            MPI_Start(&request[1]);
        }
        switch (way) {
        case 0: MPI_Waitall(2, request, status); break;
        case 1:
            MPI_Wait(&request[0], &status[0]);
            MPI_Wait(&request[1], MPI_STATUS_IGNORE);
            break;
        case 2:
            /* Nothing is active any more: MPI_UNDEFINED. To and from nobody, that may be so at once. */
            for (int done = 0; done < 2 && done >= 0; done += index)
                MPI_Waitsome(2, request, &index, indices, status);
            break;
        default:
            for (flag = 0; !flag;) {
                MPI_Testall(2, request, &flag, status);
                if (!flag)
                    sched_yield();
            }
        }
        check_from(p, in, ints, s.from, tag);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    free(out);
    free(in);
}

/* A send that nobody waits for, and a receive that never comes. */
static void dropped(const struct place *p, struct draw *d, int turn)
{
    int ints = 2 + pick(d, 20), tag = some_tag(d, turn);
    int to = (p->rank + 1) % p->size, from = (p->rank + p->size - 1) % p->size, never;
    int *out = new_message(p, tag, ints), *in = malloc((size_t)ints * sizeof(int));
    MPI_Request request, pending;
    MPI_Status status;
    MPI_Irecv(&never, 1, MPI_INT, from, 32000, p->comm, &pending);
    MPI_Isend(out, ints, MPI_INT, to, tag, p->comm, &request);
    MPI_Request_free(&request);
    MPI_Recv(in, ints, MPI_INT, from, tag, p->comm, &status);
    check_from(p, in, ints, from, tag);
    MPI_Cancel(&pending);
    MPI_Wait(&pending, &status);
    /* Everyone has received, so the buffer is free again. */
    MPI_Barrier(p->comm);
    free(out);
    free(in);
}

round_function *const message_rounds[] = {
    posted_shift, posted_shift,    combined_shift, ping_pong,  buffered, wildcard_gather, wildcard_gather,
    many_requests, many_requests, many_requests,  persistent, dropped,   long_lists,
};
const int message_round_count = sizeof message_rounds / sizeof *message_rounds;

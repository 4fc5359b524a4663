/* Wrappers of point-to-point calls and of everything that completes requests. */
#include "call.h"

#include <stddef.h>

static void message(int count, MPI_Datatype datatype, const char *peer_key, int peer, int tag, MPI_Comm comm)
{
    log_int("count", count);
    log_type("datatype", datatype);
    log_peer(peer_key, peer, comm);
    log_tag("tag", tag);
    log_comm("comm", comm);
}

#define SEND(name)                                                                                          \
    int name(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)           \
    {                                                                                                       \
        CALL(name, buf, count, datatype, dest, tag, comm)                                                   \
        message(count, datatype, "dest", dest, tag, comm);                                                  \
        DONE                                                                                                \
    }
SEND(MPI_Send) SEND(MPI_Ssend) SEND(MPI_Bsend) SEND(MPI_Rsend)

/* Started at once, or prepared for later: the arguments are the same. */
#define SEND_REQUEST(name)                                                                                  \
    int name(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,           \
             MPI_Request *request)                                                                          \
    {                                                                                                       \
        CALL(name, buf, count, datatype, dest, tag, comm, request)                                          \
        message(count, datatype, "dest", dest, tag, comm);                                                  \
        log_new_request(*request, LOG_OTHER, comm);                                                         \
        DONE                                                                                                \
    }
SEND_REQUEST(MPI_Isend) SEND_REQUEST(MPI_Issend) SEND_REQUEST(MPI_Ibsend) SEND_REQUEST(MPI_Irsend)
SEND_REQUEST(MPI_Send_init) SEND_REQUEST(MPI_Ssend_init) SEND_REQUEST(MPI_Bsend_init) SEND_REQUEST(MPI_Rsend_init)

#define RECEIVE_REQUEST(name)                                                                               \
    int name(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,               \
             MPI_Request *request)                                                                          \
    {                                                                                                       \
        CALL(name, buf, count, datatype, source, tag, comm, request)                                        \
        message(count, datatype, "source", source, tag, comm);                                              \
        log_new_request(*request, LOG_RECEIVE, comm);                                                       \
        DONE                                                                                                \
    }
RECEIVE_REQUEST(MPI_Irecv) RECEIVE_REQUEST(MPI_Recv_init)

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    CALL(MPI_Recv, buf, count, datatype, source, tag, comm, status)
    message(count, datatype, "source", source, tag, comm);
    log_status(status, comm);
    DONE
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                 int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    CALL(MPI_Sendrecv, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
         comm, status)
    log_int("sendcount", sendcount);
    log_type("sendtype", sendtype);
    log_peer("dest", dest, comm);
    log_tag("sendtag", sendtag);
    log_int("recvcount", recvcount);
    log_type("recvtype", recvtype);
    log_peer("source", source, comm);
    log_tag("recvtag", recvtag);
    log_comm("comm", comm);
    log_status(status, comm);
    DONE
}

int MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                         MPI_Comm comm, MPI_Status *status)
{
    CALL(MPI_Sendrecv_replace, buf, count, datatype, dest, sendtag, source, recvtag, comm, status)
    log_int("count", count);
    log_type("datatype", datatype);
    log_peer("dest", dest, comm);
    log_tag("sendtag", sendtag);
    log_peer("source", source, comm);
    log_tag("recvtag", recvtag);
    log_comm("comm", comm);
    log_status(status, comm);
    DONE
}

static void probe(int source, int tag, MPI_Comm comm)
{
    log_peer("source", source, comm);
    log_tag("tag", tag);
    log_comm("comm", comm);
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    CALL(MPI_Probe, source, tag, comm, status)
    probe(source, tag, comm);
    log_status(status, comm);
    DONE
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    CALL(MPI_Iprobe, source, tag, comm, flag, status)
    probe(source, tag, comm);
    log_int("flag", *flag != 0);
    if (*flag)
        log_status(status, comm);
    DONE
}

/* A matched message remembers the communicator only inside MPI: its receive reports a rank nobody can place, unless
 * the probe that found it is remembered. Few are open at a time. */
static __thread struct {
    MPI_Message message;
    MPI_Comm comm;
} matched[16];
static __thread int next_matched;

static void remember(MPI_Message message, MPI_Comm comm)
{
    matched[next_matched].message = message;
    matched[next_matched].comm = comm;
    next_matched = (next_matched + 1) % 16;
}

static MPI_Comm recall(MPI_Message message)
{
    for (int i = 1; i <= 16; i++) {
        int at = (next_matched + 16 - i) % 16;
        if (matched[at].message == message && matched[at].comm)
            return matched[at].comm;
    }
    return MPI_COMM_NULL;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *found, MPI_Status *status)
{
    CALL(MPI_Mprobe, source, tag, comm, found, status)
    probe(source, tag, comm);
    log_status(status, comm);
    remember(*found, comm);
    DONE
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *found, MPI_Status *status)
{
    CALL(MPI_Improbe, source, tag, comm, flag, found, status)
    probe(source, tag, comm);
    log_int("flag", *flag != 0);
    if (*flag) {
        log_status(status, comm);
        remember(*found, comm);
    }
    DONE
}

int MPI_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *found, MPI_Status *status)
{
    MPI_Comm comm = recall(*found);
    CALL(MPI_Mrecv, buf, count, datatype, found, status)
    log_int("count", count);
    log_type("datatype", datatype);
    log_status(status, comm);
    DONE
}

int MPI_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *found, MPI_Request *request)
{
    MPI_Comm comm = recall(*found);
    CALL(MPI_Imrecv, buf, count, datatype, found, request)
    log_int("count", count);
    log_type("datatype", datatype);
    log_new_request(*request, LOG_RECEIVE, comm);
    DONE
}

/* Requests: started, completed, dropped. */

int MPI_Start(MPI_Request *request)
{
    struct log_waited *waited = log_waited(1, request);
    CALL(MPI_Start, request)
    log_waited_one(waited);
    log_waited_free(waited);
    DONE
}

int MPI_Startall(int count, MPI_Request requests[])
{
    struct log_waited *waited = log_waited(count, requests);
    CALL(MPI_Startall, count, requests)
    log_int("count", count);
    log_waited_list(waited);
    log_waited_free(waited);
    DONE
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct log_waited *waited = log_waited(1, request);
    CALL(MPI_Wait, request, status)
    log_waited_one(waited);
    log_waited_status(waited, 0, status);
    log_waited_after(waited, 0, *request);
    log_waited_free(waited);
    DONE
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct log_waited *waited = log_waited(1, request);
    CALL(MPI_Test, request, flag, status)
    log_waited_one(waited);
    log_int("flag", *flag != 0);
    if (*flag)
        log_waited_status(waited, 0, status);
    log_waited_after(waited, 0, *request);
    log_waited_free(waited);
    DONE
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    struct log_waited *waited = log_waited(count, requests);
    CALL(MPI_Waitall, count, requests, statuses)
    log_int("count", count);
    log_waited_list(waited);
    log_waited_statuses(waited, count, NULL, statuses);
    log_waited_all_after(waited, requests);
    log_waited_free(waited);
    DONE
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct log_waited *waited = log_waited(count, requests);
    CALL(MPI_Testall, count, requests, flag, statuses)
    log_int("count", count);
    log_waited_list(waited);
    log_int("flag", *flag != 0);
    if (*flag)
        log_waited_statuses(waited, count, NULL, statuses);
    log_waited_all_after(waited, requests);
    log_waited_free(waited);
    DONE
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    struct log_waited *waited = log_waited(count, requests);
    CALL(MPI_Waitany, count, requests, index, status)
    log_int("count", count);
    log_waited_list(waited);
    log_index("index", *index);
    if (*index != MPI_UNDEFINED)
        log_waited_status(waited, *index, status);
    log_waited_all_after(waited, requests);
    log_waited_free(waited);
    DONE
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    struct log_waited *waited = log_waited(count, requests);
    CALL(MPI_Testany, count, requests, index, flag, status)
    log_int("count", count);
    log_waited_list(waited);
    log_int("flag", *flag != 0);
    if (*flag) {
        log_index("index", *index);
        if (*index != MPI_UNDEFINED)
            log_waited_status(waited, *index, status);
    }
    log_waited_all_after(waited, requests);
    log_waited_free(waited);
    DONE
}

static void some(struct log_waited *waited, int count, const MPI_Request *requests, int outcount, const int *indices,
                 const MPI_Status *statuses)
{
    log_int("incount", count);
    log_waited_list(waited);
    log_index("outcount", outcount);
    if (outcount > 0) {
        log_ints("array_of_indices", indices, outcount);
        log_waited_statuses(waited, outcount, indices, statuses);
    }
    log_waited_all_after(waited, requests);
    log_waited_free(waited);
}

int MPI_Waitsome(int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
    struct log_waited *waited = log_waited(incount, requests);
    CALL(MPI_Waitsome, incount, requests, outcount, indices, statuses)
    some(waited, incount, requests, *outcount, indices, statuses);
    DONE
}

int MPI_Testsome(int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
    struct log_waited *waited = log_waited(incount, requests);
    CALL(MPI_Testsome, incount, requests, outcount, indices, statuses)
    some(waited, incount, requests, *outcount, indices, statuses);
    DONE
}

int MPI_Request_free(MPI_Request *request)
{
    struct log_waited *waited = log_waited(1, request);
    CALL(MPI_Request_free, request)
    log_waited_one(waited);
    log_waited_after(waited, 0, *request);
    log_waited_free(waited);
    DONE
}

int MPI_Cancel(MPI_Request *request)
{
    struct log_waited *waited = log_waited(1, request);
    CALL(MPI_Cancel, request)
    log_waited_one(waited);
    log_waited_free(waited);
    DONE
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct log_waited *waited = log_waited(1, &request);
    CALL(MPI_Request_get_status, request, flag, status)
    log_waited_one(waited);
    log_int("flag", *flag != 0);
    if (*flag)
        log_waited_status(waited, 0, status);
    log_waited_free(waited);
    DONE
}

/* Lines, files and the names of handles; see log.h for the format. */
#define _GNU_SOURCE
#include "log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__thread int log_inside;

/* The line of this thread. It stays until the next one begins, so that a repeated poll can be counted on it and
 * logger_note can add to it. */
static __thread struct {
    FILE *file;
    char *text;
    size_t length, room;
    char *previous;
    long times;
    int began, refused;
} line;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int opened, fold, threads, world_rank;
static char prefix[64];
static const char *folder;
static FILE *files[1024];

void *log_next(const char *symbol)
{
    void *next = dlsym(RTLD_NEXT, symbol);
    if (!next) {
        fprintf(stderr, "logger: no %s behind this library\n", symbol);
        abort();
    }
    return next;
}

/* Called when MPI_Init has returned: only now is the rank known. */
void log_open_files(void)
{
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_get_parent(&parent);
    folder = getenv("LOGGER_DIR");
    fold = getenv("LOGGER_FOLD") != NULL;
    snprintf(prefix, sizeof prefix, "%s-%d", parent == MPI_COMM_NULL ? "rank" : "spawned", world_rank);
    if (!folder)
        fprintf(stderr, "logger: LOGGER_DIR is not set, nothing is written\n");
    opened = 1;
}

static FILE *file_of_this_thread(void)
{
    if (line.file || line.refused || !opened || !folder)
        return line.file;
    pthread_mutex_lock(&lock);
    int thread = threads++;
    pthread_mutex_unlock(&lock);
    char path[4096];
    if (thread == 0)
        snprintf(path, sizeof path, "%s/%s.log", folder, prefix);
    else
        snprintf(path, sizeof path, "%s/%s.t%d.log", folder, prefix, thread);
    line.file = thread < 1024 ? fopen(path, "w") : NULL;
    if (line.file) {
        files[thread] = line.file;
    } else {
        line.refused = 1;
        fprintf(stderr, "logger: cannot write %s\n", path);
    }
    return line.file;
}

static void flush_line(void)
{
    if (!line.previous)
        return;
    FILE *file = file_of_this_thread();
    if (file) {
        if (line.times > 1)
            fprintf(file, "%s times=%ld\n", line.previous, line.times);
        else
            fprintf(file, "%s\n", line.previous);
    }
    free(line.previous);
    line.previous = NULL;
}

static void add(const char *format, ...)
{
    va_list list;
    for (;;) {
        size_t left = line.room - line.length;
        va_start(list, format);
        int need = vsnprintf(line.text ? line.text + line.length : NULL, line.text ? left : 0, format, list);
        va_end(list);
        if (line.text && (size_t)need < left) {
            line.length += (size_t)need;
            return;
        }
        line.room = 2 * (line.room + (size_t)need + 128);
        line.text = realloc(line.text, line.room);
    }
}

void log_begin(const char *call)
{
    line.length = 0;
    line.began = 1;
    add("%s", call);
}

int log_end(int error)
{
    if (error != MPI_SUCCESS)
        log_int("error", error);
    line.began = 0;
    int poll = strstr(line.text, " flag=0") || strstr(line.text, " outcount=0");
    if (fold && poll && line.previous && strcmp(line.previous, line.text) == 0) {
        line.times++;
        return error;
    }
    flush_line();
    line.previous = strdup(line.text);
    line.times = 1;
    return error;
}

/* For programs that know more than MPI told them, such as who sent what was received with the status ignored:
 * adds text to the line of this thread's last call. Declare it weak and call it if it is there. */
void logger_note(const char *text);
void logger_note(const char *text)
{
    if (!line.previous)
        return;
    char *longer = NULL;
    if (asprintf(&longer, "%s %s", line.previous, text) < 0)
        return;
    free(line.previous);
    line.previous = longer;
}

/* Before MPI_Finalize or MPI_Abort. Other threads must have ended; their last lines are written by their destructor,
 * so here only the files are closed. */
void log_close_files(void)
{
    flush_line();
    for (int thread = 0; thread < 1024 && files[thread]; thread++)
        fflush(files[thread]);
}

/* A thread that ends writes its last line. */
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void thread_ends(void *unused)
{
    (void)unused;
    flush_line();
    if (line.file)
        fflush(line.file);
    free(line.text);
    line.text = NULL;
    line.room = line.length = 0;
}

static void make_key(void)
{
    pthread_key_create(&at_thread_end, thread_ends);
}

void log_word(const char *key, const char *word)
{
    pthread_once(&once, make_key);
    pthread_setspecific(at_thread_end, &line);
    add(" %s=%s", key, word);
}

void log_int(const char *key, long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    log_word(key, text);
}

void log_ints(const char *key, const int *values, int count)
{
    log_word(key, "[");
    for (int i = 0; i < count; i++)
        add(i ? ",%d" : "%d", values[i]);
    add("]");
}

void log_tag(const char *key, int tag)
{
    if (tag == MPI_ANY_TAG)
        log_word(key, "MPI_ANY_TAG");
    else
        log_int(key, tag);
}

void log_index(const char *key, int index)
{
    if (index == MPI_UNDEFINED)
        log_word(key, "MPI_UNDEFINED");
    else
        log_int(key, index);
}

/* Datatypes and operations. */

static void add_type(MPI_Datatype type)
{
    int integers, addresses, types, combiner = MPI_COMBINER_NAMED, length = 0, size = 0;
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    if (type == MPI_DATATYPE_NULL) {
        add("MPI_DATATYPE_NULL");
        return;
    }
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner == MPI_COMBINER_NAMED) {
        PMPI_Type_get_name(type, name, &length);
        add("%s", name);
    } else {
        PMPI_Type_size(type, &size);
        add("derived:%d", size);
    }
}

void log_type(const char *key, MPI_Datatype type)
{
    log_word(key, "");
    add_type(type);
}

void log_types(const char *key, const MPI_Datatype *types, int count)
{
    log_word(key, "[");
    for (int i = 0; i < count; i++) {
        if (i)
            add(",");
        add_type(types[i]);
    }
    add("]");
}

void log_op(MPI_Op op)
{
#define NAME(o)                \
    if (op == o) {             \
        log_word("op", #o);    \
        return;                \
    }
    NAME(MPI_SUM) NAME(MPI_MAX) NAME(MPI_MIN) NAME(MPI_PROD) NAME(MPI_LAND) NAME(MPI_BAND) NAME(MPI_LOR)
    NAME(MPI_BOR) NAME(MPI_LXOR) NAME(MPI_BXOR) NAME(MPI_MAXLOC) NAME(MPI_MINLOC) NAME(MPI_REPLACE) NAME(MPI_NO_OP)
#undef NAME
    log_word("op", "user");
}

/* Communicators: a label for each, and the world ranks of its members (the remote ones of an intercommunicator). */

static struct comm {
    MPI_Comm handle;
    char label[16];
    int *world;
    int size, translated;
} *comms;
static int comm_count, comm_room, comms_named;

static struct comm *find_comm(MPI_Comm handle)
{
    for (int i = comm_count - 1; i >= 0; i--)
        if (comms[i].handle == handle)
            return &comms[i];
    if (comm_count == comm_room)
        comms = realloc(comms, (size_t)(comm_room = 2 * comm_room + 16) * sizeof *comms);
    struct comm *comm = &comms[comm_count++];
    memset(comm, 0, sizeof *comm);
    comm->handle = handle;
    if (handle == MPI_COMM_WORLD)
        strcpy(comm->label, "world");
    else if (handle == MPI_COMM_SELF)
        strcpy(comm->label, "self");
    else
        snprintf(comm->label, sizeof comm->label, "c%d", comms_named++);
    return comm;
}

static void forget_comm(MPI_Comm handle)
{
    for (int i = 0; i < comm_count; i++)
        if (comms[i].handle == handle) {
            free(comms[i].world);
            comms[i] = comms[--comm_count];
            return;
        }
}

static void translate_group(MPI_Group group, int **world, int *size)
{
    MPI_Group all;
    PMPI_Group_size(group, size);
    int *local = calloc((size_t)*size + 1, sizeof(int));
    *world = calloc((size_t)*size + 1, sizeof(int));
    for (int i = 0; i < *size; i++)
        local[i] = i;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Group_translate_ranks(group, *size, local, all, *world);
    PMPI_Group_free(&all);
    free(local);
}

static void translate_comm(struct comm *comm)
{
    MPI_Group group;
    int remote = 0;
    if (comm->translated)
        return;
    comm->translated = 1;
    PMPI_Comm_test_inter(comm->handle, &remote);
    if (remote)
        PMPI_Comm_remote_group(comm->handle, &group);
    else
        PMPI_Comm_group(comm->handle, &group);
    translate_group(group, &comm->world, &comm->size);
    PMPI_Group_free(&group);
}

void log_comm(const char *key, MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        log_word(key, "MPI_COMM_NULL");
        return;
    }
    pthread_mutex_lock(&lock);
    log_word(key, find_comm(comm)->label);
    pthread_mutex_unlock(&lock);
}

void log_new_comm(const char *key, MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL)
        log_forget_comm(comm); /* the handle of one that is gone, used again */
    log_comm(key, comm);
}

void log_forget_comm(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    forget_comm(comm);
    pthread_mutex_unlock(&lock);
}

static void add_rank(int rank, const int *world, int size)
{
    if (rank == MPI_PROC_NULL)
        add("MPI_PROC_NULL");
    else if (rank == MPI_ANY_SOURCE)
        add("MPI_ANY_SOURCE");
    else if (rank == MPI_ROOT)
        add("MPI_ROOT");
    else if (rank < 0 || rank >= size || world[rank] == MPI_UNDEFINED)
        add("?%d", rank);
    else
        add("%d", world[rank]);
}

static void add_peer(int rank, MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        add("?%d", rank);
        return;
    }
    pthread_mutex_lock(&lock);
    struct comm *found = find_comm(comm);
    translate_comm(found);
    add_rank(rank, found->world, found->size);
    pthread_mutex_unlock(&lock);
}

void log_peer(const char *key, int rank, MPI_Comm comm)
{
    log_word(key, "");
    add_peer(rank, comm);
}

void log_root(int root, MPI_Comm comm)
{
    log_peer("root", root, comm);
    log_int("root.local", root);
}

void log_win_peer(const char *key, int rank, MPI_Win win)
{
    MPI_Group group;
    int *world, size;
    PMPI_Win_get_group(win, &group);
    translate_group(group, &world, &size);
    PMPI_Group_free(&group);
    log_word(key, "");
    add_rank(rank, world, size);
    free(world);
}

void log_status(const MPI_Status *status, MPI_Comm comm)
{
    int cancelled = 0;
    if (status == MPI_STATUS_IGNORE)
        return;
    PMPI_Test_cancelled(status, &cancelled);
    if (cancelled)
        return;
    log_peer("status.source", status->MPI_SOURCE, comm);
    log_tag("status.tag", status->MPI_TAG);
}

/* Requests: for each handle that is alive, the numbers of the requests that may hide behind it. MPI may give one
 * handle to many (sends that are complete at once): all of them are kept until as many have completed as were made. */

static struct request {
    MPI_Request handle;
    struct made {
        long number;
        const void *thread;
    } *made;
    int count, room, alive;
    enum log_kind kind;
    MPI_Comm comm;
} *requests;
static int request_count, request_room;
/* By this thread; where it lies tells threads apart. */
static __thread long requests_made;

static struct request *find_request(MPI_Request handle)
{
    for (int i = request_count - 1; i >= 0; i--)
        if (requests[i].handle == handle)
            return &requests[i];
    return NULL;
}

void log_new_request(MPI_Request handle, enum log_kind kind, MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    struct request *request = find_request(handle);
    if (!request) {
        if (request_count == request_room)
            requests = realloc(requests, (size_t)(request_room = 2 * request_room + 64) * sizeof *requests);
        request = &requests[request_count++];
        memset(request, 0, sizeof *request);
        request->handle = handle;
        request->kind = kind;
    }
    if (request->kind != kind)
        request->kind = LOG_MIXED;
    if (kind == LOG_RECEIVE || request->count == 0)
        request->comm = comm;
    if (request->count == request->room)
        request->made = realloc(request->made, (size_t)(request->room = 2 * request->room + 2) * sizeof *request->made);
    request->made[request->count++] = (struct made){requests_made, &requests_made};
    request->alive++;
    char text[32];
    snprintf(text, sizeof text, "r%ld", requests_made++);
    log_word("request", text);
    pthread_mutex_unlock(&lock);
}

struct log_waited {
    int count;
    char *text;
    size_t length;
    struct {
        MPI_Request handle;
        MPI_Comm comm;
        enum log_kind kind;
    } each[];
};

struct log_waited *log_waited(int count, const MPI_Request *handles)
{
    if (log_inside)
        return NULL;
    struct log_waited *waited = calloc(1, sizeof *waited + (size_t)count * sizeof waited->each[0]);
    FILE *text = open_memstream(&waited->text, &waited->length);
    waited->count = count;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++) {
        struct request *request = find_request(handles[i]);
        waited->each[i].handle = handles[i];
        waited->each[i].kind = request ? request->kind : LOG_UNKNOWN;
        waited->each[i].comm = request ? request->comm : MPI_COMM_NULL;
        if (i)
            fputc(',', text);
        if (handles[i] == MPI_REQUEST_NULL) {
            waited->each[i].kind = LOG_OTHER;
            fputs("MPI_REQUEST_NULL", text);
        } else if (!request) {
            fputs("r?", text);
        } else {
            for (int n = 0; n < request->count; n++) {
                if (n)
                    fputc('|', text);
                if (request->made[n].thread == &requests_made)
                    fprintf(text, "r%ld", request->made[n].number);
                else
                    fputs("r?", text);
            }
        }
    }
    pthread_mutex_unlock(&lock);
    fclose(text);
    return waited;
}

void log_waited_one(const struct log_waited *waited)
{
    log_word("request", waited->text);
}

void log_waited_list(const struct log_waited *waited)
{
    log_word("array_of_requests", "[");
    add("%s]", waited->text);
}

void log_waited_after(struct log_waited *waited, int index, MPI_Request after)
{
    MPI_Request before = waited->each[index].handle;
    if (before == MPI_REQUEST_NULL || after != MPI_REQUEST_NULL)
        return;
    pthread_mutex_lock(&lock);
    struct request *request = find_request(before);
    if (request && --request->alive == 0) {
        free(request->made);
        *request = requests[--request_count];
    }
    pthread_mutex_unlock(&lock);
}

void log_waited_all_after(struct log_waited *waited, const MPI_Request *after)
{
    for (int i = 0; i < waited->count; i++)
        log_waited_after(waited, i, after[i]);
}

void log_waited_status(const struct log_waited *waited, int index, const MPI_Status *status)
{
    if (waited->each[index].kind == LOG_RECEIVE)
        log_status(status, waited->each[index].comm);
}

void log_waited_statuses(const struct log_waited *waited, int count, const int *indices, const MPI_Status *statuses)
{
    if (statuses == MPI_STATUSES_IGNORE || count < 0)
        return;
    for (int pass = 0; pass < 2; pass++) {
        log_word(pass == 0 ? "array_of_statuses.source" : "array_of_statuses.tag", "[");
        for (int i = 0; i < count; i++) {
            int at = indices ? indices[i] : i, cancelled = 0;
            enum log_kind kind = waited->each[at].kind;
            if (i)
                add(",");
            if (kind == LOG_RECEIVE)
                PMPI_Test_cancelled(&statuses[i], &cancelled);
            if (kind != LOG_RECEIVE || cancelled)
                add(kind == LOG_OTHER || cancelled ? "-" : "?");
            else if (pass == 0)
                add_peer(statuses[i].MPI_SOURCE, waited->each[at].comm);
            else if (statuses[i].MPI_TAG == MPI_ANY_TAG)
                add("MPI_ANY_TAG");
            else
                add("%d", statuses[i].MPI_TAG);
        }
        add("]");
    }
}

void log_waited_free(struct log_waited *waited)
{
    if (waited)
        free(waited->text);
    free(waited);
}

/* An independent witness for tests: writes every MPI call of a program, with its arguments, as one line of text.
 *
 * Preload it FIRST, before any other tool: it hands each call on to the next library under the same name, so another
 * tool sees the same calls in the same run, and the two accounts must agree. It changes no argument, and asks MPI only
 * through PMPI. Slow and simple on purpose; nothing here is shared with the tool under test.
 *
 *     LOGGER_DIR=DIR     where rank-N.log is written (rank-N.tK.log for its K-th further thread,
 *                        spawned-N.log for rank N of spawned processes); unset: nothing is written
 *     LOGGER_FOLD=1      unsuccessful polls that repeat the line before become `times=n` on that line
 *
 * A line is the call and then `key=value` for each argument, by the names of the MPI standard:
 *     MPI_Isend count=10 datatype=MPI_DOUBLE dest=3 tag=7 comm=world request=r17
 *   ranks        in MPI_COMM_WORLD whatever the communicator; MPI_PROC_NULL, MPI_ANY_SOURCE; `?2` for rank 2 of processes
 *                outside MPI_COMM_WORLD; `root.local` is the rank in the communicator
 *   requests     rN, counted from 0 in the order in which this thread made them; MPI_REQUEST_NULL; `r3|r5` where MPI gave
 *                one handle to several requests that are alive, so that nobody can tell which is meant; `r?` unknown, or
 *                another thread's
 *   comm         world, self, then c0, c1 ... in the order of first use
 *   datatype     its name; `derived:SIZE` with its size in bytes
 *   op           its name; `user`
 *   status.source, status.tag          only where a receive completed and the program asked for the status;
 *   array_of_statuses.source, .tag     lists with `-` for sends and `?` where that cannot be known
 *   flag, index, outcount, array_of_indices     what the call answered, indices from 0 also in Fortran; `error` if it
 *                failed
 *   lists        [1,2,3]
 */
#ifndef LOGGER_LOG_H
#define LOGGER_LOG_H

#include <mpi.h>

/* The next definition of a symbol behind this library. */
void *log_next(const char *symbol);

/* Above zero while this thread is inside a logged call: what MPI calls within itself is not the program's. */
extern __thread int log_inside;

/* One line: begin, any number of values, end. */
void log_begin(const char *call);
int log_end(int error);
void log_open_files(void);
void log_close_files(void);

void log_word(const char *key, const char *word);
void log_int(const char *key, long long value);
void log_ints(const char *key, const int *values, int count);
void log_tag(const char *key, int tag);
void log_index(const char *key, int index);
void log_type(const char *key, MPI_Datatype type);
void log_types(const char *key, const MPI_Datatype *types, int count);
void log_op(MPI_Op op);
void log_comm(const char *key, MPI_Comm comm);
void log_new_comm(const char *key, MPI_Comm comm);
void log_forget_comm(MPI_Comm comm);
void log_peer(const char *key, int rank, MPI_Comm comm);
void log_root(int root, MPI_Comm comm);
void log_win_peer(const char *key, int rank, MPI_Win win);
void log_status(const MPI_Status *status, MPI_Comm comm);

/* What a request was made by; receives are those whose status says something. */
enum log_kind { LOG_OTHER, LOG_RECEIVE, LOG_MIXED, LOG_UNKNOWN };
void log_new_request(MPI_Request request, enum log_kind kind, MPI_Comm comm);

/* Requests as they are before a call that may complete them: after it MPI has overwritten them. */
struct log_waited;
struct log_waited *log_waited(int count, const MPI_Request *requests);
void log_waited_one(const struct log_waited *waited);
void log_waited_list(const struct log_waited *waited);
/* The request at `index` is now `after`: if that is null, it is gone. */
void log_waited_after(struct log_waited *waited, int index, MPI_Request after);
void log_waited_all_after(struct log_waited *waited, const MPI_Request *after);
/* The status of the request at `index`; `status` may be MPI_STATUS_IGNORE. */
void log_waited_status(const struct log_waited *waited, int index, const MPI_Status *status);
/* Statuses of `count` completed requests, the i-th being request indices[i], or i without `indices`. */
void log_waited_statuses(const struct log_waited *waited, int count, const int *indices, const MPI_Status *statuses);
void log_waited_free(struct log_waited *waited);

#endif

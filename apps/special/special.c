/* Things that programs do and recorders trip over, one a run:
 *
 *   special pause     MPI_Pcontrol(0) around two barriers
 *   special fork      children that leave at once and that become another program
 *   special threads   three threads send to themselves under MPI_THREAD_MULTIPLE
 *   special crowd     more threads than are recorded, one after the other, then 1,000 barriers
 *   special spawn     two more processes, one collective call with them (start again as "spawned")
 *   special messages  two ranks: receives that are cancelled, given away, found complete by another thread, between groups
 *   special jump N    N messages to a rank that does not exist, whose error handler jumps out of the call; barriers between
 *   special many N    N messages to nobody, with sizes and tags that do not repeat
 */
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank;

static void *talk(void *tag)
{
    char out = 1, in = 0;
    for (int i = 0; i < 500; i++)
        MPI_Sendrecv(&out, 1, MPI_CHAR, rank, (int)(long)tag, &in, 1, MPI_CHAR, rank, (int)(long)tag,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

static void *ask(void *times)
{
    int found;
    for (long i = 0; i < (long)times; i++)
        MPI_Iprobe(rank, 5, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    return NULL;
}

static void children(void)
{
    fflush(NULL);
    if (fork() == 0)
        _exit(0);
    wait(NULL);
    if (fork() == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    wait(NULL);
}

static void meet(MPI_Comm others)
{
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others);
    MPI_Comm_disconnect(&others);
}

static void *await(void *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return NULL;
}

/* From rank 0 to rank 1; a barrier stands before each send, so that receives are posted before. */
static void send_messages(void)
{
    int numbers[2] = {1, 2};
    const int counts[] = {1, 1, 2, 1, 2}, tags[] = {7, 8, 8, 11, 11};
    MPI_Comm other;
    for (int i = 0; i < 5; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(numbers, counts[i], MPI_INT, 1, tags[i], MPI_COMM_WORLD);
    }
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1, 99, &other);
    MPI_Send(numbers, 1, MPI_INT, 0, 10, other);
    MPI_Comm_free(&other);
}

static void receive_messages(void)
{
    static int numbers[2], given[2];
    MPI_Request request;
    MPI_Message message;
    MPI_Comm other;
    pthread_t thread;
    MPI_Recv_init(numbers, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Start(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Mprobe(MPI_PROC_NULL, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(numbers, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Irecv(given, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(numbers, 2, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(numbers, 1, MPI_INT, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_create(&thread, NULL, await, &request);
    pthread_join(thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(numbers, 2, MPI_INT, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 0, 99, &other);
    MPI_Recv(numbers, 1, MPI_INT, 0, 10, other, MPI_STATUS_IGNORE);
    MPI_Comm_free(&other);
}

static jmp_buf before;

static void jump(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    longjmp(before, 1);
}

/* A call from further down the stack than the one that was left. */
__attribute__((noinline)) static int deeper(int depth)
{
    volatile char filled[64];
    for (int i = 0; i < 64; i++)
        filled[i] = (char)depth;
    if (depth == 0)
        MPI_Barrier(MPI_COMM_SELF);
    else
        deeper(depth - 1);
    return filled[depth];
}

static void jumps(volatile long count)
{
    MPI_Errhandler handler;
    static int number;
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (volatile long i = 0; i < count; i++) {
        if (setjmp(before) == 0)
            MPI_Send(&number, 1, MPI_INT, 9999, 7, MPI_COMM_WORLD);
        if (i % 2)
            MPI_Barrier(MPI_COMM_SELF);
        else
            deeper(8);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int level;
    int single = strcmp(what, "threads") && strcmp(what, "crowd") && strcmp(what, "messages");
    MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm others;
    if (!strcmp(what, "pause")) {
        MPI_Pcontrol(0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(1);
    } else if (!strcmp(what, "fork")) {
        children();
    } else if (!strcmp(what, "threads") && level == MPI_THREAD_MULTIPLE) {
        pthread_t threads[3];
        for (long i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, talk, (void *)i);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
    } else if (!strcmp(what, "crowd") && level == MPI_THREAD_MULTIPLE) {
        for (int i = 0; i < 256; i++) {
            pthread_t thread;
            pthread_create(&thread, NULL, ask, (void *)(i < 255 ? 1L : 20000L));
            pthread_join(thread, NULL);
        }
        for (int i = 0; i < 1000; i++)
            MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(what, "messages") && level == MPI_THREAD_MULTIPLE) {
        rank ? receive_messages() : send_messages();
    } else if (!strcmp(what, "spawn")) {
        char *words[] = {"spawned", NULL};
        MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
        meet(others);
    } else if (!strcmp(what, "spawned")) {
        MPI_Comm_get_parent(&others);
        meet(others);
    } else if (!strcmp(what, "jump")) {
        jumps(argc > 2 ? atol(argv[2]) : 10);
    } else if (!strcmp(what, "many")) {
        static char buffer[50000];
        long count = argc > 2 ? atol(argv[2]) : 1000;
        for (long i = 0; i < count; i++)
            MPI_Send(buffer, (int)(i * 7919 % 49999), MPI_BYTE, MPI_PROC_NULL, (int)(i % 1000000), MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

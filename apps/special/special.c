/* Things that programs do and recorders trip over, one a run:
 *
 *   special pause     MPI_Pcontrol(0) around two barriers
 *   special fork      children that leave at once and that become another program
 *   special threads   three threads send to themselves under MPI_THREAD_MULTIPLE
 *   special crowd     more threads than are recorded, one after the other, then 1,000 barriers
 *   special spawn     two more processes, one collective call with them (start again as "spawned")
 *   special many N    N messages to nobody, with sizes and tags that do not repeat
 */
#include <mpi.h>
#include <pthread.h>
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

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int level;
    MPI_Init_thread(&argc, &argv, strcmp(what, "threads") && strcmp(what, "crowd") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &level);
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
    } else if (!strcmp(what, "spawn")) {
        char *words[] = {"spawned", NULL};
        MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
        meet(others);
    } else if (!strcmp(what, "spawned")) {
        MPI_Comm_get_parent(&others);
        meet(others);
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

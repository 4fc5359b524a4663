/* A master that gives tasks to workers and takes results as they come. Each answer of the master is the next task, or says
 * that there is none. A worker's last turn is only the message that ends it.
 *
 *     farm [tasks] */
#include "strip.h"

enum { TASK = 1, RESULT = 2, STOP = 3 };

/* The integral of 4 / (1 + x^2) over part `task` of `tasks`. */
static NOINLINE double work(int task, int tasks)
{
    const int points = 400000;
    double sum = 0;
    for (int i = 0; i < points; i++) {
        double x = (task + (i + .5) / points) / tasks;
        sum += 4 / (1 + x * x);
    }
    return sum / points / tasks;
}

static NOINLINE double master(int tasks)
{
    double sum = 0, result;
    int next = 0;
    LOOP("begin");
    for (int worker = 1; worker < ranks; worker++) {
        TURN();
        CALL(MPI_Send, &next, 1, MPI_INT, worker, TASK, MPI_COMM_WORLD);
        next++;
    }
    LEAVE();
    MAIN_LOOP("tasks");
    for (int done = 0; done < tasks; done++) {
        TURN();
        MPI_Status status;
        CALL(MPI_Recv, &result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
        sum += result;
        CALL(MPI_Send, &next, 1, MPI_INT, status.MPI_SOURCE, next < tasks ? TASK : STOP, MPI_COMM_WORLD);
        next++;
    }
    LEAVE();
    return sum;
}

static NOINLINE void worker(int tasks)
{
    MAIN_LOOP("tasks");
    for (;;) {
        TURN();
        int task;
        MPI_Status status;
        CALL(MPI_Recv, &task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP)
            break;
        double result = work(task, tasks);
        CALL(MPI_Send, &result, 1, MPI_DOUBLE, 0, RESULT, MPI_COMM_WORLD);
    }
    LEAVE();
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int tasks = argc > 1 ? atoi(argv[1]) : 120;
    CALL(MPI_Bcast, &tasks, 1, MPI_INT, 0, MPI_COMM_WORLD);
    double sum = M_PI;
    if (ranks < 2 || tasks < ranks)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0)
        sum = master(tasks);
    else
        worker(tasks);
    int code = verdict("farm", fabs(sum - M_PI) < 1e-9);
    CALL(MPI_Finalize);
    return code;
}

// Known shares of time, without MPI: what samples of a program are compared with.
//
//   shares SECONDS            two OpenMP threads, each three quarters of its work in `three`, one in `one`
//   shares signals SECONDS    computes in one thread while the other sleeps and reads; 3 if a call is interrupted
//   shares fork SECONDS       computes, then a child does and executes this program, then a child does and exits
//
// Shares are of work, in units of the same loop, so that they are those of time on any machine.
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

// About 100 microseconds.
__attribute__((noinline)) static double unit(double value) {
    for (int i = 0; i < 100000; i++)
        value = value * 0.999999 + 1e-6;
    return value;
}

__attribute__((noinline)) double three(double value) {
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += unit(value + i);
    return sum;
}

__attribute__((noinline)) double one(double value) {
    double sum = unit(value);
    return sum + 1;
}

// Not a constant, for which the compiler would make functions of other names.
static volatile double first = 1;

static double compute(double seconds) {
    double end = now() + seconds, sum = 0;
    while (now() < end) {
        sum += three(first);
        sum += one(first);
    }
    return sum;
}

static int ready[2];

static void *write_late(void *seconds) {
    double sum = compute(*(double *)seconds);
    char byte = sum > 0;
    return write(ready[1], &byte, 1) == 1 ? NULL : ready;
}

static int signals(double seconds) {
    pthread_t thread;
    char byte;
    if (pipe(ready) || pthread_create(&thread, NULL, write_late, &seconds))
        return 1;
    for (double end = now() + seconds / 2; now() < end;) {
        struct timespec pause = {0, 20000000};
        if (nanosleep(&pause, NULL))
            return errno == EINTR ? 3 : 1;
    }
    if (read(ready[0], &byte, 1) != 1)
        return errno == EINTR ? 3 : 1;
    return pthread_join(thread, NULL) ? 1 : 0;
}

static int forks(const char *self, const char *text) {
    double seconds = atof(text), sum = compute(seconds);
    for (int executes = 0; executes < 2; executes++) {
        pid_t child = fork();
        int status = 0;
        if (child == 0) {
            sum += compute(seconds);
            if (executes)
                execl(self, self, text, (char *)NULL);
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status)
            return 1;
    }
    return sum > 0 ? 0 : 1;
}

int main(int count, char **words) {
    if (count == 3 && !strcmp(words[1], "signals"))
        return signals(atof(words[2]));
    if (count == 3 && !strcmp(words[1], "fork"))
        return forks(words[0], words[2]);
    if (count != 2)
        return 2;
    double seconds = atof(words[1]), sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += compute(seconds);
    printf("%g\n", sum);
    return 0;
}

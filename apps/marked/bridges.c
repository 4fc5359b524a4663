/* What markers of other tools cost as phases: nanoseconds for each pair of a push and a pop. `cargo xtask bench mark` runs it.
 *
 *   bridges LIBRARY ROUNDS      a line for each loop: its name, then nanoseconds a turn, ROUNDS times
 *
 * It is a client of NVTX 3 and of ITT without their headers: it gives the library the tables that those give it, and calls through the
 * pointers that the library fills, as their inline functions do. Without LIBRARY (`-`) the pointers stay NULL, which is what
 * a program costs that nobody looks at. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 20000, MOST = 256 };

/* NVTX: a table of pointers to words, which are functions. */
typedef struct {
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
} attributes;

static int (*push)(const char *);
static int (*pop)(void);
static int (*domain_push)(void *, const attributes *);
static int (*domain_pop)(void *);
static void *(*register_text)(void *, const char *);
static void *(*make_domain)(const char *);

static void **core[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, (void **)&push, 0, (void **)&pop, 0, 0, 0, 0, 0};
static void **domains[] = {0, 0, 0, 0, (void **)&domain_push, (void **)&domain_pop, 0, 0, 0, 0, (void **)&register_text, 0, (void **)&make_domain, 0, 0, 0, 0};

static int get_module(int module, void ****table, unsigned *number)
{
    *table = module == 1 ? core : module == 5 ? domains : 0;
    *number = 16;
    return *table != 0;
}

static const struct {
    size_t bytes;
    int (*get_module)(int, void ****, unsigned *);
} callbacks = {sizeof callbacks, get_module};

static const void *get_table(uint32_t which)
{
    return which == 1 ? &callbacks : 0;
}

/* ITT: a list of names and words. */
typedef struct {
    unsigned long long d[3];
} task;

typedef struct {
    volatile int enabled;
} domain;

static void (*task_begin)(const domain *, task, task, void *);
static void (*task_end)(const domain *);
static domain *(*domain_create)(const char *);
static void *(*handle_create)(const char *);

static struct {
    const char *name;
    void **word;
    void *first, *nothing;
    int group;
} list[] = {
    {"__itt_task_begin", (void **)&task_begin, 0, 0, -1},
    {"__itt_task_end", (void **)&task_end, 0, 0, -1},
    {"__itt_domain_create", (void **)&domain_create, 0, 0, -1},
    {"__itt_string_handle_create", (void **)&handle_create, 0, 0, -1},
    {0, 0, 0, 0, 0},
};

static struct {
    unsigned char magic[8];
    unsigned long version[3];
    long state[3];
    pthread_mutex_t mutex;
    void *library, *error_handler;
    const char **path;
    void *list;
    void *rest[16];
} global = {{0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30}, {3, 0, 20250807}, {0, 0, 0}, PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, list, {0}};

static void *text_handle, *nvtx_domain;
static domain nobody;
static domain *itt_domain = &nobody;
static attributes by_handle = {.version = 3, .bytes = sizeof(attributes), .message_type = 3};

static void empty(void)
{
    for (int i = 0; i < TURNS; i++)
        __asm__ volatile("" : "+r"(i));
}

static void nvtx_text(void)
{
    for (int i = 0; i < TURNS; i++) {
        if (push)
            push("assemble the matrix");
        __asm__ volatile("" : "+r"(i) : : "memory");
        if (pop)
            pop();
    }
}

static void nvtx_handle(void)
{
    for (int i = 0; i < TURNS; i++) {
        if (domain_push)
            domain_push(nvtx_domain, &by_handle);
        __asm__ volatile("" : "+r"(i) : : "memory");
        if (domain_pop)
            domain_pop(nvtx_domain);
    }
}

static void itt_task(void)
{
    const task null = {{0, 0, 0}};
    for (int i = 0; i < TURNS; i++) {
        if (itt_domain->enabled && task_begin)
            task_begin(itt_domain, null, null, text_handle);
        __asm__ volatile("" : "+r"(i) : : "memory");
        if (itt_domain->enabled && task_end)
            task_end(itt_domain);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} loops[] = {{"empty", empty}, {"nvtx-text", nvtx_text}, {"nvtx-handle", nvtx_handle}, {"itt-task", itt_task}};

static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int connect_to(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY);
    if (!library)
        return fprintf(stderr, "bridges: %s\n", dlerror()), 1;
    int (*nvtx)(const void *(*)(uint32_t)) = (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2");
    void (*itt)(void *, int) = (void (*)(void *, int))dlsym(library, "__itt_api_init");
    if (!nvtx || !itt)
        return fprintf(stderr, "bridges: expected a library that NVTX and ITT can load: %s\n", path), 1;
    if (nvtx(get_table)) {
        nvtx_domain = make_domain("bridges");
        by_handle.message = register_text(nvtx_domain, "exchange the halo");
    }
    itt(&global, -1);
    if (domain_create) {
        itt_domain = domain_create("bridges");
        text_handle = handle_create("solve");
    }
    return 0;
}

int main(int argc, char **argv)
{
    enum { LOOPS = sizeof loops / sizeof *loops };
    static double took[LOOPS][MOST];
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    if (rounds < 1 || rounds > MOST)
        rounds = MOST;
    if (argc > 1 && strcmp(argv[1], "-") != 0 && connect_to(argv[1]))
        return 1;
    /* The first round is not kept: names are registered in it. */
    for (int round = -1; round < rounds; round++)
        for (int i = 0; i < LOOPS; i++) {
            double begin = nanoseconds();
            loops[i].run();
            if (round >= 0)
                took[i][round] = (nanoseconds() - begin) / TURNS;
        }
    for (int i = 0; i < LOOPS; i++) {
        printf("%s", loops[i].name);
        for (int round = 0; round < rounds; round++)
            printf(" %.4f", took[i][round]);
        printf("\n");
    }
    return 0;
}

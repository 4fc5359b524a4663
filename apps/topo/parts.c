/* Samples parts of a program with libtalea_topo: monitors of its own process, an update after each part.
 *
 *   parts MONITORS OUTPUT        MONITORS may be "-" for the default ones
 *
 * Prints the values of the first monitor on its first object, one line for each part.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <talea_topo.h>

/* Touches memory that it has not touched before, a page at a time. */
static void touch(size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = malloc(pages * page);
    if (!memory)
        exit(1);
    for (size_t i = 0; i < pages; i++)
        memory[i * page] = 1;
    free((void *)memory);
}

int main(int count, char **words)
{
    if (count != 3) {
        fprintf(stderr, "usage: parts MONITORS OUTPUT\n");
        return 2;
    }
    const char *file = strcmp(words[1], "-") ? words[1] : NULL;
    struct Monitors *monitors = load_Monitors_from_config(NULL, file, words[2], 0);
    if (!monitors) {
        printf("error: %s\n", Monitors_error());
        return 1;
    }
    if (Monitors_watch_pid(monitors, getpid()) || Monitors_start(monitors)) {
        printf("error: %s\n", Monitors_error());
        return 1;
    }
    for (unsigned part = 0; part < 3; part++) {
        Monitors_set_phase(monitors, part);
        touch(2000 * part);
        if (Monitors_update_counters(monitors)) {
            printf("error: %s\n", Monitors_error());
            return 1;
        }
        double sum = 0;
        for (int object = 0; object < Monitors_count(monitors, 0); object++)
            sum += Monitors_value(monitors, 0, (unsigned)object);
        printf("part %u: %.0f\n", part, sum);
    }
    delete_Monitors(monitors);
    return 0;
}

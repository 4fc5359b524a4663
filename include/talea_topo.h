/* Performance values on the machine's topology, from inside a program: link with -ltalea_topo.
 *
 * A monitor is an expression of counters on a kind of object:
 *
 *   L3_MISS { OBJ = L3; CTR = PAPI_L3_TCM; LOGSCALE = 1; }
 *
 * The first five functions are those of "A Topology-Aware Performance Monitoring Tool for Shared Resource Management in
 * Multicore Systems" (Denoyelle, Goglin, Jeannot, 2015). None of them ends the program: where one fails it says why on standard
 * error, once, and in Monitors_error. All functions accept NULL for the monitors and do nothing then. Monitors of one handle must
 * be used by one thread at a time.
 *
 *   struct Monitors *monitors = load_Monitors_from_config(NULL, "perf_file", "output_file", 0);
 *   Monitors_watch_pid(monitors, getpid());
 *   Monitors_start(monitors);
 *   ...
 *   Monitors_update_counters(monitors);
 *   delete_Monitors(monitors);
 *
 * Interface version 1.
 */
#ifndef TALEA_TOPO_H
#define TALEA_TOPO_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TALEA_TOPO_VERSION 1

struct Monitors;
struct hwloc_topology;

/* Reads the monitors in a file; NULL for default ones. `topology` is a loaded topology (hwloc_topology_t) of the libhwloc that the
 * program itself uses; NULL finds this machine's own, or that in the file which the variable HWLOC_XMLFILE names. The output is a recording that `talea topo --replay` shows, or the text trace of the paper if its name ends in .trace or .paje;
 * NULL for none. Objects of another machine are refused when counting starts, unless HWLOC_THISSYSTEM is 1. With `accumulate` values are sums since the start instead of those between two updates.
 * Returns NULL if the monitors cannot be read or the output cannot be written. */
struct Monitors *load_Monitors_from_config(struct hwloc_topology *topology, const char *monitors_file, const char *output_file,
                                           int accumulate);

/* Counts only what this process, its threads and its children do; without it, everything on the machine. Before Monitors_start.
 * Returns 0, or -1 if there is no such process. */
int Monitors_watch_pid(struct Monitors *monitors, pid_t pid);

/* Opens the counters; values count from here. Returns 0, or -1 if no counter can be read at all. */
int Monitors_start(struct Monitors *monitors);

/* Reads all counters and records the values since the update before. Returns 0, or -1 if nothing could be read or written. */
int Monitors_update_counters(struct Monitors *monitors);

/* Closes the recording and frees everything. */
void delete_Monitors(struct Monitors *monitors);

/* Further functions. */

/* The values that follow belong to this phase of the program; 0 at first. */
void Monitors_set_phase(struct Monitors *monitors, unsigned phase);

/* Number of objects of a monitor (numbered from 0 in the order of the file), or -1 if there is no such monitor. */
int Monitors_count(const struct Monitors *monitors, unsigned monitor);

/* The last value of a monitor on an object; NaN where there is none. */
double Monitors_value(const struct Monitors *monitors, unsigned monitor, unsigned object);

/* Why the last function of this thread failed; "" if none has. Valid until the next call of a function here. */
const char *Monitors_error(void);

#ifdef __cplusplus
}
#endif
#endif

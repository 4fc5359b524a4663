/* How a wrapper is written: hand the call on, then describe it. */
#ifndef LOGGER_CALL_H
#define LOGGER_CALL_H

#include "log.h"

/* Opens a wrapper's body: calls the next library; inside another logged call it does nothing else. What must be looked
 * at before MPI changes it (requests) stands above CALL. */
#define CALL(name, ...)                            \
    static __typeof__(&name) next;                 \
    if (!next)                                     \
        next = (__typeof__(&name))log_next(#name); \
    if (log_inside)                                \
        return next(__VA_ARGS__);                  \
    log_inside = 1;                                \
    int error = next(__VA_ARGS__);                 \
    log_inside = 0;                                \
    log_begin(#name);

/* Closes it. */
#define DONE return log_end(error);

#endif

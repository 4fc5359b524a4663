/* `regions` with a reduction over all ranks after each `step`; one thread only. */
#define WITH_MPI 1
#include "regions.c"

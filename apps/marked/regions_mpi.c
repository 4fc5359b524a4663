/* `regions` with a reduction over all ranks after each `step`, for which all wait for rank 1, and `after`
 * directly behind that; one thread only. */
#define WITH_MPI 1
#include "regions.c"

/* The functions of truth.h for programs in Fortran, which call them by bind(C), and for programs with a library of their own. */
#define TRUTH_EXPORT
#include "truth.h"

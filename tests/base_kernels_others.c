#define OTHERS
#include "base_kernels_two.c" /* NOLINT(bugprone-suspicious-include): the same again */

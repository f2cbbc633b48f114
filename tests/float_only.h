/*  The library with ODVGP_FLOAT_ONLY (float_only.c), for test_float_only.c. */
#ifndef FLOAT_ONLY_H
#define FLOAT_ONLY_H
#include <stddef.h>

enum { SMALL_ROWS = 300, SMALL_INPUTS = 2, SMALL_BETA = 12, SMALL_GAMMA = 24, SMALL_STEPS = 1500 };

/*  Trains a model in `block` and writes its means and variances at X [SMALL_ROWS,SMALL_INPUTS], and
    its predictor to `frozen`. Returns the first error's status. */
int small_train(const float *X, const float *y, float *mean, float *var, void *frozen,
		size_t frozen_bytes, size_t *block_bytes);
/*  The bytes of a model after an assignment to its config, or NULL; 0, with the culprit's name in
    *what, where the build refuses it. */
size_t small_asks(const char *assignment, const char **what);
#endif

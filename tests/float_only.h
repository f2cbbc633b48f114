/*  The library with ODVGP_FLOAT_ONLY (float_only.c), for test_float_only.c. */
#ifndef FLOAT_ONLY_H
#define FLOAT_ONLY_H
#include <stddef.h>

enum { SMALL_ROWS = 300, SMALL_INPUTS = 2, SMALL_BETA = 12, SMALL_GAMMA = 24, SMALL_STEPS = 1500 };

/*  Trains a model in `block` and writes its means and variances at X [SMALL_ROWS,SMALL_INPUTS], and
    its predictor to `frozen`. Returns the first error's status. */
int small_train(const float *X, const float *y, float *mean, float *var, void *frozen,
		size_t frozen_bytes, size_t *block_bytes);
/*  X(NAME, what the error names, field, value): what the build refuses. */
#define SMALL_REFUSED(X) \
	X(LBFGS, "optim.kind", optim.kind, ODVGP_OPTIMIZER_LBFGS) \
	X(COLLAPSED, "objective", objective, ODVGP_OBJECTIVE_COLLAPSED) \
	X(GAMMA_STEP, "optim.gamma_step", optim.gamma_step, ODVGP_GAMMA_STEP_EXACT) \
	X(FUNCTIONS, "functions", functions, 2) \
	X(LIKELIHOOD, "lik.kind", lik.kind, ODVGP_LIKELIHOOD_POISSON) \
	X(NO_LIKELIHOOD, "lik.kind", lik.kind, (odvgp_likelihood)99) \
	X(SOFTPLUS, "positive_transform", positive_transform, ODVGP_POSITIVE_TRANSFORM_SOFTPLUS) \
	X(GREEDY, "init.beta", init.beta, ODVGP_INIT_BETA_GREEDY) \
	X(NO_BETA, "init.beta", init.beta, (odvgp_init_beta)4) \
	X(RESIDUAL, "init.gamma", init.gamma, ODVGP_INIT_GAMMA_RESIDUAL) \
	X(ULAPANE, "init.hyperparams", init.hyperparams, ODVGP_INIT_HYPER_ULAPANE) \
	X(ADAM_FIRST, "reproduce", reproduce.update, ODVGP_UPDATE_ADAM_FIRST) \
	X(COORDS, "reproduce", reproduce.gamma_coords, ODVGP_GAMMA_COORDS_DIFFERENTIATED) \
	X(NO_PART, "mean_part", layer[0].mean_part, (odvgp_mean_part)5) \
	X(MEMBER, "free", layer[0].mean_part, ODVGP_MEAN_PART_FREE) \
	X(KERNEL, "kernel", layer[0].kernel, "linear") \
	X(TERMS, "kernel", layer[0].kernel, "rbf+rbf") \
	X(SHARDS, "shards", shards, 2) \
	X(EXTENT, "model", layer[0].M_gamma, 65536)
enum {
	SMALL_AS_IT_IS = -1,
#define ODVGP__X(name, culprit, field, value) SMALL_##name,
	SMALL_REFUSED(ODVGP__X)
#undef ODVGP__X
			SMALL_COUNT
};
/*  The status with which the build opens a block. */
int small_opens(const void *block, size_t bytes);
/*  The bytes of a model whose config is number i of SMALL_REFUSED, or SMALL_AS_IT_IS; 0, with the
    culprit's name in *what, where the build refuses it. */
size_t small_asks(int i, const char **what);
#endif

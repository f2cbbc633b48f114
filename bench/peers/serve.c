/*  serve.c - one row predicted by a frozen model: the library that serve.py loads, and the numbers
    of the same model for a NumPy formula. The predictor has (|beta|, |gamma|) points and D inputs.
    The model is trained for a few steps, so that no number is special. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdlib.h>
#include <time.h>

enum { ROWS = 64 };

static odvgp_server server;
static void *block, *scratch;
static size_t scratch_bytes;
static double *X, *Z_beta, *Z_gamma;

static double *numbers(ptrdiff_t n) { return (double *)calloc((size_t)n, sizeof(double)); }

/*  Makes the model; returns 0 if it could. To be called once. */
int serve_make(ptrdiff_t M, ptrdiff_t Mg, ptrdiff_t D, const char *kernel)
{
	ptrdiff_t N = 4 * (M + Mg);
	uint64_t state = 1;
	odvgp_model *model;
	double *y = numbers(N);
	X = numbers(N * D), Z_beta = numbers(M * D), Z_gamma = numbers(Mg * D);
	for (ptrdiff_t i = 0; i < N * D; i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		X[i] = (double)(state >> 11) / 9007199254740992.0;
	}
	for (ptrdiff_t i = 0; i < N; i++) y[i] = sin(4 * X[i * D]) + X[i * D + D - 1];
	odvgp_config c = odvgp_config_defaults(N, D, 1, M, Mg);
	c.layer[0].kernel = kernel;
	c.init.warm = 0;
	if (odvgp_model_create(&model, &c, X, y, NULL, NULL) ||
			odvgp_fit(model, X, y, 5, NULL, NULL))
		return 1;
	if (odvgp_get(model, "Z_beta", Z_beta, M * D, NULL) ||
			odvgp_get(model, "Z_gamma", Z_gamma, Mg * D, NULL))
		return 1;
	size_t bytes = odvgp_predictor_size(model, NULL);
	if (posix_memalign(&block, 64, bytes) || odvgp_freeze(model, NULL, block, bytes, NULL))
		return 1;
	if (odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_AUTO, NULL)) return 1;
	odvgp_model_free(model);
	free(y);
	scratch_bytes = odvgp_predict_scratch(&server, 1, NULL);
	return posix_memalign(&scratch, 64, scratch_bytes) != 0;
}

/*  A piece of the model by its letter: X, B and G for the points, a and g for their coefficients,
    L, R (the factor of q), h. */
const double *serve_piece(char piece)
{
	gp__view v = gp__view_of((const gp__predictor *)server.block, 0);
	return piece == 'X'   ? X
		   : piece == 'B' ? Z_beta
		   : piece == 'G' ? Z_gamma
		   : piece == 'a' ? v.alpha
		   : piece == 'g' ? v.a_gamma
		   : piece == 'L' ? v.L
		   : piece == 'R' ? v.factor
						  : v.hyp;
}

/*  Returns microseconds per call, over `count` calls, and the last call's mean and variance. */
double serve_time(int count, int variance, double *mean, double *var)
{
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < count; i++)
		if (odvgp_predict(&server, X + i % ROWS * server.D, 1, mean, variance ? var : NULL, scratch,
					scratch_bytes, NULL))
			return -1;
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (1e6 * (double)(to.tv_sec - from.tv_sec) + 1e-3 * (double)(to.tv_nsec - from.tv_nsec)) /
		   count;
}

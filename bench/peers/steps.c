/*  steps.c - training steps of a convolutional and of a deep model: the library that steps.py loads,
    and the numbers of the same model for a PyTorch program. All parameters are moved by Adam. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdlib.h>
#include <time.h>

enum { SIDE = 28, PATCH = 5, CLASSES = 10, INPUTS = 8, POINTS = 100 };

static odvgp_model *model;
static odvgp_config config;
static double *X, *Y;

static double *numbers(ptrdiff_t n) { return (double *)calloc((size_t)n, sizeof(double)); }

/*  Images of numbers from 0 to 1 and ten classes; as many as a batch has, so that each step sees the
    same rows. */
static odvgp_config images_config(ptrdiff_t rows)
{
	odvgp_config c = odvgp_config_defaults(rows, (ptrdiff_t)SIDE * SIDE, CLASSES, POINTS, 0);
	c.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
	c.layer[0].kernel = "rbf";
	c.layer[0].patches.image_height = c.layer[0].patches.image_width = SIDE;
	c.layer[0].patches.channels = 1;
	c.layer[0].patches.height = c.layer[0].patches.width = PATCH;
	c.layer[0].patches.stride = 1;
	c.lik.kind = ODVGP_LIKELIHOOD_ROBUSTMAX;
	return c;
}

/*  Two layers, the hidden one as wide as the inputs, with an identity mean and one sample. */
static odvgp_config deep_config(ptrdiff_t rows)
{
	odvgp_config c = odvgp_config_defaults(rows, INPUTS, 1, POINTS, 0);
	c.layers = 2;
	c.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
	c.layer[0].kernel = "rbf(ard)";
	c.layer[1] = c.layer[0];
	c.layer[0].P = INPUTS;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	c.layer[1].D = 0;
	c.layer[1].mean_function = ODVGP_MEAN_FUNCTION_ZERO;
	return c;
}

/*  Makes a model and its data; returns 0 if it could. */
int steps_make(int deep, ptrdiff_t rows, int threads)
{
	static odvgp_pool *pool;
	static odvgp_threads crew;
	size_t bytes = odvgp_pool_size(threads, NULL);
	ptrdiff_t D = deep ? INPUTS : (ptrdiff_t)SIDE * SIDE;
	uint64_t state = 1;
	if (!pool && odvgp_pool_start(&pool, threads, &crew, calloc(bytes, 1), bytes, NULL)) return 1;
	odvgp_model_free(model);
	free(X);
	free(Y);
	X = numbers(rows * D), Y = numbers(rows);
	for (ptrdiff_t i = 0; i < rows * D; i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		X[i] = (double)(state >> 11) / 9007199254740992.0;
	}
	for (ptrdiff_t i = 0; i < rows; i++)
		Y[i] = deep ? sin(4 * X[i * D]) + X[i * D + D - 1] : (double)(i % CLASSES);
	config = deep ? deep_config(rows) : images_config(rows);
	config.optim.batch = rows;
	config.optim.natgrad = 0;
	config.threads = crew;
	return odvgp_model_create(&model, &config, X, Y, NULL, NULL) != ODVGP_OK;
}

/*  Numbers of a slot, or 0; with `to` they are copied there. */
ptrdiff_t steps_slot(const char *name, double *to)
{
	const odvgp_slot *slot = odvgp_slot_find(model, name);
	return slot && (!to || !odvgp_get(model, name, to, slot->count, NULL)) ? slot->count : 0;
}
const double *steps_data(int targets) { return targets ? Y : X; }
double steps_jitter(int relative)
{
	return relative ? config.jitter.relative : config.jitter.absolute;
}

/*  The bound of all rows, of one sample for each. */
double steps_bound(void)
{
	double bound;
	return odvgp_elbo(model, X, Y, config.N, &bound, NULL, NULL, NULL) ? NAN : bound;
}

/*  Milliseconds for each of `count` steps; -1: one failed. */
double steps_time(int count)
{
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < count; i++)
		if (odvgp_step(model, X, Y, NULL, NULL)) return -1;
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (1e3 * (double)(to.tv_sec - from.tv_sec) + 1e-6 * (double)(to.tv_nsec - from.tv_nsec)) /
		   count;
}

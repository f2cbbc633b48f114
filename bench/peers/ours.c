/*  ours.c - the library that table.py loads: training steps and predictions of the models that it
    has twins of, and the numbers of these models. Built in double and in float. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../common.h"
#include "../peak.h"

enum { SIDE = 28, PATCH = 5, CLASSES = 10, ROWS = 64 };

/*  MKL asks this before it takes its fastest kernels, and is told no on processors of other makers.
    Loaded before PyTorch, with global symbols, the library answers in MKL's place. */
int mkl_serv_intel_cpu_true(void) { return 1; }

static odvgp_model *model;
static odvgp_config config;
static odvgp_real *X, *Y;
static odvgp_info info;

static odvgp_server server;
static void *block, *scratch;
static size_t scratch_bytes;

/*  Numbers from 0 to 1, and targets of a smooth function of them, or classes. */
static void data_make(ptrdiff_t rows, ptrdiff_t D, int classes)
{
	free(X);
	free(Y);
	X = reserve_reals(rows * D), Y = reserve_reals(rows);
	for (ptrdiff_t i = 0; i < rows * D; i++) X[i] = (odvgp_real)uniform();
	for (ptrdiff_t i = 0; i < rows; i++)
		Y[i] = (odvgp_real)(classes ? (double)(i % CLASSES)
									: sin(4 * (double)X[i * D]) + (double)X[i * D + D - 1]);
}

/*  Started once: 2 is the most that table.py asks for. */
static const odvgp_threads *threads_of(int count)
{
	static crew one, two;
	if (count < 2) return &one.hook;
	if (!two.pool) two = crew_start(2);
	return &two.hook;
}

/*  COUPLED on images, robust-max of ten classes. */
static void conv_config(odvgp_config *c)
{
	c->layer[0].mean_part = ODVGP_MEAN_PART_BETA;
	c->layer[0].kernel = "rbf";
	c->layer[0].patches.image_height = c->layer[0].patches.image_width = SIDE;
	c->layer[0].patches.channels = 1;
	c->layer[0].patches.height = c->layer[0].patches.width = PATCH;
	c->layer[0].patches.stride = 1;
	c->lik.kind = ODVGP_LIKELIHOOD_ROBUSTMAX;
	c->optim.natgrad = 0;
}

/*  Two layers, the hidden one as wide as the inputs, with an identity mean and one sample. */
static void deep_config(odvgp_config *c)
{
	c->layers = 2;
	c->layer[0].mean_part = ODVGP_MEAN_PART_BETA;
	c->layer[0].kernel = "rbf(ard)";
	c->layer[1] = c->layer[0];
	c->layer[0].P = c->layer[0].D;
	c->layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	c->layer[1].D = 0;
	c->layer[1].mean_function = ODVGP_MEAN_FUNCTION_ZERO;
	c->optim.natgrad = 0;
}

/*  Makes the model named `kind`: orth, coupled, conv or deep, with M + Mg points, and as many rows
    as a batch has, so that each step sees the same ones. */
void ours_make(
		const char *kind, ptrdiff_t M, ptrdiff_t Mg, ptrdiff_t D, ptrdiff_t rows, int threads)
{
	int conv = !strcmp(kind, "conv");
	odvgp_model_free(model);
	data_make(rows, D, conv);
	config = odvgp_config_defaults(rows, D, conv ? CLASSES : 1, M, Mg);
	config.layer[0].kernel = "matern52 + rbf";
	if (!strcmp(kind, "deep")) deep_config(&config);
	if (conv) conv_config(&config);
	config.optim.batch = rows;
	config.optim.natgrad_step = odvgp_constant(GP__R(0.1));
	config.threads = *threads_of(threads);
	check(odvgp_model_create(&model, &config, X, Y, NULL, &info), kind, &info);
}

/*  Numbers of a slot, 0 if there is none; with `to` they are copied there. */
ptrdiff_t ours_slot(const char *name, odvgp_real *to)
{
	const odvgp_slot *slot = odvgp_slot_find(model, name);
	if (slot && to) check(odvgp_get(model, name, to, slot->count, &info), name, &info);
	return slot ? slot->count : 0;
}
const odvgp_real *ours_data(int targets) { return targets ? Y : X; }
double ours_jitter(int relative)
{
	return (double)(relative ? config.jitter.relative : config.jitter.absolute);
}

/*  The bound of all rows, of one sample for each. */
double ours_bound(void)
{
	odvgp_real bound;
	check(odvgp_elbo(model, X, Y, config.N, &bound, NULL, NULL, &info), "bound", &info);
	return (double)bound;
}

/*  Milliseconds for each of `count` steps. */
double ours_steps(int count)
{
	double from = now();
	for (int i = 0; i < count; i++) check(odvgp_step(model, X, Y, NULL, &info), "step", &info);
	return 1e3 * (now() - from) / count;
}

/*  GFLOP/s of one thread, at this moment. */
double ours_peak(void)
{
	if (option.isa_used == ODVGP_ISA_AUTO) print_machine(stderr), fprintf(stderr, "\n");
	return peak_now(option.isa_used, threads_of(1), 1);
}

/* ---- predictions ---- */

/*  A frozen ORTH model after five steps, so that no number is special. */
void ours_serve(ptrdiff_t M, ptrdiff_t Mg, ptrdiff_t D, const char *kernel)
{
	ptrdiff_t N = 4 * (M + Mg);
	odvgp_model_free(model);
	free(block);
	free(scratch);
	data_make(N, D, 0);
	config = odvgp_config_defaults(N, D, 1, M, Mg);
	config.layer[0].kernel = kernel;
	config.init.warm = 0;
	check(odvgp_model_create(&model, &config, X, Y, NULL, &info), kernel, &info);
	check(odvgp_fit(model, X, Y, 5, NULL, &info), kernel, &info);
	size_t bytes = odvgp_predictor_size(model, NULL);
	block = reserve(bytes);
	check(odvgp_freeze(model, NULL, block, bytes, &info), kernel, &info);
	check(odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_AUTO, &info), kernel, &info);
	scratch_bytes = odvgp_predict_scratch(&server, ROWS, NULL);
	scratch = reserve(scratch_bytes);
}

/*  A piece of the frozen model by its letter: a and g for the coefficients of beta and gamma, L, R
    (the factor of q), h (the kernel's numbers). */
const odvgp_real *ours_piece(char piece)
{
	gp__view v = gp__view_of((const gp__predictor *)server.block, 0);
	return piece == 'a'   ? v.alpha
		   : piece == 'g' ? v.a_gamma
		   : piece == 'L' ? v.L
		   : piece == 'R' ? v.factor
						  : v.hyp;
}

/*  Microseconds a row for the first ROWS rows, one or all in each call; var NULL: means only. */
double ours_predict(int all, odvgp_real *mean, odvgp_real *var)
{
	int n = all ? ROWS : 1;
	double from = now();
	for (int i = 0; i < ROWS; i += n)
		check(odvgp_predict(&server, X + i * server.D, n, mean + i, var ? var + i : NULL, scratch,
					  scratch_bytes, &info),
				"predict", &info);
	return 1e6 * (now() - from) / ROWS;
}

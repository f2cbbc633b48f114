/*  lesson.h - what lessons and other examples share: random numbers, the end after an error, evenly
    spaced inputs, predictors, pictures. Include it after odvgp.h. */
#ifndef LESSON_H
#define LESSON_H

#include <stdio.h>
#include <stdlib.h>
#include "../tool/plot.h"

/*  The name of a band of two standard deviations. The octal 261, because "2" would continue a
    hexadecimal escape. */
#define TWO_SD "\xC2\2612 sd"

/*  A random number in [0, 1), from a linear congruential generator: enough for a lesson. */
static inline double uniform(void)
{
	static unsigned state = 1;
	state = state * 1664525u + 1013904223u;
	return (state >> 8) / 16777216.0;
}

/*  A random number that is normal to three decimals: twelve uniform numbers have variance 1. */
static inline double normal(void)
{
	double sum = -6;
	for (int i = 0; i < 12; i++) sum += uniform();
	return sum;
}

/*  Every call that fails says why in info.text. A lesson prints this sentence and ends. */
static inline void must(odvgp_status status, const odvgp_info *info)
{
	if (!status) return;
	fprintf(stderr, "%s\n", info->text);
	exit(1);
}

/*  Standardises the columns of X [n,columns]; predictions undo it by mean and scale. */
static inline void standardise(double *X, int n, int columns, double *mean, double *scale)
{
	odvgp_info info;
	must(odvgp_column_scales(X, n, columns, mean, scale, &info), &info);
	must(odvgp_standardise(X, n, columns, mean, scale, X, &info), &info);
}

/*  n numbers from `from` to `to`, at equal distances. */
static inline void spread(double *x, int n, double from, double to)
{
	for (int i = 0; i < n; i++) x[i] = from + (to - from) * i / (n - 1);
}

/*  The mean minus, and plus, two standard deviations. */
static inline void band(const double *mean, const double *var, int n, double *low, double *high)
{
	for (int i = 0; i < n; i++) {
		low[i] = mean[i] - 2 * sqrt(var[i]);
		high[i] = mean[i] + 2 * sqrt(var[i]);
	}
}

/*  A predictor with its memory, for blocks of up to 256 rows; `serve_end` frees it. */
typedef struct service {
	odvgp_server server;
	void *block, *scratch;
	size_t bytes;
} service;

static inline void serve(service *s, odvgp_model *model, const odvgp_scales *scales)
{
	odvgp_info info;
	size_t bytes = odvgp_predictor_size(model, NULL);
	s->block = malloc(bytes);
	must(odvgp_freeze(model, scales, s->block, bytes, &info), &info);
	must(odvgp_server_from_block(&s->server, s->block, bytes, ODVGP_ISA_AUTO, &info), &info);
	s->bytes = odvgp_predict_scratch(&s->server, 256, NULL);
	s->scratch = malloc(s->bytes);
}

/*  Mean and variance of y, or probabilities of classes, [y_rows,n]; var may be NULL. */
static inline void serve_y(const service *s, const double *X, int n, double *mean, double *var)
{
	if (odvgp_predict_y(&s->server, X, n, mean, var, s->scratch, s->bytes, NULL)) exit(1);
}

/*  The mean of log p(y) over n rows. */
static inline double serve_logp(const service *s, const double *X, const double *Y, int n)
{
	double sum = 0, *logp = (double *)malloc((size_t)n * sizeof *logp);
	if (odvgp_predict_logp(&s->server, X, Y, n, logp, s->scratch, s->bytes, NULL)) exit(1);
	for (int i = 0; i < n; i++) sum += logp[i];
	free(logp);
	return sum / n;
}

static inline void serve_end(service *s)
{
	free(s->scratch);
	free(s->block);
}

/*  Tells where the picture is. Returns the exit code of the program. */
static inline int drawn(int failed, const char *path)
{
	if (failed) fprintf(stderr, "%s cannot be written\n", path);
	else printf("picture: %s\n", path);
	return failed;
}

#endif

/*  What rounding may do to a server's predictions, from its block: the prior's sd and conditions.
    Include odvgp.h with its implementation before this file. */
#ifndef CONDITIONS_H
#define CONDITIONS_H

#include "reference.h"

/*  The condition of a triangle in the 1-norm, a bound of what its solves lose. */
static double triangle_condition(const odvgp_real *L, ptrdiff_t n)
{
	wide *x = ref_new(n);
	double a = 0, b = 0;
	for (ptrdiff_t c = 0; c < n; c++) {
		double sum = 0, inverse = 0;
		for (ptrdiff_t i = 0; i < n; i++) x[i] = i == c;
		for (ptrdiff_t i = c; i < n; i++) {
			for (ptrdiff_t j = c; j < i; j++) x[i] -= (wide)L[i * n + j] * x[j];
			x[i] /= (wide)L[i * n + i];
			inverse += fabs((double)x[i]);
			sum += fabs((double)L[i * n + c]);
		}
		a = fmax(a, sum), b = fmax(b, inverse);
	}
	free(x);
	return a * b;
}

/*  Of all units. sd is the prior's in the caller's units, the largest of the rows and functions;
    mean is what cancels in the means, by sums of absolute coefficients times the prior's sd; var is
    the condition of the factors; inputs is what a column loses when its mean is taken off. */
typedef struct conditions {
	double sd, mean, var, inputs;
} conditions;

/*  For rows X [n,D]. */
static conditions conditions_of(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n)
{
	const gp__predictor *p = gp__layer_of(s);
	const ptrdiff_t P = p->P / p->units, M = p->M, factors = p->factor == GP__FACTOR_OF_S ? 1 : P;
	conditions of = {0, 1, 1, 1};
	double scale = 0, prior = 0;
	odvgp_real *x = NEW(odvgp_real, s->D), node[GP__MAX_NODES];
	/* the prior's variance of the first function */
	gp__kernel k;
	gp__kernel_unpack(gp__predictor_kernel(p), p->base_kernels, &k);
	gp__view v = gp__view_of(p, 0);
	for (ptrdiff_t i = 0; i < n; i++) {
		for (ptrdiff_t d = 0; d < s->D; d++) x[d] = (X[i * s->D + d] - v.x_mean[d]) / v.x_scale[d];
		prior = fmax(prior, (double)gp__kernel_diag(&k, v.hyp, x, node));
	}
	for (ptrdiff_t d = 0; d < s->D; d++)
		of.inputs = fmax(of.inputs, fabs((double)(v.x_mean[d] / v.x_scale[d])));
	for (ptrdiff_t q = 0; q < s->T; q++) scale = fmax(scale, (double)v.y_scale[q]);
	of.sd = sqrt(prior) * scale;
	for (ptrdiff_t unit = 0; unit < p->units; unit++) {
		v = gp__view_of(p, unit);
		for (ptrdiff_t q = 0; q < P; q++) {
			double sum = 0;
			for (ptrdiff_t j = 0; j < M && !p->no_alpha; j++)
				sum += fabs((double)v.alpha[q * M + j]);
			for (ptrdiff_t j = 0; j < p->M_gamma; j++)
				sum += fabs((double)v.a_gamma[q * p->M_gamma + j]);
			of.mean = fmax(of.mean, sum * sqrt(prior));
		}
		for (ptrdiff_t q = 0; q < factors; q++)
			of.var = fmax(of.var, triangle_condition(v.L + q * M * M, M));
	}
	free(x);
	return of;
}

#endif

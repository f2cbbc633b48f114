/*  One row of a likelihood: its expectation, log density or moments, as the library gives them.
    Include odvgp.h with its implementation before this file. */
#ifndef LIK_JOB_H
#define LIK_JOB_H

#include "test.h"

enum { MOST_F = 12, MOST_PAR = 4, NODES = 20 };
enum { EXPECT, DENSITY, MEAN, VARIANCE };

static odvgp_blas blas;
static void *blas_block;

static odvgp_status start_blas(void)
{
	size_t bytes = odvgp_blas_size(NULL, NULL);
	blas_block = test_alloc(bytes);
	return odvgp_blas_init(&blas, NULL, test_isa(), blas_block, bytes, NULL);
}

static const gp__likelihood *row_of(const char *name)
{
	ptrdiff_t i;
	for (i = 0; i < GP__COUNT(gp__likelihoods); i++)
		if (!strcmp(gp__likelihoods[i].name, name)) return &gp__likelihoods[i];
	printf("no likelihood is called %s\n", name);
	exit(3);
}

typedef struct lik_row {
	gp__lik_job job;
	odvgp_real Y, mean[MOST_F], var[MOST_F], par[MOST_PAR];
	/* room for derivatives: written if job.dmean and job.dvar point here */
	odvgp_real dmean[MOST_F], dvar[MOST_F];
	odvgp_real rule[1 + 2 * GP__MOST_NODES], out[MOST_F];
} lik_row;

/*  A job of one row with H nodes; the caller fills in Y, mean, var and par. */
static void lik_row_start(
		lik_row *r, const char *name, ptrdiff_t F, ptrdiff_t classes, double jitter, ptrdiff_t H)
{
	static odvgp_real *rules[GP__MOST_NODES + 1]; /* by H, kept */
	const gp__likelihood *lik = row_of(name);
	memset(r, 0, sizeof *r);
	if (!rules[H]) {
		rules[H] = NEW(odvgp_real, 2 * H);
		gp__gauss_hermite(H, rules[H], rules[H] + H);
	}
	r->rule[0] = (odvgp_real)jitter;
	memcpy(r->rule + 1, rules[H], 2 * (size_t)H * sizeof *rules[H]);
	r->job.lik = lik;
	r->job.isa = blas.isa;
	r->job.n = r->job.ld = 1;
	r->job.F = F;
	r->job.T = gp__lik_targets(lik, F);
	r->job.classes = gp__classes(lik, F, classes);
	r->job.Y = &r->Y;
	r->job.mean = r->mean;
	r->job.var = r->var;
	r->job.par = r->par;
	r->job.rule = r->rule;
	r->job.H = H;
}

/*  The expectation or log density; the moment of class k, or of y. */
static double lik_row_value(lik_row *r, int what, ptrdiff_t k)
{
	double value;
	r->job.work = NEW(odvgp_real, gp__lik_work(r->job.lik, r->job.F));
	if (what == EXPECT) value = r->job.lik->expect(&r->job);
	else {
		if (what == DENSITY) gp__log_density(&r->job, r->out);
		else
			r->job.lik->y_moments(
					&r->job, what == MEAN ? r->out : NULL, what == VARIANCE ? r->out : NULL);
		value = (double)r->out[what == DENSITY ? 0 : k];
	}
	free(r->job.work);
	return value;
}

#endif

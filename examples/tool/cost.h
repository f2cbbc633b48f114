/*  cost.h - counted operations of steps and passes, and how many of them this machine does in a
    second; what --minutes is too short for. */
#ifndef TOOL_COST_H
#define TOOL_COST_H

#include "data.h"
#include "predict.h"

enum { ADDITIVE_COLUMN = 10 };

/*  Of a base kernel's value and derivatives for a pair of points. */
static double pair_flops(double D) { return 150 + 40 * D; }

/*  Columns that cost as much as a kernel of D columns: each further base kernel of a sum or product
    has its own, and additive has a function in each column, whose value and derivatives take as long as
    ADDITIVE_COLUMN columns of a distance. */
static double kernel_width(const char *kernel, double D)
{
	double width = D;
	/* A bit for each open parenthesis: 1 if it holds arguments. */
	unsigned long open = 0;
	for (const char *s = kernel; s && *s; s++) {
		if (*s == '(') open = open << 1 | (s > kernel && isalnum((unsigned char)s[-1]));
		if (*s == ')') open >>= 1;
		if (!open && (*s == '+' || *s == '*')) width += pair_flops(D) / 40;
		if (strncmp(s, "additive", 8) == 0) width += ADDITIVE_COLUMN * D;
	}
	return width;
}

/*  Of the only layer's kernel. */
static double config_width(const odvgp_config *c)
{
	return kernel_width(c->layer[0].kernel, (double)c->layer[0].D);
}

/*  Of the bound and its gradient: products, factors, and the kernel's distances. */
static double pass_flops(double n, double M, double D)
{
	return 8 * n * M * M + 20 * M * M * M + pair_flops(D) * n * M;
}

/*  Of a step's bound and gradient on so many rows of a layer, with M points and `gamma` points: for
    P functions the products and factors of each. */
static double layer_flops(const odvgp_config *c, ptrdiff_t l, double rows)
{
	double P = (double)c->layer[l].P, M = (double)c->layer[l].M,
		   gamma = (double)c->layer[l].M_gamma, patches = (double)patch_count(c, l),
		   D = kernel_width(c->layer[l].kernel, (double)patch_columns(c, l)),
		   kernels = c->independent ? P : 1,
		   entry = kernels * pair_flops(D) + 4 * P;
	double flops = kernels * pass_flops(rows, M, D) + 6 * (P - 1) * rows * M * M +
				   10 * P * M * M * M + entry * (rows * patches * (M + gamma) + M * gamma);
	if (c->layer[l].cov_part == ODVGP_COV_PART_BLOCKS)
		flops += kernels * (pass_flops(rows, gamma, D) + 8 * rows * M * gamma) +
				 6 * (P - 1) * rows * gamma * gamma + 10 * P * gamma * gamma * gamma;
	return flops;
}

/*  Of the evidence of n rows and its gradient, by what they take beside SGPR's
    (bench/results/said.txt). */
static double exact_flops(double n, double D) { return 1.75 * n * n * (n + pair_flops(D)); }

/*  The part of them that --minutes count, since the products are larger than those of other steps; and
    operations of an exact model's end without a step: the factor, its inverse, a predictor, a file. */
static const double EXACT_PART = 0.45;
static double exact_end(double n, double D) { return 0.9 * n * n * (n + 50 + 13 * D); }

/*  Of a step. L-BFGS evaluates the bound a fifth more often than it takes steps. */
static double step_flops(const odvgp_config *c)
{
	double rows = (double)c->optim.batch, n = (double)c->N, flops = 0, D = config_width(c);
	if (c->objective == ODVGP_OBJECTIVE_EXACT) flops = exact_flops(n, D);
	else if (c->objective == ODVGP_OBJECTIVE_COLLAPSED)
		flops = pass_flops(n, (double)(c->layer[0].M + c->layer[0].M_gamma), D);
	else {
		if (c->layers > 1) rows *= (double)larger(1, c->deep.samples);
		for (ptrdiff_t l = 0; l < c->layers; l++) flops += layer_flops(c, l, rows);
	}
	return (c->optim.kind == ODVGP_OPTIMIZER_LBFGS ? 1.2 : 1) * flops;
}

/*  Of q's optimum: half of a product, and the kernel without its gradient. */
static double fit_q_flops(const odvgp_config *c)
{
	double n = (double)c->N, R = (double)(c->layer[0].M + c->layer[0].M_gamma);
	return n * R * R + 10 * R * R * R + (50 + 13 * config_width(c)) * n * R;
}

/*  Of predictions of so many rows, a quarter of a step on them, and before, where training leaves q
    out, of its optimum. An exact model's take the square of its rows each. */
static double evaluation_flops(const odvgp_config *c, double rows)
{
	double flops = 0, n = (double)c->N;
	if (c->objective == ODVGP_OBJECTIVE_EXACT)
		return (exact_end(n, config_width(c)) + rows * n * n) / EXACT_PART;
	if (c->layers > 1) rows *= (double)larger(1, c->deep.predict_samples);
	for (ptrdiff_t l = 0; l < c->layers; l++) flops += 0.25 * layer_flops(c, l, rows);
	return flops + (c->objective == ODVGP_OBJECTIVE_ELBO ? 0 : fit_q_flops(c));
}

/*  Of initial values: k-means, or fewer distances, on at most 50 rows for each point. */
static double init_flops(const odvgp_config *c)
{
	double M = (double)c->layer[0].M, rows = fmin((double)c->N, 50 * M);
	return 33 * rows * M * (double)patch_columns(c, 0);
}

/*  Of what a training cannot do without: initial values, this many steps, q's optimum where training
    leaves it out, and twice a predictor's factors, for evaluation and file. */
static double least_flops(const odvgp_config *c, int steps)
{
	int blocks = LAST_LAYER(c).cov_part == ODVGP_COV_PART_BLOCKS;
	double R = (double)larger(LAST_LAYER(c).M, blocks ? LAST_LAYER(c).M_gamma : 0),
		   end = c->objective == ODVGP_OBJECTIVE_ELBO ? 0 : 0.5 * step_flops(c);
	if (c->objective == ODVGP_OBJECTIVE_EXACT)
		return steps * EXACT_PART * step_flops(c) + exact_end(R, config_width(c));
	return init_flops(c) + steps * step_flops(c) + end + 8 * (double)LAST_LAYER(c).P * R * R * R;
}

/*  Seconds of the processors for each thread, which other programs on the machine do not stretch. */
static double processor_seconds(const workers *w)
{
	return (double)clock() / CLOCKS_PER_SEC / workers_count(w);
}

/*  Operations a second of products on all threads, over a fifth of a second: by the median, which a
    short disturbance does not change, or by the processors' time, of which single products are too
    short a part. */
static double measured_rate(const workers *w, int processors)
{
	enum { SIDE = 384, MOST = 500 };
	double each[MOST], begin = 0, first = 0, *A = take_doubles(SIDE, SIDE),
					   *C = take_doubles(SIDE, SIDE);
	int n = 0;
	size_t size = odvgp_blas_size(&w->threads, NULL);
	void *block = take(size, 1);
	odvgp_blas blas;
	for (int i = 0; i < SIDE * SIDE; i++) A[i] = 1e-3 * (i % 7);
	if (!odvgp_blas_init(&blas, &w->threads, ODVGP_ISA_AUTO, block, size, NULL))
		for (int k = 0; k < 3 || (now() < begin + 0.2 && n < MOST); k++) {
			if (k == 1) begin = now(), first = processor_seconds(w);
			double from = now();
			odvgp_gemm(&blas, 0, 0, SIDE, SIDE, SIDE, 1, A, SIDE, A, SIDE, 0, C, SIDE);
			if (k) each[n++] = now() - from;
		}
	double spent = n ? (processor_seconds(w) - first) / n : 0;
	free(A);
	free(C);
	free(block);
	if (!n) return 0;
	qsort(each, (size_t)n, sizeof *each, by_number);
	return 2.0 * SIDE * SIDE * SIDE / fmax(1e-9, processors ? spent : each[n / 2]);
}

/*  Counted operations that a training gets done in the time of one of a product. */
static const double EFFICIENCY = 0.5;

/*  --minutes has to have room for this many steps. */
enum { LEAST_MINUTES_STEPS = 5 };

/*  Ends the program if --minutes is too short for a model's sizes; names those that fit. */
static void minutes_check(const options *o, const odvgp_config *config, const workers *w)
{
	if (!o->value[OPT_MINUTES] || !(w->watch->start > 0)) return;
	odvgp_config c = *config;
	const char *warm = o->value[OPT_WARM];
	/* an exact model's warm starts may be all */
	int starts = c.objective == ODVGP_OBJECTIVE_EXACT && warm && strcmp(warm, "off") != 0,
		steps = starts ? 0 : LEAST_MINUTES_STEPS;
	double spent = now() - w->watch->start, rate = EFFICIENCY * measured_rate(w, 0),
		   limit = 60 * option_positive(o, OPT_MINUTES),
		   need = least_flops(&c, steps) / fmax(1, rate), part = 1;
	/* The second is for machines on which small sizes take no time. */
	if (need + spent <= limit + 1) return;
	ptrdiff_t M = LAST_LAYER(&c).M, gamma = LAST_LAYER(&c).M_gamma;
	double seconds = limit - spent;
	while (part > 1e-3 && least_flops(&c, LEAST_MINUTES_STEPS) > 0.8 * seconds * rate) {
		part *= 0.9;
		c.layer[0].M = larger(1, (ptrdiff_t)((double)M * part) / 10 * 10);
		c.layer[0].M_gamma = (ptrdiff_t)((double)gamma * part) / 10 * 10;
	}
	bytes fit = {NULL, 0, 0};
	if (c.layers == 1 && c.objective != ODVGP_OBJECTIVE_EXACT && part > 1e-3 && seconds > 0) {
		bytes_print(&fit, "--beta %td", c.layer[0].M);
		if (gamma) bytes_print(&fit, " --gamma %td", c.layer[0].M_gamma);
		bytes_print(&fit, ", or ");
	}
	die(BAD_INPUT,
			"--minutes %s: is too short for beta %td and gamma %td on %td rows; what fits is "
			"%s--minutes %.3g",
			o->value[OPT_MINUTES], M, gamma, c.N, fit.at ? fit.at : "",
			1.3 * (need + spent) / 60 + 0.01);
}

/* ---- many gamma points at the posterior's mode ---- */

/*  The most points, steps of a search, its operations, and how many searches as dear as the last one
    all together are, with their scalings. */
enum { MODE_GAMMA = 6000, MODE_LEAST = 500, MODE_STEPS = 20, MODE_SEARCHES = 8 };
static const double MODE_FLOPS = 3e11;

/*  Of a search on n rows, for P functions of a kernel of D columns. */
static double mode_flops_of(double n, double M, double gamma, double P, double D)
{
	double F = M + gamma;
	return n * (F * F + 2 * M * gamma) + 3 * F * F * F +
		   1.3 * MODE_STEPS * F * (n * (50 + 3 * D + 4 * P) + 4 * P * F);
}
static double mode_flops(const odvgp_config *c, double n, double gamma)
{
	return mode_flops_of(
			n, (double)c->layer[0].M, gamma, (double)c->layer[0].P, config_width(c));
}

/*  Can the mean have many points of its own, and has the posterior one mode? */
static int mode_suits(const odvgp_config *c, odvgp_likelihood kind)
{
	int mean = c->layer[0].mean_part, patches = c->layer[0].patches.height > 0;
	return (mean == ODVGP_MEAN_PART_ORTH || mean == ODVGP_MEAN_PART_HYBRID) && c->layers == 1 &&
		   !patches && !c->independent && has_classes(kind) && kind != ODVGP_LIKELIHOOD_ROBUSTMAX &&
		   !(c->lik.link_jitter > 0);
}

/*  As many points as so many operations allow; 0: no more than the model has. */
static ptrdiff_t mode_points(const odvgp_config *c, odvgp_likelihood kind, double n, double most)
{
	ptrdiff_t gamma = smaller(MODE_GAMMA, (ptrdiff_t)n),
			  least = larger(c->layer[0].M_gamma, MODE_LEAST);
	if (!mode_suits(c, kind)) return 0;
	while (gamma >= least && mode_flops(c, n, (double)gamma) > most) gamma = gamma * 9 / 10;
	return gamma >= least ? gamma / 10 * 10 : 0;
}

#endif

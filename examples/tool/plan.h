/*  plan.h - --basis auto: member, sizes, warm starts and steps from rows, columns and targets, and
    about how long they take.

    The choice is a formula in counted operations, never in seconds, unless --minutes is given: the
    same data get the same options on every machine. bench/first_hour.md has the experiments.

    A pass of the collapsed bound over n rows with M points takes about 8 n M^2 operations. SGPR
    gets the M for which 60 passes take FLOPS, up to five times as many from 20,000 to 100,000 rows,
    but at most a third of the rows: with more points than that L-BFGS has nothing left to choose.
    Where this leaves fewer than LEAST_SGPR points, SOLVE-GP on minibatches follows warm starts.
    Other likelihoods, mixed and independent outputs get COUPLED, ORTH or SOLVE-GP by the number of rows. */
#ifndef TOOL_PLAN_H
#define TOOL_PLAN_H

#include "models.h"

enum { LEAST_SGPR = 256, MOST_SGPR = 1000, WARM_POINTS = 300, WARM_ROWS = 4000, MORE_ROWS = 12000 };
static const double FLOPS = 2.4e12;

typedef struct plan {
	/* Does it decide anything? */
	int made;
	/* Operations of warm starts and training. */
	double flops;
} plan;

/*  Options of training by steps: with one of them --basis auto means orth, as it was before. */
static const int step_options[] = {OPT_ITERS, OPT_GAMMA, OPT_BATCH, OPT_GAMMA_BATCH, OPT_LR,
		OPT_NATGRAD, OPT_NATGRAD_GAMMA, OPT_NATGRAD_BLOCKS, OPT_NATGRAD_DIAG, OPT_NATGRAD_STEP,
		OPT_NATGRAD_WARMUP, OPT_SCHEDULE, OPT_UPDATE, OPT_FIT_Q, OPT_PARAM, OPT_WHITEN, OPT_Q_INIT,
		OPT_GAMMA_COORDS, OPT_INIT_GAMMA, OPT_OPTIMIZER, OPT_IMAGE};

static int is_auto(const options *o) { return strcmp(o->value[OPT_BASIS], "auto") == 0; }

/*  Before the data are read: replaces auto by orth where an option of steps is given. */
static void plan_settle(options *o)
{
	if (!is_auto(o)) return;
	int steps = option_choice(o, OPT_RECIPE) != RECIPE_DEFAULT;
	for (size_t i = 0; i < sizeof step_options / sizeof *step_options; i++)
		steps |= o->given[step_options[i]];
	if (steps) option_store(o, OPT_BASIS, copy_text("orth"));
}

/*  Of the bound and its gradient: products, factors, and the kernel's distances. */
static double pass_flops(double n, double M, double D)
{
	return 8 * n * M * M + 20 * M * M * M + (150 + 20 * D) * n * M;
}

static void plan_number(options *o, int id, ptrdiff_t v)
{
	char text[24];
	snprintf(text, sizeof text, "%td", v);
	if (!o->given[id]) option_store(o, id, copy_text(text));
}

/*  The warm starts before SGPR or SOLVE-GP, as --warm takes them; counts their operations. */
static void plan_warm(plan *p, options *o, ptrdiff_t n, double D)
{
	char text[80];
	if (o->given[OPT_WARM]) return;
	if (n <= WARM_ROWS) {
		option_store(o, OPT_WARM, copy_text("off"));
		return;
	}
	snprintf(text, sizeof text, n > 2 * WARM_ROWS ? "%d:60:%d,%td:20:%d" : "%d:60:%d", WARM_ROWS,
			WARM_POINTS, smaller(n, MORE_ROWS), WARM_POINTS);
	option_store(o, OPT_WARM, copy_text(text));
	p->flops += 75 * pass_flops(WARM_ROWS, WARM_POINTS, D);
	if (n > 2 * WARM_ROWS)
		p->flops += 25 * pass_flops((double)smaller(n, MORE_ROWS), WARM_POINTS, D);
}

/*  Operations that the training may take: of --minutes, at `rate` operations a second, else a
    formula. */
static double plan_budget(const options *o, double n, double rate)
{
	if (o->value[OPT_MINUTES]) return 0.6 * 60 * option_positive(o, OPT_MINUTES) * rate;
	return FLOPS * fmin(5, fmax(1, n / 20000));
}

static void plan_sgpr(plan *p, options *o, double budget, ptrdiff_t n, double D, ptrdiff_t points)
{
	ptrdiff_t M = o->given[OPT_BETA] ? (ptrdiff_t)option_integer(o, OPT_BETA, 1, INT_MAX) : points;
	option_store(o, OPT_BASIS, copy_text("sgpr"));
	plan_number(o, OPT_BETA, M);
	double pass = pass_flops((double)n, (double)M, D), passes = fmin(200, fmax(60, budget / pass));
	if (o->value[OPT_MINUTES]) passes = 10000;
	plan_number(o, OPT_ITERS, (ptrdiff_t)passes);
	p->flops += 1.2 * passes * pass;
}

static void plan_solve(plan *p, options *o, ptrdiff_t n, double D)
{
	option_store(o, OPT_BASIS, copy_text("solve"));
	plan_number(o, OPT_BETA, WARM_POINTS);
	plan_number(o, OPT_GAMMA, WARM_POINTS);
	plan_number(o, OPT_ITERS, 5000);
	p->flops += 5000 * pass_flops(1024, 2 * WARM_POINTS, D) + pass_flops((double)n, WARM_POINTS, D);
}

/*  Other likelihoods than the Gaussian, mixtures and independent outputs need q. Few rows get COUPLED with up to half of them as
    points; more get ORTH, whose mean uses gamma points at little cost; from MANY_ROWS SOLVE-GP, whose band
    uses them too. Natural steps settle q in some hundred steps, kernels take more. */
enum { FEW_ROWS = 600, MANY_ROWS = 100000, Q_POINTS = 200, LEAST_STEPS = 300 };

static void plan_q(plan *p, options *o, double budget, const dataset *d, ptrdiff_t distinct)
{
	ptrdiff_t n = d->train.n, most = larger(1, distinct / 2);
	double F = functions_of(&d->s), D = d->s.D;
	const char *name = n <= FEW_ROWS ? "coupled" : n < MANY_ROWS ? "orth" : "solve";
	ptrdiff_t gamma = n <= FEW_ROWS ? 0 : smaller(n < MANY_ROWS ? 500 : Q_POINTS, most);
	ptrdiff_t beta = smaller(Q_POINTS, most);
	double rows = (double)smaller(n, 1024), points = (double)(beta + gamma), M = (double)beta,
		   kernels = is_independent(o) ? F : 1,
		   step = kernels * pass_flops(rows, M, D) + 6 * (F - 1) * rows * M * M +
				  10 * F * M * M * M + (kernels * (150 + 20 * D) + 4 * F) * rows * points;
	double usual = n <= FEW_ROWS   ? 600
				   : n < MANY_ROWS ? 2000
								   : 3000,
		   steps = fmin(usual, fmax(LEAST_STEPS, budget / step));
	option_store(o, OPT_BASIS, copy_text(name));
	plan_number(o, OPT_BETA, beta);
	if (gamma) plan_number(o, OPT_GAMMA, gamma);
	plan_number(o, OPT_ITERS, (ptrdiff_t)(steps / 100) * 100);
	p->flops += steps * step;
}

/*  Operations a second of products on all threads, over a fifth of a second: what other programs
    take is not available here either. */
static double measured_rate(const workers *w)
{
	enum { SIDE = 384 };
	double done = 0, begin = 0, *A = take_doubles(SIDE, SIDE), *C = take_doubles(SIDE, SIDE);
	size_t size = odvgp_blas_size(&w->threads);
	void *block = take(size, 1);
	odvgp_blas blas;
	for (int i = 0; i < SIDE * SIDE; i++) A[i] = 1e-3 * (i % 7);
	if (!odvgp_blas_init(&blas, &w->threads, ODVGP_ISA_AUTO, block, size))
		for (int k = 0; k < 3 || now() - begin < 0.2; k++) {
			if (k == 1) begin = now();
			odvgp_gemm(&blas, 0, 0, SIDE, SIDE, SIDE, 1, A, SIDE, A, SIDE, 0, C, SIDE);
			if (k) done += 2.0 * SIDE * SIDE * SIDE;
		}
	double rate = done / fmax(1e-9, now() - begin);
	free(A);
	free(C);
	free(block);
	return rate;
}

/*  Replaces --basis auto by explicit options for this data. */
static plan plan_make(options *o, const dataset *d, const workers *w)
{
	plan p = {0, 0};
	if (!is_auto(o)) return p;
	p.made = 1;
	ptrdiff_t n = d->train.n, distinct = count_distinct(d->train.X, n, d->s.D);
	double budget = plan_budget(o, (double)n, o->value[OPT_MINUTES] ? measured_rate(w) : 0);
	double D = d->s.D, most = sqrt(budget / (60 * 8 * (double)n));
	ptrdiff_t points = (ptrdiff_t)fmin(most, MOST_SGPR) / 8 * 8;
	points = larger(1, smaller(larger(points, 8), distinct / 3));
	if (d->s.likelihood != ODVGP_LIKELIHOOD_GAUSSIAN || !is_shared(o)) {
		plan_q(&p, o, budget, d, distinct);
		return p;
	}
	if (most >= LEAST_SGPR || n <= WARM_ROWS || o->given[OPT_BETA])
		plan_sgpr(&p, o, budget, n, D, points);
	else plan_solve(&p, o, n, D);
	plan_warm(&p, o, n, D);
	return p;
}

/*  Seconds of a step of minibatches, and of an iteration of a warm start on WARM_ROWS; 0: none. */
typedef struct timing {
	double step, warm;
} timing;

/*  Times both on a model of its own, within about `most` seconds. */
static timing measured_steps(
		options *o, const dataset *d, const workers *w, odvgp_isa isa, ptrdiff_t M, double most)
{
	model_block block;
	bytes notes = {NULL, 0, 0};
	timing t = {0, 0};
	odvgp_model *model = model_make(o, d, w, isa, &block, &notes);
	const double *X = d->train.X, *Y = d->Y;
	odvgp_status s = odvgp_init_data(model, X, Y, NULL);
	double begin = now();
	odvgp_warm one = {smaller(d->train.n, WARM_ROWS), smaller(M, WARM_ROWS), 3};
	size_t size = odvgp_warm_start_size(model, &one);
	void *work = size ? take(size, 1) : NULL;
	if (!s && work && !odvgp_warm_start(model, &one, X, Y, work, size, NULL))
		t.warm = (now() - begin) / 4;
	free(work);
	for (int steps = 0; !s && !all_rows(o) && (steps < 4 || now() - begin < most); steps++) {
		if (steps == 1) begin = now();
		s = odvgp_step(model, X, Y, NULL, NULL);
		if (steps && !s) t.step = (now() - begin) / steps;
	}
	free(block.at);
	free(notes.at);
	return t;
}

/*  Warm starts that take less than a third of `limit` seconds. Returns their seconds. */
static double plan_minutes_warm(
		options *o, double limit, double iteration, ptrdiff_t n, ptrdiff_t M)
{
	double most = limit / 3, count = fmin(60, most / fmax(1e-9, iteration)),
		   more = (double)smaller(n, MORE_ROWS) / WARM_ROWS * iteration * 25,
		   seconds = count * iteration;
	char text[100], points[24] = "";
	if (M) snprintf(points, sizeof points, ":%td", M);
	int used = snprintf(text, sizeof text, "%td:%.0f%s", smaller(n, WARM_ROWS), count, points);
	if (n > 2 * WARM_ROWS && seconds + more < most) {
		snprintf(text + used, sizeof text - (size_t)used, ",%td:20%s", smaller(n, MORE_ROWS),
				points);
		seconds += more;
	}
	if (!(iteration > 0) || count < 5) seconds = 0;
	option_store(o, OPT_WARM, copy_text(seconds > 0 ? text : "off"));
	return seconds;
}

/*  With --minutes: warm starts that fit into the time and, without --iters, as many steps of
    minibatches as the rest has room for, so that falling step sizes fall over it. */
static void plan_minutes(
		const plan *p, options *o, const dataset *d, const workers *w, odvgp_isa isa, double begin)
{
	if (!o->value[OPT_MINUTES] || o->value[OPT_RESUME] || (all_rows(o) && !p->made)) return;
	double limit = 60 * option_positive(o, OPT_MINUTES), warm = 0;
	ptrdiff_t M = p->made ? WARM_POINTS : 0;
	timing t = measured_steps(o, d, w, isa, M, 0.02 * limit);
	int off = o->value[OPT_WARM] && strcmp(o->value[OPT_WARM], "off") == 0;
	if (!o->given[OPT_WARM] && !off)
		warm = plan_minutes_warm(o, limit - (now() - begin), t.warm, d->train.n, M);
	double left = 0.95 * (limit - (now() - begin) - warm);
	if (t.step > 0) plan_number(o, OPT_ITERS, (ptrdiff_t)fmin(1e8, fmax(1, left / t.step)));
}

/*  Says what was chosen, as options that repeat it, and about how long it takes: products at the
    measured rate, and a fifth as long for all else (bench/first_hour.md has what that gives). */
static void plan_print(const plan *p, const options *o, const dataset *d, const workers *w)
{
	static const int ids[] = {OPT_BASIS, OPT_BETA, OPT_GAMMA, OPT_ITERS, OPT_WARM};
	if (!p->made || o->given[OPT_QUIET]) return;
	fprintf(stderr, "auto: %td rows: ", d->train.n);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		if (o->value[ids[i]] && !(ids[i] == OPT_GAMMA && !basis_of(o)->gamma))
			fprintf(stderr, " --%s %s", option_list[ids[i]].name, o->value[ids[i]]);
	double seconds = 1 + 1.2 * p->flops / fmax(1, measured_rate(w));
	if (o->value[OPT_MINUTES]) seconds = fmin(seconds, 60 * option_positive(o, OPT_MINUTES));
	fprintf(stderr, "; about %.2g s, less if it converges\n", seconds);
}

#endif

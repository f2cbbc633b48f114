/*  L-BFGS: by itself on functions of known optima, and as the optimiser of models. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "lbfgs.h"

/* ---- functions to minimise ---- */

typedef struct function {
	/* The kind of function, as in loss(). */
	int kind;
	ptrdiff_t n, calls;
	/* The condition of the quadratic, and the largest value that the search has evaluated after
       the first. */
	double condition, worst;
} function;
enum { ROSENBROCK, QUADRATIC, LOG_BARRIER, CLIFF, KINK, FLAT };

static void loss(void *user, const odvgp_real *x, double *f, odvgp_real *g)
{
	function *p = (function *)user;
	ptrdiff_t i, n = p->n;
	double sum = 0;
	p->calls++;
	for (i = 0; i < n; i++) g[i] = 0;
	switch (p->kind) {
	case ROSENBROCK:
		for (i = 0; i + 1 < n; i += 2) {
			double a = 1 - (double)x[i], b = (double)x[i + 1] - (double)x[i] * (double)x[i];
			sum += a * a + 100 * b * b;
			g[i] = (odvgp_real)(-2 * a - 400 * (double)x[i] * b);
			g[i + 1] = (odvgp_real)(200 * b);
		}
		break;
	/* The minimum is -n at i/n; curvatures go from 1 to the condition. */
	case QUADRATIC:
		sum = -(double)n;
		for (i = 0; i < n; i++) {
			double c = pow(p->condition, n > 1 ? (double)i / (double)(n - 1) : 0),
				   d = (double)x[i] - (double)i / (double)n;
			sum += 0.5 * c * d * d;
			g[i] = (odvgp_real)(c * d);
		}
		break;
	/* x - log x, which is NaN for x <= 0, has its minimum at 1. */
	case LOG_BARRIER:
		for (i = 0; i < n; i++) {
			sum += (double)x[i] - log((double)x[i]);
			g[i] = (odvgp_real)(1 - 1 / (double)x[i]);
		}
		break;
	/* The function falls towards a wall, beyond which it is NaN; the minimum before the wall is
       3. */
	case CLIFF:
		for (i = 0; i < n; i++) {
			double d = (double)x[i] - 3;
			sum += d * d * (d < 0 ? 1 : 50);
			g[i] = (odvgp_real)(2 * d * (d < 0 ? 1 : 50));
			if (x[i] > (odvgp_real)3.25) sum = NAN, g[i] = (odvgp_real)INFINITY;
		}
		break;
	/* |x| has no Wolfe point at its minimum. */
	case KINK:
		for (i = 0; i < n; i++) {
			sum += fabs((double)x[i]);
			g[i] = x[i] > 0 ? 1 : -1;
		}
		break;
	default: break;
	}
	*f = sum;
}

typedef struct run {
	gp__lbfgs w;
	void *block;
	gp__problem problem;
} run;

/*  The block has exactly the size that was measured. */
static run start(function *f, ptrdiff_t memory, double at)
{
	run r;
	gp__arena a;
	size_t bytes;
	ptrdiff_t i;
	gp__arena_init(&a, NULL, 0);
	gp__lbfgs_layout(&r.w, &a, f->n, memory);
	bytes = a.used + 64;
	r.block = test_alloc(bytes);
	gp__arena_init(&a, r.block, bytes);
	gp__lbfgs_layout(&r.w, &a, f->n, memory);
	CHECK(!a.bad);
	r.problem.loss = loss, r.problem.user = f, r.problem.scale = 1;
	for (i = 0; i < f->n; i++) r.w.x[i] = (odvgp_real)(at * (1 + 0.1 * (double)(i % 3)));
	loss(f, r.w.x, &r.w.loss, r.w.g);
	f->calls = 0;
	return r;
}
/*  Iterates until convergence. The value never rises, and it belongs to the current point.
    Returns the number of iterations. */
static int descend(run *r, int most)
{
	function *f = (function *)r->problem.user;
	odvgp_real *g = NEW(odvgp_real, f->n);
	double value;
	int i;
	for (i = 0; i < most; i++) {
		double before = r->w.loss;
		ptrdiff_t calls = f->calls;
		int moved = gp__lbfgs_iterate(&r->w, &r->problem);
		CHECK_INT(f->calls - calls, r->w.evaluations);
		CHECK_SAY(r->w.evaluations <= 2 * (GP__SEARCH_PROBES + 1), "%ld evaluations",
				(long)r->w.evaluations);
		CHECK_SAY(r->w.loss <= before, "the loss rises from %.17g to %.17g", before, r->w.loss);
		CHECK((moved != 0) == (r->w.length > 0) &&
				(moved || (r->w.converged + r->w.stuck == 1 && r->w.loss == before)));
		loss(f, r->w.x, &value, g);
		f->calls--;
		CHECK(value == r->w.loss && !memcmp(g, r->w.g, (size_t)f->n * sizeof *g));
		if (r->w.converged || r->w.stuck) break;
	}
	free(g);
	return i;
}

TEST(rosenbrock)
{
	ptrdiff_t n, memory;
	for (n = 2; n <= 40; n += 38)
		for (memory = 1; memory <= 17; memory += 8) {
			function f = {ROSENBROCK, 2, 0, 0, 0};
			run r;
			int steps;
			ptrdiff_t i;
			f.n = n;
			r = start(&f, memory, -1.2);
			steps = descend(&r, 3000);
			CHECK_SAY(r.w.converged && steps < (memory == 1 ? 2000 : 200),
					"n %ld, memory %ld: %d steps, loss %g", (long)n, (long)memory, steps, r.w.loss);
			for (i = 0; i < n; i++) CHECK_NEAR(r.w.x[i], 1, BY_PRECISION(1e-4, 2e-2));
			if (n == 40 && memory == 9)
				test_note("40 numbers: %d steps, %ld evaluations", steps, (long)f.calls);
			free(r.block);
		}
}
/*  The search reaches the rounding of the value, for any condition number. */
TEST(quadratics_have_the_known_optimum)
{
	static const double conditions[] = {1, 1e2, 1e4, 1e6};
	int c;
	for (c = 0; c < 4; c++) {
		function f = {QUADRATIC, 30, 0, 0, 0};
		run r;
		int steps;
		f.condition = conditions[c];
		/* With ten pairs the last case takes 10,000 steps. */
		r = start(&f, c < 3 ? 10 : 40, 2);
		steps = descend(&r, 5000);
		CHECK_SAY(r.w.converged, "condition %g: %d steps", conditions[c], steps);
		CHECK_NEAR(r.w.loss, -30, BY_PRECISION(1e-8, 1e-4) * 30);
		if (c == 3) test_note("condition 1e6: %d steps, %ld evaluations", steps, (long)f.calls);
		free(r.block);
	}
}
TEST(values_that_are_no_numbers_are_too_far)
{
	static const int kinds[] = {LOG_BARRIER, CLIFF};
	static const double wanted[] = {1, 3}, from[] = {1e-3, 30, 0.5, -200};
	int k, j;
	for (k = 0; k < 2; k++)
		for (j = 0; j < 2; j++) {
			function f = {0, 6, 0, 0, 0};
			run r;
			ptrdiff_t i;
			f.kind = kinds[k];
			r = start(&f, 5, from[2 * k + j]);
			descend(&r, 500);
			CHECK_SAY(r.w.converged, "function %d from %g", k, from[2 * k + j]);
			for (i = 0; i < f.n; i++) CHECK_NEAR(r.w.x[i], wanted[k], BY_PRECISION(1e-4, 1e-2));
			free(r.block);
		}
}
/*  There is no gradient, or no minimum of a smooth function, or no lower value on the line. */
TEST(searches_end_where_there_is_nothing_to_find)
{
	function flat = {FLAT, 3, 0, 0, 0}, kink = {KINK, 3, 0, 0, 0}, bad = {LOG_BARRIER, 2, 0, 0, 0};
	run r = start(&flat, 3, 1);
	CHECK_INT(gp__lbfgs_iterate(&r.w, &r.problem), 0);
	CHECK(r.w.converged && !r.w.stuck && r.w.evaluations == 0 && r.w.x[0] == 1);
	free(r.block);
	r = start(&kink, 3, 0.7);
	descend(&r, 200);
	CHECK(r.w.converged && r.w.loss < 2.5);
	free(r.block);
	r = start(&bad, 3, 2);
	/* This gradient is wrong. */
	r.w.g[0] = r.w.g[1] = -1;
	r.w.loss = -5;
	CHECK_INT(gp__lbfgs_iterate(&r.w, &r.problem), 0);
	CHECK(r.w.stuck && !r.w.converged && r.w.loss == -5 && r.w.x[0] == 2 && r.w.pairs == 0);
	CHECK(r.w.evaluations <= GP__SEARCH_PROBES + 1);
	free(r.block);
}
/*  Pairs along which the curvature is not positive are dropped, and the ring forgets the oldest
    pair. */
TEST(pairs_are_kept_by_curvature)
{
	function f = {QUADRATIC, 4, 0, 0, 0};
	run r;
	int i, k;
	f.condition = 10;
	r = start(&f, 3, 1);
	for (i = 0; i < 5; i++) {
		for (k = 0; k < 4; k++) {
			r.w.trial[k] = r.w.x[k] + (odvgp_real)(k == i % 4);
			r.w.g_trial[k] = r.w.g[k] + (odvgp_real)(k == i % 4) * (i == 2 ? -1 : 2);
		}
		gp__lbfgs_remember(&r.w);
		CHECK_INT(r.w.pairs, i < 2 ? i + 1 : i < 3 ? 2 : 3);
	}
	CHECK_INT(r.w.next, 1);
	for (k = 0; k < 3; k++) CHECK_NEAR(r.w.sy[k], 2, 20 * EPS);
	memcpy(r.w.trial, r.w.x, 4 * sizeof(odvgp_real));
	/* The step is 0. */
	gp__lbfgs_remember(&r.w);
	CHECK_INT(r.w.next, 1);
	r.w.g_trial[0] = (odvgp_real)INFINITY;
	r.w.trial[0] += 1;
	gp__lbfgs_remember(&r.w);
	CHECK_INT(r.w.next, 1);
	free(r.block);
}
/*  A search that is given the arrays and numbers of another continues like that one. */
TEST(a_search_can_be_taken_up_by_another)
{
	function f = {ROSENBROCK, 8, 0, 0, 0};
	run a = start(&f, 4, -1), b = start(&f, 4, 3);
	int i;
	for (i = 0; i < 9; i++) gp__lbfgs_iterate(&a.w, &a.problem);
	memcpy(b.w.S, a.w.S, 32 * sizeof(odvgp_real)), memcpy(b.w.Y, a.w.Y, 32 * sizeof(odvgp_real));
	memcpy(b.w.x, a.w.x, 8 * sizeof(odvgp_real)), memcpy(b.w.g, a.w.g, 8 * sizeof(odvgp_real));
	memcpy(b.w.sy, a.w.sy, 4 * sizeof(double));
	b.w.pairs = a.w.pairs, b.w.next = a.w.next, b.w.loss = a.w.loss;
	for (i = 0; i < 9; i++) {
		gp__lbfgs_iterate(&a.w, &a.problem);
		gp__lbfgs_iterate(&b.w, &b.problem);
		CHECK_BITS(a.w.x, b.w.x, 8 * sizeof(odvgp_real));
	}
	free(a.block), free(b.block);
}

/* ---- L-BFGS under the model ---- */

/*  Fills a slot with random numbers. */
static void shake(odvgp_model *m, const char *name, double size)
{
	const odvgp_slot *s = odvgp_slot_find(m, name);
	odvgp_real *v = NEW(odvgp_real, s ? s->count : 0);
	ptrdiff_t i;
	for (i = 0; s && i < s->count; i++) v[i] = (odvgp_real)(size * test_normal());
	if (CHECK(s != NULL)) CHECK_STATUS(odvgp_set(m, name, v, s->count, NULL), ODVGP_OK);
	free(v);
}
/*  For a Gaussian likelihood a natural step of size 1 gives the optimal q on beta, with
    everything else fixed. */
TEST(lbfgs_finds_the_optimum_of_a_natural_step)
{
	int orth, param;
	for (orth = 0; orth < 2; orth++)
		for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_PRIMAL;
				param++) {
			odvgp_config c = lbfgs_config(60, 2, 2, 6, orth ? 7 : 0);
			fixture a, b;
			double before, wanted, got;
			int i;
			c.reproduce.parametrisation = (odvgp_parametrisation)param;
			if (sizeof(odvgp_real) == 4 && param != ODVGP_PARAMETRISATION_WHITENED) continue;
			a = make_seeded(&c, 41), b = make_seeded(&c, 41);
			if (orth) shake(a.m, "a_gamma", 0.2);
			test_seed = 1041;
			if (orth) {
				shake(a.m, "a_gamma", 0.2);
				test_seed = 1041;
				shake(b.m, "a_gamma", 0.2);
			}
			CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_set_trainable(a.m, "q_*", 1, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_natgrad_step(b.m, b.X, b.Y, b.N, 1, NULL, NULL), ODVGP_OK);
			before = elbo_of(&a, NULL, NULL), wanted = elbo_of(&b, NULL, NULL);
			CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3000, NULL, NULL), ODVGP_OK);
			got = elbo_of(&a, NULL, NULL);
			CHECK_SAY(wanted > before + 1, "there is something to gain: %g to %g", before, wanted);
			CHECK_NEAR(got, wanted, BY_PRECISION(1e-6, 2e-3) * fabs(wanted));
			CHECK(got <= wanted + BY_PRECISION(1e-9, 1e-4) * fabs(wanted));
			/* Frozen slots have not moved. */
			for (i = 0; i < odvgp_slot_count(a.m); i++) {
				const odvgp_slot *s = odvgp_slot_at(a.m, i);
				if (!s->trainable)
					CHECK_BITS(a.m->par.theta + s->offset, b.m->par.theta + s->offset,
							(size_t)s->count * sizeof(odvgp_real));
			}
			if (sizeof(odvgp_real) == 8)
				CHECK(test_max_diff(a.m->tape.node[a.m->unit[0].block[0].mu.id].v,
							  b.m->tape.node[b.m->unit[0].block[0].mu.id].v,
							  c.layer[0].P * c.layer[0].M) < 1e-3);
			if (!orth && !param) test_note("%ld steps", (long)odvgp_steps_done(a.m));
			drop(&a), drop(&b);
		}
}

/*  For all members with all slots trainable, the bound after a step is never below the bound
    before it, and the report gives that bound. */
TEST(lbfgs_never_loses)
{
	static const struct {
		odvgp_mean_part mean;
		odvgp_cov_part cov;
		odvgp_objective objective;
		int gamma;
	} members[] = {{ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO, 0},
			{ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO, 9},
			{ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO, 5},
			{ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE, ODVGP_OBJECTIVE_ELBO, 5},
			{ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_ELBO, 4},
			{ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, ODVGP_OBJECTIVE_ELBO, 0},
			{ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_COLLAPSED, 0},
			{ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_PARTLY, 4}};
	int k, i, positive;
	for (k = 0; k < (int)(sizeof members / sizeof members[0]); k++)
		for (positive = 0; positive < 2; positive++) {
			odvgp_config c = lbfgs_config(40, 2, 1, 6, members[k].gamma);
			fixture a;
			double first, now, next;
			c.layer[0].mean_part = members[k].mean, c.layer[0].cov_part = members[k].cov,
			c.objective = members[k].objective;
			c.positive_transform =
					positive ? ODVGP_POSITIVE_TRANSFORM_EXP : ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
			c.layer[0].mean_function =
					k == 1 ? ODVGP_MEAN_FUNCTION_LINEAR : ODVGP_MEAN_FUNCTION_ZERO;
			a = make_seeded(&c, 42 + (uint64_t)k);
			first = now = elbo_of(&a, NULL, NULL);
			for (i = 0; i < 30; i++) {
				odvgp_report r = step(&a);
				CHECK_SAY((double)r.elbo == now, "member %d: %.17g reported, %.17g before", k,
						(double)r.elbo, now);
				CHECK_INT(r.step, i + 1);
				CHECK(r.evaluations >= 1 || r.converged);
				next = elbo_of(&a, NULL, NULL);
				CHECK_SAY(next >= now, "member %d, step %d: %.17g after %.17g", k, i, next, now);
				now = next;
			}
			CHECK_SAY(now > first + 5, "member %d gains %g", k, now - first);
			drop(&a);
		}
}

/*  The step that finds nothing lower stops searching when the possible gain is a rounding error,
    long before its evaluations run out. */
TEST(the_last_step_is_not_the_dearest)
{
	static const struct {
		odvgp_mean_part mean;
		odvgp_cov_part cov;
		odvgp_objective objective;
		int gamma;
	} members[] = {{ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_COLLAPSED, 0},
			{ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_COLLAPSED, 6},
			{ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, ODVGP_OBJECTIVE_EXACT, 0},
			{ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_TIGHT, 0}};
	ptrdiff_t most = 0;
	int k, i, positive;
	for (k = 0; k < 4; k++)
		for (positive = 0; positive < 2; positive++) {
			odvgp_config c = lbfgs_config(60, 2, 1,
					members[k].objective == ODVGP_OBJECTIVE_EXACT ? 60 : 8, members[k].gamma);
			odvgp_report r;
			fixture a;
			c.layer[0].kernel = "matern52(ard)";
			c.layer[0].mean_part = members[k].mean, c.layer[0].cov_part = members[k].cov,
			c.objective = members[k].objective;
			c.positive_transform = (odvgp_positive_transform)positive;
			a = make_seeded(&c, 44 + (uint64_t)k);
			for (i = 0; i < 1000; i++) {
				r = step(&a);
				if (r.converged || r.stuck) break;
			}
			CHECK_SAY(r.converged + r.stuck == 1 && r.evaluations < GP__SEARCH_PROBES,
					"member %d, positive %d: converged %d after %d steps, the last of %ld "
					"evaluations",
					k, positive, r.converged, i, (long)r.evaluations);
			if (r.evaluations > most) most = r.evaluations;
			drop(&a);
		}
	test_note("at most %ld evaluations", (long)most);
}
TEST(lbfgs_goes_on_from_a_file)
{
	int at, i, orth;
	for (orth = 0; orth < 2; orth++)
		/* Save before the first step, with part of a history, and with a full ring. */
		for (at = 0; at < 9; at += 4) {
			odvgp_config c = lbfgs_config(40, 2, 1, 5, orth ? 6 : 0);
			fixture a, b;
			c.optim.lbfgs_memory = 5;
			a = make_seeded(&c, 43);
			for (i = 0; i < at; i++) step(&a);
			CHECK_INT(a.m->lbfgs.pairs, at > 5 ? 5 : at);
			b = load_again(&a);
			CHECK_INT(b.m->lbfgs.pairs, a.m->lbfgs.pairs);
			for (i = 0; i < 12; i++) {
				odvgp_report p = step(&a), q = step(&b);
				CHECK(p.elbo == q.elbo && p.evaluations == q.evaluations && p.lr == q.lr &&
						p.converged == q.converged);
				same_parameters(a.m, b.m);
			}
			free(b.block);
			drop(&a);
		}
}

/*  After a change the history belongs to another function and is dropped; calls that only read
    change nothing. */
TEST(lbfgs_starts_afresh_after_changes)
{
	odvgp_config c = lbfgs_config(40, 2, 1, 5, 6);
	int change, i;
	for (change = 0; change < 10; change++) {
		fixture a = make_seeded(&c, 44);
		int looks = change >= 8;
		double before;
		for (i = 0; i < 6; i++) step(&a);
		CHECK_INT(a.m->lbfgs.pairs, 6);
		switch (change) {
		case 0: set_number(a.m, "noise_variance", 0.2); break;
		case 1: CHECK_STATUS(odvgp_init_q(a.m, NULL), ODVGP_OK); break;
		case 2: CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK); break;
		case 3: CHECK_STATUS(odvgp_set_trainable(a.m, "Z_beta", 0, NULL), ODVGP_OK); break;
		case 4:
			CHECK_STATUS(
					odvgp_set_bounds(a.m, "noise_variance", (odvgp_real)0.001, 1, NULL), ODVGP_OK);
			break;
		case 5:
			CHECK_STATUS(odvgp_set_prior(a.m, "noise_variance", ODVGP_PRIOR_LOGNORMAL, -2, 1, NULL),
					ODVGP_OK);
			break;
		case 6: a.Y[3] += 1; break;
		case 7:
			CHECK_STATUS(
					odvgp_natgrad_step(a.m, a.X, a.Y, a.N, (odvgp_real)0.1, NULL, NULL), ODVGP_OK);
			break;
		case 8: elbo_of(&a, NULL, NULL); break;
		/* These are the same rows at another address, with the other call. */
		default: {
			odvgp_real *X = NEW(odvgp_real, 80);
			odvgp_report r;
			memcpy(X, a.X, 80 * sizeof *X);
			CHECK_STATUS(odvgp_step_batch(a.m, X, a.Y, a.N, &r, NULL), ODVGP_OK);
			free(X);
		}
		}
		before = elbo_of(&a, NULL, NULL);
		CHECK(step(&a).elbo == (odvgp_real)before);
		CHECK(elbo_of(&a, NULL, NULL) >= before);
		CHECK_SAY(a.m->lbfgs.pairs == (uint64_t)(looks ? change - 1 : 1), "change %d: %ld pairs",
				change, (long)a.m->lbfgs.pairs);
		drop(&a);
	}
}

/*  Points nearly coincide, and only raised jitter separates them: the bound that a step reports
    is the bound of the parameters it leaves. */
TEST(lbfgs_lives_with_jitter)
{
	odvgp_config c = lbfgs_config(40, 1, 1, 8, 0);
	fixture a, b = {0};
	odvgp_real Z[8];
	double now, next;
	int i;
	c.layer[0].kernel = "rbf(1)";
	c.jitter.relative = 0;
	a = make_seeded(&c, 45);
	/* The points form pairs of equal ones. */
	for (i = 0; i < 8; i++) Z[i] = (odvgp_real)((i - i % 2) * 0.35 - 1);
	CHECK_STATUS(odvgp_set(a.m, "Z_beta", Z, 8, NULL), ODVGP_OK);
	now = elbo_of(&a, NULL, NULL);
	/* The jitter stays where it was raised to. */
	for (i = 0; i < 150; i++) {
		double start = elbo_of(&a, NULL, NULL);
		odvgp_report r = step(&a);
		next = elbo_of(&a, NULL, NULL);
		CHECK_SAY(next >= start && (double)r.elbo == start, "step %d: %.17g, %.17g, %.17g", i,
				start, (double)r.elbo, next);
		if (i == 20) b = load_again(&a);
		if (i > 20 && i < 30) {
			step(&b);
			same_parameters(a.m, b.m);
		}
	}
	CHECK(next > now + 5);
	CHECK(odvgp_model_events(a.m).jitter_raised > 0 && odvgp_model_events(a.m).step_undone == 0);
	free(b.block);
	drop(&a);
}

TEST(lbfgs_refuses_what_it_cannot_do)
{
	odvgp_config c = lbfgs_config(40, 2, 1, 5, 6), d;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_report r, kept;
	size_t bytes = 77, with, without;
	odvgp_real *theta;
	fixture a;
	d = c, d.optim.natgrad = 1;
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&d, &info), &info), ODVGP_E_UNSUPPORTED);
	CHECK(strstr(info.text, "natgrad") && strstr(info.text, "L-BFGS"));
	d = c, d.optim.batch = 39;
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&d, &info), &info), ODVGP_E_UNSUPPORTED);
	CHECK(strstr(info.text, "full batch") != NULL);
	d = c, d.optim.lbfgs_memory = 0;
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&d, &info), &info), ODVGP_E_ARG);
	d = c, d.optim.lbfgs_memory = 1001;
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&d, &info), &info), ODVGP_E_ARG);
	d = c, d.optim.kind = (odvgp_optimizer)2;
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&d, &info), &info), ODVGP_E_ARG);
	CHECK_INT(bytes, 77);
	CHECK_STATUS(sized(&with, odvgp_model_size(&c, &info), &info), ODVGP_OK);
	/* Only L-BFGS uses memory for its history. */
	d = c, d.optim.kind = ODVGP_OPTIMIZER_ADAM, d.optim.lbfgs_memory = 1000;
	CHECK_STATUS(sized(&without, odvgp_model_size(&d, &info), &info), ODVGP_OK);
	a = make_seeded(&c, 46);
	CHECK(with > without + 10 * 2 * (size_t)odvgp_param_count(a.m) * sizeof(odvgp_real) &&
			with < without + 40 * (size_t)odvgp_param_count(a.m) * sizeof(odvgp_real));
	memset(&r, 0x5a, sizeof r), kept = r;
	theta = NEW(odvgp_real, odvgp_param_count(a.m));
	step(&a);
	memcpy(theta, a.m->par.theta, (size_t)odvgp_param_count(a.m) * sizeof *theta);
	CHECK_STATUS(odvgp_step_batch(a.m, a.X, a.Y, 39, &r, &info), ODVGP_E_UNSUPPORTED);
	CHECK(strstr(info.text, "full batch") != NULL);
	a.Y[7] = (odvgp_real)NAN;
	CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, &info), ODVGP_E_NAN);
	CHECK_INT(info.row, 7);
	CHECK(!memcmp(&r, &kept, sizeof r) &&
			!memcmp(theta, a.m->par.theta, (size_t)odvgp_param_count(a.m) * sizeof *theta));
	CHECK_INT(odvgp_steps_done(a.m), 1);
	free(theta);
	drop(&a);
}

typedef struct ending {
	int steps, converged, stuck;
} ending;
static int count_steps(void *user, const odvgp_progress *at)
{
	ending *end = (ending *)user;
	const odvgp_report *r = at->report;
	if (!r) return 0;
	end->steps++;
	end->converged = r->converged;
	end->stuck = r->stuck;
	return 0;
}
/*  In float the last search may find no lower point although the gradient, which is rounding error
    by then, promises one: the report says "stuck", and training ends as well. */
TEST(fit_ends_when_lbfgs_has_converged)
{
	odvgp_config c = lbfgs_config(30, 1, 1, 4, 0);
	fixture a = make_seeded(&c, 47);
	ending end = {0, 0, 0};
	odvgp_watch watch = {count_steps, &end};
	double now, e;
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5000, &watch, NULL), ODVGP_OK);
	CHECK(end.converged || BY_PRECISION(0, end.stuck));
	CHECK_SAY(end.steps < 3000, "%d", end.steps);
	CHECK_INT(odvgp_steps_done(a.m), end.steps);
	test_note("%d steps", end.steps);
	now = elbo_of(&a, NULL, NULL);
	step(&a);
	e = elbo_of(&a, NULL, NULL);
	/* Training has converged. */
	CHECK(e >= now && e - now < BY_PRECISION(1e-6, 1e-1));
	drop(&a);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(rosenbrock);
	RUN(quadratics_have_the_known_optimum);
	RUN(values_that_are_no_numbers_are_too_far);
	RUN(searches_end_where_there_is_nothing_to_find);
	RUN(pairs_are_kept_by_curvature);
	RUN(a_search_can_be_taken_up_by_another);
	RUN(lbfgs_finds_the_optimum_of_a_natural_step);
	RUN(lbfgs_never_loses);
	RUN(the_last_step_is_not_the_dearest);
	RUN(lbfgs_goes_on_from_a_file);
	RUN(lbfgs_starts_afresh_after_changes);
	RUN(lbfgs_lives_with_jitter);
	RUN(lbfgs_refuses_what_it_cannot_do);
	RUN(fit_ends_when_lbfgs_has_converged);
	return test_end();
}

/*  The warm start: every member gains by it, frozen slots stay, its bits repeat, units do not
    matter, and what it refuses changes nothing. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "hooks.h"
#include "test.h"

enum { ROWS = 240, INPUTS = 2, BETA = 12, GAMMA = 16, STEPS = 40 };

typedef struct problem {
	odvgp_real X[ROWS * INPUTS], Y[ROWS * 2];
} problem;

static problem make_problem(ptrdiff_t P, double x_unit, double y_unit)
{
	problem p;
	test_seed = 77;
	for (ptrdiff_t i = 0; i < ROWS; i++) {
		double a = test_between(-2, 2), b = test_between(-2, 2), e = 0.1 * test_normal();
		p.X[i * INPUTS] = (odvgp_real)(x_unit * a);
		p.X[i * INPUTS + 1] = (odvgp_real)(x_unit * b);
		for (ptrdiff_t k = 0; k < P; k++)
			p.Y[i * P + k] = (odvgp_real)(y_unit * (sin(2 * a + (double)k) + 0.5 * b + e));
	}
	return p;
}

/*  A model in a block of its own. */
typedef struct made {
	odvgp_model *m;
	void *block;
} made;

/*  Returns no model if the config is refused as E_UNSUPPORTED. */
static made make(const odvgp_config *c, const problem *p)
{
	made a = {NULL, NULL};
	size_t bytes;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_status s = sized(&bytes, odvgp_model_size(c, &info), &info);
	if (s == ODVGP_E_UNSUPPORTED) return a;
	if (!CHECK_SAY(s == ODVGP_OK, "size: %s", info.text)) exit(3);
	a.block = test_alloc(bytes);
	if (!CHECK_SAY(odvgp_model_init(&a.m, c, a.block, bytes, &info) == ODVGP_OK, "%s", info.text) ||
			!CHECK_SAY(odvgp_init_data(a.m, p->X, p->Y, NULL, &info) == ODVGP_OK, "%s", info.text))
		exit(3);
	return a;
}

static odvgp_status warm(odvgp_model *m, const odvgp_warm *w, const problem *p, odvgp_info *info)
{
	size_t bytes = odvgp_warm_start_scratch(m, w, NULL);
	void *work = test_alloc(bytes);
	odvgp_status s = odvgp_warm_start(m, p->X, p->Y, w, NULL, work, bytes, info);
	free(work);
	return s;
}

static void steps(odvgp_model *m, const problem *p, int count)
{
	for (int i = 0; i < count; i++) CHECK_STATUS(odvgp_step(m, p->X, p->Y, NULL, NULL), ODVGP_OK);
}

static double bound(odvgp_model *m, const problem *p)
{
	odvgp_real elbo = 0;
	CHECK_STATUS(odvgp_elbo(m, p->X, p->Y, ROWS, &elbo, NULL, NULL, NULL), ODVGP_OK);
	return (double)elbo;
}

static uint64_t bits(const odvgp_model *m)
{
	uint64_t hash = 1469598103934665603u;
	for (int i = 0; i < odvgp_slot_count(m); i++) {
		const odvgp_slot *s = odvgp_slot_at(m, i);
		odvgp_real *v = NEW(odvgp_real, s->count);
		CHECK_STATUS(odvgp_get(m, s->name, v, s->count, NULL), ODVGP_OK);
		for (size_t k = 0; k < (size_t)s->count * sizeof *v; k++)
			hash = (hash ^ ((unsigned char *)v)[k]) * 1099511628211u;
		free(v);
	}
	return hash;
}

static odvgp_config config(ptrdiff_t P)
{
	odvgp_config c = odvgp_config_defaults(ROWS, INPUTS, P, BETA, GAMMA);
	c.optim.batch = 64;
	return c;
}

static void get(const odvgp_model *m, const char *name, odvgp_real *v, ptrdiff_t count)
{
	CHECK_STATUS(odvgp_get(m, name, v, count, NULL), ODVGP_OK);
}

/*  These slots are the same to rounding. */
static void same_slots(
		const odvgp_model *a, const odvgp_model *b, const char *const *names, int count)
{
	odvgp_real u[BETA * BETA], v[BETA * BETA];
	for (int i = 0; i < count; i++) {
		ptrdiff_t n = odvgp_slot_find(a, names[i])->count;
		get(a, names[i], u, n);
		get(b, names[i], v, n);
		for (ptrdiff_t k = 0; k < n; k++)
			CHECK_NEAR(u[k], v[k], 1e4 * EPS * fmax(1, fabs((double)v[k])));
	}
}

static void refused(made *a, const odvgp_warm *w, const problem *p, void *work, size_t bytes,
		odvgp_status want, const char *what)
{
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	uint64_t before = bits(a->m);
	CHECK_STATUS(odvgp_warm_start(a->m, p->X, p->Y, w, NULL, work, bytes, &info), want);
	CHECK_SAY(info.what && !strcmp(info.what, what), "%s, not %s: %s", info.what ? info.what : "",
			what, info.text);
	CHECK(bits(a->m) == before);
}

/* ---- what it gains ---- */

/*  The bound after a warm start and some steps is above that of a cold start and as many steps. */
TEST(every_member_gains)
{
	int members = 0, count = test_size(STEPS, STEPS / 2);
	for (int i = 0; i < 2 * 5 * 4 * 2; i++) {
		odvgp_config c = config(1 + i % 2);
		problem p = make_problem(1 + i % 2, 1, 1);
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		c.layer[0].mean_part = (odvgp_mean_part)(i / 2 % 5);
		c.layer[0].cov_part = (odvgp_cov_part)(i / 10 % 4);
		c.optim.natgrad = i / 40;
		if (c.layer[0].mean_part == ODVGP_MEAN_PART_FREE &&
				c.layer[0].cov_part == ODVGP_COV_PART_DIAGONAL)
			c.layer[0].M_gamma = 0;
		made cold = make(&c, &p), hot = make(&c, &p);
		if (!cold.m) continue;
		if (c.layer[0].cov_part == ODVGP_COV_PART_DIAGONAL &&
				c.layer[0].mean_part != ODVGP_MEAN_PART_FREE) {
			unsigned char byte = 0;
			refused(&hot, NULL, &p, &byte, 1, ODVGP_E_UNSUPPORTED, "cov_part");
			free(cold.block);
			free(hot.block);
			continue;
		}
		CHECK_SAY(warm(hot.m, NULL, &p, &info) == ODVGP_OK, "%s", info.text);
		steps(cold.m, &p, count);
		steps(hot.m, &p, count);
		CHECK_SAY(bound(hot.m, &p) >= bound(cold.m, &p), "mean %d, cov %d, natgrad %d: %g, cold %g",
				(int)c.layer[0].mean_part, (int)c.layer[0].cov_part, c.optim.natgrad,
				bound(hot.m, &p), bound(cold.m, &p));
		CHECK_INT(odvgp_steps_done(hot.m), count);
		free(cold.block);
		free(hot.block);
		members++;
	}
	CHECK_SAY(members >= 20, "%d members", members);
}

/*  The objectives without q, with a kernel and a prior mean of several parts. */
TEST(bounds_without_q_gain)
{
	for (int i = 0; i < 4; i++) {
		odvgp_config c = config(2);
		problem p = make_problem(2, 1, 1);
		c.objective = i < 2 ? ODVGP_OBJECTIVE_COLLAPSED : ODVGP_OBJECTIVE_PARTLY;
		c.layer[0].mean_part = i % 2 ? ODVGP_MEAN_PART_BLOCKS : ODVGP_MEAN_PART_BETA;
		c.layer[0].cov_part = i % 2 ? ODVGP_COV_PART_BLOCKS : ODVGP_COV_PART_DENSE;
		if (i == 2) c.objective = ODVGP_OBJECTIVE_TIGHT;
		c.layer[0].kernel = "rbf(ard) + linear * matern32";
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
		c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
		c.optim.natgrad = 0;
		c.optim.batch = ROWS;
		made a = make(&c, &p);
		if (!a.m) continue;
		odvgp_warm w = {120, 0, 20, 0};
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		double before = bound(a.m, &p);
		CHECK_SAY(warm(a.m, &w, &p, &info) == ODVGP_OK, "%s", info.text);
		CHECK_SAY(bound(a.m, &p) > before, "case %d: %g, before %g", i, bound(a.m, &p), before);
		free(a.block);
	}
}

/*  A subset, another number of points, and a second call on more rows. */
TEST(subsets_and_sizes)
{
	problem p = make_problem(1, 1, 1);
	odvgp_config c = config(1);
	static const odvgp_warm list[] = {{60, 0, 30, 0}, {60, 40, 30, 0}, {ROWS, 5, 30, 0},
			{0, 40, 0, 0}, {60, 0, 30, (odvgp_real)0.1}};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		made a = make(&c, &p);
		odvgp_real before[BETA * INPUTS], after[BETA * INPUTS];
		double cold = bound(a.m, &p);
		get(a.m, "Z_beta", before, BETA * INPUTS);
		CHECK_STATUS(warm(a.m, &list[i], &p, NULL), ODVGP_OK);
		get(a.m, "Z_beta", after, BETA * INPUTS);
		CHECK_INT(memcmp(before, after, sizeof before) != 0, list[i].M == 0);
		double first = bound(a.m, &p);
		CHECK_SAY(first > cold, "%d: %g, cold %g", (int)i, first, cold);
		CHECK_STATUS(warm(a.m, NULL, &p, NULL), ODVGP_OK);
		CHECK_SAY(bound(a.m, &p) >= first - 0.5, "%d: %g, first %g", (int)i, bound(a.m, &p), first);
		free(a.block);
	}
}

/*  With Adam it takes the steps of a collapsed model's training on the same rows. */
TEST(adam_takes_the_steps_of_a_training)
{
	static const char *const names[] = {
			"kernel.0.lengthscale", "kernel.0.variance", "noise_variance", "Z_beta"};
	problem p = make_problem(1, 1, 1);
	odvgp_config c = config(1), collapsed = c;
	odvgp_warm w = {ROWS, 0, 12, (odvgp_real)0.05};
	collapsed.objective = ODVGP_OBJECTIVE_COLLAPSED;
	collapsed.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
	collapsed.layer[0].M_gamma = collapsed.optim.gamma_batch = collapsed.optim.natgrad = 0;
	collapsed.optim.batch = ROWS;
	collapsed.optim.lr = odvgp_constant(w.adam);
	made a = make(&c, &p), b = make(&collapsed, &p);
	odvgp_real v[BETA * INPUTS];
	for (int i = 0; i < 4; i++) {
		ptrdiff_t n = odvgp_slot_find(a.m, names[i])->count;
		get(a.m, names[i], v, n);
		CHECK_STATUS(odvgp_set(b.m, names[i], v, n, NULL), ODVGP_OK);
	}
	CHECK_STATUS(warm(a.m, &w, &p, NULL), ODVGP_OK);
	steps(b.m, &p, (int)w.iterations);
	same_slots(a.m, b.m, names, 4);
	free(a.block);
	free(b.block);
}

/*  Sets m's slots, but for q, to those of `from`, and q to its optimum on n rows. */
static void fit_as(odvgp_model *m, const odvgp_model *from, const odvgp_real *X, const odvgp_real *Y)
{
	size_t bytes = odvgp_fit_q_scratch(m, NULL);
	void *work = test_alloc(bytes);
	odvgp_real v[BETA * BETA];
	for (int i = 0; i < odvgp_slot_count(m); i++) {
		const odvgp_slot *s = odvgp_slot_at(m, i);
		if (!strncmp(s->name, "q_", 2) || !strcmp(s->name, "a_gamma")) continue;
		get(from, s->name, v, s->count);
		CHECK_STATUS(odvgp_set(m, s->name, v, s->count, NULL), ODVGP_OK);
	}
	CHECK_STATUS(odvgp_fit_q(m, X, Y, NULL, work, bytes, NULL), ODVGP_OK);
	free(work);
}

/*  q's optimum is that of all rows, or of the subset where all are 20 times as many and natural steps
    on minibatches follow. */
TEST(many_rows_do_not_all_give_q)
{
	static const char *const names[] = {"q_mu", "q_sqrt", "a_gamma"};
	problem p = make_problem(1, 1, 1), subset;
	for (int i = 0; i < 4; i++) {
		odvgp_config c = config(1), few;
		c.layer[0].M = c.layer[0].M_gamma = 4; /* Kb stays well conditioned on a dozen rows */
		few = c;
		ptrdiff_t rows = i == 1 ? ROWS / 20 + 1 : ROWS / 20;
		int all = i > 0;
		if (i == 2) c.optim.batch = ROWS;
		if (i == 3) c.optim.natgrad = 0;
		if (!all) few.N = few.optim.batch = rows;
		for (ptrdiff_t k = 0; k < rows; k++) {
			ptrdiff_t row = gp__permute(c.seed, GP__STREAM_WARM, 0, ROWS, k);
			memcpy(subset.X + k * INPUTS, p.X + row * INPUTS, INPUTS * sizeof *p.X);
			subset.Y[k] = p.Y[row];
		}
		const problem *of = all ? &p : &subset;
		made a = make(&c, &p), b = make(&few, of);
		odvgp_warm w = {rows, 0, 20, 0};
		double cold = bound(a.m, &p);
		CHECK_STATUS(warm(a.m, &w, &p, NULL), ODVGP_OK);
		CHECK(bound(a.m, &p) > cold);
		fit_as(b.m, a.m, of->X, of->Y);
		same_slots(a.m, b.m, names, 3);
		free(a.block);
		free(b.block);
	}
}

/* ---- what it keeps ---- */

TEST(frozen_slots_stay)
{
	static const char *const names[] = {
			"noise_variance", "kernel.0.lengthscale", "Z_beta", "q_mu", "q_sqrt", "a_gamma"};
	problem p = make_problem(1, 1, 1);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		odvgp_config c = config(1);
		made a = make(&c, &p);
		ptrdiff_t n = odvgp_slot_find(a.m, names[i])->count;
		odvgp_real *before = NEW(odvgp_real, n), *after = NEW(odvgp_real, n);
		uint64_t all = bits(a.m);
		get(a.m, names[i], before, n);
		CHECK_STATUS(odvgp_set_trainable(a.m, names[i], 0, NULL), ODVGP_OK);
		CHECK_STATUS(warm(a.m, NULL, &p, NULL), ODVGP_OK);
		get(a.m, names[i], after, n);
		CHECK_SAY(memcmp(before, after, (size_t)n * sizeof *before) == 0, "%s", names[i]);
		/* With a frozen q the bound would fall, so nothing changes. */
		CHECK_INT(bits(a.m) != all, strncmp(names[i], "q_", 2) != 0);
		free(before);
		free(after);
		free(a.block);
	}
}

TEST(bounds_and_priors_hold)
{
	problem p = make_problem(1, 1, 1);
	odvgp_config c = config(1);
	made a = make(&c, &p), b = make(&c, &p);
	odvgp_real noise, ls[2][INPUTS];
	CHECK_STATUS(odvgp_set_bounds(a.m, "noise_variance", (odvgp_real)0.2, 1, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set_prior(a.m, "kernel.0.lengthscale", ODVGP_PRIOR_LOGNORMAL, 3,
						 (odvgp_real)0.01, NULL),
			ODVGP_OK);
	CHECK_STATUS(warm(a.m, NULL, &p, NULL), ODVGP_OK);
	CHECK_STATUS(warm(b.m, NULL, &p, NULL), ODVGP_OK);
	get(a.m, "noise_variance", &noise, 1);
	CHECK((double)noise >= 0.2 && (double)noise <= 1);
	get(a.m, "kernel.0.lengthscale", ls[0], INPUTS);
	get(b.m, "kernel.0.lengthscale", ls[1], INPUTS);
	for (int d = 0; d < INPUTS; d++) CHECK(fabs((double)ls[0][d] / exp(3) - 1) < 0.2);
	CHECK((double)ls[1][0] < 10);
	free(a.block);
	free(b.block);
}

/*  A noise for each output has the bounds, the prior and the freedom of one noise for all: frozen
    noises stay, and the kernel is what it is beside one noise, their geometric mean. */
TEST(noises_of_outputs_are_set_like_one)
{
	enum { SAME, DIFFERENT, BOUNDS, PRIOR, FREE, WAYS };
	const odvgp_real frozen[WAYS][2] = {{3, 3}, {(odvgp_real)0.02, 2}},
					 one[] = {3, (odvgp_real)0.2};
	problem p = make_problem(2, 1, 1);
	for (int way = 0; way < WAYS; way++) {
		odvgp_config c = config(2);
		odvgp_real noise[2], kernel[2][INPUTS + 1];
		for (int several = 0; several < 2; several++) {
			c.lik.noise_per_output = several;
			made a = make(&c, &p);
			if (way < BOUNDS) {
				const odvgp_real *v = several ? frozen[way] : &one[way];
				CHECK_STATUS(odvgp_set(a.m, "noise_variance", v, 1 + several, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_set_trainable(a.m, "noise_variance", 0, NULL), ODVGP_OK);
			}
			if (way == BOUNDS)
				CHECK_STATUS(odvgp_set_bounds(a.m, "noise_variance", 2, 4, NULL), ODVGP_OK);
			if (way == PRIOR)
				CHECK_STATUS(odvgp_set_prior(a.m, "noise_variance", ODVGP_PRIOR_LOGNORMAL, 1,
									 (odvgp_real)0.01, NULL),
						ODVGP_OK);
			CHECK_STATUS(warm(a.m, NULL, &p, NULL), ODVGP_OK);
			get(a.m, "noise_variance", noise, 1 + several);
			get(a.m, "kernel.0.lengthscale", kernel[several], INPUTS);
			get(a.m, "kernel.0.variance", kernel[several] + INPUTS, 1);
			if (several && way < BOUNDS) CHECK_BITS(noise, frozen[way], sizeof noise);
			if (several && way == FREE) CHECK((double)noise[0] < 0.1 && noise[0] == noise[1]);
			free(a.block);
		}
		for (int k = 0; k <= INPUTS; k++)
			CHECK_SAY(fabs((double)(kernel[1][k] / kernel[0][k]) - 1) < BY_PRECISION(1e-6, 1e-2),
					"%d: lengthscale or variance %d is %g, beside one noise %g", way, k,
					(double)kernel[1][k], (double)kernel[0][k]);
	}
}

/* ---- the same bits ---- */

static void run_backwards(void *user, int n, void (*task)(void *arg, int i), void *arg)
{
	(void)user;
	while (n--) task(arg, n);
}

TEST(bits_repeat)
{
	problem p = make_problem(1, 1, 1);
	odvgp_config c = config(1);
	odvgp_warm w = {100, 0, 25, 0};
	made a = make(&c, &p);
	c.threads.run = run_backwards;
	c.threads.count = 3;
	made b = make(&c, &p);
	CHECK_STATUS(warm(a.m, &w, &p, NULL), ODVGP_OK);
	CHECK_STATUS(warm(b.m, &w, &p, NULL), ODVGP_OK);
	CHECK(bits(a.m) == bits(b.m));
	size_t size = odvgp_save_size(a.m, 0, NULL), bytes;
	void *file = test_alloc(size), *block;
	odvgp_model *loaded;
	CHECK_STATUS(odvgp_save_memory(a.m, NULL, NULL, 0, file, size, NULL), ODVGP_OK);
	CHECK_STATUS(
			sized(&bytes, odvgp_load_size(file, size, NULL, ODVGP_ISA_AUTO, NULL), NULL), ODVGP_OK);
	block = test_alloc(bytes);
	CHECK_STATUS(odvgp_load_memory(&loaded, file, size, NULL, ODVGP_ISA_AUTO, block, bytes, NULL),
			ODVGP_OK);
	CHECK_STATUS(odvgp_fit(loaded, p.X, p.Y, 10, NULL, NULL), ODVGP_OK);
	steps(b.m, &p, 10);
	CHECK(bits(loaded) == bits(b.m));
	free(file);
	free(block);
	free(a.block);
	free(b.block);
}

/*  Inputs and targets in other units: the same bound but for N log(unit). Powers of two, so that
    rounding is the same. */
TEST(units_do_not_matter)
{
	odvgp_config c = config(1);
	double first = 0;
	for (int i = 0; i < 3; i++) {
		double x = ldexp(1, BY_PRECISION(20, 6) * (i - 1)),
			   y = ldexp(1, BY_PRECISION(20, 6) * (1 - i));
		problem p = make_problem(1, x, y);
		made a = make(&c, &p);
		odvgp_warm w = {200, 0, 40, 0};
		CHECK_STATUS(warm(a.m, &w, &p, NULL), ODVGP_OK);
		double scaled = bound(a.m, &p) + ROWS * log(y);
		if (!i) first = scaled;
		CHECK_NEAR(scaled, first, BY_PRECISION(0.05, 8.0));
		free(a.block);
	}
}

/* ---- odvgp_fit ---- */

TEST(fit_warms_new_models_only)
{
	problem p = make_problem(1, 1, 1);
	odvgp_config c = config(1);
	odvgp_model *m;
	made cold = make(&c, &p), hot = make(&c, &p);
	const odvgp_warm first = {0, 0, 100, (odvgp_real)0.03};
	CHECK_STATUS(warm(hot.m, &first, &p, NULL), ODVGP_OK);
	CHECK_STATUS(warm(hot.m, NULL, &p, NULL), ODVGP_OK);
	for (int i = 0; i < 5; i++) {
		odvgp_real noise;
		c.init.warm = i != 1;
		CHECK_STATUS(odvgp_model_create(&m, &c, p.X, p.Y, NULL, NULL), ODVGP_OK);
		if (i == 2) {
			get(m, "noise_variance", &noise, 1);
			CHECK_STATUS(odvgp_set(m, "noise_variance", &noise, 1, NULL), ODVGP_OK);
		}
		if (i == 3) CHECK_STATUS(odvgp_step(m, p.X, p.Y, NULL, NULL), ODVGP_OK);
		if (i == 4) CHECK_STATUS(odvgp_fit(m, p.X, p.Y, 0, NULL, NULL), ODVGP_OK);
		int before = test_allocations, warms = i == 0 || i == 4;
		CHECK_STATUS(odvgp_fit(m, p.X, p.Y, i == 3 ? 4 : 5, NULL, NULL), ODVGP_OK);
		CHECK_INT(test_allocations - before, warms);
		CHECK_STATUS(odvgp_fit(m, p.X, p.Y, 5, NULL, NULL), ODVGP_OK);
		CHECK_INT(test_allocations - before, warms);
		if (i == 0) steps(hot.m, &p, 10);
		if (i == 1) CHECK_STATUS(odvgp_fit(cold.m, p.X, p.Y, 10, NULL, NULL), ODVGP_OK);
		if (i) CHECK_INT(bits(m) == bits(cold.m) || i == 2, !warms);
		CHECK_INT(bits(m) == bits(hot.m), warms);
		odvgp_model_free(m);
	}
	free(cold.block);
	free(hot.block);
}

/* ---- refusals ---- */

TEST(refusals_change_nothing)
{
	static const struct {
		odvgp_warm w;
		const char *what;
	} bad[] = {{{ROWS + 1, 0, 0, 0}, "settings"}, {{-1, 0, 0, 0}, "settings"},
			{{100, 101, 0, 0}, "settings"}, {{100, -1, 0, 0}, "settings"},
			{{0, 0, -1, 0}, "settings"}, {{0, 0, 0, (odvgp_real)-0.1}, "settings"},
			{{0, 0, 0, 2}, "settings"}, {{0, 0, 0, (odvgp_real)NAN}, "settings"}};
	problem p = make_problem(1, 1, 1);
	odvgp_config c = config(1);
	made a = make(&c, &p);
	size_t bytes = odvgp_warm_start_scratch(a.m, NULL, NULL);
	void *work = test_alloc(bytes);
	odvgp_info info;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		refused(&a, &bad[i].w, &p, work, bytes, ODVGP_E_ARG, bad[i].what);
		CHECK(odvgp_warm_start_scratch(a.m, &bad[i].w, NULL) == 0);
	}
	refused(&a, NULL, &p, NULL, bytes, ODVGP_E_ARG, "scratch");
	refused(&a, NULL, &p, work, bytes / 2, ODVGP_E_MEMORY, "scratch");
	refused(&a, NULL, &p, work, 10, ODVGP_E_MEMORY, "scratch");
	CHECK_STATUS(odvgp_warm_start(NULL, p.X, p.Y, NULL, NULL, work, bytes, &info), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_warm_start(a.m, NULL, p.Y, NULL, NULL, work, bytes, &info), ODVGP_E_ARG);
	CHECK(odvgp_warm_start_scratch(NULL, NULL, NULL) == 0);
	p.Y[17] = (odvgp_real)NAN;
	refused(&a, NULL, &p, work, bytes, ODVGP_E_NAN, "Y");
	free(work);
	free(a.block);
}

/*  Positive targets: f in their logarithm, and noise of a gamma distribution of shape 3. */
static double positive_target(double f)
{
	return -exp(f) * log((1 - test_uniform()) * (1 - test_uniform()) * (1 - test_uniform())) / 3;
}

/*  Other likelihoods take kernel, Z_beta, and the scale of STUDENTT and LAPLACE from a regression on
    pseudo-targets: from there some steps raise the bound above that of a cold start and as many
    steps. Where q comes from there, too, it is above that at once. Frozen slots stay, missing targets do not count, the
    bits repeat. The data are short of what a cold start supposes: it begins with lengthscales four times
    too long. */
TEST(other_likelihoods_start_from_pseudo_targets)
{
	for (int kind = 0; kind < (int)GP__COUNT(gp__likelihoods); kind++) {
		const gp__likelihood *lik = &gp__likelihoods[kind];
		if (lik->flags & GP__LIK_GAUSSIAN) continue;
		ptrdiff_t P = kind == ODVGP_LIKELIHOOD_ORDINAL ? 1 : lik->flags & GP__LIK_CLASSES ? 3 : 2;
		odvgp_config c = config(P);
		problem p = make_problem(2, 1, 1);
		ptrdiff_t T = gp__lik_targets(lik, P), K = gp__classes(lik, P, 3);
		odvgp_real before[2], after[2], scale = 0;
		c.lik.kind = (odvgp_likelihood)kind;
		c.lik.classes = kind == ODVGP_LIKELIHOOD_ORDINAL ? 3 : 0;
		if (K > 0) c.lik.nodes = test_size(0, 8);
		c.layer[0].kernel = "rbf(4, variance=1.3, ard)";
		c.optim.natgrad_step = odvgp_rising((odvgp_real)1e-3, (odvgp_real)0.1, 20, 0, 0);
		for (ptrdiff_t i = ROWS; i-- > 0;)
			for (ptrdiff_t t = T; t-- > 0;) {
				double y = 1.5 * (double)p.Y[i * 2 + t];
				if (K > 0) y = fmin(fmax(floor((y + 2) / 4 * (double)K), 0), (double)K - 1);
				else if (lik->whole) y = lik->most < 2 ? y > 0 : floor(exp(1 + y));
				else if (lik->least == 0)
					y = lik->most < 2 ? 1 / (1 + exp(-y)) : positive_target(y);
				p.Y[i * 2 + t] = (odvgp_real)y;
			}
		for (ptrdiff_t i = 0; i < ROWS; i++)
			for (ptrdiff_t t = 0; t < T; t++) p.Y[i * T + t] = p.Y[i * 2 + t];
		made cold = make(&c, &p), hot = make(&c, &p), twin = make(&c, &p);
		CHECK_STATUS(odvgp_get(hot.m, "kernel.0.lengthscale", before, 2, NULL), ODVGP_OK);
		CHECK_STATUS(warm(hot.m, NULL, &p, NULL), ODVGP_OK);
		CHECK_STATUS(warm(twin.m, NULL, &p, NULL), ODVGP_OK);
		CHECK(bits(hot.m) == bits(twin.m));
		CHECK_STATUS(odvgp_get(hot.m, "kernel.0.lengthscale", after, 2, NULL), ODVGP_OK);
		CHECK_SAY((double)after[0] < 0.5 * (double)before[0], "%s: lengthscale %g from %g",
				lik->name, (double)after[0], (double)before[0]);
		if (lik->params && lik->param[0].power == 1) {
			CHECK_STATUS(odvgp_get(hot.m, "scale", &scale, 1, NULL), ODVGP_OK);
			CHECK_SAY(scale > 0.05 && scale < 0.3, "%s: scale %g", lik->name, (double)scale);
		}
		/* classes that noise hardly blurs need an f well away from 0 */
		int of_classes = (K > 0 && kind != ODVGP_LIKELIHOOD_ORDINAL) || lik->most == 1;
		CHECK_STATUS(odvgp_get(hot.m, "kernel.0.variance", after, 1, NULL), ODVGP_OK);
		CHECK_SAY(!of_classes || (double)after[0] > 5, "%s: variance %g", lik->name,
				(double)after[0]);
		/* the noise needs more steps */
		int count = kind == ODVGP_LIKELIHOOD_HETEROSCEDASTIC ? 3 * STEPS : STEPS;
		int knows_q = !K && lik->least == 0 && lik->most != 1;
		steps(cold.m, &p, count);
		steps(hot.m, &p, knows_q ? 0 : count);
		CHECK_SAY(bound(hot.m, &p) > bound(cold.m, &p), "%s: warm %g, cold %g", lik->name,
				bound(hot.m, &p), bound(cold.m, &p));
		free(cold.block), free(hot.block), free(twin.block);
		/* some targets are missing, Z_beta is frozen */
		c.lik.missing = 1;
		c.layer[0].kernel = "rbf(3, variance=1.3, ard)";
		for (ptrdiff_t i = 0; i < ROWS; i += 6) p.Y[i * T] = (odvgp_real)NAN;
		hot = make(&c, &p);
		odvgp_real Z[2][BETA * INPUTS];
		CHECK_STATUS(odvgp_get(hot.m, "Z_beta", Z[0], BETA * INPUTS, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set_trainable(hot.m, "Z_beta", 0, NULL), ODVGP_OK);
		CHECK_STATUS(warm(hot.m, NULL, &p, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_get(hot.m, "Z_beta", Z[1], BETA * INPUTS, NULL), ODVGP_OK);
		CHECK_BITS(Z[0], Z[1], sizeof Z[0]);
		CHECK_STATUS(odvgp_get(hot.m, "kernel.0.lengthscale", after, 2, NULL), ODVGP_OK);
		CHECK_SAY((double)after[0] < 2, "%s, some targets missing: lengthscale %g", lik->name,
				(double)after[0]);
		/* a target that does not fit changes nothing */
		if (!(lik->least == -DBL_MAX)) {
			odvgp_warm all = {ROWS, 0, 0, 0};
			size_t bytes = odvgp_warm_start_scratch(hot.m, &all, NULL);
			void *work = test_alloc(bytes);
			p.Y[7 * T] = -3;
			refused(&hot, &all, &p, work, bytes, ODVGP_E_ARG, "Y");
			free(work);
		}
		free(hot.block);
	}
}

/*  The inputs of rows without a target do not count. */
TEST(rows_without_targets_have_no_part)
{
	static const odvgp_likelihood kinds[] = {ODVGP_LIKELIHOOD_POISSON, ODVGP_LIKELIHOOD_LAPLACE};
	for (int k = 0; k < 2; k++) {
		odvgp_config c = config(1);
		const odvgp_warm settings = {ROWS, 0, 5, 0};
		problem p = make_problem(1, 1, 1);
		odvgp_real ls[2][INPUTS + 1];
		c.lik.kind = kinds[k];
		c.lik.missing = 1;
		for (ptrdiff_t i = 0; i < ROWS; i++)
			p.Y[i] = (odvgp_real)(i % 3 ? floor(exp(1 + (double)p.Y[i])) : NAN);
		made a = make(&c, &p), b = make(&c, &p);
		CHECK_STATUS(warm(a.m, &settings, &p, NULL), ODVGP_OK);
		for (ptrdiff_t i = 0; i < ROWS * INPUTS; i++)
			if (i / INPUTS % 3 == 0) p.X[i] = -p.X[i];
		CHECK_STATUS(warm(b.m, &settings, &p, NULL), ODVGP_OK);
		for (int i = 0; i < 2; i++) {
			get(i ? b.m : a.m, "kernel.0.lengthscale", ls[i], INPUTS);
			get(i ? b.m : a.m, "kernel.0.variance", ls[i] + INPUTS, 1);
		}
		for (int d = 0; d <= INPUTS; d++)
			CHECK_NEAR(ls[0][d] / ls[1][d], 1, BY_PRECISION(1e-8, 1e-3));
		free(a.block);
		free(b.block);
	}
}

/*  A constant of the mean function that is known already is where a warm start begins, and one that is
    not trained stays 0. */
static void constants_stay(const odvgp_config *c, const problem *p)
{
	const odvgp_warm brief = {0, 0, 1, 0};
	odvgp_real known = 5, at;
	made a = make(c, p), b = make(c, p);
	CHECK_STATUS(odvgp_set(a.m, "mean.c", &known, 1, NULL), ODVGP_OK);
	CHECK_STATUS(warm(a.m, &brief, p, NULL), ODVGP_OK);
	get(a.m, "mean.c", &at, 1);
	CHECK_NEAR(at, known, 1);
	CHECK_STATUS(odvgp_set_trainable(b.m, "mean.c", 0, NULL), ODVGP_OK);
	CHECK_STATUS(warm(b.m, &brief, p, NULL), ODVGP_OK);
	get(b.m, "mean.c", &at, 1);
	CHECK_NEAR(at, 0, 0);
	free(a.block), free(b.block);
}

/*  Positive targets far below 1: their pseudo-targets are logarithms, whose differences do not depend
    on the unit. */
TEST(small_units_of_positive_targets)
{
	static const odvgp_likelihood kinds[] = {ODVGP_LIKELIHOOD_GAMMA, ODVGP_LIKELIHOOD_EXPONENTIAL};
	for (int k = 0; k < 2; k++) {
		double length[2];
		for (int small = 0; small < 2; small++) {
			odvgp_config c = config(1);
			problem p = make_problem(1, 1, 1);
			odvgp_real of[2];
			c.lik.kind = kinds[k];
			c.layer[0].kernel = "rbf(4, variance=1.3, ard)";
			c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_CONSTANT;
			c.optim.natgrad_step = odvgp_rising((odvgp_real)1e-3, (odvgp_real)0.1, 20, 0, 0);
			for (ptrdiff_t i = 0; i < ROWS; i++)
				p.Y[i] = (odvgp_real)((small ? 1e-4 : 1) * positive_target((double)p.Y[i]));
			made cold = make(&c, &p), hot = make(&c, &p);
			CHECK_STATUS(warm(hot.m, NULL, &p, NULL), ODVGP_OK);
			get(hot.m, "kernel.0.lengthscale", of, 2);
			length[small] = (double)of[0];
			constants_stay(&c, &p);
			steps(cold.m, &p, test_size(8, 4) * STEPS);
			steps(hot.m, &p, test_size(8, 4) * STEPS);
			CHECK_SAY(bound(hot.m, &p) > bound(cold.m, &p), "likelihood %d, small %d: %g, cold %g",
					(int)kinds[k], small, bound(hot.m, &p), bound(cold.m, &p));
			free(cold.block), free(hot.block);
		}
		/* L-BFGS ends a little apart */
		CHECK_NEAR(length[1], length[0], BY_PRECISION(1e-3, 0.05) * length[0]);
	}
}

/*  Of Gamma(shape, 1), shape a whole number. */
static double gamma_of(int shape)
{
	double sum = 0;
	while (shape-- > 0) sum -= log(1 - test_uniform());
	return sum;
}
static double poisson_of(double mean)
{
	double left = mean, count = -1;
	for (; left >= 0; count++) left += log(1 - test_uniform());
	return count;
}

/*  Targets whose shape, size or precision is 20 start between 7 and 60, not at 1 or 10; counts as wide
    as Poisson's start with a large size; also where q cannot come from the regression. */
TEST(widths_start_near_the_truth)
{
	static const struct {
		odvgp_likelihood kind;
		const char *slot;
		int width;
	} cases[] = {{ODVGP_LIKELIHOOD_GAMMA, "shape", 20},
			{ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL, "size", 20},
			{ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL, "size", 100000},
			{ODVGP_LIKELIHOOD_BETA, "precision", 20}};
	for (int way = 0; way < 2 * (int)GP__COUNT(cases); way++) {
		const int k = way / 2;
		odvgp_config c = config(1);
		problem p = make_problem(1, 1, 1);
		odvgp_real value;
		c.lik.kind = cases[k].kind;
		if (way % 2) c.reproduce.parametrisation = ODVGP_PARAMETRISATION_PRIMAL;
		for (ptrdiff_t i = 0; i < ROWS; i++) {
			double f = (double)p.Y[i], y;
			if (k == 0) y = exp(f) * gamma_of(20);
			else if (k == 1) y = poisson_of(100 * exp(f) * gamma_of(20) / 20);
			else if (k == 2) y = poisson_of(1000 * exp(f));
			else {
				int first = (int)(1 + 18 / (1 + exp(-f)));
				y = gamma_of(first);
				y /= y + gamma_of(20 - first);
			}
			p.Y[i] = (odvgp_real)y;
		}
		made a = make(&c, &p);
		CHECK_STATUS(warm(a.m, NULL, &p, NULL), ODVGP_OK);
		get(a.m, cases[k].slot, &value, 1);
		if (cases[k].width == 20)
			CHECK_SAY(value > 7 && value < 60, "case %d: %g", k, (double)value);
		else CHECK_SAY(value > 60, "case %d: %g", k, (double)value);
		CHECK_STATUS(odvgp_set_trainable(a.m, cases[k].slot, 0, NULL), ODVGP_OK);
		value = 3;
		CHECK_STATUS(odvgp_set(a.m, cases[k].slot, &value, 1, NULL), ODVGP_OK);
		CHECK_STATUS(warm(a.m, NULL, &p, NULL), ODVGP_OK);
		get(a.m, cases[k].slot, &value, 1);
		CHECK_NEAR(value, 3, 1e-5);
		free(a.block);
	}
}

/*  Moments of y of some rows. */
static void moments(odvgp_model *m, const odvgp_real *X, ptrdiff_t n, odvgp_real *mean, odvgp_real *var)
{
	odvgp_server server;
	size_t bytes = odvgp_predictor_size(m, NULL), need;
	void *block = test_alloc(bytes), *scratch;
	CHECK_STATUS(odvgp_freeze(m, NULL, block, bytes, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_server_from_block(&server, block, bytes, test_isa(), NULL), ODVGP_OK);
	need = odvgp_predict_scratch(&server, n, NULL);
	scratch = test_alloc(need);
	CHECK_STATUS(odvgp_predict_y(&server, X, n, mean, var, scratch, need, NULL), ODVGP_OK);
	free(block), free(scratch);
}

static odvgp_config exact_config(ptrdiff_t n, ptrdiff_t P)
{
	odvgp_config c = odvgp_config_defaults(n, INPUTS, P, n, 0);
	c.layer[0].mean_part = ODVGP_MEAN_PART_FREE;
	c.layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
	c.objective = ODVGP_OBJECTIVE_EXACT;
	c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
	c.optim.batch = n;
	c.optim.natgrad = 0;
	return c;
}

/*  An exact model starts from the evidence of some rows: from that of all with the bits of as many
    steps of its own. */
TEST(exact_models_start_from_some_rows)
{
	enum { ITERATIONS = 8 };
	static const odvgp_warm settings[] = {{ROWS, 0, ITERATIONS, 0}, {ROWS / 2, 0, ITERATIONS, 0},
			{ROWS / 2, 0, ITERATIONS, GP__R(0.05)}};
	static const char *const slots[] = {"kernel.0.lengthscale", "kernel.0.variance", "noise_variance"};
	problem p = make_problem(1, 1, 1);
	odvgp_config c = exact_config(ROWS, 1);
	unsigned char byte = 0;
	made own = make(&c, &p);
	double before = bound(own.m, &p);
	steps(own.m, &p, ITERATIONS);
	for (int k = 0; k < 3; k++) {
		made a = make(&c, &p);
		CHECK_STATUS(warm(a.m, &settings[k], &p, NULL), ODVGP_OK);
		CHECK_SAY(bound(a.m, &p) > before, "%g after %g", bound(a.m, &p), before);
		for (size_t i = 0; i < sizeof slots / sizeof *slots && !k; i++) {
			odvgp_real mine[INPUTS], its[INPUTS];
			ptrdiff_t n = odvgp_slot_find(own.m, slots[i])->count;
			get(own.m, slots[i], mine, n);
			get(a.m, slots[i], its, n);
			CHECK_BITS(mine, its, (size_t)n * sizeof *mine);
		}
		steps(a.m, &p, 1);
		free(a.block);
	}
	odvgp_warm fewer = {ROWS / 2, BETA, ITERATIONS, 0};
	CHECK(odvgp_warm_start_scratch(own.m, &fewer, NULL) == 0);
	refused(&own, &fewer, &p, &byte, 1, ODVGP_E_ARG, "settings");
	free(own.block);
}

/*  A model without the last row, with the values of one of all rows, predicts it. */
static void without_last(const odvgp_model *all, const problem *p, ptrdiff_t n, ptrdiff_t P,
		odvgp_real *mean, odvgp_real *var)
{
	static const char *const slots[] = {"kernel.0.lengthscale", "kernel.0.variance", "noise_variance"};
	odvgp_config c = exact_config(n - 1, P);
	made a = make(&c, p);
	for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
		odvgp_real value[INPUTS];
		ptrdiff_t count = odvgp_slot_find(all, slots[i])->count;
		get(all, slots[i], value, count);
		CHECK_STATUS(odvgp_set(a.m, slots[i], value, count, NULL), ODVGP_OK);
	}
	CHECK_STATUS(odvgp_fit_q(a.m, p->X, p->Y, NULL, NULL, 0, NULL), ODVGP_OK);
	moments(a.m, p->X + (n - 1) * INPUTS, 1, mean, var);
	free(a.block);
}

static void swap_rows(problem *p, ptrdiff_t a, ptrdiff_t b, ptrdiff_t P)
{
	for (ptrdiff_t k = 0; k < INPUTS + P; k++) {
		odvgp_real *x = k < INPUTS ? p->X + a * INPUTS + k : p->Y + a * P + k - INPUTS,
				   *y = k < INPUTS ? p->X + b * INPUTS + k : p->Y + b * P + k - INPUTS, v = *x;
		*x = *y;
		*y = v;
	}
}

/*  odvgp_loo is what models without each row say, and after odvgp_scale_y what a new odvgp_fit_q
    would: the same bound, means as before, variances scale^2 times as large. */
TEST(rows_are_left_out_of_exact_models)
{
	enum { N = 24 };
	for (ptrdiff_t P = 1; P <= 2; P++) {
		problem p = make_problem(P, 1, 1);
		odvgp_config c = exact_config(N, P), with_floor = c;
		with_floor.lik.noise_floor = GP__R(1e-4);
		made a = make(&c, &p), b = make(&with_floor, &p);
		odvgp_loo_result loo, again;
		odvgp_real mean[2 * 2], var[2 * 2], mean_2[2 * 2], var_2[2 * 2], elbo, noise;
		double squares = 0, logp = 0, near = BY_PRECISION(1e-9, 2e-3);
		CHECK_STATUS(odvgp_loo(a.m, &loo, NULL), ODVGP_E_ARG);
		steps(a.m, &p, 1);
		CHECK_STATUS(odvgp_loo(a.m, &loo, NULL), ODVGP_E_ARG);
		CHECK_STATUS(odvgp_fit_q(a.m, p.X, p.Y, NULL, NULL, 0, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_loo(a.m, &loo, NULL), ODVGP_OK);
		for (ptrdiff_t i = 0; i < N; i++) {
			swap_rows(&p, i, N - 1, P);
			without_last(a.m, &p, N, P, mean, var);
			for (ptrdiff_t k = 0; k < P; k++) {
				double e = (double)(p.Y[(N - 1) * P + k] - mean[k]), v = (double)var[k];
				squares += e * e / v / (double)(N * P);
				logp -= 0.5 * (log(2 * 3.14159265358979323846 * v) + e * e / v) / (double)(N * P);
			}
			swap_rows(&p, i, N - 1, P);
		}
		CHECK_NEAR(loo.squares, squares, near * squares);
		CHECK_NEAR(loo.logp, logp, near);
		CHECK_STATUS(odvgp_elbo(a.m, p.X, p.Y, N, &elbo, NULL, NULL, NULL), ODVGP_OK);
		CHECK_NEAR(loo.bound, (double)elbo, near * fabs((double)elbo));
		/* copies know it; other parameters, and f of another scale, have none */
		size_t bytes = odvgp_model_size(&c, NULL);
		void *block = test_alloc(bytes);
		odvgp_model *copy = NULL;
		CHECK_STATUS(odvgp_model_copy(&copy, a.m, block, bytes, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_loo(copy, &again, NULL), ODVGP_OK);
		CHECK_BITS(&again, &loo, sizeof loo);
		CHECK_STATUS(odvgp_scale_f(copy, 1, 2, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_loo(copy, &again, NULL), ODVGP_E_ARG);
		free(block);
		moments(a.m, p.X + 30 * INPUTS, 2, mean, var);
		CHECK_STATUS(odvgp_scale_y(a.m, 0, NULL), ODVGP_E_ARG);
		CHECK_STATUS(odvgp_scale_y(a.m, GP__R(1.7), NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_loo(a.m, &loo, NULL), ODVGP_OK);
		moments(a.m, p.X + 30 * INPUTS, 2, mean_2, var_2);
		for (ptrdiff_t k = 0; k < 2 * P; k++) {
			CHECK_NEAR(mean_2[k], (double)mean[k], near);
			CHECK_NEAR(var_2[k], 1.7 * 1.7 * (double)var[k], near * (double)var_2[k]);
		}
		CHECK_STATUS(odvgp_fit_q(a.m, p.X, p.Y, NULL, NULL, 0, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_loo(a.m, &again, NULL), ODVGP_OK);
		CHECK_NEAR(again.squares, loo.squares, near * loo.squares);
		CHECK_NEAR(again.logp, loo.logp, near);
		CHECK_NEAR(again.bound, loo.bound, near * fabs(loo.bound));
		/* priors are no part of log p(Y) */
		CHECK_STATUS(odvgp_set_prior(a.m, "noise_variance", ODVGP_PRIOR_LOGNORMAL, -3, 1, NULL),
				ODVGP_OK);
		CHECK_STATUS(odvgp_fit_q(a.m, p.X, p.Y, NULL, NULL, 0, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_loo(a.m, &again, NULL), ODVGP_OK);
		CHECK_NEAR(again.bound, loo.bound, near * fabs(loo.bound));
		CHECK_STATUS(odvgp_scale_y(b.m, GP__R(1e-3), NULL), ODVGP_E_ARG); /* the noise has a floor */
		/* what it refuses changes nothing */
		get(a.m, "noise_variance", &noise, 1);
		CHECK_STATUS(odvgp_set_bounds(a.m, "noise_variance", 0, 2 * noise, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_fit_q(a.m, p.X, p.Y, NULL, NULL, 0, NULL), ODVGP_OK);
		moments(a.m, p.X + 30 * INPUTS, 2, mean, var);
		CHECK_STATUS(odvgp_scale_y(a.m, 2, NULL), ODVGP_E_ARG);
		moments(a.m, p.X + 30 * INPUTS, 2, mean_2, var_2);
		CHECK_BITS(var, var_2, (size_t)(2 * P) * sizeof *var);
		free(a.block), free(b.block);
	}
	odvgp_config c = config(1);
	problem p = make_problem(1, 1, 1);
	made a = make(&c, &p);
	odvgp_loo_result loo;
	CHECK_STATUS(odvgp_loo(a.m, &loo, NULL), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_scale_y(a.m, GP__R(1.2), NULL), ODVGP_OK);
	free(a.block);
	c.lik.kind = ODVGP_LIKELIHOOD_STUDENTT;
	a = make(&c, &p);
	CHECK_STATUS(odvgp_scale_y(a.m, GP__R(1.2), NULL), ODVGP_E_UNSUPPORTED);
	free(a.block);
}

/*  Constant and noiseless targets, one row: no error, and a model that predicts. */
/*  Predictions in float have about 7 digits of the largest term of K(x,Z) alpha. */
TEST(coefficients_are_small_enough_for_float)
{
	enum { N = 300, M = 10, MG = 40 };
	static odvgp_real X[N], Y[N];
	odvgp_config c = odvgp_config_defaults(N, 1, 1, M, MG);
	odvgp_model *m;
	odvgp_real a[MG];
	double sum = 0;
	test_seed = 79;
	for (int i = 0; i < N; i++) {
		double x = test_between(0, 7);
		X[i] = (odvgp_real)x;
		Y[i] = (odvgp_real)(sin(x) + 0.5 * cos(3 * x) + 0.15 * test_normal());
	}
	c.layer[0].kernel = "rbf";
	CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_fit(m, X, Y, 1, NULL, NULL), ODVGP_OK);
	get(m, "a_gamma", a, MG);
	for (int i = 0; i < MG; i++) sum += fabs((double)a[i]);
	CHECK_SAY(sum * (double)FLT_EPSILON < 0.01, "%g", sum);
	odvgp_model_free(m);
}
TEST(degenerate_data)
{
	for (int i = 0; i < 4; i++) {
		problem p = make_problem(1, 1, 1);
		odvgp_config c = config(1);
		if (i == 2) c = odvgp_config_defaults(1, INPUTS, 1, 1, 0);
		for (ptrdiff_t k = 0; k < ROWS; k++) {
			if (i == 0) p.Y[k] = 3;
			if (i == 1) p.Y[k] = (odvgp_real)sin((double)p.X[k * INPUTS]);
			if (i == 3) p.X[k * INPUTS] = p.X[k * INPUTS + 1] = 1;
		}
		odvgp_model *m;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		odvgp_real mean = 0, var = 0;
		CHECK_STATUS(odvgp_model_create(&m, &c, p.X, p.Y, NULL, NULL), ODVGP_OK);
		CHECK_SAY(
				odvgp_fit(m, p.X, p.Y, 20, NULL, &info) == ODVGP_OK, "%d: %s", i, info.text);
		CHECK_STATUS(odvgp_predict_once(m, p.X, 1, &mean, &var, NULL, NULL), ODVGP_OK);
		CHECK((double)var >= 0 && isfinite((double)mean));
		odvgp_model_free(m);
	}
}

/* ---- few rows of two classes ---- */

enum { FEW_ROWS = 60, FEW_INPUTS = 4, FEW_STEPS = 300 };
typedef struct few {
	ptrdiff_t N, D;
	odvgp_real X[FEW_ROWS * FEW_INPUTS], Y[FEW_ROWS];
} few;

/*  20 to 60 rows of 1, 2 or 4 inputs; the logit of a class is their sum in a random direction. */
static few make_few(int k)
{
	static const ptrdiff_t inputs[] = {1, 2, 4};
	few f = {20 + 10 * (k % 5), inputs[k / 5 % 3], {0}, {0}};
	double w[FEW_INPUTS], size = 0;
	test_seed = 1000 + (uint64_t)k;
	for (ptrdiff_t d = 0; d < f.D; d++) {
		w[d] = test_normal();
		size += w[d] * w[d];
	}
	for (ptrdiff_t i = 0; i < f.N; i++) {
		double logit = 0;
		for (ptrdiff_t d = 0; d < f.D; d++) {
			double x = test_normal();
			logit += (k % 2 ? 3 : 1.5) * x * w[d] / sqrt(size);
			f.X[i * f.D + d] = (odvgp_real)x;
		}
		f.Y[i] = test_uniform() < 1 / (1 + exp(-logit));
	}
	return f;
}

/*  The bound per row after training; hot: with the warm starts of the tool before it. */
static double trained_few(const few *f, uint64_t seed, int hot)
{
	static const odvgp_warm starts[] = {{0, 0, 100, (odvgp_real)0.03}, {0, 0, 60, 0}};
	odvgp_config c = odvgp_config_defaults(f->N, f->D, 1, f->N / 2, 0);
	odvgp_model *m;
	odvgp_real elbo = 0;
	c.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
	c.layer[0].kernel = "matern52(ard)";
	c.lik.kind = ODVGP_LIKELIHOOD_BERNOULLI;
	c.optim.lr = odvgp_falling((odvgp_real)0.03, (odvgp_real)0.003, FEW_STEPS);
	c.optim.natgrad_step = odvgp_constant((odvgp_real)0.1);
	c.seed = seed;
	CHECK_STATUS(odvgp_model_create(&m, &c, f->X, f->Y, NULL, NULL), ODVGP_OK);
	for (int i = 0; i < 2 && hot; i++) {
		size_t bytes = odvgp_warm_start_scratch(m, &starts[i], NULL);
		void *work = test_alloc(bytes);
		CHECK_STATUS(
				odvgp_warm_start(m, f->X, f->Y, &starts[i], NULL, work, bytes, NULL), ODVGP_OK);
		free(work);
	}
	CHECK_STATUS(odvgp_fit(m, f->X, f->Y, FEW_STEPS, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_elbo(m, f->X, f->Y, f->N, &elbo, NULL, NULL, NULL), ODVGP_OK);
	odvgp_model_free(m);
	return (double)elbo / (double)f->N;
}

/*  A regression on the classes of few rows may explain nothing, or each row by itself. The warm start
    then leaves the model as it is: what comes of it is as good as the best of five cold starts. */
TEST(few_rows_of_two_classes)
{
	int sets = getenv("ODVGP_TEST_LONG") ? 200 : 20;
	for (int k = 0; k < sets; k += test_size(1, 3)) {
		few f = make_few(k);
		double hot = trained_few(&f, 0, 1), best = -HUGE_VAL;
		for (int seed = 0; seed < test_size(5, 3); seed++)
			best = fmax(best, trained_few(&f, (uint64_t)seed, 0));
		CHECK_SAY(hot > best - 0.01, "set %d: %g per row, cold %g", k, hot, best);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(every_member_gains);
	RUN(bounds_without_q_gain);
	RUN(subsets_and_sizes);
	RUN(adam_takes_the_steps_of_a_training);
	RUN(many_rows_do_not_all_give_q);
	RUN(frozen_slots_stay);
	RUN(bounds_and_priors_hold);
	RUN(noises_of_outputs_are_set_like_one);
	RUN(bits_repeat);
	RUN(units_do_not_matter);
	RUN(fit_warms_new_models_only);
	RUN(refusals_change_nothing);
	RUN(other_likelihoods_start_from_pseudo_targets);
	RUN(rows_without_targets_have_no_part);
	RUN(small_units_of_positive_targets);
	RUN(widths_start_near_the_truth);
	RUN(exact_models_start_from_some_rows);
	RUN(rows_are_left_out_of_exact_models);
	RUN(coefficients_are_small_enough_for_float);
	RUN(degenerate_data);
	RUN(few_rows_of_two_classes);
	return test_end();
}

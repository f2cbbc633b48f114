/*  Compact blocks as a controller serves them (tests/compact_only.c): against odvgp_predict and
    odvgp_predict_gradient for every member, kernel and form of output; NaN; damaged and forged
    blocks; builds that lack a kernel or a member. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"
#include "compact_only.h"

enum { ROWS = 11, INPUTS = 2, OUTPUTS = 3, ALL = OUTPUTS * ROWS, SLOPES = ALL * INPUTS };

typedef struct {
	odvgp_real mean[ALL], var[ALL], dmean[SLOPES], dvar[SLOPES];
} predictions;

typedef struct {
	void *block, *scratch;
	size_t block_bytes, bytes;
	odvgp_server s;
} compact;

static compact make_compact(const odvgp_server *from)
{
	compact c;
	c.block_bytes = odvgp_compact_size(from, NULL);
	c.block = test_alloc(c.block_bytes);
	CHECK_STATUS(odvgp_compact(from, c.block, c.block_bytes, NULL), ODVGP_OK);
	CHECK_STATUS(only_open(&c.s, c.block, c.block_bytes, NULL), ODVGP_OK);
	c.bytes = only_scratch(&c.s, 1);
	CHECK(odvgp_compact_gradient_scratch(from, NULL) == c.bytes);
	CHECK(odvgp_compact_scratch(from, NULL) == only_scratch(&c.s, 0));
	c.scratch = test_alloc(c.bytes);
	return c;
}

static void drop_compact(compact *c)
{
	free(c->block);
	free(c->scratch);
}

static predictions moments_of(const served *p, const odvgp_real *X, ptrdiff_t n)
{
	predictions m;
	const odvgp_gradient to = {m.mean, m.var, m.dmean, m.dvar, NULL, NULL};
	size_t bytes = odvgp_predict_gradient_scratch(&p->s, n, NULL);
	void *scratch = test_alloc(bytes);
	memset(&m, 0, sizeof m);
	CHECK_STATUS(odvgp_predict_gradient(&p->s, X, n, &to, scratch, bytes, NULL), ODVGP_OK);
	free(scratch);
	return m;
}

static void compare(double got, double want, double tolerance, const char *what, const char *name)
{
	CHECK_SAY(fabs(got - want) <= tolerance, "%s: %s %.9g, not %.9g (%.2g allowed)", what, name,
			got, want, tolerance);
}

/*  The compact block's predictions are the server's. unit [INPUTS]: of the columns. Errors are
    relative to the largest number of the kind, times the condition of what is summed. */
static void compare_with_server(const served *p, const odvgp_real *X, const double *unit,
		double condition, const char *what)
{
	compact c = make_compact(&p->s);
	const ptrdiff_t F = p->s.F;
	predictions want = moments_of(p, X, ROWS), got;
	const odvgp_gradient to = {got.mean, got.var, got.dmean, got.dvar, NULL, NULL};
	double most[4] = {1e-3, 1e-3, 1e-3, 1e-3}, off = condition * BY_PRECISION(1e-11, 1e-5);
	memset(&got, 0, sizeof got);
	CHECK_STATUS(only_gradient(&c.s, X, ROWS, &to, c.scratch, c.bytes, NULL), ODVGP_OK);
	for (ptrdiff_t k = 0; k < F * ROWS; k++) {
		most[0] = fmax(most[0], fabs((double)want.mean[k]));
		most[1] = fmax(most[1], fabs((double)want.var[k]));
	}
	for (ptrdiff_t k = 0; k < F * ROWS * INPUTS; k++) {
		most[2] = fmax(most[2], fabs((double)want.dmean[k]) * unit[k % INPUTS]);
		most[3] = fmax(most[3], fabs((double)want.dvar[k]) * unit[k % INPUTS]);
	}
	for (ptrdiff_t k = 0; k < F * ROWS; k++) {
		compare((double)got.mean[k], (double)want.mean[k], off * most[0], what, "mean");
		compare((double)got.var[k], (double)want.var[k], off * most[1], what, "variance");
	}
	for (ptrdiff_t k = 0; k < F * ROWS * INPUTS; k++) {
		double by = unit[k % INPUTS];
		compare((double)got.dmean[k] * by, (double)want.dmean[k] * by, off * most[2], what,
				"dmean");
		compare((double)got.dvar[k] * by, (double)want.dvar[k] * by, off * most[3], what, "dvar");
	}
	/* without gradients, and of y */
	predictions again = got, y;
	CHECK_STATUS(only_predict(&c.s, X, ROWS, again.mean, again.var, c.scratch,
						 only_scratch(&c.s, 0), NULL),
			ODVGP_OK);
	CHECK(test_max_diff(again.mean, got.mean, F * ROWS) <= off * most[0]);
	CHECK(test_max_diff(again.var, got.var, F * ROWS) <= off * most[1]);
	CHECK_STATUS(only_predict(&c.s, X, ROWS, again.mean, NULL, c.scratch, c.bytes, NULL), ODVGP_OK);
	CHECK_STATUS(
			only_predict_y(&c.s, X, ROWS, got.mean, got.var, c.scratch, c.bytes, NULL), ODVGP_OK);
	CHECK_STATUS(
			odvgp_predict_y(&p->s, X, ROWS, y.mean, y.var, p->scratch, p->bytes, NULL), ODVGP_OK);
	CHECK(test_max_diff(y.mean, got.mean, F * ROWS) <= off * most[0]);
	for (ptrdiff_t k = 0; k < F * ROWS; k++)
		compare((double)got.var[k], (double)y.var[k], off * (most[1] + (double)y.var[k]), what,
				"variance of y");
	drop_compact(&c);
}

static const double one[] = {1, 1};

TEST(every_member_and_factor)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		char what[40];
		test_seed = 700 + (uint64_t)(mean * COVS + cov);
		fixture a = make_sloped_pair(mean, cov, OUTPUTS, 7, 9, "matern52 + rbf", what);
		served p = serve_rows(&a, NULL, ROWS);
		compare_with_server(&p, a.X, one, 30, what);
		unserve(&p);
		drop(&a);
	}
}

TEST(every_kernel)
{
	static const char *const kernels[] = {"rbf", "rbf(ard)", "matern12", "matern32(ard)",
			"matern52", "rq(ard)", "periodic", "periodic(ard)", "linear", "linear(ard) * rbf",
			"polynomial(degree=3) + rbf", "constant * rbf + white",
			"(rbf(dims=0) + matern32(ard)) * matern52 + linear(dims=1)",
			"periodic(ard, dims=0) * rq(dims=1) + polynomial * matern52"};
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
		odvgp_config c = random_config(30, INPUTS, 2, 70, 80); /* more than one chunk */
		test_seed = 720 + (uint64_t)k;
		fixture a = make_kernel(&c, kernels[k]);
		served p = serve_rows(&a, NULL, ROWS);
		compare_with_server(&p, a.X, one, 300, kernels[k]);
		unserve(&p);
		drop(&a);
	}
}

TEST(mixed_and_independent_outputs_in_their_units)
{
	for (int k = 0; k < 3; k++) {
		odvgp_config c = random_config(30, INPUTS, k == 1 ? 2 : OUTPUTS, 6, 8);
		odvgp_real X[ROWS * INPUTS];
		if (k == 1) c.functions = OUTPUTS;
		c.independent = k == 2;
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
		test_seed = 740 + (uint64_t)k;
		fixture a = make_random(&c, "matern52 + periodic");
		served p = serve_rows(&a, &units_of_data, ROWS);
		to_units(a.X, ROWS, X);
		compare_with_server(&p, X, units_of_x, 300,
				k == 1 ? "mixed"
				: k    ? "independent"
					   : "shared");
		unserve(&p);
		drop(&a);
	}
}

/*  A row that is not finite gets E_NAN and the prior's moments at the inputs' mean; others are as
    ever. Inputs of any size give finite moments. */
TEST(rows_that_are_not_finite_get_the_prior)
{
	static const odvgp_real wild[] = {GP__R(1e-40), GP__R(1e30), GP__R(-1e18), 0};
	odvgp_config c = random_config(30, INPUTS, 1, 9, 11);
	test_seed = 750;
	fixture a = make_random(&c, "matern52 + rbf");
	served p = serve_rows(&a, NULL, ROWS);
	compact k = make_compact(&p.s);
	odvgp_real *variances[2] = {values(&a, "kernel.0.variance"), values(&a, "kernel.1.variance")};
	for (int bad = 0; bad < 2; bad++) {
		odvgp_real X[3 * INPUTS], mean[3], var[3], m, v;
		odvgp_info info;
		memcpy(X, a.X, sizeof X);
		X[INPUTS + bad] = bad ? (odvgp_real)NAN : (odvgp_real)HUGE_VAL;
		CHECK_STATUS(only_predict(&k.s, X, 3, mean, var, k.scratch, k.bytes, &info), ODVGP_E_NAN);
		CHECK(info.row == 1 && !strcmp(info.what, "X") && info.value == 0 && !info.text[0]);
		CHECK_NEAR(mean[1], 0, 0);
		CHECK_NEAR(var[1], variances[0][0] + variances[1][0], 4 * EPS * 10);
		for (int i = 0; i < 3; i += 2) {
			CHECK_STATUS(only_predict(&k.s, X + i * INPUTS, 1, &m, &v, k.scratch, k.bytes, NULL),
					ODVGP_OK);
			CHECK_BITS(mean + i, &m, sizeof m);
			CHECK_BITS(var + i, &v, sizeof v);
		}
	}
	for (size_t i = 0; i < sizeof wild / sizeof *wild - 1; i++) {
		odvgp_real mean, var;
		CHECK_STATUS(
				only_predict(&k.s, wild + i, 1, &mean, &var, k.scratch, k.bytes, NULL), ODVGP_OK);
		CHECK(isfinite((double)mean) && var > 0);
	}
	free(variances[0]), free(variances[1]);
	drop_compact(&k);
	unserve(&p);
	drop(&a);
}

/*  Every flipped bit and every length is refused; so are damaged heads with a right checksum, or
    they predict within their memory (the sanitizers look). */
TEST(damaged_and_forged_blocks)
{
	odvgp_config c = random_config(12, INPUTS, 2, 3, 2);
	test_seed = 760;
	c.independent = 1;
	fixture a = make_kernel(&c, "matern52(ard) * rbf + periodic(dims=0) + linear");
	served p = serve_rows(&a, NULL, ROWS);
	compact k = make_compact(&p.s);
	unsigned char *byte = (unsigned char *)k.block;
	uint32_t *word = (uint32_t *)k.block;
	odvgp_server s;
	for (size_t i = 0; i < k.block_bytes; i++)
		for (int bit = 0; bit < 8; bit++) {
			byte[i] ^= (unsigned char)(1 << bit);
			CHECK(only_open(&s, k.block, k.block_bytes, NULL) != ODVGP_OK);
			byte[i] ^= (unsigned char)(1 << bit);
		}
	for (size_t n = 0; n < k.block_bytes; n++) {
		void *cut = test_alloc(n + 1);
		memcpy(cut, k.block, n);
		CHECK(only_open(&s, cut, n, NULL) != ODVGP_OK);
		free(cut);
	}
	size_t heads = sizeof(gp__compact) / sizeof *word + 20;
	int opened = 0;
	for (size_t i = 2; i < heads; i++)
		for (int k2 = 0; k2 < 40; k2++) {
			uint32_t old = word[i], old_sum = word[3];
			word[i] = k2 < 32 ? old ^ (uint32_t)1 << k2 : (uint32_t)(k2 - 32);
			if (i != 2) word[3] = gp__rows_sum((const gp__compact *)k.block);
			if (only_open(&s, k.block, k.block_bytes, NULL) == ODVGP_OK && word[i] != old) {
				odvgp_real mean[4 * OUTPUTS], var[4 * OUTPUTS], x[3] = {0, 1, 2};
				size_t bytes = only_scratch(&s, 0);
				void *scratch = test_alloc(bytes);
				if (s.D <= 3 && s.F <= 4) only_predict(&s, x, 1, mean, var, scratch, bytes, NULL);
				free(scratch);
				opened++;
			}
			word[i] = old;
			word[3] = old_sum;
		}
	CHECK(opened > 0);
	CHECK_STATUS(only_open(&s, k.block, k.block_bytes, NULL), ODVGP_OK);
	drop_compact(&k);
	unserve(&p);
	drop(&a);
}

/*  Heads that contradict themselves, with a right checksum. */
TEST(forged_heads_are_refused)
{
	odvgp_config c = random_config(12, INPUTS, 2, 3, 2);
	test_seed = 765;
	fixture a = make_random(&c, "rbf");
	served p = serve_rows(&a, NULL, ROWS);
	compact k = make_compact(&p.s);
	gp__compact *head = (gp__compact *)k.block;
	uint32_t *const words[] = {&head->y_rows, &head->T, &head->groups, &head->D};
	const uint32_t values[] = {1, 1, 2, 65535};
	odvgp_server s;
	for (int i = 0; i < 4; i++) {
		uint32_t old = *words[i];
		*words[i] = values[i];
		head->sum = gp__rows_sum(head);
		CHECK(i == 3 || only_open(&s, k.block, k.block_bytes, NULL) == ODVGP_E_FORMAT);
		*words[i] = old;
	}
	drop_compact(&k);
	unserve(&p);
	drop(&a);
}

/*  Scratch may have any address; a result that overflows is E_NAN. */
TEST(scratch_at_any_address_and_overflow)
{
	odvgp_config c = random_config(12, INPUTS, 1, 3, 2);
	odvgp_real x[INPUTS] = {0, 1}, mean[2], var[2], huge = BY_PRECISION(GP__R(1e200), GP__R(1e25));
	test_seed = 767;
	fixture a = make_kernel(&c, "linear");
	const odvgp_real zero[INPUTS] = {0, 0}, unit[INPUTS] = {1, 1}, y_scale = GP__R(1e10);
	const odvgp_scales scales = {zero, unit, zero, &y_scale};
	served p = serve_rows(&a, &scales, ROWS);
	compact k = make_compact(&p.s);
	unsigned char *bytes = (unsigned char *)test_alloc(k.bytes + 8);
	for (int i = 0; i < 8; i++) {
		CHECK_STATUS(only_predict(&k.s, x, 1, mean, var, bytes + i, only_scratch(&k.s, 0), NULL),
				ODVGP_OK);
		if (i) CHECK_BITS(mean + 1, mean, sizeof *mean);
		mean[1] = mean[0];
	}
	x[0] = huge;
	CHECK_STATUS(only_predict(&k.s, x, 1, mean, var, bytes, k.bytes, NULL), ODVGP_E_NAN);
	free(bytes);
	drop_compact(&k);
	unserve(&p);
	drop(&a);
}

TEST(what_a_build_lacks_is_refused)
{
	static const struct {
		const char *kernel;
		int inverse;
		odvgp_status status;
	} cases[] = {{"rbf + matern52", 0, ODVGP_OK}, {"matern32", 0, ODVGP_E_UNSUPPORTED},
			{"rbf * periodic", 0, ODVGP_E_UNSUPPORTED}, {"rbf", 1, ODVGP_E_UNSUPPORTED}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		odvgp_config c = random_config(30, INPUTS, 1, 5, 4);
		if (cases[i].inverse) {
			c.layer[0].mean_part = ODVGP_MEAN_PART_FREE;
			c.layer[0].cov_part = ODVGP_COV_PART_INVERSE;
			c.optim.natgrad = 0;
		}
		test_seed = 770 + (uint64_t)i;
		fixture a = make_random(&c, cases[i].kernel);
		served p = serve_rows(&a, NULL, ROWS);
		compact k = make_compact(&p.s);
		odvgp_server s;
		CHECK_STATUS(few_open(&s, k.block, k.block_bytes, NULL), cases[i].status);
		drop_compact(&k);
		unserve(&p);
		drop(&a);
	}
}

TEST(bad_arguments_are_refused)
{
	odvgp_config c = random_config(30, INPUTS, 1, 5, 4), deep;
	odvgp_real x[INPUTS] = {0, 0}, hessian[4];
	const odvgp_gradient to = {NULL, NULL, NULL, NULL, hessian, NULL};
	odvgp_server s;
	test_seed = 780;
	fixture a = make_random(&c, "rbf"), b;
	served p = serve_rows(&a, NULL, ROWS), q;
	compact k = make_compact(&p.s);
	NO_SIZE(odvgp_compact_size(NULL, &info), ODVGP_E_ARG, "server");
	NO_SIZE(odvgp_compact_scratch(NULL, &info), ODVGP_E_ARG, "server");
	REFUSED_FOR(odvgp_compact(&p.s, NULL, 1000, &info), ODVGP_E_ARG, "block");
	REFUSED_FOR(odvgp_compact(&p.s, k.block, k.block_bytes - 1, &info), ODVGP_E_MEMORY, "block");
	CHECK_STATUS(only_open(NULL, k.block, k.block_bytes, NULL), ODVGP_E_ARG);
	CHECK_STATUS(only_open(&s, NULL, k.block_bytes, NULL), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_server_from_block(&s, k.block, k.block_bytes, ODVGP_ISA_C, NULL),
			ODVGP_E_UNSUPPORTED);
	CHECK_STATUS(only_predict(NULL, x, 1, x, x, k.scratch, k.bytes, NULL), ODVGP_E_ARG);
	CHECK_STATUS(only_predict(&k.s, NULL, 1, x, x, k.scratch, k.bytes, NULL), ODVGP_E_ARG);
	CHECK_STATUS(only_predict(&k.s, x, -1, x, x, k.scratch, k.bytes, NULL), ODVGP_E_ARG);
	CHECK_STATUS(only_predict(&k.s, x, 1, x, x, k.scratch, only_scratch(&k.s, 0) - sizeof *x, NULL),
			ODVGP_E_MEMORY);
	CHECK_STATUS(only_gradient(&k.s, x, 1, NULL, k.scratch, k.bytes, NULL), ODVGP_E_ARG);
	CHECK_STATUS(only_gradient(&k.s, x, 1, &to, k.scratch, k.bytes, NULL), ODVGP_E_UNSUPPORTED);
	deep = random_config(30, INPUTS, INPUTS, 5, 0);
	deep.layers = 2;
	deep.layer[1] = deep.layer[0];
	deep.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	b = make(&deep);
	q = serve_rows(&b, NULL, 1);
	NO_SIZE(odvgp_compact_size(&q.s, &info), ODVGP_E_UNSUPPORTED, "server");
	drop_compact(&k);
	unserve(&p), unserve(&q);
	drop(&a), drop(&b);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(every_member_and_factor);
	RUN(every_kernel);
	RUN(mixed_and_independent_outputs_in_their_units);
	RUN(rows_that_are_not_finite_get_the_prior);
	RUN(damaged_and_forged_blocks);
	RUN(forged_heads_are_refused);
	RUN(scratch_at_any_address_and_overflow);
	RUN(what_a_build_lacks_is_refused);
	RUN(bad_arguments_are_refused);
	return test_end();
}

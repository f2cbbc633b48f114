/*  Compact blocks as a controller serves them (tests/compact_only.c): against odvgp_predict and
    odvgp_predict_gradient for every member, kernel and form of output; moments of y for every
    likelihood; NaN; damaged and forged blocks; builds that lack a likelihood, a kernel or a
    member. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"
#include "conditions.h"
#include "compact_only.h"
#include "integrals.h"

enum { MOST_Y = 6 };
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

/*  The compact block's predictions are the server's. unit [INPUTS]: of the columns. Errors are at
    most 1e-11 of the prior's sd (1e-5 in float) times the condition, and `times` as much of the
    largest number of the kind. Gradients' condition is also what a column loses when it is
    standardised. */
static void compare_with_server(
		const served *p, const odvgp_real *X, const double *unit, double times, const char *what)
{
	compact c = make_compact(&p->s);
	const ptrdiff_t F = p->s.F;
	predictions want = moments_of(p, X, ROWS), got;
	const odvgp_gradient to = {got.mean, got.var, got.dmean, got.dvar, NULL, NULL};
	const conditions of = conditions_of(&p->s, X, ROWS);
	const double eps = BY_PRECISION(1e-11, 1e-5), sd = of.sd;
	const double bar[4] = {
			sd * of.mean, sd * sd * of.var, sd * of.mean * of.inputs, sd * sd * of.var * of.inputs};
	double most[4] = {1e-3, 1e-3, 1e-3, 1e-3}, off[4];
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
	for (int k = 0; k < 4; k++) off[k] = eps * fmin(bar[k], times * most[k]);
	for (ptrdiff_t k = 0; k < F * ROWS; k++) {
		compare((double)got.mean[k], (double)want.mean[k], off[0], what, "mean");
		compare((double)got.var[k], (double)want.var[k], off[1], what, "variance");
	}
	for (ptrdiff_t k = 0; k < F * ROWS * INPUTS; k++) {
		double by = unit[k % INPUTS];
		compare((double)got.dmean[k] * by, (double)want.dmean[k] * by, off[2], what, "dmean");
		compare((double)got.dvar[k] * by, (double)want.dvar[k] * by, off[3], what, "dvar");
	}
	/* without gradients, and of y */
	predictions again = got, y;
	CHECK_STATUS(only_predict(&c.s, X, ROWS, again.mean, again.var, c.scratch,
						 only_scratch(&c.s, 0), NULL),
			ODVGP_OK);
	CHECK(test_max_diff(again.mean, got.mean, F * ROWS) <= off[0]);
	CHECK(test_max_diff(again.var, got.var, F * ROWS) <= off[1]);
	CHECK_STATUS(only_predict(&c.s, X, ROWS, again.mean, NULL, c.scratch, c.bytes, NULL), ODVGP_OK);
	CHECK_STATUS(
			only_predict_y(&c.s, X, ROWS, got.mean, got.var, c.scratch, c.bytes, NULL), ODVGP_OK);
	CHECK_STATUS(
			odvgp_predict_y(&p->s, X, ROWS, y.mean, y.var, p->scratch, p->bytes, NULL), ODVGP_OK);
	CHECK(test_max_diff(y.mean, got.mean, F * ROWS) <= off[0]);
	for (ptrdiff_t k = 0; k < F * ROWS; k++)
		compare((double)got.var[k], (double)y.var[k], off[1] + eps * (double)y.var[k], what,
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
			"periodic(ard, dims=0) * rq(dims=1) + polynomial * matern52", "additive",
			"matern52(ard) + additive(ard) * rbf + periodic * linear(ard=0:2)",
			"rbf(ard=0:2) * additive(dims=1)", "rbf(ard) + matern52(ard)", "laplacian",
			"laplacian(ard) * rbf + matern12 * linear", "matern12(ard) + laplacian(dims=1)",
			"matern12(dims=1) + rbf(ard) * matern32", "rbf(dims=0) * (matern52(ard) + matern32)",
			"(rbf + matern12) * matern52(ard) + periodic(dims=1)",
			"rbf * matern12 + matern32(ard) * matern52"};
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

/*  Room on a controller, for COUPLED, ORTH and SOLVE-GP in float, with C columns (one for each input
    of each distance; periodic has two) and P functions: scratch is at most 4 (M + P) + 256 bytes
    where C + P <= 47, in SOLVE-GP 4 (M + Mg + P) + 256, and 4 bytes more for each further one. A block
    is its numbers, the 20 words of its head, and 4 bytes for each base kernel, sum and product, each
    set of columns and each column: at most 256 in all with 42 columns of one base kernel. */
TEST(scratch_and_block_are_as_small_as_agreed)
{
	static const ptrdiff_t inputs[] = {1, 2, 7, 23, 42, 43, 45, 46, 47, 48, 100, 300};
	static const struct {
		const char *kernel;
		size_t columns, nodes, words; /* of an input; base kernels, sums and products; and sets */
	} kernels[] = {{"rbf(ard)", 1, 1, 2}, {"matern52", 1, 1, 2},
			{"rbf(ard) + matern12(ard)", 2, 3, 5}, {"periodic(ard)", 2, 1, 2},
			{"rbf(ard) * linear(ard) + rq(ard)", 3, 5, 8}};
	for (int k = 0; k < 5; k++)
		for (int d = 0; d < 12; d++)
			for (int member = 0; member < 3; member++) {
				const ptrdiff_t D = inputs[d], P = d % 2 ? 1 : 3, M = 5, Mg = member == 0 ? 0 : 4;
				const size_t C = kernels[k].columns * (size_t)D, p = (size_t)P,
							 all = (size_t)(member == 2 ? M + Mg : M), rest = member == 1 ? 4 : 0;
				odvgp_config c = odvgp_config_defaults(20, D, P, M, Mg);
				if (member == 0) c.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
				if (member == 2) {
					c.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS;
					c.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
				}
				c.layer[0].kernel = kernels[k].kernel;
				test_seed = 830;
				fixture a = make(&c);
				served s = serve_rows(&a, NULL, 1);
				compact b = make_compact(&s.s);
				const size_t most = 4 * (all + p) + 256 + 4 * (C + p > 47 ? C + p - 47 : 0),
							 bytes = 4 * (only_scratch(&b.s, 0) / sizeof(odvgp_real)) + 3;
				CHECK_SAY(bytes <= most, "%s, D = %d, P = %d, member %d: scratch %zu of %zu",
						kernels[k].kernel, (int)D, (int)P, member, bytes, most);
				/* points, coefficients, L, R of q; shift and factor; kernel; b and units of y, noise */
				const size_t triangle = (size_t)(M * (M + 1) / 2),
							 R = member == 2 ? triangle + 10 : triangle,
							 numbers = (all + rest) * (C + p) + all * (all + 1) / 2 + p * R +
									   2 * C + 3 * kernels[k].nodes + 3 * p + 1,
							 beside = b.block_bytes - numbers * sizeof(odvgp_real);
				CHECK_SAY(beside == (80 + 4 * (kernels[k].words + C) + 7) / 8 * 8 &&
								  (beside <= 256 || C + kernels[k].words > 44),
						"%s, D = %d, P = %d, member %d: %zu bytes beside the numbers",
						kernels[k].kernel, (int)D, (int)P, member, beside);
				drop_compact(&b);
				unserve(&s);
				drop(&a);
			}
}

/* ---- moments of y ---- */

static const struct {
	odvgp_likelihood kind;
	int P, classes;
} likelihoods[] = {{ODVGP_LIKELIHOOD_BERNOULLI, 2, 0}, {ODVGP_LIKELIHOOD_LOGIT, 2, 0},
		{ODVGP_LIKELIHOOD_STUDENTT, 2, 0}, {ODVGP_LIKELIHOOD_LAPLACE, 3, 0},
		{ODVGP_LIKELIHOOD_POISSON, 2, 0}, {ODVGP_LIKELIHOOD_EXPONENTIAL, 1, 0},
		{ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL, 2, 0}, {ODVGP_LIKELIHOOD_GAMMA, 2, 0},
		{ODVGP_LIKELIHOOD_BETA, 2, 0}, {ODVGP_LIKELIHOOD_ORDINAL, 1, 2},
		{ODVGP_LIKELIHOOD_ORDINAL, 1, 5}, {ODVGP_LIKELIHOOD_ROBUSTMAX, 2, 0},
		{ODVGP_LIKELIHOOD_ROBUSTMAX, 5, 0}, {ODVGP_LIKELIHOOD_SOFTMAX, 2, 0},
		{ODVGP_LIKELIHOOD_SOFTMAX, 3, 0}, {ODVGP_LIKELIHOOD_SOFTMAX, 4, 0},
		{ODVGP_LIKELIHOOD_HETEROSCEDASTIC, 4, 0}};

/*  A model of the likelihood; variance: of its functions. */
static fixture make_likelihood(size_t k, double variance)
{
	odvgp_config c = random_config(30, INPUTS, likelihoods[k].P, 6, 8);
	c.lik.kind = likelihoods[k].kind;
	c.lik.classes = likelihoods[k].classes;
	if (likelihoods[k].kind == ODVGP_LIKELIHOOD_BERNOULLI ||
			likelihoods[k].kind == ODVGP_LIKELIHOOD_ROBUSTMAX)
		c.lik.link_jitter = GP__R(0.01);
	test_seed = 800 + (uint64_t)k;
	fixture a = make_random(&c, "rbf");
	set_number(a.m, "kernel.0.variance", variance);
	if (likelihoods[k].kind == ODVGP_LIKELIHOOD_STUDENTT) set_number(a.m, "df", 3.5);
	return a;
}

/*  All kinds of transformed columns, beyond their ranges too; refused by a build without them, and
    where a record is no transform. */
TEST(transformed_columns)
{
	static const odvgp_real from[] = {GP__R(-1.9), GP__R(-0.4), GP__R(0.5), GP__R(1.7)},
							to[] = {-3, GP__R(-0.6), 1, GP__R(1.5)};
	const odvgp_transform t[2][2] = {
			{{ODVGP_TRANSFORM_LOG, GP__R(2.5), 0, GP__R(-1.5), GP__R(1.3), 0, NULL, NULL},
					{ODVGP_TRANSFORM_ASINH, GP__R(0.3), GP__R(0.5), GP__R(-1.7), GP__R(1.6), 0,
							NULL, NULL}},
			{{ODVGP_TRANSFORM_NONE, 0, 0, 0, 0, 0, NULL, NULL},
					{ODVGP_TRANSFORM_LINEAR, 0, 0, 0, 0, 4, from, to}}};
	for (int k = 0; k < 2; k++) {
		odvgp_config c = random_config(30, INPUTS, 2, 6, 8);
		odvgp_server few;
		if (k) c.functions = OUTPUTS;
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
		test_seed = 850 + (uint64_t)k;
		fixture a = make_random(&c, "matern52");
		CHECK_STATUS(odvgp_set_transforms(a.m, t[k], NULL), ODVGP_OK);
		served p = serve_rows(&a, NULL, ROWS);
		compare_with_server(&p, a.X, one, 100, "transformed columns");
		compact b = make_compact(&p.s);
		CHECK_STATUS(few_open(&few, b.block, b.block_bytes, NULL), ODVGP_E_UNSUPPORTED);
		gp__compact *head = (gp__compact *)b.block;
		gp__compact_view v;
		gp__rows_view_of(head, &v);
		CHECK(head->format >> 16 == (k ? 11 : 14));
		for (int i = 0; i < 3; i++) { /* column, kind, count */
			odvgp_real keep = v.transforms[i];
			v.transforms[i] = 7;
			head->sum = gp__rows_sum(head);
			CHECK_STATUS(only_open(&b.s, b.block, b.block_bytes, NULL), ODVGP_E_FORMAT);
			v.transforms[i] = keep;
		}
		head->sum = gp__rows_sum(head);
		head->format += 1u << 16;
		CHECK_STATUS(only_open(&b.s, b.block, b.block_bytes, NULL), ODVGP_E_FORMAT);
		/* a row that is not finite */
		odvgp_real x[INPUTS] = {(odvgp_real)NAN, 1}, mean[OUTPUTS], dmean[OUTPUTS * INPUTS];
		const odvgp_gradient of = {mean, NULL, dmean, NULL, NULL, NULL};
		head->format -= 1u << 16;
		CHECK_STATUS(only_open(&b.s, b.block, b.block_bytes, NULL), ODVGP_OK);
		CHECK_STATUS(only_gradient(&b.s, x, 1, &of, b.scratch, b.bytes, NULL), ODVGP_E_NAN);
		for (int i = 0; i < p.s.F; i++) CHECK(isfinite((double)mean[i]) && dmean[2 * i] == 0);
		drop_compact(&b);
		unserve(&p);
		drop(&a);
	}
}

/*  Replaces SOFTMAX's moments by the integral's: the rules of odvgp_predict_y (gp__softmax_places)
    have errors up to 1e-7, at a variance of 8. For four functions with a variance above 4 a product
    of rules takes too long here; odvgp_predict_y stays the reference, right to 1e-9 at 60. */
static void integrate_softmax(const odvgp_server *s, const odvgp_real *mean, const odvgp_real *var,
		odvgp_real *y, odvgp_real *vy)
{
	const int K = (int)s->F;
	const nodes rule = trapezoid_nodes(K == 4 ? 0.2 : 0.05);
	for (int i = 0; i < ROWS; i++) {
		double m[4], v[4], p[4], most = 0;
		for (int k = 0; k < K; k++) {
			m[k] = (double)mean[k * ROWS + i], v[k] = (double)var[k * ROWS + i];
			most = fmax(most, v[k]);
		}
		if (K == 4 && most > 4) continue;
		softmax_by(&rule, K, m, v, p);
		for (int k = 0; k < K; k++) {
			y[k * ROWS + i] = (odvgp_real)p[k];
			vy[k * ROWS + i] = (odvgp_real)(p[k] * (1 - p[k]));
		}
	}
}

/*  Differences relative to the largest number of the kind, times the condition of f, at most `off`,
    and times 1 and the largest of |mean| + 2 var: the condition of e^(mean + 2 var) where that may
    be in y's moments. */
static void compare_y(const served *p, const odvgp_real *X, double off, const char *what)
{
	enum { MOST = MOST_Y * ROWS };
	compact c = make_compact(&p->s);
	odvgp_real mean[MOST], var[MOST], want_mean[MOST], want_var[MOST], alone[MOST];
	double most[2] = {1e-3, 1e-3}, condition = 1;
	const ptrdiff_t all = p->s.y_rows * ROWS;
	CHECK(c.s.y_rows == p->s.y_rows && c.s.T == p->s.T && p->s.y_rows <= MOST_Y);
	CHECK_STATUS(only_predict(&c.s, X, ROWS, mean, var, c.scratch, c.bytes, NULL), ODVGP_OK);
	for (ptrdiff_t i = 0; i < p->s.F * ROWS && p->s.y_rows == p->s.T; i++)
		condition = fmax(condition, 1 + fabs((double)mean[i]) + 2 * (double)var[i]);
	CHECK_STATUS(odvgp_predict_y(&p->s, X, ROWS, want_mean, want_var, p->scratch, p->bytes, NULL),
			ODVGP_OK);
	if (gp__layer_of(&p->s)->likelihood == ODVGP_LIKELIHOOD_SOFTMAX && sizeof(odvgp_real) == 8)
		integrate_softmax(&p->s, mean, var, want_mean, want_var);
	CHECK_STATUS(only_predict_y(&c.s, X, ROWS, mean, var, c.scratch, only_scratch(&c.s, 0), NULL),
			ODVGP_OK);
	for (ptrdiff_t i = 0; i < all; i++) {
		most[0] = fmax(most[0], fabs((double)want_mean[i]));
		most[1] = fmax(most[1], fabs((double)want_var[i]));
	}
	const conditions of = conditions_of(&p->s, X, ROWS);
	off = fmin(off, fmax(1, of.sd * of.sd) * fmax(of.mean, of.var));
	off *= condition * BY_PRECISION(1e-11, 1e-5);
	for (ptrdiff_t i = 0; i < all; i++) {
		compare((double)mean[i], (double)want_mean[i], off * most[0], what, "mean of y");
		compare((double)var[i], (double)want_var[i], off * most[1], what, "variance of y");
	}
	/* either output alone, and the scratch of gradients */
	CHECK_STATUS(only_predict_y(&c.s, X, ROWS, alone, NULL, c.scratch, c.bytes, NULL), ODVGP_OK);
	CHECK_BITS(mean, alone, (size_t)all * sizeof *mean);
	CHECK_STATUS(only_predict_y(&c.s, X, ROWS, NULL, alone, c.scratch, c.bytes, NULL), ODVGP_OK);
	CHECK_BITS(var, alone, (size_t)all * sizeof *var);
	CHECK_STATUS(only_predict_y(&c.s, X, ROWS, NULL, NULL, c.scratch, c.bytes, NULL), ODVGP_OK);
	drop_compact(&c);
}

TEST(moments_of_y_of_every_likelihood)
{
	static const double variances[] = {0.5, 4, 60};
	for (size_t k = 0; k < sizeof likelihoods / sizeof *likelihoods; k++)
		for (int v = 0; v < 3; v++) {
			const odvgp_likelihood kind = likelihoods[k].kind;
			if (test_size(0, v != (int)(k % 3))) continue;
			/* e^60 is no use */
			if (v > 1 && kind >= ODVGP_LIKELIHOOD_POISSON && kind <= ODVGP_LIKELIHOOD_GAMMA) break;
			char what[60];
			snprintf(what, sizeof what, "%s of %d, variance %g",
					gp__likelihoods[likelihoods[k].kind].name, likelihoods[k].P, variances[v]);
			fixture a = make_likelihood(k, variances[v]);
			served p = serve_rows(&a, NULL, ROWS);
			compare_y(&p, a.X,
					likelihoods[k].P == 4 && kind == ODVGP_LIKELIHOOD_SOFTMAX && v == 2 ? 300 : 30,
					what);
			unserve(&p);
			drop(&a);
		}
}

/*  Functions that are known far better than they differ, at the inducing inputs. */
TEST(classes_of_narrow_functions)
{
	static const double sizes[] = {3, 20, 100, 1000}, widths[] = {1e-1, 1e-3, 1e-5};
	for (int k = 0; k < 12; k++) {
		odvgp_config c = random_config(30, INPUTS, 3, ROWS, 0);
		c.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
		c.lik.kind = ODVGP_LIKELIHOOD_ROBUSTMAX;
		test_seed = 850;
		fixture a = make_random(&c, "rbf");
		odvgp_real *mu = values(&a, "q_mu"), *root = values(&a, "q_sqrt"),
				   *Z = values(&a, "Z_beta"), mean[2][3 * ROWS], var[2][3 * ROWS];
		for (ptrdiff_t i = 0; i < 3 * ROWS; i++)
			mu[i] = (odvgp_real)(sizes[k % 4] * sin(1.7 * (double)i));
		for (ptrdiff_t i = 0; i < 3 * ROWS * ROWS; i++)
			root[i] = i / ROWS % ROWS == i % ROWS ? (odvgp_real)widths[k / 4] : 0;
		assign(&a, "q_mu", mu), assign(&a, "q_sqrt", root);
		served p = serve_rows(&a, NULL, ROWS);
		compact small_one = make_compact(&p.s);
		CHECK_STATUS(odvgp_predict_y(&p.s, Z, ROWS, mean[0], var[0], p.scratch, p.bytes, NULL),
				ODVGP_OK);
		CHECK_STATUS(only_predict_y(&small_one.s, Z, ROWS, mean[1], var[1], small_one.scratch,
							 small_one.bytes, NULL),
				ODVGP_OK);
		for (int i = 0; i < 3 * ROWS; i++)
			CHECK_SAY(fabs((double)(mean[0][i] - mean[1][i])) < BY_PRECISION(1e-11, 1e-3) &&
							  var[1][i] >= 0,
					"size %g, width %g: %g, compact %g", sizes[k % 4], widths[k / 4],
					(double)mean[0][i], (double)mean[1][i]);
		drop_compact(&small_one);
		unserve(&p);
		free(mu), free(root), free(Z);
		drop(&a);
	}
}

/*  Units of y, mixed functions and independent ones. */
TEST(moments_of_y_in_units_and_mixed)
{
	for (int k = 0; k < 3; k++) {
		odvgp_config c = random_config(30, INPUTS, k == 1 ? 2 : OUTPUTS, 6, 8);
		odvgp_real X[ROWS * INPUTS];
		c.functions = k == 1 ? OUTPUTS : 0;
		c.independent = k == 2;
		c.lik.kind = k ? ODVGP_LIKELIHOOD_STUDENTT : ODVGP_LIKELIHOOD_LAPLACE;
		test_seed = 840 + (uint64_t)k;
		fixture a = make_random(&c, "matern52");
		if (k) set_number(a.m, "df", 2.5);
		served p = serve_rows(&a, &units_of_data, ROWS);
		to_units(a.X, ROWS, X);
		compare_y(&p, X, 300, "units");
		unserve(&p);
		drop(&a);
		c.lik.kind = k ? ODVGP_LIKELIHOOD_LOGIT : ODVGP_LIKELIHOOD_POISSON;
		a = make_random(&c, "matern52");
		p = serve_rows(&a, NULL, ROWS);
		compare_y(&p, a.X, 300, "mixed");
		unserve(&p);
		drop(&a);
	}
}

/*  E[softmax(f)] by a trapezoid rule over all normals. */
static void softmax_by_places(ptrdiff_t K, const odvgp_real *mean, const odvgp_real *var,
		ptrdiff_t ld, double h, int reach, double *p)
{
	double f[MOST_Y], e[MOST_Y];
	int at[MOST_Y];
	for (ptrdiff_t k = 0; k < K; k++) at[k] = -reach, p[k] = 0;
	for (ptrdiff_t k = 0; k < K;) {
		double w = 1, sum = 0;
		for (k = 0; k < K; k++) {
			double t = h * at[k];
			f[k] = (double)mean[k * ld] + sqrt((double)var[k * ld]) * t;
			w *= h * exp(-0.5 * t * t) / sqrt(2 * acos(-1));
			sum += e[k] = exp(f[k]);
		}
		for (k = 0; k < K; k++) p[k] += w * e[k] / sum;
		for (k = 0; k < K && ++at[k] > reach; k++) at[k] = -reach;
	}
}

/*  SOFTMAX's probabilities are its integral's, also where odvgp_predict_y takes draws. */
TEST(probabilities_of_softmax_are_the_integral)
{
	static const struct {
		int K, rows, reach;
		double h, off;
	} cases[] = {{3, 3, 30, 0.28, 1e-10}, {5, 1, 7, 0.75, 2e-5}};
	for (int k = 0; k < 2; k++) {
		odvgp_config c = random_config(30, INPUTS, cases[k].K, 6, 8);
		odvgp_real mean[MOST_Y * 3], var[MOST_Y * 3], y[MOST_Y * 3];
		const int n = cases[k].rows;
		c.lik.kind = ODVGP_LIKELIHOOD_SOFTMAX;
		test_seed = 850 + (uint64_t)k;
		fixture a = make_random(&c, "rbf");
		served p = serve_rows(&a, NULL, ROWS);
		compact b = make_compact(&p.s);
		CHECK_STATUS(only_predict(&b.s, a.X, n, mean, var, b.scratch, b.bytes, NULL), ODVGP_OK);
		CHECK_STATUS(only_predict_y(&b.s, a.X, n, y, NULL, b.scratch, b.bytes, NULL), ODVGP_OK);
		for (int i = 0; i < n; i++) {
			double want[MOST_Y], sum = 0;
			softmax_by_places(cases[k].K, mean + i, var + i, n, cases[k].h, cases[k].reach, want);
			for (int j = 0; j < cases[k].K; j++) {
				compare((double)y[j * n + i], want[j], fmax(cases[k].off, BY_PRECISION(0, 1e-5)),
						"softmax", "probability");
				sum += (double)y[j * n + i];
			}
			CHECK_NEAR(sum, 1, 8 * EPS);
		}
		drop_compact(&b);
		unserve(&p);
		drop(&a);
	}
}

/*  STUDENTT's variance is infinite for df <= 2: E_NAN, as odvgp_predict_y says. Of a row that is not
    finite y has the prior's moments. */
TEST(moments_of_y_that_are_not_finite)
{
	for (size_t k = 0; k < sizeof likelihoods / sizeof *likelihoods; k++) {
		fixture a = make_likelihood(k, 1);
		const int student = likelihoods[k].kind == ODVGP_LIKELIHOOD_STUDENTT;
		if (student) set_number(a.m, "df", 2);
		served p = serve_rows(&a, NULL, ROWS);
		compact c = make_compact(&p.s);
		odvgp_real X[2 * INPUTS], mean[2 * MOST_Y], var[2 * MOST_Y];
		odvgp_info info;
		memcpy(X, a.X, sizeof X);
		X[INPUTS] = (odvgp_real)NAN;
		CHECK_STATUS(only_predict_y(&c.s, X, 2, mean, var, c.scratch, c.bytes, &info), ODVGP_E_NAN);
		CHECK(info.row == 1);
		for (ptrdiff_t i = 0; i < 2 * c.s.y_rows; i++)
			CHECK(isfinite((double)mean[i]) && (student ? var[i] == (odvgp_real)HUGE_VAL
														: var[i] >= 0 && isfinite((double)var[i])));
		CHECK_STATUS(only_predict_y(&c.s, X, 1, mean, var, c.scratch, c.bytes, NULL),
				student ? ODVGP_E_NAN : ODVGP_OK);
		CHECK_STATUS(only_predict_y(&c.s, X, 1, mean, NULL, c.scratch, c.bytes, NULL), ODVGP_OK);
		drop_compact(&c);
		unserve(&p);
		drop(&a);
	}
}

/*  Parameters of each likelihood out of range, with a right checksum: refused by opening or by
    odvgp_predict_y. So is every other likelihood's number in the head. */
TEST(forged_likelihoods_are_refused)
{
	static const double bad[] = {-1, 0, NAN, HUGE_VAL, 1.5};
	for (size_t k = 0; k < sizeof likelihoods / sizeof *likelihoods; k++) {
		fixture a = make_likelihood(k, 1);
		const odvgp_likelihood kind = likelihoods[k].kind;
		served p = serve_rows(&a, NULL, ROWS);
		compact c = make_compact(&p.s);
		gp__compact *head = (gp__compact *)c.block;
		gp__compact_view v;
		odvgp_server s;
		odvgp_real mean[64], var[64];
		odvgp_info info;
		gp__rows_view_of(head, &v);
		const uint32_t last = head->lik_params - 1;
		const int cuts = kind == ODVGP_LIKELIHOOD_ORDINAL,
				  robust = kind == ODVGP_LIKELIHOOD_ROBUSTMAX,
				  frees = cuts || robust || kind == ODVGP_LIKELIHOOD_BERNOULLI;
		for (uint32_t i = 0; i < head->lik_params; i++)
			for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
				const odvgp_real old = v.lik[i];
				const int free_one = frees && i == last, finite = bad[b] - bad[b] == 0,
						  ok = !free_one ? !robust && bad[b] > 1 && finite
							   : cuts    ? finite
										 : bad[b] == 0;
				v.lik[i] = (odvgp_real)bad[b];
				head->sum = gp__rows_sum(head);
				odvgp_status status = only_open(&s, c.block, c.block_bytes, NULL);
				if (!status)
					status = only_predict_y(&s, a.X, 1, mean, var, c.scratch, c.bytes, &info);
				/* df 1.5 has no variance */
				if (ok && kind == ODVGP_LIKELIHOOD_STUDENTT && i == 1)
					CHECK_STATUS(status, ODVGP_E_NAN);
				else CHECK_STATUS(status, ok ? ODVGP_OK : ODVGP_E_FORMAT);
				v.lik[i] = old;
			}
		uint32_t *const words[] = {&head->likelihood, &head->lik_params, &head->T, &head->y_rows};
		for (int w = 0; w < 4; w++)
			for (uint32_t value = 0; value < 40; value++) {
				const uint32_t old = *words[w];
				*words[w] = value;
				head->sum = gp__rows_sum(head);
				odvgp_status status = only_open(&s, c.block, c.block_bytes, &info);
				if (w == 0 && value > 13) {
					CHECK_STATUS(status, ODVGP_E_UNSUPPORTED);
					CHECK(!strcmp(info.what, "likelihood"));
				}
				/* the same shape has another meaning: whatever it says, it stays in its memory */
				if (!status)
					status = only_predict_y(&s, a.X, 1, mean, var, c.scratch, c.bytes, &info);
				if (w && value != old) CHECK(status == ODVGP_E_FORMAT);
				*words[w] = old;
			}
		drop_compact(&c);
		unserve(&p);
		drop(&a);
	}
}

/*  Whether a build opens a block, or names what it lacks. */
static void refused_by_name(
		odvgp_status (*open)(odvgp_server *, const void *, size_t, odvgp_info *), const compact *c,
		const char *name)
{
	odvgp_server s;
	odvgp_info info;
	CHECK_STATUS(open(&s, c->block, c->block_bytes, &info), name ? ODVGP_E_UNSUPPORTED : ODVGP_OK);
	CHECK_SAY(!name || !strcmp(info.what, name), "%s is named, not %s", info.what, name);
}

/*  The build with few likelihoods opens their blocks only, that with the others not these. */
TEST(likelihoods_that_a_build_lacks_are_refused)
{
	for (size_t k = 0; k < sizeof likelihoods / sizeof *likelihoods; k++) {
		fixture a = make_likelihood(k, 1);
		served p = serve_rows(&a, NULL, ROWS);
		compact c = make_compact(&p.s);
		const int few = likelihoods[k].kind == ODVGP_LIKELIHOOD_POISSON;
		refused_by_name(few_open, &c, few ? NULL : gp__likelihoods[likelihoods[k].kind].name);
		refused_by_name(others_open, &c, few ? "poisson" : "rbf");
		drop_compact(&c);
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

/*  The prior's mean is that of the mean function at the inputs' mean, of each output in its units; its
    variance is the kernel's there. */
TEST(rows_that_are_not_finite_with_linear_kernels_means_and_outputs)
{
	static const char *const kernels[] = {
			"linear", "linear + rbf", "polynomial * matern52", "linear + constant + periodic"};
	for (int k = 0; k < 12; k++) {
		odvgp_config c = random_config(30, INPUTS, k % 3 == 1 ? 2 : OUTPUTS, 6, 8);
		odvgp_real X[ROWS * INPUTS], mean[ALL], var[ALL], dmean[SLOPES], dvar[SLOPES],
				at[INPUTS] = {0, 0}, node[GP__MAX_NODES];
		const odvgp_gradient to = {mean, var, dmean, dvar, NULL, NULL};
		if (k % 3 == 1) c.functions = OUTPUTS;
		c.independent = k % 3 == 2;
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
		test_seed = 870 + (uint64_t)k;
		fixture a = make_random(&c, kernels[k / 3]);
		served s = serve_rows(&a, &units_of_data, ROWS);
		to_units(a.X, ROWS, X);
		compact b = make_compact(&s.s);
		const gp__predictor *p = gp__layer_of(&s.s);
		double want[2][OUTPUTS] = {{0}}, sloped = 0;
		for (ptrdiff_t q = 0; q < p->P; q++) {
			const ptrdiff_t unit = p->units > 1 ? q : 0, own = p->units > 1 ? 0 : q;
			gp__view v = gp__view_of(p, unit);
			gp__kernel kernel;
			gp__kernel_unpack(gp__predictor_kernel(p), p->base_kernels, &kernel);
			const double prior = (double)gp__kernel_diag(&kernel, v.hyp, at, node);
			for (ptrdiff_t f = 0; f < s.s.F; f++) {
				const double w = (k % 3 == 1 ? (double)v.mixing[f * p->P + q] : f == q) *
								 (double)units_y_scale[f];
				want[0][f] += w * (double)v.b[own];
				want[1][f] += w * w * prior;
			}
			for (ptrdiff_t d = 0; d < INPUTS; d++)
				sloped += fabs((double)v.A[d * (p->P / p->units) + own]);
		}
		CHECK(sloped > 0.1);
		X[3 * INPUTS + k % 2] = (odvgp_real)(k % 4 < 2 ? NAN : -HUGE_VAL);
		for (int gradient = 0; gradient < 2; gradient++) {
			odvgp_info info;
			CHECK_STATUS(
					gradient ? only_gradient(&b.s, X, ROWS, &to, b.scratch, b.bytes, &info)
							 : only_predict(&b.s, X, ROWS, mean, var, b.scratch, b.bytes, &info),
					ODVGP_E_NAN);
			CHECK(info.row == 3);
			for (ptrdiff_t f = 0; f < s.s.F; f++) {
				const double prior = (double)units_y_mean[f] + want[0][f];
				compare((double)mean[f * ROWS + 3], prior, 16 * EPS * (1 + fabs(prior)),
						kernels[k / 3], "the prior's mean");
				compare((double)var[f * ROWS + 3], want[1][f], 16 * EPS * (1 + want[1][f]),
						kernels[k / 3], "the prior's variance");
			}
		}
		drop_compact(&b);
		unserve(&s);
		drop(&a);
	}
}

/*  Every flipped bit and every length is refused; so are damaged heads with a right checksum, or
    they predict within their memory (the sanitizers look). */
TEST(damaged_and_forged_blocks)
{
	odvgp_config c = random_config(12, INPUTS, 2, 3, 2);
	test_seed = 760;
	c.independent = 1;
	fixture a = make_kernel(&c, "matern52(ard) * rbf + periodic(dims=0) + linear + additive");
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
		odvgp_real x[INPUTS] = {0, 0}, mean[2], var[2];
		odvgp_status status = only_open(&s, k.block, k.block_bytes, NULL);
		if (i < 2) { /* predictions of f do not read these */
			CHECK_STATUS(status, ODVGP_OK);
			status = only_predict_y(&s, x, 1, mean, var, k.scratch, k.bytes, NULL);
		}
		CHECK(i == 3 || status == ODVGP_E_FORMAT);
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

/*  Each base kernel and factor by its name, in two builds that have each other's. */
TEST(what_a_build_lacks_is_refused)
{
	static const struct {
		const char *kernel;
		int cov;
		const char *few, *others;
	} cases[] = {{"rbf + matern52", ODVGP_COV_PART_DENSE, NULL, "gaussian"},
			{"matern12", ODVGP_COV_PART_DENSE, "matern12", NULL},
			{"rbf + matern32", ODVGP_COV_PART_DENSE, "matern32", "rbf"},
			{"rq", ODVGP_COV_PART_DENSE, "rq", NULL},
			{"rbf * periodic", ODVGP_COV_PART_DENSE, "periodic", "rbf"},
			{"linear", ODVGP_COV_PART_DENSE, "linear", NULL},
			{"polynomial", ODVGP_COV_PART_DENSE, "polynomial", NULL},
			{"constant * matern52", ODVGP_COV_PART_DENSE, "constant", "matern52"},
			{"white + rbf", ODVGP_COV_PART_DENSE, "white", "rbf"},
			{"rbf + additive", ODVGP_COV_PART_DENSE, "additive", "rbf"},
			{"rbf + laplacian", ODVGP_COV_PART_DENSE, "laplacian", "rbf"},
			{"rbf", ODVGP_COV_PART_INVERSE, "DECOUPLED", "rbf"},
			{"rbf", ODVGP_COV_PART_DIAGONAL, "O(M)", "rbf"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		odvgp_config c = random_config(30, INPUTS, 1, 5, 4);
		if (cases[i].cov) {
			c.layer[0].mean_part = ODVGP_MEAN_PART_FREE;
			c.layer[0].cov_part = (odvgp_cov_part)cases[i].cov;
			c.optim.natgrad = 0;
		}
		if (i) c.lik.kind = ODVGP_LIKELIHOOD_BERNOULLI;
		test_seed = 770 + (uint64_t)i;
		fixture a = make_random(&c, cases[i].kernel);
		served p = serve_rows(&a, NULL, ROWS);
		compact k = make_compact(&p.s);
		gp__compact *head = (gp__compact *)k.block;
		refused_by_name(others_open, &k, cases[i].others);
		head->likelihood = ODVGP_LIKELIHOOD_GAUSSIAN; /* which opening does not look into */
		head->sum = gp__rows_sum(head);
		refused_by_name(few_open, &k, cases[i].few);
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
	RUN(transformed_columns);
	RUN(scratch_and_block_are_as_small_as_agreed);
	RUN(moments_of_y_of_every_likelihood);
	RUN(classes_of_narrow_functions);
	RUN(moments_of_y_in_units_and_mixed);
	RUN(probabilities_of_softmax_are_the_integral);
	RUN(moments_of_y_that_are_not_finite);
	RUN(forged_likelihoods_are_refused);
	RUN(likelihoods_that_a_build_lacks_are_refused);
	RUN(rows_that_are_not_finite_get_the_prior);
	RUN(rows_that_are_not_finite_with_linear_kernels_means_and_outputs);
	RUN(damaged_and_forged_blocks);
	RUN(forged_heads_are_refused);
	RUN(scratch_at_any_address_and_overflow);
	RUN(what_a_build_lacks_is_refused);
	RUN(bad_arguments_are_refused);
	return test_end();
}

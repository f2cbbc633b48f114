/*  Gradients and Hessians of predictions: against differences for every member, kernel and form of
    output; where a kernel has no derivative; each result without the others; refusals. Transformed
    columns, in all that predicts. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"

enum { ROWS = 11, INPUTS = 2, OUTPUTS = 3, ALL = OUTPUTS * ROWS, SLOPES = ALL * INPUTS };

typedef struct {
	odvgp_real mean[ALL], var[ALL], dmean[SLOPES], dvar[SLOPES], hessian[SLOPES * INPUTS];
} gradients;

/*  The gradients at X [n,INPUTS], with scratch for `rows` rows. */
static gradients gradients_at(
		const odvgp_server *s, const odvgp_real *X, ptrdiff_t n, ptrdiff_t rows)
{
	gradients g;
	const odvgp_gradient to = {g.mean, g.var, g.dmean, g.dvar, g.hessian, NULL};
	size_t bytes = odvgp_predict_gradient_scratch(s, rows, NULL);
	void *scratch = test_alloc(bytes);
	memset(&g, 0, sizeof g);
	CHECK_STATUS(odvgp_predict_gradient(s, X, n, &to, scratch, bytes, NULL), ODVGP_OK);
	free(scratch);
	return g;
}

/*  Mean and variance of all functions at one row. */
static void moments_at(const served *p, const odvgp_real *x, odvgp_real *mean, odvgp_real *var)
{
	CHECK_STATUS(odvgp_predict(&p->s, x, 1, mean, var, p->scratch, p->bytes, NULL), ODVGP_OK);
}

/*  Compares gradients with differences of fourth order, and moments with predictions. `unit` [D]:
    of the columns. Tolerances are relative to the largest gradient. */
static void compare_with_differences(const served *p, const odvgp_real *X, const double *unit,
		const gradients *g, const char *what)
{
	static const double at[] = {-2, -1, 1, 2}, weight[] = {1.0 / 12, -2.0 / 3, 2.0 / 3, -1.0 / 12};
	ptrdiff_t F = p->s.F;
	double worst = 0, most[2] = {0, 0};
	for (ptrdiff_t i = 0; i < F * ROWS * INPUTS; i++) {
		most[0] = fmax(most[0], fabs((double)g->dmean[i]) * unit[i % INPUTS]);
		most[1] = fmax(most[1], fabs((double)g->dvar[i]) * unit[i % INPUTS]);
	}
	for (ptrdiff_t i = 0; i < ROWS; i++) {
		odvgp_real mean[OUTPUTS], var[OUTPUTS], x[INPUTS];
		moments_at(p, X + i * INPUTS, mean, var);
		for (ptrdiff_t f = 0; f < F; f++) {
			CHECK_NEAR(g->mean[f * ROWS + i], mean[f], 400 * EPS * (1 + fabs((double)mean[f])));
			CHECK_NEAR(g->var[f * ROWS + i], var[f], 4000 * EPS * (1 + fabs((double)var[f])));
		}
		for (ptrdiff_t d = 0; d < INPUTS; d++) {
			double sum[2][OUTPUTS] = {{0}}, h = BY_PRECISION(1e-3, 0.015) * unit[d], step = 0;
			for (int k = 0; k < 4; k++) {
				memcpy(x, X + i * INPUTS, sizeof x);
				x[d] += (odvgp_real)(at[k] * h);
				step += weight[k] * (double)(x[d] - X[i * INPUTS + d]);
				moments_at(p, x, mean, var);
				for (ptrdiff_t f = 0; f < F; f++) {
					sum[0][f] += weight[k] * (double)mean[f];
					sum[1][f] += weight[k] * (double)var[f];
				}
			}
			for (ptrdiff_t f = 0; f < F; f++) {
				ptrdiff_t j = (f * ROWS + i) * INPUTS + d;
				double off[2] = {(double)g->dmean[j] - sum[0][f] / step,
						(double)g->dvar[j] - sum[1][f] / step};
				for (int k = 0; k < 2; k++)
					worst = fmax(worst, fabs(off[k]) * unit[d] / (1e-3 + most[k]));
			}
		}
	}
	CHECK_SAY(worst < BY_PRECISION(1e-7, 1e-2), "%s: gradients are off by %.2g", what, worst);
}

/*  Compares Hessians with differences of gradients, and their triangles with each other. */
static void compare_hessians(const served *p, const odvgp_real *X, const double *unit,
		const gradients *g, const char *what)
{
	ptrdiff_t F = p->s.F;
	double worst = 0, most = 0;
	for (ptrdiff_t i = 0; i < ROWS; i++)
		for (ptrdiff_t d = 0; d < INPUTS; d++) {
			odvgp_real x[4 * INPUTS];
			double h = BY_PRECISION(1e-3, 0.02) * unit[d];
			for (int k = 0; k < 4; k++) {
				memcpy(x + k * INPUTS, X + i * INPUTS, INPUTS * sizeof *x);
				x[k * INPUTS + d] += (odvgp_real)((k < 2 ? k - 2 : k - 1) * h);
			}
			gradients near = gradients_at(&p->s, x, 4, 4);
			for (ptrdiff_t j = 0; j < F * INPUTS; j++) {
				ptrdiff_t f = j / INPUTS, e = j % INPUTS;
				const odvgp_real *at = near.dmean + f * 4 * INPUTS + e,
								 *H = g->hessian + (f * ROWS + i) * INPUTS * INPUTS;
				double want = (8 * ((double)at[2 * INPUTS] - (double)at[INPUTS]) -
									  ((double)at[3 * INPUTS] - (double)at[0])) /
							  (12 * h),
					   to_one = unit[d] * unit[e];
				worst = fmax(worst, fabs((double)H[d * INPUTS + e] - want) * to_one);
				most = fmax(most, fabs((double)H[d * INPUTS + e]) * to_one);
				CHECK_NEAR(H[d * INPUTS + e], H[e * INPUTS + d], 1000 * EPS * (1 + most) / to_one);
			}
		}
	CHECK_SAY(worst < BY_PRECISION(1e-7, 1e-2) * (1e-3 + most),
			"%s: Hessians are off by %.2g of %.2g", what, worst, most);
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
		gradients g = gradients_at(&p.s, a.X, ROWS, ROWS);
		compare_with_differences(&p, a.X, one, &g, what);
		compare_hessians(&p, a.X, one, &g, what);
		/* one row after the other, and four at a time */
		for (int rows = 1; rows <= 4; rows += 3) {
			gradients h = gradients_at(&p.s, a.X, ROWS, rows);
			double most = test_max_abs(g.dvar, SLOPES) + test_max_abs(g.dmean, SLOPES);
			CHECK(test_max_diff(g.dmean, h.dmean, SLOPES) <= 4000 * EPS * (1 + most));
			CHECK(test_max_diff(g.dvar, h.dvar, SLOPES) <= 40000 * EPS * (1 + most));
		}
		unserve(&p);
		drop(&a);
	}
}

TEST(every_kernel)
{
	static const char *const kernels[] = {"rbf", "matern12", "matern32", "matern52", "rq(ard)",
			"periodic", "linear", "linear(ard) * rbf", "polynomial + rbf", "constant * rbf + white",
			"(rbf(dims=0) + matern32(ard)) * matern52 + linear(dims=1)",
			"periodic(ard, dims=0) * rq(dims=1) + polynomial * matern52", "additive",
			"matern52(ard) + additive(ard) * rbf", "rbf(ard=0:2) * additive(dims=1)",
			"laplacian", "matern52(ard) + laplacian(ard) * rbf", "laplacian(dims=1) * linear"};
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
		odvgp_config c = random_config(30, INPUTS, 2, 70, 80); /* more than one chunk */
		test_seed = 720 + (uint64_t)k;
		fixture a = make_kernel(&c, kernels[k]);
		/* Differences do not cross matern12's cusps, which lie in [-2, 2], or laplacian's, which lie
		   there in each column. */
		int city = strstr(kernels[k], "laplacian") != NULL, cusps = city ? INPUTS : 1;
		for (int i = 0; i < ROWS && (city || strstr(kernels[k], "matern12")); i++)
			for (int d = 0; d < cusps; d++) a.X[i * INPUTS + d] += GP__R(4.5);
		served p = serve_rows(&a, NULL, ROWS);
		gradients g = gradients_at(&p.s, a.X, ROWS, ROWS);
		compare_with_differences(&p, a.X, one, &g, kernels[k]);
		compare_hessians(&p, a.X, one, &g, kernels[k]);
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
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_CONSTANT;
		test_seed = 740 + (uint64_t)k;
		fixture a = make_random(&c, "matern52");
		served p = serve_rows(&a, &units_of_data, ROWS);
		to_units(a.X, ROWS, X);
		gradients g = gradients_at(&p.s, X, ROWS, ROWS);
		const char *what = k == 1 ? "mixed" : k ? "independent" : "shared";
		compare_with_differences(&p, X, units_of_x, &g, what);
		compare_hessians(&p, X, units_of_x, &g, what);
		unserve(&p);
		drop(&a);
	}
}

/*  Gradients are finite where x is an inducing point, also with a kernel that has a cusp there. */
TEST(inducing_points_as_inputs)
{
	static const char *const kernels[] = {
			"matern12", "matern32", "matern52", "rq", "white + matern12", "additive",
			"laplacian"};
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
		odvgp_config c = random_config(30, INPUTS, 1, 6, 8);
		test_seed = 760 + (uint64_t)k;
		fixture a = make_random(&c, kernels[k]);
		served p = serve_rows(&a, NULL, ROWS);
		odvgp_real *Z = values(&a, "Z_beta");
		gradients g = gradients_at(&p.s, Z, 6, 6);
		for (int i = 0; i < 6 * INPUTS; i++)
			CHECK(isfinite((double)g.dmean[i]) && isfinite((double)g.dvar[i]));
		free(Z);
		unserve(&p);
		drop(&a);
	}
}

/*  Each output alone has the bits of all together; cov those of odvgp_predict_cov. */
TEST(what_is_not_wanted_is_left_out)
{
	odvgp_config c = random_config(30, INPUTS, 2, 9, 11);
	test_seed = 780;
	fixture a = make_random(&c, "matern52 + rbf");
	served p = serve_rows(&a, NULL, ROWS);
	gradients g = gradients_at(&p.s, a.X, ROWS, ROWS), h = g;
	odvgp_real cov[2 * ROWS * ROWS] = {0}, want[2 * ROWS * ROWS];
	size_t bytes = odvgp_predict_gradient_scratch(&p.s, ROWS, NULL);
	void *scratch = test_alloc(bytes);
	for (int k = 0; k < 6; k++) {
		odvgp_gradient to = {k == 0 ? h.mean : NULL, k == 1 ? h.var : NULL, k == 2 ? h.dmean : NULL,
				k == 3 ? h.dvar : NULL, k == 5 ? h.hessian : NULL, k == 4 ? cov : NULL};
		memset(&h, 0, sizeof h);
		CHECK_STATUS(odvgp_predict_gradient(&p.s, a.X, ROWS, &to, scratch, bytes, NULL), ODVGP_OK);
		if (k == 0) CHECK_BITS(h.mean, g.mean, 2 * ROWS * sizeof *g.mean);
		if (k == 1) CHECK_BITS(h.var, g.var, 2 * ROWS * sizeof *g.var);
		if (k == 2) CHECK_BITS(h.dmean, g.dmean, 2 * ROWS * INPUTS * sizeof *g.dmean);
		if (k == 3) CHECK_BITS(h.dvar, g.dvar, 2 * ROWS * INPUTS * sizeof *g.dvar);
		if (k == 5) CHECK_BITS(h.hessian, g.hessian, 2 * ROWS * INPUTS * INPUTS * sizeof *g.dvar);
	}
	CHECK_STATUS(odvgp_predict_cov(&p.s, a.X, ROWS, NULL, want, scratch, bytes, NULL), ODVGP_OK);
	CHECK_BITS(cov, want, sizeof cov);
	free(scratch);
	unserve(&p);
	drop(&a);
}

/*  Sums over the points are formed for two gradients at once where there are two: with the bits of
    each alone. More columns than any vector has numbers. */
TEST(many_columns_have_the_same_bits_in_pairs)
{
	enum { COLUMNS = 19, MOST = 3 * ROWS * COLUMNS };
	static const char *const kernels[] = {"matern52(ard)", "rbf + additive(ard) + linear(ard)",
			"laplacian(ard) + rbf(ard)"};
	for (int k = 0; k < 6; k++) {
		const ptrdiff_t P = k < 3 ? 1 : 3, all = P * ROWS * COLUMNS;
		odvgp_config c = random_config(40, COLUMNS, P, 9, 70);
		test_seed = 790 + (uint64_t)k;
		fixture a = make_kernel(&c, kernels[k % 3]);
		served p = serve_rows(&a, NULL, ROWS);
		odvgp_real both[2][MOST] = {{0}}, alone[2][MOST] = {{0}};
		odvgp_gradient to = {NULL, NULL, both[0], both[1], NULL, NULL};
		size_t bytes = odvgp_predict_gradient_scratch(&p.s, ROWS, NULL);
		void *scratch = test_alloc(bytes);
		CHECK_STATUS(odvgp_predict_gradient(&p.s, a.X, ROWS, &to, scratch, bytes, NULL), ODVGP_OK);
		for (int of_var = 0; of_var < 2; of_var++) {
			odvgp_gradient one_of = {NULL, NULL, of_var ? NULL : alone[0], of_var ? alone[1] : NULL,
					NULL, NULL};
			CHECK_STATUS(odvgp_predict_gradient(&p.s, a.X, ROWS, &one_of, scratch, bytes, NULL),
					ODVGP_OK);
			CHECK_BITS(alone[of_var], both[of_var], (size_t)all * sizeof **both);
			CHECK(test_max_abs(both[of_var], all) > 0);
		}
		free(scratch);
		unserve(&p);
		drop(&a);
	}
}

/*  Of y, against differences of odvgp_predict_y, in the caller's units. */
TEST(moments_of_y)
{
	static const char *const words[] = {"gaussian", "studentt", "laplace", "bernoulli", "poisson",
			"exponential", "negative_binomial", "gamma", "ordinal", "heteroscedastic"};
	static const odvgp_likelihood kinds[] = {ODVGP_LIKELIHOOD_GAUSSIAN, ODVGP_LIKELIHOOD_STUDENTT,
			ODVGP_LIKELIHOOD_LAPLACE, ODVGP_LIKELIHOOD_BERNOULLI, ODVGP_LIKELIHOOD_POISSON,
			ODVGP_LIKELIHOOD_EXPONENTIAL, ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL,
			ODVGP_LIKELIHOOD_GAMMA, ODVGP_LIKELIHOOD_ORDINAL, ODVGP_LIKELIHOOD_HETEROSCEDASTIC};
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		const int ordinal = kinds[k] == ODVGP_LIKELIHOOD_ORDINAL;
		odvgp_config c = random_config(30, INPUTS, ordinal ? 1 : 2, 6, 8);
		c.lik.kind = kinds[k];
		if (ordinal) c.lik.classes = OUTPUTS;
		if (kinds[k] == ODVGP_LIKELIHOOD_BERNOULLI) c.lik.link_jitter = GP__R(0.01);
		test_seed = 770 + (uint64_t)k;
		fixture a = make_random(&c, "matern52");
		const odvgp_real df = 5; /* a variance of y needs more than 2 */
		if (kinds[k] == ODVGP_LIKELIHOOD_STUDENTT)
			CHECK_STATUS(odvgp_set(a.m, "df", &df, 1, NULL), ODVGP_OK);
		served p = serve_rows(&a, NULL, ROWS);
		gradients g;
		const odvgp_gradient to = {g.mean, g.var, g.dmean, g.dvar, NULL, NULL};
		const ptrdiff_t rows = p.s.y_rows;
		size_t bytes = odvgp_predict_gradient_scratch(&p.s, ROWS, NULL);
		void *scratch = test_alloc(bytes);
		double most[2] = {1e-3, 1e-3}, worst[2] = {0, 0};
		CHECK_STATUS(
				odvgp_predict_y_gradient(&p.s, a.X, ROWS, &to, scratch, bytes, NULL), ODVGP_OK);
		for (ptrdiff_t i = 0; i < rows * ROWS * INPUTS; i++) {
			most[0] = fmax(most[0], fabs((double)g.dmean[i]));
			most[1] = fmax(most[1], fabs((double)g.dvar[i]));
		}
		for (ptrdiff_t i = 0; i < ROWS; i++)
			for (ptrdiff_t d = 0; d < INPUTS; d++) {
				odvgp_real x[4 * INPUTS], mean[4 * OUTPUTS], var[4 * OUTPUTS];
				double h = BY_PRECISION(1e-3, 0.02);
				for (int e = 0; e < 4; e++) {
					memcpy(x + e * INPUTS, a.X + i * INPUTS, INPUTS * sizeof *x);
					x[e * INPUTS + d] += (odvgp_real)((e < 2 ? e - 2 : e - 1) * h);
				}
				CHECK_STATUS(
						odvgp_predict_y(&p.s, x, 4, mean, var, scratch, bytes, NULL), ODVGP_OK);
				for (ptrdiff_t f = 0; f < rows; f++) {
					const odvgp_real *at[2] = {mean + 4 * f, var + 4 * f};
					ptrdiff_t j = (f * ROWS + i) * INPUTS + d;
					const double got[2] = {(double)g.dmean[j], (double)g.dvar[j]};
					for (int b = 0; b < 2; b++) {
						double want = (8 * ((double)at[b][2] - (double)at[b][1]) -
											  ((double)at[b][3] - (double)at[b][0])) /
									  (12 * h);
						worst[b] = fmax(worst[b], fabs(got[b] - want) / most[b]);
					}
				}
			}
		for (int b = 0; b < 2; b++)
			CHECK_SAY(worst[b] < BY_PRECISION(1e-7, 1e-2),
					"%s: gradients of y's %s are off by %.2g", words[k], b ? "variance" : "mean",
					worst[b]);
		free(scratch);
		unserve(&p);
		drop(&a);
	}
}

TEST(bad_arguments_are_refused)
{
	odvgp_config c = random_config(30, INPUTS, 2, 9, 11), deep;
	test_seed = 790;
	fixture a = make_random(&c, "rbf"), b;
	served p = serve_rows(&a, NULL, ROWS), q;
	gradients g;
	const odvgp_gradient to = {g.mean, g.var, g.dmean, g.dvar, g.hessian, NULL};
	size_t bytes = odvgp_predict_gradient_scratch(&p.s, 1, NULL);
	void *scratch = test_alloc(bytes);
	odvgp_real x[2 * INPUTS] = {0, 1, 2, (odvgp_real)NAN};
	NO_SIZE(odvgp_predict_gradient_scratch(NULL, 1, &info), ODVGP_E_ARG, "server");
	NO_SIZE(odvgp_predict_gradient_scratch(&p.s, 0, &info), ODVGP_E_ARG, "rows");
	REFUSED_FOR(
			odvgp_predict_gradient(NULL, x, 1, &to, scratch, bytes, &info), ODVGP_E_ARG, "server");
	REFUSED_FOR(odvgp_predict_gradient(&p.s, x, 1, NULL, scratch, bytes, &info), ODVGP_E_ARG,
			"gradient");
	REFUSED_FOR(odvgp_predict_gradient(&p.s, x, -1, &to, scratch, bytes, &info), ODVGP_E_ARG, "n");
	REFUSED_FOR(odvgp_predict_gradient(&p.s, x, 2, &to, scratch, bytes, &info), ODVGP_E_NAN, "X");
	REFUSED_FOR(odvgp_predict_gradient(&p.s, x, 1, &to, scratch, bytes - 1, &info), ODVGP_E_MEMORY,
			"scratch");
	CHECK_STATUS(odvgp_predict_gradient(&p.s, x, 0, &to, NULL, 0, NULL), ODVGP_OK);
	REFUSED_FOR(odvgp_predict_y_gradient(&p.s, x, 1, &to, scratch, bytes, &info),
			ODVGP_E_UNSUPPORTED, "hessian");
	deep = random_config(30, INPUTS, INPUTS, 5, 0);
	deep.layers = 2;
	deep.layer[1] = deep.layer[0];
	deep.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	b = make(&deep);
	q = serve_rows(&b, NULL, 1);
	NO_SIZE(odvgp_predict_gradient_scratch(&q.s, 1, &info), ODVGP_E_UNSUPPORTED, "server");
	REFUSED_FOR(odvgp_predict_gradient(&q.s, x, 1, &to, q.scratch, q.bytes, &info),
			ODVGP_E_UNSUPPORTED, "server");
	free(scratch);
	unserve(&p), unserve(&q);
	drop(&a), drop(&b);
}

/* ---- transformed columns ---- */

static const odvgp_real knot_from[] = {GP__R(-1.9), GP__R(-0.4), GP__R(0.5), GP__R(1.7)},
						knot_to[] = {-3, GP__R(-0.6), 1, GP__R(1.5)};
static const odvgp_transform a_log = {ODVGP_TRANSFORM_LOG, GP__R(2.5), 0, GP__R(-1.5), GP__R(1.3),
									 0, NULL, NULL},
							 an_asinh = {ODVGP_TRANSFORM_ASINH, GP__R(0.3), GP__R(0.5), GP__R(-1.7),
									 GP__R(1.6), 0, NULL, NULL},
							 a_linear = {ODVGP_TRANSFORM_LINEAR, 0, 0, 0, 0, 4, knot_from, knot_to},
							 nothing = {ODVGP_TRANSFORM_NONE, 0, 0, 0, 0, 0, NULL, NULL};

/*  T by libm, beyond [low, high] by its tangents. */
static double transformed(const odvgp_transform *t, double x)
{
	double low = (double)t->low, high = (double)t->high, c = (double)t->c, s = (double)t->s,
		   u = fmin(fmax(x, low), high);
	int k = 1;
	if (t->kind == ODVGP_TRANSFORM_NONE) return x;
	if (t->kind == ODVGP_TRANSFORM_LOG) return log(u + c) + (x - u) / (u + c);
	if (t->kind == ODVGP_TRANSFORM_ASINH)
		return asinh((u - c) / s) + (x - u) / sqrt(s * s + (u - c) * (u - c));
	while (k < t->knots - 1 && x > (double)t->from[k]) k++;
	double from = (double)t->from[k - 1], to = (double)t->to[k - 1];
	return to + (x - from) / ((double)t->from[k] - from) * ((double)t->to[k] - to);
}

TEST(columns_are_transformed)
{
	const odvgp_transform four[] = {a_log, an_asinh, a_linear, nothing};
	enum { N = 41 };
	odvgp_real X[4 * N], out[4 * N];
	for (int i = 0; i < N; i++)
		for (int d = 0; d < 4; d++) X[4 * i + d] = (odvgp_real)(0.25 * (i - 20));
	CHECK_STATUS(odvgp_transform_columns(X, N, 4, four, out, NULL), ODVGP_OK);
	for (int i = 0; i < 4 * N; i++) {
		double want = transformed(&four[i % 4], (double)X[i]);
		CHECK_NEAR(out[i], want, 16 * EPS * (1 + fabs(want)));
		CHECK(i < 4 || out[i] > out[i - 4]);
	}
	X[0] = X[1] = X[2] = X[3] = (odvgp_real)NAN;
	CHECK_STATUS(odvgp_transform_columns(X, N, 4, four, X, NULL), ODVGP_OK);
	for (int d = 0; d < 4; d++) CHECK(isnan((double)X[d]));
	CHECK_BITS(X + 4, out + 4, sizeof X - 4 * sizeof *X);
}

/*  Rows away from knots and from the ends of ranges, where derivatives jump. */
static void away_from_knots(odvgp_real *X)
{
	static const double at[] = {-1.9, -1.7, -1.5, -0.4, 0.5, 1.3, 1.6, 1.7};
	for (int i = 0; i < ROWS * INPUTS; i++)
		for (int k = 0; k < 8; k++)
			if (fabs((double)X[i] - at[k]) < 0.05) X[i] = (odvgp_real)(at[k] + 0.05);
}

/*  A model with transforms gives what the same model says of transformed rows. */
TEST(predictions_of_transformed_columns)
{
	const odvgp_transform pairs[3][2] = {{a_log, an_asinh}, {a_linear, nothing}, {nothing, a_log}};
	for (int k = 0; k < 3; k++) {
		odvgp_config c = random_config(30, INPUTS, k == 1 ? 2 : OUTPUTS, 6, 8);
		odvgp_real X[ROWS * INPUTS], f[2][ALL], more[2][ALL * OUTPUTS], cov[2][ALL * ROWS],
				y[2][2 * ALL], drawn[2][ALL], slope[SLOPES];
		if (k == 1) c.functions = OUTPUTS;
		c.independent = k == 2;
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
		test_seed = 800 + (uint64_t)k;
		fixture a = make_random(&c, "rbf + linear");
		away_from_knots(a.X);
		odvgp_real unit[] = {GP__R(0.5), 2}, shift[] = {GP__R(0.1), GP__R(-0.3)};
		const odvgp_scales scales = {shift, unit, NULL, NULL};
		served old = serve_rows(&a, &scales, ROWS);
		CHECK_STATUS(odvgp_set_transforms(a.m, pairs[k], NULL), ODVGP_OK);
		served p = serve_rows(&a, &scales, ROWS);
		CHECK_STATUS(odvgp_transform_columns(a.X, ROWS, INPUTS, pairs[k], X, NULL), ODVGP_OK);
		for (int i = 0; i < 2; i++) {
			const served *q = i ? &p : &old;
			const odvgp_real *x = i ? a.X : X;
			CHECK_STATUS(odvgp_predict(&q->s, x, ROWS, f[i], more[i], q->scratch, q->bytes, NULL),
					ODVGP_OK);
			CHECK_STATUS(
					odvgp_predict_y(&q->s, x, ROWS, y[i], y[i] + ALL, q->scratch, q->bytes, NULL),
					ODVGP_OK);
			CHECK_STATUS(
					odvgp_predict_cov(&q->s, x, ROWS, NULL, cov[i], q->scratch, q->bytes, NULL),
					ODVGP_OK);
			const odvgp_draws draws = {1, 7};
			CHECK_STATUS(odvgp_sample(&q->s, x, ROWS, &draws, drawn[i], q->scratch, q->bytes, NULL),
					ODVGP_OK);
			CHECK_STATUS(odvgp_predict_functions(
								 &q->s, x, ROWS, NULL, more[i], q->scratch, q->bytes, NULL),
					ODVGP_OK);
		}
		CHECK_BITS(f[0], f[1], sizeof *f);
		CHECK_BITS(y[0], y[1], sizeof *y);
		CHECK_BITS(cov[0], cov[1], sizeof *cov);
		CHECK_BITS(drawn[0], drawn[1], sizeof *drawn);
		CHECK_BITS(more[0], more[1], sizeof *more);
		gradients g = gradients_at(&p.s, a.X, ROWS, ROWS);
		const double by[] = {1, 1};
		compare_with_differences(&p, a.X, by, &g, "transformed");
		compare_hessians(&p, a.X, by, &g, "transformed");
		/* the Hessian without the gradient of the mean */
		odvgp_real H[SLOPES * INPUTS];
		const odvgp_gradient only = {NULL, NULL, NULL, NULL, H, NULL};
		size_t bytes = odvgp_predict_gradient_scratch(&p.s, ROWS, NULL);
		void *scratch = test_alloc(bytes);
		CHECK_STATUS(
				odvgp_predict_gradient(&p.s, a.X, ROWS, &only, scratch, bytes, NULL), ODVGP_OK);
		CHECK_BITS(H, g.hessian, sizeof H);
		free(scratch);
		/* moments of y have f's gradients */
		const odvgp_gradient of_y = {f[0], f[1], slope, H, NULL, NULL};
		scratch = test_alloc(bytes += odvgp_predict_scratch(&p.s, ROWS, NULL));
		CHECK_STATUS(
				odvgp_predict_y_gradient(&p.s, a.X, ROWS, &of_y, scratch, bytes, NULL), ODVGP_OK);
		CHECK_BITS(slope, g.dmean, sizeof slope);
		free(scratch);
		/* a path, and its derivatives */
		size_t path_bytes = odvgp_path_size(&p.s, 20, NULL);
		void *blocks[2];
		odvgp_path *path[2];
		for (int i = 0; i < 2; i++) {
			blocks[i] = test_alloc(path_bytes);
			CHECK_STATUS(odvgp_path_start(
								 &path[i], i ? &p.s : &old.s, 3, 20, blocks[i], path_bytes, NULL),
					ODVGP_OK);
		}
		for (int i = 0; i < ROWS; i++) {
			odvgp_real at[3][OUTPUTS], df[OUTPUTS * INPUTS];
			CHECK_STATUS(odvgp_path_at(path[0], X + i * INPUTS, at[0], NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_path_at(path[1], a.X + i * INPUTS, at[1], df, NULL), ODVGP_OK);
			CHECK_BITS(at[0], at[1], sizeof *at);
			for (int d = 0; d < INPUTS; d++) {
				odvgp_real x[INPUTS];
				double h = BY_PRECISION(1e-5, 0.01);
				for (int side = 0; side < 2; side++) {
					memcpy(x, a.X + i * INPUTS, sizeof x);
					x[d] += (odvgp_real)(side ? h : -h);
					CHECK_STATUS(odvgp_path_at(path[1], x, at[side], NULL, NULL), ODVGP_OK);
				}
				for (int q = 0; q < OUTPUTS; q++)
					CHECK_NEAR(df[q * INPUTS + d], (double)(at[1][q] - at[0][q]) / (2 * h),
							BY_PRECISION(1e-6, 2e-2) * (10 + fabs((double)df[q * INPUTS + d])));
			}
		}
		free(blocks[0]), free(blocks[1]);
		/* uncertain inputs: exactly not, by sigma points */
		const odvgp_real S[] = {GP__R(0.01), 0, 0, GP__R(0.02)};
		const odvgp_moments to = {f[0], more[0], NULL};
		NO_SIZE(odvgp_predict_moments_scratch(&p.s, &info), ODVGP_E_UNSUPPORTED,
				BY_PRECISION("server", "float"));
		bytes = odvgp_predict_sigma_points_scratch(&p.s, NULL);
		scratch = test_alloc(bytes);
		CHECK_STATUS(odvgp_predict_sigma_points(&p.s, a.X, S, &to, scratch, bytes, NULL), ODVGP_OK);
		double sum[OUTPUTS] = {0};
		for (int i = 0; i < 4; i++) {
			odvgp_real x[INPUTS] = {a.X[0], a.X[1]}, var[OUTPUTS];
			x[i / 2] += (odvgp_real)((i % 2 ? -1 : 1) * sqrt(2 * (double)S[3 * (i / 2)]));
			moments_at(&p, x, f[1], var);
			for (int q = 0; q < OUTPUTS; q++) sum[q] += 0.25 * (double)f[1][q];
		}
		for (int q = 0; q < OUTPUTS; q++)
			CHECK_NEAR(f[0][q], sum[q], 1000 * EPS * (1 + fabs(sum[q])));
		free(scratch);
		unserve(&p), unserve(&old);
		drop(&a);
	}
}

/*  Files keep them; a copy has them, a loaded model has none; a posterior that learns keeps them. */
TEST(transforms_in_files_copies_and_online)
{
	const odvgp_transform pair[] = {an_asinh, a_linear};
	odvgp_config c = random_config(30, INPUTS, 1, 6, 0);
	test_seed = 820;
	fixture a = make_random(&c, "matern52");
	odvgp_real want[ROWS], got[ROWS], X[ROWS * INPUTS];
	size_t bytes, need, plain = odvgp_predictor_size(a.m, NULL);
	served old = serve_rows(&a, NULL, ROWS);
	CHECK_STATUS(odvgp_set_transforms(a.m, pair, NULL), ODVGP_OK);
	CHECK(odvgp_predictor_size(a.m, NULL) == plain + (7 + 11) * sizeof(odvgp_real));
	served p = serve_rows(&a, NULL, ROWS), q = p;
	CHECK_STATUS(odvgp_predict(&p.s, a.X, ROWS, want, NULL, p.scratch, p.bytes, NULL), ODVGP_OK);
	unsigned char *file = save_file(a.m, NULL, "user", &bytes);
	CHECK((need = odvgp_server_size(file, bytes, NULL)) == plain + 18 * sizeof(odvgp_real));
	q.block = test_alloc(need);
	CHECK_STATUS(
			odvgp_server_from_memory(&q.s, file, bytes, test_isa(), q.block, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict(&q.s, a.X, ROWS, got, NULL, p.scratch, p.bytes, NULL), ODVGP_OK);
	CHECK_BITS(got, want, sizeof got);
	free(q.block);
	odvgp_model *loaded, *copy;
	void *block = test_alloc(a.bytes);
	CHECK_STATUS(odvgp_load_memory(&loaded, file, bytes, NULL, test_isa(), block, a.bytes, NULL),
			ODVGP_OK);
	CHECK(odvgp_predictor_size(loaded, NULL) == plain);
	CHECK_STATUS(odvgp_model_copy(&copy, a.m, block, a.bytes, NULL), ODVGP_OK);
	CHECK(odvgp_predictor_size(copy, NULL) == plain + 18 * sizeof(odvgp_real));
	CHECK_STATUS(odvgp_set_transforms(copy, NULL, NULL), ODVGP_OK);
	CHECK(odvgp_predictor_size(copy, NULL) == plain);
	free(block), free(file);
	/* online */
	CHECK_STATUS(odvgp_transform_columns(a.X, ROWS, INPUTS, pair, X, NULL), ODVGP_OK);
	for (int k = 0; k < 2; k++) {
		const odvgp_server *s = k ? &p.s : &old.s;
		const odvgp_real *x = k ? a.X : X;
		odvgp_online o;
		size_t room = odvgp_online_size(s, 8, NULL),
			   room_scratch = odvgp_online_scratch(s, 8, NULL);
		void *at = test_alloc(room), *scratch = test_alloc(room_scratch);
		CHECK_STATUS(odvgp_online_start(&o, s, 8, at, room, scratch, room_scratch, NULL), ODVGP_OK);
		o.novelty = GP__R(0.01);
		CHECK_STATUS(odvgp_online_update(&o, x, a.Y, 5, 1, scratch, room_scratch, NULL), ODVGP_OK);
		CHECK(o.added > 0);
		CHECK_STATUS(odvgp_predict(
							 &o.server, x, ROWS, k ? got : want, NULL, scratch, room_scratch, NULL),
				ODVGP_OK);
		free(at), free(scratch);
	}
	CHECK_BITS(got, want, sizeof got);
	unserve(&p), unserve(&old);
	drop(&a);
}

TEST(bad_transforms_are_refused)
{
	odvgp_config c = random_config(30, INPUTS, 1, 6, 0);
	test_seed = 830;
	fixture a = make_random(&c, "rbf");
	const odvgp_real equal[] = {-1, 0, 0, 1}, falls[] = {0, 1, 2, GP__R(1.9)},
					 near_by[] = {1, GP__R(1.0000000001), 2, 3}, bad[] = {0, 1, (odvgp_real)NAN, 3};
	odvgp_transform t[13];
	for (int k = 0; k < 13; k++) t[k] = k < 4 ? a_log : k < 7 ? an_asinh : a_linear;
	t[0].kind = (odvgp_transform_kind)4;
	t[1].low = GP__R(-2.5);  /* the logarithm of 0 */
	t[2].high = GP__R(-1.6); /* below low */
	t[3].c = (odvgp_real)INFINITY;
	t[4].s = 0;
	t[5].s = -1;
	t[6].low = (odvgp_real)NAN;
	t[7].knots = 1;
	t[8].knots = ODVGP_MOST_KNOTS + 1;
	t[9].from = NULL;
	t[10].from = equal;
	t[11].to = falls;
	t[12].to = bad;
	for (int k = 0; k < 13; k++) {
		const odvgp_transform pair[] = {nothing, t[k]};
		odvgp_real x[] = {1, 1};
		REFUSED_FOR(odvgp_set_transforms(a.m, pair, &info), ODVGP_E_ARG, "transforms");
		REFUSED_FOR(odvgp_transform_columns(x, 1, 2, pair, x, &info), ODVGP_E_ARG, "transforms");
	}
	if (sizeof(odvgp_real) == 8) { /* a float could not tell them apart */
		odvgp_transform pair[] = {a_linear, nothing};
		pair[0].from = near_by;
		REFUSED_FOR(odvgp_set_transforms(a.m, pair, &info), ODVGP_E_ARG, "transforms");
	}
	REFUSED_FOR(odvgp_set_transforms(NULL, t, &info), ODVGP_E_ARG, "model");
	CHECK_STATUS(odvgp_transform_columns(a.X, 0, 1, &nothing, a.X, NULL), ODVGP_OK);
	REFUSED_FOR(odvgp_transform_columns(a.X, -1, 1, &nothing, a.X, &info), ODVGP_E_ARG, "n or D");
	REFUSED_FOR(odvgp_transform_columns(NULL, 1, 1, &nothing, a.X, &info), ODVGP_E_ARG, "X");
	enum { MANY = 1000 };
	odvgp_transform *all = NEW(odvgp_transform, MANY);
	odvgp_real *from = NEW(odvgp_real, ODVGP_MOST_KNOTS), *x = NEW(odvgp_real, MANY);
	for (int k = 0; k < ODVGP_MOST_KNOTS; k++) from[k] = (odvgp_real)k;
	for (int d = 0; d < MANY; d++) {
		all[d] = a_linear;
		all[d].from = all[d].to = from;
		all[d].knots = ODVGP_MOST_KNOTS;
		x[d] = (odvgp_real)d;
	}
	CHECK_STATUS(odvgp_transform_columns(x, 1, 900, all, x, NULL), ODVGP_OK);
	REFUSED_FOR(odvgp_transform_columns(x, 1, MANY, all, x, &info), ODVGP_E_SIZE, "transforms");
	free(all), free(from), free(x);
	drop(&a);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(every_member_and_factor);
	RUN(every_kernel);
	RUN(mixed_and_independent_outputs_in_their_units);
	RUN(inducing_points_as_inputs);
	RUN(what_is_not_wanted_is_left_out);
	RUN(many_columns_have_the_same_bits_in_pairs);
	RUN(moments_of_y);
	RUN(bad_arguments_are_refused);
	RUN(columns_are_transformed);
	RUN(predictions_of_transformed_columns);
	RUN(transforms_in_files_copies_and_online);
	RUN(bad_transforms_are_refused);
	return test_end();
}

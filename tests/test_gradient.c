/*  Gradients and Hessians of predictions: against differences for every member, kernel and form of
    output; where a kernel has no derivative; each result without the others; refusals. */
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
			"matern52(ard) + additive(ard) * rbf", "rbf(ard=0:2) * additive(dims=1)"};
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
		odvgp_config c = random_config(30, INPUTS, 2, 70, 80); /* more than one chunk */
		test_seed = 720 + (uint64_t)k;
		fixture a = make_kernel(&c, kernels[k]);
		/* Differences do not cross matern12's cusps, which lie in [-2, 2]. */
		for (int i = 0; i < ROWS && strstr(kernels[k], "matern12"); i++)
			a.X[i * INPUTS] += GP__R(4.5);
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
			"matern12", "matern32", "matern52", "rq", "white + matern12", "additive"};
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

/*  Of y, against differences of odvgp_predict_y, in the caller's units. */
TEST(moments_of_y)
{
	static const char *const words[] = {"gaussian", "studentt", "laplace", "bernoulli", "poisson",
			"exponential", "negative_binomial", "gamma"};
	static const odvgp_likelihood kinds[] = {ODVGP_LIKELIHOOD_GAUSSIAN, ODVGP_LIKELIHOOD_STUDENTT,
			ODVGP_LIKELIHOOD_LAPLACE, ODVGP_LIKELIHOOD_BERNOULLI, ODVGP_LIKELIHOOD_POISSON,
			ODVGP_LIKELIHOOD_EXPONENTIAL, ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL,
			ODVGP_LIKELIHOOD_GAMMA};
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		odvgp_config c = random_config(30, INPUTS, 2, 6, 8);
		c.lik.kind = kinds[k];
		if (kinds[k] == ODVGP_LIKELIHOOD_BERNOULLI) c.lik.link_jitter = GP__R(0.01);
		test_seed = 770 + (uint64_t)k;
		fixture a = make_random(&c, "matern52");
		const odvgp_real df = 5; /* a variance of y needs more than 2 */
		if (kinds[k] == ODVGP_LIKELIHOOD_STUDENTT)
			CHECK_STATUS(odvgp_set(a.m, "df", &df, 1, NULL), ODVGP_OK);
		served p = serve_rows(&a, NULL, ROWS);
		gradients g;
		const odvgp_gradient to = {g.mean, g.var, g.dmean, g.dvar, NULL, NULL};
		size_t bytes = odvgp_predict_gradient_scratch(&p.s, ROWS, NULL);
		void *scratch = test_alloc(bytes);
		double most[2] = {1e-3, 1e-3}, worst[2] = {0, 0};
		CHECK_STATUS(
				odvgp_predict_y_gradient(&p.s, a.X, ROWS, &to, scratch, bytes, NULL), ODVGP_OK);
		for (ptrdiff_t i = 0; i < 2 * ROWS * INPUTS; i++) {
			most[0] = fmax(most[0], fabs((double)g.dmean[i]));
			most[1] = fmax(most[1], fabs((double)g.dvar[i]));
		}
		for (ptrdiff_t i = 0; i < ROWS; i++)
			for (ptrdiff_t d = 0; d < INPUTS; d++) {
				odvgp_real x[4 * INPUTS], mean[8], var[8];
				double h = BY_PRECISION(1e-3, 0.02);
				for (int e = 0; e < 4; e++) {
					memcpy(x + e * INPUTS, a.X + i * INPUTS, INPUTS * sizeof *x);
					x[e * INPUTS + d] += (odvgp_real)((e < 2 ? e - 2 : e - 1) * h);
				}
				CHECK_STATUS(
						odvgp_predict_y(&p.s, x, 4, mean, var, scratch, bytes, NULL), ODVGP_OK);
				for (ptrdiff_t f = 0; f < 2; f++) {
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

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(every_member_and_factor);
	RUN(every_kernel);
	RUN(mixed_and_independent_outputs_in_their_units);
	RUN(inducing_points_as_inputs);
	RUN(what_is_not_wanted_is_left_out);
	RUN(moments_of_y);
	RUN(bad_arguments_are_refused);
	return test_end();
}

/*  Paths: mean and covariance over many of them against predictions, for every member, kernel and
    form of output; gradients against differences; the same function at every call; refusals. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"

enum { INPUTS = 2, OUTPUTS = 2, POINTS = 3, ALL = OUTPUTS * POINTS };

/*  Compares moments over paths of few features with those of predictions, within four standard
    errors, which the paths' own fourth moments give. */
static void compare_moments(
		const served *p, const odvgp_real *X, ptrdiff_t features, const char *what)
{
	int paths = test_size(10000, 2000);
	ptrdiff_t F = p->s.F;
	odvgp_real mean[ALL], cov[ALL * POINTS];
	double sum[ALL] = {0}, square[ALL * POINTS] = {0}, fourth[ALL * POINTS] = {0}, worst = 0;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	size_t bytes = odvgp_path_size(&p->s, features, &info);
	void *block = test_alloc(bytes);
	CHECK_STATUS(
			odvgp_predict_cov(&p->s, X, POINTS, mean, cov, p->scratch, p->bytes, NULL), ODVGP_OK);
	for (int k = 0; k < paths; k++) {
		odvgp_path *path;
		double off[ALL];
		if (!CHECK_SAY(odvgp_path_start(&path, &p->s, (uint64_t)k, features, block, bytes, &info) ==
							   ODVGP_OK,
					"%s: %s", what, info.text))
			break;
		for (ptrdiff_t i = 0; i < POINTS; i++) {
			odvgp_real f[OUTPUTS];
			CHECK_STATUS(odvgp_path_at(path, X + i * INPUTS, f, NULL, NULL), ODVGP_OK);
			for (ptrdiff_t q = 0; q < F; q++)
				off[q * POINTS + i] = (double)f[q] - (double)mean[q * POINTS + i];
		}
		for (ptrdiff_t a = 0; a < F * POINTS; a++) {
			sum[a] += off[a] / paths;
			for (ptrdiff_t i = 0; i < POINTS; i++) {
				double both = off[a] * off[a / POINTS * POINTS + i];
				square[a * POINTS + i] += both / paths;
				fourth[a * POINTS + i] += both * both / paths;
			}
		}
	}
	for (ptrdiff_t a = 0; a < F * POINTS; a++) {
		double var = (double)cov[a * POINTS + a % POINTS];
		worst = fmax(worst, fabs(sum[a]) / sqrt(var / paths));
		for (ptrdiff_t i = 0; i < POINTS; i++) {
			ptrdiff_t at = a * POINTS + i;
			double error = sqrt((fourth[at] - square[at] * square[at]) / paths);
			worst = fmax(worst, fabs(square[at] - (double)cov[at]) / error);
		}
	}
	CHECK_SAY(worst < 4, "%s: a moment is off by %.2f standard errors", what, worst);
	free(block);
}

/*  Compares gradients with differences, and values with those of another order of calls. */
static void compare_gradients(
		const served *p, const odvgp_real *X, const double *unit, const char *what)
{
	size_t bytes = odvgp_path_size(&p->s, 20, NULL);
	void *block = test_alloc(bytes), *other = test_alloc(bytes);
	odvgp_path *path, *again;
	double worst = 0, most = 1e-3;
	CHECK_STATUS(odvgp_path_start(&path, &p->s, 7, 20, block, bytes, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_path_start(&again, &p->s, 7, 20, other, bytes, NULL), ODVGP_OK);
	for (ptrdiff_t i = 0; i < POINTS; i++) {
		odvgp_real f[OUTPUTS], g[OUTPUTS], df[OUTPUTS * INPUTS], x[INPUTS];
		CHECK_STATUS(odvgp_path_at(path, X + i * INPUTS, f, df, NULL), ODVGP_OK);
		for (int d = 0; d < INPUTS; d++) {
			double slope[OUTPUTS] = {0}, h = BY_PRECISION(1e-5, 0.01) * unit[d];
			for (int side = -1; side < 2; side += 2) {
				memcpy(x, X + i * INPUTS, sizeof x);
				x[d] += (odvgp_real)(side * h);
				CHECK_STATUS(odvgp_path_at(path, x, g, NULL, NULL), ODVGP_OK);
				for (ptrdiff_t q = 0; q < p->s.F; q++) slope[q] += side * (double)g[q] / (2 * h);
			}
			for (ptrdiff_t q = 0; q < p->s.F; q++) {
				most = fmax(most, fabs(slope[q]) * unit[d]);
				worst = fmax(worst, fabs(slope[q] - (double)df[q * INPUTS + d]) * unit[d]);
			}
		}
		/* the other path has seen nothing else */
		CHECK_STATUS(odvgp_path_at(again, X + i * INPUTS, g, NULL, NULL), ODVGP_OK);
		CHECK(test_max_diff(f, g, p->s.F) <= 1000 * EPS * (1 + test_max_abs(f, p->s.F)));
		CHECK_STATUS(odvgp_path_at(path, X + i * INPUTS, f, NULL, NULL), ODVGP_OK);
		CHECK_BITS(f, g, (size_t)p->s.F * sizeof *f);
	}
	CHECK_SAY(worst < BY_PRECISION(1e-6, 0.02) * most, "%s: gradients are off by %.2g of %.2g",
			what, worst, most);
	free(block), free(other);
}

static const double one[] = {1, 1};

TEST(every_member)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		char what[40];
		test_seed = 900 + (uint64_t)(mean * COVS + cov);
		fixture a = make_sloped_pair(mean, cov, OUTPUTS, 5, 6, "rbf", what);
		served p = serve_rows(&a, NULL, POINTS);
		compare_moments(&p, a.X, 3, what);
		compare_gradients(&p, a.X, one, what);
		unserve(&p);
		drop(&a);
	}
}

TEST(every_kernel)
{
	static const char *const kernels[] = {"matern12", "matern32(ard)", "matern52(dims=1)",
			"rq(alpha=0.4)", "rq(ard, alpha=3)", "linear", "linear(ard)", "polynomial(degree=3)",
			"constant", "matern32 * rbf", "linear * matern52 + rq",
			"(rbf(dims=0) + constant) * (linear(dims=1) + matern32)",
			"polynomial * linear + polynomial(dims=0) * rbf", "additive(ard)",
			"additive * matern32 + rbf(ard=0:2) * linear", "laplacian(ard)",
			"laplacian * matern52 + rbf"};
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
		odvgp_config c = random_config(30, INPUTS, OUTPUTS, 4, 5);
		test_seed = 930 + (uint64_t)k;
		c.independent = k % 2;
		fixture a = make_kernel(&c, kernels[k]);
		served p = serve_rows(&a, NULL, POINTS);
		compare_moments(&p, a.X, 4, kernels[k]);
		/* in float, differences do not resolve the waves of matern12 */
		if (EPS < 1e-10 || k) compare_gradients(&p, a.X, one, kernels[k]);
		unserve(&p);
		drop(&a);
	}
}

TEST(mixed_and_independent_outputs_in_their_units)
{
	for (int k = 0; k < 3; k++) {
		odvgp_config c = random_config(30, INPUTS, OUTPUTS, 4, 6);
		odvgp_real X[POINTS * INPUTS];
		if (k) c.functions = OUTPUTS, c.layer[0].P = k;
		c.independent = k != 1;
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_CONSTANT;
		test_seed = 960 + (uint64_t)k;
		fixture a = make_random(&c, "matern52 + rbf");
		served p = serve_rows(&a, &units_of_data, POINTS);
		to_units(a.X, POINTS, X);
		compare_moments(&p, X, 3, k ? "mixed" : "independent");
		compare_gradients(&p, X, units_of_x, k ? "mixed" : "independent");
		unserve(&p);
		drop(&a);
	}
}

/*  A linear kernel's paths are linear; with few features a polynomial's are not exact, with more
    they are polynomials with the same weights for any number of features. */
TEST(exact_features)
{
	odvgp_config c = random_config(30, INPUTS, 1, 5, 0);
	test_seed = 970;
	fixture a = make_kernel(&c, "polynomial(degree=2)");
	served p = serve_rows(&a, NULL, 1);
	size_t bytes = odvgp_path_size(&p.s, 50, NULL);
	void *block = test_alloc(bytes);
	odvgp_real f[2][4];
	for (int k = 0; k < 2; k++) {
		odvgp_path *path;
		CHECK_STATUS(odvgp_path_start(&path, &p.s, 3, k ? 50 : 9, block, bytes, NULL), ODVGP_OK);
		for (int i = 0; i < 4; i++)
			CHECK_STATUS(odvgp_path_at(path, a.X + i * INPUTS, f[k] + i, NULL, NULL), ODVGP_OK);
	}
	CHECK_BITS(f[0], f[1], sizeof f[0]);
	CHECK(odvgp_path_size(&p.s, 9, NULL) == bytes);
	CHECK(odvgp_path_size(&p.s, 8, NULL) < bytes);
	free(block);
	unserve(&p);
	drop(&a);
}

TEST(bad_arguments_are_refused)
{
	static const char *const refused[] = {"periodic", "white"};
	odvgp_config c = random_config(30, INPUTS, 1, 4, 5), deep;
	odvgp_path *path;
	for (int k = 0; k < 2; k++) {
		char kernel[40];
		snprintf(kernel, sizeof kernel, "rbf + %s", refused[k]);
		fixture a = make_random(&c, kernel);
		served p = serve_rows(&a, NULL, 1);
		NO_SIZE(odvgp_path_size(&p.s, 9, &info), ODVGP_E_UNSUPPORTED, refused[k]);
		REFUSED_FOR(odvgp_path_start(&path, &p.s, 1, 9, p.scratch, p.bytes, &info),
				ODVGP_E_UNSUPPORTED, refused[k]);
		CHECK(odvgp_path_start(&path, &p.s, 1, 9, p.scratch, p.bytes, NULL) == ODVGP_E_UNSUPPORTED);
		unserve(&p);
		drop(&a);
	}
	fixture a = make_random(&c, "rbf"), b;
	served p = serve_rows(&a, NULL, 1), q;
	size_t bytes = odvgp_path_size(&p.s, 9, NULL);
	void *block = test_alloc(bytes + 64);
	odvgp_real x[] = {0, (odvgp_real)NAN}, f = 0;
	NO_SIZE(odvgp_path_size(NULL, 9, &info), ODVGP_E_ARG, "server");
	NO_SIZE(odvgp_path_size(&p.s, 0, &info), ODVGP_E_ARG, "features");
	NO_SIZE(odvgp_path_size(&p.s, PTRDIFF_MAX, &info), ODVGP_E_ARG, "features");
	REFUSED_FOR(odvgp_path_start(&path, NULL, 1, 9, block, bytes, &info), ODVGP_E_ARG, "server");
	REFUSED_FOR(odvgp_path_start(NULL, &p.s, 1, 9, block, bytes, &info), ODVGP_E_ARG, "path");
	REFUSED_FOR(odvgp_path_start(&path, &p.s, 1, 9, NULL, bytes, &info), ODVGP_E_ARG, "block");
	REFUSED_FOR(
			odvgp_path_start(&path, &p.s, 1, 9, block, bytes - 1, &info), ODVGP_E_MEMORY, "block");
	CHECK(path == NULL);
	/* in exactly its bytes, at any address */
	unsigned char *odd = (unsigned char *)block + 3;
	memset(block, PATTERN, bytes + 64);
	CHECK_STATUS(odvgp_path_start(&path, &p.s, 1, 9, odd, bytes, NULL), ODVGP_OK);
	REFUSED_FOR(odvgp_path_at(NULL, x, &f, NULL, &info), ODVGP_E_ARG, "path");
	REFUSED_FOR(odvgp_path_at(path, NULL, &f, NULL, &info), ODVGP_E_ARG, "x");
	REFUSED_FOR(odvgp_path_at(path, x, &f, NULL, &info), ODVGP_E_NAN, "x");
	x[1] = 0;
	CHECK_STATUS(odvgp_path_at(path, x, &f, NULL, NULL), ODVGP_OK);
	CHECK(untouched(block, 3) && untouched(odd + bytes, 61));
	deep = random_config(30, INPUTS, INPUTS, 5, 0);
	deep.layers = 2;
	deep.layer[1] = deep.layer[0];
	deep.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	b = make(&deep);
	q = serve_rows(&b, NULL, 1);
	NO_SIZE(odvgp_path_size(&q.s, 9, &info), ODVGP_E_UNSUPPORTED, "server");
	free(block);
	unserve(&p), unserve(&q);
	drop(&a), drop(&b);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(every_member);
	RUN(every_kernel);
	RUN(mixed_and_independent_outputs_in_their_units);
	RUN(exact_features);
	RUN(bad_arguments_are_refused);
	return test_end();
}

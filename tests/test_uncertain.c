/*  Moments at Gaussian inputs: against predictions where S is 0, against Gauss-Hermite quadrature of
    predictions for every member, kernel and form of output; singular S; sigma points; refusals. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"

enum { INPUTS = 2, OUTPUTS = 3, NODES = 40, POINTS = NODES * NODES };

typedef struct {
	odvgp_real mean[OUTPUTS], cov[OUTPUTS * OUTPUTS], input_cov[INPUTS * OUTPUTS];
} results;

static results moments_of(const odvgp_server *s, const odvgp_real *m, const odvgp_real *S)
{
	results g;
	const odvgp_moments to = {g.mean, g.cov, g.input_cov};
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	size_t bytes = odvgp_predict_moments_scratch(s, &info);
	void *scratch = test_alloc(bytes);
	memset(&g, 0, sizeof g);
	CHECK_SAY(odvgp_predict_moments(s, m, S, &to, scratch, bytes, &info) == ODVGP_OK, "%s",
			info.text);
	free(scratch);
	return g;
}

#ifndef ODVGP_FLOAT
/*  Nodes and weights of E[g(t)], t ~ N(0,1), by Newton's method on Hermite polynomials. */
static void hermite(double *node, double *weight)
{
	const double pi = 3.14159265358979323846;
	for (int i = 0; i < NODES; i++) {
		double low, high, p, before;
		/* roots between sign changes: bisection over a grid that is finer than their distance */
		static double root[NODES];
		if (i == 0) {
			int found = 0;
			double last = 0;
			for (int k = 0; k <= 40000 && found < NODES; k++) {
				double x = -20 + k * 1e-3 + 1e-7, a = 0, b = pow(pi, -0.25);
				for (int n = 0; n < NODES; n++) {
					double c = x * sqrt(2.0 / (n + 1)) * b - sqrt((double)n / (n + 1)) * a;
					a = b, b = c;
				}
				if (k && (b < 0) != (last < 0)) root[found++] = x - 5e-4;
				last = b;
			}
			CHECK_INT(found, NODES);
		}
		low = root[i] - 6e-4, high = root[i] + 6e-4;
		double x = (low + high) / 2;
		for (int k = 0; k < 20; k++) {
			p = pow(pi, -0.25), before = 0;
			for (int n = 0; n < NODES; n++) {
				double c = x * sqrt(2.0 / (n + 1)) * p - sqrt((double)n / (n + 1)) * before;
				before = p, p = c;
			}
			x -= p / (sqrt(2.0 * NODES) * before);
		}
		node[i] = sqrt(2) * x;
		weight[i] = 1 / (NODES * before * before) / sqrt(pi);
	}
}

/*  The same by quadrature; root is lower triangular. */
static results by_quadrature(const odvgp_server *s, const odvgp_real *m, const odvgp_real *root)
{
	static double node[NODES], weight[NODES];
	ptrdiff_t F = s->F;
	results g;
	odvgp_real *X = NEW(odvgp_real, POINTS * INPUTS), *mean = NEW(odvgp_real, F * POINTS),
			   *cov = NEW(odvgp_real, F * F * POINTS);
	size_t bytes = odvgp_predict_scratch(s, 256, NULL);
	void *scratch = test_alloc(bytes);
	if (weight[0] == 0) hermite(node, weight);
	memset(&g, 0, sizeof g);
	for (int i = 0; i < POINTS; i++) {
		double a = node[i / NODES], b = node[i % NODES];
		X[i * 2] = m[0] + root[0] * a;
		X[i * 2 + 1] = m[1] + root[2] * a + root[3] * b;
	}
	CHECK_STATUS(odvgp_predict_functions(s, X, POINTS, mean, cov, scratch, bytes, NULL), ODVGP_OK);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < POINTS; i++) {
			double w = weight[i / NODES] * weight[i % NODES];
			for (ptrdiff_t f = 0; f < F; f++) {
				double off = mean[f * POINTS + i] - g.mean[f];
				if (!pass) g.mean[f] += w * mean[f * POINTS + i];
				for (ptrdiff_t e = 0; pass && e < F; e++)
					g.cov[f * F + e] += w * (cov[(f * F + e) * POINTS + i] +
													off * (mean[e * POINTS + i] - g.mean[e]));
				for (int d = 0; pass && d < 2; d++)
					g.input_cov[d * F + f] += w * (X[i * 2 + d] - m[d]) * off;
			}
		}
	free(X), free(mean), free(cov), free(scratch);
	return g;
}

static void squared(const odvgp_real *root, odvgp_real *S)
{
	for (int i = 0; i < 4; i++)
		S[i] = root[i / 2 * 2] * root[i % 2 * 2] + root[i / 2 * 2 + 1] * root[i % 2 * 2 + 1];
}

/*  Compares results of the call with quadrature and, for S = 0, with predictions. */
static void compare(const served *p, const odvgp_real *m, const odvgp_real *root, const char *what)
{
	odvgp_real S[4];
	ptrdiff_t F = p->s.F;
	squared(root, S);
	results got = moments_of(&p->s, m, S), want = by_quadrature(&p->s, m, root);
	double size = 1e-3, off;
	for (int i = 0; i < F; i++) size = fmax(size, sqrt(want.cov[i * (F + 1)]));
	off = test_max_diff(got.mean, want.mean, F) / size;
	CHECK_SAY(off < 1e-8, "%s: means are off by %.2g", what, off);
	off = test_max_diff(got.cov, want.cov, F * F) / (size * size);
	CHECK_SAY(off < 1e-8, "%s: covariances are off by %.2g", what, off);
	for (int d = 0; d < 2; d++) {
		off = test_max_diff(got.input_cov + d * F, want.input_cov + d * F, F) /
			  (size * (1e-3 + sqrt(S[d * 3])));
		CHECK_SAY(off < 1e-8, "%s: covariances with x[%d] are off by %.2g", what, d, off);
	}
	memset(S, 0, sizeof S);
	got = moments_of(&p->s, m, S);
	odvgp_real mean[OUTPUTS], cov[OUTPUTS * OUTPUTS];
	CHECK_STATUS(
			odvgp_predict_functions(&p->s, m, 1, mean, cov, p->scratch, p->bytes, NULL), ODVGP_OK);
	off = test_max_diff(got.mean, mean, F) / size;
	CHECK_SAY(off < 1e-10, "%s: at S = 0 means are off by %.2g", what, off);
	off = test_max_diff(got.cov, cov, F * F) / (size * size);
	CHECK_SAY(off < 1e-10, "%s: at S = 0 covariances are off by %.2g", what, off);
	CHECK(test_max_abs(got.input_cov, 2 * F) < 1e-12);
}

/*  Derivatives of the moments, in m and symmetric ones in S, against differences: central ones, but
    where S has no room to shrink, second order forward ones. */
enum { OF_ONE = OUTPUTS * (1 + OUTPUTS + INPUTS) };

static ptrdiff_t stacked(
		const odvgp_server *s, const odvgp_real *m, const odvgp_real *S, double *to)
{
	results g = moments_of(s, m, S);
	ptrdiff_t F = s->F, n = 0;
	for (ptrdiff_t i = 0; i < F; i++) to[n++] = g.mean[i];
	for (ptrdiff_t i = 0; i < F * F; i++) to[n++] = g.cov[i];
	for (ptrdiff_t i = 0; i < INPUTS * F; i++) to[n++] = g.input_cov[i];
	return n;
}

static void check_derivatives(const served *p, const odvgp_real *m, const odvgp_real *S,
		const odvgp_real *unit, double tolerance, const char *what)
{
	static odvgp_real by_m[OF_ONE * INPUTS], by_S[OF_ONE * INPUTS * INPUTS];
	ptrdiff_t F = p->s.F, D = INPUTS, n, at = 0;
	results g;
	odvgp_info info = no_info();
	size_t bytes = odvgp_predict_moments_gradient_scratch(&p->s, &info);
	void *scratch = test_alloc(bytes);
	const odvgp_moments_gradient to = {{g.mean, g.cov, g.input_cov}, by_m, by_S};
	CHECK_SAY(odvgp_predict_moments_gradient(&p->s, m, S, &to, scratch, bytes, &info) == ODVGP_OK,
			"%s: %s", what, info.text);
	results same = moments_of(&p->s, m, S);
	CHECK(memcmp(g.mean, same.mean, (size_t)F * sizeof *g.mean) == 0);
	CHECK(memcmp(g.cov, same.cov, (size_t)(F * F) * sizeof *g.cov) == 0);
	CHECK(memcmp(g.input_cov, same.input_cov, (size_t)(D * F) * sizeof *g.mean) == 0);
	double value[3][OF_ONE], size[OF_ONE];
	n = stacked(&p->s, m, S, value[0]);
	for (ptrdiff_t i = 0; i < n; i++) size[i] = 1e-3;
	for (int k = 0; k < 2; k++)
		for (ptrdiff_t i = 0; i < n; i++)
			size[i] = fmax(size[i], fabs(i < F ? value[0][i] : sqrt(fabs(value[0][i]))));
	for (int k = 0; k < 5; k++, at = 0) {
		int c = k < 2 ? k : k == 4 ? 0 : k - 2, e = k == 4 ? 1 : c, one_side = k > 1;
		double h = k < 2 ? 1e-4 * unit[c] : 2e-5 * unit[c] * unit[e];
		for (int side = 0; side < 2; side++) {
			odvgp_real x[2] = {m[0], m[1]}, V[4] = {S[0], S[1], S[2], S[3]};
			double step = one_side ? (side + 1) * h : side ? h : -h;
			if (k < 2) x[c] += step;
			else {
				V[c * 2 + e] += step;
				if (k == 4) { /* with both variances, to stay a covariance */
					V[2] += step;
					V[0] += 2 * step * unit[0] / unit[1], V[3] += 2 * step * unit[1] / unit[0];
				}
			}
			(void)stacked(&p->s, x, V, value[1 + side]);
		}
		for (ptrdiff_t i = 0; i < n; i++, at++) {
			double want = one_side ? (4 * value[1][i] - value[2][i] - 3 * value[0][i]) / (2 * h)
								   : (value[2][i] - value[1][i]) / (2 * h),
				   got;
			const odvgp_real *d = by_S + i * 4;
			if (k < 2) got = by_m[i * 2 + c];
			else if (k < 4) got = d[c * 3];
			else got = d[1] + d[2] + 2 * (d[0] * unit[0] / unit[1] + d[3] * unit[1] / unit[0]);
			double scale = 1 / (k < 2 ? unit[c] : unit[c] * unit[e]);
			if (i >= F + F * F) scale *= unit[(i - F - F * F) / F];
			CHECK_SAY(fabs(got - want) < tolerance * scale * (1 + test_max_abs(g.cov, F * F)),
					"%s: result %d by %d: %.10g, not %.10g", what, (int)i, k, got, want);
			CHECK(fabs(d[1] - d[2]) <= 1e-9 * (fabs(d[1]) + scale));
		}
	}
	free(scratch);
}

static const odvgp_real roots[][4] = {{0.3, 0, -0.2, 0.25}, {0.6, 0, 0.4, 0}, {0, 0, 0, 0.4}};

TEST(every_member)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		char what[40];
		test_seed = 800 + (uint64_t)(mean * COVS + cov);
		fixture a = make_sloped_pair(mean, cov, OUTPUTS, 7, 9, "rbf + rbf", what);
		served p = serve_rows(&a, NULL, 1);
		compare(&p, a.X, roots[cov % 3], what);
		unserve(&p);
		drop(&a);
	}
}

TEST(every_kernel)
{
	static const char *const kernels[] = {"rbf", "rbf(ard)", "linear", "linear(ard)",
			"constant * rbf", "rbf(dims=0) * rbf(dims=1) + constant", "linear * rbf + constant",
			"linear(ard) * linear", "(rbf(dims=0) + linear(dims=1)) * (rbf(ard) + constant)",
			"linear(dims=0) * linear(dims=1) * rbf + linear * rbf(ard, dims=1)",
			"rbf(ard=0:2) * linear(ard=0:2)"};
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
		for (int independent = 0; independent < 2; independent++) {
			odvgp_config c = random_config(30, INPUTS, OUTPUTS, 7, 9);
			test_seed = 830 + (uint64_t)k;
			c.independent = independent;
			fixture a = make_kernel(&c, kernels[k]);
			served p = serve_rows(&a, NULL, 1);
			for (int r = 0; r < 3; r++) compare(&p, a.X + 2 * r, roots[r], kernels[k]);
			unserve(&p);
			drop(&a);
		}
}

TEST(mixed_and_independent_outputs_in_their_units)
{
	static const odvgp_real x_mean[] = {3, -1}, y_mean[] = {4, 5, 6};
	const odvgp_real x_scale[] = {10, 0.1}, y_scale[] = {3, 1, 0.5}, root[] = {4, 0, 0.02, 0.05};
	const odvgp_scales scales = {x_mean, x_scale, y_mean, y_scale};
	odvgp_real S[4];
	for (int k = 0; k < 3; k++) {
		odvgp_config c = random_config(30, INPUTS, k == 1 ? 2 : OUTPUTS, 6, 8);
		if (k == 1) c.functions = OUTPUTS;
		c.independent = k > 0;
		c.layer[0].mean_function = k ? ODVGP_MEAN_FUNCTION_LINEAR : ODVGP_MEAN_FUNCTION_CONSTANT;
		test_seed = 860 + (uint64_t)k;
		fixture a = make_random(&c, "rbf + rbf");
		served p = serve_rows(&a, &scales, 1);
		const odvgp_real m[] = {x_mean[0] + 2, x_mean[1] - 0.05};
		const char *what = k == 1 ? "mixed" : k ? "independent" : "shared";
		compare(&p, m, root, what);
		squared(root, S);
		check_derivatives(&p, m, S, x_scale, 1e-6, what);
		unserve(&p);
		drop(&a);
	}
}

TEST(derivatives)
{
	static const char *const kernels[] = {"rbf", "linear", "linear(ard) * linear",
			"(rbf(dims=0) + linear(dims=1)) * (rbf(ard) + constant)",
			"linear(dims=0) * linear(dims=1) * rbf + linear * rbf(ard, dims=1)"};
	static const odvgp_real one[] = {1, 1};
	odvgp_real S[4];
	int mean, cov, at = 0;
	EACH_PAIR(mean, cov)
	{
		char what[40];
		test_seed = 840 + (uint64_t)(mean * COVS + cov);
		fixture a = make_sloped_pair(mean, cov, OUTPUTS, 7, 9, "rbf + rbf", what);
		served p = serve_rows(&a, NULL, 1);
		for (int r = 0; r < 4; r++) {
			if (r < 3) squared(roots[r], S);
			else memset(S, 0, sizeof S);
			check_derivatives(&p, a.X, S, one, 1e-6, what);
		}
		unserve(&p);
		drop(&a);
	}
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
		for (int independent = 0; independent < 2; independent++, at++) {
			odvgp_config c = random_config(30, INPUTS, OUTPUTS, 7, 9);
			test_seed = 850 + (uint64_t)k;
			c.independent = independent;
			fixture a = make_kernel(&c, kernels[k]);
			served p = serve_rows(&a, NULL, 1);
			for (int r = 0; r < 2; r++) {
				if (r) memset(S, 0, sizeof S);
				else squared(roots[at % 3], S);
				check_derivatives(&p, a.X + 2 * r, S, one, 1e-6, kernels[k]);
			}
			unserve(&p);
			drop(&a);
		}
}

/*  A trained model, whose coefficients are large: variances are not negative, also far from the data
    and for wide inputs, where f's moments are the prior's. */
TEST(far_and_wide_inputs)
{
	odvgp_config c = odvgp_config_defaults(60, INPUTS, 2, 20, 20);
	c.layer[0].kernel = "rbf(1.5, ard)";
	test_seed = 880;
	fixture a = make(&c);
	for (int i = 0; i < 300; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	served p = serve_rows(&a, NULL, 1);
	for (int i = 0; i < 60; i++) {
		double size = pow(10, test_between(-9, 9)), at = i % 3 ? 1 : 1e6, turn = test_normal();
		const odvgp_real m[] = {at * test_normal(), at * test_normal()},
						 S[] = {size, size * turn, size * turn, size * (turn * turn + i % 2)};
		results g = moments_of(&p.s, m, S);
		CHECK(g.cov[0] >= 0 && g.cov[3] >= 0);
		CHECK_NEAR(g.cov[1], g.cov[2], 1e-12);
		CHECK(fabs(g.cov[1]) <= 1e-9 + sqrt(g.cov[0] * g.cov[3]));
		if (size < 1e7) continue;
		double prior = number(a.m, "kernel.0.variance");
		CHECK_NEAR(g.cov[0], prior, 0.01 * prior);
	}
	compare(&p, a.X, roots[0], "trained");
	const odvgp_real one[] = {1, 1}, S[] = {0.09, 0.03, 0.03, 0.1};
	check_derivatives(&p, a.X, S, one, 1e-6, "trained");
	unserve(&p);
	drop(&a);
}

/*  Matrices of every order: sigma points are exact for a linear kernel. */
TEST(more_inputs_and_outputs_than_points)
{
	enum { MOST = 7 };
	for (int k = 0; k < 4; k++) {
		ptrdiff_t D = k < 2 ? MOST : 1, P = k % 2 ? MOST : 1;
		odvgp_config c = random_config(30, D, P, 3, 2);
		fixture a;
		odvgp_real S[MOST * MOST], out[2][MOST * (1 + MOST + MOST)];
		memset(&a, 0, sizeof a);
		memset(out, 0, sizeof out);
		test_seed = 885 + (uint64_t)k;
		c.layer[0].kernel = "linear(ard) + constant";
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
		c.independent = k % 2;
		make_block(&a, &c);
		make_data(&a, c.N, D, P, 1, 0.1);
		randomise_slots(&a);
		served p = serve_rows(&a, NULL, 1);
		for (ptrdiff_t i = 0; i < D * D; i++) {
			S[i] = i % (D + 1) ? 0 : 0.01;
			for (int r = 0; r < 2; r++) S[i] += a.X[r * D + i / D] * a.X[r * D + i % D];
		}
		for (int sigma = 0; sigma < 2; sigma++) {
			const odvgp_moments to = {out[sigma], out[sigma] + P, out[sigma] + P + P * P};
			size_t bytes = (sigma ? odvgp_predict_sigma_points_scratch
								  : odvgp_predict_moments_scratch)(&p.s, NULL);
			void *scratch = test_alloc(bytes);
			CHECK_STATUS((sigma ? odvgp_predict_sigma_points : odvgp_predict_moments)(
								 &p.s, a.X, S, &to, scratch, bytes, NULL),
					ODVGP_OK);
			free(scratch);
		}
		CHECK(test_max_diff(out[0], out[1], P + P * P + D * P) <
				1e-10 * (1 + test_max_abs(out[1], P + P * P + D * P)));
		unserve(&p);
		drop(&a);
	}
}
#endif

/*  Cubature by definition. A linear kernel's mean is linear, so its moments are exact but for E[var]
    and the covariance of means, which are quadratic. */
TEST(sigma_points)
{
	static const char *const kernels[] = {"matern52 + rbf", "additive", "linear"};
	static const odvgp_real y_mean[] = {4, 5, 6}, x_mean[] = {3, -1};
	const odvgp_real x_scale[] = {10, GP__R(0.1)}, y_scale[] = {3, 1, GP__R(0.5)},
					 S[] = {16, 0, 0, GP__R(0.0025)}, root[] = {4, 0, 0, GP__R(0.05)};
	const odvgp_scales scales = {x_mean, x_scale, y_mean, y_scale};
	for (int k = 0; k < 3; k++) {
		odvgp_config c = random_config(30, INPUTS, OUTPUTS, 6, 8);
		test_seed = 870 + (uint64_t)k;
		fixture a = make_random(&c, kernels[k]);
		served p = serve_rows(&a, &scales, 4);
		const odvgp_real m[] = {1, GP__R(-1.1)}, zero[4] = {0};
		odvgp_real X[4 * INPUTS], mean[OUTPUTS * 4], var[OUTPUTS * 4];
		results g;
		const odvgp_moments to = {g.mean, g.cov, g.input_cov};
		size_t bytes = odvgp_predict_sigma_points_scratch(&p.s, NULL);
		void *scratch = test_alloc(bytes);
		for (int i = 0; i < 4; i++)
			for (int d = 0; d < INPUTS; d++)
				X[i * INPUTS + d] = m[d] + GP__R((i % 2 ? -1 : 1) * sqrt(2)) * root[d * 2 + i / 2];
		CHECK_STATUS(odvgp_predict_sigma_points(&p.s, m, S, &to, scratch, bytes, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_predict(&p.s, X, 4, mean, var, p.scratch, p.bytes, NULL), ODVGP_OK);
		for (int f = 0; f < OUTPUTS; f++) {
			double sum = 0, square = 0, own = 0, cross[2] = {0};
			for (int i = 0; i < 4; i++) sum += (double)mean[f * 4 + i] / 4;
			for (int i = 0; i < 4; i++) {
				double off = (double)mean[f * 4 + i] - sum;
				square += off * off / 4, own += (double)var[f * 4 + i] / 4;
				for (int d = 0; d < 2; d++)
					cross[d] += off * ((double)X[i * 2 + d] - (double)m[d]) / 4;
			}
			CHECK_NEAR(g.mean[f], sum, 2000 * EPS * (1 + fabs(sum)));
			CHECK_NEAR(g.cov[f * (OUTPUTS + 1)], square + own, 1e5 * EPS * (1 + square + own));
			for (int d = 0; d < 2; d++)
				CHECK_NEAR(g.input_cov[d * OUTPUTS + f], cross[d],
						1e4 * EPS * sqrt((double)S[d * 3] * square));
		}
#ifndef ODVGP_FLOAT
		if (k == 2) {
			const odvgp_real full[] = {16, 0.08, 0.08, 0.0029};
			results h = moments_of(&p.s, m, full);
			CHECK_STATUS(
					odvgp_predict_sigma_points(&p.s, m, full, &to, scratch, bytes, NULL), ODVGP_OK);
			CHECK(test_max_diff(g.mean, h.mean, OUTPUTS) < 1e-11);
			CHECK(test_max_diff(g.cov, h.cov, OUTPUTS * OUTPUTS) < 1e-9);
			CHECK(test_max_diff(g.input_cov, h.input_cov, OUTPUTS * INPUTS) < 1e-9);
		}
#endif
		CHECK_STATUS(
				odvgp_predict_sigma_points(&p.s, m, zero, &to, scratch, bytes, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_predict(&p.s, m, 1, mean, var, p.scratch, p.bytes, NULL), ODVGP_OK);
		for (int f = 0; f < OUTPUTS; f++) {
			CHECK_NEAR(g.mean[f], mean[f], 2000 * EPS * (1 + fabs((double)mean[f])));
			CHECK_NEAR(g.cov[f * (OUTPUTS + 1)], var[f], 1e4 * EPS * (1 + (double)var[f]));
		}
		free(scratch);
		unserve(&p);
		drop(&a);
	}
}

TEST(bad_arguments_are_refused)
{
	odvgp_config c = random_config(30, INPUTS, 2, 9, 11), deep;
	test_seed = 890;
	fixture a = make_random(&c, "rbf"), b, d = make_random(&c, "rbf * matern32"),
			e = make_random(&c, "linear * linear * linear");
	served p = serve_rows(&a, NULL, 1), q, r = serve_rows(&d, NULL, 1), l = serve_rows(&e, NULL, 1);
	results g;
	const odvgp_moments to = {g.mean, g.cov, g.input_cov};
	const odvgp_real m[] = {0, 1}, bad[] = {0, (odvgp_real)NAN}, S[] = {1, 0, 0, 1},
					 many[][4] = {{-1, 0, 0, 1}, {1, 0, GP__R(0.5), 1}, {1, 2, 2, 1}, {0, 1, 1, 0}},
					 tiny[] = {0, 0, 0, 0};
	size_t bytes = odvgp_predict_sigma_points_scratch(&p.s, NULL);
	void *scratch = test_alloc(bytes);
	memset(&g, PATTERN, sizeof g);
#define SIGMA(s, m, S, to, bytes) odvgp_predict_sigma_points(s, m, S, to, scratch, bytes, &info)
	REFUSED_FOR(SIGMA(NULL, m, S, &to, bytes), ODVGP_E_ARG, "server");
	REFUSED_FOR(SIGMA(&p.s, NULL, S, &to, bytes), ODVGP_E_ARG, "m");
	REFUSED_FOR(SIGMA(&p.s, m, NULL, &to, bytes), ODVGP_E_ARG, "S");
	REFUSED_FOR(SIGMA(&p.s, m, S, NULL, bytes), ODVGP_E_ARG, "moments");
	REFUSED_FOR(SIGMA(&p.s, bad, S, &to, bytes), ODVGP_E_NAN, "m");
	REFUSED_FOR(SIGMA(&p.s, m, S, &to, bytes - 1), ODVGP_E_MEMORY, "scratch");
	for (int i = 0; i < 4; i++) REFUSED_FOR(SIGMA(&p.s, m, many[i], &to, bytes), ODVGP_E_ARG, "S");
	NO_SIZE(odvgp_predict_sigma_points_scratch(NULL, &info), ODVGP_E_ARG, "server");
	NO_SIZE(odvgp_predict_moments_scratch(NULL, &info), ODVGP_E_ARG, "server");
	free(scratch);
#ifdef ODVGP_FLOAT
	NO_SIZE(odvgp_predict_moments_scratch(&p.s, &info), ODVGP_E_UNSUPPORTED, "float");
	NO_SIZE(odvgp_predict_moments_gradient_scratch(&p.s, &info), ODVGP_E_UNSUPPORTED, "float");
	scratch = test_alloc(1);
	REFUSED_FOR(odvgp_predict_moments(&p.s, m, S, &to, scratch, 1, &info), ODVGP_E_UNSUPPORTED,
			"float");
#else
	NO_SIZE(odvgp_predict_moments_scratch(&r.s, &info), ODVGP_E_UNSUPPORTED, "matern32");
	NO_SIZE(odvgp_predict_moments_scratch(&l.s, &info), ODVGP_E_UNSUPPORTED, "linear");
	bytes = odvgp_predict_moments_scratch(&p.s, NULL);
	scratch = test_alloc(bytes);
	REFUSED_FOR(odvgp_predict_moments(&r.s, m, S, &to, scratch, bytes, &info), ODVGP_E_UNSUPPORTED,
			"matern32");
	REFUSED_FOR(odvgp_predict_moments(&p.s, bad, S, &to, scratch, bytes, &info), ODVGP_E_NAN, "m");
	for (int i = 0; i < 4; i++)
		REFUSED_FOR(odvgp_predict_moments(&p.s, m, many[i], &to, scratch, bytes, &info),
				ODVGP_E_ARG, "S");
	REFUSED_FOR(odvgp_predict_moments(&p.s, m, S, &to, scratch, bytes - 1, &info), ODVGP_E_MEMORY,
			"scratch");
	CHECK(untouched(&g, sizeof g));
	const odvgp_moments none = {NULL, NULL, NULL};
	CHECK_STATUS(odvgp_predict_moments(&p.s, m, tiny, &none, scratch, bytes, NULL), ODVGP_OK);
	const odvgp_moments_gradient no_more = {{NULL, NULL, NULL}, NULL, NULL};
	REFUSED_FOR(odvgp_predict_moments_gradient(&p.s, m, S, &no_more, scratch, bytes, &info),
			ODVGP_E_MEMORY, "scratch");
	free(scratch);
	bytes = odvgp_predict_moments_gradient_scratch(&p.s, NULL);
	scratch = test_alloc(bytes);
	REFUSED_FOR(odvgp_predict_moments_gradient(&p.s, m, S, NULL, scratch, bytes, &info),
			ODVGP_E_ARG, "moments");
	CHECK_STATUS(odvgp_predict_moments_gradient(&p.s, m, tiny, &no_more, scratch, bytes, NULL),
			ODVGP_OK);
	NO_SIZE(odvgp_predict_moments_gradient_scratch(&r.s, &info), ODVGP_E_UNSUPPORTED, "matern32");
#endif
	deep = random_config(30, INPUTS, INPUTS, 5, 0);
	deep.layers = 2;
	deep.layer[1] = deep.layer[0];
	deep.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	b = make(&deep);
	q = serve_rows(&b, NULL, 1);
	NO_SIZE(odvgp_predict_moments_scratch(&q.s, &info), ODVGP_E_UNSUPPORTED, "server");
	NO_SIZE(odvgp_predict_sigma_points_scratch(&q.s, &info), ODVGP_E_UNSUPPORTED, "server");
	(void)tiny;
	free(scratch);
	unserve(&p), unserve(&q), unserve(&r), unserve(&l);
	drop(&a), drop(&b), drop(&d), drop(&e);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
#ifndef ODVGP_FLOAT
	RUN(every_member);
	RUN(every_kernel);
	RUN(mixed_and_independent_outputs_in_their_units);
	RUN(derivatives);
	RUN(far_and_wide_inputs);
	RUN(more_inputs_and_outputs_than_points);
#endif
	RUN(sigma_points);
	RUN(bad_arguments_are_refused);
	return test_end();
}

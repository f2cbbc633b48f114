/*  Likelihoods: special functions, derivatives by differences, integrals beside adaptive ones in
    long double, limits in which one likelihood is another, and models with each of them. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "reference.h"

/* ---- special functions ---- */

/*  log Gamma and its derivative, from x >= 40 and eight terms of Stirling's series. */
static wide wide_lgamma(wide x)
{
	static const wide c[] = {1.0L / 12, -1.0L / 360, 1.0L / 1260, -1.0L / 1680, 1.0L / 1188,
			-691.0L / 360360, 1.0L / 156, -3617.0L / 122400};
	wide product = 0, sum = 0, power = 1;
	int k;
	for (; x < 40; x += 1) product += logl(x);
	power = 1 / x;
	for (k = 0; k < 8; k++, power /= x * x) sum += c[k] * power;
	return (x - 0.5L) * logl(x) - x + 0.91893853320467274178032973640562L + sum - product;
}
static wide wide_digamma(wide x)
{
	static const wide c[] = {-1.0L / 12, 1.0L / 120, -1.0L / 252, 1.0L / 240, -1.0L / 132,
			691.0L / 32760, -1.0L / 12};
	wide less = 0, sum = 0, power;
	int k;
	for (; x < 40; x += 1) less += 1 / x;
	power = 1 / (x * x);
	for (k = 0; k < 7; k++, power /= x * x) sum += c[k] * power;
	return logl(x) - 0.5L / x + sum - less;
}
TEST(log_gamma_and_its_derivative)
{
	double x;
	for (x = 1e-12; x < 1e12; x *= 1.37) {
		wide g = wide_lgamma((wide)x), d = wide_digamma((wide)x);
		CHECK_NEAR(gp__lgamma(x), g, 4e-15 * (1 + fabs((double)g)));
		CHECK_NEAR(gp__digamma(x), d, 4e-15 * (1 + fabs((double)d)));
	}
	CHECK_NEAR(gp__lgamma(1), 0, 4e-15);
	CHECK_NEAR(gp__lgamma(0.5), 0.5 * log(3.14159265358979323846), 4e-15);
	for (x = 0.01; x < 1e9; x *= 3.1) {
		wide r = wide_lgamma((wide)x + 3) - wide_lgamma((wide)x) - 3 * logl((wide)x),
			 exact = logl(1 + 1 / (wide)x) + logl(1 + 2 / (wide)x);
		CHECK_NEAR(gp__lgamma_rise(x, 3), exact, 1e-14 * (1 + fabs((double)exact)));
		if (x < 100) CHECK_NEAR(r, exact, 1e-15 * (1 + fabs((double)exact)));
	}
}
/*  The rule is exact for polynomials, even ones by the moments (2 k - 1)!!. */
TEST(nodes_of_gauss_and_hermite)
{
	static const ptrdiff_t sizes[] = {1, 2, 3, 20, 51, 200};
	int s, k;
	for (s = 0; s < 6; s++) {
		ptrdiff_t H = sizes[s], h;
		odvgp_real t[200], w[200];
		double moment = 1, least = (double)sizeof(odvgp_real) == 4 ? 1e-5 : 1e-13;
		gp__gauss_hermite(H, t, w);
		for (k = 0; k < 8 && k < H; moment *= 2 * k + 1, k++) {
			double sum = 0;
			for (h = 0; h < H; h++) sum += (double)w[h] * pow((double)t[h], 2 * k);
			CHECK_NEAR(sum, moment, least * moment);
		}
		for (h = 1; h < H; h++) CHECK(t[h] > t[h - 1] && t[h] == -t[H - 1 - h]);
	}
}

/* ---- jobs ---- */

enum { MOST_F = 6, MOST_PAR = 4, NODES = 20 };
typedef struct setup {
	const char *name;
	ptrdiff_t F, H, classes;
	double jitter, par[MOST_PAR];
} setup;
static odvgp_blas blas;
static void *blas_block;

static const gp__likelihood *row_of(const char *name)
{
	ptrdiff_t i;
	for (i = 0; i < GP__COUNT(gp__likelihoods); i++)
		if (!strcmp(gp__likelihoods[i].name, name)) return &gp__likelihoods[i];
	return NULL;
}
enum { EXPECT, DENSITY, MEAN, VARIANCE };
/*  One row's expectation or log density; derivatives [F] each and [MOST_PAR] unless NULL. Moments
    of class k, or of y. */
static double value_of(const setup *s, double y, const double *mean, const double *var, int what,
		ptrdiff_t k, double *dmean, double *dvar, double *dpar)
{
	static odvgp_real rule[1 + 2 * GP__MOST_NODES];
	static ptrdiff_t H; /* whose nodes rule holds */
	const gp__likelihood *lik = row_of(s->name);
	odvgp_real Y = (odvgp_real)y, m[MOST_F], v[MOST_F], dm[MOST_F], dv[MOST_F], par[MOST_PAR],
			   out[MOST_F], *work = NEW(odvgp_real, gp__lik_work(lik, s->F));
	gp__lik_job job;
	double result;
	ptrdiff_t i;
	memset(&job, 0, sizeof job);
	for (i = 0; i < s->F; i++) {
		m[i] = (odvgp_real)mean[i];
		v[i] = (odvgp_real)var[i];
	}
	for (i = 0; i < MOST_PAR; i++) par[i] = (odvgp_real)s->par[i];
	if (H != s->H) {
		H = s->H;
		gp__gauss_hermite(H, rule + 1, rule + 1 + H);
	}
	rule[0] = (odvgp_real)s->jitter;
	job.lik = lik;
	job.isa = blas.isa;
	job.n = job.ld = 1;
	job.F = s->F;
	job.T = gp__lik_targets(lik, s->F);
	job.classes = gp__classes(lik, s->F, s->classes);
	job.Y = &Y;
	job.mean = m;
	job.var = v;
	job.par = par;
	job.rule = rule;
	job.H = s->H;
	job.work = work;
	if (dmean) {
		job.dmean = dm;
		job.dvar = dv;
		job.dpar = dpar;
		for (i = 0; i < MOST_PAR; i++) dpar[i] = 0;
	}
	if (what == EXPECT) result = lik->expect(&job);
	else {
		if (what == DENSITY) lik->log_density(&job, out);
		else lik->y_moments(&job, what == MEAN ? out : NULL, what == VARIANCE ? out : NULL);
		result = (double)out[what == DENSITY ? 0 : k];
	}
	for (i = 0; i < s->F && dmean; i++) {
		dmean[i] = (double)dm[i];
		dvar[i] = (double)dv[i];
	}
	free(work);
	return result;
}

/* ---- derivatives ---- */

static const setup setups[] = {{"gaussian", 1, NODES, 0, 0, {0.3}},
		{"bernoulli", 1, NODES, 0, 0, {0}}, {"bernoulli", 1, NODES, 0, 1e-3, {0}},
		{"logit", 1, NODES, 0, 0, {0}}, {"studentt", 1, NODES, 0, 0, {0.7, 3.5}},
		{"laplace", 1, NODES, 0, 0, {0.6}}, {"poisson", 1, NODES, 0, 0, {0}},
		{"exponential", 1, NODES, 0, 0, {0}}, {"negative_binomial", 1, NODES, 0, 0, {2.5}},
		{"gamma", 1, NODES, 0, 0, {1.7}}, {"beta", 1, NODES, 0, 0, {6}},
		{"ordinal", 1, NODES, 4, 0, {0.8, 1.1, -0.9}}, {"ordinal", 1, NODES, 2, 0, {0.4}},
		{"robustmax", 3, NODES, 0, 0, {1e-3}}, {"robustmax", 4, NODES, 0, 1e-4, {0.02}},
		{"softmax", 2, 60, 0, 0, {0}}, {"softmax", 3, 40, 0, 0, {0}},
		{"heteroscedastic", 2, NODES, 0, 0, {0}}};
enum { SETUPS = sizeof setups / sizeof *setups };

/*  A target that the likelihood can take. */
static double some_target(const setup *s)
{
	const gp__likelihood *lik = row_of(s->name);
	if (lik->flags & GP__LIK_CLASSES) return (double)test_below(gp__classes(lik, s->F, s->classes));
	if (lik->whole) return (double)test_below(lik->most < 2 ? 2 : 9);
	if (lik->least < 0) return test_between(-3, 3);
	return lik->most < 2 ? test_between(0.02, 0.98) : test_between(0.05, 5);
}
/*  By central differences of two steps, extrapolated, in double: float's values are too coarse. */
TEST(derivatives_agree_with_differences)
{
	int k, round, of;
	if (sizeof(odvgp_real) == 4) SKIP("values in float are too coarse for differences");
	test_seed = 15;
	for (k = 0; k < SETUPS; k++)
		for (round = 0; round < 6; round++) {
			const gp__likelihood *lik = row_of(setups[k].name);
			setup s = setups[k];
			double mean[MOST_F], var[MOST_F], dm[MOST_F], dv[MOST_F], dpar[MOST_PAR],
					y = some_target(&s);
			ptrdiff_t i, numbers = gp__lik_all_numbers(lik, s.classes);
			double *x[2 * MOST_F + MOST_PAR], *d[2 * MOST_F + MOST_PAR];
			int count = 0;
			for (i = 0; i < s.F; i++) {
				mean[i] = test_between(-1.5, 1.5) * (round < 3 ? 1 : 3);
				var[i] = test_between(0.05, 1.2);
				x[count] = &mean[i], d[count++] = &dm[i];
				x[count] = &var[i], d[count++] = &dv[i];
			}
			for (i = 0; i < numbers; i++) x[count] = &s.par[i], d[count++] = &dpar[i];
			value_of(&s, y, mean, var, EXPECT, 0, dm, dv, dpar);
			for (of = 0; of < count; of++) {
				double at = *x[of], h = 1e-4 * (fabs(at) < 0.01 ? fabs(at) : 1), slope[2];
				int half;
				for (half = 0; half < 2; half++, h *= 0.5) {
					double up, down;
					*x[of] = at + h;
					up = value_of(&s, y, mean, var, EXPECT, 0, NULL, NULL, NULL);
					*x[of] = at - h;
					down = value_of(&s, y, mean, var, EXPECT, 0, NULL, NULL, NULL);
					slope[half] = (up - down) / (2 * h);
				}
				*x[of] = at;
				slope[1] += (slope[1] - slope[0]) / 3;
				CHECK_SAY(fabs(*d[of] - slope[1]) <=
								  1e-8 * (1 + fabs(slope[1])) * (of < 2 * s.F ? 1 : 100),
						"%s, y %g: derivative %d is %.12g, not %.12g", s.name, y, of, *d[of],
						slope[1]);
			}
		}
}

/* ---- integrals ---- */

static wide wide_log_cdf(wide z)
{
	wide x = -z * 0.70710678118654752440084436210485L;
	return x < 20 ? logl(0.5L * erfcl(x))
				  : -x * x - logl(2 * x * 1.7724538509055160272981674833411L) +
							logl(1 - 1 / (2 * x * x) + 3 / (4 * x * x * x * x) -
									15 / (8 * powl(x, 6)));
}
static wide log_p(const setup *s, wide y, wide f)
{
	wide a = (wide)s->par[0], b = (wide)s->par[1], e = (wide)s->jitter, z = y > 0 ? f : -f, low,
		 high;
	if (!strcmp(s->name, "bernoulli"))
		return e > 0 ? logl((1 - 2 * e) * expl(wide_log_cdf(z)) + e) : wide_log_cdf(z);
	if (!strcmp(s->name, "logit")) return z > 0 ? -log1pl(expl(-z)) : z - log1pl(expl(z));
	if (!strcmp(s->name, "studentt"))
		return wide_lgamma(0.5L * b + 0.5L) - wide_lgamma(0.5L * b) -
			   0.5L * logl(b * 3.1415926535897932384626433832795L) - logl(a) -
			   0.5L * (b + 1) * log1pl((y - f) * (y - f) / (a * a * b));
	if (!strcmp(s->name, "laplace")) return -fabsl(y - f) / a - logl(2 * a);
	if (!strcmp(s->name, "poisson")) return y * f - expl(f) - wide_lgamma(y + 1);
	if (!strcmp(s->name, "exponential")) return f - y * expl(f);
	if (!strcmp(s->name, "gamma"))
		return -a * f + (a - 1) * logl(y) - wide_lgamma(a) - y * expl(-f);
	if (!strcmp(s->name, "negative_binomial"))
		return wide_lgamma(y + a) - wide_lgamma(a) - wide_lgamma(y + 1) + y * f + a * logl(a) -
			   (y + a) * logl(a + expl(f));
	if (!strcmp(s->name, "beta")) {
		low = 0.5L * erfcl(-f * 0.70710678118654752440084436210485L);
		high = 0.5L * erfcl(f * 0.70710678118654752440084436210485L);
		return wide_lgamma(a) - wide_lgamma(a * low) - wide_lgamma(a * high) +
			   (a * low - 1) * logl(y) + (a * high - 1) * log1pl(-y);
	}
	/* ordinal, with four classes */
	low = y == 0 ? -1e3L : (wide)s->par[2] + (y > 1 ? a : 0) + (y > 2 ? b : 0);
	high = y == 3 ? 1e3L : (wide)s->par[2] + (y > 0 ? a : 0) + (y > 1 ? b : 0);
	low -= f, high -= f;
	if (low + high > 0) z = low, low = -high, high = -z;
	return wide_log_cdf(high) + log1pl(-expl(wide_log_cdf(low) - wide_log_cdf(high)));
}
/*  E[log p], or log E[p], by Simpson's rule on 1600 intervals; far from the label, p(y|f) weighs
    nodes up to 40 sd away. */
static wide integral(const setup *s, wide y, wide mean, wide var, int density)
{
	enum { INTERVALS = 1600 };
	wide reach = density ? 40 : 12;
	wide sum = 0, top = -LDBL_MAX, sd = sqrtl(var), step = 2 * reach / INTERVALS;
	int pass, i;
	for (pass = 0; pass < 1 + density; pass++)
		for (i = 0, sum = 0; i <= INTERVALS; i++) {
			wide t = -reach + step * i, l = log_p(s, y, mean + sd * t),
				 w = (i == 0 || i == INTERVALS ? 1
							 : i % 2           ? 4
											   : 2) *
					 step / 3 * 0.398942280401432677939946L,
				 whole = l - 0.5L * t * t;
			if (density && !pass) top = whole > top ? whole : top;
			else sum += w * (density ? expl(whole - top) : l * expl(-0.5L * t * t));
		}
	return density ? top + logl(fmaxl(sum, LDBL_MIN)) : sum;
}
/*  At moderate arguments, with many nodes; and where a target is far on the wrong side. */
TEST(integrals_agree_with_long_double)
{
	int k, round;
	test_seed = 16;
	for (k = 1; k < SETUPS; k++) {
		setup s = setups[k];
		const gp__likelihood *lik = row_of(s.name);
		if (s.F > 1 || s.classes == 2) continue;
		s.H = 200;
		for (round = 0; round < 12; round++) {
			int exp_link = lik->expect == gp__exp_expect || !strcmp(s.name, "negative_binomial"),
				far = round > 7 && lik->most < 1e3 && strcmp(s.name, "beta"),
				kink = !strcmp(s.name, "laplace");
			double y = some_target(&s), mean = test_between(-2, 2), var = test_between(0.05, 0.8),
				   got, want, tol = BY_PRECISION(1e-9, 2e-5);
			if (far) mean = (mean > 0 ? 1 : -1) * test_between(20, exp_link ? 25 : 60);
			got = value_of(&s, y, &mean, &var, EXPECT, 0, NULL, NULL, NULL);
			want = (double)integral(&s, (wide)y, (wide)(odvgp_real)mean, (wide)(odvgp_real)var, 0);
			if (kink || !strcmp(s.name, "studentt")) tol *= 1e4;
			CHECK_SAY(fabs(got - want) <= tol * (1 + fabs(want)),
					"%s, y %g, mean %g, var %g: E[log p] %.14g, not %.14g", s.name, y, mean, var,
					got, want);
			got = value_of(&s, y, &mean, &var, DENSITY, 0, NULL, NULL, NULL);
			want = (double)integral(&s, (wide)y, (wide)(odvgp_real)mean, (wide)(odvgp_real)var, 1);
			if (kink) tol = 2e-2;
			/* float has no weights for nodes so far away */
			if (far && sizeof(odvgp_real) == 4) continue;
			CHECK_SAY(fabs(got - want) <= tol * (1 + fabs(want)),
					"%s, y %g, mean %g, var %g: log E[p] %.14g, not %.14g", s.name, y, mean, var,
					got, want);
		}
	}
}
/*  A label 40 standard deviations on the wrong side, and the limit var -> 0 of the derivatives. */
TEST(extremes_are_finite_and_right)
{
	static const char *const names[] = {"bernoulli", "logit"};
	int k;
	for (k = 0; k < 2; k++) {
		setup s = {NULL, 1, NODES, 0, 0, {0}};
		double mean = -40, var = 1, dm, dv, dpar[MOST_PAR], v;
		s.name = names[k];
		v = value_of(&s, 1, &mean, &var, EXPECT, 0, &dm, &dv, dpar);
		CHECK_NEAR(v, integral(&s, 1, -40, 1, 0), BY_PRECISION(1e-12, 1e-5) * fabs(v));
		/* log Phi(z) is about -z^2/2 - log(-z) there */
		CHECK_NEAR(dm, k ? 1 : 40 + 1 / 40.0, 1e-3);
		CHECK_NEAR(dv, k ? 0 : -0.5, 1e-3);
		CHECK(dm - dm == 0 && dv - dv == 0 && dv <= EPS);
		for (mean = -300; mean < 400; mean += 100) {
			v = value_of(&s, 1, &mean, &var, EXPECT, 0, &dm, &dv, dpar);
			CHECK(v - v == 0 && dm - dm == 0 && dv - dv == 0);
		}
	}
	/* a label 40 standard deviations on the wrong side, beside the integral and its differences */
	for (k = 1; k < SETUPS; k++) {
		setup s = setups[k];
		int side, counts;
		if (s.F > 1 || s.classes == 2) continue;
		s.H = 200;
		counts = row_of(s.name)->whole && row_of(s.name)->most > 2;
		for (side = -1; side <= 1; side += 2) {
			double y = !strcmp(s.name, "beta")      ? 0.5 - 0.45 * side
					   : !strcmp(s.name, "ordinal") ? (side < 0 ? 3 : 0)
					   : counts                     ? 4
													: side < 0,
				   mean = 40 * side, var = 1, v, dm, dv, dpar[MOST_PAR], slope, curve;
			wide h = 0.01L;
			/* where the reference still has lgamma's arguments */
			if (!strcmp(s.name, "beta")) mean = 6 * side;
			if (!strcmp(s.name, "exponential") || !strcmp(s.name, "gamma")) y = 0.5;
			v = value_of(&s, y, &mean, &var, EXPECT, 0, &dm, &dv, dpar);
			slope = (double)((integral(&s, (wide)y, (wide)mean + h, 1, 0) -
									 integral(&s, (wide)y, (wide)mean - h, 1, 0)) /
							 (2 * h));
			curve = (double)((integral(&s, (wide)y, (wide)mean, 1 + h, 0) -
									 integral(&s, (wide)y, (wide)mean, 1 - h, 0)) /
							 (2 * h));
			CHECK_SAY(v - v == 0 && fabs(v - (double)integral(&s, (wide)y, (wide)mean, 1, 0)) <=
											BY_PRECISION(1e-6, 1e-4) * (1 + fabs(v)),
					"%s, y %g, mean %g: %.12g, not %.12g", s.name, y, mean, v,
					(double)integral(&s, (wide)y, (wide)mean, 1, 0));
			CHECK_SAY(fabs(dm - slope) <= 1e-3 * (1 + fabs(slope)),
					"%s, y %g, mean %g: d/dmean %g, not %g", s.name, y, mean, dm, slope);
			CHECK_SAY(fabs(dv - curve) <= 2e-3 * (1 + fabs(curve)),
					"%s, y %g, mean %g: d/dvar %g, not %g", s.name, y, mean, dv, curve);
		}
	}
	/* several classes: the bound is the lapse's rate, or the difference of functions */
	for (k = 0; k < SETUPS; k++) {
		setup s = setups[k];
		double mean[MOST_F] = {-40, 0, 0, 0}, var[MOST_F] = {1, 1, 1, 1}, dm[MOST_F], dv[MOST_F],
			   dpar[MOST_PAR], v;
		ptrdiff_t i;
		if (!(row_of(s.name)->flags & GP__LIK_CLASSES) || s.F < 2) continue;
		v = value_of(&s, 0, mean, var, EXPECT, 0, dm, dv, dpar);
		if (!strcmp(s.name, "robustmax")) CHECK_NEAR(v, log(s.par[0] / (double)(s.F - 1)), 1e-2);
		else CHECK_NEAR(v, -40 - (s.F > 2 ? log(2.0) + 0.29 : 0), 0.3);
		for (i = 0; i < s.F; i++) CHECK(dm[i] - dm[i] == 0 && dv[i] - dv[i] == 0);
		CHECK(dm[0] >= 0);
		if (!strcmp(s.name, "softmax")) CHECK_NEAR(dm[0], 1, 1e-6);
	}
	for (k = 1; k < SETUPS; k++) {
		/* g''/2 by differences of g' at var = 0 */
		setup s = setups[k];
		double mean = 0.3, var = 0, dm[MOST_F], dv[MOST_F], dpar[MOST_PAR], up[MOST_F],
			   down[MOST_F], scrap[MOST_F], y = 1, h = BY_PRECISION(1e-3, 2e-2);
		if (s.F > 1 || !strcmp(s.name, "laplace")) continue;
		if (!strcmp(s.name, "beta")) y = 0.4;
		value_of(&s, y, &mean, &var, EXPECT, 0, dm, dv, dpar);
		mean += h;
		value_of(&s, y, &mean, &var, EXPECT, 0, up, scrap, dpar);
		mean -= 2 * h;
		value_of(&s, y, &mean, &var, EXPECT, 0, down, scrap, dpar);
		CHECK_SAY(fabs(dv[0] - (up[0] - down[0]) / (4 * h)) <
						  BY_PRECISION(1e-5, 5e-3) * (1 + fabs(dv[0])),
				"%s: d/dvar at var = 0 is %g, not %g", s.name, dv[0], (up[0] - down[0]) / (4 * h));
	}
}
/*  Moments of y beside sums or integrals of y p(y|data). */
TEST(moments_of_y)
{
	int k;
	for (k = 0; k < SETUPS; k++) {
		setup s = setups[k];
		const gp__likelihood *lik = row_of(s.name);
		double mean[MOST_F] = {0.4, -0.2, 0.1, 0.3}, var[MOST_F] = {0.3, 0.5, 0.2, 0.4}, sum = 0,
			   first = 0, second = 0, m, v;
		ptrdiff_t i, K = gp__classes(lik, s.F, s.classes);
		s.H = s.F > 1 ? s.H : 60;
		for (i = 0; i < K; i++) {
			m = value_of(&s, 0, mean, var, MEAN, i, NULL, NULL, NULL);
			v = value_of(&s, 0, mean, var, VARIANCE, i, NULL, NULL, NULL);
			CHECK_NEAR(m, exp(value_of(&s, (double)i, mean, var, DENSITY, 0, NULL, NULL, NULL)),
					4 * EPS);
			CHECK_NEAR(v, m - m * m, 4 * EPS);
			sum += m;
		}
		/* the rule's error, and robustmax's link jitter */
		if (K) CHECK_NEAR(sum, 1, 2e-3);
		if (K || !strcmp(s.name, "laplace")) continue;
		if (lik->whole) {
			for (i = 0; i < (lik->most < 2 ? 2 : 400); i++) {
				double p = exp(value_of(&s, (double)i, mean, var, DENSITY, 0, NULL, NULL, NULL));
				first += p * (double)i;
				second += p * (double)(i * i);
			}
		} else {
			/* trapezia in sinh-like steps, which reach far tails */
			double lo = lik->least < 0 ? -9 : -14, hi = lik->most < 2 ? 14 : 9, t,
				   h = 0.01 * test_size(2, 4);
			for (t = lo; t < hi; t += h) {
				double y = lik->least < 0  ? sinh(t) + 0.4
						   : lik->most < 2 ? 1 / (1 + exp(-t))
										   : exp(t),
					   dy = lik->least < 0  ? cosh(t)
							: lik->most < 2 ? y * (1 - y)
											: y,
					   p;
				if (sizeof(odvgp_real) == 4 && lik->most < 2 && (float)y >= 1) continue;
				p = exp(value_of(&s, y, mean, var, DENSITY, 0, NULL, NULL, NULL)) * dy * h;
				first += p * y;
				second += p * y * y;
			}
		}
		m = value_of(&s, 0, mean, var, MEAN, 0, NULL, NULL, NULL);
		v = value_of(&s, 0, mean, var, VARIANCE, 0, NULL, NULL, NULL);
		CHECK_SAY(fabs(m - first) < 2e-3 * (1 + fabs(m)), "%s: mean %g, not %g", s.name, m, first);
		second -= first * first;
		CHECK_SAY(fabs(v - second) < 2e-2 * (1 + v), "%s: variance %g, not %g", s.name, v, second);
	}
}

/* ---- limits ---- */

TEST(one_likelihood_is_the_limit_of_another)
{
	double mean[MOST_F] = {0.7, -0.4, -70, -70, -70}, var[MOST_F] = {0.3, 0.6, 0.5, 0.5, 0.5}, a, b,
		   dm[MOST_F], dv[MOST_F], dpar[MOST_PAR], difference, whole;
	double tol = BY_PRECISION(1e-9, 1e-5);
	setup s = {"robustmax", 2, 200, 0, 0, {1e-3}}, u = {"logit", 1, 100, 0, 0, {0}};
	/* two classes: P is Phi((m_y - m_k) / sqrt(v_y + v_k)) */
	b = 0.5 * erfc(-(mean[0] - mean[1]) / sqrt(2 * (var[0] + var[1])));
	a = exp(value_of(&s, 0, mean, var, DENSITY, 0, NULL, NULL, NULL));
	CHECK_NEAR((a - 1e-3) / (1 - 2e-3), b, tol);
	a = value_of(&s, 0, mean, var, EXPECT, 0, dm, dv, dpar);
	CHECK_NEAR(a, log(1e-3) + b * (log1p(-1e-3) - log(1e-3)), 10 * tol);
	whole = var[0] + var[1], difference = mean[0] - mean[1];
	a = (log1p(-1e-3) - log(1e-3)) * exp(-0.5 * difference * difference / whole) /
		sqrt(2 * 3.14159265358979323846 * whole);
	CHECK_NEAR(dm[0], a, 10 * tol);
	CHECK_NEAR(dm[1], -a, 10 * tol);
	CHECK_NEAR(dv[0], -0.5 * a * difference / whole, 10 * tol);
	CHECK_NEAR(dv[1], -0.5 * a * difference / whole, 10 * tol);
	/* softmax of two classes is logit of the difference */
	s.name = "softmax";
	s.H = 100;
	difference = mean[0] - mean[1], whole = var[0] + var[1];
	a = value_of(&s, 0, mean, var, EXPECT, 0, dm, dv, dpar);
	b = value_of(&u, 1, &difference, &whole, EXPECT, 0, dm + 2, dv + 2, dpar);
	CHECK_NEAR(a, b, tol);
	CHECK_NEAR(dm[0], dm[2], tol);
	CHECK_NEAR(dv[1], dv[2], tol);
	/* five classes by draws, three of them impossible */
	s.F = 5;
	s.H = 200;
	a = dm[2];
	CHECK_NEAR(value_of(&s, 0, mean, var, EXPECT, 0, dm, dv, dpar), b, 0.02);
	CHECK_NEAR(dm[0], a, 0.02);
	CHECK_NEAR(dm[0] + dm[1], 0, tol);
	/* Student with many degrees of freedom is Gaussian */
	s.name = "studentt", s.F = 1, s.H = NODES, s.par[0] = 0.5, s.par[1] = 1e7;
	u.name = "gaussian", u.par[0] = 0.25;
	CHECK_NEAR(value_of(&s, 1.1, mean, var, EXPECT, 0, dm, dv, dpar),
			value_of(&u, 1.1, mean, var, EXPECT, 0, dm + 2, dv + 2, dpar), 1e-4);
	CHECK_NEAR(dm[0], dm[2], 1e-4);
	CHECK_NEAR(dv[0], dv[2], 1e-4);
	CHECK_NEAR(value_of(&s, 1.1, mean, var, DENSITY, 0, NULL, NULL, NULL),
			value_of(&u, 1.1, mean, var, DENSITY, 0, NULL, NULL, NULL), 1e-4);
	/* the negative binomial of large size is Poisson */
	s.name = "negative_binomial", s.par[0] = 1e9;
	u.name = "poisson", u.H = NODES;
	CHECK_NEAR(value_of(&s, 7, mean, var, EXPECT, 0, dm, dv, dpar),
			value_of(&u, 7, mean, var, EXPECT, 0, dm + 2, dv + 2, dpar), BY_PRECISION(1e-6, 1e-4));
	CHECK_NEAR(dm[0], dm[2], BY_PRECISION(1e-6, 1e-4));
	CHECK_NEAR(dv[0], dv[2], BY_PRECISION(1e-6, 1e-4));
	CHECK_NEAR(value_of(&s, 7, mean, var, DENSITY, 0, NULL, NULL, NULL),
			value_of(&u, 7, mean, var, DENSITY, 0, NULL, NULL, NULL), BY_PRECISION(1e-6, 1e-4));
	/* Gamma of shape 1 is exponential, with -f */
	s.name = "gamma", s.par[0] = 1;
	u.name = "exponential", difference = -mean[0];
	CHECK_NEAR(value_of(&s, 0.7, mean, var, EXPECT, 0, NULL, NULL, NULL),
			value_of(&u, 0.7, &difference, var, EXPECT, 0, NULL, NULL, NULL), 1e-6);
	/* label noise: no label costs more than the link jitter allows */
	s.name = "bernoulli", s.jitter = 1e-3, mean[0] = -50;
	CHECK_NEAR(value_of(&s, 1, mean, var, EXPECT, 0, NULL, NULL, NULL), log(1e-3), 1e-4);
}

/* ---- models ---- */

enum { N = 90, D = 2, M = 8, MG = 12, STEPS = 40, QUERIES = 7 };
typedef struct world {
	setup s;
	ptrdiff_t T;
	odvgp_real X[N * D], Y[N * MOST_F];
	odvgp_config cfg;
} world;

/*  Targets that follow sin(2 x) in some way. */
static void make_world(world *w, const setup *s)
{
	const gp__likelihood *lik = row_of(s->name);
	ptrdiff_t i, t;
	w->s = *s;
	w->T = gp__lik_targets(lik, s->F);
	test_seed = 17;
	for (i = 0; i < N; i++) {
		double x0 = test_between(-2, 2), x1 = test_between(-2, 2), f = sin(2 * x0) + 0.4 * x1;
		w->X[i * D] = (odvgp_real)x0, w->X[i * D + 1] = (odvgp_real)x1;
		for (t = 0; t < w->T; t++) {
			double u = f + 0.3 * test_normal(), K = (double)gp__classes(lik, s->F, s->classes),
				   y = u;
			if (K > 0) y = floor((u + 1.4) / 2.8 * K);
			else if (lik->most < 2 && lik->whole) y = u > 0;
			else if (lik->whole) y = floor(exp(1 + u));
			else if (lik->least == 0) y = lik->most < 2 ? 1 / (1 + exp(-u)) : exp(u);
			if (K > 0) y = y < 0 ? 0 : y > K - 1 ? K - 1 : y;
			w->Y[i * w->T + t] = (odvgp_real)y;
		}
	}
	w->cfg = odvgp_config_defaults(N, D, s->F, M, MG);
	w->cfg.lik.kind = (odvgp_likelihood)(lik - gp__likelihoods);
	w->cfg.lik.classes = s->classes;
	w->cfg.lik.link_jitter = (odvgp_real)s->jitter;
	w->cfg.layer[0].kernel = "rbf";
	w->cfg.optim.batch = 70;
	w->cfg.tile = 32;
	w->cfg.isa = test_isa();
}
static odvgp_model *create(const world *w)
{
	odvgp_model *m = NULL;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_status s = odvgp_model_create(&m, &w->cfg, w->X, w->Y, NULL, &info);
	CHECK_SAY(!s, "%s: %s %s", w->s.name, info.what ? info.what : "", info.text);
	return m;
}
static double train(const world *w, odvgp_model *m, int steps, odvgp_report *report)
{
	odvgp_real elbo = 0;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	int i;
	for (i = 0; i < steps; i++) {
		odvgp_status s = odvgp_step(m, w->X, w->Y, report, &info);
		if (!CHECK_SAY(!s, "%s, step %d: %s", w->s.name, i, info.text)) return 0;
	}
	CHECK_STATUS(odvgp_elbo(m, w->X, w->Y, N, &elbo, NULL, NULL, &info), ODVGP_OK);
	return (double)elbo;
}
static void check_predictions(const world *w, odvgp_model *m, odvgp_model *twin)
{
	odvgp_model *both[2];
	odvgp_real *out[2];
	ptrdiff_t y_rows = 0, k, i;
	int b;
	both[0] = m, both[1] = twin;
	for (b = 0; b < 2; b++) {
		size_t bytes = odvgp_predictor_size(both[b]), scratch_bytes;
		void *block = test_alloc(bytes), *scratch;
		odvgp_server server;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		CHECK_STATUS(odvgp_freeze(both[b], NULL, block, bytes, &info), ODVGP_OK);
		CHECK_STATUS(odvgp_server_from_block(&server, block, bytes, w->cfg.isa, &info), ODVGP_OK);
		scratch_bytes = odvgp_predict_scratch(&server, b ? 3 : QUERIES);
		scratch = test_alloc(scratch_bytes);
		y_rows = server.y_rows;
		out[b] = NEW(odvgp_real, (2 * y_rows + 1) * QUERIES);
		CHECK_STATUS(odvgp_predict_y(&server, w->X, QUERIES, out[b], out[b] + y_rows * QUERIES,
							 scratch, scratch_bytes),
				ODVGP_OK);
		CHECK_STATUS(odvgp_predict_logp(&server, w->X, w->Y, QUERIES, out[b] + 2 * y_rows * QUERIES,
							 scratch, scratch_bytes),
				ODVGP_OK);
		free(block), free(scratch);
	}
	{
		odvgp_real *sd = NEW(odvgp_real, (y_rows + w->s.F) * QUERIES);
		CHECK_STATUS(odvgp_predict_once(m, w->X, QUERIES, NULL, sd, sd + w->s.F * QUERIES, NULL),
				ODVGP_OK);
		for (i = 0; i < y_rows * QUERIES; i++)
			CHECK_NEAR(sd[w->s.F * QUERIES + i] * sd[w->s.F * QUERIES + i],
					out[0][y_rows * QUERIES + i], 16 * EPS * (1 + (double)out[0][i]));
		free(sd);
	}
	CHECK_SAY(!memcmp(out[0], out[1], (size_t)((2 * y_rows + 1) * QUERIES) * sizeof *out[0]),
			"%s: predictions of a loaded model differ", w->s.name);
	for (i = 0; i < QUERIES; i++) {
		double sum = 0;
		for (k = 0; k < y_rows; k++) {
			sum += (double)out[0][k * QUERIES + i];
			CHECK(out[0][(y_rows + k) * QUERIES + i] >= 0);
		}
		if (y_rows > 2) CHECK_NEAR(sum, 1, 1e-2);
	}
	free(out[0]), free(out[1]);
}
/*  Training raises the bound; three tasks give the bits of one; a loaded model predicts and
    continues with the same bits. */
TEST(models_train_save_and_predict)
{
	int k;
	for (k = 0; k < SETUPS; k++) {
		world *w = NEW(world, 1);
		odvgp_model *m, *other, *loaded = NULL;
		odvgp_real *a, *b;
		odvgp_report report;
		double before, after;
		size_t bytes, model_bytes;
		void *file, *block;
		make_world(w, &setups[k]);
		m = create(w);
		w->cfg.threads.run = run_mixed;
		w->cfg.threads.count = 3;
		other = create(w);
		if (!m || !other) return;
		before = train(w, m, 0, &report);
		after = train(w, m, STEPS, &report);
		CHECK_SAY(after > before + 5, "%s: the bound goes from %g to %g", w->s.name, before, after);
		train(w, other, STEPS, &report);
		a = all_values(m), b = all_values(other);
		CHECK_SAY(!memcmp(a, b, (size_t)odvgp_param_count(m) * sizeof *a),
				"%s: threads change the bits", w->s.name);
		bytes = odvgp_save_size(m, 0);
		file = test_alloc(bytes);
		CHECK_STATUS(odvgp_save(m, NULL, NULL, 0, file, bytes, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_load_size(
							 file, bytes, NULL, w->cfg.isa, &model_bytes, NULL, NULL, NULL, NULL),
				ODVGP_OK);
		block = test_alloc(model_bytes);
		CHECK_STATUS(odvgp_load(file, bytes, NULL, w->cfg.isa, block, model_bytes, &loaded, NULL),
				ODVGP_OK);
		if (loaded) {
			check_predictions(w, m, loaded);
			CHECK(train(w, m, 3, &report) == train(w, loaded, 3, &report));
		}
		odvgp_model_free(m), odvgp_model_free(other);
		free(a), free(b), free(file), free(block), free(w);
	}
}
/*  With only natural steps on all rows, the bound of a likelihood that is not log-concave never
    falls, whatever the step; outliers do not keep it from its optimum. */
TEST(natural_steps_never_lower_a_curved_bound)
{
	static const char *const names[] = {"studentt", "robustmax", "beta", "bernoulli"};
	static const double taus[] = {0.1, 0.5, 1};
	int k, t, i, round;
	for (k = 0; k < 4; k++) {
		double best[3];
		for (t = 0; t < 3; t++) {
			world *w = NEW(world, 1);
			odvgp_model *m;
			odvgp_report report;
			double last = -HUGE_VAL;
			for (i = 0; strcmp(setups[i].name, names[k]) || (k == 3 && !(setups[i].jitter > 0));
					i++) {}
			make_world(w, &setups[i]);
			for (i = 0; k == 0 && i < N; i += 7) w->Y[i] += 6;
			w->cfg.optim.batch = N;
			w->cfg.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
			w->cfg.optim.natgrad_step = odvgp_constant((odvgp_real)taus[t]);
			m = create(w);
			if (!m) return;
			for (i = 0; i < odvgp_slot_count(m); i++) {
				const odvgp_slot *slot = odvgp_slot_at(m, i);
				if (!slot->natgrad) odvgp_set_trainable(m, slot->name, 0);
			}
			for (round = 0; round < 60; round++) {
				odvgp_real elbo;
				train(w, m, 1, &report);
				odvgp_elbo(m, w->X, w->Y, N, &elbo, NULL, NULL, NULL);
				CHECK_SAY((double)elbo >= last - BY_PRECISION(2e-9, 1e-5) * fabs(last),
						"%s, tau %g: the bound falls from %.12g to %.12g", names[k], taus[t], last,
						(double)elbo);
				last = (double)elbo;
				CHECK(report.evaluations >= 2);
			}
			best[t] = last;
			odvgp_model_free(m);
			free(w);
		}
		CHECK_NEAR(best[1], best[2], 0.05 + 1e-3 * fabs(best[2]));
		CHECK(best[0] > best[2] - 0.1 - 1e-2 * fabs(best[2]));
	}
}

/*  One label in eight is wrong: the trained rate of robustmax finds that, a link jitter does better
    than none, and both name the right classes. The rate stays below that of guessing. */
TEST(label_noise_is_found_and_does_no_harm)
{
	static const char *const names[] = {"robustmax", "bernoulli"};
	double bounds[2] = {0, 0};
	int k, jitter;
	for (k = 0; k < 2; k++)
		for (jitter = 0; jitter < 1 + k; jitter++) {
			world *w = NEW(world, 1);
			odvgp_model *m;
			odvgp_real right[N], mean[4 * N], epsilon = 0;
			ptrdiff_t i, c, wrong = 0, classes;
			int s;
			for (s = 0; strcmp(setups[s].name, names[k]); s++) {}
			make_world(w, &setups[s]);
			classes = k ? 2 : w->s.F;
			for (i = 0; i < N; i++) { /* one smooth boundary per class */
				double at = ((double)w->X[i * D] + 2) / 4 * (double)classes;
				right[i] = (odvgp_real)GP__MIN((ptrdiff_t)at, classes - 1);
				w->Y[i] = i % 8 ? right[i] : (odvgp_real)(((ptrdiff_t)right[i] + 1) % classes);
			}
			w->cfg.optim.batch = N;
			w->cfg.lik.link_jitter = (odvgp_real)(0.125 * jitter);
			w->cfg.optim.lr = odvgp_constant((odvgp_real)0.02);
			m = create(w);
			if (!m) return;
			if (!k) CHECK_STATUS(odvgp_set_trainable(m, "epsilon", 1), ODVGP_OK);
			bounds[jitter] = train(w, m, 400, NULL);
			CHECK_STATUS(odvgp_predict_once(m, w->X, N, mean, NULL, NULL, NULL), ODVGP_OK);
			for (i = 0; i < N; i++) {
				ptrdiff_t best = k && mean[i] > 0;
				for (c = 1; c < classes && !k; c++)
					if (mean[c * N + i] > mean[best * N + i]) best = c;
				wrong += best != (ptrdiff_t)right[i];
			}
			CHECK_SAY(wrong <= 6, "%s: %ld of %d clean labels are wrong", names[k], (long)wrong, N);
			if (!k) {
				CHECK_STATUS(odvgp_get(m, "epsilon", &epsilon, 1), ODVGP_OK);
				CHECK_SAY(epsilon > 0.06 && epsilon < 0.25, "epsilon is %g", (double)epsilon);
				epsilon = 1 - 1 / (odvgp_real)classes + (odvgp_real)0.01;
				CHECK_STATUS(odvgp_set(m, "epsilon", &epsilon, 1, NULL), ODVGP_E_ARG);
				epsilon = 1 - 1 / (odvgp_real)classes - (odvgp_real)1e-4;
				CHECK_STATUS(odvgp_set(m, "epsilon", &epsilon, 1, NULL), ODVGP_OK);
				train(w, m, 20, NULL); /* from beside the bound */
				CHECK_STATUS(odvgp_get(m, "epsilon", &epsilon, 1), ODVGP_OK);
				CHECK((double)epsilon > 0 && (double)epsilon < 1 - 1 / (double)classes);
			}
			odvgp_model_free(m);
			free(w);
		}
	CHECK_SAY(bounds[1] > bounds[0], "%g with a link jitter, %g without", bounds[1], bounds[0]);
}

/* ---- targets and settings ---- */

/*  A missing target counts for nothing: the bound of N rows of which some are missing is that of
    the others. */
TEST(missing_targets_have_no_weight)
{
	int k;
	for (k = 0; k < SETUPS; k++) {
		world *w = NEW(world, 1);
		odvgp_model *m;
		odvgp_real elbo, kl, fewer, *grad, *grad_fewer, X[N * D], Y[N * MOST_F];
		ptrdiff_t i, seen = 0, j;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		make_world(w, &setups[k]);
		w->cfg.lik.missing = 1;
		for (i = 0; i < N; i++) {
			if (i % 5 == 1) {
				for (j = 0; j < w->T; j++) w->Y[i * w->T + j] = (odvgp_real)NAN;
				continue;
			}
			memcpy(X + seen * D, w->X + i * D, D * sizeof *X);
			memcpy(Y + seen * w->T, w->Y + i * w->T, (size_t)w->T * sizeof *Y);
			seen++;
		}
		m = create(w);
		if (!m) return;
		grad = NEW(odvgp_real, odvgp_param_count(m)),
		grad_fewer = NEW(odvgp_real, odvgp_param_count(m));
		CHECK_STATUS(odvgp_elbo(m, w->X, w->Y, N, &elbo, &kl, grad, &info), ODVGP_OK);
		CHECK_STATUS(odvgp_elbo(m, X, Y, seen, &fewer, NULL, grad_fewer, &info), ODVGP_OK);
		CHECK_SAY(fabs((double)(elbo + kl) - (double)(fewer + kl) * (double)seen / N) <=
						  BY_PRECISION(1e-10, 1e-4) * (1 + fabs((double)elbo)),
				"%s: %.14g with missing targets, %.14g without them", w->s.name,
				(double)(elbo + kl), (double)(fewer + kl) * (double)seen / N);
		train(w, m, 5, NULL);
		odvgp_model_free(m);
		w->cfg.lik.missing = 0;
		CHECK_STATUS(odvgp_model_create(&m, &w->cfg, w->X, w->Y, NULL, &info), ODVGP_E_NAN);
		CHECK_INT(info.row, 1);
		free(grad), free(grad_fewer), free(w);
	}
}
TEST(targets_that_do_not_fit_are_named)
{
	static const struct {
		int setup;
		double y;
		const char *text;
	} bad[] = {{1, 2, "0 or 1"}, {3, 0.5, "0 or 1"}, {6, 1.5, "count"}, {6, -1, "count"},
			{7, 0, "above 0"}, {8, 2.5, "count"}, {9, -2, "above 0"}, {10, 0, "between 0 and 1"},
			{10, 1, "between 0 and 1"}, {11, 4, "number of a class"}, {13, 3, "number of a class"},
			{13, -1, "number of a class"}, {15, 0.5, "number of a class"}};
	size_t k;
	for (k = 0; k < sizeof bad / sizeof *bad; k++) {
		world *w = NEW(world, 1);
		odvgp_model *m = NULL;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		make_world(w, &setups[bad[k].setup]);
		w->Y[17] = (odvgp_real)bad[k].y;
		CHECK_STATUS(odvgp_model_create(&m, &w->cfg, w->X, w->Y, NULL, &info), ODVGP_E_ARG);
		CHECK_SAY(info.row == 17 && strstr(info.text, bad[k].text), "%s: row %ld, %s", w->s.name,
				(long)info.row, info.text);
		free(w);
	}
}
TEST(settings_that_do_not_fit_are_refused)
{
	static const struct {
		int setup;
		const char *set;
		odvgp_status status;
		const char *text;
	} bad[] = {{13, "P=1", ODVGP_E_ARG, "number of classes"}, {13, "P=201", ODVGP_E_ARG, "classes"},
			{11, "P=2", ODVGP_E_ARG, "must be 1"}, {17, "P=3", ODVGP_E_ARG, "even"},
			{11, "lik.classes=0", ODVGP_E_ARG, "at least 2"},
			{1, "lik.classes=3", ODVGP_E_ARG, "ordinal"},
			{3, "lik.link_jitter=0.1", ODVGP_E_ARG, "bernoulli"},
			{6, "lik.noise_variance=0.1", ODVGP_E_ARG, "Gaussian"},
			{6, "lik.noise_floor=0.1", ODVGP_E_ARG, "Gaussian"},
			{4, "objective=collapsed", ODVGP_E_UNSUPPORTED, ""}};
	size_t k;
	for (k = 0; k < sizeof bad / sizeof *bad; k++) {
		world *w = NEW(world, 1);
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		size_t bytes;
		make_world(w, &setups[bad[k].setup]);
		w->cfg.optim.batch = N;
		CHECK_STATUS(odvgp_config_set(&w->cfg, bad[k].set, &info), ODVGP_OK);
		CHECK_STATUS(odvgp_model_size(&w->cfg, &bytes, &info), bad[k].status);
		CHECK_SAY(strstr(info.text, bad[k].text), "%s: %s", bad[k].set, info.text);
		free(w);
	}
	{
		world *w = NEW(world, 1);
		odvgp_model *m;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		odvgp_real one[1] = {1};
		odvgp_scales scales = {NULL, NULL, NULL, one};
		size_t bytes, work_bytes;
		void *block, *work;
		odvgp_real bound;
		make_world(w, &setups[6]);
		m = create(w);
		bytes = odvgp_predictor_size(m);
		block = test_alloc(bytes);
		CHECK_STATUS(odvgp_freeze(m, &scales, block, bytes, &info), ODVGP_E_UNSUPPORTED);
		work_bytes = odvgp_fit_q_size(m);
		work = test_alloc(work_bytes);
		CHECK_STATUS(odvgp_fit_q(m, w->X, w->Y, work, work_bytes, &info), ODVGP_E_UNSUPPORTED);
		CHECK(info.text[0]);
		CHECK_STATUS(odvgp_upper_bound(m, w->X, w->Y, work, work_bytes, &bound, NULL, &info),
				ODVGP_E_UNSUPPORTED);
		free(work);
		odvgp_model_free(m);
		free(block), free(w);
	}
}
/*  Cuts start where the classes' frequencies put them. */
TEST(ordinal_cuts_start_from_frequencies)
{
	world *w = NEW(world, 1);
	odvgp_model *m;
	odvgp_real cut, gap[2];
	make_world(w, &setups[11]);
	m = create(w);
	CHECK_STATUS(odvgp_get(m, "cut", &cut, 1), ODVGP_OK);
	CHECK_STATUS(odvgp_get(m, "gap", gap, 2), ODVGP_OK);
	{
		double below = 1, at = (double)cut;
		ptrdiff_t k, i;
		for (k = 0; k < 3; k++) {
			for (i = 0; i < N; i++) below += w->Y[i] == (odvgp_real)k;
			CHECK_NEAR(0.5 * erfc(-0.5 * at), below / (N + 4), 1e-5);
			below++;
			if (k < 2) at += (double)gap[k];
		}
	}
	odvgp_model_free(m);
	free(w);
}

int main(int argc, char **argv)
{
	size_t bytes = odvgp_blas_size(NULL);
	test_begin(argc, argv);
	blas_block = test_alloc(bytes);
	if (odvgp_blas_init(&blas, NULL, test_isa(), blas_block, bytes)) return 3;
	RUN(log_gamma_and_its_derivative);
	RUN(nodes_of_gauss_and_hermite);
	RUN(derivatives_agree_with_differences);
	RUN(integrals_agree_with_long_double);
	RUN(extremes_are_finite_and_right);
	RUN(moments_of_y);
	RUN(one_likelihood_is_the_limit_of_another);
	RUN(models_train_save_and_predict);
	RUN(natural_steps_never_lower_a_curved_bound);
	RUN(label_noise_is_found_and_does_no_harm);
	RUN(missing_targets_have_no_weight);
	RUN(targets_that_do_not_fit_are_named);
	RUN(settings_that_do_not_fit_are_refused);
	RUN(ordinal_cuts_start_from_frequencies);
	free(blas_block);
	return test_end();
}

/*  Likelihoods: special functions, derivatives by differences, integrals beside adaptive quadrature
    in long double, limits in which one likelihood is another, and models with each of them. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "reference.h"
#include "lik_job.h"

/* ---- special functions ---- */

/*  log Gamma and its derivative, from x >= 40 and eight terms of Stirling's series. */
static wide wide_lgamma(wide x)
{
	static const wide c[] = {1.0L / 12, -1.0L / 360, 1.0L / 1260, -1.0L / 1680, 1.0L / 1188,
			-691.0L / 360360, 1.0L / 156, -3617.0L / 122400};
	wide product = 1, sum = 0, power = 1;
	int k;
	for (; x < 40; x += 1) product *= x;
	power = 1 / x;
	for (k = 0; k < 8; k++, power /= x * x) sum += c[k] * power;
	return (x - 0.5L) * logl(x) - x + 0.91893853320467274178032973640562L + sum - logl(product);
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

typedef struct setup {
	const char *name;
	ptrdiff_t F, H, classes;
	double jitter, par[MOST_PAR];
} setup;

/*  One row's expectation or log density; derivatives [F] each and [MOST_PAR] unless NULL. Moments
    of class k, or of y. */
static double value_of(const setup *s, double y, const double *mean, const double *var, int what,
		ptrdiff_t k, double *dmean, double *dvar, double *dpar)
{
	lik_row row;
	double result;
	ptrdiff_t i;
	lik_row_start(&row, s->name, s->F, s->classes, s->jitter, s->H);
	for (i = 0; i < s->F; i++) {
		row.mean[i] = (odvgp_real)mean[i];
		row.var[i] = (odvgp_real)var[i];
	}
	for (i = 0; i < MOST_PAR; i++) row.par[i] = (odvgp_real)s->par[i];
	row.Y = (odvgp_real)y;
	if (dmean) {
		row.job.dmean = row.dmean;
		row.job.dvar = row.dvar;
		row.job.dpar = dpar;
		for (i = 0; i < MOST_PAR; i++) dpar[i] = 0;
	}
	result = lik_row_value(&row, what, k);
	for (i = 0; i < s->F && dmean; i++) {
		dmean[i] = (double)row.dmean[i];
		dvar[i] = (double)row.dvar[i];
	}
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
/*  Derivatives beside central differences of two steps, extrapolated. `least` bounds the error in
    means and parameters, the other that in variances; 0 leaves these out. A value's rounding,
    divided by the step, adds to both. With double's steps that would leave nothing of a float, but
    with steps of 0.05 differences are right to 1e-3, which shows a wrong term. */
static void check_differences(const setup *of, double y, const double *mean, const double *var,
		double least, double least_in_variances)
{
	setup s = *of;
	double m[MOST_F], v[MOST_F], dm[MOST_F], dv[MOST_F], dpar[MOST_PAR], value;
	double *x[2 * MOST_F + MOST_PAR], *d[2 * MOST_F + MOST_PAR];
	ptrdiff_t i, numbers = gp__lik_all_numbers(row_of(s.name), s.classes);
	int count = 0, k, means, functions;
	for (i = 0; i < s.F; i++) m[i] = mean[i], x[count] = &m[i], d[count++] = &dm[i];
	means = count;
	for (i = 0; i < s.F; i++) v[i] = var[i], x[count] = &v[i], d[count++] = &dv[i];
	functions = count;
	for (i = 0; i < numbers; i++) x[count] = &s.par[i], d[count++] = &dpar[i];
	value = value_of(&s, y, m, v, EXPECT, 0, dm, dv, dpar);
	for (k = 0; k < count; k++) {
		int in_variance = k >= means && k < functions;
		double at = *x[k], h = BY_PRECISION(1e-4, 0.05), slope[2], tol;
		int half;
		if (k >= means && fabs(at) < 1) h *= fabs(at);
		tol = in_variance ? least_in_variances : least;
		if (!(tol > 0)) continue;
		for (half = 0; half < 2; half++, h *= 0.5) {
			double up, down;
			*x[k] = at + h;
			up = value_of(&s, y, m, v, EXPECT, 0, NULL, NULL, NULL);
			*x[k] = at - h;
			down = value_of(&s, y, m, v, EXPECT, 0, NULL, NULL, NULL);
			slope[half] = (up - down) / (2 * h);
		}
		*x[k] = at;
		slope[1] += (slope[1] - slope[0]) / 3;
		tol = tol * (1 + fabs(slope[1])) + 4 * EPS * fabs(value) / h;
		CHECK_SAY(fabs(*d[k] - slope[1]) <= tol,
				"%s of %d, y %g, mean %g: derivative %d is %.12g, not %.12g", s.name, (int)s.F, y,
				m[0], k, *d[k], slope[1]);
	}
}
TEST(derivatives_agree_with_differences)
{
	int k, round;
	test_seed = 15;
	for (k = 0; k < SETUPS; k++)
		for (round = 0; round < 6; round++) {
			double mean[MOST_F], var[MOST_F], y = some_target(&setups[k]);
			ptrdiff_t i;
			for (i = 0; i < setups[k].F; i++) {
				mean[i] = test_between(-1.5, 1.5) * (round < 3 ? 1 : 3);
				var[i] = test_between(0.05, 1.2);
			}
			check_differences(
					&setups[k], y, mean, var, BY_PRECISION(1e-8, 1e-3), BY_PRECISION(1e-8, 1e-3));
		}
}
static const setup many_classes[] = {
		{"softmax", 4, 10, 0, 0, {0}}, {"softmax", 6, NODES, 0, 0, {0}}};
enum { MANY = sizeof many_classes / sizeof *many_classes };
/*  With more than four classes the nodes are fixed draws that move with the means, so derivatives
    in means are exact. Those in variances are the integral's (Price's theorem), not the rule's. The
    two differ by the rule's error, measured: 1.3e-6 with four classes and 10 nodes for each
    difference, 0.043 with six classes and 320 draws, 0.005 with 3,200. */
TEST(softmax_of_many_classes)
{
	int k, round;
	test_seed = 19;
	for (k = 0; k < MANY; k++)
		for (round = 0; round < test_size(6, 2); round++) {
			double mean[MOST_F], var[MOST_F], y = some_target(&many_classes[k]);
			ptrdiff_t i;
			for (i = 0; i < many_classes[k].F; i++) {
				mean[i] = test_between(-1.5, 1.5);
				var[i] = test_between(0.05, 1.2);
			}
			check_differences(&many_classes[k], y, mean, var, BY_PRECISION(1e-8, 1e-3),
					k ? 0.06 : BY_PRECISION(1e-5, 1e-3));
		}
}

/* ---- integrals ---- */

static wide wide_log_cdf(wide z)
{
	wide x = -z * 0.70710678118654752440084436210485L;
	return x < 20 ? logl(0.5L * erfcl(x))
				  : -x * x - logl(2 * x * 1.7724538509055160272981674833411L) +
							logl(1 - 1 / (2 * x * x) + 3 / (4 * x * x * x * x) -
									15 / (8 * powl(x, 6)) + 105 / (16 * powl(x, 8)) -
									945 / (32 * powl(x, 10)));
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
	if (!strcmp(s->name, "beta")) { /* Gamma(x) = Gamma(1 + x) / x, where x may underflow */
		wide log_low = wide_log_cdf(f), log_high = wide_log_cdf(-f);
		low = a * expl(log_low), high = a * expl(log_high);
		return wide_lgamma(a) + 2 * logl(a) + log_low + log_high - wide_lgamma(1 + low) -
			   wide_lgamma(1 + high) + (low - 1) * logl(y) + (high - 1) * log1pl(-y);
	}
	/* ordinal, with four classes */
	low = y == 0 ? -1e3L : (wide)s->par[2] + (y > 1 ? a : 0) + (y > 2 ? b : 0);
	high = y == 3 ? 1e3L : (wide)s->par[2] + (y > 0 ? a : 0) + (y > 1 ? b : 0);
	low -= f, high -= f;
	if (low + high > 0) z = low, low = -high, high = -z;
	return wide_log_cdf(high) + log1pl(-expl(wide_log_cdf(low) - wide_log_cdf(high)));
}
/*  An expectation under N(mean, var) as an integral over one standard normal t. What is averaged is
    log p, or p if density is set; `weight` makes it E[log p] or its derivative in the mean, E[t log
    p] / sd, or in the variance, E[(t^2 - 1) log p] / (2 var). */
enum { VALUE, IN_MEAN, IN_VARIANCE };
typedef struct average {
	const setup *s;
	wide y, mean[MOST_F], var[MOST_F], outer, top;
	int density, weight, depth;
} average;
static wide of_average(const average *of);

/*  log p, or the logarithm of what is averaged for the density, at node t. */
static wide log_at(const average *of, wide t)
{
	const setup *s = of->s;
	const wide *mean = of->mean, *var = of->var;
	int y = (int)of->y, k;
	if (!strcmp(s->name, "robustmax")) { /* t is f_y's; the others are integrated out */
		wide f = mean[y] + sqrtl(var[y]) * t, P = 1, e = (wide)s->par[0],
			 other = e / (wide)(s->F - 1), link = (wide)s->jitter;
		for (k = 0; k < s->F; k++)
			if (k != y)
				P *= (1 - 2 * link) * expl(wide_log_cdf((f - mean[k]) / sqrtl(var[k]))) + link;
		if (of->density) return logl(other + (1 - e - other) * P);
		return logl(other) + P * (log1pl(-e) - logl(other));
	}
	if (!strcmp(s->name, "heteroscedastic")) { /* t is g's */
		wide g = mean[1] + sqrtl(var[1]) * t, d = of->y - mean[0],
			 noise = expl(g) + (of->density ? var[0] : 0);
		return -0.5L * (logl(2 * 3.1415926535897932384626433832795L * noise) +
							   (d * d + (of->density ? 0 : var[0])) / noise);
	}
	if (!strcmp(s->name, "softmax")) { /* t is a difference's; with three classes the second's */
		int a = (y + 1) % (int)s->F, b = (y + 2) % (int)s->F;
		wide L = sqrtl(var[a] + var[y]), below = var[y] / L, d[2], top;
		average inner = *of;
		d[0] = mean[a] - mean[y] + L * (of->depth ? of->outer : t);
		if (s->F == 2) return d[0] < 0 ? -log1pl(expl(d[0])) : -d[0] - log1pl(expl(-d[0]));
		if (!of->depth) {
			inner.depth = 1, inner.outer = t;
			return of_average(&inner);
		}
		d[1] = mean[b] - mean[y] + below * of->outer + sqrtl(var[b] + var[y] - below * below) * t;
		top = fmaxl(fmaxl(d[0], d[1]), 0);
		return -top - logl(expl(-top) + expl(d[0] - top) + expl(d[1] - top));
	}
	return log_p(s, of->y, mean[0] + sqrtl(var[0]) * t);
}
static wide integrand(const average *of, wide t)
{
	wide l = log_at(of, t), bell = -0.5L * t * t;
	if (of->density) return expl(l + bell - of->top);
	if (of->weight == IN_MEAN) l *= t / sqrtl(of->var[0]);
	if (of->weight == IN_VARIANCE) l *= (t * t - 1) / (2 * of->var[0]);
	return l * expl(bell);
}

/*  Adaptive quadrature: a panel is halved until Gauss's rule of 7 nodes and Kronrod's of 15 agree.
    The difference is about the error of the former; the latter's value counts. */
typedef struct adaptive {
	const average *of;
	wide least, sum, error, size; /* size: of |integrand| */
	int panels;                   /* that may still be halved */
} adaptive;
static void panel(adaptive *a, wide from, wide to, int depth)
{
	static const wide x[] = {0, 0.2077849550078984676006894037732449L,
			0.4058451513773971669066064120769615L, 0.5860872354676911302941448382587296L,
			0.7415311855993944398638647732807884L, 0.8648644233597690727897127886409262L,
			0.9491079123427585245261896840478513L, 0.9914553711208126392068546975263285L},
					  kronrod[] = {0.2094821410847278280129991748917143L,
							  0.2044329400752988924141619992346491L,
							  0.1903505780647854099132564024210137L,
							  0.1690047266392679028265834265985503L,
							  0.1406532597155259187451895905102379L,
							  0.1047900103222501838398763225415180L,
							  0.0630920926299785532907006631892043L,
							  0.0229353220105292249637320080589696L},
					  gauss[] = {0.4179591836734693877551020408163265L,
							  0.3818300505051189449503697754889751L,
							  0.2797053914892766679014677714237796L,
							  0.1294849661688696932706114326790820L};
	wide middle = (from + to) / 2, half = (to - from) / 2, fine = 0, coarse = 0, size = 0, error;
	int k, side;
	for (k = 0; k < 8; k++)
		for (side = -1; side <= (k ? 1 : -1); side += 2) {
			wide f = integrand(a->of, middle + (wide)side * half * x[k]);
			fine += half * kronrod[k] * f;
			if (k % 2 == 0) coarse += half * gauss[k / 2] * f;
			size += half * kronrod[k] * fabsl(f);
		}
	error = fabsl(fine - coarse);
	if (error > a->least && depth > 0 && a->panels-- > 0) {
		panel(a, from, middle, depth - 1);
		panel(a, middle, to, depth - 1);
		return;
	}
	a->sum += fine, a->error += error, a->size += size;
}
/*  Panels at most 2 wide. */
static void panels(adaptive *a, wide from, wide to, int depth)
{
	int count = (int)ceill((to - from) / 2), k;
	for (k = 0; k < count; k++)
		panel(a, from + (to - from) * (wide)k / (wide)count,
				from + (to - from) * (wide)(k + 1) / (wide)count, depth);
}
/*  Panels end where log p has a kink: if it is just inside a panel, beyond the outer nodes, both
    rules agree on a wrong value. */
static wide kink_of(const average *of)
{
	return strcmp(of->s->name, "laplace") ? 0 : (of->y - of->mean[0]) / sqrtl(of->var[0]);
}
/*  Far from the label p weighs nodes up to 40 sd away. The largest integrand of a density is found
    roughly: it only keeps exponents small. */
static wide of_average(const average *of)
{
	enum { DEEPEST = 40, MOST_PANELS = 4000 };
	wide reach = of->density && strcmp(of->s->name, "softmax") ? 40 : 11, cut = kink_of(of), t,
		 least = fmaxl(1e-15L, 4096 * LDBL_EPSILON) * (of->s->F == 3 ? 1e4L : 1);
	average scaled = *of;
	adaptive a;
	int pass;
	memset(&a, 0, sizeof a);
	a.of = &scaled;
	cut = fminl(fmaxl(cut, -reach), reach);
	scaled.top = 0;
	if (of->density)
		for (t = -reach, scaled.top = -LDBL_MAX; t <= reach; t += 0.5L)
			scaled.top = fmaxl(scaled.top, log_at(of, t) - 0.5L * t * t);
	/* a first pass without halving finds the size that errors are compared with */
	for (pass = 0; pass < 2; pass++) {
		a.least = a.size * least;
		a.sum = a.error = a.size = 0;
		a.panels = pass * MOST_PANELS;
		panels(&a, -reach, cut, pass * DEEPEST);
		panels(&a, cut, reach, pass * DEEPEST);
	}
	CHECK_SAY(a.error <= 1000 * least * a.size, "%s: the reference itself is off by %Lg of %Lg",
			of->s->name, a.error, a.size);
	a.sum *= 0.398942280401432677939946059934L;
	return of->density ? scaled.top + logl(a.sum) : a.sum;
}
/*  The exact value for what the library gets, whose numbers may be floats. */
static double exact(
		const setup *s, double y, const double *mean, const double *var, int what, int weight)
{
	average of;
	ptrdiff_t i;
	memset(&of, 0, sizeof of);
	of.s = s;
	of.y = (wide)(odvgp_real)y;
	for (i = 0; i < s->F; i++) {
		of.mean[i] = (wide)(odvgp_real)mean[i];
		of.var[i] = (wide)(odvgp_real)var[i];
	}
	of.density = what == DENSITY;
	of.weight = weight;
	return (double)of_average(&of);
}
/*  A label 40 standard deviations on the wrong side: of f, or of one of the functions. */
static void far_row(const setup *s, int side, double *y, double *mean, double *var)
{
	const gp__likelihood *lik = row_of(s->name);
	ptrdiff_t i;
	for (i = 0; i < s->F; i++) mean[i] = 0, var[i] = 1;
	if (s->F > 1) {
		*y = 0;
		if (side > 0 && lik->flags & GP__LIK_CLASSES) mean[1] = 40;
		else mean[0] = 40 * side;
		return;
	}
	mean[0] = 40 * side;
	*y = side < 0;
	if (lik->flags & GP__LIK_CLASSES) *y = side < 0 ? (double)s->classes - 1 : 0;
	else if (lik->whole && lik->most > 2) *y = 4;
	else if (lik->least == 0 && lik->most < 1) *y = 0.5 - 0.45 * side;
	else if (lik->least == 0 && !lik->whole) *y = 0.5;
}
/*  With many nodes at moderate arguments; and where a target is far on the wrong side. */
TEST(integrals_agree_with_long_double)
{
	int k, round;
	test_seed = 16;
	for (k = 1; k < SETUPS; k++) {
		setup s = setups[k];
		const gp__likelihood *lik = row_of(s.name);
		if (s.F > 1 || s.classes == 2) continue;
		s.H = 200;
		for (round = 0; round < 12; round += test_size(1, 3)) {
			int far = round > 7 && lik->most < 1e3 && strcmp(s.name, "beta"),
				loose = far && sizeof(odvgp_real) == 4;
			double y = some_target(&s), mean = test_between(-2, 2), var = test_between(0.05, 0.8),
				   got, want, dm, dv, dpar[MOST_PAR], tol = BY_PRECISION(2e-12, 2e-6);
			if (far) mean = (mean > 0 ? 1 : -1) * test_between(20, 60);
			got = value_of(&s, y, &mean, &var, EXPECT, 0, &dm, &dv, dpar);
			want = exact(&s, y, &mean, &var, EXPECT, VALUE);
			CHECK_SAY(fabs(got - want) <= tol * (1 + fabs(want)),
					"%s, y %g, mean %g, var %g: E[log p] %.14g, not %.14g", s.name, y, mean, var,
					got, want);
			want = exact(&s, y, &mean, &var, EXPECT, IN_MEAN);
			/* in float ordinal's slope is a difference of exponentials, exponents near 1,800 */
			CHECK_SAY(fabs(dm - want) <= tol * (loose ? 10 : 1) * (1 + fabs(want)),
					"%s, y %g, mean %g, var %g: d/dmean %.14g, not %.14g", s.name, y, mean, var, dm,
					want);
			want = exact(&s, y, &mean, &var, EXPECT, IN_VARIANCE);
			CHECK_SAY(fabs(dv - want) <= tol * (loose ? 1e3 : 1) * (1 + fabs(want)),
					"%s, y %g, mean %g, var %g: d/dvar %.14g, not %.14g", s.name, y, mean, var, dv,
					want);
			if (loose) continue; /* float has no weights for nodes so far away */
			got = value_of(&s, y, &mean, &var, DENSITY, 0, NULL, NULL, NULL);
			want = exact(&s, y, &mean, &var, DENSITY, VALUE);
			CHECK_SAY(fabs(got - want) <= tol * (1 + fabs(want)),
					"%s, y %g, mean %g, var %g: log E[p] %.14g, not %.14g", s.name, y, mean, var,
					got, want);
		}
	}
}
/*  Predictions far from the data: f is 3 to 30 times as uncertain as y is wide given f. With fewer
    than one degree of freedom studentt's rule for u is coarser: 5e-7, measured. In float laplace's
    logarithms, about var / scale^2 / 2, cancel. */
TEST(densities_where_f_is_uncertain)
{
	static const setup uncertain[] = {{"bernoulli", 1, NODES, 0, 0, {0}},
			{"bernoulli", 1, NODES, 0, 1e-3, {0}}, {"studentt", 1, NODES, 0, 0, {0.3, 3.5}},
			{"studentt", 1, NODES, 0, 0, {0.3, 60}}, {"studentt", 1, NODES, 0, 0, {0.3, 0.7}},
			{"laplace", 1, NODES, 0, 0, {0.3}}, {"ordinal", 1, NODES, 4, 0, {0.8, 1.1, -0.9}}};
	setup two = {"ordinal", 1, NODES, 2, 0, {0.4}};
	int k, round;
	test_seed = 19;
	for (k = 0; k < GP__COUNT(uncertain); k++)
		for (round = 0; round < 12; round++) {
			const setup *s = &uncertain[k];
			double y = some_target(s), var = test_between(1, 80), mean = test_between(-15, 15), got,
				   want, least = s->par[1] > 0 && s->par[1] < 1 && s->F == 1 ? 1e-6 : 1e-8;
			if (round % 4 == 3) var *= 1e-4;
			got = value_of(s, y, &mean, &var, DENSITY, 0, NULL, NULL, NULL);
			want = exact(s, y, &mean, &var, DENSITY, VALUE);
			CHECK_SAY(fabs(got - want) <= fmax(least, BY_PRECISION(0, 2e-5)) * (1 + fabs(want)),
					"%s, %g, y %g, mean %g, var %g: log E[p] %.12g, not %.12g", s->name, s->par[1],
					y, mean, var, got, want);
		}
	for (round = 0; round < 12;
			round++) { /* two ordered classes are bernoulli's, moved by the cut */
		double y = round % 2, var = test_between(1, 80), mean = test_between(-15, 15),
			   moved = mean - 0.4,
			   got = value_of(&two, y, &mean, &var, DENSITY, 0, NULL, NULL, NULL),
			   want = value_of(&uncertain[0], y, &moved, &var, DENSITY, 0, NULL, NULL, NULL);
		CHECK_NEAR(got, want, BY_PRECISION(1e-12, 1e-5) * (1 + fabs(want)));
	}
}
/*  With default nodes and with many. Errors of 20 nodes, measured: 2.2e-3 for robustmax, whose
    integrand is a product of steps, steep where other classes have small variances; 2e-7 for
    heteroscedastic, 1e-4 with residuals of 20 standard deviations and more; 4e-9 for softmax. */
TEST(integrals_of_several_functions)
{
	int k, round, many;
	test_seed = 18;
	for (k = 1; k < SETUPS; k++) {
		setup s = setups[k];
		int softmax = !strcmp(s.name, "softmax"), nested = s.F == 3 && softmax,
			noise = !strcmp(s.name, "heteroscedastic");
		if (s.F == 1) continue;
		for (round = 0; round < (nested ? test_size(3, 1) : test_size(12, 3)); round++) {
			double y = some_target(&s), mean[MOST_F], var[MOST_F], want, got, tol;
			ptrdiff_t i;
			int what, far = !nested && round % 3 == 2;
			for (i = 0; i < s.F; i++) {
				mean[i] = test_between(-2, 2);
				var[i] = test_between(0.05, 0.8);
			}
			if (far) mean[noise ? 0 : (ptrdiff_t)y] -= test_between(20, 60);
			for (what = EXPECT; what <= DENSITY; what++) {
				want = exact(&s, y, mean, var, what, VALUE);
				for (many = 0; many < 2; many++) {
					s.H = !many ? NODES : nested ? 40 : 200;
					got = value_of(&s, y, mean, var, what, 0, NULL, NULL, NULL);
					tol = many                     ? 2e-12
						  : softmax                ? 2e-8
						  : !noise                 ? 5e-3
						  : far && what == DENSITY ? 2e-4
												   : 1e-6;
					if (what == DENSITY) tol = fmax(tol, softmax ? 1e-6 : 1e-8);
					tol = fmax(tol, BY_PRECISION(0, 5e-6));
					CHECK_SAY(fabs(got - want) <= tol * (1 + fabs(want)),
							"%s of %d, %d nodes, y %g: %s %.14g, not %.14g", s.name, (int)s.F,
							(int)s.H, y, what == EXPECT ? "E[log p]" : "log E[p]", got, want);
				}
			}
		}
	}
}
/*  A label 40 standard deviations on the wrong side, and the limit var -> 0 of the derivatives. */
TEST(extremes_are_finite_and_right)
{
	int k;
	/* 20 nodes do as well as 200: log p is almost a parabola, a line or an exponential there */
	for (k = 1; k < SETUPS; k++) {
		setup s = setups[k];
		int side, of, few;
		if (s.classes == 2) continue;
		for (side = -1; side <= 1; side += 2) {
			double y, mean[MOST_F], var[MOST_F], want[3], got[3], dm[MOST_F], dv[MOST_F],
					dpar[MOST_PAR];
			far_row(&s, side, &y, mean, var);
			for (of = VALUE; of <= (s.F == 1 ? IN_VARIANCE : VALUE); of++)
				want[of] = exact(&s, y, mean, var, EXPECT, of);
			for (few = 0; few < 2; few++) {
				s.H = few ? NODES : s.F == 1 ? 200 : setups[k].H;
				got[VALUE] = value_of(&s, y, mean, var, EXPECT, 0, dm, dv, dpar);
				got[IN_MEAN] = dm[0], got[IN_VARIANCE] = dv[0];
				for (of = VALUE; of <= (s.F == 1 ? IN_VARIANCE : VALUE); of++) {
					double tol = BY_PRECISION(2e-12, 2e-6);
					/* ordinal's slope is a difference of exponentials, exponents near 840 */
					if (of > VALUE && !strcmp(s.name, "ordinal")) tol = BY_PRECISION(2e-12, 1e-3);
					CHECK_SAY(fabs(got[of] - want[of]) <= tol * (1 + fabs(want[of])),
							"%s, %d nodes, y %g, mean %g: number %d is %.12g, not %.12g", s.name,
							(int)s.H, y, mean[0], of, got[of], want[of]);
				}
			}
		}
	}
	for (k = 1; k < 4; k += 2) { /* bernoulli, logit */
		double mean, var = 1, v, dm, dv, dpar[MOST_PAR];
		for (mean = -300; mean < 400; mean += 100) {
			v = value_of(&setups[k], 1, &mean, &var, EXPECT, 0, &dm, &dv, dpar);
			CHECK(v - v == 0 && dm - dm == 0 && dv - dv == 0 && dv <= EPS);
		}
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
/*  With default nodes every likelihood takes such a label: finite numbers, and derivatives of the
    computed value (softmax: in means). */
TEST(default_nodes_far_from_the_label)
{
	int side;
	ptrdiff_t row;
	for (row = 0; row < GP__COUNT(gp__likelihoods); row++) {
		int k, found = 0;
		for (k = 0; k < SETUPS; k++) found += !strcmp(setups[k].name, gp__likelihoods[row].name);
		CHECK_SAY(found, "%s has no setup", gp__likelihoods[row].name);
	}
	for (row = 0; row < SETUPS + MANY; row++)
		for (side = -1; side <= 1; side += 2) {
			setup s = row < SETUPS ? setups[row] : many_classes[row - SETUPS];
			double y, mean[MOST_F], var[MOST_F], dm[MOST_F] = {0}, dv[MOST_F] = {0}, v, sum = 0;
			double dpar[MOST_PAR];
			ptrdiff_t i;
			int what, softmax = !strcmp(s.name, "softmax");
			far_row(&s, side, &y, mean, var);
			s.H = NODES;
			for (what = EXPECT; what <= VARIANCE; what++) {
				v = value_of(&s, y, mean, var, what, 0, what == EXPECT ? dm : NULL, dv, dpar);
				CHECK_SAY(
						v - v == 0, "%s of %d, y %g, mean %g: %g", s.name, (int)s.F, y, mean[0], v);
			}
			for (i = 0; i < s.F; i++) sum += dm[i] + dv[i];
			for (i = 0; i < gp__lik_all_numbers(row_of(s.name), s.classes); i++) sum += dpar[i];
			CHECK_SAY(sum - sum == 0, "%s of %d, y %g, mean %g: a derivative is not finite", s.name,
					(int)s.F, y, mean[0]);
			if (s.F == 4 && softmax) continue; /* 8,000 nodes take long; see the test above */
			check_differences(&s, y, mean, var, BY_PRECISION(1e-8, 1e-3),
					softmax ? 0 : BY_PRECISION(1e-8, 1e-3));
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
			   whole = 0, p[MOST_F], first = 0, second = 0, m, v;
		ptrdiff_t i, K = gp__classes(lik, s.F, s.classes);
		s.H = s.F > 1 ? s.H : 60;
		for (i = 0; i < K; i++) {
			p[i] = exp(value_of(&s, (double)i, mean, var, DENSITY, 0, NULL, NULL, NULL));
			sum += p[i];
		}
		/* the rule's error, and robustmax's link jitter; softmax divides by the sum */
		if (K) CHECK_NEAR(sum, 1, 2e-3);
		if (strcmp(s.name, "softmax")) sum = 1;
		for (i = 0; i < K; i++) {
			m = value_of(&s, 0, mean, var, MEAN, i, NULL, NULL, NULL);
			v = value_of(&s, 0, mean, var, VARIANCE, i, NULL, NULL, NULL);
			CHECK_NEAR(m, p[i] / sum, 4 * EPS);
			CHECK_NEAR(v, m - m * m, 4 * EPS);
			whole += m;
		}
		if (!strcmp(s.name, "softmax")) CHECK_NEAR(whole, 1, 4 * EPS);
		if (K || !strcmp(s.name, "laplace")) continue;
		if (lik->whole) {
			for (i = 0; i < (lik->most < 2 ? 2 : 400); i++) {
				double q = exp(value_of(&s, (double)i, mean, var, DENSITY, 0, NULL, NULL, NULL));
				first += q * (double)i;
				second += q * (double)(i * i);
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
					   q;
				if (sizeof(odvgp_real) == 4 && lik->most < 2 && (float)y >= 1) continue;
				q = exp(value_of(&s, y, mean, var, DENSITY, 0, NULL, NULL, NULL)) * dy * h;
				first += q * y;
				second += q * y * y;
			}
		}
		m = value_of(&s, 0, mean, var, MEAN, 0, NULL, NULL, NULL);
		v = value_of(&s, 0, mean, var, VARIANCE, 0, NULL, NULL, NULL);
		CHECK_SAY(fabs(m - first) < 2e-3 * (1 + fabs(m)), "%s: mean %g, not %g", s.name, m, first);
		second -= first * first;
		CHECK_SAY(fabs(v - second) < 2e-2 * (1 + v), "%s: variance %g, not %g", s.name, v, second);
	}
}

/*  Student's y has a variance from more than two degrees of freedom on. */
TEST(heavy_tails_have_no_variance)
{
	static const double df[] = {1, 1.5, 2, 2.125, 3, 10};
	double mean = 0.4, var = 0.3, scale = 0.5;
	int k;
	for (k = 0; k < 6; k++) {
		setup s = {"studentt", 1, NODES, 0, 0, {scale, df[k]}};
		double v = value_of(&s, 0, &mean, &var, VARIANCE, 0, NULL, NULL, NULL);
		if (df[k] <= 2) CHECK_SAY(v > 0 && 1 / v == 0, "df %g: variance %g", df[k], v);
		else CHECK_NEAR(v, var + scale * scale * df[k] / (df[k] - 2), 20 * EPS * v);
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
		size_t bytes = odvgp_predictor_size(both[b], NULL), scratch_bytes;
		void *block = test_alloc(bytes), *scratch;
		odvgp_server server;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		CHECK_STATUS(odvgp_freeze(both[b], NULL, block, bytes, &info), ODVGP_OK);
		CHECK_STATUS(odvgp_server_from_block(&server, block, bytes, w->cfg.isa, &info), ODVGP_OK);
		scratch_bytes = odvgp_predict_scratch(&server, b ? 3 : QUERIES, NULL);
		scratch = test_alloc(scratch_bytes);
		y_rows = server.y_rows;
		out[b] = NEW(odvgp_real, (2 * y_rows + 1) * QUERIES);
		CHECK_STATUS(odvgp_predict_y(&server, w->X, QUERIES, out[b], out[b] + y_rows * QUERIES,
							 scratch, scratch_bytes, NULL),
				ODVGP_OK);
		CHECK_STATUS(odvgp_predict_logp(&server, w->X, w->Y, QUERIES, out[b] + 2 * y_rows * QUERIES,
							 scratch, scratch_bytes, NULL),
				ODVGP_OK);
		free(block), free(scratch);
	}
	{
		odvgp_real *var = NEW(odvgp_real, (y_rows + w->s.F) * QUERIES);
		CHECK_STATUS(odvgp_predict_once(m, w->X, QUERIES, NULL, var, var + w->s.F * QUERIES, NULL),
				ODVGP_OK);
		for (i = 0; i < y_rows * QUERIES; i++)
			CHECK_NEAR(var[w->s.F * QUERIES + i], out[0][y_rows * QUERIES + i],
					16 * EPS * (1 + (double)out[0][i]));
		free(var);
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
	int k, steps = test_size(STEPS, STEPS / 2);
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
		after = train(w, m, steps, &report);
		CHECK_SAY(after > before + 5, "%s: the bound goes from %g to %g", w->s.name, before, after);
		train(w, other, steps, &report);
		a = all_values(m), b = all_values(other);
		CHECK_SAY(!memcmp(a, b, (size_t)odvgp_param_count(m) * sizeof *a),
				"%s: threads change the bits", w->s.name);
		bytes = odvgp_save_size(m, 0, NULL);
		file = test_alloc(bytes);
		CHECK_STATUS(odvgp_save_memory(m, NULL, NULL, 0, file, bytes, NULL), ODVGP_OK);
		CHECK_STATUS(
				sized(&model_bytes, odvgp_load_size(file, bytes, NULL, w->cfg.isa, NULL), NULL),
				ODVGP_OK);
		block = test_alloc(model_bytes);
		CHECK_STATUS(
				odvgp_load_memory(&loaded, file, bytes, NULL, w->cfg.isa, block, model_bytes, NULL),
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
				if (!slot->natgrad) odvgp_set_trainable(m, slot->name, 0, NULL);
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
			if (!k) CHECK_STATUS(odvgp_set_trainable(m, "epsilon", 1, NULL), ODVGP_OK);
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
				CHECK_STATUS(odvgp_get(m, "epsilon", &epsilon, 1, NULL), ODVGP_OK);
				CHECK_SAY(epsilon > 0.06 && epsilon < 0.25, "epsilon is %g", (double)epsilon);
				epsilon = 1 - 1 / (odvgp_real)classes + (odvgp_real)0.01;
				CHECK_STATUS(odvgp_set(m, "epsilon", &epsilon, 1, NULL), ODVGP_E_ARG);
				epsilon = 1 - 1 / (odvgp_real)classes - (odvgp_real)1e-4;
				CHECK_STATUS(odvgp_set(m, "epsilon", &epsilon, 1, NULL), ODVGP_OK);
				train(w, m, 20, NULL); /* from beside the bound */
				CHECK_STATUS(odvgp_get(m, "epsilon", &epsilon, 1, NULL), ODVGP_OK);
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
		CHECK_STATUS(sized(&bytes, odvgp_model_size(&w->cfg, &info), &info), bad[k].status);
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
		bytes = odvgp_predictor_size(m, NULL);
		block = test_alloc(bytes);
		CHECK_STATUS(odvgp_freeze(m, &scales, block, bytes, &info), ODVGP_E_UNSUPPORTED);
		work_bytes = odvgp_fit_q_scratch(m, NULL);
		work = test_alloc(work_bytes);
		CHECK_STATUS(odvgp_fit_q(m, w->X, w->Y, NULL, work, work_bytes, &info), ODVGP_E_UNSUPPORTED);
		CHECK(info.text[0]);
		CHECK_STATUS(odvgp_upper_bound(m, w->X, w->Y, &bound, NULL, work, work_bytes, &info),
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
	CHECK_STATUS(odvgp_get(m, "cut", &cut, 1, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(m, "gap", gap, 2, NULL), ODVGP_OK);
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
	test_begin(argc, argv);
	if (start_blas()) return 3;
	RUN(log_gamma_and_its_derivative);
	RUN(nodes_of_gauss_and_hermite);
	RUN(derivatives_agree_with_differences);
	RUN(softmax_of_many_classes);
	RUN(integrals_agree_with_long_double);
	RUN(densities_where_f_is_uncertain);
	RUN(integrals_of_several_functions);
	RUN(extremes_are_finite_and_right);
	RUN(default_nodes_far_from_the_label);
	RUN(moments_of_y);
	RUN(heavy_tails_have_no_variance);
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

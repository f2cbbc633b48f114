/*  interval.h - between which limits y is with probability P: quantiles of p(y|data) by its
    distribution function E_q[F(y|f)]. */
#ifndef TOOL_INTERVAL_H
#define TOOL_INTERVAL_H

#include "models.h"
#include "predict.h"

/* ---- distribution functions ---- */

static double normal_cdf(double z) { return 0.5 * erfc(-0.70710678118654752440 * z); }

/*  Iterations of a series or a continued fraction; gamma shapes below LARGE_SHAPE need fewer. */
enum { MOST_TERMS = 20000, LARGE_SHAPE = 100000 };
static const double LEAST_TERM = 1e-15;

/*  P(Gamma(a, 1) <= x): the series for x < a + 1, else Legendre's continued fraction by Lentz's
    method; the cube root of a gamma number is nearly normal for a large shape a. */
static double gamma_cdf(double a, double x)
{
	if (!(x > 0)) return 0;
	if (a > LARGE_SHAPE) return normal_cdf(3 * sqrt(a) * (cbrt(x / a) - 1 + 1 / (9 * a)));
	double front = exp(a * log(x) - x - lgamma(a)), sum = 1 / a, term = sum;
	if (x < a + 1) {
		for (int k = 1; k < MOST_TERMS && term > LEAST_TERM * sum; k++) {
			term *= x / (a + k);
			sum += term;
		}
		return fmin(1, front * sum);
	}
	double b = x + 1 - a, c = 1e300, d = 1 / b, h = d, step = 0;
	for (int k = 1; k < MOST_TERMS && fabs(step - 1) > LEAST_TERM; k++) {
		double e = k * (a - k);
		b += 2;
		d = 1 / (b + e * d);
		c = b + e / c;
		step = c * d;
		h *= step;
	}
	return fmax(0, 1 - front * h);
}

/*  P(Beta(a, b) <= x), y = 1 - x: a continued fraction by Lentz's method, in the tail where it
    converges fast. */
static double beta_cdf(double a, double b, double x, double y)
{
	if (!(x > 0) || !(y > 0)) return x > 0;
	int upper = x > (a + 1) / (a + b + 2);
	if (upper) {
		double of_a = a, of_x = x;
		a = b, b = of_a, x = y, y = of_x;
	}
	double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), h = d, step = 0;
	for (int k = 1; k < MOST_TERMS && fabs(step - 1) > LEAST_TERM; k++) {
		double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)),
			   odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
		d = 1 / (1 + even * d);
		c = 1 + even / c;
		h *= d * c;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		step = d * c;
		h *= step;
	}
	double p = h * exp(lgamma(a + b) - lgamma(a + 1) - lgamma(b) + a * log(x) + b * log(y));
	return upper ? 1 - p : p;
}

/*  One row's y: mean and variance of its f, the likelihood's parameters, and for HETEROSCEDASTIC
    the variance of f, while mean and var are those of the noise's logarithm g. */
typedef struct row_y {
	odvgp_likelihood kind;
	double mean, var, par[2], mean_f, var_f;
} row_y;

/*  F(y|f), or F(y|g). */
static double cdf_given(const row_y *r, double y, double f)
{
	double s = r->par[0], e = exp(f), k = floor(y) + 1, u, p;
	switch (r->kind) {
	case ODVGP_LIKELIHOOD_STUDENTT:
		u = (y - f) / s;
		p = 0.5 * beta_cdf(0.5 * r->par[1], 0.5, r->par[1] / (r->par[1] + u * u),
						  u * u / (r->par[1] + u * u));
		return u > 0 ? 1 - p : p;
	case ODVGP_LIKELIHOOD_LAPLACE: u = (y - f) / s; return u > 0 ? 1 - 0.5 * exp(-u) : 0.5 * exp(u);
	case ODVGP_LIKELIHOOD_POISSON: return k > 0 ? 1 - gamma_cdf(k, e) : 0;
	case ODVGP_LIKELIHOOD_EXPONENTIAL: return -expm1(-y * e);
	case ODVGP_LIKELIHOOD_GAMMA: return gamma_cdf(s, y * exp(-f));
	case ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL:
		/* Many counts, in which a step of 1 does not show, are a gamma number. */
		if (k > LARGE_SHAPE) return gamma_cdf(e * s / (s + e), fmax(0, y + 0.5) * (s / (s + e)));
		return k > 0 ? beta_cdf(s, k, s / (s + e), e / (s + e)) : 0;
	case ODVGP_LIKELIHOOD_BETA:
		p = fmin(fmax(normal_cdf(f), 1e-12), 1 - 1e-12);
		return beta_cdf(s * p, s * (1 - p), y, 1 - y);
	default: return normal_cdf((y - r->mean_f) / sqrt(r->var_f + e));
	}
}

/*  E[F(y|f)] by the trapezoidal rule over 8 standard deviations on both sides. Its step resolves
    the width of p(y|f), in units of f, down to a 64th of a standard deviation. */
static double cdf_of(const row_y *r, double y)
{
	double sd = sqrt(r->var), width = 1, sum = 0, all = 0;
	if (r->kind == ODVGP_LIKELIHOOD_STUDENTT || r->kind == ODVGP_LIKELIHOOD_LAPLACE)
		width = r->par[0];
	if (r->kind == ODVGP_LIKELIHOOD_POISSON || r->kind == ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL)
		width = 1 / sqrt(1 + fmax(0, y));
	if (r->kind == ODVGP_LIKELIHOOD_GAMMA || r->kind == ODVGP_LIKELIHOOD_BETA)
		width = 1 / sqrt(1 + r->par[0]);
	int half = (int)fmin(512, fmax(32, 16 * sd / width));
	for (int k = -half; k <= half; k++) {
		double z = 8.0 * k / half, w = exp(-0.5 * z * z);
		sum += w * cdf_given(r, y, r->mean + sd * z);
		all += w;
	}
	return sum / all;
}

/* ---- quantiles ---- */

/*  y at t, in a coordinate without bounds: from `centre` in units of `scale`, or a logarithm, or a
    log odds. */
static double y_at(const row_y *r, double centre, double scale, double t)
{
	switch (r->kind) {
	case ODVGP_LIKELIHOOD_EXPONENTIAL:
	case ODVGP_LIKELIHOOD_GAMMA: return exp(t);
	case ODVGP_LIKELIHOOD_BETA: return 1 / (1 + exp(-t));
	default: return centre + scale * t;
	}
}

/*  The smallest count y with F(y) >= p. */
static double quantile_of_counts(const row_y *r, double mean, double p)
{
	double low = -1, high = fmax(1, ceil(mean));
	while (high < 1e15 && cdf_of(r, high) < p) {
		low = high;
		high *= 2;
	}
	while (high - low > 1 && high < 1e15) {
		double middle = floor(0.5 * (low + high));
		if (cdf_of(r, middle) < p) low = middle;
		else high = middle;
	}
	return high;
}

/*  The y with F(y) = p, by false position (Illinois) between doubled steps; mean and sd of y are a
    first guess. */
static double quantile_of(const row_y *r, double mean, double sd, double p)
{
	if (r->kind == ODVGP_LIKELIHOOD_POISSON || r->kind == ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL)
		return quantile_of_counts(r, mean, p);
	double scale = isfinite(sd) && sd > 0 ? sd : 1, start = 0;
	if (r->kind == ODVGP_LIKELIHOOD_EXPONENTIAL || r->kind == ODVGP_LIKELIHOOD_GAMMA)
		start = log(mean);
	if (r->kind == ODVGP_LIKELIHOOD_BETA) start = log(mean / (1 - mean));
	if (!isfinite(start)) start = 0;
	double low = start, high = start, at_low, at_high, step = 1;
	while ((at_low = cdf_of(r, y_at(r, mean, scale, low)) - p) > 0 && step < 1e4)
		high = low, low -= step, step *= 2;
	step = 1;
	while ((at_high = cdf_of(r, y_at(r, mean, scale, high)) - p) < 0 && step < 1e4)
		high += step, step *= 2;
	for (int k = 0, last = 0; k < 200 && high - low > 1e-12 * (1 + fabs(low)); k++) {
		double t = low, rise = at_high - at_low;
		if (rise > 0) t -= (high - low) * (at_low / rise);
		if (!(t > low && t < high)) t = 0.5 * (low + high);
		double at = cdf_of(r, y_at(r, mean, scale, t)) - p;
		int side = at < 0 ? -1 : 1;
		if (at < 0) low = t, at_low = at;
		else high = t, at_high = at;
		if (side == last && side < 0) at_high *= 0.5;
		if (side == last && side > 0) at_low *= 0.5;
		last = side;
		if (fabs(at) < 1e-13) low = high = t;
	}
	return y_at(r, mean, scale, high);
}

/* ---- rows ---- */

/*  The likelihood's parameters, of standardised targets where these are. */
static void likelihood_params(const model_file *f, double par[2])
{
	const odvgp_likelihood_facts facts = odvgp_likelihood_about(f->s.likelihood);
	workers none;
	model_block block;
	int count = 0;
	memset(&none, 0, sizeof none);
	odvgp_model *model = model_load(f, &none, ODVGP_ISA_AUTO, &block);
	for (int i = 0; i < 2 && facts.param[i]; i++)
		if (!odvgp_get(model, facts.param[i], &par[count], 1, NULL)) count++;
	free(block.at);
}

/*  Limits of all rows, [n][T][2], in the units of f: the predicted mean and variance of y [n,T] are
    in these. */
static double *limits_run(const odvgp_server *server, const schema *s, const double par[2],
		double P, const forecast *f, const part *x, watch *watch)
{
	ptrdiff_t n = x->n;
	int T = s->target_count;
	ptrdiff_t functions = server->F;
	double *limits = take_doubles(2 * n, T), *mean = take_doubles(FORECAST_ROWS, functions),
		   *var = take_doubles(FORECAST_ROWS, functions);
	size_t size = odvgp_predict_scratch(server, FORECAST_ROWS, NULL);
	void *scratch = take(size, 1);
	watch_begin(watch, "limits of y");
	for (ptrdiff_t from = 0, m; from < n; from += m) {
		m = smaller(FORECAST_ROWS, n - from);
		watch_look(watch, (double)from, (double)n);
		odvgp_status bad =
				odvgp_predict(server, x->X + from * s->D, m, mean, var, scratch, size, NULL);
		if (bad) die(FAILED, "prediction: %s", odvgp_status_text(bad));
		for (ptrdiff_t i = 0; i < m * T; i++) {
			ptrdiff_t row = i / T, t = i % T, of_f = t * m + row, at = from * T + i,
					  of_g = functions > T ? (T + t) * m + row : of_f;
			int scaled = s->likelihood == ODVGP_LIKELIHOOD_STUDENTT ||
						 s->likelihood == ODVGP_LIKELIHOOD_LAPLACE;
			row_y r = {s->likelihood, mean[of_g], var[of_g],
					{par[0] * (scaled ? s->y_scale[t] : 1), par[1]}, mean[of_f], var[of_f]};
			for (int side = 0; side < 2; side++)
				limits[2 * at + side] = quantile_of(
						&r, f->mean[at], sqrt(f->var_y[at]), side ? 0.5 + 0.5 * P : 0.5 - 0.5 * P);
		}
	}
	watch_end(watch);
	free(scratch);
	free(mean);
	free(var);
	return limits;
}

#endif

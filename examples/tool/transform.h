/*  transform.h - other scales of columns and of the target: --transform, --target-transform and
    --levels. What is fitted to the training rows stands in the schema; a model file holds no row:
    knots are means of at least five, and a level's number is of at least five rows, too. */
#ifndef TOOL_TRANSFORM_H
#define TOOL_TRANSFORM_H

#include "classes.h"

static const char transform_words[] = "none|log|asinh|linear";
enum { KNOT_ROWS = 5 };

/* ---- one column ---- */

/*  z with P(Z <= z) = p, by bisection. */
static double normal_score(double p)
{
	double low = -9, high = 9;
	for (int k = 0; k < 60; k++) {
		double z = 0.5 * (low + high);
		*(0.5 * erfc(-0.70710678118654752440 * z) < p ? &low : &high) = z;
	}
	return low;
}

/*  Knots of normal scores: groups of at least n / ODVGP_MOST_KNOTS and KNOT_ROWS sorted values,
    equal ones in one group; where the last rows are too few they join the last group. */
static ptrdiff_t knots_of(const double *x, ptrdiff_t n, double *from, double *to)
{
	ptrdiff_t least = larger(KNOT_ROWS, (n + ODVGP_MOST_KNOTS - 1) / ODVGP_MOST_KNOTS), count = 0;
	for (ptrdiff_t i = 0, end; i < n; i = end, count++) {
		double sum = 0;
		end = smaller(n, i + least);
		while (end < n && x[end] <= x[end - 1]) end++;
		if (n - end < least) end = n;
		for (ptrdiff_t k = i; k < end; k++) sum += x[k] - x[i];
		from[count] = x[i] + sum / (double)(end - i);
		to[count] = normal_score(0.5 * (double)(i + end) / (double)n);
		if (count && !((float)from[count] > (float)from[count - 1])) count--;
	}
	return count;
}

/*  Fits a transform to sorted values x [n], which may be changed. Returns why it does not exist, or
    NULL. */
static const char *transform_fit(odvgp_transform *t, int kind, double *x, ptrdiff_t n)
{
	double median = n ? x[n / 2] : 0, sum = 0;
	ptrdiff_t above = 0;
	memset(t, 0, sizeof *t);
	t->kind = (odvgp_transform_kind)kind;
	if (!kind) return NULL;
	if (n < 2 || !(x[n - 1] > x[0])) return "is constant in the training rows";
	t->low = x[0];
	t->high = x[n - 1];
	t->s = 1;
	if (kind == ODVGP_TRANSFORM_LINEAR) {
		double *knots = take_doubles(2, ODVGP_MOST_KNOTS);
		t->knots = knots_of(x, n, knots, knots + ODVGP_MOST_KNOTS);
		t->from = knots;
		t->to = knots + ODVGP_MOST_KNOTS;
		return t->knots < 2 ? "has too few different values for two knots" : NULL;
	}
	if (kind == ODVGP_TRANSFORM_LOG) {
		/* the least value has the distance of the twentieth part from it, of counts 1 */
		while (x[above] <= x[0]) above++;
		if (!(x[0] > 0 && x[0] >= 1e-3 * median)) t->c = x[above + (n - above) / 20] - 2 * x[0];
		return NULL;
	}
	t->c = median;
	for (ptrdiff_t i = 0; i < n; i++) sum += x[i] = fabs(x[i] - median);
	qsort(x, (size_t)n, sizeof *x, by_number);
	t->s = x[n / 2] > 0 ? x[n / 2] : sum / (double)n;
	return NULL;
}

/*  "log(x + 1)" */
static void transform_print(bytes *b, const odvgp_transform *t, const char *name)
{
	if (t->kind == ODVGP_TRANSFORM_LOG) {
		if (t->c == 0) bytes_print(b, "log(%s)", name);
		else bytes_print(b, "log(%s %c %.6g)", name, t->c < 0 ? '-' : '+', fabs(t->c));
	} else if (t->kind == ODVGP_TRANSFORM_ASINH)
		bytes_print(b, "asinh((%s %c %.6g) / %.6g)", name, t->c < 0 ? '+' : '-', fabs(t->c), t->s);
	else if (t->kind == ODVGP_TRANSFORM_LINEAR)
		bytes_print(b, "linear(%s, %td knots)", name, t->knots);
	else bytes_print(b, "%s", name);
}

/*  T(x) of one number, and x of one that T gives. */
static double transform_of(const odvgp_transform *t, double x)
{
	odvgp_real v = x;
	odvgp_transform_columns(&v, 1, 1, t, &v, NULL);
	return v;
}

static double transform_back(const odvgp_transform *t, double y)
{
	double low = t->low, high = t->high;
	if (t->kind == ODVGP_TRANSFORM_NONE) return y;
	if (t->kind == ODVGP_TRANSFORM_LINEAR) low = t->from[0], high = t->from[t->knots - 1];
	/* a straight line goes on beyond both ends */
	for (int side = 0; side < 2; side++) {
		double end = side ? high : low, at = transform_of(t, end), step = high - low;
		if (side ? y > at : y < at)
			return end + (y - at) * step / fabs(transform_of(t, end + (side ? step : -step)) - at);
	}
	for (int k = 0; k < 100; k++) {
		double x = low + (high - low) / 2;
		*(transform_of(t, x) < y ? &low : &high) = x;
	}
	return low;
}

/* ---- the target ---- */

/*  T(y) and T'(y); NaN and 0 where log has no value. */
static double target_of(const schema *s, double y)
{
	const odvgp_transform *t = &s->y;
	if (t->kind == ODVGP_TRANSFORM_LOG) return y + t->c > 0 ? log(y + t->c) : NAN;
	return t->kind == ODVGP_TRANSFORM_ASINH ? asinh((y - t->c) / t->s) : y;
}

static double target_slope(const schema *s, double y)
{
	const odvgp_transform *t = &s->y;
	if (t->kind == ODVGP_TRANSFORM_LOG) return y + t->c > 0 ? 1 / (y + t->c) : 0;
	return t->kind == ODVGP_TRANSFORM_ASINH ? 1 / hypot(t->s, y - t->c) : 1;
}

static double target_back(const schema *s, double g)
{
	const odvgp_transform *t = &s->y;
	if (t->kind == ODVGP_TRANSFORM_LOG) return exp(g) - t->c;
	return t->kind == ODVGP_TRANSFORM_ASINH ? t->c + t->s * sinh(g) : g;
}

/*  Mean and variance of y for T(y) from N(*m, *v): both in closed form. */
static void target_moments(const schema *s, double *m, double *v)
{
	const odvgp_transform *t = &s->y;
	double g = *m, e = exp(0.5 * *v), more = expm1(*v);
	if (t->kind == ODVGP_TRANSFORM_LOG) {
		*m = exp(g + 0.5 * *v) - t->c;
		*v = exp(2 * g + *v) * more;
	} else if (t->kind == ODVGP_TRANSFORM_ASINH) {
		/* E[sinh] = e sinh g; E[sinh^2] - its square = (e^v - 1) (e^v cosh 2 g + 1) / 2 */
		*m = t->c + t->s * e * sinh(g);
		*v = t->s * t->s * 0.5 * more * (exp(*v) * cosh(2 * g) + 1);
	}
}

/*  The mean and scale of the targets as they are, and the target's transform. */
static const double *target_scale(const schema *s) { return s->y.kind ? s->y_raw + 1 : s->y_scale; }

/* ---- levels of text columns ---- */

/*  In the order of --levels. */
enum { LEVELS_AUTO, LEVELS_INDICATORS, LEVELS_SHARED, LEVELS_MEANS, LEVELS_MIXED };

/*  The number of rows that count as one with the mean of all. */
static const double LEVEL_SHRINK = 10;

/*  Numbers of the levels of f from rows whose levels are code and whose targets y; the last one, of
    texts that are not known, is the mean of all, which levels of fewer than KNOT_ROWS rows have but for
    the last bit, by which `range` of predictions knows it. Rows of fold `without`, of
    FOLDS, do not count. fold NULL: all count. */
static void level_means(const field *f, const double *code, const double *y, ptrdiff_t n,
		const char *fold, int without, double *means)
{
	int L = f->level_count;
	double *sum = take_doubles(L + 1, 1), *count = take_doubles(L + 1, 1);
	for (ptrdiff_t i = 0; i < n; i++) {
		if (fold && fold[i] == without) continue;
		for (int k = 0; k < 2; k++) {
			int at = k ? L : (int)code[i];
			sum[at] += y[i];
			count[at]++;
		}
	}
	double all = count[L] > 0 ? sum[L] / count[L] : 0;
	for (int k = 0; k < L; k++)
		means[k] = count[k] >= KNOT_ROWS ? (sum[k] + LEVEL_SHRINK * all) / (count[k] + LEVEL_SHRINK)
										 : all;
	means[L] = nextafter(all, HUGE_VAL);
	free(sum);
	free(count);
}

#endif

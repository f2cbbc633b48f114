/*  log E_q[p(y|f)] and moments of y at the ends of all ranges, beside integrals in long double:
    cells between distances that double from the mean, from the mode of p(y|f) and from each maximum
    of the integrand, each cell halved until Gauss's rule agrees with that of its halves. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "reference.h"
#include "lik_job.h"

typedef struct row {
	const char *name;
	ptrdiff_t F, classes;
	double jitter, par[MOST_PAR], y, mean[MOST_F], sd[MOST_F];
} row;

/* ---- what the library says ---- */

/*  Rounds the numbers of a row to the library's, too. */
static double value_of(row *r, int what, ptrdiff_t k)
{
	lik_row own;
	ptrdiff_t i;
	lik_row_start(&own, r->name, r->F, r->classes, r->jitter, NODES);
	for (i = 0; i < r->F; i++) {
		own.mean[i] = (odvgp_real)r->mean[i];
		own.var[i] = (odvgp_real)(r->sd[i] * r->sd[i]);
		r->mean[i] = (double)own.mean[i];
		r->sd[i] = sqrt((double)own.var[i]);
	}
	for (i = 0; i < MOST_PAR; i++) {
		own.par[i] = (odvgp_real)r->par[i];
		r->par[i] = (double)own.par[i];
	}
	own.Y = (odvgp_real)r->y;
	r->y = (double)own.Y;
	r->jitter = (double)own.rule[0];
	return lik_row_value(&own, what, k);
}

/* ---- the reference ---- */

#define PI     3.1415926535897932384626433832795029L
#define LOG2PI 1.8378770664093454835606594728112353L

/*  Stirling's remainder of log Gamma(x), and k log k - k - log Gamma(k). */
static wide stirling(wide x)
{
	static const wide c[] = {1.0L / 12, -1.0L / 360, 1.0L / 1260, -1.0L / 1680, 1.0L / 1188,
			-691.0L / 360360, 1.0L / 156, -3617.0L / 122400};
	wide sum = 0, power = 1 / x;
	int k;
	for (k = 0; k < 8; k++, power /= x * x) sum += c[k] * power;
	return sum;
}
static wide wide_lgamma(wide x)
{
	wide product = 1;
	for (; x < 40; x += 1) product *= x;
	return (x - 0.5L) * logl(x) - x + LOG2PI / 2 + stirling(x) - logl(product);
}
static wide gamma_peak(wide k)
{
	if (k > 40) return 0.5L * (logl(k) - LOG2PI) - stirling(k);
	return k * logl(k) - k - wide_lgamma(k);
}
/*  log Phi(z): a continued fraction far down. */
static wide log_cdf(wide z)
{
	wide x = -z * 0.70710678118654752440084436210485L, t = 0;
	int k;
	if (x < 8) return logl(0.5L * erfcl(x));
	for (k = 120; k > 0; k--) t = (wide)k / 2 / (x + t);
	return -x * x - logl(2 * sqrtl(PI) * (x + t));
}

/*  The row that is integrated over f from N(mean, sd^2): f = mean + m = mode + b. */
typedef struct task {
	const row *r;
	wide mean, sd, mode, width; /* width: of p(y|f) beside its mode, roughly */
	wide turn;                  /* where p(y|f) bends if it has no mode nearby, or the mode */
	wide (*log_p)(const struct task *t, wide b);
	/* error that is allowed; above 0: the integrand has one maximum, near the places */
	wide coarse;
	wide a[3];
} task;

static wide integral(const task *t);
static wide log_studentt(const task *t, wide b)
{
	wide s = (wide)t->r->par[0], v = (wide)t->r->par[1];
	return t->a[0] - 0.5L * (v + 1) * log1pl(b / s * b / s / v);
}
static wide log_laplace(const task *t, wide b)
{
	wide s = (wide)t->r->par[0];
	return -fabsl(b) / s - logl(2 * s);
}
static wide log_bernoulli(const task *t, wide b)
{
	wide e = (wide)t->r->jitter, l = log_cdf(t->r->y > 0 ? b : -b);
	return e > 0 ? logl((1 - 2 * e) * expl(l) + e) : l;
}
static wide log_logit(const task *t, wide b)
{
	wide z = t->r->y > 0 ? b : -b;
	return z > 0 ? -log1pl(expl(-z)) : z - log1pl(expl(z));
}
/*  Of POISSON, EXPONENTIAL, GAMMA: a0 - a1 (e^x - 1 - x), x = a2 b; or -e^b for no counts. */
static wide log_exp(const task *t, wide b)
{
	wide x = t->a[2] * b;
	if (t->a[1] == 0) return -expl(t->mode + b);
	return t->a[0] - t->a[1] * (expm1l(x) - x);
}
/*  log(1 - c + c e^x) */
static wide log_mean(wide c, wide x)
{
	return x > 700 ? x + logl(c) : log1pl(c * expm1l(x));
}
static wide log_negative_binomial(const task *t, wide b)
{
	wide y = (wide)t->r->y, r = (wide)t->r->par[0], x = t->mode + b - logl(r), big = x > 0 ? x : 0;
	if (y == 0) return -r * (log1pl(expl(x - 2 * big)) + big);
	if (y > r) return t->a[0] - r * b - (y + r) * log_mean(r / (y + r), -b);
	return t->a[0] + y * b - (y + r) * log_mean(y / (y + r), b);
}
static wide log_beta(const task *t, wide b)
{
	wide f = t->mode + b, s = (wide)t->r->par[0], y = (wide)t->r->y, lp = log_cdf(f),
		 lq = log_cdf(-f), p = expl(lp), q = expl(lq), kl, G[2];
	int k;
	kl = fabsl(p - y) < y / 2 && fabsl(p - y) < (1 - y) / 2
				 ? p * log1pl((p - y) / y) + q * log1pl((y - p) / (1 - y))
				 : p * (lp - logl(y)) + q * (lq - log1pl(-y));
	for (k = 0; k < 2; k++) { /* Gamma(x) = Gamma(1 + x) / x where x may underflow */
		wide x = s * (k ? q : p), l = logl(s) + (k ? lq : lp);
		G[k] = x > 1 ? gamma_peak(x) : (x > 0 ? x * (l - 1) : 0) + l - wide_lgamma(1 + x);
	}
	return G[0] + G[1] - gamma_peak(s) - s * kl - logl(y) - log1pl(-y);
}
static wide log_ordinal(const task *t, wide b)
{
	ptrdiff_t K = t->r->classes, k = (ptrdiff_t)t->r->y;
	wide half, low, high, c;
	if (k == 0 || k == K - 1) return log_cdf(k ? b : -b);
	half = (wide)t->r->par[k - 1] / 2;
	c = fabsl(b);
	low = -c - half, high = -c + half;
	if (half * (1 + c) < 1e-4L)
		return logl(2 * half) - 0.5L * (c * c + LOG2PI) + (c * c - 1) * half * half / 6;
	return log_cdf(high) + log1pl(-expl(log_cdf(low) - log_cdf(high)));
}
static wide log_heteroscedastic(const task *t, wide b) /* b = g - mode, a0 = d^2, a1 = var_f */
{
	wide v = t->a[1] + expl(t->mode + b);
	return -0.5L * (LOG2PI + logl(v) + t->a[0] / v);
}

/*  Of several functions f_y's: log prod link((f_y - mean_k) / sd_k). */
static wide log_robustmax(const task *t, wide b)
{
	wide e = (wide)t->r->jitter, sum = 0;
	ptrdiff_t k;
	for (k = 0; k < t->r->F; k++) {
		wide l = log_cdf((t->mode + b - (wide)t->r->mean[k]) / (wide)t->r->sd[k]);
		if (k != (ptrdiff_t)t->r->y) sum += e > 0 ? logl((1 - 2 * e) * expl(l) + e) : l;
	}
	return sum;
}
/*  Three classes, with b = f_a - f_y for the class a after y: given it, the other difference c is
    Gaussian, and 1 / (1 + e^b + e^c) is LOGIT's p of log(1 + e^b) - c, times 1 / (1 + e^b). */
static wide log_softmax(const task *t, wide b)
{
	const row *r = t->r;
	int y = (int)r->y, a = (y + 1) % 3, other = (y + 2) % 3;
	wide of_y = (wide)r->sd[y] * (wide)r->sd[y], all = t->sd * t->sd,
		 log_sum = b > 0 ? b + log1pl(expl(-b)) : log1pl(expl(b));
	row one = *r;
	task inner = *t;
	one.y = 1;
	inner.r = &one;
	inner.log_p = log_logit;
	inner.coarse = 1e-9L;
	inner.mean = log_sum - ((wide)r->mean[other] - (wide)r->mean[y] + of_y / all * (b - t->mean));
	inner.sd = sqrtl((wide)r->sd[other] * (wide)r->sd[other] + of_y - of_y * of_y / all);
	return integral(&inner) - log_sum;
}
/*  Of BETA's moments: log p (1 - p), and log (p - mean)^2, a0 = mean. */
static wide log_inside(const task *t, wide b)
{
	(void)t;
	return log_cdf(b) + log_cdf(-b);
}
static wide log_square(const task *t, wide b)
{
	return 2 * logl(fabsl(expl(log_cdf(b)) - t->a[0]));
}

/*  log of the integrand with f at distance m from the mean and b from the mode. */
static wide log_integrand(const task *t, wide m, wide b)
{
	return t->log_p(t, b) - 0.5L * (m / t->sd) * (m / t->sd);
}

typedef struct place {
	wide m, b, scale;
} place;
enum { POINTS = 12 };
static wide gauss_x[POINTS], gauss_w[POINTS];
/*  Gauss and Legendre's nodes on [0, 1], by Newton's method. */
static void find_nodes(void)
{
	int i, k, n;
	for (i = 0; i < POINTS; i++) {
		wide x = cosl(PI * ((wide)i + 0.75L) / (POINTS + 0.5L)), slope = 1;
		for (n = 0; n < 50; n++) {
			wide p = 1, before = 0, next;
			for (k = 1; k <= POINTS; k++)
				next = ((2 * (wide)k - 1) * x * p - ((wide)k - 1) * before) / (wide)k, before = p,
				p = next;
			slope = POINTS * (x * p - before) / (x * x - 1);
			x -= p / slope;
		}
		gauss_x[i] = (1 + x) / 2;
		gauss_w[i] = 1 / ((1 - x * x) * slope * slope);
	}
}

/*  Where a cell begins and ends, as distances from a place. */
static wide cell(const task *t, const place *p, wide from, wide to, wide top)
{
	wide sum = 0;
	int k;
	for (k = 0; k < POINTS; k++) {
		wide x = from + (to - from) * gauss_x[k];
		sum += gauss_w[k] * expl(log_integrand(t, p->m + x, p->b + x) - top);
	}
	return sum * (to - from) / t->sd;
}
static int halvings; /* that are left */
static wide halved(const task *t, const place *p, wide from, wide to, wide top, wide whole,
		wide allowed, int depth)
{
	wide middle = (from + to) / 2, left = cell(t, p, from, middle, top),
		 right = cell(t, p, middle, to, top), sum = left + right;
	if (depth == 0 || halvings-- <= 0 || fabsl(sum - whole) <= allowed) return sum;
	return halved(t, p, from, middle, top, left, allowed, depth - 1) +
		   halved(t, p, middle, to, top, right, allowed, depth - 1);
}
/*  Cells from a place in one direction, whose width doubles, over `limit`. */
static wide side(const task *t, const place *p, int way, wide limit, wide top, wide *all)
{
	wide x = 0, w = fminl(p->scale, t->width) / 8, sum = 0, here = log_integrand(t, p->m, p->b),
		 allowed = fmaxl(fmaxl(1e-14L, t->coarse), LDBL_EPSILON * (64 + fabsl(top)));
	halvings = 3000;
	while (x < limit) {
		wide to = fminl(limit, x + w), next = log_integrand(t, p->m + way * to, p->b + way * to);
		if (here > top - 100 || next > top - 100) {
			wide whole = cell(t, p, way * x, way * to, top);
			whole = way * halved(t, p, way * x, way * to, top, whole,
								  allowed * (*all + fabsl(whole)), 40);
			sum += whole, *all += whole;
		}
		here = next;
		x = to, w = fmaxl(w, x);
	}
	return sum;
}
/*  Distance at which the integrand has fallen by 2. */
static wide scale_of(const task *t, const place *p)
{
	wide x = 8 * t->sd, top = log_integrand(t, p->m, p->b);
	int n;
	for (n = 0; n < 400; n++, x /= 2)
		if (fminl(log_integrand(t, p->m + x, p->b + x), log_integrand(t, p->m - x, p->b - x)) >
				top - 2)
			break;
	return x;
}
/*  Maxima between mean and mode: from samples whose distances from both ends grow by two fifths. */
static int maxima(const task *t, place *out, int most)
{
	enum { SAMPLES = 220 };
	place at[2 * SAMPLES];
	wide L[2 * SAMPLES];
	wide span = t->mode - t->mean, x;
	int n = 0, k, found = 0;
	for (k = 0; k < SAMPLES; k++) {
		x = span / 2 * powl(0.7L, (wide)(SAMPLES - 1 - k));
		at[n].m = x, at[n++].b = x - span;
	}
	for (k = 0; k < SAMPLES; k++) {
		x = span / 2 * powl(0.7L, (wide)k);
		at[n].m = span - x, at[n++].b = -x;
	}
	for (k = 0; k < n; k++) L[k] = log_integrand(t, at[k].m, at[k].b);
	for (k = 1; k + 1 < n && found < most; k++)
		if (L[k] > L[k - 1] && L[k] >= L[k + 1]) {
			place low = at[k - 1], high = at[k + 1], p = low, q = high;
			int near = k >= SAMPLES, i; /* near the mode */
			for (i = 0; i < 200; i++) {
				wide from = near ? low.b : low.m, to = near ? high.b : high.m,
					 u = from + (to - from) * 0.382L, v = from + (to - from) * 0.618L;
				p.m = near ? span + u : u, p.b = near ? u : u - span;
				q.m = near ? span + v : v, q.b = near ? v : v - span;
				if (log_integrand(t, p.m, p.b) > log_integrand(t, q.m, q.b)) high = q;
				else low = p;
			}
			out[found++] = p;
		}
	return found;
}
static int in_order(const void *a, const void *b)
{
	const place *p = (const place *)a, *q = (const place *)b;
	wide d = fabsl(p->m) < fabsl(p->b) ? p->m - q->m : p->b - q->b;
	return d < 0 ? -1 : d > 0;
}
static wide integral(const task *t)
{
	place p[9];
	wide top = -HUGE_VAL, all = 0, sum = 0;
	int n = t->coarse > 0 ? 3 : 3 + maxima(t, p + 3, 6), k, used = 0;
	p[0].m = 0, p[0].b = t->mean - t->mode;
	p[1].b = 0, p[1].m = t->mode - t->mean;
	p[2] = p[t->turn == t->mode];
	if (t->turn != t->mode) p[2].m = t->turn - t->mean, p[2].b = t->turn - t->mode;
	qsort(p, (size_t)n, sizeof *p, in_order);
	for (k = 0; k < n; k++)
		if (!used || (p[k].b != p[used - 1].b && p[k].m != p[used - 1].m)) p[used++] = p[k];
	n = used;
	for (k = 0; k < n; k++) {
		p[k].scale = scale_of(t, &p[k]);
		top = fmaxl(top, log_integrand(t, p[k].m, p[k].b));
	}
	if (!(top > -HUGE_VAL)) return top;
	for (k = 0; k < 2; k++) { /* the first round tells how large the sum is */
		int i;
		wide so_far = all;
		for (i = 0, sum = 0; i < n; i++) {
			wide outer = 60 * t->sd + 8 * fminl(t->width, t->sd),
				 down = i ? fminl(p[i].m - p[i - 1].m, p[i].b - p[i - 1].b) / 2 : outer,
				 up = i + 1 < n ? fminl(p[i + 1].m - p[i].m, p[i + 1].b - p[i].b) / 2 : outer;
			all = so_far;
			sum += side(t, &p[i], -1, down, top, &all) + side(t, &p[i], 1, up, top, &all);
		}
		all = sum;
	}
	return top + logl(sum) - LOG2PI / 2;
}

/*  The mode of BETA in f, by ternary search. */
static wide beta_mode(task *t)
{
	wide low = -40, high = 40;
	int k;
	t->mode = 0;
	for (k = 0; k < 220; k++) {
		wide u = low + (high - low) / 3, v = high - (high - low) / 3;
		if (log_beta(t, u) < log_beta(t, v)) low = u;
		else high = v;
	}
	return low;
}
static wide exact(const row *r)
{
	wide y = (wide)r->y, a = (wide)r->par[0], b = (wide)r->par[1], v;
	const char *name = r->name;
	task t;
	memset(&t, 0, sizeof t);
	t.r = r;
	t.mean = (wide)r->mean[0];
	t.sd = (wide)r->sd[0];
	t.width = 1;
	if (!strcmp(name, "gaussian")) {
		v = t.sd * t.sd + a;
		return -0.5L * (LOG2PI + logl(v) + (y - t.mean) * (y - t.mean) / v);
	}
	if (!strcmp(name, "bernoulli")) t.log_p = log_bernoulli;
	if (!strcmp(name, "logit")) t.log_p = log_logit;
	if (!strcmp(name, "softmax")) { /* of two classes */
		int k = (int)r->y;
		t.log_p = log_logit;
		t.mean = (wide)r->mean[0] - (wide)r->mean[1];
		if (k) t.mean = -t.mean;
		t.sd = sqrtl((wide)r->sd[0] * (wide)r->sd[0] + (wide)r->sd[1] * (wide)r->sd[1]);
		row one = *r;
		one.y = 1;
		t.r = &one;
		if (r->F == 2) return integral(&t);
		t.log_p = log_softmax;
		t.coarse = 1e-8L;
		t.r = r;
		t.mean = (wide)r->mean[(k + 1) % 3] - (wide)r->mean[k];
		t.sd = hypotl((wide)r->sd[(k + 1) % 3], (wide)r->sd[k]);
		return integral(&t);
	}
	if (!strcmp(name, "robustmax")) {
		ptrdiff_t k = (ptrdiff_t)r->y;
		t.log_p = log_robustmax;
		t.mean = (wide)r->mean[k];
		t.sd = (wide)r->sd[k];
		t.mode = (wide)r->mean[(k + 1) % r->F];
		t.turn = (wide)r->mean[(k + 2) % r->F];
		v = a / (wide)(r->F - 1);
		return logl(v + (1 - a - v) * expl(integral(&t)));
	}
	if (!strcmp(name, "studentt")) {
		v = b / 2;
		t.a[0] = (v > 40 ? v * log1pl(0.5L / v) - 0.5L + stirling(v + 0.5L) - stirling(v)
						 : wide_lgamma(v + 0.5L) - wide_lgamma(v) - 0.5L * logl(v)) -
				 LOG2PI / 2 - logl(a);
		t.log_p = log_studentt, t.mode = y, t.width = a;
	}
	if (!strcmp(name, "laplace")) t.log_p = log_laplace, t.mode = y, t.width = a;
	if (!strcmp(name, "poisson") || !strcmp(name, "exponential") || !strcmp(name, "gamma")) {
		t.log_p = log_exp;
		t.a[1] = *name == 'p' ? y : *name == 'e' ? 1 : a;
		t.a[2] = *name == 'g' ? -1 : 1;
		if (t.a[1] > 0) t.a[0] = gamma_peak(t.a[1]) - logl(y);
		if (t.a[1] > 0) t.mode = *name == 'p' ? logl(y) : *name == 'e' ? -logl(y) : logl(y / a);
		else t.mode = fminl(t.mean, 0) - 60; /* p(0|f) has none: it is 1 there */
		if (t.a[1] > 1) t.width = 1 / sqrtl(t.a[1]);
	}
	if (!strcmp(name, "negative_binomial")) {
		t.log_p = log_negative_binomial;
		t.mode = y > 0 ? logl(y) : fminl(t.mean, logl(a)) - 60;
		if (y > 0) t.a[0] = gamma_peak(y) - logl(y) + gamma_peak(a) - gamma_peak(a + y);
		if (y > 1) t.width = sqrtl(1 / y + 1 / a);
	}
	if (!strcmp(name, "beta")) {
		t.log_p = log_beta;
		t.mode = beta_mode(&t);
		if (a > 1) t.width = 1 / sqrtl(a);
	}
	if (!strcmp(name, "ordinal")) {
		ptrdiff_t K = r->classes, k = (ptrdiff_t)r->y, j;
		t.log_p = log_ordinal;
		t.mode = (wide)r->par[K - 2];
		for (j = 0; j < k - 1; j++) t.mode += (wide)r->par[j];
		if (k > 0 && k < K - 1) t.mode += (wide)r->par[k - 1] / 2;
	}
	if (!strcmp(name, "heteroscedastic")) {
		wide d = y - t.mean;
		t.a[0] = d * d;
		t.a[1] = t.sd * t.sd;
		t.mode = logl(d * d > t.a[1] ? d * d - t.a[1] : t.a[1]);
		t.mean = (wide)r->mean[1];
		t.sd = (wide)r->sd[1];
		t.log_p = log_heteroscedastic;
	}
	if (!t.log_p) {
		printf("no reference for %s\n", name);
		exit(3);
	}
	t.turn = t.mode;
	if (!strcmp(name, "negative_binomial") && y == 0) t.turn = logl(a);
	if (!strcmp(name, "poisson") && y == 0) t.turn = 0;
	if (!strcmp(name, "heteroscedastic")) t.turn = logl(t.a[1]);
	return integral(&t);
}

/* ---- one comparison ---- */

static double worst_error;
/*  |error| <= least (1 + |log p|), in float 1e-4 and the rounding of log p. */
static void check_row(const row *of, double least)
{
	row r = *of;
	double got = value_of(&r, DENSITY, 0), want = (double)exact(&r), error = fabs(got - want),
		   tol = BY_PRECISION(least * (1 + fabs(want)), 1e-4 + 2 * EPS * fabs(want));
	if (!(fabs(want) < HUGE_REAL / 16)) return;
	worst_error = fmax(worst_error, error / (1 + fabs(want)));
	CHECK_SAY(error <= tol,
			"%s, y %.9g, mean %.9g, sd %.9g, parameters %.9g %.9g %.9g (%.9g, %.9g): %.12g, not "
			"%.12g",
			r.name, r.y, r.mean[0], r.sd[0], r.par[0], r.par[1], r.par[2], r.mean[1], r.sd[1], got,
			want);
}

/*  The numbers of rows of a grid, and of as many random rows. */
static int at_most(void) { return getenv("ODVGP_TEST_LONG") ? 3000 : test_size(120, 8); }
static double decades(double low, double high) { return pow(10, test_between(low, high)); }
static double some_sign(void) { return test_below(2) ? 1 : -1; }

static double choice(const double *of, int n, ptrdiff_t *number)
{
	double x = of[*number % n];
	*number /= n;
	return x;
}
#define CHOICE(of, number) choice(of, (int)GP__COUNT(of), &(number))

static const double sds[] = {1e-8, 1e-4, 0.03, 0.4, 1, 3, 12, 100, 1e4},
					means[] = {0, 0.3, -0.3, 4, -4, 15, -15, 200, -200, 1e4, -1e4},
					scales[] = {1e-8, 1e-3, 0.1, 1, 30, 1e4},
					reals[] = {0, 1e-6, -0.7, 2, -40, 900, 1e4},
					counts[] = {0, 1, 2, 7, 40, 1000, 1e6, 1e9},
					sizes[] = {1e-8, 0.01, 0.6, 1, 5, 80, 1e4, 1e8, 1e16},
					shares[] = {1e-12, 1e-4, 0.1, 0.5, 0.8, 0.9999},
					positives[] = {1e-8, 1e-3, 0.2, 1, 6, 400, 1e8},
					dfs[] = {0.01, 0.5, 1, 2, 3.5, 30, 1e3, 1e6, 1e12, 1e16};

/*  Row `number` of the grid of a likelihood; random numbers if it is negative. */
static row row_number(const char *name, ptrdiff_t number)
{
	const gp__likelihood *lik = row_of(name);
	int random = number < 0, classes = lik->flags & GP__LIK_CLASSES, k;
	row r;
	memset(&r, 0, sizeof r);
	r.name = name;
	r.F = 1;
	r.par[0] = r.par[1] = 1;
	r.sd[0] = random ? decades(-8, 4) : CHOICE(sds, number);
	r.mean[0] = random ? some_sign() * decades(-3, test_below(3) ? 1.5 : 4) : CHOICE(means, number);
	if (lik->most < 2 && lik->whole) r.y = random ? (double)test_below(2) : (double)(number % 2);
	else if (lik->whole) r.y = random ? floor(decades(-1, 9)) : CHOICE(counts, number);
	else if (lik->most < 2)
		r.y = random ? 1 / (1 + exp(test_between(-15, 15))) : CHOICE(shares, number);
	else if (lik->least == 0) r.y = random ? decades(-8, 8) : CHOICE(positives, number);
	else r.y = random ? r.mean[0] + some_sign() * r.sd[0] * decades(-3, 6) : CHOICE(reals, number);
	if (!random && lik->most < 2 && lik->whole) number /= 2;
	if (lik->flags & GP__LIK_SCALABLE) r.par[0] = random ? decades(-8, 4) : CHOICE(scales, number);
	else if (lik->params)
		r.par[0] = random ? decades(-8, test_below(2) ? 3 : 16) : CHOICE(sizes, number);
	if (lik->params > 1)
		r.par[1] = random ? decades(-2, test_below(2) ? 3 : 16) : CHOICE(dfs, number);
	if (lik->flags & GP__LIK_LINK) r.jitter = random ? 0 : number % 2 * 1e-3;
	if (!strcmp(name, "robustmax")) {
		r.F = 3;
		r.par[0] = random ? decades(-12, -0.5) : CHOICE(shares, number) * 0.6;
		r.y = (double)test_below(3);
		for (k = 1; k < 3; k++) {
			r.mean[k] = random && test_below(2) ? r.mean[0] + r.sd[0] * test_between(-3, 3)
												 : test_between(-30, 30);
			r.sd[k] = decades(-8, 4);
		}
		return r;
	}
	if (!strcmp(name, "heteroscedastic") || !strcmp(name, "softmax")) {
		r.F = 2;
		r.mean[1] = random ? test_between(-30, 30) : CHOICE(means, number);
		r.sd[1] = random ? decades(-8, 4) : CHOICE(sds, number);
	}
	if (classes) {
		r.classes = !strcmp(name, "ordinal") ? 4 : 0;
		r.y = (double)test_below(r.classes ? 4 : 2);
		for (k = 0; k < 2 && r.classes; k++) r.par[k] = decades(-8, 4);
		if (r.classes) r.par[2] = some_sign() * decades(-3, 2);
	}
	return r;
}
static void check_likelihood(const char *name)
{
	ptrdiff_t most = 9 * 11 * 8 * 9 * 10, n = at_most(), k;
	if (!strcmp(name, "gaussian")) n = GP__MIN(n, 2000);
	worst_error = 0;
	for (k = 0; k < n; k++) {
		/* a stride that shares no factor with the grid's sides */
		row r = row_number(name, (k * 7919 + 13) % most);
		check_row(&r, 1e-8);
		r = row_number(name, -1);
		check_row(&r, 1e-8);
	}
}
TEST(densities_on_a_grid)
{
	ptrdiff_t i;
	int timed = getenv("ODVGP_TEST_TIMES") != NULL;
	test_seed = 41;
	for (i = 0; i < GP__COUNT(gp__likelihoods); i++) {
		clock_t began = clock();
		check_likelihood(gp__likelihoods[i].name);
		if (timed)
			printf("%s: worst %.1e, %.2f s\n", gp__likelihoods[i].name, worst_error,
					(double)(clock() - began) / CLOCKS_PER_SEC);
	}
}

/*  Functions number 0, 1 and 2. */
static row of_three(const char *name, const double *mean, const double *sd)
{
	row r;
	int k;
	memset(&r, 0, sizeof r);
	r.name = name;
	r.F = 3;
	for (k = 0; k < 3; k++) r.mean[k] = mean[k], r.sd[k] = sd[k];
	return r;
}
/*  As far as the manual promises: standard deviations below 240. */
TEST(softmax_of_several_classes)
{
	int round, k;
	if (test_size(0, 1)) SKIP("at full length");
	test_seed = 42;
	for (round = 0; round < (getenv("ODVGP_TEST_LONG") ? 100 : BY_PRECISION(8, 1)); round++) {
		double mean[3], sd[3], total = 0, size = decades(-1, 2.3);
		row r;
		for (k = 0; k < 3; k++) {
			mean[k] = test_between(-2, 2) * (1 + size * (double)test_below(2));
			sd[k] = test_below(3) ? size * test_between(0.5, 1) : decades(-8, 2.3);
		}
		r = of_three("softmax", mean, sd);
		r.y = (double)test_below(3);
		check_row(&r, 1e-6);
		for (r.y = 0; r.y < 3; r.y++) total += exp(value_of(&r, DENSITY, 0));
		CHECK_NEAR(total, 1, BY_PRECISION(3e-6, 3e-4));
		/* a fourth class that is impossible; four that are alike */
		r.F = 4;
		r.y = 0;
		r.sd[3] = 1;
		r.mean[3] = -8e4;
		total = value_of(&r, DENSITY, 0);
		r.F = 3;
		CHECK_NEAR(total, value_of(&r, DENSITY, 0), BY_PRECISION(2e-6, 2e-4) * (1 + fabs(total)));
		r.F = 4;
		for (k = 0; k < 4; k++) r.mean[k] = 5, r.sd[k] = size;
		CHECK_NEAR(value_of(&r, DENSITY, 0), log(0.25), BY_PRECISION(2e-6, 2e-4));
	}
}

/*  A step of a narrow function lies between a panel's places; P below the least number. */
TEST(robustmax_of_narrow_functions)
{
	static const double mean[2][3] = {{908.09533016564467, 908.09266062037455, -12.0021786412193},
			{4, 25.0991202598764, -25.1691669521872}},
			sd[2][3] = {{0.003467209777818, 8.20679851435e-07, 1463.04815659809},
					{1e4, 1.333486484004, 3.69860534716e-05}};
	int i;
	for (i = 0; i < 2; i++) {
		row r = of_three("robustmax", mean[i], sd[i]);
		r.par[0] = i ? 0.48 : 0.2315254608745845;
		r.y = 2;
		check_row(&r, 1e-8);
	}
}

TEST(moments_at_the_ends)
{
	static const double spread[] = {1e-8, 1e-3, 0.3, 1, 10, 1e4}, at[] = {0, 0.4, -3, -7},
						precisions[] = {1e-8, 1, 1e6, 1e15};
	int i, j, k;
	for (i = 0; i < GP__COUNT(spread); i++)
		for (j = 0; j < GP__COUNT(at); j++)
			for (k = 0; k < GP__COUNT(precisions); k++) {
				row r;
				task t;
				wide inside, square;
				double mean, var;
				if ((i + j + k) % test_size(1, 4)) continue;
				memset(&r, 0, sizeof r);
				r.name = "beta";
				r.F = 1;
				r.mean[0] = at[j];
				r.sd[0] = spread[i];
				r.par[0] = precisions[k];
				mean = value_of(&r, MEAN, 0);
				var = value_of(&r, VARIANCE, 0);
				memset(&t, 0, sizeof t);
				t.r = &r;
				t.mean = (wide)r.mean[0];
				t.sd = (wide)r.sd[0];
				t.width = 1;
				t.a[0] = expl(log_cdf(t.mean / sqrtl(1 + t.sd * t.sd)));
				CHECK_NEAR(mean, t.a[0], 64 * EPS * mean);
				t.log_p = log_inside;
				inside = expl(integral(&t)) / (1 + (wide)r.par[0]);
				t.log_p = log_square;
				square = LDBL_EPSILON < 1e-18L || spread[i] > 0.1 ? expl(integral(&t)) : 0;
				if (square > 0)
					CHECK_SAY(fabs(var - (double)(inside + square)) <= (1e-8 + 4 * EPS) * var,
							"beta, mean %g, sd %g, precision %g: variance %.12g, not %.12g",
							r.mean[0], r.sd[0], r.par[0], var, (double)(inside + square));
				CHECK(var > 0);
			}
	for (i = 0; i < GP__COUNT(spread); i++) { /* ORDINAL's p, far from all cuts as well */
		double total = 0;
		row r;
		memset(&r, 0, sizeof r);
		r.name = "ordinal";
		r.F = 1;
		r.classes = 4;
		r.mean[0] = 3e6;
		r.sd[0] = spread[i];
		r.par[0] = r.par[1] = 1;
		for (k = 0; k < 4; k++) {
			double p = value_of(&r, MEAN, k);
			r.y = k;
			total += p;
			CHECK_NEAR(p, exp((double)exact(&r)), BY_PRECISION(1e-8, 1e-4));
		}
		CHECK_NEAR(total, 1, 8 * EPS);
	}
}

/*  A mean that is not finite gives no finite density, in bounded time. */
TEST(nan_stays_nan)
{
	ptrdiff_t i;
	for (i = 0; i < GP__COUNT(gp__likelihoods); i++) {
		row r = row_number(gp__likelihoods[i].name, 12345);
		double p;
		if (r.F < 2) r.F = 1;
		r.mean[0] = NAN;
		r.y = !strcmp(r.name, "beta") ? 0.5 : 1;
		p = value_of(&r, DENSITY, 0);
		CHECK_SAY(!(p - p == 0), "%s: %g", r.name, p);
	}
}

/*  Rows that were wrong, with name, y, mean, sd and two parameters. */
TEST(rows_that_were_wrong)
{
	static const struct {
		const char *name;
		double y, mean, sd, par[2];
	} rows[] = {{"laplace", 0.07, 0, 0.66, {1e-4, 0}}, {"studentt", 0, 0, 1e-4, {1, 1e16}},
			{"studentt", 8, 0, 1, {1e-3, 1e6}}, {"gamma", 1, 0, 12, {2, 0}},
			{"gamma", 1, 0, 8, {2, 0}}, {"poisson", 5, 0, 12, {0, 0}},
			{"exponential", 2, 0, 9, {0, 0}}, {"negative_binomial", 4, 0, 10, {3, 0}}};
	int i;
	for (i = 0; i < GP__COUNT(rows); i++) {
		row r;
		memset(&r, 0, sizeof r);
		r.name = rows[i].name;
		r.F = 1;
		r.y = rows[i].y;
		r.mean[0] = rows[i].mean;
		r.sd[0] = rows[i].sd;
		r.par[0] = rows[i].par[0];
		r.par[1] = rows[i].par[1];
		check_row(&r, 1e-8);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	if (start_blas()) return 3;
	find_nodes();
	RUN(densities_on_a_grid);
	RUN(softmax_of_several_classes);
	RUN(robustmax_of_narrow_functions);
	RUN(moments_at_the_ends);
	RUN(nan_stays_nan);
	RUN(rows_that_were_wrong);
	free(blas_block);
	return test_end();
}

/*  Functions over arrays, on every instruction set of this machine: errors in units of the last
    place against long double, over bit patterns of all magnitudes and over the ranges where the
    formulas change; special values; the same bits wherever a number stands in the array. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "arrays.h"

typedef long double wide;
typedef void call(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *x, odvgp_real *y);

static const wide root_half = 0.707106781186547524400844362104849039L;
static const wide root_2pi = 2.50662827463100050241576528481104525L;

static wide ref_exp(wide x) { return expl(x); }
static wide ref_log(wide x) { return logl(x); }
static wide ref_log1p(wide x) { return log1pl(x); }
static wide ref_expm1(wide x) { return expm1l(x); }
static wide ref_erf(wide x) { return erfl(x); }
static wide ref_erfc(wide x) { return erfcl(x); }
static wide ref_sqrt(wide x) { return sqrtl(x); }

/*  Phi(-x) / phi(x) for x >= 8: 1 / (x + 1 / (x + 2 / (x + ...))). */
static wide mills(wide x)
{
	wide f = x;
	int k;
	for (k = 60; k > 0; k--) f = x + (wide)k / f;
	return 1 / f;
}
/*  Phi(-x) for x > -8. The square corrects the rounding of x / sqrt(2): erfc changes by
    exp(-(x^2/2 - z^2)). */
static wide upper_tail(wide x)
{
	wide z = x * root_half, square = x * x,
		 rest = fmal(x, x, -square) / 2 + fmal(-z, z, square / 2);
	return z > 1 ? erfcl(z) * expl(-rest) / 2 : erfcl(z) / 2;
}
static wide ref_logcdf(wide x)
{
	if (x > 0) return x > 200 ? 0 : log1pl(-upper_tail(x));
	return x > -8 ? logl(upper_tail(-x)) : logl(mills(-x) / root_2pi) - x * x / 2;
}
static wide ref_ratio(wide x)
{
	wide square = x * x, rest = fmal(x, x, -square);
	if (x < -8) return x < -1e15L ? -x : 1 / mills(-x);
	if (x > 200) return 0;
	return expl(-square / 2) * (1 - rest / 2) / root_2pi / upper_tail(-x);
}

static void ratio(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *x, odvgp_real *y)
{
	odvgp_real *value = NEW(odvgp_real, n), *value_only = NEW(odvgp_real, n);
	array_logcdf(blas, n, x, value_only, NULL);
	/* y may be x. */
	array_logcdf(blas, n, x, value, y);
	CHECK_BITS(value, value_only, (size_t)n * sizeof *value);
	free(value);
	free(value_only);
}
static void logcdf(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *x, odvgp_real *y)
{
	array_logcdf(blas, n, x, y, NULL);
}

static const struct function {
	const char *name;
	call *f;
	wide (*ref)(wide x);
	/* The bounds in units of the last place, as the header states them. */
	double bound_f64, bound_f32;
	/* The ranges where formulas change. */
	double range[4][2];
	/* The direction, and 1 if the function is defined for all x. */
	int falls, all;
} functions[] = {
		{"exp", array_exp, ref_exp, 1.5, 1.5, {{-1, 1}, {-110, 90}, {-746, 710}, {-20, 20}}, 0, 1},
		{"log", array_log, ref_log, 1, 1, {{0.5, 2}, {0.99, 1.01}, {0, 1e-3}, {1, 1e6}}, 0, 0},
		{"log1p", array_log1p, ref_log1p, 1.5, 1.5, {{-1, 1}, {-0.01, 0.01}, {-0.4, 0.6}, {0, 100}},
				0, 0},
		{"expm1", array_expm1, ref_expm1, 3, 3, {{-1, 1}, {-0.01, 0.01}, {-45, 45}, {-110, 710}}, 0,
				1},
		{"erf", array_erf, ref_erf, 1.5, 1.5, {{-1, 1}, {0.9, 1.1}, {-7, 7}, {-2, 2}}, 0, 1},
		{"erfc", array_erfc, ref_erfc, 5, 5, {{-1, 1}, {0.3, 1.2}, {-7, 11}, {-2, 28}}, 1, 1},
		{"logcdf", logcdf, ref_logcdf, 6, 6, {{-1, 1}, {-10, 10}, {-40, 40}, {-1000, 15}}, 0, 1},
		{"ratio", ratio, ref_ratio, 7, 7, {{-1, 1}, {-10, 10}, {-40, 40}, {-1000, 15}}, 1, 1},
		{"sqrt", array_sqrt, ref_sqrt, 0.5, 0.5, {{0, 1}, {0, 1e6}, {1, 4}, {0, 1e-30}}, 0, 0},
};
#define FUNCTIONS ((int)(sizeof functions / sizeof functions[0]))

#define ISAS test_isas.count
static struct {
	odvgp_blas blas;
	void *block;
	int there;
} engines[TEST_ISAS];

static void start_engines(void)
{
	size_t bytes = odvgp_blas_size(NULL, NULL);
	int i;
	for (i = 0; i < ISAS; i++) {
		engines[i].block = test_alloc(bytes);
		engines[i].there = odvgp_blas_init(&engines[i].blas, NULL, test_isas.isa[i],
								   engines[i].block, bytes, NULL) == ODVGP_OK;
	}
}
static void stop_engines(void)
{
	int i;
	for (i = 0; i < ISAS; i++) free(engines[i].block);
}

/*  1 if the current instruction set takes subnormal numbers for 0. */
static int flushes;
/*  Returns the distance in units of the last place of `want` rounded to odvgp_real; beyond the
    largest number infinity is correct. */
static double places(odvgp_real got, wide want)
{
	int e, digits = BY_PRECISION(53, 24), least = BY_PRECISION(-1074, -149);
	if (want != want || got != got) return want != want && got != got ? 0 : HUGE_VAL;
	if (fabsl(want) > (wide)HUGE_REAL * (1 + (wide)EPS / 4))
		return fabs((double)got) >= HUGE_REAL && (got > 0) == (want > 0) ? 0 : HUGE_VAL;
	if (fabs((double)got) > HUGE_REAL) return HUGE_VAL;
	if (got == want || (flushes && fabsl((wide)got - want) <= (wide)TINY)) return 0;
	frexpl(want, &e);
	e = want == 0 || e - digits < least ? least : e - digits;
	return (double)ldexpl(fabsl((wide)got - want), -e);
}

static odvgp_real any_bits(void)
{
	gp__u_c b = (gp__u_c)test_bits();
	return gp__real_c(b);
}

/*  The number of arguments per range; five times as many per function. */
enum { FEW = 20000, MANY = 2000000 };
static int points(void) { return getenv("ODVGP_TEST_ALL") ? MANY : FEW; }

/*  If long double is no longer than double, the reference itself has an error in its last place. */
static const double slack = LDBL_MANT_DIG < BY_PRECISION(60, 32) ? 1.5 : 0;

TEST(errors_stay_below_the_stated_bounds)
{
	const int count = points();
	odvgp_real *x = NEW(odvgp_real, count), *y = NEW(odvgp_real, count);
	wide *want = NEW(wide, count);
	int k, r, i, e;
	for (k = 0; k < FUNCTIONS; k++) {
		const struct function *f = &functions[k];
		double worst[TEST_ISAS] = {0}, at[TEST_ISAS] = {0},
			   bound = BY_PRECISION(f->bound_f64, f->bound_f32);
		for (r = 0; r < 5; r++) {
			for (i = 0; i < count; i++) {
				x[i] = r < 4 ? (odvgp_real)test_between(f->range[r][0], f->range[r][1])
							 : any_bits();
				want[i] = f->ref((wide)x[i]);
			}
			for (e = 0; e < ISAS; e++) {
				if (!engines[e].there) continue;
				f->f(&engines[e].blas, count, x, y);
				flushes = test_flushes(odvgp_blas_isa(&engines[e].blas));
				for (i = 0; i < count; i++) {
					if (flushes && fabs((double)x[i]) < TINY) continue;
					double off = places(y[i], want[i]);
					if (!(off <= worst[e])) worst[e] = off, at[e] = (double)x[i];
				}
			}
		}
		for (e = 0; e < ISAS; e++) {
			if (!engines[e].there) continue;
			CHECK_SAY(worst[e] <= bound + slack, "%s on %s is off by %.3f places at %.17g", f->name,
					odvgp_blas_isa(&engines[e].blas), worst[e], at[e]);
		}
	}
	free(x);
	free(y);
	free(want);
}

/*  log Phi over its whole range, where formulas and exponents of the result change, and at the
    worst arguments that long searches have found. */
TEST(logcdf_stays_below_its_bound_everywhere)
{
	static const double edge[] = {-1e4, -40, -8, -1.5, -0.51, -0.49, 0, 0.3, 0.5, 0.55, 0.7, 0.74,
			0.86, 0.99, 1.01, 1.19, 1.28, 2, 3, 9, 15, 38.6};
	static const double worst[] = {0.78411088772038184, 0.77530491774832411, 0.52774660507771909,
			2.1635412185602783, 0.89428876262654289, 5.1815380448027142, 0.77057915925979614,
			2.4253189563751221};
	enum {
		EDGES = sizeof edge / sizeof *edge,
		WORST = sizeof worst / sizeof *worst,
		EACH = 3000,
		ALL = (EDGES - 1) * EACH + WORST
	};
	odvgp_real *x = NEW(odvgp_real, ALL), *y = NEW(odvgp_real, ALL);
	wide *want = NEW(wide, ALL);
	int i, e;
	for (i = 0; i < ALL; i++) {
		x[i] = (odvgp_real)(i < WORST ? worst[i]
									  : test_between(edge[(i - WORST) / EACH],
												edge[(i - WORST) / EACH + 1]));
		want[i] = ref_logcdf((wide)x[i]);
	}
	for (e = 0; e < ISAS; e++) {
		if (!engines[e].there) continue;
		flushes = test_flushes(odvgp_blas_isa(&engines[e].blas));
		array_logcdf(&engines[e].blas, ALL, x, y, NULL);
		for (i = 0; i < ALL; i++)
			CHECK_SAY(places(y[i], want[i]) <= 6 + slack,
					"logcdf on %s is off by %.3f places at %.17g", odvgp_blas_isa(&engines[e].blas),
					places(y[i], want[i]), (double)x[i]);
	}
	free(x), free(y), free(want);
}

/*  The grid is much finer than the function's features but coarser than the last place. */
TEST(functions_rise_or_fall)
{
	const int count = points();
	odvgp_real *x = NEW(odvgp_real, count), *y = NEW(odvgp_real, count);
	int k, r, i, e;
	for (k = 0; k < FUNCTIONS; k++)
		for (r = 0; r < 4; r++) {
			const struct function *f = &functions[k];
			double lo = f->range[r][0], hi = f->range[r][1];
			ptrdiff_t n = BY_PRECISION(count, 500);
			for (i = 0; i < n; i++) x[i] = (odvgp_real)(lo + (hi - lo) * i / (double)n);
			for (e = 0; e < ISAS; e++) {
				if (!engines[e].there) continue;
				f->f(&engines[e].blas, n, x, y);
				for (i = 1; i < n; i++)
					CHECK_SAY(f->falls ? y[i] <= y[i - 1] : y[i] >= y[i - 1], "%s at %.17g",
							f->name, (double)x[i]);
			}
		}
	free(x);
	free(y);
}

static int same(odvgp_real a, double b)
{
	odvgp_real c = (odvgp_real)b;
	return a != a || c != c ? a != a && c != c : a == c && (signbit(a) != 0) == (signbit(c) != 0);
}

TEST(special_values)
{
	const double inf = HUGE_VAL, nan = (double)NAN, most = HUGE_REAL,
				 tiny = BY_PRECISION(4.9406564584124654e-324, 1.40129846e-45);
	const struct {
		call *f;
		double x, y;
	} cases[] = {
			{array_exp, 0, 1},
			{array_exp, -0.0, 1},
			{array_exp, inf, inf},
			{array_exp, -inf, 0},
			{array_exp, most, inf},
			{array_exp, -most, 0},
			{array_exp, tiny, 1},
			{array_exp, -tiny, 1},
			{array_log, 0, -inf},
			{array_log, -0.0, -inf},
			{array_log, 1, 0},
			{array_log, inf, inf},
			{array_log, -inf, nan},
			{array_log, -1, nan},
			{array_log, -tiny, nan},
			{array_log1p, 0, 0},
			{array_log1p, -0.0, -0.0},
			{array_log1p, -1, -inf},
			{array_log1p, -2, nan},
			{array_log1p, inf, inf},
			{array_log1p, -inf, nan},
			{array_log1p, tiny, tiny},
			{array_log1p, -tiny, -tiny},
			{array_expm1, 0, 0},
			{array_expm1, -0.0, -0.0},
			{array_expm1, inf, inf},
			{array_expm1, -inf, -1},
			{array_expm1, most, inf},
			{array_expm1, -most, -1},
			{array_expm1, tiny, tiny},
			{array_expm1, -tiny, -tiny},
			{array_erf, 0, 0},
			{array_erf, -0.0, -0.0},
			{array_erf, inf, 1},
			{array_erf, -inf, -1},
			{array_erf, most, 1},
			{array_erf, -most, -1},
			{array_erf, tiny, tiny},
			{array_erfc, 0, 1},
			{array_erfc, -0.0, 1},
			{array_erfc, inf, 0},
			{array_erfc, -inf, 2},
			{array_erfc, most, 0},
			{array_erfc, -most, 2},
			{array_erfc, tiny, 1},
			{logcdf, -inf, -inf},
			{logcdf, -most, -inf},
			{ratio, inf, 0},
			{ratio, -inf, inf},
			{ratio, most, 0},
			{array_sqrt, 0, 0},
			{array_sqrt, -0.0, -0.0},
			{array_sqrt, inf, inf},
			{array_sqrt, -1, nan},
			{array_sqrt, -inf, nan},
	};
	int i, e, k;
	for (e = 0; e < ISAS; e++) {
		if (!engines[e].there) continue;
		for (i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++) {
			odvgp_real x = (odvgp_real)cases[i].x, y = 7;
			if (test_flushes(odvgp_blas_isa(&engines[e].blas)) && x != 0 && fabs((double)x) < TINY)
				continue;
			cases[i].f(&engines[e].blas, 1, &x, &y);
			CHECK_SAY(same(y, cases[i].y), "case %d on %s: f(%g) is %g, not %g", i,
					odvgp_blas_isa(&engines[e].blas), (double)x, (double)y, cases[i].y);
		}
		for (k = 0; k < FUNCTIONS; k++) {
			odvgp_real x[2] = {(odvgp_real)NAN, -(odvgp_real)NAN}, y[2] = {0, 0};
			functions[k].f(&engines[e].blas, 2, x, y);
			CHECK_SAY(y[0] != y[0] && y[1] != y[1], "%s of NaN", functions[k].name);
		}
		odvgp_real x[2] = {(odvgp_real)HUGE_VAL, (odvgp_real)HUGE_REAL}, y[2], d[2];
		array_logcdf(&engines[e].blas, 2, x, y, d);
		CHECK(y[0] == 0 && y[1] == 0);
		/* Subnormal results are covered completely. */
		x[0] = (odvgp_real)BY_PRECISION(-745.13, -103.97);
		x[1] = (odvgp_real)BY_PRECISION(709.78, 88.72);
		array_exp(&engines[e].blas, 2, x, y);
		CHECK(y[0] > 0 && (double)y[0] <= 2 * tiny && (double)y[1] <= most &&
				(double)y[1] > 0.9 * most);
	}
}

#define LENGTHS 131
TEST(a_result_does_not_depend_on_its_place)
{
	odvgp_real x[LENGTHS + 8], y[LENGTHS + 8], z[LENGTHS + 8], d[LENGTHS + 8], all[LENGTHS],
			ratios[LENGTHS];
	int k, e, i, shift;
	ptrdiff_t n;
	for (k = 0; k < FUNCTIONS; k++)
		for (e = 0; e < ISAS; e++) {
			if (!engines[e].there) continue;
			for (i = 0; i < LENGTHS; i++)
				x[i] = (odvgp_real)(functions[k].all ? test_between(-9, 9) : test_between(0, 9));
			for (i = 0; i < LENGTHS; i++) functions[k].f(&engines[e].blas, 1, x + i, all + i);
			for (n = 0; n < LENGTHS; n++) {
				shift = (int)(n % 8);
				for (i = 0; i < LENGTHS + 8; i++) y[i] = z[i] = -77;
				functions[k].f(&engines[e].blas, n, x, y + shift);
				CHECK_SAY(!memcmp(y + shift, all, (size_t)n * sizeof *y), "%s, %d numbers",
						functions[k].name, (int)n);
				for (i = 0; i < LENGTHS + 8; i++)
					CHECK((i >= shift && i < shift + n) || y[i] == -77);
				/* In place. */
				memcpy(z + shift, x, (size_t)n * sizeof *z);
				functions[k].f(&engines[e].blas, n, z + shift, z + shift);
				CHECK_SAY(!memcmp(z, y, sizeof z), "%s in place, %d numbers", functions[k].name,
						(int)n);
			}
		}
	/* Either output may be the input. */
	for (e = 0; e < ISAS; e++) {
		if (!engines[e].there) continue;
		for (i = 0; i < LENGTHS; i++) x[i] = (odvgp_real)test_between(-9, 9);
		array_logcdf(&engines[e].blas, LENGTHS, x, all, ratios);
		memcpy(y, x, sizeof y);
		array_logcdf(&engines[e].blas, LENGTHS, y, y, d);
		CHECK(!memcmp(y, all, sizeof all) && !memcmp(d, ratios, sizeof ratios));
		memcpy(d, x, sizeof d);
		array_logcdf(&engines[e].blas, LENGTHS, d, y, d);
		CHECK(!memcmp(y, all, sizeof all) && !memcmp(d, ratios, sizeof ratios));
	}
}

/*  Radial functions, whose vectors may take different ways to a root: the same bits at either end
    of a chunk. */
TEST(a_kernel_does_not_depend_on_its_place)
{
	const int least = sizeof(odvgp_real) == 4 ? -28 : -288;
	odvgp_real d2[2][GP__CHUNK], k[2][GP__CHUNK], dk[2][GP__CHUNK];
	int e, type, i, end, round;
	for (e = 0; e < ISAS; e++) {
		if (!engines[e].there) continue;
		for (type = 0; type < GP__BASE_KERNEL_TYPES; type++)
			for (round = 0; round < 3000 && gp__base_kernel_kinds[type].radial == type; round++) {
				for (i = 0; i < GP__CHUNK; i++)
					d2[0][i] = (odvgp_real)(round % 2 ? test_between(0, 100)
													  : pow(10, test_between(least, 6)));
				d2[0][0] = 0;
				d2[0][1] = GP__FAR;
				for (i = 0; i < GP__CHUNK; i++) d2[1][i] = d2[0][GP__CHUNK - 1 - i];
				for (end = 0; end < 2; end++)
					engines[e].blas.isa->radial(type, 2, 1, d2[end], NULL, k[end], dk[end]);
				for (i = 0; i < GP__CHUNK; i++)
					CHECK(k[0][i] == k[1][GP__CHUNK - 1 - i] &&
							dk[0][i] == dk[1][GP__CHUNK - 1 - i]);
			}
	}
}

/*  2^-w of the kernels: their exponential, or 0 where it would be subnormal. */
TEST(kernels_decay_like_exp)
{
	odvgp_real d2[GP__CHUNK], k[GP__CHUNK], dk[GP__CHUNK], again[GP__CHUNK];
	int e, type, i, round;
	for (e = 0; e < ISAS; e++) {
		if (!engines[e].there) continue;
		for (type = 0; type < GP__BASE_KERNEL_TYPES; type++)
			for (round = 0; round < 300 && gp__base_kernel_kinds[type].radial == type; round++) {
				odvgp_real v = (odvgp_real)test_between(0.1, 3),
						   scale = (odvgp_real)test_between(0.1, 3);
				for (i = 0; i < GP__CHUNK; i++)
					d2[i] = (odvgp_real)(round % 2 ? test_between(0, 4) : test_between(0, 400));
				d2[0] = 0;
				d2[1] = GP__FAR;
				d2[2] = (odvgp_real)NAN;
				engines[e].blas.isa->radial(type, v, scale, d2, NULL, k, dk);
				engines[e].blas.isa->radial(type, v, scale, d2, NULL, again, NULL);
				CHECK_BITS(k, again, sizeof k);
				CHECK(k[0] == v && k[1] == 0 && dk[1] == 0 && k[2] != k[2]);
				for (i = 0; i < GP__CHUNK; i++) {
					wide r2 = (wide)d2[i] * (wide)scale, s, want, dwant;
					if (i == 1 || i == 2) continue;
					switch (type) {
					case GP__RBF: want = expl(-r2 / 2), dwant = -want / 2, s = r2 / 2; break;
					case GP__MATERN12:
						s = sqrtl(r2), want = expl(-s), dwant = s > 0 ? -want / s / 2 : 0;
						break;
					case GP__MATERN32:
						s = sqrtl(3 * r2), want = (1 + s) * expl(-s), dwant = -1.5L * expl(-s);
						break;
					case GP__MATERN52:
						s = sqrtl(5 * r2), want = (1 + s + s * s / 3) * expl(-s),
						dwant = -5 * (1 + s) * expl(-s) / 6;
						break;
					default:
						s = want = dwant = 0;
						CHECK_SAY(0, "radial function %d is not known here", type);
					}
					/* The error of the result for one rounding in the exponent. */
					double off = (4 + 4 * (double)s) * EPS;
					CHECK_NEAR((wide)k[i] / v, want, off * (double)want + 2 * TINY);
					CHECK_NEAR((wide)dk[i] / v, dwant, off * fabs((double)dwant) + 2 * TINY);
				}
			}
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	start_engines();
	RUN(errors_stay_below_the_stated_bounds);
	RUN(logcdf_stays_below_its_bound_everywhere);
	RUN(functions_rise_or_fall);
	RUN(special_values);
	RUN(a_result_does_not_depend_on_its_place);
	RUN(a_kernel_does_not_depend_on_its_place);
	RUN(kernels_decay_like_exp);
	stop_engines();
	return test_end();
}

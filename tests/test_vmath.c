/*  Arithmetic over arrays: errors in units in the last place over the whole range, special values, the same bits wherever a number stands. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"

typedef long double wide;

#ifdef ODVGP_FLOAT
enum { DIGITS = 24, LEAST = -149, LAST = 127 }; /* exponents of the smallest and the largest number */
#else
enum { DIGITS = 53, LEAST = -1074, LAST = 1023 };
#endif

/*  Where long double is no longer than double, the reference itself is wrong in its last place. */
static const double slack = LDBL_MANT_DIG < DIGITS + 8 ? 1.5 : 0;

/* ---- references ---- */

static const wide half_root = 0.70710678118654752440084436210485L;
/*  phi(x) / Phi(x) for x <= -10 by its continued fraction t + 1/(t + 2/(t + 3/(...))), t = -x. */
static wide far_slope(wide t) {
    wide f = t;
    int k;
    for (k = 200; k > 0; k--) f = t + k / f;
    return f;
}
static wide logcdf_reference(wide x) {
    if (x > 0) return log1pl(-0.5L * erfcl(x * half_root));
    if (x > -10) return logl(0.5L * erfcl(-x * half_root));
    return -x * x / 2 - 0.91893853320467274178032973640562L - logl(far_slope(-x));
}
static wide slope_reference(wide x) {
    if (x > -10) return 0.39894228040143267793994605993438L * expl(-x * x / 2) / (0.5L * erfcl(-x * half_root));
    return far_slope(-x);
}

typedef struct function {
    const char *name;
    void (*map)(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *x, odvgp_real *y);
    wide (*reference)(wide x);
    double bound; /* as odvgp.h states it */
} function;

static void map_logcdf(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *x, odvgp_real *y) { odvgp_vlogcdf(blas, n, x, y, NULL); }
static void map_slope(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *x, odvgp_real *y) {
    ptrdiff_t i;
    odvgp_real *rest = NEW(odvgp_real, n);
    for (i = 0; i < n; i++) rest[i] = x[i];
    odvgp_vlogcdf(blas, n, rest, rest, y);
    free(rest);
}

enum { EXP, EXPM1, LOG, LOG1P, ERF, ERFC, LOGCDF, SLOPE, ROOT, FUNCTIONS };
static const function functions[FUNCTIONS] = {
    {"exp", odvgp_vexp, expl, 2},          {"expm1", odvgp_vexpm1, expm1l, 3}, {"log", odvgp_vlog, logl, 2},
    {"log1p", odvgp_vlog1p, log1pl, 2},    {"erf", odvgp_verf, erfl, 2},       {"erfc", odvgp_verfc, erfcl, 5},
    {"logcdf", map_logcdf, logcdf_reference, 6}, {"slope of logcdf", map_slope, slope_reference, 8}, {"sqrt", odvgp_vsqrt, sqrtl, 0.5},
};

/*  |got - want| in units in the last place of want, as a real holds it. */
static double ulps(odvgp_real got, wide want) {
    int e, unit;
    odvgp_real rounded = (odvgp_real)want;
    if (want != want || got != got) return got != got && want != want ? 0 : HUGE_VAL;
    if (got == rounded) return 0;
    if (isinf(got) || isinf(rounded)) return HUGE_VAL;
    frexpl(want, &e);
    unit = e - DIGITS > LEAST ? e - DIGITS : LEAST;
    return (double)(fabsl((wide)got - want) / ldexpl(1, unit));
}

static odvgp_blas blas_of[TEST_ISAS];
static void *blocks[TEST_ISAS];

enum { SWEEP = 4096 };

/*  n steps from `from` to `to`, or of the exponents of sign 2^t. */
static void sweep(int f, int logarithmic, double sign, double from, double to) {
    const function *fn = &functions[f];
    odvgp_real *x = NEW(odvgp_real, SWEEP), *y = NEW(odvgp_real, SWEEP);
    int i, isa, turn, turns = getenv("ODVGP_TEST_ALL") ? 500 : 3;
    for (isa = 0; isa < test_isas.count; isa++) {
        double worst = 0, at = 0;
        for (turn = 0; turn < turns; turn++) {
            for (i = 0; i < SWEEP; i++) {
                double t = from + (to - from) * (turn + (i + 0.5) / SWEEP) / turns;
                x[i] = (odvgp_real)(logarithmic ? sign * exp2(t) : t);
            }
            fn->map(&blas_of[isa], SWEEP, x, y);
            for (i = 0; i < SWEEP; i++) {
                double u = ulps(y[i], fn->reference((wide)x[i]));
                if (!(u <= worst)) worst = u, at = (double)x[i];
            }
        }
        CHECK_SAY(worst <= fn->bound + slack, "%s, %s: %.2f units in the last place at %.17g", fn->name, test_isas.name[isa], worst, at);
    }
    free(x), free(y);
}

TEST(exponentials) {
    double low = BY_PRECISION(-750, -105), high = BY_PRECISION(712, 90);
    sweep(EXP, 0, 0, low, high);
    sweep(EXP, 0, 0, BY_PRECISION(-746, -104), BY_PRECISION(-707, -86)); /* subnormal results */
    sweep(EXP, 0, 0, -1, 1);
    sweep(EXP, 1, 1, LEAST, 0), sweep(EXP, 1, -1, LEAST, 0);
    sweep(EXPM1, 0, 0, -60, high);
    sweep(EXPM1, 0, 0, -2, 2);
    sweep(EXPM1, 1, 1, LEAST, LAST), sweep(EXPM1, 1, -1, LEAST, LAST);
}
TEST(logarithms) {
    sweep(LOG, 1, 1, LEAST, LAST);
    sweep(LOG, 0, 0, 0.5, 2);
    sweep(LOG1P, 1, 1, LEAST, LAST), sweep(LOG1P, 1, -1, LEAST, 0);
    sweep(LOG1P, 0, 0, -0.9999, 3);
    sweep(ROOT, 1, 1, LEAST, LAST);
}
TEST(error_functions) {
    double end = BY_PRECISION(28, 11);
    sweep(ERF, 0, 0, -7, 7);
    sweep(ERF, 1, 1, LEAST, 4), sweep(ERF, 1, -1, LEAST, 4);
    sweep(ERFC, 0, 0, -7, end);
    sweep(ERFC, 0, 0, 0.4, 0.6);
    sweep(ERFC, 1, 1, LEAST, 6), sweep(ERFC, 1, -1, LEAST, LAST);
}
TEST(log_of_the_normal_distribution) {
    sweep(LOGCDF, 0, 0, -45, 45);
    sweep(LOGCDF, 0, 0, -2, 2);
    sweep(LOGCDF, 1, -1, LEAST, LAST / 2), sweep(LOGCDF, 1, 1, LEAST, LAST);
    sweep(SLOPE, 0, 0, -45, 45);
    sweep(SLOPE, 0, 0, -2, 2);
    sweep(SLOPE, 1, -1, LEAST, LAST - 4);
}

/*  Zeros, infinities, NaN, the ends of the range: as C's own functions have them, signs of zeros included. */
TEST(special_values) {
    const odvgp_real big = BY_PRECISION(DBL_MAX, FLT_MAX), tiny = BY_PRECISION(DBL_MIN, FLT_MIN), infinity = (odvgp_real)HUGE_VAL;
    odvgp_real x[16], y[16];
    int f, isa, i, n = 0;
    x[n++] = 0, x[n++] = -x[0], x[n++] = infinity, x[n++] = -infinity, x[n++] = (odvgp_real)NAN;
    x[n++] = big, x[n++] = -big, x[n++] = tiny, x[n++] = -tiny, x[n++] = (odvgp_real)ldexp(1, LEAST), x[n++] = 1, x[n++] = -1, x[n++] = -2;
    for (isa = 0; isa < test_isas.count; isa++)
        for (f = 0; f < FUNCTIONS; f++) {
            if (f == SLOPE) continue; /* at -infinity and -big ours ends at a large number */
            functions[f].map(&blas_of[isa], n, x, y);
            for (i = 0; i < n; i++) {
                wide want = x[i] < 0 && !(x[i] > -big) && f == LOGCDF ? -(wide)HUGE_VAL : functions[f].reference((wide)x[i]);
                CHECK_SAY(ulps(y[i], want) <= functions[f].bound + slack, "%s, %s of %g: %g, not %g", test_isas.name[isa], functions[f].name,
                          (double)x[i], (double)y[i], (double)want);
                if (want == 0 && y[i] == 0 && x[i] == 0)
                    CHECK_SAY(!signbit(y[i]) == !signbit(want), "%s, %s of %g: the sign of 0", test_isas.name[isa], functions[f].name, (double)x[i]);
            }
        }
}

/*  A number's result does not depend on its place, on the length, on alignment; y may be x. */
TEST(the_place_does_not_matter) {
    enum { MOST = 130 };
    odvgp_real x[MOST + 1], y[MOST + 3], all[MOST], one;
    int f, isa, n, i, shift;
    for (i = 0; i < MOST; i++) x[i] = (odvgp_real)(0.001 + 0.07 * i);
    for (isa = 0; isa < test_isas.count; isa++)
        for (f = 0; f < FUNCTIONS; f++) {
            functions[f].map(&blas_of[isa], MOST, x, all);
            for (n = 0; n <= MOST; n += n < 8 ? 1 : 13)
                for (shift = 0; shift < 3; shift++) {
                    for (i = 0; i < MOST + 3; i++) y[i] = -77;
                    for (i = 0; i < n; i++) y[shift + i] = x[i];
                    functions[f].map(&blas_of[isa], n, y + shift, y + shift);
                    CHECK_SAY(!memcmp(y + shift, all, (size_t)n * sizeof *y), "%s, %s, %d numbers, shifted by %d", test_isas.name[isa], functions[f].name, n, shift);
                    for (i = 0; i < MOST + 3; i++)
                        if ((i < shift || i >= shift + n) && y[i] != -77) CHECK_SAY(0, "%s writes beyond its end", functions[f].name);
                }
            functions[f].map(&blas_of[isa], 1, x + 77, &one);
            CHECK_BITS(&one, all + 77, sizeof one);
        }
}

int main(int argc, char **argv) {
    int isa;
    test_begin(argc, argv);
    for (isa = 0; isa < test_isas.count; isa++) {
        size_t bytes = odvgp_blas_size(NULL);
        blocks[isa] = test_alloc(bytes);
        if (odvgp_blas_init(&blas_of[isa], NULL, test_isas.isa[isa], blocks[isa], bytes)) return 1;
    }
    RUN(exponentials);
    RUN(logarithms);
    RUN(error_functions);
    RUN(log_of_the_normal_distribution);
    RUN(special_values);
    RUN(the_place_does_not_matter);
    for (isa = 0; isa < test_isas.count; isa++) free(blocks[isa]);
    return test_end();
}

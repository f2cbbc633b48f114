/*  vmath.h - arithmetic on arrays beside a loop of the C library's function. Part of bench.c.

    A row holds a name, our function for n numbers, the library's for one, and the range of
    arguments. */

#include "../tests/arrays.h"

/*  Both arrays stay in the first-level cache, or nearly. */
enum { VMATH_N = 4096 };

static void vmath_logcdf(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *x, odvgp_real *y)
{
	array_logcdf(blas, n, x, y, NULL);
}

/*  This formula, log(erfc(...) / 2), is good only for moderate arguments. */
static odvgp_real libm_logcdf(odvgp_real x)
{
	return (odvgp_real)log(0.5 * erfc(-0.70710678118654752 * (double)x));
}

#ifdef ODVGP_FLOAT
#define VMATH_LIBM(name) name##f
#else
#define VMATH_LIBM(name) name
#endif

typedef struct vmath_row {
	const char *name;
	void (*ours)(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *x, odvgp_real *y);
	odvgp_real (*libm)(odvgp_real x);
	double from, to;
} vmath_row;

/*  Kernels take exp of arguments in this range. */
static const vmath_row vmath_rows[] = {
		{"exp", array_exp, VMATH_LIBM(exp), -20, 0},
		{"expm1", array_expm1, VMATH_LIBM(expm1), -2, 2},
		{"log", array_log, VMATH_LIBM(log), 0.01, 100},
		{"log1p", array_log1p, VMATH_LIBM(log1p), -0.9, 10},
		{"erf", array_erf, VMATH_LIBM(erf), -3, 3},
		{"erfc", array_erfc, VMATH_LIBM(erfc), -3, 10},
		{"log Phi", vmath_logcdf, libm_logcdf, -5, 5},
		{"sqrt", array_sqrt, VMATH_LIBM(sqrt), 0, 100},
};

static void bench_vmath(void)
{
	odvgp_threads serial = {NULL, NULL, 0};
	odvgp_blas blas;
	size_t bytes = odvgp_blas_size(&serial, NULL);
	void *block = reserve(bytes);
	odvgp_real *x = reserve_reals(VMATH_N), *y = reserve_reals(VMATH_N);
	check(odvgp_blas_init(&blas, &serial, option.isa, block, bytes, NULL), "instruction set", NULL);
	printf("\nVector math, nanoseconds for one number, arrays of %d, one thread; best and median\n"
		   "%-9s %9s %9s %9s %9s %7s\n",
			VMATH_N, "function", "ours", "", "libm", "", "ratio");
	for (size_t r = 0; r < sizeof vmath_rows / sizeof *vmath_rows; r++) {
		const vmath_row *row = &vmath_rows[r];
		double times[2][MOST_REPEATS], scale = 1e9 / VMATH_N / 20;
		gauge g = gauge_start(&serial, 1);
		for (int i = 0; i < VMATH_N; i++)
			x[i] = (odvgp_real)(row->from + (row->to - row->from) * uniform());
		for (int k = 0; k < option.repeats; k++) {
			double from = now();
			for (int i = 0; i < 20; i++) row->ours(&blas, VMATH_N, x, y);
			times[0][k] = scale * (now() - from);
			from = now();
			for (int i = 0; i < 20; i++)
				for (int j = 0; j < VMATH_N; j++) y[j] = row->libm(x[j]);
			times[1][k] = scale * (now() - from);
		}
		for (int w = 0; w < 2; w++)
			qsort(times[w], (size_t)option.repeats, sizeof times[w][0], by_size);
		printf("%-9s %9.2f %9.2f %9.2f %9.2f %7.2f%s\n", row->name, times[0][0],
				times[0][option.repeats / 2], times[1][0], times[1][option.repeats / 2],
				times[1][0] / times[0][0], gauge_mark(&g));
	}
	fflush(stdout);
	free(x);
	free(y);
	free(block);
}

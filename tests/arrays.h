/*  Applies the library's maps over chunks to arrays of any length: whole chunks, then the rest
    in a padded chunk. y may be x; dy, of logcdf, may be NULL. For the tests and the benchmark of
    these functions. */
#ifndef ARRAYS_H
#define ARRAYS_H

static void array_map(const odvgp_blas *blas, int f, ptrdiff_t n, const odvgp_real *x,
		odvgp_real *y, odvgp_real *dy)
{
	const odvgp__simd *isa = blas->isa;
	odvgp_real rest[3][GP__CHUNK] = {{0}};
	ptrdiff_t i = 0;
	for (; i + GP__CHUNK <= n; i += GP__CHUNK) isa->map[f](x + i, y + i, dy ? dy + i : NULL);
	if (i >= n) return;
	memcpy(rest[0], x + i, (size_t)(n - i) * sizeof *x);
	isa->map[f](rest[0], rest[1], rest[2]);
	memcpy(y + i, rest[1], (size_t)(n - i) * sizeof *y);
	if (dy) memcpy(dy + i, rest[2], (size_t)(n - i) * sizeof *dy);
}

#define ARRAY_MAP(name, f) \
	static void name(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *x, odvgp_real *y) \
	{ \
		array_map(blas, f, n, x, y, NULL); \
	}
ARRAY_MAP(array_exp, GP__EXP)
ARRAY_MAP(array_expm1, GP__EXPM1)
ARRAY_MAP(array_log, GP__LOG)
ARRAY_MAP(array_log1p, GP__LOG1P)
ARRAY_MAP(array_erf, GP__ERF)
ARRAY_MAP(array_erfc, GP__ERFC)
ARRAY_MAP(array_sqrt, GP__VSQRT)

static void array_logcdf(
		const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *x, odvgp_real *y, odvgp_real *dy)
{
	array_map(blas, GP__LOGCDF, n, x, y, dy);
}
#endif

/*  For tests of dense linear algebra against plain counterparts, on every instruction set of this
    machine, serial and cut into tasks. Errors stay within a few n eps. Everything outside the
    operands is NaN, and it is neither read nor written. Any number of tasks gives the same bits.
    Pointers are aligned to only one element.

    By default a program takes a sample that covers all code paths, in a few seconds. The first
    argument `all`, or ODVGP_TEST_ALL in the environment, takes every size from 0 to 70. The first
    argument `small` takes sizes up to 20, for tools that are fifty times slower. */
#ifndef LINALG_H
#define LINALG_H

static enum { SMALL, SAMPLE, ALL } scale = SAMPLE;
static int by_scale(int small, int sample, int all)
{
	return scale == SMALL ? small : scale == SAMPLE ? sample : all;
}
/*  Chooses the number of random cases; the short form takes half of the sample. */
static int rounds(int small, int sample, int all)
{
	return by_scale(small, test_size(sample, (sample + 1) / 2), all);
}

/* ---- every instruction set, any number of tasks ---- */

typedef struct engine {
	odvgp_blas blas;
	void *block;
	int there;
} engine;

static int task_calls;
/*  Runs tasks one after another in a mixed order, each exactly once, as a hook without threads
    may. */
static void run_counted(void *user, int n, void (*task)(void *arg, int i), void *arg)
{
	int i;
	(void)user;
	for (i = n - 1; i >= 0; i -= 2) task(arg, i), task_calls++;
	for (i = n - 2; i >= 0; i -= 2) task(arg, i), task_calls++;
}

/*  The instruction sets of this machine, or the one that ODVGP_ISA names. */
#define ISAS     test_isas.count
#define isa_of   test_isas.isa
#define isa_name test_isas.name
#define CUTS     4
static const int cut_of[CUTS] = {1, 2, 3, 7};
static engine engines[TEST_ISAS][CUTS];

static void start_engines(void)
{
	int i, t;
	for (i = 0; i < ISAS; i++)
		for (t = 0; t < CUTS; t++) {
			engine *e = &engines[i][t];
			odvgp_threads hook = {NULL, NULL, 0};
			size_t bytes;
			odvgp_status s;
			if (cut_of[t] > 1) {
				hook.run = run_counted;
				hook.count = cut_of[t];
			}
			bytes = odvgp_blas_size(&hook, NULL);
			e->block = test_alloc(bytes);
			/* NaN: results must not depend on what the packing area held before. */
			memset(e->block, 0xff, bytes);
			s = odvgp_blas_init(&e->blas, &hook, isa_of[i], e->block, bytes, NULL);
			e->there = s == ODVGP_OK;
			if (!e->there) {
				free(e->block);
				e->block = NULL;
			}
		}
}
static void stop_engines(void)
{
	int i, t;
	for (i = 0; i < ISAS; i++)
		for (t = 0; t < CUTS; t++) free(engines[i][t].block);
}
/*  Whether the result is compared with that of one task. Small work is never cut, so an
    occasional comparison is enough for it. With a CBLAS the bits are not promised: results with
    any number of tasks are compared with the twin. */
#ifdef ODVGP_USE_CBLAS
#define OWN_BITS 0
#else
#define OWN_BITS 1
#endif
static int cuts_for(double work) { return work >= GP__TASK_WORK || test_below(16) == 0 ? CUTS : 1; }

/* ---- matrices surrounded by NaN ---- */

/*  Surroundings of operands hold a NaN that differs from other NaNs in its bits, so that the
    test detects any write there, even of a NaN. */
static odvgp_real pad;
static void start_pad(void)
{
	unsigned char bytes[sizeof pad];
	size_t i;
	/* All bits set are a NaN in any byte order. */
	for (i = 0; i < sizeof pad; i++) bytes[i] = 0xff;
	memcpy(&pad, bytes, sizeof pad);
}
static int is_pad(const odvgp_real *x) { return memcmp(x, &pad, sizeof pad) == 0; }

/*  The memory of one check; release() frees all of it. */
static struct {
	void *block[512];
	int n;
} memory;
static void *grab(size_t bytes)
{
	void *p = test_alloc(bytes);
	if (memory.n == 512) {
		printf("too many blocks in a test\n");
		exit(3);
	}
	return memory.block[memory.n++] = p;
}
static void release_to(int n)
{
	while (memory.n > n) free(memory.block[--memory.n]);
}
static void release(void) { release_to(0); }
static double *doubles(ptrdiff_t n)
{
	double *p = (double *)grab((size_t)(n + 1) * sizeof(double));
	ptrdiff_t i;
	for (i = 0; i < n; i++) p[i] = 0;
	return p;
}

enum { BEFORE = 4, AFTER = 8 };
static ptrdiff_t extent(ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld)
{
	return rows > 0 ? (rows - 1) * ld + cols : 0;
}
/*  Allocates `count` elements that all equal `pad`, with a guard band before them, and one after
    them if they are written. If they are only read, the allocation ends with the last element,
    so that the address sanitizer and valgrind see any read beyond. In half of all cases the
    first element is aligned to 16 bytes. */
static odvgp_real *band(ptrdiff_t count, int written)
{
	ptrdiff_t before = BEFORE + test_below(2), n = before + count + (written ? AFTER : 0), i;
	odvgp_real *p = (odvgp_real *)grab((size_t)n * sizeof *p);
	for (i = 0; i < n; i++) p[i] = pad;
	return p + before;
}
static odvgp_real *matrix(ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld, int written)
{
	odvgp_real *a = band(extent(rows, cols, ld), written);
	ptrdiff_t i, j;
	for (i = 0; i < rows; i++)
		for (j = 0; j < cols; j++) a[i * ld + j] = (odvgp_real)test_between(-1, 1);
	return a;
}
/*  Returns a writable copy. */
static odvgp_real *twin(const odvgp_real *a, ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld)
{
	ptrdiff_t n = extent(rows, cols, ld);
	odvgp_real *b = band(n, 1);
	if (n) memcpy(b, a, (size_t)n * sizeof *b);
	return b;
}
static int same(
		const odvgp_real *a, const odvgp_real *b, ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld)
{
	ptrdiff_t n = extent(rows, cols, ld);
	return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}
/*  Compares the guard bands of a written matrix and, with `lower`, the elements above its
    diagonal, with their earlier contents. */
static int untouched(const odvgp_real *a, const odvgp_real *was, ptrdiff_t rows, ptrdiff_t cols,
		ptrdiff_t ld, int lower)
{
	ptrdiff_t i, j, n = extent(rows, cols, ld);
	for (i = 1; i <= BEFORE; i++)
		if (!is_pad(a - i)) return 0;
	for (i = 0; i < AFTER; i++)
		if (!is_pad(a + n + i)) return 0;
	for (i = 0; i < rows; i++) {
		if (lower && i + 1 < cols &&
				memcmp(a + i * ld + i + 1, was + i * ld + i + 1,
						(size_t)(cols - i - 1) * sizeof *a))
			return 0;
		for (j = cols; j < ld && i + 1 < rows; j++)
			if (!is_pad(a + i * ld + j)) return 0;
	}
	return 1;
}
static void blank_above(odvgp_real *a, ptrdiff_t n, ptrdiff_t ld, odvgp_real with)
{
	ptrdiff_t i, j;
	for (i = 0; i < n; i++)
		for (j = i + 1; j < n; j++) a[i * ld + j] = with;
}
/*  Makes a lower triangular matrix with a diagonal of both signs that keeps it well conditioned;
    the elements above it must not be read. */
static odvgp_real *triangle(ptrdiff_t n, ptrdiff_t ld)
{
	odvgp_real *L = matrix(n, n, ld, 0);
	ptrdiff_t i, j;
	for (i = 0; i < n; i++) {
		for (j = 0; j < i; j++) L[i * ld + j] *= (odvgp_real)(1 / sqrt((double)n + 1.0));
		L[i * ld + i] = (odvgp_real)((test_below(2) ? 1 : -1) * test_between(0.8, 1.6));
	}
	blank_above(L, n, ld, pad);
	return L;
}
/*  Makes a symmetric positive definite matrix, given by its lower triangle. Large ones are sums
    over few columns plus a stronger ridge, to save time. */
static odvgp_real *definite(ptrdiff_t n, ptrdiff_t ld, double ridge)
{
	ptrdiff_t few = n > 100 ? 20 : n + 3, i, j, k;
	odvgp_real *G = matrix(n, few, few, 0), *A = band(extent(n, n, ld), 0);
	for (i = 0; i < n; i++)
		for (j = 0; j <= i; j++) {
			double s = 0;
			for (k = 0; k < few; k++) s += (double)G[i * few + k] * (double)G[j * few + k];
			A[i * ld + j] = (odvgp_real)(s + (i == j ? ridge * (n > 100 ? 10 : 1) : 0));
		}
	return A;
}
/*  1 if matrices have no padding. */
static int tight;
static ptrdiff_t padded(ptrdiff_t cols)
{
	return tight ? cols + (cols == 0) : cols + (test_below(3) ? test_below(6) : 0) + (cols == 0);
}
/*  Draws a size from 0 to 70, so that every remainder of the micro-kernels occurs, and some
    sizes up to 300. */
static ptrdiff_t some_size(int round)
{
	return scale == SMALL ? test_below(21) : round % 8 == 7 ? test_below(301) : test_below(71);
}
/*  Lists sizes around those at which the code path changes. */
static int around(ptrdiff_t from, ptrdiff_t to, ptrdiff_t *sizes, int n)
{
	for (; from <= to; from++) sizes[n++] = from;
	return n;
}

/* ---- residuals in double ---- */

/*  Returns op(a) as doubles without padding; `part` says which elements are zeros that need not
    be read. */
static double *dense(
		ptrdiff_t rows, ptrdiff_t cols, const odvgp_real *a, ptrdiff_t ld, int trans, int part)
{
	double *d = doubles(rows * cols);
	ptrdiff_t i, j;
	for (i = 0; i < rows; i++)
		for (j = 0; j < cols; j++)
			if (!(part == GP__LOWER && j > i) && !(part == GP__UPPER && j < i))
				d[i * cols + j] = (double)(trans ? a[j * ld + i] : a[i * ld + j]);
	return d;
}
/*  Returns the symmetric matrix of a lower triangle. */
static double *mirror(ptrdiff_t n, const odvgp_real *a, ptrdiff_t ld)
{
	double *d = doubles(n * n);
	ptrdiff_t i, j;
	for (i = 0; i < n; i++)
		for (j = 0; j <= i; j++) d[i * n + j] = d[j * n + i] = (double)a[i * ld + j];
	return d;
}
static void multiply(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const double *a, const double *b,
		double *sum, double *size)
{
	ptrdiff_t i, j, l;
	for (i = 0; i < m; i++)
		for (l = 0; l < k; l++) {
			const double f = a[i * k + l], *row = b + l * n;
			double *to = sum + i * n, *to_size = size + i * n;
			/* This is a zero of a triangle. */
			if (f == 0) continue;
			for (j = 0; j < n; j++) {
				double t = f * row[j];
				to[j] += t;
				to_size[j] += fabs(t);
			}
		}
}
/*  Returns the largest |B - T X| / (|B| + |T| |X|), T [m,k], X [k,n]: for each element, or for
    one random combination of the columns. */
static double residual(
		ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const double *T, const double *X, const double *B)
{
	double worst = 0;
	ptrdiff_t i, j;
	if ((double)m * (double)n * (double)k <= 3e5) {
		double *sum = doubles(m * n), *size = doubles(m * n);
		multiply(m, n, k, T, X, sum, size);
		for (i = 0; i < m * n; i++)
			worst = test_worse(worst, fabs(B[i] - sum[i]) / (fabs(B[i]) + size[i] + TINY));
	} else {
		double *v = doubles(n), *x = doubles(k), *a = doubles(k);
		for (j = 0; j < n; j++) v[j] = test_between(-1, 1);
		multiply(k, 1, n, X, v, x, a);
		for (i = 0; i < m; i++) {
			double r = 0, size = TINY;
			for (j = 0; j < n; j++) r += B[i * n + j] * v[j], size += fabs(B[i * n + j] * v[j]);
			for (j = 0; j < k; j++) r -= T[i * k + j] * x[j], size += fabs(T[i * k + j]) * a[j];
			worst = test_worse(worst, fabs(r) / size);
		}
	}
	return worst;
}

/*  Reads the scale of the sizes from the arguments or the environment, and starts all engines. */
static void linalg_begin(int argc, char **argv)
{
	const char *all = getenv("ODVGP_TEST_ALL");
	if (all && *all && strcmp(all, "0")) scale = ALL;
	if (argc > 1 && (!strcmp(argv[1], "all") || !strcmp(argv[1], "small"))) {
		scale = argv[1][0] == 'a' ? ALL : SMALL;
		argv[1] = argv[0];
		argc--, argv++;
	}
	test_begin(argc, argv);
	start_pad();
	start_engines();
}

#endif

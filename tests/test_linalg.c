/*  Dense linear algebra against plain counterparts, on every instruction set of this machine,
    serial and cut into tasks. Errors stay within a few n eps. Everything outside the operands is
    NaN, and it is neither read nor written. Any number of tasks gives the same bits. Pointers are
    aligned to only one element.

    By default the program takes a sample that covers all code paths, in a few seconds. The first
    argument `all`, or ODVGP_TEST_ALL in the environment, takes every size from 0 to 70. The first
    argument `small` takes sizes up to 20, for tools that are fifty times slower. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "reference.h"

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
			bytes = odvgp_blas_size(&hook);
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

TEST(instruction_sets)
{
	static const struct {
		odvgp_isa isa;
		const char *name;
	} known[] = {{ODVGP_ISA_C, "c"}, {ODVGP_ISA_AVX2, "avx2"}, {ODVGP_ISA_AVX512, "avx512"}};
	int i, t, there = 0;
	size_t k;
	char text[100] = "";
	odvgp_blas blas;
	odvgp_threads serial = {NULL, NULL, 0};
	size_t bytes = odvgp_blas_size(&serial);
	void *block = test_alloc(bytes);
	for (i = 0; i < ISAS; i++) {
		for (t = 0; t < CUTS; t++)
			CHECK_SAY(engines[i][t].there, "%s is there only sometimes", isa_name[i]);
		CHECK_SAY(!strcmp(odvgp_blas_isa(&engines[i][0].blas), isa_name[i]), "asked for %s, got %s",
				isa_name[i], odvgp_blas_isa(&engines[i][0].blas));
		strcat(strcat(text, i ? ", " : ""), isa_name[i]);
	}
	for (k = 0; k < sizeof known / sizeof *known; k++) {
		odvgp_status s = odvgp_blas_init(&blas, &serial, known[k].isa, block, bytes, NULL);
		if (s == ODVGP_OK)
			CHECK_SAY(!strcmp(odvgp_blas_isa(&blas), known[k].name), "%s is called %s",
					known[k].name, odvgp_blas_isa(&blas));
		else CHECK_STATUS(s, ODVGP_E_UNSUPPORTED);
		for (i = 0, there = 0; i < ISAS; i++) there |= isa_of[i] == known[k].isa;
		CHECK(test_isas.forced || there == (s == ODVGP_OK));
	}
	CHECK_STATUS(odvgp_blas_init(&blas, &serial, ODVGP_ISA_AUTO, block, bytes, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_blas_init(&blas, &serial, ODVGP_ISA_AUTO, block, bytes - 1, NULL),
			ODVGP_E_MEMORY);
	CHECK_STATUS(odvgp_blas_init(&blas, &serial, ODVGP_ISA_AUTO, NULL, bytes, NULL), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_blas_init(NULL, &serial, ODVGP_ISA_AUTO, block, bytes, NULL), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_blas_init(&blas, &serial, (odvgp_isa)99, block, bytes, NULL),
			ODVGP_E_UNSUPPORTED);
	/* NULL means serial. */
	CHECK_STATUS(odvgp_blas_init(&blas, NULL, ODVGP_ISA_C, block, bytes, NULL), ODVGP_OK);
	test_note("%s", text);
	free(block);
}

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
			double f = a[i * k + l], t;
			/* This is a zero of a triangle. */
			if (f == 0) continue;
			for (j = 0; j < n; j++) {
				t = f * b[l * n + j];
				sum[i * n + j] += t;
				size[i * n + j] += fabs(t);
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

/* ---- products: six routines, one twin ---- */

enum { GEMM, GEMMT, SYRK, TRMM, LAUUM, PARTS };
static const char *const product_name[] = {"gemm", "gemmt", "syrk", "trmm", "lauum", "mm_run"};

/*  Which element of op(A), op(B) or w is not finite. */
enum { HEALTHY, NAN_IN_A, INF_IN_A, NAN_IN_B, INF_IN_B, NAN_IN_W, POISONS };

typedef struct product {
	int routine, a_part, b_part, c_part, weights, poison;
	ptrdiff_t m, n, k;
	/* op(A) [m,k] and op(B) [k,n]. */
	double *a, *b;
	/* [k] or NULL. */
	odvgp_real *w;
	/* op(A) diag(w) op(B) and its sum of absolute terms; NULL if the product is checked by a
       vector. */
	double *sum, *size;
} product;

static int outside(int part, ptrdiff_t i, ptrdiff_t j)
{
	return (part == GP__LOWER && j > i) || (part == GP__UPPER && j < i);
}

/*  Values are exactly representable reals, held as doubles. `magnitude` scales op(A). */
static product make_product(int routine, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int a_part,
		int b_part, int c_part, int weights, int poison, double magnitude)
{
	product p;
	ptrdiff_t i, j, l;
	double *wb;
	int by_vector;
	memset(&p, 0, sizeof p);
	p.routine = routine, p.m = m, p.n = n, p.k = k, p.a_part = a_part, p.b_part = b_part,
	p.c_part = c_part, p.weights = weights, p.poison = poison;
	p.a = doubles(m * k);
	p.b = doubles(k * n);
	for (i = 0; i < m; i++)
		for (l = 0; l < k; l++)
			if (!outside(a_part, i, l))
				p.a[i * k + l] = (double)(odvgp_real)(magnitude * test_between(-1, 1));
	for (l = 0; l < k; l++)
		for (j = 0; j < n; j++)
			if (!outside(b_part, l, j)) p.b[l * n + j] = (double)(odvgp_real)test_between(-1, 1);
	if (weights) {
		p.w = band(k, 0);
		for (l = 0; l < k; l++)
			p.w[l] = (odvgp_real)(weights == 1 ? test_between(0.1, 2)
								  : l % 5 == 3 ? 0.0
											   : test_between(-2, 2));
		if (poison == NAN_IN_W && k) p.w[test_below(k)] = (odvgp_real)NAN;
	}
	if ((poison == NAN_IN_A || poison == INF_IN_A) && m * k > 0) {
		do i = test_below(m), l = test_below(k);
		while (outside(a_part, i, l));
		p.a[i * k + l] = poison == NAN_IN_A ? NAN : test_below(2) ? HUGE_VAL : -HUGE_VAL;
	}
	if ((poison == NAN_IN_B || poison == INF_IN_B) && n * k > 0) {
		do j = test_below(n), l = test_below(k);
		while (outside(b_part, l, j));
		p.b[l * n + j] = poison == NAN_IN_B ? NAN : test_below(2) ? HUGE_VAL : -HUGE_VAL;
	}
	by_vector = (double)m * (double)n * (double)k > 1e6 && routine != PARTS && !poison;
	/* op(A) determines op(B). For a large gemmt its rows are scaled, because the check by a
       vector needs a symmetric product. */
	if (routine == SYRK || routine == LAUUM || (routine == GEMMT && by_vector))
		for (l = 0; l < k; l++) {
			double f = routine == GEMMT ? (l % 3 == 1 ? -2 : 0.5) : 1;
			for (j = 0; j < n; j++) p.b[l * n + j] = f * p.a[j * k + l];
		}
	if (by_vector) return p;
	p.sum = doubles(m * n);
	p.size = doubles(m * n);
	wb = doubles(k * n);
	for (l = 0; l < k; l++)
		for (j = 0; j < n; j++)
			wb[l * n + j] = outside(b_part, l, j) ? 0 : p.b[l * n + j] * (p.w ? (double)p.w[l] : 1);
	if (!poison) multiply(m, n, k, p.a, wb, p.sum, p.size);
	/* Zeros of a triangle are not multiplied, other zeros are. */
	else
		for (i = 0; i < m; i++)
			for (l = 0; l < k; l++)
				for (j = 0; j < n; j++)
					if (!outside(a_part, i, l) && !outside(b_part, l, j)) {
						p.sum[i * n + j] += p.a[i * k + l] * wb[l * n + j];
						p.size[i * n + j] += fabs(p.a[i * k + l] * wb[l * n + j]);
					}
	return p;
}

/*  Returns the error of C <- alpha sum + beta C0 in units of the possible rounding error.
    Elements that must be NaN or infinite are checked; with triangles, a zero in memory may be
    multiplied by a NaN, so that more elements may be NaN. */
static double product_error(const product *p, double alpha, double beta, const odvgp_real *C,
		const odvgp_real *C0, ptrdiff_t ldc)
{
	double worst = 0;
	ptrdiff_t i, j, l, m = p->m, n = p->n, k = p->k;
	int loose = p->poison && (p->a_part || p->b_part);
	/* Check by a vector: C v - alpha A (w B v) - beta C0 v. */
	if (!p->sum) {
		double *v = doubles(n), *x = doubles(k), *a = doubles(k),
			   *c = p->c_part ? mirror(n, C, ldc) : dense(m, n, C, ldc, 0, 0);
		double *c0 = beta == 0   ? doubles(m * n)
					 : p->c_part ? mirror(n, C0, ldc)
								 : dense(m, n, C0, ldc, 0, 0);
		for (j = 0; j < n; j++) v[j] = test_between(-1, 1);
		multiply(k, 1, n, p->b, v, x, a);
		for (l = 0; l < k && p->w; l++) x[l] *= (double)p->w[l], a[l] *= fabs((double)p->w[l]);
		for (i = 0; i < m; i++) {
			double r = 0, size = TINY;
			for (j = 0; j < n; j++) {
				r += (c[i * n + j] - beta * c0[i * n + j]) * v[j];
				size += fabs(beta * c0[i * n + j] * v[j]);
			}
			for (l = 0; l < k; l++) {
				r -= alpha * p->a[i * k + l] * x[l];
				size += fabs(alpha * p->a[i * k + l]) * a[l];
			}
			worst = test_worse(worst, fabs(r) / size);
		}
		return worst;
	}
	for (i = 0; i < m; i++)
		for (j = 0; j < (p->c_part ? i + 1 : n); j++) {
			double c = beta == 0 ? 0 : beta * (double)C0[i * ldc + j],
				   want = alpha * p->sum[i * n + j] + c, got = (double)C[i * ldc + j], e;
			if (want != want) e = got != got ? 0 : NAN;
			else if (want - want != 0) e = got == want || (loose && got != got) ? 0 : NAN;
			else if (loose && got - got != 0) e = 0;
			else e = fabs(got - want) / (fabs(alpha) * p->size[i * n + j] + fabs(c) + TINY);
			worst = test_worse(worst, e);
		}
	return worst;
}

static void call_product(const product *p, const odvgp_blas *blas, int ta, int tb, odvgp_real alpha,
		const odvgp_real *A, ptrdiff_t lda, const odvgp_real *B, ptrdiff_t ldb, odvgp_real beta,
		odvgp_real *C, ptrdiff_t ldc)
{
	gp__mm g;
	switch (p->routine) {
	case GEMM:
		odvgp_gemm(blas, ta, tb, p->m, p->n, p->k, alpha, A, lda, B, ldb, beta, C, ldc);
		break;
	case GEMMT: odvgp_gemmt(blas, ta, tb, p->n, p->k, alpha, A, lda, B, ldb, beta, C, ldc); break;
	case SYRK: odvgp_syrk(blas, ta, p->n, p->k, alpha, A, lda, p->w, beta, C, ldc); break;
	case TRMM: odvgp_trmm(blas, ta, p->m, p->n, alpha, A, lda, B, ldb, beta, C, ldc); break;
	case LAUUM: odvgp_lauum(blas, p->n, A, lda, C, ldc); break;
	default:
		g = gp__mm_make(ta, tb, p->m, p->n, p->k, alpha, A, lda, B, ldb, beta, C, ldc);
		g.a_part = p->a_part;
		g.b_part = p->b_part;
		g.c_part = p->c_part;
		g.w = p->w;
		gp__mm_run(blas, &g);
	}
}

static odvgp_real *store_of(
		const double *d, ptrdiff_t rows, ptrdiff_t cols, int trans, ptrdiff_t ld)
{
	odvgp_real *a = band(trans ? extent(cols, rows, ld) : extent(rows, cols, ld), 0);
	ptrdiff_t i, j;
	for (i = 0; i < rows; i++)
		for (j = 0; j < cols; j++) a[trans ? j * ld + i : i * ld + j] = (odvgp_real)d[i * cols + j];
	return a;
}

/*  Computes one product in one form on every engine. With beta = 0 C begins as NaN; above the
    diagonal it always does if only the lower triangle is computed. */
static void try_product(const product *p, int ta, int tb, double alpha, double beta)
{
	ptrdiff_t m = p->m, n = p->n, k = p->k, lda = padded(ta ? m : k), ldb = padded(tb ? k : n),
			  ldc = padded(n), ra = ta ? k : m, rb = tb ? n : k, i;
	int isa, t, cuts, mark = memory.n;
	const int has_B = p->routine != SYRK && p->routine != LAUUM;
	odvgp_real *A = store_of(p->a, m, k, ta, lda);
	odvgp_real *B = has_B ? store_of(p->b, k, n, tb, ldb) : NULL;
	odvgp_real *C = matrix(m, n, ldc, 1), *A0 = twin(A, ra, ta ? m : k, lda),
			   *B0 = B ? twin(B, rb, tb ? k : n, ldb) : NULL, *first = NULL;
	cuts = cuts_for((double)m * (double)n * (double)k);
	alpha = (double)(odvgp_real)alpha;
	beta = (double)(odvgp_real)beta;
	for (i = 0; i < extent(m, n, ldc) && beta == 0; i++) C[i] = pad;
	if (p->c_part) blank_above(C, n, ldc, pad);
	for (isa = 0; isa < ISAS; isa++)
		for (t = 0; t < cuts && engines[isa][t].there; t++) {
			int here = memory.n;
			odvgp_real *out = twin(C, m, n, ldc);
			call_product(p, &engines[isa][t].blas, ta, tb, (odvgp_real)alpha, A, lda, B, ldb,
					(odvgp_real)beta, out, ldc);
			if (t == 0 || !OWN_BITS) {
				double e = product_error(p, alpha, beta, out, C, ldc),
					   most = (double)k + (p->sum ? 6 : 8 + (double)n);
				CHECK_SAY(e <= most * EPS,
						"%s, %d tasks: %s ta %d tb %d m %ld n %ld k %ld alpha %g beta %g parts %d "
						"%d %d weights %d poison %d: error %.2g eps of the size",
						isa_name[isa], cut_of[t], product_name[p->routine], ta, tb, (long)m,
						(long)n, (long)k, alpha, beta, p->a_part, p->b_part, p->c_part, p->weights,
						p->poison, e / EPS);
			} else
				CHECK_SAY(same(out, first, m, n, ldc),
						"%s: %s ta %d tb %d m %ld n %ld k %ld parts %d %d %d: %d tasks give other "
						"bits than 1",
						isa_name[isa], product_name[p->routine], ta, tb, (long)m, (long)n, (long)k,
						p->a_part, p->b_part, p->c_part, cut_of[t]);
			CHECK_SAY(untouched(out, C, m, n, ldc, p->c_part),
					"%s: %s ta %d tb %d m %ld n %ld k %ld parts %d %d %d writes outside of C",
					isa_name[isa], product_name[p->routine], ta, tb, (long)m, (long)n, (long)k,
					p->a_part, p->b_part, p->c_part);
			if (t == 0) first = out;
			else release_to(here);
		}
	CHECK(same(A, A0, ra, ta ? m : k, lda));
	CHECK(!B || same(B, B0, rb, tb ? k : n, ldb));
	release_to(mark);
}

static const double factors[] = {0, 1, -1, 0.7};
/*  The index of the current pair of alpha and beta, which visits all pairs. */
static int factor_turn;
static void try_forms(const product *p, int forms)
{
	int form;
	for (form = 0; form < 4; form++)
		if (forms >> form & 1) {
			int f = factor_turn++ % 16;
			/* With alpha = 0 a CBLAS skips the product. */
			if (p->poison) f |= 1;
			if (p->routine == LAUUM) f = 1;
			try_product(p, form & 1, form >> 1, factors[f & 3], factors[f >> 2]);
		}
}
/*  Computes one product with the shapes and triangles of the routine. `forms` has a bit for each
    value of ta + 2 tb. */
static void one_product(int routine, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int forms, int weights,
		int poison, double magnitude)
{
	int ta;
	product p;
	switch (routine) {
	case GEMM:
		p = make_product(GEMM, m, n, k, 0, 0, 0, 0, poison, magnitude);
		try_forms(&p, forms);
		break;
	case GEMMT:
		p = make_product(GEMMT, n, n, k, 0, 0, GP__LOWER, 0, poison, magnitude);
		try_forms(&p, forms);
		break;
	case SYRK:
		p = make_product(SYRK, n, n, k, 0, 0, GP__LOWER, weights, poison, magnitude);
		try_forms(&p, forms & 3 ? forms & 3 : 3);
		break;
	case TRMM:
		for (ta = 0; ta < 2; ta++)
			if (forms >> ta & 1 || forms >> ta & 4) {
				p = make_product(
						TRMM, m, n, m, ta ? GP__UPPER : GP__LOWER, 0, 0, 0, poison, magnitude);
				try_forms(&p, 1 << ta);
			}
		break;
	default:
		p = make_product(LAUUM, n, n, n, GP__UPPER, GP__LOWER, GP__LOWER, 0, poison, magnitude);
		try_forms(&p, 2);
	}
	release();
}

/*  Every remainder of every micro-tile occurs; the full form takes all triples of 0 ... 70. */
TEST(products_of_small_sizes)
{
	int r, routine, step = by_scale(7, 5, 1);
	ptrdiff_t m, n, k, top = scale == SMALL ? 20 : 70;
	test_seed = 11;
	if (scale == ALL) {
		for (m = 0; m <= top; m++)
			for (n = 0; n <= top; n++)
				for (k = 0; k <= top; k++) one_product(GEMM, m, n, k, 15, 0, 0, 1);
	} else {
		for (r = 0; r < rounds(60, 700, 0); r++)
			one_product(GEMM, test_below(top + 1), test_below(top + 1), test_below(top + 1),
					1 << r % 4, 0, 0, 1);
		/* Edges, with k from 0 to a small number. */
		for (m = 0; m <= (scale == SMALL ? 13 : 26); m++)
			for (n = 0; n <= (scale == SMALL ? 20 : 50); n += m % 2 ? 3 : 1)
				one_product(GEMM, m, n, (m * 7 + n) % 10, 1 << (m + n) % 4, 0, 0, 1);
	}
	for (n = 0; n <= top; n++)
		for (k = step > 1 ? n % step : 0; k <= top; k += step) {
			int forms = scale == ALL ? 15 : 1 << test_below(4);
			one_product(GEMMT, n, n, k, forms, 0, 0, 1);
			one_product(TRMM, n, k, n, forms, 0, 0, 1);
			for (r = 0; r < 3; r++)
				if (scale == ALL || r == (n + k) % 3) one_product(SYRK, n, n, k, forms, r, 0, 1);
		}
	for (n = 0; n <= top; n++) one_product(LAUUM, n, n, n, 2, 0, 0, 1);
	/* One size goes up to 300. */
	for (r = 0; r < rounds(0, 60, 400); r++)
		for (routine = GEMM; routine <= LAUUM; routine++)
			one_product(routine, some_size(r), some_size(r / 8 + 7 * (r & 1)), some_size(r / 64),
					1 << test_below(4), (int)test_below(3), 0, 1);
}

/*  The inner routine with every mixture of triangles that the shapes allow. */
TEST(products_with_triangles)
{
	int a, b, c, w, r, form;
	test_seed = 12;
	for (a = 0; a < 3; a++)
		for (b = 0; b < 3; b++)
			for (c = 0; c < 2; c++)
				for (w = 0; w < 3; w += 2)
					for (r = 0; r < rounds(6, 22, 71 * 4); r++) {
						ptrdiff_t m = scale == ALL ? r % 71 : some_size(r), n = some_size(r),
								  k = some_size(r + 1);
						product p;
						if (scale == ALL && r >= 71) m = some_size(r);
						if (c) n = m;
						if (a) k = m;
						if (b && a && !c) n = m;
						/* Sizes of op(B) [k,n]; with a lower C all sizes are equal. */
						else if (b) k = n;
						if (b && c) k = n = m;
						p = make_product(PARTS, m, n, k, a, b, c ? GP__LOWER : GP__FULL, w, 0, 1);
						if (scale == ALL) try_forms(&p, 15);
						else try_forms(&p, 1 << (r + a) % 4);
						release();
					}
	for (r = 0; r < rounds(0, 6, 40); r++)
		for (form = 0; form < 4; form++) {
			product p = make_product(PARTS, 280 + r, 130, 280 + r, 1 + (r & 1), 0, 0, 0, 0, 1);
			try_forms(&p, 1 << form);
			release();
		}
}

/*  One or two long dimensions, around the sizes of blocks and the sizes at which the code packs,
    cuts into tasks, or does neither. */
TEST(products_around_thresholds)
{
	ptrdiff_t sizes[100], i, j;
	int n = 0, routine, r = 0;
	static const ptrdiff_t thin[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17},
						   pack[][3] = {{48, 64, 128}, {49, 64, 128}, {49, 64, 129}, {50, 65, 127},
								   {33, 256, 248}, {33, 257, 248}, {33, 257, 249}, {32, 258, 257},
								   {97, 257, 300}, {200, 70, 260}, {193, 300, 257}};
	if (scale == SMALL) SKIP("small sizes only");
	test_seed = 13;
	n = around(23, 25, sizes, n);
	n = around(47, 49, sizes, n);
	n = around(63, 65, sizes, n);
	n = around(95, 97, sizes, n);
	n = around(191, 193, sizes, n);
	n = around(255, 259, sizes, n);
	n = around(511, 515, sizes, n);
	n = around(1023, 1026, sizes, n);
	n = around(1535, 1540, sizes, n);
	for (i = 0; i < n; i++)
		for (j = scale == ALL ? 0 : i % 3; j < 10; j += scale == ALL ? 1 : test_size(3, 6)) {
			ptrdiff_t long_one = sizes[i], a = thin[j], b = thin[(j + i + 3) % 10];
			int forms = scale == ALL ? 15 : 1 << r++ % 4;
			one_product(GEMM, long_one, a, b, forms, 0, 0, 1);
			one_product(GEMM, a, long_one, b, forms, 0, 0, 1);
			one_product(GEMM, a, b, long_one, forms, 0, 0, 1);
			one_product(GEMMT, 0, a + 3, long_one, forms, 0, 0, 1);
			one_product(SYRK, 0, a + 3, long_one, forms, (int)(j % 3), 0, 1);
			one_product(TRMM, a + 3, long_one, 0, forms, 0, 0, 1);
			if (long_one < (scale == ALL ? 600 : 100)) {
				one_product(GEMMT, 0, long_one, a, forms, 0, 0, 1);
				one_product(SYRK, 0, long_one, a, forms, (int)(j % 3), 0, 1);
				one_product(TRMM, long_one, a, 0, forms, 0, 0, 1);
				if (j < 3) one_product(LAUUM, 0, long_one, 0, 2, 0, 0, 1);
			}
		}
	for (i = 0; i < (ptrdiff_t)(sizeof pack / sizeof *pack); i++)
		for (routine = GEMM; routine <= SYRK; routine++)
			if (routine == GEMM || scale == ALL || i % 3 == 1)
				one_product(routine, pack[i][0], pack[i][1], pack[i][2], 15, 2, 0, 1);
	one_product(GEMM, 700, 9, 300, 1, 0, 0, 1);
	one_product(GEMM, 9, 700, 300, 4, 0, 0, 1);
	one_product(GEMM, 300, 280, 1100, 2, 0, 0, 1);
	one_product(GEMM, 1, 1, 2000, 8, 0, 0, 1);
	one_product(GEMM, 60, 1540, 260, 5, 0, 0, 1);
	one_product(TRMM, 514, 20, 0, 3, 0, 0, 1);
	one_product(SYRK, 0, 150, 1030, 1, 2, 0, 1);
	one_product(SYRK, 0, 515, 60, 3, 2, 0, 1);
}

/*  Leading dimensions are 1, so that the strides do not distinguish a transpose. */
TEST(products_of_vectors_without_padding)
{
	ptrdiff_t big = scale == SMALL ? 20 : 300, r;
	static const ptrdiff_t shape[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, 0, 1},
			{0, 1, 1}, {1, 1, 1}, {2, 0, 0}, {0, 2, 0}, {3, 0, 0}, {4, 0, 2}, {7, 2, 0}, {0, 0, 2}};
	test_seed = 14;
	for (tight = 1; tight >= 0; tight--) {
		for (r = 0; r < (ptrdiff_t)(sizeof shape / sizeof *shape); r++) {
			ptrdiff_t m = shape[r][0] ? shape[r][0] : big, n = shape[r][1] ? shape[r][1] : big,
					  k = shape[r][2] ? shape[r][2] : big;
			one_product(GEMM, m, n, k, 15, 0, 0, 1);
			if (m == big) one_product(GEMMT, 0, n, k, 15, 0, 0, 1);
			if (m == big) one_product(SYRK, 0, n, k, 3, 2, 0, 1);
			if (k == big) one_product(TRMM, m, n, 0, 3, 0, 0, 1);
		}
		if (scale != SMALL) one_product(GEMM, 1, 1, 40000, 15, 0, 0, 1);
		one_product(GEMM, big / 3, big / 3, big / 3, 15, 0, 0, 1);
		/* With k = 0 the result is beta C, or zeros in place of NaN. */
		for (r = 1; r <= big; r = r * 3 + 1)
			for (factor_turn = 0; factor_turn < 16;)
				one_product(GEMM, r, big / r, 0, 15, 0, 0, 1),
						one_product(SYRK, 0, r, 0, 3, 2, 0, 1);
	}
	tight = 0;
}

/*  NaN and infinity reach every element that they must reach and, without triangles, no other. */
TEST(products_carry_nan_and_infinity)
{
	static const ptrdiff_t shape[][3] = {{1, 1, 1}, {1, 9, 4}, {9, 1, 30}, {3, 20, 20}, {5, 7, 3},
			{13, 11, 17}, {45, 45, 45}, {13, 70, 300}, {70, 13, 33}, {2, 300, 40}, {60, 290, 40},
			{130, 61, 90}};
	int routine, poison, round;
	size_t s;
	test_seed = 15;
	for (round = 0; round < rounds(1, 1, 8); round++)
		for (s = 0; s < (scale == SMALL ? 6 : sizeof shape / sizeof *shape); s++)
			for (routine = GEMM; routine <= LAUUM; routine++)
				for (poison = 1; poison < POISONS; poison++) {
					if (poison == NAN_IN_W && routine != SYRK) continue;
					if ((poison == NAN_IN_B || poison == INF_IN_B) &&
							(routine == SYRK || routine == LAUUM))
						continue;
					/* A CBLAS sums in its own order. */
					if ((poison == INF_IN_A || poison == INF_IN_B) && OWN_BITS == 0 &&
							routine != GEMM)
						continue;
					one_product(routine, shape[s][0], shape[s][1], shape[s][2],
							scale == ALL ? 15 : 1 << (s + (size_t)poison) % 4,
							poison == NAN_IN_W ? 1 : poison % 2, poison, 1);
				}
}

/*  Errors stay within the bound, which is at least the smallest number times k. */
TEST(products_of_denormal_numbers)
{
	static const double magnitude[] = {1, 1e-3, 64};
	int routine, r, round;
	test_seed = 16;
	for (round = 0; round < rounds(1, 3, 60); round++)
		for (r = 0; r < 3; r++)
			for (routine = GEMM; routine <= LAUUM; routine++)
				one_product(routine, some_size(1), some_size(1), some_size(1), 1 << test_below(4),
						(int)test_below(3), 0,
						magnitude[r] * (routine == LAUUM || routine == SYRK ? sqrt(TINY) : TINY));
}

/*  Sizes go up to 700, checked by random vectors. */
TEST(products_of_random_sizes)
{
	int routine, round;
	if (scale == SMALL) SKIP("small sizes only");
	test_seed = 17;
	for (round = 0; round < rounds(0, 2, 40); round++)
		for (routine = GEMM; routine <= LAUUM; routine++)
			one_product(routine, test_below(701), test_below(701),
					test_below(scale == ALL ? 701 : 301), 1 << test_below(4), (int)test_below(3), 0,
					1);
}

/* ---- sizes whose products overflow ---- */

static void no_hook(void *user, int n, void (*task)(void *arg, int i), void *arg)
{
	int i;
	(void)user;
	for (i = 0; i < n; i++) task(arg, i);
}
/*  The shares of all tasks follow each other from 0 to n, begin at multiples of the unit, and
    differ by at most one unit. */
TEST(shares_of_large_sizes)
{
	static const ptrdiff_t sizes[] = {1, 2, 7, 63, 64, 65, 1000, PTRDIFF_MAX / 256,
			PTRDIFF_MAX / 200, PTRDIFF_MAX / 3, PTRDIFF_MAX - 1, PTRDIFF_MAX},
						   units[] = {1, 6, 64};
	static const int counts[] = {1, 2, 3, 7, 255, 256};
	size_t s, u, c;
	int i;
	for (s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (u = 0; u < sizeof units / sizeof *units; u++)
			for (c = 0; c < sizeof counts / sizeof *counts; c++) {
				ptrdiff_t n = sizes[s], unit = units[u], end = 0, from, to, least = PTRDIFF_MAX,
						  most = 0;
				for (i = 0; i < counts[c]; i++) {
					gp__share(n, unit, counts[c], i, &from, &to);
					CHECK_SAY(
							from == end && to >= from && to <= n && (from % unit == 0 || from == n),
							"share %d of %d of %ld: %ld to %ld", i, counts[c], (long)n, (long)from,
							(long)to);
					end = to;
					if (to < n && to - from < least) least = to - from;
					if (to - from > most) most = to - from;
				}
				CHECK(end == n);
				CHECK(least == PTRDIFF_MAX || most - least <= unit);
			}
}
/*  More pairs of points than a size_t can count are shared out like other work. */
TEST(kernel_matrices_of_more_entries_than_sizes)
{
	const ptrdiff_t huge = (ptrdiff_t)1 << (sizeof(ptrdiff_t) * 4);
	odvgp_blas blas;
	gp__kjob job;
	memset(&blas, 0, sizeof blas);
	memset(&job, 0, sizeof job);
	blas.threads.run = no_hook;
	blas.threads.count = 4;
	job.blas = &blas;
	/* Their product overflows to 0. */
	job.n = job.m = huge;
	CHECK_INT(gp__kernel_tasks(&job), 4);
	job.n = 64, job.m = 63;
	CHECK_INT(gp__kernel_tasks(&job), 1);
	job.m = 64;
	CHECK_INT(gp__kernel_tasks(&job), 4);
	job.m = 0;
	CHECK_INT(gp__kernel_tasks(&job), 1);
}

/* ---- solves ---- */

/*  Backward error: op(L) X = B means |B - op(L) X| <= c n eps |op(L)| |X|. */
static void check_solve(int right, int trans, ptrdiff_t m, ptrdiff_t n, const odvgp_real *L,
		ptrdiff_t ldl, const odvgp_real *B, ptrdiff_t ldb, int subnormal)
{
	ptrdiff_t s = right ? n : m;
	int isa, t, cuts = cuts_for((double)s * (double)m * (double)n), flip = right ? !trans : trans;
	odvgp_real *L0 = twin(L, s, s, ldl), *first = NULL;
	/* X op(L) = B is op(L)^T X^T = B^T. */
	double *T = dense(s, s, L, ldl, flip, flip ? GP__UPPER : GP__LOWER),
		   *b = dense(s, right ? m : n, B, ldb, right, 0);
	for (isa = 0; isa < ISAS; isa++)
		for (t = 0;
				t < cuts && engines[isa][t].there && !(subnormal && test_flushes(isa_name[isa]));
				t++) {
			int here = memory.n;
			odvgp_real *out = twin(B, m, n, ldb);
			odvgp_trsm(&engines[isa][t].blas, right, trans, m, n, L, ldl, out, ldb);
			if (t == 0 || !OWN_BITS) {
				double e = residual(
						s, right ? m : n, s, T, dense(s, right ? m : n, out, ldb, right, 0), b);
				CHECK_SAY(e <= (2 * (double)s + 8) * EPS,
						"%s, %d tasks: trsm right %d trans %d m %ld n %ld: residual %.2g eps of "
						"the size",
						isa_name[isa], cut_of[t], right, trans, (long)m, (long)n, e / EPS);
			} else
				CHECK_SAY(same(out, first, m, n, ldb),
						"%s: trsm right %d trans %d m %ld n %ld: %d tasks give other bits than 1",
						isa_name[isa], right, trans, (long)m, (long)n, cut_of[t]);
			CHECK_SAY(untouched(out, B, m, n, ldb, 0),
					"%s: trsm right %d trans %d m %ld n %ld writes outside of B", isa_name[isa],
					right, trans, (long)m, (long)n);
			if (t == 0) first = out;
			else release_to(here);
		}
	CHECK(same(L, L0, s, s, ldl));
	release();
}
static void try_trsm(int right, int trans, ptrdiff_t m, ptrdiff_t n, double magnitude)
{
	ptrdiff_t s = right ? n : m, ldl = padded(s), ldb = padded(n), i, j;
	odvgp_real *L = triangle(s, ldl), *B = matrix(m, n, ldb, 0);
	for (i = 0; i < m; i++)
		for (j = 0; j < n; j++) B[i * ldb + j] *= (odvgp_real)magnitude;
	check_solve(right, trans, m, n, L, ldl, B, ldb, magnitude <= TINY);
}
/*  Diagonals range from the smallest to the largest number whose inverse is finite and normal.
    With a smaller diagonal the rows that it divides are not finite, unless they are solved as a
    single vector. */
TEST(trsm_with_small_and_large_diagonals)
{
	static const ptrdiff_t orders[] = {1, 5, 17, 40, 100};
	int form, isa, o, k;
	for (o = 0; o < 5; o++)
		for (form = 0; form < 4; form++)
			for (k = 0; k < (OWN_BITS ? 3 : 2); k++) {
				const double d[] = {TINY, 1 / TINY, TINY / 8};
				int right = form & 1, trans = form >> 1;
				ptrdiff_t s = orders[o], n = 9, cols = right ? s : n, rows = right ? n : s, i, j,
						  odd = s / 2;
				odvgp_real *L = NEW(odvgp_real, s * s), *B = NEW(odvgp_real, s * n);
				for (i = 0; i < s; i++)
					for (j = 0; j < s; j++)
						L[i * s + j] = j == i ? (odvgp_real)(i == odd ? d[k] : 2) : 0;
				for (isa = 0; isa < ISAS; isa++) {
					if (!engines[isa][0].there || (k == 2 && test_flushes(isa_name[isa]))) continue;
					for (i = 0; i < rows; i++)
						for (j = 0; j < cols; j++)
							B[i * cols + j] =
									(odvgp_real)(((right ? j : i) == odd ? d[k] : 2) * 1.25);
					odvgp_trsm(&engines[isa][0].blas, right, trans, rows, cols, L, s, B, cols);
					for (i = 0; i < rows; i++)
						for (j = 0; j < cols; j++) {
							double x = (double)B[i * cols + j];
							if (k < 2)
								CHECK_SAY(fabs(x - 1.25) <= 4 * EPS,
										"%s: right %d trans %d order %ld, diagonal %g: %.17g",
										isa_name[isa], right, trans, (long)s, d[k], x);
							else if ((right ? j : i) == odd)
								CHECK_SAY(!(fabs(x) <= HUGE_REAL),
										"%s: right %d trans %d order %ld, diagonal %g: %.17g",
										isa_name[isa], right, trans, (long)s, d[k], x);
						}
				}
				free(L), free(B);
			}
}
TEST(trsm_of_four_forms)
{
	int round, form, k = 0, r;
	ptrdiff_t m, n, sizes[64];
	test_seed = 31;
	if (scale == ALL)
		for (m = 0; m <= 70; m++)
			for (n = 0; n <= 70; n++)
				for (form = 0; form < 4; form++) try_trsm(form & 1, form >> 1, m, n, 1);
	else
		for (round = 0; round < rounds(60, 400, 0); round++)
			try_trsm(round & 1, (round >> 1) & 1, some_size(round), some_size(round / 8), 1);
	for (form = 0; form < 4; form++) {
		/* A single vector, contiguous or strided. */
		for (tight = 0; tight < 2; tight++)
			for (n = 1; n <= (scale == SMALL ? 20 : 70); n += tight ? 1 : 7)
				try_trsm(form & 1, form >> 1, n, 1, 1), try_trsm(form & 1, form >> 1, 1, n, 1);
		tight = 0;
		try_trsm(form & 1, form >> 1, 17, 0, 1);
		try_trsm(form & 1, form >> 1, 0, 17, 1);
		/* Right-hand sides are denormal. */
		for (round = 0; round < 5; round++)
			try_trsm(form & 1, form >> 1, some_size(1), some_size(1), TINY);
	}
	if (scale == SMALL) return;
	/* Sizes at which strips are copied; GP__BASE; twice that. */
	k = around(90, 103, sizes, k);
	k = around(255, 259, sizes, k);
	k = around(509, 516, sizes, k);
	k = around(1023, 1025, sizes, k);
	k = around(1537, 1537, sizes, k);
	for (r = 0; r < k; r++)
		for (form = 0; form < 4; form++) {
			ptrdiff_t thin = sizes[r] > 300 ? 1 + (r + form) % 9 : 1 + (5 * r + form) % 60;
			if (scale != ALL && sizes[r] > 300 && (r + form) % 3) continue;
			if (form & 1) try_trsm(1, form >> 1, thin, sizes[r], 1);
			else try_trsm(0, form >> 1, sizes[r], thin, 1);
			if (form & 1) try_trsm(1, form >> 1, sizes[r], thin, 1);
			else try_trsm(0, form >> 1, thin, sizes[r], 1);
		}
	for (round = 0; round < rounds(0, 4, 80); round++)
		try_trsm(round & 1, (round >> 1) & 1, test_below(701), test_below(scale == ALL ? 701 : 201),
				1);
}

/*  Lower triangles with condition numbers up to the largest number: elements of any size below
    the diagonal, which make the solution grow, and diagonals that fall over many orders of
    magnitude. */
static odvgp_real *bad_triangle(int kind, ptrdiff_t n, ptrdiff_t ld)
{
	odvgp_real *L = matrix(n, n, ld, 0);
	ptrdiff_t i, j;
	for (i = 0; i < n; i++) {
		double d = kind == 0   ? 1
				   : kind == 1 ? pow(BY_PRECISION(1e-12, 1e-5), (double)i / (double)n)
							   : pow(10, test_between(-8, 3) * BY_PRECISION(1, 0.5));
		L[i * ld + i] = (odvgp_real)d;
		for (j = 0; j < i; j++)
			L[i * ld + j] *= (odvgp_real)(kind == 1 ? 1.5 * d : kind == 0 ? 1 : 0.1 * d);
	}
	blank_above(L, n, ld, pad);
	return L;
}
TEST(solves_with_ill_conditioned_triangles)
{
	int form, kind, round, isa;
	test_seed = 32;
	for (round = 0; round < rounds(2, 8, 100); round++)
		for (kind = 0; kind < 3; kind++) {
			for (form = 0; form < 4; form++) {
				ptrdiff_t s = scale == SMALL ? 1 + test_below(20) : 1 + test_below(70),
						  c = 1 + test_below(30), ldl = padded(s), m = form & 1 ? c : s,
						  n = form & 1 ? s : c;
				ptrdiff_t ldb = padded(n);
				odvgp_real *L = bad_triangle(kind, s, ldl);
				check_solve(form & 1, form >> 1, m, n, L, ldl, matrix(m, n, ldb, 0), ldb, 0);
			}
			/* The inverse: |L X - I| <= c n eps |L| |X|. */
			for (isa = 0; isa < ISAS; isa++)
				if (engines[isa][0].there) {
					ptrdiff_t n = scale == SMALL ? 1 + test_below(20) : 1 + test_below(70),
							  ld = padded(n), i;
					odvgp_real *L = bad_triangle(kind, n, ld), *X = twin(L, n, n, ld);
					double *unit = doubles(n * n), e;
					for (i = 0; i < n; i++) unit[i * n + i] = 1;
					odvgp_trtri(&engines[isa][0].blas, n, X, ld);
					e = residual(n, n, n, dense(n, n, L, ld, 0, GP__LOWER),
							dense(n, n, X, ld, 0, GP__LOWER), unit);
					CHECK_SAY(e <= (2 * (double)n + 8) * EPS,
							"%s: trtri kind %d n %ld: residual %.2g eps of the size", isa_name[isa],
							kind, (long)n, e / EPS);
					release();
				}
		}
}
/*  A NaN of B reaches all later elements of its own vector, and no other vector; a NaN of L
    reaches what follows its row. */
TEST(trsm_carries_nan)
{
	int isa, form, round;
	test_seed = 33;
	for (round = 0; round < rounds(3, 12, 200); round++)
		for (form = 0; form < 4; form++)
			for (isa = 0; isa < ISAS; isa++) {
				int right = form & 1, trans = form >> 1, back = right ? !trans : trans;
				ptrdiff_t s = 1 + test_below(scale == SMALL ? 20 : 110), c = 1 + test_below(40),
						  m = right ? c : s, n = right ? s : c, row = test_below(s),
						  col = test_below(c), i, j, bad = 0;
				odvgp_real *L = triangle(s, s), *B = matrix(m, n, n, 1);
				if (engines[isa][0].there) {
					B[right ? col * n + row : row * n + col] = (odvgp_real)NAN;
					odvgp_trsm(&engines[isa][0].blas, right, trans, m, n, L, s, B, n);
					for (i = 0; i < s; i++)
						for (j = 0; j < c; j++) {
							odvgp_real x = B[right ? j * n + i : i * n + j];
							bad += (x != x) != (j == col && (back ? i <= row : i >= row));
						}
					CHECK_SAY(bad == 0,
							"%s: trsm right %d trans %d m %ld n %ld: %ld entries are NaN that must "
							"not be, or the reverse",
							isa_name[isa], right, trans, (long)m, (long)n, (long)bad);
					L[row * s + row] = (odvgp_real)NAN;
					B = matrix(m, n, n, 1);
					odvgp_trsm(&engines[isa][0].blas, right, trans, m, n, L, s, B, n);
					for (i = bad = 0; i < s; i++)
						for (j = 0; j < c; j++) {
							odvgp_real x = B[right ? j * n + i : i * n + j];
							bad += (x != x) != (back ? i <= row : i >= row);
						}
					CHECK_SAY(bad == 0,
							"%s: trsm right %d trans %d m %ld n %ld, NaN on the diagonal: %ld "
							"entries are wrong",
							isa_name[isa], right, trans, (long)m, (long)n, (long)bad);
				}
				release();
			}
}

/* ---- factors ---- */

/*  Returns A with the order of rows and columns reversed, given by its lower triangle; factoring
    it upwards eliminates as factoring A downwards does. */
static odvgp_real *turned(const odvgp_real *A, ptrdiff_t n, ptrdiff_t ld)
{
	odvgp_real *P = band(extent(n, n, ld), 0);
	ptrdiff_t i, j;
	for (i = 0; i < n; i++)
		for (j = 0; j <= i; j++) P[i * ld + j] = A[(n - 1 - j) * ld + n - 1 - i];
	return P;
}
static odvgp_status factor(int reverse, const odvgp_blas *blas, ptrdiff_t n, odvgp_real *A,
		ptrdiff_t lda, odvgp_info *info)
{
	return reverse ? odvgp_potrf_reverse(blas, n, A, lda, info)
				   : odvgp_potrf(blas, n, A, lda, info);
}
static void try_factor(int reverse, ptrdiff_t n, double magnitude)
{
	ptrdiff_t ld = padded(n), i, j;
	odvgp_real *A = definite(n, ld, 0.1), *first = NULL;
	int isa, t, cuts = cuts_for(n > 200 ? HUGE_VAL : 0);
	double *want;
	for (i = 0; i < n; i++)
		for (j = 0; j <= i; j++) A[i * ld + j] *= (odvgp_real)magnitude;
	want = mirror(n, A, ld);
	for (isa = 0; isa < ISAS; isa++)
		for (t = 0; t < cuts && engines[isa][t].there; t++) {
			int here = memory.n;
			odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
			odvgp_real *out = twin(A, n, n, ld);
			CHECK_STATUS(factor(reverse, &engines[isa][t].blas, n, out, ld, &info), ODVGP_OK);
			if (t == 0 || !OWN_BITS) {
				double *L = dense(n, n, out, ld, 0, GP__LOWER),
					   *U = dense(n, n, out, ld, 1, GP__UPPER),
					   e = residual(n, n, n, reverse ? U : L, reverse ? L : U, want);
				CHECK_SAY(e <= (2 * (double)n + 8) * EPS,
						"%s, %d tasks: potrf reverse %d n %ld: residual %.2g eps of the size",
						isa_name[isa], cut_of[t], reverse, (long)n, e / EPS);
				for (i = 0; i < n; i++) CHECK(L[i * n + i] > 0);
			} else
				CHECK_SAY(same(out, first, n, n, ld),
						"%s: potrf reverse %d n %ld: %d tasks give other bits than 1",
						isa_name[isa], reverse, (long)n, cut_of[t]);
			CHECK_SAY(untouched(out, A, n, n, ld, 1),
					"%s: potrf reverse %d n %ld writes outside of the lower triangle",
					isa_name[isa], reverse, (long)n);
			if (t == 0) first = out;
			else release_to(here);
		}
	release();
}
TEST(factors_of_all_sizes)
{
	ptrdiff_t n, sizes[64];
	int reverse, r, k = 0;
	test_seed = 41;
	for (n = 0; n <= (scale == SMALL ? 20 : 70); n++)
		for (r = 0; r < rounds(1, 1, 8); r++)
			for (reverse = 0; reverse < 2; reverse++) {
				try_factor(reverse, n, 1);
				/* Elements are denormal, and inverses of pivots are near the largest number. */
				if (r || n % 5 == 3) try_factor(reverse, n, 64 * TINY);
				if (r || n % 5 == 2) try_factor(reverse, n, 1e-3 * HUGE_REAL);
			}
	if (scale == SMALL) return;
	for (n = 71; n <= 300; n += by_scale(0, 13, 1)) try_factor(n & 1, n, 1);
	/* GP__POTRF_BASE; twice that; GP__BASE. */
	k = around(255, 259, sizes, k);
	k = around(511, 515, sizes, k);
	for (r = 0; r < k; r++)
		for (reverse = 0; reverse < 2; reverse++)
			if (scale == ALL || sizes[r] < 300 || (r + reverse) % 3 == 0)
				try_factor(reverse, sizes[r], 1);
	for (r = 0; r < rounds(0, 2, 60); r++)
		try_factor(r & 1, 300 + test_below(scale == ALL ? 401 : 200), 1);
}

/*  Returns the first bad row of the elimination and its pivot, which the library must report; -1
    if there is none. */
static ptrdiff_t plain_pivot(
		ptrdiff_t n, const odvgp_real *A, ptrdiff_t ld, double *pivot, double *size)
{
	double *L = doubles(n * n);
	ptrdiff_t i, j, k, bad = -1;
	for (i = 0; i < n && bad < 0; i++)
		for (j = 0; j <= i; j++) {
			double s = (double)A[i * ld + j];
			*size = fabs(s);
			for (k = 0; k < j; k++)
				s -= L[i * n + k] * L[j * n + k], *size += fabs(L[i * n + k] * L[j * n + k]);
			*pivot = s;
			if (j < i) L[i * n + j] = s / L[j * n + j];
			else if (s > 0 && s <= HUGE_REAL) L[i * n + i] = sqrt(s);
			else bad = i;
		}
	return bad;
}
/*  Checks that A fails at `row` and that reversed A fails at the corresponding row, on every
    engine. The pivot must be within `off` of `value`. */
static void check_failure(ptrdiff_t n, const odvgp_real *A, ptrdiff_t ld, ptrdiff_t row,
		double value, double off, const char *kind)
{
	int isa, t, reverse, cuts = n > 100 ? CUTS : 1;
	for (reverse = 0; reverse < 2; reverse++) {
		const odvgp_real *P = reverse ? turned(A, n, ld) : A;
		ptrdiff_t at = reverse ? n - 1 - row : row;
		for (isa = 0; isa < ISAS; isa++)
			for (t = 0; t < cuts && engines[isa][t].there; t++) {
				odvgp_info info = {ODVGP_OK, NULL, -7, 0, ""};
				int here = memory.n;
				odvgp_real *out = twin(P, n, n, ld);
				CHECK_STATUS(
						factor(reverse, &engines[isa][t].blas, n, out, ld, &info), ODVGP_E_NOT_PD);
				CHECK_SAY(info.row == at,
						"%s: potrf reverse %d n %ld: pivot %ld is reported, %ld is bad (%s)",
						isa_name[isa], reverse, (long)n, (long)info.row, (long)at, kind);
				CHECK_SAY(value != value       ? info.value != info.value
						  : value - value != 0 ? info.value == value
											   : fabs(info.value - value) <= off,
						"%s: potrf reverse %d n %ld row %ld: pivot %.17g is reported, not %.17g "
						"(%s)",
						isa_name[isa], reverse, (long)n, (long)at, info.value, value, kind);
				CHECK_INT(info.status, ODVGP_E_NOT_PD);
				CHECK(info.text[0] != 0);
				CHECK_SAY(untouched(out, P, n, n, ld, 1),
						"%s: potrf reverse %d n %ld fails and writes outside of the lower triangle "
						"(%s)",
						isa_name[isa], reverse, (long)n, kind);
				release_to(here);
				/* Without info. */
				if (isa + t == 0)
					CHECK_STATUS(
							factor(reverse, &engines[isa][t].blas, n, twin(P, n, n, ld), ld, NULL),
							ODVGP_E_NOT_PD);
			}
	}
}
enum {
	MINUS_ONE,
	ZERO,
	NOT_A_NUMBER,
	PLUS_INF,
	MINUS_INF,
	BY_ELIMINATION,
	NAN_TO_THE_LEFT,
	INF_TO_THE_LEFT,
	EQUAL_ROWS,
	KINDS
};
static const char *const kind_name[] = {"-1 on the diagonal", "0 on the diagonal", "NaN",
		"infinity", "-infinity", "negative by elimination", "NaN left of it", "infinity left of it",
		"two equal rows"};
static void try_failure(ptrdiff_t n, ptrdiff_t row, int kind)
{
	ptrdiff_t ld = padded(n), j, bad;
	odvgp_real *A = definite(n, ld, 0.5), *d = A + row * ld + row;
	double pivot = 0, size = 0, off;
	if (kind >= NAN_TO_THE_LEFT && row == 0) {
		release();
		return;
	}
	switch (kind) {
	case MINUS_ONE: *d = -1; break;
	case ZERO: *d = 0; break;
	case NOT_A_NUMBER: *d = (odvgp_real)NAN; break;
	case PLUS_INF: *d = (odvgp_real)HUGE_VAL; break;
	case MINUS_INF: *d = (odvgp_real)-HUGE_VAL; break;
	/* Its own element is positive or nearly so, and the earlier rows subtract more from it. */
	case BY_ELIMINATION:
		*d = (odvgp_real)1000;
		CHECK(plain_pivot(row + 1, A, ld, &pivot, &size) < 0);
		*d = (odvgp_real)((1000 - pivot) * (row ? 0.75 : 0) - (row ? 0 : 0.25));
		break;
	case NAN_TO_THE_LEFT: A[row * ld + test_below(row)] = (odvgp_real)NAN; break;
	case INF_TO_THE_LEFT:
		A[row * ld + test_below(row)] = (odvgp_real)(test_below(2) ? HUGE_VAL : -HUGE_VAL);
		break;
	/* Row - 1 is repeated: rounding cannot separate the two if one block eliminates both. */
	default:
		for (j = 0; j < row; j++) A[row * ld + j] = A[(row - 1) * ld + j];
		A[row * ld + row - 1] = *d = A[(row - 1) * ld + row - 1];
	}
	/* The pivot is 0; if the rows lie in different blocks, it is a rounding error and may pass. */
	if (kind == EQUAL_ROWS) {
		int isa, reverse;
		for (isa = 0; isa < ISAS; isa++)
			for (reverse = 0; reverse < 2 && engines[isa][0].there; reverse++) {
				odvgp_info info = {ODVGP_OK, NULL, -7, 0, ""};
				if (n > GP__POTRF_BASE || row % engines[isa][0].blas.isa->MR == 0) continue;
				CHECK_STATUS(factor(reverse, &engines[isa][0].blas, n,
									 twin(reverse ? turned(A, n, ld) : A, n, n, ld), ld, &info),
						ODVGP_E_NOT_PD);
				CHECK_INT(info.row, reverse ? n - 1 - row : row);
				CHECK_SAY(info.value == 0,
						"%s: potrf reverse %d n %ld: pivot %g is left of two equal rows, %ld the "
						"second",
						isa_name[isa], reverse, (long)n, info.value, (long)row);
			}
	} else {
		bad = plain_pivot(n, A, ld, &pivot, &size);
		CHECK_INT(bad, row);
		/* The rows before it are well conditioned. */
		off = 20 * ((double)n + 4) * EPS * (size + 1);
		if (kind == INF_TO_THE_LEFT && pivot != pivot) pivot = -HUGE_VAL;
		/* The pivot is -infinity, or NaN if infinity met 0 or itself before: either is refused
           at this row. */
		if (kind == INF_TO_THE_LEFT) {
			int isa, reverse;
			for (isa = 0; isa < ISAS; isa++)
				for (reverse = 0; reverse < 2 && engines[isa][0].there; reverse++) {
					odvgp_info info = {ODVGP_OK, NULL, -7, 0, ""};
					CHECK_STATUS(factor(reverse, &engines[isa][0].blas, n,
										 twin(reverse ? turned(A, n, ld) : A, n, n, ld), ld, &info),
							ODVGP_E_NOT_PD);
					CHECK_INT(info.row, reverse ? n - 1 - row : row);
					CHECK(!(info.value > 0));
				}
		} else check_failure(n, A, ld, row, pivot, off, kind_name[kind]);
	}
	release();
}
/*  Any cause, at any row. */
TEST(bad_pivots_are_reported)
{
	ptrdiff_t n, row;
	int kind, r;
	static const ptrdiff_t large[] = {170, 257, 300, 513};
	test_seed = 42;
	for (n = 1; n <= (scale == SMALL ? 13 : 40); n++)
		for (row = 0; row < n; row++)
			for (kind = 0; kind < KINDS; kind++)
				if (scale != SAMPLE || n <= 17 || n % 8 == 0 || (row + kind + n) % 4 == 0)
					try_failure(n, row, kind);
	for (r = 0; r < rounds(0, 4, 200); r++)
		for (kind = 0; kind < KINDS; kind++)
			if (large[r % 4] < 400 || scale == ALL || kind % 3 == 0)
				try_failure(large[r % 4], 1 + test_below(large[r % 4] - 1), kind);
}
/*  The first bad pivot in the order of elimination is reported. */
TEST(two_bad_pivots)
{
	ptrdiff_t n;
	int isa;
	test_seed = 43;
	for (n = 2; n <= (scale == SMALL ? 20 : 70); n++)
		for (isa = 0; isa < ISAS; isa++) {
			ptrdiff_t first = test_below(n - 1), second = first + 1 + test_below(n - first - 1);
			odvgp_real *A = definite(n, n, 0.5), *P;
			odvgp_info info = {ODVGP_OK, NULL, -7, 0, ""};
			A[first * n + first] = -3;
			A[second * n + second] = (odvgp_real)NAN;
			P = turned(A, n, n);
			if (engines[isa][0].there) {
				CHECK_STATUS(odvgp_potrf(&engines[isa][0].blas, n, A, n, &info), ODVGP_E_NOT_PD);
				CHECK_INT(info.row, first);
				CHECK_STATUS(
						odvgp_potrf_reverse(&engines[isa][0].blas, n, P, n, &info), ODVGP_E_NOT_PD);
				CHECK_INT(info.row, n - 1 - first);
			}
			release();
		}
}

static void try_inverse(ptrdiff_t n)
{
	ptrdiff_t ld = padded(n), i;
	odvgp_real *L = triangle(n, ld), *first = NULL;
	double *T = dense(n, n, L, ld, 0, GP__LOWER), *unit = doubles(n * n);
	int isa, t, cuts = cuts_for(n > 200 ? HUGE_VAL : 0);
	for (i = 0; i < n; i++) unit[i * n + i] = 1;
	for (isa = 0; isa < ISAS; isa++)
		for (t = 0; t < cuts && engines[isa][t].there; t++) {
			int here = memory.n;
			odvgp_real *out = twin(L, n, n, ld);
			odvgp_trtri(&engines[isa][t].blas, n, out, ld);
			if (t == 0 || !OWN_BITS) {
				double e = residual(n, n, n, T, dense(n, n, out, ld, 0, GP__LOWER), unit);
				CHECK_SAY(e <= (8 * (double)n + 8) * EPS,
						"%s, %d tasks: trtri n %ld: residual %.2g eps of the size", isa_name[isa],
						cut_of[t], (long)n, e / EPS);
			} else
				CHECK_SAY(same(out, first, n, n, ld),
						"%s: trtri n %ld: %d tasks give other bits than 1", isa_name[isa], (long)n,
						cut_of[t]);
			CHECK_SAY(untouched(out, L, n, n, ld, 1),
					"%s: trtri n %ld writes outside of the lower triangle", isa_name[isa], (long)n);
			if (t == 0) first = out;
			else release_to(here);
		}
	release();
}
TEST(triangular_inverse)
{
	ptrdiff_t n;
	int r;
	test_seed = 64;
	for (n = 0; n <= (scale == SMALL ? 20 : 70); n++)
		for (r = 0; r < rounds(1, 1, 8); r++) try_inverse(n);
	if (scale == SMALL) return;
	for (n = 71; n <= 300; n += by_scale(0, 23, 1)) try_inverse(n);
	for (n = 511; n <= 515; n++)
		if (scale == ALL || n % 2 == 0) try_inverse(n);
	for (r = 0; r < rounds(0, 1, 40); r++) try_inverse(300 + test_below(401));
	if (scale == ALL) try_inverse(1100);
}

/*  The adjoint of A = L L^T: with T = L^-T Phi(L^T dL) L^-1, where Phi takes the lower triangle
    with half of the diagonal, the derivative with respect to the lower triangle is T + T^T below
    the diagonal and T on it. Large matrices are checked along a direction dA = u u^T: with s =
    L^-1 u, dL = L Phi(s s^T), and <G, dL> = <adjoint, dA> over the lower triangles. */
static void try_adjoint(ptrdiff_t n)
{
	ptrdiff_t ld = padded(n), ldg = padded(n), i, j, k;
	odvgp_real *L = triangle(n, ld), *G = matrix(n, n, ldg, 0), *L0, *first = NULL;
	wide *Lw, *T = NULL, *X = NULL, *u = NULL, *s = NULL, most = 0, by_dL = 0;
	int isa, t, cuts = cuts_for(n > 90 ? HUGE_VAL : 0);
	for (i = 0; i < n; i++) L[i * ld + i] = (odvgp_real)fabs((double)L[i * ld + i]);
	/* Elements above the diagonal of G must be 0; those of L are not read. */
	blank_above(G, n, ldg, 0);
	L0 = twin(L, n, n, ld);
	Lw = ref_new(n * n);
	for (i = 0; i < n; i++)
		for (j = 0; j <= i; j++) Lw[i * n + j] = (wide)L[i * ld + j];
	if (n <= 130) {
		T = ref_new(n * n), X = ref_new(n * n);
		for (i = 0; i < n; i++)
			for (j = 0; j <= i; j++) {
				wide sum = 0;
				for (k = i; k < n; k++) sum += Lw[k * n + i] * (wide)G[k * ldg + j];
				T[i * n + j] = i == j ? sum / 2 : sum;
			}
		/* L^-T Phi. */
		ref_solve_lower(1, n, n, Lw, T);
		for (i = 0; i < n; i++)
			for (j = 0; j < n; j++) X[i * n + j] = T[j * n + i];
		/* X = L^-T T^T = (T L^-1)^T. */
		ref_solve_lower(1, n, n, Lw, X);
		for (i = 0; i < n; i++)
			for (j = 0; j <= i; j++) {
				T[i * n + j] = i == j ? X[i * n + i] : X[i * n + j] + X[j * n + i];
				if (fabsl(T[i * n + j]) > most) most = fabsl(T[i * n + j]);
			}
	} else {
		u = ref_new(n), s = ref_new(n);
		for (i = 0; i < n; i++) u[i] = s[i] = (wide)test_between(-1, 1);
		ref_solve_lower(0, n, 1, Lw, s);
		for (i = 0; i < n; i++) {
			/* The sum of L_ip s_p over p > j. */
			wide tail = 0;
			for (j = i; j >= 0; j--) {
				by_dL += (wide)G[i * ldg + j] * s[j] * (tail + Lw[i * n + j] * s[j] / 2);
				tail += Lw[i * n + j] * s[j];
			}
		}
	}
	for (isa = 0; isa < ISAS; isa++)
		for (t = 0; t < cuts && engines[isa][t].there; t++) {
			int here = memory.n;
			odvgp_real *out = twin(G, n, n, ldg);
			odvgp_potrf_adjoint(&engines[isa][t].blas, n, L, ld, out, ldg);
			if (t == 0 || !OWN_BITS) {
				double worst = 0;
				if (T) {
					for (i = 0; i < n; i++)
						for (j = 0; j <= i; j++)
							worst = test_worse(worst,
									(double)(fabsl((wide)out[i * ldg + j] - T[i * n + j]) / most));
				} else {
					wide sum = 0, size = 0;
					for (i = 0; i < n; i++)
						for (j = 0; j <= i; j++)
							sum += (wide)out[i * ldg + j] * u[i] * u[j],
									size += fabsl((wide)out[i * ldg + j] * u[i] * u[j]);
					worst = (double)(fabsl(sum - by_dL) / size);
				}
				CHECK_SAY(worst <= (4 * (double)n + 8) * EPS,
						"%s, %d tasks: adjoint n %ld: error %.2g eps of the largest", isa_name[isa],
						cut_of[t], (long)n, worst / EPS);
			} else
				CHECK_SAY(same(out, first, n, n, ldg),
						"%s: adjoint n %ld: %d tasks give other bits than 1", isa_name[isa],
						(long)n, cut_of[t]);
			CHECK_SAY(untouched(out, G, n, n, ldg, 1),
					"%s: adjoint n %ld writes outside of the lower triangle", isa_name[isa],
					(long)n);
			if (t == 0) first = out;
			else release_to(here);
		}
	CHECK(same(L, L0, n, n, ld));
	release();
	free(Lw), free(T), free(X), free(u), free(s);
}
TEST(cholesky_adjoint)
{
	static const ptrdiff_t sizes[] = {73, 95, 96, 97, 130, 191, 193, 257, 400};
	ptrdiff_t n;
	size_t s;
	int r;
	test_seed = 65;
	for (n = 0; n <= (scale == SMALL ? 30 : 70); n += by_scale(7, n > 26 ? 3 : 1, 1))
		try_adjoint(n);
	for (s = 0; s < sizeof sizes / sizeof *sizes && scale != SMALL; s++) try_adjoint(sizes[s]);
	for (r = 0; r < rounds(0, 0, 40); r++) try_adjoint(test_below(701));
}

/*  Blocks of one array that lie side by side do not overlap: a triangle, what is left of it and
    what is below it. */
TEST(blocks_of_one_array)
{
	ptrdiff_t n = scale == SMALL ? 20 : 150, h = n / 3;
	int isa;
	test_seed = 66;
	for (isa = 0; isa < ISAS; isa++) {
		odvgp_real *A = definite(n, n, 1), *out = twin(A, n, n, n), *A21 = out + h * n,
				   *A22 = A21 + h;
		const odvgp_blas *b = &engines[isa][0].blas;
		double *L, *U;
		/* Compute a factor by hand from the parts of one. */
		if (engines[isa][0].there) {
			CHECK_STATUS(odvgp_potrf(b, h, out, n, NULL), ODVGP_OK);
			odvgp_trsm(b, 1, 1, n - h, h, out, n, A21, n);
			odvgp_syrk(b, 0, n - h, h, -1, A21, n, NULL, 1, A22, n);
			CHECK_STATUS(odvgp_potrf(b, n - h, A22, n, NULL), ODVGP_OK);
			L = dense(n, n, out, n, 0, GP__LOWER), U = dense(n, n, out, n, 1, GP__UPPER);
			CHECK(residual(n, n, n, L, U, mirror(n, A, n)) <= (2 * (double)n + 8) * EPS);
			CHECK(untouched(out, A, n, n, n, 1));
		}
		release();
	}
}

/*  With the sizes of a training step, the hook receives tasks, and every task runs once. */
TEST(large_operations_are_cut)
{
	int isa;
	ptrdiff_t n = 300, k = 256;
	test_seed = 51;
	for (isa = 0; isa < ISAS; isa++) {
		odvgp_real *A, *B, *C;
		if (!engines[isa][3].there) continue;
		A = matrix(n, k, k, 0);
		B = matrix(k, n, n, 0);
		C = matrix(n, n, n, 1);
		task_calls = 0;
		odvgp_gemm(&engines[isa][3].blas, 0, 0, n, n, k, 1, A, k, B, n, 0, C, n);
#ifndef ODVGP_USE_CBLAS /* A CBLAS has threads of its own. */
		CHECK(task_calls > 1);
#endif
		task_calls = 0;
		odvgp_syrk(&engines[isa][3].blas, 0, n, k, 1, A, k, NULL, 0, C, n);
		CHECK(task_calls > 1);
		release();
	}
}

int main(int argc, char **argv)
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
	RUN(instruction_sets);
	RUN(products_of_small_sizes);
	RUN(products_with_triangles);
	RUN(products_around_thresholds);
	RUN(products_of_vectors_without_padding);
	RUN(products_carry_nan_and_infinity);
	RUN(products_of_denormal_numbers);
	RUN(products_of_random_sizes);
	RUN(shares_of_large_sizes);
	RUN(kernel_matrices_of_more_entries_than_sizes);
	RUN(trsm_with_small_and_large_diagonals);
	RUN(trsm_of_four_forms);
	RUN(solves_with_ill_conditioned_triangles);
	RUN(trsm_carries_nan);
	RUN(factors_of_all_sizes);
	RUN(bad_pivots_are_reported);
	RUN(two_bad_pivots);
	RUN(triangular_inverse);
	RUN(cholesky_adjoint);
	RUN(blocks_of_one_array);
	RUN(large_operations_are_cut);
	stop_engines();
	return test_end();
}

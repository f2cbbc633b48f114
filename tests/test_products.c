/*  Instruction sets, products of matrices, and how large operations are cut into tasks. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "linalg.h"

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
	size_t bytes = odvgp_blas_size(&serial, NULL);
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
			for (l = 0; l < k; l++) {
				/* of row l of op(B) what is not outside */
				ptrdiff_t from = b_part == GP__UPPER ? l : 0,
						  to = b_part == GP__LOWER && l < n ? l + 1 : n;
				for (j = from; j < to && !outside(a_part, i, l); j++) {
					double t = p.a[i * k + l] * wb[l * n + j];
					p.sum[i * n + j] += t;
					p.size[i * n + j] += fabs(t);
				}
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
	int r, routine, step = by_scale(7, test_size(5, 11), 1);
	ptrdiff_t m, n, k, top = scale == SMALL ? 20 : 70;
	test_seed = 11;
	if (scale == ALL) {
		for (m = 0; m <= top; m++)
			for (n = 0; n <= top; n++)
				for (k = 0; k <= top; k++) one_product(GEMM, m, n, k, 15, 0, 0, 1);
	} else {
		for (r = 0; r < rounds(60, test_size(700, 150), 0); r++)
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
	for (r = 0; r < rounds(0, test_size(60, 15), 400); r++)
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
					for (r = 0; r < rounds(6, test_size(22, 11), 71 * 4); r++) {
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
	/* More steps than a block has: not each tile of C has products in the first one. */
	for (r = 0; r < rounds(0, 6, 40); r++)
		for (form = 0; form < 4; form++) {
			ptrdiff_t k = 280 + r;
			int of_b = r / 2 & 1, part = 1 + (r & 1);
			product p = make_product(PARTS, of_b ? 130 : k, of_b ? k : 130, k, of_b ? 0 : part,
					of_b ? part : 0, 0, 0, 0, 1);
			try_forms(&p, 1 << form);
			try_product(&p, form & 1, form >> 1, 1, 0);
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
		for (j = scale == ALL ? 0 : i % 3; j < 10; j += scale == ALL ? 1 : test_size(3, 9)) {
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
				one_product(routine, pack[i][0], pack[i][1], pack[i][2],
						scale == ALL ? 15 : test_size(15, 1 << i % 4), 2, 0, 1);
	one_product(GEMM, 700, 9, 300, 1, 0, 0, 1);
	one_product(GEMM, 9, 700, 300, 4, 0, 0, 1);
	one_product(GEMM, test_size(300, 150), test_size(280, 140), 1100, 2, 0, 0, 1);
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
					if (s > 5 && (s + (size_t)poison) % 2 < (size_t)test_size(0, 1)) continue;
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

/*  Sizes go up to 700, in the short form 400, checked by random vectors. */
TEST(products_of_random_sizes)
{
	int routine, round, most = test_size(701, 401);
	if (scale == SMALL) SKIP("small sizes only");
	test_seed = 17;
	for (round = 0; round < rounds(0, 2, 40); round++)
		for (routine = GEMM; routine <= LAUUM; routine++)
			one_product(routine, test_below(most), test_below(most),
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
/*  The shares of a triangle follow each other, begin at multiples of the unit, and have as many
    steps as the others, but for those of one unit of rows: of all rows, and of slices of them as a
    watched product does them. */
TEST(shares_of_triangles_have_equal_work)
{
	static const ptrdiff_t ranges[][3] = {{0, 1, 1}, {0, 23, 23}, {0, 24, 24}, {0, 300, 300},
			{0, 1001, 1001}, {0, 504, 1001}, {504, 904, 1001}, {904, 1001, 1001}};
	static const int counts[] = {1, 2, 3, 8}, parts[] = {GP__FULL, GP__LOWER, GP__UPPER};
	const ptrdiff_t unit = 8;
	size_t s, c, k;
	int t;
	for (s = 0; s < sizeof ranges / sizeof *ranges; s++)
		for (c = 0; c < sizeof counts / sizeof *counts; c++)
			for (k = 0; k < sizeof parts / sizeof *parts; k++) {
				ptrdiff_t first = ranges[s][0], last = ranges[s][1], n = ranges[s][2], end = first,
						  from, to, i;
				double all = 0;
				for (i = first; i < last; i++)
					all += (double)(!parts[k] ? n : parts[k] == GP__LOWER ? i + 1 : n - i);
				for (t = 0; t < counts[c]; t++) {
					double work = 0;
					from = gp__work_begin(first, last, n, unit, parts[k], counts[c], t);
					to = gp__work_begin(first, last, n, unit, parts[k], counts[c], t + 1);
					for (i = from; i < to; i++)
						work += (double)(!parts[k] ? n : parts[k] == GP__LOWER ? i + 1 : n - i);
					CHECK_SAY(from == end && to >= from && (from % unit == 0 || from == last) &&
									  fabs(work - all / counts[c]) <= (double)(unit * n),
							"share %d of %d of %ld, part %d: %ld to %ld", t, counts[c], (long)n,
							parts[k], (long)from, (long)to);
					end = to;
				}
				CHECK(end == last);
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
	linalg_begin(argc, argv);
	RUN(instruction_sets);
	RUN(products_of_small_sizes);
	RUN(products_with_triangles);
	RUN(products_around_thresholds);
	RUN(products_of_vectors_without_padding);
	RUN(products_carry_nan_and_infinity);
	RUN(products_of_denormal_numbers);
	RUN(products_of_random_sizes);
	RUN(shares_of_large_sizes);
	RUN(shares_of_triangles_have_equal_work);
	RUN(kernel_matrices_of_more_entries_than_sizes);
	RUN(large_operations_are_cut);
	stop_engines();
	return test_end();
}

/*  Solves with triangles, Cholesky factors, inverses and their adjoints. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "linalg.h"
#include "reference.h"

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
		for (round = 0; round < rounds(60, test_size(400, 80), 0); round++)
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
			if (scale != ALL && sizes[r] > 300 && (r + form) % test_size(3, 6)) continue;
			if (form & 1) try_trsm(1, form >> 1, thin, sizes[r], 1);
			else try_trsm(0, form >> 1, sizes[r], thin, 1);
			if (form & 1) try_trsm(1, form >> 1, sizes[r], thin, 1);
			else try_trsm(0, form >> 1, thin, sizes[r], 1);
		}
	for (round = 0; round < rounds(0, test_size(4, 2), 80); round++)
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
	for (n = 71; n <= 300; n += by_scale(0, test_size(13, 47), 1)) try_factor(n & 1, n, 1);
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

int main(int argc, char **argv)
{
	linalg_begin(argc, argv);
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
	stop_engines();
	return test_end();
}

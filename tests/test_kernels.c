/*  Kernel matrices below the tape: values against their definitions, large ones in chunks and
    tasks, coincident and distant points, gradients of short lengthscales. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "reference.h"
#include "kernels.h"

/*  Kernel values equal the definitions in long double, down to a kernel of 1e-30: the rounding
    of r causes a relative error of r eps. */
TEST(kernel_values)
{
	size_t e;
	int isa, spacing;
	test_seed = 100;
	for (e = 0; e < EXPRESSIONS; e++)
		for (spacing = 0; spacing < 3; spacing++) {
			const ptrdiff_t n = 9, m = 75;
			ptrdiff_t i, j, l;
			/* The kernel falls to 0 and below: errors are absolute. */
			int falls = 0;
			/* The angle of many periods has a larger rounding error. */
			double periods = 0;
			double value[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
			gp__kernel k;
			ref_kernel ref;
			odvgp_real hyp[40], X[27], Z[225], *K = NEW(odvgp_real, n * m);
			const odvgp_real spread = (odvgp_real)(spacing == 1 ? 1e-3 : spacing == 2 ? 8 : 1);
			wide *Xw, *Zw, *Kw;
			odvgp_blas blas;
			size_t bytes = odvgp_blas_size(NULL, NULL), scratch_bytes;
			void *block = test_alloc(bytes), *scratch;
			gp__arena a;
			gp__kjob job;
			char plain[200];
			const char *s;
			CHECK_STATUS(gp__kernel_parse(&k, expressions[e], 3, value, NULL), ODVGP_OK);
			/* Keep only the names: drop each list of arguments. */
			for (s = expressions[e], i = 0, j = 0; *s; s++) {
				if (*s == '(' && s > expressions[e] && isalnum((unsigned char)s[-1])) j++;
				if (!j) plain[i++] = *s;
				if (*s == ')' && j) j--;
			}
			plain[i] = 0;
			CHECK(ref_kernel_read(&ref, plain) && ref.base_kernels == (int)k.base_kernels);
			for (l = 0; l < (ptrdiff_t)k.base_kernels; l++) {
				const gp__base_kernel *base = &k.base[l];
				ref.base[l].ard = base->ard != 0;
				ref.base[l].ndims = base->nranges ? (int)base->ndims : 0;
				for (i = 0; i < (ptrdiff_t)base->ndims; i++)
					ref.base[l].dims[i] = (int)gp__column(base, i);
				for (i = 0; i < (ptrdiff_t)base->nls; i++)
					hyp[base->ls + (uint32_t)i] = (odvgp_real)test_between(0.3, 2);
				for (i = 0; i < (ptrdiff_t)base->nvar; i++)
					hyp[base->var + (uint32_t)i] = (odvgp_real)test_between(0.3, 3);
				for (i = 0; i < (ptrdiff_t)base->ndims; i++) {
					uint32_t number = gp__number_of(base, i);
					if (base->nls) ref.base[l].lengthscale[i] = (wide)hyp[base->ls + number];
					ref.base[l].variance[i] =
							(wide)hyp[base->var + (base->nvar > 1 ? number : 0)];
				}
				if (gp__base_kernel_kinds[base->type].shape_param)
					ref.base[l].shape_param =
							(wide)(hyp[base->shape_param] = (odvgp_real)test_between(0.7, 3));
				if (base->degree) ref.base[l].degree = (int)base->degree;
				if (base->type == GP__PERIODIC)
					periods += 32 * (double)spread /
							   (double)(hyp[base->shape_param] * hyp[base->ls] * hyp[base->ls]);
				falls |= gp__geometry(base) == GP__INNER_PRODUCT || base->type == GP__WHITE;
			}
			for (i = 0; i < n * 3; i++) X[i] = (odvgp_real)test_between(-1, 1) * spread;
			for (i = 0; i < m * 3; i++) Z[i] = (odvgp_real)test_between(-1, 1) * spread;
			for (i = 0; i < 3; i++) Z[i] = X[i];
			Xw = ref_copy(X, n * 3), Zw = ref_copy(Z, m * 3);
			Kw = ref_K(&ref, 3, Xw, n, Zw, m);
			for (isa = 0; isa < test_isas.count; isa++) {
				ptrdiff_t bad = 0;
				double worst = 0;
				CHECK_STATUS(odvgp_blas_init(&blas, NULL, test_isas.isa[isa], block, bytes, NULL),
						ODVGP_OK);
				gp__arena_init(&a, NULL, 0);
				gp__kernel_job(&job, &blas, &k, hyp, X, n, Z, m);
				gp__kernel_scratch(&a, &k, n, m, 1, 0, &job);
				scratch_bytes = a.used + 64;
				scratch = test_alloc(scratch_bytes);
				gp__arena_init(&a, scratch, scratch_bytes);
				job.K = K;
				job.ldk = m;
				gp__kernel_run(&job, a);
				for (i = 0; i < n * m; i++) {
					double want = (double)Kw[i],
						   depth = 60 + periods + (falls ? 0 : 12 * fabs(log(want))),
						   off = fabs((double)K[i] - want) / (falls ? 1 + fabs(want) : want);
					/* Skip values near float's subnormal range. */
					if (!falls && want < 1e-30) continue;
					if (!(off <= depth * EPS)) bad++;
					if (off > worst) worst = off;
				}
				CHECK_SAY(bad == 0, "%s, %s: %ld values off, by up to %.3g eps", expressions[e],
						test_isas.name[isa], (long)bad, worst / EPS);
				free(scratch);
			}
			free(block), free(K), free(Xw), free(Zw), free(Kw);
		}
}
/*  Large kernel matrices, which are computed in chunks and in tasks: values and adjoints equal
    the sums of small blocks, for every instruction set, with the same bits for 1, 2, 3 and 7
    tasks. */
typedef struct parts {
	odvgp_real *K, *dhyp, *dX1, *dX2, *out, *da;
} parts;
/*  Adds rows [i0, i1) and columns [j0, j1) of K and of the products a K^T to `to`. */
static void kernel_block(const odvgp_blas *blas, const gp__kernel *k, const odvgp_real *hyp,
		const odvgp_real *X1, const odvgp_real *X2, const odvgp_real *a, const odvgp_real *dK,
		const odvgp_real *dout, ptrdiff_t n, ptrdiff_t m, ptrdiff_t P, ptrdiff_t i0, ptrdiff_t i1,
		ptrdiff_t j0, ptrdiff_t j1, int lower, const parts *to)
{
	ptrdiff_t D = (ptrdiff_t)k->D, rows = i1 - i0, cols = j1 - j0, p, i;
	gp__kjob job;
	gp__kernel_job(&job, blas, k, hyp, X1 + i0 * D, rows, X2 + j0 * D, cols);
	gp__arena arena;
	odvgp_real *out = NEW(odvgp_real, P * rows), *rest = NEW(odvgp_real, P * rows);
	size_t bytes;
	void *block;
	gp__arena_init(&arena, NULL, 0);
	gp__kernel_scratch(&arena, k, rows, cols, gp__tasks(&blas->threads), 1, &job);
	gp__kernel_scratch(&arena, k, rows, cols, gp__tasks(&blas->threads), 0, &job);
	bytes = arena.used + 64;
	block = test_alloc(bytes);
	/* NaN: operations must not expect clean scratch. */
	memset(block, 0xff, bytes);
	gp__arena_init(&arena, block, bytes);
	job.lower = lower;
	job.K = to->K + i0 * m + j0;
	job.ldk = m;
	gp__kernel_run(&job, arena);
	job.K = NULL;
	job.dK = dK + i0 * m + j0;
	job.lddk = m;
	job.dhyp = to->dhyp;
	job.dX1 = to->dX1 + i0 * D;
	job.dX2 = to->dX2 + j0 * D;
	gp__kernel_adjoint_run(&job, arena);
	if (!lower) {
		gp__kernel_job(&job, blas, k, hyp, X1 + i0 * D, rows, X2 + j0 * D, cols);
		job.a = a + j0;
		job.lda = m;
		job.P = P;
		job.out = out;
		job.ldo = rows;
		gp__kernel_run(&job, arena);
		for (p = 0; p < P; p++)
			for (i = 0; i < rows; i++) {
				to->out[p * n + i0 + i] += out[p * rows + i];
				rest[p * rows + i] = dout[p * n + i0 + i];
			}
		job.out = NULL;
		job.dout = rest;
		job.da = to->da + j0;
		job.dhyp = to->dhyp;
		job.dX1 = to->dX1 + i0 * D;
		job.dX2 = to->dX2 + j0 * D;
		gp__kernel_adjoint_run(&job, arena);
	}
	free(out), free(rest), free(block);
}
static parts new_parts(ptrdiff_t n, ptrdiff_t m, ptrdiff_t P, ptrdiff_t D, ptrdiff_t nhyp,
		odvgp_real *all, size_t *reals)
{
	parts s;
	*reals = (size_t)(n * m + nhyp + n * D + m * D + P * n + P * m);
	memset(all, 0, *reals * sizeof *all);
	s.K = all;
	s.dhyp = s.K + n * m;
	s.dX1 = s.dhyp + nhyp;
	s.dX2 = s.dX1 + n * D;
	s.out = s.dX2 + m * D;
	s.da = s.out + P * n;
	return s;
}
TEST(large_kernel_matrices)
{
	static const struct {
		ptrdiff_t n, m;
		int lower;
	} sizes[] = {{130, 65, 0}, {300, 129, 0}, {64, 64, 0}, {257, 200, 0}, {1, 200, 0}, {200, 1, 0},
			{70, 70, 1}, {150, 150, 1}, {300, 300, 1}};
	static const int cuts[] = {1, 2, 3, 7};
	const ptrdiff_t D = 3, P = 2;
	double value[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
	size_t e, s;
	int isa, t;
	ptrdiff_t i, j;
	test_seed = 118;
	for (e = 0; e < EXPRESSIONS; e += e < 6 ? 5 : 1)
		for (s = (size_t)test_size((int)(e % 3), (int)(4 * e % 9)); s < sizeof sizes / sizeof *sizes;
				s += (size_t)test_size(3, 9)) {
			ptrdiff_t n = sizes[s].n, m = sizes[s].m, nhyp;
			int lower = sizes[s].lower;
			/* The small blocks of this test lie between two sets, where white is 0. */
			if (lower && strstr(expressions[e], "white")) continue;
			gp__kernel k;
			odvgp_real hyp[40], *X1 = NEW(odvgp_real, n * D), *X2, *a = NEW(odvgp_real, P * m),
								*dK = NEW(odvgp_real, n * m), *dout = NEW(odvgp_real, P * n);
			size_t reals, most = (size_t)(n * m + 40 + (n + m) * (D + P));
			odvgp_real *small = NEW(odvgp_real, most), *first = NEW(odvgp_real, most),
					   *large = NEW(odvgp_real, most);
			parts to, small_parts;
			CHECK_STATUS(gp__kernel_parse(&k, expressions[e], D, value, NULL), ODVGP_OK);
			nhyp = (ptrdiff_t)k.nhyp;
			for (i = 0; i < nhyp; i++) hyp[i] = (odvgp_real)test_between(0.5, 1.5);
			for (i = 0; i < n * D; i++) X1[i] = (odvgp_real)test_between(-1, 1);
			X2 = lower ? X1 : NEW(odvgp_real, m * D);
			for (i = 0; i < m * D && !lower; i++) X2[i] = (odvgp_real)test_between(-1, 1);
			for (i = 0; i < P * m; i++) a[i] = (odvgp_real)test_between(-1, 1);
			for (i = 0; i < P * n; i++) dout[i] = (odvgp_real)test_between(-1, 1);
			for (i = 0; i < n; i++)
				for (j = 0; j < m; j++)
					dK[i * m + j] = lower && j > i ? 0 : (odvgp_real)test_between(-1, 1);
			{
				/* Small blocks in plain C; with `lower` only K's part of the adjoint, because
                   products have no triangle. */
				size_t bytes = odvgp_blas_size(NULL, NULL);
				void *block = test_alloc(bytes);
				odvgp_blas blas;
				CHECK_STATUS(
						odvgp_blas_init(&blas, NULL, ODVGP_ISA_C, block, bytes, NULL), ODVGP_OK);
				if (lower)
					for (i = 0; i < P * n; i++) dout[i] = 0;
				to = small_parts = new_parts(n, m, P, D, nhyp, small, &reals);
				for (i = 0; i < n; i += 29)
					for (j = 0; j < m; j += 17)
						kernel_block(&blas, &k, hyp, X1, X2, a, dK, dout, n, m, P, i,
								i + 29 < n ? i + 29 : n, j, j + 17 < m ? j + 17 : m, 0, &to);
				for (i = 0; i < n && lower; i++)
					for (j = i + 1; j < m; j++) to.K[i * m + j] = 0;
				free(block);
			}
			for (isa = 0; isa < test_isas.count; isa++)
				for (t = 0; t < 4; t += test_size(1, 3)) {
					odvgp_threads hook = {run_mixed, NULL, 0};
					size_t bytes;
					void *block;
					odvgp_blas blas;
					int there;
					hook.count = cuts[t];
					bytes = odvgp_blas_size(&hook, NULL);
					block = test_alloc(bytes);
					there = odvgp_blas_init(&blas, &hook, test_isas.isa[isa], block, bytes, NULL) ==
							ODVGP_OK;
					if (there) {
						to = new_parts(n, m, P, D, nhyp, t ? large : first, &reals);
						kernel_block(&blas, &k, hyp, X1, X2, a, dK, dout, n, m, P, 0, n, 0, m,
								lower, &to);
					}
					free(block);
					if (!there) break;
					if (t) {
						CHECK_SAY(memcmp(first, large, reals * sizeof *first) == 0,
								"%s n %ld m %ld %s: %d tasks give other bits than 1",
								expressions[e], (long)n, (long)m, test_isas.name[isa], cuts[t]);
					} else {
						static const char *const what[] = {
								"K", "products", "hyperparameters", "X1", "X2", "a"};
						const parts *p = &small_parts;
						odvgp_real *one[] = {p->K, p->out, p->dhyp, p->dX1, p->dX2, p->da},
								   *two[] = {to.K, to.out, to.dhyp, to.dX1, to.dX2, to.da};
						ptrdiff_t count[] = {n * m, P * n, nhyp, n * D, m * D, P * m};
						int w;
						for (w = 0; w < 6; w++) {
							if (lower && (w == 1 || w == 5)) continue;
							CHECK_SAY(test_max_diff(one[w], two[w], count[w]) <=
											  (w ? 3e4 : 60) * EPS * test_max_abs(one[w], count[w]),
									"%s n %ld m %ld lower %d %s: %s differ by %.3g of %.3g",
									expressions[e], (long)n, (long)m, lower, test_isas.name[isa],
									what[w], test_max_diff(one[w], two[w], count[w]),
									test_max_abs(one[w], count[w]));
						}
					}
				}
			free(X1), free(a), free(dK), free(dout), free(small), free(first), free(large);
			if (!lower) free(X2);
		}
}
/*  Where points coincide, value and derivative are finite and correct; the derivative of Matern
    1/2 is set to 0, because it does not exist. */
TEST(coincident_points)
{
	static const char *const names[] = {"rbf", "matern12", "matern32", "matern52"};
	int e, ard;
	for (e = 0; e < 4; e++)
		for (ard = 0; ard < 2; ard++) {
			/* X1 = {p, q}, X2 = {p}: only q contributes to the gradient. */
			odvgp_real hyp[4] = {(odvgp_real)0.7, (odvgp_real)0.7, (odvgp_real)1.3, 0},
					   X1[4] = {1, 2, (odvgp_real)1.5, (odvgp_real)2.25}, X2[2] = {1, 2}, K[2],
					   dK[2] = {1, 0}, dhyp[4] = {0, 0, 0, 0}, dX1[4] = {0, 0, 0, 0},
					   dX2[2] = {0, 0};
			double value[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
			size_t bytes = odvgp_blas_size(NULL, NULL);
			void *block = test_alloc(bytes), *scratch = test_alloc(1 << 20);
			odvgp_blas blas;
			gp__kernel k;
			gp__kjob job;
			gp__arena a;
			char text[40];
			odvgp_real v;
			sprintf(text, "%s%s", names[e], ard ? "(1, ard)" : "");
			CHECK_STATUS(gp__kernel_parse(&k, text, 2, value, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_blas_init(&blas, NULL, test_isa(), block, bytes, NULL),
					ODVGP_OK);
			if (!ard) hyp[1] = hyp[2];
			v = hyp[k.base[0].var];
			gp__arena_init(&a, scratch, 1 << 20);
			gp__kernel_job(&job, &blas, &k, hyp, X1, 2, X2, 1);
			job.K = K;
			job.ldk = 1;
			gp__kernel_run(&job, a);
			CHECK_SAY(K[0] == v, "%s at distance 0 is %.17g, not %.17g", text, (double)K[0],
					(double)v);
			CHECK(K[1] > 0 && K[1] < v);
			gp__kernel_job(&job, &blas, &k, hyp, X1, 2, X2, 1);
			job.dK = dK;
			job.lddk = 1;
			job.dhyp = dhyp;
			job.dX1 = dX1;
			job.dX2 = dX2;
			gp__kernel_adjoint_run(&job, a);
			CHECK(dX1[0] == 0 && dX1[1] == 0 && dX2[0] == 0 && dX2[1] == 0);
			CHECK(dhyp[k.base[0].ls] == 0);
			CHECK_NEAR(dhyp[k.base[0].var], 1, 4 * EPS);
			/* At a large distance the kernel is exactly flat, never NaN. */
			X2[0] = (odvgp_real)1e15, X2[1] = (odvgp_real)-1e15;
			dK[1] = 1;
			gp__kernel_job(&job, &blas, &k, hyp, X1, 2, X2, 1);
			job.K = K;
			job.ldk = 1;
			gp__kernel_run(&job, a);
			CHECK(K[0] == 0 && K[1] == 0);
			gp__kernel_job(&job, &blas, &k, hyp, X1, 2, X2, 1);
			job.dK = dK;
			job.lddk = 1;
			job.dhyp = dhyp;
			job.dX1 = dX1;
			job.dX2 = dX2;
			gp__kernel_adjoint_run(&job, a);
			CHECK(dX1[0] == 0 && dX1[3] == 0 && dX2[1] == 0);
			CHECK(dhyp[k.base[0].ls] == 0);
			free(block), free(scratch);
		}
}
/*  The gradient of short lengthscales of ARD kernels is compared with long double sums of W_ij
    dk/dr^2 (u_i - w_j)^2. The allowed error is that which rounding of the scaled points u and w
    causes. The forms are a matrix, a lower triangle, and a product with vectors, cached or not. */
enum { SHORT_MATRIX, SHORT_LOWER, SHORT_PRODUCT, SHORT_KEPT, SHORT_FORMS };
static void short_lengthscale_gradient(const odvgp_blas *blas, const gp__kernel *k, int form,
		const odvgp_real *hyp, const odvgp_real *X, ptrdiff_t n, const odvgp_real *Z, ptrdiff_t m,
		const odvgp_real *W, const odvgp_real *a, const odvgp_real *dout, odvgp_real *dhyp)
{
	gp__kjob job, shape;
	gp__kernel_job(&job, blas, k, hyp, X, n, Z, m);
	shape = job;
	gp__arena arena;
	odvgp_real *out = NEW(odvgp_real, n);
	size_t bytes;
	void *block;
	int pass;
	/* The first pass measures, the second carves. */
	for (pass = 0; pass < 2; pass++) {
		gp__arena_init(&arena, pass ? block : NULL, pass ? bytes : 0);
		job.kept = form == SHORT_KEPT;
		if (job.kept) {
			job.values = (odvgp_real *)gp__take_bytes(&arena, gp__kept_bytes(k, n, m), 1);
			job.each = gp__strips(n) * gp__padded(m);
		}
		if (pass) break;
		shape = job;
		gp__arena probe = arena;
		gp__kernel_scratch(&probe, k, n, m, gp__tasks(&blas->threads), 1, &shape);
		bytes = probe.used + 64;
		shape = job;
		gp__kernel_scratch(&arena, k, n, m, gp__tasks(&blas->threads), 0, &shape);
		if (arena.used + 64 > bytes) bytes = arena.used + 64;
		block = test_alloc(bytes);
		memset(block, 0xff, bytes);
	}
	job.lower = form == SHORT_LOWER;
	if (form >= SHORT_PRODUCT) {
		job.a = a;
		job.lda = m;
		job.P = 1;
		job.out = out;
		job.ldo = n;
		if (job.kept) gp__kernel_run(&job, arena);
		job.out = NULL;
		job.dout = dout;
	} else {
		job.dK = W;
		job.lddk = m;
	}
	job.dhyp = dhyp;
	gp__kernel_adjoint_run(&job, arena);
	free(block), free(out);
}
TEST(short_lengthscales_for_each_column)
{
	static const struct {
		const char *kernel;
		ptrdiff_t D;
		double l[3];
	} cases[] = {{"rbf(ard)", 1, {0.005}}, {"rbf(ard)", 1, {0.002}}, {"rbf(ard)", 1, {0.001}},
			{"matern52(ard)", 1, {0.001}}, {"rbf(ard)", 3, {0.005, 0.7, 0.001}},
			{"matern52(ard)", 3, {0.002, 0.001, 3}},
			{"matern52(ard, dims=0+2)", 3, {0.001, 0.002, 0}}};
	enum { N = 300, M = 200 };
	size_t c;
	int form, isa;
	ptrdiff_t i, j, d;
	test_seed = 131;
	for (c = 0; c < sizeof cases / sizeof *cases; c++)
		for (form = 0; form < SHORT_FORMS; form++) {
			const ptrdiff_t D = cases[c].D, m = M, n = form == SHORT_LOWER ? M : N;
			odvgp_real *X = NEW(odvgp_real, N * D), *Z = NEW(odvgp_real, M * D),
					   *W = NEW(odvgp_real, N * M), *a = NEW(odvgp_real, M),
					   *dout = NEW(odvgp_real, N), hyp[4];
			double value[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
			wide want[3] = {0}, off[3] = {0}, size[3] = {0}, centre[3] = {0}, most = 0;
			gp__kernel k;
			CHECK_STATUS(gp__kernel_parse(&k, cases[c].kernel, D, value, NULL), ODVGP_OK);
			const gp__base_kernel *base = &k.base[0];
			for (i = 0; i < (ptrdiff_t)k.nhyp; i++) hyp[i] = 1;
			for (d = 0; d < (ptrdiff_t)base->nls; d++) hyp[d] = (odvgp_real)cases[c].l[d];
			/* Each point has neighbours within its lengthscales. */
			for (i = 0; i < m; i++) {
				for (d = 0; d < D; d++) Z[i * D + d] = (odvgp_real)test_between(-1, 1);
				for (d = 0; d < (ptrdiff_t)base->ndims && i % 3; d++)
					Z[i * D + gp__column(base, d)] = Z[(i - 1) * D + gp__column(base, d)] +
													 hyp[d] * (odvgp_real)test_between(-2, 2);
			}
			for (i = 0; i < n; i++)
				for (d = 0, j = test_below((int)m); d < (ptrdiff_t)base->ndims; d++)
					X[i * D + gp__column(base, d)] = Z[j * D + gp__column(base, d)] +
													 hyp[d] * (odvgp_real)test_between(-2, 2);
			for (j = 0; j < m; j++) a[j] = (odvgp_real)test_between(-1, 1);
			for (i = 0; i < n; i++) dout[i] = (odvgp_real)test_between(-1, 1);
			for (i = 0; i < n; i++)
				for (j = 0; j < m; j++)
					W[i * m + j] = form >= SHORT_PRODUCT ? dout[i] * a[j]
														 : (odvgp_real)test_between(-1, 1);
			const odvgp_real *X1 = form == SHORT_LOWER ? Z : X;
			for (j = 0; j < m; j++)
				for (d = 0; d < (ptrdiff_t)base->ndims; d++)
					centre[d] += (wide)Z[j * D + gp__column(base, d)] / m;
			for (i = 0; i < n + m; i++)
				for (d = 0; d < (ptrdiff_t)base->ndims; d++) {
					wide u = fabsl((wide)(i < n ? X1[i * D + gp__column(base, d)]
												: Z[(i - n) * D + gp__column(base, d)]) -
									 centre[d]) /
							 (wide)hyp[d];
					if (u > most) most = u;
				}
			for (i = 0; i < n; i++)
				for (j = 0; j < (form == SHORT_LOWER ? i + 1 : m); j++) {
					wide t[3], r2 = 0, sum = 0, w = (wide)W[i * m + j], h, fall;
					for (d = 0; d < (ptrdiff_t)base->ndims; d++) {
						ptrdiff_t column = gp__column(base, d);
						t[d] = ((wide)X1[i * D + column] - (wide)Z[j * D + column]) / (wide)hyp[d];
						r2 += t[d] * t[d];
						sum += fabsl(t[d]);
					}
					if (base->type == GP__RBF) h = -expl(-r2 / 2) / 2, fall = sqrtl(r2);
					/* -dh/dr / h, or a bound above it. */
					else h = -5 * (1 + sqrtl(5 * r2)) * expl(-sqrtl(5 * r2)) / 6, fall = sqrtl(5);
					for (d = 0; d < (ptrdiff_t)base->ndims; d++) {
						want[d] += w * h * t[d] * t[d];
						size[d] += fabsl(w * h) * t[d] * t[d] * (60 + 12 * sqrtl(5 * r2));
						off[d] += fabsl(w * h) *
								  (2 * fabsl(t[d]) + t[d] * t[d] * fall * (wide)base->ndims);
					}
				}
			for (isa = 0; isa < test_isas.count; isa++) {
				size_t bytes = odvgp_blas_size(NULL, NULL);
				void *block = test_alloc(bytes);
				odvgp_blas blas;
				if (odvgp_blas_init(&blas, NULL, test_isas.isa[isa], block, bytes, NULL) ==
						ODVGP_OK) {
					odvgp_real dhyp[4] = {0};
					short_lengthscale_gradient(&blas, &k, form, hyp, X1, n, Z, m, W, a, dout, dhyp);
					for (d = 0; d < (ptrdiff_t)base->nls; d++) {
						wide factor = 2 / (wide)hyp[d],
							 allowed = (off[d] * 2 * most + size[d]) * (wide)EPS * factor,
							 got = (wide)dhyp[d];
						CHECK_SAY(fabsl(got + want[d] * factor) <= allowed,
								"%s, lengthscale %g, form %d, %s: %.9Lg, not %.9Lg (allowed: "
								"%.2Lg)",
								cases[c].kernel, cases[c].l[d], form, test_isas.name[isa], got,
								-want[d] * factor, allowed);
					}
				}
				free(block);
			}
			free(X), free(Z), free(W), free(a), free(dout);
		}
}
/*  Lengthscales are extreme and points far away. An ARD kernel is its variance where points
    coincide and 0 where they do not, and its gradient is finite, as with one lengthscale for all
    columns; the gradient in the inputs is finite if x / lengthscale^2 is, which cancels in it. */
TEST(short_and_far_for_each_column)
{
	static const char *const names[] = {"rbf", "matern12", "matern32", "matern52", "rq"};
	static const double lengths[] = {1, 1e-3, 1e-37};
	int e, ard, l, f, isa;
	for (e = 0; e < 5; e++)
		for (ard = 0; ard < 2; ard++)
			for (l = 0; l < 3; l++)
				for (f = 0; f < 3; f++)
					for (isa = 0; isa < test_isas.count; isa++) {
						const double far[] = {
								1e4, BY_PRECISION(1e100, 1e16), BY_PRECISION(1e150, 1e18)};
						odvgp_real hyp[5] = {0}, X[4] = {1, 2, 0, 0}, K[4], dK[4] = {1, 1, 1, 1},
								   dhyp[5] = {0}, dX[4] = {0};
						double value[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
						size_t bytes = odvgp_blas_size(NULL, NULL);
						void *block = test_alloc(bytes), *scratch = test_alloc(1 << 20);
						odvgp_blas blas;
						gp__kernel k;
						gp__kjob job;
						gp__arena a;
						char text[40];
						uint32_t i;
						sprintf(text, "%s%s", names[e], ard ? "(ard)" : "");
						CHECK_STATUS(gp__kernel_parse(&k, text, 2, value, NULL), ODVGP_OK);
						for (i = 0; i < k.nhyp; i++) hyp[i] = 1;
						for (i = 0; i < k.base[0].nls; i++) hyp[i] = (odvgp_real)lengths[l];
						if (k.base[0].type == GP__RQ) hyp[k.base[0].shape_param] = 3;
						X[2] = (odvgp_real)far[f], X[3] = (odvgp_real)-far[f];
						gp__arena_init(&a, scratch, 1 << 20);
						if (odvgp_blas_init(&blas, NULL, test_isas.isa[isa], block, bytes, NULL) ==
								ODVGP_OK) {
							gp__kernel_job(&job, &blas, &k, hyp, X, 2, X, 2);
							job.K = K;
							job.ldk = 2;
							gp__kernel_run(&job, a);
							CHECK_SAY(K[0] == 1 && K[3] == 1,
									"%s, lengthscale %g, distance %g, %s: %g and %g on the "
									"diagonal",
									text, lengths[l], far[f], test_isas.name[isa], (double)K[0],
									(double)K[3]);
							CHECK_SAY((double)fabs((double)K[1]) < 1e-10 && K[1] == K[2],
									"%s, lengthscale %g, distance %g, %s: %g beside the diagonal",
									text, lengths[l], far[f], test_isas.name[isa], (double)K[1]);
							job.K = NULL;
							job.dK = dK;
							job.lddk = 2;
							job.dhyp = dhyp;
							job.dX1 = job.dX2 = dX;
							gp__kernel_adjoint_run(&job, a);
							for (i = 0; i < k.nhyp; i++)
								CHECK_SAY(fabs((double)dhyp[i]) < HUGE_REAL,
										"%s, lengthscale %g, distance %g, %s: gradient %g", text,
										lengths[l], far[f], test_isas.name[isa], (double)dhyp[i]);
							for (i = 0; i < 4 && far[f] / lengths[l] / lengths[l] < HUGE_REAL; i++)
								CHECK_SAY(fabs((double)dX[i]) < HUGE_REAL,
										"%s, lengthscale %g, distance %g, %s: gradient %g of X",
										text, lengths[l], far[f], test_isas.name[isa],
										(double)dX[i]);
						}
						free(block), free(scratch);
					}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(kernel_values);
	RUN(large_kernel_matrices);
	RUN(coincident_points);
	RUN(short_lengthscales_for_each_column);
	RUN(short_and_far_for_each_column);
	return test_end();
}

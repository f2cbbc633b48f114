/*  Every operation of the tape against finite differences: random inputs, a random cotangent W,
    and the derivative of sum W_ij out_ij with respect to each element of each input (along
    directions, if inputs are large) by a central difference of fourth order. Also: adjoints are
    added to the existing values, nothing is written if no gradient is wanted, and padding is
    unchanged. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "tape.h"
#include "kernels.h"

/*  Chooses the step size: in float at most 10 points, so that they are far enough apart for a
    long step. The grid's strides 7 and 13 and the number of points have no common divisor. */
static void kernel_steps(ptrdiff_t points)
{
	use_step(2e-4, 0.03, 2e-9, 1e-3);
	apart_of = points;
	apart_next = 0;
}
/*  Sines bend within the steps that differences in float need; in double half a step is enough.
    Returns 0 if the kernel must be left out. */
static int kernel_start(const char *expression, ptrdiff_t points)
{
	int bends = strstr(expression, "periodic") != NULL;
	if (bends && sizeof(odvgp_real) == 4) return 0;
	start(expression, 3);
	kernel_steps(points);
	if (bends) step_size /= 2;
	return 1;
}
TEST(kernel_matrix)
{
	static const struct {
		ptrdiff_t n, m;
	} sizes[] = {{5, 4}, {1, 1}, {2, 8}, {3, 70}, {40, 33}};
	size_t e;
	int s;
	test_seed = 101;
	for (e = 0; e < EXPRESSIONS; e++)
		for (s = 0; s < BY_PRECISION(test_size(5, 4), 3); s++) {
			if (!kernel_start(expressions[e], sizes[s].n + sizes[s].m)) continue;
			{
				input in[] = {IN(1, (ptrdiff_t)b.unit.kernel.nhyp, POSITIVE),
						IN(sizes[s].n, 3, APART), IN(sizes[s].m, 3, APART)};
				CHECK_OP(GP__KERNEL, in, sizes[s].n, sizes[s].m, 0, 1, 1, expressions[e]);
			}
		}
}
TEST(kernel_matrix_of_a_set_with_itself)
{
	static const ptrdiff_t sizes[] = {5, 1, 10, 72};
	size_t e;
	int s;
	test_seed = 102;
	for (e = 0; e < EXPRESSIONS; e++)
		for (s = 0; s < BY_PRECISION(test_size(4, 3), 3); s++) {
			if (!kernel_start(expressions[e], sizes[s])) continue;
			b.lower_out = 1;
			{
				input in[] = {IN(1, (ptrdiff_t)b.unit.kernel.nhyp, POSITIVE),
						IN(sizes[s], 3, APART), SAME(1)};
				/* k(x,x) does not depend on x. */
				if (sizes[s] == 1) in[1].fixed = 1;
				CHECK_OP(
						GP__KERNEL, in, sizes[s], sizes[s], GP__KERNEL_LOWER, 1, 1, expressions[e]);
			}
		}
}
TEST(kernel_diagonal)
{
	size_t e;
	test_seed = 103;
	for (e = 0; e < EXPRESSIONS; e++) {
		start(expressions[e], 3);
		kernel_steps(6);
		{
			/* Lengthscales do not move it, and inputs do only if the kernel is not stationary:
               the other derivatives and differences are 0. */
			input in[] = {IN(1, (ptrdiff_t)b.unit.kernel.nhyp, POSITIVE), IN(6, 3, APART)};
			in[1].fixed = gp__kernel_stationary(&b.unit.kernel);
			CHECK_OP(GP__KERNEL_DIAG, in, 1, 6, 0, 1, 1, expressions[e]);
		}
	}
}
TEST(kernel_times_vector)
{
	static const struct {
		ptrdiff_t n, m, P;
	} sizes[] = {{5, 4, 1}, {4, 6, 3}, {8, 2, 2}, {3, 70, 2}, {70, 3, 1}};
	size_t e;
	int s;
	test_seed = 104;
	for (e = 0; e < EXPRESSIONS; e++)
		for (s = 0; s < BY_PRECISION(test_size(5, 4), 3); s++) {
			if (!kernel_start(expressions[e], sizes[s].n + sizes[s].m)) continue;
			{
				input in[] = {IN(1, (ptrdiff_t)b.unit.kernel.nhyp, POSITIVE),
						IN(sizes[s].n, 3, APART), IN(sizes[s].m, 3, APART),
						PADDED(sizes[s].P, sizes[s].m, ANY)};
				CHECK_OP(GP__KERNEL_VEC, in, sizes[s].P, sizes[s].n, 0, 1, 1, expressions[e]);
			}
		}
}

TEST(cholesky)
{
	static const ptrdiff_t sizes[] = {1, 2, 5, 12, 30, 60};
	int s, relative;
	test_seed = 105;
	for (s = 0; s < 6; s++)
		for (relative = 0; relative < 2; relative++) {
			ptrdiff_t n = sizes[s];
			start(NULL, 0);
			b.lower_out = 1;
			b.t.jitter_absolute = (odvgp_real)(relative ? 0 : 1e-3);
			b.t.jitter_relative = (odvgp_real)(relative ? 0.05 : 0);
			{
				input in[] = {PADDED(n, n, DEFINITE)};
				CHECK_OP(GP__CHOL, in, n, n, 0, 1, 1,
						relative ? "with relative jitter" : "with absolute jitter");
			}
			CHECK_INT(b.t.events.jitter_raised, 0);
		}
}
TEST(cholesky_of_stacked_squares)
{
	static const ptrdiff_t sizes[] = {1, 2, 5, 12};
	int s;
	ptrdiff_t P;
	test_seed = 118;
	for (s = 0; s < 4; s++)
		for (P = 1; P <= 3; P++) {
			input in[] = {PADDED(P * sizes[s], sizes[s], DEFINITE)};
			start(NULL, 0);
			b.lower_out = b.bare = 1;
			/* The absolute and the relative jitter must not be used. */
			b.t.jitter_absolute = b.t.jitter_relative = 1;
			CHECK_OP(GP__CHOL, in, P * sizes[s], sizes[s], 0, 1, 1, "stacked");
		}
}
/*  The jitter is relative to the diagonal of another matrix. */
TEST(cholesky_with_the_jitter_of_a_prior)
{
	static const ptrdiff_t sizes[] = {1, 2, 5, 12};
	int s;
	test_seed = 119;
	for (s = 0; s < 4; s++) {
		input in[] = {PADDED(sizes[s], sizes[s], DEFINITE), PADDED(sizes[s], sizes[s], DEFINITE)};
		start(NULL, 0);
		b.lower_out = 1;
		b.t.jitter_absolute = (odvgp_real)1e-3;
		b.t.jitter_relative = (odvgp_real)0.3;
		CHECK_OP(GP__CHOL, in, sizes[s], sizes[s], 0, 1, 1, "with a prior");
	}
}
TEST(jittered)
{
	ptrdiff_t n;
	int relative, i;
	test_seed = 120;
	for (n = 1; n < 30; n += 9)
		for (relative = 0; relative < 2; relative++) {
			input in[] = {PADDED(n, n, SYMMETRIC)};
			start(NULL, 0);
			b.t.jitter_absolute = (odvgp_real)1e-3;
			b.t.jitter_relative = (odvgp_real)(relative ? 0.3 : 0);
			b.unit.jitter[GP__JITTER_BETA].raised = (odvgp_real)0.125;
			CHECK_OP(GP__JITTERED, in, n, n, 0, 1, 1, relative ? "relative" : "absolute");
		}
	{
		/* In the value, the raised jitter counts, and only the diagonal receives it. */
		odvgp_real K[9] = {2, 1, 3, 1, 4, 5, 3, 5, 6}, v[9], d[9];
		gp__node *nd;
		gp__ref of;
		start(NULL, 0);
		of = add_input_node(GP__PARAM, GP__HEAD, 3, 3);
		nd = node_of(add_node(GP__JITTERED, 0, GP__HEAD, 3, 3, of, gp__none, gp__none, gp__none));
		node_of(of)->v = K;
		nd->v = v, nd->d = d;
		b.t.jitter_absolute = (odvgp_real)0.5;
		b.t.jitter_relative = (odvgp_real)0.25;
		b.unit.jitter[GP__JITTER_BETA].raised = (odvgp_real)0.125;
		CHECK_STATUS(gp__run_forward(nd), ODVGP_OK);
		for (i = 0; i < 9; i++)
			CHECK(v[i] == K[i] + (odvgp_real)(i % 4 ? 0 : 0.5 + 0.25 * 4 + 0.125));
		stop();
	}
}
TEST(triangular_solve)
{
	static const ptrdiff_t sizes[] = {1, 3, 7, 29, 61};
	int s, copies;
	test_seed = 106;
	for (s = 0; s < 5; s++) {
		ptrdiff_t M = sizes[s];
		/* One factor serves several blocks of rows. */
		for (copies = 1; copies <= 3; copies++) {
			start(NULL, 0);
			{
				input in[] = {PADDED(M, M, FACTOR), PADDED(copies * M, 4, ANY)};
				CHECK_OP(GP__SOLVE, in, copies * M, 4, GP__SOLVE_LEFT, 1, 1, "from the left");
			}
			start(NULL, 0);
			{
				input in[] = {PADDED(M, M, FACTOR), PADDED(copies, M, ANY)};
				CHECK_OP(GP__SOLVE, in, copies, M, GP__SOLVE_RIGHT, 1, 1, "from the right");
			}
			start(NULL, 0);
			{
				input in[] = {PADDED(M, M, FACTOR), PADDED(copies, M, ANY)};
				CHECK_OP(GP__SOLVE, in, copies, M, GP__SOLVE_RIGHT_PLAIN, 1, 1,
						"from the right, not transposed");
			}
		}
	}
}
/*  Makes a model that owns the unit and has a copy of the tape, for functions that read the tape
    from there. */
static void give_model(odvgp_model *model)
{
	memset(model, 0, sizeof *model);
	model->tape = b.t;
	b.unit.model = model;
}
/*  In place, the solution and its adjoint use the memory of the right-hand side. The test
    compares with an operation that has memory of its own. */
TEST(triangular_solve_in_place)
{
	ptrdiff_t M = 9, n = 7, i;
	odvgp_real *B = NEW(odvgp_real, M * n), *dB = NEW(odvgp_real, M * n),
			   *B2 = NEW(odvgp_real, M * n), *dB2 = NEW(odvgp_real, M * n),
			   *Y = NEW(odvgp_real, M * n), *dY = NEW(odvgp_real, M * n),
			   *dL = NEW(odvgp_real, M * M), *dL2 = NEW(odvgp_real, M * M);
	gp__node *nd;
	gp__ref k;
	odvgp_model model;
	int where;
	test_seed = 107;
	start(NULL, 0);
	{
		input L = IN(M, M, FACTOR);
		add_input(&L, 0);
	}
	b.n = 1;
	k = add_input_node(GP__INPUT, GP__HEAD, M, n);
	for (i = 0; i < M * n; i++) {
		B[i] = B2[i] = (odvgp_real)test_between(-1, 1);
		dB[i] = dY[i] = (odvgp_real)test_between(-1, 1);
		dB2[i] = 0;
	}
	for (where = 0; where < 2; where++) {
		node_of(k)->v = where ? B2 : B;
		node_of(k)->d = where ? dB2 : dB;
		node_of(k)->needs_grad = 1;
		node_of(b.node[0])->d = where ? dL2 : dL;
		for (i = 0; i < M * M; i++) node_of(b.node[0])->d[i] = 0;
		give_model(&model);
		nd = node_of(where ? add_node(GP__SOLVE, GP__SOLVE_LEFT, GP__HEAD, M, n, b.node[0], k,
									 gp__none, gp__none)
						   : gp__solve_in_place(&b.unit, GP__HEAD, b.node[0], k, n));
		if (where) {
			nd->v = Y;
			nd->d = dY;
		} else CHECK(nd->v == B && nd->d == dB);
		nd->needs_grad = 1;
		CHECK_STATUS(gp__run_forward(nd), ODVGP_OK);
		gp__ops[GP__SOLVE].reverse(nd);
	}
	CHECK_BITS(B, Y, (size_t)(M * n) * sizeof *B);
	CHECK_BITS(dB, dB2, (size_t)(M * n) * sizeof *B);
	CHECK_BITS(dL, dL2, (size_t)(M * M) * sizeof *B);
	free(B), free(dB), free(B2), free(dB2), free(Y), free(dY), free(dL), free(dL2);
	stop();
}
TEST(product)
{
	int form, s;
	static const struct {
		ptrdiff_t m, n, k;
	} sizes[] = {{3, 4, 5}, {1, 6, 2}, {2, 40, 33}, {37, 3, 50}};
	test_seed = 108;
	for (s = 0; s < 4; s++)
		for (form = 0; form < 3; form++) {
			static const int variant[] = {GP__PRODUCT_AB, GP__PRODUCT_ABT, GP__PRODUCT_ATBT};
			int ta = form == 2, tb = form > 0;
			ptrdiff_t m = sizes[s].m, n = sizes[s].n, k = sizes[s].k;
			input in[] = {PADDED(ta ? k : m, ta ? m : k, ANY), PADDED(tb ? n : k, tb ? k : n, ANY)};
			start(NULL, 0);
			CHECK_OP(GP__PRODUCT, in, m, n, variant[form], 1, 1,
					form == 0   ? "A B"
					: form == 1 ? "A B^T"
								: "A^T B^T");
		}
	/* The second factor is lower triangular. */
	for (s = 2; s < 40; s += 9) {
		input in[] = {PADDED(3, s, ANY), PADDED(s, s, FACTOR)};
		start(NULL, 0);
		CHECK_OP(GP__PRODUCT, in, 3, s, GP__PRODUCT_AL, 1, 1, "A L");
	}
}
TEST(minus_product)
{
	static const struct {
		ptrdiff_t m, n, r;
	} sizes[] = {{1, 1, 1}, {3, 5, 4}, {2, 9, 30}, {12, 7, 3}, {30, 40, 17}};
	int s;
	test_seed = 121;
	for (s = 0; s < 5; s++) {
		ptrdiff_t m = sizes[s].m, n = sizes[s].n, r = sizes[s].r;
		input plain[] = {PADDED(m, n, ANY), PADDED(r, m, ANY), PADDED(r, n, ANY)};
		input lower[] = {PADDED(m, m, DEFINITE), PADDED(r, m, ANY), SAME(1)};
		start(NULL, 0);
		CHECK_OP(GP__MINUS_PRODUCT, plain, m, n, GP__MINUS_WHOLE, 1, 1, "K - W^T A");
		start(NULL, 0);
		b.lower_out = 1;
		CHECK_OP(GP__MINUS_PRODUCT, lower, m, m, GP__MINUS_LOWER, 1, 1, "lower, K - W^T W");
	}
}
/*  In place, compared with an operation that has memory of its own. */
TEST(minus_product_in_place)
{
	enum { M = 6, N = 7, R = 5 };
	odvgp_real K[2][M * N], dK[2][M * N], Y[M * N], dY[M * N], dW[2][R * M], dA[2][R * N];
	gp__node *nd;
	gp__ref k;
	odvgp_model model;
	int i, where;
	test_seed = 122;
	start(NULL, 0);
	{
		input W = IN(R, M, ANY), A = IN(R, N, ANY);
		add_input(&W, 0);
		add_input(&A, 1);
	}
	b.n = 2;
	k = add_input_node(GP__INPUT, GP__HEAD, M, N);
	for (i = 0; i < M * N; i++) {
		K[0][i] = K[1][i] = (odvgp_real)test_between(-1, 1);
		dK[0][i] = dY[i] = (odvgp_real)test_between(-1, 1);
		dK[1][i] = 0;
	}
	for (where = 0; where < 2; where++) {
		odvgp_real *own[2];
		node_of(k)->v = K[where];
		node_of(k)->d = dK[where];
		node_of(k)->needs_grad = 1;
		for (i = 0; i < R * M; i++) dW[where][i] = 0;
		for (i = 0; i < R * N; i++) dA[where][i] = 0;
		own[0] = node_of(b.node[0])->d, own[1] = node_of(b.node[1])->d;
		node_of(b.node[0])->d = dW[where];
		node_of(b.node[1])->d = dA[where];
		give_model(&model);
		const gp__ref in[3] = {k, b.node[0], b.node[1]};
		nd = node_of(gp__node_add(&b.t, &b.unit, GP__MINUS_PRODUCT, GP__MINUS_WHOLE, GP__HEAD, M, N,
				in, 3, where ? gp__none : k));
		if (where) nd->v = Y, nd->d = dY;
		else CHECK(nd->v == K[0] && nd->d == dK[0]);
		nd->needs_grad = 1;
		CHECK_STATUS(gp__run_forward(nd), ODVGP_OK);
		gp__ops[GP__MINUS_PRODUCT].reverse(nd);
		node_of(b.node[0])->d = own[0], node_of(b.node[1])->d = own[1];
	}
	CHECK_BITS(K[0], Y, sizeof Y);
	CHECK_BITS(dK[0], dK[1], sizeof dY);
	CHECK_BITS(dW[0], dW[1], sizeof dW[0]);
	CHECK_BITS(dA[0], dA[1], sizeof dA[0]);
	stop();
}
TEST(inner)
{
	static const struct {
		ptrdiff_t M, P;
	} sizes[] = {{1, 1}, {4, 1}, {1, 2}, {5, 2}, {9, 3}, {30, 2}};
	int s;
	test_seed = 123;
	for (s = 0; s < 6; s++) {
		ptrdiff_t M = sizes[s].M, P = sizes[s].P;
		input triangles[] = {PADDED(M, M, SYMMETRIC), IN(P * M, M, FACTORS)};
		input diagonal[] = {PADDED(M, M, SYMMETRIC), PADDED(P, M, POSITIVE)};
		start(NULL, 0);
		b.lower_out = 1;
		CHECK_OP(GP__INNER, triangles, P * M, M, GP__B_TRIANGLES, 1, 1, "of triangles");
		start(NULL, 0);
		b.lower_out = 1;
		CHECK_OP(GP__INNER, diagonal, P * M, M, GP__B_DIAGONAL, 1, 1, "of diagonals");
	}
}
TEST(sum)
{
	input two[] = {PADDED(3, 5, ANY), PADDED(3, 5, ANY)};
	input spread[] = {PADDED(3, 5, ANY), PADDED(1, 5, ANY), PADDED(3, 1, ANY), PADDED(1, 1, ANY)};
	input one[] = {PADDED(1, 1, ANY), PADDED(1, 1, ANY)};
	input narrow[] = {PADDED(4, 1, ANY), PADDED(4, 1, ANY)};
	test_seed = 109;
	start(NULL, 0);
	CHECK_OP(GP__SUM, two, 3, 5, 0, 1, -1, "of two");
	start(NULL, 0);
	CHECK_OP(GP__SUM, spread, 3, 5, 0, 1, 2, "of a matrix, a row, a column and a number");
	start(NULL, 0);
	CHECK_OP(GP__SUM, one, 1, 1, 0, 1, -1, "of two numbers");
	start(NULL, 0);
	CHECK_OP(GP__SUM, narrow, 4, 1, 0, 1, -1, "of two columns");
}
TEST(transpose)
{
	input in[] = {PADDED(5, 3, ANY)};
	test_seed = 125;
	start(NULL, 0);
	CHECK_OP(GP__TRANSPOSE, in, 3, 5, 0, 1, 1, "");
}
/*  Two and one samples of four points, or of two images of two patches. */
TEST(reparametrised_samples)
{
	ptrdiff_t S, T;
	test_seed = 126;
	for (S = 1; S < 3; S++)
		for (T = 1; T < 3; T++) {
			input in[] = {PADDED(2, 4, ANY), PADDED(2, 4, POSITIVE), FIXED(4 * S / T, 2 * T, ANY)};
			start(NULL, 0);
			CHECK_OP(GP__SAMPLE, in, 4 * S / T, 2 * T, 0, 1, 1, T == 1 ? "of points" : "of images");
		}
}
/*  Patches of 2 x 2 of the four columns and three rows of two images, with and without locations. */
TEST(patches_as_rows)
{
	int located, stride;
	test_seed = 127;
	for (located = 0; located < 2; located++)
		for (stride = 1; stride < 3; stride++) {
			const gp__patches p = {3, 4, 2, 2, 2, stride, located, 1};
			input in[] = {PADDED(2, 24, ANY)};
			start(NULL, 0);
			b.unit.patches = p;
			CHECK_OP(GP__PATCHES, in, stride == 1 ? 12 : 4, 8 + 2 * located, 0, 1, 1, "");
		}
}
TEST(residual_variance)
{
	ptrdiff_t M, j, i;
	test_seed = 110;
	for (M = 1; M < 20; M += 6) {
		/* |A|^2 stays below k. */
		input in[] = {IN(1, 6, POSITIVE), PADDED(M, 6, SMALL)};
		start(NULL, 0);
		CHECK_OP(GP__RESIDUAL, in, 1, 6, 0, 1, 1, "");
	}
	for (M = 1; M < 20; M += 6) {
		input two[] = {IN(1, 7, POSITIVE), PADDED(M, 7, SMALL), PADDED(M + 3, 7, SMALL)};
		input clamped[] = {IN(1, 7, SOME_BELOW), PADDED(M, 7, SMALL), PADDED(M + 3, 7, SMALL)};
		start(NULL, 0);
		CHECK_OP(GP__RESIDUAL, two, 1, 7, 0, 1, 1, "with two matrices");
		start(NULL, 0);
		CHECK_OP(GP__RESIDUAL, clamped, 1, 7, 0, 1, 1, "with two matrices, clamped here and there");
	}
	{
		/* A clamped variance has no gradient, and it is counted. */
		odvgp_real k[3] = {1, 1, 1}, A[3] = {(odvgp_real)0.5, 2, 1}, v[3], d[3] = {1, 1, 1}, aux[3],
				   dk[3] = {0, 0, 0}, dA[3] = {0, 0, 0};
		gp__node *nd;
		gp__ref of[2];
		start(NULL, 0);
		for (i = 0; i < 2; i++) of[i] = add_input_node(GP__PARAM, GP__HEAD, 1, 3);
		nd = node_of(of[0]), nd->v = k, nd->d = dk, nd->needs_grad = 1;
		nd = node_of(of[1]), nd->v = A, nd->d = dA, nd->needs_grad = 1;
		nd = node_of(add_node(GP__RESIDUAL, GP__RESIDUAL_CLAMPED, GP__HEAD, 1, 3, of[0], of[1],
				gp__none, gp__none));
		nd->v = v, nd->d = d, nd->aux = aux;
		CHECK_STATUS(gp__run_forward(nd), ODVGP_OK);
		gp__ops[GP__RESIDUAL].reverse(nd);
		CHECK_NEAR(v[0], 0.75, 1e-6);
		CHECK(v[1] == 0 && v[2] == 0);
		CHECK_INT(b.t.sums->clamped, 1);
		CHECK(dk[0] == 1 && dk[1] == 0 && dA[0] == -1 && dA[1] == 0);
		for (j = 0, i = 0; j < 3; j++) i += v[j] >= 0;
		CHECK_INT(i, 3);
		/* NaN is not treated as a negative variance. */
		k[1] = (odvgp_real)NAN;
		CHECK_STATUS(gp__run_forward(nd), ODVGP_OK);
		CHECK(v[1] != v[1]);
		stop();
	}
}
TEST(squares_of_triangles)
{
	static const struct {
		ptrdiff_t M, P, n;
	} sizes[] = {{1, 1, 1}, {4, 1, 5}, {5, 3, 6}, {30, 2, 9}};
	int s;
	test_seed = 111;
	for (s = 0; s < 4; s++) {
		input in[] = {IN(sizes[s].P * sizes[s].M, sizes[s].M, FACTORS),
				PADDED(sizes[s].M, sizes[s].n, ANY)};
		start(NULL, 0);
		CHECK_OP(GP__TRI_SQUARES, in, sizes[s].P, sizes[s].n, 0, 1, 1, "computed twice");
		start(NULL, 0);
		b.t.keep = 1 << 20;
		CHECK_OP(GP__TRI_SQUARES, in, sizes[s].P, sizes[s].n, 0, 1, 1, "kept");
	}
}
TEST(variance_of_the_inverse_parametrisation)
{
	static const struct {
		ptrdiff_t M, P, n;
	} sizes[] = {{1, 1, 1}, {1, 2, 5}, {4, 1, 5}, {5, 2, 7}, {20, 3, 9}};
	int s, clamped;
	test_seed = 124;
	for (s = 0; s < 5; s++)
		for (clamped = 0; clamped < 2; clamped++) {
			ptrdiff_t M = sizes[s].M, P = sizes[s].P, n = sizes[s].n;
			int k = clamped && n > 1 ? SOME_BELOW : POSITIVE;
			input triangles[] = {IN(1, n, k), IN(P * M, M, POSITIVE_FACTORS), IN(P * M, M, FACTORS),
					PADDED(M, n, SMALL)};
			input diagonal[] = {IN(1, n, k), IN(P * M, M, POSITIVE_FACTORS), PADDED(P, M, POSITIVE),
					PADDED(M, n, SMALL)};
			start(NULL, 0);
			CHECK_OP(GP__INVERSE_VAR, triangles, P, n, GP__B_TRIANGLES, 1, 1,
					k == SOME_BELOW ? "of triangles, clamped" : "of triangles");
			start(NULL, 0);
			CHECK_OP(GP__INVERSE_VAR, diagonal, P, n, GP__B_DIAGONAL, 1, 1,
					k == SOME_BELOW ? "of diagonals, clamped" : "of diagonals");
		}
}
TEST(divide)
{
	input in[] = {PADDED(3, 5, ANY), PADDED(1, 5, POSITIVE)};
	test_seed = 112;
	start(NULL, 0);
	CHECK_OP(GP__DIVIDE, in, 3, 5, 0, 1, 1, "");
}
/*  The kernel's variance may underflow. */
TEST(divide_by_zero_is_refused)
{
	odvgp_real b_values[2] = {1, 2}, D_values[2] = {1, 0};
	odvgp_info info;
	start(NULL, 0);
	gp__ref top = add_input_node(GP__INPUT, GP__HEAD, 1, 2),
			under = add_input_node(GP__INPUT, GP__HEAD, 1, 2);
	gp__node *nd = node_of(add_node(GP__DIVIDE, 0, GP__HEAD, 1, 2, top, under, gp__none, gp__none));
	node_of(top)->v = b_values, node_of(under)->v = D_values;
	b.t.info = &info;
	CHECK_STATUS(gp__run_forward(nd), ODVGP_E_NAN);
	CHECK_SAY(strstr(info.text, "kernel: its variance is not above 0") != NULL, "%s", info.text);
	b.t.info = NULL;
	stop();
}
TEST(mix)
{
	static const struct {
		ptrdiff_t F, P, n;
	} sizes[] = {{1, 1, 1}, {3, 2, 5}, {4, 4, 9}, {7, 3, 2}};
	test_seed = 114;
	for (int s = 0; s < 4; s++)
		for (int squares = 0; squares < 2; squares++) {
			input in[] = {IN(sizes[s].F, sizes[s].P, ANY), PADDED(sizes[s].P, sizes[s].n, ANY)};
			start(NULL, 0);
			CHECK_OP(GP__MIX, in, sizes[s].F, sizes[s].n, squares ? GP__MIX_SQUARES : GP__MIX_PLAIN,
					1, 1, squares ? "of variances" : "of means");
		}
}
/*  The rows of a longer stack are compared with separate models in test_independent. */
TEST(stack)
{
	const input row = PADDED(1, 5, ANY);
	input in[GP__MAX_IN];
	test_seed = 115;
	for (int n = 1; n <= GP__MAX_IN; n++) {
		in[n - 1] = row;
		start(NULL, 0);
		check_op(GP__STACK, in, n, n, 5, 0, 1, 1, 1, "");
	}
}
TEST(gather)
{
	ptrdiff_t columns[] = {5, 0, 3};
	input Z[] = {PADDED(6, 3, ANY)}, a[] = {PADDED(2, 6, ANY)};
	test_seed = 113;
	start(NULL, 0);
	b.unit.columns = columns;
	b.unit.ncolumns = 3;
	CHECK_OP(GP__GATHER_ROWS, Z, 3, 3, 0, 1, 1, "");
	start(NULL, 0);
	b.unit.columns = columns;
	b.unit.ncolumns = 3;
	CHECK_OP(GP__GATHER_COLS, a, 2, 3, 0, 1, 1, "");
}
TEST(dot)
{
	input two[] = {PADDED(3, 5, ANY), PADDED(3, 5, ANY)}, square[] = {PADDED(3, 5, ANY), SAME(0)};
	test_seed = 114;
	start(NULL, 0);
	CHECK_OP(GP__DOT, two, 1, 1, 0, 0.5, 0, "of two");
	start(NULL, 0);
	CHECK_OP(GP__DOT, square, 1, 1, 0, -0.5, 0, "with itself");
	start(NULL, 0);
	b.unit.ncolumns = 3;
	b.unit.M_gamma = 7;
	CHECK_OP(GP__DOT, two, 1, 1, GP__DOT_SAMPLED, 0.5, 0, "of sampled columns");
}
TEST(kl_of_a_covariance)
{
	static const struct {
		ptrdiff_t M, P;
	} sizes[] = {{1, 1}, {4, 1}, {5, 3}};
	int s;
	test_seed = 115;
	for (s = 0; s < 3; s++) {
		input in[] = {IN(sizes[s].P * sizes[s].M, sizes[s].M, FACTORS)};
		start(NULL, 0);
		CHECK_OP(GP__KL_COV, in, 1, 1, 0, 1, 1, "");
	}
}
TEST(kl_of_the_inverse_parametrisation)
{
	static const struct {
		ptrdiff_t M, P;
	} sizes[] = {{1, 1}, {1, 2}, {4, 1}, {5, 2}, {12, 3}};
	int s;
	test_seed = 125;
	for (s = 0; s < 5; s++) {
		input in[] = {IN(sizes[s].P * sizes[s].M, sizes[s].M, POSITIVE_FACTORS)};
		start(NULL, 0);
		CHECK_OP(GP__KL_INVERSE, in, 1, 1, 0, 1, 1, "");
	}
}
/*  A made-up likelihood of F / 2 targets, each of two functions m and g: -a0 ((y - m - c0)^2 +
    v) - a1 ((c1 g + b)^2 + w), with positive a and b and free c. If one kind of parameter is
    missing, constants replace it. It counts its calls. */
static int made_up_calls;
static double made_up_value(
		const gp__lik_job *job, const odvgp_real *a, const odvgp_real *c, double *da, double *dc)
{
	double sum = 0;
	ptrdiff_t t, i;
	made_up_calls++;
	CHECK(job->T == job->F / 2 && (job->dmean == NULL) == (job->dvar == NULL));
	for (t = 0; t < job->T; t++)
		for (i = 0; i < job->n; i++) {
			ptrdiff_t at_m = 2 * t * job->ld + i, at_g = at_m + job->ld;
			double e = (double)job->Y[t * job->ld + i] - (double)job->mean[at_m] - (double)c[0],
				   g = (double)job->mean[at_g];
			double z = (double)c[1] * g + (double)a[2], v = (double)job->var[at_m],
				   w = (double)job->var[at_g];
			sum -= (double)a[0] * (e * e + v) + (double)a[1] * (z * z + w);
			if (!job->dmean) continue;
			job->dmean[at_m] = 2 * a[0] * (odvgp_real)e;
			job->dmean[at_g] = -2 * a[1] * (odvgp_real)z * c[1];
			job->dvar[at_m] = -a[0];
			job->dvar[at_g] = -a[1];
			if (da) da[0] -= e * e + v, da[1] -= z * z + w, da[2] -= 2 * (double)a[1] * z;
			if (dc) dc[0] += 2 * (double)a[0] * e, dc[1] -= 2 * (double)a[1] * z * g;
		}
	return sum;
}
static const odvgp_real some_a[3] = {(odvgp_real)0.75, (odvgp_real)0.5, (odvgp_real)1.25},
						some_c[2] = {(odvgp_real)0.25, (odvgp_real)-0.5};
static double made_up_both(const gp__lik_job *job)
{
	return made_up_value(job, job->par, job->par + 3, job->dpar, job->dpar ? job->dpar + 3 : NULL);
}
static double made_up_positive(const gp__lik_job *job)
{
	return made_up_value(job, job->par, some_c, job->dpar, NULL);
}
static double made_up_free(const gp__lik_job *job)
{
	return made_up_value(job, some_a, job->par, NULL, job->dpar);
}
static double made_up_none(const gp__lik_job *job)
{
	return made_up_value(job, some_a, some_c, NULL, NULL);
}
static const gp__lik_param made_up_params[] = {{"a", 2, 1, 1}, {"b", 1, 1, 1}, {"c", 2, 0, 0}};
static const gp__likelihood made_up[] = {
		{"both", 0, made_up_params, 3, made_up_both, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL},
		{"positive", 0, made_up_params, 2, made_up_positive, NULL, NULL, 0, 0, 0, NULL, NULL, NULL,
				NULL},
		{"free", 0, made_up_params + 2, 1, made_up_free, NULL, NULL, 0, 0, 0, NULL, NULL, NULL,
				NULL},
		{"none", 0, made_up_params, 0, made_up_none, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL}};

TEST(expected_log_likelihood)
{
	/* nodes of a tape have no padding, and derivatives are kept in their shape */
	input in[] = {IN(2, 5, ANY), IN(2, 5, POSITIVE), FIXED(2, 5, ANY), IN(1, 1, POSITIVE)};
	test_seed = 116;
	start(NULL, 0);
	CHECK_OP(GP__EXPECT, in, 1, 1, 0, 1, 1, "gaussian");
}
/*  There are fewer targets than functions, and several parameters of either kind: one call
    handles all outputs, and each derivative arrives at its place. */
TEST(expected_log_likelihood_of_other_shapes)
{
	int k;
	test_seed = 1161;
	for (k = 0; k < 4; k++) {
		input in[] = {IN(4, 5, ANY), IN(4, 5, POSITIVE), FIXED(2, 5, ANY), IN(1, 3, POSITIVE),
				IN(1, 2, ANY)};
		input none[] = {NONE};
		CHECK_INT(gp__lik_numbers(&made_up[k], 1, 0), k < 2 ? 3 : 0);
		CHECK_INT(gp__lik_numbers(&made_up[k], 0, 0), k % 2 == 0 ? 2 : 0);
		if (k >= 2) in[3] = none[0];
		if (k % 2) in[4] = none[0];
		start(NULL, 0);
		b.y.lik = &made_up[k];
		CHECK_OP(GP__EXPECT, in, 1, 1, 0, 1, 1, made_up[k].name);
	}
}
/*  With one matrix of features or two, and with one prior variance for all outputs or one for
    each. */
TEST(moments)
{
	static const struct {
		ptrdiff_t M, Mv, P, n;
	} sizes[] = {{1, 0, 1, 1}, {4, 0, 1, 5}, {4, 0, 2, 7}, {1, 1, 1, 2}, {3, 5, 1, 6}, {5, 4, 2, 8},
			{11, 7, 2, 5}};
	int s, own;
	test_seed = 126;
	for (s = 0; s < 7; s++)
		for (own = 0; own < 2; own++) {
			ptrdiff_t M = sizes[s].M, Mv = sizes[s].Mv, P = sizes[s].P, n = sizes[s].n, F = M + Mv;
			input one[] = {
					PADDED(M, n, ANY), NONE, PADDED(P, n, ANY), PADDED(own ? P : 1, n, POSITIVE)};
			input two[] = {PADDED(M, n, ANY), PADDED(Mv, n, ANY), PADDED(P, n, ANY),
					PADDED(own ? P : 1, n, POSITIVE)};
			start(NULL, 0);
			b.features = F;
			check_op(GP__MOMENTS, Mv ? two : one, 4, F + P + 2, F, 0, 1, 1, 1,
					Mv ? "of two matrices" : "of one matrix");
		}
}
/*  Moments are added from tile to tile, and are unchanged when the tiles are visited a second
    time. */
TEST(moments_of_tiles)
{
	enum { M = 3, MV = 2, F = M + MV, P = 2, ROWS = F + P + 2, N1 = 4, N = 7 };
	odvgp_real A[M * N], Av[MV * N], r[P * N], k[N], *all[4], sums[2][ROWS * F];
	static const ptrdiff_t rows[] = {M, MV, P, 1};
	gp__node *nd;
	gp__ref of[4];
	int i, whole;
	ptrdiff_t j;
	test_seed = 127;
	start(NULL, 0);
	all[0] = A, all[1] = Av, all[2] = r, all[3] = k;
	for (i = 0; i < 4; i++)
		for (j = 0; j < rows[i] * N; j++) all[i][j] = (odvgp_real)test_between(-1, 1);
	for (i = 0; i < 4; i++) of[i] = add_input_node(GP__INPUT, GP__TILE, rows[i], N);
	nd = node_of(add_node(GP__MOMENTS, 0, GP__TILE, ROWS, F, of[0], of[1], of[2], of[3]));
	memset(sums, 0, sizeof sums);
	for (whole = 0; whole < 2; whole++) {
		ptrdiff_t at, n;
		nd->v = sums[whole];
		for (at = 0; at < N; at += n) {
			n = whole ? N : at ? N - N1 : N1;
			for (i = 0; i < 4; i++) node_of(of[i])->v = all[i] + at, node_of(of[i])->cols = n;
			CHECK_STATUS(gp__run_forward(nd), ODVGP_OK);
		}
	}
	CHECK(test_max_diff(sums[0], sums[1], ROWS * F) <= 20 * EPS);
	memcpy(sums[0], sums[1], sizeof sums[0]);
	b.t.again = 1;
	CHECK_STATUS(gp__run_forward(nd), ODVGP_OK);
	CHECK_BITS(sums[0], sums[1], sizeof sums[0]);
	stop();
}
/*  Mean and covariance of only beta or of both blocks, with and without the matrix of the
    tighter bound. */
TEST(collapsed_bound)
{
	static const struct {
		ptrdiff_t M, Mv;
	} sizes[] = {{1, 0}, {5, 0}, {12, 0}, {1, 1}, {3, 4}, {6, 5}};
	static const int variant[] = {
			GP__COLLAPSE_BOTH, GP__COLLAPSE_MEAN_BETA, GP__COLLAPSE_COV_BETA, GP__COLLAPSE_BETA};
	static const char *const words[] = {
			"blocks in both", "mean of beta", "covariance of beta", "beta in both"};
	int s, f;
	ptrdiff_t P;
	test_seed = 128;
	for (s = 0; s < 6; s++)
		for (f = 0; f < 4; f++)
			for (P = 1; P <= 2; P++) {
				ptrdiff_t F = sizes[s].M + sizes[s].Mv;
				input plain[] = {IN(F + P + 2, F, SUMS), IN(1, 1, POSITIVE)};
				input tight[] = {
						IN(F + P + 2, F, SUMS), IN(1, 1, POSITIVE), PADDED(F, F, SYMMETRIC)};
				start(NULL, 0);
				b.features = F, b.features_beta = sizes[s].M, b.outputs = P;
				b.sums.weight = 9, b.sums.logs = 0.7;
				check_op(GP__COLLAPSED, plain, 2, 1, 1, variant[f], 1, 1, 0, words[f]);
				if (sizes[s].Mv) continue;
				start(NULL, 0);
				b.features = F, b.features_beta = sizes[s].M, b.outputs = P;
				b.sums.weight = 9, b.sums.logs = 0.7;
				check_op(GP__COLLAPSED, tight, 3, 1, 1, variant[f], 1, 1, 0, "tighter");
			}
}
TEST(evidence)
{
	static const ptrdiff_t sizes[] = {1, 2, 5, 12};
	int s;
	ptrdiff_t P;
	test_seed = 129;
	for (s = 0; s < 4; s++)
		for (P = 1; P <= 2; P++) {
			input in[] = {IN(sizes[s], sizes[s], DEFINITE), PADDED(P, sizes[s], ANY),
					IN(1, 1, POSITIVE)};
			input weighted[] = {IN(sizes[s], sizes[s], DEFINITE), PADDED(P, sizes[s], ANY),
					IN(1, 1, POSITIVE), PADDED_FIXED(1, sizes[s], POSITIVE)};
			start(NULL, 0);
			CHECK_OP(GP__EVIDENCE, in, 1, 1, 0, 1, 1, "");
			start(NULL, 0);
			b.sums.weight = 1.5 * (double)sizes[s], b.sums.logs = 0.7;
			CHECK_OP(GP__EVIDENCE, weighted, 1, 1, 0, 1, 1, "with weights");
		}
}
/*  The reverse pass collects the sum over tiles of -A diag(dvar) A^T and -dmean A^T, by
    definition. */
TEST(natural_statistics)
{
	ptrdiff_t M = 6, P = 2, n = 5, i, j, l, p, tile;
	odvgp_real *A = NEW(odvgp_real, M * n), *dm = NEW(odvgp_real, P * n),
			   *dv = NEW(odvgp_real, P * n), *G = NEW(odvgp_real, P * M * M),
			   *h = NEW(odvgp_real, P * M);
	double *G0 = NEW(double, P *M *M), *h0 = NEW(double, P *M);
	gp__node *nd;
	gp__ref features, mean, var;
	covered[GP__NAT_STATS] = 1;
	test_seed = 117;
	start(NULL, 0);
	features = add_input_node(GP__INPUT, GP__TILE, M, n);
	mean = add_input_node(GP__INPUT, GP__TILE, P, n);
	var = add_input_node(GP__INPUT, GP__TILE, P, n);
	nd = node_of(add_node(GP__NAT_STATS, 0, GP__TILE, P, M, features, mean, var, gp__none));
	node_of(features)->v = A;
	node_of(mean)->d = dm;
	node_of(var)->d = dv;
	nd->v = h;
	nd->aux = G;
	for (i = 0; i < P * M * M; i++) G[i] = 0, G0[i] = 0;
	for (i = 0; i < P * M; i++) h[i] = 0, h0[i] = 0;
	for (tile = 0; tile < 3; tile++) {
		for (i = 0; i < M * n; i++) A[i] = (odvgp_real)test_between(-1, 1);
		for (i = 0; i < P * n; i++)
			dm[i] = (odvgp_real)test_between(-1, 1), dv[i] = (odvgp_real)test_between(-1, 1);
		for (p = 0; p < P; p++)
			for (i = 0; i < M; i++) {
				for (l = 0; l < n; l++)
					h0[p * M + i] -= (double)A[i * n + l] * (double)dm[p * n + l];
				for (j = 0; j <= i; j++)
					for (l = 0; l < n; l++)
						G0[(p * M + i) * M + j] -=
								(double)A[i * n + l] * (double)A[j * n + l] * (double)dv[p * n + l];
			}
		gp__ops[GP__NAT_STATS].reverse(nd);
	}
	for (i = 0; i < P * M; i++) CHECK_NEAR(h[i], h0[i], 40 * EPS);
	for (i = 0; i < P * M * M; i++) CHECK_NEAR(G[i], G0[i], 40 * EPS);
	free(A), free(dm), free(dv), free(G), free(h), free(G0), free(h0);
	stop();
}
TEST(every_operation_was_tested)
{
	int op;
	for (op = 0; op < GP__OPS; op++)
		CHECK_SAY(covered[op] || op == GP__PARAM || op == GP__INPUT, "no test of the adjoint of %s",
				gp__ops[op].name);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(kernel_matrix);
	RUN(kernel_matrix_of_a_set_with_itself);
	RUN(kernel_diagonal);
	RUN(kernel_times_vector);
	RUN(cholesky);
	RUN(cholesky_of_stacked_squares);
	RUN(cholesky_with_the_jitter_of_a_prior);
	RUN(jittered);
	RUN(triangular_solve);
	RUN(triangular_solve_in_place);
	RUN(product);
	RUN(minus_product);
	RUN(minus_product_in_place);
	RUN(inner);
	RUN(sum);
	RUN(transpose);
	RUN(reparametrised_samples);
	RUN(patches_as_rows);
	RUN(residual_variance);
	RUN(squares_of_triangles);
	RUN(variance_of_the_inverse_parametrisation);
	RUN(divide);
	RUN(divide_by_zero_is_refused);
	RUN(mix);
	RUN(stack);
	RUN(gather);
	RUN(dot);
	RUN(kl_of_a_covariance);
	RUN(kl_of_the_inverse_parametrisation);
	RUN(expected_log_likelihood);
	RUN(expected_log_likelihood_of_other_shapes);
	RUN(moments);
	RUN(moments_of_tiles);
	RUN(collapsed_bound);
	RUN(evidence);
	RUN(natural_statistics);
	if (argc <= 1) RUN(every_operation_was_tested);
	return test_end();
}

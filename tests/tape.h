/*  The bench of operations of the tape: check_op makes an operation of random inputs and compares
    its adjoints with differences. See test_adjoint.c. */
#ifndef TAPE_H
#define TAPE_H

#include "reference.h"

/*  The error of the difference is about h^4 times a fifth derivative, plus eps / h. Near r = 0 a
    Matern kernel's derivatives grow as powers of 1/r (and Matern 1/2 is not differentiable), so
    its points are kept apart and h is smaller. */
static double step_size, tolerance;
static void use_step(
		double in_double, double in_float, double allowed_in_double, double allowed_in_float)
{
	(void)in_double, (void)in_float, (void)allowed_in_double, (void)allowed_in_float;
	step_size = BY_PRECISION(in_double, in_float);
	tolerance = BY_PRECISION(allowed_in_double, allowed_in_float);
}

/*  Values of an input: of either sign; positive; a lower triangle; a stack of triangles; the
    same with positive diagonals; positive definite, given by the lower triangle, or a stack of
    these; symmetric with both halves; small; no two alike in any column; above 1, but below 0 in
    each third column; the moments that MOMENTS computes. */
enum {
	ANY,
	POSITIVE,
	FACTOR,
	FACTORS,
	POSITIVE_FACTORS,
	DEFINITE,
	SYMMETRIC,
	SMALL,
	APART,
	SOME_BELOW,
	SUMS
};
/*  The number of rows that share the grid of APART, and the number already placed. */
static ptrdiff_t apart_of, apart_next;

typedef struct input {
	ptrdiff_t rows, cols;
	int values;
	/* 1 if ld is larger than cols. */
	int padded;
	/* The index of the input whose node this is, or -1 for a node of its own, or -2 if the input
       is left out. */
	int same_as;
	/* 1 for data, which have no gradient. */
	int fixed;
} input;

typedef struct bench {
	gp__tape t;
	gp__y_row y;
	gp__sums sums;
	gp__unit unit;
	/* It has no memory until an operation is checked. */
	gp__arena arena;
	/* The nodes of the tape. */
	gp__node table[16];
	void *blas_block, *block;
	odvgp_real *own_v[GP__MAX_IN], *own_d[GP__MAX_IN];
	gp__ref node[GP__MAX_IN], out;
	int n;
	/* 1 if only the lower triangle of the output is the result, or of each square that is
       stacked in it. */
	int lower_out;
	/* 1 if no jitter belongs to this CHOL. */
	int bare;
	/* The sizes of sums over the rows. */
	ptrdiff_t features, features_beta, outputs;
	double *W;
	/* Two matrices of up to 12 rows: see run_op. */
	odvgp_real lent[2 * 12 * 12];
} bench;

static int covered[GP__OPS];
static bench b;
static const odvgp_threads no_threads = {NULL, NULL, 0};

#define MARK ((odvgp_real)777.25)

static int above(const input *in, ptrdiff_t i, ptrdiff_t j)
{
	/* The last two rows hold one number each. */
	if (in->values == SUMS) return i >= in->rows - 2 && j > 0;
	if (in->values == FACTOR || in->values == SYMMETRIC) return j > i;
	return (in->values == FACTORS || in->values == POSITIVE_FACTORS || in->values == DEFINITE) &&
		   j > i % in->cols;
}
static odvgp_real *at(const gp__node *nd, ptrdiff_t i, ptrdiff_t j)
{
	return nd->v + i * nd->ld + j;
}

/*  Adds a node to the unit. The table has room for the inputs of an operation, for its output,
    and for what make_sums adds. */
static gp__ref add_node(gp__op op, int variant, int segment, ptrdiff_t rows, ptrdiff_t cols,
		gp__ref i0, gp__ref i1, gp__ref i2, gp__ref i3)
{
	gp__ref in[4];
	in[0] = i0, in[1] = i1, in[2] = i2, in[3] = i3;
	CHECK(b.t.nodes + 1 < (int)(sizeof b.table / sizeof *b.table));
	return gp__node_add(&b.t, &b.unit, op, variant, segment, rows, cols, in, 4, gp__none);
}
/*  Adds a node without inputs. */
static gp__ref add_input_node(gp__op op, int segment, ptrdiff_t rows, ptrdiff_t cols)
{
	return add_node(op, 0, segment, rows, cols, gp__none, gp__none, gp__none, gp__none);
}
static gp__node *node_of(gp__ref ref) { return &b.t.node[ref.id]; }
/*  Gives a node the memory that gp__sums_layout gives to a node of the head once the whole
    tape is known. */
static void place_sums(gp__node *nd)
{
	odvgp_real **sums = gp__ops[nd->op].stores == GP__STORES_MOMENTS ? &nd->v : &nd->d;
	*sums = gp__take(&b.arena, nd->rows, nd->ld);
}

/*  Begins a tape whose first nodes are the inputs. Call build_out next. */
static void start(const char *kernel, ptrdiff_t D)
{
	size_t bytes = odvgp_blas_size(NULL, NULL);
	double value[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
	memset(&b, 0, sizeof b);
	b.unit.times = 1;
	b.t.sums = &b.sums;
	use_step(1e-3, 0.03, 2e-10, 5e-4);
	b.blas_block = test_alloc(bytes);
	CHECK_STATUS(odvgp_blas_init(&b.t.blas, &no_threads, test_isa(), b.blas_block, bytes, NULL),
			ODVGP_OK);
	if (kernel) CHECK_STATUS(gp__kernel_parse(&b.unit.kernel, kernel, D, value, NULL), ODVGP_OK);
	gp__arena_init(&b.arena, NULL, 0);
	b.t.arena = &b.arena;
	b.t.node = b.table;
	b.t.y = &b.y;
	b.y.lik = &gp__likelihoods[ODVGP_LIKELIHOOD_GAUSSIAN];
	b.t.tasks = 1;
	b.t.jitter_limit = (odvgp_real)1e-2;
}
static void stop(void)
{
	int i;
	for (i = 0; i < b.n; i++) {
		free(b.own_v[i]);
		free(b.own_d[i]);
	}
	free(b.blas_block);
	free(b.block);
	free(b.W);
}
/*  Fills a node with moments of random features and targets, and adds the node that tells which. */
static void make_sums(gp__node *nd)
{
	enum { ROWS = 9 };
	ptrdiff_t F = b.features, P = b.outputs, i, j, l;
	odvgp_real *phi = NEW(odvgp_real, (F + P) * ROWS), *S = nd->v, *h = S + F * F, *rr = h + P * F;
	for (i = 0; i < (F + P) * ROWS; i++) phi[i] = (odvgp_real)test_between(-0.7, 0.7);
	for (i = 0; i < F; i++)
		for (j = 0; j < F; j++)
			for (l = 0, S[i * F + j] = 0; l < ROWS; l++)
				S[i * F + j] += phi[i * ROWS + l] * phi[j * ROWS + l];
	for (i = 0; i < P; i++)
		for (j = 0; j < F; j++)
			for (l = 0, h[i * F + j] = 0; l < ROWS; l++)
				h[i * F + j] += phi[(F + i) * ROWS + l] * phi[j * ROWS + l];
	for (i = F * ROWS, *rr = 0; i < (F + P) * ROWS; i++) *rr += phi[i] * phi[i];
	/* k(x,x) is above the variance that the features explain. */
	for (i = 0, rr[F] = (odvgp_real)ROWS; i < F; i++) rr[F] += S[i * F + i];
	rr[F] *= (odvgp_real)P;
	free(phi);
	nd->in[0] = node_of(add_input_node(GP__INPUT, GP__HEAD, b.features_beta, 1));
	if (F > b.features_beta)
		nd->in[1] = node_of(add_input_node(GP__INPUT, GP__HEAD, F - b.features_beta, 1));
	nd->in[2] = nd->in[3] = node_of(add_input_node(GP__INPUT, GP__HEAD, P, 1));
}
static void add_input(const input *in, int k)
{
	gp__node *nd;
	ptrdiff_t r, c, ld = in->cols + (in->padded ? 3 : 0), P;
	if (in->same_as != -1) {
		b.node[k] = in->same_as < 0 ? gp__none : b.node[in->same_as];
		return;
	}
	b.node[k] = add_input_node(GP__PARAM, GP__HEAD, in->rows, in->cols);
	nd = node_of(b.node[k]);
	/* The largest shape. */
	b.node[k].cols = ld;
	nd->ld = ld;
	nd->needs_grad = !in->fixed;
	nd->v = b.own_v[k] = NEW(odvgp_real, in->rows * ld + 1);
	nd->d = b.own_d[k] = NEW(odvgp_real, in->rows * ld + 1);
	for (r = 0; r < in->rows * ld + 1; r++) nd->v[r] = MARK;
	for (r = 0; r < in->rows; r++)
		for (c = 0; c < in->cols; c++) {
			odvgp_real *x = at(nd, r, c);
			*x = (odvgp_real)test_between(-1, 1);
			if (in->values == SMALL) *x *= (odvgp_real)(0.4 / sqrt((double)in->rows));
			/* Each row has its own place on a grid, in another order in each column. */
			if (in->values == APART) {
				static const ptrdiff_t stride[] = {1, 7, 13};
				ptrdiff_t place = (apart_next * stride[c % 3] + 2 * c) % apart_of;
				*x = (odvgp_real)(((double)place - 0.5 * (double)apart_of +
										  test_between(-0.15, 0.15)) *
								  (3.0 / (double)apart_of));
				apart_next += c + 1 == in->cols;
			}
			if (in->values == POSITIVE) *x = (odvgp_real)test_between(0.6, 1.7);
			P = r % in->cols;
			if (in->values == FACTOR || in->values == FACTORS)
				*x = c > P   ? 0
					 : c < P ? *x / (odvgp_real)(0.7 + 0.3 * (double)in->cols)
							 : (odvgp_real)((test_below(2) ? 1 : -1) * test_between(0.8, 1.5));
			if (in->values == POSITIVE_FACTORS)
				*x = c > P   ? 0
					 : c < P ? *x / (odvgp_real)(0.7 + 0.3 * (double)in->cols)
							 : (odvgp_real)test_between(0.8, 1.5);
			if (in->values == DEFINITE)
				*x = c > P   ? (odvgp_real)NAN
					 : c < P ? *x / 2
							 : (odvgp_real)((double)in->cols / 2 + test_between(0.5, 1));
			if (in->values == SYMMETRIC) {
				if (c == r) *x = (odvgp_real)test_between(1, 2);
				if (c < r) *x /= (odvgp_real)in->cols, *at(nd, c, r) = *x;
				/* The upper half stays 0 until it is mirrored. */
				if (c > r) *x = 0;
			}
			if (in->values == SOME_BELOW)
				*x = (odvgp_real)(c % 3 == 1 ? test_between(-2, -1) : test_between(1.2, 2));
		}
	if (in->values == SUMS) make_sums(nd);
}
/*  Returns the element that moves together with this one because both stand for one number: of a
    symmetric input, or of the matrix that sums begin with. */
static ptrdiff_t mirror_of(const input *in, ptrdiff_t ld, ptrdiff_t i, ptrdiff_t j)
{
	return in->values == SYMMETRIC || (in->values == SUMS && i < b.features) ? j * ld + i
																			 : i * ld + j;
}
/*  Stores W as the adjoint of the output. For symmetric sums, whose result is the lower
    triangle, W is the derivative in the whole matrix. */
static void put_cotangent(void)
{
	gp__node *nd = node_of(b.out);
	ptrdiff_t i, j, F = b.features;
	for (i = 0; i < nd->rows; i++)
		for (j = 0; j < nd->cols; j++)
			nd->d[i * nd->ld + j] =
					b.lower_out && j > i % nd->cols ? 0 : (odvgp_real)b.W[i * nd->cols + j];
	if (nd->op != GP__MOMENTS) return;
	for (i = 0; i < F; i++)
		for (j = 0; j < i; j++)
			nd->d[i * F + j] = nd->d[j * F + i] = (odvgp_real)(b.W[i * F + j] / 2);
}
/*  Runs an operation forward or backward. EVIDENCE works in the memory of its matrix and of that
    one's adjoint: it gets copies, so that the matrix stays for the next run. */
static odvgp_status run_op(gp__node *nd, int back)
{
	gp__node *K = nd->op == GP__EVIDENCE ? nd->in[0] : NULL;
	odvgp_real *v = K ? K->v : NULL, *d = K ? K->d : NULL;
	odvgp_status s = ODVGP_OK;
	if (K) K->v = b.lent;
	if (K && !back) {
		CHECK(K->ld == K->rows && K->rows <= 12);
		memcpy(K->v, v, (size_t)(K->rows * K->ld) * sizeof *v);
		K->d = b.lent + K->rows * K->ld;
	}
	if (back) gp__ops[nd->op].reverse(nd);
	else s = gp__run_forward(nd);
	if (K) K->v = v, K->d = d;
	return s;
}
/*  Returns the sum of W_ij out_ij. */
static double result(void)
{
	gp__node *nd = node_of(b.out);
	wide sum = 0;
	ptrdiff_t i, j;
	/* MOMENTS adds to its output. */
	if (nd->op == GP__MOMENTS) gp__node_zero(nd->v, nd);
	CHECK_STATUS(run_op(nd, 0), ODVGP_OK);
	for (i = 0; i < nd->rows; i++)
		for (j = 0; j < nd->cols; j++)
			if (!b.lower_out || j <= i % nd->cols)
				sum += (wide)b.W[i * nd->cols + j] * (wide)*at(nd, i, j);
	return (double)sum;
}
/*  Differentiates the result along `direction` of an input. If it is NULL, along only element
    `entry` and its mirror image, if there is one. */
static double difference(gp__node *in, const odvgp_real *direction, ptrdiff_t entry,
		ptrdiff_t mirror, ptrdiff_t count, odvgp_real h)
{
	static const double weight[4] = {-1.0 / 12, 8.0 / 12, -8.0 / 12, 1.0 / 12};
	static const double place[4] = {2, 1, -1, -2};
	odvgp_real *keep = NEW(odvgp_real, count);
	wide sum = 0;
	ptrdiff_t i;
	int k;
	memcpy(keep, in->v, (size_t)count * sizeof *keep);
	for (k = 0; k < 4; k++) {
		double step = place[k] * (double)h;
		if (direction)
			for (i = 0; i < count; i++)
				in->v[i] = (odvgp_real)((double)keep[i] + step * (double)direction[i]);
		else {
			in->v[mirror] = in->v[entry] = (odvgp_real)((double)keep[entry] + step);
			/* The step after rounding. */
			step = (double)in->v[entry] - (double)keep[entry];
		}
		sum += (wide)(weight[k] * place[k]) * (wide)result() / (wide)step;
		memcpy(in->v, keep, (size_t)count * sizeof *keep);
	}
	free(keep);
	return (double)sum;
}

/*  Makes the output node, then compares the adjoint with differences. `added`: the operation
    adds to adjoints (COLLAPSED stores those of the sums). */
static void check_op(gp__op op, const input *in, int n, ptrdiff_t rows, ptrdiff_t cols, int variant,
		double coef0, double coef1, int added, const char *words)
{
	gp__node *nd = NULL;
	size_t bytes = 0;
	ptrdiff_t i, j, ld;
	double size = 0;
	int k, pass;
	covered[op] = 1;
	b.n = n;
	for (k = 0; k < n; k++) add_input(&in[k], k);
	/* The tile is not full. */
	ld = op == GP__CHOL || op == GP__MOMENTS || op == GP__KL_COV || op == GP__KL_INVERSE ||
						 op == GP__DOT || op == GP__EXPECT || op == GP__SAMPLE || op == GP__PATCHES
				 ? cols
				 : cols + 2;
	/* The first pass measures, the second carves. */
	for (pass = 0; pass < 2; pass++) {
		int nodes = b.t.nodes;
		gp__arena_init(&b.arena, pass ? b.block : NULL, pass ? bytes : 0);
		b.out = gp__node_add(&b.t, &b.unit, op, variant, GP__HEAD, rows, ld, b.node, n, gp__none);
		nd = node_of(b.out);
		place_sums(nd);
		nd->coef = (odvgp_real)(op == GP__DOT ? coef0 : coef1);
		if (b.bare) nd->jitter = NULL;
		b.t.scratch = b.arena;
		if (!pass) {
			bytes = b.arena.used + b.t.scratch_bytes + 64;
			b.block = test_alloc(bytes);
			memset(b.block, 0, bytes);
			b.t.nodes = nodes;
		}
	}
	nd->cols = cols;
	nd->needs_grad = 1;
	b.W = NEW(double, rows *cols);
	for (i = 0; i < rows * cols; i++) {
		b.W[i] = (double)(odvgp_real)test_between(-1, 1);
		/* This element is not a result. */
		if (op == GP__MOMENTS && i < b.features * b.features && i % b.features > i / b.features)
			b.W[i] = 0;
	}
	result();
	for (i = 0; i < rows; i++)
		for (j = 0; j < cols; j++)
			if (!b.lower_out || j <= i % cols)
				size += fabs(b.W[i * cols + j] * (double)*at(nd, i, j));
	put_cotangent();
	for (k = 0; k < n; k++)
		if (in[k].same_as == -1)
			for (i = 0; i < in[k].rows * node_of(b.node[k])->ld + 1; i++)
				b.own_d[k][i] = added || in[k].fixed ? MARK : 0;
	run_op(nd, 1);
	for (k = 0; k < n; k++) {
		gp__node *x = &b.t.node[in[k].same_as == -1 ? b.node[k].id : 0];
		ptrdiff_t count = in[k].rows * x->ld;
		odvgp_real base = added || in[k].fixed ? MARK : 0;
		double most = 0, worst = 0, got_worst = 0, want_worst = 0;
		if (in[k].same_as != -1) continue;
		for (i = 0; i < in[k].rows; i++)
			for (j = 0; j < x->ld; j++) {
				int idle = j >= in[k].cols || (above(&in[k], i, j) && in[k].values != SYMMETRIC) ||
						   in[k].fixed;
				double g = (double)x->d[i * x->ld + j] - (double)base;
				if (idle && op != GP__KL_COV)
					CHECK_SAY(g == 0,
							"%s %s: adjoint of input %d is written at [%ld,%ld], which is no "
							"variable",
							gp__ops[op].name, words, k, (long)i, (long)j);
				else if (fabs(g) > most) most = fabs(g);
			}
		CHECK(x->d[count] == base);
		if (in[k].fixed) continue;
		CHECK_SAY(
				most > 0, "%s %s: adjoint of input %d is 0 everywhere", gp__ops[op].name, words, k);
		if (count <= 400) {
			for (i = 0; i < in[k].rows; i++)
				for (j = 0; j < in[k].cols; j++) {
					ptrdiff_t entry = i * x->ld + j, mirror = mirror_of(&in[k], x->ld, i, j);
					double want, got;
					if (above(&in[k], i, j) || mirror > entry) continue;
					want = difference(x, NULL, entry, mirror, count, (odvgp_real)step_size);
					got = (double)x->d[entry] - (double)base;
					if (mirror != entry) got += (double)x->d[mirror] - (double)base;
					if (worst == worst && !(fabs(got - want) <= worst))
						worst = fabs(got - want), got_worst = got, want_worst = want;
				}
		} else {
			/* Check three directions. */
			odvgp_real *direction = NEW(odvgp_real, count);
			int r;
			for (r = 0; r < 3; r++) {
				double want, got = 0, length = 0;
				for (i = 0; i < count; i++) {
					ptrdiff_t row = i / x->ld, col = i % x->ld;
					direction[i] = col >= in[k].cols || above(&in[k], row, col)
										   ? 0
										   : (odvgp_real)test_between(-1, 1);
				}
				for (i = 0; i < count; i++) {
					ptrdiff_t row = i / x->ld, col = i % x->ld;
					if (in[k].values == SYMMETRIC && col < in[k].cols && col > row)
						direction[i] = direction[col * x->ld + row];
					got += (double)direction[i] * ((double)x->d[i] - (double)base);
					length += fabs((double)direction[i] * ((double)x->d[i] - (double)base));
				}
				want = difference(x, direction, 0, 0, count, (odvgp_real)step_size);
				if (length > most) most = length;
				if (worst == worst && !(fabs(got - want) <= worst))
					worst = fabs(got - want), got_worst = got, want_worst = want;
			}
			free(direction);
		}
		CHECK_SAY(worst <= tolerance * (most + size) + (added ? 4 * EPS * (double)MARK : 0),
				"%s %s: input %d: adjoint %.12g, difference %.12g (off by %.2g of %.3g)",
				gp__ops[op].name, words, k, got_worst, want_worst, worst, most);
	}
	nd->needs_grad = 0;
	{
		/* A gradient of only one input is wanted: the adjoints of the others are unchanged. */
		int only;
		for (only = 0; only < n; only++) {
			if (in[only].same_as != -1 || in[only].fixed) continue;
			for (k = 0; k < n; k++) {
				gp__node *x = &b.t.node[in[k].same_as == -1 ? b.node[k].id : 0];
				if (in[k].same_as != -1) continue;
				x->needs_grad = k == only;
				for (i = 0; i < in[k].rows * x->ld; i++) x->d[i] = MARK;
			}
			result();
			put_cotangent();
			run_op(nd, 1);
			for (k = 0; k < n; k++) {
				gp__node *x = &b.t.node[in[k].same_as == -1 ? b.node[k].id : 0];
				ptrdiff_t written = 0;
				/* Adjoints of sums are always stored. */
				if (in[k].same_as != -1 || in[k].values == SUMS || k == only || n < 2) continue;
				for (i = 0; i < in[k].rows * x->ld; i++) written += x->d[i] != MARK;
				CHECK_SAY(written == 0,
						"%s %s: adjoint of input %d is written though none is wanted",
						gp__ops[op].name, words, k);
			}
		}
	}
	stop();
}

#define IN(rows, cols, values) \
	{ \
		rows, cols, values, 0, -1, 0 \
	}
#define PADDED(rows, cols, values) \
	{ \
		rows, cols, values, 1, -1, 0 \
	}
#define SAME(k) \
	{ \
		0, 0, ANY, 0, k, 0 \
	}
#define NONE \
	{ \
		0, 0, ANY, 0, -2, 0 \
	}
#define FIXED(rows, cols, values) \
	{ \
		rows, cols, values, 0, -1, 1 \
	}
#define PADDED_FIXED(rows, cols, values) \
	{ \
		rows, cols, values, 1, -1, 1 \
	}
#define CHECK_OP(op, in, rows, cols, variant, c0, c1, words) \
	check_op(op, in, (int)(sizeof(in) / sizeof *(in)), rows, cols, variant, c0, c1, 1, words)

#endif

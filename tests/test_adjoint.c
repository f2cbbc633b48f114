/*  Every operation of the tape against finite differences: random inputs, a random cotangent W,
    and the derivative of sum W_ij out_ij with respect to each element of each input (along
    directions, if inputs are large) by a central difference of fourth order. Also: adjoints are
    added to the existing values, nothing is written if no gradient is wanted, and padding is
    unchanged. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
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
	size_t bytes = odvgp_blas_size(NULL);
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
	nd->in[0] = add_input_node(GP__INPUT, GP__HEAD, b.features_beta, 1).id;
	if (F > b.features_beta)
		nd->in[1] = add_input_node(GP__INPUT, GP__HEAD, F - b.features_beta, 1).id;
	nd->in[2] = nd->in[3] = add_input_node(GP__INPUT, GP__HEAD, P, 1).id;
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
/*  Returns the sum of W_ij out_ij. */
static double result(void)
{
	gp__node *nd = node_of(b.out);
	wide sum = 0;
	ptrdiff_t i, j;
	/* MOMENTS adds to its output. */
	if (nd->op == GP__MOMENTS) gp__node_zero(nd->v, nd);
	CHECK_STATUS(gp__run_forward(&b.t, nd), ODVGP_OK);
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
		nd->coef[0] = (odvgp_real)coef0;
		nd->coef[1] = (odvgp_real)coef1;
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
	gp__ops[op].reverse(&b.t, nd);
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
			gp__ops[op].reverse(&b.t, nd);
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

static const char *const expressions[] = {"rbf", "matern12", "matern32", "matern52", "rbf(1, ard)",
		"matern12(1, ard)", "matern32(1, ard)", "matern52(1, ard)", "matern52 + rbf",
		"rbf * matern32", "(rbf + matern12(1, ard)) * matern52",
		"rbf(1, dims=0+2) * matern32(1, dims=1)",
		"matern52(1, ard, dims=1:3) + rbf(1, dims=0) * matern12(1, ard, dims=2) + matern32", "rq",
		"rq(1, ard) + rbf", "periodic", "periodic(1, ard, dims=0+2) * rq", "linear",
		"linear(1, ard)", "linear * linear(1, dims=1) + rbf(1, ard)", "polynomial(1, degree=3)",
		"polynomial(1, degree=1, dims=1) + linear(1, ard, dims=1)", "constant + rbf(1, dims=0)",
		"white + constant * rbf",
		"(linear + periodic(1, dims=0)) * (polynomial + white) + constant"};
#define EXPRESSIONS (sizeof expressions / sizeof *expressions)

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
			size_t bytes = odvgp_blas_size(NULL), scratch_bytes;
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
					ref.base[l].lengthscale[i] =
							(wide)(hyp[base->ls + (uint32_t)i] = (odvgp_real)test_between(0.3, 2));
				for (i = 0; i < (ptrdiff_t)base->nvar; i++)
					ref.base[l].variance[i] =
							(wide)(hyp[base->var + (uint32_t)i] = (odvgp_real)test_between(0.3, 3));
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
				gp__kernel_scratch(&a, &k, n, m, 0, 1, 0, &job);
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
	gp__kernel_scratch(&arena, k, rows, cols, P, gp__tasks(&blas->threads), 1, &job);
	gp__kernel_scratch(&arena, k, rows, cols, 0, gp__tasks(&blas->threads), 0, &job);
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
		for (s = e % 3; s < sizeof sizes / sizeof *sizes; s += 3) {
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
				size_t bytes = odvgp_blas_size(NULL);
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
					bytes = odvgp_blas_size(&hook);
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
		CHECK_STATUS(gp__run_forward(&b.t, nd), ODVGP_OK);
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
		CHECK_STATUS(gp__run_forward(&b.t, nd), ODVGP_OK);
		gp__ops[GP__SOLVE].reverse(&b.t, nd);
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
		for (form = 0; form < 4; form++) {
			static const int variant[] = {
					GP__PRODUCT_AB, GP__PRODUCT_ATB, GP__PRODUCT_ABT, GP__PRODUCT_ATBT};
			int ta = form & 1, tb = form >> 1;
			ptrdiff_t m = sizes[s].m, n = sizes[s].n, k = sizes[s].k;
			input in[] = {PADDED(ta ? k : m, ta ? m : k, ANY), PADDED(tb ? n : k, tb ? k : n, ANY)};
			start(NULL, 0);
			CHECK_OP(GP__PRODUCT, in, m, n, variant[form], -1.5, 1,
					form == 0   ? "A B"
					: form == 1 ? "A^T B"
					: form == 2 ? "A B^T"
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
		CHECK_STATUS(gp__run_forward(&b.t, nd), ODVGP_OK);
		gp__ops[GP__MINUS_PRODUCT].reverse(&b.t, nd);
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
	CHECK_OP(GP__SUM, spread, 3, 5, 0, 0.5, 2, "of a matrix, a row, a column and a number");
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
		CHECK_STATUS(gp__run_forward(&b.t, nd), ODVGP_OK);
		gp__ops[GP__RESIDUAL].reverse(&b.t, nd);
		CHECK_NEAR(v[0], 0.75, 1e-6);
		CHECK(v[1] == 0 && v[2] == 0);
		CHECK_INT(b.t.sums->clamped, 1);
		CHECK(dk[0] == 1 && dk[1] == 0 && dA[0] == -1 && dA[1] == 0);
		for (j = 0, i = 0; j < 3; j++) i += v[j] >= 0;
		CHECK_INT(i, 3);
		/* NaN is not treated as a negative variance. */
		k[1] = (odvgp_real)NAN;
		CHECK_STATUS(gp__run_forward(&b.t, nd), ODVGP_OK);
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
	CHECK_STATUS(gp__run_forward(&b.t, nd), ODVGP_E_NAN);
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
			CHECK_STATUS(gp__run_forward(&b.t, nd), ODVGP_OK);
		}
	}
	CHECK(test_max_diff(sums[0], sums[1], ROWS * F) <= 20 * EPS);
	memcpy(sums[0], sums[1], sizeof sums[0]);
	b.t.again = 1;
	CHECK_STATUS(gp__run_forward(&b.t, nd), ODVGP_OK);
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
			input in[] = {PADDED(sizes[s], sizes[s], DEFINITE), PADDED(P, sizes[s], ANY),
					IN(1, 1, POSITIVE)};
			input weighted[] = {PADDED(sizes[s], sizes[s], DEFINITE), PADDED(P, sizes[s], ANY),
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
		gp__ops[GP__NAT_STATS].reverse(&b.t, nd);
	}
	for (i = 0; i < P * M; i++) CHECK_NEAR(h[i], h0[i], 40 * EPS);
	for (i = 0; i < P * M * M; i++) CHECK_NEAR(G[i], G0[i], 40 * EPS);
	free(A), free(dm), free(dv), free(G), free(h), free(G0), free(h0);
	stop();
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
			gp__kjob job;
			gp__arena a;
			char text[40];
			void *block = test_alloc(1 << 20);
			odvgp_real v;
			sprintf(text, "%s%s", names[e], ard ? "(1, ard)" : "");
			start(text, 2);
			if (!ard) hyp[1] = hyp[2];
			v = hyp[b.unit.kernel.base[0].var];
			gp__arena_init(&a, block, 1 << 20);
			gp__kernel_job(&job, &b.t.blas, &b.unit.kernel, hyp, X1, 2, X2, 1);
			job.K = K;
			job.ldk = 1;
			gp__kernel_run(&job, a);
			CHECK_SAY(K[0] == v, "%s at distance 0 is %.17g, not %.17g", text, (double)K[0],
					(double)v);
			CHECK(K[1] > 0 && K[1] < v);
			gp__kernel_job(&job, &b.t.blas, &b.unit.kernel, hyp, X1, 2, X2, 1);
			job.dK = dK;
			job.lddk = 1;
			job.dhyp = dhyp;
			job.dX1 = dX1;
			job.dX2 = dX2;
			gp__kernel_adjoint_run(&job, a);
			CHECK(dX1[0] == 0 && dX1[1] == 0 && dX2[0] == 0 && dX2[1] == 0);
			CHECK(dhyp[b.unit.kernel.base[0].ls] == 0);
			CHECK_NEAR(dhyp[b.unit.kernel.base[0].var], 1, 4 * EPS);
			/* At a large distance the kernel is exactly flat, never NaN. */
			X2[0] = (odvgp_real)1e15, X2[1] = (odvgp_real)-1e15;
			dK[1] = 1;
			gp__kernel_job(&job, &b.t.blas, &b.unit.kernel, hyp, X1, 2, X2, 1);
			job.K = K;
			job.ldk = 1;
			gp__kernel_run(&job, a);
			CHECK(K[0] == 0 && K[1] == 0);
			gp__kernel_job(&job, &b.t.blas, &b.unit.kernel, hyp, X1, 2, X2, 1);
			job.dK = dK;
			job.lddk = 1;
			job.dhyp = dhyp;
			job.dX1 = dX1;
			job.dX2 = dX2;
			gp__kernel_adjoint_run(&job, a);
			CHECK(dX1[0] == 0 && dX1[3] == 0 && dX2[1] == 0);
			CHECK(dhyp[b.unit.kernel.base[0].ls] == 0);
			free(block);
			stop();
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
		if (job.kept) gp__kernel_rows_layout(&arena, k, n, m, 1, &job);
		if (pass) break;
		shape = job;
		gp__arena probe = arena;
		gp__kernel_scratch(&probe, k, n, m, 1, gp__tasks(&blas->threads), 1, &shape);
		bytes = probe.used + 64;
		shape = job;
		gp__kernel_scratch(&arena, k, n, m, 1, gp__tasks(&blas->threads), 0, &shape);
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
				size_t bytes = odvgp_blas_size(NULL);
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
						size_t bytes = odvgp_blas_size(NULL);
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
	RUN(kernel_values);
	RUN(kernel_matrix);
	RUN(kernel_matrix_of_a_set_with_itself);
	RUN(kernel_diagonal);
	RUN(kernel_times_vector);
	RUN(large_kernel_matrices);
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
	RUN(coincident_points);
	RUN(short_lengthscales_for_each_column);
	RUN(short_and_far_for_each_column);
	if (argc <= 1) RUN(every_operation_was_tested);
	return test_end();
}

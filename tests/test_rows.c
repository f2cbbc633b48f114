/*  What Y holds behind its targets: weights of rows, exposure, known noise; a noise for each
    output. Each has an identity: a weight of 2 is a row that stands twice, exposure e adds log e to
    f, weights and known noise of a Gaussian meet in its optimum. The build has two kernels, of
    which additive needs the function of one that is left out. */
#define ODVGP_KERNELS (ODVGP_KERNEL_RBF | ODVGP_KERNEL_ADDITIVE)
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"

enum { N = 60, D = 2, M = 7, MG = 9, MOST_T = 3, MOST_C = MOST_T + 2 };
typedef struct world {
	odvgp_config cfg;
	ptrdiff_t T, C;
	odvgp_real X[N * D], Y[N * MOST_C];
} world;

/*  Targets that the likelihood takes; weights 0 to 3, other numbers around 1. */
static world *make(odvgp_likelihood kind, ptrdiff_t P, int weights, int scale)
{
	world *w = NEW(world, 1);
	const gp__likelihood *lik = &gp__likelihoods[kind];
	ptrdiff_t i, t, K = gp__classes(lik, P, 3);
	test_seed = 31;
	w->T = gp__lik_targets(lik, P);
	w->C = w->T + weights + scale;
	w->cfg = odvgp_config_defaults(N, D, P, M, MG);
	w->cfg.lik.kind = kind;
	w->cfg.lik.classes = kind == ODVGP_LIKELIHOOD_ORDINAL ? 3 : 0;
	w->cfg.lik.weights = weights;
	if (scale && kind == ODVGP_LIKELIHOOD_GAUSSIAN) w->cfg.lik.known_noise = 1;
	else w->cfg.lik.exposure = scale;
	w->cfg.layer[0].kernel = "rbf(0.9, variance=1.3)";
	w->cfg.optim.batch = N;
	w->cfg.tile = 16;
	w->cfg.isa = test_isa();
	for (i = 0; i < N; i++) {
		double x = test_between(-2, 2);
		w->X[i * D] = (odvgp_real)x, w->X[i * D + 1] = (odvgp_real)test_between(-2, 2);
		for (t = 0; t < w->T; t++) {
			double y = sin(2 * x + (double)t) + 0.3 * test_normal();
			if (K > 0) y = (double)test_below(K);
			else if (lik->whole) y = lik->most < 2 ? y > 0 : floor(exp(1 + y));
			else if (lik->least == 0) y = lik->most < 2 ? 1 / (1 + exp(-y)) : exp(y);
			w->Y[i * w->C + t] = (odvgp_real)y;
		}
		if (weights) w->Y[i * w->C + w->T] = (odvgp_real)(i % 4);
		if (scale) w->Y[i * w->C + w->C - 1] = (odvgp_real)test_between(0.5, 2);
	}
	return w;
}
static odvgp_model *create(const world *w)
{
	odvgp_model *m = NULL;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_status s = odvgp_model_create(&m, &w->cfg, w->X, w->Y, NULL, &info);
	CHECK_SAY(!s, "%s: %s %s", gp__likelihoods[w->cfg.lik.kind].name, info.what ? info.what : "",
			info.text);
	return m;
}
static odvgp_model *taught(const world *w, int steps)
{
	odvgp_model *m = create(w);
	int i;
	for (i = 0; i < steps; i++) CHECK_STATUS(odvgp_step(m, w->X, w->Y, NULL, NULL), ODVGP_OK);
	return m;
}
static double bound(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y, ptrdiff_t n,
		odvgp_real *kl, odvgp_real *grad)
{
	odvgp_real elbo = (odvgp_real)NAN;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_status s = odvgp_elbo(m, X, Y, n, &elbo, kl, grad, &info);
	CHECK_SAY(!s, "%s", info.text);
	return (double)elbo;
}
/*  Gives `to` the values of `from`. */
static void same_values(odvgp_model *to, const odvgp_model *from)
{
	int i;
	for (i = 0; i < odvgp_slot_count(to); i++) {
		const odvgp_slot *slot = odvgp_slot_at(to, i), *old = odvgp_slot_find(from, slot->name);
		odvgp_real *v;
		if (!old || old->count != slot->count) continue;
		v = NEW(odvgp_real, slot->count);
		CHECK_STATUS(odvgp_get(from, slot->name, v, slot->count, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set(to, slot->name, v, slot->count, NULL), ODVGP_OK);
		free(v);
	}
}

/*  Bound and gradient with weights 0 to 3 are those of rows that stand so often, for every
    likelihood; with weights of 0 the bound is -KL. */
TEST(a_weight_is_a_number_of_rows)
{
	int kind;
	for (kind = 0; kind < (int)GP__COUNT(gp__likelihoods); kind++) {
		ptrdiff_t P = kind == ODVGP_LIKELIHOOD_ROBUSTMAX || kind == ODVGP_LIKELIHOOD_SOFTMAX ? 3
					  : kind == ODVGP_LIKELIHOOD_HETEROSCEDASTIC                             ? 2
					  : kind == ODVGP_LIKELIHOOD_ORDINAL                                     ? 1
																							 : 2,
				  i, k, n = 0, C, count;
		world *w = make((odvgp_likelihood)kind, P, 1, 0);
		odvgp_real X[3 * N * D], Y[3 * N * MOST_C], none[N * MOST_C], kl, *g[3];
		odvgp_model *m = taught(w, 3);
		double weighted, repeated, zero, share, worst = 0;
		C = w->C, count = odvgp_param_count(m);
		memcpy(none, w->Y, sizeof none);
		for (i = 0; i < N; i++) {
			for (k = 0; k < i % 4; k++, n++) {
				memcpy(X + n * D, w->X + i * D, D * sizeof *X);
				memcpy(Y + n * C, w->Y + i * C, (size_t)C * sizeof *Y);
				Y[n * C + w->T] = 1;
			}
			none[i * C + w->T] = 0;
		}
		for (k = 0; k < 3; k++) g[k] = NEW(odvgp_real, count);
		weighted = bound(m, w->X, w->Y, N, &kl, g[0]);
		repeated = bound(m, X, Y, n, NULL, g[1]);
		zero = bound(m, w->X, none, N, NULL, g[2]);
		share = (double)n / N;
		CHECK_NEAR(zero, -(double)kl, BY_PRECISION(1e-12, 1e-5) * (1 + fabs((double)kl)));
		CHECK_SAY(fabs(weighted - zero - (repeated - zero) * share) <=
						  BY_PRECISION(1e-11, 2e-5) * (1 + fabs(weighted)),
				"%s: %.14g with weights, %.14g with repeated rows", gp__likelihoods[kind].name,
				weighted, (repeated - zero) * share + zero);
		for (i = 0; i < count; i++) {
			double a = (double)g[0][i] - (double)g[2][i],
				   b = ((double)g[1][i] - (double)g[2][i]) * share;
			worst = fmax(worst, fabs(a - b) / (1 + fabs(a)));
		}
		CHECK_SAY(worst <= BY_PRECISION(1e-9, 2e-2), "%s: gradients differ by %g",
				gp__likelihoods[kind].name, worst);
		for (k = 0; k < 3; k++) free(g[k]);
		odvgp_model_free(m);
		free(w);
	}
}

/*  Exposure e adds log e to f: a constant mean function does the same when e is the same in all
    rows. The density does so row by row. */
TEST(exposure_adds_its_logarithm)
{
	static const odvgp_likelihood kinds[] = {ODVGP_LIKELIHOOD_POISSON, ODVGP_LIKELIHOOD_EXPONENTIAL,
			ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL};
	int k;
	for (k = 0; k < 3; k++) {
		world *w = make(kinds[k], 2, 0, 1);
		odvgp_real c[2], logp[2][N], *g[2], e = (odvgp_real)1.7;
		odvgp_model *m;
		double a, b;
		ptrdiff_t i, n, count;
		int pass;
		w->cfg.layer[0].mean_function = ODVGP_MEAN_FUNCTION_CONSTANT;
		m = taught(w, 3);
		count = odvgp_param_count(m);
		g[0] = NEW(odvgp_real, count), g[1] = NEW(odvgp_real, count);
		for (pass = 0; pass < 2; pass++) {
			odvgp_server server;
			size_t bytes = odvgp_predictor_size(m, NULL), scratch_bytes;
			void *block = test_alloc(bytes), *scratch;
			for (i = 0; i < N; i++) w->Y[i * w->C + 2] = pass ? 1 : e;
			CHECK_STATUS(odvgp_get(m, "mean.c", c, 2, NULL), ODVGP_OK);
			for (n = 0; n < 2 && pass; n++) c[n] += (odvgp_real)log((double)e);
			CHECK_STATUS(odvgp_set(m, "mean.c", c, 2, NULL), ODVGP_OK);
			a = pass ? a : bound(m, w->X, w->Y, N, NULL, g[0]);
			b = bound(m, w->X, w->Y, N, NULL, g[1]);
			CHECK_STATUS(odvgp_freeze(m, NULL, block, bytes, NULL), ODVGP_OK);
			CHECK_STATUS(
					odvgp_server_from_block(&server, block, bytes, w->cfg.isa, NULL), ODVGP_OK);
			scratch_bytes = odvgp_predict_scratch(&server, 7, NULL);
			scratch = test_alloc(scratch_bytes);
			CHECK_STATUS(odvgp_predict_logp(
								 &server, w->X, w->Y, N, logp[pass], scratch, scratch_bytes, NULL),
					ODVGP_OK);
			free(block), free(scratch);
		}
		CHECK_NEAR(a, b, BY_PRECISION(1e-11, 1e-5) * (1 + fabs(a)));
		for (i = 0; i < count; i++)
			CHECK_NEAR(g[0][i], g[1][i], BY_PRECISION(1e-9, 1e-2) * (1 + fabs((double)g[0][i])));
		for (i = 0; i < N; i++) CHECK_NEAR(logp[0][i], logp[1][i], BY_PRECISION(1e-10, 1e-4));
		/* rows of other exposure */
		for (i = 0; i < N; i++) w->Y[i * w->C + 2] = (odvgp_real)(0.5 + 0.02 * (double)i);
		CHECK(fabs(bound(m, w->X, w->Y, N, NULL, NULL) - a) > 1e-3);
		free(g[0]), free(g[1]);
		odvgp_model_free(m);
		free(w);
	}
}

/*  In a stack each sample of a row has the row's weight and exposure: the bound is linear in the
    weights, with fixed normals, and exposure e adds log e to f. */
TEST(samples_of_a_stack_have_the_row_s_numbers)
{
	world *w = make(ODVGP_LIKELIHOOD_POISSON, 1, 1, 1);
	odvgp_model *m;
	odvgp_real c, kl;
	double at[3], moved;
	ptrdiff_t i;
	int k;
	w->cfg.layers = 2;
	w->cfg.layer[1] = w->cfg.layer[0];
	w->cfg.layer[0].P = D;
	w->cfg.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	w->cfg.layer[1].mean_function = ODVGP_MEAN_FUNCTION_CONSTANT;
	w->cfg.deep.samples = 3;
	w->cfg.deep.fixed_samples = 1;
	m = taught(w, 3);
	if (!m) return;
	for (k = 0; k < 3; k++) {
		for (i = 0; i < N; i++) w->Y[i * 3 + 1] = (odvgp_real)k;
		at[k] = bound(m, w->X, w->Y, N, &kl, NULL);
	}
	CHECK_NEAR(at[0], -(double)kl, BY_PRECISION(1e-12, 1e-5) * (1 + fabs((double)kl)));
	CHECK_NEAR(at[2] - at[1], at[1] - at[0], BY_PRECISION(1e-10, 1e-3) * (1 + fabs(at[2])));
	for (i = 0; i < N; i++) w->Y[i * 3 + 2] = 2;
	moved = bound(m, w->X, w->Y, N, NULL, NULL);
	CHECK_STATUS(odvgp_get(m, "layer1.mean.c", &c, 1, NULL), ODVGP_OK);
	c += (odvgp_real)log(2.0);
	CHECK_STATUS(odvgp_set(m, "layer1.mean.c", &c, 1, NULL), ODVGP_OK);
	for (i = 0; i < N; i++) w->Y[i * 3 + 2] = 1;
	CHECK_NEAR(bound(m, w->X, w->Y, N, NULL, NULL), moved,
			BY_PRECISION(1e-10, 1e-4) * (1 + fabs(moved)));
	CHECK_INT(odvgp_warm_start_scratch(m, NULL, NULL), 0);
	odvgp_model_free(m);
	free(w);
}

/* ---- the Gaussian ---- */

static void fit(odvgp_model *m, const world *w)
{
	size_t bytes = odvgp_fit_q_scratch(m, NULL);
	void *work = test_alloc(bytes);
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_status s = odvgp_fit_q(m, w->X, w->Y, NULL, work, bytes, &info);
	CHECK_SAY(!s, "%s", info.text);
	free(work);
}
static const struct {
	const char *name;
	odvgp_mean_part mean;
	odvgp_cov_part cov;
	odvgp_objective objective;
	ptrdiff_t M, Mg;
} bounds[] = {
		{"titsias", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_COLLAPSED, M, 0},
		{"solve-gp", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_COLLAPSED, M,
				6},
		{"odvgp", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_COLLAPSED, M, 6},
		{"partly", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_PARTLY, M, 6},
		{"exact", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, ODVGP_OBJECTIVE_EXACT, N, 0}};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

static world *make_bound(int k)
{
	world *w = make(ODVGP_LIKELIHOOD_GAUSSIAN, 2, 1, 1);
	ptrdiff_t i;
	w->cfg.layer[0].mean_part = bounds[k].mean;
	w->cfg.layer[0].cov_part = bounds[k].cov;
	w->cfg.layer[0].M = bounds[k].M;
	w->cfg.layer[0].M_gamma = bounds[k].Mg;
	w->cfg.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	w->cfg.objective = bounds[k].objective;
	w->cfg.optim.natgrad = 0;
	w->cfg.lik.noise_variance = (odvgp_real)0.2;
	if (bounds[k].objective == ODVGP_OBJECTIVE_EXACT)
		for (i = 0; i < N; i++) w->Y[i * w->C + 2] += (odvgp_real)0.5;
	return w;
}
/*  A bound without q is the ELBO at q's optimum, with weights and known noise, too; its gradient is
    that of differences. */
TEST(bounds_without_q_take_weights_and_known_noise)
{
	int k;
	for (k = 0; k < BOUNDS; k++) {
		world *w = make_bound(k);
		odvgp_model *m = create(w), *elbo;
		odvgp_real *g;
		double value;
		ptrdiff_t count;
		int i;
		CHECK_INT(odvgp_model_config(m)->objective, bounds[k].objective);
		count = odvgp_param_count(m);
		g = NEW(odvgp_real, count);
		if (k == 3) { /* the kept q(v) */
			odvgp_real v[2 * 6];
			for (i = 0; i < 12; i++) v[i] = (odvgp_real)(0.1 * (i % 5 - 2));
			CHECK_STATUS(odvgp_set(m, "v_mu", v, 12, NULL), ODVGP_OK);
		}
		value = bound(m, w->X, w->Y, N, NULL, g);
		fit(m, w);
		w->cfg.objective = ODVGP_OBJECTIVE_ELBO;
		elbo = create(w);
		same_values(elbo, m);
		CHECK_SAY(fabs(bound(elbo, w->X, w->Y, N, NULL, NULL) - value) <=
						  (k == 4 ? BY_PRECISION(1e-5, 1) : BY_PRECISION(1e-9, 1e-2)) *
								  (1 + fabs(value)),
				"%s: %.12g, the ELBO at the optimum %.12g", bounds[k].name, value,
				bound(elbo, w->X, w->Y, N, NULL, NULL));
		for (i = 0; i < odvgp_slot_count(m) && sizeof(odvgp_real) == 8; i++) {
			const odvgp_slot *slot = odvgp_slot_at(m, i);
			odvgp_real *v = NEW(odvgp_real, slot->count);
			ptrdiff_t j = slot->count / 2;
			CHECK_STATUS(odvgp_get(m, slot->name, v, slot->count, NULL), ODVGP_OK);
			if (strncmp(slot->name, "q_", 2) && !(slot->lower && j % slot->shape[2])) {
				double at = (double)v[j], h = 1e-4, up, down, slope;
				v[j] = (odvgp_real)(at + h);
				odvgp_set(m, slot->name, v, slot->count, NULL);
				up = bound(m, w->X, w->Y, N, NULL, NULL);
				v[j] = (odvgp_real)(at - h);
				odvgp_set(m, slot->name, v, slot->count, NULL);
				down = bound(m, w->X, w->Y, N, NULL, NULL);
				v[j] = (odvgp_real)at;
				odvgp_set(m, slot->name, v, slot->count, NULL);
				slope = -(up - down) / (2 * h);
				if (!(k == 4 && !strcmp(slot->name, "Z_beta")))
					CHECK_SAY(fabs((double)g[slot->offset + j] - slope) <= 1e-5 * (1 + fabs(slope)),
							"%s, %s: gradient %.10g, by differences %.10g", bounds[k].name,
							slot->name, (double)g[slot->offset + j], slope);
			}
			free(v);
		}
		odvgp_model_free(m), odvgp_model_free(elbo);
		free(g), free(w);
	}
}
/*  log N(y; 0, K + diag(noise)) by its definition, for known variances; the upper bound is above
    it, the lower one is the collapsed bound. */
TEST(known_variances_are_the_diagonal_of_the_noise)
{
	world *w = make_bound(4);
	odvgp_model *m, *sparse;
	double A[N][N], r[N], logs = 0, squares = 0, value, collapsed;
	odvgp_real upper, lower;
	ptrdiff_t i, j, k, n = N;
	size_t bytes;
	void *work;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	w->cfg.layer[0].mean_function = ODVGP_MEAN_FUNCTION_ZERO;
	w->cfg.layer[0].P = 1;
	w->cfg.lik.weights = 0;
	w->cfg.lik.noise_variance = 1;
	for (i = 0; i < N; i++) { /* one target, known variance */
		w->Y[i * 2] = w->Y[i * 4];
		w->Y[i * 2 + 1] = w->Y[i * 4 + 3];
	}
	for (i = 0; i < n; i++) {
		for (j = 0; j <= i; j++) {
			double a = (double)(w->X[i * D] - w->X[j * D]),
				   b = (double)(w->X[i * D + 1] - w->X[j * D + 1]);
			A[i][j] = 1.3 * exp(-0.5 * (a * a + b * b) / 0.81) + (i == j) * (double)w->Y[i * 2 + 1];
			for (k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k];
			A[i][j] = i == j ? sqrt(A[i][j]) : A[i][j] / A[j][j];
		}
		r[i] = (double)w->Y[i * 2];
		for (k = 0; k < i; k++) r[i] -= A[i][k] * r[k];
		r[i] /= A[i][i];
		logs += log(A[i][i]);
		squares += r[i] * r[i];
	}
	value = -0.5 * squares - logs - 0.5 * N * log(2 * 3.14159265358979323846);
	m = create(w);
	CHECK_STATUS(odvgp_set_trainable(m, "noise_variance", 0, NULL), ODVGP_OK);
	CHECK_NEAR(bound(m, w->X, w->Y, N, NULL, NULL), value, BY_PRECISION(1e-10, 1e-2));
	odvgp_model_free(m);
	w->cfg.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
	w->cfg.layer[0].cov_part = ODVGP_COV_PART_DENSE;
	w->cfg.layer[0].M = 20;
	w->cfg.objective = ODVGP_OBJECTIVE_COLLAPSED;
	sparse = create(w);
	collapsed = bound(sparse, w->X, w->Y, N, NULL, NULL);
	bytes = odvgp_fit_q_scratch(sparse, NULL);
	work = test_alloc(bytes);
	CHECK_STATUS(
			odvgp_upper_bound(sparse, w->X, w->Y, &upper, &lower, work, bytes, &info), ODVGP_OK);
	CHECK_NEAR(lower, collapsed, BY_PRECISION(1e-9, 1e-2));
	CHECK(collapsed <= value + 1e-6 && value <= (double)upper + 1e-6);
	CHECK((double)upper - collapsed < 20);
	odvgp_model_free(sparse);
	free(work), free(w);
}
/*  Both bounds on the evidence, {from above, from below}. */
static void evidence(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y, odvgp_real to[2])
{
	size_t bytes = odvgp_fit_q_scratch(m, NULL);
	void *work = test_alloc(bytes);
	CHECK_STATUS(odvgp_upper_bound(m, X, Y, to, to + 1, work, bytes, NULL), ODVGP_OK);
	free(work);
}
/*  Bounds from above and below, of vectors and of images: a weight is a number of rows, and known
    noise e is a weight of 1 / e but for the rows' densities at their mean. */
TEST(upper_bounds_count_weights_and_known_noise)
{
	int images;
	for (images = 0; images < 2; images++) {
		world *w = make(ODVGP_LIKELIHOOD_GAUSSIAN, 2, 1, 0),
			  *noisy = make(ODVGP_LIKELIHOOD_GAUSSIAN, 2, 0, 1), *plain = NEW(world, 1);
		odvgp_real X[3 * N * D], Y[3 * N * 2], weighted[2], other[2], s;
		odvgp_model *a, *b = NULL;
		ptrdiff_t i, k, n = 0;
		double sum = 0;
		w->cfg.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
		w->cfg.layer[0].cov_part = ODVGP_COV_PART_DENSE;
		w->cfg.layer[0].M_gamma = 0;
		w->cfg.objective = ODVGP_OBJECTIVE_COLLAPSED;
		if (images) {
			w->cfg.layer[0].patches.image_height = w->cfg.layer[0].patches.height = 1;
			w->cfg.layer[0].patches.image_width = D;
			w->cfg.layer[0].patches.width = 1;
		}
		for (i = 0; i < N; i++)
			for (k = 0; k < i % 4; k++, n++) {
				memcpy(X + n * D, w->X + i * D, D * sizeof *X);
				memcpy(Y + n * 2, w->Y + i * 3, 2 * sizeof *Y);
			}
		plain->cfg = w->cfg;
		plain->cfg.N = plain->cfg.optim.batch = n;
		plain->cfg.lik.weights = 0;
		a = create(w);
		CHECK_STATUS(odvgp_model_create(&b, &plain->cfg, X, Y, NULL, NULL), ODVGP_OK);
		same_values(b, a);
		evidence(a, w->X, w->Y, weighted);
		evidence(b, X, Y, other);
		for (k = 0; k < 2; k++)
			CHECK_NEAR(weighted[k], other[k], BY_PRECISION(1e-9, 1e-3) * fabs((double)other[k]));
		odvgp_model_free(b);
		noisy->cfg = w->cfg;
		noisy->cfg.lik.weights = 0;
		noisy->cfg.lik.known_noise = 1;
		for (i = 0; i < N; i++) w->Y[i * 3 + 2] = 1 / noisy->Y[i * 3 + 2];
		b = create(noisy);
		same_values(b, a);
		CHECK_STATUS(odvgp_get(a, "noise_variance", &s, 1, NULL), ODVGP_OK);
		for (i = 0; i < N; i++) {
			double e = (double)noisy->Y[i * 3 + 2],
				   density = log(2 * 3.14159265358979323846 * (double)s);
			sum -= density + log(e) - density / e; /* of two outputs */
			memcpy(w->Y + i * 3, noisy->Y + i * 3, 2 * sizeof *Y);
		}
		evidence(a, w->X, w->Y, weighted);
		evidence(b, w->X, noisy->Y, other);
		for (k = 0; k < 2; k++)
			CHECK_NEAR(
					other[k] - weighted[k], sum, BY_PRECISION(1e-9, 1e-3) * fabs((double)other[k]));
		odvgp_model_free(a), odvgp_model_free(b);
		free(w), free(noisy), free(plain);
	}
}
/*  A natural step of 1 on all rows reaches the optimum of weights and known noise. */
TEST(a_natural_step_reaches_the_weighted_optimum)
{
	static const int parts[][2] = {{ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE},
			{ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL}};
	int k, step;
	for (k = 0; k < 2; k++) {
		world *w = make_bound(0);
		odvgp_model *m;
		double stepped, best;
		w->cfg.layer[0].mean_part = (odvgp_mean_part)parts[k][0];
		w->cfg.layer[0].cov_part = (odvgp_cov_part)parts[k][1];
		w->cfg.layer[0].mean_function = ODVGP_MEAN_FUNCTION_ZERO;
		w->cfg.objective = ODVGP_OBJECTIVE_ELBO;
		w->cfg.optim.natgrad = 1;
		w->cfg.jitter.relative = (odvgp_real)1e-4;
		m = create(w);
		for (step = 0; step < (k ? 200 : 1); step++)
			CHECK_STATUS(odvgp_natgrad_step(m, w->X, w->Y, N, k ? (odvgp_real)0.3 : 1, NULL, NULL),
					ODVGP_OK);
		stepped = bound(m, w->X, w->Y, N, NULL, NULL);
		fit(m, w);
		best = bound(m, w->X, w->Y, N, NULL, NULL);
		CHECK_NEAR(stepped, best, BY_PRECISION(k ? 1e-4 : 1e-9, 0.5) * (1 + fabs(best)));
		odvgp_model_free(m);
		free(w);
	}
}
/*  With a noise for each output, the bound of two outputs is the sum of two models', and each noise
    has its derivative; predictions add the right one. */
TEST(each_output_has_its_noise)
{
	world *w = make(ODVGP_LIKELIHOOD_GAUSSIAN, 2, 0, 0),
		  *one = make(ODVGP_LIKELIHOOD_GAUSSIAN, 1, 0, 0);
	odvgp_model *m, *single;
	odvgp_real noise[2] = {(odvgp_real)0.05, (odvgp_real)0.4}, q[2 * M], a[2 * MG],
			   sqrts[2 * M * M], mean[2], var[2], var_y[2], *g, kl;
	double both, best, sum = 0;
	ptrdiff_t i, t;
	size_t bytes, model_bytes;
	void *file, *block;
	odvgp_model *loaded = NULL;
	w->cfg.lik.noise_per_output = 1;
	m = taught(w, 5);
	CHECK_INT(odvgp_slot_find(m, "noise_variance")->count, 2);
	CHECK_STATUS(odvgp_set(m, "noise_variance", noise, 2, NULL), ODVGP_OK);
	g = NEW(odvgp_real, odvgp_param_count(m));
	both = bound(m, w->X, w->Y, N, NULL, g);
	CHECK_STATUS(odvgp_get(m, "q_mu", q, 2 * M, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(m, "a_gamma", a, 2 * MG, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(m, "q_sqrt", sqrts, 2 * M * M, NULL), ODVGP_OK);
	memcpy(one->X, w->X, sizeof one->X);
	for (t = 0; t < 2; t++) {
		odvgp_real *gs;
		for (i = 0; i < N; i++) one->Y[i] = w->Y[i * 2 + t];
		single = create(one);
		same_values(single, m);
		CHECK_STATUS(odvgp_set(single, "q_mu", q + t * M, M, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set(single, "a_gamma", a + t * MG, MG, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set(single, "q_sqrt", sqrts + t * M * M, M * M, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set(single, "noise_variance", noise + t, 1, NULL), ODVGP_OK);
		gs = NEW(odvgp_real, odvgp_param_count(single));
		sum += bound(single, one->X, one->Y, N, &kl, gs);
		CHECK_NEAR(g[odvgp_slot_find(m, "noise_variance")->offset + t],
				gs[odvgp_slot_find(single, "noise_variance")->offset],
				BY_PRECISION(1e-8, 2e-2) * (1 + fabs((double)gs[0])));
		odvgp_model_free(single);
		free(gs);
	}
	CHECK_NEAR(both, sum, BY_PRECISION(1e-10, 2e-4) * (1 + fabs(both)));
	CHECK_STATUS(odvgp_predict_once(m, w->X, 1, mean, var, var_y, NULL), ODVGP_OK);
	for (t = 0; t < 2; t++) CHECK_NEAR(var_y[t] - var[t], noise[t], 1e-5);
	/* the optimum of two outputs is each single one's */
	fit(m, w);
	best = bound(m, w->X, w->Y, N, NULL, NULL);
	CHECK(best > both);
	for (t = 0, sum = 0; t < 2; t++) {
		for (i = 0; i < N; i++) one->Y[i] = w->Y[i * 2 + t];
		single = create(one);
		same_values(single, m);
		CHECK_STATUS(odvgp_set(single, "noise_variance", noise + t, 1, NULL), ODVGP_OK);
		fit(single, one);
		sum += bound(single, one->X, one->Y, N, NULL, NULL);
		odvgp_model_free(single);
	}
	CHECK_NEAR(best, sum, BY_PRECISION(1e-9, 1e-2) * (1 + fabs(best)));
	bytes = odvgp_warm_start_scratch(m, NULL, NULL);
	block = test_alloc(bytes);
	CHECK_STATUS(
			odvgp_upper_bound(m, w->X, w->Y, &kl, NULL, block, bytes, NULL), ODVGP_E_UNSUPPORTED);
	CHECK_STATUS(odvgp_warm_start(m, w->X, w->Y, NULL, NULL, block, bytes, NULL), ODVGP_OK);
	CHECK(bound(m, w->X, w->Y, N, NULL, NULL) > best);
	free(block);
	both = bound(m, w->X, w->Y, N, NULL, NULL);
	bytes = odvgp_save_size(m, 0, NULL);
	file = test_alloc(bytes);
	CHECK_STATUS(odvgp_save_memory(m, NULL, NULL, 0, file, bytes, NULL), ODVGP_OK);
	CHECK_STATUS(sized(&model_bytes, odvgp_load_size(file, bytes, NULL, w->cfg.isa, NULL), NULL),
			ODVGP_OK);
	block = test_alloc(model_bytes);
	CHECK_STATUS(
			odvgp_load_memory(&loaded, file, bytes, NULL, w->cfg.isa, block, model_bytes, NULL),
			ODVGP_OK);
	if (loaded) CHECK(bound(loaded, w->X, w->Y, N, NULL, NULL) == both);
	odvgp_model_free(m);
	free(block), free(file), free(g), free(w), free(one);
}

/* ---- all together ---- */

/*  Training raises the bound; a loaded model continues with the same bits; densities use known
    noise and exposure, but no weights; a warm start takes them. */
TEST(models_with_rows_train_save_and_predict)
{
	static const odvgp_likelihood kinds[] = {ODVGP_LIKELIHOOD_GAUSSIAN, ODVGP_LIKELIHOOD_POISSON,
			ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL};
	int k, i;
	for (k = 0; k < 3; k++) {
		world *w = make(kinds[k], 1, 1, 1);
		odvgp_model *m, *loaded = NULL;
		odvgp_real logp[N], again[N], Y[N * MOST_C], mean[N], var[N];
		odvgp_server server;
		double before, after;
		size_t bytes, model_bytes, scratch_bytes;
		void *file, *block, *scratch, *predictor;
		w->cfg.optim.batch = 20;
		m = create(w);
		before = bound(m, w->X, w->Y, N, NULL, NULL);
		for (i = 0; i < 60; i++) CHECK_STATUS(odvgp_step(m, w->X, w->Y, NULL, NULL), ODVGP_OK);
		after = bound(m, w->X, w->Y, N, NULL, NULL);
		CHECK_SAY(after > before + 3, "%d: from %g to %g", k, before, after);
		bytes = odvgp_save_size(m, 0, NULL);
		file = test_alloc(bytes);
		CHECK_STATUS(odvgp_save_memory(m, NULL, NULL, 0, file, bytes, NULL), ODVGP_OK);
		CHECK_STATUS(
				sized(&model_bytes, odvgp_load_size(file, bytes, NULL, w->cfg.isa, NULL), NULL),
				ODVGP_OK);
		block = test_alloc(model_bytes);
		CHECK_STATUS(
				odvgp_load_memory(&loaded, file, bytes, NULL, w->cfg.isa, block, model_bytes, NULL),
				ODVGP_OK);
		if (!loaded) return;
		for (i = 0; i < 3; i++) {
			CHECK_STATUS(odvgp_step(m, w->X, w->Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(loaded, w->X, w->Y, NULL, NULL), ODVGP_OK);
		}
		CHECK(bound(m, w->X, w->Y, N, NULL, NULL) == bound(loaded, w->X, w->Y, N, NULL, NULL));
		predictor = test_alloc(odvgp_predictor_size(m, NULL));
		CHECK_STATUS(
				odvgp_freeze(m, NULL, predictor, odvgp_predictor_size(m, NULL), NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_server_from_block(
							 &server, predictor, odvgp_predictor_size(m, NULL), w->cfg.isa, NULL),
				ODVGP_OK);
		scratch_bytes = odvgp_predict_scratch(&server, 11, NULL);
		scratch = test_alloc(scratch_bytes);
		memcpy(Y, w->Y, sizeof Y);
		for (i = 0; i < N; i++) Y[i * w->C + 1] = 5;
		CHECK_STATUS(odvgp_predict_logp(&server, w->X, w->Y, N, logp, scratch, scratch_bytes, NULL),
				ODVGP_OK);
		CHECK_STATUS(odvgp_predict_logp(&server, w->X, Y, N, again, scratch, scratch_bytes, NULL),
				ODVGP_OK);
		CHECK_BITS(logp, again, sizeof logp);
		if (k == 0) {
			CHECK_STATUS(odvgp_predict(&server, w->X, N, mean, var, scratch, scratch_bytes, NULL),
					ODVGP_OK);
			odvgp_real noise;
			CHECK_STATUS(odvgp_get(m, "noise_variance", &noise, 1, NULL), ODVGP_OK);
			for (i = 0; i < N; i++) {
				double v = (double)var[i] + (double)noise * (double)w->Y[i * 3 + 2],
					   d = (double)(w->Y[i * 3] - mean[i]);
				CHECK_NEAR(logp[i], -0.5 * (log(2 * 3.14159265358979323846 * v) + d * d / v),
						BY_PRECISION(1e-10, 1e-3));
			}
			bytes = odvgp_warm_start_scratch(m, NULL, NULL);
			free(block);
			block = test_alloc(bytes);
			CHECK_STATUS(odvgp_warm_start(m, w->X, w->Y, NULL, NULL, block, bytes, NULL), ODVGP_OK);
			CHECK(bound(m, w->X, w->Y, N, NULL, NULL) > after - 1);
		}
		w->Y[5 * w->C + 2] = 0;
		CHECK_STATUS(odvgp_predict_logp(&server, w->X, w->Y, N, logp, scratch, scratch_bytes, NULL),
				ODVGP_E_ARG);
		odvgp_model_free(m);
		free(file), free(block), free(scratch), free(predictor), free(w);
	}
}

/*  additive's functions of one column are those of matern52. */
TEST(additive_does_without_the_kernel_matern52)
{
	odvgp_real d2[GP__CHUNK], k[GP__CHUNK], dk[GP__CHUNK];
	int i;
	for (i = 0; i < GP__CHUNK; i++) d2[i] = (odvgp_real)(i * i) / 100;
	gp__isa_find(test_isa())->radial(GP__MATERN52, 1, 1, d2, NULL, k, dk);
	for (i = 0; i < GP__CHUNK; i++) {
		double r = sqrt(5 * (double)d2[i]), e = exp(-r);
		CHECK_NEAR(k[i], (1 + r + r * r / 3) * e, 16 * EPS);
		CHECK_NEAR(dk[i], -5.0 / 6 * (1 + r) * e, 16 * EPS);
	}
}
/*  Expected: the row, and a sentence with the remedy. */
TEST(rows_that_do_not_fit_are_named)
{
	static const struct {
		odvgp_likelihood kind;
		int column;
		double value;
		odvgp_status status;
		const char *text;
	} bad[] = {{ODVGP_LIKELIHOOD_GAUSSIAN, 1, -1, ODVGP_E_ARG, "weight"},
			{ODVGP_LIKELIHOOD_GAUSSIAN, 2, 0, ODVGP_E_ARG, "above 0"},
			{ODVGP_LIKELIHOOD_GAUSSIAN, 1, NAN, ODVGP_E_NAN, "finite"},
			{ODVGP_LIKELIHOOD_GAUSSIAN, 0, NAN, ODVGP_E_NAN, "finite"},
			{ODVGP_LIKELIHOOD_POISSON, 2, -2, ODVGP_E_ARG, "exposure"},
			{ODVGP_LIKELIHOOD_POISSON, 2, HUGE_VAL, ODVGP_E_NAN, "finite"},
			{ODVGP_LIKELIHOOD_POISSON, 0, 0.5, ODVGP_E_ARG, "count"}};
	static const struct {
		int kind;
		const char *set, *and_set;
		odvgp_status status;
		const char *text;
	} settings[] = {{ODVGP_LIKELIHOOD_LOGIT, "lik.exposure=on", "", ODVGP_E_ARG, "poisson"},
			{ODVGP_LIKELIHOOD_POISSON, "lik.known_noise=on", "", ODVGP_E_ARG, "Gaussian"},
			{ODVGP_LIKELIHOOD_STUDENTT, "lik.noise_per_output=on", "", ODVGP_E_ARG, "Gaussian"},
			{ODVGP_LIKELIHOOD_GAUSSIAN, "lik.exposure=on", "", ODVGP_E_ARG, "poisson"},
			{ODVGP_LIKELIHOOD_GAUSSIAN, "lik.noise_per_output=on", "objective=collapsed",
					ODVGP_E_UNSUPPORTED, "ELBO"},
			{ODVGP_LIKELIHOOD_GAUSSIAN, "lik.weights=on", "objective=tight", ODVGP_E_UNSUPPORTED,
					"COLLAPSED"},
			{ODVGP_LIKELIHOOD_GAUSSIAN, "lik.missing=on", "objective=collapsed",
					ODVGP_E_UNSUPPORTED, "leave out"}};
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_model *m;
	world *w;
	size_t k, bytes;
	for (k = 0; k < sizeof bad / sizeof *bad; k++) {
		w = make(bad[k].kind, 1, 1, 1);
		m = create(w);
		w->Y[23 * w->C + bad[k].column] = (odvgp_real)bad[k].value;
		CHECK_STATUS(odvgp_init_data(m, w->X, w->Y, NULL, &info), bad[k].status);
		CHECK_SAY(info.row == 23 && strstr(info.text, bad[k].text), "row %ld, %s", (long)info.row,
				info.text);
		CHECK_STATUS(odvgp_step(m, w->X, w->Y, NULL, &info), bad[k].status);
		CHECK_SAY(info.row == 23 && strstr(info.text, bad[k].text), "row %ld, %s", (long)info.row,
				info.text);
		odvgp_model_free(m);
		free(w);
	}
	for (k = 0; k < sizeof settings / sizeof *settings; k++) {
		w = make((odvgp_likelihood)settings[k].kind, 2, 0, 0);
		w->cfg.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
		w->cfg.layer[0].M_gamma = 0;
		w->cfg.optim.natgrad = 0;
		CHECK_STATUS(odvgp_config_set(&w->cfg, settings[k].set, &info), ODVGP_OK);
		if (*settings[k].and_set)
			CHECK_STATUS(odvgp_config_set(&w->cfg, settings[k].and_set, &info), ODVGP_OK);
		CHECK_STATUS(sized(&bytes, odvgp_model_size(&w->cfg, &info), &info), settings[k].status);
		CHECK_SAY(strstr(info.text, settings[k].text), "%s: %s", settings[k].set, info.text);
		free(w);
	}
	/* exact regression cannot leave a row out by its weight */
	w = make_bound(4);
	w->Y[31 * w->C + 2] = 0;
	m = create(w);
	CHECK_STATUS(odvgp_step(m, w->X, w->Y, NULL, &info), ODVGP_E_ARG);
	CHECK_SAY(info.row == 31 && strstr(info.text, "leave out"), "row %ld, %s", (long)info.row,
			info.text);
	odvgp_model_free(m);
	free(w);
	/* closed forms need all targets */
	w = make(ODVGP_LIKELIHOOD_GAUSSIAN, 2, 0, 0);
	w->cfg.lik.missing = 1;
	w->Y[12 * 2 + 1] = (odvgp_real)NAN;
	m = create(w);
	{
		void *work = test_alloc(odvgp_fit_q_scratch(m, NULL));
		CHECK_STATUS(odvgp_fit_q(m, w->X, w->Y, NULL, work, odvgp_fit_q_scratch(m, NULL), &info),
				ODVGP_E_UNSUPPORTED);
		CHECK_SAY(info.row == 12 && strstr(info.text, "leave out"), "row %ld, %s", (long)info.row,
				info.text);
		free(work);
	}
	CHECK_INT(odvgp_warm_start_scratch(m, NULL, NULL), 0);
	odvgp_model_free(m);
	free(w);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(a_weight_is_a_number_of_rows);
	RUN(exposure_adds_its_logarithm);
	RUN(samples_of_a_stack_have_the_row_s_numbers);
	RUN(bounds_without_q_take_weights_and_known_noise);
	RUN(known_variances_are_the_diagonal_of_the_noise);
	RUN(upper_bounds_count_weights_and_known_noise);
	RUN(a_natural_step_reaches_the_weighted_optimum);
	RUN(each_output_has_its_noise);
	RUN(models_with_rows_train_save_and_predict);
	RUN(additive_does_without_the_kernel_matern52);
	RUN(rows_that_do_not_fit_are_named);
	return test_end();
}

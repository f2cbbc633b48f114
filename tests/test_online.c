/*  Learning online: against the optimum on all rows, for every member that can learn so. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"
#include "images.h"

enum { ROWS = 40, FIRST = 15, OUTPUTS = 2, MOST = OUTPUTS * ROWS };

/*  What learns, with its memory. */
typedef struct learner {
	odvgp_online o;
	void *block, *scratch;
	size_t bytes; /* of scratch */
} learner;

static learner learn_from(const odvgp_server *s, ptrdiff_t most)
{
	learner l;
	odvgp_info info = no_info();
	size_t bytes = odvgp_online_size(s, most, &info);
	if (!CHECK_SAY(bytes > 0, "size: %s", info.text)) exit(3);
	l.block = test_alloc(bytes);
	l.bytes = odvgp_online_scratch(s, most, NULL);
	l.scratch = test_alloc(l.bytes);
	CHECK_SAY(odvgp_online_start(&l.o, s, most, l.block, bytes, l.scratch, l.bytes, &info) ==
					  ODVGP_OK,
			"start: %s", info.text);
	return l;
}
static void learn(learner *l, const odvgp_real *X, const odvgp_real *Y, ptrdiff_t n, double lambda)
{
	odvgp_info info = no_info();
	CHECK_SAY(odvgp_online_update(
					  &l->o, X, Y, n, (odvgp_real)lambda, l->scratch, l->bytes, &info) == ODVGP_OK,
			"update: %s", info.text);
}
static void forget(learner *l) { free(l->block), free(l->scratch); }

/*  The largest differences of two servers' moments at n rows: of means in standard deviations, of
    standard deviations relative to them. */
typedef struct difference_of {
	double mean, sd;
} difference_of;
static difference_of compare(
		const odvgp_server *a, const odvgp_server *b, const odvgp_real *X, ptrdiff_t n)
{
	difference_of d = {0, 0};
	odvgp_real mean[2][MOST], var[2][MOST];
	const odvgp_server *s[2] = {a, b};
	for (int k = 0; k < 2; k++) {
		size_t bytes = odvgp_predict_scratch(s[k], n, NULL);
		void *scratch = test_alloc(bytes);
		CHECK_STATUS(odvgp_predict(s[k], X, n, mean[k], var[k], scratch, bytes, NULL), ODVGP_OK);
		free(scratch);
	}
	for (ptrdiff_t i = 0; i < a->F * n; i++) {
		double sd[2] = {sqrt((double)var[0][i]), sqrt((double)var[1][i])};
		d.mean = fmax(d.mean, fabs((double)(mean[0][i] - mean[1][i])) / sd[1]);
		d.sd = fmax(d.sd, fabs(sd[0] / sd[1] - 1));
	}
	return d;
}

/*  The largest difference of gradients of means and variances, and of covariances, relative to the
    largest of b. */
static double gradients_differ(
		const odvgp_server *a, const odvgp_server *b, const odvgp_real *X, ptrdiff_t n)
{
	enum { D = 2, COV = OUTPUTS * ROWS * ROWS };
	static odvgp_real dmean[2][MOST * D], dvar[2][MOST * D], cov[2][COV];
	const odvgp_server *s[2] = {a, b};
	for (int k = 0; k < 2; k++) {
		odvgp_gradient to = {NULL, NULL, dmean[k], dvar[k], NULL, cov[k]};
		size_t bytes = odvgp_predict_gradient_scratch(s[k], n, NULL);
		void *scratch = test_alloc(bytes);
		CHECK_STATUS(odvgp_predict_gradient(s[k], X, n, &to, scratch, bytes, NULL), ODVGP_OK);
		free(scratch);
	}
	return (test_max_diff(dmean[0], dmean[1], a->F * n * D) +
				   test_max_diff(dvar[0], dvar[1], a->F * n * D) +
				   test_max_diff(cov[0], cov[1], a->F * n * n)) /
		   (test_max_abs(dmean[1], a->F * n * D) + test_max_abs(dvar[1], a->F * n * D));
}

static void fit_q(fixture *a)
{
	odvgp_info info = no_info();
	size_t bytes = odvgp_fit_q_scratch(a->m, NULL);
	void *scratch = test_alloc(bytes);
	CHECK_SAY(odvgp_fit_q(a->m, a->X, a->Y, NULL, scratch, bytes, &info) == ODVGP_OK, "fit_q: %s",
			info.text);
	free(scratch);
}
static void q_is_prior(fixture *a)
{
	static const char *const names[] = {"q_mu", "v_mu", "q_sqrt", "v_sqrt"};
	for (int k = 0; k < 4; k++) {
		const odvgp_slot *s = slot(a, names[k]);
		if (!s) continue;
		odvgp_real *v = values(a, names[k]);
		for (ptrdiff_t i = 0; i < s->count; i++)
			v[i] = (odvgp_real)(s->dims == 3 && i / s->shape[2] % s->shape[1] == i % s->shape[2]);
		assign(a, names[k], v);
		free(v);
	}
}

/*  Two models of a pair with the same slots, for the first rows and for all of them. Coefficients
    at gamma stay. */
static void make_two(int mean, int cov, fixture *first, fixture *all)
{
	odvgp_config c = pair_config(mean, cov, ROWS, OUTPUTS, 6, 4);
	test_seed = 900 + (uint64_t)(mean * COVS + cov);
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	*all = make_pair(mean, cov, &c, "matern52 + periodic * rbf + linear");
	c.N = FIRST;
	test_seed = 900;
	*first = make_pair(mean, cov, &c, "matern52 + periodic * rbf + linear");
	copy_slots(first, all, NULL);
	memcpy(first->X, all->X, FIRST * 2 * sizeof *all->X);
	memcpy(first->Y, all->Y, FIRST * OUTPUTS * sizeof *all->Y);
	if (slot(all, "a_gamma")) {
		CHECK_STATUS(odvgp_set_trainable(all->m, "a_gamma", 0, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set_trainable(first->m, "a_gamma", 0, NULL), ODVGP_OK);
	}
}

TEST(rows_are_learned_as_the_batch)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		if (cov != ODVGP_COV_PART_DENSE || mean == FREE || mean == TIED || mean == BLOCKS) continue;
		fixture first, all;
		odvgp_info info = no_info();
		make_two(mean, cov, &first, &all);
		fit_q(&first), fit_q(&all);
		served batch = serve_rows(&all, NULL, ROWS), start = serve_rows(&first, NULL, ROWS);
		learner l = learn_from(&start.s, 6);
		difference_of d = compare(&l.o.server, &start.s, all.X, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
				"%s: start: mean %.2g, sd %.2g", mean_name[mean], d.mean, d.sd);
		learn(&l, all.X + FIRST * 2, all.Y + FIRST * OUTPUTS, ROWS - FIRST, 1);
		d = compare(&l.o.server, &batch.s, all.X, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
				"%s: mean %.2g, sd %.2g", mean_name[mean], d.mean, d.sd);
		CHECK_INT(l.o.rows, ROWS - FIRST);
		for (ptrdiff_t n = 1; n <= ROWS; n += ROWS - 1) {
			double off = gradients_differ(&l.o.server, &batch.s, all.X, n);
			CHECK_SAY(off < BY_PRECISION(1e-9, 1e-3), "%s: gradients %.2g", mean_name[mean], off);
		}
		CHECK_INT(l.o.lost + l.o.negative, 0);
		/* The model takes what was learned, and its predictor is that of the batch. */
		CHECK_SAY(odvgp_online_store(&l.o, first.m, &info) == ODVGP_OK, "%s: %s", mean_name[mean],
				info.text);
		unserve(&start);
		start = serve_rows(&first, NULL, ROWS);
		d = compare(&start.s, &batch.s, all.X, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-9, 2e-3) && d.sd < BY_PRECISION(1e-9, 2e-3),
				"%s: stored: mean %.2g, sd %.2g", mean_name[mean], d.mean, d.sd);
		forget(&l);
		if (mean == BETA || mean == ORTH) { /* from the prior, row by row */
			unserve(&start);
			q_is_prior(&first);
			start = serve_rows(&first, NULL, ROWS);
			l = learn_from(&start.s, 6);
			for (ptrdiff_t i = 0; i < ROWS; i++)
				learn(&l, all.X + i * 2, all.Y + i * OUTPUTS, 1, 1);
			d = compare(&l.o.server, &batch.s, all.X, ROWS);
			CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
					"%s, all rows: mean %.2g, sd %.2g", mean_name[mean], d.mean, d.sd);
			forget(&l);
		}
		unserve(&batch), unserve(&start);
		drop(&first), drop(&all);
	}
}

/*  SOLVE-GP's two blocks learn as one set of points does. */
TEST(two_blocks_are_one)
{
	odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, ROWS, OUTPUTS, 10, 0);
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	/* jitter would tell the models apart */
	odvgp_config d = pair_config(BLOCKS, ODVGP_COV_PART_BLOCKS, ROWS, OUTPUTS, 6, 4);
	d.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	d.jitter.absolute = c.jitter.absolute = (odvgp_real)BY_PRECISION(1e-9, 1e-4);
	test_seed = 901;
	fixture blocks = make_pair(BLOCKS, ODVGP_COV_PART_BLOCKS, &d, "matern52 + rbf");
	fixture one = make_pair(BETA, ODVGP_COV_PART_DENSE, &c, "matern52 + rbf");
	for (int k = 0; k < odvgp_slot_count(one.m); k++) {
		const odvgp_slot *to = odvgp_slot_at(one.m, k), *from = slot(&blocks, to->name);
		if (from->count == to->count) copy_slot(&one, &blocks, to->name);
	}
	odvgp_real Z[20], *part = values(&blocks, "Z_beta");
	memcpy(Z, part, 12 * sizeof *Z);
	free(part);
	part = values(&blocks, "Z_gamma");
	memcpy(Z + 12, part, 8 * sizeof *Z);
	free(part);
	assign(&one, "Z_beta", Z);
	memcpy(one.X, blocks.X, ROWS * 2 * sizeof *Z);
	memcpy(one.Y, blocks.Y, ROWS * OUTPUTS * sizeof *Z);
	q_is_prior(&blocks);
	fit_q(&one);
	served batch = serve_rows(&one, NULL, ROWS), start = serve_rows(&blocks, NULL, ROWS);
	learner l = learn_from(&start.s, 10);
	learn(&l, blocks.X, blocks.Y, ROWS, 1);
	difference_of off = compare(&l.o.server, &batch.s, one.X, ROWS);
	CHECK_SAY(off.mean < BY_PRECISION(1e-5, 0.05) && off.sd < BY_PRECISION(1e-5, 0.05),
			"mean %.2g, sd %.2g", off.mean, off.sd);
	/* what two blocks learned goes to the model of one */
	q_is_prior(&one);
	CHECK_STATUS(odvgp_online_store(&l.o, blocks.m, NULL), ODVGP_E_UNSUPPORTED);
	CHECK_STATUS(odvgp_online_store(&l.o, one.m, NULL), ODVGP_OK);
	unserve(&start);
	start = serve_rows(&one, NULL, ROWS);
	off = compare(&start.s, &batch.s, one.X, ROWS);
	CHECK_SAY(off.mean < BY_PRECISION(1e-5, 0.05) && off.sd < BY_PRECISION(1e-5, 0.05),
			"stored: mean %.2g, sd %.2g", off.mean, off.sd);
	forget(&l);
	unserve(&batch), unserve(&start);
	drop(&blocks), drop(&one);
}

/*  Weights, known noises, several noises, independent functions, units, missing targets: against a
    natural step on all rows. */
TEST(weights_noises_and_missing_targets)
{
	for (int k = 0; k < 4; k++) {
		odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, ROWS, OUTPUTS, 6, 0);
		c.lik.weights = k != 1, c.lik.known_noise = k > 0, c.lik.missing = 1;
		c.lik.noise_per_output = k > 1;
		c.independent = k > 2;
		test_seed = 910 + (uint64_t)k;
		fixture a = make_random(&c, "matern52 + rbf");
		ptrdiff_t C = OUTPUTS + c.lik.weights + c.lik.known_noise;
		odvgp_real *Y = NEW(odvgp_real, ROWS * C);
		for (ptrdiff_t i = 0; i < ROWS * C; i++)
			Y[i] = i % C < OUTPUTS ? a.Y[i / C * OUTPUTS + i % C]
								   : (odvgp_real)test_between(0.3, 2);
		Y[3 * C + 1] = Y[7 * C] = (odvgp_real)NAN;
		if (c.lik.weights) Y[5 * C + OUTPUTS] = 0;
		q_is_prior(&a);
		for (int q = 0; q < OUTPUTS && k > 2; q++) {
			char name[40];
			odvgp_real zero[6] = {0}, one[36] = {0};
			for (int i = 0; i < 6; i++) one[i * 7] = 1;
			snprintf(name, sizeof name, "unit%d.q_mu", q);
			assign(&a, name, zero);
			snprintf(name, sizeof name, "unit%d.q_sqrt", q);
			assign(&a, name, one);
		}
		const double scale[] = {2, 0.5, 3, -4};
		odvgp_real x_scale[2] = {(odvgp_real)scale[0], (odvgp_real)scale[1]},
				   y_scale[2] = {(odvgp_real)scale[2], 1}, y_mean[2] = {(odvgp_real)scale[3], 0},
				   x[ROWS * 2];
		const odvgp_scales units = {NULL, x_scale, y_mean, y_scale};
		served start = serve_rows(&a, &units, ROWS);
		learner l = learn_from(&start.s, 6);
		odvgp_real elbo;
		CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, Y, ROWS, 1, &elbo, NULL), ODVGP_OK);
		served batch = serve_rows(&a, &units, ROWS);
		for (ptrdiff_t i = 0; i < ROWS; i++) {
			for (int d = 0; d < 2; d++) x[i * 2 + d] = a.X[i * 2 + d] * x_scale[d];
			for (int q = 0; q < OUTPUTS; q++) Y[i * C + q] = y_mean[q] + y_scale[q] * Y[i * C + q];
		}
		learn(&l, x, Y, ROWS, 1);
		difference_of d = compare(&l.o.server, &batch.s, x, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
				"%d: mean %.2g, sd %.2g", k, d.mean, d.sd);
		CHECK_INT(l.o.lost + l.o.negative, 0);
		/* stored, opened, and begun again */
		size_t bytes = odvgp_online_seal(&l.o, NULL);
		odvgp_server again;
		odvgp_info info = no_info();
		CHECK_SAY(odvgp_server_from_block(&again, l.o.server.block, bytes, test_isa(), &info) ==
						  ODVGP_OK,
				"%s", info.text);
		d = compare(&again, &l.o.server, x, ROWS);
		CHECK(d.mean == 0 && d.sd == 0);
		learner more = learn_from(&again, 6);
		learn(&more, x, Y, 5, 0.9);
		learn(&l, x, Y, 5, 0.9);
		more.o.turn = 0;
		/* the turn of the prior's directions is not stored */
		d = compare(&more.o.server, &l.o.server, x, ROWS);
		CHECK(d.mean < 0.5 && d.sd < 0.5);
		/* and given to the model */
		CHECK_STATUS(odvgp_online_store(&l.o, a.m, NULL), ODVGP_OK);
		unserve(&start);
		start = serve_rows(&a, &units, ROWS);
		d = compare(&start.s, &l.o.server, x, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-9, 2e-3) && d.sd < BY_PRECISION(1e-9, 2e-3),
				"%d, stored: mean %.2g, sd %.2g", k, d.mean, d.sd);
		forget(&l), forget(&more);
		unserve(&batch), unserve(&start);
		free(Y);
		drop(&a);
	}
}

/*  Patches as large as the image, and smaller ones. */
TEST(images_are_learned)
{
	static const shape shapes[] = {{4, 4, 1, 2, 3, 1, 0, 1}, {3, 3, 1, 3, 3, 1, 1, 1}};
	for (int k = 0; k < 2; k++) {
		odvgp_config c = random_config(ROWS, 1, OUTPUTS, 5, 3);
		set_shape(&c, 0, &shapes[k]);
		c.jitter.absolute = (odvgp_real)0.03;
		fixture a;
		memset(&a, 0, sizeof a);
		test_seed = 945 + (uint64_t)k;
		c.layer[0].kernel = "rbf(3) + matern52(2)";
		make_block(&a, &c);
		make_data(&a, ROWS, pixels_of(&shapes[k]), OUTPUTS, 0.3, 0.1);
		randomise_slots(&a);
		q_is_prior(&a);
		served start = serve_rows(&a, NULL, ROWS);
		learner l = learn_from(&start.s, 5);
		CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, ROWS, 1, NULL, NULL), ODVGP_OK);
		served batch = serve_rows(&a, NULL, ROWS);
		learn(&l, a.X, a.Y, ROWS, 1);
		difference_of d = compare(&l.o.server, &batch.s, a.X, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
				"mean %.2g, sd %.2g", d.mean, d.sd);
		forget(&l);
		unserve(&batch), unserve(&start);
		drop(&a);
	}
}

/*  A row that is small beside what is known is counted. */
TEST(lost_rows_are_counted)
{
	odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, ROWS, 1, 6, 0);
	c.lik.known_noise = 1;
	test_seed = 940;
	fixture a = make_random(&c, "rbf");
	served s = serve_rows(&a, NULL, ROWS);
	learner l = learn_from(&s.s, 6);
	odvgp_real y[2] = {1, (odvgp_real)BY_PRECISION(1e-9, 1e-5)};
	learn(&l, a.X, y, 1, 1);
	y[1] = (odvgp_real)BY_PRECISION(1e8, 1e4);
	for (int i = 0; i < 3; i++) learn(&l, a.X, y, 1, 1);
	CHECK_INT(l.o.lost, 3);
	forget(&l);
	unserve(&s);
	drop(&a);
}

/* ---- other likelihoods ---- */

/*  From the prior, one row is a natural step of length 1. */
TEST(other_likelihoods_take_natural_steps)
{
	static const odvgp_likelihood kinds[] = {ODVGP_LIKELIHOOD_BERNOULLI, ODVGP_LIKELIHOOD_LOGIT,
			ODVGP_LIKELIHOOD_POISSON, ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL, ODVGP_LIKELIHOOD_GAMMA,
			ODVGP_LIKELIHOOD_SOFTMAX, ODVGP_LIKELIHOOD_HETEROSCEDASTIC, ODVGP_LIKELIHOOD_LAPLACE};
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		int several = kinds[k] == ODVGP_LIKELIHOOD_SOFTMAX ||
					  kinds[k] == ODVGP_LIKELIHOOD_HETEROSCEDASTIC;
		odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, 1, several ? 2 : 1, 6, 0);
		c.lik.kind = kinds[k];
		c.lik.exposure = kinds[k] == ODVGP_LIKELIHOOD_POISSON;
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_CONSTANT;
		test_seed = 920 + (uint64_t)k;
		fixture a = make_random(&c, "matern52 + rbf");
		odvgp_real X[ROWS * 2], Y[2] = {1, 2};
		for (int i = 0; i < ROWS * 2; i++) X[i] = (odvgp_real)test_between(-2, 2);
		q_is_prior(&a);
		served start = serve_rows(&a, NULL, ROWS);
		learner l = learn_from(&start.s, 6);
		CHECK_STATUS(odvgp_natgrad_step(a.m, X, Y, 1, 1, NULL, NULL), ODVGP_OK);
		served batch = serve_rows(&a, NULL, ROWS);
		learn(&l, X, Y, 1, 1);
		difference_of d = compare(&l.o.server, &batch.s, X, ROWS / 2);
		CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
				"%d: mean %.2g, sd %.2g", (int)kinds[k], d.mean, d.sd);
		CHECK_INT(l.o.lost + l.o.negative, 0);
		forget(&l);
		unserve(&batch), unserve(&start);
		drop(&a);
	}
}

/*  An outlier of Student's t has a negative weight. */
TEST(a_negative_weight_moves_only_the_mean)
{
	odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, 1, 1, 6, 0);
	c.lik.kind = ODVGP_LIKELIHOOD_STUDENTT;
	test_seed = 930;
	fixture a = make_random(&c, "rbf");
	served s = serve_rows(&a, NULL, ROWS);
	learner l = learn_from(&s.s, 6);
	odvgp_real y = 30, mean[2], var[2];
	const odvgp_server *at[2] = {&s.s, &l.o.server};
	learn(&l, a.X, &y, 1, 1);
	CHECK_INT(l.o.negative, 1);
	for (int k = 0; k < 2; k++)
		CHECK_STATUS(odvgp_predict(at[k], a.X, 1, mean + k, var + k, s.scratch, s.bytes, NULL),
				ODVGP_OK);
	CHECK_NEAR(var[1], var[0], 50 * EPS);
	CHECK_SAY(mean[1] > mean[0], "mean %g, then %g", (double)mean[0], (double)mean[1]);
	forget(&l);
	unserve(&s);
	drop(&a);
}

/* ---- forgetting ---- */

/*  The sums that forgetting makes of rows, in long double, by the definition: A from L and K(Z,Z) of
    the model's slots. */
typedef struct sums {
	ptrdiff_t M, turn;
	wide *L, *P, *j, *a;
	fixture *of;
	wide *Z;
} sums;
static sums sums_of(fixture *a)
{
	sums s = {a->M, 0, ref_new(a->M * a->M), ref_new(a->M * a->M), ref_new(a->M), ref_new(a->M), a,
			wide_values(a, "Z_beta")};
	const odvgp_config *c = odvgp_model_config(a->m);
	read_kernel(a);
	wide *K = ref_K(&a->k, a->D, s.Z, a->M, s.Z, a->M);
	for (ptrdiff_t i = 0; i < a->M; i++) {
		K[i * a->M + i] +=
				(wide)c->jitter.absolute + (wide)c->jitter.relative * ref_k(&a->k, a->D, s.Z, s.Z);
		s.P[i * a->M + i] = 1;
	}
	CHECK(ref_chol(a->M, K, s.L));
	free(K);
	return s;
}
static void drop_sums(sums *s) { free(s->L), free(s->P), free(s->j), free(s->a), free(s->Z); }
static void features_at(sums *s, const odvgp_real *x, wide *a)
{
	wide point[4];
	for (ptrdiff_t d = 0; d < s->of->D; d++) point[d] = (wide)x[d];
	for (ptrdiff_t i = 0; i < s->M; i++)
		a[i] = ref_k(&s->of->k, s->of->D, point, s->Z + i * s->of->D);
	for (ptrdiff_t i = 0; i < s->M; i++) {
		for (ptrdiff_t k = 0; k < i; k++) a[i] -= s->L[i * s->M + k] * a[k];
		a[i] /= s->L[i * s->M + i];
	}
}
static void sum_row(sums *s, const odvgp_real *x, double y, double noise, double lambda)
{
	features_at(s, x, s->a);
	for (ptrdiff_t i = 0; i < s->M * s->M; i++) s->P[i] *= (wide)lambda;
	for (ptrdiff_t i = 0; i < s->M; i++) s->j[i] *= (wide)lambda;
	ptrdiff_t back = 1 + (ptrdiff_t)((double)s->M * (1 - lambda));
	for (ptrdiff_t i = 0; i < back; i++, s->turn = (s->turn + 1) % s->M)
		s->P[s->turn * (s->M + 1)] += (wide)s->M * (1 - (wide)lambda) / (wide)back;
	for (ptrdiff_t i = 0; i < s->M; i++) {
		s->j[i] += s->a[i] * (wide)(y / noise);
		for (ptrdiff_t k = 0; k < s->M; k++) s->P[i * s->M + k] += s->a[i] * s->a[k] / (wide)noise;
	}
}
/*  The largest differences at n rows from a server's moments. */
static difference_of compare_with_sums(
		sums *s, const odvgp_server *server, const odvgp_real *X, ptrdiff_t n)
{
	difference_of d = {0, 0};
	ptrdiff_t M = s->M;
	wide *inverse = ref_inverse_spd(M, s->P), *a = ref_new(M), *m = ref_new(M);
	size_t bytes = odvgp_predict_scratch(server, n, NULL);
	void *scratch = test_alloc(bytes);
	odvgp_real mean[MOST], var[MOST];
	CHECK_STATUS(odvgp_predict(server, X, n, mean, var, scratch, bytes, NULL), ODVGP_OK);
	ref_mul(0, 0, M, 1, M, inverse, s->j, m);
	for (ptrdiff_t i = 0; i < n; i++) {
		wide f = 0, point[4], v;
		for (ptrdiff_t k = 0; k < s->of->D; k++) point[k] = (wide)X[i * s->of->D + k];
		v = ref_k(&s->of->k, s->of->D, point, point);
		features_at(s, X + i * s->of->D, a);
		for (ptrdiff_t k = 0; k < M; k++) {
			f += a[k] * m[k];
			v -= a[k] * a[k];
			for (ptrdiff_t e = 0; e < M; e++) v += a[k] * inverse[k * M + e] * a[e];
		}
		d.mean = fmax(d.mean, fabs((double)((wide)mean[i] - f)) / sqrt((double)v));
		d.sd = fmax(d.sd, fabs(sqrt((double)var[i] / (double)v) - 1));
	}
	free(scratch), free(inverse), free(a), free(m);
	return d;
}

/*  A model of sin(x) on [-2, 2] with 12 points and q at its prior. */
static fixture make_sine(const char *kernel, double noise)
{
	odvgp_config c = odvgp_config_defaults(ROWS, 1, 1, 12, 0);
	c.layer[0].kernel = kernel;
	c.isa = test_isa();
	fixture a;
	odvgp_real Z[12];
	memset(&a, 0, sizeof a);
	CHECK(ref_kernel_read(&a.k, "rbf"));
	make_block(&a, &c);
	make_data(&a, ROWS, 1, 1, 1, 0.1);
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	for (int i = 0; i < 12; i++) Z[i] = (odvgp_real)(i * 4.0 / 11 - 2);
	assign(&a, "Z_beta", Z);
	set_number(a.m, "kernel.0.variance", 1);
	set_number(a.m, "noise_variance", noise);
	q_is_prior(&a);
	return a;
}

/*  The target at time i. */
static double target(ptrdiff_t i, double x) { return sin(2 * x + (double)i * 1e-4); }

TEST(what_is_old_is_forgotten)
{
	static const double lambdas[] = {0.3, 0.9, 0.99, 0.999};
	for (int k = 0; k < 4; k++) {
		ptrdiff_t rows = k < 3 ? 4000 : test_size(1000000, 30000), most = 30000;
		fixture a = make_sine("rbf(0.5)", 0.01);
		served s = serve_rows(&a, NULL, ROWS);
		learner l = learn_from(&s.s, 12);
		sums sum = sums_of(&a);
		test_seed = 970;
		for (ptrdiff_t i = 0; i < rows; i++) {
			odvgp_real x = (odvgp_real)test_between(-2, 0.5),
					   y = (odvgp_real)(target(i, (double)x) + 0.1 * test_normal());
			learn(&l, &x, &y, 1, lambdas[k]);
			if (i == rows - most) sum.turn = (l.o.turn + 11) % 12;
			if (i >= rows - most) sum_row(&sum, &x, (double)y, 0.01, lambdas[k]);
		}
		difference_of d = compare_with_sums(&sum, &l.o.server, a.X, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-8, 1e-2) && d.sd < BY_PRECISION(1e-8, 1e-2),
				"%g: mean %.2g, sd %.2g", lambdas[k], d.mean, d.sd);
		CHECK_INT(l.o.lost, 0);
		/* away from the data the prior has returned */
		odvgp_real x = 2, mean, var;
		CHECK_STATUS(
				odvgp_predict(&l.o.server, &x, 1, &mean, &var, l.scratch, l.bytes, NULL), ODVGP_OK);
		CHECK_SAY(fabs((double)mean) < 0.1 && (double)var > 0.7 && (double)var < 1.6,
				"%g: far from the data mean %g, variance %g", lambdas[k], (double)mean,
				(double)var);
		drop_sums(&sum);
		forget(&l);
		unserve(&s);
		drop(&a);
	}
}

/* ---- inducing inputs that change ---- */

static void add(learner *l, const odvgp_real *x)
{
	odvgp_info info = no_info();
	CHECK_SAY(odvgp_online_add(&l->o, x, l->scratch, l->bytes, &info) == ODVGP_OK, "add: %s",
			info.text);
}
static double take_out(learner *l, ptrdiff_t j)
{
	double loss = NAN;
	odvgp_info info = no_info();
	CHECK_SAY(odvgp_online_drop(&l->o, j, &loss, l->scratch, l->bytes, &info) == ODVGP_OK,
			"drop: %s", info.text);
	return loss;
}

/*  Mean [OUTPUTS,n] and covariance [OUTPUTS,n,n] in long double. */
static void joint_at(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n, wide *mean, wide *cov)
{
	size_t bytes = odvgp_predict_scratch(s, n, NULL);
	void *scratch = test_alloc(bytes);
	odvgp_real *m = NEW(odvgp_real, OUTPUTS * n), *C = NEW(odvgp_real, OUTPUTS * n * n);
	CHECK_STATUS(odvgp_predict_cov(s, X, n, m, C, scratch, bytes, NULL), ODVGP_OK);
	for (ptrdiff_t i = 0; i < OUTPUTS * n; i++) mean[i] = (wide)m[i];
	for (ptrdiff_t i = 0; i < OUTPUTS * n * n; i++) cov[i] = (wide)C[i];
	free(scratch), free(m), free(C);
}
/*  KL(N(m0, C0) || N(m1, C1)). */
static wide divergence(ptrdiff_t n, const wide *m0, const wide *C0, const wide *m1, const wide *C1)
{
	wide *inverse = ref_inverse_spd(n, C1), sum = -(wide)n;
	for (ptrdiff_t i = 0; i < n; i++)
		for (ptrdiff_t j = 0; j < n; j++)
			sum += inverse[i * n + j] * (C0[i * n + j] + (m1[i] - m0[i]) * (m1[j] - m0[j]));
	sum += ref_solve_spd(n, 0, C1, NULL) - ref_solve_spd(n, 0, C0, NULL);
	free(inverse);
	return sum / 2;
}

TEST(points_are_added_and_dropped)
{
	enum { M = 6, N = M + 2 };
	static const int means[] = {BETA, ORTH, HYBRID};
	for (int k = 0; k < 3; k++) {
		odvgp_config c = pair_config(means[k], ODVGP_COV_PART_DENSE, ROWS, OUTPUTS, M, 4);
		c.jitter.absolute = (odvgp_real)BY_PRECISION(1e-9, 1e-4);
		test_seed = 950 + (uint64_t)k;
		fixture a = make_pair(means[k], ODVGP_COV_PART_DENSE, &c, "matern32 + periodic + linear");
		served s = serve_rows(&a, NULL, ROWS);
		learner l = learn_from(&s.s, N);
		odvgp_real Z[N * 2], *Zb = values(&a, "Z_beta");
		memcpy(Z, Zb, M * 2 * sizeof *Z);
		free(Zb);
		Z[12] = (odvgp_real)2.5, Z[13] = (odvgp_real)-2.4, Z[14] = (odvgp_real)-2.7,
		Z[15] = (odvgp_real)2.2;
		add(&l, Z + 12), add(&l, Z + 14);
		difference_of d = compare(&l.o.server, &s.s, a.X, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-6, 1e-2) && d.sd < BY_PRECISION(1e-6, 1e-2),
				"%s: added: mean %.2g, sd %.2g", mean_name[means[k]], d.mean, d.sd);
		learn(&l, a.X, a.Y, 12, 1);
		wide mean[2][OUTPUTS * N], cov[2][OUTPUTS * N * N];
		joint_at(&l.o.server, Z, N, mean[0], cov[0]);
		/* the first, one in the middle, the last */
		const ptrdiff_t out[3] = {0, 3, N - 1}, j = out[k];
		double loss = take_out(&l, j);
		joint_at(&l.o.server, Z, N, mean[1], cov[1]);
		wide want = 0, off = 0;
		for (ptrdiff_t q = 0; q < OUTPUTS; q++) {
			want += divergence(
					N, mean[0] + q * N, cov[0] + q * N * N, mean[1] + q * N, cov[1] + q * N * N);
			for (ptrdiff_t i = 0; i < N; i++)
				if (i != j)
					off = fmaxl(off, fabsl(mean[0][q * N + i] - mean[1][q * N + i]) +
											 fabsl(cov[0][q * N * N + i * (N + 1)] -
													 cov[1][q * N * N + i * (N + 1)]));
		}
		CHECK_SAY(off < BY_PRECISION(1e-6L, 1e-2L), "%s: others moved by %.2g", mean_name[means[k]],
				(double)off);
		CHECK_SAY(fabs(loss - (double)want) < BY_PRECISION(1e-4, 1e-1) * (1 + loss),
				"%s: loss %.9g, not %.9g", mean_name[means[k]], loss, (double)want);
		CHECK_NEAR(l.o.loss, loss, 0);
		/* the least one is no larger */
		learner again = learn_from(&l.o.server, N - 1);
		again.o.keep = 0; /* no point is too new */
		double least = take_out(&again, -1);
		for (ptrdiff_t i = 0; i < N - 1; i++) {
			learner other = learn_from(&l.o.server, N - 1);
			double one = take_out(&other, i);
			CHECK_SAY(one >= least * (1 - 1e-3) - 1e-3 * (EPS > 1e-10), "%g < %g", one, least);
			forget(&other);
		}
		forget(&again);
		forget(&l);
		unserve(&s);
		drop(&a);
	}
}

TEST(prior_stays_the_prior)
{
	odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, ROWS, OUTPUTS, 6, 0);
	test_seed = 960;
	fixture a = make_pair(BETA, ODVGP_COV_PART_DENSE, &c, "matern52 + rbf");
	q_is_prior(&a);
	served s = serve_rows(&a, NULL, ROWS);
	learner l = learn_from(&s.s, 9);
	for (ptrdiff_t i = 0; i < 12; i++) {
		if (i > 2) (void)take_out(&l, i % 3 ? i % 5 : -1);
		add(&l, a.X + i * 2);
	}
	(void)take_out(&l, 2);
	difference_of d = compare(&l.o.server, &s.s, a.X, ROWS);
	CHECK_SAY(d.mean < BY_PRECISION(1e-12, 1e-5) && d.sd < BY_PRECISION(1e-12, 1e-5),
			"mean %.2g, sd %.2g", d.mean, d.sd);
	CHECK_NEAR(l.o.loss, 0, BY_PRECISION(1e-12, 1e-4));
	CHECK_INT(l.o.added, 12);
	forget(&l);
	unserve(&s);
	drop(&a);
}

/*  What is learned after changes is what the batch learns with these points. */
TEST(other_points_learn_as_the_batch)
{
	enum { M = 6 };
	static const ptrdiff_t out[3] = {7, 4, 1};
	odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, ROWS, OUTPUTS, M, 0);
	test_seed = 965;
	fixture a = make_pair(BETA, ODVGP_COV_PART_DENSE, &c, "matern52 + periodic + linear");
	q_is_prior(&a);
	served start = serve_rows(&a, NULL, ROWS);
	learner l = learn_from(&start.s, M + 3);
	odvgp_real Z[(M + 3) * 2], *own = values(&a, "Z_beta");
	memcpy(Z, own, M * 2 * sizeof *Z);
	memcpy(Z + M * 2, a.X, 6 * sizeof *Z);
	for (int i = 0; i < 3; i++) add(&l, a.X + i * 2);
	for (int i = 0; i < 3; i++) {
		(void)take_out(&l, out[i]);
		memmove(Z + out[i] * 2, Z + (out[i] + 1) * 2, (size_t)(M + 2 - i - out[i]) * 2 * sizeof *Z);
	}
	learn(&l, a.X, a.Y, ROWS, 1);
	assign(&a, "Z_beta", Z);
	fit_q(&a);
	served batch = serve_rows(&a, NULL, ROWS);
	difference_of d = compare(&l.o.server, &batch.s, a.X, ROWS);
	CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
			"mean %.2g, sd %.2g", d.mean, d.sd);
	free(own);
	forget(&l);
	unserve(&batch), unserve(&start);
	drop(&a);
}

/*  The data move from [0, 2] to [40, 42]; as many points follow. */
/*  A model gets the points that its learner has moved, and predicts as the learner does. */
TEST(moved_points_are_stored)
{
	enum { M = 6 };
	static const int means[] = {BETA, ORTH, HYBRID};
	for (int k = 0; k < 3; k++) {
		odvgp_config c = pair_config(means[k], ODVGP_COV_PART_DENSE, ROWS, OUTPUTS, M, 4);
		odvgp_info info = no_info();
		c.jitter.absolute = (odvgp_real)BY_PRECISION(1e-9, 1e-4);
		test_seed = 960 + (uint64_t)k;
		fixture a = make_pair(means[k], ODVGP_COV_PART_DENSE, &c, "matern32 + periodic + linear");
		served s = serve_rows(&a, NULL, ROWS);
		learner l = learn_from(&s.s, M + 1);
		l.o.novelty = (odvgp_real)0.02;
		odvgp_real *before = values(&a, "Z_beta");
		for (ptrdiff_t i = 0; i < 2 * ROWS; i++) a.X[i] *= 2;
		learn(&l, a.X, a.Y, ROWS, 0.9);
		CHECK_SAY(l.o.added > 2, "%g points were added", (double)l.o.added);
		CHECK_STATUS(odvgp_set_trainable(a.m, "Z_beta", 0, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_online_store(&l.o, a.m, &info), ODVGP_E_UNSUPPORTED);
		CHECK(!strcmp(info.what, "Z_beta"));
		CHECK_STATUS(odvgp_set_trainable(a.m, "Z_beta", 1, NULL), ODVGP_OK);
		CHECK_SAY(odvgp_online_store(&l.o, a.m, &info) == ODVGP_OK, "%s", info.text);
		odvgp_real *after = values(&a, "Z_beta");
		CHECK(test_max_diff(before, after, M * 2) > 0.1);
		served now = serve_rows(&a, NULL, ROWS);
		difference_of d = compare(&now.s, &l.o.server, a.X, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-6, 2e-2) && d.sd < BY_PRECISION(1e-6, 2e-2),
				"%s: stored: mean %.2g, sd %.2g", mean_name[means[k]], d.mean, d.sd);
		free(before), free(after);
		forget(&l);
		unserve(&s), unserve(&now);
		drop(&a);
	}
}
TEST(points_follow_the_data)
{
	double rmse[2] = {0, 0};
	for (int follow = 0; follow < 2; follow++) {
		fixture a = make_sine("rbf(0.5)", 0.01);
		served s = serve_rows(&a, NULL, ROWS);
		learner l = learn_from(&s.s, 13);
		test_seed = 980;
		l.o.novelty = (odvgp_real)(follow ? 0.1 : 0);
		for (ptrdiff_t i = 0; i < 4000; i++) {
			double x = (double)i / 100 + test_between(0, 2), y, f = sin(2 * x);
			odvgp_real at = (odvgp_real)x, mean, var;
			y = f + 0.1 * test_normal();
			CHECK_STATUS(odvgp_predict(&l.o.server, &at, 1, &mean, &var, l.scratch, l.bytes, NULL),
					ODVGP_OK);
			if (i >= 1000) rmse[follow] += ((double)mean - f) * ((double)mean - f) / 3000;
			odvgp_real target_at = (odvgp_real)y;
			learn(&l, &at, &target_at, 1, 0.999);
		}
		CHECK_SAY(!follow || (l.o.added > 50 && l.o.added < 400), "%g points were added",
				(double)l.o.added);
		CHECK_SAY(l.o.loss >= 0 && l.o.loss < 1000, "loss %g", l.o.loss);
		CHECK_INT(((const gp__predictor *)l.o.server.block)->M, 12);
		forget(&l);
		unserve(&s);
		drop(&a);
	}
	CHECK_SAY(rmse[1] < 0.15 * 0.15 && rmse[0] > 0.4 * 0.4, "errors %.3g, fixed points %.3g",
			sqrt(rmse[1]), sqrt(rmse[0]));
}

/* ---- hyperparameters ---- */

static odvgp_adaptation adapt(
		learner *l, const odvgp_real *X, const odvgp_real *Y, ptrdiff_t n, odvgp_adaptation a)
{
	odvgp_info info = no_info();
	size_t bytes = odvgp_online_adapt_scratch(&l->o, &info);
	void *scratch = test_alloc(bytes);
	CHECK_SAY(odvgp_online_adapt(&l->o, X, Y, n, &a, scratch, bytes, &info) == ODVGP_OK,
			"adapt: %s", info.text);
	free(scratch);
	return a;
}
static double bound_of(learner *l, const odvgp_real *X, const odvgp_real *Y, ptrdiff_t n)
{
	const odvgp_adaptation none = {0, 0, 0, 0};
	return adapt(l, X, Y, n, none).before;
}

/*  Where hyperparameters stay, batch bounds add up: that of all rows from the prior, and that of the
    first ones with that of the others after these are learned. Learning by steps of which none is
    taken is learning row by row. */
TEST(streaming_bounds_add_up_to_the_batch)
{
	static const int means[] = {BETA, ORTH, BETA};
	for (int k = 0; k < 3; k++) {
		fixture first, all;
		if (k < 2) make_two(means[k], ODVGP_COV_PART_DENSE, &first, &all);
		else {
			odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, ROWS, OUTPUTS, 6, 0);
			c.lik.noise_per_output = 1;
			test_seed = 995;
			all = make_random(&c, "matern52 + rbf");
			first = make_random(&c, "matern52 + rbf");
			copy_slots(&first, &all, NULL);
		}
		odvgp_real elbo, elbo_first, gamma = 0;
		if (k < 2) fit_q(&all), q_is_prior(&first);
		else {
			q_is_prior(&first), q_is_prior(&all);
			CHECK_STATUS(odvgp_natgrad_step(all.m, all.X, all.Y, ROWS, 1, &elbo, NULL), ODVGP_OK);
		}
		CHECK_STATUS(odvgp_elbo(all.m, all.X, all.Y, ROWS, &elbo, NULL, NULL, NULL), ODVGP_OK);
		/* a's part of the KL, which the stream leaves out */
		CHECK_STATUS(odvgp_elbo(first.m, first.X, first.Y, k < 2 ? FIRST : ROWS, &elbo_first,
							 &gamma, NULL, NULL),
				ODVGP_OK);
		served start = serve_rows(&first, NULL, ROWS), batch = serve_rows(&all, NULL, ROWS);
		learner l = learn_from(&start.s, 8);
		double want = (double)elbo + (double)gamma, at_once = bound_of(&l, all.X, all.Y, ROWS),
			   before = bound_of(&l, all.X, all.Y, FIRST), after;
		const ptrdiff_t left = ROWS - FIRST;
		learn(&l, all.X, all.Y, FIRST, 1);
		after = bound_of(&l, all.X + FIRST * 2, all.Y + FIRST * OUTPUTS, left);
		CHECK_SAY(fabs(at_once - want) < BY_PRECISION(1e-8, 1e-3) * fabs(want),
				"%d: at once %.12g, not %.12g", k, at_once, want);
		CHECK_SAY(fabs(before + after - want) < BY_PRECISION(1e-8, 1e-3) * fabs(want),
				"%d: in two parts %.12g, not %.12g", k, before + after, want);
		forget(&l);
		unserve(&start), unserve(&batch);
		drop(&first), drop(&all);
	}
}

/*  K(Z,Z) of the model with this lengthscale and variance, and the jitter of variance 1; rows of K^-1
    K(Z,x). */
typedef struct points_at {
	wide *K, *rows, *rest; /* [M,M], [n,M], k - k(x,Z) K^-1 k(Z,x) [n] */
} points_at;
static points_at points_of(fixture *a, double lengthscale, double variance, ptrdiff_t n)
{
	ptrdiff_t M = a->M;
	const odvgp_config *c = odvgp_model_config(a->m);
	set_number(a->m, "kernel.0.lengthscale", lengthscale);
	set_number(a->m, "kernel.0.variance", variance);
	read_kernel(a);
	wide *Z = wide_values(a, "Z_beta"), *X = ref_copy(a->X, n);
	points_at p = {ref_K(&a->k, 1, Z, M, Z, M), ref_K(&a->k, 1, X, n, Z, M), ref_new(n)};
	for (ptrdiff_t i = 0; i < M; i++)
		p.K[i * (M + 1)] += (wide)c->jitter.absolute + (wide)c->jitter.relative;
	wide *inverse = ref_inverse_spd(M, p.K), *rows = ref_new(n * M);
	ref_mul(0, 0, n, M, M, p.rows, inverse, rows);
	for (ptrdiff_t i = 0; i < n; i++) {
		p.rest[i] = (wide)variance;
		for (ptrdiff_t j = 0; j < M; j++) p.rest[i] -= rows[i * M + j] * p.rows[i * M + j];
	}
	free(inverse), free(p.rows), free(X), free(Z);
	p.rows = rows;
	return p;
}
static void drop_points(points_at *p) { free(p->K), free(p->rows), free(p->rest); }

/*  Adds rows [from, to) to a precision and its product with a mean. */
static void add_rows(const points_at *p, const fixture *a, ptrdiff_t from, ptrdiff_t to, wide noise,
		wide *P, wide *j)
{
	ptrdiff_t M = a->M;
	for (ptrdiff_t i = from; i < to; i++)
		for (ptrdiff_t k = 0; k < M; k++) {
			const wide *row = p->rows + i * M;
			j[k] += row[k] * (wide)a->Y[i] / noise;
			for (ptrdiff_t e = 0; e < M; e++) P[k * M + e] += row[k] * row[e] / noise;
		}
}
/*  log|P| - j^T P^-1 j. */
static wide log_mass(ptrdiff_t M, const wide *P, const wide *j)
{
	wide *x = ref_new(M), sum = 0;
	memcpy(x, j, (size_t)M * sizeof *x);
	sum = ref_solve_spd(M, 1, P, x);
	for (ptrdiff_t i = 0; i < M; i++) sum -= x[i] * j[i];
	free(x);
	return sum;
}
/*  The streaming bound of rows from FIRST on at other values, by its definition in long double: what
    was learned of the first rows with old values is a factor q_old(u) / p_old(u). */
static double bound_by_definition(fixture *a, const double *old, const double *value)
{
	ptrdiff_t M = a->M;
	points_at o = points_of(a, old[0], old[1], ROWS), now;
	wide *P = ref_inverse_spd(M, o.K), *j = ref_new(M), *likelihood = ref_new(M * M), bound;
	add_rows(&o, a, 0, FIRST, (wide)old[2], P, j);
	bound = log_mass(M, P, j) + ref_solve_spd(M, 0, o.K, NULL);
	memset(j, 0, (size_t)M * sizeof *j);
	add_rows(&o, a, 0, FIRST, (wide)old[2], likelihood, j);
	now = points_of(a, value[0], value[1], ROWS);
	free(P);
	P = ref_inverse_spd(M, now.K);
	for (ptrdiff_t i = 0; i < M * M; i++) P[i] += likelihood[i];
	add_rows(&now, a, FIRST, ROWS, (wide)value[2], P, j);
	bound -= log_mass(M, P, j) + ref_solve_spd(M, 0, now.K, NULL);
	for (ptrdiff_t i = FIRST; i < ROWS; i++)
		bound -= logl(2 * 3.14159265358979323846L * (wide)value[2]) +
				 ((wide)a->Y[i] * (wide)a->Y[i] + now.rest[i]) / (wide)value[2];
	free(P), free(j), free(likelihood), drop_points(&o), drop_points(&now);
	return (double)bound / 2;
}

TEST(the_bound_is_that_of_the_definition)
{
	fixture a = make_sine("rbf(0.8)", 0.02);
	const double old[3] = {0.8, 1, 0.02};
	served s = serve_rows(&a, NULL, ROWS);
	learner l = learn_from(&s.s, 12);
	learn(&l, a.X, a.Y, FIRST, 1);
	const odvgp_real *X = a.X + FIRST, *Y = a.Y + FIRST;
	const odvgp_adaptation none = {0, 0, 0, 0}, some = {12, 0, 0, 0};
	double got = adapt(&l, X, Y, ROWS - FIRST, none).before,
		   want = bound_by_definition(&a, old, old);
	CHECK_NEAR(got, want, BY_PRECISION(1e-8, 1e-2) * fabs(want));
	odvgp_adaptation step = adapt(&l, X, Y, ROWS - FIRST, some);
	const gp__view v = gp__view_of(gp__layer_of(&l.o.server), 0);
	const double at[3] = {(double)v.hyp[0], (double)v.hyp[1], (double)v.lik_params[0]};
	want = bound_by_definition(&a, old, at);
	CHECK_SAY(step.after > step.before + 1, "from %.9g to %.9g", step.before, step.after);
	CHECK_NEAR(step.after, want, BY_PRECISION(1e-7, 1e-2) * fabs(want));
	for (int i = 0; i < 3; i++) { /* there it is flat */
		double up[3], down[3], h = 1e-4, first;
		memcpy(up, at, sizeof at), memcpy(down, at, sizeof at);
		up[i] *= exp(h), down[i] *= exp(-h);
		first = bound_by_definition(&a, old, up) - bound_by_definition(&a, old, down);
		CHECK_SAY(fabs(first / (2 * h)) < BY_PRECISION(1e-2, 1), "parameter %d (%g): slope %g", i,
				at[i], first / (2 * h));
	}
	forget(&l);
	unserve(&s);
	drop(&a);
}

TEST(the_bound_rises)
{
	for (int k = 0; k < 2; k++) {
		odvgp_config c = pair_config(k ? ORTH : BETA, ODVGP_COV_PART_DENSE, ROWS, OUTPUTS, 6, 4);
		if (!k) c.layer[0].M_gamma = 0;
		c.jitter.absolute = (odvgp_real)BY_PRECISION(1e-9, 1e-4);
		test_seed = 996;
		fixture a = make_pair(k ? ORTH : BETA, ODVGP_COV_PART_DENSE, &c, "rbf + linear");
		q_is_prior(&a);
		served s = serve_rows(&a, NULL, ROWS);
		learner l = learn_from(&s.s, 7);
		learn(&l, a.X, a.Y, FIRST, 1);
		const odvgp_real *X = a.X + FIRST * 2, *Y = a.Y + FIRST * OUTPUTS;
		const odvgp_adaptation none = {0, 0, 0, 0}, one = {1, 0, 0, 0}, more = {6, 1, 0, 0};
		odvgp_adaptation got = adapt(&l, X, Y, ROWS - FIRST, none);
		CHECK(got.before == got.after && got.after == bound_of(&l, X, Y, ROWS - FIRST));
		learner other = learn_from(&l.o.server, 7);
		odvgp_adaptation step = adapt(&other, X, Y, ROWS - FIRST, one);
		CHECK_NEAR(step.before, got.before, BY_PRECISION(1e-7, 1e-3) * fabs(got.before));
		CHECK_SAY(step.after > step.before, "from %.9g to %.9g", step.before, step.after);
		forget(&other);
		other = learn_from(&l.o.server, 7);
		got = adapt(&other, X, Y, ROWS - FIRST, more);
		CHECK_SAY(got.after > got.before, "from %.9g to %.9g", got.before, got.after);
		const gp__view v = gp__view_of(gp__layer_of(&l.o.server), 0),
					   w = gp__view_of(gp__layer_of(&other.o.server), 0);
		CHECK(v.lik_params[0] == w.lik_params[0] && v.hyp[0] != w.hyp[0]);
		CHECK_INT(other.o.rows, ROWS - FIRST);
		/* predictions and further rows go on from there */
		learn(&other, a.X, a.Y, FIRST, 1);
		add(&other, a.X);
		(void)take_out(&other, 2);
		forget(&other);
		forget(&l);
		unserve(&s);
		drop(&a);
	}
}

/*  A lengthscale that is four times too long: with every 25th batch moving it, held-out rows become
    more likely than with the wrong one, and about as likely as with the right one. */
/*  A step that would overshoot is halved, so that a target far from all others is predicted no worse
    after it is learned; of these likelihoods others lose variance by it, and stay finite. */
TEST(an_outlier_does_not_overshoot)
{
	static const odvgp_likelihood kinds[] = {ODVGP_LIKELIHOOD_POISSON,
			ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL, ODVGP_LIKELIHOOD_EXPONENTIAL, ODVGP_LIKELIHOOD_GAMMA,
			ODVGP_LIKELIHOOD_HETEROSCEDASTIC, ODVGP_LIKELIHOOD_STUDENTT};
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (double far = 1e2; far < 1e9; far *= 1e3) {
			odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, 1,
					kinds[k] == ODVGP_LIKELIHOOD_HETEROSCEDASTIC ? 2 : 1, 6, 0);
			c.lik.kind = kinds[k];
			test_seed = 940 + (uint64_t)k;
			fixture a = make_random(&c, "rbf");
			odvgp_real X[2] = {0, 0}, Y[1] = {2}, before, after;
			q_is_prior(&a);
			served start = serve_rows(&a, NULL, 1);
			learner l = learn_from(&start.s, 6);
			for (int i = 0; i < 20; i++) {
				X[0] = (odvgp_real)test_between(-2, 2);
				X[1] = (odvgp_real)test_between(-2, 2);
				learn(&l, X, Y, 1, 1);
			}
			Y[0] = (odvgp_real)far;
			size_t bytes = odvgp_predict_scratch(&l.o.server, 1, NULL);
			void *scratch = test_alloc(bytes);
			CHECK_STATUS(odvgp_predict_logp(&l.o.server, X, Y, 1, &before, scratch, bytes, NULL),
					ODVGP_OK);
			learn(&l, X, Y, 1, 1);
			CHECK_STATUS(odvgp_predict_logp(&l.o.server, X, Y, 1, &after, scratch, bytes, NULL),
					ODVGP_OK);
			int narrows = kinds[k] == ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL ||
						  kinds[k] == ODVGP_LIKELIHOOD_EXPONENTIAL ||
						  kinds[k] == ODVGP_LIKELIHOOD_HETEROSCEDASTIC;
			CHECK_SAY(after >= (narrows ? 5 * before : before), "%s, %g: log p %g, then %g",
					gp__likelihoods[kinds[k]].name, far, (double)before, (double)after);
			free(scratch);
			forget(&l);
			unserve(&start);
			drop(&a);
		}
}

/*  Circles know a point modulo their period only; another kernel of the column knows it. */
TEST(points_are_those_of_the_kernel_that_knows_them)
{
	for (int k = 0; k < 2; k++) {
		fixture a = make_sine(k ? "periodic(1, variance=0.3, period=0.7) + rbf(1)"
								: "rbf(1) + periodic(1, variance=0.3, period=0.7)",
				0.1);
		served s = serve_rows(&a, NULL, ROWS);
		learner l = learn_from(&s.s, 12);
		odvgp_real X[1] = {0}, Y[1] = {0};
		const odvgp_adaptation none = {0, 0, 0, 0};
		odvgp_adaptation got = adapt(&l, X, Y, 0, none);
		CHECK_SAY(fabs(got.before) < BY_PRECISION(1e-6, 0.5), "bound %g", got.before);
		forget(&l);
		unserve(&s);
		drop(&a);
	}
}

TEST(a_wrong_lengthscale_is_mended)
{
	double logp[3] = {0, 0, 0};
	for (int k = 0; k < 3; k++) {
		fixture a = make_sine(k < 2 ? "rbf(2)" : "rbf(0.5)", k < 2 ? 0.3 : 0.01);
		served s = serve_rows(&a, NULL, ROWS);
		learner l = learn_from(&s.s, 12);
		const odvgp_adaptation some = {3, 0, 0, 0};
		enum { BATCH = 25 };
		odvgp_real X[BATCH], Y[BATCH], out[BATCH];
		test_seed = 997;
		for (int b = 0; b <= 20; b++) {
			for (int i = 0; i < BATCH; i++) {
				X[i] = (odvgp_real)test_between(-2, 2);
				Y[i] = (odvgp_real)(sin(4 * (double)X[i]) + 0.1 * test_normal());
			}
			if (b == 20) {
				CHECK_STATUS(
						odvgp_predict_logp(&l.o.server, X, Y, BATCH, out, l.scratch, l.bytes, NULL),
						ODVGP_OK);
				for (int i = 0; i < BATCH; i++) logp[k] += (double)out[i] / BATCH;
			} else if (k == 1) {
				odvgp_adaptation got = adapt(&l, X, Y, BATCH, some);
				CHECK(got.after >= got.before);
			} else {
				learn(&l, X, Y, BATCH, 1);
			}
		}
		forget(&l);
		unserve(&s);
		drop(&a);
	}
	CHECK_SAY(logp[1] > logp[0] + 0.2 && logp[1] > logp[2] - 0.15,
			"log likelihoods: wrong %.3f, moved %.3f, right %.3f", logp[0], logp[1], logp[2]);
}

TEST(bad_arguments_are_refused)
{
	odvgp_config c = pair_config(ORTH, ODVGP_COV_PART_DENSE, ROWS, OUTPUTS, 6, 4), bad;
	fixture a = make_pair(ORTH, ODVGP_COV_PART_DENSE, &c, "matern52 + rbf"), b;
	served s = serve_rows(&a, NULL, ROWS), t;
	learner l = learn_from(&s.s, 7);
	odvgp_online o;
	odvgp_real x[4] = {0, 1, 2, 3}, y[4] = {0, 1, 2, 3}, wrong[4] = {0, 1, (odvgp_real)NAN, 3};
	double loss = 7;
	size_t size = odvgp_online_size(&s.s, 7, NULL);
	memset(&o, PATTERN, sizeof o);
	NO_SIZE(odvgp_online_size(NULL, 7, &info), ODVGP_E_ARG, "server");
	NO_SIZE(odvgp_online_size(&s.s, 5, &info), ODVGP_E_SIZE, "most");
	NO_SIZE(odvgp_online_scratch(&s.s, PTRDIFF_MAX, &info), ODVGP_E_SIZE, "most");
	NO_SIZE(odvgp_online_scratch(&s.s, 1 << 30, &info), ODVGP_E_SIZE, "most");
	REFUSED_FOR(odvgp_online_start(&o, &s.s, 7, NULL, size, l.scratch, l.bytes, &info), ODVGP_E_ARG,
			"block");
	REFUSED_FOR(odvgp_online_start(&o, &s.s, 7, l.block, size - 64, l.scratch, l.bytes, &info),
			ODVGP_E_MEMORY, "block");
	REFUSED_FOR(odvgp_online_start(&o, &s.s, 7, l.block, size, l.scratch, 64, &info),
			ODVGP_E_MEMORY, "scratch");
	CHECK(untouched(&o, sizeof o));
	forget(&l);
	l = learn_from(&s.s, 7);
	served before = s;
	REFUSED_FOR(odvgp_online_update(NULL, x, y, 2, 1, l.scratch, l.bytes, &info), ODVGP_E_ARG,
			"online");
	REFUSED_FOR(
			odvgp_online_update(&l.o, x, NULL, 2, 1, l.scratch, l.bytes, &info), ODVGP_E_ARG, "Y");
	REFUSED_FOR(
			odvgp_online_update(&l.o, wrong, y, 2, 1, l.scratch, l.bytes, &info), ODVGP_E_NAN, "X");
	REFUSED_FOR(odvgp_online_update(&l.o, x, y, 2, 0, l.scratch, l.bytes, &info), ODVGP_E_ARG,
			"lambda");
	REFUSED_FOR(
			odvgp_online_update(&l.o, x, y, 2, 1, l.scratch, 64, &info), ODVGP_E_MEMORY, "scratch");
	wrong[2] = (odvgp_real)HUGE_VAL;
	REFUSED_FOR(
			odvgp_online_update(&l.o, x, wrong, 2, 1, l.scratch, l.bytes, &info), ODVGP_E_NAN, "Y");
	wrong[2] = (odvgp_real)(HUGE_REAL / 4);
	REFUSED_FOR(odvgp_online_update(&l.o, x, wrong + 2, 1, 1, l.scratch, l.bytes, &info),
			ODVGP_E_NAN, "X or Y");
	CHECK_STATUS(odvgp_set_trainable(a.m, "q_sqrt", 0, NULL), ODVGP_OK);
	REFUSED_FOR(odvgp_online_store(&l.o, a.m, &info), ODVGP_E_UNSUPPORTED, "model");
	CHECK_STATUS(odvgp_set_trainable(a.m, "q_sqrt", 1, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_online_update(&l.o, NULL, NULL, 0, 1, NULL, 0, NULL), ODVGP_OK);
	REFUSED_FOR(odvgp_online_store(NULL, a.m, &info), ODVGP_E_ARG, "online");
	REFUSED_FOR(odvgp_online_store(&l.o, NULL, &info), ODVGP_E_ARG, "model");
	CHECK_STATUS(odvgp_online_add(&l.o, x, l.scratch, l.bytes, NULL), ODVGP_OK);
	REFUSED_FOR(odvgp_online_store(&l.o, a.m, &info), ODVGP_E_SIZE, "M");
	CHECK_STATUS(odvgp_online_drop(&l.o, 6, NULL, l.scratch, l.bytes, NULL), ODVGP_OK);
	REFUSED_FOR(odvgp_online_add(&l.o, NULL, l.scratch, l.bytes, &info), ODVGP_E_ARG, "X");
	odvgp_adaptation some = {1, 0, 7, 7};
	size_t bytes = odvgp_online_adapt_scratch(&l.o, NULL);
	void *scratch = test_alloc(bytes);
	wrong[2] = (odvgp_real)NAN;
#define ADAPT(X, n, to, scratch, bytes) odvgp_online_adapt(&l.o, X, y, n, to, scratch, bytes, &info)
	NO_SIZE(odvgp_online_adapt_scratch(NULL, &info), ODVGP_E_ARG, "online");
	REFUSED_FOR(
			odvgp_online_adapt(NULL, x, y, 2, &some, scratch, bytes, &info), ODVGP_E_ARG, "online");
	REFUSED_FOR(ADAPT(x, 2, NULL, scratch, bytes), ODVGP_E_ARG, "settings");
	REFUSED_FOR(ADAPT(x, 2, &some, NULL, bytes), ODVGP_E_ARG, "scratch");
	REFUSED_FOR(ADAPT(NULL, 0, &some, NULL, bytes), ODVGP_E_ARG, "scratch");
	REFUSED_FOR(ADAPT(wrong, 2, &some, scratch, bytes), ODVGP_E_NAN, "X");
	REFUSED_FOR(ADAPT(x, 2, &some, scratch, bytes - 1), ODVGP_E_MEMORY, "scratch");
	wrong[2] = (odvgp_real)(HUGE_REAL / 4);
	REFUSED_FOR(odvgp_online_adapt(&l.o, x, wrong + 2, 1, &some, scratch, bytes, &info),
			ODVGP_E_NAN, "X");
	CHECK(some.before == 7 && some.after == 7);
	free(scratch);
	REFUSED_FOR(odvgp_online_drop(&l.o, 6, &loss, l.scratch, l.bytes, &info), ODVGP_E_ARG, "k");
	REFUSED_FOR(odvgp_online_drop(&l.o, 1, &loss, NULL, l.bytes, &info), ODVGP_E_ARG, "scratch");
	difference_of d = compare(&l.o.server, &before.s, a.X, ROWS);
	CHECK(d.mean < 1e-3 && d.sd < 1e-3);
	add(&l, x);
	REFUSED_FOR(odvgp_online_add(&l.o, x, l.scratch, l.bytes, &info), ODVGP_E_SIZE, "online");
	for (int i = 0; i < 6; i++) (void)take_out(&l, 0);
	REFUSED_FOR(
			odvgp_online_drop(&l.o, 0, &loss, l.scratch, l.bytes, &info), ODVGP_E_SIZE, "online");
	forget(&l);
	odvgp_real *zero = values(&a, "q_sqrt");
	memset(zero, 0, OUTPUTS * 36 * sizeof *zero);
	assign(&a, "q_sqrt", zero);
	free(zero);
	t = serve_rows(&a, NULL, 1);
	l.block = test_alloc(size), l.scratch = test_alloc(l.bytes);
	REFUSED_FOR(odvgp_online_start(&o, &t.s, 7, l.block, size, l.scratch, l.bytes, &info),
			ODVGP_E_NAN, "server");
	forget(&l);
	unserve(&t);
	bad = c;
	bad.layer[0].kernel = "linear"; /* two points determine it */
	bad.layer[0].M = 2;
	bad.jitter.absolute = 0;
	b = make(&bad);
	t = serve_rows(&b, NULL, 1);
	l = learn_from(&t.s, 7);
	x[0] = x[1] = (odvgp_real)1e8;
	if (sizeof *x == 8) /* rounding of a float leaves more */
		REFUSED_FOR(odvgp_online_add(&l.o, x, l.scratch, l.bytes, &info), ODVGP_E_NOT_PD, "X");
	forget(&l);
	unserve(&t), drop(&b);
	bad = c;
	bad.functions = OUTPUTS;
	b = make(&bad);
	t = serve_rows(&b, NULL, 1);
	NO_SIZE(odvgp_online_size(&t.s, 6, &info), ODVGP_E_UNSUPPORTED, "server");
	unserve(&t), drop(&b);
	bad = c;
	bad.layer[0].cov_part = ODVGP_COV_PART_INVERSE;
	bad.optim.natgrad = 0;
	b = make(&bad);
	t = serve_rows(&b, NULL, 1);
	REFUSED_FOR(
			odvgp_online_start(&o, &t.s, 6, x, 64, x, 64, &info), ODVGP_E_UNSUPPORTED, "server");
	unserve(&t), drop(&b);
	bad = c;
	bad.lik.kind = ODVGP_LIKELIHOOD_LAPLACE;
	b = make(&bad);
	t = serve_rows(&b, NULL, 1);
	l = learn_from(&t.s, 7);
	REFUSED_FOR(ADAPT(x, 2, &some, l.scratch, l.bytes), ODVGP_E_UNSUPPORTED, "likelihood");
	forget(&l);
	unserve(&t), drop(&b);
	bad = c;
	bad.independent = 1;
	b = make(&bad);
	t = serve_rows(&b, NULL, 1);
	l = learn_from(&t.s, 7);
	REFUSED_FOR(
			odvgp_online_add(&l.o, x, l.scratch, l.bytes, &info), ODVGP_E_UNSUPPORTED, "online");
	l.o.novelty = 1;
	REFUSED_FOR(odvgp_online_update(&l.o, x, y, 2, 1, l.scratch, l.bytes, &info),
			ODVGP_E_UNSUPPORTED, "online");
	REFUSED_FOR(ADAPT(x, 2, &some, l.scratch, l.bytes), ODVGP_E_UNSUPPORTED, "online");
	forget(&l);
	unserve(&t), drop(&b);
	unserve(&s);
	drop(&a);
}

/*  A free mean has no coefficients on Z_beta; keep is the caller's; new points need scratch. */
TEST(free_means_small_scratch_and_keep)
{
	odvgp_config c = pair_config(FREE, ODVGP_COV_PART_DENSE, ROWS, 1, 6, 4);
	test_seed = 990;
	fixture a = make_pair(FREE, ODVGP_COV_PART_DENSE, &c, "rbf");
	served s = serve_rows(&a, NULL, ROWS);
	learner l = learn_from(&s.s, 40);
	difference_of d = compare(&l.o.server, &s.s, a.X, ROWS);
	CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
			"start: mean %.2g, sd %.2g", d.mean, d.sd);
	l.o.novelty = GP__R(1e-3);
	REFUSED_FOR(odvgp_online_update(&l.o, a.X, a.Y, ROWS, 1, l.scratch,
						odvgp_online_scratch(&s.s, 6, NULL), &info),
			ODVGP_E_MEMORY, "scratch");
	l.o.keep = -200;
	CHECK_STATUS(odvgp_online_drop(&l.o, -1, NULL, l.scratch, l.bytes, NULL), ODVGP_OK);
	CHECK_INT(gp__layer_of(&l.o.server)->M, 5);
	forget(&l);
	unserve(&s);
	drop(&a);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(rows_are_learned_as_the_batch);
	RUN(two_blocks_are_one);
	RUN(weights_noises_and_missing_targets);
	RUN(images_are_learned);
	RUN(lost_rows_are_counted);
	RUN(other_likelihoods_take_natural_steps);
	RUN(a_negative_weight_moves_only_the_mean);
	RUN(what_is_old_is_forgotten);
	RUN(points_are_added_and_dropped);
	RUN(prior_stays_the_prior);
	RUN(other_points_learn_as_the_batch);
	RUN(moved_points_are_stored);
	RUN(points_follow_the_data);
	RUN(streaming_bounds_add_up_to_the_batch);
	RUN(the_bound_is_that_of_the_definition);
	RUN(the_bound_rises);
	RUN(an_outlier_does_not_overshoot);
	RUN(points_are_those_of_the_kernel_that_knows_them);
	RUN(a_wrong_lengthscale_is_mended);
	RUN(bad_arguments_are_refused);
	RUN(free_means_small_scratch_and_keep);
	return test_end();
}

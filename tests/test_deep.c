/*  Models of several layers: the bound and its gradient, natural steps, the start, predictors and
    files. tests/oracle/deep_*.txt hold values from elsewhere. */
#define ODVGP_USE_PTHREADS
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"

/*  Layers of these widths (the inputs' first), all of one member, with two samples. */
typedef struct member {
	const char *name;
	odvgp_mean_part mean;
	odvgp_cov_part cov;
} member;
static const member members[] = {{"COUPLED", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE},
		{"ORTH", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE},
		{"SOLVE-GP", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS}};
enum { MEMBERS = sizeof members / sizeof *members };

/*  ODVGP_TEST_POOL's, for all stacks that do not choose one. */
static odvgp_threads pool_hook;

static odvgp_config stack(ptrdiff_t N, const ptrdiff_t *width, int layers, const member *of)
{
	odvgp_config c = random_config(N, width[0], width[layers], 4, 3);
	c.layers = layers;
	c.threads = pool_hook;
	c.optim.gamma_batch = 0;
	c.deep.samples = 2;
	for (int l = 0; l < layers; l++) {
		c.layer[l] = c.layer[0];
		c.layer[l].D = width[l];
		c.layer[l].P = width[l + 1];
		c.layer[l].mean_part = of->mean;
		c.layer[l].cov_part = of->cov;
		c.layer[l].kernel = l % 2 ? "matern52(0.9) + linear" : "rbf(ard)";
		c.layer[l].mean_function = l + 1 == layers            ? ODVGP_MEAN_FUNCTION_ZERO
								   : width[l] == width[l + 1] ? ODVGP_MEAN_FUNCTION_IDENTITY
															  : ODVGP_MEAN_FUNCTION_PROJECTION;
	}
	return c;
}
/*  A model with data, and random values in all slots. */
static fixture make_stack(const odvgp_config *c)
{
	fixture a;
	memset(&a, 0, sizeof a);
	make_block(&a, c);
	a.P = c->layer[c->layers - 1].P;
	make_data(&a, c->N, c->layer[0].D, a.P, 1.5, 0.2);
	if (c->lik.kind == ODVGP_LIKELIHOOD_GAUSSIAN) randomise_slots(&a);
	return a;
}
/*  A model that odvgp_init_data starts. */
static fixture start_stack(const odvgp_config *c)
{
	odvgp_info info = no_info();
	fixture a;
	memset(&a, 0, sizeof a);
	make_block(&a, c);
	a.P = c->layer[c->layers - 1].P;
	make_data(&a, c->N, c->layer[0].D, a.P, 1.5, 0.1);
	CHECK_SAY(odvgp_init_data(a.m, a.X, a.Y, NULL, &info) == ODVGP_OK, "init_data: %s", info.text);
	return a;
}

/* ---- one layer, and layers that do nothing ---- */

/*  With layers = 1 the rest of the config has no effect, names have no prefix, and training has
    the bits of a config that never mentions layers. */
TEST(one_layer_is_the_shallow_model)
{
	odvgp_config c = config(60, 2, 1, 6, 5), d = c;
	odvgp_real *x, *y;
	int i;
	fixture a, b;
	d.deep.samples = 5;
	d.deep.fixed_samples = 1;
	d.layer[1].D = -7;
	d.layer[1].kernel = "nonsense";
	test_seed = 1;
	a = make(&c);
	test_seed = 1;
	b = make(&d);
	for (i = 0; i < 20; i++) {
		CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
	}
	x = all_values(a.m), y = all_values(b.m);
	CHECK_BITS(x, y, (size_t)odvgp_param_count(a.m) * sizeof *x);
	CHECK(slot(&a, "Z_beta") && !slot(&a, "layer0.Z_beta"));
	CHECK_INT(odvgp_model_config(a.m)->layers, 1);
	free(x), free(y), drop(&a), drop(&b);
}
/*  A first layer with an identity mean, hardly any variance and q at the prior changes nothing:
    bound, gradient and predictions are those of the second layer alone. */
TEST(a_layer_that_does_nothing)
{
	enum { N = 20, T = 5 };
	static const ptrdiff_t width[] = {2, 2, 1}, shallow[] = {2, 1};
	int k, s;
	for (k = 0; k < MEMBERS; k++) {
		odvgp_config c = stack(N, width, 2, &members[k]), d = stack(N, shallow, 1, &members[k]);
		odvgp_real *g, *h, mean[2 * T], var[2 * T], other[2 * T], other_var[2 * T];
		double e, f, kl, kl2;
		fixture a, b;
		c.jitter.absolute = d.jitter.absolute = 0;
		c.jitter.relative = d.jitter.relative = (odvgp_real)1e-4;
		d.layer[0].kernel = c.layer[1].kernel;
		c.layer[0].kernel = "rbf(1, variance=1e-20)";
		c.deep.q_init = ODVGP_HIDDEN_Q_PRIOR;
		test_seed = 5;
		b = make_stack(&d);
		memset(&a, 0, sizeof a);
		make_block(&a, &c);
		a.X = b.X, a.Y = b.Y;
		{
			const odvgp_slot *Z = slot(&a, "layer0.Z_beta"), *Zg = slot(&a, "layer0.Z_gamma");
			assign(&a, "layer0.Z_beta", b.X);
			if (Zg) assign(&a, "layer0.Z_gamma", b.X + Z->count);
		}
		for (s = 0; s < odvgp_slot_count(b.m); s++) {
			const odvgp_slot *t = odvgp_slot_at(b.m, s);
			char name[60];
			odvgp_real *v = values(&b, t->name);
			snprintf(name, sizeof name, "layer1.%s", t->name);
			assign(&a, slot(&a, t->name) ? t->name : name, v);
			free(v);
		}
		g = NEW(odvgp_real, odvgp_param_count(a.m));
		h = NEW(odvgp_real, odvgp_param_count(b.m));
		e = elbo_of(&a, &kl, g);
		f = elbo_of(&b, &kl2, h);
		CHECK_NEAR(e, f, BY_PRECISION(1e-8, 1e-4) * fabs(f));
		CHECK_NEAR(kl, kl2, BY_PRECISION(1e-8, 1e-4) * fabs(kl2));
		for (s = 0; s < odvgp_slot_count(b.m); s++) {
			const odvgp_slot *t = odvgp_slot_at(b.m, s), *u;
			char name[60];
			snprintf(name, sizeof name, "layer1.%s", t->name);
			u = slot(&a, t->name) ? slot(&a, t->name) : slot(&a, name);
			CHECK_SAY(test_max_diff(g + u->offset, h + t->offset, t->count) <=
							  BY_PRECISION(1e-8, 1e-3) *
									  (1 + test_max_abs(h, odvgp_param_count(b.m))),
					"%s: gradient of %s", members[k].name, t->name);
		}
		predict(&a, b.X, T, mean, var, NULL);
		predict(&b, b.X, T, other, other_var, NULL);
		CHECK(test_max_diff(mean, other, T) <= BY_PRECISION(1e-8, 1e-4));
		CHECK(test_max_diff(var, other_var, T) <= BY_PRECISION(1e-8, 1e-4));
		free(g), free(h), free(a.block), drop(&b);
	}
}

/* ---- gradients ---- */

/*  Every slot's gradient, of two and three layers of each member and of widths that grow and
    shrink, is that of differences. */
TEST(gradients_of_stacks)
{
	static const ptrdiff_t two[] = {2, 2, 1}, wider[] = {1, 3, 2}, three[] = {2, 2, 1, 1};
	static const struct {
		const ptrdiff_t *width;
		int layers;
	} shapes[] = {{two, 2}, {wider, 2}, {three, 3}};
	int k, i;
	for (k = 0; k < MEMBERS; k++)
		for (i = 0; i < 3; i++) {
			odvgp_config c = stack(7, shapes[i].width, shapes[i].layers, &members[k]);
			char where[60];
			c.tile = 4;
			c.layer[1].parametrisation =
					i == 0 ? ODVGP_PARAMETRISATION_PRIMAL : ODVGP_PARAMETRISATION_WHITENED;
			/* Of linear means, too. */
			if (i == 2) c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
			test_seed = (uint64_t)(10 + 3 * k + i);
			fixture a = make_stack(&c);
			snprintf(where, sizeof where, "%s, shape %d", members[k].name, i);
			check_gradient(&a, NULL, 0, BY_PRECISION(1e-8, 2e-2), 1, where);
			drop(&a);
		}
}
/*  The statistics of natural steps are those that the gradients of q imply, in each layer:
    dloss/dq_mu = q_mu - A g_m, dloss/dq_sqrt = q_sqrt - 1 / diag - 2 A diag(g_v) A^T q_sqrt. They
    do not need the gradient of any other slot. */
TEST(statistics_of_each_layer)
{
	static const ptrdiff_t width[] = {2, 3, 2, 1};
	int k, l, b;
	for (k = 0; k < MEMBERS; k += 2) {
		odvgp_config c = stack(9, width, 3, &members[k]);
		gp__rows rows;
		gp__wants_list only = {0, 1, 0, GP__GIVES_BOUND};
		odvgp_real *g, e, kl;
		c.tile = 4;
		c.optim.natgrad = 1;
		test_seed = 40;
		fixture a = make_stack(&c);
		g = NEW(odvgp_real, odvgp_param_count(a.m));
		elbo_of(&a, NULL, g);
		rows = gp__rows_plain(a.X, a.Y, a.N);
		CHECK_STATUS(gp__evaluate(a.m, &rows, only, &e, &kl, NULL), ODVGP_OK);
		for (l = 0; l < 3; l++)
			for (b = 0; b < GP__BLOCKS; b++) {
				const gp__block *block = &a.m->unit[l].block[b];
				ptrdiff_t M = block->M, P = a.m->unit[l].P, p, i, j, q;
				if (!block->stats.id) continue;
				const gp__node *stats = &a.m->tape.node[block->stats.id];
				const odvgp_real *mu = a.m->tape.node[block->mu.id].v,
								 *Q = a.m->tape.node[block->sqrt.id].v,
								 *dmu = g + a.m->par.slot[block->slot_mu].offset,
								 *dQ = g + a.m->par.slot[block->slot_sqrt].offset;
				double most = 1 + test_max_abs(dmu, P * M) + test_max_abs(dQ, P * M * M);
				for (i = 0; i < P * M; i++)
					CHECK_NEAR(stats->v[i], mu[i] - dmu[i], 1e4 * EPS * most);
				for (p = 0; p < P; p++)
					for (i = 0; i < M; i++)
						for (j = 0; j <= i; j++) {
							const odvgp_real *G = stats->aux + p * M * M, *q_ = Q + p * M * M;
							double want = (double)q_[i * M + j];
							if (i == j) want -= 1 / want;
							for (q = j; q < M; q++)
								want -= 2 * (double)G[(q > i ? q * M + i : i * M + q)] *
										(double)q_[q * M + j];
							CHECK_NEAR(dQ[(p * M + i) * M + j], want, 1e4 * EPS * most);
						}
			}
		free(g), drop(&a);
	}
}

/* ---- normals ---- */

/*  Two looks see the same normals; the next step sees others, unless they are fixed. */
TEST(normals_stay_until_the_next_step)
{
	static const ptrdiff_t width[] = {2, 2, 1};
	int fixed;
	for (fixed = 0; fixed < 2; fixed++) {
		odvgp_config c = stack(30, width, 2, &members[0]);
		c.deep.fixed_samples = fixed;
		c.deep.q_init = ODVGP_HIDDEN_Q_PRIOR;
		c.optim.natgrad = 0;
		test_seed = 3;
		fixture a = start_stack(&c);
		double before = elbo_of(&a, NULL, NULL);
		CHECK(elbo_of(&a, NULL, NULL) == before);
		/* A step that moves nothing. */
		CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		CHECK((elbo_of(&a, NULL, NULL) == before) == fixed);
		drop(&a);
	}
}
/*  Threads do not change bits; tiles and shards change the order of sums, but no normal. */
TEST(threads_and_tiles)
{
	static const ptrdiff_t width[] = {2, 3, 1};
	odvgp_real *want = NULL;
	double bound = 0;
	int k, i;
	for (k = 0; k < 5; k++) {
		odvgp_config c = stack(50, width, 2, &members[2]);
		c.deep.samples = 3;
		c.optim.batch = 20;
		c.tile = k == 3 ? 7 : k == 4 ? 20 : 50;
		c.shards = k == 3 ? 4 : 1;
		if (k == 1 || k == 2) {
			c.threads.run = run_mixed;
			c.threads.count = k == 1 ? 3 : 7;
		}
		test_seed = 4;
		fixture a = start_stack(&c);
		double now = elbo_of(&a, NULL, NULL);
		if (k == 0) bound = now;
		CHECK_NEAR(now, bound, 1e3 * EPS * fabs(bound));
		for (i = 0; i < 5; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		odvgp_real *got = all_values(a.m);
		if (k == 0) want = got;
		else {
			if (k < 3) CHECK_BITS(got, want, (size_t)odvgp_param_count(a.m) * sizeof *got);
			CHECK(test_max_diff(got, want, odvgp_param_count(a.m)) <=
					BY_PRECISION(1e-7, 1e-2) * test_max_abs(want, odvgp_param_count(a.m)));
			free(got);
		}
		drop(&a);
	}
	free(want);
}

/*  Each sample of a row has the row's weight: weights of 2 double the expected log likelihood. */
TEST(weights_of_rows)
{
	enum { N = 11 };
	static const ptrdiff_t width[] = {2, 2, 1};
	odvgp_config c = stack(N, width, 2, &members[1]);
	odvgp_real Y[2 * N], e = 0, kl = 0;
	double expected[2];
	int k, i;
	c.tile = 4;
	for (k = 0; k < 2; k++) {
		c.lik.weights = k;
		test_seed = 17;
		fixture a = make_stack(&c);
		for (i = 0; i < N; i++) {
			Y[(1 + k) * i] = a.Y[i];
			if (k) Y[2 * i + 1] = 2;
		}
		CHECK_STATUS(odvgp_elbo(a.m, a.X, Y, N, &e, &kl, NULL, NULL), ODVGP_OK);
		expected[k] = (double)e + (double)kl;
		drop(&a);
	}
	CHECK_NEAR(expected[1], 2 * expected[0], 1e3 * EPS * fabs(expected[0]));
}

/* ---- training ---- */

/*  With the same normals in each step, steps of q of all layers never lower the bound, whatever
    the likelihood, and with all that Adam moves as well it ends higher. */
TEST(natural_steps_raise_the_bound)
{
	static const ptrdiff_t width[] = {2, 2, 1}, classes[] = {2, 2, 3};
	int k, robust, i;
	for (k = 0; k < MEMBERS; k++)
		for (robust = 0; robust < 2; robust++) {
			odvgp_config c = stack(40, robust ? classes : width, 2, &members[k]);
			odvgp_report r;
			double last = -HUGE_VAL, first = 0;
			if (robust) c.lik.kind = ODVGP_LIKELIHOOD_ROBUSTMAX;
			c.deep.fixed_samples = 1;
			c.optim.natgrad_step = odvgp_constant((odvgp_real)0.5);
			test_seed = 6;
			fixture a;
			memset(&a, 0, sizeof a);
			make_block(&a, &c);
			make_data(&a, c.N, 2, 1, 1.5, 0.1);
			for (i = 0; i < c.N && robust; i++)
				a.Y[i] = a.Y[i] > (odvgp_real)0.4 ? 2 : a.Y[i] > (odvgp_real)-0.4 ? 1 : 0;
			CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			for (i = 0; i < odvgp_slot_count(a.m); i++)
				if (!odvgp_slot_at(a.m, i)->natgrad)
					CHECK_STATUS(odvgp_set_trainable(a.m, odvgp_slot_at(a.m, i)->name, 0, NULL),
							ODVGP_OK);
			for (i = 0; i < 25; i++) {
				if (!CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK)) break;
				CHECK_SAY((double)r.elbo >= last - BY_PRECISION(1e-8, 1e-4) * fabs(last),
						"%s: %g after %g in step %d", members[k].name, (double)r.elbo, last, i);
				last = (double)r.elbo;
				if (!i) first = last;
			}
			CHECK_SAY(last > first + 1, "%s: %g, then %g", members[k].name, first, last);
			drop(&a);
		}
}
/*  Adam and natural steps on minibatches with other normals in each step. */
TEST(training)
{
	static const ptrdiff_t two[] = {2, 2, 1}, three[] = {2, 2, 2, 1};
	int k, i, natgrad, n = test_size(300, 150);
	for (k = 0; k < MEMBERS; k++)
		for (natgrad = 0; natgrad < 2; natgrad++) {
			odvgp_config c = stack(100, k ? two : three, k ? 2 : 3, &members[k]);
			c.optim.batch = 50;
			c.optim.natgrad = natgrad;
			c.deep.samples = 1;
			test_seed = 7;
			fixture a = start_stack(&c);
			double before = elbo_of(&a, NULL, NULL);
			for (i = 0; i < n; i++)
				if (!CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK)) break;
			CHECK_SAY(elbo_of(&a, NULL, NULL) > before + 20, "%s: %g, then %g", members[k].name,
					before, elbo_of(&a, NULL, NULL));
			drop(&a);
		}
}
/*  L-BFGS with fixed samples never lowers the bound; without them it is refused. */
TEST(lbfgs_needs_fixed_samples)
{
	static const ptrdiff_t width[] = {2, 2, 1};
	odvgp_config c = stack(30, width, 2, &members[0]);
	odvgp_report r;
	size_t bytes;
	double last = -HUGE_VAL;
	int i;
	c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
	c.optim.natgrad = 0;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_UNSUPPORTED);
	c.deep.fixed_samples = 1;
	test_seed = 8;
	fixture a = start_stack(&c);
	for (i = 0; i < 15; i++) {
		CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
		CHECK((double)r.elbo >= last);
		last = (double)r.elbo;
	}
	CHECK(elbo_of(&a, NULL, NULL) > last);
	drop(&a);
}

/* ---- the start ---- */

/*  Inducing inputs of all layers are the data's, through identity means; q of hidden layers is
    narrow or the prior. */
TEST(start_with_identity_means)
{
	static const ptrdiff_t width[] = {2, 2, 2, 1};
	int prior, l;
	for (prior = 0; prior < 2; prior++) {
		odvgp_config c = stack(30, width, 3, &members[1]);
		c.deep.q_init = prior ? ODVGP_HIDDEN_Q_PRIOR : ODVGP_HIDDEN_Q_NARROW;
		c.layer[1].kernel = c.layer[0].kernel; /* distances are in its lengthscales */
		test_seed = 9;
		fixture a = start_stack(&c);
		odvgp_real *Z = values(&a, "layer0.Z_beta"), *Zg = values(&a, "layer0.Z_gamma");
		for (l = 1; l < 3; l++) {
			odvgp_real *own = values(&a, l == 1 ? "layer1.Z_beta" : "layer2.Z_beta"),
					   *own_g = values(&a, l == 1 ? "layer1.Z_gamma" : "layer2.Z_gamma");
			CHECK_BITS(own, Z, 8 * sizeof *Z);
			CHECK_BITS(own_g, Zg, 6 * sizeof *Z);
			free(own), free(own_g);
		}
		odvgp_real *q = values(&a, "layer1.q_sqrt"), *last = values(&a, "layer2.q_sqrt");
		CHECK(q[0] == (prior ? 1 : (odvgp_real)1e-3) && q[4] == 0 && last[0] == 1);
		free(q), free(last), free(Z), free(Zg), drop(&a);
	}
}
/*  The axes of a projection are orthonormal in scaled inputs, and hold the columns that vary
    together; a projection to more outputs is the identity. */
TEST(start_with_projections)
{
	static const ptrdiff_t narrow[] = {4, 2, 1}, wide_[] = {2, 3, 1};
	odvgp_config c = stack(200, narrow, 2, &members[0]), d = stack(30, wide_, 2, &members[0]);
	odvgp_real mean[4], sd[4], *A;
	ptrdiff_t i, p, q, k;
	fixture a, b;
	memset(&a, 0, sizeof a);
	make_block(&a, &c);
	test_seed = 11;
	make_data(&a, 200, 4, 1, 1, 0.1);
	/* Columns 1 to 3 follow one number, in other units. */
	for (i = 0; i < 200; i++)
		for (k = 1; k < 4; k++)
			a.X[4 * i + k] = (odvgp_real)(pow(10, (double)k) *
										  ((double)a.X[4 * i + 3] + 0.1 * test_normal() + 5));
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	odvgp_column_scales(a.X, 200, 4, mean, sd, NULL);
	A = values(&a, "layer0.mean.A");
	CHECK(!slot(&a, "layer0.mean.A")->trainable);
	for (p = 0; p < 2; p++)
		for (q = 0; q < 2; q++) {
			double dot = 0;
			for (k = 0; k < 4; k++)
				dot += (double)(A[2 * k + p] * sd[k]) * (double)(A[2 * k + q] * sd[k]);
			CHECK_NEAR(dot, p == q, 1e3 * EPS);
		}
	/* The first axis is the common number, the second is column 0. */
	for (k = 1; k < 4; k++) CHECK_NEAR(fabs((double)(A[2 * k] * sd[k])), sqrt(1.0 / 3), 0.02);
	CHECK_NEAR(fabs((double)(A[1] * sd[0])), 1, 0.02);
	free(A), drop(&a);
	b = start_stack(&d);
	A = values(&b, "layer0.mean.A");
	for (i = 0; i < 6; i++) CHECK(A[i] == (i % 3 == i / 3));
	free(A), drop(&b);
}
/*  Training in other units of inputs and targets takes the same steps. */
TEST(units_do_not_matter)
{
	static const ptrdiff_t width[] = {3, 2, 1};
	odvgp_config c = stack(60, width, 2, &members[1]);
	odvgp_real *x, *y;
	int i, k;
	double e[2];
	c.jitter.absolute = 0;
	c.jitter.relative = (odvgp_real)1e-4;
	c.layer[0].kernel = c.layer[1].kernel = "rbf";
	for (k = 0; k < 2; k++) {
		fixture a;
		memset(&a, 0, sizeof a);
		make_block(&a, &c);
		test_seed = 12;
		make_data(&a, 60, 3, 1, 1, 0.1);
		for (i = 0; i < 60 * 3 && k; i++) a.X[i] *= 1024;
		for (i = 0; i < 60 && k; i++) a.Y[i] *= 256;
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		for (i = 0; i < 20; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		e[k] = elbo_of(&a, NULL, NULL) + 60 * k * log(256.0);
		x = values(&a, "layer1.Z_beta");
		if (k) CHECK(test_max_diff(x, y, 8) <= BY_PRECISION(1e-6, 1e-2) * test_max_abs(y, 8));
		else y = x;
		if (k) free(x);
		drop(&a);
	}
	free(y);
	CHECK_NEAR(e[0], e[1], BY_PRECISION(1e-6, 1e-2) * fabs(e[0]));
}

/* ---- predictors ---- */

/*  Mixture moments, log densities and class probabilities of a stack are those of samples taken
    layer by layer, with the normals that the predictor describes. */
TEST(predictions_are_mixtures)
{
	enum { N = 12, T = 7, S = 6 };
	static const ptrdiff_t width[] = {2, 3, 2, 1}, classes[] = {2, 3, 2, 3};
	int robust;
	for (robust = 0; robust < 2; robust++) {
		odvgp_config c = stack(N, robust ? classes : width, 3, &members[robust ? 2 : 1]);
		ptrdiff_t F = robust ? 3 : 1, i, p, s, l;
		odvgp_real got[6][3 * T], Y[T], scale[2] = {2, (odvgp_real)0.5}, shift[2] = {1, -1},
										yscale = 3, yshift = 2;
		odvgp_scales sc = {shift, scale, robust ? NULL : &yshift, robust ? NULL : &yscale};
		double m[3 * T] = {0}, v[3 * T] = {0}, my[3 * T] = {0}, vy[3 * T] = {0}, lp[T] = {0};
		fixture a, layer[3];
		odvgp_server server[4];
		void *block[4], *scratch[4];
		size_t need[4];
		c.seed = 1234567890123456789u;
		c.deep.predict_samples = S;
		if (robust) c.lik.kind = ODVGP_LIKELIHOOD_ROBUSTMAX;
		test_seed = 13;
		memset(&a, 0, sizeof a);
		make_block(&a, &c);
		make_data(&a, N, 2, 1, 1, 0.1);
		for (int k = 0; k < odvgp_slot_count(a.m); k++) { /* as randomise_slots */
			const odvgp_slot *t = odvgp_slot_at(a.m, k);
			odvgp_real *x = NEW(odvgp_real, t->count);
			for (i = 0; i < t->count; i++)
				x[i] = (odvgp_real)(t->positive             ? test_between(0.6, 1.4)
									: strstr(t->name, "Z_") ? test_between(-2, 2)
									: t->lower && i % t->shape[2] == i / t->shape[2] % t->shape[1]
											? 0.7
											: test_between(-0.5, 0.5));
			if (strcmp(t->name, "epsilon")) assign(&a, t->name, x);
			free(x);
		}
		for (i = 0; i < T; i++) Y[i] = robust ? (odvgp_real)(i % 3) : (odvgp_real)(2 + i % 4);
		for (l = 0; l < 4; l++) {
			odvgp_model *of;
			if (l) layer[l - 1] = layer_alone(&a, &c, (int)l - 1, c.layer[l - 1].D);
			of = l ? layer[l - 1].m : a.m;
			size_t bytes = odvgp_predictor_size(of, NULL);
			odvgp_scales own = {l <= 1 ? shift : NULL, l <= 1 ? scale : NULL,
					(l == 0 || l == 3) && !robust ? &yshift : NULL,
					(l == 0 || l == 3) && !robust ? &yscale : NULL};
			block[l] = test_alloc(bytes);
			CHECK_STATUS(serve(of, l ? &own : &sc, block[l], bytes, &server[l], NULL), ODVGP_OK);
			need[l] = odvgp_predict_scratch(&server[l], 4, NULL);
			scratch[l] = test_alloc(need[l]);
		}
		CHECK_INT(server[0].D, 2);
		CHECK_INT(server[0].P, F);
		CHECK_INT(server[0].y_rows, F);
		for (s = 0; s < S; s++) {
			odvgp_real x[3 * T], mean[3 * T], var[3 * T], ymean[3 * T], yvar[3 * T], logp[T];
			memcpy(x, a.X, 2 * T * sizeof *x);
			for (l = 1; l < 3; l++) {
				ptrdiff_t P = server[l].P;
				CHECK_STATUS(odvgp_predict(&server[l], x, T, mean, var, scratch[l], need[l], NULL),
						ODVGP_OK);
				for (p = 0; p < P; p++) {
					double z = gp__normal(c.seed, (uint64_t)(4 - l), (uint64_t)(s / 2 * P + p));
					for (i = 0; i < T; i++)
						x[i * P + p] =
								(odvgp_real)((double)mean[p * T + i] +
											 sqrt((double)var[p * T + i]) * (s % 2 ? -z : z));
				}
			}
			CHECK_STATUS(odvgp_predict(&server[3], x, T, mean, var, scratch[3], need[3], NULL),
					ODVGP_OK);
			CHECK_STATUS(odvgp_predict_y(&server[3], x, T, ymean, yvar, scratch[3], need[3], NULL),
					ODVGP_OK);
			CHECK_STATUS(odvgp_predict_logp(&server[3], x, Y, T, logp, scratch[3], need[3], NULL),
					ODVGP_OK);
			for (i = 0; i < F * T; i++) {
				m[i] += (double)mean[i] / S;
				v[i] += ((double)var[i] + (double)mean[i] * (double)mean[i]) / S;
				my[i] += (double)ymean[i] / S;
				vy[i] += ((double)yvar[i] + (double)ymean[i] * (double)ymean[i]) / S;
			}
			for (i = 0; i < T; i++) lp[i] += exp((double)logp[i]) / S;
		}
		CHECK_STATUS(odvgp_predict(&server[0], a.X, T, got[0], got[1], scratch[0], need[0], NULL),
				ODVGP_OK);
		CHECK_STATUS(odvgp_predict_y(&server[0], a.X, T, NULL, got[2], scratch[0], need[0], NULL),
				ODVGP_OK);
		CHECK_STATUS(odvgp_predict_y(&server[0], a.X, T, got[3], got[2], scratch[0], need[0], NULL),
				ODVGP_OK);
		CHECK_STATUS(odvgp_predict_logp(&server[0], a.X, Y, T, got[4], scratch[0], need[0], NULL),
				ODVGP_OK);
		for (i = 0; i < F * T; i++) {
			double near = BY_PRECISION(1e-10, 2e-3);
			CHECK_NEAR(got[0][i], m[i], near * (1 + fabs(m[i])));
			CHECK_NEAR(got[1][i], v[i] - m[i] * m[i], near * (1 + v[i]));
			CHECK_NEAR(got[3][i], my[i], near * (1 + fabs(my[i])));
			CHECK_NEAR(got[2][i], vy[i] - my[i] * my[i], near * (1 + vy[i]));
			if (i < T) CHECK_NEAR(got[4][i], log(lp[i]), near * (1 + fabs(log(lp[i]))));
		}
		/* Variances alone, one row at a time, and less scratch give the same. */
		for (i = 0; i < T; i++) {
			odvgp_real var[3];
			CHECK_STATUS(odvgp_predict(&server[0], a.X + 2 * i, 1, NULL, var, scratch[0],
								 odvgp_predict_scratch(&server[0], 1, NULL), NULL),
					ODVGP_OK);
			CHECK_NEAR(var[0], got[1][i], 1e4 * EPS * (1 + (double)got[1][i]));
		}
		CHECK_STATUS(odvgp_predict(&server[0], a.X, 1, got[5], NULL, scratch[0],
							 odvgp_predict_scratch(&server[0], 1, NULL) - 1, NULL),
				ODVGP_E_MEMORY);
		CHECK_STATUS(odvgp_predict_cov(&server[0], a.X, 1, NULL, got[5], scratch[0], need[0], NULL),
				ODVGP_E_UNSUPPORTED);
		for (l = 0; l < 4; l++) {
			free(block[l]), free(scratch[l]);
			if (l) free(layer[l - 1].block);
		}
		drop(&a);
	}
}
/*  Memory for predictions does not depend on the number of samples. Joint samples have the
    mixture's mean and variance, and depend on their number and the seed only. */
TEST(memory_and_joint_samples)
{
	enum { T = 3, S = 4000 };
	static const ptrdiff_t width[] = {2, 2, 1};
	odvgp_config c = stack(20, width, 2, &members[2]);
	size_t need[2];
	odvgp_real *f = NEW(odvgp_real, S * T), *g = NEW(odvgp_real, T), mean[T], var[T];
	int k;
	ptrdiff_t i, s;
	for (k = 0; k < 2; k++) {
		odvgp_server server;
		void *block, *scratch;
		size_t bytes;
		c.deep.predict_samples = k ? 10000 : 2;
		test_seed = 14;
		fixture a = make_stack(&c);
		bytes = odvgp_predictor_size(a.m, NULL);
		block = test_alloc(bytes);
		CHECK_STATUS(serve(a.m, NULL, block, bytes, &server, NULL), ODVGP_OK);
		need[k] = odvgp_predict_scratch(&server, 100, NULL);
		if (k) {
			size_t own = odvgp_sample_scratch(&server, T, NULL);
			scratch = test_alloc(own > need[k] ? own : need[k]);
			CHECK_STATUS(odvgp_sample(&server, a.X, T, &(odvgp_draws){S, 5}, f, scratch, own, NULL),
					ODVGP_OK);
			CHECK_STATUS(
					odvgp_sample(&server, a.X, T, &(odvgp_draws){S, 5}, f, scratch, own - 1, NULL),
					ODVGP_E_MEMORY);
			CHECK_STATUS(
					odvgp_predict(&server, a.X, T, mean, var, scratch, need[k], NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_sample(&server, a.X, T, &(odvgp_draws){1, 5}, g, scratch, own, NULL),
					ODVGP_OK);
			CHECK_BITS(f, g, T * sizeof *g);
			for (i = 0; i < T; i++) {
				double m = 0, v = 0;
				for (s = 0; s < S; s++) m += (double)f[s * T + i] / S;
				for (s = 0; s < S; s++) v += pow((double)f[s * T + i] - m, 2) / S;
				CHECK_NEAR(m, mean[i], 5 * sqrt((double)var[i] / S) + 0.02);
				CHECK_NEAR(v, var[i], 0.15 * (double)var[i]);
			}
			free(scratch);
		}
		free(block), drop(&a);
	}
	CHECK(need[0] == need[1] && need[0] > 0);
	free(f), free(g);
}

/* ---- files ---- */

/*  A loaded model predicts and continues training bit for bit; a server reads the file, too. */
TEST(files_of_stacks)
{
	enum { T = 5 };
	static const ptrdiff_t width[] = {2, 3, 2, 1};
	int k, i;
	for (k = 0; k < MEMBERS; k++) {
		odvgp_config c = stack(40, width, 3, &members[k]);
		odvgp_real one[2][T], two[2][T], *x, *y;
		odvgp_server server;
		void *block, *scratch;
		unsigned char *file;
		size_t bytes, need;
		c.optim.batch = 20;
		test_seed = 15;
		fixture a = start_stack(&c), b;
		for (i = 0; i < 5; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		predict(&a, a.X, T, one[0], one[1], NULL);
		b = load_again(&a);
		predict(&b, a.X, T, two[0], two[1], NULL);
		CHECK_BITS(one, two, sizeof one);
		file = save_file(a.m, NULL, "user", &bytes);
		CHECK_STATUS(sized(&need, odvgp_server_size(file, bytes, NULL), NULL), ODVGP_OK);
		CHECK(need == odvgp_predictor_size(a.m, NULL));
		block = test_alloc(need);
		CHECK_STATUS(odvgp_server_from_memory(&server, file, bytes, test_isa(), block, need, NULL),
				ODVGP_OK);
		need = odvgp_predict_scratch(&server, T, NULL);
		scratch = test_alloc(need);
		CHECK_STATUS(odvgp_predict(&server, a.X, T, two[0], two[1], scratch, need, NULL), ODVGP_OK);
		CHECK_BITS(one, two, sizeof one);
		for (i = 0; i < 5; i++) {
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(b.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		}
		x = all_values(a.m), y = all_values(b.m);
		CHECK_BITS(x, y, (size_t)odvgp_param_count(a.m) * sizeof *x);
		free(x), free(y), free(block), free(scratch), free(file), free(b.block), drop(&a);
	}
}
/*  Files and blocks with wrong layers and a right checksum are refused, or give finite results:
    no word of the config, the table of units or the predictors' heads leads further. */
TEST(forged_stacks_are_refused)
{
	static const ptrdiff_t width[] = {2, 2, 1};
	static const unsigned char forged[] = {0, 1, 3, 200, 255};
	odvgp_config c = stack(12, width, 2, &members[2]);
	gp__file f;
	gp__file_head h;
	odvgp_info info = no_info();
	unsigned char *file, *block;
	odvgp_server server;
	const size_t turns = (size_t)test_size(1, 2);
	size_t bytes, i, k, from, need;
	int refused = 0, tried = 0;
	test_seed = 16;
	fixture a = start_stack(&c), b = a;
	file = save_file(a.m, NULL, "", &bytes);
	CHECK_STATUS(gp__file_open(&f, file, bytes, &h, &info), ODVGP_OK);
	from = (size_t)(GP__FILE_HEAD + h.state_bytes);
	for (i = GP__FILE_HEAD; i < bytes - 8; i += 4) {
		/* the config and units; each predictor's head */
		if (i > GP__FILE_HEAD + 1200 && i < from) continue;
		if (i > from + 2000) break;
		/* all numbers in each place, or those that are even and odd by turns */
		for (k = turns > 1 ? i / 4 % turns : 0; k < sizeof forged; k += turns) {
			unsigned char keep = file[i];
			uint64_t sum;
			int j;
			odvgp_status s;
			if (keep == forged[k]) continue;
			file[i] = forged[k];
			sum = gp__checksum(file, bytes - 8);
			for (j = 0; j < 8; j++) file[bytes - 8 + (size_t)j] = (unsigned char)(sum >> (8 * j));
			s = load_file(file, bytes, &b);
			free(b.block);
			tried++;
			refused += s != ODVGP_OK;
			if (i == GP__FILE_HEAD) CHECK_SAY(s != ODVGP_OK, "%d layers", forged[k]);
			if (i >= from && sized(&need, odvgp_server_size(file, bytes, NULL), NULL) == ODVGP_OK) {
				block = NEW(unsigned char, need);
				odvgp_server_from_memory(&server, file, bytes, test_isa(), block, need, NULL);
				free(block);
			}
			file[i] = keep;
		}
	}
	CHECK(refused > tried / 4);
	/* A block whose second layer is cut off, is another's, or does not fit. */
	need = odvgp_predictor_size(a.m, NULL);
	block = NEW(unsigned char, need);
	CHECK_STATUS(odvgp_freeze(a.m, NULL, block, need, NULL), ODVGP_OK);
	CHECK_STATUS(
			odvgp_server_from_block(&server, block, need - 8, test_isa(), NULL), ODVGP_E_FORMAT);
	{
		gp__predictor *p = (gp__predictor *)(void *)block,
					  *above = (gp__predictor *)(uintptr_t)gp__predictor_above(p);
		CHECK(above->layers == 1 && above->D == p->P);
		p->layers = 3;
		gp__predictor_sum(p, p->checksum);
		REFUSED(odvgp_server_from_block(&server, block, need, test_isa(), &info), ODVGP_E_FORMAT);
		p->layers = 2;
		p->samples = 7;
		gp__predictor_sum(p, p->checksum);
		REFUSED(odvgp_server_from_block(&server, block, need, test_isa(), &info), ODVGP_E_FORMAT);
		p->samples = 0;
		gp__predictor_sum(p, p->checksum);
		REFUSED(odvgp_server_from_block(&server, block, need, test_isa(), &info), ODVGP_E_FORMAT);
		p->samples = above->samples;
		gp__predictor_sum(p, p->checksum);
		CHECK_STATUS(odvgp_server_from_block(&server, block, need, test_isa(), NULL), ODVGP_OK);
		above->checksum[0]++;
		REFUSED(odvgp_server_from_block(&server, block, need, test_isa(), &info), ODVGP_E_FORMAT);
	}
	free(block), free(file), drop(&a);
}

/* ---- refusals ---- */

TEST(what_does_not_chain_is_refused)
{
	static const ptrdiff_t width[] = {2, 3, 1};
	odvgp_config good = stack(20, width, 2, &members[0]), c = good;
	odvgp_info i = no_info();
	odvgp_real e;
	size_t bytes;
	fixture a;
	c.layer[1].D = 2;
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, &i), &i), ODVGP_E_ARG);
	CHECK_SAY(!strcmp(i.text, "D: of a layer must be the P of the layer below, times its patches "
							  "with image_output (at 1, value 2)"),
			"%s", i.text);
	/* 0 is the width of the layer below. */
	c.layer[1].D = 0;
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, &i), &i), ODVGP_OK);
	c = good;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_ARG);
	c = good;
	c.layer[1].M = 0;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
	c = good;
	c.layers = ODVGP_MAX_LAYERS + 1;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
	c.layers = 0;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
	c = good;
	c.layer[1].kernel = NULL;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_ARG);
	c.layer[1].kernel = "rbf(dims=3)";
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_KERNEL);
	c = good;
	c.objective = ODVGP_OBJECTIVE_COLLAPSED;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_UNSUPPORTED);
	c = good;
	c.layer[0].mean_part = ODVGP_MEAN_PART_FREE;
	c.layer[0].cov_part = ODVGP_COV_PART_INVERSE;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_UNSUPPORTED);
	c = good;
	c.deep.samples = PTRDIFF_MAX;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_ARG);
	c.deep.samples = 10000;
	c.N = (ptrdiff_t)1 << (sizeof(ptrdiff_t) > 4 ? 40 : 28);
	c.tile = c.N;
	c.layer[1].M = 1 << 20;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
	/* What only a model of one layer has. */
	a = start_stack(&good);
	REFUSED(odvgp_fit_q(a.m, a.X, a.Y, NULL, &e, sizeof e, &info), ODVGP_E_UNSUPPORTED);
	REFUSED(odvgp_upper_bound(a.m, a.X, a.Y, &e, NULL, &e, sizeof e, &info), ODVGP_E_UNSUPPORTED);
	REFUSED(odvgp_warm_start(a.m, a.X, a.Y, NULL, NULL, &e, sizeof e, &info), ODVGP_E_UNSUPPORTED);
	CHECK(odvgp_warm_start_scratch(a.m, NULL, NULL) == 0 && odvgp_fit_q_scratch(a.m, NULL) == 0);
	{
		ptrdiff_t column = 0;
		odvgp_report report;
		REFUSED(odvgp_elbo_columns(
						a.m, a.X, a.Y, a.N, &(odvgp_columns){&column, 1}, &report, NULL, &info),
				ODVGP_E_UNSUPPORTED);
	}
	drop(&a);
}

/* ---- patches and columns of Y behind the targets ---- */

/*  Inputs of layer l are images of 2 x 2 pixels with patches of height x width pixels. */
static void give_patches(odvgp_config *c, int l, ptrdiff_t height, ptrdiff_t width, int locations)
{
	c->layer[l].patches.image_height = c->layer[l].patches.image_width = 2;
	c->layer[l].patches.height = height;
	c->layer[l].patches.width = width;
	c->layer[l].patches.locations = locations;
}
/*  Gradients reach the pixels of hidden images. */
TEST(gradients_with_patches)
{
	static const ptrdiff_t width[] = {4, 4, 2};
	int k, i;
	for (k = 0; k < MEMBERS; k++)
		for (i = 1; i < 4; i++) { /* in the first layer, in the second, in both */
			odvgp_config c = stack(6, width, 2, &members[k]);
			char where[60];
			c.tile = 4;
			if (i & 1) give_patches(&c, 0, 1, 2, 0);
			if (i & 2) give_patches(&c, 1, 2, 1, 1);
			test_seed = (uint64_t)(70 + 4 * k + i);
			fixture a = make_stack(&c);
			snprintf(where, sizeof where, "%s, patches %d", members[k].name, i);
			check_gradient(&a, NULL, 0, BY_PRECISION(1e-8, 2e-2), 1, where);
			drop(&a);
		}
}
/*  Patches that cover the images, of weight 1, are the plain layers. */
TEST(patches_that_cover_the_images)
{
	static const ptrdiff_t width[] = {4, 4, 1};
	int k, i, q;
	for (k = 0; k < MEMBERS; k++) {
		odvgp_config c = stack(9, width, 2, &members[k]), d = c;
		odvgp_real mean[2][9], var[2][9];
		give_patches(&d, 0, 2, 2, 0);
		give_patches(&d, 1, 2, 2, 0);
		test_seed = 80;
		fixture a = make_stack(&c);
		test_seed = 80;
		fixture b = start_stack(&d);
		memcpy(b.Y, a.Y, 9 * sizeof *a.Y);
		memcpy(b.X, a.X, 36 * sizeof *a.X);
		for (q = 0; q < odvgp_slot_count(a.m); q++) {
			const odvgp_slot *from = odvgp_slot_at(a.m, q);
			odvgp_real *v = values(&a, from->name);
			assign(&b, from->name, v);
			free(v);
		}
		CHECK(slot(&b, "layer0.weights") && slot(&b, "layer1.weights"));
		double e = elbo_of(&a, NULL, NULL);
		CHECK_NEAR(elbo_of(&b, NULL, NULL), e, 1e4 * EPS * fabs(e));
		predict(&a, a.X, 9, mean[0], var[0], NULL);
		predict(&b, a.X, 9, mean[1], var[1], NULL);
		for (i = 0; i < 9; i++) {
			CHECK_NEAR(mean[1][i], mean[0][i], 1e4 * EPS * (1 + fabs((double)mean[0][i])));
			CHECK_NEAR(var[1][i], var[0][i], 1e4 * EPS * (1 + (double)var[0][i]));
		}
		drop(&a), drop(&b);
	}
}
/*  Y gets columns behind the targets: weights, then exposures or multiples of the noise. */
static void add_columns(fixture *a, ptrdiff_t T, int weights, int scale)
{
	ptrdiff_t C = T + weights + scale, i, t;
	odvgp_real *Y = NEW(odvgp_real, a->N * C);
	for (i = 0; i < a->N; i++) {
		for (t = 0; t < T; t++) Y[i * C + t] = a->Y[i * T + t];
		if (weights) Y[i * C + T] = (odvgp_real)(i % 3 ? 0.5 * (double)i : 0);
		if (scale) Y[i * C + C - 1] = (odvgp_real)(0.5 + 0.25 * (double)(i % 4));
	}
	free(a->Y);
	a->Y = Y;
}
/*  Gradients with weights, known noise and a noise for each output. The bound's expectation is
    linear in weights. */
TEST(weights_and_noise_of_stacks)
{
	static const ptrdiff_t width[] = {2, 3, 2};
	odvgp_config c = stack(7, width, 2, &members[1]);
	double kl, part[3];
	ptrdiff_t i, k;
	c.tile = 4;
	c.lik.weights = c.lik.known_noise = c.lik.noise_per_output = 1;
	test_seed = 90;
	fixture a = make_stack(&c);
	add_columns(&a, 2, 1, 1);
	CHECK_INT(slot(&a, "noise_variance")->count, 2);
	check_gradient(&a, NULL, 0, BY_PRECISION(1e-8, 2e-2), 1, "weights and noise");
	for (k = 0; k < 3; k++) {
		for (i = 0; i < a.N; i++)
			a.Y[i * 4 + 2] = (odvgp_real)((k != 1 ? (double)i : 0) + (k != 0 ? 1.5 : 0));
		part[k] = elbo_of(&a, &kl, NULL) + kl;
	}
	CHECK_NEAR(part[2], part[0] + part[1], 1e3 * EPS * (fabs(part[0]) + fabs(part[1])));
	CHECK(fabs(part[0]) > 1);
	drop(&a);
}
/*  An exposure e adds log e to f, in training and in densities. */
TEST(exposure_of_stacks)
{
	static const ptrdiff_t width[] = {2, 2, 1};
	odvgp_config c = stack(8, width, 2, &members[0]);
	odvgp_real y[8], with[16], logp[2][8], shift = (odvgp_real)log(3);
	double e[2];
	int k, i;
	c.lik.kind = ODVGP_LIKELIHOOD_POISSON;
	c.layer[1].mean_function = ODVGP_MEAN_FUNCTION_CONSTANT;
	for (k = 0; k < 2; k++) {
		odvgp_server server;
		c.lik.exposure = k;
		test_seed = 95;
		fixture a = make_stack(&c);
		for (i = 0; i < 8; i++) y[i] = with[2 * i] = (odvgp_real)(i % 4), with[2 * i + 1] = 3;
		if (!k) assign(&a, "layer1.mean.c", &shift);
		const odvgp_real *Y = k ? with : y;
		odvgp_real elbo = 0;
		CHECK_STATUS(odvgp_elbo(a.m, a.X, Y, 8, &elbo, NULL, NULL, NULL), ODVGP_OK);
		e[k] = (double)elbo;
		size_t bytes = odvgp_predictor_size(a.m, NULL), need;
		void *block = NEW(unsigned char, bytes), *scratch;
		CHECK_STATUS(serve(a.m, NULL, block, bytes, &server, NULL), ODVGP_OK);
		need = odvgp_predict_scratch(&server, 8, NULL);
		scratch = test_alloc(need);
		CHECK_STATUS(
				odvgp_predict_logp(&server, a.X, Y, 8, logp[k], scratch, need, NULL), ODVGP_OK);
		free(scratch), free(block), drop(&a);
	}
	CHECK_NEAR(e[1], e[0], 1e3 * EPS * fabs(e[0]));
	for (i = 0; i < 8; i++)
		CHECK_NEAR(logp[1][i], logp[0][i], 1e3 * EPS * (1 + fabs((double)logp[0][i])));
}
/*  odvgp_fit leaves out the warm start, which is on by default. Images start from patches that the
    layer sees, and a file keeps all of it. */
TEST(fit_of_a_stack)
{
	static const ptrdiff_t width[] = {4, 4, 1};
	odvgp_config c = stack(40, width, 2, &members[1]);
	odvgp_info info = no_info();
	odvgp_model *m, *back;
	c.layer[0].mean_part = ODVGP_MEAN_PART_ORTH;
	c.init.warm = 1;
	give_patches(&c, 0, 1, 2, 0);
	give_patches(&c, 1, 2, 1, 1);
	c.layer[1].kernel = "rbf(dims=0:2) * matern32(dims=2:4)";
	test_seed = 99;
	fixture a = make_stack(&c);
	CHECK_SAY(odvgp_model_create(&m, &c, a.X, a.Y, NULL, &info) == ODVGP_OK, "%s", info.text);
	const odvgp_real *sd = m->data_sd + m->unit[1].sd_at + 4 + 1;
	CHECK_INT(m->data_sds - m->unit[1].sd_at, 4 + 1 + 4);
	CHECK(sd[0] > 0 && (double)sd[0] != 1 && (double)sd[3] != 1);
	CHECK_SAY(odvgp_fit(m, a.X, a.Y, 5, NULL, &info) == ODVGP_OK, "%s", info.text);
	CHECK_INT(odvgp_steps_done(m), 5);
	size_t bytes = odvgp_save_size(m, 0, NULL), need;
	void *file = NEW(unsigned char, bytes), *block;
	CHECK_STATUS(odvgp_save_memory(m, NULL, NULL, 0, file, bytes, &info), ODVGP_OK);
	CHECK_STATUS(
			sized(&need, odvgp_load_size(file, bytes, NULL, test_isa(), &info), &info), ODVGP_OK);
	block = test_alloc(need);
	CHECK_STATUS(
			odvgp_load_memory(&back, file, bytes, NULL, test_isa(), block, need, &info), ODVGP_OK);
	CHECK_BITS(m->data_sd, back->data_sd, (size_t)m->data_sds * sizeof(odvgp_real));
	CHECK_STATUS(odvgp_fit(m, a.X, a.Y, 3, NULL, &info), ODVGP_OK);
	CHECK_STATUS(odvgp_fit(back, a.X, a.Y, 3, NULL, &info), ODVGP_OK);
	odvgp_real *x = all_values(m), *y = all_values(back);
	CHECK_BITS(x, y, (size_t)odvgp_param_count(m) * sizeof *x);
	free(x), free(y), free(block), free(file), odvgp_model_free(m), drop(&a);
}
/*  mean.A belongs to the inputs' rows, not to the patches that are candidates for Z. */
TEST(projections_of_images)
{
	static const ptrdiff_t width[] = {4, 2, 1};
	odvgp_real A[2][8];
	int k;
	for (k = 0; k < 2; k++) {
		odvgp_config c = stack(40, width, 2, &members[0]);
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_PROJECTION;
		if (k) give_patches(&c, 0, 1, 1, 0);
		test_seed = 101;
		fixture a = start_stack(&c);
		CHECK_STATUS(odvgp_get(a.m, "layer0.mean.A", A[k], 8, NULL), ODVGP_OK);
		drop(&a);
	}
	CHECK_BITS(A[1], A[0], sizeof A[0]);
}
/*  The default tile has at most 4096 inputs of a layer: many samples cost no more memory than a few
    rows' do. */
TEST(many_samples_take_few_rows_at_once)
{
	static const ptrdiff_t width[] = {2, 2, 1}, samples[] = {1, 16, 17, 1000, 10000},
						   tile[] = {256, 256, 240, 4, 1};
	size_t bytes, small;
	for (int k = 0; k < 5; k++) {
		odvgp_config c = stack(2000, width, 2, &members[0]);
		gp__draft draft;
		c.optim.batch = 1000;
		c.tile = 0;
		c.deep.samples = samples[k];
		odvgp_model *d = gp__draft_start(&draft, gp__make_from_config, &c);
		gp__model_config(d, &c);
		CHECK_INT(d->cfg.tile, tile[k]);
		CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
		c.tile = 16;
		CHECK_STATUS(sized(&small, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
		if (samples[k] > 256) CHECK(bytes < small);
	}
}
/*  A draft, which has one unit at a time, counts what the model holds, and so does a file's. */
TEST(drafts_count_what_models_hold)
{
	static const ptrdiff_t width[] = {4, 4, 2, 2};
	int k, way;
	for (k = 0; k < MEMBERS; k++)
		for (way = 0; way < 4; way++) {
			odvgp_config c = stack(30, width, 3, &members[k]);
			gp__draft draft;
			size_t bytes, need, size;
			c.lik.weights = way & 1;
			if (way & 2) {
				c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
				c.optim.natgrad = 0;
				c.deep.fixed_samples = 1;
			}
			if (way & 1) give_patches(&c, 0, 1, 2, 0), give_patches(&c, 1, 2, 1, 1);
			c.layer[2].M = 9;
			c.tile = way & 1 ? 0 : 7;
			fixture a;
			memset(&a, 0, sizeof a);
			make_block(&a, &c);
			odvgp_model *d = gp__draft_start(&draft, gp__make_from_config, &c);
			const odvgp_model *m = a.m;
			gp__model_config(d, &c);
			CHECK_INT(d->cfg.tile, m->cfg.tile);
			CHECK_STATUS(gp__model_measure(d, &need, NULL), ODVGP_OK);
			CHECK_INT(need, a.bytes);
			CHECK_INT(d->par.slots, m->par.slots);
			CHECK_INT(d->par.count, m->par.count);
			CHECK_INT(d->par.positive, m->par.positive);
			CHECK_INT(d->par.positive_slots, m->par.positive_slots);
			CHECK_INT(d->par.adam, m->par.adam);
			CHECK_INT(d->tape.nodes, m->tape.nodes);
			CHECK_INT(d->tape.scratch.used, m->tape.scratch.used);
			CHECK_INT(d->data_sds, m->data_sds);
			bytes = odvgp_save_size(m, 0, NULL);
			CHECK_INT(gp__file_state_bytes(d, GP__FILE_VERSION),
					gp__file_state_bytes(m, GP__FILE_VERSION));
			unsigned char *file = NEW(unsigned char, bytes);
			CHECK_STATUS(odvgp_save_memory(a.m, NULL, NULL, 0, file, bytes, NULL), ODVGP_OK);
			CHECK_STATUS(
					sized(&size, odvgp_load_size(file, bytes, &c.threads, test_isa(), NULL), NULL),
					ODVGP_OK);
			CHECK_INT(size, need);
			free(file), free(a.block);
		}
}
/*  config_set's layers have no patches of their own; sizes that do not fit name the field. */
TEST(patches_of_layers_are_checked)
{
	static const ptrdiff_t width[] = {4, 3, 1};
	odvgp_config c = stack(20, width, 2, &members[0]), d = odvgp_config_defaults(20, 4, 1, 5, 0);
	odvgp_info info = no_info();
	size_t bytes;
	give_patches(&c, 1, 1, 1, 0);
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
	CHECK_SAY(!strcmp(info.what, "D") && info.row == 1, "%s", info.text);
	give_patches(&d, 0, 1, 1, 0);
	CHECK_STATUS(odvgp_config_set(&d, "layers=2", &info), ODVGP_OK);
	CHECK(d.layer[1].patches.image_height == 0);
}

int main(int argc, char **argv)
{
	const char *threads = getenv("ODVGP_TEST_POOL");
	int count = threads ? atoi(threads) : 1;
	odvgp_pool *pool = NULL;
	size_t bytes = odvgp_pool_size(count, NULL);
	void *block = test_alloc(bytes);
	test_begin(argc, argv);
	if (threads)
		CHECK_STATUS(odvgp_pool_start(&pool, count, &pool_hook, block, bytes, NULL), ODVGP_OK);
	RUN(one_layer_is_the_shallow_model);
	RUN(a_layer_that_does_nothing);
	RUN(gradients_of_stacks);
	RUN(statistics_of_each_layer);
	RUN(normals_stay_until_the_next_step);
	RUN(threads_and_tiles);
	RUN(weights_of_rows);
	RUN(natural_steps_raise_the_bound);
	RUN(training);
	RUN(lbfgs_needs_fixed_samples);
	RUN(start_with_identity_means);
	RUN(start_with_projections);
	RUN(units_do_not_matter);
	RUN(predictions_are_mixtures);
	RUN(memory_and_joint_samples);
	RUN(files_of_stacks);
	RUN(forged_stacks_are_refused);
	RUN(what_does_not_chain_is_refused);
	RUN(gradients_with_patches);
	RUN(patches_that_cover_the_images);
	RUN(weights_and_noise_of_stacks);
	RUN(exposure_of_stacks);
	RUN(fit_of_a_stack);
	RUN(projections_of_images);
	RUN(many_samples_take_few_rows_at_once);
	RUN(drafts_count_what_models_hold);
	RUN(patches_of_layers_are_checked);
	odvgp_pool_stop(pool);
	free(block);
	return test_end();
}

/*  Deep convolutional models: hidden layers whose output is an image. The bound and its gradient,
    layers that do nothing, the start, training, predictors, files, memory, refusals. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"
#include "members.h"
#include "images.h"

static const struct {
	int mean, cov;
} pairs[] = {{BETA, ODVGP_COV_PART_DENSE}, {ORTH, ODVGP_COV_PART_DENSE},
		{BLOCKS, ODVGP_COV_PART_BLOCKS}, {HYBRID, ODVGP_COV_PART_INVERSE}};
enum { PAIRS = sizeof pairs / sizeof *pairs, NATURAL_PAIRS = 3 };

static const shape two[] = {{4, 3, 1, 2, 2, 1, 0, 2}, {3, 2, 2, 2, 1, 1, 0, 2}},
				   three[] = {{5, 5, 1, 3, 2, 2, 0, 2}, {2, 2, 2, 1, 2, 1, 1, 3},
						   {2, 1, 3, 1, 1, 1, 1, 1}};

static odvgp_config pair_stack(ptrdiff_t N, const shape *s, int layers, int mean, int cov)
{
	odvgp_config c = random_config(N, pixels_of(s), s[layers - 1].P, 4, mean == TIED ? 0 : 3);
	c.layers = layers;
	c.optim.gamma_batch = 0;
	c.deep.samples = 2;
	for (int l = 0; l < layers; l++) {
		if (l) c.layer[l] = c.layer[0];
		set_shape(&c, l, &s[l]);
		c.layer[l].P = s[l].P;
		c.layer[l].patches.image_output = l + 1 < layers;
		c.layer[l].mean_part = mean_part[mean];
		c.layer[l].cov_part = (odvgp_cov_part)cov;
		c.layer[l].kernel = l % 2 ? "matern52(0.9) + linear" : "rbf(ard)";
		c.layer[l].mean_function = l + 1 == layers ? ODVGP_MEAN_FUNCTION_ZERO
								   : l             ? ODVGP_MEAN_FUNCTION_LINEAR
												   : ODVGP_MEAN_FUNCTION_PROJECTION;
	}
	c.optim.natgrad = is_natural(mean, cov);
	return c;
}
static odvgp_config image_stack(ptrdiff_t N, const shape *s, int layers, int pair)
{
	return pair_stack(N, s, layers, pairs[pair].mean, pairs[pair].cov);
}
static fixture make_images(const odvgp_config *c)
{
	fixture a;
	memset(&a, 0, sizeof a);
	make_block(&a, c);
	make_data(&a, c->N, c->layer[0].D, c->layer[c->layers - 1].P, 0.7, 0.2);
	randomise_slots(&a);
	return a;
}
/*  A model that odvgp_init_data starts; its targets depend on local products of pixels. */
static fixture start_images(const odvgp_config *c)
{
	odvgp_info info = no_info();
	fixture a;
	ptrdiff_t i, d, P = c->layer[c->layers - 1].P;
	memset(&a, 0, sizeof a);
	make_block(&a, c);
	make_data(&a, c->N, c->layer[0].D, P, 0.7, 0.1);
	for (i = 0; i < a.N; i++) {
		double sum = 0;
		for (d = 1; d < a.D; d++) sum += (double)a.X[i * a.D + d] * (double)a.X[i * a.D + d - 1];
		for (d = 0; d < P; d++)
			a.Y[i * P + d] = (odvgp_real)(sin(sum / 2 + (double)d) + 0.1 * test_normal());
	}
	CHECK_SAY(odvgp_init_data(a.m, a.X, a.Y, NULL, &info) == ODVGP_OK, "init_data: %s", info.text);
	return a;
}

/* ---- gradients, and layers that do nothing ---- */

/*  The gradient of every slot of two layers of each member, and of three layers of some, is that of
    differences. */
static void check_stack(odvgp_config *c, const shape *s, const char *name)
{
	char where[60];
	c->tile = 3;
	fixture a = make_images(c);
	CHECK(!slot(&a, "layer0.weights"));
	CHECK_INT(slot(&a, c->layers == 2 ? "layer1.weights" : "layer2.weights")->count,
			patch_count(s + c->layers - 1));
	CHECK_INT(slot(&a, "layer0.mean.A")->shape[0], patch_width(s));
	CHECK_INT(slot(&a, "layer1.Z_beta")->shape[1], patch_width(s + 1));
	snprintf(where, sizeof where, "%s, %d layers", name, (int)c->layers);
	check_gradient(&a, NULL, 0, BY_PRECISION(1e-8, 2e-2), 1, where);
	drop(&a);
}
TEST(gradients)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		if ((mean + cov) % test_size(1, 2)) continue;
		odvgp_config c = pair_stack(5, two, 2, mean, cov);
		test_seed = (uint64_t)(10 + COVS * mean + cov);
		check_stack(&c, two, mean_name[mean]);
	}
	{ /* above images, functions of their own */
		odvgp_config c = image_stack(5, two, 2, 2);
		c.independent = 1;
		test_seed = 70;
		fixture a = make_images(&c);
		check_gradient(&a, NULL, 0, BY_PRECISION(1e-8, 2e-2), 1, "independent functions");
		drop(&a);
	}
	for (int k = 0; k < test_size(PAIRS, 1); k++) {
		odvgp_config c = image_stack(5, three, 3, k);
		if (k == 1) c.layer[1].parametrisation = ODVGP_PARAMETRISATION_PRIMAL;
		test_seed = (uint64_t)(60 + k);
		check_stack(&c, three, mean_name[pairs[k].mean]);
	}
}

/*  A hidden layer with patches of one pixel, an identity mean, hardly any variance and q at the
    prior changes nothing: bound, gradient and predictions are those of the convolutional model
    above it. */
TEST(a_layer_that_does_nothing)
{
	enum { N = 9, T = 5 };
	static const shape s[] = {{3, 3, 2, 1, 1, 1, 0, 2}, {3, 3, 2, 2, 2, 1, 0, 2}};
	for (int k = 0; k < NATURAL_PAIRS; k++) {
		odvgp_config c = image_stack(N, s, 2, k), d = image_stack(N, s + 1, 1, k);
		odvgp_real *g, *h, mean[2][2 * T], var[2][2 * T];
		double e, f, kl[2];
		fixture a, b;
		c.jitter.absolute = d.jitter.absolute = 0;
		c.jitter.relative = d.jitter.relative = (odvgp_real)1e-4;
		d.layer[0].kernel = c.layer[1].kernel;
		c.layer[0].kernel = "rbf(1, variance=1e-20)";
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
		c.deep.q_init = ODVGP_HIDDEN_Q_PRIOR;
		test_seed = 5;
		b = make_images(&d);
		memset(&a, 0, sizeof a);
		make_block(&a, &c);
		a.X = b.X, a.Y = b.Y;
		assign(&a, "layer0.Z_beta", b.X);
		if (slot(&a, "layer0.Z_gamma")) assign(&a, "layer0.Z_gamma", b.X + 8);
		copy_slots(&a, &b, "layer1.");
		g = NEW(odvgp_real, odvgp_param_count(a.m));
		h = NEW(odvgp_real, odvgp_param_count(b.m));
		e = elbo_of(&a, &kl[0], g);
		f = elbo_of(&b, &kl[1], h);
		CHECK_NEAR(e, f, BY_PRECISION(1e-8, 1e-4) * fabs(f));
		CHECK_NEAR(kl[0], kl[1], BY_PRECISION(1e-8, 1e-4) * fabs(kl[1]));
		for (int i = 0; i < odvgp_slot_count(b.m); i++) {
			const odvgp_slot *t = odvgp_slot_at(b.m, i), *u;
			char name[60];
			snprintf(name, sizeof name, "layer1.%s", t->name);
			u = slot(&a, t->name) ? slot(&a, t->name) : slot(&a, name);
			CHECK_SAY(test_max_diff(g + u->offset, h + t->offset, t->count) <=
							  BY_PRECISION(1e-8, 1e-3) *
									  (1 + test_max_abs(h, odvgp_param_count(b.m))),
					"%s: gradient of %s", mean_name[pairs[k].mean], t->name);
		}
		predict(&a, b.X, T, mean[0], var[0], NULL);
		predict(&b, b.X, T, mean[1], var[1], NULL);
		CHECK(test_max_diff(mean[0], mean[1], 2 * T) <= BY_PRECISION(1e-8, 1e-4));
		CHECK(test_max_diff(var[0], var[1], 2 * T) <= BY_PRECISION(1e-8, 1e-4));
		free(g), free(h), free(a.block), drop(&b);
	}
}
/*  With one patch, the whole image, all has the bits of the model without patches. */
TEST(one_patch_is_the_plain_stack)
{
	enum { N = 11 };
	static const shape s[] = {{2, 3, 1, 2, 3, 1, 0, 4}, {1, 2, 2, 1, 1, 1, 0, 2}};
	for (int k = 0; k < NATURAL_PAIRS; k++) {
		odvgp_config c = image_stack(N, s, 2, k), d = c;
		odvgp_real mean[2][2 * N], var[2][2 * N], *g[2];
		double e[2];
		int q;
		memset(&d.layer[0].patches, 0, sizeof d.layer[0].patches);
		c.tile = d.tile = 4;
		test_seed = 80;
		fixture a = start_images(&c);
		test_seed = 80;
		fixture b = start_images(&d);
		CHECK_INT(odvgp_model_config(a.m)->layer[1].D, 4);
		copy_slots(&a, &b, "layer1.");
		for (q = 0; q < 2; q++) {
			g[q] = NEW(odvgp_real, odvgp_param_count(a.m));
			e[q] = elbo_of(q ? &b : &a, NULL, g[q]);
			predict(q ? &b : &a, a.X, N, mean[q], var[q], NULL);
		}
		CHECK(e[0] == e[1]);
		CHECK_BITS(g[0], g[1], (size_t)odvgp_param_count(a.m) * sizeof **g);
		CHECK_BITS(mean[0], mean[1], sizeof mean[0]);
		CHECK_BITS(var[0], var[1], sizeof var[0]);
		free(g[0]), free(g[1]), drop(&a), drop(&b);
	}
}

/* ---- training ---- */

/*  Threads do not change bits; tiles and shards change the order of sums, but no normal. */
TEST(threads_and_tiles)
{
	odvgp_real *want = NULL;
	double bound = 0;
	int k, i;
	for (k = 0; k < 5; k++) {
		odvgp_config c = image_stack(30, three, 3, 2);
		c.optim.batch = 20;
		c.tile = k == 3 ? 7 : k == 4 ? 20 : 30;
		c.shards = k == 3 ? 4 : 1;
		if (k == 1 || k == 2) {
			c.threads.run = run_mixed;
			c.threads.count = k == 1 ? 3 : 7;
		}
		test_seed = 4;
		fixture a = start_images(&c);
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
/*  With fixed normals, natural steps of q of all layers never lower the bound. */
TEST(natural_steps_raise_the_bound)
{
	for (int k = 0; k < NATURAL_PAIRS; k++) {
		odvgp_config c = image_stack(20, two, 2, k);
		odvgp_report r;
		double last = -HUGE_VAL, first = 0;
		int i;
		c.deep.fixed_samples = 1;
		c.optim.natgrad_step = odvgp_constant((odvgp_real)0.5);
		test_seed = 6;
		fixture a = start_images(&c);
		for (i = 0; i < odvgp_slot_count(a.m); i++)
			if (!odvgp_slot_at(a.m, i)->natgrad)
				CHECK_STATUS(
						odvgp_set_trainable(a.m, odvgp_slot_at(a.m, i)->name, 0, NULL), ODVGP_OK);
		odvgp_real *before = values(&a, "layer0.q_mu"), *after;
		for (i = 0; i < 15; i++) {
			if (!CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK)) break;
			CHECK_SAY((double)r.elbo >= last - BY_PRECISION(1e-8, 1e-4) * fabs(last),
					"%s: %g after %g in step %d", mean_name[pairs[k].mean], (double)r.elbo, last,
					i);
			last = (double)r.elbo;
			if (!i) first = last;
		}
		after = values(&a, "layer0.q_mu");
		CHECK(test_max_diff(before, after, 4) > 1e-3);
		CHECK_SAY(last > first + 1, "%s: %g, then %g", mean_name[pairs[k].mean], first, last);
		free(before), free(after), drop(&a);
	}
}
/*  Minibatches with other normals in each step, whatever the mean function, q's start and the
    likelihood. */
TEST(training)
{
	static const odvgp_mean_function means[] = {ODVGP_MEAN_FUNCTION_PROJECTION,
			ODVGP_MEAN_FUNCTION_ZERO, ODVGP_MEAN_FUNCTION_CONSTANT, ODVGP_MEAN_FUNCTION_LINEAR};
	static const odvgp_likelihood liks[] = {ODVGP_LIKELIHOOD_GAUSSIAN, ODVGP_LIKELIHOOD_ROBUSTMAX,
			ODVGP_LIKELIHOOD_BERNOULLI, ODVGP_LIKELIHOOD_HETEROSCEDASTIC};
	int k, i, n = test_size(200, 120);
	for (k = 0; k < 4; k++) {
		const shape *s = k ? two : three;
		int last = k ? 1 : 2;
		odvgp_config c = image_stack(60, s, last + 1, k % PAIRS);
		c.optim.batch = 30;
		c.deep.samples = 1;
		c.layer[0].mean_function = means[k];
		c.layer[0].M = c.layer[last].M = 8;
		c.lik.kind = liks[k];
		c.layer[last].P = k == 1 ? 3 : 2;
		if (k) c.optim.natgrad = 0, c.optim.lr = odvgp_constant((odvgp_real)0.02);
		if (k == 1 || k == 2) c.deep.q_init = ODVGP_HIDDEN_Q_PRIOR;
		test_seed = 7;
		fixture a;
		memset(&a, 0, sizeof a);
		make_block(&a, &c);
		make_data(&a, 60, c.layer[0].D, 2, 0.7, 0.1);
		for (i = 0; i < 120; i++) {
			const odvgp_real *x = a.X + i / 2 * a.D;
			double v = k == 1 ? (double)(x[0] + x[1] + x[3] + x[4])
							  : (double)(x[0] * x[1] + x[s->W] * x[s->W + 1]);
			if (k == 1) a.Y[i / 2] = v > 1 ? 2 : v > -1 ? 1 : 0;
			else a.Y[i] = k == 2 ? (v > 0) == i % 2 : (odvgp_real)(v / 2 + 0.1 * test_normal());
		}
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		double before = elbo_of(&a, NULL, NULL);
		for (i = 0; i < n; i++)
			if (!CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK)) break;
		CHECK_SAY(elbo_of(&a, NULL, NULL) > before + 5, "case %d: %g, then %g", k, before,
				elbo_of(&a, NULL, NULL));
		drop(&a);
	}
}

/* ---- the start ---- */

/*  Above a layer with a zero mean, inducing patches come from projections through uniform random
    filters; above one with an identity mean of single pixels from the data. */
TEST(start_of_the_next_layer)
{
	enum { N = 12 };
	static const shape pixel[] = {{3, 3, 2, 1, 1, 1, 0, 2}, {3, 3, 2, 2, 2, 1, 0, 1}};
	for (int identity = 0; identity < 2; identity++) {
		const shape *s = identity ? pixel : two;
		odvgp_config c = image_stack(N, s, 2, 1);
		ptrdiff_t n = patch_width(s), T = patch_count(s), below = T * 2, Dz = patch_width(s + 1), i,
				  t, d, p;
		odvgp_real filter[8], image[18], patch[9 * 4], rows[16 * 8];
		double bound = sqrt(6 / (double)(n + s->h * s->w * s->P)), most = 0;
		c.layer[0].mean_function =
				identity ? ODVGP_MEAN_FUNCTION_IDENTITY : ODVGP_MEAN_FUNCTION_ZERO;
		c.init.beta = ODVGP_INIT_BETA_RANDOM;
		test_seed = 9;
		fixture a = start_images(&c);
		for (i = 0; i < 2 * n; i++) {
			filter[i] = (odvgp_real)(bound * (2 * gp__uniform(c.seed, GP__STREAM_PATCHES,
														  ((uint64_t)1 << 32) | (uint64_t)i) -
													 1));
			if (identity) filter[i] = i / 2 == i % 2;
			most = test_worse(most, fabs((double)filter[i]));
		}
		CHECK(identity || (most <= bound && most > bound / 2));
		odvgp_real *Z = values(&a, "layer1.Z_beta");
		for (p = 0; p < 4; p++) {
			double least = HUGE_VAL;
			for (i = 0; i < N; i++) {
				take_patches(s, a.X + i * a.D, patch);
				for (t = 0; t < below; t++) {
					double sum = 0;
					for (d = 0; d < n; d++)
						sum += (double)patch[t / 2 * n + d] * (double)filter[2 * d + t % 2];
					image[t] = (odvgp_real)sum;
				}
				take_patches(s + 1, image, rows);
				for (t = 0; t < patch_count(s + 1); t++) {
					double off = test_max_diff(rows + t * Dz, Z + p * Dz, Dz);
					if (off < least) least = off;
				}
			}
			CHECK_NEAR(least, 0, 1e2 * EPS);
		}
		free(Z), drop(&a);
	}
}
/*  mean.A is orthonormal in scaled patches. */
TEST(projections_are_of_patches)
{
	odvgp_config c = image_stack(40, two, 2, 0);
	ptrdiff_t p, q, d;
	test_seed = 12;
	fixture a = start_images(&c);
	odvgp_real *A = values(&a, "layer0.mean.A");
	const odvgp_real *sd = a.m->data_sd + a.m->unit[0].sd_at + 12 + 1;
	for (p = 0; p < 2; p++)
		for (q = 0; q < 2; q++) {
			double dot = 0;
			for (d = 0; d < 4; d++)
				dot += (double)(A[2 * d + p] * sd[d]) * (double)(A[2 * d + q] * sd[d]);
			CHECK_NEAR(dot, p == q, 1e3 * EPS);
		}
	free(A), drop(&a);
}
/*  Training in other units of pixels and targets takes the same steps. */
TEST(units_do_not_matter)
{
	odvgp_config c = image_stack(40, two, 2, 1);
	odvgp_real *y = NULL;
	double e[2];
	int i, k;
	c.jitter.absolute = 0;
	c.jitter.relative = (odvgp_real)1e-4;
	c.layer[0].kernel = c.layer[1].kernel = "rbf";
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	for (k = 0; k < 2; k++) {
		fixture a;
		memset(&a, 0, sizeof a);
		make_block(&a, &c);
		test_seed = 12;
		make_data(&a, 40, 12, 2, 1, 0.1);
		for (i = 0; i < 40 * 12 && k; i++) a.X[i] *= 1024;
		for (i = 0; i < 80 && k; i++) a.Y[i] *= 256;
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		for (i = 0; i < 15; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		e[k] = elbo_of(&a, NULL, NULL) + 80 * k * log(256.0);
		odvgp_real *x = values(&a, "layer1.Z_beta");
		if (k) CHECK(test_max_diff(x, y, 16) <= BY_PRECISION(1e-6, 1e-2) * test_max_abs(y, 16));
		if (k) free(x), free(y);
		else y = x;
		drop(&a);
	}
	CHECK_NEAR(e[0], e[1], BY_PRECISION(1e-6, 1e-2) * fabs(e[0]));
}

/* ---- predictors ---- */

/*  Mixture moments and log densities are those of samples taken layer by layer, each pixel with
    the normal that the predictor describes. Few rows, many rows and single ones agree. */
TEST(predictions_are_mixtures)
{
	enum { N = 20, S = 6 };
	odvgp_config c = image_stack(N, three, 3, 2);
	odvgp_real mean[N], var[N], logp[N], lp1[N], x[18 * N],
			next[18 * N] = {0}, patch[64], scale[25], shift[25], yscale = 3, yshift = 2;
	odvgp_scales sc = {shift, scale, &yshift, &yscale}, last = {NULL, NULL, &yshift, &yscale};
	double m[N] = {0}, v[N] = {0}, lp[N] = {0};
	odvgp_server server[4];
	void *block[4], *scratch[4];
	size_t need[4];
	fixture of[4];
	ptrdiff_t i, t, d, l, k;
	c.seed = 1234567890123456789u;
	c.deep.predict_samples = S;
	test_seed = 13;
	of[0] = make_images(&c);
	for (d = 0; d < 25; d++) scale[d] = 2, shift[d] = (odvgp_real)(0.1 * (double)d);
	for (l = 0; l < 4; l++) {
		const shape *below = three + l - 1;
		if (l)
			of[l] = layer_alone(
					&of[0], &c, (int)l - 1, l < 3 ? patch_width(below) : pixels_of(below));
		size_t bytes = odvgp_predictor_size(of[l].m, NULL);
		block[l] = test_alloc(bytes);
		CHECK_STATUS(serve(of[l].m,
							 l == 0   ? &sc
							 : l == 3 ? &last
									  : NULL,
							 block[l], bytes, &server[l], NULL),
				ODVGP_OK);
		need[l] = odvgp_predict_scratch(&server[l], 50, NULL);
		scratch[l] = test_alloc(need[l]);
	}
	CHECK_INT(server[0].D, 25);
	CHECK_INT(server[0].P, 1);
	for (k = 0; k < S; k++) {
		for (i = 0; i < N; i++) {
			odvgp_real image[25], pm[3 * 4], pv[3 * 4];
			const odvgp_real *from = image;
			for (d = 0; d < 25; d++) image[d] = (of[0].X[i * 25 + d] - shift[d]) / scale[d];
			for (l = 0; l < 2; l++) {
				ptrdiff_t T = patch_count(three + l), P = three[l].P;
				odvgp_real *to = l ? x + i * T * P : next + i * T * P;
				take_patches(three + l, from, patch);
				CHECK_STATUS(odvgp_predict(&server[l + 1], patch, T, pm, pv, scratch[l + 1],
									 need[l + 1], NULL),
						ODVGP_OK);
				for (t = 0; t < T; t++)
					for (d = 0; d < P; d++) {
						double z = gp__normal(
								c.seed, (uint64_t)(3 - l), (uint64_t)(k / 2 * T * P + t * P + d));
						to[t * P + d] =
								(odvgp_real)((double)pm[d * T + t] +
											 sqrt((double)pv[d * T + t]) * (k % 2 ? -z : z));
					}
				from = to;
			}
		}
		CHECK_STATUS(
				odvgp_predict(&server[3], x, N, mean, var, scratch[3], need[3], NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_predict_logp(&server[3], x, of[0].Y, N, logp, scratch[3], need[3], NULL),
				ODVGP_OK);
		for (i = 0; i < N; i++) {
			m[i] += (double)mean[i] / S;
			v[i] += ((double)var[i] + (double)mean[i] * (double)mean[i]) / S;
			lp[i] += exp((double)logp[i]) / S;
		}
	}
	CHECK_STATUS(
			odvgp_predict(&server[0], of[0].X, N, mean, var, scratch[0], need[0], NULL), ODVGP_OK);
	CHECK_STATUS(
			odvgp_predict_logp(&server[0], of[0].X, of[0].Y, N, logp, scratch[0], need[0], NULL),
			ODVGP_OK);
	CHECK_STATUS(odvgp_predict_logp(&server[0], of[0].X, of[0].Y, N, lp1, scratch[0],
						 odvgp_predict_scratch(&server[0], 3, NULL), NULL),
			ODVGP_OK);
	for (i = 0; i < N; i++) {
		double near = BY_PRECISION(1e-10, 2e-3);
		odvgp_real one[2];
		CHECK_NEAR(mean[i], m[i], near * (1 + fabs(m[i])));
		CHECK_NEAR(var[i], v[i] - m[i] * m[i], near * (1 + v[i]));
		CHECK_NEAR(logp[i], log(lp[i]), near * (1 + fabs(log(lp[i]))));
		CHECK_NEAR(lp1[i], logp[i], near * (1 + fabs((double)logp[i])));
		CHECK_STATUS(odvgp_predict(&server[0], of[0].X + i * 25, 1, one, one + 1, scratch[0],
							 odvgp_predict_scratch(&server[0], 1, NULL), NULL),
				ODVGP_OK);
		CHECK_NEAR(one[0], mean[i], 1e4 * EPS * (1 + fabs((double)mean[i])));
		CHECK_NEAR(one[1], var[i], 1e4 * EPS * (1 + (double)var[i]));
	}
	CHECK_STATUS(odvgp_predict(&server[0], of[0].X, 1, mean, NULL, scratch[0],
						 odvgp_predict_scratch(&server[0], 1, NULL) - 1, NULL),
			ODVGP_E_MEMORY);
	CHECK_STATUS(odvgp_predict_cov(&server[0], of[0].X, 1, NULL, var, scratch[0], need[0], NULL),
			ODVGP_E_UNSUPPORTED);
	for (l = 0; l < 4; l++) {
		free(block[l]), free(scratch[l]);
		if (l) free(of[l].block);
	}
	drop(&of[0]);
}
/*  Joint samples above a hidden layer without variance have the predicted moments. */
TEST(joint_samples)
{
	enum { T = 3, S = 3000 };
	odvgp_config c = image_stack(20, two, 2, 0);
	odvgp_real *f = NEW(odvgp_real, 2 * S * T), mean[2 * T], var[2 * T];
	odvgp_server server;
	ptrdiff_t i, s;
	c.jitter.absolute = 0;
	c.jitter.relative = (odvgp_real)1e-4;
	c.layer[0].kernel = "rbf(1, variance=1e-20)";
	c.layer[1].P = 2;
	test_seed = 14;
	fixture a = make_images(&c);
	set_number(a.m, "layer0.kernel.0.variance", 1e-20);
	size_t bytes = odvgp_predictor_size(a.m, NULL), need, own;
	void *block = test_alloc(bytes), *scratch;
	CHECK_STATUS(serve(a.m, NULL, block, bytes, &server, NULL), ODVGP_OK);
	own = odvgp_sample_scratch(&server, T, NULL), need = odvgp_predict_scratch(&server, T, NULL);
	scratch = test_alloc(own > need ? own : need);
	CHECK_STATUS(
			odvgp_sample(&server, a.X, T, &(odvgp_draws){S, 5}, f, scratch, own, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_sample(&server, a.X, T, &(odvgp_draws){S, 5}, f, scratch, own - 1, NULL),
			ODVGP_E_MEMORY);
	CHECK_STATUS(odvgp_predict(&server, a.X, T, mean, var, scratch, need, NULL), ODVGP_OK);
	for (i = 0; i < 2 * T; i++) {
		double m = 0, v = 0;
		for (s = 0; s < S; s++) m += (double)f[s * 2 * T + i] / S;
		for (s = 0; s < S; s++) v += pow((double)f[s * 2 * T + i] - m, 2) / S;
		CHECK_NEAR(m, mean[i], 5 * sqrt((double)var[i] / S));
		CHECK_NEAR(v, var[i], 0.15 * (double)var[i]);
	}
	CHECK(odvgp_sample_scratch(&server, PTRDIFF_MAX / 64, NULL) == 0);
	free(f), free(block), free(scratch), drop(&a);
}

/* ---- files and memory ---- */

/*  A loaded model predicts and continues training bit for bit; a server reads the file, too. */
TEST(files)
{
	enum { T = 5 };
	for (int k = 0; k < PAIRS; k++) {
		odvgp_config c = image_stack(30, k % 2 ? three : two, 2 + k % 2, k);
		odvgp_real one[2][2 * T], other[2][2 * T], *x, *y;
		odvgp_server server;
		size_t bytes, need;
		int i;
		memset(one, 0, sizeof one), memset(other, 0, sizeof other);
		c.independent = k == 2;
		c.optim.batch = 20;
		test_seed = 15;
		fixture a = start_images(&c), b;
		for (i = 0; i < 5; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		predict(&a, a.X, T, one[0], one[1], NULL);
		b = load_again(&a);
		CHECK_INT(b.bytes, a.bytes);
		predict(&b, a.X, T, other[0], other[1], NULL);
		CHECK_BITS(one, other, sizeof one);
		unsigned char *file = save_file(a.m, NULL, "user", &bytes);
		CHECK_STATUS(sized(&need, odvgp_server_size(file, bytes, NULL), NULL), ODVGP_OK);
		CHECK(need == odvgp_predictor_size(a.m, NULL));
		void *block = test_alloc(need), *scratch;
		CHECK_STATUS(odvgp_server_from_memory(&server, file, bytes, test_isa(), block, need, NULL),
				ODVGP_OK);
		need = odvgp_predict_scratch(&server, T, NULL);
		scratch = test_alloc(need);
		CHECK_STATUS(
				odvgp_predict(&server, a.X, T, other[0], other[1], scratch, need, NULL), ODVGP_OK);
		CHECK_BITS(one, other, sizeof one);
		for (i = 0; i < 5; i++) {
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(b.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		}
		x = all_values(a.m), y = all_values(b.m);
		CHECK_BITS(x, y, (size_t)odvgp_param_count(a.m) * sizeof *x);
		free(x), free(y), free(block), free(scratch), free(file), free(b.block), drop(&a);
	}
}
/*  Blocks whose layers do not fit together, with a right checksum, are refused; no word of a file's
    config or head leads further than to a status. */
TEST(forged_stacks_are_refused)
{
	static const unsigned char forged[] = {0, 1, 2, 200, 255};
	odvgp_config c = image_stack(12, two, 2, 2);
	gp__file f;
	gp__file_head h;
	odvgp_server server;
	size_t bytes, need, i, k, from;
	int refused = 0, tried = 0, j;
	test_seed = 16;
	fixture a = start_images(&c), b = a;
	unsigned char *file = save_file(a.m, NULL, "", &bytes), *block;
	CHECK_STATUS(gp__file_open(&f, file, bytes, &h, NULL), ODVGP_OK);
	from = (size_t)(GP__FILE_HEAD + h.state_bytes);
	for (i = GP__FILE_HEAD; i < from + 600; i += 4)
		for (k = 0; k < sizeof forged && (i < GP__FILE_HEAD + 1200 || i >= from); k++) {
			unsigned char keep = file[i];
			uint64_t sum;
			if (keep == forged[k]) continue;
			file[i] = forged[k];
			sum = gp__checksum(file, bytes - 8);
			for (j = 0; j < 8; j++) file[bytes - 8 + (size_t)j] = (unsigned char)(sum >> (8 * j));
			tried++;
			refused += load_file(file, bytes, &b) != ODVGP_OK;
			free(b.block);
			if (i >= from && sized(&need, odvgp_server_size(file, bytes, NULL), NULL) == ODVGP_OK) {
				block = NEW(unsigned char, need);
				odvgp_server_from_memory(&server, file, bytes, test_isa(), block, need, NULL);
				free(block);
			}
			file[i] = keep;
		}
	CHECK(refused > tried / 4);
	need = odvgp_predictor_size(a.m, NULL);
	block = NEW(unsigned char, need);
	for (j = 0; j < 5; j++) {
		CHECK_STATUS(odvgp_freeze(a.m, NULL, block, need, NULL), ODVGP_OK);
		gp__predictor *p = (gp__predictor *)(void *)block,
					  *above = (gp__predictor *)(uintptr_t)gp__predictor_above(p);
		CHECK(above->D == 12 && p->P == 2 && p->patches.image_output == 1);
		if (j == 1) p->patches.image_output = 0;
		if (j == 2) above->patches.image_output = 1;
		if (j == 3) p->patches.stride = 2;
		if (j == 4) p->patches.image_output = 2;
		gp__predictor_sum(p, p->checksum);
		gp__predictor_sum(above, above->checksum);
		CHECK_STATUS(odvgp_server_from_block(&server, block, need, test_isa(), NULL),
				j ? ODVGP_E_FORMAT : ODVGP_OK);
	}
	free(block), free(file), drop(&a);
}
/*  Training needs memory for the patches of a tile, at most 4096 or those of one image, and for
    1,000 images in the shape that the second layer sees: the same for 2,000 and for 60,000 images. Scratch
    for predictions stops growing with the rows. */
TEST(memory)
{
	static const shape mnist[] = {{28, 28, 1, 5, 5, 1, 0, 10}, {24, 24, 10, 4, 4, 2, 0, 10}},
					   cifar[] = {{32, 32, 3, 5, 5, 1, 0, 10}, {28, 28, 10, 4, 4, 2, 1, 10}};
	for (int k = 0; k < 2; k++) {
		const shape *s = k ? cifar : mnist;
		enum { M = 64 };
		odvgp_config c = image_stack(2000, s, 2, 0), d = c;
		odvgp_info info = no_info();
		size_t images, many, points, predictor[3];
		ptrdiff_t tile = 4096 / patch_count(s);
		double T = (double)patch_count(s), R = T * (double)tile, P = 10, stated;
		double z[2] = {(double)patch_width(s), (double)patch_width(s + 1)},
			   D = (double)pixels_of(s);
		for (int l = 0; l < 2; l++) {
			c.layer[l].M = M, c.layer[l].kernel = "rbf";
			d.layer[l] = c.layer[l];
			memset(&d.layer[l].patches, 0, sizeof d.layer[l].patches);
			d.layer[l].D = l ? 10 : patch_width(s);
			if (l) d.layer[l].mean_function = ODVGP_MEAN_FUNCTION_ZERO;
		}
		c.deep.samples = d.deep.samples = 1;
		CHECK_SAY(sized(&images, odvgp_model_size(&c, &info), &info) == ODVGP_OK, "%s", info.text);
		c.N = 60000;
		CHECK_STATUS(sized(&many, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
		CHECK_INT(many, images);
		CHECK_SAY(sized(&points, odvgp_model_size(&d, &info), &info) == ODVGP_OK, "%s", info.text);
		/* each patch's pixels, features and moments; images between the layers; those of the start */
		stated = R * (2 * z[0] + 5 * M + 12 * P + 16) + 4096 / T * (2 * D + 4 * T * P);
		stated += 1000 * T * P + 100 * M * z[1] + 10 * T * P + 6400 * 4;
		stated = stated * sizeof(odvgp_real) + (double)c.kernel_cache_bytes;
		CHECK_SAY((double)(images - points) < stated, "%g bytes, stated %g",
				(double)(images - points), stated);
		test_note("%dx%dx%d: %.1f MB", (int)s->H, (int)s->W, (int)s->C, (double)images / 1e6);
		c.N = 30;
		fixture a;
		memset(&a, 0, sizeof a);
		make_block(&a, &c);
		size_t bytes = odvgp_predictor_size(a.m, NULL);
		void *block = test_alloc(bytes);
		odvgp_server server;
		CHECK_STATUS(odvgp_freeze(a.m, NULL, block, bytes, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_server_from_block(&server, block, bytes, test_isa(), NULL), ODVGP_OK);
		for (int i = 0; i < 3; i++)
			predictor[i] =
					odvgp_predict_scratch(&server, i == 0 ? 4096 / patch_count(s) : i * 300, NULL);
		CHECK(predictor[0] == predictor[1] && predictor[0] == predictor[2]);
		/* patches in two orders, features twice, moments; images; products' packed operands */
		stated = (R * (2 * z[0] + 2 * M + 9 * P) + 6400 * 4) * sizeof(odvgp_real);
		gp__arena pack;
		odvgp_blas blas;
		gp__arena_init(&pack, NULL, 0);
		gp__blas_layout(&pack, server.isa, NULL, (ptrdiff_t)R, &blas);
		stated += (double)pack.used;
		CHECK_SAY(
				(double)predictor[0] < stated, "%g bytes, stated %g", (double)predictor[0], stated);
		free(block), free(a.block);
	}
}
/*  A draft counts what the model holds, whose tile has at most 4096 patches. */
TEST(tiles_and_drafts)
{
	static const shape s[] = {{40, 40, 1, 3, 3, 1, 0, 2}, {38, 38, 2, 3, 3, 1, 0, 1}};
	for (int k = 0; k < PAIRS; k++) {
		odvgp_config c = image_stack(300, s, 2, k);
		gp__draft draft;
		size_t need;
		fixture a;
		memset(&a, 0, sizeof a);
		make_block(&a, &c);
		CHECK_INT(a.m->cfg.tile, 2);
		odvgp_model *d = gp__draft_start(&draft, gp__make_from_config, &c);
		gp__model_config(d, &c);
		CHECK_INT(d->cfg.tile, 2);
		CHECK_STATUS(gp__model_measure(d, &need, NULL), ODVGP_OK);
		CHECK_INT(need, a.bytes);
		CHECK_INT(d->tape.nodes, a.m->tape.nodes);
		CHECK_INT(d->data_sds, a.m->data_sds);
		free(a.block);
	}
}

/* ---- refusals ---- */

static odvgp_info refusal;
static const char *refused(const odvgp_config *c, odvgp_status want)
{
	size_t bytes = 77;
	refusal = no_info();
	CHECK_STATUS(sized(&bytes, odvgp_model_size(c, &refusal), &refusal), want);
	CHECK(bytes == 77);
	return refusal.text;
}
#define SAYS(c, status, sentence) \
	CHECK_SAY(!strcmp(refused(&(c), status), sentence), "%s", refusal.text)
TEST(refusals)
{
	odvgp_config good = image_stack(20, two, 2, 0), c = good;
	size_t bytes;
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&good, NULL), NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_config_set(&c, "layer0.patches.image_output=off", NULL), ODVGP_OK);
	CHECK(!c.layer[0].patches.image_output);
	SAYS(c, ODVGP_E_SIZE,
			"D: must be image_height x image_width x channels of patches (at 1, value 2)");
	c = good;
	c.layer[1].patches.image_output = 1;
	SAYS(c, ODVGP_E_ARG,
			"patches.image_output: is for hidden layers: the last one sums its patches");
	c = good;
	c.layers = 1;
	SAYS(c, ODVGP_E_ARG,
			"patches.image_output: is for hidden layers: the last one sums its patches");
	c = good;
	c.layer[0].patches.image_output = 2;
	CHECK(strstr(refused(&c, ODVGP_E_ARG), "patches.image_output"));
	c = good;
	memset(&c.layer[0].patches, 0, sizeof c.layer[0].patches);
	c.layer[0].patches.image_output = 1;
	CHECK(strstr(refused(&c, ODVGP_E_ARG), "patches.image_height"));
	c = good;
	c.layer[1].patches.image_height = 4;
	SAYS(c, ODVGP_E_SIZE,
			"D: must be image_height x image_width x channels of patches (at 1, value 12)");
	c.layer[1].D = 16;
	SAYS(c, ODVGP_E_ARG,
			"D: of a layer must be the P of the layer below, times its patches with image_output "
			"(at 1, value 16)");
	c = good;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	CHECK(strstr(refused(&c, ODVGP_E_ARG), "mean_function"));
	c = good;
	c.layer[1].kernel = "rbf(dims=4)";
	CHECK(strstr(refused(&c, ODVGP_E_KERNEL), "kernel"));
	c = good;
	c.layer[0].P = INT_MAX;
	CHECK(strlen(refused(&c, ODVGP_E_SIZE)) > 0);
	c.layer[0].P = PTRDIFF_MIN;
	CHECK(strlen(refused(&c, ODVGP_E_SIZE)) > 0);
	c = good;
	c.layer[0].patches.image_height = INT_MIN;
	c.layer[0].patches.height = INT_MAX;
	CHECK(strlen(refused(&c, ODVGP_E_SIZE)) > 0);
	c = good;
	c.N = PTRDIFF_MAX / 128;
	CHECK(strstr(refused(&c, ODVGP_E_SIZE), "N"));
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(gradients);
	RUN(a_layer_that_does_nothing);
	RUN(one_patch_is_the_plain_stack);
	RUN(threads_and_tiles);
	RUN(natural_steps_raise_the_bound);
	RUN(training);
	RUN(start_of_the_next_layer);
	RUN(projections_are_of_patches);
	RUN(units_do_not_matter);
	RUN(predictions_are_mixtures);
	RUN(joint_samples);
	RUN(files);
	RUN(forged_stacks_are_refused);
	RUN(memory);
	RUN(tiles_and_drafts);
	RUN(refusals);
	return test_end();
}

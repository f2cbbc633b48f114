/*  Patches of images as inducing inputs: one patch is the plain model, two are a sum by hand;
    gradients, predictors, files, starts, memory, and what is refused. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"
#include "images.h"

/* ---- models ---- */

static odvgp_real *patches_of(const shape *s, const odvgp_real *x)
{
	odvgp_real *to = NEW(odvgp_real, patch_count(s) * patch_width(s));
	take_patches(s, x, to);
	return to;
}
static const shape small = {4, 3, 2, 2, 2, 1, 0, 1}, located = {7, 5, 1, 2, 3, 2, 1, 1};

static void all_moments(fixture *a, ptrdiff_t n, odvgp_real *mean, odvgp_real *var, odvgp_real *cov)
{
	predict(a, a->X, n, mean, var, cov);
}

/* ---- identities ---- */

/*  A patch that covers the image, with weight 1: every pair's bound, gradient and predictions are
    those of the model without patches. */
TEST(one_patch_is_the_plain_model)
{
	static const shape whole = {3, 2, 2, 3, 2, 1, 0, 1};
	enum { N = 7, P = 2, M = 4, MG = 3, D = 12 };
	int mean, cov, i;
	EACH_PAIR(mean, cov)
	{
		odvgp_config c = pair_config(mean, cov, N, P, M, MG);
		fixture a, b;
		odvgp_real *ga, *gb, pa[2][P * N], pb[2][P * N], ca[P * N * N], cb[P * N * N], one = 1;
		double ka, kb, ea, eb, most = 0, far = 0;
		c.layer[0].D = D;
		c.tile = 3;
		test_seed = 50;
		a = make_pair(mean, cov, &c, "rbf + matern32");
		set_shape(&c, 0, &whole);
		test_seed = 50;
		b = make_pair(mean, cov, &c, "rbf + matern32");
		for (i = 0; i < odvgp_slot_count(a.m); i++) copy_slot(&b, &a, odvgp_slot_at(a.m, i)->name);
		memcpy(b.X, a.X, N * D * sizeof *a.X);
		memcpy(b.Y, a.Y, N * P * sizeof *a.Y);
		CHECK_STATUS(odvgp_set(b.m, "weights", &one, 1, NULL), ODVGP_OK);
		ga = NEW(odvgp_real, odvgp_param_count(a.m));
		gb = NEW(odvgp_real, odvgp_param_count(b.m));
		ea = elbo_of(&a, &ka, ga);
		eb = elbo_of(&b, &kb, gb);
		CHECK_NEAR(eb, ea, 2000 * EPS * fabs(ea));
		CHECK_NEAR(kb, ka, 2000 * EPS * fabs(ka));
		for (i = 0; i < odvgp_param_count(a.m); i++) most = test_worse(most, fabs((double)ga[i]));
		for (i = 0; i < odvgp_slot_count(a.m); i++) {
			const odvgp_slot *s = odvgp_slot_at(a.m, i), *t = slot(&b, s->name);
			far = test_worse(far, test_max_diff(ga + s->offset, gb + t->offset, s->count));
		}
		CHECK_SAY(far <= 2000 * EPS * most, "%s + %s: gradients differ by %g of %g",
				mean_name[mean], cov_name[cov], far, most);
		all_moments(&a, N, pa[0], pa[1], ca);
		all_moments(&b, N, pb[0], pb[1], cb);
		CHECK_NEAR(test_max_diff(pa[0], pb[0], P * N), 0,
				2000 * EPS * (1 + test_max_abs(pa[0], P * N)));
		CHECK_NEAR(test_max_diff(pa[1], pb[1], P * N), 0,
				2000 * EPS * (1 + test_max_abs(pa[1], P * N)));
		CHECK_NEAR(test_max_diff(ca, cb, P * N * N), 0,
				2000 * EPS * (1 + test_max_abs(ca, P * N * N)));
		free(ga), free(gb);
		drop(&a), drop(&b);
	}
}

/*  The prior of two images of three pixels, with two patches of two pixels: by hand. With one
    inducing patch z, mean and variance of COUPLED are those of one number A = K(z,x) / L. */
TEST(two_patches_by_hand)
{
	static const shape line = {1, 3, 1, 1, 2, 1, 0, 1};
	odvgp_config c = odvgp_config_defaults(2, 3, 1, 1, 0);
	static const double x[2][3] = {{0.3, -0.4, 1.1}, {0.9, 0.2, -0.5}}, z[2] = {0.1, 0.4},
						w[2] = {0.7, -1.3}, v = 1.7, l = 0.8, white = 0.25, q = 0.6, s = 0.45,
						jitter = 0.02;
	odvgp_real X[6], weights[2], Z[2], q_mu = (odvgp_real)q, q_sqrt = (odvgp_real)s, mean[2],
									   var[2], cov[4];
	double kzx[2], kff[2][2], L = sqrt(v + white + jitter);
	fixture a;
	int i, j, t, r, d;
	set_shape(&c, 0, &line);
	c.layer[0].kernel = "rbf(0.8, variance=1.7) + white(0.25)";
	c.jitter.absolute = (odvgp_real)jitter;
	c.jitter.relative = 0;
	c.jitter.max = 1;
	c.isa = test_isa();
	memset(&a, 0, sizeof a);
	make_block(&a, &c);
	for (i = 0; i < 6; i++) X[i] = (odvgp_real)x[i / 3][i % 3];
	for (i = 0; i < 2; i++) weights[i] = (odvgp_real)w[i], Z[i] = (odvgp_real)z[i];
	assign(&a, "weights", weights);
	assign(&a, "Z_beta", Z);
	assign(&a, "q_mu", &q_mu);
	assign(&a, "q_sqrt", &q_sqrt);
	for (i = 0; i < 2; i++) {
		kzx[i] = 0;
		for (t = 0; t < 2; t++) {
			double r2 = 0;
			for (d = 0; d < 2; d++) r2 += (x[i][t + d] - z[d]) * (x[i][t + d] - z[d]);
			kzx[i] += w[t] * v * exp(-r2 / (2 * l * l));
		}
		for (j = 0; j < 2; j++) {
			kff[i][j] = 0;
			for (t = 0; t < 2; t++)
				for (r = 0; r < 2; r++) {
					double r2 = 0;
					for (d = 0; d < 2; d++)
						r2 += (x[i][t + d] - x[j][r + d]) * (x[i][t + d] - x[j][r + d]);
					kff[i][j] += w[t] * w[r] *
								 (v * exp(-r2 / (2 * l * l)) + (i == j && t == r ? white : 0));
				}
		}
	}
	predict(&a, X, 2, mean, var, cov);
	for (i = 0; i < 2; i++) {
		CHECK_NEAR(mean[i], kzx[i] / L * q, 50 * EPS);
		CHECK_NEAR(var[i], kff[i][i] - (1 - s * s) * kzx[i] * kzx[i] / (L * L), 100 * EPS);
		for (j = 0; j < 2; j++)
			CHECK_NEAR(
					cov[2 * i + j], kff[i][j] - (1 - s * s) * kzx[i] * kzx[j] / (L * L), 100 * EPS);
	}
	drop(&a);
}

/* ---- kernels of images ---- */

typedef struct images {
	odvgp_blas blas;
	gp__kernel k;
	gp__patches p;
	odvgp_real *hyp, *x, *w;
	void *blas_block, *block;
	gp__arena scratch;
} images;
static images make_images(const shape *s, const char *kernel, ptrdiff_t n, ptrdiff_t rows)
{
	images a;
	double value[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
	size_t bytes = odvgp_blas_size(NULL, NULL);
	odvgp_config c = odvgp_config_defaults(1, 1, 1, 1, 0);
	gp__images_work work;
	gp__kjob job;
	ptrdiff_t i;
	memset(&a, 0, sizeof a);
	set_shape(&c, 0, s);
	a.p = gp__patches_of(&c, 0);
	a.blas_block = test_alloc(bytes);
	CHECK_STATUS(odvgp_blas_init(&a.blas, NULL, test_isa(), a.blas_block, bytes, NULL), ODVGP_OK);
	CHECK_STATUS(gp__kernel_parse(&a.k, kernel, patch_width(s), value, NULL), ODVGP_OK);
	a.hyp = NEW(odvgp_real, a.k.nhyp);
	for (i = 0; i < (ptrdiff_t)a.k.nhyp; i++) a.hyp[i] = (odvgp_real)test_between(0.7, 1.6);
	a.x = NEW(odvgp_real, n * s->H * s->W * s->C);
	for (i = 0; i < n * s->H * s->W * s->C; i++) a.x[i] = (odvgp_real)test_normal();
	a.w = NEW(odvgp_real, patch_count(s));
	for (i = 0; i < patch_count(s); i++) a.w[i] = (odvgp_real)test_between(-1, 1);
	gp__arena_init(&a.scratch, NULL, 0);
	gp__images_layout(&a.scratch, &a.p, rows, &work);
	gp__images_layout(&a.scratch, &a.p, 0, &work);
	job.kept = 0;
	for (i = 0; i < 2; i++)
		gp__kernel_scratch(&a.scratch, &a.k, GP__MAX(rows, (ptrdiff_t)GP__KROWS), patch_count(s),
				1, (int)i, &job);
	a.block = test_alloc(a.scratch.used + 64);
	gp__arena_init(&a.scratch, a.block, a.scratch.used + 64);
	return a;
}
static void drop_images(images *a)
{
	free(a->hyp), free(a->x), free(a->w), free(a->blas_block), free(a->block);
}
static void image_job(const images *a, gp__kjob *job, const odvgp_real *Z, ptrdiff_t M,
		const odvgp_real *x, ptrdiff_t n)
{
	gp__kernel_job(job, &a->blas, &a->k, a->hyp, Z, M, x, n);
	job->patches = &a->p;
	job->weights = a->w;
}
/*  sum of G K(Z,X) and of g diag(K(X,X)). */
static double both_sums(const images *a, const odvgp_real *Z, ptrdiff_t M, ptrdiff_t n,
		const odvgp_real *G, const odvgp_real *g)
{
	odvgp_real *K = NEW(odvgp_real, M * n), *diag = NEW(odvgp_real, n),
			   *Kw = NEW(odvgp_real, n * gp__patches_count(&a->p));
	gp__kjob job;
	double sum = 0;
	ptrdiff_t i;
	image_job(a, &job, Z, M, a->x, n);
	job.K = K;
	job.ldk = n;
	gp__kernel_matrix(&job, a->scratch, 0);
	image_job(a, &job, NULL, 0, a->x, n);
	gp__images_diag(&job, diag, Kw, a->scratch, 0);
	for (i = 0; i < M * n; i++) sum += (double)G[i] * (double)K[i];
	for (i = 0; i < n; i++) sum += (double)g[i] * (double)diag[i];
	free(K), free(diag), free(Kw);
	return sum;
}

/*  One, two and three blocks of rows, columns of locations, and white noise: k(x,x) and K(Z,x) are
    sums over patches of the kernel matrix. */
TEST(kernels_of_images_are_sums)
{
	static const shape shapes[] = {{4, 3, 2, 2, 2, 1, 0, 1}, {7, 5, 1, 2, 3, 2, 1, 1},
			{18, 18, 1, 2, 2, 1, 0, 1}, {25, 25, 1, 2, 1, 1, 1, 1}, {17, 17, 1, 2, 2, 1, 0, 1}};
	static const char *const kernels[] = {"rbf * matern32(1, ard)", "rbf + white(0.5) * matern52",
			"linear(1, ard) + periodic * matern12 + additive(ard)", "laplacian(ard)"};
	size_t k;
	for (k = 0; k < sizeof shapes / sizeof *shapes; k++) {
		const shape *s = &shapes[k];
		enum { N = 2, M = 3 };
		images a = make_images(s, kernels[k % 4], N, M);
		ptrdiff_t T = patch_count(s), D = patch_width(s), i, j, t;
		odvgp_real *all = NEW(odvgp_real, T * T), *Kz = NEW(odvgp_real, M * T), *Z, K[M * N],
				   diag[N], *Kw = NEW(odvgp_real, N * T);
		void *block;
		gp__arena scratch;
		gp__kjob job;
		gp__arena_init(&scratch, NULL, 0);
		job.kept = 0;
		gp__kernel_scratch(&scratch, &a.k, GP__MAX(T, M), T, 1, 0, &job);
		block = test_alloc(scratch.used + 64);
		gp__arena_init(&scratch, block, scratch.used + 64);
		Z = NEW(odvgp_real, M * D);
		for (i = 0; i < M * D; i++) Z[i] = (odvgp_real)test_normal();
		image_job(&a, &job, Z, M, a.x, N);
		job.K = K;
		job.ldk = N;
		gp__kernel_matrix(&job, a.scratch, 0);
		image_job(&a, &job, NULL, 0, a.x, N);
		gp__images_diag(&job, diag, Kw, a.scratch, 0);
		for (j = 0; j < N; j++) {
			odvgp_real *patches = patches_of(s, a.x + j * s->H * s->W * s->C);
			double want = 0, size = 0, z = 0;
			gp__kernel_job(&job, &a.blas, &a.k, a.hyp, patches, T, patches, T);
			job.K = all;
			job.ldk = T;
			gp__kernel_run(&job, scratch);
			for (i = 0; i < T; i++) {
				double row = 0;
				for (t = 0; t < T; t++) row += (double)a.w[t] * (double)all[i * T + t];
				CHECK_NEAR(Kw[j * T + i], row, 40 * EPS * (double)T);
				want += (double)a.w[i] * row;
				size += fabs((double)a.w[i] * row);
			}
			CHECK_NEAR(diag[j], want, 100 * EPS * size);
			gp__kernel_job(&job, &a.blas, &a.k, a.hyp, Z, M, patches, T);
			job.K = Kz;
			job.ldk = T;
			gp__kernel_run(&job, scratch);
			for (i = 0; i < M; i++) {
				for (z = 0, t = 0; t < T; t++) z += (double)a.w[t] * (double)Kz[i * T + t];
				CHECK_NEAR(K[i * N + j], z, 40 * EPS * (double)T);
			}
			free(patches);
		}
		free(all), free(Kz), free(Kw), free(Z), free(block);
		drop_images(&a);
	}
}

/*  Adjoints of Z, pixels, weights and hyperparameters against differences in random directions. */
TEST(adjoints_of_images)
{
	static const shape shapes[] = {
			{4, 3, 2, 2, 2, 1, 0, 1}, {7, 5, 1, 2, 3, 2, 1, 1}, {18, 18, 1, 2, 2, 1, 0, 1},
			{7, 5, 1, 2, 3, 2, 1, 1}};
	static const char *const kernels[] = {"rbf * matern52(1, ard)", "rbf + linear * matern52",
			"matern52 * (rbf(1, ard) + polynomial) + additive(ard)",
			"laplacian * rbf(1, ard)"};
	size_t k;
	for (k = 0; k < sizeof shapes / sizeof *shapes; k++) {
		const shape *s = &shapes[k];
		enum { N = 3, M = 4 };
		images a = make_images(s, kernels[k], N, M);
		ptrdiff_t T = patch_count(s), D = patch_width(s), pixels = N * s->H * s->W * s->C, i;
		odvgp_real G[M * N], g[N], diag[N], *Kw = NEW(odvgp_real, N * T),
											*Z = NEW(odvgp_real, M * D);
		/* Z, pixels, weights, hyperparameters */
		odvgp_real *at[4] = {Z, a.x, a.w, a.hyp}, *d[4];
		ptrdiff_t count[4] = {M * D, pixels, T, (ptrdiff_t)a.k.nhyp};
		gp__kjob job;
		int q;
		for (i = 0; i < M * D; i++) Z[i] = (odvgp_real)test_normal();
		for (i = 0; i < M * N; i++) G[i] = (odvgp_real)test_normal();
		for (i = 0; i < N; i++) g[i] = (odvgp_real)(test_normal() / (double)T);
		for (q = 0; q < 4; q++) {
			d[q] = NEW(odvgp_real, count[q]);
			for (i = 0; i < count[q]; i++) d[q][i] = 0;
		}
		image_job(&a, &job, NULL, 0, a.x, N);
		gp__images_diag(&job, diag, Kw, a.scratch, 0);
		for (q = 0; q < 2; q++) {
			image_job(&a, &job, q ? Z : NULL, q ? M : 0, a.x, N);
			job.dX1 = d[0];
			job.dX2 = d[1];
			job.dweights = d[2];
			job.dhyp = d[3];
			job.dK = G;
			job.lddk = N;
			if (q) gp__kernel_matrix(&job, a.scratch, 1);
			else gp__images_diag(&job, g, Kw, a.scratch, 1);
		}
		for (q = 0; q < 4; q++) {
			double h = BY_PRECISION(1e-5, 1e-2), got = 0, size = 0, side[2];
			odvgp_real *keep = NEW(odvgp_real, count[q]), *to = NEW(odvgp_real, count[q]);
			int way;
			memcpy(keep, at[q], (size_t)count[q] * sizeof *keep);
			for (i = 0; i < count[q]; i++) to[i] = (odvgp_real)test_between(-1, 1);
			for (way = 0; way < 2; way++) {
				for (i = 0; i < count[q]; i++)
					at[q][i] = keep[i] + (odvgp_real)(way ? -h : h) * to[i];
				side[way] = both_sums(&a, Z, M, N, G, g);
			}
			memcpy(at[q], keep, (size_t)count[q] * sizeof *keep);
			for (i = 0; i < count[q]; i++) {
				got += (double)d[q][i] * (double)to[i];
				size += fabs((double)d[q][i] * (double)to[i]);
			}
			CHECK_NEAR(got, (side[0] - side[1]) / (2 * h), BY_PRECISION(1e-7, 3e-2) * (1 + size));
			CHECK(size > 0);
			free(keep), free(to);
		}
		for (q = 0; q < 4; q++) free(d[q]);
		free(Kw), free(Z);
		drop_images(&a);
	}
}

/* ---- members ---- */

TEST(gradients_of_every_pair)
{
	int mean, cov;
	char where[60];
	EACH_PAIR(mean, cov)
	{
		odvgp_config c = pair_config(mean, cov, 6, 2, 3, 2);
		fixture a;
		int tick = cov % 2;
		test_seed = 60 + 4 * mean + cov;
		set_shape(&c, 0, tick ? &located : &small);
		c.tile = 4;
		a = make_pair(mean, cov, &c, tick ? "rbf" : "matern52 + rbf");
		sprintf(where, "%s + %s", mean_name[mean], cov_name[cov]);
		check_gradient(&a, NULL, 0, BY_PRECISION(1e-6, 1e-2), 1, where);
		drop(&a);
	}
}

/*  The bound is N E - KL, with E from the predictor's moments. */
TEST(predictors_agree_with_models)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		enum { N = 12, P = 2 };
		odvgp_config c = pair_config(mean, cov, N, P, 4, 3);
		odvgp_real m[P * N], v[P * N], one_m[P], one_v[P], full[P * N * N];
		double kl, elbo, want = 0, noise, size = 0;
		fixture a;
		ptrdiff_t i, p;
		test_seed = 90 + 4 * mean + cov;
		set_shape(&c, 0, cov % 2 ? &small : &located);
		a = make_pair(mean, cov, &c, cov % 2 ? "rbf * matern32" : "matern52");
		elbo = elbo_of(&a, &kl, NULL);
		noise = number(a.m, "noise_variance");
		predict(&a, a.X, N, m, v, full);
		for (i = 0; i < N; i++)
			for (p = 0; p < P; p++) {
				double r = (double)a.Y[i * P + p] - (double)m[p * N + i];
				want -= 0.5 * (log(2 * 3.14159265358979323846 * noise) +
									  (r * r + (double)v[p * N + i]) / noise);
				size += r * r / noise;
				CHECK_NEAR(full[p * N * N + i * N + i], v[p * N + i],
						5000 * EPS * (1 + (double)v[p * N + i]));
			}
		CHECK_NEAR(elbo + kl, want, 5000 * EPS * (fabs(want) + size));
		for (i = 0; i < N; i++) {
			predict(&a, a.X + i * a.D, 1, one_m, one_v, NULL);
			for (p = 0; p < P; p++) {
				CHECK_NEAR(one_m[p], m[p * N + i], 5000 * EPS * (1 + fabs((double)one_m[p])));
				CHECK_NEAR(one_v[p], v[p * N + i], 5000 * EPS * (1 + (double)one_v[p]));
			}
		}
		drop(&a);
	}
}

static odvgp_config trained_config(int mean, int cov, int natgrad)
{
	odvgp_config c = pair_config(mean, cov, 40, 1, 5, 4);
	set_shape(&c, 0, cov % 2 ? &located : &small);
	c.layer[0].kernel = cov % 2 ? "rbf(dims=0:6) * matern32(dims=6:8)" : "rbf";
	c.optim.natgrad = natgrad;
	c.optim.batch = 20;
	c.optim.gamma_batch = 2;
	c.tile = 8;
	c.jitter.absolute = 0;
	c.jitter.relative = (odvgp_real)1e-4;
	return c;
}
/*  Steps of every pair raise the bound; three tasks give the same bits, and so does a model that is
    saved and loaded. */
TEST(training_threads_and_files)
{
	int mean, cov, natgrad, i;
	EACH_PAIR(mean, cov)
	for (natgrad = 0; natgrad <= is_natural(mean, cov); natgrad++) {
		odvgp_config c = trained_config(mean, cov, natgrad);
		fixture a, b, l;
		odvgp_real *va, *vb;
		double before, after;
		test_seed = 130;
		a = make(&c);
		c.threads.run = run_mixed;
		c.threads.count = 3;
		test_seed = 130;
		b = make(&c);
		before = elbo_of(&a, NULL, NULL);
		for (i = 0; i < 30; i++) {
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			if (i < 8) CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
			if (i != 7) continue;
			va = all_values(a.m), vb = all_values(b.m);
			CHECK_BITS(va, vb, (size_t)odvgp_param_count(a.m) * sizeof *va);
			free(va), free(vb);
		}
		after = elbo_of(&a, NULL, NULL);
		CHECK_SAY(after > before, "%s + %s, natgrad %d: %g, then %g", mean_name[mean],
				cov_name[cov], natgrad, before, after);
		l = load_again(&a);
		for (i = 0; i < 4; i++) {
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(l.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		}
		va = all_values(a.m), vb = all_values(l.m);
		CHECK_BITS(va, vb, (size_t)odvgp_param_count(a.m) * sizeof *va);
		free(va), free(vb), free(l.block);
		drop(&a), drop(&b);
	}
}

/*  All likelihoods: gradients, steps, and finite predictions of y. */
TEST(every_likelihood)
{
	int kind;
	for (kind = 0; kind < GP__COUNT(gp__likelihoods); kind++) {
		const gp__likelihood *lik = &gp__likelihoods[kind];
		int several = !(lik->flags & GP__LIK_FACTORS), i;
		ptrdiff_t P = several ? 2 + (lik->flags & GP__LIK_CLASSES ? 1 : 0) : 1, n;
		odvgp_config c = odvgp_config_defaults(16, 1, P, 4, 3);
		fixture a;
		size_t bytes;
		odvgp_real y_mean[3 * 16], y_var[3 * 16];
		void *block, *scratch;
		odvgp_server server;
		odvgp_info info = no_info();
		set_shape(&c, 0, &small);
		c.layer[0].kernel = "rbf";
		c.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS;
		c.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
		c.lik.kind = (odvgp_likelihood)kind;
		if (kind == ODVGP_LIKELIHOOD_ORDINAL) c.lik.classes = 3;
		c.isa = test_isa();
		memset(&a, 0, sizeof a);
		test_seed = 150;
		make_data(&a, 16, c.layer[0].D, P, 1, 0.1);
		for (i = 0; i < 16 * P; i++) a.Y[i] = (odvgp_real)(i % 2);
		if (kind == ODVGP_LIKELIHOOD_BETA || kind == ODVGP_LIKELIHOOD_GAMMA ||
				kind == ODVGP_LIKELIHOOD_EXPONENTIAL)
			for (i = 0; i < 16; i++) a.Y[i] = (odvgp_real)test_between(0.1, 0.9);
		make_block(&a, &c);
		CHECK_SAY(
				odvgp_init_data(a.m, a.X, a.Y, NULL, &info) == ODVGP_OK, "%s: %s", lik->name, info.text);
		for (i = 0; i < 5; i++)
			CHECK_SAY(odvgp_step(a.m, a.X, a.Y, NULL, &info) == ODVGP_OK, "%s: %s", lik->name,
					info.text);
		bytes = odvgp_predictor_size(a.m, NULL);
		block = test_alloc(bytes);
		CHECK_STATUS(serve(a.m, NULL, block, bytes, &server, NULL), ODVGP_OK);
		bytes = odvgp_predict_scratch(&server, 16, NULL);
		scratch = test_alloc(bytes);
		n = server.y_rows * 16;
		CHECK_STATUS(
				odvgp_predict_y(&server, a.X, 16, y_mean, y_var, scratch, bytes, NULL), ODVGP_OK);
		CHECK_SAY(all_finite(y_mean, n) && all_finite(y_var, n), "%s", lik->name);
		free(block), free(scratch);
		drop(&a);
	}
}

/*  q's optimum, the collapsed bound at it, the bound from above, and a warm start. */
TEST(optimum_bounds_and_warm_start)
{
	static const struct {
		int mean, cov;
	} pairs[] = {{BETA, ODVGP_COV_PART_DENSE}, {ORTH, ODVGP_COV_PART_DENSE},
			{BLOCKS, ODVGP_COV_PART_BLOCKS}, {FREE, ODVGP_COV_PART_INVERSE}};
	size_t k;
	for (k = 0; k < sizeof pairs / sizeof *pairs; k++) {
		odvgp_config c = trained_config(pairs[k].mean, pairs[k].cov, 0);
		fixture a, collapsed;
		size_t bytes;
		void *work;
		odvgp_real *grad, upper;
		double best, bound;
		ptrdiff_t i;
		odvgp_info info = no_info();
		c.optim.batch = c.N;
		c.optim.gamma_batch = 0;
		test_seed = 170;
		a = make(&c);
		bytes = odvgp_fit_q_scratch(a.m, NULL);
		work = test_alloc(bytes);
		CHECK_SAY(odvgp_fit_q(a.m, a.X, a.Y, NULL, work, bytes, &info) == ODVGP_OK, "%s", info.text);
		grad = NEW(odvgp_real, odvgp_param_count(a.m));
		best = elbo_of(&a, NULL, grad);
		if (slot(&a, "q_mu"))
			for (i = 0; i < a.M; i++)
				CHECK_NEAR(grad[slot(&a, "q_mu")->offset + i], 0,
						BY_PRECISION(1e-6, 1e-1) * (1 + fabs(best)));
		if (pairs[k].mean == BETA) {
			CHECK_STATUS(
					odvgp_upper_bound(a.m, a.X, a.Y, &upper, NULL, work, bytes, NULL), ODVGP_OK);
			CHECK_SAY((double)upper >= best, "%g, at most %g", best, (double)upper);
		}
		if (pairs[k].mean == BETA || pairs[k].mean == BLOCKS) {
			c.objective = ODVGP_OBJECTIVE_COLLAPSED;
			test_seed = 170;
			collapsed = make(&c);
			bound = elbo_of(&collapsed, NULL, NULL);
			CHECK_NEAR(bound, best, BY_PRECISION(1e-7, 1e-2) * (1 + fabs(best)));
			drop(&collapsed);
		}
		free(work);
		bytes = odvgp_warm_start_scratch(a.m, NULL, NULL);
		work = test_alloc(bytes);
		CHECK_SAY(odvgp_warm_start(a.m, a.X, a.Y, NULL, NULL, work, bytes, &info) == ODVGP_OK, "%s",
				info.text);
		CHECK(elbo_of(&a, NULL, NULL) >= best - BY_PRECISION(1e-6, 1e-2) * fabs(best));
		free(work), free(grad);
		drop(&a);
	}
}

/* ---- starts ---- */

/*  1 if the pixels of z are those of a patch of an image. */
static int is_a_patch(const shape *s, const fixture *a, const odvgp_real *z)
{
	ptrdiff_t i, t, d, pixels = s->h * s->w * s->C;
	for (i = 0; i < a->N; i++)
		for (t = 0; t < patch_count(s); t++) {
			for (d = 0; d < pixels; d++)
				if (patch_column(s, a->X + i * a->D, t, d) != z[d]) break;
			if (d == pixels) return 1;
		}
	return 0;
}
TEST(starts)
{
	int beta, gamma, place;
	for (beta = 0; beta <= ODVGP_INIT_BETA_FARTHEST; beta++)
		for (gamma = 0; gamma <= ODVGP_INIT_GAMMA_RESIDUAL; gamma++)
			for (place = 0; place < 2; place++) {
				const shape *s = place ? &located : &small;
				odvgp_config c = odvgp_config_defaults(30, 1, 1, 6, 5);
				ptrdiff_t width = patch_width(s), i, j;
				odvgp_real *Z[2], *again;
				const odvgp_real *first;
				fixture a;
				double k = 0, target = 0, mean = 0, spread = 0;
				set_shape(&c, 0, s);
				c.init.beta = (odvgp_init_beta)beta;
				c.init.gamma = (odvgp_init_gamma)gamma;
				c.layer[0].kernel = place ? "rbf(dims=0:6) * matern32(dims=6:8)" : "rbf + matern52";
				c.isa = test_isa();
				test_seed = 190;
				a = make(&c);
				Z[0] = values(&a, "Z_beta");
				Z[1] = values(&a, "Z_gamma");
				first = Z[0];
				for (i = 0; i < 11; i++) {
					const odvgp_real *z = Z[i >= 6] + (i < 6 ? i : i - 6) * width;
					if (i >= 6 || beta != ODVGP_INIT_BETA_KMEANS)
						CHECK_SAY(is_a_patch(s, &a, z), "beta %d, gamma %d: row %d", beta, gamma,
								(int)i);
					for (j = 0; j < i; j++)
						CHECK(memcmp(z, Z[j >= 6] + (j < 6 ? j : j - 6) * width,
									  (size_t)(s->h * s->w * s->C) * sizeof *z) != 0);
					if (!place) continue;
					/* 3 x 2 patches. */
					CHECK(z[6] >= 0 && z[6] <= 2 && z[7] >= 0 && z[7] <= 1);
					spread += fabs((double)(z[6] - first[6])) + fabs((double)(z[7] - first[7]));
				}
				if (place) CHECK(spread > 1);
				/* f has the targets' variance. */
				{
					odvgp_real m[30], v[30];
					predict(&a, a.X, 30, m, v, NULL);
					for (i = 0; i < 30; i++) mean += (double)a.Y[i] / 30, k += (double)v[i] / 30;
					for (i = 0; i < 30; i++)
						target += ((double)a.Y[i] - mean) * ((double)a.Y[i] - mean) / 30;
					CHECK_SAY(k > 0.5 * target && k < 2 * target, "variance of f %g, of y %g", k,
							target);
				}
				/* Again with the same bits. */
				CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
				again = values(&a, "Z_beta");
				CHECK_BITS(again, Z[0], (size_t)(6 * width) * sizeof *again);
				free(again), free(Z[0]), free(Z[1]);
				drop(&a);
			}
}

/* ---- memory ---- */

/*  Beyond a model of points as wide as patches, training needs for one image its patches and 256
    rows of their kernel matrix, for each row of a tile an image and T numbers, and patches that may
    become inducing ones: the same for 2,000 and for 60,000 images. */
TEST(memory)
{
	static const shape shapes[] = {{28, 28, 1, 5, 5, 1, 0, 1}, {32, 32, 3, 5, 5, 1, 1, 1}};
	int k;
	for (k = 0; k < 2; k++) {
		const shape *s = &shapes[k];
		enum { M = 64, TILE = 32 };
		odvgp_config c = odvgp_config_defaults(2000, 1, 1, M, 0);
		odvgp_info info = no_info();
		size_t images, many, points;
		double T = (double)patch_count(s), d = (double)patch_width(s),
			   D = (double)(s->H * s->W * s->C), stated;
		set_shape(&c, 0, s);
		c.layer[0].kernel = "rbf";
		c.optim.batch = TILE;
		CHECK_SAY(sized(&images, odvgp_model_size(&c, &info), &info) == ODVGP_OK, "%s", info.text);
		c.N = 60000;
		CHECK_STATUS(sized(&many, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
		CHECK_INT(many, images);
		c = odvgp_config_defaults(2000, patch_width(s), 1, M, 0);
		c.layer[0].kernel = "rbf";
		c.optim.batch = TILE;
		CHECK_STATUS(sized(&points, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
		/* Each kernel matrix has rows of T numbers, padded; its points are stored in two orders. */
		stated = 256 * (3 * (T + 64) + 4 * d) + 6 * (T + 64) * (d + 1) + TILE * (D + T) + D;
		stated += 6400 * (d + 3) + 8 * T;
		CHECK_SAY((double)(images - points) < stated * sizeof(odvgp_real), "%g bytes, stated %g",
				(double)(images - points), stated * sizeof(odvgp_real));
		test_note("%ld x %ld x %ld: %.2f MB", (long)s->H, (long)s->W, (long)s->C,
				(double)images / 1e6);
	}
}

/* ---- refusals ---- */

TEST(refusals)
{
	static const struct {
		shape s;
		ptrdiff_t D;
		odvgp_status status;
		const char *what;
	} bad[] = {{{4, 3, 2, 5, 2, 1, 0, 1}, 24, ODVGP_E_SIZE, "patches.height"},
			{{4, 3, 2, 2, 4, 1, 0, 1}, 24, ODVGP_E_SIZE, "patches.width"},
			{{4, 3, 2, 2, 2, 1, 0, 1}, 23, ODVGP_E_SIZE, "D"},
			{{4, 3, 3, 2, 2, 1, 0, 1}, 24, ODVGP_E_SIZE, "D"},
			{{4, 0, 2, 2, 2, 1, 0, 1}, 24, ODVGP_E_ARG, "patches.image_width"},
			{{4, 3, 2, 0, 2, 1, 0, 1}, 24, ODVGP_E_SIZE, "patches.height"},
			{{4, 3, 2, 2, 0, 1, 0, 1}, 24, ODVGP_E_SIZE, "patches.width"},
			{{0, 3, 2, 2, 2, 1, 0, 1}, 24, ODVGP_E_ARG, "patches.image_height"},
			{{0, 0, 0, 0, 0, 0, 1, 1}, 24, ODVGP_E_ARG, "patches.image_height"},
			{{-4, 3, 2, 2, 2, 1, 0, 1}, 24, ODVGP_E_SIZE, "patches.image_height"},
			{{4, 3, 2, 2, 2, -1, 0, 1}, 24, ODVGP_E_SIZE, "patches.stride"},
			{{4, 3, 2, 2, 2, 1, 2, 1}, 24, ODVGP_E_ARG, "patches.locations"},
			{{2147483647, 2147483647, 2147483647, 2, 2, 1, 0, 1}, 24, ODVGP_E_SIZE, "D"}};
	size_t k, bytes = 77;
	odvgp_info info;
	odvgp_config c;
	for (k = 0; k < sizeof bad / sizeof *bad; k++) {
		c = odvgp_config_defaults(10, 24, 1, 3, 0);
		set_shape(&c, 0, &bad[k].s);
		c.layer[0].D = bad[k].D;
		info = no_info();
		CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, &info), &info), bad[k].status);
		CHECK_SAY(info.what && !strcmp(info.what, bad[k].what) && strchr(info.text, ' '),
				"case %d: %s", (int)k, info.text);
	}
	CHECK(bytes == 77);
	c = odvgp_config_defaults(10, 24, 1, 3, 0);
	set_shape(&c, 0, &small);
	c.optim.batch = 10;
	c.optim.natgrad = 0;
	c.objective = ODVGP_OBJECTIVE_TIGHT;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_UNSUPPORTED);
	c.objective = ODVGP_OBJECTIVE_ELBO;
	c.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_UNSUPPORTED);
	c.init.hyperparams = ODVGP_INIT_HYPER_MEDIAN;
	c.layer[0].kernel = "rbf(dims=0:9)";
	/* A patch has 8 columns. */
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_KERNEL);
	c.layer[0].kernel = "rbf(dims=0:8)";
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
	/* Names, and 0 for one channel and stride 1. */
	c = odvgp_config_defaults(10, 16, 1, 3, 0);
	CHECK_STATUS(odvgp_config_set(&c, "patches.image_height=4", NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_config_set(&c, "layer0.patches.image_width=4", NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_config_set(&c, "patches.height=3", NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_config_set(&c, "patches.width=2", NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_config_set(&c, "patches.locations=on", NULL), ODVGP_OK);
	{
		fixture a;
		memset(&a, 0, sizeof a);
		make_block(&a, &c);
		CHECK_INT(slot(&a, "weights")->count, 6);
		CHECK_INT(slot(&a, "Z_beta")->shape[1], 8);
		free(a.block);
	}
}

TEST(frozen_weights_do_not_move)
{
	odvgp_config c = trained_config(BETA, ODVGP_COV_PART_DENSE, 0);
	test_seed = 211;
	fixture a = make(&c);
	const odvgp_slot *w = slot(&a, "weights");
	for (int trainable = 0; trainable < 2; trainable++) {
		odvgp_real *before = values(&a, "weights"), *after;
		CHECK_STATUS(odvgp_set_trainable(a.m, "weights", trainable, NULL), ODVGP_OK);
		for (int i = 0; i < 3; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		after = values(&a, "weights");
		CHECK((test_max_diff(before, after, w->count) > 0) == trainable);
		free(before), free(after);
	}
	drop(&a);
}

/*  A predictor whose sizes do not fit together is refused, with a right checksum. */
TEST(forged_predictors)
{
	odvgp_config c = trained_config(BLOCKS, ODVGP_COV_PART_BLOCKS, 0);
	fixture a;
	size_t bytes, i;
	gp__predictor *head;
	odvgp_server server;
	uint32_t *field;
	static const uint32_t wrong[] = {0, 1, 2, 7, 6, 20, 0x7fffffffu, 0xffffffffu};
	size_t w;
	test_seed = 210;
	a = make(&c);
	bytes = odvgp_predictor_size(a.m, NULL);
	head = (gp__predictor *)test_alloc(bytes);
	CHECK_STATUS(serve(a.m, NULL, head, bytes, &server, NULL), ODVGP_OK);
	field = (uint32_t *)(void *)&head->patches;
	for (i = 0; i < sizeof head->patches / sizeof *field; i++)
		for (w = 0; w < sizeof wrong / sizeof *wrong; w++) {
			uint32_t keep = field[i];
			odvgp_info info = no_info();
			odvgp_status s;
			if (wrong[w] == keep) continue;
			field[i] = wrong[w];
			gp__predictor_sum(head, head->checksum);
			s = odvgp_server_from_block(&server, head, bytes, test_isa(), &info);
			/* Another stride may leave the sizes as they are. */
			CHECK_SAY(s == ODVGP_E_FORMAT || (i == 5 && s == ODVGP_OK), "field %d = %u: %s", (int)i,
					wrong[w], odvgp_status_text(s));
			field[i] = keep;
		}
	free(head);
	drop(&a);
}

/*  Model files with a right checksum whose patches fit neither the image nor the arrays, or whose
    units of patches are no numbers, are refused. */
TEST(forged_files)
{
	int wrong;
	for (wrong = 0; wrong < 9; wrong++) {
		odvgp_config c = trained_config(ORTH, ODVGP_COV_PART_DENSE, 1);
		fixture a;
		size_t bytes;
		unsigned char *file;
		odvgp_model *b = NULL;
		odvgp_info info = no_info();
		odvgp_status s;
		void *block;
		test_seed = 220;
		a = make(&c);
		switch (wrong) {
		case 1: a.m->cfg.layer[0].patches.image_height = 0; break;
		case 2: a.m->cfg.layer[0].patches.image_height = 5; break;
		case 3: a.m->cfg.layer[0].patches.height = 5; break;
		case 4: a.m->cfg.layer[0].patches.height = 3; break;
		case 5: a.m->cfg.layer[0].patches.stride = 2; break;
		case 6: a.m->cfg.layer[0].patches.locations = 1; break;
		case 7: a.m->data_sd[a.m->unit->D + 1] = 0; break;
		case 8: a.m->data_sd[a.m->unit->D + 8] = (odvgp_real)NAN; break;
		default: break;
		}
		file = save_file(a.m, NULL, "", &bytes);
		block = test_alloc(a.bytes);
		s = odvgp_load_memory(&b, file, bytes, NULL, test_isa(), block, a.bytes, &info);
		CHECK_SAY((s == ODVGP_OK) == !wrong && !b == (wrong != 0) && (!wrong || info.text[0]),
				"forgery %d: %s", wrong, odvgp_status_text(s));
		CHECK_SAY(!wrong || s == ODVGP_E_FORMAT || s == ODVGP_E_SIZE || s == ODVGP_E_ARG,
				"forgery %d: %s: %s", wrong, odvgp_status_text(s), info.text);
		free(block), free(file);
		drop(&a);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(one_patch_is_the_plain_model);
	RUN(two_patches_by_hand);
	RUN(kernels_of_images_are_sums);
	RUN(adjoints_of_images);
	RUN(gradients_of_every_pair);
	RUN(predictors_agree_with_models);
	RUN(training_threads_and_files);
	RUN(every_likelihood);
	RUN(optimum_bounds_and_warm_start);
	RUN(starts);
	RUN(memory);
	RUN(refusals);
	RUN(frozen_weights_do_not_move);
	RUN(forged_predictors);
	RUN(forged_files);
	return test_end();
}

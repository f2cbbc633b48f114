/*  Functions that are mixtures of latent ones: derivatives, the identity mixture beside the model
    without one, predictions and samples beside W times the latent ones', the start, files, what is
    refused, and data of rank 2. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"

enum { ROWS = 40, INPUTS = 2, LATENT = 2, FUNCTIONS = 4, BETA = 5, GAMMA = 4 };

/*  Members with gamma points and without, of each kind of covariance. */
static const struct {
	const char *name;
	odvgp_mean_part mean;
	odvgp_cov_part cov;
	ptrdiff_t gamma;
	int natgrad;
} members[] = {{"COUPLED", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 0, 1},
		{"ORTH", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, GAMMA, 1},
		{"HYBRID", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, GAMMA, 1},
		{"DECOUPLED", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE, GAMMA, 0},
		{"SOLVE-GP", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, GAMMA, 1},
		{"O(M)", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, 0, 1}};
enum { MEMBERS = sizeof members / sizeof *members };

static odvgp_config config_of(int member, ptrdiff_t P, ptrdiff_t functions, odvgp_likelihood lik)
{
	odvgp_config c = config(ROWS, INPUTS, P, BETA, members[member].gamma);
	c.layer[0].kernel = "matern52 + rbf";
	c.layer[0].mean_part = members[member].mean;
	c.layer[0].cov_part = members[member].cov;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	c.optim.natgrad = members[member].natgrad;
	c.optim.batch = ROWS;
	c.optim.gamma_batch = 0;
	c.functions = functions;
	c.lik.kind = lik;
	c.lik.noise_variance = 0;
	c.lik.noise_per_output = lik == ODVGP_LIKELIHOOD_GAUSSIAN;
	c.tile = 16;
	return c;
}

/*  Targets of four functions of rank 2; counts for other likelihoods than the Gaussian. */
static void rank_two(fixture *a, ptrdiff_t N, ptrdiff_t T, int counts, double noise)
{
	static const double W[FUNCTIONS][2] = {{1, 0.3}, {-0.6, 0.9}, {0.8, -0.7}, {0.4, 1.1}};
	make_data(a, N, INPUTS, T, 1, 0);
	for (ptrdiff_t i = 0; i < N; i++) {
		double g = sin(1.5 * (double)a->X[i * INPUTS]), h = cos(1.2 * (double)a->X[i * INPUTS + 1]);
		for (ptrdiff_t t = 0; t < T; t++) {
			double f = W[t][0] * g + W[t][1] * h;
			a->Y[i * T + t] = (odvgp_real)(counts ? floor(exp(f) + test_between(0, 1))
												  : f + noise * test_normal());
		}
	}
}

/*  A model whose slots have random values near the start. */
static fixture make_mixed(const odvgp_config *c, ptrdiff_t T)
{
	fixture a;
	memset(&a, 0, sizeof a);
	rank_two(&a, c->N, T, c->lik.kind == ODVGP_LIKELIHOOD_POISSON, 0.2);
	odvgp_real *X = a.X, *Y = a.Y;
	make_block(&a, c);
	a.X = X, a.Y = Y;
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	shake_slots(&a);
	return a;
}

TEST(gradients_agree_with_differences)
{
	static const odvgp_likelihood liks[] = {
			ODVGP_LIKELIHOOD_GAUSSIAN, ODVGP_LIKELIHOOD_POISSON, ODVGP_LIKELIHOOD_STUDENTT};
	test_seed = 501;
	for (int k = 0; k < MEMBERS; k++)
		for (int l = 0; l < 3; l++) {
			odvgp_config c = config_of(k, LATENT, FUNCTIONS, liks[l]);
			char where[60];
			c.N = c.optim.batch = 12;
			c.tile = 5;
			fixture a = make_mixed(&c, FUNCTIONS);
			snprintf(where, sizeof where, "%s, likelihood %d", members[k].name, (int)liks[l]);
			check_gradient(&a, NULL, 0, BY_PRECISION(1e-8, 2e-2), 1, where);
			drop(&a);
		}
}

TEST(gradients_of_a_stack)
{
	odvgp_config c = config_of(0, LATENT, FUNCTIONS, ODVGP_LIKELIHOOD_GAUSSIAN);
	test_seed = 502;
	c.N = c.optim.batch = 10;
	c.layers = 2;
	c.layer[0].P = 2;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	c.layer[1] = c.layer[0];
	c.layer[1].mean_function = ODVGP_MEAN_FUNCTION_ZERO;
	c.layer[1].D = 2;
	c.deep.samples = 3;
	c.deep.fixed_samples = 1;
	fixture a = make_mixed(&c, FUNCTIONS);
	CHECK(slot(&a, "layer1.mixing") != NULL);
	CHECK(!slot(&a, "layer1.kernel.0.variance")->trainable);
	CHECK(slot(&a, "layer0.kernel.0.variance")->trainable);
	check_gradient(&a, NULL, 0, BY_PRECISION(1e-7, 2e-2), 1, "a stack");
	drop(&a);
}

/*  W = I: the bits of the model without a mixture, in bounds, steps of natural gradients and Adam,
    and predictions. L-BFGS sums over a parameter vector that is longer by W, in another order. */
static int same(const odvgp_real *x, const odvgp_real *y, ptrdiff_t n, int lbfgs)
{
	int all = 1;
	for (ptrdiff_t i = 0; i < n; i++)
		all &= lbfgs ? fabs((double)x[i] - (double)y[i]) <=
							   BY_PRECISION(1e-9, 2e-2) * (1 + fabs((double)x[i]))
					 : !memcmp(x + i, y + i, sizeof *x);
	return all;
}
TEST(an_identity_mixture_changes_nothing)
{
	enum { P = 3, n = 7 };
	odvgp_real W[P * P] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
	test_seed = 503;
	for (int k = 0; k < MEMBERS; k++)
		for (int lbfgs = 0; lbfgs < 2; lbfgs++) {
			odvgp_config c = config_of(k, P, 0, ODVGP_LIKELIHOOD_GAUSSIAN);
			if (lbfgs) c.optim.kind = ODVGP_OPTIMIZER_LBFGS, c.optim.natgrad = 0;
			fixture a = make_mixed(&c, P), b;
			c.functions = P;
			b = make_mixed(&c, P);
			memcpy(b.X, a.X, (size_t)(ROWS * INPUTS) * sizeof *a.X);
			memcpy(b.Y, a.Y, (size_t)(ROWS * P) * sizeof *a.Y);
			CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_init_data(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.*", 0, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_set_trainable(b.m, "kernel.*", 0, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_set_trainable(b.m, "mixing", 0, NULL), ODVGP_OK);
			copy_slots(&b, &a, NULL);
			assign(&b, "mixing", W);
			/* Steps are in units of the processes: of the targets without a mixture, else of 1. */
			a.m->data_sd[INPUTS] = b.m->data_sd[INPUTS] = 1;
			for (int step = 0; step < 5; step++) {
				odvgp_report of_a, of_b;
				CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &of_a, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, &of_b, NULL), ODVGP_OK);
				CHECK_SAY(same(&of_a.elbo, &of_b.elbo, 1, lbfgs && step),
						"%s, step %d: bounds %.17g and %.17g", members[k].name, step,
						(double)of_a.elbo, (double)of_b.elbo);
			}
			for (int s = 0; s < odvgp_slot_count(a.m); s++) {
				const char *name = odvgp_slot_at(a.m, s)->name;
				odvgp_real *x = values(&a, name), *y = values(&b, name);
				CHECK_SAY(same(x, y, slot(&a, name)->count, lbfgs), "%s: %s differs",
						members[k].name, name);
				free(x), free(y);
			}
			odvgp_real mean[2][P * n], var[2][P * n], cov[2][P * n * n];
			predict(&a, a.X, n, mean[0], var[0], cov[0]);
			predict(&b, b.X, n, mean[1], var[1], cov[1]);
			CHECK(same(mean[0], mean[1], P * n, lbfgs) && same(var[0], var[1], P * n, lbfgs) &&
					same(cov[0], cov[1], P * n * n, lbfgs));
			drop(&a), drop(&b);
		}
}

/*  W times the latent ones' predictions, computed by a model without a mixture. */
TEST(predictions_are_mixtures)
{
	enum { P = LATENT, F = FUNCTIONS, n = 20 };
	const double tol = BY_PRECISION(1e-12, 1e-4);
	test_seed = 504;
	for (int k = 0; k < MEMBERS; k++) {
		odvgp_config c = config_of(k, P, F, ODVGP_LIKELIHOOD_GAUSSIAN);
		fixture a = make_mixed(&c, F), b;
		c.functions = 0;
		c.lik.noise_per_output = 0;
		b = make_mixed(&c, P);
		for (int s = 0; s < odvgp_slot_count(b.m); s++) {
			const char *name = odvgp_slot_at(b.m, s)->name;
			if (!strcmp(name, "noise_variance")) continue;
			odvgp_real *v = values(&a, name);
			assign(&b, name, v);
			free(v);
		}
		odvgp_real y_mean[F], y_scale[F], *W = values(&a, "mixing"), *noise;
		odvgp_scales scales = {NULL, NULL, y_mean, y_scale};
		noise = values(&a, "noise_variance");
		for (int f = 0; f < F; f++) y_mean[f] = (odvgp_real)f, y_scale[f] = (odvgp_real)(1 + f);
		served mixed = serve_rows(&a, &scales, n), latent = serve_rows(&b, NULL, n);
		odvgp_real mean[F * n], var[F * n], var_y[F * n], cov[F * n * n], m[P * n], v[P * n],
				C[P * n * n], one[F], one_var[F], cross[n * F * F], again[F * n], logp[n],
				draws[F * n], g[P * n];
		CHECK_INT(mixed.s.P, P);
		CHECK_INT(mixed.s.F, F);
		CHECK_INT(mixed.s.T, F);
		CHECK_STATUS(odvgp_predict(&mixed.s, a.X, n, mean, var, mixed.scratch, mixed.bytes, NULL),
				ODVGP_OK);
		CHECK_STATUS(
				odvgp_predict_y(&mixed.s, a.X, n, NULL, var_y, mixed.scratch, mixed.bytes, NULL),
				ODVGP_OK);
		CHECK_STATUS(odvgp_predict(&latent.s, a.X, n, m, v, latent.scratch, latent.bytes, NULL),
				ODVGP_OK);
		CHECK_STATUS(
				odvgp_predict_cov(&mixed.s, a.X, n, again, cov, mixed.scratch, mixed.bytes, NULL),
				ODVGP_OK);
		CHECK_STATUS(
				odvgp_predict_cov(&latent.s, a.X, n, NULL, C, latent.scratch, latent.bytes, NULL),
				ODVGP_OK);
		for (int f = 0; f < F; f++)
			for (int i = 0; i < n; i++) {
				double want = 0, spread = 0, s = (double)y_scale[f];
				for (int q = 0; q < P; q++) {
					double w = (double)W[f * P + q];
					want += w * (double)m[q * n + i];
					spread += w * w * (double)v[q * n + i];
				}
				CHECK_NEAR(mean[f * n + i], (double)y_mean[f] + s * want, tol * 10);
				CHECK_NEAR(again[f * n + i], (double)mean[f * n + i], tol * 10);
				CHECK_NEAR(var[f * n + i], s * s * spread, tol * s * s * (1 + spread));
				CHECK_NEAR(var_y[f * n + i], s * s * (spread + (double)noise[f]),
						tol * s * s * (1 + spread));
				for (int j = 0; j < n; j++) {
					double sum = 0;
					for (int q = 0; q < P; q++)
						sum += (double)W[f * P + q] * (double)W[f * P + q] *
							   (double)C[(q * n + i) * n + j];
					CHECK_NEAR(cov[(f * n + i) * n + j], s * s * sum, tol * s * s * (1 + spread));
				}
			}
		/* One row at a time, and the covariance of functions at each row. */
		CHECK_STATUS(odvgp_predict(&mixed.s, a.X + INPUTS, 1, one, one_var, mixed.scratch,
							 mixed.bytes, NULL),
				ODVGP_OK);
		for (int f = 0; f < F; f++) {
			CHECK_NEAR(one[f], (double)mean[f * n + 1], tol * 10);
			CHECK_NEAR(one_var[f], (double)var[f * n + 1], tol * 40);
		}
		CHECK_STATUS(odvgp_predict_functions(
							 &mixed.s, a.X, n, again, cross, mixed.scratch, mixed.bytes, NULL),
				ODVGP_OK);
		CHECK_BITS(again, mean, sizeof mean);
		for (int i = 0; i < n; i++)
			for (int f = 0; f < F; f++)
				for (int h = 0; h < F; h++) {
					double sum = 0;
					for (int q = 0; q < P; q++)
						sum += (double)W[f * P + q] * (double)W[h * P + q] * (double)v[q * n + i];
					CHECK_NEAR(cross[(f * F + h) * n + i],
							sum * (double)y_scale[f] * (double)y_scale[h], tol * 40);
				}
		CHECK_STATUS(odvgp_predict_functions(
							 &latent.s, a.X, n, NULL, cross, latent.scratch, latent.bytes, NULL),
				ODVGP_OK);
		for (int i = 0; i < n; i++)
			for (int q = 0; q < P * P; q++)
				CHECK((double)cross[q * n + i] == (q / P == q % P ? (double)v[q / P * n + i] : 0));
		/* Densities of y: the sum of the functions' Gaussians. */
		CHECK_STATUS(
				odvgp_predict_logp(&mixed.s, a.X, a.Y, n, logp, mixed.scratch, mixed.bytes, NULL),
				ODVGP_OK);
		for (int i = 0; i < n; i++) {
			double want = 0;
			for (int f = 0; f < F; f++) {
				double d = (double)a.Y[i * F + f] - (double)mean[f * n + i],
					   s = (double)var_y[f * n + i];
				want -= 0.5 * (log(2 * 3.14159265358979323846 * s) + d * d / s);
			}
			CHECK_NEAR(logp[i], want, tol * 10 * (1 + fabs(want)));
		}
		/* One sample uses the same normals for the latent functions. */
		size_t need = odvgp_sample_scratch(&mixed.s, n, NULL);
		void *scratch = test_alloc(need);
		CHECK_STATUS(
				odvgp_sample(&mixed.s, a.X, n, &(odvgp_draws){1, 9}, draws, scratch, need, NULL),
				ODVGP_OK);
		CHECK_STATUS(odvgp_sample(&latent.s, a.X, n, &(odvgp_draws){1, 9}, g, scratch, need, NULL),
				ODVGP_OK);
		for (int f = 0; f < F; f++)
			for (int i = 0; i < n; i++) {
				double sum = 0;
				for (int q = 0; q < P; q++) sum += (double)W[f * P + q] * (double)g[q * n + i];
				CHECK_NEAR(
						draws[f * n + i], (double)y_mean[f] + (double)y_scale[f] * sum, tol * 100);
			}
		free(scratch), free(W), free(noise);
		unserve(&mixed), unserve(&latent);
		drop(&a), drop(&b);
	}
}

/*  With P = F columns, W W^T is the targets' covariance. Largest entries are positive, columns of
    standardised functions orthogonal, and largest first. */
TEST(the_start_is_principal_directions)
{
	enum { F = FUNCTIONS };
	test_seed = 505;
	for (int missing = 0; missing < 2; missing++)
		for (ptrdiff_t P = 1; P <= F; P++) {
			odvgp_config c = config_of(0, P, F, ODVGP_LIKELIHOOD_GAUSSIAN);
			fixture a;
			double mean[F] = {0}, sd[F] = {0}, seen[F] = {0};
			c.lik.missing = missing;
			memset(&a, 0, sizeof a);
			rank_two(&a, ROWS, F, 0, 0.5);
			for (ptrdiff_t i = 0; i < ROWS; i++) {
				for (int f = 0; f < F; f++)
					a.Y[i * F + f] = (odvgp_real)(f + (f + 1) * (double)a.Y[i * F + f]);
				if (missing) a.Y[i * F + i % F] = (odvgp_real)NAN;
			}
			for (int pass = 0; pass < 2; pass++)
				for (ptrdiff_t i = 0; i < ROWS * F; i++) {
					double y = (double)a.Y[i];
					if (y != y) continue;
					if (!pass) mean[i % F] += y, seen[i % F]++;
					else
						sd[i % F] +=
								(y - mean[i % F] / seen[i % F]) * (y - mean[i % F] / seen[i % F]);
				}
			for (int f = 0; f < F; f++) mean[f] /= seen[f], sd[f] = sqrt(sd[f] / seen[f]);
			odvgp_real *X = a.X, *Y = a.Y;
			make_block(&a, &c);
			a.X = X, a.Y = Y;
			CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			odvgp_real *W = values(&a, "mixing");
			double last = HUGE_VAL, *U = NEW(double, F *P);
			for (ptrdiff_t p = 0; p < P; p++) {
				double most = 0, size = 0;
				for (int f = 0; f < F; f++) {
					double u = U[f * P + p] = (double)W[f * P + p] / sd[f];
					size += u * u;
					if (fabs(u) > fabs(most)) most = u;
				}
				CHECK(most > 0 && size <= last * (1 + 1e-3) && size > 0.0099);
				last = size;
				for (ptrdiff_t q = 0; q < p; q++) {
					double dot = 0;
					for (int f = 0; f < F; f++) dot += U[f * P + p] * U[f * P + q];
					CHECK_NEAR(dot, 0, BY_PRECISION(1e-10, 1e-4));
				}
			}
			for (int f = 0; f < F && P == F; f++)
				for (int h = 0; h < F; h++) {
					double sum = 0, want = 0;
					for (ptrdiff_t i = 0; i < ROWS; i++) {
						double y = (double)a.Y[i * F + f], z = (double)a.Y[i * F + h];
						if (y == y && z == z)
							want += (y - mean[f]) * (z - mean[h]) / (sd[f] * sd[h] * ROWS);
					}
					for (ptrdiff_t p = 0; p < P; p++) sum += U[f * P + p] * U[h * P + p];
					CHECK_NEAR(sum, want, 2e-3);
				}
			CHECK(number(a.m, "kernel.0.variance") == 1 && number(a.m, "kernel.1.variance") == 1);
			CHECK(!slot(&a, "kernel.0.variance")->trainable && slot(&a, "mixing")->trainable &&
					slot(&a, "kernel.0.lengthscale")->trainable);
			free(W), free(U);
			drop(&a);
		}
}

/*  All members, trained with Adam and L-BFGS; files continue with the same bits, and their
    predictors predict the same. Units of the targets do not matter. */
TEST(models_train_and_are_saved)
{
	enum { n = 5, F = FUNCTIONS };
	static const odvgp_likelihood liks[] = {ODVGP_LIKELIHOOD_GAUSSIAN, ODVGP_LIKELIHOOD_POISSON};
	test_seed = 506;
	for (int k = 0; k < MEMBERS; k++)
		for (int round = 0; round < 4; round++) {
			odvgp_config c = config_of(k, LATENT, F, liks[round % 2]);
			double before, after;
			if (round / 2) c.optim.kind = ODVGP_OPTIMIZER_LBFGS, c.optim.natgrad = 0;
			fixture a = make_mixed(&c, F);
			CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			before = elbo_of(&a, NULL, NULL);
			odvgp_real *start = values(&a, "mixing"), *end;
			for (int i = 0; i < 10; i++)
				CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			after = elbo_of(&a, NULL, NULL);
			end = values(&a, "mixing");
			CHECK_SAY(after > before, "%s, round %d: %.10g, then %.10g", members[k].name, round,
					before, after);
			CHECK(memcmp(start, end, F * LATENT * sizeof *end) != 0);
			check_loaded(&a, n);
			free(start), free(end);
			drop(&a);
		}
}

TEST(units_of_the_targets_do_not_matter)
{
	enum { n = 6, F = FUNCTIONS };
	odvgp_real mean[2][F * n], var[2][F * n];
	for (int k = 0; k < 2; k++) {
		const double unit = k ? 1024 : 1;
		odvgp_config c = config_of(1, LATENT, F, ODVGP_LIKELIHOOD_GAUSSIAN);
		test_seed = 507;
		fixture a = make_mixed(&c, F);
		for (ptrdiff_t i = 0; i < ROWS * F; i++) a.Y[i] *= (odvgp_real)unit;
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		for (int i = 0; i < 20; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		predict(&a, a.X, n, mean[k], var[k], NULL);
		for (int i = 0; i < F * n && k; i++) {
			CHECK_NEAR((double)mean[1][i] / unit, (double)mean[0][i], BY_PRECISION(1e-7, 1e-2));
			CHECK_NEAR(
					(double)var[1][i] / (unit * unit), (double)var[0][i], BY_PRECISION(1e-7, 1e-2));
		}
		drop(&a);
	}
}

TEST(what_does_not_go_together_is_refused)
{
	static const odvgp_likelihood coupled[] = {
			ODVGP_LIKELIHOOD_ROBUSTMAX, ODVGP_LIKELIHOOD_SOFTMAX, ODVGP_LIKELIHOOD_HETEROSCEDASTIC};
	odvgp_config good = config_of(0, LATENT, FUNCTIONS, ODVGP_LIKELIHOOD_GAUSSIAN), c;
	size_t bytes;
	odvgp_real upper;
	for (int l = 0; l < 3; l++) {
		c = good;
		c.lik.kind = coupled[l];
		c.lik.noise_per_output = 0;
		REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_UNSUPPORTED);
	}
	c = good;
	c.functions = LATENT - 1;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_ARG);
	c.functions = -1;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
	c.functions = PTRDIFF_MAX / 2;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
	c = good;
	c.lik.noise_per_output = 0;
	c.objective = ODVGP_OBJECTIVE_COLLAPSED;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_UNSUPPORTED);
	test_seed = 508;
	fixture a = make_mixed(&good, FUNCTIONS);
	odvgp_real *before = values(&a, "mixing"), *after;
	void *work = test_alloc(1 << 20);
	REFUSED(odvgp_fit_q(a.m, a.X, a.Y, NULL, work, 1 << 20, &info), ODVGP_E_UNSUPPORTED);
	REFUSED(odvgp_upper_bound(a.m, a.X, a.Y, &upper, NULL, work, 1 << 20, &info),
			ODVGP_E_UNSUPPORTED);
	after = values(&a, "mixing");
	CHECK_BITS(before, after, FUNCTIONS * LATENT * sizeof *after);
	free(work), free(before), free(after);
	drop(&a);
}

/*  Targets of rank 2: a warm start finds the lengthscales of the latent functions and their q, so
    that training begins from a better bound than 20 steps of the cold start reach. The mixture and
    frozen slots stay. With counts, missing targets, other points or another q the bound does not
    fall. */
TEST(warm_starts_of_mixtures)
{
	enum { N = 150, F = FUNCTIONS };
	for (int k = 0; k < MEMBERS; k++)
		for (int way = 0; way < 4; way++) {
			odvgp_config c = config_of(
					k, LATENT, F, way == 1 ? ODVGP_LIKELIHOOD_POISSON : ODVGP_LIKELIHOOD_GAUSSIAN);
			odvgp_warm settings = {way == 2 ? 100 : 0, way == 2 ? 9 : 0, 25, 0};
			c.N = c.optim.batch = N;
			c.layer[0].M = 12;
			c.layer[0].kernel = "rbf(ard)";
			c.lik.missing = way == 3;
			c.lik.noise_per_output = way == 0;
			test_seed = 512;
			fixture a;
			memset(&a, 0, sizeof a);
			rank_two(&a, N, F, way == 1, 0.2);
			for (int i = 0; i < 10 && way == 3; i++) a.Y[7 * i] = (odvgp_real)NAN;
			odvgp_real *X = a.X, *Y = a.Y;
			make_block(&a, &c);
			a.X = X, a.Y = Y;
			CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			double cold = elbo_of(&a, NULL, NULL), variance = number(a.m, "kernel.0.variance");
			odvgp_real *W = values(&a, "mixing"), *after;
			size_t bytes = odvgp_warm_start_scratch(a.m, &settings, NULL);
			void *work = test_alloc(bytes);
			odvgp_info info = no_info();
			CHECK_SAY(odvgp_warm_start(a.m, a.X, a.Y, &settings, NULL, work, bytes, &info) ==
							  ODVGP_OK,
					"%s: %s", members[k].name, info.text);
			REFUSED(odvgp_warm_start(a.m, a.X, a.Y, &settings, NULL, work, bytes / 2, &info),
					ODVGP_E_MEMORY);
			double warm = elbo_of(&a, NULL, NULL);
			after = values(&a, "mixing");
			CHECK_BITS(after, W, F * LATENT * sizeof *W);
			CHECK(number(a.m, "kernel.0.variance") == variance);
			CHECK_SAY(warm >= cold, "%s, way %d: %.10g, then %.10g", members[k].name, way, cold,
					warm);
			if (k == 0 && way != 2) {
				CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
				for (int i = 0; i < 20; i++)
					CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
				double steps = elbo_of(&a, NULL, NULL);
				CHECK_SAY(warm > steps || way == 1, "way %d: cold %.6g, warm %.6g, 20 steps %.6g",
						way, cold, warm, steps);
				test_note("way %d: cold %.6g, warm %.6g, 20 steps %.6g", way, cold, warm, steps);
			}
			free(work), free(W), free(after);
			drop(&a);
		}
}

/*  Large steps: the latent functions move at the same time, and the likelihood couples them, yet
    the bound does not fall. All columns of W are equal, so that steps of size 1 would overshoot. */
TEST(natural_steps_of_coupled_functions_do_not_overshoot)
{
	enum { P = 4 };
	odvgp_config c = config_of(0, P, FUNCTIONS, ODVGP_LIKELIHOOD_GAUSSIAN);
	odvgp_real W[FUNCTIONS * P];
	double last = -HUGE_VAL;
	int shortened = 0;
	test_seed = 509;
	c.optim.natgrad_step = odvgp_constant(1);
	fixture a = make_mixed(&c, FUNCTIONS);
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	for (int i = 0; i < FUNCTIONS * P; i++) W[i] = 1;
	assign(&a, "mixing", W);
	for (int s = 0; s < odvgp_slot_count(a.m); s++) {
		const odvgp_slot *t = odvgp_slot_at(a.m, s);
		if (!t->natgrad) CHECK_STATUS(odvgp_set_trainable(a.m, t->name, 0, NULL), ODVGP_OK);
	}
	for (int i = 0; i < 30; i++) {
		odvgp_report r;
		CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
		CHECK_SAY((double)r.elbo >= last - 1e-6 * fabs(last), "step %d: %.12g after %.12g", i,
				(double)r.elbo, last);
		last = (double)r.elbo;
		shortened = (int)r.events.step_shortened;
	}
	CHECK(shortened > 0);
	drop(&a);
}

/*  Four noisy outputs of two functions. Said beforehand: the mixture's error of the functions at
    new inputs is at most 0.85 of that of four independent functions (half of the noise averages
    out: 0.71 at best), and W's columns leave less than a tenth of the truth's unexplained. */
TEST(data_of_rank_two_are_recovered)
{
	enum { N = 200, n = 300, F = FUNCTIONS };
	static const double truth[F][2] = {{1, 0.3}, {-0.6, 0.9}, {0.8, -0.7}, {0.4, 1.1}};
	double error[2] = {0, 0}, outside = 0, whole = 0;
	fixture fresh;
	test_seed = 510;
	memset(&fresh, 0, sizeof fresh);
	rank_two(&fresh, n, F, 0, 0);
	for (int mixed = 0; mixed < 2; mixed++) {
		odvgp_config c = config_of(0, mixed ? LATENT : F, mixed ? F : 0, ODVGP_LIKELIHOOD_GAUSSIAN);
		c.layer[0].kernel = "rbf(ard)";
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_ZERO;
		c.N = c.optim.batch = N;
		c.layer[0].M = 40;
		c.tile = 0;
		c.optim.lr = odvgp_constant((odvgp_real)0.02);
		test_seed = 511;
		fixture a;
		memset(&a, 0, sizeof a);
		rank_two(&a, N, F, 0, 0.6);
		odvgp_real *X = a.X, *Y = a.Y, *mean = NEW(odvgp_real, F * n);
		make_block(&a, &c);
		a.X = X, a.Y = Y;
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		for (int i = 0; i < 400; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		predict(&a, fresh.X, n, mean, NULL, NULL);
		for (ptrdiff_t i = 0; i < n; i++)
			for (int f = 0; f < F; f++) {
				double d = (double)mean[f * n + i] - (double)fresh.Y[i * F + f];
				error[mixed] += d * d / (n * F);
			}
		error[mixed] = sqrt(error[mixed]);
		if (mixed) { /* Gram-Schmidt, then the truth's parts outside */
			odvgp_real *W = values(&a, "mixing");
			double u[2][F];
			for (int p = 0; p < 2; p++) {
				double dot = 0, size = 0;
				for (int f = 0; f < F; f++) u[p][f] = (double)W[f * 2 + p];
				for (int f = 0; f < F && p; f++) dot += u[0][f] * u[1][f];
				for (int f = 0; f < F; f++) {
					if (p) u[1][f] -= dot * u[0][f];
					size += u[p][f] * u[p][f];
				}
				for (int f = 0; f < F; f++) u[p][f] /= sqrt(size);
			}
			for (int q = 0; q < 2; q++) {
				double along[2] = {0, 0};
				for (int p = 0; p < 2; p++)
					for (int f = 0; f < F; f++) along[p] += u[p][f] * truth[f][q];
				for (int f = 0; f < F; f++) {
					double rest = truth[f][q] - along[0] * u[0][f] - along[1] * u[1][f];
					outside += rest * rest;
					whole += truth[f][q] * truth[f][q];
				}
			}
			free(W);
		}
		free(mean);
		drop(&a);
	}
	CHECK_SAY(error[1] <= 0.85 * error[0], "errors: mixture %.4f, independent %.4f", error[1],
			error[0]);
	CHECK_SAY(outside <= 0.1 * 0.1 * whole, "outside W's columns: %.4f", sqrt(outside / whole));
	test_note("errors: mixture %.4f, independent %.4f; outside %.4f", error[1], error[0],
			sqrt(outside / whole));
	drop(&fresh);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(gradients_agree_with_differences);
	RUN(gradients_of_a_stack);
	RUN(an_identity_mixture_changes_nothing);
	RUN(predictions_are_mixtures);
	RUN(the_start_is_principal_directions);
	RUN(models_train_and_are_saved);
	RUN(units_of_the_targets_do_not_matter);
	RUN(what_does_not_go_together_is_refused);
	RUN(warm_starts_of_mixtures);
	RUN(natural_steps_of_coupled_functions_do_not_overshoot);
	RUN(data_of_rank_two_are_recovered);
	return test_end();
}

/*  The model against brute force: joint Gaussians written out in long double, finite differences
    of the bound, averages over all subsets, and the optimum that a natural step reaches. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"

static wide mean_function(fixture *a, const odvgp_real *x, ptrdiff_t p)
{
	wide sum = 0;
	ptrdiff_t d;
	if (slot(a, "mean.c")) {
		odvgp_real *c = values(a, "mean.c");
		sum = (wide)c[p];
		free(c);
	}
	if (slot(a, "mean.A")) {
		odvgp_real *A = values(a, "mean.A"), *b = values(a, "mean.b");
		sum = (wide)b[p];
		for (d = 0; d < a->D; d++) sum += (wide)x[d] * (wide)A[d * a->P + p];
		free(A), free(b);
	}
	return sum;
}

/*  KL, moments and bound of every member, in each parametrisation, equal those of its own q to
    1e-13 of the joint condition number. */
TEST(every_member_is_its_own_gaussian)
{
	int orth, param, round, worst_condition = 0;
	test_seed = 201;
	for (orth = 0; orth < 2; orth++)
		for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
			for (round = 0; round < 8; round++) {
				const ptrdiff_t N = 5, D = 2, P = 2, M = 1 + round % 4,
								Mg = orth ? 1 + (round * 3) % 4 : 0;
				odvgp_config c = random_config(N, D, P, M, Mg);
				fixture a;
				ptrdiff_t p, i, j;
				double kl, elbo = 0, expect = 0, kl_sum = 0, condition = 0, tol, most = 0;
				odvgp_real *mean = NEW(odvgp_real, P * N), *var = NEW(odvgp_real, P * N),
						   *cov = NEW(odvgp_real, P * N * N);
				c.reproduce.parametrisation = (odvgp_parametrisation)param;
				c.layer[0].mean_function = (odvgp_mean_function)(round % 3);
				c.reproduce.gamma_coords = (odvgp_gamma_coords)(round % 3);
				c.reproduce.gamma_kl = (odvgp_gamma_kl)(round / 2 % 2);
				c.tile = round % 2 ? 2 : 0;
				if (round >= 4) {
					c.jitter.absolute = 0;
					c.jitter.relative = (odvgp_real)0.01;
				}
				a = make_pair(
						orth ? ORTH : BETA, ODVGP_COV_PART_DENSE, &c, random_kernels[round % 4]);
				elbo = elbo_of(&a, &kl, NULL);
				predict(&a, a.X, N, mean, var, cov);
				for (p = 0; p < P; p++) {
					joint g = joint_of(&a, p, a.X, N);
					tol = 1e-13 * (EPS / DBL_EPSILON) * g.condition;
					if (g.condition > condition) condition = g.condition;
					kl_sum += (double)g.kl;
					for (i = 0; i < N; i++) {
						ptrdiff_t at = g.x + i;
						double f = (double)(g.mean[at] + mean_function(&a, a.X + i * D, p)),
							   v = (double)g.cov[at * g.n + at], d = (double)a.Y[i * P + p] - f;
						double noise = (double)(odvgp_real)0.15;
						CHECK_SAY(fabs((double)mean[p * N + i] - f) <= tol * (1 + fabs(f)),
								"orth %d param %d round %d: mean %.15g, not %.15g", orth, param,
								round, (double)mean[p * N + i], f);
						CHECK_NEAR(var[p * N + i], v, tol * (1 + v));
						expect += -0.5 *
								  (log(2 * 3.14159265358979323846 * noise) + (d * d + v) / noise);
						for (j = 0; j < N; j++)
							CHECK_NEAR(cov[(p * N + i) * N + j], (double)g.cov[at * g.n + g.x + j],
									tol * 4);
					}
					drop_joint(&g);
				}
				tol = 1e-13 * (EPS / DBL_EPSILON) * condition;
				most = fabs(expect) + fabs(kl_sum) + 1;
				CHECK_SAY(fabs(kl - kl_sum) <= tol * most,
						"orth %d param %d round %d: KL %.15g, its q's %.15g (condition %.3g)", orth,
						param, round, kl, kl_sum, condition);
				CHECK_SAY(fabs(elbo - (expect - kl_sum)) <= tol * most,
						"orth %d param %d round %d: elbo %.15g, not %.15g", orth, param, round,
						elbo, expect - kl_sum);
				if (condition > worst_condition) worst_condition = (int)condition;
				free(mean), free(var), free(cov);
				drop(&a);
			}
	test_note("condition numbers to %d", worst_condition);
}

/*  Without gamma ORTH is COUPLED: its value, its gradients and its training are the same. */
TEST(orth_without_gamma_is_coupled)
{
	int param, i;
	for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++) {
		odvgp_config c = random_config(12, 2, 2, 4, 0);
		fixture a, b;
		odvgp_real *ga, *gb;
		c.reproduce.parametrisation = (odvgp_parametrisation)param;
		c.optim.batch = 5;
		c.layer[0].mean_part = ODVGP_MEAN_PART_ORTH;
		test_seed = 202;
		a = make_random(&c, random_kernels[0]);
		c.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
		test_seed = 202;
		b = make_random(&c, random_kernels[0]);
		ga = NEW(odvgp_real, odvgp_param_count(a.m));
		gb = NEW(odvgp_real, odvgp_param_count(b.m));
		CHECK_INT(odvgp_param_count(a.m), odvgp_param_count(b.m));
		CHECK(elbo_of(&a, NULL, ga) == elbo_of(&b, NULL, gb));
		CHECK_BITS(ga, gb, (size_t)odvgp_param_count(a.m) * sizeof *ga);
		for (i = 0; i < 30; i++) {
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
		}
		for (i = 0; i < odvgp_slot_count(a.m); i++) {
			const odvgp_slot *s = odvgp_slot_at(a.m, i);
			odvgp_real *va, *vb;
			if (!s->count) continue;
			va = values(&a, s->name);
			vb = values(&b, s->name);
			CHECK_SAY(memcmp(va, vb, (size_t)s->count * sizeof *va) == 0,
					"%s differs after training", s->name);
			free(va), free(vb);
		}
		free(ga), free(gb);
		drop(&a);
		drop(&b);
	}
}

/* ---- gradients ---- */

TEST(gradients_are_those_of_the_bound)
{
	int orth, param, round;
	static const ptrdiff_t columns[] = {3, 0};
	test_seed = 203;
	for (orth = 0; orth < 2; orth++)
		for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
			for (round = 0; round < 4; round++) {
				odvgp_config c = random_config(7, 2, 2, 3, orth ? 4 : 0);
				fixture a;
				char where[100];
				c.reproduce.parametrisation = (odvgp_parametrisation)param;
				c.layer[0].mean_function = (odvgp_mean_function)(round % 3);
				c.reproduce.gamma_coords = (odvgp_gamma_coords)((round + 2) % 3);
				c.reproduce.gamma_kl = (odvgp_gamma_kl)(round % 2);
				c.tile = round % 2 ? 3 : 0;
				c.positive_transform = round % 2 ? ODVGP_POSITIVE_TRANSFORM_EXP
												 : ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
				/* The factor N/B of a minibatch differs from 1. */
				c.N = round == 1 ? 50 : 7;
				c.jitter.absolute = (odvgp_real)(round == 2 ? 0 : 1e-3);
				/* The derivative of a relative jitter is part of the kernel's derivative. */
				c.jitter.relative = (odvgp_real)(round >= 2 ? 1e-2 : 0);
				/* This leaves out Matern 1/2, which is not differentiable at r = 0. */
				a = make_random(&c, random_kernels[(round + 1) % 4 == 2 ? 0 : (round + 1) % 4]);
				a.N = 7;
				snprintf(where, sizeof where, "orth %d param %d round %d", orth, param, round);
				check_gradient(&a, columns, orth && round >= 2 ? 2 : 0, BY_PRECISION(2e-9, 1e-3), 0,
						where);
				drop(&a);
			}
}

/* ---- averages over all subsets ---- */

TEST(sampled_columns_are_unbiased)
{
	int coords, param;
	ptrdiff_t k;
	test_seed = 204;
	for (coords = 0; coords < 3; coords++)
		for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
			for (k = 1; k <= 5; k++) {
				odvgp_config c = random_config(6, 2, 2, 3, 5);
				fixture a;
				c.reproduce.parametrisation = (odvgp_parametrisation)param;
				c.reproduce.gamma_coords = (odvgp_gamma_coords)coords;
				c.reproduce.gamma_kl = (odvgp_gamma_kl)((k + param) % 2);
				a = make_random(&c, random_kernels[1]);
				check_subsets(&a, k, 1);
				drop(&a);
			}
}

TEST(minibatches_are_unbiased)
{
	int orth;
	ptrdiff_t i, j, n;
	test_seed = 205;
	for (orth = 0; orth < 2; orth++) {
		odvgp_config c = random_config(6, 2, 2, 3, orth ? 4 : 0);
		fixture a = make_random(&c, random_kernels[0]);
		odvgp_real *full, *grad, e, Xb[4], Yb[4];
		double *mean, elbo_full, elbo_mean = 0, most = 0;
		ptrdiff_t subset[2] = {0, 1}, sets = 0;
		n = odvgp_param_count(a.m);
		full = NEW(odvgp_real, n);
		grad = NEW(odvgp_real, n);
		mean = NEW(double, n);
		for (i = 0; i < n; i++) mean[i] = 0;
		elbo_full = elbo_of(&a, NULL, full);
		do {
			for (i = 0; i < 2; i++)
				for (j = 0; j < 2; j++) {
					Xb[i * 2 + j] = a.X[subset[i] * 2 + j];
					Yb[i * 2 + j] = a.Y[subset[i] * 2 + j];
				}
			CHECK_STATUS(odvgp_elbo(a.m, Xb, Yb, 2, &e, NULL, grad, NULL), ODVGP_OK);
			elbo_mean += (double)e;
			for (i = 0; i < n; i++) {
				mean[i] += (double)grad[i];
				if (fabs((double)grad[i]) > most) most = fabs((double)grad[i]);
			}
			sets++;
		} while (next_subset(subset, 2, 6));
		CHECK_INT(sets, 15);
		CHECK_NEAR(elbo_mean / (double)sets, elbo_full, 100 * EPS * fabs(elbo_full));
		for (i = 0; i < n; i++) CHECK_NEAR(mean[i] / (double)sets, full[i], 200 * EPS * most);
		free(full), free(grad), free(mean);
		drop(&a);
	}
}

/*  With all parameters frozen, the reports of one epoch average to the bound. Each epoch has
    another order; batches and sampled columns come from separate random streams. */
TEST(steps_see_every_row_once_an_epoch)
{
	odvgp_config c = random_config(12, 2, 1, 3, 5);
	fixture a;
	odvgp_report r;
	double full, kl, sum, first[3] = {0, 0, 0}, kl_sum = 0, kl_square = 0, sd;
	int epoch, i, other = 0;
	test_seed = 206;
	c.optim.batch = 4;
	c.optim.gamma_batch = 0;
	a = make_random(&c, random_kernels[0]);
	CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0, NULL), ODVGP_OK);
	full = elbo_of(&a, &kl, NULL);
	for (epoch = 0; epoch < 5; epoch++) {
		sum = 0;
		for (i = 0; i < 3; i++) {
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
			sum += (double)r.elbo;
			CHECK_NEAR(r.elbo, (double)r.expected_loglik - (double)r.kl,
					8 * EPS * (fabs((double)r.expected_loglik) + fabs((double)r.kl)));
			CHECK_NEAR(r.kl, kl, 20 * EPS * fabs(kl));
			CHECK_INT(r.step, 3 * epoch + i + 1);
			if (!epoch) first[i] = (double)r.elbo;
			else other += (double)r.elbo != first[i];
		}
		CHECK_NEAR(sum / 3, full, 100 * EPS * fabs(full));
	}
	CHECK(other > 6);
	CHECK_INT(odvgp_steps_done(a.m), 15);
	drop(&a);
	/* With 2 of 5 columns, the average of the KL converges to the KL. */
	c.optim.gamma_batch = 2;
	test_seed = 206;
	a = make_random(&c, random_kernels[0]);
	CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0, NULL), ODVGP_OK);
	for (i = 0; i < 3000; i++) {
		CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
		kl_sum += (double)r.kl;
		kl_square += ((double)r.kl - kl) * ((double)r.kl - kl);
	}
	sd = sqrt(kl_square / 3000);
	CHECK(sd > 0);
	CHECK_NEAR(kl_sum / 3000, kl, 4 * sd / sqrt(3000.0));
	drop(&a);
}

/* ---- natural gradients ---- */

/*  Titsias' optimum of q for the residual targets r = y - mean function - (K_Xg - K_Xb Kb^-1
    K_bg) a, per output. */
TEST(a_unit_natural_step_lands_on_the_optimum)
{
	int orth, param, round;
	test_seed = 207;
	for (orth = 0; orth < 2; orth++)
		for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
			for (round = 0; round < 3; round++) {
				const ptrdiff_t N = 20, M = 4, P = 2, D = 2, Mg = orth ? 5 : 0;
				odvgp_config c = random_config(N, D, P, M, Mg);
				fixture a;
				ptrdiff_t p, i, j, l;
				wide *Zb, *X, *Zg, *Kb, *Kxb, *Kxg = NULL, *Kbg = NULL, noise, *Kbi;
				odvgp_real *zb, *zg = NULL, *ag = NULL, e;
				odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
				double before, bound = 0;
				c.reproduce.parametrisation = (odvgp_parametrisation)param;
				c.layer[0].mean_function = (odvgp_mean_function)round;
				c.tile = round == 1 ? 6 : 0;
				c.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_PLAIN;
				a = make_random(&c, random_kernels[round]);
				before = elbo_of(&a, NULL, NULL);
				CHECK_SAY(odvgp_natgrad_step(a.m, a.X, a.Y, N, 1, &e, &info) == ODVGP_OK, "%s",
						info.text);
				CHECK_NEAR(e, before, 60 * EPS * fabs(before));
				read_kernel(&a);
				zb = values(&a, "Z_beta");
				Zb = ref_copy(zb, M * D);
				X = ref_copy(a.X, N * D);
				noise = (wide)(odvgp_real)0.15;
				Kb = ref_K(&a.k, D, Zb, M, Zb, M);
				for (i = 0; i < M; i++) Kb[i * M + i] += (wide)c.jitter.absolute;
				Kbi = ref_inverse_spd(M, Kb);
				Kxb = ref_K(&a.k, D, X, N, Zb, M);
				if (Mg) {
					zg = values(&a, "Z_gamma");
					ag = values(&a, "a_gamma");
					Zg = ref_copy(zg, Mg * D);
					Kxg = ref_K(&a.k, D, X, N, Zg, Mg);
					Kbg = ref_K(&a.k, D, Zb, M, Zg, Mg);
					free(Zg);
				}
				for (p = 0; p < P; p++) {
					wide *A = ref_new(M * M), *y = ref_new(N), *b = ref_new(M), *m = ref_new(M),
						 *S = ref_new(M * M), *Ai, *m0 = ref_new(M), *S0 = ref_new(M * M),
						 *t = ref_new(M * M), *H = ref_new(N * M);
					double scale = 0, tol;
					ref_mul(0, 0, N, M, M, Kxb, Kbi, H);
					for (i = 0; i < N; i++) {
						y[i] = (wide)a.Y[i * P + p] - mean_function(&a, a.X + i * D, p);
						for (j = 0; j < Mg; j++) {
							wide r = Kxg[i * Mg + j];
							for (l = 0; l < M; l++) r -= H[i * M + l] * Kbg[l * Mg + j];
							y[i] -= r * (wide)ag[p * Mg + j];
						}
					}
					for (i = 0; i < M; i++) {
						for (j = 0; j < M; j++) {
							A[i * M + j] = Kb[i * M + j];
							for (l = 0; l < N; l++)
								A[i * M + j] += Kxb[l * M + i] * Kxb[l * M + j] / noise;
						}
						for (l = 0; l < N; l++) b[i] += Kxb[l * M + i] * y[l] / noise;
					}
					Ai = ref_inverse_spd(M, A);
					ref_mul(0, 0, M, 1, M, Ai, b, t);
					ref_mul(0, 0, M, 1, M, Kb, t, m);
					ref_mul(0, 0, M, M, M, Kb, Ai, t);
					ref_mul(0, 0, M, M, M, t, Kb, S);
					moments(&a, p, Kb, m0, S0);
					tol = 100 * EPS * ref_condition(M, A) * ref_condition(M, Kb);
					for (i = 0; i < M; i++)
						if (fabs((double)m[i]) > scale) scale = fabs((double)m[i]);
					for (i = 0; i < M; i++) CHECK_NEAR(m0[i], m[i], tol * scale);
					for (i = 0; i < M * M; i++)
						CHECK_NEAR(S0[i], S[i], tol * (double)ref_norm1(M, S));
					{
						/* The collapsed bound: log N(r; 0, Q + noise I) - tr(K - Q) / (2 noise),
                           minus the KL term of a. */
						wide *Q = ref_new(N * N), *w = ref_new(N), quad = 0, trace = 0, logdet,
							 xx[2] = {0, 0}, k0 = ref_k(&a.k, D, xx, xx), cost = 0;
						ref_mul(0, 1, N, N, M, H, Kxb, Q);
						for (i = 0; i < N; i++) {
							trace += k0 - Q[i * N + i];
							Q[i * N + i] += noise;
							w[i] = y[i];
						}
						logdet = ref_solve_spd(N, 1, Q, w);
						for (i = 0; i < N; i++) quad += w[i] * y[i];
						if (Mg) {
							wide *Zg2 = ref_copy(zg, Mg * D),
								 *Kg = ref_K(&a.k, D, Zg2, Mg, Zg2, Mg), *T = ref_new(M * Mg);
							ref_mul(0, 0, M, Mg, M, Kbi, Kbg, T);
							for (i = 0; i < Mg; i++)
								for (j = 0; j < Mg; j++) {
									wide cc = Kg[i * Mg + j];
									for (l = 0; l < M; l++) cc -= Kbg[l * Mg + i] * T[l * Mg + j];
									cost += (wide)ag[p * Mg + i] * cc * (wide)ag[p * Mg + j] / 2;
								}
							free(Zg2), free(Kg), free(T);
						}
						quad += (wide)N * logl(2 * 3.14159265358979323846264338L);
						bound += (double)(-(logdet + quad) / 2 - trace / (2 * noise) - cost);
						free(Q), free(w);
					}
					free(A), free(y), free(b), free(m), free(S), free(Ai), free(m0), free(S0),
							free(t), free(H);
				}
				CHECK_NEAR(elbo_of(&a, NULL, NULL), bound, 1e4 * EPS * fabs(bound));
				/* A second natural step changes nothing. */
				CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, N, 1, NULL, &info), ODVGP_OK);
				CHECK_NEAR(elbo_of(&a, NULL, NULL), bound, 1e4 * EPS * fabs(bound));
				CHECK_INT(odvgp_model_events(a.m).step_shortened, 0);
				free(Zb), free(X), free(Kb), free(Kbi), free(Kxb), free(Kxg), free(Kbg), free(zb),
						free(zg), free(ag);
				drop(&a);
			}
}

/*  With an inducing point on every row and no jitter, the optimum is exact GP regression. */
TEST(all_rows_as_inducing_points_give_the_exact_gp)
{
	const ptrdiff_t N = 8;
	odvgp_config c = random_config(N, 2, 1, N, 0);
	fixture a;
	wide *X, *K, *w, quad = 0, logdet, noise = (wide)(odvgp_real)0.15;
	double want, condition;
	ptrdiff_t i;
	test_seed = 208;
	c.jitter.absolute = 0;
	a = make_random(&c, "matern12");
	assign(&a, "Z_beta", a.X);
	CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, N, 1, NULL, NULL), ODVGP_OK);
	read_kernel(&a);
	X = ref_copy(a.X, N * 2);
	K = ref_K(&a.k, 2, X, N, X, N);
	condition = ref_condition(N, K);
	w = ref_copy(a.Y, N);
	for (i = 0; i < N; i++) K[i * N + i] += noise;
	logdet = ref_solve_spd(N, 1, K, w);
	for (i = 0; i < N; i++) quad += w[i] * (wide)a.Y[i];
	want = (double)(-(logdet + quad + (wide)N * logl(2 * 3.14159265358979323846264338L)) / 2);
	CHECK_NEAR(elbo_of(&a, NULL, NULL), want, 50 * EPS * condition * (1 + fabs(want)));
	CHECK_INT(odvgp_model_events(a.m).jitter_raised, 0);
	free(X), free(K), free(w);
	drop(&a);
}

/* ---- a model after any sequence of calls ---- */

static const char *mean_slot(const fixture *a) { return slot(a, "a_beta") ? "a_beta" : "q_mu"; }

static void clone_values(fixture *to, const fixture *from)
{
	int i;
	for (i = 0; i < odvgp_slot_count(from->m); i++) {
		const odvgp_slot *s = odvgp_slot_at(from->m, i);
		odvgp_real *v = values(from, s->name);
		if (s->count) assign(to, s->name, v);
		free(v);
	}
}

/*  After any sequence of calls, a model gives the bits of a new model with the same values. */
TEST(values_set_are_values_used)
{
	int round, param;
	for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++) {
		odvgp_config c = random_config(9, 2, 2, 4, 5);
		fixture a, b;
		odvgp_real *ga, *gb, ea, eb, ka, kb, ma[18], mb[18], va[18], vb[18], *v;
		odvgp_report report;
		ptrdiff_t columns[2], n, i;
		c.reproduce.parametrisation = (odvgp_parametrisation)param;
		c.tile = 4;
		c.optim.gamma_batch = 3;
		c.optim.batch = 6;
		test_seed = 210;
		a = make_random(&c, random_kernels[3]);
		test_seed = 210;
		b = make_random(&c, random_kernels[3]);
		n = odvgp_param_count(a.m);
		ga = NEW(odvgp_real, n);
		gb = NEW(odvgp_real, n);
		for (round = 0; round < 60; round++) {
			const odvgp_slot *s = odvgp_slot_at(a.m, (int)test_below(odvgp_slot_count(a.m)));
			switch (test_below(6)) {
			/* Set some values. */
			case 0:
				v = values(&a, s->name);
				for (i = 0; i < s->count; i++) v[i] *= (odvgp_real)test_between(0.95, 1.05);
				assign(&a, s->name, v);
				free(v);
				break;
			case 1: CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK); break;
			case 2:
				CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, a.N, (odvgp_real)0.1, NULL, NULL),
						ODVGP_OK);
				break;
			case 3:
				CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 3, &ea, NULL, NULL, NULL), ODVGP_OK);
				break;
			case 4:
				columns[0] = test_below(5);
				columns[1] = (columns[0] + 1) % 5;
				CHECK_STATUS(odvgp_elbo_columns(a.m, a.X, a.Y, 5, &(odvgp_columns){columns, 2},
									 &report, ga, NULL),
						ODVGP_OK);
				break;
			default: predict(&a, a.X, 9, ma, va, NULL);
			}
			clone_values(&b, &a);
			/* Natural steps also start from the set values, not from the state of earlier steps. */
			if (round % 3 == 2) {
				CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, a.N, (odvgp_real)0.2, NULL, NULL),
						ODVGP_OK);
				CHECK_STATUS(odvgp_natgrad_step(b.m, b.X, b.Y, b.N, (odvgp_real)0.2, NULL, NULL),
						ODVGP_OK);
				for (i = 0; i < 2; i++) {
					const char *name = i ? "q_sqrt" : mean_slot(&a);
					odvgp_real *x = values(&a, name), *y = values(&b, name);
					ptrdiff_t count = slot(&a, name)->count;
					CHECK_SAY(test_max_diff(x, y, count) <=
									  BY_PRECISION(1e-10, 1e-2) * test_max_abs(y, count),
							"param %d round %d: after natural steps %s differs by %.3g of %.3g",
							param, round, name, test_max_diff(x, y, count), test_max_abs(y, count));
					free(x), free(y);
				}
				clone_values(&b, &a);
			}
			CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 9, &ea, &ka, ga, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_elbo(b.m, b.X, b.Y, 9, &eb, &kb, gb, NULL), ODVGP_OK);
			CHECK(ea == eb && ka == kb);
			CHECK_BITS(ga, gb, (size_t)n * sizeof *ga);
			if (round % 4 == 0) {
				predict(&a, a.X, 9, ma, va, NULL);
				predict(&b, a.X, 9, mb, vb, NULL);
				CHECK_BITS(ma, mb, sizeof ma);
				CHECK_BITS(va, vb, sizeof va);
			}
		}
		free(ga), free(gb);
		drop(&a);
		drop(&b);
	}
}

/*  Inducing points coincide with data rows. For each kernel, the bound and the gradient are
    finite. */
TEST(coincident_points_have_gradients)
{
	static const char *const lists[] = {"rbf", "matern12", "matern32", "matern52",
			"matern12(1, ard)", "matern12 * matern32 + rbf"};
	int k;
	for (k = 0; k < 6; k++) {
		odvgp_config c = config(20, 2, 1, 6, 5);
		fixture a;
		odvgp_real e, *grad;
		odvgp_info info = no_info();
		test_seed = 361;
		c.layer[0].kernel = lists[k];
		a = make(&c);
		CHECK_STATUS(odvgp_set(a.m, "Z_beta", a.X, 12, NULL), ODVGP_OK);
		/* beta and gamma also share points. */
		CHECK_STATUS(odvgp_set(a.m, "Z_gamma", a.X + 8, 10, NULL), ODVGP_OK);
		grad = NEW(odvgp_real, odvgp_param_count(a.m));
		CHECK_SAY(odvgp_elbo(a.m, a.X, a.Y, 20, &e, NULL, grad, &info) == ODVGP_OK, "%s: %s",
				lists[k], info.text);
		CHECK_SAY(all_finite(&e, 1) && all_finite(grad, odvgp_param_count(a.m)), "%s: not finite",
				lists[k]);
		CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 30, NULL, NULL), ODVGP_OK);
		free(grad);
		drop(&a);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(every_member_is_its_own_gaussian);
	RUN(orth_without_gamma_is_coupled);
	RUN(gradients_are_those_of_the_bound);
	RUN(sampled_columns_are_unbiased);
	RUN(minibatches_are_unbiased);
	RUN(steps_see_every_row_once_an_epoch);
	RUN(a_unit_natural_step_lands_on_the_optimum);
	RUN(all_rows_as_inducing_points_give_the_exact_gp);
	RUN(values_set_are_values_used);
	RUN(coincident_points_have_gradients);
	return test_end();
}

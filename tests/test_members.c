/*  Every pair of a mean part and a covariance part: against joint Gaussians written out in long
    double, and against other pairs where the mathematics says that they are equal; also the jitter
    that they share, and the tables of parts. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "hooks.h"
#include "test.h"
#include "members.h"

/*  KL, bound, mean, variance and covariance of every pair, in each parametrisation that it has,
    equal those of its own q to 1e-13 of the joint condition number in double, 5e-5 of it in
    float. */
TEST(every_pair_is_its_own_gaussian)
{
	int mean, cov, param, round, worst_condition = 0;
	test_seed = 301;
	EACH_PAIR(mean, cov)
	for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
		for (round = 0; round < 3; round++) {
			const ptrdiff_t N = 7, P = 1 + round % 2, M = 4;
			odvgp_config c = pair_config(mean, cov, N, P, M, 3);
			fixture a;
			ptrdiff_t p, i, j;
			double kl, elbo, expect = 0, kl_sum = 0, condition = 0, tol, most;
			odvgp_real *m = NEW(odvgp_real, P * N), *var = NEW(odvgp_real, P * N),
					   *C = NEW(odvgp_real, P * N * N);
			if (param == ODVGP_PARAMETRISATION_A_BETA && !has_A_BETA(mean)) {
				free(m), free(var), free(C);
				continue;
			}
			c.reproduce.parametrisation = (odvgp_parametrisation)param;
			c.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_PLAIN;
			c.reproduce.gamma_kl = (odvgp_gamma_kl)(round % 2);
			c.tile = round == 1 ? 3 : 0;
			if (round == 2) c.jitter.absolute = 0, c.jitter.relative = (odvgp_real)0.02;
			a = make_pair(mean, cov, &c,
					round == 2 ? "rbf * linear + (periodic + polynomial) * rq + constant + white + additive"
					: round    ? "matern52 + rbf"
							   : "matern32");
			elbo = elbo_of(&a, &kl, NULL);
			predict(&a, a.X, N, m, var, C);
			for (p = 0; p < P; p++) {
				joint g = joint_of(&a, p, a.X, N);
				tol = 1e-13 * (EPS / DBL_EPSILON) * g.condition;
				if (g.condition > condition) condition = g.condition;
				kl_sum += (double)g.kl;
				for (i = 0; i < N; i++) {
					double f = (double)g.mean[g.x + i],
						   v = (double)g.cov[(g.x + i) * g.n + g.x + i],
						   d = (double)a.Y[i * P + p] - f, noise = (double)(odvgp_real)0.15;
					CHECK_SAY(fabs((double)m[p * N + i] - f) <= tol * (1 + fabs(f)),
							"%s + %s, param %d, round %d: mean %.15g, not %.15g", mean_name[mean],
							cov_name[cov], param, round, (double)m[p * N + i], f);
					CHECK_SAY(fabs((double)var[p * N + i] - v) <= tol * (1 + v),
							"%s + %s, param %d, round %d: variance %.15g, not %.15g",
							mean_name[mean], cov_name[cov], param, round, (double)var[p * N + i],
							v);
					expect +=
							-0.5 * (log(2 * 3.14159265358979323846 * noise) + (d * d + v) / noise);
					for (j = 0; j < N; j++)
						CHECK_NEAR(C[(p * N + i) * N + j], (double)g.cov[(g.x + i) * g.n + g.x + j],
								tol * (1 + v));
				}
				drop_joint(&g);
			}
			tol = 1e-13 * (EPS / DBL_EPSILON) * condition;
			most = fabs(expect) + fabs(kl_sum) + 1;
			CHECK_SAY(fabs(kl - kl_sum) <= tol * most,
					"%s + %s, param %d, round %d: KL %.15g, its q's %.15g (condition %.3g)",
					mean_name[mean], cov_name[cov], param, round, kl, kl_sum, condition);
			CHECK_SAY(fabs(elbo - (expect - kl_sum)) <= tol * most,
					"%s + %s, param %d, round %d: elbo %.15g, not %.15g", mean_name[mean],
					cov_name[cov], param, round, elbo, expect - kl_sum);
			if (condition > worst_condition) worst_condition = (int)condition;
			free(m), free(var), free(C);
			drop(&a);
		}
	test_note("condition numbers to %d", worst_condition);
}

/*  Every pair can be made with Adam. Natural gradients and coordinates that a pair does not have
    are refused with a sentence. */
TEST(what_does_not_exist_is_refused_and_nothing_else)
{
	int mean, cov, param, natgrad, step, coords;
	for (mean = 0; mean < MEANS; mean++)
		for (cov = 0; cov < COVS; cov++)
			for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA;
					param++)
				for (natgrad = 0; natgrad < 2; natgrad++)
					for (step = ODVGP_GAMMA_STEP_ADAM; step <= ODVGP_GAMMA_STEP_EXACT; step++)
						for (coords = ODVGP_GAMMA_COORDS_PLAIN;
								coords <= ODVGP_GAMMA_COORDS_DIFFERENTIATED; coords++) {
							odvgp_config c = pair_config(mean, cov, 7, 2, 4, 3);
							odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
							size_t bytes;
							int weights = mean == ORTH || mean == HYBRID, want = 1;
							c.reproduce.parametrisation = (odvgp_parametrisation)param;
							c.optim.natgrad = natgrad;
							c.optim.gamma_step = (odvgp_gamma_step)step;
							c.reproduce.gamma_coords = (odvgp_gamma_coords)coords;
							if (natgrad && is_a_pair(mean, cov) && !is_natural(mean, cov)) want = 0;
							/* With a tied mean the part is dense, which has no natural step
                               here. */
							if (natgrad && !is_a_pair(mean, cov)) want = 0;
							if (param == ODVGP_PARAMETRISATION_A_BETA && !has_A_BETA(mean))
								want = 0;
							if (step != ODVGP_GAMMA_STEP_ADAM &&
									(!natgrad || !weights ||
											coords == ODVGP_GAMMA_COORDS_DIFFERENTIATED))
								want = 0;
							CHECK_SAY(sized(&bytes, odvgp_model_size(&c, &info), &info) ==
											  (want ? ODVGP_OK : ODVGP_E_UNSUPPORTED),
									"%s + %s, param %d, natgrad %d, gamma_step %d, gamma_coords "
									"%d: \"%s\"",
									mean_name[mean], cov_name[cov], param, natgrad, step, coords,
									info.text);
							if (!want)
								CHECK(strlen(info.text) > 20 && info.what &&
										strstr(info.text, info.what));
						}
}

/* ---- pairs that are equal in other coordinates ---- */

/*  Checks that bound and predictions of two models on the same data agree. */
static void check_equal(fixture *a, fixture *b, double tolerance, const char *words)
{
	ptrdiff_t n = a->P * a->N;
	odvgp_real *ma = NEW(odvgp_real, n), *mb = NEW(odvgp_real, n), *va = NEW(odvgp_real, n),
			   *vb = NEW(odvgp_real, n), *ca = NEW(odvgp_real, n * a->N),
			   *cb = NEW(odvgp_real, n * a->N);
	double kla, klb, ea = elbo_of(a, &kla, NULL), eb = elbo_of(b, &klb, NULL);
	CHECK_SAY(fabs(ea - eb) <= tolerance * (1 + fabs(ea) + fabs(kla)), "%s: bounds %.15g and %.15g",
			words, ea, eb);
	CHECK_SAY(fabs(kla - klb) <= tolerance * (1 + fabs(ea) + fabs(kla)), "%s: KLs %.15g and %.15g",
			words, kla, klb);
	predict(a, a->X, a->N, ma, va, ca);
	predict(b, a->X, a->N, mb, vb, cb);
	CHECK_SAY(test_max_diff(ma, mb, n) <= tolerance * (1 + test_max_abs(ma, n)),
			"%s: means differ by %.3g", words, test_max_diff(ma, mb, n));
	CHECK_SAY(test_max_diff(va, vb, n) <= tolerance * (1 + test_max_abs(va, n)),
			"%s: variances differ by %.3g", words, test_max_diff(va, vb, n));
	CHECK_SAY(test_max_diff(ca, cb, n * a->N) <= tolerance * (1 + test_max_abs(va, n)),
			"%s: covariances differ by %.3g", words, test_max_diff(ca, cb, n * a->N));
	free(ma), free(mb), free(va), free(vb), free(ca), free(cb);
}

TEST(without_gamma_all_are_coupled)
{
	static const struct {
		int mean, cov;
	} others[] = {{ORTH, ODVGP_COV_PART_DENSE}, {HYBRID, ODVGP_COV_PART_DENSE},
			{BLOCKS, ODVGP_COV_PART_DENSE}, {BLOCKS, ODVGP_COV_PART_BLOCKS},
			{ORTH, ODVGP_COV_PART_BLOCKS}, {HYBRID, ODVGP_COV_PART_BLOCKS},
			{BETA, ODVGP_COV_PART_BLOCKS}};
	int k, s, step;
	for (k = 0; k < 7; k++) {
		odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, 20, 2, 5, 0),
					 other = pair_config(others[k].mean, others[k].cov, 20, 2, 5, 0);
		fixture a, b;
		odvgp_real *ga, *gb;
		test_seed = 304;
		a = make_pair(BETA, ODVGP_COV_PART_DENSE, &c, "matern52 + rbf");
		test_seed = 304;
		b = make_pair(others[k].mean, others[k].cov, &other, "matern52 + rbf");
		CHECK_INT(odvgp_param_count(a.m), odvgp_param_count(b.m));
		ga = NEW(odvgp_real, odvgp_param_count(a.m));
		gb = NEW(odvgp_real, odvgp_param_count(a.m));
		for (step = 0; step < 5; step++) {
			CHECK(elbo_of(&a, NULL, ga) == elbo_of(&b, NULL, gb));
			CHECK_BITS(ga, gb, (size_t)odvgp_param_count(a.m) * sizeof *ga);
			check_equal(&a, &b, 0, mean_name[others[k].mean]);
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
		}
		for (s = 0; s < odvgp_slot_count(a.m); s++) {
			const odvgp_slot *t = odvgp_slot_at(a.m, s);
			odvgp_real *va = values(&a, t->name), *vb = values(&b, t->name);
			CHECK_SAY(!memcmp(va, vb, (size_t)t->count * sizeof *va), "%s differs after training",
					t->name);
			free(va), free(vb);
		}
		free(ga), free(gb);
		drop(&a);
		drop(&b);
	}
}

static void identity(fixture *a, const char *name)
{
	const odvgp_slot *t = slot(a, name);
	odvgp_real *v = NEW(odvgp_real, t->count);
	ptrdiff_t i;
	for (i = 0; i < t->count; i++) v[i] = i % t->shape[2] == i / t->shape[2] % t->shape[1];
	assign(a, name, v);
	free(v);
}

TEST(solve_gp_with_the_prior_on_v_is_orth)
{
	int round;
	for (round = 0; round < 3; round++) {
		odvgp_config c = pair_config(BLOCKS, ODVGP_COV_PART_BLOCKS, 9, 2, 4, 3),
					 o = pair_config(ORTH, ODVGP_COV_PART_DENSE, 9, 2, 4, 3);
		fixture a, b;
		features f;
		wide *v, *w;
		ptrdiff_t p, i;
		c.jitter.absolute = o.jitter.absolute = 0;
		o.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_PLAIN;
		test_seed = 305 + (uint64_t)round;
		a = make_pair(BLOCKS, ODVGP_COV_PART_BLOCKS, &c, "matern32");
		test_seed = 305 + (uint64_t)round;
		b = make_pair(ORTH, ODVGP_COV_PART_DENSE, &o, "matern32");
		for (i = 0; i < odvgp_slot_count(b.m); i++)
			if (slot(&a, odvgp_slot_at(b.m, (int)i)->name))
				copy_slot(&b, &a, odvgp_slot_at(b.m, (int)i)->name);
		identity(&a, "v_sqrt");
		f = features_of(&a);
		v = wide_values(&a, "v_mu");
		w = ref_new(2 * 3);
		for (p = 0; p < 2; p++) {
			for (i = 0; i < 3; i++) w[p * 3 + i] = v[p * 3 + i];
			ref_solve_lower(1, 3, 1, f.Lv, w + p * 3);
		}
		assign_wide(&b, "a_gamma", w);
		memcpy(b.X, a.X, sizeof *a.X * 18), memcpy(b.Y, a.Y, sizeof *a.Y * 18);
		check_equal(&a, &b, 20 * EPS * f.condition, "SOLVE-GP and ORTH");
		free(v), free(w);
		drop_features(&f);
		drop(&a);
		drop(&b);
	}
}

/*  Sets HYBRID's q_mu to that of ORTH minus c = L^-1 Kbg a, in the coordinates of the slot. */
static void hybrid_from_orth(fixture *h, const fixture *o, const features *f)
{
	odvgp_parametrisation param = odvgp_model_config(o->m)->reproduce.parametrisation;
	const char *name = param == ODVGP_PARAMETRISATION_A_BETA ? "a_beta" : "q_mu";
	ptrdiff_t M = o->M, Mg = o->Mg, p, i;
	wide *mu = wide_values(o, name), *a = wide_values(o, "a_gamma"), *c = ref_new(M);
	int s;
	for (s = 0; s < odvgp_slot_count(o->m); s++) copy_slot(h, o, odvgp_slot_at(o->m, s)->name);
	for (p = 0; p < o->P; p++) {
		ref_mul(0, 0, M, 1, Mg, f->Kbg, a + p * Mg, c);
		if (param != ODVGP_PARAMETRISATION_PRIMAL) ref_solve_lower(0, M, 1, f->L, c);
		if (param == ODVGP_PARAMETRISATION_A_BETA) ref_solve_lower(1, M, 1, f->L, c);
		for (i = 0; i < M; i++) mu[p * M + i] -= c[i];
	}
	assign_wide(h, name, mu);
	free(mu), free(a), free(c);
}

TEST(hybrid_is_orth_and_its_natural_steps_are_those_of_orth)
{
	int param, step, cov, k;
	for (cov = ODVGP_COV_PART_DENSE; cov <= ODVGP_COV_PART_BLOCKS;
			cov += ODVGP_COV_PART_BLOCKS - ODVGP_COV_PART_DENSE)
		for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
			for (step = ODVGP_GAMMA_STEP_ADAM; step <= ODVGP_GAMMA_STEP_EXACT; step++) {
				odvgp_config c = pair_config(ORTH, cov, 15, 2, 4, 3), d;
				fixture o, h;
				features f;
				double tolerance;
				c.reproduce.parametrisation = (odvgp_parametrisation)param;
				c.optim.gamma_step = (odvgp_gamma_step)step;
				c.optim.gamma_step_ratio = (odvgp_real)0.1;
				c.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_PLAIN;
				c.optim.natgrad_step = odvgp_constant((odvgp_real)0.3);
				d = c;
				d.layer[0].mean_part = ODVGP_MEAN_PART_HYBRID;
				test_seed = 310 + (uint64_t)(param * 3 + step);
				o = make_pair(ORTH, cov, &c, "matern32");
				test_seed = 310 + (uint64_t)(param * 3 + step);
				h = make_pair(HYBRID, cov, &d, "matern32");
				f = features_of(&o);
				tolerance = 20 * EPS * f.condition;
				hybrid_from_orth(&h, &o, &f);
				check_equal(&o, &h, tolerance, "ORTH and HYBRID");
				for (k = 0; k < 4; k++) {
					odvgp_real *a = values(&o, "a_gamma"), *b;
					CHECK_STATUS(
							odvgp_natgrad_step(o.m, o.X, o.Y, o.N, (odvgp_real)0.3, NULL, NULL),
							ODVGP_OK);
					CHECK_STATUS(
							odvgp_natgrad_step(h.m, o.X, o.Y, o.N, (odvgp_real)0.3, NULL, NULL),
							ODVGP_OK);
					check_equal(&o, &h, tolerance, "ORTH and HYBRID after a step");
					b = values(&o, "a_gamma");
					CHECK((memcmp(a, b, 6 * sizeof *a) != 0) == (step != ODVGP_GAMMA_STEP_ADAM));
					free(a);
					a = values(&h, "a_gamma");
					CHECK_NEAR(test_max_diff(a, b, 6), 0, tolerance * (1 + test_max_abs(b, 6)));
					free(a), free(b);
				}
				drop_features(&f);
				drop(&o);
				drop(&h);
			}
}

TEST(sampled_columns_are_unbiased_for_every_mean_with_gamma)
{
	static const int means[] = {ORTH, HYBRID, FREE};
	int which, cov, kl_kind;
	ptrdiff_t k;
	test_seed = 330;
	for (which = 0; which < 3; which++)
		for (cov = 0; cov < COVS; cov++)
			for (kl_kind = 0; kl_kind < 2; kl_kind++)
				for (k = 1; k <= 5; k += 2) {
					odvgp_config c = pair_config(means[which], cov, 6, 2, 3, 5);
					fixture a;
					c.reproduce.gamma_kl = (odvgp_gamma_kl)kl_kind;
					a = make_pair(means[which], cov, &c, "rbf");
					check_subsets(&a, k, 2);
					drop(&a);
				}
}

TEST(every_pair_starts_at_the_prior)
{
	int mean, cov, param;
	EACH_PAIR(mean, cov)
	for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++) {
		odvgp_config c = pair_config(mean, cov, 8, 2, 4, 3);
		fixture a;
		odvgp_real m[16], v[16];
		double kl, k,
				near = cov == ODVGP_COV_PART_INVERSE || cov == ODVGP_COV_PART_DIAGONAL
							   ? 1e-2
							   : BY_PRECISION(1e-11, 1e-3);
		ptrdiff_t i;
		if (param == ODVGP_PARAMETRISATION_A_BETA && !has_A_BETA(mean)) continue;
		c.reproduce.parametrisation = (odvgp_parametrisation)param;
		test_seed = 350;
		a = make_pair(mean, cov, &c, "matern52 + rbf");
		CHECK_STATUS(odvgp_init_q(a.m, NULL), ODVGP_OK);
		elbo_of(&a, &kl, NULL);
		CHECK_SAY(fabs(kl) <= near, "%s + %s, param %d: KL is %.3g at the start", mean_name[mean],
				cov_name[cov], param, kl);
		predict(&a, a.X, 8, m, v, NULL);
		read_kernel(&a);
		k = (double)(a.k.base[0].variance[0] + a.k.base[1].variance[0]);
		for (i = 0; i < 16; i++) CHECK(m[i] == 0 && fabs((double)v[i] - k) <= near);
		drop(&a);
	}
}

/*  A predictor stores how a covariance is computed, not the number of the part in the
    enumeration: it can serve a new part that has the factor of another. */
TEST(a_predictor_holds_no_number_of_a_part)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		odvgp_config c = pair_config(mean, cov, 9, 2, 4, 3);
		fixture a;
		size_t bytes;
		unsigned char *one, *two;
		test_seed = 351;
		a = make_pair(mean, cov, &c, "rbf");
		bytes = odvgp_predictor_size(a.m, NULL);
		one = (unsigned char *)test_alloc(bytes), two = (unsigned char *)test_alloc(bytes);
		memset(one, 0, bytes), memset(two, 0, bytes);
		CHECK_STATUS(odvgp_freeze(a.m, NULL, one, bytes, NULL), ODVGP_OK);
		a.m->cfg.layer[0].mean_part = (odvgp_mean_part)(GP__COUNT(gp__mean_parts) - 1);
		a.m->cfg.layer[0].cov_part = (odvgp_cov_part)(GP__COUNT(gp__cov_parts) - 1);
		CHECK_SAY(odvgp_predictor_size(a.m, NULL) == bytes,
				"%s + %s: %ld bytes, %ld with other numbers", mean_name[mean], cov_name[cov],
				(long)bytes, (long)odvgp_predictor_size(a.m, NULL));
		CHECK_STATUS(odvgp_freeze(a.m, NULL, two, bytes, NULL), ODVGP_OK);
		CHECK_SAY(!memcmp(one, two, bytes),
				"%s + %s: the numbers of the parts are in the predictor", mean_name[mean],
				cov_name[cov]);
		free(one), free(two);
		drop(&a);
	}
}

/*  Points coincide, and there is no jitter. If one Cholesky raises the jitter, every other node
    that uses this jitter is recomputed, so that a model with cached values gives the bits of one
    whose values are all set again. */
TEST(raised_jitter_is_one_number_everywhere)
{
	int mean, cov, k, s, raised = 0;
	EACH_PAIR(mean, cov)
	for (k = 0; k < 2; k++) {
		odvgp_config c = pair_config(mean, cov, 12, 2, 4, 3);
		fixture a;
		double one, two, kl_one, kl_two;
		odvgp_real *z, *m1 = NEW(odvgp_real, 24), *m2 = NEW(odvgp_real, 24),
					   *v1 = NEW(odvgp_real, 24), *v2 = NEW(odvgp_real, 24);
		const char *second = mean == FREE ? "Z_alpha" : "Z_gamma";
		c.jitter.absolute = 0;
		test_seed = 351;
		a = make_pair(mean, cov, &c, "rbf");
		/* Two beta points coincide. */
		if (k == 0) {
			z = values(&a, "Z_beta");
			z[2] = z[0], z[3] = z[1];
			assign(&a, "Z_beta", z);
			free(z);
		} else if (a.Mg) {
			/* A gamma point coincides with a beta point. */
			odvgp_real *b = values(&a, "Z_beta");
			z = values(&a, second);
			z[0] = b[2], z[1] = b[3];
			assign(&a, second, z);
			free(z), free(b);
		}
		elbo_of(&a, NULL, NULL);
		if (is_natural(mean, cov))
			CHECK_STATUS(
					odvgp_natgrad_step(a.m, a.X, a.Y, a.N, (odvgp_real)0.2, NULL, NULL), ODVGP_OK);
		one = elbo_of(&a, &kl_one, NULL);
		predict(&a, a.X, 12, m1, v1, NULL);
		for (s = 0; s < odvgp_slot_count(a.m); s++) copy_slot(&a, &a, odvgp_slot_at(a.m, s)->name);
		two = elbo_of(&a, &kl_two, NULL);
		predict(&a, a.X, 12, m2, v2, NULL);
		raised += odvgp_model_events(a.m).jitter_raised > 0;
		CHECK_SAY(one == two && kl_one == kl_two && !memcmp(m1, m2, 24 * sizeof *m1) &&
						  !memcmp(v1, v2, 24 * sizeof *v1),
				"%s + %s: bounds %.17g and %.17g, KLs %.17g and %.17g, means by %.3g, variances by "
				"%.3g",
				mean_name[mean], cov_name[cov], one, two, kl_one, kl_two, test_max_diff(m1, m2, 24),
				test_max_diff(v1, v2, 24));
		free(m1), free(m2), free(v1), free(v2);
		drop(&a);
	}
	CHECK(raised >= 10);
}

/*  Points are repeated, there is no jitter, and only q moves: the jitter is raised, lowered as
    steps succeed, and raised again. Every value that depends on it must follow, also values that
    share the memory of others. The model's bound, predictions and steps must be, bit for bit,
    those of the same model read from a file, which recomputes everything; for a bound without q
    the test compares with a second model that is given the same values. */
typedef struct variant {
	int mean, cov;
	odvgp_parametrisation param;
	odvgp_gamma_coords coords;
	odvgp_gamma_step gamma;
	odvgp_objective objective;
	/* A gamma point coincides with a beta point. */
	int also_gamma;
} variant;

static void words_of(const variant *v, char *to, size_t size)
{
	snprintf(to, size, "%s + %s, param %d, coords %d, gamma step %d, objective %d%s",
			mean_name[v->mean], cov_name[v->cov], v->param, v->coords, v->gamma, v->objective,
			v->also_gamma ? ", gamma on beta" : "");
}

static fixture repeated(const variant *v)
{
	odvgp_config c = pair_config(v->mean, v->cov, 30, 1, 8, 12);
	fixture a;
	odvgp_real *b;
	c.jitter.absolute = 0;
	c.reproduce.parametrisation = v->param;
	c.reproduce.gamma_coords = v->coords;
	c.optim.gamma_step = v->gamma;
	c.objective = v->objective;
	c.optim.natgrad &= v->objective == ODVGP_OBJECTIVE_ELBO;
	test_seed = 360;
	a = make_pair(v->mean, v->cov, &c, "rbf");
	b = values(&a, "Z_beta");
	b[2] = b[0], b[3] = b[1];
	assign(&a, "Z_beta", b);
	if (v->also_gamma) {
		const char *name = v->mean == FREE ? "Z_alpha" : "Z_gamma";
		odvgp_real *g = values(&a, name);
		g[0] = b[4], g[1] = b[5];
		assign(&a, name, g);
		free(g);
	}
	free(b);
	CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.*", 0, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set_trainable(a.m, "Z_*", 0, NULL), ODVGP_OK);
	return a;
}

/*  Returns the model, recomputed from its parameters and its jitter. */
static fixture read_again(fixture *a, const variant *v)
{
	fixture b;
	int s;
	if (v->objective == ODVGP_OBJECTIVE_ELBO) {
		b = load_again(a);
		b.X = b.Y = NULL;
		return b;
	}
	b = repeated(v);
	for (s = 0; s < odvgp_slot_count(a->m); s++) copy_slot(&b, a, odvgp_slot_at(a->m, s)->name);
	memcpy(b.m->unit[0].jitter, a->m->unit[0].jitter, sizeof b.m->unit[0].jitter);
	return b;
}

static int follows_its_jitter(const variant *v)
{
	fixture a = repeated(v), b;
	odvgp_real mean[2][30], var[2][30], one, two;
	gp__jitter before[GP__JITTERS];
	int i, k, moved = 0, elbo = v->objective == ODVGP_OBJECTIVE_ELBO;
	char words[120];
	words_of(v, words, sizeof words);
	for (i = 1; i <= 140; i++) {
		memcpy(before, a.m->unit[0].jitter, sizeof before);
		if (!CHECK_SAY(odvgp_step(a.m, a.X, a.Y, NULL, NULL) == ODVGP_OK, "%s: step %d", words, i))
			break;
		for (k = 0; k < GP__JITTERS; k++) moved += before[k].raised > a.m->unit[0].jitter[k].raised;
		if (i % test_size(20, 70)) continue;
		one = two = (odvgp_real)NAN;
		CHECK_SAY(odvgp_elbo(a.m, a.X, a.Y, 30, &one, NULL, NULL, NULL) == ODVGP_OK,
				"%s: step %d: no bound", words, i);
		if (elbo) predict(&a, a.X, 30, mean[0], var[0], NULL);
		b = read_again(&a, v);
		if (elbo) predict(&b, a.X, 30, mean[1], var[1], NULL);
		CHECK_STATUS(odvgp_elbo(b.m, a.X, a.Y, 30, &two, NULL, NULL, NULL), ODVGP_OK);
		CHECK_SAY(one == two, "%s: step %d: bound %.17g, read again %.17g", words, i, (double)one,
				(double)two);
		if (elbo)
			CHECK_SAY(!memcmp(mean[0], mean[1], sizeof mean[0]) &&
							  !memcmp(var[0], var[1], sizeof var[0]),
					"%s: step %d: means differ by %.3g, variances by %.3g", words, i,
					test_max_diff(mean[0], mean[1], 30), test_max_diff(var[0], var[1], 30));
		/* The next steps agree too. */
		if (elbo) {
			odvgp_real *va, *vb;
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(b.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			va = all_values(a.m), vb = all_values(b.m);
			CHECK_SAY(!memcmp(va, vb, (size_t)odvgp_param_count(a.m) * sizeof *va),
					"%s: step %d: another step, by %.3g", words, i,
					test_max_diff(va, vb, odvgp_param_count(a.m)));
			free(va), free(vb);
		}
		drop(&b);
	}
	/* In other coordinates q itself changes with the jitter, by a large amount. */
	if (v->param == ODVGP_PARAMETRISATION_WHITENED)
		CHECK_SAY(odvgp_model_events(a.m).step_undone == 0, "%s: a step is undone", words);
	drop(&a);
	return moved;
}

TEST(values_follow_a_jitter_that_moves)
{
	int mean, cov, param, coords, gamma, objective, also_gamma, variants = 0, moved = 0;
	EACH_PAIR(mean, cov)
	for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
		for (coords = ODVGP_GAMMA_COORDS_PLAIN; coords <= ODVGP_GAMMA_COORDS_DIFFERENTIATED;
				coords++)
			for (gamma = ODVGP_GAMMA_STEP_ADAM; gamma <= ODVGP_GAMMA_STEP_EXACT; gamma++)
				for (objective = ODVGP_OBJECTIVE_ELBO; objective <= ODVGP_OBJECTIVE_EXACT;
						objective++) {
					variant v;
					odvgp_config c = pair_config(mean, cov, 30, 1, 8, 12);
					size_t bytes;
					int own = mean == ORTH || mean == HYBRID, most;
					v.mean = mean, v.cov = cov, v.param = (odvgp_parametrisation)param,
					v.coords = (odvgp_gamma_coords)coords;
					v.gamma = (odvgp_gamma_step)gamma, v.objective = (odvgp_objective)objective;
					c.reproduce.parametrisation = v.param, c.reproduce.gamma_coords = v.coords,
					c.optim.gamma_step = v.gamma, c.objective = v.objective;
					c.optim.natgrad &= !objective;
					/* The exact GP has no inducing points. */
					if (objective == ODVGP_OBJECTIVE_EXACT) continue;
					if (!own && (coords != ODVGP_GAMMA_COORDS_SCALED || gamma)) continue;
					if (own && coords != ODVGP_GAMMA_COORDS_SCALED && (gamma || param)) continue;
					if (objective && param == ODVGP_PARAMETRISATION_A_BETA) continue;
					/* This combination does not exist. */
					if (sized(&bytes, odvgp_model_size(&c, NULL), NULL) != ODVGP_OK) continue;
					most = has_v(mean, cov) || gamma == ODVGP_GAMMA_STEP_EXACT;
					for (also_gamma = 0; also_gamma <= most; also_gamma++, variants++) {
						v.also_gamma = also_gamma;
						moved += follows_its_jitter(&v) > 0;
					}
				}
	CHECK(variants >= 80 && moved >= 70);
	test_note("%d variants, the jitter of %d is lowered", variants, moved);
}

/*  From its defaults and the data, the bound on all rows rises at every evaluation; no step
    allocates. */
TEST(every_pair_trains)
{
	int mean, cov, i;
	EACH_PAIR(mean, cov)
	{
		odvgp_config c = pair_config(mean, cov, 80, 2, 8, 12),
					 usual = odvgp_config_defaults(80, 2, 2, 8, 12);
		fixture a;
		double before, first;
		int before_steps;
		c.jitter.absolute = usual.jitter.absolute;
		c.jitter.relative = usual.jitter.relative;
		test_seed = 342;
		a = make_pair(mean, cov, &c, "matern52 + rbf");
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		first = before = elbo_of(&a, NULL, NULL);
		before_steps = test_allocations;
		for (i = 1; i <= 50; i++) {
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			if (i % 5 == 0) {
				double now = elbo_of(&a, NULL, NULL);
				CHECK_SAY(now > before, "%s + %s: the bound falls from %.9g to %.9g by step %d",
						mean_name[mean], cov_name[cov], before, now, i);
				before = now;
			}
		}
		CHECK_INT(test_allocations, before_steps);
		CHECK(before > first + 0.1);
		CHECK_INT(odvgp_model_events(a.m).step_undone, 0);
		drop(&a);
	}
}

TEST(no_natural_step_allocates)
{
	natural list[NATURALS];
	int n = naturals(list), k, i, before;
	/* Nothing is allocated as long as the caller provides all blocks. */
	CHECK(test_allocations == 0);
	{
		/* Allocations would be counted. */
		odvgp_config c = pair_config(ORTH, ODVGP_COV_PART_DENSE, 4, 1, 2, 1);
		odvgp_real X[8] = {0, 1, 2, 3, 4, 5, 6, 8}, Y[4] = {1, 2, 3, 5};
		odvgp_model *m;
		CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
		CHECK(test_allocations > 0);
		odvgp_model_free(m);
	}
	for (k = 0; k < n; k++) {
		odvgp_config c = natural_config(&list[k], 0);
		fixture a;
		test_seed = 343;
		a = make_pair(list[k].mean, list[k].cov, &c, "rbf");
		before = test_allocations;
		for (i = 0; i < 4; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, a.N, (odvgp_real)0.1, NULL, NULL), ODVGP_OK);
		CHECK_INT(test_allocations, before);
		drop(&a);
	}
}

/*  A part can do only what its table entry says. A copy of an entry without natural steps or
    without an optimum has neither, with any other part: a step for q_mu's Gaussian would be
    silently wrong where q_mu means something else. */
TEST(what_a_row_does_not_say_is_refused)
{
	int mean, cov, says_mean, says_optimum;
	EACH_PAIR(mean, cov)
	for (says_mean = 0; says_mean < 2; says_mean++)
		for (says_optimum = 0; says_optimum < 2; says_optimum++) {
			odvgp_config c = pair_config(mean, cov, 10, 1, 3, 2);
			gp__mean_part mean_row;
			gp__cov_part cov_row;
			fixture a;
			odvgp_real *before, *after, e = 77;
			odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
			gp__unit *u;
			size_t bytes;
			void *work;
			c.optim.natgrad = 0;
			test_seed = 349;
			a = make_pair(mean, cov, &c, "rbf");
			u = a.m->unit;
			mean_row = *u->mean_part, cov_row = *u->cov_part;
			CHECK(gp__steps_of(&mean_row, &cov_row, u->M_gamma) == u->steps &&
					(u->steps != 0) == is_natural(mean, cov));
			if (says_mean) cov_row.steps = 0;
			else mean_row.steps = 0;
			if (says_optimum) cov_row.optimum = GP__NO_OPTIMUM;
			else mean_row.optimum = GP__NO_OPTIMUM;
			u->mean_part = &mean_row, u->cov_part = &cov_row;
			u->steps = gp__steps_of(&mean_row, &cov_row, u->M_gamma);
			CHECK(u->steps == 0);
			before = all_values(a.m);
			CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, a.N, (odvgp_real)0.1, &e, &info),
					ODVGP_E_UNSUPPORTED);
			CHECK(e == 77 && strlen(info.text) > 10);
			bytes = odvgp_fit_q_scratch(a.m, NULL);
			work = test_alloc(bytes);
			CHECK_STATUS(odvgp_fit_q(a.m, a.X, a.Y, NULL, work, bytes, &info), ODVGP_E_UNSUPPORTED);
			CHECK(strlen(info.text) > 10);
			after = all_values(a.m);
			CHECK(!memcmp(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before));
			free(work), free(before), free(after);
			drop(&a);
		}
}

/*  The table entries agree with each other: the natural steps of each pair are of one kind, v
    moves only together with u, and each optimum has its function. */
TEST(rows_of_parts_agree)
{
	int mean, cov, k;
	for (mean = 0; mean < (int)GP__COUNT(gp__mean_parts); mean++)
		for (cov = 0; cov < (int)GP__COUNT(gp__cov_parts); cov++) {
			const gp__mean_part *mp = &gp__mean_parts[mean];
			const gp__cov_part *cp = &gp__cov_parts[cov];
			int steps = mp->steps & cp->steps, kinds = 0;
			for (k = 0; k < (int)GP__COUNT(gp__step_kinds); k++)
				kinds += (steps & gp__step_kinds[k].steps) != 0;
			CHECK_SAY(kinds == (steps != 0), "%s + %s: %d kinds of natural step", mp->name,
					cp->name, kinds);
			CHECK_SAY(!(steps & GP__STEPS_GAMMA) ||
							  ((steps & GP__STEPS_BETA) && mp->v_mu && cp->v_sqrt),
					"%s + %s: steps of v", mp->name, cp->name);
			CHECK_SAY(!(steps & GP__STEPS_BETA) ||
							  (mp->mu == GP__MU_MEAN && cp->q_sqrt && cp->factor == GP__FACTOR_OF_S),
					"%s + %s: steps of u", mp->name, cp->name);
			CHECK_SAY(!(steps & GP__STEPS_DIAGONAL) || cp->diag,
					"%s + %s: steps of O(M)", mp->name, cp->name);
			CHECK(cp->optimum >= 0 && cp->optimum < (int)GP__COUNT(gp__optima) &&
					(cp->optimum == GP__NO_OPTIMUM) == (gp__optima[cp->optimum] == NULL));
			CHECK(mp->head && mp->tile && cp->head && cp->tile && cp->freeze && cp->sqrt_start > 0);
			CHECK(!mp->gamma == !mp->Z_gamma && (!cp->v_sqrt || cp->Z_gamma) &&
					(mp->gamma || mp->without_gamma == (odvgp_mean_part)mean));
		}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	/* This test must run before those that let the library allocate. */
	RUN(no_natural_step_allocates);
	RUN(every_pair_is_its_own_gaussian);
	RUN(what_does_not_exist_is_refused_and_nothing_else);
	RUN(without_gamma_all_are_coupled);
	RUN(solve_gp_with_the_prior_on_v_is_orth);
	RUN(hybrid_is_orth_and_its_natural_steps_are_those_of_orth);
	RUN(sampled_columns_are_unbiased_for_every_mean_with_gamma);
	RUN(every_pair_starts_at_the_prior);
	RUN(a_predictor_holds_no_number_of_a_part);
	RUN(raised_jitter_is_one_number_everywhere);
	RUN(values_follow_a_jitter_that_moves);
	RUN(every_pair_trains);
	RUN(what_a_row_does_not_say_is_refused);
	RUN(rows_of_parts_agree);
	return test_end();
}

/*  How every pair of a mean part and a covariance part is trained: gradients against finite
    differences, natural steps and the optimum that they reach, and training in other units, with
    other numbers of tasks, after a file, and with frozen slots. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"

/* ---- gradients ---- */

TEST(every_pair_has_the_gradient_of_its_bound)
{
	int mean, cov, param, round;
	test_seed = 302;
	EACH_PAIR(mean, cov)
	for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
		for (round = 0; round < 2; round++) {
			odvgp_config c = pair_config(mean, cov, 7, 1 + (param + round) % 2, 4, 3);
			fixture a;
			odvgp_real *grad, *again;
			ptrdiff_t n;
			char where[100];
			if (param == ODVGP_PARAMETRISATION_A_BETA && !has_A_BETA(mean)) continue;
			c.reproduce.parametrisation = (odvgp_parametrisation)param;
			c.reproduce.gamma_coords =
					round ? ODVGP_GAMMA_COORDS_PLAIN : ODVGP_GAMMA_COORDS_DIFFERENTIATED;
			c.reproduce.gamma_kl = (odvgp_gamma_kl)(round % 2);
			c.layer[0].mean_function =
					round ? ODVGP_MEAN_FUNCTION_LINEAR : ODVGP_MEAN_FUNCTION_CONSTANT;
			c.tile = round ? 3 : 0;
			/* The factor N/B of a minibatch differs from 1. */
			c.N = round ? 7 : 30;
			c.jitter.absolute = 0;
			/* The derivative of a relative jitter is part of the kernel's derivative. */
			c.jitter.relative = (odvgp_real)(round ? BY_PRECISION(1e-3, 1e-2) : 0.1);
			a = make_pair(mean, cov, &c, round ? "linear + rq" : "rbf");
			a.N = 7;
			snprintf(where, sizeof where, "%s + %s, param %d, round %d", mean_name[mean],
					cov_name[cov], param, round);
			check_gradient(&a, NULL, 0, BY_PRECISION(2e-9, 2e-3), 1, where);
			n = odvgp_param_count(a.m);
			grad = NEW(odvgp_real, n);
			again = NEW(odvgp_real, n);
			elbo_of(&a, NULL, grad);
			elbo_of(&a, NULL, again);
			CHECK_SAY(!memcmp(grad, again, (size_t)n * sizeof *grad),
					"%s: the gradient asked for again is another", where);
			free(grad), free(again);
			drop(&a);
		}
}

/*  The same for products that are long enough for blocks and triangles of the micro-kernels,
    along three directions of each slot. */
TEST(gradients_with_many_points)
{
	int mean, cov, s, r;
	test_seed = 303;
	EACH_PAIR(mean, cov)
	{
		odvgp_config c = pair_config(mean, cov, 60, 2, 35, 45);
		fixture a;
		odvgp_real *grad;
		ptrdiff_t i;
		double elbo;
		c.jitter.relative = (odvgp_real)0.1;
		c.tile = 25;
		a = make_pair(mean, cov, &c, "rbf");
		grad = NEW(odvgp_real, odvgp_param_count(a.m));
		elbo = elbo_of(&a, NULL, grad);
		for (s = 0; s < odvgp_slot_count(a.m); s++) {
			const odvgp_slot *t = odvgp_slot_at(a.m, s);
			odvgp_real *v = values(&a, t->name), *x = NEW(odvgp_real, t->count),
					   *way = NEW(odvgp_real, t->count);
			for (r = 0; r < 3; r++) {
				static const double weight[4] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12},
									place[4] = {-2, -1, 1, 2};
				double got = 0, want = 0, size = 0, h = BY_PRECISION(1e-4, 4e-3);
				int k;
				for (i = 0; i < t->count; i++) {
					way[i] = (odvgp_real)test_between(-1, 1);
					if (t->lower && i % t->shape[2] > i / t->shape[2] % t->shape[1]) way[i] = 0;
					got += (double)way[i] * (double)grad[t->offset + i];
					size += fabs((double)way[i] * (double)grad[t->offset + i]);
				}
				for (k = 0; k < 4; k++) {
					for (i = 0; i < t->count; i++)
						x[i] = (odvgp_real)((double)v[i] + place[k] * h * (double)way[i]);
					assign(&a, t->name, x);
					want -= weight[k] * elbo_of(&a, NULL, NULL) / h;
				}
				CHECK_SAY(fabs(got - want) <= BY_PRECISION(1e-7, 2e-2) * (size + fabs(elbo)),
						"%s + %s: %s: %.10g, difference %.10g, of %.3g", mean_name[mean],
						cov_name[cov], t->name, got, want, size);
			}
			assign(&a, t->name, v);
			free(v), free(x), free(way);
		}
		free(grad);
		drop(&a);
	}
}

/* ---- natural steps reach the optimum ---- */

/*  Returns F F^T of output p for the factor F in the slot. */
static wide *square_of(const fixture *a, const char *name, ptrdiff_t p)
{
	ptrdiff_t M = slot(a, name)->shape[2];
	wide *r = wide_values(a, name), *S = ref_new(M * M);
	ref_mul(0, 1, M, M, M, r + p * M * M, r + p * M * M, S);
	free(r);
	return S;
}

/*  Whitened, the optimal covariances are (I + A A^T / noise)^-1 for u and the same with A_v for
    v, whatever the means are ([SOLVE] eq. 28). */
TEST(a_unit_step_of_solve_gp_gives_the_optimal_covariances)
{
	int param;
	for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_PRIMAL; param++) {
		const ptrdiff_t N = 25, M = 4, Mg = 3;
		odvgp_config c = pair_config(BLOCKS, ODVGP_COV_PART_BLOCKS, N, 2, M, Mg);
		fixture a;
		features f;
		ptrdiff_t p, i, j, l;
		int v;
		c.reproduce.parametrisation = (odvgp_parametrisation)param;
		test_seed = 320;
		a = make_pair(BLOCKS, ODVGP_COV_PART_BLOCKS, &c, "matern52 + rbf");
		f = features_of(&a);
		CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, N, 1, NULL, NULL), ODVGP_OK);
		CHECK_INT(odvgp_model_events(a.m).step_shortened, 0);
		for (v = 0; v < 2; v++) {
			ptrdiff_t m = v ? Mg : M;
			const wide *A = v ? f.Av : f.A;
			wide *Q = ref_new(m * m), *S, *want, *T;
			for (i = 0; i < m; i++)
				for (j = 0; j < m; j++) {
					Q[i * m + j] = i == j;
					for (l = 0; l < N; l++)
						Q[i * m + j] += A[i * N + l] * A[j * N + l] / (wide)(odvgp_real)0.15;
				}
			want = ref_inverse_spd(m, Q);
			if (param == ODVGP_PARAMETRISATION_PRIMAL) {
				T = ref_new(m * m);
				ref_mul(0, 0, m, m, m, v ? f.Lv : f.L, want, T);
				ref_mul(0, 1, m, m, m, T, v ? f.Lv : f.L, want);
				free(T);
			}
			for (p = 0; p < 2; p++) {
				S = square_of(&a, v ? "v_sqrt" : "q_sqrt", p);
				for (i = 0; i < m * m; i++) CHECK_NEAR(S[i], want[i], 100 * EPS * f.condition);
				free(S);
			}
			free(Q), free(want);
		}
		drop_features(&f);
		drop(&a);
	}
}

/*  Returns the largest element of a slot's gradient; for a positive slot the derivative is with
    respect to its logarithm. */
static double largest_gradient(fixture *a, const char *name)
{
	odvgp_real *g = NEW(odvgp_real, odvgp_param_count(a->m)), *v = values(a, name);
	const odvgp_slot *t = slot(a, name);
	double most = 0;
	ptrdiff_t i;
	elbo_of(a, NULL, g);
	for (i = 0; i < t->count; i++)
		most = test_worse(most, fabs((double)g[t->offset + i]) * (t->positive ? (double)v[i] : 1));
	free(g), free(v);
	return most;
}

/*  The means of u and v are coupled, so unit steps of one after the other are coordinate ascent,
    and steps of both together must be shorter. Both end where the gradient is 0. */
TEST(steps_of_the_blocks_reach_the_joint_optimum)
{
	double bound[2];
	int together;
	for (together = 0; together < 2; together++) {
		odvgp_config c = pair_config(BLOCKS, ODVGP_COV_PART_BLOCKS, 25, 2, 4, 3);
		fixture a;
		odvgp_real before = 0, now;
		int k, rises = 1;
		c.reproduce.blocks_step =
				together ? ODVGP_BLOCKS_STEP_TOGETHER : ODVGP_BLOCKS_STEP_ALTERNATE;
		test_seed = 321;
		a = make_pair(BLOCKS, ODVGP_COV_PART_BLOCKS, &c, "matern52 + rbf");
		CHECK(largest_gradient(&a, "q_mu") > 1 && largest_gradient(&a, "v_sqrt") > 1e-2);
		for (k = 0; k < 400; k++) {
			CHECK_STATUS(odvgp_natgrad_step(
								 a.m, a.X, a.Y, a.N, (odvgp_real)(together ? 0.4 : 1), &now, NULL),
					ODVGP_OK);
			if (k && !together)
				rises = rises && (double)now >= (double)before - 1e4 * EPS * fabs((double)before);
			/* The first step moved u, the second v. */
			if (k == 1 && !together) {
				CHECK_NEAR(largest_gradient(&a, "v_mu"), 0, 1e6 * EPS);
				CHECK(largest_gradient(&a, "q_mu") > 1e-4);
			}
			before = now;
		}
		CHECK(rises);
		CHECK_NEAR(largest_gradient(&a, "q_mu"), 0, BY_PRECISION(1e-8, 2e-2));
		CHECK_NEAR(largest_gradient(&a, "q_sqrt"), 0, BY_PRECISION(1e-8, 2e-2));
		CHECK_NEAR(largest_gradient(&a, "v_mu"), 0, BY_PRECISION(1e-8, 2e-2));
		CHECK_NEAR(largest_gradient(&a, "v_sqrt"), 0, BY_PRECISION(1e-8, 2e-2));
		bound[together] = elbo_of(&a, NULL, NULL);
		drop(&a);
	}
	CHECK_NEAR(bound[0], bound[1], 1e3 * EPS * fabs(bound[1]));
}

/*  With robustmax a step that lowers the bound is halved. Where the blocks take turns, every retry
    moves the same block from the same q: the result is that of a shorter step, taken at once. */
TEST(a_halved_step_is_a_shorter_one)
{
	static const char *const slots[2][2] = {{"q_mu", "q_sqrt"}, {"v_mu", "v_sqrt"}};
	int round, k, shortened = 0;
	for (round = 0; round < 40; round++) {
		odvgp_config c = pair_config(BLOCKS, ODVGP_COV_PART_BLOCKS, 40, 3, 4, 3);
		odvgp_report r, one;
		odvgp_schedule shorter;
		odvgp_real *before, *after, *at_once;
		double most = 0;
		int turn = round % 2;
		fixture a;
		ptrdiff_t i;
		c.lik.kind = ODVGP_LIKELIHOOD_ROBUSTMAX;
		c.reproduce.blocks_step = ODVGP_BLOCKS_STEP_ALTERNATE;
		c.optim.natgrad_step = odvgp_constant(1);
		test_seed = 323 + (uint64_t)round;
		a = make_pair(BLOCKS, ODVGP_COV_PART_BLOCKS, &c, "matern52 + rbf");
		for (i = 0; i < a.N; i++) a.Y[i] = (odvgp_real)(i % 3);
		CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0, NULL), ODVGP_OK);
		for (k = 0; k < 4; k++)
			CHECK_STATUS(odvgp_set_trainable(a.m, slots[k / 2][k % 2], 1, NULL), ODVGP_OK);
		if (turn) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		fixture b = load_again(&a);
		before = all_values(a.m);
		double halved = -(double)odvgp_model_events(a.m).step_shortened;
		CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
		halved += (double)r.events.step_shortened;
		after = all_values(a.m);
		for (k = 0; k < 4; k++) {
			const odvgp_slot *t = slot(&a, slots[k / 2][k % 2]);
			odvgp_real *now = after + t->offset;
			CHECK_SAY((memcmp(before + t->offset, now, (size_t)t->count * sizeof *now) != 0) ==
							  (k / 2 == turn),
					"round %d, halved %g times: %s", round, halved, t->name);
			most = test_worse(most, test_max_abs(now, t->count));
		}
		shorter = odvgp_constant((odvgp_real)pow(0.5, halved));
		CHECK_STATUS(odvgp_set_step_sizes(b.m, NULL, &shorter, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_step(b.m, a.X, a.Y, &one, NULL), ODVGP_OK);
		at_once = all_values(b.m);
		/* Also counted, but without two evaluations, is a step of one output that is halved because
		   its covariance would have no factor. */
		if (halved > 0 && r.evaluations - one.evaluations == 2 * (int)halved) {
			double off = test_max_diff(after, at_once, odvgp_param_count(a.m));
			CHECK_SAY(off <= BY_PRECISION(1e-9, 1e-3) * most,
					"round %d: halved %g times it is off by %.3g of %.3g", round, halved, off,
					most);
			shortened++;
		}
		free(before), free(after), free(at_once), free(b.block);
		drop(&a);
	}
	CHECK_SAY(shortened > 3, "%d of %d steps shortened", shortened, round);
	test_note("%d of %d steps shortened", shortened, round);
}

TEST(steps_of_o_m_reach_its_optimum_and_the_projected_one_does_not)
{
	double bound[4], gradient[4];
	int how, k;
	for (how = ODVGP_DIAG_STEP_EXACT; how <= ODVGP_DIAG_STEP_PROJECTED_MU; how++) {
		odvgp_config c = pair_config(TIED, ODVGP_COV_PART_DIAGONAL, 30, 2, 4, 0);
		fixture a;
		double more;
		c.reproduce.diag_step = (odvgp_diag_step)how;
		test_seed = 322;
		a = make_pair(TIED, ODVGP_COV_PART_DIAGONAL, &c, "matern52 + rbf");
		for (k = 0; k < 600; k++)
			CHECK_STATUS(
					odvgp_natgrad_step(a.m, a.X, a.Y, a.N, (odvgp_real)0.3, NULL, NULL), ODVGP_OK);
		bound[how] = elbo_of(&a, NULL, NULL);
		gradient[how] = largest_gradient(&a, "q_mu");
		more = largest_gradient(&a, "q_diag");
		if (how == ODVGP_DIAG_STEP_PROJECTED) {
			CHECK_SAY(gradient[how] + more > 1,
					"the projected step reaches the optimum, too: gradients %.3g and %.3g",
					gradient[how], more);
		} else if (how == ODVGP_DIAG_STEP_PROJECTED_MU) {
			CHECK_SAY(more > 1e-3,
					"the projected step of g reaches the optimum, too: a gradient of %.3g", more);
			CHECK_SAY(gradient[how] <= BY_PRECISION(1e-7, 5e-2),
					"with the projected step mu ends at a gradient of %.3g", gradient[how]);
		} else {
			CHECK_SAY(more <= BY_PRECISION(1e-7, 2e-2), "step %d of g ends at a gradient of %.3g",
					how, more);
			CHECK_SAY(gradient[how] <= BY_PRECISION(1e-7, 5e-2),
					"step %d of mu ends at a gradient of %.3g", how, gradient[how]);
		}
		drop(&a);
	}
	CHECK_NEAR(bound[ODVGP_DIAG_STEP_EXACT], bound[ODVGP_DIAG_STEP_AFFINE],
			1e4 * EPS * fabs(bound[0]));
	CHECK(bound[ODVGP_DIAG_STEP_PROJECTED] < bound[0] - 1e-3 &&
			bound[ODVGP_DIAG_STEP_PROJECTED_MU] < bound[0] - 1e-6);
	test_note("the projected step stops %.2g nats below, that of mu %.2g", bound[0] - bound[2],
			bound[0] - bound[3]);
}

/*  On all rows, no natural step of O(M) lowers the bound if nothing else moves, whatever kernel
    Adam has reached; and if Adam moves the kernel too, training recovers what a step loses. One
    target is an outlier, and there are many points. */
TEST(natural_steps_of_o_m_do_not_lose)
{
	enum { N = 120, M = 40 };
	int i, k;
	odvgp_config c = pair_config(TIED, ODVGP_COV_PART_DIAGONAL, N, 1, M, 0);
	odvgp_report r;
	fixture a;
	double before, now, shortened = 0;
	c.jitter.absolute = 0;
	c.jitter.relative = BY_PRECISION((odvgp_real)1e-6, (odvgp_real)1e-4);
	test_seed = 348;
	a = make_pair(TIED, ODVGP_COV_PART_DIAGONAL, &c, "matern52");
	for (i = 0; i < N; i++) {
		a.X[2 * i] = (odvgp_real)test_between(-2, 2), a.X[2 * i + 1] = 0;
		a.Y[i] = (odvgp_real)(sin(3 * (double)a.X[2 * i]) + 0.1 * test_normal() +
							  (i == N / 2 ? 5 : 0));
	}
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	for (k = 0; k < test_size(12, 6); k++) {
		CHECK_STATUS(odvgp_set_trainable(a.m, "*", 1, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 25, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set_trainable(a.m, "q_*", 1, NULL), ODVGP_OK);
		before = elbo_of(&a, NULL, NULL);
		for (i = 0; i < 3; i++) {
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
			now = elbo_of(&a, NULL, NULL);
			CHECK_SAY(now >= before - sqrt(EPS) * (fabs(before) + N),
					"after %d steps: %.9g after %.9g", (int)r.step, now, before);
			CHECK(r.evaluations >= 2);
			before = now;
		}
		shortened = (double)r.events.step_shortened;
	}
	test_note("%g steps shortened", shortened);
	drop(&a);
}

/*  The upper bound is above the lower one, or it is refused if rounding leaves no digits of
    either; the outputs then keep their old contents. */
TEST(an_upper_bound_is_above_or_refused)
{
	enum { N = 200 };
	static const char *const expressions[] = {"rbf(5, variance=1)", "rbf"};
	int k, power, refused = 0, given = 0, i;
	ptrdiff_t M;
	for (k = 0; k < 2; k++)
		for (M = 5; M <= 45; M *= 3)
			for (power = 0; power <= 10; power++) {
				odvgp_config c = odvgp_config_defaults(N, 1, 1, M, 0);
				odvgp_real X[N], Y[N], upper = -7, lower = -8;
				odvgp_model *m;
				size_t bytes;
				void *work;
				odvgp_status s;
				test_seed = 349;
				for (i = 0; i < N; i++) {
					X[i] = (odvgp_real)test_between(-2, 2);
					Y[i] = (odvgp_real)(pow(10, power) * (1 + 0.1 * (double)X[i]));
				}
				c.lik.noise_variance = (odvgp_real)1e-4;
				c.lik.noise_floor = -1;
				c.layer[0].kernel = expressions[k];
				c.isa = test_isa();
				if (!CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK)) continue;
				bytes = odvgp_fit_q_scratch(m, NULL);
				work = test_alloc(bytes);
				s = odvgp_upper_bound(m, X, Y, &upper, &lower, work, bytes, NULL);
				CHECK_SAY(
						s ? (s == ODVGP_E_NAN || s == ODVGP_E_NOT_PD) && upper == -7 && lower == -8
						  : upper >= lower,
						"%s, %ld points, targets of 1e%d: %s, %.9g above %.9g", expressions[k],
						(long)M, power, odvgp_status_text(s), (double)upper, (double)lower);
				refused += s != ODVGP_OK, given += s == ODVGP_OK;
				free(work);
				odvgp_model_free(m);
			}
	CHECK(given > 0 && refused > 0);
	test_note("%d given, %d refused", given, refused);
}

/*  With 50 points on a smooth curve, the optimal g is 0 for some of them in some draws. They end
    where 1 / k(x,x) is a rounding error, by fitting and by 3,000 affine steps that are too long
    (150 in the short form), and everything continues from there. */
TEST(components_of_o_m_that_vanish_stop_nothing)
{
	enum { N = 500, M = 50, DRAWS = 8 };
	static const odvgp_real lengthscale = (odvgp_real)0.1, variance = (odvgp_real)0.5,
							noise = (odvgp_real)0.01;
	int draw, draws = 0, i, vanished = 0;
	/* the short form leaves out four draws in which none vanishes */
	for (draw = 0; draw < DRAWS; draw += draw ? 1 : test_size(1, 5), draws++) {
		odvgp_config c = pair_config(TIED, ODVGP_COV_PART_DIAGONAL, N, 1, M, 0);
		fixture a;
		odvgp_real g[M], *grad, e, least;
		c.jitter.absolute = BY_PRECISION((odvgp_real)1e-10, (odvgp_real)1e-5);
		c.jitter.relative = 0;
		c.optim.natgrad = 1;
		c.optim.natgrad_step = odvgp_constant((odvgp_real)0.3);
		c.optim.lr = odvgp_constant((odvgp_real)0.001);
		test_seed = 346 + (uint64_t)draw;
		a = make_pair(TIED, ODVGP_COV_PART_DIAGONAL, &c, "rbf");
		for (i = 0; i < N; i++) {
			a.X[2 * i] = (odvgp_real)test_between(-1, 1), a.X[2 * i + 1] = 0;
			a.Y[i] = (odvgp_real)(sin(9 * (double)a.X[2 * i]) + 0.1 * test_normal());
		}
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set(a.m, "kernel.0.lengthscale", &lengthscale, 1, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set(a.m, "kernel.0.variance", &variance, 1, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set(a.m, "noise_variance", &noise, 1, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_init_q(a.m, NULL), ODVGP_OK);
		odvgp_set_trainable(a.m, "Z_*", 0, NULL);
		if (!draw)
			CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, test_size(3000, 150), NULL, NULL), ODVGP_OK);
		else {
			size_t bytes = odvgp_fit_q_scratch(a.m, NULL);
			void *work = test_alloc(bytes);
			CHECK_STATUS(odvgp_fit_q(a.m, a.X, a.Y, NULL, work, bytes, NULL), ODVGP_OK);
			free(work);
		}
		CHECK_SAY(odvgp_model_events(a.m).step_undone < 100, "%d steps undone",
				(int)odvgp_model_events(a.m).step_undone);
		CHECK_STATUS(odvgp_get(a.m, "q_diag", g, M, NULL), ODVGP_OK);
		for (least = g[0], i = 1; i < M; i++) least = g[i] < least ? g[i] : least;
		CHECK_SAY((double)least >= 0.01 * EPS, "draw %d: the least g is %.3g", draw, (double)least);
		vanished += (double)least < 100 * EPS;
		grad = NEW(odvgp_real, odvgp_param_count(a.m));
		CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, N, &e, NULL, grad, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_predict_once(a.m, a.X, 1, g, NULL, NULL, NULL), ODVGP_OK);
		free(grad);
		drop(&a);
	}
	CHECK(vanished > 0 || sizeof(odvgp_real) == 4);
	test_note("%d of %d", vanished, draws);
}

TEST(a_diagonal_of_any_size_gives_finite_numbers)
{
	static const double sizes[] = {1e-12, 1e12};
	int mean, which, k;
	for (mean = 0; mean < MEANS; mean++)
		for (which = 0; which < 3; which++) {
			odvgp_config c = pair_config(mean, ODVGP_COV_PART_DIAGONAL, 9, 2, 4, 3);
			fixture a;
			odvgp_real g[8], *grad, m[18], v[18];
			ptrdiff_t i, bad = 0;
			test_seed = 323;
			a = make_pair(mean, ODVGP_COV_PART_DIAGONAL, &c, "matern52 + rbf");
			for (i = 0; i < 8; i++)
				g[i] = (odvgp_real)(which < 2 ? sizes[which] : sizes[(i + i / 4) % 2]);
			assign(&a, "q_diag", g);
			grad = NEW(odvgp_real, odvgp_param_count(a.m));
			CHECK(fabs(elbo_of(&a, NULL, grad)) < HUGE_REAL);
			for (i = 0; i < odvgp_param_count(a.m); i++)
				bad += !(fabs((double)grad[i]) < HUGE_REAL);
			CHECK_INT(bad, 0);
			predict(&a, a.X, 9, m, v, NULL);
			for (i = 0; i < 18; i++)
				CHECK(fabs((double)m[i]) < 1e6 && v[i] >= 0 && (double)v[i] < 10);
			for (k = 0; k < 3; k++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK(fabs(elbo_of(&a, NULL, NULL)) < HUGE_REAL);
			free(grad);
			drop(&a);
		}
}

/* ---- training ---- */

TEST(seven_threads_give_the_bits_of_one)
{
	natural list[NATURALS];
	int n = naturals(list), k, i, tasks;
	for (k = 0; k < n; k++) {
		odvgp_real *bits[2];
		ptrdiff_t count = 0;
		for (tasks = 0; tasks < 2; tasks++) {
			odvgp_config c = natural_config(&list[k], 1);
			fixture a;
			if (tasks) c.threads.run = run_mixed, c.threads.count = 7;
			test_seed = 340;
			a = make_pair(list[k].mean, list[k].cov, &c, "rbf");
			for (i = 0; i < test_size(20, 4); i++)
				CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			bits[tasks] = all_values(a.m);
			count = odvgp_param_count(a.m);
			drop(&a);
		}
		CHECK_SAY(!memcmp(bits[0], bits[1], (size_t)count * sizeof *bits[0]),
				"%s + %s (%d): other bits with seven threads", mean_name[list[k].mean],
				cov_name[list[k].cov], k);
		free(bits[0]), free(bits[1]);
	}
	test_note("%d ways", n);
}

TEST(a_saved_model_goes_on_bit_for_bit)
{
	natural list[NATURALS];
	int n = naturals(list), k, i, mean, cov;
	natural rest;
	memset(&rest, 0, sizeof rest);
	/* Include the pairs without a natural step. */
	EACH_PAIR(mean, cov)
	if (!is_natural(mean, cov)) {
		if (!CHECK(n < NATURALS)) return;
		list[n] = rest;
		list[n].mean = mean, list[n++].cov = cov;
	}
	for (k = 0; k < n; k++) {
		odvgp_config c = natural_config(&list[k], 0);
		fixture a, b;
		size_t size, model_bytes = 0;
		void *file;
		odvgp_real *va, *vb, ma[40], mb[40], sa[40], sb[40];
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		test_seed = 341;
		a = make_pair(list[k].mean, list[k].cov, &c, "matern52 + rbf");
		for (i = 0; i < 11; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		size = odvgp_save_size(a.m, 0, NULL);
		file = test_alloc(size);
		CHECK_STATUS(odvgp_save_memory(a.m, NULL, NULL, 0, file, size, NULL), ODVGP_OK);
		b = a;
		if (!CHECK_SAY(sized(&model_bytes, odvgp_load_size(file, size, NULL, test_isa(), &info),
							   &info) == ODVGP_OK,
					"%s + %s: %s", mean_name[a.mean], cov_name[a.cov], info.text))
			return;
		b.block = test_alloc(model_bytes);
		CHECK_SAY(odvgp_load_memory(&b.m, file, size, NULL, test_isa(), b.block, model_bytes,
						  &info) == ODVGP_OK,
				"%s + %s: %s", mean_name[a.mean], cov_name[a.cov], info.text);
		predict(&a, a.X, 20, ma, sa, NULL);
		predict(&b, a.X, 20, mb, sb, NULL);
		CHECK_BITS(ma, mb, sizeof ma);
		CHECK_BITS(sa, sb, sizeof sa);
		for (i = 0; i < 10; i++) {
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(b.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		}
		va = all_values(a.m);
		vb = all_values(b.m);
		CHECK_SAY(!memcmp(va, vb, (size_t)odvgp_param_count(a.m) * sizeof *va),
				"%s + %s (%d): other bits after loading", mean_name[a.mean], cov_name[a.cov], k);
		free(va), free(vb), free(file), free(b.block);
		drop(&a);
	}
	test_note("%d ways", n);
}

/*  Natural steps of gamma are a hundred times too long, on minibatches, with and without sampled
    columns. They are halved until the bound on the same rows is not lower, so that training
    continues. Without that the coefficients grow to 1e20 within as many steps. */
TEST(natural_steps_of_gamma_are_shortened)
{
	int mean, exact, columns;
	for (mean = ORTH; mean <= HYBRID; mean++)
		for (exact = 0; exact < 2; exact++)
			for (columns = 0; columns < 2; columns++) {
				odvgp_config c = pair_config(mean, ODVGP_COV_PART_DENSE, 80, 2, 8, 24),
							 usual = odvgp_config_defaults(80, 2, 2, 8, 24);
				fixture a;
				double first, last;
				odvgp_report report;
				int i;
				c.jitter.absolute = usual.jitter.absolute;
				c.jitter.relative = usual.jitter.relative;
				c.optim.batch = 20;
				c.optim.gamma_batch = columns ? 10 : 24;
				c.optim.natgrad = 1;
				c.optim.gamma_step = exact ? ODVGP_GAMMA_STEP_EXACT : ODVGP_GAMMA_STEP_DIAGONAL;
				c.optim.natgrad_step = odvgp_constant((odvgp_real)0.1);
				c.optim.gamma_step_ratio = 100;
				/* With a gamma as large as this, Adam's moves matter. */
				c.optim.lr = odvgp_constant((odvgp_real)0.001);
				test_seed = 345;
				a = make_pair(mean, ODVGP_COV_PART_DENSE, &c, "matern52 + rbf");
				CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
				first = elbo_of(&a, NULL, NULL);
				for (i = 0; i < test_size(300, 50); i++)
					CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &report, NULL), ODVGP_OK);
				last = elbo_of(&a, NULL, NULL);
				CHECK_SAY(last > first, "%s, %s, %s columns: the bound goes from %.9g to %.9g",
						mean_name[mean], exact ? "eq. 15a" : "eq. 16", columns ? "sampled" : "all",
						first, last);
				CHECK(report.events.step_shortened > 0 && report.events.step_undone == 0 &&
						report.evaluations > 1);
				drop(&a);
			}
}

/*  A kernel that underflows to 0 leaves gamma's step nothing to divide by. */
TEST(natural_steps_of_gamma_without_a_kernel)
{
	odvgp_config c = pair_config(ORTH, ODVGP_COV_PART_DENSE, 20, 2, 5, 7);
	c.jitter.absolute = (odvgp_real)1e-3;
	c.optim.natgrad = 1;
	c.optim.gamma_step = ODVGP_GAMMA_STEP_DIAGONAL;
	test_seed = 346;
	fixture a = make_pair(ORTH, ODVGP_COV_PART_DENSE, &c, "polynomial");
	set_number(a.m, "kernel.0.variance", BY_PRECISION(1e-200, 1e-25));
	set_number(a.m, "kernel.0.offset", BY_PRECISION(1e-200, 1e-25));
	CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, 20, (odvgp_real)0.5, NULL, NULL), ODVGP_OK);
	odvgp_real *values = all_values(a.m);
	CHECK(gp__finite(values, odvgp_param_count(a.m)));
	free(values);
	drop(&a);
}

/*  If positive values are trained as logarithms, targets in other units give the same training:
    the bound changes by log 2^20 for each target. */
TEST(units_of_the_targets_do_not_matter)
{
	enum { N = 40, STEPS = 30, TINY_POWER = 20 };
	int mean, cov, natgrad, tiny, i;
	test_seed = 330;
	EACH_PAIR(mean, cov) for (natgrad = 0; natgrad <= is_natural(mean, cov); natgrad++)
	{
		odvgp_real X[2 * N], y[N], z[N], elbo[2] = {0, 0};
		double moved = 0, off;
		for (i = 0; i < N; i++) {
			X[2 * i] = (odvgp_real)test_between(-2, 2);
			X[2 * i + 1] = (odvgp_real)test_between(-2, 2);
			y[i] = (odvgp_real)(sin(2 * (double)X[2 * i]) + 0.3 * (double)X[2 * i + 1] +
								0.1 * test_normal());
			z[i] = (odvgp_real)ldexp((double)y[i], -TINY_POWER);
		}
		for (tiny = 0; tiny < 2; tiny++) {
			odvgp_config c = pair_config(mean, cov, N, 1, 5, 8);
			odvgp_model *m;
			odvgp_report r;
			c.jitter.absolute = 0;
			c.jitter.relative = (odvgp_real)0.01;
			c.optim.natgrad = natgrad;
			c.positive_transform = ODVGP_POSITIVE_TRANSFORM_EXP;
			c.optim.lr = odvgp_constant((odvgp_real)0.02);
			if (!CHECK_STATUS(odvgp_model_create(&m, &c, X, tiny ? z : y, NULL, NULL), ODVGP_OK))
				return;
			for (i = 0; i < STEPS; i++) {
				CHECK_STATUS(odvgp_step(m, X, tiny ? z : y, &r, NULL), ODVGP_OK);
				if (!i) moved = -(double)r.elbo;
			}
			elbo[tiny] = r.elbo;
			moved += (double)r.elbo;
			odvgp_model_free(m);
		}
		off = (double)elbo[1] - (double)elbo[0] - N * TINY_POWER * log(2);
		CHECK_SAY(moved > 10 && fabs(off) <= BY_PRECISION(1e-5, 1e-3) * moved,
				"%s %s natgrad %d: %.9g and %.9g, off by %.3g of a rise of %.3g", mean_name[mean],
				cov_name[cov], natgrad, (double)elbo[0], (double)elbo[1], off, moved);
	}
}

/*  The same data in other units give the same training, up to N log S in the bound for each
    output. This holds for every pair with each optimiser, and for the bounds without q. */
typedef struct trace {
	double elbo[40], last, noise;
	ptrdiff_t evaluations;
	int ended;
} trace;

static int train_in_units(const odvgp_config *c, double x_unit, double y_unit, int steps, trace *t)
{
	enum { N = 40 };
	odvgp_real X[2 * N], Y[N], v;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_report r;
	odvgp_model *m;
	int i;
	test_seed = 351;
	for (i = 0; i < N; i++) {
		double u = test_between(-2, 2), w = test_between(-2, 2);
		X[2 * i] = (odvgp_real)(x_unit * u), X[2 * i + 1] = (odvgp_real)(x_unit * w);
		Y[i] = (odvgp_real)(y_unit * (sin(2 * u) + 0.3 * w + 0.1 * test_normal()));
	}
	memset(t, 0, sizeof *t);
	if (!CHECK_SAY(odvgp_model_create(&m, c, X, Y, NULL, &info) == ODVGP_OK, "%s", info.text))
		return 0;
	for (i = 0; i < steps; i++) {
		if (!CHECK_SAY(odvgp_step(m, X, Y, &r, &info) == ODVGP_OK, "step %d: %s", i, info.text))
			return 0;
		t->elbo[i] = (double)r.elbo + N * log(y_unit);
		t->evaluations += r.evaluations;
		t->ended += r.converged + r.stuck;
	}
	t->last = t->elbo[steps - 1];
	CHECK_STATUS(odvgp_get(m, "noise_variance", &v, 1, NULL), ODVGP_OK);
	t->noise = (double)v / (y_unit * y_unit);
	odvgp_model_free(m);
	return 1;
}

static void check_units(const odvgp_config *c, int steps, const char *what)
{
	static const double units[] = {1e-6, 1e6};
	trace one, other;
	int i, k, which;
	if (!train_in_units(c, 1, 1, steps, &one)) return;
	CHECK_SAY(one.last > one.elbo[0] + 5 && !one.ended, "%s: from %g to %g, ended %d", what,
			one.elbo[0], one.last, one.ended);
	/* Change the units of the inputs, of the targets, or of both. */
	for (k = 0; k < 2; k++)
		for (which = 1; which < 4; which++) {
			double off = 0;
			if (!train_in_units(
						c, which & 1 ? units[k] : 1, which & 2 ? units[k] : 1, steps, &other))
				return;
			for (i = 0; i < steps; i++) off = test_worse(off, fabs(other.elbo[i] - one.elbo[i]));
			CHECK_SAY(off <= 1e-6 * (one.last - one.elbo[0]) &&
							  fabs(other.noise - one.noise) <= 1e-6 * one.noise &&
							  other.evaluations == one.evaluations,
					"%s, units %g of %d: off by %.3g of a rise of %.3g, noise %.9g and %.9g, "
					"evaluations %ld and %ld",
					what, units[k], which, off, one.last - one.elbo[0], other.noise, one.noise,
					(long)other.evaluations, (long)one.evaluations);
		}
}

TEST(units_of_the_data_do_not_matter)
{
	int mean, cov, way, k;
	char what[80];
	if (sizeof(odvgp_real) == 4) SKIP("a trace of twenty steps has fewer digits than that");
	/* Adam, natural steps, L-BFGS. */
	EACH_PAIR(mean, cov) for (way = 0; way < 3; way++)
	{
		odvgp_config c = pair_config(mean, cov, 40, 1, 5, 8);
		if (way == 1 && !is_natural(mean, cov)) continue;
		c.jitter.absolute = 0, c.jitter.relative = (odvgp_real)1e-6;
		c.optim.natgrad = way == 1;
		c.optim.kind = way == 2 ? ODVGP_OPTIMIZER_LBFGS : ODVGP_OPTIMIZER_ADAM;
		c.layer[0].mean_function = (odvgp_mean_function)((mean + cov + way) % 3);
		c.layer[0].kernel = "matern52(ard) + rbf";
		snprintf(what, sizeof what, "%s + %s by %s", mean_name[mean], cov_name[cov],
				way == 2 ? "L-BFGS"
				: way    ? "natural steps"
						 : "Adam");
		check_units(&c, way == 2 ? 12 : test_size(40, 12), what);
	}
	for (k = 0; k < 10; k++) {
		static const struct {
			int mean;
			odvgp_cov_part cov;
			odvgp_objective objective;
		} bounds[] = {{BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_COLLAPSED},
				{BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_COLLAPSED},
				{BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_PARTLY},
				{BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_TIGHT},
				{TIED, ODVGP_COV_PART_DIAGONAL, ODVGP_OBJECTIVE_EXACT}};
		odvgp_objective objective = bounds[k / 2].objective;
		odvgp_config c = pair_config(bounds[k / 2].mean, bounds[k / 2].cov, 40, 1,
				objective == ODVGP_OBJECTIVE_EXACT ? 40 : 5, 8);
		c.jitter.absolute = 0, c.jitter.relative = (odvgp_real)1e-6;
		c.optim.natgrad = 0;
		c.objective = objective;
		c.optim.kind = k % 2 ? ODVGP_OPTIMIZER_LBFGS : ODVGP_OPTIMIZER_ADAM;
		snprintf(
				what, sizeof what, "objective %d by %s", (int)objective, k % 2 ? "L-BFGS" : "Adam");
		check_units(&c, k % 2 ? 8 : test_size(40, 30), what);
	}
}

/*  Each frozen slot keeps its bits. The other slots move, except that those of a natural step
    move together or not at all. */
TEST(frozen_slots_keep_their_bits_in_every_pair)
{
	int mean, cov, s, r, i;
	EACH_PAIR(mean, cov)
	{
		odvgp_config c = pair_config(mean, cov, 20, 2, 4, 5);
		fixture a;
		int slots;
		c.optim.natgrad_step = odvgp_constant((odvgp_real)0.1);
		if (c.optim.natgrad && (mean == ORTH || mean == HYBRID) && cov == ODVGP_COV_PART_DENSE)
			c.optim.gamma_step = ODVGP_GAMMA_STEP_EXACT,
			c.optim.gamma_step_ratio = (odvgp_real)0.05;
		test_seed = 344;
		a = make_pair(mean, cov, &c, "rbf");
		slots = odvgp_slot_count(a.m);
		drop(&a);
		for (s = 0; s < slots; s++) {
			odvgp_real *before, *after;
			const odvgp_slot *frozen;
			test_seed = 344;
			a = make_pair(mean, cov, &c, "rbf");
			frozen = odvgp_slot_at(a.m, s);
			CHECK_STATUS(odvgp_set_trainable(a.m, frozen->name, 0, NULL), ODVGP_OK);
			before = all_values(a.m);
			for (i = 0; i < 3; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			after = all_values(a.m);
			for (r = 0; r < slots; r++) {
				const odvgp_slot *t = odvgp_slot_at(a.m, r);
				int moved = memcmp(before + t->offset, after + t->offset,
									(size_t)t->count * sizeof *before) != 0;
				int want = r != s && !(t->natgrad && frozen->natgrad);
				CHECK_SAY(moved == want, "%s + %s with %s frozen: %s %s", mean_name[mean],
						cov_name[cov], frozen->name, t->name, moved ? "moves" : "stays");
			}
			free(before), free(after);
			drop(&a);
		}
	}
}

/*  odvgp_fit_q leaves a frozen slot of q unchanged, and the gradient of the others is 0 given
    that slot. */
TEST(the_optimum_of_q_leaves_frozen_slots)
{
	static const char *const names[] = {
			"", "q_mu", "q_sqrt", "a_gamma", "a", "v_mu", "v_sqrt", "B_sqrt", "q_diag"};
	enum { NAMES = (int)(sizeof names / sizeof *names) };
	int mean, cov, s, r;
	EACH_PAIR(mean, cov) for (s = 0; s < NAMES; s++)
	{
		odvgp_config c = pair_config(mean, cov, 30, 2, 4, 5);
		int diagonal = cov == ODVGP_COV_PART_DIAGONAL && mean != TIED,
			tied_to_mean = mean == HYBRID && !strcmp(names[s], "q_mu");
		size_t bytes;
		void *work;
		fixture a;
		odvgp_real *before, *after;
		odvgp_status status;
		test_seed = 347;
		a = make_pair(mean, cov, &c, "rbf");
		if (s && !slot(&a, names[s])) {
			drop(&a);
			continue;
		}
		if (s) CHECK_STATUS(odvgp_set_trainable(a.m, names[s], 0, NULL), ODVGP_OK);
		bytes = odvgp_fit_q_scratch(a.m, NULL);
		work = test_alloc(bytes);
		before = all_values(a.m);
		status = odvgp_fit_q(a.m, a.X, a.Y, NULL, work, bytes, NULL);
		after = all_values(a.m);
		CHECK_SAY(status == (diagonal || tied_to_mean ? ODVGP_E_UNSUPPORTED : ODVGP_OK),
				"%s + %s, %s frozen: %s", mean_name[mean], cov_name[cov], names[s],
				odvgp_status_text(status));
		for (r = 0; r < odvgp_slot_count(a.m); r++) {
			const odvgp_slot *t = odvgp_slot_at(a.m, r);
			int moved = memcmp(before + t->offset, after + t->offset,
								(size_t)t->count * sizeof *before) != 0,
				q = 0, k;
			for (k = 1; k < NAMES; k++) q |= k != s && !strcmp(t->name, names[k]);
			CHECK_SAY(moved == (q && !status), "%s + %s, %s frozen: %s %s", mean_name[mean],
					cov_name[cov], names[s], t->name, moved ? "moves" : "stays");
			if (moved && q)
				CHECK_SAY(largest_gradient(&a, t->name) <= BY_PRECISION(1e-7, 5e-2),
						"%s + %s, %s frozen: %s ends at a gradient of %.3g", mean_name[mean],
						cov_name[cov], names[s], t->name, largest_gradient(&a, t->name));
		}
		free(work), free(before), free(after);
		drop(&a);
	}
}

TEST(a_natural_step_that_does_not_exist_is_refused)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		odvgp_config c = pair_config(mean, cov, 10, 1, 3, 2);
		fixture a;
		odvgp_real *before, *after, e = 77;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		odvgp_status s;
		/* The natural step is available on request. */
		c.optim.natgrad = 0;
		test_seed = 345;
		a = make_pair(mean, cov, &c, "rbf");
		before = all_values(a.m);
		s = odvgp_natgrad_step(a.m, a.X, a.Y, a.N, (odvgp_real)0.1, &e, &info);
		after = all_values(a.m);
		CHECK_SAY(s == (is_natural(mean, cov) ? ODVGP_OK : ODVGP_E_UNSUPPORTED), "%s + %s: %s",
				mean_name[mean], cov_name[cov], odvgp_status_text(s));
		CHECK((memcmp(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before) != 0) ==
				is_natural(mean, cov));
		if (!is_natural(mean, cov)) CHECK(e == 77 && strlen(info.text) > 10);
		free(before), free(after);
		drop(&a);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(every_pair_has_the_gradient_of_its_bound);
	RUN(gradients_with_many_points);
	RUN(a_unit_step_of_solve_gp_gives_the_optimal_covariances);
	RUN(steps_of_the_blocks_reach_the_joint_optimum);
	RUN(a_halved_step_is_a_shorter_one);
	RUN(steps_of_o_m_reach_its_optimum_and_the_projected_one_does_not);
	RUN(natural_steps_of_o_m_do_not_lose);
	RUN(an_upper_bound_is_above_or_refused);
	RUN(components_of_o_m_that_vanish_stop_nothing);
	RUN(a_diagonal_of_any_size_gives_finite_numbers);
	RUN(seven_threads_give_the_bits_of_one);
	RUN(a_saved_model_goes_on_bit_for_bit);
	RUN(natural_steps_of_gamma_are_shortened);
	RUN(natural_steps_of_gamma_without_a_kernel);
	RUN(units_of_the_targets_do_not_matter);
	RUN(units_of_the_data_do_not_matter);
	RUN(frozen_slots_keep_their_bits_in_every_pair);
	RUN(the_optimum_of_q_leaves_frozen_slots);
	RUN(a_natural_step_that_does_not_exist_is_refused);
	return test_end();
}

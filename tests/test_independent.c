/*  Independent functions: P units of one layer beside P models of one function, beside the model
    whose functions share their kernel where all units hold the same values; derivatives, files,
    threads, drafts, what is refused. */
#define ODVGP_USE_PTHREADS
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"

enum { ROWS = 40, INPUTS = 2, UNITS = 3, BETA = 5, GAMMA = 4 };

static const struct {
	const char *name;
	odvgp_mean_part mean;
	odvgp_cov_part cov;
	ptrdiff_t gamma;
	int natgrad;
	odvgp_gamma_step gamma_step;
} members[] = {{"COUPLED", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 0, 1, ODVGP_GAMMA_STEP_ADAM},
		{"ORTH", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, GAMMA, 1, ODVGP_GAMMA_STEP_ADAM},
		{"ORTH, gamma's steps", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, GAMMA, 1,
				ODVGP_GAMMA_STEP_EXACT},
		{"HYBRID", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, GAMMA, 1, ODVGP_GAMMA_STEP_ADAM},
		{"DECOUPLED", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE, GAMMA, 0,
				ODVGP_GAMMA_STEP_ADAM},
		{"SOLVE-GP", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, GAMMA, 1,
				ODVGP_GAMMA_STEP_ADAM},
		{"O(M)", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, 0, 1, ODVGP_GAMMA_STEP_ADAM}};
enum { MEMBERS = sizeof members / sizeof *members };

static odvgp_config config_of(int k, ptrdiff_t P, int independent)
{
	odvgp_config c = config(ROWS, INPUTS, P, BETA, members[k].gamma);
	c.layer[0].kernel = "matern52(ard) + rbf";
	c.layer[0].mean_part = members[k].mean;
	c.layer[0].cov_part = members[k].cov;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	c.independent = independent;
	c.optim.natgrad = members[k].natgrad;
	c.optim.gamma_step = members[k].gamma_step;
	c.optim.batch = ROWS;
	c.lik.noise_variance = 0;
	c.lik.noise_per_output = 1;
	c.lik.noise_floor = -1; /* it would be that of all targets */
	c.tile = 16;
	c.seed = 3;
	return c;
}

/*  Outputs of different frequencies and scales; counts or classes if the likelihood wants them. */
static fixture make_outputs(const odvgp_config *c)
{
	fixture a;
	const ptrdiff_t D = c->layer[0].D;
	const int last = (int)c->layers - 1, kind = (int)c->lik.kind,
			  one = kind == ODVGP_LIKELIHOOD_SOFTMAX || kind == ODVGP_LIKELIHOOD_ROBUSTMAX;
	const ptrdiff_t F = c->functions ? c->functions : c->layer[last].P, T = one ? 1 : F;
	memset(&a, 0, sizeof a);
	make_data(&a, c->N, D, T, 1, 0.1);
	for (ptrdiff_t i = 0; i < c->N; i++)
		for (ptrdiff_t t = 0; t < T; t++) {
			double f = (1 + (double)t) * sin((1 + 0.4 * (double)t) * (double)a.X[i * D + t % D]) +
					   0.1 * test_normal();
			a.Y[i * T + t] = (odvgp_real)(one                                ? (double)(i % F)
										  : kind == ODVGP_LIKELIHOOD_POISSON ? floor(exp(f / 4) * 2)
																			 : f);
		}
	odvgp_real *X = a.X, *Y = a.Y;
	make_block(&a, c);
	a.X = X, a.Y = Y;
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	return a;
}

/*  "layer1.unit2.q_mu" is unit 2's "layer1.q_mu"; -1: no unit's. */
static int unit_of(const char *name, char *without)
{
	const char *at = strstr(name, "unit");
	strcpy(without, name);
	if (!at) return -1;
	const char *dot = strchr(at, '.');
	strcpy(without + (at - name), dot + 1);
	return atoi(at + 4);
}

/*  Nothing is shared: starts, steps and predictions are those of P models, one for each target, in
    all bits. O(M) checks its steps against the bound, so it sees all rows in steps that are not
    shortened. */
TEST(units_are_separate_models)
{
	enum { P = UNITS, n = 7 };
	test_seed = 601;
	for (int k = 0; k < MEMBERS; k++)
		for (int way = 0; way < 4; way++) {
			odvgp_config c = config_of(k, P, 1);
			if (way & 1) c.optim.batch = ROWS / 4;
			if (way & 2)
				c.init.beta = ODVGP_INIT_BETA_GREEDY, c.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
			fixture a = make_outputs(&c), b[P];
			odvgp_real mean[P * n], var[P * n], cov[P * n * n], m[n], v[n], C[n * n], *noise;
			double sum[6] = {0}, bound[6];
			c.layer[0].P = 1;
			c.independent = 0;
			noise = values(&a, "noise_variance");
			for (int p = 0; p < P; p++) {
				b[p] = make_outputs(&c);
				memcpy(b[p].X, a.X, (size_t)(ROWS * INPUTS) * sizeof *a.X);
				for (int i = 0; i < ROWS; i++) b[p].Y[i] = a.Y[i * P + p];
				CHECK_STATUS(odvgp_init_data(b[p].m, b[p].X, b[p].Y, NULL, NULL), ODVGP_OK);
				set_number(b[p].m, "noise_variance", (double)noise[p]);
			}
			assign(&a, "noise_variance", noise);
			for (int step = 0; step < 6; step++) {
				odvgp_report r;
				CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
				bound[step] = (double)r.elbo;
				for (int p = 0; p < P; p++) {
					CHECK_STATUS(odvgp_step(b[p].m, b[p].X, b[p].Y, &r, NULL), ODVGP_OK);
					sum[step] += (double)r.elbo;
				}
				CHECK_NEAR(bound[step], sum[step], BY_PRECISION(1e-11, 1e-4) * fabs(sum[step]));
			}
			for (int s = 0; s < odvgp_slot_count(a.m); s++) {
				const odvgp_slot *t = odvgp_slot_at(a.m, s);
				char name[64];
				int u = unit_of(t->name, name);
				for (int p = u < 0 ? 0 : u; p <= (u < 0 ? P - 1 : u); p++) {
					odvgp_real *x = values(&a, t->name), *y = values(&b[p], name);
					ptrdiff_t count = u < 0 ? 1 : t->count;
					CHECK_SAY(!memcmp(x + (u < 0 ? p : 0), y, (size_t)count * sizeof *x),
							"%s, way %d: %s differs: %.17g, %.17g", members[k].name, way, t->name,
							(double)x[u < 0 ? p : 0], (double)y[0]);
					free(x), free(y);
				}
			}
			predict(&a, a.X, n, mean, var, cov);
			for (int p = 0; p < P; p++) {
				predict(&b[p], a.X, n, m, v, C);
				CHECK_BITS(mean + p * n, m, sizeof m);
				CHECK_BITS(var + p * n, v, sizeof v);
				CHECK_BITS(cov + p * n * n, C, sizeof C);
				drop(&b[p]);
			}
			free(noise);
			drop(&a);
		}
}

TEST(gradients_agree_with_differences)
{
	static const struct {
		odvgp_likelihood kind;
		ptrdiff_t P, functions;
	} ways[] = {{ODVGP_LIKELIHOOD_GAUSSIAN, 8, 0}, {ODVGP_LIKELIHOOD_POISSON, 2, 0},
			{ODVGP_LIKELIHOOD_SOFTMAX, 3, 0}, {ODVGP_LIKELIHOOD_ROBUSTMAX, 3, 0},
			{ODVGP_LIKELIHOOD_HETEROSCEDASTIC, 2, 0}, {ODVGP_LIKELIHOOD_GAUSSIAN, 2, 4},
			{ODVGP_LIKELIHOOD_STUDENTT, 7, 8}};
	test_seed = 602;
	for (int k = 0; k < MEMBERS; k++)
		for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
			odvgp_config c = config_of(k, ways[w].P, 1);
			char where[60];
			if (k > 1 && (ways[w].P > 3 || ways[w].functions)) continue;
			c.lik.kind = ways[w].kind;
			c.lik.noise_per_output = c.lik.kind == ODVGP_LIKELIHOOD_GAUSSIAN;
			c.lik.noise_floor = 0;
			if (k && ways[w].P == 3 && ways[w].kind != ODVGP_LIKELIHOOD_ROBUSTMAX) continue;
			/* softmax's derivatives are the integral's, the others' those of any rule */
			if (c.lik.kind == ODVGP_LIKELIHOOD_SOFTMAX) {
				if (test_size(0, 1)) continue; /* 8 s */
				c.lik.nodes = 60;
			} else if (c.lik.kind != ODVGP_LIKELIHOOD_GAUSSIAN) c.lik.nodes = 8;
			c.functions = ways[w].functions;
			c.N = c.optim.batch = 8;
			c.layer[0].M = 3;
			c.layer[0].M_gamma = members[k].gamma / 2;
			c.tile = 5;
			fixture a = make_outputs(&c);
			if (c.lik.kind == ODVGP_LIKELIHOOD_HETEROSCEDASTIC)
				for (int i = 0; i < 8; i++) a.Y[i] = (odvgp_real)test_normal();
			shake_slots(&a);
			if (c.lik.kind == ODVGP_LIKELIHOOD_ROBUSTMAX) set_number(a.m, "epsilon", 0.2);
			snprintf(where, sizeof where, "%s, likelihood %d, P %d", members[k].name,
					(int)c.lik.kind, (int)c.layer[0].P);
			check_gradient(&a, NULL, 0, BY_PRECISION(1e-8, 2e-2), 1, where);
			drop(&a);
		}
}

/*  Of one input the mean of each function is that input. */
TEST(each_mean_is_the_input)
{
	odvgp_config c = config_of(0, UNITS, 1);
	odvgp_real mean[UNITS * 4], var[UNITS * 4];
	test_seed = 610;
	c.layer[0].D = 1;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	fixture a = make_outputs(&c);
	predict(&a, a.X, 4, mean, var, NULL); /* q is the prior */
	for (int i = 0; i < UNITS * 4; i++) CHECK_NEAR(mean[i], (double)a.X[i % 4], 4 * EPS);
	shake_slots(&a);
	check_gradient(&a, NULL, 0, BY_PRECISION(1e-8, 2e-2), 1, "IDENTITY");
	drop(&a);
}

/*  The last layer of a stack. */
static odvgp_config stack_of(int k, ptrdiff_t P, ptrdiff_t functions, int independent)
{
	odvgp_config c = config_of(k, 2, independent);
	c.layers = 2;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	c.layer[1] = c.layer[0];
	c.layer[1].kernel = "rbf";
	c.layer[1].P = P;
	c.layer[1].mean_function = ODVGP_MEAN_FUNCTION_ZERO;
	c.optim.gamma_step = ODVGP_GAMMA_STEP_ADAM;
	c.functions = functions;
	c.deep.samples = 2;
	c.deep.predict_samples = 4;
	c.deep.fixed_samples = 1;
	c.deep.q_init = ODVGP_HIDDEN_Q_PRIOR;
	return c;
}

TEST(gradients_of_a_stack)
{
	test_seed = 603;
	for (int mixed = 0; mixed < 2; mixed++) {
		odvgp_config c = stack_of(mixed, 2, mixed ? 3 : 0, 1);
		c.N = c.optim.batch = 8;
		fixture a = make_outputs(&c);
		CHECK(slot(&a, "layer1.unit1.kernel.0.lengthscale") && slot(&a, "layer0.q_mu") &&
				!slot(&a, "layer0.unit0.q_mu"));
		CHECK(!mixed || slot(&a, "layer1.mixing"));
		shake_slots(&a);
		check_gradient(&a, NULL, 0, BY_PRECISION(1e-7, 2e-2), 1, "a stack");
		drop(&a);
	}
}

/*  Independent functions of patches of a hidden layer's image, with more units than a config has
    layers. */
TEST(gradients_over_an_image)
{
	enum { P = ODVGP_MAX_LAYERS + 2 };
	odvgp_config c = stack_of(0, P, 0, 1);
	odvgp_real mean[P * 6], var[P * 6];
	c.N = c.optim.batch = 6;
	c.layer[0].D = 16;
	c.layer[0].P = 1;
	c.layer[0].M = c.layer[1].M = 2;
	c.layer[0].kernel = "rbf";
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_ZERO;
	c.layer[0].patches.image_height = c.layer[0].patches.image_width = 4;
	c.layer[0].patches.height = c.layer[0].patches.width = 2;
	c.layer[0].patches.image_output = 1;
	c.layer[1].D = 9;
	c.layer[1].patches = c.layer[0].patches;
	c.layer[1].patches.image_height = c.layer[1].patches.image_width = 3;
	c.layer[1].patches.image_output = 0;
	c.tile = 0;
	test_seed = 611;
	fixture a = make_outputs(&c);
	shake_slots(&a);
	check_gradient(&a, NULL, 0, BY_PRECISION(1e-7, 2e-2), 1, "an image");
	predict(&a, a.X, 6, mean, var, NULL);
	CHECK(all_finite(mean, P * 6) && all_finite(var, P * 6));
	drop(&a);
}

/*  Slots of the model with shared kernels to all units: output p's part where it has one. */
static void tie(fixture *to, const fixture *from)
{
	for (int s = 0; s < odvgp_slot_count(to->m); s++) {
		const odvgp_slot *t = odvgp_slot_at(to->m, s);
		char name[64];
		int u = unit_of(t->name, name);
		odvgp_real *v = values(from, name), *w = NEW(odvgp_real, t->count);
		const odvgp_slot *of = slot(from, name);
		ptrdiff_t P = of->count / t->count;
		for (ptrdiff_t i = 0; i < t->count; i++)
			w[i] = strstr(name, "mean.A") && P > 1 ? v[i * P + u] /* [D,P] */
				   : P > 1                         ? v[(u < 0 ? 0 : u) * t->count + i]
												   : v[i];
		assign(to, t->name, w);
		free(v), free(w);
	}
}

static void check_near(const odvgp_real *x, const odvgp_real *y, ptrdiff_t n, const char *what)
{
	double worst = 0, size = 1;
	for (ptrdiff_t i = 0; i < n; i++) {
		worst = test_worse(worst, fabs((double)x[i] - (double)y[i]));
		size = test_worse(size, fabs((double)y[i]));
	}
	CHECK_SAY(worst <= BY_PRECISION(1e-11, 1e-3) * size, "%s: %.3g of %.3g", what, worst, size);
}

/*  With equal values the functions have one kernel again: the bound and all predictions are those
    of the model that shares it. */
TEST(tied_values_are_a_shared_kernel)
{
	enum { P = UNITS, n = 9, F = 4 };
	test_seed = 604;
	for (int k = 0; k < MEMBERS; k++)
		for (int way = 0; way < 4; way++) {
			const int mixed = way & 1, deep = way & 2;
			const ptrdiff_t T = mixed ? F : P;
			odvgp_config c = deep ? stack_of(k, P, mixed ? F : 0, 0) : config_of(k, P, 0);
			c.functions = mixed ? F : 0;
			fixture a = make_outputs(&c), b;
			shake_slots(&a);
			c.independent = 1;
			b = make_outputs(&c);
			memcpy(b.X, a.X, (size_t)(ROWS * INPUTS) * sizeof *a.X);
			memcpy(b.Y, a.Y, (size_t)(ROWS * T) * sizeof *a.Y);
			tie(&b, &a);
			double of_a = elbo_of(&a, NULL, NULL), of_b = elbo_of(&b, NULL, NULL);
			CHECK_NEAR(of_b, of_a, BY_PRECISION(1e-11, 1e-4) * fabs(of_a));
			odvgp_real y_mean[F] = {1, 2, 3, 4}, y_scale[F] = {2, 1, 3, 2};
			odvgp_scales scales = {NULL, NULL, y_mean, y_scale};
			served s[2] = {serve_rows(&a, &scales, n), serve_rows(&b, &scales, n)};
			odvgp_real mean[2][F * n], var[2][F * n], var_y[2][F * n], my[2][F * n], vy[2][F * n],
					cov[2][F * n * n], cross[2][F * F * n], f[2][2 * F * n], logp[2][n], one[2][F],
					only[2][F];
			for (int i = 0; i < 2; i++) {
				odvgp_server *at = &s[i].s;
				void *work = s[i].scratch;
				size_t bytes = s[i].bytes;
				CHECK(at->P == P && at->F == T && at->T == T);
				CHECK_STATUS(
						odvgp_predict(at, a.X, n, mean[i], var[i], work, bytes, NULL), ODVGP_OK);
				CHECK_STATUS(
						odvgp_predict_y(at, a.X, n, NULL, var_y[i], work, bytes, NULL), ODVGP_OK);
				CHECK_STATUS(
						odvgp_predict_y(at, a.X, n, my[i], vy[i], work, bytes, NULL), ODVGP_OK);
				CHECK_STATUS(
						odvgp_predict_logp(at, a.X, a.Y, n, logp[i], work, bytes, NULL), ODVGP_OK);
				CHECK_STATUS(
						odvgp_predict(at, a.X, 1, one[i], only[i], work, bytes, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_predict(at, a.X, 1, one[i], NULL, work, bytes, NULL), ODVGP_OK);
				CHECK_STATUS(
						odvgp_sample(at, a.X, n, &(odvgp_draws){2, 5}, f[i], work, bytes, NULL),
						ODVGP_OK);
				for (ptrdiff_t t = 0; t < T; t++) {
					CHECK_NEAR(one[i][t], (double)mean[i][t * n], BY_PRECISION(1e-11, 1e-3) * 10);
					CHECK_NEAR(only[i][t], (double)var[i][t * n], BY_PRECISION(1e-11, 1e-3) * 40);
				}
				if (deep) continue;
				CHECK_STATUS(
						odvgp_predict_cov(at, a.X, n, my[i], cov[i], work, bytes, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_predict_functions(at, a.X, n, NULL, cross[i], work, bytes, NULL),
						ODVGP_OK);
			}
			check_near(mean[1], mean[0], T * n, "mean");
			check_near(var[1], var[0], T * n, "var");
			check_near(var_y[1], var_y[0], T * n, "var_y");
			check_near(my[1], my[0], T * n, "mean of y");
			check_near(vy[1], vy[0], T * n, "var of y");
			check_near(logp[1], logp[0], n, "logp");
			for (ptrdiff_t i = 0; i < 2 * T * n && (deep || sizeof(odvgp_real) == 8); i++)
				CHECK_NEAR(f[1][i], (double)f[0][i], BY_PRECISION(1e-5, 0.3));
			if (!deep) check_near(cov[1], cov[0], T * n * n, "cov");
			if (!deep) check_near(cross[1], cross[0], T * T * n, "functions");
			unserve(&s[0]), unserve(&s[1]);
			drop(&a), drop(&b);
		}
}

/*  Ten units: more than one STACK. All optimisers raise the bound; files go on with the same bits,
    and what they predict is the model's. */
TEST(models_train_and_are_saved)
{
	enum { n = 5, P = 10 };
	test_seed = 605;
	for (int k = 0; k < MEMBERS; k++)
		for (int round = 0; round < 4; round++) {
			odvgp_config c = round == 3 ? stack_of(k, P, 0, 1) : config_of(k, P, 1);
			if (round == 1) {
				c.optim.kind = ODVGP_OPTIMIZER_LBFGS, c.optim.natgrad = 0;
				c.optim.gamma_step = ODVGP_GAMMA_STEP_ADAM;
			}
			if (round == 2) c.layer[0].P = 3, c.functions = P;
			fixture a = make_outputs(&c);
			double before = elbo_of(&a, NULL, NULL), after;
			for (int i = 0; i < test_size(10, 5); i++)
				CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			after = elbo_of(&a, NULL, NULL);
			CHECK_SAY(after > before, "%s, round %d: %.10g, then %.10g", members[k].name, round,
					before, after);
			check_loaded(&a, n);
			drop(&a);
		}
}

/*  The units of one predictor are all checked: a number of a later unit, and their count. */
TEST(predictors_of_units_are_checked)
{
	odvgp_config c = config_of(1, UNITS, 1);
	test_seed = 606;
	fixture a = make_outputs(&c);
	size_t need = odvgp_predictor_size(a.m, NULL);
	gp__predictor *p = (gp__predictor *)test_alloc(need);
	odvgp_server s;
	for (int way = 0; way < 5; way++) {
		CHECK_STATUS(odvgp_freeze(a.m, NULL, p, need, NULL), ODVGP_OK);
		gp__view v = gp__view_of(p, UNITS - 1);
		if (way == 1) v.hyp[p->nhyp - 1] = 0;
		if (way == 2) v.alpha[0] = (odvgp_real)NAN;
		if (way == 3) p->units = 2;
		if (way == 4) p->units = 0;
		if (way < 3) gp__predictor_sum(p, p->checksum);
		CHECK_STATUS(odvgp_server_from_block(&s, p, need, test_isa(), NULL),
				way ? ODVGP_E_FORMAT : ODVGP_OK);
	}
	free(p);
	drop(&a);
}

#ifndef ODVGP_NO_THREADS
TEST(threads_do_not_change_bits)
{
	odvgp_real *theta[2] = {NULL, NULL};
	ptrdiff_t count = 0;
	for (int t = 0; t < 2; t++) {
		odvgp_config c = config_of(1, 4, 1);
		size_t size = odvgp_pool_size(3, NULL);
		void *block = test_alloc(size);
		odvgp_pool *pool;
		c.N = 600;
		c.optim.batch = 300;
		c.layer[0].M = 90;
		c.layer[0].M_gamma = 70;
		c.tile = 0;
		test_seed = 607;
		CHECK_STATUS(odvgp_pool_start(&pool, 3, &c.threads, block, size, NULL), ODVGP_OK);
		if (!t) odvgp_config_threads(&c, NULL);
		fixture a = make_outputs(&c);
		for (int i = 0; i < 3; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		count = odvgp_param_count(a.m);
		theta[t] = NEW(odvgp_real, count);
		memcpy(theta[t], a.m->par.theta, (size_t)count * sizeof *theta[t]);
		odvgp_pool_stop(pool);
		free(block);
		drop(&a);
	}
	CHECK_BITS(theta[1], theta[0], (size_t)count * sizeof *theta[0]);
	free(theta[0]), free(theta[1]);
}
#endif

TEST(drafts_count_what_models_hold)
{
	for (int k = 0; k < MEMBERS; k++)
		for (int way = 0; way < 4; way++) {
			odvgp_config c = way & 2 ? stack_of(k, 9, 0, 1) : config_of(k, 9, 1);
			gp__draft draft;
			size_t need, bytes, size;
			fixture a;
			if (way & 1) {
				c.functions = 11;
				c.optim.kind = ODVGP_OPTIMIZER_LBFGS, c.optim.natgrad = 0;
				c.optim.gamma_step = ODVGP_GAMMA_STEP_ADAM;
				c.tile = 0;
			}
			memset(&a, 0, sizeof a);
			make_block(&a, &c);
			odvgp_model *d = gp__draft_start(&draft, gp__make_from_config, &c);
			gp__model_config(d, &c);
			CHECK_INT(d->cfg.tile, a.m->cfg.tile);
			CHECK_STATUS(gp__model_measure(d, &need, NULL), ODVGP_OK);
			CHECK_INT(need, a.bytes);
			CHECK_INT(d->units, a.m->units);
			CHECK_INT(d->par.slots, a.m->par.slots);
			CHECK_INT(d->par.count, a.m->par.count);
			CHECK_INT(d->par.positive, a.m->par.positive);
			CHECK_INT(d->tape.nodes, a.m->tape.nodes);
			CHECK_INT(d->tape.scratch.used, a.m->tape.scratch.used);
			CHECK_INT(d->data_sds, a.m->data_sds);
			CHECK_INT(gp__file_state_bytes(d, GP__FILE_VERSION),
					gp__file_state_bytes(a.m, GP__FILE_VERSION));
			unsigned char *file = save_file(a.m, NULL, "", &bytes);
			CHECK_STATUS(sized(&size, odvgp_load_size(file, bytes, NULL, test_isa(), NULL), NULL),
					ODVGP_OK);
			CHECK_INT(size, need);
			free(file), free(a.block);
		}
}

TEST(what_does_not_go_together_is_refused)
{
	odvgp_config good = config_of(0, UNITS, 1), c = good;
	size_t bytes;
	odvgp_real upper;
	odvgp_report report;
	const ptrdiff_t column = 0;
	c.lik.noise_per_output = 0;
	c.objective = ODVGP_OBJECTIVE_COLLAPSED;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_UNSUPPORTED);
	c = good;
	c.layer[0].P = GP__MOST_UNITS + 1;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
	c.layer[0].P = GP__MOST_UNITS;
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
	c = good;
	c.independent = 2;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_ARG);
	c = good;
	c.layer[0].P = INPUTS;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_ARG);
	c = good;
	CHECK_STATUS(odvgp_config_set(&c, "independent=off", NULL), ODVGP_OK);
	CHECK_INT(c.independent, 0);
	test_seed = 608;
	fixture a = make_outputs(&good);
	void *work = test_alloc(1 << 20);
	REFUSED(odvgp_fit_q(a.m, a.X, a.Y, NULL, work, 1 << 20, &info), ODVGP_E_UNSUPPORTED);
	REFUSED(odvgp_warm_start(a.m, a.X, a.Y, NULL, NULL, work, 1 << 20, &info), ODVGP_E_UNSUPPORTED);
	REFUSED(odvgp_upper_bound(a.m, a.X, a.Y, &upper, NULL, work, 1 << 20, &info),
			ODVGP_E_UNSUPPORTED);
	REFUSED(odvgp_elbo_columns(
					a.m, a.X, a.Y, ROWS, &(odvgp_columns){&column, 1}, &report, NULL, &info),
			ODVGP_E_UNSUPPORTED);
	CHECK_INT(odvgp_warm_start_scratch(a.m, NULL, NULL), 0);
	free(work);
	drop(&a);
	/* One function has nobody to share with. */
	c = good;
	c.layer[0].P = 1;
	a = make_outputs(&c);
	CHECK(slot(&a, "q_mu") != NULL && !odvgp_model_config(a.m)->independent);
	drop(&a);
}

/*  Two outputs of very different lengthscales: own kernels find both, and predict them better than
    a shared one. Said beforehand: the errors' ratio is at most 0.9. */
TEST(outputs_of_different_lengthscales)
{
	enum { N = 300, n = 300 };
	double error[2] = {0, 0}, length[2] = {0, 0};
	for (int independent = 0; independent < 2; independent++) {
		odvgp_config c = config_of(0, 2, independent);
		c.layer[0].D = 1;
		c.layer[0].M = 25;
		c.layer[0].kernel = "rbf";
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_ZERO;
		c.N = c.optim.batch = N;
		c.optim.lr = odvgp_falling((odvgp_real)0.03, (odvgp_real)0.003, 300);
		c.tile = 0;
		test_seed = 609;
		fixture a;
		memset(&a, 0, sizeof a);
		make_data(&a, N, 1, 2, 1, 0);
		odvgp_real *X = a.X, *Y = a.Y, *mean = NEW(odvgp_real, 2 * n), *fresh = NEW(odvgp_real, n);
		for (int i = 0; i < N; i++) {
			Y[2 * i] = (odvgp_real)(sin(10 * (double)X[i]) + 0.4 * test_normal());
			Y[2 * i + 1] = (odvgp_real)(sin(0.7 * (double)X[i]) + 0.4 * test_normal());
		}
		for (int i = 0; i < n; i++) fresh[i] = (odvgp_real)test_between(-2, 2);
		make_block(&a, &c);
		a.X = X, a.Y = Y;
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		for (int i = 0; i < 400; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		predict(&a, fresh, n, mean, NULL, NULL);
		for (int i = 0; i < n; i++) {
			double d = (double)mean[i] - sin(10 * (double)fresh[i]),
				   e = (double)mean[n + i] - sin(0.7 * (double)fresh[i]);
			error[independent] += (d * d + e * e) / (2 * n);
		}
		error[independent] = sqrt(error[independent]);
		if (independent)
			length[0] = number(a.m, "unit0.kernel.0.lengthscale"),
			length[1] = number(a.m, "unit1.kernel.0.lengthscale");
		free(mean), free(fresh);
		drop(&a);
	}
	CHECK_SAY(error[1] <= 0.9 * error[0] && length[1] > 3 * length[0],
			"errors: shared %.4f, independent %.4f; lengthscales %.3f, %.3f", error[0], error[1],
			length[0], length[1]);
	test_note("errors: shared %.4f, independent %.4f; lengthscales %.3f, %.3f", error[0], error[1],
			length[0], length[1]);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(units_are_separate_models);
	RUN(gradients_agree_with_differences);
	RUN(each_mean_is_the_input);
	RUN(gradients_of_a_stack);
	RUN(gradients_over_an_image);
	RUN(tied_values_are_a_shared_kernel);
	RUN(models_train_and_are_saved);
	RUN(predictors_of_units_are_checked);
#ifndef ODVGP_NO_THREADS
	RUN(threads_do_not_change_bits);
#endif
	RUN(drafts_count_what_models_hold);
	RUN(what_does_not_go_together_is_refused);
	RUN(outputs_of_different_lengthscales);
	return test_end();
}

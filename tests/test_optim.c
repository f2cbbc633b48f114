/*  What constrains and scales the steps of an optimiser: the noise's floor, bounds of positive
    slots, priors of hyperparameters, schedules that rise and fall. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "lbfgs.h"

/* ---- the floor of the noise ---- */

/*  Targets have no noise: the noise variance falls to its floor and no further, training ends,
    and the model can predict. */
TEST(noise_has_a_floor)
{
	enum { N = 30 };
	static const struct {
		odvgp_mean_part mean;
		odvgp_cov_part cov;
		odvgp_objective objective;
		ptrdiff_t M;
	} bounds[] = {{ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, ODVGP_OBJECTIVE_EXACT, N},
			{ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_COLLAPSED, 12},
			{ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_COLLAPSED, N}};
	int k, way, i;
	for (k = 0; k < 3; k++)
		/* Smooth targets with the default floor, with another floor, with the caller's bounds;
           then targets of 0. */
		for (way = 0; way < 4; way++) {
			odvgp_config c = odvgp_config_defaults(N, 1, 1, bounds[k].M, 0);
			odvgp_real X[N], Y[N], mean[N], var[N], v;
			odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
			double variance = 0, average = 0, floor,
				   given = way == 1 ? 1e-3
						   : (double)c.layer[0].M * 16 * EPS > 1e-10
								   ? (double)c.layer[0].M * 16 * EPS
								   : 1e-10;
			odvgp_report r;
			odvgp_model *m;
			size_t bytes;
			void *work;
			for (i = 0; i < N; i++) {
				X[i] = (odvgp_real)(0.2 * i);
				Y[i] = (odvgp_real)(way == 3 ? 0 : 100 * sin(0.5 * (double)X[i]));
				average += (double)Y[i] / N;
			}
			for (i = 0; i < N; i++)
				variance += ((double)Y[i] - average) * ((double)Y[i] - average) / N;
			c.layer[0].mean_part = bounds[k].mean, c.layer[0].cov_part = bounds[k].cov,
			c.objective = bounds[k].objective;
			c.optim.natgrad = 0, c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
			c.layer[0].kernel = "rbf";
			c.isa = test_isa();
			if (way == 1) c.lik.noise_floor = (odvgp_real)1e-3;
			if (!CHECK_SAY(
						odvgp_model_create(&m, &c, X, Y, NULL, &info) == ODVGP_OK, "%s", info.text))
				continue;
			if (way == 2)
				CHECK_STATUS(odvgp_set_bounds(m, "noise_variance", 2, (odvgp_real)HUGE_VAL, NULL),
						ODVGP_OK);
			floor = way == 2 ? 2 : given * (way == 3 ? 1 : variance);
			for (i = 0; i < 600; i++) {
				if (!CHECK_SAY(odvgp_step(m, X, Y, &r, &info) == ODVGP_OK,
							"bound %d, way %d, step %d: %s", k, way, i, info.text))
					break;
				if (r.converged || r.stuck) break;
			}
			v = (odvgp_real)number(m, "noise_variance");
			CHECK_SAY((double)v >= floor * (1 - 1e-5), "bound %d, way %d: %.9g below %.9g", k, way,
					(double)v, floor);
			CHECK_SAY(way != 1 || (double)v < 1.5 * floor, "bound %d: %.9g far above %.9g", k,
					(double)v, floor);
			bytes = odvgp_fit_q_scratch(m, NULL);
			work = test_alloc(bytes);
			CHECK_SAY(odvgp_fit_q(m, X, Y, NULL, work, bytes, &info) == ODVGP_OK, "bound %d, way %d: %s",
					k, way, info.text);
			CHECK_SAY(odvgp_predict_once(m, X, N, mean, var, NULL, &info) == ODVGP_OK,
					"bound %d, way %d: %s", k, way, info.text);
			for (i = 0; i < N; i++) CHECK(mean[i] - mean[i] == 0 && var[i] - var[i] == 0);
			free(work);
			odvgp_model_free(m);
		}
}
/*  The noise floor and the units of the data are part of the file, and training continues as it
    would have. */
TEST(units_and_floor_go_through_a_file)
{
	int lbfgs, i;
	for (lbfgs = 0; lbfgs < 2; lbfgs++) {
		odvgp_config c = lbfgs_config(40, 2, 1, 5, 6);
		odvgp_real *X, *Y;
		fixture a, b;
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
		c.optim.kind = lbfgs ? ODVGP_OPTIMIZER_LBFGS : ODVGP_OPTIMIZER_ADAM;
		a = make_seeded(&c, 51);
		X = NEW(odvgp_real, 80), Y = NEW(odvgp_real, 40);
		for (i = 0; i < 80; i++) X[i] = a.X[i] * (i % 2 ? 1000 : 1);
		for (i = 0; i < 40; i++) Y[i] = a.Y[i] * 300;
		free(a.X), free(a.Y);
		a.X = X, a.Y = Y;
		CHECK_STATUS(odvgp_init_data(a.m, X, Y, NULL, NULL), ODVGP_OK);
		CHECK(a.m->data_sd[0] != 1 && a.m->data_sd[1] > 300 && a.m->data_sd[2] > 100);
		for (i = 0; i < 3; i++) step(&a);
		b = load_again(&a);
		CHECK_BITS(a.m->data_sd, b.m->data_sd, 3 * sizeof(odvgp_real));
		CHECK(a.m->par.state[a.m->slot_lik_params].floor > 0 &&
				a.m->par.state[a.m->slot_lik_params].floor ==
						b.m->par.state[b.m->slot_lik_params].floor);
		for (i = 0; i < 6; i++) {
			step(&a);
			step(&b);
			same_parameters(a.m, b.m);
		}
		drop(&a);
		free(b.block);
	}
}

/* ---- bounds ---- */

TEST(bounded_values_and_slopes)
{
	static const double bounds[][2] = {
			{0, HUGE_VAL}, {0.5, HUGE_VAL}, {0, 3}, {2, 2.5}, {1e-6, 1e6}, {1, 1.001}};
	static gp__slot_state state[3];
	static gp__params p;
	int b, kind, i;
	p.state = state;
	for (b = 0; b < 6; b++)
		for (kind = 0; kind < 2; kind++) {
			double low = bounds[b][0], high = bounds[b][1], worst = 0, before = -1;
			p.state[2].low = (odvgp_real)low, p.state[2].high = (odvgp_real)high,
			p.kind = kind ? ODVGP_POSITIVE_TRANSFORM_EXP : ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
			for (i = -700; i <= 700; i++) {
				odvgp_real t = (odvgp_real)(i * 0.125);
				double v = (double)gp__to_positive(&p, 2, t), h = BY_PRECISION(1e-5, 1e-2), up,
					   down, derivative;
				derivative = (double)gp__positive_derivative(&p, 2, t, (odvgp_real)v);
				CHECK_SAY(
						v >= (double)p.state[2].low && v <= (double)p.state[2].high && v >= before,
						"%g of %g in [%g, %g]", v, (double)t, low, high);
				CHECK(derivative >= 0 && derivative <= HUGE_REAL &&
						(derivative > 0 || v == 0 || fabs((double)t) > 80));
				before = v;
				if (fabs((double)t) > 12) continue;
				up = (double)gp__to_positive(&p, 2, (odvgp_real)((double)t + h)),
				down = (double)gp__to_positive(&p, 2, (odvgp_real)((double)t - h));
				CHECK_NEAR(derivative, (up - down) / (2 * h),
						BY_PRECISION(1e-8, 2e-3) * derivative + 4 * EPS * v / h);
				if (v > low && v < high) {
					double back = (double)gp__from_positive(&p, 2, (odvgp_real)v);
					/* The inverse is accurate up to the rounding of v. */
					worst = test_worse(worst, fabs(back - (double)t) * derivative / v);
				}
			}
			CHECK_SAY(worst < 8 * EPS,
					"[%g, %g]: theta comes back with an error of %g in the value", low, high,
					worst);
			/* At the ends of the range the derivative is finite and not 0. */
			if (low > 0 || high < HUGE_VAL) {
				odvgp_real t = gp__from_positive(
						&p, 2, p.state[2].low > 0 ? p.state[2].low : (odvgp_real)(high * 1e-30));
				CHECK((double)t < -5 && (double)t > -200 &&
						gp__positive_derivative(&p, 2, t, p.state[2].low) > 0);
			}
			if (high < HUGE_VAL) {
				odvgp_real t = gp__from_positive(&p, 2, p.state[2].high);
				CHECK((double)t > 5 && (double)t < 200 &&
						gp__positive_derivative(&p, 2, t, p.state[2].high) > 0);
			}
		}
}

/*  Adam, L-BFGS, natural steps of O(M) and initialisation keep all values within the bounds. */
TEST(bounds_hold_whatever_moves)
{
	int way, i, positive;
	for (way = 0; way < 3; way++)
		for (positive = 0; positive < 2; positive++) {
			odvgp_config c = lbfgs_config(40, 2, 1, 6, 0);
			fixture a;
			odvgp_real ls[2], *g;
			double first;
			ptrdiff_t k;
			c.layer[0].kernel = "rbf(ard)";
			c.lik.noise_variance = 0;
			c.positive_transform =
					positive ? ODVGP_POSITIVE_TRANSFORM_EXP : ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
			if (way)
				c.optim.kind = ODVGP_OPTIMIZER_ADAM, c.optim.lr = odvgp_constant((odvgp_real)0.1);
			if (way == 2)
				c.optim.natgrad = 1, c.optim.natgrad_step = odvgp_constant((odvgp_real)0.5),
				c.layer[0].mean_part = ODVGP_MEAN_PART_FREE,
				c.layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
			a = make_seeded(&c, 48);
			CHECK_STATUS(
					odvgp_set_bounds(a.m, "kernel.*", (odvgp_real)0.75, (odvgp_real)0.875, NULL),
					ODVGP_OK);
			CHECK_STATUS(odvgp_set_bounds(a.m, "noise_variance", (odvgp_real)0.5,
								 (odvgp_real)HUGE_VAL, NULL),
					ODVGP_OK);
			if (way == 2)
				CHECK_STATUS(odvgp_set_bounds(a.m, "q_diag", (odvgp_real)0.125, 2, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			first = elbo_of(&a, NULL, NULL);
			for (i = 0; i < 60; i++) {
				step(&a);
				CHECK_STATUS(odvgp_get(a.m, "kernel.0.lengthscale", ls, 2, NULL), ODVGP_OK);
				CHECK(ls[0] >= (odvgp_real)0.75 && ls[0] <= (odvgp_real)0.875 &&
						ls[1] >= (odvgp_real)0.75 && ls[1] <= (odvgp_real)0.875);
				CHECK(number(a.m, "kernel.0.variance") >= 0.75 &&
						number(a.m, "kernel.0.variance") <= 0.875);
				CHECK(number(a.m, "noise_variance") >= 0.5);
				if (way < 2) continue;
				g = a.m->par.value + odvgp_slot_find(a.m, "q_diag")->offset;
				for (k = 0; k < 6; k++) CHECK(g[k] >= (odvgp_real)0.125 && g[k] <= 2);
			}
			CHECK(elbo_of(&a, NULL, NULL) > first);
			/* Without the bound it would be 0.3. */
			if (way < 2) CHECK_NEAR(number(a.m, "noise_variance"), 0.5, 0.05);
			drop(&a);
		}
}
/*  The optimal q_diag of exact regression is 1 / noise, or the nearest bound. */
TEST(bounds_hold_for_the_exact_optimum)
{
	odvgp_config c = lbfgs_config(12, 2, 2, 12, 0);
	fixture a;
	const odvgp_real *g;
	size_t bytes;
	void *work;
	ptrdiff_t k;
	c.layer[0].mean_part = ODVGP_MEAN_PART_FREE, c.layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
	c.objective = ODVGP_OBJECTIVE_EXACT;
	c.lik.noise_variance = (odvgp_real)0.01;
	a = make_seeded(&c, 49);
	CHECK_STATUS(odvgp_set_bounds(a.m, "q_diag", (odvgp_real)0.125, 2, NULL), ODVGP_OK);
	work = test_alloc(bytes = odvgp_fit_q_scratch(a.m, NULL));
	CHECK_STATUS(odvgp_fit_q(a.m, a.X, a.Y, NULL, work, bytes, NULL), ODVGP_OK);
	g = a.m->par.value + odvgp_slot_find(a.m, "q_diag")->offset;
	for (k = 0; k < 24; k++) CHECK(g[k] >= (odvgp_real)0.125 && g[k] <= 2);
	free(work);
	drop(&a);
}

/* ---- the memory of exact regression ---- */

static odvgp_config exact_config(ptrdiff_t N, ptrdiff_t D, ptrdiff_t P)
{
	odvgp_config c = lbfgs_config(N, D, P, N, 0);
	c.layer[0].mean_part = ODVGP_MEAN_PART_FREE, c.layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
	c.objective = ODVGP_OBJECTIVE_EXACT;
	return c;
}
/*  Numbers of a model of n rows that keeps `kept` bytes of kernel values, or the default. */
static double exact_numbers(ptrdiff_t n, ptrdiff_t P, ptrdiff_t kept)
{
	odvgp_config c = exact_config(n, 3, P);
	if (kept >= 0) c.kernel_cache_bytes = kept;
	return (double)odvgp_model_size(&c, NULL) / sizeof(odvgp_real);
}
/*  Two matrices [n,n], and P more for predictions if P > 1; the rest grows as n. */
TEST(exact_regression_takes_two_matrices)
{
	enum { n = 600 };
	for (int P = 1; P <= 3; P++) {
		double curve = exact_numbers(3 * n, P, 0) - 2 * exact_numbers(2 * n, P, 0) +
					   exact_numbers(n, P, 0),
			   matrices = curve / (2.0 * n * n);
		CHECK_SAY(fabs(matrices - (P > 1 ? 2 + P : 2)) < 0.1, "P %d: %g", P, matrices);
	}
	/* Four more hold the values of the two terms' kernels. */
	double all = exact_numbers(n, 1, -1) / ((double)n * n);
	CHECK_SAY(all < 8, "%g", all);
}

/*  A predictor of the current q: its bytes, which the caller frees. */
static unsigned char *frozen(fixture *a, size_t *bytes)
{
	unsigned char *block = (unsigned char *)test_alloc(*bytes = odvgp_predictor_size(a->m, NULL));
	memset(block, 0, *bytes);
	CHECK_STATUS(odvgp_freeze(a->m, NULL, block, *bytes, NULL), ODVGP_OK);
	return block;
}
/*  Bounds and predictors are computed in the same memory, in any order. */
TEST(exact_bounds_and_predictors_alternate)
{
	for (int P = 1; P <= 2; P++) {
		odvgp_config c = exact_config(23, 2, P);
		fixture a = make_seeded(&c, 50);
		ptrdiff_t count = a.m->par.count;
		odvgp_real elbo[4], *grad = NEW(odvgp_real, 2 * count);
		size_t bytes = odvgp_fit_q_scratch(a.m, NULL), size;
		void *work = test_alloc(bytes);
		unsigned char *one, *two;
		CHECK(bytes < 1000);
		step(&a);
		CHECK_STATUS(odvgp_fit_q(a.m, a.X, a.Y, NULL, work, bytes, NULL), ODVGP_OK);
		one = frozen(&a, &size);
		for (int k = 0; k < 4; k++) {
			CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, c.N, &elbo[k], NULL,
								 k & 1 ? grad + k / 2 * count : NULL, NULL),
					ODVGP_OK);
			CHECK(elbo[k] == elbo[0]);
			if (k != 1 && k != 3) continue;
			two = frozen(&a, &size);
			CHECK_BITS(one, two, size);
			free(two);
			two = frozen(&a, &size);
			CHECK_BITS(one, two, size);
			free(two);
		}
		CHECK_BITS(grad, grad + count, (size_t)count * sizeof *grad);
		free(one);
		free(work);
		free(grad);
		drop(&a);
	}
}

TEST(bounds_move_values_and_refuse_others)
{
	odvgp_config c = lbfgs_config(20, 2, 1, 4, 3);
	fixture a = make_seeded(&c, 49);
	odvgp_real v[2] = {(odvgp_real)0.5, 3}, bad = 5;
	double noise;
	CHECK_STATUS(odvgp_set(a.m, "kernel.1.lengthscale", v, 2, NULL), ODVGP_OK);
	set_number(a.m, "noise_variance", 0.3);
	noise = number(a.m, "noise_variance");
	CHECK_STATUS(odvgp_set_bounds(a.m, "kernel.1.lengthscale", 1, 2, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(a.m, "kernel.1.lengthscale", v, 2, NULL), ODVGP_OK);
	CHECK_NEAR(v[0], 1.001, 4 * EPS);
	CHECK_NEAR(v[1], 1.999, 4 * EPS);
	CHECK_STATUS(
			odvgp_set_bounds(a.m, "noise_variance", (odvgp_real)0.25, (odvgp_real)HUGE_VAL, NULL),
			ODVGP_OK);
	CHECK(number(a.m, "noise_variance") == noise);
	CHECK_STATUS(odvgp_set_bounds(a.m, "noise_variance", 2, (odvgp_real)HUGE_VAL, NULL), ODVGP_OK);
	CHECK_NEAR(number(a.m, "noise_variance"), 2.002, 8 * EPS);
	CHECK_STATUS(odvgp_set(a.m, "kernel.1.lengthscale", &bad, 1, NULL), ODVGP_E_SIZE);
	v[1] = (odvgp_real)2.5;
	CHECK_STATUS(odvgp_set(a.m, "kernel.1.lengthscale", v, 2, NULL), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_get(a.m, "kernel.1.lengthscale", v, 2, NULL), ODVGP_OK);
	CHECK_NEAR(v[1], 1.999, 4 * EPS);
	/* Values on the bounds are accepted unchanged. */
	v[0] = 1, v[1] = 2;
	CHECK_STATUS(odvgp_set(a.m, "kernel.1.lengthscale", v, 2, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(a.m, "kernel.1.lengthscale", v, 2, NULL), ODVGP_OK);
	CHECK(v[0] == 1 && v[1] == 2);
	step(&a);
	CHECK_STATUS(odvgp_set_bounds(a.m, "*", 0, (odvgp_real)HUGE_VAL, NULL), ODVGP_OK);
	REFUSED(odvgp_set_bounds(a.m, "noise_variance", 1, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_bounds(a.m, "noise_variance", 2, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_bounds(a.m, "noise_variance", -1, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_bounds(a.m, "noise_variance", (odvgp_real)NAN, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_bounds(a.m, "noise_variance", 0, (odvgp_real)NAN, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_bounds(
					a.m, "noise_variance", (odvgp_real)HUGE_VAL, (odvgp_real)HUGE_VAL, &info),
			ODVGP_E_ARG);
	REFUSED(odvgp_set_bounds(a.m, "Z_beta", 0, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_bounds(a.m, "Z_*", 0, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_bounds(a.m, "none", 0, 1, &info), ODVGP_E_NAME);
	REFUSED(odvgp_set_bounds(a.m, NULL, 0, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_bounds(NULL, "noise_variance", 0, 1, &info), ODVGP_E_ARG);
	v[0] = 9, v[1] = (odvgp_real)0.01;
	CHECK_STATUS(odvgp_set(a.m, "kernel.1.lengthscale", v, 2, NULL), ODVGP_OK);
	drop(&a);
}

/* ---- priors ---- */

static double log_normal(double v, double mean, double sd)
{
	double z = (log(v) - mean) / sd;
	return -log(v * sd * sqrt(8 * atan(1.0))) - z * z / 2;
}
static double log_gamma_density(double v, double shape, double rate)
{
	return shape * log(rate) - lgamma(shape) + (shape - 1) * log(v) - rate * v;
}

TEST(priors_add_to_the_bound)
{
	static const double shapes[] = {1e-3, 0.3, 1, 2.5, 9.99, 10, 37, 1e4};
	odvgp_config c = lbfgs_config(20, 2, 1, 4, 3);
	fixture a = make_seeded(&c, 50);
	odvgp_real ls[2] = {(odvgp_real)0.75, (odvgp_real)1.5}, part;
	double before, wanted, tolerance = 40 * EPS;
	int i;
	for (i = 0; i < 8; i++)
		CHECK_NEAR(
				gp__log_gamma(shapes[i]), lgamma(shapes[i]), 4e-14 * (1 + fabs(lgamma(shapes[i]))));
	CHECK_STATUS(odvgp_set(a.m, "kernel.1.lengthscale", ls, 2, NULL), ODVGP_OK);
	set_number(a.m, "kernel.0.lengthscale", 0.8), set_number(a.m, "kernel.0.variance", 1.25),
			set_number(a.m, "noise_variance", 0.125);
	before = elbo_of(&a, NULL, NULL);
	CHECK_STATUS(
			odvgp_set_prior(a.m, "noise_variance", ODVGP_PRIOR_GAMMA, (odvgp_real)2.5, 4, NULL),
			ODVGP_OK);
	wanted = before + log_gamma_density(0.125, 2.5, 4);
	CHECK_NEAR(elbo_of(&a, NULL, NULL), wanted, tolerance * fabs(before));
	CHECK_STATUS(
			odvgp_set_prior(a.m, "kernel.1.*", ODVGP_PRIOR_LOGNORMAL, (odvgp_real)0.5, 2, NULL),
			ODVGP_OK);
	wanted += log_normal(0.75, 0.5, 2) + log_normal(1.5, 0.5, 2) +
			  log_normal(number(a.m, "kernel.1.variance"), 0.5, 2);
	CHECK_NEAR(elbo_of(&a, NULL, NULL), wanted, tolerance * fabs(before));
	/* The prior counts once, for any number of rows. */
	CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 10, &part, NULL, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.1.variance", 0, NULL), ODVGP_OK);
	/* The prior adds a constant and the following terms. */
	CHECK_NEAR(elbo_of(&a, NULL, NULL), wanted, tolerance * fabs(before));
	CHECK((double)step(&a).elbo == wanted || fabs((double)step(&a).elbo) < HUGE_REAL);
	CHECK_STATUS(odvgp_set_prior(a.m, "*", ODVGP_PRIOR_NONE, 0, 0, NULL), ODVGP_OK);
	drop(&a);
	a = make_seeded(&c, 50);
	before = elbo_of(&a, NULL, NULL);
	CHECK_STATUS(odvgp_set_prior(a.m, "*", ODVGP_PRIOR_GAMMA, 2, 1, NULL), ODVGP_OK);
	/* The parameters of ODVGP_PRIOR_NONE are ignored. */
	CHECK_STATUS(odvgp_set_prior(a.m, "*", ODVGP_PRIOR_NONE, (odvgp_real)NAN, -1, NULL), ODVGP_OK);
	CHECK(elbo_of(&a, NULL, NULL) == before);
	/* A very narrow prior decides the value. */
	CHECK_STATUS(odvgp_set_prior(a.m, "kernel.0.lengthscale", ODVGP_PRIOR_LOGNORMAL,
						 (odvgp_real)log(0.4), (odvgp_real)0.001, NULL),
			ODVGP_OK);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 300, NULL, NULL), ODVGP_OK);
	CHECK_NEAR(number(a.m, "kernel.0.lengthscale"), 0.4, 2e-3);
	drop(&a);
}

TEST(priors_have_right_gradients)
{
	static const char *const names[] = {
			"kernel.0.lengthscale", "kernel.0.variance", "kernel.1.variance", "noise_variance"};
	int bounds, k, objective;
	for (objective = 0; objective < 2; objective++)
		for (bounds = 0; bounds < 2; bounds++) {
			odvgp_config c = lbfgs_config(20, 2, 1, 4, 0);
			fixture a;
			odvgp_real *grad, e;
			c.jitter.relative = (odvgp_real)1e-3;
			c.objective = objective ? ODVGP_OBJECTIVE_COLLAPSED : ODVGP_OBJECTIVE_ELBO;
			a = make_seeded(&c, 51);
			grad = NEW(odvgp_real, odvgp_param_count(a.m));
			CHECK_STATUS(odvgp_set_prior(a.m, "kernel.0.*", ODVGP_PRIOR_LOGNORMAL, (odvgp_real)0.7,
								 (odvgp_real)0.05, NULL),
					ODVGP_OK);
			CHECK_STATUS(odvgp_set_prior(a.m, "kernel.1.variance", ODVGP_PRIOR_GAMMA, 30, 5, NULL),
					ODVGP_OK);
			CHECK_STATUS(odvgp_set_prior(a.m, "noise_variance", ODVGP_PRIOR_GAMMA, (odvgp_real)0.5,
								 200, NULL),
					ODVGP_OK);
			if (bounds)
				CHECK_STATUS(odvgp_set_bounds(a.m, "*", (odvgp_real)0.01, 4, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, a.N, &e, NULL, grad, NULL), ODVGP_OK);
			for (k = 0; k < 4; k++) {
				double v = number(a.m, names[k]), h = v * BY_PRECISION(1e-5, 1e-2), up, down,
					   g = (double)grad[odvgp_slot_find(a.m, names[k])->offset];
				set_number(a.m, names[k], v + h), up = elbo_of(&a, NULL, NULL);
				set_number(a.m, names[k], v - h), down = elbo_of(&a, NULL, NULL);
				set_number(a.m, names[k], v);
				CHECK_NEAR(g, -(up - down) / (2 * h),
						BY_PRECISION(1e-6, 2e-2) * (fabs(g) + 1) + 4 * EPS * fabs((double)e) / h);
			}
			{
				/* The gradient with respect to theta, which L-BFGS uses. */
				gp__lbfgs_job job;
				gp__rows rows = gp__rows_plain(a.X, a.Y, a.N);
				odvgp_real *x = NEW(odvgp_real, odvgp_param_count(a.m)),
						   *g = NEW(odvgp_real, odvgp_param_count(a.m)),
						   *g2 = NEW(odvgp_real, odvgp_param_count(a.m));
				double f, up, down, h = BY_PRECISION(1e-5, 1e-2);
				ptrdiff_t i, n = a.m->lbfgs.n; /* without q where the bound has none */
				CHECK(n == odvgp_param_count(a.m) - (objective ? 4 + 16 : 0));
				memcpy(x, a.m->par.theta, (size_t)n * sizeof *x);
				job.m = a.m, job.rows = &rows;
				gp__keep_jitters(a.m);
				gp__all_columns(a.m);
				gp__lbfgs_loss(&job, x, &f, g);
				for (i = 0; i < n; i += i < 8 ? 1 : 5) {
					odvgp_real keep = x[i];
					double tolerance = BY_PRECISION(1e-6, 2e-2) * (fabs((double)g[i]) + 1) +
									   4 * EPS * fabs(f) / h;
					x[i] = (odvgp_real)((double)keep + h), gp__lbfgs_loss(&job, x, &up, g2);
					x[i] = (odvgp_real)((double)keep - h), gp__lbfgs_loss(&job, x, &down, g2);
					x[i] = keep;
					/* Skip elements above a diagonal. */
					if (g[i] == 0) continue;
					CHECK_NEAR(g[i], (up - down) / (2 * h), tolerance);
				}
				free(x), free(g), free(g2);
			}
			free(grad);
			drop(&a);
		}
}

/*  Adam moves hyperparameters by the gradient of the bound with each prior counted once, also if
    a natural step of gamma evaluates the bound between the gradient and Adam's step. With one
    moment and a huge eps the step is the gradient times lr / eps. */
TEST(priors_count_once_in_a_step)
{
	static const char *const names[] = {
			"kernel.0.lengthscale", "kernel.0.variance", "kernel.1.variance", "noise_variance"};
	int hybrid, gamma, sampled, k;
	for (hybrid = 0; hybrid < 2; hybrid++)
		for (gamma = ODVGP_GAMMA_STEP_ADAM; gamma <= ODVGP_GAMMA_STEP_EXACT; gamma++)
			for (sampled = 0; sampled < 2; sampled++) {
				odvgp_config c = lbfgs_config(20, 2, 1, 4, 6);
				fixture a;
				odvgp_real *grad, e;
				odvgp_report report;
				ptrdiff_t columns[6];
				double before[4];
				c.optim.kind = ODVGP_OPTIMIZER_ADAM;
				c.optim.natgrad = 1;
				c.layer[0].mean_part = hybrid ? ODVGP_MEAN_PART_HYBRID : ODVGP_MEAN_PART_ORTH;
				c.optim.gamma_step = (odvgp_gamma_step)gamma;
				c.optim.gamma_batch = sampled ? 3 : 6;
				c.positive_transform = ODVGP_POSITIVE_TRANSFORM_EXP;
				c.optim.adam_beta1 = c.optim.adam_beta2 = 0;
				c.optim.adam_eps = (odvgp_real)1e6;
				c.optim.lr = odvgp_constant(1);
				a = make_seeded(&c, 52);
				grad = NEW(odvgp_real, odvgp_param_count(a.m));
				CHECK_STATUS(odvgp_set_prior(
									 a.m, "*", ODVGP_PRIOR_LOGNORMAL, -2, (odvgp_real)0.02, NULL),
						ODVGP_OK);
				for (k = 0; k < c.optim.gamma_batch; k++)
					columns[k] = gp__permute(c.seed, GP__STREAM_COLUMNS, 0, 6, k);
				odvgp_columns some = {columns, c.optim.gamma_batch};
				if (!sampled)
					CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, a.N, &e, NULL, grad, NULL), ODVGP_OK);
				else
					CHECK_STATUS(odvgp_elbo_columns(
										 a.m, a.X, a.Y, a.N, &some, &report, grad, NULL),
							ODVGP_OK);
				for (k = 0; k < 4; k++) before[k] = number(a.m, names[k]);
				step(&a);
				for (k = 0; k < 4; k++) {
					double g = before[k] * (double)grad[odvgp_slot_find(a.m, names[k])->offset],
						   moved = log(number(a.m, names[k]) / before[k]);
					CHECK_SAY(fabs(g) > 100 && fabs(moved + g / (fabs(g) + 1e6)) <=
													   1e-12 * fabs(g) + 64 * EPS,
							"%s, gamma step %d, %s columns: log %s moves by %.8g, its gradient is "
							"%.8g",
							hybrid ? "hybrid" : "orth", gamma, sampled ? "sampled" : "all",
							names[k], moved, g);
				}
				free(grad);
				drop(&a);
			}
}

TEST(priors_are_refused_where_they_make_no_sense)
{
	odvgp_config c = lbfgs_config(20, 2, 1, 4, 0);
	fixture a;
	double before;
	c.layer[0].mean_part = ODVGP_MEAN_PART_FREE, c.layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
	a = make_seeded(&c, 52);
	before = elbo_of(&a, NULL, NULL);
	REFUSED(odvgp_set_prior(a.m, "q_diag", ODVGP_PRIOR_GAMMA, 1, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_prior(a.m, "Z_beta", ODVGP_PRIOR_GAMMA, 1, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_prior(a.m, "none", ODVGP_PRIOR_GAMMA, 1, 1, &info), ODVGP_E_NAME);
	REFUSED(odvgp_set_prior(a.m, "none*", ODVGP_PRIOR_GAMMA, 1, 1, &info), ODVGP_E_NAME);
	REFUSED(odvgp_set_prior(a.m, "noise_variance", (odvgp_prior)3, 1, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_prior(a.m, "noise_variance", ODVGP_PRIOR_GAMMA, 0, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_prior(a.m, "noise_variance", ODVGP_PRIOR_GAMMA, 1, 0, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_prior(
					a.m, "noise_variance", ODVGP_PRIOR_GAMMA, (odvgp_real)HUGE_VAL, 1, &info),
			ODVGP_E_ARG);
	REFUSED(odvgp_set_prior(a.m, "noise_variance", ODVGP_PRIOR_LOGNORMAL, 0, 0, &info),
			ODVGP_E_ARG);
	REFUSED(odvgp_set_prior(
					a.m, "noise_variance", ODVGP_PRIOR_LOGNORMAL, (odvgp_real)NAN, 1, &info),
			ODVGP_E_ARG);
	REFUSED(odvgp_set_prior(
					a.m, "noise_variance", ODVGP_PRIOR_LOGNORMAL, 0, (odvgp_real)HUGE_VAL, &info),
			ODVGP_E_ARG);
	REFUSED(odvgp_set_prior(a.m, NULL, ODVGP_PRIOR_GAMMA, 1, 1, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_prior(NULL, "noise_variance", ODVGP_PRIOR_GAMMA, 1, 1, &info), ODVGP_E_ARG);
	CHECK(elbo_of(&a, NULL, NULL) == before);
	CHECK_STATUS(odvgp_set_prior(a.m, "*", ODVGP_PRIOR_GAMMA, 2, 2, NULL), ODVGP_OK);
	CHECK_INT(a.m->par.state[gp__slot_index(&a.m->par, "q_diag")].prior, ODVGP_PRIOR_NONE);
	drop(&a);
}

/* ---- schedules ---- */

static odvgp_schedule schedule(odvgp_schedule_kind kind, double begin, double end, ptrdiff_t steps,
		double last, ptrdiff_t from, ptrdiff_t decay)
{
	odvgp_schedule s;
	memset(&s, 0, sizeof s);
	s.kind = kind, s.start = (odvgp_real)begin, s.end = (odvgp_real)end, s.steps = steps;
	s.final = (odvgp_real)last, s.decay_from = from, s.decay_steps = decay;
	return s;
}
TEST(schedules_rise_and_decay)
{
	odvgp_schedule s = schedule(ODVGP_SCHEDULE_LINEAR, 0, 0.5, 10, 0.125, 20, 8);
	odvgp_config c = lbfgs_config(20, 2, 1, 4, 0);
	fixture a;
	int i;
	for (i = 0; i < 40; i++) {
		double linear = i < 10   ? 0.05 * i
						: i < 20 ? 0.5
						: i < 28 ? 0.5 - 0.375 * (i - 20) / 8
								 : 0.125;
		double ratios = i < 10   ? 0.01 * pow(50, i / 10.0)
						: i < 12 ? 0.5
						: i < 20 ? 0.5 * pow(0.25, (i - 12) / 8.0)
								 : 0.125;
		double constant = i < 3 ? 0.5 : i < 11 ? 0.5 * pow(0.25, (i - 3) / 8.0) : 0.125;
		odvgp_schedule log_linear = schedule(ODVGP_SCHEDULE_LOGLINEAR, 0.01, 0.5, 10, 0.125, 12, 8),
					   flat = schedule(ODVGP_SCHEDULE_CONSTANT, 0, 0.5, 0, 0.125, 3, 8);
		CHECK_NEAR(gp__schedule_at(&s, (uint64_t)i), linear, 4 * EPS);
		CHECK_NEAR(gp__schedule_at(&log_linear, (uint64_t)i), ratios, 8 * EPS);
		CHECK_NEAR(gp__schedule_at(&flat, (uint64_t)i), constant, 8 * EPS);
		flat.decay_steps = 0;
		CHECK_NEAR(gp__schedule_at(&flat, (uint64_t)i), 0.5, EPS);
	}
	CHECK(gp__schedule_at(&s, UINT64_MAX) == s.final);
	s.decay_from = PTRDIFF_MAX, s.decay_steps = PTRDIFF_MAX;
	CHECK(gp__schedule_at(&s, (uint64_t)PTRDIFF_MAX - 1) == s.end &&
			gp__schedule_at(&s, UINT64_MAX) == s.final);
	c.optim.kind = ODVGP_OPTIMIZER_ADAM, c.optim.natgrad = 1;
	c.optim.lr = schedule(ODVGP_SCHEDULE_LOGLINEAR, 1e-4, 1e-2, 4, 1e-3, 6, 4);
	/* The schedule decays to 0. */
	c.optim.natgrad_step = schedule(ODVGP_SCHEDULE_LINEAR, 0, 0.1, 2, 0, 3, 4);
	a = make_seeded(&c, 53);
	for (i = 0; i < 12; i++) {
		odvgp_report r = step(&a);
		CHECK(r.lr == gp__schedule_at(&c.optim.lr, (uint64_t)i) &&
				r.natgrad_step == gp__schedule_at(&c.optim.natgrad_step, (uint64_t)i));
		CHECK(r.evaluations == 1 && !r.converged);
	}
	drop(&a);
}
TEST(schedules_are_checked)
{
	const struct {
		odvgp_schedule s;
		int ok;
	} rows[] = {{schedule(ODVGP_SCHEDULE_LINEAR, 0, 0.5, 10, 0, 10, 1), 1},
			{schedule(ODVGP_SCHEDULE_LINEAR, 0, 0.5, 10, 0.1, 9, 1), 0},
			{schedule(ODVGP_SCHEDULE_LINEAR, 0, 0.5, 10, -0.1, 10, 1), 0},
			{schedule(ODVGP_SCHEDULE_LINEAR, 0, 0.5, 10, 0.1, 10, -1), 0},
			{schedule(ODVGP_SCHEDULE_LINEAR, 0, 0.5, 10, 0.1, -1, 0), 0},
			{schedule(ODVGP_SCHEDULE_LOGLINEAR, 0.1, 0.5, 10, 0, 10, 1), 0},
			{schedule(ODVGP_SCHEDULE_LOGLINEAR, 0.1, 0.5, 10, 0.1, 50, 1), 1},
			{schedule(ODVGP_SCHEDULE_CONSTANT, 0, 0.5, 0, 0, 10, 1), 0},
			{schedule(ODVGP_SCHEDULE_CONSTANT, 0, 0.5, 0, 0.1, 0, 5), 1},
			{schedule(ODVGP_SCHEDULE_CONSTANT, 0, 0.5, 100, 0.1, 10, 5), 1},
			{schedule(ODVGP_SCHEDULE_CONSTANT, 0, 0.5, 0, 1.5, 10, 5), 0},
			{schedule(ODVGP_SCHEDULE_CONSTANT, 0, 0.5, 0, NAN, 10, 5), 0},
			{schedule(ODVGP_SCHEDULE_CONSTANT, 0, 0.5, 0, NAN, 10, 0), 1}};
	int i;
	for (i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
		odvgp_config c = lbfgs_config(20, 2, 1, 4, 0);
		size_t bytes;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		c.optim.natgrad_step = rows[i].s;
		CHECK_SAY(sized(&bytes, odvgp_model_size(&c, &info), &info) ==
						  (rows[i].ok ? ODVGP_OK : ODVGP_E_ARG),
				"schedule %d", i);
	}
}

/*  A model that gets its schedules later takes the steps of one that had them from the start, through
    a file too. A bad schedule changes neither. */
TEST(schedules_can_be_replaced)
{
	odvgp_config c = lbfgs_config(30, 2, 1, 5, 4);
	odvgp_schedule lr = schedule(ODVGP_SCHEDULE_LOGLINEAR, 1e-2, 1e-3, 6, 0, 0, 0),
				   tau = schedule(ODVGP_SCHEDULE_LINEAR, 0.1, 0.02, 9, 0, 0, 0), bad = lr;
	fixture a, b, later;
	c.optim.kind = ODVGP_OPTIMIZER_ADAM, c.optim.natgrad = 1;
	c.optim.lr = lr, c.optim.natgrad_step = odvgp_constant((odvgp_real)0.05);
	a = make_seeded(&c, 56);
	c.optim.lr = odvgp_constant((odvgp_real)0.3);
	b = make_seeded(&c, 56);
	CHECK_STATUS(odvgp_set_step_sizes(b.m, &lr, NULL, NULL), ODVGP_OK);
	for (int i = 0; i < 12; i++) {
		odvgp_report p, q;
		if (i == 4) {
			CHECK_STATUS(odvgp_set_step_sizes(a.m, NULL, &tau, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_set_step_sizes(b.m, &lr, &tau, NULL), ODVGP_OK);
			bad.steps = 0;
			REFUSED(odvgp_set_step_sizes(b.m, &bad, &lr, &info), ODVGP_E_ARG);
			bad = odvgp_constant((odvgp_real)1.5);
			REFUSED(odvgp_set_step_sizes(b.m, &bad, &bad, &info), ODVGP_E_ARG);
			REFUSED(odvgp_set_step_sizes(NULL, &lr, &tau, &info), ODVGP_E_ARG);
			later = load_again(&b);
		}
		p = step(&a), q = step(&b);
		CHECK(p.elbo == q.elbo && p.lr == q.lr && p.natgrad_step == q.natgrad_step);
		CHECK(p.natgrad_step == (i < 4 ? (odvgp_real)0.05 : gp__schedule_at(&tau, (uint64_t)i)));
		if (i >= 4) CHECK(step(&later).elbo == p.elbo);
		same_parameters(a.m, b.m);
	}
	free(later.block);
	drop(&a);
	drop(&b);
}

/* ---- files ---- */

TEST(files_keep_bounds_priors_and_schedules)
{
	odvgp_config c = lbfgs_config(30, 2, 1, 5, 4);
	fixture a, b;
	int i, adam;
	for (adam = 0; adam < 2; adam++) {
		c.optim.kind = adam ? ODVGP_OPTIMIZER_ADAM : ODVGP_OPTIMIZER_LBFGS;
		c.optim.natgrad = adam;
		c.optim.lr = schedule(ODVGP_SCHEDULE_LOGLINEAR, 1e-3, 1e-1, 4, 1e-3, 6, 14);
		a = make_seeded(&c, 54);
		CHECK_STATUS(odvgp_set_bounds(a.m, "kernel.0.*", (odvgp_real)0.5, 1, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set_bounds(
							 a.m, "noise_variance", (odvgp_real)0.02, (odvgp_real)HUGE_VAL, NULL),
				ODVGP_OK);
		CHECK_STATUS(
				odvgp_set_prior(a.m, "kernel.1.*", ODVGP_PRIOR_GAMMA, 2, (odvgp_real)1.5, NULL),
				ODVGP_OK);
		CHECK_STATUS(odvgp_set_prior(a.m, "noise_variance", ODVGP_PRIOR_LOGNORMAL, -3, 1, NULL),
				ODVGP_OK);
		for (i = 0; i < 8; i++) step(&a);
		b = load_again(&a);
		CHECK(elbo_of(&a, NULL, NULL) == elbo_of(&b, NULL, NULL));
		CHECK_INT(a.m->par.slots, b.m->par.slots);
		for (i = 1; i <= a.m->par.slots; i++) {
			const gp__slot_state *p = &a.m->par.state[i], *q = &b.m->par.state[i];
			CHECK(p->low == q->low && p->high == q->high && p->prior == q->prior &&
					p->prior_a == q->prior_a && p->prior_b == q->prior_b);
		}
		CHECK(b.m->cfg.optim.lr.final == c.optim.lr.final && b.m->cfg.optim.lr.decay_from == 6 &&
				b.m->cfg.optim.lr.decay_steps == 14);
		for (i = 0; i < 15; i++) {
			odvgp_report p = step(&a), q = step(&b);
			CHECK(p.elbo == q.elbo && p.lr == q.lr);
			same_parameters(a.m, b.m);
		}
		free(b.block);
		drop(&a);
	}
}

/*  The test changes a model and saves it, so that the checksum is correct. */
TEST(forged_bounds_and_histories_are_refused)
{
	odvgp_config c = lbfgs_config(12, 2, 1, 3, 2);
	int wrong;
	c.optim.lbfgs_memory = 4;
	for (wrong = 0; wrong < 22; wrong++) {
		fixture a = make_seeded(&c, 55), b;
		unsigned char *file;
		size_t bytes;
		int i;
		for (i = 0; i < 2; i++) step(&a);
		switch (wrong) {
		case 1: a.m->par.state[1].low = -1; break;
		case 2: a.m->par.state[2].low = (odvgp_real)NAN; break;
		case 3: a.m->par.state[1].high = 0; break;
		case 4: a.m->par.state[3].high = (odvgp_real)NAN; break;
		case 5: a.m->par.state[1].low = (odvgp_real)HUGE_VAL; break;
		case 6: a.m->par.state[1].prior = 3; break;
		/* The prior has shape and rate 0. */
		case 7: a.m->par.state[1].prior = ODVGP_PRIOR_GAMMA; break;
		case 8:
			a.m->par.state[2].prior = ODVGP_PRIOR_LOGNORMAL,
			a.m->par.state[2].prior_a = (odvgp_real)NAN, a.m->par.state[2].prior_b = 1;
			break;
		case 9: a.m->lbfgs.pairs = 5; break;
		case 10: a.m->lbfgs.pairs = UINT64_MAX; break;
		case 11: a.m->lbfgs.next = 4; break;
		case 12: a.m->lbfgs.next = 0; break;
		case 13: a.m->lbfgs.pairs = 4, a.m->lbfgs.next = 4; break;
		case 14: a.m->lbfgs.sy[0] = 0; break;
		case 15: a.m->lbfgs.sy[1] = NAN; break;
		case 16: a.m->lbfgs.sy[1] = -1; break;
		case 17: a.m->state.lbfgs_valid = 2; break;
		case 18: a.m->state.lbfgs_kl = NAN; break;
		case 19: a.m->lbfgs.g[5] = (odvgp_real)INFINITY; break;
		case 20: a.m->cfg.optim.lbfgs_memory = 0; break;
		case 21: a.m->cfg.optim.kind = (odvgp_optimizer)2; break;
		default: break;
		}
		file = save_file(a.m, NULL, "", &bytes);
		if (wrong < 20)
			CHECK_SAY(load_file(file, bytes, &b) == (wrong ? ODVGP_E_FORMAT : ODVGP_OK),
					"forgery %d", wrong);
		else CHECK_SAY(load_file(file, bytes, &b) != ODVGP_OK, "forgery %d", wrong);
		free(file), free(b.block);
		drop(&a);
	}
}
/*  Any change with a correct checksum is refused, or gives a model that evaluates and steps or
    reports an error. */
TEST(forged_files_do_no_harm)
{
	odvgp_config c = lbfgs_config(6, 2, 1, 2, 2);
	fixture a, b;
	size_t bytes, i, state;
	unsigned char *file, *other;
	int round, read = 0;
	c.optim.lbfgs_memory = 3;
	a = make_seeded(&c, 56);
	CHECK_STATUS(odvgp_set_bounds(a.m, "kernel.*", (odvgp_real)0.01, 10, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set_prior(a.m, "*", ODVGP_PRIOR_GAMMA, 2, 1, NULL), ODVGP_OK);
	for (round = 0; round < 3; round++) step(&a);
	file = save_file(a.m, NULL, "", &bytes);
	other = NEW(unsigned char, bytes);
	state = 40 + (size_t)gp__file_sizes(a.m, 0).state_bytes;
	for (round = 0; round < test_size(3000, 1500); round++) {
		uint64_t sum;
		int hits = 1 + (int)test_below(2);
		odvgp_report r;
		memcpy(other, file, bytes);
		while (hits--)
			other[40 + (size_t)test_below((ptrdiff_t)state - 40)] =
					test_below(2) ? (unsigned char)test_bits() : (unsigned char)test_below(10);
		sum = gp__checksum(other, bytes - 8);
		for (i = 0; i < 8; i++) other[bytes - 8 + i] = (unsigned char)(sum >> (8 * i));
		b = a;
		if (load_file(other, bytes, &b) == ODVGP_OK && b.m->cfg.N == 6 &&
				b.m->cfg.layer[0].D == 2 && b.m->cfg.layer[0].P == 1) {
			read++;
			/* Any status is possible. */
			for (i = 0; i < 3; i++) (void)odvgp_step(b.m, b.X, b.Y, &r, NULL);
		}
		free(b.block);
	}
	CHECK_SAY(read > 500, "%d", read);
	free(file), free(other);
	drop(&a);
}

/*  The bound is finite and its gradient is not, in the units in which L-BFGS moves. The step
    fails, and a file that is saved afterwards can be loaded. */
TEST(a_gradient_that_overflows_is_an_error)
{
	enum { N = 20 };
	odvgp_config c = odvgp_config_defaults(N, 1, 1, 4, 0);
	odvgp_real x[N], y[N];
	odvgp_model *m = NULL, *again = NULL;
	odvgp_info info;
	size_t bytes, block_bytes;
	void *file, *block;
	int i;
	for (i = 0; i < N; i++) x[i] = (odvgp_real)(0.1 * i), y[i] = (odvgp_real)(i % 3 - 1);
	c.isa = test_isa(), c.optim.kind = ODVGP_OPTIMIZER_LBFGS, c.optim.natgrad = 0,
	c.layer[0].cov_part = ODVGP_COV_PART_INVERSE;
	if (!CHECK_STATUS(odvgp_model_create(&m, &c, x, y, NULL, &info), ODVGP_OK)) return;
	/* L-BFGS knows bound and gradient of data that change now. */
	CHECK_STATUS(odvgp_step(m, x, y, NULL, &info), ODVGP_OK);
	y[3] = 1000;
	/* A forged file can hold this value. */
	m->data_sd[0] = m->data_sd[1] = (odvgp_real)(HUGE_REAL / 2);
	i = odvgp_step(m, x, y, NULL, &info);
	CHECK_SAY(i == ODVGP_E_NAN && info.text[0], "%s", odvgp_status_text((odvgp_status)i));
	bytes = odvgp_save_size(m, 0, NULL), file = test_alloc(bytes);
	if (odvgp_save_memory(m, NULL, NULL, 0, file, bytes, &info) == ODVGP_OK) {
		CHECK_STATUS(sized(&block_bytes, odvgp_load_size(file, bytes, NULL, c.isa, &info), &info),
				ODVGP_OK);
		block = test_alloc(block_bytes);
		CHECK_STATUS(odvgp_load_memory(&again, file, bytes, NULL, c.isa, block, block_bytes, &info),
				ODVGP_OK);
		free(block);
	}
	free(file);
	odvgp_model_free(m);
}

/*  Scales of coordinates divide steps: they are above 0 and finite where k(x,x) underflows, and
    where data have units at the ends of the range. Steps then succeed, or fail with a status. */
TEST(scales_are_above_0_and_finite)
{
	static const double units[] = {1, 1e-30, 1e30, BY_PRECISION(1e-200, 1e-37),
			BY_PRECISION(1e200, 1e37), BY_PRECISION(1e-310, 1e-42)};
	static const char *const kernels[] = {"rbf", BY_PRECISION("rbf(1,variance=1e-200)*"
															  "rbf(1,variance=1e-200)",
													 "rbf(1,variance=1e-30)*"
													 "rbf(1,variance=1e-30)")};
	static const struct {
		odvgp_mean_part mean;
		odvgp_cov_part cov;
		ptrdiff_t M_gamma;
		odvgp_mean_function function;
	} members[] = {{ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, 0, ODVGP_MEAN_FUNCTION_LINEAR},
			{ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 3, ODVGP_MEAN_FUNCTION_CONSTANT},
			{ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, 3, ODVGP_MEAN_FUNCTION_ZERO}};
	enum { N = 12, UNITS = sizeof units / sizeof *units };
	int i, s, k, bad = 0, steps = 0;
	for (i = 0; i < 3 * 2 * UNITS * UNITS; i++) {
		odvgp_config c = odvgp_config_defaults(N, 1, 1, 4, members[i % 3].M_gamma);
		odvgp_real x[N], y[N];
		odvgp_model *m = NULL;
		double in = units[i / 6 % UNITS], out = units[i / 6 / UNITS];
		for (k = 0; k < N; k++)
			x[k] = (odvgp_real)(0.1 * in * k), y[k] = (odvgp_real)(out * (k % 3 - 1));
		c.isa = test_isa(), c.optim.natgrad = 0, c.jitter.absolute = (odvgp_real)1e-3;
		c.layer[0].mean_part = members[i % 3].mean, c.layer[0].cov_part = members[i % 3].cov;
		c.layer[0].kernel = kernels[i / 3 % 2], c.layer[0].mean_function = members[i % 3].function;
		if (odvgp_model_create(&m, &c, x, y, NULL, NULL)) continue;
		for (k = 0; k < 3; k++) steps += odvgp_step(m, x, y, NULL, NULL) == ODVGP_OK;
		gp__adam_units(m);
		for (s = 1; s < m->par.slots; s++) {
			gp__scale adam = gp__adam_scale(m, s), unit = gp__unit_scale(m, s);
			for (k = 0; k < m->par.slot[s].count; k++) {
				double a = (double)gp__scale_at(&adam, k), b = (double)gp__scale_at(&unit, k);
				bad += !(a > 0 && a < HUGE_REAL && b > 0 && b < HUGE_REAL);
			}
		}
		odvgp_model_free(m);
	}
	CHECK_SAY(bad == 0, "%d scales are 0 or infinite", bad);
	CHECK_SAY(steps > 100, "%d steps", steps);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(noise_has_a_floor);
	RUN(units_and_floor_go_through_a_file);
	RUN(bounded_values_and_slopes);
	RUN(bounds_hold_whatever_moves);
	RUN(bounds_hold_for_the_exact_optimum);
	RUN(exact_regression_takes_two_matrices);
	RUN(exact_bounds_and_predictors_alternate);
	RUN(bounds_move_values_and_refuse_others);
	RUN(priors_add_to_the_bound);
	RUN(priors_have_right_gradients);
	RUN(priors_count_once_in_a_step);
	RUN(priors_are_refused_where_they_make_no_sense);
	RUN(schedules_rise_and_decay);
	RUN(schedules_are_checked);
	RUN(schedules_can_be_replaced);
	RUN(files_keep_bounds_priors_and_schedules);
	RUN(forged_bounds_and_histories_are_refused);
	RUN(forged_files_do_no_harm);
	RUN(a_gradient_that_overflows_is_an_error);
	RUN(scales_are_above_0_and_finite);
	return test_end();
}

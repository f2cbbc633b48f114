/*  Initialisation from the data: inducing points, hyperparameters and q. Each method agrees with
    its definition, works for degenerate data, and changes nothing if it fails. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"

/* ---- initialisation by default ---- */

static int row_among(const odvgp_real *row, const odvgp_real *rows, ptrdiff_t n, ptrdiff_t D)
{
	ptrdiff_t i, hits = 0;
	for (i = 0; i < n; i++) hits += memcmp(row, rows + i * D, (size_t)D * sizeof *row) == 0;
	return (int)hits;
}

TEST(a_start_from_the_data)
{
	int repeat;
	for (repeat = 0; repeat < 2; repeat++) {
		odvgp_config c = random_config(80, 2, 1, 10, 20);
		fixture a;
		odvgp_real *zb, *zg, *ls, *v;
		ptrdiff_t i, j;
		double median, low = 1e300;
		test_seed = 240;
		c.lik.noise_variance = (odvgp_real)0.2;
		a = make_random(&c, random_kernels[0]);
		/* Repeat each of 20 distinct rows four times. */
		for (i = 0; repeat && i < 80; i++) memcpy(a.X + i * 2, a.X + i % 20 * 2, 2 * sizeof *a.X);
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		zb = values(&a, "Z_beta");
		zg = values(&a, "Z_gamma");
		for (i = 0; i < 20; i++) {
			/* The point is a row of the data. */
			CHECK(row_among(zg + i * 2, a.X, 80, 2) >= 1);
			/* No point occurs twice. */
			CHECK_INT(row_among(zg + i * 2, zg, 20, 2), 1);
		}
		for (i = 0; i < 10; i++)
			for (j = 0; j < i; j++) {
				double d = hypot(
						(double)(zb[i * 2] - zb[j * 2]), (double)(zb[i * 2 + 1] - zb[j * 2 + 1]));
				if (d < low) low = d;
			}
		CHECK_SAY(low > 0.1, "two inducing points are %.3g apart", low);
		/* Lengthscales are between a twentieth of the spread of the data and the whole of it; a
           lengthscale that the expression gives (here 1) stays. */
		ls = values(&a, "kernel.0.lengthscale");
		CHECK(slot(&a, "kernel.0.lengthscale")->count == 1 && ls[0] > 0);
		v = values(&a, "noise_variance");
		CHECK(repeat || v[0] == (odvgp_real)0.15 || v[0] == (odvgp_real)0.2);
		median = (double)ls[0];
		CHECK(median == median);
		free(zb), free(zg), free(ls), free(v);
		drop(&a);
	}
}

TEST(hyperparameters_that_are_not_given_come_from_the_data)
{
	odvgp_config c = odvgp_config_defaults(200, 3, 1, 10, 0);
	odvgp_model *m;
	odvgp_real X[600], Y[200], v;
	int i;
	double sum = 0, square = 0, variance;
	test_seed = 241;
	for (i = 0; i < 600; i++) X[i] = (odvgp_real)(100 * test_normal());
	for (i = 0; i < 200; i++) {
		Y[i] = (odvgp_real)(7 + 3 * test_normal());
		sum += (double)Y[i] / 200;
	}
	for (i = 0; i < 200; i++) square += ((double)Y[i] - sum) * ((double)Y[i] - sum);
	variance = square / 200;
	c.layer[0].kernel = "matern52(12.5) + rbf(variance=2.25) + rbf";
	CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(m, "kernel.0.lengthscale", &v, 1, NULL), ODVGP_OK);
	CHECK(v == (odvgp_real)12.5);
	CHECK_STATUS(odvgp_get(m, "kernel.1.variance", &v, 1, NULL), ODVGP_OK);
	CHECK(v == (odvgp_real)2.25);
	CHECK_STATUS(odvgp_get(m, "kernel.0.variance", &v, 1, NULL), ODVGP_OK);
	CHECK_NEAR(v, variance, 1e-5 * variance);
	/* The value has the order of the median distance, 237. */
	CHECK_STATUS(odvgp_get(m, "kernel.2.lengthscale", &v, 1, NULL), ODVGP_OK);
	CHECK_SAY(v > 20 && v < 500, "lengthscale %.3g", (double)v);
	CHECK_STATUS(odvgp_get(m, "noise_variance", &v, 1, NULL), ODVGP_OK);
	CHECK_NEAR(v, variance / 10, 1e-5 * variance);
	odvgp_model_free(m);
	c.lik.noise_variance = (odvgp_real)0.5;
	CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(m, "noise_variance", &v, 1, NULL), ODVGP_OK);
	CHECK(v == (odvgp_real)0.5);
	odvgp_model_free(m);
}

/*	The lengthscale that the first or second base kernel starts with. */
static double first_lengthscale(const char *kernel, int base, odvgp_init_hyper method)
{
	odvgp_config c = odvgp_config_defaults(100, 3, 1, 10, 0);
	odvgp_model *m;
	odvgp_real X[300], Y[100], v = 0;
	int i;
	test_seed = 243;
	for (i = 0; i < 300; i++) X[i] = (odvgp_real)(test_normal() * (1 + i % 3));
	for (i = 0; i < 100; i++) Y[i] = (odvgp_real)test_normal();
	c.layer[0].kernel = kernel;
	c.init.hyperparams = method;
	CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(m, base ? "kernel.1.lengthscale" : "kernel.0.lengthscale", &v, 1, NULL),
			ODVGP_OK);
	odvgp_model_free(m);
	return (double)v;
}

TEST(lengthscales_spread_where_base_kernels_share_columns)
{
	int method;
	for (method = 0; method < 2; method++) {
		odvgp_init_hyper how = (odvgp_init_hyper)method;
		double all = first_lengthscale("rbf", 0, how);
		/* Columns of its own, and kernels without lengthscales: like a base kernel alone. */
		CHECK(first_lengthscale("rbf(dims=0:2) * matern32(dims=2)", 0, how) ==
				first_lengthscale("rbf(dims=0:2)", 0, how));
		CHECK(first_lengthscale("rbf(dims=0:2) * matern32(dims=2)", 1, how) ==
				first_lengthscale("matern32(dims=2)", 0, how));
		CHECK(first_lengthscale("rbf + linear + white", 0, how) == all);
		CHECK(first_lengthscale("constant + rbf", 1, how) == all);
		/* Shared: the second has ten times the first's. */
		CHECK_NEAR(first_lengthscale("rbf + rbf", 1, how),
				10 * first_lengthscale("rbf + rbf", 0, how), 1e-5 * all);
		CHECK(first_lengthscale("rbf + matern32(dims=1)", 0, how) ==
				first_lengthscale("rbf + rbf", 0, how));
	}
}

TEST(training_starts_at_the_prior)
{
	int orth, param;
	test_seed = 242;
	for (orth = 0; orth < 2; orth++)
		for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA;
				param++) {
			odvgp_config c = random_config(20, 2, 2, 5, orth ? 6 : 0);
			fixture a;
			double kl;
			odvgp_real mean[40], var[40], *q;
			ptrdiff_t i;
			wide x[2] = {0, 0};
			c.reproduce.parametrisation = (odvgp_parametrisation)param;
			c.jitter.absolute = (odvgp_real)1e-5;
			a = make_random(&c, random_kernels[0]);
			CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			elbo_of(&a, &kl, NULL);
			CHECK_NEAR(kl, 0, BY_PRECISION(1e-9, 1e-3));
			predict(&a, a.X, 20, mean, var, NULL);
			read_kernel(&a);
			for (i = 0; i < 40; i++) {
				CHECK(mean[i] == 0);
				CHECK_NEAR(var[i], ref_k(&a.k, 2, x, x), BY_PRECISION(1e-9, 1e-3));
			}
			drop(&a);
			c.reproduce.q_init = ODVGP_Q_INIT_IDENTITY;
			a = make_random(&c, random_kernels[0]);
			CHECK_STATUS(odvgp_init_q(a.m, NULL), ODVGP_OK);
			q = values(&a, "q_sqrt");
			for (i = 0; i < 50; i++) CHECK(q[i] == (i % 5 == i / 5 % 5));
			free(q);
			drop(&a);
		}
}

/* ---- methods of initialisation ---- */

static int same_row(const odvgp_real *a, const odvgp_real *b, ptrdiff_t D)
{
	ptrdiff_t d;
	for (d = 0; d < D; d++)
		if (a[d] != b[d]) return 0;
	return 1;
}

/*  Counts the rows that differ from all rows before them and from those of `other`. */
static int new_rows(
		const odvgp_real *Z, ptrdiff_t n, const odvgp_real *other, ptrdiff_t others, ptrdiff_t D)
{
	ptrdiff_t i, j;
	int count = 0, seen;
	for (i = 0; i < n; i++) {
		for (seen = 0, j = 0; j < i; j++) seen |= same_row(Z + i * D, Z + j * D, D);
		for (j = 0; j < others; j++) seen |= same_row(Z + i * D, other + j * D, D);
		count += !seen;
	}
	return count;
}

/*  The data have few distinct rows, constant columns, or a column that the kernel ignores. */
TEST(inducing_points_are_rows_that_differ)
{
	/* More than M + Mg, as many, fewer, one more than M, fewer than M, one: */
	static const int distinct[] = {80, 24, 20, 11, 3, 1};
	int beta, gamma, hyper, k, flat;
	for (beta = ODVGP_INIT_BETA_KMEANS; beta <= ODVGP_INIT_BETA_FARTHEST; beta++)
		for (gamma = ODVGP_INIT_GAMMA_RANDOM; gamma <= ODVGP_INIT_GAMMA_RESIDUAL; gamma++)
			for (k = 0; k < 6; k++)
				for (flat = 0; flat < 2; flat++) {
					odvgp_config c = random_config(80, 3, 1, 10, 14);
					fixture a;
					odvgp_real *zb, *zg, *zb2, *zg2;
					ptrdiff_t i;
					int n = distinct[k];
					test_seed = 250 + (uint64_t)k;
					hyper = (k + beta) % 2;
					c.init.beta = (odvgp_init_beta)beta;
					c.init.gamma = (odvgp_init_gamma)gamma;
					c.init.hyperparams = (odvgp_init_hyper)hyper;
					a = make_random(&c, random_kernels[k % 4]);
					/* Make pairs of rows so close that beta explains both equally well. */
					for (i = 0; k == 1 && i < 24; i += 2) {
						memcpy(a.X + 3 * i + 3, a.X + 3 * i, 3 * sizeof *a.X);
						a.X[3 * i + 3] += (odvgp_real)1e-6;
					}
					for (i = 0; i < 80; i++) {
						memcpy(a.X + 3 * i, a.X + 3 * (i % n), 3 * sizeof *a.X);
						/* Make one column constant. */
						if (flat) a.X[3 * i + 1] = 5;
						if (a.X[3 * i + 2] == 0) a.X[3 * i + 2] = 1;
					}
					CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
					zb = values(&a, "Z_beta"), zg = values(&a, "Z_gamma");
					for (i = 0; beta != ODVGP_INIT_BETA_KMEANS && i < 10; i++)
						CHECK(new_rows(zb + 3 * i, 1, a.X, 80, 3) == 0);
					for (i = 0; i < 14; i++) CHECK(new_rows(zg + 3 * i, 1, a.X, 80, 3) == 0);
					if (beta != ODVGP_INIT_BETA_KMEANS)
						CHECK_INT(new_rows(zb, 10, NULL, 0, 3), n < 10 ? n : 10);
					/* Rows of beta repeat only if there are no others. */
					if (beta != ODVGP_INIT_BETA_KMEANS)
						CHECK_INT(new_rows(zg, 14, zb, 10, 3), n >= 24 ? 14 : n > 10 ? n - 10 : 0);
					CHECK_INT(new_rows(zg, 14, NULL, 0, 3), n < 14 ? n : 14);
					/* A second initialisation gives the same values. */
					CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
					zb2 = values(&a, "Z_beta"), zg2 = values(&a, "Z_gamma");
					CHECK_BITS(zb, zb2, 30 * sizeof *zb);
					CHECK_BITS(zg, zg2, 42 * sizeof *zg);
					free(zb), free(zg), free(zb2), free(zg2);
					drop(&a);
				}
}

/*  Computes k(x,x) - k(x,Z) (K(Z,Z) + jitter I)^-1 k(Z,x) for all rows of the data. */
static void residuals(const fixture *a, const odvgp_real *Z, ptrdiff_t n, double jitter, double *v)
{
	wide *K = ref_new(n * n), *Zw = ref_copy(Z, n * a->D), *Xw = ref_copy(a->X, a->N * a->D),
		 *b = ref_new(n), *w = ref_new(n);
	ptrdiff_t i, j, r;
	for (r = 0; r < a->N; r++) {
		wide k = ref_k(&a->k, (int)a->D, Xw + r * a->D, Xw + r * a->D);
		for (i = 0; i < n; i++) {
			w[i] = b[i] = ref_k(&a->k, (int)a->D, Zw + i * a->D, Xw + r * a->D);
			for (j = 0; j < n; j++)
				K[i * n + j] = ref_k(&a->k, (int)a->D, Zw + i * a->D, Zw + j * a->D) +
							   (i == j ? (wide)jitter : 0);
		}
		if (n) ref_solve_spd(n, 1, K, w);
		for (i = 0; i < n; i++) k -= b[i] * w[i];
		v[r] = (double)k;
	}
	free(K), free(Zw), free(Xw), free(b), free(w);
}

static ptrdiff_t row_of(const fixture *a, const odvgp_real *z)
{
	ptrdiff_t i = 0;
	while (i < a->N - 1 && !same_row(a->X + i * a->D, z, a->D)) i++;
	return i;
}

/*  Compares each method with its definition; the sample contains all rows. */
TEST(points_are_chosen_as_the_methods_say)
{
	enum { M = 16 };
	int k, r;
	for (k = 0; k < 4; k++) {
		odvgp_config c = random_config(60, 2, 1, M, 12);
		double v[60], tolerance = BY_PRECISION(1e-9, 1e-3);
		fixture a;
		odvgp_real *z;
		ptrdiff_t i, j, g;
		test_seed = 260 + (uint64_t)k;
		c.init.beta = ODVGP_INIT_BETA_GREEDY;
		c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL;
		a = make_random(&c, random_kernels[k]);
		/* Repeat some rows. */
		for (i = 0; i < 5; i++) memcpy(a.X + 2 * (i + 5), a.X + 2 * i, 2 * sizeof *a.X);
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		read_kernel(&a);
		z = values(&a, "Z_beta");
		/* Greedy selection takes the row with the largest variance given the points before it. */
		for (i = 0; i < M; i++) {
			double most = 0;
			residuals(&a, z, i, 0, v);
			for (r = 0; r < 60; r++) most = v[r] > most ? v[r] : most;
			CHECK_SAY(v[row_of(&a, z + 2 * i)] >= most - tolerance * v[0] - tolerance * most,
					"kernel %d: point %d has variance %.6g, another %.6g", k, (int)i,
					v[row_of(&a, z + 2 * i)], most);
		}
		/* Residual selection: no row that is left out has a larger residual variance. */
		residuals(&a, z, M, (double)c.jitter.absolute, v);
		{
			odvgp_real *zg = values(&a, "Z_gamma");
			double least = HUGE_VAL, left = 0;
			int chosen[60] = {0};
			for (g = 0; g < 12; g++) {
				r = (int)row_of(&a, zg + 2 * g);
				least = v[r] < least ? v[r] : least;
				for (j = 0; j < 60; j++) chosen[j] |= same_row(a.X + 2 * j, zg + 2 * g, 2);
				CHECK(g == 0 || v[r] <= v[row_of(&a, zg + 2 * g - 2)] + tolerance);
			}
			for (j = 0; j < 60; j++)
				if (!chosen[j] && new_rows(a.X + 2 * j, 1, z, M, 2) && v[j] > left) left = v[j];
			CHECK_SAY(least >= left - tolerance, "kernel %d: %.6g was taken and %.6g left", k,
					least, left);
			free(zg);
		}
		free(z);
		drop(&a);
		c.init.beta = ODVGP_INIT_BETA_FARTHEST;
		a = make_random(&c, random_kernels[k]);
		CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		z = values(&a, "Z_beta");
		/* Each point is the row farthest from its nearest earlier point, in the shortest
           lengthscales. */
		read_kernel(&a);
		double length[2] = {HUGE_VAL, HUGE_VAL};
		for (j = 0; j < 2 * a.k.base_kernels; j++) {
			const ref_base *base = &a.k.base[j / 2];
			length[j % 2] = fmin(length[j % 2], (double)base->lengthscale[base->ard ? j % 2 : 0]);
		}
		for (i = 1; i < M; i++) {
			double most = 0;
			for (r = 0; r < 60; r++) {
				v[r] = HUGE_VAL;
				for (j = 0; j < i; j++) {
					double d = hypot((double)(a.X[2 * r] - z[2 * j]) / length[0],
							(double)(a.X[2 * r + 1] - z[2 * j + 1]) / length[1]);
					v[r] = d < v[r] ? d : v[r];
				}
				most = v[r] > most ? v[r] : most;
			}
			CHECK_NEAR(v[row_of(&a, z + 2 * i)], most, 1e-5 * most);
		}
		free(z);
		drop(&a);
	}
}

/* ---- units of single columns ---- */

enum { UNIT_ROWS = 300, UNIT_INPUTS = 5, UNIT_POINTS = 20, UNIT_GAMMA = 15, UNIT_STEPS = 100 };

/*  A model of the same rows with column d in units of 1 / unit[d]: spread out, with outliers, of two
    values, of three, and constant. */
static fixture in_units(const double *unit, const char *kernel, int beta)
{
	odvgp_config c =
			odvgp_config_defaults(UNIT_ROWS, UNIT_INPUTS, 1, UNIT_POINTS, UNIT_GAMMA);
	fixture a;
	test_seed = 290;
	c.layer[0].kernel = kernel;
	c.init.beta = (odvgp_init_beta)beta;
	c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL;
	c.optim.batch = 100;
	c.isa = test_isa();
	memset(&a, 0, sizeof a);
	make_data(&a, UNIT_ROWS, UNIT_INPUTS, 1, 1, 0.1);
	for (ptrdiff_t i = 0; i < UNIT_ROWS; i++) {
		odvgp_real *x = a.X + i * UNIT_INPUTS;
		x[1] *= x[1] * x[1] * x[1] * x[1];
		x[2] = (odvgp_real)(test_uniform() < 0.1);
		x[3] = (odvgp_real)test_below(3);
		x[4] = 3;
		for (ptrdiff_t d = 0; d < UNIT_INPUTS; d++) x[d] *= (odvgp_real)unit[d];
	}
	make_block(&a, &c);
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	return a;
}

/*  Compares slot `name` of a and b, in b's units: numbers of inputs are `unit` times those of a. */
static void compare_in_units(const fixture *a, const fixture *b, const char *name,
		const double *unit, double tolerance)
{
	int points = strstr(name, "Z_") != NULL, lengths = strstr(name, "length") != NULL, base = 0;
	if (lengths) CHECK(sscanf(name, "kernel.%d.", &base) == 1);
	odvgp_real *v = values(a, name), *w = values(b, name);
	double worst = 0;
	for (ptrdiff_t i = 0; i < slot(a, name)->count; i++) {
		ptrdiff_t d = lengths ? odvgp_kernel_column(a->m, base, i) : i % UNIT_INPUTS;
		int has_unit = points || (lengths && d < UNIT_INPUTS - 1);
		double back = (double)w[i] / (has_unit ? unit[d] : 1);
		worst = fmax(worst, fabs(back - (double)v[i]) / fmax(1, fabs((double)v[i])));
	}
	CHECK_SAY(worst <= tolerance, "%s differs by %.3g", name, worst);
	free(v), free(w);
}

/*  With a lengthscale for each column a training does not depend on the columns' units: in powers of
    two points and lengthscales start with the same bits. Lengthscales are trained as logarithms,
    whose rounding is another in other units; while they are frozen all steps have the same bits. */
TEST(units_of_columns_do_not_matter)
{
	static const double one[] = {1, 1, 1, 1, 1},
						other[][UNIT_INPUTS] = {{1024, 0.5, 64, 1.0 / 4096, 8},
								{1e4, 1e-3, 7, 1, 1e4}, {1e-3, 7, 1e4, 1e-3, 7}};
	static const char *const kernels[] = {
			"matern52(ard)", "rbf(ard, dims=0:2) * matern32(ard, dims=1:3)"};
	for (int k = 0; k < 3 * 2 * 4 * 2; k++) {
		const double *unit = other[k % 3];
		int frozen = k / 24, exact = k % 3 == 0;
		if (frozen && !exact) continue;
		const char *kernel = kernels[frozen ? 0 : k / 3 % 2];
		fixture a = in_units(one, kernel, k / 6 % 4), b = in_units(unit, kernel, k / 6 % 4);
		double tolerance = exact ? 0 : BY_PRECISION(1e-12, 1e-5);
		compare_in_units(&a, &b, "kernel.0.lengthscale", unit, tolerance);
		compare_in_units(&a, &b, "Z_beta", unit, tolerance);
		compare_in_units(&a, &b, "Z_gamma", unit, tolerance);
		if (frozen) {
			CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.0.lengthscale", 0, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_set_trainable(b.m, "kernel.0.lengthscale", 0, NULL), ODVGP_OK);
		}
		/* Adam enlarges rounding where points meet rows and gradients are 0; in float its squares
           underflow. */
		int trains = kernel == kernels[0] && BY_PRECISION(1, 0);
		for (int i = 0; i < 2 && trains; i++) {
			fixture *of = i ? &b : &a;
			CHECK_STATUS(odvgp_fit(of->m, of->X, of->Y, test_size(UNIT_STEPS, 30), NULL, NULL), ODVGP_OK);
		}
		for (int s = 0; s < odvgp_slot_count(a.m) && trains; s++)
			compare_in_units(
					&a, &b, odvgp_slot_at(a.m, s)->name, unit, frozen ? 0 : 1e-8);
		drop(&a);
		drop(&b);
	}
}

/*  If few rows explain all others up to rounding, the remaining points are random and the model
    still works. */
TEST(greedy_ends_where_all_is_explained)
{
	odvgp_config c = random_config(50, 1, 1, 30, 0);
	fixture a;
	odvgp_real *z;
	int i;
	test_seed = 265;
	c.init.beta = ODVGP_INIT_BETA_GREEDY;
	a = make_random(&c, "rbf");
	/* The lengthscale is a quarter of this range. */
	for (i = 0; i < 50; i++) a.X[i] = (odvgp_real)(1000 + 0.001 * i);
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	z = values(&a, "Z_beta");
	CHECK_INT(new_rows(z, 30, NULL, 0, 1), 30);
	(void)elbo_of(&a, NULL, NULL);
	free(z);
	drop(&a);
	/* Ask for more points than there are rows. */
	c.N = 9;
	a = make_random(&c, "rbf");
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	z = values(&a, "Z_beta");
	CHECK_INT(new_rows(z, 30, NULL, 0, 1), 9);
	free(z);
	drop(&a);
}

/*  Almost all rows are equal, so that the sample for k-means has fewer distinct rows than points
    although the data have more; or rows lie on a coarse grid, where the means of different
    clusters can coincide. */
/*  Of clusters far apart, centres are the means of all rows that k-means has seen, in its sample and
    behind it. */
TEST(centres_are_means_of_all_rows_seen)
{
	enum { SAMPLE = 4096, N = 2 * SAMPLE, M = 2 };
	odvgp_real *X = NEW(odvgp_real, N), *Y = NEW(odvgp_real, N), z[M];
	double mean[M] = {0, 0};
	odvgp_config c = odvgp_config_defaults(N, 1, 1, M, 0);
	odvgp_model *m;
	int i;
	test_seed = 277;
	c.isa = test_isa();
	c.init.beta = ODVGP_INIT_BETA_KMEANS;
	for (i = 0; i < N; i++) {
		X[i] = (odvgp_real)(1000 * (i % M) + 10 * test_normal());
		Y[i] = (odvgp_real)test_normal();
		mean[i % M] += (double)X[i] * M / N;
	}
	if (CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK)) {
		CHECK_STATUS(odvgp_get(m, "Z_beta", z, M, NULL), ODVGP_OK);
		i = z[0] > z[1];
		CHECK_NEAR(z[0], mean[i], BY_PRECISION(1e-9, 1e-2));
		CHECK_NEAR(z[1], mean[!i], BY_PRECISION(1e-9, 1e-2));
		odvgp_model_free(m);
	}
	free(X), free(Y);
}
TEST(centres_differ_while_there_are_rows_that_do)
{
	enum { N = 9000, M = 60, DISTINCT = 90 };
	odvgp_real *X = NEW(odvgp_real, N), *Y = NEW(odvgp_real, N), z[M];
	int kind, seed, i;
	for (kind = 0; kind < 2; kind++)
		for (seed = 0; seed < test_size(6, 2); seed++) {
			ptrdiff_t n = kind ? 150 : N;
			odvgp_config c = odvgp_config_defaults(n, 1, 1, M, 0);
			odvgp_model *m;
			test_seed = 270 + (uint64_t)seed;
			c.seed = (uint64_t)seed;
			c.isa = test_isa();
			for (i = 0; i < n; i++) {
				X[i] = kind                 ? (odvgp_real)test_below(64)
					   : i % (N / DISTINCT) ? 0
											: (odvgp_real)test_between(1, 2);
				Y[i] = (odvgp_real)test_normal();
			}
			if (!CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK)) continue;
			CHECK_STATUS(odvgp_get(m, "Z_beta", z, M, NULL), ODVGP_OK);
			if (new_rows(X, n, NULL, 0, 1) < M)
				CHECK_INT(new_rows(z, M, NULL, 0, 1), new_rows(X, n, NULL, 0, 1));
			else CHECK_INT(new_rows(z, M, NULL, 0, 1), M);
			odvgp_model_free(m);
		}
	free(X), free(Y);
}

/*  If the kernel is 0 or infinite at all points, no row explains another; initialisation still
    returns distinct rows of the data. */
TEST(a_start_returns_whatever_the_kernel_is)
{
	enum { N = 40, M = 6, MG = 9 };
	static const char *const expressions[] = {"linear(dims=0)", "rbf(dims=1) * matern32(dims=1)"};
	int k, beta;
	for (k = 0; k < 2; k++)
		for (beta = ODVGP_INIT_BETA_KMEANS; beta <= ODVGP_INIT_BETA_FARTHEST; beta++) {
			odvgp_config c = odvgp_config_defaults(N, 2, 1, M, MG);
			odvgp_real X[2 * N], Y[N], z[2 * MG];
			odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
			odvgp_model *m;
			int i;
			test_seed = 269;
			for (i = 0; i < N; i++) {
				X[2 * i] = 0, X[2 * i + 1] = (odvgp_real)test_between(-2, 2);
				Y[i] = (odvgp_real)((k ? BY_PRECISION(1e100, 1e15) : 1) *
									sin(2 * (double)X[2 * i + 1]));
			}
			c.layer[0].kernel = expressions[k];
			c.init.beta = (odvgp_init_beta)beta;
			c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL;
			c.isa = test_isa();
			if (!CHECK_SAY(odvgp_model_create(&m, &c, X, Y, NULL, &info) == ODVGP_OK, "%s: %s",
						expressions[k], info.text))
				continue;
			CHECK_STATUS(odvgp_get(m, "Z_gamma", z, 2 * MG, NULL), ODVGP_OK);
			CHECK_INT(new_rows(z, MG, NULL, 0, 2), MG);
			odvgp_model_free(m);
		}
}

/*  Every member has points to choose, under any name. */
TEST(every_member_can_be_started_by_the_kernel)
{
	static const struct {
		odvgp_mean_part mean;
		odvgp_cov_part cov;
		const char *gamma;
	} pair[] = {{ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, NULL},
			{ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, "Z_gamma"},
			{ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, "Z_gamma"},
			{ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE, "Z_alpha"},
			{ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, "Z_gamma"},
			{ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, NULL}};
	size_t k;
	for (k = 0; k < sizeof pair / sizeof *pair; k++) {
		odvgp_config c = odvgp_config_defaults(60, 2, 1, 8, pair[k].gamma ? 12 : 0);
		odvgp_real X[120], Y[60], z[40];
		odvgp_model *m;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		int i;
		test_seed = 268;
		for (i = 0; i < 120; i++) X[i] = (odvgp_real)test_between(-2, 2);
		for (i = 0; i < 60; i++) Y[i] = (odvgp_real)sin((double)X[2 * i] + (double)X[2 * i + 1]);
		c.layer[0].mean_part = pair[k].mean, c.layer[0].cov_part = pair[k].cov, c.optim.natgrad = 0;
		c.init.beta = ODVGP_INIT_BETA_GREEDY, c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL,
		c.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
		c.layer[0].kernel = "matern32(0.7)";
		c.isa = test_isa();
		if (!CHECK_SAY(odvgp_model_create(&m, &c, X, Y, NULL, &info) == ODVGP_OK, "member %d: %s",
					(int)k, info.text))
			continue;
		CHECK_STATUS(odvgp_get(m, "Z_beta", z, 16, NULL), ODVGP_OK);
		if (pair[k].gamma) CHECK_STATUS(odvgp_get(m, pair[k].gamma, z + 16, 24, NULL), ODVGP_OK);
		CHECK_INT(new_rows(z, pair[k].gamma ? 20 : 8, NULL, 0, 2), pair[k].gamma ? 20 : 8);
		CHECK_SAY(odvgp_fit(m, X, Y, 5, NULL, NULL) == ODVGP_OK, "member %d", (int)k);
		odvgp_model_free(m);
	}
}

/*  The sample is smaller than the data, and the work is cut into tasks. */
TEST(starts_have_the_same_bits_for_any_number_of_tasks)
{
	static const int counts[] = {0, 1, 7};
	int beta, t;
	for (beta = ODVGP_INIT_BETA_KMEANS; beta <= ODVGP_INIT_BETA_FARTHEST; beta++) {
		odvgp_real *first = NULL;
		for (t = 0; t < 3; t++) {
			odvgp_config c = random_config(4500, 2, 1, 70, 90);
			fixture a;
			odvgp_real *z;
			size_t n = (size_t)(160 * 2);
			test_seed = 266;
			c.init.beta = (odvgp_init_beta)beta;
			c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL;
			c.threads.run = counts[t] ? run_mixed : NULL;
			c.threads.count = counts[t];
			a = make_random(&c, random_kernels[beta]);
			CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			z = (odvgp_real *)realloc(values(&a, "Z_beta"), n * sizeof *z);
			CHECK_STATUS(odvgp_get(a.m, "Z_gamma", z + 140, 180, NULL), ODVGP_OK);
			CHECK_INT(new_rows(z, 160, NULL, 0, 2), 160);
			if (!first) first = z;
			else {
				CHECK_SAY(!memcmp(z, first, n * sizeof *z), "method %d: %d tasks give other bits",
						beta, counts[t]);
				free(z);
			}
			drop(&a);
		}
		free(first);
	}
}

/*  Ulapane's values use the base kernel's own columns, apply only where the expression gives no
    number, and are 1 where the data do not determine them. */
TEST(gaps_and_steps_make_hyperparameters)
{
	/* The gaps are 1, 2, 1 in the first column, and 2, 2 in the second. */
	static const double x[5][2] = {{0, 3}, {4, 3}, {1, 3}, {1, 5}, {3, 1}};
	/* In the order of x0 the first target is 1 3 3 6 4, in the order of x1 it is 6 1 4 3 3. */
	static const double y[5][2] = {{1, 0}, {4, 0}, {3, 0}, {3, 0}, {6, 2}};
	odvgp_config c = odvgp_config_defaults(5, 2, 2, 2, 0);
	odvgp_real X[10], Y[10], v, both[2];
	odvgp_model *m;
	int i;
	double d_y[2][2] = {{7.0 / 3, 3}, {2, 2}}, variance, all;
	for (i = 0; i < 10; i++) X[i] = (odvgp_real)x[i / 2][i % 2], Y[i] = (odvgp_real)y[i / 2][i % 2];
	c.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
	c.isa = test_isa();
	c.layer[0].kernel = "rbf(dims=0) * rbf(7, dims=1) + rbf(ard, variance=3)";
	CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(m, "kernel.0.lengthscale", &v, 1, NULL), ODVGP_OK);
	CHECK_NEAR(v, 4.0 / 3, 1e-5);
	variance = (d_y[0][0] * d_y[0][0] + d_y[1][0] * d_y[1][0]) / 2;
	CHECK_STATUS(odvgp_get(m, "kernel.0.variance", &v, 1, NULL), ODVGP_OK);
	CHECK_NEAR(v, variance, 1e-4);
	CHECK_STATUS(odvgp_get(m, "kernel.1.lengthscale", &v, 1, NULL), ODVGP_OK);
	CHECK_NEAR(v, 7, 1e-5);
	CHECK_STATUS(odvgp_get(m, "kernel.1.variance", &v, 1, NULL), ODVGP_OK);
	CHECK_NEAR(v, (d_y[0][1] * d_y[0][1] + d_y[1][1] * d_y[1][1]) / 2, 1e-4);
	/* The last of three base kernels gets ten times the mean gap. */
	CHECK_STATUS(odvgp_get(m, "kernel.2.lengthscale", both, 2, NULL), ODVGP_OK);
	CHECK_NEAR(both[0], 10 * (4.0 / 3 + 2) / 2, 1e-4);
	CHECK(both[0] == both[1]);
	CHECK_STATUS(odvgp_get(m, "kernel.2.variance", &v, 1, NULL), ODVGP_OK);
	CHECK_NEAR(v, 3, 1e-5);
	odvgp_model_free(m);
	c.layer[0].kernel = "rbf";
	/* Constant targets, constant inputs, or both: */
	for (i = 0; i < 3; i++) {
		odvgp_real flat[10] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
		CHECK_STATUS(
				odvgp_model_create(&m, &c, i ? flat : X, i == 1 ? Y : flat, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_get(m, "kernel.0.lengthscale", &v, 1, NULL), ODVGP_OK);
		CHECK_NEAR(v, i ? 1 : 5.0 / 3, 1e-5);
		CHECK_STATUS(odvgp_get(m, "kernel.0.variance", &v, 1, NULL), ODVGP_OK);
		CHECK_NEAR(v, 1, 1e-5);
		odvgp_model_free(m);
	}
	/* Lengthscales have the units of x, and variances those of y squared. */
	CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(m, "kernel.0.variance", &v, 1, NULL), ODVGP_OK);
	all = (double)v;
	odvgp_model_free(m);
	for (i = 0; i < 10; i++) X[i] *= 8, Y[i] *= 4;
	CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(m, "kernel.0.variance", &v, 1, NULL), ODVGP_OK);
	CHECK_NEAR(v, 16 * all, 1e-5 * 16 * all);
	CHECK_STATUS(odvgp_get(m, "kernel.0.lengthscale", &v, 1, NULL), ODVGP_OK);
	CHECK_NEAR(v, 8 * 5.0 / 3, 1e-4);
	odvgp_model_free(m);
}

/*  A second initialisation is like the first: it discards what Adam has accumulated, and works
    even if q is not finite. */
TEST(a_second_start_is_like_the_first)
{
	int natgrad, coords;
	for (natgrad = 0; natgrad < 2; natgrad++)
		for (coords = 0; coords < 3; coords++) {
			odvgp_config c = config(20, 2, 1, 4, 5);
			fixture a, b;
			odvgp_real *va, *vb;
			/* All hyperparameters are initialised from the data. */
			c.layer[0].kernel = "rbf";
			c.lik.noise_variance = 0;
			c.optim.batch = 20;
			c.optim.gamma_batch = 0;
			c.optim.natgrad = natgrad;
			c.reproduce.gamma_coords = (odvgp_gamma_coords)coords;
			c.reproduce.parametrisation = (odvgp_parametrisation)coords;
			test_seed = 363;
			a = make(&c);
			test_seed = 363;
			b = make(&c);
			CHECK_STATUS(odvgp_fit(b.m, a.X, a.Y, 7, NULL, NULL), ODVGP_OK);
			/* Scale the steps as if some had been undone. */
			b.m->state.step_scale = 0.25;
			b.m->par.theta[odvgp_slot_find(b.m, "q_sqrt")->offset] = (odvgp_real)NAN;
			gp__touch(b.m, odvgp_slot_count(b.m) - 1);
			CHECK_STATUS(odvgp_init_data(b.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_INT(odvgp_steps_done(b.m), 7);
			CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 9, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_fit(b.m, a.X, a.Y, 9, NULL, NULL), ODVGP_OK);
			va = all_values(a.m), vb = all_values(b.m);
			CHECK_SAY(!memcmp(va, vb, (size_t)odvgp_param_count(a.m) * sizeof *va),
					"natgrad %d, coordinates %d: differ by %.3g", natgrad, coords,
					test_max_diff(va, vb, odvgp_param_count(a.m)));
			free(va), free(vb);
			drop(&a);
			drop(&b);
		}
}

/*  If the product of variances overflows, q is still initialised with finite values, and the
    first step reports the error. */
TEST(q_starts_at_usable_values)
{
	static const odvgp_cov_part parts[] = {ODVGP_COV_PART_INVERSE, ODVGP_COV_PART_DIAGONAL};
	static const double size[] = {BY_PRECISION(1e200, 1e30), BY_PRECISION(1e-200, 1e-30)};
	int i;
	for (i = 0; i < 4; i++) {
		odvgp_config c = config(20, 2, 2, 4, i % 2 ? 0 : 3);
		fixture a;
		odvgp_real *v, variance = (odvgp_real)size[i / 2], e = 7;
		int k, when;
		ptrdiff_t j;
		test_seed = 357;
		c.layer[0].kernel = "rbf(1) * matern32(2)";
		c.layer[0].mean_part = ODVGP_MEAN_PART_FREE;
		c.layer[0].cov_part = parts[i % 2];
		c.optim.natgrad = 0;
		a = make(&c);
		CHECK_STATUS(odvgp_set(a.m, "kernel.0.variance", &variance, 1, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set(a.m, "kernel.1.variance", &variance, 1, NULL), ODVGP_OK);
		for (when = 0; when < 2; when++) {
			if (!when) CHECK_STATUS(odvgp_init_q(a.m, NULL), ODVGP_OK);
			else {
				for (j = 0; j < 40; j++) a.Y[j] *= (odvgp_real)sqrt(size[i / 2]);
				CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			}
			v = all_values(a.m);
			CHECK_SAY(all_finite(v, odvgp_param_count(a.m)), "part %d, size %g: not finite",
					(int)parts[i % 2], size[i / 2]);
			for (k = 0; k < odvgp_slot_count(a.m); k++)
				for (j = 0; odvgp_slot_at(a.m, k)->positive && j < odvgp_slot_at(a.m, k)->count;
						j++)
					CHECK_SAY(v[odvgp_slot_at(a.m, k)->offset + j] > 0, "part %d, size %g: %s is 0",
							(int)parts[i % 2], size[i / 2], odvgp_slot_at(a.m, k)->name);
			free(v);
		}
		if (i < 2) {
			REFUSED(odvgp_elbo(a.m, a.X, a.Y, 20, &e, NULL, NULL, &info), ODVGP_E_NAN);
			CHECK(e == 7);
		}
		drop(&a);
	}
}

/*  Initialisation fails if q_sqrt must be the factor of a singular kernel matrix. The model
    keeps its previous state. */
TEST(a_start_that_fails_moves_nothing)
{
	int param, when;
	/* Test a trained model and a new one. */
	for (param = 0; param < 3; param++)
		for (when = 0; when < 2; when++) {
			odvgp_config c = config(20, 2, 2, 4, 5);
			fixture a;
			size_t bytes, again;
			void *file, *now;
			odvgp_real *same = NEW(odvgp_real, 40), length = (odvgp_real)0.3;
			int i;
			test_seed = 362;
			c.reproduce.parametrisation = (odvgp_parametrisation)param;
			c.layer[0].kernel = "rbf";
			c.lik.noise_variance = 0;
			c.jitter.absolute = c.jitter.relative = 0, c.jitter.max = TINY;
			a = make(&c);
			if (!when) CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_set(a.m, "kernel.0.lengthscale", &length, 1, NULL), ODVGP_OK);
			if (!when)
				CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, 20, (odvgp_real)0.1, NULL, NULL),
						ODVGP_OK);
			file = save_file(a.m, NULL, "", &bytes);
			for (i = 0; i < 40; i++) same[i] = (odvgp_real)1.5;
			/* Whitened q needs no factor yet. */
			if (param == ODVGP_PARAMETRISATION_WHITENED) {
				CHECK_STATUS(odvgp_init_data(a.m, same, a.Y, NULL, NULL), ODVGP_OK);
			} else {
				REFUSED(odvgp_init_data(a.m, same, a.Y, NULL, &info), ODVGP_E_NOT_PD);
				now = save_file(a.m, NULL, "", &again);
				CHECK_SAY(again == bytes && !memcmp(now, file, bytes), "param %d: something moved",
						param);
				free(now);
				/* The same holds if only q is initialised. */
				CHECK_STATUS(odvgp_set(a.m, "Z_beta", same, 8, NULL), ODVGP_OK);
				{
					odvgp_real *before = all_values(a.m), *after;
					REFUSED(odvgp_init_q(a.m, &info), ODVGP_E_NOT_PD);
					after = all_values(a.m);
					CHECK_BITS(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before);
					free(before), free(after);
				}
			}
			CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL), ODVGP_OK);
			free(file), free(same);
			drop(&a);
		}
}

/*  If q is the optimum before the initialisation, it still is after one that fails: the model
    can be frozen. */
TEST(a_start_that_fails_keeps_the_best_q)
{
	odvgp_config c = config(20, 2, 2, 4, 0);
	fixture a;
	odvgp_real *same = NEW(odvgp_real, 40);
	size_t bytes, work;
	void *block, *again, *room;
	int i;
	c.reproduce.parametrisation = ODVGP_PARAMETRISATION_PRIMAL,
	c.objective = ODVGP_OBJECTIVE_COLLAPSED, c.optim.natgrad = 0, c.optim.batch = 20;
	c.layer[0].mean_part = ODVGP_MEAN_PART_BETA, c.layer[0].cov_part = ODVGP_COV_PART_DENSE;
	c.jitter.absolute = c.jitter.relative = 0, c.jitter.max = TINY;
	a = make(&c);
	room = test_alloc(work = odvgp_fit_q_scratch(a.m, NULL));
	CHECK_STATUS(odvgp_fit_q(a.m, a.X, a.Y, NULL, room, work, NULL), ODVGP_OK);
	bytes = odvgp_predictor_size(a.m, NULL);
	block = test_alloc(bytes), again = test_alloc(bytes);
	CHECK_STATUS(odvgp_freeze(a.m, NULL, block, bytes, NULL), ODVGP_OK);
	for (i = 0; i < 40; i++) same[i] = (odvgp_real)1.5;
	REFUSED(odvgp_init_data(a.m, same, a.Y, NULL, &info), ODVGP_E_NOT_PD);
	CHECK_STATUS(odvgp_freeze(a.m, NULL, again, bytes, NULL), ODVGP_OK);
	CHECK_BITS(block, again, bytes);
	free(room), free(block), free(again), free(same);
	drop(&a);
}

/*  The factor of Kb needs a raised jitter, and that of C needs more than is allowed. The call
    fails, and the jitter returns to its previous value in every node that uses it. */
TEST(a_start_that_fails_takes_the_jitter_back)
{
	odvgp_config c = config(20, 2, 1, 8, 12);
	fixture a, b;
	odvgp_real z[16], g[24], apart[24], one, two;
	int i;
	c.layer[0].kernel = "rbf";
	c.reproduce.parametrisation = ODVGP_PARAMETRISATION_PRIMAL;
	c.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS;
	c.layer[0].cov_part = ODVGP_COV_PART_INVERSE;
	c.optim.natgrad = 0;
	test_seed = 363;
	a = make(&c);
	for (i = 0; i < 16; i++) z[i] = (odvgp_real)test_between(-4, 4);
	for (i = 0; i < 24; i++) g[i] = apart[i] = (odvgp_real)test_between(-4, 4);
	z[2] = z[0], z[3] = z[1];
	/* Eleven points coincide. */
	for (i = 0; i < 20; i++) g[i] = g[20 + i % 2];
	a.m->tape.jitter_absolute = a.m->tape.jitter_relative = 0;
	/* 16 eps per row is enough for 8 points, not for 12. */
	a.m->tape.jitter_limit = 160 * (odvgp_real)EPS;
	CHECK_STATUS(odvgp_set(a.m, "Z_beta", z, 16, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set(a.m, "Z_gamma", g, 24, NULL), ODVGP_OK);
	REFUSED(odvgp_init_q(a.m, &info), ODVGP_E_NOT_PD);
	CHECK(odvgp_model_events(a.m).jitter_raised == 0 && a.m->unit[0].jitter[0].raised == 0);
	CHECK_STATUS(odvgp_set(a.m, "Z_gamma", apart, 24, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &one, NULL, NULL, NULL), ODVGP_OK);
	/* A second model never makes that call. */
	test_seed = 363;
	b = make(&c);
	b.m->tape.jitter_absolute = b.m->tape.jitter_relative = 0;
	b.m->tape.jitter_limit = a.m->tape.jitter_limit;
	CHECK_STATUS(odvgp_set(b.m, "Z_beta", z, 16, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set(b.m, "Z_gamma", apart, 24, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_elbo(b.m, b.X, b.Y, 20, &two, NULL, NULL, NULL), ODVGP_OK);
	CHECK_SAY(one == two && a.m->unit[0].jitter[0].raised == b.m->unit[0].jitter[0].raised &&
					  b.m->unit[0].jitter[0].raised > 0,
			"bounds %.17g and %.17g, raised by %.3g and %.3g", (double)one, (double)two,
			(double)a.m->unit[0].jitter[0].raised, (double)b.m->unit[0].jitter[0].raised);
	CHECK_INT(odvgp_model_events(a.m).jitter_raised, odvgp_model_events(b.m).jitter_raised);
	drop(&a);
	drop(&b);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(a_start_from_the_data);
	RUN(hyperparameters_that_are_not_given_come_from_the_data);
	RUN(lengthscales_spread_where_base_kernels_share_columns);
	RUN(training_starts_at_the_prior);
	RUN(inducing_points_are_rows_that_differ);
	RUN(points_are_chosen_as_the_methods_say);
	RUN(units_of_columns_do_not_matter);
	RUN(greedy_ends_where_all_is_explained);
	RUN(centres_are_means_of_all_rows_seen);
	RUN(centres_differ_while_there_are_rows_that_do);
	RUN(a_start_returns_whatever_the_kernel_is);
	RUN(every_member_can_be_started_by_the_kernel);
	RUN(starts_have_the_same_bits_for_any_number_of_tasks);
	RUN(gaps_and_steps_make_hyperparameters);
	RUN(a_second_start_is_like_the_first);
	RUN(q_starts_at_usable_values);
	RUN(a_start_that_fails_moves_nothing);
	RUN(a_start_that_fails_keeps_the_best_q);
	RUN(a_start_that_fails_takes_the_jitter_back);
	return test_end();
}

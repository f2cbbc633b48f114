/*  Predictions: their units, chunks of rows, samples, bad arguments; and data, inputs and models
    that are difficult but legal, whose predictions are finite or have an error status. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"

TEST(scales_are_undone)
{
	odvgp_config c = random_config(30, 2, 2, 5, 6);
	fixture a;
	odvgp_real xm[2] = {(odvgp_real)3.5, (odvgp_real)-0.25}, xs[2] = {2, (odvgp_real)0.5},
			   ym[2] = {10, -7}, ys[2] = {(odvgp_real)1.5, (odvgp_real)0.25}, raw[60], Yraw[60],
			   m0[60], v0[60], y0[60], l0[30], m1[60], v1[60], y1[60], l1[30],
			   *c0 = NEW(odvgp_real, 1800), *c1 = NEW(odvgp_real, 1800);
	odvgp_scales scales = {xm, xs, ym, ys};
	odvgp_server servers[2], *p0 = &servers[0], *p1 = &servers[1];
	size_t bytes, need;
	void *b0, *b1, *scratch;
	ptrdiff_t i, q;
	test_seed = 250;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	a = make_random(&c, random_kernels[0]);
	bytes = odvgp_predictor_size(a.m, NULL);
	b0 = test_alloc(bytes), b1 = test_alloc(bytes);
	CHECK_STATUS(serve(a.m, NULL, b0, bytes, p0, NULL), ODVGP_OK);
	CHECK_STATUS(serve(a.m, &scales, b1, bytes, p1, NULL), ODVGP_OK);
	CHECK_INT(p1->D, 2);
	CHECK_INT(p1->P, 2);
	for (i = 0; i < 60; i++) {
		raw[i] = xm[i % 2] + xs[i % 2] * a.X[i];
		Yraw[i] = ym[i % 2] + ys[i % 2] * a.Y[i];
	}
	need = odvgp_predict_scratch(p0, 30, NULL);
	CHECK(need == odvgp_predict_scratch(p1, 30, NULL));
	scratch = test_alloc(need);
	CHECK_STATUS(odvgp_predict(p0, a.X, 30, m0, v0, scratch, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_y(p0, a.X, 30, NULL, y0, scratch, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict(p1, raw, 30, m1, v1, scratch, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_y(p1, raw, 30, NULL, y1, scratch, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_logp(p0, a.X, a.Y, 30, l0, scratch, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_logp(p1, raw, Yraw, 30, l1, scratch, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_cov(p0, a.X, 30, NULL, c0, scratch, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_cov(p1, raw, 30, NULL, c1, scratch, need, NULL), ODVGP_OK);
	for (q = 0; q < 2; q++)
		for (i = 0; i < 30; i++) {
			double s = (double)ys[q], logp = 0;
			ptrdiff_t k = q * 30 + i, j;
			CHECK_NEAR(m1[k], (double)ym[q] + s * (double)m0[k], 400 * EPS * 10);
			CHECK_NEAR(v1[k], s * s * (double)v0[k], 400 * EPS * s * s);
			CHECK_NEAR(y0[k], (double)v0[k] + 0.15, 40 * EPS);
			CHECK_NEAR(y1[k], s * s * (double)y0[k], 400 * EPS * s * s);
			for (j = 0; j < 30; j++) {
				CHECK_NEAR(c1[k * 30 + j], s * s * (double)c0[k * 30 + j], 400 * EPS * s * s);
				/* The covariance is symmetric. */
				CHECK(c0[k * 30 + j] == c0[(q * 30 + j) * 30 + i]);
			}
			CHECK_NEAR(c0[k * 30 + i], v0[k], 400 * EPS);
			if (q) continue;
			/* log N(y; mean, var_y), summed over outputs. */
			for (j = 0; j < 2; j++) {
				double v = (double)y0[j * 30 + i],
					   d = (double)a.Y[i * 2 + j] - (double)m0[j * 30 + i];
				logp -= 0.5 * (log(2 * 3.14159265358979323846 * v) + d * d / v);
			}
			CHECK_NEAR(l0[i], logp, 400 * EPS * (1 + fabs(logp)));
			CHECK_NEAR(l1[i], logp - log(1.5) - log(0.25), 4000 * EPS * (1 + fabs(logp)));
		}
	free(b0), free(b1), free(scratch), free(c0), free(c1);
	drop(&a);
}

/*  Scratch may have room for 1, 2, 7 or 100 rows. */
TEST(turns_do_not_change_predictions)
{
	static const ptrdiff_t rows_at_once[] = {1, 2, 7, 100, 600};
	odvgp_config c = random_config(40, 3, 2, 30, 70);
	fixture a;
	const ptrdiff_t n = 550;
	odvgp_real *X = NEW(odvgp_real, n * 3), *Y = NEW(odvgp_real, n * 2),
			   *m0 = NEW(odvgp_real, n * 2), *v0 = NEW(odvgp_real, n * 2),
			   *m1 = NEW(odvgp_real, n * 2), *v1 = NEW(odvgp_real, n * 2), *l0 = NEW(odvgp_real, n),
			   *l1 = NEW(odvgp_real, n);
	odvgp_server server, *p = &server;
	size_t bytes, need;
	void *block, *scratch;
	ptrdiff_t i, t, rows;
	test_seed = 251;
	a = make_random(&c, random_kernels[3]);
	for (i = 0; i < n * 3; i++) X[i] = (odvgp_real)test_between(-2, 2);
	for (i = 0; i < n * 2; i++) Y[i] = (odvgp_real)test_between(-2, 2);
	bytes = odvgp_predictor_size(a.m, NULL);
	block = test_alloc(bytes);
	CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
	for (t = 0; t < 5; t++) {
		need = odvgp_predict_scratch(p, rows_at_once[t], NULL);
		scratch = test_alloc(need);
		CHECK_STATUS(
				odvgp_predict(p, X, n, t ? m1 : m0, t ? v1 : v0, scratch, need, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_predict_logp(p, X, Y, n, t ? l1 : l0, scratch, need, NULL), ODVGP_OK);
		if (t) {
			CHECK(test_max_diff(m0, m1, n * 2) <= 500 * EPS * (1 + test_max_abs(m0, n * 2)));
			CHECK(test_max_diff(v0, v1, n * 2) <= 2000 * EPS * test_max_abs(v0, n * 2));
			CHECK(test_max_diff(l0, l1, n) <= 4000 * EPS * test_max_abs(l0, n));
		}
		/* Few rows use another code path. */
		for (rows = 1; rows <= 9; rows += t == 4 ? 1 : 9) {
			CHECK_STATUS(odvgp_predict(p, X, rows, m1, v1, scratch, need, NULL), ODVGP_OK);
			for (i = 0; i < rows; i++) {
				CHECK_NEAR(m1[rows + i], m0[n + i], 500 * EPS * (1 + test_max_abs(m0, n * 2)));
				CHECK_NEAR(v1[rows + i], v0[n + i], 2000 * EPS * test_max_abs(v0, n * 2));
			}
		}
		/* Ask for only the mean, then for only the variance. */
		CHECK_STATUS(odvgp_predict(p, X, 20, m1, NULL, scratch, need, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_predict(p, X, 20, NULL, v1, scratch, need, NULL), ODVGP_OK);
		for (i = 0; i < 20; i++) {
			CHECK_NEAR(m1[i], m0[i], 500 * EPS * (1 + test_max_abs(m0, n * 2)));
			CHECK_NEAR(v1[i], v0[i], 2000 * EPS * test_max_abs(v0, n * 2));
		}
		free(scratch);
	}
	CHECK_STATUS(odvgp_predict(p, NULL, 0, NULL, NULL, NULL, 0, NULL), ODVGP_OK);
	free(X), free(Y), free(m0), free(v0), free(m1), free(v1), free(l0), free(l1), free(block);
	drop(&a);
}

TEST(samples_have_the_predicted_moments)
{
	enum { n = 7, S = 6000 };
	odvgp_config c = random_config(30, 2, 2, 5, 6);
	fixture a;
	odvgp_real X[2 * n], mean[2 * n], cov[2 * n * n];
	odvgp_real *f = NEW(odvgp_real, S * 2 * n), *g = NEW(odvgp_real, S * 2 * n);
	odvgp_server server, *p = &server;
	size_t bytes, need;
	void *block, *scratch;
	ptrdiff_t i, j, q, s;
	test_seed = 252;
	a = make_random(&c, random_kernels[0]);
	for (i = 0; i < 2 * n; i++) X[i] = (odvgp_real)test_between(-2, 2);
	/* Row 2 equals row 0, so the covariance is singular. */
	X[4] = X[0], X[5] = X[1];
	bytes = odvgp_predictor_size(a.m, NULL);
	block = test_alloc(bytes);
	CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
	need = odvgp_sample_scratch(p, n, NULL);
	scratch = test_alloc(need);
	CHECK_STATUS(odvgp_predict_cov(p, X, n, mean, cov, scratch, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_sample(p, X, n, &(odvgp_draws){S, 9}, f, scratch, need, NULL), ODVGP_OK);
	for (q = 0; q < 2; q++)
		for (i = 0; i < n; i++)
			for (j = 0; j <= i; j++) {
				double m = 0, v = 0, si = sqrt((double)cov[(q * n + i) * n + i]),
					   sj = sqrt((double)cov[(q * n + j) * n + j]);
				for (s = 0; s < S; s++) {
					double x = (double)f[(s * 2 + q) * n + i] - (double)mean[q * n + i],
						   y = (double)f[(s * 2 + q) * n + j] - (double)mean[q * n + j];
					m += x / S;
					v += x * y / S;
				}
				CHECK_NEAR(m, 0, 4.5 * si / sqrt((double)S));
				CHECK_NEAR(
						v, cov[(q * n + i) * n + j], 4.5 * sqrt(2.0) * si * sj / sqrt((double)S));
			}
	/* Outputs are independent of each other, and so are their samples. */
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			double across = 0, along = 0, si = sqrt((double)cov[i * n + i]),
				   sj = sqrt((double)cov[j * n + j]), other = sqrt((double)cov[(n + j) * n + j]);
			for (s = 0; s + 1 < S; s++) {
				double x = (double)f[s * 2 * n + i] - (double)mean[i];
				across += x * ((double)f[(s * 2 + 1) * n + j] - (double)mean[n + j]) / S;
				along += x * ((double)f[(s + 1) * 2 * n + j] - (double)mean[j]) / S;
			}
			CHECK_NEAR(across, 0, 4.5 * si * other / sqrt((double)S));
			CHECK_NEAR(along, 0, 4.5 * si * sj / sqrt((double)S));
		}
	/* Equal rows have equal samples. */
	for (s = 0; s < 50; s++) CHECK_NEAR(f[s * 2 * n], f[s * 2 * n + 2], BY_PRECISION(1e-6, 2e-2));
	CHECK_STATUS(odvgp_sample(p, X, n, &(odvgp_draws){3, 9}, g, scratch, need, NULL), ODVGP_OK);
	/* Sample s depends only on the seed and on s. */
	CHECK_BITS(f, g, 3 * 2 * n * sizeof *f);
	CHECK_STATUS(odvgp_sample(p, X, n, &(odvgp_draws){3, 10}, g, scratch, need, NULL), ODVGP_OK);
	CHECK(memcmp(f, g, 3 * 2 * n * sizeof *f) != 0);
	free(f), free(g), free(block), free(scratch);
	drop(&a);
}

/*  The prior variance of one point is a million times that of another. Samples of both have the
    predicted variance. */
TEST(samples_of_points_of_unlike_variance)
{
	enum { n = 12, S = 3000 };
	odvgp_config c = random_config(20, 2, 1, 3, 2);
	fixture a;
	odvgp_real X[2 * n], mean[n], var[n], *f = NEW(odvgp_real, S * n);
	void *block, *scratch;
	odvgp_server server, *p = &server;
	size_t bytes, need;
	ptrdiff_t i, k;
	test_seed = 224;
	a = make_random(&c, "polynomial + white + rbf");
	for (i = 0; i < n; i++) {
		X[2 * i] = (odvgp_real)(i < 6 ? 0.1 * (double)i : 40 + 3 * (double)i);
		X[2 * i + 1] = (odvgp_real)(i < 6 ? -0.2 : 30);
	}
	bytes = odvgp_predictor_size(a.m, NULL);
	block = test_alloc(bytes);
	CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
	need = odvgp_sample_scratch(p, n, NULL);
	if (odvgp_predict_scratch(p, n, NULL) > need) need = odvgp_predict_scratch(p, n, NULL);
	scratch = test_alloc(need);
	CHECK_STATUS(odvgp_predict(p, X, n, mean, var, scratch, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_sample(p, X, n, &(odvgp_draws){S, 5}, f, scratch, need, NULL), ODVGP_OK);
	CHECK(var[n - 1] > 1e5 * (double)var[0]);
	for (i = 0; i < n; i++) {
		double sum = 0, squares = 0, v;
		for (k = 0; k < S; k++) sum += (double)f[k * n + i] / S;
		for (k = 0; k < S; k++)
			squares += ((double)f[k * n + i] - sum) * ((double)f[k * n + i] - sum) / (S - 1);
		v = (double)var[i];
		CHECK_SAY(fabs(squares / v - 1) < 6 * sqrt(2.0 / S),
				"point %ld: variance %.6g, of samples %.6g", (long)i, v, squares);
	}
	free(f), free(block), free(scratch);
	drop(&a);
}

TEST(predict_once_is_freeze_and_predict)
{
	odvgp_config c = random_config(30, 2, 2, 5, 6);
	fixture a;
	odvgp_real m0[60], v0[60], m1[60] = {0}, var[60] = {0}, var_y[60] = {0}, noise[1];
	test_seed = 253;
	a = make_random(&c, random_kernels[0]);
	predict(&a, a.X, 30, m0, v0, NULL);
	CHECK_STATUS(odvgp_predict_once(a.m, a.X, 30, m1, var, var_y, NULL), ODVGP_OK);
	CHECK_BITS(m0, m1, sizeof m0);
	CHECK_STATUS(odvgp_get(a.m, "noise_variance", noise, 1, NULL), ODVGP_OK);
	for (int i = 0; i < 60; i++) {
		CHECK_BITS(&var[i], &v0[i], sizeof *var);
		CHECK_NEAR(var_y[i], v0[i] + noise[0], 8 * EPS * (v0[i] + noise[0]));
	}
	CHECK_STATUS(odvgp_predict_once(a.m, a.X, 30, m1, NULL, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_once(a.m, a.X, 0, m1, var, var_y, NULL), ODVGP_OK);
	drop(&a);
}

/*  Softmax's probabilities of a row add up to 1, also where q is wide and the rules of the classes
    differ by percents; robust-max's do as far as its rule is exact. Either output alone has the
    same bits. */
TEST(probabilities_of_classes_add_up_to_one)
{
	enum { MOST = 6, N = 70, ALL = MOST * N };
	static const struct {
		odvgp_likelihood kind;
		int K;
	} rows[] = {{ODVGP_LIKELIHOOD_SOFTMAX, 3}, {ODVGP_LIKELIHOOD_SOFTMAX, 4},
			{ODVGP_LIKELIHOOD_SOFTMAX, MOST}, {ODVGP_LIKELIHOOD_ROBUSTMAX, 4}};
	odvgp_real p[ALL], v[ALL], alone[ALL];
	const int n = test_size(N, 20);
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		odvgp_config c = random_config(N, 2, rows[r].K, 5, 6);
		odvgp_server server;
		c.lik.kind = rows[r].kind;
		if (rows[r].K == 4) c.lik.nodes = 10;
		test_seed = 411 + (uint64_t)r;
		fixture a = make_random(&c, "rbf");
		set_number(a.m, "kernel.0.variance", 20);
		size_t bytes = odvgp_predictor_size(a.m, NULL);
		void *block = NEW(unsigned char, bytes);
		CHECK_STATUS(serve(a.m, NULL, block, bytes, &server, NULL), ODVGP_OK);
		size_t need = odvgp_predict_scratch(&server, n, NULL);
		void *scratch = NEW(unsigned char, need);
		CHECK_STATUS(odvgp_predict_y(&server, a.X, n, p, v, scratch, need, NULL), ODVGP_OK);
		for (int i = 0; i < n; i++) {
			double sum = 0;
			for (int k = 0; k < rows[r].K; k++) {
				double q = (double)p[k * n + i];
				sum += q;
				CHECK(q >= 0 && q <= 1);
				CHECK_NEAR(v[k * n + i], q - q * q, 4 * EPS);
			}
			CHECK_NEAR(sum, 1, rows[r].kind == ODVGP_LIKELIHOOD_SOFTMAX ? 16 * EPS : 0.05);
		}
		CHECK_STATUS(odvgp_predict_y(&server, a.X, n, alone, NULL, scratch, need, NULL), ODVGP_OK);
		CHECK_BITS(p, alone, (size_t)(rows[r].K * n) * sizeof *p);
		CHECK_STATUS(odvgp_predict_y(&server, a.X, n, NULL, alone, scratch, need, NULL), ODVGP_OK);
		CHECK_BITS(v, alone, (size_t)(rows[r].K * n) * sizeof *p);
		free(block), free(scratch);
		drop(&a);
	}
}

TEST(bad_arguments_of_predictions_are_refused)
{
	odvgp_config c = config(10, 2, 2, 3, 4);
	fixture a;
	size_t bytes, need, one_row;
	void *block, *scratch;
	odvgp_server servers[2], *p = &servers[0], *q = &servers[1];
	odvgp_real X[20], Y[20], *mean = NEW(odvgp_real, 20), *var = NEW(odvgp_real, 20),
							 *cov = NEW(odvgp_real, 200), x;
	odvgp_scales scales = {NULL, NULL, NULL, NULL};
	int k;
	test_seed = 303;
	a = make(&c);
	bytes = odvgp_predictor_size(a.m, NULL);
	block = test_alloc(bytes);
	CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
	servers[1] = servers[0];
	{
		void *other = test_alloc(bytes);
		memset(other, PATTERN, bytes);
		REFUSED(serve(NULL, NULL, other, bytes, q, &info), ODVGP_E_ARG);
		REFUSED(serve(a.m, NULL, NULL, bytes, q, &info), ODVGP_E_ARG);
		/* This address is not aligned for a real. */
		REFUSED(odvgp_freeze(a.m, NULL, (char *)other + 2, bytes, &info), ODVGP_E_ARG);
		REFUSED(serve(a.m, NULL, other, bytes - 1, q, &info), ODVGP_E_MEMORY);
		REFUSED(serve(a.m, NULL, other, 0, q, &info), ODVGP_E_MEMORY);
		for (k = 0; k < 4; k++) {
			static const double bad[] = {0, -1, NAN, HUGE_VAL};
			odvgp_real s[2] = {1, (odvgp_real)bad[k]};
			scales.x_scale = s;
			REFUSED(serve(a.m, &scales, other, bytes, q, &info), ODVGP_E_ARG);
			scales.x_scale = NULL;
			scales.y_scale = s;
			REFUSED(serve(a.m, &scales, other, bytes, q, &info), ODVGP_E_ARG);
			scales.y_scale = NULL;
			if (k < 2) continue;
			scales.x_mean = s;
			REFUSED(serve(a.m, &scales, other, bytes, q, &info), ODVGP_E_ARG);
			scales.x_mean = NULL;
			scales.y_mean = s;
			REFUSED(serve(a.m, &scales, other, bytes, q, &info), ODVGP_E_ARG);
			scales.y_mean = NULL;
		}
		CHECK(!memcmp(p, q, sizeof *p) && untouched(other, bytes));
		free(other);
	}
	one_row = odvgp_predict_scratch(p, 1, NULL);
	need = odvgp_predict_scratch(p, 10, NULL);
	CHECK(odvgp_predict_scratch(p, 0, NULL) == 0 && odvgp_predict_scratch(p, -1, NULL) == 0 &&
			odvgp_sample_scratch(p, 0, NULL) == 0);
	/* No size_t can hold the size. */
	CHECK(odvgp_predict_scratch(p, PTRDIFF_MAX, NULL) == 0 &&
			odvgp_sample_scratch(p, PTRDIFF_MAX, NULL) == 0);
	scratch = test_alloc(odvgp_sample_scratch(p, 10, NULL));
	memcpy(X, a.X, sizeof X);
	memcpy(Y, a.Y, sizeof Y);
	memset(mean, PATTERN, 20 * sizeof *mean), memset(var, PATTERN, 20 * sizeof *var),
			memset(cov, PATTERN, 200 * sizeof *cov);
	REFUSED(odvgp_predict(NULL, X, 10, mean, var, scratch, need, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict(p, NULL, 10, mean, var, scratch, need, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict(p, X, -1, mean, var, scratch, need, &info), ODVGP_E_ARG);
	CHECK(odvgp_predict(p, X, PTRDIFF_MAX, mean, var, scratch, need, NULL) != ODVGP_OK);
	REFUSED(odvgp_predict(p, X, 10, mean, var, NULL, need, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict(p, X, 10, mean, var, scratch, one_row - 1, &info), ODVGP_E_MEMORY);
	REFUSED(odvgp_predict(p, X, 10, mean, var, scratch, 0, &info), ODVGP_E_MEMORY);
	REFUSED(odvgp_predict_cov(NULL, X, 10, mean, cov, scratch, need, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict_cov(p, NULL, 10, mean, cov, scratch, need, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict_cov(p, X, 10, mean, NULL, scratch, need, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict_cov(p, X, 10, mean, cov, scratch, need - 1, &info), ODVGP_E_MEMORY);
	REFUSED(odvgp_predict_cov(p, X, -2, mean, cov, scratch, need, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict_logp(p, X, NULL, 10, mean, scratch, need, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict_logp(p, X, Y, 10, NULL, scratch, need, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict_logp(p, X, Y, 10, mean, scratch, one_row - 1, &info), ODVGP_E_MEMORY);
	REFUSED(odvgp_sample(p, X, 10, &(odvgp_draws){1, 0}, NULL, scratch,
					odvgp_sample_scratch(p, 10, NULL), &info),
			ODVGP_E_ARG);
	REFUSED(odvgp_sample(p, X, 10, &(odvgp_draws){-1, 0}, cov, scratch,
					odvgp_sample_scratch(p, 10, NULL), &info),
			ODVGP_E_ARG);
	REFUSED(odvgp_sample(p, X, 10, &(odvgp_draws){1, 0}, cov, scratch,
					odvgp_sample_scratch(p, 10, NULL) - 1, &info),
			ODVGP_E_MEMORY);
	odvgp_info said;
	/* The first and the last value is bad. */
	for (k = 0; k < 20; k += 19) {
		static const double bad[] = {NAN, HUGE_VAL, -HUGE_VAL};
		int b;
		for (b = 0; b < 3; b++) {
			x = X[k];
			X[k] = (odvgp_real)bad[b];
			REFUSED(odvgp_predict(p, X, 10, mean, var, scratch, need, &info), ODVGP_E_NAN);
			REFUSED(odvgp_predict(p, X, 10, mean, var, scratch, one_row, &info), ODVGP_E_NAN);
			REFUSED(odvgp_predict_cov(p, X, 10, mean, cov, scratch, need, &info), ODVGP_E_NAN);
			REFUSED(odvgp_predict_logp(p, X, Y, 10, mean, scratch, need, &info), ODVGP_E_NAN);
			REFUSED(odvgp_sample(p, X, 10, &(odvgp_draws){1, 0}, cov, scratch,
							odvgp_sample_scratch(p, 10, NULL), &info),
					ODVGP_E_NAN);
			REFUSED(odvgp_predict_once(a.m, X, 10, mean, var, NULL, &info), ODVGP_E_NAN);
			CHECK(odvgp_predict_y(p, X, 10, mean, var, scratch, need, &said) == ODVGP_E_NAN);
			CHECK_INT(said.row, k / 2);
			X[k] = x;
			x = Y[k];
			Y[k] = (odvgp_real)bad[b];
			CHECK(odvgp_predict_logp(p, X, Y, 10, mean, scratch, need, &said) == ODVGP_E_NAN);
			CHECK_INT(said.row, k / 2);
			Y[k] = x;
		}
	}
	REFUSED(odvgp_predict_once(NULL, X, 10, mean, var, NULL, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict_once(a.m, NULL, 10, mean, var, NULL, &info), ODVGP_E_ARG);
	REFUSED(odvgp_predict_once(a.m, X, -1, mean, var, NULL, &info), ODVGP_E_ARG);
	CHECK(untouched(mean, 20 * sizeof *mean) && untouched(var, 20 * sizeof *var) &&
			untouched(cov, 200 * sizeof *cov));
	/* Scratch for one row at a time is enough. */
	CHECK_STATUS(odvgp_predict(p, X, 10, mean, var, scratch, one_row, NULL), ODVGP_OK);
	CHECK(all_finite(mean, 20) && all_finite(var, 20));
	free(block), free(scratch), free(mean), free(var), free(cov);
	drop(&a);
}

/*  If q_mu is so large that L^-T q_mu is infinite, freezing and saving fail, and the blocks keep
    their contents. */
TEST(predictors_that_overflow_are_refused)
{
	odvgp_config c = config(12, 2, 1, 4, 0);
	fixture a;
	odvgp_real q_mu[4];
	odvgp_real variance = (odvgp_real)1e-8;
	size_t bytes, file_bytes, i;
	void *block, *file;
	test_seed = 339;
	c.layer[0].kernel = "rbf";
	a = make(&c);
	CHECK_STATUS(odvgp_set(a.m, "kernel.0.variance", &variance, 1, NULL), ODVGP_OK);
	for (i = 0; i < 4; i++) q_mu[i] = (odvgp_real)(0.9 * HUGE_REAL);
	CHECK_STATUS(odvgp_set(a.m, "q_mu", q_mu, 4, NULL), ODVGP_OK);
	bytes = odvgp_predictor_size(a.m, NULL), file_bytes = odvgp_save_size(a.m, 0, NULL);
	block = test_alloc(bytes), file = test_alloc(file_bytes);
	memset(block, PATTERN, bytes), memset(file, PATTERN, file_bytes);
	REFUSED(odvgp_freeze(a.m, NULL, block, bytes, &info), ODVGP_E_NAN);
	REFUSED(odvgp_save_memory(a.m, NULL, NULL, 0, file, file_bytes, &info), ODVGP_E_NAN);
	CHECK(untouched(block, bytes) && untouched(file, file_bytes));
	free(block), free(file);
	drop(&a);
}

/*  Finite predictors and finite inputs can have results that are not finite: the status says so,
    and the rows that are finite are written. Here scales of y overflow only a mean or only a
    variance, or k(x,x) - |A|^2 of a linear kernel at a far input is infinity minus infinity; for
    one row and for several chunks of rows. */
TEST(results_that_overflow_are_told)
{
	enum { N = 12, ROWS = 20 };
	int way, n;
	for (way = 0; way < 3; way++)
		for (n = 1; n <= ROWS; n += ROWS - 1) {
			odvgp_config c = config(N, 2, 1, 4, 0);
			fixture a;
			odvgp_real far_away = (odvgp_real)(BY_PRECISION(1e170, 1e25)), y_mean = 0,
					   y_scale = (odvgp_real)(way == 1 ? sqrt(HUGE_REAL) * 1.5 : 0.75 * HUGE_REAL),
					   big = 4;
			odvgp_real X[2 * ROWS], Y[ROWS], mean[ROWS], var[ROWS], var_y[ROWS], logp[ROWS],
					cov[ROWS * ROWS], f[2 * ROWS], q[4];
			odvgp_scales scales = {NULL, NULL, &y_mean, &y_scale};
			odvgp_server server;
			size_t bytes, need, one;
			void *block, *scratch;
			odvgp_status want = ODVGP_E_NAN;
			int i;
			test_seed = 366;
			c.layer[0].kernel = way == 2 ? "linear(1)" : "rbf";
			a = make(&c);
			CHECK_STATUS(odvgp_get(a.m, "q_mu", q, 4, NULL), ODVGP_OK);
			for (i = 0; i < 4 && way == 0; i++) q[i] = big * (odvgp_real)(i % 2 ? -1 : 1);
			CHECK_STATUS(odvgp_set(a.m, "q_mu", q, 4, NULL), ODVGP_OK);
			for (i = 0; i < 2 * ROWS; i++) X[i] = (odvgp_real)test_between(-2, 2);
			for (i = 0; i < ROWS; i++) Y[i] = 0;
			if (way == 2) X[2 * n - 2] = far_away;
			bytes = odvgp_predictor_size(a.m, NULL);
			block = test_alloc(bytes);
			CHECK_STATUS(
					serve(a.m, way == 2 ? NULL : &scales, block, bytes, &server, NULL), ODVGP_OK);
			need = odvgp_sample_scratch(&server, ROWS, NULL),
			one = odvgp_predict_scratch(&server, 1, NULL);
			scratch = test_alloc(need);
			CHECK_STATUS(odvgp_predict(&server, X, n, NULL, var, scratch, one, NULL), want);
			CHECK_STATUS(odvgp_predict(&server, X, n, mean, var, scratch, one, NULL), want);
			CHECK_STATUS(odvgp_predict_y(&server, X, n, NULL, var_y, scratch, one, NULL), want);
			CHECK(!all_finite(var, n) && !all_finite(var_y, n));
			for (i = 0; i + 1 < n && way == 2; i++)
				CHECK(all_finite(&mean[i], 1) && var[i] >= 0 && all_finite(&var[i], 1));
			CHECK_STATUS(odvgp_predict_y(&server, X, n, NULL, var_y, scratch, one, NULL), want);
			CHECK_STATUS(odvgp_predict(&server, X, n, mean, NULL, scratch, need, NULL),
					all_finite(mean, n) ? ODVGP_OK : want);
			if (way == 1) CHECK(all_finite(mean, n));
			CHECK_STATUS(odvgp_predict_cov(&server, X, n, NULL, cov, scratch, need, NULL), want);
			CHECK(!all_finite(cov, (ptrdiff_t)n * n));
			CHECK_STATUS(odvgp_sample(&server, X, n, &(odvgp_draws){2, 1}, f, scratch, need, NULL),
					want);
			if (way == 2) {
				CHECK_STATUS(odvgp_predict_logp(&server, X, Y, n, logp, scratch, one, NULL), want);
				CHECK(!all_finite(&logp[n - 1], 1) && all_finite(logp, n - 1));
			}
			free(block), free(scratch);
			drop(&a);
		}
}

/*  Here k - |A|^2 is only rounding error: at the inducing points, with little jitter, with
    lengthscales that make Kb nearly singular. */
TEST(variances_are_never_negative)
{
	/* The last two kernels need no jitter and get none. */
	static const char *const lists[] = {"rbf(0.3)", "rbf(3)", "rbf(30)", "matern12(100)",
			"matern52(10) + rbf(20)", "rbf(2, variance=1e8)", "rbf(2, variance=1e-8)",
			"matern12(1)", "matern12(0.3) + matern32(0.1)"};
	int k, mg, sharp;
	for (k = 0; k < 9; k++)
		for (mg = 0; mg < 10; mg += 9)
			for (sharp = 0; sharp < 2; sharp++) {
				odvgp_config c = config(40, 1, 2, 20, mg);
				fixture a;
				odvgp_real *var = NEW(odvgp_real, 2 * 100), *var_y = NEW(odvgp_real, 2 * 100),
						   *cov = NEW(odvgp_real, 2 * 100 * 100), X[100], *z,
						   small = (odvgp_real)1e-10;
				odvgp_server server, *p = &server;
				size_t bytes, need;
				void *block, *scratch;
				ptrdiff_t i, bad = 0;
				test_seed = 360;
				c.layer[0].kernel = lists[k];
				c.jitter.absolute = (odvgp_real)(k < 7 ? 1e-14 : 0);
				c.jitter.relative = 0;
				a = make(&c);
				/* Give q almost no variance of its own. */
				if (sharp) {
					z = NEW(odvgp_real, 2 * 400);
					for (i = 0; i < 800; i++) z[i] = i % 400 % 21 == 0 ? small : 0;
					CHECK_STATUS(odvgp_set(a.m, "q_sqrt", z, 800, NULL), ODVGP_OK);
					free(z);
				}
				z = NEW(odvgp_real, 20);
				CHECK_STATUS(odvgp_get(a.m, "Z_beta", z, 20, NULL), ODVGP_OK);
				for (i = 0; i < 100; i++)
					X[i] = i < 20   ? z[i]
						   : i < 40 ? (odvgp_real)((double)z[i - 20] + 1e-9)
									: (odvgp_real)(-3 + 0.06 * (double)(i - 40));
				bytes = odvgp_predictor_size(a.m, NULL);
				block = test_alloc(bytes);
				CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
				need = odvgp_predict_scratch(p, 100, NULL);
				scratch = test_alloc(need);
				CHECK_STATUS(odvgp_predict(p, X, 100, NULL, var, scratch, need, NULL), ODVGP_OK);
				CHECK_STATUS(
						odvgp_predict_y(p, X, 100, NULL, var_y, scratch, need, NULL), ODVGP_OK);
				CHECK_STATUS(
						odvgp_predict_cov(p, X, 100, NULL, cov, scratch, need, NULL), ODVGP_OK);
				for (i = 0; i < 200; i++)
					bad += !(var[i] >= 0) + !(var_y[i] >= (odvgp_real)0.1) +
						   !(cov[i * 100 + i % 100] >= 0);
				CHECK_SAY(bad == 0, "%s: %d negative variances", lists[k], (int)bad);
				/* Predict one row at a time. */
				CHECK_STATUS(odvgp_predict(p, X, 3, NULL, var, scratch, need, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_predict_y(p, X, 3, NULL, var_y, scratch, need, NULL), ODVGP_OK);
				for (i = 0; i < 6; i++) CHECK(var[i] >= 0 && var_y[i] >= (odvgp_real)0.1);
				free(block), free(scratch), free(var), free(var_y), free(cov), free(z);
				drop(&a);
			}
}

/* ---- difficult but legal data ---- */

/*  Creates, trains and predicts with defaults. All results are finite, no variance is negative,
    and the bound is not below its initial value. Returns the root mean square error at the
    training rows, relative to the standard deviation of the targets. */
static double works(const char *words, ptrdiff_t N, ptrdiff_t D, ptrdiff_t P, ptrdiff_t M,
		ptrdiff_t Mg, const odvgp_real *X, const odvgp_real *Y, int steps, const char *kernel,
		odvgp_events *events)
{
	odvgp_config c = odvgp_config_defaults(N, D, P, M, Mg);
	odvgp_model *m = NULL;
	odvgp_real *mean = NEW(odvgp_real, P * N), *var = NEW(odvgp_real, P * N), *v, e, e0 = 0;
	ptrdiff_t i, p;
	double error = 0, spread = 0;
	odvgp_status s;
	c.isa = test_isa();
	c.optim.lr = odvgp_constant((odvgp_real)0.01);
	c.optim.natgrad_step = odvgp_constant((odvgp_real)0.1);
	if (kernel) c.layer[0].kernel = kernel;
	s = odvgp_model_create(&m, &c, X, Y, NULL, NULL);
	CHECK_SAY(s == ODVGP_OK, "%s: create: %s", words, odvgp_status_text(s));
	if (m) {
		s = odvgp_elbo(m, X, Y, N, &e0, NULL, NULL, NULL);
		CHECK_SAY(s == ODVGP_OK && all_finite(&e0, 1), "%s: elbo: %s, %g", words,
				odvgp_status_text(s), (double)e0);
		s = odvgp_fit(m, X, Y, steps, NULL, NULL);
		CHECK_SAY(s == ODVGP_OK, "%s: fit: %s", words, odvgp_status_text(s));
		s = odvgp_elbo(m, X, Y, N, &e, NULL, NULL, NULL);
		CHECK_SAY(s == ODVGP_OK && all_finite(&e, 1), "%s: elbo: %s, %g", words,
				odvgp_status_text(s), (double)e);
		CHECK_SAY((double)e >= (double)e0, "%s, %ld gamma: the bound falls from %.6g to %.6g",
				words, (long)Mg, (double)e0, (double)e);
		s = odvgp_predict_once(m, X, N, mean, var, NULL, NULL);
		CHECK_SAY(s == ODVGP_OK, "%s: predict: %s", words, odvgp_status_text(s));
		CHECK_SAY(all_finite(mean, P * N) && all_finite(var, P * N),
				"%s: a prediction is not finite", words);
		for (i = 0; i < P * N; i++)
			CHECK_SAY(var[i] >= 0, "%s: standard deviation %g", words, (double)var[i]);
		v = all_values(m);
		CHECK_SAY(all_finite(v, odvgp_param_count(m)), "%s: a parameter is not finite", words);
		free(v);
		if (events) *events = odvgp_model_events(m);
		odvgp_model_free(m);
		for (p = 0; p < P; p++) {
			double average = 0;
			for (i = 0; i < N; i++) average += (double)Y[i * P + p] / (double)N;
			for (i = 0; i < N; i++) {
				error += ((double)Y[i * P + p] - (double)mean[p * N + i]) *
						 ((double)Y[i * P + p] - (double)mean[p * N + i]);
				spread += ((double)Y[i * P + p] - average) * ((double)Y[i * P + p] - average);
			}
		}
	}
	free(mean), free(var);
	return spread > 0 ? sqrt(error / spread) : 0;
}

TEST(awkward_data_work)
{
	enum { N = 60, D = 3 };
	odvgp_real X[N * D], Y[N], Z[N * D], W[N], wide_X[40 * 200];
	double plain, e;
	odvgp_events events;
	int i, mg, most = test_size(300, 120), some = test_size(100, 40), few = test_size(50, 20);
	test_seed = 340;
	for (i = 0; i < N; i++) {
		int d;
		for (d = 0; d < D; d++) X[i * D + d] = (odvgp_real)test_between(-2, 2);
		Y[i] = (odvgp_real)(2 * sin(1.2 * (double)X[i * D]) + (double)X[i * D + 1] +
							0.05 * test_normal());
	}
	for (mg = test_size(0, 12); mg <= 12; mg += 12) {
		plain = works("plain", N, D, 1, 15, mg, X, Y, most, NULL, &events);
		CHECK_SAY(plain < 0.5, "plain: error %.3g of the spread", plain);
		CHECK(events.jitter_raised == 0 && events.step_undone == 0);
		memcpy(Z, X, sizeof X);
		for (i = 0; i < N; i++) Z[i * D + 2] = (odvgp_real)3.25;
		e = works("a constant column", N, D, 1, 15, mg, Z, Y, most, NULL, NULL);
		CHECK_SAY(e < 0.5, "a constant column: %.3g", e);
		for (i = 0; i < N; i++) Z[i * D + 2] = X[i * D];
		e = works("a column twice", N, D, 1, 15, mg, Z, Y, most, NULL, NULL);
		CHECK_SAY(e < 0.5, "a column twice: %.3g", e);
		for (i = 0; i < N * D; i++) Z[i] = X[i % (10 * D)];
		for (i = 0; i < N; i++) W[i] = Y[i % 10];
		/* There are more inducing points than distinct rows. */
		e = works("ten rows six times each", N, D, 1, 15, mg, Z, W, most, NULL, NULL);
		CHECK_SAY(e < 0.6, "repeated rows: %.3g", e);
		for (i = 0; i < N * D; i++) Z[i] = (odvgp_real)(i % D);
		works("all rows equal", N, D, 1, 15, mg, Z, Y, some, NULL, &events);
		for (i = 0; i < N; i++) W[i] = (odvgp_real)-4.5;
		works("all targets equal", N, D, 1, 15, mg, X, W, some, NULL, NULL);
		works("all rows and all targets equal", N, D, 1, 15, mg, Z, W, some, NULL, NULL);
		for (i = 0; i < N; i++) W[i] = 0;
		works("all targets 0", N, D, 1, 15, mg, X, W, some, NULL, NULL);
		for (i = 0; i < N; i++) W[i] = (odvgp_real)(1e-9 * (double)Y[i]);
		e = works("targets of size 1e-9", N, D, 1, 15, mg, X, W, most, NULL, NULL);
		CHECK_SAY(e < 0.6, "targets of size 1e-9: error %.3g of the spread", e);
		for (i = 0; i < N; i++) W[i] = (odvgp_real)(1e9 * (double)Y[i]);
		e = works("targets of size 1e9", N, D, 1, 15, mg, X, W, most, NULL, NULL);
		CHECK_SAY(e < 0.6, "targets of size 1e9: error %.3g of the spread", e);
		for (i = 0; i < N; i++) {
			Z[i * D] = (odvgp_real)(1e-12 * (double)X[i * D]);
			Z[i * D + 1] = (odvgp_real)(1e12 * (double)X[i * D + 1]);
			Z[i * D + 2] = X[i * D + 2];
		}
		works("columns of size 1e-12, 1e12 and 1", N, D, 1, 15, mg, Z, Y, some, NULL, NULL);
		works("the same, a lengthscale each", N, D, 1, 15, mg, Z, Y, some, "matern52(ard)", NULL);
		works("the same, a kernel each", N, D, 1, 15, mg, Z, Y, some, "rbf(dims=0) + rbf(dims=1)",
				NULL);
		works("2 rows", 2, D, 1, 1, 0, X, Y, few, NULL, NULL);
		works("2 rows, 2 points", 2, D, 1, 2, mg, X, Y, few, NULL, NULL);
		works("2 rows, 5 points", 2, D, 1, 5, mg, X, Y, few, NULL, NULL);
		works("1 row", 1, D, 1, 1, mg, X, Y, few, NULL, NULL);
		works("1 row, 3 points", 1, D, 1, 3, mg, X, Y, few, NULL, NULL);
		works("as many points as rows", N, D, 1, N, mg, X, Y, few, NULL, NULL);
		works("1 point", N, D, 1, 1, mg, X, Y, few, NULL, NULL);
		works("a lengthscale far too large", N, D, 1, 15, mg, X, Y, few, "rbf(1e6)", &events);
		works("a lengthscale far too small", N, D, 1, 15, mg, X, Y, few, "rbf(1e-6)", NULL);
		works("distances beyond the largest number", N, D, 1, 15, mg, X, Y, few,
				"rq(1e-15, alpha=1e-12) + rbf", NULL);
		works("a kernel of rank D", N, D, 1, 15, mg, X, Y, few, "linear", NULL);
		works("a kernel of rank 1", N, D, 1, 15, mg, X, Y, few, "constant(2)", NULL);
		works("nothing but noise", N, D, 1, 15, mg, X, Y, few, "white", NULL);
		works("base kernels of all geometries", N, D, 1, 15, mg, X, Y, few,
				"polynomial(degree=3) * rq + periodic(ard, period=3) + linear(ard) + white", NULL);
		works("a tiny variance", N, D, 1, 15, mg, X, Y, few, "rbf(1, variance=1e-12)", NULL);
		works("a huge variance", N, D, 1, 15, mg, X, Y, few, "rbf(1, variance=1e12)", NULL);
		for (i = 0; i < 40 * 200; i++) wide_X[i] = (odvgp_real)test_between(-1, 1);
		works("200 columns, 40 rows", 40, 200, 1, 10, mg, wide_X, Y, few, NULL, NULL);
		works("20 outputs", 10, 2, 6, 4, mg, X, Y, few, NULL, NULL);
	}
}

/*  Distances keep their digits far from the origin: shifted inputs have the same predictions.
    Shifts are powers of two and inputs are multiples of 2^-10 (2^-6 in float), so that the shift
    itself is exact. */
TEST(inputs_far_from_the_origin)
{
	enum { N = 40 };
	odvgp_real X[N * 2], S[N * 2], Y[N], m0[N], v0[N], m1[N], v1[N], e0, e1, *g0, *g1, *z;
	const double grid = BY_PRECISION(1024.0, 64.0), shift = BY_PRECISION(1048576.0, 65536.0);
	odvgp_config c = config(N, 2, 1, 8, 10);
	odvgp_model *a, *b;
	int i;
	ptrdiff_t n;
	test_seed = 341;
	for (i = 0; i < N * 2; i++) {
		X[i] = (odvgp_real)(floor(test_between(-2, 2) * grid) / grid);
		S[i] = (odvgp_real)((double)X[i] + shift);
	}
	for (i = 0; i < N; i++) Y[i] = (odvgp_real)(sin(2 * (double)X[2 * i]) + 0.1 * test_normal());
	CHECK_STATUS(odvgp_model_create(&a, &c, X, Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_model_create(&b, &c, S, Y, NULL, NULL), ODVGP_OK);
	/* Both models have the same inducing points, on the grid. */
	for (n = 0; n < 2; n++) {
		const char *name = n ? "Z_gamma" : "Z_beta";
		ptrdiff_t count = odvgp_slot_find(a, name)->count;
		z = NEW(odvgp_real, count);
		for (i = 0; i < count; i++) z[i] = X[i + 3];
		CHECK_STATUS(odvgp_set(a, name, z, count, NULL), ODVGP_OK);
		for (i = 0; i < count; i++) z[i] = S[i + 3];
		CHECK_STATUS(odvgp_set(b, name, z, count, NULL), ODVGP_OK);
		free(z);
	}
	for (i = 0; i < 3; i++) {
		CHECK_STATUS(odvgp_natgrad_step(a, X, Y, N, 1, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_natgrad_step(b, S, Y, N, 1, NULL, NULL), ODVGP_OK);
	}
	n = odvgp_param_count(a);
	g0 = NEW(odvgp_real, n), g1 = NEW(odvgp_real, n);
	CHECK_STATUS(odvgp_elbo(a, X, Y, N, &e0, NULL, g0, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_elbo(b, S, Y, N, &e1, NULL, g1, NULL), ODVGP_OK);
	CHECK_NEAR(e1, e0, 1e4 * EPS * fabs((double)e0));
	CHECK_SAY(test_max_diff(g0, g1, n) <= 1e4 * EPS * test_max_abs(g0, n),
			"gradients differ by %.3g of %.3g", test_max_diff(g0, g1, n), test_max_abs(g0, n));
	CHECK_STATUS(odvgp_predict_once(a, X, N, m0, v0, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_once(b, S, N, m1, v1, NULL, NULL), ODVGP_OK);
	CHECK_SAY(test_max_diff(m0, m1, N) <= 1e5 * EPS, "means differ by %.3g",
			test_max_diff(m0, m1, N));
	CHECK_SAY(test_max_diff(v0, v1, N) <= 1e5 * EPS, "standard deviations differ by %.3g",
			test_max_diff(v0, v1, N));
	odvgp_model_free(a);
	odvgp_model_free(b);
	free(g0), free(g1);
	/* The library initialises everything from shifted data. */
	for (i = 0; i < N * 2; i++) S[i] = (odvgp_real)((double)X[i] + 1e6);
	works("inputs around 1e6", N, 2, 1, 8, 10, S, Y, 100, NULL, NULL);
	for (i = 0; i < N * 2; i++) S[i] = (odvgp_real)(1e6 * (double)X[i]);
	/* Steps are too short for these units, but the model learns. */
	CHECK(works("inputs of size 1e6", N, 2, 1, 8, 10, S, Y, 300, NULL, NULL) < 0.95);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(scales_are_undone);
	RUN(turns_do_not_change_predictions);
	RUN(samples_have_the_predicted_moments);
	RUN(samples_of_points_of_unlike_variance);
	RUN(predict_once_is_freeze_and_predict);
	RUN(probabilities_of_classes_add_up_to_one);
	RUN(bad_arguments_of_predictions_are_refused);
	RUN(predictors_that_overflow_are_refused);
	RUN(results_that_overflow_are_told);
	RUN(variances_are_never_negative);
	RUN(awkward_data_work);
	RUN(inputs_far_from_the_origin);
	return test_end();
}

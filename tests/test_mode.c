/*  odvgp_fit_mode: the objective by hand, that it is stationary where the search ends, the Gaussian
    closed form, weights, fixed slots, and what is refused. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"

static int keep_report(void *user, const odvgp_progress *at)
{
	odvgp_report *last = (odvgp_report *)user;
	if (at->report) *last = *at->report;
	return 0;
}

/*  odvgp_fit_mode with its own scratch; the last report, if it succeeds. */
static odvgp_status fit_mode(fixture *a, ptrdiff_t steps, odvgp_report *report)
{
	odvgp_report last;
	odvgp_watch watch = {keep_report, &last};
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	size_t bytes = odvgp_fit_mode_scratch(a->m, NULL);
	void *work = test_alloc(bytes);
	odvgp_status s = odvgp_fit_mode(a->m, a->X, a->Y, steps, &watch, work, bytes, &info);
	CHECK(s == info.status && (s == ODVGP_OK) == !info.text[0]);
	if (!s && report) *report = last;
	free(work);
	return s;
}

static int is_mean(const char *name)
{
	static const char *const names[] = {"q_mu", "a_beta", "a_gamma", "a", "v_mu"};
	for (int k = 0; k < 5; k++)
		if (!strcmp(name, names[k])) return 1;
	return 0;
}

/*  The KL of the mean alone: what it loses with all weights at 0. */
static double kl_of_mean(fixture *a)
{
	odvgp_real e, with, without;
	odvgp_real *kept = all_values(a->m);
	CHECK_STATUS(odvgp_elbo(a->m, a->X, a->Y, a->N, &e, &with, NULL, NULL), ODVGP_OK);
	for (int s = 0; s < odvgp_slot_count(a->m); s++) {
		const odvgp_slot *t = odvgp_slot_at(a->m, s);
		odvgp_real *zero = NEW(odvgp_real, t->count);
		memset(zero, 0, (size_t)t->count * sizeof *zero);
		if (is_mean(t->name)) assign(a, t->name, zero);
		free(zero);
	}
	CHECK_STATUS(odvgp_elbo(a->m, a->X, a->Y, a->N, &e, &without, NULL, NULL), ODVGP_OK);
	for (int s = 0; s < odvgp_slot_count(a->m); s++) {
		const odvgp_slot *t = odvgp_slot_at(a->m, s);
		if (is_mean(t->name)) assign(a, t->name, kept + t->offset);
	}
	free(kept);
	return (double)with - (double)without;
}

/*  log p(y|f) of row i with functions f [P,N]. */
static double row_logp(const fixture *a, const odvgp_real *f, ptrdiff_t i)
{
	const odvgp_config *c = odvgp_model_config(a->m);
	double y = (double)a->Y[c->lik.weights ? 2 * i : i], g = (double)f[i], sum = 0, s;
	switch (c->lik.kind) {
	case ODVGP_LIKELIHOOD_LOGIT: return -log1p(exp(y > 0.5 ? -g : g));
	case ODVGP_LIKELIHOOD_POISSON: return y * g - exp(g) - lgamma(y + 1);
	case ODVGP_LIKELIHOOD_SOFTMAX:
		for (ptrdiff_t p = 0; p < a->P; p++) sum += exp((double)f[p * a->N + i]);
		return (double)f[(ptrdiff_t)y * a->N + i] - log(sum);
	default:
		s = number(a->m, "noise_variance");
		return -0.5 * (log(6.283185307179586 * s) + (y - g) * (y - g) / s);
	}
}

static double sum_logp(const fixture *a)
{
	odvgp_real *mean = NEW(odvgp_real, a->N * a->P), *var = NEW(odvgp_real, a->N * a->P);
	int weights = odvgp_model_config(a->m)->lik.weights;
	double sum = 0;
	CHECK_STATUS(odvgp_predict_once(a->m, a->X, a->N, mean, var, NULL, NULL), ODVGP_OK);
	for (ptrdiff_t i = 0; i < a->N; i++)
		sum += (weights ? (double)a->Y[2 * i + 1] : 1) * row_logp(a, mean, i);
	free(mean), free(var);
	return sum;
}

/*  J where the model is. */
static double mode_value(fixture *a)
{
	odvgp_report r;
	CHECK_STATUS(fit_mode(a, 0, &r), ODVGP_OK);
	CHECK((double)r.elbo == (double)(r.expected_loglik - r.kl) && r.step == 0);
	return (double)r.elbo;
}

/*  J at the mode is above that nearby, by amounts of second order. */
static void check_stationary(fixture *a, const char *where)
{
	const double h = BY_PRECISION(3e-4, 3e-2);
	double J = mode_value(a);
	for (int s = 0; s < odvgp_slot_count(a->m); s++) {
		const odvgp_slot *t = odvgp_slot_at(a->m, s);
		odvgp_real *at, *moved;
		double side[2];
		if (!is_mean(t->name)) continue;
		at = values(a, t->name);
		moved = NEW(odvgp_real, t->count);
		for (int k = 0; k < 2; k++) {
			test_seed = 812;
			for (ptrdiff_t i = 0; i < t->count; i++)
				moved[i] = at[i] + (odvgp_real)((k ? h : -h) * test_normal());
			assign(a, t->name, moved);
			side[k] = mode_value(a);
		}
		assign(a, t->name, at);
		CHECK_SAY(side[0] < J && side[1] < J &&
						fabs(side[1] - side[0]) <=
								BY_PRECISION(2e-3, 0.25) * (2 * J - side[0] - side[1]),
				"%s, %s: %.9g, at the mode %.9g, %.9g", where, t->name, side[0], J, side[1]);
		free(at), free(moved);
	}
}

static const struct {
	const char *words;
	ptrdiff_t P;
	int weights;
} kinds[] = {{"gaussian", 2, 0}, {"logit", 1, 0}, {"logit", 1, 1}, {"poisson", 1, 0},
		{"softmax", 3, 0}, {"softmax", 6, 1}};
enum { KINDS = (int)(sizeof kinds / sizeof *kinds) };

/*  Targets of this likelihood, and weights. */
static void set_targets(fixture *a, int kind)
{
	int weights = kinds[kind].weights;
	odvgp_real *Y = NEW(odvgp_real, a->N * (1 + weights));
	if (!strcmp(kinds[kind].words, "gaussian")) {
		free(Y);
		return;
	}
	for (ptrdiff_t i = 0; i < a->N; i++) {
		double y = (double)a->Y[i * a->P] + 1.5;
		if (a->P > 1) y *= (double)a->P / 3;
		y = y < 0 ? 0 : floor(y);
		if (!strcmp(kinds[kind].words, "logit")) y = y > 1;
		if (a->P > 1 && y > (double)a->P - 1) y = (double)a->P - 1;
		Y[i * (1 + weights)] = (odvgp_real)y;
		if (weights) Y[i * 2 + 1] = (odvgp_real)(1 + i % 3);
	}
	free(a->Y);
	a->Y = Y;
}

static fixture make_kind(int mean, int cov, int kind, int param, ptrdiff_t N)
{
	odvgp_config c = pair_config(mean, cov, N, kinds[kind].P, 5, 6);
	fixture a;
	char words[100];
	snprintf(words, sizeof words, "lik.kind=%s", kinds[kind].words);
	CHECK_STATUS(odvgp_config_set(&c, words, NULL), ODVGP_OK);
	c.lik.weights = kinds[kind].weights;
	c.lik.classes = 0;
	c.reproduce.parametrisation = (odvgp_parametrisation)param;
	c.reproduce.gamma_coords = param ? ODVGP_GAMMA_COORDS_PLAIN : ODVGP_GAMMA_COORDS_DIFFERENTIATED;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	c.tile = 7;
	c.jitter.absolute = 0;
	c.jitter.relative = (odvgp_real)BY_PRECISION(1e-8, 1e-4);
	test_seed = 811;
	a = make_pair(mean, cov, &c, "rbf");
	set_targets(&a, kind);
	return a;
}

TEST(the_mode_is_the_maximum_of_its_objective)
{
	int mean, cov, kind, param;
	EACH_PAIR(mean, cov)
	for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
		for (kind = 0; kind < KINDS; kind += 1 + (param > 0)) {
			fixture a;
			odvgp_report r;
			char where[100];
			double before, logp, kl;
			if (param == ODVGP_PARAMETRISATION_A_BETA && !has_A_BETA(mean)) continue;
			a = make_kind(mean, cov, kind, param, 30);
			snprintf(where, sizeof where, "%s + %s, %s, param %d", mean_name[mean], cov_name[cov],
					kinds[kind].words, param);
			before = mode_value(&a);
			if (kind) {
				kl = kl_of_mean(&a);
				logp = sum_logp(&a);
				CHECK_SAY(fabs(before - (logp - kl)) <= BY_PRECISION(1e-8, 1e-3) * (1 + fabs(before)),
						"%s: the objective is %.12g, by hand %.12g", where, before, logp - kl);
			}
			CHECK_STATUS(fit_mode(&a, 100, &r), ODVGP_OK);
			CHECK_SAY(r.converged && r.step < 60 && (double)r.elbo >= before,
					"%s: %d steps, %.9g from %.9g", where, (int)r.step, (double)r.elbo, before);
			CHECK_SAY(fabs(mode_value(&a) - (double)r.elbo) <=
							BY_PRECISION(1e-8, 1e-4) * (1 + fabs((double)r.elbo)),
					"%s: the report says %.12g, the model has %.12g", where, (double)r.elbo,
					mode_value(&a));
			check_stationary(&a, where);
			drop(&a);
		}
}

/*  With the Gaussian likelihood the mode is the mean of odvgp_fit_q, which has no rounding of a
    search; the covariance and all else keep their bits. */
TEST(the_mode_of_a_gaussian_is_that_of_the_closed_form)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		fixture a = make_kind(mean, cov, 0, 0, 40);
		odvgp_real *before = all_values(a.m), *after, f[2][80], v[80];
		odvgp_report r;
		size_t bytes = odvgp_fit_q_scratch(a.m, NULL);
		void *work = test_alloc(bytes);
		CHECK_STATUS(fit_mode(&a, 200, &r), ODVGP_OK);
		after = all_values(a.m);
		for (int s = 0; s < odvgp_slot_count(a.m); s++) {
			const odvgp_slot *t = odvgp_slot_at(a.m, s);
			int same = !memcmp(before + t->offset, after + t->offset,
					(size_t)t->count * sizeof *before);
			CHECK_SAY(same == !is_mean(t->name), "%s + %s: %s", mean_name[mean], cov_name[cov],
					t->name);
		}
		CHECK_STATUS(odvgp_predict_once(a.m, a.X, a.N, f[0], v, NULL, NULL), ODVGP_OK);
		if (odvgp_fit_q(a.m, a.X, a.Y, NULL, work, bytes, NULL) == ODVGP_OK) {
			CHECK_STATUS(odvgp_predict_once(a.m, a.X, a.N, f[1], v, NULL, NULL), ODVGP_OK);
			for (int i = 0; i < 80; i++)
				CHECK_SAY(fabs((double)f[0][i] - (double)f[1][i]) <= BY_PRECISION(1e-6, 1e-2),
						"%s + %s: f %d is %.9g, the optimum's %.9g", mean_name[mean],
						cov_name[cov], i, (double)f[0][i], (double)f[1][i]);
		}
		free(before), free(after), free(work);
		drop(&a);
	}
}

/*  A fixed mean stays, and the other is the best one beside it. */
TEST(fixed_means_stay)
{
	static const char *const names[] = {"q_mu", "a_gamma", "v_mu"};
	static const int means[] = {ORTH, HYBRID, BLOCKS};
	for (int m = 0; m < 3; m++)
		for (int k = 0; k < 3; k++) {
			fixture a = make_kind(means[m], m == 2 ? ODVGP_COV_PART_BLOCKS : ODVGP_COV_PART_DENSE,
					4, 0, 30);
			odvgp_real *before, *after;
			odvgp_report r;
			odvgp_status s;
			if (!slot(&a, names[k])) {
				drop(&a);
				continue;
			}
			CHECK_STATUS(odvgp_set_trainable(a.m, names[k], 0, NULL), ODVGP_OK);
			before = values(&a, names[k]);
			s = fit_mode(&a, 100, &r);
			after = values(&a, names[k]);
			CHECK(!memcmp(before, after, (size_t)slot(&a, names[k])->count * sizeof *before));
			/* the shape of HYBRID's q_mu depends on a */
			if (means[m] == HYBRID && k == 0) CHECK_STATUS(s, ODVGP_E_UNSUPPORTED);
			else {
				CHECK_STATUS(s, ODVGP_OK);
				CHECK(r.converged && r.step > 0);
			}
			free(before), free(after);
			drop(&a);
		}
}

/*  All means fixed: nothing to search. */
TEST(nothing_free_is_a_report)
{
	fixture a = make_kind(ORTH, ODVGP_COV_PART_DENSE, 4, 0, 30);
	odvgp_report r;
	double J = mode_value(&a);
	CHECK_STATUS(odvgp_set_trainable(a.m, "q_mu", 0, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set_trainable(a.m, "a_gamma", 0, NULL), ODVGP_OK);
	CHECK_STATUS(fit_mode(&a, 10, &r), ODVGP_OK);
	CHECK(fabs((double)r.elbo - J) <= BY_PRECISION(1e-12, 1e-4) * (1 + fabs(J)) && r.step <= 1);
	drop(&a);
}

/*  A row of weight 2 counts as two. */
TEST(weights_are_repeated_rows)
{
	fixture a = make_kind(ORTH, ODVGP_COV_PART_DENSE, 5, 0, 30);
	fixture b = make_kind(ORTH, ODVGP_COV_PART_DENSE, 4, 0, 60);
	double J;
	odvgp_report r;
	odvgp_real f[2][6], v[6];
	drop(&b);
	{
		odvgp_config c = *odvgp_model_config(a.m);
		c.N = 60;
		c.lik.weights = 0;
		c.reproduce.gamma_kl = odvgp_model_config(a.m)->reproduce.gamma_kl;
		b = make_pair(ORTH, ODVGP_COV_PART_DENSE, &c, "rbf");
	}
	copy_slots(&b, &a, NULL);
	{
		ptrdiff_t n = 0;
		odvgp_real *Y = NEW(odvgp_real, 60);
		for (ptrdiff_t i = 0; i < 30; i++)
			for (int k = 0; k < (int)a.Y[2 * i + 1]; k++, n++) {
				b.X[2 * n] = a.X[2 * i], b.X[2 * n + 1] = a.X[2 * i + 1];
				Y[n] = a.Y[2 * i];
			}
		CHECK(n == 60);
		free(b.Y);
		b.Y = Y;
	}
	CHECK_STATUS(fit_mode(&a, 100, &r), ODVGP_OK);
	J = (double)r.elbo;
	CHECK_STATUS(fit_mode(&b, 100, &r), ODVGP_OK);
	CHECK_SAY(fabs(J - (double)r.elbo) <= BY_PRECISION(1e-7, 1e-3) * fabs(J), "%.12g and %.12g", J,
			(double)r.elbo);
	CHECK_STATUS(odvgp_predict_once(a.m, a.X, 1, f[0], v, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_once(b.m, a.X, 1, f[1], v, NULL, NULL), ODVGP_OK);
	for (int p = 0; p < 6; p++)
		CHECK(fabs((double)f[0][p] - (double)f[1][p]) <= BY_PRECISION(1e-4, 3e-2));
	drop(&a), drop(&b);
}

/*  Missing targets have no part in the sum. */
TEST(missing_targets_do_not_count)
{
	fixture a, b;
	odvgp_report r;
	double J;
	odvgp_config c = pair_config(ORTH, ODVGP_COV_PART_DENSE, 30, 1, 5, 6);
	CHECK_STATUS(odvgp_config_set(&c, "lik.kind=logit", NULL), ODVGP_OK);
	c.lik.missing = 1;
	test_seed = 811;
	a = make_pair(ORTH, ODVGP_COV_PART_DENSE, &c, "rbf");
	for (ptrdiff_t i = 0; i < 30; i++) a.Y[i] = (odvgp_real)(i % 4 ? a.Y[i] > 0 : (odvgp_real)NAN);
	c.N = 22;
	b = make_pair(ORTH, ODVGP_COV_PART_DENSE, &c, "rbf");
	copy_slots(&b, &a, NULL);
	for (ptrdiff_t i = 0, n = 0; i < 30; i++) {
		if (i % 4 == 0) continue;
		b.X[2 * n] = a.X[2 * i], b.X[2 * n + 1] = a.X[2 * i + 1];
		b.Y[n++] = a.Y[i];
	}
	CHECK_STATUS(fit_mode(&a, 100, &r), ODVGP_OK);
	J = (double)r.elbo;
	CHECK_STATUS(fit_mode(&b, 100, &r), ODVGP_OK);
	CHECK_SAY(fabs(J - (double)r.elbo) <= BY_PRECISION(1e-7, 1e-3) * fabs(J), "%.12g and %.12g", J,
			(double)r.elbo);
	drop(&a), drop(&b);
}

/*  Without a step all bits stay, in all coordinates; further calls do not lower the objective. */
TEST(what_gains_nothing_keeps_its_bits)
{
	for (int param = 0; param < 3; param++) {
		fixture a = make_kind(ORTH, ODVGP_COV_PART_DENSE, 4, param, 30);
		odvgp_real *before = all_values(a.m), *after;
		odvgp_report r;
		double J = -HUGE_VAL;
		CHECK_STATUS(fit_mode(&a, 0, NULL), ODVGP_OK);
		after = all_values(a.m);
		CHECK_SAY(!memcmp(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before),
				"param %d: moved", param);
		for (int calls = 0; calls < 5; calls++) {
			CHECK_STATUS(fit_mode(&a, 200, &r), ODVGP_OK);
			CHECK_SAY((double)r.elbo >= J - BY_PRECISION(1e-12, 1e-5) * fabs(J), "%.17g after %.17g",
					(double)r.elbo, J);
			J = (double)r.elbo;
		}
		free(before), free(after);
		drop(&a);
	}
}

/*  C = Kg - W^T W of many near points is rounding: its negative eigenvalues must not lead J to
    infinity. A start without a finite J is refused. */
TEST(rounding_does_not_pass_for_a_mode)
{
	enum { N = 120, M = 40 };
	odvgp_config c = pair_config(ORTH, ODVGP_COV_PART_DENSE, N, 1, M, M);
	odvgp_real *zero, b = 900;
	odvgp_report r;
	fixture a;
	double J;
	c.jitter.absolute = 0;
	c.jitter.relative = (odvgp_real)BY_PRECISION(1e-13, 1e-6);
	test_seed = 815;
	a = make_pair(ORTH, ODVGP_COV_PART_DENSE, &c, "rbf");
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	set_number(a.m, "kernel.0.lengthscale", 2);
	set_number(a.m, "noise_variance", 1e-3);
	zero = NEW(odvgp_real, M);
	memset(zero, 0, M * sizeof *zero);
	assign(&a, "q_mu", zero);
	assign(&a, "a_gamma", zero);
	free(zero);
	J = mode_value(&a);
	CHECK_STATUS(fit_mode(&a, 60, &r), ODVGP_OK);
	CHECK_SAY((double)r.elbo > J && (double)r.elbo < 4 * N && (double)r.kl >= 0, "%.9g from %.9g, KL %.9g",
			(double)r.elbo, J, (double)r.kl);
	drop(&a);
	c = pair_config(BETA, ODVGP_COV_PART_DENSE, 30, 1, 5, 0);
	CHECK_STATUS(odvgp_config_set(&c, "lik.kind=poisson", NULL), ODVGP_OK);
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_CONSTANT;
	a = make_pair(BETA, ODVGP_COV_PART_DENSE, &c, "rbf");
	for (ptrdiff_t i = 0; i < 30; i++) a.Y[i] = (odvgp_real)(i % 3);
	assign(&a, "mean.c", &b);
	CHECK_STATUS(fit_mode(&a, 5, &r), ODVGP_E_NAN);
	drop(&a);
}

typedef struct {
	const fixture *a;
	int left;
} late;
static ptrdiff_t late_read(void *user, const ptrdiff_t *rows, ptrdiff_t n, odvgp_real *X, odvgp_real *Y)
{
	late *l = (late *)user;
	if (l->left-- <= 0) return 0;
	for (ptrdiff_t i = 0; i < n; i++) {
		if (X) memcpy(X + 2 * i, l->a->X + 2 * rows[i], 2 * sizeof *X);
		if (Y) Y[i] = l->a->Y[rows[i]];
	}
	return n;
}

/*  A reader gives the bits of memory; one that fails, at any call, changes nothing. */
TEST(a_reader_that_fails_changes_nothing)
{
	int ended = 0;
	for (int calls = 0; calls < 400 && !ended; calls += 1 + calls / 3) {
		fixture a = make_kind(ORTH, ODVGP_COV_PART_DENSE, 4, 0, 30);
		odvgp_real *before = all_values(a.m), *after, *X = a.X, *Y = a.Y;
		late l = {&a, calls};
		odvgp_reader reader;
		odvgp_status s;
		size_t bytes;
		void *block;
		memset(&reader, 0, sizeof reader);
		reader.read = late_read;
		reader.user = &l;
		bytes = odvgp_reader_size(a.m, NULL);
		block = test_alloc(bytes);
		CHECK_STATUS(odvgp_set_reader(a.m, &reader, block, bytes, NULL), ODVGP_OK);
		{
			size_t size = odvgp_fit_mode_scratch(a.m, NULL);
			void *work = test_alloc(size);
			s = odvgp_fit_mode(a.m, NULL, NULL, 8, NULL, work, size, NULL);
			free(work);
		}
		ended = !s;
		after = all_values(a.m);
		if (s) {
			CHECK_SAY(s == ODVGP_E_IO, "%d calls: %s", calls, odvgp_status_text(s));
			CHECK(!memcmp(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before));
		} else {
			fixture b = make_kind(ORTH, ODVGP_COV_PART_DENSE, 4, 0, 30);
			odvgp_real *of_memory;
			CHECK_STATUS(fit_mode(&b, 8, NULL), ODVGP_OK);
			of_memory = all_values(b.m);
			CHECK(!memcmp(of_memory, after, (size_t)odvgp_param_count(a.m) * sizeof *after));
			free(of_memory);
			drop(&b);
		}
		CHECK(a.X == X && a.Y == Y);
		free(before), free(after), free(block);
		drop(&a);
	}
	CHECK(ended);
}

static int stop_at(void *user, const odvgp_progress *at)
{
	int *left = (int *)user;
	return at->phase == ODVGP_PHASE_FIT_MODE && at->report && --*left < 0;
}

TEST(what_is_refused_or_stopped_changes_nothing)
{
	static const char *const words[] = {
			"lik.kind=robustmax", "lik.kind=laplace", "lik.kind=studentt", "objective=collapsed"};
	for (int k = 0; k < 4; k++) {
		odvgp_config c = pair_config(BETA, ODVGP_COV_PART_DENSE, 30, k ? 1 : 3, 5, 0);
		odvgp_real *before, *after;
		fixture a;
		odvgp_report r;
		CHECK_STATUS(odvgp_config_set(&c, words[k], NULL), ODVGP_OK);
		a = make_pair(BETA, ODVGP_COV_PART_DENSE, &c, "rbf");
		if (!k)
			for (ptrdiff_t i = 0; i < a.N; i++) a.Y[i] = (odvgp_real)(i % 3);
		before = all_values(a.m);
		CHECK_STATUS(fit_mode(&a, 5, &r), ODVGP_E_UNSUPPORTED);
		after = all_values(a.m);
		CHECK(!memcmp(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before));
		free(before), free(after);
		drop(&a);
	}
	for (int k = 0; k < 4; k++) {
		fixture a = make_kind(ORTH, ODVGP_COV_PART_DENSE, 4, 0, 30);
		odvgp_real *before = all_values(a.m), *after;
		int left = 1;
		odvgp_watch watch = {stop_at, &left};
		size_t bytes = odvgp_fit_mode_scratch(a.m, NULL);
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		void *work = test_alloc(bytes);
		odvgp_status s;
		if (k == 1) a.X[5] = (odvgp_real)NAN;
		s = odvgp_fit_mode(a.m, a.X, a.Y, k == 3 ? -1 : 50, &watch, k == 2 ? NULL : work,
				k == 2 ? 0 : bytes, &info);
		CHECK_SAY(s == (k == 0       ? ODVGP_E_STOPPED
							   : k == 1 ? ODVGP_E_NAN
										: ODVGP_E_ARG) &&
						info.status == s && strlen(info.text) > 5,
				"case %d: %s", k, info.text);
		if (!k) {
			CHECK_STATUS(odvgp_fit_mode(a.m, a.X, a.Y, 5, NULL, work, bytes - 1, &info),
					ODVGP_E_MEMORY);
			CHECK(left < 0);
		}
		after = all_values(a.m);
		CHECK(!memcmp(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before));
		free(before), free(after), free(work);
		drop(&a);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(the_mode_is_the_maximum_of_its_objective);
	RUN(the_mode_of_a_gaussian_is_that_of_the_closed_form);
	RUN(fixed_means_stay);
	RUN(nothing_free_is_a_report);
	RUN(weights_are_repeated_rows);
	RUN(missing_targets_do_not_count);
	RUN(what_gains_nothing_keeps_its_bits);
	RUN(rounding_does_not_pass_for_a_mode);
	RUN(a_reader_that_fails_changes_nothing);
	RUN(what_is_refused_or_stopped_changes_nothing);
	return test_end();
}

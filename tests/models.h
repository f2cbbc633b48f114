/*  A model with its data, and what the tests do with it: access to slots by name, derivatives by
    differences, subsets of gamma, predictions. */
#ifndef MODELS_H
#define MODELS_H

#include "reference.h"

typedef struct fixture {
	odvgp_model *m;
	void *block;
	/* The size of the block. */
	size_t bytes;
	ref_kernel k;
	/* The kernel as the library prints it. */
	char text[1000];
	/* [N,D], [N,P]. */
	odvgp_real *X, *Y;
	ptrdiff_t N, D, P, M, Mg;
	/* Its parts, as indices into the lists of members.h. */
	int mean, cov;
} fixture;

/* ---- access to slots ---- */

TEST_UNUSED static const odvgp_slot *slot(const fixture *a, const char *name)
{
	return odvgp_slot_find(a->m, name);
}
/*  Returns the values of a slot; the caller frees them. */
TEST_UNUSED static odvgp_real *values(const fixture *a, const char *name)
{
	const odvgp_slot *s = slot(a, name);
	odvgp_real *v = NEW(odvgp_real, s ? s->count : 0);
	CHECK_SAY(s != NULL, "no slot %s", name);
	if (s) CHECK_STATUS(odvgp_get(a->m, name, v, s->count, NULL), ODVGP_OK);
	return v;
}
TEST_UNUSED static void assign(fixture *a, const char *name, const odvgp_real *v)
{
	const odvgp_slot *s = slot(a, name);
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	if (CHECK_SAY(s != NULL, "no slot %s", name))
		CHECK_SAY(odvgp_set(a->m, name, v, s->count, &info) == ODVGP_OK, "%s: %s", name, info.text);
}
/*  Read and write a slot that holds one number. */
TEST_UNUSED static double number(const odvgp_model *m, const char *name)
{
	odvgp_real v = 0;
	CHECK_STATUS(odvgp_get(m, name, &v, 1, NULL), ODVGP_OK);
	return (double)v;
}
TEST_UNUSED static void set_number(odvgp_model *m, const char *name, double x)
{
	odvgp_real v = (odvgp_real)x;
	CHECK_STATUS(odvgp_set(m, name, &v, 1, NULL), ODVGP_OK);
}

/* ---- making models ---- */

TEST_UNUSED static void make_block(fixture *a, const odvgp_config *c)
{
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	if (!CHECK_SAY(sized(&a->bytes, odvgp_model_size(c, &info), &info) == ODVGP_OK, "size: %s",
				info.text))
		exit(3);
	a->block = test_alloc(a->bytes);
	if (!CHECK_SAY(odvgp_model_init(&a->m, c, a->block, a->bytes, &info) == ODVGP_OK, "init: %s",
				info.text))
		exit(3);
	a->N = c->N, a->D = c->layer[0].D, a->P = c->layer[0].P, a->M = c->layer[0].M;
	a->Mg = odvgp_model_config(a->m)->layer[0].M_gamma;
}
/*  Makes random data: X in [-2,2]^D, Y = sin(frequency sum_d X_d + output) + noise. */
TEST_UNUSED static void make_data(
		fixture *a, ptrdiff_t N, ptrdiff_t D, ptrdiff_t P, double frequency, double noise)
{
	ptrdiff_t i, d, p;
	a->N = N, a->D = D, a->P = P;
	a->X = NEW(odvgp_real, N * D);
	a->Y = NEW(odvgp_real, N * P);
	for (i = 0; i < N; i++) {
		double sum = 0;
		for (d = 0; d < D; d++) sum += (double)(a->X[i * D + d] = (odvgp_real)test_between(-2, 2));
		for (p = 0; p < P; p++)
			a->Y[i * P + p] =
					(odvgp_real)(sin(frequency * sum + (double)p) + noise * test_normal());
	}
}
/*  Fills arrays with normal inputs and smooth outputs; each call gives the same numbers. */
TEST_UNUSED static void fill_data(
		odvgp_real *X, odvgp_real *Y, ptrdiff_t N, ptrdiff_t D, ptrdiff_t P)
{
	ptrdiff_t i;
	test_seed = 77;
	for (i = 0; i < N * D; i++) X[i] = (odvgp_real)test_normal();
	for (i = 0; i < N; i++) {
		Y[i * P] = (odvgp_real)(sin((double)X[i * D]) + 0.1 * test_normal());
		if (P > 1) Y[i * P + 1] = (odvgp_real)cos((double)X[i * D + 1]);
	}
}
/*  Sets all slots to random values: positive ones near 1, points within the data, triangles with
    diagonals of either sign. */
TEST_UNUSED static void randomise_slots(fixture *a)
{
	ptrdiff_t i;
	int s;
	for (s = 0; s < odvgp_slot_count(a->m); s++) {
		const odvgp_slot *t = odvgp_slot_at(a->m, s);
		odvgp_real *v = NEW(odvgp_real, t->count);
		int points = strstr(t->name, "Z_") != NULL;
		for (i = 0; i < t->count; i++) {
			ptrdiff_t row = i / t->shape[2] % t->shape[1], col = i % t->shape[2];
			double x;
			if (t->positive) x = test_between(0.6, 1.4) * (strcmp(t->name, "epsilon") ? 1 : 1e-2);
			else if (points) x = test_between(-2, 2);
			else if (!t->lower) x = test_between(-0.7, 0.7);
			else if (col == row) x = test_between(0.4, 0.9);
			else x = col > row ? 0 : test_between(-0.3, 0.3);
			if (t->lower && col == row && test_below(4) == 0) x = -x;
			v[i] = (odvgp_real)x;
		}
		assign(a, t->name, v);
		free(v);
	}
	const odvgp_slot *noise = slot(a, "noise_variance");
	if (noise && noise->count == 1) set_number(a->m, "noise_variance", 0.15);
}
/*  Sets all slots to random values near the current ones. */
TEST_UNUSED static void shake_slots(fixture *a)
{
	for (int s = 0; s < odvgp_slot_count(a->m); s++) {
		const odvgp_slot *t = odvgp_slot_at(a->m, s);
		odvgp_real *v = values(a, t->name);
		for (ptrdiff_t i = 0; i < t->count; i++) {
			ptrdiff_t row = i / t->shape[2] % t->shape[1], col = i % t->shape[2];
			if (t->lower && col > row) continue;
			if (strstr(t->name, "q_diag")) v[i] = 1; /* it starts near 0 */
			v[i] = t->positive ? v[i] * (odvgp_real)test_between(0.7, 1.3)
							   : v[i] + (odvgp_real)test_between(-0.3, 0.3);
		}
		assign(a, t->name, v);
		free(v);
	}
}
/*  Gives slots of `to` the values of those of `from` with the same name or, with a prefix, that name
    behind it. Without a prefix slots of only one model are left out. */
TEST_UNUSED static void copy_slots(fixture *to, const fixture *from, const char *prefix)
{
	for (int s = 0; s < odvgp_slot_count(from->m); s++) {
		const char *name = odvgp_slot_at(from->m, s)->name;
		char behind[60];
		if (!slot(to, name) && !prefix) continue;
		snprintf(behind, sizeof behind, "%s%s", slot(to, name) ? "" : prefix, name);
		odvgp_real *v = values(from, name);
		assign(to, behind, v);
		free(v);
	}
}
/*  The rest of a model of the expression, with data and with random values in all slots. */
TEST_UNUSED static void make_rest(fixture *a, const odvgp_config *cfg, const char *kernel)
{
	odvgp_config c = *cfg;
	c.layer[0].kernel = kernel;
	make_block(a, &c);
	make_data(a, c.N, c.layer[0].D, c.layer[0].P, 1.5, 0.2);
	randomise_slots(a);
}
TEST_UNUSED static fixture make_kernel(const odvgp_config *cfg, const char *kernel)
{
	fixture a;
	memset(&a, 0, sizeof a);
	make_rest(&a, cfg, kernel);
	return a;
}
/*  The same, where every second base kernel has one lengthscale for each column. */
TEST_UNUSED static fixture make_random(const odvgp_config *cfg, const char *kernel)
{
	fixture a;
	int l;
	memset(&a, 0, sizeof a);
	CHECK(ref_kernel_read(&a.k, kernel));
	for (l = 0; l < a.k.base_kernels; l++) a.k.base[l].ard = l % 2 && ref_can_be_ard(&a.k.base[l]);
	ref_kernel_spell(&a.k, a.text, sizeof a.text);
	make_rest(&a, cfg, a.text);
	return a;
}
/*  Kernels for make_random. */
TEST_UNUSED static const char *const random_kernels[] = {
		"matern52 + rbf", "rbf", "matern12", "(rbf + matern32) * matern52"};
/*  A config whose jitter is large enough to show if it is used in a wrong place. */
TEST_UNUSED static odvgp_config random_config(
		ptrdiff_t N, ptrdiff_t D, ptrdiff_t P, ptrdiff_t M, ptrdiff_t Mg)
{
	odvgp_config c = odvgp_config_defaults(N, D, P, M, Mg);
	c.jitter.absolute = (odvgp_real)1e-3;
	c.jitter.relative = 0;
	c.isa = test_isa();
	return c;
}
/*  A model of the config that is initialised from random data. */
TEST_UNUSED static fixture make(const odvgp_config *c)
{
	fixture a;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	memset(&a, 0, sizeof a);
	make_data(&a, c->N, c->layer[0].D, c->layer[0].P, 1, 0.1);
	make_block(&a, c);
	CHECK_SAY(odvgp_init_data(a.m, a.X, a.Y, NULL, &info) == ODVGP_OK, "init_data: %s", info.text);
	return a;
}
/*  A config for `make`, with minibatches and sampled columns of gamma. */
TEST_UNUSED static odvgp_config config(
		ptrdiff_t N, ptrdiff_t D, ptrdiff_t P, ptrdiff_t M, ptrdiff_t Mg)
{
	odvgp_config c = odvgp_config_defaults(N, D, P, M, Mg);
	c.layer[0].kernel = "matern52(0.8) + rbf(1.5, variance=0.5)";
	c.lik.noise_variance = (odvgp_real)0.1;
	c.optim.batch = N > 8 ? N / 2 : N;
	c.optim.gamma_batch = Mg > 2 ? 2 : 0;
	c.optim.lr = odvgp_constant((odvgp_real)0.01);
	c.optim.natgrad_step = odvgp_constant((odvgp_real)0.1);
	c.isa = test_isa();
	return c;
}
/*  Layer l of a stack by itself: a model of one layer with the same slots; the last one with the
    likelihood. It has D inputs; a hidden layer of images becomes a plain model of their patches. */
TEST_UNUSED static fixture layer_alone(const fixture *a, const odvgp_config *c, int l, ptrdiff_t D)
{
	odvgp_config d = *c;
	fixture b;
	int hidden = l + 1 < c->layers;
	d.layers = 1;
	d.layer[0] = c->layer[l];
	d.layer[0].D = D;
	if (hidden) {
		d.lik = random_config(1, 1, 1, 1, 0).lik;
		memset(&d.layer[0].patches, 0, sizeof d.layer[0].patches);
	}
	memset(&b, 0, sizeof b);
	make_block(&b, &d);
	for (int s = 0; s < odvgp_slot_count(b.m); s++) {
		const odvgp_slot *t = odvgp_slot_at(b.m, s);
		char name[60];
		snprintf(name, sizeof name, "layer%d.%s", l, t->name);
		if (!slot(a, name) && (hidden || !slot(a, t->name))) continue;
		odvgp_real *v = values(a, slot(a, name) ? name : t->name);
		assign(&b, t->name, v);
		free(v);
	}
	return b;
}
TEST_UNUSED static void drop(fixture *a)
{
	free(a->block);
	free(a->X);
	free(a->Y);
	memset(a, 0, sizeof *a);
}

/* ---- files ---- */

/*  Saves a model with the caller's bytes `user`; the caller frees the file. */
TEST_UNUSED static unsigned char *save_file(
		odvgp_model *m, const odvgp_scales *scales, const char *user, size_t *bytes)
{
	unsigned char *file;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	*bytes = odvgp_save_size(m, strlen(user), NULL);
	file = NEW(unsigned char, *bytes);
	memset(file, 0xa5, *bytes);
	CHECK_SAY(odvgp_save_memory(m, scales, user, strlen(user), file, *bytes, &info) == ODVGP_OK,
			"save: %s", info.text);
	return file;
}
/*  Loads a file into a new block of b. */
TEST_UNUSED static odvgp_status load_file(const unsigned char *file, size_t bytes, fixture *b)
{
	odvgp_status s = sized(&b->bytes, odvgp_load_size(file, bytes, NULL, test_isa(), NULL), NULL);
	b->block = NULL;
	if (s) return s;
	b->block = test_alloc(b->bytes);
	return odvgp_load_memory(&b->m, file, bytes, NULL, test_isa(), b->block, b->bytes, NULL);
}
/*  Saves a model to a file and loads it; the two models share the data. */
TEST_UNUSED static fixture load_again(const fixture *a)
{
	fixture b = *a;
	size_t bytes;
	unsigned char *file = save_file(a->m, NULL, "", &bytes);
	CHECK_STATUS(load_file(file, bytes, &b), ODVGP_OK);
	free(file);
	return b;
}

/* ---- refusals ---- */

TEST_UNUSED static int all_finite(const odvgp_real *x, ptrdiff_t n)
{
	ptrdiff_t i;
	for (i = 0; i < n; i++)
		if (!(fabs((double)x[i]) <= HUGE_REAL)) return 0;
	return 1;
}
/*  An info that no call has filled. */
TEST_UNUSED static odvgp_info no_info(void)
{
	odvgp_info i;
	memset(&i, 0, sizeof i);
	i.row = -77;
	return i;
}
/*  Blocks and outputs are filled with this byte before a call that must fail, and compared
    afterwards. */
#define PATTERN 0xa5
TEST_UNUSED static int untouched(const void *p, size_t n)
{
	const unsigned char *c = (const unsigned char *)p;
	size_t i;
	for (i = 0; i < n; i++)
		if (c[i] != PATTERN) return 0;
	return 1;
}
/*  Checks that a call is refused: it returns the status, fills info with a sentence, and sets
    info's own status. */
#define REFUSED(call, want) \
	do { \
		odvgp_info info = no_info(); \
		odvgp_status status_ = (call); \
		CHECK_STATUS(status_, want); \
		CHECK_SAY(info.text[0] != 0 && strlen(info.text) < sizeof info.text && \
						  strchr(info.text, ' '), \
				"no sentence from %s", #call); \
		CHECK_SAY(info.status == status_ && info.what != NULL, "info of %s is not filled", #call); \
	} while (0)

/*  The same, and info names the culprit. */
#define REFUSED_FOR(call, want, culprit) \
	do { \
		odvgp_info info = no_info(); \
		odvgp_status status_ = (call); \
		CHECK_STATUS(status_, want); \
		CHECK_SAY(info.status == status_ && info.what && !strcmp(info.what, culprit), \
				"%s: info names %s, not %s", #call, info.what ? info.what : "nothing", culprit); \
	} while (0)
/*  A size query returns 0 for this reason. */
#define NO_SIZE(call, want, culprit) REFUSED_FOR((call) ? ODVGP_OK : info.status, want, culprit)

/* ---- predictors ---- */

/*  Units of two inputs and of up to three outputs, and rows of X in them. */
TEST_UNUSED static const odvgp_real units_x_mean[] = {3, -1},
									units_x_scale[] = {100, (odvgp_real)0.01},
									units_y_mean[] = {4, 5, 6},
									units_y_scale[] = {10, 1, (odvgp_real)0.1};
TEST_UNUSED static const odvgp_scales units_of_data = {
		units_x_mean, units_x_scale, units_y_mean, units_y_scale};
TEST_UNUSED static const double units_of_x[] = {100, 0.01};
TEST_UNUSED static void to_units(const odvgp_real *X, ptrdiff_t rows, odvgp_real *to)
{
	for (ptrdiff_t i = 0; i < 2 * rows; i++)
		to[i] = units_x_mean[i % 2] + units_x_scale[i % 2] * X[i];
}

/*  A predictor with room for predictions and samples of some rows. */
typedef struct served {
	void *block, *scratch;
	size_t bytes; /* of scratch */
	odvgp_server s;
} served;
TEST_UNUSED static served serve_rows(fixture *a, const odvgp_scales *scales, ptrdiff_t rows)
{
	served p;
	size_t need = odvgp_predictor_size(a->m, NULL), sample;
	p.block = test_alloc(need);
	CHECK_STATUS(serve(a->m, scales, p.block, need, &p.s, NULL), ODVGP_OK);
	p.bytes = odvgp_predict_scratch(&p.s, rows, NULL);
	sample = odvgp_sample_scratch(&p.s, rows, NULL);
	if (sample > p.bytes) p.bytes = sample;
	p.scratch = test_alloc(p.bytes);
	return p;
}
TEST_UNUSED static void unserve(served *p) { free(p->block), free(p->scratch); }

/* ---- bounds, gradients, predictions ---- */

/*  Reads the current values of the base kernels from the model. */
TEST_UNUSED static void read_kernel(fixture *a) { ref_kernel_take(&a->k, a->m); }
TEST_UNUSED static double elbo_of(fixture *a, double *kl, odvgp_real *grad)
{
	odvgp_real e = 0, k = 0;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_status s = odvgp_elbo(a->m, a->X, a->Y, a->N, &e, &k, grad, &info);
	CHECK_SAY(s == ODVGP_OK, "odvgp_elbo: %s: %s", odvgp_status_text(s), info.text);
	if (kl) *kl = (double)k;
	return (double)e;
}
/*  Differentiates the bound with respect to one element of a slot by a difference of fourth
    order; if count > 0, the bound with only these columns of gamma. */
TEST_UNUSED static double difference(fixture *a, const char *name, ptrdiff_t entry,
		const ptrdiff_t *columns, ptrdiff_t count, double h)
{
	static const double weight[4] = {-1.0 / 12, 8.0 / 12, 8.0 / 12, -1.0 / 12},
						place[4] = {2, 1, -1, -2};
	odvgp_real *v = values(a, name), keep = v[entry], e;
	odvgp_report of_columns;
	double sum = 0;
	int k;
	for (k = 0; k < 4; k++) {
		double step;
		v[entry] = (odvgp_real)((double)keep + place[k] * h);
		/* The step after rounding, with its sign. */
		step = ((double)v[entry] - (double)keep) / fabs(place[k]);
		assign(a, name, v);
		if (count) {
			CHECK_STATUS(odvgp_elbo_columns(a->m, a->X, a->Y, a->N,
								 &(odvgp_columns){columns, count}, &of_columns, NULL, NULL),
					ODVGP_OK);
			e = of_columns.elbo;
		} else e = (odvgp_real)elbo_of(a, NULL, NULL);
		sum -= weight[k] * (double)e / step;
	}
	v[entry] = keep;
	assign(a, name, v);
	free(v);
	return sum;
}
/*  Compares the gradient of the bound (if count > 0, with only these columns of gamma) with
    differences, element by element. The allowed error is `allowed` times the sum of the bound
    and its largest derivative. Above the diagonal of triangles the gradient is 0, and no slot
    has a gradient that is 0 everywhere. With `finer` smaller steps are tried if the first
    disagrees: the bound has large curvature where points are close to each other. */
TEST_UNUSED static void check_gradient(fixture *a, const ptrdiff_t *columns, ptrdiff_t count,
		double allowed, int finer, const char *where)
{
	ptrdiff_t n = odvgp_param_count(a->m), i;
	odvgp_real *grad = NEW(odvgp_real, n), e = 0;
	odvgp_report of_columns;
	double scale = 0, worst = 0, h;
	char words[160] = "";
	int s;
	if (count) {
		CHECK_STATUS(odvgp_elbo_columns(a->m, a->X, a->Y, a->N, &(odvgp_columns){columns, count},
							 &of_columns, grad, NULL),
				ODVGP_OK);
		e = of_columns.elbo;
	} else e = (odvgp_real)elbo_of(a, NULL, grad);
	for (i = 0; i < n; i++) scale = test_worse(scale, fabs((double)grad[i]));
	scale += fabs((double)e);
	for (s = 0; s < odvgp_slot_count(a->m); s++) {
		const odvgp_slot *t = odvgp_slot_at(a->m, s);
		double size = 0;
		for (i = 0; i < t->count; i++) {
			double want, got = (double)grad[t->offset + i], off;
			if (t->lower && i % t->shape[2] > i / t->shape[2] % t->shape[1]) {
				CHECK(got == 0);
				continue;
			}
			size = test_worse(size, fabs(got));
			/* In proportion to 1/noise. */
			h = BY_PRECISION(1e-3, 0.02) * (!strcmp(t->name, "noise_variance") ? 0.15 : 1);
			want = difference(a, t->name, i, columns, count, h);
			off = fabs(got - want);
			for (h = BY_PRECISION(3e-4, 0.01);
					finer && h > BY_PRECISION(3e-5, 0.004) && !(off <= allowed * scale);
					h *= BY_PRECISION(0.33, 0.7)) {
				want = difference(a, t->name, i, columns, count, h);
				off = fabs(got - want);
			}
			if (worst == worst && !(off <= worst)) {
				worst = off;
				snprintf(words, sizeof words, "%s[%ld]: %.10g, difference %.10g", t->name, (long)i,
						got, want);
			}
		}
		CHECK_SAY(size > 0, "%s: the bound does not depend on %s", where, t->name);
	}
	CHECK_SAY(worst <= allowed * scale, "%s: %s, of %.3g", where, words, scale);
	free(grad);
}
/*  Advances to the next subset of k of n in ascending order; returns 0 after the last. */
TEST_UNUSED static int next_subset(ptrdiff_t *s, ptrdiff_t k, ptrdiff_t n)
{
	ptrdiff_t i = k - 1, j;
	while (i >= 0 && s[i] == n - k + i) i--;
	if (i < 0) return 0;
	s[i]++;
	for (j = i + 1; j < k; j++) s[j] = s[j - 1] + 1;
	return 1;
}
/*  Averages the bound with k of gamma's five columns, and its gradient, over all subsets: the
    averages equal the values with all columns, up to `loose` times some rounding errors. Subsets
    of fewer than all columns give different values. */
TEST_UNUSED static void check_subsets(fixture *a, ptrdiff_t k, double loose)
{
	ptrdiff_t subset[5] = {0, 1, 2, 3, 4}, sets = 0, n = odvgp_param_count(a->m), i;
	odvgp_real *full = NEW(odvgp_real, n), *grad = NEW(odvgp_real, n);
	odvgp_report of_columns;
	double *average = NEW(double, n), kl_full, elbo_full = elbo_of(a, &kl_full, full), kl_mean = 0,
		   elbo_mean = 0, most = 0, spread = 0;
	double size = fabs(kl_full) + fabs(elbo_full);
	for (i = 0; i < n; i++) average[i] = 0;
	do {
		CHECK_STATUS(odvgp_elbo_columns(a->m, a->X, a->Y, a->N, &(odvgp_columns){subset, k},
							 &of_columns, grad, NULL),
				ODVGP_OK);
		elbo_mean += (double)of_columns.elbo;
		kl_mean += (double)of_columns.kl;
		for (i = 0; i < n; i++) {
			average[i] += (double)grad[i];
			most = test_worse(most, fabs((double)grad[i]));
		}
		spread = test_worse(spread, fabs((double)of_columns.kl - kl_full));
		sets++;
	} while (next_subset(subset, k, 5));
	CHECK_NEAR(kl_mean / (double)sets, kl_full, 50 * loose * EPS * (size + spread));
	CHECK_NEAR(elbo_mean / (double)sets, elbo_full, 50 * loose * EPS * (fabs(elbo_full) + spread));
	for (i = 0; i < n; i++)
		CHECK_NEAR(average[i] / (double)sets, full[i], 200 * loose * EPS * most);
	CHECK(k == 5 ? spread <= 20 * loose * EPS * (1 + size) : spread > 1e-3);
	free(full), free(grad), free(average);
}
/*  Any of the outputs may be NULL. Bytes after the predictor's block must keep their contents. */
TEST_UNUSED static void predict(fixture *a, const odvgp_real *X, ptrdiff_t n, odvgp_real *mean,
		odvgp_real *var, odvgp_real *cov)
{
	size_t bytes = odvgp_predictor_size(a->m, NULL), need, i;
	unsigned char *block = NEW(unsigned char, bytes + 64);
	void *scratch;
	odvgp_server server, *p = &server;
	memset(block, 0x5a, bytes + 64);
	if (!CHECK_STATUS(serve(a->m, NULL, block, bytes, p, NULL), ODVGP_OK)) {
		free(block);
		return;
	}
	for (i = 0; i < 64; i++)
		if (!CHECK_SAY(block[bytes + i] == 0x5a, "odvgp_freeze writes beyond its block")) break;
	need = odvgp_predict_scratch(p, n, NULL);
	scratch = test_alloc(need);
	if (mean || var) CHECK_STATUS(odvgp_predict(p, X, n, mean, var, scratch, need, NULL), ODVGP_OK);
	if (cov) CHECK_STATUS(odvgp_predict_cov(p, X, n, NULL, cov, scratch, need, NULL), ODVGP_OK);
	free(scratch);
	free(block);
}

/*  A model loaded from a's file takes the steps that a takes; then a, that model and a server of its
    file predict the first n rows of X with the same bits. */
TEST_UNUSED static void check_loaded(fixture *a, ptrdiff_t n)
{
	fixture b = load_again(a);
	for (int i = 0; i < 3; i++) {
		CHECK_STATUS(odvgp_step(a->m, a->X, a->Y, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_step(b.m, a->X, a->Y, NULL, NULL), ODVGP_OK);
	}
	size_t bytes, need, scratch_bytes;
	unsigned char *file = save_file(b.m, NULL, "names", &bytes);
	CHECK_STATUS(sized(&need, odvgp_server_size(file, bytes, NULL), NULL), ODVGP_OK);
	void *block = test_alloc(need);
	odvgp_server s;
	CHECK_STATUS(
			odvgp_server_from_memory(&s, file, bytes, test_isa(), block, need, NULL), ODVGP_OK);
	scratch_bytes = odvgp_predict_scratch(&s, n, NULL);
	void *scratch = test_alloc(scratch_bytes);
	ptrdiff_t count = s.F * n;
	odvgp_real *mean = NEW(odvgp_real, 3 * count), *var = NEW(odvgp_real, 3 * count);
	predict(a, a->X, n, mean, var, NULL);
	predict(&b, a->X, n, mean + count, var + count, NULL);
	CHECK_STATUS(odvgp_predict(&s, a->X, n, mean + 2 * count, var + 2 * count, scratch,
						 scratch_bytes, NULL),
			ODVGP_OK);
	for (int i = 1; i < 3; i++) {
		CHECK_BITS(mean + i * count, mean, (size_t)count * sizeof *mean);
		CHECK_BITS(var + i * count, var, (size_t)count * sizeof *var);
	}
	free(mean), free(var), free(file), free(block), free(scratch), free(b.block);
}

#endif

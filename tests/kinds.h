/*  A small model of every kind and of every likelihood, with data, and a call of everything that a
    server does: for the tests of files and for the fuzzer. Include odvgp.h with its implementation
    before this file. */
#ifndef KINDS_H
#define KINDS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_ROWS = 6 };

/*  `words` are assignments of odvgp_config_set to a config of two columns and one output. */
static const struct {
	const char *words, *kernel;
} kinds[] = {
		{"", "rbf(0.8)"},
		{"P=3 lik.noise_per_output=on lik.weights=on lik.known_noise=on", "matern52(ard)"},
		{"P=2 functions=3", "rbf(dims=0) + linear"},
		{"P=2 independent=on", "periodic(dims=0) * rq"},
		{"M_gamma=0 mean_part=beta mean_function=linear", "rbf"},
		{"mean_part=hybrid mean_function=constant", "rbf + white(0.1)"},
		{"mean_part=free cov_part=inverse optim.natgrad=off", "rbf"},
		{"P=2 mean_part=blocks cov_part=blocks", "rbf"},
		{"M_gamma=0 mean_part=beta cov_part=inverse optim.natgrad=off", "rbf"},
		{"mean_part=free cov_part=diagonal optim.natgrad=off", "rbf"},
		{"M_gamma=0 mean_part=beta objective=collapsed", "rbf"},
		{"M=6 M_gamma=0 mean_part=free cov_part=diagonal objective=exact", "polynomial + constant"},
		{"layers=2 layer0.P=2 layer0.mean_function=projection deep.predict_samples=3", "rbf"},
		{"layers=3 layer0.P=2 layer1.P=3 P=2 lik.kind=studentt deep.predict_samples=2", "rbf"},
		{"D=9 patches.image_height=3 patches.image_width=3 patches.height=2 patches.width=2",
				"rbf"},
		{"D=16 layers=2 layer0.patches.image_height=4 layer0.patches.image_width=4 "
		 "layer0.patches.height=2 layer0.patches.width=2 layer0.patches.image_output=on "
		 "layer1.patches.image_height=3 layer1.patches.image_width=3 layer1.patches.height=2 "
		 "layer1.patches.width=2 layer0.P=1 P=3 lik.kind=softmax deep.predict_samples=2",
				"rbf"},
		{"lik.kind=bernoulli lik.link_jitter=0.01", "rbf"},
		{"P=2 lik.kind=logit lik.missing=on", "rbf"},
		{"P=3 lik.kind=studentt", "rbf"},
		{"P=2 functions=2 lik.kind=laplace", "rbf"},
		{"lik.kind=poisson lik.exposure=on", "rbf"},
		{"lik.kind=exponential lik.exposure=on lik.weights=on", "rbf"},
		{"lik.kind=negative_binomial lik.exposure=on", "rbf"},
		{"lik.kind=gamma", "rbf"},
		{"P=2 lik.kind=beta", "rbf"},
		{"lik.kind=ordinal lik.classes=4", "rbf"},
		{"P=3 lik.kind=robustmax", "rbf"},
		{"P=3 lik.kind=softmax", "rbf"},
		{"P=5 lik.kind=softmax lik.nodes=2", "rbf"},
		{"P=4 lik.kind=heteroscedastic", "rbf"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/*  A trained model and its data. */
typedef struct kind_model {
	odvgp_model *m;
	void *block;
	odvgp_real *X, *Y;
} kind_model;

static void kind_fails(int kind, const odvgp_info *info)
{
	fprintf(stderr, "kind %d, %s: %s\n", kind, kinds[kind].words, info->text);
	exit(3);
}

static odvgp_config kind_config(int kind)
{
	odvgp_config c = odvgp_config_defaults(KIND_ROWS, 2, 1, 3, 2);
	char words[600], *at = words, *next;
	odvgp_info info;
	snprintf(words, sizeof words, "%s", kinds[kind].words);
	c.layer[0].kernel = kinds[kind].kernel;
	for (; *at; at = next) {
		next = at + strcspn(at, " ");
		if (*next) *next++ = 0;
		if (odvgp_config_set(&c, at, &info) != ODVGP_OK) kind_fails(kind, &info);
	}
	return c;
}

/*  Inputs within [-1, 1], and targets that the likelihood takes: 0 and 1 if they are whole, else
    between 0 and 1. Weights and exposures are 1. */
static void kind_data(odvgp_real *X, odvgp_real *Y, ptrdiff_t rows, ptrdiff_t D, gp__y_row row)
{
	ptrdiff_t i, C = gp__y_columns(&row);
	for (i = 0; i < rows * D; i++) X[i] = (odvgp_real)(i * 37 % 101) / 50 - 1;
	for (i = 0; i < rows * C; i++)
		Y[i] = i % C >= row.T   ? 1
			   : row.lik->whole ? (odvgp_real)(i / C % 2)
								: (odvgp_real)(i * 7 % 10 + 1) / 12;
}

/*  A kind of this config, which may differ from kind_config's in what does not change the data. */
static kind_model kind_of(int kind, odvgp_config c)
{
	kind_model k;
	odvgp_info info;
	size_t bytes = odvgp_model_size(&c, &info);
	ptrdiff_t D = c.layer[0].D;
	memset(&k, 0, sizeof k);
	if (!bytes) kind_fails(kind, &info);
	k.block = malloc(bytes);
	if (odvgp_model_init(&k.m, &c, k.block, bytes, &info) != ODVGP_OK) kind_fails(kind, &info);
	k.X = (odvgp_real *)malloc((size_t)(c.N * D) * sizeof *k.X);
	k.Y = (odvgp_real *)malloc((size_t)(c.N * gp__y_columns(&k.m->y)) * sizeof *k.Y);
	kind_data(k.X, k.Y, c.N, D, k.m->y);
	if (odvgp_init_data(k.m, k.X, k.Y, NULL, &info) != ODVGP_OK ||
			odvgp_fit(k.m, k.X, k.Y, 2, NULL, &info) != ODVGP_OK)
		kind_fails(kind, &info);
	bytes = odvgp_fit_q_scratch(k.m, NULL);
	if (c.objective != ODVGP_OBJECTIVE_ELBO) {
		void *scratch = malloc(bytes);
		if (odvgp_fit_q(k.m, k.X, k.Y, NULL, scratch, bytes, &info) != ODVGP_OK)
			kind_fails(kind, &info);
		free(scratch);
	}
	return k;
}

static kind_model kind_make(int kind) { return kind_of(kind, kind_config(kind)); }

static void kind_drop(kind_model *k) { free(k->block), free(k->X), free(k->Y); }

/* ---- everything that a server does ---- */

/*  What the calls returned, and the first that succeeded with NaN. */
typedef struct served_all {
	int ok, refused;
	odvgp_status last;
	const char *nan;
} served_all;
/*  Calls of serve_all. Three of them are refused with several layers, one with images. */
enum { SERVED_ROWS = 3, SERVED_CALLS = 7, SERVED_IN_LAYERS = 4, SERVED_OF_IMAGES = 6 };

static void served_note(
		served_all *all, odvgp_status s, const char *call, const odvgp_real *x, ptrdiff_t n)
{
	if (s) {
		all->refused++;
		all->last = s;
		return;
	}
	all->ok++;
	while (n-- > 0)
		if (x[n] != x[n]) all->nan = call;
}

/*  Makes every kind of prediction for some rows, unless a forged size makes that expensive. */
static served_all serve_all(const odvgp_server *s)
{
	enum { n = SERVED_ROWS, WIDEST = 16, MOST_D = 64, MOST_NODES = 32, LARGEST = 1 << 22 };
	const gp__predictor *first = (const gp__predictor *)s->block, *last = gp__last_layer(s);
	gp__y_row row = gp__served_row(last);
	const odvgp_draws draws = {2, 5};
	served_all all = {0, 0, ODVGP_OK, NULL};
	ptrdiff_t F = s->F, y = s->y_rows, room;
	odvgp_real *X, *Y, *mean, *other, *hessian;
	void *scratch;
	size_t need, most;
	if (s->D > MOST_D || F > WIDEST || s->P > WIDEST || last->nodes > MOST_NODES ||
			first->samples > 100)
		return all;
	need = odvgp_predict_scratch(s, n, NULL), most = odvgp_sample_scratch(s, n, NULL);
	if (!need || !most || need > LARGEST || most > LARGEST) return all;
	size_t slopes = odvgp_predict_gradient_scratch(s, n, NULL);
	if (slopes > LARGEST) return all;
	most = most > slopes ? most : slopes;
	room = F * n * (F + n + s->D) + y * n;
	scratch = malloc(need > most ? need : most);
	X = (odvgp_real *)malloc((size_t)(n * (s->D + gp__y_columns(&row))) * sizeof *X);
	Y = X + n * s->D;
	mean = (odvgp_real *)malloc((size_t)(2 * room + F * n * s->D * s->D) * sizeof *mean);
	other = mean + room, hessian = other + room;
	kind_data(X, Y, n, s->D, row);
#define SERVED(call, x, count) served_note(&all, call, #call, x, count)
	SERVED(odvgp_predict(s, X, n, mean, other, scratch, need, NULL), mean, F * n);
	SERVED(odvgp_predict_y(s, X, n, mean, other, scratch, need, NULL), mean, y * n);
	SERVED(odvgp_predict_logp(s, X, Y, n, mean, scratch, need, NULL), mean, n);
	SERVED(odvgp_predict_cov(s, X, n, mean, other, scratch, need, NULL), other, F * n * n);
	SERVED(odvgp_predict_functions(s, X, n, mean, other, scratch, need, NULL), other, F * F * n);
	const odvgp_gradient gradient = {NULL, NULL, mean, other, hessian, NULL};
	SERVED(odvgp_predict_gradient(s, X, n, &gradient, scratch, most, NULL), mean, F * n * s->D);
	SERVED(odvgp_sample(s, X, n, &draws, mean, scratch, most, NULL), mean, 2 * F * n);
#undef SERVED
	free(scratch), free(X), free(mean);
	return all;
}

#endif

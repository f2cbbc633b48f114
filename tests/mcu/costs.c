/*  costs.c DIR [NAME...]   exports the models of costs.h, with libm and without, to DIR/NAME.libm.h
    and DIR/NAME.own.h, and writes rows of inputs to DIR/NAME.rows.h.
    costs counts        prints of each what bench/peers/costs_fit.py needs: numbers of cores.h */
#define ODVGP_FLOAT
#define ODVGP_KEEP_NAMES
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include "costs.h"
#include "cores.h"
#include "smooth.h"

enum { ROWS = 8, MOST_D = 10, MOST_P = 4 };

static float X[COST_N * MOST_D], y[COST_N * MOST_P];

static void stop_on(odvgp_status status, const char *name, const odvgp_info *info)
{
	if (!status) return;
	fprintf(stderr, "costs: %s: %s\n", name, info->text);
	exit(1);
}

static FILE *file_of(const char *dir, const char *name, const char *suffix)
{
	char path[1000];
	snprintf(path, sizeof path, "%s/%s.%s.h", dir, name, suffix);
	FILE *f = fopen(path, "w");
	if (f) return f;
	perror(path);
	exit(1);
}

static int write_text(void *user, const char *text, size_t bytes)
{
	return fwrite(text, 1, bytes, (FILE *)user) != bytes;
}

/*  A target that every likelihood takes, from a number of about 1. */
static float target_of(const odvgp_config *c, float f)
{
	switch (c->lik.kind) {
	case ODVGP_LIKELIHOOD_GAUSSIAN:
	case ODVGP_LIKELIHOOD_STUDENTT:
	case ODVGP_LIKELIHOOD_LAPLACE:
	case ODVGP_LIKELIHOOD_HETEROSCEDASTIC: return f;
	case ODVGP_LIKELIHOOD_BERNOULLI:
	case ODVGP_LIKELIHOOD_LOGIT: return f > 0;
	case ODVGP_LIKELIHOOD_EXPONENTIAL:
	case ODVGP_LIKELIHOOD_GAMMA: return expf(f);
	case ODVGP_LIKELIHOOD_BETA: return 0.5f + 0.4f * tanhf(f);
	case ODVGP_LIKELIHOOD_ROBUSTMAX:
	case ODVGP_LIKELIHOOD_SOFTMAX: return f < -0.4f ? 0 : f < 0.4f || c->layer[0].P < 3 ? 1 : 2;
	default: return f < -0.4f ? 0 : f < 0.4f ? 1 : 2;
	}
}

static void export_shape(const cost_shape *s, const char *dir)
{
	static const char *const suffixes[] = {"libm", "own"};
	odvgp_config c = cost_config(s);
	float x_mean[MOST_D], x_scale[MOST_D];
	ptrdiff_t T = s->functions ? s->functions : s->P;
	odvgp_info info;
	odvgp_model *m;
	odvgp_server server;
	if (c.lik.kind >= ODVGP_LIKELIHOOD_ORDINAL) T = 1;
	smooth_units(x_mean, x_scale, s->D);
	for (ptrdiff_t i = 0; i < COST_N; i++) {
		float f = smooth_row(X + i * s->D, s->D);
		for (ptrdiff_t t = 0; t < T; t++)
			y[i * T + t] = target_of(&c, f + 0.1f * (uniform() - 0.5f));
	}
	stop_on(odvgp_model_create(&m, &c, X, y, NULL, &info), s->name, &info);
	stop_on(odvgp_fit(m, X, y, 30, NULL, &info), s->name, &info);
	size_t bytes = odvgp_predictor_size(m, &info);
	void *block = malloc(bytes);
	const odvgp_scales scales = {x_mean, x_scale, NULL, NULL};
	stop_on(odvgp_freeze(m, &scales, block, bytes, &info), s->name, &info);
	odvgp_model_free(m);
	stop_on(odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_C, &info), s->name, &info);
	size_t size = odvgp_export_scratch(&server, &info);
	void *scratch = malloc(size);
	for (int own = 0; own < 2; own++) {
		FILE *f = file_of(dir, s->name, suffixes[own]);
		const odvgp_export_settings e = {"f", s->wide ? 8 : 4, own, NULL, NULL, write_text, f};
		stop_on(odvgp_export(&server, &e, NULL, scratch, size, &info), s->name, &info);
		fclose(f);
	}
	FILE *f = file_of(dir, s->name, "rows");
	fprintf(f, "#define REAL %s\nenum { D = %d, F = %d, Y = %d, ROWS = %d };\n",
			s->wide ? "double" : "float", (int)s->D, (int)server.F, (int)server.y_rows, ROWS);
	fprintf(f, "static const REAL rows[] = {");
	for (ptrdiff_t i = 0; i < ROWS * s->D; i++)
		fprintf(f, "%.9g,",
				(double)(x_mean[i % s->D] + x_scale[i % s->D] * (3 * uniform() - 1.5f)));
	fprintf(f, "};\n");
	fclose(f);
	free(scratch);
	free(block);
}

static void print_counts(const cost_shape *s)
{
	odvgp_config c = cost_config(s);
	core_counts n = core_counts_of(&c, s->kernel, NULL);
	(void)core_estimate_of; /* only the tool estimates */
	const core_work *const works[] = {&n.mean, &n.moments, &n.gradient, &n.y};
	printf("%s %d %d %g %g %g %g %g", s->name, s->wide, n.outputs, n.tables, core_y_numbers(&c),
			n.stack, n.stack_y, n.stack_gradient);
	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < OPERATIONS; i++) printf(" %g", works[k]->run[i]);
		for (int i = 0; i < OPERATIONS; i++) printf(" %g", works[k]->code[i]);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	for (int i = 0; i < COST_FITTED + COST_HELD; i++) {
		const cost_shape *s = i < COST_FITTED ? &cost_fitted[i] : &cost_held[i - COST_FITTED];
		int named = argc < 3;
		for (int k = 2; k < argc; k++) named |= !strcmp(argv[k], s->name);
		if (argc > 1 && !strcmp(argv[1], "counts")) print_counts(s);
		else if (named) export_shape(s, argv[1]);
	}
	return 0;
}

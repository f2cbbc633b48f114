/*  cases.c DIR   trains the models that `make mcu` serves, on fixed data, and writes for each
        DIR/cases/NAME.h        the frozen block, its compact one, rows, the answers of this machine
                                and how far others may differ
        DIR/exports/NAME.h      what odvgp_export makes of the block
        DIR/exports/NAME.costs  a line for each core of examples/tool/cores.h: instructions of mean,
                                moments and gradient, bytes of flash and of stack
        DIR/exports/NAME.case.h rows for an export that has no case: its self-test has answers
    and, for moments of y of every likelihood,
        DIR/moments.h           compact blocks, rows and this machine's answers
    and, of each kind of kernel,
        DIR/times.h             compact blocks of small models */
#define ODVGP_FLOAT
#define ODVGP_KEEP_NAMES
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <float.h>
#include <stdio.h>
#include "shapes.h"
#include "cores.h"
#include "smooth.h"

enum { N = MCU_N, STEPS = 300, ROWS = 8, MOST_D = 10, MOST_P = 3, MOST_FLOATS = 60000 };

/*  Mean, variance and their gradients [D] at one row each. */
typedef struct {
	float mean[ROWS], var[ROWS], dmean[ROWS * MOST_D], dvar[ROWS * MOST_D];
} answers;

static float X[N * MOST_D], y[N * MOST_P], block[MOST_FLOATS], compact[MOST_FLOATS],
		scratch[MOST_FLOATS * 4];

static void stop_on(odvgp_status status, const odvgp_info *info)
{
	if (!status) return;
	fprintf(stderr, "cases: %s\n", info->text);
	exit(1);
}

/*  Trains and freezes a model of a smooth function of all inputs, with a unit and an offset of its
    own in each column. */
static size_t freeze(const mcu_shape *c)
{
	float x_mean[MOST_D], x_scale[MOST_D], y_mean[] = {3, 4, 5}, y_scale[] = {6, 5, 4};
	odvgp_info info;
	odvgp_model *model;
	ptrdiff_t T = c->functions ? c->functions : c->P;
	smooth_units(x_mean, x_scale, c->D);
	for (ptrdiff_t i = 0; i < N; i++) {
		float f = smooth_row(X + i * c->D, c->D);
		for (ptrdiff_t t = 0; t < T; t++) y[i * T + t] = f + 0.1f * (uniform() - 0.5f);
	}
	odvgp_config config = mcu_config(c);
	stop_on(odvgp_model_create(&model, &config, X, y, NULL, &info), &info);
	stop_on(odvgp_fit(model, X, y, c->exported ? 30 : STEPS, NULL, &info), &info);
	size_t bytes = odvgp_predictor_size(model, &info);
	const odvgp_scales scales = {x_mean, x_scale, y_mean, y_scale};
	stop_on(odvgp_freeze(model, &scales, block, sizeof block, &info), &info);
	odvgp_model_free(model);
	/* Rows in the units of the model: inside the data, the fourth far away. */
	for (ptrdiff_t i = 0; i < ROWS * c->D; i++) {
		float far_away = i / c->D == 3 ? 100 : 1, x = far_away * (3 * uniform() - 1.5f);
		X[i] = x_mean[i % c->D] + x_scale[i % c->D] * x;
	}
	return bytes;
}

static answers answer(size_t bytes, odvgp_isa isa, const float *at, ptrdiff_t D)
{
	answers a;
	odvgp_info info;
	odvgp_server server;
	stop_on(odvgp_server_from_block(&server, block, bytes, isa, &info), &info);
	for (ptrdiff_t i = 0; i < ROWS; i++) {
		const odvgp_gradient to = {
				a.mean + i, a.var + i, a.dmean + i * D, a.dvar + i * D, NULL, NULL};
		stop_on(odvgp_predict_gradient(&server, at + i * D, 1, &to, scratch, sizeof scratch, &info),
				&info);
		stop_on(odvgp_predict(&server, at + i * D, 1, a.mean + i, a.var + i, scratch,
						sizeof scratch, &info),
				&info);
	}
	return a;
}

static FILE *file_of(const char *dir, const char *kind, const char *name, const char *suffix)
{
	char path[1000];
	snprintf(path, sizeof path, "%s/%s/%s%s", dir, kind, name, suffix);
	FILE *f = fopen(path, "w");
	if (f) return f;
	perror(path);
	exit(1);
}

static int write_text(void *user, const char *text, size_t bytes)
{
	return fwrite(text, 1, bytes, (FILE *)user) != bytes;
}

static void export_case(const odvgp_server *server, const mcu_shape *c, const char *dir)
{
	odvgp_info info;
	odvgp_export_costs costs;
	odvgp_config config = mcu_config(c);
	FILE *f = file_of(dir, "exports", c->name, ".h");
	const odvgp_export_settings settings = {c->name, c->wide ? 8 : 4, 1, NULL, NULL, write_text, f};
	stop_on(odvgp_export(server, &settings, &costs, scratch, sizeof scratch, &info), &info);
	fclose(f);
	f = file_of(dir, "exports", c->name, ".costs");
	for (int core = 0; core < CORES; core++) {
		core_estimate e = core_estimate_of(&config, c->kernel, NULL, c->wide, 0, core);
		fprintf(f, "%s %.0f %.0f %.0f %.0f %.0f %.0f\n", cores[core].word, e.mean, e.moments,
				e.gradient, e.flash, e.stack, e.stack_gradient);
	}
	fclose(f);
}

static float largest_difference(const float *a, const float *b, ptrdiff_t n)
{
	float most = 0;
	for (ptrdiff_t i = 0; i < n; i++) most = fmaxf(most, fabsf(a[i] - b[i]));
	return most;
}

static float largest(const float *a, ptrdiff_t n)
{
	static const float zero[ROWS * MOST_D];
	return largest_difference(a, zero, n);
}

/*  Of an export whose self-test has the answers: rows. */
static void write_export(const mcu_shape *c, const char *dir)
{
	odvgp_info info;
	odvgp_server server;
	size_t bytes = freeze(c);
	stop_on(odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_C, &info), &info);
	export_case(&server, c, dir);
	FILE *f = file_of(dir, "exports", c->name, ".case.h");
	fprintf(f, "enum { MCU_D = %d, MCU_F = %d, MCU_ROWS = %d };\n", (int)c->D, (int)server.F, ROWS);
	fprintf(f, "static const MCU_REAL mcu_x[] = {");
	for (ptrdiff_t i = 0; i < ROWS * c->D; i++) fprintf(f, "%.9g,", (double)X[i]);
	fprintf(f, "};\n");
	fclose(f);
}

static void print_floats(FILE *f, const char *name, const float *v, ptrdiff_t n)
{
	fprintf(f, "static const float mcu_%s[] = {", name);
	for (ptrdiff_t i = 0; i < n; i++) fprintf(f, "%s%af,", i % 6 ? " " : "\n", (double)v[i]);
	fprintf(f, "\n};\n");
}

static void print_block(FILE *f, const char *name, const float *words, size_t bytes)
{
	fprintf(f, "static const uint32_t mcu_%s[] = {", name);
	for (size_t i = 0; i < bytes / 4; i++) {
		uint32_t word;
		memcpy(&word, &words[i], 4);
		fprintf(f, "%s0x%08lx,", i % 8 ? " " : "\n", (unsigned long)word);
	}
	fprintf(f, "\n};\n");
}

/*  What one machine may differ from another: the condition is what answers here change by, when
    inputs move by some rounding errors and sums take another order; four times that, and 64
    rounding errors of the largest answer. */
static void write_case(const mcu_shape *c, const char *dir)
{
	FILE *f = file_of(dir, "cases", c->name, ".h");
	size_t bytes = freeze(c);
	ptrdiff_t n = ROWS * c->D;
	answers a = answer(bytes, ODVGP_ISA_C, X, c->D);
	float spread[4] = {0, 0, 0, 0};
	for (int k = 0; k < 20; k++) {
		float moved[ROWS * MOST_D];
		for (ptrdiff_t i = 0; i < n; i++)
			moved[i] = X[i] + (k ? 4 * FLT_EPSILON * (uniform() - 0.5f) * X[i] : 0);
		answers b = answer(bytes, ODVGP_ISA_AUTO, moved, c->D);
		spread[0] = fmaxf(spread[0], largest_difference(a.mean, b.mean, ROWS));
		spread[1] = fmaxf(spread[1], largest_difference(a.var, b.var, ROWS));
		spread[2] = fmaxf(spread[2], largest_difference(a.dmean, b.dmean, n));
		spread[3] = fmaxf(spread[3], largest_difference(a.dvar, b.dvar, n));
	}
	const float most[4] = {
			largest(a.mean, ROWS), largest(a.var, ROWS), largest(a.dmean, n), largest(a.dvar, n)};
	fprintf(f, "/* %s, %s; written by tests/mcu/cases.c */\n", c->name, c->kernel);
	fprintf(f, "enum { MCU_D = %d, MCU_F = 1, MCU_ROWS = %d };\n", (int)c->D, ROWS);
	print_block(f, "block", block, bytes);
	odvgp_info info;
	odvgp_server server;
	stop_on(odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_C, &info), &info);
	stop_on(odvgp_compact(&server, compact, sizeof compact, &info), &info);
	print_block(f, "compact", compact, odvgp_compact_size(&server, NULL));
	fprintf(f, "enum { MCU_SCRATCH = %d, MCU_SCRATCH_GRADIENT = %d };\n",
			(int)odvgp_compact_scratch(&server, NULL),
			(int)odvgp_compact_gradient_scratch(&server, NULL));
	export_case(&server, c, dir);
	print_floats(f, "x", X, n);
	print_floats(f, "mean_want", a.mean, ROWS);
	print_floats(f, "var_want", a.var, ROWS);
	print_floats(f, "dmean_want", a.dmean, n);
	print_floats(f, "dvar_want", a.dvar, n);
	float tolerance[4];
	for (int k = 0; k < 4; k++) tolerance[k] = 4 * spread[k] + 64 * FLT_EPSILON * most[k];
	print_floats(f, "tolerance", tolerance, 4);
	fclose(f);
	printf("%-16s largest mean %.3g var %.3g dmean %.3g dvar %.3g; relative tolerances", c->name,
			(double)most[0], (double)most[1], (double)most[2], (double)most[3]);
	for (int k = 0; k < 4; k++) printf(" %.1g", (double)(tolerance[k] / most[k]));
	printf("\n");
}

/* ---- moments of y ---- */

enum { Y_ROWS = 3, Y_D = 2, Y_CLASSES = 3 };

/*  A target of the likelihood, from a function of the inputs in [-1, 1]. */
static float target_of(odvgp_likelihood kind, float f)
{
	const float step = f < -0.4f ? 0 : f < 0.4f ? 1 : 2;
	switch (kind) {
	case ODVGP_LIKELIHOOD_BERNOULLI:
	case ODVGP_LIKELIHOOD_LOGIT: return f > 0;
	case ODVGP_LIKELIHOOD_POISSON:
	case ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL:
	case ODVGP_LIKELIHOOD_ORDINAL:
	case ODVGP_LIKELIHOOD_ROBUSTMAX:
	case ODVGP_LIKELIHOOD_SOFTMAX: return step;
	case ODVGP_LIKELIHOOD_EXPONENTIAL:
	case ODVGP_LIKELIHOOD_GAMMA: return expf(f);
	case ODVGP_LIKELIHOOD_BETA: return 0.5f + 0.4f * f;
	default: return f;
	}
}

static odvgp_config config_of_likelihood(odvgp_likelihood kind)
{
	const int classes = kind == ODVGP_LIKELIHOOD_ROBUSTMAX || kind == ODVGP_LIKELIHOOD_SOFTMAX;
	odvgp_config c = odvgp_config_defaults(N, Y_D, 1, 12, 24);
	c.layer[0].kernel = "rbf(ard)";
	c.lik.kind = kind;
	if (classes) c.layer[0].P = Y_CLASSES;
	if (kind == ODVGP_LIKELIHOOD_ORDINAL) c.lik.classes = Y_CLASSES;
	if (kind == ODVGP_LIKELIHOOD_HETEROSCEDASTIC) c.layer[0].P = 2;
	c.optim.batch = 100;
	c.isa = ODVGP_ISA_C;
	return c;
}

/*  Whether y's variance is p (1 - p), of its mean p. */
static int is_chance(odvgp_likelihood kind)
{
	return kind == ODVGP_LIKELIHOOD_BERNOULLI || kind == ODVGP_LIKELIHOOD_LOGIT ||
		   kind == ODVGP_LIKELIHOOD_ORDINAL || kind == ODVGP_LIKELIHOOD_ROBUSTMAX ||
		   kind == ODVGP_LIKELIHOOD_SOFTMAX;
}

/*  Writes the block of one likelihood and its answers; returns y_rows. What a controller's
    arithmetic may differ is what moving the inputs by some rounding errors changes, and two parts
    in 100,000 of the largest answer: both integrate in float, by different rules. Where p is near 1,
    p (1 - p) is smaller than p's roundings; it may differ by eight of them, times its derivative. */
static int write_moments_of(FILE *f, odvgp_likelihood kind, const float *at)
{
	const char *name = gp__likelihoods[kind].name;
	odvgp_config c = config_of_likelihood(kind);
	float mean[2][Y_ROWS * Y_CLASSES], var[2][Y_ROWS * Y_CLASSES], moved[Y_ROWS * Y_D];
	float allowed[2] = {0, 0}, roundings = 0;
	odvgp_info info;
	odvgp_model *m;
	odvgp_server s;
	for (int i = 0; i < N; i++)
		y[i] = target_of(kind, 0.5f * sinf(2 * X[Y_D * i]) + 0.5f * sinf(3 * X[Y_D * i + 1]));
	stop_on(odvgp_model_create(&m, &c, X, y, NULL, &info), &info);
	stop_on(odvgp_fit(m, X, y, 60, NULL, &info), &info);
	stop_on(odvgp_freeze(m, NULL, block, sizeof block, &info), &info);
	odvgp_model_free(m);
	stop_on(odvgp_server_from_block(&s, block, sizeof block, ODVGP_ISA_C, &info), &info);
	stop_on(odvgp_compact(&s, compact, sizeof compact, &info), &info);
	const int rows = (int)s.y_rows, n = rows * Y_ROWS;
	for (int k = 0; k < 20; k++) {
		const int to = k > 0;
		for (int i = 0; i < Y_ROWS * Y_D; i++)
			moved[i] = at[i] + (k ? 4 * FLT_EPSILON * (uniform() - 0.5f) * at[i] : 0);
		stop_on(odvgp_predict_y(
						&s, moved, Y_ROWS, mean[to], var[to], scratch, sizeof scratch, &info),
				&info);
		for (int i = 0; i < n && k; i++) {
			allowed[0] = fmaxf(allowed[0], 4 * fabsf(mean[1][i] - mean[0][i]));
			allowed[1] = fmaxf(allowed[1], 4 * fabsf(var[1][i] - var[0][i]));
		}
	}
	allowed[0] += 2e-5f * largest(mean[0], n);
	if (!is_chance(kind)) allowed[1] += 2e-5f * largest(var[0], n);
	for (int i = 0; i < n && is_chance(kind); i++) {
		const float p = mean[0][i];
		roundings = fmaxf(roundings, 8 * FLT_EPSILON * (p * fabsf(1 - 2 * p) + p * (1 - p)));
	}
	allowed[1] += roundings;
	print_block(f, name, compact, odvgp_compact_size(&s, NULL));
	fprintf(f, "static const float want_%s[] = {", name);
	for (int i = 0; i < Y_ROWS; i++)
		for (int k = 0; k < rows; k++)
			fprintf(f, "%af, %af,", (double)mean[0][k * Y_ROWS + i],
					(double)var[0][k * Y_ROWS + i]);
	fprintf(f, "};\n#define CASE_%d {\"%s\", mcu_%s, sizeof mcu_%s, want_%s, %d, {%af, %af}},\n",
			(int)kind, name, name, name, name, rows, (double)allowed[0], (double)allowed[1]);
	return rows;
}

static void write_moments(const char *dir)
{
	FILE *f = file_of(dir, "", "moments", ".h");
	float at[Y_ROWS * Y_D];
	int most = 0;
	for (int i = 0; i < N * Y_D; i++) X[i] = 3 * uniform() - 1.5f;
	memcpy(at, X, sizeof at);
	for (int kind = 0; kind < ODVGP_LIKELIHOOD_COUNT; kind++) {
		const int rows = write_moments_of(f, (odvgp_likelihood)kind, at);
		most = rows > most ? rows : most;
	}
	fprintf(f, "enum { MOMENTS_D = %d, MOMENTS_ROWS = %d, MOMENTS_Y = %d };\n", Y_D, Y_ROWS, most);
	fprintf(f, "static const float moments_x[][%d] = {", Y_D);
	for (int i = 0; i < Y_ROWS; i++)
		fprintf(f, "{%af, %af},", (double)at[Y_D * i], (double)at[Y_D * i + 1]);
	fprintf(f, "};\ntypedef struct {\n\tconst char *name;\n\tconst uint32_t *block;\n"
			   "\tsize_t bytes;\n\tconst float *want;\n\tint y_rows;\n\tfloat allowed[2];\n"
			   "} moments_case;\nstatic const moments_case moments[] = {\n");
	for (int kind = 0; kind < ODVGP_LIKELIHOOD_COUNT; kind++) fprintf(f, "CASE_%d\n", kind);
	fprintf(f, "};\n");
	fclose(f);
}

/*  Small models whose predictions take the same time for any input: each base kernel of a distance, a
    sum, a product, SOLVE-GP. */
static void write_times(const char *dir)
{
	static const struct {
		const char *name, *kernel;
		int blocks;
	} all[] = {{"rbf", "rbf(ard)", 0}, {"matern12", "matern12(ard)", 0},
			{"matern32", "matern32(ard)", 0}, {"matern52", "matern52(ard)", 0},
			{"rq", "rq(ard)", 0}, {"periodic", "periodic(ard)", 0},
			{"sum", "rbf(ard) + matern52(ard)", 0}, {"product", "matern12(ard) * matern32(ard)", 0},
			{"solve", "rbf(ard)", 1}};
	enum { KERNELS = sizeof all / sizeof *all };
	FILE *f = file_of(dir, "", "times", ".h");
	for (int k = 0; k < KERNELS; k++) {
		mcu_shape shape = {all[k].name, 4, 6, 2, 1, MCU_ORTH, all[k].kernel, 0, 0, MCU_ZERO, 1, 0};
		odvgp_info info;
		odvgp_server s;
		if (all[k].blocks) {
			shape.mean_part = ODVGP_MEAN_PART_BLOCKS;
			shape.cov_part = ODVGP_COV_PART_BLOCKS;
		}
		const size_t bytes = freeze(&shape);
		stop_on(odvgp_server_from_block(&s, block, bytes, ODVGP_ISA_C, &info), &info);
		stop_on(odvgp_compact(&s, compact, sizeof compact, &info), &info);
		print_block(f, all[k].name, compact, odvgp_compact_size(&s, NULL));
	}
	fprintf(f, "enum { TIMES_D = 2 };\ntypedef struct {\n\tconst char *name;\n"
			   "\tconst uint32_t *block;\n\tsize_t bytes;\n} times_case;\n"
			   "static const times_case times[] = {\n");
	for (int k = 0; k < KERNELS; k++)
		fprintf(f, "\t\t{\"%s\", mcu_%s, sizeof mcu_%s},\n", all[k].name, all[k].name, all[k].name);
	fprintf(f, "};\n");
	fclose(f);
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : ".";
	for (int i = 0; i < MCU_SHAPES; i++)
		(mcu_shapes[i].exported ? write_export : write_case)(&mcu_shapes[i], dir);
	write_moments(dir);
	write_times(dir);
	return 0;
}

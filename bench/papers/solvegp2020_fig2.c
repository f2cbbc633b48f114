/*  solvegp2020_fig2.c - figure 2 of Shi, Titsias and Mnih (AISTATS 2020): a one-dimensional set,
    learned with 5 inducing points, with ODVGP's 5 + 100, with SOLVE-GP's 5 + 5 and with 10, beside
    exact GP regression.

        make solvegp2020-fig2 DATA=dir
        build/solvegp2020_fig2 --data FILE --out DIR, see --help

    Adam maximises each model's bound with the best q, a function of hyperparameters and inducing
    inputs (config.objective), from several starts, and the best is kept: the comparison is of what
    the models can do, not of where a training stops. Exact GP regression maximises log p(y) itself.
    The hyperparameters start where the paper's do. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "plot.h"
#include "table.h"
#include <time.h>
#include "figure_data.h"

enum { GRID = 301 };

/* clang-format off */
static const char usage[] =
    "usage: solvegp2020_fig2 --data FILE [--out DIR] [--rows N] [--steps N] [--starts N]\n"
    "  --data FILE   a CSV file with one input column and the target\n"
    "  --out DIR     where solvegp2020-fig2.svg goes, default build; it must exist\n"
    "  --rows N      rows of the file to use, chosen at random, default 100\n"
    "  --steps N     Adam steps from each start, default 4000\n"
    "  --starts N    starts, default 10\n";
/* clang-format on */

typedef struct way {
	const char *name, *title;
	odvgp_mean_part mean;
	odvgp_cov_part cov;
	odvgp_objective objective;
	ptrdiff_t M, Mg;
} way;

/*  The last one is exact GP regression; its M is the number of rows. */
static const way ways[] = {
		{"5", "5 inducing points", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE,
				ODVGP_OBJECTIVE_COLLAPSED, 5, 0},
		{"ODVGP 5+100", "ODVGP, 5 + 100", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_DENSE,
				ODVGP_OBJECTIVE_COLLAPSED, 5, 100},
		{"SOLVE-GP 5+5", "SOLVE-GP, 5 + 5", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS,
				ODVGP_OBJECTIVE_COLLAPSED, 5, 5},
		{"10", "10 inducing points", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE,
				ODVGP_OBJECTIVE_COLLAPSED, 10, 0},
		{"exact GP", NULL, ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, ODVGP_OBJECTIVE_EXACT, 0,
				0},
};
enum { WAYS = sizeof ways / sizeof *ways, PANELS = WAYS - 1 };

static struct {
	const char *out;
	ptrdiff_t rows, steps;
	int starts;
} option = {"build", 100, 4000, 10};

typedef struct result {
	/* The bound; log p(y) of an exact GP with the same hyperparameters; the bound from the worst
       start. */
	double bound, same_logp, worst;
	double lengthscale, variance, noise;
	/* Inducing inputs. */
	double Z[128], Zg[128];
	double mean[GRID], sd[GRID];
	/* Of that exact GP. */
	double same_mean[GRID], same_sd[GRID];
} result;

static odvgp_model *start_of(const way *w, const dataset *d, int start, void **block)
{
	odvgp_info info;
	ptrdiff_t M = w->objective == ODVGP_OBJECTIVE_EXACT ? d->N : w->M;
	odvgp_config cfg = odvgp_config_defaults(d->N, 1, 1, M, w->Mg);
	/* The paper's. */
	cfg.positive_transform = ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
	cfg.layer[0].mean_part = w->mean, cfg.layer[0].cov_part = w->cov, cfg.objective = w->objective;
	cfg.layer[0].kernel = "rbf(1, variance=1)";
	cfg.lik.noise_variance = 0.1;
	cfg.optim.batch = d->N;
	cfg.optim.natgrad = 0;
	cfg.optim.lr = odvgp_falling(0.05, 0.001, option.steps);
	cfg.jitter.relative = 1e-8;
	odvgp_model *model = model_empty(&cfg, block);
	/* Each start has its own order of rows: the first are beta, the next gamma, and after the last
       row the first one follows. */
	double *Z = reserve_reals(M + w->Mg);
	ptrdiff_t *order = random_order(d->N, (uint64_t)start + 7);
	for (ptrdiff_t i = 0; i < M + w->Mg; i++) Z[i] = d->X[order[i % d->N]];
	check(odvgp_set(model, "Z_beta", Z, M, &info), w->name, &info);
	if (w->Mg) check(odvgp_set(model, "Z_gamma", Z + M, w->Mg, &info), w->name, &info);
	free(Z);
	free(order);
	check(odvgp_init_q(model, &info), w->name, &info);
	return model;
}

static double bound_of(odvgp_model *model, const dataset *d)
{
	odvgp_info info;
	double bound;
	check(odvgp_elbo(model, d->X, d->y, d->N, &bound, NULL, NULL, &info), "bound", &info);
	return bound;
}

static void fit_and_predict(
		odvgp_model *model, const dataset *d, const double *grid, double *mean, double *sd)
{
	odvgp_info info;
	fit_q(model, d);
	check(odvgp_predict_once(model, grid, GRID, mean, sd, NULL, &info), "prediction", &info);
	for (int i = 0; i < GRID; i++) sd[i] = sqrt(sd[i]);
}

static void learn(const way *w, const dataset *d, const double *grid, result *r)
{
	int exact = w->objective == ODVGP_OBJECTIVE_EXACT;
	void *best_block = NULL, *block;
	odvgp_model *best = NULL;
	r->bound = -HUGE_VAL, r->worst = HUGE_VAL;
	/* Exact regression has no inducing inputs in which starts could differ. */
	for (int s = 0; s < (exact ? 1 : option.starts); s++) {
		odvgp_model *model = start_of(w, d, s, &block);
		check(odvgp_fit(model, d->X, d->y, option.steps, NULL, NULL), w->name, NULL);
		double bound = bound_of(model, d);
		if (bound < r->worst) r->worst = bound;
		if (bound > r->bound) {
			free(best_block);
			r->bound = bound, best = model, best_block = block;
		} else free(block);
	}
	check(odvgp_get(best, "kernel.0.lengthscale", &r->lengthscale, 1, NULL), w->name, NULL);
	check(odvgp_get(best, "kernel.0.variance", &r->variance, 1, NULL), w->name, NULL);
	check(odvgp_get(best, "noise_variance", &r->noise, 1, NULL), w->name, NULL);
	if (!exact) check(odvgp_get(best, "Z_beta", r->Z, w->M, NULL), w->name, NULL);
	if (w->Mg) check(odvgp_get(best, "Z_gamma", r->Zg, w->Mg, NULL), w->name, NULL);

	odvgp_model *same = start_of(&ways[WAYS - 1], d, 0, &block);
	copy_slots(same, best, "kernel.");
	copy_slots(same, best, "noise_variance");
	r->same_logp = bound_of(same, d);
	fit_and_predict(same, d, grid, r->same_mean, r->same_sd);
	free(block);
	fit_and_predict(best, d, grid, r->mean, r->sd);
	free(best_block);
}

/*  Compares two predictions: the root mean squared difference of the means where the data are, and
    the ratio of the mean sd there and beyond. */
typedef struct compared {
	double rmse, within, beyond;
} compared;

static compared compare(const double *grid, const dataset *d, const double *mean, const double *sd,
		const double *mean0, const double *sd0)
{
	double lo = HUGE_VAL, hi = -HUGE_VAL, square = 0, n = 0, sum[2] = {0, 0}, sum0[2] = {0, 0};
	for (ptrdiff_t i = 0; i < d->N; i++) lo = fmin(lo, d->X[i]), hi = fmax(hi, d->X[i]);
	for (int i = 0; i < GRID; i++) {
		int out = grid[i] < lo || grid[i] > hi;
		sum[out] += sd[i], sum0[out] += sd0[i];
		if (!out) square += (mean[i] - mean0[i]) * (mean[i] - mean0[i]), n++;
	}
	compared c = {sqrt(square / n), sum[0] / sum0[0], sum[1] / sum0[1]};
	return c;
}

static void print_table(const result *r, const dataset *d, const double *grid)
{
	const result *exact = &r[WAYS - 1];
	const char *rule = "%-13s %8s %8s %8s %8s %8s   %8s %8s %8s   %8s %8s %8s\n";
	printf("beside exact GP regression, where the data are and beyond: rmse of the mean, mean sd "
		   "over its mean sd\n");
	printf(rule, "", "bound", "worst", "length-", "kernel", "noise", "trained", "sd", "sd",
			"the same", "sd", "log p(y)");
	printf(rule, "", "", "start", "scale", "variance", "variance", "rmse", "within", "beyond",
			"rmse", "within", "");
	for (int k = 0; k < WAYS; k++) {
		compared c = compare(grid, d, r[k].mean, r[k].sd, exact->mean, exact->sd);
		compared same = compare(grid, d, r[k].mean, r[k].sd, r[k].same_mean, r[k].same_sd);
		printf("%-13s %8.3f %8.3f %8.4f %8.4f %8.4f   %8.4f %8.3f %8.3f   %8.4f %8.3f %8.3f\n",
				ways[k].name, r[k].bound, r[k].worst, r[k].lengthscale, r[k].variance, r[k].noise,
				c.rmse, c.within, c.beyond, same.rmse, same.within, r[k].same_logp);
	}
	printf("trained: the last row; the same: exact GP regression with the hyperparameters of the "
		   "row\n");
}

static void draw(const result *r, const dataset *d, const double *grid)
{
	enum { ITEMS = 8 };
	static plot_item items[PANELS][ITEMS];
	static double low[WAYS][GRID], high[WAYS][GRID];
	plot_scene scenes[PANELS];
	const result *exact = &r[WAYS - 1];
	for (int k = 0; k < WAYS; k++)
		for (int i = 0; i < GRID; i++)
			low[k][i] = r[k].mean[i] - 2 * r[k].sd[i], high[k][i] = r[k].mean[i] + 2 * r[k].sd[i];
	for (int k = 0; k < PANELS; k++) {
		const plot_item all[ITEMS] = {
				{PLOT_POINTS, "data", d->X, d->y, NULL, (int)d->N, 6, 0},
				{PLOT_BAND, "\xC2\xB1 2 sd", grid, low[k], high[k], GRID, 0, 0},
				{PLOT_LINE, "exact GP", grid, exact->mean, NULL, GRID, 7, 2},
				{PLOT_LINE, NULL, grid, low[WAYS - 1], NULL, GRID, 7, 2},
				{PLOT_LINE, NULL, grid, high[WAYS - 1], NULL, GRID, 7, 2},
				{PLOT_LINE, "mean", grid, r[k].mean, NULL, GRID, 0, 0},
				{PLOT_RUG, "gamma", r[k].Zg, NULL, NULL, (int)ways[k].Mg, 1, 0},
				{PLOT_PLUS, "beta", r[k].Z, NULL, NULL, (int)ways[k].M, 1, 0},
		};
		memcpy(items[k], all, sizeof all);
		plot_scene s = {
				ways[k].title, "x", "y", items[k], ITEMS, grid[0], grid[GRID - 1], -2.3, 2.3, 0};
		scenes[k] = s;
	}
	size_t size = strlen(option.out) + 40;
	char *path = (char *)reserve(size);
	snprintf(path, size, "%s/solvegp2020-fig2.svg", option.out);
	if (plot_grid(path, NULL, scenes, PANELS, 2)) fail(path, "cannot be written");
	printf("%s\n", path);
	free(path);
}

int main(int argc, char **argv)
{
	const char *data = NULL;
	for (int i = 1; i < argc; i += 2) {
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (!strcmp(name, "--help") || !strcmp(name, "-h")) return fputs(usage, stdout) < 0;
		if (!value) fail(name, "not understood, or without a value; see --help");
		if (!strcmp(name, "--data")) data = value;
		else if (!strcmp(name, "--out")) option.out = value;
		else if (!strcmp(name, "--rows")) option.rows = atol(value);
		else if (!strcmp(name, "--steps")) option.steps = atol(value);
		else if (!strcmp(name, "--starts")) option.starts = atoi(value);
		else fail(name, "not understood; see --help");
	}
	if (!data) fail("solvegp2020_fig2", "--data is missing; see --help");
	if (option.rows < 0 || option.steps < 1 || option.starts < 1)
		fail("solvegp2020_fig2", "sizes are positive numbers");
	static result r[WAYS];
	dataset d = dataset_read(data, option.rows, NOTHING, 1);
	if (d.D != 1) fail(data, "one input column is expected");
	if (d.N < 10) fail(data, "has fewer rows than there are inducing points");
	double lo = HUGE_VAL, hi = -HUGE_VAL, grid[GRID], from = cpu_seconds();
	for (ptrdiff_t i = 0; i < d.N; i++) lo = fmin(lo, d.X[i]), hi = fmax(hi, d.X[i]);
	for (int i = 0; i < GRID; i++) grid[i] = lo - 1.5 + (hi - lo + 3) * i / (GRID - 1);
	for (int k = 0; k < WAYS; k++) {
		learn(&ways[k], &d, grid, &r[k]);
		fprintf(stderr, "%s: bound %.4f\n", ways[k].name, r[k].bound);
	}
	printf("%td rows, %d starts of %td steps each; %.0f seconds of one core\n", d.N, option.starts,
			option.steps, cpu_seconds() - from);
	print_table(r, &d, grid);
	draw(r, &d, grid);
	return 0;
}

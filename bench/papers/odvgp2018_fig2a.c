/*  odvgp2018_fig2a.c - figures 2a and 2b of Salimbeni, Cheng, Boots and Deisenroth (NeurIPS 2018):
    how fast the members of the family reach the best q when nothing else moves.

    Full batch, |beta| = |gamma| = 500, fixed inducing inputs and hyperparameters. With the Gaussian
    likelihood (2a) the optimum is known in closed form, with two classes (2b, --classes) it is what
    natural steps converge to.

        make odvgp2018-fig2a DATA=dir [STEPS=n]
        make study-odvgp-2b DATA=dir [STEPS=n]
        build/odvgp2018_fig2a prepare | run NAME... | report  [options], see --help

    prepare   trains an ORTHNAT model for some hundred steps, keeps its hyperparameters and inducing
              inputs in base.odvgp, and computes each member's optimum
    run       trains the named members from the initial q, writes a row of NAME.csv for each
    recorded
              step, and saves the model every 250 steps, so that an interrupted run continues there
    report    prints the table and draws odvgp2018-fig2a.svg from the rows there are

    A row holds: updates done, seconds of computation in these updates (without recording and
    saving), bound, and how far below the optimum it is, in nats per data point. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "plot.h"
#include "table.h"
#include <time.h>
#include "figure_data.h"

enum { BETA = 500, GAMMA = 500, PREPARE_STEPS = 400, SAVE_EVERY = 250, ROWS = 4096 };

/* clang-format off */
static const char usage[] =
    "usage: odvgp2018_fig2a prepare|run|report [NAME...] [--data FILE] [--out DIR] [--steps N] "
    "[--rows N] [--lr X] [--classes]\n"
    "  NAME          members to run, default all: "
    "COUPLED COUPLEDNAT ORTH ORTHNAT ORTHNAT-EXACT HYBRID HYBRIDNAT\n"
    "                HYBRIDNAT-EXACT DECOUPLED\n"
    "  --data FILE   a CSV file of numbers whose last column is the target; not needed by report\n"
    "  --out DIR     where everything is kept, default build/odvgp2018-fig2a; it must exist\n"
    "  --steps N     steps of each member, default 20000; members that have arrived stop earlier\n"
    "  --rows N      rows of the file to use, chosen at random, default 2000\n"
    "  --lr X        Adam's learning rate, default 0.001\n"
    "  --classes     figure 2b: targets 0 and 1; default folder build/odvgp2018-fig2b\n"
    "  --gamma-natgrad X   ...-EXACT: the natural step of gamma, in steps of beta, default 0.1\n";
/* clang-format on */

typedef struct member {
	const char *name;
	odvgp_mean_part mean;
	odvgp_cov_part cov;
	int natgrad;
	/* gamma_natgrad > 0: exact natural steps of gamma, of size natural_step times this. */
	double natural_step, gamma_natgrad;
	odvgp_gamma_coords coords;
} member;

/*  Adam's learning rate is the paper's. The paper's natural step of 0.005 is for minibatches; here
    every step sees all rows, so that a step of 1 would set q(u) to its optimum given gamma, and one
    of 0.5 halves the distance. Exact natural steps of gamma contract only below some size: 0.05
    does here, 0.1 does not. */
static const double adam_lr = 0.001, arrived = 1e-6;
static const member members[] = {
		{"COUPLED", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 0, 0, 0, ODVGP_GAMMA_COORDS_SCALED},
		{"COUPLEDNAT", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 1, 0.5, 0,
				ODVGP_GAMMA_COORDS_SCALED},
		{"ORTH", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 0, 0, 0, ODVGP_GAMMA_COORDS_SCALED},
		{"ORTHNAT", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 1, 0.5, 0,
				ODVGP_GAMMA_COORDS_SCALED},
		{"ORTHNAT-EXACT", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 1, 0.5, 0.1,
				ODVGP_GAMMA_COORDS_SCALED},
		{"HYBRID", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, 0, 0, 0,
				ODVGP_GAMMA_COORDS_SCALED},
		{"HYBRIDNAT", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, 1, 0.5, 0,
				ODVGP_GAMMA_COORDS_SCALED},
		{"HYBRIDNAT-EXACT", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, 1, 0.5, 0.1,
				ODVGP_GAMMA_COORDS_SCALED},
		{"DECOUPLED", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE, 0, 0, 0,
				ODVGP_GAMMA_COORDS_PLAIN},
};
enum { MEMBERS = sizeof members / sizeof *members, COUPLEDNAT = 1, ORTHNAT_EXACT = 4 };

static struct {
	const char *out;
	ptrdiff_t steps, rows;
	/* 0: as above. */
	double lr, gamma_natgrad;
	int classes;
} option = {NULL, 20000, 2000, 0, 0, 0};

/*  The picture's name, and that of the folder in build/. */
static const char *figure(void) { return option.classes ? "odvgp2018-fig2b" : "odvgp2018-fig2a"; }

/* ---- models in files ---- */

static void save(odvgp_model *model, const char *name, const void *user, size_t user_bytes)
{
	odvgp_info info;
	size_t bytes = odvgp_save_size(model, user_bytes, NULL);
	void *file = reserve(bytes);
	char *path = path_in(option.out, name, ".odvgp");
	check(odvgp_save_memory(model, NULL, user, user_bytes, file, bytes, &info), path, &info);
	check(odvgp_file_write(path, file, bytes, NULL), path, NULL);
	free(path);
	free(file);
}

/*  Loads NAME.odvgp and copies what was saved beside the model into `user`. Returns NULL if there
    is no file, or if it holds another size of that. */
static odvgp_model *load(const char *name, void *user, size_t user_bytes)
{
	static const odvgp_threads serial = {NULL, NULL, 0};
	odvgp_model *model = NULL;
	odvgp_info info;
	size_t bytes, block_bytes, had;
	const void *from;
	char *path = path_in(option.out, name, ".odvgp");
	bytes = odvgp_file_size(path, NULL);
	if (bytes) {
		void *file = reserve(bytes), *block;
		check(odvgp_file_read(path, &bytes, file, bytes, &info), path, &info);
		check(odvgp_load_user(file, bytes, &from, &had, &info), path, &info);
		if (had == user_bytes) {
			if (user_bytes) memcpy(user, from, user_bytes);
			block_bytes = odvgp_load_size(file, bytes, &serial, ODVGP_ISA_AUTO, &info);
			if (!block_bytes) check(info.status, path, &info);
			block = reserve(block_bytes);
			check(odvgp_load_memory(
						  &model, file, bytes, &serial, ODVGP_ISA_AUTO, block, block_bytes, &info),
					path, &info);
		}
		free(file);
	}
	free(path);
	return model;
}

/*  Sizes and the paper's settings. */
static odvgp_config config_start(const dataset *d)
{
	odvgp_config cfg = odvgp_config_defaults(d->N, d->D, 1, BETA, GAMMA);
	cfg.positive_transform = ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
	if (option.classes) cfg.lik.kind = ODVGP_LIKELIHOOD_BERNOULLI, cfg.lik.link_jitter = 1e-3;
	return cfg;
}

static odvgp_config config_of(const member *who, const dataset *d, const char *kernel)
{
	odvgp_config cfg = config_start(d);
	cfg.layer[0].mean_part = who->mean, cfg.layer[0].cov_part = who->cov;
	if (who->mean == ODVGP_MEAN_PART_BETA) cfg.layer[0].M_gamma = 0;
	/* alpha is beta and gamma. */
	if (who->mean == ODVGP_MEAN_PART_FREE) cfg.layer[0].M_gamma = BETA + GAMMA;
	cfg.layer[0].kernel = kernel;
	cfg.optim.natgrad = who->natgrad;
	cfg.optim.natgrad_step = odvgp_constant(who->natural_step > 0 ? who->natural_step : 0.1);
	if (who->gamma_natgrad > 0)
		cfg.optim.gamma_step = ODVGP_GAMMA_STEP_EXACT,
		cfg.optim.gamma_step_ratio = who->gamma_natgrad;
	if (option.gamma_natgrad > 0) cfg.optim.gamma_step_ratio = option.gamma_natgrad;
	cfg.reproduce.gamma_coords = who->coords;
	cfg.optim.lr = odvgp_constant(option.lr > 0 ? option.lr : adam_lr);
	cfg.optim.gamma_batch = 0;
	/* With fixed inducing inputs and all rows in one tile, kernel matrices and their solves are
       computed once. */
	cfg.optim.batch = cfg.tile = d->N;
	cfg.kernel_cache_bytes = (ptrdiff_t)256 << 20;
	return cfg;
}

/*  A member with the initial q and the base's hyperparameters and inducing inputs; only q moves. */
static odvgp_model *model_of(
		const member *who, const dataset *d, const odvgp_model *base, void **block)
{
	char kernel[400];
	odvgp_info info;
	odvgp_kernel_text(base, kernel, sizeof kernel);
	odvgp_config cfg = config_of(who, d, kernel);
	odvgp_model *model = model_empty(&cfg, block);
	copy_slots(model, base, "kernel.");
	copy_slots(model, base, "noise_variance");
	copy_slots(model, base, "Z_beta");
	if (who->mean == ODVGP_MEAN_PART_FREE) {
		double *Z = reserve_reals((BETA + GAMMA) * d->D);
		const char *name = odvgp_slot_find(model, "Z_alpha") ? "Z_alpha" : "Z_gamma";
		check(odvgp_get(base, "Z_beta", Z, BETA * d->D, NULL), name, NULL);
		check(odvgp_get(base, "Z_gamma", Z + BETA * d->D, GAMMA * d->D, NULL), name, NULL);
		check(odvgp_set(model, name, Z, (BETA + GAMMA) * d->D, &info), name, &info);
		free(Z);
	} else if (cfg.layer[0].M_gamma) copy_slots(model, base, "Z_gamma");
	check(odvgp_init_q(model, &info), who->name, &info);
	return model;
}

static void freeze_all_but_q(odvgp_model *model)
{
	odvgp_set_trainable(model, "kernel.*", 0, NULL);
	odvgp_set_trainable(model, "noise_variance", 0, NULL);
	odvgp_set_trainable(model, "Z_*", 0, NULL);
}

/*  Natural steps of a model whose q alone moves, until 50 of them gain less than 1e-9 nats per
    row. */
static void converge(odvgp_model *model, const dataset *d)
{
	enum { EACH = 50, MOST = 5000 };
	odvgp_info info;
	odvgp_report report;
	double before = -HUGE_VAL;
	freeze_all_but_q(model);
	for (int k = 0; k < MOST; k++) {
		check(odvgp_step(model, d->X, d->y, &report, &info), "optimum", &info);
		if (k % EACH) continue;
		if (report.elbo - before < 1e-9 * (double)d->N) return;
		before = report.elbo;
	}
	fail("optimum", "natural steps have not converged");
}

/*  Sets q to its optimum; returns the bound there. */
static double best_bound(odvgp_model *model, const dataset *d)
{
	odvgp_info info;
	double elbo;
	if (option.classes) converge(model, d);
	else fit_q(model, d);
	check(odvgp_elbo(model, d->X, d->y, d->N, &elbo, NULL, NULL, &info), "optimum", &info);
	return elbo;
}

/*  What base.odvgp holds beside the model. The file of a member's run holds its optimum too, and
    continues only on a base with the same one. */
typedef struct optima {
	double bound[MEMBERS];
} optima;

static void prepare(const dataset *d)
{
	optima best = {{0}};
	odvgp_info info;
	char kernel[400];
	int amplitude = option.classes ? 5 : 1;
	odvgp_model *base = load("base", &best, sizeof best);
	if (base && odvgp_model_config(base)->N == d->N &&
			odvgp_model_config(base)->layer[0].D == d->D) {
		printf("prepared before; remove %s/base.odvgp to do it again\n", option.out);
		return;
	}
	odvgp_config cfg = config_start(d);
	snprintf(kernel, sizeof kernel, "matern52(%.17g, variance=%d) + rbf(%.17g, variance=%d)",
			0.1 * sqrt(d->D), amplitude, sqrt(d->D), amplitude);
	cfg.layer[0].kernel = kernel;
	if (!option.classes) cfg.lik.noise_variance = 0.1;
	cfg.optim.lr = odvgp_constant(0.01);
	cfg.optim.natgrad_step =
			option.classes ? odvgp_rising(1e-5, 0.1, 100, 0.1, 1) : odvgp_constant(0.1);
	cfg.init.warm = 0;
	check(odvgp_model_create(&base, &cfg, d->X, d->y, NULL, &info), "base", &info);
	check(odvgp_fit(base, d->X, d->y, PREPARE_STEPS, NULL, NULL), "base", NULL);
	double noise;
	odvgp_kernel_text(base, kernel, sizeof kernel);
	printf("%td rows, %d inputs; after %d steps: %s", d->N, d->D, PREPARE_STEPS, kernel);
	if (!odvgp_get(base, "noise_variance", &noise, 1, NULL)) printf(", noise variance %.4f", noise);
	printf("\n");
	for (int i = 0; i < MEMBERS; i++) {
		void *block;
		/* Of classes, members with gamma have one optimum, found by exact steps of ORTH. */
		int finds = i;
		if (option.classes)
			finds = members[i].mean == ODVGP_MEAN_PART_BETA ? COUPLEDNAT : ORTHNAT_EXACT;
		if (best.bound[finds] < 0) {
			best.bound[i] = best.bound[finds];
			continue;
		}
		odvgp_model *model = model_of(&members[finds], d, base, &block);
		best.bound[i] = best.bound[finds] = best_bound(model, d);
		printf("%-14s optimum %.9f nats per point, jitter %.3g\n", members[i].name,
				best.bound[i] / (double)d->N, odvgp_model_events(model).jitter);
		fflush(stdout);
		free(block);
	}
	save(base, "base", &best, sizeof best);
}

/* ---- training ---- */

/*  What a member's file holds beside the model. */
typedef struct progress {
	member who;
	double optimum, lr, seconds;
} progress;

static int same_run(const progress *a, const progress *b)
{
	return a->who.mean == b->who.mean && a->who.cov == b->who.cov &&
		   a->who.natgrad == b->who.natgrad && a->who.natural_step == b->who.natural_step &&
		   a->who.gamma_natgrad == b->who.gamma_natgrad && a->who.coords == b->who.coords &&
		   a->optimum == b->optimum && a->lr == b->lr;
}

typedef struct curve {
	int n;
	double step[ROWS], seconds[ROWS], bound[ROWS], gap[ROWS];
} curve;

/*  Reads the rows of a file up to this step. */
static void curve_read(curve *c, const char *name, double last)
{
	char line[200], *path = path_in(option.out, name, ".csv");
	FILE *f = fopen(path, "r");
	c->n = 0;
	while (f && c->n < ROWS && fgets(line, sizeof line, f)) {
		int k = c->n;
		if (sscanf(line, "%lf,%lf,%lf,%lf", &c->step[k], &c->seconds[k], &c->bound[k],
					&c->gap[k]) == 4 &&
				c->step[k] <= last)
			c->n++;
	}
	if (f) fclose(f);
	free(path);
}

static void row_write(FILE *f, double step, double seconds, double bound, double gap)
{
	fprintf(f, "%.0f,%.4f,%.9f,%.6g\n", step, seconds, bound, gap);
	fflush(f);
}

/*  Keeps the rows up to this step; *gap receives the last row's. */
static FILE *curve_open(const char *name, double last, double *gap)
{
	static curve c;
	curve_read(&c, name, last);
	if (c.n) *gap = c.gap[c.n - 1];
	char *path = path_in(option.out, name, ".csv");
	FILE *f = fopen(path, "w");
	if (!f) fail(path, "cannot be written");
	fprintf(f, "step,cpu_seconds,bound,gap_per_point\n");
	for (int i = 0; i < c.n; i++) row_write(f, c.step[i], c.seconds[i], c.bound[i], c.gap[i]);
	free(path);
	return f;
}

/*  Is this step recorded? Up to 100 all are, up to 1000 every tenth, then every fiftieth, and
    always where the gap passes a power of ten. */
static int is_recorded(ptrdiff_t step, double gap, double before)
{
	return step <= 100 || (step <= 1000 && step % 10 == 0) || step % 50 == 0 ||
		   floor(log10(fmax(gap, 1e-12))) != floor(log10(fmax(before, 1e-12)));
}

static void run(const member *who, const dataset *d, const odvgp_model *base, double optimum)
{
	progress at, now;
	odvgp_info info;
	void *block = NULL;
	memset(&now, 0, sizeof now);
	now.who = *who;
	if (who->gamma_natgrad > 0 && option.gamma_natgrad > 0)
		now.who.gamma_natgrad = option.gamma_natgrad;
	now.optimum = optimum, now.lr = option.lr > 0 ? option.lr : adam_lr;
	odvgp_model *model = load(who->name, &at, sizeof at);
	if (model && same_run(&at, &now)) now.seconds = at.seconds;
	else model = model_of(who, d, base, &block);
	freeze_all_but_q(model);
	ptrdiff_t done = odvgp_steps_done(model);
	double gap = HUGE_VAL, before;
	FILE *f = curve_open(who->name, (double)done - 0.5, &gap);
	while (done <= option.steps && !(gap < arrived)) {
		odvgp_report report;
		double from = cpu_seconds();
		/* report.elbo is the bound before the step. */
		check(odvgp_step(model, d->X, d->y, &report, &info), who->name, &info);
		double taken = cpu_seconds() - from;
		before = gap, gap = (optimum - report.elbo) / (double)d->N;
		if (is_recorded(done, gap, before) || done == option.steps || gap < arrived)
			row_write(f, (double)done, now.seconds, report.elbo, gap);
		now.seconds += taken, done++;
		if (done % SAVE_EVERY == 0 || done > option.steps || gap < arrived) {
			save(model, who->name, &now, sizeof now);
			if (done % 1000 == 0)
				fprintf(stderr, "%-14s step %td, %.1f s, gap %.3g\n", who->name, done, now.seconds,
						gap);
		}
	}
	fclose(f);
	odvgp_events e = odvgp_model_events(model);
	fprintf(stderr,
			"%-14s done: %td steps, %.1f s, gap %.3g; %.0f steps undone, %.0f natural steps "
			"shortened\n",
			who->name, done - 1, now.seconds, gap, (double)e.step_undone, (double)e.step_shortened);
	/* The block of a loaded model stays until the end. */
	free(block);
}

/* ---- table and picture ---- */

static void report(void)
{
	static curve c[MEMBERS];
	static double height[MEMBERS][ROWS];
	static const double within[] = {1e-2, 1e-3, 1e-4};
	plot_item items[2][MEMBERS];
	int lines = 0;
	double most_steps = 100, most_seconds = 1;
	printf("%-14s %21s %21s %21s %10s %8s\n%-14s %10s %10s %10s %10s %10s %10s %10s %8s\n", "",
			"within 1e-2", "within 1e-3", "within 1e-4", "last", "gap", "member", "steps",
			"seconds", "steps", "seconds", "steps", "seconds", "step", "there");
	for (int i = 0; i < MEMBERS; i++) {
		curve_read(&c[i], members[i].name, HUGE_VAL);
		if (!c[i].n) continue;
		printf("%-14s", members[i].name);
		for (int k = 0; k < 3; k++) {
			int r = 0;
			while (r < c[i].n && !(c[i].gap[r] < within[k])) r++;
			if (r < c[i].n) printf(" %10.0f %10.1f", c[i].step[r], c[i].seconds[r]);
			else printf(" %10s %10s", "-", "-");
		}
		printf(" %10.0f %8.1e\n", c[i].step[c[i].n - 1], fmax(c[i].gap[c[i].n - 1], 0));
		for (int r = 0; r < c[i].n; r++) height[i][r] = log10(fmax(c[i].gap[r], 1e-9));
		for (int p = 0; p < 2; p++) {
			plot_item line = {PLOT_LINE, members[i].name, p ? c[i].seconds : c[i].step, height[i],
					NULL, c[i].n, i, i % 5};
			items[p][lines] = line;
		}
		most_steps = fmax(most_steps, c[i].step[c[i].n - 1]);
		most_seconds = fmax(most_seconds, c[i].seconds[c[i].n - 1]);
		lines++;
	}
	if (!lines) fail(option.out, "holds no rows yet");
	plot_scene scenes[2] = {{"Against steps", "steps", "log10 of the gap, nats per point", items[0],
									lines, 1, most_steps, -6, 1.5, PLOT_LOGX},
			{"Against seconds", "seconds of one core", NULL, items[1], lines, 0.03, most_seconds,
					-6, 1.5, PLOT_LOGX}};
	char *path = path_in(option.out, figure(), ".svg");
	if (plot_scenes(path, "Fixed inducing inputs and hyperparameters, full batch", scenes, 2))
		fail(path, "cannot be written");
	printf("%s\n", path);
	free(path);
}

int main(int argc, char **argv)
{
	const char *data = NULL, *command = argc > 1 ? argv[1] : "";
	int chosen[MEMBERS] = {0}, count = 0;
	if (!strcmp(command, "--help") || !strcmp(command, "-h")) return fputs(usage, stdout) < 0;
	for (int i = 2; i < argc; i++) {
		int known = 0;
		if (!strcmp(argv[i], "--classes")) option.classes = known = 1;
		else if (!strncmp(argv[i], "--", 2) && i + 1 < argc) {
			const char *name = argv[i], *value = argv[++i];
			known = 1;
			if (!strcmp(name, "--data")) data = value;
			else if (!strcmp(name, "--out")) option.out = value;
			else if (!strcmp(name, "--steps")) option.steps = atol(value);
			else if (!strcmp(name, "--rows")) option.rows = atol(value);
			else if (!strcmp(name, "--lr")) option.lr = atof(value);
			else if (!strcmp(name, "--gamma-natgrad")) option.gamma_natgrad = atof(value);
			else known = 0;
		} else
			for (int k = 0; k < MEMBERS; k++)
				if (!strcmp(argv[i], members[k].name)) chosen[k] = known = 1, count++;
		if (!known) fail(argv[i], "not understood; see --help");
	}
	char *out = path_in("build", figure(), "");
	if (!option.out) option.out = out;
	if (option.steps < 1 || option.rows < 0)
		fail("odvgp2018_fig2a", "--steps and --rows are positive numbers");
	if (!strcmp(command, "report")) {
		report();
		return 0;
	}
	if (strcmp(command, "prepare") && strcmp(command, "run")) {
		fputs(usage, stderr);
		return 2;
	}
	if (!data) fail("odvgp2018_fig2a", "--data is missing");
	dataset d = dataset_read(data, option.rows, option.classes ? INPUTS : ALL_COLUMNS, 1);
	if (d.N < BETA + GAMMA) fail(data, "has fewer rows than there are inducing points");
	if (!strcmp(command, "prepare")) {
		prepare(&d);
		return 0;
	}
	optima best;
	odvgp_model *base = load("base", &best, sizeof best);
	if (!base) fail(option.out, "holds no base.odvgp, or one of other members; use prepare first");
	if (odvgp_model_config(base)->N != d.N || odvgp_model_config(base)->layer[0].D != d.D)
		fail(option.out, "was prepared for other data");
	for (int i = 0; i < MEMBERS; i++)
		if (chosen[i] || !count) run(&members[i], &d, base, best.bound[i]);
	return 0;
}

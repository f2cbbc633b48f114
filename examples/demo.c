/*  demo.c - four ways to train a sparse Gaussian process on a real data set, side by side, and two
    pictures.

        make demo

    does the same as

        cc -O2 -I. -DODVGP_USE_PTHREADS examples/demo.c -o demo -lm -pthread && ./demo --out .

    The four are COUPLED and ORTH, each with Adam only and with natural gradients (NAT). They learn
    from examples/diamonds.csv what a diamond costs. The settings are the library's defaults, scaled
    to take less than a minute: 100 beta and 300 gamma points, batches of 512 and 4,000 steps.
    Salimbeni et al. 2018, appendix E, have 300 and 700 points, batches of 1,024 and 20,000 steps.

    The four take turns in blocks of steps, each with its own clock, so that other work of the
    machine slows all of them alike. No clock runs during tests and drawing. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "tool/plot.h"
#include "tool/table.h"
#include <time.h>
#include <unistd.h>
#include "tool/on_windows.h"

/*  A curve has at most POINTS points. */
enum { METHODS = 4, POINTS = 64 };
enum { BETA = 100, GAMMA = 300, BATCH = 512, GAMMA_COLUMNS = 64, STEPS = 4000 };

static const char usage[] =
		"usage: demo [--steps N] [--seconds T] [--data FILE] [--out DIR]\n"
		"  --steps N     training steps of each of the four, default 4000\n"
		"  --seconds T   stop the training after T seconds, wherever it is\n"
		"  --data FILE   a CSV file of numbers whose last column is the target, "
		"default examples/diamonds.csv\n"
		"  --out DIR     where demo-curves.svg and demo-1d.svg go, default build\n";

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "demo: %s: %s\n", what, why);
	exit(2);
}

static void check(odvgp_status status, const char *what)
{
	if (status) fail(what, odvgp_status_text(status));
}

static void *reserve(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);
	if (!p) fail("memory", "there is not enough");
	return p;
}

/* ---- data: read, split, standardise ---- */

typedef struct dataset {
	int D;
	ptrdiff_t train, test;
	/* [train,D] and [train], standardised by the training part. */
	double *X, *y;
	/* [test,D] and [test], on the same scales. */
	double *Xt, *yt;
	double y_scale;
	const char *target;
} dataset;

/*  A random number below n that depends only on i and the seed 1 (the mixer of SplitMix64). */
static uint64_t random_below(uint64_t i, uint64_t n)
{
	uint64_t z = (i + 2) * UINT64_C(0x9E3779B97F4A7C15);
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (z ^ (z >> 31)) % n;
}

static void scale_column(
		table *t, const ptrdiff_t *order, ptrdiff_t train, int column, double *scale)
{
	double mean = 0, square = 0;
	for (ptrdiff_t i = 0; i < train; i++)
		mean += t->values[order[i] * t->columns + column] / (double)train;
	for (ptrdiff_t i = 0; i < train; i++) {
		double v = t->values[order[i] * t->columns + column] - mean;
		square += v * v / (double)train;
	}
	*scale = square > 0 ? sqrt(square) : 1;
	for (ptrdiff_t i = 0; i < t->rows; i++) {
		double *v = &t->values[i * t->columns + column];
		*v = (*v - mean) / *scale;
	}
}

static dataset load(table *t, const char *path)
{
	char error[400];
	if (table_read(t, path, NULL, error, sizeof error)) fail("data", error);
	if (t->columns < 2 || t->rows < 1000)
		fail(path, "the demo needs two columns and 1000 rows at least");
	dataset d = {
			t->columns - 1, t->rows - t->rows / 10, t->rows / 10, NULL, NULL, NULL, NULL, 1, NULL};
	ptrdiff_t *order = (ptrdiff_t *)reserve((size_t)t->rows, sizeof *order);
	for (ptrdiff_t i = 0; i < t->rows; i++) order[i] = i;
	for (ptrdiff_t i = t->rows - 1; i > 0; i--) {
		ptrdiff_t k = (ptrdiff_t)random_below((uint64_t)i, (uint64_t)i + 1), keep = order[i];
		order[i] = order[k], order[k] = keep;
	}
	for (int j = 0; j < t->columns; j++) {
		if (table_check(t, j, path, error, sizeof error)) fail("data", error);
		if (t->column[j].missing || t->column[j].text)
			fail(path, "the demo takes numbers only, and all of them");
		/* The target is the last column, so that its scale remains here. */
		scale_column(t, order, d.train, j, &d.y_scale);
	}
	d.X = (double *)reserve((size_t)(t->rows * d.D), sizeof *d.X), d.Xt = d.X + d.train * d.D;
	d.y = (double *)reserve((size_t)t->rows, sizeof *d.y), d.yt = d.y + d.train;
	for (ptrdiff_t i = 0; i < t->rows; i++) {
		const double *row = t->values + order[i] * t->columns;
		memcpy(d.X + i * d.D, row, (size_t)d.D * sizeof *row);
		d.y[i] = row[d.D];
	}
	d.target = t->header ? t->column[d.D].name : "the last column";
	free(order);
	return d;
}

/* ---- the four ---- */

typedef struct method {
	const char *name;
	int orth, natgrad;
	odvgp_model *model;
	/* Seconds of training. */
	double clock;
	double rmse, loglik, percent;
	double seconds[POINTS], rmse_curve[POINTS], loglik_curve[POINTS];
	int points;
} method;

static void start(method *m, const dataset *d, ptrdiff_t steps, odvgp_threads threads)
{
	odvgp_info info;
	odvgp_config cfg = odvgp_config_defaults(d->train, d->D, 1, BETA, m->orth ? GAMMA : 0);
	cfg.optim.batch = BATCH;
	cfg.optim.gamma_batch = GAMMA_COLUMNS;
	cfg.optim.natgrad = m->natgrad;
	/* Both fall as by default, but within the demo's number of steps. */
	cfg.optim.natgrad_step = odvgp_falling(0.1, 0.01, steps);
	cfg.optim.lr = odvgp_falling(0.01, 0.001, steps);
	/* All begin with the same hyperparameters. */
	cfg.init.warm = 0;
	cfg.threads = threads;
	if (odvgp_model_create(&m->model, &cfg, d->X, d->y, NULL, &info)) fail(m->name, info.text);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/*  Computes test RMSE and log-likelihood of the current model, and adds a point to both curves. */
static void evaluate(method *m, const dataset *d)
{
	size_t bytes = odvgp_predictor_size(m->model, NULL), n = (size_t)d->test;
	void *block = reserve(1, bytes);
	double *mean = (double *)reserve(3 * n, sizeof *mean), *var_y = mean + n, *error = mean + 2 * n;
	odvgp_server server;
	odvgp_info info;
	if (odvgp_freeze(m->model, NULL, block, bytes, &info)) fail(m->name, info.text);
	if (odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_AUTO, &info))
		fail(m->name, info.text);
	size_t scratch_bytes = odvgp_predict_scratch(&server, 256, NULL);
	void *scratch = reserve(1, scratch_bytes);
	check(odvgp_predict_y(&server, d->Xt, d->test, mean, var_y, scratch, scratch_bytes, NULL),
			"prediction");
	double square = 0, loglik = 0;
	for (size_t i = 0; i < n; i++) {
		double e = d->yt[i] - mean[i];
		square += e * e;
		loglik -= 0.5 * (log(6.283185307179586 * var_y[i]) + e * e / var_y[i]);
		/* The target is a logarithm: this is the relative error of the price. */
		error[i] = fabs(expm1(-e * d->y_scale));
	}
	qsort(error, n, sizeof *error, by_size);
	m->rmse = sqrt(square / (double)n), m->loglik = loglik / (double)n;
	m->percent = 100 * error[n / 2];
	if (m->points < POINTS) {
		m->seconds[m->points] = m->clock;
		m->rmse_curve[m->points] = m->rmse;
		m->loglik_curve[m->points] = m->loglik;
		m->points++;
	}
	free(scratch);
	free(mean);
	free(block);
}

static void progress(const method *m, ptrdiff_t done, ptrdiff_t steps, double elapsed, double limit)
{
	/* The time of the last line. */
	static double printed = -1e9;
	int terminal = isatty(2), last = done == steps || elapsed >= limit;
	if (!terminal && !last && elapsed - printed < 10) return;
	printed = elapsed;
	double left = elapsed * (double)(steps - done) / (double)done;
	if (left > limit - elapsed) left = limit > elapsed ? limit - elapsed : 0;
	fprintf(stderr, "%sstep %td of %td  test RMSE", terminal ? "\r" : "", done, steps);
	for (int k = 0; k < METHODS; k++) fprintf(stderr, "  %s %.4f", m[k].name, m[k].rmse);
	fprintf(stderr, "  %.0f s left %s", left, terminal && !last ? "" : "\n");
	fflush(stderr);
}

static ptrdiff_t train(method *m, const dataset *d, ptrdiff_t steps, double limit)
{
	ptrdiff_t done = 0, block = (steps + POINTS - 1) / POINTS;
	double begin = now();
	while (done < steps && (done == 0 || now() - begin < limit)) {
		ptrdiff_t count = block < steps - done ? block : steps - done;
		for (int turn = 0; turn < METHODS; turn++) {
			method *t = &m[turn];
			double from = now();
			check(odvgp_fit(t->model, d->X, d->y, count, NULL, NULL), t->name);
			t->clock += now() - from;
			evaluate(t, d);
		}
		done += count;
		progress(m, done, steps, now() - begin, limit);
	}
	return done;
}

/*  Says in words by how much the RMSE `with` differs from the RMSE `without`. */
static void compare(double without, double with, const char *by)
{
	double percent = 100 * (with / without - 1);
	printf("%.1f %% %s %s", fabs(percent), percent < 0 ? "lower" : "higher", by);
}

/*  The RMSE of the last evaluation in the first t seconds of training. */
static double rmse_after(const method *m, double t)
{
	int k = 0;
	while (k + 1 < m->points && m->seconds[k + 1] <= t) k++;
	return m->rmse_curve[k];
}

static void report(const method *m, const dataset *d, ptrdiff_t done, ptrdiff_t steps)
{
	int dollars = strcmp(d->target, "log_price") == 0, accurate = 0, likely = 0;
	double least = m[0].clock;
	for (int k = 1; k < METHODS; k++) least = fmin(least, m[k].clock);
	printf("\n%-12s %6s %7s %10s %14s %s %8s %8s   RMSE after %.1f s\n", "", "|beta|", "|gamma|",
			"test RMSE", "test log-lik.", dollars ? "price off by" : "", "ms/step", "seconds",
			least);
	for (int k = 0; k < METHODS; k++) {
		if (m[k].rmse < m[accurate].rmse) accurate = k;
		if (m[k].loglik > m[likely].loglik) likely = k;
		printf("%-12s %6d %7d %10.4f %14.4f ", m[k].name, BETA, m[k].orth ? GAMMA : 0, m[k].rmse,
				m[k].loglik);
		if (dollars) printf("%10.1f %%", m[k].percent);
		printf(" %8.2f %8.1f %11.4f\n", 1e3 * m[k].clock / (double)done, m[k].clock,
				rmse_after(&m[k], least));
	}
	printf("RMSE and log-likelihood (nats per row) are of %s, standardised, "
		   "on %td rows kept aside.\n",
			d->target, d->test);
	if (dollars) printf("Price off by: half of the diamonds are priced closer than this.\n");
	printf("\nLowest test RMSE: %s. Highest test log-likelihood: %s.\n", m[accurate].name,
			m[likely].name);
	printf("With gamma points the RMSE is ");
	compare(m[0].rmse, m[2].rmse, "with Adam only and ");
	compare(m[1].rmse, m[3].rmse, "with natural gradients,\n");
	printf("at %.1f times the time per step.\n",
			(m[2].clock + m[3].clock) / (m[0].clock + m[1].clock));
	printf("The last column compares at equal seconds, in the middle of the slower trainings, "
		   "whose step\n"
		   "sizes are still to fall.\n");
	if (done < steps)
		printf("The training was stopped after %td of %td steps, "
			   "before the learning rate was down.\n",
				done, steps);
}

/* ---- pictures ---- */

static void save(int failed, const char *path)
{
	if (failed) fail(path, "cannot be written");
	printf("wrote %s\n", path);
}

static void draw_curves(const method *m, const char *path)
{
	/* COUPLED has warm colours, ORTH cold ones. Lines of Adam without natural gradients are pale
       and dashed. */
	static const int colour[METHODS] = {4, 1, 5, 0}, dash[METHODS] = {1, 0, 1, 0};
	plot_item rmse[METHODS], loglik[METHODS];
	double last = 0;
	for (int k = 0; k < METHODS; k++) {
		const method *a = &m[k];
		plot_item t = {
				PLOT_LINE, a->name, a->seconds, a->rmse_curve, NULL, a->points, colour[k], dash[k]};
		rmse[k] = loglik[k] = t;
		loglik[k].y = m[k].loglik_curve;
		last = fmax(last, a->clock);
	}
	static const char seconds[] = "training time (seconds)";
	plot_scene panels[2] = {
			{"Test RMSE", seconds, "standardised units", rmse, METHODS, 0, last, 0, 0, 0},
			{"Test log-likelihood", seconds, "nats per row", loglik, METHODS, 0, last, 0, 0, 0},
	};
	save(plot_scenes(path, NULL, panels, 2), path);
}

enum { TOY = 200, TOY_BETA = 5, TOY_GAMMA = 100, GRID = 301 };

static double toy_function(double x) { return sin(2.2 * x) + 0.6 * cos(4.4 * x + 1) + 0.15 * x; }

/*  200 points of a wavy function on [0, 6] with noise of standard deviation 0.2. They are evenly
    spread except for a gap from 3 to 4. */
static void toy_data(double *x, double *y)
{
	for (int i = 0; i < TOY; i++) {
		double u[3];
		for (int k = 0; k < 3; k++)
			u[k] = ((double)random_below((uint64_t)(3 * i + k), 1 << 30) + 0.5) / (1 << 30);
		x[i] = 5 * (i + u[0]) / TOY;
		if (x[i] > 3) x[i] += 1;
		y[i] = toy_function(x[i]) + 0.2 * sqrt(-2 * log(u[1])) * cos(6.283185307179586 * u[2]);
	}
}

typedef struct toy {
	double mean[GRID], low[GRID], high[GRID], beta[TOY_BETA], gamma[TOY_GAMMA];
	double elbo;
} toy;

/*  As in the SOLVE-GP paper's figure 2: RBF kernel with lengthscale 1 and variance 1, noise 0.1,
    Adam with learning rate 0.01, batches of 20. Training moves everything except the gamma points,
    which stay at the data points where they began. */
static void toy_fit(
		toy *t, int gamma, const double *x, const double *y, const double *grid, ptrdiff_t steps)
{
	odvgp_model *model;
	odvgp_config cfg = odvgp_config_defaults(TOY, 1, 1, TOY_BETA, gamma);
	double elbo, var_y[GRID];
	cfg.layer[0].kernel = "rbf(1, variance=1)";
	cfg.lik.noise_variance = 0.1;
	cfg.optim.batch = 20;
	cfg.optim.natgrad = 0;
	cfg.optim.lr = odvgp_constant(0.01);
	/* The gamma points are so few that the KL needs no sampling. */
	cfg.optim.gamma_batch = 0;
	cfg.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_PLAIN;
	cfg.init.warm = 0;
	check(odvgp_model_create(&model, &cfg, x, y, NULL, NULL), "1-D model");
	if (gamma) check(odvgp_set_trainable(model, "Z_gamma", 0, NULL), "Z_gamma");
	check(odvgp_fit(model, x, y, steps, NULL, NULL), "1-D model");
	check(odvgp_elbo(model, x, y, TOY, &elbo, NULL, NULL, NULL), "1-D bound");
	check(odvgp_get(model, "Z_beta", t->beta, TOY_BETA, NULL), "Z_beta");
	if (gamma) check(odvgp_get(model, "Z_gamma", t->gamma, gamma, NULL), "Z_gamma");
	size_t bytes = odvgp_predictor_size(model, NULL);
	void *block = reserve(1, bytes);
	odvgp_server server;
	check(odvgp_freeze(model, NULL, block, bytes, NULL), "1-D predictor");
	check(odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_AUTO, NULL), "1-D predictor");
	size_t scratch_bytes = odvgp_predict_scratch(&server, GRID, NULL);
	void *scratch = reserve(1, scratch_bytes);
	check(odvgp_predict_y(&server, grid, GRID, t->mean, var_y, scratch, scratch_bytes, NULL),
			"1-D prediction");
	for (int i = 0; i < GRID; i++) {
		t->low[i] = t->mean[i] - 2 * sqrt(var_y[i]);
		t->high[i] = t->mean[i] + 2 * sqrt(var_y[i]);
	}
	t->elbo = elbo;
	free(scratch);
	free(block);
	odvgp_model_free(model);
}

static void draw_toy(const char *path, ptrdiff_t steps)
{
	static double x[TOY], y[TOY], grid[GRID], truth[GRID];
	static toy fit[2];
	toy_data(x, y);
	for (int i = 0; i < GRID; i++) {
		grid[i] = -0.75 + 7.5 * i / (GRID - 1);
		truth[i] = toy_function(grid[i]);
	}
	plot_item items[2][6];
	for (int k = 0; k < 2; k++) {
		toy *t = &fit[k];
		toy_fit(t, k ? TOY_GAMMA : 0, x, y, grid, steps);
		/* The octal 261, because "2" would continue a hexadecimal escape. */
		plot_item all[6] = {
				{PLOT_BAND, "\xC2\2612 sd of y", grid, t->low, t->high, GRID, 0, 0},
				{PLOT_POINTS, "data", x, y, NULL, TOY, 7, 0},
				{PLOT_LINE, "truth", grid, truth, NULL, GRID, 6, 2},
				{PLOT_LINE, "mean", grid, t->mean, NULL, GRID, 0, 0},
				{PLOT_PLUS, "\xCE\xB2 points", t->beta, NULL, NULL, TOY_BETA, 6, 0},
				{PLOT_RUG, "\xCE\xB3 points", t->gamma, NULL, NULL, k ? TOY_GAMMA : 0, 1, 0},
		};
		memcpy(items[k], all, sizeof all);
	}
	double left = grid[0], right = grid[GRID - 1];
	plot_scene panels[2] = {
			{"COUPLED, 5 points", "x", "y", items[0], 6, left, right, -2.6, 3.4, 0},
			{"ORTH, 5 + 100 points", "x", "y", items[1], 6, left, right, -2.6, 3.4, 0},
	};
	printf("\nOne dimension, %d points: bound %.1f with %d beta points, "
		   "%.1f with %d gamma points besides.\n",
			TOY, fit[0].elbo, TOY_BETA, fit[1].elbo, TOY_GAMMA);
	save(plot_scenes(path, NULL, panels, 2), path);
}

/* ---- the program ---- */

static double positive(const char *option, const char *text)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v > 0 && v < 1e9)) fail(option, "needs a number above 0");
	return v;
}

int main(int argc, char **argv)
{
	const char *data = "examples/diamonds.csv", *out = "build";
	ptrdiff_t steps = STEPS;
	double limit = 1e9, begin = now();
	for (int i = 1; i < argc; i += 2) {
		const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (!strcmp(option, "--help") || !strcmp(option, "-h")) return fputs(usage, stdout) < 0;
		if (strcmp(option, "--steps") && strcmp(option, "--seconds") && strcmp(option, "--data") &&
				strcmp(option, "--out")) {
			fprintf(stderr, "demo: %s is not an option\n%s", option, usage);
			return 2;
		}
		if (!value) fail(option, "needs a value");
		if (!strcmp(option, "--steps")) steps = (ptrdiff_t)ceil(positive(option, value));
		if (!strcmp(option, "--seconds")) limit = positive(option, value);
		if (!strcmp(option, "--data")) data = value;
		if (!strcmp(option, "--out")) out = value;
	}
	char curves[1000], picture[1000];
	snprintf(curves, sizeof curves, "%s/demo-curves.svg", out);
	snprintf(picture, sizeof picture, "%s/demo-1d.svg", out);

	table t;
	dataset d = load(&t, data);
	int count = 1;
	odvgp_threads threads = {0};
#ifdef ODVGP_USE_PTHREADS
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	count = cores < 1 ? 1 : cores > 8 ? 8 : (int)cores;
	size_t bytes = odvgp_pool_size(count, NULL);
	void *block = reserve(1, bytes);
	odvgp_pool *pool;
	check(odvgp_pool_start(&pool, count, &threads, block, bytes, NULL), "threads");
#endif

	static method m[METHODS] = {
			{.name = "COUPLED"},
			{.name = "COUPLEDNAT", .natgrad = 1},
			{.name = "ORTH", .orth = 1},
			{.name = "ORTHNAT", .orth = 1, .natgrad = 1},
	};
	for (int k = 0; k < METHODS; k++) start(&m[k], &d, steps, threads);
	printf("%s: %td rows to learn from, %td to test, %d inputs; "
		   "%td steps of %d rows each; %d thread%s\n",
			data, d.train, d.test, d.D, steps, BATCH, count, count > 1 ? "s" : "");
	fflush(stdout);
	ptrdiff_t done = train(m, &d, steps, limit);
	report(m, &d, done, steps);
	draw_curves(m, curves);
	draw_toy(picture, steps < STEPS ? 10000 * steps / STEPS + 1 : 10000);
	printf("%.0f seconds in all\n", now() - begin);

	for (int k = 0; k < METHODS; k++) odvgp_model_free(m[k].model);
#ifdef ODVGP_USE_PTHREADS
	odvgp_pool_stop(pool);
	free(block);
#endif
	free(d.X);
	free(d.y);
	table_free(&t);
	return 0;
}

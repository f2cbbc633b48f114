/*  cost.c - what a training step costs: milliseconds against |gamma|, |beta|, B, D, N and the
    number of threads, one of them at a time.

        make cost-curves

    or, to choose (see --help):

        build/cost run | report [options]

    run       steps all members at one size by turns, so that other work of the machine slows all of
              them alike, and writes a row of rows.csv for each as soon as the size is done; it does
              not measure again the rows that stand there already
    report    prints the table and draws cost-curves.svg from the rows so far

    A row holds panel, member, value, threads, the smallest and the middle time of the steps in
    milliseconds, and the number of steps. The picture shows the smallest time, which says most on a
    machine with other work. All other sizes are those of `base`. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "plot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common.h"
#include "flops.h"

/* clang-format off */
static const char usage[] =
    "usage: cost run|report [--out DIR] [--seconds X] [--panel NAME] [--cpu]\n"
    "  --out DIR     where everything is kept, default build/cost-curves; it must exist\n"
    "  --seconds X   to spend on each member at each size, default 1.5; five steps at least\n"
    "  --panel NAME  run: this one alone, of gamma beta B D N threads\n"
    "  --cpu         time of the processor, not of the clock: where other work runs beside; "
    "threads excepted\n";
/* clang-format on */

/* ---- what is measured ---- */

typedef enum size { GAMMA, BETA, BATCH, INPUTS, ROWS, THREADS, SIZES } size;
static const ptrdiff_t base[SIZES] = {700, 300, 1024, 8, 20000, 1};

static const member *const contenders[] = {&members[1], &members[3], &solve_gp};
enum {
	COUPLEDNAT,
	ORTHNAT,
	SOLVE_GP,
	CONTENDERS,
	VALUES = 10,
	REFERENCES = 3,
	SOLVE_MOST_GAMMA = 2000
};

/*  A straight line of this slope, through the last point of a member. */
typedef struct reference {
	int slope, member;
} reference;

/*  A panel for each size, in the order of `size`. */
typedef struct panel {
	const char *name, *title, *label;
	/* Up to the first 0. */
	ptrdiff_t value[VALUES];
	reference line[REFERENCES];
	int lines;
	/* The slope that the cost approaches; NULL: not measured. */
	const char *expected[CONTENDERS];
} panel;

/*  A step costs O(B M^2 + B Mg D + M Mg D + M^3); SOLVE-GP's second block adds O(B Mg^2 + Mg^3). */
/* clang-format off */
static const panel panels[SIZES] = {
    {"gamma", "Points of the mean", "|gamma|", {500, 1000, 2000, 4000, 8000, 16000},
     {{1, ORTHNAT}, {2, SOLVE_GP}, {3, SOLVE_GP}}, 3, {NULL, "1", "2 to 3"}},
    {"beta", "Points of mean and variance", "|beta|", {50, 100, 200, 400, 800, 1200, 2000},
     {{2, ORTHNAT}, {3, ORTHNAT}}, 2, {"2 to 3", "2 to 3", "2 to 3"}},
    {"B", "Rows of a batch", "B", {64, 128, 256, 512, 1024, 2048, 4096, 8192},
     {{1, ORTHNAT}}, 1, {"1", "1", "1"}},
    {"D", "Inputs", "D", {1, 2, 4, 8, 16, 32, 64, 128, 256},
     {{1, ORTHNAT}}, 1, {"1", "1", "1"}},
    {"N", "Rows of data", "N", {1024, 10000, 100000, 1000000},
     {{0, ORTHNAT}}, 1, {"0", "0", "0"}},
    {"threads", "Threads", "threads", {1, 2, 4, 8, 16, 32, 64},
     {{-1, ORTHNAT}}, 1, {"-1", "-1", "-1"}},
};
/* clang-format on */

static struct {
	const char *out, *panel;
	double seconds;
	int cpu;
} wanted = {"build/cost-curves", NULL, 1.5, 0};

static setting setting_at(size which, ptrdiff_t value)
{
	setting s = {base[BETA], base[GAMMA], base[BATCH], base[INPUTS]};
	if (which == BETA) s.M = value;
	if (which == GAMMA) s.Mg = value;
	if (which == BATCH) s.B = value;
	if (which == INPUTS) s.D = value;
	return s;
}

/* ---- rows ---- */

typedef struct row {
	int panel, member;
	ptrdiff_t value, threads;
	double best, median;
	int steps;
} row;

enum { MOST_ROWS = SIZES * CONTENDERS * VALUES };
static row rows[MOST_ROWS];
static int row_count;

static const row *row_find(int p, int who, ptrdiff_t value)
{
	for (int i = 0; i < row_count; i++)
		if (rows[i].panel == p && rows[i].member == who && rows[i].value == value) return &rows[i];
	return NULL;
}

static void path_of(const char *name, char *path, size_t bytes)
{
	if ((size_t)snprintf(path, bytes, "%s/%s", wanted.out, name) >= bytes)
		fail("--out", "too long");
}

/*  Reads a line of the file. A line that is no row, such as the first, is skipped. */
static void row_read(const char *line)
{
	char name[2][32];
	long value, threads;
	row r = {-1, -1, 0, 0, 0, 0, 0};
	if (sscanf(line, "%31[^,],%31[^,],%ld,%ld,%lf,%lf,%d", name[0], name[1], &value, &threads,
				&r.best, &r.median, &r.steps) != 7)
		return;
	r.value = value, r.threads = threads;
	for (int p = 0; p < SIZES; p++)
		if (!strcmp(panels[p].name, name[0])) r.panel = p;
	for (int k = 0; k < CONTENDERS; k++)
		if (!strcmp(contenders[k]->name, name[1])) r.member = k;
	if (r.panel >= 0 && r.member >= 0 && row_count < MOST_ROWS &&
			!row_find(r.panel, r.member, r.value))
		rows[row_count++] = r;
}

/*  Returns 1 if the file ends within a line: the program was stopped there. */
static int rows_read(const char *path)
{
	char line[200] = "";
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (strchr(line, '\n')) row_read(line);
	if (f) fclose(f);
	return *line && !strchr(line, '\n');
}

static FILE *rows_append(const char *path, int within_line)
{
	FILE *f = fopen(path, "a");
	if (!f) fail(path, "cannot be written");
	if (within_line) fputc('\n', f);
	if (!row_count) fprintf(f, "panel,member,value,threads,ms_best,ms_median,steps\n");
	fflush(f);
	return f;
}

static void row_write(FILE *f, const row *r)
{
	fprintf(f, "%s,%s,%td,%td,%.4f,%.4f,%d\n", panels[r->panel].name, contenders[r->member]->name,
			r->value, r->threads, r->best, r->median, r->steps);
	fflush(f);
}

/* ---- measuring ---- */

enum { LEAST_STEPS = 5, MOST_STEPS = 5000 };

typedef struct timing {
	double ms[MOST_STEPS];
	/* The sum, in seconds. */
	double all;
	int steps;
} timing;

/*  Seconds of the clock, or with --cpu of the processor. */
static double seconds(int p)
{
	return wanted.cpu && p != THREADS ? (double)clock() / CLOCKS_PER_SEC : now();
}

/*  Makes some steps of one model in a row, so that it has its caches to itself as in a training:
    50 ms or one step. */
static void turn(int p, odvgp_model *m, const dataset *r, timing *t)
{
	odvgp_info info;
	for (double from = seconds(p), before = from; before < from + 0.05 && t->steps < MOST_STEPS;) {
		check(odvgp_step(m, r->X, r->y, NULL, &info), "step", &info);
		double after = seconds(p);
		t->ms[t->steps++] = 1e3 * (after - before);
		t->all += after - before;
		before = after;
	}
}

static int enough(const timing *t)
{
	return t->steps == MOST_STEPS || (t->steps >= LEAST_STEPS && t->all >= wanted.seconds);
}

static int is_measured(int p, int who, ptrdiff_t value)
{
	return panels[p].expected[who] && (p != GAMMA || who != SOLVE_GP || value <= SOLVE_MOST_GAMMA);
}

/*  Measures all members that have no row at this size yet. */
static void measure(FILE *f, int p, ptrdiff_t value)
{
	static timing t[CONTENDERS];
	odvgp_model *model[CONTENDERS] = {NULL, NULL, NULL};
	setting s = setting_at((size)p, value);
	int threads = p == THREADS ? (int)value : (int)base[THREADS], left = 0;
	for (int k = 0; k < CONTENDERS; k++) left += is_measured(p, k, value) && !row_find(p, k, value);
	if (!left) return;
	fprintf(stderr, "%s %td\n", panels[p].name, value);
	crew c = crew_start(threads);
	dataset r = dataset_make(p == ROWS ? value : base[ROWS], s.D);
	for (int k = 0; k < CONTENDERS; k++) {
		if (!is_measured(p, k, value) || row_find(p, k, value)) continue;
		model[k] = model_make(contenders[k], &s, &r, &c.hook);
		t[k].all = 0, t[k].steps = 0;
	}
	while (left)
		for (int k = 0; k < CONTENDERS; k++) {
			if (!model[k]) continue;
			turn(p, model[k], &r, &t[k]);
			if (!enough(&t[k])) continue;
			qsort(t[k].ms, (size_t)t[k].steps, sizeof t[k].ms[0], by_size);
			row done = {p, k, value, threads, t[k].ms[0], t[k].ms[t[k].steps / 2], t[k].steps};
			row_write(f, &done);
			odvgp_model_free(model[k]);
			model[k] = NULL, left--;
		}
	dataset_free(&r);
	crew_stop(&c);
}

static void run(void)
{
	char path[1024];
	path_of("rows.csv", path, sizeof path);
	FILE *f = rows_append(path, rows_read(path));
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	for (int p = 0; p < SIZES; p++) {
		if (wanted.panel && strcmp(wanted.panel, panels[p].name)) continue;
		for (int i = 0; i < VALUES && panels[p].value[i]; i++)
			if (p != THREADS || panels[p].value[i] <= cores) measure(f, p, panels[p].value[i]);
	}
	fclose(f);
}

/* ---- table ---- */

/*  What a step needs, by formula: flops of matrices, and flops of the work on each pair of points,
    element by element, 3 D for a distance and 20 for an exponential. The model of a step's time is
    that each of the two kinds has one speed. */
enum { MATRICES, PAIRS, KINDS };
typedef struct work {
	double flops[KINDS];
} work;

static work work_at(int p, int who, ptrdiff_t value)
{
	setting s = setting_at((size)p, value);
	need n = flops_needed(contenders[who], &s);
	work w = {{0, 3 * (double)s.D * n.distances + 20 * n.exponentials}};
	for (int op = 0; op < GP__OPS; op++)
		w.flops[op == GP__KERNEL || op == GP__KERNEL_VEC ? PAIRS : MATRICES] +=
				n.op[op][FORWARD] + n.op[op][REVERSE];
	for (int stage = 0; stage < STAGES; stage++) w.flops[MATRICES] += n.stage[stage];
	if (p == THREADS)
		for (int k = 0; k < KINDS; k++) w.flops[k] /= (double)value;
	return w;
}

/*  Milliseconds per flop of each kind: least squares of the relative errors of all rows except
    those of threads. */
static work model_fit(void)
{
	double a[KINDS][KINDS] = {{0, 0}, {0, 0}}, b[KINDS] = {0, 0};
	for (int i = 0; i < row_count; i++) {
		/* With --cpu these rows hold a time of another kind. */
		if (rows[i].panel == THREADS) continue;
		work w = work_at(rows[i].panel, rows[i].member, rows[i].value);
		for (int k = 0; k < KINDS; k++) {
			b[k] += w.flops[k] / rows[i].best;
			for (int l = 0; l < KINDS; l++)
				a[k][l] += w.flops[k] / rows[i].best * (w.flops[l] / rows[i].best);
		}
	}
	double determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0];
	work fit = {{0, 0}};
	if (determinant > 1e-12 * a[0][0] * a[1][1]) {
		fit.flops[0] = (b[0] * a[1][1] - b[1] * a[0][1]) / determinant;
		fit.flops[1] = (b[1] * a[0][0] - b[0] * a[1][0]) / determinant;
	}
	return fit;
}

typedef struct curve {
	double value[VALUES], best[VALUES], median[VALUES], model[VALUES];
	int n;
} curve;

static curve curve_of(int p, int who, const work *fit)
{
	curve c;
	c.n = 0;
	for (int i = 0; i < VALUES && panels[p].value[i]; i++) {
		const row *r = row_find(p, who, panels[p].value[i]);
		if (!r) continue;
		work w = work_at(p, who, r->value);
		c.value[c.n] = (double)r->value, c.best[c.n] = r->best, c.median[c.n] = r->median;
		c.model[c.n++] =
				w.flops[MATRICES] * fit->flops[MATRICES] + w.flops[PAIRS] * fit->flops[PAIRS];
	}
	return c;
}

/*  d log y / d log x between point i and the one before. */
static void print_slope(const double *x, const double *y, int i)
{
	if (i && y[i] > 0) printf(" %6.2f", log(y[i] / y[i - 1]) / log(x[i] / x[i - 1]));
	else printf(" %6s", "-");
}

static void print_curve(int p, int who, const work *fit)
{
	curve c = curve_of(p, who, fit);
	for (int i = 0; i < c.n; i++) {
		printf("%-11s %8.0f %9.2f %9.2f %9.2f  ", contenders[who]->name, c.value[i], c.best[i],
				c.median[i], c.model[i]);
		print_slope(c.value, c.best, i);
		print_slope(c.value, c.model, i);
		printf("%s%s\n", i == c.n - 1 ? "  -> " : "", i == c.n - 1 ? panels[p].expected[who] : "");
	}
}

static void print_table(const work *fit)
{
	print_machine(stdout);
	printf("\n\nMilliseconds of the %s per step, least and median; natural gradients.\n"
		   "|gamma| %td (64 of them for the KL), |beta| %td, B %td, D %td, N %td, %td thread, "
		   "but for what a table varies.\n",
			wanted.cpu ? "processor (of the clock, for threads)" : "clock", base[GAMMA], base[BETA],
			base[BATCH], base[INPUTS], base[ROWS], base[THREADS]);
	if (fit->flops[MATRICES] > 0 && fit->flops[PAIRS] > 0)
		printf("Model: the flops needed by formula at the two speeds that fit all tables "
			   "but that of threads best, %.1f GF/s for\n"
			   "matrices and %.1f for what is done pair by pair. Slope: of log time between a row "
			   "and the one before, measured and of\n"
			   "the model; -> is what the cost O(B M^2 + B Mg D + M Mg D + M^3), "
			   "and of SOLVE-GP also O(B Mg^2 + Mg^3), comes to in\n"
			   "the end.\n",
				1e-6 / fit->flops[MATRICES], 1e-6 / fit->flops[PAIRS]);
	else printf("Too few rows yet for a model of the time.\n");
	for (int p = 0; p < SIZES; p++) {
		int measured = 0;
		for (int i = 0; i < row_count; i++) measured += rows[i].panel == p;
		if (!measured) continue;
		printf("\n%-11s %8s %9s %9s %9s   %6s %6s\n", "member", panels[p].label, "least", "median",
				"model", "slope", "model");
		for (int k = 0; k < CONTENDERS; k++) print_curve(p, k, fit);
	}
}

/* ---- picture ---- */

enum { REFERENCE_POINTS = 40, GREY = 7, ITEMS = REFERENCES + 3 * CONTENDERS };

typedef struct drawing {
	curve c[CONTENDERS];
	double x[REFERENCES][REFERENCE_POINTS], y[REFERENCES][REFERENCE_POINTS];
	plot_item items[ITEMS];
	int count;
} drawing;

/*  The line has many points because it is a curve where the axis of threads is not logarithmic. */
static void draw_reference(drawing *d, const panel *p, int which, double xmin, double xmax)
{
	static const char *const names[] = {
			"slope \342\210\2221", "slope 0", "slope 1", "slope 2", "slope 3"};
	static const int dash[] = {0, 4, 1, 2, 3};
	const reference *r = &p->line[which];
	const curve *c = &d->c[r->member];
	if (!c->n) return;
	/* In the panel of threads the line passes through the first point. */
	int at = r->slope < 0 ? 0 : c->n - 1;
	for (int i = 0; i < REFERENCE_POINTS; i++) {
		double x = xmin * pow(xmax / xmin, (double)i / (REFERENCE_POINTS - 1));
		d->x[which][i] = x;
		d->y[which][i] = c->best[at] * pow(x / c->value[at], r->slope);
	}
	plot_item line = {PLOT_LINE, names[r->slope + 1], d->x[which], d->y[which], NULL,
			REFERENCE_POINTS, GREY, dash[r->slope + 1]};
	d->items[d->count++] = line;
}

/*  The ranges of a panel's values and times. */
typedef struct extent {
	double first, last, least, most;
} extent;

/*  Returns 0 if the panel has no rows yet. */
static int extent_of(const drawing *d, extent *e)
{
	e->first = e->least = HUGE_VAL, e->last = e->most = 0;
	for (int k = 0; k < CONTENDERS; k++)
		for (int i = 0; i < d->c[k].n; i++) {
			e->first = fmin(e->first, d->c[k].value[i]), e->last = fmax(e->last, d->c[k].value[i]);
			e->least = fmin(e->least, d->c[k].best[i]), e->most = fmax(e->most, d->c[k].best[i]);
		}
	return e->last > 0;
}

/*  Lines of the members lie above those of the slopes, but come before them in the legend. So the
    first items are only the members' names. */
static void draw_items(drawing *d, int which, const extent *e)
{
	double beyond = which == THREADS ? 1 : 1.3;
	d->count = 0;
	for (int k = 0; k < CONTENDERS; k++) {
		plot_item name = {PLOT_LINE, contenders[k]->name, NULL, NULL, NULL, 0, k, 0};
		d->items[d->count++] = name;
	}
	for (int i = 0; i < panels[which].lines; i++)
		draw_reference(d, &panels[which], i, e->first / beyond, e->last * beyond);
	for (int k = 0; k < CONTENDERS; k++) {
		const curve *c = &d->c[k];
		plot_item line = {PLOT_LINE, NULL, c->value, c->best, NULL, c->n, k, 0};
		plot_item points = {PLOT_POINTS, NULL, c->value, c->best, NULL, c->n, k, 0};
		d->items[d->count++] = line;
		d->items[d->count++] = points;
	}
}

/*  The range of y is that of the times, but at least a decade and a half, so that a flat curve
    looks flat. Returns 0 without rows. */
static int draw_panel(drawing *d, int which, const work *fit, plot_scene *scene)
{
	extent e;
	for (int k = 0; k < CONTENDERS; k++) d->c[k] = curve_of(which, k, fit);
	if (!extent_of(d, &e)) return 0;
	draw_items(d, which, &e);
	double room = fmax(1.15, sqrt(pow(10, 1.5) * e.least / e.most));
	plot_scene s = {panels[which].title, panels[which].label, which % 3 ? NULL : "ms per step",
			d->items, d->count, e.first / 1.3, 1.3 * e.last, e.least / room, e.most * room,
			PLOT_LOGX + PLOT_LOGY};
	/* So few threads span no decade. */
	if (which == THREADS && e.last <= 8) s.xmin = 0, s.xmax = e.last + 1, s.flags = PLOT_LOGY;
	*scene = s;
	return 1;
}

static void report(void)
{
	static drawing drawings[SIZES];
	plot_scene scenes[SIZES];
	char path[1024];
	int count = 0;
	path_of("rows.csv", path, sizeof path);
	rows_read(path);
	work fit = model_fit();
	for (int p = 0; p < SIZES; p++) count += draw_panel(&drawings[p], p, &fit, &scenes[count]);
	if (!count) fail(path, "holds no rows yet");
	print_table(&fit);
	path_of("cost-curves.svg", path, sizeof path);
	if (plot_grid(path, "Time of a training step", scenes, count, 3))
		fail(path, "cannot be written");
	printf("\n%s\n", path);
}

static int read_option(const char *name, const char *value)
{
	if (!strcmp(name, "--out")) return *(wanted.out = value) != 0;
	if (!strcmp(name, "--seconds")) return (wanted.seconds = strtod(value, NULL)) > 0;
	if (strcmp(name, "--panel")) return 0;
	wanted.panel = value;
	for (int p = 0; p < SIZES; p++)
		if (!strcmp(panels[p].name, value)) return 1;
	return 0;
}

static int help(FILE *to)
{
	fputs(usage, to);
	return to == stderr ? 2 : 0;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	if (!strcmp(command, "--help") || !strcmp(command, "-h")) return help(stdout);
	if (strcmp(command, "run") && strcmp(command, "report")) return help(stderr);
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--cpu")) {
			wanted.cpu = 1;
			continue;
		}
		if (i + 1 == argc || !read_option(argv[i], argv[i + 1])) return help(stderr);
		i++;
	}
	if (!strcmp(command, "run")) run();
	else report();
	return 0;
}

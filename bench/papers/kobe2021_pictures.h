/*  kobe2021_pictures.h - the pictures of kobe2021_figs.c's runs, one for each figure. Included
    after plot.h and kobe2021_report.h. */

enum { SCENES = 16 };

/*  What a panel shows against steps. */
typedef enum quantity { BOUND, LENGTHSCALE, VARIANCE, NOISE, GAP } quantity;

static double shown(const point *p, quantity what, double best)
{
	switch (what) {
	case BOUND: return p->bound;
	case LENGTHSCALE: return log10(p->lengthscale);
	case VARIANCE: return log10(p->variance);
	case NOISE: return log10(p->noise);
	default: return log10(fmax(best - p->bound, 1e-8));
	}
}

/*  One panel of some methods' curves. Its memory is never freed. */
static plot_scene scene_of(int i, unsigned which, quantity what, const char *title)
{
	static const char *const labels[] = {"bound, nats per row", "log10 lengthscale",
			"log10 kernel variance", "log10 noise variance", "log10 of the gap, nats per row"};
	plot_item *items = (plot_item *)reserve(METHODS * sizeof *items);
	plot_scene s = {title, "steps", labels[what], items, 0, 1, settings[i].steps, 0, 0, 1};
	double best = best_of(i), low = HUGE_VAL, from = HUGE_VAL, to = -HUGE_VAL;
	for (int m = 0; m < METHODS; m++) {
		const result *r = &results[i][m];
		if (!(which & 1U << m) || !r->there) continue;
		double *x = reserve_reals(r->n), *y = reserve_reals(r->n);
		for (int k = 0; k < r->n; k++) {
			x[k] = r->rows[k].step, y[k] = shown(&r->rows[k], what, best);
			from = fmin(from, y[k]), to = fmax(to, y[k]);
		}
		low = fmin(low, r->rows[0].bound);
		plot_item line = {PLOT_LINE, methods[m].title, x, y, NULL, r->n, m, m % 5};
		items[s.count++] = line;
	}
	if (what == BOUND) s.ymin = fmax(low, best - 3), s.ymax = best + 0.05 * (best - s.ymin);
	/* The gap is drawn down to 1e-8. */
	else if (what == GAP) s.ymin = -8.3, s.ymax = 4;
	else s.ymin = from - 0.04 * (to - from), s.ymax = to + 0.04 * (to - from);
	return s;
}

static void draw(
		const char *figure, const char *title, const plot_scene *scenes, int count, int columns)
{
	char name[40];
	if (!count || !scenes[0].count) return;
	snprintf(name, sizeof name, "figure-%s", figure);
	char *path = path_in(option.out, name, ".svg");
	if (plot_grid(path, title, scenes, count, columns)) fail(path, "cannot be written");
	printf("%s\n", path);
	free(path);
}

/*  Bound and hyperparameters of one setting. */
static void draw_joint(const char *figure, int i, unsigned which)
{
	plot_scene scenes[4];
	if (i < 0) return;
	for (int k = 0; k < 4; k++) scenes[k] = scene_of(i, which, (quantity)k, NULL);
	draw(figure, NULL, scenes, 4, 2);
}

static void draw_grid(const char *figure)
{
	static char titles[SCENES][80];
	plot_scene scenes[SCENES];
	int count = 0;
	for (int i = 0; i < SETTINGS && count < SCENES; i++) {
		const setting *s = &settings[i];
		if (strcmp(s->figure, figure) || !found(i, NATURAL)) continue;
		snprintf(titles[count], sizeof titles[count], "%d, %d, %d, %g", s->N, s->M, s->batch,
				s->noise);
		scenes[count] = scene_of(i, PAIR | 1 << NATURAL_1, BOUND, titles[count]);
		count++;
	}
	draw(figure, "N, M, rows of a batch, noise variance", scenes, count, count < 3 ? count : 3);
}

/*  Predictions of figure 4.7's first set. */
static void draw_predictions(void)
{
	static const method_id which[] = {OM_EXACT, OM_PROJECTED, ADAM, NATURAL};
	enum { PANELS = sizeof which / sizeof *which, DOTS = 250 };
	static double x[PANELS][GRID], mean[PANELS][GRID], low[PANELS][GRID], high[PANELS][GRID];
	static plot_item items[PANELS][3];
	plot_scene scenes[PANELS];
	int i = setting_of("4.7", 1, NATURAL, ADAM), count = 0;
	if (i < 0) return;
	dataset d = data_of(&settings[i]);
	for (int p = 0; p < PANELS; p++) {
		double sd[GRID],
				bend = found(i, which[p]) ? bend_of(i, which[p], x[count], mean[count], sd) : 0;
		if (!(bend > 0)) continue;
		for (int k = 0; k < GRID; k++)
			low[count][k] = mean[count][k] - 2 * sd[k], high[count][k] = mean[count][k] + 2 * sd[k];
		const plot_item all[3] = {
				{PLOT_POINTS, "a quarter of the data", d.X, d.y, NULL, DOTS, 7, 0},
				{PLOT_BAND, "\xC2\xB1 2 sd of f", x[count], low[count], high[count], GRID, 0, 0},
				{PLOT_LINE, "mean", x[count], mean[count], NULL, GRID, 0, 0},
		};
		memcpy(items[count], all, sizeof all);
		plot_scene s = {methods[which[p]].title, "x", "y", items[count], 3, x[count][0],
				x[count][GRID - 1], 0, 0, 0};
		scenes[count++] = s;
	}
	plot_same_y(scenes, count);
	draw("4.8", NULL, scenes, count, 2);
	data_free(&d);
}

static void draw_all(void)
{
	int i = setting_of("4.1", 1, NATURAL_1, ADAM);
	if (i >= 0) {
		plot_scene s = scene_of(i, THREE | 1 << NATURAL_1, GAP, NULL);
		draw("4.1", NULL, &s, 1, 1);
	}
	draw_joint("4.2", setting_of("4.2", 1, NATURAL, ADAM), THREE | 1 << NATURAL_1);
	draw_grid("4.3");
	draw_grid("4.4");
	draw_grid("4.5");
	draw_joint("4.6", setting_of("4.9", 1, NATURAL, ADAM), THREE);
	draw_joint("4.7", setting_of("4.7", 1, NATURAL, ADAM), FAMILY | LARGER);
	draw_joint("4.7Z", setting_of("4.7Z", 1, NATURAL, ADAM), FAMILY);
	draw_predictions();
	draw_joint("4.9", setting_of("4.9", 1, NATURAL, ADAM), FAMILY);
}

/*  Outliers: every seventh measurement is off. A Gaussian must explain them by noise, and bends to
    them where data are few; Student's t with few degrees of freedom expects them.

        cc -O2 -I. examples/09_outliers.c -o build/09_outliers -lm && build/09_outliers

    Output:
                    error of mean  log p(new y)  scale (0.1)      df
        Gaussian            0.265            -1.31          0.94       -
        Student-t           0.038            -0.11          0.07     0.9
        picture: build/09_outliers.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lessons/lesson.h"

enum { N = 140, NEW = 2000, GRID = 241, M = 25, STEPS = 2000 };

static double X[N], y[N], new_X[NEW], new_y[NEW], grid[GRID], truth[GRID];

static double curve(double x) { return sin(1.3 * x) + 0.3 * x; }

static double measured(double x, int outlier)
{
	return curve(x) + 0.1 * normal() + (outlier ? 8 * uniform() - 4 : 0);
}

typedef struct view {
	double mean[GRID], var[GRID], low[GRID], high[GRID];
} view;

static void run(odvgp_likelihood kind, const char *name, view *v)
{
	odvgp_config cfg = odvgp_config_defaults(N, 1, 1, M, 0);
	cfg.lik.kind = kind;
	cfg.layer[0].kernel = "rbf(1)";
	cfg.optim.lr = odvgp_falling(0.02, 0.001, STEPS);
	if (kind != ODVGP_LIKELIHOOD_GAUSSIAN)
		cfg.optim.natgrad_step = odvgp_rising(1e-5, 0.1, 100, 0.01, STEPS - 100);
	odvgp_info info;
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, X, y, NULL, &info), &info);
	must(odvgp_fit(gp, X, y, STEPS, NULL, &info), &info);

	double squares = 0, scale, df;
	char of_df[16] = "-";
	must(odvgp_predict_once(gp, grid, GRID, v->mean, v->var, NULL, &info), &info);
	band(v->mean, v->var, GRID, v->low, v->high);
	for (int i = 0; i < GRID; i++) squares += pow(v->mean[i] - truth[i], 2) / GRID;
	if (odvgp_get(gp, "noise_variance", &scale, 1, NULL)) odvgp_get(gp, "scale", &scale, 1, NULL);
	else scale = sqrt(scale);
	if (!odvgp_get(gp, "df", &df, 1, NULL)) snprintf(of_df, sizeof of_df, "%.1f", df);
	service s;
	serve(&s, gp, NULL);
	printf("%-10s %14.3f %16.2f %13.2f %7s\n", name, sqrt(squares),
			serve_logp(&s, new_X, new_y, NEW), scale, of_df);
	serve_end(&s);
	odvgp_model_free(gp);
}

int main(void)
{
	static view views[2];
	static const char *const names[2] = {"Gaussian", "Student-t"};
	static const odvgp_likelihood kinds[2] = {ODVGP_LIKELIHOOD_GAUSSIAN, ODVGP_LIKELIHOOD_STUDENTT};
	plot_item items[2][4];
	plot_scene scenes[2];
	for (int i = 0; i < N; i++) {
		X[i] = 8 * uniform() - 4;
		y[i] = measured(X[i], i % 7 == 0);
	}
	for (int i = 0; i < NEW; i++) {
		new_X[i] = 8 * uniform() - 4;
		new_y[i] = measured(new_X[i], i % 7 == 0);
	}
	spread(grid, GRID, -4, 4);
	for (int i = 0; i < GRID; i++) truth[i] = curve(grid[i]);
	printf("            error of mean  log p(new y)  scale (0.1)      df\n");
	for (int k = 0; k < 2; k++) {
		const view *v = &views[k];
		run(kinds[k], names[k], &views[k]);
		plot_item panel[4] = {
				{PLOT_BAND, TWO_SD " of f", grid, v->low, v->high, GRID, 0, 0},
				{PLOT_POINTS, "data", X, y, NULL, N, 7, 0},
				{PLOT_LINE, "truth", grid, truth, NULL, GRID, 6, 2},
				{PLOT_LINE, "mean", grid, v->mean, NULL, GRID, 0, 0},
		};
		memcpy(items[k], panel, sizeof panel);
		plot_scene scene = {names[k], "x", "y", items[k], 4, -4, 4, -5, 5, 0};
		scenes[k] = scene;
	}
	const char *path = "build/09_outliers.svg";
	return drawn(plot_scenes(path, NULL, scenes, 2), path);
}

/*  A deep Gaussian process: 120 noisy measurements of a step, which no stationary kernel describes.
    One layer must be as wiggly on the plains as it is at the step. Two layers first bend the
    inputs, so that a smooth function of them can jump.

        cc -O2 -I. examples/deep.c -o build/deep -lm && build/deep

    Output:
        layers  bound  error of mean  log density of new y  noise (0.10)
        1         3          0.195                0.07          0.18
        2        58          0.116                0.68          0.11
        picture: build/deep.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lessons/lesson.h"

enum { N = 120, M = 15, GRID = 241, STEPS = 6000, NEW = 500 };

static double X[N], y[N], grid[GRID], truth[GRID], new_X[NEW], new_y[NEW];

static double curve(double x) { return x < 0 ? -1 : 1; }

/*  What one panel of the picture shows. */
typedef struct view {
	double mean[GRID], var[GRID], low[GRID], high[GRID];
} view;

/*  Trains a model of one or two layers, prints how well it does, and predicts on the grid. */
static void run(int layers, view *v)
{
	odvgp_config cfg = odvgp_config_defaults(N, 1, 1, M, 0);
	cfg.layer[0].kernel = "rbf";
	cfg.optim.lr = odvgp_falling(0.02, 0.001, STEPS);
	cfg.optim.natgrad_step = odvgp_constant(0.1);
	/* The hidden layer passes its input on, plus a Gaussian process that starts near 0. Above it
       stands a layer of the same kind. */
	if (layers == 2) {
		cfg.layers = 2;
		cfg.layer[1] = cfg.layer[0];
		cfg.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
		cfg.deep.samples = 5;
		cfg.deep.predict_samples = 200;
	}
	odvgp_info info;
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, X, y, NULL, &info), &info);
	must(odvgp_fit(gp, X, y, STEPS, NULL, &info), &info);

	/* The bound of the deep model is an estimate: its normals change with each step. */
	double elbo, rmse = 0, mean[NEW], noise;
	must(odvgp_elbo(gp, X, y, N, &elbo, NULL, NULL, &info), &info);
	must(odvgp_predict_once(gp, new_X, NEW, mean, NULL, NULL, &info), &info);
	for (int i = 0; i < NEW; i++) rmse += pow(mean[i] - curve(new_X[i]), 2) / NEW;
	odvgp_get(gp, "noise_variance", &noise, 1, NULL);
	service s;
	serve(&s, gp, NULL);
	printf("%d %9.0f %14.3f %19.2f %13.2f\n", layers, elbo, sqrt(rmse),
			serve_logp(&s, new_X, new_y, NEW), sqrt(noise));
	serve_end(&s);

	must(odvgp_predict_once(gp, grid, GRID, v->mean, v->var, NULL, &info), &info);
	band(v->mean, v->var, GRID, v->low, v->high);
	odvgp_model_free(gp);
}

int main(void)
{
	static view views[2];
	plot_item items[2][4];
	for (int i = 0; i < N; i++) {
		X[i] = 6 * uniform() - 3;
		y[i] = curve(X[i]) + 0.1 * normal();
	}
	for (int i = 0; i < NEW; i++) {
		new_X[i] = 6 * uniform() - 3;
		new_y[i] = curve(new_X[i]) + 0.1 * normal();
	}
	spread(grid, GRID, -3, 3);
	for (int i = 0; i < GRID; i++) truth[i] = curve(grid[i]);
	printf("layers  bound  error of mean  log density of new y  noise (0.10)\n");
	for (int k = 0; k < 2; k++) {
		const view *v = &views[k];
		run(k + 1, &views[k]);
		plot_item panel[4] = {
				{PLOT_BAND, TWO_SD, grid, v->low, v->high, GRID, 0, 0},
				{PLOT_POINTS, "data", X, y, NULL, N, 7, 0},
				{PLOT_LINE, "truth", grid, truth, NULL, GRID, 6, 2},
				{PLOT_LINE, "mean", grid, v->mean, NULL, GRID, 0, 0},
		};
		memcpy(items[k], panel, sizeof panel);
	}
	plot_scene scenes[2] = {
			{"one layer", "x", "y", items[0], 4, -3, 3, -2, 2, 0},
			{"two layers", "x", "y", items[1], 4, -3, 3, -2, 2, 0},
	};
	const char *path = "build/deep.svg";
	return drawn(plot_scenes(path, NULL, scenes, 2), path);
}

/*  Lesson 1: inducing points that move. A sparse Gaussian process summarises all rows of data by a
    few inducing points. Their positions are parameters of the bound, and training moves them to
    where the data need them (Titsias 2009). Here ten points start crowded at the left.

        cc -O2 -I. examples/lessons/1_moving_points.c -o build/lesson1 -lm && build/lesson1

    Output:
        step   bound   least   greatest position
           0   -2470     0.0     2.0
          50   -1197     0.1     3.6
         100    -942     0.1     4.4
         200    -254     0.2     5.6
         400    -165     0.2     5.6
        picture: build/lesson1.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lesson.h"

enum { N = 200, M = 10, GRID = 241, STEPS = 400 };

static double X[N], y[N], grid[GRID], truth[GRID];

/*  What one panel of the picture shows. */
typedef struct view {
	double Z[M], mean[GRID], var[GRID], low[GRID], high[GRID];
} view;

static void look(odvgp_model *gp, view *v)
{
	odvgp_info info;
	must(odvgp_predict_once(gp, grid, GRID, v->mean, v->var, NULL, &info), &info);
	band(v->mean, v->var, GRID, v->low, v->high);
	odvgp_get(gp, "Z_beta", v->Z, M, NULL);
}

int main(void)
{
	for (int i = 0; i < N; i++) {
		X[i] = 6 * uniform();
		y[i] = sin(2 * X[i]) + 0.4 * cos(5 * X[i]) + 0.2 * normal();
	}
	spread(grid, GRID, 0, 6);
	for (int i = 0; i < GRID; i++) truth[i] = sin(2 * grid[i]) + 0.4 * cos(5 * grid[i]);

	/* M inducing points, no gamma points, and all rows in every step. */
	odvgp_config cfg = odvgp_config_defaults(N, 1, 1, M, 0);
	cfg.layer[0].kernel = "rbf(0.4, variance=1)";
	cfg.lik.noise_variance = 0.04;
	cfg.optim.lr = odvgp_falling(0.02, 0.002, STEPS);
	cfg.optim.natgrad_step = odvgp_constant(1);
	odvgp_info info;
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, X, y, NULL, &info), &info);

	/* The points start between 0 and 2. Kernel and noise keep their values, so that nothing but
       the points can improve the bound; q follows them by natural steps of size 1. */
	double Z[M];
	spread(Z, M, 0, 2);
	must(odvgp_set(gp, "Z_beta", Z, M, &info), &info);
	must(odvgp_init_q(gp, &info), &info);
	odvgp_set_trainable(gp, "kernel.*", 0, NULL);
	odvgp_set_trainable(gp, "noise_variance", 0, NULL);
	must(odvgp_natgrad_step(gp, X, y, N, 1, NULL, &info), &info);

	static view before, after;
	static double step[STEPS + 1], track[M][STEPS + 1];
	look(gp, &before);
	printf("step   bound   least   greatest position\n");
	for (int i = 0; i <= STEPS; i++) {
		double elbo, least = 1e9, greatest = -1e9;
		odvgp_get(gp, "Z_beta", Z, M, NULL);
		step[i] = i;
		for (int m = 0; m < M; m++) {
			track[m][i] = Z[m];
			least = fmin(least, Z[m]);
			greatest = fmax(greatest, Z[m]);
		}
		if (i == 0 || i == 50 || i == 100 || i == 200 || i == STEPS) {
			must(odvgp_elbo(gp, X, y, N, &elbo, NULL, NULL, &info), &info);
			printf("%4d %7.0f %7.1f %7.1f\n", i, elbo, least, greatest);
		}
		if (i < STEPS) must(odvgp_step(gp, X, y, NULL, &info), &info);
	}
	look(gp, &after);
	odvgp_model_free(gp);

	const view *views[2] = {&before, &after};
	plot_item items[2][5], lines[M];
	for (int k = 0; k < 2; k++) {
		const view *v = views[k];
		plot_item panel[5] = {
				{PLOT_BAND, TWO_SD, grid, v->low, v->high, GRID, 0, 0},
				{PLOT_POINTS, "data", X, y, NULL, N, 7, 0},
				{PLOT_LINE, "truth", grid, truth, NULL, GRID, 6, 2},
				{PLOT_LINE, "mean", grid, v->mean, NULL, GRID, 0, 0},
				{PLOT_PLUS, "inducing points", v->Z, NULL, NULL, M, 1, 0},
		};
		memcpy(items[k], panel, sizeof panel);
	}
	for (int m = 0; m < M; m++) {
		plot_item line = {PLOT_LINE, NULL, step, track[m], NULL, STEPS + 1, 1, 0};
		lines[m] = line;
	}
	plot_scene scenes[3] = {
			{"before", "x", "y", items[0], 5, 0, 6, -3, 2.5, 0},
			{"after 400 steps", "x", "y", items[1], 5, 0, 6, -3, 2.5, 0},
			{"where the points go", "step", "position", lines, M, 0, 0, 0, 0, 0},
	};
	const char *path = "build/lesson1.svg";
	return drawn(plot_scenes(path, NULL, scenes, 3), path);
}

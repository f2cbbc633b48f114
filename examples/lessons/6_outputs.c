/*  Lesson 6: several outputs. P outputs share the inducing points and the kernel matrices, which
    cost most of a step; each has a q of its own. Here a sensor reports where a moving thing is,
    three coordinates at once, and falls silent for a while.

        cc -O2 -I. examples/lessons/6_outputs.c -o build/lesson6 -lm && build/lesson6

    Output:
        output             rms error   sd at t = 3   sd at t = 5.5
        first coordinate       0.24        0.05           0.39
        second coordinate      0.15        0.05           0.39
        third coordinate       0.11        0.05           0.39
        one noise for all: sd 0.15, in truth 0.15
        q_mu has 3 x 16 numbers, Z_beta 16
        picture: build/lesson6.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lesson.h"

enum { N = 120, P = 3, M = 16, GRID = 241 };

static double place(int p, double t)
{
	return p == 0   ? (1 + 0.1 * t) * cos(1.3 * t)
		   : p == 1 ? (1 + 0.1 * t) * sin(1.3 * t)
					: 0.2 * t - 1 + 0.3 * sin(2.6 * t);
}

int main(void)
{
	/* A row of targets has one column for each output. */
	static double X[N], Y[N][P], column[P][N];
	for (int i = 0; i < N; i++) {
		X[i] = 7 * uniform();
		/* The sensor is silent from 4.5 to 6.5. */
		if (X[i] > 4.5) X[i] += 2;
		for (int p = 0; p < P; p++) column[p][i] = Y[i][p] = place(p, X[i]) + 0.15 * normal();
	}

	odvgp_config cfg = odvgp_config_defaults(N, 1, P, M, 0);
	cfg.layer[0].kernel = "rbf(1, variance=1)";
	odvgp_info info;
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, X, &Y[0][0], NULL, &info), &info);
	must(odvgp_fit(gp, X, &Y[0][0], 3000, NULL, &info), &info);

	/* Means and standard deviations have one row for each output. */
	static double grid[GRID], mean[P][GRID], var[P][GRID], low[P][GRID], high[P][GRID],
			truth[P][GRID];
	spread(grid, GRID, 0, 9);
	must(odvgp_predict_once(gp, grid, GRID, &mean[0][0], &var[0][0], NULL, &info), &info);

	static const char *name[P] = {"first coordinate", "second coordinate", "third coordinate"};
	printf("output             rms error   sd at t = 3   sd at t = 5.5\n");
	for (int p = 0; p < P; p++) {
		double sum = 0;
		for (int i = 0; i < GRID; i++) {
			truth[p][i] = place(p, grid[i]);
			sum += (mean[p][i] - truth[p][i]) * (mean[p][i] - truth[p][i]) / GRID;
		}
		band(mean[p], var[p], GRID, low[p], high[p]);
		printf("%-17s %9.2f %11.2f %14.2f\n", name[p], sqrt(sum), sqrt(var[p][80]),
				sqrt(var[p][147]));
	}
	double Z[M], noise;
	odvgp_get(gp, "Z_beta", Z, M, NULL);
	odvgp_get(gp, "noise_variance", &noise, 1, NULL);
	printf("one noise for all: sd %.2f, in truth 0.15\n", sqrt(noise));
	const odvgp_slot *mu = odvgp_slot_find(gp, "q_mu"), *all = odvgp_slot_find(gp, "Z_beta");
	printf("q_mu has %td x %td numbers, Z_beta %td\n", mu->shape[0], mu->shape[1], all->count);
	odvgp_model_free(gp);

	static plot_item items[P][5];
	plot_scene scenes[P + 1];
	for (int p = 0; p < P; p++) {
		plot_item panel[5] = {
				{PLOT_BAND, TWO_SD, grid, low[p], high[p], GRID, 0, 0},
				{PLOT_POINTS, "data", X, column[p], NULL, N, 7, 0},
				{PLOT_LINE, "truth", grid, truth[p], NULL, GRID, 6, 2},
				{PLOT_LINE, "mean", grid, mean[p], NULL, GRID, 0, 0},
				{PLOT_PLUS, "inducing points, shared", Z, NULL, NULL, M, 1, 0},
		};
		memcpy(items[p], panel, sizeof panel);
		plot_scene scene = {name[p], "t", NULL, items[p], 5, 0, 9, -2.8, 2.3, 0};
		scenes[p] = scene;
	}
	plot_item path_of[2] = {
			{PLOT_LINE, NULL, truth[0], truth[1], NULL, GRID, 6, 2},
			{PLOT_LINE, NULL, mean[0], mean[1], NULL, GRID, 0, 0},
	};
	plot_scene plane = {"the path", "first coordinate", "second coordinate", path_of, 2, -2.3, 2.3,
			-2.3, 2.3, 0};
	scenes[P] = plane;
	const char *path = "build/lesson6.svg";
	return drawn(plot_grid(path, NULL, scenes, P + 1, 2), path);
}

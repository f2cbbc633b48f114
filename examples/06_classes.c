/*  Classes: three arms of a spiral, 80 noisy points each. Softmax has a function for each class; its
    probabilities say how sure it is, between the arms and far away from all data.

        cc -O2 -I. examples/06_classes.c -o build/06_classes -lm && build/06_classes

    Output:
        3000 new points: accuracy 0.999, mean log p(class) -0.045
        probabilities      class 0  class 1  class 2
        on an arm             0.98     0.01     0.02
        where all meet        0.46     0.27     0.27
        far away              0.33     0.33     0.33
        picture: build/06_classes.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lessons/lesson.h"

enum { K = 3, EACH = 80, N = K * EACH, NEW = 3000, SIDE = 50, CELLS = SIDE * SIDE, STEPS = 800 };

static double X[N][2], y[N], new_X[NEW][2], new_y[NEW], grid[CELLS][2], p[K][CELLS];
static double column[2][CELLS], best[CELLS], top[CELLS], arm[K][2][EACH];

/*  A point of an arm: it turns by 200 degrees on its way out. */
static void draw(double *x, int class)
{
	double t = 0.25 + 0.75 * uniform(), angle = 2.1 * class + 3.5 * t + 0.25 * normal();
	x[0] = 2 * t * cos(angle);
	x[1] = 2 * t * sin(angle);
}

/*  The most probable class of column i of p [K][n]. */
static int winner(const double *q, int n, int i)
{
	int k = 0;
	for (int j = 1; j < K; j++)
		if (q[j * n + i] > q[k * n + i]) k = j;
	return k;
}

int main(void)
{
	for (int i = 0; i < N; i++) {
		draw(X[i], i % K);
		y[i] = i % K;
		for (int d = 0; d < 2; d++) arm[i % K][d][i / K] = X[i][d];
	}
	for (int i = 0; i < NEW; i++) draw(new_X[i], i % K), new_y[i] = i % K;
	for (int i = 0; i < CELLS; i++)
		for (int d = 0; d < 2; d++)
			column[d][i] = grid[i][d] = 6 * ((d ? i / SIDE : i % SIDE) + 0.5) / SIDE - 3;

	/* A function for each class, and one target: its number. */
	odvgp_config cfg = odvgp_config_defaults(N, 2, K, 25, 40);
	cfg.lik.kind = ODVGP_LIKELIHOOD_SOFTMAX;
	cfg.layer[0].kernel = "rbf(0.7, variance=4)";
	cfg.optim.lr = odvgp_falling(0.01, 0.001, STEPS);
	cfg.optim.natgrad_step = odvgp_rising(1e-5, 0.1, 100, 0.01, STEPS - 100);
	odvgp_info info;
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, &X[0][0], y, NULL, &info), &info);
	must(odvgp_fit(gp, &X[0][0], y, STEPS, NULL, &info), &info);

	service s;
	static double q[K][NEW];
	int right = 0;
	serve(&s, gp, NULL);
	serve_y(&s, &new_X[0][0], NEW, &q[0][0], NULL);
	for (int i = 0; i < NEW; i++) right += winner(&q[0][0], NEW, i) == i % K;
	printf("%d new points: accuracy %.3f, mean log p(class) %.3f\n", NEW, (double)right / NEW,
			serve_logp(&s, &new_X[0][0], new_y, NEW));
	const double places[3][2] = {{arm[0][0][0], arm[0][1][0]}, {0, 0}, {9, 9}};
	const char *const names[3] = {"on an arm", "where all meet", "far away"};
	double of[K][3];
	printf("probabilities      class 0  class 1  class 2\n");
	serve_y(&s, &places[0][0], 3, &of[0][0], NULL);
	for (int i = 0; i < 3; i++)
		printf("%-16s %9.2f%9.2f%9.2f\n", names[i], of[0][i], of[1][i], of[2][i]);

	serve_y(&s, &grid[0][0], CELLS, &p[0][0], NULL);
	for (int i = 0; i < CELLS; i++) {
		int k = winner(&p[0][0], CELLS, i);
		best[i] = k;
		top[i] = p[k][i];
	}
	serve_end(&s);
	odvgp_model_free(gp);
	plot_item items[2][1 + K] = {
			{{PLOT_REGIONS, NULL, column[0], column[1], best, CELLS, 0, SIDE}},
			{{PLOT_MAP, NULL, column[0], column[1], top, CELLS, PLOT_GREY, SIDE}},
	};
	static const char *const classes[K] = {"class 0", "class 1", "class 2"};
	for (int k = 0; k < K; k++) {
		plot_item points = {PLOT_POINTS, classes[k], arm[k][0], arm[k][1], NULL, EACH, k, 0};
		items[0][1 + k] = items[1][1 + k] = points;
	}
	plot_scene scenes[2] = {
			{"most probable class", "x", "y", items[0], 1 + K, -3, 3, -3, 3, 0},
			{"its probability", "x", "y", items[1], 1 + K, -3, 3, -3, 3, 0},
	};
	const char *path = "build/06_classes.svg";
	return drawn(plot_scenes(path, NULL, scenes, 2), path);
}

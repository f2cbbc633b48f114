/*  Lesson 2: log p(y) between its bounds. With few inducing points the ELBO lies below log p(y) of
    the exact Gaussian process, and an upper bound (Titsias 2014) above it. Both meet it as the
    number of points M grows. On data too large for the exact process, the two bounds together still
    tell how much more points can gain.

        cc -O2 -I. examples/lessons/2_bounds.c -o build/lesson2 -lm && build/lesson2

    Output:
          M     ELBO   log p(y)   upper bound
         15   -473.1   -131.4       45.2
         20   -199.9   -131.4       33.7
         25   -144.2   -131.4       20.8
         30   -133.6   -131.4      -17.0
         35   -131.6   -131.4      -92.3
         40   -131.4   -131.4     -125.5
         45   -131.4   -131.4     -130.5
         50   -131.4   -131.4     -130.8
         60   -131.4   -131.4     -131.0
        picture: build/lesson2.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lesson.h"

enum { N = 300, COUNT = 9 };

static double X[N], y[N];

/*  A model with M points. Kernel and noise are given and stay. The points are chosen greedily:
    always the row about which the points so far say least (Burt et al. 2020). */
static odvgp_model *model_of(ptrdiff_t M, int exact)
{
	odvgp_config cfg = odvgp_config_defaults(N, 1, 1, M, 0);
	cfg.layer[0].kernel = "rbf(0.4, variance=1)";
	cfg.lik.noise_variance = 0.09;
	cfg.init.beta = ODVGP_INIT_BETA_GREEDY;
	if (exact) {
		/* The objective EXACT is log p(y) itself. It has a point on every row. */
		cfg.layer[0].mean_part = ODVGP_MEAN_PART_FREE;
		cfg.layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
		cfg.objective = ODVGP_OBJECTIVE_EXACT;
		cfg.optim.natgrad = 0;
		cfg.optim.batch = N;
	}
	odvgp_info info;
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, X, y, NULL, &info), &info);
	return gp;
}

int main(void)
{
	for (int i = 0; i < N; i++) {
		X[i] = 10 * uniform();
		y[i] = sin(2 * X[i]) + 0.5 * cos(5 * X[i]) + 0.3 * normal();
	}

	odvgp_info info;
	double exact;
	odvgp_model *gp = model_of(N, 1);
	must(odvgp_elbo(gp, X, y, N, &exact, NULL, NULL, &info), &info);
	odvgp_model_free(gp);

	static const int sizes[COUNT] = {15, 20, 25, 30, 35, 40, 45, 50, 60};
	double M[COUNT], lower[COUNT], upper[COUNT], level[COUNT];
	printf("  M     ELBO   log p(y)   upper bound\n");
	for (int k = 0; k < COUNT; k++) {
		gp = model_of(sizes[k], 0);
		/* One pass over the data gives both: the ELBO at its best q, and the upper bound. */
		const size_t bytes = odvgp_fit_q_scratch(gp, NULL);
		void *work = malloc(bytes);
		if (!work) return 1;
		must(odvgp_upper_bound(gp, X, y, &upper[k], &lower[k], work, bytes, &info), &info);
		free(work);
		odvgp_model_free(gp);
		M[k] = sizes[k];
		level[k] = exact;
		printf("%3d %8.1f %8.1f %10.1f\n", sizes[k], lower[k], exact, upper[k]);
	}

	plot_item items[4] = {
			{PLOT_BAND, "log p(y) lies here", M, lower, upper, COUNT, 0, 0},
			{PLOT_LINE, "upper bound", M, upper, NULL, COUNT, 1, 1},
			{PLOT_LINE, "ELBO", M, lower, NULL, COUNT, 0, 0},
			{PLOT_LINE, "log p(y)", M, level, NULL, COUNT, 6, 2},
	};
	plot_scene scene = {NULL, "inducing points M", "nats", items, 4, 0, 0, 0, 0, 0};
	const char *path = "build/lesson2.svg";
	return drawn(plot_scenes(path, NULL, &scene, 1), path);
}

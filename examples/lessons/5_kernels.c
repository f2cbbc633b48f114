/*  Lesson 5: kernels as samples. A kernel says which functions are likely before any data are
    seen. A model that has seen no data has q at the prior, so its samples are samples of the
    prior. The table has the covariance of f(1) and f(x); the picture has three functions of each
    kernel.

        cc -O2 -I. examples/lessons/5_kernels.c -o build/lesson5 -lm && build/lesson5

    Output:
        covariance of f(1) with             f(1)  f(1.1)  f(1.5)  f(2.5)
        rbf(1)                              1.000   0.995   0.882   0.325
        matern52(1)                         1.000   0.992   0.829   0.283
        matern12(1)                         1.000   0.905   0.607   0.223
        rq(1, alpha=0.2)                    1.000   0.995   0.907   0.685
        periodic(1, period=1.5)             1.000   0.917   0.223   1.000
        rbf(2) * periodic(1, period=1)      1.000   0.825   0.131   0.102
        linear(0.2)                         0.200   0.220   0.300   0.500
        rbf(2) + rbf(0.1, variance=0.03)    1.030   1.017   0.969   0.755
        rbf(1) + white(0.02)                1.020   0.995   0.882   0.325
        picture: build/lesson5.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lesson.h"

enum { GRID = 251, SAMPLES = 3, KERNELS = 9, PLACES = 4 };

static const char *const kernel[KERNELS] = {"rbf(1)", "matern52(1)", "matern12(1)",
		"rq(1, alpha=0.2)", "periodic(1, period=1.5)", "rbf(2) * periodic(1, period=1)",
		"linear(0.2)", "rbf(2) + rbf(0.1, variance=0.03)", "rbf(1) + white(0.02)"};

/*  A predictor of the prior, in a block of malloc. */
static void *prior(const char *text, odvgp_server *server)
{
	odvgp_config cfg = odvgp_config_defaults(1, 1, 1, 1, 0);
	cfg.layer[0].kernel = text;
	odvgp_info info;
	const size_t bytes = odvgp_model_size(&cfg, &info);
	void *block = malloc(bytes);
	odvgp_model *gp;
	must(odvgp_model_init(&gp, &cfg, block, bytes, &info), &info);
	/* One inducing point, anywhere but at 0, where a linear kernel is 0. */
	const double Z = 1;
	must(odvgp_set(gp, "Z_beta", &Z, 1, &info), &info);
	must(odvgp_init_q(gp, &info), &info);
	const size_t frozen_bytes = odvgp_predictor_size(gp, NULL);
	void *frozen = malloc(frozen_bytes);
	must(odvgp_freeze(gp, NULL, frozen, frozen_bytes, &info), &info);
	free(block);
	must(odvgp_server_from_block(server, frozen, frozen_bytes, ODVGP_ISA_AUTO, &info), &info);
	return frozen;
}

int main(void)
{
	static double grid[GRID], f[KERNELS][SAMPLES][GRID];
	static plot_item items[KERNELS][SAMPLES];
	plot_scene scenes[KERNELS];
	spread(grid, GRID, 0, 5);
	const double places[PLACES] = {1, 1.1, 1.5, 2.5};
	printf("covariance of f(1) with             f(1)  f(1.1)  f(1.5)  f(2.5)\n");
	for (int k = 0; k < KERNELS; k++) {
		odvgp_server server;
		void *frozen = prior(kernel[k], &server);
		size_t bytes = odvgp_predict_scratch(&server, PLACES, NULL);
		void *scratch = malloc(bytes);
		double cov[PLACES][PLACES];
		if (odvgp_predict_cov(&server, places, PLACES, NULL, &cov[0][0], scratch, bytes, NULL))
			return 1;
		free(scratch);
		printf("%-33s", kernel[k]);
		for (int i = 0; i < PLACES; i++) printf("  %6.3f", cov[0][i]);
		printf("\n");

		/* Samples are joint: each is one function at all places of the grid. */
		bytes = odvgp_sample_scratch(&server, GRID, NULL);
		scratch = malloc(bytes);
		if (odvgp_sample(&server, grid, GRID, &(odvgp_draws){SAMPLES, 4}, &f[k][0][0], scratch,
					bytes, NULL))
			return 1;
		free(scratch);
		free(frozen);
		for (int s = 0; s < SAMPLES; s++) {
			plot_item line = {PLOT_LINE, NULL, grid, f[k][s], NULL, GRID, s, 0};
			items[k][s] = line;
		}
		plot_scene scene = {kernel[k], "x", "f(x)", items[k], SAMPLES, 0, 5, -3.3, 3.3, 0};
		scenes[k] = scene;
	}
	const char *path = "build/lesson5.svg";
	return drawn(plot_grid(path, NULL, scenes, KERNELS, 3), path);
}

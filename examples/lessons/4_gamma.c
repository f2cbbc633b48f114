/*  Lesson 4: why gamma helps the mean and not the variance. In ORTH (Salimbeni et al. 2018, eq. 11)
    gamma points stand only in the formula of the mean:
        mean = A^T (q_mu - c) + K(x,Zg) a        variance = k - |A|^2 + |q_sqrt^T A|^2
    A holds the covariances with the beta points, so the variance sees beta only. SOLVE-GP (Shi et
    al. 2020) gives gamma a covariance, too, at a cost that grows with gamma cubed. Kernel and noise
    are given here, and q is the best that each member can have.

        cc -O2 -I. examples/lessons/4_gamma.c -o build/lesson4 -lm && build/lesson4

    Output:
        distance from the exact process   of the mean   of the standard deviation
        COUPLED, 6 points                     0.415                0.489
        ORTH, 6 + 30 points                   0.000                0.489
        SOLVE-GP, 6 + 30 points               0.000                0.019
        COUPLED, 36 points                    0.000                0.000
        picture: build/lesson4.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lesson.h"

enum { N = 80, GRID = 151, BETA = 6, GAMMA = 30, CASES = 4 };

static double X[N], y[N], grid[GRID], Z[BETA + GAMMA];

typedef struct fit {
	double mean[GRID], var[GRID], sd[GRID], low[GRID], high[GRID];
} fit;

static void learn(fit *f, ptrdiff_t M, ptrdiff_t M_gamma, int solve, int exact)
{
	odvgp_config cfg = odvgp_config_defaults(N, 1, 1, M, M_gamma);
	cfg.layer[0].kernel = "rbf(0.35, variance=1)";
	cfg.lik.noise_variance = 0.09;
	if (solve) {
		cfg.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS;
		cfg.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
	}
	odvgp_info info;
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, X, y, NULL, &info), &info);
	/* All members get the same BETA points, evenly spaced. */
	if (!exact) must(odvgp_set(gp, "Z_beta", Z, M, &info), &info);
	if (M_gamma) must(odvgp_set(gp, "Z_gamma", Z + M, M_gamma, &info), &info);
	const size_t bytes = odvgp_fit_q_scratch(gp, NULL);
	void *work = malloc(bytes);
	if (!work) exit(1);
	must(odvgp_fit_q(gp, X, y, NULL, work, bytes, &info), &info);
	free(work);
	must(odvgp_predict_once(gp, grid, GRID, f->mean, f->var, NULL, &info), &info);
	for (int i = 0; i < GRID; i++) f->sd[i] = sqrt(f->var[i]);
	band(f->mean, f->var, GRID, f->low, f->high);
	odvgp_model_free(gp);
}

/*  Root mean square of a - b. */
static double distance(const double *a, const double *b)
{
	double sum = 0;
	for (int i = 0; i < GRID; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sqrt(sum / GRID);
}

int main(void)
{
	for (int i = 0; i < N; i++) {
		X[i] = 6 * uniform();
		y[i] = sin(3 * X[i]) + 0.5 * cos(7 * X[i]) + 0.3 * normal();
	}
	spread(grid, GRID, 0, 6);
	spread(Z, BETA, 0.5, 5.5);
	spread(Z + BETA, GAMMA, 0, 6);

	/* With a point on every row COUPLED is the exact Gaussian process to rounding. */
	static fit exact, fits[CASES];
	learn(&exact, N, 0, 0, 1);
	static const char *title[CASES] = {"COUPLED, 6 points", "ORTH, 6 + 30 points",
			"SOLVE-GP, 6 + 30 points", "COUPLED, 36 points"};
	learn(&fits[0], BETA, 0, 0, 0);
	learn(&fits[1], BETA, GAMMA, 0, 0);
	learn(&fits[2], BETA, GAMMA, 1, 0);
	learn(&fits[3], BETA + GAMMA, 0, 0, 0);

	printf("distance from the exact process   of the mean   of the standard deviation\n");
	plot_item items[CASES][7];
	plot_scene scenes[CASES];
	for (int k = 0; k < CASES; k++) {
		const fit *f = &fits[k];
		printf("%-33s %9.3f %20.3f\n", title[k], distance(f->mean, exact.mean),
				distance(f->sd, exact.sd));
		/* The last model has its 30 further points in beta: black, too. */
		plot_item all[7] = {
				{PLOT_BAND, TWO_SD, grid, f->low, f->high, GRID, 0, 0},
				{PLOT_LINE, "mean", grid, f->mean, NULL, GRID, 0, 0},
				{PLOT_LINE, "exact mean", grid, exact.mean, NULL, GRID, 6, 2},
				{PLOT_LINE, "exact " TWO_SD, grid, exact.low, NULL, GRID, 7, 0},
				{PLOT_LINE, NULL, grid, exact.high, NULL, GRID, 7, 0},
				{PLOT_PLUS, "\xCE\xB2 points", Z, NULL, NULL, BETA, 6, 0},
				{PLOT_RUG, "\xCE\xB3 points", Z + BETA, NULL, NULL, k ? GAMMA : 0, k < 3 ? 1 : 6,
						0},
		};
		memcpy(items[k], all, sizeof all);
		plot_scene scene = {title[k], "x", "f(x)", items[k], 7, 0, 6, -3.4, 3, 0};
		scenes[k] = scene;
	}
	const char *path = "build/lesson4.svg";
	return drawn(plot_grid(path, NULL, scenes, CASES, 2), path);
}

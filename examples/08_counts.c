/*  Counts with exposure: accidents of 300 groups of drivers, each observed for its own number of
    years. The rate depends on age, and differs between groups beyond that: with a size of 2 the
    variance of a count of mean m is m + m^2 / 2, not m. Poisson takes that for structure.

        cc -O2 -I. examples/08_counts.c -o build/08_counts -lm && build/08_counts

    Output:
                            log p(count)  truth in the band  lengthscale    size
        Poisson                    -5.62               29 %           17       -
        negative binomial          -3.38               89 %           21     1.6
        picture: build/08_counts.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lessons/lesson.h"

enum { N = 300, NEW = 2000, GRID = 201, M = 20, STEPS = 1500 };

static double X[N], Y[N][2], rates[N], new_X[NEW], new_Y[NEW][2];
static double grid[GRID], truth[GRID];

static double rate(double age) { return 1.5 + 6 * exp(-0.12 * (age - 18)) + 0.0009 * age * age; }

/*  A count of mean m: how many gaps, exponential of mean 1, fit into m. */
static double poisson(double m)
{
	int k = -1;
	while (m > 0) {
		m += log(1 - uniform());
		k++;
	}
	return k;
}

/*  An age, and a row of Y: the count, then the exposure in years. The group's own factor is the
    mean of two exponential numbers, which has variance 1/2. */
static void draw(double *age, double *row)
{
	double factor = -0.5 * (log(1 - uniform()) + log(1 - uniform()));
	*age = 18 + 62 * uniform();
	row[1] = 0.5 + 4.5 * uniform();
	row[0] = poisson(row[1] * rate(*age) * factor);
}

/*  The rate's median, and limits of two standard deviations of its logarithm f. */
typedef struct view {
	double median[GRID], low[GRID], high[GRID];
} view;

static void run(odvgp_likelihood kind, const char *name, view *v)
{
	odvgp_config cfg = odvgp_config_defaults(N, 1, 1, M, 0);
	cfg.lik.kind = kind;
	cfg.lik.exposure = 1;
	cfg.layer[0].kernel = "rbf(15, variance=1)";
	cfg.layer[0].mean_function = ODVGP_MEAN_FUNCTION_CONSTANT;
	cfg.optim.lr = odvgp_falling(0.02, 0.001, STEPS);
	cfg.optim.natgrad_step = odvgp_rising(1e-5, 0.1, 100, 0.01, STEPS - 100);
	odvgp_info info;
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, X, &Y[0][0], NULL, &info), &info);
	must(odvgp_fit(gp, X, &Y[0][0], STEPS, NULL, &info), &info);

	double f[GRID], var[GRID], scale, size;
	char of_size[16] = "-";
	int inside = 0;
	must(odvgp_predict_once(gp, grid, GRID, f, var, NULL, &info), &info);
	for (int i = 0; i < GRID; i++) {
		v->median[i] = exp(f[i]);
		v->low[i] = exp(f[i] - 2 * sqrt(var[i]));
		v->high[i] = exp(f[i] + 2 * sqrt(var[i]));
		inside += truth[i] > v->low[i] && truth[i] < v->high[i];
	}
	if (!odvgp_get(gp, "size", &size, 1, NULL)) snprintf(of_size, sizeof of_size, "%.1f", size);
	odvgp_get(gp, "kernel.0.lengthscale", &scale, 1, NULL);
	service s;
	serve(&s, gp, NULL);
	printf("%-18s %13.2f %16.0f %% %12.0f %7s\n", name, serve_logp(&s, new_X, &new_Y[0][0], NEW),
			100.0 * inside / GRID, scale, of_size);
	serve_end(&s);
	odvgp_model_free(gp);
}

int main(void)
{
	static view views[2];
	static const char *const names[2] = {"Poisson", "negative binomial"};
	static const odvgp_likelihood kinds[2] = {
			ODVGP_LIKELIHOOD_POISSON, ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL};
	plot_item items[2][4];
	plot_scene scenes[2];
	for (int i = 0; i < N; i++) {
		draw(&X[i], Y[i]);
		rates[i] = Y[i][0] / Y[i][1];
	}
	for (int i = 0; i < NEW; i++) draw(&new_X[i], new_Y[i]);
	spread(grid, GRID, 18, 80);
	for (int i = 0; i < GRID; i++) truth[i] = rate(grid[i]);
	printf("                    log p(count)  truth in the band  lengthscale    size\n");
	for (int k = 0; k < 2; k++) {
		const view *v = &views[k];
		run(kinds[k], names[k], &views[k]);
		plot_item panel[4] = {
				{PLOT_BAND, TWO_SD " of log rate", grid, v->low, v->high, GRID, 0, 0},
				{PLOT_POINTS, "count / exposure", X, rates, NULL, N, 7, 0},
				{PLOT_LINE, "truth", grid, truth, NULL, GRID, 6, 2},
				{PLOT_LINE, "median", grid, v->median, NULL, GRID, 0, 0},
		};
		memcpy(items[k], panel, sizeof panel);
		plot_scene scene = {names[k], "age", "accidents a year", items[k], 4, 18, 80, 0, 20, 0};
		scenes[k] = scene;
	}
	const char *path = "build/08_counts.svg";
	return drawn(plot_scenes(path, NULL, scenes, 2), path);
}

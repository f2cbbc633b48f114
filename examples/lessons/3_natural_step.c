/*  Lesson 3: one natural step lands on the optimum. With Gaussian noise and all rows in the batch,
    the best q(u) is one natural gradient step of size 1 away from any q (Salimbeni, Eleftheriadis,
    Hensman 2018). Adam sees q's mean and covariance as plain numbers and needs thousands of steps.

        cc -O2 -I. examples/lessons/3_natural_step.c -o build/lesson3 -lm && build/lesson3

    Output:
        bound with q at the prior      -1734.22
        after one natural step          -100.90
        after a second one              -100.90
        closed form                     -100.90
        one step, and two, end within a millionth of a nat of it: yes
        natural, step 1    1 steps until less than 0.01 nats are missing
        natural, 0.3       9 steps until less than 0.01 nats are missing
        natural, 0.1      30 steps until less than 0.01 nats are missing
        Adam, 0.01       605 steps until less than 0.01 nats are missing
        picture: build/lesson3.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lesson.h"

enum { N = 200, M = 20, STEPS = 3000 };

static double X[N], y[N];

/*  Kernel, noise and inducing points are given and frozen: only q is left to learn. */
static odvgp_model *start(int natgrad)
{
	odvgp_config cfg = odvgp_config_defaults(N, 1, 1, M, 0);
	cfg.layer[0].kernel = "matern52(0.8, variance=1)";
	cfg.lik.noise_variance = 0.09;
	cfg.optim.natgrad = natgrad;
	cfg.optim.lr = odvgp_constant(0.01);
	odvgp_info info;
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, X, y, NULL, &info), &info);
	odvgp_set_trainable(gp, "kernel.*", 0, NULL);
	odvgp_set_trainable(gp, "noise_variance", 0, NULL);
	odvgp_set_trainable(gp, "Z_beta", 0, NULL);
	return gp;
}

static double bound(odvgp_model *gp)
{
	odvgp_info info;
	double elbo;
	must(odvgp_elbo(gp, X, y, N, &elbo, NULL, NULL, &info), &info);
	return elbo;
}

/*  How far each step leaves the bound below its optimum. tau = 0: steps of Adam. The picture ends
    at a billionth of a nat, where rounding begins. */
static void descend(double tau, double best, double *gap, int steps)
{
	odvgp_info info;
	odvgp_model *gp = start(tau > 0);
	for (int i = 0; i < steps; i++) {
		if (tau > 0) must(odvgp_natgrad_step(gp, X, y, N, tau, NULL, &info), &info);
		else must(odvgp_step(gp, X, y, NULL, &info), &info);
		gap[i] = fmax(best - bound(gp), 1e-9);
	}
	odvgp_model_free(gp);
}

int main(void)
{
	for (int i = 0; i < N; i++) {
		X[i] = 10 * uniform();
		y[i] = sin(2 * X[i]) + 0.3 * normal();
	}

	odvgp_info info;
	odvgp_model *gp = start(1);
	printf("bound with q at the prior     %9.2f\n", bound(gp));
	must(odvgp_natgrad_step(gp, X, y, N, 1, NULL, &info), &info);
	const double one = bound(gp);
	printf("after one natural step        %9.2f\n", one);
	must(odvgp_natgrad_step(gp, X, y, N, 1, NULL, &info), &info);
	const double two = bound(gp);
	printf("after a second one            %9.2f\n", two);

	/* The same optimum from its closed form (Titsias 2009, eq. 10). */
	const size_t bytes = odvgp_fit_q_scratch(gp, NULL);
	void *work = malloc(bytes);
	if (!work) return 1;
	must(odvgp_fit_q(gp, X, y, NULL, work, bytes, &info), &info);
	free(work);
	const double best = bound(gp);
	printf("closed form                   %9.2f\n", best);
	printf("one step, and two, end within a millionth of a nat of it: %s\n",
			fabs(one - best) < 1e-6 && fabs(two - best) < 1e-6 ? "yes" : "no");
	odvgp_model_free(gp);

	static double step[STEPS], gap[4][STEPS];
	static const double tau[4] = {1, 0.3, 0.1, 0};
	static const char *name[4] = {"natural, step 1", "natural, 0.3", "natural, 0.1", "Adam, 0.01"};
	plot_item items[4];
	for (int i = 0; i < STEPS; i++) step[i] = i + 1;
	for (int k = 0; k < 4; k++) {
		descend(tau[k], best, gap[k], STEPS);
		int n = 0;
		while (n < STEPS && gap[k][n] > 1e-2) n++;
		printf("%-16s %3d steps until less than 0.01 nats are missing\n", name[k], n + 1);
		plot_item item = {PLOT_LINE, name[k], step, gap[k], NULL, STEPS, k, k};
		items[k] = item;
	}
	plot_scene scene = {
			NULL, "step", "nats below the optimum", items, 4, 0, 0, 0, 0, PLOT_LOGX | PLOT_LOGY};
	const char *path = "build/lesson3.svg";
	return drawn(plot_scenes(path, NULL, &scene, 1), path);
}

/*  A robot arm learns on the job. Its inverse dynamics are learned before, without a load; after 15
    of 45 seconds the arm takes up 0.8 kg, after 30 it puts them down. Each row is first predicted
    and then learned, in one of four ways: not at all; online, without or with forgetting; or by
    training a new model once a second on the last 4 seconds.

        cc -O2 -I. examples/12_payload.c -o build/12_payload -lm && build/12_payload

    Output:
        rms error, Nm; inside 2 sd     0-15 s  15-18 s  18-30 s  30-33 s  33-45 s
        no adaptation                 0.5 1.0  5.6 0.0  5.3 0.1  0.5 1.0  0.5 1.0
        online                        0.5 1.0  4.6 0.1  3.7 0.1  2.2 0.2  2.1 0.3
        online, forgetting            0.5 1.0  0.6 0.9  0.6 1.0  0.7 1.0  0.5 1.0
        retrained                     1.7 0.9  7.9 0.7  5.7 0.9  6.4 0.9  2.1 0.9
        picture: build/12_payload.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lessons/arm.h"
#include "lessons/lesson.h"

enum {
	N = 800,
	D = STATE,
	STEPS = 800,
	RATE = 100,
	TIME = 45,
	ROWS = TIME * RATE,
	WINDOW = 4 * RATE
};
enum { FIXED, KEEPING, FORGETTING, RETRAINED, WAYS };
static const char *const names[WAYS] = {
		"no adaptation", "online", "online, forgetting", "retrained"};
static double x_mean[D], x_scale[D], y_mean[JOINTS], y_scale[JOINTS];

/*  A model of n rows, served in the units of X and Y, which are standardised as the first was. */
static void train(service *s, const double *X, const double *Y, int n, int M, int steps)
{
	static double x[N * D], y[N * JOINTS];
	odvgp_info info;
	odvgp_model *gp;
	odvgp_scales scales = {x_mean, x_scale, y_mean, y_scale};
	odvgp_config cfg = odvgp_config_defaults(n, D, JOINTS, M, 0);
	cfg.layer[0].kernel = "rbf(ard)";
	cfg.lik.noise_per_output = 1;
	cfg.optim.lr = odvgp_falling(0.02, 0.002, steps);
	cfg.optim.natgrad_step = odvgp_constant(0.3);
	/* Few steps on few rows magnify rounding: plain C rounds alike on all machines. */
	cfg.isa = ODVGP_ISA_C;
	must(odvgp_standardise(X, n, D, x_mean, x_scale, x, &info), &info);
	must(odvgp_standardise(Y, n, JOINTS, y_mean, y_scale, y, &info), &info);
	must(odvgp_model_create(&gp, &cfg, x, y, NULL, &info), &info);
	must(odvgp_fit(gp, x, y, steps, NULL, &info), &info);
	serve(s, gp, &scales);
	odvgp_model_free(gp);
}

int main(void)
{
	static double X[N][D], Y[N][JOINTS], x[ROWS][D], y[ROWS][JOINTS];
	static double error[WAYS][TIME], share[WAYS][TIME], seconds[TIME];
	static const double lambda[WAYS] = {0, 1, 0.99, 0};
	odvgp_info info;
	arm_rows(N, X, Y);
	must(odvgp_column_scales(&X[0][0], N, D, x_mean, x_scale, &info), &info);
	must(odvgp_column_scales(&Y[0][0], N, JOINTS, y_mean, y_scale, &info), &info);
	service start, retrained = {{NULL, NULL, 0, 0, 0, 0, 0}, NULL, NULL, 0};
	train(&start, &X[0][0], &Y[0][0], N, 80, STEPS);

	/* What learns needs no model: a server, and memory. */
	static double memory[WAYS][24000], work[8000];
	odvgp_online online[WAYS];
	for (int k = KEEPING; k <= FORGETTING; k++)
		must(odvgp_online_start(&online[k], &start.server, 80, memory[k], sizeof *memory, work,
					 sizeof work, &info),
				&info);
	for (int i = 0; i < ROWS; i++) {
		int second = i / RATE;
		seconds[second] = second + 0.5;
		arm_movement((double)i / RATE, x[i]);
		arm_measure(x[i], second >= 15 && second < 30 ? 0.8 : 0, y[i]);
		if (i % RATE == 0 && i >= WINDOW) {
			serve_end(&retrained);
			train(&retrained, x[i - WINDOW], y[i - WINDOW], WINDOW, 40, 60);
		}
		for (int k = 0; k < WAYS; k++) {
			const odvgp_server *s = lambda[k] > 0                       ? &online[k].server
									: k == RETRAINED && retrained.block ? &retrained.server
																		: &start.server;
			double mean[JOINTS], var[JOINTS];
			must(odvgp_predict_y(s, x[i], 1, mean, var, start.scratch, start.bytes, &info), &info);
			double off = y[i][0] - mean[0];
			error[k][second] += off * off / RATE;
			share[k][second] += 100.0 * (fabs(off) < 2 * sqrt(var[0])) / RATE;
			if (lambda[k] > 0)
				must(odvgp_online_update(
							 &online[k], x[i], y[i], 1, lambda[k], work, sizeof work, &info),
						&info);
		}
	}

	/* The shoulder: over parts of the time, and drawn for each second. */
	static const int parts[] = {0, 15, 18, 30, 33, 45};
	static plot_item items[2][WAYS];
	printf("rms error, Nm; inside 2 sd  ");
	for (int p = 0; p < 5; p++) printf("  %2d-%2d s", parts[p], parts[p + 1]);
	for (int k = 0; k < WAYS; k++) {
		printf("\n%-28s", names[k]);
		for (int p = 0; p < 5; p++) {
			double sum = 0, inside = 0, n = parts[p + 1] - parts[p];
			for (int i = parts[p]; i < parts[p + 1]; i++)
				sum += error[k][i] / n, inside += share[k][i] / n;
			printf("  %3.1f %3.1f", sqrt(sum), inside / 100);
		}
		for (int i = 0; i < TIME; i++) error[k][i] = sqrt(error[k][i]);
		plot_item lines[2] = {{PLOT_LINE, names[k], seconds, error[k], NULL, TIME, k, k},
				{PLOT_LINE, names[k], seconds, share[k], NULL, TIME, k, k}};
		items[0][k] = lines[0], items[1][k] = lines[1];
	}
	printf("\n");
	plot_scene scenes[2] = {
			{"shoulder: rms error", "seconds", "Nm", items[0], WAYS, 0, TIME, 0, 0, 0},
			{"inside " TWO_SD, "seconds", "%", items[1], WAYS, 0, TIME, 0, 102, 0}};
	const char *path = "build/12_payload.svg";
	serve_end(&start), serve_end(&retrained);
	return drawn(plot_scenes(path, NULL, scenes, 2), path);
}

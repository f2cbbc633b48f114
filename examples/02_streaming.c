/*  Streaming: rows arrive a few at a time and are forgotten after one step. The process drifts, and
    the model follows.

        cc -O2 -I. examples/02_streaming.c -o build/02_streaming -lm && build/02_streaming

    Output:
        batch   error   had it stopped at batch 100
            1    0.04
           10    0.02
          100    0.01   0.01
          500    0.01   0.55
         1000    0.01   1.12
         1500    0.01   1.41
        1500 steps in less than 450 KB of memory, however many rows come
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 50, BETA = 20, GAMMA = 40, WINDOW = 2000, GRID = 101 };

static double uniform(void)
{
	static unsigned state = 7;
	state = state * 1664525u + 1013904223u;
	return (state >> 8) / 16777216.0;
}

/*  What the sensor would read without noise. It moves to the right by one unit in 500 batches. */
static double process(double x, int t) { return sin(x - t / 500.0) + 0.3 * x; }

static void receive(int t, double *X, double *y, int n)
{
	for (int i = 0; i < n; i++) {
		X[i] = 6 * uniform();
		y[i] = process(X[i], t) + 0.2 * (uniform() + uniform() + uniform() - 1.5);
	}
}

/*  RMS difference between the predictor's mean and the current process, on [0, 6]. */
static double error_now(const odvgp_server *now, int t)
{
	/* odvgp_predict_scratch says how many bytes are needed. */
	static double scratch[8192];
	double x[GRID], mean[GRID], square = 0;
	for (int i = 0; i < GRID; i++) x[i] = 6.0 * i / (GRID - 1);
	if (odvgp_predict(now, x, GRID, mean, NULL, scratch, sizeof scratch, NULL)) return -1;
	for (int i = 0; i < GRID; i++)
		square += (mean[i] - process(x[i], t)) * (mean[i] - process(x[i], t));
	return sqrt(square / GRID);
}

int main(void)
{
	/* N is the number of rows that the bound speaks for: here not all that will ever come, but
       those that should count at any time. A large N remembers long and smooths well; a small one
       follows a drift faster. */
	odvgp_config cfg = odvgp_config_defaults(WINDOW, 1, 1, BETA, GAMMA);
	cfg.layer[0].kernel = "rbf(1, variance=1)";
	cfg.optim.batch = BATCH;
	/* Each batch replaces a twentieth of what the model believes. */
	cfg.optim.natgrad_step = odvgp_constant(0.05);
	cfg.optim.lr = odvgp_constant(0.002);

	/* No row has arrived yet, so the program sets the inducing points itself. q(u) then starts at
       the prior at these points. */
	odvgp_model *model = NULL;
	odvgp_info info;
	size_t bytes = odvgp_model_size(&cfg, &info);
	void *block = bytes ? malloc(bytes) : NULL;
	if (!block) return 1;
	double Zb[BETA], Zg[GAMMA];
	for (int i = 0; i < BETA; i++) Zb[i] = 6.0 * i / (BETA - 1);
	for (int i = 0; i < GAMMA; i++) Zg[i] = 6.0 * (i + 0.5) / GAMMA;
	odvgp_status status = odvgp_model_init(&model, &cfg, block, bytes, &info);
	if (!status) status = odvgp_set(model, "Z_beta", Zb, BETA, &info);
	if (!status) status = odvgp_set(model, "Z_gamma", Zg, GAMMA, &info);
	if (!status) status = odvgp_init_q(model, &info);

	size_t frozen_bytes = odvgp_predictor_size(model, NULL);
	unsigned char *frozen = (unsigned char *)malloc(2 * frozen_bytes), *early;
	odvgp_server now, at100;
	if (!frozen) return 1;
	early = frozen + frozen_bytes;
	printf("batch   error   had it stopped at batch 100\n");
	for (int t = 1; t <= 1500 && !status; t++) {
		double X[BATCH], y[BATCH];
		receive(t, X, y, BATCH);
		/* After this step the rows are not needed any more. */
		status = odvgp_step_batch(model, X, y, BATCH, NULL, &info);
		if (status || (t != 1 && t != 10 && t != 100 && t % 500)) continue;
		status = odvgp_freeze(model, NULL, frozen, frozen_bytes, &info);
		if (!status)
			status = odvgp_server_from_block(&now, frozen, frozen_bytes, ODVGP_ISA_AUTO, &info);
		if (!status && t == 100) {
			/* A predictor is its bytes: a copy of them is a second predictor. */
			memcpy(early, frozen, frozen_bytes);
			status = odvgp_server_from_block(&at100, early, frozen_bytes, ODVGP_ISA_AUTO, &info);
		}
		if (status) break;
		printf("%5d    %.2f", t, error_now(&now, t));
		if (t >= 100) printf("   %.2f", error_now(&at100, t));
		printf("\n");
	}
	if (status) fprintf(stderr, "%s\n", info.text);
	else
		printf("%td steps in less than %.0f KB of memory, however many rows come\n",
				odvgp_steps_done(model), 50 * ceil((double)bytes / 5e4));
	free(frozen);
	/* The model lives in this block and needs no release of its own. */
	free(block);
	return status != ODVGP_OK;
}

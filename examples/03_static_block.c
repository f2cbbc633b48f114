/*  Static blocks: no malloc, no files, float. The program trains in one block, freezes into another
    that could be flash memory, and predicts with a third of fixed size. For predictions a
    controller needs only the frozen block, the scratch and the predicting code.

        cc -O2 -I. examples/03_static_block.c -o build/03_static_block -lm && build/03_static_block

    Output:
        a block of 320 KB to train, 3 KB frozen, 7 KB to predict a row
        angle  load    torque  predicted  +- 2 sd  (Nm)
        -1.20   0.0      -4.4       -4.4      0.1
        -0.72   0.4      -4.1       -4.2      0.1
        -0.24   0.8      -1.9       -1.9      0.1
         0.24   1.2       2.2        2.2      0.1
         0.72   1.6       7.2        7.2      0.1
         1.20   2.0      11.7       11.7      0.1
*/
#define ODVGP_NO_MALLOC
#define ODVGP_NO_STDIO
#define ODVGP_FLOAT
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <string.h>

enum { N = 400, BETA = 12, GAMMA = 24 };

/*  Choose the sizes by trial on a desk: odvgp_model_size and odvgp_predictor_size say how many
    bytes are needed. In C11 an _Alignas(64) in front saves some slack; any alignment works. */
static unsigned char training[320 * 1024], scratch[16 * 1024];
/*  A predictor must be aligned for float. The program copies it from `frozen` to `flash`. */
static float frozen[1024], flash[1024];

/*  The joint of a robot arm: the torque that holds it, from angle (rad) and load (kg). */
static float torque(float angle, float load) { return 9.81f * 0.4f * (1.2f + load) * sinf(angle); }

static float uniform(void)
{
	static unsigned state = 3;
	state = state * 1664525u + 1013904223u;
	return (float)(state >> 8) / 16777216.0f;
}

static int stop(const char *what, const odvgp_info *info)
{
	fprintf(stderr, "%s: %s\n", what, info->text);
	return 1;
}

/*  With ODVGP_FLOAT the names begin with odvgpf_; a type that holds no reals keeps its name. */
int main(void)
{
	static float X[N][2], y[N];
	for (int i = 0; i < N; i++) {
		X[i][0] = 3.0f * uniform() - 1.5f;
		X[i][1] = 2.0f * uniform();
		/* The division brings the targets to about unit size. */
		y[i] = (torque(X[i][0], X[i][1]) + 0.2f * (uniform() - 0.5f)) / 6.0f;
	}

	odvgpf_config cfg = odvgpf_config_defaults(N, 2, 1, BETA, GAMMA);
	cfg.layer[0].kernel = "rbf(1, ard)";
	cfg.optim.batch = 100;
	odvgpf_model *model;
	odvgp_info info;
	if (!odvgpf_model_size(&cfg, &info)) return stop("size", &info);
	if (odvgpf_model_init(&model, &cfg, training, sizeof training, &info))
		return stop("init", &info);
	if (odvgpf_init_data(model, &X[0][0], y, NULL, &info)) return stop("start", &info);
	for (int i = 0; i < 1500; i++)
		if (odvgpf_step(model, &X[0][0], y, NULL, &info)) return stop("step", &info);

	/* These scales make the predictor give torques in Nm again. */
	const float y_mean = 0, y_scale = 6;
	const odvgpf_scales scales = {NULL, NULL, &y_mean, &y_scale};
	if (odvgpf_freeze(model, &scales, frozen, sizeof frozen, &info)) return stop("freeze", &info);

	/* The block holds no pointers. Its bytes, written to flash memory or sent elsewhere, are the
       predictor. */
	const size_t size = odvgpf_predictor_size(model, NULL);
	memcpy(flash, frozen, size);

	/* On the controller: check the block once, then predict. */
	odvgpf_server server;
	if (odvgpf_server_from_block(&server, flash, size, ODVGP_ISA_AUTO, &info))
		return stop("server", &info);
	printf("a block of %zu KB to train, %.0f KB frozen, %.0f KB to predict a row\n",
			sizeof training / 1024, ceil((double)size / 1e3),
			ceil((double)odvgpf_predict_scratch(&server, 1, NULL) / 1e3));

	printf("angle  load    torque  predicted  +- 2 sd  (Nm)\n");
	for (int i = 0; i < 6; i++) {
		const float x[2] = {-1.2f + 0.48f * (float)i, 0.4f * (float)i};
		float mean, var;
		if (odvgpf_predict(&server, x, 1, &mean, &var, scratch, sizeof scratch, NULL)) return 1;
		printf("%5.2f  %4.1f  %8.1f   %8.1f  %7.1f\n", (double)x[0], (double)x[1],
				(double)torque(x[0], x[1]), (double)mean, 2 * (double)sqrtf(var));
	}
	return 0;
}

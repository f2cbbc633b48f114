/*  model.c - trains a small model in float and prints its predictor as a C array, for builds with
    ODVGP_PREDICT_ONLY: the header model.h of the sketch predict.ino. For a model of your own, train,
    freeze, compact and print it so. */
#define ODVGP_FLOAT
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>

/*  The joint of a robot arm: the torque that holds it, from angle (rad) and load (kg). */
enum { N = 400, BETA = 12, GAMMA = 24 };
static float X[N][2], y[N], frozen[1024], compact[1024];

static float uniform(void)
{
	static unsigned state = 3;
	state = state * 1664525u + 1013904223u;
	return (float)(state >> 8) / 16777216.0f;
}

int main(void)
{
	for (int i = 0; i < N; i++) {
		X[i][0] = 3.0f * uniform() - 1.5f;
		X[i][1] = 2.0f * uniform();
		y[i] = (9.81f * 0.4f * (1.2f + X[i][1]) * sinf(X[i][0]) + 0.2f * (uniform() - 0.5f)) / 6.0f;
	}
	odvgpf_config cfg = odvgpf_config_defaults(N, 2, 1, BETA, GAMMA);
	cfg.layer[0].kernel = "rbf(1, ard)";
	odvgpf_model *model;
	odvgpf_server server;
	odvgp_info info;
	/* The predictor gives torques in Nm again. */
	const float y_mean = 0, y_scale = 6;
	const odvgpf_scales scales = {NULL, NULL, &y_mean, &y_scale};
	odvgp_status status = odvgpf_model_create(&model, &cfg, &X[0][0], y, NULL, &info);
	if (!status) status = odvgpf_fit(model, &X[0][0], y, 1500, NULL, &info);
	if (!status) status = odvgpf_freeze(model, &scales, frozen, sizeof frozen, &info);
	if (!status)
		status = odvgpf_server_from_block(&server, frozen, sizeof frozen, ODVGP_ISA_AUTO, &info);
	if (!status) status = odvgpf_compact(&server, compact, sizeof compact, &info);
	if (status) {
		fprintf(stderr, "%s\n", info.text);
		return 1;
	}
	const size_t words = odvgpf_compact_size(&server, NULL) / 4;
	printf("/*  A predictor of odvgp.h, for float: angle (rad) and load (kg) to torque (Nm). */\n"
		   "#include <stdint.h>\n"
		   "enum { model_scratch = %zu }; /* bytes that a prediction needs */\n"
		   "static const uint32_t model[%zu] = {\n",
			odvgpf_compact_scratch(&server, NULL), words);
	for (size_t i = 0; i < words; i++) {
		uint32_t word;
		memcpy(&word, &compact[i], 4);
		printf("0x%08lx,%c", (unsigned long)word, i % 8 == 7 || i + 1 == words ? '\n' : ' ');
	}
	printf("};\n");
	odvgpf_model_free(model);
	return 0;
}

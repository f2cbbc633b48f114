/*  The library as a controller trains with it, for test_float_only.c: no operand becomes a double. */
#pragma GCC diagnostic error "-Wdouble-promotion"
#ifndef ODVGP_FLOAT
#define ODVGP_FLOAT
#endif
#define ODVGP_FLOAT_ONLY
#define ODVGP_MAX_BASE_KERNELS 1
#define ODVGP_KERNELS          ODVGP_KERNEL_RBF
#define ODVGP_MEMBERS          ODVGP_MEMBER_ORTH
#define ODVGP_NO_TRANSFORMS
#ifndef ODVGP_KEEP_NAMES
#define ODVGP_KEEP_NAMES
#endif
#define ODVGP_STATIC
#define ODVGP_IMPLEMENTATION
#include "../odvgp.h"
#include "float_only.h"

static odvgp_config small_config(void)
{
	odvgp_config cfg = odvgp_config_defaults(SMALL_ROWS, SMALL_INPUTS, 1, SMALL_BETA, SMALL_GAMMA);
	cfg.layer[0].kernel = "rbf(ard)";
	cfg.optim.batch = 50;
	cfg.optim.lr = odvgp_falling(0.01f, 0.001f, SMALL_STEPS);
	cfg.optim.natgrad_step = odvgp_falling(0.1f, 0.01f, SMALL_STEPS);
	return cfg;
}

int small_train(const float *X, const float *y, float *mean, float *var, void *frozen,
		size_t frozen_bytes, size_t *block_bytes)
{
	static unsigned char block[1 << 18], scratch[1 << 16];
	odvgp_config cfg = small_config();
	odvgp_model *m;
	odvgp_server server;
	*block_bytes = odvgp_model_size(&cfg, NULL);
	odvgp_status s = odvgp_model_init(&m, &cfg, block, *block_bytes, NULL);
	if (!s) s = odvgp_init_data(m, X, y, NULL, NULL);
	for (int i = 0; i < SMALL_STEPS && !s; i++) s = odvgp_step(m, X, y, NULL, NULL);
	if (!s) s = odvgp_freeze(m, NULL, frozen, frozen_bytes, NULL);
	if (!s)
		s = odvgp_server_from_block(
				&server, frozen, odvgp_predictor_size(m, NULL), ODVGP_ISA_AUTO, NULL);
	if (!s) s = odvgp_predict(&server, X, SMALL_ROWS, mean, var, scratch, sizeof scratch, NULL);
	return (int)s;
}

int small_opens(const void *block, size_t bytes)
{
	odvgp_server server;
	return (int)odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_AUTO, NULL);
}

size_t small_asks(int i, const char **what)
{
	odvgp_config cfg = small_config();
	odvgp_info info;
	switch (i) {
	case SMALL_AS_IT_IS: break;
#define ODVGP__X(name, culprit, field, value) \
	case SMALL_##name: cfg.field = value; break;
		SMALL_REFUSED(ODVGP__X)
#undef ODVGP__X
	}
	*what = "";
	size_t bytes = odvgp_model_size(&cfg, &info);
	if (!bytes) *what = info.what;
	return bytes;
}

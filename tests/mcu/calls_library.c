/*  calls_library.c - the calls of odvgp.h. */
#include "odvgp.h"
#include "calls.h"

static odvgpf_server server;

int mcu_open(const uint32_t *block, size_t block_bytes)
{
	return odvgpf_server_from_block(&server, block, block_bytes, ODVGP_ISA_AUTO, NULL);
}

size_t mcu_scratch(int gradient)
{
#ifdef MCU_GRADIENT
	if (gradient) return odvgpf_predict_gradient_scratch(&server, 1, NULL);
#endif
	(void)gradient;
	return odvgpf_predict_scratch(&server, 1, NULL);
}

int mcu_mean(const float *x, float *mean, void *scratch, size_t bytes)
{
	return odvgpf_predict(&server, x, 1, mean, NULL, scratch, bytes, NULL);
}

int mcu_predict(const float *x, float *mean, float *var, void *scratch, size_t bytes)
{
	return odvgpf_predict(&server, x, 1, mean, var, scratch, bytes, NULL);
}

#ifdef MCU_Y
int mcu_y(const float *x, float *mean, float *var, void *scratch, size_t bytes)
{
	return odvgpf_predict_y(&server, x, 1, mean, var, scratch, bytes, NULL);
}
#endif

#ifdef MCU_GRADIENT
int mcu_gradient(const float *x, float *const to[4], void *scratch, size_t bytes)
{
	const odvgpf_gradient gradient = {to[0], to[1], to[2], to[3], NULL, NULL};
	return odvgpf_predict_gradient(&server, x, 1, &gradient, scratch, bytes, NULL);
}
#endif

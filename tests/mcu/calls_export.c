/*  calls_export.c - the calls of an exported header, MCU_EXPORT, whose names begin with MCU_NAME. */
#include MCU_EXPORT
#include "calls.h"

#define JOIN_OF(name, call) name##_##call
#define JOIN(name, call)    JOIN_OF(name, call)
#define predict             JOIN(MCU_NAME, predict)
#define predict_gradient    JOIN(MCU_NAME, predict_gradient)

int mcu_open(const uint32_t *block, size_t block_bytes) { return block || block_bytes; }
size_t mcu_scratch(int with_gradient) { return with_gradient & 0; }

int mcu_mean(const float *x, float *mean, void *scratch, size_t bytes)
{
	(void)scratch, (void)bytes;
	predict(x, mean, NULL);
	return 0;
}

int mcu_predict(const float *x, float *mean, float *var, void *scratch, size_t bytes)
{
	(void)scratch, (void)bytes;
	predict(x, mean, var);
	return 0;
}

#ifdef MCU_GRADIENT
int mcu_gradient(const float *x, float *const to[4], void *scratch, size_t bytes)
{
	(void)scratch, (void)bytes;
	predict_gradient(x, to[0], to[1], to[2], to[3]);
	return 0;
}
#endif

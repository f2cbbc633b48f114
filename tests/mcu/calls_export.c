/*  calls_export.c - the calls of an exported header, MCU_EXPORT, whose names begin with MCU_NAME. */
#include MCU_EXPORT
#include "calls.h"

#define JOIN_OF(name, call) name##_##call
#define JOIN(name, call)    JOIN_OF(name, call)
#define predict             JOIN(MCU_NAME, predict)
#define predict_gradient    JOIN(MCU_NAME, predict_gradient)
#define self_test           JOIN(MCU_NAME, self_test)

int mcu_open(const uint32_t *block, size_t block_bytes) { return block || block_bytes; }
size_t mcu_scratch(int with_gradient) { return with_gradient & 0; }

int mcu_mean(const mcu_real *x, mcu_real *mean, void *scratch, size_t bytes)
{
	(void)scratch, (void)bytes;
	predict(x, mean, NULL);
	return 0;
}

int mcu_predict(const mcu_real *x, mcu_real *mean, mcu_real *var, void *scratch, size_t bytes)
{
	(void)scratch, (void)bytes;
	predict(x, mean, var);
	return 0;
}

#ifdef MCU_GRADIENT
int mcu_gradient(const mcu_real *x, mcu_real *const to[4], void *scratch, size_t bytes)
{
	(void)scratch, (void)bytes;
	predict_gradient(x, to[0], to[1], to[2], to[3]);
	return 0;
}

uint32_t mcu_self_test(void)
{
	const mcu_real worst = self_test();
	return worst < 1 ? (uint32_t)(worst * 1000000) : 1000000;
}
#endif

/*  calls.h - what the firmware measures, behind one interface: the library (calls_library.c) or an
    exported header (calls_export.c). mcu_open comes first. */
#ifndef CALLS_H
#define CALLS_H
#include <stddef.h>
#include <stdint.h>

/*  The type of numbers: double for an export in double. */
#ifndef MCU_REAL
#define MCU_REAL float
#endif
typedef MCU_REAL mcu_real;

/*  mcu_scratch returns the bytes of scratch for a prediction or, `gradient`, for one with gradients;
    the others 0 or an error. x [D], mean and var [F]; to: mean, var, and dmean and dvar [F,D]. mcu_y,
    moments of y, is only linked, to see what all likelihoods take. */
int mcu_open(const uint32_t *block, size_t block_bytes);
size_t mcu_scratch(int gradient);
int mcu_mean(const mcu_real *x, mcu_real *mean, void *scratch, size_t bytes);
int mcu_predict(const mcu_real *x, mcu_real *mean, mcu_real *var, void *scratch, size_t bytes);
int mcu_y(const mcu_real *x, mcu_real *mean, mcu_real *var, void *scratch, size_t bytes);
int mcu_gradient(const mcu_real *x, mcu_real *const to[4], void *scratch, size_t bytes);
/*  Of an exported header: millionths. */
uint32_t mcu_self_test(void);
#endif

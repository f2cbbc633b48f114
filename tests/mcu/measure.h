/*  measure.h - what the firmware of `make mcu` prints, the stack that its calls take, and inputs. MCU_HOST:
    for a program of the host, which counts nothing. */
#ifndef MEASURE_H
#define MEASURE_H
#include <stdint.h>

#ifdef MCU_HOST
#include <stdio.h>
#define machine_put(text) fputs(text, stdout)
static inline void paint(void) {}
static inline uint32_t painted_over(void) { return 0; }
#else
#include "machine.h"
enum { PAINT = 0xA5 };
static unsigned char *top;
/*  Paints the stack below this function. */
__attribute__((noinline, unused)) static void paint(void)
{
	top = machine_sp();
	for (volatile unsigned char *p = mcu_stack; p < top; p++) *p = PAINT;
}
/*  Bytes from there down to the lowest that has changed. */
static inline uint32_t painted_over(void)
{
	const volatile unsigned char *low = mcu_stack;
	while (low < top && *low == PAINT) low++;
	return (uint32_t)(top - low);
}
#endif

static unsigned failures __attribute__((unused));
static inline void fail(const char *what, const char *name)
{
	failures++;
	machine_put("FAIL ");
	machine_put(what);
	machine_put(name);
	machine_put("\n");
}

static inline void put_number(uint32_t n)
{
	char text[12], *p = text + sizeof text - 1;
	*p = 0;
	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	machine_put(" ");
	machine_put(p);
}
static inline void put_line(const char *name, const uint32_t *n, int count)
{
	machine_put(name);
	for (int i = 0; i < count; i++) put_number(n[i]);
	machine_put("\n");
}

/*  Random numbers in [0, 1). */
static inline float uniform(void)
{
	static uint32_t state = 1;
	state = state * 1664525u + 1013904223u;
	return (float)(state >> 8) / 16777216.0f;
}

/*  Bits of all kinds of floats. */
static inline void any_row(float *x, int D)
{
	static const uint32_t special[] = {0, 1, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
			0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x3f800000};
	static uint32_t state = 7;
	for (int d = 0; d < D; d++) {
		union {
			uint32_t bits;
			float real;
		} v;
		state = state * 1664525u + 1013904223u;
		v.bits = state ^ state >> 15;
		if (state >> 30 == 0) v.bits = special[(state >> 16) % (sizeof special / sizeof *special)];
		if (state >> 30 == 1) v.real = (float)(int32_t)(state << 4) * 1e-9f;
		x[d] = v.real;
	}
}
#endif

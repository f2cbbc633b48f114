/*  measure.h - what the firmware of `make mcu` prints, and the stack that its calls take. MCU_HOST:
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
#endif

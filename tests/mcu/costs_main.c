/*  costs_main.c - the calls of an exported header, EXPORT, measured at the rows of ROWS_OF; ONLY
    leaves out those after it: 1 predict, 2 predict_y, 3 predict_gradient. Prints for each call most
    instructions and bytes of stack. */
#include EXPORT
#include ROWS_OF
#include "measure.h"

/*  Outputs lie where the linker leaves room, so that all RAM that is counted is the header's. */
enum { N = Y > F ? Y : F };
#define mean  ((REAL *)(void *)mcu_free)
#define var   (mean + N)
#define dmean (var + N)
#define dvar  (dmean + F * D)

#define CALL(name, call) \
	__attribute__((noinline)) void cost_##name(const REAL *x); \
	void cost_##name(const REAL *x) { call; }
CALL(nothing, (void)x)
CALL(mean, f_predict(x, mean, 0))
CALL(predict, f_predict(x, mean, var))
#if ONLY > 1
CALL(y, f_predict_y(x, mean, var))
#endif
#if ONLY > 2
CALL(gradient, f_predict_gradient(x, mean, var, dmean, dvar))
static void (*const calls[])(const REAL *) = {
		cost_nothing, cost_mean, cost_predict, cost_gradient, cost_y};

int main(void)
{
	uint32_t least[2] = {0, 0};
	for (int k = 0; k < 5; k++) {
		uint32_t most[2] = {0, 0};
		for (int i = 0; i < ROWS; i++) {
			paint();
			uint32_t begin = machine_ticks();
			calls[k](rows + i * D);
			uint32_t n = machine_instructions(machine_ticks() - begin), stack = painted_over();
			if (n > most[0]) most[0] = n;
			if (stack > most[1]) most[1] = stack;
		}
		if (!k) least[0] = most[0], least[1] = most[1];
		most[0] -= least[0], most[1] -= least[1];
		put_line("call", most, 2);
	}
	return 0;
}
#else
int main(void) { return 0; }
#endif

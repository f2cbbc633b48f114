/*  times.c - the firmware of `make mcu` that predicts rows of any kind, subnormal, huge, infinite and
    NaN ones among them: opens each compact block of DIR/times.h (a header by cases.c) and prints
        NAME FEWEST MOST    instructions of mean and variance over MCU_INPUTS inputs
    MCU_SAME=1: all inputs must take the same number. Answers are finite. */
#include "measure.h"
#include "odvgp.h"
#include "times.h"
#include <float.h>

static void run(const times_case *c)
{
	odvgpf_server s;
	uint32_t n[2] = {0xffffffff, 0};
	int wrong = 0;
	if (odvgpf_server_from_block(&s, c->block, c->bytes, ODVGP_ISA_AUTO, NULL)) {
		fail("refused: ", c->name);
		return;
	}
	for (int i = 0; i < MCU_INPUTS; i++) {
		float x[TIMES_D], mean, var;
		any_row(x, TIMES_D);
		const uint32_t begin = machine_ticks();
		odvgpf_predict(&s, x, 1, &mean, &var, mcu_free, (size_t)(mcu_free_end - mcu_free), NULL);
		const uint32_t ticks = machine_instructions(machine_ticks() - begin);
		n[0] = n[0] < ticks ? n[0] : ticks;
		n[1] = n[1] > ticks ? n[1] : ticks;
		wrong += !(mean - mean == 0 && var >= 0 && var <= FLT_MAX);
	}
	put_line(c->name, n, 2);
	if (wrong) fail("an input has answers that are not finite: ", c->name);
	if (MCU_SAME && n[0] != n[1]) fail("time depends on the input: ", c->name);
}

int main(void)
{
	for (size_t k = 0; k < sizeof times / sizeof *times; k++) run(&times[k]);
	machine_put(failures ? "failed\n" : "passed\n");
	return failures != 0;
}

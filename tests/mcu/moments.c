/*  moments.c - the firmware of `make mcu` that predicts moments of y: opens a compact block of each
    likelihood (DIR/moments.h, a header by cases.c), predicts its rows and compares them with the
    host's answers. Prints lines that machine.sh reads:
        NAME OFF INSTRUCTIONS STACK     the largest difference in thousandths of what is allowed,
                                        the most instructions of a row, bytes of stack
        gaussian-inputs N FEWEST MOST   instructions of the Gaussian's y for N inputs of any kind
    MCU_SAME=1: all inputs must take the same number. */
#include "measure.h"
#include "odvgp.h"
#include "moments.h"
#include <float.h>

static float mean[MOMENTS_Y], var[MOMENTS_Y];

static odvgp_status predict(const odvgpf_server *s, const float *x)
{
	return odvgpf_predict_y(
			s, x, 1, mean, var, mcu_free, (size_t)(mcu_free_end - mcu_free), NULL);
}

/*  Off by how many thousandths of what is allowed. */
static uint32_t off(float got, float want, float allowed)
{
	const float d = (got > want ? got - want : want - got) / allowed;
	return d < 1e6f ? (uint32_t)(1000 * d) : 1000000000;
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

int main(void)
{
	odvgpf_server s;
	for (size_t k = 0; k < sizeof moments / sizeof *moments; k++) {
		const moments_case *c = &moments[k];
		uint32_t n[3] = {0, 0, 0};
		if (odvgpf_server_from_block(&s, c->block, c->bytes, ODVGP_ISA_AUTO, NULL))
			fail("refused: ", c->name);
		else
			for (int i = 0; i < MOMENTS_ROWS; i++) {
				paint();
				const uint32_t begin = machine_ticks();
				const odvgp_status status = predict(&s, moments_x[i]);
				n[1] = larger(n[1], machine_instructions(machine_ticks() - begin));
				n[2] = larger(n[2], painted_over());
				if (status || s.y_rows != c->y_rows) fail("a row of ", c->name);
				for (int y = 0; y < c->y_rows; y++) {
					const float *want = c->want + 2 * (i * c->y_rows + y);
					n[0] = larger(n[0], off(mean[y], want[0], c->allowed[0]));
					n[0] = larger(n[0], off(var[y], want[1], c->allowed[1]));
				}
			}
		put_line(c->name, n, 3);
		if (n[0] > 1000) fail("not the host's: ", c->name);
	}
	uint32_t n[3] = {MCU_INPUTS, 0xffffffff, 0};
	if (odvgpf_server_from_block(&s, moments->block, moments->bytes, ODVGP_ISA_AUTO, NULL))
		return 1;
	for (int i = 0; i < MCU_INPUTS; i++) {
		float x[MOMENTS_D];
		any_row(x, MOMENTS_D);
		const uint32_t begin = machine_ticks();
		predict(&s, x);
		const uint32_t ticks = machine_instructions(machine_ticks() - begin);
		n[1] = n[1] < ticks ? n[1] : ticks;
		n[2] = larger(n[2], ticks);
		if (!(mean[0] - mean[0] == 0 && var[0] > 0 && var[0] <= FLT_MAX))
			fail("an input has answers that are not finite: ", moments->name);
	}
	put_line("gaussian-inputs", n, 3);
	if (MCU_SAME && n[1] != n[2]) fail("time depends on the input: ", moments->name);
	machine_put(failures ? "failed\n" : "passed\n");
	return failures != 0;
}

/*  online.c - the firmware of `make mcu` that learns while it serves: rows of a function of six
    inputs, with 64 inducing points. Prints a line for each lambda, which online.sh reads:
        UPDATE-NAME MEAN MOST STACK     instructions of odvgp_online_update for one row
        GRADIENT-NAME MEAN MOST STACK   of odvgp_predict_gradient for one row
        loop MEAN MOST BYTES            of both together; block and scratch
    MCU_HOST: the program of the host, which trains the model and prints its block as a header. */
#ifdef MCU_HOST
#define ODVGP_FLOAT
#define ODVGP_KEEP_NAMES
#define ODVGP_IMPLEMENTATION
#endif
#include <math.h>
#include "measure.h"
#ifndef MCU_HOST
#include "online_block.h"
#endif
#include "odvgp.h"

enum { N = 400, D = 6, M = 64, ROUNDS = 200 };

static void row_of(float *x, float *y)
{
	float sum = 0;
	for (int d = 0; d < D; d++) {
		x[d] = 2 * uniform() - 1;
		sum += x[d] * (1 - x[d] * x[(d + 1) % D]);
	}
	*y = sum + 0.2f * (uniform() - 0.5f);
}

#ifdef MCU_HOST
int main(void)
{
	static float X[N][D], y[N];
	static uint32_t block[1 << 14];
	odvgp_model *m;
	odvgp_config c = odvgp_config_defaults(N, D, 1, M, 0);
	c.layer[0].kernel = "rbf(ard)";
	for (int i = 0; i < N; i++) row_of(X[i], &y[i]);
	if (odvgp_model_create(&m, &c, &X[0][0], y, NULL, NULL) ||
			odvgp_fit(m, &X[0][0], y, 200, NULL, NULL) ||
			odvgp_freeze(m, NULL, block, sizeof block, NULL))
		return 1;
	const size_t bytes = odvgp_predictor_size(m, NULL);
	printf("static const uint32_t online_block[] = {");
	for (size_t i = 0; i < bytes / sizeof *block; i++)
		printf("%s0x%08xu,", i % 8 ? " " : "\n\t", (unsigned)block[i]);
	printf("\n};\n");
	odvgp_model_free(m);
	return 0;
}
#else

typedef struct {
	uint32_t sum, most, stack;
} cost;

static void count(cost *c, uint32_t ticks)
{
	const uint32_t n = machine_instructions(ticks), stack = painted_over();
	c->sum += n;
	if (n > c->most) c->most = n;
	if (stack > c->stack) c->stack = stack;
}

static odvgpf_online online;
static void *scratch;
static size_t bytes;
static float x[D], y;

__attribute__((noinline)) static odvgp_status update(float lambda)
{
	return odvgpf_online_update(&online, x, &y, 1, lambda, scratch, bytes, NULL);
}
__attribute__((noinline)) static odvgp_status gradient(void)
{
	static float mean, var, dmean[D], dvar[D];
	const odvgpf_gradient to = {&mean, &var, dmean, dvar, NULL, NULL};
	return odvgpf_predict_gradient(&online.server, x, 1, &to, scratch, bytes, NULL);
}

static odvgp_status rounds(const char *name, float lambda, uint32_t memory)
{
	cost learned = {0, 0, 0}, served = {0, 0, 0};
	uint32_t loop[3] = {0, 0, memory};
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t from, both = learned.sum + served.sum;
		odvgp_status status;
		row_of(x, &y);
		paint();
		from = machine_ticks();
		status = update(lambda);
		count(&learned, machine_ticks() - from);
		if (status) return status;
		paint();
		from = machine_ticks();
		status = gradient();
		count(&served, machine_ticks() - from);
		if (status) return status;
		both = learned.sum + served.sum - both;
		loop[0] += both;
		if (both > loop[1]) loop[1] = both;
	}
	loop[0] /= ROUNDS;
	const uint32_t u[3] = {learned.sum / ROUNDS, learned.most, learned.stack},
				   g[3] = {served.sum / ROUNDS, served.most, served.stack};
	machine_put("update-");
	put_line(name, u, 3);
	machine_put("gradient-");
	put_line(name, g, 3);
	machine_put("loop-");
	put_line(name, loop, 3);
	return ODVGP_OK;
}

int main(void)
{
	odvgpf_server server;
	size_t free_bytes = (size_t)(mcu_free_end - mcu_free), block, first;
	odvgp_status status = odvgpf_server_from_block(
			&server, online_block, sizeof online_block, ODVGP_ISA_AUTO, NULL);
	if (!status) {
		block = (odvgpf_online_size(&server, M, NULL) + 63) & ~(size_t)63;
		first = odvgpf_online_scratch(&server, M, NULL);
		scratch = mcu_free + block;
		status = odvgpf_online_start(
				&online, &server, M, mcu_free, block, scratch, free_bytes - block, NULL);
		bytes = odvgpf_predict_gradient_scratch(&online.server, 1, NULL);
		if (first > bytes) bytes = first;
		if (!status) status = rounds("1", 1, (uint32_t)(block + bytes));
		if (!status) status = rounds("0.999", 0.999f, (uint32_t)(block + bytes));
	}
	if (status) machine_put("FAIL online: ");
	if (status) machine_put(odvgpf_status_text(status));
	return status != ODVGP_OK;
}
#endif

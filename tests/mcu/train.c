/*  train.c - the firmware of `make mcu` that trains where it predicts: the shoulder's torque of a
    two-link arm, from 400 measured rows. Prints lines that train.sh reads:
        block BYTES                 what odvgp_model_size returns
        size INSTRUCTIONS STACK     odvgp_model_size, which a program with a block of fixed size
                                    need not call
        start INSTRUCTIONS STACK    odvgp_model_init and odvgp_init_data
        step MEAN MOST STACK        instructions of a step, bytes of stack
        freeze INSTRUCTIONS STACK   odvgp_freeze
        rms N, rmse N               of the test rows' torques and of their predictions' errors, in
                                    thousandths of a Nm
    MCU_STEPS: steps of training. MCU_HOST: the program of a host, which counts nothing. */
#include <math.h>
#include "measure.h"
#include "odvgp.h"

#ifndef MCU_STEPS
#define MCU_STEPS 5000
#endif

enum { N = 400, TEST = 400, D = 4, BETA = 20, GAMMA = 40, BATCH = 10 };

static float X[N][D], y[N], test_X[TEST][D], test_y[TEST];
static const float y_mean, y_scale = 12;

/* ---- printing ---- */

static int failed(const char *what, odvgp_status status)
{
	machine_put("FAIL ");
	machine_put(what);
	machine_put(": ");
	machine_put(odvgpf_status_text(status));
	machine_put("\n");
	return 1;
}

/* ---- the arm ---- */

/*  The sine to 1e-3 on [-3.3, 3.3], so that the library is all that needs libm. */
static float sine(float x)
{
	const float s = x * x;
	return x * (1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110)))));
}

/*  The shoulder's torque of examples/lessons/arm.h, without load and accelerations: x holds the
    angles and velocities of shoulder and elbow. */
static float torque(const float *x)
{
	const float g = 9.81f;
	return 1.5f * g * sine(x[0]) + 0.5f * g * sine(x[0] + x[1]) -
		   0.5f * sine(x[1]) * x[3] * (2 * x[2] + x[3]);
}

/*  n random states, in units of their ranges, and their torques, whose noise has a standard
    deviation of `noise`. */
static void arm_rows(int n, float (*state)[D], float *target, float noise)
{
	static const float range[D] = {1.5f, 1.8f, 2, 3};
	for (int i = 0; i < n; i++) {
		float x[D], sum = -6;
		for (int d = 0; d < D; d++) {
			state[i][d] = 2 * uniform() - 1;
			x[d] = range[d] * state[i][d];
		}
		for (int k = 0; k < 12; k++) sum += uniform();
		target[i] = torque(x) + noise * sum;
	}
}

/* ---- calls, measured ---- */

#ifdef MCU_HOST
static size_t room(void **memory)
{
	static unsigned char bytes[1 << 18];
	*memory = bytes;
	return sizeof bytes;
}
static uint32_t ticks(void) { return 0; }
static uint32_t instructions(uint32_t n) { return n; }
#else
static size_t room(void **memory)
{
	*memory = mcu_free;
	return (size_t)(mcu_free_end - mcu_free);
}
static uint32_t ticks(void) { return machine_ticks(); }
static uint32_t instructions(uint32_t n) { return machine_instructions(n); }
#endif

typedef enum { SIZE, START, STEP, FREEZE } call;

static struct {
	odvgpf_model *model;
	void *block, *frozen;
	size_t block_bytes, frozen_bytes;
} state;

static odvgpf_config cfg;

static void configure(void)
{
	cfg = odvgpf_config_defaults(N, D, 1, BETA, GAMMA);
	cfg.layer[0].kernel = "rbf(ard)";
	cfg.optim.batch = BATCH;
	/* a quarter of gamma's columns in a step's KL term */
	cfg.optim.gamma_batch = GAMMA / 4;
	cfg.optim.lr = odvgpf_falling(0.01f, 0.001f, MCU_STEPS);
	cfg.optim.natgrad_step = odvgpf_falling(0.1f, 0.01f, MCU_STEPS);
}

static odvgp_status size(void)
{
	const size_t bytes = odvgpf_model_size(&cfg, NULL);
	if (!bytes || bytes > state.block_bytes) return ODVGP_E_MEMORY;
	state.block_bytes = bytes;
	return ODVGP_OK;
}

static odvgp_status start(void)
{
	odvgp_status status =
			odvgpf_model_init(&state.model, &cfg, state.block, state.block_bytes, NULL);
	return status ? status : odvgpf_init_data(state.model, &X[0][0], y, NULL, NULL);
}

__attribute__((noinline)) static odvgp_status run(call what)
{
	switch (what) {
	case SIZE: return size();
	case START: return start();
	case STEP: return odvgpf_step(state.model, &X[0][0], y, NULL, NULL);
	case FREEZE: {
		const odvgpf_scales scales = {NULL, NULL, &y_mean, &y_scale};
		return odvgpf_freeze(state.model, &scales, state.frozen, state.frozen_bytes, NULL);
	}
	}
	return ODVGP_E_ARG;
}

typedef struct {
	uint64_t sum;
	uint32_t most, stack;
	odvgp_status status;
} cost;

__attribute__((noinline)) static void measure(call what, cost *c)
{
	paint();
	const uint32_t from = ticks();
	c->status = run(what);
	const uint32_t n = instructions(ticks() - from), stack = painted_over();
	c->sum += n;
	if (n > c->most) c->most = n;
	if (stack > c->stack) c->stack = stack;
}

/* ---- the test rows ---- */

static float rms(const float *a, const float *b)
{
	float sum = 0;
	for (int i = 0; i < TEST; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sqrtf(sum / TEST);
}

int main(void)
{
	static float mean[TEST], none[TEST];
	void *memory;
	cost first = {0, 0, 0, ODVGP_OK}, c = first;
	size_t bytes = room(&memory);
	arm_rows(N, X, y, 0.5f);
	arm_rows(TEST, test_X, test_y, 0);
	for (int i = 0; i < N; i++) y[i] = (y[i] - y_mean) / y_scale;

	state.block = memory;
	state.block_bytes = bytes;
	configure();
	measure(SIZE, &first);
	if (first.status) return failed("size", first.status);
	measure(START, &c);
	if (c.status) return failed("start", c.status);
	const uint32_t block = (uint32_t)state.block_bytes, sized[] = {first.most, first.stack},
				   started[] = {c.most, c.stack};
	put_line("block", &block, 1);
	put_line("size", sized, 2);
	put_line("start", started, 2);

	cost steps = {0, 0, 0, ODVGP_OK};
	for (int i = 0; i < MCU_STEPS; i++) {
		measure(STEP, &steps);
		if (steps.status) return failed("step", steps.status);
	}
	const uint32_t step[] = {(uint32_t)(steps.sum / MCU_STEPS), steps.most, steps.stack};
	put_line("step", step, 3);

	/* The predictor and its scratch lie behind the model. */
	cost last = {0, 0, 0, ODVGP_OK};
	size_t used = (state.block_bytes + 63) & ~(size_t)63;
	state.frozen = (unsigned char *)memory + used;
	state.frozen_bytes = bytes - used;
	measure(FREEZE, &last);
	if (last.status) return failed("freeze", last.status);
	const uint32_t freeze[] = {last.most, last.stack};
	put_line("freeze", freeze, 2);
	odvgpf_server server;
	const size_t frozen = odvgpf_predictor_size(state.model, NULL);
	odvgp_status status =
			odvgpf_server_from_block(&server, state.frozen, frozen, ODVGP_ISA_AUTO, NULL);
	if (status) return failed("server", status);
	used += (frozen + 63) & ~(size_t)63;
	for (int i = 0; i < TEST && !status; i++)
		status = odvgpf_predict(&server, test_X[i], 1, mean + i, NULL,
				(unsigned char *)memory + used, bytes - used, NULL);
	if (status) return failed("predict", status);
	const uint32_t all = (uint32_t)(1000 * rms(test_y, none)),
				   error = (uint32_t)(1000 * rms(test_y, mean));
	put_line("rms", &all, 1);
	put_line("rmse", &error, 1);
	return 0;
}

/*  main.c - the firmware of `make mcu`: opens the block of MCU_CASE (a header by cases.c), predicts
    its rows, compares them with the host's answers and measures the calls. Prints lines that run.sh
    reads:
        block BYTES
        scratch BYTES [BYTES]   for a prediction, for one with gradients
        CALL FEWEST MOST STACK  instructions over all rows, bytes of stack
        off WHAT N              the largest difference from the host, in thousandths of the
                                tolerance
        inputs N FEWEST MOST    instructions of `predict` for MCU_INPUTS inputs, subnormal, huge,
                                infinite and NaN ones among them
    MCU_GRADIENT: gradients, too. MCU_SELF_TEST: a case without answers, an exported header whose
    self-test may give so many millionths. MCU_SAME=1: all inputs must take the same number. MCU_FINITE=1:
    answers are finite for all inputs. */
#include "measure.h"
#include "calls.h"
#include MCU_CASE
#include <float.h>

/*  The block of the case; an exported header has none. */
#if defined(MCU_EXPORT)
#define BLOCK       NULL
#define BLOCK_BYTES 0
#elif defined(ODVGP_PREDICT_ONLY)
#define BLOCK       mcu_compact
#define BLOCK_BYTES sizeof mcu_compact
#else
#define BLOCK       mcu_block
#define BLOCK_BYTES sizeof mcu_block
#endif

enum { SLOPES = MCU_F * MCU_D };


/* ---- printing ---- */

/* ---- one call, measured ---- */

typedef enum { NOTHING, OPEN, MEAN, PREDICT, GRADIENT } call;
static const char *const call_name[] = {"nothing", "open", "mean", "predict", "gradient"};

static mcu_real mean[MCU_F], var[MCU_F], dmean[SLOPES], dvar[SLOPES];
static void *scratch;
static size_t scratch_bytes;

__attribute__((noinline)) static int run(call what, const mcu_real *x)
{
	switch (what) {
	case NOTHING: return 0;
	case OPEN: return mcu_open(BLOCK, BLOCK_BYTES);
	case MEAN: return mcu_mean(x, mean, scratch, scratch_bytes);
	case PREDICT: return mcu_predict(x, mean, var, scratch, scratch_bytes);
	case GRADIENT:
#ifdef MCU_GRADIENT
	{
		mcu_real *const to[4] = {mean, var, dmean, dvar};
		return mcu_gradient(x, to, scratch, scratch_bytes);
	}
#else
		break;
#endif
	}
	return 1;
}

typedef struct {
	uint32_t fewest, most, stack;
	int status;
} cost;

/*  Runs a call and widens its cost. The stack below this function is painted first. */
__attribute__((noinline)) static void measure(call what, const mcu_real *x, cost *c)
{
	paint();
	uint32_t begin = machine_ticks();
	c->status = run(what, x);
	uint32_t n = machine_instructions(machine_ticks() - begin), stack = painted_over();
	if (*mcu_stack != PAINT) fail("stack overflow", "");
	if (n < c->fewest) c->fewest = n;
	if (n > c->most) c->most = n;
	if (stack > c->stack) c->stack = stack;
}

static cost no_cost(void)
{
	const cost c = {0xffffffff, 0, 0, 0};
	return c;
}

/*  The cost without that of calling nothing. */
static void put_cost(call what, const cost *c, const cost *nothing)
{
	const uint32_t n[3] = {
			c->fewest - nothing->fewest, c->most - nothing->fewest, c->stack - nothing->stack};
	put_line(call_name[what], n, 3);
}

/* ---- checks ---- */

/*  Instructions to run the loop and to call it. */
__attribute__((noinline)) static uint32_t loop_of(uint32_t rounds)
{
	uint32_t begin = machine_ticks();
	machine_loop(rounds);
	return machine_instructions(machine_ticks() - begin);
}

/*  The difference of two loops has a known length. */
static void check_counter(void)
{
	const uint32_t n = loop_of(50000) - loop_of(1000);
	put_line("loop", &n, 1);
	if (n != 2 * (50000 - 1000)) fail("a loop of 98000 instructions is counted wrongly", "");
}

#ifndef MCU_SELF_TEST
typedef struct {
	const char *name;
	const float *got, *want;
	int n;
	float worst; /* in tolerances */
} quantity;

static quantity quantities[] = {{"mean", mean, mcu_mean_want, MCU_F, 0},
		{"var", var, mcu_var_want, MCU_F, 0}, {"dmean", dmean, mcu_dmean_want, SLOPES, 0},
		{"dvar", dvar, mcu_dvar_want, SLOPES, 0}};

/*  Compares a row with the host's answers. */
static void compare(int row, int count)
{
	for (int k = 0; k < count; k++) {
		quantity *q = &quantities[k];
		for (int i = 0; i < q->n; i++) {
			float off = q->got[i] - q->want[row * q->n + i];
			if (off < 0) off = -off;
			off /= mcu_tolerance[k];
			if (!(off <= FLT_MAX)) off = FLT_MAX;
			if (off > q->worst) q->worst = off;
		}
	}
}
#endif

#if MCU_INPUTS
/*  Any input takes the same time, where MCU_SAME says so. */
static void check_time(const cost *nothing)
{
	cost c = no_cost();
	float x[MCU_D];
	int wrong = 0;
	for (int i = 0; i < MCU_INPUTS; i++) {
		any_row(x, MCU_D);
		measure(PREDICT, x, &c);
		for (int f = 0; f < MCU_F; f++)
			wrong += !(mean[f] - mean[f] == 0 && var[f] >= 0 && var[f] <= FLT_MAX);
	}
	const uint32_t n[] = {MCU_INPUTS, c.fewest - nothing->fewest, c.most - nothing->fewest};
	put_line("inputs", n, 3);
	if (MCU_FINITE && wrong) fail("an input has answers that are not finite", "");
	if (MCU_SAME && c.fewest != c.most) fail("time depends on the input", "");
}
#endif

int main(void)
{
	cost nothing = no_cost(), c = no_cost();
	int count = 2;
	call last = PREDICT;
	check_counter();
	measure(NOTHING, NULL, &nothing);
	measure(OPEN, NULL, &c);
	put_cost(OPEN, &c, &nothing);
	if (c.status) fail("the block is refused", "");
	const uint32_t block = BLOCK_BYTES, has = (uint32_t)(mcu_free_end - mcu_free);
	uint32_t need[2] = {(uint32_t)mcu_scratch(0), 0};
	put_line("block", &block, 1);
#ifdef MCU_GRADIENT
	count = 4;
	last = GRADIENT;
	need[1] = (uint32_t)mcu_scratch(1);
#endif
	put_line("scratch", need, count / 2);
#if defined(ODVGP_PREDICT_ONLY) && !defined(MCU_EXPORT)
	if (need[0] != MCU_SCRATCH || (need[1] && need[1] != MCU_SCRATCH_GRADIENT))
		fail("scratch is not what the host says", "");
#endif
	scratch = mcu_free;
	scratch_bytes = need[0] > need[1] ? need[0] : need[1];
	if (scratch_bytes > has) {
		put_line("no room: RAM has", &has, 1);
		return (int)failures;
	}
	for (int what = MEAN; what <= (int)last; what++) {
		c = no_cost();
		for (int row = 0; row < MCU_ROWS; row++) {
			measure((call)what, mcu_x + row * MCU_D, &c);
			if (c.status) fail("a row is refused", "");
#ifndef MCU_SELF_TEST
			compare(row, what == MEAN ? 1 : what == PREDICT ? 2 : 4);
#endif
		}
		put_cost((call)what, &c, &nothing);
	}
#ifdef MCU_SELF_TEST
	const uint32_t worst = mcu_self_test();
	put_line("off self-test", &worst, 1);
	if (worst > MCU_SELF_TEST) fail("the self-test", "");
#else
	for (int k = 0; k < count; k++) {
		const quantity *q = &quantities[k];
		const uint32_t off = q->worst < 1e6f ? (uint32_t)(1000 * q->worst) : 1000000000;
		machine_put("off ");
		put_line(q->name, &off, 1);
		if (off > 1000) fail("an answer is not the host's", "");
	}
#endif
#if MCU_INPUTS
	check_time(&nothing);
#endif
	machine_put(failures ? "failed\n" : "passed\n");
	return failures != 0;
}

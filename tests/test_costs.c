/*  What examples/tool/cores.h says that an exported header costs, beside what qemu counted
    (tests/mcu/costs.txt), also for models to which it was not fitted, with libm and without. */
#include "odvgp.h"
#include "test.h"
#include "cores.h"
#include "mcu/costs.h"

typedef struct {
	char core[8], name[40], kind[8];
	double flash, flash_y, flash_all, ram, stack, stack_y, stack_gradient, mean, moments, gradient,
			y;
} measured;

static double worst[2]
				   [4]; /* of instructions, of y's, of flash, of instructions with libm; by held */

/*  Is `is` within this part of `want`, and `more`? */
static void check(
		const measured *m, int held, int what, double is, double want, double part, double more)
{
	CHECK_SAY(fabs(is - want) <= part * want + more, "%s, %s on %s: %.0f, measured are %.0f",
			m->name, m->kind, m->core, is, want);
	if (what < 4) worst[held][what] = fmax(worst[held][what], fabs(is / want - 1));
}

static void check_row(const measured *m, const cost_shape *s, int held)
{
	int core = 0, libm = !strcmp(m->kind, "libm");
	odvgp_config c = cost_config(s);
	while (core < CORES && strcmp(cores[core].word, m->core) != 0) core++;
	CHECK_SAY(core < CORES, "%s is not a core", m->core);
	if (core == CORES) return;
	core_estimate e = core_estimate_of(&c, s->kernel, NULL, s->wide, libm, core);
	/* erfc ends in one of two loops, one a third longer in software. */
	int erfc = c.lik.kind == ODVGP_LIKELIHOOD_BERNOULLI || c.lik.kind == ODVGP_LIKELIHOOD_ORDINAL;
	/* libm's functions take more or less by their arguments. */
	double part = libm ? 0.2 : 0.1;
	int what = libm ? 3 : 0;
	check(m, held, what, e.mean, m->mean, part, 0);
	check(m, held, what, e.moments, m->moments, part, 0);
	check(m, held, what, e.gradient, m->gradient, part, 0);
	check(m, held, libm ? 3 : 1, e.y, m->y, erfc && !libm ? 0.15 : part, 0);
	check(m, held, 2, e.flash, m->flash, 0.1, 128);
	check(m, held, 2, e.flash_y, m->flash_y, 0.1, 128);
	check(m, held, 2, e.flash_all, m->flash_all, 0.1, 128);
	check(m, held, 4, e.ram, m->ram, 0, 48);
	/* Registers and arrays of functions that are called. */
	check(m, held, 4, e.stack, m->stack, 0.1, 120);
	check(m, held, 4, e.stack_y, m->stack_y, 0.1, 136);
	check(m, held, 4, e.stack_gradient, m->stack_gradient, 0.1, 120);
	if (libm) return;
	/* What `odvgp budget` adds to code and stack keeps its limits. */
	CHECK_SAY(1.25 * (e.flash_all - e.tables) + e.tables >= m->flash_all,
			"%s on %s: budget takes %.0f bytes for %.0f", m->name, m->core, e.flash_all,
			m->flash_all);
	CHECK_SAY(fmax(e.stack_y, e.stack_gradient) + 32 >= fmax(m->stack_y, m->stack_gradient),
			"%s on %s: budget takes %.0f bytes of stack for %.0f", m->name, m->core,
			fmax(e.stack_y, e.stack_gradient), fmax(m->stack_y, m->stack_gradient));
}

TEST(estimates_are_what_qemu_counts)
{
	FILE *f = fopen("tests/mcu/costs.txt", "r");
	char line[300];
	int rows[2] = {0, 0};
	CHECK(f != NULL);
	while (f && fgets(line, sizeof line, f)) {
		measured m;
		int i = 0;
		if (*line == '#') continue;
		CHECK(sscanf(line, "%7s %39s %7s %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf", m.core,
					  m.name, m.kind, &m.flash, &m.flash_y, &m.flash_all, &m.ram, &m.stack,
					  &m.stack_y, &m.stack_gradient, &m.mean, &m.moments, &m.gradient, &m.y) == 14);
		while (i < COST_FITTED + COST_HELD &&
				strcmp((i < COST_FITTED ? &cost_fitted[i] : &cost_held[i - COST_FITTED])->name,
						m.name) != 0)
			i++;
		CHECK_SAY(i < COST_FITTED + COST_HELD, "%s is not in tests/mcu/costs.h", m.name);
		if (i == COST_FITTED + COST_HELD) continue;
		int held = i >= COST_FITTED;
		rows[held]++;
		check_row(&m, held ? &cost_held[i - COST_FITTED] : &cost_fitted[i], held);
	}
	if (f) fclose(f);
	CHECK_SAY(rows[0] > 800 && rows[1] >= CORES * COST_HELD, "%d and %d rows", rows[0], rows[1]);
	for (int held = 0; held < 2; held++)
		printf("      %s: largest errors: instructions %.3f, of moments of y %.3f, with libm %.3f; "
			   "flash %.3f\n",
				held ? "held out" : "fitted", worst[held][0], worst[held][1], worst[held][3],
				worst[held][2]);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(estimates_are_what_qemu_counts);
	return test_end();
}

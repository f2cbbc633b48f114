/*  budget.h - the command budget: members and sizes that fit a controller, trained on a part of the
    rows each, with what they cost and how well they predict the others. */
#ifndef TOOL_BUDGET_H
#define TOOL_BUDGET_H

#include "compare.h"

typedef struct budget {
	/* Bytes, microseconds for one mean and variance, MHz, cycles per instruction. */
	double flash, ram, us, mhz, cpi;
	/* Whether the core computes in double. */
	int wide;
} budget;

/*  A number above 0, of bytes also with k behind it; `otherwise` if it is not given. */
static double budget_number(const options *o, int id, double otherwise)
{
	const char *text = o->value[id];
	char *end = NULL;
	if (!text) return otherwise;
	double v = strtod(text, &end);
	if (*end == 'k' && (id == OPT_FLASH || id == OPT_RAM)) v *= 1024, end++;
	if (*end || end == text || !(v > 0) || v > 1e12)
		die(BAD_INPUT, "--%s %s: must be a number above 0", option_list[id].name, text);
	return v;
}

static budget budget_of(const options *o)
{
	/* Not measured: m4f and m7 with tables in fast memory. */
	static const double cpi[] = {1.4, 0.9};
	int wide = option_choice(o, OPT_CORE) == 1;
	budget b = {budget_number(o, OPT_FLASH, HUGE_VAL), budget_number(o, OPT_RAM, HUGE_VAL),
			budget_number(o, OPT_US, HUGE_VAL), budget_number(o, OPT_MHZ, 168),
			budget_number(o, OPT_CPI, cpi[wide]), wide};
	return b;
}

/*  The items of --bases whose tables fit the flash in float. */
static bytes budget_items(const budget *b, ptrdiff_t n, ptrdiff_t D)
{
	static const int sizes[] = {4, 8, 12, 16, 24, 32, 48, 64, 96, 128};
	bytes items = {NULL, 0, 0};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int k = 0; k <= 4; k += 2) {
			double M = sizes[i], Mg = k * M, numbers = (M + Mg) * (double)(D + 1) + M * (M + 1);
			if (4 * numbers > b->flash || M + Mg > (double)n / 2) continue;
			bytes_print(&items, "%s%s:beta=%d", items.used ? "," : "", k ? "orth" : "coupled",
					sizes[i]);
			if (k) bytes_print(&items, ":gamma=%d", k * sizes[i]);
		}
	if (!items.used) die(BAD_INPUT, "--flash: no member fits");
	return items;
}

static double budget_us(const budget *b, const odvgp_export_costs *costs)
{
	return costs->moments * b->cpi / b->mhz;
}

/*  Ends for what would fail after all trainings. */
static void budget_check(const options *o)
{
	const int files[] = {OPT_DATA, OPT_TEST};
	for (int k = 0; k < 2; k++)
		if (o->value[files[k]] && !strcmp(o->value[files[k]], "-"))
			die(BAD_INPUT, "budget: reads the data twice: give --%s a file", k ? "test" : "data");
	if (o->given[OPT_LAYERS] || o->given[OPT_IMAGE])
		die(BAD_INPUT, "budget: layers and images are not exported");
	if (o->value[OPT_OUT] && !strcmp(o->value[OPT_OUT], "-"))
		die(BAD_INPUT, "budget: --out needs a file: the table takes the output");
	export_name_check(o);
}

static int budget_fits(const budget *b, const odvgp_export_costs *costs)
{
	return costs->flash > 0 && (double)costs->flash <= b->flash && (double)costs->stack <= b->ram &&
		   budget_us(b, costs) <= b->us;
}

/*  Prints what was trained, those that nothing cheaper matches with a mark. Returns the best item
    that fits, or NULL; *wide: in double. */
static const candidate *budget_choose(const comparison *all, const budget *b, int *wide)
{
	const candidate *best = NULL;
	printf("  %-26s %6s %9s %8s %7s %9s %9s\n", "", "", "loglik", "flash", "stack", "instr.", "us");
	for (int w = 0; w <= b->wide; w++)
		for (int i = 0; i < all->count; i++) {
			const candidate *c = &all->list[i];
			const odvgp_export_costs *costs = &c->costs[w];
			if (!costs->flash && !*c->reason) continue; /* a signal came before */
			int front = !*c->reason, fits = front && budget_fits(b, costs);
			for (int k = 0; k < all->count; k++) {
				const candidate *other = &all->list[k];
				front &= k == i || *other->reason || !other->costs[w].flash ||
						 other->costs[w].moments >= costs->moments ||
						 !(other->test.loglik >= c->test.loglik);
			}
			printf("%c %-26s %6s %9.4f %8zu %7zu %9.0f %9.1f%s\n", front ? '*' : ' ', c->label,
					w ? "double" : "float", c->test.loglik, costs->flash, costs->stack,
					costs->moments, budget_us(b, costs), fits ? "" : "  too large");
			if (fits && (!best || c->test.loglik > best->test.loglik)) best = c, *wide = w;
		}
	printf("* nothing with fewer instructions predicts better; us: instructions times %.2f cycles, "
		   "not "
		   "measured\n",
			b->cpi);
	return best;
}

#endif

/*  budget.h - the command budget: members, sizes and precisions that fit a controller by what their
    headers will need (cores.h), trained on a part of the rows each; those that nothing cheaper
    matches, and the best of them. */
#ifndef TOOL_BUDGET_H
#define TOOL_BUDGET_H

#include "compare.h"
#include "export.h"

enum { MOST_TRIED = 80 };

typedef struct budget {
	/* Bytes, microseconds for one mean and variance, MHz, cycles per instruction. */
	double flash, ram, us, mhz, cpi;
	int core;
	const odvgp_transform *transforms; /* of the columns, or NULL */
} budget;

/*  A number above 0, of bytes also with k or M behind it; `otherwise` if it is not given. */
static double budget_number(const options *o, int id, double otherwise)
{
	const char *text = o->value[id];
	char *end = NULL;
	if (!text) return otherwise;
	double v = strtod(text, &end);
	if (end > text && (id == OPT_FLASH || id == OPT_RAM)) {
		if (*end == 'k' || *end == 'K') v *= 1024, end++;
		else if (*end == 'm' || *end == 'M') v *= 1024 * 1024, end++;
	}
	if (*end || end == text || !(v > 0) || v > 1e12)
		die(BAD_INPUT, "--%s %s: must be a number above 0%s", option_list[id].name, text,
				id == OPT_FLASH || id == OPT_RAM ? ", such as 32k" : "");
	return v;
}

static budget budget_of(const options *o)
{
	int core = option_choice(o, OPT_CORE);
	budget b = {budget_number(o, OPT_FLASH, HUGE_VAL), budget_number(o, OPT_RAM, HUGE_VAL),
			budget_number(o, OPT_US, HUGE_VAL), budget_number(o, OPT_MHZ, 168),
			budget_number(o, OPT_CPI, cores[core].cpi), core, NULL};
	return b;
}

/*  Ends for what would fail after all trainings. */
static void budget_check(const options *o)
{
	const int files[] = {OPT_DATA, OPT_TEST}, chosen[] = {OPT_FOLDS, OPT_BETA, OPT_GAMMA};
	for (int k = 0; k < 3; k++)
		if (o->given[chosen[k]])
			die(BAD_INPUT, "--%s: budget chooses sizes on its own test rows",
					option_list[chosen[k]].name);
	for (int k = 0; k < 2; k++)
		if (o->value[files[k]] && !strcmp(o->value[files[k]], "-"))
			die(BAD_INPUT, "budget: reads the data twice: give --%s a file", k ? "test" : "data");
	if (o->given[OPT_LAYERS] || o->given[OPT_IMAGE])
		die(BAD_INPUT, "budget: layers and images are not exported");
	if (o->value[OPT_OUT] && !strcmp(o->value[OPT_OUT], "-"))
		die(BAD_INPUT, "budget: --out needs a file: the table takes the output");
	export_name_check(o);
}

static core_estimate budget_estimate(const budget *b, const candidate *c)
{
	return core_estimate_of(&c->config, c->o.value[OPT_KERNEL], b->transforms, c->wide, 0, b->core);
}

static double budget_us(const budget *b, const core_estimate *e)
{
	return e->moments * b->cpi / b->mhz;
}

/*  Of all functions of the header. */
static double budget_stack(const core_estimate *e) { return fmax(e->stack_y, e->stack_gradient); }

/*  What a candidate may need if code is 25 % more than estimated, time 10 % and stack 32 bytes; tables
    are known. */
static core_estimate budget_most(const core_estimate *e)
{
	core_estimate most = *e;
	most.flash_all += 0.25 * (e->flash_all - e->tables);
	most.stack_y += 32;
	most.stack_gradient += 32;
	most.moments *= 1.1;
	return most;
}

static int budget_fits(const budget *b, const core_estimate *e)
{
	core_estimate most = budget_most(e);
	return most.flash_all <= b->flash && budget_stack(&most) <= b->ram &&
		   budget_us(b, &most) <= b->us;
}

/*  Adds an item of --bases. Float needs a jitter by the number of points (the header's manual), and
    gets it in training; doubles keep the default. */
static void budget_add(comparison *all, const char *item, int M, int wide)
{
	candidate *c = &all->list[all->count++];
	char jitter[40];
	c->wide = wide;
	candidate_parse(c, all->o, item);
	c->o.given[OPT_QUIET] = 1;
	snprintf(jitter, sizeof jitter, "%.3g", fmax(1e-6, 16.0 * M * FLT_EPSILON));
	if (!wide && !c->o.given[OPT_JITTER_REL])
		option_store(&c->o, OPT_JITTER_REL, copy_text(jitter));
}

/*  All members that can be exported, by size: gamma is a multiple of beta. */
static void budget_candidates(comparison *all)
{
	static const int sizes[] = {4, 8, 16, 32, 64, 128};
	static const struct {
		const char *basis;
		int gamma, wide; /* wide: also tried in double */
	} members[] = {{"coupled", 0, 1}, {"orth", 2, 1}, {"orth", 4, 0}, {"solve", 1, 1},
			{"hybrid", 2, 0}, {"decoupled", 2, 0}, {"diagonal", 0, 0}};
	int real = all->o->given[OPT_REAL] ? option_choice(all->o, OPT_REAL) : -1;
	all->list = take(MOST_TRIED, sizeof *all->list);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t k = 0; k < sizeof members / sizeof *members; k++)
			for (int wide = 0; wide < 2; wide++) {
				char item[60];
				int M = sizes[i], gamma = members[k].gamma * M;
				if (real >= 0 ? wide != real : wide && !members[k].wide) continue;
				if (M + gamma > all->d.train.n / 2 || all->count == MOST_TRIED) continue;
				if (gamma)
					snprintf(item, sizeof item, "%s:beta=%d:gamma=%d", members[k].basis, M, gamma);
				else snprintf(item, sizeof item, "%s:beta=%d", members[k].basis, M);
				budget_add(all, item, M + gamma, wide);
			}
	if (!all->count) die(BAD_INPUT, "budget: too few rows");
}

/*  Drops what does not fit: nothing of it has to be trained to know that. Ends if nothing is left. */
static void budget_drop(comparison *all, const budget *b)
{
	int left = 0;
	core_estimate least = budget_estimate(b, &all->list[0]);
	least = budget_most(&least);
	const odvgp_config *c = &all->list[0].config;
	if (c->lik.kind == ODVGP_LIKELIHOOD_SOFTMAX && c->layer[0].P > 4)
		die(FAILED, "budget: SOFTMAX is exported for at most four classes");
	for (int i = 0; i < all->count; i++) {
		core_estimate e = budget_estimate(b, &all->list[i]);
		if (budget_fits(b, &e)) all->list[left++] = all->list[i];
		else candidate_free(&all->list[i]);
	}
	if (!left)
		die(FAILED,
				"budget: nothing fits: %s with 4 points may need %.0f bytes of "
				"flash, %.0f of stack and %.1f us on a %s",
				basis_list[0].name, least.flash_all, budget_stack(&least), budget_us(b, &least),
				cores[b->core].name);
	all->count = left;
}

/*  A thousandth of a nat is no gain. */
static int budget_better(const candidate *a, const candidate *b)
{
	return a->test.loglik > b->test.loglik + 1e-3;
}

/*  Is there one that costs no more and predicts as well? */
static int budget_beaten(const comparison *all, const budget *b, int i)
{
	const candidate *c = &all->list[i];
	core_estimate e = budget_estimate(b, c);
	for (int k = 0; k < all->count; k++) {
		const candidate *other = &all->list[k];
		core_estimate its = budget_estimate(b, other);
		if (k == i || !(other->steps > 0) || *other->reason) continue;
		if (its.moments > e.moments || (its.moments >= e.moments && its.flash_all > e.flash_all))
			continue;
		if (!budget_better(c, other)) return 1;
	}
	return 0;
}

/*  Has the candidate's member been beaten at each of two smaller sizes or more? Then it is not worth
    a training. */
static int budget_hopeless(const comparison *all, const budget *b, int i)
{
	int trained = 0;
	for (int k = 0; k < i; k++) {
		const candidate *c = &all->list[k];
		if (c->basis != all->list[i].basis || c->wide != all->list[i].wide || !(c->steps > 0))
			continue;
		trained++;
		if (!*c->reason && !budget_beaten(all, b, k)) return 0;
	}
	return trained > 1;
}

static void budget_train(comparison *all, const budget *b)
{
	int bar = isatty(STDERR_FILENO), quiet = all->o->given[OPT_QUIET];
	for (int i = 0; i < all->count && !stop_signal; i++) {
		candidate *c = &all->list[i];
		if (budget_hopeless(all, b, i)) continue;
		const char *precision = c->wide ? "double" : "float";
		if (!quiet && bar)
			fprintf(stderr, "\r%d of %d  %s, %s\033[K", i + 1, all->count, c->label, precision);
		candidate_train(all, c);
		if (!quiet && !bar)
			fprintf(stderr, "%d of %d  %s, %s: loglik %.4f, %.1f s\n", i + 1, all->count, c->label,
					precision, c->test.loglik, c->seconds);
	}
	if (!quiet && bar) fputs("\r\033[K", stderr);
}

/*  Prints the Pareto front to `out`, the cheapest first, and returns its last item, the best one;
    NULL: there is none. */
static const candidate *budget_choose(const comparison *all, const budget *b, FILE *out)
{
	const candidate *front[MOST_TRIED];
	core_estimate e;
	int count = 0, trained = 0;
	for (int i = 0; i < all->count; i++) {
		const candidate *c = &all->list[i];
		if (!(c->steps > 0) || *c->reason || !isfinite(c->test.loglik)) continue;
		trained++;
		if (budget_beaten(all, b, i)) continue;
		int at = count++;
		for (e = budget_estimate(b, c); at > 0; at--) {
			if (budget_estimate(b, front[at - 1]).moments <= e.moments) break;
			front[at] = front[at - 1];
		}
		front[at] = c;
	}
	if (!count) return NULL;
	fprintf(out, "%-10s %6s %6s %-7s %9s %8s %7s %13s %9s\n", "member", "beta", "gamma", "numbers",
			"loglik", "flash", "stack", "instructions", "us");
	for (int i = 0; i < count; i++) {
		const candidate *c = front[i];
		e = budget_estimate(b, c);
		fprintf(out, "%-10s %6td %6td %-7s %9.4f %8.0f %7.0f %13.0f %9.1f\n", c->basis->name,
				c->config.layer[0].M, c->config.layer[0].M_gamma, c->wide ? "double" : "float",
				c->test.loglik, e.flash_all, budget_stack(&e), e.moments, budget_us(b, &e));
	}
	fprintf(out,
			"Of %d that fit %d were trained; nothing cheaper predicts better than these. loglik: "
			"%td rows held out. Flash and stack: all functions, without libm; instructions: mean and "
			"variance. %s, %g MHz; us: instructions of %.2g cycles, not measured.\n",
			all->count, trained, all->d.test.n, cores[b->core].name, b->mhz, b->cpi);
	return front[count - 1];
}

#endif

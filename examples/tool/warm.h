/*  warm.h - warm starts: --warm, and what it is by default. */
#ifndef TOOL_WARM_H
#define TOOL_WARM_H

#include "models.h"

/*  One warm start of --warm, ROWS:STEPS, ROWS:STEPS:M or ROWS:STEPS:M:RATE. */
static odvgp_warm warm_parse(const char *item)
{
	odvgp_warm w = {0, 0, 0, 0};
	const char *p = item;
	int bad = 0;
	w.rows = parse_index(&p);
	if (*p == ':') {
		p++;
		w.iterations = parse_index(&p);
	}
	if (*p == ':') {
		p++;
		w.M = parse_index(&p);
	}
	if (*p == ':') {
		p = table__number(p + 1, &w.adam);
		bad = !p || *p || !(w.adam > 0 && w.adam <= 1);
	}
	if (bad || *p || w.rows < 1 || w.iterations < 1 || w.M < 0)
		die(BAD_INPUT,
				"--warm %s: must be off, or ROWS:STEPS, ROWS:STEPS:M or ROWS:STEPS:M:RATE, all "
				"above 0, RATE at most 1",
				item);
	return w;
}

/*  The next warm start of a list; 0: there is none. `list` is changed. */
static int warm_next(char **list, odvgp_warm *w)
{
	char *item = next_item(list, ',');
	if (item) *w = warm_parse(item);
	return item != NULL;
}

/*  A copy of the list of --warm; NULL: there is no warm start. */
static char *warm_list(const options *o)
{
	const char *text = o->value[OPT_WARM];
	return text && strcmp(text, "off") != 0 ? copy_text(text) : NULL;
}

/*  Ends the program if --warm cannot be read. Returns how many warm starts it holds. */
static int warm_count(const options *o)
{
	char *list = warm_list(o), *rest = list;
	odvgp_warm w;
	int count = 0;
	while (warm_next(&rest, &w)) count++;
	free(list);
	return count;
}

/*  Does the warm starts of --warm, one after another. Returns how many of them came to their end:
    fewer than there are, if the watch ended one of them. */
static int warm_start(odvgp_model *model, const options *o, const dataset *d, const workers *w)
{
	char *list = warm_list(o), *rest = list;
	int done = 0, count = warm_count(o);
	odvgp_status s = ODVGP_OK;
	odvgp_warm warm;
	while (!s && warm_next(&rest, &warm)) {
		odvgp_info info = no_info;
		odvgp_watch watch = library_watch(w->watch);
		warm.rows = smaller(warm.rows, d->train.n);
		warm.M = smaller(warm.M, warm.rows);
		size_t size = odvgp_warm_start_scratch(model, &warm, NULL);
		void *work = size ? take(size, 1) : NULL;
		watch_begin(w->watch, "warm start %d of %d", done + 1, count);
		s = odvgp_warm_start(model, d->train.X, d->Y, &warm, &watch, work, size, &info);
		watch_end(w->watch);
		free(work);
		if (s && s != ODVGP_E_STOPPED) die_of(s, &info, "--warm");
		done += !s;
	}
	free(list);
	return done;
}

/*  The default warm starts: on few rows Adam, which finds the inputs that matter, where L-BFGS may
    lose some of them for good (bench/first_hour.md), and L-BFGS, which comes closer to the optimum;
    where there are many more rows, L-BFGS on some of these. */
enum { ADAM_STEPS = 100, WARM_STEPS = 60, MORE_STEPS = 20 };
static const double WARM_RATE = 0.03;

/*  Appends one to a list, with M points (0: the model's). */
static void warm_item(bytes *list, ptrdiff_t rows, ptrdiff_t steps, ptrdiff_t M, int adam)
{
	bytes_print(list, "%s%td:%td", list->used ? "," : "", rows, steps);
	if (M || adam) bytes_print(list, ":%td", M);
	if (adam) bytes_print(list, ":%g", WARM_RATE);
}

/*  Is there a warm start by default? Not with a second function for the noise, to which the regression
    gives the prior of the first (bench/first_hour.md). */
static int warm_helps(odvgp_likelihood kind) { return kind != ODVGP_LIKELIHOOD_HETEROSCEDASTIC; }

/*  DECOUPLED's q follows a wider prior slowly, which where e^-f multiplies y ends far below. */
static int warm_harms(const odvgp_config *c)
{
	return c->layer[0].cov_part == ODVGP_COV_PART_INVERSE &&
		   (c->lik.kind == ODVGP_LIKELIHOOD_GAMMA || c->lik.kind == ODVGP_LIKELIHOOD_EXPONENTIAL);
}

/*  The default of --warm: for bases that train q, as many rows as the library takes, and more rows
    afterwards where there are many; off for the others, and where the library refuses. */
static void warm_settle(options *o, const odvgp_model *model)
{
	const odvgp_config *c = odvgp_model_config(model);
	ptrdiff_t few = smaller(c->N, larger(4000, 20 * c->layer[0].M)), more = smaller(c->N, 3 * few);
	bytes list = {NULL, 0, 0};
	if (o->value[OPT_WARM]) return;
	warm_item(&list, few, ADAM_STEPS, 0, 1);
	warm_item(&list, few, WARM_STEPS, 0, 0);
	if (more > 2 * few) warm_item(&list, more, MORE_STEPS, 0, 0);
	int off = c->objective != ODVGP_OBJECTIVE_ELBO || !warm_helps(c->lik.kind) || warm_harms(c) ||
			  !odvgp_warm_start_scratch(model, NULL, NULL);
	option_store(o, OPT_WARM, off ? copy_text("off") : copy_text(list.at));
	free(list.at);
}

#endif

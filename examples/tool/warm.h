/*  warm.h - warm starts: --warm, and what it is by default.

    By default warm starts are a small part of a training. Whoever gives its sizes or steps may have
    made it short, or the points many: then they get at most WARM_SHARE of its counted operations,
    and where that is fewer than LEAST_WARM iterations of L-BFGS there is none. This is the tool's
    rule and not the library's: odvgp_fit may be called with a few steps again and again. */
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

/*  The rows of its last one; 0: there is none. */
static ptrdiff_t warm_rows(const options *o)
{
	char *list = warm_list(o), *rest = list;
	odvgp_warm w = {0, 0, 0, 0};
	while (warm_next(&rest, &w)) continue;
	free(list);
	return w.rows;
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

/*  Options that make a training longer or shorter than it is by default. */
static int sizes_given(const options *o)
{
	static const int ids[] = {OPT_BETA, OPT_GAMMA, OPT_ITERS, OPT_BATCH};
	int given = 0;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) given |= o->given[ids[i]];
	return given;
}

enum { LEAST_WARM = 10, WARM_POINTS = 300, WARM_ROWS = 4000 };
static const double WARM_SHARE = 0.25;

/*  Warm starts in the making. */
typedef struct warm_plan {
	/* Their rows, and points, 0: the model's. */
	ptrdiff_t rows, M;
	/* Operations of a bound with its gradient, and of what each ends with. */
	double pass, end;
	/* As --warm takes them; their operations; are they what they are without a limit? */
	bytes list;
	double flops;
	int whole;
} warm_plan;

/*  Adam's and L-BFGS's, or without the latter only Adam's, in at most `room` operations. */
static void warm_within(warm_plan *w, double room, int lbfgs)
{
	double adam = 1.05 * ADAM_STEPS * w->pass + w->end, each = (lbfgs ? 1.25 : 1.05) * w->pass,
		   most = lbfgs ? WARM_STEPS : ADAM_STEPS;
	int both = lbfgs && room - adam - w->end >= LEAST_WARM * each;
	double steps = floor(fmin(most, (room - w->end - (both ? adam : 0)) / each));
	w->list.used = 0;
	w->flops = 0;
	w->whole = steps >= most && both == lbfgs;
	if (steps < LEAST_WARM) return;
	if (both) warm_item(&w->list, w->rows, ADAM_STEPS, w->M, 1);
	warm_item(&w->list, w->rows, (ptrdiff_t)steps, w->M, !lbfgs);
	w->flops = (both ? adam : 0) + steps * each + w->end;
}

/*  A further one on more rows, of whose bound `pass` are the operations. */
static void warm_more(warm_plan *w, double room, ptrdiff_t rows, double pass)
{
	double flops = 1.25 * MORE_STEPS * pass + w->end;
	w->whole = w->whole && w->flops + flops <= room;
	if (!w->whole) return;
	warm_item(&w->list, rows, MORE_STEPS, w->M, 0);
	w->flops += flops;
}

/*  What a warm start of this model on so many rows ends with: q's optimum, where it is a formula, and
    two bounds; of few rows with classes also short trainings, to compare. With steps on minibatches
    q's optimum is that of these rows alone where all are MANY_TIMES as many (odvgp_warm_start). */
enum { MANY_TIMES = 20 };
static double warm_end_flops(const odvgp_config *c, ptrdiff_t few)
{
	odvgp_config q = *c;
	double rows = (double)smaller(c->N, 1024);
	if (c->optim.natgrad && c->optim.batch < c->N && c->N / MANY_TIMES >= few) q.N = few;
	if (c->objective != ODVGP_OBJECTIVE_ELBO) return 0;
	if (c->lik.kind == ODVGP_LIKELIHOOD_GAUSSIAN)
		return fit_q_flops(&q) + 0.8 * layer_flops(c, 0, rows);
	return has_classes(c->lik.kind) && c->N <= 1024 ? 100 * layer_flops(c, 0, rows) : 0;
}

/*  Its warm starts on so many rows with M points, 0: the model's. */
static warm_plan warm_of(const odvgp_config *c, ptrdiff_t rows, ptrdiff_t M)
{
	double points = (double)(M ? smaller(M, rows) : c->layer[0].M),
		   pass = c->objective == ODVGP_OBJECTIVE_EXACT
						  ? exact_flops((double)rows, config_width(c))
						  : pass_flops((double)rows, points, (double)patch_columns(c, 0));
	warm_plan w = {rows, M, pass, warm_end_flops(c, rows), {NULL, 0, 0}, 0, 1};
	return w;
}

/*  Makes them the value of --warm. Returns whether they are whole. */
static int warm_store(options *o, const warm_plan *w)
{
	option_store(o, OPT_WARM, copy_text(w->list.used ? w->list.at : "off"));
	free(w->list.at);
	return w->whole;
}

/*  A quarter of the operations of a training whose steps this model takes. */
static double warm_room(const options *o, const odvgp_config *c, const workers *w, double spent)
{
	double room = HUGE_VAL;
	if (!by_clock(o)) room = WARM_SHARE * (double)iters_of(o, c->N) * step_flops(c);
	if (o->value[OPT_MINUTES])
		room = fmin(room, WARM_SHARE * fmax(0, 60 * option_positive(o, OPT_MINUTES) - spent) *
								  EFFICIENCY * measured_rate(w, 0));
	return room;
}

/*  The default of --warm: for bases that train q, as many rows as the library takes, and more rows
    afterwards where there are many; off for the others, and where the library refuses. With `limited`
    in at most a quarter of the training, of which `spent` seconds are over: on fewer rows with fewer
    points if need be. Returns 0 if that changed it. */
static int warm_settle(
		options *o, const odvgp_model *model, const workers *workers, int limited, double spent)
{
	const odvgp_config *c = odvgp_model_config(model);
	ptrdiff_t M = c->layer[0].M, few = smaller(c->N, larger(4000, 20 * M)),
			  more = smaller(c->N, 3 * few);
	if (o->value[OPT_WARM]) return 1;
	if (c->objective != ODVGP_OBJECTIVE_ELBO || !warm_helps(c->lik.kind) || warm_harms(c) ||
			!odvgp_warm_start_scratch(model, NULL, NULL)) {
		option_store(o, OPT_WARM, copy_text("off"));
		return 1;
	}
	double room = limited ? warm_room(o, c, workers, spent) : HUGE_VAL;
	warm_plan w = warm_of(c, few, 0);
	warm_within(&w, room, 1);
	if (!w.whole && M > WARM_POINTS) {
		free(w.list.at);
		w = warm_of(c, smaller(c->N, WARM_ROWS), WARM_POINTS);
		warm_within(&w, room, 1);
		w.whole = 0;
	}
	if (more > 2 * few) warm_more(&w, room, more, warm_of(c, more, w.M).pass);
	return warm_store(o, &w);
}

/*  Operations of all warm starts of --warm. */
static double warm_flops(const options *o, const odvgp_config *c)
{
	char *list = warm_list(o), *rest = list;
	double flops = 0;
	odvgp_warm next;
	while (warm_next(&rest, &next)) {
		warm_plan w = warm_of(c, smaller(next.rows, c->N), next.M);
		flops += (next.adam > 0 ? 1.05 : 1.25) * (double)next.iterations * w.pass + w.end;
	}
	free(list);
	return flops;
}

/*  Says what a limit has changed in them, if they are not `whole`. */
static void warm_note(const options *o, int whole)
{
	if (whole || o->given[OPT_QUIET]) return;
	fprintf(stderr, "note: warm starts get a quarter of the training's operations: ");
	if (warm_count(o)) fprintf(stderr, "--warm %s\n", o->value[OPT_WARM]);
	else fprintf(stderr, "fewer than %d iterations, so there is none (--warm off)\n", LEAST_WARM);
}

/*  Says about how long they take, if that is more than a second. */
static void warm_announce(const options *o, const odvgp_model *model, const workers *w)
{
	double flops = 1.2 * warm_flops(o, odvgp_model_config(model));
	if (flops < 1e10 || o->given[OPT_QUIET]) return;
	double seconds = flops / fmax(1, measured_rate(w, 1));
	if (seconds >= 1)
		fprintf(stderr, "warm start: --warm %s; about %.0f s, less if it converges\n",
				o->value[OPT_WARM], seconds);
}

#endif

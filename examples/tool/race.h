/*  race.h - chooses one of several models by rows that none of them is trained on, or by folds:
    successive halving. Needs odvgp.h, included before; no option of the tool, and it prints nothing.

    Each entry has a whole training: warm starts, then steps whose sizes follow the config's
    schedules. In each round those still in the race do the same counted operations more of it, are
    scored by the mean log density of the validation rows, and half of them go on. Going on is
    odvgp_fit on the same model, so it gives the bits of a training that never stopped. Of the last
    two the cheaper one wins - of two that cost about the same, the earlier one - unless the other is
    better by more than one standard error of the mean of the rows' differences.

    What the race adds to the winner's training - starts and steps of the others, scores - is at most
    race.share of all operations, both together. An entry that leaves no step to itself or to one
    before it does not race. Operations are the caller's counts and never seconds: the choice depends
    on data, build and instruction set only.

    race_continue gives the winner's parameters to a model of more rows, for the rest of its steps.

    Few rows are all trained on, and all score: those of each fold by the posterior of the others,
    with the hyperparameters and points that all rows have given. This is for a Gaussian, whose q is a
    formula, of one target. */
#ifndef TOOL_RACE_H
#define TOOL_RACE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct race_entry {
	/* To show; and a model of the rows to fit. */
	const char *name;
	odvgp_config config;
	/* Rows to fit and validation rows in columns of its own; NULL: those of the race. */
	const odvgp_real *X, *X_valid;
	/* Its warm starts. from >= 0: in place of these the hyperparameters and noise of that earlier
	   entry after its own, and its points where there are as many. */
	const odvgp_warm *warm;
	int warm_count, from;
	/* 1: scores, and what follows `from`, are those of q's optimum (odvgp_fit_q). */
	int fit_q;
	/* Of the whole training; and its operations: before the first step, of a step, of a score. */
	ptrdiff_t steps;
	double start_flops, step_flops, score_flops;

	/* Results. The model after `done` steps, in a block of malloc; NULL: left out. */
	odvgp_model *model;
	void *block;
	size_t block_bytes;
	ptrdiff_t done;
	/* Rounds it has run; operations spent, scores included; log densities of the validation rows at
	   the last score [valid], their mean, -HUGE_VAL if it cannot predict. */
	int rounds;
	double flops, mean;
	odvgp_real *logp;
	/* Why it failed; status ODVGP_OK: it has not. */
	odvgp_info info;
} race_entry;

/*  What an entry is about to do. */
typedef enum race_phase { RACE_START, RACE_STEPS, RACE_SCORE } race_phase;

typedef struct race {
	/* Rows to fit, N of each config, and validation rows, in the columns of odvgp_fit. */
	const odvgp_real *X, *Y, *X_valid, *Y_valid;
	ptrdiff_t valid;
	/* Above 0: no validation rows, but this many folds of the N = valid rows, and the one of each. */
	int folds;
	const int *fold;
	/* Where X and Y are NULL: gives a new model its reader; else NULL. */
	odvgp_status (*made)(void *user, odvgp_model *model, odvgp_info *info);
	/* [count]; the first is the default. */
	race_entry *list;
	int count;
	/* Above 0, below 1: 1.0 / 3. */
	double share;
	/* NULL: none. */
	const odvgp_watch *watch;
	/* NULL: none. Before each piece of work. */
	void (*tell)(void *user, const struct race *r, int entry, race_phase phase);
	void *user;

	/* Results: the winner, operations that the race has added to its training, and by how many nats
	   a row it is better than the first entry, with the standard error; 0 for the first entry. */
	int winner, rounds;
	double added, gain, error;
} race;

/* ---- operations ---- */

/*  Of the whole training of an entry, with the warm start that it takes from another one. */
static double race_start_flops(const race *r, const race_entry *e)
{
	return e->start_flops + (e->from >= 0 ? r->list[e->from].start_flops : 0);
}

static double race_total(const race *r, const race_entry *e)
{
	return race_start_flops(r, e) + (double)e->steps * e->step_flops;
}

/*  Rounds until one of so many entries is left. */
static int race_rounds(int count)
{
	int rounds = 0;
	for (; count > 1; count = (count + 1) / 2) rounds++;
	return rounds;
}

/*  Operations for steps that these entries may add, whichever of them wins; not above 0: they are too
    many. */
static double race_room(const race *r, const int *order, int count)
{
	double least = HUGE_VAL, own = HUGE_VAL, fixed = 0, score = 0;
	for (int k = 0; k < count; k++) {
		const race_entry *e = &r->list[order[k]];
		least = fmin(least, race_total(r, e));
		own = fmin(own, race_start_flops(r, e));
		fixed += e->start_flops;
		score = fmax(score, e->score_flops);
	}
	for (int left = count; left > 1; left = (left + 1) / 2) fixed += left * score;
	return r->share / (1 - r->share) * least - (fixed - own);
}

/*  Operations of a round for each of `left` entries, one of which may win and then has added none. */
static double race_each(double room, int rounds, int left) { return room / (rounds * (left - 1)); }

/*  Have these entries room for a step in each round? */
static int race_fits(const race *r, const int *order, int count)
{
	double each = race_each(race_room(r, order, count), race_rounds(count), count);
	int fits = 1;
	for (int k = 0; k < count; k++) fits &= each >= r->list[order[k]].step_flops;
	return fits;
}

/*  Which entries race: one after another that have room beside those before. Returns their number. */
static int race_choose(const race *r, int *order)
{
	int count = 0, there;
	for (int i = 0; i < r->count; i++) {
		const race_entry *e = &r->list[i];
		there = e->from < 0;
		for (int k = 0; k < count; k++) there |= order[k] == e->from;
		order[count] = i;
		if (there && (!count || race_fits(r, order, count + 1))) count++;
	}
	return count;
}

/* ---- entries ---- */

static void race_tell(const race *r, int entry, race_phase phase)
{
	if (r->tell) r->tell(r->user, r, entry, phase);
}

static odvgp_status race_no_memory(odvgp_info *info)
{
	memset(info, 0, sizeof *info);
	info->status = ODVGP_E_MEMORY;
	snprintf(info->text, sizeof info->text, "race: malloc failed");
	return ODVGP_E_MEMORY;
}

/*  Is this slot a hyperparameter or the points of mean and covariance, and not a part of q? */
static int race_is_start(const char *name)
{
	return strncmp(name, "kernel.", 7) == 0 || strncmp(name, "mean.", 5) == 0 ||
		   strcmp(name, "noise_variance") == 0 || strcmp(name, "Z_beta") == 0;
}

/*  Copies slots of the same name and length, all or only those without q. */
static odvgp_status race_copy(odvgp_model *to, const odvgp_model *from, int all, odvgp_info *info)
{
	ptrdiff_t most = 1;
	odvgp_status s = ODVGP_OK;
	for (int i = 0; i < odvgp_slot_count(from); i++) {
		ptrdiff_t n = odvgp_slot_at(from, i)->count;
		if (n > most) most = n;
	}
	odvgp_real *values = (odvgp_real *)malloc((size_t)most * sizeof *values);
	if (!values) return race_no_memory(info);
	for (int i = 0; i < odvgp_slot_count(from) && !s; i++) {
		const odvgp_slot *a = odvgp_slot_at(from, i), *b = odvgp_slot_find(to, a->name);
		if (!b || b->count != a->count || !(all || race_is_start(a->name))) continue;
		s = odvgp_get(from, a->name, values, a->count, info);
		if (!s) s = odvgp_set(to, a->name, values, a->count, info);
	}
	free(values);
	return s;
}

static const odvgp_real *race_rows(const race *r, const race_entry *e)
{
	return e->X ? e->X : r->X;
}

/*  model: the entry's, a copy, or one of other rows. */
static odvgp_status race_fit_q(
		const race *r, race_entry *e, odvgp_model *model, const odvgp_real *X, const odvgp_real *Y)
{
	size_t size = odvgp_fit_q_scratch(model, &e->info);
	if (!size) return e->info.status;
	void *scratch = malloc(size);
	if (!scratch) return race_no_memory(&e->info);
	odvgp_status s = odvgp_fit_q(model, X, Y, r->watch, scratch, size, &e->info);
	free(scratch);
	return s;
}

/*  Warm starts, or what another entry has learned. */
static odvgp_status race_warm(const race *r, race_entry *e)
{
	odvgp_status s = ODVGP_OK;
	if (e->from >= 0) {
		s = race_copy(e->model, r->list[e->from].model, 0, &e->info);
		if (!s && e->fit_q && e->config.objective == ODVGP_OBJECTIVE_ELBO)
			s = race_fit_q(r, e, e->model, race_rows(r, e), r->Y);
		return s;
	}
	for (int k = 0; k < e->warm_count && !s; k++) {
		size_t size = odvgp_warm_start_scratch(e->model, &e->warm[k], &e->info);
		if (!size) return e->info.status;
		void *scratch = malloc(size);
		if (!scratch) return race_no_memory(&e->info);
		s = odvgp_warm_start(
				e->model, race_rows(r, e), r->Y, &e->warm[k], r->watch, scratch, size, &e->info);
		free(scratch);
	}
	return s;
}

/*  Makes an entry's model, up to its first step. */
static odvgp_status race_start(const race *r, race_entry *e)
{
	e->flops += e->start_flops;
	e->block_bytes = odvgp_model_size(&e->config, &e->info);
	if (!e->block_bytes) return e->info.status;
	e->block = malloc(e->block_bytes);
	e->logp = (odvgp_real *)malloc((size_t)r->valid * sizeof *e->logp);
	if (!e->block || !e->logp) return race_no_memory(&e->info);
	odvgp_status s = odvgp_model_init(&e->model, &e->config, e->block, e->block_bytes, &e->info);
	if (!s && r->made) s = r->made(r->user, e->model, &e->info);
	if (!s) s = odvgp_init_data(e->model, race_rows(r, e), r->Y, r->watch, &e->info);
	return s ? s : race_warm(r, e);
}

/*  The steps that so many operations are, at least one, at most those left. */
static ptrdiff_t race_steps(const race_entry *e, double flops)
{
	double steps = floor(fmax(1, flops / e->step_flops));
	return (ptrdiff_t)fmin(steps, (double)(e->steps - e->done));
}

/*  L-BFGS may converge before: then all its steps are done. */
static odvgp_status race_train(const race *r, race_entry *e, double flops)
{
	ptrdiff_t steps = race_steps(e, flops);
	if (steps < 1) return ODVGP_OK;
	odvgp_status s = odvgp_fit(e->model, race_rows(r, e), r->Y, steps, r->watch, &e->info);
	ptrdiff_t done = odvgp_steps_done(e->model);
	e->flops += (double)(done - e->done) * e->step_flops;
	e->done = done;
	return s;
}

/* ---- scores ---- */

enum { RACE_ROWS = 256 };

/*  Rows and log p(y) of each. */
typedef struct race_part {
	const odvgp_real *X, *Y;
	ptrdiff_t n;
	odvgp_real *logp;
} race_part;

static odvgp_status race_densities(const race_part *p, const odvgp_server *server, odvgp_info *info)
{
	size_t size = odvgp_predict_scratch(server, RACE_ROWS, info);
	void *scratch = size ? malloc(size) : NULL;
	if (!scratch) return size ? race_no_memory(info) : info->status;
	odvgp_status s = odvgp_predict_logp(server, p->X, p->Y, p->n, p->logp, scratch, size, info);
	free(scratch);
	return s;
}

/*  The same of a model that may change. */
static odvgp_status race_predict(race_entry *e, odvgp_model *model, const race_part *p)
{
	odvgp_server server;
	size_t size = odvgp_predictor_size(model, &e->info);
	if (!size) return e->info.status;
	void *block = malloc(size);
	if (!block) return race_no_memory(&e->info);
	odvgp_status s = odvgp_freeze(model, NULL, block, size, &e->info);
	if (!s) s = odvgp_server_from_block(&server, block, size, e->config.isa, &e->info);
	if (!s) s = race_densities(p, &server, &e->info);
	free(block);
	return s;
}

/*  A config for another number of rows. */
static odvgp_config race_resize(const odvgp_config *config, ptrdiff_t rows)
{
	odvgp_config c = *config;
	if (c.optim.batch == c.N || c.optim.batch > rows) c.optim.batch = rows;
	if (c.objective == ODVGP_OBJECTIVE_EXACT) c.layer[0].M = rows;
	c.N = rows;
	return c;
}

/*  A model of these rows with the entry's parameters predicts the others. */
static odvgp_status race_fit_part(
		const race *r, race_entry *e, const race_part *fit, const race_part *of)
{
	odvgp_config c = race_resize(&e->config, fit->n);
	odvgp_model *model;
	size_t size = odvgp_model_size(&c, &e->info);
	if (!size) return e->info.status;
	void *block = malloc(size);
	if (!block) return race_no_memory(&e->info);
	odvgp_status s = odvgp_model_init(&model, &c, block, size, &e->info);
	if (!s) s = odvgp_init_data(model, fit->X, fit->Y, r->watch, &e->info);
	if (!s) s = race_copy(model, e->model, 1, &e->info);
	if (!s) s = race_fit_q(r, e, model, fit->X, fit->Y);
	if (!s) s = race_predict(e, model, of);
	free(block);
	return s;
}

/*  Splits the rows into those outside the fold and those in it, scores the latter. room: for all rows
    and densities. */
static odvgp_status race_fold(const race *r, race_entry *e, int fold, odvgp_real *room)
{
	const odvgp_real *X = race_rows(r, e);
	ptrdiff_t n = r->valid, D = e->config.layer[0].D, count[2] = {0, 0};
	for (ptrdiff_t i = 0; i < n; i++) count[r->fold[i] == fold]++;
	odvgp_real *to[2] = {room, room + count[0] * D},
			   *Y[2] = {room + n * D, room + n * D + count[0]}, *logp = room + n * (D + 1);
	race_part fit = {to[0], Y[0], count[0], NULL}, of = {to[1], Y[1], count[1], logp};
	if (!count[0] || !count[1]) return ODVGP_OK;
	for (ptrdiff_t i = 0; i < n; i++) {
		int in = r->fold[i] == fold;
		memcpy(to[in], X + i * D, (size_t)D * sizeof *X);
		to[in] += D;
		*Y[in]++ = r->Y[i];
	}
	odvgp_status s = race_fit_part(r, e, &fit, &of);
	for (ptrdiff_t i = 0; i < n && !s; i++)
		if (r->fold[i] == fold) e->logp[i] = *logp++;
	return s;
}

static odvgp_status race_folds(const race *r, race_entry *e)
{
	odvgp_status s = ODVGP_OK;
	size_t columns = (size_t)e->config.layer[0].D + 2;
	odvgp_real *room = (odvgp_real *)malloc((size_t)r->valid * columns * sizeof *room);
	if (!room) return race_no_memory(&e->info);
	for (int fold = 0; fold < r->folds && !s; fold++) s = race_fold(r, e, fold, room);
	free(room);
	return s;
}

/*  By a copy, so that training goes on as if there had been no score. */
static odvgp_status race_held_out(const race *r, race_entry *e)
{
	race_part held = {e->X_valid ? e->X_valid : r->X_valid, r->Y_valid, r->valid, e->logp};
	odvgp_model *copy;
	void *block = malloc(e->block_bytes);
	if (!block) return race_no_memory(&e->info);
	odvgp_status s = odvgp_model_copy(&copy, e->model, block, e->block_bytes, &e->info);
	if (!s && e->fit_q) s = race_fit_q(r, e, copy, race_rows(r, e), r->Y);
	if (!s) s = race_predict(e, copy, &held);
	free(block);
	return s;
}

static odvgp_status race_score(const race *r, race_entry *e)
{
	double sum = 0;
	e->flops += e->score_flops;
	odvgp_status s = r->folds ? race_folds(r, e) : race_held_out(r, e);
	for (ptrdiff_t i = 0; i < r->valid && !s; i++) sum += (double)e->logp[i];
	if (!s && isfinite(sum)) e->mean = sum / (double)r->valid;
	return s;
}

/*  The mean difference of the rows' log densities, a - b, and its standard error. */
static double race_difference(
		const race *r, const race_entry *a, const race_entry *b, double *error)
{
	double mean = 0, squares = 0, n = (double)r->valid;
	for (ptrdiff_t i = 0; i < r->valid; i++) mean += ((double)a->logp[i] - (double)b->logp[i]) / n;
	for (ptrdiff_t i = 0; i < r->valid; i++) {
		double d = (double)a->logp[i] - (double)b->logp[i] - mean;
		squares += d * d;
	}
	*error = sqrt(squares / (n * fmax(1, n - 1)));
	return mean;
}

/*  Is a's whole training costlier than b's? Of two that cost the same, within a tenth, the one that
    stands behind the other. */
static int race_is_costlier(const race *r, const race_entry *a, const race_entry *b)
{
	double x = race_total(r, a), y = race_total(r, b);
	if (x > 1.1 * y || y > 1.1 * x) return x > y;
	return a > b;
}

/*  Does a win over b? The costlier one has to be better by more than a standard error. */
static int race_wins(const race *r, const race_entry *a, const race_entry *b)
{
	double error;
	if (!isfinite(a->mean) || !isfinite(b->mean)) return isfinite(a->mean);
	double gain = race_difference(r, a, b, &error);
	return race_is_costlier(r, a, b) ? gain > error : gain >= -error;
}

/* ---- the race ---- */

/*  Gives an entry's memory back, but for its results in numbers. */
static void race_leave(race_entry *e)
{
	free(e->block);
	e->block = NULL;
	e->model = NULL;
}

static void race_free(race *r)
{
	for (int i = 0; i < r->count; i++) {
		race_leave(&r->list[i]);
		free(r->list[i].logp);
		r->list[i].logp = NULL;
	}
}

/*  Does what an entry failed with end the race? */
static int race_ends(odvgp_status s) { return s == ODVGP_E_STOPPED || s == ODVGP_E_MEMORY; }

/*  A round of the entries `order` [left]: steps and scores, then the better half comes first. */
static odvgp_status race_round(race *r, int *order, int left, double each)
{
	for (int k = 0; k < left; k++) {
		race_entry *e = &r->list[order[k]];
		odvgp_status s = e->info.status;
		if (!s) race_tell(r, order[k], RACE_STEPS);
		if (!s) s = race_train(r, e, each);
		if (!s) race_tell(r, order[k], RACE_SCORE);
		if (!s) s = race_score(r, e);
		if (race_ends(s)) return s;
		e->info.status = s;
		if (s) e->mean = -HUGE_VAL;
		e->rounds++;
	}
	for (int i = 1; i < left; i++)
		for (int k = i; k > 0 && r->list[order[k]].mean > r->list[order[k - 1]].mean; k--) {
			int swap = order[k];
			order[k] = order[k - 1];
			order[k - 1] = swap;
		}
	/* The last two: the costlier one must be clearly better. */
	if (left == 2 && race_wins(r, &r->list[order[1]], &r->list[order[0]])) {
		int swap = order[0];
		order[0] = order[1];
		order[1] = swap;
	}
	return ODVGP_OK;
}

/*  What the race has added to the winner's training. */
static void race_result(race *r, int winner)
{
	const race_entry *w = &r->list[winner];
	r->winner = winner;
	r->added = 0;
	for (int i = 0; i < r->count; i++) {
		const race_entry *e = &r->list[i];
		r->added += i == winner ? e->rounds * e->score_flops : e->flops;
	}
	if (w->from >= 0) r->added -= r->list[w->from].start_flops;
	r->gain = r->error = 0;
	if (winner && w->rounds && r->list[0].rounds && isfinite(r->list[0].mean))
		r->gain = race_difference(r, w, &r->list[0], &r->error);
}

/*  Runs it. Afterwards list[winner].model is the winner's, after `done` of its steps, or NULL where
    nothing was to race; race_free gives all memory back. Returns E_STOPPED or E_MEMORY; an entry
    that fails otherwise is out, and its info says why. If all fail, the first wins, without a
    model. */
static odvgp_status race_run(race *r)
{
	enum { MOST = 32 };
	int order[MOST], left;
	odvgp_status s = ODVGP_OK;
	r->winner = 0;
	r->added = r->gain = r->error = 0;
	for (int i = 0; i < r->count; i++) {
		race_entry *e = &r->list[i];
		e->model = NULL;
		e->block = NULL;
		e->logp = NULL;
		e->done = e->rounds = 0;
		e->flops = 0;
		e->mean = -HUGE_VAL;
		memset(&e->info, 0, sizeof e->info);
	}
	if (r->count < 1 || r->count > MOST || r->valid < 2 || !(r->share > 0 && r->share < 1))
		return ODVGP_E_ARG;
	left = race_choose(r, order);
	r->rounds = race_rounds(left);
	if (left < 2) return ODVGP_OK;
	double room = race_room(r, order, left);
	for (int k = 0; k < left; k++) {
		race_entry *e = &r->list[order[k]];
		race_tell(r, order[k], RACE_START);
		int lost = e->from >= 0 && r->list[e->from].info.status;
		s = lost ? r->list[e->from].info.status : race_start(r, e);
		if (race_ends(s)) return s;
		e->info.status = s;
	}
	while (left > 1) {
		s = race_round(r, order, left, race_each(room, r->rounds, left));
		if (s) return s;
		int stay = (left + 1) / 2;
		for (int k = stay; k < left; k++) race_leave(&r->list[order[k]]);
		left = stay;
	}
	int winner = r->list[order[0]].info.status ? 0 : order[0];
	if (r->list[winner].info.status) race_leave(&r->list[winner]);
	race_result(r, winner);
	return ODVGP_OK;
}

/* ---- more rows ---- */

/*  A fraction of the way between two step sizes. */
static odvgp_real race_between(int linear, odvgp_real from, odvgp_real to, double part)
{
	return (odvgp_real)(linear ? (double)from + part * ((double)to - (double)from)
							   : (double)from * pow((double)to / (double)from, part));
}

/*  What is left of a schedule after so many steps: of the rise or fall that they have reached, and of
    the fall that may follow it. */
static odvgp_schedule race_rest(const odvgp_schedule *s, ptrdiff_t done)
{
	odvgp_schedule rest = *s;
	int last = s->decay_steps > 0 && done >= s->decay_from,
		linear = s->kind == ODVGP_SCHEDULE_LINEAR;
	odvgp_real from = last ? s->end : s->start, to = last ? s->final : s->end;
	ptrdiff_t gone = last ? done - s->decay_from : done, steps = last ? s->decay_steps : s->steps;
	if (last) rest.decay_from = rest.decay_steps = 0;
	else if (s->decay_steps > 0) rest.decay_from -= done;
	if (s->kind == ODVGP_SCHEDULE_CONSTANT && !last) return rest;
	if (!linear) rest.kind = ODVGP_SCHEDULE_LOGLINEAR;
	rest.start = gone < steps ? race_between(linear, from, to, (double)gone / (double)steps) : to;
	rest.end = to;
	rest.steps = gone < steps ? steps - gone : 1;
	/* LINEAR may fall to 0, at which no schedule stays. */
	if (!(to > 0)) rest.end = rest.start > 0 ? rest.start : from;
	return rest;
}

/*  Gives a model of the same sizes and kernel, of other rows, that odvgp_init_data has initialised,
    the parameters of an entry, q included, and the rest of its step sizes: it goes on for
    entry->steps - entry->done steps, with empty moments. */
static odvgp_status race_continue(const race_entry *e, odvgp_model *model, odvgp_info *info)
{
	odvgp_schedule lr = race_rest(&e->config.optim.lr, e->done),
				   natgrad = race_rest(&e->config.optim.natgrad_step, e->done);
	odvgp_status s = race_copy(model, e->model, 1, info);
	return s ? s : odvgp_set_step_sizes(model, &lr, &natgrad, info);
}

#endif

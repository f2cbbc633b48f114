/*  race.h - chooses one of several models by rows that none of them is trained on, or by folds:
    successive halving. Needs odvgp.h, included before; no option of the tool, and it prints nothing.

    Each entry has a whole training: warm starts, then steps whose sizes follow the config's
    schedules. In each round those still in the race do the same counted operations more of it, are
    scored by the mean log density of the validation rows, and half of them go on. Going on is
    odvgp_fit on the same model, so it gives the bits of a training that never stopped. Of the last
    two the cheaper one wins - to predict with, else to train; of two that cost about the same, the
    earlier one - unless the other is better by more than one standard error of the mean of the rows'
    differences. Means within RACE_TIE are equal, and the earlier entry comes first.

    What the race adds to the winner's training - starts and steps of the others, scores - is at most
    the larger one of race.share of all operations, of race and training, and race.most. An entry that
    leaves no step to itself or to one before it does not race, unless what its start gives is enough
    (race_entry.no_step). Operations are the caller's counts and
    never seconds: the choice depends on entries, data, build and instruction set only.

    race_continue gives the winner's parameters to a model of more rows, for the rest of its steps.

    There is one model at a time, and a copy or a Gaussian's beside it for a moment. An entry that
    waits is what odvgp_save_memory has written of it, from which training goes on bit for bit, and
    half of the entries of a round at most wait: whichever is not among the better half of those that
    have scored is out. race_bytes says beforehand about how much memory that is.

    A caller whose time is limited may end it between two entries (race.over): the best of those that
    have been scored wins.

    Few rows are all trained on, and all score: those of each fold by the posterior of the others,
    with the hyperparameters and points that all rows have given. Hyperparameters fit the rows of a
    fold, too: as in Akaike's criterion each that is trained costs one nat. Points are q's, which the
    bound keeps from fitting too well. This is for a Gaussian, whose q is a formula, of one target. */
#ifndef TOOL_RACE_H
#define TOOL_RACE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*  A slot's values, kept without a model. */
typedef struct race_value {
	struct race_value *next;
	char *name;
	ptrdiff_t count;
	odvgp_real *at;
} race_value;

typedef struct race_entry {
	/* To show; and a model of the rows to fit. */
	const char *name;
	odvgp_config config;
	/* Rows to fit and validation rows in columns of its own, and targets on a scale of its own, which
	   race.judge undoes; NULL: those of the race. */
	const odvgp_real *X, *X_valid, *Y, *Y_valid;
	/* 1: enters after the first round if race.joins says so, and before it is none. */
	int late;
	/* Its warm starts. from >= 0: in place of these the hyperparameters and noise of that earlier
	   entry after its own, and its points where there are as many; of a late one those of the other's
	   last score, and another likelihood than the Gaussian begins with a Gaussian's best q. */
	const odvgp_warm *warm;
	int warm_count, from;
	/* 1: scores, and what follows `from`, are those of q's optimum (odvgp_fit_q). */
	int fit_q;
	/* Of the whole training; and its operations: before the first step, of a step, of a score. */
	ptrdiff_t steps;
	double start_flops, step_flops, score_flops;
	/* Before so many steps a score says nothing: it races only where each round has room for them.
	   After `most` it races with what it has; 0: no limit. no_step 1: what its warm starts give may
	   race without a step. */
	ptrdiff_t least, most;
	int no_step;
	/* Of what its training does after these steps with rows that it does not see in the race; and of
	   a prediction. */
	double rest_flops, serve_flops;

	/* Results. The model after `done` steps, in a block of malloc; NULL: left out, or it waits, as the
	   bytes of a file. */
	odvgp_model *model;
	void *block, *file;
	size_t block_bytes, file_bytes;
	ptrdiff_t done;
	/* How many of its warm starts are over; with `from`, 1 or 0. */
	int warmed;
	/* Of its start, for those that follow it, and at its last score, for late ones; then see
	   race_settle. */
	race_value *start, *last;
	/* Rounds it has run; operations spent, scores included; log densities of the validation rows at
	   the last score [valid], by folds less what hyperparameters cost, their mean, -HUGE_VAL if it
	   cannot predict. */
	int rounds;
	double flops, mean;
	odvgp_real *logp;
	/* With race.judge: mean and variance of y of these rows [2,valid]; else NULL. */
	odvgp_real *moments;
	/* Why it failed; status ODVGP_OK: it has not. */
	odvgp_info info;
	/* Of race_entry_bytes, which keeps them: all of it, the file; 0: not known. */
	double bytes, file_most;
} race_entry;

/*  What an entry is about to do, where it starts again with each warm start, and that it has a score. */
typedef enum race_phase { RACE_START, RACE_STEPS, RACE_SCORE, RACE_SCORED } race_phase;

typedef struct race {
	/* Rows to fit, N of each config, and validation rows, in the columns of odvgp_fit. */
	const odvgp_real *X, *Y, *X_valid, *Y_valid;
	ptrdiff_t valid;
	/* Above 0: no validation rows, but this many folds of the N = valid rows, and the one of each. */
	int folds;
	const int *fold;
	/* Prepares a model: gives a new one bounds, which a file (of_file 1) keeps, and each its reader
	   where X and Y are NULL. NULL: nothing to do. */
	odvgp_status (*made)(void *user, odvgp_model *model, int of_file, odvgp_info *info);
	/* [count]; the first is the default. */
	race_entry *list;
	int count;
	/* Above 0, below 1: 1.0 / 3; and operations that the race may add whatever its entries cost,
	   0: none beyond the share. */
	double share, most;
	/* NULL: none. */
	const odvgp_watch *watch;
	/* NULL: none. After a score: may change the rows' logp; why the entry is refused, or NULL. */
	const char *(*judge)(void *user, const struct race *r, race_entry *e);
	/* NULL: none. After the first round, of which `order` [left] go on, the best one first: the late
	   entry that takes the last one's place, or -1. */
	int (*joins)(void *user, const struct race *r, const int *order, int left);
	/* NULL: none. Before each piece of work, and after a score. */
	void (*tell)(void *user, const struct race *r, int entry, race_phase phase);
	/* NULL: never. Before an entry's part of a round, once one has been scored: does the race end with
	   the scores that are there? Also asked when the watch has stopped an entry, which is out then. */
	int (*over)(void *user, const struct race *r);
	void *user;

	/* Results: the winner, operations that the race has added to its training, and by how many nats
	   a row it is better than the first entry, with the standard error; 0 for the first entry. */
	int winner, rounds;
	double added, gain, error;
	/* 1: race.over has ended it. */
	int early;
} race;

/*  Entries at most. */
enum { RACE_MOST = 32 };

/* ---- operations ---- */

/*  Of the whole training of an entry, with the warm start that it takes from another one. */
static double race_start_flops(const race *r, const race_entry *e)
{
	return e->start_flops + (e->from >= 0 ? r->list[e->from].start_flops : 0);
}

static double race_total(const race *r, const race_entry *e)
{
	return race_start_flops(r, e) + (double)e->steps * e->step_flops + e->rest_flops;
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
	double least = HUGE_VAL, own = HUGE_VAL, fixed = 0, score = 0, again = 0;
	int stepping = 0;
	for (int k = 0; k < count; k++) {
		const race_entry *e = &r->list[order[k]];
		least = fmin(least, race_total(r, e));
		own = fmin(own, race_start_flops(r, e));
		fixed += e->start_flops;
		score = fmax(score, e->score_flops);
		/* one that takes none is not scored again */
		int steps = !e->no_step || e->steps > 0;
		if (steps) again = fmax(again, e->score_flops);
		stepping += steps;
	}
	fixed += count > 1 ? count * score : 0;
	for (int left = (count + 1) / 2; left > 1; left = (left + 1) / 2)
		fixed += fmin(left, stepping) * again;
	return fmax(r->most, r->share / (1 - r->share) * least) - (fixed - own);
}

/*  Operations of a round for each of `left` entries, one of which may win and then has added none. */
static double race_each(double room, int rounds, int left) { return room / (rounds * (left - 1)); }

/*  The least steps of an entry in a round. */
static double race_least(const race_entry *e) { return e->no_step ? 0 : fmax(1, (double)e->least); }

/*  Have these entries room for their least steps in each round? */
static int race_fits(const race *r, const int *order, int count)
{
	double each = race_each(race_room(r, order, count), race_rounds(count), count);
	int fits = each >= 0;
	for (int k = 0; k < count; k++) {
		const race_entry *e = &r->list[order[k]];
		fits &= each >= race_least(e) * e->step_flops;
	}
	return fits;
}

/*  Which entries race: one after another that have room beside those before. Returns their number. */
static int race_choose(const race *r, int *order)
{
	int count = 0, there;
	for (int i = 0; i < r->count; i++) {
		const race_entry *e = &r->list[i];
		there = e->from < 0 && !e->late;
		for (int k = 0; k < count && !e->late; k++) there |= order[k] == e->from;
		order[count] = i;
		if (there && (!count || race_fits(r, order, count + 1))) count++;
	}
	return count;
}

/*  What the race adds at most: what it may, or less where all entries together need less. */
static double race_adds(const race *r)
{
	int order[RACE_MOST], count = race_choose(r, order);
	double needed = 0;
	for (int k = 0; k < count; k++) {
		const race_entry *e = &r->list[order[k]];
		needed += race_rounds(count) * e->score_flops;
		if (k) needed += e->start_flops + (double)e->steps * e->step_flops;
	}
	double share = r->share / (1 - r->share) * race_total(r, &r->list[0]);
	return fmin(needed, fmax(r->most, share));
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

static odvgp_status race_refuse(odvgp_info *info, const char *why)
{
	memset(info, 0, sizeof *info);
	snprintf(info->text, sizeof info->text, "%s", why);
	return info->status = ODVGP_E_ARG;
}

/*  Is this slot a hyperparameter or the points of mean and covariance, and not a part of q? */
static int race_is_start(const char *name)
{
	return strncmp(name, "kernel.", 7) == 0 || strncmp(name, "mean.", 5) == 0 ||
		   strcmp(name, "noise_variance") == 0 || strcmp(name, "Z_beta") == 0;
}

static void race_drop(race_value *list)
{
	while (list) {
		race_value *next = list->next;
		free(list->name);
		free(list->at);
		free(list);
		list = next;
	}
}

/*  What the hyperparameters cost a score by folds, in nats a row. */
static double race_penalty(const race *r, const odvgp_model *model)
{
	ptrdiff_t count = 0;
	for (int i = 0; i < odvgp_slot_count(model) && r->folds; i++) {
		const odvgp_slot *slot = odvgp_slot_at(model, i);
		int points = strcmp(slot->name, "Z_beta") == 0;
		if (slot->trainable && race_is_start(slot->name) && !points) count += slot->count;
	}
	return (double)count / (double)r->valid;
}

/*  Adds the values of a model's slots, all or only those without q. */
static odvgp_status race_add(race_value **list, const odvgp_model *from, int all, odvgp_info *info)
{
	odvgp_status s = ODVGP_OK;
	for (int i = 0; i < odvgp_slot_count(from) && !s; i++) {
		const odvgp_slot *slot = odvgp_slot_at(from, i);
		if (!all && !race_is_start(slot->name)) continue;
		race_value *v = (race_value *)malloc(sizeof *v);
		if (!v) return race_no_memory(info);
		v->next = *list;
		*list = v;
		v->count = slot->count;
		size_t length = strlen(slot->name) + 1;
		v->name = (char *)malloc(length);
		v->at = (odvgp_real *)malloc((size_t)slot->count * sizeof *v->at + 1);
		if (!v->name || !v->at) return race_no_memory(info);
		memcpy(v->name, slot->name, length);
		s = odvgp_get(from, v->name, v->at, v->count, info);
	}
	return s;
}

/*  The same as a new list, which is empty if it fails. */
static odvgp_status race_take(race_value **list, const odvgp_model *from, int all, odvgp_info *info)
{
	*list = NULL;
	odvgp_status s = race_add(list, from, all, info);
	if (!s) return s;
	race_drop(*list);
	*list = NULL;
	return s;
}

/*  Sets the slots of the same name and length; from a noise's variance also the scale of Student's t,
    whose variance with four degrees of freedom is twice its square. */
static odvgp_status race_give(odvgp_model *to, const race_value *list, odvgp_info *info)
{
	odvgp_status s = ODVGP_OK;
	for (; list && !s; list = list->next) {
		const odvgp_slot *slot = odvgp_slot_find(to, list->name);
		int noise = strcmp(list->name, "noise_variance") == 0;
		if (slot && slot->count == list->count)
			s = odvgp_set(to, list->name, list->at, list->count, info);
		else if (noise && list->count == 1 && odvgp_slot_find(to, "scale")) {
			odvgp_real scale = (odvgp_real)sqrt((double)*list->at / 2);
			s = odvgp_set(to, "scale", &scale, 1, info);
		}
	}
	return s;
}

/*  Copies slots of the same name and length. */
static odvgp_status race_copy(odvgp_model *to, const odvgp_model *from, odvgp_info *info)
{
	race_value *all;
	odvgp_status s = race_take(&all, from, 1, info);
	if (!s) s = race_give(to, all, info);
	race_drop(all);
	return s;
}

static void race_leave_model(race_entry *e)
{
	free(e->block);
	e->block = NULL;
	e->model = NULL;
}

/*  Gives back what going on would need. */
static void race_out(race_entry *e)
{
	race_leave_model(e);
	free(e->file);
	e->file = NULL;
}

/*  Gives an entry's memory back, but for its results in numbers. */
static void race_leave(race_entry *e)
{
	race_out(e);
	race_drop(e->start);
	race_drop(e->last);
	e->start = e->last = NULL;
}

/*  Writes a model as a file. One that cannot be written, for lack of memory or of a valid factor, has
    none. */
static void race_write(race_entry *e)
{
	size_t size = odvgp_save_size(e->model, 0, NULL);
	free(e->file);
	e->file_bytes = size;
	e->file = size ? malloc(size) : NULL;
	if (!e->file || !odvgp_save_memory(e->model, NULL, NULL, 0, e->file, size, NULL)) return;
	free(e->file);
	e->file = NULL;
}

/*  Makes the model of an entry that waits. */
static odvgp_status race_wake(const race *r, race_entry *e)
{
	const odvgp_threads *threads = &e->config.threads;
	if (e->model || !e->file) return ODVGP_OK;
	e->block_bytes = odvgp_load_size(e->file, e->file_bytes, threads, e->config.isa, &e->info);
	if (!e->block_bytes) return e->info.status;
	e->block = malloc(e->block_bytes);
	if (!e->block) return race_no_memory(&e->info);
	odvgp_status s = odvgp_load_memory(&e->model, e->file, e->file_bytes, threads, e->config.isa,
			e->block, e->block_bytes, &e->info);
	free(e->file);
	e->file = NULL;
	return !s && r->made ? r->made(r->user, e->model, 1, &e->info) : s;
}

static const odvgp_real *race_rows(const race *r, const race_entry *e)
{
	return e->X ? e->X : r->X;
}

static const odvgp_real *race_targets(const race *r, const race_entry *e)
{
	return e->Y ? e->Y : r->Y;
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

/*  The best q of a Gaussian with these values, and its noise. */
static odvgp_status race_gaussian(const race *r, race_entry *e, const race_value *values)
{
	odvgp_config c = e->config;
	odvgp_model *model;
	c.lik.kind = ODVGP_LIKELIHOOD_GAUSSIAN;
	size_t size = odvgp_model_size(&c, &e->info);
	if (!size) return e->info.status;
	void *block = malloc(size);
	if (!block) return race_no_memory(&e->info);
	const odvgp_real *X = race_rows(r, e), *Y = race_targets(r, e);
	odvgp_status s = odvgp_model_init(&model, &c, block, size, &e->info);
	if (!s && r->made) s = r->made(r->user, model, 0, &e->info);
	if (!s) s = odvgp_init_data(model, X, Y, r->watch, &e->info);
	if (!s) s = race_give(model, values, &e->info);
	if (!s) s = race_fit_q(r, e, model, X, Y);
	if (!s) s = race_copy(e->model, model, &e->info);
	free(block);
	return s;
}

/*  Warm starts, or what another entry has learned. */
static odvgp_status race_warm(const race *r, race_entry *e)
{
	odvgp_status s = ODVGP_OK;
	if (e->from >= 0) {
		const race_entry *other = &r->list[e->from];
		const race_value *values = e->late && other->last ? other->last : other->start;
		int gaussian = e->config.lik.kind == ODVGP_LIKELIHOOD_GAUSSIAN;
		s = gaussian ? race_give(e->model, values, &e->info) : race_gaussian(r, e, values);
		if (!s && gaussian && e->fit_q && e->config.objective == ODVGP_OBJECTIVE_ELBO)
			s = race_fit_q(r, e, e->model, race_rows(r, e), race_targets(r, e));
		e->warmed = !s;
		return s;
	}
	for (int k = 0; k < e->warm_count && !s; k++) {
		/* each begins its own count */
		if (k) race_tell(r, (int)(e - r->list), RACE_START);
		size_t size = odvgp_warm_start_scratch(e->model, &e->warm[k], &e->info);
		if (!size) return e->info.status;
		void *scratch = malloc(size);
		if (!scratch) return race_no_memory(&e->info);
		s = odvgp_warm_start(e->model, race_rows(r, e), race_targets(r, e), &e->warm[k], r->watch,
				scratch, size, &e->info);
		free(scratch);
		e->warmed += !s;
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
	if (r->judge) {
		e->moments = (odvgp_real *)malloc(2 * (size_t)r->valid * sizeof *e->moments);
		if (!e->moments) return race_no_memory(&e->info);
	}
	if (!e->block || !e->logp) return race_no_memory(&e->info);
	odvgp_status s = odvgp_model_init(&e->model, &e->config, e->block, e->block_bytes, &e->info);
	if (!s && r->made) s = r->made(r->user, e->model, 0, &e->info);
	if (!s) s = odvgp_init_data(e->model, race_rows(r, e), race_targets(r, e), r->watch, &e->info);
	if (!s) s = race_warm(r, e);
	int followed = 0;
	for (int i = 0; i < r->count; i++) followed |= r->list[i].from == e - r->list;
	return s || !followed ? s : race_take(&e->start, e->model, 0, &e->info);
}

/*  The steps that so many operations are, at least one unless it races without, at most those left. */
static ptrdiff_t race_steps(const race_entry *e, double flops)
{
	double steps = floor(fmax(e->no_step ? 0 : 1, flops / e->step_flops));
	ptrdiff_t most = e->most > 0 && e->most < e->steps ? e->most : e->steps;
	return (ptrdiff_t)fmin(steps, (double)(most - e->done));
}

/*  L-BFGS may converge before: then all its steps are done. */
static odvgp_status race_train(const race *r, race_entry *e, double flops)
{
	ptrdiff_t steps = race_steps(e, flops);
	if (steps < 1) return ODVGP_OK;
	odvgp_status s = race_wake(r, e);
	if (s) return s;
	s = odvgp_fit(e->model, race_rows(r, e), race_targets(r, e), steps, r->watch, &e->info);
	ptrdiff_t done = odvgp_steps_done(e->model);
	e->flops += (double)(done - e->done) * e->step_flops;
	e->done = done;
	return s;
}

/* ---- scores ---- */

enum { RACE_ROWS = 256 };

/*  Rows and log p(y) of each, and mean and variance of y [2,n] or NULL. */
typedef struct race_part {
	const odvgp_real *X, *Y;
	ptrdiff_t n;
	odvgp_real *logp, *moments;
} race_part;

static odvgp_status race_densities(const race_part *p, const odvgp_server *server, odvgp_info *info)
{
	size_t size = odvgp_predict_scratch(server, RACE_ROWS, info);
	void *scratch = size ? malloc(size) : NULL;
	if (!scratch) return size ? race_no_memory(info) : info->status;
	odvgp_status s = odvgp_predict_logp(server, p->X, p->Y, p->n, p->logp, scratch, size, info);
	if (!s && p->moments)
		s = odvgp_predict_y(server, p->X, p->n, p->moments, p->moments + p->n, scratch, size, info);
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

/*  Memory that the folds share. */
typedef struct race_memory {
	void *block; /* of a fold's model, large enough for each */
	size_t size;
	odvgp_real *rows; /* all of them, X and Y; log densities, means and variances */
} race_memory;

/*  A model of these rows with the entry's values predicts the others. */
static odvgp_status race_fit_part(const race *r, race_entry *e, const race_value *values,
		const race_part *fit, const race_part *of, const race_memory *room)
{
	odvgp_config c = race_resize(&e->config, fit->n);
	odvgp_model *model;
	odvgp_status s = odvgp_model_init(&model, &c, room->block, room->size, &e->info);
	if (!s) s = odvgp_init_data(model, fit->X, fit->Y, r->watch, &e->info);
	if (!s) s = race_give(model, values, &e->info);
	if (!s) s = race_fit_q(r, e, model, fit->X, fit->Y);
	return s ? s : race_predict(e, model, of);
}

/*  Splits the rows into those outside the fold and those in it, scores the latter. */
static odvgp_status race_fold(const race *r, race_entry *e, const race_value *values, int fold,
		const race_memory *room)
{
	const odvgp_real *X = race_rows(r, e), *from = race_targets(r, e);
	ptrdiff_t n = r->valid, D = e->config.layer[0].D, count[2] = {0, 0};
	for (ptrdiff_t i = 0; i < n; i++) count[r->fold[i] == fold]++;
	odvgp_real *to[2] = {room->rows, room->rows + count[0] * D},
			   *Y[2] = {room->rows + n * D, room->rows + n * D + count[0]},
			   *logp = room->rows + n * (D + 1);
	race_part fit = {to[0], Y[0], count[0], NULL, NULL},
			  of = {to[1], Y[1], count[1], logp, e->moments ? logp + n : NULL};
	if (!count[1]) return ODVGP_OK;
	if (!count[0]) return race_refuse(&e->info, "race: a fold holds all rows");
	for (ptrdiff_t i = 0; i < n; i++) {
		int in = r->fold[i] == fold;
		memcpy(to[in], X + i * D, (size_t)D * sizeof *X);
		to[in] += D;
		*Y[in]++ = from[i];
	}
	odvgp_status s = race_fit_part(r, e, values, &fit, &of, room);
	for (ptrdiff_t i = 0, k = 0; i < n && !s; i++) {
		if (r->fold[i] != fold) continue;
		for (int of_y = 0; of_y < 2 && e->moments; of_y++)
			e->moments[of_y * n + i] = of.moments[of_y * count[1] + k];
		e->logp[i] = logp[k++];
	}
	return s;
}

/*  The most rows that a fold leaves to fit. */
static ptrdiff_t race_most_rows(const race *r)
{
	ptrdiff_t most = 0;
	for (int fold = 0; fold < r->folds; fold++) {
		ptrdiff_t rows = r->valid;
		for (ptrdiff_t i = 0; i < r->valid; i++) rows -= r->fold[i] == fold;
		if (rows > most) most = rows;
	}
	return most;
}

static odvgp_status race_folds(const race *r, race_entry *e)
{
	size_t columns = (size_t)e->config.layer[0].D + 4;
	odvgp_config c = race_resize(&e->config, race_most_rows(r));
	race_value *values;
	race_memory room;
	room.size = odvgp_model_size(&c, &e->info);
	if (!room.size) return e->info.status;
	odvgp_status s = race_take(&values, e->model, 1, &e->info);
	if (e->file) race_leave_model(e);
	room.block = malloc(room.size);
	room.rows = (odvgp_real *)malloc((size_t)r->valid * columns * sizeof *room.rows);
	if (!s && (!room.block || !room.rows)) s = race_no_memory(&e->info);
	for (int fold = 0; fold < r->folds && !s; fold++) s = race_fold(r, e, values, fold, &room);
	free(room.block);
	free(room.rows);
	race_drop(values);
	return s;
}

/*  Do steps leave q out, so that a score may give it to the model itself? A file needs it, too. */
static int race_has_best_q(const race_entry *e)
{
	return e->config.objective != ODVGP_OBJECTIVE_ELBO;
}

static odvgp_status race_predict_held(const race *r, race_entry *e, odvgp_model *model)
{
	race_part held = {e->X_valid ? e->X_valid : r->X_valid, e->Y_valid ? e->Y_valid : r->Y_valid,
			r->valid, e->logp, e->moments};
	int due = e->fit_q && !race_has_best_q(e);
	odvgp_status s = due ? race_fit_q(r, e, model, race_rows(r, e), race_targets(r, e)) : ODVGP_OK;
	return s ? s : race_predict(e, model, &held);
}

/*  By the model itself, which the file makes again, or by a copy. */
static odvgp_status race_held_out(const race *r, race_entry *e)
{
	odvgp_model *copy;
	if (e->file || race_has_best_q(e)) return race_predict_held(r, e, e->model);
	void *block = malloc(e->block_bytes);
	if (!block) return race_no_memory(&e->info);
	odvgp_status s = odvgp_model_copy(&copy, e->model, block, e->block_bytes, &e->info);
	if (!s) s = race_predict_held(r, e, copy);
	free(block);
	return s;
}

/*  Training goes on as if there had been no score. Afterwards the entry waits. */
static odvgp_status race_score(const race *r, race_entry *e)
{
	double sum = 0;
	e->flops += e->score_flops;
	odvgp_status s = race_wake(r, e);
	if (!s && race_has_best_q(e))
		s = race_fit_q(r, e, e->model, race_rows(r, e), race_targets(r, e));
	if (s) return s;
	int followed = 0;
	for (int i = 0; i < r->count; i++)
		followed |= r->list[i].late && &r->list[r->list[i].from] == e;
	race_drop(e->last);
	e->last = NULL;
	if (followed) s = race_take(&e->last, e->model, 0, &e->info);
	if (s) return s;
	double penalty = race_penalty(r, e->model);
	race_write(e);
	s = r->folds ? race_folds(r, e) : race_held_out(r, e);
	if (e->file) race_leave_model(e);
	const char *refused = s || !r->judge ? NULL : r->judge(r->user, r, e);
	if (refused) s = race_refuse(&e->info, refused);
	for (ptrdiff_t i = 0; i < r->valid && !s; i++) {
		e->logp[i] -= (odvgp_real)penalty;
		sum += (double)e->logp[i];
	}
	if (!s) e->mean = isfinite(sum) ? sum / (double)r->valid : -HUGE_VAL;
	return s;
}

/*  The mean difference of the log densities of n rows, a - b, and its standard error. */
static double paired_difference(
		const odvgp_real *a, const odvgp_real *b, ptrdiff_t n, double *error)
{
	double mean = 0, squares = 0, rows = (double)n;
	for (ptrdiff_t i = 0; i < n; i++) mean += ((double)a[i] - (double)b[i]) / rows;
	for (ptrdiff_t i = 0; i < n; i++) {
		double d = (double)a[i] - (double)b[i] - mean;
		squares += d * d;
	}
	*error = sqrt(squares / (rows * fmax(1, rows - 1)));
	return mean;
}

static double race_difference(
		const race *r, const race_entry *a, const race_entry *b, double *error)
{
	return paired_difference(a->logp, b->logp, r->valid, error);
}

/*  So many times the operations of another's predictions are dear whatever the trainings cost. */
static const double RACE_SERVES = 20;

/*  Is a costlier than b, by its predictions or else its whole training? Of two that cost the same, within
    a tenth, the one that stands behind the other. */
static int race_is_costlier(const race *r, const race_entry *a, const race_entry *b)
{
	double x = race_total(r, a), y = race_total(r, b);
	if (a->serve_flops > RACE_SERVES * b->serve_flops) return 1;
	if (b->serve_flops > RACE_SERVES * a->serve_flops) return 0;
	if (x > 1.1 * y || y > 1.1 * x) return x > y;
	return a > b;
}

/*  Nats a row below which two means are the same: rounding, where nothing is left to learn. */
static const double RACE_TIE = 1e-4;

/*  Does a win over b? The costlier one has to be better by more than a standard error; of equal ones
    the first of the list wins. */
static int race_wins(const race *r, const race_entry *a, const race_entry *b)
{
	double error;
	if (!isfinite(a->mean) || !isfinite(b->mean)) return isfinite(a->mean);
	double gain = race_difference(r, a, b, &error);
	if (fabs(gain) <= RACE_TIE) return a < b;
	return race_is_costlier(r, a, b) ? gain > error : gain >= -error;
}

/* ---- memory ---- */

/*  Bytes beside a model while it is scored: what q's optimum takes, or a predictor with its scratch,
    of which the products' packed panels are PACKED numbers. */
static double race_score_bytes(const race_entry *e, const odvgp_model *model)
{
	const double PACKED = 94000;
	const odvgp_config *c = odvgp_model_config(model);
	double points = (double)(c->layer[0].M + c->layer[0].M_gamma),
		   scratch = (PACKED + 2 * RACE_ROWS * points) * sizeof(odvgp_real),
		   fits = e->fit_q ? (double)odvgp_fit_q_scratch(model, NULL) : 0;
	return fmax((double)odvgp_predictor_size(model, NULL) + scratch, fits);
}

/*  Of an entry: *file, and the most that it takes otherwise, less what the caller's rows are. Makes its
    model for a moment, the first time. */
static double race_entry_bytes(const race *r, race_entry *e, double *file)
{
	odvgp_model *model;
	odvgp_config part = race_resize(&e->config, r->valid - r->valid / (r->folds ? r->folds : 1));
	double size = (double)odvgp_model_size(&e->config, NULL), most = size, score = size;
	*file = e->file_most;
	if (e->bytes > 0) return e->bytes;
	void *block = size > 0 ? malloc((size_t)size) : NULL;
	if (block && !odvgp_model_init(&model, &e->config, block, (size_t)size, NULL)) {
		*file = (double)odvgp_save_size(model, 0, NULL);
		for (int k = 0; k < e->warm_count && e->from < 0; k++)
			most = fmax(most, size + (double)odvgp_warm_start_scratch(model, &e->warm[k], NULL));
		/* race_gaussian's model beside its own */
		if (e->from >= 0 && e->config.lik.kind != ODVGP_LIKELIHOOD_GAUSSIAN)
			most = fmax(most, 2 * size);
		if (r->folds) score = (double)odvgp_model_size(&part, NULL) + *file / 2;
		most = fmax(most, score + *file + race_score_bytes(e, model));
	}
	free(block);
	e->bytes = most;
	e->file_most = *file;
	return most;
}

/*  About how many bytes the race takes at most: those of one entry, a late one, too, and the largest
    files of others, of which half wait. */
static double race_bytes(const race *r)
{
	int order[RACE_MOST], left = race_choose(r, order), waiting = left > 2 ? (left + 1) / 2 : 1;
	double own[RACE_MOST] = {0}, file[RACE_MOST] = {0}, most = 0;
	for (int i = 0, late = left > 2 && r->joins; i < r->count && late; i++)
		if (r->list[i].late) order[left++] = i;
	for (int k = 0; k < left && left > 1; k++)
		own[k] = race_entry_bytes(r, &r->list[order[k]], &file[k]);
	for (int k = 0; k < left && left > 1; k++) {
		double sum = own[k];
		for (int i = 0; i < left; i++) {
			int larger = 0;
			for (int j = 0; j < left; j++)
				larger += j != k && (j < i ? file[j] >= file[i] : file[j] > file[i]);
			if (i != k && larger < waiting) sum += file[i];
		}
		most = fmax(most, sum);
	}
	return most;
}

/* ---- the race ---- */

static void race_free(race *r)
{
	for (int i = 0; i < r->count; i++) {
		race_leave(&r->list[i]);
		free(r->list[i].logp);
		free(r->list[i].moments);
		r->list[i].logp = r->list[i].moments = NULL;
	}
}

static int race_is_over(const race *r)
{
	int scored = 0;
	for (int i = 0; i < r->count; i++) scored |= isfinite(r->list[i].mean);
	return scored && r->over && r->over(r->user, r);
}

/*  The first round starts it. */
static odvgp_status race_run_entry(race *r, int i, double each)
{
	race_entry *e = &r->list[i];
	odvgp_status s = e->info.status;
	if (!s && !e->rounds) {
		race_tell(r, i, RACE_START);
		int lost = e->from >= 0 && !r->list[e->from].start;
		s = lost ? r->list[e->from].info.status : race_start(r, e);
	}
	ptrdiff_t before = e->done;
	if (!s) race_tell(r, i, RACE_STEPS);
	if (!s) s = race_train(r, e, each);
	/* without a step it has the score that it had */
	int scored = e->rounds && e->done == before;
	if (!s && !scored) race_tell(r, i, RACE_SCORE);
	if (!s && !scored) s = race_score(r, e);
	/* The watch has ended the race, unless race.over sees it in time. */
	if (s == ODVGP_E_STOPPED && !race_is_over(r)) return s;
	e->info.status = s;
	e->rounds++;
	if (!s && !scored) race_tell(r, i, RACE_SCORED);
	if (!s) return s;
	race_leave_model(e);
	e->mean = -HUGE_VAL;
	return s;
}

static void race_swap(int *order, int i, int k)
{
	int swap = order[i];
	order[i] = order[k];
	order[k] = swap;
}

/*  Operations that a late entry has for steps in the next round: its start and a costlier score come
    out of them. */
static double race_late_each(const race *r, const int *order, int left, int late, double each)
{
	const race_entry *e = &r->list[late];
	double score = 0;
	for (int k = 0; k < left; k++)
		if (order[k] != late) score = fmax(score, r->list[order[k]].score_flops);
	return each - e->start_flops - fmax(0, e->score_flops - score);
}

/*  Does entry i stand before k for the next round? Of equal ones the first of the list does. */
static int race_before(const race *r, int i, int k)
{
	double a = r->list[i].mean, b = r->list[k].mean;
	if (!isfinite(a) || !isfinite(b) || fabs(a - b) > RACE_TIE) return a > b;
	return i < k;
}

/*  The watch has ended the race: the entry with the best score so far, without any the first that has
    learned something; else 0, which has no model then. */
static int race_best(race *r)
{
	int best = -1;
	for (int i = 0; i < r->count; i++) {
		const race_entry *e = &r->list[i];
		int learned = (e->model || e->file) && (e->warmed || e->done);
		if (learned && (best < 0 || e->mean > r->list[best].mean)) best = i;
	}
	for (int i = 0; i < r->count; i++)
		if (i != best) race_out(&r->list[i]);
	return best < 0 ? 0 : best;
}

/*  The race has ended early: the winner of those that have been scored, of which the costlier one of
    the best two must be clearly better; -1: there is none. */
static int race_early(race *r)
{
	int first = -1, second = -1;
	for (int i = 0; i < r->count; i++) {
		const race_entry *e = &r->list[i];
		if (!isfinite(e->mean) || !(e->model || e->file)) continue;
		if (first < 0 || race_before(r, i, first)) second = first, first = i;
		else if (second < 0 || race_before(r, i, second)) second = i;
	}
	if (second >= 0 && race_wins(r, &r->list[second], &r->list[first])) first = second;
	for (int i = 0; i < r->count && first >= 0; i++)
		if (i != first) race_out(&r->list[i]);
	return first;
}

/*  A round of the entries `order` [left], of which one may be late: steps and scores, then the better
    `stay` come first, and the others are out. */
static odvgp_status race_round(race *r, int *order, int left, int stay, double each)
{
	double late = 0;
	for (int k = 0; k < left; k++)
		if (r->list[order[k]].late && !r->list[order[k]].rounds)
			late = race_late_each(r, order, left, order[k], each);
	for (int i = 0; i < left; i++) {
		const race_entry *e = &r->list[order[i]];
		if (race_is_over(r)) return ODVGP_E_STOPPED;
		odvgp_status s = race_run_entry(r, order[i], e->late && !e->rounds ? late : each);
		if (s == ODVGP_E_STOPPED) return s;
		for (int k = i; k > 0 && race_before(r, order[k], order[k - 1]); k--)
			race_swap(order, k, k - 1);
		/* Its values at the start stay for those that follow it. */
		if (left > 2 && i >= stay) race_out(&r->list[order[i]]);
	}
	if (left > 2) return ODVGP_OK;
	/* The last two: the costlier one must be clearly better. */
	if (race_wins(r, &r->list[order[1]], &r->list[order[0]])) race_swap(order, 0, 1);
	race_out(&r->list[order[1]]);
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
		double own = i == winner ? e->start_flops + (double)e->done * e->step_flops : 0;
		r->added += e->flops - own;
	}
	if (w->from >= 0) r->added -= r->list[w->from].start_flops;
	r->gain = r->error = 0;
	if (winner && w->rounds && r->list[0].rounds && isfinite(r->list[0].mean))
		r->gain = race_difference(r, w, &r->list[0], &r->error);
}

/*  After the first round: lets a late entry in, if it has room for a step. */
static void race_join(race *r, int *order, int left, double each)
{
	int late = r->joins && left > 1 ? r->joins(r->user, r, order, left) : -1;
	if (late < 0) return;
	const race_entry *e = &r->list[late];
	int lost = e->from >= 0 && !r->list[e->from].start;
	if (lost || race_late_each(r, order, left, late, each) < e->step_flops) return;
	race_out(&r->list[order[left - 1]]);
	order[left - 1] = late;
}

/*  Runs it. Afterwards race_wake makes list[winner].model, the winner's after `done` of its steps, or
    leaves it NULL where nothing was to race; race_free gives all memory back. An entry that fails, for
    lack of memory too, is out, and its info says why; if all fail, the first wins, without a model.
    Returns E_STOPPED if the watch ends it, unless race.over agrees and an entry has been scored: the
    best entry so far is the winner then. */
static odvgp_status race_run(race *r)
{
	int order[RACE_MOST], left;
	odvgp_status s = ODVGP_OK;
	r->winner = r->early = 0;
	r->added = r->gain = r->error = 0;
	for (int i = 0; i < r->count; i++) {
		race_entry *e = &r->list[i];
		e->model = NULL;
		e->block = e->file = NULL;
		e->start = e->last = NULL;
		e->logp = e->moments = NULL;
		e->done = e->rounds = e->warmed = 0;
		e->flops = 0;
		e->mean = -HUGE_VAL;
		memset(&e->info, 0, sizeof e->info);
	}
	if (r->count < 1 || r->count > RACE_MOST || r->valid < 2 || !(r->share > 0 && r->share < 1))
		return ODVGP_E_ARG;
	left = race_choose(r, order);
	r->rounds = race_rounds(left);
	if (left < 2) return ODVGP_OK;
	double room = race_room(r, order, left);
	for (int stay, round = 0; left > 1 && !s; left = stay, round++) {
		double each = race_each(room, r->rounds, left);
		if (round == 1) race_join(r, order, left, each);
		stay = (left + 1) / 2;
		s = race_round(r, order, left, stay, each);
	}
	int winner = s == ODVGP_E_STOPPED && race_is_over(r) ? race_early(r) : -1;
	if (s && winner < 0) {
		r->winner = race_best(r);
		return s;
	}
	r->early = s != ODVGP_OK;
	if (winner < 0) winner = r->list[order[0]].info.status ? 0 : order[0];
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

/*  Of an entry that goes on as a model of more rows: keeps the values, q included, in place of the
    model. */
static odvgp_status race_settle(const race *r, race_entry *e, odvgp_info *info)
{
	odvgp_status s = race_wake(r, e);
	if (s) return s;
	race_drop(e->start);
	s = race_take(&e->start, e->model, 1, info);
	race_out(e);
	return s;
}

/*  Gives a model of the same sizes and kernel, of other rows, that odvgp_init_data has initialised,
    what race_settle has kept and the rest of the step sizes: it goes on for entry->steps -
    entry->done steps, with empty moments. */
static odvgp_status race_continue(const race_entry *e, odvgp_model *model, odvgp_info *info)
{
	odvgp_schedule lr = race_rest(&e->config.optim.lr, e->done),
				   natgrad = race_rest(&e->config.optim.natgrad_step, e->done);
	odvgp_status s = race_give(model, e->start, info);
	return s ? s : odvgp_set_step_sizes(model, &lr, &natgrad, info);
}

#endif

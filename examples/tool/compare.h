/*  compare.h - several bases on the same data: the items of --bases, their trainings, one table,
    JSON and picture of all.

    Each basis is trained as `train` would, with the common options and its own. Its model is freed
    before the next one's is made. */
#ifndef TOOL_COMPARE_H
#define TOOL_COMPARE_H

#include "train.h"

enum { MOST_BASES = 32 };

typedef struct candidate {
	/* Its item of --bases; and the basis, with the keys for which the table has no column. */
	char *label, *name;
	const basis *basis;
	/* The common options and its own. */
	options o;
	/* The result; the config's pointers are not used. */
	odvgp_config config;
	ptrdiff_t steps;
	stop_reason stopped;
	double seconds, ms, elbo, upper, noise;
	/* Of `seconds`, for warm starts and q's optimum before the first step. */
	double fit_seconds;
	/* The kernel in the end; NULL: not trained. */
	char *kernel;
	metrics test;
	/* For the command budget: the numbers of its header are doubles. */
	int wide;
	evaluation *history;
	int history_count;
	/* Why it failed; empty: it did not. */
	char reason[300];
} candidate;

/*  What is wrong from here on is wrong with this item of --bases; NULL: with none. */
static void candidate_blame(const candidate *c)
{
	static char about[200];
	if (c) snprintf(about, sizeof about, "--bases %s", c->label);
	die_about = c && c->o.given[OPT_BASES] ? about : NULL;
}

typedef struct comparison {
	const options *o;
	dataset d;
	workers w;
	odvgp_isa isa;
	/* For --folds of train: warm starts by default, too. */
	int warms;
	candidate *list;
	int count;
	trace_file *trace;
} comparison;

/*  Applies one KEY=VALUE of an item. */
static void candidate_option(candidate *c, const char *text, bytes *name)
{
	for (int i = 0; i < OWN_COUNT; i++) {
		int id = own_options[i];
		size_t length = strlen(option_list[id].name);
		if (strncmp(text, option_list[id].name, length) != 0 || text[length] != '=') continue;
		if (id == OPT_GAMMA && !c->basis->gamma)
			die(BAD_INPUT, "--bases %s: the basis %s has no gamma points", c->label,
					c->basis->name);
		if (id == OPT_BETA && is_exact(c->basis))
			die(BAD_INPUT, "--bases %s: the basis %s has a beta point at each row", c->label,
					c->basis->name);
		option_set(&c->o, id, text + length + 1);
		if (i >= OWN_SHOWN) bytes_print(name, ":%s", text);
		return;
	}
	die(BAD_INPUT, "--bases %s: '%s' must be KEY=VALUE with a key of %s", c->label, text,
			own_names().at);
}

/*  Reads an item, NAME[:KEY=VALUE]... */
static void candidate_parse(candidate *c, const options *o, const char *item)
{
	char *copy = copy_text(item), *rest = copy, *text = next_item(&rest, ':');
	bytes name = {NULL, 0, 0};
	training t;
	c->label = copy_text(item);
	c->basis = basis_named(OPT_BASES, text, strlen(text));
	c->o = options_borrow(o);
	/* Common values are used where they can be. Step sizes still contradict schedules. */
	for (int i = 0; i < OWN_COUNT; i++)
		if (own_options[i] != OPT_LR && own_options[i] != OPT_NATGRAD_STEP)
			c->o.given[own_options[i]] = 0;
	option_set(&c->o, OPT_BASIS, c->basis->name);
	bytes_print(&name, "%s", c->basis->name);
	while ((text = next_item(&rest, ':')) != NULL) candidate_option(c, text, &name);
	c->name = name.at;
	if (strchr(item, ':')) candidate_blame(c);
	options_settle(&c->o);
	natgrad_of(&c->o, c->basis);
	training_options(&t, &c->o);
	candidate_blame(NULL);
	free(copy);
}

static void candidates_parse(comparison *all)
{
	char *list = copy_text(all->o->value[OPT_BASES]), *rest = list, *item;
	all->list = take(MOST_BASES, sizeof *all->list);
	while ((item = next_item(&rest, ',')) != NULL) {
		if (!*item) die(BAD_INPUT, "--bases '%s': a name is missing", all->o->value[OPT_BASES]);
		if (all->count == MOST_BASES)
			die(BAD_INPUT, "--bases: at most %d can be compared", MOST_BASES);
		candidate_parse(&all->list[all->count++], all->o, item);
	}
	free(list);
}

static void candidate_free(candidate *c)
{
	options_free(&c->o);
	free(c->label);
	free(c->name);
	free(c->kernel);
	free(c->history);
}

static void candidates_free(comparison *all)
{
	for (int i = 0; i < all->count; i++) candidate_free(&all->list[i]);
	free(all->list);
}

/*  Do both have the same basis, sizes, natural gradients and keys? */
static int same_candidate(const candidate *a, const candidate *b)
{
	ptrdiff_t top = a->config.layers - 1;
	int same = a->basis == b->basis && a->wide == b->wide &&
			   a->config.layer[top].M == b->config.layer[top].M &&
			   a->config.layer[top].M_gamma == b->config.layer[top].M_gamma &&
			   a->config.optim.natgrad == b->config.optim.natgrad;
	for (int i = OWN_SHOWN; i < OWN_COUNT; i++)
		same &= same_value(a->o.value[own_options[i]], b->o.value[own_options[i]]);
	return same;
}

/*  Makes each model once before any is trained, which checks options and settles sizes. */
static void candidates_check(comparison *all, bytes *notes)
{
	for (int i = 0; i < all->count; i++) {
		candidate *c = &all->list[i];
		model_block block;
		candidate_blame(c);
		likelihood_settle(&c->o, &all->d);
		all->w.watch->start = now();
		c->config =
				*odvgp_model_config(model_make(&c->o, &all->d, &all->w, all->isa, &block, notes));
		candidate_blame(NULL);
		all->w.watch->start = 0;
		free(block.at);
		for (int k = 0; k < i; k++) {
			const candidate *b = &all->list[k];
			if (same_candidate(b, c))
				die(BAD_INPUT, "--bases: %s and %s are the same", b->label, c->label);
		}
	}
}

/*  Evaluates what was trained. */
static void candidate_finish(candidate *c, training *t)
{
	c->steps = t->step;
	c->seconds = t->step_seconds;
	if (t->step) c->ms = 1e3 * (t->step_seconds - c->fit_seconds) / (double)t->step;
	c->noise = noise_of(t->model);
	c->kernel = kernel_text(t->model);
	if (!*c->reason) {
		c->test = evaluate_end(t);
		c->elbo = final_elbo(t);
		if (!stop_signal) c->upper = upper_bound_of(t);
		if (watch_over(t->w->watch))
			snprintf(c->reason, sizeof c->reason, "stopped by a signal after %td steps", t->step);
		else if (isnan(c->elbo))
			snprintf(c->reason, sizeof c->reason, "step %td: the bound cannot be evaluated",
					t->step);
		else if (t->d->test.n && !c->test.n)
			snprintf(c->reason, sizeof c->reason, "step %td: the model cannot predict", t->step);
	}
	c->history = t->history;
	c->history_count = t->history_count;
	t->history = NULL;
}

/*  Warm starts, steps, and q at their beginning and end. */
static void candidate_steps(const comparison *all, candidate *c, training *t)
{
	t->start = now();
	int limited = sizes_given(all->o) || sizes_given(&c->o);
	if (all->warms) warm_note(&c->o, warm_settle(&c->o, t->model, &all->w, limited, 0));
	warm_announce(&c->o, t->model, &all->w);
	allow_warm_starts(t);
	t->warm_starts = warm_start(t->model, &c->o, &all->d, &all->w);
	print_warm_starts(t);
	allow_steps(t);
	int ready = fit_q_if_due(t, FIT_START);
	/* Both are part of the training that the clock measures. */
	t->step_seconds = c->fit_seconds = now() - t->start;
	if (ready) c->stopped = train_loop(t);
	else if (!*t->reason) c->stopped = reason_to_stop();
	watch_allow(all->w.watch, HUGE_VAL, GRACE);
	if (c->stopped != STEP_FAILED && !*t->reason) fit_q_if_due(t, FIT_END);
	snprintf(c->reason, sizeof c->reason, "%s", t->reason);
	if (!*c->reason && c->stopped != INTERRUPTED) calibrate(t);
	print_stop(t, c->stopped);
}

static void candidate_train(comparison *all, candidate *c)
{
	training t;
	model_block block;
	bytes notes = {NULL, 0, 0};
	odvgp_info info = no_info;
	training_options(&t, &c->o);
	training_iters(&t, all->d.train.n);
	t.label = c->label;
	t.name = c->name;
	t.trace = all->trace;
	t.evaluate_every = larger(1, t.iters / 40);
	t.evaluate_next = 1;
	odvgp_model *model = model_make(&c->o, &all->d, &all->w, all->isa, &block, &notes);
	c->config = *odvgp_model_config(model);
	training_begin(&t, &all->d, &all->w, model, block);
	training_calibrates(&t, &all->d, &c->o, all->isa);
	mode_begin(&t);
	if (!t.quiet)
		fprintf(stderr, "%s: beta %td, gamma %td, %s, %td steps\n", c->label,
				LAST_LAYER(&c->config).M, LAST_LAYER(&c->config).M_gamma, training_text(&c->config),
				t.iters);
	watch_allow(all->w.watch, HUGE_VAL, 0);
	odvgp_status s = model_init(model, &all->d, &all->w, &info);
	if (s) snprintf(c->reason, sizeof c->reason, "start: %s", reason_of(s, &info));
	else candidate_steps(all, c, &t);
	candidate_finish(c, &t);
	training_end(&t);
	free(t.block.at);
	free(notes.at);
}

/* ---- the table ---- */

/*  A row of a failed basis has only the common ones. */
enum { TABLE_COLUMNS = 10, TABLE_COMMON = 5 };

typedef char table_cells[TABLE_COLUMNS][120];

static void number_cell(char *cell, const char *format, double v)
{
	if (isfinite(v)) snprintf(cell, sizeof(table_cells) / TABLE_COLUMNS, format, v);
	else snprintf(cell, sizeof(table_cells) / TABLE_COLUMNS, "-");
}

static void candidate_cells(const candidate *c, odvgp_likelihood kind, table_cells cells)
{
	snprintf(cells[0], sizeof cells[0], "%s", c->name);
	snprintf(cells[1], sizeof cells[1], "%s", c->config.optim.natgrad ? "on" : "off");
	snprintf(cells[2], sizeof cells[2], "%td", LAST_LAYER(&c->config).M);
	snprintf(cells[3], sizeof cells[3], "%td", LAST_LAYER(&c->config).M_gamma);
	snprintf(cells[4], sizeof cells[4], "%td", c->steps);
	number_cell(cells[5], "%.3g", c->ms);
	number_cell(cells[6], fabs(c->elbo) < 1e7 ? "%.2f" : "%.6g", c->elbo);
	for (int k = 0; k < QUALITIES; k++)
		number_cell(cells[7 + k], "%.5f", quality_of(kind, &c->test, k));
}

static void print_compare_text(const comparison *all)
{
	odvgp_likelihood kind = all->d.s.likelihood;
	const char *titles[TABLE_COLUMNS] = {"basis", "natgrad", "beta", "gamma", "iters", "ms/iter",
			"elbo", quality_name(kind, 0), quality_name(kind, 1), quality_name(kind, 2)};
	table_cells *cells = take((size_t)all->count + 1, sizeof *cells);
	int width[TABLE_COLUMNS] = {0};
	bytes b = {NULL, 0, 0};
	for (int k = 0; k < TABLE_COLUMNS; k++)
		snprintf(cells[0][k], sizeof cells[0][k], "%s", titles[k]);
	for (int i = 0; i < all->count; i++) candidate_cells(&all->list[i], kind, cells[i + 1]);
	for (int i = 0; i <= all->count; i++)
		for (int k = 0; k < TABLE_COLUMNS; k++)
			width[k] = (int)larger(width[k], (ptrdiff_t)strlen(cells[i][k]));
	for (int i = 0; i <= all->count; i++) {
		const char *reason = i ? all->list[i - 1].reason : "";
		bytes_print(&b, "%-*s", width[0], cells[i][0]);
		for (int k = 1; k < (*reason ? TABLE_COMMON : TABLE_COLUMNS); k++)
			bytes_print(&b, "  %*s", width[k], cells[i][k]);
		bytes_print(&b, "%s%s\n", *reason ? "  failed: " : "", reason);
	}
	write_report(&b);
	free(b.at);
	free(cells);
}

static void json_candidate(bytes *b, const candidate *c, const dataset *d)
{
	bytes own = {NULL, 0, 0};
	bytes_print(&own, "{");
	json_text(&own, "basis", c->basis->name);
	json_text(&own, "item", c->label);
	json_text(&own, "kernel", c->kernel ? c->kernel : c->o.value[OPT_KERNEL]);
	json_method(&own, &c->config);
	json_count(&own, "beta", LAST_LAYER(&c->config).M);
	json_count(&own, "gamma", LAST_LAYER(&c->config).M_gamma);
	json_count(&own, "iters", c->steps);
	json_text(&own, "stopped", *c->reason ? stop_words[STEP_FAILED] : stop_words[c->stopped]);
	json_number(&own, "seconds", c->seconds);
	json_number(&own, "ms_per_iter", c->ms);
	json_bound(&own, c->elbo, c->upper, d->train.n);
	json_metrics(&own, d->s.likelihood, &c->test);
	json_number(&own, "noise_variance", c->noise);
	if (*c->reason) json_text(&own, "error", c->reason);
	bytes_print(&own, "}");
	bytes_add(b, own.at, own.used);
	free(own.at);
}

static void print_compare_json(const comparison *all)
{
	const dataset *d = &all->d;
	bytes b = {NULL, 0, 0};
	bytes_print(&b, "{");
	json_data(&b, d);
	json_count(&b, "batch", all->list[0].config.optim.batch);
	json_count(&b, "seed", (int64_t)all->list[0].config.seed);
	json_count(&b, "threads", workers_count(&all->w));
	json_text(&b, "kernel", all->list[0].o.value[OPT_KERNEL]);
	json_likelihood(&b, &d->s);
	json_key(&b, "bases");
	for (int i = 0; i < all->count; i++) {
		bytes_print(&b, i ? ", " : "[");
		json_candidate(&b, &all->list[i], d);
	}
	bytes_print(&b, "]");
	json_finish(&b);
}

/* ---- the picture ---- */

/*  The value of curve 0, test RMSE or accuracy; 1, test log-likelihood; 2, bound per row. */
static double curve_value(const evaluation *v, int which, const dataset *d)
{
	if (which == 2) return v->elbo / (double)d->train.n;
	return which ? v->test.loglik : quality_of(d->s.likelihood, &v->test, 0);
}

/*  One panel: a curve against steps or seconds, a line for each basis. `room` keeps x and y of all
    lines. The x axis has at most three powers of ten: the first steps decide little and would take
    the most room. */
static plot_scene compare_scene(
		const comparison *all, int which, int by_seconds, plot_item *items, double *room)
{
	odvgp_likelihood kind = all->d.s.likelihood;
	const char *titles[] = {quality_title(kind), "Test log-likelihood", "Evidence lower bound"},
			   *units[] = {quality_unit(kind), "nats per row", "nats per row"};
	double first = HUGE_VAL, last = 0;
	for (int i = 0; i < all->count; i++) {
		const candidate *c = &all->list[i];
		double *x = room, *y = room + c->history_count;
		plot_item item = {PLOT_LINE, c->label, x, y, NULL, c->history_count, i, i};
		for (int k = 0; k < c->history_count; k++) {
			x[k] = by_seconds ? c->history[k].seconds : c->history[k].step;
			y[k] = curve_value(&c->history[k], which, &all->d);
			first = fmin(first, x[k]);
			last = fmax(last, x[k]);
		}
		items[i] = item;
		room = y + c->history_count;
	}
	plot_scene scene = {titles[which], by_seconds ? "seconds of training" : "step", units[which],
			items, all->count, fmax(first, last / 1000), last, 0, 0,
			PLOT_LOGX + (which ? PLOT_LARGE_IS_GOOD : quality_good(kind))};
	return scene;
}

/*  Returns 1 if the picture cannot be written. */
static int plot_compare(const comparison *all, const char *path)
{
	int first = all->d.test.n ? 0 : 2, panels = all->d.test.n ? 4 : 2;
	ptrdiff_t points = 0;
	for (int i = 0; i < all->count; i++) points += all->list[i].history_count;
	double *room = take_doubles(points, 2 * panels);
	plot_item *items = take((size_t)(panels * all->count), sizeof *items);
	plot_scene scenes[4];
	for (int p = 0; p < panels; p++)
		scenes[p] = compare_scene(
				all, first + p / 2, p % 2, items + p * all->count, room + p * 2 * points);
	for (int p = 0; p < panels; p += 2) {
		if (!first && !p && has_classes(all->d.s.likelihood)) picture_shares(&scenes[p], 2);
		else plot_same_y(&scenes[p], 2);
	}
	int bad = write_picture(path, all->d.s.dataset, scenes, panels, 2);
	free(items);
	free(room);
	return bad;
}

/* ---- the start ---- */

static void compare_start(comparison *all, const bytes *notes)
{
	const options *o = all->o;
	if (!o->given[OPT_QUIET]) {
		print_notes(&all->d, notes);
		fprintf(stderr,
				"%s: %td training rows, %td test rows, %td inputs; %d bases, %d thread(s)\n",
				NAME(all->d.s.dataset), all->d.train.n, all->d.test.n, all->d.s.D, all->count,
				workers_count(&all->w));
	}
	all->trace = trace_open(o, all->d.s.likelihood, 1);
}

#endif

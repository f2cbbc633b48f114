/*  update.h - the command update: a model learns further rows without its old ones. */
#ifndef TOOL_UPDATE_H
#define TOOL_UPDATE_H

#include "apply.h"

/*  How well the new rows are predicted: by the model that is read, each before it is learned, and by
    the model that is saved. */
enum { QUALITY_BEFORE, QUALITY_AHEAD, QUALITY_AFTER, QUALITY_TIMES };
static const char *const update_times[QUALITY_TIMES] = {"before", "ahead", "after"};

typedef struct update {
	application a;
	metrics m[QUALITY_TIMES];
	metric_sums *sums[QUALITY_TIMES];
} update;

static part part_copy(const schema *s, const part *p)
{
	part copy = {p->n, p->X, take_doubles(p->n, s->target_count), p->line};
	memcpy(copy.Y, p->Y, (size_t)(p->n * s->target_count) * sizeof *p->Y);
	return copy;
}

/*  Begins new sums. */
static void quality_begin(update *u)
{
	const schema *s = &u->a.f.s;
	scores_free(&u->a.scores);
	if (has_classes(s->likelihood)) u->a.scores = scores_make(s->targets[0].level_count);
	u->a.sums = take((size_t)s->target_count, sizeof *u->a.sums);
}

static void quality_end(update *u, int time)
{
	const schema *s = &u->a.f.s;
	u->m[time] = has_classes(s->likelihood)
						 ? class_metrics(&u->a.scores)
						 : metrics_mean(u->a.sums, s->target_count, target_scale(s));
	u->sums[time] = u->a.sums;
	u->a.sums = NULL;
}

/*  Adds predictions of all these rows to the sums. */
static void quality_add(application *a, const part *p, const workers *w)
{
	const schema *s = &a->f.s;
	part copy = part_copy(s, p);
	forecast fc = forecast_make(p->n, s);
	forecast_run(&fc, &a->server, w, p->X, p->n);
	for (ptrdiff_t i = 0; i < p->n * fc.P && s->likelihood == ODVGP_LIKELIHOOD_HETEROSCEDASTIC;
			i++) {
		double scale = s->y_scale[i % fc.P];
		fc.mean[i] = s->y_mean[i % fc.P] + scale * fc.mean[i];
		fc.var_y[i] *= scale * scale;
	}
	add_metrics(a, &fc, &copy);
	forecast_free(&fc);
	free(copy.Y);
}

/*  Predicts and learns row by row. A row that the likelihood refuses ends the program, unless such
    rows are left out. */
static void update_learn(update *u, const part *p)
{
	application *a = &u->a;
	const schema *s = &a->f.s;
	const workers alone = {.watch = &a->row_watch};
	int T = s->target_count;
	for (ptrdiff_t i = 0; i < p->n; i++) a->outside += outside_range(s, p->X + i * s->D) > 0;
	watch_begin(a->w.watch, "learning");
	for (ptrdiff_t i = 0; i < p->n; i++) {
		part one = {1, p->X + i * s->D, p->Y + i * T, p->line + i};
		quality_add(a, &one, &alone);
		if (learn_row(a->learner, one.X, one.Y)) widen_ranges(&a->f.s, one.X);
		else if (!a->drop)
			die(BAD_INPUT, "%s: line %ld: %s%s", path_text(a->path), p->line[i], a->learner->reason,
					drop_advice);
		watch_look(a->w.watch, (double)i + 1, (double)p->n);
	}
	watch_end(a->w.watch);
}

static void print_update_json(const update *u, const char *out, double seconds)
{
	const application *a = &u->a;
	char *name = dataset_name(a->path);
	bytes b = {NULL, 0, 0};
	bytes_print(&b, "{");
	json_text(&b, "dataset", name);
	json_text(&b, "model", out);
	json_count(&b, "n", a->rows);
	json_count(&b, "n_learned", a->learner->learned);
	json_count(&b, "n_refused", a->rows - a->learner->learned);
	json_count(&b, "n_updated", setting_count(&a->f.s, "updated"));
	json_number(&b, "forget", a->learner->forget);
	json_number(&b, "follow", a->learner->follow);
	json_count(&b, "n_points", (ptrdiff_t)a->learner->online.added);
	json_number(&b, "seconds", seconds);
	for (int time = 0; time < QUALITY_TIMES; time++)
		for (int k = 0; k < QUALITIES; k++) {
			char key[40];
			snprintf(key, sizeof key, "%s_%s", quality_name(a->f.s.likelihood, k),
					update_times[time]);
			json_number(&b, key, quality_of(a->f.s.likelihood, &u->m[time], k));
		}
	json_finish(&b);
	free(name);
}

static void print_update_text(const update *u, const char *out)
{
	const application *a = &u->a;
	const learner *l = a->learner;
	bytes b = {NULL, 0, 0};
	bytes_print(&b, "learned  %td row%s", l->learned, l->learned == 1 ? "" : "s");
	if (a->rows > l->learned) bytes_print(&b, "; %td refused", a->rows - l->learned);
	if (l->forget < 1) bytes_print(&b, "; forgetting %g a row", l->forget);
	if (l->online.added)
		bytes_print(&b, "; %llu became inducing points", (unsigned long long)l->online.added);
	bytes_print(&b, "; the model has learned %td since its training\n",
			setting_count(&a->f.s, "updated"));
	for (int time = 0; time < QUALITY_TIMES; time++)
		text_metrics(&b, update_times[time], &u->m[time], &a->f.s, u->sums[time]);
	bytes_print(&b, "saved    %s\n", path_text(out));
	write_report(&b);
	free(b.at);
}

static int run_update(options *o)
{
	double begin = now();
	update u;
	application *a = &u.a;
	table t = {0};
	memset(&u, 0, sizeof u);
	o->updates = 1;
	forget_of(o);
	follow_of(o);
	if (o->value[OPT_OUT] && strcmp(o->value[OPT_OUT], "-") == 0)
		die(BAD_INPUT, "--out -: a model needs a file");
	const char *out = o->value[OPT_OUT] ? o->value[OPT_OUT] : option_needed(o, OPT_MODEL);
	application_begin(a, o);
	a->threshold = 0.5;
	const schema *s = &a->f.s;
	read_table(&t, a->path, o, s);
	if (t.unlike) note_table(&t, a->path, o, &a->notes);
	else note_lines(&t, a->path, &a->notes);
	binding b = bind_columns(s, &t, a->path, a->drop);
	if (!b.target)
		die(BAD_INPUT, "%s: line 1: no target to learn from; in the training data it is %s",
				path_text(a->path), COLUMN_TEXT(s->targets[0].column, s->targets[0].name));
	/* With --missing drop a row of several targets may lack some. */
	rows r = complete_rows(s, &t, &b, a->path, a->drop, !a->drop || s->target_count == 1);
	if (!r.n) die(BAD_INPUT, "%s: no row is complete", path_text(a->path));
	note_place(a, &t, &b);
	part p = encode(s, &t, &b, &r);
	a->rows = t.rows;
	a->lost = t.rows - r.n;
	free(a->sums);
	quality_begin(&u);
	quality_add(a, &p, &a->w);
	quality_end(&u, QUALITY_BEFORE);
	application_learns(a);
	quality_begin(&u);
	update_learn(&u, &p);
	quality_end(&u, QUALITY_AHEAD);
	learner_file(a->learner, &a->f.s, out);
	quality_begin(&u);
	server_open(a, a->learner->file, a->learner->file_size);
	quality_add(a, &p, &a->w);
	quality_end(&u, QUALITY_AFTER);
	/* not before all of it predicts */
	write_file(out, a->learner->file, a->learner->file_size);
	if (a->notes.used && !o->given[OPT_QUIET]) tell_text(a->notes.at);
	note_outside(a, ", where inducing points are far and little is learned");
	note_learning(a);
	if (o->given[OPT_JSON]) print_update_json(&u, out, now() - begin);
	else print_update_text(&u, out);
	for (int k = 0; k < QUALITY_TIMES; k++) free(u.sums[k]);
	part_free(&p);
	rows_free(&r);
	binding_free(&b, s);
	table_free(&t);
	application_end(a);
	return 0;
}

#endif

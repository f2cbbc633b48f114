/*  folds.h - k-fold cross-validation: each basis is trained as often as there are folds, each time
    without the rows of one fold, which test it. Prints means over the folds and their standard
    errors. No model is saved. */
#ifndef TOOL_FOLDS_H
#define TOOL_FOLDS_H

#include "compare.h"

enum { FOLD_NUMBERS = QUALITIES + 1 };

/*  The names of the numbers: qualities of the test part, then seconds. */
static const char *fold_name(const dataset *d, int k)
{
	return k < QUALITIES ? quality_name(d->s.likelihood, k) : "seconds";
}

/*  The results of one basis: [folds][FOLD_NUMBERS]. A fold that did not end has NAN. */
typedef struct fold_results {
	double (*of)[FOLD_NUMBERS];
	/* Folds that ended; why the first one of the others did not. */
	int done;
	char reason[300];
} fold_results;

typedef struct cross_validation {
	comparison all;
	/* The data, read once. */
	table t;
	/* [all.count] */
	fold_results *results;
	int folds;
	/* What --levels auto is without each fold [folds]; LEVELS_AUTO: not known. */
	int *levels;
	/* The basis in training. */
	int current;
	/* Operations that may choose the kernel of classes without each fold; 0: it is not chosen. */
	double room;
} cross_validation;

/*  The mean over the folds that ended, and its standard error. */
static void fold_mean(const fold_results *r, int folds, int which, double *mean, double *error)
{
	double sum = 0, squares = 0;
	int n = 0;
	for (int f = 0; f < folds; f++) {
		double v = r->of[f][which];
		if (isnan(v)) continue;
		sum += v;
		n++;
	}
	*mean = n ? sum / n : NAN;
	for (int f = 0; f < folds; f++) {
		double e = r->of[f][which] - *mean;
		if (!isnan(e)) squares += e * e;
	}
	*error = n > 1 ? sqrt(squares / (n - 1) / n) : NAN;
}

/*  Keeps why the current fold of a basis did not end, if it is the first one. */
static void fold_failed(cross_validation *v, int basis, const char *reason)
{
	fold_results *r = &v->results[basis];
	for (int k = 0; k < FOLD_NUMBERS; k++) r->of[v->all.o->fold][k] = NAN;
	if (!*r->reason)
		snprintf(r->reason, sizeof r->reason, "fold %d: %.200s", v->all.o->fold + 1, reason);
}

/*  Trains a basis on the current fold. */
static void fold_train(cross_validation *v, int basis)
{
	candidate *c = &v->all.list[basis];
	fold_results *r = &v->results[basis];
	int fold = v->all.o->fold;
	odvgp_likelihood kind = v->all.d.s.likelihood;
	c->ms = c->elbo = c->upper = c->noise = c->seconds = NAN;
	c->test = no_metrics;
	c->stopped = RUNNING;
	*c->reason = 0;
	v->current = basis;
	if (stop_signal) snprintf(c->reason, sizeof c->reason, "not trained: stopped by a signal");
	else candidate_train(&v->all, c);
	if (!*c->reason && c->stopped == INTERRUPTED)
		snprintf(c->reason, sizeof c->reason, "stopped by a signal after %td steps", c->steps);
	free(c->history);
	free(c->kernel);
	c->history = NULL;
	c->kernel = NULL;
	if (*c->reason) {
		fold_failed(v, basis, c->reason);
		return;
	}
	for (int k = 0; k < QUALITIES; k++) r->of[fold][k] = quality_of(kind, &c->test, k);
	r->of[fold][QUALITIES] = c->seconds;
	r->done++;
	if (!v->all.o->given[OPT_QUIET])
		fprintf(stderr, "fold %d/%d  %s  %s %.5g  loglik %.5g\n", fold + 1, v->folds, c->label,
				quality_name(kind, 0), r->of[fold][0], c->test.loglik);
}

static void print_folds_text(const comparison *all, const fold_results *results, int folds)
{
	bytes b = {NULL, 0, 0};
	int width = 5;
	for (int i = 0; i < all->count; i++)
		width = (int)larger(width, (ptrdiff_t)strlen(all->list[i].name));
	bytes_print(&b, "%-*s  %5s", width, "basis", "folds");
	for (int k = 0; k < QUALITIES; k++) bytes_print(&b, "  %20s", fold_name(&all->d, k));
	bytes_print(&b, "  %8s\n", "seconds");
	for (int i = 0; i < all->count; i++) {
		double mean, error;
		char done[24];
		snprintf(done, sizeof done, results[i].done < folds ? "%d/%d" : "%d", results[i].done, folds);
		bytes_print(&b, "%-*s  %5s", width, all->list[i].name, done);
		for (int k = 0; k < QUALITIES; k++) {
			fold_mean(&results[i], folds, k, &mean, &error);
			if (results[i].done > 1) bytes_print(&b, "  %9.5f +- %7.5f", mean, error);
			else if (results[i].done) bytes_print(&b, "  %9.5f    %7s", mean, "");
			else bytes_print(&b, "  %20s", "-");
		}
		fold_mean(&results[i], folds, QUALITIES, &mean, &error);
		if (results[i].done) bytes_print(&b, "  %8.3g", mean);
		else bytes_print(&b, "  %8s", "-");
		bytes_print(&b, "%s%s\n", *results[i].reason ? "  incomplete: " : "", results[i].reason);
	}
	write_report(&b);
	free(b.at);
}

/*  Means, standard errors, and the numbers of each fold. */
static void json_folds(
		bytes *b, const dataset *d, const candidate *c, const fold_results *r, int folds)
{
	bytes own = {NULL, 0, 0};
	double *values = take_doubles(folds, 1);
	bytes_print(&own, "{");
	json_text(&own, "basis", c->basis->name);
	json_text(&own, "item", c->label);
	json_method(&own, &c->config);
	json_count(&own, "folds_done", r->done);
	for (int k = 0; k < FOLD_NUMBERS; k++) {
		double mean, error;
		char key[40];
		fold_mean(r, folds, k, &mean, &error);
		json_number(&own, fold_name(d, k), mean);
		snprintf(key, sizeof key, "%s_se", fold_name(d, k));
		json_number(&own, key, error);
		snprintf(key, sizeof key, "%s_of_folds", fold_name(d, k));
		for (int f = 0; f < folds; f++) values[f] = r->of[f][k];
		json_numbers(&own, key, values, folds);
	}
	if (*r->reason) json_text(&own, "error", r->reason);
	bytes_add(b, own.at, own.used);
	bytes_print(b, "}");
	free(own.at);
	free(values);
}

static void print_folds_json(const comparison *all, const fold_results *results, int folds)
{
	bytes b = {NULL, 0, 0};
	bytes_print(&b, "{");
	json_text(&b, "dataset", all->d.s.dataset);
	json_count(&b, "n", all->d.train.n + all->d.test.n);
	json_count(&b, "d", all->d.s.D);
	json_count(&b, "p", all->d.s.target_count);
	json_count(&b, "folds", folds);
	json_likelihood(&b, &all->d.s);
	json_key(&b, "bases");
	for (int i = 0; i < all->count; i++) {
		bytes_print(&b, i ? ", " : "[");
		json_folds(&b, &all->d, &all->list[i], &results[i], folds);
	}
	bytes_print(&b, "]");
	json_finish(&b);
}

static void print_folds(const cross_validation *v)
{
	if (v->all.o->given[OPT_JSON]) print_folds_json(&v->all, v->results, v->folds);
	else print_folds_text(&v->all, v->results, v->folds);
}

/*  The program ends in a fold: prints what the others have given. */
static void folds_lost(void *user, const char *sentence)
{
	cross_validation *v = user;
	options *o = (options *)v->all.o;
	for (int i = v->current; i < v->all.count; i++)
		fold_failed(v, i, i == v->current ? sentence : "not trained");
	for (o->fold++; o->fold < v->folds; o->fold++)
		for (int i = 0; i < v->all.count; i++) fold_failed(v, i, "not trained");
	print_folds(v);
}

/*  Refuses options that make no sense with folds. */
static void folds_check(const options *o)
{
	static const int others[] = {OPT_TEST, OPT_TEST_MASK, OPT_TEST_FRACTION, OPT_SPLIT, OPT_TRACE,
			OPT_PLOT, OPT_MODEL, OPT_RESUME, OPT_AUTO_TRIES};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (o->given[others[i]])
			die(BAD_INPUT, "--folds and --%s exclude each other%s", option_list[others[i]].name,
					others[i] == OPT_MODEL ? ": no model is saved" : "");
}

/*  Makes the data without the current fold. */
static void fold_data(cross_validation *v)
{
	char about[60];
	snprintf(about, sizeof about, "--folds %d, without fold %d", v->folds, v->all.o->fold + 1);
	if (v->all.o->fold) die_about = about;
	options own = options_borrow(v->all.o);
	int *levels = &v->levels[own.fold];
	if (option_choice(&own, OPT_LEVELS) == LEVELS_AUTO)
		option_store(&own, OPT_LEVELS, copy_text(level_words[*levels]));
	dataset_free(&v->all.d);
	dataset_make(&v->all.d, &v->t, &own, NULL);
	*levels = v->all.d.levels;
	options_free(&own);
	die_about = NULL;
}

/*  --basis auto chooses the kernel of classes without the rows that test it: for the first fold the plan
    has, the others have it chosen here. */
static void fold_kernel(cross_validation *v)
{
	if (!(v->room > 0) || stop_signal || !v->all.o->fold) return;
	for (int i = 0; i < v->all.count; i++)
		plan_kernel(&v->all.list[i].o, &v->all.d, &v->all.w, v->room);
}

/*  Makes the data and all models of each fold once, before the first is trained: what is wrong with
    the last one should not cost the time of the others. */
static void folds_try(cross_validation *v, options *o, bytes *notes)
{
	bytes repeated = {NULL, 0, 0};
	for (o->fold = 0; o->fold < v->folds; o->fold++) {
		fold_data(v);
		candidates_check(&v->all, o->fold ? &repeated : notes);
		if (o->fold && v->all.d.absent)
			bytes_print(notes, "note: %d class(es) have all their rows in fold %d\n",
					v->all.d.absent, o->fold + 1);
	}
	free(repeated.at);
}

/*  train and compare with --folds. */
static int run_folds(options *o, int command)
{
	cross_validation v;
	comparison *all = &v.all;
	bytes notes = {NULL, 0, 0};
	int failed = 0;
	memset(&v, 0, sizeof v);
	v.folds = (int)option_integer(o, OPT_FOLDS, 2, 1000);
	v.levels = take((size_t)v.folds, sizeof *v.levels);
	all->o = o;
	folds_check(o);
	all->isa = isa_of(o);
	recipe_settle(o);
	option_store(o, OPT_TEST_FRACTION, copy_text("0"));
	merge_whiten(o);
	layers_settle(o);
	files_check(o, NULL);
	workers_start(&all->w, o);
	all->warms = command == TRAIN;
	if (command == TRAIN) {
		plan_settle(o);
		calibrate_settle(o);
	} else candidates_parse(all);
	option_needed(o, OPT_DATA);
	dataset_check(o);
	read_table(&v.t, o->value[OPT_DATA], o, NULL);
	if (command == TRAIN) {
		fold_data(&v);
		mode_check(o, &all->d);
		if (strcmp(o->value[OPT_BASIS], "exact") != 0)
			option_store(o, OPT_CALIBRATE, copy_text(all->d.calibrates ? "on" : "off"));
		plan p = plan_make(o, &all->d, &all->w, 0);
		plan_print(&p, o, &all->d, &all->w);
		v.room = p.room;
		option_store(o, OPT_BASES, copy_text(o->value[OPT_BASIS]));
		candidates_parse(all);
	}
	v.results = take((size_t)all->count, sizeof *v.results);
	for (int i = 0; i < all->count; i++)
		v.results[i].of = take((size_t)v.folds, sizeof *v.results[i].of);
	folds_try(&v, o, &notes);
	catch_signals();
	die_first = folds_lost;
	die_user = &v;
	for (o->fold = 0; o->fold < v.folds; o->fold++) {
		if (!stop_signal) fold_data(&v);
		if (!o->fold) compare_start(all, &notes);
		fold_kernel(&v);
		for (int i = 0; i < all->count; i++) fold_train(&v, i);
	}
	die_first = NULL;
	print_folds(&v);
	for (int i = 0; i < all->count; i++) {
		failed |= v.results[i].done < v.folds;
		free(v.results[i].of);
	}
	free(v.results);
	free(v.levels);
	workers_stop(&all->w);
	candidates_free(all);
	dataset_free(&all->d);
	table_free(&v.t);
	free(notes.at);
	return failed ? FAILED : 0;
}

#endif

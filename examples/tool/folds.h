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

/*  The results of one basis: [folds][FOLD_NUMBERS]. A fold that failed has NAN. */
typedef struct fold_results {
	double (*of)[FOLD_NUMBERS];
	char reason[300];
} fold_results;

/*  The mean over the folds that did not fail, and its standard error. */
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

/*  Trains a basis on the current fold. */
static void fold_train(comparison *all, candidate *c, fold_results *r, int fold, int folds)
{
	c->ms = c->elbo = c->upper = c->noise = c->seconds = NAN;
	c->test = no_metrics;
	*c->reason = 0;
	if (stop_signal) snprintf(c->reason, sizeof c->reason, "not trained: stopped by a signal");
	else candidate_train(all, c);
	free(c->history);
	free(c->kernel);
	c->history = NULL;
	c->kernel = NULL;
	double *to = r->of[fold];
	odvgp_likelihood kind = all->d.s.likelihood;
	for (int k = 0; k < QUALITIES; k++) to[k] = quality_of(kind, &c->test, k);
	to[QUALITIES] = c->seconds;
	if (*c->reason) {
		for (int k = 0; k < FOLD_NUMBERS; k++) to[k] = NAN;
		snprintf(r->reason, sizeof r->reason, "fold %d: %.200s", fold + 1, c->reason);
	} else if (!all->o->given[OPT_QUIET])
		fprintf(stderr, "fold %d/%d  %s  %s %.5g  loglik %.5g\n", fold + 1, folds, c->label,
				quality_name(kind, 0), to[0], c->test.loglik);
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
		bytes_print(&b, "%-*s  %5d", width, all->list[i].name, folds);
		for (int k = 0; k < QUALITIES; k++) {
			fold_mean(&results[i], folds, k, &mean, &error);
			bytes_print(&b, "  %9.5f +- %7.5f", mean, error);
		}
		fold_mean(&results[i], folds, QUALITIES, &mean, &error);
		bytes_print(&b, "  %8.3g%s%s\n", mean, *results[i].reason ? "  failed: " : "",
				results[i].reason);
	}
	write_stdout(&b);
	free(b.at);
}

/*  Means, standard errors, and the numbers of each fold. */
static void json_folds(
		bytes *b, const dataset *d, const candidate *c, const fold_results *r, int folds)
{
	bytes own = {NULL, 0, 0};
	bytes_print(&own, "{");
	json_text(&own, "basis", c->basis->name);
	json_text(&own, "item", c->label);
	json_method(&own, &c->config);
	for (int k = 0; k < FOLD_NUMBERS; k++) {
		double mean, error;
		char key[40];
		fold_mean(r, folds, k, &mean, &error);
		json_number(&own, fold_name(d, k), mean);
		snprintf(key, sizeof key, "%s_se", fold_name(d, k));
		json_number(&own, key, error);
		snprintf(key, sizeof key, "%s_of_folds", fold_name(d, k));
		json_key(&own, key);
		for (int f = 0; f < folds; f++)
			if (isfinite(r->of[f][k])) bytes_print(&own, "%s%.10g", f ? ", " : "[", r->of[f][k]);
			else bytes_print(&own, "%snull", f ? ", " : "[");
		bytes_print(&own, "]");
	}
	if (*r->reason) json_text(&own, "error", r->reason);
	bytes_add(b, own.at, own.used);
	bytes_print(b, "}");
	free(own.at);
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

/*  Refuses options that make no sense with folds. */
static void folds_check(const options *o)
{
	static const int others[] = {OPT_TEST, OPT_TEST_MASK, OPT_TEST_FRACTION, OPT_SPLIT, OPT_TRACE,
			OPT_PLOT, OPT_MODEL, OPT_RESUME};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (o->given[others[i]])
			die(BAD_INPUT, "--folds and --%s exclude each other%s", option_list[others[i]].name,
					others[i] == OPT_MODEL ? ": no model is saved" : "");
	if (strcmp(option_needed(o, OPT_DATA), "-") == 0)
		die(BAD_INPUT, "--folds: the data are read once for each fold, from a file");
}

/*  train and compare with --folds. */
static int run_folds(options *o, int command)
{
	comparison all;
	bytes notes = {NULL, 0, 0};
	int folds = (int)option_integer(o, OPT_FOLDS, 2, 1000), failed = 0;
	memset(&all, 0, sizeof all);
	all.o = o;
	folds_check(o);
	all.isa = isa_of(o);
	recipe_settle(o);
	option_store(o, OPT_TEST_FRACTION, copy_text("0"));
	merge_whiten(o);
	layers_settle(o);
	files_check(o, NULL);
	workers_start(&all.w, o);
	all.warms = command == TRAIN;
	if (command == TRAIN) {
		plan_settle(o);
		dataset_read(&all.d, o, NULL);
		plan p = plan_make(o, &all.d, &all.w);
		plan_print(&p, o, &all.d, &all.w);
		option_store(o, OPT_BASES, copy_text(o->value[OPT_BASIS]));
	}
	candidates_parse(&all);
	fold_results *results = take((size_t)all.count, sizeof *results);
	for (int i = 0; i < all.count; i++) results[i].of = take((size_t)folds, sizeof *results[i].of);
	catch_signals();
	for (o->fold = 0; o->fold < folds; o->fold++) {
		dataset_free(&all.d);
		dataset_read(&all.d, o, NULL);
		if (!o->fold) {
			candidates_check(&all, &notes);
			compare_start(&all, &notes);
		}
		for (int i = 0; i < all.count; i++)
			fold_train(&all, &all.list[i], &results[i], o->fold, folds);
	}
	if (o->given[OPT_JSON]) print_folds_json(&all, results, folds);
	else print_folds_text(&all, results, folds);
	for (int i = 0; i < all.count; i++) {
		failed |= *results[i].reason != 0;
		free(results[i].of);
	}
	free(results);
	workers_stop(&all.w);
	candidates_free(&all);
	dataset_free(&all.d);
	free(notes.at);
	return failed ? FAILED : 0;
}

#endif

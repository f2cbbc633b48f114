/*  train.h - one training: steps, evaluations, progress on stderr, trace, picture, the model file
    and the result on stdout. */
#ifndef TOOL_TRAIN_H
#define TOOL_TRAIN_H

#include "picture.h"
#include "plan.h"
#include "race.h"
#include "report.h"

typedef enum stop_reason {
	RUNNING,
	ALL_STEPS,
	TIME_OVER,
	INTERRUPTED,
	NO_PROGRESS,
	STEP_FAILED,
	CONVERGED,
	STUCK
} stop_reason;
static const char *const stop_words[] = {
		"", "iters", "minutes", "signal", "patience", "error", "converged", "stuck"};

/*  What --mode multiplies the kernel's variances and lengthscales by. */
typedef struct {
	double variance, length;
} kernel_factors;

/*  One row of the trace. */
typedef struct evaluation {
	/* elbo: mean of the minibatch estimates since the last row. */
	double step, seconds, elbo, noise;
	metrics test;
} evaluation;

/*  The file of --trace. Rows that cannot be written wait in `text`, from `written` on. */
typedef struct trace_file {
	FILE *file;
	const char *path;
	bytes text;
	size_t written;
	/* Is it known on stderr that rows wait? */
	int told;
} trace_file;

/*  The most rows times points squared for which the upper bound is computed: about ten seconds. */
static const double MOST_UPPER_BOUND = 1e11;

typedef struct training {
	/* Of one of several that are compared: its item of --bases, and its name in trace and table.
       NULL: this is the only training. */
	const char *label, *name;
	const options *o;
	const basis *basis;
	const dataset *d;
	const workers *w;
	odvgp_model *model;
	/* The model's memory; a copy of it, while an evaluation has a q of its own. */
	model_block block;
	snapshot before;
	/* Memory of odvgp_fit_q. */
	bytes work;
	ptrdiff_t iters, patience, first_step, step;

	/* Clock: when the program's work began, and the first step; the seconds allowed since
       `begin`. */
	double begin, start, limit;
	/* Does the clock decide how many steps there are? Then: when training_aim looks again, and the
	   seconds of steps before the first one (compare charges warm starts to them). */
	int by_clock;
	ptrdiff_t aim_next;
	double before_steps;
	/* Seconds spent so far. */
	double step_seconds, evaluate_seconds;
	/* The steps that take as many operations as q's optimum at the end does; 0: it is left out, or
	   takes a pass. Of an exact model with --minutes, before its first step: seconds of it, and of the
	   end without one; else 0. */
	double fit_q_steps, first_seconds, end_seconds;
	/* Of --basis auto: operations a second of products; 0: not measured. */
	double rate;

	/* The bound: its sum since the last evaluation, and a running mean for the bar. */
	double elbo_sum, elbo_mean;
	ptrdiff_t elbo_count;
	odvgp_events events;
	/* How many events stderr has seen. */
	uint64_t events_told;

	/* Evaluations. */
	void *predictor_block;
	size_t predictor_size;
	/* Of classes, and [targets] of others, of the test part at the last evaluation. */
	scores scores;
	metric_sums *sums;
	/* How many of the test part's rows the last one has, where time has no room for all; else 0. */
	ptrdiff_t scored;
	evaluation *history;
	int history_count, history_room;
	/* When the last one was. */
	double evaluated;
	/* Steps between two; compare: the step of the next one. */
	ptrdiff_t evaluate_every, evaluate_next;
	/* With --patience: the best log-likelihood of the validation part, evaluations since then, and
	   the model of that time. */
	double best;
	int worse;
	snapshot best_model;
	/* NULL: there is none. */
	trace_file *trace;

	/* Checkpoints: the file, the tool's part of it, seconds between two (0: none), the last. */
	char *part_path;
	bytes user;
	double checkpoint_every, checkpoint_last;
	/* Does that file belong to this training; could it not be written the last time? */
	int part_ours, part_failed;

	/* Progress. */
	int quiet, terminal;
	/* When the bar was last drawn. */
	double drawn;
	/* Is q at its optimum since the last step? */
	int fitted;
	/* Of the last step. */
	odvgp_report report;
	/* How many warm starts came before the first step. */
	int warm_starts;
	/* Why a step failed. */
	char reason[300];
	/* With --calibrate: all rows; else NULL. What another model is made of. */
	dataset *all;
	options *settings;
	odvgp_isa isa;
	/* The factors of f's mean and sd, and of an exact model's sd of y; 0: none. */
	double scale_f[2], scale_y;
	/* --mode: the most gamma points, 0: none; the model's, once it has them; what the kernel is
	   multiplied by; is it asked for? Seconds of the last search, without and with its scaling, and
	   those that are left for all after the last step; the clock at their end. */
	ptrdiff_t mode_most, mode_gamma;
	int mode_asked;
	kernel_factors mode_factors;
	double mode_seconds, try_seconds, reserve, mode_end;
} training;

/*  --mode as it has been chosen. */
static void mode_text(const training *t, char *text, size_t size)
{
	int n = snprintf(text, size, "%td:%.10g", t->mode_gamma, t->mode_factors.variance);
	double length = t->mode_factors.length;
	if (length < 1 || length > 1) snprintf(text + n, size - (size_t)n, ":%g", length);
}

/* ---- progress ---- */

static const char *label_of(const training *t) { return t->label ? t->label : ""; }

static void print_bar(training *t)
{
	char left[32], bar[21], test[80] = "";
	double elapsed = now() - t->begin, done = (double)(t->step - t->first_step),
		   total = (double)(t->iters - t->first_step);
	if (t->label) elapsed = t->step_seconds;
	double rest = done > 0 ? (now() - t->start) / done * (total - done) : HUGE_VAL;
	if (t->limit > 0) rest = fmin(rest, fmax(0, t->limit - elapsed));
	int filled = (int)(20 * fmax(done / total, t->limit > 0 ? fmin(1, elapsed / t->limit) : 0));
	for (int i = 0; i < 20; i++) bar[i] = i < filled ? '#' : '.';
	bar[20] = 0;
	const metrics *m = t->history_count ? &t->history[t->history_count - 1].test : NULL;
	if (m && m->n)
		snprintf(test, sizeof test, "  %s %.4f  loglik %.4f", quality_name(t->d->s.likelihood, 0),
				quality_of(t->d->s.likelihood, m, 0), m->loglik);
	fprintf(stderr, "\r%s%s[%s] %td/%td", label_of(t), t->label ? "  " : "", bar, t->step,
			t->iters);
	if (isfinite(rest)) fprintf(stderr, "  ETA %s", duration(rest, left, sizeof left));
	if (done > 0)
		fprintf(stderr, "  %.3g ms  elbo/n %.4f%s", 1e3 * t->step_seconds / done,
				t->elbo_mean / (double)t->d->train.n, test);
	fputs("\033[K", stderr);
	fflush(stderr);
	t->drawn = now();
}

static void clear_bar(const training *t)
{
	if (t->terminal && !t->quiet) fputs("\r\033[K", stderr);
}

/*  Reports the raised jitter and undone steps since the last evaluation. */
static void print_events(training *t)
{
	const odvgp_events *e = &t->events;
	uint64_t count = e->jitter_raised + e->step_undone;
	if (count == t->events_told || t->quiet) return;
	t->events_told = count;
	clear_bar(t);
	fprintf(stderr,
			"note: %s%sby step %td: jitter raised %llu time(s), now %.3g; %llu step(s) undone",
			label_of(t), t->label ? ": " : "", t->step, (unsigned long long)e->jitter_raised,
			e->jitter, (unsigned long long)e->step_undone);
	if (e->matrix)
		fprintf(stderr, "; last at pivot %td of %s: %s", e->pivot, e->matrix,
				e->cause ? e->cause : "cause unknown");
	fputc('\n', stderr);
}

static void print_line(const training *t, const evaluation *v)
{
	fprintf(stderr, "%s%sstep %td/%td  %.1f s", label_of(t), t->label ? "  " : "", t->step,
			t->iters, v->seconds);
	if (isfinite(v->elbo)) fprintf(stderr, "  elbo/n %.5g", v->elbo / (double)t->d->train.n);
	if (v->test.n)
		fprintf(stderr, "  %s %.5g  loglik %.5g", quality_name(t->d->s.likelihood, 0),
				quality_of(t->d->s.likelihood, &v->test, 0), v->test.loglik);
	if (isfinite(v->noise)) fprintf(stderr, "  noise %.4g", v->noise);
	fprintf(stderr, "\n");
}

/* ---- trace ---- */

/*  The names of the columns, for one training or for several. */
static void trace_header(bytes *b, odvgp_likelihood kind, int several)
{
	if (several)
		bytes_print(b,
				"basis,natgrad,beta,gamma,step,seconds,elbo,test_%s,test_%s,test_loglik,"
				"noise_variance\n",
				quality_name(kind, 0), quality_name(kind, 1));
	else
		bytes_print(b,
				"step,seconds,elbo,test_%s,test_loglik,noise_variance,jitter,jitter_raised,"
				"step_shortened,variance_clamped,step_undone\n",
				quality_name(kind, 0));
}

/*  Writes what waits. A full disk is no reason to lose the training: the next row tries again. */
static void trace_write(trace_file *f, const training *t)
{
	const char *from = f->text.at + f->written;
	errno = 0;
	f->written += fwrite(from, 1, f->text.used - f->written, f->file);
	int reason = errno;
	clearerr(f->file);
	if (f->written == f->text.used) {
		f->text.used = f->written = 0;
		f->told = 0;
	} else if (!f->told++ && t && !t->quiet) {
		clear_bar(t);
		fprintf(stderr, "note: --trace %s: cannot be written: %s; the training goes on\n", f->path,
				strerror(reason));
	}
}

/*  Opens the file of --trace; NULL without the option. A resumed training appends to its trace. */
static trace_file *trace_open(const options *o, odvgp_likelihood kind, int several)
{
	if (!o->value[OPT_TRACE]) return NULL;
	trace_file *f = take(1, sizeof *f);
	f->path = o->value[OPT_TRACE];
	f->file = fopen(f->path, o->value[OPT_RESUME] ? "ab" : "wb");
	if (!f->file) die(BAD_INPUT, "--trace %s: cannot be written: %s", f->path, strerror(errno));
	setvbuf(f->file, NULL, _IONBF, 0);
	int empty = fseek(f->file, 0, SEEK_END) || ftell(f->file) <= 0;
	if (empty) trace_header(&f->text, kind, several);
	if (empty) trace_write(f, NULL);
	return f;
}

/*  Returns 1, with a sentence on stderr, if rows are lost. */
static int trace_close(trace_file **trace)
{
	trace_file *f = *trace;
	if (!f) return 0;
	if (f->text.used) trace_write(f, NULL);
	int bad = f->text.used > 0;
	bad |= fclose(f->file) != 0;
	if (bad) fprintf(stderr, "odvgp: --trace %s: is incomplete\n", f->path);
	free(f->text.at);
	free(f);
	*trace = NULL;
	return bad;
}

/*  Seconds and bound, which is empty where there is none. */
static void trace_bound(bytes *b, const evaluation *v)
{
	bytes_print(b, ",%.6f,", v->seconds);
	if (isfinite(v->elbo)) bytes_print(b, "%.12g", v->elbo);
}

static void trace_number(bytes *b, double v)
{
	if (isfinite(v)) bytes_print(b, ",%.9g", v);
	else bytes_print(b, ",");
}

/*  A row of one training of several: its name and sizes, and no events. */
static void compare_row(bytes *b, const training *t, const evaluation *v)
{
	const odvgp_config *c = odvgp_model_config(t->model);
	ptrdiff_t top = c->layers - 1;
	bytes_print(b, "%s,%s,%td,%td,%.0f", t->name, c->optim.natgrad ? "on" : "off", c->layer[top].M,
			c->layer[top].M_gamma, v->step);
	trace_bound(b, v);
	for (int k = 0; k < QUALITIES; k++)
		trace_number(b, quality_of(t->d->s.likelihood, &v->test, k));
	trace_number(b, v->noise);
	bytes_print(b, "\n");
}

static void train_row(bytes *b, const training *t, const evaluation *v)
{
	const odvgp_events *e = &t->events;
	bytes_print(b, "%.0f", v->step);
	trace_bound(b, v);
	trace_number(b, quality_of(t->d->s.likelihood, &v->test, 0));
	trace_number(b, v->test.loglik);
	trace_number(b, v->noise);
	bytes_print(b, ",%.9g,%llu,%llu,%llu,%llu\n", e->jitter, (unsigned long long)e->jitter_raised,
			(unsigned long long)e->step_shortened, (unsigned long long)e->variance_clamped,
			(unsigned long long)e->step_undone);
}

static void trace_row(const training *t, const evaluation *v)
{
	if (!t->trace) return;
	if (t->label) compare_row(&t->trace->text, t, v);
	else train_row(&t->trace->text, t, v);
	trace_write(t->trace, t);
}

/* ---- the best q ---- */

/*  Memory for odvgp_fit_q and odvgp_upper_bound. Exact regression needs none. */
static void make_work(training *t)
{
	if (t->work.at || is_exact(t->basis)) return;
	t->work.used = odvgp_fit_q_scratch(t->model, NULL);
	if (!t->work.used) die(FAILED, "out of memory: q's optimum is too large");
	t->work.at = take(t->work.used, 1);
}

/*  Sets q to its optimum for the current parameters. Returns 0 if that fails; t->reason says why,
    but for one that the watch ended. */
static int fit_q(training *t)
{
	odvgp_info info = no_info;
	const part *p = &t->d->train;
	odvgp_watch watch = library_watch(t->w->watch);
	make_work(t);
	watch_begin(t->w->watch, "q's optimum");
	odvgp_status s = odvgp_fit_q(t->model, p->X, t->d->Y, &watch, t->work.at, t->work.used, &info);
	watch_end(t->w->watch);
	if (s && s != ODVGP_E_STOPPED)
		snprintf(t->reason, sizeof t->reason, "q cannot be set to its optimum: %s",
				reason_of(s, &info));
	return !s;
}

enum { FIT_NONE, FIT_START, FIT_END, FIT_BOTH };
static int fit_q_when(const options *o) { return option_choice(o, OPT_FIT_Q); }

/*  Whether q is set to its optimum at FIT_START or FIT_END: if --fit-q asks for it, at the end also
    where training leaves q out. */
static int fit_q_is_due(const training *t, int end)
{
	return (fit_q_when(t->o) & end) || (end == FIT_END && without_q(t->basis));
}

/*  Does so if it is due. Returns 0 if that fails; t->reason says why. */
static int fit_q_if_due(training *t, int end)
{
	if (!fit_q_is_due(t, end)) return 1;
	if (!fit_q(t)) return 0;
	t->fitted = end == FIT_END;
	return 1;
}

/*  An upper bound of log p(y), at the cost of one or two evaluations of the bound; NAN where that
    is too much. */
static double upper_bound_of(training *t)
{
	const odvgp_config *c = odvgp_model_config(t->model);
	const part *p = &t->d->train;
	double points = (double)(c->layer[0].M + c->layer[0].M_gamma), upper = NAN;
	if (is_exact(t->basis) || c->layers > 1 || c->independent ||
			t->d->s.likelihood != ODVGP_LIKELIHOOD_GAUSSIAN ||
			points * points * (double)p->n > MOST_UPPER_BOUND)
		return NAN;
	make_work(t);
	return odvgp_upper_bound(t->model, p->X, t->d->Y, &upper, NULL, t->work.at, t->work.used, NULL)
				   ? NAN
				   : upper;
}

/* ---- evaluation ---- */

/*  scores: of classes; sums [targets]: of others. */
static metrics metrics_of(training *t, const odvgp_server *server, const forecast *f, const part *p,
		scores *to, metric_sums *sums)
{
	const schema *schema = &t->d->s;
	if (has_classes(schema->likelihood)) {
		scores_free(to);
		*to = scores_make(schema->targets[0].level_count);
		scores_add(to, f->mean, f->P, p->Y, p->n, 0.5);
		return class_metrics(to);
	}
	double *logp = NULL;
	if (schema->likelihood != ODVGP_LIKELIHOOD_GAUSSIAN) {
		logp = log_densities(server, t->w->watch, p->X, p->Y, schema->target_count, p->n);
		if (!logp) return no_metrics;
	}
	memset(sums, 0, (size_t)schema->target_count * sizeof *sums);
	if (schema->y.kind) metrics_add_target(sums, f, p->Y, schema, 1, p->n);
	else metrics_add(sums, f, p->Y, logp, p->n, schema->target_count);
	free(logp);
	return metrics_mean(sums, schema->target_count, target_scale(schema));
}

/*  Not available if the watch ended the predictions. */
static metrics predict_rows(training *t, const odvgp_server *server, const part *p, scores *to,
		metric_sums *sums)
{
	forecast f = forecast_make(p->n, &t->d->s);
	metrics m = no_metrics;
	if (forecast_run(&f, server, t->w, p->X, p->n)) m = metrics_of(t, server, &f, p, to, sums);
	forecast_free(&f);
	return m;
}

/*  predict_rows of as many rows, evenly spaced, as --minutes leave time for by what a few of them take:
    an exact model of 10,000 rows takes milliseconds for each. */
static metrics predict_timely(training *t, const odvgp_server *server, const part *p, scores *to,
		metric_sums *sums)
{
	ptrdiff_t few = FORECAST_ROWS * larger(1, workers_count(t->w)), D = t->d->s.D,
			  T = t->d->s.target_count;
	if (!(t->limit > 0) || p->n <= 4 * few) return predict_rows(t, server, p, to, sums);
	double begin = now();
	part spaced = part_spaced(p, few, D, T);
	metrics m = predict_rows(t, server, &spaced, to, sums);
	double end = now(), rows = 0.8 * (t->w->watch->until - end) / (end - begin) * (double)few;
	int all = rows >= (double)p->n;
	if (!all && rows > 1.5 * (double)few) {
		part_free(&spaced);
		spaced = part_spaced(p, (ptrdiff_t)rows, D, T);
	}
	if (all || spaced.n > few) m = predict_rows(t, server, all ? p : &spaced, to, sums);
	if (!all && m.n) t->scored = spaced.n;
	part_free(&spaced);
	if (!t->scored || t->quiet) return m;
	clear_bar(t);
	fprintf(stderr,
			"note: %s%s--minutes leave time for predictions of %td of the %td test rows: the metrics "
			"are of these, which are evenly spaced\n",
			label_of(t), t->label ? ": " : "", t->scored, p->n);
	return m;
}

/*  The test rows that an evaluation scores. */
typedef enum test_rows { TEST_NONE, TEST_ALL, TEST_TIMELY } test_rows;

/*  Not available either if the model cannot be frozen, whose parameters the next step takes care of. */
static metrics predict_part(
		training *t, const part *p, test_rows which, scores *to, metric_sums *sums)
{
	odvgp_server server;
	odvgp_info info = no_info;
	odvgp_status s = odvgp_freeze(t->model, NULL, t->predictor_block, t->predictor_size, &info);
	if (!s)
		s = odvgp_server_from_block(
				&server, t->predictor_block, t->predictor_size, ODVGP_ISA_AUTO, &info);
	if (s) return no_metrics;
	return (which == TEST_TIMELY ? predict_timely : predict_rows)(t, &server, p, to, sums);
}

/*  Predicts the validation part, which the last evaluation (TEST_TIMELY) has no use for, and the test
    part's rows. Where training leaves q out, an evaluation before its end makes one and then restores
    the model's bytes. Returns the validation part's log-likelihood. */
static double evaluate_parts(training *t, metrics *test, test_rows which)
{
	const dataset *d = t->d;
	double loglik = NAN;
	*test = no_metrics;
	if (!d->test.n && !d->valid.n) return NAN;
	int restore = without_q(t->basis) && !t->fitted;
	if (restore) snapshot_take(&t->before, t->model, &t->block);
	if (!restore || fit_q(t)) {
		scores unused = {0};
		metric_sums *sums = take((size_t)d->s.target_count, sizeof *sums);
		if (d->valid.n && which != TEST_TIMELY)
			loglik = predict_part(t, &d->valid, TEST_ALL, &unused, sums).loglik;
		if (d->test.n && which)
			*test = predict_part(t, &d->test, which, &t->scores, t->sums);
		scores_free(&unused);
		free(sums);
	}
	if (restore) snapshot_restore(&t->before, &t->block);
	return loglik;
}

/*  Keeps the model that is the best one so far, by at least this many nats per row. */
static const double LEAST_GAIN = 1e-4;
static void keep_best(training *t, double loglik)
{
	t->worse++;
	if (!t->patience || !(loglik > t->best + LEAST_GAIN)) return;
	t->best = loglik;
	t->worse = 0;
	snapshot_take(&t->best_model, t->model, &t->block);
}

/*  At the end: takes that model back. Evaluations from its step on are forgotten, so that it gets a
    new one. */
static void take_best(training *t)
{
	if (!t->best_model.at) return;
	snapshot_restore(&t->best_model, &t->block);
	ptrdiff_t last = t->step;
	t->step = odvgp_steps_done(t->model);
	while (t->history_count && t->history[t->history_count - 1].step >= (double)t->step)
		t->elbo_sum = t->history[--t->history_count].elbo;
	t->elbo_count = 1;
	if (!t->quiet && t->step < last)
		fprintf(stderr, "note: step %td is the best one on %td validation rows, and is kept\n",
				t->step, t->d->valid.n);
}

/*  compare: the step of the next evaluation, a fifth further on, but at most a fortieth of all
    steps. */
static ptrdiff_t next_evaluation(const training *t)
{
	return t->step + larger(1, smaller(t->step / 5, t->evaluate_every));
}

/*  From now on progress is that of steps, which have lines of their own. */
static void watch_steps(const training *t)
{
	watch_begin(t->w->watch, "%s%strains", label_of(t), t->label ? " " : "");
	t->w->watch->wait = 5;
}

/*  Evaluates. Returns 0, and forgets it, if it had to end before there were metrics of the test. */
static int evaluate(training *t, test_rows which)
{
	double before = now();
	evaluation v;
	double loglik = evaluate_parts(t, &v.test, which);
	if (watch_over(t->w->watch) && !v.test.n) return 0;
	v.step = (double)t->step;
	v.elbo = t->elbo_count ? t->elbo_sum / (double)t->elbo_count : NAN;
	v.noise = noise_of(t->model);
	v.seconds = t->label ? t->step_seconds : now() - t->start;
	t->evaluate_seconds += now() - before;
	t->evaluated = now();
	t->elbo_sum = 0;
	t->elbo_count = 0;
	if (t->history_count == t->history_room) {
		t->history_room = 2 * t->history_room + 64;
		t->history = resize(t->history, (size_t)t->history_room, sizeof *t->history);
	}
	t->history[t->history_count++] = v;
	t->evaluate_next = next_evaluation(t);
	keep_best(t, loglik);
	trace_row(t, &v);
	print_events(t);
	if (!t->quiet && !t->terminal) print_line(t, &v);
	watch_steps(t);
	return 1;
}

static double seconds_of_step(const training *t)
{
	double done = (double)(t->step - t->first_step);
	return done > 0 ? t->step_seconds / done : t->first_seconds;
}

/*  Of an evaluation, before there has been one. */
static double seconds_of_first_evaluation(const training *t)
{
	const odvgp_config *c = odvgp_model_config(t->model);
	double rows = (double)(t->d->test.n + t->d->valid.n);
	return rows > 0 ? seconds_of_step(t) * evaluation_flops(c, rows) / step_flops(c) : 0;
}

/*  Have evaluations taken at most a twentieth of the time? Would the first one take so much of --minutes?
    That of an exact model with many test rows takes as long as many steps; --patience needs it. */
static int evaluations_are_cheap(const training *t)
{
	if (t->history_count) return t->evaluate_seconds <= 0.05 * (now() - t->start);
	return !(t->limit > 0) || t->patience || seconds_of_first_evaluation(t) <= 0.05 * t->limit;
}

/*  Do validation rows decide what is saved, and not the clock? The same training then has the same
    bits on any machine: counted operations say when it is evaluated. */
static int validation_decides(const training *t) { return t->patience && !(t->limit > 0); }

/*  At every multiple of iters/50, and after a fiftieth of --minutes, unless evaluations have taken
    more than a twentieth of the time, or operations. */
static int evaluation_due(const training *t)
{
	const odvgp_config *c = odvgp_model_config(t->model);
	if (t->label) return t->step >= t->evaluate_next;
	int timely = t->limit > 0 && now() - t->evaluated >= t->limit / 50;
	if (!timely && (t->by_clock || t->step % t->evaluate_every != 0)) return 0;
	if (!validation_decides(t)) return evaluations_are_cheap(t);
	return t->history_count * evaluation_flops(c, (double)t->d->valid.n) <=
		   0.05 * (double)(t->step - t->first_step) * step_flops(c);
}

/* ---- model and checkpoints ---- */

/*  Targets without noise drive its variance so low that predictions cannot be computed: raises it
    tenfold. Returns 0 where that does not help. */
static int raise_noise(training *t)
{
	double noise = 10 * noise_of(t->model);
	if (!(noise < 1e-3)) return 0;
	ptrdiff_t count = odvgp_slot_find(t->model, "noise_variance")->count;
	double *all = take_doubles(count, 1);
	for (ptrdiff_t i = 0; i < count; i++) all[i] = noise;
	odvgp_status s = odvgp_set(t->model, "noise_variance", all, count, NULL);
	free(all);
	if (s) return 0;
	if (!t->quiet)
		fprintf(stderr,
				"note: the targets look free of noise; its variance is raised to %.3g, so "
				"that predictions can be computed\n",
				noise);
	return !without_q(t->basis) || fit_q(t);
}

/*  Writes a checkpoint, or notes why it cannot be written: the next one tries again. */
static void write_part(training *t, const void *block, size_t size)
{
	int reason = try_write_file(t->part_path, block, size);
	if (reason && !t->part_failed && !t->quiet) {
		clear_bar(t);
		fprintf(stderr,
				"note: the checkpoint %s cannot be written: %s; the training goes on without it\n",
				t->part_path, strerror(reason));
	}
	t->part_failed = reason != 0;
	if (!reason) t->part_ours = 1;
}

/*  Saves the model; at the end of a training (`last`) with a noise that lets it predict, before it
    only if it can. */
static void save_model(training *t, const char *path, int last)
{
	odvgp_info info = no_info;
	odvgp_scales scales = scales_of(&t->d->s);
	odvgp_set_transforms(t->model, t->d->s.transforms, NULL);
	size_t size = odvgp_save_size(t->model, t->user.used, NULL);
	void *block = take(size, 1);
	odvgp_status s =
			odvgp_save_memory(t->model, &scales, t->user.at, t->user.used, block, size, &info);
	while (last && s == ODVGP_E_NOT_PD && raise_noise(t))
		s = odvgp_save_memory(t->model, &scales, t->user.at, t->user.used, block, size, &info);
	/* evaluations predict rows that are transformed already */
	odvgp_set_transforms(t->model, NULL, NULL);
	if (s && last) die_of(s, &info, path);
	if (!s && last) write_file(path, block, size);
	else if (!s) write_part(t, block, size);
	free(block);
}

/*  Saves MODEL.part. Where training leaves q out, q gets its optimum first; the model then gets its
    bytes back, since the parameters that it keeps for a step that fails have a q, too. */
static void checkpoint(training *t)
{
	int restore = without_q(t->basis);
	if (restore) snapshot_take(&t->before, t->model, &t->block);
	if (!restore || fit_q(t)) save_model(t, t->part_path, 0);
	if (restore) snapshot_restore(&t->before, &t->block);
	t->checkpoint_last = now();
}

static int checkpoint_due(const training *t)
{
	return t->part_path && t->checkpoint_every > 0 &&
		   now() - t->checkpoint_last >= t->checkpoint_every;
}

/*  Saves the model, which makes MODEL.part unnecessary. */
static void save_at_end(training *t, const char *path)
{
	save_model(t, path, 1);
	if (t->part_ours) remove(t->part_path);
}

/*  Called again and again within a step, and after it with its report. */
static int look_at_step(void *user, const odvgp_progress *p)
{
	training *t = user;
	if (p->report) {
		t->report = *p->report;
		return 0;
	}
	if (!t->terminal) return watch_look(t->w->watch, (double)t->step, (double)t->iters);
	if (!t->quiet && now() - t->drawn > 0.1) print_bar(t);
	return watch_over(t->w->watch);
}

/*  Why work has to end: a signal, or the time. */
static stop_reason reason_to_stop(void) { return stop_signal ? INTERRUPTED : TIME_OVER; }

static stop_reason train_step(training *t)
{
	odvgp_info info = no_info;
	const odvgp_report *report = &t->report;
	odvgp_watch watch = {look_at_step, t};
	double before = now();
	odvgp_status s = odvgp_fit(t->model, t->d->train.X, t->d->Y, 1, &watch, &info);
	t->step_seconds += now() - before;
	if (s == ODVGP_E_STOPPED) return reason_to_stop();
	if (s) {
		snprintf(t->reason, sizeof t->reason, "step %td: %s", t->step + 1, reason_of(s, &info));
		return STEP_FAILED;
	}
	t->step = report->step;
	t->events = report->events;
	t->elbo_sum += report->elbo;
	t->elbo_count++;
	double done = (double)(t->step - t->first_step);
	t->elbo_mean += (report->elbo - t->elbo_mean) / fmin(done, 50);
	return report->converged ? CONVERGED : report->stuck ? STUCK : RUNNING;
}

/*  Of an exact model whose warm starts may be all. L-BFGS's first step evaluates three times. */
static void exact_seconds(training *t)
{
	if (!is_exact(t->basis) || !(t->limit > 0) || !t->warm_starts || t->first_seconds > 0) return;
	double n = (double)t->d->train.n, D = config_width(odvgp_model_config(t->model)),
		   rate = EFFICIENCY * fmax(1, t->rate > 0 ? t->rate : measured_rate(t->w, 0));
	t->first_seconds = 3 * 1.2 * EXACT_PART * exact_flops(n, D) / rate;
	t->end_seconds = exact_end(n, D) / rate;
}

/*  A pass over all rows, for q's optimum or the bound: about four tenths of a step on these. */
static double seconds_of_pass(const training *t)
{
	return 0.4 * seconds_of_step(t) * (double)t->d->train.n /
		   (double)odvgp_model_config(t->model)->optim.batch;
}

/*  The bound on all rows, if it takes less than a thirtieth of --minutes: otherwise steps come first. */
static double seconds_of_bound(const training *t)
{
	double pass = seconds_of_pass(t);
	return pass <= t->limit / 30 ? pass : 0;
}

/*  q's optimum at the end. An exact model's takes, with its factors for evaluation and file, as long
    as a step. Beside minibatches it takes 0.9 to 1.4 times the larger one of a pass and its operations
    at the rate of steps (COUPLED, ORTH and SOLVE-GP with 100 to 700 points). */
static double seconds_of_fit_q(const training *t)
{
	if (is_exact(t->basis)) return t->step > t->first_step ? seconds_of_step(t) : t->end_seconds;
	if (without_q(t->basis)) return seconds_of_pass(t);
	if (!(t->fit_q_steps > 0)) return 0;
	return 1.4 * fmax(seconds_of_pass(t), t->fit_q_steps * seconds_of_step(t));
}

/*  Is it left out, because nobody asked for it and it would take more than a quarter of --minutes, in
    which steps do better? */
static int fit_q_is_left_out(const training *t)
{
	return t->limit > 0 && !without_q(t->basis) && !t->o->given[OPT_FIT_Q] &&
		   seconds_of_fit_q(t) > t->limit / 4;
}

/*  What comes after the steps: q's optimum, an evaluation, of some test rows where all take long, and
    the bound. */
static double seconds_of_end(const training *t)
{
	double evaluation = t->history_count
								? t->evaluate_seconds / t->history_count
								: fmin(seconds_of_first_evaluation(t), 0.05 * t->limit);
	return evaluation + seconds_of_bound(t) + t->reserve +
		   (fit_q_is_left_out(t) ? 0 : seconds_of_fit_q(t));
}

/*  Seconds from now on for steps, without half of one. compare counts steps only. */
static double time_left(const training *t)
{
	if (t->label) return t->limit - t->step_seconds - t->reserve;
	return t->limit - (now() - t->begin) - seconds_of_end(t) - 0.5 * seconds_of_step(t);
}

/*  The clock when --minutes is over, with what is allowed beyond it. */
static double end_of_minutes(const training *t)
{
	double spent = t->label ? t->step_seconds : now() - t->begin;
	return t->limit > 0 ? now() + 1.05 * t->limit + 1 - spent : HUGE_VAL;
}

/*  Warm starts get at most three fifths of --minutes: less is planned, but a plan may be wrong. */
static void allow_warm_starts(const training *t)
{
	double spent = t->label ? t->step_seconds : now() - t->begin;
	watch_allow(t->w->watch, t->limit > 0 ? now() + 0.6 * t->limit + 0.5 - spent : HUGE_VAL, 0);
}

/*  Notes how many of them have not come to their end. */
static void print_warm_starts(const training *t)
{
	int missing = warm_count(t->o) - t->warm_starts;
	if (missing && !stop_signal && !t->quiet)
		fprintf(stderr, "note: %d warm start(s) left out, for which --minutes is too short\n",
				missing);
}

/*  Lets the steps go on until what comes after them is due. */
static void allow_steps(const training *t)
{
	watch_allow(t->w->watch, end_of_minutes(t) - (t->label ? 0 : seconds_of_end(t)), 0);
}

/*  An exact model that --basis auto has chosen, which has learned in its warm starts alone, with what
    --minutes leave beside its end: further steps by the evidence of more rows than `seen`, which change
    more than a step by all. They follow the warm starts before in --warm. */
enum { AGAIN_STEPS = 15, AGAIN_MOST = 2000 };
static void exact_again(training *t, options *o, ptrdiff_t seen)
{
	if (!(t->first_seconds > 0) || !t->by_clock || t->first_step || o->given[OPT_WARM]) return;
	double D = config_width(odvgp_model_config(t->model)), rate = EFFICIENCY * fmax(1, t->rate),
		   left = t->limit - (now() - t->begin) - t->end_seconds,
		   part = AGAIN_STEPS / (double)EXACT_WARM_STEPS;
	ptrdiff_t rows = smaller(AGAIN_MOST, t->d->train.n);
	while (rows > seen && part * exact_start(rows, D) > left * rate) rows -= larger(1, rows / 20);
	if (rows < seen + seen / 4) return;
	bytes list = {NULL, 0, 0}, all = {NULL, 0, 0};
	warm_item(&list, rows, AGAIN_STEPS, 0, 0);
	bytes_print(&all, "%s", o->value[OPT_WARM]);
	int before = (int)all.used;
	bytes_print(&all, ",%s", list.at);
	option_store(o, OPT_WARM, list.at);
	allow_steps(t);
	int done = warm_start(t->model, o, t->d, t->w);
	t->warm_starts += done;
	if (!done) all.at[before] = 0;
	option_store(o, OPT_WARM, all.at);
	if (done && !t->quiet) fprintf(stderr, "auto: with time left: --warm %s\n", all.at);
}

/*  Where the clock decides: as many steps as the time has room for at the speed so far. Falling step
    sizes fall over them. */
static void training_aim(training *t)
{
	odvgp_schedule lr, natgrad;
	double done = (double)(t->step - t->first_step),
		   spent = t->label ? t->step_seconds - t->before_steps : now() - t->start,
		   rest = fmin(INT_MAX / 2, fmax(1, time_left(t) * done / fmax(1e-9, spent)));
	t->iters = t->step + (ptrdiff_t)rest;
	t->aim_next = t->step + larger(1, smaller(t->step - t->first_step, (ptrdiff_t)(rest / 50)));
	schedules_of(t->o, t->iters, &lr, &natgrad);
	odvgp_set_step_sizes(t->model, &lr, &natgrad, NULL);
}

static stop_reason train_loop(training *t)
{
	stop_reason reason = t->step >= t->iters ? ALL_STEPS : RUNNING;
	exact_seconds(t);
	t->evaluated = now();
	t->before_steps = t->step_seconds;
	watch_steps(t);
	while (reason == RUNNING) {
		if (stop_signal) return INTERRUPTED;
		/* The first step is worth more than the last seconds, unless a start was all that is needed. */
		int first = t->step == t->first_step;
		double least = first ? 0.5 * t->first_seconds : 0;
		if (t->limit > 0 && (!first || t->first_seconds > 0) && time_left(t) <= least)
			return TIME_OVER;
		allow_steps(t);
		reason = train_step(t);
		if (reason != RUNNING) return reason;
		if (t->by_clock && t->step >= t->aim_next) training_aim(t);
		if (t->step >= t->iters) return ALL_STEPS;
		if (evaluation_due(t)) {
			int test = !validation_decides(t) || evaluations_are_cheap(t);
			evaluate(t, test ? TEST_ALL : TEST_NONE);
			if (t->patience && t->worse >= t->patience) return NO_PROGRESS;
		}
		if (checkpoint_due(t)) checkpoint(t);
		if (t->terminal && !t->quiet && now() - t->drawn > 0.1) print_bar(t);
	}
	return reason;
}

/*  The number of steps for n training rows; 0: not known yet. */
static void training_iters(training *t, ptrdiff_t n)
{
	t->iters = iters_of(t->o, n);
	t->evaluate_every = larger(1, t->iters / 50);
}

/*  Reads the options before the data: mistakes should not cost time. */
static void training_options(training *t, const options *o)
{
	odvgp_schedule lr, natgrad;
	memset(t, 0, sizeof *t);
	t->begin = now();
	t->o = o;
	training_iters(t, 0);
	schedules_of(o, t->iters, &lr, &natgrad);
	fit_q_when(o);
	t->patience = (ptrdiff_t)option_integer(o, OPT_PATIENCE, 0, INT_MAX);
	t->checkpoint_every = option_real(o, OPT_CHECKPOINT, 0, DBL_MAX, "not below 0");
	t->limit = o->value[OPT_MINUTES] ? 60 * option_positive(o, OPT_MINUTES) : 0;
	t->by_clock = by_clock(o);
	t->best = -HUGE_VAL;
	t->quiet = o->given[OPT_QUIET];
	t->terminal = isatty(STDERR_FILENO);
}

/*  Reads the options once before the data, with any member in place of auto. */
static void training_check(const options *o)
{
	options copy = options_borrow(o);
	training t;
	if (is_auto(o)) option_store(&copy, OPT_BASIS, copy_text("sgpr"));
	options_settle(&copy);
	training_options(&t, &copy);
	warm_count(o);
	options_free(&copy);
}

static void training_begin(
		training *t, const dataset *d, const workers *w, odvgp_model *model, model_block block)
{
	t->block = block;
	t->basis = basis_of(t->o);
	t->d = d;
	t->w = w;
	t->model = model;
	const odvgp_config *c = odvgp_model_config(model);
	if (fit_q_is_due(t, FIT_END) && !without_q(t->basis))
		t->fit_q_steps = fit_q_flops(c) / step_flops(c);
	t->step = t->first_step = odvgp_steps_done(model);
	t->sums = take((size_t)d->s.target_count, sizeof *t->sums);
	t->events = odvgp_model_events(model);
	t->events_told = t->events.jitter_raised + t->events.step_undone;
	if (d->test.n || d->valid.n) {
		t->predictor_size = odvgp_predictor_size(model, NULL);
		t->predictor_block = take(t->predictor_size, 1);
	}
}

static void training_end(training *t)
{
	scores_free(&t->scores);
	free(t->sums);
	free(t->predictor_block);
	free(t->best_model.at);
	free(t->before.at);
	free(t->work.at);
	free(t->history);
}

/* ---- results ---- */

/*  One panel: a number of all evaluations against steps, of which small or large values are good. */
static void picture_curve(picture *p, const training *t, const char *title, const char *unit,
		int good, double (*number)(const evaluation *v, const training *t))
{
	int n = t->history_count;
	double *x = picture_numbers(p, n), *y = picture_numbers(p, n);
	for (int i = 0; i < n; i++) {
		x[i] = t->history[i].step;
		y[i] = number(&t->history[i], t);
	}
	plot_scene *scene = picture_scene(p, title, "step", unit);
	scene->flags = good;
	/* From step 0 on, unless the training was resumed far from it. */
	if (n && x[0] <= 0.1 * x[n - 1]) scene->xmax = x[n - 1];
	picture_item(p, PLOT_LINE, NULL, x, y, NULL, n, 0, 0);
}

static double curve_elbo(const evaluation *v, const training *t)
{
	return v->elbo / (double)t->d->train.n;
}
static double curve_quality(const evaluation *v, const training *t)
{
	return quality_of(t->d->s.likelihood, &v->test, 0);
}
static double curve_loglik(const evaluation *v, const training *t)
{
	return (void)t, v->test.loglik;
}

/*  Writes a picture; one that cannot be written leaves the file as it was. Returns 1 then, with a
    sentence on stderr. */
static int write_picture(
		const char *path, const char *title, const plot_scene *scenes, int count, int columns)
{
	FILE *f = tmpfile();
	size_t size = 0;
	if (f) plot__write(f, title, scenes, count, columns);
	char *text = f ? read_back(f, &size) : NULL;
	int reason = text ? try_write_file(path, text, size) : errno ? errno : EIO;
	free(text);
	if (f) fclose(f);
	if (reason)
		fprintf(stderr, "odvgp: --plot %s: cannot be written: %s\n", path, strerror(reason));
	return reason != 0;
}

/*  Draws what was learned, the bound per row and, with a test part, RMSE and log-likelihood. Returns
    1 if it cannot be written. */
static int plot_training(const training *t, const char *path)
{
	picture *p = take(1, sizeof *p);
	subject s;
	if (subject_begin(&s, t->d, t->model, t->w)) picture_fit(p, &s);
	int fits = p->scenes, steps = 0;
	/* A resumed training may have had none to do. */
	for (int i = 0; i < t->history_count; i++) steps |= isfinite(t->history[i].elbo);
	if (steps || !fits)
		picture_curve(p, t, "Evidence lower bound", "nats per row", PLOT_LARGE_IS_GOOD, curve_elbo);
	if (t->d->test.n) {
		picture_curve(p, t, quality_title(t->d->s.likelihood), quality_unit(t->d->s.likelihood),
				quality_good(t->d->s.likelihood), curve_quality);
		if (has_classes(t->d->s.likelihood)) picture_shares(&p->scene[p->scenes - 1], 1);
		picture_curve(
				p, t, "Test log-likelihood", "nats per row", PLOT_LARGE_IS_GOOD, curve_loglik);
	}
	int whole = !watch_over(t->w->watch), bad = 0;
	if (whole) bad = write_picture(path, t->d->s.dataset, p->scene, p->scenes, fits > 1 ? fits : 2);
	else fprintf(stderr, "note: --plot %s: is left out, as there is no time for it\n", path);
	subject_end(&s);
	picture_free(p);
	free(p);
	return bad;
}

/*  A training row that has more than half of the squared errors of all; line 0: there is none. */
typedef struct dominant {
	long line;
	double share;
} dominant;

/*  The training rows are predicted where there are at most so many, and they take a moment: products
    of rows and the square of the points, which an exact model of 3,400 rows has. */
enum { DOMINANT_ROWS = SAMPLE_MOST, DOMINANT_LEAST = 20 };
static const double DOMINANT_PRODUCTS = 4e10;
static int predicts_training(const training *t)
{
	const odvgp_config *c = odvgp_model_config(t->model);
	double n = (double)t->d->train.n, points = (double)(c->layer[0].M + c->layer[0].M_gamma);
	return t->d->train.n <= DOMINANT_ROWS && n * points * points <= DOMINANT_PRODUCTS;
}

static dominant dominant_row(const training *t)
{
	const part *p = rows_in_memory(t->d);
	dominant r = {0, 0};
	subject s;
	ptrdiff_t row = 0;
	if (!predicts_training(t) || p->n < DOMINANT_LEAST ||
			t->d->s.likelihood != ODVGP_LIKELIHOOD_GAUSSIAN)
		return r;
	if (subject_begin(&s, t->d, t->model, t->w)) {
		forecast f = forecast_make(p->n, &t->d->s);
		if (forecast_run(&f, &s.server, t->w, p->X, p->n))
			r.share = largest_error(&f, p->Y, p->n, t->d->s.target_count, &row);
		if (r.share > 0.5) r.line = p->line[row];
		forecast_free(&f);
	}
	subject_end(&s);
	return r;
}

/*  The result of a training, besides the model. */
typedef struct outcome {
	stop_reason reason;
	double seconds, ms, elbo, upper;
	metrics test;
	dominant worst;
	const char *path;
} outcome;

static void print_train_json(const training *t, const outcome *r)
{
	const odvgp_config *c = odvgp_model_config(t->model);
	bytes b = {NULL, 0, 0};
	bytes_print(&b, "{");
	json_data(&b, t->d);
	json_model(&b, t->o->value[OPT_BASIS], c);
	json_count(&b, "batch", c->optim.batch);
	json_count(&b, "seed", (int64_t)c->seed);
	json_count(&b, "iters", t->step);
	json_text(&b, "stopped", stop_words[r->reason]);
	if (t->scale_f[0] > 0) json_numbers(&b, "scale_f", t->scale_f, 2);
	if (t->mode_gamma) {
		char text[40];
		mode_text(t, text, sizeof text);
		json_text(&b, "mode", text);
	}
	if (t->scale_y > 0) json_number(&b, "scale_y", t->scale_y);
	json_number(&b, "seconds", r->seconds);
	json_number(&b, "ms_per_iter", r->ms);
	json_count(&b, "threads", workers_count(t->w));
	json_bound(&b, r->elbo, r->upper, t->d->train.n);
	json_likelihood(&b, &t->d->s);
	if (t->scored) json_count(&b, "n_scored", t->scored);
	json_metrics(&b, t->d->s.likelihood, &r->test);
	if (has_classes(t->d->s.likelihood)) json_confusion(&b, &t->scores);
	else json_targets(&b, &t->d->s, t->sums);
	json_learned(&b, t->model, &t->d->s, &t->events);
	json_outliers(&b, t->d);
	json_number(&b, "worst_line", r->worst.line ? (double)r->worst.line : NAN);
	json_text(&b, "model", r->path);
	json_finish(&b);
}

static void print_train_text(const training *t, const outcome *r)
{
	const dataset *d = t->d;
	const metrics *m = &r->test;
	bytes b = {NULL, 0, 0};
	bytes_print(&b, "data     %s: %td training rows, %td test rows, %td inputs, target %s\n",
			NAME(d->s.dataset), d->train.n, d->test.n, d->s.D, NAME(d->s.target_text));
	text_outliers(&b, d);
	text_model(&b, t->basis->name, t->model, &d->s);
	bytes_print(&b, "steps    %td in %.1f s", t->step - t->first_step, r->seconds);
	if (isfinite(r->ms)) bytes_print(&b, ", %.3g ms each", r->ms);
	if (isnan(r->elbo)) bytes_print(&b, "\nelbo     not computed");
	else bytes_print(&b, "\nelbo     %.6g, per row %.5g", r->elbo, r->elbo / (double)d->train.n);
	if (isfinite(r->upper)) bytes_print(&b, "; log p(y) is below %.6g", r->upper);
	bytes_print(&b, "\n");
	if (m->n) text_metrics(&b, "test", m, &d->s, t->sums);
	if (t->scored)
		bytes_print(&b, "%-8s of %td of the %td test rows, evenly spaced\n", "", t->scored, d->test.n);
	if (r->worst.line)
		bytes_print(&b,
				"worst    line %ld has %.0f %% of the squared errors of the training rows\n",
				r->worst.line, 100 * r->worst.share);
	if (m->n && t->scores.n) text_confusion(&b, &t->scores, &d->s.targets[0]);
	if (t->events.jitter_raised + t->events.step_shortened + t->events.step_undone)
		bytes_print(&b,
				"events   jitter raised %llu times, now %.3g; steps shortened %llu, undone %llu\n",
				(unsigned long long)t->events.jitter_raised, t->events.jitter,
				(unsigned long long)t->events.step_shortened,
				(unsigned long long)t->events.step_undone);
	bytes_print(&b, "saved    %s\n", r->path);
	write_report(&b);
	free(b.at);
}

static int is_constant_target(const dataset *d, int k)
{
	double first = 0;
	int T = d->s.target_count;
	for (tile t = {0}; next_tile(&t, &d->train, d->disk, TILE_Y);) {
		if (!t.first) first = t.Y[k];
		for (ptrdiff_t i = 0; i < t.n; i++)
			if (!(fabs(t.Y[i * T + k] - first) <= 0)) return 0;
	}
	return 1;
}

/*  Prints what is remarkable about the data, once: a race says it before it begins. */
static void print_data_notes(dataset *d)
{
	if (d->told) return;
	d->told = 1;
	if (d->notes.used) tell_text(d->notes.at);
	if (d->dropped)
		fprintf(stderr, "note: %td rows with missing values are left out\n", d->dropped);
	for (int k = 0; k < d->s.target_count; k++) {
		if (is_constant_target(d, k))
			fprintf(stderr, "note: %s is constant\n",
					COLUMN_TEXT(d->s.targets[k].column, d->s.targets[k].name));
	}
	if (!d->test.n)
		fprintf(stderr, "note: no test part, so no test metrics "
						"(--test-fraction, --test or --test-mask)\n");
}

static void print_notes(dataset *d, const bytes *notes)
{
	print_data_notes(d);
	if (notes->used) tell_text(notes->at);
}

static void print_start(const training *t, dataset *d, const bytes *notes)
{
	const odvgp_config *c = odvgp_model_config(t->model);
	ptrdiff_t top = c->layers - 1;
	if (t->quiet) return;
	print_notes(d, notes);
	fprintf(stderr, "%s: %td rows, %td inputs; %s, beta %td, gamma %td, %s, %d thread(s)\n",
			NAME(d->s.dataset), d->train.n, d->s.D, t->basis->name, c->layer[top].M,
			c->layer[top].M_gamma, training_text(c), workers_count(t->w));
}

static void print_stop(const training *t, stop_reason reason)
{
	static const char *const sentence[] = {
			"",
			"",
			"the time limit is reached",
			"stopped by a signal",
			"no improvement in --patience evaluations",
			"a step failed",
			"converged",
			"stuck: no step lowers the loss",
	};
	clear_bar(t);
	if (reason == STEP_FAILED)
		fprintf(stderr, "odvgp: %s%s%s\n", label_of(t), t->label ? ": " : "", t->reason);
	if (!t->quiet && reason == TIME_OVER && t->first_seconds > 0 && t->step == t->first_step)
		fprintf(stderr, "note: %s%s--minutes leave no step by all rows after %d warm start(s)\n",
				label_of(t), t->label ? ": " : "", t->warm_starts);
	else if (!t->quiet && *sentence[reason])
		fprintf(stderr, "note: %s%s%s after %td steps\n", label_of(t), t->label ? ": " : "",
				sentence[reason], t->step);
	if (!t->quiet && t->first_step >= t->iters && t->first_step)
		fprintf(stderr, "note: the model has %td steps already; --iters counts all of them\n",
				t->first_step);
}

/*  Notes that a resumed training goes beyond the steps over which its step sizes fall. */
static void print_step_sizes(const training *t)
{
	const odvgp_config *c = odvgp_model_config(t->model);
	ptrdiff_t end = c->optim.lr.kind == ODVGP_SCHEDULE_CONSTANT ? 0 : c->optim.lr.steps;
	if (!t->quiet && c->optim.kind == ODVGP_OPTIMIZER_ADAM && end && end < t->iters)
		fprintf(stderr,
				"note: the learning rate was made to fall over %td steps; it is %.4g after them\n",
				end, (double)c->optim.lr.end);
}

enum { ELBO_ROWS = 2048 };

/*  Is there time left for something that takes `seconds`, is not needed, and cannot be stopped? */
static int time_for(const training *t, double seconds)
{
	if (stop_signal && seconds > t->w->watch->grace) return 0;
	return !(t->limit > 0) || now() - t->begin + seconds <= 1.02 * t->limit;
}

/*  The bound on m rows; of all, which are on the disk, by the library's reader. */
static odvgp_status block_elbo(
		const training *t, ptrdiff_t first, ptrdiff_t m, double *elbo, double *kl)
{
	const dataset *d = t->d;
	ptrdiff_t D = d->s.D, C = y_columns(d), rows[ELBO_ROWS];
	if (!d->disk || m == d->train.n)
		return odvgp_elbo(t->model, d->disk ? NULL : d->train.X + first * D,
				d->disk ? NULL : d->Y + first * C, m, elbo, kl, NULL, NULL);
	double *X = take_doubles(m, D), *Y = take_doubles(m, C);
	for (ptrdiff_t i = 0; i < m; i++) rows[i] = first + i;
	odvgp_status s = large_for_library(d->disk, rows, m, X, Y) == m
							 ? odvgp_elbo(t->model, X, Y, m, elbo, kl, NULL, NULL)
							 : ODVGP_E_IO;
	free(X);
	free(Y);
	return s;
}

/*  The bound on all rows: minibatch estimates are too noisy to compare. It is a sum over rows, which
    are added in blocks; without q it is not, and takes one call. NAN: it had to end before. */
static double final_elbo(const training *t)
{
	const part *p = &t->d->train;
	ptrdiff_t block = without_q(t->basis) ? p->n : smaller(p->n, ELBO_ROWS), m;
	double sum = 0, kl = 0, elbo = 0;
	odvgp_loo_result exact;
	watch *w = t->w->watch;
	if (!odvgp_loo(t->model, &exact, NULL)) return exact.bound;
	watch_begin(w, "%s%sbound on all rows", label_of(t), t->label ? " " : "");
	for (ptrdiff_t i = 0; i < p->n && !isnan(sum); i += m) {
		m = smaller(block, p->n - i);
		odvgp_status s = block_elbo(t, i, m, &elbo, &kl);
		sum += (double)m / (double)p->n * (elbo + kl);
		if (s || (i + m < p->n && watch_look(w, (double)(i + m), (double)p->n))) sum = NAN;
	}
	watch_end(w);
	/* The same bits as one call where it is one. */
	return block == p->n && !isnan(sum) ? elbo : sum - kl;
}

/*  Sets q to its optimum at the end, if due; after a signal only where predictions need it. If that
    fails, a model that was trained without q cannot predict and is not saved; any other is saved as
    it is. */
static void train_end_q(training *t, stop_reason reason)
{
	int needed = without_q(t->basis);
	if (!needed && (reason == STEP_FAILED || reason == INTERRUPTED)) return;
	int left_out = fit_q_is_left_out(t);
	watch_allow(t->w->watch, needed ? HUGE_VAL : end_of_minutes(t), needed ? HUGE_VAL : 0);
	if (left_out ? t->quiet : fit_q_if_due(t, FIT_END)) return;
	clear_bar(t);
	if (needed) die(FAILED, "no model is saved: %s", t->reason);
	fprintf(stderr, "note: --fit-q: %s\n",
			*t->reason ? t->reason : "is left out, as there is no time for it");
}

/* ---- the scale of f ---- */

static void training_calibrates(training *t, dataset *d, options *o, odvgp_isa isa)
{
	t->settings = o;
	t->isa = isa;
	if (!d->calibrates) return;
	if (!has_classes(d->s.likelihood))
		die(BAD_INPUT, "--calibrate: only for classes and --basis exact; the likelihood is %s",
				likelihood_text(d->s.likelihood));
	if (o->given[OPT_RESUME]) die(BAD_INPUT, "--calibrate and --resume exclude each other");
	t->all = d;
}

/*  How f is rescaled: logarithms of the factor of its mean, and of its standard deviation. */
typedef struct scaling {
	double mean, sd;
	/* Of a validation row: log-likelihood, and the same with the priors. */
	double loglik, score;
	/* Of each of them; NULL: there is none. */
	double *logp;
} scaling;

/*  f as it is, not scored yet. A function: HUGE_VAL is no constant for every compiler. */
static scaling unscaled(void)
{
	scaling none = {0, 0, -HUGE_VAL, -HUGE_VAL, NULL};
	return none;
}

/*  So much of a row more has another label than the rows held out: what has not been seen in a few
    hundred may be in the next ones, and a mean of 9 standard deviations would give it exp(-42). */
static const double SCALING_WRONG = 0.1, SCALING_FINE = 0.04, SCALING_COARSE = 0.15;
/*  Standard deviations of their priors, whose mean is 0: of that of f's mean above 0, and else
    (bench/results/classes-mode.txt); steps at most. */
static const double SCALING_MORE = 0.3, SCALING_LESS = 1;
enum { SCALING_STEPS = 20 };

/*  Scores the scaling `of` by the validation rows, whose targets the library sees as Y, with priors:
    normal ones of both logarithms, where a larger mean has to be clearer, since the few rows that are
    wrong decide, and SCALING_WRONG. The model becomes again what t->before is. */
static void scaling_try(training *t, double *Y, scaling *of)
{
	const part *p = &t->d->valid;
	odvgp_server server;
	double *logp = NULL, sum = 0, wrong = 0;
	of->loglik = of->score = -HUGE_VAL;
	of->logp = NULL;
	if (!odvgp_scale_f(t->model, exp(of->mean), exp(of->sd), NULL) &&
			!odvgp_freeze(t->model, NULL, t->predictor_block, t->predictor_size, NULL) &&
			!odvgp_server_from_block(
					&server, t->predictor_block, t->predictor_size, ODVGP_ISA_AUTO, NULL))
		logp = log_densities(&server, t->w->watch, p->X, Y, y_columns(t->d), p->n);
	snapshot_restore(&t->before, &t->block);
	if (!logp) return;
	for (ptrdiff_t i = 0; i < p->n; i++) {
		sum += logp[i];
		wrong += log(fmax(-expm1(logp[i]), DBL_EPSILON)) / (double)p->n;
	}
	if (!isfinite(sum)) {
		free(logp);
		return;
	}
	of->logp = logp;
	of->loglik = sum / (double)p->n;
	double mean = of->mean / (of->mean > 0 ? SCALING_MORE : SCALING_LESS),
		   sd = of->sd / SCALING_LESS;
	of->score = (sum + SCALING_WRONG * wrong - 0.5 * (mean * mean + sd * sd)) / (double)p->n;
}

/*  At so many logarithms. */
static scaling scaling_at(training *t, double *Y, double mean, double sd)
{
	scaling of = {mean, sd, 0, 0, NULL};
	scaling_try(t, Y, &of);
	return of;
}

/*  On the line from the worst of three through the middle of the others, so far beyond it. */
static scaling scaling_beyond(training *t, double *Y, const scaling s[3], double far)
{
	double mean = 0.5 * (s[0].mean + s[1].mean), sd = 0.5 * (s[0].sd + s[1].sd);
	return scaling_at(t, Y, mean + far * (mean - s[2].mean), sd + far * (sd - s[2].sd));
}

/*  `next` takes the place of `old` where it is better. */
static int scaling_replace(scaling *old, scaling next)
{
	int better = next.score > old->score;
	free(better ? old->logp : next.logp);
	if (better) *old = next;
	return better;
}

/*  Brings the best of three to the front and the worst to the end. Returns how far they are apart. */
static double scaling_order(scaling s[3])
{
	double apart = 0;
	for (int i = 1; i < 3; i++)
		for (int k = i; k > 0 && s[k].score > s[k - 1].score; k--) {
			scaling swap = s[k];
			s[k] = s[k - 1];
			s[k - 1] = swap;
		}
	for (int k = 1; k < 3; k++)
		apart = fmax(apart, fmax(fabs(s[k].mean - s[0].mean), fabs(s[k].sd - s[0].sd)));
	return apart;
}

/*  A step of the simplex search of Nelder and Mead (1965): the worst of three is reflected, further where
    that is the best, else drawn to the middle, or two are drawn to the best. Mean and sd make up for each
    other, so that steps along one of them end on a ridge. */
static void scaling_step(training *t, double *Y, scaling s[3])
{
	scaling next = scaling_beyond(t, Y, s, 1);
	int best = next.score > s[0].score, good = next.score > s[1].score;
	if (best) scaling_replace(&next, scaling_beyond(t, Y, s, 2));
	scaling_replace(&s[2], next);
	if (good || scaling_replace(&s[2], scaling_beyond(t, Y, s, -0.5))) return;
	for (int k = 1; k < 3; k++) {
		free(s[k].logp);
		s[k] = scaling_at(t, Y, 0.5 * (s[0].mean + s[k].mean), 0.5 * (s[0].sd + s[k].sd));
	}
}

/*  Does each row's label have more than half of the probability? */
static int all_are_right(const double *logp, ptrdiff_t n)
{
	int right = 1;
	for (ptrdiff_t i = 0; i < n; i++) right &= logp[i] > log(0.5);
	return right;
}

/*  Takes back what the best scaling owes to chance. The best of two free numbers gains a nat where the
    factors 1 are right; as James and Stein (1961) shrink a mean, its logarithms become 1 - 1 / gain times
    what they are, or 0 (bench/results/classes-mode.txt). Where all rows are right SCALING_WRONG alone makes
    the mean smaller, which is kept. */
static void scaling_shrink(training *t, double *Y, scaling *best)
{
	ptrdiff_t n = t->d->valid.n;
	if (best->mean <= 0 && all_are_right(best->logp, n)) return;
	scaling plain = scaling_at(t, Y, 0, 0);
	double gain = (double)n * (best->loglik - plain.loglik), keep = gain > 1 ? 1 - 1 / gain : 0;
	scaling less = scaling_at(t, Y, keep * best->mean, keep * best->sd);
	free(plain.logp);
	if (!less.logp) return;
	free(best->logp);
	*best = less;
}

/*  The best scaling, sought from `best` on, which may be another model's, until what is left to choose
    from is no further apart than `least`; where that is SCALING_FINE it is shrunk. *before: log-likelihood
    of the first one. */
static scaling scaling_best(training *t, scaling best, double least, double *before)
{
	double first = best.mean * best.mean + best.sd * best.sd > 0 ? 0.2 : 0.4,
		   *room = take_doubles(t->d->valid.n, 2),
		   *Y = library_targets(t->d, t->d->valid.Y, t->d->valid.n, room);
	snapshot_take(&t->before, t->model, &t->block);
	scaling s[3] = {scaling_at(t, Y, best.mean, best.sd), unscaled(), unscaled()};
	*before = s[0].loglik;
	for (int k = 1; k < 3 && !watch_over(t->w->watch); k++)
		s[k] = scaling_at(t, Y, best.mean + (k == 1 ? first : 0), best.sd + (k == 1 ? first : -first));
	for (int steps = 0; steps < SCALING_STEPS && scaling_order(s) > least; steps++) {
		if (watch_over(t->w->watch)) break;
		scaling_step(t, Y, s);
	}
	scaling_order(s);
	free(s[1].logp);
	free(s[2].logp);
	if (s[0].logp && least <= SCALING_FINE) scaling_shrink(t, Y, &s[0]);
	free(room);
	return s[0];
}

/*  Another model takes the place of the training's, which the caller frees. */
static void training_use(training *t, odvgp_model *model, model_block block)
{
	t->model = model;
	t->block = block;
	free(t->before.at);
	free(t->best_model.at);
	t->before.at = t->best_model.at = NULL;
	if (!t->predictor_block) return;
	free(t->predictor_block);
	t->predictor_size = odvgp_predictor_size(model, NULL);
	t->predictor_block = take(t->predictor_size, 1);
}

/*  A model of all rows gets the parameters, and a tenth more steps of the last sizes; what --mode leaves
    of --minutes where its search has been in vain allows half as many as there have been. */
static void give_back(training *t)
{
	bytes unused = {NULL, 0, 0};
	odvgp_info info = no_info;
	odvgp_model *old = t->model;
	model_block block;
	int vain = t->by_clock && t->mode_most && !(t->reserve > 0);
	ptrdiff_t so_far = t->step - t->first_step, steps = vain ? so_far / 2 : (so_far + 9) / 10, done = 0;
	const odvgp_config *c = odvgp_model_config(old);
	odvgp_schedule lr = race_rest(&c->optim.lr, odvgp_steps_done(old)),
				   step = race_rest(&c->optim.natgrad_step, odvgp_steps_done(old));
	dataset_give_back(t->all);
	odvgp_model *model = model_make(t->settings, t->all, t->w, t->isa, &block, &unused);
	/* what has been learned needs a model, also after a signal */
	odvgp_status s = odvgp_init_data(model, t->all->train.X, t->all->Y, NULL, &info);
	if (!s) s = race_copy(model, old, &info);
	if (!s) s = odvgp_set_step_sizes(model, &lr, &step, &info);
	odvgp_watch watch = library_watch(t->w->watch);
	watch_begin(t->w->watch, "trains with the rows held out");
	for (; done < steps && !s; done++) {
		if (t->limit > 0 && time_left(t) <= 0) break;
		s = odvgp_fit(model, t->all->train.X, t->all->Y, 1, &watch, &info);
	}
	watch_end(t->w->watch);
	free(unused.at);
	if (s && s != ODVGP_E_STOPPED) die_of(s, &info, "--calibrate");
	free(t->block.at);
	training_use(t, model, block);
	t->step += done;
}

/* ---- many gamma points at the posterior's mode ---- */

/*  The bound of few points, which pays for their variance, ends at a smoother kernel than is best for
    the mean of many (bench/results/classes-mode.txt). So the kernel's variances are multiplied by
    powers of STEEPER, up to STEEPEST, and its lengthscales by MODE_LENGTHS; which are best is found with
    half of the points. Of what a race leaves of --minutes all searches and scalings get RESERVE, one for
    a given kernel GIVEN, and of --minutes the last one for all rows SHARE. */
enum { MODE_TRIES = 20, MODE_POWERS = 5, MODE_SHORTER = 10 };
static const double MODE_STEEPER = 4, MODE_STEEPEST = 1024, MODE_RESERVE = 0.6, MODE_GIVEN = 0.3,
					MODE_SHARE = 0.04,
					MODE_LENGTHS[MODE_SHORTER] = {1, 0.6, 0.4, 0.25, 0.15, 0.1, 0.06, 0.04, 0.025, 0.015};

/*  As many points as there are operations for; 0: no more than the model has. */
static ptrdiff_t mode_most(const training *t)
{
	double most = MODE_FLOPS;
	if (t->limit > 0) most = fmin(most, MODE_SHARE * t->limit * measured_rate(t->w, 0));
	return mode_points(
			odvgp_model_config(t->model), t->d->s.likelihood, (double)t->d->train.n, most);
}

/*  Reads one of --mode's factors, ":4"; NULL: it is none. */
static const char *mode_number(const char *text, double *factor)
{
	const char *end = *text == ':' ? table__number(text + 1, factor) : NULL;
	return end && *factor * MODE_STEEPEST >= 1 && *factor <= MODE_STEEPEST ? end : NULL;
}

/*  Reads --mode GAMMA:VARIANCE[:LENGTH]; returns 0 if it is auto or off. */
static int mode_given(const options *o, ptrdiff_t *gamma, kernel_factors *factors)
{
	const char *text = o->value[OPT_MODE], *p = text;
	if (strcmp(text, "auto") == 0 || strcmp(text, "off") == 0) return 0;
	factors->length = 1;
	*gamma = parse_index(&p);
	const char *end = mode_number(p, &factors->variance);
	if (end && *end) end = mode_number(end, &factors->length);
	if (*gamma < 1 || !end || *end)
		die(BAD_INPUT, "--mode %s: must be auto, off or GAMMA:VARIANCE[:LENGTH], as 2000:4 or "
					   "2000:4:0.6, both from 1/%g to %g",
				text, MODE_STEEPEST, MODE_STEEPEST);
	return 1;
}

/*  The same before there is a model. */
static void mode_check(const options *o, const dataset *d)
{
	kernel_factors factors;
	ptrdiff_t gamma;
	if (!mode_given(o, &gamma, &factors)) return;
	if (o->value[OPT_RESUME]) die(BAD_INPUT, "--mode and --resume exclude each other");
	if (is_auto(o)) die(BAD_INPUT, "--mode GAMMA:VARIANCE: needs --basis orth or hybrid");
	if (!has_classes(d->s.likelihood))
		die(BAD_INPUT, "--mode: only for classes; the likelihood is %s",
				likelihood_text(d->s.likelihood));
	if (d->disk) die(BAD_INPUT, "--mode: not where rows stay on the disk");
}

/*  Before the first step. */
static void mode_begin(training *t)
{
	t->mode_asked = mode_given(t->o, &t->mode_most, &t->mode_factors);
	if (t->mode_asked) {
		if (!mode_suits(odvgp_model_config(t->model), t->d->s.likelihood))
			die(BAD_INPUT, "--mode: only for one layer of points of --basis orth or hybrid, and "
						   "not for --likelihood robustmax");
		t->mode_most = smaller(t->mode_most, t->d->train.n);
	} else if (t->all && strcmp(t->o->value[OPT_MODE], "auto") == 0) t->mode_most = mode_most(t);
	double left = t->label ? t->limit : fmax(0, t->limit - (now() - t->begin));
	if (t->mode_most && t->limit > 0)
		t->reserve = (t->mode_asked ? MODE_GIVEN : MODE_RESERVE) * left;
}

/*  Multiplies the kernels' numbers of one name, those that are trained or all. */
static odvgp_status mode_scale(
		odvgp_model *model, const char *name, double factor, int all, odvgp_info *info)
{
	odvgp_status s = ODVGP_OK;
	for (int i = 0; i < odvgp_slot_count(model) && !s; i++) {
		const odvgp_slot *slot = odvgp_slot_at(model, i);
		if (!is_kernel_slot(slot, name) || !(all || slot->trainable)) continue;
		double *v = take_doubles(slot->count, 1);
		s = odvgp_get(model, slot->name, v, slot->count, info);
		for (ptrdiff_t k = 0; k < slot->count; k++) v[k] *= factor;
		if (!s) s = odvgp_set(model, slot->name, v, slot->count, info);
		free(v);
	}
	return s;
}

/*  The search, with another kernel. Its variances then become again what they were. */
static odvgp_status mode_fit(odvgp_model *model, const dataset *d, kernel_factors factors,
		const odvgp_watch *watch, odvgp_info *info)
{
	size_t size = odvgp_fit_mode_scratch(model, info);
	if (!size) return info->status;
	void *scratch = has_memory((double)size) ? malloc(size) : NULL;
	odvgp_status s = scratch ? mode_scale(model, "variance", factors.variance, 1, info)
							 : ODVGP_E_MEMORY;
	if (!s) s = mode_scale(model, "lengthscale", factors.length, 0, info);
	if (!s)
		s = odvgp_fit_mode(
				model, d->train.X, d->Y, MODE_STEPS, watch, scratch, size, info);
	if (!s) s = odvgp_scale_f(model, 1, 1 / sqrt(factors.variance), info);
	free(scratch);
	return s;
}

/*  A model of d's rows with the parameters of `from`, but `gamma` gamma points and its mean at the mode.
    Returns a block without memory where there is none for it, or no time. */
static model_block mode_make(training *t, const odvgp_model *from, const dataset *d, ptrdiff_t gamma,
		kernel_factors factors, odvgp_model **model)
{
	double begin = now();
	odvgp_info info = no_info;
	bytes unused = {NULL, 0, 0};
	odvgp_config c = model_config(t->settings, d, t->w, t->isa, &unused);
	model_block block = {NULL, 0};
	free(unused.at);
	c.layer[0].M_gamma = gamma;
	block.size = odvgp_model_size(&c, &info);
	if (block.size && has_memory((double)block.size)) block.at = malloc(block.size);
	if (!block.at) return block;
	watch_begin(t->w->watch, "mode of %td gamma points", gamma);
	odvgp_watch watch = library_watch(t->w->watch);
	odvgp_status s = odvgp_model_init(model, &c, block.at, block.size, &info);
	if (!s && t->o->value[OPT_FREEZE]) freeze_slots(*model, t->o->value[OPT_FREEZE]);
	if (!s) s = odvgp_init_data(*model, d->train.X, d->Y, &watch, &info);
	if (!s) s = race_copy(*model, from, &info);
	if (!s) s = mode_fit(*model, d, factors, &watch, &info);
	watch_end(t->w->watch);
	if (!s) {
		t->mode_seconds = now() - begin;
		return block;
	}
	free(block.at);
	block.at = NULL;
	return block;
}

/*  Is `next` better than `best`, priors included, by more than CLEAR standard errors of their rows? It is
    the best of many, and dearer to predict with (bench/results/classes-mode.txt). */
static const double MODE_CLEAR = 1.5;
static int mode_is_better(const scaling *best, const scaling *next, ptrdiff_t n)
{
	double error;
	if (!next->logp || !best->logp) return 0;
	paired_difference(next->logp, best->logp, n, &error);
	return next->score - best->score > MODE_CLEAR * error;
}

/*  How often as dear as with `gamma` points all is with the most. */
static double mode_ratio(const training *t, ptrdiff_t gamma)
{
	const odvgp_config *c = odvgp_model_config(t->model);
	double n = (double)t->d->train.n;
	return mode_flops(c, n, (double)t->mode_most) / mode_flops(c, n, (double)gamma);
}

/*  Is there time of --minutes for the model of all rows, after so many tries as the last one? */
static int mode_timely(const training *t, double tries, double ratio)
{
	double need = tries * t->try_seconds + 1.2 * ratio * t->mode_seconds;
	return !watch_over(t->w->watch) && now() + need < t->mode_end;
}

/*  Tries `gamma` points and a kernel; whether their best scaling, which is sought from *top on, becomes
    *top. The training's model stays. */
static int mode_try(
		training *t, ptrdiff_t gamma, kernel_factors factors, double least, scaling *top)
{
	odvgp_model *model, *old = t->model;
	model_block old_block = t->block;
	double unused, begin = now();
	model_block block = mode_make(t, old, t->d, gamma, factors, &model);
	if (!block.at) return 0;
	training_use(t, model, block);
	scaling next = scaling_best(t, *top, least, &unused);
	training_use(t, old, old_block);
	free(block.at);
	t->try_seconds = now() - begin;
	return scaling_replace(top, next);
}

static void mode_left_out(const training *t)
{
	if (t->quiet) return;
	clear_bar(t);
	fprintf(stderr, "note: --mode is left out: stopped, or no memory or time for it\n");
}

/*  How many of MODE_LENGTHS there are to try: 1 where no lengthscale is trained. */
static int mode_lengths(const training *t)
{
	for (int i = 0; i < odvgp_slot_count(t->model); i++) {
		const odvgp_slot *slot = odvgp_slot_at(t->model, i);
		if (is_kernel_slot(slot, "lengthscale") && slot->trainable) return MODE_SHORTER;
	}
	return 1;
}

static kernel_factors mode_factors_at(int power, int length)
{
	return (kernel_factors){pow(MODE_STEEPER, power), MODE_LENGTHS[length]};
}

/*  Looks for the kernel with `gamma` points: from the model's own on in one direction while that helps,
    then in the next, until none does. Shorter lengthscales alone make it steeper, which is why one
    direction makes its variance smaller, too. Returns its scaling. */
static scaling mode_search(training *t, ptrdiff_t gamma)
{
	static const int move[4][2] = {{1, 0}, {0, 1}, {-1, 1}, {-1, 0}};
	char tried[2 * MODE_POWERS + 1][MODE_SHORTER] = {{0}};
	scaling top = unscaled();
	int power = 0, length = 0, failed = 0, tries = 1, lengths = mode_lengths(t);
	double ratio = mode_ratio(t, gamma);
	tried[power + MODE_POWERS][length] = 1;
	mode_try(t, gamma, mode_factors_at(power, length), SCALING_COARSE, &top);
	for (int k = 0; failed < 4;) {
		int p = power + move[k][0], l = length + move[k][1];
		failed++;
		if (p >= -MODE_POWERS && p <= MODE_POWERS && l < lengths &&
				!tried[p + MODE_POWERS][l]) {
			if (tries++ == MODE_TRIES || !mode_timely(t, 1 + ratio, ratio)) break;
			tried[p + MODE_POWERS][l] = 1;
			if (mode_try(t, gamma, mode_factors_at(p, l), SCALING_COARSE, &top))
				power = p, length = l, failed = 0;
		}
		if (failed) k = (k + 1) % 4;
	}
	t->mode_factors = mode_factors_at(power, length);
	return top;
}

/*  All points, from the scaling `top` of half of them on, which stay where that is not better, or where
    there is no time. */
static void mode_all(training *t, ptrdiff_t half, scaling *top)
{
	double ratio = mode_ratio(t, half);
	scaling all = {top->mean, top->sd, -HUGE_VAL, -HUGE_VAL, NULL};
	if (half < t->mode_most && mode_timely(t, ratio, ratio))
		mode_try(t, t->mode_most, t->mode_factors, SCALING_FINE, &all);
	if (!scaling_replace(top, all)) t->mode_most = half;
}

/*  Finds the kernel, unless it is given. Where the mode is better than `best`, or asked for, its scaling
    becomes `best`, and it returns 1. */
static int mode_choose(training *t, scaling *best)
{
	scaling top = unscaled();
	if (t->mode_asked) mode_try(t, t->mode_most, t->mode_factors, SCALING_FINE, &top);
	else {
		ptrdiff_t few = odvgp_model_config(t->model)->layer[0].M_gamma,
				  half = larger(few, t->mode_most / 2);
		top = mode_search(t, half);
		mode_all(t, half, &top);
	}
	int chosen = t->mode_asked ? top.logp != NULL : mode_is_better(best, &top, t->d->valid.n);
	free(chosen ? best->logp : top.logp);
	if (chosen) *best = top;
	else if (t->mode_asked) mode_left_out(t);
	return chosen;
}

/*  The model of all rows gets the points. */
static void mode_take(training *t, const dataset *d)
{
	odvgp_model *model, *old = t->model;
	model_block before = t->block,
				block = mode_make(t, old, d, t->mode_most, t->mode_factors, &model);
	if (!block.at) {
		mode_left_out(t);
		return;
	}
	training_use(t, model, block);
	free(before.at);
	t->mode_gamma = t->mode_most;
}

/*  Variances count as right in this many rows more, and get no smaller factor than LEAST: two copies of
    a row predict each other well, but not a new row. */
static const double LOO_PRIOR = 10, LOO_LEAST = 0.1;

/*  The factor of variances for n rows whose squared errors over variances have this mean. */
static double loo_scale(double squares, double n)
{
	return fmax(LOO_LEAST, (n * squares + LOO_PRIOR) / (n + LOO_PRIOR));
}

/*  The most that an exact model's variances can grow within their bounds. */
static double loo_most(const training *t)
{
	double most = HUGE_VAL, bound = exact_variance(t->d->train.n);
	for (int i = 0; i < odvgp_slot_count(t->model); i++) {
		const odvgp_slot *slot = odvgp_slot_at(t->model, i);
		if (!is_kernel_slot(slot, "variance")) continue;
		double *v = take_doubles(slot->count, 1);
		odvgp_get(t->model, slot->name, v, slot->count, NULL);
		for (ptrdiff_t k = 0; k < slot->count; k++) most = fmin(most, bound / v[k]);
		free(v);
	}
	return most;
}

/*  An exact model's variances of y: the hyperparameters, often the evidence of some rows alone, are all
    rows' but for a factor. */
static void calibrate_exact(training *t)
{
	odvgp_loo_result before, after;
	double noise = noise_of(t->model), n = (double)(t->d->train.n * t->d->s.target_count);
	if (odvgp_loo(t->model, &before, NULL)) return;
	double scale = loo_scale(before.squares, n);
	/* The noise stays above its floor. */
	double least = 2 * odvgp_model_config(t->model)->lik.noise_floor / noise;
	if (scale < 1) scale = fmin(1, fmax(scale, least));
	else scale = fmax(1, fmin(scale, 0.999 * loo_most(t)));
	if (odvgp_scale_y(t->model, sqrt(scale), NULL) || odvgp_loo(t->model, &after, NULL)) return;
	t->scale_y = sqrt(scale);
	if (t->quiet) return;
	clear_bar(t);
	fprintf(stderr,
			"note: standard deviations of y are multiplied by %.3g: each row, left out, has the "
			"log-likelihood %.5g, before %.5g\n",
			t->scale_y, after.logp, before.logp);
}

/*  --calibrate, after the last step. */
static void calibrate(training *t)
{
	double before;
	ptrdiff_t held = t->d->valid.n;
	if (scales_exact(t->o)) calibrate_exact(t);
	t->mode_end = !(t->limit > 0) ? HUGE_VAL : t->label ? now() + t->reserve : t->begin + t->limit;
	t->reserve = 0;
	t->patience = 0; /* what has been the best model is another's now */
	watch_allow(t->w->watch, end_of_minutes(t), 0);
	if (!t->all && t->mode_asked) mode_take(t, t->d);
	if (!t->all || watch_over(t->w->watch)) return;
	watch_begin(t->w->watch, "scale of f");
	scaling best = scaling_best(t, unscaled(), SCALING_FINE, &before), plain = best;
	watch_end(t->w->watch);
	int many = t->mode_most && mode_choose(t, &best);
	free(best.logp);
	t->reserve = many ? 1.2 * t->mode_seconds : 0;
	give_back(t);
	if (many) mode_take(t, t->all);
	if (!t->mode_gamma) best = plain;
	t->scale_f[0] = exp(best.mean);
	t->scale_f[1] = exp(best.sd);
	if (odvgp_scale_f(t->model, t->scale_f[0], t->scale_f[1], NULL))
		t->scale_f[0] = t->scale_f[1] = 1;
	if (t->quiet) return;
	clear_bar(t);
	fprintf(stderr,
			"note: f's mean is multiplied by %.3g, its sd by %.3g: %td rows held out have the "
			"log-likelihood %.5g, before %.5g; they were given back\n",
			t->scale_f[0], t->scale_f[1], held, best.loglik, before);
	char text[40];
	mode_text(t, text, sizeof text);
	if (t->mode_gamma)
		fprintf(stderr, "note: its mean is the posterior's mode, of %td gamma points: --mode %s\n",
				t->mode_gamma, text);
}

/*  Evaluates after the last step, unless that is done already. */
static metrics evaluate_end(training *t)
{
	const evaluation *last = t->history_count ? &t->history[t->history_count - 1] : NULL;
	int there = last && last->step >= (double)t->step && (last->test.n || !t->d->test.n),
		scaled = t->scale_f[0] > 0 || t->scale_y > 0 || t->mode_gamma;
	if ((there && !t->fitted && !scaled) || evaluate(t, TEST_TIMELY))
		return t->history[t->history_count - 1].test;
	memset(t->sums, 0, (size_t)t->d->s.target_count * sizeof *t->sums);
	t->scores.n = 0;
	return no_metrics;
}

/*  For how many seconds results are computed after a signal, once the model is saved. */
static const double GRACE = 0.5;

/*  The numbers of the report, as far as there is time for them. The model is saved: what takes long
    and is one call of the library ends with the program. */
static void train_results(training *t, outcome *r)
{
	const odvgp_config *c = odvgp_model_config(t->model);
	double pass = seconds_of_pass(t),
		   points = 1 + (double)c->layer[0].M_gamma / (double)c->layer[0].M;
	watch_allow(t->w->watch, end_of_minutes(t), GRACE);
	r->test = evaluate_end(t);
	int long_one = pass > GRACE,
		timely = !(t->limit > 0) || is_exact(t->basis) || now() + pass < t->w->watch->until;
	stop_at_once = long_one && without_q(t->basis);
	if (timely && !(stop_signal && long_one)) r->elbo = final_elbo(t);
	double upper = 2 * pass * points * points;
	stop_at_once = upper > GRACE;
	if (time_for(t, upper)) r->upper = upper_bound_of(t);
	stop_at_once = 0;
	if (r->reason != STEP_FAILED && time_for(t, pass)) r->worst = dominant_row(t);
}

/*  Has the training anything that is worth a file? */
static int has_learned(const training *t, stop_reason reason)
{
	return (reason != INTERRUPTED && reason != TIME_OVER) || t->step > 0 || t->warm_starts;
}

/*  Says that there is no model. */
static int train_nothing(const training *t)
{
	clear_bar(t);
	fprintf(stderr, "odvgp: %s before the first step: no model is saved\n",
			stop_signal ? "stopped by a signal" : "--minutes: the time is over");
	return FAILED;
}

static void record_metrics(bytes *b, const char *rows, odvgp_likelihood kind, const metrics *m)
{
	if (!m->n) return;
	bytes_print(b, "; %td %s rows: ", m->n, rows);
	if (has_classes(kind))
		bytes_print(b, "accuracy %.4g, brier %.4g, log-likelihood %.4g", m->accuracy, m->brier,
				m->loglik);
	else
		bytes_print(b, "rmse %.4g, mae %.4g, log-likelihood %.4g", m->rmse_raw, m->mae_raw,
				m->loglik_raw);
}

/*  Says so where the bound is not above that of f = 0 in all rows. Weights of classes change both; the
    mode is not the bound's maximum. */
static void note_nothing_learned(const training *t, double elbo)
{
	int classes = t->d->s.targets[0].level_count;
	double row = elbo / (double)t->d->train.n, chance = -log((double)classes);
	if (!has_classes(t->d->s.likelihood) || classes < 2 || t->d->class_weight || t->quiet ||
			t->mode_gamma || !(row < chance + 1e-3))
		return;
	fprintf(stderr,
			"note: nothing has been learned: elbo per row, %.4f, is not above %.4f, which the same "
			"probability for each of %d classes gives. If the inputs tell them apart: more steps, "
			"--warm off, another --seed\n",
			row, chance, classes);
}

/*  A larger file is not written twice. */
static const double RECORD_BYTES = 256e6;

/*  Adds the results to the model file, in a sentence: bound, errors on the rows of training, if they
    take a moment, and of the test. Only --minutes let the clock leave them out, as `saving` seconds
    say: the same training writes the same bytes, however slow the disk is. */
static void save_record(training *t, const outcome *r, double saving)
{
	schema s;
	const dataset *d = t->d;
	bytes record = {NULL, 0, 0}, user = t->user;
	if (stop_signal || r->reason == STEP_FAILED || !time_for(t, saving) ||
			(double)odvgp_save_size(t->model, user.used, NULL) > RECORD_BYTES)
		return;
	bytes_print(&record, "%td steps", t->step);
	if (isfinite(r->elbo)) bytes_print(&record, ", bound %.6g", r->elbo);
	if (predicts_training(t) && time_for(t, saving + seconds_of_pass(t))) {
		scores unused = {0};
		metric_sums *sums = take((size_t)d->s.target_count, sizeof *sums);
		subject of;
		if (subject_begin(&of, d, t->model, t->w)) {
			metrics m = predict_rows(t, &of.server, rows_in_memory(d), &unused, sums);
			record_metrics(&record, "training", d->s.likelihood, &m);
		}
		subject_end(&of);
		scores_free(&unused);
		free(sums);
	}
	record_metrics(&record, "test", d->s.likelihood, &r->test);
	schema_read(&s, r->path, user.at, user.used);
	settings_add(&s, "results", record.at);
	if (t->scale_f[0] > 0 || t->mode_gamma) {
		char text[40];
		snprintf(text, sizeof text, "%td", t->step);
		settings_add(&s, "steps", text);
	}
	if (t->scale_f[0] > 0) {
		char text[40];
		snprintf(text, sizeof text, "%.6g, %.6g", t->scale_f[0], t->scale_f[1]);
		settings_add(&s, "scale_f", text);
	}
	if (t->mode_gamma) {
		char text[40];
		mode_text(t, text, sizeof text);
		settings_add(&s, "mode", text);
	}
	if (t->scale_y > 0) {
		char text[24];
		snprintf(text, sizeof text, "%.6g", t->scale_y);
		settings_add(&s, "scale_y", text);
	}
	t->user = schema_write(&s);
	if (!stop_signal) save_model(t, r->path, 1);
	free(t->user.at);
	t->user = user;
	schema_free(&s);
	free(record.at);
}

/*  Trains, saves the model and prints the result. Returns the exit code. */
static int train_and_report(training *t, const char *model_path)
{
	outcome r = {RUNNING, 0, NAN, NAN, NAN, no_metrics, {0, 0}, model_path};
	t->trace = trace_open(t->o, t->d->s.likelihood, 0);
	t->start = t->checkpoint_last = now();
	allow_steps(t);
	if (fit_q_if_due(t, FIT_START)) r.reason = train_loop(t);
	else if (!*t->reason) r.reason = reason_to_stop();
	else die(FAILED, "--fit-q: %s", t->reason);
	if (!has_learned(t, r.reason)) return train_nothing(t);
	r.seconds = now() - t->start;
	if (t->step > t->first_step) r.ms = 1e3 * seconds_of_step(t);
	take_best(t);
	train_end_q(t, r.reason);
	if (r.reason != STEP_FAILED && r.reason != INTERRUPTED) calibrate(t);
	/* Before anything that takes time or may fail. */
	double saving = now();
	save_at_end(t, model_path);
	saving = now() - saving;
	t->events = odvgp_model_events(t->model);
	print_stop(t, r.reason);
	train_results(t, &r);
	note_nothing_learned(t, r.elbo);
	save_record(t, &r, saving);
	if (t->o->given[OPT_JSON]) print_train_json(t, &r);
	else print_train_text(t, &r);
	int bad = t->o->value[OPT_PLOT] && plot_training(t, t->o->value[OPT_PLOT]);
	return bad || r.reason == STEP_FAILED ? FAILED : 0;
}

#endif

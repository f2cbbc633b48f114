/*  predict.h - threads, predictions of many rows, and how good they are. */
#ifndef TOOL_PREDICT_H
#define TOOL_PREDICT_H

#include "classes.h"
#include "transform.h"
#include "watch.h"

/* ---- threads ---- */

typedef struct workers {
	odvgp_threads threads;
	/* What they do is seen on stderr, and may be stopped. */
	watch *watch;
#ifdef ODVGP_USE_PTHREADS
	odvgp_pool *pool;
	void *block;
#endif
} workers;

static void workers_start(workers *w, const options *o)
{
	int count = (int)option_integer(o, OPT_THREADS, 0, 256);
	memset(w, 0, sizeof *w);
	w->watch = watch_make(o);
#ifdef ODVGP_USE_PTHREADS
	if (!count) {
		long online = sysconf(_SC_NPROCESSORS_ONLN);
		count = online < 1 ? 1 : online > 256 ? 256 : (int)online;
	}
	if (count == 1) return;
	size_t size = odvgp_pool_size(count, NULL);
	w->block = take(size, 1);
	if (odvgp_pool_start(&w->pool, count, &w->threads, w->block, size, NULL))
		die(FAILED, "--threads %d: the threads cannot be started", count);
#else
	if (count > 1) die(BAD_INPUT, "--threads %d: this program was built without threads", count);
#endif
}

static int workers_count(const workers *w) { return w->threads.run ? w->threads.count : 1; }

static void workers_stop(workers *w)
{
#ifdef ODVGP_USE_PTHREADS
	odvgp_pool_stop(w->pool);
	free(w->block);
#endif
	free(w->watch);
	memset(w, 0, sizeof *w);
}

/* ---- predictions ---- */

/*  Mean and variance of y, and for the Gaussian likelihood the variance of f, of all rows: [n,P]
    each; of classes, P probabilities as means. Threads share blocks of rows. */
typedef struct forecast {
	double *mean, *var_f, *var_y;
	int P;
	odvgp_likelihood likelihood;
} forecast;

static forecast forecast_make(ptrdiff_t n, const schema *s)
{
	int P = forecasts_of(s);
	forecast f = {take_doubles(n, P), take_doubles(n, P), take_doubles(n, P), P, s->likelihood};
	return f;
}

static void forecast_free(forecast *f)
{
	free(f->mean);
	free(f->var_f);
	free(f->var_y);
}

enum { FORECAST_ROWS = 256 };

typedef struct forecast_job {
	const odvgp_server *server;
	const double *X;
	ptrdiff_t n, D;
	/* Blocks of `rows` rows, from `first` to `end`. */
	ptrdiff_t rows, first, end;
	const forecast *to;
	/* [P] of the Gaussian likelihood, else NULL. */
	double *noise;
	int tasks;
	/* [tasks][scratch_size] */
	unsigned char *scratch;
	size_t scratch_size;
	/* [tasks] */
	odvgp_status *status;
} forecast_job;

static void forecast_task(void *arg, int task)
{
	const forecast_job *job = arg;
	ptrdiff_t P = job->to->P, blocks = job->end - job->first;
	size_t table_size = (size_t)(3 * P * job->rows) * sizeof(double);
	unsigned char *scratch = job->scratch + (size_t)task * job->scratch_size;
	/* Three tables [P][rows]. */
	double *local = (double *)(void *)scratch;
	for (ptrdiff_t k = blocks * task / job->tasks; k < blocks * (task + 1) / job->tasks; k++) {
		ptrdiff_t from = (job->first + k) * job->rows, m = smaller(job->n - from, job->rows);
		const double *X = job->X + from * job->D;
		double *var_y = local + 2 * P * m;
		void *rest = scratch + table_size;
		size_t rest_size = job->scratch_size - table_size;
		odvgp_status s = job->noise ? odvgp_predict(job->server, X, m, local, local + P * m, rest,
											  rest_size, NULL)
									: odvgp_predict_y(job->server, X, m, local, var_y, rest,
											  rest_size, NULL);
		if (s) {
			job->status[task] = s;
			return;
		}
		for (ptrdiff_t p = 0; p < P; p++)
			for (ptrdiff_t i = 0; i < m; i++) {
				if (job->noise) var_y[p * m + i] = local[(P + p) * m + i] + job->noise[p];
				job->to->mean[(from + i) * P + p] = local[p * m + i];
				job->to->var_f[(from + i) * P + p] = local[(P + p) * m + i];
				job->to->var_y[(from + i) * P + p] = local[(2 * P + p) * m + i];
			}
	}
}

/*  The difference between the variances of y and of f, [P], which all rows share. */
static double *gaussian_noise(const odvgp_server *server, const double *X, int P)
{
	size_t size = odvgp_predict_scratch(server, 1, NULL);
	void *scratch = take(size, 1);
	double *noise = take_doubles(P, 1), *var = take_doubles(P, 1);
	odvgp_status bad = odvgp_predict(server, X, 1, NULL, var, scratch, size, NULL);
	if (!bad) bad = odvgp_predict_y(server, X, 1, NULL, noise, scratch, size, NULL);
	if (bad) die(FAILED, "prediction: %s", odvgp_status_text(bad));
	for (int p = 0; p < P; p++) noise[p] -= var[p];
	free(var);
	free(scratch);
	return noise;
}

/*  Predicts all blocks, in rounds of a twentieth of a second. Returns 0 if the last of them had to
    be left out. */
static int forecast_rounds(forecast_job *job, const workers *w)
{
	ptrdiff_t blocks = (job->n + job->rows - 1) / job->rows, round = job->tasks;
	int over = 0;
	watch_begin(w->watch, "predictions");
	for (; job->end < blocks && !over; over = watch_look(w->watch, (double)job->end, (double)blocks)) {
		double begin = now();
		job->first = job->end;
		job->end = smaller(blocks, job->first + round);
		if (job->tasks > 1) w->threads.run(w->threads.user, job->tasks, forecast_task, job);
		else forecast_task(job, 0);
		for (int i = 0; i < job->tasks; i++)
			if (job->status[i]) die(FAILED, "prediction: %s", odvgp_status_text(job->status[i]));
		if (now() - begin < 0.05) round *= 2;
	}
	watch_end(w->watch);
	return job->end == blocks;
}

/*  Returns 0 if it had to end before the last row. */
static int forecast_run(const forecast *f, const odvgp_server *server, const workers *w,
		const double *X, ptrdiff_t n)
{
	forecast_job job;
	memset(&job, 0, sizeof job);
	job.server = server;
	job.X = X;
	job.n = n;
	job.rows = larger(1, smaller(n, FORECAST_ROWS));
	job.D = server->D;
	job.to = f;
	if (f->likelihood == ODVGP_LIKELIHOOD_GAUSSIAN && n)
		job.noise = gaussian_noise(server, X, f->P);
	job.tasks = workers_count(w) > 1 ? workers_count(w) : 1;
	size_t need = (size_t)(3 * f->P * job.rows) * sizeof(double) +
				  odvgp_predict_scratch(server, job.rows, NULL);
	job.scratch_size = (need + 63) / 64 * 64;
	job.scratch = take((size_t)job.tasks, job.scratch_size);
	job.status = take((size_t)job.tasks, sizeof *job.status);
	int whole = forecast_rounds(&job, w);
	free(job.noise);
	free(job.status);
	free(job.scratch);
	return whole;
}

/*  log p(y) of each row, [n], for targets Y [n,columns] in the units of the server, with weights if
    it was trained with them. Rows whose targets are missing or refused by the likelihood get NaN, and
    their targets become NaN, too. NULL if the watch ended it before the last row. */
static double *log_densities(const odvgp_server *server, watch *watch, const double *X, double *Y,
		ptrdiff_t columns, ptrdiff_t n)
{
	ptrdiff_t T = server->T;
	size_t size = odvgp_predict_scratch(server, FORECAST_ROWS, NULL);
	double *logp = take_doubles(n, 1);
	void *scratch = take(size, 1);
	ptrdiff_t i = 0;
	watch_begin(watch, "log densities");
	for (ptrdiff_t m; i < n && !watch_look(watch, (double)i, (double)n); i += m) {
		m = smaller(FORECAST_ROWS, n - i);
		if (!odvgp_predict_logp(
					server, X + i * server->D, Y + i * columns, m, logp + i, scratch, size, NULL))
			continue;
		for (ptrdiff_t k = i; k < i + m; k++) {
			if (!odvgp_predict_logp(
						server, X + k * server->D, Y + k * columns, 1, logp + k, scratch, size, NULL))
				continue;
			logp[k] = NAN;
			for (ptrdiff_t p = 0; p < T; p++) Y[k * columns + p] = NAN;
		}
	}
	watch_end(watch);
	free(scratch);
	if (i == n) return logp;
	free(logp);
	return NULL;
}

/* ---- metrics ---- */

/*  Of standardised targets and, with _raw, in the units of the targets. Several targets are
    averaged. NAN: not available. */
typedef struct metrics {
	double rmse, mae, loglik, rmse_raw, mae_raw, loglik_raw;
	/* Share of the targets inside mean -+ 1.96 sd of y. */
	double coverage;
	/* Rows with a target; of several targets, with the one that has most. */
	ptrdiff_t n;
	/* Of classes, instead of errors of means. */
	double accuracy, brier, ece;
} metrics;

static const metrics no_metrics = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN, NAN, NAN};

/*  The three numbers by which trainings are compared: of errors, or of classes. */
enum { QUALITIES = 3 };

static const char *quality_name(odvgp_likelihood kind, int k)
{
	static const char *const names[2][QUALITIES] = {
			{"rmse", "mae", "loglik"}, {"accuracy", "brier", "loglik"}};
	return names[has_classes(kind)][k];
}

static double quality_of(odvgp_likelihood kind, const metrics *m, int k)
{
	double errors[] = {m->rmse, m->mae, m->loglik}, classes[] = {m->accuracy, m->brier, m->loglik};
	return (has_classes(kind) ? classes : errors)[k];
}

static const char *quality_title(odvgp_likelihood kind)
{
	return has_classes(kind) ? "Test accuracy" : "Test RMSE";
}

static const char *quality_unit(odvgp_likelihood kind)
{
	if (has_classes(kind)) return "share of rows";
	return has_real_targets(kind) ? "target sd" : "units of the target";
}

static metrics class_metrics(const scores *s)
{
	metrics m = no_metrics;
	double n = (double)s->n;
	if (!s->n) return m;
	m.n = s->n;
	m.loglik = m.loglik_raw = s->logs / n;
	m.accuracy = (double)s->right / n;
	m.brier = s->squares / n;
	m.ece = scores_ece(s);
	return m;
}

/*  Sums over the rows that have this target. */
typedef struct metric_sums {
	double squares, sizes, logs;
	ptrdiff_t n, inside;
	/* y is not normal: bands of 1.96 sd say nothing. */
	int other;
} metric_sums;

/*  Adds standardised predictions and targets to sums [P]. Targets that are NaN do not count.
    logp [n]: log p(y), or NULL for the Gaussian. */
static void metrics_add(metric_sums *sums, const forecast *f, const double *Y, const double *logp,
		ptrdiff_t n, int P)
{
	for (ptrdiff_t i = 0; i < n * P; i++) {
		metric_sums *s = &sums[i % P];
		double e = Y[i] - f->mean[i], v = f->var_y[i];
		if (isnan(Y[i])) continue;
		s->squares += e * e;
		s->sizes += fabs(e);
		s->inside += e * e <= 1.959963984540054 * 1.959963984540054 * v;
		s->other = logp != NULL;
		s->logs += logp ? logp[i / P] / P : -0.5 * (log(6.283185307179586477 * v) + e * e / v);
		s->n++;
	}
}

/*  The same of a target that is transformed, in units of the target itself. standardised: f and Y
    are T(y), standardised; else f is of T(y), and Y is y. */
static void metrics_add_target(metric_sums *sums, const forecast *f, const double *Y,
		const schema *s, int standardised, ptrdiff_t n)
{
	double scale = standardised ? s->y_scale[0] : 1, shift = standardised ? s->y_mean[0] : 0;
	for (ptrdiff_t i = 0; i < n; i++) {
		double m = shift + scale * f->mean[i], v = scale * scale * f->var_y[i], mean = m, var = v,
			   y = standardised ? target_back(s, shift + scale * Y[i]) : Y[i],
			   z = target_of(s, y) - m;
		if (isnan(y)) continue;
		target_moments(s, &mean, &var);
		double e = (y - mean) / s->y_raw[1];
		sums->squares += e * e;
		sums->sizes += fabs(e);
		sums->inside += z * z <= 1.959963984540054 * 1.959963984540054 * v;
		/* a target that T cannot take has density 0 */
		sums->logs += isnan(z) ? -HUGE_VAL
							   : log(target_slope(s, y) * s->y_raw[1]) -
										 0.5 * (log(6.283185307179586477 * v) + z * z / v);
		sums->n++;
	}
}

/*  The means over the targets that have values. */
static metrics metrics_mean(const metric_sums *sums, int P, const double *y_scale)
{
	metrics m = {0, 0, 0, 0, 0, 0, 0, 0, NAN, NAN, NAN};
	int targets = 0;
	for (int p = 0; p < P; p++) targets += sums[p].n > 0;
	for (int p = 0; p < P; p++) {
		double n = (double)sums[p].n;
		if (!sums[p].n) continue;
		double rmse = sqrt(sums[p].squares / n), mae = sums[p].sizes / n, loglik = sums[p].logs / n;
		m.rmse += rmse / targets;
		m.mae += mae / targets;
		m.loglik += loglik / targets;
		m.rmse_raw += rmse * y_scale[p] / targets;
		m.mae_raw += mae * y_scale[p] / targets;
		m.loglik_raw += (loglik - log(y_scale[p])) / targets;
		m.coverage += sums[p].other ? NAN : (double)sums[p].inside / n / targets;
		if (sums[p].n > m.n) m.n = sums[p].n;
	}
	return targets ? m : no_metrics;
}

/*  The row with the largest part of the squared errors, and this part. */
static double largest_error(const forecast *f, const double *Y, ptrdiff_t n, int P, ptrdiff_t *row)
{
	double sum = 0, most = 0;
	for (ptrdiff_t i = 0; i < n; i++) {
		double squares = 0;
		for (ptrdiff_t k = i * P; k < (i + 1) * P; k++)
			squares += (Y[k] - f->mean[k]) * (Y[k] - f->mean[k]);
		sum += squares;
		if (squares > most) {
			most = squares;
			*row = i;
		}
	}
	return sum > 0 ? most / sum : 0;
}

#endif

/*  kernels.h - the kernel that classes begin with.

    laplacian(ard) suits borders along the inputs, as a tree finds them, and is there much better than
    matern52(ard); on smooth borders of many classes it is as much worse (bench/results/classes.txt).
    To race both takes long. A small regression on labels of 0 and 1, in closed form, tells which is
    better: labels of rows held out are scored by softmax(t f), with the best t for each kernel. */
#ifndef TOOL_KERNELS_H
#define TOOL_KERNELS_H

#include "warm.h"

/*  The first one is the default of --kernel. */
static const char *const class_kernels[] = {"matern52(ard)", "laplacian(ard)"};
enum { CLASS_KERNELS = sizeof class_kernels / sizeof *class_kernels };

/*  Most and fewest rows; rows for each inducing point; L-BFGS's steps. */
enum {
	KERNEL_ROWS = 3200,
	KERNEL_LEAST_ROWS = 400,
	KERNEL_ROWS_A_POINT = 16,
	KERNEL_STEPS = 25
};

/*  log softmax(t f) of the held rows' labels, times the weight [P] of the class (NULL: 1); returns the
    sum. f [P,held]. */
static double labels_logp(
		const probe_rows *r, const double *f, const double *weight, double t, double *logp)
{
	const ptrdiff_t P = r->P, held = r->held;
	const double *y = r->Y + (r->n - held) * P;
	double total = 0;
	for (ptrdiff_t i = 0; i < held; i++) {
		ptrdiff_t own = 0, top = 0;
		double others = 0;
		for (ptrdiff_t k = 0; k < P; k++) {
			if (y[i * P + k] > 0.5) own = k;
			if (f[k * held + i] > f[top * held + i]) top = k;
		}
		for (ptrdiff_t k = 0; k < P; k++)
			if (k != top) others += exp(t * (f[k * held + i] - f[top * held + i]));
		logp[i] = t * (f[own * held + i] - f[top * held + i]) - log1p(others);
		if (weight) logp[i] *= weight[own];
		total += logp[i];
	}
	return total;
}

/*  The same with the best t of a grid, 0.5 to 320. */
static void labels_score(
		const probe_rows *r, const double *f, const double *weight, double *logp)
{
	enum { GRID = 30 };
	double best = -HUGE_VAL, at = 0, t = 0.5;
	for (int k = 0; k < GRID; k++, t *= 1.25) {
		double sum = labels_logp(r, f, weight, t, logp);
		if (sum > best) best = sum, at = t;
	}
	labels_logp(r, f, weight, at, logp);
}

/*  Takes the means [P] of the labels that are fit from these; held ones stay. */
static void labels_centre(const probe_rows *r, double *mean)
{
	const ptrdiff_t P = r->P, n = r->n - r->held;
	for (ptrdiff_t i = 0; i < n * P; i++) mean[i % P] += r->Y[i] / (double)n;
	for (ptrdiff_t i = 0; i < n * P; i++) r->Y[i] -= mean[i % P];
}

/*  log p of the held rows' labels, or NULL if the fit fails. */
static double *labels_probe(const probe_rows *r, const double *mean, const double *weight,
		const probe_way *way, odvgp_info *info)
{
	const ptrdiff_t P = r->P, held = r->held;
	odvgp_server server;
	void *block = probe_fit(r, way, &server, info);
	if (!block) return NULL;
	double *f = take_doubles(P, held), *logp = take_doubles(held, 1);
	size_t size = odvgp_predict_scratch(&server, 256, NULL);
	void *scratch = take(size, 1);
	odvgp_status bad = odvgp_predict(
			&server, r->X + (r->n - held) * r->D, held, f, NULL, scratch, size, info);
	for (ptrdiff_t i = 0; i < P * held && !bad; i++) f[i] += mean[i / held];
	if (!bad) labels_score(r, f, weight, logp);
	free(scratch), free(block), free(f);
	if (!bad) return logp;
	free(logp);
	return NULL;
}

/*  Operations of all probes. */
static double kernel_flops(const dataset *d, double rows)
{
	double fit = 0.75 * rows, M = floor(rows / KERNEL_ROWS_A_POINT),
		   P = (double)d->s.targets[0].level_count,
		   pass = pass_flops(fit, M, (double)d->s.D) + 8 * fit * M * P;
	return CLASS_KERNELS * (1.25 * KERNEL_STEPS * pass + 4 * P * M * M * M);
}

/*  The rows that fit in `room` operations; 0: fewer than KERNEL_LEAST_ROWS. */
static ptrdiff_t kernel_rows(const dataset *d, double room)
{
	ptrdiff_t rows = smaller(d->train.n, KERNEL_ROWS);
	while (rows >= KERNEL_LEAST_ROWS && kernel_flops(d, (double)rows) > room) rows -= rows / 10;
	return rows >= KERNEL_LEAST_ROWS ? rows : 0;
}

/*  May the kernel be chosen? */
static int kernel_is_open(const options *o, const dataset *d)
{
	return !o->given[OPT_KERNEL] &&
		   (has_two_classes(d->s.likelihood) || has_class_functions(d->s.likelihood));
}

/*  The kernel of class_kernels that predicts held labels best: the first one, unless the gain exceeds
    its standard error and RACE_TIE. In at most `room` operations. */
static const char *kernel_choose(
		const options *o, const dataset *d, const workers *w, double room)
{
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x6b65726e656cu;
	ptrdiff_t rows = kernel_rows(d, room);
	if (!rows) return class_kernels[0];
	probe_rows r = probe_make(d, rows, MOST_CLASSES, seed);
	odvgp_watch watch = library_watch(w->watch);
	double *mean = take_doubles(r.P, 1), *first = NULL, most = 0, error;
	int best = 0;
	labels_centre(&r, mean);
	for (int k = 0; k < CLASS_KERNELS && (first || !k); k++) {
		odvgp_info info = no_info;
		char *kernel = levels_kernel(class_kernels[k], &d->s, d->levels);
		probe_way way = {kernel, rows / KERNEL_ROWS_A_POINT, KERNEL_STEPS, isa_of(o), &w->threads,
				&watch};
		watch_begin(w->watch, "comparing kernels");
		double *logp = labels_probe(&r, mean, d->class_weight, &way, &info);
		free(kernel);
		watch_end(w->watch);
		if (!logp && !o->given[OPT_QUIET])
			fprintf(stderr, "note: kernels are not compared: %s\n", info.text);
		if (!k) first = logp;
		if (!k || !logp) continue;
		double gain = paired_difference(logp, first, r.held, &error);
		if (!o->given[OPT_QUIET])
			fprintf(stderr, "auto: %s gains %.3g nats per held-out label over %s (standard error %.2g)\n",
					class_kernels[k], gain, class_kernels[0], error);
		if (gain > fmax(error, RACE_TIE) && gain > most) best = k, most = gain;
		free(logp);
	}
	free(first), free(mean), free(r.X), free(r.Y);
	return class_kernels[best];
}

#endif

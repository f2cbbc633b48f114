/*  kernels.h - the kernel that classes begin with.

    Where classes have borders along the inputs, as a tree finds them, laplacian(ard) is much better than
    matern52(ard), elsewhere as much worse (bench/results/classes.txt); a race that has room for both is
    long. A regression on labels of 0 and 1, in closed form and with few points, tells before: labels of
    rows held out have the probabilities softmax(t f), t for each kernel as is best for it. */
#ifndef TOOL_KERNELS_H
#define TOOL_KERNELS_H

#include "warm.h"

/*  The first one is the default of --kernel. */
static const char *const class_kernels[] = {"matern52(ard)", "laplacian(ard)"};
enum { CLASS_KERNELS = sizeof class_kernels / sizeof *class_kernels };

/*  Rows at most and at least; one in KERNEL_ROWS_A_POINT is a point; steps of L-BFGS. */
enum {
	KERNEL_ROWS = 3200,
	KERNEL_LEAST_ROWS = 400,
	KERNEL_ROWS_A_POINT = 16,
	KERNEL_STEPS = 25
};

/*  log softmax(t f) of the held rows' labels; returns the sum. f [P,held]. */
static double labels_logp(const probe_rows *r, const double *f, double t, double *logp)
{
	const ptrdiff_t P = r->P, held = r->held;
	const double *y = r->Y + (r->n - held) * P;
	double total = 0;
	for (ptrdiff_t i = 0; i < held; i++) {
		double most = -HUGE_VAL, sum = 0;
		ptrdiff_t own = 0;
		for (ptrdiff_t k = 0; k < P; k++) {
			most = fmax(most, t * f[k * held + i]);
			if (y[i * P + k] > y[i * P + own]) own = k;
		}
		for (ptrdiff_t k = 0; k < P; k++) sum += exp(t * f[k * held + i] - most);
		logp[i] = t * f[own * held + i] - most - log(sum);
		total += logp[i];
	}
	return total;
}

/*  The same with the best t of a grid. */
static void labels_score(const probe_rows *r, const double *f, double *logp)
{
	double best = -HUGE_VAL, at = 0;
	for (double t = 0.5; t < 400; t *= 1.25) {
		double sum = labels_logp(r, f, t, logp);
		if (sum > best) best = sum, at = t;
	}
	labels_logp(r, f, at, logp);
}

/*  Labels of 0 and 1 less their means [P] of the rows that are fit. */
static void labels_centre(const probe_rows *r, double *mean)
{
	const ptrdiff_t P = r->P, n = r->n - r->held;
	memset(mean, 0, (size_t)P * sizeof *mean);
	for (ptrdiff_t i = 0; i < n * P; i++) mean[i % P] += r->Y[i] / (double)n;
	for (ptrdiff_t i = 0; i < r->n * P; i++) r->Y[i] -= mean[i % P];
}

/*  log p of the held rows' labels, or NULL where there is none. */
static double *labels_probe(
		const probe_rows *r, const double *mean, const char *kernel, ptrdiff_t points, odvgp_isa isa)
{
	const ptrdiff_t P = r->P, held = r->held;
	odvgp_info info = no_info;
	odvgp_server server;
	void *block = probe_fit(r, kernel, points, KERNEL_STEPS, isa, &server, &info);
	if (!block) return NULL;
	double *f = take_doubles(P, held), *logp = take_doubles(held, 1);
	size_t size = odvgp_predict_scratch(&server, 256, NULL);
	void *scratch = take(size, 1);
	odvgp_status bad = odvgp_predict(
			&server, r->X + (r->n - held) * r->D, held, f, NULL, scratch, size, &info);
	for (ptrdiff_t i = 0; i < P * held && !bad; i++) f[i] += mean[i / held];
	if (!bad) labels_score(r, f, logp);
	free(scratch), free(block), free(f);
	if (!bad) return logp;
	free(logp);
	return NULL;
}

/*  Operations of all probes. */
static double kernel_flops(double rows, double D)
{
	double fit = 0.75 * rows, points = floor(rows / KERNEL_ROWS_A_POINT);
	return CLASS_KERNELS * 1.25 * KERNEL_STEPS * pass_flops(fit, points, D);
}

/*  Rows that fit in `room` operations; 0: they are too few to tell. */
static ptrdiff_t kernel_rows(const dataset *d, double room)
{
	double D = (double)d->s.D;
	ptrdiff_t rows = smaller(d->train.n, KERNEL_ROWS);
	while (rows >= KERNEL_LEAST_ROWS && kernel_flops((double)rows, D) > room) rows -= rows / 10;
	return rows >= KERNEL_LEAST_ROWS ? rows : 0;
}

/*  The kernel of class_kernels that predicts labels best, by more than a standard error of the paired
    differences to the first one; adds what that takes, at most `room`, to *flops. */
static const char *kernel_choose(const options *o, const dataset *d, double room, double *flops)
{
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x6b65726e656cu;
	ptrdiff_t rows = kernel_rows(d, room);
	int best = 0;
	double most = 0, error;
	if (!rows) return class_kernels[0];
	probe_rows r = probe_make(d, rows, MOST_CLASSES, seed);
	double *mean = take_doubles(r.P, 1), *first = NULL;
	labels_centre(&r, mean);
	for (int k = 0; k < CLASS_KERNELS && (first || !k); k++) {
		char *kernel = levels_kernel(class_kernels[k], &d->s, d->levels);
		double *logp = labels_probe(&r, mean, kernel, rows / KERNEL_ROWS_A_POINT, isa_of(o));
		free(kernel);
		if (!k) {
			first = logp;
			continue;
		}
		if (!logp) continue;
		double gain = paired_difference(logp, first, r.held, &error);
		if (!o->given[OPT_QUIET])
			fprintf(stderr, "auto: %s %+.3g nats a held label beside %s, standard error %.2g\n",
					class_kernels[k], gain, class_kernels[0], error);
		if (gain > error && gain > most) best = k, most = gain;
		free(logp);
	}
	free(first), free(mean), free(r.X), free(r.Y);
	*flops += kernel_flops((double)rows, (double)d->s.D);
	return class_kernels[best];
}

#endif

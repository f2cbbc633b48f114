/*  probe.h - a small model of some rows, and what it says of others: how --levels auto, --transform auto
    and the kernel of classes are chosen. */
#ifndef TOOL_PROBE_H
#define TOOL_PROBE_H

#include "dataset.h"
#include "race.h"

/*  At most this many rows, of which every fourth is held out; points of the model. */
enum { PROBE_ROWS = 2000, PROBE_POINTS = 100 };

/*  X [n,D] and Y [n,P]; the last `held` rows are held out. */
typedef struct probe_rows {
	ptrdiff_t n, held, D, P;
	double *X, *Y;
} probe_rows;

/*  Draws at most `count` training rows, a quarter of them held out, and gives the first `most` classes
    a column each: 0 and 1. */
static probe_rows probe_make(const dataset *d, ptrdiff_t count, int most, uint64_t seed)
{
	const schema *s = &d->s;
	const part *p = &d->train;
	int classes = has_classes(s->likelihood) ? s->targets[0].level_count : 0;
	probe_rows r = {smaller(p->n, count), 0, s->D,
			classes ? smaller(classes, most) : s->target_count, NULL, NULL};
	r.held = r.n / 4;
	r.X = take_doubles(r.n, s->D);
	r.Y = take_doubles(r.n, r.P);
	for (tile t = {0}; next_tile(&t, p, d->disk, TILE_X | TILE_Y);)
		for (ptrdiff_t i = 0, to; i < t.n; i++) {
			if ((to = permute(seed, p->n, t.first + i)) >= r.n) continue;
			memcpy(r.X + to * s->D, t.X + i * s->D, (size_t)s->D * sizeof *r.X);
			for (ptrdiff_t k = 0; k < r.P; k++)
				r.Y[to * r.P + k] = classes ? (double)((ptrdiff_t)t.Y[i] == k) : t.Y[i * r.P + k];
		}
	return r;
}

/*  How a probe is fit: at most so many points, steps of L-BFGS; threads, watch: or NULL. */
typedef struct probe_way {
	const char *kernel;
	ptrdiff_t points, steps;
	odvgp_isa isa;
	const odvgp_threads *threads;
	const odvgp_watch *watch;
} probe_way;

/*  A sparse model of the rows that are not held out; returns a server's block, which the caller frees,
    or NULL. */
static void *probe_fit(
		const probe_rows *r, const probe_way *way, odvgp_server *server, odvgp_info *info)
{
	ptrdiff_t n = r->n - r->held;
	odvgp_config c = odvgp_config_defaults(n, r->D, r->P, smaller(way->points, n / 4), 0);
	c.layer[0].kernel = way->kernel;
	c.objective = ODVGP_OBJECTIVE_COLLAPSED;
	c.optim.batch = n;
	c.isa = way->isa;
	c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
	if (way->threads) c.threads = *way->threads;
	odvgp_model *m = NULL;
	odvgp_status bad = odvgp_model_create(&m, &c, r->X, r->Y, NULL, info);
	if (!bad) bad = odvgp_fit(m, r->X, r->Y, way->steps, way->watch, info);
	size_t size = bad ? 0 : odvgp_fit_q_scratch(m, NULL),
		   block_size = bad ? 0 : odvgp_predictor_size(m, NULL);
	void *scratch = take(size, 1), *block = take(block_size, 1);
	if (!bad) bad = odvgp_fit_q(m, r->X, r->Y, NULL, scratch, size, info);
	if (!bad) bad = odvgp_freeze(m, NULL, block, block_size, info);
	if (!bad) bad = odvgp_server_from_block(server, block, block_size, way->isa, info);
	free(scratch);
	if (m) odvgp_model_free(m);
	if (!bad) return block;
	free(block);
	return NULL;
}

/*  log p of the rows held out by a model with PROBE_POINTS points, or NULL and a note. Rows are
    standardised. */
static double *probe_logp(
		const probe_rows *r, const char *kernel, ptrdiff_t steps, odvgp_isa isa, bytes *notes)
{
	ptrdiff_t n = r->n - r->held;
	odvgp_info info = no_info;
	odvgp_server server;
	probe_way way = {kernel, PROBE_POINTS, steps, isa, NULL, NULL};
	void *block = probe_fit(r, &way, &server, &info);
	double *logp = take_doubles(r->held, 1);
	odvgp_status bad = block ? ODVGP_OK : info.status;
	size_t size = bad ? 0 : odvgp_predict_scratch(&server, 256, NULL);
	void *scratch = take(size, 1);
	if (!bad)
		bad = odvgp_predict_logp(&server, r->X + n * r->D, r->Y + n * r->P, r->held, logp, scratch,
				size, &info);
	free(scratch), free(block);
	if (!bad) return logp;
	bytes_print(notes, "note: one comparison on rows held out is left out: %s\n", info.text);
	free(logp);
	return NULL;
}

/*  Standardises the rows by those that are fit. stays [D], or NULL: the columns that do not change. */
static void probe_scale(const probe_rows *r, const char *stays)
{
	ptrdiff_t D = r->D, P = r->P, n = r->n - r->held;
	double *mean = take_doubles(D + P, 1), *scale = take_doubles(D + P, 1);
	odvgp_column_scales(r->X, n, D, mean, scale, NULL);
	for (ptrdiff_t d = 0; d < D && stays; d++)
		if (stays[d]) mean[d] = 0, scale[d] = 1;
	odvgp_standardise(r->X, r->n, D, mean, scale, r->X, NULL);
	odvgp_column_scales(r->Y, n, P, mean + D, scale + D, NULL);
	odvgp_standardise(r->Y, r->n, P, mean + D, scale + D, r->Y, NULL);
	free(mean), free(scale);
}

#endif

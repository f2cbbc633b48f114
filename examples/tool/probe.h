/*  probe.h - a small model of some rows, and what it says of others: how --levels auto and --transform
    auto choose. */
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

/*  log p of the rows held out by a sparse model of the others after `steps` of L-BFGS, or NULL and a
    note. Rows are standardised. */
static double *probe_logp(
		const probe_rows *r, const char *kernel, ptrdiff_t steps, odvgp_isa isa, bytes *notes)
{
	ptrdiff_t n = r->n - r->held;
	odvgp_config c = odvgp_config_defaults(n, r->D, r->P, smaller(PROBE_POINTS, n / 4), 0);
	c.layer[0].kernel = kernel;
	c.objective = ODVGP_OBJECTIVE_COLLAPSED;
	c.optim.batch = n;
	c.isa = isa;
	c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
	odvgp_info info = no_info;
	odvgp_model *m = NULL;
	double *logp = take_doubles(r->held, 1);
	odvgp_status bad = odvgp_model_create(&m, &c, r->X, r->Y, NULL, &info);
	if (!bad) bad = odvgp_fit(m, r->X, r->Y, steps, NULL, &info);
	size_t size = bad ? 0 : odvgp_fit_q_scratch(m, NULL),
		   block_size = bad ? 0 : odvgp_predictor_size(m, NULL);
	void *scratch = take(size, 1), *block = take(block_size, 1);
	odvgp_server server;
	if (!bad) bad = odvgp_fit_q(m, r->X, r->Y, NULL, scratch, size, &info);
	if (!bad) bad = odvgp_freeze(m, NULL, block, block_size, &info);
	if (!bad) bad = odvgp_server_from_block(&server, block, block_size, isa, &info);
	free(scratch);
	size = bad ? 0 : odvgp_predict_scratch(&server, 256, NULL);
	scratch = take(size, 1);
	if (!bad)
		bad = odvgp_predict_logp(&server, r->X + n * r->D, r->Y + n * r->P, r->held, logp, scratch,
				size, &info);
	if (m) odvgp_model_free(m);
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

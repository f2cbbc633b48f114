/*  against_side.c - one build of odvgp.h for against.c. AGAINST_HEADER names the header. */
#define _POSIX_C_SOURCE 200809L
static void against_probe(int node, int reverse);
#define GP__PROBE(node, reverse) against_probe(node, reverse)
#define ODVGP_STATIC
#define ODVGP_IMPLEMENTATION
#ifndef AGAINST_HEADER
#define AGAINST_HEADER "odvgp.h"
#endif
#include AGAINST_HEADER
#include "against.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*  Since version 5 of the predictor, predictions take a server, and the tape numbers its nodes
    from 1. */
#if GP__PREDICTOR_VERSION >= 5
typedef odvgp_server against_server;
static odvgp_status against_freeze(
		odvgp_model *m, void *block, size_t bytes, against_server *s, odvgp_info *info)
{
	odvgp_status status = odvgp_freeze(m, NULL, block, bytes, info);
	return status ? status : odvgp_server_from_block(s, block, bytes, ODVGP_ISA_AUTO, info);
}
#define AGAINST_SERVER(m)  (&(m)->server)
#define AGAINST_NODE(m, i) (&(m)->tape.node[(i) + 1])
#define AGAINST_NODES(m)   ((m)->tape.nodes)
#define AGAINST_FIRST      1
#else
typedef const odvgp_predictor *against_server;
static odvgp_status against_freeze(
		odvgp_model *m, void *block, size_t bytes, against_server *s, odvgp_info *info)
{
	return odvgp_freeze(m, NULL, block, bytes, s, info);
}
#define AGAINST_SERVER(m)  ((m)->server)
#define AGAINST_NODE(m, i) (&(m)->tape.node[i])
#define AGAINST_NODES(m)   ((m)->tape.n)
#define AGAINST_FIRST      0
#endif

/*  Size queries take an odvgp_info since about the time at which this macro came. */
#ifdef GP__GIVES_VALUE
#define AGAINST_SIZE(query, ...) query(__VA_ARGS__, NULL)
#else
#define AGAINST_SIZE(query, ...) query(__VA_ARGS__)
#endif

enum { MOST_ROWS = 256, TOUCHED = 2 };

struct against_model {
	against_case c;
	odvgp_model *model;
	/* Of the predictor; NULL until the first prediction. */
	void *block, *scratch;
	size_t scratch_bytes;
	against_server server;
	double *mean, *var;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int failed(odvgp_status status, const char *what, const odvgp_info *info)
{
	if (status)
		fprintf(stderr, "against: %s: %s\n", what, info ? info->text : odvgp_status_text(status));
	return status != ODVGP_OK;
}

/* ---- a model ---- */

/*  Returns 0 if the name is unknown. */
static int set_member(odvgp_config *cfg, const char *name)
{
	size_t length = strlen(name);
	cfg->optim.natgrad = length > 3 && !strcmp(name + length - 3, "NAT");
	if (!strncmp(name, "COUPLED", 7)) return 1;
	if (!strncmp(name, "ORTH", 4)) return 1;
	if (!strcmp(name, "SOLVE-GP")) {
		cfg->optim.natgrad = 1;
		cfg->layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS;
		cfg->layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
		return 1;
	}
	if (!strcmp(name, "DECOUPLED")) {
		cfg->layer[0].mean_part = ODVGP_MEAN_PART_FREE;
		cfg->layer[0].cov_part = ODVGP_COV_PART_INVERSE;
		return 1;
	}
	if (!strcmp(name, "O(M)")) {
		cfg->layer[0].mean_part = ODVGP_MEAN_PART_FREE;
		cfg->layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
		return 1;
	}
	return 0;
}

static int has_gamma(const char *name)
{
	return strncmp(name, "COUPLED", 7) && strcmp(name, "O(M)");
}

/*  Sets the same points in every build, whatever its initialisation does. */
static int set_points(odvgp_model *model, const against_case *c)
{
	static const char *const names[] = {"Z_beta", "Z_gamma", "Z_alpha"};
	odvgp_info info;
	for (int i = 0; i < 3; i++) {
		const odvgp_slot *slot = odvgp_slot_find(model, names[i]);
		ptrdiff_t first = i ? c->M : 0, rows = i ? c->M_gamma : c->M;
		if (slot && failed(odvgp_set(model, names[i], c->X + first * c->D, rows * c->D, &info),
							names[i], &info))
			return 0;
	}
	return !failed(odvgp_init_q(model, &info), "q", &info);
}

static double step(against_model *m, int steps)
{
	odvgp_info info;
	double from = now();
	for (int i = 0; i < steps; i++)
		if (failed(odvgp_step(m->model, m->c.X, m->c.Y, NULL, &info), m->c.member, &info))
			return -1;
	return 1e3 * (now() - from) / steps;
}

static void release(against_model *m)
{
	if (!m) return;
	odvgp_model_free(m->model);
	free(m->block);
	free(m->scratch);
	free(m->mean);
	free(m->var);
	free(m);
}

/*  The model has made a few steps: the first ones touch its memory and do the work that comes once
    in a hundred steps. */
static against_model *make(const against_case *c)
{
	odvgp_config cfg =
			odvgp_config_defaults(c->N, c->D, c->P, c->M, has_gamma(c->member) ? c->M_gamma : 0);
	against_model *m = (against_model *)calloc(1, sizeof *m);
	odvgp_info info;
	if (!m) return NULL;
	m->c = *c;
	if (!set_member(&cfg, c->member)) {
		fprintf(stderr, "against: no member %s\n", c->member);
		goto fail;
	}
	cfg.layer[0].kernel = c->kernel;
	cfg.lik.noise_variance = 0.1;
	cfg.positive_transform = ODVGP_POSITIVE_TRANSFORM_EXP;
	cfg.optim.batch = c->batch;
	cfg.init.beta = ODVGP_INIT_BETA_RANDOM;
	if (failed(odvgp_model_create(&m->model, &cfg, c->X, c->Y, NULL, &info), c->member, &info))
		goto fail;
	if (!set_points(m->model, c) || step(m, TOUCHED) < 0) goto fail;
	return m;
fail:
	release(m);
	return NULL;
}

static unsigned long events(const against_model *m)
{
	odvgp_events e = odvgp_model_events(m->model);
	return (unsigned long)(e.jitter_raised + e.step_shortened + e.step_undone);
}

/* ---- predictions ---- */

static void *reserve(size_t bytes)
{
	void *p = NULL;
	if (posix_memalign(&p, 64, bytes)) return NULL;
	memset(p, 0, bytes);
	return p;
}

static int freeze(against_model *m)
{
	odvgp_info info;
	size_t bytes = AGAINST_SIZE(odvgp_predictor_size, m->model),
		   outputs = (size_t)(m->c.P * MOST_ROWS) * sizeof(double);
	m->block = reserve(bytes);
	if (!m->block ||
			failed(against_freeze(m->model, m->block, bytes, &m->server, &info), "freeze", &info))
		return 0;
	m->scratch_bytes = AGAINST_SIZE(odvgp_predict_scratch, AGAINST_SERVER(m), MOST_ROWS);
	m->scratch = reserve(m->scratch_bytes);
	m->mean = (double *)reserve(outputs);
	m->var = (double *)reserve(outputs);
	return m->scratch && m->mean && m->var;
}

static double predict(against_model *m, ptrdiff_t rows, int calls)
{
	if (rows > MOST_ROWS || (!m->block && !freeze(m))) return -1;
	double from = now();
	for (int i = 0; i < calls; i++) {
		const double *X = m->c.X + i % 16 * rows * m->c.D;
		odvgp_status status = odvgp_predict(
				AGAINST_SERVER(m), X, rows, m->mean, m->var, m->scratch, m->scratch_bytes, NULL);
		if (failed(status, "prediction", NULL)) return -1;
	}
	return 1e6 * (now() - from) / calls;
}

/* ---- time by operation ---- */

static struct {
	/* NULL: the probe measures nothing. */
	const odvgp_model *model;
	double from, seconds[AGAINST_OPERATIONS][2];
} probe;

static void against_probe(int node, int reverse)
{
	static int op;
	if (!probe.model) return;
	if (node >= AGAINST_FIRST) {
		op = (int)AGAINST_NODE(probe.model, node - AGAINST_FIRST)->op;
		probe.from = now();
	} else probe.seconds[op][reverse] += now() - probe.from;
}

static void keep_least(double *least, double t, int first)
{
	if (first || t < *least) *least = t;
}

/*  The work beside the tape comes last, as a pass forward. */
static int profile(against_model *m, int steps, against_operation *to)
{
	double all = 0;
	memset(to, 0, AGAINST_OPERATIONS * sizeof *to);
	probe.model = m->model;
	for (int i = 0; i < AGAINST_NODES(m->model); i++) to[AGAINST_NODE(m->model, i)->op].nodes++;
	for (int k = 0; k < steps && all >= 0; k++) {
		memset(probe.seconds, 0, sizeof probe.seconds);
		double rest = all = step(m, 1);
		for (int op = 0; op < GP__OPS; op++)
			for (int pass = 0; pass < 2; pass++) {
				double t = 1e3 * probe.seconds[op][pass];
				keep_least(&to[op].milliseconds[pass], t, !k);
				rest -= t;
			}
		keep_least(&to[GP__OPS].milliseconds[0], rest, !k);
	}
	for (int op = 0; op < GP__OPS; op++)
		snprintf(to[op].name, sizeof to[op].name, "%s", gp__ops[op].name);
	snprintf(to[GP__OPS].name, sizeof to[0].name, "beside");
	to[GP__OPS].nodes = 1;
	probe.model = NULL;
	return all < 0 ? -1 : (int)GP__OPS + 1;
}

extern const against_side against_side_here;
const against_side against_side_here = {make, release, step, predict, events, profile};

/*  Several processes train one model with the bits of one. Here ranks are threads, and the exchange
    copies from one to the other. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "hooks.h"
#include "test.h"
#include "models.h"
#include "setups.h"
#include <pthread.h>

enum { ROWS = 300, INPUTS = 3, MOST_COLUMNS = 3, MOST_RANKS = 8, NONE = -1 };

/* ---- ranks ---- */

/*  What rank `from` has for rank `to`. */
typedef struct box {
	const void *at;
	size_t bytes;
	int full;
} box;
typedef struct world {
	pthread_mutex_t mutex;
	pthread_cond_t change;
	box boxes[MOST_RANKS][MOST_RANKS];
	int dead;    /* a rank has ended: exchanges fail */
	int waiting; /* in wait_for_all */
	int unequal; /* partners whose messages differed in length */
} world;

typedef struct rank {
	world *w;
	int number, size;
	ptrdiff_t messages;
	size_t bytes, last;
	ptrdiff_t dies_at; /* the exchange at which it ends, counted from 1; 0: none */
	/* rows: its table; reads: each row's reads; failing: the row that it cannot read */
	const struct setup *s;
	const odvgp_real *X, *Y;
	ptrdiff_t reads[ROWS], failing, from, to, strange;
	/* watch: calls, and the one that says stop; 0: never */
	ptrdiff_t asked, stop;
	int variant;     /* of a test */
	int warm_starts; /* those of odvgp_fit; each takes 60 iterations or more */
	/* the thread's task and its result */
	void (*work)(struct rank *);
	odvgp_model *m;
	void *block, *file;
	size_t file_bytes;
	odvgp_status status[12];
	odvgp_info info;
	double sum;
	int calls;
} rank;

static odvgp_status swap(void *user, int partner, const void *send, void *receive, size_t bytes)
{
	rank *r = (rank *)user;
	world *w = r->w;
	box *mine = &w->boxes[r->number][partner], *theirs = &w->boxes[partner][r->number];
	odvgp_status s = ODVGP_OK;
	pthread_mutex_lock(&w->mutex);
	r->messages++;
	r->bytes += bytes;
	r->last = bytes;
	if (r->messages == r->dies_at) w->dead = 1;
	mine->at = send;
	mine->bytes = bytes;
	mine->full = 1;
	pthread_cond_broadcast(&w->change);
	while (!theirs->full && !w->dead) pthread_cond_wait(&w->change, &w->mutex);
	if (w->dead) s = ODVGP_E_IO;
	else {
		if (theirs->bytes != bytes) w->unequal++;
		else memcpy(receive, theirs->at, bytes);
		theirs->full = 0;
		pthread_cond_broadcast(&w->change);
		while (mine->full && !w->dead) pthread_cond_wait(&w->change, &w->mutex);
	}
	pthread_cond_broadcast(&w->change);
	pthread_mutex_unlock(&w->mutex);
	return s;
}

/*  Goes on when all ranks are here; once in a world. */
static void wait_for_all(rank *r)
{
	world *w = r->w;
	pthread_mutex_lock(&w->mutex);
	w->waiting++;
	pthread_cond_broadcast(&w->change);
	while (w->waiting < r->size) pthread_cond_wait(&w->change, &w->mutex);
	pthread_mutex_unlock(&w->mutex);
}

static void *run_rank(void *arg)
{
	rank *r = (rank *)arg;
	r->work(r);
	return NULL;
}

/*  Runs `size` ranks with rank[0].work; they begin as copies of rank[0] but for their numbers. */
static void run_ranks(rank *r, int size)
{
	pthread_t thread[MOST_RANKS];
	world *w = NEW(world, 1);
	int i;
	memset(w, 0, sizeof *w);
	pthread_mutex_init(&w->mutex, NULL);
	pthread_cond_init(&w->change, NULL);
	for (i = 0; i < size; i++) {
		r[i].w = w;
		r[i].number = i;
		r[i].size = size;
		r[i].work = r[0].work;
		CHECK(!pthread_create(&thread[i], NULL, run_rank, &r[i]));
	}
	for (i = 0; i < size; i++) pthread_join(thread[i], NULL);
	CHECK_INT(w->unequal, 0);
	pthread_mutex_destroy(&w->mutex);
	pthread_cond_destroy(&w->change);
	free(w);
}

/* ---- models ---- */

static const setup setups[] = {{"mean_part=orth optim.batch=90", 1, 1, 0},
		{"mean_part=orth optim.batch=90 optim.gamma_step=exact reproduce.update=natgrad_first", 2,
				2, 0},
		{"mean_part=blocks cov_part=blocks optim.batch=300 reproduce.update=adam_first "
		 "init.beta=greedy init.gamma=residual",
				1, 1, 0},
		{"mean_part=hybrid optim.batch=300 optim.gamma_step=diagonal init.beta=farthest", 1, 1, 0},
		{"mean_part=free cov_part=diagonal M_gamma=0 optim.batch=300", 1, 1, 0},
		{"mean_part=free cov_part=inverse optim.natgrad=off optim.batch=90", 1, 1, 0},
		{"mean_part=beta M_gamma=0 objective=collapsed optim.kind=lbfgs optim.natgrad=off "
		 "optim.batch=300",
				1, 1, 0},
		{"mean_part=beta M_gamma=0 optim.kind=lbfgs optim.natgrad=off optim.batch=300", 1, 1, 0},
		{"mean_part=blocks cov_part=blocks objective=partly optim.kind=lbfgs optim.natgrad=off "
		 "optim.batch=300 lik.weights=on lik.known_noise=on",
				1, 3, 0},
		{"mean_part=orth optim.batch=90 lik.kind=bernoulli lik.missing=on", 1, 1, 2},
		{"optim.batch=300 lik.kind=studentt", 1, 1, 0},
		{"mean_part=orth optim.batch=90 lik.kind=ordinal lik.classes=3", 1, 1, 3},
		{"mean_part=orth optim.batch=90 functions=2", 1, 2, 0},
		{"optim.batch=90 independent=on", 2, 2, 0},
		{"layers=2 layer0.P=2 layer0.mean_function=projection layer1.M=6 optim.batch=90", 1, 1, 0}};
enum { SETUPS = sizeof setups / sizeof *setups };

static odvgp_real X[ROWS * INPUTS], Y[ROWS * MOST_COLUMNS];

static void fill(const setup *s)
{
	test_seed = 17;
	setup_rows(s, X, Y, ROWS, INPUTS);
}

static odvgp_config config_of(const setup *s)
{
	odvgp_config c = odvgp_config_defaults(ROWS, INPUTS, s->outputs, 7, 9);
	c.isa = test_isa();
	c.shards = 8;
	c.tile = 12;
	if (setup_words(s, &c, NULL)) c.N = 0; /* refused later */
	return c;
}

static ptrdiff_t read_rows(
		void *user, const ptrdiff_t *rows, ptrdiff_t n, odvgp_real *x, odvgp_real *y)
{
	rank *r = (rank *)user;
	ptrdiff_t i, C = r->s->columns;
	for (i = 0; i < n; i++) {
		ptrdiff_t k = rows[i];
		if (k == r->failing) return i;
		if (k < 0 || k >= ROWS || k < r->from || k >= r->to) r->strange++;
		else r->reads[k]++;
		if (x) memcpy(x + i * INPUTS, X + k * INPUTS, INPUTS * sizeof *x);
		if (y) memcpy(y + i * C, Y + k * C, (size_t)C * sizeof *y);
	}
	return n;
}

static int ask(void *user, const odvgp_progress *progress)
{
	rank *r = (rank *)user;
	(void)progress;
	return ++r->asked == r->stop;
}

/*  The rank's model with a reader; the first status. */
static odvgp_status open_config(rank *r, const odvgp_config *c, odvgp_reduce *reduce)
{
	odvgp_status s = odvgp_model_create(&r->m, c, NULL, NULL, NULL, &r->info);
	odvgp_reader reader = {read_rows, NULL};
	odvgp_reduce own = {0, 0, swap, NULL, 11, 12, 0};
	size_t n = s ? 0 : odvgp_reader_size(r->m, &r->info);
	reader.user = r;
	if (!s && !n) return r->info.status;
	if (!s && !r->warm_starts) r->m->warm_due = 0;
	if (!s) r->block = malloc(n);
	if (!s) s = odvgp_set_reader(r->m, &reader, r->block, n, &r->info);
	own.rank = r->number;
	own.size = r->size;
	own.user = r;
	if (reduce) {
		own.program += reduce->program;
		own.table += reduce->table;
		own.cut = reduce->cut;
	}
	r->from = 0;
	r->to = ROWS;
	if (own.cut && !s) s = odvgp_rank_rows(r->m, r->number, r->size, &r->from, &r->to, &r->info);
	if (!s && r->variant == 5 && r->number == 3) set_number(r->m, "noise_variance", 0.7);
	if (!s && r->variant == 8 && r->number == 3) odvgp_set_trainable(r->m, "Z_beta", 0, NULL);
	if (!s) s = odvgp_set_reduce(r->m, &own, &r->info);
	return s;
}
static odvgp_status open_rank(rank *r, odvgp_reduce *reduce)
{
	odvgp_config c = config_of(r->s);
	r->failing = r->failing ? r->failing : NONE;
	return open_config(r, &c, reduce);
}

/*  The model's file. */
static void keep(rank *r)
{
	free(r->file);
	r->file = NULL;
	r->file_bytes = r->m ? odvgp_save_size(r->m, 0, NULL) : 0;
	if (!r->file_bytes) return;
	r->file = malloc(r->file_bytes);
	if (odvgp_save_memory(r->m, NULL, NULL, 0, r->file, r->file_bytes, NULL)) r->file_bytes = 0;
}
/*  What an error must not change. */
static void keep_parameters(rank *r)
{
	const bytes now = parameters(r->m);
	free(r->file);
	r->file = now.at;
	r->file_bytes = now.count;
}
static int same(const rank *a, const rank *b)
{
	return a->file_bytes > 0 && a->file_bytes == b->file_bytes &&
		   !memcmp(a->file, b->file, a->file_bytes);
}
static void shut(rank *r)
{
	odvgp_model_free(r->m);
	free(r->block), free(r->file);
	memset(r, 0, sizeof *r);
}

/* ---- calls that sum over rows ---- */

enum { INIT, SCALES, WARM, FIT, NATGRAD, ELBO, SOME, STEP, UPPER, FIT_Q, CALLS };
static const char *const call_name[CALLS] = {"odvgp_init_data", "odvgp_reader_scales",
		"odvgp_warm_start", "odvgp_fit", "odvgp_natgrad_step", "odvgp_elbo", "odvgp_elbo, n < N",
		"odvgp_step", "odvgp_upper_bound", "odvgp_fit_q"};

static odvgp_status call(rank *r, int kind)
{
	odvgp_model *m = r->m;
	odvgp_info *info = &r->info;
	odvgp_status s = ODVGP_OK;
	odvgp_report report;
	odvgp_real v = 0, w = 0, mean[INPUTS] = {0}, scale[INPUTS] = {0};
	odvgp_watch watch = {ask, NULL};
	const odvgp_warm few = {0, 0, 5, 0};
	size_t n = kind == WARM    ? odvgp_warm_start_scratch(m, &few, info)
			   : kind >= UPPER ? odvgp_fit_q_scratch(m, info)
							   : 1;
	void *scratch = malloc(n ? n : 1);
	watch.user = r;
	memset(&report, 0, sizeof report);
	if (kind == INIT) s = odvgp_init_data(m, NULL, NULL, r->stop ? &watch : NULL, info);
	if (kind == SCALES) s = odvgp_reader_scales(m, mean, scale, info);
	if (kind == WARM)
		s = odvgp_warm_start(m, NULL, NULL, &few, r->stop ? &watch : NULL, scratch, n, info);
	if (kind == FIT)
		s = odvgp_fit(m, NULL, NULL, 3 - odvgp_steps_done(m), r->stop ? &watch : NULL, info);
	if (kind == NATGRAD) s = odvgp_natgrad_step(m, NULL, NULL, ROWS, (odvgp_real)0.3, &v, info);
	if (kind == ELBO) s = odvgp_elbo(m, NULL, NULL, ROWS, &v, &w, NULL, info);
	if (kind == SOME) s = odvgp_elbo(m, NULL, NULL, 150, &v, &w, NULL, info);
	if (kind == FIT_Q) s = odvgp_fit_q(m, NULL, NULL, r->stop ? &watch : NULL, scratch, n, info);
	if (kind == UPPER) s = odvgp_upper_bound(m, NULL, NULL, &v, &w, scratch, n, info);
	if (kind == STEP) s = odvgp_step(m, NULL, NULL, &report, info);
	free(scratch);
	r->sum += (double)report.elbo + (double)v + (double)w + (double)mean[1] + (double)scale[2];
	return s;
}

/*  All calls; those that a model does not have are the same error on all ranks. */
static void all_calls(rank *r)
{
	odvgp_reduce none;
	memset(&none, 0, sizeof none);
	if (open_rank(r, &none)) return;
	for (r->calls = 0; r->calls < CALLS; r->calls++) r->status[r->calls] = call(r, r->calls);
	keep(r);
}
static void cut_calls(rank *r)
{
	odvgp_reduce cut;
	memset(&cut, 0, sizeof cut);
	cut.cut = 1;
	if (open_rank(r, &cut)) return;
	for (r->calls = 0; r->calls < CALLS; r->calls++)
		if (r->calls != SOME) r->status[r->calls] = call(r, r->calls);
	keep(r);
}

/*  Compares `size` ranks with one process, and ends them. */
static void compare(rank *one, rank *r, int size, const setup *s)
{
	int i, k;
	for (i = 0; i < size; i++) {
		CHECK_SAY(r[i].calls == CALLS, "%s: %d ranks: %s", s->settings, size, r[i].info.text);
		for (k = 0; k < CALLS; k++)
			CHECK_SAY(r[i].status[k] == one->status[k], "%s: %d ranks, %s: %s; one process: %s",
					s->settings, size, call_name[k], odvgp_status_text(r[i].status[k]),
					odvgp_status_text(one->status[k]));
		CHECK_SAY(!memcmp(&r[i].sum, &one->sum, sizeof one->sum), "%s: %d ranks: %.17g and %.17g",
				s->settings, size, r[i].sum, one->sum);
		CHECK_SAY(same(one, &r[i]), "%s: rank %d of %d has another file than one process",
				s->settings, i, size);
		CHECK_INT(r[i].strange, 0);
		shut(&r[i]);
	}
}

/*  Every member and optimiser; likelihoods with parameters of the data; layers. */
TEST(ranks_have_the_bits_of_one_process)
{
	int k, size;
	for (k = 0; k < SETUPS; k++) {
		rank one, r[MOST_RANKS];
		memset(&one, 0, sizeof one), memset(r, 0, sizeof r);
		fill(&setups[k]);
		one.s = &setups[k];
		one.warm_starts = k == 0;
		one.work = all_calls;
		run_ranks(&one, 1);
		CHECK_SAY(one.calls == CALLS && one.status[INIT] == ODVGP_OK && one.status[FIT] == ODVGP_OK,
				"%s: %s", setups[k].settings, one.info.text);
		for (size = 2; size <= MOST_RANKS; size *= 2) {
			int i;
			/* All sizes for three models, one for each of the others. */
			if (k != 0 && k != 2 && k != 6 && size != (k % 2 ? 4 : 2)) continue;
			for (i = 0; i < size; i++) r[i].s = &setups[k], r[i].warm_starts = k == 0;
			r[0].work = all_calls;
			run_ranks(r, size);
			compare(&one, r, size, &setups[k]);
		}
		shut(&one);
	}
}

/*  Each rank has only its rows of the table: the same bits, except for minibatches, which are
    refused. */
TEST(tables_cut_by_rank_serve_full_batch_bounds)
{
	int k, i, j;
	for (k = 0; k < SETUPS; k++) {
		int minibatches = strstr(setups[k].settings, "batch=90") != NULL;
		rank one, r[MOST_RANKS];
		if (k && minibatches) continue;
		memset(&one, 0, sizeof one), memset(r, 0, sizeof r);
		fill(&setups[k]);
		one.s = &setups[k];
		one.work = cut_calls;
		run_ranks(&one, 1);
		for (i = 0; i < 4; i++) r[i].s = &setups[k];
		r[0].work = cut_calls;
		run_ranks(r, 4);
		if (!minibatches) compare(&one, r, 4, &setups[k]);
		for (i = 0; i < 4 && minibatches; i++) {
			CHECK_STATUS(r[i].status[STEP], ODVGP_E_UNSUPPORTED);
			CHECK_SAY(strstr(r[i].info.text, "tables cut by rank serve full-batch bounds only"),
					"%s", r[i].info.text);
			CHECK_STATUS(r[i].status[INIT], ODVGP_OK);
			CHECK_STATUS(r[i].status[WARM], ODVGP_OK);
			CHECK_STATUS(r[i].status[ELBO], ODVGP_OK);
			CHECK_INT(r[i].strange, 0);
		}
		for (j = 0; j < 4; j++) shut(&r[j]);
		shut(&one);
	}
}

/* ---- what a rank reads and sends ---- */

static void step_and_bound(rank *r)
{
	odvgp_real v;
	memset(r->status, 0xff, sizeof r->status);
	if (open_rank(r, NULL) || (r->status[0] = call(r, INIT))) return;
	memset(r->reads, 0, sizeof r->reads);
	wait_for_all(r); /* all models are made */
	int before = test_allocations;
	r->messages = 0;
	r->bytes = 0;
	r->status[1] = odvgp_step(r->m, NULL, NULL, NULL, &r->info);
	r->calls = 0;
	for (ptrdiff_t i = 0; i < ROWS; i++) r->calls += (int)r->reads[i];
	r->status[2] = odvgp_elbo(r->m, NULL, NULL, ROWS, &v, NULL, NULL, &r->info);
	r->variant = test_allocations - before;
}

/*  A step reads each row of the batch on one rank, and a bound each row of the data. log2(size)
    messages add up the sums: of a step all, of a bound those that it needs. */
TEST(a_rank_reads_its_rows_and_sends_its_sums)
{
	int size, i, k;
	for (size = 1; size <= MOST_RANKS; size *= 2) {
		rank r[MOST_RANKS];
		ptrdiff_t total[ROWS], batch = 0, levels = 0, row;
		memset(r, 0, sizeof r), memset(total, 0, sizeof total);
		fill(&setups[0]);
		for (i = 0; i < size; i++) r[i].s = &setups[0];
		r[0].work = step_and_bound;
		run_ranks(r, size);
		while (1 << levels < size) levels++;
		for (i = 0; i < size; i++) {
			const gp__tape *t = &r[i].m->tape;
			CHECK(!r[i].status[0] && !r[i].status[1] && !r[i].status[2]);
			CHECK_INT(r[i].messages, 2 * levels);
			CHECK_INT(r[i].variant, 0);
			CHECK_INT(r[i].bytes, (size_t)levels * (128 + (size_t)(t->all_sums + t->forward_sums) *
																   sizeof(odvgp_real)));
			batch += r[i].calls;
			for (row = 0; row < ROWS; row++) total[row] += r[i].reads[row];
		}
		CHECK_INT(batch, 90);
		for (k = 0, row = 0; row < ROWS; row++) k += total[row] < 1 || total[row] > 2;
		CHECK_INT(k, 0);
		for (i = 0; i < size; i++) shut(&r[i]);
	}
}

/* ---- errors ---- */

enum { RANKS = 4, BAD = 170 };

/*  Opens, initialises; then the rank that has it cannot read row BAD, or the row is NaN. */
static void bad_row(rank *r)
{
	static const int kinds[] = {INIT, WARM, ELBO, STEP, FIT_Q};
	int k, fails = r->variant == 1;
	void *before;
	r->failing = NONE;
	memset(r->status, 0xff, sizeof r->status);
	if (open_rank(r, NULL) || call(r, INIT)) return;
	keep_parameters(r);
	before = r->file;
	r->file = NULL;
	r->failing = fails ? BAD : NONE;
	for (k = 0; k < 5; k++) {
		r->info = no_info();
		r->status[k] = call(r, kinds[k]);
		keep_parameters(r);
		if (memcmp(before, r->file, r->file_bytes)) r->strange++;
		if (r->info.row != BAD || !r->info.what || !strstr(r->info.text, "170")) r->strange++;
		if (r->status[k] == ODVGP_OK) break;
	}
	free(before);
}

/*  Rank 2 cannot read a row that is its own (of a sample: that all read): an error on all, with the
    row, that leaves each model as it was. */
TEST(a_bad_row_on_one_rank_is_an_error_on_all)
{
	static const int models[] = {2, 6, 10};
	int n, i, k;
	for (n = 0; n < 3; n++) {
		const setup *s = &setups[models[n]];
		rank r[RANKS];
		memset(r, 0, sizeof r);
		fill(s);
		for (i = 0; i < RANKS; i++) r[i].s = s;
		r[2].variant = 1;
		r[0].work = bad_row;
		run_ranks(r, RANKS);
		for (i = 0; i < RANKS; i++) {
			for (k = 0; k < 4; k++)
				CHECK_SAY(r[i].status[k] == ODVGP_E_IO, "%s: rank %d, call %d: %s", s->settings, i,
						k, odvgp_status_text(r[i].status[k]));
			if (n < 2) CHECK_STATUS(r[i].status[4], ODVGP_E_IO);
			CHECK_INT(r[i].strange, n == 2);
			shut(&r[i]);
		}
	}
}

static void not_a_number(rank *r)
{
	odvgp_real v;
	memset(r->status, 0xff, sizeof r->status);
	if (open_rank(r, NULL)) return;
	r->status[0] = call(r, INIT);
	r->status[1] = odvgp_elbo(r->m, NULL, NULL, ROWS, &v, NULL, NULL, &r->info);
}
TEST(the_first_row_that_is_not_finite_is_named_on_all)
{
	rank r[RANKS];
	int i;
	memset(r, 0, sizeof r);
	fill(&setups[2]);
	X[250 * INPUTS] = Y[BAD] = (odvgp_real)NAN;
	for (i = 0; i < RANKS; i++) r[i].s = &setups[2];
	r[0].work = not_a_number;
	run_ranks(r, RANKS);
	for (i = 0; i < RANKS; i++) {
		CHECK_STATUS(r[i].status[0], ODVGP_E_NAN);
		CHECK_STATUS(r[i].status[1], ODVGP_E_NAN);
		CHECK_INT(r[i].info.row, BAD);
		CHECK(r[i].info.what && !strcmp(r[i].info.what, "Y"));
		shut(&r[i]);
	}
}

/*  A partner dies: an error on all, and again in each later call; models are as they were. */
static void die(rank *r)
{
	void *before;
	memset(r->status, 0xff, sizeof r->status);
	if (open_rank(r, NULL) || call(r, INIT)) return;
	keep_parameters(r);
	before = r->file;
	r->file = NULL;
	wait_for_all(r);
	r->dies_at = r->number == 1 ? r->messages + 1 + r->variant : 0;
	do r->status[0] = call(r, STEP);
	while (!r->status[0] && (keep_parameters(r), memcpy(before, r->file, r->file_bytes)));
	keep_parameters(r);
	r->strange = memcmp(before, r->file, r->file_bytes) != 0;
	r->status[1] = call(r, STEP);
	free(before);
}
TEST(a_failed_exchange_is_an_error_that_stays)
{
	static const int models[] = {0, 1, 2, 7};
	int n, i, when;
	for (n = 0; n < 4; n++)
		for (when = 0; when < 5; when += 1 + n / 2) {
			rank r[RANKS];
			memset(r, 0, sizeof r);
			fill(&setups[models[n]]);
			for (i = 0; i < RANKS; i++) r[i].s = &setups[models[n]], r[i].variant = when;
			r[0].work = die;
			run_ranks(r, RANKS);
			for (i = 0; i < RANKS; i++) {
				CHECK_SAY(r[i].status[0] == ODVGP_E_IO && r[i].status[1] == ODVGP_E_IO, "%s: %s",
						setups[models[n]].settings, odvgp_status_text(r[i].status[0]));
				CHECK_SAY(strstr(r[i].info.text, "exchange") != NULL, "%s", r[i].info.text);
				CHECK_SAY(!r[i].strange, "%s: rank %d, exchange %d: the model changed",
						setups[models[n]].settings, i, when);
				shut(&r[i]);
			}
		}
}

/* ---- decisions ---- */

static void stopped(rank *r)
{
	ptrdiff_t stop = r->stop;
	memset(r->status, 0xff, sizeof r->status);
	r->stop = 0;
	if (open_rank(r, NULL) || call(r, INIT)) return;
	r->stop = stop;
	r->asked = 0;
	r->status[0] = call(r, FIT);
	r->calls = (int)odvgp_steps_done(r->m);
	r->stop = 0;
	r->status[1] = call(r, FIT);
	keep(r);
}
/*  A watch of one rank says stop, at its k-th call: all end after the same step, and go on as if
    nothing had been. */
TEST(a_watch_on_one_rank_stops_all)
{
	static const int models[] = {0, 7};
	int n, i, k, late = 0;
	for (n = 0; n < 2; n++) {
		rank one, r[RANKS];
		memset(&one, 0, sizeof one);
		fill(&setups[models[n]]);
		one.s = &setups[models[n]];
		one.stop = 1000000;
		one.work = stopped;
		run_ranks(&one, 1);
		CHECK(one.asked > 3 && one.status[0] == ODVGP_OK);
		for (k = 0; k < 4; k++) {
			ptrdiff_t when = k ? one.asked - 4 + k : 2;
			memset(r, 0, sizeof r);
			for (i = 0; i < RANKS; i++) r[i].s = one.s, r[i].stop = i == 3 ? when : 1000000;
			r[0].work = stopped;
			run_ranks(r, RANKS);
			for (i = 0; i < RANKS; i++) {
				CHECK_SAY(r[i].status[0] == ODVGP_E_STOPPED && r[i].calls == r[0].calls,
						"%s: stop of rank 3 at call %ld: rank %d ends after step %d, rank 0 after "
						"%d",
						one.s->settings, (long)when, i, r[i].calls, r[0].calls);
				late += r[i].calls > 0 && r[i].calls < 3;
				CHECK_SAY(same(&one, &r[i]), "%s: a stop of rank 3 at call %ld changes bits",
						one.s->settings, (long)when);
			}
			for (i = 0; i < RANKS; i++) shut(&r[i]);
		}
		shut(&one);
	}
	CHECK(late > 0);
}

/* ---- what is refused ---- */

static void differ(rank *r)
{
	odvgp_config c = config_of(r->s);
	odvgp_reduce reduce;
	int odd = r->number == 3;
	memset(&reduce, 0, sizeof reduce);
	reduce.program = odd && r->variant == 0;
	reduce.table = odd && r->variant == 1;
	if (odd && r->variant == 2) c.seed = 5;
	if (odd && r->variant == 3) c.optim.lr.end *= 2;
	if (odd && r->variant == 4) c.layer[0].kernel = "matern32()";
	if (odd && r->variant == 6) c.isa = ODVGP_ISA_C;
	r->status[0] = open_config(r, &c, &reduce);
}
TEST(ranks_that_differ_are_told_how)
{
	static const char *const want[] = {"executable", "table", "config", "config", "config",
			"parameters", "instruction set", "", "state"};
	int k, i;
	fill(&setups[0]);
	for (k = 0; k < 9; k++) {
		rank r[RANKS];
		memset(r, 0, sizeof r);
		for (i = 0; i < RANKS; i++) r[i].s = &setups[0], r[i].variant = k;
		r[0].work = differ;
		run_ranks(r, RANKS);
		for (i = 0; i < RANKS; i++) {
			int alike = k == 7 || (k == 6 && r[0].m->tape.blas.isa == r[3].m->tape.blas.isa);
			CHECK_SAY(r[i].status[0] == (alike ? ODVGP_OK : ODVGP_E_ARG) &&
							  (alike || strstr(r[i].info.text, want[k])),
					"%d: rank %d: %s", k, i, r[i].info.text);
		}
		for (i = 0; i < RANKS; i++) shut(&r[i]);
	}
}

static odvgp_status never(void *user, int partner, const void *send, void *receive, size_t bytes)
{
	(void)partner, (void)send, (void)receive, (void)bytes;
	++*(int *)user;
	return ODVGP_OK;
}
static odvgp_status fails(void *user, int partner, const void *send, void *receive, size_t bytes)
{
	(void)never(user, partner, send, receive, bytes);
	return ODVGP_E_IO;
}

TEST(what_cannot_be_shared_is_refused)
{
	static const int bad[][2] = {{0, 3}, {0, 16}, {0, 0}, {-1, 2}, {2, 2}, {0, -2}};
	static const setup whole[] = {{"mean_part=beta M_gamma=0 optim.natgrad=off objective=tight "
								   "optim.batch=300",
										  1, 1, 0},
			{"mean_part=free cov_part=diagonal M=300 M_gamma=0 optim.natgrad=off objective=exact "
			 "optim.batch=300",
					1, 1, 0}};
	int calls = 0;
	size_t k;
	odvgp_reduce reduce = {0, 2, never, NULL, 0, 0, 0};
	odvgp_config c = config_of(&setups[0]);
	odvgp_model *m = NULL;
	ptrdiff_t from, to;
	reduce.user = &calls;
	fill(&setups[0]);
	CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
	for (k = 0; k < sizeof bad / sizeof *bad; k++) {
		odvgp_reduce other = reduce;
		other.rank = bad[k][0];
		other.size = bad[k][1];
		CHECK_STATUS(odvgp_set_reduce(m, &other, NULL), ODVGP_E_ARG);
		CHECK_STATUS(odvgp_rank_rows(m, bad[k][0], bad[k][1], &from, &to, NULL), ODVGP_E_ARG);
	}
	reduce.exchange = NULL;
	CHECK_STATUS(odvgp_set_reduce(m, &reduce, NULL), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_set_reduce(NULL, &reduce, NULL), ODVGP_E_ARG);
	reduce.exchange = never;
	reduce.size = 1; /* one process has no partner */
	CHECK_STATUS(odvgp_set_reduce(m, &reduce, NULL), ODVGP_OK);
	{ /* an error leaves the sharing as it was: of an argument, of the comparison of ranks */
		int asked = 0;
		const odvgp_reduce shared = {1, 2, never, &asked, 0, 0, 0};
		m->tape.tree->ranks->given = shared;
		for (k = 0; k < 3; k++) {
			odvgp_reduce other = {0, k ? 2 : 3, k == 1 ? NULL : fails, &asked, 0, 0, 0};
			CHECK_STATUS(odvgp_set_reduce(m, &other, NULL), k < 2 ? ODVGP_E_ARG : ODVGP_E_IO);
			const gp__ranks *r = gp__ranks_of(m);
			CHECK(r && r->given.exchange == never && r->given.rank == 1 && !r->broken);
		}
		CHECK_INT(asked, 1);
	}
	CHECK_STATUS(odvgp_set_reduce(m, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_step(m, X, Y, NULL, NULL), ODVGP_OK);
	CHECK_INT(calls, 0);
	CHECK_STATUS(odvgp_rank_rows(m, 1, 2, &from, NULL, NULL), ODVGP_E_ARG);
	odvgp_model_free(m);
	for (k = 0; k < 2; k++) {
		odvgp_info info = no_info();
		c = config_of(&whole[k]);
		c.shards = 8;
		CHECK_SAY(odvgp_model_create(&m, &c, NULL, NULL, NULL, &info) == ODVGP_OK, "%s", info.text);
		reduce.size = 2;
		CHECK_STATUS(odvgp_set_reduce(m, &reduce, NULL), ODVGP_E_UNSUPPORTED);
		odvgp_model_free(m);
	}
	CHECK_INT(calls, 0);
	/* The rows of ranks make the table. */
	c = config_of(&setups[0]);
	CHECK_STATUS(odvgp_model_create(&m, &c, NULL, NULL, NULL, NULL), ODVGP_OK);
	for (k = 0, to = 0; k < 8; k++) {
		ptrdiff_t last = to;
		CHECK_STATUS(odvgp_rank_rows(m, (int)k, 8, &from, &to, NULL), ODVGP_OK);
		CHECK(from == last && to >= from);
	}
	CHECK_INT(to, ROWS);
	odvgp_model_free(m);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(ranks_have_the_bits_of_one_process);
	RUN(tables_cut_by_rank_serve_full_batch_bounds);
	RUN(a_rank_reads_its_rows_and_sends_its_sums);
	RUN(a_bad_row_on_one_rank_is_an_error_on_all);
	RUN(the_first_row_that_is_not_finite_is_named_on_all);
	RUN(a_failed_exchange_is_an_error_that_stays);
	RUN(a_watch_on_one_rank_stops_all);
	RUN(ranks_that_differ_are_told_how);
	RUN(what_cannot_be_shared_is_refused);
	return test_end();
}

/*  ranks.c - what several processes gain (odvgp_set_reduce). Ranks are threads here, each with its
    own model, as processes of one machine would be; what they send is counted, and from that and
    from the times of one rank the time over a network is modelled.

        make bench-ranks

    Rows come from a callback that computes row i: N may be any number. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { INPUTS = 11, MOST = 16, SHARDS = 16, REPEATS = 7 };

typedef struct setting {
	const char *name;
	ptrdiff_t M, Mg;
	const char *words[4];
} setting;
static const setting settings[] = {{"ORTH, 300 + 700 points", 300, 700, {0}},
		{"COUPLED, 500 points", 500, 0, {0}},
		{"SGPR's bound, 300 points", 300, 0,
				{"mean_part=beta", "objective=collapsed", "optim.kind=lbfgs",
						"optim.natgrad=off"}}};
enum { SETTINGS = sizeof settings / sizeof *settings };

/*  Mail from one rank to another. */
typedef struct box {
	const void *at;
	int full;
} box;

typedef struct job {
	const setting *set;
	ptrdiff_t N, batch;
	int size, warm, rank;
	/* results: least milliseconds of a step, or a bound with its gradient; what a rank sends in one,
	   to one partner; seconds of a warm start */
	double ms, seconds;
	size_t messages, bytes;
	odvgp_info info;
	odvgp_status status;
} job;

static box boxes[MOST][MOST];

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void until(int *full, int value)
{
	for (long i = 0; __atomic_load_n(full, __ATOMIC_ACQUIRE) != value; i++)
		if (i > 2000) sched_yield();
}

static odvgp_status exchange(void *user, int partner, const void *send, void *receive, size_t bytes)
{
	job *j = (job *)user;
	box *mine = &boxes[j->rank][partner], *theirs = &boxes[partner][j->rank];
	mine->at = send;
	__atomic_store_n(&mine->full, 1, __ATOMIC_RELEASE);
	until(&theirs->full, 1);
	memcpy(receive, theirs->at, bytes);
	__atomic_store_n(&theirs->full, 0, __ATOMIC_RELEASE);
	until(&mine->full, 0);
	j->messages++;
	j->bytes += bytes;
	return ODVGP_OK;
}

static ptrdiff_t make_rows(void *user, const ptrdiff_t *rows, ptrdiff_t n, double *X, double *Y)
{
	(void)user;
	for (ptrdiff_t i = 0; i < n; i++) {
		uint64_t h = (uint64_t)rows[i] * 0x9e3779b97f4a7c15u + 1;
		double x[INPUTS], y = 0;
		for (int d = 0; d < INPUTS; d++) {
			h ^= h >> 27, h *= 0x94d049bb133111ebu, h ^= h >> 31;
			x[d] = (double)(h >> 11) / 9007199254740992.0 * 3.4 - 1.7;
			y += x[d] * (d % 2 ? x[d] : 0.5);
		}
		if (X) memcpy(X + i * INPUTS, x, sizeof x);
		if (Y) Y[i] = 0.5 * y + 0.1 * ((double)(h & 1023) / 512 - 1);
	}
	return n;
}

/*  Inducing points at the first rows: no pass over N rows before the steps. */
static odvgp_status place(odvgp_model *m, const char *slot, ptrdiff_t from, ptrdiff_t n)
{
	double *Z = malloc((size_t)(n * INPUTS + 1) * sizeof *Z);
	ptrdiff_t *rows = malloc((size_t)(n + 1) * sizeof *rows);
	odvgp_status s = n ? ODVGP_E_MEMORY : ODVGP_OK;
	if (n && Z && rows) {
		for (ptrdiff_t i = 0; i < n; i++) rows[i] = from + i;
		make_rows(NULL, rows, n, Z, NULL);
		s = odvgp_set(m, slot, Z, n * INPUTS, NULL);
	}
	free(Z), free(rows);
	return s;
}

static odvgp_status measure(job *j, odvgp_model *m)
{
	odvgp_status s = ODVGP_OK;
	double bound, *grad = malloc((size_t)odvgp_param_count(m) * sizeof *grad);
	size_t scratch_bytes = j->warm ? odvgp_warm_start_scratch(m, NULL, &j->info) : 0;
	void *scratch = malloc(scratch_bytes + 1);
	double from = now();
	if (j->warm) s = odvgp_warm_start(m, NULL, NULL, NULL, NULL, scratch, scratch_bytes, &j->info);
	j->seconds = now() - from;
	j->ms = 1e300;
	for (int i = 0; i <= REPEATS && !s; i++) {
		j->messages = j->bytes = 0;
		from = now();
		s = j->set->words[0] ? odvgp_elbo(m, NULL, NULL, j->N, &bound, NULL, grad, &j->info)
							 : odvgp_step(m, NULL, NULL, NULL, &j->info);
		double ms = 1e3 * (now() - from);
		if (i && ms < j->ms) j->ms = ms;
	}
	free(scratch), free(grad);
	return s;
}

static void *run(void *arg)
{
	job *j = (job *)arg;
	odvgp_config c = odvgp_config_defaults(j->N, INPUTS, 1, j->set->M, j->set->Mg);
	odvgp_model *m = NULL;
	const odvgp_reader reader = {make_rows, NULL};
	odvgp_reduce reduce = {0, 1, exchange, NULL, 0, 0, 0};
	reduce.rank = j->rank;
	reduce.size = j->size;
	reduce.user = j;
	c.shards = SHARDS;
	c.optim.batch = j->batch;
	odvgp_status s = ODVGP_OK;
	for (int i = 0; i < 4 && j->set->words[i] && !s; i++)
		s = odvgp_config_set(&c, j->set->words[i], &j->info);
	if (!s) s = odvgp_model_create(&m, &c, NULL, NULL, NULL, &j->info);
	size_t bytes = s ? 0 : odvgp_reader_size(m, &j->info);
	void *block = malloc(bytes + 1);
	if (!s) s = odvgp_set_reader(m, &reader, block, bytes, &j->info);
	if (!s) s = place(m, "Z_beta", 0, j->set->M);
	if (!s) s = place(m, "Z_gamma", j->set->M, j->set->Mg);
	if (!s) s = odvgp_set_reduce(m, &reduce, &j->info);
	j->status = s ? s : measure(j, m);
	odvgp_model_free(m);
	free(block);
	return NULL;
}

static job timed(const setting *set, ptrdiff_t N, ptrdiff_t batch, int size, int warm)
{
	static job jobs[MOST];
	pthread_t thread[MOST];
	memset(boxes, 0, sizeof boxes);
	for (int i = 0; i < size; i++) {
		job j;
		memset(&j, 0, sizeof j);
		j.set = set;
		j.N = N;
		j.batch = batch;
		j.size = size;
		j.warm = warm;
		j.rank = i;
		jobs[i] = j;
	}
	for (int i = 0; i < size; i++)
		if (pthread_create(&thread[i], NULL, run, &jobs[i])) exit(2);
	for (int i = 0; i < size; i++) pthread_join(thread[i], NULL);
	if (jobs[0].status) {
		fprintf(stderr, "ranks: %s\n", jobs[0].info.text);
		exit(1);
	}
	return jobs[0];
}

/*  Milliseconds of rows, which ranks share, and of the rest, which each does; log2(ranks) exchanges. */
static double modelled(
		double rows, double rest, const size_t sent[2], int ranks, double gbit, double us)
{
	int levels = 0;
	while (1 << levels < ranks) levels++;
	return rows / ranks + rest +
		   levels * ((double)sent[0] * 1e-3 * us + (double)sent[1] * 8e-6 / gbit);
}

static void model_table(const char *title, const double *rows, const double *rest,
		const size_t (*sent)[2], const double *per_rank)
{
	static const double net[2][2] = {{10, 30}, {100, 3}};
	printf("\n%s\n%-28s %9s", title, "", "network");
	for (int r = 1; r <= 256; r *= 2) printf(" %8d", r);
	printf("  doubling gains < 1/4 from\n");
	for (int k = 0; k < SETTINGS; k++)
		for (int n = 0; n < 2; n++) {
			double last = 0;
			int stops = 0;
			printf("%-28s %6.0f Gb", settings[k].name, net[n][0]);
			for (int r = 1; r <= 256; r *= 2) {
				double work = per_rank ? r * per_rank[k] : rows[k];
				double ms = modelled(work, rest[k], sent[k], r, net[n][0], net[n][1]);
				/* throughput: rows a second */
				double rate = work / ms;
				if (!stops && r > 1 && rate < 1.25 * last) stops = r / 2;
				last = rate;
				printf(" %8.2f", ms);
			}
			printf(stops ? "  %d ranks\n" : "  more\n", stops);
		}
}

int main(void)
{
	const ptrdiff_t N = 2049280, whole = 65536, batch = 4096;
	int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), most = 1;
	double rows[SETTINGS], rest[SETTINGS], tile[SETTINGS];
	size_t sent[SETTINGS][2]; /* messages, bytes */
	while (2 * most <= cores && 2 * most <= MOST) most *= 2;
	printf("%d cores, up to %d ranks of one thread; %d inputs, %d shards; least of %d\n", cores,
			most, INPUTS, SHARDS, REPEATS);

	printf("\ncounted: what a rank sends to each of log2(ranks) partners\n"
		   "%-28s %9s %12s\n",
			"", "messages", "bytes");
	for (int k = 0; k < SETTINGS; k++) {
		ptrdiff_t n = settings[k].words[0] ? 8192 : N;
		job j = timed(&settings[k], n, settings[k].words[0] ? n : batch, 2, 0);
		sent[k][0] = j.messages, sent[k][1] = j.bytes;
		printf("%-28s %9zu %12zu\n", settings[k].name, j.messages, j.bytes);
	}

	printf("\nmeasured, strong: ms of a step of %td rows, of a bound with gradient on %td rows\n"
		   "%-28s %6s %9s %9s %10s\n",
			batch, whole, "", "ranks", "ms", "times", "efficiency");
	for (int k = 0; k < SETTINGS; k++) {
		ptrdiff_t n = settings[k].words[0] ? whole : N, b = settings[k].words[0] ? whole : batch;
		double one = 0;
		for (int r = 1; r <= most; r *= 2) {
			job j = timed(&settings[k], n, b, r, 0);
			if (r == 1) one = j.ms;
			printf("%-28s %6d %9.2f %9.2f %9.0f%%\n", settings[k].name, r, j.ms, one / j.ms,
					100 * one / j.ms / r);
			fflush(stdout);
		}
		/* rows and rest: from half the rows */
		job half = timed(&settings[k], settings[k].words[0] ? n / 2 : N, b / 2, 1, 0);
		rows[k] = 2 * (one - half.ms);
		rest[k] = one - rows[k] > 0 ? one - rows[k] : 0;
		tile[k] = rows[k] * 256 / (double)b;
	}

	printf("\nmeasured, weak: ms of a step of 256 rows a rank, of a bound on 4,096 rows a rank\n"
		   "%-28s %6s %9s %10s\n",
			"", "ranks", "ms", "efficiency");
	for (int k = 0; k < SETTINGS; k++) {
		double one = 0;
		for (int r = 1; r <= most; r *= 2) {
			ptrdiff_t each = settings[k].words[0] ? 4096 : 256;
			job j = timed(&settings[k], settings[k].words[0] ? each * r : N, each * r, r, 0);
			if (r == 1) one = j.ms;
			printf("%-28s %6d %9.2f %9.0f%%\n", settings[k].name, r, j.ms, 100 * one / j.ms);
			fflush(stdout);
		}
	}

	printf("\nmeasured, share of a warm start before 5,000 steps of %td rows\n"
		   "%-28s %6s %9s %9s %7s\n",
			batch, "", "ranks", "warm, s", "steps, s", "share");
	for (int r = 1; r <= most; r *= most > 1 ? most : 2) {
		job j = timed(&settings[0], N, batch, r, 1);
		printf("%-28s %6d %9.1f %9.1f %6.1f%%\n", settings[0].name, r, j.seconds, 5 * j.ms,
				100 * j.seconds / (j.seconds + 5 * j.ms));
		fflush(stdout);
	}

	printf("\nmeasured, one rank: ms of a step of 1,024 rows, read by a callback, and N\n%-28s",
			"");
	for (ptrdiff_t n = 100000; n <= 100000000; n *= 10) printf(" %10td", n);
	printf("\n%-28s", settings[0].name);
	for (ptrdiff_t n = 100000; n <= 100000000; n *= 10)
		printf(" %10.2f", timed(&settings[0], n, 1024, 1, 0).ms);
	printf("\n");

	printf("\nmodelled: ms = rows / ranks + rest + log2(ranks) (messages latency + bytes / "
		   "bandwidth), "
		   "with 30 us at 10 Gb/s, 3 us at 100 Gb/s\n%-28s %9s %9s\n",
			"one rank, ms", "rows", "rest");
	for (int k = 0; k < SETTINGS; k++)
		printf("%-28s %9.2f %9.2f\n", settings[k].name, rows[k], rest[k]);
	model_table("strong, the same rows: ms", rows, rest, (const size_t(*)[2])sent, NULL);
	model_table("weak, 256 rows a rank: ms", rows, rest, (const size_t(*)[2])sent, tile);
	return 0;
}

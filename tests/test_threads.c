/*  The POSIX pool, the same bits for any number of threads, and the promise of a small stack. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_USE_PTHREADS
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"
#include <fenv.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 4200, INPUTS = 3, OUTPUTS = 2, BETA = 60, GAMMA = 150, NEW = 90 };

typedef struct run_result {
	odvgp_real mean[OUTPUTS * NEW], var[OUTPUTS * NEW];
	odvgp_real *theta;
	ptrdiff_t count;
	odvgp_status status;
} run_result;

/*  1 if the kernel's variances choose the inducing points, 0 if distances do. */
static int by_kernel;
/*  Trains a few steps, predicts, and returns all parameters. */
static run_result train(const odvgp_threads *threads)
{
	static odvgp_real X[ROWS * INPUTS], Y[ROWS * OUTPUTS];
	run_result r;
	size_t bytes = 0, size;
	odvgp_model *m;
	odvgp_server server, *p = &server;
	odvgp_config cfg = odvgp_config_defaults(ROWS, INPUTS, OUTPUTS, BETA, GAMMA);
	memset(&r, 0, sizeof r);
	memset(&server, 0, sizeof server);
	fill_data(X, Y, ROWS, INPUTS, OUTPUTS);
	cfg.optim.batch = 300;
	cfg.tile = 128;
	cfg.optim.gamma_batch = 20;
	cfg.threads = *threads;
	cfg.init.beta = by_kernel ? ODVGP_INIT_BETA_GREEDY : ODVGP_INIT_BETA_KMEANS;
	cfg.init.gamma = by_kernel ? ODVGP_INIT_GAMMA_RESIDUAL : ODVGP_INIT_GAMMA_RANDOM;
	cfg.isa = test_isa();
	r.status = sized(&bytes, odvgp_model_size(&cfg, NULL), NULL);
	void *block = malloc(bytes);
	if (!r.status) r.status = odvgp_model_init(&m, &cfg, block, bytes, NULL);
	if (!r.status) r.status = odvgp_init_data(m, X, Y, NULL, NULL);
	if (!r.status) r.status = odvgp_fit(m, X, Y, 12, NULL, NULL);
	if (r.status) return r;
	r.count = odvgp_param_count(m);
	r.theta = all_values(m);
	size = odvgp_predictor_size(m, NULL);
	void *frozen = malloc(size);
	if (!r.status) r.status = serve(m, NULL, frozen, size, p, NULL);
	size = odvgp_predict_scratch(p, 32, NULL);
	void *scratch = calloc(1, size);
	if (!r.status) r.status = odvgp_predict(p, X, NEW, r.mean, r.var, scratch, size, NULL);
	free(scratch);
	free(frozen);
	free(block);
	return r;
}

static run_result train_in_pool(int count)
{
	odvgp_threads hook;
	odvgp_pool *pool = NULL;
	run_result r;
	size_t size = odvgp_pool_size(count, NULL);
	void *block = malloc(size);
	memset(&r, 0, sizeof r);
	r.status = odvgp_pool_start(&pool, count, &hook, block, size, NULL);
	if (!r.status) r = train(&hook);
	odvgp_pool_stop(pool);
	free(block);
	return r;
}

TEST(the_same_bits_for_1_2_and_7_threads)
{
	static const int counts[] = {1, 2, 7};
	odvgp_threads serial = {NULL, NULL, 0};
	int i;
	for (by_kernel = 0; by_kernel < 2; by_kernel++) {
		run_result want = train(&serial);
		CHECK(want.status == ODVGP_OK);
		for (i = 0; i < 3; i++) {
			run_result got = train_in_pool(counts[i]);
			CHECK(got.status == ODVGP_OK && got.count == want.count);
			CHECK(got.theta &&
					!memcmp(got.theta, want.theta, (size_t)want.count * sizeof *want.theta));
			CHECK(!memcmp(got.mean, want.mean, sizeof want.mean));
			CHECK(!memcmp(got.var, want.var, sizeof want.var));
			free(got.theta);
		}
		free(want.theta);
	}
}

static void count_call(void *arg, int i)
{
	__atomic_add_fetch((int *)arg + i, 1, __ATOMIC_SEQ_CST);
}

TEST(the_pool_calls_every_task_once)
{
	odvgp_threads hook;
	odvgp_pool *pool;
	int calls[64], n, i, round;
	size_t size = odvgp_pool_size(3, NULL);
	void *block = malloc(size);
	CHECK(odvgp_pool_start(&pool, 3, &hook, block, size, NULL) == ODVGP_OK);
	for (round = 0; round < 300; round++) {
		n = round % 64 + 1;
		memset(calls, 0, sizeof calls);
		hook.run(hook.user, n, count_call, calls);
		for (i = 0; i < 64; i++) CHECK(calls[i] == (i < n));
	}
	odvgp_pool_stop(pool);
	free(block);
}

TEST(the_pool_refuses_what_it_cannot_do)
{
	odvgp_threads hook;
	odvgp_pool *pool;
	size_t size = odvgp_pool_size(2, NULL);
	void *block = malloc(size);
	REFUSED_FOR(odvgp_pool_start(NULL, 2, &hook, block, size, &info), ODVGP_E_ARG, "pool");
	REFUSED_FOR(odvgp_pool_start(&pool, 0, &hook, block, size, &info), ODVGP_E_ARG, "count");
	REFUSED_FOR(odvgp_pool_start(&pool, 257, &hook, block, size, &info), ODVGP_E_ARG, "count");
	REFUSED_FOR(odvgp_pool_start(&pool, 2, NULL, block, size, &info), ODVGP_E_ARG, "hook");
	REFUSED_FOR(odvgp_pool_start(&pool, 2, &hook, NULL, size, &info), ODVGP_E_ARG, "block");
	REFUSED_FOR(odvgp_pool_start(&pool, 2, &hook, block, size - 1, &info), ODVGP_E_MEMORY, "block");
	odvgp_pool_stop(NULL);
	free(block);
}

/*  A pool of `count` threads and its memory. */
typedef struct crew {
	odvgp_pool *pool;
	odvgp_threads hook;
	void *block;
} crew;

static crew crew_start(int count)
{
	crew c;
	size_t size = odvgp_pool_size(count, NULL);
	memset(&c, 0, sizeof c);
	c.block = test_alloc(size);
	CHECK_STATUS(odvgp_pool_start(&c.pool, count, &c.hook, c.block, size, NULL), ODVGP_OK);
	return c;
}
static void crew_stop(crew *c)
{
	odvgp_pool_stop(c->pool);
	free(c->block);
}

static void wait_ms(long ms)
{
	struct timespec t;
	t.tv_sec = ms / 1000;
	t.tv_nsec = ms % 1000 * 1000000;
	nanosleep(&t, NULL);
}

/*  A caller that shares a hook with another one; it counts those of its own tasks that did not
    run exactly once. */
enum { SHARED_JOBS = 2000, SHARED_TASKS = 6 };
typedef struct sharer {
	const odvgp_threads *hook;
	int wrong;
} sharer;

static void *share_hook(void *arg)
{
	sharer *s = (sharer *)arg;
	int calls[SHARED_TASKS], job, i;
	for (job = 0; job < SHARED_JOBS; job++) {
		memset(calls, 0, sizeof calls);
		s->hook->run(s->hook->user, SHARED_TASKS, count_call, calls);
		for (i = 0; i < SHARED_TASKS; i++)
			s->wrong += __atomic_load_n(&calls[i], __ATOMIC_SEQ_CST) != 1;
	}
	return NULL;
}

TEST(two_callers_share_a_pool)
{
	crew c = crew_start(2);
	sharer one, other;
	pthread_t thread;
	one.hook = other.hook = &c.hook;
	one.wrong = other.wrong = 0;
	CHECK(!pthread_create(&thread, NULL, share_hook, &other));
	share_hook(&one);
	CHECK(!pthread_join(thread, NULL));
	CHECK_INT(one.wrong, 0);
	CHECK_INT(other.wrong, 0);
	crew_stop(&c);
}

/*  A task that is itself cut into tasks. */
typedef struct nest {
	const odvgp_threads *hook;
	int calls[4][3];
} nest;
static void nested_call(void *arg, int i)
{
	nest *n = (nest *)arg;
	n->hook->run(n->hook->user, 3, count_call, n->calls[i]);
}

TEST(a_task_may_use_the_pool)
{
	crew c = crew_start(2);
	nest n;
	int i, k;
	memset(&n, 0, sizeof n);
	n.hook = &c.hook;
	c.hook.run(c.hook.user, 4, nested_call, &n);
	for (i = 0; i < 4; i++)
		for (k = 0; k < 3; k++) CHECK_INT(n.calls[i][k], 1);
	crew_stop(&c);
}

/*  Two tasks that wait for each other, for at most ten seconds, which shows that each has its
    own thread. */
typedef struct meeting {
	int arrived, late;
	pthread_t caller;
	/* One third as each thread computes it. */
	double third[2];
	/* The remaining time of the worker's task. */
	double worker_ms;
} meeting;

static void meet(meeting *m)
{
	int waited;
	__atomic_add_fetch(&m->arrived, 1, __ATOMIC_SEQ_CST);
	for (waited = 0; waited < 10000 && __atomic_load_n(&m->arrived, __ATOMIC_SEQ_CST) < 2; waited++)
		wait_ms(1);
	if (waited == 10000) __atomic_store_n(&m->late, 1, __ATOMIC_SEQ_CST);
}

static void compute_third(void *arg, int i)
{
	meeting *m = (meeting *)arg;
	volatile double one = 1, three = 3;
	meet(m);
	m->third[i] = one / three;
}

TEST(workers_round_as_the_caller_does)
{
	crew c = crew_start(2);
	meeting m;
	double near = 1.0 / 3;
#ifdef FE_UPWARD
	/* volatile prevents the compiler from moving the division behind the last fesetround. */
	volatile double one = 1, three = 3, up;
	memset(&m, 0, sizeof m);
	CHECK(!fesetround(FE_UPWARD));
	up = one / three;
	c.hook.run(c.hook.user, 2, compute_third, &m);
	CHECK(!fesetround(FE_TONEAREST));
	CHECK(!m.late && up > near && m.third[0] == up && m.third[1] == up);
	memset(&m, 0, sizeof m);
	c.hook.run(c.hook.user, 2, compute_third, &m);
	CHECK(!m.late && m.third[0] == near && m.third[1] == near);
#else
	(void)m, (void)near, (void)compute_third;
#endif
	crew_stop(&c);
}

static void long_in_the_worker(void *arg, int i)
{
	meeting *m = (meeting *)arg;
	(void)i;
	meet(m);
	if (!pthread_equal(pthread_self(), m->caller)) wait_ms((long)m->worker_ms);
}

static double own_ms(void)
{
	struct timespec t;
	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)) return 0;
	return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/*  A caller of high priority that never slept would keep its own worker from the processor for
    ever. */
TEST(a_caller_that_waits_long_sleeps)
{
	crew c = crew_start(2);
	meeting m;
	double spent;
	memset(&m, 0, sizeof m);
	m.caller = pthread_self();
	m.worker_ms = 500;
	spent = own_ms();
	c.hook.run(c.hook.user, 2, long_in_the_worker, &m);
	spent = own_ms() - spent;
	CHECK(!m.late);
	CHECK_SAY(spent < m.worker_ms / 10, "waiting for %.0f ms took %.0f ms of the processor",
			m.worker_ms, spent);
	crew_stop(&c);
}

/*  In the child of a fork there are no workers: the pool still runs all tasks, and stops without
    waiting for workers. */
TEST(the_child_of_a_fork_uses_and_stops_the_pool)
{
	crew c = crew_start(3);
	int calls[8], asleep, i, status = -1;
	for (asleep = 0; asleep < 2; asleep++) {
		/* After this time workers sleep, and a mutex or a condition of theirs is in use. */
		if (asleep) wait_ms(100);
		pid_t child = fork();
		if (child == 0) {
			int right = 1;
			alarm(20);
			memset(calls, 0, sizeof calls);
			c.hook.run(c.hook.user, 8, count_call, calls);
			for (i = 0; i < 8; i++) right &= calls[i] == 1;
			odvgp_pool_stop(c.pool);
			_exit(right ? 0 : 1);
		}
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		CHECK_SAY(WIFEXITED(status) && WEXITSTATUS(status) == 0,
				"the child ends with wait status %d", status);
	}
	memset(calls, 0, sizeof calls);
	c.hook.run(c.hook.user, 8, count_call, calls);
	for (i = 0; i < 8; i++) CHECK_INT(calls[i], 1);
	crew_stop(&c);
}

/*  Sanitizers need more stack than the code itself. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer) || \
		__has_feature(thread_sanitizer)
#define STACK_SANITIZED 1
#endif
#endif

#if defined(__GNUC__) && !defined(__OPTIMIZE__)
enum { UNOPTIMISED = 1 };
#else
enum { UNOPTIMISED = 0 };
#endif

static void *train_thread(void *arg)
{
	odvgp_threads serial = {NULL, NULL, 0};
	*(run_result *)arg = train(&serial);
	return NULL;
}

/*  Trains and predicts in a thread of 80 KiB: the manual promises at most 12 KiB for the library, and
    the rest is for the frames of this test and of the system. Where threads must have more (128
    KiB on 64-bit ARM), the test is weaker. */
TEST(a_small_stack_is_enough)
{
#ifdef STACK_SANITIZED
	SKIP("sanitizers use stack of their own");
#else
	static run_result r;
	pthread_attr_t attributes;
	pthread_t thread;
	size_t stack = 80 * 1024;
#ifdef PTHREAD_STACK_MIN
	if (stack < (size_t)PTHREAD_STACK_MIN) stack = (size_t)PTHREAD_STACK_MIN;
#endif
	memset(&r, 0, sizeof r);
	r.status = ODVGP_E_MEMORY;
	/* These options need the most stack. */
	by_kernel = 1;
	CHECK(!pthread_attr_init(&attributes));
	CHECK(!pthread_attr_setstacksize(&attributes, stack));
	CHECK(!pthread_create(&thread, &attributes, train_thread, &r));
	CHECK(!pthread_join(thread, NULL));
	CHECK(r.status == ODVGP_OK);
	pthread_attr_destroy(&attributes);
	free(r.theta);
#endif
}

/*  A server is changed by one assignment while another thread predicts: each call has the results of
    one of the two models. */
typedef struct swap {
	const odvgp_server *current;
	const odvgp_real *X;
	odvgp_real want[2][2 * OUTPUTS * INPUTS]; /* gradients at one input, of either model */
	int over, calls, other;
} swap;

static void gradient_at_row(const odvgp_server *s, const odvgp_real *X, odvgp_real *to)
{
	const odvgp_gradient gradient = {NULL, NULL, to, to + OUTPUTS * INPUTS, NULL, NULL};
	size_t bytes = odvgp_predict_gradient_scratch(s, 1, NULL);
	void *scratch = malloc(bytes);
	odvgp_status status = odvgp_predict_gradient(s, X, 1, &gradient, scratch, bytes, NULL);
	free(scratch);
	if (status) to[0] = (odvgp_real)NAN;
}

static void *swap_thread(void *arg)
{
	swap *w = (swap *)arg;
	while (!__atomic_load_n(&w->over, __ATOMIC_ACQUIRE)) {
		odvgp_real got[2 * OUTPUTS * INPUTS];
		gradient_at_row(__atomic_load_n(&w->current, __ATOMIC_ACQUIRE), w->X, got);
		w->other += memcmp(got, w->want[0], sizeof got) && memcmp(got, w->want[1], sizeof got);
		__atomic_add_fetch(&w->calls, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

TEST(a_server_is_changed_while_others_predict)
{
	enum { FEW = 60 };
	odvgp_real X[FEW * INPUTS], Y[FEW * OUTPUTS];
	odvgp_server server[2];
	void *block[2];
	swap w;
	pthread_t thread;
	memset(&w, 0, sizeof w);
	fill_data(X, Y, FEW, INPUTS, OUTPUTS);
	w.X = X;
	for (int k = 0; k < 2; k++) {
		odvgp_config cfg = odvgp_config_defaults(FEW, INPUTS, OUTPUTS, 5 + k, 8);
		odvgp_model *m;
		cfg.isa = test_isa();
		CHECK_STATUS(odvgp_model_create(&m, &cfg, X, Y, NULL, NULL), ODVGP_OK);
		size_t bytes = odvgp_predictor_size(m, NULL);
		block[k] = malloc(bytes);
		CHECK_STATUS(serve(m, NULL, block[k], bytes, &server[k], NULL), ODVGP_OK);
		odvgp_model_free(m);
		gradient_at_row(&server[k], X, w.want[k]);
		CHECK(isfinite((double)w.want[k][0]));
	}
	w.current = &server[0];
	CHECK(!pthread_create(&thread, NULL, swap_thread, &w));
	for (int k = 0; __atomic_load_n(&w.calls, __ATOMIC_ACQUIRE) < 300; k++)
		__atomic_store_n(&w.current, &server[k % 2], __ATOMIC_RELEASE);
	__atomic_store_n(&w.over, 1, __ATOMIC_RELEASE);
	CHECK(!pthread_join(thread, NULL));
	CHECK_INT(w.other, 0);
	free(block[0]), free(block[1]);
}

#ifndef STACK_SANITIZED
/*  The data of predictions with a kernel of every kind; `call` selects the call, and 0 none. */
typedef struct service {
	odvgp_server server;
	odvgp_real *X, *Y, *out;
	void *scratch;
	size_t bytes;
	int call;
	odvgp_status status;
} service;
enum { CALLS = 6, SERVED = 40, STACK = 256 * 1024 };

static void *predict_thread(void *arg)
{
	static const odvgp_draws two_draws = {2, 1};
	service *s = (service *)arg;
	odvgp_real *var = s->out + OUTPUTS * SERVED, *rest = var + OUTPUTS * SERVED;
	switch (s->call) {
	case 1:
		s->status = odvgp_predict_y(&s->server, s->X, 1, s->out, var, s->scratch, s->bytes, NULL);
		break;
	case 2:
		s->status =
				odvgp_predict(&s->server, s->X, SERVED, s->out, var, s->scratch, s->bytes, NULL);
		break;
	case 3:
		s->status = odvgp_predict_logp(
				&s->server, s->X, s->Y, SERVED, s->out, s->scratch, s->bytes, NULL);
		break;
	case 4:
		s->status = odvgp_predict_cov(
				&s->server, s->X, SERVED, s->out, rest, s->scratch, s->bytes, NULL);
		break;
	case 5:
		s->status = odvgp_sample(
				&s->server, s->X, SERVED, &two_draws, s->out, s->scratch, s->bytes, NULL);
		break;
	case 6: {
		odvgp_real *slopes = rest + OUTPUTS * SERVED;
		const odvgp_gradient to = {
				s->out, var, slopes, slopes + OUTPUTS * SERVED * INPUTS, NULL, NULL};
		s->status = odvgp_predict_gradient(
				&s->server, s->X, SERVED, &to, s->scratch, s->bytes, NULL);
		break;
	}
	default: break;
	}
	return NULL;
}

/*  Returns how many bytes of a painted stack a thread with this call writes. */
static size_t stack_of_thread(void *(*run)(void *), void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;
	unsigned char *stack = NULL;
	size_t i = 0;
	if (posix_memalign((void **)&stack, 4096, STACK)) return 0;
	memset(stack, 0xa5, STACK);
	CHECK(!pthread_attr_init(&attributes));
	CHECK(!pthread_attr_setstack(&attributes, stack, STACK));
	CHECK(!pthread_create(&thread, &attributes, run, arg));
	CHECK(!pthread_join(thread, NULL));
	pthread_attr_destroy(&attributes);
	/* The stack grows downwards. */
	while (i < STACK && stack[i] == 0xa5) i++;
	free(stack);
	return STACK - i;
}
static size_t stack_of(service *s, int call)
{
	size_t bytes;
	s->call = call;
	s->status = ODVGP_OK;
	bytes = stack_of_thread(predict_thread, s);
	CHECK_STATUS(s->status, ODVGP_OK);
	return bytes;
}

/*  All other calls. A pointer reaches each of them, so that no compiler merges their frames. */
typedef struct kept {
	odvgp_config cfg;
	odvgp_model *m, *twin;
	void *block, *file, *frozen, *placed, *work;
	size_t block_bytes, file_bytes, frozen_bytes, placed_bytes, work_bytes;
	odvgp_real *values, *X, *Y;
	odvgp_server server;
	odvgp_info info;
	char text[1000];
	odvgp_status (*call)(struct kept *k);
	odvgp_status status;
} kept;

static odvgp_status call_none(kept *k) { return k->m ? ODVGP_OK : ODVGP_E_ARG; }
static odvgp_status call_size(kept *k)
{
	return sized(&k->block_bytes, odvgp_model_size(&k->cfg, &k->info), &k->info);
}
static odvgp_status call_init(kept *k)
{
	return odvgp_model_init(&k->twin, &k->cfg, k->block, k->block_bytes, &k->info);
}
static odvgp_status call_set(kept *k)
{
	return odvgp_set(k->m, "Z_beta", k->values, 33 * INPUTS, &k->info);
}
static odvgp_status call_get(kept *k)
{
	return odvgp_get(k->m, "Z_beta", k->values, 33 * INPUTS, NULL);
}
static odvgp_status call_trainable(kept *k) { return odvgp_set_trainable(k->m, "*", 1, NULL); }
static odvgp_status call_bounds(kept *k)
{
	return odvgp_set_bounds(k->m, "kernel.*", 0, (odvgp_real)1e6, NULL);
}
static odvgp_status call_prior(kept *k)
{
	return odvgp_set_prior(k->m, "kernel.*", ODVGP_PRIOR_GAMMA, 2, 1, NULL);
}
static odvgp_status call_text(kept *k)
{
	return odvgp_kernel_text(k->m, k->text, sizeof k->text) ? ODVGP_OK : ODVGP_E_SIZE;
}
static odvgp_status call_frozen_size(kept *k)
{
	return odvgp_predictor_size(k->m, NULL) ? ODVGP_OK : ODVGP_E_SIZE;
}
static odvgp_status call_freeze(kept *k)
{
	return odvgp_freeze(k->m, NULL, k->frozen, k->frozen_bytes, &k->info);
}
static odvgp_status call_block(kept *k)
{
	return odvgp_server_from_block(&k->server, k->frozen, k->frozen_bytes, k->cfg.isa, &k->info);
}
static odvgp_status call_save_size(kept *k)
{
	return odvgp_save_size(k->m, 0, NULL) ? ODVGP_OK : ODVGP_E_SIZE;
}
static odvgp_status call_save(kept *k)
{
	return odvgp_save_memory(k->m, NULL, NULL, 0, k->file, k->file_bytes, &k->info);
}
static odvgp_status call_server_size(kept *k)
{
	return odvgp_server_size(k->file, k->file_bytes, &k->info) ? ODVGP_OK : k->info.status;
}
static odvgp_status call_file(kept *k)
{
	return odvgp_server_from_memory(
			&k->server, k->file, k->file_bytes, k->cfg.isa, k->placed, k->placed_bytes, &k->info);
}
static odvgp_status call_load_size(kept *k)
{
	size_t bytes = odvgp_load_size(k->file, k->file_bytes, NULL, k->cfg.isa, &k->info);
	return bytes ? ODVGP_OK : k->info.status;
}
static odvgp_status call_load(kept *k)
{
	return odvgp_load_memory(
			&k->twin, k->file, k->file_bytes, NULL, k->cfg.isa, k->block, k->block_bytes, &k->info);
}
static odvgp_status call_init_data(kept *k)
{
	return odvgp_init_data(k->twin, k->X, k->Y, NULL, &k->info);
}
static odvgp_status call_elbo(kept *k)
{
	odvgp_real elbo;
	return odvgp_elbo(k->m, k->X, k->Y, k->cfg.N, &elbo, NULL, NULL, &k->info);
}
static odvgp_status call_fit_q(kept *k)
{
	return odvgp_fit_q(k->m, k->X, k->Y, NULL, k->work, k->work_bytes, &k->info);
}
static odvgp_status call_warm(kept *k)
{
	/* The stack does not depend on how many iterations there are. */
	const odvgp_warm few = {0, 0, 2, 0};
	size_t bytes = odvgp_warm_start_scratch(k->m, &few, NULL);
	void *scratch = bytes ? test_alloc(bytes) : NULL;
	odvgp_status s = odvgp_warm_start(k->m, k->X, k->Y, &few, NULL, scratch, bytes, &k->info);
	free(scratch);
	return s;
}
static odvgp_status call_step(kept *k) { return odvgp_step(k->m, k->X, k->Y, NULL, &k->info); }

static const struct {
	const char *name;
	odvgp_status (*call)(kept *k);
	/* The largest number of bytes. */
	size_t most;
	int one_layer;
} kept_calls[] = {{"none", call_none, 0, 0}, {"odvgp_model_size", call_size, 8192, 0},
		{"odvgp_model_init", call_init, 4096, 0}, {"odvgp_init_data", call_init_data, 4096, 0},
		{"odvgp_set", call_set, 4096, 1}, {"odvgp_get", call_get, 4096, 1},
		{"odvgp_set_trainable", call_trainable, 4096, 0},
		{"odvgp_set_bounds", call_bounds, 4096, 1}, {"odvgp_set_prior", call_prior, 4096, 1},
		{"odvgp_kernel_text", call_text, 4096, 1}, {"odvgp_elbo", call_elbo, 4096, 0},
		{"odvgp_predictor_size", call_frozen_size, 4096, 0}, {"odvgp_freeze", call_freeze, 4096, 0},
		{"odvgp_server_from_block", call_block, 4096, 0},
		{"odvgp_save_size", call_save_size, 4096, 0}, {"odvgp_save_memory", call_save, 4096, 0},
		{"odvgp_server_size", call_server_size, 4096, 0},
		{"odvgp_server_from_memory", call_file, 4096, 0},
		{"odvgp_load_size", call_load_size, 8192, 0}, {"odvgp_load_memory", call_load, 4096, 0},
		{"odvgp_step", call_step, 8192, 0}, {"odvgp_fit_q", call_fit_q, 8192, 1},
		{"odvgp_warm_start", call_warm, 12288, 1}};
enum { KEPT_CALLS = sizeof kept_calls / sizeof *kept_calls };

static void *keep_thread(void *arg)
{
	kept *k = (kept *)arg;
	k->status = k->call(k);
	return NULL;
}
#endif

/*  The manual promises 4 KiB for calls that predict. */
TEST(predictions_take_little_stack)
{
#ifdef STACK_SANITIZED
	SKIP("sanitizers use stack of their own");
#else
	static const odvgp_cov_part parts[] = {
			ODVGP_COV_PART_DENSE, ODVGP_COV_PART_INVERSE, ODVGP_COV_PART_DIAGONAL};
	odvgp_real *X = (odvgp_real *)test_alloc(sizeof(odvgp_real) * ROWS * INPUTS),
			   *Y = (odvgp_real *)test_alloc(sizeof(odvgp_real) * ROWS * OUTPUTS);
	size_t most = 0;
	int i, c;
	if (UNOPTIMISED) {
		free(X), free(Y);
		SKIP("without optimisation each vector has a place on the stack");
	}
	fill_data(X, Y, ROWS, INPUTS, OUTPUTS);
	for (i = 0; i < test_isas.count * 3; i++) {
		odvgp_config cfg = odvgp_config_defaults(300, INPUTS, OUTPUTS, 33, i % 3 == 2 ? 0 : 50);
		odvgp_model *m = NULL;
		service s;
		void *block;
		size_t bytes;
		memset(&s, 0, sizeof s);
		cfg.layer[0].kernel = "rq * polynomial(0.1) + periodic(2) * matern12 + linear(ard) * rbf + "
							  "constant + white(0.1)";
		/* INVERSE has no natural step. */
		cfg.optim.natgrad = i % 3 != 1;
		cfg.layer[0].mean_part = i % 3 ? ODVGP_MEAN_PART_FREE : ODVGP_MEAN_PART_ORTH;
		cfg.layer[0].cov_part = parts[i % 3];
		cfg.isa = test_isas.isa[i / 3];
		if (!CHECK_STATUS(odvgp_model_create(&m, &cfg, X, Y, NULL, NULL), ODVGP_OK)) continue;
		bytes = odvgp_predictor_size(m, NULL);
		block = test_alloc(bytes);
		CHECK_STATUS(odvgp_freeze(m, NULL, block, bytes, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_server_from_block(&s.server, block, bytes, cfg.isa, NULL), ODVGP_OK);
		s.X = X, s.Y = Y;
		s.bytes = odvgp_sample_scratch(&s.server, SERVED, NULL) +
				  odvgp_predict_gradient_scratch(&s.server, SERVED, NULL);
		s.scratch = test_alloc(s.bytes);
		s.out = (odvgp_real *)test_alloc(sizeof(odvgp_real) * OUTPUTS * SERVED * (SERVED + 3));
		for (c = 1; c <= CALLS; c++) {
			size_t none = stack_of(&s, 0), used = stack_of(&s, c);
			CHECK_SAY(used >= none && used - none <= 4096,
					"%s, part %d, call %d: %d bytes of stack", test_isas.name[i / 3], i % 3, c,
					(int)(used - none));
			if (used - none > most) most = used - none;
		}
		free(s.scratch), free(s.out), free(block);
		odvgp_model_free(m);
	}
	test_note("%d bytes", (int)most);
	free(X), free(Y);
#endif
}

/*  The manual promises 4 KiB, and 8 KiB for training and for measuring a model without a block, for
    any number of layers; 12 KiB for a warm start, which trains a model of its own. */
TEST(calls_take_little_stack)
{
#ifdef STACK_SANITIZED
	SKIP("sanitizers use stack of their own");
#else
	odvgp_real *X = (odvgp_real *)test_alloc(sizeof(odvgp_real) * ROWS * INPUTS),
			   *Y = (odvgp_real *)test_alloc(sizeof(odvgp_real) * ROWS * OUTPUTS);
	size_t most[KEPT_CALLS] = {0};
	int i, c, least = 0, train = 0;
	fill_data(X, Y, ROWS, INPUTS, OUTPUTS);
	for (i = 0; i < 2 * test_isas.count; i++) {
		odvgp_config cfg = odvgp_config_defaults(
				test_size(ROWS, 700), INPUTS, OUTPUTS, 33, 50);
		int stack = i % 2;
		kept k;
		if (stack && test_size(0, i / 2 < test_isas.count - 1)) continue;
		memset(&k, 0, sizeof k);
		cfg.layer[0].kernel = "rq * polynomial(0.1) + periodic(2) * matern12 + linear(ard) * rbf + "
							  "constant + white(0.1)";
		cfg.isa = test_isas.isa[i / 2];
		for (; stack && cfg.layers < ODVGP_MAX_LAYERS; cfg.layers++) {
			cfg.layer[cfg.layers] = cfg.layer[0];
			cfg.layer[cfg.layers].D = 0;
		}
		k.cfg = cfg, k.X = X, k.Y = Y;
		if (!CHECK_STATUS(odvgp_model_create(&k.m, &cfg, X, Y, NULL, NULL), ODVGP_OK)) continue;
		CHECK_STATUS(sized(&k.block_bytes, odvgp_model_size(&cfg, NULL), NULL), ODVGP_OK);
		k.frozen_bytes = k.placed_bytes = odvgp_predictor_size(k.m, NULL) + 64;
		k.file_bytes = odvgp_save_size(k.m, 0, NULL);
		k.work_bytes = stack ? 1 : odvgp_fit_q_scratch(k.m, NULL);
		k.work = test_alloc(k.work_bytes);
		k.block = test_alloc(k.block_bytes), k.frozen = test_alloc(k.frozen_bytes),
		k.placed = test_alloc(k.placed_bytes), k.file = test_alloc(k.file_bytes);
		k.values = (odvgp_real *)test_alloc(sizeof(odvgp_real) * 33 * INPUTS);
		if (!stack) CHECK_STATUS(odvgp_get(k.m, "Z_beta", k.values, 33 * INPUTS, NULL), ODVGP_OK);
		for (c = 0; c < KEPT_CALLS; c++) {
			size_t none, used;
			if (stack && kept_calls[c].one_layer) continue;
			k.call = call_none;
			none = stack_of_thread(keep_thread, &k);
			k.call = kept_calls[c].call;
			/* The first call makes the dynamic linker look up names; the stack for that is not
               the library's. */
			keep_thread(&k);
			k.status = ODVGP_OK;
			used = stack_of_thread(keep_thread, &k);
			CHECK_SAY(k.status == ODVGP_OK, "%s: %s", kept_calls[c].name,
					odvgp_status_text(k.status));
			if (used - none > most[c]) most[c] = used - none;
		}
		free(k.block), free(k.frozen), free(k.placed), free(k.file), free(k.values), free(k.work);
		odvgp_model_free(k.m);
	}
	for (c = 0; c < KEPT_CALLS; c++)
		CHECK_SAY(most[c] <= kept_calls[c].most, "%s: %d bytes of stack", kept_calls[c].name,
				(int)most[c]);
	for (c = 1; c < KEPT_CALLS; c++) {
		if (kept_calls[c].most == 4096 && most[c] > most[least]) least = c;
		if (kept_calls[c].most == 8192 && most[c] > most[train]) train = c;
	}
	test_note("%s %d, %s %d bytes", kept_calls[least].name, (int)most[least],
			kept_calls[train].name, (int)most[train]);
	free(X), free(Y);
#endif
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(the_same_bits_for_1_2_and_7_threads);
	RUN(the_pool_calls_every_task_once);
	RUN(the_pool_refuses_what_it_cannot_do);
	RUN(two_callers_share_a_pool);
	RUN(a_task_may_use_the_pool);
	RUN(workers_round_as_the_caller_does);
	RUN(a_caller_that_waits_long_sleeps);
	RUN(the_child_of_a_fork_uses_and_stops_the_pool);
	RUN(a_server_is_changed_while_others_predict);
	RUN(a_small_stack_is_enough);
	RUN(predictions_take_little_stack);
	RUN(calls_take_little_stack);
	return test_end();
}

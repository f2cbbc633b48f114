/*  What training promises: the bound rises, frozen slots keep their bits, the bits depend on seeds
    but not on numbers of tasks, and nothing is allocated after the model is created. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "hooks.h"
#include "test.h"
#include "models.h"

/* ---- allocation ---- */

TEST(nothing_is_allocated_after_the_start)
{
	int natgrad, update;
	for (natgrad = 0; natgrad < 2; natgrad++)
		for (update = 0; update < 3; update++) {
			odvgp_config c = config(60, 2, 2, 8, 10);
			fixture a;
			size_t bytes, need, file_bytes;
			void *block, *scratch, *file, *again;
			odvgp_server server, *p = &server;
			odvgp_model *m2;
			odvgp_real e, mean[40], var[40], cov[800], f[80], logp[20];
			odvgp_report report;
			ptrdiff_t columns[2] = {1, 3};
			test_seed = 321;
			c.optim.natgrad = natgrad;
			c.reproduce.update = (odvgp_update)update;
			c.init.beta = (odvgp_init_beta)(update + natgrad);
			c.init.gamma = (odvgp_init_gamma)natgrad;
			c.init.hyperparams = (odvgp_init_hyper)natgrad;
			a = make(&c);
			bytes = odvgp_predictor_size(a.m, NULL);
			block = test_alloc(bytes);
			file_bytes = odvgp_save_size(a.m, 0, NULL);
			file = test_alloc(file_bytes);
			again = test_alloc(a.bytes);
			CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
			need = odvgp_sample_scratch(p, 20, NULL);
			scratch = test_alloc(need);
			test_allocations = 0;
			CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 10, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(
					odvgp_natgrad_step(a.m, a.X, a.Y, 60, (odvgp_real)0.1, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 60, &e, NULL, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_elbo_columns(a.m, a.X, a.Y, 60, &(odvgp_columns){columns, 2},
								 &report, NULL, NULL),
					ODVGP_OK);
			CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_predict(p, a.X, 20, mean, var, scratch, need, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_predict_cov(p, a.X, 20, mean, cov, scratch, need, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_predict_logp(p, a.X, a.Y, 20, logp, scratch, need, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_sample(p, a.X, 20, &(odvgp_draws){2, 0}, f, scratch, need, NULL),
					ODVGP_OK);
			CHECK_STATUS(odvgp_save_memory(a.m, NULL, NULL, 0, file, file_bytes, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_load_memory(
								 &m2, file, file_bytes, NULL, test_isa(), again, a.bytes, NULL),
					ODVGP_OK);
			CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_INT(test_allocations, 0);
			free(block), free(scratch), free(file), free(again);
			drop(&a);
		}
}

typedef struct counter {
	int calls, live, fail_at;
	size_t bytes;
} counter;

static void *counting_alloc(void *user, size_t bytes)
{
	counter *c = (counter *)user;
	void *p;
	if (++c->calls == c->fail_at) return NULL;
	p = malloc(bytes);
	c->live += p != NULL;
	c->bytes += bytes;
	return p;
}

static void counting_release(void *user, void *block)
{
	counter *c = (counter *)user;
	if (block) c->live--;
	free(block);
}

TEST(each_allocation_can_fail)
{
	odvgp_config c = config(20, 2, 1, 4, 5);
	fixture a;
	counter count = {0, 0, 0, 0};
	odvgp_allocator allocator = {counting_alloc, counting_release, NULL};
	odvgp_model *m = NULL;
	odvgp_real mean[20], var[20];
	int fail_at, total;
	test_seed = 322;
	memset(&a, 0, sizeof a);
	make_data(&a, 20, 2, 1, 1, 0.1);
	allocator.user = &count;
	/* odvgp_model_create allocates from the allocator. */
	CHECK_STATUS(odvgp_model_create(&m, &c, a.X, a.Y, &allocator, NULL), ODVGP_OK);
	total = count.calls;
	CHECK(total >= 1 && count.live >= 1);
	odvgp_model_free(m);
	CHECK_INT(count.live, 0);
	for (fail_at = 1; fail_at <= total; fail_at++) {
		memset(&count, 0, sizeof count);
		count.fail_at = fail_at;
		CHECK_STATUS(odvgp_model_create(&m, &c, a.X, a.Y, &allocator, NULL), ODVGP_E_MEMORY);
		CHECK(m == NULL);
		CHECK_INT(count.live, 0);
	}
	/* odvgp_model_create releases its block if the data are bad. */
	memset(&count, 0, sizeof count);
	a.X[7] = (odvgp_real)NAN;
	CHECK_STATUS(odvgp_model_create(&m, &c, a.X, a.Y, &allocator, NULL), ODVGP_E_NAN);
	CHECK(m == NULL);
	CHECK_INT(count.live, 0);
	a.X[7] = 0;
	/* odvgp_predict_once uses the allocator of its model. */
	memset(&count, 0, sizeof count);
	CHECK_STATUS(odvgp_model_create(&m, &c, a.X, a.Y, &allocator, NULL), ODVGP_OK);
	count.calls = 0;
	test_allocations = 0;
	CHECK_STATUS(odvgp_predict_once(m, a.X, 20, mean, var, NULL, NULL), ODVGP_OK);
	/* The memory came from the model's allocator, not from malloc. */
	CHECK_INT(test_allocations, 0);
	total = count.calls;
	CHECK(total >= 1);
	CHECK_INT(count.live, 1);
	memset(mean, PATTERN, sizeof mean), memset(var, PATTERN, sizeof var);
	for (fail_at = 1; fail_at <= total; fail_at++) {
		count.calls = 0;
		count.fail_at = fail_at;
		REFUSED(odvgp_predict_once(m, a.X, 20, mean, var, NULL, &info), ODVGP_E_MEMORY);
		CHECK_INT(count.live, 1);
	}
	CHECK(untouched(mean, sizeof mean) && untouched(var, sizeof var));
	count.fail_at = 0;
	odvgp_model_free(m);
	CHECK_INT(count.live, 0);
	/* An allocator that is all zeros means malloc. */
	memset(&allocator, 0, sizeof allocator);
	test_allocations = 0;
	CHECK_STATUS(odvgp_model_create(&m, &c, a.X, a.Y, &allocator, NULL), ODVGP_OK);
	CHECK_INT(test_allocations, 1);
	odvgp_model_free(m);
	drop(&a);
}

/*  The library keeps no pointer to an argument after the call returns. */
TEST(no_pointer_of_the_caller_is_kept)
{
	odvgp_config c = config(10, 2, 1, 3, 4);
	fixture a;
	odvgp_real e;
	odvgp_info info = no_info();
	size_t bytes;
	void *block;
	odvgp_server server, *p = &server;
	test_seed = 323;
	a = make(&c);
	CHECK(a.m->tape.info == NULL);
	CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 10, &e, NULL, NULL, &info), ODVGP_OK);
	CHECK(a.m->tape.info == NULL);
	CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, &info), ODVGP_OK);
	CHECK(a.m->tape.info == NULL);
	bytes = odvgp_predictor_size(a.m, NULL);
	block = test_alloc(bytes);
	CHECK_STATUS(serve(a.m, NULL, block, bytes, p, &info), ODVGP_OK);
	CHECK(a.m->tape.info == NULL);
	a.X[3] = (odvgp_real)NAN;
	CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 10, &e, NULL, NULL, &info), ODVGP_E_NAN);
	CHECK(a.m->tape.info == NULL);
	free(block);
	drop(&a);
}

/*  Placing inducing points looks at 50 M rows, or at all rows if there are fewer. No M makes
    that product overflow. */
TEST(rows_for_the_start_do_not_overflow)
{
	odvgp_model m;
	gp__unit u;
	memset(&m, 0, sizeof m);
	memset(&u, 0, sizeof u);
	m.cfg.N = 100000;
	u.model = &m;
	u.M = 20;
	CHECK_INT(gp__init_rows(&u), 4096);
	u.M = 1000;
	CHECK_INT(gp__init_rows(&u), 50000);
	u.M = 2000;
	CHECK_INT(gp__init_rows(&u), 100000);
	CHECK_INT(gp__greedy_rows(&u), 8000);
	u.M_gamma = 20000;
	u.M = 100;
	CHECK_INT(gp__residual_rows(&u), 80000);
	u.M = u.M_gamma = PTRDIFF_MAX / 3;
	CHECK_INT(gp__init_rows(&u), 100000);
	CHECK_INT(gp__greedy_rows(&u), 100000);
	CHECK_INT(gp__residual_rows(&u), 100000);
}

/*  The size of a model does not depend on N, so that N can be large. */
TEST(memory_does_not_grow_with_the_data)
{
	odvgp_config c = config(100000, 3, 1, 20, 30);
	size_t small, large, plain = 0;
	int start;
	c.optim.batch = 256;
	/* This also holds for the methods of initialisation that need the most memory. */
	for (start = 0; start < 2; start++) {
		c.N = 100000;
		CHECK_STATUS(sized(&small, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
		c.N = 100000000;
		CHECK_STATUS(sized(&large, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
		CHECK_INT(large, small);
		CHECK(large > plain);
		plain = large;
		c.layer[0].M = 500;
		c.init.beta = ODVGP_INIT_BETA_GREEDY;
		c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL;
		c.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
	}
}

/* ---- training ---- */

static double rmse(fixture *a)
{
	odvgp_real *mean = NEW(odvgp_real, a->P * a->N);
	double sum = 0;
	ptrdiff_t i, p;
	predict(a, a->X, a->N, mean, NULL, NULL);
	for (p = 0; p < a->P; p++)
		for (i = 0; i < a->N; i++) {
			double d = (double)mean[p * a->N + i] - (double)a->Y[i * a->P + p];
			sum += d * d;
		}
	free(mean);
	return sqrt(sum / (double)(a->N * a->P));
}

TEST(training_raises_the_bound)
{
	int orth, natgrad, update, param, coords = 0;
	double worst = 0;
	test_seed = 220;
	for (orth = 0; orth < 2; orth++)
		for (natgrad = 0; natgrad < 2; natgrad++)
			for (update = ODVGP_UPDATE_JOINT; update <= ODVGP_UPDATE_ADAM_FIRST; update++)
				for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA;
						param++) {
					odvgp_config c = random_config(60, 1, 1, 6, orth ? 10 : 0);
					fixture a;
					double before, after, error;
					int i;
					c.jitter.absolute = 0;
					c.jitter.relative = (odvgp_real)1e-4;
					c.optim.natgrad = natgrad;
					c.reproduce.update = (odvgp_update)update;
					c.reproduce.parametrisation = (odvgp_parametrisation)param;
					c.reproduce.gamma_coords = (odvgp_gamma_coords)(coords++ % 3);
					c.optim.batch = 20;
					c.optim.gamma_batch = 4;
					c.optim.lr = odvgp_constant((odvgp_real)0.02);
					c.optim.natgrad_step = odvgp_constant((odvgp_real)0.1);
					a = make_random(&c, "rbf");
					CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
					before = elbo_of(&a, NULL, NULL);
					for (i = 0; i < 400; i++)
						CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
					after = elbo_of(&a, NULL, NULL);
					error = rmse(&a);
					CHECK_SAY(after > before + 20,
							"orth %d natgrad %d update %d param %d: from %.4g to %.4g", orth,
							natgrad, update, param, before, after);
					/* The standard deviation of the noise is 0.2, that of the targets 0.7. */
					CHECK_SAY(error < 0.5, "orth %d natgrad %d update %d param %d: rmse %.3g", orth,
							natgrad, update, param, error);
					if (error > worst) worst = error;
					CHECK_INT(odvgp_model_events(a.m).step_undone, 0);
					drop(&a);
				}
	test_note("root mean square errors to %.2f, noise 0.2", worst);
}

TEST(frozen_slots_keep_their_bits)
{
	int frozen, s, natgrad;
	for (natgrad = 0; natgrad < 2; natgrad++) {
		int count = 1;
		for (frozen = 0; frozen < count; frozen++) {
			odvgp_config c = random_config(30, 2, 2, 4, 5);
			fixture a;
			odvgp_real **old;
			const char *name;
			c.optim.natgrad = natgrad;
			c.optim.batch = 10;
			c.optim.gamma_batch = 2;
			c.layer[0].mean_function =
					frozen % 2 ? ODVGP_MEAN_FUNCTION_LINEAR : ODVGP_MEAN_FUNCTION_CONSTANT;
			test_seed = 221;
			a = make_random(&c, random_kernels[0]);
			count = odvgp_slot_count(a.m);
			if (frozen >= count) {
				drop(&a);
				break;
			}
			name = odvgp_slot_at(a.m, frozen)->name;
			CHECK_STATUS(odvgp_set_trainable(a.m, name, 0, NULL), ODVGP_OK);
			CHECK_INT(odvgp_slot_at(a.m, frozen)->trainable, 0);
			old = NEW(odvgp_real *, count);
			for (s = 0; s < count; s++) old[s] = values(&a, odvgp_slot_at(a.m, s)->name);
			for (s = 0; s < 5; s++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			for (s = 0; s < count; s++) {
				const odvgp_slot *t = odvgp_slot_at(a.m, s);
				odvgp_real *v = values(&a, t->name);
				int same = memcmp(v, old[s], (size_t)t->count * sizeof *v) == 0;
				/* A natural step moves q_mu and q_sqrt together or not at all. */
				int still = s == frozen ||
							(natgrad && t->natgrad && odvgp_slot_at(a.m, frozen)->natgrad);
				CHECK_SAY(same == still, "with %s frozen, %s %s", name, t->name,
						same ? "does not move" : "moves");
				free(v), free(old[s]);
			}
			free(old);
			drop(&a);
		}
	}
	{
		/* A star at the end of a name matches all slots that begin with it. */
		odvgp_config c = random_config(30, 2, 2, 4, 5);
		fixture a = make_random(&c, random_kernels[0]);
		CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.*", 0, NULL), ODVGP_OK);
		for (s = 0; s < odvgp_slot_count(a.m); s++)
			CHECK_INT(odvgp_slot_at(a.m, s)->trainable,
					strncmp(odvgp_slot_at(a.m, s)->name, "kernel.", 7) != 0);
		CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.1*", 1, NULL), ODVGP_OK);
		CHECK(slot(&a, "kernel.1.variance")->trainable &&
				!slot(&a, "kernel.0.variance")->trainable);
		REFUSED(odvgp_set_trainable(a.m, "kernel.", 0, &info), ODVGP_E_NAME);
		REFUSED(odvgp_set_trainable(a.m, "x*", 0, &info), ODVGP_E_NAME);
		drop(&a);
	}
}

/*  A value that is set and then frozen is not recomputed from its logarithm, which changes one
    value in ten. */
TEST(frozen_values_stay_as_given)
{
	enum { VALUES = 50 };
	odvgp_config c = random_config(30, 2, 1, 4, 0);
	fixture a;
	int i, positive;
	test_seed = 222;
	for (positive = 0; positive < 2; positive++) {
		c.positive_transform =
				positive ? ODVGP_POSITIVE_TRANSFORM_EXP : ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
		a = make_random(&c, random_kernels[1]);
		CHECK_STATUS(odvgp_set_trainable(a.m, "noise_variance", 0, NULL), ODVGP_OK);
		for (i = 0; i < VALUES; i++) {
			odvgp_real given = (odvgp_real)(0.1 + 0.037 * i), now = 0;
			CHECK_STATUS(odvgp_set(a.m, "noise_variance", &given, 1, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_get(a.m, "noise_variance", &now, 1, NULL), ODVGP_OK);
			CHECK_SAY(now == given, "%.17g has become %.17g", (double)given, (double)now);
		}
		drop(&a);
	}
}

/*  Collects the final theta, a bound with its gradient, and predictions in one buffer. */
static size_t run_bits(const odvgp_config *cfg, int steps, uint64_t data_seed, odvgp_real **bits)
{
	fixture a;
	size_t n, at = 0;
	odvgp_real *b, e, kl;
	int i, s;
	test_seed = data_seed;
	a = make_random(cfg, random_kernels[0]);
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	for (i = 0; i < steps; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	n = 2 * (size_t)odvgp_param_count(a.m) + 2 + 2 * (size_t)(a.P * a.N) + 400 * (size_t)a.P;
	b = *bits = NEW(odvgp_real, n);
	for (s = 0; s < odvgp_slot_count(a.m); s++) {
		const odvgp_slot *t = odvgp_slot_at(a.m, s);
		if (t->count) CHECK_STATUS(odvgp_get(a.m, t->name, b + at, t->count, NULL), ODVGP_OK);
		at += (size_t)t->count;
	}
	CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, a.N, &e, &kl, b + at, NULL), ODVGP_OK);
	at += (size_t)odvgp_param_count(a.m);
	b[at++] = e;
	b[at++] = kl;
	predict(&a, a.X, a.N, b + at, b + at + a.P * a.N, NULL);
	at += 2 * (size_t)(a.P * a.N);
	predict(&a, a.X, 20, NULL, NULL, b + at);
	at += 400 * (size_t)a.P;
	CHECK(at == n);
	drop(&a);
	return n;
}

TEST(the_same_seed_gives_the_same_bits)
{
	odvgp_config c = random_config(50, 2, 2, 6, 8);
	odvgp_real *a, *b;
	size_t n;
	c.optim.batch = 16;
	c.optim.gamma_batch = 3;
	c.optim.lr = odvgp_constant((odvgp_real)0.01);
	c.seed = 5;
	n = run_bits(&c, 20, 222, &a);
	CHECK_INT(run_bits(&c, 20, 222, &b), n);
	CHECK_BITS(a, b, n * sizeof *a);
	free(b);
	c.seed = 6;
	run_bits(&c, 20, 222, &b);
	CHECK(memcmp(a, b, n * sizeof *a) != 0);
	free(a), free(b);
}

/*  The sizes are large enough that operations are cut into tasks. The number of tasks does not
    change the bits. */
TEST(any_number_of_tasks_gives_the_same_bits)
{
	static const int counts[] = {1, 2, 3, 7};
	int orth, natgrad, t;
	for (orth = 0; orth < 2; orth++)
		for (natgrad = 0; natgrad < 2; natgrad++) {
			odvgp_config c = random_config(300, 3, 2, 70, orth ? 150 : 0);
			odvgp_real *first = NULL, *bits;
			size_t n = 0;
			c.jitter.relative = (odvgp_real)1e-4;
			c.optim.natgrad = natgrad;
			c.reproduce.parametrisation =
					orth == natgrad ? ODVGP_PARAMETRISATION_WHITENED : ODVGP_PARAMETRISATION_PRIMAL;
			c.optim.batch = 200;
			c.tile = 150;
			c.optim.gamma_batch = 90;
			for (t = 0; t < 4; t++) {
				c.threads.run = run_mixed;
				c.threads.count = counts[t];
				n = run_bits(&c, 3, 223, t ? &bits : &first);
				if (!t) continue;
				CHECK_SAY(memcmp(bits, first, n * sizeof *bits) == 0,
						"orth %d natgrad %d: %d tasks give other bits than 1", orth, natgrad,
						counts[t]);
				free(bits);
			}
			/* Compare with the serial hook. */
			memset(&c.threads, 0, sizeof c.threads);
			run_bits(&c, 3, 223, &bits);
			CHECK_BITS(bits, first, n * sizeof *bits);
			free(bits);
			free(first);
		}
}

/*  The cached parts of K(X, Z_gamma) and of its products with each q_sqrt change the memory and
    the time, but no bit of the result. */
TEST(kept_and_computed_again_are_the_same_bits)
{
	static const char *const expressions[] = {"matern52 + rbf", "rbf(ard) * (matern32 + matern12)"};
	int k, natgrad;
	/* Test with and without gamma. */
	for (k = 0; k < 4; k++)
		for (natgrad = 0; natgrad < 2; natgrad++) {
			odvgp_config c = random_config(300, 3, 2, 10, k < 2 ? 150 : 0);
			odvgp_real *kept, *again;
			size_t with, without, n;
			c.layer[0].kernel = expressions[k % 2];
			/* The rows need more than one block. */
			c.tile = 300;
			c.optim.natgrad = natgrad;
			CHECK_STATUS(sized(&with, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
			n = run_bits(&c, 5, 226, &kept);
			c.kernel_cache_bytes = 0;
			CHECK_STATUS(sized(&without, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
			CHECK_SAY(without < with, "%ld bytes with what is kept, %ld without", (long)with,
					(long)without);
			CHECK_INT(run_bits(&c, 5, 226, &again), n);
			CHECK_BITS(kept, again, n * sizeof *kept);
			free(kept), free(again);
		}
}

/*  Counts of pairs of points whose distance or exponential is computed. */
static const odvgp__simd *counted;
static double distances, exponentials;
static void count_sqdist(
		ptrdiff_t nd, const odvgp_real *x, const odvgp_real *zt, ptrdiff_t ld, odvgp_real *r2)
{
	distances += GP__CHUNK;
	counted->sqdist(nd, x, zt, ld, r2);
}
static void count_radial(int type, odvgp_real v, odvgp_real scale, const odvgp_real *d2,
		odvgp_real *ve, odvgp_real *k, odvgp_real *dk)
{
	if (!(type & GP__E_GIVEN)) exponentials += GP__CHUNK;
	counted->radial(type, v, scale, d2, ve, k, dk);
}

/*  A step computes each distance and each exponential once for both directions, and half of Kb's,
    if they fit kernel_cache_bytes, and else twice. */
TEST(kernel_values_are_computed_once)
{
	static const char *const expressions[] = {"matern52 + rbf", "rbf(ard) * matern12"};
	for (int k = 0; k < 2; k++)
		for (int P = 1; P < 3; P++)
			for (int kept = 0; kept < 2; kept++) {
				odvgp_config c = config(512, 3, P, 256, k ? 0 : 192);
				double pairs = 0;
				c.layer[0].kernel = expressions[k];
				c.optim.batch = 512;
				c.optim.gamma_batch = 64;
				if (!kept) c.kernel_cache_bytes = 0;
				fixture a = make(&c);
				odvgp__simd row = *(counted = a.m->tape.blas.isa);
				CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
				row.sqdist = count_sqdist;
				row.radial = count_radial;
				a.m->tape.blas.isa = &row;
				distances = exponentials = 0;
				CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
				for (int i = 1; i <= a.m->tape.nodes; i++) {
					const gp__node *nd = &a.m->tape.node[i];
					if (nd->op != GP__KERNEL && nd->op != GP__KERNEL_VEC) continue;
					ptrdiff_t n = nd->in[1]->rows, m = nd->in[2]->rows;
					int lower = nd->op == GP__KERNEL && nd->variant == GP__KERNEL_LOWER;
					pairs += (double)(lower ? n * (n + 1) / 2 : n * m) *
							 (nd->segment == GP__TILE ? 2 : 1);
				}
				/* the first expression shares distances */
				double of_distance = distances / pairs / (k ? 2 : 1),
					   of_exp = exponentials / pairs / 2;
				CHECK_SAY(kept ? of_exp <= 1.05 && of_distance <= 1.05 : of_exp > 1.9,
						"%s, %d outputs: %.3f exponentials, %.3f distances a pair", expressions[k],
						P, of_exp, of_distance);
				drop(&a);
			}
}

TEST(every_instruction_set_and_every_tile_agree)
{
	static const ptrdiff_t tiles[] = {0, 1, 7, 64, 1000};
	size_t i, n = 0, j, sets = (size_t)test_isas.count;
	odvgp_real *first = NULL, *other;
	odvgp_config c = random_config(130, 3, 2, 30, 40);
	c.jitter.relative = (odvgp_real)1e-4;
	c.optim.lr = odvgp_constant((odvgp_real)1e-3);
	for (i = 0; i < sets + 5; i++) {
		double worst = 0, most = 0;
		c.isa = i < sets ? test_isas.isa[i] : test_isa();
		c.tile = i < sets ? 0 : tiles[i - sets];
		c.layer[0].kernel = "rbf";
		n = run_bits(&c, 0, 224, i ? &other : &first);
		if (!i) continue;
		for (j = 0; j < n; j++) {
			double d = fabs((double)first[j] - (double)other[j]);
			if (fabs((double)first[j]) > most) most = fabs((double)first[j]);
			if (worst == worst && !(d <= worst)) worst = d;
		}
		CHECK_SAY(worst <= 1e5 * EPS * most,
				"instruction set %d, tile %ld: differs by %.3g of %.3g", (int)c.isa, (long)c.tile,
				worst, most);
		free(other);
	}
	free(first);
}

/* ---- the order of updates, schedules, Adam's coordinates ---- */

/*  JOINT computes both updates at the old parameters; NATGRAD_FIRST gives Adam the new q,
    ADAM_FIRST gives the natural step the other new slots. */
TEST(orders_of_updates)
{
	int update, i;
	for (update = ODVGP_UPDATE_JOINT; update <= ODVGP_UPDATE_ADAM_FIRST; update++) {
		odvgp_config c = random_config(20, 2, 2, 4, 5);
		fixture a, b, d;
		c.optim.gamma_batch = 0;
		c.optim.natgrad_step = odvgp_constant((odvgp_real)0.3);
		c.optim.lr = odvgp_constant((odvgp_real)0.05);
		c.reproduce.update = (odvgp_update)update;
		test_seed = 230;
		a = make_random(&c, random_kernels[0]);
		c.reproduce.update = ODVGP_UPDATE_JOINT;
		test_seed = 230;
		b = make_random(&c, random_kernels[0]);
		test_seed = 230;
		d = make_random(&c, random_kernels[0]);
		CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		/* The same by hand: only Adam, on a model whose q is frozen, then only the natural step. */
		CHECK_STATUS(odvgp_set_trainable(b.m, "q_*", 0, NULL), ODVGP_OK);
		if (update == ODVGP_UPDATE_NATGRAD_FIRST)
			CHECK_STATUS(
					odvgp_natgrad_step(b.m, b.X, b.Y, b.N, (odvgp_real)0.3, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
		if (update == ODVGP_UPDATE_ADAM_FIRST)
			CHECK_STATUS(
					odvgp_natgrad_step(b.m, b.X, b.Y, b.N, (odvgp_real)0.3, NULL, NULL), ODVGP_OK);
		/* This model is for JOINT. */
		CHECK_STATUS(odvgp_natgrad_step(d.m, d.X, d.Y, d.N, (odvgp_real)0.3, NULL, NULL), ODVGP_OK);
		for (i = 0; i < odvgp_slot_count(a.m); i++) {
			const odvgp_slot *s = odvgp_slot_at(a.m, i);
			odvgp_real *va = values(&a, s->name),
					   *vb = values(update == ODVGP_UPDATE_JOINT && s->natgrad ? &d : &b, s->name);
			CHECK_SAY(test_max_diff(va, vb, s->count) <= 100 * EPS * test_max_abs(va, s->count),
					"update order %d: %s differs by %.3g", update, s->name,
					test_max_diff(va, vb, s->count));
			free(va), free(vb);
		}
		drop(&a);
		drop(&b);
		drop(&d);
	}
}

TEST(schedules)
{
	odvgp_config c = random_config(10, 1, 1, 3, 0);
	fixture a;
	odvgp_report r;
	int i;
	/* The step size rises. */
	c.optim.natgrad_step = odvgp_falling((odvgp_real)1e-4, (odvgp_real)0.1, 6);
	c.optim.lr = odvgp_falling(0, (odvgp_real)0.01, 5);
	c.optim.lr.kind = ODVGP_SCHEDULE_LINEAR;
	test_seed = 231;
	a = make_random(&c, "rbf");
	for (i = 0; i < 10; i++) {
		CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
		CHECK_NEAR(r.lr, i < 5 ? 0.01 * i / 5 : 0.01, 4 * EPS);
		CHECK_NEAR(r.natgrad_step, i < 6 ? 1e-4 * pow(1000, i / 6.0) : 0.1, 20 * EPS);
		CHECK_INT(r.step, i + 1);
	}
	drop(&a);
}

/*  The first Adam step with eps = 0 moves each number by the learning rate, against its
    gradient: positive values in their unbounded coordinate, a_gamma in D a, and so by lr / D
    with D = diag(K_gamma - K_gb Kb^-1 K_bg). */
TEST(adam_moves_in_its_coordinates)
{
	int coords, positive, i;
	ptrdiff_t j;
	for (coords = 0; coords < 2; coords++)
		for (positive = 0; positive < 2; positive++) {
			odvgp_config c = random_config(20, 2, 1, 4, 6);
			fixture a;
			odvgp_real *grad, *D = NEW(odvgp_real, 6);
			const double lr = 0.01;
			c.optim.adam_eps = 0;
			c.optim.lr = odvgp_constant((odvgp_real)lr);
			c.optim.natgrad = 0;
			c.optim.gamma_batch = 0;
			c.reproduce.gamma_coords =
					coords ? ODVGP_GAMMA_COORDS_SCALED : ODVGP_GAMMA_COORDS_PLAIN;
			c.positive_transform = (odvgp_positive_transform)positive;
			test_seed = 232;
			a = make_random(&c, random_kernels[0]);
			for (j = 0; j < 6; j++) D[j] = 1;
			/* Compute the residual variance at gamma from the joint prior. */
			if (coords) {
				odvgp_real *zg = values(&a, "Z_gamma"), *zb = values(&a, "Z_beta");
				wide *b, *g, *K, *C, *L, prior;
				read_kernel(&a);
				b = ref_copy(zb, 4 * 2), g = ref_copy(zg, 6 * 2);
				K = ref_K(&a.k, 2, b, 4, b, 4);
				for (i = 0; i < 4; i++) K[i * 4 + i] += (wide)c.jitter.absolute;
				L = ref_new(16);
				CHECK(ref_chol(4, K, L));
				C = ref_K(&a.k, 2, b, 4, g, 6);
				ref_solve_lower(0, 4, 6, L, C);
				prior = ref_k(&a.k, 2, g, g);
				for (j = 0; j < 6; j++) {
					wide d = prior;
					for (i = 0; i < 4; i++) d -= C[i * 6 + j] * C[i * 6 + j];
					D[j] = (odvgp_real)((d > prior / 100 ? d : prior / 100) / sqrtl(prior));
				}
				free(zg), free(zb), free(b), free(g), free(K), free(L), free(C);
			}
			grad = NEW(odvgp_real, odvgp_param_count(a.m));
			elbo_of(&a, NULL, grad);
			for (i = 0; i < odvgp_slot_count(a.m); i++) {
				const odvgp_slot *s = odvgp_slot_at(a.m, i);
				odvgp_real *before = values(&a, s->name), *after;
				fixture b;
				test_seed = 232;
				b = make_random(&c, random_kernels[0]);
				CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
				after = values(&b, s->name);
				for (j = 0; j < s->count; j++) {
					double g = (double)grad[s->offset + j], x = (double)before[j],
						   y = (double)after[j],
						   move = lr / (!strcmp(s->name, "a_gamma") ? (double)D[j] : 1.0);
					if (s->lower && j % 4 > j / 4 % 4) {
						CHECK(y == 0);
						continue;
					}
					if (s->positive) {
						x = positive == ODVGP_POSITIVE_TRANSFORM_EXP ? log(x) : log(expm1(x));
						y = positive == ODVGP_POSITIVE_TRANSFORM_EXP ? log(y) : log(expm1(y));
					}
					if (fabs(g) > 1e-3)
						CHECK_SAY(fabs(y - x + (g > 0 ? move : -move)) <= 2e3 * EPS * (1 + fabs(x)),
								"%s[%ld] moves by %.9g, not %.9g", s->name, (long)j, y - x,
								g > 0 ? -move : move);
				}
				free(before), free(after);
				drop(&b);
			}
			free(grad), free(D);
			drop(&a);
		}
}

/*  If k(x,x) depends on x, the D of each gamma point is computed from its own k(x,x). Where D is
    0 it is replaced by a floor, which is relative to all of them. D scales Adam's steps and
    divides in the differentiated coordinates. */
TEST(scales_of_kernels_that_are_not_stationary)
{
	int way;
	for (way = 0; way < 2; way++) {
		odvgp_config c = random_config(9, 2, 1, 3, 4);
		fixture a;
		wide *Zb, *Zg, *Kb, *Kbg, unit, floor_ = 0;
		odvgp_real *values_of_Zg, *grad;
		ptrdiff_t i, j;
		test_seed = 214;
		c.reproduce.gamma_coords =
				way ? ODVGP_GAMMA_COORDS_DIFFERENTIATED : ODVGP_GAMMA_COORDS_SCALED;
		c.optim.natgrad = 0;
		/* The step is so short that the values read after it are those it was computed from. */
		c.optim.lr = odvgp_constant((odvgp_real)1e-12);
		a = make_random(&c, "linear * rbf");
		values_of_Zg = values(&a, "Z_gamma");
		values_of_Zg[0] = values_of_Zg[1] = 0;
		values_of_Zg[2] *= 20;
		assign(&a, "Z_gamma", values_of_Zg);
		grad = NEW(odvgp_real, odvgp_param_count(a.m));
		CHECK(elbo_of(&a, NULL, grad) < 0);
		CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		read_kernel(&a);
		Zb = ref_copy(a.m->tape.node[a.m->unit[0].Z_beta.id].v, 6), Zg = ref_copy(values_of_Zg, 8);
		Kb = ref_K(&a.k, 2, Zb, 3, Zb, 3), Kbg = ref_K(&a.k, 2, Zb, 3, Zg, 4);
		for (i = 0; i < 3; i++) Kb[4 * i] += (wide)c.jitter.absolute;
		{
			wide ones[2] = {1, 1}, *W = ref_new(12);
			memcpy(W, Kbg, 12 * sizeof *W);
			ref_solve_spd(3, 4, Kb, W);
			unit = ref_k(&a.k, 2, ones, ones);
			for (j = 0; j < 4; j++)
				floor_ += way ? ref_k(&a.k, 2, Zg + 2 * j, Zg + 2 * j) / 4 : unit / 4;
			for (j = 0; j < 4; j++) {
				wide D = ref_k(&a.k, 2, Zg + 2 * j, Zg + 2 * j), want;
				for (i = 0; i < 3; i++) D -= Kbg[i * 4 + j] * W[i * 4 + j];
				want = D > floor_ / 100 ? D : floor_ / 100;
				if (way)
					CHECK_NEAR(a.m->tape.node[a.m->unit[0].gamma_residual.id].v[j], want,
							1e4 * EPS * (double)(want + D));
				else
					CHECK_NEAR(
							a.m->unit[0].scales[j], want / sqrtl(unit), 1e4 * EPS * (double)want);
			}
			free(W);
		}
		free(Zb), free(Zg), free(Kb), free(Kbg), free(values_of_Zg), free(grad);
		drop(&a);
	}
}

/*  A gamma point that coincides with a beta point has D = 0 up to jitter. The slot is divided by
    the floor of D, and the gradient is that of this floored bound. */
TEST(gamma_on_beta_has_a_floor)
{
	odvgp_config c = random_config(7, 2, 2, 3, 4);
	fixture a;
	odvgp_real *Z, *Zg;
	double elbo;
	ptrdiff_t j;
	int floored = 0;
	test_seed = 211;
	c.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_DIFFERENTIATED;
	c.jitter.absolute = (odvgp_real)BY_PRECISION(1e-10, 1e-5);
	a = make_random(&c, random_kernels[0]);
	Z = values(&a, "Z_beta"), Zg = values(&a, "Z_gamma");
	/* The first two points coincide. */
	memcpy(Zg, Z, 4 * sizeof *Z);
	assign(&a, "Z_gamma", Zg);
	elbo = elbo_of(&a, NULL, NULL);
	CHECK_SAY(elbo > -1e4, "the bound is %g", elbo);
	for (j = 0; j < 4; j++) {
		double D = (double)a.m->tape.node[a.m->unit[0].gamma_residual.id].v[j], k = 0;
		int l;
		read_kernel(&a);
		for (l = 0; l < a.k.base_kernels; l++) k += (double)a.k.base[l].variance[0];
		CHECK(D >= 0.01 * k * (1 - 1e-5));
		if (j < 2) CHECK_NEAR(D, 0.01 * k, 1e-5 * k);
		floored += D < 0.0101 * k;
	}
	/* The floor is a choice of the model and not counted as a rounding error. */
	CHECK_INT(odvgp_model_events(a.m).variance_clamped, 0);
	check_gradient(&a, NULL, 0, BY_PRECISION(1e-8, 3e-3), 0, "at the floor");
	test_note("%d of 4 points at the floor", floored);
	free(Z), free(Zg);
	drop(&a);
}

static int stop_at_seven(void *user, const odvgp_progress *at)
{
	if (!at->report) return 0;
	++*(int *)user;
	CHECK_INT(at->phase, ODVGP_PHASE_STEP);
	CHECK_INT(at->done, at->report->step);
	CHECK_INT(at->total, 100);
	return at->report->step == 7;
}

TEST(fit_can_be_stopped)
{
	odvgp_config c = random_config(10, 1, 1, 3, 0);
	fixture a;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	int calls = 0;
	odvgp_watch watch = {stop_at_seven, &calls};
	test_seed = 233;
	a = make_random(&c, "rbf");
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 100, &watch, &info), ODVGP_E_STOPPED);
	CHECK_SAY(info.status == ODVGP_E_STOPPED && !strcmp(info.what, "watch") &&
					  strstr(info.text, "stopped"),
			"%s", info.text);
	CHECK_INT(calls, 7);
	CHECK_INT(odvgp_steps_done(a.m), 7);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL), ODVGP_OK);
	CHECK_INT(odvgp_steps_done(a.m), 10);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 0, NULL, NULL), ODVGP_OK);
	drop(&a);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(nothing_is_allocated_after_the_start);
	RUN(each_allocation_can_fail);
	RUN(no_pointer_of_the_caller_is_kept);
	RUN(rows_for_the_start_do_not_overflow);
	RUN(memory_does_not_grow_with_the_data);
	RUN(training_raises_the_bound);
	RUN(frozen_slots_keep_their_bits);
	RUN(frozen_values_stay_as_given);
	RUN(the_same_seed_gives_the_same_bits);
	RUN(any_number_of_tasks_gives_the_same_bits);
	RUN(kept_and_computed_again_are_the_same_bits);
	RUN(kernel_values_are_computed_once);
	RUN(every_instruction_set_and_every_tile_agree);
	RUN(orders_of_updates);
	RUN(schedules);
	RUN(adam_moves_in_its_coordinates);
	RUN(scales_of_kernels_that_are_not_stationary);
	RUN(gamma_on_beta_has_a_floor);
	RUN(fit_can_be_stopped);
	return test_end();
}

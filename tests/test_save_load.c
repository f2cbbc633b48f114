/*  Models and predictors in blocks and files: blocks of the exact size at any alignment, files
    that continue training with the same bits, files of the other precision, files on disk. */
#include <stdlib.h>
#if defined(__unix__) || defined(__APPLE__)
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"
#include "kinds.h"

/*  The call that wrote info failed because of the argument or file `what`. */
static void blames(const odvgp_info *info, odvgp_status status, const char *what)
{
	CHECK_STATUS(info->status, status);
	CHECK_SAY(info->what && !strcmp(info->what, what), "info blames \"%s\", not \"%s\": %s",
			info->what ? info->what : "", what, info->text);
}

/* ---- blocks ---- */

typedef struct guarded {
	unsigned char *all;
	void *p;
	size_t n, offset;
} guarded;

#define GUARD 192

static guarded guard(size_t n, size_t offset)
{
	guarded g;
	g.all = NEW(unsigned char, n + 2 * GUARD + 64);
	memset(g.all, PATTERN, n + 2 * GUARD + 64);
	g.offset = GUARD + (64 - ((size_t)(uintptr_t)g.all + GUARD) % 64) % 64 + offset;
	if (g.offset >= GUARD + 64) g.offset -= 64;
	g.p = g.all + g.offset;
	g.n = n;
	return g;
}

static int whole(const guarded *g)
{
	return untouched(g->all, g->offset) &&
		   untouched(g->all + g->offset + g->n, 2 * GUARD + 64 - g->offset);
}

TEST(exact_blocks_at_any_alignment)
{
	static const size_t offsets[] = {0, 1, 3, 7, 8, 13, 16, 31, 32, 33, 47, 63};
	size_t o;
	int round;
	for (round = 0; round < 5; round++)
		for (o = 0; o < sizeof offsets / sizeof *offsets; o++) {
			odvgp_config c = config(11 + round * 50, 1 + round, 1 + round % 2,
					1 + 3 * round * round, round % 2 ? 3 + 20 * round : 0);
			fixture d;
			guarded block, pred, scratch, file, copy, grad;
			odvgp_model *m, *m2;
			odvgp_server servers[2], *p = &servers[0], *p2 = &servers[1];
			odvgp_info info = no_info();
			size_t bytes, model_bytes, pred_bytes, user_bytes;
			const void *user;
			ptrdiff_t n = 11, rows;
			odvgp_real e, kl, *mean, *var, *cov, *mean2;
			memset(&d, 0, sizeof d);
			test_seed = 310 + (uint64_t)round;
			c.reproduce.parametrisation = (odvgp_parametrisation)(o % 3);
			c.reproduce.gamma_coords = (odvgp_gamma_coords)(o / 3 % 3);
			c.layer[0].mean_function = (odvgp_mean_function)(round % 3);
			c.tile = o % 2 ? 5 : 0;
			c.init.beta = (odvgp_init_beta)((o + (size_t)round) % 4);
			c.init.gamma = (odvgp_init_gamma)(o / 2 % 2);
			c.init.hyperparams = (odvgp_init_hyper)(o / 4 % 2);
			if (o % 4 == 3) c.layer[0].kernel = "(rbf(1, ard) + matern12(1, dims=0)) * matern32";
			make_data(&d, c.N, c.layer[0].D, c.layer[0].P, 1, 0.1);
			CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
			block = guard(bytes, offsets[o]);
			m = NULL;
			CHECK_STATUS(odvgp_model_init(&m, &c, block.p, bytes - 1, &info), ODVGP_E_MEMORY);
			CHECK(m == NULL && info.text[0] && whole(&block) &&
					untouched((unsigned char *)block.p + bytes - 1, 1));
			CHECK_SAY(odvgp_model_init(&m, &c, block.p, bytes, &info) == ODVGP_OK, "offset %d: %s",
					(int)offsets[o], info.text);
			if (!m) continue;
			CHECK((unsigned char *)m >= (unsigned char *)block.p &&
					(unsigned char *)m < (unsigned char *)block.p + bytes);
			CHECK_STATUS(odvgp_init_data(m, d.X, d.Y, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_fit(m, d.X, d.Y, 3, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(
					odvgp_natgrad_step(m, d.X, d.Y, c.N, (odvgp_real)0.3, NULL, NULL), ODVGP_OK);
			grad = guard((size_t)odvgp_param_count(m) * sizeof(odvgp_real), 0);
			CHECK_STATUS(
					odvgp_elbo(m, d.X, d.Y, c.N, &e, &kl, (odvgp_real *)grad.p, NULL), ODVGP_OK);
			CHECK(whole(&block) && whole(&grad));
			/* The predictor. */
			bytes = odvgp_predictor_size(m, NULL);
			/* The block of a predictor holds reals at their own alignment. */
			pred = guard(bytes, offsets[o] / sizeof(odvgp_real) * sizeof(odvgp_real));
			CHECK_STATUS(serve(m, NULL, pred.p, bytes, p, NULL), ODVGP_OK);
			CHECK(whole(&pred) && whole(&block));
			mean = NEW(odvgp_real, c.layer[0].P * n), var = NEW(odvgp_real, c.layer[0].P * n),
			cov = NEW(odvgp_real, c.layer[0].P * n * n), mean2 = NEW(odvgp_real, c.layer[0].P * n);
			for (rows = 1; rows <= n; rows += 5) {
				bytes = odvgp_predict_scratch(p, rows, NULL);
				scratch = guard(bytes, offsets[o]);
				CHECK_STATUS(odvgp_predict(p, d.X, n, mean, var, scratch.p, bytes, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_predict_logp(p, d.X, d.Y, n, mean2, scratch.p, bytes, NULL),
						ODVGP_OK);
				CHECK(whole(&scratch));
				if (rows == n) {
					CHECK_STATUS(odvgp_predict_cov(p, d.X, n, mean2, cov, scratch.p, bytes, NULL),
							ODVGP_OK);
					CHECK(whole(&scratch));
				}
				free(scratch.all);
			}
			bytes = odvgp_sample_scratch(p, n, NULL);
			scratch = guard(bytes, offsets[o]);
			const odvgp_draws draw = {1, 3};
			CHECK_STATUS(odvgp_sample(p, d.X, n, &draw, cov, scratch.p, bytes, NULL), ODVGP_OK);
			CHECK(whole(&scratch) && whole(&pred));
			free(scratch.all);
			/* The file. */
			bytes = odvgp_save_size(m, 5, NULL);
			file = guard(bytes, offsets[o]);
			CHECK_STATUS(odvgp_save_memory(m, NULL, "12345", 5, file.p, bytes - 1, NULL),
					ODVGP_E_MEMORY);
			CHECK(untouched(file.p, bytes));
			CHECK_STATUS(odvgp_save_memory(m, NULL, "12345", 5, file.p, bytes, &info), ODVGP_OK);
			CHECK(whole(&file) && whole(&block));
			model_bytes = odvgp_load_size(file.p, bytes, NULL, test_isa(), NULL);
			pred_bytes = odvgp_server_size(file.p, bytes, NULL);
			CHECK_STATUS(odvgp_load_user(file.p, bytes, &user, &user_bytes, &info), ODVGP_OK);
			CHECK(user_bytes == 5 && !memcmp(user, "12345", 5));
			copy = guard(model_bytes, offsets[o]);
			CHECK_STATUS(odvgp_load_memory(&m2, file.p, bytes, NULL, test_isa(), copy.p,
								 model_bytes - 1, &info),
					ODVGP_E_MEMORY);
			CHECK(m2 == NULL && whole(&copy) &&
					untouched((unsigned char *)copy.p + model_bytes - 1, 1));
			CHECK_STATUS(odvgp_load_memory(
								 &m2, file.p, bytes, NULL, test_isa(), copy.p, model_bytes, &info),
					ODVGP_OK);
			CHECK_STATUS(odvgp_fit(m2, d.X, d.Y, 2, NULL, NULL), ODVGP_OK);
			CHECK(whole(&copy) && whole(&file));
			free(copy.all);
			copy = guard(pred_bytes, offsets[o] / sizeof(odvgp_real) * sizeof(odvgp_real));
			servers[1] = servers[0];
			CHECK_STATUS(odvgp_server_from_memory(
								 p2, file.p, bytes, test_isa(), copy.p, pred_bytes - 1, &info),
					ODVGP_E_MEMORY);
			CHECK(!memcmp(p, p2, sizeof *p) && untouched(copy.p, pred_bytes));
			CHECK_STATUS(odvgp_server_from_memory(
								 p2, file.p, bytes, test_isa(), copy.p, pred_bytes, &info),
					ODVGP_OK);
			CHECK(whole(&copy));
			bytes = odvgp_predict_scratch(p2, n, NULL);
			scratch = guard(bytes, 0);
			CHECK_STATUS(odvgp_predict(p2, d.X, n, mean2, NULL, scratch.p, bytes, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_predict(p, d.X, n, mean, NULL, scratch.p, bytes, NULL), ODVGP_OK);
			CHECK_BITS(mean, mean2, (size_t)(c.layer[0].P * n) * sizeof *mean);
			free(scratch.all), free(copy.all), free(file.all), free(pred.all), free(block.all),
					free(grad.all);
			free(mean), free(var), free(cov), free(mean2);
			drop(&d);
		}
}

/*  A predictor holds no pointers: a copy of the block works at any address, and predictions only
    read it. */
TEST(predictors_can_be_moved)
{
	odvgp_config c = config(12, 2, 2, 4, 5);
	fixture a;
	size_t bytes, need, shift;
	unsigned char *block, *copy, *keep;
	odvgp_server servers[2], *p = &servers[0], *q = &servers[1];
	odvgp_real m0[24], v0[24], m1[24], v1[24], c0[288], c1[288];
	void *scratch;
	test_seed = 320;
	a = make(&c);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 20, NULL, NULL), ODVGP_OK);
	bytes = odvgp_predictor_size(a.m, NULL);
	block = NEW(unsigned char, bytes), copy = NEW(unsigned char, bytes + 64),
	keep = NEW(unsigned char, bytes + 64);
	CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
	need = odvgp_predict_scratch(p, 12, NULL);
	scratch = test_alloc(need);
	CHECK_STATUS(odvgp_predict(p, a.X, 12, m0, v0, scratch, need, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_cov(p, a.X, 12, NULL, c0, scratch, need, NULL), ODVGP_OK);
	/* Overwrite the model: the predictor does not need it. */
	memset(a.block, 0, a.bytes);
	/* Try every alignment that a real may have. */
	for (shift = 0; shift <= 64; shift += 8) {
		memset(copy, 0, bytes + 64);
		memcpy(copy + shift, block, bytes);
		memcpy(keep, copy, bytes + 64);
		CHECK_STATUS(odvgp_server_from_block(q, copy + shift, bytes, test_isa(), NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_predict(q, a.X, 12, m1, v1, scratch, need, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_predict_cov(q, a.X, 12, NULL, c1, scratch, need, NULL), ODVGP_OK);
		CHECK_BITS(m0, m1, sizeof m0);
		CHECK_BITS(v0, v1, sizeof v0);
		CHECK_BITS(c0, c1, sizeof c0);
		CHECK_BITS(copy, keep, bytes + 64);
	}
	free(block), free(copy), free(keep), free(scratch);
	drop(&a);
}

/* ---- files ---- */

TEST(training_goes_on_bit_for_bit_after_a_file)
{
	int natgrad, param, coords, update = 0;
	for (natgrad = 0; natgrad < 2; natgrad++)
		for (param = 0; param < 3; param++)
			for (coords = 0; coords < 3; coords++, update++) {
				odvgp_config c = config(40, 2, 2, 5, coords == 2 && natgrad ? 0 : 6);
				fixture a;
				odvgp_model *b = NULL;
				size_t bytes, model_bytes, pred_bytes, user_bytes, second_bytes, i;
				const void *user;
				void *file, *second, *block, *pred, *scratch;
				odvgp_server servers[2], *p = &servers[0], *q = &servers[1];
				odvgp_real *va, *vb, xm[2] = {1, 2}, ys[2] = {3, 4}, m0[80], m1[80], v0[80], v1[80],
									 e0, e1;
				odvgp_scales scales = {NULL, NULL, NULL, NULL};
				odvgp_report r0, r1;
				odvgp_info info = no_info();
				unsigned char *shifted;
				test_seed = 330;
				scales.x_mean = xm, scales.y_scale = ys;
				c.optim.natgrad = natgrad;
				c.reproduce.parametrisation = (odvgp_parametrisation)param;
				c.reproduce.gamma_coords = (odvgp_gamma_coords)coords;
				c.reproduce.gamma_kl = (odvgp_gamma_kl)(update % 2);
				c.reproduce.update = (odvgp_update)(update % 3);
				c.layer[0].mean_function = (odvgp_mean_function)(update / 2 % 3);
				c.positive_transform = (odvgp_positive_transform)(update % 2);
				c.reproduce.adam_eps_inside = update % 2;
				c.optim.natgrad_step = odvgp_falling((odvgp_real)1e-3, (odvgp_real)0.005, 15);
				c.seed = 77;
				if (update % 4 == 3) c.layer[0].kernel = "matern32(1, ard) * rbf(2, dims=1)";
				a = make(&c);
				CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.1.variance", 0, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 11, NULL, NULL), ODVGP_OK);
				file = save_file(a.m, &scales, "some words", &bytes);
				/* A file may start at any address. */
				shifted = NEW(unsigned char, bytes + 3);
				memcpy(shifted + 3, file, bytes);
				model_bytes = odvgp_load_size(shifted + 3, bytes, NULL, test_isa(), &info);
				CHECK_SAY(model_bytes > 0, "%s", info.text);
				pred_bytes = odvgp_server_size(shifted + 3, bytes, NULL);
				CHECK_STATUS(
						odvgp_load_user(shifted + 3, bytes, &user, &user_bytes, NULL), ODVGP_OK);
				CHECK(user_bytes == 10 && !memcmp(user, "some words", 10));
				block = test_alloc(model_bytes), pred = test_alloc(pred_bytes);
				CHECK_SAY(odvgp_load_memory(&b, shifted + 3, bytes, NULL, test_isa(), block,
								  model_bytes, &info) == ODVGP_OK,
						"%s", info.text);
				CHECK_SAY(odvgp_server_from_memory(q, shifted + 3, bytes, test_isa(), pred,
								  pred_bytes, &info) == ODVGP_OK,
						"%s", info.text);
				/* Overwrite the file: the model does not need it. */
				memset(shifted, 0, bytes + 3);
				if (!b) continue;
				CHECK_INT(odvgp_steps_done(b), 11);
				/* Saving the loaded model gives the same file. */
				second = save_file(b, &scales, "some words", &second_bytes);
				CHECK(second_bytes == bytes && memcmp(second, file, bytes) == 0);
				/* The predictor in the file is the one that odvgp_freeze makes. */
				{
					size_t n = odvgp_predictor_size(a.m, NULL), need;
					void *frozen = test_alloc(n);
					CHECK_STATUS(serve(a.m, &scales, frozen, n, p, NULL), ODVGP_OK);
					need = odvgp_predict_scratch(p, 40, NULL);
					scratch = test_alloc(need);
					CHECK_STATUS(odvgp_predict(p, a.X, 40, m0, v0, scratch, need, NULL), ODVGP_OK);
					CHECK_STATUS(odvgp_predict(q, a.X, 40, m1, v1, scratch, need, NULL), ODVGP_OK);
					CHECK_BITS(m0, m1, sizeof m0);
					CHECK_BITS(v0, v1, sizeof v0);
					free(frozen), free(scratch);
				}
				for (i = 0; i < 14; i++) {
					CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r0, NULL), ODVGP_OK);
					CHECK_STATUS(odvgp_step(b, a.X, a.Y, &r1, NULL), ODVGP_OK);
					CHECK(r0.elbo == r1.elbo && r0.kl == r1.kl && r0.lr == r1.lr &&
							r0.natgrad_step == r1.natgrad_step && r0.step == r1.step);
				}
				CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 40, &e0, NULL, NULL, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_elbo(b, a.X, a.Y, 40, &e1, NULL, NULL, NULL), ODVGP_OK);
				CHECK(e0 == e1);
				va = all_values(a.m), vb = all_values(b);
				CHECK_BITS(va, vb, (size_t)odvgp_param_count(a.m) * sizeof *va);
				CHECK(!odvgp_slot_find(b, "kernel.1.variance")->trainable);
				free(file), free(second), free(block), free(pred), free(va), free(vb),
						free(shifted);
				drop(&a);
			}
}

/*  Checks the file of any legal pair of parts with any objective. The loaded model predicts the
    same bits at once, after another save, and after odvgp_freeze; saving it gives the same
    bytes. */
static void check_file(const odvgp_config *c, const char *where)
{
	fixture a = make(c);
	odvgp_real m0[24], v0[24], v0_once[24], m1[24], v1[24], v1_once[24];
	size_t bytes, model_bytes, pred_bytes, second_bytes, need;
	void *file, *second, *block, *pred, *scratch, *work;
	odvgp_server server, *p = NULL;
	odvgp_model *b = NULL;
	odvgp_info info = no_info();
	int k;
	CHECK_SAY(
			odvgp_fit(a.m, a.X, a.Y, 2, NULL, &info) == ODVGP_OK, "%s: fit: %s", where, info.text);
	if (c->objective != ODVGP_OBJECTIVE_ELBO) {
		need = odvgp_fit_q_scratch(a.m, NULL);
		work = test_alloc(need);
		CHECK_SAY(odvgp_fit_q(a.m, a.X, a.Y, NULL, work, need, &info) == ODVGP_OK, "%s: fit_q: %s",
				where, info.text);
		free(work);
	}
	CHECK_SAY(odvgp_predict_once(a.m, a.X, 12, m0, v0_once, NULL, &info) == ODVGP_OK,
			"%s: predict: %s", where, info.text);
	predict(&a, a.X, 12, m0, v0, NULL);
	CHECK(all_finite(m0, 12 * c->layer[0].P) && all_finite(v0, 12 * c->layer[0].P));
	file = save_file(a.m, NULL, "", &bytes);
	model_bytes = odvgp_load_size(file, bytes, NULL, test_isa(), &info);
	CHECK_SAY(model_bytes > 0, "%s: load_size: %s", where, info.text);
	pred_bytes = odvgp_server_size(file, bytes, NULL);
	/* A loaded model predicts at once, is frozen, or is saved. */
	for (k = 0; k < 3 && !info.text[0]; k++) {
		size_t n = (size_t)(12 * c->layer[0].P) * sizeof *m0;
		block = test_alloc(model_bytes);
		CHECK_SAY(odvgp_load_memory(&b, file, bytes, NULL, test_isa(), block, model_bytes, &info) ==
						  ODVGP_OK,
				"%s: load: %s", where, info.text);
		if (k == 0) CHECK_STATUS(odvgp_predict_once(b, a.X, 12, m1, v1_once, NULL, NULL), ODVGP_OK);
		pred = test_alloc(pred_bytes);
		if (k == 1) CHECK_STATUS(serve(b, NULL, pred, pred_bytes, p = &server, NULL), ODVGP_OK);
		if (k == 2) {
			second = save_file(b, NULL, "", &second_bytes);
			CHECK_SAY(second_bytes == bytes && !memcmp(second, file, bytes), "%s: other bytes",
					where);
			CHECK_STATUS(odvgp_server_from_memory(p = &server, second, second_bytes, test_isa(),
								 pred, pred_bytes, NULL),
					ODVGP_OK);
			free(second);
		}
		if (k && p) {
			need = odvgp_predict_scratch(p, 12, NULL);
			scratch = test_alloc(need);
			CHECK_STATUS(odvgp_predict(p, a.X, 12, m1, v1, scratch, need, NULL), ODVGP_OK);
			free(scratch);
		}
		CHECK_SAY(!memcmp(m0, m1, n) && !memcmp(k ? v0 : v0_once, k ? v1 : v1_once, n),
				"%s: look %d: another prediction", where, k);
		free(block), free(pred);
	}
	free(file);
	drop(&a);
}

TEST(every_model_is_read_again_from_its_file)
{
	int mean, cov, objective, param, gamma, files = 0, without_q = 0;
	for (mean = 0; mean < GP__COUNT(gp__mean_parts); mean++)
		for (cov = 0; cov < GP__COUNT(gp__cov_parts); cov++)
			for (objective = ODVGP_OBJECTIVE_ELBO; objective <= ODVGP_OBJECTIVE_EXACT; objective++)
				for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA;
						param++)
					for (gamma = 0; gamma < 2; gamma++) {
						odvgp_config c = config(12, 2, 2,
								objective == ODVGP_OBJECTIVE_EXACT ? 12 : 4, gamma ? 3 : 0);
						char where[100];
						size_t bytes;
						test_seed = 338;
						c.layer[0].mean_part = (odvgp_mean_part)mean,
						c.layer[0].cov_part = (odvgp_cov_part)cov,
						c.objective = (odvgp_objective)objective;
						c.reproduce.parametrisation = (odvgp_parametrisation)param;
						c.optim.natgrad = 0;
						c.optim.batch = 12;
						if (sized(&bytes, odvgp_model_size(&c, NULL), NULL) != ODVGP_OK) continue;
						snprintf(where, sizeof where,
								"mean %d, cov %d, objective %d, param %d, gamma %d", mean, cov,
								objective, param, gamma);
						check_file(&c, where);
						files++;
						without_q += objective != ODVGP_OBJECTIVE_ELBO;
					}
	CHECK(without_q > 20);
	test_note("%d, %d of them without q", files, without_q);
}

/*  Read and write numbers of 4 or 8 bytes in the byte order of files, which may differ from the
    machine's. */
static double read_little(const unsigned char *at, size_t bytes)
{
	uint64_t bits = 0;
	uint32_t half;
	float single;
	double twice;
	size_t i;
	for (i = 0; i < bytes; i++) bits |= (uint64_t)at[i] << (8 * i);
	half = (uint32_t)bits;
	memcpy(&single, &half, sizeof single);
	memcpy(&twice, &bits, sizeof twice);
	return bytes == 4 ? (double)single : twice;
}

static void write_little(unsigned char *at, size_t bytes, double x)
{
	float single = (float)x;
	uint64_t bits;
	uint32_t half;
	size_t i;
	memcpy(&half, &single, sizeof half);
	memcpy(&bits, &x, sizeof bits);
	if (bytes == 4) bits = half;
	for (i = 0; i < bytes; i++) at[i] = (unsigned char)(bits >> (8 * i));
}

/*  From a file of the other precision a predictor can be served, but no model can be trained.
    The test makes such a file from one of this precision by rewriting its numbers. */
TEST(predictors_of_the_other_precision)
{
	enum { OTHER = sizeof(odvgp_real) == 4 ? 8 : 4 };
	odvgp_config c = config(12, 2, 2, 3, 4);
	fixture a;
	size_t bytes, other_bytes, i, at, head = GP__FILE_HEAD, state = 0, reals, words, need,
									  pred_bytes = 0, model_bytes = 0, user_bytes = 0;
	unsigned char *file, *other;
	const void *user;
	void *pred, *frozen, *scratch, *block;
	odvgp_server servers[2], *p = &servers[0], *q = &servers[1];
	odvgp_model *m;
	odvgp_real m0[24], m1[24], v0[24], v1[24];
	odvgp_info said = no_info();
	odvgp_status read;
	uint64_t sum;
	test_seed = 334;
	a = make(&c);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 20, NULL, NULL), ODVGP_OK);
	file = save_file(a.m, NULL, "abc", &bytes);
	/* The head holds 8 bytes of magic, 4 of version, 4 of the size of a real, then three
       lengths. */
	for (i = 0; i < 8; i++) state |= (size_t)((uint64_t)file[16 + i] << (8 * i));
	words = gp__predictor_head(a.m->unit[0].kernel.base_kernels);
	reals = (bytes - head - state - words - 3 - 8) / sizeof(odvgp_real);
	/* The model's section is left out. */
	other_bytes = head + words + reals * OTHER + 3 + 8;
	other = NEW(unsigned char, other_bytes);
	memcpy(other, file, head);
	other[12] = OTHER;
	for (i = 0; i < 8; i++) {
		other[16 + i] = 0;
		other[24 + i] = (unsigned char)((uint64_t)(words + reals * OTHER) >> (8 * i));
	}
	memcpy(other + head, file + head + state, words);
	/* The predictor's third word holds the size of a real. */
	other[head + 8] = OTHER;
	for (i = 0, at = head + words; i < reals; i++, at += OTHER) {
		double x = read_little(
				file + head + state + words + i * sizeof(odvgp_real), sizeof(odvgp_real));
		write_little(other + at, OTHER, x);
	}
	memcpy(other + at, "abc", 3);
	sum = gp__checksum(other, other_bytes - 8);
	for (i = 0; i < 8; i++) other[other_bytes - 8 + i] = (unsigned char)(sum >> (8 * i));
	NO_SIZE(odvgp_load_size(other, other_bytes, NULL, test_isa(), &info), ODVGP_E_UNSUPPORTED,
			"model file");
	block = test_alloc(a.bytes);
	REFUSED(odvgp_load_memory(&m, other, other_bytes, NULL, test_isa(), block, a.bytes, &info),
			ODVGP_E_UNSUPPORTED);
	CHECK(m == NULL);
	CHECK_STATUS(odvgp_load_user(other, other_bytes, &user, &user_bytes, NULL), ODVGP_OK);
	pred_bytes = odvgp_server_size(other, other_bytes, NULL);
	CHECK(user_bytes == 3 && !memcmp(user, "abc", 3));
	CHECK_INT(pred_bytes, odvgp_predictor_size(a.m, NULL));
	pred = test_alloc(pred_bytes), frozen = test_alloc(pred_bytes);
	read = odvgp_server_from_memory(p, other, other_bytes, test_isa(), pred, pred_bytes, &said);
	CHECK_SAY(read == ODVGP_OK, "%s", said.text);
	CHECK_STATUS(serve(a.m, NULL, frozen, pred_bytes, q, NULL), ODVGP_OK);
	need = odvgp_predict_scratch(q, 12, NULL);
	scratch = test_alloc(need);
	if (read == ODVGP_OK) {
		CHECK_STATUS(odvgp_predict(p, a.X, 12, m0, v0, scratch, need, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_predict(q, a.X, 12, m1, v1, scratch, need, NULL), ODVGP_OK);
		/* A conversion from float to double and back loses nothing. */
		CHECK_SAY(test_max_diff(m0, m1, 24) <= BY_PRECISION(1e-5, 0), "means differ by %.3g",
				test_max_diff(m0, m1, 24));
		CHECK_SAY(test_max_diff(v0, v1, 24) <= BY_PRECISION(1e-5, 0), "variances differ by %.3g",
				test_max_diff(v0, v1, 24));
	}
	free(file), free(other), free(pred), free(frozen), free(scratch), free(block);
	drop(&a);
}

/*  A predictor may have more reals than 32 bits can count. The test makes no such block: heads
    say how large it would be. */
TEST(predictors_of_more_reals_than_32_bits)
{
	odvgp_config c = config(100, 2, 1, 5, 0);
	gp__draft draft;
	odvgp_model *m = &draft.model;
	gp__predictor p;
	gp__predictor_start start, q;
	uint64_t left;
	gp__file f;
	gp__file_head h;
	odvgp_info info = no_info();
	size_t bytes;
	double want;
	size_t words;
	unsigned char *head = NEW(unsigned char, GP__FILE_HEAD + sizeof start);
	if (sizeof(size_t) < 8) {
		free(head);
		SKIP("addresses of 32 bits");
	}
	c.layer[0].M = 100000;
	want = 2.0 * (double)c.layer[0].M * (double)c.layer[0].M * (double)sizeof(odvgp_real);
	gp__draft_start(&draft, gp__make_from_config, &c);
	gp__model_config(m, &c);
	CHECK_STATUS(gp__model_measure(m, &bytes, &info), ODVGP_OK);
	/* This model has no arrays; the test only asks for sizes. */
	m->magic = GP__MODEL_MAGIC;
	CHECK_NEAR(odvgp_predictor_size(m, NULL), want, 1e-3 * want);
	CHECK((double)odvgp_save_size(m, 3, NULL) > want);
	gp__predictor_sizes(&m->unit[0], &p);
	words = gp__predictor_head(p.base_kernels);
	memset(&start, 0, sizeof start);
	start.head = p;
	gp__kernel_pack(&m->unit[0].kernel, start.words + sizeof p / 4);
	f = gp__file_make(GP__FILE_WRITE, head, GP__FILE_HEAD + sizeof start);
	f.used = GP__FILE_HEAD;
	gp__file_words(&f, &start, words);
	h = gp__file_sizes(m, 3);
	CHECK_NEAR(h.predictor_bytes, want, 1e-3 * want);
	/* Without state, the predictor's head comes first. */
	h.state_bytes = 0;
	f.mode = GP__FILE_READ;
	f.used = GP__FILE_HEAD;
	left = h.predictor_bytes;
	CHECK_SAY(gp__file_predictor(&f, &h, &left, NULL, &q.head, &info) == ODVGP_OK, "%s", info.text);
	CHECK(left == 0);
	CHECK_BITS(&start, &q, words);
	CHECK_NEAR(gp__predictor_reals(&q.head), want / sizeof(odvgp_real), 1e-3 * want);
	/* The lower half of the 64-bit length is not accepted by itself. */
	left = h.predictor_bytes - ((uint64_t)sizeof(odvgp_real) << 32);
	f.used = GP__FILE_HEAD;
	CHECK_STATUS(gp__file_predictor(&f, &h, &left, NULL, &q.head, &info), ODVGP_E_FORMAT);
	/* A config that no file can hold has no size. */
	m->cfg.optim.natgrad_step.steps = -1;
	CHECK(odvgp_save_size(m, 3, NULL) == 0);
	CHECK_STATUS(odvgp_save_memory(m, NULL, NULL, 0, head, GP__FILE_HEAD, &info), ODVGP_E_SIZE);
	blames(&info, ODVGP_E_SIZE, "file");
	CHECK_STATUS(odvgp_save_file(m, "", &info), ODVGP_E_SIZE);
	blames(&info, ODVGP_E_SIZE, "file");
	free(head);
}

/*  A path in build/, or here if there is no such folder. */
static const char *path_here(void)
{
	const char *path = "build/test_save_load." PRECISION ".odvgp";
	FILE *f = fopen(path, "wb");
	if (!f) return "test_save_load." PRECISION ".odvgp";
	fclose(f);
	return path;
}

/*  Three steps, and q where the bound has none. */
static void three_steps(odvgp_model *m, const kind_model *k)
{
	CHECK_STATUS(odvgp_fit(m, k->X, k->Y, 3, NULL, NULL), ODVGP_OK);
	if (odvgp_model_config(m)->objective == ODVGP_OBJECTIVE_ELBO) return;
	size_t need = odvgp_fit_q_scratch(m, NULL);
	void *scratch = test_alloc(need);
	CHECK_STATUS(odvgp_fit_q(m, k->X, k->Y, NULL, scratch, need, NULL), ODVGP_OK);
	free(scratch);
}

/*  A copy saves and trains as the model does, and restores it. */
TEST(copies_are_the_model)
{
	for (int kind = 0; kind < KINDS; kind++) {
		kind_model k = kind_make(kind);
		size_t bytes[3], need;
		unsigned char *before = save_file(k.m, NULL, "", &bytes[0]), *after, *file;
		odvgp_model *copy[2], *back;
		void *block[2];
		int i;
		need = odvgp_load_size(before, bytes[0], NULL, k.m->cfg.isa, NULL);
		for (i = 0; i < 2; i++) {
			block[i] = test_alloc(need + 1);
			/* At another address modulo 64, too. */
			CHECK_STATUS(odvgp_model_copy(&copy[i], k.m, (unsigned char *)block[i] + i, need, NULL),
					ODVGP_OK);
			file = save_file(copy[i], NULL, "", &bytes[1]);
			CHECK_SAY(bytes[1] == bytes[0] && !memcmp(file, before, bytes[0]),
					"kind %d: another file", kind);
			free(file);
		}
		three_steps(k.m, &k);
		after = save_file(k.m, NULL, "", &bytes[1]);
		/* Nothing of the copy depends on the model's block. */
		memset(k.block, PATTERN, need);
		three_steps(copy[0], &k);
		CHECK_STATUS(odvgp_model_copy(&back, copy[1], k.block, need, NULL), ODVGP_OK);
		CHECK(back == k.m);
		three_steps(back, &k);
		for (i = 0; i < 2; i++) {
			file = save_file(i ? back : copy[0], NULL, "", &bytes[2]);
			CHECK_SAY(bytes[2] == bytes[1] && !memcmp(file, after, bytes[1]),
					"kind %d: other steps", kind);
			free(file), free(block[i]);
		}
		free(before), free(after);
		kind_drop(&k);
	}
}

TEST(copies_are_refused)
{
	kind_model k = kind_make(0);
	size_t bytes;
	unsigned char *file = save_file(k.m, NULL, "", &bytes);
	size_t need = odvgp_load_size(file, bytes, NULL, k.m->cfg.isa, NULL);
	void *block = test_alloc(need);
	odvgp_model *copy = k.m;
	REFUSED_FOR(odvgp_model_copy(NULL, k.m, block, need, &info), ODVGP_E_ARG, "copy");
	REFUSED_FOR(odvgp_model_copy(&copy, NULL, block, need, &info), ODVGP_E_ARG, "model");
	CHECK(copy == NULL);
	REFUSED_FOR(odvgp_model_copy(&copy, k.m, NULL, need, &info), ODVGP_E_ARG, "block");
	REFUSED_FOR(odvgp_model_copy(&copy, k.m, block, need - 1, &info), ODVGP_E_MEMORY, "block");
	REFUSED_FOR(odvgp_model_copy(&copy, k.m, k.block, need, &info), ODVGP_E_ARG, "block");
	CHECK_STATUS(odvgp_fit(k.m, k.X, k.Y, 1, NULL, NULL), ODVGP_OK);
	free(block), free(file);
	kind_drop(&k);
}

TEST(files_on_disk)
{
	odvgp_config c = config(6, 2, 1, 2, 2);
	fixture a;
	size_t bytes, n = 7;
	unsigned char *file, *back;
	const char *path = path_here();
	test_seed = 333;
	a = make(&c);
	file = save_file(a.m, NULL, "", &bytes);
	back = NEW(unsigned char, bytes + 1);
	memset(back, PATTERN, bytes + 1);
	CHECK_STATUS(odvgp_file_write(path, file, bytes, NULL), ODVGP_OK);
	CHECK_INT(odvgp_file_size(path, NULL), bytes);
	REFUSED_FOR(odvgp_file_read(path, &n, back, bytes - 1, &info), ODVGP_E_MEMORY, "block");
	CHECK(untouched(back, bytes + 1));
	CHECK_STATUS(odvgp_file_read(path, &n, back, bytes, NULL), ODVGP_OK);
	CHECK_INT(n, bytes);
	CHECK(memcmp(back, file, bytes) == 0 && back[bytes] == PATTERN);
	/* The new file replaces the old one. */
	CHECK_STATUS(odvgp_file_write(path, file, bytes / 2, NULL), ODVGP_OK);
	CHECK_INT(odvgp_file_size(path, NULL), bytes / 2);
	REFUSED_FOR(odvgp_file_write("no/such/folder/file", file, bytes, &info), ODVGP_E_IO, "path");
	REFUSED_FOR(odvgp_file_read("no/such/folder/file", &n, back, bytes, &info), ODVGP_E_IO, "path");
	REFUSED_FOR(odvgp_file_write(NULL, file, bytes, &info), ODVGP_E_ARG, "path");
	REFUSED_FOR(odvgp_file_write(path, NULL, bytes, &info), ODVGP_E_ARG, "file");
	REFUSED_FOR(odvgp_file_read(NULL, &n, back, bytes, &info), ODVGP_E_ARG, "path");
	REFUSED_FOR(odvgp_file_read(path, &n, NULL, bytes, &info), ODVGP_E_ARG, "block");
	REFUSED_FOR(odvgp_file_read(path, NULL, back, bytes, &info), ODVGP_E_ARG, "file_bytes");
	NO_SIZE(odvgp_file_size(NULL, &info), ODVGP_E_ARG, "path");
	NO_SIZE(odvgp_file_size("no/such/folder/file", &info), ODVGP_E_IO, "path");
	CHECK_STATUS(odvgp_file_write(path, file, 0, NULL), ODVGP_OK);
	NO_SIZE(odvgp_file_size(path, &info), ODVGP_E_SIZE, "path");
	remove(path);
#if defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L /* symlink and readlink are declared. */
	{
		/* A device is written in place. The test uses a link to one, so that a mistake replaces
           the link and not the device. */
		char to[20];
		if (symlink("/dev/null", path) == 0) {
			CHECK_STATUS(odvgp_file_write(path, file, bytes, NULL), ODVGP_OK);
			CHECK(readlink(path, to, sizeof to) == 9 && !memcmp(to, "/dev/null", 9));
			remove(path);
		}
		/* A folder cannot be written. */
		CHECK_STATUS(odvgp_file_write(".", file, bytes, NULL), ODVGP_E_IO);
	}
#endif
	free(file), free(back);
	drop(&a);
}

#if defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L
/*  Makes an empty folder. It can be removed at the end only if the test left nothing in it. */
static const char *own_folder(char *path)
{
	strcpy(path, "build/save_load.XXXXXX");
	return mkdtemp(path) ? path : mkdtemp(strcpy(path, "save_load.XXXXXX"));
}
/*  Two processes write files of two lengths to the same path, 200 times each. A reader finds a
    complete file at any time. */
TEST(two_writers_and_a_reader)
{
	enum { WRITERS = 2, SAVES = 200 };
	odvgp_config c = config(6, 2, 1, 2, 2);
	fixture a;
	char folder[40], path[80], tmp[90];
	unsigned char *file[WRITERS], *back, was[4] = "abc";
	size_t bytes[WRITERS], n, looks = 0, bad = 0;
	pid_t child[WRITERS];
	int w, i, status, running = WRITERS;
	FILE *f;
	if (!CHECK(own_folder(folder) != NULL)) return;
	test_seed = 340;
	a = make(&c);
	file[0] = save_file(a.m, NULL, "", &bytes[0]);
	file[1] = save_file(a.m, NULL, "some words, so that this one is longer", &bytes[1]);
	back = NEW(unsigned char, bytes[1]);
	snprintf(path, sizeof path, "%s/model", folder);
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	/* A file of somebody else has this name. */
	if ((f = fopen(tmp, "wb")) != NULL) fwrite(was, 1, sizeof was, f), fclose(f);
	CHECK_STATUS(odvgp_file_write(path, file[0], bytes[0], NULL), ODVGP_OK);
	fflush(stdout);
	for (w = 0; w < WRITERS; w++) {
		child[w] = fork();
		if (child[w]) continue;
		for (status = i = 0; i < SAVES; i++)
			status += odvgp_file_write(path, file[w], bytes[w], NULL) != ODVGP_OK;
		_exit(status < 255 ? status : 255);
	}
	while (running) {
		for (w = 0; w < WRITERS; w++) {
			if (child[w] <= 0 || waitpid(child[w], &status, WNOHANG) != child[w]) continue;
			CHECK_SAY(WIFEXITED(status) && WEXITSTATUS(status) == 0, "writer %d: %d saves fail", w,
					WEXITSTATUS(status));
			child[w] = 0;
			running--;
		}
		looks++;
		if (odvgp_file_read(path, &n, back, bytes[1], NULL) != ODVGP_OK ||
				(n != bytes[0] && n != bytes[1]) || memcmp(back, file[n == bytes[1]], n))
			bad++;
	}
	CHECK_SAY(bad == 0, "%d of %d looks find no whole file", (int)bad, (int)looks);
	test_note("%d looks", (int)looks);
	CHECK_STATUS(odvgp_file_read(tmp, &n, back, bytes[1], NULL), ODVGP_OK);
	CHECK(n == sizeof was && !memcmp(back, was, n));
	remove(path), remove(tmp);
	CHECK_SAY(rmdir(folder) == 0, "%s is not empty", folder);
	free(file[0]), free(file[1]), free(back);
	drop(&a);
}
/*  A save never touches other files whose names it tries; a save that fails keeps the old file
    and leaves no other. */
TEST(a_save_that_fails_leaves_nothing)
{
	char folder[40], path[80], taken[3][100], *long_path;
	unsigned char block[20000], back[20000];
	size_t n, i;
	FILE *f;
	pid_t child;
	int status = 0;
	if (!CHECK(own_folder(folder) != NULL)) return;
	snprintf(path, sizeof path, "%s/model", folder);
	for (i = 0; i < 3; i++) {
		snprintf(taken[i], sizeof taken[i], "%s.%d.tmp", path, (int)i);
		if ((f = fopen(taken[i], "wb")) != NULL) fputc((int)i, f), fclose(f);
	}
	memset(block, 7, sizeof block);
	CHECK_STATUS(odvgp_file_write(path, block, sizeof block, NULL), ODVGP_OK);
	fflush(stdout);
	child = fork();
	/* The disk is full after 10,000 bytes. */
	if (child == 0) {
		struct rlimit limit = {10000, 10000};
		memset(block, 8, sizeof block);
		signal(SIGXFSZ, SIG_IGN);
		_exit(setrlimit(RLIMIT_FSIZE, &limit)
						? 9
						: (int)odvgp_file_write(path, block, sizeof block, NULL));
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), ODVGP_E_IO);
	CHECK_STATUS(odvgp_file_read(path, &n, back, sizeof back, NULL), ODVGP_OK);
	CHECK(n == sizeof block && !memcmp(back, block, n));
	for (i = 0; i < 3; i++) {
		CHECK_STATUS(odvgp_file_read(taken[i], &n, back, sizeof back, NULL), ODVGP_OK);
		CHECK(n == 1 && back[0] == i);
		remove(taken[i]);
	}
	remove(path);
	CHECK_SAY(rmdir(folder) == 0, "%s is not empty", folder);
	long_path = NEW(char, 2000);
	memset(long_path, 'x', 1999);
	long_path[1999] = 0;
	CHECK_STATUS(odvgp_file_write(long_path, block, 1, NULL), ODVGP_E_ARG);
	free(long_path);
}
#endif

TEST(models_are_saved_and_loaded_by_path)
{
	odvgp_config c = config(20, 2, 1, 4, 5);
	c.isa = ODVGP_ISA_AUTO; /* as a model has that is loaded by its path */
	fixture a = make(&c);
	odvgp_model *b = (odvgp_model *)&a;
	odvgp_info info = no_info();
	odvgp_report r0, r1;
	const char *path = path_here();
	unsigned char byte;
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_save_file(a.m, path, &info), ODVGP_OK);
	CHECK_STATUS(odvgp_load_file(&b, path, NULL, &info), ODVGP_OK);
	CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r0, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_step(b, a.X, a.Y, &r1, NULL), ODVGP_OK);
	CHECK(r0.elbo == r1.elbo);
	odvgp_model_free(b);
	/* Errors leave no model, and name the path. */
	remove(path);
	b = (odvgp_model *)&a;
	CHECK_STATUS(odvgp_load_file(&b, path, NULL, &info), ODVGP_E_IO);
	CHECK(b == NULL && strstr(info.text, "path") != NULL);
	CHECK_STATUS(odvgp_save_file(a.m, "no/such/folder/file", &info), ODVGP_E_IO);
	blames(&info, ODVGP_E_IO, "path");
	CHECK_STATUS(odvgp_save_file(NULL, path, &info), ODVGP_E_ARG);
	blames(&info, ODVGP_E_ARG, "model");
	CHECK_STATUS(odvgp_save_file(a.m, NULL, &info), ODVGP_E_ARG);
	blames(&info, ODVGP_E_ARG, "path");
	CHECK_STATUS(odvgp_load_file(NULL, path, NULL, &info), ODVGP_E_ARG);
	blames(&info, ODVGP_E_ARG, "model");
	CHECK_STATUS(odvgp_load_file(&b, NULL, NULL, &info), ODVGP_E_ARG);
	blames(&info, ODVGP_E_ARG, "path");
	/* So does saving in memory. */
	CHECK_STATUS(odvgp_save_memory(NULL, NULL, NULL, 0, &byte, 1, &info), ODVGP_E_ARG);
	blames(&info, ODVGP_E_ARG, "model");
	CHECK_STATUS(odvgp_save_memory(a.m, NULL, NULL, 0, NULL, 1, &info), ODVGP_E_ARG);
	blames(&info, ODVGP_E_ARG, "file");
	CHECK_STATUS(odvgp_save_memory(a.m, NULL, NULL, 1, &byte, 1, &info), ODVGP_E_ARG);
	blames(&info, ODVGP_E_ARG, "user");
	CHECK_STATUS(odvgp_file_write(path, "no model", 8, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_load_file(&b, path, NULL, &info), ODVGP_E_FORMAT);
	CHECK(b == NULL);
	remove(path);
	drop(&a);
}

/*  Moments of f at KIND_ROWS rows: [F,n], then as many variances. */
static odvgp_real *moments_of_f(odvgp_model *m, const odvgp_real *X)
{
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_server server;
	size_t bytes = odvgp_predictor_size(m, NULL), need;
	void *block = malloc(bytes), *scratch;
	odvgp_real *v;
	if (odvgp_freeze(m, NULL, block, bytes, &info) != ODVGP_OK ||
			odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_AUTO, &info) != ODVGP_OK) {
		CHECK_SAY(0, "freeze: %s", info.text);
		exit(3);
	}
	need = odvgp_predict_scratch(&server, KIND_ROWS, NULL);
	scratch = malloc(need);
	v = (odvgp_real *)malloc((size_t)(2 * server.F * KIND_ROWS) * sizeof *v);
	CHECK_STATUS(
			odvgp_predict(&server, X, KIND_ROWS, v, v + server.F * KIND_ROWS, scratch, need, NULL),
			ODVGP_OK);
	free(block), free(scratch);
	return v;
}

/*  From a model's moments to those after odvgp_scale_f: for 2 the same bits but for exponents, unless
    `rounds`. */
static void scales_f(int kind, const odvgp_config *c, double mean, double scale, int rounds)
{
	kind_model k = kind_of(kind, *c);
	if (c->layers > 1) mean = scale; /* the moments are those of a mixture */
	ptrdiff_t F = c->functions ? c->functions : c->layer[c->layers - 1].P, n = F * KIND_ROWS;
	odvgp_real *before = moments_of_f(k.m, k.X), *after, *read;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	double least = rounds ? sizeof(odvgp_real) == 8 ? 1e-9 : 3e-3 : 0;
	CHECK_SAY(odvgp_scale_f(k.m, (odvgp_real)mean, (odvgp_real)scale, &info) == ODVGP_OK,
			"kind %d: %s", kind, info.text);
	after = moments_of_f(k.m, k.X);
	size_t bytes = odvgp_save_size(k.m, 0, NULL), size;
	void *file = malloc(bytes), *block;
	odvgp_model *loaded = NULL;
	CHECK_STATUS(odvgp_save_memory(k.m, NULL, NULL, 0, file, bytes, NULL), ODVGP_OK);
	size = odvgp_load_size(file, bytes, NULL, test_isa(), NULL);
	block = malloc(size);
	CHECK_STATUS(
			odvgp_load_memory(&loaded, file, bytes, NULL, test_isa(), block, size, NULL), ODVGP_OK);
	read = moments_of_f(loaded, k.X);
	for (ptrdiff_t i = 0; i < 2 * n; i++) {
		double times = i < n ? mean : scale * scale, want = times * (double)before[i];
		CHECK_SAY(fabs((double)after[i] - want) <= least * times, "kind %d, number %td: %g, not %g",
				kind, i, (double)after[i], want);
	}
	CHECK_SAY(!memcmp(after, read, (size_t)(2 * n) * sizeof *after), "kind %d: another file", kind);
	free(before), free(after), free(read), free(file), free(block);
	kind_drop(&k);
}

/*  odvgp_scale_f for every kind, in all coordinates of q and of gamma; what it refuses changes
    nothing. */
TEST(functions_are_scaled)
{
	for (int kind = 0; kind < KINDS; kind++) {
		int power = strstr(kinds[kind].kernel, "polynomial") != NULL;
		odvgp_config c = kind_config(kind);
		c.isa = test_isa();
		scales_f(kind, &c, 2, 2, power);
		scales_f(kind, &c, 2, 0.5, power);
		scales_f(kind, &c, 3, 0.7, 1);
		for (int i = 0; i < 3; i++) {
			odvgp_config other = c;
			other.reproduce.parametrisation =
					i < 2 ? (odvgp_parametrisation)(i + 1) : ODVGP_PARAMETRISATION_WHITENED;
			if (i == 2) other.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_DIFFERENTIATED;
			if (odvgp_model_size(&other, NULL)) scales_f(kind, &other, 4, 2, power);
		}
		if (c.functions) {
			c.independent = 1; /* all functions share the mixing */
			scales_f(kind, &c, 4, 2, power);
		}
	}
	kind_model k = kind_make(0);
	odvgp_real *before = moments_of_f(k.m, k.X), *after;
	odvgp_info info;
	CHECK_STATUS(odvgp_scale_f(NULL, 1, 1, &info), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_scale_f(k.m, 1, 0, &info), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_scale_f(k.m, 0, 1, &info), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_scale_f(k.m, 1, (odvgp_real)NAN, &info), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_scale_f(k.m, 1, (odvgp_real)HUGE_VAL, &info), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_set_bounds(k.m, "kernel.0.variance", 0, 100, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_scale_f(k.m, 1, 1000, &info), ODVGP_E_ARG);
	CHECK_SAY(strstr(info.text, "bounds") != NULL, "%s", info.text);
	after = moments_of_f(k.m, k.X);
	for (int i = 0; i < 2 * KIND_ROWS; i++)
		CHECK_SAY(fabs((double)(after[i] - before[i])) <= 1e-5, "a refused call: number %d", i);
	free(before), free(after);
	kind_drop(&k);
	odvgp_config c = kind_config(0);
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	c.layer[0].P = 2;
	if (odvgp_model_size(&c, NULL)) {
		k = kind_of(0, c);
		CHECK_STATUS(odvgp_scale_f(k.m, 2, 2, &info), ODVGP_E_UNSUPPORTED);
		CHECK_STATUS(odvgp_scale_f(k.m, 1, 2, &info), ODVGP_OK);
		kind_drop(&k);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(exact_blocks_at_any_alignment);
	RUN(predictors_can_be_moved);
	RUN(training_goes_on_bit_for_bit_after_a_file);
	RUN(every_model_is_read_again_from_its_file);
	RUN(predictors_of_the_other_precision);
	RUN(predictors_of_more_reals_than_32_bits);
	RUN(copies_are_the_model);
	RUN(copies_are_refused);
	RUN(functions_are_scaled);
	RUN(files_on_disk);
	RUN(models_are_saved_and_loaded_by_path);
#if defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L
	RUN(two_writers_and_a_reader);
	RUN(a_save_that_fails_leaves_nothing);
#endif
	return test_end();
}

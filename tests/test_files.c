/*  Stored model files: a little-endian 64-bit machine wrote them once, and tests/files keeps them.
    Every machine must load them, in either precision of the build, and give the predictions of
    the writer. The caller's bytes of each file hold the expected values.

        test_files [NAMES]      runs the tests on the folder ODVGP_TEST_FILES, or tests/files
        test_files --write      rewrites the file of this precision after a change of the format */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"

enum { N = 20, D = 2, P = 2, M = 4, MG = 5, ROWS = 7, EXPECTED = 2 * P * ROWS + 1 };

/*  Little-endian numbers are read and written byte by byte, without the library. */
static uint64_t get_bits(const unsigned char *at, int bytes)
{
	uint64_t v = 0;
	int i;
	for (i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
	return v;
}
static double get_double(const unsigned char *at)
{
	uint64_t bits = get_bits(at, 8);
	double v;
	memcpy(&v, &bits, sizeof v);
	return v;
}
static void put_double(unsigned char *at, double v)
{
	uint64_t bits;
	int i;
	memcpy(&bits, &v, sizeof bits);
	for (i = 0; i < 8; i++) at[i] = (unsigned char)(bits >> (8 * i));
}

/*  Float represents these numbers exactly, so that both precisions see the same data. */
static void make_data(odvgp_real *X, odvgp_real *Y)
{
	int i;
	for (i = 0; i < N; i++) {
		X[2 * i] = (odvgp_real)(i * 7 % N) / 8;
		X[2 * i + 1] = (odvgp_real)(i * 3 % N) / 16;
		Y[2 * i] = (odvgp_real)(i * i % 11) / 4;
		Y[2 * i + 1] = (odvgp_real)(i * 5 % 7) / 8 - 1;
	}
}
static void make_rows(odvgp_real *X)
{
	int i;
	for (i = 0; i < ROWS; i++) {
		X[2 * i] = (odvgp_real)i / 4;
		X[2 * i + 1] = (odvgp_real)(ROWS - i) / 8;
	}
}
static void path_of(char *path, size_t size, const char *name, int bits)
{
	const char *folder = getenv("ODVGP_TEST_FILES");
	snprintf(path, size, "%s/%s_f%d.odvgp", folder ? folder : "tests/files", name, bits);
}

/*  Means, variances, bound. */
static void expect(odvgp_model *m, const odvgp_server *p, double *to)
{
	odvgp_real X[ROWS * D], mean[P * ROWS], var[P * ROWS], all_X[N * D], all_Y[N * P], elbo;
	size_t need = odvgp_predict_scratch(p, ROWS, NULL);
	void *scratch = test_alloc(need);
	int i;
	make_rows(X);
	CHECK_STATUS(odvgp_predict(p, X, ROWS, mean, var, scratch, need, NULL), ODVGP_OK);
	for (i = 0; i < P * ROWS; i++) {
		to[i] = (double)mean[i];
		to[P * ROWS + i] = (double)var[i];
	}
	if (m) {
		make_data(all_X, all_Y);
		CHECK_STATUS(odvgp_elbo(m, all_X, all_Y, N, &elbo, NULL, NULL, NULL), ODVGP_OK);
		to[2 * P * ROWS] = (double)elbo;
	}
	free(scratch);
}

enum { SGPR_STEPS = 8 };

/*  SGPR after some iterations of L-BFGS, as tests/files/sgpr_f64.odvgp was made, and with
    optim.natgrad, which changes nothing, sgpr_natgrad_f64.odvgp. */
static odvgp_model *make_sgpr(int natgrad)
{
	odvgp_config c = odvgp_config_defaults(N, D, P, M, 0);
	odvgp_real X[N * D], Y[N * P];
	odvgp_model *m = NULL;
	void *scratch;
	size_t bytes;
	c.objective = ODVGP_OBJECTIVE_COLLAPSED;
	c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
	c.optim.lbfgs_memory = 5;
	c.optim.natgrad = natgrad;
	c.optim.batch = N;
	c.init.warm = 0;
	c.isa = ODVGP_ISA_C;
	make_data(X, Y);
	CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_fit(m, X, Y, SGPR_STEPS, NULL, NULL), ODVGP_OK);
	bytes = odvgp_fit_q_scratch(m, NULL);
	scratch = test_alloc(bytes);
	CHECK_STATUS(odvgp_fit_q(m, X, Y, NULL, scratch, bytes, NULL), ODVGP_OK);
	free(scratch);
	return m;
}

static int write_file(void)
{
	odvgp_config c = odvgp_config_defaults(N, D, P, M, MG);
	odvgp_scales scales;
	odvgp_real X[N * D], Y[N * P], x_mean[D] = {(odvgp_real)0.5, (odvgp_real)-0.25},
								   y_scale[P] = {2, (odvgp_real)0.5};
	double expected[EXPECTED];
	unsigned char user[EXPECTED * 8], *file, *block;
	odvgp_server server, *p = &server;
	odvgp_model *m;
	size_t bytes;
	char path[300];
	int i;
	memset(&scales, 0, sizeof scales);
	scales.x_mean = x_mean, scales.y_scale = y_scale;
	c.layer[0].kernel = "matern52(0.75, ard) + rbf(0.5, variance=2, dims=1) * matern12(1.25)";
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	c.lik.noise_variance = (odvgp_real)0.125;
	c.jitter.relative = (odvgp_real)1e-4;
	c.optim.lr = odvgp_falling((odvgp_real)0.0625, (odvgp_real)0.015625, 20);
	c.optim.natgrad_step = odvgp_constant((odvgp_real)0.125);
	c.seed = UINT64_C(0x123456789abcdef0);
	c.init.beta = ODVGP_INIT_BETA_FARTHEST;
	c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL;
	c.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
	/* Its optimum has hardly any variance. */
	c.init.warm = 0;
	c.isa = ODVGP_ISA_C;
	make_data(X, Y);
	if (odvgp_model_create(&m, &c, X, Y, NULL, NULL) || odvgp_fit(m, X, Y, 30, NULL, NULL))
		return 1;
	bytes = odvgp_predictor_size(m, NULL);
	block = NEW(unsigned char, bytes);
	if (serve(m, &scales, block, bytes, p, NULL)) return 1;
	expect(m, p, expected);
	for (i = 0; i < EXPECTED; i++) put_double(user + 8 * i, expected[i]);
	free(block);
	bytes = odvgp_save_size(m, sizeof user, NULL);
	file = NEW(unsigned char, bytes);
	path_of(path, sizeof path, "model", 8 * (int)sizeof(odvgp_real));
	if (odvgp_save_memory(m, &scales, user, sizeof user, file, bytes, NULL) ||
			odvgp_file_write(path, file, bytes, NULL))
		return 1;
	printf("%s: %lu bytes\n", path, (unsigned long)bytes);
	free(file);
	odvgp_model_free(m);
	return 0;
}

static unsigned char *read_file(const char *name, int bits, size_t *bytes)
{
	char path[300];
	unsigned char *file;
	path_of(path, sizeof path, name, bits);
	if (!CHECK_SAY((*bytes = odvgp_file_size(path, NULL)) > 0, "%s cannot be read", path))
		return NULL;
	file = NEW(unsigned char, *bytes);
	CHECK_STATUS(odvgp_file_read(path, bytes, file, *bytes, NULL), ODVGP_OK);
	return file;
}
/*  Compares up to the rounding of a computation with the condition of Kb, which the jitter keeps
    below 1e5, relative to the largest number. */
static void compare(const double *got, const unsigned char *user, int from, int to,
		double tolerance, const char *what)
{
	double worst = 0, most = 0;
	int i;
	for (i = from; i < to; i++) {
		double want = get_double(user + 8 * i), off = fabs(got[i] - want);
		if (!(off <= worst)) worst = off;
		if (fabs(want) > most) most = fabs(want);
	}
	CHECK_SAY(most > 0.01 && worst <= tolerance * most, "%s: off by %.3g of %.3g, allowed %.3g",
			what, worst, most, tolerance * most);
}

/*  The first bytes are those that the format defines. */
TEST(the_head_is_little_endian)
{
	int bits;
	for (bits = 32; bits <= 64; bits += 32) {
		static const unsigned char magic[8] = {0x8f, 0x4f, 0x56, 0x47, 0x50, 0x0d, 0x1a, 0x0a};
		size_t bytes;
		unsigned char *file = read_file("model", bits, &bytes);
		if (!file) return;
		CHECK(bytes > 48 && !memcmp(file, magic, 8));
		CHECK_INT(get_bits(file + 12, 4), bits / 8);
		CHECK_INT(40 + get_bits(file + 16, 8) + get_bits(file + 24, 8) + get_bits(file + 32, 8) + 8,
				bytes);
		CHECK_INT(get_bits(file + 32, 8), EXPECTED * 8);
		/* The config begins with layers, N, D, P, |beta|. */
		CHECK_INT(get_bits(file + 40, 8), 1);
		CHECK_INT(get_bits(file + 48, 8), N);
		CHECK_INT(get_bits(file + 56, 8), D);
		CHECK_INT(get_bits(file + 64, 8), P);
		CHECK_INT(get_bits(file + 72, 8), M);
		free(file);
	}
}
TEST(predictors_predict_what_their_writer_did)
{
	int bits;
	for (bits = 32; bits <= 64; bits += 32) {
		size_t bytes, need = 0, user_bytes = 0;
		unsigned char *file = read_file("model", bits, &bytes);
		const void *user = NULL;
		odvgp_server server, *p = &server;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		double got[EXPECTED], tolerance = (bits == 32 ? (double)FLT_EPSILON : EPS) * 1e4;
		void *block;
		if (!file) return;
		CHECK_STATUS(odvgp_load_user(file, bytes, &user, &user_bytes, NULL), ODVGP_OK);
		need = odvgp_server_size(file, bytes, &info);
		if (CHECK_SAY(need > 0, "%s", info.text)) {
			block = test_alloc(need);
			CHECK_INT(user_bytes, EXPECTED * 8);
			if (CHECK_SAY(odvgp_server_from_memory(
								  p, file, bytes, test_isa(), block, need, &info) == ODVGP_OK,
						"%s", info.text)) {
				CHECK_INT(p->D, D);
				CHECK_INT(p->P, P);
				expect(NULL, p, got);
				compare(got, (const unsigned char *)user, 0, P * ROWS, tolerance, "means");
				compare(got, (const unsigned char *)user, P * ROWS, 2 * P * ROWS, tolerance,
						"variances");
			}
			free(block);
		}
		free(file);
	}
}
/*  Its model, in *block; NULL, and a failed check, if it cannot be loaded. */
static odvgp_model *load_model(const unsigned char *file, size_t bytes, void **block)
{
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_model *m = NULL;
	size_t need = odvgp_load_size(file, bytes, NULL, test_isa(), &info);
	*block = test_alloc(need + 1);
	if (need) (void)odvgp_load_memory(&m, file, bytes, NULL, test_isa(), *block, need, &info);
	CHECK_SAY(m != NULL, "%s", info.text);
	return m;
}
/*  Saving recomputes the factor of K and stores its jitter, which the x87 unit computes with
    more digits than the loaded one: both must agree up to rounding, and then the bytes must be
    equal. */
static void take_jitter_as_noted(
		const unsigned char *file, unsigned char *again, size_t state, double loaded, double noted)
{
	unsigned char from[8], to[8];
	size_t i;
	put_double(from, loaded);
	put_double(to, noted);
	CHECK_NEAR(noted, loaded, 4 * EPS * loaded);
	for (i = 0; i + 8 <= state; i++)
		if (!memcmp(file + i, from, 8) && !memcmp(again + i, to, 8)) memcpy(again + i, from, 8);
}
/*  The model of this precision gives the same bound and predictions, and saving it gives the
    same bytes, except those that a machine computes. */
TEST(models_are_what_they_were)
{
	size_t bytes, frozen_bytes, user_bytes = 0, i, state, same = 0;
	unsigned char *file = read_file("model", 8 * (int)sizeof(odvgp_real), &bytes), *again;
	const void *user = NULL;
	odvgp_server server, *p = &server;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_model *m;
	odvgp_status served;
	odvgp_real x_mean[D] = {(odvgp_real)0.5, (odvgp_real)-0.25}, y_scale[P] = {2, (odvgp_real)0.5},
			   X[N * D], Y[N * P];
	odvgp_scales scales;
	odvgp_report report;
	double got[EXPECTED], jitter;
	void *block, *frozen;
	if (!file) return;
	memset(&scales, 0, sizeof scales);
	scales.x_mean = x_mean, scales.y_scale = y_scale;
	CHECK_STATUS(odvgp_load_user(file, bytes, &user, &user_bytes, NULL), ODVGP_OK);
	if (!(m = load_model(file, bytes, &block))) return;
	CHECK_INT(odvgp_steps_done(m), 30);
	CHECK(odvgp_model_config(m)->seed == UINT64_C(0x123456789abcdef0));
	CHECK_INT(odvgp_model_config(m)->init.beta, ODVGP_INIT_BETA_FARTHEST);
	CHECK_INT(odvgp_model_config(m)->init.gamma, ODVGP_INIT_GAMMA_RESIDUAL);
	CHECK_INT(odvgp_model_config(m)->init.hyperparams, ODVGP_INIT_HYPER_ULAPANE);
	CHECK_INT(odvgp_save_size(m, user_bytes, NULL), bytes);
	again = NEW(unsigned char, bytes);
	jitter = odvgp_model_events(m).jitter;
	CHECK_STATUS(odvgp_save_memory(m, &scales, user, user_bytes, again, bytes, &info), ODVGP_OK);
	state = 40 + (size_t)get_bits(file + 16, 8);
	again[8] = file[8]; /* the version */
	if (FLT_EVAL_METHOD == 2)
		take_jitter_as_noted(file, again, state, jitter, odvgp_model_events(m).jitter);
	for (i = 0; i < state; i++) same += file[i] == again[i];
	CHECK_SAY(same == state, "%lu of %lu bytes of the state are not those that were loaded",
			(unsigned long)(state - same), (unsigned long)state);
	CHECK(!memcmp(again + bytes - 8 - user_bytes, user, user_bytes));
	frozen_bytes = odvgp_predictor_size(m, NULL);
	frozen = test_alloc(frozen_bytes);
	served = serve(m, &scales, frozen, frozen_bytes, p, &info);
	CHECK_STATUS(served, ODVGP_OK);
	if (served == ODVGP_OK) {
		expect(m, p, got);
		compare(got, (const unsigned char *)user, 0, P * ROWS, 1e4 * EPS, "means");
		compare(got, (const unsigned char *)user, P * ROWS, 2 * P * ROWS, 1e4 * EPS, "variances");
		compare(got, (const unsigned char *)user, 2 * P * ROWS, EXPECTED, 1e4 * EPS, "bound");
	}
	make_data(X, Y);
	/* Training continues. */
	CHECK_STATUS(odvgp_step(m, X, Y, &report, &info), ODVGP_OK);
	CHECK_INT(report.step, 31);
	CHECK_NEAR((double)report.elbo, got[2 * P * ROWS], 0.5 * fabs(got[2 * P * ROWS]));
	free(file), free(again), free(block), free(frozen);
}

/*  A file of version 10, which also had L-BFGS's numbers for q, goes on as the model that it was
    made from, which it would not without L-BFGS's memory. Saved now, both take fewer bytes. */
static void goes_on(const char *name, int natgrad)
{
	size_t bytes, now;
	unsigned char *file;
	void *block;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_real X[N * D], Y[N * P];
	odvgp_model *m, *twin;
	int i;
	if (!(file = read_file(name, 64, &bytes))) return;
	CHECK_INT(get_bits(file + 8, 4), 10);
	if (!(m = load_model(file, bytes, &block))) return;
	twin = make_sgpr(natgrad);
	now = odvgp_save_size(m, 0, NULL);
	CHECK_INT(now, odvgp_save_size(twin, 0, NULL));
	CHECK_INT(bytes - now, 8 * (2 * 5 + 1) * (P * M + P * M * M));
	CHECK_INT(odvgp_steps_done(m), SGPR_STEPS);
	make_data(X, Y);
	for (i = 0; i < 4; i++) {
		odvgp_report of_file, of_twin;
		CHECK_STATUS(odvgp_step(m, X, Y, &of_file, &info), ODVGP_OK);
		CHECK_STATUS(odvgp_step(twin, X, Y, &of_twin, &info), ODVGP_OK);
		CHECK_NEAR((double)of_file.elbo, (double)of_twin.elbo, 1e-7 * fabs((double)of_twin.elbo));
	}
	free(file), free(block);
	odvgp_model_free(twin);
}
TEST(files_of_version_10_go_on)
{
	if (sizeof(odvgp_real) != 8) SKIP("the files are of doubles");
	goes_on("sgpr", 0);
	goes_on("sgpr_natgrad", 1);
}

/*  Files hold a number for each kernel. These numbers never change; a new kernel takes the next
    one. */
TEST(kernels_have_their_numbers)
{
	static const char *const names[] = {"rbf", "matern12", "matern32", "matern52", "rq", "periodic",
			"linear", "polynomial", "constant", "white", "additive", "laplacian"};
	uint64_t number;
	CHECK_INT(GP__BASE_KERNEL_TYPES, sizeof names / sizeof *names);
	for (number = 0; number < sizeof names / sizeof *names; number++) {
		odvgp_config c = odvgp_config_defaults(N, D, P, M, 0);
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		odvgp_real X[N * D], Y[N * P];
		odvgp_model *m;
		gp__file f = gp__file_make(GP__FILE_MEASURE, NULL, 0);
		unsigned char *file;
		size_t bytes, at;
		char text[40];
		snprintf(text, sizeof text, "%s + rbf", names[number]);
		c.layer[0].kernel = text;
		c.isa = test_isa();
		make_data(X, Y);
		if (!CHECK_SAY(odvgp_model_create(&m, &c, X, Y, NULL, &info) == ODVGP_OK, "%s: %s", text,
					info.text))
			continue;
		bytes = odvgp_save_size(m, 0, NULL);
		file = NEW(unsigned char, bytes);
		CHECK_STATUS(odvgp_save_memory(m, NULL, NULL, 0, file, bytes, NULL), ODVGP_OK);
		gp__file_config(&f, &m->cfg);
		at = GP__FILE_HEAD + f.used;
		/* A unit begins with 4 sizes and 5 choices, then the number of terms. */
		CHECK_INT(get_bits(file + at, 4), 1);
		CHECK_INT(get_bits(file + at + 4, 8), D);
		CHECK_INT(get_bits(file + at + 28, 8), 0);
		CHECK_INT(get_bits(file + at + 56, 4), 2);
		/* Skip four counts, the groups, and three nodes. */
		at += 60 + 4 * (4 + 2 + 3 * 3);
		CHECK_INT(get_bits(file + at, 4), number);
		free(file);
		odvgp_model_free(m);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--write")) return write_file();
	test_begin(argc, argv);
	RUN(the_head_is_little_endian);
	RUN(kernels_have_their_numbers);
	RUN(predictors_predict_what_their_writer_did);
	RUN(models_are_what_they_were);
	RUN(files_of_version_10_go_on);
	return test_end();
}

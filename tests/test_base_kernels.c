/*  Three builds of the library in one program: for kernels of up to eight terms, of up to two, and
    one with the rows of the tables that the second lacks (both in tests/base_kernels_two.c). One
    predicts with what another freezes, or refuses it. */
#define ODVGP_STATIC
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"
#include "base_kernels.h"

enum { N = 30, ROWS = 12 };

static const struct {
	const char *kernel;
	int terms;
} kernels[] = {
		{"matern52(ard)", 1},
		{"rbf(0.7) + white(0.01)", 2},
		{"constant(0.5) + rq(1, alpha=2)", 2},
		{"periodic(1.5, period=2, dims=0) * linear(dims=1)", 2},
		{"polynomial(0.1, degree=3) + rbf(1, ard, dims=1)", 2},
		{"rbf(0.7, ard=0:2) * periodic(2, ard)", 2},
		{"rbf(0.7) + matern32(2, dims=0) + white(0.01)", 3},
		{"rbf * matern12 + constant * linear(ard) + rq + white + periodic(2) + matern52(ard)", 8},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef struct {
	odvgp_model *m;
	odvgp_real X[2 * N], Y[2 * N], mean[2 * ROWS], var[2 * ROWS];
	void *block, *file;
	size_t bytes, file_bytes;
	odvgp_server server;
} frozen;

static odvgp_config config_of(const char *kernel)
{
	odvgp_config c = odvgp_config_defaults(N, 2, 2, 6, 9);
	c.layer[0].kernel = kernel;
	c.jitter.relative = (odvgp_real)1e-4;
	c.isa = test_isa();
	return c;
}
static frozen freeze_config(odvgp_config c)
{
	frozen f;
	void *scratch;
	size_t need;
	int i;
	memset(&f, 0, sizeof f);
	for (i = 0; i < 2 * N; i++)
		f.X[i] = (odvgp_real)test_between(-2, 2), f.Y[i] = (odvgp_real)sin((double)f.X[i]);
	if (c.lik.kind > ODVGP_LIKELIHOOD_LAPLACE && c.lik.kind < ODVGP_LIKELIHOOD_HETEROSCEDASTIC)
		for (i = 0; i < 2 * N; i++) f.Y[i] = c.lik.kind == ODVGP_LIKELIHOOD_BETA ? GP__R(0.5) : 1;
	if (c.lik.kind == ODVGP_LIKELIHOOD_BERNOULLI || c.lik.kind == ODVGP_LIKELIHOOD_LOGIT)
		for (i = 0; i < 2 * N; i++) f.Y[i] = i % 2;
	if (!CHECK_STATUS(odvgp_model_create(&f.m, &c, f.X, f.Y, NULL, NULL), ODVGP_OK)) exit(1);
	CHECK_STATUS(odvgp_fit(f.m, f.X, f.Y, 10, NULL, NULL), ODVGP_OK);
	f.bytes = odvgp_predictor_size(f.m, NULL);
	f.block = test_alloc(f.bytes);
	CHECK_STATUS(serve(f.m, NULL, f.block, f.bytes, &f.server, NULL), ODVGP_OK);
	need = odvgp_predict_scratch(&f.server, ROWS, NULL);
	scratch = test_alloc(need);
	CHECK_STATUS(odvgp_predict(&f.server, f.X, ROWS, f.mean, f.var, scratch, need, NULL), ODVGP_OK);
	free(scratch);
	f.file_bytes = odvgp_save_size(f.m, 0, NULL);
	f.file = test_alloc(f.file_bytes);
	CHECK_STATUS(odvgp_save_memory(f.m, NULL, NULL, 0, f.file, f.file_bytes, NULL), ODVGP_OK);
	return f;
}
static frozen freeze(int k)
{
	test_seed = 700 + (uint64_t)k;
	return freeze_config(config_of(kernels[k].kernel));
}
static void drop_frozen(frozen *f)
{
	free(f->block), free(f->file);
	odvgp_model_free(f->m);
}
TEST(a_build_for_fewer_terms_predicts_the_same_bits)
{
	int k, from_file;
	for (k = 0; k < KERNELS; k++) {
		frozen f = freeze(k);
		for (from_file = 0; from_file < 2 && kernels[k].terms <= 2; from_file++) {
			odvgp_server server;
			odvgp_real mean[2 * ROWS], var[2 * ROWS];
			odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
			void *block = test_alloc(f.bytes);
			odvgp_status s = from_file
									 ? two_from_file(f.file, f.file_bytes, test_isa(), block,
											   f.bytes, &server, &info)
									 : two_from_block(f.block, f.bytes, test_isa(), &server, &info);
			if (CHECK_SAY(s == ODVGP_OK, "%s: %s", kernels[k].kernel, info.text)) {
				CHECK_INT(server.D, 2);
				CHECK_INT(server.P, 2);
				CHECK_STATUS(two_predict(&server, f.X, ROWS, mean, var), ODVGP_OK);
				CHECK_BITS(mean, f.mean, sizeof mean);
				CHECK_BITS(var, f.var, sizeof var);
			}
			free(block);
		}
		drop_frozen(&f);
	}
}
TEST(a_build_for_fewer_terms_refuses_more_of_them)
{
	int k, from_file;
	for (k = 0; k < KERNELS; k++) {
		frozen f = freeze(k);
		for (from_file = 0; from_file < 2 && kernels[k].terms > 2; from_file++) {
			odvgp_server server, before;
			odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
			void *block = test_alloc(f.bytes);
			odvgp_status s;
			memset(&server, 0x5a, sizeof server);
			before = server;
			s = from_file ? two_from_file(f.file, f.file_bytes, test_isa(), block, f.bytes, &server,
									&info)
						  : two_from_block(f.block, f.bytes, test_isa(), &server, &info);
			CHECK_STATUS(s, ODVGP_E_UNSUPPORTED);
			CHECK_SAY(strstr(info.text, "ODVGP_MAX_BASE_KERNELS") != NULL, "the sentence is \"%s\"",
					info.text);
			CHECK_NEAR(info.value, kernels[k].terms, 0);
			CHECK_BITS(&server, &before, sizeof server);
			free(block);
		}
		drop_frozen(&f);
	}
}
/*  If the other build supports a model, training there gives the same bits; otherwise it refuses
    the model with a sentence. */
TEST(a_build_for_fewer_terms_trains_on_or_refuses)
{
	int k;
	for (k = 0; k < KERNELS; k++) {
		frozen f = freeze(k);
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		void *again = test_alloc(f.file_bytes), *want = test_alloc(f.file_bytes);
		odvgp_status s = two_train(f.file, f.file_bytes, test_isa(), f.X, f.Y, 5, again, &info);
		if (kernels[k].terms > 2) {
			CHECK_STATUS(s, ODVGP_E_UNSUPPORTED);
			CHECK_SAY(strstr(info.text, "ODVGP_MAX_BASE_KERNELS") != NULL, "the sentence is \"%s\"",
					info.text);
			CHECK_NEAR(info.value, kernels[k].terms, 0);
		} else if (CHECK_SAY(s == ODVGP_OK, "%s: %s", kernels[k].kernel, info.text)) {
			CHECK_STATUS(odvgp_fit(f.m, f.X, f.Y, 5, NULL, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_save_memory(f.m, NULL, NULL, 0, want, f.file_bytes, NULL), ODVGP_OK);
			CHECK_BITS(again, want, f.file_bytes);
		}
		free(again), free(want);
		drop_frozen(&f);
	}
}

/*  A row of the tables that a build leaves out, or has. */
typedef struct {
	const char *kernel;
	int likelihood, mean_part, cov_part;
	/* What info.what names: of a block, which does not depend on the mean's part, and of a config */
	const char *block, *config;
} row;
#define GP_ROW(kernel, likelihood, mean, cov, block, config) \
	{ \
		kernel, ODVGP_LIKELIHOOD_##likelihood, ODVGP_MEAN_PART_##mean, ODVGP_COV_PART_##cov, \
				block, config \
	}

#define GP_LIKELIHOOD(NAME, name)          GP_ROW("rbf", NAME, BETA, DENSE, name, name)
#define GP_PARTS(mean, cov, block, config) GP_ROW("rbf", GAUSSIAN, mean, cov, block, config)
#define GP_KERNEL(expression, name)        GP_ROW(expression, GAUSSIAN, ORTH, DENSE, name, "kernel")
static const row two_lacks[] = {GP_PARTS(ORTH, DENSE, NULL, NULL),
		GP_KERNEL("rbf * matern32", "matern32"), GP_KERNEL("additive", "additive"),
		GP_KERNEL("laplacian", "laplacian"),
		GP_PARTS(HYBRID, DENSE, NULL, "hybrid"), GP_PARTS(BLOCKS, BLOCKS, NULL, "blocks"),
		GP_PARTS(FREE, INVERSE, "DECOUPLED", "free"),
		GP_PARTS(ORTH, INVERSE, "DECOUPLED", "inverse"), GP_PARTS(FREE, DIAGONAL, "O(M)", "free"),
		GP_LIKELIHOOD(BERNOULLI, "bernoulli"), GP_LIKELIHOOD(LOGIT, "logit"),
		GP_LIKELIHOOD(STUDENTT, "studentt"), GP_LIKELIHOOD(LAPLACE, "laplace"),
		GP_LIKELIHOOD(EXPONENTIAL, "exponential"),
		GP_LIKELIHOOD(NEGATIVE_BINOMIAL, "negative_binomial"), GP_LIKELIHOOD(GAMMA, "gamma"),
		GP_LIKELIHOOD(BETA, "beta"), GP_LIKELIHOOD(ORDINAL, "ordinal"),
		GP_LIKELIHOOD(ROBUSTMAX, "robustmax"), GP_LIKELIHOOD(SOFTMAX, "softmax"),
		GP_LIKELIHOOD(HETEROSCEDASTIC, "heteroscedastic")};

#define GP_OTHER_PARTS(mean, cov, config) GP_ROW("matern32", BERNOULLI, mean, cov, NULL, config)
#define GP_OTHER_KERNEL(expression, name) \
	GP_ROW(expression, BERNOULLI, HYBRID, DENSE, name, "kernel")
static const row others_lack[] = {GP_OTHER_PARTS(HYBRID, DENSE, NULL),
		GP_OTHER_PARTS(FREE, INVERSE, NULL), GP_OTHER_PARTS(FREE, DIAGONAL, NULL),
		GP_OTHER_PARTS(BLOCKS, BLOCKS, NULL), GP_OTHER_PARTS(BETA, DENSE, "beta"),
		GP_OTHER_PARTS(ORTH, DENSE, "orth"),
		GP_ROW("matern32", GAUSSIAN, HYBRID, DENSE, "gaussian", "gaussian"),
		GP_ROW("matern32", POISSON, HYBRID, DENSE, "poisson", "poisson"),
		GP_ROW("matern32 + additive", BERNOULLI, HYBRID, DENSE, NULL, NULL),
		GP_OTHER_KERNEL("rbf", "rbf"), GP_OTHER_KERNEL("matern12", "matern12"),
		GP_OTHER_KERNEL("matern52 * matern32", "matern52"), GP_OTHER_KERNEL("rq", "rq"),
		GP_OTHER_KERNEL("additive + periodic", "periodic"), GP_OTHER_KERNEL("linear", "linear"),
		GP_OTHER_KERNEL("polynomial", "polynomial"),
		GP_OTHER_KERNEL("constant + matern32", "constant"),
		GP_OTHER_KERNEL("matern32 + white", "white")};

typedef struct {
	size_t (*model_size)(const odvgp_config *, odvgp_info *);
	odvgp_status (*from_block)(const void *, size_t, odvgp_isa, odvgp_server *, odvgp_info *);
	odvgp_status (*from_file)(
			const void *, size_t, odvgp_isa, void *, size_t, odvgp_server *, odvgp_info *);
	odvgp_status (*train)(const void *, size_t, odvgp_isa, const odvgp_real *, const odvgp_real *,
			ptrdiff_t, void *, odvgp_info *);
	int plain;
} build;

static void check_named(const odvgp_info *info, const char *name)
{
	CHECK_SAY(!strcmp(info->what, name) && strstr(info->text, "ODVGP_KERNELS"),
			"%s is not named: \"%s\"", name, info->text);
}

/*  Models, blocks and files that need a kernel, a likelihood or a member that the build lacks are
    refused by its name; a kernel's place in an expression is E_KERNEL. */
static void check_refused(const build *b, const row *r)
{
	const char *name = r->block, *config = r->config;
	odvgp_config c = config_of(r->kernel), small;
	const odvgp_isa isa = b->plain ? ODVGP_ISA_C : test_isa();
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_server server, before;
	c.lik.kind = (odvgp_likelihood)r->likelihood;
	if (c.lik.kind == ODVGP_LIKELIHOOD_ORDINAL) c.lik.classes = 3, c.layer[0].P = 1;
	c.layer[0].mean_part = (odvgp_mean_part)r->mean_part;
	c.layer[0].cov_part = (odvgp_cov_part)r->cov_part;
	if (c.layer[0].mean_part == ODVGP_MEAN_PART_BETA) c.layer[0].M_gamma = 0;
	if (c.layer[0].cov_part == ODVGP_COV_PART_DIAGONAL) c.layer[0].M_gamma = 0;
	if (c.layer[0].cov_part > ODVGP_COV_PART_DENSE) c.optim.natgrad = 0;
	frozen f = freeze_config(c);
	small = c;
	small.isa = isa;
	CHECK((b->model_size(&small, &info) > 0) == !config);
	if (config && strcmp(config, "kernel") != 0) {
		CHECK_STATUS(info.status, ODVGP_E_UNSUPPORTED);
		check_named(&info, config);
	} else if (config) CHECK_STATUS(info.status, ODVGP_E_KERNEL);
	void *block = test_alloc(f.bytes), *again = test_alloc(f.file_bytes);
	memset(&server, 0x5a, sizeof server);
	before = server;
	odvgp_status opened = name ? ODVGP_E_UNSUPPORTED : ODVGP_OK;
	CHECK_STATUS(b->from_block(f.block, f.bytes, isa, &server, &info), opened);
	if (name) check_named(&info, name);
	if (name) CHECK_BITS(&server, &before, sizeof server);
	CHECK_STATUS(b->from_file(f.file, f.file_bytes, isa, block, f.bytes, &server, &info), opened);
	if (name) check_named(&info, name);
	CHECK_STATUS(b->train(f.file, f.file_bytes, isa, f.X, f.Y, 1, again, &info),
			config ? ODVGP_E_UNSUPPORTED : ODVGP_OK);
	if (config) check_named(&info, strcmp(config, "kernel") ? config : name);
	free(block), free(again);
	drop_frozen(&f);
}

TEST(what_a_build_leaves_out_is_refused)
{
	static const build two = {two_model_size, two_from_block, two_from_file, two_train, 0},
					   others = {others_model_size, others_from_block, others_from_file,
							   others_train, 1};
	for (size_t k = 0; k < sizeof two_lacks / sizeof *two_lacks; k++) {
		test_seed = 720 + (uint64_t)k;
		check_refused(&two, &two_lacks[k]);
	}
	for (size_t k = 0; k < sizeof others_lack / sizeof *others_lack; k++) {
		test_seed = 760 + (uint64_t)k;
		check_refused(&others, &others_lack[k]);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(a_build_for_fewer_terms_predicts_the_same_bits);
	RUN(a_build_for_fewer_terms_refuses_more_of_them);
	RUN(a_build_for_fewer_terms_trains_on_or_refuses);
	RUN(what_a_build_leaves_out_is_refused);
	return test_end();
}

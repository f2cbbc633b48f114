/*  Model files. The input is a file without its checksum; magic, version and checksum are set
    here, and the length of the caller's bytes is what the other lengths leave, so that a
    mutation reaches what follows. A loaded model is used: it evaluates, steps, predicts, is
    frozen and saved. A call may fail, but a bound with status 0 is finite, and a file that the
    library wrote can be read again. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "fuzz.h"
#include "../kinds.h"

enum { ROWS = 100, MOST = 16, LARGEST = 1 << 20 };

static int all_finite(const odvgp_real *x, ptrdiff_t n) { return gp__first_nonfinite(x, n) < 0; }
/*  Makes every kind of prediction. */
static void use_predictor(const odvgp_server *p)
{
	served_all all = serve_all(p);
	MUST(!all.nan, all.nan);
}
static void use_file(const unsigned char *file, size_t bytes, int again);

/*  If `again` is 0, the model is also saved, and the saved file is loaded and used. */
static void use_model(odvgp_model *m, int again)
{
	const odvgp_config *c = odvgp_model_config(m);
	odvgp_real elbo, kl, *grad, *X, *Y;
	odvgp_report report;
	odvgp_server server;
	ptrdiff_t n = odvgp_param_count(m);
	size_t bytes;
	void *block;
	int i;
	if (c->N > ROWS || c->layer[0].D > MOST || m->F > MOST || c->optim.lbfgs_memory > 50 ||
			c->lik.nodes > 32 || c->deep.samples > 100)
		return;
	X = (odvgp_real *)malloc((size_t)(c->N * c->layer[0].D) * sizeof *X);
	Y = (odvgp_real *)malloc((size_t)(c->N * gp__y_columns(&m->y)) * sizeof *Y);
	kind_data(X, Y, c->N, c->layer[0].D, m->y);
	grad = (odvgp_real *)malloc((size_t)n * sizeof *grad);
	if (odvgp_elbo(m, X, Y, c->N, &elbo, &kl, grad, NULL) == ODVGP_OK)
		MUST(all_finite(&elbo, 1) && all_finite(&kl, 1) && all_finite(grad, n),
				"odvgp_elbo succeeds with NaN or infinity");
	free(grad);
	for (i = 0; i < 2 && !again; i++)
		if (odvgp_step(m, X, Y, &report, NULL) == ODVGP_OK)
			MUST(all_finite(&report.elbo, 1), "odvgp_step succeeds with NaN or infinity");
	bytes = odvgp_fit_q_scratch(m, NULL);
	if (c->objective != ODVGP_OBJECTIVE_ELBO && !again && bytes && bytes <= LARGEST) {
		block = malloc(bytes);
		(void)odvgp_fit_q(m, X, Y, NULL, block, bytes, NULL);
		free(block);
	}
	bytes = odvgp_predictor_size(m, NULL);
	if (bytes && bytes <= LARGEST) {
		block = malloc(bytes);
		if (odvgp_freeze(m, NULL, block, bytes, NULL) == ODVGP_OK) {
			MUST(odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_AUTO, NULL) == ODVGP_OK,
					"a block that odvgp_freeze wrote is refused");
			use_predictor(&server);
		}
		free(block);
	}
	free(X), free(Y);
	bytes = odvgp_save_size(m, 3, NULL);
	if (again || !bytes || bytes > LARGEST) return;
	block = malloc(bytes);
	if (odvgp_save_memory(m, NULL, "abc", 3, block, bytes, NULL) == ODVGP_OK)
		use_file((const unsigned char *)block, bytes, 1);
	free(block);
}

/*  `again` is 1 if the library wrote the file. */
static void use_file(const unsigned char *file, size_t bytes, int again)
{
	size_t model_bytes, predictor_bytes, user_bytes = 0;
	const void *user = NULL;
	odvgp_server server;
	odvgp_model *m = NULL;
	odvgp_info info;
	void *block;
	memset(&info, 0, sizeof info);
	model_bytes = odvgp_load_size(file, bytes, NULL, ODVGP_ISA_AUTO, &info);
	if (model_bytes && model_bytes <= LARGEST) {
		block = malloc(model_bytes);
		if (odvgp_load_memory(&m, file, bytes, NULL, ODVGP_ISA_AUTO, block, model_bytes, &info) ==
				ODVGP_OK)
			use_model(m, again);
		MUST(m || !again, info.text);
		free(block);
	} else MUST(!again || model_bytes, info.text);
	predictor_bytes = odvgp_server_size(file, bytes, &info);
	if (predictor_bytes && predictor_bytes <= LARGEST) {
		MUST(odvgp_load_user(file, bytes, &user, &user_bytes, NULL) == ODVGP_OK,
				"the caller's bytes are refused");
		MUST((const unsigned char *)user >= file &&
						(const unsigned char *)user + user_bytes <= file + bytes,
				"the caller's bytes are outside the file");
		block = malloc(predictor_bytes);
		int served = odvgp_server_from_memory(&server, file, bytes, ODVGP_ISA_AUTO, block,
							 predictor_bytes, &info) == ODVGP_OK;
		if (served) use_predictor(&server);
		MUST(served || !again, info.text);
		free(block);
	} else MUST(!again || predictor_bytes, info.text);
}

static void put_bits(unsigned char *at, uint64_t v, int bytes)
{
	int i;
	for (i = 0; i < bytes; i++) at[i] = (unsigned char)(v >> (8 * i));
}
static uint64_t get_bits(const unsigned char *at)
{
	uint64_t v = 0;
	int i;
	for (i = 0; i < 8; i++) v |= (uint64_t)at[i] << (8 * i);
	return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *file;
	uint64_t state, predictor;
	if (size < GP__FILE_HEAD) return 0;
	file = (unsigned char *)malloc(size + 8);
	memcpy(file, data, size);
	put_bits(file, GP__FILE_MAGIC, 8);
	put_bits(file + 8, GP__FILE_VERSION, 4);
	state = get_bits(file + 16), predictor = get_bits(file + 24);
	if (state <= size && predictor <= size && GP__FILE_HEAD + state + predictor <= size)
		put_bits(file + 32, size - GP__FILE_HEAD - state - predictor, 8);
	put_bits(file + size, gp__checksum(file, size), 8);
	use_file(file, size + 8, 0);
	free(file);
	return 0;
}

/*  Saves a model as a seed. The library chooses the tile again if it is 0; it is the seventh size of
    the config. */
static void write_model(const char *folder, int number, odvgp_model *m)
{
	size_t bytes = odvgp_save_size(m, 0, NULL);
	unsigned char *file = (unsigned char *)malloc(bytes);
	MUST(odvgp_save_memory(m, NULL, NULL, 0, file, bytes, NULL) == ODVGP_OK,
			"a seed cannot be saved");
	if (number % 5 == 0) put_bits(file + GP__FILE_HEAD + 6 * 8, 0, 8);
	write_seed(folder, number, file, bytes - 8);
	free(file);
}

/*  A pair of parts with an objective, if they go together, small enough to be mutated quickly. */
static odvgp_model *make_pair(int mean, int cov, odvgp_objective objective, int number)
{
	static const char *const kernels[] = {"rbf", "matern32(ard) + linear(ard)",
			"periodic(dims=0) * rq", "polynomial + white + constant"};
	static odvgp_real X[ROWS * 2], Y[ROWS * 2];
	const gp__y_row row = {&gp__likelihoods[ODVGP_LIKELIHOOD_GAUSSIAN], 2, 0, 0, 0, 0};
	int exact = objective == ODVGP_OBJECTIVE_EXACT, lbfgs = number % 2;
	ptrdiff_t N = exact ? 3 : number % 5 ? 20 : 70;
	odvgp_config c = odvgp_config_defaults(N, 2, 1 + number / 2 % 2, 3, exact ? 0 : 2);
	odvgp_model *m;
	size_t bytes;
	void *work;
	kind_data(X, Y, ROWS, 2, row);
	c.layer[0].mean_part = (odvgp_mean_part)mean, c.layer[0].cov_part = (odvgp_cov_part)cov;
	c.objective = objective;
	c.layer[0].kernel = kernels[number % 4];
	c.optim.kind = lbfgs ? ODVGP_OPTIMIZER_LBFGS : ODVGP_OPTIMIZER_ADAM;
	c.optim.lbfgs_memory = 2;
	c.tile = number % 3 ? 0 : 10;
	c.layer[0].mean_function = (odvgp_mean_function)(number / 2 % 3);
	c.reproduce.parametrisation = (odvgp_parametrisation)(number / 3 % 2);
	c.optim.natgrad = !lbfgs;
	if (odvgp_model_create(&m, &c, X, Y, NULL, NULL) != ODVGP_OK) {
		c.optim.natgrad = 0;
		if (odvgp_model_create(&m, &c, X, Y, NULL, NULL) != ODVGP_OK) return NULL;
	}
	MUST(odvgp_fit(m, X, Y, 2, NULL, NULL) == ODVGP_OK, "a seed cannot be trained");
	bytes = odvgp_fit_q_scratch(m, NULL);
	work = malloc(bytes);
	if (objective != ODVGP_OBJECTIVE_ELBO)
		MUST(odvgp_fit_q(m, X, Y, NULL, work, bytes, NULL) == ODVGP_OK, "a seed has no best q");
	free(work);
	return m;
}

/*  Every kind of model and likelihood, and every pair of parts with each objective. */
static void write_seeds(const char *folder)
{
	const int covs = GP__COUNT(gp__cov_parts), pairs = GP__COUNT(gp__mean_parts) * covs;
	int number = 0, i;
	for (i = 0; i < KINDS; i++) {
		kind_model k = kind_make(i);
		write_model(folder, number++, k.m);
		kind_drop(&k);
	}
	for (i = 0; i < 2 * pairs * (ODVGP_OBJECTIVE_COUNT); i++) {
		odvgp_model *m = make_pair(
				i / 2 % pairs / covs, i / 2 % covs, (odvgp_objective)(i / 2 / pairs), number);
		if (m) write_model(folder, number++, m);
		odvgp_model_free(m);
	}
}

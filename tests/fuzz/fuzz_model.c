/*  Model files. The input is a file without its checksum; magic, version and checksum are set
    here, and the length of the caller's bytes is what the other lengths leave, so that a
    mutation reaches what follows. A loaded model is used: it evaluates, steps, predicts, is
    frozen and saved. A call may fail, but a bound with status 0 is finite, and a file that the
    library wrote can be read again. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "fuzz.h"

enum { ROWS = 100, MOST = 8, LARGEST = 1 << 20 };
static odvgp_real X[ROWS * MOST], Y[ROWS * MOST];

static int all_finite(const odvgp_real *x, ptrdiff_t n) { return gp__first_nonfinite(x, n) < 0; }
static void make_data(void)
{
	int i;
	for (i = 0; i < ROWS * MOST; i++) {
		X[i] = (odvgp_real)(i * 37 % 101) / 50 - 1;
		Y[i] = (odvgp_real)sin(0.1 * i);
	}
}

/*  Makes every kind of prediction, for at most three rows. */
static void use_predictor(const odvgp_server *p)
{
	ptrdiff_t D = p->D, P = p->F;
	odvgp_real mean[3 * MOST], var[3 * MOST], cov[9 * MOST];
	size_t need;
	void *scratch;
	if (D > MOST || P > MOST) return;
	need = odvgp_predict_scratch(p, 3);
	if (!need || need > LARGEST) return;
	scratch = malloc(need);
	if (odvgp_predict(p, X, 3, mean, var, scratch, need, NULL) == ODVGP_OK)
		MUST(all_finite(mean, 3 * P) && all_finite(var, 3 * P),
				"odvgp_predict succeeds with NaN or infinity");
	if (odvgp_predict_cov(p, X, 3, mean, cov, scratch, need, NULL) == ODVGP_OK)
		MUST(all_finite(mean, 3 * P) && all_finite(cov, 9 * P),
				"odvgp_predict_cov succeeds with NaN or infinity");
	free(scratch);
}
static void use_file(const unsigned char *file, size_t bytes, int again);

/*  If `again` is 0, the model is also saved, and the saved file is loaded and used. */
static void use_model(odvgp_model *m, int again)
{
	const odvgp_config *c = odvgp_model_config(m);
	odvgp_real elbo, kl, *grad;
	odvgp_report report;
	odvgp_server server;
	ptrdiff_t n = odvgp_param_count(m);
	size_t bytes;
	void *block;
	int i;
	if (c->N > ROWS || c->layer[0].D > MOST || c->layer[0].P > MOST || c->optim.lbfgs_memory > 50)
		return;
	grad = (odvgp_real *)malloc((size_t)n * sizeof *grad);
	if (odvgp_elbo(m, X, Y, c->N, &elbo, &kl, grad, NULL) == ODVGP_OK)
		MUST(all_finite(&elbo, 1) && all_finite(&kl, 1) && all_finite(grad, n),
				"odvgp_elbo succeeds with NaN or infinity");
	free(grad);
	for (i = 0; i < 2 && !again; i++)
		if (odvgp_step(m, X, Y, &report, NULL) == ODVGP_OK)
			MUST(all_finite(&report.elbo, 1), "odvgp_step succeeds with NaN or infinity");
	bytes = odvgp_fit_q_scratch(m);
	if (c->objective != ODVGP_OBJECTIVE_ELBO && !again && bytes && bytes <= LARGEST) {
		block = malloc(bytes);
		(void)odvgp_fit_q(m, X, Y, NULL, block, bytes, NULL);
		free(block);
	}
	bytes = odvgp_predictor_size(m);
	if (bytes && bytes <= LARGEST) {
		block = malloc(bytes);
		if (odvgp_freeze(m, NULL, block, bytes, NULL) == ODVGP_OK) {
			MUST(odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_AUTO, NULL) == ODVGP_OK,
					"a block that odvgp_freeze wrote is refused");
			use_predictor(&server);
		}
		free(block);
	}
	bytes = odvgp_save_size(m, 3);
	if (again || !bytes || bytes > LARGEST) return;
	block = malloc(bytes);
	if (odvgp_save(m, NULL, "abc", 3, block, bytes, NULL) == ODVGP_OK)
		use_file((const unsigned char *)block, bytes, 1);
	free(block);
}

/*  `again` is 1 if the library wrote the file. */
static void use_file(const unsigned char *file, size_t bytes, int again)
{
	size_t model_bytes = 0, predictor_bytes = 0, user_bytes = 0;
	const void *user = NULL;
	odvgp_server server;
	odvgp_model *m = NULL;
	odvgp_info info;
	void *block;
	memset(&info, 0, sizeof info);
	if (odvgp_load_size(file, bytes, NULL, ODVGP_ISA_AUTO, &model_bytes, NULL, NULL, NULL, &info) ==
					ODVGP_OK &&
			model_bytes <= LARGEST) {
		block = malloc(model_bytes);
		if (odvgp_load(file, bytes, NULL, ODVGP_ISA_AUTO, block, model_bytes, &m, &info) ==
				ODVGP_OK)
			use_model(m, again);
		MUST(m || !again, info.text);
		free(block);
	} else MUST(!again || model_bytes, info.text);
	if (odvgp_server_size(file, bytes, &predictor_bytes, &user, &user_bytes, &info) == ODVGP_OK &&
			predictor_bytes <= LARGEST) {
		MUST((const unsigned char *)user >= file &&
						(const unsigned char *)user + user_bytes <= file + bytes,
				"the caller's bytes are outside the file");
		block = malloc(predictor_bytes);
		int served = odvgp_server_from_file(&server, file, bytes, ODVGP_ISA_AUTO, block,
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
	make_data();
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

/*  Makes a file of each pair of parts, with each objective, small enough to be mutated quickly. */
static void write_seeds(const char *folder)
{
	int mean, cov, objective, lbfgs, number = 0;
	make_data();
	for (mean = 0; mean < GP__COUNT(gp__mean_parts); mean++)
		for (cov = 0; cov < GP__COUNT(gp__cov_parts); cov++)
			for (objective = ODVGP_OBJECTIVE_ELBO; objective <= ODVGP_OBJECTIVE_EXACT; objective++)
				for (lbfgs = 0; lbfgs < 2; lbfgs++) {
					static const char *const kernels[] = {"rbf", "matern32(ard) + linear(ard)",
							"periodic(dims=0) * rq", "polynomial + white + constant"};
					int exact = objective == ODVGP_OBJECTIVE_EXACT;
					odvgp_config c = odvgp_config_defaults(exact        ? 3
														   : number % 5 ? 20
																		: 70,
							2, 1 + number % 2, 3, exact ? 0 : 2);
					odvgp_model *m;
					size_t bytes;
					void *work;
					c.layer[0].mean_part = (odvgp_mean_part)mean,
					c.layer[0].cov_part = (odvgp_cov_part)cov,
					c.objective = (odvgp_objective)objective;
					c.layer[0].kernel = kernels[number % 4];
					c.optim.kind = lbfgs ? ODVGP_OPTIMIZER_LBFGS : ODVGP_OPTIMIZER_ADAM;
					c.optim.lbfgs_memory = 2;
					c.tile = number % 3 ? 0 : 10;
					c.layer[0].mean_function = (odvgp_mean_function)(number / 2 % 3);
					c.reproduce.parametrisation = (odvgp_parametrisation)(number / 3 % 2);
					c.optim.natgrad = !lbfgs;
					if (odvgp_model_create(&m, &c, X, Y, NULL, NULL) != ODVGP_OK) {
						c.optim.natgrad = 0;
						if (odvgp_model_create(&m, &c, X, Y, NULL, NULL) != ODVGP_OK) continue;
					}
					MUST(odvgp_fit(m, X, Y, 2, NULL, NULL) == ODVGP_OK,
							"a seed cannot be trained");
					bytes = odvgp_fit_q_scratch(m);
					work = malloc(bytes);
					if (objective != ODVGP_OBJECTIVE_ELBO)
						MUST(odvgp_fit_q(m, X, Y, NULL, work, bytes, NULL) == ODVGP_OK,
								"a seed has no best q");
					free(work);
					bytes = odvgp_save_size(m, 0);
					work = malloc(bytes);
					MUST(odvgp_save(m, NULL, NULL, 0, work, bytes, NULL) == ODVGP_OK,
							"a seed cannot be saved");
					/* The library chooses the tile again if it is 0; it is the seventh size of
                       the config. */
					if (number % 5 == 0)
						put_bits((unsigned char *)work + GP__FILE_HEAD + 6 * 8, 0, 8);
					write_seed(folder, number++, work, bytes - 8);
					free(work);
					odvgp_model_free(m);
				}
}

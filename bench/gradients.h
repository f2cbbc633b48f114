/*  gradients.h - predictions with their derivatives beside predictions alone. Part of bench.c. */

/*  Mean and variance of n rows, with dmean and dvar if `derivatives`. */
static void predict_rows(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		const odvgp_gradient *to, int derivatives, void *scratch, size_t bytes)
{
	check(derivatives ? odvgp_predict_gradient(s, X, n, to, scratch, bytes, NULL)
				 : odvgp_predict(s, X, n, to->mean, to->var, scratch, bytes, NULL),
			"prediction", NULL);
}

/*  Seconds of the processor: long calls seldom run without an interruption. */
static double spent(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*  Calls of both kinds take turns, so that other work of the machine slows both alike. */
static void gradients_of(const char *kernel, ptrdiff_t M, ptrdiff_t Mg, ptrdiff_t D, ptrdiff_t n)
{
	const double calls = 4e6 / (double)(n * (M * M + 20 * (M + Mg + 100)));
	const int rounds = 10 * option.repeats, some = calls > 1 ? (int)calls : 1;
	double least[2] = {1e9, 1e9};
	odvgp_real *out = reserve_reals(2 * n * (D + 1));
	const odvgp_gradient to = {out, out + n, out + 2 * n, out + (2 + D) * n, NULL, NULL};
	dataset r = dataset_make(2 * (M + Mg) + n, D);
	odvgp_config c = odvgp_config_defaults(r.N, D, 1, M, Mg);
	odvgp_model *model;
	odvgp_server server;
	c.layer[0].kernel = kernel;
	c.init.warm = 0;
	c.isa = option.isa;
	check(odvgp_model_create(&model, &c, r.X, r.y, NULL, NULL), "model", NULL);
	check(odvgp_fit(model, r.X, r.y, 3, NULL, NULL), "fit", NULL);
	size_t bytes = odvgp_predictor_size(model, NULL), scratch_bytes;
	void *block = reserve(bytes), *scratch;
	check(odvgp_freeze(model, NULL, block, bytes, NULL), "freeze", NULL);
	check(odvgp_server_from_block(&server, block, bytes, option.isa, NULL), "server", NULL);
	scratch_bytes = odvgp_predict_gradient_scratch(&server, n, NULL);
	scratch = reserve(scratch_bytes);
	gauge g = gauge_start(&c.threads, 1);
	for (int k = 0; k < 2 * rounds; k++) {
		double from = spent(), t;
		for (int i = 0; i < some; i++)
			predict_rows(&server, r.X, n, &to, k % 2, scratch, scratch_bytes);
		t = 1e6 * (spent() - from) / some / (double)n;
		if (t < least[k % 2]) least[k % 2] = t;
	}
	printf("%-14s %5td %5td %3td %5td %9.3f %9.3f %6.2f%s\n", kernel, M, Mg, D, n, least[0],
			least[1], least[1] / least[0], gauge_mark(&g));
	fflush(stdout);
	free(scratch);
	free(block);
	odvgp_model_free(model);
	dataset_free(&r);
	free(out);
}

static void bench_gradients(void)
{
	static const char *const kernels[] = {"rbf(ard)", "matern52(ard)", "matern52 + rbf"};
	static const ptrdiff_t sizes[][3] = {{12, 24, 2}, {32, 128, 6}, {300, 700, 8}};
	static const ptrdiff_t rows[] = {1, 40, 1000};
	printf("\nMean, variance and their derivatives beside mean and variance, microseconds a row,\n"
		   "least of %d rounds\nkernel        |beta||gamma| D  rows   moments gradients  ratio\n",
			10 * option.repeats);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 3; i++)
			for (int j = 0; j < 3; j++)
				gradients_of(kernels[k], sizes[i][0], sizes[i][1], sizes[i][2], rows[j]);
}

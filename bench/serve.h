/*  serve.h - one row predicted by a frozen model. Part of bench.c. bench/peers/table.py prints the
    same for kernels of one term, with a NumPy formula beside them. */

static void bench_serve(void)
{
	enum { CALLS = 64 };
	static const member who = {"ORTH", 1, 1, 0};
	static const setting s = {300, 700, 1024, 8};
	static const char *const names[2] = {"mean", "mean and variance"};
	const int rounds = 50 * option.repeats;
	crew c = crew_start(1);
	dataset r = dataset_for(&s);
	odvgp_model *model = model_make(&who, &s, &r, &c.hook);
	odvgp_server server;
	odvgp_real mean, var;
	odvgp_info info;
	size_t bytes = odvgp_predictor_size(model, NULL), scratch_bytes;
	double least[2] = {1e9, 1e9};
	void *block = reserve(bytes), *scratch;
	check(odvgp_freeze(model, NULL, block, bytes, &info), "freeze", &info);
	check(odvgp_server_from_block(&server, block, bytes, option.isa, &info), "server", &info);
	scratch_bytes = odvgp_predict_scratch(&server, 1, NULL);
	scratch = reserve(scratch_bytes);
	for (int k = 0; k < rounds; k++)
		for (int variance = 0; variance < 2; variance++) {
			double from = now(), t;
			for (int i = 0; i < CALLS; i++)
				check(odvgp_predict(&server, r.X + i * s.D, 1, &mean, variance ? &var : NULL,
							  scratch, scratch_bytes, NULL),
						"prediction", NULL);
			t = 1e6 * (now() - from) / CALLS;
			if (t < least[variance]) least[variance] = t;
		}
	printf("\nOne row predicted, microseconds, least of %d rounds; "
		   "|beta| %td, |gamma| %td, D %td, matern52 + rbf\n",
			rounds, s.M, s.Mg, s.D);
	for (int variance = 0; variance < 2; variance++)
		printf("%-18s %9.2f\n", names[variance], least[variance]);
	fflush(stdout);
	free(scratch);
	free(block);
	odvgp_model_free(model);
	dataset_free(&r);
	crew_stop(&c);
}

/*  outputs.c - CALLS predictions of n rows with mean, variance and their derivatives, of a model
    with P outputs on a shared kernel, for bench/outputs.py to count:

        cc -O2 -no-pie bench/outputs.c -I. -o build/outputs -lm -pthread
        build/outputs c|avx2 P M MG D n CALLS */
#define ODVGP_STATIC
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(odvgp_status status, const char *what)
{
	if (!status) return;
	fprintf(stderr, "outputs: %s: %s\n", what, odvgp_status_text(status));
	exit(2);
}

static void *reserve(size_t bytes)
{
	void *p = calloc(bytes ? bytes : 1, 1);
	if (!p || !bytes) check(ODVGP_E_MEMORY, "a block");
	return p;
}

int main(int argc, char **argv)
{
	ptrdiff_t of[6]; /* P, M, MG, D, n, CALLS */
	if (argc != 8) {
		fprintf(stderr, "usage: outputs c|avx2 P M MG D n CALLS\n");
		return 2;
	}
	for (int k = 0; k < 6; k++) of[k] = strtol(argv[k + 2], NULL, 10);
	const ptrdiff_t P = of[0], M = of[1], Mg = of[2], D = of[3], n = of[4], N = 2 * (M + Mg) + n;
	const odvgp_isa isa = strcmp(argv[1], "c") ? ODVGP_ISA_AVX2 : ODVGP_ISA_C;
	odvgp_config c = odvgp_config_defaults(N, D, P, M, Mg);
	c.layer[0].kernel = "rbf(ard)";
	c.isa = isa;
	odvgp_real *X = (odvgp_real *)reserve((size_t)(N * D) * sizeof *X),
			   *Y = (odvgp_real *)reserve((size_t)(N * P) * sizeof *Y);
	for (ptrdiff_t i = 0; i < N * D; i++) X[i] = (odvgp_real)(i * 7919 % 10007) / 5000 - 1;
	for (ptrdiff_t i = 0; i < N * P; i++) Y[i] = X[i / P * D] * (odvgp_real)(1 + i % P);
	odvgp_model *m = NULL;
	size_t bytes = odvgp_model_size(&c, NULL);
	void *model = reserve(bytes);
	check(odvgp_model_init(&m, &c, model, bytes, NULL), "model");
	check(odvgp_init_data(m, X, Y, NULL, NULL), "data");
	bytes = odvgp_predictor_size(m, NULL);
	void *block = reserve(bytes);
	check(odvgp_freeze(m, NULL, block, bytes, NULL), "freeze");
	odvgp_server server;
	check(odvgp_server_from_block(&server, block, bytes, isa, NULL), "server");
	bytes = odvgp_predict_gradient_scratch(&server, n, NULL);
	void *scratch = reserve(bytes);
	odvgp_real *out = (odvgp_real *)reserve((size_t)(2 * P * n * (D + 1)) * sizeof *out);
	const odvgp_gradient to = {
			out, out + P * n, out + 2 * P * n, out + (2 + D) * P * n, NULL, NULL};
	for (ptrdiff_t k = 0; k < of[5]; k++)
		check(odvgp_predict_gradient(&server, X, n, &to, scratch, bytes, NULL), "gradient");
	free(X), free(Y), free(model), free(block), free(scratch), free(out);
	return 0;
}

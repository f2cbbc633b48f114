/*  Kernel expressions. The first byte is the number of inputs, the rest is the expression. If it
    is accepted, its model can be made, evaluates with finite numbers or reports an error, and
    the text that the library prints for it is accepted again. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "fuzz.h"

enum { N = 6, MOST = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	odvgp_config c;
	odvgp_real X[N * MOST], Y[N], elbo, *grad;
	odvgp_model *m = NULL;
	odvgp_info info;
	char *text, again[4096];
	size_t bytes;
	ptrdiff_t i, n;
	if (size < 1 || memchr(data + 1, 0, size - 1)) return 0;
	/* The allocation has the exact size, so that a read beyond the end is detected. */
	text = (char *)malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	c = odvgp_config_defaults(N, 1 + data[0] % MOST, 1, 2, 2);
	c.layer[0].kernel = text;
	memset(&info, 0, sizeof info);
	for (i = 0; i < N * MOST; i++) X[i] = (odvgp_real)(i * 37 % 101) / 50 - 1;
	for (i = 0; i < N; i++) Y[i] = (odvgp_real)(i % 3) - 1;
	if (!odvgp_model_size(&c, &info)) {
		MUST(info.text[0] && strlen(info.text) < sizeof info.text, "a refusal without a sentence");
		free(text);
		return 0;
	}
	if (odvgp_model_create(&m, &c, X, Y, NULL, NULL) == ODVGP_OK) {
		n = odvgp_param_count(m);
		grad = (odvgp_real *)malloc((size_t)n * sizeof *grad);
		if (odvgp_elbo(m, X, Y, N, &elbo, NULL, grad, NULL) == ODVGP_OK)
			MUST(elbo - elbo == 0 && gp__first_nonfinite(grad, n) < 0,
					"odvgp_elbo succeeds with NaN or infinity");
		(void)odvgp_predict_once(m, X, N, grad, NULL, NULL, NULL);
		bytes = odvgp_kernel_text(m, again, sizeof again);
		MUST(bytes < sizeof again && strlen(again) == bytes, "a text of another length");
		c.layer[0].kernel = again;
		MUST(odvgp_model_size(&c, &info), again);
		free(grad);
		odvgp_model_free(m);
	}
	free(text);
	return 0;
}

static void write_seeds(const char *folder)
{
	static const char *const list[] = {"rbf", "matern12(0.5)",
			"matern32(lengthscale=1e-3, variance=2.5E+2)", "matern52(ard)",
			"rq(1, alpha=2, dims=0)", "periodic(period=0.5, dims=0:2+3)", "linear(ard)",
			"polynomial(degree=3, offset=0.1)", "constant(variance=2)", "white(0.1)",
			"(rbf(1) + matern12(2)) * (linear + constant) * white",
			"rbf(dims=0)*rbf(dims=1)+rbf(dims=2)", "((((rbf))))", "additive(1, ard=0:2)", "laplacian(1, ard=0:2)",
			"rbf(ard=2:4+0:2, dims=0:4)"};
	char text[200];
	int i;
	for (i = 0; i < (int)(sizeof list / sizeof *list); i++) {
		snprintf(text, sizeof text, "%c%s", 3, list[i]);
		write_seed(folder, i, text, strlen(text));
	}
}

/*  ODVGP_FLOAT_ONLY (tests/float_only.c) against the usual build: the error of the means and the
    variances after training, blocks for other builds, memory, and what is refused. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "float_only.h"

static float small_X[SMALL_ROWS * SMALL_INPUTS], small_y[SMALL_ROWS], truth[SMALL_ROWS];
static float mean[SMALL_ROWS], var[SMALL_ROWS], frozen[4096];
static size_t small_bytes;

static double uniform(void)
{
	static unsigned state = 5;
	state = state * 1664525u + 1013904223u;
	return (state >> 8) / 16777216.0;
}

static void make_rows(void)
{
	for (int i = 0; i < SMALL_ROWS; i++) {
		double a = 3 * uniform() - 1.5, b = 3 * uniform() - 1.5, noise = -6;
		for (int k = 0; k < 12; k++) noise += uniform();
		small_X[2 * i] = (float)a;
		small_X[2 * i + 1] = (float)b;
		truth[i] = (float)(sin(2 * a) + 0.5 * sin(3 * b));
		small_y[i] = truth[i] + (float)(0.1 * noise);
	}
}

static double rms(const float *x)
{
	double sum = 0;
	for (int i = 0; i < SMALL_ROWS; i++) {
		double e = (double)x[i] - (double)truth[i];
		sum += e * e / SMALL_ROWS;
	}
	return sqrt(sum);
}

/*  The same training in this build; X, y and results in float. */
static void usual_training(float *to_mean, float *to_var)
{
	static odvgp_real X[SMALL_ROWS * SMALL_INPUTS], y[SMALL_ROWS], m[SMALL_ROWS], v[SMALL_ROWS];
	odvgp_config cfg = odvgp_config_defaults(SMALL_ROWS, SMALL_INPUTS, 1, SMALL_BETA, SMALL_GAMMA);
	odvgp_model *model = NULL;
	odvgp_info info;
	for (int i = 0; i < SMALL_ROWS * SMALL_INPUTS; i++) X[i] = (odvgp_real)small_X[i];
	for (int i = 0; i < SMALL_ROWS; i++) y[i] = (odvgp_real)small_y[i];
	cfg.layer[0].kernel = "rbf(ard)";
	cfg.init.warm = 0;
	cfg.optim.batch = 50;
	cfg.optim.lr = odvgp_falling((odvgp_real)0.01, (odvgp_real)0.001, SMALL_STEPS);
	cfg.optim.natgrad_step = odvgp_falling((odvgp_real)0.1, (odvgp_real)0.01, SMALL_STEPS);
	CHECK_STATUS(odvgp_model_create(&model, &cfg, X, y, NULL, &info), ODVGP_OK);
	for (int i = 0; i < SMALL_STEPS; i++)
		CHECK_STATUS(odvgp_step(model, X, y, NULL, &info), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_once(model, X, SMALL_ROWS, m, v, NULL, &info), ODVGP_OK);
	for (int i = 0; i < SMALL_ROWS; i++) {
		to_mean[i] = (float)m[i];
		to_var[i] = (float)v[i];
	}
	odvgp_model_free(model);
}

TEST(trained_as_well_as_the_usual_build)
{
	static float usual[SMALL_ROWS], usual_var[SMALL_ROWS];
	usual_training(usual, usual_var);
	CHECK(rms(usual) < 0.05);
	CHECK(rms(mean) < 1.05 * rms(usual));
	double ratio = 0;
	for (int i = 0; i < SMALL_ROWS; i++)
		ratio += sqrt((double)var[i] / (double)usual_var[i]) / SMALL_ROWS;
	CHECK_NEAR(ratio, 1.0, 0.05);
}

/*  A block of a float build without the option is the same. */
TEST(a_block_serves_other_builds)
{
#ifdef ODVGP_FLOAT
	static unsigned char scratch[1 << 16];
	odvgp_server server;
	odvgp_info info;
	float m, v;
	odvgp_status s = ODVGP_E_FORMAT;
	/* its size is a multiple of a float's: the only one that the check accepts */
	for (size_t bytes = 256; bytes <= sizeof frozen && s; bytes += 4)
		s = odvgp_server_from_block(&server, frozen, bytes, ODVGP_ISA_AUTO, &info);
	CHECK_STATUS(s, ODVGP_OK);
	for (int i = 0; i < SMALL_ROWS && !s; i++) {
		CHECK_STATUS(
				odvgp_predict(&server, small_X + 2 * i, 1, &m, &v, scratch, sizeof scratch, &info),
				ODVGP_OK);
		CHECK_NEAR(m, mean[i], 1e-4);
		CHECK_NEAR(v, var[i], 1e-4);
	}
#else
	SKIP("blocks are in float");
#endif
}

/*  A block of a float build whose kernel or likelihood is left out here is refused as such. */
TEST(blocks_of_other_kernels_are_refused)
{
#ifdef ODVGP_FLOAT
	static const char *const kernel[] = {"rbf", "linear", "rq", "periodic", "rbf"};
	static odvgp_real X[8][SMALL_INPUTS], y[8];
	static unsigned char block[1 << 14];
	for (int k = 0; k < 5; k++) {
		odvgp_config cfg = odvgp_config_defaults(8, SMALL_INPUTS, 1, 4, 0);
		if (k == 4) cfg.lik.kind = ODVGP_LIKELIHOOD_POISSON;
		odvgp_model *m = NULL;
		for (int i = 0; i < 8; i++) X[i][0] = y[i] = (odvgp_real)i;
		cfg.layer[0].kernel = kernel[k];
		CHECK_STATUS(odvgp_model_create(&m, &cfg, &X[0][0], y, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_freeze(m, NULL, block, sizeof block, NULL), ODVGP_OK);
		CHECK(small_opens(block, odvgp_predictor_size(m, NULL)) ==
				(int)(k ? ODVGP_E_UNSUPPORTED : ODVGP_OK));
		odvgp_model_free(m);
	}
#else
	SKIP("blocks are in float");
#endif
}

TEST(memory)
{
	odvgp_config cfg = odvgp_config_defaults(SMALL_ROWS, SMALL_INPUTS, 1, SMALL_BETA, SMALL_GAMMA);
	cfg.layer[0].kernel = "rbf(ard)";
	cfg.optim.batch = 50;
	CHECK(small_bytes > 0);
	CHECK(3 * small_bytes < 2 * odvgp_model_size(&cfg, NULL));
}

TEST(what_is_left_out_is_refused)
{
	static const char *const culprit[] = {
#define ODVGP__X(name, culprit, field, value) culprit,
			SMALL_REFUSED(ODVGP__X)
#undef ODVGP__X
	};
	const char *what;
	CHECK(small_asks(SMALL_AS_IT_IS, &what) == small_bytes);
	for (int i = 0; i < SMALL_COUNT; i++) {
		CHECK(small_asks(i, &what) == 0);
		CHECK_SAY(!strcmp(what, culprit[i]), "%s is refused, not %s", what, culprit[i]);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	make_rows();
	CHECK(small_train(small_X, small_y, mean, var, frozen, sizeof frozen, &small_bytes) == 0);
	RUN(trained_as_well_as_the_usual_build);
	RUN(a_block_serves_other_builds);
	RUN(blocks_of_other_kernels_are_refused);
	RUN(memory);
	RUN(what_is_left_out_is_refused);
	return test_end();
}

/*  images.c - MNIST with convolutional features, in one to three layers, and with all pixels: test
    error against seconds.

        build/images --data DIR --out DIR [--seconds 60] [--threads 2] [--images 20000] [NAME...]

    DIR of the data has mnist_train20000.bin.gz and mnist_t10k.bin.gz: for each image a label, then
    28 x 28 pixels, a byte each; gzip unpacks them into OUT. Each model trains for the same time, the
    evaluations on the test images not counted. Appends a row to OUT/images.csv at each quarter of
    the time, and skips models whose last row is there; then prints the table of last rows. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Looks before the last one are at FEW test images. */
enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10, TEST = 10000, FEW = 2000, LOOKS = 4 };

/*  patch 0: all pixels. Several layers are those of SOLVE-GP's table 5 with fewer points, a half of
    M and M_gamma in hidden ones; tick is the last layer's. */
static const struct {
	const char *name;
	odvgp_mean_part mean;
	odvgp_cov_part cov;
	int patch, tick, M, M_gamma, layers;
} models[] = {
		{"rbf-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 0, 0, 100, 0, 1},
		{"conv-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 0, 100, 0, 1},
		{"conv-orth", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 5, 0, 60, 40, 1},
		{"conv-solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 5, 0, 50, 50, 1},
		{"tick-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 100, 0, 1},
		{"deep2-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 100, 0, 2},
		{"deep2-solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 5, 1, 50, 50, 2},
		{"deep3-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 100, 0, 3},
		{"deep3-solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 5, 1, 50, 50, 3},
};
/*  Patches of each layer, and channels of hidden ones. */
enum { CHANNELS = 10 };
static const struct {
	int patch, stride;
} shapes[] = {{5, 1}, {4, 2}, {5, 1}};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "images: %s: %s\n", what, why);
	exit(2);
}

static void check(odvgp_status status, const char *what, const odvgp_info *info)
{
	if (status) fail(what, info ? info->text : odvgp_status_text(status));
}

static void *reserve(size_t bytes)
{
	void *p = calloc(bytes ? bytes : 1, 1);
	if (!p) fail("memory", "there is not enough");
	return p;
}

static odvgp_real *reserve_reals(ptrdiff_t n)
{
	return (odvgp_real *)reserve((size_t)n * sizeof(odvgp_real));
}

typedef struct setting {
	const char *data, *out, *only;
	double seconds;
	int threads;
	ptrdiff_t images;
} setting;

/*  n images of a file; pixels from 0 to 1. */
static void read_images(
		const setting *s, const char *name, ptrdiff_t n, odvgp_real *X, odvgp_real *Y)
{
	char command[4096], path[1000];
	static unsigned char row[1 + PIXELS];
	snprintf(path, sizeof path, "%s/%s", s->out, name);
	snprintf(command, sizeof command, "test -s '%s' || gzip -dc '%s/%s.gz' >'%s'", path, s->data,
			name, path);
	if (system(command)) fail(name, "cannot be unpacked");
	FILE *file = fopen(path, "rb");
	if (!file) fail(path, "cannot be read");
	for (ptrdiff_t i = 0; i < n; i++) {
		if (fread(row, sizeof row, 1, file) != 1 || row[0] >= CLASSES) fail(path, "is cut off");
		Y[i] = row[0];
		for (int k = 0; k < PIXELS; k++) X[i * PIXELS + k] = row[1 + k] / (odvgp_real)255;
	}
	fclose(file);
}

/*  All pixels get one mean and one scale, those of the training images. */
static void scale_images(odvgp_real *X, ptrdiff_t n, odvgp_real *X_test)
{
	double mean = 0, square = 0, count = (double)(n * PIXELS);
	for (ptrdiff_t i = 0; i < n * PIXELS; i++) mean += (double)X[i] / count;
	for (ptrdiff_t i = 0; i < n * PIXELS; i++)
		square += ((double)X[i] - mean) * ((double)X[i] - mean) / count;
	for (ptrdiff_t i = 0; i < n * PIXELS; i++)
		X[i] = (odvgp_real)(((double)X[i] - mean) / sqrt(square));
	for (ptrdiff_t i = 0; i < TEST * PIXELS; i++)
		X_test[i] = (odvgp_real)(((double)X_test[i] - mean) / sqrt(square));
}

/*  The share of images whose largest latent mean is not their class. */
static double test_error(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y, ptrdiff_t n)
{
	enum { ROWS = 200 };
	static odvgp_real mean[CLASSES * ROWS];
	size_t bytes = odvgp_predictor_size(m), scratch_bytes;
	void *block = reserve(bytes), *scratch;
	odvgp_server server;
	odvgp_info info;
	ptrdiff_t wrong = 0;
	check(odvgp_freeze(m, NULL, block, bytes, &info), "odvgp_freeze", &info);
	check(odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_AUTO, &info), "server", &info);
	scratch_bytes = odvgp_predict_scratch(&server, ROWS);
	scratch = reserve(scratch_bytes);
	for (ptrdiff_t from = 0; from < n; from += ROWS) {
		check(odvgp_predict(
					  &server, X + from * PIXELS, ROWS, mean, NULL, NULL, scratch, scratch_bytes),
				"odvgp_predict", NULL);
		for (ptrdiff_t i = 0; i < ROWS; i++) {
			int best = 0;
			for (int k = 1; k < CLASSES; k++)
				if (mean[k * ROWS + i] > mean[best * ROWS + i]) best = k;
			wrong += best != (int)Y[from + i];
		}
	}
	free(block);
	free(scratch);
	return (double)wrong / (double)n;
}

static odvgp_config config_of(const setting *s, int k, const odvgp_threads *threads)
{
	odvgp_config c =
			odvgp_config_defaults(s->images, PIXELS, CLASSES, models[k].M, models[k].M_gamma);
	c.layers = models[k].layers;
	for (int l = 0, side = SIDE; l < models[k].layers; l++) {
		int patch = l ? shapes[l].patch : models[k].patch, hidden = l + 1 < models[k].layers;
		ptrdiff_t pixels = (ptrdiff_t)patch * patch * (l ? CHANNELS : 1);
		if (l) c.layer[l] = c.layer[0];
		c.layer[l].mean_part = models[k].mean;
		c.layer[l].cov_part = models[k].cov;
		c.layer[l].D = l ? 0 : PIXELS;
		c.layer[l].P = hidden ? CHANNELS : CLASSES;
		c.layer[l].M = hidden ? models[k].M / 2 : models[k].M;
		c.layer[l].M_gamma = hidden ? models[k].M_gamma / 2 : models[k].M_gamma;
		c.layer[l].kernel = "rbf";
		c.layer[l].mean_function =
				hidden ? ODVGP_MEAN_FUNCTION_PROJECTION : ODVGP_MEAN_FUNCTION_ZERO;
		if (!patch) break;
		c.layer[l].patches.image_height = c.layer[l].patches.image_width = side;
		c.layer[l].patches.channels = l ? CHANNELS : 1;
		c.layer[l].patches.height = c.layer[l].patches.width = patch;
		c.layer[l].patches.stride = shapes[l].stride;
		c.layer[l].patches.image_output = hidden;
		c.layer[l].patches.locations = models[k].tick && !hidden;
		side = (side - patch) / shapes[l].stride + 1;
		if (hidden || !models[k].tick) continue;
		static char text[80];
		snprintf(text, sizeof text, "rbf(dims=0:%td) * matern32(10, dims=%td:%td)", pixels, pixels,
				pixels + 2);
		c.layer[l].kernel = text;
	}
	c.deep.predict_samples = 5;
	c.lik.kind = ODVGP_LIKELIHOOD_ROBUSTMAX;
	c.optim.batch = 32;
	/* Adam moves q, as in SOLVE-GP's appendix G.2; with natural steps the convolutional models did
	   not learn. */
	c.optim.natgrad = 0;
	c.optim.lr = odvgp_constant((odvgp_real)0.03);
	c.threads = *threads;
	return c;
}

static void run(const setting *s, int k, const odvgp_threads *threads, const odvgp_real *X,
		const odvgp_real *Y, const odvgp_real *X_test, const odvgp_real *Y_test, const char *rows)
{
	odvgp_config c = config_of(s, k, threads);
	odvgp_model *m;
	odvgp_info info;
	odvgp_report r;
	double begin = now(), spent = 0, elbo = 0;
	ptrdiff_t steps = 0;
	size_t bytes = 0;
	check(odvgp_model_size(&c, &bytes, &info), models[k].name, &info);
	check(odvgp_model_create(&m, &c, X, Y, NULL, &info), models[k].name, &info);
	for (int look = 1; look <= LOOKS; look++) {
		while (spent + now() - begin < s->seconds * look / LOOKS) {
			check(odvgp_step(m, X, Y, &r, &info), models[k].name, &info);
			elbo = steps++ ? 0.98 * elbo + 0.02 * (double)r.elbo : (double)r.elbo;
		}
		spent += now() - begin;
		ptrdiff_t n = look == LOOKS ? TEST : FEW;
		double e = test_error(m, X_test, Y_test, n);
		FILE *file = fopen(rows, "a");
		if (!file) fail(rows, "cannot be written");
		fprintf(file, "%s,%d,%d,%d,%d,%g,%.1f,%td,%.2f,%.4f,%.4f,%.4f,%.1f\n", models[k].name,
				models[k].M, models[k].M_gamma, s->threads, look, s->seconds, spent, steps,
				1e3 * spent / (double)steps, elbo / (double)s->images, e,
				sqrt(e * (1 - e) / (double)n), (double)bytes / 1e6);
		fclose(file);
		begin = now();
	}
	odvgp_model_free(m);
}

/*  The model's row of this look at these settings, or an empty text. */
static void find_row(const setting *s, const char *rows, int k, int look, char *row, size_t size)
{
	char begin[100], line[400];
	FILE *file = fopen(rows, "r");
	snprintf(begin, sizeof begin, "%s,%d,%d,%d,%d,%g,", models[k].name, models[k].M,
			models[k].M_gamma, s->threads, look, s->seconds);
	*row = 0;
	while (file && fgets(line, sizeof line, file))
		if (!strncmp(line, begin, strlen(begin))) snprintf(row, size, "%s", line + strlen(begin));
	if (file) fclose(file);
}

static int asked_for(int argc, char **argv, int from, const char *name)
{
	for (int i = from; i < argc; i++)
		if (!strcmp(argv[i], name)) return 1;
	return from >= argc;
}

int main(int argc, char **argv)
{
	setting s = {NULL, NULL, NULL, 60, 2, 20000};
	char rows[1000], row[400];
	int i = 1;
	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		if (!strcmp(argv[i], "--data")) s.data = argv[i + 1];
		else if (!strcmp(argv[i], "--out")) s.out = argv[i + 1];
		else if (!strcmp(argv[i], "--seconds")) s.seconds = atof(argv[i + 1]);
		else if (!strcmp(argv[i], "--threads")) s.threads = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--images")) s.images = atol(argv[i + 1]);
		else fail(argv[i], "is not an option");
	}
	if (!s.data || !*s.data || !s.out) fail("--data and --out", "are needed");
	if (s.images < 1 || s.images > 20000 || !(s.seconds > 0)) fail("settings", "out of range");
	snprintf(rows, sizeof rows, "%s/images.csv", s.out);
	odvgp_real *X = reserve_reals(s.images * PIXELS), *Y = reserve_reals(s.images),
			   *X_test = reserve_reals(TEST * PIXELS), *Y_test = reserve_reals(TEST);
	read_images(&s, "mnist_train20000.bin", s.images, X, Y);
	read_images(&s, "mnist_t10k.bin", TEST, X_test, Y_test);
	scale_images(X, s.images, X_test);
	size_t bytes = odvgp_pool_size(s.threads);
	odvgp_pool *pool;
	odvgp_threads threads;
	check(odvgp_pool_start(&pool, s.threads, reserve(bytes), bytes, &threads), "threads", NULL);
	printf("%-14s %4s %7s %8s %9s %9s %18s %8s\n", "model", "beta", "gamma", "seconds", "ms/step",
			"elbo/n", "test error, %", "MB");
	for (int k = 0; k < (int)(sizeof models / sizeof *models); k++) {
		double spent, ms, elbo, e, sd, size;
		long steps;
		if (!asked_for(argc, argv, i, models[k].name)) continue;
		find_row(&s, rows, k, LOOKS, row, sizeof row);
		if (!*row) run(&s, k, &threads, X, Y, X_test, Y_test, rows);
		find_row(&s, rows, k, LOOKS, row, sizeof row);
		if (sscanf(row, "%lf,%ld,%lf,%lf,%lf,%lf,%lf", &spent, &steps, &ms, &elbo, &e, &sd,
					&size) != 7)
			fail(rows, "has no such row");
		printf("%-14s %4d %7d %8.1f %9.2f %9.4f %9.2f +- %4.2f %9.1f\n", models[k].name,
				models[k].M, models[k].M_gamma, spent, ms, elbo, 100 * e, 100 * sd, size);
		fflush(stdout);
	}
	odvgp_pool_stop(pool);
	return 0;
}

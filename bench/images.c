/*  images.c - MNIST and CIFAR-10 with convolutional features, in one to three layers, and with all
    pixels: test error against seconds, or after the same number of steps.

        build/images --data DIR --out DIR [--set mnist|cifar10] [--seconds 60 | --steps N]
            [--threads 2] [--images N] [--patch-kernel TEXT] [--rate 0.03] [NAME...]

    DIR of the data has mnist_train20000.bin.gz and mnist_t10k.bin.gz, or cifar10_train10000.bin.gz
    and cifar10_test2000.bin.gz: for each image a label, then the pixels of each channel, a byte
    each; gzip unpacks them into OUT. Each model trains for the same time, or for the same steps.
    Time is that of the processor, all threads together, so that other programs count little; the
    evaluations on the test images are not in it. Appends a row to OUT/images.csv at each quarter of
    that, and skips models whose last row is there; then prints the table of last rows, and for how
    many test images only one of two models is right. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Looks before the last one are at FEW test images. */
enum { CLASSES = 10, FEW = 2000, LOOKS = 4, MOST_PIXELS = 32 * 32 * 3, MOST_TESTS = 10000 };

typedef struct image_set {
	const char *name, *train, *test;
	int side, channels, images, tests, batch;
	/* Of single layers. "" and 10: scales from the data; CIFAR-10's are those of SOLVE-GP's table 4,
	   which has one layer. */
	const char *patch_kernel;
	int location_scale;
} image_set;
enum { MNIST, CIFAR10, SETS };
static const image_set sets[SETS] = {
		{"mnist", "mnist_train20000.bin", "mnist_t10k.bin", 28, 1, 20000, 10000, 32, "", 10},
		{"cifar10", "cifar10_train10000.bin", "cifar10_test2000.bin", 32, 3, 10000, 2000, 64,
				"5, variance=5", 3},
};
static int pixels_of(const image_set *set) { return set->side * set->side * set->channels; }

/*  patch 0: all pixels. Several layers are those of SOLVE-GP's table 5 with fewer points, a half of
    M and M_gamma in hidden ones; tick is the last layer's. CIFAR-10's single layers have a quarter
    of the points of SOLVE-GP's table 4. */
static const struct {
	int set;
	const char *name;
	odvgp_mean_part mean;
	odvgp_cov_part cov;
	int patch, tick, M, M_gamma, layers;
} models[] = {
		{MNIST, "rbf-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 0, 0, 100, 0, 1},
		{MNIST, "conv-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 0, 100, 0, 1},
		{MNIST, "conv-orth", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 5, 0, 60, 40, 1},
		{MNIST, "conv-solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 5, 0, 50, 50, 1},
		{MNIST, "tick-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 100, 0, 1},
		{MNIST, "deep2-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 100, 0, 2},
		{MNIST, "deep2-solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 5, 1, 50, 50, 2},
		{MNIST, "deep3-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 100, 0, 3},
		{MNIST, "deep3-solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 5, 1, 50, 50, 3},
		{CIFAR10, "svgp-250", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 250, 0, 1},
		{CIFAR10, "svgp-400", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 400, 0, 1},
		{CIFAR10, "solve-250-250", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 5, 1, 250, 250,
				1},
		{CIFAR10, "svgp-500", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 500, 0, 1},
		{CIFAR10, "cifar-deep2-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 100, 0,
				2},
		{CIFAR10, "cifar-deep2-solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 5, 1, 50, 50,
				2},
		{CIFAR10, "cifar-deep3-coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 5, 1, 100, 0,
				3},
		{CIFAR10, "cifar-deep3-solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 5, 1, 50, 50,
				3},
};
enum { MODELS = sizeof models / sizeof *models };
/*  Patches of each layer, and channels of hidden ones. */
enum { CHANNELS = 10 };
static const struct {
	int patch, stride;
} shapes[] = {{5, 1}, {4, 2}, {5, 1}};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
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
	const char *data, *out;
	const image_set *set;
	double seconds;
	ptrdiff_t steps; /* 0: by seconds */
	int threads;
	ptrdiff_t images;
	const char *patch_kernel; /* NULL: the set's for one layer, from the data for more */
	double rate;              /* Adam's */
	char limit[100];          /* images and seconds or steps, as rows have them */
} setting;

/*  n images of a file; pixels from 0 to 1, pixel (i, j) of channel c in column (i side + j) C + c. */
static void read_images(
		const setting *s, const char *name, ptrdiff_t n, odvgp_real *X, odvgp_real *Y)
{
	char command[4096], path[1000];
	static unsigned char row[1 + MOST_PIXELS];
	const int pixels = pixels_of(s->set), C = s->set->channels, plane = pixels / C;
	snprintf(path, sizeof path, "%s/%s", s->out, name);
	snprintf(command, sizeof command, "test -s '%s' || gzip -dc '%s/%s.gz' >'%s'", path, s->data,
			name, path);
	if (system(command)) fail(name, "cannot be unpacked");
	FILE *file = fopen(path, "rb");
	if (!file) fail(path, "cannot be read");
	for (ptrdiff_t i = 0; i < n; i++) {
		if (fread(row, 1 + (size_t)pixels, 1, file) != 1 || row[0] >= CLASSES)
			fail(path, "is cut off");
		Y[i] = row[0];
		for (int k = 0; k < pixels; k++) {
			int from = 1 + k % C * plane + k / C;
			X[i * pixels + k] = row[from] / (odvgp_real)255;
		}
	}
	fclose(file);
}

/*  All pixels of a channel get one mean and one scale, those of the training images. */
static void scale_images(const setting *s, odvgp_real *X, odvgp_real *X_test)
{
	const int C = s->set->channels;
	ptrdiff_t count = s->images * pixels_of(s->set), tests = s->set->tests * pixels_of(s->set);
	for (int c = 0; c < C; c++) {
		double mean = 0, square = 0, share = (double)C / (double)count;
		for (ptrdiff_t i = c; i < count; i += C) mean += (double)X[i] * share;
		for (ptrdiff_t i = c; i < count; i += C)
			square += ((double)X[i] - mean) * ((double)X[i] - mean) * share;
		for (ptrdiff_t i = c; i < count; i += C)
			X[i] = (odvgp_real)(((double)X[i] - mean) / sqrt(square));
		for (ptrdiff_t i = c; i < tests; i += C)
			X_test[i] = (odvgp_real)(((double)X_test[i] - mean) / sqrt(square));
	}
}

/*  What a model says about test images: the share whose most probable class is not theirs, and the
    mean logarithm of the probability of theirs. */
typedef struct score {
	double error, loglik;
} score;

/*  right [n]: '1' where the most probable class is the image's. */
static score score_of(const setting *s, odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t n, char *right)
{
	enum { ROWS = 200 };
	static odvgp_real p[CLASSES * ROWS];
	size_t bytes = odvgp_predictor_size(m, NULL), scratch_bytes;
	void *block = reserve(bytes), *scratch;
	odvgp_server server;
	odvgp_info info;
	score sum = {0, 0};
	check(odvgp_freeze(m, NULL, block, bytes, &info), "odvgp_freeze", &info);
	check(odvgp_server_from_block(&server, block, bytes, ODVGP_ISA_AUTO, &info), "server", &info);
	scratch_bytes = odvgp_predict_scratch(&server, ROWS, NULL);
	scratch = reserve(scratch_bytes);
	for (ptrdiff_t from = 0; from < n; from += ROWS) {
		check(odvgp_predict_y(&server, X + from * pixels_of(s->set), ROWS, p, NULL, scratch,
					  scratch_bytes, NULL),
				"odvgp_predict_y", NULL);
		for (ptrdiff_t i = 0; i < ROWS; i++) {
			int best = 0, y = (int)Y[from + i];
			for (int k = 1; k < CLASSES; k++)
				if (p[k * ROWS + i] > p[best * ROWS + i]) best = k;
			right[from + i] = best == y ? '1' : '0';
			sum.error += best != y;
			sum.loglik += log((double)p[y * ROWS + i]);
		}
	}
	free(block);
	free(scratch);
	sum.error /= (double)n;
	sum.loglik /= (double)n;
	return sum;
}

static odvgp_config config_of(const setting *s, int k, const odvgp_threads *threads)
{
	odvgp_config c = odvgp_config_defaults(
			s->images, pixels_of(s->set), CLASSES, models[k].M, models[k].M_gamma);
	static char plain[100], located[200];
	const char *scales = s->patch_kernel        ? s->patch_kernel
						 : models[k].layers > 1 ? ""
												: s->set->patch_kernel;
	snprintf(plain, sizeof plain, "rbf(%s)", scales);
	c.layers = models[k].layers;
	for (int l = 0, side = s->set->side; l < models[k].layers; l++) {
		const int channels = l ? CHANNELS : s->set->channels;
		int patch = l ? shapes[l].patch : models[k].patch, hidden = l + 1 < models[k].layers;
		ptrdiff_t pixels = (ptrdiff_t)patch * patch * channels;
		if (l) c.layer[l] = c.layer[0];
		c.layer[l].mean_part = models[k].mean;
		c.layer[l].cov_part = models[k].cov;
		c.layer[l].D = l ? 0 : pixels_of(s->set);
		c.layer[l].P = hidden ? CHANNELS : CLASSES;
		c.layer[l].M = hidden ? models[k].M / 2 : models[k].M;
		c.layer[l].M_gamma = hidden ? models[k].M_gamma / 2 : models[k].M_gamma;
		c.layer[l].kernel = patch ? plain : "rbf";
		c.layer[l].mean_function =
				hidden ? ODVGP_MEAN_FUNCTION_PROJECTION : ODVGP_MEAN_FUNCTION_ZERO;
		if (!patch) break;
		c.layer[l].patches.image_height = c.layer[l].patches.image_width = side;
		c.layer[l].patches.channels = channels;
		c.layer[l].patches.height = c.layer[l].patches.width = patch;
		c.layer[l].patches.stride = shapes[l].stride;
		c.layer[l].patches.image_output = hidden;
		c.layer[l].patches.locations = models[k].tick && !hidden;
		side = (side - patch) / shapes[l].stride + 1;
		if (hidden || !models[k].tick) continue;
		snprintf(located, sizeof located,
				"rbf(%s%sdims=0:%td) * matern32(%d, dims=%td:%td, variance=1)", scales,
				*scales ? ", " : "", pixels, s->set->location_scale, pixels, pixels + 2);
		c.layer[l].kernel = located;
	}
	c.deep.predict_samples = 5;
	c.lik.kind = ODVGP_LIKELIHOOD_ROBUSTMAX;
	c.optim.batch = s->set->batch;
	/* Adam moves q, as in SOLVE-GP's appendix G.2; natural steps need small sizes with such batches
	   (bench/images.md). */
	c.optim.natgrad = 0;
	c.optim.lr = odvgp_constant((odvgp_real)s->rate);
	c.threads = *threads;
	return c;
}

/*  Which test images model k gets right, in OUT/NAME.LIMIT.right. */
static FILE *open_right(const setting *s, int k, const char *mode)
{
	char path[1200];
	snprintf(path, sizeof path, "%s/%s.%s.right", s->out, models[k].name, s->limit);
	FILE *file = fopen(path, mode);
	if (!file) fail(path, "cannot be opened");
	return file;
}
static void write_right(const setting *s, int k, const char *right)
{
	FILE *file = open_right(s, k, "w");
	fwrite(right, 1, (size_t)s->set->tests, file);
	if (fclose(file)) fail(models[k].name, "cannot be written");
}

/*  For the difference b - c of two counts of images that only one model gets right, sqrt(b + c) is
    a standard error if both are equally good. */
static void print_pair(const setting *s, int k, int l)
{
	FILE *first = open_right(s, k, "r"), *second = open_right(s, l, "r");
	int count[2] = {0, 0};
	for (int i = 0; i < s->set->tests; i++) {
		int a = fgetc(first), b = fgetc(second);
		if (a != b) count[b == '1']++;
	}
	fclose(first);
	fclose(second);
	printf("only %s is right: %d images; only %s: %d; difference %d +- %.0f\n", models[k].name,
			count[0], models[l].name, count[1], count[1] - count[0],
			sqrt((double)(count[0] + count[1])));
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
	size_t bytes = odvgp_model_size(&c, NULL);
	check(odvgp_model_create(&m, &c, X, Y, NULL, &info), models[k].name, &info);
	static char right[MOST_TESTS];
	for (int look = 1; look <= LOOKS; look++) {
		while (s->steps ? steps < s->steps * look / LOOKS
						: spent + now() - begin < s->seconds * look / LOOKS) {
			check(odvgp_step(m, X, Y, &r, &info), models[k].name, &info);
			elbo = steps++ ? 0.98 * elbo + 0.02 * (double)r.elbo : (double)r.elbo;
		}
		spent += now() - begin;
		ptrdiff_t n = look == LOOKS || s->set->tests < FEW ? s->set->tests : FEW;
		score e = score_of(s, m, X_test, Y_test, n, right);
		if (look == LOOKS) write_right(s, k, right);
		FILE *file = fopen(rows, "a");
		if (!file) fail(rows, "cannot be written");
		fprintf(file, "%s,%d,%d,%d,%d,%s,%.1f,%td,%.2f,%.4f,%.4f,%.4f,%.4f,%.1f\n", models[k].name,
				models[k].M, models[k].M_gamma, s->threads, look, s->limit, spent, steps,
				1e3 * spent / (double)steps, elbo / (double)s->images, e.error,
				sqrt(e.error * (1 - e.error) / (double)n), e.loglik, (double)bytes / 1e6);
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
	snprintf(begin, sizeof begin, "%s,%d,%d,%d,%d,%s,", models[k].name, models[k].M,
			models[k].M_gamma, s->threads, look, s->limit);
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

/*  Reads options. Returns the place of the first model's name. */
static int read_options(setting *s, int argc, char **argv)
{
	int i = 1;
	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		const char *name = argv[i], *value = argv[i + 1];
		if (!strcmp(name, "--data")) s->data = value;
		else if (!strcmp(name, "--out")) s->out = value;
		else if (!strcmp(name, "--seconds")) s->seconds = atof(value);
		else if (!strcmp(name, "--steps")) s->steps = atol(value);
		else if (!strcmp(name, "--threads")) s->threads = atoi(value);
		else if (!strcmp(name, "--images")) s->images = atol(value);
		else if (!strcmp(name, "--patch-kernel")) s->patch_kernel = value;
		else if (!strcmp(name, "--rate")) s->rate = atof(value);
		else if (strcmp(name, "--set")) fail(name, "is not an option");
		else if (!strcmp(value, sets[CIFAR10].name)) s->set = &sets[CIFAR10];
		else if (strcmp(value, sets[MNIST].name)) fail(value, "is neither mnist nor cifar10");
	}
	if (!s->data || !*s->data || !s->out) fail("--data and --out", "are needed");
	if (!s->images) s->images = s->set->images;
	if (s->images < 1 || s->images > s->set->images || !(s->seconds > 0) || s->steps < 0 ||
			!(s->rate > 0))
		fail("settings", "out of range");
	snprintf(s->limit, sizeof s->limit, "%td-images-%g-%s-rate-%g", s->images,
			s->steps ? (double)s->steps : s->seconds, s->steps ? "steps" : "seconds", s->rate);
	if (s->patch_kernel) snprintf(s->limit + strlen(s->limit), 20, "-other-kernel");
	return i;
}

int main(int argc, char **argv)
{
	setting s = {NULL, NULL, &sets[MNIST], 60, 0, 2, 0, NULL, 0.03, ""};
	char rows[1000], row[400];
	int from = read_options(&s, argc, argv), done[MODELS], count = 0;
	const ptrdiff_t pixels = pixels_of(s.set), tests = s.set->tests;
	snprintf(rows, sizeof rows, "%s/images.csv", s.out);
	odvgp_real *X = reserve_reals(s.images * pixels), *Y = reserve_reals(s.images),
			   *X_test = reserve_reals(tests * pixels), *Y_test = reserve_reals(tests);
	read_images(&s, s.set->train, s.images, X, Y);
	read_images(&s, s.set->test, tests, X_test, Y_test);
	scale_images(&s, X, X_test);
	size_t bytes = odvgp_pool_size(s.threads, NULL);
	odvgp_pool *pool;
	odvgp_threads threads;
	check(odvgp_pool_start(&pool, s.threads, &threads, reserve(bytes), bytes, NULL), "threads",
			NULL);
	printf("%-19s %4s %5s %7s %7s %8s %8s %14s %8s %6s\n", "model", "beta", "gamma", "seconds",
			"steps", "ms/step", "elbo/n", "test error, %", "loglik", "MB");
	for (int k = 0; k < MODELS; k++) {
		double spent, ms, elbo, e, sd, loglik, size;
		long steps;
		if (&sets[models[k].set] != s.set || !asked_for(argc, argv, from, models[k].name)) continue;
		find_row(&s, rows, k, LOOKS, row, sizeof row);
		if (!*row) run(&s, k, &threads, X, Y, X_test, Y_test, rows);
		find_row(&s, rows, k, LOOKS, row, sizeof row);
		if (sscanf(row, "%lf,%ld,%lf,%lf,%lf,%lf,%lf,%lf", &spent, &steps, &ms, &elbo, &e, &sd,
					&loglik, &size) != 8)
			fail(rows, "has no such row");
		printf("%-19s %4d %5d %7.1f %7ld %8.2f %8.4f %6.2f +- %4.2f %8.4f %6.1f\n", models[k].name,
				models[k].M, models[k].M_gamma, spent, steps, ms, elbo, 100 * e, 100 * sd, loglik,
				size);
		fflush(stdout);
		done[count++] = k;
	}
	for (int a = 0; a < count; a++)
		for (int b = 0; b < a; b++) print_pair(&s, done[b], done[a]);
	odvgp_pool_stop(pool);
	return 0;
}

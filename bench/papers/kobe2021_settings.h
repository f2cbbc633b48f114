/*  kobe2021_settings.h - what kobe2021_figs.c runs: methods, settings and their data, and what it
    keeps of a run. Included after figure_data.h. */

static struct {
	const char *out, *data;
} option = {"build/kobe2021-figs", NULL};

/* ---- methods and settings ---- */

typedef enum method_id {
	NATURAL,
	NATURAL_1,
	ADAM,
	ADAM_U,
	OM_AFFINE,
	OM_EXACT,
	OM_PROJECTED,
	OM_PROJECTED_LAMBDA,
	OM_AFFINE_LARGER,
	OM_EXACT_LARGER,
	BEST,
	BEST_OM,
	BEST_OM_2,
	METHODS
} method_id;

/*  BEST is the highest bound that can be reached: the bound with the best q is maximised over the
    hyperparameters, from the true ones; only over q where hyperparameters are fixed. BEST_OM is the
    same for O(M), BEST_OM_2 from another start: the short lengthscale and the small variance that
    training passes. */
typedef struct method {
	const char *id, *title;
	odvgp_cov_part cov;
	odvgp_diag_step diag;
	odvgp_parametrisation param;
	/* Of natural gradients; 0: only Adam. */
	double step;
} method;

static const method methods[METHODS] = {
		{"natural", "natural", ODVGP_COV_PART_DENSE, ODVGP_DIAG_STEP_AFFINE,
				ODVGP_PARAMETRISATION_WHITENED, 0.1},
		{"natural-1", "natural, 1", ODVGP_COV_PART_DENSE, ODVGP_DIAG_STEP_AFFINE,
				ODVGP_PARAMETRISATION_WHITENED, 1},
		{"adam", "Adam", ODVGP_COV_PART_DENSE, ODVGP_DIAG_STEP_AFFINE,
				ODVGP_PARAMETRISATION_WHITENED, 0},
		{"adam-u", "Adam, u", ODVGP_COV_PART_DENSE, ODVGP_DIAG_STEP_AFFINE,
				ODVGP_PARAMETRISATION_PRIMAL, 0},
		{"om-affine", "O(M) affine", ODVGP_COV_PART_DIAGONAL, ODVGP_DIAG_STEP_AFFINE,
				ODVGP_PARAMETRISATION_WHITENED, 0.1},
		{"om-exact", "O(M) exact", ODVGP_COV_PART_DIAGONAL, ODVGP_DIAG_STEP_EXACT,
				ODVGP_PARAMETRISATION_WHITENED, 0.1},
		{"om-projected", "O(M) projected", ODVGP_COV_PART_DIAGONAL, ODVGP_DIAG_STEP_PROJECTED_MU,
				ODVGP_PARAMETRISATION_WHITENED, 0.1},
		{"om-lambda", "the same of S^-1 m", ODVGP_COV_PART_DIAGONAL, ODVGP_DIAG_STEP_PROJECTED,
				ODVGP_PARAMETRISATION_WHITENED, 0.1},
		{"om-affine-0.3", "O(M) affine, 0.3", ODVGP_COV_PART_DIAGONAL, ODVGP_DIAG_STEP_AFFINE,
				ODVGP_PARAMETRISATION_WHITENED, 0.3},
		{"om-exact-0.3", "O(M) exact, 0.3", ODVGP_COV_PART_DIAGONAL, ODVGP_DIAG_STEP_EXACT,
				ODVGP_PARAMETRISATION_WHITENED, 0.3},
		{"best", "best, dense", ODVGP_COV_PART_DENSE, ODVGP_DIAG_STEP_AFFINE,
				ODVGP_PARAMETRISATION_WHITENED, 0},
		{"best-om", "best, O(M)", ODVGP_COV_PART_DIAGONAL, ODVGP_DIAG_STEP_AFFINE,
				ODVGP_PARAMETRISATION_WHITENED, 0.1},
		{"best-om-2", "the same, 2nd start", ODVGP_COV_PART_DIAGONAL, ODVGP_DIAG_STEP_AFFINE,
				ODVGP_PARAMETRISATION_WHITENED, 0.1},
};

typedef enum source { SINUSOID, GP_DRAW, NAVAL } source;

enum {
	PAIR = 1 << NATURAL | 1 << ADAM,
	THREE = PAIR | 1 << ADAM_U,
	FAMILY = PAIR | 1 << OM_AFFINE | 1 << OM_EXACT | 1 << OM_PROJECTED | 1 << OM_PROJECTED_LAMBDA,
	LARGER = 1 << NATURAL_1 | 1 << OM_AFFINE_LARGER | 1 << OM_EXACT_LARGER,
	OPTIMA = 1 << BEST | 1 << BEST_OM | 1 << BEST_OM_2
};

typedef struct setting {
	const char *figure;
	source data;
	int N, M, batch;
	/* The noise variance of the data. */
	double noise;
	int seed, steps;
	unsigned methods;
} setting;

/*  Figures 4.3 to 4.5 are a grid over N, M, batch and noise; this has every corner and the middle.
    With M = 1000 a step takes up to a second, so that these runs are shorter than they should be,
    as is one with M = 100. Figure 4.6 is the dense part of 4.9. Figure 4.8 shows the predictions of
    4.7; 4.7's further seeds answer the question about the kernel's variance. */
/* clang-format off */
static const setting settings[] = {
    {"4.1", SINUSOID, 300, 10, 300, 0.01, 1, 10000, THREE | 1 << NATURAL_1 | 1 << BEST},
    {"4.2", SINUSOID, 100, 10, 100, 0.01, 1, 10000, THREE | 1 << NATURAL_1},
    {"4.3", SINUSOID, 100, 10, 10, 0.1, 1, 5000, PAIR},
    {"4.3", SINUSOID, 100, 10, 10, 0.01, 1, 5000, PAIR},
    {"4.3", SINUSOID, 100, 10, 10, 0.001, 1, 5000, PAIR},
    {"4.3", SINUSOID, 100, 10, 100, 0.1, 1, 5000, PAIR | 1 << NATURAL_1},
    {"4.3", SINUSOID, 100, 10, 100, 0.01, 1, 5000, PAIR | 1 << NATURAL_1},
    {"4.3", SINUSOID, 100, 10, 100, 0.001, 1, 5000, PAIR | 1 << NATURAL_1},
    {"4.3", SINUSOID, 1000, 10, 100, 0.01, 1, 5000, PAIR},
    {"4.3", SINUSOID, 1000, 10, 1000, 0.01, 1, 5000, PAIR | 1 << NATURAL_1},
    {"4.3", SINUSOID, 10000, 10, 10, 0.1, 1, 5000, PAIR},
    {"4.3", SINUSOID, 10000, 10, 10, 0.001, 1, 5000, PAIR},
    {"4.3", SINUSOID, 10000, 10, 10000, 0.1, 1, 3000, PAIR | 1 << NATURAL_1},
    {"4.3", SINUSOID, 10000, 10, 10000, 0.001, 1, 3000, PAIR | 1 << NATURAL_1},
    {"4.4", SINUSOID, 1000, 100, 1000, 0.1, 1, 3000, PAIR | 1 << NATURAL_1},
    {"4.4", SINUSOID, 1000, 100, 1000, 0.01, 1, 3000, PAIR | 1 << NATURAL_1},
    {"4.4", SINUSOID, 1000, 100, 1000, 0.001, 1, 3000, PAIR | 1 << NATURAL_1},
    {"4.4", SINUSOID, 10000, 100, 10000, 0.01, 1, 1000, PAIR | 1 << NATURAL_1},
    {"4.4", SINUSOID, 10000, 1000, 10000, 0.1, 1, 60, PAIR},
    {"4.4", SINUSOID, 10000, 1000, 10000, 0.001, 1, 60, PAIR},
    {"4.5", SINUSOID, 1000, 100, 10, 0.1, 1, 5000, PAIR},
    {"4.5", SINUSOID, 1000, 100, 10, 0.001, 1, 5000, PAIR},
    {"4.5", SINUSOID, 1000, 100, 100, 0.01, 1, 5000, PAIR},
    {"4.5", SINUSOID, 10000, 100, 100, 0.01, 1, 5000, PAIR},
    {"4.5", SINUSOID, 10000, 1000, 10, 0.1, 1, 500, PAIR},
    {"4.5", SINUSOID, 10000, 1000, 10, 0.001, 1, 500, PAIR},
    {"4.7", GP_DRAW, 1000, 50, 1000, 0.01, 1, 10000, FAMILY | 1 << ADAM_U | LARGER | OPTIMA},
    {"4.7", GP_DRAW, 1000, 50, 1000, 0.01, 2, 10000, FAMILY | LARGER | OPTIMA},
    {"4.7", GP_DRAW, 1000, 50, 1000, 0.01, 3, 10000, FAMILY | LARGER | OPTIMA},
    {"4.7", GP_DRAW, 1000, 50, 1000, 0.01, 4, 10000, FAMILY | LARGER | OPTIMA},
    {"4.7", GP_DRAW, 1000, 50, 1000, 0.01, 5, 10000, FAMILY | LARGER | OPTIMA},
    {"4.7Z", GP_DRAW, 1000, 50, 1000, 0.01, 1, 5000, FAMILY},
    {"4.9", NAVAL, 11000, 100, 256, 0, 1, 20000, FAMILY | 1 << ADAM_U | 1 << BEST | 1 << BEST_OM},
};
/* clang-format on */
enum { SETTINGS = sizeof settings / sizeof *settings, GRID = 401 };

static const double true_lengthscale = 0.1, true_variance = 0.5, least_g = 1e-10;

static void name_of(char *name, size_t size, const setting *s, int m)
{
	snprintf(name, size, "%s-N%d-M%d-b%d-n%g-s%d-%s", s->figure, s->N, s->M, s->batch, s->noise,
			s->seed, methods[m].id);
}

static FILE *file_open(const char *name, const char *end, const char *mode)
{
	char *path = path_in(option.out, name, end);
	FILE *f = fopen(path, mode);
	if (!f && *mode != 'r') fail(path, "cannot be written");
	free(path);
	return f;
}

static int is_best(int m) { return m == BEST || m == BEST_OM || m == BEST_OM_2; }

static int hyper_fixed(const setting *s) { return !strcmp(s->figure, "4.1"); }
static int inputs_move(const setting *s) { return !strcmp(s->figure, "4.7Z"); }

/* ---- data ---- */

static double uniform(int seed, ptrdiff_t i)
{
	const uint64_t many = UINT64_C(1) << 53;
	return ((double)random_below((uint64_t)seed, (uint64_t)i, many) + 0.5) / (double)many;
}

/*  A normal number from two uniform ones, by Box and Muller. */
static double normal(int seed, ptrdiff_t i)
{
	const double two_pi = 6.283185307179586;
	return sqrt(-2 * log(uniform(seed, 2 * i))) * cos(two_pi * uniform(seed, 2 * i + 1));
}

static double rbf(double x, double z, double lengthscale, double variance)
{
	double r = (x - z) / lengthscale;
	return variance * exp(-0.5 * r * r);
}

/*  y = L e with L L^T = K + noise I: exact, and positive definite without jitter. */
static void draw_gp(const dataset *d, double noise, int seed)
{
	odvgp_blas blas;
	odvgp_info info;
	size_t bytes = odvgp_blas_size(NULL, NULL);
	void *block = reserve(bytes);
	double *K = reserve_reals(d->N * d->N);
	for (ptrdiff_t i = 0; i < d->N; i++) {
		for (ptrdiff_t j = 0; j <= i; j++)
			K[i * d->N + j] = rbf(d->X[i], d->X[j], true_lengthscale, true_variance);
		K[i * d->N + i] += noise;
	}
	check(odvgp_blas_init(&blas, NULL, ODVGP_ISA_AUTO, block, bytes, NULL), "blas", NULL);
	check(odvgp_potrf(&blas, d->N, K, d->N, &info), "covariance of the data", &info);
	for (ptrdiff_t i = 0; i < d->N; i++)
		for (ptrdiff_t j = 0; j <= i; j++) d->y[i] += K[i * d->N + j] * normal(seed + 200, j);
	free(K);
	free(block);
}

static dataset data_of(const setting *s)
{
	const double pi = 3.141592653589793;
	if (s->data == NAVAL) {
		dataset naval = dataset_read(option.data, s->N, 1, (uint64_t)s->seed);
		if (naval.N != s->N) fail(option.data, "has fewer rows than the thesis trains on");
		return naval;
	}
	dataset d = {s->N, 1, reserve_reals(s->N), reserve_reals(s->N)};
	for (ptrdiff_t i = 0; i < d.N; i++) d.X[i] = 2 * uniform(s->seed, i) - 1;
	if (s->data == GP_DRAW) {
		draw_gp(&d, s->noise, s->seed);
		return d;
	}
	for (ptrdiff_t i = 0; i < d.N; i++) {
		double x = pi * d.X[i];
		d.y[i] = sin(3 * x) + 0.3 * cos(9 * x) + 0.5 * sin(7 * x) +
				 sqrt(s->noise) * normal(s->seed + 100, i);
	}
	return d;
}

static void data_free(dataset *d)
{
	free(d->X);
	free(d->y);
	d->X = d->y = NULL;
}

/* ---- what is kept of a run ---- */

/*  One row of a curve. */
typedef struct point {
	/* The bound is in nats per row. */
	double step, seconds, bound, lengthscale, variance, noise;
} point;

/*  A line of rows.csv: what a curve does not hold. */
typedef struct ending {
	/* Steps asked for and done; the numbers that q consists of. */
	int asked, done, numbers;
	double seconds, jitter_raised, shortened, undone, slope;
} ending;

static int ending_read(const char *name, ending *e)
{
	char line[400], path_name[200];
	FILE *f = file_open("rows", ".csv", "r");
	int found = 0;
	while (f && fgets(line, sizeof line, f)) {
		ending r;
		if (sscanf(line, "%199[^,],%d,%d,%d,%lf,%lf,%lf,%lf,%lf", path_name, &r.asked, &r.done,
					&r.numbers, &r.seconds, &r.jitter_raised, &r.shortened, &r.undone,
					&r.slope) == 9 &&
				!strcmp(path_name, name))
			/* The last one counts. */
			*e = r, found = 1;
	}
	if (f) fclose(f);
	return found;
}

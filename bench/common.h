/*  common.h - what all parts of the benchmark, and the cost curves, share: clock, memory, random
    numbers, threads, options, the machine, models to step. Part of bench.c and cost.c. */

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*  What one call of now() adds to a time. Where single short calls are timed, it is subtracted. */
static inline double clock_cost(void)
{
	double least = 1;
	for (int i = 0; i < 2000; i++) {
		double from = now(), cost = now() - from;
		if (cost < least) least = cost;
	}
	return least;
}

static inline void pause_ms(long ms)
{
	struct timespec t = {0, ms * 1000000};
	nanosleep(&t, NULL);
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "bench: %s: %s\n", what, why);
	exit(2);
}

/*  The block is zeroed, and aligned to a cache line for all contenders alike. */
static void *reserve(size_t bytes)
{
	void *p = NULL;
	if (posix_memalign(&p, 64, bytes ? bytes : 1)) fail("memory", "there is not enough");
	memset(p, 0, bytes);
	return p;
}

static odvgp_real *reserve_reals(ptrdiff_t n)
{
	return (odvgp_real *)reserve((size_t)n * sizeof(odvgp_real));
}

static void check(odvgp_status status, const char *what, const odvgp_info *info)
{
	if (status) fail(what, info ? info->text : odvgp_status_text(status));
}

static double uniform(void)
{
	static uint64_t state = 1;
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(state >> 11) / 9007199254740992.0;
}

static inline int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/*  Threads, 1 or more; {0} for one. */
typedef struct crew {
	odvgp_pool *pool;
	void *block;
	odvgp_threads hook;
} crew;

static crew crew_start(int count)
{
	crew c;
	memset(&c, 0, sizeof c);
	if (count < 2) return c;
	size_t bytes = odvgp_pool_size(count, NULL);
	c.block = reserve(bytes);
	check(odvgp_pool_start(&c.pool, count, &c.hook, c.block, bytes, NULL), "threads", NULL);
	return c;
}

static void crew_stop(crew *c)
{
	if (c->pool) odvgp_pool_stop(c->pool);
	free(c->block);
}

enum { MOST_REPEATS = 99, MOST_SIZES = 16 };

/*  What the command line says. */
static struct {
	/* The instruction set asked for, and the one that the library then used. */
	odvgp_isa isa, isa_used;
	int repeats, large, by_operation;
	int first_threads, last_threads;
	/* NULL: all. */
	const char *routine;
	ptrdiff_t size[MOST_SIZES];
	int sizes;
} option = {ODVGP_ISA_AUTO, ODVGP_ISA_AUTO, 7, 1, 0, 1, 2, NULL,
		{32, 64, 128, 300, 512, 1024, 1500, 2000}, 8};

/*  The machine and the build, without the end of the line. */
static void print_machine(FILE *to)
{
	char line[300], model[300] = "unknown processor";
	FILE *f = fopen("/proc/cpuinfo", "r");
	while (f && fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) || !colon) continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(model, sizeof model, "%s", colon + 2);
		break;
	}
	if (f) fclose(f);
	odvgp_blas blas;
	odvgp_threads serial = {NULL, NULL, 0};
	size_t bytes = odvgp_blas_size(&serial, NULL);
	void *block = reserve(bytes);
	check(odvgp_blas_init(&blas, &serial, option.isa, block, bytes, NULL), "instruction set", NULL);
#if defined(__clang__)
	const char *compiler = "clang " __clang_version__;
#elif defined(__VERSION__)
	const char *compiler = "gcc " __VERSION__;
#else
	const char *compiler = "unknown compiler";
#endif
#ifdef __OPTIMIZE__
	const char *optimised = "optimised";
#else
	const char *optimised = "NOT OPTIMISED";
#endif
	fprintf(to, "odvgp.h %d.%d.%d, %s; %s, %s\n%s, %ld cores online; instruction set %s",
			ODVGP_VERSION / 10000, ODVGP_VERSION / 100 % 100, ODVGP_VERSION % 100,
			sizeof(odvgp_real) == 4 ? "float" : "double", compiler, optimised, model,
			sysconf(_SC_NPROCESSORS_ONLN), odvgp_blas_isa(&blas));
	option.isa_used = blas.isa->id;
	free(block);
}

/* ---- models to step ---- */

typedef struct member {
	const char *name;
	/* orth: it has gamma points; solve: these form a second block, as in SOLVE-GP. */
	int orth, natgrad, solve;
} member;

static const member members[] = {
		{"COUPLED", 0, 0, 0},
		{"COUPLEDNAT", 0, 1, 0},
		{"ORTH", 1, 0, 0},
		{"ORTHNAT", 1, 1, 0},
};
enum { MEMBERS = 4, GAMMA_BATCH = 64 };
static const member solve_gp = {"SOLVE-GP", 1, 1, 1};

/*  All parts measure these two sizes. */
typedef struct setting {
	ptrdiff_t M, Mg, B, D;
} setting;

static const setting settings[] = {{300, 700, 1024, 8}, {1500, 3500, 1024, 3}};
enum { SETTINGS = 2 };

/*  Standardised rows of a smooth function. */
typedef struct dataset {
	ptrdiff_t N;
	odvgp_real *X, *y;
} dataset;

static dataset dataset_make(ptrdiff_t N, ptrdiff_t D)
{
	dataset r;
	r.N = N;
	r.X = reserve_reals(N * D);
	r.y = reserve_reals(N);
	for (ptrdiff_t i = 0; i < N; i++) {
		for (ptrdiff_t d = 0; d < D; d++) r.X[i * D + d] = (odvgp_real)(3.4 * uniform() - 1.7);
		double first = (double)r.X[i * D], last = (double)r.X[i * D + D - 1];
		r.y[i] = (odvgp_real)(sin(2 * first) + 0.5 * cos(3 * last) + 0.4 * (uniform() - 0.5));
	}
	return r;
}

/*  An epoch has 20 steps. */
static inline dataset dataset_for(const setting *s) { return dataset_make(20 * s->B, s->D); }

static inline void dataset_free(dataset *r)
{
	free(r->X);
	free(r->y);
}

/*  A model with the paper's settings, Matern 5/2 plus RBF and 64 gamma columns. It has made one
    step: the first one touches its memory and does the work that comes once in a hundred steps. */
static inline odvgp_model *model_make(
		const member *who, const setting *s, const dataset *r, const odvgp_threads *threads)
{
	char kernel[100];
	odvgp_model *model;
	odvgp_info info;
	odvgp_config cfg = odvgp_config_defaults(r->N, s->D, 1, s->M, who->orth ? s->Mg : 0);
	double width = sqrt((double)s->D);
	snprintf(kernel, sizeof kernel, "matern52(%.17g, variance=1) + rbf(%.17g, variance=1)",
			0.1 * width, width);
	cfg.layer[0].kernel = kernel;
	cfg.lik.noise_variance = (odvgp_real)0.1;
	cfg.optim.batch = s->B;
	cfg.optim.gamma_batch = GAMMA_BATCH;
	cfg.optim.natgrad = who->natgrad;
	if (who->solve) {
		cfg.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS;
		cfg.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
	}
	cfg.threads = *threads;
	cfg.isa = option.isa;
	check(odvgp_model_create(&model, &cfg, r->X, r->y, NULL, &info), who->name, &info);
	check(odvgp_step(model, r->X, r->y, NULL, &info), who->name, &info);
	return model;
}

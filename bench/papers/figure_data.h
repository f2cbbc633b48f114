/*  figure_data.h - what the programs that repeat figures of papers share: errors, memory, clocks,
    random numbers, data sets from CSV files, models without data, their best q, paths. Included
    after odvgp.h, table.h and time.h. */

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
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

static double *reserve_reals(ptrdiff_t n) { return (double *)reserve((size_t)n * sizeof(double)); }

/*  Seconds that this process has computed. With one thread, that is the time on an idle machine. */
static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*  A random number below n that depends only on i and the seed (the mixer of SplitMix64). */
static uint64_t random_below(uint64_t seed, uint64_t i, uint64_t n)
{
	uint64_t z = (i + 1 + (seed << 32)) * UINT64_C(0x9E3779B97F4A7C15);
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (z ^ (z >> 31)) % n;
}

/*  0 to n - 1 in random order; the caller frees it. */
static ptrdiff_t *random_order(ptrdiff_t n, uint64_t seed)
{
	ptrdiff_t *order = (ptrdiff_t *)reserve((size_t)n * sizeof *order);
	for (ptrdiff_t i = 0; i < n; i++) order[i] = i;
	for (ptrdiff_t i = n - 1; i > 0; i--) {
		ptrdiff_t k = (ptrdiff_t)random_below(seed, (uint64_t)i, (uint64_t)i + 1), keep = order[i];
		order[i] = order[k], order[k] = keep;
	}
	return order;
}

/*  Rows of numbers, the target last. */
typedef struct dataset {
	ptrdiff_t N;
	int D;
	/* [N,D] [N] */
	double *X, *y;
} dataset;

/*  What is standardised. */
enum { NOTHING, INPUTS, ALL_COLUMNS };

/*  Reads `most` rows of the file, chosen at random (0: all). */
static dataset dataset_read(const char *path, ptrdiff_t most, int standardise, uint64_t seed)
{
	table t;
	char error[400];
	if (table_read(&t, path, NULL, error, sizeof error)) fail("data", error);
	if (t.columns < 2 || t.rows < 2) fail(path, "at least two columns and two rows are needed");
	dataset d = {most > 0 && most < t.rows ? most : t.rows, t.columns - 1, NULL, NULL};
	for (int j = 0; j < t.columns; j++) {
		if (table_check(&t, j, path, error, sizeof error)) fail("data", error);
		if (t.column[j].missing || t.column[j].text)
			fail(path, "numbers only are read, and no cell may be empty");
	}
	ptrdiff_t *order = random_order(t.rows, seed);
	d.X = reserve_reals(d.N * d.D), d.y = reserve_reals(d.N);
	for (int j = 0; j < t.columns; j++) {
		double mean = 0, square = 0;
		for (ptrdiff_t i = 0; i < d.N; i++)
			mean += t.values[order[i] * t.columns + j] / (double)d.N;
		for (ptrdiff_t i = 0; i < d.N; i++)
			square += pow(t.values[order[i] * t.columns + j] - mean, 2) / (double)d.N;
		for (ptrdiff_t i = 0; i < d.N; i++) {
			double v = t.values[order[i] * t.columns + j];
			if (standardise > (j == d.D)) v = (v - mean) / (square > 0 ? sqrt(square) : 1);
			if (j < d.D) d.X[i * d.D + j] = v;
			else d.y[i] = v;
		}
	}
	free(order);
	table_free(&t);
	return d;
}

/*  A model of this config in its own memory, not initialised from data. */
static inline odvgp_model *model_empty(const odvgp_config *cfg, void **block)
{
	odvgp_model *model;
	odvgp_info info;
	size_t bytes = odvgp_model_size(cfg, &info);
	if (!bytes) check(info.status, "model", &info);
	*block = reserve(bytes);
	check(odvgp_model_init(&model, cfg, *block, bytes, &info), "model", &info);
	return model;
}

/*  Copies the slots whose names begin with `prefix` from one model to another. */
static inline void copy_slots(odvgp_model *to, const odvgp_model *from, const char *prefix)
{
	odvgp_info info;
	for (int i = 0; i < odvgp_slot_count(from); i++) {
		const odvgp_slot *slot = odvgp_slot_at(from, i);
		if (strncmp(slot->name, prefix, strlen(prefix))) continue;
		double *v = reserve_reals(slot->count);
		check(odvgp_get(from, slot->name, v, slot->count, NULL), slot->name, NULL);
		check(odvgp_set(to, slot->name, v, slot->count, &info), slot->name, &info);
		free(v);
	}
}

/*  Sets q to its optimum for the current parameters. */
static inline void fit_q(odvgp_model *model, const dataset *d)
{
	odvgp_info info;
	size_t bytes = odvgp_fit_q_scratch(model, NULL);
	void *work = reserve(bytes);
	check(odvgp_fit_q(model, d->X, d->y, NULL, work, bytes, &info), "optimum of q", &info);
	free(work);
}

/*  folder/name followed by `end`; the caller frees it. */
static inline char *path_in(const char *folder, const char *name, const char *end)
{
	size_t size = strlen(folder) + strlen(name) + strlen(end) + 2;
	char *p = (char *)reserve(size);
	snprintf(p, size, "%s/%s%s", folder, name, end);
	return p;
}

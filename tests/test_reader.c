/*  Rows that a callback delivers: training has the bits of the same rows in memory, and a read that
    fails is an error with its row that leaves the model as it was. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "hooks.h"
#include "test.h"
#include "models.h"
#include "setups.h"

enum { ROWS = 330, INPUTS = 4, MOST_COLUMNS = 4, STEPS = 4 };

/*  A table, and what is asked of it. */
typedef struct table {
	odvgp_real X[ROWS * INPUTS], Y[ROWS * MOST_COLUMNS];
	ptrdiff_t columns;
	/* Calls so far; most rows of a call; the call that fails, counted from 1 (0: none); rows that are
	   not there. */
	ptrdiff_t calls, most, failing, strange;
} table;

static ptrdiff_t read_table(
		void *user, const ptrdiff_t *rows, ptrdiff_t n, odvgp_real *X, odvgp_real *Y)
{
	table *t = (table *)user;
	ptrdiff_t i, d, done = n;
	if (++t->calls == t->failing) done = n / 2;
	if (n > t->most) t->most = n;
	for (i = 0; i < done; i++) {
		if (rows[i] < 0 || rows[i] >= ROWS) t->strange++;
		for (d = 0; X && d < INPUTS; d++) X[i * INPUTS + d] = t->X[rows[i] * INPUTS + d];
		for (d = 0; Y && d < t->columns; d++)
			Y[i * t->columns + d] = t->Y[rows[i] * t->columns + d];
	}
	return done;
}

static const setup setups[] = {{"mean_part=orth optim.batch=70 tile=50", 1, 1, 0},
		{"mean_part=orth optim.batch=300 optim.gamma_step=exact reproduce.update=natgrad_first", 2,
				2, 0},
		{"mean_part=blocks cov_part=blocks optim.batch=330 tile=270 shards=2 "
		 "reproduce.update=adam_first init.beta=greedy init.gamma=residual",
				1, 1, 0},
		{"mean_part=blocks cov_part=blocks optim.batch=330 reproduce.update=natgrad_first "
		 "init.beta=farthest",
				1, 1, 0},
		{"mean_part=orth optim.batch=330 optim.gamma_step=diagonal init.beta=random", 1, 1, 0},
		{"mean_part=free cov_part=diagonal M_gamma=0 optim.batch=330", 1, 1, 0},
		{"mean_part=beta M_gamma=0 objective=collapsed optim.kind=lbfgs optim.natgrad=off "
		 "optim.batch=330",
				1, 1, 0},
		{"M_gamma=0 optim.batch=70 lik.weights=on lik.known_noise=on", 1, 3, 0},
		{"mean_part=orth optim.batch=70 lik.kind=bernoulli lik.missing=on", 1, 1, 2},
		{"optim.batch=330 lik.kind=studentt", 1, 1, 0},
		{"mean_part=orth optim.batch=70 lik.kind=ordinal lik.classes=4", 1, 1, 4},
		{"mean_part=orth optim.batch=70 lik.kind=softmax", 3, 1, 3},
		{"mean_part=orth optim.batch=70 functions=2", 1, 2, 0},
		{"layers=2 layer0.P=2 layer0.mean_function=projection layer1.M=6 optim.batch=70", 1, 1, 0},
		{"patches.image_height=2 patches.image_width=2 patches.channels=1 patches.height=1 "
		 "patches.width=2 optim.batch=70",
				1, 1, 0}};
enum { SETUPS = sizeof setups / sizeof *setups };

static void fill_table(table *t, const setup *s)
{
	memset(t, 0, sizeof *t);
	test_seed = 91;
	t->columns = s->columns;
	setup_rows(s, t->X, t->Y, ROWS, INPUTS);
}

static odvgp_config config_of(const setup *s)
{
	odvgp_config c = odvgp_config_defaults(ROWS, INPUTS, s->outputs, 7, 11);
	odvgp_info info = no_info();
	c.isa = test_isa();
	CHECK_SAY(setup_words(s, &c, &info) == ODVGP_OK, "%s: %s", s->settings, info.text);
	return c;
}

static int same(const bytes *a, const bytes *b)
{
	return a->count == b->count && !memcmp(a->at, b->at, a->count);
}

/*  A model without data, and with a reader if t is not NULL; its block of memory, which the caller
    frees with the model. */
static odvgp_model *create(const setup *s, table *t, void **block)
{
	odvgp_config c = config_of(s);
	odvgp_model *m = NULL;
	odvgp_info info = no_info();
	*block = NULL;
	if (!CHECK_SAY(odvgp_model_create(&m, &c, NULL, NULL, NULL, &info) == ODVGP_OK, "%s: %s",
				s->settings, info.text))
		return NULL;
	if (t) {
		const odvgp_reader reader = {read_table, t};
		size_t n = odvgp_reader_size(m, &info);
		CHECK_SAY(n > 0, "%s: %s", s->settings, info.text);
		*block = test_alloc(n);
		CHECK_STATUS(odvgp_set_reader(m, &reader, *block, n - 1, NULL), ODVGP_E_MEMORY);
		CHECK_STATUS(odvgp_set_reader(m, &reader, *block, n, NULL), ODVGP_OK);
	}
	return m;
}

/* ---- calls that read ---- */

enum { INIT, WARM, STEP, FIT, NATGRAD, ELBO, SOME, FIT_Q, UPPER, CALLS };
static const char *const call_name[CALLS] = {"odvgp_init_data", "odvgp_warm_start", "odvgp_step",
		"odvgp_fit", "odvgp_natgrad_step", "odvgp_elbo", "odvgp_elbo, n < N", "odvgp_fit_q",
		"odvgp_upper_bound"};

/*  One call of a kind; its numbers are added to *sum. */
static odvgp_status call(odvgp_model *m, int kind, const odvgp_real *X, const odvgp_real *Y,
		double *sum, odvgp_info *info)
{
	odvgp_status s = ODVGP_OK;
	odvgp_report report;
	odvgp_real v = 0, w = 0;
	const odvgp_warm start = {0, 0, test_size(0, 10), 0};
	size_t n = kind == WARM    ? odvgp_warm_start_scratch(m, &start, info)
			   : kind >= FIT_Q ? odvgp_fit_q_scratch(m, info)
							   : 1;
	void *scratch;
	if (!n) return info->status;
	scratch = test_alloc(n);
	memset(&report, 0, sizeof report);
	if (kind == INIT) s = odvgp_init_data(m, X, Y, NULL, info);
	if (kind == WARM) s = odvgp_warm_start(m, X, Y, &start, NULL, scratch, n, info);
	if (kind == STEP) s = odvgp_step(m, X, Y, &report, info);
	if (kind == FIT) s = odvgp_fit(m, X, Y, STEPS, NULL, info);
	if (kind == NATGRAD) s = odvgp_natgrad_step(m, X, Y, ROWS, (odvgp_real)0.3, &v, info);
	if (kind == ELBO) s = odvgp_elbo(m, X, Y, ROWS, &v, &w, NULL, info);
	if (kind == SOME) s = odvgp_elbo(m, X, Y, 300, &v, &w, NULL, info);
	if (kind == FIT_Q) s = odvgp_fit_q(m, X, Y, NULL, scratch, n, info);
	if (kind == UPPER) s = odvgp_upper_bound(m, X, Y, &v, &w, scratch, n, info);
	free(scratch);
	*sum += (double)report.elbo + (double)v + (double)w;
	return s;
}

TEST(a_reader_gives_the_bits_of_memory)
{
	int k, i;
	for (k = 0; k < SETUPS; k++) {
		table *t = NEW(table, 1);
		void *none, *block;
		odvgp_model *a, *b;
		fill_table(t, &setups[k]);
		a = create(&setups[k], NULL, &none), b = create(&setups[k], t, &block);
		for (i = 0; i < CALLS && a && b; i++) {
			odvgp_info of_a = no_info(), of_b = no_info();
			double sum_a = 0, sum_b = 0;
			odvgp_status s = call(a, i, t->X, t->Y, &sum_a, &of_a);
			bytes x, y;
			CHECK_SAY(call(b, i, NULL, NULL, &sum_b, &of_b) == s, "%s: %s: %s; in memory %s",
					setups[k].settings, call_name[i], of_b.text, of_a.text);
			CHECK_SAY(memcmp(&sum_a, &sum_b, sizeof sum_a) == 0, "%s: %s: %.17g and %.17g",
					setups[k].settings, call_name[i], sum_a, sum_b);
			x = parameters(a), y = parameters(b);
			CHECK_SAY(same(&x, &y), "%s: models differ after %s", setups[k].settings, call_name[i]);
			free(x.at), free(y.at);
		}
		CHECK(t->most <= 256 && t->calls > 0 && !t->strange);
		odvgp_model_free(a), odvgp_model_free(b);
		free(block), free(t);
	}
}

/*  One read of a call fails: its first, its last, and at full length some between. */
static void fail_reads(odvgp_model *m, table *t, int kind, ptrdiff_t reads, const char *settings)
{
	bytes before = parameters(m), after;
	ptrdiff_t k, last = 0;
	for (k = 0; k <= 3; k += test_size(1, 3)) {
		odvgp_info info = no_info();
		double sum = 0;
		t->calls = 0;
		t->failing = 1 + k * (reads - 1) / 3;
		if (t->failing == last) continue;
		last = t->failing;
		CHECK_SAY(call(m, kind, NULL, NULL, &sum, &info) == ODVGP_E_IO &&
						  info.status == ODVGP_E_IO && info.row >= 0 && info.row < ROWS,
				"%s: %s, read %ld of %ld: %s", settings, call_name[kind], (long)last, (long)reads,
				info.text);
		CHECK_INT(t->calls, last);
		after = parameters(m);
		CHECK_SAY(same(&before, &after), "%s: %s, read %ld of %ld changes the model", settings,
				call_name[kind], (long)last, (long)reads);
		free(after.at);
	}
	free(before.at);
	t->failing = 0;
}

/*  A copy of the model says how often a call reads. odvgp_fit is left as after its last step. */
TEST(a_failed_read_is_an_error_and_changes_nothing)
{
	int k, i;
	for (k = 0; k < SETUPS; k += test_size(1, 2)) {
		table *t = NEW(table, 1);
		odvgp_config c = config_of(&setups[k]);
		size_t n = odvgp_model_size(&c, NULL);
		void *block, *memory = test_alloc(n);
		odvgp_model *m, *copy;
		fill_table(t, &setups[k]);
		m = create(&setups[k], t, &block);
		for (i = 0; i < CALLS && m; i++) {
			odvgp_info info = no_info();
			double sum = 0;
			if (i == FIT) continue;
			CHECK_STATUS(odvgp_model_copy(&copy, m, memory, n, &info), ODVGP_OK);
			t->calls = 0;
			if (call(copy, i, NULL, NULL, &sum, &info) != ODVGP_OK) continue;
			CHECK(t->calls > 0);
			fail_reads(m, t, i, t->calls, setups[k].settings);
			CHECK_STATUS(call(m, i, NULL, NULL, &sum, &info), ODVGP_OK);
		}
		odvgp_model_free(m);
		free(block), free(memory), free(t);
	}
}

/*  odvgp_fit says that its warm start could not read, and begins with it again. */
TEST(a_warm_start_that_cannot_read_is_an_error)
{
	table *t = NEW(table, 1);
	odvgp_info info = no_info();
	void *block, *none;
	odvgp_model *a, *b;
	bytes x, y;
	fill_table(t, &setups[0]);
	a = create(&setups[0], t, &block), b = create(&setups[0], NULL, &none);
	if (!a || !b) return;
	CHECK_STATUS(odvgp_init_data(a, NULL, NULL, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_init_data(b, t->X, t->Y, NULL, NULL), ODVGP_OK);
	t->calls = 0, t->failing = 3;
	CHECK_STATUS(odvgp_fit(a, NULL, NULL, 2, NULL, &info), ODVGP_E_IO);
	CHECK_INT(odvgp_steps_done(a), 0);
	t->failing = 0;
	CHECK_STATUS(odvgp_fit(a, NULL, NULL, 2, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_fit(b, t->X, t->Y, 2, NULL, NULL), ODVGP_OK);
	x = parameters(a), y = parameters(b);
	CHECK(same(&x, &y));
	free(x.at), free(y.at);
	odvgp_model_free(a), odvgp_model_free(b);
	free(block), free(t);
}

/*  A row with NaN is named, wherever it is. */
TEST(a_row_that_is_not_finite_is_named)
{
	table *t = NEW(table, 1);
	odvgp_info info = no_info();
	void *block;
	odvgp_model *m;
	odvgp_real e;
	fill_table(t, &setups[6]);
	m = create(&setups[6], t, &block);
	if (!m) return;
	CHECK_STATUS(odvgp_init_data(m, NULL, NULL, NULL, NULL), ODVGP_OK);
	t->X[299 * INPUTS + 1] = (odvgp_real)NAN;
	CHECK_STATUS(odvgp_init_data(m, NULL, NULL, NULL, &info), ODVGP_E_NAN);
	CHECK_INT(info.row, 299);
	CHECK_SAY(strstr(info.text, "299") != NULL, "%s", info.text);
	CHECK_STATUS(odvgp_elbo(m, NULL, NULL, ROWS, &e, NULL, NULL, &info), ODVGP_E_NAN);
	CHECK_INT(info.row, 299);
	t->X[299 * INPUTS + 1] = 0;
	t->Y[298] = (odvgp_real)NAN;
	CHECK_STATUS(odvgp_init_data(m, NULL, NULL, NULL, &info), ODVGP_E_NAN);
	CHECK_INT(info.row, 298);
	t->Y[298] = 0;
	CHECK_STATUS(odvgp_step(m, NULL, NULL, NULL, &info), ODVGP_OK);
	odvgp_model_free(m);
	free(block), free(t);
}

TEST(scales_are_those_of_the_columns)
{
	table *t = NEW(table, 1);
	odvgp_real mean[2][INPUTS], scale[2][INPUTS];
	void *block;
	odvgp_model *m;
	fill_table(t, &setups[0]);
	t->X[0] = 1000;
	m = create(&setups[0], t, &block);
	if (!m) return;
	CHECK_STATUS(odvgp_reader_scales(m, mean[0], scale[0], NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_column_scales(t->X, ROWS, INPUTS, mean[1], scale[1], NULL), ODVGP_OK);
	CHECK(!memcmp(mean[0], mean[1], sizeof mean[0]) &&
			!memcmp(scale[0], scale[1], sizeof scale[0]));
	CHECK_STATUS(odvgp_reader_scales(m, NULL, scale[0], NULL), ODVGP_E_ARG);
	odvgp_model_free(m);
	free(block), free(t);
}

TEST(what_needs_all_rows_refuses_a_reader)
{
	static const char *const refused[] = {
			"mean_part=beta M_gamma=0 optim.natgrad=off objective=tight "
			"optim.batch=330",
			"mean_part=free cov_part=diagonal M=330 M_gamma=0 "
			"optim.natgrad=off objective=exact optim.batch=330",
			"init.hyperparams=ulapane"};
	table *t = NEW(table, 1);
	const odvgp_reader reader = {read_table, t};
	odvgp_info info = no_info();
	odvgp_real e;
	void *block;
	odvgp_model *m;
	int i;
	for (i = 0; i < 3; i++) {
		setup s = {NULL, 1, 1, 0};
		s.settings = refused[i];
		m = create(&s, NULL, &block);
		if (!m) continue;
		CHECK(odvgp_reader_size(m, &info) == 0 && info.status == ODVGP_E_UNSUPPORTED);
		CHECK_STATUS(odvgp_set_reader(m, &reader, t, sizeof *t, NULL), ODVGP_E_UNSUPPORTED);
		odvgp_model_free(m);
	}
	fill_table(t, &setups[0]);
	m = create(&setups[0], t, &block);
	if (!m) return;
	/* Rows in memory come first; half of them is an error; there are no more than N. */
	CHECK_STATUS(odvgp_init_data(m, t->X, t->Y, NULL, NULL), ODVGP_OK);
	CHECK_INT(t->calls, 0);
	CHECK_STATUS(odvgp_init_data(m, t->X, NULL, NULL, NULL), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_elbo(m, NULL, NULL, ROWS + 1, &e, NULL, NULL, NULL), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_set_reader(m, NULL, NULL, 0, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_init_data(m, NULL, NULL, NULL, NULL), ODVGP_E_ARG);
	CHECK_STATUS(odvgp_reader_scales(m, &e, &e, NULL), ODVGP_E_ARG);
	odvgp_model_free(m);
	free(block), free(t);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(a_reader_gives_the_bits_of_memory);
	RUN(a_failed_read_is_an_error_and_changes_nothing);
	RUN(a_warm_start_that_cannot_read_is_an_error);
	RUN(a_row_that_is_not_finite_is_named);
	RUN(scales_are_those_of_the_columns);
	RUN(what_needs_all_rows_refuses_a_reader);
	return test_end();
}

/*  Bad configs, arguments and data are refused with a status and a sentence, and outputs keep
    their contents. Also the slots: their names, shapes and values. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"

/* ---- bad configs ---- */

typedef struct change {
	const char *words;
	size_t at;
	enum { SIZE, INT, REAL, SCHEDULE_END, SCHEDULE_START, SCHEDULE_STEPS } type;
	double value;
	/* The expected status; ODVGP_OK stands for any status except ODVGP_OK. */
	odvgp_status want;
} change;

#define AT(field) offsetof(odvgp_config, field)

TEST(bad_configs_are_refused)
{
	static const change list[] = {
			{"N = 0", AT(N), SIZE, 0, ODVGP_E_SIZE},
			{"N < 0", AT(N), SIZE, -1, ODVGP_E_SIZE},
			{"N absurd", AT(N), SIZE, 9e18, ODVGP_E_SIZE},
			{"D = 0", AT(layer[0].D), SIZE, 0, ODVGP_E_SIZE},
			{"D < 0", AT(layer[0].D), SIZE, -5, ODVGP_E_SIZE},
			{"D absurd", AT(layer[0].D), SIZE, 9e18, ODVGP_E_SIZE},
			{"D above memory", AT(layer[0].D), SIZE, 1e11, ODVGP_E_SIZE},
			{"P = 0", AT(layer[0].P), SIZE, 0, ODVGP_E_SIZE},
			{"P absurd", AT(layer[0].P), SIZE, 9e18, ODVGP_E_SIZE},
			{"P large", AT(layer[0].P), SIZE, 1e10, ODVGP_E_SIZE},
			{"M = 0", AT(layer[0].M), SIZE, 0, ODVGP_E_SIZE},
			{"M < 0", AT(layer[0].M), SIZE, -1, ODVGP_E_SIZE},
			{"M absurd", AT(layer[0].M), SIZE, 9e18, ODVGP_E_SIZE},
			{"M whose square overflows", AT(layer[0].M), SIZE, 4294967296.0, ODVGP_E_SIZE},
			{"M whose cube overflows", AT(layer[0].M), SIZE, 2147483647.0, ODVGP_E_SIZE},
			{"M_gamma < 0", AT(layer[0].M_gamma), SIZE, -1, ODVGP_E_SIZE},
			{"M_gamma absurd", AT(layer[0].M_gamma), SIZE, 9e18, ODVGP_E_SIZE},
			{"batch = 0", AT(optim.batch), SIZE, 0, ODVGP_E_SIZE},
			{"batch < 0", AT(optim.batch), SIZE, -3, ODVGP_E_SIZE},
			{"tile < 0", AT(tile), SIZE, -3, ODVGP_E_SIZE},
			{"gamma_batch < 0", AT(optim.gamma_batch), SIZE, -3, ODVGP_E_SIZE},
			{"mean_part", AT(layer[0].mean_part), INT, 99, ODVGP_OK},
			{"mean_part < 0", AT(layer[0].mean_part), INT, -1, ODVGP_OK},
			{"cov_part", AT(layer[0].cov_part), INT, 99, ODVGP_OK},
			{"param", AT(reproduce.parametrisation), INT, 3, ODVGP_OK},
			{"param < 0", AT(reproduce.parametrisation), INT, -1, ODVGP_OK},
			{"gamma_coords", AT(reproduce.gamma_coords), INT, 3, ODVGP_OK},
			{"gamma_kl", AT(reproduce.gamma_kl), INT, 2, ODVGP_OK},
			{"likelihood", AT(lik.kind), INT, 99, ODVGP_OK},
			{"likelihood < 0", AT(lik.kind), INT, -1, ODVGP_OK},
			{"mean_function", AT(layer[0].mean_function), INT, 3, ODVGP_OK},
			{"mean_function < 0", AT(layer[0].mean_function), INT, -1, ODVGP_OK},
			{"positive", AT(positive_transform), INT, 2, ODVGP_OK},
			{"q_init", AT(reproduce.q_init), INT, 2, ODVGP_OK},
			{"init_beta", AT(init.beta), INT, 4, ODVGP_E_ARG},
			{"init_beta < 0", AT(init.beta), INT, -1, ODVGP_E_ARG},
			{"init_gamma", AT(init.gamma), INT, 2, ODVGP_E_ARG},
			{"init_gamma < 0", AT(init.gamma), INT, -1, ODVGP_E_ARG},
			{"init_hyper", AT(init.hyperparams), INT, 2, ODVGP_E_ARG},
			{"init_hyper < 0", AT(init.hyperparams), INT, -1, ODVGP_E_ARG},
			{"update", AT(reproduce.update), INT, 3, ODVGP_OK},
			{"natgrad", AT(optim.natgrad), INT, 2, ODVGP_OK},
			{"adam_eps_inside", AT(reproduce.adam_eps_inside), INT, 2, ODVGP_E_ARG},
			{"adam_eps_inside < 0", AT(reproduce.adam_eps_inside), INT, -1, ODVGP_E_ARG},
			{"isa", AT(isa), INT, 77, ODVGP_E_UNSUPPORTED},
			{"noise_variance < 0", AT(lik.noise_variance), REAL, -1, ODVGP_OK},
			{"noise_variance NaN", AT(lik.noise_variance), REAL, NAN, ODVGP_OK},
			{"noise_floor NaN", AT(lik.noise_floor), REAL, NAN, ODVGP_OK},
			{"noise_floor infinite", AT(lik.noise_floor), REAL, HUGE_VAL, ODVGP_OK},
			{"noise_floor between -1 and 0", AT(lik.noise_floor), REAL, -0.5, ODVGP_E_ARG},
			{"noise_floor just below 0", AT(lik.noise_floor), REAL, -1e-9, ODVGP_E_ARG},
			{"noise_variance infinite", AT(lik.noise_variance), REAL, HUGE_VAL, ODVGP_OK},
			{"jitter < 0", AT(jitter.absolute), REAL, -1e-9, ODVGP_OK},
			{"jitter NaN", AT(jitter.absolute), REAL, NAN, ODVGP_OK},
			{"jitter infinite", AT(jitter.absolute), REAL, HUGE_VAL, ODVGP_OK},
			{"jitter_rel < 0", AT(jitter.relative), REAL, -1, ODVGP_OK},
			{"jitter_rel NaN", AT(jitter.relative), REAL, NAN, ODVGP_OK},
			{"jitter_max < 0", AT(jitter.max), REAL, -1, ODVGP_OK},
			{"jitter_max NaN", AT(jitter.max), REAL, NAN, ODVGP_OK},
			{"adam_beta1 = 1", AT(optim.adam_beta1), REAL, 1, ODVGP_OK},
			{"adam_beta2 < 0", AT(optim.adam_beta2), REAL, -0.1, ODVGP_OK},
			{"adam_beta2 NaN", AT(optim.adam_beta2), REAL, NAN, ODVGP_OK},
			{"adam_eps < 0", AT(optim.adam_eps), REAL, -1, ODVGP_OK},
			{"adam_eps NaN", AT(optim.adam_eps), REAL, NAN, ODVGP_OK},
			{"lr = 0", AT(optim.lr), SCHEDULE_END, 0, ODVGP_OK},
			{"lr < 0", AT(optim.lr), SCHEDULE_END, -1, ODVGP_OK},
			{"lr NaN", AT(optim.lr), SCHEDULE_END, NAN, ODVGP_OK},
			{"lr infinite", AT(optim.lr), SCHEDULE_END, HUGE_VAL, ODVGP_OK},
			{"natgrad_step > 1", AT(optim.natgrad_step), SCHEDULE_END, 1.5, ODVGP_OK},
			{"natgrad_step = 0", AT(optim.natgrad_step), SCHEDULE_END, 0, ODVGP_OK},
			{"loglinear start = 0", AT(optim.natgrad_step), SCHEDULE_START, 0, ODVGP_OK},
			{"start NaN", AT(optim.lr), SCHEDULE_START, NAN, ODVGP_OK},
			{"schedule of no steps", AT(optim.lr), SCHEDULE_STEPS, 0, ODVGP_OK},
	};
	size_t i;
	fixture good_one;
	odvgp_config base = config(10, 2, 1, 3, 4);
	test_seed = 301;
	good_one = make(&base);
	for (i = 0; i < sizeof list / sizeof *list; i++) {
		odvgp_config c = base;
		void *field = (char *)&c + list[i].at;
		odvgp_schedule *s = (odvgp_schedule *)field;
		odvgp_info info = no_info();
		odvgp_status got, again;
		unsigned char out[sizeof(size_t)], block[4096];
		odvgp_model *m = good_one.m;
		switch (list[i].type) {
		case SIZE:
			*(ptrdiff_t *)field = list[i].value > 8e18 || list[i].value >= (double)PTRDIFF_MAX
										  ? PTRDIFF_MAX
										  : (ptrdiff_t)list[i].value;
			break;
		case INT: *(int *)field = (int)list[i].value; break;
		case REAL: *(odvgp_real *)field = (odvgp_real)list[i].value; break;
		case SCHEDULE_END: s->end = (odvgp_real)list[i].value; break;
		case SCHEDULE_START:
			s->kind = ODVGP_SCHEDULE_LOGLINEAR, s->start = (odvgp_real)list[i].value, s->steps = 10;
			break;
		default:
			s->kind = ODVGP_SCHEDULE_LINEAR, s->start = (odvgp_real)0.001,
			s->steps = (ptrdiff_t)list[i].value;
		}
		memset(out, PATTERN, sizeof out);
		got = sized((size_t *)(void *)out, odvgp_model_size(&c, &info), &info);
		CHECK_SAY(got != ODVGP_OK && (list[i].want == ODVGP_OK || got == list[i].want),
				"%s: \"%s\"", list[i].words, odvgp_status_text(got));
		CHECK_SAY(untouched(out, sizeof out), "%s: the size is written", list[i].words);
		CHECK_SAY(info.text[0] && strchr(info.text, ' ') && info.status == got, "%s: no sentence",
				list[i].words);
		memset(block, PATTERN, sizeof block);
		again = odvgp_model_init(&m, &c, block, sizeof block, NULL);
		CHECK_SAY(again == got && m == NULL && untouched(block, sizeof block),
				"%s: odvgp_model_init", list[i].words);
		m = good_one.m;
		CHECK_SAY(
				odvgp_model_create(&m, &c, good_one.X, good_one.Y, NULL, NULL) == got && m == NULL,
				"%s: odvgp_model_create", list[i].words);
	}
	{
		/* Each size is acceptable by itself, but their product overflows. */
		odvgp_config c = base;
		size_t bytes = 7;
		c.layer[0].P = 1 << 20, c.layer[0].M = 1 << 21;
		REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
		c = base;
		c.layer[0].P = 1 << 30, c.layer[0].M_gamma = 1 << 30;
		c.layer[0].mean_part = ODVGP_MEAN_PART_ORTH;
		REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
		c = base;
		/* v_sqrt [P,M_gamma,M_gamma] would have 2^65 elements. */
		c.layer[0].P = 8, c.layer[0].M_gamma = INT_MAX;
		c.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS, c.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
		REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_SIZE);
		CHECK_INT(bytes, 7);
		REFUSED(sized(&bytes, odvgp_model_size(NULL, &info), &info), ODVGP_E_ARG);
		c = base;
		c.layer[0].kernel = NULL;
		REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_ARG);
		c = base;
		c.isa = test_isa();
		CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
	}
	drop(&good_one);
}

/*  Writes v into a field of a config, in the type of the field. */
static void put_field(odvgp_config *c, const gp__field *f, double v)
{
	void *at = (unsigned char *)c + f->offset;
	odvgp_real real = (odvgp_real)v;
	ptrdiff_t size = (ptrdiff_t)v;
	if (f->type == GP__FIELD_CHOICE) CHECK(gp__choice_set(at, f->bytes, (int)v));
	else if (f->type == GP__FIELD_REAL) memcpy(at, &real, sizeof real);
	else memcpy(at, &size, sizeof size);
}

/*  The ends of a closed range are legal, and of an open range the next number inside it is. One
    step beyond, the status and the sentence are those of the field's type, and info names the
    field. */
TEST(ranges_of_fields)
{
	ptrdiff_t i;
	int end;
	for (i = 0; i < GP__COUNT(gp__fields); i++) {
		const gp__field *f = &gp__fields[i];
		int real = f->type == GP__FIELD_REAL, open_at[2];
		open_at[0] = f->open == GP__ABOVE_LEAST, open_at[1] = f->open == GP__BELOW_MOST;
		if (f->type == GP__FIELD_SCHEDULE || f->type == GP__FIELD_BITS) continue;
		double most = f->most;
		CHECK_SAY(f->least < most, "%s has no range", f->name);
		for (end = 0; end < 2; end++) {
			odvgp_config c = odvgp_config_defaults(100, 2, 1, 5, 0);
			odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
			double at = end ? most : f->least, limit = real && at > HUGE_REAL ? HUGE_REAL : at;
			double step = real ? EPS * (fabs(limit) > 0 ? fabs(limit) : 1) : 1;
			double inside = open_at[end] ? (end ? limit - step : limit + step) : limit;
			double beyond = open_at[end]            ? limit
							: real && at >= DBL_MAX ? HUGE_VAL
							: end                   ? limit + step
													: limit - step;
			for (int l = 1; l < ODVGP_MAX_LAYERS; l++) c.layer[l] = c.layer[0];
			put_field(&c, f, inside);
			CHECK_SAY(gp__check_fields(&c, &info) == ODVGP_OK, "%s = %g: %s", f->name, inside,
					info.text);
			put_field(&c, f, beyond);
			CHECK_STATUS(gp__check_fields(&c, &info),
					f->type == GP__FIELD_SIZE ? ODVGP_E_SIZE : ODVGP_E_ARG);
			CHECK_SAY(!strcmp(info.what, f->name), "%s is said to be %s", f->name, info.what);
			const char *words = end ? "is too large" : "is below its least value";
			if (f->type != GP__FIELD_SIZE) words = "is out of range in the config";
			CHECK_SAY(strstr(info.text, words) != NULL, "%s: %s", f->name, info.text);
			if (!real) continue;
			put_field(&c, f, (double)NAN);
			CHECK_STATUS(gp__check_fields(&c, &info), ODVGP_E_ARG);
		}
	}
}

TEST(structs_that_are_all_zero_have_their_defaults)
{
	odvgp_config c = odvgp_config_defaults(50, 2, 1, 5, 9), z = c;
	odvgp_model *m;
	odvgp_info info;
	size_t bytes;
	void *block;
	memset(&z.lik, 0, sizeof z.lik);
	memset(&z.init, 0, sizeof z.init);
	memset(&z.optim, 0, sizeof z.optim);
	memset(&z.jitter, 0, sizeof z.jitter);
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&z, &info), &info), ODVGP_OK);
	block = test_alloc(bytes);
	CHECK_STATUS(odvgp_model_init(&m, &z, block, bytes, &info), ODVGP_OK);
	CHECK_INT(odvgp_model_config(m)->optim.natgrad, 1);
	CHECK_INT(odvgp_model_config(m)->optim.batch, 50);
	CHECK(odvgp_model_config(m)->optim.lr.end == c.optim.lr.end);
	CHECK(odvgp_model_config(m)->optim.lr.steps == c.optim.lr.steps);
	CHECK(odvgp_model_config(m)->jitter.relative == c.jitter.relative);
	CHECK(odvgp_model_config(m)->jitter.max == c.jitter.max);
	free(block);
	/* One field that is not 0 makes all of them count. */
	z.optim.natgrad = 1;
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&z, &info), &info), ODVGP_E_SIZE);
}

TEST(shards_are_powers_of_two)
{
	ptrdiff_t n;
	for (n = 1; n <= 65536; n += n < 70 ? 1 : n - 1) {
		odvgp_config c = odvgp_config_defaults(100, 2, 1, 5, 0);
		ptrdiff_t half = n;
		while (half % 2 == 0) half /= 2;
		c.shards = n;
		CHECK_STATUS(gp__check_fields(&c, NULL), half == 1 ? ODVGP_OK : ODVGP_E_ARG);
	}
}

/* ---- bad arguments ---- */

/*  NaN in row 7 of X or Y: each call that reads it fails with E_NAN, and info.row is 7. */
#define NAN_IN_ROW(call) \
	do { \
		odvgp_info info = no_info(); \
		CHECK_STATUS((call), ODVGP_E_NAN); \
		CHECK_SAY(info.row == 7 && !strcmp(info.what, in_X ? "X" : "Y"), "%s: row %td of %s", \
				#call, info.row, info.what); \
	} while (0)

TEST(rows_with_nan_are_named)
{
	enum { ROWS = 12, BAD = 7 };
	odvgp_config c = config(ROWS, 2, 2, 3, 2);
	const odvgp_draws draws = {1, 1};
	const odvgp_gradient gradient = {NULL, NULL, NULL, NULL, NULL, NULL};
	const ptrdiff_t index[1] = {0};
	const odvgp_columns columns = {index, 1};
	odvgp_real out[4][4 * ROWS * ROWS];
	odvgp_report report;
	test_seed = 306;
	fixture a = make(&c);
	served s = serve_rows(&a, NULL, ROWS);
	size_t fit = odvgp_fit_q_scratch(a.m, NULL), warm = odvgp_warm_start_scratch(a.m, NULL, NULL);
	void *work = test_alloc(fit > warm ? fit : warm);
	for (int in_X = 0; in_X < 2; in_X++) {
		odvgp_real *bad = in_X ? &a.X[BAD * 2 + 1] : &a.Y[BAD * 2 + 1], keep = *bad;
		*bad = (odvgp_real)NAN;
		NAN_IN_ROW(odvgp_init_data(a.m, a.X, a.Y, NULL, &info));
		NAN_IN_ROW(odvgp_warm_start(a.m, a.X, a.Y, NULL, NULL, work, warm, &info));
		NAN_IN_ROW(odvgp_step(a.m, a.X, a.Y, &report, &info));
		NAN_IN_ROW(odvgp_step_batch(a.m, a.X, a.Y, ROWS, &report, &info));
		NAN_IN_ROW(odvgp_fit(a.m, a.X, a.Y, 1, NULL, &info));
		NAN_IN_ROW(odvgp_elbo(a.m, a.X, a.Y, ROWS, out[0], NULL, NULL, &info));
		NAN_IN_ROW(odvgp_elbo_columns(a.m, a.X, a.Y, ROWS, &columns, &report, NULL, &info));
		NAN_IN_ROW(odvgp_natgrad_step(a.m, a.X, a.Y, ROWS, (odvgp_real)0.1, NULL, &info));
		NAN_IN_ROW(odvgp_fit_q(a.m, a.X, a.Y, NULL, work, fit, &info));
		NAN_IN_ROW(odvgp_upper_bound(a.m, a.X, a.Y, out[0], NULL, work, fit, &info));
		NAN_IN_ROW(odvgp_predict_logp(&s.s, a.X, a.Y, ROWS, out[0], s.scratch, s.bytes, &info));
		if (in_X) {
			NAN_IN_ROW(odvgp_predict(&s.s, a.X, ROWS, out[0], out[1], s.scratch, s.bytes, &info));
			NAN_IN_ROW(odvgp_predict_y(&s.s, a.X, ROWS, out[0], out[1], s.scratch, s.bytes, &info));
			NAN_IN_ROW(
					odvgp_predict_cov(&s.s, a.X, ROWS, out[0], out[1], s.scratch, s.bytes, &info));
			NAN_IN_ROW(odvgp_predict_gradient(
					&s.s, a.X, ROWS, &gradient, s.scratch, s.bytes, &info));
			NAN_IN_ROW(odvgp_predict_functions(
					&s.s, a.X, ROWS, out[0], out[1], s.scratch, s.bytes, &info));
			NAN_IN_ROW(odvgp_sample(&s.s, a.X, ROWS, &draws, out[0], s.scratch, s.bytes, &info));
			NAN_IN_ROW(odvgp_predict_once(a.m, a.X, ROWS, out[0], NULL, NULL, &info));
			NAN_IN_ROW(odvgp_column_scales(a.X, ROWS, 2, out[0], out[1], &info));
		}
		*bad = keep;
	}
	free(work);
	unserve(&s);
	drop(&a);
}

/*  info.what is the argument that is wrong. */
TEST(info_names_the_culprit)
{
	odvgp_config c = config(10, 2, 2, 3, 4);
	odvgp_real v[6] = {1, 1, 1, 1, 1, 1}, none[2] = {1, 0};
	odvgp_schedule bad = odvgp_constant(-1);
	unsigned char block[8];
	odvgp_blas blas;
	size_t bytes = odvgp_blas_size(NULL, NULL);
	test_seed = 305;
	fixture a = make(&c);
	REFUSED_FOR(odvgp_get(NULL, "Z_beta", v, 6, &info), ODVGP_E_ARG, "model");
	REFUSED_FOR(odvgp_get(a.m, NULL, v, 6, &info), ODVGP_E_ARG, "name");
	REFUSED_FOR(odvgp_get(a.m, "Z_beta", NULL, 6, &info), ODVGP_E_ARG, "values");
	REFUSED_FOR(odvgp_get(a.m, "Z_bet", v, 6, &info), ODVGP_E_NAME, "name");
	REFUSED_FOR(odvgp_get(a.m, "Z_beta", v, 5, &info), ODVGP_E_SIZE, "Z_beta");
	REFUSED_FOR(odvgp_set(a.m, "Z_beta", NULL, 6, &info), ODVGP_E_ARG, "values");
	REFUSED_FOR(odvgp_set_trainable(NULL, "*", 1, &info), ODVGP_E_ARG, "model");
	REFUSED_FOR(odvgp_set_trainable(a.m, NULL, 1, &info), ODVGP_E_ARG, "name");
	REFUSED_FOR(odvgp_set_trainable(a.m, "x*", 1, &info), ODVGP_E_NAME, "name");
	REFUSED_FOR(odvgp_set_bounds(a.m, "noise_variance", 2, 1, &info), ODVGP_E_ARG, "low");
	REFUSED_FOR(odvgp_set_bounds(a.m, "Z_beta", 1, 2, &info), ODVGP_E_ARG, "name");
	REFUSED_FOR(odvgp_set_prior(a.m, "q_mu", ODVGP_PRIOR_NONE, 0, 0, &info), ODVGP_E_ARG, "name");
	REFUSED_FOR(
			odvgp_set_prior(a.m, "*", ODVGP_PRIOR_GAMMA, 0, 1, &info), ODVGP_E_ARG, "kind, a or b");
	REFUSED_FOR(odvgp_set_step_sizes(NULL, NULL, NULL, &info), ODVGP_E_ARG, "model");
	REFUSED_FOR(odvgp_set_step_sizes(a.m, &bad, NULL, &info), ODVGP_E_ARG, "lr");
	REFUSED_FOR(odvgp_set_step_sizes(a.m, NULL, &bad, &info), ODVGP_E_ARG, "natgrad_step");
	REFUSED_FOR(odvgp_standardise(v, 3, 2, NULL, v, v, &info), ODVGP_E_ARG, "mean");
	REFUSED_FOR(odvgp_standardise(v, 3, 2, v, none, v, &info), ODVGP_E_ARG, "scale");
	REFUSED_FOR(odvgp_blas_init(NULL, NULL, ODVGP_ISA_C, block, bytes, &info), ODVGP_E_ARG, "blas");
	REFUSED_FOR(
			odvgp_blas_init(&blas, NULL, ODVGP_ISA_C, NULL, bytes, &info), ODVGP_E_ARG, "block");
	REFUSED_FOR(
			odvgp_blas_init(&blas, NULL, ODVGP_ISA_C, block, 8, &info), ODVGP_E_MEMORY, "block");
	REFUSED_FOR(odvgp_blas_init(&blas, NULL, (odvgp_isa)77, block, bytes, &info),
			ODVGP_E_UNSUPPORTED, "isa");
	drop(&a);
}

TEST(bad_arguments_are_refused)
{
	odvgp_config c = config(10, 2, 2, 3, 4);
	fixture a;
	unsigned char out[4][512];
	odvgp_real *o[4];
	ptrdiff_t idx[5] = {0, 1, 2, 3, 0};
	odvgp_real *before, *after, values[40], grads[200];
	odvgp_report *report = (odvgp_report *)(void *)out[0];
	int k;
	size_t n;
	test_seed = 302;
	a = make(&c);
	before = all_values(a.m);
	memset(out, PATTERN, sizeof out);
	memset(values, PATTERN, sizeof values);
	memset(grads, PATTERN, sizeof grads);
	for (k = 0; k < 4; k++) o[k] = (odvgp_real *)(void *)out[k];
	REFUSED(odvgp_model_init(NULL, &c, a.block, a.bytes, &info), ODVGP_E_ARG);
	{
		odvgp_model *m = a.m;
		REFUSED(odvgp_model_init(&m, NULL, a.block, a.bytes, &info), ODVGP_E_ARG);
		REFUSED(odvgp_model_init(&m, &c, NULL, a.bytes, &info), ODVGP_E_ARG);
		CHECK(m == NULL);
		CHECK_STATUS(odvgp_model_create(NULL, &c, a.X, a.Y, NULL, NULL), ODVGP_E_ARG);
		m = a.m;
		CHECK_STATUS(odvgp_model_create(&m, NULL, a.X, a.Y, NULL, NULL), ODVGP_E_ARG);
		CHECK(m == NULL);
		m = a.m;
		CHECK_STATUS(odvgp_model_create(&m, &c, NULL, a.Y, NULL, NULL), ODVGP_E_ARG);
		CHECK(m == NULL);
		CHECK_STATUS(odvgp_model_create(&m, &c, a.X, NULL, NULL, NULL), ODVGP_E_ARG);
	}
	REFUSED(odvgp_init_data(NULL, a.X, a.Y, NULL, &info), ODVGP_E_ARG);
	REFUSED(odvgp_init_data(a.m, NULL, a.Y, NULL, &info), ODVGP_E_ARG);
	REFUSED(odvgp_init_data(a.m, a.X, NULL, NULL, &info), ODVGP_E_ARG);
	{
		odvgp_real scales[2][3], x[6] = {1, 2, 3, 4, 5, 6}, scale[3] = {1, 1, 0};
		memset(scales, PATTERN, sizeof scales);
		REFUSED(odvgp_column_scales(NULL, 2, 3, scales[0], scales[1], &info), ODVGP_E_ARG);
		REFUSED(odvgp_column_scales(x, 2, 3, NULL, scales[1], &info), ODVGP_E_ARG);
		REFUSED(odvgp_column_scales(x, 2, 3, scales[0], NULL, &info), ODVGP_E_ARG);
		REFUSED(odvgp_column_scales(x, 0, 3, scales[0], scales[1], &info), ODVGP_E_SIZE);
		REFUSED(odvgp_column_scales(x, 2, 0, scales[0], scales[1], &info), ODVGP_E_SIZE);
		REFUSED(odvgp_column_scales(x, PTRDIFF_MAX / 2, 3, scales[0], scales[1], &info),
				ODVGP_E_SIZE);
		/* A scale of 0 is refused. */
		REFUSED(odvgp_standardise(x, 2, 3, x, scale, scales[0], &info), ODVGP_E_ARG);
		scale[2] = (odvgp_real)HUGE_VAL;
		REFUSED(odvgp_standardise(x, 2, 3, x, scale, scales[0], &info), ODVGP_E_ARG);
		scale[2] = 1;
		REFUSED(odvgp_standardise(x, -1, 3, x, scale, scales[0], &info), ODVGP_E_ARG);
		REFUSED(odvgp_standardise(x, 2, 0, x, scale, scales[0], &info), ODVGP_E_ARG);
		REFUSED(odvgp_standardise(NULL, 2, 3, x, scale, scales[0], &info), ODVGP_E_ARG);
		REFUSED(odvgp_standardise(x, 2, 3, NULL, scale, scales[0], &info), ODVGP_E_ARG);
		REFUSED(odvgp_standardise(x, 2, 3, x, NULL, scales[0], &info), ODVGP_E_ARG);
		REFUSED(odvgp_standardise(x, 2, 3, x, scale, NULL, &info), ODVGP_E_ARG);
		x[4] = (odvgp_real)NAN;
		REFUSED(odvgp_column_scales(x, 2, 3, scales[0], scales[1], &info), ODVGP_E_NAN);
		CHECK(untouched(scales, sizeof scales));
	}
	REFUSED(odvgp_init_q(NULL, &info), ODVGP_E_ARG);
	REFUSED(odvgp_step(NULL, a.X, a.Y, NULL, &info), ODVGP_E_ARG);
	REFUSED(odvgp_step(a.m, NULL, a.Y, report, &info), ODVGP_E_ARG);
	REFUSED(odvgp_step(a.m, a.X, NULL, report, &info), ODVGP_E_ARG);
	REFUSED(odvgp_step_batch(a.m, a.X, a.Y, 0, report, &info), ODVGP_E_ARG);
	REFUSED(odvgp_step_batch(a.m, a.X, a.Y, -1, report, &info), ODVGP_E_ARG);
	REFUSED(odvgp_step_batch(a.m, a.X, a.Y, PTRDIFF_MAX, report, &info), ODVGP_E_ARG);
	REFUSED(odvgp_step_batch(NULL, a.X, a.Y, 1, NULL, &info), ODVGP_E_ARG);
	REFUSED(odvgp_fit(NULL, a.X, a.Y, 3, NULL, &info), ODVGP_E_ARG);
	REFUSED(odvgp_fit(a.m, NULL, a.Y, 3, NULL, &info), ODVGP_E_ARG);
	REFUSED(odvgp_fit(a.m, a.X, a.Y, -1, NULL, &info), ODVGP_E_ARG);
	REFUSED(odvgp_elbo(NULL, a.X, a.Y, 10, o[0], o[1], o[2], &info), ODVGP_E_ARG);
	REFUSED(odvgp_elbo(a.m, NULL, a.Y, 10, o[0], o[1], grads, &info), ODVGP_E_ARG);
	REFUSED(odvgp_elbo(a.m, a.X, NULL, 10, o[0], o[1], grads, &info), ODVGP_E_ARG);
	REFUSED(odvgp_elbo(a.m, a.X, a.Y, 0, o[0], o[1], grads, &info), ODVGP_E_ARG);
	REFUSED(odvgp_elbo(a.m, a.X, a.Y, -4, o[0], o[1], grads, &info), ODVGP_E_ARG);
	REFUSED(odvgp_elbo(a.m, a.X, a.Y, PTRDIFF_MAX, o[0], o[1], grads, &info), ODVGP_E_ARG);
	REFUSED(odvgp_elbo(a.m, a.X, a.Y, 10, NULL, o[1], grads, &info), ODVGP_E_ARG);
	REFUSED(odvgp_elbo_columns(a.m, a.X, a.Y, 10, &(odvgp_columns){NULL, 2}, report, grads, &info),
			ODVGP_E_ARG);
	REFUSED(odvgp_elbo_columns(a.m, a.X, a.Y, 10, &(odvgp_columns){idx, 0}, report, grads, &info),
			ODVGP_E_ARG);
	REFUSED(odvgp_elbo_columns(a.m, a.X, a.Y, 10, &(odvgp_columns){idx, 5}, report, grads, &info),
			ODVGP_E_ARG);
	idx[1] = 4;
	REFUSED(odvgp_elbo_columns(a.m, a.X, a.Y, 10, &(odvgp_columns){idx, 2}, report, grads, &info),
			ODVGP_E_ARG);
	idx[1] = -1;
	REFUSED(odvgp_elbo_columns(a.m, a.X, a.Y, 10, &(odvgp_columns){idx, 2}, report, grads, &info),
			ODVGP_E_ARG);
	idx[0] = 2, idx[1] = 3, idx[2] = 2;
	{
		odvgp_info said = no_info();
		/* The columns must be distinct. */
		CHECK_STATUS(odvgp_elbo_columns(
							 a.m, a.X, a.Y, 10, &(odvgp_columns){idx, 3}, report, grads, &said),
				ODVGP_E_ARG);
		CHECK(said.row == 2 && said.value == 2 && strstr(said.text, "twice"));
	}
	REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 10, 0, o[0], &info), ODVGP_E_ARG);
	REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 10, -1, o[0], &info), ODVGP_E_ARG);
	REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 10, (odvgp_real)1.0001, o[0], &info), ODVGP_E_ARG);
	REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 10, (odvgp_real)NAN, o[0], &info), ODVGP_E_ARG);
	REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 0, (odvgp_real)0.5, o[0], &info), ODVGP_E_ARG);
	REFUSED(odvgp_natgrad_step(NULL, a.X, a.Y, 10, (odvgp_real)0.5, o[0], &info), ODVGP_E_ARG);
	/* Functions that read and write slots: */
	REFUSED(odvgp_get(NULL, "Z_beta", values, 6, &info), ODVGP_E_ARG);
	REFUSED(odvgp_get(a.m, NULL, values, 6, &info), ODVGP_E_ARG);
	REFUSED(odvgp_get(a.m, "Z_beta", NULL, 6, &info), ODVGP_E_ARG);
	REFUSED(odvgp_get(a.m, "Z_bet", values, 6, &info), ODVGP_E_NAME);
	REFUSED(odvgp_get(a.m, "Z_beta", values, 5, &info), ODVGP_E_SIZE);
	REFUSED(odvgp_get(a.m, "Z_beta", values, 7, &info), ODVGP_E_SIZE);
	REFUSED(odvgp_get(a.m, "Z_beta", values, -1, &info), ODVGP_E_SIZE);
	CHECK(untouched(values, sizeof values));
	for (k = 0; k < 40; k++) values[k] = 1;
	REFUSED(odvgp_set(NULL, "Z_beta", values, 6, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set(a.m, NULL, values, 6, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set(a.m, "Z_beta", NULL, 6, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set(a.m, "nothing", values, 6, &info), ODVGP_E_NAME);
	REFUSED(odvgp_set(a.m, "Z_beta", values, 5, &info), ODVGP_E_SIZE);
	values[3] = (odvgp_real)NAN;
	REFUSED(odvgp_set(a.m, "Z_beta", values, 6, &info), ODVGP_E_NAN);
	values[3] = (odvgp_real)HUGE_VAL;
	REFUSED(odvgp_set(a.m, "q_sqrt", values, 18, &info), ODVGP_E_NAN);
	for (k = 0; k < 5; k++) {
		static const double bad[] = {0, -1, NAN, HUGE_VAL, -0.0};
		values[0] = (odvgp_real)bad[k];
		REFUSED(odvgp_set(a.m, "kernel.0.lengthscale", values, 1, &info),
				k == 2 || k == 3 ? ODVGP_E_NAN : ODVGP_E_ARG);
		REFUSED(odvgp_set(a.m, "noise_variance", values, 1, &info),
				k == 2 || k == 3 ? ODVGP_E_NAN : ODVGP_E_ARG);
	}
	REFUSED(odvgp_set_trainable(NULL, "*", 0, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_trainable(a.m, NULL, 0, &info), ODVGP_E_ARG);
	REFUSED(odvgp_set_trainable(a.m, "nothing", 0, &info), ODVGP_E_NAME);
	REFUSED(odvgp_set_trainable(a.m, "", 0, &info), ODVGP_E_NAME);
	/* Functions of a NULL model return 0 or NULL. */
	CHECK(!odvgp_model_config(NULL) && !odvgp_slot_count(NULL) && !odvgp_param_count(NULL) &&
			!odvgp_steps_done(NULL) && !odvgp_slot_at(NULL, 0) && !odvgp_slot_find(NULL, "q_mu"));
	CHECK(!odvgp_predictor_size(NULL, NULL) && !odvgp_save_size(NULL, 0, NULL) &&
			!odvgp_predict_scratch(NULL, 1, NULL) && !odvgp_sample_scratch(NULL, 1, NULL));
	CHECK(odvgp_model_events(NULL).jitter_raised == 0);
	CHECK(odvgp_slot_find(a.m, NULL) == NULL);
	odvgp_model_free(NULL);
	/* odvgp_model_free does nothing, because this model does not come from odvgp_model_create. */
	odvgp_model_free(a.m);
	CHECK(odvgp_slot_count(a.m) > 0);
	for (k = 0; k < ODVGP_STATUS_COUNT + 3; k++) {
		const char *text = odvgp_status_text((odvgp_status)(k - 1));
		CHECK(text && strlen(text) > 1);
	}
	after = all_values(a.m);
	CHECK_BITS(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before);
	CHECK_INT(odvgp_steps_done(a.m), 0);
	CHECK(untouched(out, sizeof out) && untouched(grads, sizeof grads));
	n = (size_t)odvgp_param_count(a.m);
	CHECK(n <= 200);
	free(before), free(after);
	drop(&a);
}

/*  NaN or infinity at any place of the data is refused with the number of the row. Nothing has
    changed afterwards, and good rows can be used. */
TEST(bad_data_are_refused)
{
	static const double bad[] = {NAN, HUGE_VAL, -HUGE_VAL};
	odvgp_config c = config(10, 2, 2, 3, 4);
	fixture a;
	int where, b;
	ptrdiff_t row;
	test_seed = 304;
	c.tile = 3;
	c.optim.batch = 10;
	a = make(&c);
	CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	for (where = 0; where < 2; where++)
		for (b = 0; b < 3; b++)
			for (row = 0; row < 10; row += 3) {
				odvgp_real *list = where ? a.Y : a.X, keep = list[row * 2 + 1],
						   *before = all_values(a.m), *after, out[3], grad[200];
				odvgp_report report;
				odvgp_info said = no_info();
				ptrdiff_t steps = odvgp_steps_done(a.m);
				list[row * 2 + 1] = (odvgp_real)bad[b];
				memset(out, PATTERN, sizeof out), memset(grad, PATTERN, sizeof grad),
						memset(&report, PATTERN, sizeof report);
				CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, &said), ODVGP_E_NAN);
				CHECK_INT(said.row, row);
				CHECK(said.what && !strcmp(said.what, where ? "Y" : "X") && said.text[0]);
				said = no_info();
				CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 10, out, out + 1, grad, &said), ODVGP_E_NAN);
				CHECK_INT(said.row, row);
				REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 10, (odvgp_real)0.5, out, &info),
						ODVGP_E_NAN);
				REFUSED(odvgp_step_batch(a.m, a.X, a.Y, 10, &report, &info), ODVGP_E_NAN);
				REFUSED(odvgp_step(a.m, a.X, a.Y, &report, &info), ODVGP_E_NAN);
				REFUSED(odvgp_fit(a.m, a.X, a.Y, 3, NULL, &info), ODVGP_E_NAN);
				CHECK(untouched(out, sizeof out) && untouched(grad, sizeof grad) &&
						untouched(&report, sizeof report));
				after = all_values(a.m);
				CHECK_BITS(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before);
				CHECK_INT(odvgp_steps_done(a.m), steps);
				list[row * 2 + 1] = keep;
				CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &report, NULL), ODVGP_OK);
				CHECK_INT(report.step, steps + 1);
				CHECK_INT(report.events.step_undone, 0);
				free(before), free(after);
			}
	drop(&a);
}

/*  A noise floor that becomes infinite in the units of the data is refused, and the model is
    unchanged; half of the largest number is the limit. */
TEST(a_noise_floor_is_finite)
{
	odvgp_config c = config(20, 2, 1, 4, 5);
	fixture a;
	size_t bytes, again;
	void *file, *now;
	odvgp_real *large = NEW(odvgp_real, 20), noise = 0;
	int i;
	test_seed = 364;
	c.lik.noise_floor = (odvgp_real)(1e-3 * HUGE_REAL);
	a = make(&c);
	CHECK_STATUS(odvgp_get(a.m, "noise_variance", &noise, 1, NULL), ODVGP_OK);
	CHECK(noise > (odvgp_real)(1e-4 * HUGE_REAL) && all_finite(&noise, 1));
	file = save_file(a.m, NULL, "", &bytes);
	for (i = 0; i < 20; i++) large[i] = 1000 * a.Y[i];
	REFUSED(odvgp_init_data(a.m, a.X, large, NULL, &info), ODVGP_E_ARG);
	now = save_file(a.m, NULL, "", &again);
	CHECK_SAY(again == bytes && !memcmp(now, file, bytes), "something moved");
	CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	free(file), free(now), free(large);
	drop(&a);
}

/* ---- slots ---- */

/*  A name that does not fit is refused, not cut: two names that are cut at the same place would
    become equal. */
TEST(names_of_slots_are_not_cut)
{
	static const char *const longest = "kernel.31.lengthscale", *const longer =
																		"kernel.310.lengthscale";
	static odvgp_model model;
	static gp__unit unit;
	gp__params p;
	odvgp_slot slot[4];
	gp__slot_state state[4];
	memset(&p, 0, sizeof p);
	p.slot = slot, p.state = state, p.of = &unit;
	model.cfg.layers = 8, model.cfg.independent = 1;
	unit.model = &model, unit.layer = 7, unit.number = 7 + GP__MOST_UNITS - 1;
	gp__slot_add(&p, "kernel.0.lengthscale", 0, 1, 1, 1, 1);
	gp__slot_add(&p, longest, 0, 1, 2, 1, 1);
	CHECK(!strcmp(slot[2].name, "layer7.unit999.kernel.31.lengthscale"));
	CHECK(gp__slot_index(&p, slot[2].name) == 2 && !p.bad);
	gp__slot_add(&p, longer, 0, 1, 3, 1, 1);
	CHECK(p.bad);
}

/*  Names of slots without repeats; the number of a kernel's term is replaced by 0. */
enum { MOST_NAMES = 64 };

typedef struct names {
	char name[MOST_NAMES][32];
	int count;
} names;

static int has_name(const names *n, const char *name)
{
	int i;
	for (i = 0; i < n->count; i++)
		if (!strcmp(n->name[i], name)) return 1;
	return 0;
}

static void add_name(names *n, const char *from, size_t length)
{
	char name[32];
	size_t digits;
	if (!CHECK(length < sizeof name && n->count < MOST_NAMES)) return;
	memcpy(name, from, length);
	name[length] = 0;
	if (!strncmp(name, "kernel.", 7) && (digits = strspn(name + 7, "0123456789")) > 0) {
		memmove(name + 8, name + 7 + digits, strlen(name + 7 + digits) + 1);
		name[7] = '0';
	}
	if (!has_name(n, name)) strcpy(n->name[n->count++], name);
}

/*  Collects the quoted words of the comment of a field, `from`, of a struct in the header. */
static names read_names(const char *structure, const char *from)
{
	static char text[1 << 20];
	names n;
	char *at, *end, *close;
	FILE *f = fopen("odvgp.h", "rb");
	n.count = 0;
	CHECK_SAY(f != NULL, "the test must run in the folder of odvgp.h");
	if (!f) return n;
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	at = strstr(text, structure);
	at = at ? strstr(at, from) : NULL;
	if (!CHECK_SAY(at != NULL, "no field is %s", from)) return n;
	/* The comment stands above the declaration, or else behind it. */
	for (end = at; end > text && strchr(" \t\n", end[-1]); end--) {}
	if (end - text > 2 && end[-1] == '/' && end[-2] == '*')
		for (at = end -= 2; at > text && strncmp(at, "/*", 2); at--) {}
	else end = strstr(at, "*/");
	if (!CHECK_SAY(end != NULL, "no comment says what %s is", from)) return n;
	for (*end = 0; (at = strchr(at, '"')) != NULL && (close = strchr(at + 1, '"')) != NULL;
			at = close + 1)
		add_name(&n, at + 1, (size_t)(close - at - 1));
	return n;
}

/*  Collects the slots of every kernel, and of every member in each of its coordinates and mean
    functions. */
static names all_slot_names(void)
{
	names n;
	odvgp_config c = random_config(9, 1, 1, 2, 0);
	int kernel, mean, cov, param, function, gamma, i;
	n.count = 0;
	for (kernel = 0; kernel < GP__BASE_KERNEL_TYPES; kernel++)
		for (mean = 0; mean < GP__COUNT(gp__mean_parts); mean++)
			for (cov = 0; cov < GP__COUNT(gp__cov_parts); cov++)
				for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA;
						param++)
					for (function = ODVGP_MEAN_FUNCTION_ZERO;
							function <= ODVGP_MEAN_FUNCTION_LINEAR; function++)
						for (gamma = 0; gamma < 4; gamma += 3) {
							size_t bytes;
							void *block;
							odvgp_model *m;
							c.layer[0].kernel = gp__base_kernel_kinds[kernel].name;
							c.layer[0].mean_part = (odvgp_mean_part)mean;
							c.layer[0].cov_part = (odvgp_cov_part)cov;
							c.reproduce.parametrisation = (odvgp_parametrisation)param;
							c.layer[0].mean_function = (odvgp_mean_function)function;
							c.layer[0].M_gamma = gamma;
							c.functions = gamma > 0;
							/* Inducing patches of one pixel. */
							c.layer[0].patches.image_height = c.layer[0].patches.image_width =
									c.layer[0].patches.height = c.layer[0].patches.width =
											gamma > 0;
							c.optim.natgrad = 0;
							if (sized(&bytes, odvgp_model_size(&c, NULL), NULL)) continue;
							block = test_alloc(bytes);
							CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK);
							for (i = 0; i < odvgp_slot_count(m); i++)
								add_name(&n, odvgp_slot_at(m, i)->name,
										strlen(odvgp_slot_at(m, i)->name));
							free(block);
						}
	return n;
}

TEST(the_header_lists_all_slots_and_matrices)
{
	names said = read_names("typedef struct odvgp_slot {", "const char *name;"),
		  real = all_slot_names();
	names matrices = read_names("typedef struct odvgp_events {", "const char *matrix;");
	int i;
	for (i = 0; i < real.count; i++)
		CHECK_SAY(has_name(&said, real.name[i]), "the list does not have %s", real.name[i]);
	for (i = 0; i < said.count; i++)
		CHECK_SAY(has_name(&real, said.name[i]), "no model has %s", said.name[i]);
	for (i = 0; i < GP__JITTERS; i++)
		CHECK_SAY(has_name(&matrices, gp__jitter_matrices[i]), "%s gets jitter",
				gp__jitter_matrices[i]);
	CHECK_INT(matrices.count, GP__JITTERS);
	test_note("%d names", real.count);
}

TEST(slots_tell_the_truth)
{
	odvgp_config c = random_config(9, 3, 2, 4, 5);
	fixture a;
	int i;
	ptrdiff_t at = 0, j;
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	test_seed = 211;
	a = make_random(&c, random_kernels[0]);
	for (i = 0; i < odvgp_slot_count(a.m); i++) {
		const odvgp_slot *s = odvgp_slot_at(a.m, i);
		CHECK_INT(s->offset, at);
		CHECK_INT(s->count, s->shape[0] * s->shape[1] * s->shape[2]);
		CHECK(odvgp_slot_find(a.m, s->name) == s);
		CHECK(s->trainable == 1 &&
				s->natgrad == (!strcmp(s->name, "q_mu") || !strcmp(s->name, "q_sqrt")));
		at += s->count;
	}
	CHECK_INT(at, odvgp_param_count(a.m));
	CHECK(!odvgp_slot_at(a.m, -1) && !odvgp_slot_at(a.m, i) && !odvgp_slot_find(a.m, "kernel") &&
			!odvgp_slot_find(a.m, ""));
	{
		static const struct {
			const char *name;
			int dims;
			ptrdiff_t shape[3];
			int positive, lower;
		} want[] = {{"kernel.0.lengthscale", 1, {1, 1, 1}, 1, 0},
				{"kernel.0.variance", 1, {1, 1, 1}, 1, 0},
				{"kernel.1.lengthscale", 1, {3, 1, 1}, 1, 0},
				{"noise_variance", 1, {1, 1, 1}, 1, 0}, {"mean.A", 2, {3, 2, 1}, 0, 0},
				{"mean.b", 1, {2, 1, 1}, 0, 0}, {"Z_beta", 2, {4, 3, 1}, 0, 0},
				{"Z_gamma", 2, {5, 3, 1}, 0, 0}, {"a_gamma", 2, {2, 5, 1}, 0, 0},
				{"q_mu", 2, {2, 4, 1}, 0, 0}, {"q_sqrt", 3, {2, 4, 4}, 0, 1}};
		for (j = 0; j < (ptrdiff_t)(sizeof want / sizeof *want); j++) {
			const odvgp_slot *s = slot(&a, want[j].name);
			if (!CHECK_SAY(s != NULL, "no slot %s", want[j].name)) continue;
			CHECK_SAY(s->dims == want[j].dims &&
							  !memcmp(s->shape, want[j].shape, sizeof s->shape) &&
							  s->positive == want[j].positive && s->lower == want[j].lower,
					"shape of %s", want[j].name);
		}
	}
	{
		/* odvgp_get returns what odvgp_set was given, to the last bit. Elements above the
           diagonal are ignored, even NaN. */
		odvgp_real v[32], w[32];
		const odvgp_slot *q = slot(&a, "q_sqrt");
		for (j = 0; j < 32; j++)
			v[j] = j % 4 > j / 4 % 4 ? (odvgp_real)NAN : (odvgp_real)(0.1 * (double)j + 0.3);
		CHECK_STATUS(odvgp_set(a.m, "q_sqrt", v, q->count, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_get(a.m, "q_sqrt", w, q->count, NULL), ODVGP_OK);
		for (j = 0; j < 32; j++) CHECK(w[j] == (j % 4 > j / 4 % 4 ? 0 : v[j]));
		v[0] = (odvgp_real)1.2345678901234567e-7;
		CHECK_STATUS(odvgp_set(a.m, "noise_variance", v, 1, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_get(a.m, "noise_variance", w, 1, NULL), ODVGP_OK);
		CHECK(w[0] == v[0]);
	}
	drop(&a);
}

TEST(columns_are_standardised)
{
	double big = BY_PRECISION(1e300, 1e37), small = BY_PRECISION(1e-300, 1e-37);
	odvgp_real X[50 * 5], out[50 * 5], mean[5], scale[5];
	ptrdiff_t i, d;
	test_seed = 267;
	for (i = 0; i < 50; i++) {
		X[5 * i] = (odvgp_real)test_normal();
		X[5 * i + 1] = (odvgp_real)(big * test_between(-1, 1));
		X[5 * i + 2] = (odvgp_real)(small * test_between(1, 2));
		/* This column is constant. */
		X[5 * i + 3] = (odvgp_real)0.1;
		/* This column is constant up to rounding. */
		X[5 * i + 4] = (odvgp_real)(1 + (double)(i % 2) * EPS);
	}
	CHECK_STATUS(odvgp_column_scales(X, 50, 5, mean, scale, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_standardise(X, 50, 5, mean, scale, out, NULL), ODVGP_OK);
	for (d = 0; d < 5; d++) {
		double sum = 0, squares = 0;
		for (i = 0; i < 50; i++) sum += (double)out[5 * i + d] / 50;
		for (i = 0; i < 50; i++) squares += (double)out[5 * i + d] * (double)out[5 * i + d] / 50;
		CHECK_NEAR(sum, 0, 100 * EPS);
		CHECK_NEAR(squares, d < 3 ? 1 : 0, 1000 * EPS);
	}
	CHECK(scale[3] == 1 && scale[4] == 1 && mean[3] == (odvgp_real)0.1);
	for (i = 0; i < 50; i++) CHECK(out[5 * i + 3] == 0);
	/* The output may be the input. */
	CHECK_STATUS(odvgp_standardise(X, 50, 5, mean, scale, X, NULL), ODVGP_OK);
	CHECK_BITS(X, out, sizeof X);
	/* A single row has a spread of 0. */
	CHECK_STATUS(odvgp_column_scales(out, 1, 5, mean, scale, NULL), ODVGP_OK);
	CHECK_BITS(mean, out, sizeof mean);
	for (d = 0; d < 5; d++) CHECK(scale[d] == 1);
}

TEST(memory_grows_with_N_only_where_the_manual_says)
{
	static const struct {
		odvgp_objective objective;
		odvgp_mean_part mean;
		odvgp_cov_part cov;
		int grows;
	} row[] = {{ODVGP_OBJECTIVE_ELBO, ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 0},
			{ODVGP_OBJECTIVE_COLLAPSED, ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 0},
			{ODVGP_OBJECTIVE_COLLAPSED, ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 0},
			{ODVGP_OBJECTIVE_PARTLY, ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 0},
			{ODVGP_OBJECTIVE_TIGHT, ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 1},
			{ODVGP_OBJECTIVE_EXACT, ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, 1}};
	size_t i, bytes[2], k;
	for (i = 0; i < sizeof row / sizeof *row; i++) {
		for (k = 0; k < 2; k++) {
			/* More rows than initialisation looks at; squares of them must fit 32 bits. */
			ptrdiff_t N = (row[i].grows ? 500 : 5000) * (ptrdiff_t)(k + 1);
			odvgp_config c = odvgp_config_defaults(
					N, 1, 1, row[i].objective == ODVGP_OBJECTIVE_EXACT ? N : 4, 0);
			c.layer[0].M_gamma =
					row[i].mean == ODVGP_MEAN_PART_ORTH || row[i].mean == ODVGP_MEAN_PART_BLOCKS
							? 5
							: 0;
			c.layer[0].mean_part = row[i].mean;
			c.layer[0].cov_part = row[i].cov;
			c.objective = row[i].objective;
			c.optim.batch = row[i].objective == ODVGP_OBJECTIVE_ELBO ? 100 : N;
			CHECK_STATUS(sized(&bytes[k], odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
		}
		CHECK_SAY((bytes[0] < bytes[1]) == row[i].grows,
				"objective %d: %lu bytes, %lu for twice the rows", (int)row[i].objective,
				(unsigned long)bytes[0], (unsigned long)bytes[1]);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(bad_configs_are_refused);
	RUN(ranges_of_fields);
	RUN(structs_that_are_all_zero_have_their_defaults);
	RUN(shards_are_powers_of_two);
	RUN(rows_with_nan_are_named);
	RUN(info_names_the_culprit);
	RUN(bad_arguments_are_refused);
	RUN(bad_data_are_refused);
	RUN(a_noise_floor_is_finite);
	RUN(names_of_slots_are_not_cut);
	RUN(the_header_lists_all_slots_and_matrices);
	RUN(slots_tell_the_truth);
	RUN(columns_are_standardised);
	RUN(memory_grows_with_N_only_where_the_manual_says);
	return test_end();
}

/*  chaos.c - random configs, legal and illegal, through the whole life of a model.

        chaos FROM TO       runs the cases FROM to TO - 1. The number of a case determines all of
                            it, so that `chaos N N+1` repeats case N.

    Each case draws every field of odvgp_config (table `fields`, kernel expressions, schedules),
    sizes and data. It creates a model, trains it for 20 steps, freezes, predicts, saves, loads,
    and trains the loaded model with three tasks per operation beside the original, which has the
    threads that were drawn. The case checks:
      - odvgp_model_size and odvgp_model_init refuse a config with the same status and a sentence;
      - a call that fails leaves parameters and outputs as they were;
      - a call that returns OK gives finite numbers, and variances are not negative;
      - a saved model can be loaded, predicts the same bits, and training gives the same bits;
      - no call crashes, and no case takes more than 10 seconds of processor time, or 60 under
        sanitizers, which take thirty times as long.
    A worker process runs the cases. If it dies, its case counts as failed, and another worker
    continues with the next case. The program prints a line for each 1,000 cases and for each
    failure, with the case's config. */
#define _DEFAULT_SOURCE
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "../test.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	STEPS = 20,
	MORE_STEPS = 10,
	MOST_ROWS = 30,
	MOST_INPUTS = 3,
	MOST_OUTPUTS = 3,
	MOST_POINTS = 100,
	NEW_ROWS = 4,
#ifdef __SANITIZE_ADDRESS__
	SECONDS = 60,
#else
	SECONDS = 10,
#endif
	TEXT = 300
};
enum { REFUSED, NOT_STARTED, STOPPED, TRAINED, OUTCOMES };
static const char *const outcome_name[OUTCOMES] = {
		"refused", "not started", "stopped while training", "trained"};

/* ---- the case that runs ---- */

typedef struct drawn {
	odvgp_config cfg;
	char kernel[TEXT];
	odvgp_real X[MOST_ROWS * MOST_INPUTS], Y[MOST_ROWS * (MOST_OUTPUTS + 2)],
			new_X[NEW_ROWS * MOST_INPUTS];
	/* The kind of data. */
	const char *data;
	/* The name of the current model, for messages. */
	const char *who;
	/* The offset of blocks from an aligned address. */
	size_t misaligned;
	int failed;
} drawn;

static long case_number;

static int chance(double p) { return test_uniform() < p; }

static void print_config(const odvgp_config *c);
static void report_failure(drawn *d, const char *format, ...)
{
	va_list args;
	printf("case %ld: %s", case_number, d->who);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	if (!d->failed) print_config(&d->cfg);
	if (!d->failed) printf("    data: %s\n", d->data);
	d->failed = 1;
}
/*  Returns 1 if the promise holds. */
#define MUST(holds, ...) ((holds) ? 1 : (report_failure(d, __VA_ARGS__), 0))

/* ---- drawing a config ---- */

enum { SIZE, CHOICE, REAL, SCHEDULE };
#define FIELD(name) #name, offsetof(odvgp_config, name)
#define LAYER(name) #name, offsetof(odvgp_config, layer[0].name)
#define NONE \
	{ \
		0, 0, 0, 0 \
	}
static const double odd_reals[] = {-1, 0, 1e-300, 1e-30, 1e30, 1e300, HUGE_VAL, -HUGE_VAL, 1, 2};

/*  SIZE: drawn from low .. high. CHOICE: 0 .. high are legal. REAL: one of four values. */
static const struct field {
	const char *name;
	size_t at;
	int kind;
	ptrdiff_t low, high;
	double value[4];
} fields[] = {{FIELD(N), SIZE, 1, MOST_ROWS, NONE}, {LAYER(D), SIZE, 1, MOST_INPUTS, NONE},
		{LAYER(P), SIZE, 1, MOST_OUTPUTS, NONE}, {LAYER(M), SIZE, 1, 7, NONE},
		{LAYER(M_gamma), SIZE, 0, 9, NONE}, {FIELD(optim.batch), SIZE, 1, 2 * MOST_ROWS, NONE},
		{FIELD(tile), SIZE, 0, MOST_ROWS, NONE}, {FIELD(optim.gamma_batch), SIZE, 0, 10, NONE},
		{FIELD(kernel_cache_bytes), SIZE, 0, 2000, NONE},
		{FIELD(optim.lbfgs_memory), SIZE, 1, 12, NONE},
		{LAYER(mean_part), CHOICE, 0, GP__COUNT(gp__mean_parts) - 1, NONE},
		{LAYER(cov_part), CHOICE, 0, GP__COUNT(gp__cov_parts) - 1, NONE},
		{FIELD(objective), CHOICE, 0, ODVGP_OBJECTIVE_EXACT, NONE},
		{FIELD(independent), CHOICE, 0, 1, NONE},
		{FIELD(reproduce.parametrisation), CHOICE, 0, ODVGP_PARAMETRISATION_A_BETA, NONE},
		{FIELD(reproduce.gamma_coords), CHOICE, 0, ODVGP_GAMMA_COORDS_DIFFERENTIATED, NONE},
		{FIELD(reproduce.gamma_kl), CHOICE, 0, ODVGP_GAMMA_KL_COLUMNS, NONE},
		{FIELD(lik.kind), CHOICE, 0, ODVGP_LIKELIHOOD_COUNT - 1, NONE},
		{FIELD(lik.nodes), SIZE, 0, 30, NONE}, {FIELD(lik.classes), SIZE, 0, MOST_OUTPUTS, NONE},
		{FIELD(lik.link_jitter), REAL, 0, 0, {0, 1e-4, 1e-3, 0.1}},
		{LAYER(mean_function), CHOICE, 0, ODVGP_MEAN_FUNCTION_LINEAR, NONE},
		{FIELD(positive_transform), CHOICE, 0, ODVGP_POSITIVE_TRANSFORM_EXP, NONE},
		{FIELD(reproduce.q_init), CHOICE, 0, ODVGP_Q_INIT_IDENTITY, NONE},
		{FIELD(init.beta), CHOICE, 0, ODVGP_INIT_BETA_FARTHEST, NONE},
		{FIELD(init.gamma), CHOICE, 0, ODVGP_INIT_GAMMA_RESIDUAL, NONE},
		{FIELD(init.hyperparams), CHOICE, 0, ODVGP_INIT_HYPER_ULAPANE, NONE},
		{FIELD(optim.kind), CHOICE, 0, ODVGP_OPTIMIZER_LBFGS, NONE},
		{FIELD(optim.natgrad), CHOICE, 0, 1, NONE},
		{FIELD(reproduce.adam_eps_inside), CHOICE, 0, 1, NONE},
		{FIELD(optim.gamma_step), CHOICE, 0, ODVGP_GAMMA_STEP_EXACT, NONE},
		{FIELD(reproduce.blocks_step), CHOICE, 0, ODVGP_BLOCKS_STEP_ALTERNATE, NONE},
		{FIELD(reproduce.diag_step), CHOICE, 0, ODVGP_DIAG_STEP_PROJECTED_MU, NONE},
		{FIELD(reproduce.update), CHOICE, 0, ODVGP_UPDATE_ADAM_FIRST, NONE},
		{FIELD(isa), CHOICE, 0, ODVGP_ISA_SSE2, NONE},
		{FIELD(lik.noise_variance), REAL, 0, 0, {0, 1e-6, 0.1, 10}},
		{FIELD(jitter.absolute), REAL, 0, 0, {0, 0, 1e-6, 0.01}},
		{FIELD(jitter.relative), REAL, 0, 0, {0, 1e-6, 1e-4, 0.01}},
		{FIELD(jitter.max), REAL, 0, 0, {0, 1e-3, 0.01, 1}},
		{FIELD(optim.adam_beta1), REAL, 0, 0, {0, 0.5, 0.9, 0.99}},
		{FIELD(optim.adam_beta2), REAL, 0, 0, {0, 0.5, 0.99, 0.9999}},
		{FIELD(optim.adam_eps), REAL, 0, 0, {0, 1e-8, 1e-3, 1}},
		{FIELD(optim.gamma_step_ratio), REAL, 0, 0, {0.01, 0.1, 1, 10}},
		{FIELD(reproduce.gamma_eps), REAL, 0, 0, {0, 1e-6, 0.01, 1}},
		{FIELD(optim.natgrad_step), SCHEDULE, 0, 0, {0.01, 0.1, 0.5, 1}},
		{FIELD(optim.lr), SCHEDULE, 0, 0, {1e-4, 0.01, 0.1, 1}}};
enum { FIELDS = sizeof fields / sizeof *fields };

static odvgp_real draw_real(const double value[4], double odd)
{
	if (!chance(odd))
		return (odvgp_real)(value[test_below(4)] * (chance(0.5) ? 1 : test_between(0.5, 1)));
	if (chance(0.1)) return (odvgp_real)(HUGE_VAL - HUGE_VAL);
	return (odvgp_real)odd_reals[test_below((ptrdiff_t)(sizeof odd_reals / sizeof *odd_reals))];
}

static odvgp_schedule draw_schedule(const double value[4], double odd)
{
	odvgp_schedule s =
			odvgp_falling(draw_real(value, odd), draw_real(value, odd), 1 + test_below(30));
	s.kind = (odvgp_schedule_kind)(chance(odd) ? 3 : test_below(3));
	if (chance(0.3)) {
		s.final = draw_real(value, odd);
		s.decay_from = s.steps + test_below(5) - chance(odd) * 10;
		s.decay_steps = test_below(10) - chance(odd) * 20;
	}
	if (chance(odd)) s.steps = test_below(3) - 1;
	return s;
}

static void draw_field(odvgp_config *c, const struct field *f, double odd)
{
	static const ptrdiff_t odd_sizes[] = {
			-1, 0, 1000, PTRDIFF_MAX, PTRDIFF_MIN, (ptrdiff_t)1 << 30, PTRDIFF_MAX / 64};
	char *to = (char *)c + f->at;
	if (f->kind == SIZE) {
		ptrdiff_t v =
				chance(odd) ? odd_sizes[test_below(7)] : f->low + test_below(f->high - f->low + 1);
		memcpy(to, &v, sizeof v);
	} else if (f->kind == CHOICE) {
		int v = chance(odd) ? (chance(0.5) ? -1 : (int)f->high + 1) : (int)test_below(f->high + 1);
		memcpy(to, &v, sizeof v);
	} else if (f->kind == REAL) {
		odvgp_real v = draw_real(f->value, odd);
		memcpy(to, &v, sizeof v);
	} else {
		odvgp_schedule v = draw_schedule(f->value, odd / 4);
		memcpy(to, &v, sizeof v);
	}
}

static void print_schedule(const char *name, const odvgp_schedule *s)
{
	printf(" %s={%d %.9g %.9g %ld, %.9g %ld %ld}", name, (int)s->kind, (double)s->start,
			(double)s->end, (long)s->steps, (double)s->final, (long)s->decay_from,
			(long)s->decay_steps);
}
static void print_config(const odvgp_config *c)
{
	int i;
	printf("   ");
	for (i = 0; i < FIELDS; i++) {
		const char *from = (const char *)c + fields[i].at;
		ptrdiff_t size;
		odvgp_real real;
		odvgp_schedule schedule;
		int choice;
		if (fields[i].kind == SIZE)
			memcpy(&size, from, sizeof size), printf(" %s=%ld", fields[i].name, (long)size);
		if (fields[i].kind == CHOICE)
			memcpy(&choice, from, sizeof choice), printf(" %s=%d", fields[i].name, choice);
		if (fields[i].kind == REAL)
			memcpy(&real, from, sizeof real), printf(" %s=%.9g", fields[i].name, (double)real);
		if (fields[i].kind == SCHEDULE)
			memcpy(&schedule, from, sizeof schedule), print_schedule(fields[i].name, &schedule);
	}
	printf(" seed=%llu threads=%s%d\n    kernel=%s\n", (unsigned long long)c->seed,
			c->threads.run ? "mixed " : "", c->threads.count,
			c->layer[0].kernel ? c->layer[0].kernel : "NULL");
}

/* ---- kernel expressions ---- */

static void append(char *text, const char *more)
{
	size_t n = strlen(text);
	snprintf(text + n, TEXT - n, "%s", more);
}
static void append_number(char *text, const char *key)
{
	static const double value[] = {0.3, 1, 2.5, 1e-3, 1e3};
	char number[60];
	snprintf(number, sizeof number, "%s%.9g", key,
			chance(0.9) ? value[test_below(3)] * test_between(0.5, 1) : value[test_below(5)]);
	append(text, number);
}
static void draw_term(char *text, ptrdiff_t D)
{
	static const char *const radial[] = {"rbf", "matern12", "matern32", "matern52", "rq",
			"periodic", "additive", "laplacian"},
							 *const other[] = {"linear", "polynomial", "constant", "white"};
	ptrdiff_t k = test_below(12);
	int has_values = chance(0.6);
	char more[60];
	append(text, k < 8 ? radial[k] : other[k - 8]);
	append(text, "(");
	if (has_values) append_number(text, "");
	if (k < 8 && has_values && chance(0.4)) append_number(text, ",variance=");
	if (k == 4 && chance(0.5))
		append_number(text, has_values ? ",alpha=" : "alpha="), has_values = 1;
	if (k == 5 && chance(0.5))
		append_number(text, has_values ? ",period=" : "period="), has_values = 1;
	if (k == 9) append(text, has_values ? ",degree=2" : "degree=3"), has_values = 1;
	if (k <= 8 && chance(0.4)) {
		append(text, has_values ? ",ard" : "ard"), has_values = 1;
		if (D > 1 && D < 9 && chance(0.3)) {
			append(text, chance(0.5) ? "=0:2" : "=1");
			append(text, ")");
			return;
		}
	}
	if (k < 10 && chance(0.3)) {
		snprintf(more, sizeof more, "%sdims=%ld", has_values ? "," : "",
				(long)test_below(D > 0 && D < 9 ? D : 1));
		append(text, more);
		has_values = 1;
	}
	append(text, ")");
	while ((k = (ptrdiff_t)strlen(text)) > 1 && text[k - 1] == ')' && text[k - 2] == '(')
		text[k - 2] = 0;
}
static void draw_kernel(char *text, ptrdiff_t D, double odd)
{
	static const char *const wrong[] = {"", "rbf(", "rbf(-1)", "rbf(nan)", "rbf(1e999)", "foo",
			"rbf+", "rbf(dims=9)", "rbf(ard=0:9)", "rbf(dims=2:1)", "(rbf", "rbf)", "linear(dims=)",
			"white", "rbf*rbf*rbf*rbf*rbf*rbf*rbf*rbf*rbf", "rbf(1e-300)", "rbf(1e300)",
			"polynomial(1,degree=99)", "constant(0)", "rbf(1,variance=1e-300)"};
	ptrdiff_t terms = 1 + (chance(0.4) ? test_below(3) : 0);
	int grouped = 0;
	text[0] = 0;
	if (chance(odd)) {
		append(text, wrong[test_below((ptrdiff_t)(sizeof wrong / sizeof *wrong))]);
		return;
	}
	while (terms--) {
		if (terms && !grouped && chance(0.3)) append(text, "("), grouped = 1;
		draw_term(text, D);
		if (grouped == 1 && chance(0.6)) append(text, ")"), grouped = 2;
		if (terms) append(text, chance(0.5) ? "+" : "*");
	}
	if (grouped == 1) append(text, ")");
}

/* ---- likelihoods ---- */

/*  A likelihood, with the fields that it allows. */
static void draw_likelihood(odvgp_config *c)
{
	ptrdiff_t *P = &c->layer[0].P;
	int gaussian = chance(0.6), flags;
	c->lik.kind = (odvgp_likelihood)(gaussian ? 0 : 1 + test_below(ODVGP_LIKELIHOOD_COUNT - 1));
	flags = gp__likelihoods[c->lik.kind].flags;
	c->lik.nodes = gaussian ? 0 : test_below(12);
	c->lik.classes = 0;
	c->lik.link_jitter = 0;
	c->lik.weights = chance(0.2);
	c->lik.exposure = c->lik.known_noise = c->lik.noise_per_output = 0;
	if (gaussian) {
		c->lik.known_noise = chance(0.2);
		c->lik.noise_per_output = c->objective == ODVGP_OBJECTIVE_ELBO && chance(0.2);
		return;
	}
	if (flags & GP__LIK_EXPOSURE) c->lik.exposure = chance(0.4);
	c->lik.noise_variance = c->lik.noise_floor = 0;
	c->lik.missing = chance(0.1);
	c->objective = ODVGP_OBJECTIVE_ELBO;
	if (flags & GP__LIK_CLASSES && flags & GP__LIK_FACTORS)
		*P = 1, c->lik.classes = 2 + test_below(2);
	else if (flags & GP__LIK_CLASSES) *P = 2 + test_below(MOST_OUTPUTS - 1);
	else if (!(flags & GP__LIK_FACTORS)) *P = 2;
	if (flags & GP__LIK_LINK) c->lik.link_jitter = (odvgp_real)(chance(0.5) ? 0 : 1e-3);
}

/*  NULL if the config names none. */
static const gp__likelihood *likelihood_of(const odvgp_config *c)
{
	size_t kind = (size_t)c->lik.kind;
	return kind < (size_t)ODVGP_LIKELIHOOD_COUNT ? &gp__likelihoods[kind] : NULL;
}

/*  A target that the likelihood allows, from any finite number. */
static double allowed(const odvgp_config *c, double y)
{
	const gp__likelihood *lik = likelihood_of(c);
	double size = fabs(y);
	if (!lik) return y;
	if (lik->flags & GP__LIK_CLASSES)
		return floor(fmod(3 * size, (double)gp__classes(lik, c->layer[0].P, c->lik.classes)));
	if (lik->whole) return lik->most == 1 ? y > 0 : floor(fmin(5 * size, 1e6));
	if (lik->least == -DBL_MAX) return y;
	return lik->most <= 1 ? 0.5 + 0.4 * sin(y) : size + 1e-3;
}

/* ---- data ---- */

/*  Most data are smooth functions with noise; some are inputs that break naive code. */
/*  Spreads the targets, and writes weights, exposure or noise behind those of each row. */
static void draw_rows(drawn *d)
{
	const odvgp_config *c = &d->cfg;
	ptrdiff_t T, C, i, t, P = c->layer[0].P, least = c->objective == ODVGP_OBJECTIVE_EXACT;
	if (P < 1 || P > MOST_OUTPUTS || !likelihood_of(c)) return;
	T = gp__lik_targets(likelihood_of(c), P);
	C = T + c->lik.weights + (c->lik.exposure || c->lik.known_noise);
	for (i = MOST_ROWS; i-- > 0 && C > T;) {
		for (t = T; t-- > 0;) d->Y[i * C + t] = d->Y[i * T + t];
		if (c->lik.weights) d->Y[i * C + T] = (odvgp_real)(double)(least + test_below(3));
		if (C > T + c->lik.weights) d->Y[i * C + C - 1] = (odvgp_real)test_between(0.2, 3);
	}
}

static void draw_data(drawn *d)
{
	static const char *const kinds[] = {"smooth", "equal rows", "constant targets",
			"a constant column", "small", "large", "far from 0", "a NaN in X", "an infinity in Y",
			"enormous"};
	ptrdiff_t D = MOST_INPUTS, i, kind = chance(0.6) ? 0 : test_below(10);
	double scale = kind == 4   ? 1e-6
				   : kind == 5 ? 1e5
				   : kind == 9 ? BY_PRECISION(1e100, 1e18)
							   : 1,
		   shift = kind == 6 ? 1e4 : 0;
	d->data = kinds[kind];
	for (i = 0; i < MOST_ROWS * D; i++) d->X[i] = (odvgp_real)(scale * test_between(-2, 2) + shift);
	for (i = 0; i < NEW_ROWS * D; i++)
		d->new_X[i] = (odvgp_real)(scale * test_between(-3, 3) + shift);
	for (i = 0; i < MOST_ROWS * MOST_OUTPUTS; i++)
		d->Y[i] = (odvgp_real)(scale * (sin((double)d->X[i % (MOST_ROWS * D)] / scale) +
											   0.2 * test_normal()) +
							   shift);
	if (kind == 1)
		for (i = 0; i < MOST_ROWS * D; i++) d->X[i] = (odvgp_real)(double)(i % 6 < 3 ? 1 : 2);
	if (kind == 2)
		for (i = 0; i < MOST_ROWS * MOST_OUTPUTS; i++) d->Y[i] = 3;
	if (kind == 3)
		for (i = 0; i<MOST_ROWS * D; i += d->cfg.layer[0].D> 0 && d->cfg.layer[0].D <= D
							? d->cfg.layer[0].D
							: 1)
			d->X[i] = 5;
	for (i = 0; i < MOST_ROWS * MOST_OUTPUTS; i++)
		d->Y[i] = (odvgp_real)allowed(&d->cfg, (double)d->Y[i]);
	draw_rows(d);
	if (kind == 7) d->X[test_below(20)] = (odvgp_real)(HUGE_VAL - HUGE_VAL);
	if (kind == 8) d->Y[test_below(20)] = (odvgp_real)HUGE_VAL;
}

/*  In most cases, replaces an unsupported pair of options by a legal one: the field that the
    library names gets its default. */
static void make_legal(odvgp_config *c)
{
	int i, k;
	for (i = 0; i < 6; i++) {
		size_t bytes;
		odvgp_info info;
		odvgp_config defaults = odvgp_config_defaults(
				c->N, c->layer[0].D, c->layer[0].P, c->layer[0].M, c->layer[0].M_gamma);
		if (sized(&bytes, odvgp_model_size(c, &info), &info) != ODVGP_E_UNSUPPORTED) return;
		defaults.optim.natgrad = 0;
		if (!strcmp(info.what, "optim.batch")) defaults.optim.batch = c->N;
		for (k = 0; k < FIELDS; k++)
			if (!strcmp(info.what, fields[k].name)) {
				size_t n = fields[k].kind == SIZE ? sizeof(ptrdiff_t) : sizeof(int);
				memcpy((char *)c + fields[k].at, (char *)&defaults + fields[k].at, n);
			}
	}
}

static void draw_case(drawn *d, long number)
{
	static const int counts[] = {-1, 0, 1, 2, 3, 7, 300};
	double odd;
	int i;
	memset(d, 0, sizeof *d);
	test_seed = (uint64_t)number * UINT64_C(0xd1342543de82ef95) + 11;
	odd = chance(0.25) ? 0.03 : 0;
	d->cfg = odvgp_config_defaults(1, 1, 1, 1, 1);
	for (i = 0; i < FIELDS; i++)
		if (fields[i].kind == SIZE || chance(0.6)) draw_field(&d->cfg, &fields[i], odd);
	if (chance(0.3)) d->cfg.optim.batch = d->cfg.N;
	if (chance(0.3)) d->cfg.objective = ODVGP_OBJECTIVE_ELBO;
	if (d->cfg.objective == ODVGP_OBJECTIVE_EXACT && chance(0.7)) {
		d->cfg.layer[0].mean_part = ODVGP_MEAN_PART_FREE,
		d->cfg.layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
		d->cfg.layer[0].M_gamma = 0, d->cfg.layer[0].M = d->cfg.optim.batch = d->cfg.N;
	}
	if (!odd || chance(0.5)) draw_likelihood(&d->cfg);
	draw_kernel(d->kernel, d->cfg.layer[0].D, odd ? 0.2 : 0);
	d->cfg.layer[0].kernel = chance(odd) ? NULL : d->kernel;
	d->cfg.seed = test_bits();
	d->cfg.threads.run = chance(0.5) ? run_mixed : NULL;
	d->cfg.threads.count = counts[test_below(7)];
	if (chance(0.9)) make_legal(&d->cfg);
	draw_data(d);
	d->who = "";
	d->misaligned = (size_t)test_below(17);
}

/* ---- calls and what they promise ---- */

static odvgp_real *values_of(const odvgp_model *m)
{
	odvgp_real *v = NEW(odvgp_real, odvgp_param_count(m));
	int s;
	for (s = 0; s < odvgp_slot_count(m); s++) {
		const odvgp_slot *t = odvgp_slot_at(m, s);
		if (t->count && odvgp_get(m, t->name, v + t->offset, t->count, NULL))
			memset(v + t->offset, 0xff, (size_t)t->count * sizeof *v);
	}
	return v;
}
static int same_values(const odvgp_model *m, const odvgp_real *before)
{
	odvgp_real *v = values_of(m);
	int same = !memcmp(v, before, (size_t)odvgp_param_count(m) * sizeof *v);
	free(v);
	return same;
}
/*  Returns 1 if all values are finite, and positive in positive slots. */
static int finite_values(const odvgp_model *m)
{
	odvgp_real *v = values_of(m);
	int good = gp__finite(v, odvgp_param_count(m)), i;
	ptrdiff_t k;
	for (i = 0; i < odvgp_slot_count(m); i++)
		for (k = 0; k < odvgp_slot_at(m, i)->count && odvgp_slot_at(m, i)->positive; k++)
			good &= v[odvgp_slot_at(m, i)->offset + k] > 0;
	free(v);
	return good;
}

/*  Returns 1 for errors that depend on numbers; all others are reported before. */
static int numeric(odvgp_status s) { return s == ODVGP_E_NAN || s == ODVGP_E_NOT_PD; }

/*  A call on a legal model returns OK, or a numeric error with a sentence and without changing a
    parameter of m. */
static int judge(drawn *d, const char *call, odvgp_status s, const odvgp_info *info,
		const odvgp_model *m, const odvgp_real *before)
{
	if (!s)
		return MUST(finite_values(m), "%s returns OK and parameters are not finite, or not above 0",
				call);
	return MUST(numeric(s), "%s returns \"%s\": %s", call, odvgp_status_text(s), info->text) &
		   MUST(info->status == s && info->text[0], "%s returns \"%s\" and says \"%s\": %s", call,
				   odvgp_status_text(s), odvgp_status_text(info->status), info->text) &
		   MUST(same_values(m, before), "%s returns \"%s\" and changed parameters: %s", call,
				   odvgp_status_text(s), info->text);
}

/*  Returns 1 if the config is legal and small enough to be run. */
static int check_size(drawn *d, size_t *bytes)
{
	char small[16384];
	odvgp_model *m = (odvgp_model *)small;
	odvgp_info info, again;
	odvgp_status s, t;
	*bytes = 12345;
	s = sized(bytes, odvgp_model_size(&d->cfg, &info), &info);
	t = odvgp_model_init(&m, &d->cfg, small, sizeof small, &again);
	if (!MUST(m == NULL, "odvgp_model_init fails and *model is not NULL")) return 0;
	if (s) {
		MUST(*bytes == 12345, "odvgp_model_size fails and wrote its output");
		MUST(s == t, "odvgp_model_size says \"%s\", odvgp_model_init \"%s\"", odvgp_status_text(s),
				odvgp_status_text(t));
		MUST(info.status == s && info.text[0] && info.what,
				"odvgp_model_size fails without a sentence");
		return 0;
	}
	MUST(t == ODVGP_E_MEMORY, "odvgp_model_init in 64 bytes says \"%s\"", odvgp_status_text(t));
	return d->cfg.N <= MOST_ROWS && d->cfg.layer[0].D <= MOST_INPUTS &&
		   d->cfg.layer[0].P <= MOST_OUTPUTS && d->cfg.layer[0].M <= MOST_POINTS &&
		   d->cfg.layer[0].M_gamma <= MOST_POINTS && *bytes < (size_t)1 << 26;
}

/*  Draws bounds, priors and frozen slots, with names that exist and names that do not. */
static void draw_extras(drawn *d, odvgp_model *m)
{
	static const char *const names[] = {"kernel.*", "noise_variance", "kernel.0.variance", "q_mu",
			"Z_*", "q_diag", "a_gamma", "*", "none", ""};
	odvgp_real *before = values_of(m);
	if (chance(0.2)) {
		const char *name = names[test_below(10)];
		odvgp_real low = (odvgp_real)(chance(0.9) ? test_between(0, 0.1) : -1),
				   high = (odvgp_real)(chance(0.5)   ? HUGE_VAL
									   : chance(0.9) ? test_between(0.5, 5)
													 : 0);
		if (odvgp_set_bounds(m, name, low, high, NULL))
			MUST(same_values(m, before), "odvgp_set_bounds fails and changed parameters");
	}
	if (chance(0.2))
		odvgp_set_prior(m, names[test_below(10)], (odvgp_prior)test_below(4),
				(odvgp_real)test_between(-0.1, 2), (odvgp_real)test_between(-0.1, 2), NULL);
	if (chance(0.2)) odvgp_set_trainable(m, names[test_below(10)], (int)test_below(3) - 1, NULL);
	if (chance(0.1))
		odvgp_set_trainable(m, "kernel.*", 0, NULL), odvgp_set_trainable(m, "Z_*", 0, NULL);
	MUST(finite_values(m), "parameters are not finite, or not above 0, after odvgp_set_bounds");
	free(before);
}

/*  Checks the report of a step that succeeded. */
static void check_report(drawn *d, const odvgp_model *m, const odvgp_report *r)
{
	MUST(r->step == odvgp_steps_done(m), "report.step is %ld after %ld steps", (long)r->step,
			(long)odvgp_steps_done(m));
	MUST(gp__finite(&r->elbo, 1) && gp__finite(&r->kl, 1) && gp__finite(&r->expected_loglik, 1),
			"odvgp_step returns OK and bound %g, KL %g, likelihood %g", (double)r->elbo,
			(double)r->kl, (double)r->expected_loglik);
}

static odvgp_status one_step(const drawn *d, odvgp_model *m, odvgp_report *r, odvgp_info *info)
{
	if (d->cfg.N > 1 && d->cfg.seed % 8 == 0 && odvgp_model_config(m)->optim.batch < d->cfg.N)
		return odvgp_step_batch(m, d->X, d->Y, d->cfg.N / 2, r, info);
	return odvgp_step(m, d->X, d->Y, r, info);
}

/*  Computes mean, var, var_y [P,NEW_ROWS] each. All calls to predictors are here. Returns the
    status of freezing. */
static odvgp_status predict_rows(drawn *d, odvgp_model *m, odvgp_real *out)
{
	size_t bytes = odvgp_predictor_size(m, NULL), need;
	ptrdiff_t n = d->cfg.layer[0].P * NEW_ROWS, of_y, i;
	/* y is f plus noise: its variance is no smaller. */
	int adds = d->cfg.lik.kind == ODVGP_LIKELIHOOD_GAUSSIAN ||
			   d->cfg.lik.kind == ODVGP_LIKELIHOOD_STUDENTT ||
			   d->cfg.lik.kind == ODVGP_LIKELIHOOD_LAPLACE;
	/* These blocks are aligned for a real. */
	size_t shift = d->misaligned / sizeof(odvgp_real) * sizeof(odvgp_real);
	unsigned char *block = NEW(unsigned char, bytes + shift);
	odvgp_real *before = values_of(m), bad[NEW_ROWS * MOST_INPUTS],
			   keep[3 * MOST_OUTPUTS * NEW_ROWS];
	odvgp_server server, *p = &server;
	odvgp_info info;
	odvgp_status s, t, u;
	memset(p, 0, sizeof *p);
	s = serve(m, NULL, block + shift, bytes, p, &info);
	judge(d, "odvgp_freeze", s, &info, m, before);
	memset(out, 0x5a, (size_t)(3 * n) * sizeof *out);
	memcpy(keep, out, sizeof keep);
	if (s) MUST(p->block == NULL, "odvgp_freeze fails and wrote its output");
	else {
		void *scratch;
		of_y = p->y_rows * NEW_ROWS;
		need = odvgp_predict_scratch(p, 2, NULL);
		scratch = test_alloc(need);
		memcpy(bad, d->new_X, sizeof bad);
		bad[d->cfg.layer[0].D - 1] = (odvgp_real)(HUGE_VAL - HUGE_VAL);
		t = odvgp_predict(p, bad, NEW_ROWS, out, out + n, scratch, need, NULL);
		if (t == ODVGP_E_NAN)
			t = odvgp_predict_y(p, bad, NEW_ROWS, NULL, out + 2 * n, scratch, need, NULL);
		MUST(t == ODVGP_E_NAN && !memcmp(out, keep, (size_t)(3 * n) * sizeof *out),
				"odvgp_predict at NaN says \"%s\", or wrote its outputs", odvgp_status_text(t));
		t = odvgp_predict(p, d->new_X, NEW_ROWS, out, out + n, scratch, need, NULL);
		u = odvgp_predict_y(p, d->new_X, NEW_ROWS, NULL, out + 2 * n, scratch, need, NULL);
		if (!t) t = u;
		if (t) {
			MUST(t == ODVGP_E_NAN && !gp__finite(out, 2 * n + of_y),
					"odvgp_predict says \"%s\", and mean %g, var %g, var_y %g for the first row",
					odvgp_status_text(t), (double)out[0], (double)out[n], (double)out[2 * n]);
		} else {
			MUST(gp__finite(out, 2 * n + of_y),
					"odvgp_predict returns OK and mean %g, var %g, var_y %g for the first row",
					(double)out[0], (double)out[n], (double)out[2 * n]);
			for (i = 0; i < of_y; i++)
				MUST(!(out[n + i % n] < 0) && !(out[2 * n + i] < (adds ? out[n + i] : 0)),
						"variances %g of f and %g of y", (double)out[n + i % n],
						(double)out[2 * n + i]);
		}
		free(scratch);
	}
	free(block), free(before);
	return s;
}

/* ---- calls between steps ---- */

/*  The bound must not depend on whether its gradient is requested. Returns the bound, or 1 if
    there is none. */
static odvgp_real look_at_bound(drawn *d, odvgp_model *m)
{
	ptrdiff_t n = odvgp_param_count(m);
	odvgp_real *before = values_of(m), *grad = NEW(odvgp_real, n), *keep = NEW(odvgp_real, n),
			   v[4] = {1, 1, 1, 1};
	odvgp_info info;
	odvgp_status s = odvgp_elbo(m, d->X, d->Y, d->cfg.N, &v[0], &v[1], NULL, &info), t;
	memset(grad, 0x5a, (size_t)n * sizeof *grad);
	memcpy(keep, grad, (size_t)n * sizeof *grad);
	t = odvgp_elbo(m, d->X, d->Y, d->cfg.N, &v[2], &v[3], grad, &info);
	judge(d, "odvgp_elbo", t, &info, m, before);
	MUST(same_values(m, before), "odvgp_elbo changed parameters");
	if (!s)
		MUST(gp__finite(v, 2), "odvgp_elbo returns OK and bound %g, KL %g", (double)v[0],
				(double)v[1]);
	if (!t)
		MUST(!s && !memcmp(v, v + 2, 2 * sizeof *v),
				"bound %.17g, KL %.17g, and with the gradient %.17g, %.17g", (double)v[0],
				(double)v[1], (double)v[2], (double)v[3]);
	if (!t) MUST(gp__finite(grad, n), "odvgp_elbo returns OK and a gradient that is not finite");
	if (s) MUST(v[0] == 1 && v[1] == 1, "odvgp_elbo fails and wrote its outputs");
	if (t)
		MUST(v[2] == 1 && v[3] == 1 && !memcmp(grad, keep, (size_t)n * sizeof *grad),
				"odvgp_elbo fails and wrote its outputs");
	free(before), free(grad), free(keep);
	return v[2];
}

static void look_at_upper_bound(drawn *d, odvgp_model *m)
{
	size_t bytes = odvgp_fit_q_scratch(m, NULL);
	void *scratch = test_alloc(bytes);
	odvgp_real *before = values_of(m), upper = 1, lower = 1;
	odvgp_info info;
	odvgp_status s = odvgp_upper_bound(m, d->X, d->Y, &upper, &lower, scratch, bytes, &info);
	if (s == ODVGP_E_UNSUPPORTED)
		MUST(same_values(m, before), "odvgp_upper_bound refuses and changed parameters");
	else judge(d, "odvgp_upper_bound", s, &info, m, before);
	if (s) MUST(upper == 1 && lower == 1, "odvgp_upper_bound fails and wrote its outputs");
	else
		MUST(gp__finite(&upper, 1) && gp__finite(&lower, 1) &&
						(double)(lower - upper) <=
								64 * EPS * (fabs((double)lower) + (double)d->cfg.N),
				"odvgp_upper_bound gives %.9g above and %.9g below", (double)upper, (double)lower);
	free(scratch), free(before);
}

static void step_of_q(drawn *d, odvgp_model *m)
{
	odvgp_real *before = values_of(m), elbo = 1;
	odvgp_info info;
	odvgp_status s = odvgp_natgrad_step(
			m, d->X, d->Y, d->cfg.N, (odvgp_real)(1 - test_uniform()), &elbo, &info);
	if (s == ODVGP_E_UNSUPPORTED || s == ODVGP_E_ARG)
		MUST(!odvgp_model_config(m)->optim.natgrad && same_values(m, before),
				"odvgp_natgrad_step: %s", info.text);
	else judge(d, "odvgp_natgrad_step", s, &info, m, before);
	if (s) MUST(elbo == 1, "odvgp_natgrad_step fails and wrote its output");
	free(before);
}

static void start_q(drawn *d, odvgp_model *m)
{
	odvgp_real *before = values_of(m);
	odvgp_info info;
	odvgp_status s = odvgp_init_q(m, &info);
	judge(d, "odvgp_init_q", s, &info, m, before);
	free(before);
}

static void other_call(drawn *d, odvgp_model *m)
{
	odvgp_real rows[3 * MOST_OUTPUTS * NEW_ROWS];
	switch (test_below(5)) {
	case 0: look_at_bound(d, m); break;
	case 1: look_at_upper_bound(d, m); break;
	case 2: step_of_q(d, m); break;
	case 3: start_q(d, m); break;
	default:
		/* Other objectives must call odvgp_fit_q first. */
		if (d->cfg.objective == ODVGP_OBJECTIVE_ELBO) predict_rows(d, m, rows);
	}
}

/*  The bound of all rows with these values in a copy of m; -HUGE_VAL if there is none. */
static double bound_with(const drawn *d, const odvgp_model *m, const odvgp_real *values)
{
	size_t bytes = odvgp_model_size(&d->cfg, NULL);
	void *block = test_alloc(bytes);
	odvgp_model *copy;
	odvgp_real bound;
	odvgp_status s = odvgp_model_copy(&copy, m, block, bytes, NULL);
	int i;
	for (i = 0; !s && i < odvgp_slot_count(m); i++) {
		const odvgp_slot *t = odvgp_slot_at(m, i);
		if (t->count) s = odvgp_set(copy, t->name, values + t->offset, t->count, NULL);
	}
	if (!s) s = odvgp_elbo(copy, d->X, d->Y, d->cfg.N, &bound, NULL, NULL, NULL);
	free(block);
	return s ? -HUGE_VAL : (double)bound;
}

/*  A step that fails moves nothing, but that the last of many undone updates stays undone: the
    bound is higher then. */
static void judge_step(drawn *d, odvgp_status s, const odvgp_info *info, const odvgp_model *m,
		const odvgp_real *before, uint64_t undone)
{
	odvgp_real *now = values_of(m);
	if (!s || odvgp_model_events(m).step_undone == undone)
		judge(d, "odvgp_step", s, info, m, before);
	else {
		judge(d, "odvgp_step", s, info, m, now);
		MUST(bound_with(d, m, now) > bound_with(d, m, before),
				"odvgp_step fails, undoes an update, and the bound is no higher: %s", info->text);
	}
	free(now);
}

/*  Ends early if a step fails twice. */
static int train(drawn *d, odvgp_model *m, int steps)
{
	int failures = 0;
	while (steps-- && failures < 2 && !d->failed) {
		odvgp_real *before = values_of(m);
		odvgp_report r, untouched;
		odvgp_info info;
		odvgp_status s;
		uint64_t undone = odvgp_model_events(m).step_undone;
		memset(&r, 0x5a, sizeof r);
		untouched = r;
		s = one_step(d, m, &r, &info);
		judge_step(d, s, &info, m, before, undone);
		if (s) MUST(!memcmp(&r, &untouched, sizeof r), "odvgp_step fails and wrote its report");
		else check_report(d, m, &r);
		failures += s != ODVGP_OK;
		if (!d->failed && chance(0.05)) other_call(d, m);
		free(before);
	}
	return !failures;
}

/*  Sets q for a bound without q, which is needed before freezing. */
static int fit_q(drawn *d, odvgp_model *m)
{
	size_t bytes = odvgp_fit_q_scratch(m, NULL);
	void *work = test_alloc(bytes);
	odvgp_real *before = values_of(m);
	odvgp_info info;
	odvgp_status s = odvgp_fit_q(m, d->X, d->Y, NULL, work, bytes, &info);
	int ok = s == ODVGP_E_UNSUPPORTED
					 ? MUST(same_values(m, before), "odvgp_fit_q refuses and changed parameters")
					 : judge(d, "odvgp_fit_q", s, &info, m, before);
	free(work), free(before);
	return ok && (!s || s == ODVGP_E_UNSUPPORTED);
}

static int same_slots(const odvgp_model *a, const odvgp_model *b)
{
	int i;
	if (odvgp_slot_count(a) != odvgp_slot_count(b)) return 0;
	for (i = 0; i < odvgp_slot_count(a); i++) {
		const odvgp_slot *s = odvgp_slot_at(a, i), *t = odvgp_slot_at(b, i);
		if (strcmp(s->name, t->name) || s->count != t->count || s->offset != t->offset ||
				s->trainable != t->trainable || s->natgrad != t->natgrad)
			return 0;
	}
	return 1;
}

/*  Trains the original and the loaded model side by side; both must give the same bits. */
static void train_twins(drawn *d, odvgp_model *m, odvgp_model *twin)
{
	int i;
	for (i = 0; i < MORE_STEPS && !d->failed; i++) {
		odvgp_report r, q;
		odvgp_info info, twin_info;
		odvgp_status s, t;
		odvgp_real *v;
		memset(&r, 0, sizeof r), memset(&q, 0, sizeof q);
		s = one_step(d, m, &r, &info);
		t = one_step(d, twin, &q, &twin_info);
		v = values_of(m);
		MUST(s == t, "step %d after loading: \"%s\", and \"%s\" for the loaded model", i + 1,
				odvgp_status_text(s), odvgp_status_text(t));
		MUST(same_values(twin, v), "step %d after loading: other parameters for the loaded model",
				i + 1);
		MUST(!memcmp(&r.elbo, &q.elbo, sizeof r.elbo) && !memcmp(&r.kl, &q.kl, sizeof r.kl),
				"step %d after loading: bound %.17g, KL %.17g, and %.17g, %.17g for the loaded "
				"model",
				i + 1, (double)r.elbo, (double)r.kl, (double)q.elbo, (double)q.kl);
		MUST(r.converged == q.converged && r.evaluations == q.evaluations,
				"step %d after loading: %ld evaluations, and %ld for the loaded model", i + 1,
				(long)r.evaluations, (long)q.evaluations);
		free(v);
	}
	if (!d->failed) {
		odvgp_real a = look_at_bound(d, m), b = look_at_bound(d, twin);
		MUST(!memcmp(&a, &b, sizeof a),
				"after the last step: bound %.17g, and %.17g for the loaded model", (double)a,
				(double)b);
	}
}

/*  Compares the loaded model with the saved one, which predicts `rows`. */
static void compare_loaded(
		drawn *d, odvgp_model *m, const void *file, size_t bytes, const odvgp_real *rows)
{
	odvgp_threads three = {run_mixed, NULL, 3};
	odvgp_real again[3 * MOST_OUTPUTS * NEW_ROWS], *v = values_of(m);
	odvgp_model *twin = NULL;
	odvgp_info info;
	size_t need = 0;
	odvgp_status s = sized(&need, odvgp_load_size(file, bytes, &three, d->cfg.isa, &info), &info);
	void *block = NULL;
	if (MUST(!s, "odvgp_load_size: %s", info.text)) {
		block = test_alloc(need);
		s = odvgp_load_memory(&twin, file, bytes, &three, d->cfg.isa, block, need, &info);
		MUST(!s, "odvgp_load_memory: %s", info.text);
	}
	if (!d->failed && MUST(same_slots(m, twin), "a loaded model has other slots") &&
			MUST(same_values(twin, v), "a loaded model has other parameters")) {
		d->who = "the loaded model: ";
		s = predict_rows(d, twin, again);
		d->who = "";
		MUST(!s, "a loaded model cannot be frozen, though the saved one could");
		if (!d->failed)
			MUST(!memcmp(rows, again, (size_t)(3 * d->cfg.layer[0].P * NEW_ROWS) * sizeof *again),
					"a loaded model predicts %.17g, the saved one %.17g", (double)again[0],
					(double)rows[0]);
		if (!d->failed) train_twins(d, m, twin);
	}
	free(block), free(v);
}

static void save_and_load(drawn *d, odvgp_model *m)
{
	odvgp_real rows[3 * MOST_OUTPUTS * NEW_ROWS], *before = values_of(m);
	int frozen = predict_rows(d, m, rows) == ODVGP_OK;
	size_t bytes = odvgp_save_size(m, 0, NULL);
	void *file = test_alloc(bytes);
	odvgp_info info;
	odvgp_status s = odvgp_save_memory(m, NULL, NULL, 0, file, bytes, &info);
	judge(d, "odvgp_save_memory", s, &info, m, before);
	MUST((s == ODVGP_OK) == frozen, "odvgp_freeze %s and odvgp_save_memory says \"%s\"",
			frozen ? "can" : "cannot", s ? info.text : odvgp_status_text(s));
	if (!d->failed && !s) compare_loaded(d, m, file, bytes, rows);
	free(file), free(before);
}

static int run_case(drawn *d)
{
	size_t bytes = 0;
	unsigned char *block;
	odvgp_model *m = NULL;
	odvgp_real *before;
	odvgp_info info;
	odvgp_status s;
	int outcome = REFUSED;
	if (!check_size(d, &bytes)) return REFUSED;
	block = NEW(unsigned char, bytes + d->misaligned);
	s = odvgp_model_init(&m, &d->cfg, block + d->misaligned, bytes, &info);
	if (MUST(!s, "odvgp_model_init: %s", info.text)) {
		before = values_of(m);
		s = odvgp_init_data(m, d->X, d->Y, NULL, &info);
		outcome = judge(d, "odvgp_init_data", s, &info, m, before) && !s ? STOPPED : NOT_STARTED;
		free(before);
	}
	if (outcome == STOPPED) {
		draw_extras(d, m);
		if (train(d, m, STEPS)) outcome = TRAINED;
		if (!d->failed && (d->cfg.objective == ODVGP_OBJECTIVE_ELBO ? chance(0.8) || fit_q(d, m)
																	: fit_q(d, m)))
			save_and_load(d, m);
	}
	free(block);
	return outcome;
}

/* ---- the program ---- */

/*  Memory that is shared with the worker. */
static struct progress {
	long at, failed, outcome[OUTCOMES];
} * shared;

static void work(long to)
{
	static const struct itimerval limit = {{0, 0}, {SECONDS, 0}};
	static drawn d;
	for (; shared->at < to; shared->at++) {
		case_number = shared->at;
		setitimer(ITIMER_VIRTUAL, &limit, NULL);
		draw_case(&d, case_number);
		shared->outcome[run_case(&d)]++;
		shared->failed += d.failed;
		if ((case_number + 1) % 1000 == 0)
			printf("%s, %ld cases: %ld refused, %ld not started, %ld stopped while training, %ld "
				   "trained; %ld failed\n",
					PRECISION, case_number + 1, shared->outcome[REFUSED],
					shared->outcome[NOT_STARTED], shared->outcome[STOPPED],
					shared->outcome[TRAINED], shared->failed);
		fflush(stdout);
	}
}

/*  After a worker has died, reports the config of its case and chooses the next case. */
static void bury(int status)
{
	static drawn d;
	case_number = shared->at;
	draw_case(&d, case_number);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGVTALRM)
		report_failure(&d, "no end within %d seconds", SECONDS);
	else
		report_failure(&d, "the worker ends with %s %d", WIFSIGNALED(status) ? "signal" : "status",
				WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	shared->failed++;
	shared->at++;
}

int main(int argc, char **argv)
{
	long from = argc == 3 ? atol(argv[1]) : -1, to = argc == 3 ? atol(argv[2]) : -1;
	int status, i;
	if (from < 0 || to <= from) {
		fprintf(stderr, "usage: chaos FROM TO\n");
		return 2;
	}
	shared = (struct progress *)mmap(
			NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) return 2;
	for (shared->at = from; shared->at < to;) {
		pid_t child;
		fflush(NULL);
		child = fork();
		if (child < 0) return 2;
		if (!child) {
			work(to);
			exit(0);
		}
		if (waitpid(child, &status, 0) != child) return 2;
		if (shared->at < to) bury(status);
		else if (status) {
			printf("the worker ends with status %d: memory is lost, or what is printed above\n",
					status);
			shared->failed++;
		}
	}
	for (i = 0; i < OUTCOMES; i++)
		printf("%ld %s%s", shared->outcome[i], outcome_name[i], i + 1 < OUTCOMES ? ", " : "\n");
	printf("%ld passed, %ld failed, 0 skipped\n", to - from - shared->failed, shared->failed);
	return shared->failed > 0;
}

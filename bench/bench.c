/*  bench.c - how long a training step takes, where its time goes, and how fast the linear algebra
    below it is, beside other libraries where they are installed. The program prints tables; it
    checks nothing.

        make bench

    or, to choose (see --help):

        build/bench [steps] [members] [classes] [serve] [gradients] [flops] [profile] [vmath]
        [blas] [options]

    The parts are in headers of their own, included here. The program times a step from outside, as
    a caller sees it: batch, bound, gradient, natural step, Adam. Contenders take turns, so that
    other work of the machine slows all of them alike. The tables hold the smallest and the middle
    time of the repeats. */
#define _POSIX_C_SOURCE 200809L
static void bench_probe(int node, int reverse);
#define GP__PROBE(node, reverse) bench_probe(node, reverse)
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common.h"
#include "peak.h"
#include "peers.h"
#include "algebra.h"
#include "vmath.h"
#include "flops.h"
#include "profile.h"
#include "serve.h"
#include "gradients.h"

/* ---- training steps ---- */

static void steps_of(const setting *s, const dataset *r, int threads)
{
	double times[MEMBERS][MOST_REPEATS];
	odvgp_model *model[MEMBERS];
	crew c = crew_start(threads);
	odvgp_info info;
	for (int k = 0; k < MEMBERS; k++) model[k] = model_make(&members[k], s, r, &c.hook);
	/* Steps per repeat: enough to be well above the clock's resolution. */
	int count = 1;
	double from = now();
	check(odvgp_step(model[0], r->X, r->y, NULL, &info), "step", &info);
	double once = now() - from;
	while (count < 50 && count * once < 0.05) count++;
	gauge g = gauge_start(&c.hook, threads);
	for (int k = 0; k < option.repeats; k++)
		for (int i = 0; i < MEMBERS; i++) {
			from = now();
			for (int j = 0; j < count; j++)
				check(odvgp_step(model[i], r->X, r->y, NULL, &info), members[i].name, &info);
			times[i][k] = 1e3 * (now() - from) / count;
		}
	const char *mark = gauge_mark(&g);
	for (int i = 0; i < MEMBERS; i++) {
		qsort(times[i], (size_t)option.repeats, sizeof times[i][0], by_size);
		printf("%-11s %6td %7td %6td %3td %8d %9.1f %9.1f%s\n", members[i].name, s->M,
				members[i].orth ? s->Mg : (ptrdiff_t)0, s->B, s->D, threads, times[i][0],
				times[i][option.repeats / 2], mark);
		odvgp_model_free(model[i]);
	}
	fflush(stdout);
	crew_stop(&c);
}

static void bench_steps(void)
{
	printf("\nTraining step, milliseconds\n%-11s %6s %7s %6s %3s %8s %9s %9s\n", "member", "|beta|",
			"|gamma|", "B", "D", "threads", "best", "median");
	for (int i = 0; i < SETTINGS - !option.large; i++) {
		dataset r = dataset_for(&settings[i]);
		for (int threads = option.first_threads; threads <= option.last_threads; threads++)
			steps_of(&settings[i], &r, threads);
		dataset_free(&r);
	}
}

/* ---- members beside each other ---- */

typedef struct contender {
	member who;
	setting s;
} contender;

/*  The cost of a second block, beside the first block only and beside one block of as many points.
    The members take turns of single steps; the least time of each counts. */
static void members_of(int natgrad)
{
	static const contender all[] = {
			{{"COUPLED", 0, 0, 0}, {300, 0, 1024, 8}},
			{{"COUPLED", 0, 0, 0}, {600, 0, 1024, 8}},
			{{"SOLVE-GP", 1, 0, 1}, {300, 300, 1024, 8}},
			{{"ORTH", 1, 0, 0}, {300, 700, 1024, 8}},
	};
	static const struct {
		int one, other;
		double goal;
	} ratio[] = {{2, 0, 3.4}, {2, 1, 0.9}, {3, 0, 1.5}};
	enum { ALL = 4, RATIOS = 3 };
	odvgp_model *model[ALL];
	crew c = crew_start(1);
	dataset r = dataset_for(&all[0].s);
	odvgp_info info;
	double least[ALL], from, t;
	for (int i = 0; i < ALL; i++) {
		member who = all[i].who;
		who.natgrad = natgrad;
		model[i] = model_make(&who, &all[i].s, &r, &c.hook);
		least[i] = 1e9;
	}
	for (int k = 0; k < 5 * option.repeats; k++)
		for (int i = 0; i < ALL; i++) {
			from = now();
			check(odvgp_step(model[i], r.X, r.y, NULL, &info), all[i].who.name, &info);
			t = 1e3 * (now() - from);
			if (t < least[i]) least[i] = t;
		}
	for (int i = 0; i < ALL; i++) {
		printf("%-11s %6td %7td %8s %9.2f\n", all[i].who.name, all[i].s.M, all[i].s.Mg,
				natgrad ? "on" : "off", least[i]);
		odvgp_model_free(model[i]);
	}
	for (int i = 0; i < RATIOS; i++) {
		const contender *a = &all[ratio[i].one], *b = &all[ratio[i].other];
		printf("    %s %td + %td / %s %td: %.2f, at most %.1f wanted\n", a->who.name, a->s.M,
				a->s.Mg, b->who.name, b->s.M, least[ratio[i].one] / least[ratio[i].other],
				ratio[i].goal);
	}
	fflush(stdout);
	dataset_free(&r);
	crew_stop(&c);
}

static void bench_members(void)
{
	printf("\nTraining step of members, milliseconds, least of %d; B 1024, D 8, one thread\n%-11s "
		   "%6s %7s %8s %9s\n",
			5 * option.repeats, "member", "|beta|", "|gamma|", "natgrad", "best");
	members_of(1);
	members_of(0);
}

/* ---- classes ---- */

/*  Ten classes beside one function with the same points. A step computes kernel matrices, their
    factors and their adjoints once; covariances, statistics and natural steps per function. The
    contenders take turns of single steps. */
typedef struct classifier {
	const char *name;
	odvgp_likelihood kind;
	ptrdiff_t P, T; /* functions, columns of targets */
	int levels;     /* targets are 0 .. levels - 1; 0: reals */
	/* above 0, and with robustmax, a step looks at the bound after its natural step */
	double link_jitter;
} classifier;

static odvgp_model *classifier_make(
		const classifier *c, const setting *s, const dataset *r, const odvgp_threads *threads)
{
	odvgp_model *model;
	odvgp_info info;
	odvgp_config cfg = odvgp_config_defaults(r->N, s->D, c->P, s->M, s->Mg);
	cfg.layer[0].kernel = "matern52(1, variance=1) + rbf(4, variance=1)";
	cfg.lik.kind = c->kind;
	cfg.lik.link_jitter = (odvgp_real)c->link_jitter;
	cfg.optim.batch = s->B;
	cfg.threads = *threads;
	cfg.isa = option.isa;
	check(odvgp_model_create(&model, &cfg, r->X, r->y, NULL, &info), c->name, &info);
	check(odvgp_step(model, r->X, r->y, NULL, &info), c->name, &info);
	return model;
}

/*  The targets of c for the rows of `of`. */
static dataset classifier_data(const classifier *c, const dataset *of)
{
	dataset r = {of->N, of->X, reserve_reals(of->N * c->T)};
	for (ptrdiff_t i = 0; i < r.N; i++)
		for (ptrdiff_t t = 0; t < c->T; t++) {
			double y = (double)of->y[i] + sin(2 * (double)(t + 1) * (double)of->X[i * 16 + 1]);
			if (c->levels) y = floor((y + 3) / 6 * c->levels);
			if (c->levels) y = fmin(fmax(y, 0), c->levels - 1);
			r.y[i * c->T + t] = (odvgp_real)y;
		}
	return r;
}

/*  Of this thread: what other programs take does not count. */
static double processor_time(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bench_classes(void)
{
	static const classifier all[] = {
			{"gaussian, 1 output", ODVGP_LIKELIHOOD_GAUSSIAN, 1, 1, 0, 0},
			{"gaussian, 10 outputs", ODVGP_LIKELIHOOD_GAUSSIAN, 10, 10, 0, 0},
			{"bernoulli, 1 function", ODVGP_LIKELIHOOD_BERNOULLI, 1, 1, 2, 0},
			{"softmax, 10 classes", ODVGP_LIKELIHOOD_SOFTMAX, 10, 1, 10, 0},
			{"bernoulli with jitter", ODVGP_LIKELIHOOD_BERNOULLI, 1, 1, 2, 1e-3},
			{"robustmax, 10 classes", ODVGP_LIKELIHOOD_ROBUSTMAX, 10, 1, 10, 1e-4},
	};
	enum { ALL = 6 };
	static const setting s = {300, 700, 1024, 16};
	odvgp_model *model[ALL];
	crew c = crew_start(1);
	dataset rows = dataset_for(&s), r[ALL];
	odvgp_info info;
	double times[ALL][5 * MOST_REPEATS];
	int steps = 5 * option.repeats;
	printf("\nTraining step with ten classes, milliseconds of the processor, of %d; ORTHNAT, "
		   "|beta| "
		   "300, |gamma| 700, B 1024, D 16, one thread\n%-24s %9s %9s %19s\n",
			steps, "likelihood", "best", "median", "of the line above");
	for (int i = 0; i < ALL; i++) {
		r[i] = classifier_data(&all[i], &rows);
		model[i] = classifier_make(&all[i], &s, &r[i], &c.hook);
	}
	for (int k = 0; k < steps; k++)
		for (int i = 0; i < ALL; i++) {
			double from = processor_time();
			check(odvgp_step(model[i], r[i].X, r[i].y, NULL, &info), all[i].name, &info);
			times[i][k] = 1e3 * (processor_time() - from);
		}
	for (int i = 0; i < ALL; i++) {
		qsort(times[i], (size_t)steps, sizeof times[i][0], by_size);
		printf("%-24s %9.2f %9.2f", all[i].name, times[i][0], times[i][steps / 2]);
		if (i % 2) printf(" %19.2f", times[i][0] / times[i - 1][0]);
		printf("\n");
	}
	for (int i = 0; i < ALL; i++) {
		if (option.by_operation) profile_model(model[i], all[i].name, &s, &r[i], 1);
		else odvgp_model_free(model[i]);
		free(r[i].y);
	}
	fflush(stdout);
	dataset_free(&rows);
	crew_stop(&c);
}

/* ---- the program ---- */

typedef struct part {
	const char *name;
	void (*run)(void);
	int wanted;
} part;

static part parts[] = {
		{"blas", bench_algebra, 0},
		{"vmath", bench_vmath, 0},
		{"flops", bench_flops, 0},
		{"profile", bench_profile, 0},
		{"steps", bench_steps, 0},
		{"members", bench_members, 0},
		{"classes", bench_classes, 0},
		{"serve", bench_serve, 0},
		{"gradients", bench_gradients, 0},
};
enum { PARTS = 9 };

static int help(FILE *to)
{
	/* clang-format off */
    fprintf(to, "usage: bench [parts] [options]      all parts unless some are named\n"
                "  blas      linear algebra beside OpenBLAS and BLIS, "
                "and in per cent of the measured peak\n"
                "  vmath     arithmetic on arrays beside the C library\n"
                "  flops     flops of one training step, done over needed\n"
                "  profile   time of one training step by operation\n"
                "  steps     training steps, milliseconds\n"
                "  members   training steps of SOLVE-GP and ORTH over those of COUPLED\n"
                "  classes   training steps with ten classes over those with one function\n"
                "  serve     one row predicted\n"
                "  gradients predictions with their derivatives over those without\n"
                "options\n"
                "  --isa c|sse2|avx2|avx512|neon   instead of the best one\n"
                "  --threads 1|2                   instead of both in turn\n"
                "  --repeats N                     1 to 99, default 7\n"
                "  --large off                     training steps at the small setting only\n"
                "  --by-operation on               of classes, also the time of each operation\n"
                "  --sizes N,N,...                 of blas, at most 16; "
                "default 32,64,128,300,512,1024,1500,2000\n"
                "  --routine NAME                  of blas, one alone:");
    for (int i = 0; i < ROUTINES; i++) fprintf(to, "%s \"%s\"", i ? "," : "", routines[i].name);
    fprintf(to, "\n"
                "  --openblas-core NAME            as OPENBLAS_CORETYPE: Haswell, SkylakeX, ...; "
                "else the faster of its\n"
                "                                  own choice and, beside our AVX-512, SkylakeX\n"
                "  --blis-arch NAME                as BLIS_ARCH_TYPE: haswell, skx, ...; "
                "BLIS ends the program if it was\n"
                "                                  built without\n");
	/* clang-format on */
	return to == stderr ? 2 : 0;
}

/*  Reads a list of sizes into `option`; returns 0 if the text is no such list. */
static int read_sizes(const char *text)
{
	for (option.sizes = 0; option.sizes < MOST_SIZES; text++) {
		char *end;
		long n = strtol(text, &end, 10);
		if (end == text || n < 1 || n > 20000) return 0;
		option.size[option.sizes++] = (ptrdiff_t)n;
		text = end;
		if (!*text) return 1;
		if (*text != ',') return 0;
	}
	return 0;
}

static int read_isa(const char *text)
{
	for (ptrdiff_t i = 0; i < GP__COUNT(gp__isas); i++)
		if (!strcmp(text, gp__isas[i].name)) {
			option.isa = gp__isas[i].id;
			return 1;
		}
	return 0;
}

static int read_routine(const char *text)
{
	option.routine = text;
	for (int i = 0; i < ROUTINES; i++)
		if (!strcmp(text, routines[i].name)) return 1;
	return 0;
}

/*  Reads an option and its value; returns 0 if they are none. */
static int read_option(const char *name, const char *value)
{
	if (!strcmp(name, "--isa")) return read_isa(value);
	if (!strcmp(name, "--routine")) return read_routine(value);
	if (!strcmp(name, "--sizes")) return read_sizes(value);
	if (!strcmp(name, "--openblas-core")) return *(openblas_core = value) != 0;
	if (!strcmp(name, "--blis-arch")) return *(blis_arch = value) != 0;
	if (!strcmp(name, "--repeats")) {
		option.repeats = (int)strtol(value, NULL, 10);
		return option.repeats >= 1 && option.repeats <= MOST_REPEATS;
	}
	if (!strcmp(name, "--threads")) {
		option.first_threads = option.last_threads = (int)strtol(value, NULL, 10);
		return option.first_threads == 1 || option.first_threads == 2;
	}
	if (!strcmp(name, "--by-operation")) {
		option.by_operation = 1;
		return !strcmp(value, "on");
	}
	if (!strcmp(name, "--large")) {
		option.large = 0;
		return !strcmp(value, "off");
	}
	return 0;
}

int main(int argc, char **argv)
{
	int named = 0;
	for (int i = 1; i < argc; i++) {
		int known = 0;
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return help(stdout);
		for (int p = 0; p < PARTS; p++)
			if (!strcmp(argv[i], parts[p].name)) known = named = parts[p].wanted = 1;
		if (known) continue;
		if (i + 1 == argc || !read_option(argv[i], argv[i + 1])) return help(stderr);
		i++;
	}
	print_machine(stdout);
	printf("; %d repeats; `!`: the peak moved by more than a tenth meanwhile, repeat the row\n",
			option.repeats);
	if (!named || parts[0].wanted) {
		peers_open(option.isa_used);
		bench_peak();
	}
	for (int p = 0; p < PARTS; p++)
		if (!named || parts[p].wanted) {
			odvgp_threads one = {NULL, NULL, 0};
			gauge g = gauge_start(&one, 1);
			parts[p].run();
			gauge_print(&g);
		}
	return 0;
}

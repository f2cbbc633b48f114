/*  against.c - two versions of odvgp.h beside each other: the time of a training step and of a
    prediction.

        make bench-against OTHER=path/to/other/odvgp.h

    or, to choose what is compared:

        build/against THIS.so OTHER.so [steps] [predict] [latents] [profile] [--rounds n]
                      [--member NAME] [--kernel TEXT] [--outputs n] [--large | --small]

    Each version is a shared object (against_side.c). Both get the same data, configuration,
    inducing points and number of steps, and take turns in one process; the first of the two changes
    each round. Times are the calling thread's processor time. A line holds the least time of each
    version, their ratio, and the quartiles of the ratios within single rounds, which show how far
    to trust the ratio. */
#define _POSIX_C_SOURCE 200809L
#include "against.h"
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 2, MOST_ROUNDS = 1000, PARTS = 4 };
enum { STEPS, PREDICT, LATENTS, PROFILE };
static const char *const part_names[PARTS] = {"steps", "predict", "latents", "profile"};

static const char *const members[] = {
		"COUPLED", "COUPLEDNAT", "ORTH", "ORTHNAT", "SOLVE-GP", "DECOUPLED", "O(M)"};
static const char *const kernels[] = {"rbf(1, variance=1)", "matern52(1, variance=1, ard)"};
static const struct size {
	ptrdiff_t M, M_gamma, batch, D;
} sizes[] = {{100, 200, 256, 8}, {300, 700, 1024, 16}};
enum { MEMBERS = 7, KERNELS = 2, SIZES = 2, LATENT_COUNT = 10 };

static struct {
	int part[PARTS], rounds, outputs, first_size, last_size;
	/* NULL: all. */
	const char *member, *kernel;
} option = {{0, 0, 0, 0}, 60, 1, 0, SIZES - 1, NULL, NULL};

static const against_side *sides[SIDES];

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "against: %s: %s\n", what, why);
	exit(2);
}

static const against_side *side_open(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const void *found = library ? dlsym(library, "against_side_here") : NULL;
	if (!found) fail(path, dlerror());
	return (const against_side *)found;
}

/* ---- data ---- */

static double uniform(void)
{
	static uint64_t state = 1;
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(state >> 11) / 9007199254740992.0;
}

static double *numbers(ptrdiff_t n)
{
	double *p = (double *)calloc((size_t)n, sizeof *p);
	if (!p) fail("memory", "there is not enough");
	return p;
}

/*  Rows of a smooth function with noise, spread so that with D inputs two rows are about sqrt(2)
    apart. case_free frees them. */
static against_case case_make(const struct size *s, ptrdiff_t P)
{
	against_case c = {NULL, NULL, P, s->M, s->M_gamma, s->batch, s->D, 20 * s->batch, NULL, NULL};
	double *X = numbers(c.N * c.D), *Y = numbers(c.N * P), spread = sqrt(12.0 / (double)c.D);
	for (ptrdiff_t i = 0; i < c.N; i++) {
		double sum = 0;
		for (ptrdiff_t d = 0; d < c.D; d++) sum += X[i * c.D + d] = spread * (uniform() - 0.5);
		for (ptrdiff_t p = 0; p < P; p++)
			Y[i * P + p] = sin(2 * sum + 0.3 * (double)p) + 0.4 * (uniform() - 0.5);
	}
	c.X = X;
	c.Y = Y;
	return c;
}

static void case_free(against_case *c)
{
	free((void *)c->X);
	free((void *)c->Y);
}

static against_model *model_make(const against_side *side, const against_case *c)
{
	against_model *m = side->make(c);
	if (!m) fail(c->member, "no model");
	return m;
}

/* ---- which is faster ---- */

/*  Something that two contenders do: `time` is the time that contender `who` takes, the mean of
    `count` times. */
typedef struct contest {
	double (*time)(void *user, int who, int count);
	void *user;
} contest;

typedef struct outcome {
	double least[2];
	/* Of the ratios of single rounds. */
	double quartile[3];
} outcome;

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double time_of(const contest *c, int who, int count)
{
	double t = c->time(c->user, who, count);
	if (t < 0) fail("error", "see above");
	return t;
}

/*  `unit` is the number of seconds in a unit of time. A turn lasts about three milliseconds. */
static outcome contest_run(const contest *c, double unit)
{
	static double ratio[MOST_ROUNDS];
	outcome o = {{HUGE_VAL, HUGE_VAL}, {0, 0, 0}};
	double once = unit * time_of(c, 1, 1);
	int count = once < 3e-3 ? (int)ceil(3e-3 / fmax(once, 1e-7)) : 1;
	for (int k = 0; k < option.rounds; k++) {
		double t[2];
		for (int i = 0; i < 2; i++) {
			int who = (i + k) % 2;
			t[who] = time_of(c, who, count);
			o.least[who] = fmin(o.least[who], t[who]);
		}
		ratio[k] = t[0] / t[1];
	}
	qsort(ratio, (size_t)option.rounds, sizeof *ratio, by_size);
	for (int i = 0; i < 3; i++) o.quartile[i] = ratio[(i + 1) * option.rounds / 4];
	return o;
}

static void print_head(const char *what, const char *first, const char *second)
{
	printf("\n%s, least of %d rounds\n%-11s %-30s %4s %5s %3s %10s %10s %7s   %s\n", what,
			option.rounds, "member", "kernel", "beta", "batch", "D", first, second, "ratio",
			"quartiles of rounds");
}

static void print_outcome(
		const char *name, const against_case *c, const outcome *o, const char *remark)
{
	printf("%-11s %-30s %4td %5td %3td %10.3f %10.3f %7.3f   %.3f %.3f %.3f%s\n", name, c->kernel,
			c->M, c->batch, c->D, o->least[0], o->least[1], o->least[0] / o->least[1],
			o->quartile[0], o->quartile[1], o->quartile[2], remark);
	fflush(stdout);
}

/* ---- what is compared ---- */

/*  This version and the other one, with a model each. */
typedef struct pair {
	against_model *model[SIDES];
	ptrdiff_t rows;
} pair;

static pair pair_make(const against_case *c)
{
	pair p;
	for (int i = 0; i < SIDES; i++) p.model[i] = model_make(sides[i], c);
	p.rows = 0;
	return p;
}

static void pair_free(pair *p)
{
	for (int i = 0; i < SIDES; i++) sides[i]->release(p->model[i]);
}

static double pair_step(void *user, int who, int count)
{
	return sides[who]->step(((pair *)user)->model[who], count);
}

static double pair_predict(void *user, int who, int count)
{
	const pair *p = (const pair *)user;
	return sides[who]->predict(p->model[who], p->rows, count);
}

static void compare_steps(const against_case *c)
{
	pair p = pair_make(c);
	const contest steps = {pair_step, &p};
	outcome o = contest_run(&steps, 1e-3);
	unsigned long here = sides[0]->events(p.model[0]), there = sides[1]->events(p.model[1]);
	char remark[80] = "";
	if (here || there) snprintf(remark, sizeof remark, "   events %lu, %lu", here, there);
	print_outcome(c->member, c, &o, remark);
	pair_free(&p);
}

static void compare_predictions(const against_case *c)
{
	static const ptrdiff_t rows[] = {1, 256};
	pair p = pair_make(c);
	const contest predictions = {pair_predict, &p};
	for (int i = 0; i < 2; i++) {
		char remark[40];
		p.rows = rows[i];
		outcome o = contest_run(&predictions, 1e-6);
		snprintf(remark, sizeof remark, "   %td row%s", rows[i], rows[i] > 1 ? "s" : "");
		print_outcome(c->member, c, &o, remark);
	}
	pair_free(&p);
}

/*  Ten latents and one, within one version. */
typedef struct latents {
	const against_side *side;
	against_model *model[2];
} latents;

static double latents_step(void *user, int who, int count)
{
	const latents *l = (const latents *)user;
	return l->side->step(l->model[who], count);
}

static void compare_latents(const char *kernel)
{
	static const char *const names[SIDES] = {"this", "other"};
	against_case ten = case_make(&sizes[SIZES - 1], LATENT_COUNT),
				 one = case_make(&sizes[SIZES - 1], 1);
	ten.member = one.member = "ORTHNAT";
	ten.kernel = one.kernel = kernel;
	for (int i = 0; i < SIDES; i++) {
		latents l = {sides[i], {model_make(sides[i], &ten), model_make(sides[i], &one)}};
		const contest steps = {latents_step, &l};
		outcome o = contest_run(&steps, 1e-3);
		print_outcome(names[i], &ten, &o, "");
		for (int k = 0; k < 2; k++) sides[i]->release(l.model[k]);
	}
	case_free(&ten);
	case_free(&one);
}

static const against_operation *find(const against_operation *in, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(in[i].name, name)) return &in[i];
	return NULL;
}

/*  Prints the time of each operation and of the work beside the tape. An operation that only one
    version has counts as 0 in the other. */
static void compare_operations(const against_case *c)
{
	static against_operation all[SIDES][AGAINST_OPERATIONS], turn[AGAINST_OPERATIONS];
	static const against_operation none;
	double sum[SIDES] = {0, 0};
	int count[SIDES];
	pair p = pair_make(c);
	for (int k = 0; k < option.rounds; k++)
		for (int i = 0; i < SIDES; i++) {
			count[i] = sides[i]->profile(p.model[i], 1, turn);
			if (count[i] < 0) fail("error", "see above");
			for (int j = 0; j < count[i]; j++)
				for (int pass = 0; k && pass < 2; pass++)
					turn[j].milliseconds[pass] =
							fmin(turn[j].milliseconds[pass], all[i][j].milliseconds[pass]);
			memcpy(all[i], turn, sizeof turn);
		}
	printf("\nMilliseconds by operation, this and other: %s, %s, P %td\n%-14s %5s %5s %9s %9s %9s "
		   "%9s\n",
			c->member, c->kernel, c->P, "operation", "nodes", "other", "forward", "other",
			"reverse", "other");
	for (int i = 0; i < SIDES; i++)
		for (int j = 0; j < count[i]; j++) {
			const against_operation *here = &all[i][j],
									*there = find(all[!i], count[!i], here->name);
			/* The first version has printed this operation. */
			if (i && there) continue;
			if (!there) there = &none;
			if (!here->nodes && !there->nodes) continue;
			const against_operation *a = i ? there : here, *b = i ? here : there;
			for (int pass = 0; pass < 2; pass++) {
				sum[0] += a->milliseconds[pass];
				sum[1] += b->milliseconds[pass];
			}
			printf("%-14s %5d %5d %9.4f %9.4f %9.4f %9.4f\n", here->name, a->nodes, b->nodes,
					a->milliseconds[0], b->milliseconds[0], a->milliseconds[1], b->milliseconds[1]);
		}
	printf("%-14s %11s %9.4f %9.4f %9.3f\n", "sum of leasts", "", sum[0], sum[1], sum[0] / sum[1]);
	fflush(stdout);
	pair_free(&p);
}

static void for_each(void (*compare)(const against_case *c))
{
	for (int i = option.first_size; i <= option.last_size; i++) {
		against_case c = case_make(&sizes[i], option.outputs);
		for (int k = 0; k < (option.kernel ? 1 : KERNELS); k++)
			for (int j = 0; j < MEMBERS; j++) {
				if (option.member && strcmp(option.member, members[j])) continue;
				c.member = members[j];
				c.kernel = option.kernel ? option.kernel : kernels[k];
				compare(&c);
			}
		case_free(&c);
	}
}

/* ---- the program ---- */

static void read_options(int argc, char **argv)
{
	int any = 0;
	for (int i = 3; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		int part = 0;
		while (part < PARTS && strcmp(argv[i], part_names[part])) part++;
		if (part < PARTS) any = option.part[part] = 1;
		else if (!strcmp(argv[i], "--large")) option.first_size = SIZES - 1;
		else if (!strcmp(argv[i], "--small")) option.last_size = 0;
		else if (!value) fail(argv[i], "not understood");
		else if (i++, !strcmp(argv[i - 1], "--member")) option.member = value;
		else if (!strcmp(argv[i - 1], "--kernel")) option.kernel = value;
		else if (!strcmp(argv[i - 1], "--rounds")) option.rounds = atoi(value);
		else if (!strcmp(argv[i - 1], "--outputs")) option.outputs = atoi(value);
		else fail(argv[i - 1], "not understood");
	}
	if (option.rounds < 4 || option.rounds > MOST_ROUNDS) fail("--rounds", "4 to 1000");
	if (option.outputs < 1 || option.outputs > 100) fail("--outputs", "1 to 100");
	if (!any) option.part[STEPS] = option.part[PREDICT] = option.part[LATENTS] = 1;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		fail("usage", "against THIS.so OTHER.so [steps] [predict] [latents] [profile] [options]");
	read_options(argc, argv);
	for (int i = 0; i < SIDES; i++) sides[i] = side_open(argv[1 + i]);
	if (option.part[STEPS]) {
		print_head("Training step, milliseconds of the processor", "this", "other");
		for_each(compare_steps);
	}
	if (option.part[PREDICT]) {
		print_head("Mean and variance predicted, microseconds per call", "this", "other");
		for_each(compare_predictions);
	}
	if (option.part[LATENTS]) {
		print_head("ORTHNAT step with ten latents and with one, milliseconds", "ten", "one");
		for (int k = 0; k < (option.kernel ? 1 : KERNELS); k++)
			compare_latents(option.kernel ? option.kernel : kernels[k]);
	}
	if (option.part[PROFILE]) for_each(compare_operations);
	return 0;
}

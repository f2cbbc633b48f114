/*  Data larger than memory: rows that a callback makes, and a CSV file of houseelectric's shape.

        large csv N       N rows of 11 inputs and a target on standard output
        large steps N...  for each N: initial values and 200 steps on rows that a callback makes,
                          processor seconds, and the process's peak of memory */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "../odvgp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { INPUTS = 11, BATCH = 1024, BETA = 100, GAMMA = 200, STEPS = 200 };

/*  Row i, whatever came before: numbers in [-1.7, 1.7] of variance 1, and a target with noise. */
static void make_row(int64_t i, double *x, double *y)
{
	double uniform[INPUTS + 1], narrow = 3.4641016151377544;
	uint64_t h = gp__mix((uint64_t)i + 1);
	for (int d = 0; d <= INPUTS; d++) {
		h = gp__mix(h + UINT64_C(0x9e3779b97f4a7c15));
		uniform[d] = (double)(h >> 11) / 9007199254740992.0 - 0.5;
	}
	for (int d = 0; d < INPUTS && x; d++) x[d] = narrow * uniform[d];
	if (y)
		*y = uniform[0] * uniform[1] * 8 + (uniform[2] > 0 ? uniform[2] : -uniform[2]) * 2 +
			 uniform[3] + 0.3 * uniform[INPUTS];
}

static ptrdiff_t read_rows(void *user, const ptrdiff_t *rows, ptrdiff_t n, double *X, double *Y)
{
	(void)user;
	for (ptrdiff_t i = 0; i < n; i++)
		make_row((int64_t)rows[i], X ? X + i * INPUTS : NULL, Y ? Y + i : NULL);
	return n;
}

static double processor(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int steps(ptrdiff_t n)
{
	odvgp_config c = odvgp_config_defaults(n, INPUTS, 1, BETA, GAMMA);
	odvgp_model *m = NULL;
	odvgp_info info;
	struct rusage use;
	const odvgp_reader reader = {read_rows, NULL};
	double begin = processor(), init = 0;
	c.optim.batch = BATCH;
	/* Warm starts are of a number of rows that does not depend on n. */
	c.init.warm = 0;
	odvgp_status s = odvgp_model_create(&m, &c, NULL, NULL, NULL, &info);
	size_t size = s ? 0 : odvgp_reader_size(m, &info);
	void *block = malloc(size + 1);
	if (!s) s = odvgp_set_reader(m, &reader, block, size, &info);
	if (!s) s = odvgp_init_data(m, NULL, NULL, NULL, &info);
	init = processor() - begin;
	begin = processor();
	if (!s) s = odvgp_fit(m, NULL, NULL, STEPS, NULL, &info);
	double each = (processor() - begin) / STEPS;
	getrusage(RUSAGE_SELF, &use);
	if (s) fprintf(stderr, "%s\n", info.text);
	else
		printf("%11td  %9.1f  %7.2f  %6.1f  %6.1f\n", n, init, 1e3 * each,
				((double)odvgp_model_size(&c, NULL) + (double)size) / 1e6,
				(double)use.ru_maxrss / 1024);
	fflush(stdout);
	odvgp_model_free(m);
	free(block);
	return s != ODVGP_OK;
}

int main(int argc, char **argv)
{
	const char *word = argc > 2 ? argv[1] : "";
	if (strcmp(word, "csv") == 0) {
		for (int d = 0; d < INPUTS; d++) printf("x%d,", d);
		puts("y");
		for (int64_t i = 0; i < atoll(argv[2]); i++) {
			double x[INPUTS], y;
			make_row(i, x, &y);
			for (int d = 0; d < INPUTS; d++) printf("%.6g,", x[d]);
			printf("%.6g\n", y);
		}
		return ferror(stdout) || fflush(stdout);
	}
	if (strcmp(word, "steps") == 0) {
		int bad = 0;
		puts("       rows  initial s  ms step  MB model, reader  MB peak");
		for (int i = 2; i < argc; i++) bad |= steps((ptrdiff_t)atoll(argv[i]));
		return bad;
	}
	fputs("usage: large csv N | large steps N...\n", stderr);
	return 2;
}

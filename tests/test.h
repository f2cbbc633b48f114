/*  A test is a function of checks. A check that fails prints a line with file and line. Each test
    prints one line; test_end prints `N passed, N failed, N skipped` and returns the exit status.

        TEST(two_and_two) { CHECK_NEAR(2.0 + 2.0, 4.0, 1e-15); }
        int main(int argc, char **argv)
        {
            test_begin(argc, argv);
            RUN(two_and_two);
            return test_end();
        }

    Arguments, if any, name the tests to run; parts of names are enough. Include odvgp.h with its
    implementation before this file. Environment:
        ODVGP_TEST_SHORT=1   take the smaller of two sizes where a test names both (`make test`
                             without ALL=1)
        ODVGP_TEST_LONG=1    try many more cases where a test has them (`make soak`)
        ODVGP_TEST_TIMES=1   print the processor time and the number of checks of each test
        ODVGP_TEST_POOL=3    where a test has no hook of its own, give models a pool of so many
                             threads (test_deep)
        ODVGP_ISA=c          (or sse2, neon, avx2, avx512) use only this instruction set. Without
                             it, tests that compare instruction sets take all that the machine
                             has, and the others take what the library chooses. */
#ifndef TEST_H
#define TEST_H

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__GNUC__)
#define TEST_UNUSED       __attribute__((unused))
#define TEST_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define TEST_UNUSED
#define TEST_PRINTF(a, b)
#endif

#ifdef ODVGP_FLOAT
#define EPS                               ((double)FLT_EPSILON)
#define TINY                              ((double)FLT_MIN)
#define HUGE_REAL                         ((double)FLT_MAX)
#define PRECISION                         "float"
#define BY_PRECISION(in_double, in_float) (in_float)
#else
#define EPS                               DBL_EPSILON
#define TINY                              DBL_MIN
#define HUGE_REAL                         DBL_MAX
#define PRECISION                         "double"
#define BY_PRECISION(in_double, in_float) (in_double)
#endif

static struct {
	int passed, failed, skipped;
	/* The checks of the current test, those of them that failed, and the checks of all tests. */
	int checks, bad, total_checks;
	const char *name, *skip;
	int argc;
	char **argv;
	char note[200];
} test_state;

/*  Threads may check, too. */
#if defined(__GNUC__)
#define TEST_COUNT(counter) __atomic_add_fetch(&(counter), 1, __ATOMIC_RELAXED)
#else
#define TEST_COUNT(counter) (++(counter))
#endif

#define TEST(name) static void name(void)
#define RUN(name)  test_run(#name, name)

/*  The largest number of lines per test: a failing loop must not bury the first line. */
#define TEST_LINES 10

TEST_UNUSED TEST_PRINTF(4, 5) static int test_check(
		int ok, const char *file, int line, const char *format, ...)
{
	int bad;
	TEST_COUNT(test_state.checks);
	if (ok) return 1;
	bad = TEST_COUNT(test_state.bad);
	if (bad <= TEST_LINES) {
		va_list args;
		printf("%s:%d: %s: ", file, line, test_state.name);
		va_start(args, format);
		vprintf(format, args);
		va_end(args);
		printf("\n");
	} else if (bad == TEST_LINES + 1) {
		printf("%s: %s: more checks fail\n", file, test_state.name);
	}
	return 0;
}

/*  Each returns 1 if it holds, so that `if (!CHECK(p)) return;` is possible. */
#define CHECK(cond) test_check((cond) ? 1 : 0, __FILE__, __LINE__, "%s", #cond)
/*  The same with a message: CHECK_SAY(n == 3, "n is %d", n). */
#define CHECK_SAY(cond, ...) test_check((cond) ? 1 : 0, __FILE__, __LINE__, __VA_ARGS__)
#define CHECK_NEAR(got, want, tol) \
	test_near((double)(got), (double)(want), (double)(tol), #got, __FILE__, __LINE__)
#define CHECK_INT(got, want) test_int((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
#define CHECK_BITS(a, b, bytes) \
	test_check(memcmp((a), (b), (bytes)) == 0, __FILE__, __LINE__, \
			"%s and %s differ in their bits", #a, #b)
#define CHECK_STATUS(got, want) test_status((got), (want), #got, __FILE__, __LINE__)
#define SKIP(why) \
	do { \
		test_state.skip = (why); \
		return; \
	} while (0)

/*  The comparison is written so that NaN fails. */
TEST_UNUSED static int test_near(
		double got, double want, double tol, const char *text, const char *file, int line)
{
	return test_check(fabs(got - want) <= tol, file, line,
			"%s is %.17g, not %.17g (off by %.3g, allowed %.3g)", text, got, want, fabs(got - want),
			tol);
}
TEST_UNUSED static int test_int(
		long long got, long long want, const char *text, const char *file, int line)
{
	return test_check(got == want, file, line, "%s is %lld, not %lld", text, got, want);
}
TEST_UNUSED static int test_status(
		odvgp_status got, odvgp_status want, const char *text, const char *file, int line)
{
	return test_check(got == want, file, line, "%s gives \"%s\", not \"%s\"", text,
			odvgp_status_text(got), odvgp_status_text(want));
}

/*  The status of a size query; the size goes to *bytes if there is one. */
TEST_UNUSED static odvgp_status sized(size_t *bytes, size_t got, const odvgp_info *info)
{
	if (got) *bytes = got;
	return got ? ODVGP_OK : info ? info->status : ODVGP_STATUS_COUNT;
}

/*  More than odvgp_isa will ever have. */
enum { TEST_ISAS = 15 };
/*  The instruction sets of this machine and this build, found by trying them, so that a new one
    needs no change here; only the one that ODVGP_ISA names, if it names one. test_begin fills
    the table. */
TEST_UNUSED static struct {
	int count, forced;
	odvgp_isa isa[TEST_ISAS];
	const char *name[TEST_ISAS];
} test_isas;

/*  Returns 1 if the instruction set takes subnormal numbers for 0, as 32-bit NEON does. */
TEST_UNUSED static int test_flushes(const char *isa)
{
#if defined(__arm__) && !defined(__aarch64__)
	return !strcmp(isa, "neon");
#else
	(void)isa;
	return 0;
#endif
}
/*  The instruction set of tests that work with any: the forced one, or the library's choice. */
TEST_UNUSED static odvgp_isa test_isa(void)
{
	return test_isas.forced ? test_isas.isa[0] : ODVGP_ISA_AUTO;
}

/*  Freezes a model and serves it from the block, on the tests' instruction set. */
TEST_UNUSED static odvgp_status serve(odvgp_model *m, const odvgp_scales *scales, void *block,
		size_t bytes, odvgp_server *server, odvgp_info *info)
{
	odvgp_status s = odvgp_freeze(m, scales, block, bytes, info);
	return s ? s : odvgp_server_from_block(server, block, bytes, test_isa(), info);
}

TEST_UNUSED static void test_find_isas(void)
{
	const char *wanted = getenv("ODVGP_ISA");
	size_t bytes = odvgp_blas_size(NULL, NULL);
	void *block = malloc(bytes);
	odvgp_blas blas;
	char there[200] = "";
	int i;
	for (i = ODVGP_ISA_AUTO + 1; block && i <= TEST_ISAS; i++) {
		if (odvgp_blas_init(&blas, NULL, (odvgp_isa)i, block, bytes, NULL) != ODVGP_OK) continue;
		if (strlen(there) < 180) strcat(strcat(there, " "), odvgp_blas_isa(&blas));
		if (wanted && *wanted && strcmp(wanted, odvgp_blas_isa(&blas))) continue;
		test_isas.isa[test_isas.count] = (odvgp_isa)i;
		test_isas.name[test_isas.count++] = odvgp_blas_isa(&blas);
	}
	free(block);
	test_isas.forced = wanted && *wanted;
	if (test_isas.count) return;
	fprintf(stderr, "ODVGP_ISA=%s: no such instruction set; this machine and this build have%s\n",
			wanted ? wanted : "", there);
	exit(2);
}

TEST_UNUSED static void test_begin(int argc, char **argv)
{
	test_state.argc = argc;
	test_state.argv = argv;
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	test_find_isas();
}

/*  Appends a remark to the line of the current test. */
TEST_UNUSED TEST_PRINTF(1, 2) static void test_note(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(test_state.note, sizeof test_state.note, format, args);
	va_end(args);
}

TEST_UNUSED static void test_run(const char *name, void (*body)(void))
{
	int i, wanted = test_state.argc <= 1;
	clock_t begin = clock();
	for (i = 1; i < test_state.argc; i++)
		if (strstr(name, test_state.argv[i])) wanted = 1;
	if (!wanted) return;
	test_state.name = name;
	test_state.skip = NULL;
	test_state.checks = test_state.bad = 0;
	test_state.note[0] = 0;
	body();
	test_state.total_checks += test_state.checks;
	if (getenv("ODVGP_TEST_TIMES"))
		printf("%7.3f s  %9d checks  ", (double)(clock() - begin) / CLOCKS_PER_SEC,
				test_state.checks);
	if (test_state.bad) {
		test_state.failed++;
		printf("FAIL  %s: %d of %d checks do not hold\n", name, test_state.bad, test_state.checks);
	} else if (test_state.skip) {
		test_state.skipped++;
		printf("skip  %s: %s\n", name, test_state.skip);
	} else if (!test_state.checks) {
		test_state.failed++;
		printf("FAIL  %s: checks nothing\n", name);
	} else {
		test_state.passed++;
		printf("ok    %s%s%s\n", name, test_state.note[0] ? ": " : "", test_state.note);
	}
}

/*  Returns the usual number of steps, rounds or cases, or the smaller one if ODVGP_TEST_SHORT
    asks for it. The checks are the same. */
TEST_UNUSED static int test_size(int usual, int least)
{
	const char *wanted = getenv("ODVGP_TEST_SHORT");
	return wanted && *wanted && strcmp(wanted, "0") ? least : usual;
}

TEST_UNUSED static int test_end(void)
{
	printf("%d passed, %d failed, %d skipped\n", test_state.passed, test_state.failed,
			test_state.skipped);
	return test_state.failed > 0 || test_state.passed + test_state.skipped == 0;
}

/*  Random numbers of the tests: splitmix64. */
static uint64_t test_seed = 1;
TEST_UNUSED static uint64_t test_bits(void)
{
	uint64_t z = (test_seed += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}
TEST_UNUSED static double test_uniform(void)
{
	return (double)(test_bits() >> 11) * (1.0 / 9007199254740992.0);
}
TEST_UNUSED static double test_between(double lo, double hi)
{
	return lo + (hi - lo) * test_uniform();
}
TEST_UNUSED static ptrdiff_t test_below(ptrdiff_t n)
{
	return (ptrdiff_t)(test_bits() % (uint64_t)n);
}
TEST_UNUSED static double test_normal(void)
{
	double u = 1.0 - test_uniform(), v = test_uniform();
	return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/*  malloc that ends the program on failure; n = 0 gives a pointer too. */
TEST_UNUSED static void *test_alloc(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);
	if (!p) {
		printf("out of memory in the test itself (%lu bytes)\n", (unsigned long)bytes);
		exit(3);
	}
	return p;
}
#define NEW(type, count) ((type *)test_alloc((size_t)(count) * sizeof(type)))

/*  Returns the larger argument, or NaN once either is NaN. */
TEST_UNUSED static double test_worse(double worst, double e)
{
	return e <= worst || worst != worst ? worst : e;
}
TEST_UNUSED static double test_max_abs(const odvgp_real *a, ptrdiff_t n)
{
	double m = 0;
	ptrdiff_t i;
	for (i = 0; i < n; i++) m = test_worse(m, fabs((double)a[i]));
	return m;
}
/*  Returns the largest difference; a NaN on either side gives NaN. */
TEST_UNUSED static double test_max_diff(const odvgp_real *a, const odvgp_real *b, ptrdiff_t n)
{
	double m = 0;
	ptrdiff_t i;
	for (i = 0; i < n; i++) m = test_worse(m, fabs((double)a[i] - (double)b[i]));
	return m;
}

/* ---- of the library ---- */

/*  A hook that runs the tasks in a mixed order, none of them in parallel. */
TEST_UNUSED static void run_mixed(void *user, int n, void (*task)(void *arg, int i), void *arg)
{
	int i;
	(void)user;
	for (i = n - 1; i >= 0; i -= 2) task(arg, i);
	for (i = n - 2; i >= 0; i -= 2) task(arg, i);
}
/*  Returns all values of all slots, one slot after the other; the caller frees them. */
TEST_UNUSED static odvgp_real *all_values(const odvgp_model *m)
{
	odvgp_real *v = NEW(odvgp_real, odvgp_param_count(m));
	int s;
	for (s = 0; s < odvgp_slot_count(m); s++) {
		const odvgp_slot *t = odvgp_slot_at(m, s);
		if (t->count) CHECK_STATUS(odvgp_get(m, t->name, v + t->offset, t->count, NULL), ODVGP_OK);
	}
	return v;
}

#endif

/*  The library for tests of its internals: the code of odvgp.h with external linkage, which the
    Makefile derives with internals.awk and compiles once for each precision and set of options. */
#include <stdio.h>
#include <stdlib.h>
#include "hooks.h"

int test_allocations;
void (*test_probe)(int node, int reverse);
void (*test_tripped)(void);
double test_watch_work = 1e8, test_watch_slice = 1e10;

static void *counted_malloc(size_t bytes)
{
	test_allocations++;
	return malloc(bytes);
}

static void assertion(const char *text, int line)
{
	if (test_tripped) {
		test_tripped();
		return;
	}
	fprintf(stderr, "odvgp.h:%d: assertion '%s' does not hold\n", line, text);
	abort();
}

#define malloc                   counted_malloc
#define GP__PROBE(node, reverse) (test_probe ? test_probe(node, reverse) : (void)0)
#define ODVGP_ASSERT(x)          ((x) ? (void)0 : assertion(#x, __LINE__))
#define GP__WATCH_WORK           test_watch_work
#define GP__WATCH_SLICE          test_watch_slice
#define ODVGP_IMPLEMENTATION
#include "definitions.h"

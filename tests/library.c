/*  The library for tests of its internals: the code of odvgp.h with external linkage, which the
    Makefile derives with internals.awk and compiles once for each precision and set of options. */
#include <stdlib.h>
#include "hooks.h"

int test_allocations;
void (*test_probe)(int node, int reverse);

static void *counted_malloc(size_t bytes)
{
	test_allocations++;
	return malloc(bytes);
}

#define malloc                  counted_malloc
#define GP__PROBE(node, reverse) (test_probe ? test_probe(node, reverse) : (void)0)
#define ODVGP_IMPLEMENTATION
#include "definitions.h"

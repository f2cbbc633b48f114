/*  Includes the library with a malloc that counts. Tests that need no count of allocations include
    odvgp.h themselves. */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

/*  Include everything that odvgp.h includes before malloc is redefined. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*  Counts the calls of malloc that the library makes. */
static int allocations;
static void *counted_malloc(size_t bytes)
{
	allocations++;
	return malloc(bytes);
}
#define malloc counted_malloc
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#undef malloc

#endif

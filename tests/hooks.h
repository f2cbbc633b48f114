/*  What the library that tests link reports to them; see tests/library.c. */
#ifndef HOOKS_H
#define HOOKS_H

/*  Calls of malloc that the library has made. */
extern int test_allocations;

/*  NULL, or called before each operation of an evaluation: reverse is 1 on the way back, node is -1
    behind the last one. */
extern void (*test_probe)(int node, int reverse);

/*  NULL, or called for each assertion that does not hold, instead of abort. */
extern void (*test_tripped)(void);

/*  GP__WATCH_WORK and GP__WATCH_SLICE of odvgp.h. */
extern double test_watch_work, test_watch_slice;

#endif

/*  against.h - what against.c asks of a build of odvgp.h. Each build is a shared object, compiled
    from against_side.c. */
#ifndef AGAINST_H
#define AGAINST_H
#include <stddef.h>

typedef struct against_case {
	const char *member, *kernel;
	ptrdiff_t P, M, M_gamma, batch, D, N;
	/* [N,D] and [N,P]. The first M + M_gamma rows of X become inducing points. */
	const double *X, *Y;
} against_case;

/*  Time of one operation in one step, and how many nodes of the tape do it. */
typedef struct against_operation {
	char name[32];
	int nodes;
	/* Forward and reverse, each the least of all steps. */
	double milliseconds[2];
} against_operation;

enum { AGAINST_OPERATIONS = 64 };

typedef struct against_model against_model;

/*  When the library reports an error, a function prints it and returns NULL or -1. */
typedef struct against_side {
	against_model *(*make)(const against_case *c);
	void (*release)(against_model *m);
	/* Milliseconds of processor time for one step, the mean of `steps`. */
	double (*step)(against_model *m, int steps);
	/* Microseconds of processor time to predict mean and variance of `rows` rows, the mean of
       `calls`. */
	double (*predict)(against_model *m, ptrdiff_t rows, int calls);
	/* The number of times that the library undid a step, shortened one, or raised the jitter. */
	unsigned long (*events)(const against_model *m);
	/* Writes the times of operations over `steps` steps to `to` [AGAINST_OPERATIONS]; returns the
       number of operations. */
	int (*profile)(against_model *m, int steps, against_operation *to);
} against_side;

#endif

/*  against.h - what against.c asks of a build of odvgp.h. Each build is a shared object, compiled from against_side.c. */
#ifndef AGAINST_H
#define AGAINST_H
#include <stddef.h>

typedef struct against_case {
    const char *member, *kernel;
    ptrdiff_t P, M, M_gamma, batch, D, N;
    const double *X, *Y; /* [N,D], [N,P]; the first M + M_gamma rows of X become inducing points */
} against_case;

/*  Time of one operation in one step, and how many nodes of the tape do it. */
typedef struct against_operation {
    char name[32];
    int nodes;
    double milliseconds[2]; /* forward, reverse; the least of all steps */
} against_operation;

enum { AGAINST_OPERATIONS = 64 };

typedef struct against_model against_model;

/*  Functions return NULL, or -1, when the library reports an error, which they print. */
typedef struct against_side {
    against_model *(*make)(const against_case *c);
    void (*release)(against_model *m);
    /* Milliseconds of processor time for one step, the mean of `steps`. */
    double (*step)(against_model *m, int steps);
    /* Microseconds of processor time to predict mean and variance of `rows` rows, the mean of `calls`. */
    double (*predict)(against_model *m, ptrdiff_t rows, int calls);
    /* Steps of which the library reports that it undid or shortened them, or raised the jitter. */
    unsigned long (*events)(const against_model *m);
    /* Times of operations over so many steps; returns how many there are in `to` [AGAINST_OPERATIONS]. */
    int (*profile)(against_model *m, int steps, against_operation *to);
} against_side;

#endif

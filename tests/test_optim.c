/*  What moves parameters by the whole batch, and what holds them: L-BFGS on plain functions and under the model, bounds of positive slots,
    priors of hyperparameters, schedules that rise and fall. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"

/* ---- functions to minimise ---- */

typedef struct function {
    int kind; /* as in loss() */
    ptrdiff_t n, calls;
    double condition, worst; /* of the quadratic; the largest value that was asked for after the first */
} function;
enum { ROSENBROCK, QUADRATIC, LOG_BARRIER, CLIFF, KINK, FLAT };

static void loss(void *user, const odvgp_real *x, double *f, odvgp_real *g) {
    function *p = (function *)user;
    ptrdiff_t i, n = p->n;
    double sum = 0;
    p->calls++;
    for (i = 0; i < n; i++) g[i] = 0;
    switch (p->kind) {
    case ROSENBROCK:
        for (i = 0; i + 1 < n; i += 2) {
            double a = 1 - (double)x[i], b = (double)x[i + 1] - (double)x[i] * (double)x[i];
            sum += a * a + 100 * b * b;
            g[i] = (odvgp_real)(-2 * a - 400 * (double)x[i] * b);
            g[i + 1] = (odvgp_real)(200 * b);
        }
        break;
    case QUADRATIC: /* minimum -n at i/n, with curvatures from 1 to the condition */
        sum = -(double)n;
        for (i = 0; i < n; i++) {
            double c = pow(p->condition, n > 1 ? (double)i / (double)(n - 1) : 0), d = (double)x[i] - (double)i / (double)n;
            sum += 0.5 * c * d * d;
            g[i] = (odvgp_real)(c * d);
        }
        break;
    case LOG_BARRIER: /* x - log x, NaN for x <= 0: the minimum is 1 */
        for (i = 0; i < n; i++) {
            sum += (double)x[i] - log((double)x[i]);
            g[i] = (odvgp_real)(1 - 1 / (double)x[i]);
        }
        break;
    case CLIFF: /* falls to a wall beyond which nothing is a number; the minimum is 3 before it */
        for (i = 0; i < n; i++) {
            double d = (double)x[i] - 3;
            sum += d * d * (d < 0 ? 1 : 50);
            g[i] = (odvgp_real)(2 * d * (d < 0 ? 1 : 50));
            if (x[i] > (odvgp_real)3.25) sum = NAN, g[i] = (odvgp_real)INFINITY;
        }
        break;
    case KINK: /* |x|: no Wolfe point at the minimum */
        for (i = 0; i < n; i++) {
            sum += fabs((double)x[i]);
            g[i] = x[i] > 0 ? 1 : -1;
        }
        break;
    default: break;
    }
    *f = sum;
}

typedef struct run {
    odvgp__lbfgs w;
    void *block;
    odvgp__problem problem;
} run;

/*  A block of exactly the size that was measured. */
static run start(function *f, ptrdiff_t memory, double at) {
    run r;
    odvgp__arena a;
    size_t bytes;
    ptrdiff_t i;
    odvgp__arena_init(&a, NULL, 0);
    odvgp__lbfgs_layout(&r.w, &a, f->n, memory);
    bytes = a.used + 64;
    r.block = test_alloc(bytes);
    odvgp__arena_init(&a, r.block, bytes);
    odvgp__lbfgs_layout(&r.w, &a, f->n, memory);
    CHECK(!a.bad);
    r.problem.loss = loss, r.problem.user = f;
    for (i = 0; i < f->n; i++) r.w.x[i] = (odvgp_real)(at * (1 + 0.1 * (double)(i % 3)));
    loss(f, r.w.x, &r.w.loss, r.w.g);
    f->calls = 0;
    return r;
}
/*  Until convergence; the value never rises, and the point is where the value says. Returns the number of iterations. */
static int descend(run *r, int most) {
    function *f = (function *)r->problem.user;
    odvgp_real *g = NEW(odvgp_real, f->n);
    double value;
    int i;
    for (i = 0; i < most; i++) {
        double before = r->w.loss;
        ptrdiff_t calls = f->calls;
        int moved = odvgp__lbfgs_iterate(&r->w, &r->problem);
        CHECK_INT(f->calls - calls, r->w.evaluations);
        CHECK_SAY(r->w.evaluations <= 2 * (ODVGP__SEARCH_PROBES + 1), "%ld evaluations", (long)r->w.evaluations);
        CHECK_SAY(r->w.loss <= before, "the loss rises from %.17g to %.17g", before, r->w.loss);
        CHECK((moved != 0) == (r->w.length > 0) && (moved || (r->w.converged && r->w.loss == before)));
        loss(f, r->w.x, &value, g);
        f->calls--;
        CHECK(value == r->w.loss && !memcmp(g, r->w.g, (size_t)f->n * sizeof *g));
        if (r->w.converged) break;
    }
    free(g);
    return i;
}

TEST(rosenbrock) {
    ptrdiff_t n, memory;
    for (n = 2; n <= 40; n += 38)
        for (memory = 1; memory <= 17; memory += 8) {
            function f = {ROSENBROCK, 2, 0, 0, 0};
            run r;
            int steps;
            ptrdiff_t i;
            f.n = n;
            r = start(&f, memory, -1.2);
            steps = descend(&r, 3000);
            CHECK_SAY(r.w.converged && steps < (memory == 1 ? 2000 : 200), "n %ld, memory %ld: %d steps, loss %g", (long)n, (long)memory, steps, r.w.loss);
            for (i = 0; i < n; i++) CHECK_NEAR(r.w.x[i], 1, BY_PRECISION(1e-4, 2e-2));
            if (n == 40 && memory == 9) test_note("40 numbers: %d steps, %ld evaluations", steps, (long)f.calls);
            free(r.block);
        }
}
/*  Down to the rounding of the value, whatever the condition. */
TEST(quadratics_have_the_known_optimum) {
    static const double conditions[] = {1, 1e2, 1e4, 1e6};
    int c;
    for (c = 0; c < 4; c++) {
        function f = {QUADRATIC, 30, 0, 0, 0};
        run r;
        int steps;
        f.condition = conditions[c];
        r = start(&f, c < 3 ? 10 : 40, 2); /* ten pairs take 10,000 steps for the last */
        steps = descend(&r, 5000);
        CHECK_SAY(r.w.converged, "condition %g: %d steps", conditions[c], steps);
        CHECK_NEAR(r.w.loss, -30, BY_PRECISION(1e-8, 1e-4) * 30);
        if (c == 3) test_note("condition 1e6: %d steps, %ld evaluations", steps, (long)f.calls);
        free(r.block);
    }
}
TEST(values_that_are_no_numbers_are_too_far) {
    static const int kinds[] = {LOG_BARRIER, CLIFF};
    static const double wanted[] = {1, 3}, from[] = {1e-3, 30, 0.5, -200};
    int k, j;
    for (k = 0; k < 2; k++)
        for (j = 0; j < 2; j++) {
            function f = {0, 6, 0, 0, 0};
            run r;
            ptrdiff_t i;
            f.kind = kinds[k];
            r = start(&f, 5, from[2 * k + j]);
            descend(&r, 500);
            CHECK_SAY(r.w.converged, "function %d from %g", k, from[2 * k + j]);
            for (i = 0; i < f.n; i++) CHECK_NEAR(r.w.x[i], wanted[k], BY_PRECISION(1e-4, 1e-2));
            free(r.block);
        }
}
/*  No gradient; no minimum that a smooth function has; nothing lower anywhere on the line. */
TEST(searches_end_where_there_is_nothing_to_find) {
    function flat = {FLAT, 3, 0, 0, 0}, kink = {KINK, 3, 0, 0, 0}, bad = {LOG_BARRIER, 2, 0, 0, 0};
    run r = start(&flat, 3, 1);
    CHECK_INT(odvgp__lbfgs_iterate(&r.w, &r.problem), 0);
    CHECK(r.w.converged && r.w.evaluations == 0 && r.w.x[0] == 1);
    free(r.block);
    r = start(&kink, 3, 0.7);
    descend(&r, 200);
    CHECK(r.w.converged && r.w.loss < 2.5);
    free(r.block);
    r = start(&bad, 3, 2);
    r.w.g[0] = r.w.g[1] = -1; /* a gradient that lies */
    r.w.loss = -5;
    CHECK_INT(odvgp__lbfgs_iterate(&r.w, &r.problem), 0);
    CHECK(r.w.converged && r.w.loss == -5 && r.w.x[0] == 2 && r.w.pairs == 0);
    CHECK(r.w.evaluations <= ODVGP__SEARCH_PROBES + 1);
    free(r.block);
}
/*  Pairs along which the loss does not curve upwards are not kept, and the ring forgets the oldest. */
TEST(pairs_are_kept_by_curvature) {
    function f = {QUADRATIC, 4, 0, 0, 0};
    run r;
    int i, k;
    f.condition = 10;
    r = start(&f, 3, 1);
    for (i = 0; i < 5; i++) {
        for (k = 0; k < 4; k++) {
            r.w.trial[k] = r.w.x[k] + (odvgp_real)(k == i % 4);
            r.w.g_trial[k] = r.w.g[k] + (odvgp_real)(k == i % 4) * (i == 2 ? -1 : 2);
        }
        odvgp__lbfgs_remember(&r.w);
        CHECK_INT(r.w.pairs, i < 2 ? i + 1 : i < 3 ? 2 : 3);
    }
    CHECK_INT(r.w.next, 1);
    for (k = 0; k < 3; k++) CHECK_NEAR(r.w.sy[k], 2, 20 * EPS);
    memcpy(r.w.trial, r.w.x, 4 * sizeof(odvgp_real));
    odvgp__lbfgs_remember(&r.w); /* no step at all */
    CHECK_INT(r.w.next, 1);
    r.w.g_trial[0] = (odvgp_real)INFINITY;
    r.w.trial[0] += 1;
    odvgp__lbfgs_remember(&r.w);
    CHECK_INT(r.w.next, 1);
    free(r.block);
}
/*  A start that has the arrays and numbers of another goes on as that one does. */
TEST(a_search_can_be_taken_up_by_another) {
    function f = {ROSENBROCK, 8, 0, 0, 0};
    run a = start(&f, 4, -1), b = start(&f, 4, 3);
    int i;
    for (i = 0; i < 9; i++) odvgp__lbfgs_iterate(&a.w, &a.problem);
    memcpy(b.w.S, a.w.S, 32 * sizeof(odvgp_real)), memcpy(b.w.Y, a.w.Y, 32 * sizeof(odvgp_real));
    memcpy(b.w.x, a.w.x, 8 * sizeof(odvgp_real)), memcpy(b.w.g, a.w.g, 8 * sizeof(odvgp_real));
    memcpy(b.w.sy, a.w.sy, 4 * sizeof(double));
    b.w.pairs = a.w.pairs, b.w.next = a.w.next, b.w.loss = a.w.loss;
    for (i = 0; i < 9; i++) {
        odvgp__lbfgs_iterate(&a.w, &a.problem);
        odvgp__lbfgs_iterate(&b.w, &b.problem);
        CHECK_BITS(a.w.x, b.w.x, 8 * sizeof(odvgp_real));
    }
    free(a.block), free(b.block);
}

int main(int argc, char **argv) {
    test_begin(argc, argv);
    RUN(rosenbrock);
    RUN(quadratics_have_the_known_optimum);
    RUN(values_that_are_no_numbers_are_too_far);
    RUN(searches_end_where_there_is_nothing_to_find);
    RUN(pairs_are_kept_by_curvature);
    RUN(a_search_can_be_taken_up_by_another);
    return test_end();
}
